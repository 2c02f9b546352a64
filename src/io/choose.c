/* choose.c: how to request, by cost.
 *
 * A gap is worth moving along while that costs less than another call: gap * byte < call. Past the page cache the
 * device's latency takes the place of the call. A write that moves a gap along reads it and writes it, and may do so
 * only where no one else can change it meanwhile.
 */
#include "io/io.h"

enum {
    WINDOW = 256 << 10,  /* still in the second-level cache when it is handed on; the system reads ahead by itself */
    COLD_GAP = 64 << 10, /* what a device streams in the time of one more access, */
    DEEP_GAP = 8 << 10,  /* and of one more among many in flight */
    WRITE_CALL = 3,      /* a small cached write costs as much as so many small reads ... */
    WRITE_BYTE = 3       /* ... and a byte read and written as so many bytes read */
};

sluice_io_plan sluice_io_plan_for(const sluice_io *io, bool write, bool cold, bool may_sieve) {
    const sluice_store_facts *f = &io->store->facts;
    /* More at once than the store has in flight does no harm, and a batch of writes takes one lock. */
    sluice_io_plan p = {.depth = SLUICE_IO_DEPTH};
    switch (io->method) {
    case SLUICE_DIRECT: p.depth = 1; break;
    case SLUICE_LIST: break;
    case SLUICE_SIEVE: p.gap = may_sieve ? INT64_MAX : 0; break;
    case SLUICE_AUTO:
    case SLUICE_MAPPED:
        if (cold)
            p.gap = f->depth > 1 ? DEEP_GAP : COLD_GAP;
        else if (may_sieve)
            p.gap = (int64_t)(f->call / f->byte * (write ? (double)WRITE_CALL / WRITE_BYTE : 1.0));
    }
    /* Told to sieve, a window is all the memory there is: fewer, longer requests, as the method is described. */
    p.window = io->method == SLUICE_SIEVE ? io->memory : sluice_min(WINDOW, io->memory);
    return p;
}

/* A cached file would have been read through its mapping, unless that is forbidden. */
static bool is_cold(const sluice_io *io, bool write) { return !write && !io->no_map && io->map; }

sluice_io_plan sluice_io_choose(const sluice_io *io, bool write) {
    return sluice_io_plan_for(io, write, is_cold(io, write), !write || io->locks || sluice_io_alone(io));
}

/* What is cached would have been moved through the mapping. */
bool sluice_io_cold(const sluice_io *io) { return !io->no_map && io->method == SLUICE_AUTO; }

int64_t sluice_io_gap(const sluice_io *io, bool write) {
    sluice_io owner = *io;
    owner.exclusive = true;
    if (!sluice_io_cold(io)) return sluice_io_choose(&owner, write).gap;
    return io->store->facts.depth == 1 ? COLD_GAP : DEEP_GAP;
}
