/* ranks: 1 */
/* layout_random: random layouts of random arrays against dealing byte after byte: who has each byte, and where; what of
 * a random set of bytes each subfile has; whether another extent leaves everything in place. */
#include "layout_oracle.h"
#include <stdlib.h>

/* The sets are those of the oracle, a partition, and lie apart in the physical space. */
static bool same_sets(const sluice_layout *l, const layout_case *c) {
    if (l->n != c->n || l->length != c->length || strcmp(l->text, c->text) != 0) return false;
    int64_t total = 0;
    for (int i = 0; i < l->n; i++) {
        if (sluice_set_check(&l->set[i], NULL)) return false;
        if (l->base[i] % SLUICE_MAP_STRETCH || l->base[i + 1] - l->base[i] < l->set[i].size + SLUICE_MAP_STRETCH)
            return false;
        total += l->set[i].size;
    }
    for (int64_t x = 0; x < l->length; x++) {
        const int i = c->owner[x];
        if (i >= l->n || !sluice_set_contains(&l->set[i], x) || sluice_set_rank(&l->set[i], x) != c->off[x])
            return false;
        if (sluice_layout_owner(l, x) != i) return false;
    }
    sluice_partition p = {l->n, l->set, 0, 0};
    return total == l->length && l->base[0] == 0 && (l->length == 0 || !sluice_partition_check(&p, NULL));
}

/* The k-th byte of one set beside the k-th of the other: byte `off` of subfile i, and the rank in the request. */
static bool same_split(const sluice_layout *l, const layout_case *c, const oracle *f, const sluice_set *file) {
    sluice_set sub = SLUICE_SET_EMPTY, ranks = SLUICE_SET_EMPTY;
    bool hit[8 * 8 * 8] = {false}, good = true;
    int64_t have[8 * 8 * 8] = {0}, rank = 0;
    const int count = sluice_layout_meet(l, file, hit);
    int marked = 0;
    for (int i = 0; i < l->n; i++) marked += hit[i];
    for (int64_t x = 0; x < l->length; x++) have[c->owner[x]] += f->in[x];
    for (int i = 0; i < l->n && good; i++) {
        int64_t k = 0;
        good = !sluice_layout_split(l, file, i, &sub, &ranks) && sub.size == have[i] && ranks.size == have[i] &&
               (hit[i] || !have[i]);
        rank = 0;
        for (int64_t x = 0; x < l->length && good; x++) {
            if (!f->in[x]) continue;
            if (c->owner[x] == i) {
                good = sluice_set_select(&sub, k) == c->off[x] && sluice_set_select(&ranks, k) == rank;
                k++;
            }
            rank++;
        }
    }
    sluice_set_free(&sub);
    sluice_set_free(&ranks);
    return good && count == marked;
}

/* Another extent is taken if, and only if, no byte changes hands. */
static bool same_resize(const sluice_layout *l, const layout_case *c, int64_t extent) {
    static layout_case to;
    sluice_layout *made = NULL;
    sluice_reason why = {0};
    bool keeps = true;
    to = *c;
    for (int d = 0; d < to.shape.ndims; d++) /* these point into the case */
        if (to.dist[d].sizes) to.dist[d].sizes = to.sizes[d];
    const int slowest = to.shape.order == SLUICE_ROW_MAJOR ? 0 : to.shape.ndims - 1;
    to.shape.dim[slowest] = extent;
    const bool fixed = c->kind == 6 && c->dist[slowest].kind != SLUICE_DIST_STAR &&
                       (c->dist[slowest].kind == SLUICE_DIST_GENBLOCK || c->dist[slowest].block);
    int64_t most = extent;
    if (fixed && c->dist[slowest].kind == SLUICE_DIST_GENBLOCK) most = c->shape.dim[slowest];
    if (fixed && c->dist[slowest].kind == SLUICE_DIST_BLOCK) most = c->dist[slowest].block * c->grid[slowest];
    const bool impossible = extent > most || (fixed && c->dist[slowest].kind == SLUICE_DIST_GENBLOCK && extent != most);
    if (!impossible) {
        case_deal(&to);
        for (int64_t x = 0; x < c->length && x < to.length; x++) keeps &= to.owner[x] == c->owner[x];
    }
    const int error = sluice_layout_resize(&made, l, extent, &why);
    bool good = impossible || !keeps ? error == SLUICE_E_ARGUMENT && !made && why.text[0] && why.error == error
                                     : !error && same_sets(made, &to);
    if (good && !impossible && !keeps)
        good = why.pos >= 0 && why.pos < to.length && to.owner[why.pos] != c->owner[why.pos];
    sluice_layout_free(made);
    return good;
}

static bool run(chance *r, void *arg) {
    static layout_case c;
    static grove g;
    sluice_layout *l = NULL;
    sluice_set file = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    oracle f;
    memset(&c, 0, sizeof c);
    g.nfalls = g.nlists = 0;
    case_draw(&c, r);
    if (arg)
        printf("  %s, %d dimensions of %lld bytes, order %d: %lld x %lld x %lld x %lld\n", c.text, c.shape.ndims,
               (long long)c.shape.elem, (int)c.shape.order, (long long)c.shape.dim[0], (long long)c.shape.dim[1],
               (long long)c.shape.dim[2], (long long)c.shape.dim[3]);
    bool good = !sluice_layout_parse(&l, &c.shape, c.text, &why);
    if (arg) printf("  %s\n", why.text);
    oracle_init(&f, c.length + 1);
    if (c.length > 0) {
        const sluice_falls_list *list = grove_grow(&g, r, c.length, 3);
        good = good && oracle_list(&f, list) && !sluice_set_build(&file, list, NULL);
    }
    good = good && same_sets(l, &c) && same_split(l, &c, &f, &file);
    const int64_t extent = chance_low(r, 0, 12);
    good = good && same_resize(l, &c, extent);
    sluice_set_free(&file);
    oracle_free(&f);
    sluice_layout_free(l);
    return !good || sluice_mem_live();
}

int main(void) {
    const uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    const char *env = getenv("SLUICE_TEST_CASES");
    const int64_t cases = env ? atoll(env) / 100 : 1500;
    chance c = {0};
    int failed = 0;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int64_t i = 0; i < cases && !failed; i++) {
        chance_seed(&c, seed + (uint64_t)i);
        if (!run(&c, NULL)) continue;
        chance_shrink(&c, run, NULL);
        printf("case %lld fails:\n", (long long)i);
        c.at = 0;
        c.replay = true;
        run(&c, "");
        failed = 1;
    }
    chance_free(&c);
    return failed;
}
