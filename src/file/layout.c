/* layout.c: how the bytes of an array are dealt to subfiles.
 *
 *     single                         all in one
 *     striped:SIZE:N                 SIZE bytes to each of N in turn
 *     cyclic:K:N                     K elements to each in turn
 *     block:N                        N blocks of elements, ceiling(elements / N) each
 *     rows:N, columns:N              blocks along the first, the last dimension
 *     hpf:block,cyclic(2)@2x2        a distribution of High Performance Fortran on a grid (notation.c)
 *     tiles:AxB:N                    boxes of A x B elements to each in turn
 *     falls:DISP:SET;SET;...         nested families of bytes, one set per subfile, for ever from byte DISP on
 *     placed:N                       groups of bytes where a plan wants them, see placed.c
 *
 * Whatever the notation, a layout is a set of bytes for each subfile, and a subfile holds its bytes in ascending order
 * (but those of a plan have an order of their own).
 * Nearly all are distributions: of the array, of its elements in a row, or of its bytes in a row (`space`). The sets of
 * all but the last kind are a partition by the way they are made.
 *
 * In the physical space the subfiles lie one behind the other, each from a multiple of a stretch on, and with at least
 * a stretch of nothing behind it:
 *
 *     base[0]              base[1]        base[2]         base[n]
 *     |0000000000..........|1111..........|22222..........|
 */
#include "file/file.h"
#include "set/section.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FAMILIES = 1 << 20 }; /* in all sets together: some 60 MB */

/* A layout being made from its text. */
typedef struct maker {
    sluice_notation read;
    sluice_layout *l;
} maker;

static int refuse(maker *m, int error, int64_t pos, const char *message) {
    return sluice_refuse(m->read.why, error, pos, "%s", message);
}

/* ":" and a number from 1 to most. */
static int read_count(maker *m, int64_t *value, int64_t most, const char *what) {
    char message[96];
    snprintf(message, sizeof message, "expected ':' and %s", what);
    int error = sluice_notation_expect(&m->read, ':', message);
    if (error) return error;
    sluice_notation_peek(&m->read);
    const int64_t pos = m->read.pos;
    if ((error = sluice_notation_number(&m->read, value))) return error;
    if (*value >= 1 && *value <= most) return 0;
    return sluice_refuse(m->read.why, SLUICE_E_ARGUMENT, pos, "%s is from 1 to %lld", what, (long long)most);
}

static int read_subfiles(maker *m) {
    int64_t n;
    const int error = read_count(m, &n, SLUICE_MAX_SUBFILES, "the number of subfiles");
    if (!error) m->l->n = (int)n;
    return error;
}

/* The array as `count` units of `elem` bytes in a row, dealt in one way. */
static void deal_row(sluice_layout *l, int64_t elem, sluice_dist dist) {
    l->space = (sluice_shape){.ndims = 1, .elem = elem, .dim = {l->length / elem}};
    l->spread.dist[0] = dist;
    l->spread.grid[0] = l->n;
}

static int parse_single(maker *m) {
    m->l->n = 1;
    deal_row(m->l, 1, (sluice_dist){.kind = SLUICE_DIST_STAR});
    return 0;
}

static int parse_striped(maker *m) {
    sluice_dist dist = {.kind = SLUICE_DIST_CYCLIC};
    int error = read_count(m, &dist.block, INT64_MAX, "the bytes of a stripe");
    if (!error && !(error = read_subfiles(m))) deal_row(m->l, 1, dist);
    return error;
}

static int parse_cyclic(maker *m) {
    sluice_dist dist = {.kind = SLUICE_DIST_CYCLIC};
    int error = read_count(m, &dist.block, INT64_MAX, "the elements of a turn");
    if (!error && !(error = read_subfiles(m))) deal_row(m->l, m->l->shape.elem, dist);
    return error;
}

static int parse_block(maker *m) {
    const int error = read_subfiles(m);
    if (!error) deal_row(m->l, m->l->shape.elem, (sluice_dist){.kind = SLUICE_DIST_BLOCK});
    return error;
}

/* Blocks along dimension `along` of the array. */
static int parse_slabs(maker *m, int along) {
    sluice_layout *l = m->l;
    const int error = read_subfiles(m);
    for (int d = 0; d < l->shape.ndims; d++) {
        l->spread.dist[d] = (sluice_dist){.kind = d == along ? SLUICE_DIST_BLOCK : SLUICE_DIST_STAR};
        l->spread.grid[d] = d == along ? l->n : 1;
    }
    return error;
}

static int parse_rows(maker *m) { return parse_slabs(m, 0); }
static int parse_columns(maker *m) { return parse_slabs(m, m->l->shape.ndims - 1); }

static int parse_hpf(maker *m) {
    int error = sluice_notation_expect(&m->read, ':', "expected ':' and a distribution");
    if (error) return error;
    const int64_t pos = m->read.pos;
    if ((error = sluice_notation_spread(&m->read, &m->l->spread, &m->l->shape))) return error;
    if (m->l->spread.n > SLUICE_MAX_SUBFILES)
        return sluice_refuse(m->read.why, SLUICE_E_ARGUMENT, pos, "the number of subfiles is from 1 to %d, not %d",
                             SLUICE_MAX_SUBFILES, m->l->spread.n);
    m->l->n = m->l->spread.n;
    return 0;
}

/* Extents that are left out are those of the slowest dimensions, and 1. */
static int parse_tiles(maker *m) {
    sluice_layout *l = m->l;
    const int ndims = l->shape.ndims;
    int64_t extent[SLUICE_MAX_DIMS], pos[SLUICE_MAX_DIMS];
    int given, error = sluice_notation_expect(&m->read, ':', "expected ':' and the extents of a tile, like 64x64");
    if (!error) error = sluice_notation_extents(&m->read, extent, pos, &given);
    if (error) return error;
    if (given > ndims)
        return sluice_refuse(m->read.why, SLUICE_E_ARGUMENT, pos[ndims], "tiles of %d dimensions; the array has %d",
                             given, ndims);
    l->tile = sluice_mem_alloc((size_t)ndims, sizeof *l->tile);
    if (!l->tile) return sluice_pass(m->read.why, -ENOMEM);
    const int skip = l->shape.order == SLUICE_ROW_MAJOR ? ndims - given : 0;
    for (int d = 0; d < ndims; d++) l->tile[d] = d >= skip && d < skip + given ? extent[d - skip] : 1;
    for (int i = 0; i < given; i++)
        if (extent[i] < 1) return refuse(m, SLUICE_E_ARGUMENT, pos[i], "a tile has at least 1 element along each side");
    return read_subfiles(m);
}

/* ---- Families in the text ---- */

/* One set, up to the next ';'. */
static int read_set(maker *m, sluice_set *out) {
    const char *start = m->read.text + m->read.pos;
    const size_t len = strcspn(start, ";");
    sluice_reason why = {.pos = -1};
    char *piece = sluice_mem_alloc(len + 1, 1);
    if (!piece) return sluice_pass(m->read.why, -ENOMEM);
    memcpy(piece, start, len);
    piece[len] = 0;
    const int error = sluice_set_parse(out, piece, &why);
    sluice_mem_free(piece);
    if (error) return sluice_refuse(m->read.why, error, m->read.pos + sluice_max(why.pos, 0), "%s", why.text);
    m->read.pos += (int64_t)len;
    return 0;
}

static int count_families(maker *m, int64_t *total, const sluice_set *s, int64_t pos) {
    *total += s->nnode;
    if (*total <= MAX_FAMILIES) return 0;
    return sluice_refuse(m->read.why, SLUICE_E_COMPLEX, pos, "the layout takes more than %d families", MAX_FAMILIES);
}

/* Where the i-th set from the one at `start` on starts in a text of sets. */
static int64_t place_of(const char *text, int64_t start, int64_t i) {
    for (; i > 0 && text[start]; start++) i -= text[start] == ';';
    return start;
}

/* What lies before the displacement is in no period. It goes to the first subfile, before all else in it. */
static int add_prefix(sluice_set *first, int64_t len) {
    sluice_set prefix = SLUICE_SET_EMPTY;
    int error = sluice_set_block(&prefix, 0, len);
    if (!error) error = sluice_set_union(first, first, &prefix);
    sluice_set_free(&prefix);
    return error;
}

/* The pattern becomes the bytes of the array that it deals. */
static int repeat(maker *m, int64_t disp, int64_t start) {
    sluice_layout *l = m->l;
    sluice_partition p = {l->n, l->set, 0, disp};
    sluice_reason why = {.pos = -1};
    int64_t total = 0;
    int error = sluice_partition_check(&p, &why);
    if (error)
        return sluice_refuse(m->read.why, error, place_of(m->read.text, start, error == SLUICE_E_SHARED ? why.pos : 0),
                             "%s", why.text);
    for (int i = 0; i < l->n; i++, start = place_of(m->read.text, start, 1)) {
        const sluice_element e = {&l->set[i], p.period, disp};
        error = sluice_element_cut(&l->set[i], &e, 0, l->length);
        if (!error && i == 0 && disp > 0) error = add_prefix(l->set, sluice_min(disp, l->length));
        if (error) return sluice_pass(m->read.why, error);
        if ((error = count_families(m, &total, &l->set[i], start))) return error;
    }
    return 0;
}

static int make_room(maker *m) {
    sluice_layout *l = m->l;
    l->set = sluice_mem_alloc((size_t)l->n, sizeof *l->set);
    if (!l->set) return sluice_pass(m->read.why, -ENOMEM);
    memset(l->set, 0, (size_t)l->n * sizeof *l->set);
    return 0;
}

static int parse_falls(maker *m) {
    sluice_layout *l = m->l;
    int64_t disp, total = 0;
    int error = sluice_notation_expect(&m->read, ':', "expected ':' and the displacement");
    if (!error) error = sluice_notation_number(&m->read, &disp);
    if (!error) error = sluice_notation_expect(&m->read, ':', "expected ':' and the sets of the subfiles");
    if (error) return error;
    const int64_t start = m->read.pos;
    l->families = true;
    l->n = 1; /* the text has room for no more than SLUICE_MAX_SUBFILES */
    for (const char *c = m->read.text + start; *c; c++) l->n += *c == ';';
    if ((error = make_room(m))) return error;
    for (int i = 0; i < l->n; i++) {
        if (i) m->read.pos++;
        const int64_t pos = m->read.pos;
        if ((error = read_set(m, &l->set[i]))) return error;
        if ((error = count_families(m, &total, &l->set[i], pos))) return error;
    }
    return repeat(m, disp, start);
}

/* ---- Making layouts ---- */

static int parse_kind(maker *m) {
    static const struct {
        const char *name;
        int (*parse)(maker *m);
    } kind[] = {
        {"single", parse_single}, {"striped", parse_striped}, {"cyclic", parse_cyclic},
        {"block", parse_block},   {"rows", parse_rows},       {"columns", parse_columns},
        {"hpf", parse_hpf},       {"tiles", parse_tiles},     {"falls", parse_falls},
    };
    const size_t len = strcspn(m->read.text, ": \t\n\v\f\r");
    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
        if (strlen(kind[k].name) != len || strncmp(m->read.text, kind[k].name, len) != 0) continue;
        m->read.pos = (int64_t)len;
        const int error = kind[k].parse(m);
        if (error || !sluice_notation_peek(&m->read)) return error;
        return refuse(m, SLUICE_E_SYNTAX, m->read.pos, "expected the end of the layout");
    }
    if (len == 6 && !strncmp(m->read.text, "placed", len))
        return refuse(m, SLUICE_E_ARGUMENT, 0, "a layout by plan is made by `sluice partition`");
    return refuse(m, SLUICE_E_SYNTAX, 0, "expected single, striped, cyclic, block, rows, columns, hpf, tiles or falls");
}

/* The sets of a layout that is a distribution or made of tiles. */
static int make_sets(maker *m) {
    sluice_layout *l = m->l;
    sluice_reason why = {.pos = -1};
    sluice_dealing dealing = {l->tile, l->n, 4 * MAX_FAMILIES};
    sluice_hpf parts = {0};
    int64_t total = 0;
    int error = make_room(m);
    if (error) return error;
    if (!l->tile) error = sluice_hpf_open(&parts, &l->space, l->spread.dist, l->spread.grid, &why);
    bool counted = true;
    for (int i = 0; i < l->n && !error; i++) {
        error = l->tile ? sluice_deal_tiles(&l->set[i], &l->space, &dealing, i, &why)
                        : sluice_hpf_part(&l->set[i], &parts, i, &why);
        if (!error) counted = !(error = count_families(m, &total, &l->set[i], -1));
    }
    sluice_hpf_close(&parts);
    return error && counted ? sluice_refuse(m->read.why, error, -1, "%s", why.text) : error;
}

int sluice_layout_line_up(sluice_layout *l, sluice_reason *why) {
    l->base = sluice_mem_alloc((size_t)l->n + 1, sizeof *l->base);
    if (!l->base) return sluice_pass(why, -ENOMEM);
    l->base[0] = 0;
    for (int i = 0; i < l->n; i++) {
        const int64_t stretches = sluice_ceil_div(l->size[i], SLUICE_MAP_STRETCH) + 1;
        int64_t room;
        if (!sluice_mul(stretches, SLUICE_MAP_STRETCH, &room) || !sluice_add(l->base[i], room, &l->base[i + 1]))
            return sluice_refuse(why, SLUICE_E_OVERFLOW, -1, "subfile %d takes the whole past 2^63-1 bytes", i);
    }
    return 0;
}

static int measure(maker *m) {
    sluice_layout *l = m->l;
    l->size = sluice_mem_alloc((size_t)l->n, sizeof *l->size);
    if (!l->size) return sluice_pass(m->read.why, -ENOMEM);
    for (int i = 0; i < l->n; i++) l->size[i] = l->set[i].size;
    return sluice_layout_line_up(l, m->read.why);
}

static int make(maker *m, const sluice_shape *shape) {
    sluice_layout *l = m->l;
    int64_t step[SLUICE_MAX_DIMS];
    l->shape = *shape;
    l->shape.header = 0;
    int error = sluice_section_shape(&l->shape, step, m->read.why);
    if (error) {
        m->read.why->pos = -1; /* of the shape, not of the text */
        return error;
    }
    const int slowest = shape->order == SLUICE_ROW_MAJOR ? 0 : shape->ndims - 1;
    l->length = step[slowest] * shape->dim[slowest];
    l->space = l->shape;
    const size_t len = strnlen(m->read.text, SLUICE_MAX_LAYOUT_TEXT + 1);
    if (len > SLUICE_MAX_LAYOUT_TEXT)
        return sluice_refuse(m->read.why, SLUICE_E_ARGUMENT, SLUICE_MAX_LAYOUT_TEXT, "a text of more than %d bytes",
                             SLUICE_MAX_LAYOUT_TEXT);
    l->text = sluice_mem_alloc(len + 1, 1);
    if (!l->text) return sluice_pass(m->read.why, -ENOMEM);
    memcpy(l->text, m->read.text, len + 1);
    if ((error = parse_kind(m))) return error;
    if (!l->families && (error = make_sets(m))) return error;
    return measure(m);
}

static sluice_quote quote(const char *text) {
    const sluice_run all = {0, (int64_t)strnlen(text, sizeof(sluice_quote))};
    return sluice_literal_quote(&(sluice_literal){.text = (const unsigned char *)text}, all);
}

int sluice_layout_parse(sluice_layout **out, const sluice_shape *shape, const char *text, sluice_reason *why) {
    sluice_reason inner = {.pos = -1};
    sluice_layout *l = sluice_mem_alloc(1, sizeof *l);
    if (!l) return sluice_pass(why, -ENOMEM);
    memset(l, 0, sizeof *l);
    maker m = {{text, 0, &inner}, l};
    const int error = make(&m, shape);
    if (!error) {
        *out = l;
        return 0;
    }
    sluice_layout_free(l);
    char place[32] = "";
    if (inner.pos >= 0) snprintf(place, sizeof place, ", byte %lld", inner.pos);
    return sluice_refuse(why, error, inner.pos, "layout %s%s: %s", quote(text).text, place, inner.text);
}

void sluice_layout_free(sluice_layout *l) {
    if (!l) return;
    for (int i = 0; l->set && i < l->n; i++) sluice_set_free(&l->set[i]);
    sluice_mem_free(l->set);
    sluice_mem_free(l->size);
    sluice_mem_free(l->base);
    sluice_placed_free(l->placed);
    sluice_mem_free(l->tile);
    sluice_mem_free(l->text);
    sluice_spread_free(&l->spread);
    sluice_mem_free(l);
}

/* The first byte that both arrays have and that is another subfile's in the other, or -1; less: an error. */
static int64_t first_moved(const sluice_layout *a, const sluice_layout *b) {
    const int64_t common = sluice_min(a->length, b->length);
    sluice_set old = SLUICE_SET_EMPTY, new = SLUICE_SET_EMPTY;
    int64_t first = -1;
    int error = 0;
    for (int i = 0; i < a->n && !error; i++) {
        error = sluice_set_cut(&old, &a->set[i], 0, common);
        if (!error) error = sluice_set_cut(&new, &b->set[i], 0, common);
        if (!error) error = sluice_set_subtract(&old, &old, &new);
        if (!error && old.size && (first < 0 || sluice_set_lo(&old) < first)) first = sluice_set_lo(&old);
    }
    sluice_set_free(&old);
    sluice_set_free(&new);
    return error ? error : first;
}

int sluice_layout_resize(sluice_layout **out, const sluice_layout *l, int64_t extent, sluice_reason *why) {
    sluice_shape shape = l->shape;
    sluice_layout *made = NULL;
    if (l->placed) return sluice_placed_resize(out, l, extent, why);
    shape.dim[shape.order == SLUICE_ROW_MAJOR ? 0 : shape.ndims - 1] = extent;
    const int error = sluice_layout_parse(&made, &shape, l->text, why);
    if (error) return error;
    const int64_t moved = first_moved(l, made);
    if (moved == -1) {
        *out = made;
        return 0;
    }
    sluice_layout_free(made);
    if (moved < 0) return sluice_pass(why, (int)moved);
    return sluice_refuse(why, SLUICE_E_ARGUMENT, moved,
                         "layout %s: with an extent of %lld, byte %lld would belong to another subfile; layouts that "
                         "deal in turn can be resized",
                         quote(l->text).text, (long long)extent, (long long)moved);
}

/* ---- Asking layouts ---- */

int sluice_layout_split(const sluice_layout *l, const sluice_set *file, int i, sluice_set *sub, sluice_set *ranks) {
    sluice_set in = SLUICE_SET_EMPTY;
    int error = sluice_set_project(&in, file, &l->set[i]);
    if (!error) error = sluice_set_project(ranks, &l->set[i], file);
    if (error) {
        sluice_set_free(&in);
    } else {
        sluice_set_free(sub);
        *sub = in;
    }
    return error;
}

/* The index of the element at byte x of what is dealt. */
static void index_of(const sluice_shape *space, int64_t x, int64_t *index) {
    x /= space->elem;
    for (int k = 0; k < space->ndims; k++) {
        const int d = space->order == SLUICE_ROW_MAJOR ? space->ndims - 1 - k : k;
        index[d] = x % space->dim[d];
        x /= space->dim[d];
    }
}

int sluice_layout_owner(const sluice_layout *l, int64_t x) {
    int64_t index[SLUICE_MAX_DIMS], local, turn = 0;
    int owner = 0, along = 0;
    if (l->placed) return sluice_placed_owner(l, x);
    if (l->families) {
        while (owner < l->n - 1 && !sluice_set_contains(&l->set[owner], x)) owner++;
        return owner;
    }
    index_of(&l->space, x, index);
    for (int k = 0; k < l->space.ndims; k++) {
        const int d = l->space.order == SLUICE_ROW_MAJOR || !l->tile ? k : l->space.ndims - 1 - k;
        if (l->tile) {
            turn = turn * sluice_ceil_div(l->space.dim[d], l->tile[d]) + index[d] / l->tile[d];
        } else {
            sluice_dist_owner(&l->spread.dist[d], l->space.dim[d], l->spread.grid[d], index[d], &along, &local);
            owner = owner * l->spread.grid[d] + along;
        }
    }
    return l->tile ? (int)(turn % l->n) : owner;
}

/* Marks the owners of the pieces of `file`; false if there are more pieces than subfiles. */
static bool walk(const sluice_layout *l, const sluice_set *file, bool *hit, int *count) {
    sluice_cursor c;
    sluice_run run = {0, 0};
    int64_t x = sluice_set_next(file, 0);
    for (int steps = 0; x >= 0 && x < l->length; steps++) {
        if (steps == l->n) return false;
        const int i = sluice_layout_owner(l, x);
        *count += !hit[i];
        hit[i] = true;
        sluice_cursor_init(&c, &l->set[i]);
        sluice_cursor_seek_offset(&c, x);
        sluice_cursor_run(&c, &run);
        x = sluice_set_next(file, run.off + run.len);
    }
    return true;
}

int sluice_layout_meet(const sluice_layout *l, const sluice_set *file, bool *hit) {
    const int64_t lo = sluice_set_lo(file), hi = sluice_set_hi(file);
    int count = 0;
    memset(hit, 0, (size_t)l->n * sizeof *hit);
    if (!l->families && !l->placed && walk(l, file, hit, &count)) return count;
    count = 0;
    for (int i = 0; i < l->n; i++) count += hit[i] = sluice_set_rank(&l->set[i], hi) > sluice_set_rank(&l->set[i], lo);
    return count;
}
