/* overlap.c: views in which bytes may come twice. These are read only, for what they show is no set.
 *
 * The blocks of the filetype start one behind the other or at the same place, but may overlap; or its copies overlap or
 * interleave, while one of them is a set like any other: libraries often make filetypes of which they use but one, and
 * do not care for the extent. What is read is then a stretch of the file as it lies there, from which the bytes are
 * taken in the order of the filetype, as from memory (pack.c):
 *
 *     file        abcdefghij
 *     filetype    XXX                    view    abc bc def ef ...
 *                  XX
 */
#include "mpiio/door.h"

int64_t sluice_overlap_offset(const sluice_typed *t, int64_t at) {
    int64_t by, off;
    if (!sluice_mul(at / t->size, t->extent, &by) ||
        !sluice_add(by, t->first + sluice_set_select(&t->order, at % t->size), &off))
        return -1;
    return off;
}

/* All of the copies that end before x, and part of the next one, which does not. */
int64_t sluice_overlap_rank(const sluice_typed *t, int64_t x) {
    const int64_t room = x - t->true_lb - t->true_extent,
                  before = room < 0 || t->extent <= 0 ? 0 : room / t->extent + 1;
    int64_t at = before * t->size;
    if (t->sorted) return at + sluice_set_rank(&t->order, x - t->first - before * t->extent);
    for (const int64_t end = at + t->size; at < end && sluice_overlap_offset(t, at) < x;) at++;
    return at;
}

int64_t sluice_overlap_piece(const sluice_typed *t, int64_t at, int64_t most, int64_t *lo, int64_t *hi) {
    const int64_t first = at / t->size,
                  copies = t->extent > 0 ? 1 + sluice_max(most - t->true_extent, 0) / t->extent : 1;
    *lo = t->true_lb + first * t->extent;
    *hi = *lo + (copies - 1) * t->extent + t->true_extent;
    return (first + copies) * t->size - at;
}
