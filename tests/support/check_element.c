/* check_element.c: random periodic elements and partitions. */
#include "support/check.h"
#include <string.h>

/* An element with at most `most` bytes per period. */
static void grow_element(checker *c, oracle_element *o, sluice_element *e, sluice_set *s, int64_t most,
                         const char *name) {
    int64_t extent = chance_low(c->chance, 1, most);
    check_grow(c, &o->set, s, extent, 3, name);
    o->period = extent + chance_low(c->chance, 0, 6);
    o->disp = chance_low(c->chance, 0, 12);
    *e = (sluice_element){s, o->period, o->disp};
    check_show(c, "    every %lld from %lld\n", (long long)o->period, (long long)o->disp);
}

/* The mapping functions at x, where the oracle counted `rank` members below x. */
static void check_mapping(checker *c, const oracle_element *o, const sluice_element *e, int64_t x, int64_t rank) {
    int in = oracle_element_contains(o, x);
    long long at = (long long)x;
    check_value(c, CHECK_MAP_RANK, rank, sluice_element_rank(e, x), "below %lld", at);
    check_value(c, CHECK_MAP, in ? rank : -1, sluice_element_map(e, x), "of %lld", at);
    check_value(c, CHECK_MAP_NEXT, e->set->size ? rank : -1, sluice_element_next(e, x), "of %lld", at);
    check_value(c, CHECK_MAP_PREV, in ? rank : rank - 1, sluice_element_prev(e, x), "of %lld", at);
    /* Far away all is the same but for whole periods. */
    const int64_t periods = INT64_MAX / 4 / o->period, far = periods * o->period, more = periods * e->set->size;
    if (x < o->disp || c->failed) return;
    check_value(c, CHECK_MAP_RANK, rank + more, sluice_element_rank(e, x + far), "below %lld, far away", at);
    check_value(c, CHECK_MAP, in ? rank + more : -1, sluice_element_map(e, x + far), "of %lld, far away", at);
    check_value(c, CHECK_MAP_NEXT, e->set->size ? rank + more : -1, sluice_element_next(e, x + far), "far");
    check_value(c, CHECK_MAP_PREV, (in ? rank : rank - 1) + more, sluice_element_prev(e, x + far), "far");
    if (in) check_value(c, CHECK_UNMAP, x + far, sluice_element_unmap(e, rank + more), "of %lld, far away", at);
}

static void check_element_cut(checker *c, const oracle_element *o, const sluice_element *e) {
    int64_t lo = chance_low(c->chance, 0, 3 * o->period), hi = chance_draw(c->chance, lo, lo + 4 * o->period);
    sluice_set out = SLUICE_SET_EMPTY;
    oracle expected;
    check_show(c, "  cut to [%lld, %lld)\n", (long long)lo, (long long)hi);
    oracle_init(&expected, hi);
    for (int64_t x = lo; x < hi; x++) expected.in[x] = (unsigned char)oracle_element_contains(o, x);
    if (check_ok(c, sluice_element_cut(&out, e, lo, hi), "element cut"))
        check_set(c, CHECK_ELEMENT_CUT, &expected, &out, "element cut");
    oracle_free(&expected);
    sluice_set_free(&out);
}

/* A view of a view maps like the two of them one after the other. */
static void check_compose(checker *c, const oracle_element *outer, const sluice_element *e) {
    oracle_element inner = {{0, NULL}, 0, 0};
    sluice_set s = SLUICE_SET_EMPTY, both = SLUICE_SET_EMPTY;
    sluice_element f, g = {NULL, 0, 0};
    grow_element(c, &inner, &f, &s, 16, "view of it");
    if (!c->failed && e->set->size == 0) {
        check_refused(c, SLUICE_E_ARGUMENT, sluice_element_compose(&both, &g, e, &f), "compose with an empty element");
    } else if (!c->failed && check_ok(c, sluice_element_compose(&both, &g, e, &f), "compose")) {
        int64_t below = 0, members = 0; /* of outer; of the view of it */
        if (g.set != &both || sluice_set_hi(&both) > g.period) check_fail(c, "compose: not an element");
        for (int64_t x = 0; x < outer->disp + 6 * outer->period && !c->failed; x++) {
            int in = oracle_element_contains(outer, x) && oracle_element_contains(&inner, below);
            check_value(c, CHECK_COMPOSE, in ? members : -1, sluice_element_map(&g, x), "of %lld", (long long)x);
            members += in;
            below += oracle_element_contains(outer, x);
        }
    }
    oracle_free(&inner.set);
    sluice_set_free(&s);
    sluice_set_free(&both);
}

void check_case_element(checker *c) {
    oracle_element o = {{0, NULL}, 0, 0};
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_element e;
    grow_element(c, &o, &e, &s, 60, "element");
    int64_t rank = 0;
    for (int64_t x = -2; x < o.disp + 3 * o.period && !c->failed; x++) {
        check_mapping(c, &o, &e, x, rank);
        rank += oracle_element_contains(&o, x);
    }
    check_value(c, CHECK_UNMAP, -1, sluice_element_unmap(&e, -1), "of -1");
    if (s.size == 0) check_value(c, CHECK_UNMAP, -1, sluice_element_unmap(&e, 0), "in nothing");
    for (int64_t y = 0; y < 3 * s.size && !c->failed; y++)
        check_value(c, CHECK_UNMAP, oracle_element_unmap(&o, y), sluice_element_unmap(&e, y), "of %lld", (long long)y);
    if (!c->failed) check_element_cut(c, &o, &e);
    if (!c->failed) check_compose(c, &o, &e);
    oracle_free(&o.set);
    sluice_set_free(&s);
}

static int64_t lcm(int64_t a, int64_t b) {
    int64_t m = a;
    while (m % b) m += a;
    return m;
}

void check_common(checker *c, const oracle_element *o1, const sluice_element *e1, const oracle_element *o2,
                  const sluice_element *e2) {
    sluice_common common;
    memset(&common, 0, sizeof common);
    if (!check_ok(c, sluice_element_intersect(&common, e1, e2), "intersect of elements")) return;
    int64_t disp = o1->disp > o2->disp ? o1->disp : o2->disp, period = lcm(o1->period, o2->period);
    int64_t first1 = oracle_element_rank(o1, disp), first2 = oracle_element_rank(o2, disp);
    int64_t y1 = first1, y2 = first2, segments = 0;
    int64_t end1 = -1, end2 = -1; /* just past the last common byte, in each space */
    oracle set, proj1, proj2;
    oracle_init(&set, period);
    oracle_init(&proj1, y1 + period);
    oracle_init(&proj2, y2 + period);
    for (int64_t x = disp; x < disp + period; x++) {
        int in1 = oracle_element_contains(o1, x), in2 = oracle_element_contains(o2, x);
        if (in1 && in2) {
            set.in[x - disp] = proj1.in[y1] = proj2.in[y2] = 1;
            if (y1 != end1 || y2 != end2) segments++;
            end1 = y1 + 1;
            end2 = y2 + 1;
        }
        y1 += in1;
        y2 += in2;
    }
    check_value(c, CHECK_COMMON_WINDOW, disp, common.disp, "displacement");
    check_value(c, CHECK_COMMON_WINDOW, period, common.period, "period");
    check_set(c, CHECK_COMMON, &set, &common.set, "common bytes");
    check_set(c, CHECK_PROJECTION, &proj1, &common.proj1, "projection on the first");
    check_set(c, CHECK_PROJECTION, &proj2, &common.proj2, "projection on the second");
    check_value(c, CHECK_PERIOD, y1 - first1, common.period1, "of the first projection");
    check_value(c, CHECK_PERIOD, y2 - first2, common.period2, "of the second projection");
    check_value(c, CHECK_SEGMENTS, segments, common.segments, "pieces");
    oracle_free(&set);
    oracle_free(&proj1);
    oracle_free(&proj2);
    sluice_common_free(&common);
}

void check_case_common(checker *c) {
    oracle_element o1 = {{0, NULL}, 0, 0}, o2 = {{0, NULL}, 0, 0};
    sluice_set s1 = SLUICE_SET_EMPTY, s2 = SLUICE_SET_EMPTY;
    sluice_element e1, e2;
    grow_element(c, &o1, &e1, &s1, 24, "first");
    grow_element(c, &o2, &e2, &s2, 24, "second");
    if (!c->failed) check_common(c, &o1, &e1, &o2, &e2);
    oracle_free(&o1.set);
    oracle_free(&o2.set);
    sluice_set_free(&s1);
    sluice_set_free(&s2);
}

enum { MAX_PARTS = 4, MAX_PERIOD = 26 };

/* A partition as owner[x] of every byte of the pattern. */
typedef struct layout {
    int nparts, owner[MAX_PERIOD];
    sluice_set set[MAX_PARTS];
    sluice_partition p;
} layout;

/* Bytes to owners, mostly in runs that repeat; every part owns something. */
static void grow_layout(checker *c, layout *l, const char *name) {
    memset(l, 0, sizeof *l);
    l->nparts = (int)chance_low(c->chance, 1, MAX_PARTS);
    int64_t period = chance_low(c->chance, l->nparts, MAX_PERIOD), repeat = chance_draw(c->chance, 1, period);
    for (int64_t x = 0; x < period; x++) {
        if (x < l->nparts)
            l->owner[x] = (int)x;
        else if (x >= repeat && chance_once_in(c->chance, 2))
            l->owner[x] = l->owner[x - repeat];
        else if (chance_once_in(c->chance, 2))
            l->owner[x] = l->owner[x - 1];
        else
            l->owner[x] = (int)chance_draw(c->chance, 0, l->nparts - 1);
    }
    l->p = (sluice_partition){l->nparts, l->set, 0, chance_low(c->chance, 0, 10)};
    check_show(c, "  %s, from %lld: owners", name, (long long)l->p.disp);
    for (int64_t x = 0; x < period; x++) check_show(c, " %d", l->owner[x]);
    check_show(c, "\n");
    for (int i = 0; i < l->nparts && !c->failed; i++) {
        sluice_run run[MAX_PERIOD];
        int64_t n = 0;
        for (int64_t x = 0; x < period; x++)
            if (l->owner[x] == i) run[n++] = (sluice_run){x, 1};
        check_ok(c, sluice_set_runs(&l->set[i], run, n, NULL), "runs");
    }
    sluice_reason why = {0};
    if (!c->failed && check_ok(c, sluice_partition_check(&l->p, &why), "partition check"))
        check_value(c, CHECK_PARTITION, period, l->p.period, "period");
}

static void free_layout(layout *l) {
    for (int i = 0; i < l->nparts; i++) sluice_set_free(&l->set[i]);
}

static int owner_at(const layout *l, int64_t x) { return l->owner[(x - l->p.disp) % l->p.period]; }

static void check_owners(checker *c, const layout *l) {
    int64_t count[MAX_PARTS] = {0}, off = -1;
    int part = -1;
    for (int64_t x = l->p.disp; x < l->p.disp + 2 * l->p.period && !c->failed; x++) {
        int owner = owner_at(l, x);
        if (!check_ok(c, sluice_partition_owner(&l->p, x, &part, &off), "owner")) return;
        check_value(c, CHECK_OWNER, owner, part, "of byte %lld", (long long)x);
        check_value(c, CHECK_OWNER_OFFSET, count[owner], off, "of byte %lld", (long long)x);
        count[owner]++;
    }
    check_refused(c, SLUICE_E_ARGUMENT, sluice_partition_owner(&l->p, l->p.disp - 1, &part, &off), "owner before disp");
}

/* Spoils one byte and expects the right complaint. */
static void check_spoilt(checker *c, layout *l) {
    int64_t x = chance_draw(c->chance, 0, l->p.period - 1);
    sluice_set *owner = &l->set[l->owner[x]], *other = &l->set[(l->owner[x] + 1) % l->nparts];
    sluice_set byte = SLUICE_SET_EMPTY;
    sluice_partition p = l->p;
    sluice_reason why = {0};
    check_ok(c, sluice_set_block(&byte, x, 1), "block");
    check_show(c, "  byte %lld belongs to nobody or to two\n", (long long)x);
    if (other != owner) {
        check_ok(c, sluice_set_union(other, other, &byte), "union");
        check_refused(c, SLUICE_E_SHARED, sluice_partition_check(&p, &why), "a shared byte");
        check_ok(c, sluice_set_subtract(other, other, &byte), "subtract");
    }
    check_ok(c, sluice_set_subtract(owner, owner, &byte), "subtract");
    int expected = p.period == 1 ? SLUICE_E_EMPTY : x == 0 ? SLUICE_E_START : SLUICE_E_GAP;
    check_refused(c, expected, sluice_partition_check(&p, &why), "a missing byte");
    check_ok(c, sluice_set_union(owner, owner, &byte), "union");
    sluice_set_free(&byte);
}

static void check_matrix(checker *c, const layout *a, const layout *b, const sluice_matrix *m) {
    int64_t bytes[MAX_PARTS][MAX_PARTS] = {{0}}, segments[MAX_PARTS][MAX_PARTS] = {{0}}, total = 0, messages = 0;
    int64_t enda[MAX_PARTS][MAX_PARTS], endb[MAX_PARTS][MAX_PARTS], na[MAX_PARTS] = {0}, nb[MAX_PARTS] = {0};
    memset(enda, -1, sizeof enda);
    memset(endb, -1, sizeof endb);
    int64_t disp = a->p.disp > b->p.disp ? a->p.disp : b->p.disp, period = lcm(a->p.period, b->p.period);
    for (int64_t x = disp; x < disp + period; x++) {
        int i = owner_at(a, x), j = owner_at(b, x);
        bytes[i][j]++;
        if (enda[i][j] != na[i] || endb[i][j] != nb[j]) segments[i][j]++;
        enda[i][j] = ++na[i];
        endb[i][j] = ++nb[j];
    }
    check_value(c, CHECK_MATRIX_SUMS, disp, m->disp, "displacement");
    check_value(c, CHECK_MATRIX_SUMS, period, m->period, "period");
    check_value(c, CHECK_MATRIX_SUMS, a->nparts, m->rows, "rows");
    check_value(c, CHECK_MATRIX_SUMS, b->nparts, m->cols, "columns");
    for (int i = 0; i < a->nparts && !c->failed; i++) {
        for (int j = 0; j < b->nparts && !c->failed; j++) {
            check_value(c, CHECK_MATRIX_BYTES, bytes[i][j], m->bytes[i * m->cols + j], "from %d to %d", i, j);
            check_value(c, CHECK_MATRIX_SEGMENTS, segments[i][j], m->segments[i * m->cols + j], "from %d to %d", i, j);
            messages += bytes[i][j] > 0;
            total += segments[i][j];
        }
    }
    check_value(c, CHECK_MATRIX_SUMS, messages, m->messages, "messages");
    check_value(c, CHECK_MATRIX_SUMS, total, m->total_segments, "segments");
    check_value(c, CHECK_MATRIX_SUMS, a->nparts > b->nparts ? a->nparts : b->nparts, m->match_num, "match degree");
    check_value(c, CHECK_MATRIX_SUMS, total, m->match_den, "match degree");
}

void check_case_partition(checker *c) {
    static layout a, b;
    sluice_matrix m;
    memset(&m, 0, sizeof m);
    grow_layout(c, &a, "first");
    grow_layout(c, &b, "second");
    if (!c->failed) check_owners(c, &a);
    if (!c->failed && check_ok(c, sluice_redistribute(&m, &a.p, &b.p), "redistribute")) check_matrix(c, &a, &b, &m);
    if (!c->failed) check_spoilt(c, &a);
    sluice_matrix_free(&m);
    free_layout(&a);
    free_layout(&b);
}
