/* check.c: see check.h. */
#include "support/check.h"
#include "set/set.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *check_name(enum check kind) {
    static const char *const name[] = {"none",
#define CHECK_TEXT(name) #name,
                                       CHECKS(CHECK_TEXT)
#undef CHECK_TEXT
    };
    return name[kind];
}

void check_show(checker *c, const char *format, ...) {
    if (!c->show) return;
    va_list args;
    va_start(args, format);
    vfprintf(c->show, format, args);
    va_end(args);
}

void check_show_list(checker *c, const char *name, const sluice_falls_list *list) {
    static char text[20000];
    if (c->show) check_show(c, "  %s = %s\n", name, grove_text(list, text, sizeof text));
}

static void fail(checker *c, const char *format, va_list args) {
    if (!c->failed) vsnprintf(c->what, sizeof c->what, format, args);
    c->failed = true;
}

bool check_fail(checker *c, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fail(c, format, args);
    va_end(args);
    return false;
}

bool check_ok(checker *c, int error, const char *call) {
    return error ? check_fail(c, "%s: %s (%d)", call, sluice_strerror(error), error) : !c->failed;
}

bool check_refused(checker *c, int expected, int error, const char *call) {
    return error == expected ? !c->failed
                             : check_fail(c, "%s: expected \"%s\", got \"%s\" (%d)", call, sluice_strerror(expected),
                                          sluice_strerror(error), error);
}

/* Whether this comparison is the one to damage. */
static bool strike(checker *c, enum check kind) {
    if (c->damage != kind || c->damaged || c->failed) return false;
    return c->damaged = true;
}

bool check_value(checker *c, enum check kind, int64_t expected, int64_t got, const char *format, ...) {
    if (strike(c, kind)) expected ^= 1;
    if (expected == got) return !c->failed;
    char name[200];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return check_fail(c, "%s: %s: expected %lld, got %lld", check_name(kind), name, (long long)expected,
                      (long long)got);
}

bool check_bytes(checker *c, enum check kind, const unsigned char *expected, const unsigned char *got, int64_t n,
                 const char *name) {
    int64_t flip = n > 0 && strike(c, kind) ? n / 2 : -1;
    for (int64_t i = 0; i < n && !c->failed; i++)
        if ((expected[i] ^ (i == flip)) != got[i])
            check_fail(c, "%s: %s: byte %lld of %lld is %d, not %d", check_name(kind), name, (long long)i, (long long)n,
                       got[i], expected[i] ^ (i == flip));
    return !c->failed;
}

/* The promises of set.h, looked at from outside. */
static bool normal_list(checker *c, const sluice_set *s, int64_t first, int64_t n, int64_t len, const char *name) {
    int64_t end = 0, before = 0;
    for (int64_t i = first; i < first + n; i++) {
        const sluice_node *f = &s->node[i];
        bool leaf = sluice_node_leaf(f);
        if (i < 0 || i >= s->nnode) return check_fail(c, "%s: a list leaves the array", name);
        if (f->off < end || (len >= 0 && i == first && f->off != 0))
            return check_fail(c, "%s: node %lld starts at the wrong offset", name, (long long)i);
        if (f->n < (leaf ? 1 : 2) || f->len < 1 || f->step < f->len)
            return check_fail(c, "%s: node %lld is not a family", name, (long long)i);
        if (f->n == 1 ? f->step != f->len : leaf && f->step == f->len)
            return check_fail(c, "%s: node %lld is not in normal form", name, (long long)i);
        if (f->before != before || (leaf && f->isize != f->len))
            return check_fail(c, "%s: node %lld has wrong sums", name, (long long)i);
        if (!leaf) {
            if (f->isize >= f->len || !normal_list(c, s, f->inner, f->ninner, f->len, name))
                return check_fail(c, "%s: node %lld is a whole block in pieces", name, (long long)i);
            const sluice_node *last = &s->node[f->inner + f->ninner - 1];
            if (last->before + sluice_node_size(last) != f->isize)
                return check_fail(c, "%s: node %lld has a wrong size", name, (long long)i);
        }
        before += sluice_node_size(f);
        end = sluice_node_end(f);
    }
    if (len >= 0 && end != len) return check_fail(c, "%s: an inner list does not fill its block", name);
    return true;
}

static bool normal(checker *c, const sluice_set *s, const char *name) {
    sluice_reason why = {0};
    if (sluice_set_check(s, &why)) return check_fail(c, "%s: not in normal form: %s", name, why.text);
    if ((s->nroot == 0) != (s->size == 0) || s->nnode < s->nroot || (s->nnode == 0) != (s->node == NULL))
        return check_fail(c, "%s: nroot %d, nnode %d do not fit", name, s->nroot, s->nnode);
    return normal_list(c, s, 0, s->nroot, -1, name);
}

bool check_set(checker *c, enum check kind, const oracle *o, const sluice_set *s, const char *name) {
    if (c->failed || !normal(c, s, name)) return false;
    oracle changed = {0, NULL};
    if (o->n > 0 && strike(c, kind)) {
        oracle_copy(&changed, o);
        changed.in[o->n / 2] ^= 1;
        o = &changed;
    }
    sluice_cursor cursor;
    sluice_run run, expected;
    int64_t x = 0;
    check_value(c, CHECK_SIZE, oracle_size(o), s->size, "%s", name);
    check_value(c, CHECK_LO, oracle_lo(o), sluice_set_lo(s), "%s", name);
    check_value(c, CHECK_HI, oracle_hi(o), sluice_set_hi(s), "%s", name);
    check_value(c, CHECK_NRUNS, oracle_nruns(o), sluice_set_nruns(s), "%s", name);
    sluice_cursor_init(&cursor, s);
    while (!c->failed && oracle_run(o, x, &expected)) {
        if (!sluice_cursor_run(&cursor, &run)) {
            check_fail(c, "%s: no run at %lld", name, (long long)expected.off);
        } else {
            check_value(c, CHECK_RUNS, expected.off, run.off, "%s: start of a run", name);
            check_value(c, CHECK_RUNS, expected.len, run.len, "%s: run at %lld", name, (long long)run.off);
        }
        x = expected.off + expected.len;
    }
    if (!c->failed && sluice_cursor_run(&cursor, &run))
        check_fail(c, "%s: a run too many, at %lld", name, (long long)run.off);
    oracle_free(&changed);
    return !c->failed;
}

/* Everything from the cursor on: runs, each as long as it can be, the first from offset x. */
static void check_rest(checker *c, enum check kind, const oracle *o, sluice_cursor cursor, int64_t x) {
    sluice_run run, expected;
    while (!c->failed && oracle_run(o, x, &expected)) {
        int got = sluice_cursor_run(&cursor, &run);
        check_value(c, kind, expected.off, got ? run.off : -1, "run from %lld", (long long)x);
        check_value(c, kind, expected.len, got ? run.len : -1, "length of the run from %lld", (long long)x);
        x = expected.off + expected.len;
    }
    check_value(c, kind, 0, sluice_cursor_run(&cursor, &run), "end of the cursor");
    check_value(c, kind, 0, sluice_cursor_run(&cursor, &run), "end of the cursor, again");
}

/* The same bytes by families. */
static void check_families(checker *c, const oracle *o, sluice_cursor cursor, int64_t x) {
    sluice_run run;
    int64_t step = 0, n = 0;
    while (!c->failed && sluice_cursor_family(&cursor, &run, &step, &n)) {
        if (n < 1 || run.len < 1) check_fail(c, "FAMILY: %lld blocks of %lld", (long long)n, (long long)run.len);
        for (int64_t i = 0; i < n && !c->failed; i++) {
            for (int64_t b = 0; b < run.len && !c->failed; b++) {
                x = oracle_next(o, x);
                check_value(c, CHECK_FAMILY, x, run.off + i * step + b, "block %lld of a family", (long long)i);
                x = x < 0 ? o->n : x + 1;
            }
        }
    }
    check_value(c, CHECK_FAMILY, -1, oracle_next(o, x), "bytes after the last family");
}

void check_positions(checker *c, const oracle *o, const sluice_set *s) {
    const int64_t size = oracle_size(o);
    sluice_cursor cursor;
    sluice_cursor_init(&cursor, s);
    for (int64_t x = -2; x < o->n + 2 && !c->failed; x++) {
        long long at = (long long)x;
        check_value(c, CHECK_RANK, oracle_rank(o, x), sluice_set_rank(s, x), "of %lld", at);
        check_value(c, CHECK_CONTAINS, oracle_contains(o, x), sluice_set_contains(s, x), "%lld", at);
        check_value(c, CHECK_NEXT, oracle_next(o, x), sluice_set_next(s, x), "of %lld", at);
        check_value(c, CHECK_PREV, oracle_prev(o, x), sluice_set_prev(s, x), "of %lld", at);
        sluice_cursor_seek_offset(&cursor, x);
        check_rest(c, CHECK_SEEK_OFFSET, o, cursor, x);
    }
    for (int64_t k = -1; k < size + 2 && !c->failed; k++) {
        int64_t x = oracle_select(o, k);
        check_value(c, CHECK_SELECT, x, sluice_set_select(s, k), "of %lld", (long long)k);
        if (k < 0) continue;
        sluice_cursor_seek(&cursor, k);
        check_rest(c, CHECK_SEEK, o, cursor, k < size ? x : o->n);
        check_families(c, o, cursor, k < size ? x : o->n);
    }
    const int64_t far[] = {INT64_MIN, INT64_MAX};
    for (int i = 0; i < 2 && !c->failed; i++) {
        check_value(c, CHECK_RANK, i ? size : 0, sluice_set_rank(s, far[i]), "of a far offset");
        check_value(c, CHECK_SELECT, -1, sluice_set_select(s, far[i]), "of a far rank");
        check_value(c, CHECK_CONTAINS, 0, sluice_set_contains(s, far[i]), "a far offset");
        check_value(c, CHECK_NEXT, i ? -1 : oracle_next(o, 0), sluice_set_next(s, far[i]), "of a far offset");
        check_value(c, CHECK_PREV, i ? oracle_prev(o, o->n) : -1, sluice_set_prev(s, far[i]), "of a far offset");
    }
}

static void check_text(checker *c, const oracle *o, const sluice_set *s) {
    sluice_set back = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    int64_t length = sluice_set_print(s, NULL, 0);
    if (length < 2) {
        check_fail(c, "TEXT: length %lld", (long long)length);
        return;
    }
    size_t room = (size_t)length + 1;
    char *text = test_resize(NULL, room + 1), *start = test_resize(NULL, room + 1);
    memset(text, '#', room + 1);
    memset(start, '#', room + 1);
    if (sluice_set_print(s, text, room) != length || strlen(text) != (size_t)length || text[room] != '#')
        check_fail(c, "TEXT: print does not keep to its length %lld", (long long)length);
    size_t half = room / 2;
    if (sluice_set_print(s, start, half) != length || start[half] != '#' ||
        (half && (strlen(start) != half - 1 || memcmp(start, text, half - 1))))
        check_fail(c, "TEXT: print into %zu bytes does not give the start of \"%.100s\"", half, text);
    if (!c->failed && check_ok(c, sluice_set_parse(&back, text, &why), "parse of what was printed"))
        check_set(c, CHECK_TEXT, o, &back, text);
    if (!c->failed && sluice_set_equal(s, &back) != 1) check_fail(c, "TEXT: %.100s is not equal after reading", text);
    sluice_set_free(&back);
    free(text);
    free(start);
}

static void check_wire(checker *c, const oracle *o, const sluice_set *s) {
    sluice_set back = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    size_t used = 0;
    int64_t length = sluice_set_pack(s, NULL, 0);
    if (length < 1) {
        check_fail(c, "WIRE: length %lld", (long long)length);
        return;
    }
    size_t n = (size_t)length;
    unsigned char *wire = test_resize(NULL, n + 1);
    memset(wire, 0xee, n + 1);
    if (sluice_set_pack(s, wire, n - 1) != length || wire[n - 1] != 0xee)
        check_fail(c, "WIRE: pack writes past its room");
    if (sluice_set_pack(s, wire, n) != length || wire[n] != 0xee)
        check_fail(c, "WIRE: pack does not keep to its length %lld", (long long)length);
    if (!c->failed && check_ok(c, sluice_set_unpack(&back, wire, n, NULL, &why), "unpack"))
        check_set(c, CHECK_WIRE, o, &back, "unpacked");
    if (!c->failed && check_ok(c, sluice_set_unpack(&back, wire, n + 1, &used, &why), "unpack with more after it")) {
        if (used != n) check_fail(c, "WIRE: used %zu bytes of a form of %zu", used, n);
        check_refused(c, SLUICE_E_FORMAT, sluice_set_unpack(&back, wire, n + 1, NULL, &why), "unpack of too much");
        check_refused(c, SLUICE_E_FORMAT, sluice_set_unpack(&back, wire, n - 1, &used, &why), "unpack of too little");
        check_set(c, CHECK_WIRE, o, &back, "after a refused form");
    }
    sluice_set_free(&back);
    free(wire);
}

void check_forms(checker *c, const oracle *o, const sluice_set *s) {
    if (!c->failed) check_text(c, o, s);
    if (!c->failed) check_wire(c, o, s);
}

/* Pieces from rank k on: as the bytes lie beside each other, broken only where one side breaks. */
static void check_pieces(checker *c, enum check kind, const oracle *oa, const oracle *ob, sluice_pair *pair,
                         int64_t k) {
    sluice_piece piece;
    int64_t a = oracle_select(oa, k), b = oracle_select(ob, k);
    while (!c->failed && a >= 0 && b >= 0) {
        int64_t len = 1;
        while (oracle_contains(oa, a + len) && oracle_contains(ob, b + len)) len++;
        int got = sluice_pair_next(pair, &piece);
        check_value(c, kind, a, got ? piece.a : -1, "first side at rank %lld", (long long)k);
        check_value(c, kind, b, got ? piece.b : -1, "second side at rank %lld", (long long)k);
        check_value(c, kind, len, got ? piece.len : -1, "length at rank %lld", (long long)k);
        k += len;
        a = oracle_next(oa, a + len);
        b = oracle_next(ob, b + len);
    }
    check_value(c, kind, 0, sluice_pair_next(pair, &piece), "end of the pair");
}

void check_operations(checker *c, const oracle *oa, const sluice_set *a, const oracle *ob, const sluice_set *b) {
    static const struct {
        int (*library)(sluice_set *, const sluice_set *, const sluice_set *);
        void (*oracle)(oracle *, const oracle *, const oracle *);
        enum check kind;
        const char *name;
    } op[] = {
        {sluice_set_union, oracle_union, CHECK_UNION, "A + B"},
        {sluice_set_intersect, oracle_intersect, CHECK_INTERSECT, "A & B"},
        {sluice_set_subtract, oracle_subtract, CHECK_SUBTRACT, "A - B"},
        {sluice_set_project, oracle_project, CHECK_PROJECT, "A projected on B"},
        {sluice_set_embed, oracle_embed, CHECK_EMBED, "A embedded in B"},
    };
    oracle expected;
    oracle_init(&expected, oa->n);
    for (size_t i = 0; i < sizeof op / sizeof *op && !c->failed; i++) {
        sluice_set out = SLUICE_SET_EMPTY;
        op[i].oracle(&expected, oa, ob);
        if (check_ok(c, op[i].library(&out, a, b), op[i].name)) {
            check_set(c, op[i].kind, &expected, &out, op[i].name);
            check_forms(c, &expected, &out);
        }
        sluice_set_free(&out);
    }
    oracle_free(&expected);
    check_value(c, CHECK_EQUAL, oracle_equal(oa, ob), sluice_set_equal(a, b), "A and B");
    sluice_pair pair;
    sluice_pair_init(&pair, a, b);
    check_pieces(c, CHECK_PAIR, oa, ob, &pair, 0);
}

void check_pair_seeks(checker *c, const oracle *oa, const sluice_set *a, const oracle *ob, const sluice_set *b) {
    int64_t size = oracle_size(oa) < oracle_size(ob) ? oracle_size(oa) : oracle_size(ob);
    for (int64_t k = 0; k <= size + 1 && !c->failed; k++) {
        sluice_pair pair;
        sluice_pair_init(&pair, a, b);
        sluice_pair_seek(&pair, k);
        check_pieces(c, CHECK_PAIR_SEEK, oa, ob, &pair, k);
    }
}

enum { GUARD = 40, GUARD_BYTE = 0xee };

/* n bytes that start `skew` off alignment, between guards, all guard bytes at first. */
typedef struct buffer {
    unsigned char *memory, *at;
    int64_t n;
} buffer;

static buffer buffer_make(int64_t n, int64_t skew) {
    buffer b = {test_resize(NULL, (size_t)n + 2 * GUARD + 16), NULL, n};
    memset(b.memory, GUARD_BYTE, (size_t)n + 2 * GUARD + 16);
    b.at = b.memory + GUARD + skew % 16;
    return b;
}

static void buffer_fill(buffer *b, unsigned seed) {
    for (int64_t i = 0; i < b->n; i++)
        b->at[i] = (unsigned char)((uint64_t)(i + 1) * 73 + (uint64_t)i / 251 * seed + seed);
}

static void buffer_check(checker *c, const buffer *b, const char *name) {
    for (int i = 1; i <= GUARD && !c->failed; i++)
        if (b->at[-i] != GUARD_BYTE) check_fail(c, "%s wrote %d bytes before its buffer", name, i);
    for (int64_t i = b->n; b->at + i < b->memory + b->n + 2 * GUARD && !c->failed; i++)
        if (b->at[i] != GUARD_BYTE)
            check_fail(c, "%s wrote byte %lld of a buffer of %lld", name, (long long)i, (long long)b->n);
}

void check_gather(checker *c, const oracle *o, const sluice_set *s, int64_t lo, int64_t hi, int64_t skew) {
    int64_t width = hi > lo ? hi - lo : 0;
    buffer shaped = buffer_make(width, skew), packed = buffer_make(width, skew / 3), expected = buffer_make(width, 0);
    buffer_fill(&shaped, 5);
    int64_t n = oracle_gather(expected.at, shaped.at, o, lo, hi);
    check_value(c, CHECK_GATHER_COUNT, n, sluice_gather(packed.at, shaped.at, s, lo, hi), "[%lld, %lld)", (long long)lo,
                (long long)hi);
    check_bytes(c, CHECK_GATHER, expected.at, packed.at, n, "gathered");
    for (int64_t i = n; i < width && !c->failed; i++)
        if (packed.at[i] != GUARD_BYTE) check_fail(c, "gather wrote byte %lld of %lld", (long long)i, (long long)n);
    buffer_check(c, &packed, "gather");

    buffer_fill(&packed, 9);
    memset(shaped.at, 0x11, (size_t)width);
    memset(expected.at, 0x11, (size_t)width);
    oracle_scatter(expected.at, packed.at, o, lo, hi);
    check_value(c, CHECK_SCATTER_COUNT, n, sluice_scatter(shaped.at, packed.at, s, lo, hi), "[%lld, %lld)",
                (long long)lo, (long long)hi);
    check_bytes(c, CHECK_SCATTER, expected.at, shaped.at, width, "scattered");
    buffer_check(c, &shaped, "scatter");
    free(shaped.memory);
    free(packed.memory);
    free(expected.memory);
}

/* Bytes a side spans, and where its first one lies. */
static int64_t side_extent(const check_side *side, int64_t n) { return side->o ? side->o->n : side->from + n; }

static int64_t side_at(const check_side *side, int64_t k) {
    return side->o ? oracle_select(side->o, side->from + k) : side->from + k;
}

void check_move(checker *c, const check_side *dst, const check_side *src, int64_t n) {
    int64_t to_n = side_extent(dst, n), from_n = side_extent(src, n), moved = 0;
    buffer to = buffer_make(to_n, dst->skew), from = buffer_make(from_n, src->skew), expected = buffer_make(to_n, 0);
    buffer_fill(&from, 13);
    memset(to.at, 0x22, (size_t)to_n);
    memset(expected.at, 0x22, (size_t)to_n);
    for (; moved < n; moved++) {
        int64_t x = side_at(dst, moved), y = side_at(src, moved);
        if (x < 0 || y < 0) break;
        expected.at[x] = from.at[y];
    }
    sluice_side a = {to.at + dst->origin, dst->set, dst->origin, dst->from};
    sluice_side b = {from.at + src->origin, src->set, src->origin, src->from};
    check_value(c, CHECK_MOVE_COUNT, moved, sluice_move(&a, &b, n), "rank %lld from rank %lld, %lld bytes",
                (long long)dst->from, (long long)src->from, (long long)n);
    check_bytes(c, CHECK_MOVE, expected.at, to.at, to_n, "moved");
    buffer_check(c, &to, "move");
    free(to.memory);
    free(from.memory);
    free(expected.memory);
}
