/* patterns.h: the access patterns of the two-phase paper, tables 1 to 8, for process 0 of 16, as the paper writes them:
 * rows, columns, each first : last : step, 1-based and inclusive, of an N x N array of 4-byte elements in column-major
 * order. A step of P is 16. Where the paper reads and writes a pattern in one table, w marks the write. Patterns that
 * differ only in where the other processes are, are the same for process 0. */
#ifndef SLUICE_BENCH_PATTERNS_H
#define SLUICE_BENCH_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pattern {
    const char *name;
    const char *same; /* the earlier pattern that it is the same as, or NULL */
    bool write;
    int64_t n;
    int64_t row[3], column[3];
} pattern;

static const pattern patterns[] = {
    {"T1-I", NULL, false, 4096, {1, 100, 1}, {1, 100, 1}},
    {"T1-II", NULL, false, 4096, {200, 300, 1}, {200, 300, 1}},
    {"T1-III", NULL, false, 4096, {400, 800, 1}, {400, 800, 1}},
    {"T1-IV", NULL, false, 4096, {32, 64, 1}, {128, 1024, 1}},
    {"T1-V", NULL, false, 4096, {1, 16, 1}, {1, 4096, 1}},
    {"T1-VI", NULL, false, 4096, {1, 4096, 1}, {1, 16, 1}},
    {"T2-I", "T1-I", false, 4096, {1, 100, 1}, {1, 100, 1}},
    {"T2-II", "T1-I", false, 4096, {1, 100, 1}, {1, 100, 1}},
    {"T2-III", "T1-III", false, 4096, {400, 800, 1}, {400, 800, 1}},
    {"T2-IV", "T1-VI", false, 4096, {1, 4096, 1}, {1, 16, 1}},
    {"T2-V", "T1-I", false, 4096, {1, 100, 1}, {1, 100, 1}},
    {"T2-VI", "T1-III", false, 4096, {400, 800, 1}, {400, 800, 1}},
    {"T2-VII", "T1-V", false, 4096, {1, 16, 1}, {1, 4096, 1}},
    {"T2-VIII", NULL, false, 4096, {200, 400, 1}, {200, 400, 1}},
    {"T3-I", "T1-I", false, 4096, {1, 100, 1}, {1, 100, 1}},
    {"T3-II", "T1-I", false, 4096, {1, 100, 1}, {1, 100, 1}},
    {"T3-III", NULL, false, 4096, {200, 400, 1}, {512, 1024, 1}},
    {"T3-IV", "T1-V", false, 4096, {1, 16, 1}, {1, 4096, 1}},
    {"T3-V", NULL, false, 4096, {200, 400, 1}, {1, 512, 1}},
    {"T3-VI", NULL, false, 4096, {1, 32, 1}, {1, 1024, 1}},
    {"T4-I", NULL, true, 4096, {1, 100, 1}, {1, 100, 1}},
    {"T4-II", "T4-I", true, 4096, {1, 100, 1}, {1, 100, 1}},
    {"T4-III", NULL, true, 4096, {200, 400, 1}, {512, 1024, 1}},
    {"T4-IV", NULL, true, 4096, {1, 16, 1}, {1, 4096, 1}},
    {"T4-V", NULL, true, 4096, {200, 400, 1}, {1, 512, 1}},
    {"T4-VI", NULL, true, 4096, {1, 32, 1}, {1, 1024, 1}},
    {"T5-I", NULL, false, 4096, {1, 4096, 16}, {1, 4096, 16}},
    {"T5-II", NULL, false, 4096, {1, 250, 2}, {1, 250, 2}},
    {"T5-III", NULL, false, 4096, {1, 500, 3}, {1, 500, 3}},
    {"T5-IV", NULL, false, 4096, {1, 64, 2}, {500, 2500, 3}},
    {"T5-V", NULL, false, 4096, {500, 2500, 3}, {1, 64, 2}},
    {"T6-I", NULL, true, 4096, {1, 4096, 16}, {1, 4096, 16}},
    {"T6-II", NULL, true, 4096, {1, 250, 2}, {1, 250, 2}},
    {"T6-III", NULL, true, 4096, {1, 500, 3}, {1, 500, 3}},
    {"T6-IV", NULL, true, 4096, {1, 64, 2}, {500, 2500, 3}},
    {"T6-V", NULL, true, 4096, {500, 2500, 3}, {1, 64, 2}},
    {"T7-I", "T1-III", false, 4096, {400, 800, 1}, {400, 800, 1}},
    {"T7-II", "T1-V", false, 4096, {1, 16, 1}, {1, 4096, 1}},
    {"T7-III", "T1-III", false, 4096, {400, 800, 1}, {400, 800, 1}},
    {"T7-IV", "T1-V", false, 4096, {1, 16, 1}, {1, 4096, 1}},
    {"T7-V", "T1-V", false, 4096, {1, 16, 1}, {1, 4096, 1}},
    {"T7-VI", "T3-VI", false, 4096, {1, 32, 1}, {1, 1024, 1}},
    {"T7-Vw", "T4-IV", true, 4096, {1, 16, 1}, {1, 4096, 1}},
    {"T7-VIw", "T4-VI", true, 4096, {1, 32, 1}, {1, 1024, 1}},
    {"T7-VII", "T5-I", false, 4096, {1, 4096, 16}, {1, 4096, 16}},
    {"T7-VIII", NULL, false, 4096, {500, 2500, 3}, {1, 32, 2}},
    {"T7-VIIw", "T6-I", true, 4096, {1, 4096, 16}, {1, 4096, 16}},
    {"T7-VIIIw", NULL, true, 4096, {500, 2500, 3}, {1, 32, 2}},
    {"T8-I", NULL, false, 16384, {5000, 6000, 1}, {5000, 6000, 1}},
    {"T8-II", NULL, false, 16384, {1, 300, 1}, {4000, 8000, 1}},
    {"T8-III", NULL, false, 16384, {1, 400, 1}, {2000, 2800, 1}},
    {"T8-IV", NULL, false, 16384, {4000, 8000, 1}, {1, 8, 1}},
    {"T8-V", NULL, false, 16384, {1, 100, 1}, {1, 1024, 1}},
    {"T8-VI", NULL, false, 16384, {1, 16, 1}, {4000, 12000, 1}},
    {"T8-Vw", NULL, true, 16384, {1, 100, 1}, {1, 1024, 1}},
    {"T8-VIw", NULL, true, 16384, {1, 16, 1}, {4000, 12000, 1}},
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

static inline int64_t pattern_count(const int64_t *r) { return (r[1] - r[0]) / r[2] + 1; }

#endif
