/* library.h: sections of an array through a library of file formats on MPI-IO: by the MPI library's own, and by Sluice
 * through the door, in one run of one program that knows of neither.
 *
 *     program [P]                          starts P processes of itself, 4 if not said, with the door preloaded
 *
 * The file has two names, and SLUICE_MPIIO leaves the one that ends in .host to the MPI library. So both work on the
 * same bytes in the same cache, take turns in each repetition, and each has a handle of its own. Patterns are those of
 * the two-phase paper (patterns.h). Everything that is read is compared with what must be there, and everything that is
 * written is read back by the other side.
 *
 * A figure is the median, from the first start to the last end among the processes, which wait for each other asleep.
 */
#ifndef SLUICE_BENCH_LIBRARY_H
#define SLUICE_BENCH_LIBRARY_H

#include "bench.h"
#include "contend.h"
#include "patterns.h"
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What one library does. A section is start, count, step of columns and of rows; an array is N columns of N rows, the
 * rows of a column side by side. All return 0, or not 0. */
typedef struct section {
    int64_t start[2], count[2], step[2];
} section;
static const char *const library_name;
static int library_create(const char *path, int64_t n); /* collective; all is 0 */
static int library_open(int side, const char *path);    /* collective */
static int library_close(int side);
static int library_move(int side, bool write, bool collective, const section *s, int32_t *buf);

enum { HOST, SLUICE, SIDES, TIMES = 15 };
static const char *const chosen = "T3-III,T5-II,T5-IV,T8-VI,T4-III,T6-II";

static board *b;
static int rank, nranks;

static void library_must(int failed, const char *what) {
    if (!failed) return;
    fprintf(stderr, "%s: process %d: %s failed\n", library_name, rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int32_t value_at(int64_t n, int64_t column, int64_t row, int32_t salt) {
    return (int32_t)((uint32_t)(column * n + row) * 2654435761u) ^ salt;
}

/* Fills the section, or counts what is wrong. */
static int64_t go_through(int64_t n, const section *s, int32_t *buf, int32_t salt, bool fill) {
    int64_t wrong = 0;
    for (int64_t c = 0; c < s->count[0]; c++)
        for (int64_t r = 0; r < s->count[1]; r++, buf++) {
            int32_t v = value_at(n, s->start[0] + c * s->step[0], s->start[1] + r * s->step[1], salt);
            if (fill)
                *buf = v;
            else
                wrong += *buf != v;
        }
    return wrong;
}

/* Nanoseconds, known to all. */
static double timed(int side, bool write, bool collective, const section *s, int32_t *buf) {
    board_meet(b);
    board_meet(b); /* the first may have woken us from a long sleep */
    double start = bench_now();
    library_must(library_move(side, write, collective, s, buf), write ? "writing" : "reading");
    b->slot[rank].start = start;
    b->slot[rank].end = bench_now();
    board_meet(b);
    double first = b->slot[0].start, last = b->slot[0].end;
    for (int r = 1; r < nranks; r++) first = fmin(first, b->slot[r].start), last = fmax(last, b->slot[r].end);
    board_meet(b);
    return last - first;
}

typedef struct tally {
    double sum, worst;
    int n;
    char where[32];
} tally;

static void compete(const pattern *p, bool collective, tally *t) {
    const pattern_range row = pattern_of(p->row, rank, nranks), column = pattern_of(p->column, rank, nranks);
    const section s = {{column.start, row.start}, {column.count, row.count}, {column.step, row.step}};
    int32_t *buf = malloc((size_t)(s.count[0] * s.count[1] + 1) * sizeof *buf);
    double time[SIDES][TIMES];
    if (!buf) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = -1; i < TIMES; i++) /* the first does not count */
        for (int k = 0; k < SIDES; k++) {
            const int side = (i + k) & 1, salt = p->write ? (i + 2) * SIDES + side : 0;
            go_through(p->n, &s, buf, salt, p->write);
            if (!p->write) memset(buf, 0xA5, (size_t)(s.count[0] * s.count[1]) * sizeof *buf);
            const double one = timed(side, p->write, collective, &s, buf);
            if (i >= 0) time[side][i] = one;
            if (p->write) {
                memset(buf, 0xA5, (size_t)(s.count[0] * s.count[1]) * sizeof *buf);
                library_must(library_move(!side, false, collective, &s, buf), "reading back");
            }
            library_must(go_through(p->n, &s, buf, salt, false) > 0, "what was moved is wrong:");
            board_meet(b);
        }
    if (p->write) { /* back to what was there */
        go_through(p->n, &s, buf, 0, true);
        library_must(library_move(SLUICE, true, true, &s, buf), "writing");
    }
    free(buf);
    const double host = bench_median(time[HOST], TIMES), ours = bench_median(time[SLUICE], TIMES), ratio = host / ours;
    if (rank == 0)
        printf("%-8s %-6s %-12s %9.3f %9.3f %8.2f\n", p->name, p->write ? "write" : "read",
               collective ? "collective" : "independent", host / 1e6, ours / 1e6, ratio);
    t->sum += log(ratio);
    if (!t->n++ || ratio < t->worst) {
        t->worst = ratio;
        snprintf(t->where, sizeof t->where, "%s %s", p->name, collective ? "collective" : "independent");
    }
}

/* An array and all that is done with it. */
static void on_array(int64_t n, const char *name, tally *together, tally *all) {
    char path[SIDES][200];
    int32_t *buf = NULL;
    for (int side = 0; side < SIDES; side++)
        snprintf(path[side], sizeof path[side], "%s.%s", name, side == HOST ? "host" : "sluice");
    if (rank == 0) unlink(path[HOST]), unlink(path[SLUICE]);
    board_meet(b);
    library_must(library_create(path[HOST], n), "creating");
    board_meet(b);
    if (rank == 0) library_must(link(path[HOST], path[SLUICE]), "giving the file another name");
    board_meet(b);
    for (int side = 0; side < SIDES; side++) library_must(library_open(side, path[side]), "opening");
    for (int64_t c = rank * 64; c < n; c += 64 * nranks) { /* in pieces */
        const section s = {{c, 0}, {c + 64 < n ? 64 : n - c, n}, {1, 1}};
        if (!buf) buf = malloc((size_t)(64 * n) * sizeof *buf);
        if (!buf) MPI_Abort(MPI_COMM_WORLD, 1);
        go_through(n, &s, buf, 0, true);
        library_must(library_move(SLUICE, true, false, &s, buf), "writing");
    }
    free(buf);
    board_meet(b);
    for (int i = 0; i < PATTERNS; i++) {
        if (patterns[i].n != n || !listed(chosen, patterns[i].name)) continue;
        tally mine = {0};
        compete(&patterns[i], true, &mine);
        together->sum += mine.sum, together->n++;
        compete(&patterns[i], false, &mine);
        if (!all->n++ || mine.worst < all->worst) *all = mine;
    }
    for (int side = 0; side < SIDES; side++) library_must(library_close(side), "closing");
    board_meet(b);
    if (rank == 0) unlink(path[HOST]), unlink(path[SLUICE]);
}

static int library_work(const char *board_path) {
    char name[100], version[MPI_MAX_LIBRARY_VERSION_STRING];
    tally together = {0}, all = {0};
    int fd = open(board_path, O_RDWR), len;
    b = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (b == MAP_FAILED) return 1;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    MPI_Get_library_version(version, &len);
    version[strcspn(version, ",\n")] = 0;
    snprintf(name, sizeof name, "library-%d", b->pid);
    if (rank == 0)
        printf("%s on %s, %d processes; milliseconds, median of %d\n%-27s %9s %9s %8s\n", library_name, version, nranks,
               TIMES, "", "host", "Sluice", "times");
    on_array(4096, name, &together, &all);
    on_array(16384, name, &together, &all);
    if (rank == 0) {
        const double mean = exp(together.sum / together.n);
        printf("collective: %.2f times as fast in geometric mean, goal 3.00: %s\n", mean, mean >= 3 ? "met" : "MISSED");
        printf("worst: %.2f times as fast, %s, goal 0.91: %s\n", all.worst, all.where,
               all.worst >= 1 / 1.1 ? "met" : "MISSED");
    }
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "--board")) return library_work(argv[2]);
    char path[64], preload[sizeof BENCH_DOOR + 16];
    const int fd = memfd_create("board", 0);
    b = fd < 0 || ftruncate(fd, sizeof *b) ? MAP_FAILED
                                           : mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int procs = argc > 1 ? atoi(argv[1]) : 4;
    if (b == MAP_FAILED || procs < 1 || procs > RANKS) return 2;
    b->nranks = procs, b->pid = (int)getpid();
    snprintf(path, sizeof path, "/proc/%d/fd/%d", b->pid, fd);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", BENCH_DOOR);
    char *rest[] = {"env", preload, "SLUICE_MPIIO=*.host", argv[0], "--board", path};
    bench_mpiexec(procs, rest, 6);
}

#endif
