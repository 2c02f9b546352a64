/* mapped.c: moving a part through the mapping of the file, if all of it is cached.
 *
 * Reading is copying. So is writing, and only what is named is stored, so that holes need no care; handles that read,
 * change and write back a range are kept out by a claim (lock.c).
 */
#include "io/io.h"

/* Longer runs are written by calls: for a page that was not written lately, the fault costs more than the call. */
enum { LONG_RUN = 32 << 10 };

/* Where less than this part of a range is wanted, pages are better entered into the table one by one. */
enum { DENSE = 64 };

typedef struct copy {
    sluice_side dst, src;
    int64_t n;
} copy;

static void copy_part(void *arg) {
    copy *c = arg;
    sluice_move(&c->dst, &c->src, c->n);
}

/* Whether every byte of the set can be reached through the mapping; asks once per stretch. From the end, for where a
 * file is read in order the system has fetched the beginning of what comes next, and that alone is of no use. */
static bool all_ready(sluice_map *map, const sluice_set *file, bool fetch) {
    int64_t lo = sluice_set_lo(file), end = sluice_set_hi(file);
    bool dense = file->size >= (end - lo) / DENSE;
    sluice_touch how = fetch ? SLUICE_TOUCH_FETCH : dense ? SLUICE_TOUCH_MANY : SLUICE_TOUCH_FEW;
    while (end > lo) {
        int64_t stretch = (end - 1) / SLUICE_MAP_STRETCH * SLUICE_MAP_STRETCH, from = sluice_max(stretch, lo);
        if (!sluice_map_ready(map, from, end - from, how)) return false;
        end = from > lo ? sluice_set_prev(file, from - 1) + 1 : lo;
    }
    return true;
}

static sluice_map *map_of(sluice_io *io) {
    if (!io->map_tried) {
        io->map_tried = true;
        if (sluice_map_open(&io->map, io->store, io->writable)) io->map = NULL;
    }
    return io->map;
}

bool sluice_io_long_runs(const sluice_set *file) { return file->size / LONG_RUN >= sluice_set_nruns(file); }

bool sluice_io_reachable(sluice_io *io, bool write, const sluice_set *file, bool fetch) {
    bool forced = io->method == SLUICE_MAPPED;
    if (io->no_map || (io->method != SLUICE_AUTO && !forced) || !map_of(io)) return false;
    if (write && !sluice_map_writable(io->map)) return false;
    if (write && !forced && sluice_io_long_runs(file)) return false;
    return all_ready(io->map, file, fetch || forced);
}

/* A fault on the way is no error yet: the requests that follow find out what is wrong and say so. */
bool sluice_io_mapped(sluice_io *io, bool write, const sluice_io_part *part, bool fetch) {
    const sluice_set *file = part->file;
    if (!sluice_io_reachable(io, write, file, fetch)) return false;
    sluice_side mapped = {sluice_map_base(io->map), file, 0, 0};
    copy c = {write ? mapped : part->mem, write ? part->mem : mapped, file->size};
    if (write && !sluice_io_claim(io)) return false;
    if (sluice_map_guard(io->map, copy_part, &c)) return false;
    *(write ? &io->counts.mapped_written : &io->counts.mapped_read) += c.n;
    *(write ? &io->counts.wanted_written : &io->counts.wanted_read) += c.n;
    return true;
}
