/* ranks: 1 */
/* set_exhaustive: everything small.
 *
 * All families in [0, 14), written in every way; every position, cut, and range of bytes moved; all pairs of them under
 * every operation; all small two-level nestings; all pairs of small periodic elements; all ways of being refused. */
#include "support/check.h"
#include <stdlib.h>
#include <string.h>

enum { EXTENT = 14, MASKS = 1 << EXTENT, MAX_FAMILIES = 2000, MAX_NESTED = 4000 };

/* A set, its oracle, and how it was written. */
typedef struct item {
    oracle o;
    sluice_set s;
    sluice_falls falls, inner;
} item;

static item family[MAX_FAMILIES], nested[MAX_NESTED];
static int nfamilies, nnested;

/* Prints what differed and for which input; counts. */
static int failures;
static void report(const checker *c, const char *what, const item *a, const item *b) {
    char text[200];
    if (!c->failed || failures++ > 10) return;
    fprintf(stderr, "%s: %s\n", what, c->what);
    for (int i = 0; i < 2; i++) {
        const item *it = i ? b : a;
        if (it) fprintf(stderr, "  %s\n", grove_text(&(sluice_falls_list){1, &it->falls}, text, sizeof text));
    }
}

static unsigned mask_of(const oracle *o) {
    unsigned mask = 0;
    for (int64_t x = 0; x < o->n; x++) mask |= (unsigned)o->in[x] << x;
    return mask;
}

/* Builds a family, alone or with an inner one; keeps it if its bytes have not been seen. */
static void add(item *list, int *n, int max, const sluice_falls *f, const sluice_falls *inner, bool *seen) {
    checker c = {0};
    item it = {.falls = *f};
    sluice_falls_list whole = {1, &it.falls}, in = {1, inner};
    if (inner) it.falls.inner = &in;
    oracle_init(&it.o, EXTENT);
    if (oracle_list(&it.o, &whole)) {
        sluice_reason why = {0};
        if (check_ok(&c, sluice_set_build(&it.s, &whole, &why), "build"))
            check_set(&c, CHECK_BUILD, &it.o, &it.s, "built");
        if (!inner && !c.failed) {
            sluice_set direct = SLUICE_SET_EMPTY;
            if (check_ok(&c, sluice_set_falls(&direct, f->off, f->len, f->step, f->n), "falls"))
                check_set(&c, CHECK_FALLS, &it.o, &direct, "falls");
            sluice_set_free(&direct);
        }
        report(&c, "construction", &it, NULL);
        unsigned mask = mask_of(&it.o);
        if (*n < max && !seen[mask]) {
            seen[mask] = true;
            list[*n] = it;
            if (inner) {
                list[*n].inner = *inner;
                sluice_falls_list *keep = test_resize(NULL, sizeof *keep);
                *keep = (sluice_falls_list){1, &list[*n].inner};
                list[*n].falls.inner = keep;
            }
            ++*n;
            return;
        }
    }
    oracle_free(&it.o);
    sluice_set_free(&it.s);
}

static void make_items(void) {
    static bool seen[MASKS];
    sluice_falls f, g;
    for (f = (sluice_falls){0}; f.off < EXTENT; f.off++)
        for (f.len = 1; f.off + f.len <= EXTENT; f.len++)
            for (f.step = 0; f.step <= EXTENT; f.step++)
                for (f.n = 1; f.n == 1 || (f.step >= f.len && f.off + (f.n - 1) * f.step + f.len <= EXTENT); f.n++)
                    add(family, &nfamilies, MAX_FAMILIES, &f, NULL, seen);
    for (f = (sluice_falls){0}; f.off < 3; f.off++)
        for (f.len = 2; f.len <= 7; f.len++)
            for (f.step = f.len; f.step <= 9; f.step++)
                for (f.n = 1; f.off + (f.n - 1) * f.step + f.len <= EXTENT; f.n++)
                    for (g = (sluice_falls){0}; g.off < f.len; g.off++)
                        for (g.len = 1; g.off + g.len <= f.len; g.len++)
                            for (g.step = g.len; g.step <= 5; g.step++)
                                for (g.n = 1; g.off + (g.n - 1) * g.step + g.len <= f.len; g.n++)
                                    add(nested, &nnested, MAX_NESTED, &f, &g, seen);
}

/* Everything about one set: positions, forms, all cuts and all ranges gathered, scattered and moved. */
static void check_item(const item *it) {
    checker c = {0};
    const oracle *o = &it->o;
    oracle cut;
    oracle_init(&cut, EXTENT);
    check_positions(&c, o, &it->s);
    check_forms(&c, o, &it->s);
    for (int64_t lo = 0; lo <= EXTENT && !c.failed; lo++) {
        for (int64_t hi = lo; hi <= EXTENT && !c.failed; hi++) {
            sluice_set out = SLUICE_SET_EMPTY;
            oracle_cut(&cut, o, lo, hi);
            if (check_ok(&c, sluice_set_cut(&out, &it->s, lo, hi), "cut")) check_set(&c, CHECK_CUT, &cut, &out, "cut");
            sluice_set_free(&out);
            check_gather(&c, o, &it->s, lo, hi, 3 * lo + hi);
        }
    }
    for (int64_t from = 0; from <= it->s.size && !c.failed; from++) {
        for (int64_t n = 0; n <= it->s.size - from && !c.failed; n++) {
            check_side side = {o, &it->s, from, 0, from + 2 * n}, flat = {NULL, NULL, n, n / 2, n};
            check_move(&c, &side, &flat, n);
            check_move(&c, &flat, &side, n);
        }
    }
    oracle_free(&cut);
    report(&c, "one set", it, NULL);
}

static void check_pair_of(const item *a, const item *b, bool seeks) {
    checker c = {0};
    check_operations(&c, &a->o, &a->s, &b->o, &b->s);
    if (seeks) check_pair_seeks(&c, &a->o, &a->s, &b->o, &b->s);
    report(&c, "two sets", a, b);
}

/* All sets of bytes in periods of up to 4, from displacements up to 2, with each other. */
static void check_elements(void) {
    enum { MOST = 100 };
    oracle_element o[MOST];
    sluice_set s[MOST];
    sluice_element e[MOST];
    int n = 0;
    for (int64_t period = 1; period <= 4; period++) {
        for (int mask = 0; mask < 1 << period; mask++) {
            for (int64_t disp = 0; disp < 3; disp++, n++) {
                sluice_run run[4];
                int64_t nruns = 0;
                oracle_init(&o[n].set, period);
                for (int64_t x = 0; x < period; x++) {
                    o[n].set.in[x] = mask >> x & 1;
                    if (mask >> x & 1) run[nruns++] = (sluice_run){x, 1};
                }
                o[n].period = period;
                o[n].disp = disp;
                s[n] = (sluice_set)SLUICE_SET_EMPTY;
                if (sluice_set_runs(&s[n], run, nruns, NULL)) failures++;
                e[n] = (sluice_element){&s[n], period, disp};
            }
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            checker c = {0};
            check_common(&c, &o[i], &e[i], &o[j], &e[j]);
            if (!c.failed || failures++ > 10) continue;
            fprintf(stderr, "elements %d and %d (periods %lld, %lld): %s\n", i, j, (long long)e[i].period,
                    (long long)e[j].period, c.what);
        }
    }
    for (int i = 0; i < n; i++) {
        oracle_free(&o[i].set);
        sluice_set_free(&s[i]);
    }
    printf("%d pairs of elements\n", n * n);
}

/* Whether `error` is a true complaint about a family in a block of `extent` bytes. */
static bool complaint(const sluice_falls *f, int64_t extent, int error) {
    switch (error) {
    case SLUICE_E_ARGUMENT: return f->off < 0;
    case SLUICE_E_BLOCK: return f->len < 1;
    case SLUICE_E_COUNT: return f->n < 1;
    case SLUICE_E_STEP: return f->n > 1 && f->step < f->len;
    case SLUICE_E_INNER:
        return f->off < 0 || f->off + (f->n - 1) * f->step + f->len > extent || f->off + f->len > extent;
    default: return false;
    }
}

/* Families that break a rule, alone and inside a block; families that share a byte. */
static void check_refusals(void) {
    enum { BLOCK = 5 };
    sluice_falls f;
    sluice_set out = SLUICE_SET_EMPTY;
    int refused = 0;
    for (f = (sluice_falls){.off = -1}; f.off < 4; f.off++)
        for (f.len = -1; f.len < 4; f.len++)
            for (f.step = -1; f.step < 4; f.step++)
                for (f.n = -1; f.n < 4; f.n++) {
                    sluice_falls_list list = {1, &f};
                    sluice_falls outer = {2, BLOCK, 7, 2, &list};
                    for (int inside = 0; inside < 2; inside++) {
                        sluice_reason why = {0};
                        oracle o;
                        sluice_falls_list whole = {1, inside ? &outer : &f};
                        oracle_init(&o, 100);
                        bool good = oracle_list(&o, &whole);
                        int error = sluice_set_build(&out, &whole, &why);
                        oracle_free(&o);
                        refused += !good;
                        if (good ? error == 0 : complaint(&f, inside ? BLOCK : 100, error) && why.error == error)
                            continue;
                        failures++;
                        fprintf(stderr, "refusal: (%lld,%lld,%lld,%lld)%s: %d %s\n", (long long)f.off,
                                (long long)(f.off + f.len - 1), (long long)f.step, (long long)f.n,
                                inside ? " inside" : "", error, why.text);
                    }
                }
    for (int i = 0; i < nfamilies; i++) {
        for (int j = 0; j < nfamilies; j++) {
            sluice_falls both[] = {family[i].falls, family[j].falls};
            bool overlap = mask_of(&family[i].o) & mask_of(&family[j].o);
            int error = sluice_set_build(&out, &(sluice_falls_list){2, both}, NULL);
            refused += overlap;
            if (error == (overlap ? SLUICE_E_OVERLAP : 0)) continue;
            checker c = {0};
            check_fail(&c, "expected %s, got %s", overlap ? "an overlap" : "success", sluice_strerror(error));
            report(&c, "two families", &family[i], &family[j]);
        }
    }
    sluice_set_free(&out);
    printf("%d inputs refused\n", refused);
}

/* Arguments that no set is to blame for. */
static void check_misuse(void) {
    checker c = {0};
    sluice_set out = SLUICE_SET_EMPTY, s = SLUICE_SET_EMPTY, none = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    check_ok(&c, sluice_set_falls(&s, 0, 1, 2, 3), "falls");
    const int64_t bad[][2] = {{0, 0}, {-1, 0}, {5, -1}, {4, 0}}; /* period, displacement; the set ends at 5 */
    for (int i = 0; i < 4; i++) {
        sluice_element good = {&s, 5, 0}, e = {&s, bad[i][0], bad[i][1]};
        sluice_partition p = {1, &s, bad[i][0], bad[i][1]}, q = {1, &s, 5, 0};
        sluice_common common;
        sluice_matrix m;
        memset(&common, 0, sizeof common);
        memset(&m, 0, sizeof m);
        check_refused(&c, SLUICE_E_ARGUMENT, sluice_element_cut(&out, &e, 0, 9), "cut of a bad element");
        check_refused(&c, SLUICE_E_ARGUMENT, sluice_element_intersect(&common, &e, &good), "a bad element first");
        check_refused(&c, SLUICE_E_ARGUMENT, sluice_element_intersect(&common, &good, &e), "a bad element second");
        check_refused(&c, SLUICE_E_ARGUMENT, sluice_redistribute(&m, &p, &q), "a bad partition first");
        check_refused(&c, SLUICE_E_ARGUMENT, sluice_redistribute(&m, &q, &p), "a bad partition second");
        check_refused(&c, SLUICE_E_ARGUMENT, sluice_redistribute_within(&m, &p, &q, 9), "a bad partition in a file");
        if (bad[i][0])
            check_refused(&c, SLUICE_E_ARGUMENT, sluice_partition_check(&p, &why), "check of a bad partition");
        if (i < 3)
            check_refused(&c, SLUICE_E_ARGUMENT, sluice_element_compose(&out, &e, &good, &e), "a bad inner view");
    }
    sluice_partition p = {1, &s, 5, 0}, nobody = {0, NULL, 5, 0};
    sluice_element empty = {&none, 5, 0}, good = {&s, 5, 0}, e;
    sluice_matrix m;
    int part;
    int64_t off;
    memset(&m, 0, sizeof m);
    check_refused(&c, SLUICE_E_GAP, sluice_partition_owner(&p, 1, &part, &off), "owner of a byte in a gap");
    check_refused(&c, SLUICE_E_ARGUMENT, sluice_redistribute(&m, &p, &nobody), "redistribution to nobody");
    check_refused(&c, SLUICE_E_ARGUMENT, sluice_redistribute_within(&m, &p, &p, -1), "a file shorter than nothing");
    check_refused(&c, SLUICE_E_EMPTY, sluice_partition_check(&nobody, &why), "a partition without elements");
    check_refused(&c, SLUICE_E_ARGUMENT, sluice_element_compose(&out, &e, &empty, &good), "a view of nothing");
    check_refused(&c, SLUICE_E_ARGUMENT, sluice_set_repeat(&out, &s, -1, 1, 1), "repeat before 0");
    check_refused(&c, SLUICE_E_ARGUMENT, sluice_set_repeat(&out, &s, 0, -1, 2), "repeat backwards");
    check_refused(&c, SLUICE_E_ARGUMENT, sluice_set_repeat(&out, &s, 0, 1, -1), "repeat less than never");
    sluice_run run = {3, -1};
    check_refused(&c, SLUICE_E_ARGUMENT, sluice_set_runs(&out, &run, 1, &why), "a run of negative length");
    if (out.size) check_fail(&c, "a refused call changed its output");
    sluice_set_free(&s);
    report(&c, "misuse", NULL, NULL);
}

int main(void) {
    make_items();
    printf("%d families, %d two-level families\n", nfamilies, nnested);
    for (int i = 0; i < nfamilies; i++) check_item(&family[i]);
    for (int i = 0; i < nnested; i++) check_item(&nested[i]);
    for (int i = 0; i < nfamilies; i++)
        for (int j = 0; j < nfamilies; j++) check_pair_of(&family[i], &family[j], (i + j) % 8 == 0);
    for (int i = 0; i < nnested; i++) {
        for (int j = 0; j < nfamilies; j++) {
            check_pair_of(&nested[i], &family[j], false);
            check_pair_of(&family[j], &nested[i], false);
        }
        for (int j = 0; j < nnested; j++) check_pair_of(&nested[i], &nested[j], true);
    }
    printf("%d pairs of sets\n", (nfamilies + nnested) * (nfamilies + nnested));
    check_elements();
    check_refusals();
    check_misuse();
    for (int i = 0; i < nfamilies; i++) {
        oracle_free(&family[i].o);
        sluice_set_free(&family[i].s);
    }
    for (int i = 0; i < nnested; i++) {
        oracle_free(&nested[i].o);
        sluice_set_free(&nested[i].s);
        free((void *)(uintptr_t)nested[i].falls.inner);
    }
    if (failures) fprintf(stderr, "%d failures\n", failures);
    return failures ? 1 : 0;
}
