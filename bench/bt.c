/* bt.c: the output of BT, a solver of the NAS benchmarks: a cube of points with 5 doubles each, on q * q processes. The
 * cube is cut into q * q * q cells, and each process has q of them, one in each layer, on a diagonal:
 *
 *     layer 0    layer 1    layer 2        the cells of process 4, q = 3
 *      . . .      . . 4      . . .
 *      . 4 .      . . .      . . .
 *      . . .      . . .      4 . .
 *
 * So its data lies in many short runs all over the file. All write and read together. See contend.h for the rules. */
#include "contend.h"
#include <stdio.h>

enum { POINT = 5 * sizeof(double) };

static const field fields[] = {{3, POINT, {12, 12, 12}}, {3, POINT, {64, 64, 64}}, {3, POINT, {102, 102, 102}}};
static const event events[] = {{"S write", 1, true, true, 0},  {"S read", 1, false, true, 0},
                               {"A write", 2, true, true, 1},  {"A read", 2, false, true, 1},
                               {"B write", 3, true, false, 2}, {"B read", 3, false, false, 2}};
static const contender contenders[] = {COMMON_CONTENDERS};

static int root(int n) {
    int q = 1;
    while ((q + 1) * (q + 1) <= n) q++;
    return q;
}

/* The first cells of a dimension have one point more if they do not come out even. */
static int64_t cut(int64_t n, int q, int cell) { return n / q * cell + (cell < n % q ? cell : n % q); }

static int boxes(int e, int rank, int nranks, box *out) {
    const field *f = &fields[events[e].field];
    int q = root(nranks);
    for (int k = 0; k < q; k++) {
        int cell[DIMS] = {(rank % q + k) % q, (rank / q + q - k) % q, k};
        for (int d = 0; d < DIMS; d++) {
            out[k].start[d] = cut(f->dim[d], q, cell[d]);
            out[k].count[d] = cut(f->dim[d], q, cell[d] + 1) - out[k].start[d];
            out[k].step[d] = 1;
        }
    }
    return q;
}

static bool suits(int e, int nranks) {
    (void)e;
    return root(nranks) <= BOXES && root(nranks) * root(nranks) == nranks;
}

static void judge(const board *b);
static const contest bt = {
    .name = "bt",
    .title =
        "Diagonal multi-partition of cubes of 12 (S), 64 (A) and 102 (B) points a side, 5 doubles each; 1, 4, 9 ... "
        "processes",
    .fields = fields,
    .events = events,
    .nevents = sizeof events / sizeof *events,
    .contenders = contenders,
    .ncontenders = sizeof contenders / sizeof *contenders,
    .boxes = boxes,
    .suits = suits,
    .judge = judge,
    .quick = 4,
};

static void judge(const board *b) { judge_collective(&bt, b); }

int main(int argc, char **argv) { return contend(&bt, argc, argv); }
