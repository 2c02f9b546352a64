/* ranks: 2 3 4 7 */
/* collective_counts.c: what collective calls do to the file and to the network, counted: who knows what, who touches
 * which bytes in which order, how often, how many messages. What is expected is counted element by element from the
 * definition of the extended two-phase method. */
#include "array/array.h"
#include "sluice_mpi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 1024, COLS = 56, ELEM = 4, COLUMN = ROWS * ELEM, MAX_RANKS = 16, MOST = 4096 };

static int rank, size, failures;
static const char *scene = "";
static int32_t *buf;
static sluice_range ask[MAX_RANKS][2]; /* of each rank: rows, columns */

static void must(int err, const char *what) {
    if (!err) return;
    printf("rank %d of %d: %s: %s: %s\n", rank, size, scene, what, sluice_errmsg());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void expect(const char *what, int64_t got, int64_t want) {
    if (got == want || failures++ >= 10) return;
    printf("rank %d of %d: %s: %s: %lld, not %lld\n", rank, size, scene, what, (long long)got, (long long)want);
}

static void hold(bool good, const char *what) {
    if (!good && failures++ < 10) printf("rank %d of %d: %s: not so: %s\n", rank, size, scene, what);
}

/* Sums over all processes, made together at the end: a message is slow where processes share cores. */
static struct {
    const char *scene, *what;
    int64_t want;
} sum[128];
static int64_t part[128];
static int nsums;

static void expect_sum(const char *what, int64_t mine, int64_t want) {
    if (nsums == 128) abort();
    part[nsums] = mine;
    sum[nsums].scene = scene;
    sum[nsums].what = what;
    sum[nsums++].want = want;
}

static void check_sums(void) {
    int64_t all[128];
    MPI_Allreduce(part, all, nsums, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < nsums; i++) {
        scene = sum[i].scene;
        if (rank == 0) expect(sum[i].what, all[i], sum[i].want);
    }
}

/* ---- The requests, element by element ---- */

static bool in(const sluice_range *r, int64_t i) {
    return i >= r->start && (i - r->start) % r->step == 0 && (i - r->start) / r->step < r->count;
}

static bool wants(int r, int64_t row, int64_t col) { return in(&ask[r][0], row) && in(&ask[r][1], col); }

static bool wanted(int64_t row, int64_t col) {
    for (int r = 0; r < size; r++)
        if (wants(r, row, col)) return true;
    return false;
}

static int64_t elements(void) {
    int64_t n = 0;
    for (int64_t e = 0; e < ROWS * COLS; e++) n += wanted(e % ROWS, e / ROWS);
    return n;
}

static bool column_wanted(int64_t col) {
    for (int64_t row = 0; row < ROWS; row++)
        if (wanted(row, col)) return true;
    return false;
}

/* The processes in whose domains columns lie: blocks of all columns, or of those from the first to the last wanted. */
static void find_owners(sluice_division division, int *owner) {
    int64_t first = 0, last = COLS - 1;
    if (division == SLUICE_DIVIDE_DYNAMIC) {
        while (!column_wanted(first)) first++;
        while (!column_wanted(last)) last--;
    }
    int64_t block = (last - first + size) / size;
    for (int64_t col = 0; col < COLS; col++) owner[col] = col < first || col > last ? -1 : (int)((col - first) / block);
}

static int32_t value(int64_t row, int64_t col) { return (int32_t)(row * 77 + col * 1009 + 5); }

/* ---- The calls ---- */

typedef struct touch {
    bool write;
    int64_t off, len;
} touch;
static struct {
    int n;
    touch of[MOST];
} tap;

static void tapped(void *arg, const char *call, int64_t off, int64_t len, int64_t result) {
    (void)arg;
    bool read = !strcmp(call, "read"), write = !strcmp(call, "write");
    if (!read && !write) return;
    if (tap.n == MOST) abort();
    if (result != len) failures++;
    tap.of[tap.n++] = (touch){write, off, len};
}

static void settle(sluice_array *a, sluice_division division, sluice_method method, int64_t memory, int aggregators) {
    sluice_collective *c = a->collective;
    c->together.way = SLUICE_WAY_TWO_PHASE;
    c->together.division = division;
    c->together.aggregators = aggregators;
    c->memory = memory;
    a->io.method = method;
    a->io.no_map = true;
    sluice_collective_forget(c);
}

/* Reads or writes what was asked for; returns what it did. */
static sluice_counts run(sluice_array *a, bool write) {
    sluice_counts was, is;
    sluice_range *r = ask[rank];
    int64_t k = 0;
    memset(buf, 0xAA, ROWS * COLS * ELEM);
    for (int64_t c = 0; c < r[1].count; c++)
        for (int64_t i = 0; write && i < r[0].count; i++)
            buf[k++] = value(r[0].start + i * r[0].step, r[1].start + c * r[1].step);
    tap.n = 0;
    sluice_count(a, &was);
    must(write ? sluice_write_all(a, r, buf) : sluice_read_all(a, r, buf), "call");
    sluice_count(a, &is);
    for (int64_t c = 0; c < r[1].count; c++)
        for (int64_t i = 0; !write && i < r[0].count; i++)
            if (buf[k++] != value(r[0].start + i * r[0].step, r[1].start + c * r[1].step)) {
                hold(false, "the right data was read");
                return is;
            }
    int64_t *x = (int64_t *)&is;
    const int64_t *y = (const int64_t *)&was;
    for (size_t i = 0; i < sizeof is / sizeof *x; i++) x[i] -= y[i];
    return is;
}

/* All transfers ascend, each once through, and stay in the domain of the process. */
static void check_touches(const sluice_array *a, bool write) {
    const sluice_pattern *p = a->collective->pattern;
    int64_t end = 0;
    for (int i = 0; i < tap.n; i++) {
        if (tap.of[i].write != write) continue;
        hold(tap.of[i].off >= end, "requests ascend");
        end = tap.of[i].off + tap.of[i].len;
    }
    for (int i = 0; i < tap.n; i++) {
        const sluice_set *d = p->me < 0 ? NULL : &p->plan.aggregator[p->me].domain;
        int64_t lo = tap.of[i].off, hi = lo + tap.of[i].len;
        hold(d && sluice_set_rank(d, hi) - sluice_set_rank(d, lo) == hi - lo, "requests stay in the own domain");
    }
}

/* ---- Patterns ---- */

static void everyone(sluice_range rows, sluice_range cols, int64_t row_shift, int64_t col_shift) {
    for (int r = 0; r < size; r++) {
        ask[r][0] = (sluice_range){rows.start + r * row_shift, rows.count, rows.step};
        ask[r][1] = (sluice_range){cols.start + r * col_shift, cols.count, cols.step};
    }
}

static const sluice_range all_rows = {0, ROWS, 1}, all_cols = {0, COLS, 1};

/* ---- What is known ---- */

static void know(sluice_array *a) {
    scene = "knowledge";
    settle(a, SLUICE_DIVIDE_DYNAMIC, SLUICE_LIST, 1 << 20, 0);
    everyone((sluice_range){3, 100, 7}, (sluice_range){1, 5, 1}, 0, 6);
    sluice_set mine = SLUICE_SET_EMPTY;
    must(sluice_set_section(&mine, &a->desc.shape, ask[rank], NULL), "section");
    sluice_counts c = run(a, false);
    expect("bytes of descriptions", c.descriptors, sluice_set_pack(&mine, NULL, 0));
    expect("plans", c.plans, 1);
    sluice_set_free(&mine);
    /* Everyone has the same list of everyone's requests, which is what they are. */
    uint64_t sum_of = 14695981039346656037u;
    for (int r = 0; r < size; r++) {
        unsigned char wire[256];
        sluice_set want = SLUICE_SET_EMPTY;
        const sluice_set *got = &a->collective->pattern->request[r];
        must(sluice_set_section(&want, &a->desc.shape, ask[r], NULL), "section");
        expect("requests that are known", sluice_set_equal(got, &want), 1);
        sluice_set_free(&want);
        int64_t n = sluice_set_pack(got, wire, sizeof wire);
        for (int64_t i = 0; i < n; i++) sum_of = (sum_of ^ wire[i]) * 1099511628211u;
    }
    int64_t both[2] = {(int64_t)(sum_of >> 2), -(int64_t)(sum_of >> 2)};
    must(sluice_agree(a->collective->group, 0, NULL, both, 2), "agree");
    expect("checksum of the requests", both[0], -both[1]);
    scene = "knowledge, again";
    c = run(a, false);
    expect("bytes of descriptions", c.descriptors, 0);
    expect("plans", c.plans, 0);
    scene = "knowledge, further on";
    everyone((sluice_range){5, 100, 7}, (sluice_range){3, 5, 1}, 0, 6);
    c = run(a, false);
    expect("bytes of descriptions", c.descriptors, 0);
    expect("plans", c.plans, 0);
    expect_sum("bytes read", c.bytes_read, ELEM * elements());
    scene = "a known distribution";
    sluice_counts was;
    sluice_count(a, &was);
    must(sluice_read_dist_all(a, (sluice_dist[]){{.kind = SLUICE_DIST_STAR}, {.kind = SLUICE_DIST_BLOCK}},
                              (int[]){1, size}, buf),
         "call");
    sluice_count(a, &c);
    expect("bytes of descriptions", c.descriptors - was.descriptors, 0);
}

/* ---- Reading ---- */

/* All ask for the same; read once. */
static void read_common(sluice_array *a) {
    scene = "the same section for all";
    settle(a, SLUICE_DIVIDE_STATIC, SLUICE_LIST, 1 << 20, 0);
    everyone((sluice_range){10, 300, 1}, (sluice_range){4, 30, 1}, 0, 0);
    sluice_counts c = run(a, false);
    check_touches(a, false);
    expect_sum("bytes read", c.bytes_read, ELEM * 300 * 30);
    expect_sum("requests", c.calls_read, 30);
    expect("bytes that were asked for", c.wanted_read, ELEM * 300 * 30);
    int owner[COLS];
    find_owners(SLUICE_DIVIDE_STATIC, owner);
    int64_t mine = 0;
    for (int64_t col = 4; col < 34; col++) mine += owner[col] == rank;
    expect("columns read by their owner", c.calls_read, mine);
}

/* Strided rows, each process some columns: sieved one column at a time, and then more. */
static void read_slabs(sluice_array *a, sluice_division division, const char *name) {
    scene = name;
    int64_t per = 7;
    everyone((sluice_range){0, 200, 5}, (sluice_range){2, per, 1}, 0, per);
    int64_t last = 2 + size * per - 1;
    if (last >= COLS) abort();
    int owner[COLS];
    find_owners(division, owner);
    int64_t calls[2] = {INT64_MAX, 0}, mine = 0;
    for (int64_t col = 2; col <= last; col++) mine += owner[col] == rank;
    for (int64_t slabs = 1; slabs <= 4; slabs *= 2) {
        settle(a, division, SLUICE_SIEVE, SLUICE_IO_LEAST + 2 * slabs * COLUMN, 0);
        sluice_counts c = run(a, false);
        check_touches(a, false);
        expect("window", a->collective->pattern->plan.window, slabs * COLUMN);
        expect("reads of whole windows", c.calls_read, (mine + slabs - 1) / slabs);
        calls[1] = c.calls_read;
        hold(calls[1] <= calls[0], "more memory, fewer reads");
        calls[0] = calls[1];
    }
}

/* A limit below what a domain holds. */
static void read_stages(sluice_array *a) {
    scene = "stages";
    const int64_t memory = 16 << 10;
    everyone(all_rows, (sluice_range){0, COLS / size, 1}, 0, COLS / size);
    for (int apart = 0; apart < 2; apart++) {
        settle(a, SLUICE_DIVIDE_DYNAMIC, SLUICE_LIST, memory, 0);
        a->collective->together.no_pipeline = apart;
        sluice_counts c = run(a, false);
        check_touches(a, false);
        hold(c.rounds > 1, "more than one stage");
        hold(2 * a->collective->pattern->plan.window <= memory, "buffers stay below the limit");
        expect_sum("bytes read", c.bytes_read, ELEM * elements());
    }
    a->collective->together.no_pipeline = 0;
}

static void few_aggregators(sluice_array *a) {
    scene = "few aggregators";
    everyone((sluice_range){0, 512, 2}, all_cols, 0, 0);
    for (int n = 1; n < size; n++) {
        settle(a, SLUICE_DIVIDE_AUTO, SLUICE_AUTO, 1 << 20, n);
        run(a, false);
        check_touches(a, false);
        expect_sum("processes that touch the file", tap.n > 0, n);
        if (a->collective->pattern->me < 0) expect("requests of others", tap.n, 0);
    }
}

/* ---- Writing ---- */

static void write_holes(sluice_array *a) {
    scene = "writing all of it";
    settle(a, SLUICE_DIVIDE_STATIC, SLUICE_SIEVE, 1 << 20, 0);
    everyone((sluice_range){0, ROWS, 1}, (sluice_range){0, COLS / size, 1}, 0, COLS / size);
    ask[size - 1][1].count = COLS - (size - 1) * (COLS / size);
    sluice_counts c = run(a, true);
    check_touches(a, true);
    expect("bytes read first", c.preread, 0);
    expect("reads", c.calls_read, 0);
    expect_sum("bytes written", c.bytes_written, ROWS * COLS * ELEM);

    /* The first process's domain is solid, in the others every second element is missing: only they read first. */
    scene = "writing with holes";
    settle(a, SLUICE_DIVIDE_STATIC, SLUICE_SIEVE, 1 << 20, 0);
    int64_t block = (COLS + size - 1) / size;
    ask[0][0] = all_rows;
    ask[0][1] = (sluice_range){0, block, 1};
    for (int r = 1; r < size; r++) {
        ask[r][0] = (sluice_range){1, ROWS / 2, 2};
        ask[r][1] = (sluice_range){r * block, sluice_max(sluice_min(block, COLS - r * block), 0), 1};
    }
    c = run(a, true);
    check_touches(a, true);
    int64_t mine = ask[rank][1].count;
    int64_t span = rank == 0 || !mine ? 0 : (mine - 1) * COLUMN + COLUMN - ELEM;
    expect("bytes read first", c.preread, span);
    expect("bytes read", c.bytes_read, span);
    expect("bytes written", c.bytes_written, rank == 0 ? mine * COLUMN : span);

    scene = "writing with holes, run by run";
    settle(a, SLUICE_DIVIDE_STATIC, SLUICE_LIST, 1 << 20, 0);
    everyone((sluice_range){100, 50, 1}, (sluice_range){1, COLS / size - 1, 1}, 0, COLS / size);
    c = run(a, true);
    check_touches(a, true);
    expect("reads", c.calls_read, 0);
    expect_sum("bytes written", c.bytes_written, ELEM * elements());

    scene = "everything is as it was";
    settle(a, SLUICE_DIVIDE_AUTO, SLUICE_AUTO, 1 << 20, 0);
    everyone(all_rows, all_cols, 0, 0);
    run(a, false);
}

/* ---- Messages: every process is its own node ---- */

static void send(sluice_array *a, bool write, sluice_division division, const char *name) {
    scene = name;
    settle(a, division, SLUICE_LIST, 64 << 20, 0);
    sluice_counts c = run(a, write);
    check_touches(a, write);
    expect("stages", c.rounds, 1);
    int owner[COLS];
    find_owners(division, owner);
    int64_t messages = 0, bytes = 0, mine = 0;
    for (int p = 0; p < size; p++)
        for (int q = 0; q < size; q++) {
            int64_t n = 0;
            for (int64_t e = 0; p != q && e < ROWS * COLS; e++)
                n += wants(q, e % ROWS, e / ROWS) && owner[e / ROWS] == p;
            messages += n > 0;
            bytes += n * ELEM;
            mine += n > 0 && (write ? q : p) == rank;
        }
    expect("messages of this process", c.messages, mine);
    expect_sum("messages", c.messages, messages);
    expect_sum("bytes of messages", c.message_bytes, bytes);
}

static void send_all(sluice_array *a) {
    everyone((sluice_range){0, 64, 3}, (sluice_range){3, 4, 1}, 30, 7);
    send(a, false, SLUICE_DIVIDE_STATIC, "messages of a read, static");
    send(a, false, SLUICE_DIVIDE_DYNAMIC, "messages of a read, dynamic");
    send(a, true, SLUICE_DIVIDE_STATIC, "messages of a write");
    everyone((sluice_range){0, 100, 1}, (sluice_range){0, 3, 20}, 0, 1);
    send(a, false, SLUICE_DIVIDE_STATIC, "messages of a read with overlap");
    for (int r = 1; r < size; r++) ask[r][0].count = 0;
    send(a, false, SLUICE_DIVIDE_DYNAMIC, "messages of a read by one");
}

/* ---- All of it ---- */

static sluice_array *open_tapped(const char *path, int nodes) {
    sluice_array *a;
    sluice_store *t;
    sluice_desc d = {.shape = {2, SLUICE_COLUMN_MAJOR, ELEM, 0, {ROWS, COLS}}};
    sluice_options o = {.size = sizeof o, .memory = 64 << 20};
    o.together.nodes = nodes;
    o.exclusive = 1;
    o.replace = 1;
    must(nodes ? sluice_open_all(&a, MPI_COMM_WORLD, path, SLUICE_WRITE, &d, &o)
               : sluice_create_all(&a, MPI_COMM_WORLD, path, &d, &o),
         "open");
    must(sluice_store_open_tap(&t, a->io.store, tapped, NULL), "tap");
    a->io.store = t;
    return a;
}

int main(int argc, char **argv) {
    char path[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int pid = (int)getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "collective_counts.%d", pid);
    buf = malloc(ROWS * COLS * ELEM);
    if (!buf) MPI_Abort(MPI_COMM_WORLD, 1);
    sluice_array *a = open_tapped(path, 0);
    write_holes(a);
    know(a);
    read_common(a);
    read_slabs(a, SLUICE_DIVIDE_STATIC, "one column at a time, static");
    read_slabs(a, SLUICE_DIVIDE_DYNAMIC, "one column at a time, dynamic");
    read_stages(a);
    few_aggregators(a);
    must(sluice_close(a), "close");
    a = open_tapped(path, size);
    send_all(a);
    must(sluice_close(a), "close");
    check_sums();
    if (rank == 0) unlink(path);
    free(buf);
    int all;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
