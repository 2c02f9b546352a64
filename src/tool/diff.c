/* diff.c: `sluice diff`: two arrays, element by element, whatever their formats and orders.
 *
 * Boxes that are good to read in both orders (boxes.c) are read from both at once; if the orders differ, the second is
 * turned into the order of the first. While one pair is compared the next is read.
 */
#include "array/copy.h"
#include "tool/tool.h"
#include <stdlib.h>
#include <string.h>

typedef struct comparison {
    sluice_array *array[2];
    const sluice_desc *desc[2];
    int axis[2][SLUICE_MAX_DIMS]; /* from the fastest to the slowest */
    unsigned char *buf[2][2], *turned;
    sluice_request *request[2][2]; /* by turn and array */
    int64_t elem, elements, different;
    int64_t first;           /* row-major index of the first difference; -1: none */
    unsigned char *value[2]; /* what is there */
} comparison;

static int64_t row_major(const sluice_shape *s, const int64_t *i) {
    int64_t index = 0;
    for (int d = 0; d < s->ndims; d++) index = index * s->dim[d] + i[d];
    return index;
}

static void start(comparison *c, const sluice_boxes *b, int turn) {
    sluice_range range[SLUICE_MAX_DIMS];
    for (int d = 0; d < b->naxes; d++) range[d] = (sluice_range){b->at[d], b->n[d], 1};
    for (int k = 0; k < 2; k++)
        report_array(sluice_read_start(&c->request[turn][k], c->array[k],
                                       &(sluice_part){.range = range, .buf = c->buf[turn][k]}, 1));
}

/* The second box in the order of the first. */
static const unsigned char *turned(const comparison *c, const sluice_boxes *b, int turn) {
    sluice_turn t = {.naxes = b->naxes, .elem = c->elem};
    if (!c->turned) return c->buf[turn][1];
    memcpy(t.n, b->n, sizeof t.n);
    sluice_transpose_steps(t.from, b->n, c->axis[1], b->naxes, c->elem);
    sluice_transpose_steps(t.to, b->n, c->axis[0], b->naxes, c->elem);
    sluice_transpose(c->turned, c->buf[turn][1], &t);
    return c->turned;
}

static void compare(comparison *c, const sluice_boxes *b, int turn) {
    for (int k = 0; k < 2; k++) report_array(sluice_wait(c->request[turn][k]));
    const unsigned char *x = c->buf[turn][0], *y = turned(c, b, turn);
    const int64_t n = sluice_boxes_volume(b);
    if (!memcmp(x, y, (size_t)(n * c->elem))) return;
    int64_t i[SLUICE_MAX_DIMS];
    memcpy(i, b->at, sizeof i);
    for (int64_t k = 0; k < n; k++, x += c->elem, y += c->elem) {
        if (memcmp(x, y, (size_t)c->elem)) {
            const int64_t at = row_major(&c->desc[0]->shape, i);
            c->different++;
            if (c->first < 0 || at < c->first) {
                c->first = at;
                memcpy(c->value[0], x, (size_t)c->elem);
                memcpy(c->value[1], y, (size_t)c->elem);
            }
        }
        for (int j = 0; j < b->naxes; j++) {
            const int a = c->axis[0][j];
            if (++i[a] < b->at[a] + b->n[a]) break;
            i[a] = b->at[a];
        }
    }
}

static void compare_all(comparison *c, int64_t memory) {
    const sluice_shape *s = &c->desc[0]->shape;
    const bool turning = c->axis[0][0] != c->axis[1][0];
    sluice_boxes b = {.naxes = s->ndims};
    int64_t done = 0, most = memory / 8 * 7 / (turning ? 5 : 4) / c->elem;
    int turn = 0;
    if (most < 1) report_usage("an element of %" PRId64 " bytes; more --memory", c->elem);
    most = most < c->elements ? most : c->elements;
    memcpy(b.axis, c->axis[0], sizeof b.axis);
    memcpy(b.hi, s->dim, sizeof b.hi);
    sluice_boxes_choose(&b, c->axis[1], c->axis[0], most, 1);
    unsigned char **const buffer[] = {&c->buf[0][0], &c->buf[0][1], &c->buf[1][0], &c->buf[1][1], &c->turned};
    for (int i = 0; i < (turning ? 5 : 4); i++) *buffer[i] = report_alloc((size_t)most, (size_t)c->elem);
    bool more = sluice_boxes_first(&b);
    if (more) start(c, &b, 0);
    while (more) {
        const sluice_boxes now = b;
        more = sluice_boxes_next(&b);
        if (more) start(c, &b, !turn);
        compare(c, &now, turn);
        turn = !turn;
        done += 2 * sluice_boxes_volume(&now) * c->elem;
        progress_step(NULL, done, 2 * c->elements * c->elem);
    }
    progress_end();
    for (int i = 0; i < 5; i++) free(*buffer[i]);
}

/* ---- saying it ---- */

/* A number, or what JSON has no numbers for as text. */
static void print_value_json(const comparison *c, int k) {
    const element_kind e = element_of(c->desc[k]);
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    if (!f) report_failure("no memory");
    element_print(f, e, c->value[k]);
    if (fclose(f)) report_failure("no memory");
    if (strchr("biuMm", e.kind) || (e.kind == 'f' && !strpbrk(text, "an"))) /* not nan, not inf */
        fputs(text, stdout);
    else
        words_json_string(text);
    free(text);
}

static void print_json(const comparison *c, const char *reason, const int64_t *first) {
    printf("{\"same\": %s", reason || c->different ? "false" : "true");
    if (reason) {
        printf(", \"reason\": \"%s\"}\n", reason);
        return;
    }
    printf(", \"elements\": %" PRId64 ", \"different\": %" PRId64, c->elements, c->different);
    if (c->different) {
        printf(", \"first\": ");
        words_json_list(first, c->desc[0]->shape.ndims);
        printf(", \"values\": [");
        print_value_json(c, 0);
        printf(", ");
        print_value_json(c, 1);
        putchar(']');
    }
    puts("}");
}

static void print(const comparison *c, const char *reason, const int64_t *first) {
    const sluice_shape *a = &c->desc[0]->shape, *b = &c->desc[1]->shape;
    if (reason && !strcmp(reason, "type")) {
        printf("different types: %s and %s\n", c->desc[0]->type, c->desc[1]->type);
    } else if (reason) {
        printf("different shapes: ");
        words_extents(stdout, a->dim, a->ndims);
        printf(" and ");
        words_extents(stdout, b->dim, b->ndims);
        putchar('\n');
    } else if (c->different) {
        printf("%" PRId64 " of %" PRId64 " elements differ; the first is [", c->different, c->elements);
        for (int d = 0; d < a->ndims; d++) printf("%s%" PRId64, d ? ", " : "", first[d]);
        printf("]: ");
        element_print(stdout, element_of(c->desc[0]), c->value[0]);
        printf(" and ");
        element_print(stdout, element_of(c->desc[1]), c->value[1]);
        putchar('\n');
    }
}

/* Why they cannot be compared, or NULL. */
static const char *mismatch(const sluice_desc *a, const sluice_desc *b) {
    const bool bytes = *a->type == 'V' || *b->type == 'V';
    if (a->shape.elem != b->shape.elem || (strcmp(a->type, b->type) && !bytes)) return "type";
    if (a->shape.ndims != b->shape.ndims ||
        memcmp(a->shape.dim, b->shape.dim, (size_t)a->shape.ndims * sizeof *a->shape.dim))
        return "shape";
    return NULL;
}

static int diff_run(const options *o, int n, char **argument) {
    comparison c = {.first = -1, .elements = 1};
    (void)n;
    report_trouble();
    for (int k = 0; k < 2; k++) {
        c.array[k] = file_open(o, argument[k], k ? FILE_TO : FILE_FROM, SLUICE_READ, o->memory / 16);
        c.desc[k] = sluice_describe(c.array[k]);
        sluice_boxes_order(c.axis[k], c.desc[k]->shape.ndims, c.desc[k]->shape.order);
    }
    if (!file_raw(c.array[0])) file_unused(o, file_raw(c.array[1]) ? "rH" : "sohrH");
    const sluice_shape *s = &c.desc[0]->shape;
    const char *reason = mismatch(c.desc[0], c.desc[1]);
    int64_t first[SLUICE_MAX_DIMS] = {0};
    c.elem = s->elem;
    for (int d = 0; d < s->ndims; d++) c.elements *= s->dim[d];
    for (int k = 0; k < 2; k++) c.value[k] = report_alloc((size_t)c.elem, 1);
    progress_start("diff");
    if (!reason) compare_all(&c, o->memory);
    for (int d = s->ndims - 1; d >= 0 && c.first >= 0; d--) {
        first[d] = c.first % s->dim[d];
        c.first /= s->dim[d];
    }
    if (o->json)
        print_json(&c, reason, first);
    else
        print(&c, reason, first);
    for (int k = 0; k < 2; k++) {
        file_close(c.array[k]);
        free(c.value[k]);
    }
    return reason || c.different ? 1 : 0;
}

const command diff_command = {
    "diff",
    "A B",
    "Compares two arrays element by element",
    "They may have different formats and storage orders. Says how many elements differ, and where the first one is in\n"
    "row-major order; elements are the same if their bytes are. The exit status is 0 if the arrays are the same, 1 if\n"
    "not, 2 if they could not be compared.\n"
    "If both are raw, --order and --header describe both, unless --from-order and --from-header are given for A.\n"
    "\n"
    "examples:\n"
    "  sluice diff rows.npy columns.npy\n"
    "  sluice diff field.npy field.raw --shape 1000x1000 --type float32 --json\n",
    "sTohrHmjb",
    2,
    2,
    diff_run,
};
