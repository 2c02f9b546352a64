/* ranks: 1 2 3 4 */
/* laplace.c: Laplace's equation by Jacobi's method, on a plate that does not fit into memory.
 *
 *     laplace [n [MiB for each process [sweeps [send|read [restart]]]]]
 *
 * The plate is cut into blocks, and these are dealt to the processes in turn: in each round of a sweep every process
 * has one, or none at the end.
 *
 *     +---+---+---+---+
 *     | 0 | 1 | 2 | 0 |        A block needs one row or column of each of its four neighbours. With `read` they are
 * read
 *     +---+---+---+---+        from the file with it; with `send` those that another process has in the same round are
 *     | 1 | 2 | 0 | 1 |        sent by it, and only the others are read.
 *     +---+---+---+---+
 *
 * New blocks go to another file, and after a sweep the files change places. The next block is read and the last one
 * written while this one is computed. In the end, or when nothing changes any more, a copy is kept: a checkpoint from
 * which any number of processes can go on. Without arguments all of this is tried, and compared bit by bit with the
 * same in memory. */
#include <math.h>
#include <sluice_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const path[] = {"laplace-a.npy", "laplace-b.npy"}, *const saved = "laplace.npy";
static const double enough = 1e-6; /* the plate has settled when no element changes by more */
static double io, work;            /* seconds of this process */

#define TIMED(what, call) (what -= MPI_Wtime(), (call), what += MPI_Wtime())

typedef struct plate {
    MPI_Comm comm;
    int rank, size;
    int64_t n, edge, across; /* elements of a side, and of a side of a block; blocks in a row */
    int send;
    sluice_array *now, *next;
    double *old[2], *new; /* blocks with a frame of one element; without */
} plate;

static void must(int error) {
    if (!error) return;
    fprintf(stderr, "laplace: %s\n", sluice_errmsg());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void finish(sluice_request **r) {
    if (*r) TIMED(io, must(sluice_wait(*r)));
    *r = NULL;
}

/* Rows (d = 0) or columns (1) of block k; none if there is no such block. */
static sluice_range side(const plate *p, int64_t k, int d) {
    if (k < 0 || k >= p->across * p->across) return (sluice_range){0, 0, 1};
    int64_t start = (d ? k % p->across : k / p->across) * p->edge;
    return (sluice_range){start, p->n - start < p->edge ? p->n - start : p->edge, 1};
}

/* The neighbour of block k above, below, to the left, to the right; -1: none. */
static int64_t neighbour(const plate *p, int64_t k, int which) {
    int64_t row = k / p->across + (which == 1) - (which == 0), column = k % p->across + (which == 3) - (which == 2);
    return row < 0 || column < 0 || row >= p->across || column >= p->across ? -1 : row * p->across + column;
}

/* Whether a block is with some process in the same round as block k, and is therefore sent. */
static int is_sent(const plate *p, int64_t k, int64_t other) {
    return p->send && other >= 0 && k / p->size == other / p->size;
}

/* Starts to read block k, with what it needs of its neighbours and is not sent, to its place in the frame. */
static sluice_request *fetch(const plate *p, int64_t k, double *to) {
    sluice_range range[5][2] = {{side(p, k, 0), side(p, k, 1)}};
    int64_t frame[] = {range[0][0].count + 2, range[0][1].count + 2}, at[5][2] = {{1, 1}};
    sluice_part part[5] = {{.range = range[0], .buf = to, .buf_dim = frame, .buf_at = at[0]}};
    sluice_request *r;
    int n = k < p->across * p->across;
    for (int w = 0; w < 4 && n; w++) {
        int64_t other = neighbour(p, k, w);
        int d = w / 2, after = w % 2;
        if (other < 0 || is_sent(p, k, other)) continue;
        memcpy(range[n], range[0], sizeof range[0]);
        range[n][d] = (sluice_range){after ? range[0][d].start + range[0][d].count : range[0][d].start - 1, 1, 1};
        at[n][!d] = 1, at[n][d] = after ? frame[d] - 1 : 0;
        part[n] = (sluice_part){.range = range[n], .buf = to, .buf_dim = frame, .buf_at = at[n]};
        n++;
    }
    TIMED(io, must(sluice_read_all_start(&r, p->now, part, n)));
    return r;
}

/* Sends the outermost rows and columns of block k to those who have its neighbours in this round, and receives theirs.
 */
static void exchange(const plate *p, int64_t k, double *t) {
    int64_t rows = side(p, k, 0).count, columns = side(p, k, 1).count, width = columns + 2;
    double *inner[] = {t + width + 1, t + rows * width + 1, t + width + 1, t + width + columns};
    double *outer[] = {t + 1, t + (rows + 1) * width + 1, t + width, t + width + columns + 1};
    MPI_Request r[8];
    MPI_Status status[8];
    MPI_Datatype line[2]; /* of a row; of a column */
    MPI_Type_vector(1, (int)columns, (int)width, MPI_DOUBLE, &line[0]);
    MPI_Type_vector((int)rows, 1, (int)width, MPI_DOUBLE, &line[1]);
    MPI_Type_commit(&line[0]), MPI_Type_commit(&line[1]);
    int n = 0;
    for (int w = 0; w < 4; w++) {
        int64_t other = neighbour(p, k, w);
        if (!is_sent(p, k, other)) continue;
        MPI_Irecv(outer[w], 1, line[w / 2], (int)(other % p->size), w ^ 1, p->comm, &r[n++]);
        MPI_Isend(inner[w], 1, line[w / 2], (int)(other % p->size), w, p->comm, &r[n++]);
    }
    MPI_Waitall(n, r, status);
    MPI_Type_free(&line[0]), MPI_Type_free(&line[1]);
}

/* The edge of the plate stays as it is. Returns the largest change. */
static double relax(const plate *p, sluice_range rows, sluice_range columns, const double *t, double *new) {
    int64_t width = columns.count + 2;
    double change = 0;
    for (int64_t i = 0; i < rows.count; i++)
        for (int64_t j = 0; j < columns.count; j++) {
            const double *x = t + (i + 1) * width + j + 1;
            int64_t row = rows.start + i, column = columns.start + j;
            int rim = row == 0 || column == 0 || row == p->n - 1 || column == p->n - 1;
            double y = rim ? *x : ((x[-width] + x[width]) + (x[-1] + x[1])) / 4;
            change = fmax(change, fabs(y - *x));
            new[i * columns.count + j] = y;
        }
    return change;
}

static double sweep(plate *p) {
    int64_t blocks = p->across * p->across, rounds = (blocks + p->size - 1) / p->size;
    double change = 0, most;
    sluice_request *going = NULL, *coming = fetch(p, p->rank, p->old[0]);
    for (int64_t round = 0; round < rounds; round++) {
        int64_t k = round * p->size + p->rank;
        double *t = p->old[round & 1];
        sluice_range here[] = {side(p, k, 0), side(p, k, 1)};
        finish(&coming);
        if (round + 1 < rounds) coming = fetch(p, k + p->size, p->old[!(round & 1)]);
        if (p->send && k < blocks) exchange(p, k, t);
        finish(&going); /* new is free again */
        TIMED(work, change = fmax(change, relax(p, here[0], here[1], t, p->new)));
        TIMED(io, must(sluice_write_all_start(&going, p->next, &(sluice_part){.range = here, .buf = p->new}, 1)));
    }
    finish(&going);
    MPI_Allreduce(&change, &most, 1, MPI_DOUBLE, MPI_MAX, p->comm);
    sluice_array *swap = p->now;
    p->now = p->next, p->next = swap;
    return most;
}

static sluice_array *make(const plate *p, const char *name, int64_t memory) {
    sluice_desc d = {.format = SLUICE_NPY, .type = "float64", .shape = {.ndims = 2, .dim = {p->n, p->n}}};
    sluice_array *a;
    must(sluice_create_all(&a, p->comm, name, &d, &(sluice_options){.memory = memory, .replace = 1}));
    return a;
}

/* A plate that is hot along its first row and warm along its first column. */
static double start(int64_t i, int64_t j) { return i == 0 ? 100 : j == 0 ? 50 : 0; }

static void begin(const plate *p, int restart) {
    double *line = malloc((size_t)p->n * sizeof *line);
    sluice_range all = {0, p->n, 1}, first = {0, 1, 1};
    sluice_array *a;
    if (!line) MPI_Abort(MPI_COMM_WORLD, 1);
    if (restart) {
        must(sluice_open_all(&a, p->comm, saved, SLUICE_READ, NULL, NULL));
        must(sluice_redistribute_all(p->now, a, NULL));
        must(sluice_close(a));
    } else { /* the rest is 0 as it was made */
        int n = p->rank == 0;
        for (int64_t i = 0; i < p->n; i++) line[i] = start(i, 0);
        must(sluice_write_parts_all(p->now, &(sluice_part){.range = (sluice_range[]){all, first}, .buf = line}, n));
        for (int64_t j = 0; j < p->n; j++) line[j] = start(0, j);
        must(sluice_write_parts_all(p->now, &(sluice_part){.range = (sluice_range[]){first, all}, .buf = line}, n));
    }
    free(line);
}

/* The old checkpoint stays until the new one is whole. */
static void save(const plate *p) {
    sluice_array *a = make(p, "laplace-new.npy", 0);
    must(sluice_redistribute_all(a, p->now, NULL));
    must(sluice_sync(a));
    must(sluice_close(a));
    if (p->rank == 0 && rename("laplace-new.npy", saved)) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(p->comm);
}

/* Returns the number of sweeps that were made. */
static int run(MPI_Comm comm, int64_t n, int64_t memory, int sweeps, int send, int restart) {
    plate p = {.comm = comm, .n = n, .send = send};
    int64_t room = memory / 4 * 3 / 8; /* in elements; a quarter is the library's */
    MPI_Comm_rank(comm, &p.rank);
    MPI_Comm_size(comm, &p.size);
    p.edge = (int64_t)sqrt((double)room / 3) - 2;
    if (p.edge < 1 || n < 1) fprintf(stderr, "laplace: too little memory\n"), MPI_Abort(MPI_COMM_WORLD, 1);
    int64_t least = p.across = (n + p.edge - 1) / p.edge;
    while (p.across * p.across % p.size && p.across < 2 * least) p.across++; /* as many as come out even */
    p.edge = (n + p.across - 1) / p.across;
    int64_t block = (p.edge + 2) * (p.edge + 2);
    double *buf = calloc((size_t)(3 * block), sizeof *buf), change = INFINITY, begun = MPI_Wtime();
    if (!buf) MPI_Abort(MPI_COMM_WORLD, 1);
    p.old[0] = buf, p.old[1] = buf + block, p.new = buf + 2 * block;
    p.now = make(&p, path[0], memory / 8), p.next = make(&p, path[1], memory / 8);
    begin(&p, restart);
    int done = 0;
    for (io = work = 0; done < sweeps && change > enough; done++) {
        change = sweep(&p);
        if (p.rank == 0 && isatty(2)) fprintf(stderr, "\rsweep %d of %d: change %g ", done + 1, sweeps, change);
    }
    double taken[] = {io, work, MPI_Wtime() - begun}, most[3];
    save(&p);
    must(sluice_close(p.now));
    must(sluice_close(p.next));
    MPI_Reduce(taken, most, 3, MPI_DOUBLE, MPI_MAX, 0, comm);
    if (p.rank == 0)
        printf("\r%d x %d, %d sweeps in %d x %d blocks by %d processes, edges %s: %.3f s; in the slowest %.3f s "
               "computing, "
               "%.3f s waiting for I/O; change %g\n",
               (int)n, (int)n, done, (int)p.across, (int)p.across, p.size, send ? "sent" : "read", most[2], most[1],
               most[0], change);
    for (int i = 0; i < 2 && p.rank == 0; i++) remove(path[i]);
    free(buf);
    return done;
}

/* How many elements of the checkpoint are not, bit by bit, what so many sweeps in memory make. */
static int64_t wrong(int64_t n, int sweeps) {
    double *a = malloc((size_t)(3 * n * n) * sizeof *a), *b = a + n * n, *got = b + n * n;
    sluice_array *file;
    int64_t bad = 0;
    if (!a) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int64_t i = 0; i < n * n; i++) a[i] = b[i] = start(i / n, i % n);
    for (int s = 0; s < sweeps; s++) {
        for (int64_t i = 1; i < n - 1; i++)
            for (int64_t j = 1; j < n - 1; j++) {
                const double *x = a + i * n + j;
                b[i * n + j] = ((x[-n] + x[n]) + (x[-1] + x[1])) / 4;
            }
        double *swap = a;
        a = b, b = swap;
    }
    must(sluice_open(&file, saved, SLUICE_READ, NULL, NULL));
    must(sluice_read(file, NULL, got));
    must(sluice_close(file));
    for (int64_t i = 0; i < n * n; i++) bad += memcmp(&a[i], &got[i], sizeof *a) != 0;
    free(a < b ? a : b);
    return bad;
}

int main(int argc, char **argv) {
    int rank, size;
    int64_t bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1)
        run(MPI_COMM_WORLD, atoll(argv[1]), (argc > 2 ? atoll(argv[2]) : 64) << 20, argc > 3 ? atoi(argv[3]) : 100,
            argc > 4 && !strcmp(argv[4], "send"), argc > 5);
    for (int send = 0; send < 2 && argc < 2; send++) { /* half of the processes begin, all go on, in the other way */
        MPI_Comm half;
        MPI_Comm_split(MPI_COMM_WORLD, rank < (size + 1) / 2, rank, &half);
        if (rank < (size + 1) / 2) run(half, 250, 256 << 10, 7, send, 0);
        MPI_Comm_free(&half);
        MPI_Barrier(MPI_COMM_WORLD);
        run(MPI_COMM_WORLD, 250, 256 << 10, 5, !send, 1);
        if (rank == 0) bad += wrong(250, 12);
        MPI_Barrier(MPI_COMM_WORLD);
        int settled = run(MPI_COMM_WORLD, 4, 256 << 10, 1000, send, 0);
        if (rank == 0) bad += settled == 1000 || wrong(4, settled) || remove(saved);
    }
    if (bad) fprintf(stderr, "laplace: %lld elements are wrong\n", (long long)bad);
    MPI_Finalize();
    return bad != 0;
}
