/* clusterfile.c: tables 1 and 2 of the paper on mapping functions for parallel files: a square of N x N bytes lies in
 * four subfiles, by columns (c), square blocks (b) or rows (r), kept by four servers; each of four clients writes a
 * quarter of the rows through a view.
 *
 *   t_i   setting the view: intersections and projections, without messages
 *   t_m   mapping the ends of the range to all subfiles
 *   t_g   gathering what goes to each subfile
 *   t_n   the whole write as the client sees it, t_m and t_g included: acknowledged when it is queued (behind), when
 *         the server has written it to the page cache (cache), and with what a sync adds (disk)
 *   t_s   writing what four clients send to one subfile, at its server: to the page cache, and with a sync
 *
 * Medians, of the last client to finish where there are several. Microseconds. The paper's figures stand below ours,
 * where it has them: 16 nodes with a Pentium III of 800 MHz, Myrinet and IDE disks. Here eight processes share one
 * machine.
 *
 *     clusterfile [--reps R] [--max N] [--quick]      makes files in the current folder and removes them
 */
#include "array/parallel.h"
#include "bench.h"
#include "contend.h"
#include "sluice_serve.h"
#include <string.h>
#include <unistd.h>

enum { SUBS = 4, PROCS = 8, QUICK = 256, DEFAULT_REPS = 10, LARGEST = 16384, LOOPS = 200 };

typedef enum layout { COLUMNS, SQUARES, ROWS, LAYOUTS } layout;
static const char letter[] = "cbr";

/* size, layout, t_i, t_m, t_g, t_n cache, t_n disk, t_s cache, t_s disk */
static const struct {
    int64_t n;
    layout how;
    double t[7];
} paper[] = {{256, COLUMNS, {1229, 9, 344, 1205, 4346, 87, 2255}},
             {256, SQUARES, {514, 4, 203, 831, 2191, 61, 1278}},
             {256, ROWS, {310, 0, 0, 510, 1455, 45, 918}},
             {512, COLUMNS, {1096, 11, 940, 2871, 7614, 292, 3593}},
             {512, SQUARES, {506, 6, 568, 2294, 5900, 261, 3095}},
             {512, ROWS, {333, 0, 0, 1425, 4018, 219, 2717}},
             {1024, COLUMNS, {1136, 18, 2414, 9237, 22309, 1096, 10602}},
             {1024, SQUARES, {518, 9, 1703, 7104, 19375, 1068, 10622}},
             {1024, ROWS, {318, 0, 0, 5340, 15136, 1194, 10951}},
             {2048, COLUMNS, {1222, 22, 6501, 30781, 80793, 4942, 41684}},
             {2048, SQUARES, {503, 11, 5496, 26184, 71358, 4919, 41178}},
             {2048, ROWS, {296, 0, 0, 20333, 56475, 5081, 41179}}};

static int rank, reps = DEFAULT_REPS;
static MPI_Comm clients;
static const char *const path[] = {"clusterfile-0", "clusterfile-1", "clusterfile-2", "clusterfile-3"};

static void must(int error, const char *what) {
    if (!error) return;
    fprintf(stderr, "%s: %s\n", what, sluice_errmsg());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void divide(sluice_set *set, layout how, int64_t n) {
    const sluice_shape s = {2, SLUICE_ROW_MAJOR, 1, 0, {n, n}};
    const sluice_dist block = {.kind = SLUICE_DIST_BLOCK}, star = {.kind = SLUICE_DIST_STAR};
    const sluice_dist dist[][2] = {{star, block}, {block, block}, {block, star}};
    const int grid[][2] = {{1, SUBS}, {2, 2}, {SUBS, 1}};
    for (int i = 0; i < SUBS; i++) bench_must(sluice_set_hpf(&set[i], &s, dist[how], grid[how], i, NULL), "hpf");
}

static void remove_subfiles(void) {
    for (int i = 0; i < SUBS; i++) unlink(path[i]);
}

/* Everyone is here; no one takes a core while waiting. */
static void wait_quietly(MPI_Comm comm) {
    MPI_Request r;
    sluice_nap nap = {0};
    MPI_Ibarrier(comm, &r);
    for (int there = 0; !there; MPI_Test(&r, &there, MPI_STATUS_IGNORE)) sluice_nap_take(&nap, false);
}

/* ---- By one process alone ------------------------------------------------------------------------------------- */

typedef struct alone {
    double set, map, gather, cache, disk;
    sluice_view_counts counts;
} alone;

/* What the view of client `who` has for subfile i, gathered to `packed`; the bytes. */
static int64_t gather(const sluice_view *v, int i, int64_t len, const unsigned char *buf, unsigned char *packed) {
    const sluice_span s = sluice_link_span(&v->link[i], 0, len);
    sluice_set mem = SLUICE_SET_EMPTY;
    if (s.n == 0 || s.n == s.to - s.from) return 0;
    bench_must(sluice_element_cut(&mem, &v->link[i].view, s.from, s.to), "cut");
    const sluice_side src = {(void *)(uintptr_t)buf, &mem, 0, 0}, dst = {packed, NULL, 0, 0};
    int64_t moved = sluice_move(&dst, &src, s.n);
    sluice_set_free(&mem);
    return moved;
}

/* Writes the parts of all clients of subfile 0, packed as they arrive. */
static void scatter(sluice_file *f, sluice_view *const *v, int64_t len, const unsigned char *packed) {
    for (int k = 0; k < SUBS; k++) {
        const sluice_span s = sluice_link_span(&v[k]->link[0], 0, len);
        sluice_set file = SLUICE_SET_EMPTY;
        if (!s.n) continue;
        bench_must(sluice_element_cut(&file, &v[k]->link[0].sub, s.lo, s.hi), "cut");
        const sluice_io_part part = {&file, {(void *)(uintptr_t)packed, NULL, 0, 0}};
        bench_must(sluice_io_write(&f->io[0], &part, 1, NULL), "write");
        sluice_set_free(&file);
    }
}

static alone measure_alone(const sluice_partition *p, const sluice_set *rows, int64_t n) {
    const int64_t len = n * n / SUBS;
    const sluice_options o = {.exclusive = 1};
    sluice_file *f;
    sluice_view *v[SUBS];
    double t[5][BENCH_MAX_REPS];
    unsigned char *buf = malloc((size_t)len), *packed = malloc((size_t)len);
    if (!buf || !packed) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(buf, 1, (size_t)len), memset(packed, 2, (size_t)len);
    must(sluice_file_create(&f, p, path, &o), "create");
    for (int k = 1; k < SUBS; k++) must(sluice_view_set(&v[k], f, &(sluice_element){&rows[k], n * n, 0}), "view");
    for (int r = 0; r < reps; r++) {
        double start = bench_now();
        must(sluice_view_set(&v[0], f, &(sluice_element){&rows[0], n * n, 0}), "view");
        t[0][r] = bench_now() - start;
        start = bench_now();
        int64_t n_in_all = 0;
        for (int k = 0; k < LOOPS; k++)
            for (int i = 0; i < SUBS; i++)
                if (v[0]->link[i].view_set.size) n_in_all += sluice_link_span(&v[0]->link[i], k, len - k).n;
        t[1][r] = n_in_all ? (bench_now() - start) / LOOPS : 0;
        start = bench_now();
        unsigned char *at = packed;
        for (int i = 0; i < SUBS; i++) at += gather(v[0], i, len, buf, at);
        t[2][r] = at > packed ? bench_now() - start : 0;
        start = bench_now();
        scatter(f, v, len, packed);
        t[3][r] = bench_now() - start;
        bench_must(sluice_store_sync(f->io[0].store, NULL), "sync");
        t[4][r] = bench_now() - start;
        if (r + 1 < reps) sluice_view_free(v[0]);
    }
    alone a = {bench_median(t[0], reps), bench_median(t[1], reps), bench_median(t[2], reps),
               bench_median(t[3], reps), bench_median(t[4], reps), {0}};
    must(sluice_view_write(v[0], 0, len, buf), "write");
    sluice_view_count(v[0], -1, &a.counts);
    for (int k = 0; k < SUBS; k++) sluice_view_free(v[k]);
    must(sluice_file_close(f), "close");
    remove_subfiles();
    free(buf), free(packed);
    return a;
}

/* ---- Together ------------------------------------------------------------------------------------------------- */

/* The median over repetitions of the last client's time: of writes, and of writes with the sync after each. */
static void measure_served(double *write, double *disk, const sluice_partition *p, const sluice_set *rows, int64_t n,
                           bool behind) {
    const int64_t len = n * n / SUBS;
    const sluice_servers s = {.size = sizeof s, .comm = MPI_COMM_WORLD, .n = SUBS, .no_write_behind = !behind};
    sluice_file *f;
    sluice_view *v;
    must(sluice_file_create_all(&f, &s, p, path, NULL), "create");
    if (rank < PROCS - SUBS) {
        double mine[2][BENCH_MAX_REPS], last[2][BENCH_MAX_REPS];
        unsigned char *buf = malloc((size_t)len), *back = malloc((size_t)len);
        if (!buf || !back) MPI_Abort(MPI_COMM_WORLD, 1);
        for (int64_t i = 0; i < len; i++) buf[i] = (unsigned char)(i * 7 + i / 251 + rank);
        must(sluice_view_set(&v, f, &(sluice_element){&rows[rank], n * n, 0}), "view");
        must(sluice_view_write(v, 0, len, buf), "write"); /* the subfiles have their size then, as in later ones */
        for (int r = 0; r < reps; r++) {
            wait_quietly(clients);
            const double start = bench_now();
            must(sluice_view_write(v, 0, len, buf), "write");
            mine[0][r] = bench_now() - start;
            wait_quietly(clients);
            const double sync = bench_now();
            if (disk) must(sluice_file_sync(f), "sync");
            mine[1][r] = mine[0][r] + bench_now() - sync;
        }
        must(sluice_view_read(v, 0, len, back), "read");
        if (memcmp(buf, back, (size_t)len))
            fprintf(stderr, "rank %d read something else\n", rank), MPI_Abort(clients, 1);
        for (int k = 0; k < 2; k++) MPI_Reduce(mine[k], last[k], reps, MPI_DOUBLE, MPI_MAX, 0, clients);
        if (rank == 0) *write = bench_median(last[0], reps);
        if (rank == 0 && disk) *disk = bench_median(last[1], reps);
        sluice_view_free(v);
        free(buf), free(back);
    }
    must(sluice_file_close(f), "close");
    wait_quietly(MPI_COMM_WORLD);
    if (rank == 0) remove_subfiles();
    wait_quietly(MPI_COMM_WORLD);
}

static void one(int64_t n, layout how) {
    sluice_set subs[SUBS] = {SLUICE_SET_EMPTY}, rows[SUBS] = {SLUICE_SET_EMPTY};
    alone a = {0};
    double behind = 0, cache = 0, disk = 0;
    divide(subs, how, n);
    divide(rows, ROWS, n);
    const sluice_partition p = {SUBS, subs, n * n, 0}, q = {SUBS, rows, n * n, 0};
    if (rank == 0) a = measure_alone(&p, rows, n);
    wait_quietly(MPI_COMM_WORLD);
    measure_served(&behind, NULL, &p, rows, n, true);
    measure_served(&cache, &disk, &p, rows, n, false);
    if (rank == 0) {
        sluice_matrix m = {0};
        bench_must(sluice_redistribute(&m, &q, &p), "redistribute");
        printf("%6lld %c %8.1f %7.2f %9.1f | %9.1f %9.1f %10.1f | %9.1f %10.1f | %4lld %8lld %6.4f\n", (long long)n,
               letter[how], a.set / 1e3, a.map / 1e3, a.gather / 1e3, behind / 1e3, cache / 1e3, disk / 1e3,
               a.cache / 1e3, a.disk / 1e3, (long long)a.counts.requests, (long long)m.total_segments,
               (double)m.match_num / (double)m.match_den);
        for (size_t i = 0; i < sizeof paper / sizeof *paper; i++) {
            const double *t = paper[i].t;
            if (paper[i].n == n && paper[i].how == how)
                printf("   paper %8.0f %7.0f %9.0f | %9s %9.0f %10.0f | %9.0f %10.0f |\n", t[0], t[1], t[2], "", t[3],
                       t[4], t[5], t[6]);
        }
        sluice_matrix_free(&m);
        fflush(stdout);
    }
    for (int i = 0; i < SUBS; i++) sluice_set_free(&subs[i]), sluice_set_free(&rows[i]);
}

static int work(int64_t largest) {
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < PROCS - SUBS, rank, &clients);
    if (rank == 0)
        printf(
            "%d clients write rows, %d servers; medians of %d, microseconds\n"
            "     N      t_i     t_m       t_g |t_n behind     cache       disk | t_s cache       disk | msgs   pieces "
            " match\n",
            PROCS - SUBS, SUBS, reps);
    for (int64_t n = QUICK; n <= largest; n *= 2)
        for (layout how = COLUMNS; how < LAYOUTS; how++) one(n, how);
    MPI_Comm_free(&clients);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv) {
    int64_t largest = LARGEST;
    bool child = false;
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--quick"))
            largest = QUICK, reps = 2;
        else if (!strcmp(argv[i], "--reps") && atoi(next) > 0 && atoi(next) <= BENCH_MAX_REPS)
            reps = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--max") && atoll(next) > 0)
            largest = atoll(argv[++i]);
        else if (!strcmp(argv[i], "--child"))
            child = true;
        else {
            fprintf(stderr, "usage: %s [--reps R] [--max N] [--quick]\n", argv[0]);
            return 2;
        }
    }
    if (child) return work(largest);
    char r[16], n[24];
    snprintf(r, sizeof r, "%d", reps);
    snprintf(n, sizeof n, "%lld", (long long)largest);
    bench_mpiexec(PROCS, (char *[]){argv[0], "--child", "--reps", r, "--max", n}, 6);
}
