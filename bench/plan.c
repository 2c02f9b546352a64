/* plan.c: what planning a collective call costs, in time and memory, for growing arrays: process p of P reads every
 * P-th row and every P-th column from p on (table 5, pattern I of the two-phase paper), N x N elements of 4 bytes,
 * column-major. Nothing is read; the numbers must not grow with N. Usage: plan [P] */
#include "io/plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX = 256, REPS = 51 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check(int err) {
    if (!err) return;
    fprintf(stderr, "plan: %s\n", sluice_strerror(err));
    exit(1);
}

/* All that one process does: its request and wire form, everyone's requests read, the plan, its share. */
static int64_t plan_once(int64_t n, int procs, int64_t *wire) {
    static sluice_set request[MAX];
    static int node_of[MAX];
    const sluice_shape shape = {2, SLUICE_COLUMN_MAJOR, 4, 0, {n, n}};
    int64_t before = sluice_mem_live();
    *wire = 0;
    for (int p = 0; p < procs; p++) {
        sluice_set set = SLUICE_SET_EMPTY;
        unsigned char form[4096];
        sluice_range part[2] = {{p, (n - p + procs - 1) / procs, procs}, {p, (n - p + procs - 1) / procs, procs}};
        check(sluice_set_section(&set, &shape, part, NULL));
        int64_t len = sluice_set_pack(&set, form, sizeof form);
        check(len > (int64_t)sizeof form ? SLUICE_E_OVERFLOW : 0);
        check(sluice_set_unpack(&request[p], form, (size_t)len, NULL, NULL));
        sluice_set_free(&set);
        *wire += len;
    }
    sluice_plan_facts f = {.size = procs, .nnodes = 1, .node_of = node_of, .cores = procs, .memory = 64 << 20};
    f.gap = 64 << 10;
    f.align = 4096;
    f.end = n * n * 4;
    f.slab = n * 4;
    sluice_plan plan;
    sluice_share share;
    check(sluice_plan_make(&plan, &f, request, NULL));
    check(sluice_share_make(&share, &plan, &f, request, 0));
    int64_t bytes = sluice_mem_live() - before;
    sluice_share_free(&share);
    sluice_plan_free(&plan);
    for (int p = 0; p < procs; p++) sluice_set_free(&request[p]);
    return bytes;
}

int main(int argc, char **argv) {
    int procs = argc > 1 ? atoi(argv[1]) : 16;
    if (procs < 1 || procs > MAX) {
        fprintf(stderr, "plan: %d processes; 1 to %d can be\n", procs, MAX);
        return 2;
    }
    printf("%8s %12s %14s %14s   (T5-I, %d processes)\n", "N", "time", "memory", "wire forms", procs);
    for (int64_t n = 4096; n <= 65536; n *= 4) {
        double t[REPS];
        int64_t bytes = 0, wire = 0;
        for (int i = 0; i < REPS; i++) {
            double start = now();
            bytes = plan_once(n, procs, &wire);
            t[i] = now() - start;
        }
        qsort(t, REPS, sizeof *t, by_value);
        printf("%8lld %9.1f us %8lld bytes %8lld bytes\n", (long long)n, 1e6 * t[REPS / 2], (long long)bytes,
               (long long)wire);
    }
    return 0;
}
