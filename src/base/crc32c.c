/* crc32c.c: CRC-32C (Castagnoli, RFC 3720): by the processor where it can, else by tables.
 *
 * The polynomial is 0x1EDC6F41; bits come lowest first, so that here it is reversed. Eight tables take eight bytes at a
 * time: table[k][b] is what byte b does to the sum when k more bytes follow it.
 */
#include "base.h"
#include <pthread.h>
#include <string.h>

enum { STEP = 8 };
static const uint32_t polynomial = 0x82F63B78;
static uint32_t table[STEP][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_tables(void) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t sum = b;
        for (int i = 0; i < 8; i++) sum = sum >> 1 ^ (sum & 1 ? polynomial : 0);
        table[0][b] = sum;
    }
    for (int k = 1; k < STEP; k++)
        for (int b = 0; b < 256; b++) table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

uint32_t sluice_crc32c_plain(uint32_t sum, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    pthread_once(&once, fill_tables);
    sum = ~sum;
    for (; n >= STEP; n -= STEP, p += STEP) {
        uint32_t next = 0;
        for (int i = 0; i < STEP; i++) next ^= table[STEP - 1 - i][i < 4 ? (p[i] ^ sum >> 8 * i) & 255 : p[i]];
        sum = next;
    }
    for (; n; n--, p++) sum = sum >> 8 ^ table[0][(sum ^ *p) & 255];
    return ~sum;
}

#ifdef __x86_64__
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t start, const unsigned char *p, size_t n) {
    uint64_t sum = ~start, word;
    for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        sum = _mm_crc32_u64(sum, word);
    }
    uint32_t last = (uint32_t)sum;
    for (; n; n--, p++) last = _mm_crc32_u8(last, *p);
    return ~last;
}

uint32_t sluice_crc32c(uint32_t sum, const void *bytes, size_t n) {
    return __builtin_cpu_supports("sse4.2") ? by_instruction(sum, bytes, n) : sluice_crc32c_plain(sum, bytes, n);
}
#else
uint32_t sluice_crc32c(uint32_t sum, const void *bytes, size_t n) { return sluice_crc32c_plain(sum, bytes, n); }
#endif
