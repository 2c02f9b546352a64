/* ranks: 1 2 3 4 7 16 */
/* collective_random.c: collective calls against a model. Every process knows what all ask for, so each can say what it
 * must get and what must be in the file: with any division, number of aggregators, nodes, limit of memory, with parts
 * that overlap or are empty, regular and irregular, packed and in larger buffers. */
#include "array/array.h"
#include "sluice_mpi.h"
#include "support/requests.h"
#include "together.h"
#include <errno.h>

enum { MAX_EXTENT = 40, ROOM = 1 << 21 };

static int complex, hards; /* calls that had no plan; that were made hard */
static uint64_t seed;
static int64_t step;
static unsigned char *model, *disk, *buf, *want;
static request request_of[MAX_RANKS];

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

/* As if nearly everything were too complex for sets, except what is asked for. */
static void move_hard(sluice_array *a, bool write, const sluice_part *part, int n) {
    sluice_request r;
    must(sluice_bind(&r, a, write, part, n, &r.why), "bind");
    r.together = true;
    sluice_collective_forget(a->collective);
    sluice_work_limit_set(0);
    int err = sluice_transfer_run(&r);
    sluice_work_limit_set(INT64_MAX);
    if (err) must(sluice_errmsg_set(&r.why), write ? "hard write" : "hard read");
    sluice_bind_free(&r);
    complex += a->collective->last[write].complex;
    hards++;
    sluice_collective_forget(a->collective);
}

static void one_step(chance *c, sluice_array *a, const sluice_shape *s, int64_t file_bytes) {
    sluice_part part[REQUEST_PARTS];
    bool write = chance_once_in(c, 2), later = chance_once_in(c, 4), hard = chance_once_in(c, 5);
    int n = request_of[rank].n, repeats = 1 + chance_once_in(c, 4);
    int64_t bytes = request_lay_out(&request_of[rank], s);
    if (bytes > ROOM) abort();
    for (int i = 0; i < n; i++) part[i] = slice_part(&request_of[rank].part[i], buf);
    for (; repeats; repeats--, step++) {
        snprintf(doing, sizeof doing, "seed %llu, step %lld", (unsigned long long)seed, (long long)step);
        watch();
        for (int64_t k = 0; k < bytes; k++) buf[k] = write ? value(rank, k) : 0xAA;
        if (hard) {
            move_hard(a, write, part, n);
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

/* All that is done with one handle. */
static void session(chance *c, int nodes, int steps) {
    sluice_desc d = {.format = chance_once_in(c, 2) ? SLUICE_NPY : SLUICE_RAW};
    d.shape = (sluice_shape){.ndims = (int)chance_draw(c, 1, REQUEST_DIMS),
                             .order = chance_once_in(c, 2) ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR,
                             .elem = chance_draw(c, 1, 9)};
    for (int k = 0; k < d.shape.ndims; k++)
        d.shape.dim[k] = chance_draw(c, 1, d.shape.ndims > 3 ? 8 : d.shape.ndims > 2 ? 16 : MAX_EXTENT);
    if (d.format == SLUICE_RAW) d.shape.header = chance_draw(c, 0, 100);
    sluice_options o = {.size = sizeof o, .replace = 1, .exclusive = chance_once_in(c, 2)};
    o.memory = chance_once_in(c, 2) ? 4096 * chance_draw(c, 1, 16) : 0;
    o.together.nodes = nodes;
    sluice_array *a;
    must(sluice_create_all(&a, MPI_COMM_WORLD, path, &d, &o), "create");
    const sluice_shape *s = &sluice_describe(a)->shape;
    int64_t bytes = sluice_desc_end(sluice_describe(a));
    if (bytes > ROOM) abort();
    FILE *f = fopen(path, "rb");
    if (!f || fread(model, 1, (size_t)bytes, f) != (size_t)bytes) fail("cannot read the new file");
    if (f) fclose(f);
    meet();
    for (int i = 0; i < steps; i++) {
        if (chance_once_in(c, 2)) set_way(c, a);
        draw_next(c, s, i == 0);
        one_step(c, a, s, bytes);
    }
    must(sluice_close(a), "close");
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
    session(&c, 0, steps);
    session(&c, 0, steps);
    for (int nodes = 2; nodes <= size && nodes <= 3; nodes++) session(&c, nodes, between);
    if (size > 3) session(&c, size, between / 2);
    if (size > 1 && !complex) fail("nothing was too complex");
    if (rank == 0) printf("%d of %d calls were too complex to plan\n", complex, hards);
    if (sluice_mem_live() != live) fail("memory is not given back");
    chance_free(&c);
    free(model), free(disk), free(buf), free(want);
    return together_end();
}
