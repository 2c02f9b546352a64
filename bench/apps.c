/* apps.c: two whole programs that work out of core, the matrix product and the solver of Laplace's equation of the
 * two-phase paper (its tables 9 and 10), with four ways to move their blocks:
 *
 *     sluice        collective calls in the background: the next block comes and the last one goes while this one is
 *                   computed
 *     sluice, wait  the same calls, waited for at once
 *     MPI           MPI_File_read_at_all and MPI_File_write_at_all of the MPI that this was built with
 *     MPI, begin    its MPI_File_iread_at_all and MPI_File_iwrite_at_all, waited for as those of sluice
 *
 *     mpiexec -n 4 build/bench/apps [--size 4096] [--memory 64] [--sweeps 10] [--reps 3] [--cold] [--only product]
 *
 * --memory is in MiB for each process, of which the library or the MPI has a quarter; --cold has the matrices read from
 * the disk. The schedule is that of examples/matmul.c and examples/laplace.c (edges read). I/O is the metric of the
 * paper: the most that a process spent in all of its reads and writes, here the time that it waited in them. Ways take
 * turns, a figure is the median. Every result is verified: the product element by element, the plate by a sum of the
 * bits of all elements, which is that of the same in memory. Goals: faster than the MPI, and of what computation can
 * hide at least half is hidden. */
#include "bench.h"
#include "sluice_mpi.h"
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_CBLAS
#include <cblas.h>
#endif

enum { FEWEST = 32, P = 101, Q = 103, WAYS = 4, FILES = 3, MOST = 1024 };
enum { IO, FIRST, WORK, TOTAL, TIMES }; /* FIRST: of IO, reading what all computation needs */
static const char *const way_name[WAYS] = {"sluice", "sluice, wait", "MPI", "MPI, begin"};
static int rank, size;
static int64_t n = 4096, memory = 64 << 20, room; /* room: elements for the program's blocks */
static int sweeps = 10, reps = 3;
static bool cold;
static double spent[TIMES];

static void fatal(const char *what) {
    fprintf(stderr, "apps: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void must(int error) {
    if (error) fatal(sluice_errmsg());
}

static void mpi_must(int error) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (error == MPI_SUCCESS) return;
    MPI_Error_string(error, text, &length);
    fatal(text);
}

static double seconds(void) { return bench_now() / 1e9; }

#define TIMED(what, call) (spent[what] -= seconds(), (call), spent[what] += seconds())

/* ---- Files, in one of the ways ---- */

/* A matrix in a raw file. Those of the MPI are open twice: a view cannot change while a call is on its way. */
typedef struct matrix {
    char path[64];
    int way;
    sluice_order order;
    sluice_array *array;
    MPI_File file[2];
    int turn;
} matrix;

/* A block on its way. */
typedef struct moving {
    bool active;
    sluice_request *request;
    MPI_Request mpi;
} moving;

static sluice_desc described(sluice_order order) {
    return (sluice_desc){.type = "float64", .shape = {.ndims = 2, .order = order, .dim = {n, n}}};
}

static void open_matrix(matrix *m, int way) {
    sluice_desc d = described(m->order);
    m->way = way, m->turn = 0;
    if (way < 2) {
        sluice_options o = {.memory = memory / 4 / FILES};
        must(sluice_open_all(&m->array, MPI_COMM_WORLD, m->path, SLUICE_WRITE, &d, &o));
        return;
    }
    for (int i = 0; i < 2; i++)
        mpi_must(MPI_File_open(MPI_COMM_WORLD, m->path, MPI_MODE_RDWR, MPI_INFO_NULL, &m->file[i]));
}

static void close_matrix(matrix *m) {
    if (m->way < 2) must(sluice_close(m->array));
    for (int i = 0; i < 2 && m->way >= 2; i++) mpi_must(MPI_File_close(&m->file[i]));
}

static void view(MPI_File file, const matrix *m, const sluice_range *r) {
    int whole[] = {(int)n, (int)n}, count[] = {(int)r[0].count, (int)r[1].count};
    int start[] = {(int)r[0].start, (int)r[1].start};
    MPI_Datatype type = MPI_DOUBLE;
    bool some = count[0] > 0 && count[1] > 0;
    int order = m->order == SLUICE_ROW_MAJOR ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    if (some) MPI_Type_create_subarray(2, whole, count, start, order, MPI_DOUBLE, &type), MPI_Type_commit(&type);
    mpi_must(MPI_File_set_view(file, 0, MPI_DOUBLE, type, "native", MPI_INFO_NULL));
    if (some) MPI_Type_free(&type);
}

static void finish(moving *w) {
    if (!w->active) return;
    spent[IO] -= seconds();
    if (w->request)
        must(sluice_wait(w->request));
    else
        mpi_must(MPI_Wait(&w->mpi, MPI_STATUS_IGNORE));
    spent[IO] += seconds();
    *w = (moving){0};
}

/* Starts to move a block, packed at buf; in the ways that wait it is there on return. */
static void start(moving *w, matrix *m, bool write, const sluice_range *r, double *buf) {
    int count = (int)(r[0].count * r[1].count);
    spent[IO] -= seconds();
    *w = (moving){.active = m->way != 2};
    if (m->way < 2) {
        sluice_part part = {.range = r, .buf = buf};
        must((write ? sluice_write_all_start : sluice_read_all_start)(&w->request, m->array, &part, 1));
    } else {
        MPI_File file = m->file[m->turn++ & 1];
        view(file, m, r);
        if (m->way == 2)
            mpi_must((write ? MPI_File_write_at_all(file, 0, buf, count, MPI_DOUBLE, MPI_STATUS_IGNORE)
                            : MPI_File_read_at_all(file, 0, buf, count, MPI_DOUBLE, MPI_STATUS_IGNORE)));
        else
            mpi_must((write ? MPI_File_iwrite_at_all(file, 0, buf, count, MPI_DOUBLE, &w->mpi)
                            : MPI_File_iread_at_all(file, 0, buf, count, MPI_DOUBLE, &w->mpi)));
    }
    spent[IO] += seconds();
    if (m->way == 1) finish(w);
}

/* Block number k of [0, end) in blocks of `count`. */
static sluice_range block(int64_t k, int64_t count, int64_t end) {
    int64_t first = k * count < end ? k * count : end;
    return (sluice_range){first, end - first < count ? end - first : count, 1};
}
static sluice_range share(int64_t end, int p) { return block(p, (end + size - 1) / size, end); }

/* Makes a file anew, or fills in the lines of this process (what varies fastest lies along a line). */
static void make(const matrix *m, double *line, double (*at)(int64_t, int64_t)) {
    sluice_desc d = described(m->order);
    sluice_range mine = share(n, rank), all = {0, n, 1};
    sluice_array *a;
    must(sluice_create_all(&a, MPI_COMM_WORLD, m->path, &d, &(sluice_options){.replace = 1}));
    for (int64_t k = mine.start; k < mine.start + mine.count; k++) {
        sluice_range one = {k, 1, 1};
        bool rows = m->order == SLUICE_ROW_MAJOR;
        for (int64_t i = 0; i < n; i++) line[i] = rows ? at(k, i) : at(i, k);
        must(sluice_write(a, rows ? (sluice_range[]){one, all} : (sluice_range[]){all, one}, line));
    }
    must(sluice_sync(a));
    must(sluice_close(a));
}

static void forget(const matrix *m) {
    int fd = open(m->path, O_RDONLY);
    if (fd < 0 || fdatasync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)) fatal("a file cannot be made cold");
    close(fd);
}

/* ---- The matrix product ---- */

static double a_at(int64_t i, int64_t k) { return (double)((i + 2 * k) % P - P / 2); }
static double b_at(int64_t k, int64_t j) { return (double)((3 * k + j) % Q - Q / 2); }
static double zero_at(int64_t i, int64_t j) { return 0 * (double)(i + j); }

static void multiply_block(int64_t rows, int64_t inner, int64_t columns, const double *a, const double *b, double *c) {
#ifdef HAVE_CBLAS
    int m = (int)rows, k = inner ? (int)inner : 1;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, (int)columns, (int)inner, 1, a, m, b, k, 0, c, m);
#else
    memset(c, 0, (size_t)(rows * columns) * sizeof *c);
    for (int64_t j = 0; j < columns; j++)
        for (int64_t k = 0; k < inner; k++)
            for (int64_t i = 0; i < rows; i++) c[j * rows + i] += a[k * rows + i] * b[j * inner + k];
#endif
}

static void product(matrix *m, double *a) {
    int64_t inner = share(n, 0).count, rows = (room - 2 * FEWEST * inner) / (inner + 2 * FEWEST);
    if (rows < 1) fatal("too little memory");
    int64_t down = (n + rows - 1) / rows;
    rows = (n + down - 1) / down;
    int64_t columns = (room - rows * inner) / (2 * (inner + rows)), across = (n + columns - 1) / columns;
    double *b[] = {a + rows * inner, a + (rows + columns) * inner}, *c = b[1] + columns * inner;
    double *sum = c + rows * columns;
    sluice_range in_I = {0, 0, 1}, in_K = share(n, rank);
    moving coming = {0}, going = {0}, now = {0};
    static int counts[MOST];
    for (int64_t t = -1; t < down * across; t++) {
        finish(&coming);
        if (t + 1 < down * across)
            start(&coming, &m[1], false, (sluice_range[]){in_K, block((t + 1) % across, columns, n)}, b[(t + 1) & 1]);
        if (t < 0) continue;
        sluice_range in_J = block(t % across, columns, n), mine = share(in_J.count, rank);
        if (t % across == 0) {
            in_I = block(t / across, rows, n);
            TIMED(FIRST, (start(&now, &m[0], false, (sluice_range[]){in_I, in_K}, a), finish(&now)));
        }
        TIMED(WORK, multiply_block(in_I.count, in_K.count, in_J.count, a, b[t & 1], c));
        finish(&going);
        for (int p = 0; p < size; p++) counts[p] = (int)(in_I.count * share(in_J.count, p).count);
        MPI_Reduce_scatter(c, sum, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        mine.start += in_J.start;
        start(&going, &m[2], true, (sluice_range[]){in_I, mine}, sum);
    }
    finish(&going);
}

/* How many elements are not what they should be. */
static uint64_t check_product(const matrix *m, double *column) {
    static double sum[P][Q]; /* they depend on the remainders of i and j alone */
    static bool known;
    sluice_range all = {0, n, 1}, mine = share(n, rank);
    sluice_desc d = described(m->order);
    sluice_array *a;
    uint64_t bad = 0;
    for (int64_t e = 0; e < P * Q * n && !known; e++)
        sum[e / n / Q][e / n % Q] += a_at(e / n / Q, e % n) * b_at(e % n, e / n % Q);
    known = true;
    must(sluice_open(&a, m->path, SLUICE_READ, &d, NULL));
    for (int64_t j = mine.start; j < mine.start + mine.count; j++) {
        must(sluice_read(a, (sluice_range[]){all, {j, 1, 1}}, column));
        for (int64_t i = 0; i < n; i++) bad += column[i] != sum[i % P][j % Q];
    }
    must(sluice_close(a));
    return bad;
}

/* ---- Laplace's equation ---- */

static double plate_at(int64_t i, int64_t j) { return i == 0 ? 100 : j == 0 ? 50 : 0; }

static double mean(const double *x, int64_t width) { return ((x[-width] + x[width]) + (x[-1] + x[1])) / 4; }

/* A block and what there is of its neighbours. */
static void around(const sluice_range *here, sluice_range *with) {
    for (int d = 0; d < 2; d++) {
        int64_t first = here[d].start > 0 ? here[d].start - 1 : 0, end = here[d].start + here[d].count;
        end = end < n ? end + 1 : n;
        with[d] = (sluice_range){first, here[d].count ? end - first : 0, 1};
    }
}

static void relax(const sluice_range *here, const double *old, double *new) {
    sluice_range with[2];
    around(here, with);
    for (int64_t i = here[0].start; i < here[0].start + here[0].count; i++)
        for (int64_t j = here[1].start; j < here[1].start + here[1].count; j++) {
            const double *x = old + (i - with[0].start) * with[1].count + j - with[1].start;
            *new ++ = i == 0 || j == 0 || i == n - 1 || j == n - 1 ? *x : mean(x, with[1].count);
        }
}

static void laplace(matrix *m, double *buf) {
    int64_t edge = (int64_t)sqrt((double)room / 3) - 2, across = (n + edge - 1) / edge, least = across;
    while (across * across % size && across < 2 * least) across++; /* as many as come out even */
    edge = (n + across - 1) / across;
    int64_t blocks = across * across, rounds = (blocks + size - 1) / size, frame = (edge + 2) * (edge + 2);
    double *old[] = {buf, buf + frame}, *new = buf + 2 * frame;
    for (int s = 0; s < sweeps; s++) {
        moving coming = {0}, going = {0};
        for (int64_t round = -1; round < rounds; round++) {
            sluice_range box[2][2], with[2];
            for (int k = 0; k < 2; k++) { /* this one and the next */
                int64_t at = (round + k) * size + rank;
                box[k][0] = block(at / across, edge, n);
                box[k][1] = block(at % across, edge, at >= 0 && at < blocks ? n : 0);
            }
            finish(&coming);
            around(box[1], with);
            if (round + 1 < rounds) start(&coming, &m[s & 1], false, with, old[(round + 1) & 1]);
            if (round < 0) continue;
            finish(&going);
            TIMED(WORK, relax(box[0], old[round & 1], new));
            start(&going, &m[!(s & 1)], true, box[0], new);
        }
        finish(&going);
        MPI_Barrier(MPI_COMM_WORLD); /* before someone reads what another has not written */
    }
}

static uint64_t bits_of(double x, int64_t at) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits * (2 * (uint64_t)at + 1);
}

/* What the bits of all elements add up to, in memory. */
static uint64_t plate_in_memory(void) {
    size_t bytes = (size_t)(n * n) * sizeof(double);
    double *a = malloc(bytes), *b = malloc(bytes);
    uint64_t sum = 0;
    if (!a || !b) fatal("no memory for the plate");
    for (int64_t i = 0; i < n * n; i++) a[i] = b[i] = plate_at(i / n, i % n);
    for (int s = 0; s < sweeps; s++) {
        for (int64_t i = 1; i < n - 1; i++)
            for (int64_t j = 1; j < n - 1; j++) b[i * n + j] = mean(a + i * n + j, n);
        double *swap = a;
        a = b, b = swap;
    }
    for (int64_t i = 0; i < n * n; i++) sum += bits_of(a[i], i);
    free(a), free(b);
    return sum;
}

/* The difference from it. */
static uint64_t check_plate(const matrix *m, double *line) {
    static uint64_t wanted;
    static bool known;
    if (rank == 0 && !known) wanted = plate_in_memory();
    known = true;
    sluice_range mine = share(n, rank), all = {0, n, 1};
    sluice_desc d = described(m->order);
    sluice_array *a;
    uint64_t sum = 0, total;
    must(sluice_open(&a, m->path, SLUICE_READ, &d, NULL));
    for (int64_t i = mine.start; i < mine.start + mine.count; i++) {
        must(sluice_read(a, (sluice_range[]){{i, 1, 1}, all}, line));
        for (int64_t j = 0; j < n; j++) sum += bits_of(line[j], i * n + j);
    }
    must(sluice_close(a));
    MPI_Reduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return rank == 0 ? total - wanted : 0;
}

/* ---- The bench ---- */

typedef struct app {
    const char *name;
    sluice_order order;
    int files, result; /* of the files, the one that has the result; -1: they change places */
    double (*at[FILES])(int64_t, int64_t);
    void (*run)(matrix *, double *);
    uint64_t (*check)(const matrix *, double *);
} app;

/* One run in one way: the slowest process's times. */
static void measure(const app *p, int way, double *buf, double *most) {
    matrix m[FILES] = {0};
    for (int i = 0; i < p->files; i++) {
        snprintf(m[i].path, sizeof m[i].path, "apps-%s-%d.bin", p->name, i);
        m[i].order = p->order;
        make(&m[i], buf, p->at[i]);
        if (cold && rank == 0) forget(&m[i]);
    }
    for (int i = 0; i < p->files; i++) open_matrix(&m[i], way);
    memset(spent, 0, sizeof spent);
    MPI_Barrier(MPI_COMM_WORLD);
    TIMED(TOTAL, p->run(m, buf));
    for (int i = 0; i < p->files; i++) close_matrix(&m[i]);
    MPI_Allreduce(spent, most, TIMES, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (p->check(&m[p->result < 0 ? sweeps & 1 : p->result], buf)) fatal("wrong data");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < p->files && rank == 0; i++) unlink(m[i].path);
}

static void bench(const app *p, double *buf) {
    static double taken[WAYS][TIMES][BENCH_MAX_REPS];
    double median[WAYS][TIMES], most[TIMES];
    for (int r = 0; r < reps; r++)
        for (int w = 0; w < WAYS; w++) {
            measure(p, w, buf, most);
            for (int t = 0; t < TIMES; t++) taken[w][t][r] = most[t];
        }
    if (rank != 0) return;
    printf("\n%s, %lld x %lld on %d processes with %lld MiB each, %s\n%-14s %9s %9s %9s\n", p->name, (long long)n,
           (long long)n, size, (long long)memory >> 20, cold ? "cold" : "cached", "seconds", "total", "compute", "I/O");
    for (int w = 0; w < WAYS; w++) {
        for (int t = 0; t < TIMES; t++) median[w][t] = bench_median(taken[w][t], reps);
        printf("%-14s %9.3f %9.3f %9.3f\n", way_name[w], median[w][TOTAL], median[w][WORK], median[w][IO]);
    }
    double best = fmin(median[2][TOTAL], median[3][TOTAL]), best_io = fmin(median[2][IO], median[3][IO]);
    double can = fmin(median[1][IO] - median[1][FIRST], median[1][WORK]), hidden = median[1][IO] - median[0][IO];
    printf("total %.2f of the better of the MPI: %s; I/O %.2f of its\n", median[0][TOTAL] / best,
           median[0][TOTAL] < best ? "met" : "MISSED", median[0][IO] / best_io);
    if (median[1][WORK] < median[1][IO] / 2)
        printf("the computation is too short to hide the I/O\n");
    else
        printf("hidden behind the computation: %.3f s of I/O, %.0f %% of what it could hide: %s\n", hidden,
               100 * hidden / can, hidden >= can / 2 ? "met" : "MISSED");
    fflush(stdout);
}

int main(int argc, char **argv) {
    static const app apps[] = {{"product", SLUICE_COLUMN_MAJOR, 3, 2, {a_at, b_at, zero_at}, product, check_product},
                               {"laplace", SLUICE_ROW_MAJOR, 2, -1, {plate_at, zero_at, NULL}, laplace, check_plate}};
    static const struct option options[] = {
        {"size", 1, 0, 's'}, {"memory", 1, 0, 'm'}, {"sweeps", 1, 0, 'w'}, {"reps", 1, 0, 'r'},
        {"cold", 0, 0, 'c'}, {"only", 1, 0, 'o'},   {"quick", 0, 0, 'q'},  {0}};
    const char *only = NULL;
    int opt;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) switch (opt) {
        case 's': n = atoll(optarg); break;
        case 'm': memory = atoll(optarg) << 20; break;
        case 'w': sweeps = atoi(optarg); break;
        case 'r': reps = atoi(optarg); break;
        case 'c': cold = true; break;
        case 'o': only = optarg; break;
        case 'q': n = 300, memory = 1 << 20, sweeps = 3, reps = 1; break;
        default: fatal("options are --size, --memory, --sweeps, --reps, --cold, --only and --quick");
        }
    room = memory / 4 * 3 / 8;
    if (n < 2 || n > 40000 || room < 4 * n || sweeps < 1 || reps < 1 || reps > BENCH_MAX_REPS || size > MOST)
        fatal("a number that is too small or too large");
    double *buf = malloc((size_t)room * sizeof *buf);
    if (!buf) fatal("no memory");
#ifdef HAVE_CBLAS
    openblas_set_num_threads(1); /* the processes share the cores */
#endif
    for (size_t i = 0; i < sizeof apps / sizeof *apps; i++)
        if (!only || !strcmp(only, apps[i].name)) bench(&apps[i], buf);
    free(buf);
    MPI_Finalize();
    return 0;
}
