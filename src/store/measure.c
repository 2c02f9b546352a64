/* measure.c: what a call and a byte cost, found by trying. Small reads tell the cost of a call, large ones that of a
 * byte; the fastest of a few counts, since whatever disturbs only adds. */
#include "store/store.h"
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds for a read of len bytes, as one of as many as may be in flight; negative if it fails. */
static double read_time(sluice_store *s, void *buf, int64_t len, int n, int rounds) {
    sluice_req req[SLUICE_STORE_DEPTH];
    struct iovec v = {buf, (size_t)len};
    double best = -1;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < n; i++) req[i] = (sluice_req){0, len, &v, 1, 0};
        double start = now();
        if (s->ops->submit(s, false, req, n) || s->ops->wait(s, req, n)) return -1;
        double each = (now() - start) / n;
        for (int i = 0; i < n; i++)
            if (req[i].result != len) return -1;
        if (best < 0 || each < best) best = each;
    }
    return best;
}

void sluice_measure(sluice_store *s) {
    enum { SMALL = 8 };
    unsigned char *buf = sluice_mem_alloc(SLUICE_MEASURE, 1);
    if (!buf) return;
    memset(buf, 1, SLUICE_MEASURE);
    struct iovec v = {buf, SLUICE_MEASURE};
    sluice_req fill = {0, SLUICE_MEASURE, &v, 1, 0};
    if (!s->ops->submit(s, true, &fill, 1) && !s->ops->wait(s, &fill, 1) && fill.result == SLUICE_MEASURE) {
        int depth = (int)sluice_max(s->facts.depth, 1);
        double small = read_time(s, buf, SMALL, depth, 8), large = read_time(s, buf, SLUICE_MEASURE, 1, 4);
        if (small > 0) s->facts.call = small;
        if (small > 0 && large > small) s->facts.byte = (large - small) / (SLUICE_MEASURE - SMALL);
    }
    sluice_mem_free(buf);
}
