/* ranks: 1 */
/* reuse.c: walks with reuse against their definition: which indices a slab needs, which of them are in memory already,
 * and that the buffer then holds what a plain read of the same indices brings. */
#include "array/array.h"
#include "sluice.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>

/* Does the run hold exactly the indices for which member[] is set? */
static bool same(sluice_run run, const bool *member, int64_t extent) {
    int64_t n = 0;
    for (int64_t i = 0; i < extent; i++) {
        n += member[i];
        if (member[i] && (i < run.off || i >= run.off + run.len)) return false;
    }
    return run.len == n;
}

/* One step from the definition: index i is used if a slab index lies at most lower after or upper before it. */
static void check_step(const sluice_reuse *r, const sluice_reuse_step *step, int64_t first, bool *memory) {
    enum { MOST = 16 };
    bool slab[MOST] = {0}, used[MOST] = {0}, reused[MOST] = {0}, read[MOST] = {0};
    for (int64_t i = 0; i < r->extent; i++) slab[i] = i >= first && i < first + r->count;
    for (int64_t i = 0; i < r->extent; i++) {
        for (int64_t k = 0; k < r->extent; k++) used[i] |= slab[k] && i >= k - r->lower && i <= k + r->upper;
        reused[i] = used[i] && memory[i];
        read[i] = used[i] && !memory[i];
    }
    CHECK(same(step->slab, slab, r->extent) && same(step->used, used, r->extent), "slab from %lld", (long long)first);
    CHECK(same(step->reused, reused, r->extent) && same(step->read, read, r->extent), "slab from %lld",
          (long long)first);
    CHECK(step->reused.off == step->used.off && step->read.off == step->used.off + step->reused.len, "gaps");
    memcpy(memory, used, sizeof used);
}

/* Every extent, slab, overlap and start up to some size. */
static void plans(void) {
    for (int64_t extent = 0; extent <= 9; extent++)
        for (int64_t count = 1; count <= 5; count++)
            for (int64_t lower = 0; lower <= 6; lower++)
                for (int64_t upper = 0; upper <= 6; upper++)
                    for (int64_t start = 0; start <= extent + 1; start++) {
                        sluice_reuse r = {
                            .extent = extent, .count = count, .lower = lower, .upper = upper, .next = start};
                        sluice_reuse_step step;
                        bool memory[16] = {0};
                        int64_t first = start;
                        for (; sluice_reuse_next(&r, &step); first += count) check_step(&r, &step, first, memory);
                        CHECK(first >= extent && (first < extent + count || first == start), "ends at %lld",
                              (long long)first);
                        CHECK(!sluice_reuse_next(&r, &step), "goes on after the end");
                    }
    sluice_reuse far = {.extent = INT64_MAX, .count = INT64_MAX - 1, .lower = INT64_MAX, .upper = INT64_MAX};
    sluice_reuse_step step;
    CHECK(sluice_reuse_next(&far, &step) && step.used.off == 0 && step.used.len == INT64_MAX, "the largest");
    CHECK(sluice_reuse_next(&far, &step) && step.slab.len == 1 && step.read.len == 0, "all of it was there");
    CHECK(!sluice_reuse_next(&far, &step), "the end");
}

/* An array in memory whose bytes are a formula of their offset. */
static sluice_array *random_array(sluice_shape *shape) {
    static const int64_t elem[] = {1, 4, 8, 12};
    sluice_desc d = {.format = SLUICE_RAW};
    sluice_options o = {.size = sizeof o, .store = SLUICE_STORE_RAM, .memory = 4096 + below(10000)};
    sluice_array *a = NULL;
    *shape = (sluice_shape){.ndims = 1 + (int)below(4), .elem = elem[below(4)], .header = below(3) * 10};
    shape->order = below(2) ? SLUICE_ROW_MAJOR : SLUICE_COLUMN_MAJOR;
    int64_t bytes = shape->elem;
    for (int i = 0; i < shape->ndims; i++) bytes *= shape->dim[i] = 1 + below(9);
    d.shape = *shape;
    CHECK(sluice_create(&a, "reuse", &d, &o) == 0, "%s", sluice_errmsg());
    if (!a) exit(1);
    unsigned char *all = malloc((size_t)bytes);
    if (!all) exit(2);
    for (int64_t i = 0; i < bytes; i++) all[i] = (unsigned char)(i * 31 + i / 251);
    CHECK(sluice_write(a, NULL, all) == 0, "%s", sluice_errmsg());
    free(all);
    return a;
}

/* Walks along dimension dim; each step is compared with a plain read. Some walks are set to another place on the way.
 * With `at` > 0 that call of the store fails, once, and the step is taken again. */
static void walk(sluice_array *a, const sluice_shape *shape, int dim, int64_t at) {
    sluice_reuse r = {.extent = shape->dim[dim], .count = 1 + below(5), .lower = below(4), .upper = below(4)};
    sluice_reuse_step step;
    sluice_counts before, after;
    sluice_range range[SLUICE_MAX_DIMS];
    int64_t slice = shape->elem, read = 0;
    for (int i = 0; i < shape->ndims; i++) {
        range[i] = (sluice_range){0, shape->dim[i], 1};
        if (i != dim) slice *= shape->dim[i];
    }
    r.next = below(r.extent + 1);
    enum { GUARD = 32 };
    size_t room = (size_t)((r.count + r.lower + r.upper) * slice) + 2 * GUARD;
    unsigned char *got = malloc(room), *want = malloc(room);
    if (!got || !want) exit(2);
    memset(got, 0xee, room);
    int more;
    for (int jumps = (int)below(4);;) {
        if (jumps > 0 && below(2)) {
            jumps--;
            r.next = below(r.extent + 1);
        }
        if (at) sluice_fault_set(a->io.store, at, SLUICE_FAULT_ERROR, EIO);
        sluice_count(a, &before);
        more = sluice_read_reuse(a, &r, dim, got + GUARD, &step);
        sluice_count(a, &after);
        if (at) sluice_fault_set(a->io.store, 0, SLUICE_FAULT_ERROR, EIO);
        if (more < 0) {
            CHECK(at && more == -EIO, "%d: %s", more, sluice_errmsg());
            CHECK(r.from == r.to, "what is in the buffer is not known");
            at = 0;
            continue;
        }
        if (!more) break;
        read = step.read.len * slice;
        CHECK(after.wanted_read - before.wanted_read == read, "%lld bytes wanted, not %lld",
              (long long)(after.wanted_read - before.wanted_read), (long long)read);
        range[dim] = (sluice_range){step.used.off, step.used.len, 1};
        memset(want, 0xee, room);
        CHECK(sluice_read(a, range, want + GUARD) == 0, "%s", sluice_errmsg());
        CHECK(!memcmp(got, want, (size_t)(step.used.len * slice) + GUARD), "dimension %d, slab from %lld", dim,
              (long long)step.slab.off);
        CHECK(!memcmp(got + room - GUARD, want + room - GUARD, GUARD), "past the buffer");
    }
    free(got);
    free(want);
}

static void walks(int n) {
    for (int i = 0; i < n && !failures; i++) {
        sluice_shape shape;
        sluice_array *a = random_array(&shape);
        for (int dim = 0; dim < shape.ndims; dim++) walk(a, &shape, dim, 0);
        sluice_store *shim;
        CHECK(sluice_store_open_fault(&shim, a->io.store) == 0, "no shim");
        a->io.store = shim;
        for (int dim = 0; dim < shape.ndims; dim++) walk(a, &shape, dim, 1 + below(4));

        unsigned char buf[1];
        sluice_reuse r = {.extent = shape.dim[0] + 1, .count = 1}, bad = {.extent = shape.dim[0]};
        sluice_reuse_step step;
        CHECK(sluice_read_reuse(a, &r, 0, buf, &step) == SLUICE_E_ARGUMENT, "a plan of another extent");
        CHECK(sluice_read_reuse(a, &bad, 0, buf, &step) == SLUICE_E_ARGUMENT, "slabs of nothing");
        bad.count = 1, bad.upper = -1;
        CHECK(sluice_read_reuse(a, &bad, 0, buf, &step) == SLUICE_E_ARGUMENT, "a negative overlap");
        bad.upper = 0, bad.lower = -1;
        CHECK(sluice_read_reuse(a, &bad, 0, buf, &step) == SLUICE_E_ARGUMENT, "a negative overlap");
        bad.lower = 0, bad.next = -1;
        CHECK(sluice_read_reuse(a, &bad, 0, buf, &step) == SLUICE_E_ARGUMENT, "a negative start");
        bad.next = 0;
        CHECK(sluice_read_reuse(a, &bad, -1, buf, &step) == SLUICE_E_ARGUMENT, "dimension -1");
        CHECK(sluice_read_reuse(a, &bad, shape.ndims, buf, &step) == SLUICE_E_ARGUMENT, "one dimension too many");
        CHECK(sluice_close(a) == 0, "%s", sluice_errmsg());
    }
}

int main(void) {
    const char *cases = getenv("SLUICE_TEST_CASES");
    plans();
    walks(cases ? atoi(cases) : 400);
    return verdict();
}
