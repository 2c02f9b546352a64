/* sieve.c: short blocks that become packed, 16 bytes at a time.
 *
 * Sixteen bytes of the destination come from 16 / len blocks, which lie within a few vectors of the source. Blocks of 1
 * and 2 bytes: each of these vectors is loaded and shuffled so that its bytes are in their places, and 0 in the others.
 *
 *     blocks of 2 by 3     01....23....45....67....89....ab....cd....ef
 *     loads                |--------------||--------------|
 *                                                        |--------------|   the last ends with the last block
 *     shuffled             012345..........
 *                                ......6789..........                       or'ed together
 *                                          abcdef
 *
 * Blocks of 4 and 8 bytes, and of 2 that lie far apart, are loaded one by one or in pairs and joined in registers.
 *
 * Blocks that are left over at the end of a group are copied together with those before them, which are written twice.
 */
#include "set/kernel.h"
#include <stddef.h>

#ifdef __x86_64__
#include <string.h>
#include <tmmintrin.h>

#define SSSE3 __attribute__((target("ssse3")))
#define ARGS unsigned char *restrict dst, const unsigned char *restrict src, const sluice_blocks *c

typedef unsigned char byte;

enum { VECTOR = 16, MAX_LOADS = 8 };

ALWAYS __m128i load16(const byte *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }
ALWAYS __m128i load8(const byte *p) { return _mm_loadl_epi64((const __m128i *)(const void *)p); }
ALWAYS void store(byte *p, __m128i v) { _mm_storeu_si128((__m128i *)(void *)p, v); }

ALWAYS __m128i load4(const byte *p) {
    int32_t x;
    memcpy(&x, p, 4);
    return _mm_cvtsi32_si128(x);
}

ALWAYS int load2(const byte *p) {
    uint16_t x;
    memcpy(&x, p, 2);
    return x;
}

/* Goes through the groups; MAKE(to, from) makes one vector. Needs n >= 16 / len. Four vectors are one turn; where
 * groups are one vector and become packed, or are four vectors, the two loops become one. */
#define EACH_VECTOR(LEN, STEP, MAKE)                                                                                   \
    const int64_t blocks = VECTOR / (LEN);                                                                             \
    int64_t step = blocks * (STEP), vectors = c->n / blocks, rest = c->n % blocks, groups = c->groups;                 \
    const int64_t dback = VECTOR - rest * (LEN), sback = (blocks - rest) * (STEP);                                     \
    if (c->n == blocks && c->dst.outer == VECTOR) vectors = groups, step = c->src.outer, groups = 1;                   \
    const int64_t douter = c->dst.outer - vectors * VECTOR, souter = c->src.outer - vectors * step;                    \
    int64_t turns = vectors / 4, ones = vectors % 4, step3 = 3 * step, dturn = 4 * VECTOR, sturn = 4 * step;           \
    if (vectors == 4 && !rest) turns = groups, dturn = c->dst.outer, sturn = c->src.outer, groups = 1;                 \
    OPAQUE(step3);                                                                                                     \
    OPAQUE(dturn);                                                                                                     \
    for (; groups > 0; groups--, dst += douter, src += souter) {                                                       \
        for (int64_t i = turns; i > 0; i--, dst += dturn, src += sturn) {                                              \
            MAKE(dst, src);                                                                                            \
            MAKE(dst + VECTOR, src + step);                                                                            \
            MAKE(dst + 2 * VECTOR, src + 2 * step);                                                                    \
            MAKE(dst + 3 * VECTOR, src + step3);                                                                       \
            OPAQUE(dst);                                                                                               \
            OPAQUE(src);                                                                                               \
        }                                                                                                              \
        for (int64_t i = ones; i > 0; i--, dst += VECTOR, src += step) {                                               \
            MAKE(dst, src);                                                                                            \
            OPAQUE(dst);                                                                                               \
            OPAQUE(src);                                                                                               \
        }                                                                                                              \
        if (rest) MAKE(dst - dback, src - sback);                                                                      \
    }

/* ---- Blocks joined in registers -------------------------------------------------------------------------------- */

ALWAYS __m128i join2(const byte *p, int64_t step) {
    __m128i v = _mm_cvtsi32_si128(load2(p));
    v = _mm_insert_epi16(v, load2(p + step), 1);
    v = _mm_insert_epi16(v, load2(p + 2 * step), 2);
    return _mm_insert_epi16(v, load2(p + 3 * step), 3);
}

ALWAYS __m128i join4(const byte *p, int64_t step) {
    __m128 first = _mm_castsi128_ps(load16(p)), last = _mm_castsi128_ps(load16(p + 3 * step - 12));
    if (step == 8) return _mm_castps_si128(_mm_shuffle_ps(first, last, _MM_SHUFFLE(3, 1, 2, 0)));
    return _mm_castps_si128(_mm_shuffle_ps(first, last, _MM_SHUFFLE(3, 0, 3, 0)));
}

ALWAYS void make_joined(byte *to, const byte *p, int64_t len, int64_t step) {
    if (len == 2) {
        /* Far strides are seen late by the hardware. A fetch may go beyond the buffer, a sum of pointers may not. */
        __builtin_prefetch((const void *)((uintptr_t)p + 512));
        store(to, _mm_unpacklo_epi64(join2(p, step), join2(p + 4 * step, step)));
    } else if (len == 8)
        store(to, _mm_unpacklo_epi64(load8(p), load8(p + step)));
    else if (step == 8 || step == 12)
        store(to, join4(p, step));
    else
        store(to, _mm_unpacklo_epi64(_mm_unpacklo_epi32(load4(p), load4(p + step)),
                                     _mm_unpacklo_epi32(load4(p + 2 * step), load4(p + 3 * step))));
}

ALWAYS void join(ARGS, int64_t len, int64_t sstep){
#define MAKE_JOINED(TO, FROM) make_joined(TO, FROM, len, sstep)
    EACH_VECTOR(len, sstep, MAKE_JOINED)}

#define JOIN(LEN)                                                                                                      \
    static void join##LEN##_by2(ARGS) { join(dst, src, c, LEN, 2 * LEN); }                                             \
    static void join##LEN##_by3(ARGS) { join(dst, src, c, LEN, 3 * LEN); }                                             \
    static void join##LEN##_by4(ARGS) { join(dst, src, c, LEN, 4 * LEN); }                                             \
    static void join##LEN##_by(ARGS) { join(dst, src, c, LEN, c->src.step); }
JOIN(4) JOIN(8) static void join2_by(ARGS) {
    join(dst, src, c, 2, c->src.step);
}

/* ---- Vectors shuffled ------------------------------------------------------------------------------------------ */

/* For each load, from where in it the bytes of the result come; a byte with the highest bit set means 0. `last` is
 * where the last load begins. */
ALWAYS void make_masks(byte *mask, int64_t len, int64_t step, int64_t loads, int64_t last) {
    memset(mask, 0x80, MAX_LOADS * VECTOR);
    for (int64_t i = 0, block = 0; i < VECTOR; i += len, block += step)
        for (int64_t j = 0; j < len; j++) {
            int64_t from = block + j, k = from / VECTOR < loads - 1 ? from / VECTOR : loads - 1;
            mask[k * VECTOR + i + j] = (byte)(from - (k < loads - 1 ? k * VECTOR : last));
        }
}

ALWAYS SSSE3 void sift(ARGS, int loads) {
    const int64_t len = c->len, sstep = c->src.step, last = (VECTOR / len - 1) * sstep + len - VECTOR;
    byte mask[MAX_LOADS * VECTOR];
    make_masks(mask, len, sstep, loads, last);
    /* Variables of their own, because a compiler may leave an array in memory. */
    const __m128i mask0 = load16(mask), mask1 = load16(mask + 16), mask2 = load16(mask + 32), mask3 = load16(mask + 48),
                  mask4 = load16(mask + 64), mask5 = load16(mask + 80), mask6 = load16(mask + 96),
                  mask_last = load16(mask + 16 * (loads - 1));
#define OR_LOAD(I)                                                                                                     \
    if (I < loads - 1) v = _mm_or_si128(v, _mm_shuffle_epi8(load16(p + VECTOR * I), mask##I));
#define MAKE_SIFTED(TO, FROM)                                                                                          \
    do {                                                                                                               \
        const byte *p = (FROM);                                                                                        \
        __m128i v = _mm_shuffle_epi8(load16(p + last), mask_last);                                                     \
        OR_LOAD(0) OR_LOAD(1) OR_LOAD(2) OR_LOAD(3) OR_LOAD(4) OR_LOAD(5) OR_LOAD(6) store(TO, v);                     \
    } while (0)
    EACH_VECTOR(len, sstep, MAKE_SIFTED)
}

#define SIFT(LOADS)                                                                                                    \
    static SSSE3 void sift##LOADS(ARGS) { sift(dst, src, c, LOADS); }
#define LOADS(X) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
LOADS(SIFT)

/* ---- Which ----------------------------------------------------------------------------------------------------- */

sluice_kernel *sluice_sieve_choose(const sluice_blocks *c) {
    static sluice_kernel *const joins[][5] = {
        {join4_by, join4_by, join4_by2, join4_by3, join4_by4},
        {join8_by, join8_by, join8_by2, join8_by3, join8_by4},
    };
    static sluice_kernel *const sifts[] = {sift2, sift3, sift4, sift5, sift6, sift7, sift8};
    int64_t len = c->len, step = c->src.step;
    if ((len != 1 && len != 2 && len != 4 && len != 8) || c->n < VECTOR / len) return NULL;
    if (len == 4 && step > VECTOR) return NULL;
    if (len >= 4) return joins[len / 8][step <= 4 * len && step % len == 0 ? step / len : 0];
    /* The masks cost some ten nanoseconds, and each load three instructions; loads of the blocks one by one, two. */
    int64_t loads = step < VECTOR ? ((VECTOR / len - 1) * step + len + VECTOR - 1) / VECTOR : VECTOR;
    if (loads <= (len == 1 ? MAX_LOADS : 5) && c->n * c->groups >= 256 / len && __builtin_cpu_supports("ssse3"))
        return sifts[loads - 2];
    return len == 2 && step <= 4 * VECTOR ? join2_by : NULL;
}

#else

sluice_kernel *sluice_sieve_choose(const sluice_blocks *c) {
    (void)c;
    return NULL;
}

#endif
