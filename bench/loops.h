/* loops.h: copy loops as one writes them by hand for one shape, with everything but the number of blocks known when
 * compiling. Each shape is written in several ways, and the fastest is what the library is held against.
 *
 * A flat shape is n blocks of len bytes; a nested one is n groups, each of `count` such blocks.
 */
#ifndef SLUICE_BENCH_LOOPS_H
#define SLUICE_BENCH_LOOPS_H

#include <stdint.h>
#include <string.h>

typedef unsigned char byte;
typedef void loop(byte *restrict dst, const byte *restrict src, int64_t n);

enum { WAYS = 3 };

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll_count(8)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS void plain(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len, int64_t n) {
    for (int64_t i = 0; i < n; i++) memcpy(dst + i * dstep, src + i * sstep, len);
}

ALWAYS void unrolled(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len,
                     int64_t n) {
    UNROLL
    for (int64_t i = 0; i < n; i++) memcpy(dst + i * dstep, src + i * sstep, len);
}

ALWAYS void by_four(byte *restrict dst, int64_t dstep, const byte *restrict src, int64_t sstep, size_t len, int64_t n) {
    for (; n >= 4; n -= 4, dst += 4 * dstep, src += 4 * sstep) {
        memcpy(dst, src, len);
        memcpy(dst + dstep, src + sstep, len);
        memcpy(dst + 2 * dstep, src + 2 * sstep, len);
        memcpy(dst + 3 * dstep, src + 3 * sstep, len);
    }
    plain(dst, dstep, src, sstep, len, n);
}

/* One function per way; NAME is the shape's. */
#define FLAT_WAY(NAME, WAY, DSTEP, SSTEP, LEN)                                                                         \
    static void NAME##_##WAY(byte *restrict dst, const byte *restrict src, int64_t n) {                                \
        WAY(dst, DSTEP, src, SSTEP, LEN, n);                                                                           \
    }
#define NESTED_WAY(NAME, WAY, DSTEP, DOUTER, SSTEP, SOUTER, LEN, COUNT)                                                \
    static void NAME##_##WAY(byte *restrict dst, const byte *restrict src, int64_t n) {                                \
        for (int64_t i = 0; i < n; i++) WAY(dst + i * (DOUTER), DSTEP, src + i * (SOUTER), SSTEP, LEN, COUNT);         \
    }
#define EACH_WAY(HOW, NAME, ...)                                                                                       \
    HOW(NAME, plain, __VA_ARGS__) HOW(NAME, unrolled, __VA_ARGS__) HOW(NAME, by_four, __VA_ARGS__)
#define WAYS_OF(NAME)                                                                                                  \
    { NAME##_plain, NAME##_unrolled, NAME##_by_four }

#endif
