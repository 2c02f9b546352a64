/* write.c: writing parts. Where the cover of a part has holes, what is in them is read first and written back with
 * the rest; so that no one changes it in between, the range is locked unless the handle owns the file (lock.c).
 */
#include "io/serve.h"
#include <errno.h>

static int preread(sluice_io_batch *b, sluice_reason *why) {
    sluice_req req[SLUICE_IO_DEPTH];
    int n = 0;
    for (int i = 0; i < b->n; i++)
        if (b->seg[i].holes) req[n++] = b->req[i];
    if (n == 0) return 0;
    int64_t moved = 0;
    int err = sluice_store_xfer(b->io->store, false, req, n, &moved, why);
    b->io->counts.calls_read += n;
    b->io->counts.bytes_read += moved;
    b->io->counts.preread += moved;
    return err;
}

/* Bytes of the segment that are wanted, put into its buffer if it has one. */
static int64_t fill(const sluice_io_segment *seg, const sluice_io_part *part) {
    int64_t from = sluice_set_rank(part->file, seg->lo), n = sluice_set_rank(part->file, seg->hi) - from;
    if (seg->buf) {
        sluice_side dst = {seg->buf, part->file, seg->lo, from}, src = part->mem;
        src.from += from;
        sluice_move(&dst, &src, n);
    }
    return n;
}

static int write_locked(sluice_io_batch *b, const sluice_io_part *part, sluice_reason *why) {
    int64_t wanted = 0;
    int err = preread(b, why);
    for (int i = 0; i < b->n && !err; i++) wanted += fill(&b->seg[i], part);
    if (!err) err = sluice_io_batch_move(b, true, why);
    if (!err) b->io->counts.wanted_written += wanted;
    return err;
}

static int flush(sluice_io_batch *b, void *arg, sluice_reason *why) {
    int64_t lo = b->seg[0].lo, len = b->seg[b->n - 1].hi - lo;
    bool gaps = false;
    for (int i = 0; i < b->n; i++) gaps |= b->seg[i].holes;
    int err = sluice_io_enter(b->io, lo, len, gaps, why);
    if (err) return err;
    err = write_locked(b, arg, why);
    int left = sluice_io_leave(b->io, lo, len, gaps, err ? NULL : why);
    return err ? err : left;
}

static int request(sluice_io *io, sluice_io_part *part, sluice_io_plan plan, sluice_reason *why) {
    sluice_io_batch b;
    sluice_io_batch_start(&b, io, true, plan, sluice_set_hi(part->file) - sluice_set_lo(part->file));
    int err = sluice_io_batch_walk(&b, part->file, sluice_io_straight(part), flush, part, why);
    return err ? err : sluice_io_batch_finish(&b, flush, part, why);
}

int sluice_io_write_here(sluice_io *io, const sluice_io_part *part, int n, sluice_reason *why) {
    int err = 0;
    for (int i = 0, moved; i < n && !err; i += (int)sluice_max(moved, 1)) {
        sluice_io_part p = part[i];
        moved = p.file->size ? sluice_io_mapped(io, true, &part[i], n - i, false) : 1;
        if (moved) continue;
        int64_t before = io->counts.wanted_written;
        sluice_io_plan plan = sluice_io_choose(io, true);
        err = request(io, &p, plan, why);
        if (err != -EBUSY || plan.gap == 0) continue;
        /* Another handle has claimed the file: once more without gaps, through the mapping if it can be had. */
        io->counts.wanted_written = before;
        plan.gap = 0;
        err = sluice_io_mapped(io, true, &p, 1, true) ? 0 : request(io, &p, plan, why);
    }
    return err;
}

int sluice_io_write(sluice_io *io, const sluice_io_part *part, int n, sluice_reason *why) {
    return io->far ? sluice_far_move(io, true, part, n, why) : sluice_io_write_here(io, part, n, why);
}
