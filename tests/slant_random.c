/* ranks: 1 */
/* slant_random: families that go through the blocks of nested ones at a slant, as the diagonals of a matrix do, against
 * loops over all offsets. */
#include "base/base.h"
#include "support/oracle.h"
#include "support/random.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TREE = 60, EXTENT = 20000 };

/* Whether the set holds just the marked offsets, in normal form. */
static bool same(const sluice_set *s, const unsigned char *in) {
    static unsigned char found[EXTENT];
    sluice_cursor c;
    sluice_run run;
    if (sluice_set_check(s, NULL) || sluice_set_hi(s) > EXTENT) return false;
    memset(found, 0, sizeof found);
    for (sluice_cursor_init(&c, s); sluice_cursor_run(&c, &run);) memset(found + run.off, 1, (size_t)run.len);
    return memcmp(found, in, EXTENT) == 0;
}

/* n copies of a random tree. */
static bool grow(sluice_set *out, unsigned char *in, chance *c, int64_t off, int64_t step, int64_t n, int64_t extent) {
    static grove g;
    oracle o;
    g.nfalls = g.nlists = 0;
    oracle_init(&o, TREE);
    const sluice_falls_list *list = grove_grow(&g, c, extent, 3);
    bool good = oracle_list(&o, list) && !sluice_set_build(out, list, NULL);
    memset(in, 0, EXTENT);
    for (int64_t i = 0; i < n; i++)
        for (int64_t x = 0; x < extent && off + i * step + x < EXTENT; x++) in[off + i * step + x] |= o.in[x];
    oracle_free(&o);
    return good && !sluice_set_repeat(out, out, off, step, n) && !sluice_set_cut(out, out, 0, EXTENT);
}

static bool tell; /* what differs */

typedef int operation(sluice_set *, const sluice_set *, const sluice_set *);

/* kind 0: both, 1: either, 2: a alone, 3: a in the linear space of b, 4: and back. */
static bool agrees(int kind, const sluice_set *a, const unsigned char *ia, const sluice_set *b,
                   const unsigned char *ib) {
    static operation *const op[] = {sluice_set_intersect, sluice_set_union, sluice_set_subtract, sluice_set_project,
                                    sluice_set_embed};
    static unsigned char expect[EXTENT];
    sluice_set out = SLUICE_SET_EMPTY;
    int64_t below = 0;
    memset(expect, 0, sizeof expect);
    for (int64_t x = 0; x < EXTENT; x++) {
        if (kind < 3) expect[x] = kind == 0 ? ia[x] && ib[x] : kind == 1 ? ia[x] || ib[x] : ia[x] && !ib[x];
        if (kind == 3 && ib[x]) expect[below++] = ia[x];
        if (kind == 4 && ib[x]) expect[x] = ia[below++];
    }
    bool good = !op[kind](&out, a, b) && same(&out, expect);
    if (!good && tell) {
        static const char *const name[] = {"intersect", "union", "subtract", "project", "embed"};
        const sluice_set *const shown[] = {a, b, &out};
        char text[1000];
        fprintf(stderr, "%s:", name[kind]);
        for (int i = 0; i < 3; i++) sluice_set_print(shown[i], text, sizeof text), fprintf(stderr, " %s", text);
        fprintf(stderr, "\n");
    }
    sluice_set_free(&out);
    return good;
}

static bool differs(chance *c, void *arg) {
    static unsigned char ia[EXTENT], ib[EXTENT];
    sluice_set a = SLUICE_SET_EMPTY, b = SLUICE_SET_EMPTY;
    (void)arg;
    int64_t wide = chance_draw(c, 8, TREE), row = wide + chance_low(c, 0, 20),
            rows = chance_draw(c, 2, EXTENT / row / 2);
    int64_t thin = chance_low(c, 1, 4), slant = chance_low(c, 0, 9) * (chance_once_in(c, 3) ? -1 : 1);
    int64_t step = sluice_max(chance_low(c, 1, 3) * row + slant, thin), off = chance_low(c, 0, 2 * row);
    bool good = grow(&b, ib, c, chance_low(c, 0, 100), row, rows, wide);
    good = good && grow(&a, ia, c, off, step, chance_draw(c, 1, (EXTENT - off) / step), thin);
    if (good && chance_once_in(c, 3)) { /* something before and behind, so that there are other families too */
        sluice_set block = SLUICE_SET_EMPTY;
        int64_t at = chance_draw(c, 0, EXTENT - 50), len = chance_draw(c, 1, 50);
        good = !sluice_set_block(&block, at, len) && !sluice_set_union(&b, &b, &block);
        memset(ib + at, 1, (size_t)len);
        sluice_set_free(&block);
    }
    for (int kind = 0; kind < 5 && good; kind++) good = agrees(kind, &a, ia, &b, ib) && agrees(kind, &b, ib, &a, ia);
    sluice_set_free(&a);
    sluice_set_free(&b);
    return !good;
}

/* Diagonals of large matrices are families of families, however large. */
static bool large(void) {
    sluice_set line = SLUICE_SET_EMPTY, part = SLUICE_SET_EMPTY, out = SLUICE_SET_EMPTY;
    const int64_t n = 1000003;
    sluice_shape shape = {.ndims = 2, .elem = 4, .dim = {n, n}};
    sluice_dist dist[2] = {{SLUICE_DIST_STAR, 0, NULL}, {SLUICE_DIST_CYCLIC, 4, NULL}};
    bool good = true;
    for (int p = 0; p < 3 && good; p++) {
        int64_t mine = (n / 12 * 4 + sluice_max(0, sluice_min(4, n % 12 - 4 * p))) * 4;
        good = !sluice_set_hpf(&part, &shape, dist, (int[]){1, 3}, p, NULL);
        good = good && !sluice_set_falls(&line, 0, 4, (n + 1) * 4, n);
        good = good && !sluice_set_intersect(&out, &line, &part) && out.size == mine && out.nnode <= 4;
        good = good && !sluice_set_project(&out, &line, &part) && out.size == mine && out.nnode <= 4;
        for (int64_t k = 0; k < out.size && good; k += 4001) { /* element i of the diagonal is in row i */
            int64_t i = k / 16 * 12 + 4 * p + k / 4 % 4;
            good = sluice_set_select(&out, k) == sluice_set_rank(&part, i * (n + 1) * 4 + k % 4);
        }
        good = good && !sluice_set_subtract(&out, &line, &part) && out.size == n * 4 - mine && out.nnode <= 6;
        good = good && !sluice_set_falls(&line, (n - 1) * 4, 4, (n - 1) * 4, n);
        good = good && !sluice_set_intersect(&out, &line, &part) && out.size == mine && out.nnode <= 4;
    }
    sluice_set_free(&line);
    sluice_set_free(&part);
    sluice_set_free(&out);
    return good;
}

int main(void) {
    uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    const char *env = getenv("SLUICE_TEST_CASES");
    int n = env ? atoi(env) : 4000, i = 0;
    chance c = {0};
    bool bad = false;
    printf("seed %" PRIu64 "\n", seed);
    fflush(stdout);
    for (; i < n && !bad; i++) {
        chance_seed(&c, seed + (uint64_t)i);
        bad = differs(&c, NULL);
    }
    if (bad) {
        chance_shrink(&c, differs, NULL);
        tell = true;
        c.at = 0, c.replay = true;
        differs(&c, NULL);
    }
    chance_free(&c);
    if (!large()) bad = true, fprintf(stderr, "large: a diagonal of a matrix with cyclic columns\n");
    if (sluice_mem_live()) bad = true, fprintf(stderr, "%" PRId64 " bytes leaked\n", sluice_mem_live());
    return bad;
}
