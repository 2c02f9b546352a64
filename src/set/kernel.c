/* kernel.c: copy loops by shape.
 *
 * All are one loop, "copy a block, go on by the steps", within one over the groups. What a kernel knows when it is
 * compiled, the length and perhaps the steps, becomes constants in its moves.
 *
 *   len             destination packed           source packed         neither
 *   1, 2, 4, 8      vectors (sieve.c), few by    spread by 2, 3, 4, n  any
 *                   2, 3, 4
 *   16              pack by 2, 3, 4, n           spread by 2, 3, 4, n  any
 *   3, 12           wide                         spread by 2, 3, 4, n  any
 *   other < 16      wide: one move, longer than  halves: two moves that overlap
 *                   the block; the next one
 *                   overwrites what is too much
 *   17 ... 256      moves of 16 bytes and a last one of 4, 8 or 16 that overlaps the one before
 *   longer          memcpy, or back from the end where that is in trouble (run)
 *
 * Which shapes get a loop of their own was decided by measuring (bench/set.c). Loops are unrolled here, by hand, and
 * compiled without vectorising and unrolling, so that they are equally fast with each compiler.
 */
#include "set/kernel.h"
#include <stddef.h>
#include <string.h>

#define ARGS byte *restrict dst, const byte *restrict src, const sluice_blocks *c
#define SIDES byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep

typedef unsigned char byte;

/* The size of a cache line, or a guess at it. How far ahead the source of a strided loop is fetched: the hardware
 * follows a stride late, and within a page only. */
enum { LINE = 64, AHEAD = 512 };

/* Fetching is never a fault, so p may lie beyond the buffer; the sum is not one of pointers for the same reason. */
ALWAYS void fetch(const byte *p, int64_t by) { __builtin_prefetch((const void *)((uintptr_t)p + (uintptr_t)by)); }

ALWAYS void fetch4(const byte *p, int64_t by) {
    fetch(p, by);
    fetch(p, by + LINE);
    fetch(p, by + 2 * LINE);
    fetch(p, by + 3 * LINE);
}

/* ---- Blocks whose length is a constant ------------------------------------------------------------------------- */

ALWAYS void copy2(SIDES, size_t len) {
    memcpy(dst, src, len);
    memcpy(dst + dstep, src + sstep, len);
}

ALWAYS void copy4(SIDES, size_t len) {
    copy2(dst, dstep, src, sstep, len);
    copy2(dst + 2 * dstep, dstep, src + 2 * sstep, sstep, len);
}

ALWAYS void copy8(SIDES, size_t len) {
    copy4(dst, dstep, src, sstep, len);
    copy4(dst + 4 * dstep, dstep, src + 4 * sstep, sstep, len);
}

ALWAYS void copy16(SIDES, size_t len) {
    copy8(dst, dstep, src, sstep, len);
    copy8(dst + 8 * dstep, dstep, src + 8 * sstep, sstep, len);
}

/* n modulo 8 blocks. */
ALWAYS void copy_rest(SIDES, size_t len, int64_t n) {
    if (n & 4) copy4(dst, dstep, src, sstep, len), dst += 4 * dstep, src += 4 * sstep;
    if (!(n & 3)) return;
    if (n & 2) copy2(dst, dstep, src, sstep, len), dst += 2 * dstep, src += 2 * sstep;
    if (n & 1) memcpy(dst, src, len);
}

/* The steps are constants too. */
ALWAYS void even(SIDES, size_t len, int64_t n) {
    for (; n >= 8; n -= 8, dst += 8 * dstep, src += 8 * sstep) {
        copy8(dst, dstep, src, sstep, len);
        OPAQUE(dst);
        OPAQUE(src);
    }
    if (n & 7) copy_rest(dst, dstep, src, sstep, len, n);
}

/* One step or both are not. */
ALWAYS void any(SIDES, size_t len, int64_t n, int64_t ahead) {
    int64_t dstep3 = 3 * dstep, sstep3 = 3 * sstep;
    if (!__builtin_constant_p(dstep)) OPAQUE(dstep3);
    if (!__builtin_constant_p(sstep)) OPAQUE(sstep3);
    for (; n >= 8; n -= 8, dst += 4 * dstep, src += 4 * sstep) {
        if (ahead) fetch(src, ahead), fetch(src, ahead + 4 * sstep);
        copy2(dst, dstep, src, sstep, len);
        memcpy(dst + 2 * dstep, src + 2 * sstep, len);
        memcpy(dst + dstep3, src + sstep3, len);
        dst += 4 * dstep, src += 4 * sstep;
        OPAQUE(dst);
        OPAQUE(src);
        copy2(dst, dstep, src, sstep, len);
        memcpy(dst + 2 * dstep, src + 2 * sstep, len);
        memcpy(dst + dstep3, src + sstep3, len);
        OPAQUE(dst);
        OPAQUE(src);
    }
    if (n & 7) copy_rest(dst, dstep, src, sstep, len, n);
}

/* ---- Blocks of half < len < 2 * half, half a constant ---------------------------------------------------------- */

ALWAYS void copy_halves(byte *restrict dst, const byte *restrict src, int64_t len, size_t half) {
    memcpy(dst, src, half);
    memcpy(dst + len - half, src + len - half, half);
}

ALWAYS void halves(SIDES, int64_t len, int64_t n, size_t half) {
    for (; n >= 2; n -= 2, dst += 2 * dstep, src += 2 * sstep) {
        copy_halves(dst, src, len, half);
        copy_halves(dst + dstep, src + sstep, len, half);
        OPAQUE(dst);
        OPAQUE(src);
    }
    if (n > 0) copy_halves(dst, src, len, half);
}

ALWAYS void wide(byte *restrict dst, const byte *restrict src, int64_t sstep, int64_t len, int64_t n, size_t half) {
    for (; n > 4; n -= 4, dst += 4 * len, src += 4 * sstep) {
        copy4(dst, len, src, sstep, 2 * half);
        OPAQUE(dst);
        OPAQUE(src);
    }
    for (; n > 1; n--, dst += len, src += sstep) memcpy(dst, src, 2 * half);
    if (n > 0) copy_halves(dst, src, len, half);
}

/* ---- Longer blocks --------------------------------------------------------------------------------------------- */

#define COUNTS(X) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

/* `count` moves: of 16 bytes, and one of `last` bytes that ends where the block ends. */
ALWAYS void copy_moves(byte *restrict dst, const byte *restrict src, int64_t len, int count, int64_t last) {
#define MOVE(I)                                                                                                        \
    if (I <= count) memcpy(dst + 16 * (I - 2), src + 16 * (I - 2), 16);
    COUNTS(MOVE)
    memcpy(dst + len - last, src + len - last, (size_t)last);
}

ALWAYS void moves(SIDES, int64_t len, int64_t n, int count, int64_t last) {
    for (; n > 0; n--, dst += dstep, src += sstep) {
        if (count >= 8) fetch(src, 2 * sstep);
        copy_moves(dst, src, len, count, last);
        OPAQUE(dst);
        OPAQUE(src);
    }
}

/* ---- Long blocks ----------------------------------------------------------------------------------------------- */

/* From the end to the start. A move of the loop loads what lies below the stores before it, so that no load seems to
 * need what was stored just now. */
static __attribute__((noinline)) void run_back(byte *restrict dst, const byte *restrict src, size_t len) {
    for (; len > LINE; len -= LINE) {
        memcpy(dst + len - LINE, src + len - LINE, LINE);
        OPAQUE(len);
    }
    memcpy(dst, src, len);
}

/* Where the destination lies a few bytes behind the source, modulo the size of a page, memcpy can be ten times slower
 * than elsewhere: for what is too long for its loops it uses the processor's string move, which then waits for itself
 * (AMD Zen, 4 KiB ... 512 KiB, less than 32 bytes), and its loops take twice as long. That is no rare case, but that of
 * every large buffer from malloc, which begins 16 bytes into a page, and a mapped file. */
ALWAYS void run(byte *restrict dst, const byte *restrict src, size_t len) {
    enum { PAGE = 4096, BEHIND = 32, LEAST = 256, MOST = 1 << 20 };
    const uintptr_t behind = ((uintptr_t)dst - (uintptr_t)src) % PAGE;
    if (behind - 1 < BEHIND - 1 && len >= LEAST && len < MOST)
        run_back(dst, src, len);
    else
        memcpy(dst, src, len);
}

void sluice_kernel_run(unsigned char *dst, const unsigned char *src, int64_t len) { run(dst, src, (size_t)len); }

/* Before each block fetches the beginning of the next: the hardware sees a new stream only after some misses. More of
 * the destination, which is the slower side; twice as much for blocks of a page and more.
 * Not inlined into a loop over groups, so that what is needed between two calls of memcpy stays in registers: a load
 * from the stack would have to wait for the stores of memcpy. */
static __attribute__((noinline)) void by_call(SIDES, size_t len, int64_t n) {
    for (; n > 1; n--) {
        byte *to = dst;
        const byte *from = src;
        dst += dstep;
        src += sstep;
        OPAQUE(dst);
        OPAQUE(src);
        fetch(src, 0), fetch(src, LINE);
        fetch4(dst, 0), fetch4(dst, 4 * LINE);
        if (len >= 4096) fetch4(dst, 8 * LINE), fetch4(dst, 12 * LINE);
        run(to, from, len);
    }
    if (n > 0) run(dst, src, len);
}

ALWAYS void by_plain_call(SIDES, size_t len, int64_t n) {
    for (; n > 0; n--, dst += dstep, src += sstep) run(dst, src, len);
}

/* ---- Kernels: the loops above within one over the groups ------------------------------------------------------- */

#define EACH_GROUP for (int64_t groups = c->groups; groups > 0; groups--, dst += douter, src += souter)
#define SHAPE                                                                                                          \
    const int64_t len = c->len, n = c->n, dstep = c->dst.step, sstep = c->src.step;                                    \
    const int64_t douter = c->dst.outer, souter = c->src.outer;                                                        \
    (void)len, (void)dstep, (void)sstep;

#define KERNEL(NAME, LOOP)                                                                                             \
    static void NAME(ARGS) {                                                                                           \
        SHAPE                                                                                                          \
        EACH_GROUP LOOP;                                                                                               \
    }

/* Constant steps; for short groups without a loop over their blocks. */
#define EVEN(NAME, DSTEP, SSTEP, LEN)                                                                                  \
    static void NAME(ARGS) {                                                                                           \
        SHAPE                                                                                                          \
        switch (n) {                                                                                                   \
        case 2: EACH_GROUP copy2(dst, DSTEP, src, SSTEP, LEN); break;                                                  \
        case 4: EACH_GROUP copy4(dst, DSTEP, src, SSTEP, LEN); break;                                                  \
        case 8: EACH_GROUP copy8(dst, DSTEP, src, SSTEP, LEN); break;                                                  \
        case 16: EACH_GROUP copy16(dst, DSTEP, src, SSTEP, LEN); break;                                                \
        default: EACH_GROUP even(dst, DSTEP, src, SSTEP, LEN, n);                                                      \
        }                                                                                                              \
    }

#define ANY(LEN)                                                                                                       \
    KERNEL(any##LEN, any(dst, dstep, src, sstep, LEN, n, 0))                                                           \
    KERNEL(spread##LEN##_by, any(dst, dstep, src, LEN, LEN, n, 0))                                                     \
    EVEN(spread##LEN##_by2, 2 * LEN, LEN, LEN)                                                                         \
    EVEN(spread##LEN##_by3, 3 * LEN, LEN, LEN)                                                                         \
    EVEN(spread##LEN##_by4, 4 * LEN, LEN, LEN)
#define ELEMENTS(X) X(1) X(2) X(3) X(4) X(8) X(12) X(16)
ELEMENTS(ANY)

EVEN(pack16_by2, 16, 32, 16)
EVEN(pack16_by3, 16, 48, 16)
EVEN(pack16_by4, 16, 64, 16)
KERNEL(pack16_by, any(dst, 16, src, sstep, 16, n, 0))
KERNEL(pack1_by, any(dst, 1, src, sstep, 1, n, AHEAD))
KERNEL(pack2_by, any(dst, 2, src, sstep, 2, n, AHEAD))
KERNEL(pack4_by, any(dst, 4, src, sstep, 4, n, AHEAD))
/* For groups that are too short for vectors. */
#define PACK(LEN)                                                                                                      \
    EVEN(pack##LEN##_by2, LEN, 2 * LEN, LEN)                                                                           \
    EVEN(pack##LEN##_by3, LEN, 3 * LEN, LEN)                                                                           \
    EVEN(pack##LEN##_by4, LEN, 4 * LEN, LEN)
#define SHORT(X) X(1) X(2) X(4)
SHORT(PACK)

KERNEL(wide3, wide(dst, src, sstep, 3, n, 2))
KERNEL(wide8, wide(dst, src, sstep, len, n, 4))
KERNEL(wide16, wide(dst, src, sstep, len, n, 8))
KERNEL(halves8, halves(dst, dstep, src, sstep, len, n, 4))
KERNEL(halves16, halves(dst, dstep, src, sstep, len, n, 8))

KERNEL(pack32, any(dst, 32, src, sstep, 32, n, 0))
KERNEL(pack48, any(dst, 48, src, sstep, 48, n, 0))
KERNEL(pack64, any(dst, 64, src, sstep, 64, n, 0))
KERNEL(spread32, any(dst, dstep, src, 32, 32, n, 0))
KERNEL(spread48, any(dst, dstep, src, 48, 48, n, 0))
KERNEL(spread64, any(dst, dstep, src, 64, 64, n, 0))

#define MOVES(COUNT)                                                                                                   \
    KERNEL(moves##COUNT##_0, moves(dst, dstep, src, sstep, 16 * COUNT, n, COUNT, 16))                                  \
    KERNEL(moves##COUNT##_4, moves(dst, dstep, src, sstep, len, n, COUNT, 4))                                          \
    KERNEL(moves##COUNT##_8, moves(dst, dstep, src, sstep, len, n, COUNT, 8))                                          \
    KERNEL(moves##COUNT##_16, moves(dst, dstep, src, sstep, len, n, COUNT, 16))
COUNTS(MOVES)
KERNEL(calls, by_call(dst, dstep, src, sstep, (size_t)len, n))
KERNEL(longer, by_plain_call(dst, dstep, src, sstep, (size_t)len, n))
KERNEL(whole, run(dst, src, (size_t)(len *n)))

/* ---- Which ----------------------------------------------------------------------------------------------------- */

/* Loops for the steps 2 * len, 3 * len and 4 * len, and at first one for all. */
typedef sluice_kernel *const by_step[4];
#define BY(NAME)                                                                                                       \
    { NAME##_by, NAME##_by2, NAME##_by3, NAME##_by4 }

/* The step of one block may be any number. */
static sluice_kernel *of(by_step list, int64_t len, int64_t step) {
    return list[step >= 2 * len && step <= 4 * len && step % len == 0 ? step / len - 1 : 0];
}

/* len <= 16 */
static sluice_kernel *choose_short(const sluice_blocks *c) {
    static by_step pack16 = BY(pack16);
    static by_step spread[17] = {[1] = BY(spread1), [2] = BY(spread2),   [3] = BY(spread3),  [4] = BY(spread4),
                                 [8] = BY(spread8), [12] = BY(spread12), [16] = BY(spread16)};
    static by_step few[5] = {[1] = BY(pack1), [2] = BY(pack2), [4] = BY(pack4)};
    static sluice_kernel *const pack[] = {NULL, pack1_by, pack2_by, wide3,  pack4_by, wide8,  wide8,  wide8,
                                          any8, wide16,   wide16,   wide16, wide16,   wide16, wide16, wide16};
    static sluice_kernel *const any[] = {NULL,    any1,     any2,     any3,     any4,     halves8,
                                         halves8, halves8,  any8,     halves16, halves16, halves16,
                                         any12,   halves16, halves16, halves16, any16};
    int64_t len = c->len;
    if (c->dst.step == len) {
        sluice_kernel *sieve = sluice_sieve_choose(c);
        if (sieve) return sieve;
        if (len == 16) return of(pack16, len, c->src.step);
        return len <= 4 && few[len][0] && c->n < 16 ? of(few[len], len, c->src.step) : pack[len];
    }
    return c->src.step == len && spread[len][0] ? of(spread[len], len, c->dst.step) : any[len];
}

/* 17 ... 256 */
static sluice_kernel *choose_moves(const sluice_blocks *c) {
#define MOVES_NAMES(COUNT) {moves##COUNT##_0, moves##COUNT##_4, moves##COUNT##_8, moves##COUNT##_16},
    static sluice_kernel *const moves[][4] = {COUNTS(MOVES_NAMES)};
    static sluice_kernel *const pack[] = {pack32, pack48, pack64}, *const spread[] = {spread32, spread48, spread64};
    int64_t len = c->len, last = len % 16;
    if (len <= 64 && last == 0 && c->dst.step == len) return pack[len / 16 - 2];
    if (len <= 64 && last == 0 && c->src.step == len) return spread[len / 16 - 2];
    return moves[(len - 1) / 16 - 1][last == 0 ? 0 : last <= 4 ? 1 : last <= 8 ? 2 : 3];
}

static sluice_kernel *choose(const sluice_blocks *c) {
    if (c->dst.step == c->len && c->src.step == c->len) return whole;
    if (c->len <= 16) return choose_short(c);
    if (c->len <= 256) return choose_moves(c);
    return c->len < 8192 ? calls : longer;
}

void sluice_kernel_copy(unsigned char *dst, const unsigned char *src, const sluice_blocks *c) {
    sluice_blocks turned;
    if (c->n == 1) {
        turned = (sluice_blocks){c->len, c->groups, 1, {c->dst.outer, 0}, {c->src.outer, 0}};
        c = &turned;
    }
    choose(c)(dst, src, c);
}
