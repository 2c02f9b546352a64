/* ranks: 1 */
/* domain.c: file domains against their definition; disjoint and covering whatever the numbers. */
#include "base/base.h"
#include "sluice_set.h"
#include "support/unit.h"
#include <string.h>

enum { MOST_PROCS = 7, MOST_BYTES = 400 };

/* The multiple of `grid` nearest to x - lo, plus lo: found by looking at all of them. */
static int64_t nearest(int64_t x, int64_t lo, int64_t grid) {
    int64_t best = lo;
    for (int64_t c = lo; c <= x + grid; c += grid)
        if ((c > x ? c - x : x - c) <= (best > x ? best - x : x - best)) best = c;
    return best;
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

/* Where domain i of a contiguous division starts, from the definition. */
static int64_t expected_cut(const sluice_domains *d, int64_t i) {
    const int64_t unit = d->unit ? d->unit : 1;
    int64_t nunits = 0, k = 0, x;
    while (d->lo + nunits * unit < d->hi) nunits++;
    if (i == 0) return d->lo;
    if (i == d->nprocs) return d->hi;
    if (d->kind == SLUICE_DOMAIN_BLOCK) {
        int64_t block = 0;
        while (block * d->nprocs < nunits) block++;
        k = i * block;
    } else { /* EVEN: the first nunits mod P processes have one more */
        for (int64_t p = 0; p < i; p++) k += nunits / d->nprocs + (p < nunits % d->nprocs);
    }
    x = clamp(d->lo + k * unit, d->lo, d->hi);
    if (d->align) x = clamp(nearest(x, 0, d->align), d->lo, d->hi);
    return x;
}

/* Fills owner[] with who has each byte of the range, and checks that the domains are disjoint, cover it and stay
 * inside. */
static void deal(const sluice_domains *d, int *owner) {
    int64_t total = 0;
    for (int64_t x = 0; x < MOST_BYTES; x++) owner[x] = -1;
    for (int p = 0; p < d->nprocs; p++) {
        sluice_set set = SLUICE_SET_EMPTY;
        sluice_reason why = {0};
        CHECK(sluice_domain(&set, d, p, &why) == 0, "%s", why.text);
        CHECK(sluice_set_check(&set, &why) == 0, "%s", why.text);
        total += set.size;
        for (int64_t x = 0; x < MOST_BYTES; x++)
            if (sluice_set_contains(&set, x)) {
                CHECK(owner[x] < 0 && x >= d->lo && x < d->hi, "byte %lld of [%lld, %lld) in domain %d and %d",
                      (long long)x, (long long)d->lo, (long long)d->hi, owner[x], p);
                owner[x] = p;
            }
        sluice_set_free(&set);
    }
    CHECK(total == d->hi - d->lo, "kind %d: %lld bytes of [%lld, %lld)", (int)d->kind, (long long)total,
          (long long)d->lo, (long long)d->hi);
}

static sluice_domains random_domains(sluice_domain_kind kind) {
    sluice_domains d = {.size = sizeof d, .kind = kind, .nprocs = 1 + (int)below(MOST_PROCS)};
    d.lo = below(100);
    d.hi = d.lo + (below(20) ? below(200) : 0);
    d.unit = below(3) ? below(20) : 0;
    d.align = below(2) ? below(40) : 0;
    return d;
}

static void contiguous(void) {
    for (int i = 0; i < 4000; i++) {
        const sluice_domains d = random_domains(i % 2 ? SLUICE_DOMAIN_BLOCK : SLUICE_DOMAIN_EVEN);
        int owner[MOST_BYTES];
        deal(&d, owner);
        for (int p = 0; p < d.nprocs; p++)
            for (int64_t x = expected_cut(&d, p); x < expected_cut(&d, p + 1); x++)
                CHECK(owner[x] == p, "kind %d: byte %lld belongs to %d, not %d", (int)d.kind, (long long)x, owner[x],
                      p);
    }
}

static void cyclic(void) {
    for (int i = 0; i < 4000; i++) {
        sluice_domains d = random_domains(SLUICE_DOMAIN_CYCLIC);
        int owner[MOST_BYTES];
        d.block = below(5);
        const int64_t block = (d.unit ? d.unit : 1) * (d.block ? d.block : 1);
        /* With an alignment: whole multiples of it, from the multiple nearest to lo on. */
        const int64_t length = !d.align ? block : nearest(block, 0, d.align) ? nearest(block, 0, d.align) : d.align;
        const int64_t from = d.align ? nearest(d.lo, 0, d.align) : d.lo;
        deal(&d, owner);
        for (int64_t x = d.lo; x < d.hi; x++) {
            const int want = x < from ? 0 : (int)((x - from) / length % d.nprocs);
            CHECK(owner[x] == want, "byte %lld belongs to %d, not %d", (long long)x, owner[x], want);
            if (owner[x] != want) break;
        }
    }
}

static void weighted(void) {
    for (int i = 0; i < 4000; i++) {
        sluice_domains d = random_domains(SLUICE_DOMAIN_WEIGHTED);
        sluice_set wanted = SLUICE_SET_EMPTY, more = SLUICE_SET_EMPTY;
        int owner[MOST_BYTES];
        int64_t has[MOST_PROCS] = {0}, low = INT64_MAX, high = 0, n = 0;
        const int64_t len = 1 + below(9);
        if (below(10)) {
            CHECK(!sluice_set_falls(&wanted, below(150), len, len + below(30), 1 + below(6)), "falls");
            CHECK(!sluice_set_block(&more, below(300), below(50)), "block");
            CHECK(!sluice_set_union(&wanted, &wanted, &more), "union");
        }
        d.wanted = &wanted;
        deal(&d, owner);
        for (int64_t x = d.lo; x < d.hi; x++) {
            if (x > d.lo && owner[x] != owner[x - 1]) {
                CHECK(owner[x] > owner[x - 1], "byte %lld: domains out of order", (long long)x);
                if (d.align)
                    CHECK(x % d.align == 0, "cut at %lld with alignment %lld", (long long)x, (long long)d.align);
                else if (d.unit)
                    CHECK((x - d.lo) % d.unit == 0, "cut at %lld", (long long)x);
            }
            if (sluice_set_contains(&wanted, x)) has[owner[x]]++, n++;
        }
        for (int p = 0; p < d.nprocs; p++) {
            if (has[p] < low) low = has[p];
            if (has[p] > high) high = has[p];
        }
        if (!d.align && !d.unit) CHECK(high - low <= 1, "%lld and %lld wanted bytes", (long long)low, (long long)high);
        /* A unit or an alignment moves each end of a domain by half of it at most. */
        CHECK(high <= n / d.nprocs + 1 + (d.unit ? d.unit : 1) + d.align, "%lld of %lld wanted bytes", (long long)high,
              (long long)n);
        sluice_set_free(&wanted);
        sluice_set_free(&more);
    }
}

static void bounds(void) {
    for (int i = 0; i < 2000; i++) {
        sluice_set set[4] = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
        const sluice_set *request[4] = {&set[0], &set[1], &set[2], &set[3]};
        const int64_t origin = below(20), slab = 1 + below(15);
        const int n = (int)below(5);
        int64_t lo = origin, hi = origin;
        int any = 0;
        for (int k = 0; k < n; k++) {
            if (below(3)) CHECK(!sluice_set_falls(&set[k], origin + below(60), 2, 5, 1 + below(4)), "falls");
            if (!set[k].size) continue;
            int64_t first = origin, end = origin;
            while (first + slab <= sluice_set_lo(&set[k])) first += slab;
            while (end < sluice_set_hi(&set[k])) end += slab;
            if (!any || first < lo) lo = first;
            if (!any || end > hi) hi = end;
            any = 1;
        }
        sluice_domains d = {.size = sizeof d, .lo = 1, .hi = 2};
        CHECK(sluice_domains_bound(&d, request, n, origin, slab) == 0, "bound");
        CHECK(d.lo == lo && d.hi == hi, "[%lld, %lld), not [%lld, %lld)", (long long)d.lo, (long long)d.hi,
              (long long)lo, (long long)hi);
        for (int k = 0; k < 4; k++) sluice_set_free(&set[k]);
    }
}

/* Ranges of 2^63-1 bytes among 2^31-1 processes. */
static void huge(void) {
    sluice_set set = SLUICE_SET_EMPTY, wanted = SLUICE_SET_EMPTY;
    sluice_domains d = {.size = sizeof d, .nprocs = INT32_MAX, .hi = INT64_MAX, .wanted = &wanted};
    CHECK(sluice_set_falls(&wanted, 1, 1, 3, INT64_MAX / 3) == 0, "falls");
    for (int k = SLUICE_DOMAIN_BLOCK; k <= SLUICE_DOMAIN_WEIGHTED; k++)
        for (int a = 0; a < 3; a++)
            for (int u = 0; u < 3; u++) {
                d.kind = (sluice_domain_kind)k;
                d.align = (int64_t[]){0, 4096, INT64_MAX}[a];
                d.unit = d.block = (int64_t[]){0, 1 << 20, INT64_MAX}[u];
                for (int p = 0; p < 3; p++) {
                    int64_t end = 0;
                    const int proc = (int[]){0, 1, INT32_MAX - 2}[p];
                    CHECK(sluice_domain(&set, &d, proc, NULL) == 0, "kind %d", k);
                    if (set.size) end = sluice_set_hi(&set);
                    CHECK(sluice_domain(&set, &d, proc + 1, NULL) == 0, "kind %d", k);
                    if (k != SLUICE_DOMAIN_CYCLIC && set.size && end)
                        CHECK(sluice_set_lo(&set) == end, "kind %d: domains do not touch", k);
                }
            }
    sluice_set_free(&set);
    sluice_set_free(&wanted);
}

static void refusals(void) {
    const sluice_domains good = {.size = sizeof good, .nprocs = 4, .lo = 10, .hi = 20};
    sluice_set out = SLUICE_SET_EMPTY;
    sluice_reason why;
    CHECK(sluice_set_block(&out, 0, 7) == 0, "block");
#define REFUSED(change, proc, part)                                                                                    \
    do {                                                                                                               \
        sluice_domains d = good;                                                                                       \
        change;                                                                                                        \
        CHECK(sluice_domain(&out, &d, proc, NULL) == SLUICE_E_ARGUMENT, "without a reason");                           \
        CHECK(sluice_domain(&out, &d, proc, &why) == SLUICE_E_ARGUMENT && strstr(why.text, part) && out.size == 7,     \
              "%s", why.text);                                                                                         \
    } while (0)
    REFUSED(d.size = 8, 0, "size field 8");
    REFUSED(d.nprocs = 0, 0, "process 0 of 0");
    REFUSED(d.nprocs = 4, 4, "process 4 of 4");
    REFUSED(d.nprocs = 4, -1, "process -1 of 4");
    REFUSED(d.lo = -1, 0, "range [-1, 20)");
    REFUSED(d.hi = 9, 0, "range [10, 9)");
    REFUSED(d.unit = -3, 0, "unit -3");
    REFUSED(d.align = -4, 0, "alignment -4");
    REFUSED(d.block = -5, 0, "block -5");
    REFUSED(d.kind = SLUICE_DOMAIN_WEIGHTED, 0, "wanted");
    REFUSED(d.kind = (sluice_domain_kind)7, 0, "kind of domains 7");

    const sluice_set *request[1] = {&out};
    sluice_domains d = good;
    CHECK(sluice_domains_bound(&d, request, -1, 0, 1) == SLUICE_E_ARGUMENT, "-1 requests");
    CHECK(sluice_domains_bound(&d, request, 1, -1, 1) == SLUICE_E_ARGUMENT, "origin -1");
    CHECK(sluice_domains_bound(&d, request, 1, 0, 0) == SLUICE_E_ARGUMENT, "slabs of 0 bytes");
    CHECK(sluice_domains_bound(&d, request, 1, 1, 1) == SLUICE_E_ARGUMENT, "a request before the origin");
    CHECK(sluice_set_block(&out, 1LL << 62, 1) == 0, "block");
    CHECK(sluice_domains_bound(&d, request, 1, 0, 1LL << 62) == SLUICE_E_OVERFLOW, "a slab that passes 2^63-1");
    CHECK(sluice_domains_bound(&d, request, 1, 1LL << 61, 3LL << 61) == SLUICE_E_OVERFLOW, "an end past 2^63-1");
    CHECK(d.lo == 10 && d.hi == 20, "the range changed");
    sluice_set_free(&out);
}

/* A division whose sets take more than one allocation. */
static int make(sluice_set *out) {
    const sluice_domains d = {
        .size = sizeof d, .kind = SLUICE_DOMAIN_CYCLIC, .nprocs = 2, .lo = 3, .hi = 99, .unit = 3, .align = 4};
    return sluice_domain(out, &d, 0, NULL);
}

int main(void) {
    contiguous();
    cyclic();
    weighted();
    bounds();
    huge();
    refusals();
    check_each_allocation(make);
    return verdict();
}
