/* loops.h: the shapes of copies that are measured, and for each of them loops as one writes them by hand for this one
 * shape: everything but the number of blocks is known when compiling. Each is written in several ways, and the fastest
 * is what the library is held against.
 *
 * A flat shape is n blocks of len bytes; a nested one is n groups, each of `count` such blocks. The lists of shapes
 * make both the loops and the tables that are run through.
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

/* Blocks of L bytes, one every R * L. */
#define STEPS(X, L) X(L, 1) X(L, 2) X(L, 3) X(L, 4) X(L, 7) X(L, 16) X(L, 64)
#define RUNS(X, L) X(L, 2) X(L, 3) X(L, 7)
#define SHORT_RUNS(X) RUNS(X, 3) RUNS(X, 12) RUNS(X, 24) RUNS(X, 32) RUNS(X, 48) RUNS(X, 64) RUNS(X, 100) RUNS(X, 128)
#define LONG_RUNS(X) RUNS(X, 200) RUNS(X, 256) RUNS(X, 512) RUNS(X, 1024) RUNS(X, 2048) RUNS(X, 4096) RUNS(X, 16384)
#define ELEMENTS(X) STEPS(X, 1) STEPS(X, 2) STEPS(X, 4) STEPS(X, 8) STEPS(X, 16)
#define FLAT_SHAPES(X) ELEMENTS(X) SHORT_RUNS(X) LONG_RUNS(X) RUNS(X, 65536)

/* C blocks of L, one every R * L, and such a group again after twice its extent. */
#define SHORT_GROUPS(X) X(1, 2, 16) X(4, 2, 4) X(4, 2, 16) X(8, 3, 8) X(16, 2, 8) X(64, 2, 8) X(1024, 2, 4)
#define LONG_GROUPS(X) X(1, 2, 1024) X(4, 2, 256) X(8, 3, 64) X(64, 4, 64)
#define NESTED_SHAPES(X) SHORT_GROUPS(X) LONG_GROUPS(X)

/* Blocks of D, one every E * D, filled from blocks of L, one every R * L; D a multiple of L. */
#define EQUAL_PAIRS(X) X(1, 3, 1, 2) X(4, 3, 4, 2) X(8, 4, 8, 2) X(16, 2, 16, 3) X(64, 3, 64, 2) X(4096, 3, 4096, 2)
#define PAIR_SHAPES(X) EQUAL_PAIRS(X) X(64, 2, 4, 2) X(1024, 2, 8, 2)

#define DEFINE_FLAT(L, R)                                                                                              \
    EACH_WAY(FLAT_WAY, gather_##L##_##R, L, (R) * (L), L)                                                              \
    EACH_WAY(FLAT_WAY, scatter_##L##_##R, (R) * (L), L, L)
#define DEFINE_NESTED(L, R, C)                                                                                         \
    EACH_WAY(NESTED_WAY, gather_##L##_##R##_##C, L, (L) * (C), (R) * (L), 2 * (R) * (L) * (C), L, C)                   \
    EACH_WAY(NESTED_WAY, scatter_##L##_##R##_##C, (R) * (L), 2 * (R) * (L) * (C), L, (L) * (C), L, C)
#define DEFINE_PAIR(D, E, L, R)                                                                                        \
    EACH_WAY(NESTED_WAY, move_##D##_##E##_##L##_##R, L, (D) * (E), (R) * (L), (R) * (D), L, (D) / (L))
FLAT_SHAPES(DEFINE_FLAT)
NESTED_SHAPES(DEFINE_NESTED)
PAIR_SHAPES(DEFINE_PAIR)

/* One side of a copy: groups of `count` blocks of len, step apart, `outer` bytes from group to group. */
typedef struct side {
    int64_t len, step, count, outer;
} side;

/* unit: bytes that one turn of the hand-written loop moves. */
typedef struct copy {
    enum { GATHER, SCATTER, MOVE } kind;
    int64_t unit;
    side dst, src;
    loop *hand[WAYS];
} copy;

#define PACKED(BYTES)                                                                                                  \
    { BYTES, BYTES, 1, BYTES }
#define SHAPED(L, R)                                                                                                   \
    { L, (R) * (L), 1, (R) * (L) }
#define GROUPS(L, R, C)                                                                                                \
    { L, (R) * (L), C, 2 * (R) * (L) * (C) }

#define FLAT_ENTRY(L, R)                                                                                               \
    {GATHER, L, PACKED(L), SHAPED(L, R), WAYS_OF(gather_##L##_##R)},                                                   \
        {SCATTER, L, SHAPED(L, R), PACKED(L), WAYS_OF(scatter_##L##_##R)},
#define NESTED_ENTRY(L, R, C)                                                                                          \
    {GATHER, (L) * (C), PACKED((L) * (C)), GROUPS(L, R, C), WAYS_OF(gather_##L##_##R##_##C)},                          \
        {SCATTER, (L) * (C), GROUPS(L, R, C), PACKED((L) * (C)), WAYS_OF(scatter_##L##_##R##_##C)},
#define PAIR_ENTRY(D, E, L, R) {MOVE, D, SHAPED(D, E), SHAPED(L, R), WAYS_OF(move_##D##_##E##_##L##_##R)},
static const copy flat[] = {FLAT_SHAPES(FLAT_ENTRY)}, nested[] = {NESTED_SHAPES(NESTED_ENTRY)},
                  pairs[] = {PAIR_SHAPES(PAIR_ENTRY)};

#endif
