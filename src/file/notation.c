/* notation.c: what people write down: numbers, extents and distributions.
 *
 *     number        12, 64K, 3M             K, M, G, T: powers of 1024
 *     extents       100x200
 *     spread        block,cyclic(2),*@2x3   one distribution per dimension of the array, @ and the grid of processes,
 *                                           with an extent for each dimension or for each that is distributed
 *
 * White space is free between tokens. Every refusal has the byte of the text at which it went wrong.
 */
#include "file/file.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool digit(char c) { return c >= '0' && c <= '9'; }
static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

char sluice_notation_peek(sluice_notation *n) {
    while (n->text[n->pos] && strchr(" \t\n\v\f\r", n->text[n->pos])) n->pos++;
    return n->text[n->pos];
}

bool sluice_notation_accept(sluice_notation *n, char c) {
    const bool found = sluice_notation_peek(n) == c;
    n->pos += found;
    return found;
}

int sluice_notation_expect(sluice_notation *n, char c, const char *message) {
    return sluice_notation_accept(n, c) ? 0 : sluice_refuse(n->why, SLUICE_E_SYNTAX, n->pos, "%s", message);
}

int sluice_notation_number(sluice_notation *n, int64_t *value) {
    static const char suffix[] = "KMGT", low[] = "kmgt";
    int64_t v = 0;
    bool fits = true;
    const char c = sluice_notation_peek(n);
    const int64_t start = n->pos;
    if (c == '-') return sluice_refuse(n->why, SLUICE_E_SYNTAX, start, "expected a number that is not negative");
    if (!digit(c)) return sluice_refuse(n->why, SLUICE_E_SYNTAX, start, "expected a number");
    for (; digit(n->text[n->pos]); n->pos++)
        fits = fits && sluice_mul(v, 10, &v) && sluice_add(v, n->text[n->pos] - '0', &v);
    for (int i = 0; i < 4; i++)
        if (n->text[n->pos] == suffix[i] || n->text[n->pos] == low[i]) {
            fits = fits && sluice_mul(v, (int64_t)1 << (10 * (i + 1)), &v);
            n->pos++;
            break;
        }
    if (!fits) return sluice_refuse(n->why, SLUICE_E_OVERFLOW, start, "the number is larger than 2^63-1");
    *value = v;
    return 0;
}

int sluice_notation_extents(sluice_notation *n, int64_t *extent, int64_t *pos, int *count) {
    int k = 0;
    do {
        if (k == SLUICE_MAX_DIMS) return sluice_refuse(n->why, SLUICE_E_SYNTAX, n->pos, "more than 16 dimensions");
        sluice_notation_peek(n);
        pos[k] = n->pos;
        const int error = sluice_notation_number(n, &extent[k++]);
        if (error) return error;
    } while (sluice_notation_accept(n, 'x'));
    *count = k;
    return 0;
}

bool sluice_notation_kind(sluice_notation *n, sluice_dist_kind *kind) {
    static const struct {
        const char *name;
        sluice_dist_kind kind;
    } known[] = {{"*", SLUICE_DIST_STAR},
                 {"block", SLUICE_DIST_BLOCK},
                 {"cyclic", SLUICE_DIST_CYCLIC},
                 {"genblock", SLUICE_DIST_GENBLOCK},
                 {"gen_block", SLUICE_DIST_GENBLOCK}};
    size_t len = sluice_notation_peek(n) == '*';
    const char *start = n->text + n->pos;
    while (*start != '*' && (letter(start[len]) || start[len] == '_')) len++;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strlen(known[k].name) == len && !strncasecmp(known[k].name, start, len)) {
            *kind = known[k].kind;
            n->pos += (int64_t)len;
            return true;
        }
    return false;
}

/* "block", "cyclic(2)", "genblock(1,2,3)", "*". Sizes of GENBLOCK are added to `sizes`. */
static int read_dist(sluice_notation *n, sluice_dist *dist, int64_t *sizes, int64_t *nsizes) {
    int error;
    *dist = (sluice_dist){.block = 0};
    if (!sluice_notation_kind(n, &dist->kind))
        return sluice_refuse(n->why, SLUICE_E_SYNTAX, n->pos, "expected block, cyclic, genblock or *");
    if (dist->kind == SLUICE_DIST_STAR) return 0;
    if (dist->kind == SLUICE_DIST_GENBLOCK) {
        dist->sizes = sizes + *nsizes;
        if ((error = sluice_notation_expect(n, '(', "expected '(' and the sizes of the blocks"))) return error;
        do
            if ((error = sluice_notation_number(n, &sizes[(*nsizes)++]))) return error;
        while (sluice_notation_accept(n, ','));
        return sluice_notation_expect(n, ')', "expected ',' or ')'");
    }
    if (!sluice_notation_accept(n, '(')) return 0;
    sluice_notation_peek(n);
    const int64_t pos = n->pos;
    if ((error = sluice_notation_number(n, &dist->block))) return error;
    if (dist->block == 0) return sluice_refuse(n->why, SLUICE_E_ARGUMENT, pos, "a block has at least 1 index");
    return sluice_notation_expect(n, ')', "expected ')'");
}

/* One distribution per dimension: where each stands, and how many sizes it has. */
static int read_dists(sluice_notation *n, sluice_spread *s, int ndims, int64_t *pos, int64_t *count) {
    char message[80];
    int64_t nsizes = 0;
    for (int d = 0; d < ndims; d++) {
        snprintf(message, sizeof message, "expected ',': the array has %d dimensions", ndims);
        int error = d ? sluice_notation_expect(n, ',', message) : 0;
        if (error) return error;
        sluice_notation_peek(n);
        pos[d] = n->pos;
        const int64_t before = nsizes;
        if ((error = read_dist(n, &s->dist[d], s->sizes, &nsizes))) return error;
        count[d] = nsizes - before;
    }
    if (sluice_notation_peek(n) == ',')
        return sluice_refuse(n->why, SLUICE_E_SYNTAX, n->pos, "too many distributions: the array has %d dimension%s",
                             ndims, ndims == 1 ? "" : "s");
    return 0;
}

static int read_grid(sluice_notation *n, sluice_spread *s, int ndims, const int64_t *pos, const int64_t *count) {
    int64_t extent[SLUICE_MAX_DIMS], at[SLUICE_MAX_DIMS], nprocs = 1;
    int spread = 0, given;
    for (int d = 0; d < ndims; d++) spread += s->dist[d].kind != SLUICE_DIST_STAR;
    sluice_notation_peek(n);
    const int64_t start = n->pos;
    int error = sluice_notation_extents(n, extent, at, &given);
    if (error) return error;
    if (given != ndims && given != spread)
        return sluice_refuse(n->why, SLUICE_E_ARGUMENT, start,
                             "the grid has %d dimension%s; the array has %d, of which %d distributed", given,
                             given == 1 ? "" : "s", ndims, spread);
    for (int d = 0, i = 0; d < ndims; d++) {
        const bool own = given == ndims || s->dist[d].kind != SLUICE_DIST_STAR;
        const int64_t along = own ? extent[i] : 1, place = own ? at[i] : start;
        i += own;
        if (along < 1)
            return sluice_refuse(n->why, SLUICE_E_ARGUMENT, place,
                                 "a grid has at least 1 process along each dimension");
        if (!sluice_mul(nprocs, along, &nprocs) || nprocs > INT_MAX)
            return sluice_refuse(n->why, SLUICE_E_ARGUMENT, place, "more than 2^31-1 processes");
        s->grid[d] = (int)along;
        if (s->dist[d].kind == SLUICE_DIST_GENBLOCK && count[d] != along)
            return sluice_refuse(n->why, SLUICE_E_ARGUMENT, pos[d], "%lld sizes for %lld processes",
                                 (long long)count[d], (long long)along);
    }
    s->n = (int)nprocs;
    return 0;
}

int sluice_notation_spread(sluice_notation *n, sluice_spread *out, const sluice_shape *shape) {
    int64_t pos[SLUICE_MAX_DIMS], count[SLUICE_MAX_DIMS], commas = 1;
    sluice_spread s = {.n = 0};
    sluice_set part = SLUICE_SET_EMPTY;
    sluice_reason why = {.pos = -1};
    for (const char *c = n->text; *c; c++) commas += *c == ',';
    s.sizes = sluice_mem_alloc((size_t)commas, sizeof *s.sizes);
    if (!s.sizes) return sluice_pass(n->why, -ENOMEM);
    int error = read_dists(n, &s, shape->ndims, pos, count);
    if (!error) error = sluice_notation_expect(n, '@', "expected '@' and the grid of processes");
    if (!error) error = read_grid(n, &s, shape->ndims, pos, count);
    if (!error && (error = sluice_set_hpf(&part, shape, s.dist, s.grid, 0, &why)))
        sluice_refuse(n->why, error, error == SLUICE_E_ARGUMENT && why.pos >= 0 ? pos[why.pos] : -1, "%s", why.text);
    sluice_set_free(&part);
    if (error)
        sluice_spread_free(&s);
    else
        *out = s;
    return error;
}

void sluice_spread_free(sluice_spread *s) {
    sluice_mem_free(s->sizes);
    s->sizes = NULL;
}
