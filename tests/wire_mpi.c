/* ranks: 1 2 3 4 7 */
/* wire_mpi.c: sets travel between processes. Each process makes its own part of some distributed arrays, all exchange
 * the wire forms, and each finds that it got what the others have, and that the parts tile the arrays. */
#include "sluice_set.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Extents that leave no process of seven without a part. A block of SPARE is one more than BLOCK needs. */
typedef struct array {
    const char *name;
    sluice_shape shape;
    sluice_dist_kind kind[3];
    int64_t block[3];
} array;

enum { SPARE = -1 };
#define ROW SLUICE_ROW_MAJOR
#define COLUMN SLUICE_COLUMN_MAJOR
#define STAR SLUICE_DIST_STAR
#define BLOCK SLUICE_DIST_BLOCK
#define CYCLIC SLUICE_DIST_CYCLIC
#define GENBLOCK SLUICE_DIST_GENBLOCK

static const array arrays[] = {
    {"block", {1, ROW, 1, 0, {100}}, {BLOCK}, {0}},
    {"cyclic", {1, ROW, 8, 0, {1000003}}, {CYCLIC}, {0}},
    {"cyclic(3), block", {2, ROW, 4, 0, {101, 64}}, {CYCLIC, BLOCK}, {3, 0}},
    {"block(n), cyclic by columns", {2, COLUMN, 4, 0, {150, 37}}, {BLOCK, CYCLIC}, {SPARE, 0}},
    {"genblock, *", {2, ROW, 16, 0, {90, 70}}, {GENBLOCK, STAR}, {0}},
    {"*, genblock, cyclic(5)", {3, COLUMN, 2, 0, {9, 80, 91}}, {STAR, GENBLOCK, CYCLIC}, {0, 0, 5}},
    {"cyclic(2) thrice", {3, ROW, 1, 0, {33, 34, 35}}, {CYCLIC, CYCLIC, CYCLIC}, {2, 2, 2}},
    {"huge", {3, ROW, 8, 0, {1000000, 1000000, 1000}}, {BLOCK, CYCLIC, BLOCK}, {0, 16, 0}},
};
enum { NARRAYS = sizeof arrays / sizeof *arrays };

static int failures;

static void check(int holds, const char *what, const array *a) {
    if (holds) return;
    fprintf(stderr, "%s: %s\n", a->name, what);
    failures++;
}

static int64_t bytes(const array *a) {
    int64_t n = a->shape.elem;
    for (int d = 0; d < a->shape.ndims; d++) n *= a->shape.dim[d];
    return n;
}

/* The part of process `rank` of `nranks`. */
static void make_part(sluice_set *out, const array *a, int nranks, int rank) {
    sluice_dist dist[3];
    int64_t sizes[3][8];
    int grid[3] = {0};
    for (int d = 0; d < a->shape.ndims; d++) grid[d] = a->kind[d] == SLUICE_DIST_STAR;
    MPI_Dims_create(nranks, a->shape.ndims, grid);
    for (int d = 0; d < a->shape.ndims; d++) {
        int64_t rest = a->shape.dim[d];
        for (int p = 0; p < grid[d]; p++) rest -= sizes[d][p] = p + 1 < grid[d] ? p + 1 : rest;
        int64_t block = a->block[d] == SPARE ? (a->shape.dim[d] + grid[d] - 1) / grid[d] + 1 : a->block[d];
        dist[d] = (sluice_dist){a->kind[d], block, sizes[d]};
    }
    sluice_reason why;
    int error = sluice_set_hpf(out, &a->shape, dist, grid, rank, &why);
    check(!error, error ? why.text : "", a);
}

/* The wire forms of this process's parts of all arrays, one after the other, in a block for the caller to free. */
static unsigned char *pack_all(const sluice_set *mine, int *length) {
    int64_t total = 0;
    for (int i = 0; i < NARRAYS; i++) total += sluice_set_pack(&mine[i], NULL, 0);
    unsigned char *wire = malloc((size_t)total);
    if (!wire) MPI_Abort(MPI_COMM_WORLD, 1);
    int64_t at = 0;
    for (int i = 0; i < NARRAYS; i++) at += sluice_set_pack(&mine[i], wire + at, (size_t)(total - at));
    check(at == total && total < 400 * NARRAYS, "a wire form has another length than announced, or a large one",
          arrays);
    *length = (int)total;
    return wire;
}

int main(int argc, char **argv) {
    int rank, nranks, length;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    /* Under the mpiexec of another MPI every process is alone, and all would be well. */
    const char *wanted = getenv("SLUICE_TEST_RANKS");
    check(!wanted || atoi(wanted) == nranks, "not on as many ranks as were asked for", arrays);

    sluice_set mine[NARRAYS] = {SLUICE_SET_EMPTY};
    for (int i = 0; i < NARRAYS; i++) make_part(&mine[i], &arrays[i], nranks, rank);
    unsigned char *wire = pack_all(mine, &length);

    int *lengths = calloc((size_t)nranks, sizeof *lengths), *starts = calloc((size_t)nranks + 1, sizeof *starts);
    sluice_set *part = calloc((size_t)nranks * NARRAYS, sizeof *part); /* all bits 0 is SLUICE_SET_EMPTY */
    if (!lengths || !starts || !part) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allgather(&length, 1, MPI_INT, lengths, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < nranks; r++) starts[r + 1] = starts[r] + lengths[r];
    unsigned char *wires = malloc((size_t)starts[nranks]);
    if (!wires) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allgatherv(wire, length, MPI_BYTE, wires, lengths, starts, MPI_BYTE, MPI_COMM_WORLD);

    for (int r = 0; r < nranks; r++) {
        size_t at = (size_t)starts[r], end = (size_t)starts[r + 1], used = 0;
        for (int i = 0; i < NARRAYS; i++, at += used) {
            sluice_reason why;
            sluice_set *got = &part[i * nranks + r], expected = SLUICE_SET_EMPTY;
            int error = sluice_set_unpack(got, wires + at, end - at, &used, &why);
            check(!error, error ? why.text : "", &arrays[i]);
            if (error) break;
            make_part(&expected, &arrays[i], nranks, r);
            check(sluice_set_equal(got, &expected) == 1, "a part arrived as something else", &arrays[i]);
            sluice_set_free(&expected);
        }
        check(at == end, "bytes are left after the last wire form", arrays);
    }
    for (int i = 0; i < NARRAYS; i++) {
        sluice_reason why;
        sluice_partition p = {.n = nranks, .set = &part[i * nranks]};
        int error = sluice_partition_check(&p, &why);
        check(!error, error ? why.text : "", &arrays[i]);
        check(p.period == bytes(&arrays[i]), "the parts do not cover the array", &arrays[i]);
        check(sluice_set_equal(&part[i * nranks + rank], &mine[i]) == 1, "my part came back changed", &arrays[i]);
    }

    for (int i = 0; i < NARRAYS; i++) sluice_set_free(&mine[i]);
    for (int i = 0; i < nranks * NARRAYS; i++) sluice_set_free(&part[i]);
    free(wire), free(wires), free(lengths), free(starts), free(part);
    MPI_Finalize();
    return failures != 0;
}
