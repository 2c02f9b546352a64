/* vcase_reuse.c: walks with overlap: the plan, and the bytes that a walk over a file really reads. */
#include "passion.h"
#include "support/vcase.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A call of the library returned 0. */
static bool done(vcase *c, int error, const char *call) {
    if (error) vcase_fail(c, "%s: %s", call, sluice_errmsg());
    return !error;
}

/* A list of at most one run, [[first,last]] or []: what the run is. */
static void same_run(vcase *c, const json_t *call, const char *key, sluice_run run) {
    const json_t *runs = vcase_array(c, call, key);
    size_t n = json_array_size(runs);
    vcase_same(c, (int64_t)n, run.len > 0, "length of %s", key);
    if (c->failed || n == 0) return;
    const int64_t *v = vcase_ints(c, vcase_array_at(c, runs, 0, key), 2, NULL, key);
    if (c->failed) return;
    vcase_same(c, v[0], run.off, "%s[0]", key);
    vcase_same(c, v[1], run.off + run.len - 1, "%s[1]", key);
}

/* Indices that all calls together read. */
static int64_t plan(vcase *c, sluice_reuse r, const json_t *calls) {
    sluice_reuse_step step;
    int64_t sum = 0;
    for (size_t k = 0; k < json_array_size(calls) && !c->failed; k++) {
        const json_t *call = json_array_get(calls, k);
        const int64_t *slab = vcase_ints(c, vcase_array(c, call, "slab"), 2, NULL, "slab");
        if (!sluice_reuse_next(&r, &step)) vcase_fail(c, "ends before call %zu", k);
        if (c->failed) return 0;
        vcase_same(c, slab[0], step.slab.off, "slab[0] of call %zu", k);
        vcase_same(c, slab[1], step.slab.off + step.slab.len - 1, "slab[1] of call %zu", k);
        same_run(c, call, "used", step.used);
        same_run(c, call, "read", step.read);
        same_run(c, call, "reused", step.reused);
        sum += step.read.len;
    }
    vcase_same(c, 0, sluice_reuse_next(&r, &step), "steps after the last call");
    return sum;
}

/* Rows of COLUMNS numbers; number j of row i is ROW * i + j. */
enum { COLUMNS = 5, ROW = 1000 };

/* The same walk over a file, with the routines of PASSION. Both of the array's dimensions are walked, each as the
 * slowest. */
static void walk(vcase *c, const sluice_reuse *r, const json_t *calls, int64_t reads, int storage, const char *path) {
    int extent = (int)r->extent, slow = storage == ROW_MAJOR ? 0 : 1;
    int size[2] = {COLUMNS, COLUMNS}, nprocs[2] = {1, 1}, none[2][2] = {{0, 0}, {0, 0}};
    int icla[2][2] = {{COLUMNS, 0}, {COLUMNS, 0}}, overlap[2][2] = {{0, 0}, {0, 0}};
    size[slow] = extent;
    icla[slow][0] = (int)r->count;
    overlap[slow][0] = (int)r->lower;
    overlap[slow][1] = (int)r->upper;
    int *all = vcase_alloc(c, (size_t)extent * COLUMNS, sizeof *all);
    int *buf = vcase_alloc(c, (size_t)(r->lower + r->count + r->upper) * COLUMNS, sizeof *buf);
    OCAD *ocad = PASSION_malloc_OCAD(2);
    PFILE *file = PASSION_open((char *)(uintptr_t)path, 0);
    if (!all || !buf || !ocad || !file) {
        vcase_fail(c, "cannot start: %s", sluice_errmsg());
        return;
    }
    for (int i = 0; i < extent * COLUMNS; i++) all[i] = i / COLUMNS * ROW + i % COLUMNS;
    done(c, PASSION_fill_OCAD(ocad, size, none, nprocs, size, icla, overlap, sizeof *all, storage), "fill");
    done(c, PASSION_write(file, ocad, (char *)all), "write");
    REUSE *reuse = PASSION_reuse_init(file, ocad, (int)r->next + 1);
    if (!reuse) vcase_fail(c, "reuse_init: %s", sluice_errmsg());
    int64_t made = 0;
    while (!c->failed && PASSION_read_reuse(reuse, (char *)buf) == 0) {
        const json_t *used = json_array_get(json_object_get(json_array_get(calls, (size_t)made++), "used"), 0);
        int64_t from = json_integer_value(json_array_get(used, 0)), to = json_integer_value(json_array_get(used, 1));
        for (int64_t i = from; i <= to && !c->failed; i++)
            for (int64_t j = 0; j < COLUMNS; j++)
                vcase_same(c, i * ROW + j, buf[(i - (reuse->start - 1) + r->lower) * COLUMNS + j],
                           "row %lld after call %lld", (long long)i, (long long)made);
    }
    vcase_same(c, (int64_t)json_array_size(calls), made, "calls before -1");
    if (!c->failed) vcase_same(c, -1, PASSION_read_reuse(reuse, (char *)buf), "the call after the last");
    sluice_counts count;
    sluice_count(file->array, &count);
    int64_t bytes = reads * COLUMNS * (int64_t)sizeof *all;
    vcase_same(c, bytes, count.wanted_read, "bytes wanted");
    vcase_same(c, bytes, count.bytes_read + count.mapped_read, "bytes read");
    done(c, PASSION_close(file), "close");
    PASSION_free_OCAD(ocad);
}

void vcase_reuse(vcase *c) {
    const json_t *calls = vcase_array(c, c->json, "calls");
    sluice_reuse r = {.extent = vcase_int(c, c->json, "ocla"),
                      .count = vcase_int(c, c->json, "icla"),
                      .lower = vcase_int(c, c->json, "lower"),
                      .upper = vcase_int(c, c->json, "upper"),
                      .next = vcase_int(c, c->json, "start")};
    vcase_same(c, vcase_int(c, c->json, "calls_before_minus1"), (int64_t)json_array_size(calls), "number of calls");
    const int64_t most = 1000;
    if (r.extent < 1 || r.extent > most || r.count < 1 || r.count > most || r.lower < 0 || r.lower > most ||
        r.upper < 0 || r.upper > most || r.next < 0 || r.next > most)
        vcase_fail(c, "malformed: a walk of %lld by %lld from %lld", (long long)r.extent, (long long)r.count,
                   (long long)r.next);
    if (c->failed) return;
    int64_t reads = plan(c, r, calls);
    char path[] = "/tmp/reuse.XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) {
        vcase_fail(c, "cannot make %s", path);
        return;
    }
    close(fd);
    if (!c->failed) walk(c, &r, calls, reads, ROW_MAJOR, path);
    if (!c->failed) walk(c, &r, calls, reads, COLUMN_MAJOR, path);
    unlink(path);
}
