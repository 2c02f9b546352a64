/* ranks: 2 3 4 */
/* serve_random.c: arrays that servers keep. Random layouts, targets, servers, apart from those who work or among them,
 * and calls of all kinds, for oneself and together, in lists, strided and irregular, now and later: what is read is
 * what the definition says, and so is every byte of every subfile. */
#include "array/array.h"
#include "contained.h"
#include "sluice_serve.h"
#include "support/requests.h"
#include "together.h"
#include <errno.h>

enum { ROOM = 1 << 20, MAX_EXTENT = 60, SESSION = 12 };

static contained tree;
static layout_case layout;
static unsigned char *model, *buf, *want;
static request request_of[MAX_RANKS];
static uint64_t seed;
static int64_t step;
static int complex;

/* Who works: `workers` processes, of which this is number `me`; -1: it only serves. */
static int workers, me;
static bool apart; /* none of them serves */

/* All who work are here. */
static void gather(void) {
    const int all = size;
    size = workers;
    meet();
    size = all;
}

/* The same where others may still ask something of us: a server serves in calls on the array, not while it waits here.
 */
static void linger(sluice_array *a) {
    if (apart)
        gather();
    else
        must(sluice_sync(a), "sync");
}

static unsigned char value(int r, int64_t k) { return (unsigned char)(1 + (k * 7 + r * 61 + step * 29) % 255); }

/* What all ask for is written, in the order of ranks. */
static void write_model(const sluice_shape *s) {
    for (int r = 0; r < workers; r++) {
        request_lay_out(&request_of[r], s);
        for (int i = 0; i < request_of[r].n; i++)
            for (walk w = walk_slice(&request_of[r].part[i], s); walk_next(&w);)
                for (int64_t b = 0; b < s->elem; b++) model[w.file + b] = value(r, w.mem + b);
    }
}

static void check_read(const sluice_shape *s, int64_t bytes) {
    memset(want, 0xAA, (size_t)bytes);
    for (int i = 0; i < request_of[me].n; i++)
        for (walk w = walk_slice(&request_of[me].part[i], s); walk_next(&w);)
            memcpy(want + w.mem, model + w.file, (size_t)s->elem);
    if (memcmp(want, buf, (size_t)bytes)) fail("read something else");
}

static void check_disk(sluice_array *a) {
    gather();
    if (me == 0) {
        const char *wrong = contained_compare(&tree, &layout, a->container->manifest, model);
        if (wrong) fail("%s: %s", layout.text, wrong);
    }
    gather();
}

/* Moves the parts of a process on by one index of the first dimension, if all can be. */
static void move_on(request *r, const sluice_shape *s) {
    for (int i = 0; i < r->n; i++) {
        const sluice_range *d = &r->part[i].range[0];
        if (r->part[i].lists || !d->count || d->start + (d->count - 1) * d->step + 1 >= s->dim[0]) return;
    }
    for (int i = 0; i < r->n; i++) r->part[i].range[0].start++;
}

/* ---- Steps ---- */

static void name_step(void) {
    snprintf(doing, sizeof doing, "seed %llu, step %lld, %.100s", (unsigned long long)seed, (long long)step,
             layout.text);
    watch();
}

/* This process's parts, and their memory filled. */
static int64_t lay_out(sluice_part *part, const sluice_shape *s, bool write) {
    const int64_t bytes = request_lay_out(&request_of[me], s);
    if (bytes > ROOM) abort();
    for (int64_t k = 0; k < bytes; k++) buf[k] = write ? value(me, k) : 0xAA;
    for (int i = 0; i < request_of[me].n; i++) part[i] = slice_part(&request_of[me].part[i], buf);
    return bytes;
}

static void together_step(chance *c, sluice_array *a, const sluice_shape *s) {
    sluice_part part[REQUEST_PARTS];
    const bool write = chance_once_in(c, 2), later = chance_once_in(c, 4), hard = chance_once_in(c, 5);
    draw_requests(request_of, workers, c, s);
    for (int repeats = (int)chance_low(c, 1, 3); repeats; repeats--, step++) {
        name_step();
        const bool all = chance_once_in(c, 2);
        for (int r = 0; r < workers; r++)
            if (all || chance_once_in(c, 2)) move_on(&request_of[r], s);
        const int64_t bytes = lay_out(part, s, write);
        const int n = request_of[me].n;
        sluice_request *r;
        if (hard) sluice_work_limit_set(0);
        int err = later ? (write ? sluice_write_all_start : sluice_read_all_start)(&r, a, part, n)
                        : (write ? sluice_write_parts_all : sluice_read_parts_all)(a, part, n);
        if (!err && later) err = sluice_wait(r);
        if (hard) sluice_work_limit_set(INT64_MAX);
        if (hard && err == SLUICE_E_COMPLEX) { /* so could the sets of a part itself be */
            must((write ? sluice_write_parts_all : sluice_read_parts_all)(a, part, n), "once more");
            err = 0;
        }
        must(err, write ? "write" : "read");
        complex += a->collective->last[write].complex;
        if (write) {
            write_model(s);
            if (hard) must(sluice_sync(a), "sync"); /* it may have been written by each for itself */
            check_disk(a);
        } else {
            check_read(s, bytes);
        }
    }
}

/* Rows or columns dealt in turn to all who work. */
static void dist_step(chance *c, sluice_array *a, const sluice_shape *s) {
    sluice_dist dist[REQUEST_DIMS];
    int grid[REQUEST_DIMS];
    int64_t index[REQUEST_DIMS] = {0}, at[MAX_RANKS] = {0};
    const bool write = chance_once_in(c, 2);
    const int along = (int)chance_draw(c, 0, s->ndims - 1);
    name_step();
    for (int d = 0; d < s->ndims; d++) {
        grid[d] = d == along ? workers : 1;
        dist[d] = (sluice_dist){d == along ? SLUICE_DIST_CYCLIC : SLUICE_DIST_STAR, 1, NULL};
    }
    memset(buf, 0xAA, ROOM);
    memset(want, 0xAA, ROOM);
    for (int64_t k = 0; write && k < ROOM; k++) want[k] = buf[k] = value(me, k);
    for (int64_t x = 0; x < layout.length; x += s->elem, case_next(s, index)) {
        const int r = (int)(index[along] % workers);
        for (int64_t b = 0; b < s->elem; b++) {
            if (write) model[x + b] = value(r, at[r] + b);
            if (!write && r == me) want[at[r] + b] = model[x + b];
        }
        at[r] += s->elem;
    }
    must(write ? sluice_write_dist_all(a, dist, grid, buf) : sluice_read_dist_all(a, dist, grid, buf), "distribution");
    if (memcmp(want, buf, ROOM)) fail("%s", write ? "the buffer has changed" : "read something else");
    check_disk(a);
    step++;
}

/* All write for themselves at the same time, each what nobody else does, and several times over itself; then read. */
static void own_step(chance *c, sluice_array *a, const sluice_shape *s) {
    static slice all[REQUEST_PARTS];
    sluice_part part[REQUEST_PARTS];
    sluice_counts before, after;
    const bool later = chance_once_in(c, 3);
    const int n = draw_disjoint(all, REQUEST_PARTS, c, s);
    name_step();
    for (int r = 0; r < workers; r++) {
        request_of[r].n = 0;
        for (int i = r; i < n; i += workers) request_of[r].part[request_of[r].n++] = all[i];
    }
    lay_out(part, s, true);
    int64_t asked = 0;
    for (int i = 0; i < request_of[me].n; i++) asked += slice_elements(&request_of[me].part[i], s) * s->elem;
    sluice_count(a, &before);
    sluice_request *r;
    if (later)
        must(sluice_write_start(&r, a, part, request_of[me].n), "start"), must(sluice_wait(r), "wait");
    else
        must(sluice_write_parts(a, part, request_of[me].n), "local write");
    sluice_count(a, &after);
    if (after.wanted_written - before.wanted_written != asked)
        fail("%lld bytes wanted, %lld counted", (long long)asked,
             (long long)(after.wanted_written - before.wanted_written));
    write_model(s);
    linger(a); /* what is acknowledged all read, whether it is on disk or not */
    draw_requests(request_of, workers, c, s);
    const int64_t bytes = lay_out(part, s, false);
    must(sluice_read_parts(a, part, request_of[me].n), "local read");
    check_read(s, bytes);
    linger(a);
    if (chance_once_in(c, 2)) {
        must(sluice_sync(a), "sync");
        check_disk(a);
    }
    step++;
}

/* Out-of-core loops and copies are made of such calls. */
static void loop_step(chance *c, sluice_array *a, const sluice_shape *s) {
    sluice_array *copy;
    sluice_slabs *slabs;
    sluice_slab slab;
    const sluice_slabs_options how = {.count = chance_draw(c, 1, 3), .memory = 32 << 10};
    const sluice_desc d = {.format = SLUICE_RAW, .shape = *s};
    const int64_t line = layout.length / s->dim[s->order == SLUICE_ROW_MAJOR ? 0 : s->ndims - 1];
    int more;
    name_step();
    must(sluice_slabs_open(&slabs, a, &how), "slabs");
    while ((more = sluice_slabs_next(slabs, &slab)) > 0)
        if (memcmp(slab.buf, model + slab.start * line, (size_t)(slab.count * line))) fail("a slab has something else");
    must(more, "slabs");
    sluice_slabs_close(slabs);
    must(sluice_create(&copy, "copy", &d, &(sluice_options){.store = SLUICE_STORE_RAM}), "create in memory");
    must(sluice_copy(copy, a, NULL), "copy");
    must(sluice_read(copy, NULL, buf), "read the copy");
    if (memcmp(buf, model, (size_t)layout.length)) fail("the copy has something else");
    must(sluice_close(copy), "close");
    linger(a);
    step++;
}

static void draw_shape(chance *c, sluice_shape *s) {
    int64_t bytes;
    *s = (sluice_shape){.ndims = (int)chance_draw(c, 1, REQUEST_DIMS),
                        .order = chance_once_in(c, 2) ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR,
                        .elem = bytes = chance_draw(c, 1, 9)};
    for (int k = 0; k < s->ndims; k++) {
        const int64_t most = s->ndims > 3 ? 8 : s->ndims > 2 ? 16 : MAX_EXTENT;
        s->dim[k] = chance_draw(c, 1, sluice_max(1, sluice_min(most, CASE_BYTES / bytes)));
        bytes *= s->dim[k];
    }
}

/* Everything with one array, which is closed and opened again in between. */
static void session(chance *c, int nodes) {
    sluice_desc d = {.format = SLUICE_RAW};
    sluice_array *a;
    int list[MAX_RANKS];
    const bool front = chance_once_in(c, 2);
    apart = chance_once_in(c, 2);
    step = 0;
    const int n = (int)chance_draw(c, 1, apart ? sluice_max(size / 2, 1) : size);
    for (int i = 0; i < n; i++) list[i] = front ? n - 1 - i : size - n + i;
    workers = apart ? size - n : size;
    me = !apart ? rank : front ? rank - n : rank < size - n ? rank : -1;
    draw_shape(c, &d.shape);
    layout.shape = d.shape;
    case_draw_layout(&layout, c);
    case_deal(&layout);
    memset(model, 0, (size_t)layout.length);
    sluice_servers s = {.size = sizeof s, .comm = MPI_COMM_WORLD, .n = n, .rank = list};
    s.no_write_behind = chance_once_in(c, 2);
    sluice_options o = {.size = sizeof o, .layout = layout.text, .targets = contained_targets(c)};
    o.memory = chance_once_in(c, 2) ? (64 << 10) * chance_draw(c, 1, 8) : 0;
    o.together.nodes = nodes;
    o.bindings = tree.bindings;
    name_step();
    must(sluice_create_served_all(&a, &s, tree.path, &d, &o), "create");
    for (int times = 0; times < 2; times++) {
        for (int i = 0; i < SESSION && me >= 0; i++) {
            const sluice_shape *shape = &sluice_describe(a)->shape;
            together_step(c, a, shape);
            if (chance_once_in(c, 4)) dist_step(c, a, shape);
            if (chance_once_in(c, 2)) own_step(c, a, shape);
            if (chance_once_in(c, 8)) loop_step(c, a, shape);
        }
        must(sluice_close(a), "close");
        meet();
        if (times == 0) must(sluice_open_served_all(&a, &s, tree.path, SLUICE_WRITE, NULL, &o), "open");
    }
    if (me == 0) { /* and all is there when it is opened without servers */
        must(sluice_open(&a, tree.path, SLUICE_READ, NULL, &o), "open alone");
        must(sluice_read(a, NULL, buf), "read alone");
        if (memcmp(buf, model, (size_t)layout.length)) fail("something else is in the container");
        must(sluice_close(a), "close alone");
        if (sluice_container_delete(tree.path, tree.bindings, NULL)) fail("cannot delete it");
    }
    meet();
}

int main(int argc, char **argv) {
    together_start(&argc, &argv, "serve_random");
    model = malloc(ROOM), buf = malloc(ROOM), want = malloc(ROOM);
    if (!model || !buf || !want) must(-ENOMEM, "buffers");
    seed = together_seed();
    const int64_t live = sluice_mem_live();
    const int cases = together_cases(12);
    contained_name(&tree, path);
    if (rank == 0 && !contained_make(&tree)) must(-errno, "mkdir");
    meet();
    for (int i = 0; i < cases && !together->failures; i++) {
        chance c = {0};
        chance_seed(&c, seed + (uint64_t)i);
        session(&c, i % 4 == 3 ? 2 : 0);
        chance_free(&c);
    }
    if (sluice_mem_live() != live) fail("memory is not given back");
    meet();
    if (rank == 0) contained_remove(&tree);
    free(model), free(buf), free(want);
    return together_end();
}
