/* ranks: 1 2 3 4 */
/* matmul.c: C = A B for matrices that do not fit into memory (out-of-core GAXPY).
 *
 *     matmul [n [MiB for each process [wait]]]        with `wait`, nothing is moved in the background
 *
 *          K of process 0   1   2                J                         J
 *     A   +-------+-------+-------+     B   +---+--+--------+     C   +---+--+--------+
 *       I |   0   |   1   |   2   |         | 0 |  |        |       I |   |##|        |
 *         +-------+-------+-------+         | 1 |  |        |         |   |  |        |
 *         |       |       |       |         | 2 |  |        |         |   |  |        |
 *         +-------+-------+-------+         +---+--+--------+         +---+--+--------+
 *
 * Together the processes hold some whole rows I of A, each of them its columns K; and some whole columns J of B, each
 * its rows K. The sum of their products is a block of C. Then come the next J, and after the last J the next I: A is
 * read once, B once for each I, C is written once. While one block is multiplied the next of B is read and the one
 * before of C is written. Nowhere is computed at which byte of a file something lies. */
#include <sluice_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef HAVE_CBLAS
#include <cblas.h>
#endif

enum { FEWEST = 32, P = 101, Q = 103 }; /* columns of B at a time; periods of the matrices, both prime */
enum { IO, WORK, TIMES };
static int rank, size;
static double spent[TIMES];

#define TIMED(what, call) (spent[what] -= MPI_Wtime(), (call), spent[what] += MPI_Wtime())

static void must(int error) {
    if (!error) return;
    fprintf(stderr, "matmul: %s\n", sluice_errmsg());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Block number k of [0, n) in blocks of `count`. */
static sluice_range block(int64_t k, int64_t count, int64_t n) {
    int64_t start = k * count < n ? k * count : n;
    return (sluice_range){start, n - start < count ? n - start : count, 1};
}
static sluice_range share(int64_t n, int p) { return block(p, (n + size - 1) / size, n); }

/* Elements are small integers, so that sums are exact in any order. */
static double a_at(int64_t i, int64_t k) { return (double)((i + 2 * k) % P - P / 2); }
static double b_at(int64_t k, int64_t j) { return (double)((3 * k + j) % Q - Q / 2); }

/* Makes a matrix, each process its columns, if at is not NULL; and opens it. */
static sluice_array *make(const char *path, int64_t n, int64_t memory, double *column, double (*at)(int64_t, int64_t)) {
    sluice_desc d = {.format = SLUICE_NPY, .type = "float64"};
    sluice_options o = {.memory = memory, .replace = 1};
    sluice_range all = {0, n, 1}, mine = share(n, rank);
    sluice_array *m;
    d.shape = (sluice_shape){.ndims = 2, .order = SLUICE_COLUMN_MAJOR, .dim = {n, n}};
    must(sluice_create_all(&m, MPI_COMM_WORLD, path, &d, &o));
    if (!at) return m;
    for (int64_t j = mine.start; j < mine.start + mine.count; j++) {
        for (int64_t i = 0; i < n; i++) column[i] = at(i, j);
        must(sluice_write(m, (sluice_range[]){all, {j, 1, 1}}, column));
    }
    must(sluice_close(m));
    must(sluice_open_all(&m, MPI_COMM_WORLD, path, SLUICE_READ, NULL, &o));
    return m;
}

/* c = a b, column-major: rows x inner and inner x columns. */
static void product(int64_t rows, int64_t inner, int64_t columns, const double *a, const double *b, double *c) {
#ifdef HAVE_CBLAS
    int m = (int)rows, k = inner ? (int)inner : 1;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, (int)columns, (int)inner, 1, a, m, b, k, 0, c, m);
#else
    for (int64_t j = 0; j < columns; j++) {
        for (int64_t i = 0; i < rows; i++) c[j * rows + i] = 0;
        for (int64_t k = 0; k < inner; k++) /* column j is a sum of columns of a */
            for (int64_t i = 0; i < rows; i++) c[j * rows + i] += a[k * rows + i] * b[j * inner + k];
    }
#endif
}

static void finish(sluice_request **r) {
    if (*r) TIMED(IO, must(sluice_wait(*r)));
    *r = NULL;
}

/* m: the matrices. room: elements that fit at a. Returns how often B was read. */
static int64_t multiply(sluice_array *m[3], int64_t n, double *a, int64_t room, int background) {
    /* The more rows of A there are, the less often B is read; but two blocks of B, one of C and what this process has
     * of their sum must fit as well. */
    int64_t inner = share(n, 0).count, rows = (room - 2 * FEWEST * inner) / (inner + 2 * FEWEST);
    if (rows < 1 || room < n) fprintf(stderr, "matmul: too little memory\n"), MPI_Abort(MPI_COMM_WORLD, 1);
    int64_t down = (n + rows - 1) / rows;
    rows = (n + down - 1) / down;
    int64_t columns = (room - rows * inner) / (2 * (inner + rows)), across = (n + columns - 1) / columns;
    double *b[] = {a + rows * inner, a + (rows + columns) * inner}, *c = b[1] + columns * inner;
    double *sum = c + rows * columns;
    sluice_request *coming = NULL, *going = NULL;
    sluice_range in_I = {0, 0, 1}, in_K = share(n, rank);
    int *counts = calloc((size_t)size, sizeof *counts);
    if (!counts) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int64_t t = -1; t < down * across; t++) { /* block t of C, while block t + 1 of B comes */
        finish(&coming);
        sluice_part next = {.range = (sluice_range[]){in_K, block((t + 1) % across, columns, n)},
                            .buf = b[(t + 1) & 1]};
        if (t + 1 < down * across) TIMED(IO, must(sluice_read_all_start(&coming, m[1], &next, 1)));
        if (!background) finish(&coming);
        if (t < 0) continue;
        sluice_range in_J = block(t % across, columns, n), mine = share(in_J.count, rank);
        if (t % across == 0) {
            in_I = block(t / across, rows, n);
            TIMED(IO, must(sluice_read_all(m[0], (sluice_range[]){in_I, in_K}, a)));
        }
        TIMED(WORK, product(in_I.count, in_K.count, in_J.count, a, b[t & 1], c));
        finish(&going); /* sum is free again */
        for (int p = 0; p < size; p++) counts[p] = (int)(in_I.count * share(in_J.count, p).count);
        MPI_Reduce_scatter(c, sum, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        mine.start += in_J.start;
        sluice_part done = {.range = (sluice_range[]){in_I, mine}, .buf = sum};
        TIMED(IO, must(sluice_write_all_start(&going, m[2], &done, 1)));
        if (!background) finish(&going);
        if (rank == 0 && isatty(2)) fprintf(stderr, "\r%3lld %% ", (long long)(100 * (t + 1) / (down * across)));
    }
    finish(&going);
    free(counts);
    return down;
}

/* How many of this process's elements of C are not what they should be. */
static int64_t wrong(sluice_array *C, int64_t n, double *column) {
    static double sum[P][Q]; /* they depend on the remainders of i and j alone */
    sluice_range all = {0, n, 1}, mine = share(n, rank);
    int64_t bad = 0;
    for (int64_t e = 0; e < P * Q * n; e++)
        sum[e / n / Q][e / n % Q] += a_at(e / n / Q, e % n) * b_at(e % n, e / n % Q);
    for (int64_t j = mine.start; j < mine.start + mine.count; j++) {
        must(sluice_read(C, (sluice_range[]){all, {j, 1, 1}}, column));
        for (int64_t i = 0; i < n; i++) bad += column[i] != sum[i % P][j % Q];
    }
    return bad;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 600, memory = (argc > 2 ? atoll(argv[2]) : 1) << 20;
    int64_t room = memory / 4 * 3 / 8, moved[3], all[3], bad = 0; /* room in elements; a quarter is the library's */
    const char *path[] = {"matmul-a.npy", "matmul-b.npy", "matmul-c.npy"};
    double (*const at[])(int64_t, int64_t) = {a_at, b_at, NULL}, *buf = malloc((size_t)room * sizeof *buf);
    sluice_array *m[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#ifdef HAVE_CBLAS
    openblas_set_num_threads(1); /* the processes share the cores */
#endif
    if (!buf || n < 1) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < 3; i++) m[i] = make(path[i], n, memory / 12, buf, at[i]);
    double start = MPI_Wtime();
    int64_t times = multiply(m, n, buf, room, argc < 4);
    double taken[] = {spent[IO], spent[WORK], MPI_Wtime() - start}, most[3];
    MPI_Reduce(taken, most, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        sluice_counts c;
        sluice_count(m[i], &c);
        moved[i] = i < 2 ? c.wanted_read : c.wanted_written;
    }
    MPI_Allreduce(moved, all, 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) bad += all[i] != n * n * 8 * (i == 1 ? times : 1);
    bad += wrong(m[2], n, buf);
    if (rank == 0)
        printf("\r%d x %d by %d processes with %d MiB each: %.3f s; in the slowest %.3f s computing, %.3f s waiting "
               "for I/O\n"
               "A was read once, B %d times, C written once\n",
               (int)n, (int)n, size, (int)(memory >> 20), most[2], most[1], most[0], (int)times);
    if (bad) fprintf(stderr, "matmul: rank %d: %lld elements or counts are wrong\n", rank, (long long)bad);
    for (int i = 0; i < 3; i++) must(sluice_close(m[i]));
    for (int i = 0; i < 3 && rank == 0; i++) remove(path[i]);
    free(buf);
    MPI_Finalize();
    return bad != 0;
}
