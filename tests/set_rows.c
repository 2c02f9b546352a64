/* ranks: 1 */
/* set_rows: moving between two sets that have larger blocks in common, such as the rows of a tile, whose copies are
 * made for many of them at once. The sets are random: some rows of as many bytes on both sides, each with its pieces;
 * on one side perhaps one block for all, or rows in groups; perhaps with something before and behind. From any byte on,
 * for any number of bytes. The oracle takes both sides byte by byte. */
#include "support/unit.h"
#include <string.h>

enum { CASES = 4000, BYTES = 1 << 16 };

static unsigned char from[BYTES], to[BYTES], expected[BYTES];

/* `size` bytes in random pieces, as a set from 0 on; its end is a byte of it. */
static void make_row(sluice_set *out, int64_t size) {
    sluice_set piece = SLUICE_SET_EMPTY;
    int64_t at = 0;
    sluice_set_free(out);
    while (size > 0) {
        const int64_t len = 1 + below(sluice_min(size, 20)), n = 1 + below(sluice_min(size / len, 6)),
                      step = len + below(9);
        CHECK(!sluice_set_falls(&piece, at, len, step, n));
        CHECK(!sluice_set_union(out, out, &piece));
        size -= len * n;
        at += step * n + below(5);
    }
    sluice_set_free(&piece);
}

/* Rows of a side: n of `size` bytes each, in one of the ways that they can lie. */
static void make_side(sluice_set *out, int64_t n, int64_t size) {
    sluice_set row = SLUICE_SET_EMPTY, more = SLUICE_SET_EMPTY;
    const int64_t kind = below(5), off = below(30), each = kind == 1 && n % 2 == 0 ? 2 : 1;
    if (kind == 0) {
        CHECK(!sluice_set_block(out, off, n * size));
    } else {
        make_row(&row, size * each);
        const int64_t step = sluice_set_hi(&row) + below(10);
        CHECK(!sluice_set_repeat(out, &row, off, step, n / each));
    }
    if (kind == 2) { /* once more, further on */
        CHECK(!sluice_set_repeat(out, out, 0, sluice_set_hi(out) + 7, 2));
    }
    if (kind == 3) {
        CHECK(!sluice_set_block(&more, sluice_set_hi(out) + 3, 50));
        CHECK(!sluice_set_union(out, out, &more));
    }
    sluice_set_free(&row);
    sluice_set_free(&more);
}

static void try_move(const sluice_set *dst, const sluice_set *src, int64_t first, int64_t n) {
    memset(to, 0x55, sizeof to);
    memset(expected, 0x55, sizeof expected);
    for (int64_t k = 0; k < n; k++)
        expected[sluice_set_select(dst, first + k)] = from[sluice_set_select(src, first + k)];
    const sluice_side a = {to, dst, 0, first}, b = {from, src, 0, first};
    CHECK(sluice_move(&a, &b, n) == n, "bytes moved");
    CHECK(!memcmp(to, expected, sizeof to), "moved to the wrong place, or not at all");
}

int main(void) {
    for (int64_t i = 0; i < BYTES; i++) from[i] = (unsigned char)(i * 37 + (i >> 8) * 11 + 1);
    for (int64_t i = 0; i < CASES; i++) {
        sluice_set dst = SLUICE_SET_EMPTY, src = SLUICE_SET_EMPTY;
        const int64_t n = 2 + below(70), size = 1 + below(100);
        make_side(&dst, n, size);
        make_side(&src, n, size);
        const int64_t all = sluice_min(dst.size, src.size), first = below(3) ? 0 : below(all);
        if (sluice_max(sluice_set_hi(&dst), sluice_set_hi(&src)) <= BYTES)
            try_move(&dst, &src, first, below(2) ? all - first : 1 + below(all - first));
        sluice_set_free(&dst);
        sluice_set_free(&src);
    }
    return verdict();
}
