/* costs.c: `sluice match`: how well a layout fits an access, and which layout would fit better.
 *
 * An access is what some processes want, each its part: the parts of another layout or distribution, or sections. Where
 * the two do not match, five things cost time: a part lies in many pieces of the subfiles, which have to be found;
 * many messages; many subfiles for each part; pieces that do not follow each other on the disk; and blocks of which
 * two parts have some. All of it is counted in closed form, but for the blocks. What comes of it in time is predicted
 * for a process that moves one part after the other, all of it cached (io/price.h).
 */
#include "array/array.h"
#include "plan/evaluate.h"
#include "tool/tool.h"
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, MOST_BLOCKS = 1 << 20 };

/* What was named: a layout by its text, that of a container, or sections. */
typedef struct side {
    const char *text;
    int n;
    sluice_set *set;
    sluice_layout *layout; /* whose sets they are, or */
    sluice_array *file;    /* whose */
} side;

typedef struct costs {
    sluice_matrix m;
    int64_t pieces, most_pieces, seeks; /* most: of a part */
    int64_t subfiles, most_subfiles;    /* that a part meets, of all parts together */
    int64_t blocks, shared;
    int64_t degree;     /* its numerator: the subfiles or the parts that take part, whichever are more */
    double read, write; /* predicted seconds */
} costs;

/* ---- What is compared ---- */

static bool same_shape(const sluice_shape *a, const sluice_shape *b) {
    return a->ndims == b->ndims && a->elem == b->elem && a->order == b->order &&
           !memcmp(a->dim, b->dim, (size_t)a->ndims * sizeof *a->dim);
}

/* Opens the container that a text may name; its array is that of the comparison. */
static void open_side(side *s, options *o) {
    if (!sluice_contain_there(s->text)) return;
    s->file = file_open(o, s->text, FILE_ONLY, SLUICE_READ, 0);
    const sluice_desc *d = sluice_describe(s->file);
    if (o->shape && !same_shape(&o->array, &d->shape)) report_usage("%s holds another array", s->text);
    o->array = d->shape;
    o->shape = s->text;
    o->type = d->type;
}

static sluice_layout *parse_layout(const options *o, const char *text) {
    sluice_layout *l = NULL;
    sluice_reason why;
    const int error = sluice_layout_parse(&l, &o->array, text, &why);
    if (error == SLUICE_E_COMPLEX) report_failure("%s", why.text);
    if (error) report_usage("%s", why.text);
    return l;
}

static void read_sections(side *s, const sluice_shape *array) {
    const char *at = s->text;
    s->n = 1;
    for (const char *c = at; *c; c++) s->n += *c == ';';
    s->set = report_alloc((size_t)s->n, sizeof *s->set);
    for (int i = 0; i < s->n; i++, at += strcspn(at, ";") + 1) {
        sluice_range range[SLUICE_MAX_DIMS];
        char *piece = strndup(at, strcspn(at, ";"));
        if (!piece) report_failure("no memory");
        notation_section(range, array, piece);
        report_error(sluice_set_section(&s->set[i], array, range, NULL), "section");
        free(piece);
    }
}

static void read_side(side *s, const options *o) {
    if (*s->text == '[') {
        read_sections(s, &o->array);
        return;
    }
    if (!s->file) s->layout = parse_layout(o, s->text);
    const sluice_layout *l = s->file ? s->file->layout : s->layout;
    s->n = l->n;
    s->set = l->set;
}

static void free_side(side *s) {
    if (*s->text == '[') {
        for (int i = 0; i < s->n; i++) sluice_set_free(&s->set[i]);
        free(s->set);
    }
    sluice_layout_free(s->layout);
    if (s->file) file_close(s->file);
}

/* ---- What it costs ---- */

/* Blocks of subfile i, and those of which two parts have some; sub[j]: what part j has of the subfile. */
static void count_blocks(costs *c, const sluice_set *sub, int n, int64_t size) {
    for (int64_t at = 0; at < size && c->blocks < MOST_BLOCKS; at += BLOCK, c->blocks++) {
        int users = 0;
        for (int j = 0; j < n && users < 2; j++)
            users += sluice_set_rank(&sub[j], at + BLOCK) > sluice_set_rank(&sub[j], at);
        c->shared += users == 2;
    }
}

static void count_matrix(costs *c, const sluice_set *layout, int rows, const side *access, int64_t length) {
    const sluice_partition a = {rows, layout, length, 0}, b = {access->n, access->set, length, 0};
    report_error(sluice_redistribute_within(&c->m, &a, &b, length), "match");
    int64_t wanted = 0, used = 0;
    for (int j = 0; j < access->n; j++) {
        int64_t met = 0;
        for (int i = 0; i < rows; i++) met += c->m.bytes[(int64_t)i * access->n + j] > 0;
        c->subfiles += met;
        c->most_subfiles = sluice_max(c->most_subfiles, met);
        wanted += met > 0;
    }
    for (int i = 0; i < rows; i++) {
        int j = 0;
        while (j < access->n && !c->m.bytes[(int64_t)i * access->n + j]) j++;
        used += j < access->n;
    }
    c->degree = sluice_max(wanted, used);
}

static void count_pieces(costs *c, const sluice_set *layout, int rows, const side *access) {
    sluice_set *sub = report_alloc((size_t)access->n, sizeof *sub);
    int64_t *pieces = report_alloc((size_t)access->n, sizeof *pieces);
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < access->n; j++) {
            report_error(sluice_set_project(&sub[j], &access->set[j], &layout[i]), "match");
            const int64_t runs = sluice_set_nruns(&sub[j]);
            pieces[j] += runs;
            c->pieces += runs;
            c->seeks += sluice_max(runs - 1, 0);
        }
        count_blocks(c, sub, access->n, layout[i].size);
    }
    for (int j = 0; j < access->n; j++) {
        c->most_pieces = sluice_max(c->most_pieces, pieces[j]);
        sluice_set_free(&sub[j]);
    }
    free(sub);
    free(pieces);
}

static void predict(costs *c, const sluice_layout *l, const side *access, const sluice_rates *r) {
    for (int j = 0; j < access->n; j++) {
        sluice_pieces pieces = {0};
        report_error(sluice_split(&pieces, l, &(sluice_io_part){&access->set[j], {NULL, NULL, 0, 0}}, 1), "match");
        c->read += sluice_price(r, false, pieces.part, pieces.n);
        c->write += sluice_price(r, true, pieces.part, pieces.n);
        sluice_split_free(&pieces);
    }
}

static double degree(const costs *c) { return c->m.match_den ? (double)c->m.match_num / (double)c->m.match_den : 0; }

static void print_costs(const costs *c, double n) {
    printf("\nmatching degree      %" PRId64 "/%" PRId64 " = %.6g\n", c->degree, c->m.total_segments, degree(c));
    printf("fragmentation        %" PRId64 " pieces in subfiles, %.4g for a part, at most %" PRId64 "; %" PRId64
           " copies\n",
           c->pieces, (double)c->pieces / n, c->most_pieces, c->m.total_segments);
    printf("messages             %" PRId64 "\n", c->m.messages);
    printf("contention           %.4g subfiles for a part, at most %" PRId64 "\n", (double)c->subfiles / n,
           c->most_subfiles);
    printf("seeks                %" PRId64 "\n", c->seeks);
    printf("false sharing        %" PRId64 " of %s%" PRId64 " blocks of %d bytes are shared by parts\n", c->shared,
           c->blocks == MOST_BLOCKS ? "the first " : "", c->blocks, BLOCK);
    printf("predicted            %.3g ms to read, %.3g ms to write, if it is cached\n", 1e3 * c->read, 1e3 * c->write);
}

/* ---- What would be better ---- */

static void print_row(const char *text, const costs *c, int n) {
    printf("%-28s%12.6g%14" PRId64 "%12" PRId64 "%12.4g%12.3g\n", text, degree(c), c->m.total_segments, c->m.messages,
           (double)c->subfiles / n, 1e3 * c->read);
}

static void advise(const options *o, const side *layout, const side *access, int64_t length, const costs *now,
                   const sluice_rates *r) {
    char text[512], best[512] = "";
    int64_t fewest = now->m.total_segments;
    printf("\n%-28s%12s%14s%12s%12s%12s\n", "layout", "degree", "copies", "messages", "subfiles", "ms to read");
    print_row(layout->text, now, access->n);
    for (int k = 0; sluice_evaluate_candidate(text, sizeof text, &o->array, layout->n, k); k++) {
        costs c = {.pieces = 0};
        if (!strcmp(text, layout->text)) continue;
        sluice_layout *l = parse_layout(o, text);
        count_matrix(&c, l->set, l->n, access, length);
        predict(&c, l, access, r);
        print_row(text, &c, access->n);
        if (c.m.total_segments < fewest) {
            fewest = c.m.total_segments;
            memcpy(best, text, sizeof best);
        }
        sluice_matrix_free(&c.m);
        sluice_layout_free(l);
    }
    if (*best)
        printf("\n%s would be best: %.4g times fewer copies\n", best, (double)now->m.total_segments / (double)fewest);
    else
        printf("\nnone of these is better than %s\n", layout->text);
}

static int match_layouts(const options *given, int n, char **argument) {
    (void)n;
    options o = *given;
    side layout = {.text = argument[0]}, access = {.text = argument[1]};
    costs c = {.pieces = 0};
    sluice_rates rates;
    int64_t length = 1;
    open_side(&layout, &o);
    open_side(&access, &o);
    if (!o.shape) report_usage("match needs an array: give --shape and --type, or a container");
    if (*layout.text == '[') report_usage("'%s' is a section; the first is a layout, or a container", layout.text);
    o.array.header = 0;
    read_side(&layout, &o);
    read_side(&access, &o);
    for (int d = 0; d < o.array.ndims; d++) length *= o.array.dim[d];
    length *= o.array.elem;
    count_matrix(&c, layout.set, layout.n, &access, length);
    count_pieces(&c, layout.set, layout.n, &access);
    report_error(sluice_rates_measure(&rates), "match");
    predict(&c, layout.file ? layout.file->layout : layout.layout, &access, &rates);
    explain_array(&o, length, NULL);
    printf("layout    %s: %d subfile%s\n", layout.text, layout.n, layout.n == 1 ? "" : "s");
    printf("access    %s: %d part%s\n", access.text, access.n, access.n == 1 ? "" : "s");
    print_costs(&c, access.n);
    advise(&o, &layout, &access, length, &c, &rates);
    sluice_matrix_free(&c.m);
    free_side(&layout);
    free_side(&access);
    return 0;
}

const command match_command = {
    "match",
    "LAYOUT ACCESS",
    "Says how well a layout fits an access, and which would fit better",
    "LAYOUT is a layout, like rows:4, or a container. ACCESS is what processes want, each its part: a layout or a\n"
    "distribution, like columns:8 or hpf:block,cyclic(2)@2x2; a container; or a section for each, [A];[B];...\n"
    "The matching degree is 1 if every part is a subfile, and the smaller the more pieces have to be copied. Then "
    "what\n"
    "a poor match costs: pieces of the subfiles, messages, subfiles that a part meets, seeks, blocks of 4096 bytes of\n"
    "which two parts have some; and how long one process would take, part after part, if all of it is cached: this\n"
    "machine's rates are measured for that. In the end, other layouts with as many subfiles.\n"
    "\n"
    "examples:\n"
    "  sluice match rows:4 columns:4 --shape 1024x1024 --type float64\n"
    "  sluice match field.sluice '[:100,:100];[100:200,:100]'\n",
    "stob",
    2,
    2,
    match_layouts,
};
