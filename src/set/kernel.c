/* kernel.c: copy loops by shape.
 *
 * All are one loop, "copy len bytes, go on by the steps", in which some of len, dstep and sstep are constants, so
 * that a block becomes a few moves in registers, a contiguous side merges them, and the compiler can use vectors.
 *
 *   len             destination contiguous     source contiguous   neither
 *   1, 2, 3, 4, 8   pack; by 2, 3, 4: vectors  spread              any
 *   other <= 16     any                        any                 any
 *   17 ... 256      moves of 16 bytes and a last one of 4, 8 or 16 that overlaps the one before
 *   longer          memcpy
 *
 * Which shapes get a loop of their own was decided by measuring (bench/set.c). From 8 bytes on memory is the limit,
 * and it makes no difference whether a step is a constant.
 */
#include "set/kernel.h"
#include <stddef.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

typedef unsigned char byte;

/* How far ahead the source of a strided loop is fetched: the hardware follows a stride late, and within a page only.
 * The size of a cache line, or a guess at it. */
enum { AHEAD = 512, LINE = 64 };

/* Fetching is never a fault, so p may lie beyond the buffer; the sum is not one of pointers for the same reason. */
ALWAYS void fetch(const byte *p, int64_t by) { __builtin_prefetch((const void *)((uintptr_t)p + (uintptr_t)by)); }

ALWAYS void simple(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len, int64_t n) {
    for (int64_t i = 0; i < n; i++) memcpy(dst + i * dstep, src + i * sstep, len);
}

/* The same for loops that become vectors: they gain from being unrolled, which gcc does only if told. */
ALWAYS void vectors(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len, int64_t n) {
#ifndef __clang__
#pragma GCC unroll 8
#endif
    for (int64_t i = 0; i < n; i++) memcpy(dst + i * dstep, src + i * sstep, len);
}

ALWAYS void by2(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len, int64_t n) {
    for (; n >= 2; n -= 2, dst += 2 * dstep, src += 2 * sstep) {
        memcpy(dst, src, len);
        memcpy(dst + dstep, src + sstep, len);
    }
    if (n > 0) memcpy(dst, src, len);
}

ALWAYS void four(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len) {
    memcpy(dst, src, len);
    memcpy(dst + dstep, src + sstep, len);
    memcpy(dst + 2 * dstep, src + 2 * sstep, len);
    memcpy(dst + 3 * dstep, src + 3 * sstep, len);
}

ALWAYS void by4(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len, int64_t n) {
    for (; n >= 4; n -= 4, dst += 4 * dstep, src += 4 * sstep) four(dst, dstep, src, sstep, len);
    simple(dst, dstep, src, sstep, len, n);
}

ALWAYS void by8(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len, int64_t n,
                int64_t ahead) {
    for (; n >= 8; n -= 8, dst += 8 * dstep, src += 8 * sstep) {
        if (ahead) fetch(src, ahead), fetch(src, ahead + 4 * sstep);
        four(dst, dstep, src, sstep, len);
        four(dst + 4 * dstep, dstep, src + 4 * sstep, sstep, len);
    }
    simple(dst, dstep, src, sstep, len, n);
}

/* Each block in `moves` moves: of 16 bytes, and one of `last` bytes that ends where the block ends. */
ALWAYS void by_moves(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, int64_t len, int64_t n,
                     int moves, int last) {
    for (; n > 0; n--, dst += dstep, src += sstep) {
        if (moves >= 8) fetch(src, 2 * sstep);
        for (int i = 0; i < moves - 1; i++) memcpy(dst + 16 * i, src + 16 * i, 16);
        memcpy(dst + len - last, src + len - last, (size_t)last);
    }
}

/* Before each block fetches the beginning of the next: the hardware sees a new stream only after some misses. More of
 * the destination, which is the slower side. */
ALWAYS void by_call(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len, int64_t n,
                    int64_t ahead) {
    for (; n > 1; n--) {
        byte *to = dst;
        const byte *from = src;
        dst += dstep;
        src += sstep;
        for (int64_t i = 0; i < 2 * LINE; i += LINE) fetch(src, i);
        for (int64_t i = 0; i < ahead; i += LINE) fetch(dst, i);
        memcpy(to, from, len);
    }
    if (n > 0) memcpy(dst, src, len);
}

/* Not inlined into a loop over groups, so that what is needed between two calls of memcpy stays in registers: a load
 * from the stack would have to wait for the stores of memcpy. */
static __attribute__((noinline)) void by_call_512(byte *restrict dst, int64_t dstep, const byte *restrict src,
                                                  int64_t sstep, size_t len, int64_t n) {
    by_call(dst, dstep, src, sstep, len, n, 512);
}

static __attribute__((noinline)) void by_call_1024(byte *restrict dst, int64_t dstep, const byte *restrict src,
                                                   int64_t sstep, size_t len, int64_t n) {
    by_call(dst, dstep, src, sstep, len, n, 1024);
}

/* Each is a loop over groups around one of the loops above. */
#define KERNEL(NAME, CALL)                                                                                             \
    static void NAME(byte *restrict dst, const byte *restrict src, const sluice_blocks *c) {                           \
        int64_t dstep = c->dst.step, sstep = c->src.step, len = c->len, n = c->n;                                      \
        (void)dstep, (void)sstep, (void)len;                                                                           \
        for (int64_t groups = c->groups; groups > 0; groups--, dst += c->dst.outer, src += c->src.outer) CALL;         \
    }

KERNEL(pack1_by2, vectors(dst, 1, src, 2, 1, n))
KERNEL(pack1_by3, by8(dst, 1, src, 3, 1, n, 0))
KERNEL(pack1_by4, vectors(dst, 1, src, 4, 1, n))
KERNEL(pack2_by2, vectors(dst, 2, src, 4, 2, n))
KERNEL(pack4_by2, vectors(dst, 4, src, 8, 4, n))
KERNEL(pack1, by8(dst, 1, src, sstep, 1, n, AHEAD))
KERNEL(pack2, by8(dst, 2, src, sstep, 2, n, AHEAD))
KERNEL(pack3, by8(dst, 3, src, sstep, 3, n, 0))
KERNEL(pack4, by8(dst, 4, src, sstep, 4, n, AHEAD))
KERNEL(pack8, by8(dst, 8, src, sstep, 8, n, 0))
KERNEL(spread1, by8(dst, dstep, src, 1, 1, n, 0))
KERNEL(spread2, by8(dst, dstep, src, 2, 2, n, 0))
KERNEL(spread3, by8(dst, dstep, src, 3, 3, n, 0))
KERNEL(spread4, by8(dst, dstep, src, 4, 4, n, 0))
KERNEL(spread8, by8(dst, dstep, src, 8, 8, n, 0))
KERNEL(upto4k, by_call_512(dst, dstep, src, sstep, (size_t)len, n))
KERNEL(upto8k, by_call_1024(dst, dstep, src, sstep, (size_t)len, n))
KERNEL(longer, simple(dst, dstep, src, sstep, (size_t)len, n))
KERNEL(whole, memcpy(dst, src, (size_t)len *(size_t)n))

#define FROM2(X) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#define FROM1(X) X(1) FROM2(X)
#define ANY(LEN)                                                                                                       \
    KERNEL(any##LEN, (LEN & (LEN - 1)) == 0 ? by4(dst, dstep, src, sstep, LEN, n) : by2(dst, dstep, src, sstep, LEN, n))
#define MOVES(N)                                                                                                       \
    KERNEL(moves##N##_4, by_moves(dst, dstep, src, sstep, len, n, N, 4))                                               \
    KERNEL(moves##N##_8, by_moves(dst, dstep, src, sstep, len, n, N, 8))                                               \
    KERNEL(moves##N##_16, by_moves(dst, dstep, src, sstep, len, n, N, 16))
FROM1(ANY)
FROM2(MOVES)

typedef void kernel(byte *restrict dst, const byte *restrict src, const sluice_blocks *c);

static kernel *choose(int64_t len, int64_t dstep, int64_t sstep) {
#define ANY_NAME(LEN) any##LEN,
#define MOVES_NAMES(N) {moves##N##_4, moves##N##_8, moves##N##_16},
    static kernel *const any[] = {FROM1(ANY_NAME)};
    static kernel *const moves[][3] = {FROM2(MOVES_NAMES)};
    if (dstep == len) {
        if (sstep == len) return whole;
        switch (len) {
        case 1: return sstep == 2 ? pack1_by2 : sstep == 3 ? pack1_by3 : sstep == 4 ? pack1_by4 : pack1;
        case 2: return sstep == 4 ? pack2_by2 : pack2;
        case 3: return pack3;
        case 4: return sstep == 8 ? pack4_by2 : pack4;
        case 8: return pack8;
        }
    } else if (sstep == len) {
        switch (len) {
        case 1: return spread1;
        case 2: return spread2;
        case 3: return spread3;
        case 4: return spread4;
        case 8: return spread8;
        }
    }
    if (len <= 16) return any[len - 1];
    if (len > 256) return len < 4096 ? upto4k : len < 8192 ? upto8k : longer;
    int64_t last = (len - 1) % 16;
    return moves[(len - 1) / 16 - 1][last < 4 ? 0 : last < 8 ? 1 : 2];
}

void sluice_kernel_copy(unsigned char *dst, const unsigned char *src, const sluice_blocks *c) {
    sluice_blocks turned;
    if (c->n == 1) {
        turned = (sluice_blocks){c->len, c->groups, 1, {c->dst.outer, 0}, {c->src.outer, 0}};
        c = &turned;
    }
    choose(c->len, c->dst.step, c->src.step)(dst, src, c);
}
