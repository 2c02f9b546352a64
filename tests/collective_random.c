/* ranks: 1 2 3 4 7 */
/* collective_random.c: collective calls against a model. Every process knows what all ask for, so each can say what it
 * must get and what must be in the file: with any division, number of aggregators, nodes, limit of memory, with parts
 * that overlap or are empty, regular and irregular, packed and in larger buffers. */
#include "array/array.h"
#include "sluice_mpi.h"
#include "support/random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RANKS = 16, MAX_PARTS = 3, MAX_DIMS = 4, MAX_EXTENT = 40, ROOM = 1 << 21 };

static int rank, size, failures;
static int complex, hards; /* calls that had no plan; that were made hard */
static uint64_t seed;
static int64_t step;
static char path[64];
static unsigned char *model, *disk, *buf, *want;

/* One part of one process. */
typedef struct slice {
    bool lists;
    sluice_range range[MAX_DIMS];
    int64_t list[MAX_DIMS][MAX_EXTENT];
    sluice_index index[MAX_DIMS];
    bool placed;
    int64_t buf_dim[MAX_DIMS], buf_at[MAX_DIMS];
} slice;
static struct {
    int n;
    slice p[MAX_PARTS];
} request[MAX_RANKS];

static void fail(const char *what) {
    if (failures++ < 5)
        printf("rank %d of %d, seed %llu, step %lld: %s\n", rank, size, (unsigned long long)seed, (long long)step,
               what);
}

static void must(int err, const char *what) {
    if (!err) return;
    printf("rank %d of %d, seed %llu, step %lld: %s: %s\n", rank, size, (unsigned long long)seed, (long long)step, what,
           sluice_errmsg());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- Requests ---- */

static void draw_dim(chance *c, slice *p, int d, int64_t extent) {
    int64_t every = chance_once_in(c, 3) ? chance_draw(c, 1, 4) : 1, start = chance_draw(c, 0, extent - 1),
            most = (extent - start + every - 1) / every;
    p->range[d] = (sluice_range){start, chance_once_in(c, 15) ? 0 : chance_draw(c, 1, most), every};
    int64_t n = 0;
    for (int64_t i = 0; i < extent; i++)
        if (chance_once_in(c, 2)) p->list[d][n++] = i;
    p->index[d] = (sluice_index){p->list[d], n};
}

static void draw_part(chance *c, slice *p, const sluice_shape *s) {
    p->lists = chance_once_in(c, 5);
    p->placed = chance_once_in(c, 4);
    for (int d = 0; d < s->ndims; d++) {
        draw_dim(c, p, d, s->dim[d]);
        int64_t count = p->lists ? p->index[d].n : p->range[d].count;
        p->buf_at[d] = chance_draw(c, 0, 2);
        p->buf_dim[d] = p->buf_at[d] + count + chance_draw(c, 0, 2);
    }
}

/* Moves the parts of a process on by one index of the first dimension, if all can be. */
static void move_on(int r, const sluice_shape *s) {
    for (int i = 0; i < request[r].n; i++) {
        const sluice_range *d = &request[r].p[i].range[0];
        if (request[r].p[i].lists || !d->count || d->start + (d->count - 1) * d->step + 1 >= s->dim[0]) return;
    }
    for (int i = 0; i < request[r].n; i++) request[r].p[i].range[0].start++;
}

/* Requests may come again, moved on everywhere or not, and all but one: those who see the same may think that all do.
 */
static void draw_requests(chance *c, const sluice_shape *s, bool first) {
    if (!first && chance_once_in(c, 2)) {
        bool all = chance_once_in(c, 2), other = chance_once_in(c, 3);
        for (int r = 0; r < size; r++)
            if (all || chance_once_in(c, 2)) move_on(r, s);
        int r = (int)chance_draw(c, 0, size - 1);
        for (int i = 0; other && i < request[r].n; i++) draw_part(c, &request[r].p[i], s);
        return;
    }
    bool alike = chance_once_in(c, 4); /* all ask for the same */
    for (int r = 0; r < size; r++) {
        request[r].n = (int)(chance_once_in(c, 6) ? 0 : chance_low(c, 1, MAX_PARTS));
        for (int i = 0; i < request[r].n; i++) draw_part(c, &request[r].p[i], s);
        if (alike && r > 0) {
            request[r] = request[0];
            for (int i = 0; i < request[r].n; i++)
                for (int d = 0; d < s->ndims; d++) request[r].p[i].index[d].i = request[r].p[i].list[d];
        }
    }
}

/* Parts of a process as the library takes them, and the sets that they mean; returns the bytes of memory. */
static int64_t lay_out(int r, const sluice_shape *s, sluice_part *out, sluice_set *file, sluice_set *mem, int64_t *at) {
    int64_t used = 0;
    for (int i = 0; i < request[r].n; i++) {
        const slice *p = &request[r].p[i];
        sluice_shape box = *s;
        int64_t count[MAX_DIMS], zero[MAX_DIMS] = {0}, room = s->elem;
        box.header = 0;
        for (int d = 0; d < s->ndims; d++) {
            count[d] = p->lists ? p->index[d].n : p->range[d].count;
            box.dim[d] = p->placed ? p->buf_dim[d] : count[d];
            room *= box.dim[d];
        }
        out[i] =
            (sluice_part){.range = p->lists ? NULL : p->range, .index = p->lists ? p->index : NULL, .buf = buf + used};
        if (p->placed) out[i].buf_dim = p->buf_dim, out[i].buf_at = p->buf_at;
        at[i] = used;
        bool none = false;
        for (int d = 0; d < s->ndims; d++) none |= !box.dim[d];
        if (none)
            must(sluice_set_block(&mem[i], 0, 0), "memory");
        else
            must(sluice_set_memory(&mem[i], &box, p->placed ? p->buf_at : zero, count, NULL), "memory");
        sluice_set one = SLUICE_SET_EMPTY;
        must(sluice_set_block(&one, 0, s->elem), "element");
        int64_t stride = s->elem;
        for (int k = 0; k < s->ndims; k++) {
            int d = s->order == SLUICE_ROW_MAJOR ? s->ndims - 1 - k : k;
            sluice_set line = SLUICE_SET_EMPTY;
            sluice_run runs[MAX_EXTENT];
            for (int64_t j = 0; j < count[d]; j++)
                runs[j] = (sluice_run){p->lists ? p->list[d][j] : p->range[d].start + j * p->range[d].step, 1};
            must(sluice_set_runs(&line, runs, count[d], NULL), "runs");
            must(sluice_set_product(&one, &line, &one, stride), "product");
            sluice_set_free(&line);
            stride *= s->dim[d];
        }
        must(sluice_set_shift(&file[i], &one, s->header), "shift");
        sluice_set_free(&one);
        used += room;
    }
    if (used > ROOM) abort();
    return used;
}

static unsigned char value(int r, int64_t k) { return (unsigned char)(k * 31 + r * 77 + step * 13 + 5); }

/* What all processes write, in the order of ranks, and of the parts of each. */
static void write_model(const sluice_shape *s) {
    for (int r = 0; r < size; r++) {
        sluice_part part[MAX_PARTS];
        sluice_set file[MAX_PARTS] = {{0}}, mem[MAX_PARTS] = {{0}};
        int64_t at[MAX_PARTS];
        lay_out(r, s, part, file, mem, at);
        for (int i = 0; i < request[r].n; i++) {
            sluice_pair pair;
            sluice_piece piece;
            for (sluice_pair_init(&pair, &file[i], &mem[i]); sluice_pair_next(&pair, &piece);)
                for (int64_t k = 0; k < piece.len; k++) model[piece.a + k] = value(r, at[i] + piece.b + k);
            sluice_set_free(&file[i]);
            sluice_set_free(&mem[i]);
        }
    }
}

static void meet(sluice_array *a) { must(sluice_agree(a->collective->group, 0, NULL, NULL, 0), "meet"); }

static void check_disk(int64_t bytes) {
    FILE *f = fopen(path, "rb");
    if (!f || fread(disk, 1, (size_t)bytes, f) != (size_t)bytes) fail("cannot read the file");
    if (f) fclose(f);
    for (int64_t x = 0; x < bytes; x++)
        if (disk[x] != model[x]) {
            char text[100];
            snprintf(text, sizeof text, "byte %lld of the file is %d, not %d", (long long)x, disk[x], model[x]);
            fail(text);
            memcpy(model, disk, (size_t)bytes);
            return;
        }
}

static void check_read(const sluice_set *file, const sluice_set *mem, const int64_t *at, int64_t bytes) {
    memset(want, 0xAA, (size_t)bytes);
    for (int i = 0; i < request[rank].n; i++) {
        sluice_pair pair;
        sluice_piece piece;
        for (sluice_pair_init(&pair, &file[i], &mem[i]); sluice_pair_next(&pair, &piece);)
            memcpy(want + at[i] + piece.b, model + piece.a, (size_t)piece.len);
    }
    if (memcmp(want, buf, (size_t)bytes)) fail("read something else");
}

/* ---- Steps ---- */

static void set_way(chance *c, sluice_array *a) {
    sluice_together *t = &a->collective->together;
    t->way = (sluice_way)chance_draw(c, 0, 2);
    t->division = (sluice_division)chance_draw(c, 0, 4);
    t->exchange = (sluice_exchange)chance_draw(c, 0, 2);
    t->aggregators = (int)chance_draw(c, 0, size);
    t->align = chance_once_in(c, 3) ? chance_draw(c, 1, 300) : 0;
    t->block = chance_draw(c, 0, 3);
    t->no_pipeline = chance_once_in(c, 3);
    a->io.no_map = chance_once_in(c, 2);
    a->io.method = (sluice_method)(chance_once_in(c, 2) ? chance_draw(c, 1, 4) : 0);
    /* What a plan depends on has changed. */
    sluice_collective_forget(a->collective);
}

/* As if nearly everything were too complex for sets, except what is asked for. */
static void move_hard(sluice_array *a, bool write, const sluice_set *file, const sluice_set *mem, const int64_t *at,
                      int n) {
    sluice_io_part part[MAX_PARTS];
    sluice_reason why;
    for (int i = 0; i < n; i++) part[i] = (sluice_io_part){&file[i], {buf + at[i], &mem[i], 0, 0}};
    sluice_collective_forget(a->collective);
    sluice_work_limit_set(0);
    int err = sluice_all_run(a, write, part, n, NULL, true, 0, &why);
    sluice_work_limit_set(INT64_MAX);
    if (err) {
        sluice_errmsg_set(&why);
        must(err, write ? "hard write" : "hard read");
    }
    complex += a->collective->last[write].complex;
    hards++;
    sluice_collective_forget(a->collective);
}

static void one_step(chance *c, sluice_array *a, const sluice_shape *s, int64_t file_bytes) {
    sluice_part part[MAX_PARTS];
    sluice_set file[MAX_PARTS] = {{0}}, mem[MAX_PARTS] = {{0}};
    int64_t at[MAX_PARTS];
    bool write = chance_once_in(c, 2), later = chance_once_in(c, 4), hard = chance_once_in(c, 5);
    int n = request[rank].n, repeats = 1 + chance_once_in(c, 4);
    int64_t bytes = lay_out(rank, s, part, file, mem, at);
    for (; repeats; repeats--, step++) {
        for (int64_t k = 0; k < bytes; k++) buf[k] = write ? value(rank, k) : 0xAA;
        if (hard) {
            move_hard(a, write, file, mem, at, n);
        } else if (later) {
            sluice_request *r;
            must((write ? sluice_write_all_start : sluice_read_all_start)(&r, a, part, n), "start");
            must(sluice_wait(r), "wait");
        } else {
            must((write ? sluice_write_parts_all : sluice_read_parts_all)(a, part, n), write ? "write" : "read");
        }
        if (write) {
            write_model(s);
            meet(a);
            if (rank == 0) check_disk(file_bytes);
            meet(a);
        } else {
            check_read(file, mem, at, bytes);
        }
    }
    for (int i = 0; i < n; i++) {
        sluice_set_free(&file[i]);
        sluice_set_free(&mem[i]);
    }
}

/* All that is done with one handle. */
static void session(chance *c, int nodes, int steps) {
    sluice_desc d = {.format = chance_once_in(c, 2) ? SLUICE_NPY : SLUICE_RAW};
    d.shape = (sluice_shape){.ndims = (int)chance_draw(c, 1, MAX_DIMS),
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
    meet(a);
    for (int i = 0; i < steps; i++) {
        if (chance_once_in(c, 2)) set_way(c, a);
        draw_requests(c, s, i == 0);
        one_step(c, a, s, bytes);
    }
    must(sluice_close(a), "close");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    seed = chance_default_seed("SLUICE_SEED");
    MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    int pid = (int)getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "collective_random.%d", pid);
    if (rank == 0) printf("seed %llu\n", (unsigned long long)seed);
    model = malloc(ROOM), disk = malloc(ROOM), buf = malloc(ROOM), want = malloc(ROOM);
    if (!model || !disk || !buf || !want) MPI_Abort(MPI_COMM_WORLD, 1);
    int64_t live = sluice_mem_live();
    chance c = {0};
    chance_seed(&c, seed);
    int many = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < many; i++) {
        session(&c, 0, 300);
        session(&c, 0, 300);
        for (int nodes = 2; nodes <= size && nodes <= 3; nodes++) session(&c, nodes, 40);
        if (size > 3) session(&c, size, 20);
    }
    if (size > 1 && !complex) fail("nothing was too complex");
    if (rank == 0) printf("%d of %d calls were too complex to plan\n", complex, hards);
    if (sluice_mem_live() != live) fail("memory is not given back");
    if (rank == 0) unlink(path);
    chance_free(&c);
    int all;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
