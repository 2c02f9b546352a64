/* ranks: 1 */
/* slabs: the out-of-core loop on random arrays, in memory and in containers: along every dimension, with overlap, with
 * and without prefetch; every element of every slab is checked, nothing is read twice, and buffers stay below the
 * bound. */
#include "array/array.h"
#include "contained.h"
#include "sluice.h"
#include "support/random.h"
#include <stdlib.h>
#include <string.h>

static int failures;
static contained tree;
static layout_case layout;

static unsigned char value(int64_t i, int64_t byte) { return (unsigned char)(i * 31 + byte * 7 + i / 256); }

static void fail(uint64_t seed, const char *what) {
    printf("seed %llu: %s: %s\n", (unsigned long long)seed, what, sluice_errmsg());
    failures++;
}

/* Bytes of the slab that differ from the array. */
static int64_t wrong(const sluice_shape *s, int dim, const sluice_slab *slab) {
    int64_t count[SLUICE_MAX_DIMS], i[SLUICE_MAX_DIMS] = {0}, n = 1, bad = 0;
    for (int d = 0; d < s->ndims; d++) n *= count[d] = d == dim ? slab->total : s->dim[d];
    for (int64_t k = 0; k < n; k++) {
        int64_t off = 0;
        for (int j = 0; j < s->ndims; j++) {
            int d = s->order == SLUICE_ROW_MAJOR ? j : s->ndims - 1 - j;
            off = off * s->dim[d] + i[d] + (d == dim ? slab->from : 0);
        }
        for (int64_t b = 0; b < s->elem; b++) bad += ((unsigned char *)slab->buf)[k * s->elem + b] != value(off, b);
        for (int j = s->ndims - 1; j >= 0; j--) { /* in storage order */
            int d = s->order == SLUICE_ROW_MAJOR ? j : s->ndims - 1 - j;
            if (++i[d] < count[d]) break;
            i[d] = 0;
        }
    }
    return bad;
}

static void run(uint64_t seed) {
    chance c = {0};
    chance_seed(&c, seed);
    sluice_desc d = {.format = SLUICE_RAW};
    sluice_shape *s = &d.shape;
    s->ndims = (int)chance_draw(&c, 1, 4);
    s->order = chance_once_in(&c, 2) ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR;
    s->elem = chance_low(&c, 1, 12);
    int64_t n = 1;
    for (int k = 0; k < s->ndims; k++) n *= s->dim[k] = chance_draw(&c, 1, s->ndims == 1 ? 200 : 9);
    sluice_slabs_options o = {.size = sizeof o, .memory = 1 << 18, .no_prefetch = chance_once_in(&c, 2)};
    o.dim = (int)chance_draw(&c, 0, s->ndims - 1);
    int dim = s->order == SLUICE_ROW_MAJOR ? o.dim : s->ndims - 1 - o.dim;
    o.lower = chance_low(&c, 0, 5), o.upper = chance_low(&c, 0, 5);
    o.start = chance_once_in(&c, 3) ? chance_draw(&c, 0, s->dim[dim]) : 0;
    o.count = chance_once_in(&c, 4) ? 0 : chance_draw(&c, 1, 5);
    const bool contain = chance_once_in(&c, 30);
    layout.shape = *s;
    if (contain) case_draw_layout(&layout, &c);
    chance_free(&c);
    unsigned char *all = malloc((size_t)(n * s->elem));
    for (int64_t i = 0; i < n; i++)
        for (int64_t b = 0; b < s->elem; b++) all[i * s->elem + b] = value(i, b);
    sluice_array *a = NULL;
    sluice_options open = {.size = sizeof open, .store = contain ? SLUICE_STORE_AUTO : SLUICE_STORE_RAM};
    if (contain) open.layout = layout.text;
    if (sluice_create(&a, contain ? tree.path : "slabs", &d, &open) || sluice_write(a, NULL, all)) fail(seed, "create");
    sluice_slabs *slabs;
    sluice_slab slab;
    int64_t next = o.start, to = 0, from = s->dim[dim], live = sluice_mem_live();
    int more;
    sluice_mem_peak_reset();
    if (sluice_slabs_open(&slabs, a, &o)) {
        fail(seed, "open");
    } else {
        while ((more = sluice_slabs_next(slabs, &slab)) > 0) {
            int64_t lo = slab.start > o.lower ? slab.start - o.lower : 0, hi = slab.start + slab.count + o.upper;
            hi = hi < s->dim[dim] ? hi : s->dim[dim];
            if (slab.start != next || slab.count < 1) fail(seed, "not the next slab");
            if (slab.from != lo || slab.from + slab.total != hi) fail(seed, "wrong overlap");
            if (o.count && slab.count != o.count && slab.start + slab.count != s->dim[dim]) fail(seed, "short slab");
            if (wrong(s, dim, &slab)) fail(seed, "wrong data");
            next = slab.start + slab.count;
            to = hi, from = lo < from ? lo : from;
        }
        sluice_counts counts;
        sluice_count(a, &counts);
        if (more < 0) fail(seed, "next");
        if (next < s->dim[dim]) fail(seed, "the end was not reached");
        if (to > from && counts.wanted_read != n / s->dim[dim] * (to - from) * s->elem) fail(seed, "read twice");
        /* Buffers stay below the bound; what sets and requests take is beside it. */
        if (sluice_mem_peak() - live > o.memory + (contain ? 256 << 10 : 16384)) fail(seed, "too much memory");
        sluice_slabs_close(slabs);
    }
    sluice_close(a);
    if (contain && sluice_container_delete(tree.path, NULL, NULL)) fail(seed, "delete");
    free(all);
    if (sluice_mem_live()) fail(seed, "leak");
}

/* What cannot be is refused. */
static void refusals(void) {
    sluice_array *a = NULL;
    sluice_slabs *s;
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 8, 0, {100, 1000}}};
    sluice_options o = {.size = sizeof o, .store = SLUICE_STORE_RAM};
    if (sluice_create(&a, "slabs", &d, &o)) fail(0, "create");
    const sluice_slabs_options bad[] = {{.dim = 2},
                                        {.dim = -1},
                                        {.count = -1},
                                        {.lower = -1},
                                        {.upper = -1},
                                        {.start = -1},
                                        {.memory = -1},
                                        {.memory = 8000},
                                        {.memory = 100000, .lower = 10},
                                        {.memory = 100000, .count = 5}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (sluice_slabs_open(&s, a, &bad[i]) != SLUICE_E_ARGUMENT || !strstr(sluice_errmsg(), "slabs"))
            fail(i, "was not refused");
    sluice_close(a);
}

/* The bound holds for the handle's own buffer too, which pieces of rows need. */
static void little(void) {
    enum { MEMORY = 8000, BESIDE = 2600 }; /* beside it: the handle's sets and requests */
    sluice_array *a = NULL;
    sluice_slabs *s = NULL;
    sluice_slab slab;
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 1, 0, {64, 1000}}};
    sluice_options o = {.size = sizeof o, .store = SLUICE_STORE_RAM};
    int64_t n = 0;
    if (sluice_create(&a, "slabs", &d, &o)) fail(0, "create");
    const int64_t live = sluice_mem_live();
    sluice_mem_peak_reset();
    if (sluice_slabs_open(&s, a, &(sluice_slabs_options){.dim = 1, .memory = MEMORY})) fail(0, "open");
    while (s && sluice_slabs_next(s, &slab) > 0) n += slab.count;
    if (n != 1000 || sluice_mem_peak() - live > MEMORY + BESIDE) fail((uint64_t)sluice_mem_peak(), "too much memory");
    sluice_slabs_close(s);
    sluice_close(a);
}

/* Two loops on one handle, closed in any order: the handle then has the memory that it had. */
static void two_loops(void) {
    for (int order = 0; order < 2; order++) {
        sluice_array *a = NULL;
        sluice_slabs *s[2] = {NULL, NULL};
        sluice_slab slab;
        sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 1, 0, {64, 1000}}};
        sluice_options o = {.size = sizeof o, .store = SLUICE_STORE_RAM, .memory = 1 << 20};
        if (sluice_create(&a, "slabs", &d, &o)) fail(0, "create");
        for (int i = 0; i < 2; i++)
            if (sluice_slabs_open(&s[i], a, &(sluice_slabs_options){.memory = 16000 * (i + 1)})) fail(0, "open");
        if (a->io.memory != 4000) fail((uint64_t)a->io.memory, "not the smaller limit of two loops");
        sluice_slabs_close(s[order]);
        if (sluice_slabs_next(s[!order], &slab) != 1) fail(0, "next");
        if (a->io.memory != (order ? 4000 : 8000)) fail((uint64_t)a->io.memory, "not the limit of the other loop");
        sluice_slabs_close(s[!order]);
        if (a->io.memory != 1 << 20) fail((uint64_t)a->io.memory, "not the handle's own limit");
        sluice_close(a);
    }
}

/* Arrays without elements, whose other extents have no product, and overlaps whose sum is none. */
static void extremes(void) {
    const int64_t far = INT64_C(1) << 62;
    const int64_t dim[][3] = {{far, 5, 0}, {0, 5, far}, {far, 0, far}, {0, far, far}};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            sluice_array *a = NULL;
            sluice_slabs *s = NULL;
            sluice_slab slab;
            sluice_desc d = {.shape = {3, SLUICE_ROW_MAJOR, 8, 0, {dim[i][0], dim[i][1], dim[i][2]}}};
            sluice_options o = {.size = sizeof o, .store = SLUICE_STORE_RAM};
            sluice_slabs_options so = {.dim = k, .lower = 1, .upper = 1, .count = dim[i][k] == 5 ? 2 : 0};
            int64_t count = 0;
            int more = 0;
            if (sluice_create(&a, "slabs", &d, &o) || sluice_slabs_open(&s, a, &so)) fail((uint64_t)i, "open");
            while (s && (more = sluice_slabs_next(s, &slab)) > 0) count += slab.count;
            if (more || count != dim[i][k]) fail((uint64_t)i, "an array without elements");
            sluice_slabs_close(s);
            sluice_close(a);
        }
    sluice_array *a = NULL;
    sluice_slabs *s = NULL;
    sluice_store *store = NULL;
    sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 1, 0, {INT64_MAX}}};
    if (sluice_store_open_ram(&store, 0, NULL) || sluice_desc_settle(&d, NULL)) exit(2);
    if (sluice_array_adopt(&a, store, &d, false, &(sluice_options){.memory = 1 << 20})) exit(2);
    if (sluice_slabs_open(&s, a, &(sluice_slabs_options){.lower = far, .upper = far}) != SLUICE_E_ARGUMENT)
        fail(0, "an overlap that does not fit was not refused");
    sluice_close(a);
}

int main(void) {
    uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    const char *env = getenv("SLUICE_TEST_CASES");
    int64_t cases = env ? atoll(env) / 20 : 3000;
    printf("seed %llu\n", (unsigned long long)seed);
    char name[] = "slabs.XXXXXX";
    if (!mkdtemp(name) || rmdir(name)) return 1;
    contained_name(&tree, name);
    if (!contained_make(&tree)) return 1;
    for (int64_t i = 0; i < cases && failures < 10; i++) run(seed + (uint64_t)i);
    refusals();
    little();
    two_loops();
    extremes();
    contained_remove(&tree);
    return failures != 0;
}
