/* draw.c: pictures of sets in characters: bytes in a line, or elements of an array in rows and planes. */
#include "tool/tool.h"

enum {
    ROWS = 64,  /* most lines of a picture */
    COLS = 100, /* most elements in a line of a picture of an array */
};

static const char symbol[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
enum { SYMBOLS = sizeof symbol - 1 };

char draw_symbol(int i) { return symbol[i % SYMBOLS]; }

/* What stands for the len bytes at off: of a single set # for all, + for some; of several, the one that has any. */
static char mark(const parts *p, int64_t off, int64_t len) {
    for (int i = 0; i < p->n; i++) {
        const int64_t has = sluice_set_rank(&p->set[i], off + len) - sluice_set_rank(&p->set[i], off);
        if (has) return p->n > 1 ? draw_symbol(i) : has == len ? '#' : '+';
    }
    return '.';
}

/* The owner of the element at off, as a letter: a capital if it is in the section. */
static char letter(const parts *owners, const sluice_set *section, int64_t off) {
    for (int i = 0; i < owners->n; i++)
        if (sluice_set_contains(&owners->set[i], off))
            return (char)((sluice_set_contains(section, off) ? 'A' : 'a') + i % 26);
    return '.';
}

/* ---- bytes ---- */

static void draw_bytes(const parts *p, int64_t width) {
    int64_t end = 0, row = 0;
    char digits[32];
    for (int i = 0; i < p->n; i++)
        if (sluice_set_hi(&p->set[i]) > end) end = sluice_set_hi(&p->set[i]);
    const int64_t shown = end / width < ROWS ? end : width * ROWS;
    const int gutter = snprintf(digits, sizeof digits, "%" PRId64, p->disp + shown);
    for (; row < shown; row += width) {
        printf("%*" PRId64 " ", gutter, p->disp + row);
        for (int64_t x = row; x < row + width && x < end; x++) putchar(mark(p, x, 1));
        putchar('\n');
    }
    if (shown < end) printf("... up to %" PRId64 "\n", p->disp + end - 1);
}

/* ---- arrays ---- */

static int64_t columns(const sluice_shape *a) { return a->dim[a->ndims - 1]; }

/* All dimensions but the last one, as lines. -1 if there are more than fit into a picture. */
static int64_t lines(const sluice_shape *a) {
    int64_t n = 1;
    for (int d = 0; d < a->ndims - 1; d++) {
        if (a->dim[d] > ROWS) return -1;
        n *= a->dim[d];
        if (n > ROWS) return -1;
    }
    return n;
}

bool draw_fits(const sluice_shape *a) { return lines(a) > 0 && columns(a) > 0 && columns(a) <= COLS; }

/* The indices of a line, and where its elements lie: the first one, and how far apart. */
static void place(const sluice_shape *a, int64_t line, int64_t *index, int64_t *off, int64_t *step) {
    int64_t bytes = a->elem;
    *step = 0;
    index[a->ndims - 1] = 0;
    for (int d = a->ndims - 2; d >= 0; d--) {
        index[d] = line % a->dim[d];
        line /= a->dim[d];
    }
    *off = a->header;
    for (int i = 0; i < a->ndims; i++) {
        const int d = a->order == SLUICE_ROW_MAJOR ? a->ndims - 1 - i : i;
        if (d == a->ndims - 1) *step = bytes;
        *off += index[d] * bytes;
        bytes *= a->dim[d];
    }
}

/* In front of each plane of an array of more than two dimensions: its indices. */
static void plane_title(const sluice_shape *a, const int64_t *index, const char *indent) {
    if (a->ndims < 3 || index[a->ndims - 2]) return;
    printf("%s[", indent);
    for (int d = 0; d < a->ndims - 2; d++) printf("%" PRId64 ",", index[d]);
    printf(":,:]\n");
}

void draw_array(const sluice_shape *a, const parts *p, const sluice_set *section, const char *indent) {
    for (int64_t line = 0; line < lines(a); line++) {
        int64_t index[SLUICE_MAX_DIMS], off, step;
        place(a, line, index, &off, &step);
        plane_title(a, index, indent);
        fputs(indent, stdout);
        for (int64_t i = 0; i < columns(a); i++) {
            const int64_t x = off + i * step;
            putchar(section ? letter(p, section, x) : mark(p, x - p->disp, a->elem));
        }
        putchar('\n');
    }
}

int draw_run(const options *o, int n, char **argument) {
    (void)n;
    parts p;
    const sluice_shape *a = options_array(o);
    if (a && !draw_fits(a))
        report_usage("shape '%s': only arrays of up to %d rows and %d columns are drawn", o->shape, ROWS, COLS);
    notation_parts(&p, a, argument[0], true);
    if (a)
        draw_array(a, &p, NULL, "");
    else
        draw_bytes(&p, o->width);
    parts_free(&p);
    return 0;
}
