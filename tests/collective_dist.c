/* ranks: 1 2 3 4 7 */
/* collective_dist.c: what need not be told. A distribution that all name alike is moved without a description of any
 * request, and right: element by element as sluice_dist_owner() says. A pattern that comes again, also shifted, is
 * neither described nor planned again. */
#include "collective_common.h"

enum { DIMS = 3, ROOM = 40000 };
#define STAR SLUICE_DIST_STAR
#define BLOCK SLUICE_DIST_BLOCK
#define CYCLIC SLUICE_DIST_CYCLIC
#define GENBLOCK SLUICE_DIST_GENBLOCK

typedef struct array {
    const char *name;
    sluice_shape shape;
    sluice_dist_kind kind[DIMS];
    int64_t block[DIMS];
} array;

static const array arrays[] = {
    {"(BLOCK)", {1, SLUICE_ROW_MAJOR, 8, 0, {1000}}, {BLOCK}, {0}},
    {"(BLOCK(n))", {1, SLUICE_ROW_MAJOR, 8, 5, {1000}}, {BLOCK}, {700}}, /* most have nothing */
    {"(CYCLIC)", {1, SLUICE_ROW_MAJOR, 8, 0, {1001}}, {CYCLIC}, {0}},
    {"(GENBLOCK)", {1, SLUICE_ROW_MAJOR, 8, 3, {999}}, {GENBLOCK}, {0}},
    {"(CYCLIC(3), BLOCK)", {2, SLUICE_ROW_MAJOR, 8, 0, {50, 41}}, {CYCLIC, BLOCK}, {3, 0}},
    {"(BLOCK, CYCLIC) by columns", {2, SLUICE_COLUMN_MAJOR, 8, 16, {37, 50}}, {BLOCK, CYCLIC}, {0}},
    {"(*, CYCLIC(2))", {2, SLUICE_ROW_MAJOR, 8, 0, {33, 50}}, {STAR, CYCLIC}, {0, 2}},
    {"(GENBLOCK, *) by columns", {2, SLUICE_COLUMN_MAJOR, 8, 0, {60, 20}}, {GENBLOCK, STAR}, {0}},
    {"(CYCLIC(2), GENBLOCK, BLOCK)", {3, SLUICE_ROW_MAJOR, 8, 0, {14, 30, 15}}, {CYCLIC, GENBLOCK, BLOCK}, {2}},
    {"(*, CYCLIC, CYCLIC(3)) by columns",
     {3, SLUICE_COLUMN_MAJOR, 8, 7, {6, 21, 23}},
     {STAR, CYCLIC, CYCLIC},
     {0, 0, 3}},
    {"(BLOCK, BLOCK, BLOCK)", {3, SLUICE_ROW_MAJOR, 8, 0, {16, 17, 18}}, {BLOCK, BLOCK, BLOCK}, {0}},
};
enum { NARRAYS = sizeof arrays / sizeof *arrays };

static int64_t mine[ROOM], want[ROOM], disk[ROOM];

static int64_t elements(const sluice_shape *s) {
    int64_t n = 1;
    for (int d = 0; d < s->ndims; d++) n *= s->dim[d];
    return n;
}

/* Dimension number j, counted from the fastest. */
static int fastest(const sluice_shape *s, int j) { return s->order == SLUICE_ROW_MAJOR ? s->ndims - 1 - j : j; }

/* Who owns the element that lies at place k of the file, and at which place of its packed part. */
static int owner(const array *a, const sluice_dist *dist, const int *grid, int64_t k, int64_t *at) {
    int where[DIMS], rank_of = 0;
    int64_t stride = 1;
    *at = 0;
    for (int j = 0; j < a->shape.ndims; j++) {
        int d = fastest(&a->shape, j);
        int64_t i = k % a->shape.dim[d], local;
        k /= a->shape.dim[d];
        CHECK(!sluice_dist_owner(&dist[d], a->shape.dim[d], grid[d], i, &where[d], &local));
        *at += local * stride;
        stride *= sluice_dist_count(&dist[d], a->shape.dim[d], grid[d], where[d]);
    }
    for (int d = 0; d < a->shape.ndims; d++) rank_of = rank_of * grid[d] + where[d];
    return rank_of;
}

static void lay_out(const array *a, sluice_dist *dist, int64_t sizes[DIMS][8], int *grid) {
    for (int d = 0; d < a->shape.ndims; d++) grid[d] = a->kind[d] == STAR;
    MPI_Dims_create(size, a->shape.ndims, grid);
    for (int d = 0; d < a->shape.ndims; d++) {
        int64_t rest = a->shape.dim[d];
        for (int p = 0; p < grid[d]; p++) rest -= sizes[d][p] = p + 1 < grid[d] ? p : rest; /* the first has none */
        dist[d] = (sluice_dist){a->kind[d], a->block[d], sizes[d]};
        if (a->kind[d] == BLOCK && a->block[d] && a->block[d] * grid[d] < a->shape.dim[d])
            dist[d].block = a->shape.dim[d];
    }
}

static void one_array(const array *a, int way, int nodes) {
    sluice_dist dist[DIMS];
    int64_t sizes[DIMS][8], n = elements(&a->shape), count = 0;
    int grid[DIMS];
    lay_out(a, dist, sizes, grid);
    sluice_desc d = {.format = SLUICE_RAW, .shape = a->shape};
    sluice_array *h;
    sluice_options o = {.size = sizeof o, .replace = 1, .together = {.way = (sluice_way)way, .nodes = nodes}};
    must(sluice_create_all(&h, MPI_COMM_WORLD, path, &d, &o));
    for (int64_t k = 0; k < n; k++) {
        int64_t at;
        if (owner(a, dist, grid, k, &at) != rank) continue;
        want[at] = 1000000 * (rank + 1) + k;
        count++;
    }
    sluice_set part = SLUICE_SET_EMPTY;
    must(sluice_set_hpf(&part, &a->shape, dist, grid, rank, NULL));
    CHECK(part.size == 8 * count, "%s: rank %d has %" PRId64 " elements, not %" PRId64, a->name, rank, part.size / 8,
          count);
    sluice_set_free(&part);
    memcpy(mine, want, sizeof mine);
    must(sluice_write_dist_all(h, dist, grid, mine));
    memset(mine, 0, sizeof mine);
    must(sluice_read_dist_all(h, dist, grid, mine));
    CHECK(!memcmp(mine, want, (size_t)count * 8), "%s, way %d, %d nodes: another part", a->name, way, nodes);
    CHECK(count == ROOM || !mine[count], "%s: more than the part", a->name);
    sluice_counts c;
    sluice_count(h, &c);
    CHECK(c.descriptors == 0, "%s, way %d, %d nodes: %" PRId64 " bytes of descriptions", a->name, way, nodes,
          c.descriptors);
    CHECK(c.wanted_written == 8 * count && c.wanted_read == 8 * count, "%s: %" PRId64 " bytes wanted", a->name,
          c.wanted_read);
    if (rank == 0) {
        FILE *f = fopen(path, "rb");
        CHECK(f && !fseek(f, (long)a->shape.header, SEEK_SET) && fread(disk, 8, (size_t)n, f) == (size_t)n);
        if (f) fclose(f);
        int64_t wrong = 0, at;
        for (int64_t k = 0; k < n; k++) wrong += disk[k] != 1000000 * (owner(a, dist, grid, k, &at) + 1) + k;
        CHECK(!wrong, "%s, way %d, %d nodes: %" PRId64 " elements in the file", a->name, way, nodes, wrong);
    }
    must(sluice_close(h));
}

/* A loop over time: the same shape of section, a plane further each time. */
static void repeated(bool write, int nodes) {
    enum { STEPS = 6, X = 12, Y = 14 };
    sluice_desc d = {.format = SLUICE_RAW, .shape = {.ndims = 3, .elem = 8, .dim = {STEPS, X, Y}}};
    sluice_options o = {.size = sizeof o, .replace = 1, .together = {.way = SLUICE_WAY_TWO_PHASE, .nodes = nodes}};
    sluice_array *a;
    sluice_counts first = {0}, now;
    int64_t columns = (Y - rank + size - 1) / size;
    must(sluice_create_all(&a, MPI_COMM_WORLD, path, &d, &o));
    if (!write && rank == 0) { /* something to read */
        for (int64_t k = 0; k < STEPS * X * Y; k++) mine[k] = k;
        must(sluice_write(a, NULL, mine));
    }
    must(sluice_sync(a));
    for (int64_t t = 0; t < STEPS; t++) {
        sluice_range part[] = {{t, 1, 1}, {0, X, 1}, {rank, columns, size}};
        for (int repeat = 0; repeat < 2; repeat++) {
            for (int64_t k = 0; k < X * columns; k++) want[k] = (t * X + k / columns) * Y + rank + k % columns * size;
            memcpy(mine, want, sizeof want);
            if (!write) memset(mine, 0, sizeof mine);
            must(write ? sluice_write_all(a, part, mine) : sluice_read_all(a, part, mine));
            CHECK(!memcmp(mine, want, (size_t)(X * columns) * 8), "step %d", (int)t);
            sluice_count(a, &now);
            if (t == 0 && repeat == 0) first = now;
        }
        CHECK(now.descriptors == first.descriptors && now.plans == first.plans, "step %d: %d bytes, then %d; %d plans",
              (int)t, (int)first.descriptors, (int)now.descriptors, (int)now.plans);
    }
    CHECK(first.plans == 1 && (size == 1 || first.descriptors > 0) && first.descriptors < 100,
          "%d bytes of descriptions, %d plans", (int)first.descriptors, (int)first.plans);
    /* Another pattern is told and planned. */
    must(sluice_read_all(a, (sluice_range[]){{0, STEPS, 1}, {rank % X, 1, 1}, {0, Y, 1}}, mine));
    sluice_count(a, &now);
    CHECK(now.plans == first.plans + 1 && now.descriptors > first.descriptors, "%d plans", (int)now.plans);
    for (int64_t k = 0; k < STEPS * Y; k++)
        CHECK(mine[k] == (k / Y * X + rank % X) * Y + k % Y, "element %d is %d", (int)k, (int)mine[k]);
    must(sluice_close(a));
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "collective_dist");
    for (int i = 0; i < NARRAYS; i++) one_array(&arrays[i], i % 3, i % 4 == 3 ? (i % 8 == 3 ? 2 : size) : 0);
    one_array(&arrays[8], SLUICE_WAY_TWO_PHASE, 0);
    repeated(false, 0);
    repeated(true, 0);
    if (size > 2) repeated(true, 2);
    return finish();
}
