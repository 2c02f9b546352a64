/* ranks: 1 */
/* set_law: what must hold where no oracle can follow: offsets up to 2^62, families of 10^12 blocks.
 *
 * The laws of set algebra, of rank and select, of projection and of periodic elements on random huge sets; descriptors
 * and working memory that do not grow with the array; overflow refused everywhere; and an answer in bounded time and
 * memory where no short answer exists. */
#include "set/set.h"
#include "support/check.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures;
static uint64_t seed;

static void expect(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void expect(bool good, const char *format, ...) {
    if (good || failures++ > 20) return;
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, " (SLUICE_TEST_SEED=%" PRIu64 ")\n", seed);
}

/* ---- random huge sets ---- */

/* Steps are small multiples of a common ladder, so that the sets have something to do with each other. */
static int64_t ladder(chance *c, int rung) { return ((int64_t)1 << (10 + 13 * rung)) * chance_draw(c, 1, 3) * 3; }

/* One family tree: blocks of blocks of ... bytes, up to three levels. */
static int grow_tree(sluice_set *out, chance *c) {
    int top = (int)chance_draw(c, 0, 2), err = 0;
    int64_t step = ladder(c, 0), len = chance_draw(c, 1, step);
    err = sluice_set_falls(out, chance_draw(c, 0, step - len), len, step, chance_draw(c, 1, 4000));
    for (int rung = 1; rung <= top && !err; rung++) {
        step = ladder(c, rung);
        if (chance_once_in(c, 40)) step = sluice_set_hi(out) + chance_draw(c, 0, 100000); /* off the ladder */
        while (step < sluice_set_hi(out)) step *= 2;
        int64_t most = ((int64_t)1 << 60) / step;
        err = sluice_set_repeat(out, out, chance_draw(c, 0, step), step, chance_low(c, 1, most > 4000 ? 4000 : most));
    }
    return err;
}

/* A few trees and a wide family of up to 10^12 blocks, far from 0. */
static int grow_huge(sluice_set *out, chance *c) {
    sluice_set one = SLUICE_SET_EMPTY;
    int n = (int)chance_draw(c, 1, 3), err = 0;
    sluice_set_free(out);
    for (int i = 0; i < n && !err; i++) {
        if (chance_once_in(c, 3)) {
            int64_t step = ladder(c, 0), len = chance_draw(c, 1, step);
            err = sluice_set_falls(&one, chance_draw(c, 0, step), len, step, chance_draw(c, 1, 1000000000000));
        } else {
            err = grow_tree(&one, c);
        }
        if (!err) err = sluice_set_union(out, out, &one);
    }
    if (!err) err = sluice_set_shift(out, out, chance_draw(c, 0, 1) << chance_draw(c, 40, 61));
    sluice_set_free(&one);
    return err;
}

/* ---- the laws ---- */

enum { NSETS = 6 };
static sluice_set t[NSETS]; /* results of one round */
static int complex_results, rounds;

/* Whether the call gave a result; too complex is a legal answer here, other errors are not. */
static bool done(int err, const char *call) {
    complex_results += err == SLUICE_E_COMPLEX;
    expect(err == 0 || err == SLUICE_E_COMPLEX, "%s: %s", call, sluice_strerror(err));
    return err == 0;
}

static void same(const sluice_set *a, const sluice_set *b, const char *law) {
    sluice_reason why = {0};
    expect(sluice_set_check(a, &why) == 0, "%s: not in normal form: %s", law, why.text);
    expect(a->size == b->size, "%s: sizes %" PRId64 " and %" PRId64, law, a->size, b->size);
    int equal = sluice_set_equal(a, b);
    if (done(equal < 0 ? equal : 0, "equal")) expect(equal == 1, "%s", law);
}

#define UNION(o, a, b) done(sluice_set_union(o, a, b), "union")
#define INTERSECT(o, a, b) done(sluice_set_intersect(o, a, b), "intersect")
#define SUBTRACT(o, a, b) done(sluice_set_subtract(o, a, b), "subtract")
#define CUT(o, a, lo, hi) done(sluice_set_cut(o, a, lo, hi), "cut")

static int pieces(int64_t *n, const sluice_set *a, const sluice_set *b) {
    sluice_outline oa = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY}, ob = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    int err = sluice_outline_make(&oa, a);
    if (!err) err = sluice_outline_make(&ob, b);
    if (!err) err = sluice_count_pieces(n, a, &oa, b, &ob);
    sluice_outline_free(&oa);
    sluice_outline_free(&ob);
    return err;
}

static void algebra(const sluice_set *a, const sluice_set *b, const sluice_set *c) {
    sluice_set *aorb = &t[0], *aandb = &t[1];
    if (!UNION(aorb, a, b) || !INTERSECT(aandb, a, b)) return;
    if (UNION(&t[2], b, a)) same(&t[2], aorb, "A + B = B + A");
    if (INTERSECT(&t[2], b, a)) same(&t[2], aandb, "A & B = B & A");
    int64_t counted = -1;
    if (done(sluice_count_bytes(&counted, a, b), "count")) expect(counted == aandb->size, "|A & B| counted");
    if (done(pieces(&counted, a, b), "pieces") && done(sluice_set_project(&t[2], aandb, aorb), "project"))
        expect(counted == sluice_set_nruns(&t[2]), "pieces of A & B = its runs in the space of A + B");
    expect(a->size - aandb->size == aorb->size - b->size, "|A| + |B| = |A + B| + |A & B|");
    if (SUBTRACT(&t[2], a, b)) {
        expect(t[2].size == a->size - aandb->size, "|A - B| = |A| - |A & B|");
        if (INTERSECT(&t[3], &t[2], b)) expect(t[3].size == 0, "(A - B) & B = 0");
        if (UNION(&t[3], &t[2], aandb)) same(&t[3], a, "(A - B) + (A & B) = A");
    }
    if (UNION(&t[2], aorb, c) && UNION(&t[3], b, c) && UNION(&t[4], a, &t[3]))
        same(&t[2], &t[4], "(A + B) + C = A + (B + C)");
    if (INTERSECT(&t[2], aandb, c) && INTERSECT(&t[3], b, c) && INTERSECT(&t[4], a, &t[3]))
        same(&t[2], &t[4], "(A & B) & C = A & (B & C)");
    if (INTERSECT(&t[2], aorb, c) && INTERSECT(&t[3], a, c) && INTERSECT(&t[4], b, c) && UNION(&t[5], &t[3], &t[4]))
        same(&t[2], &t[5], "(A + B) & C = (A & C) + (B & C)");
    if (UNION(&t[2], aandb, c) && UNION(&t[3], a, c) && UNION(&t[4], b, c) && INTERSECT(&t[5], &t[3], &t[4]))
        same(&t[2], &t[5], "(A & B) + C = (A + C) & (B + C)");
    if (SUBTRACT(&t[3], c, a) && SUBTRACT(&t[4], c, b)) {
        if (SUBTRACT(&t[2], c, aorb) && INTERSECT(&t[5], &t[3], &t[4]))
            same(&t[2], &t[5], "C - (A + B) = (C - A) & (C - B)");
        if (SUBTRACT(&t[2], c, aandb) && UNION(&t[5], &t[3], &t[4]))
            same(&t[2], &t[5], "C - (A & B) = (C - A) + (C - B)");
    }
    int64_t end = sluice_max(sluice_set_hi(a), sluice_set_hi(b));
    if (done(sluice_set_block(&t[5], 0, end), "block") && SUBTRACT(&t[3], &t[5], a)) { /* in the window [0, end) */
        if (SUBTRACT(&t[4], &t[5], &t[3])) same(&t[4], a, "the complement of the complement");
        if (SUBTRACT(&t[4], &t[5], b) && INTERSECT(&t[4], &t[3], &t[4]) && SUBTRACT(&t[2], &t[5], aorb))
            same(&t[4], &t[2], "the complement of A + B");
        if (SUBTRACT(&t[4], &t[5], b) && UNION(&t[4], &t[3], &t[4]) && SUBTRACT(&t[2], &t[5], aandb))
            same(&t[4], &t[2], "the complement of A & B");
    }
    if (INTERSECT(&t[2], a, a)) same(&t[2], a, "A & A = A");
    if (UNION(&t[2], a, a)) same(&t[2], a, "A + A = A");
    if (SUBTRACT(&t[2], a, a)) expect(t[2].size == 0, "A - A = 0");
}

/* A member or a neighbour of one. */
static int64_t some_offset(const sluice_set *a, chance *c) {
    if (chance_once_in(c, 4)) return chance_draw(c, 0, sluice_set_hi(a));
    return sluice_set_select(a, chance_draw(c, 0, a->size - 1)) + chance_draw(c, 0, 2) - 1;
}

static void positions(const sluice_set *a, chance *c) {
    sluice_cursor cursor;
    sluice_run run;
    for (int i = 0; i < 40; i++) {
        int64_t k = i == 0 ? 0 : i == 1 ? a->size - 1 : chance_draw(c, 0, a->size - 1), x = sluice_set_select(a, k);
        expect(sluice_set_contains(a, x) == 1, "select(k) is a member");
        expect(sluice_set_rank(a, x) == k && sluice_set_rank(a, x + 1) == k + 1, "rank(select(k)) = k");
        expect(sluice_set_next(a, x) == x && sluice_set_prev(a, x) == x, "a member is next and previous to itself");
        sluice_cursor_init(&cursor, a);
        sluice_cursor_seek(&cursor, k);
        expect(sluice_cursor_run(&cursor, &run) && run.off == x, "a cursor sought to k stands at select(k)");
        expect(sluice_set_rank(a, run.off + run.len) == k + run.len, "a run is full");
        expect(!sluice_set_contains(a, run.off + run.len), "a run is as long as it can be");
        int64_t next = sluice_set_next(a, run.off + run.len);
        expect(sluice_cursor_run(&cursor, &run) ? run.off == next : next == -1,
               "the next run starts at the next member");
        x = some_offset(a, c);
        int64_t up = sluice_set_next(a, x), down = sluice_set_prev(a, x), below = sluice_set_rank(a, x);
        expect(up == sluice_set_select(a, below), "next(x) = select(rank(x))");
        expect(down == sluice_set_select(a, sluice_set_rank(a, x + 1) - 1), "prev(x) = select(rank(x + 1) - 1)");
        expect(sluice_set_contains(a, x) == (up == x), "x is a member if it is its own next");
        sluice_cursor_seek_offset(&cursor, x);
        expect(sluice_cursor_run(&cursor, &run) ? run.off == up : up == -1, "seek_offset(x) goes to next(x)");
    }
}

static void cuts(const sluice_set *a, const sluice_set *b, chance *c) {
    int64_t x = some_offset(a, c), y = x + chance_draw(c, 0, (int64_t)1 << chance_draw(c, 0, 50));
    if (x < 0) return;
    if (CUT(&t[0], a, 0, x) && CUT(&t[1], a, x, INT64_MAX)) {
        expect(t[0].size == sluice_set_rank(a, x), "|cut below x| = rank(x)");
        if (UNION(&t[2], &t[0], &t[1])) same(&t[2], a, "the halves of a cut make the whole");
        if (INTERSECT(&t[2], &t[0], &t[1])) expect(t[2].size == 0, "the halves of a cut are disjoint");
    }
    if (CUT(&t[0], a, x, y) && done(sluice_set_block(&t[1], x, y - x), "block") && INTERSECT(&t[2], a, &t[1]))
        same(&t[0], &t[2], "cut = intersection with a block");
    int64_t by = chance_draw(c, 0, (int64_t)1 << 61);
    if (done(sluice_set_shift(&t[0], a, by), "shift")) {
        expect(sluice_set_lo(&t[0]) == sluice_set_lo(a) + by && t[0].size == a->size, "shift moves the bounds");
        if (done(sluice_set_shift(&t[1], b, by), "shift") && INTERSECT(&t[2], &t[0], &t[1]) && INTERSECT(&t[3], a, b) &&
            done(sluice_set_shift(&t[3], &t[3], by), "shift"))
            same(&t[2], &t[3], "shift(A) & shift(B) = shift(A & B)");
        if (done(sluice_set_shift(&t[0], &t[0], -by), "shift")) same(&t[0], a, "shift there and back");
    }
}

static void projections(const sluice_set *a, const sluice_set *b, chance *c) {
    if (!INTERSECT(&t[0], a, b)) return;
    if (done(sluice_set_project(&t[1], a, b), "project")) {
        expect(t[1].size == t[0].size, "|A projected on B| = |A & B|");
        if (done(sluice_set_embed(&t[2], &t[1], b), "embed")) same(&t[2], &t[0], "embed(project(A)) = A & B");
        for (int i = 0; i < 20 && t[1].size; i++) {
            int64_t k = chance_draw(c, 0, t[1].size - 1), x = sluice_set_select(&t[0], k);
            expect(sluice_set_select(&t[1], k) == sluice_set_rank(b, x), "the projection is the rank");
        }
    }
    if (done(sluice_set_project(&t[1], a, a), "project") && done(sluice_set_block(&t[2], 0, a->size), "block"))
        same(&t[1], &t[2], "A projected on A is full");
    if (!chance_once_in(c, 10)) return;      /* mostly without a short answer, and then slow */
    int err = sluice_set_embed(&t[1], b, a); /* B as a view of A: strides that have nothing to do with each other */
    expect(err == 0 || err == SLUICE_E_COMPLEX, "embed: %s", sluice_strerror(err));
    if (!err) {
        if (SUBTRACT(&t[2], &t[1], a)) expect(t[2].size == 0, "embedded in A lies in A");
        if (done(sluice_set_project(&t[2], &t[1], a), "project") && CUT(&t[3], b, 0, a->size))
            same(&t[2], &t[3], "project(embed(B)) = B");
    }
}

/* Forms: the text and the wire say the same set. */
static void forms(const sluice_set *a) {
    int64_t n = sluice_set_print(a, NULL, 0), m = sluice_set_pack(a, NULL, 0);
    char *text = test_resize(NULL, (size_t)n + 1), *wire = test_resize(NULL, (size_t)m);
    sluice_set_print(a, text, (size_t)n + 1);
    sluice_set_pack(a, wire, (size_t)m);
    if (done(sluice_set_parse(&t[0], text, NULL), "parse")) same(&t[0], a, "text there and back");
    if (done(sluice_set_unpack(&t[0], wire, (size_t)m, NULL, NULL), "unpack")) same(&t[0], a, "wire there and back");
    free(text);
    free(wire);
}

static void elements(const sluice_set *a, chance *c) {
    sluice_element e = {a, sluice_set_hi(a), chance_draw(c, 0, 1000000)};
    int64_t room = (INT64_MAX - e.disp) / e.period;
    if (room < 2) return;
    for (int i = 0; i < 20; i++) {
        int64_t y = chance_draw(c, 0, a->size - 1), turn = chance_draw(c, 0, room - 2);
        int64_t x = sluice_element_unmap(&e, y), far = turn * e.period;
        expect(sluice_element_map(&e, x) == y, "map(unmap(y)) = y");
        expect(sluice_element_map(&e, x + far) == y + turn * a->size, "map repeats with the period");
        expect(sluice_element_unmap(&e, y + turn * a->size) == x + far, "unmap repeats with the period");
        int64_t z = x + far + 1;
        expect(sluice_element_next(&e, z) == y + turn * a->size + 1, "next after a member");
        expect(sluice_element_prev(&e, z) == sluice_element_rank(&e, z + 1) - 1, "prev(x) = rank(x + 1) - 1");
    }
    int64_t lo = e.disp + chance_draw(c, 0, room - 2) * e.period, hi = lo + e.period;
    if (done(sluice_element_cut(&t[0], &e, lo, hi), "element cut") &&
        done(sluice_set_shift(&t[0], &t[0], -lo), "shift"))
        same(&t[0], a, "one period of an element is its set");
    sluice_common common;
    memset(&common, 0, sizeof common);
    if (done(sluice_element_intersect(&common, &e, &e), "intersect of elements")) {
        same(&common.set, a, "an element has itself in common with itself");
        expect(common.segments == 1 && common.period1 == a->size, "as one piece");
    }
    sluice_common_free(&common);
}

static void laws(int n) {
    chance c = {0};
    sluice_set a = SLUICE_SET_EMPTY, b = SLUICE_SET_EMPTY, d = SLUICE_SET_EMPTY;
    int hard = 0; /* rounds that met a result without a short form */
    for (int i = 0, before = 0; i < n && !failures; i++, rounds++) {
        hard += complex_results > before;
        before = complex_results;
        chance_seed(&c, seed + (uint64_t)i);
        if (!done(grow_huge(&a, &c), "making A") || !done(grow_huge(&b, &c), "making B") ||
            !done(grow_huge(&d, &c), "making C"))
            continue;
        algebra(&a, &b, &d);
        positions(&a, &c);
        cuts(&a, &b, &c);
        projections(&a, &b, &c);
        forms(&a);
        elements(&a, &c);
    }
    for (int i = 0; i < NSETS; i++) sluice_set_free(&t[i]);
    sluice_set_free(&a);
    sluice_set_free(&b);
    sluice_set_free(&d);
    chance_free(&c);
    /* Steps off the ladder make up to one round in a hundred hard; a few more may be bad luck. */
    expect(hard * 50 <= rounds + 150, "results too complex in %d of %d rounds", hard, rounds);
    printf("%d rounds of laws, %d with results too complex (%d)\n", rounds, hard, complex_results);
}

/* ---- closed form: nothing grows with the array ---- */

/* Families and peak memory of what was just made. */
typedef struct cost {
    int64_t nodes, peak;
} cost;

static void cost_begin(void) { sluice_mem_peak_reset(); }

static cost cost_end(int64_t live, int64_t nodes) { return (cost){nodes, sluice_mem_peak() - live}; }

static void no_growth(cost small, cost large, const char *what) {
    expect(small.nodes > 0 && large.nodes <= small.nodes, "%s: %" PRId64 " families, then %" PRId64, what, small.nodes,
           large.nodes);
    expect(large.peak <= small.peak, "%s: %" PRId64 " bytes at most, then %" PRId64, what, small.peak, large.peak);
}

/* A strided section of ndims dimensions, the first `scaled` of which are 2^20 times as long. */
static cost section_cost(int ndims, int scaled, int64_t scale, sluice_order order) {
    sluice_shape shape = {.ndims = ndims, .order = order, .elem = 4, .header = 128};
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_set s = SLUICE_SET_EMPTY;
    int64_t live = sluice_mem_live(), bytes = 4;
    for (int d = 0; d < ndims; d++) {
        int64_t factor = d < scaled ? scale : 1, count = 2 * factor;
        shape.dim[d] = 5 * factor;
        range[d] = (sluice_range){1, count, 2};
        bytes *= count;
    }
    cost_begin();
    int err = sluice_set_section(&s, &shape, range, NULL);
    cost result = cost_end(live, s.nnode);
    expect(err == 0 && s.size == bytes, "a section of %d dimensions: %s", ndims, sluice_strerror(err));
    expect(s.nnode <= ndims, "a section of %d dimensions has %d families", ndims, s.nnode);
    sluice_set_free(&s);
    return result;
}

static sluice_dist dist_of(char kind) {
    if (kind == 'b') return (sluice_dist){SLUICE_DIST_BLOCK, 0, NULL};
    if (kind == 'c') return (sluice_dist){SLUICE_DIST_CYCLIC, 3, NULL};
    return (sluice_dist){SLUICE_DIST_STAR, 0, NULL};
}

/* All four parts of an n x n array of 8-byte elements. `how` is the kind of each dimension. */
static int64_t make_parts(sluice_set *part, const char *how, int64_t n) {
    sluice_shape shape = {.ndims = 2, .elem = 8, .dim = {n, n}};
    sluice_dist dist[2] = {dist_of(how[0]), dist_of(how[1])};
    int grid[2] = {how[0] == '*' ? 1 : how[1] == '*' ? 4 : 2, how[1] == '*' ? 1 : how[0] == '*' ? 4 : 2};
    int64_t nodes = 0, bytes = 0;
    for (int r = 0; r < 4; r++) {
        int err = sluice_set_hpf(&part[r], &shape, dist, grid, r, NULL);
        expect(err == 0, "part %d of %s: %s", r, how, sluice_strerror(err));
        nodes += part[r].nnode;
        bytes += part[r].size;
    }
    expect(bytes == 8 * n * n, "the parts of %s tile the array", how);
    return nodes;
}

static void free_parts(sluice_set *part) {
    for (int r = 0; r < 4; r++) sluice_set_free(&part[r]);
}

static cost parts_cost(const char *how, int64_t n) {
    sluice_set part[4] = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    int64_t live = sluice_mem_live();
    cost_begin();
    int64_t nodes = make_parts(part, how, n);
    cost result = cost_end(live, nodes);
    free_parts(part);
    return result;
}

/* The intersections of all parts of two layouts, and their redistribution matrix. */
static cost meeting_cost(const char *how1, const char *how2, int64_t n) {
    sluice_set one[4] = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    sluice_set two[4] = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    sluice_set both = SLUICE_SET_EMPTY;
    sluice_matrix m;
    int64_t nodes = 0, bytes = 0, moved = 0, live;
    memset(&m, 0, sizeof m);
    make_parts(one, how1, n);
    make_parts(two, how2, n);
    live = sluice_mem_live();
    cost_begin();
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            expect(sluice_set_intersect(&both, &one[i], &two[j]) == 0, "%s & %s", how1, how2);
            nodes += both.nnode;
            bytes += both.size;
        }
    }
    sluice_partition p1 = {4, one, 0, 16}, p2 = {4, two, 0, 16};
    expect(sluice_partition_check(&p1, NULL) == 0 && sluice_partition_check(&p2, NULL) == 0, "%s, %s", how1, how2);
    expect(sluice_redistribute(&m, &p1, &p2) == 0, "redistribution from %s to %s", how1, how2);
    for (int i = 0; i < 16; i++) moved += m.bytes[i];
    cost result = cost_end(live, nodes);
    expect(bytes == 8 * n * n && moved == bytes, "%s and %s have all in common", how1, how2);
    if (!strcmp(how1, how2)) expect(m.total_segments == 4, "equal layouts match perfectly");
    sluice_matrix_free(&m);
    sluice_set_free(&both);
    free_parts(one);
    free_parts(two);
    return result;
}

static void closed_form(void) {
    const int64_t scale = (int64_t)1 << 20;
    static const char *const layout[] = {"b*", "*b", "bb", "c*", "*c", "cc", "bc"};
    char what[80];
    for (int ndims = 1; ndims <= SLUICE_MAX_DIMS; ndims++) {
        for (int order = 0; order < 2; order++) {
            for (int scaled = 1; scaled <= 2 && scaled <= ndims && ndims - scaled < 9; scaled++) {
                snprintf(what, sizeof what, "section of %d dimensions, order %d", ndims, order);
                no_growth(section_cost(ndims, scaled, 1, (sluice_order)order),
                          section_cost(ndims, scaled, scale >> (ndims > 6 ? 8 : 0), (sluice_order)order), what);
            }
        }
    }
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++) {
        snprintf(what, sizeof what, "parts of %s", layout[i]);
        no_growth(parts_cost(layout[i], 240), parts_cost(layout[i], 240 * scale), what);
        for (size_t j = 0; j < sizeof layout / sizeof *layout; j++) {
            snprintf(what, sizeof what, "%s meets %s", layout[i], layout[j]);
            no_growth(meeting_cost(layout[i], layout[j], 240), meeting_cost(layout[i], layout[j], 240 * scale), what);
        }
    }
}

/* ---- folding: runs that repeat become families again ---- */

/* `rows` x `cols` copies of an irregular group of g blocks, and the same from its runs alone. */
static void fold_case(int64_t g, int64_t cols, int64_t rows, chance *c) {
    sluice_run group[1000], *run = test_resize(NULL, (size_t)(g * cols * rows) * sizeof *run);
    sluice_set built = SLUICE_SET_EMPTY, found = SLUICE_SET_EMPTY;
    int64_t end = 0, n = 0;
    for (int64_t i = 0; i < g; i++) { /* lengths rise, so that no part of the group repeats */
        group[i] = (sluice_run){end, 2 * i + 1 + chance_draw(c, 0, 1)};
        end = group[i].off + group[i].len + chance_draw(c, 1, 9);
    }
    int64_t step = end + chance_draw(c, 0, 5), line = cols * step + chance_draw(c, 7, 99);
    expect(sluice_set_runs(&built, group, g, NULL) == 0, "runs of a group");
    expect(sluice_set_repeat(&built, &built, 0, step, cols) == 0, "columns");
    expect(sluice_set_repeat(&built, &built, 100, line, rows) == 0, "rows");
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < cols; x++)
            for (int64_t i = 0; i < g; i++)
                run[n++] = (sluice_run){100 + y * line + x * step + group[i].off, group[i].len};
    expect(sluice_set_runs(&found, run, n, NULL) == 0, "runs of it all");
    expect(sluice_set_equal(&built, &found) == 1, "folded runs are the same set");
    expect(found.nnode <= built.nnode && found.nnode <= g + 2,
           "%" PRId64 " x %" PRId64 " groups of %" PRId64 ": %d families from the runs, %d when built", rows, cols, g,
           found.nnode, built.nnode);
    sluice_set_free(&built);
    sluice_set_free(&found);
    free(run);
}

static void folding(void) {
    chance c = {0};
    chance_seed(&c, seed);
    for (int64_t g = 1; g <= 12; g++)
        for (int64_t cols = 3; cols <= 21; cols += 3) /* two of a kind may stay two */
            for (int64_t rows = 3; rows <= 12; rows += 3) fold_case(g, cols, rows, &c);
    static const int64_t group[] = {31, 32, 33, 34, 65, 200, 1000};
    for (size_t i = 0; i < sizeof group / sizeof *group; i++) fold_case(group[i], 5, 3, &c);
    chance_free(&c);
}

/* ---- the edge of 63 bits ---- */

static void refused(int expected, int err, const char *what) {
    expect(err == expected, "%s: expected \"%s\", got \"%s\"", what, sluice_strerror(expected), sluice_strerror(err));
}

static void overflow(void) {
    const int64_t top = INT64_MAX, half = (int64_t)1 << 62;
    sluice_set s = SLUICE_SET_EMPTY, far = SLUICE_SET_EMPTY, one = SLUICE_SET_EMPTY;
    sluice_falls f = {half, half, half, 1, NULL};
    sluice_falls_list list = {1, &f};
    sluice_pitfalls p = {{0, 8, 8, 1, NULL}, half, 3};
    sluice_run run[2] = {{0, 5}, {top - 1, 2}};
    refused(0, sluice_set_block(&s, 0, top), "all offsets");
    expect(s.size == top && sluice_set_hi(&s) == top && sluice_set_rank(&s, top) == top, "all offsets");
    expect(sluice_set_select(&s, top - 1) == top - 1 && sluice_set_prev(&s, top) == top - 1, "the last offset");
    refused(0, sluice_set_block(&far, top - 1, 1), "the last offset");
    refused(0, sluice_set_block(&one, 0, 1), "the first offset");
    refused(0, sluice_set_union(&one, &one, &far), "both ends");
    refused(0, sluice_set_subtract(&one, &s, &one), "all but the ends");
    expect(one.size == top - 2 && sluice_set_lo(&one) == 1 && sluice_set_hi(&one) == top - 1, "all but the ends");
    refused(0, sluice_set_union(&one, &one, &s), "all again");
    expect(one.size == top, "all again");

    refused(SLUICE_E_OVERFLOW, sluice_set_block(&far, top, 1), "block");
    refused(SLUICE_E_OVERFLOW, sluice_set_block(&far, half, half), "block");
    refused(SLUICE_E_OVERFLOW, sluice_set_falls(&far, 0, 1, half, 3), "falls");
    refused(SLUICE_E_OVERFLOW, sluice_set_falls(&far, 1, 1, 2, half), "falls");
    refused(SLUICE_E_OVERFLOW, sluice_set_falls(&far, 1, 1, top, top), "falls");
    refused(SLUICE_E_OVERFLOW, sluice_set_build(&far, &list, NULL), "build");
    refused(SLUICE_E_OVERFLOW, sluice_set_pitfalls(&far, &p, 2, NULL), "pitfalls");
    refused(SLUICE_E_OVERFLOW, sluice_set_runs(&far, run, 2, NULL), "runs");
    refused(SLUICE_E_OVERFLOW, sluice_set_shift(&far, &far, 1), "shift");
    refused(SLUICE_E_OVERFLOW, sluice_set_repeat(&far, &far, 0, 1, 2), "repeat");
    refused(SLUICE_E_OVERFLOW, sluice_set_repeat(&far, &s, 1, 0, 1), "repeat");
    refused(SLUICE_E_OVERFLOW, sluice_set_repeat(&far, &s, 0, half, half), "repeat");
    sluice_falls twice[2] = {{0, top, top, 1, NULL}, {0, top, top, 1, NULL}};
    refused(SLUICE_E_OVERLAP, sluice_set_build(&far, &(sluice_falls_list){2, twice}, NULL), "all offsets twice");

    sluice_shape shape = {.ndims = 3, .elem = 8, .dim = {1 << 20, 1 << 20, 1 << 20}};
    sluice_range range[3] = {{0, 1, 1}, {0, 1, 1}, {0, 1, 1}};
    int64_t index[3] = {0}, count[3] = {1, 1, 1};
    int grid[3] = {1, 1, 1};
    sluice_dist dist[3] = {{SLUICE_DIST_STAR, 0, NULL}, {SLUICE_DIST_STAR, 0, NULL}, {SLUICE_DIST_BLOCK, 0, NULL}};
    refused(SLUICE_E_OVERFLOW, sluice_set_section(&far, &shape, range, NULL), "section");
    refused(SLUICE_E_OVERFLOW, sluice_set_memory(&far, &shape, index, count, NULL), "memory");
    refused(SLUICE_E_OVERFLOW, sluice_set_tile(&far, &shape, count, index, NULL), "tile");
    refused(SLUICE_E_OVERFLOW, sluice_set_hpf(&far, &shape, dist, grid, 0, NULL), "hpf");
    shape.elem = 4;
    shape.header = half;
    refused(SLUICE_E_OVERFLOW, sluice_set_section(&far, &shape, range, NULL), "section after a header");
    range[0].start = range[0].step = top; /* no such index; must not wrap into one that is */
    shape.header = 0;
    refused(SLUICE_E_ARGUMENT, sluice_set_section(&far, &shape, range, NULL), "a start of 2^63 - 1");
    range[0] = (sluice_range){1, top, 2};
    refused(SLUICE_E_ARGUMENT, sluice_set_section(&far, &shape, range, NULL), "a count of 2^63 - 1");
    expect(far.size == 1 && sluice_set_lo(&far) == top - 1, "a refused set stays as it was");

    sluice_element e1 = {&s, top, 0}, e2 = {&s, top, 1};
    sluice_common common;
    sluice_matrix m;
    memset(&common, 0, sizeof common);
    memset(&m, 0, sizeof m);
    refused(SLUICE_E_OVERFLOW, sluice_element_intersect(&common, &e1, &e2), "element window");
    expect(sluice_element_unmap(&e2, top) == -1 && sluice_element_unmap(&e1, top - 1) == top - 1, "unmap at the end");
    expect(sluice_element_next(&e2, top) == top - 1, "next at the end");
    sluice_partition p1 = {1, &s, top, 0}, p2 = {1, &s, top, 1};
    refused(SLUICE_E_OVERFLOW, sluice_redistribute(&m, &p1, &p2), "redistribute");
    refused(0, sluice_redistribute_within(&m, &p1, &p2, top), "redistribute within 2^63 - 1 bytes");
    expect(m.bytes[0] == top - 1 && m.segments[0] == 1 && m.disp == 1, "all but the first byte, in one piece");
    sluice_matrix_free(&m);
    refused(0, sluice_set_block(&one, 0, 1), "block");
    sluice_element q1 = {&one, half, 0}, q2 = {&one, half - 1, 0};
    refused(SLUICE_E_OVERFLOW, sluice_element_intersect(&common, &q1, &q2), "lcm of periods");
    refused(SLUICE_E_OVERFLOW, sluice_element_compose(&far, &e1, &q1, &q2), "compose");
    sluice_element every = {&one, 1, 0}, late = {&one, 1, top - 1}, wide = {&one, half, half};
    refused(SLUICE_E_OVERFLOW, sluice_element_compose(&far, &e1, &wide, &every), "compose far away");
    refused(SLUICE_E_OVERFLOW, sluice_element_compose(&far, &e1, &wide, &late), "compose past the end");
    sluice_domains d = {.size = sizeof d};
    const sluice_set *request = &far;
    refused(SLUICE_E_OVERFLOW, sluice_domains_bound(&d, &request, 1, 0, half + 1), "bound");
    sluice_set_free(&s);
    sluice_set_free(&far);
    sluice_set_free(&one);
}

/* ---- no short answer ---- */

static void monsters(void) {
    static const int64_t prime[] = {1000003, 15485863, 2147483647};
    enum { N = sizeof prime / sizeof *prime };
    static int (*const op[])(sluice_set *, const sluice_set *, const sluice_set *) = {
        sluice_set_union, sluice_set_intersect, sluice_set_subtract, sluice_set_project, sluice_set_embed};
    sluice_set a = SLUICE_SET_EMPTY, b = SLUICE_SET_EMPTY, out = SLUICE_SET_EMPTY;
    int given_up = 0;
    double slowest = 0;
    int64_t live = sluice_mem_live(), largest = 0;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            for (size_t k = 0; k < sizeof op / sizeof *op; k++) {
                if (i == j) continue;
                int err = sluice_set_falls(&a, 0, 1 + prime[i] / 3, prime[i], 1000000000);
                if (!err) err = sluice_set_falls(&b, 12345, 1 + prime[j] / 5, prime[j], 1000000000);
                expect(err == 0, "falls");
                sluice_mem_peak_reset();
                struct timespec from, to;
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
                err = op[k](&out, &a, &b);
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
                double time = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
                slowest = time > slowest ? time : slowest;
                largest = sluice_max(largest, sluice_mem_peak() - live);
                expect(err == 0 || err == SLUICE_E_COMPLEX, "monster: %s", sluice_strerror(err));
                given_up += err != 0;
                sluice_set_free(&out);
            }
        }
    }
    sluice_set_free(&a);
    sluice_set_free(&b);
    printf("%d of %zu monsters too complex; slowest %.2f s, most memory %.0f MiB\n", given_up,
           N * (N - 1) * sizeof op / sizeof *op, slowest, (double)largest / 1048576);
    expect(given_up > 0, "some monsters have no short form");
    expect(slowest < 20, "an operation took %.1f s", slowest);
    expect(largest < (int64_t)3 << 30, "an operation took %" PRId64 " bytes", largest);
}

int main(void) {
    seed = chance_default_seed("SLUICE_TEST_SEED");
    const char *n = getenv("SLUICE_TEST_CASES");
    printf("seed %" PRIu64 "\n", seed);
    fflush(stdout);
    laws(n ? atoi(n) / 100 : 300);
    closed_form();
    folding();
    overflow();
    monsters();
    expect(sluice_mem_live() == 0, "%" PRId64 " bytes leaked", sluice_mem_live());
    return failures ? 1 : 0;
}
