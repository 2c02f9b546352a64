/* bt.c: the output of BT, a solver of the NAS benchmarks: a cube of points with 5 doubles each, on q * q processes. The
 * cube is cut into q * q * q cells, and each process has q of them, one in each layer, on a diagonal:
 *
 *     layer 0    layer 1    layer 2        the cells of process 4, q = 3
 *      . . .      . . 4      . . .
 *      . 4 .      . . .      . . .
 *      . . .      . . .      4 . .
 *
 * So its data lies in many short runs all over the file: at 102 points a side of 26 points, 1040 bytes, for 16
 * processes. The cube is written once per step, and then all of them are read back. */
#include "workload.h"
#include <stddef.h>

enum { POINT = 5 * sizeof(double) };

/* The first cells of a dimension have one point more if they do not come out even. */
static int64_t cut(int64_t n, int q, int cell) { return n / q * cell + (cell < n % q ? cell : n % q); }

static const char *plan(job *j) {
    const int64_t n = j->size, line = n * POINT;
    const int q = workload_root(j->nranks);
    if (!q) return "BT runs on square numbers of processes only: 1, 4, 9, 16, 25 ...";
    if (q > PIECES || q > n) return "too many processes for so few points a side";
    if (n > 2000) return "more points a side than 2000";
    j->write = (view){.extent = n * n * line, .npieces = q};
    for (int k = 0; k < q; k++) {
        const int x = (j->rank % q + k) % q, y = (j->rank / q + q - k) % q;
        j->write.piece[k] = (piece){
            .off = cut(n, q, k) * n * line + cut(n, q, y) * line + cut(n, q, x) * POINT,
            .len = (cut(n, q, x + 1) - cut(n, q, x)) * POINT,
            .count = {cut(n, q, y + 1) - cut(n, q, y), cut(n, q, k + 1) - cut(n, q, k)},
            .step = {line, n * line},
        };
    }
    j->read = j->write;
    j->writes = j->reads = j->steps;
    j->bytes = j->steps * n * n * line;
    return NULL;
}

static stretch cube(const job *j, bool write, int64_t k) {
    (void)write;
    const int64_t mine = view_bytes(&j->write);
    return (stretch){k * mine, mine};
}

int main(int argc, char **argv) {
    static const workload bt = {
        .name = "bt",
        .title =
            "A cube of points with 5 doubles each, in a diagonal multi-partition over a square number of processes",
        .size_means = "points a side",
        .size = 64,
        .steps = 3,
        .quick_size = 13,
        .quick_steps = 2,
        .plan = plan,
        .access = cube,
    };
    return workload_main(&bt, argc, argv);
}
