/* ranks: 1 */
/* coarsen_random: gaps filled, and products of indices with a set, against loops over all offsets. */
#include "base/base.h"
#include "support/oracle.h"
#include "support/random.h"
#include <stdlib.h>
#include <string.h>

enum { EXTENT = 300, WIDE = 40, STRIDE = 45 };

/* Whether the set holds just the marked offsets, in normal form. */
static bool same(const sluice_set *s, const unsigned char *in, int64_t n) {
    if (sluice_set_check(s, NULL)) return false;
    for (int64_t x = 0; x < n; x++)
        if (sluice_set_contains(s, x) != in[x]) return false;
    return sluice_set_hi(s) <= n;
}

static bool run(chance *c, void *arg) {
    static grove g, h;
    static unsigned char expect[EXTENT * STRIDE];
    sluice_set a = SLUICE_SET_EMPTY, one = SLUICE_SET_EMPTY, out = SLUICE_SET_EMPTY;
    oracle o, p;
    (void)arg;
    g.nfalls = g.nlists = h.nfalls = h.nlists = 0;
    oracle_init(&o, EXTENT);
    oracle_init(&p, WIDE);
    const sluice_falls_list *list = grove_grow(&g, c, EXTENT, 3), *inner = grove_grow(&h, c, WIDE, 2);
    bool good = oracle_list(&o, list) && oracle_list(&p, inner) && !sluice_set_build(&a, list, NULL) &&
                !sluice_set_build(&one, inner, NULL);
    int64_t gap = chance_low(c, 0, 30), last = -1;
    memset(expect, 0, sizeof expect);
    for (int64_t x = 0; x < EXTENT; x++) {
        if (!o.in[x]) continue;
        if (last >= 0 && x - last - 1 <= gap) memset(expect + last + 1, 1, (size_t)(x - last - 1));
        expect[last = x] = 1;
    }
    good = good && !sluice_set_coarsen(&out, &a, gap) && same(&out, expect, EXTENT);
    memset(expect, 0, sizeof expect);
    for (int64_t i = 0; i < EXTENT; i++)
        for (int64_t x = 0; o.in[i] && x < WIDE; x++) expect[i * STRIDE + x] |= p.in[x];
    good = good && !sluice_set_product(&out, &a, &one, STRIDE) && same(&out, expect, EXTENT * STRIDE);
    sluice_set_free(&a);
    sluice_set_free(&one);
    sluice_set_free(&out);
    oracle_free(&o);
    oracle_free(&p);
    return !good;
}

/* Growing the numbers does not grow the description; what does not fit is refused. */
static int limits(void) {
    sluice_set a = SLUICE_SET_EMPTY, one = SLUICE_SET_EMPTY, out = SLUICE_SET_EMPTY;
    int bad = 0;
    bad |= sluice_set_falls(&a, 5, 3, 10, (int64_t)1 << 50) || sluice_set_coarsen(&out, &a, 6) || out.nnode != 1;
    bad |= sluice_set_coarsen(&out, &a, 7) || out.nnode != 1 || sluice_set_nruns(&out) != 1;
    bad |= sluice_set_falls(&one, 0, 2, 4, 2) || sluice_set_product(&out, &a, &one, 10) || out.nnode > 4;
    bad |= out.size != a.size * one.size;
    bad |= sluice_set_product(&out, &a, &one, 5) != SLUICE_E_ARGUMENT;
    bad |= sluice_set_product(&out, &a, &one, (int64_t)1 << 20) != SLUICE_E_OVERFLOW;
    sluice_set_free(&a);
    sluice_set_free(&one);
    sluice_set_free(&out);
    if (bad || sluice_mem_live()) printf("limits\n");
    return bad || sluice_mem_live();
}

int main(void) {
    uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    const char *env = getenv("SLUICE_TEST_CASES");
    int64_t cases = env ? atoll(env) / 10 : 10000;
    chance c = {0};
    int failed = limits();
    printf("seed %llu\n", (unsigned long long)seed);
    for (int64_t i = 0; i < cases && !failed; i++) {
        chance_seed(&c, seed + (uint64_t)i);
        if (!run(&c, NULL)) continue;
        chance_shrink(&c, run, NULL);
        printf("case %lld fails; smallest draws:", (long long)i);
        for (int k = 0; k < c.n; k++) printf(" %lld", (long long)c.draw[k]);
        printf("\n");
        failed = 1;
    }
    chance_free(&c);
    return failed;
}
