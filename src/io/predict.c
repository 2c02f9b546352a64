/* predict.c: see predict.h. */
#include "io/predict.h"
#include <errno.h>

/* Requests, and bytes that they move. */
typedef struct amount {
    int64_t calls, bytes;
} amount;

/* ---- Two-phase ----------------------------------------------------------------------------------------------- */

/* The requests in [lo, hi), which starts and ends with wanted bytes, that have holes. */
static amount find_holes(const sluice_share *s, int64_t lo, int64_t hi) {
    amount sum = {0, 0};
    sluice_cursor c;
    sluice_run run;
    sluice_cursor_init(&c, &s->cover);
    for (sluice_cursor_seek_offset(&c, lo); sluice_cursor_run(&c, &run) && run.off < hi;) {
        int64_t end = sluice_min(run.off + run.len, hi), len = end - run.off;
        bool solid = s->exact && sluice_set_rank(&s->wanted, end) - sluice_set_rank(&s->wanted, run.off) == len;
        if (solid) continue;
        sum.calls++;
        sum.bytes += len;
    }
    return sum;
}

/* What an aggregator requests of a stretch; holes: what it reads before it writes. */
static int count_stretch(const sluice_share *s, const sluice_stretch *t, amount *all, amount *holes) {
    int64_t lo = sluice_set_next(&s->wanted, t->lo), hi = sluice_set_prev(&s->wanted, t->hi - 1) + 1;
    if (lo < 0 || lo >= hi) return 0;
    sluice_set part = SLUICE_SET_EMPTY;
    int err = sluice_set_cut(&part, &s->cover, lo, hi);
    if (err) return err;
    all->calls += sluice_set_nruns(&part);
    all->bytes += part.size;
    if (!s->exact || part.size > sluice_set_rank(&s->wanted, hi) - sluice_set_rank(&s->wanted, lo)) {
        amount more = find_holes(s, lo, hi);
        holes->calls += more.calls;
        holes->bytes += more.bytes;
    }
    sluice_set_free(&part);
    return 0;
}

static int count_transfers(sluice_prediction *out, const sluice_plan *p, const sluice_plan_facts *f,
                           const sluice_set *request, int a) {
    sluice_share share;
    sluice_stretches s;
    sluice_stretch t;
    amount all = {0, 0}, holes = {0, 0};
    int err = sluice_share_make(&share, p, f, request, a);
    if (err) return err;
    for (int64_t k = 0; k < p->aggregator[a].windows && !err; k++)
        for (sluice_stretches_first(&s, p, a, k); !err && sluice_stretches_next(&s, &t);)
            err = count_stretch(&share, &t, &all, &holes);
    sluice_counts *c = &out->counts;
    amount read = f->write ? holes : all;
    out->useful = share.wanted.size;
    sluice_share_free(&share);
    c->calls_read += read.calls;
    c->bytes_read += read.bytes;
    if (!f->write) return err;
    c->preread += holes.bytes;
    c->calls_write += all.calls;
    c->bytes_written += all.bytes;
    return err;
}

/* Bytes of the windows k of the aggregators of a node that another node wants. */
static int64_t between(const sluice_plan *p, int64_t k, int of, int to) {
    int64_t n = 0;
    sluice_stretches s;
    sluice_stretch t;
    for (int i = p->first[of]; i < p->first[of + 1]; i++)
        for (sluice_stretches_first(&s, p, p->by_node[i], k); sluice_stretches_next(&s, &t);)
            n += sluice_set_rank(&p->node[to], t.hi) - sluice_set_rank(&p->node[to], t.lo);
    return n;
}

/* leader[n]: what node n sends is counted there. */
static void count_messages(sluice_counts *const *leader, const sluice_plan *p, bool write) {
    for (int64_t k = 0; k < p->rounds; k++)
        for (int of = 0; of < p->nnodes; of++)
            for (int to = 0; to < p->nnodes; to++) {
                int64_t n = of == to ? 0 : between(p, k, of, to);
                leader[write ? to : of]->messages += n > 0;
                leader[write ? to : of]->message_bytes += n;
            }
}

int sluice_predict_two_phase(sluice_prediction *out, const sluice_plan *p, const sluice_plan_facts *f,
                             const sluice_set *request) {
    sluice_counts **leader = sluice_mem_alloc((size_t)f->nnodes, sizeof *leader);
    if (!leader) return -ENOMEM;
    int err = 0, nodes = 0, a = 0;
    for (int r = 0; r < f->size && !err; r++) {
        bool aggregates = a < p->n && p->aggregator[a].rank == r, leads = f->node_of[r] == nodes;
        out[r] = (sluice_prediction){.counts = {.rounds = p->rounds, .plans = 1}};
        sluice_counts *c = &out[r].counts;
        out[r].memory = sluice_plan_room(p, aggregates, leads);
        if (aggregates) err = count_transfers(&out[r], p, f, request, a++);
        if (leads) leader[nodes++] = c;
    }
    if (!err && f->nnodes > 1) count_messages(leader, p, f->write);
    sluice_mem_free(leader);
    return err;
}

/* ---- Own ----------------------------------------------------------------------------------------------------- */

/* What batch.c collects, counted. */
typedef struct batch {
    const sluice_io_plan *how;
    int64_t n, nvector, used;
    amount all, holes;
    bool buffered;
} batch;

static void make_room(batch *b, int64_t buffered) {
    if (b->n < b->how->depth && b->nvector < SLUICE_IO_VECTOR && b->used + buffered <= b->how->window) return;
    b->n = b->nvector = b->used = 0;
}

/* So many requests, each of one piece of memory and none through the buffer. */
static void add_easy(batch *b, int64_t runs, int64_t bytes) {
    const int64_t left = sluice_min(b->how->depth - b->n, SLUICE_IO_VECTOR - b->nvector);
    b->all.calls += runs;
    b->all.bytes += bytes;
    if (runs > left) {
        runs = (runs - left - 1) % b->how->depth + 1;
        b->n = b->nvector = b->used = 0;
    }
    b->n += runs;
    b->nvector += runs;
}

/* How far a request from lo on reaches whose memory is in pieces. */
static int64_t add_pieces(batch *b, int64_t lo, int64_t hi, const sluice_io_part *part) {
    sluice_cursor c;
    sluice_run run;
    sluice_cursor_init(&c, part->mem.set);
    sluice_cursor_seek(&c, sluice_set_rank(part->file, lo));
    for (; lo < hi && b->nvector < SLUICE_IO_VECTOR && sluice_cursor_run(&c, &run); b->nvector++)
        lo += sluice_min(run.len, hi - lo);
    return lo;
}

static void add_run(batch *b, int64_t lo, int64_t end, const sluice_io_part *part, bool straight) {
    const sluice_set *file = part->file;
    const bool direct = straight && sluice_set_rank(file, end) - sluice_set_rank(file, lo) == end - lo;
    for (int64_t hi; lo < end; lo = hi < end ? sluice_set_next(file, hi) : end) {
        hi = direct || end - lo <= b->how->window ? end : sluice_set_prev(file, lo + b->how->window - 1) + 1;
        make_room(b, direct ? 0 : hi - lo);
        if (direct && part->mem.set)
            hi = add_pieces(b, lo, hi, part);
        else
            b->nvector++;
        b->n++;
        b->all.calls++;
        b->all.bytes += hi - lo;
        b->buffered |= !direct;
        if (!direct) b->used += hi - lo;
        if (sluice_set_rank(file, hi) - sluice_set_rank(file, lo) == hi - lo) continue;
        b->holes.calls++;
        b->holes.bytes += hi - lo;
    }
}

static int add_part(batch *b, const sluice_io_part *part) {
    const bool straight = sluice_io_straight(part);
    sluice_set cover = SLUICE_SET_EMPTY;
    sluice_cursor c;
    sluice_run run;
    int err = sluice_io_cover(&cover, part->file, b->how->gap);
    if (err) return err;
    if (straight && !part->mem.set && cover.size == part->file->size)
        add_easy(b, sluice_set_nruns(part->file), part->file->size);
    else
        for (sluice_cursor_init(&c, &cover); sluice_cursor_run(&c, &run);)
            add_run(b, run.off, run.off + run.len, part, straight);
    sluice_set_free(&cover);
    return 0;
}

int sluice_predict_own(sluice_prediction *out, const sluice_io_part *part, int n, const sluice_io_plan *how,
                       bool write) {
    batch b = {.how = how};
    int64_t wanted = 0;
    for (int i = 0; i < n; i++) {
        const int err = add_part(&b, &part[i]);
        if (err) return err;
        wanted += part[i].file->size;
        if (write) b.n = b.nvector = b.used = 0; /* each for itself */
    }
    const amount read = write ? b.holes : b.all, written = write ? b.all : (amount){0, 0};
    *out = (sluice_prediction){.counts = {.calls_read = read.calls,
                                          .bytes_read = read.bytes,
                                          .preread = write ? b.holes.bytes : 0,
                                          .calls_write = written.calls,
                                          .bytes_written = written.bytes,
                                          .wanted_read = write ? 0 : wanted,
                                          .wanted_written = write ? wanted : 0},
                               .useful = wanted,
                               .memory = b.buffered ? how->window : 0};
    return 0;
}
