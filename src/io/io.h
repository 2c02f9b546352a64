/* io.h: transfer: the bytes of a set in the file from or to the bytes of a set in memory, k-th to k-th.
 *
 * Here: one process for itself. Four ways, of which AUTO takes the cheapest (choose.c):
 *
 *   direct    each run of the file set is a request                     few long runs
 *   list      the same, many requests in flight                         many runs far apart, cold
 *   sieve     runs and the gaps between them together, through a buffer  many short runs close together
 *   mapped    copies from or to a mapping, no call at all               cached files
 *
 * Direct, list and sieve are one piece of code: the file set is *covered* by a set whose small gaps are filled
 * (sluice_set_coarsen; no gap for direct, every gap for sieve) and the runs of the cover are requested. Where a run
 * of the cover is all wanted it goes straight to memory, else through the buffer. A write reads such a run first, in
 * a range that this handle owns or has locked (lock.c).
 */
#ifndef SLUICE_IO_H
#define SLUICE_IO_H

#include "sluice_io.h"
#include "sluice_set.h"
#include "store/store.h"
#include <sys/types.h>

struct sluice_far;
typedef struct sluice_io {
    sluice_store *store;
    struct sluice_far *far; /* far.c: the servers that have the bytes; NULL: they are here */
    sluice_map *map;        /* NULL: not yet, or not possible */
    bool map_tried, no_map;
    bool grows;      /* others may make the file longer: it is written through the mapping below this only, */
    int64_t settled; /* for the system may yet put zeros behind what was the end a moment ago */
    bool writable;
    bool exclusive;   /* no one else writes the file */
    pid_t holder;     /* the process that keeps all others out by a lock on the container; 0: none */
    bool locks;       /* ranges can be locked */
    int64_t data_end; /* locks from here on are not about data; 0: not known */
    pid_t claimer;    /* lock.c: others move no gaps; the process that said so */
    sluice_method method;
    int64_t memory; /* for all buffers */
    unsigned char *buf;
    int64_t cap;
    sluice_counts counts;
} sluice_io;

/* One part of a transfer. mem.set NULL: packed. */
typedef struct sluice_io_part {
    const sluice_set *file;
    sluice_side mem;
} sluice_io_part;

enum { SLUICE_IO_DEPTH = 64, SLUICE_IO_VECTOR = 512 }; /* requests and pieces of memory in a batch */
enum { SLUICE_IO_LEAST = 4096 };                       /* bytes of memory that any transfer needs */

/* How parts are requested. */
typedef struct sluice_io_plan {
    int64_t gap;    /* gaps up to this are moved along */
    int64_t window; /* bytes of buffer for all that is in flight */
    int depth;      /* requests in a batch, at most SLUICE_IO_DEPTH */
} sluice_io_plan;

/* choose.c. Pure. */
sluice_io_plan sluice_io_choose(const sluice_io *io, bool write);

/* choose.c. Pure. For aggregators: whether what they move is on the disk only, as far as is known; and the gaps worth
 * moving along in a range that is theirs alone. */
bool sluice_io_cold(const sluice_io *io);
int64_t sluice_io_gap(const sluice_io *io, bool write);

/* choose.c. Pure. The plan of both, if it is known whether what is read is cold, and whether what lies in gaps may be
 * written back. */
sluice_io_plan sluice_io_plan_for(const sluice_io *io, bool write, bool cold, bool may_sieve);

/* Local. Moves all parts; for writes later parts win. why names the call, the file and the offset. */
int sluice_io_read(sluice_io *io, const sluice_io_part *part, int n, sluice_reason *why);
int sluice_io_write(sluice_io *io, const sluice_io_part *part, int n, sluice_reason *why);

/* Local. The same by the process that has the bytes, whoever has others. */
int sluice_io_read_here(sluice_io *io, const sluice_io_part *part, int n, sluice_reason *why);
int sluice_io_write_here(sluice_io *io, const sluice_io_part *part, int n, sluice_reason *why);

/* mapped.c. Local. How many of the first of n >= 1 parts were moved through the mapping of the file; 0: the first was
 * not. Parts are taken together where they lie one behind the other in the file. `fetch`: also if it is not cached. */
int sluice_io_mapped(sluice_io *io, bool write, const sluice_io_part *part, int n, bool fetch);

/* lock.c. Local. Whether no one else can write the file. */
bool sluice_io_alone(const sluice_io *io);

/* lock.c. Local. Whether the handle may write what is named, and nothing else, without locks, for good. */
bool sluice_io_claim(sluice_io *io);

/* lock.c. Local. Gives that up, until it is claimed again. */
int sluice_io_disclaim(sluice_io *io, sluice_reason *why);

/* lock.c. Local. Before and after a batch of requests writes within [lo, lo + len), with `gaps` or without. -EBUSY if
 * it may not with gaps now, because of another handle; then there is nothing to leave. */
int sluice_io_enter(sluice_io *io, int64_t lo, int64_t len, bool gaps, sluice_reason *why);
int sluice_io_leave(sluice_io *io, int64_t lo, int64_t len, bool gaps, sluice_reason *why);

/* mapped.c. Pure. Whether runs are so long that calls write them faster than the mapping. */
bool sluice_io_long_runs(const sluice_set *file);

/* mapped.c. Local. Whether it could be, now. */
bool sluice_io_reachable(sluice_io *io, bool write, const sluice_set *file, bool fetch);

/* batch.c. Another limit; returns the old one. A buffer that is too large for it goes. */
int64_t sluice_io_limit(sluice_io *io, int64_t memory);

/* batch.c. Local. Gives buffers and mapping back; the store stays open. */
void sluice_io_release(sluice_io *io);

/* batch.c: requests collected until the depth, the buffer or the vector is full, then moved together. */
typedef struct sluice_io_segment {
    int64_t lo, hi;
    unsigned char *buf; /* NULL: straight to or from memory */
    bool holes;         /* not all of [lo, hi) is wanted */
} sluice_io_segment;
typedef struct sluice_io_batch {
    sluice_io *io;
    const char *call; /* for messages */
    sluice_io_plan plan;
    int64_t used;   /* of the buffer */
    int n, nvector; /* requests; pieces of memory */
    sluice_req req[SLUICE_IO_DEPTH];
    sluice_io_segment seg[SLUICE_IO_DEPTH];
    struct iovec vector[SLUICE_IO_VECTOR];
} sluice_io_batch;

/* `span`: no buffer needs to be longer than what all of it spans. */
void sluice_io_batch_start(sluice_io_batch *b, sluice_io *io, bool write, sluice_io_plan plan, int64_t span);

/* Pure. What is moved of a set: the set with its gaps up to so many bytes; without, if that has no closed form. */
int sluice_io_cover(sluice_set *out, const sluice_set *wanted, int64_t gap);

/* Walks the cover of a set and calls flush(b, arg) for each batch that is full; finish does it for what is left.
 * `straight`: the part whose memory is moved without the buffer where the cover is all wanted, or NULL. */
typedef int sluice_io_flush(sluice_io_batch *b, void *arg, sluice_reason *why);
int sluice_io_batch_finish(sluice_io_batch *b, sluice_io_flush *flush, void *arg, sluice_reason *why);
int sluice_io_batch_walk(sluice_io_batch *b, const sluice_set *wanted, const sluice_io_part *straight,
                         sluice_io_flush *flush, void *arg, sluice_reason *why);

/* Moves what was collected and counts it. */
int sluice_io_batch_move(sluice_io_batch *b, bool write, sluice_reason *why);

/* The part itself, if its pieces of memory are long enough to move straight, else NULL. */
const sluice_io_part *sluice_io_straight(const sluice_io_part *part);

#endif
