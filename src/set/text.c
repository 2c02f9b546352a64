/* text.c: sets in the notation of the papers, read and printed. docs/FORMAT.md has the grammar.
 *
 *     {(0,3,8,2,{(0,0,2,2)}),20-29}       bounds inclusive: (l,r,s,n,{...}), and l-r for one segment
 *
 * Reading makes the trees that sluice_set_build() takes. A family that is wrong by itself or leaves the block around
 * it is refused as soon as it is read, so that the position is at hand; that siblings overlap is found by building,
 * and the position is then that of their list.
 *
 * Siblings must end up side by side, but their inner lists come between them in the text. So one array, with room
 * for all families there can be, is filled from both ends: open lists grow at the left, and a list that closes moves
 * to the right end.
 */
#include "set/set.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef struct parsed {
    sluice_falls_list list;
    int64_t pos; /* of its '{' */
} parsed;

typedef struct parser {
    const char *text;
    int64_t pos;
    sluice_falls *falls;
    int64_t open, closed; /* [0, open) and [closed, room) are in use */
    parsed *list;         /* lists that are closed, inner ones first */
    int64_t nlist;
    sluice_reason *why;
} parser;

static char peek(parser *p) {
    while (p->text[p->pos] && strchr(" \t\n\v\f\r", p->text[p->pos])) p->pos++;
    return p->text[p->pos];
}

static bool accept(parser *p, char c) {
    bool found = peek(p) == c;
    p->pos += found;
    return found;
}

static int expected(parser *p, const char *what) {
    peek(p);
    return sluice_refuse(p->why, SLUICE_E_SYNTAX, p->pos, "expected %s", what);
}

static int number(parser *p, int64_t *v) {
    peek(p);
    int64_t pos = p->pos;
    bool minus = accept(p, '-');
    char c = p->text[p->pos];
    if (c < '0' || c > '9') return expected(p, "a number");
    for (*v = 0; c >= '0' && c <= '9'; c = p->text[++p->pos])
        if (!sluice_mul(*v, 10, v) || !sluice_add(*v, minus ? '0' - c : c - '0', v))
            return sluice_refuse(p->why, SLUICE_E_SYNTAX, pos, "number of more than 64 bits");
    return 0;
}

/* Fills in f->len. The family must be one, and lie in the `limit` bytes of the block around it (depth > 0). */
static int check(parser *p, int64_t pos, sluice_falls *f, int64_t r, int64_t limit, int depth) {
    int64_t end, span;
    if (f->off < 0)
        return sluice_refuse(p->why, SLUICE_E_ARGUMENT, pos, "l = %lld < 0: the block starts before 0",
                             (long long)f->off);
    if (r < f->off)
        return sluice_refuse(p->why, SLUICE_E_BLOCK, pos, "r = %lld < l = %lld: the block ends before it starts",
                             (long long)r, (long long)f->off);
    if (f->n < 1)
        return sluice_refuse(p->why, SLUICE_E_COUNT, pos, "n = %lld < 1: a family without blocks", (long long)f->n);
    bool fits = sluice_add(r, 1, &end);
    if (fits) f->len = end - f->off;
    if (fits && f->n > 1 && f->step < f->len)
        return sluice_refuse(p->why, SLUICE_E_STEP, pos, "stride %lld < block of %lld bytes: the blocks overlap",
                             (long long)f->step, (long long)f->len);
    fits = fits && sluice_mul(f->n - 1, f->step, &span) && sluice_add(end, span, &end);
    if (fits && end <= limit) return 0;
    if (depth == 0) return sluice_refuse(p->why, SLUICE_E_OVERFLOW, pos, "the family passes 2^63-1");
    return sluice_refuse(p->why, SLUICE_E_INNER, pos, "the inner family leaves its block of %lld bytes",
                         (long long)limit);
}

static int parse_list(parser *p, const sluice_falls_list **out, int64_t limit, int depth);

/* A family or a segment. */
static int parse_item(parser *p, sluice_falls *f, int64_t limit, int depth) {
    static const char *const after[] = {"',' after the left bound", "',' after the right bound",
                                        "',' after the stride"};
    int64_t v[4] = {0, 0, 1, 1}, pos = p->pos;
    int error = 0;
    bool family = accept(p, '(');
    if (!family) {
        if ((error = number(p, &v[0]))) return error;
        if (!accept(p, '-')) return expected(p, "'-' after the left bound of a segment");
        if ((error = number(p, &v[1]))) return error;
    }
    for (int i = 0; family && i < 4; i++) {
        if ((error = number(p, &v[i]))) return error;
        if (i < 3 && !accept(p, ',')) return expected(p, after[i]);
    }
    *f = (sluice_falls){.off = v[0], .step = v[2], .n = v[3]};
    error = check(p, pos, f, v[1], limit, depth);
    if (error || !family) return error;
    if (accept(p, ',')) {
        if (peek(p) != '{') return expected(p, "'{' of the inner list");
        if ((error = parse_list(p, &f->inner, f->len, depth + 1))) return error;
        if (!accept(p, ')')) return expected(p, "')' after the inner list");
        return 0;
    }
    return accept(p, ')') ? 0 : expected(p, "',' or ')' after the number of blocks");
}

/* A list, or at depth 0 a single item without braces. *out stays as it was if the list is empty. */
static int parse_list(parser *p, const sluice_falls_list **out, int64_t limit, int depth) {
    peek(p);
    int64_t first = p->open, pos = p->pos;
    if (depth == SLUICE_MAX_DEPTH)
        return sluice_refuse(p->why, SLUICE_E_SYNTAX, pos, "lists nested more than %d deep", SLUICE_MAX_DEPTH);
    bool braces = accept(p, '{');
    if (braces && accept(p, '}')) return 0;
    do {
        char c = peek(p);
        if (c != '(' && c != '-' && (c < '0' || c > '9'))
            return expected(p, braces ? "a family or a segment" : "'{', a family or a segment");
        sluice_falls f;
        int error = parse_item(p, &f, limit, depth);
        if (error) return error;
        p->falls[p->open++] = f;
    } while (braces && accept(p, ','));
    if (braces && !accept(p, '}')) return expected(p, "',' or '}' after a family");

    int64_t n = p->open - first;
    p->closed -= n;
    memmove(&p->falls[p->closed], &p->falls[first], (size_t)n * sizeof *p->falls);
    p->open = first;
    parsed *list = &p->list[p->nlist++];
    *list = (parsed){{(int)n, &p->falls[p->closed]}, pos};
    *out = &list->list;
    return 0;
}

/* The position of the list that holds a family; of the whole text if it is NULL. */
static int64_t position(const parser *p, const sluice_falls *f, int64_t start) {
    for (int64_t i = 0; f && i < p->nlist; i++) {
        const sluice_falls_list *l = &p->list[i].list;
        if (f >= l->falls && f < l->falls + l->n) return p->list[i].pos;
    }
    return start;
}

int sluice_set_parse(sluice_set *out, const char *text, sluice_reason *why) {
    const sluice_falls_list none = {0, NULL}, *list = &none;
    size_t room = 0, lists = 1;
    for (const char *c = text; *c; c++) {
        room += *c == '(' || *c == '-';
        lists += *c == '{';
    }
    parser p = {.text = text, .closed = (int64_t)room, .why = why};
    p.falls = room <= INT_MAX ? sluice_mem_alloc(room, sizeof *p.falls) : NULL;
    p.list = sluice_mem_alloc(lists, sizeof *p.list);
    peek(&p);
    int64_t start = p.pos;
    int error = 0;
    if (!p.falls || !p.list) error = sluice_refuse(why, -ENOMEM, -1, "out of memory for %zu families", room);
    if (!error) error = parse_list(&p, &list, INT64_MAX, 0);
    if (!error && peek(&p)) error = expected(&p, "the end of the text");
    const sluice_falls *culprit = NULL;
    if (!error && (error = sluice_falls_build(out, list, &culprit, why)) && why)
        why->pos = error == SLUICE_E_OVERLAP ? position(&p, culprit, start) : -1;
    sluice_mem_free(p.falls);
    sluice_mem_free(p.list);
    return error;
}

typedef struct printer {
    char *buf;
    size_t cap;
    int64_t len;
} printer;

static void put(printer *p, const char *s) {
    for (; *s; s++, p->len++)
        if ((size_t)p->len < p->cap) p->buf[p->len] = *s;
}

static void put_number(printer *p, int64_t v) {
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)v);
    put(p, digits);
}

static void put_list(printer *p, const sluice_node *node, int32_t first, int32_t n) {
    put(p, "{");
    for (int32_t i = 0; i < n; i++) {
        const sluice_node *f = &node[first + i];
        const int64_t number[] = {f->off, f->off + f->len - 1, f->step, f->n};
        put(p, i ? ",(" : "(");
        for (int k = 0; k < 4; k++) {
            if (k) put(p, ",");
            put_number(p, number[k]);
        }
        if (!sluice_node_leaf(f)) {
            put(p, ",");
            put_list(p, node, f->inner, f->ninner);
        }
        put(p, ")");
    }
    put(p, "}");
}

int64_t sluice_set_print(const sluice_set *s, char *buf, size_t cap) {
    printer p = {buf, cap, 0};
    put_list(&p, s->node, 0, s->nroot);
    if (cap > 0) buf[(size_t)p.len < cap ? (size_t)p.len : cap - 1] = 0;
    return p.len;
}
