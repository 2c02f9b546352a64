/* read.c: reading parts, through the mapping or by requests. */
#include "io/serve.h"
#include <errno.h>
#include <stdlib.h>

/* Parts in the order of their first byte, and the first one that is not finished. */
typedef struct sweep {
    const sluice_io_part **part;
    int n, first;
} sweep;

static int by_start(const void *a, const void *b) {
    int64_t x = sluice_set_lo((*(const sluice_io_part *const *)a)->file);
    int64_t y = sluice_set_lo((*(const sluice_io_part *const *)b)->file);
    return (x > y) - (x < y);
}

/* Hands the bytes of a segment in the buffer to all parts that want some. */
static void deliver(sluice_io *io, sweep *s, const sluice_io_segment *seg) {
    for (int i = s->first; i < s->n; i++) {
        const sluice_io_part *p = s->part[i];
        if (sluice_set_lo(p->file) >= seg->hi) break;
        if (sluice_set_hi(p->file) <= seg->lo) {
            if (i == s->first) s->first++;
            continue;
        }
        int64_t from = sluice_set_rank(p->file, seg->lo), n = sluice_set_rank(p->file, seg->hi) - from;
        sluice_side src = {seg->buf, p->file, seg->lo, from}, dst = p->mem;
        dst.from += from;
        io->counts.wanted_read += sluice_move(&dst, &src, n);
    }
}

static int flush(sluice_io_batch *b, void *arg, sluice_reason *why) {
    int err = sluice_io_batch_move(b, false, why);
    for (int i = 0; i < b->n && !err; i++) {
        if (b->seg[i].buf)
            deliver(b->io, arg, &b->seg[i]);
        else
            b->io->counts.wanted_read += b->seg[i].hi - b->seg[i].lo;
    }
    return err;
}

/* The union of the file sets of [first, last), by halves. */
static int unite(sluice_set *out, const sweep *s, int first, int last) {
    if (last - first == 1) return sluice_set_copy(out, s->part[first]->file);
    sluice_set high = SLUICE_SET_EMPTY;
    int half = first + (last - first) / 2;
    int err = unite(out, s, first, half);
    if (!err) err = unite(&high, s, half, last);
    if (!err) err = sluice_set_union(out, out, &high);
    sluice_set_free(&high);
    return err;
}

/* Whether no part begins before the one before it has ended: then there is nothing to unite. */
static bool in_order(const sweep *s) {
    for (int i = 1; i < s->n; i++)
        if (sluice_set_lo(s->part[i]->file) < sluice_set_hi(s->part[i - 1]->file)) return false;
    return true;
}

/* Each part by itself, but the requests of all together. */
static int request_each(sluice_io_batch *b, sweep *s, sluice_reason *why) {
    int err = 0;
    for (int i = 0; i < s->n && !err; i++)
        err = sluice_io_batch_walk(b, s->part[i]->file, sluice_io_straight(s->part[i]), flush, s, why);
    return err ? err : sluice_io_batch_finish(b, flush, s, why);
}

static int request(sluice_io *io, sweep *s, sluice_reason *why) {
    sluice_io_batch b;
    sluice_set all = SLUICE_SET_EMPTY;
    int64_t lo = sluice_set_lo(s->part[0]->file), hi = 0;
    for (int i = 0; i < s->n; i++) hi = sluice_max(hi, sluice_set_hi(s->part[i]->file));
    sluice_io_batch_start(&b, io, false, sluice_io_choose(io, false), hi - lo);
    if (in_order(s)) return request_each(&b, s, why);
    int err = unite(&all, s, 0, s->n);
    if (err == SLUICE_E_COMPLEX) { /* then one after the other */
        err = 0;
        for (int i = 0; i < s->n && !err; i++) err = request(io, &(sweep){&s->part[i], 1, 0}, why);
    } else if (err) {
        sluice_refuse(why, err, -1, "read %s: %s", io->store->name, sluice_strerror(err));
    } else {
        err = sluice_io_batch_walk(&b, &all, NULL, flush, s, why);
        if (!err) err = sluice_io_batch_finish(&b, flush, s, why);
    }
    sluice_set_free(&all);
    return err;
}

int sluice_io_read_here(sluice_io *io, const sluice_io_part *part, int n, sluice_reason *why) {
    const sluice_io_part *one;
    sweep s = {n > 1 ? sluice_mem_alloc((size_t)n, sizeof *s.part) : &one, 0, 0};
    if (!s.part) return sluice_refuse(why, -ENOMEM, -1, "read %s: no memory for %d parts", io->store->name, n);
    for (int i = 0, moved; i < n; i += (int)sluice_max(moved, 1)) {
        moved = part[i].file->size ? sluice_io_mapped(io, false, &part[i], n - i, false) : 1;
        if (!moved) s.part[s.n++] = &part[i];
    }
    if (s.n > 1) qsort(s.part, (size_t)s.n, sizeof *s.part, by_start);
    int err = s.n ? request(io, &s, why) : 0;
    if (n > 1) sluice_mem_free(s.part);
    return err;
}

int sluice_io_read(sluice_io *io, const sluice_io_part *part, int n, sluice_reason *why) {
    return io->far ? sluice_far_move(io, false, part, n, why) : sluice_io_read_here(io, part, n, why);
}
