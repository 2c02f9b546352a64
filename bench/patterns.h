/* patterns.h: the access patterns of the two-phase paper, tables 1 to 8, as the paper writes them: rows, columns, each
 * first : last : step, 1-based and inclusive, of an N x N array of 4-byte elements in column-major order; process p has
 * them p times `shift` further on. The shift PROCS marks a step that is the number of processes, in the paper 16;
 * process p then starts at 1 + p. Where the paper reads and writes a pattern in one table, w marks the write. Patterns
 * that differ only in where the other processes are, are the same for process 0. */
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
    int64_t row[4], column[4]; /* first, last, step, shift */
} pattern;

enum { PROCS = -1 };

static const pattern patterns[] = {
    {"T1-I", NULL, false, 4096, {1, 100, 1, 0}, {1, 100, 1, 0}},
    {"T1-II", NULL, false, 4096, {200, 300, 1, 0}, {200, 300, 1, 0}},
    {"T1-III", NULL, false, 4096, {400, 800, 1, 0}, {400, 800, 1, 0}},
    {"T1-IV", NULL, false, 4096, {32, 64, 1, 0}, {128, 1024, 1, 0}},
    {"T1-V", NULL, false, 4096, {1, 16, 1, 0}, {1, 4096, 1, 0}},
    {"T1-VI", NULL, false, 4096, {1, 4096, 1, 0}, {1, 16, 1, 0}},
    {"T2-I", "T1-I", false, 4096, {1, 100, 1, 0}, {1, 100, 1, 10}},
    {"T2-II", "T1-I", false, 4096, {1, 100, 1, 0}, {1, 100, 1, 50}},
    {"T2-III", "T1-III", false, 4096, {400, 800, 1, 0}, {400, 800, 1, 100}},
    {"T2-IV", "T1-VI", false, 4096, {1, 4096, 1, 0}, {1, 16, 1, 8}},
    {"T2-V", "T1-I", false, 4096, {1, 100, 1, 50}, {1, 100, 1, 0}},
    {"T2-VI", "T1-III", false, 4096, {400, 800, 1, 100}, {400, 800, 1, 0}},
    {"T2-VII", "T1-V", false, 4096, {1, 16, 1, 8}, {1, 4096, 1, 0}},
    {"T2-VIII", NULL, false, 4096, {200, 400, 1, 100}, {200, 400, 1, 100}},
    {"T3-I", "T1-I", false, 4096, {1, 100, 1, 0}, {1, 100, 1, 100}},
    {"T3-II", "T1-I", false, 4096, {1, 100, 1, 100}, {1, 100, 1, 0}},
    {"T3-III", NULL, false, 4096, {200, 400, 1, 200}, {512, 1024, 1, 0}},
    {"T3-IV", "T1-V", false, 4096, {1, 16, 1, 32}, {1, 4096, 1, 0}},
    {"T3-V", NULL, false, 4096, {200, 400, 1, 200}, {1, 512, 1, 200}},
    {"T3-VI", NULL, false, 4096, {1, 32, 1, 32}, {1, 1024, 1, 100}},
    {"T4-I", NULL, true, 4096, {1, 100, 1, 0}, {1, 100, 1, 100}},
    {"T4-II", "T4-I", true, 4096, {1, 100, 1, 100}, {1, 100, 1, 0}},
    {"T4-III", NULL, true, 4096, {200, 400, 1, 200}, {512, 1024, 1, 0}},
    {"T4-IV", NULL, true, 4096, {1, 16, 1, 32}, {1, 4096, 1, 0}},
    {"T4-V", NULL, true, 4096, {200, 400, 1, 200}, {1, 512, 1, 200}},
    {"T4-VI", NULL, true, 4096, {1, 32, 1, 32}, {1, 1024, 1, 100}},
    {"T5-I", NULL, false, 4096, {1, 4096, 16, PROCS}, {1, 4096, 16, PROCS}},
    {"T5-II", NULL, false, 4096, {1, 250, 2, 250}, {1, 250, 2, 250}},
    {"T5-III", NULL, false, 4096, {1, 500, 3, 200}, {1, 500, 3, 200}},
    {"T5-IV", NULL, false, 4096, {1, 64, 2, 64}, {500, 2500, 3, 0}},
    {"T5-V", NULL, false, 4096, {500, 2500, 3, 0}, {1, 64, 2, 64}},
    {"T6-I", NULL, true, 4096, {1, 4096, 16, PROCS}, {1, 4096, 16, PROCS}},
    {"T6-II", NULL, true, 4096, {1, 250, 2, 250}, {1, 250, 2, 250}},
    {"T6-III", NULL, true, 4096, {1, 500, 3, 200}, {1, 500, 3, 200}},
    {"T6-IV", NULL, true, 4096, {1, 64, 2, 64}, {500, 2500, 3, 0}},
    {"T6-V", NULL, true, 4096, {500, 2500, 3, 0}, {1, 64, 2, 64}},
    {"T7-I", "T1-III", false, 4096, {400, 800, 1, 0}, {400, 800, 1, 0}},
    {"T7-II", "T1-V", false, 4096, {1, 16, 1, 0}, {1, 4096, 1, 0}},
    {"T7-III", "T1-III", false, 4096, {400, 800, 1, 0}, {400, 800, 1, 25}},
    {"T7-IV", "T1-V", false, 4096, {1, 16, 1, 8}, {1, 4096, 1, 0}},
    {"T7-V", "T1-V", false, 4096, {1, 16, 1, 25}, {1, 4096, 1, 0}},
    {"T7-VI", "T3-VI", false, 4096, {1, 32, 1, 32}, {1, 1024, 1, 24}},
    {"T7-Vw", "T4-IV", true, 4096, {1, 16, 1, 25}, {1, 4096, 1, 0}},
    {"T7-VIw", "T4-VI", true, 4096, {1, 32, 1, 32}, {1, 1024, 1, 24}},
    {"T7-VII", "T5-I", false, 4096, {1, 4096, 16, PROCS}, {1, 4096, 16, PROCS}},
    {"T7-VIII", NULL, false, 4096, {500, 2500, 3, 0}, {1, 32, 2, 32}},
    {"T7-VIIw", "T6-I", true, 4096, {1, 4096, 16, PROCS}, {1, 4096, 16, PROCS}},
    {"T7-VIIIw", NULL, true, 4096, {500, 2500, 3, 0}, {1, 32, 2, 32}},
    {"T8-I", NULL, false, 16384, {5000, 6000, 1, 0}, {5000, 6000, 1, 0}},
    {"T8-II", NULL, false, 16384, {1, 300, 1, 100}, {4000, 8000, 1, 0}},
    {"T8-III", NULL, false, 16384, {1, 400, 1, 100}, {2000, 2800, 1, 20}},
    {"T8-IV", NULL, false, 16384, {4000, 8000, 1, 0}, {1, 8, 1, 4}},
    {"T8-V", NULL, false, 16384, {1, 100, 1, 100}, {1, 1024, 1, 100}},
    {"T8-VI", NULL, false, 16384, {1, 16, 1, 20}, {4000, 12000, 1, 0}},
    {"T8-Vw", NULL, true, 16384, {1, 100, 1, 100}, {1, 1024, 1, 100}},
    {"T8-VIw", NULL, true, 16384, {1, 16, 1, 20}, {4000, 12000, 1, 0}},
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

/* Rows or columns of process p of `procs`, 0-based. */
typedef struct pattern_range {
    int64_t start, count, step;
} pattern_range;

static inline pattern_range pattern_of(const int64_t *r, int p, int procs) {
    if (r[3] == PROCS) return (pattern_range){r[0] - 1 + p, (r[1] - r[0] - p) / procs + 1, procs};
    return (pattern_range){r[0] - 1 + p * r[3], (r[1] - r[0]) / r[2] + 1, r[2]};
}

static inline int64_t pattern_count(const int64_t *r) { return (r[1] - r[0]) / r[2] + 1; }

#endif
