/* picture.c: a picture of a layout: which subfile each region of the array belongs to.
 *
 * The array is divided into at most 64 x 32 cells. A cell is a section, and its subfile is the one that has all of it.
 */
#include "tool/tool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { COLS = 64, ROWS = 32, SEVERAL = -1 };

typedef struct grid {
    int rows, cols;
    int owner[ROWS][COLS];
} grid;

bool picture_possible(const sluice_shape *array) {
    bool full = array->ndims <= 2;
    for (int d = 0; d < array->ndims; d++) full = full && array->dim[d] > 0;
    return full;
}

/* Cell k of n along an extent. */
static sluice_range cut(int64_t extent, int k, int n) {
    const int64_t each = extent / n, more = extent % n, from = k * each + (k < more ? k : more);
    return (sluice_range){from, each + (k < more), 1};
}

static int owner_of(const sluice_layout *l, const sluice_range *range) {
    sluice_set cell = SLUICE_SET_EMPTY, sub = SLUICE_SET_EMPTY, ranks = SLUICE_SET_EMPTY;
    report_error(sluice_set_section(&cell, &l->shape, range, NULL), "picture");
    const int owner = sluice_layout_owner(l, sluice_set_lo(&cell));
    report_error(sluice_layout_split(l, &cell, owner, &sub, &ranks), "picture");
    const bool all = sub.size == cell.size;
    sluice_set_free(&cell);
    sluice_set_free(&sub);
    sluice_set_free(&ranks);
    return all ? owner : SEVERAL;
}

static void look(grid *g, const sluice_layout *l) {
    const sluice_shape *s = &l->shape;
    const int64_t height = s->ndims > 1 ? s->dim[0] : 1, width = s->dim[s->ndims - 1];
    g->rows = height < ROWS ? (int)height : ROWS;
    g->cols = width < COLS ? (int)width : COLS;
    for (int i = 0; i < g->rows; i++)
        for (int k = 0; k < g->cols; k++) {
            sluice_range range[2] = {cut(height, i, g->rows)};
            range[s->ndims - 1] = cut(width, k, g->cols);
            g->owner[i][k] = owner_of(l, range);
        }
}

static bool has_mixed(const grid *g) {
    for (int i = 0; i < g->rows; i++)
        for (int k = 0; k < g->cols; k++)
            if (g->owner[i][k] == SEVERAL) return true;
    return false;
}

void picture_print(const sluice_layout *l, const char *indent) {
    grid g;
    look(&g, l);
    printf("the subfile of each region%s\n", has_mixed(&g) ? "; + where there are several" : "");
    for (int i = 0; i < g.rows; i++) {
        fputs(indent, stdout);
        for (int k = 0; k < g.cols; k++) putchar(g.owner[i][k] == SEVERAL ? '+' : draw_symbol(g.owner[i][k]));
        putchar('\n');
    }
}

/* Neighbouring numbers get colours far apart: steps of the golden angle. */
static int hue(int owner) { return (int)((int64_t)owner * 137508 / 1000 % 360); }

void picture_svg(const sluice_layout *l, const char *path, bool force) {
    enum { SIDE = 12 };
    grid g;
    look(&g, l);
    FILE *f = fopen(output_start(path, force), "we");
    if (!f) report_failure("create %s: %s", path, strerror(errno));
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n", g.cols * SIDE, g.rows * SIDE);
    for (int i = 0; i < g.rows; i++)
        for (int k = 0, end; k < g.cols; k = end) {
            const int owner = g.owner[i][k];
            for (end = k + 1; end < g.cols && g.owner[i][end] == owner;) end++;
            fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" ", k * SIDE, i * SIDE, (end - k) * SIDE,
                    SIDE);
            if (owner == SEVERAL)
                fprintf(f, "fill=\"gray\"><title>several subfiles</title></rect>\n");
            else
                fprintf(f, "fill=\"hsl(%d,60%%,%d%%)\"><title>subfile %d</title></rect>\n", hue(owner),
                        45 + owner % 3 * 12, owner);
        }
    fprintf(f, "</svg>\n");
    output_text(f);
}
