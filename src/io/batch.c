/* batch.c: from a set that is wanted to batches of requests. */
#include "io/io.h"
#include <errno.h>

void sluice_io_batch_start(sluice_io_batch *b, sluice_io *io, bool write, sluice_io_plan plan, int64_t span) {
    b->io = io;
    b->call = write ? "write" : "read";
    b->plan = plan;
    b->plan.window = sluice_min(plan.window, span);
    b->used = 0;
    b->n = b->nvector = 0;
}

static void free_buffer(sluice_io *io) {
    sluice_mem_free(io->buf);
    io->buf = NULL;
    io->cap = 0;
}

/* The buffer is got when the first request needs it: many transfers never do. The old one goes first, so that both are
 * never there together. */
static int need_buffer(sluice_io *io, int64_t want) {
    if (io->cap >= want) return 0;
    free_buffer(io);
    io->buf = sluice_mem_alloc((size_t)want, 1);
    if (!io->buf) return -ENOMEM;
    io->cap = want;
    return 0;
}

static bool room(const sluice_io_batch *b, int64_t buffered) {
    return b->n < b->plan.depth && b->nvector < SLUICE_IO_VECTOR &&
           (buffered == 0 || buffered <= b->plan.window - b->used);
}

static void add(sluice_io_batch *b, sluice_io_segment seg, int first) {
    b->req[b->n] = (sluice_req){seg.lo, seg.hi - seg.lo, &b->vector[first], b->nvector - first, 0};
    b->seg[b->n++] = seg;
}

static void add_buffered(sluice_io_batch *b, int64_t lo, int64_t hi, bool holes) {
    int first = b->nvector;
    unsigned char *buf = b->io->buf + b->used;
    b->vector[b->nvector++] = (struct iovec){buf, (size_t)(hi - lo)};
    b->used += hi - lo;
    add(b, (sluice_io_segment){lo, hi, buf, holes}, first);
}

/* As far as the vector reaches: returns the end of what was added. */
static int64_t add_straight(sluice_io_batch *b, int64_t lo, int64_t hi, const sluice_io_part *part) {
    int first = b->nvector;
    unsigned char *base = part->mem.base;
    int64_t at = part->mem.from + sluice_set_rank(part->file, lo), end = lo;
    if (!part->mem.set) {
        b->vector[b->nvector++] = (struct iovec){base + (at - part->mem.origin), (size_t)(hi - lo)};
        end = hi;
    } else {
        sluice_cursor c;
        sluice_run run;
        sluice_cursor_init(&c, part->mem.set);
        sluice_cursor_seek(&c, at);
        while (end < hi && b->nvector < SLUICE_IO_VECTOR && sluice_cursor_run(&c, &run)) {
            int64_t len = sluice_min(run.len, hi - end);
            b->vector[b->nvector++] = (struct iovec){base + (run.off - part->mem.origin), (size_t)len};
            end += len;
        }
    }
    add(b, (sluice_io_segment){lo, end, NULL, false}, first);
    return end;
}

int sluice_io_batch_finish(sluice_io_batch *b, sluice_io_flush *flush, void *arg, sluice_reason *why) {
    int err = b->n ? flush(b, arg, why) : 0;
    b->n = b->nvector = 0;
    b->used = 0;
    return err;
}

/* Adds the run [lo, end) of the cover, piece by piece. */
static int add_run(sluice_io_batch *b, int64_t lo, int64_t end, const sluice_set *wanted,
                   const sluice_io_part *straight, sluice_io_flush *flush, void *arg, sluice_reason *why) {
    bool solid = sluice_set_rank(wanted, end) - sluice_set_rank(wanted, lo) == end - lo;
    int err = 0;
    while (lo < end && !err) {
        bool direct = solid && straight;
        int64_t hi = end;
        if (!direct && hi - lo > b->plan.window) {
            hi = lo + b->plan.window;
            hi = sluice_set_prev(wanted, hi - 1) + 1; /* not into a gap */
        }
        if (!direct) err = need_buffer(b->io, b->plan.window);
        if (err)
            return sluice_refuse(why, err, -1, "%s %s: no memory for a buffer of %lld bytes", b->call,
                                 b->io->store->name, (long long)b->plan.window);
        if (!room(b, direct ? 0 : hi - lo)) err = sluice_io_batch_finish(b, flush, arg, why);
        if (err) break;
        if (direct)
            hi = add_straight(b, lo, hi, straight);
        else
            add_buffered(b, lo, hi, sluice_set_rank(wanted, hi) - sluice_set_rank(wanted, lo) < hi - lo);
        lo = hi < end ? sluice_set_next(wanted, hi) : end;
    }
    return err;
}

int sluice_io_cover(sluice_set *out, const sluice_set *wanted, int64_t gap) {
    const int err = sluice_set_coarsen(out, wanted, gap);
    return err == SLUICE_E_COMPLEX ? sluice_set_copy(out, wanted) : err;
}

int sluice_io_batch_walk(sluice_io_batch *b, const sluice_set *wanted, const sluice_io_part *straight,
                         sluice_io_flush *flush, void *arg, sluice_reason *why) {
    sluice_set cover = SLUICE_SET_EMPTY;
    sluice_cursor c;
    sluice_run run;
    int err = sluice_io_cover(&cover, wanted, b->plan.gap);
    if (err) sluice_refuse(why, err, -1, "%s %s: %s", b->call, b->io->store->name, sluice_strerror(err));
    if (!err)
        for (sluice_cursor_init(&c, &cover); !err && sluice_cursor_run(&c, &run);)
            err = add_run(b, run.off, run.off + run.len, wanted, straight, flush, arg, why);
    sluice_set_free(&cover);
    return err;
}

int sluice_io_batch_move(sluice_io_batch *b, bool write, sluice_reason *why) {
    int64_t moved = 0;
    int err = sluice_store_xfer(b->io->store, write, b->req, b->n, &moved, why);
    sluice_counts *c = &b->io->counts;
    *(write ? &c->calls_write : &c->calls_read) += b->n;
    *(write ? &c->bytes_written : &c->bytes_read) += moved;
    return err;
}

const sluice_io_part *sluice_io_straight(const sluice_io_part *part) {
    /* Below a page per piece, the system's work on the vector costs more than a copy through the buffer. */
    const sluice_set *mem = part->mem.set;
    return !mem || mem->size / 4096 >= sluice_set_nruns(mem) ? part : NULL;
}

int64_t sluice_io_limit(sluice_io *io, int64_t memory) {
    int64_t old = io->memory;
    io->memory = memory;
    if (io->cap > memory) free_buffer(io);
    return old;
}

void sluice_io_release(sluice_io *io) {
    sluice_map_close(io->map);
    free_buffer(io);
    io->map = NULL;
}
