/* ranks: 1 */
/* crc32c: known sums, the definition bit by bit, and the processor's against that of the tables. */
#include "support/unit.h"
#include <string.h>

/* By long division. */
static uint32_t divide(const unsigned char *p, size_t n) {
    uint32_t sum = ~UINT32_C(0);
    for (size_t i = 0; i < n; i++)
        for (int b = 0; b < 8; b++) {
            const uint32_t bit = (sum ^ (uint32_t)(p[i] >> b)) & 1;
            sum = sum >> 1 ^ (bit ? 0x82F63B78 : 0);
        }
    return ~sum;
}

static void known(const unsigned char *p, size_t n, uint32_t want) {
    CHECK(sluice_crc32c(0, p, n) == want && sluice_crc32c_plain(0, p, n) == want && divide(p, n) == want, "%08" PRIx32,
          sluice_crc32c(0, p, n));
}

/* RFC 3720, B.4, and the usual check value. */
static void vectors(void) {
    unsigned char p[48];
    static const unsigned char command[48] = {1, 0xc0, [16] = 0x14, [22] = 4, [27] = 0x14, [31] = 0x18, 0x28, [40] = 2};
    known(NULL, 0, 0);
    known((const unsigned char *)"123456789", 9, 0xE3069283);
    memset(p, 0, 32);
    known(p, 32, 0x8A9136AA);
    memset(p, 0xFF, 32);
    known(p, 32, 0x62A8AB43);
    for (int i = 0; i < 32; i++) p[i] = (unsigned char)i;
    known(p, 32, 0x46DD794E);
    for (int i = 0; i < 32; i++) p[i] = (unsigned char)(31 - i);
    known(p, 32, 0x113FDB5C);
    known(command, 48, 0xD9963A56);
}

/* Any length, from any address, in any two pieces; one bit more or less changes the sum. */
static void pieces(void) {
    static unsigned char p[700];
    for (size_t i = 0; i < sizeof p; i++) p[i] = (unsigned char)below(256);
    for (int i = 0; i < 3000; i++) {
        const size_t at = (size_t)below(40), n = (size_t)below(600), cut = (size_t)below((int64_t)n + 1);
        const uint32_t want = divide(p + at, n), first = sluice_crc32c(0, p + at, cut);
        CHECK(sluice_crc32c(0, p + at, n) == want && sluice_crc32c_plain(0, p + at, n) == want);
        CHECK(sluice_crc32c(first, p + at + cut, n - cut) == want, "%zu + %zu", cut, n - cut);
        CHECK(sluice_crc32c_plain(first, p + at + cut, n - cut) == want, "%zu + %zu", cut, n - cut);
        if (!n) continue;
        p[at + (size_t)below((int64_t)n)] ^= (unsigned char)(1 << below(8));
        CHECK(sluice_crc32c(0, p + at, n) != want);
    }
}

int main(void) {
    vectors();
    pieces();
    return verdict();
}
