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
        *(f->write ? &c->wanted_written : &c->wanted_read) = request[r].size;
        out[r].memory = sluice_plan_room(p, aggregates, leads);
        if (aggregates) err = count_transfers(&out[r], p, f, request, a++);
        if (leads) leader[nodes++] = c;
    }
    if (!err && f->nnodes > 1) count_messages(leader, p, f->write);
    sluice_mem_free(leader);
    return err;
}

/* ---- Own ----------------------------------------------------------------------------------------------------- */

int sluice_predict_own(sluice_prediction *out, const sluice_set *file, const sluice_io_plan *how, bool write,
                       bool straight) {
    amount all = {0, 0}, holes = {0, 0};
    bool buffered = false;
    sluice_set cover = SLUICE_SET_EMPTY;
    sluice_cursor c;
    sluice_run run;
    int err = sluice_set_coarsen(&cover, file, how->gap);
    if (err) return err;
    bool easy = straight && cover.size == file->size;
    if (easy) all = (amount){sluice_set_nruns(file), file->size};
    for (sluice_cursor_init(&c, &cover); !easy && sluice_cursor_run(&c, &run);) {
        const int64_t end = run.off + run.len;
        const bool solid = sluice_set_rank(file, end) - sluice_set_rank(file, run.off) == run.len;
        const bool direct = solid && straight;
        for (int64_t lo = run.off, hi; lo < end; lo = hi < end ? sluice_set_next(file, hi) : end) {
            hi = direct || end - lo <= how->window ? end : sluice_set_prev(file, lo + how->window - 1) + 1;
            all.calls++;
            all.bytes += hi - lo;
            buffered |= !direct;
            if (sluice_set_rank(file, hi) - sluice_set_rank(file, lo) == hi - lo) continue;
            holes.calls++;
            holes.bytes += hi - lo;
        }
    }
    sluice_set_free(&cover);
    amount read = write ? holes : all, written = write ? all : (amount){0, 0};
    *out = (sluice_prediction){.counts = {.calls_read = read.calls,
                                          .bytes_read = read.bytes,
                                          .preread = write ? holes.bytes : 0,
                                          .calls_write = written.calls,
                                          .bytes_written = written.bytes,
                                          .wanted_read = write ? 0 : file->size,
                                          .wanted_written = write ? file->size : 0},
                               .useful = file->size,
                               .memory = buffered ? how->window : 0};
    return 0;
}
