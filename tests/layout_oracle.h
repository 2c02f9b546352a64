/* layout_oracle.h: random layouts, and who has each byte of the array, found by dealing byte after byte. */
#ifndef SLUICE_TESTS_LAYOUT_ORACLE_H
#define SLUICE_TESTS_LAYOUT_ORACLE_H

#include "file/file.h"
#include "support/oracle.h"
#include "support/random.h"
#include <string.h>

enum { CASE_BYTES = 20000, CASE_PERIOD = 40, CASE_KINDS = 9, CASE_SUBFILES = 64 };

typedef struct layout_case {
    sluice_shape shape;
    char text[8192];
    int kind, n, grid[SLUICE_MAX_DIMS];
    int64_t size, disp, period; /* of a stripe, a turn; of families */
    int64_t tile[SLUICE_MAX_DIMS], sizes[SLUICE_MAX_DIMS][8];
    sluice_dist dist[SLUICE_MAX_DIMS];
    int pattern[CASE_PERIOD];
    int64_t length;
    int owner[CASE_BYTES];   /* of each byte */
    int64_t off[CASE_BYTES]; /* and where in the subfile it is */
    int64_t size_of[CASE_SUBFILES];
} layout_case;

/* The index of the element behind that one. */
static inline void case_next(const sluice_shape *s, int64_t *index) {
    for (int k = 0; k < s->ndims; k++) {
        const int d = s->order == SLUICE_ROW_MAJOR ? s->ndims - 1 - k : k;
        if (++index[d] < s->dim[d]) break;
        index[d] = 0;
    }
}

/* The number of the tile with an index, found by visiting all tiles in order. */
static inline int64_t case_tile(const layout_case *c, const int64_t *index) {
    sluice_shape tiles = c->shape;
    int64_t at[SLUICE_MAX_DIMS] = {0};
    for (int d = 0; d < tiles.ndims; d++) tiles.dim[d] = (c->shape.dim[d] + c->tile[d] - 1) / c->tile[d];
    for (int64_t t = 0;; t++, case_next(&tiles, at)) {
        bool here = true;
        for (int d = 0; d < tiles.ndims; d++)
            here &= index[d] >= at[d] * c->tile[d] && index[d] < (at[d] + 1) * c->tile[d];
        if (here) return t;
    }
}

/* Of byte x, which is one of the element with that index. */
static inline int case_owner(const layout_case *c, int64_t x, const int64_t *index) {
    const int64_t e = x / c->shape.elem, count = c->length / c->shape.elem;
    const int last = c->shape.ndims - 1;
    int64_t block;
    int owner = 0;
    switch (c->kind) {
    case 0: return 0;
    case 1: return (int)(x / c->size % c->n);
    case 2: return (int)(e / c->size % c->n);
    case 3: block = (count + c->n - 1) / c->n; return (int)(e / block);
    case 4: block = (c->shape.dim[0] + c->n - 1) / c->n; return (int)(index[0] / block);
    case 5: block = (c->shape.dim[last] + c->n - 1) / c->n; return (int)(index[last] / block);
    case 6:
        for (int d = 0; d <= last; d++) {
            int p = 0;
            while (!oracle_dist_owns(&c->dist[d], c->shape.dim[d], c->grid[d], p, index[d])) p++;
            owner = owner * c->grid[d] + p;
        }
        return owner;
    case 7: return (int)(case_tile(c, index) % c->n);
    default: return x < c->disp ? 0 : c->pattern[(x - c->disp) % c->period];
    }
}

static inline void case_deal(layout_case *c) {
    int64_t index[SLUICE_MAX_DIMS] = {0};
    memset(c->size_of, 0, sizeof c->size_of);
    c->length = c->shape.elem;
    for (int d = 0; d < c->shape.ndims; d++) c->length *= c->shape.dim[d];
    for (int64_t x = 0; x < c->length; x++) {
        c->owner[x] = case_owner(c, x, index);
        c->off[x] = c->size_of[c->owner[x]]++;
        if (x % c->shape.elem == c->shape.elem - 1) case_next(&c->shape, index);
    }
}

#define CASE_PRINT(...) at += snprintf(c->text + at, sizeof c->text - (size_t)at, __VA_ARGS__)

static inline void case_draw_hpf(layout_case *c, chance *r) {
    int at = snprintf(c->text, sizeof c->text, "hpf:");
    c->n = 1;
    for (int d = 0; d < c->shape.ndims; d++) {
        const int64_t dim = c->shape.dim[d];
        const int kind = (int)chance_draw(r, 0, 4), most = CASE_SUBFILES / c->n < 4 ? 1 : 4;
        const int p = kind ? (int)chance_low(r, 1, most) : 1;
        c->grid[d] = p;
        c->n *= p;
        if (d) CASE_PRINT(", ");
        if (kind == 0) c->dist[d] = (sluice_dist){SLUICE_DIST_STAR, 0, NULL}, CASE_PRINT("*");
        if (kind == 1) c->dist[d] = (sluice_dist){SLUICE_DIST_BLOCK, 0, NULL}, CASE_PRINT("BLOCK");
        if (kind == 2) {
            const int64_t block = (dim + p - 1) / p + chance_low(r, 0, 3) + !dim;
            c->dist[d] = (sluice_dist){SLUICE_DIST_BLOCK, block, NULL};
            CASE_PRINT("block(%lld)", (long long)block);
        }
        if (kind == 3) {
            const int64_t block = chance_low(r, 1, 4);
            c->dist[d] = (sluice_dist){SLUICE_DIST_CYCLIC, block, NULL};
            CASE_PRINT(block == 1 && d ? "cyclic" : "cyclic(%lld)", (long long)block);
        }
        if (kind == 4) {
            int64_t left = dim;
            CASE_PRINT("genblock(");
            for (int i = 0; i < p; i++) {
                c->sizes[d][i] = i == p - 1 ? left : chance_draw(r, 0, left);
                left -= c->sizes[d][i];
                CASE_PRINT("%s%lld", i ? "," : "", (long long)c->sizes[d][i]);
            }
            CASE_PRINT(")");
            c->dist[d] = (sluice_dist){SLUICE_DIST_GENBLOCK, 0, c->sizes[d]};
        }
    }
    for (int d = 0; d < c->shape.ndims; d++) CASE_PRINT("%c%d", d ? 'x' : '@', c->grid[d]);
}

static inline void case_draw_falls(layout_case *c, chance *r) {
    int at = 0;
    c->n = (int)chance_low(r, 1, 5);
    c->period = chance_draw(r, c->n, CASE_PERIOD);
    c->disp = chance_once_in(r, 2) ? chance_draw(r, 1, 50) : 0;
    for (int64_t x = 0; x < c->period; x++)
        c->pattern[x] = x < c->n ? (int)x : chance_once_in(r, 3) ? (int)chance_draw(r, 0, c->n - 1) : c->pattern[x - 1];
    CASE_PRINT("falls:%lld:", (long long)c->disp);
    for (int i = 0; i < c->n; i++) {
        const char *comma = "";
        CASE_PRINT("%s{", i ? ";" : "");
        for (int64_t x = 0, y; x < c->period; x = y) {
            for (y = x; y < c->period && c->pattern[y] == c->pattern[x]; y++) {
            }
            if (c->pattern[x] != i) continue;
            if (y - x > 2 && (y - x) % 2) /* as a family of single bytes and one of those between */
                CASE_PRINT("%s(%lld,%lld,2,%lld),(%lld,%lld,2,%lld)", comma, (long long)x, (long long)x,
                           (long long)(y - x + 1) / 2, (long long)x + 1, (long long)x + 1, (long long)(y - x) / 2);
            else
                CASE_PRINT("%s%lld-%lld", comma, (long long)x, (long long)y - 1);
            comma = ",";
            y = y > x ? y : x + 1;
        }
        CASE_PRINT("}");
    }
}

/* A random array, empty ones too. */
static inline void case_draw_shape(layout_case *c, chance *r) {
    static const int64_t elem[] = {1, 2, 4, 8, 12, 3};
    sluice_shape *s = &c->shape;
    *s = (sluice_shape){.ndims = (int)chance_low(r, 1, 4), .elem = elem[chance_draw(r, 0, 5)]};
    s->order = chance_once_in(r, 2) ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR;
    for (int d = 0; d < s->ndims; d++) {
        static const int64_t most[] = {0, 200, 18, 7, 4};
        s->dim[d] = chance_once_in(r, 30) ? 0 : chance_draw(r, 1, most[s->ndims]);
    }
}

/* A layout for the array that c->shape says, in c->text; who has which byte is not found out yet. */
static inline void case_draw_layout(layout_case *c, chance *r) {
    const sluice_shape *s = &c->shape;
    int at = 0;
    c->kind = (int)chance_draw(r, 0, CASE_KINDS - 1);
    c->n = c->kind ? (int)chance_low(r, 1, 9) : 1;
    c->size = chance_low(r, 1, 40);
    switch (c->kind) {
    case 0: CASE_PRINT("single"); break;
    case 1: CASE_PRINT("striped:%lld:%d", (long long)c->size, c->n); break;
    case 2: CASE_PRINT("cyclic:%lld:%d", (long long)c->size, c->n); break;
    case 3: CASE_PRINT("block:%d", c->n); break;
    case 4: CASE_PRINT("rows:%d", c->n); break;
    case 5: CASE_PRINT("columns:%d", c->n); break;
    case 6: case_draw_hpf(c, r); break;
    case 7: {
        const int given = (int)chance_draw(r, 1, s->ndims), skip = s->order == SLUICE_ROW_MAJOR ? s->ndims - given : 0;
        CASE_PRINT("tiles:");
        for (int d = 0; d < s->ndims; d++) {
            const bool named = d >= skip && d < skip + given;
            c->tile[d] = named ? chance_low(r, 1, 6) : 1;
            if (named) CASE_PRINT("%s%lld", d > skip ? "x" : "", (long long)c->tile[d]);
        }
        CASE_PRINT(":%d", c->n);
        break;
    }
    default: case_draw_falls(c, r);
    }
}

/* Some that a test can name: in turns of bytes, in tiles, along the last dimension. The last two need two dimensions.
 */
static inline void case_choose(layout_case *c, int which) {
    int at = 0;
    c->kind = (const int[]){1, 7, 5}[which];
    c->n = 3;
    c->size = 100;
    c->tile[0] = 7;
    c->tile[1] = 9;
    CASE_PRINT("%s", (const char *const[]){"striped:100:3", "tiles:7x9:3", "columns:3"}[which]);
    case_deal(c);
}

/* A layout of a random array. */
static inline void case_draw(layout_case *c, chance *r) {
    case_draw_shape(c, r);
    case_draw_layout(c, r);
    case_deal(c);
}

#endif
