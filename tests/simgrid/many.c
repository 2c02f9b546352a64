/* many.c: the collective with many ranks, which SimGrid runs in one process, one at a time. Rank 0 computes from the
 * sections alone, element by element, what must be in the file, and who sends how much to whom in each round; all ranks
 * share its memory, so that they only need its address. Prints what planning cost. */
#include "array/array.h"
#include "sluice_mpi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXTENT = 1024, ELEM = sizeof(int32_t), ALL = EXTENT * EXTENT };

/* What a process may hold beside windows: for itself and the aggregators, and for each peer, whose last requests to
 * read and to write it knows. */
enum { ALONE = 16 << 10, PEER = 2 * 256 };

typedef enum kind { BLOCKS, STRIDED, OVERLAPPING, KINDS } kind;
static const char *const name_of[KINDS] = {"blocks", "strided", "overlapping"};

/* What rank 0 knows. */
typedef struct truth {
    int32_t file[ALL];
    int winner[ALL];           /* the highest rank that names an element; -1 = none */
    int64_t *messages, *bytes; /* of each rank, all rounds */
    int64_t *pair;             /* of each window and rank: bytes; a scratch area */
    int64_t runs, windows;     /* of what is wanted, counted window by window; windows of which something is */
    int64_t failures;
} truth;

typedef struct self {
    int rank, size;
    sluice_array *a;
    truth *t;
    int32_t *buf;
} self;

static void fail(self *s, kind k, bool write, const char *what, int64_t got, int64_t want) {
    if (s->t->failures++ < 10)
        printf("rank %d of %d, %s %s: %s: %lld, not %lld\n", s->rank, s->size, write ? "write" : "read", name_of[k],
               what, (long long)got, (long long)want);
}

static void must(int err) {
    if (!err) return;
    printf("%s\n", sluice_errmsg());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The section of a rank. Blocks: a square of a square grid. Strided: every P-th column. Overlapping: rows, every third
 * of them, with as many of the neighbours' on both sides. */
static void section(kind k, int rank, int size, sluice_range *r) {
    int side = 1;
    while (side * side < size) side++;
    int64_t edge = EXTENT / side, rows = EXTENT / size, first = rank * rows - 2 * rows, last = rank * rows + 3 * rows;
    switch (k) {
    case BLOCKS:
        r[0] = (sluice_range){rank / side * edge, edge, 1};
        r[1] = (sluice_range){rank % side * edge, edge, 1};
        break;
    case STRIDED:
        r[0] = (sluice_range){0, EXTENT, 1};
        r[1] = (sluice_range){rank, EXTENT / size, size};
        break;
    default:
        first = sluice_max(first, 0);
        r[0] = (sluice_range){first, sluice_ceil_div(sluice_min(last, EXTENT) - first, 3), 3};
        r[1] = (sluice_range){rank % 7, EXTENT / 2 - 4, 2};
    }
}

static int64_t element(const sluice_range *r, int64_t i, int64_t j) {
    return (r[0].start + i * r[0].step) * EXTENT + r[1].start + j * r[1].step;
}

static int32_t value(kind k, int rank, int64_t e) { return (int32_t)(e * 2654435761 + rank * 40503 + k); }

/* ---- What must be -------------------------------------------------------------------------------------------- */

/* The rounds of a plan as the rules say: aggregator a has the rows from a * each on, of those between the first and the
 * last that anyone wants, and the window moves along them. */
typedef struct division {
    int64_t first, last, each; /* rows */
    int n;                     /* aggregators, which are the first ranks */
    int64_t window, rounds;    /* window: bytes */
} division;

static division divide(kind k, int size, int aggregators, int64_t window) {
    division d = {EXTENT, 0, 0, aggregators, window, 0};
    for (int r = 0; r < size; r++) {
        sluice_range x[2];
        section(k, r, size, x);
        d.first = sluice_min(d.first, x[0].start);
        d.last = sluice_max(d.last, x[0].start + (x[0].count - 1) * x[0].step + 1);
    }
    d.each = sluice_ceil_div(d.last - d.first, aggregators);
    return d;
}

/* The window that holds an element: a number below n * rounds; windows are counted in the domain, which starts with the
 * first requested byte if it is the first. */
static int64_t window_of(const division *d, int64_t lo, int64_t e, int *a) {
    int64_t row = e / EXTENT - d->first, start = (d->first + row / d->each * d->each) * EXTENT * ELEM;
    *a = (int)(row / d->each);
    return *a * d->rounds + (e * ELEM - sluice_max(start, lo)) / d->window;
}

static void expect_rank(truth *t, const division *d, int64_t lo, kind k, bool write, int r, int size) {
    sluice_range x[2];
    section(k, r, size, x);
    int64_t windows = d->n * d->rounds;
    memset(t->pair, 0, (size_t)windows * sizeof *t->pair);
    for (int64_t i = 0; i < x[0].count; i++)
        for (int64_t j = 0; j < x[1].count; j++) {
            int64_t e = element(x, i, j);
            int a;
            int64_t w = window_of(d, lo, e, &a);
            if (a != r && (!write || t->winner[e] == r)) t->pair[w] += ELEM;
        }
    for (int64_t w = 0; w < windows; w++) {
        int from = write ? r : (int)(w / d->rounds);
        t->messages[from] += t->pair[w] > 0;
        t->bytes[from] += t->pair[w];
    }
}

/* Fills in t for a call. */
static void expect(truth *t, const division *d, kind k, bool write, int size) {
    int64_t lo = INT64_MAX, before = -1;
    memset(t->messages, 0, (size_t)size * sizeof *t->messages);
    memset(t->bytes, 0, (size_t)size * sizeof *t->bytes);
    memset(t->winner, -1, sizeof t->winner);
    for (int r = 0; r < size; r++) {
        sluice_range x[2];
        section(k, r, size, x);
        for (int64_t i = 0; i < x[0].count; i++)
            for (int64_t j = 0; j < x[1].count; j++) t->winner[element(x, i, j)] = r;
        lo = sluice_min(lo, element(x, 0, 0) * ELEM);
    }
    for (int r = 0; r < size; r++) expect_rank(t, d, lo, k, write, r, size);
    t->runs = t->windows = 0;
    for (int64_t e = 0; e < ALL; e++) {
        if (write && t->winner[e] >= 0) t->file[e] = value(k, t->winner[e], e);
        if (t->winner[e] < 0) continue;
        int a;
        int64_t w = window_of(d, lo, e, &a);
        t->runs += !e || t->winner[e - 1] < 0 || w != before;
        t->windows += w != before;
        before = w;
    }
}

/* ---- What is ------------------------------------------------------------------------------------------------- */

static void check_file(self *s, kind k, const char *path) {
    int32_t *disk = malloc(sizeof s->t->file);
    FILE *f = fopen(path, "rb");
    if (!disk || !f || fread(disk, ELEM, ALL, f) != ALL) MPI_Abort(MPI_COMM_WORLD, 1);
    fclose(f);
    for (int64_t e = 0; e < ALL; e++)
        if (disk[e] != s->t->file[e]) fail(s, k, true, "element of the file", disk[e], s->t->file[e]);
    free(disk);
}

typedef struct cost {
    int64_t calls;
    double seconds;
} cost;

static cost cost_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (cost){sluice_mem_calls(), (double)t.tv_sec + 1e-9 * (double)t.tv_nsec};
}

static void one_call(self *s, kind k, bool write, const char *path) {
    sluice_range x[2];
    sluice_counts before, after;
    truth *t = s->t;
    section(k, s->rank, s->size, x);
    for (int64_t i = 0; i < x[0].count; i++)
        for (int64_t j = 0; j < x[1].count; j++)
            s->buf[i * x[1].count + j] = write ? value(k, s->rank, element(x, i, j)) : -1;
    sluice_count(s->a, &before);
    s->a->io.method = write ? SLUICE_LIST : SLUICE_SIEVE; /* a request for each run; or for each window */
    MPI_Barrier(MPI_COMM_WORLD);
    cost start = cost_now();
    must(write ? sluice_write_all(s->a, x, s->buf) : sluice_read_all(s->a, x, s->buf));
    cost end = cost_now();
    sluice_count(s->a, &after);
    const sluice_plan *plan = &s->a->collective->pattern->plan;
    if (s->rank == 0) {
        division d = divide(k, s->size, s->a->collective->together.aggregators, plan->window);
        d.rounds = plan->rounds;
        expect(t, &d, k, write, s->size);
        if (write) check_file(s, k, path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t got[6] = {after.calls_write - before.calls_write, after.calls_read - before.calls_read,
                      after.messages - before.messages,       after.message_bytes - before.message_bytes,
                      after.descriptors - before.descriptors, s->a->collective->group->reserved[SLUICE_AREA_DATA]},
            all[6];
    if (got[2] != t->messages[s->rank]) fail(s, k, write, "messages", got[2], t->messages[s->rank]);
    if (got[3] != t->bytes[s->rank]) fail(s, k, write, "bytes of messages", got[3], t->bytes[s->rank]);
    for (int64_t i = 0; i < x[0].count && !write; i++)
        for (int64_t j = 0; j < x[1].count; j++) {
            int32_t is = s->buf[i * x[1].count + j], want = t->file[element(x, i, j)];
            if (is != want) fail(s, k, write, "element", is, want);
        }
    MPI_Reduce(got, all, 6, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (s->rank > 0) return;
    if (all[0] != (write ? t->runs : 0)) fail(s, k, write, "requests to write", all[0], t->runs);
    if (all[1] != (write ? 0 : t->windows)) fail(s, k, write, "requests to read", all[1], t->windows);
    int64_t held = (sluice_mem_live() - all[5]) / s->size; /* all but windows */
    if (held > ALONE + PEER * s->size) fail(s, k, write, "bytes of descriptions", held, ALONE + PEER * s->size);
    printf(
        "%4d ranks, %-5s %-11s: %3lld rounds, %6lld requests, %5lld messages of %7lld bytes; per rank: %2lld bytes of "
        "descriptors sent, %6lld bytes of descriptions held, %5lld allocations, %.2f ms\n",
        s->size, write ? "write" : "read", name_of[k], (long long)plan->rounds, (long long)(all[0] + all[1]),
        (long long)all[2], (long long)all[3], (long long)(all[4] / s->size), (long long)held,
        (long long)((end.calls - start.calls) / s->size), 1e3 * (end.seconds - start.seconds) / s->size);
    fflush(stdout);
}

static truth *share_truth(int rank, int size) {
    int64_t address = 0;
    if (rank == 0) {
        truth *t = calloc(1, sizeof *t);
        int64_t *tables = calloc(2 * (size_t)size + ALL, sizeof *tables);
        if (!t || !tables) MPI_Abort(MPI_COMM_WORLD, 1);
        t->messages = tables;
        t->bytes = tables + size;
        t->pair = tables + 2 * size;
        address = (int64_t)(intptr_t)t;
    }
    MPI_Bcast(&address, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return (truth *)(intptr_t)address;
}

int main(int argc, char **argv) {
    self s;
    char path[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.size);
    s.t = share_truth(s.rank, s.size);
    s.buf = malloc(6 * (ALL / (size_t)s.size) * ELEM);
    if (!s.buf) MPI_Abort(MPI_COMM_WORLD, 1);
    snprintf(path, sizeof path, "many.%d", (int)getpid());
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, ELEM, 0, {EXTENT, EXTENT}}};
    sluice_options o = {.size = sizeof o, .store = SLUICE_STORE_POSIX, .no_map = 1, .exclusive = 1};
    o.together = (sluice_together){.way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_DYNAMIC};
    o.together.aggregators = s.size > 256 ? 8 : 32; /* the simulator is slow with many messages under way */
    o.memory = 4 << 20;
    must(sluice_create_all(&s.a, MPI_COMM_WORLD, path, &d, &o));
    for (kind k = BLOCKS; k < KINDS; k++) {
        one_call(&s, k, true, path);
        one_call(&s, k, false, path);
    }
    must(sluice_close(s.a));
    if (s.rank == 0) unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    if (s.rank == 0 && sluice_mem_live()) fail(&s, BLOCKS, false, "bytes not given back", sluice_mem_live(), 0);
    if (s.rank == 0) {
        if (!s.t->failures) printf("all as computed\n"); /* smpirun returns 0 whatever happens */
        free(s.t->messages);
        free(s.t);
    }
    free(s.buf);
    MPI_Finalize();
    return 0;
}
