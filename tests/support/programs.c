/* programs.c: see programs.h. */
#include "support/programs.h"
#include <string.h>

/* One access at a time of its own, as a trace has it: no two processes begin at the same moment. */
static int64_t clock_now;
static int add(sluice_profile *p, int proc, bool write, const sluice_set *s, int64_t off) {
    const int64_t t = clock_now + (int64_t)proc * 3 % 7;
    const sluice_use like = {.proc = proc, .write = write, .collective = true, .n = 1, .first = t, .last = t};
    return sluice_profile_add(p, &like, s, off);
}

int program_run(sluice_profile *p, const program *of, int nprocs, int64_t size, int64_t steps) {
    int error = 0;
    *p = (sluice_profile){.nprocs = nprocs};
    for (int way = 0; way < 2 && !error; way++) {
        for (int i = 0; i < nprocs && !error; i++) {
            clock_now = way * 1000000;
            error = of->access(p, i, nprocs, size, steps, way == 0);
        }
    }
    return error;
}

static int root(int n) {
    int q = 1;
    while (q * q < n) q++;
    return q;
}

/* ---- Programs ---- */

static int64_t cut(int64_t n, int q, int i) { return n / q * i + (i < n % q ? i : n % q); }

/* A cube of points of 40 bytes, in cells on diagonals; once a step. */
static int bt(sluice_profile *p, int proc, int nprocs, int64_t n, int64_t steps, bool write) {
    const int q = root(nprocs);
    int error = 0;
    for (int64_t k = 0; k < steps && !error; k++, clock_now += 100) {
        sluice_set all = SLUICE_SET_EMPTY, one = SLUICE_SET_EMPTY;
        for (int c = 0; c < q && !error; c++) {
            const int x = (proc % q + c) % q, y = (proc / q + q - c) % q;
            const sluice_shape shape = {.ndims = 3, .elem = 40, .dim = {n, n, n}};
            const sluice_range range[] = {{cut(n, q, c), cut(n, q, c + 1) - cut(n, q, c), 1},
                                          {cut(n, q, y), cut(n, q, y + 1) - cut(n, q, y), 1},
                                          {cut(n, q, x), cut(n, q, x + 1) - cut(n, q, x), 1}};
            error = sluice_set_section(&one, &shape, range, NULL);
            if (!error) error = sluice_set_union(&all, &all, &one);
        }
        if (!error) error = add(p, proc, write, &all, k * n * n * n * 40);
        sluice_set_free(&all);
        sluice_set_free(&one);
    }
    return error;
}

/* Tiles of `lines` lines of 32 KiB that share 2 KiB and a sixteenth of their lines; each byte is written by one. */
static int tile(sluice_profile *p, int proc, int nprocs, int64_t lines, int64_t steps, bool write) {
    const int64_t line = 32 << 10, common = 2 << 10, own = line - common, shared = lines / 16;
    const int64_t across = root(nprocs), x = proc % across, y = proc / across;
    const int64_t width = across * own + common, height = across * (lines - shared) + shared;
    const int64_t left = write && x ? common : 0, above = write && y ? shared : 0;
    sluice_set s = SLUICE_SET_EMPTY;
    int error = sluice_set_falls(&s, (y * (lines - shared) + above) * width + x * own + left, line - left, width,
                                 lines - above);
    for (int64_t k = 0; k < steps && !error; k++, clock_now += 100) error = add(p, proc, write, &s, k * width * height);
    sluice_set_free(&s);
    return error;
}

/* A block of each process, once a step. */
static int perf(sluice_profile *p, int proc, int nprocs, int64_t size, int64_t steps, bool write) {
    sluice_set s = SLUICE_SET_EMPTY;
    int error = sluice_set_block(&s, 0, size);
    for (int64_t k = 0; k < steps && !error; k++, clock_now += 100)
        error = add(p, proc, write, &s, (k * nprocs + proc) * size);
    sluice_set_free(&s);
    return error;
}

/* Lines of a picture, of 4 * size bytes, taken in turn. */
static int lines(sluice_profile *p, int proc, int nprocs, int64_t size, int64_t steps, bool write) {
    sluice_set s = SLUICE_SET_EMPTY;
    (void)steps;
    int error = sluice_set_block(&s, 0, 4 * size);
    for (int64_t k = proc; k < size && !error; k += nprocs, clock_now += 100)
        error = add(p, proc, write, &s, k * 4 * size);
    sluice_set_free(&s);
    return error;
}

/* Rows of a matrix of doubles, with a row of each neighbour when read. */
static int halo(sluice_profile *p, int proc, int nprocs, int64_t n, int64_t steps, bool write) {
    const int64_t from = sluice_max(cut(n, nprocs, proc) - !write, 0);
    const int64_t to = sluice_min(cut(n, nprocs, proc + 1) + !write, n);
    sluice_set s = SLUICE_SET_EMPTY;
    (void)steps;
    int error = sluice_set_block(&s, from * n * 8, (to - from) * n * 8);
    if (!error) error = add(p, proc, write, &s, 0);
    sluice_set_free(&s);
    return error;
}

/* Blocks at distances that grow: nothing that could be foretold. */
static int stray(sluice_profile *p, int proc, int nprocs, int64_t size, int64_t steps, bool write) {
    sluice_set s = SLUICE_SET_EMPTY;
    (void)nprocs;
    (void)steps;
    int error = sluice_set_block(&s, proc * proc * size, size);
    if (!error) error = add(p, proc, write, &s, 0);
    sluice_set_free(&s);
    return error;
}

const program program_list[] = {{"bt", bt},     {"tile", tile},   {"perf", perf}, {"lines", lines},
                                {"halo", halo}, {"stray", stray}, {NULL, NULL}};

const program *program_named(const char *name) {
    const program *p = program_list;
    while (p->name && strcmp(p->name, name)) p++;
    return p->name ? p : NULL;
}
