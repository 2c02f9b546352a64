/* ranks: 1 */
/* count_random: bytes and pieces in common, counted, against a walk over all offsets: of repeated random trees, and of
 * distributed arrays on striped files, for ever and in files of any length. */
#include "base/base.h"
#include "set/set.h"
#include "support/oracle.h"
#include "support/random.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TREE = 120, EXTENT = 6000, PARTS = 12, FILE_MAX = 60000 };

/* Bytes in common, and pieces: a byte goes on with the one before it if no byte of either set lies between. */
static void walk(int64_t *bytes, int64_t *pieces, const unsigned char *a, const unsigned char *b, int64_t n) {
    bool on = false;
    *bytes = *pieces = 0;
    for (int64_t x = 0; x < n; x++) {
        if (a[x] && b[x]) {
            ++*bytes;
            *pieces += !on;
            on = true;
        } else if (a[x] || b[x]) {
            on = false;
        }
    }
}

/* A random tree, repeated with a stride, up to twice. */
static bool grow(sluice_set *out, unsigned char *in, chance *c) {
    static grove g;
    static unsigned char one[EXTENT];
    oracle o;
    g.nfalls = g.nlists = 0;
    oracle_init(&o, TREE);
    const sluice_falls_list *list = grove_grow(&g, c, chance_low(c, 1, TREE), 3);
    bool good = oracle_list(&o, list) && !sluice_set_build(out, list, NULL);
    memset(in, 0, EXTENT);
    memcpy(in, o.in, TREE);
    oracle_free(&o);
    for (int level = 0; level < 2 && good; level++) {
        int64_t hi = sluice_max(sluice_set_hi(out), 1), step = hi + chance_low(c, 0, hi), off = chance_low(c, 0, 50);
        int64_t most = (EXTENT - off - hi) / step + 1, n = chance_low(c, 1, sluice_max(most, 1));
        if (off + hi > EXTENT) break;
        memcpy(one, in, EXTENT);
        memset(in, 0, EXTENT);
        for (int64_t i = 0; i < n; i++)
            for (int64_t x = 0; x < hi; x++) in[off + i * step + x] |= one[x];
        good = !sluice_set_repeat(out, out, off, step, n);
    }
    return good;
}

static bool trees(chance *c, void *arg) {
    static unsigned char ia[EXTENT], ib[EXTENT];
    sluice_set a = SLUICE_SET_EMPTY, b = SLUICE_SET_EMPTY;
    sluice_outline oa = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY}, ob = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    int64_t bytes, pieces, found = -1;
    (void)arg;
    bool good = grow(&a, ia, c);
    if (good && chance_once_in(c, 8)) { /* much the same set, so that holes are equal */
        memcpy(ib, ia, EXTENT);
        good = !sluice_set_copy(&b, &a);
    } else {
        good = good && grow(&b, ib, c);
    }
    if (good && chance_once_in(c, 4)) {
        int64_t lo = chance_draw(c, 0, EXTENT), hi = chance_draw(c, lo, EXTENT);
        good = !sluice_set_cut(&b, &b, lo, hi);
        memset(ib, 0, (size_t)lo);
        memset(ib + hi, 0, (size_t)(EXTENT - hi));
    }
    walk(&bytes, &pieces, ia, ib, EXTENT);
    good = good && !sluice_count_bytes(&found, &a, &b) && found == bytes;
    good = good && !sluice_outline_make(&oa, &a) && !sluice_outline_make(&ob, &b);
    good = good && !sluice_count_pieces(&found, &a, &oa, &b, &ob) && found == pieces;
    sluice_outline_free(&oa);
    sluice_outline_free(&ob);
    sluice_set_free(&a);
    sluice_set_free(&b);
    return !good;
}

/* A partition by its definition: the owner of each byte of the period. */
typedef struct layout {
    sluice_set set[PARTS];
    sluice_partition p;
    int owner[FILE_MAX];
} layout;

static int owner_along(const sluice_dist *d, int64_t n, int procs, int64_t i) {
    if (d->kind == SLUICE_DIST_CYCLIC) return (int)(i / d->block % procs);
    return d->kind == SLUICE_DIST_BLOCK ? (int)(i / ((n + procs - 1) / procs)) : 0;
}

/* A matrix with each dimension block, cyclic or not distributed. */
static bool distribute(layout *l, chance *c) {
    sluice_shape shape = {.ndims = 2, .elem = chance_low(c, 1, 4)};
    sluice_dist dist[2];
    int grid[2];
    for (int d = 0; d < 2; d++) {
        shape.dim[d] = chance_low(c, 1, 40);
        dist[d] = (sluice_dist){(sluice_dist_kind)chance_draw(c, 0, 2), 0, NULL};
        grid[d] = dist[d].kind == SLUICE_DIST_STAR ? 1 : (int)chance_draw(c, 1, 3);
        if (dist[d].kind == SLUICE_DIST_CYCLIC) dist[d].block = chance_low(c, 1, 6);
    }
    l->p =
        (sluice_partition){grid[0] * grid[1], l->set, shape.dim[0] * shape.dim[1] * shape.elem, chance_low(c, 0, 99)};
    for (int i = 0; i < l->p.n; i++)
        if (sluice_set_hpf(&l->set[i], &shape, dist, grid, i, NULL)) return false;
    for (int64_t x = 0; x < l->p.period; x++) {
        int64_t e = x / shape.elem;
        l->owner[x] = owner_along(&dist[0], shape.dim[0], grid[0], e / shape.dim[1]) * grid[1] +
                      owner_along(&dist[1], shape.dim[1], grid[1], e % shape.dim[1]);
    }
    return true;
}

static bool stripe(layout *l, chance *c) {
    int64_t width = chance_low(c, 1, 90);
    l->p = (sluice_partition){(int)chance_draw(c, 1, 5), l->set, 0, chance_low(c, 0, 99)};
    l->p.period = l->p.n * width;
    for (int i = 0; i < l->p.n; i++)
        if (sluice_set_block(&l->set[i], i * width, width)) return false;
    for (int64_t x = 0; x < l->p.period; x++) l->owner[x] = (int)(x / width);
    return true;
}

/* The matrix over [disp, disp + length), walked. */
static bool agrees(const sluice_matrix *m, const layout *a, const layout *b, int64_t disp, int64_t length) {
    static unsigned char ia[FILE_MAX], ib[FILE_MAX];
    int64_t messages = 0, total = 0;
    bool good = m->disp == disp && m->period == length && m->rows == a->p.n && m->cols == b->p.n;
    for (int i = 0; i < m->rows && good; i++) {
        for (int k = 0; k < m->cols && good; k++) {
            int64_t bytes, pieces;
            for (int64_t x = 0; x < length; x++) {
                ia[x] = a->owner[(disp + x - a->p.disp) % a->p.period] == i;
                ib[x] = b->owner[(disp + x - b->p.disp) % b->p.period] == k;
            }
            walk(&bytes, &pieces, ia, ib, length);
            good = bytes == m->bytes[i * m->cols + k] && pieces == m->segments[i * m->cols + k];
            messages += bytes > 0;
            total += pieces;
        }
    }
    return good && messages == m->messages && total == m->total_segments && m->match_den == total;
}

static bool files(chance *c, void *arg) {
    static layout a, b;
    sluice_matrix m;
    (void)arg;
    memset(&m, 0, sizeof m);
    bool good = distribute(&a, c) && (chance_once_in(c, 3) ? distribute(&b, c) : stripe(&b, c));
    int64_t disp = sluice_max(a.p.disp, b.p.disp), period = sluice_lcm(a.p.period, b.p.period);
    if (good && period <= FILE_MAX) good = !sluice_redistribute(&m, &a.p, &b.p) && agrees(&m, &a, &b, disp, period);
    int64_t length = chance_draw(c, 0, FILE_MAX / 10);
    if (good) good = !sluice_redistribute_within(&m, &a.p, &b.p, length);
    if (good) good = agrees(&m, &a, &b, sluice_min(disp, length), sluice_max(length - disp, 0));
    sluice_matrix_free(&m);
    for (int i = 0; i < PARTS; i++) sluice_set_free(&a.set[i]), sluice_set_free(&b.set[i]);
    return !good;
}

static bool fails(bool (*one)(chance *, void *), const char *what, uint64_t seed, int n) {
    chance c = {0};
    bool failed = false;
    for (int i = 0; i < n && !failed; i++) {
        chance_seed(&c, seed + (uint64_t)i);
        failed = one(&c, NULL);
    }
    if (failed) {
        chance_shrink(&c, one, NULL);
        fprintf(stderr, "%s: differs for the draws", what);
        for (int i = 0; i < c.n; i++) fprintf(stderr, " %" PRId64, c.draw[i]);
        fprintf(stderr, "\n");
    }
    chance_free(&c);
    return failed;
}

/* Real sizes: what a walk would take minutes for. Bytes add up, and a file of many arrays approaches the period. */
static bool large(void) {
    static layout b;
    sluice_set part[4] = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    sluice_shape shape = {.ndims = 2, .elem = 4, .dim = {1009, 2003}};
    sluice_dist dist[2] = {{SLUICE_DIST_CYCLIC, 3, NULL}, {SLUICE_DIST_CYCLIC, 5, NULL}};
    sluice_partition a = {4, part, 1009 * 2003 * 4, 0};
    sluice_matrix m;
    bool good = true;
    memset(&m, 0, sizeof m);
    b.p = (sluice_partition){4, b.set, 4 << 16, 0};
    for (int i = 0; i < 4 && good; i++)
        good = !sluice_set_hpf(&part[i], &shape, dist, (int[]){2, 2}, i, NULL) &&
               !sluice_set_block(&b.set[i], i << 16, 1 << 16);
    for (int turn = 0; turn < 2 && good; turn++) {
        good = turn ? !sluice_redistribute_within(&m, &a, &b.p, a.period) : !sluice_redistribute(&m, &a, &b.p);
        int64_t times = m.period / a.period, sum;
        for (int i = 0; i < 4 && good; i++) {
            sum = 0;
            for (int k = 0; k < 4; k++) sum += m.bytes[i * 4 + k];
            good = sum == times * part[i].size && m.period == (turn ? a.period : a.period << 16);
        }
    }
    sluice_matrix_free(&m);
    for (int i = 0; i < 4; i++) sluice_set_free(&part[i]), sluice_set_free(&b.set[i]);
    return good;
}

int main(void) {
    uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    const char *env = getenv("SLUICE_TEST_CASES");
    int n = env ? atoi(env) : 20000;
    printf("seed %" PRIu64 "\n", seed);
    fflush(stdout);
    bool bad = fails(trees, "trees", seed, n) || fails(files, "files", seed, n / 20);
    if (!large()) bad = true, fprintf(stderr, "large: cyclic rows and columns on stripes\n");
    if (sluice_mem_live()) bad = true, fprintf(stderr, "%" PRId64 " bytes leaked\n", sluice_mem_live());
    return bad;
}
