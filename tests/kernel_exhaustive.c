/* ranks: 1 */
/* Every copy kernel against the plain loop: all lengths to 300, steps and counts around every special case, all
 * alignments, groups. Each buffer lies between two pages that must not be touched, at one end or the other or in
 * between, and every byte of the destination is compared, so that a kernel that reads outside the hull of its blocks or
 * writes outside the blocks is caught. */
#include "set/kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned char byte;

enum { BYTES = 1 << 16, MARGIN = 48 };
static byte *region[2]; /* destination and source: BYTES bytes, with a forbidden page on either side */
static byte expected[BYTES];
static long cases;

static byte *guarded(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    byte *p = mmap(NULL, BYTES + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + page, BYTES, PROT_READ | PROT_WRITE)) {
        perror("mmap");
        exit(1);
    }
    return p + page;
}

/* Offset in a region for `hull` bytes: 0 = at its start, 1 = at its end, 2 + a = in between, at a modulo 16. */
static int64_t place(int where, int64_t hull) { return where == 0 ? 0 : where == 1 ? BYTES - hull : 64 + where - 2; }

typedef void copier(byte *dst, const byte *src, const sluice_blocks *c);

static int64_t hull(int64_t len, int64_t n, int64_t groups, sluice_stride s) {
    return n && groups ? (groups - 1) * s.outer + (n - 1) * s.step + len : 0;
}

/* 1 if the copier does what the plain loop does. */
static int right(copier *copy, const sluice_blocks *c, int dwhere, int swhere) {
    int64_t dhull = hull(c->len, c->n, c->groups, c->dst), shull = hull(c->len, c->n, c->groups, c->src);
    int64_t at = place(dwhere, dhull), from = place(swhere, shull);
    int64_t lo = at < MARGIN ? 0 : at - MARGIN, hi = at + dhull + MARGIN > BYTES ? BYTES : at + dhull + MARGIN;
    byte *dst = region[0] + at, *src = region[1] + from;
    memset(region[0] + lo, 0xa5, (size_t)(hi - lo));
    memset(expected + lo, 0xa5, (size_t)(hi - lo));
    for (int64_t g = 0; g < c->groups; g++)
        for (int64_t i = 0; i < c->n; i++)
            for (int64_t j = 0; j < c->len; j++)
                expected[at + g * c->dst.outer + i * c->dst.step + j] = src[g * c->src.outer + i * c->src.step + j];
    copy(dst, src, c);
    cases++;
    return !memcmp(region[0] + lo, expected + lo, (size_t)(hi - lo));
}

static void check_groups(int64_t len, int64_t n, int64_t groups, sluice_stride dst, sluice_stride src, int dwhere,
                         int swhere) {
    sluice_blocks c = {len, n, groups, dst, src};
    if (right(sluice_kernel_copy, &c, dwhere, swhere)) return;
    printf("wrong: len %lld, n %lld, groups %lld, steps %lld %lld, outer %lld %lld, places %d %d\n", (long long)len,
           (long long)n, (long long)groups, (long long)dst.step, (long long)src.step, (long long)dst.outer,
           (long long)src.outer, dwhere, swhere);
    exit(1);
}

static void check(int64_t len, int64_t dstep, int64_t sstep, int64_t n, int dwhere, int swhere) {
    check_groups(len, n, 1, (sluice_stride){dstep, 0}, (sluice_stride){sstep, 0}, dwhere, swhere);
}

/* Writes one byte too many after the last block. */
static void too_long(byte *dst, const byte *src, const sluice_blocks *c) {
    sluice_kernel_copy(dst, src, c);
    dst[hull(c->len, c->n, c->groups, c->dst)] = 0;
}

/* Takes one byte from its neighbour. */
static void shifted(byte *dst, const byte *src, const sluice_blocks *c) {
    sluice_kernel_copy(dst, src, c);
    dst[(c->n - 1) * c->dst.step] = src[(c->n - 1) * c->src.step + 1];
}

int main(void) {
    region[0] = guarded();
    region[1] = guarded();
    /* Noise, so that a byte from the wrong place shows. */
    for (uint32_t i = 0; i < BYTES; i++) region[1][i] = (byte)(i * 2654435761u >> 24);

    const sluice_blocks any = {4, 9, 1, {8, 0}, {4, 0}};
    if (right(too_long, &any, 5, 5) || right(shifted, &any, 5, 5)) {
        printf("a wrong kernel was not noticed\n");
        return 1;
    }
    for (int64_t len = 1; len <= 300; len++) {
        const int64_t step[] = {len, len + 1, 2 * len, 3 * len, 4 * len, 5 * len + 3, 16 * len};
        const int nsteps = sizeof step / sizeof *step;
        const int64_t count[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 13};
        for (int d = 0; d < nsteps; d++)
            for (int s = 0; s < nsteps; s++)
                for (size_t k = 0; k < sizeof count / sizeof *count; k++)
                    for (int where = 0; where < 4; where++)
                        check(len, step[d], step[s], count[k], (int)(k + (size_t)where * 5) % 18, where);
    }
    /* Short blocks, the vectorised ones among them: every count up to several vectors, every pair of alignments. */
    for (int64_t len = 1; len <= 17; len++)
        for (int64_t step = len; step <= 4 * len + 1; step++)
            for (int64_t n = 1; n <= 70; n += n < 20 ? 1 : 7)
                for (int where = 0; where < 18; where++) {
                    check(len, len, step, n, where, (int)(n + where) % 18);
                    check(len, len, step, n, (where + 5) % 18, 1);
                    check(len, step, len, n, where, (int)(n + where) % 18);
                }
    for (int dwhere = 0; dwhere < 18; dwhere++)
        for (int swhere = 0; swhere < 18; swhere++)
            for (int64_t len = 1; len <= 300; len = len < 20 ? len + 1 : len * 3 / 2) {
                check(len, len, 2 * len, 40, dwhere, swhere);
                check(len, 2 * len, len, 40, dwhere, swhere);
                check(len, 3 * len, 2 * len, 40, dwhere, swhere);
            }
    for (int64_t len = 1; len <= 300; len = len < 20 ? len + 1 : len * 3 / 2)
        for (int64_t n = 1; n <= 9; n++)
            for (int64_t groups = 0; groups <= 5; groups++)
                for (int where = 0; where < 4; where++) {
                    sluice_stride packed = {len, n * len}, tight = {2 * len, 2 * n * len},
                                  wide = {3 * len, 4 * n * len};
                    check_groups(len, n, groups, packed, tight, where, (where + 1) % 4);
                    check_groups(len, n, groups, wide, packed, where, (where + 1) % 4);
                    check_groups(len, n, groups, wide, tight, where, (where + 1) % 4);
                    check_groups(len, n, groups, packed, packed, where, (where + 1) % 4);
                    /* Contiguous groups, apart from each other. */
                    check_groups(len, n, groups, packed, (sluice_stride){len, n * len + 1}, where, (where + 1) % 4);
                }
    /* Short blocks in groups, in which some counts have loops of their own: all steps that may be special, groups that
     * are packed and groups apart, few and so many that vectors are worth while. */
    const int64_t few[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 19, 32, 33, 64, 67};
    for (int64_t len = 1; len <= 16; len++)
        for (int64_t step = len + 1; step <= 4 * len + 1 || step <= 20; step++)
            for (size_t k = 0; k < sizeof few / sizeof *few; k++)
                for (int64_t groups = 2; groups <= 19; groups += 17)
                    for (int where = 0; where < 2; where++) {
                        int64_t n = few[k];
                        sluice_stride packed = {len, n * len}, apart = {len, n * len + 3},
                                      spread = {step, n * step + 5};
                        if (hull(len, n, groups, spread) > BYTES) continue;
                        check_groups(len, n, groups, packed, spread, where, 1 - where);
                        check_groups(len, n, groups, apart, spread, 2 + where, where);
                        check_groups(len, n, groups, spread, packed, where, 1 - where);
                        check_groups(len, n, groups, spread, spread, 1 - where, where);
                    }
    /* One long group of short blocks that become packed: every rest after whole vectors, all alignments. */
    for (int64_t len = 1; len <= 8; len *= 2)
        for (int64_t step = len + 1; step <= 4 * len + 1 || step <= 20; step++)
            for (int64_t n = 256 / len; n <= (256 + 80) / len; n++)
                for (int where = 0; where < 18; where++) {
                    check(len, len, step, n, where, where % 2);
                    check(len, len, step, n, where % 2, where);
                }
    /* One block, whose steps do not matter. */
    for (int64_t len = 1; len <= 300; len++)
        for (int64_t step = -len; step <= 2 * len; step += len) {
            sluice_stride packed = {len, len}, odd = {step, step};
            check_groups(len, 1, 1, packed, odd, 0, 1);
            check_groups(len, 1, 1, odd, packed, 1, 0);
            check_groups(len, 1, 1, odd, odd, 1, 1);
        }
    /* Long blocks: around the lengths from which the destination's place behind the source counts, and all places. */
    for (int64_t len = 2040; len <= 2112; len += len == 2056 ? 40 : 1)
        for (int swhere = 0; swhere < 4; swhere++)
            for (int dwhere = 0; dwhere < 40; dwhere++) {
                check(len, len, len, 1, dwhere, swhere);
                check(len, len, len + 8, 2, dwhere, swhere);
                check(len, len, len, 4, dwhere, swhere);
            }
    for (int dwhere = 0; dwhere < 40; dwhere++) {
        check(9001, 9001, 9216, 3, dwhere, dwhere % 3);
        check(12288, 16384, 12288, 3, dwhere, 2);
    }
    check(5000, 5000, 7000, 3, 1, 1);
    check(60000, 60000, 60000, 1, 0, 1);
    printf("%ld shapes\n", cases);
    return 0;
}
