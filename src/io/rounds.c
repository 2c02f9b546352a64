/* rounds.c: carrying a plan out. In each round every aggregator has a window of its domain in memory, and every process
 * copies what is its own from or to the windows of its node; what other nodes want travels between the leaders. There
 * are two buffers, so that one window is transferred while the other is copied, and the processes meet once per round:
 *
 *     reading    transfer 0 | meet | copy 0, transfer 1 | meet | copy 1, transfer 2 | meet | ...
 *     writing    fill 0 | meet | copy 0, fill 1 | meet | copy 1, transfer 0, fill 2 | meet | ...
 *
 * (fill: what lies in the holes of a window is read before it is written.) While an aggregator copies a window, the
 * next one is being read; what is written, the system writes in the background anyway. Without pipelining the phases
 * are kept apart by another meeting. After an error a process transfers nothing more, but goes on meeting and sending
 * like the others.
 */
#include "io/collective.h"
#include <time.h>

typedef enum task { READ, FILL, WRITE } task;

/* The pieces of a window that are to be transferred, one after the other. */
typedef struct walk {
    task task;
    unsigned char *window;
    sluice_stretches stretches;
    sluice_stretch stretch;
    sluice_cursor runs; /* of the cover, in the stretch */
    bool inside;
} walk;

typedef struct batch {
    int n;
    sluice_req req[SLUICE_IO_DEPTH];
    struct iovec piece[SLUICE_IO_DEPTH];
} batch;

typedef struct work {
    sluice_collective *c;
    sluice_io *io;
    const sluice_io_part *part;
    int64_t shift;
    const sluice_set *cover; /* what of our domain is transferred */
    bool cold;
    int64_t expected; /* the page that the system was told of last */
    sluice_clock *clock;
    int64_t wanted; /* bytes copied from or to our memory */
    int error;
    sluice_reason *why;
    /* The transfer that is under way. */
    walk walk;
    batch batch;
    sluice_xfer xfer;
    bool begun;
} work;

double sluice_clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Transfer ------------------------------------------------------------------------------------------------ */

static bool has_window(const work *w, int64_t k) {
    const sluice_pattern *p = w->c->pattern;
    return p->me >= 0 && k >= 0 && k < p->plan.aggregator[p->me].windows;
}

static void walk_start(walk *v, const work *w, task t, int64_t k) {
    const sluice_pattern *p = w->c->pattern;
    v->task = t;
    v->window = sluice_messages_window(w->c, p->me, k);
    v->inside = false;
    sluice_stretches_first(&v->stretches, &p->plan, p->me, k);
}

/* The next run of the cover in a stretch. */
static bool walk_run(walk *v, const work *w, sluice_run *run) {
    for (;; v->inside = false) {
        if (!v->inside) {
            if (!sluice_stretches_next(&v->stretches, &v->stretch)) return false;
            sluice_cursor_init(&v->runs, w->cover);
            sluice_cursor_seek_offset(&v->runs, v->stretch.lo);
            v->inside = true;
        }
        if (sluice_cursor_run(&v->runs, run) && run->off < v->stretch.hi) return true;
    }
}

/* Before the system writes a part of a page it reads all of it, and waits; so it is told of many in advance. */
static void expect_page(work *w, int64_t page) {
    const int64_t size = w->io->store->facts.align;
    if (page != w->expected) sluice_store_expect(w->io->store, page * size, size);
    w->expected = page;
}

static void expect_edges(work *w, int64_t lo, int64_t hi) {
    const int64_t size = w->io->store->facts.align, from = lo + w->shift, to = hi + w->shift;
    if (from % size) expect_page(w, from / size);
    if (to % size) expect_page(w, to / size);
}

static bool walk_next(walk *v, work *w, sluice_run *piece, unsigned char **buf) {
    const sluice_share *share = &w->c->pattern->share;
    sluice_run run;
    while (walk_run(v, w, &run)) {
        /* A window may end inside a gap, which then need not be moved. */
        int64_t lo = sluice_set_next(&share->wanted, run.off),
                hi = sluice_set_prev(&share->wanted, sluice_min(run.off + run.len, v->stretch.hi) - 1) + 1;
        if (lo < 0 || lo >= hi) continue;
        bool solid =
            share->exact && sluice_set_rank(&share->wanted, hi) - sluice_set_rank(&share->wanted, lo) == hi - lo;
        if (v->task == FILL && solid) {
            if (w->cold) expect_edges(w, lo, hi);
            continue;
        }
        *piece = (sluice_run){lo, hi - lo};
        *buf = v->window + v->stretch.at + (lo - v->stretch.lo);
        return true;
    }
    return false;
}

/* The next requests of a walk; false if there are none. */
static bool collect(work *w, walk *v, batch *b) {
    sluice_run run;
    unsigned char *buf;
    b->n = 0;
    while (b->n < SLUICE_IO_DEPTH && walk_next(v, w, &run, &buf)) {
        b->piece[b->n] = (struct iovec){buf, (size_t)run.len};
        b->req[b->n] = (sluice_req){run.off + w->shift, run.len, &b->piece[b->n], 1, 0};
        b->n++;
    }
    return b->n > 0;
}

static void begin(work *w, task t) {
    batch *b = &w->batch;
    w->begun = !w->error;
    if (!w->begun) return;
    w->error = sluice_store_begin(&w->xfer, w->io->store, t == WRITE, b->req, b->n, w->why);
    w->begun = !w->error;
}

static void end(work *w, task t) {
    int64_t moved = 0;
    sluice_counts *c = &w->io->counts;
    if (!w->begun) return;
    w->begun = false;
    w->error = sluice_store_end(&w->xfer, &moved, w->why);
    *(t == WRITE ? &c->calls_write : &c->calls_read) += w->batch.n;
    *(t == WRITE ? &c->bytes_written : &c->bytes_read) += moved;
    if (t == FILL) c->preread += moved;
}

/* Starts to transfer window k of our domain, if we have one: the first requests of it. */
static void transfer_start(work *w, task t, int64_t k) {
    if (!has_window(w, k)) return;
    double start = sluice_clock_now();
    walk_start(&w->walk, w, t, k);
    if (collect(w, &w->walk, &w->batch)) begin(w, t);
    w->clock->io += sluice_clock_now() - start;
}

/* Waits for these and transfers the rest. */
static void transfer_finish(work *w, task t, int64_t k) {
    if (!has_window(w, k)) return;
    double start = sluice_clock_now();
    end(w, t);
    while (!w->error && collect(w, &w->walk, &w->batch)) {
        begin(w, t);
        end(w, t);
    }
    w->clock->io += sluice_clock_now() - start;
}

static void transfer(work *w, task t, int64_t k) {
    transfer_start(w, t, k);
    transfer_finish(w, t, k);
}

/* The part of window k that will be transferred, if most of it will. */
static void expect(work *w, int64_t k) {
    const sluice_pattern *p = w->c->pattern;
    if (p->me < 0 || k >= p->plan.aggregator[p->me].windows || w->error) return;
    sluice_stretches s;
    sluice_stretch t;
    for (sluice_stretches_first(&s, &p->plan, p->me, k); sluice_stretches_next(&s, &t);) {
        int64_t lo = sluice_set_next(&p->share.wanted, t.lo), hi = sluice_set_prev(&p->share.wanted, t.hi - 1) + 1;
        bool dense =
            lo >= 0 && lo < hi && sluice_set_rank(w->cover, hi) - sluice_set_rank(w->cover, lo) > (hi - lo) / 2;
        if (dense) sluice_store_expect(w->io->store, lo + w->shift, hi - lo);
    }
}

/* ---- Copy ---------------------------------------------------------------------------------------------------- */

static void move(work *w, int i, const sluice_side *window, int64_t from, int64_t n) {
    sluice_side mem = w->part[i].mem;
    bool write = w->c->pattern->write;
    mem.from += from;
    sluice_move(write ? window : &mem, write ? &mem : window, n);
    w->wanted += n;
}

/* Bytes of a part in a stretch, the first of which is number *from of the part. In many subfiles most parts have none,
 * and that is seen without a search. */
static int64_t find(const sluice_set *file, const sluice_stretch *t, int64_t *from) {
    if (sluice_set_lo(file) >= t->hi || sluice_set_hi(file) <= t->lo) return 0;
    *from = sluice_set_rank(file, t->lo);
    return sluice_set_rank(file, t->hi) - *from;
}

/* Between a window of this node and our memory. */
static void copy_window(work *w, int a, int64_t k) {
    const sluice_pattern *p = w->c->pattern;
    unsigned char *buf = sluice_messages_window(w->c, a, k);
    sluice_stretches s;
    sluice_stretch t;
    for (sluice_stretches_first(&s, &p->plan, a, k); sluice_stretches_next(&s, &t);)
        for (int i = 0; i < p->n; i++) {
            int64_t from = 0, n = find(&p->file[i], &t, &from);
            sluice_side window = {buf + t.at, &p->file[i], t.lo, from};
            if (n) move(w, i, &window, from, n);
        }
}

/* Between what came from, or goes to, an aggregator elsewhere and our memory. Returns the bytes of the node. */
static int64_t copy_foreign(work *w, int a, int64_t k, unsigned char *packed) {
    const sluice_pattern *p = w->c->pattern;
    const sluice_set *want = &p->plan.node[w->c->group->node];
    int64_t at = 0;
    sluice_stretches s;
    sluice_stretch t;
    for (sluice_stretches_first(&s, &p->plan, a, k); sluice_stretches_next(&s, &t);) {
        int64_t first = sluice_set_rank(want, t.lo), all = sluice_set_rank(want, t.hi) - first;
        for (int i = 0; i < p->n && all; i++) {
            int64_t from = 0, n = find(&p->file[i], &t, &from);
            sluice_side line = {packed + at, &p->place[i], first, from};
            if (n) move(w, i, &line, from, n);
        }
        at += all;
    }
    return at;
}

static void copy(work *w, int64_t k, bool local, bool foreign) {
    const sluice_plan *plan = &w->c->pattern->plan;
    double start = sluice_clock_now();
    int node = w->c->group->node;
    for (int i = plan->first[node]; local && i < plan->first[node + 1]; i++) copy_window(w, plan->by_node[i], k);
    if (foreign) {
        unsigned char *packed = sluice_messages_foreign(w->c);
        for (int i = 0; i < plan->n; i++)
            if (plan->aggregator[plan->by_node[i]].node != node) packed += copy_foreign(w, plan->by_node[i], k, packed);
    }
    w->clock->copy += sluice_clock_now() - start;
}

/* ---- Rounds -------------------------------------------------------------------------------------------------- */

static void exchange(work *w, int64_t k) {
    sluice_group *g = w->c->group;
    double start = sluice_clock_now();
    if (g->local == 0) sluice_messages_exchange(w->c, &w->io->counts, k);
    sluice_group_meet(g);
    w->clock->exchange += sluice_clock_now() - start;
}

static void meet(work *w) {
    double start = sluice_clock_now();
    sluice_group_meet(w->c->group);
    w->clock->exchange += sluice_clock_now() - start;
}

static void read_rounds(work *w, int64_t rounds, bool nodes) {
    bool apart = w->c->together.no_pipeline, ahead = !apart && w->io->store->facts.background;
    transfer(w, READ, 0);
    for (int64_t k = 0; k < rounds; k++) {
        meet(w);
        if (!apart) expect(w, k + 1);
        if (ahead) transfer_start(w, READ, k + 1);
        copy(w, k, true, false);
        if (apart) meet(w);
        if (!ahead) transfer_start(w, READ, k + 1);
        transfer_finish(w, READ, k + 1);
        if (nodes) {
            exchange(w, k);
            copy(w, k, false, true);
        }
    }
}

static void write_rounds(work *w, int64_t rounds, bool nodes) {
    bool apart = w->c->together.no_pipeline;
    transfer(w, FILL, 0);
    for (int64_t k = 0; k < rounds; k++) {
        meet(w);
        copy(w, k, true, nodes);
        if (apart || nodes) meet(w);
        transfer(w, WRITE, k - 1);
        transfer(w, FILL, k + 1);
        if (nodes) exchange(w, k);
    }
    meet(w);
    transfer(w, WRITE, rounds - 1);
}

int sluice_rounds(sluice_collective *c, sluice_io *io, const sluice_io_part *part, int64_t shift, bool gaps,
                  sluice_clock *clock, int64_t *wanted, sluice_reason *why) {
    const sluice_pattern *p = c->pattern;
    work w = {.c = c,
              .io = io,
              .part = part,
              .shift = shift,
              .clock = clock,
              .why = why,
              .cold = sluice_io_cold(io),
              .expected = -1};
    w.cover = gaps ? &p->share.cover : &p->share.wanted;
    if (p->me >= 0 && !gaps && !p->share.exact)
        w.error = sluice_refuse(why, SLUICE_E_COMPLEX, -1, "%s: too complex to write while others write the file, too",
                                io->store->name);
    (p->write ? write_rounds : read_rounds)(&w, p->plan.rounds, c->group->nnodes > 1);
    io->counts.rounds += p->plan.rounds;
    *wanted = w.wanted;
    return w.error;
}
