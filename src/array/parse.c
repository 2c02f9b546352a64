/* parse.c: sections as Python writes them.
 *
 *     section = "[" items "]" | items
 *     items   = item { "," item } [ "," ]
 *     item    = index | [ from ] ":" [ to ] [ ":" [ step ] ] | "..."
 *
 *     array of 10 x 20 x 30    [2:5, ::2, 7]     rows 2, 3, 4; every second column; layer 7
 *                              [-1, ...]         the last row
 *                              [..., :5]         the first five layers
 *
 * Negative numbers count from the end. As in Python, a slice that reaches past the end is cut there, and an index that
 * does is an error. A number of more than 64 bits is past every end, and held at the largest.
 */
#include "base/base.h"
#include "sluice.h"
#include <inttypes.h>
#include <string.h>

typedef struct parser {
    const char *text;
    int64_t pos;
    sluice_reason *why;
} parser;

/* An item before it is known for which dimension it is. */
typedef struct item {
    bool slice;
    int64_t pos;
    struct {
        bool given;
        int64_t value, pos;
    } part[3]; /* from, or the index; to; step */
} item;

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

/* Part i of an item: a number, if there is one. */
static int parse_part(parser *p, item *it, int i) {
    char c = peek(p);
    int64_t v = 0;
    it->part[i].pos = p->pos;
    const bool minus = c == '-', sign = minus || c == '+';
    if (sign) c = p->text[++p->pos];
    it->part[i].given = c >= '0' && c <= '9';
    if (sign && !it->part[i].given) return expected(p, "a digit after the sign");
    for (; c >= '0' && c <= '9'; c = p->text[++p->pos])
        if (!sluice_mul(v, 10, &v) || !sluice_add(v, minus ? '0' - c : c - '0', &v)) v = minus ? INT64_MIN : INT64_MAX;
    it->part[i].value = v;
    return 0;
}

static int parse_item(parser *p, item *it) {
    int error = parse_part(p, it, 0);
    it->pos = it->part[0].pos;
    for (int i = 1; i < 3 && !error && accept(p, ':'); i++) {
        it->slice = true;
        error = parse_part(p, it, i);
    }
    if (error) return error;
    if (!it->slice && !it->part[0].given) return expected(p, "an index, a slice or '...'");
    if (it->part[2].given && it->part[2].value < 1)
        return sluice_refuse(p->why, SLUICE_E_ARGUMENT, it->part[2].pos, "step %" PRId64 "; a step is at least 1",
                             it->part[2].value);
    return 0;
}

/* All items; *gap is the place of "..." among them, the end if there is none. */
static int parse_items(parser *p, item *it, int max, int *n, int *gap) {
    const bool bracket = accept(p, '[');
    bool dots = false;
    int error;
    do {
        char c = peek(p);
        const int64_t pos = p->pos;
        if (c == (bracket ? ']' : 0) && (*n > 0 || dots)) break; /* after a last comma */
        if (strncmp(p->text + p->pos, "...", 3) == 0) {
            if (dots) return sluice_refuse(p->why, SLUICE_E_SYNTAX, pos, "'...' comes twice");
            dots = true;
            *gap = *n;
            p->pos += 3;
            continue;
        }
        item one = {0};
        if ((error = parse_item(p, &one))) return error;
        if (*n == max)
            return sluice_refuse(p->why, SLUICE_E_ARGUMENT, pos, "too many indices: the array has %d dimension%s", max,
                                 max == 1 ? "" : "s");
        it[(*n)++] = one;
    } while (accept(p, ','));
    if (bracket && !accept(p, ']')) return expected(p, "',' or ']'");
    if (!dots) *gap = *n;
    return peek(p) ? expected(p, bracket ? "the end of the text" : "',' or the end of the text") : 0;
}

/* A bound of a slice as Python understands it: from the end if negative, and cut at both. */
static int64_t bound(int64_t v, int64_t extent) { return v < 0 ? sluice_max(v + extent, 0) : sluice_min(v, extent); }

/* What the item means in dimension d. */
static int place(sluice_range *r, const item *it, const sluice_shape *shape, int d, sluice_reason *why) {
    const int64_t extent = shape->dim[d], v = it->part[0].value;
    if (!it->slice) {
        if (v >= extent || v < -extent)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, it->pos,
                                 "index %" PRId64 " is outside dimension %d, which has %" PRId64, v, d, extent);
        *r = (sluice_range){v < 0 ? v + extent : v, 1, 1};
        return 0;
    }
    const int64_t from = it->part[0].given ? bound(v, extent) : 0;
    const int64_t to = it->part[1].given ? bound(it->part[1].value, extent) : extent;
    const int64_t step = it->part[2].given ? it->part[2].value : 1;
    const int64_t count = to > from ? sluice_ceil_div(to - from, step) : 0;
    *r = (sluice_range){from, count, count > 1 ? step : 1};
    return 0;
}

int sluice_section_parse(sluice_range *range, const sluice_shape *shape, const char *text, sluice_reason *why) {
    parser p = {text, 0, why};
    item it[SLUICE_MAX_DIMS];
    sluice_range found[SLUICE_MAX_DIMS];
    int n = 0, gap = 0, error;
    if (shape->ndims < 1 || shape->ndims > SLUICE_MAX_DIMS)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%d dimensions; an array has 1 to %d", shape->ndims,
                             SLUICE_MAX_DIMS);
    for (int d = 0; d < shape->ndims; d++)
        if (shape->dim[d] < 0)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "dimension %d: extent %" PRId64, d, shape->dim[d]);
    if ((error = parse_items(&p, it, shape->ndims, &n, &gap))) return error;

    const int whole = shape->ndims - n;
    for (int d = 0; d < shape->ndims; d++) {
        if (d >= gap && d < gap + whole) {
            found[d] = (sluice_range){0, shape->dim[d], 1};
            continue;
        }
        if ((error = place(&found[d], &it[d < gap ? d : d - whole], shape, d, why))) return error;
    }
    memcpy(range, found, (size_t)shape->ndims * sizeof *range);
    return 0;
}
