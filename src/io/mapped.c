/* mapped.c: moving parts through the mapping of the file, if all of it is cached.
 *
 * Reading is copying. So is writing, and only what is named is stored, so that holes need no care; handles that read,
 * change and write back a range are kept out by a claim (lock.c).
 *
 * A call that makes a file longer puts zeros between the old end and where it writes, and Linux does so after it has
 * told the new size: what is stored there through a mapping meanwhile is lost. So the mapping of a file that grows is
 * written only where the file was that long before all who write it last met.
 *
 * Parts that lie one behind the other in the file, as what is wanted of several subfiles does, may be mixed in memory
 * in pieces of a few bytes. One after the other, each would fetch all of that memory into the cache once more. So they
 * are moved in turns, each as far as a window of memory reaches:
 *
 *     memory   abcabcab|cabcabca|bc         turns   aaa bbb cc | aaa bb ccc | b c
 */
#include "io/io.h"

/* Longer runs are written by calls: for a page that was not written lately, the fault costs more than the call. */
enum { LONG_RUN = 32 << 10 };

/* Where less than this part of a range is wanted, pages are better entered into the table one by one. */
enum { DENSE = 64 };

/* A window stays in the second-level cache beside what is copied to or from it, and is large enough for each part to
 * have a turn that is worth its start. */
enum { WINDOW = 128 << 10, TURN = 16 << 10 };

typedef struct copy {
    const unsigned char *file; /* the mapping */
    const sluice_io_part *part;
    int n;
    bool write;
} copy;

/* ---- Copying ---- */

static void move_bytes(const copy *c, const sluice_io_part *p, int64_t from, int64_t to) {
    sluice_side file = {(void *)(uintptr_t)c->file, p->file, 0, from}, mem = p->mem;
    mem.from += from;
    if (to > from) sluice_move(c->write ? &file : &mem, c->write ? &mem : &file, to - from);
}

/* Addresses as numbers, for the memory of different parts may be different objects. */
static uintptr_t address(const sluice_side *mem, int64_t rank) {
    const int64_t x = mem->set ? sluice_set_select(mem->set, mem->from + rank) : mem->from + rank;
    return (uintptr_t)mem->base + (uintptr_t)(x - mem->origin);
}

/* How many bytes of a part lie in memory below an address. */
static int64_t bytes_below(const sluice_io_part *p, uintptr_t end) {
    const sluice_side *mem = &p->mem;
    if (end <= address(mem, 0)) return 0;
    if (end > address(mem, p->file->size - 1)) return p->file->size;
    const int64_t x = (int64_t)(end - (uintptr_t)mem->base) + mem->origin;
    return (mem->set ? sluice_set_rank(mem->set, x) : x) - mem->from;
}

static void copy_parts(void *arg) {
    const copy *c = arg;
    uintptr_t lo = UINTPTR_MAX, hi = 0;
    if (c->n == 1) {
        move_bytes(c, c->part, 0, c->part->file->size);
        return;
    }
    for (int i = 0; i < c->n; i++) {
        const sluice_io_part *p = &c->part[i];
        const uintptr_t first = address(&p->mem, 0), last = address(&p->mem, p->file->size - 1);
        lo = first < lo ? first : lo;
        hi = last > hi ? last : hi;
    }
    const uintptr_t window = (uintptr_t)sluice_max(WINDOW, (int64_t)c->n * TURN);
    for (uintptr_t at = lo;;) {
        const bool rest = hi - at < window;
        uintptr_t next = UINTPTR_MAX; /* there may be a wide space between the memory of two parts */
        for (int i = 0; i < c->n; i++) {
            const sluice_io_part *p = &c->part[i];
            const int64_t from = at == lo ? 0 : bytes_below(p, at),
                          to = rest ? p->file->size : bytes_below(p, at + window);
            move_bytes(c, p, from, to);
            const uintptr_t left = to < p->file->size ? address(&p->mem, to) : UINTPTR_MAX;
            next = left < next ? left : next;
        }
        if (rest) return;
        at = next > at + window ? next : at + window;
    }
}

/* ---- Whether it can be done ---- */

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
    if (write && io->grows && sluice_set_hi(file) > io->settled) return false;
    if (write && !forced && sluice_io_long_runs(file)) return false;
    return all_ready(io->map, file, fetch || forced);
}

/* How many of n parts have their bytes in the file one behind the other, those of the first before those of the
 * second, and can be reached. */
static int count_ready(sluice_io *io, bool write, const sluice_io_part *part, int n, bool fetch) {
    int k = 0;
    int64_t end = 0;
    for (; k < n && part[k].file->size && sluice_set_lo(part[k].file) >= end; k++) {
        if (!sluice_io_reachable(io, write, part[k].file, fetch)) break;
        end = sluice_set_hi(part[k].file);
    }
    return k;
}

/* A fault on the way is no error yet: the requests that follow find out what is wrong and say so. */
int sluice_io_mapped(sluice_io *io, bool write, const sluice_io_part *part, int n, bool fetch) {
    n = count_ready(io, write, part, n, fetch);
    if (!n || (write && !sluice_io_claim(io))) return 0;
    copy c = {sluice_map_base(io->map), part, n, write};
    if (sluice_map_guard(io->map, copy_parts, &c)) return 0;
    int64_t moved = 0;
    for (int i = 0; i < n; i++) moved += part[i].file->size;
    *(write ? &io->counts.mapped_written : &io->counts.mapped_read) += moved;
    *(write ? &io->counts.wanted_written : &io->counts.wanted_read) += moved;
    return n;
}
