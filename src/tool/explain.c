/* explain.c: `sluice explain`: what a section of an array means for the file and for processes.
 *
 * Everything printed comes from the closed form of the section and of the parts of the processes, so an array of
 * 8 TB is explained as quickly as one of 2 KB. Only the picture visits elements, and is left out when it is large.
 */
#include "array/array.h"
#include "tool/tool.h"
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN = 16,   /* processes in a table unless --all */
    LETTERS = 26, /* owners that a picture can tell apart */
    NOTATION = 150,
    IO_PROCS = 4, /* unless --io-procs */
};
static const char indent[] = "          ";

/* The bytes and runs of a set, in two columns. */
static void print_amount(const sluice_set *s) { printf(" %17" PRId64 " %13" PRId64, s->size, sluice_set_nruns(s)); }

/* ---- the section ---- */

void explain_array(const options *o, int64_t bytes, const sluice_manifest *contained) {
    const sluice_shape *a = &o->array;
    printf("array     ");
    words_extents(stdout, a->dim, a->ndims);
    if (o->type && (*o->type < '0' || *o->type > '9'))
        printf(" %s", o->type);
    else
        printf(" elements of %s", words_bytes(a->elem));
    printf(", %s: %s", words_order(a->order), words_bytes(bytes));
    if (a->header) printf(" after a header of %s", words_bytes(a->header));
    if (contained) printf(", in %d subfile%s", contained->layout->n, contained->layout->n == 1 ? "" : "s");
    putchar('\n');
}

static void explain_section(const options *o, const char *in, const sluice_set *s, const sluice_range *range) {
    const sluice_shape *a = &o->array;
    int64_t count[SLUICE_MAX_DIMS];
    printf("\nsection   %s: ", o->section ? o->section : "all");
    for (int d = 0; d < a->ndims; d++) count[d] = range[d].count;
    words_extents(stdout, count, a->ndims);
    printf(" element%s, %s\n", s->size == a->elem ? "" : "s", words_bytes(s->size));
    if (!s->size) return;
    const int64_t lo = sluice_set_lo(s), hi = sluice_set_hi(s), runs = sluice_set_nruns(s);
    if (runs == 1)
        printf("%sone run, bytes %" PRId64 "-%" PRId64 " of the %s\n", indent, lo, hi - 1, in);
    else
        printf("%s%" PRId64 " runs of %.3g byte%s on average, in bytes %" PRId64 "-%" PRId64 " of the %s\n"
               "%s%.3g %% of that span of %s is wanted\n",
               indent, runs, (double)s->size / (double)runs, runs == s->size ? "" : "s", lo, hi - 1, in, indent,
               100.0 * (double)s->size / (double)(hi - lo), words_bytes(hi - lo));
    fputs(indent, stdout);
    notation_print(s, NOTATION);
    printf("\n%sas a message %s; as a list of offsets and lengths %s\n", indent,
           words_bytes(sluice_set_pack(s, NULL, 0)), words_bytes(runs > INT64_MAX / 16 ? INT64_MAX : 16 * runs));
}

/* ---- owners ---- */

/* The coordinates of a process in the grid, "(1,0)". */
static void print_coordinates(const sluice_spread *l, int ndims, int rank) {
    int at[SLUICE_MAX_DIMS], width = 1;
    for (int d = ndims - 1; d >= 0; d--) {
        at[d] = rank % l->grid[d];
        rank /= l->grid[d];
    }
    for (int d = 0; d < ndims; d++) width += printf("%s%d", d ? "," : "(", at[d]);
    printf(")%*s", width < 10 ? 10 - width : 1, "");
}

static void explain_owners(const options *o, const sluice_set *section, const sluice_spread *l) {
    const sluice_shape *a = &o->array;
    sluice_set part = SLUICE_SET_EMPTY, common = SLUICE_SET_EMPTY;
    const int shown = o->all || l->n <= SHOWN ? l->n : SHOWN;
    int64_t grid[SLUICE_MAX_DIMS];
    for (int d = 0; d < a->ndims; d++) grid[d] = l->grid[d];
    printf("\nowners    %s on ", o->dist);
    words_extents(stdout, grid, a->ndims);
    printf(" process%s\n%s%42s%32s\n%s%-10s%-10s%18s%14s%18s%14s\n", l->n == 1 ? "" : "es", indent, "its part",
           "of the section", indent, "process", "in grid", "bytes", "runs", "bytes", "runs");
    for (int p = 0; p < shown; p++) {
        report_error(sluice_set_hpf(&part, a, l->dist, l->grid, p, NULL), "distribution");
        report_error(sluice_set_intersect(&common, &part, section), "owners");
        if (l->n <= LETTERS)
            printf("%s%c %-8d", indent, 'A' + p, p);
        else
            printf("%s%-10d", indent, p);
        print_coordinates(l, a->ndims, p);
        print_amount(&part);
        print_amount(&common);
        putchar('\n');
    }
    if (shown < l->n) printf("%s... and %d more; --all shows them\n", indent, l->n - shown);
    sluice_set_free(&part);
    sluice_set_free(&common);
}

/* ---- file domains ---- */

/* One index of the slowest dimension. */
static const char *slab_name(const sluice_shape *a) {
    if (a->ndims > 2) return "slab";
    if (a->ndims == 1) return "element";
    return a->order == SLUICE_ROW_MAJOR ? "row" : "column";
}

/* What --domains means: the range and how it is divided. */
static sluice_domains choose_domains(const options *o, const sluice_set *whole, const sluice_set *section) {
    const sluice_shape *a = &o->array;
    const int64_t slowest = a->dim[a->order == SLUICE_ROW_MAJOR ? 0 : a->ndims - 1];
    sluice_domains d = {.size = sizeof d,
                        .nprocs = o->io_procs ? o->io_procs : IO_PROCS,
                        .lo = a->header,
                        .hi = a->header + whole->size,
                        .unit = whole->size ? whole->size / slowest : 1,
                        .align = o->align,
                        .wanted = section};
    const char *kind = o->domains;
    if (!strcmp(kind, "static")) return d;
    if (!strcmp(kind, "elements")) {
        d.unit = a->elem;
    } else if (!strcmp(kind, "weighted")) {
        d.kind = SLUICE_DOMAIN_WEIGHTED;
        d.unit = a->elem;
    } else if (!strcmp(kind, "even")) {
        d.kind = SLUICE_DOMAIN_EVEN;
    } else if (!strcmp(kind, "cyclic")) {
        d.kind = SLUICE_DOMAIN_CYCLIC;
    } else if (!strncmp(kind, "cyclic(", 7)) {
        d.kind = SLUICE_DOMAIN_CYCLIC;
        d.block = notation_argument("domains", kind, 7);
    } else if (strcmp(kind, "dynamic")) {
        report_at("domains", kind, 0, "expected static, dynamic, even, cyclic, cyclic(n), weighted or elements");
    }
    report_error(sluice_domains_bound(&d, &section, 1, d.lo, d.unit), "file domains");
    return d;
}

static void explain_domains(const options *o, const sluice_domains *d, const sluice_set *section) {
    const int shown = o->all || d->nprocs <= SHOWN ? d->nprocs : SHOWN;
    sluice_set part = SLUICE_SET_EMPTY, common = SLUICE_SET_EMPTY;
    printf("\ndomains   %s, for %d I/O process%s: ", o->domains, d->nprocs, d->nprocs == 1 ? "" : "es");
    if (d->lo == d->hi)
        printf("nothing to divide\n");
    else
        printf("%s, %ss of %s\n", words_bytes(d->hi - d->lo),
               d->unit == o->array.elem ? "element" : slab_name(&o->array), words_bytes(d->unit));
    if (d->lo < d->hi)
        printf("%s%52s%32s\n%s%-10s%14s%14s%14s%14s%18s%14s\n", indent, "its part of the file", "of the section",
               indent, "process", "first byte", "last byte", "bytes", "runs", "bytes", "runs");
    for (int p = 0; p < shown && d->lo < d->hi; p++) {
        report_error(sluice_domain(&part, d, p, NULL), "file domains");
        report_error(sluice_set_intersect(&common, &part, section), "file domains");
        printf("%s%-10d", indent, p);
        if (part.size)
            printf(" %13" PRId64 " %13" PRId64 " %13" PRId64 " %13" PRId64, sluice_set_lo(&part),
                   sluice_set_hi(&part) - 1, part.size, sluice_set_nruns(&part));
        else
            printf("%14s%14s%14d%14d", "-", "-", 0, 0);
        print_amount(&common);
        putchar('\n');
    }
    if (shown < d->nprocs && d->lo < d->hi) printf("%s... and %d more; --all shows them\n", indent, d->nprocs - shown);
    sluice_set_free(&part);
    sluice_set_free(&common);
}

/* ---- the picture ---- */

static void explain_picture(const options *o, const sluice_layout *contained, const sluice_set *section,
                            const sluice_spread *l) {
    const sluice_shape *a = &o->array;
    sluice_set marked = *section;
    parts p = {.n = 1, .set = &marked};
    if (!draw_fits(a) || l->n > LETTERS) return;
    if (!o->dist && contained && contained->n <= LETTERS) {
        p = (parts){.n = contained->n, .set = contained->set};
        printf("\npicture   a letter for each subfile, in capitals where the section is\n");
        draw_array(a, &p, section, indent);
        return;
    }
    if (!o->dist) {
        printf("\npicture   # is in the section\n");
        draw_array(a, &p, NULL, indent);
        return;
    }
    p = (parts){.n = l->n, .set = report_alloc((size_t)l->n, sizeof *p.set)};
    for (int i = 0; i < p.n; i++) report_error(sluice_set_hpf(&p.set[i], a, l->dist, l->grid, i, NULL), "distribution");
    printf("\npicture   a letter for each owner, in capitals where the section is\n");
    draw_array(a, &p, section, indent);
    parts_free(&p);
}

static void explain_parts(const options *o, sluice_array *file, const sluice_set *whole) {
    const sluice_shape *a = &o->array;
    sluice_set section = SLUICE_SET_EMPTY;
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_spread l = {.n = 0};
    for (int d = 0; d < a->ndims; d++) range[d] = (sluice_range){0, a->dim[d], 1};
    if (o->section) notation_section(range, a, o->section);
    report_error(sluice_set_section(&section, a, range, NULL), "section");
    if (o->dist) notation_layout(&l, a, o->dist, o->grid);
    sluice_domains domains = {0};
    if (o->domains) domains = choose_domains(o, whole, &section);

    const sluice_manifest *contained = file && file->container ? file->container->manifest : NULL;
    explain_array(o, whole->size, contained);
    explain_section(o, contained ? "array" : "file", &section, range);
    if (contained) subfiles_explain(o, file, &section);
    if (o->dist) explain_owners(o, &section, &l);
    if (o->domains) explain_domains(o, &domains, &section);
    explain_picture(o, contained ? contained->layout : NULL, &section, &l);
    sluice_spread_free(&l);
    sluice_set_free(&section);
}

static void check_options(const options *o, bool file) {
    const struct {
        bool given;
        const char *name;
    } only[] = {{o->ranks, "ranks"}, {o->shift, "shift"},   {o->nodes, "nodes"},   {o->cores, "cores"},
                {o->way, "way"},     {o->method, "method"}, {o->cached, "cached"}, {o->json, "json"}};
    if (!o->shape && !file) report_usage("explain needs an array: give --shape, like --shape 16x16, or a file");
    if (o->grid && !o->dist) report_usage("--grid without --dist");
    if (o->dist && !o->grid) report_usage("--dist without --grid");
    if (o->collective) return;
    if (o->align && !o->domains) report_usage("--align without --domains");
    if (o->io_procs && !o->domains) report_usage("--io-procs without --domains");
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (only[i].given) report_usage("--%s without --collective", only[i].name);
}

static int explain_run(const options *given, int n, char **argument) {
    options o = *given;
    sluice_array *file = NULL;
    sluice_set whole = SLUICE_SET_EMPTY;
    sluice_range range[SLUICE_MAX_DIMS];
    check_options(&o, n > 0);
    if (n > 0) {
        const bool write = o.collective && !strcmp(o.collective, "write");
        file = write ? file_look(&o, argument[0]) : file_open(&o, argument[0], FILE_ONLY, SLUICE_READ, 0);
        if (!file_raw(file)) file_unused(&o, "soh");
        o.array = sluice_describe(file)->shape;
        if (!file_raw(file)) o.type = sluice_describe(file)->type;
    }
    for (int d = 0; d < o.array.ndims; d++) range[d] = (sluice_range){0, o.array.dim[d], 1};
    report_error(sluice_set_section(&whole, &o.array, range, NULL), "array");
    if (o.collective)
        together_explain(&o, file, whole.size);
    else
        explain_parts(&o, file, &whole);
    sluice_set_free(&whole);
    if (file) file_close(file);
    return 0;
}

const command explain_command = {
    "explain",
    "[FILE]",
    "Says what a section of an array means for the file and for processes",
    "Which bytes it is, in how many runs, and in closed form; who owns what of it under a distribution; which process\n"
    "reads which part of the file under a choice of file domains; and a picture, if the array is small. The array is\n"
    "that of a file, or of --shape.\n"
    "\n"
    "File domains divide the file among the processes that do I/O: whole rows (columns, slabs) of all the array\n"
    "(static) or of the part that the section spans (dynamic), the same with sizes that differ by one at most (even),\n"
    "dealt in turn (cyclic), single elements instead of rows (elements), or so that each has as many wanted bytes\n"
    "(weighted).\n"
    "\n"
    "With --collective: what a call by all processes together would do. Each takes its part of --dist, or a section:\n"
    "the same for all, moved on by --shift from one process to the next, or one for each, '[A];[B];...'.\n"
    "\n"
    "examples:\n"
    "  sluice explain --shape 16x16 --type float64 --section '[2:10,::3]' --dist 'block,*' --grid 4 --domains "
    "dynamic\n"
    "  sluice explain field.npy --collective read --ranks 4 --section '[0:100,:]' --shift 100,0\n",
    "stohSDGFNACRBKckWEyajb",
    0,
    1,
    explain_run,
};
