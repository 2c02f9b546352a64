/* bench.h: what all benches share: a clock, medians, verdicts against a goal. */
#ifndef SLUICE_BENCH_H
#define SLUICE_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BENCH_MAX_REPS = 99 };

/* Nanoseconds of a clock that only goes forward. */
static inline double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of n values, which are sorted by this. */
static inline double bench_median(double *value, int n) {
    qsort(value, (size_t)n, sizeof *value, bench_compare);
    return n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
}

/* The lowest of many ratios, where it was, and how many missed the goal. */
typedef struct bench_worst {
    double goal, ratio;
    int cases, missed;
    char where[64];
} bench_worst;

static inline void bench_note(bench_worst *w, double ratio, const char *where) {
    w->missed += ratio < w->goal;
    if (w->cases++ && ratio >= w->ratio) return;
    w->ratio = ratio;
    snprintf(w->where, sizeof w->where, "%s", where);
}

static inline void bench_verdict(const bench_worst *w, const char *what) {
    printf("%s: worst %.2f (%s), goal %.2f, missed by %d of %d\n", what, w->ratio, w->where, w->goal, w->missed,
           w->cases);
}

/* Ends the bench if a call that must work did not: figures of failures are worth nothing. */
static inline void bench_must(int error, const char *what) {
    if (error >= 0) return;
    fprintf(stderr, "%s failed: %d\n", what, error);
    exit(1);
}

#endif
