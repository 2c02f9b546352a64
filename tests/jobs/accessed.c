/* accessed.c: accessed OUT NAME PROCESSES [STEPS [uneven]]: makes the trace of a program that never ran. Each process
 * writes its blocks of a file in turn with the others, strided, in collective calls; then each reads its own blocks
 * again, one by one, and all read the first 4096 bytes. An access takes a millisecond, and there is one between two.
 * uneven: process 0 makes one collective call less. */
#include "trace/trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1000, BLOCKS = 8, ALL = 4096, MILLISECOND = 1000000 };

static void must(int error) {
    if (error >= 0) return;
    fprintf(stderr, "accessed: %s\n", sluice_strerror(error));
    exit(1);
}

static void access_file(sluice_trace *t, sluice_event *e, const sluice_set *set, int64_t off) {
    e->set = set;
    e->off = off;
    e->end = e->begin + MILLISECOND;
    must(sluice_trace_append(t, e));
    e->begin += 2 * MILLISECOND;
}

int main(int argc, char **argv) {
    sluice_trace t;
    sluice_reason why;
    sluice_set strided = SLUICE_SET_EMPTY, block = SLUICE_SET_EMPTY, all = SLUICE_SET_EMPTY;
    if (argc < 4) return 2;
    const int procs = atoi(argv[3]);
    const int64_t steps = argc > 4 ? atoll(argv[4]) : 3, row = (int64_t)procs * BLOCK;
    sluice_run run[BLOCKS];
    for (int k = 0; k < BLOCKS; k++) run[k] = (sluice_run){k * row, BLOCK};
    must(sluice_set_runs(&strided, run, BLOCKS, NULL));
    must(sluice_set_block(&block, 0, BLOCK));
    must(sluice_set_block(&all, 0, ALL));
    must(sluice_trace_make(&t, procs));
    const int file = sluice_trace_add_file(&t, argv[2], steps * BLOCKS * row);
    must(file);
    for (int p = 0; p < procs; p++) {
        sluice_event e = {.proc = p, .file = file, .write = true, .collective = true, .begin = p * MILLISECOND / 10};
        for (int64_t s = argc > 5 && p == 0; s < steps; s++)
            access_file(&t, &e, &strided, s * BLOCKS * row + p * BLOCK);
        e.write = e.collective = false;
        for (int64_t k = 0; k < steps * BLOCKS; k++) access_file(&t, &e, &block, k * row + p * BLOCK);
        access_file(&t, &e, &all, 0);
    }
    must(sluice_trace_finish(&t));
    if (sluice_trace_save(&t, argv[1], &why)) {
        fprintf(stderr, "accessed: %s\n", why.text);
        return 1;
    }
    sluice_trace_free(&t);
    sluice_set_free(&strided);
    sluice_set_free(&block);
    sluice_set_free(&all);
    return 0;
}
