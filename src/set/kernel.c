/* kernel.c: copy loops by shape.
 *
 * All are one loop, "copy len bytes, go on by the steps", in which some of len, dstep and sstep are constants, so
 * that a block becomes a few moves in registers, a contiguous side merges them, and the compiler can use vectors.
 *
 *   len             destination contiguous   source contiguous   neither
 *   1, 2, 4         pack, pack by 2, 3, 4    spread              any
 *   3, 8, 16        any                      any                 any
 *   5-7, 9-15       two moves that overlap: the first and the last 4 or 8 bytes of the block
 *   17-256          moves of 16, the last of which overlaps the one before
 *   longer          memcpy
 *
 * Which shapes get a loop of their own was decided by measuring (bench/set.c): from 8 bytes on, memory is the
 * limit and not the loop.
 */
#include "set/kernel.h"
#include <stddef.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll_count(16)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

typedef unsigned char byte;

/* The sources of strided loops are fetched this far ahead: the hardware follows a stride late, within a page only. */
enum { AHEAD = 512 };

ALWAYS void fetch(const byte *p) { __builtin_prefetch((const void *)((uintptr_t)p + AHEAD)); }

ALWAYS void four(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len) {
    memcpy(dst, src, len);
    memcpy(dst + dstep, src + sstep, len);
    memcpy(dst + 2 * dstep, src + 2 * sstep, len);
    memcpy(dst + 3 * dstep, src + 3 * sstep, len);
}

ALWAYS void simple(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len, int64_t n) {
    for (int64_t i = 0; i < n; i++) memcpy(dst + i * dstep, src + i * sstep, len);
}

ALWAYS void by4(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len, int64_t n) {
    for (; n >= 4; n -= 4, dst += 4 * dstep, src += 4 * sstep) four(dst, dstep, src, sstep, len);
    simple(dst, dstep, src, sstep, len, n);
}

ALWAYS void by8(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len, int64_t n) {
    for (; n >= 8; n -= 8, dst += 8 * dstep, src += 8 * sstep) {
        four(dst, dstep, src, sstep, len);
        four(dst + 4 * dstep, dstep, src + 4 * sstep, sstep, len);
    }
    by4(dst, dstep, src, sstep, len, n);
}

ALWAYS void by8_ahead(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len,
                      int64_t n) {
    for (; n >= 8; n -= 8, dst += 8 * dstep, src += 8 * sstep) {
        fetch(src), fetch(src + 4 * sstep);
        four(dst, dstep, src, sstep, len);
        four(dst + 4 * dstep, dstep, src + 4 * sstep, sstep, len);
    }
    by4(dst, dstep, src, sstep, len, n);
}

/* Each block in `moves` moves of `size` bytes, the last of which ends where the block ends. */
ALWAYS void overlap(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, int64_t len, int64_t n,
                    size_t size, int moves) {
    for (; n > 0; n--, dst += dstep, src += sstep) {
        UNROLL
        for (int i = 0; i < moves - 1; i++) memcpy(dst + (size_t)i * size, src + (size_t)i * size, size);
        memcpy(dst + len - size, src + len - size, size);
    }
}

/* Before each block, the beginning of the next: the hardware sees a new stream only after some misses. */
ALWAYS void ahead(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, int64_t len, int64_t n) {
    for (; n > 0; n--, dst += dstep, src += sstep) {
        for (int64_t i = 0; i < AHEAD && n > 1; i += 64) {
            __builtin_prefetch(src + sstep + i);
            __builtin_prefetch(dst + dstep + i, 1);
        }
        memcpy(dst, src, (size_t)len);
    }
}

#define KERNEL(name, call)                                                                                             \
    static void name(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, int64_t len,          \
                     int64_t n) {                                                                                      \
        (void)dstep, (void)sstep, (void)len;                                                                           \
        call;                                                                                                          \
    }

KERNEL(pack1_by2, simple(dst, 1, src, 2, 1, n))
KERNEL(pack1_by3, by8(dst, 1, src, 3, 1, n))
KERNEL(pack1_by4, simple(dst, 1, src, 4, 1, n))
KERNEL(pack2_by2, simple(dst, 2, src, 4, 2, n))
KERNEL(pack4_by2, simple(dst, 4, src, 8, 4, n))
KERNEL(pack1, by8(dst, 1, src, sstep, 1, n))
KERNEL(pack2, by8_ahead(dst, 2, src, sstep, 2, n))
KERNEL(pack4, by8_ahead(dst, 4, src, sstep, 4, n))
KERNEL(spread1, by8(dst, dstep, src, 1, 1, n))
KERNEL(spread2, by8(dst, dstep, src, 2, 2, n))
KERNEL(spread4, by8(dst, dstep, src, 4, 4, n))
KERNEL(any1, by4(dst, dstep, src, sstep, 1, n))
KERNEL(any2, by4(dst, dstep, src, sstep, 2, n))
KERNEL(any3, by4(dst, dstep, src, sstep, 3, n))
KERNEL(any4, by4(dst, dstep, src, sstep, 4, n))
KERNEL(any8, by4(dst, dstep, src, sstep, 8, n))
KERNEL(any16, by4(dst, dstep, src, sstep, 16, n))
KERNEL(upto8, overlap(dst, dstep, src, sstep, len, n, 4, 2))
KERNEL(upto16, overlap(dst, dstep, src, sstep, len, n, 8, 2))
#define UPTO(MOVES) KERNEL(moves##MOVES, overlap(dst, dstep, src, sstep, len, n, 16, MOVES))
UPTO(2)
UPTO(3)
UPTO(4)
UPTO(5)
UPTO(6)
UPTO(7)
UPTO(8)
UPTO(9)
UPTO(10)
UPTO(11)
UPTO(12)
UPTO(13)
UPTO(14)
UPTO(15)
UPTO(16)
KERNEL(upto8k, ahead(dst, dstep, src, sstep, len, n))
KERNEL(longer, simple(dst, dstep, src, sstep, (size_t)len, n))
KERNEL(whole, memcpy(dst, src, (size_t)(len *n)))

sluice_kernel *sluice_kernel_choose(int64_t len, int64_t dstep, int64_t sstep) {
    static sluice_kernel *const any[] = {NULL,   any1,   any2,   any3,   any4,   upto8,  upto8,  upto8, any8,
                                         upto16, upto16, upto16, upto16, upto16, upto16, upto16, any16};
    static sluice_kernel *const moves[] = {NULL,   moves2,  moves3,  moves4,  moves5,  moves6,  moves7,  moves8,
                                           moves9, moves10, moves11, moves12, moves13, moves14, moves15, moves16};
    if (dstep == len) {
        if (sstep == len) return whole;
        switch (len) {
        case 1: return sstep == 2 ? pack1_by2 : sstep == 3 ? pack1_by3 : sstep == 4 ? pack1_by4 : pack1;
        case 2: return sstep == 4 ? pack2_by2 : pack2;
        case 4: return sstep == 8 ? pack4_by2 : pack4;
        }
    } else if (sstep == len) {
        switch (len) {
        case 1: return spread1;
        case 2: return spread2;
        case 4: return spread4;
        }
    }
    if (len <= 16) return any[len];
    if (len <= 256) return moves[(len - 1) / 16];
    return len < 8192 ? upto8k : longer;
}
