/* ranks: 1 2 3 4 7 16 */
/* collective_random.c: collective calls against a model. Every process knows what all ask for, so each can say what it
 * must get and what must be in the file: with any division, number of aggregators, nodes, limit of memory, with parts
 * that overlap or are empty, regular and irregular, packed and in larger buffers, by distributions, and by each for
 * itself; in files and in containers of any layout, whose subfiles are compared byte by byte, with and without
 * checksums, against which a bit is flipped. */
#include "array/array.h"
#include "contained.h"
#include "sluice_mpi.h"
#include "support/requests.h"
#include "together.h"
#include <errno.h>

enum { MAX_EXTENT = 40, ROOM = 1 << 21, SESSION = 15 /* steps in a container */ };

static int complex, hards, remembered; /* calls that had no plan; that were made hard; known to have none */
static int hits;                       /* that met with damage */
static uint64_t seed;
static int64_t step;
static unsigned char *model, *disk, *buf, *want;
static request request_of[MAX_RANKS];
static contained tree;
static layout_case layout;
static const sluice_manifest *manifest; /* of the container, if it is one */

/* ---- Requests ---- */

/* Moves the parts of a process on by one index of the first dimension, if all can be. */
static void move_on(request *r, const sluice_shape *s) {
    for (int i = 0; i < r->n; i++) {
        const sluice_range *d = &r->part[i].range[0];
        if (r->part[i].lists || !d->count || d->start + (d->count - 1) * d->step + 1 >= s->dim[0]) return;
    }
    for (int i = 0; i < r->n; i++) r->part[i].range[0].start++;
}

/* Requests may come again, moved on everywhere or not, and all but one: those who see the same may think that all do.
 */
static void draw_next(chance *c, const sluice_shape *s, bool first) {
    if (first || chance_once_in(c, 2)) {
        draw_requests(request_of, size, c, s);
        return;
    }
    bool all = chance_once_in(c, 2), other = chance_once_in(c, 3);
    for (int r = 0; r < size; r++)
        if (all || chance_once_in(c, 2)) move_on(&request_of[r], s);
    request *one = &request_of[chance_draw(c, 0, size - 1)];
    for (int i = 0; other && i < one->n; i++) draw_slice(&one->part[i], c, s);
}

static unsigned char value(int r, int64_t k) { return (unsigned char)(k * 31 + r * 77 + step * 13 + 5); }

/* What all processes write, in the order of ranks, and of the parts of each. */
static void write_model(const sluice_shape *s) {
    for (int r = 0; r < size; r++) {
        request_lay_out(&request_of[r], s);
        for (int i = 0; i < request_of[r].n; i++)
            for (walk w = walk_slice(&request_of[r].part[i], s); walk_next(&w);)
                for (int64_t b = 0; b < s->elem; b++) model[w.file + b] = value(r, w.mem + b);
    }
}

static void check_disk(int64_t bytes) {
    if (manifest) {
        const char *wrong = contained_compare(&tree, &layout, manifest, model);
        if (wrong) fail("%s: %s", layout.text, wrong);
        return;
    }
    FILE *f = fopen(path, "rb");
    if (!f || fread(disk, 1, (size_t)bytes, f) != (size_t)bytes) fail("cannot read the file");
    if (f) fclose(f);
    for (int64_t x = 0; x < bytes; x++)
        if (disk[x] != model[x]) {
            fail("byte %lld of the file is %d, not %d", (long long)x, disk[x], model[x]);
            memcpy(model, disk, (size_t)bytes);
            return;
        }
}

static void check_read(const sluice_shape *s, int64_t bytes) {
    memset(want, 0xAA, (size_t)bytes);
    for (int i = 0; i < request_of[rank].n; i++)
        for (walk w = walk_slice(&request_of[rank].part[i], s); walk_next(&w);)
            memcpy(want + w.mem, model + w.file, (size_t)s->elem);
    if (memcmp(want, buf, (size_t)bytes)) fail("read something else");
}

/* ---- Steps ---- */

static void set_way(chance *c, sluice_array *a) {
    draw_together(&a->collective->together, c, size);
    a->io.no_map = chance_once_in(c, 2);
    a->io.method = (sluice_method)(chance_once_in(c, 2) ? chance_draw(c, 1, 4) : 0);
    /* What a plan depends on has changed. */
    sluice_collective_forget(a->collective);
}

/* As if nearly everything were too complex for sets, except what is asked for. What comes again, and had no plan, is
 * not learned again, unless some of a read is now cached. */
static void move_hard(sluice_array *a, bool write, const sluice_part *part, int n, bool again) {
    sluice_request r;
    const sluice_pattern *p = &a->collective->last[write];
    const sluice_counts before = a->io.counts, *is = &a->io.counts;
    const bool known = again && p->complex && (write || a->io.no_map || a->collective->together.way != SLUICE_WAY_AUTO);
    must(sluice_bind(&r, a, write, part, n, &r.why), "bind");
    r.together = true;
    sluice_work_limit_set(0);
    int err = sluice_transfer_run(&r);
    sluice_work_limit_set(INT64_MAX);
    if (err) must(sluice_errmsg_set(&r.why), write ? "hard write" : "hard read");
    sluice_bind_free(&r);
    if (known && (!p->complex || is->plans != before.plans || is->descriptors != before.descriptors))
        fail("a pattern without a plan was learned again");
    complex += p->complex;
    remembered += known;
    hards++;
}

static void name_step(void) {
    snprintf(doing, sizeof doing, "seed %llu, step %lld", (unsigned long long)seed, (long long)step);
    watch();
}

/* Any distribution on any grid. */
static void draw_dist(chance *c, const sluice_shape *s, sluice_dist *dist, int *grid, int64_t (*sizes)[MAX_RANKS]) {
    int left = size;
    for (int d = 0; d < s->ndims; d++) {
        int p = left;
        if (d < s->ndims - 1) do
                p = (int)chance_draw(c, 1, left);
            while (left % p);
        left /= p;
        grid[d] = p;
        int64_t rest = s->dim[d];
        for (int i = 0; i < p; i++) rest -= sizes[d][i] = i == p - 1 ? rest : chance_draw(c, 0, rest);
        const sluice_dist any[] = {{SLUICE_DIST_BLOCK, 0, NULL},
                                   {SLUICE_DIST_CYCLIC, chance_low(c, 1, 4), NULL},
                                   {SLUICE_DIST_GENBLOCK, 0, sizes[d]},
                                   {SLUICE_DIST_STAR, 0, NULL}};
        dist[d] = any[chance_draw(c, 0, p > 1 ? 2 : 3)];
    }
}

/* The rank that has the element at an index: places of the grid are counted as elements of rows are. */
static int dist_owner(const sluice_shape *s, const sluice_dist *dist, const int *grid, const int64_t *index) {
    int owner = 0;
    for (int d = 0; d < s->ndims; d++) {
        int p = 0;
        while (!oracle_dist_owns(&dist[d], s->dim[d], grid[d], p, index[d])) p++;
        owner = owner * grid[d] + p;
    }
    return owner;
}

/* A transfer of parts of a distribution. */
static void dist_step(chance *c, sluice_array *a, const sluice_shape *s, int64_t file_bytes) {
    sluice_dist dist[REQUEST_DIMS];
    int grid[REQUEST_DIMS];
    int64_t sizes[REQUEST_DIMS][MAX_RANKS], index[REQUEST_DIMS] = {0}, at[MAX_RANKS] = {0};
    const bool write = chance_once_in(c, 2);
    name_step();
    draw_dist(c, s, dist, grid, sizes);
    memset(buf, 0xAA, ROOM);
    memset(want, 0xAA, ROOM);
    for (int64_t k = 0; write && k < ROOM; k++) want[k] = buf[k] = value(rank, k);
    for (int64_t x = s->header; x < file_bytes; x += s->elem, case_next(s, index)) {
        const int r = dist_owner(s, dist, grid, index);
        for (int64_t b = 0; b < s->elem; b++) {
            if (write) model[x + b] = value(r, at[r] + b);
            if (!write && r == rank) want[at[r] + b] = model[x + b];
        }
        at[r] += s->elem;
    }
    must(write ? sluice_write_dist_all(a, dist, grid, buf) : sluice_read_dist_all(a, dist, grid, buf), "distribution");
    if (memcmp(want, buf, ROOM)) fail("%s", write ? "the buffer has changed" : "read something else");
    meet();
    if (write && rank == 0) check_disk(file_bytes);
    meet();
    step++;
}

/* All write for themselves at the same time, each what nobody else does, then read anything. */
static void own_step(chance *c, sluice_array *a, const sluice_shape *s, int64_t file_bytes) {
    static slice all[REQUEST_PARTS];
    sluice_part part[REQUEST_PARTS];
    const int n = draw_disjoint(all, REQUEST_PARTS, c, s);
    name_step();
    for (int r = 0; r < size; r++) {
        request_of[r].n = 0;
        for (int i = r; i < n; i += size) request_of[r].part[request_of[r].n++] = all[i];
    }
    int64_t bytes = request_lay_out(&request_of[rank], s);
    for (int64_t k = 0; k < bytes; k++) buf[k] = value(rank, k);
    for (int i = 0; i < request_of[rank].n; i++) part[i] = slice_part(&request_of[rank].part[i], buf);
    must(sluice_write_parts(a, part, request_of[rank].n), "local write");
    write_model(s);
    meet();
    if (rank == 0) check_disk(file_bytes);
    meet();
    draw_requests(request_of, size, c, s);
    bytes = request_lay_out(&request_of[rank], s);
    memset(buf, 0xAA, (size_t)bytes);
    for (int i = 0; i < request_of[rank].n; i++) part[i] = slice_part(&request_of[rank].part[i], buf);
    must(sluice_read_parts(a, part, request_of[rank].n), "local read");
    check_read(s, bytes);
    meet();
    step++;
}

static void one_step(chance *c, sluice_array *a, const sluice_shape *s, int64_t file_bytes) {
    sluice_part part[REQUEST_PARTS];
    bool write = chance_once_in(c, 2), later = chance_once_in(c, 4), hard = chance_once_in(c, 5);
    int n = request_of[rank].n, repeats = 1 + (hard || chance_once_in(c, 4));
    if (hard && chance_once_in(c, 2)) sluice_collective_forget(a->collective); /* else it may have a plan */
    int64_t bytes = request_lay_out(&request_of[rank], s);
    if (bytes > ROOM) abort();
    for (int i = 0; i < n; i++) part[i] = slice_part(&request_of[rank].part[i], buf);
    for (int i = 0; i < repeats; i++, step++) {
        name_step();
        for (int64_t k = 0; k < bytes; k++) buf[k] = write ? value(rank, k) : 0xAA;
        if (hard) {
            move_hard(a, write, part, n, i > 0);
        } else if (later) {
            sluice_request *r;
            must((write ? sluice_write_all_start : sluice_read_all_start)(&r, a, part, n), "start");
            must(sluice_wait(r), "wait");
        } else {
            must((write ? sluice_write_parts_all : sluice_read_parts_all)(a, part, n), write ? "write" : "read");
        }
        if (write) {
            write_model(s);
            meet();
            if (rank == 0) check_disk(file_bytes);
            meet();
        } else {
            check_read(s, bytes);
        }
    }
}

/* Whether a process asks for bytes of the block of byte x of the array. */
static bool touches(const request *r, const sluice_shape *s, int64_t block, int64_t x) {
    for (int i = 0; i < r->n; i++)
        for (walk w = walk_slice(&r->part[i], s); walk_next(&w);)
            for (int64_t b = 0; b < s->elem; b++)
                if (contained_same(&layout, block, w.file + b, x)) return true;
    return false;
}

/* A bit flips: a call in which anyone asks for something of its block fails on all processes alike. */
static void damage_step(chance *c, sluice_array *a, const sluice_shape *s) {
    sluice_part part[REQUEST_PARTS];
    const int64_t x = chance_draw(c, 0, layout.length - 1);
    const int bit = (int)chance_draw(c, 0, 7);
    name_step();
    must(sluice_sync(a), "sync");
    if (rank == 0 && contained_sums(&tree, &layout, manifest, model) >= 0) fail("checksums are not those of the data");
    if (rank == 0 && !contained_flip(&tree, &layout, manifest, x, bit)) fail("cannot flip a bit");
    meet();
    for (int k = 0; k < 3; k++) {
        bool hit = false;
        draw_requests(request_of, size, c, s);
        for (int r = 0; r < size; r++) hit |= touches(&request_of[r], s, manifest->checksum, x);
        request_lay_out(&request_of[rank], s);
        for (int i = 0; i < request_of[rank].n; i++) part[i] = slice_part(&request_of[rank].part[i], buf);
        const int err = mine()->error = sluice_read_parts_all(a, part, request_of[rank].n);
        snprintf(mine()->text, sizeof mine()->text, "%s", err ? sluice_errmsg() : "");
        meet();
        compare_answers();
        if (hit ? err != SLUICE_E_CHECKSUM : err && err != SLUICE_E_CHECKSUM) fail("damage: %d, %s", err, mine()->text);
        if (err && !strstr(mine()->text, " of subfile ")) fail("\"%s\" does not say where", mine()->text);
        hits += hit;
        meet();
    }
    if (rank == 0 && !contained_flip(&tree, &layout, manifest, x, bit)) fail("cannot flip it back");
    meet();
    step++;
}

static void draw_shape(chance *c, sluice_shape *s, bool contain) {
    int64_t bytes;
    *s = (sluice_shape){.ndims = (int)chance_draw(c, 1, REQUEST_DIMS),
                        .order = chance_once_in(c, 2) ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR,
                        .elem = bytes = chance_draw(c, 1, 9)};
    for (int k = 0; k < s->ndims; k++) {
        int64_t most = s->ndims > 3 ? 8 : s->ndims > 2 ? 16 : MAX_EXTENT;
        if (contain) most = sluice_max(1, sluice_min(most, CASE_BYTES / bytes));
        s->dim[k] = chance_draw(c, 1, most);
        bytes *= s->dim[k];
    }
}

static void read_model(int64_t bytes) {
    FILE *f = fopen(path, "rb");
    if (!f || fread(model, 1, (size_t)bytes, f) != (size_t)bytes) fail("cannot read the new file");
    if (f) fclose(f);
}

/* All that is done with one handle. */
static void session(chance *c, int nodes, int steps, bool contain) {
    sluice_desc d = {.format = chance_once_in(c, 2) ? SLUICE_NPY : SLUICE_RAW};
    draw_shape(c, &d.shape, contain);
    if (!contain && d.format == SLUICE_RAW) d.shape.header = chance_draw(c, 0, 100);
    sluice_options o = {.size = sizeof o, .replace = 1, .exclusive = chance_once_in(c, 2), .bindings = tree.bindings};
    o.memory = chance_once_in(c, 2) ? 4096 * chance_draw(c, 1, 16) : 0;
    o.together.nodes = nodes;
    if (contain) {
        layout.shape = d.shape;
        case_draw_layout(&layout, c);
        case_deal(&layout);
        o.layout = layout.text;
        o.targets = contained_targets(c);
        o.checksum = contained_checksum(c);
        o.store = chance_once_in(c, 2) ? SLUICE_STORE_POSIX : SLUICE_STORE_AUTO;
    }
    sluice_array *a;
    must(sluice_create_all(&a, MPI_COMM_WORLD, contain ? tree.path : path, &d, &o), "create");
    manifest = contain ? a->container->manifest : NULL;
    const sluice_shape *s = &sluice_describe(a)->shape;
    int64_t bytes = sluice_desc_end(sluice_describe(a));
    if (bytes > ROOM) abort();
    if (contain)
        memset(model, 0, (size_t)bytes);
    else
        read_model(bytes);
    meet();
    for (int i = 0; i < steps; i++) {
        if (chance_once_in(c, 2)) set_way(c, a);
        draw_next(c, s, i == 0);
        one_step(c, a, s, bytes);
        if (chance_once_in(c, 6)) dist_step(c, a, s, bytes);
        if (chance_once_in(c, 6)) own_step(c, a, s, bytes);
        if (contain && chance_once_in(c, 20)) must(sluice_sync(a), "sync");
    }
    if (o.checksum) damage_step(c, a, s);
    must(sluice_close(a), "close");
    if (contain && rank == 0 && sluice_container_delete(tree.path, tree.bindings, NULL)) fail("cannot delete it");
    meet();
}

/* Combs whose common teeth have no simple pattern: this is too complex for certain, however few the cases are. */
static void combs(void) {
    const sluice_desc d = {.shape = {.ndims = 1, .dim = {70000}, .elem = 1}};
    const sluice_options o = {.size = sizeof o, .replace = 1, .together = {.way = SLUICE_WAY_TWO_PHASE}};
    const int before = complex, known = remembered;
    sluice_part part;
    sluice_array *a;
    must(sluice_create_all(&a, MPI_COMM_WORLD, path, &d, &o), "create");
    manifest = NULL;
    memset(model, 0, (size_t)d.shape.dim[0]);
    for (int r = 0; r < size; r++) {
        const int64_t stride = 101 + 2 * r;
        request_of[r] = (request){.n = 1};
        request_of[r].part[0].range[0] = (sluice_range){r, 500, stride};
        request_of[r].part[0].count[0] = request_of[r].part[0].buf_dim[0] = 500;
    }
    part = slice_part(&request_of[rank].part[0], buf);
    for (int i = 0; i < 3; i++, step++) {
        name_step();
        for (int64_t k = 0; k < 500; k++) buf[k] = value(rank, k);
        move_hard(a, true, &part, 1, i > 0);
        write_model(&d.shape);
        meet();
        if (rank == 0) check_disk(d.shape.dim[0]);
        meet();
    }
    if (size > 1 && (complex - before != 3 || remembered - known != 2))
        fail("%d of 3 combs were too complex, %d were remembered", complex - before, remembered - known);
    must(sluice_close(a), "close");
    meet();
}

int main(int argc, char **argv) {
    together_start(&argc, &argv, "collective_random");
    /* The more ranks, the longer MPI takes: fewer steps, fewest between nodes. */
    int steps = together_cases(size > 7 ? 60 : 300), between = steps / (size > 4 ? 15 : 8);
    seed = together_seed();
    model = malloc(ROOM), disk = malloc(ROOM), buf = malloc(ROOM), want = malloc(ROOM);
    if (!model || !disk || !buf || !want) must(-ENOMEM, "buffers");
    int64_t live = sluice_mem_live();
    chance c = {0};
    chance_seed(&c, seed);
    contained_name(&tree, path);
    if (rank == 0 && !contained_make(&tree)) must(-errno, "mkdir");
    meet();
    combs();
    session(&c, 0, steps, false);
    session(&c, 0, steps / 2, false);
    for (int left = steps; left > 0; left -= SESSION) session(&c, 0, SESSION, true);
    for (int nodes = 2; nodes <= size && nodes <= 3; nodes++) session(&c, nodes, between, nodes == 2);
    for (int nodes = 2; nodes <= size && nodes <= 3; nodes++) session(&c, nodes, between, nodes == 3);
    if (size > 3) session(&c, size, between / 2, chance_once_in(&c, 2));
    if (rank == 0)
        printf("%d of %d hard calls were too complex to plan, %d of these remembered; %d met with damage\n", complex,
               hards, remembered, hits);
    if (sluice_mem_live() != live) fail("memory is not given back");
    chance_free(&c);
    if (rank == 0) contained_remove(&tree);
    free(model), free(disk), free(buf), free(want);
    return together_end();
}
