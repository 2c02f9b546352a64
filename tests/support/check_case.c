/* check_case.c: one random case: which kind, and the kinds about plain sets. */
#include "support/check.h"
#include <stdlib.h>
#include <string.h>

void check_grow(checker *c, oracle *o, sluice_set *s, int64_t extent, int depth, const char *name) {
    static grove g;
    static char text[20000];
    sluice_reason why = {0};
    g.nfalls = g.nlists = 0;
    g.hollow = false;
    const sluice_falls_list *list = grove_grow(&g, c->chance, extent, depth);
    check_show_list(c, name, list);
    if (g.hollow) check_show(c, "    (an inner {} is an empty block here)\n");
    oracle_init(o, extent);
    if (!oracle_list(o, list)) check_fail(c, "the test made a bad list");
    if (!check_ok(c, sluice_set_build(s, list, &why), "build")) return;
    check_set(c, CHECK_BUILD, o, s, "built");
    if (c->failed || g.hollow) return;
    sluice_set parsed = SLUICE_SET_EMPTY;
    if (check_ok(c, sluice_set_parse(&parsed, grove_text(list, text, sizeof text), &why), "parse"))
        check_set(c, CHECK_TEXT, o, &parsed, "parsed");
    sluice_set_free(&parsed);
}

static void check_cut(checker *c, const oracle *o, const sluice_set *s) {
    int64_t lo = chance_draw(c->chance, -2, o->n + 1), hi = chance_draw(c->chance, -2, o->n + 2);
    oracle expected;
    sluice_set out = SLUICE_SET_EMPTY;
    check_show(c, "  cut to [%lld, %lld)\n", (long long)lo, (long long)hi);
    oracle_init(&expected, o->n);
    oracle_cut(&expected, o, lo, hi);
    if (check_ok(c, sluice_set_cut(&out, s, lo, hi), "cut")) check_set(c, CHECK_CUT, &expected, &out, "cut");
    if (!c->failed && lo >= 0) check_gather(c, o, s, lo, hi, chance_draw(c->chance, 0, 15));
    oracle_free(&expected);
    sluice_set_free(&out);
}

static void check_shift(checker *c, const oracle *o, const sluice_set *s) {
    int64_t by = chance_draw(c->chance, 0, 40) - oracle_lo(o);
    oracle expected;
    sluice_set out = SLUICE_SET_EMPTY;
    check_show(c, "  shift by %lld\n", (long long)by);
    oracle_init(&expected, o->n + 40);
    oracle_shift(&expected, o, by);
    if (check_ok(c, sluice_set_shift(&out, s, by), "shift")) check_set(c, CHECK_SHIFT, &expected, &out, "shift");
    if (!c->failed && s->size)
        check_refused(c, SLUICE_E_ARGUMENT, sluice_set_shift(&out, s, -oracle_lo(o) - 1), "shift below 0");
    if (!c->failed) check_set(c, CHECK_SHIFT, &expected, &out, "after a refused shift");
    oracle_free(&expected);
    sluice_set_free(&out);
}

static void check_repeat(checker *c, const oracle *o, const sluice_set *s) {
    int64_t off = chance_draw(c->chance, 0, 20), n = chance_draw(c->chance, 0, 6);
    int64_t step = chance_draw(c->chance, 0, o->n + 3);
    oracle expected;
    sluice_set out = SLUICE_SET_EMPTY;
    check_show(c, "  repeat at %lld, every %lld, %lld times\n", (long long)off, (long long)step, (long long)n);
    oracle_init(&expected, o->n + off + n * step);
    oracle_repeat(&expected, o, off, step, n);
    if (check_ok(c, sluice_set_repeat(&out, s, off, step, n), "repeat")) {
        check_set(c, CHECK_REPEAT, &expected, &out, "repeat");
        check_forms(c, &expected, &out);
    }
    oracle_free(&expected);
    sluice_set_free(&out);
}

/* The same operation with the output in the place of an input. */
static void check_alias(checker *c, const oracle *oa, const sluice_set *a, const oracle *ob, const sluice_set *b) {
    sluice_set out = SLUICE_SET_EMPTY;
    oracle expected;
    oracle_init(&expected, oa->n);
    bool first = chance_once_in(c->chance, 2);
    if (check_ok(c, sluice_set_copy(&out, first ? a : b), "copy")) {
        check_set(c, CHECK_COPY, first ? oa : ob, &out, "copy");
        oracle_subtract(&expected, oa, ob);
        if (check_ok(c, first ? sluice_set_subtract(&out, &out, b) : sluice_set_subtract(&out, a, &out),
                     "A - B in place"))
            check_set(c, CHECK_SUBTRACT, &expected, &out, "A - B in place");
    }
    if (check_ok(c, sluice_set_copy(&out, a), "copy") && check_ok(c, sluice_set_union(&out, &out, &out), "A + A"))
        check_set(c, CHECK_UNION, oa, &out, "A + A in place");
    oracle_free(&expected);
    sluice_set_free(&out);
}

static check_side draw_side(checker *c, const oracle *o, const sluice_set *s) {
    check_side side = {o, s, chance_low(c->chance, 0, s ? s->size : 20), 0, chance_draw(c->chance, 0, 15)};
    side.origin = chance_draw(c->chance, 0, s ? oracle_lo(o) : side.from);
    check_show(c, "  from rank %lld, origin %lld, skew %lld\n", (long long)side.from, (long long)side.origin,
               (long long)side.skew);
    return side;
}

static void check_some_moves(checker *c, const oracle *oa, const sluice_set *a, const oracle *ob, const sluice_set *b) {
    check_side sa = draw_side(c, oa, a), sb = draw_side(c, ob, b), flat = draw_side(c, NULL, NULL);
    int64_t n = chance_draw(c->chance, 0, oa->n + 2);
    check_show(c, "  move %lld bytes\n", (long long)n);
    check_move(c, &sa, &sb, n);
    if (!c->failed) check_move(c, &sa, &flat, n);
    if (!c->failed) check_move(c, &flat, &sb, n);
    if (!c->failed) check_move(c, &flat, &(check_side){.skew = 3}, n);
}

/* Two sets and everything that can be done with them. */
static void case_sets(checker *c) {
    int64_t extent = chance_low(c->chance, 2, chance_once_in(c->chance, 4) ? 600 : 150);
    int depth = (int)chance_draw(c->chance, 1, 4);
    oracle oa = {0, NULL}, ob = {0, NULL};
    sluice_set a = SLUICE_SET_EMPTY, b = SLUICE_SET_EMPTY;
    check_grow(c, &oa, &a, extent, depth, "A");
    if (!c->failed) check_grow(c, &ob, &b, extent, depth, "B");
    if (!c->failed) check_operations(c, &oa, &a, &ob, &b);
    if (!c->failed) check_cut(c, &oa, &a);
    if (!c->failed) check_shift(c, &oa, &a);
    if (!c->failed) check_repeat(c, &oa, &a);
    if (!c->failed) check_alias(c, &oa, &a, &ob, &b);
    if (!c->failed) check_some_moves(c, &oa, &a, &ob, &b);
    if (!c->failed) check_forms(c, &oa, &a);
    if (!c->failed && chance_once_in(c->chance, 4)) check_positions(c, &oa, &a);
    if (!c->failed && chance_once_in(c->chance, 8)) check_pair_seeks(c, &oa, &a, &ob, &b);
    oracle_free(&oa);
    oracle_free(&ob);
    sluice_set_free(&a);
    sluice_set_free(&b);
}

/* A set from runs, which may touch and be empty; then the same with two runs out of order. */
static void case_runs(checker *c) {
    sluice_run run[64];
    int n = (int)chance_low(c->chance, 0, 60);
    int64_t x = 0, gap = 1, len = 1;
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    oracle o;
    check_show(c, "  runs");
    for (int i = 0; i < n; i++) {
        if (chance_once_in(c->chance, 4)) { /* otherwise regular, like the ones before */
            gap = chance_low(c->chance, 0, 9);
            len = chance_low(c->chance, 0, 9);
        }
        run[i] = (sluice_run){x + gap, len};
        x = run[i].off + len;
        check_show(c, " %lld+%lld", (long long)run[i].off, (long long)run[i].len);
    }
    check_show(c, "\n");
    oracle_init(&o, x + 1);
    for (int i = 0; i < n; i++) oracle_block(&o, run[i].off, run[i].len);
    if (check_ok(c, sluice_set_runs(&s, run, n, &why), "runs")) {
        check_set(c, CHECK_FROM_RUNS, &o, &s, "from runs");
        if (s.nnode > 2 * n) check_fail(c, "%d families for %d runs", s.nnode, n);
        check_forms(c, &o, &s);
    }
    int i = n > 1 ? (int)chance_draw(c->chance, 1, n - 1) : 0;
    if (!c->failed && i && run[i].len && run[i - 1].len) {
        run[i].off = run[i - 1].off + run[i - 1].len - 1;
        check_refused(c, SLUICE_E_ORDER, sluice_set_runs(&s, run, n, &why), "runs out of order");
        if (!c->failed && why.pos != i) check_fail(c, "runs: the culprit is %d, not %lld", i, why.pos);
        check_set(c, CHECK_FROM_RUNS, &o, &s, "after refused runs");
    }
    oracle_free(&o);
    sluice_set_free(&s);
}

/* Processor-indexed families, and the plain constructors. */
static void case_pitfalls(checker *c) {
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    int nprocs = (int)chance_draw(c->chance, 1, 5);
    int64_t len = chance_low(c->chance, 1, 8), step = len + chance_low(c->chance, 0, 30);
    sluice_falls f = {chance_low(c->chance, 0, 20), len, step, chance_low(c->chance, 1, 9), NULL};
    sluice_pitfalls p = {f, chance_draw(c->chance, 0, 20), nprocs};
    int64_t extent = f.off + f.n * f.step + nprocs * p.shift;
    check_show_list(c, "falls", &(sluice_falls_list){1, &f});
    check_show(c, "  shifted by %lld for each of %d\n", (long long)p.shift, nprocs);
    for (int i = 0; i < nprocs && !c->failed; i++) {
        sluice_falls shifted = f;
        oracle o;
        shifted.off += i * p.shift;
        oracle_init(&o, extent);
        oracle_list(&o, &(sluice_falls_list){1, &shifted});
        if (check_ok(c, sluice_set_pitfalls(&s, &p, i, &why), "pitfalls"))
            check_set(c, CHECK_PITFALLS, &o, &s, "pitfalls");
        if (!c->failed && check_ok(c, sluice_set_falls(&s, shifted.off, f.len, f.step, f.n), "falls"))
            check_set(c, CHECK_FALLS, &o, &s, "falls");
        oracle_free(&o);
        oracle_init(&o, extent);
        oracle_block(&o, shifted.off, f.len);
        if (!c->failed && check_ok(c, sluice_set_block(&s, shifted.off, f.len), "block"))
            check_set(c, CHECK_BLOCK, &o, &s, "block");
        oracle_free(&o);
    }
    check_refused(c, SLUICE_E_ARGUMENT, sluice_set_pitfalls(&s, &p, nprocs, &why), "a process too many");
    sluice_set_free(&s);
}

/* One of the shapes for which there are special copy loops, or nearly one. */
static void grow_kernel(checker *c, oracle *o, sluice_set *s, int64_t extent, const char *name) {
    static const int64_t size[] = {1, 2, 4, 8, 16, 3, 5, 7, 12, 24, 32, 64};
    int64_t len = size[chance_draw(c->chance, 0, 11)], step = len * chance_draw(c->chance, 1, 5);
    if (chance_once_in(c->chance, 3)) step += chance_draw(c->chance, 0, 9);
    int64_t off = chance_low(c->chance, 0, 20), n = chance_draw(c->chance, 1, (extent / 2 - off - len) / step + 1);
    sluice_falls inner = {0, len, step, n, NULL};
    int64_t width = len + (n - 1) * step;
    sluice_falls_list list = {1, &inner};
    sluice_falls outer = {off, width, width + chance_low(c->chance, 0, 40), 1, &list};
    outer.n = chance_low(c->chance, 1, (extent - off - width) / outer.step + 1);
    sluice_falls_list whole = {1, &outer};
    check_show_list(c, name, &whole);
    oracle_init(o, extent);
    sluice_reason why = {0};
    if (!oracle_list(o, &whole)) check_fail(c, "the test made a bad list");
    if (check_ok(c, sluice_set_build(s, &whole, &why), "build")) check_set(c, CHECK_BUILD, o, s, name);
}

static void case_move(checker *c) {
    oracle oa = {0, NULL}, ob = {0, NULL};
    sluice_set a = SLUICE_SET_EMPTY, b = SLUICE_SET_EMPTY;
    int64_t extent = chance_low(c->chance, 200, 3000);
    grow_kernel(c, &oa, &a, extent, "A");
    grow_kernel(c, &ob, &b, extent, "B");
    if (!c->failed) check_some_moves(c, &oa, &a, &ob, &b);
    int64_t lo = chance_low(c->chance, 0, extent), hi = extent - chance_low(c->chance, 0, extent);
    check_show(c, "  gather [%lld, %lld)\n", (long long)lo, (long long)hi);
    if (!c->failed) check_gather(c, &oa, &a, lo, hi, chance_draw(c->chance, 0, 15));
    oracle_free(&oa);
    oracle_free(&ob);
    sluice_set_free(&a);
    sluice_set_free(&b);
}

bool check_case(checker *c) {
    static void (*const kind[])(checker *) = {
        case_sets,      case_runs, case_pitfalls,        check_case_section,
        check_case_hpf, case_move, check_case_domain,    check_case_element,
        case_sets,      case_sets, check_case_partition, check_case_common,
    };
    c->failed = c->damaged = false;
    kind[chance_draw(c->chance, 0, (int64_t)(sizeof kind / sizeof *kind) - 1)](c);
    return !c->failed;
}
