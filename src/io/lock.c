/* lock.c: how handles that write one file keep out of each other's way.
 *
 * A write that changes what it names and nothing else needs no protection. One that moves gaps along does: it reads,
 * changes and writes back, and what another handle wrote into a gap in between would be lost. Two rules prevent that:
 *
 *   - Requests write in a range that they hold locked, with gaps or without.
 *   - To a write through the mapping a lock would cost more than the bytes. Such a handle claims the file: it holds a
 *     shared lock on a byte behind all data for as long as it is open, and waits once until no range is locked. Who
 *     has locked a range in order to move gaps along looks for the claims of others first, and if there is one,
 *     writes what is named and nothing else.
 *
 * Whichever of the two comes first, the other sees it: a claim that is made after the look waits for the range.
 */
#include "io/io.h"
#include <errno.h>
#include <unistd.h>

static const int64_t claim = INT64_MAX - 1; /* no file has this byte */

/* A child process does not have the claim of its parent, nor its lock on a container. */
static bool has_claim(const sluice_io *io) { return io->claimer && io->claimer == getpid(); }
bool sluice_io_alone(const sluice_io *io) { return io->exclusive || (io->holder && io->holder == getpid()); }

bool sluice_io_claim(sluice_io *io) {
    sluice_store *s = io->store;
    if (sluice_io_alone(io) || !io->locks || has_claim(io)) return true;
    if (sluice_store_lock(s, claim, 1, SLUICE_LOCK_SHARED, NULL)) return false;
    /* Those behind the data may be held by who waits for us. */
    const int64_t end = io->data_end ? io->data_end : claim;
    bool alone = !sluice_store_lock(s, 0, end, SLUICE_LOCK, NULL) && !sluice_store_lock(s, 0, end, SLUICE_UNLOCK, NULL);
    if (!alone) (void)sluice_store_lock(s, claim, 1, SLUICE_UNLOCK, NULL);
    io->claimer = alone ? getpid() : 0;
    return alone;
}

int sluice_io_disclaim(sluice_io *io, sluice_reason *why) {
    int err = has_claim(io) ? sluice_store_lock(io->store, claim, 1, SLUICE_UNLOCK, why) : 0;
    io->claimer = 0; /* after a failure, too: no one knows whether it is still there */
    return err;
}

static bool needs_lock(const sluice_io *io, bool gaps) {
    return !sluice_io_alone(io) && io->locks && (gaps || !has_claim(io));
}

int sluice_io_enter(sluice_io *io, int64_t lo, int64_t len, bool gaps, sluice_reason *why) {
    if (!needs_lock(io, gaps)) return 0;
    int err = sluice_store_lock(io->store, lo, len, SLUICE_LOCK, why);
    if (err || !gaps) return err;
    err = sluice_store_lock(io->store, claim, 1, SLUICE_LOCK_TEST, why);
    if (err) (void)sluice_store_lock(io->store, lo, len, SLUICE_UNLOCK, NULL);
    return err;
}

int sluice_io_leave(sluice_io *io, int64_t lo, int64_t len, bool gaps, sluice_reason *why) {
    return needs_lock(io, gaps) ? sluice_store_lock(io->store, lo, len, SLUICE_UNLOCK, why) : 0;
}
