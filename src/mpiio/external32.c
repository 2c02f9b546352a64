/* external32.c: numbers as external32 has them: most significant byte first, and in sizes of their own.
 *
 * An 80-bit number of x86 has the exponent of a 128-bit one, and the leading bit of its fraction written out, which the
 * other leaves away:
 *
 *     80     sign 1, exponent 15, leading bit 1, fraction 63
 *     128    sign 1, exponent 15,                fraction 112       the upper 63 bits of it, then zeros
 */
#include "mpiio/parts.h"
#include <string.h>

static const bool big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

typedef void turn(unsigned char *to, const unsigned char *from, const sluice_kind *k);

static void turn_plain(unsigned char *to, const unsigned char *from, const sluice_kind *k) {
    const int n = k->native;
    for (int i = 0; i < n; i++) to[i] = from[big_endian ? i : n - 1 - i];
}

/* The lower bytes of an integer, the last `external` in the order of external32. */
static void narrow(unsigned char *to, const unsigned char *from, const sluice_kind *k) {
    for (int i = 0; i < k->external; i++) to[i] = from[big_endian ? k->native - k->external + i : k->external - 1 - i];
}

static void widen(unsigned char *to, const unsigned char *from, const sluice_kind *k) {
    const bool negative = k->turn == SLUICE_SIGNED && from[0] & 0x80;
    for (int i = 0; i < k->native; i++) { /* i-th from the lowest */
        unsigned char fill = negative ? 0xff : 0;
        to[big_endian ? k->native - 1 - i : i] = i < k->external ? from[k->external - 1 - i] : fill;
    }
}

static void to_quad(unsigned char *to, const unsigned char *from, const sluice_kind *k) {
    uint64_t mantissa;
    uint16_t top; /* sign and exponent */
    (void)k;
    memcpy(&mantissa, from, 8);
    memcpy(&top, from + 8, 2);
    mantissa <<= 1; /* without the leading bit */
    memset(to, 0, 16);
    to[0] = (unsigned char)(top >> 8), to[1] = (unsigned char)top;
    for (int i = 0; i < 8; i++) to[2 + i] = (unsigned char)(mantissa >> (56 - 8 * i));
}

/* What is finer than 63 bits is cut off. The leading bit is 1 unless the number is 0 or too small to be normal. */
static void from_quad(unsigned char *to, const unsigned char *from, const sluice_kind *k) {
    uint16_t top = (uint16_t)(from[0] << 8 | from[1]);
    uint64_t mantissa = 0;
    (void)k;
    for (int i = 0; i < 8; i++) mantissa = mantissa << 8 | from[2 + i];
    mantissa = mantissa >> 1 | (uint64_t)((top & 0x7fff) != 0) << 63;
    memset(to, 0, 16);
    memcpy(to, &mantissa, 8);
    memcpy(to + 8, &top, 2);
}

void sluice_external32_convert(sluice_kind kind, int64_t n, void *to, const void *from, bool back) {
    static turn *const there[] = {turn_plain, narrow, narrow, to_quad};
    static turn *const again[] = {turn_plain, widen, widen, from_quad};
    turn *one = (back ? again : there)[kind.turn];
    const int64_t step = back ? kind.external : kind.native, result = back ? kind.native : kind.external;
    unsigned char *t = to;
    const unsigned char *f = from;
    if (kind.native == 1 && kind.external == 1) {
        memcpy(to, from, (size_t)(n * kind.numbers));
        return;
    }
    for (int64_t i = 0; i < n * kind.numbers; i++, t += result, f += step) one(t, f, &kind);
}
