/* sums_oracle.h: the checksum of a block by its definition, bit by bit. */
#ifndef SLUICE_TESTS_SUMS_ORACLE_H
#define SLUICE_TESTS_SUMS_ORACLE_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SUMS_HEAD = 128, SUMS_ENTRY = 8, SUMS_FLAGS = 12 };

/* The remainder of n bytes and the zeros behind them up to the end of the block. */
static inline uint32_t sum_by_definition(const unsigned char *bytes, int64_t n, int64_t block) {
    uint32_t sum = 0;
    for (int64_t x = 0; x < block; x++)
        for (int b = 0; b < 8; b++) {
            const uint32_t bit = (sum ^ (x < n ? (uint32_t)(bytes[x] >> b) : 0)) & 1;
            sum = sum >> 1 ^ (bit ? 0x82F63B78 : 0);
        }
    return sum;
}

/* Whether a file of sums says that all blocks of these n bytes are sealed, with the sums that they have. */
static inline bool sums_sealed(FILE *sums, const unsigned char *bytes, int64_t n, int64_t block) {
    uint32_t flags = 1, e[2];
    if (fseek(sums, SUMS_FLAGS, SEEK_SET) || fread(&flags, sizeof flags, 1, sums) != 1 || flags) return false;
    if (fseek(sums, SUMS_HEAD, SEEK_SET)) return false;
    for (int64_t at = 0; at < n; at += block) {
        if (fread(e, SUMS_ENTRY, 1, sums) != 1 || le32toh(e[1]) % 2) return false;
        if (le32toh(e[0]) != sum_by_definition(bytes + at, n - at, block)) return false;
    }
    return true;
}

#endif
