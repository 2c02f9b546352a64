/* cp.c: `sluice cp` and `sluice write`: from one array to another, through sluice_copy() and its parallel form.
 *
 * A copy is made chunk by chunk, each contiguous in the copy, and a journal says which are done (journal.c).
 */
#include "array/copy.h"
#include "tool/tool.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    HANDLE = 32, /* one of so many parts of the memory is a handle's own */
    CHUNK = 16   /* times the memory of all processes is what a kill may cost; at its end they wait for each other */
};

/* What comes before the elements goes along from raw to raw. */
static void copy_header(sluice_array *to, sluice_array *from, int64_t memory) {
    const sluice_desc *s = sluice_describe(from), *d = sluice_describe(to);
    const int64_t n = s->shape.header < d->shape.header ? s->shape.header : d->shape.header;
    if (s->format != SLUICE_RAW || d->format != SLUICE_RAW || n == 0) return;
    if (n > memory) report_usage("a header of %" PRId64 " bytes does not fit into --memory", n);
    void *header = report_alloc((size_t)n, 1);
    report_array(sluice_read_header(from, header, n));
    report_array(sluice_write_header(to, header, n));
    free(header);
}

/* What is copied, and as what. */
typedef struct plan {
    const options *o;
    sluice_array *from;
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_desc d; /* of the copy */
    bool container;
    sluice_options how;
    const plan_text *text; /* of a plan file; NULL: none */
} plan;

static plan make_plan(const options *o, sluice_array *from, const char *section, const char *path, int64_t header) {
    plan p = {.o = o, .from = from, .d = *sluice_describe(from), .container = file_contained(o, path)};
    file_section(p.range, from, section);
    for (int i = 0; i < p.d.shape.ndims; i++) p.d.shape.dim[i] = p.range[i].count;
    p.d.format = p.container ? SLUICE_RAW : file_format(o, path);
    p.d.shape.header = p.d.format == SLUICE_RAW && !p.container ? header : 0;
    if (o->order) p.d.shape.order = o->array.order;
    p.d.swapped = 0; /* reading converts */
    p.how = (sluice_options){.size = sizeof p.how, .memory = o->memory / HANDLE, .no_map = 1, .exclusive = 1};
    p.how.bindings = o->bind;
    p.how.targets = o->targets;
    p.how.checksum = o->checksum;
    if (p.container) p.how.layout = o->layout ? o->layout : "single";
    return p;
}

/* ---- in chunks ---- */

static uint64_t mix_text(uint64_t h, const char *text) {
    for (; text && *text; text++) h = sluice_mix(h, *text);
    return sluice_mix(h, text != NULL);
}

/* Changes when the source does: which array it is, and when its files were last written. */
static uint64_t identify(const sluice_array *a) {
    const sluice_manifest *m = a->container ? a->container->manifest : NULL;
    uint64_t h = mix_text(SLUICE_MIX, m ? m->uuid : NULL);
    if (m) h = sluice_mix(h, m->generation);
    for (int i = 0; i < (m ? m->layout->n : 1); i++) {
        int64_t off = m ? m->layout->base[i] : 0, room;
        struct stat st = {.st_size = 0};
        sluice_store *s = sluice_store_holder(a->io.store, &off, &room);
        while (!s->ops->fd && s->inner) s = s->inner;
        (void)fstat(s->ops->fd ? s->ops->fd(s) : -1, &st);
        const int64_t number[] = {(int64_t)st.st_ino, st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
        for (size_t k = 0; k < sizeof number / sizeof *number; k++) h = sluice_mix(h, number[k]);
    }
    return h;
}

/* What of it is copied, and how the copy is laid out. */
static uint64_t describe(const plan *p) {
    const sluice_shape *s = &p->d.shape;
    uint64_t h = SLUICE_MIX;
    const int64_t number[] = {p->d.format, s->order, s->elem, s->header, s->ndims, p->how.checksum};
    for (size_t k = 0; k < sizeof number / sizeof *number; k++) h = sluice_mix(h, number[k]);
    for (int i = 0; i < s->ndims; i++) {
        h = sluice_mix(sluice_mix(h, p->range[i].start), p->range[i].count);
        h = sluice_mix(h, p->range[i].step);
    }
    for (int64_t i = 0; p->text && i < p->text->len; i++) h = sluice_mix(h, p->text->bytes[i]);
    return mix_text(mix_text(mix_text(h, p->how.layout), p->how.targets), p->d.type);
}

/* The copy as chunks that are contiguous in it. */
static sluice_boxes chunks(const plan *p, int64_t elements) {
    const sluice_shape *s = &p->d.shape;
    sluice_boxes b = {.naxes = s->ndims};
    memcpy(b.hi, s->dim, sizeof b.hi);
    sluice_boxes_order(b.axis, b.naxes, s->order);
    sluice_boxes_choose(&b, b.axis, b.axis, elements, 1);
    return b;
}

/* The new name, and whether there is a copy that goes on; all processes then know what is done. */
static bool start(const plan *p, const char *path, char *partial, journal_state *s) {
    bool fresh = true;
    *s = (journal_state){.from = identify(p->from), .to = describe(p)};
    int64_t bytes;
    if (!sluice_mul(p->o->memory, (int64_t)CHUNK * ranks_size(), &bytes)) bytes = INT64_MAX;
    s->chunk = bytes / p->d.shape.elem;
    if (s->chunk < 1) s->chunk = 1;
    bool empty = false;
    for (int i = 0; i < p->d.shape.ndims; i++) empty |= p->d.shape.dim[i] == 0;
    sluice_boxes b = chunks(p, s->chunk);
    s->n = empty ? 0 : sluice_boxes_count(&b);
    if (ranks_lead()) {
        const char *name = output_partial(p->o, path, s, &fresh);
        if (strlen(name) >= PATH_MAX) report_usage("%s: its name is too long", path);
        strcpy(partial, name);
        ranks_led();
    }
    ranks_share(partial, PATH_MAX);
    ranks_share(&fresh, sizeof fresh);
    ranks_share(&s->chunk, sizeof s->chunk);
    ranks_share(&s->n, sizeof s->n);
    s->mark = ranks_alloc(s->mark, (size_t)s->n + 2, 1);
    ranks_share(s->mark, (size_t)s->n + 1);
    return fresh;
}

/* Progress of one chunk as that of the whole. */
typedef struct steps {
    int64_t before, total;
} steps;
static int step(void *arg, int64_t done, int64_t total) {
    const steps *s = arg;
    (void)total;
    return progress_step(NULL, s->before + done, s->total);
}

static void copy_chunks(const plan *p, sluice_array *to, journal_state *s) {
    sluice_boxes b = chunks(p, s->chunk);
    steps at = {.total = p->d.shape.elem};
    for (int i = 0; i < b.naxes; i++) at.total *= b.hi[i];
    for (int64_t k = 0; k < s->n; k++) {
        sluice_range from[SLUICE_MAX_DIMS], into[SLUICE_MAX_DIMS];
        sluice_boxes_seek(&b, k);
        for (int i = 0; i < b.naxes; i++) {
            into[i] = (sluice_range){b.at[i], b.n[i], 1};
            from[i] = (sluice_range){p->range[i].start + b.at[i] * p->range[i].step, b.n[i], p->range[i].step};
        }
        if (s->mark[1 + k] != '1') {
            report_array(sluice_redistribute_all(
                to, p->from,
                &(sluice_copy_options){
                    .from = from, .to = into, .memory = p->o->memory, .progress = step, .arg = &at}));
            if (ranks_lead()) {
                journal_mark(s, 1 + k);
                ranks_led();
            }
        }
        at.before += sluice_boxes_volume(&b) * p->d.shape.elem;
    }
}

/* A container by plan is made by one process. */
static void create_planned(const plan *p, const char *path) {
    sluice_manifest *m;
    sluice_reason why;
    if (!ranks_lead()) return;
    int error = sluice_manifest_plan(&m, &p->d, p->text->bytes, p->text->len, p->o->targets, &why);
    if (error) report_usage("%s: %s", p->o->plan, why.text);
    error = sluice_manifest_checksum(m, p->how.checksum, &why);
    if (!error) error = sluice_container_create(path, m, p->o->bind, &why);
    if (error) report_array(sluice_errmsg_set(&why));
    sluice_manifest_free(m);
    ranks_led();
}

static void copy_to(const plan *p, const char *path) {
    char partial[PATH_MAX] = "";
    sluice_array *from = p->from, *to;
    const options *o = p->o;
    journal_state s;
    const bool fresh = start(p, path, partial, &s);
    if (fresh && p->text) create_planned(p, partial);
    if (fresh && !p->text)
        report_array(ranks_create(&to, partial, &p->d, &p->how));
    else
        report_array(
            ranks_open(&to, partial, SLUICE_WRITE, p->container || p->d.format == SLUICE_NPY ? NULL : &p->d, &p->how));
    if (fresh && ranks_lead()) {
        copy_header(to, from, o->memory);
        journal_mark(&s, 0);
        ranks_led();
    }
    copy_chunks(p, to, &s);
    output_finish(to);
    free(s.mark);
    progress_end();
}

void cp_section(const options *o, sluice_array *from, const char *section, const char *path, int64_t header) {
    const plan p = make_plan(o, from, section, path, header);
    copy_to(&p, path);
}

void cp_planned(const options *o, sluice_array *from, const plan_text *text, const char *path) {
    plan p = make_plan(o, from, NULL, path, 0);
    p.d.shape.header = from->desc.shape.header;
    p.text = text;
    copy_to(&p, path);
}

/* ---- what it costs ---- */

static void print_side(const char *which, const char *path, const sluice_layout *l, const sluice_desc *d) {
    printf("%-9s %s: ", which, path);
    if (l)
        printf("%s, %d subfile%s", l->text, l->n, l->n == 1 ? "" : "s");
    else
        printf("one %s file", d->format == SLUICE_NPY ? ".npy" : "raw");
    printf(", %s\n", words_order(d->shape.order));
}

/* Between layouts of the same order and length: who has something for whom. */
static void print_matrix(const sluice_layout *a, const sluice_layout *b) {
    if (!a || !b || a->length != b->length || a->shape.order != b->shape.order || !a->length) return;
    sluice_matrix m = {0};
    const sluice_partition from = {a->n, a->set, a->length, 0}, to = {b->n, b->set, b->length, 0};
    report_error(sluice_redistribute_within(&m, &from, &to, a->length), "redistribution");
    printf("moves     %" PRId64 " of %" PRId64 " pairs of subfiles have bytes in common, in %" PRId64 " piece%s\n",
           m.messages, (int64_t)m.rows * m.cols, m.total_segments, m.total_segments == 1 ? "" : "s");
    sluice_matrix_free(&m);
}

static void explain(const options *o, sluice_array *from, char **argument) {
    const plan p = make_plan(o, from, o->section, argument[1], o->array.header);
    sluice_array to = {.desc = p.d, .io.store = from->io.store};
    sluice_layout *layout = NULL;
    sluice_reason why;
    sluice_copy_cost cost;
    if (!ranks_lead()) return; /* what is wrong ends all of them */
    if (p.container && sluice_layout_parse(&layout, &p.d.shape, p.how.layout, &why))
        report_at("layout", p.how.layout, why.pos < 0 ? 0 : why.pos, why.text);
    to.layout = layout;
    report_array(sluice_copy_foretell(&cost, &to, from, &(sluice_copy_options){.from = p.range, .memory = o->memory},
                                      ranks_size()));
    printf("copy      ");
    words_extents(stdout, p.d.shape.dim, p.d.shape.ndims);
    printf(" %s, %s\n", p.d.type, words_bytes(cost.bytes));
    print_side("from", argument[0], from->layout, &from->desc);
    print_side("to", argument[1], layout, &p.d);
    print_matrix(from->layout, layout);
    printf("pieces    %" PRId64 " of at most %s; %" PRId64 " round%s of %d process%s\n", cost.boxes,
           words_bytes(cost.box), (cost.boxes + ranks_size() - 1) / ranks_size(), cost.boxes <= ranks_size() ? "" : "s",
           ranks_size(), ranks_size() == 1 ? "" : "es");
    printf("seeks     %" PRId64 " contiguous reads, %" PRId64 " contiguous writes\n", cost.reads, cost.writes);
    printf("memory    %s for each process\n", words_bytes(o->memory));
    sluice_layout_free(layout);
    ranks_led();
}

static void print_json(const options *o, const sluice_array *from, char **argument) {
    const sluice_desc *d = sluice_describe(from);
    const sluice_order order = o->order ? o->array.order : d->shape.order;
    const double seconds = progress_seconds();
    sluice_range range[SLUICE_MAX_DIMS];
    int64_t bytes = d->shape.elem, extent[SLUICE_MAX_DIMS];
    file_section(range, from, o->section);
    for (int i = 0; i < d->shape.ndims; i++) bytes *= extent[i] = range[i].count;
    printf("{\"from\": ");
    words_json_string(argument[0]);
    printf(", \"to\": ");
    words_json_string(argument[1]);
    printf(", \"shape\": ");
    words_json_list(extent, d->shape.ndims);
    printf(", \"type\": \"%s\", \"order\": \"%c\", \"bytes\": %" PRId64 ", \"seconds\": %.6f}\n", d->type,
           order == SLUICE_ROW_MAJOR ? 'C' : 'F', bytes, seconds);
}

static int cp_run(const options *o, int n, char **argument) {
    (void)n;
    options source = *o;
    if (!o->from_order) source.from_order = "C"; /* --order is that of the copy */
    sluice_array *from = file_open(&source, argument[0], FILE_FROM, SLUICE_READ, o->memory / HANDLE);
    const bool container = file_contained(o, argument[1]);
    if (!file_raw(from)) file_unused(o, file_format(o, argument[1]) == SLUICE_RAW && !container ? "srH" : "srHh");
    if (!container && o->targets) report_usage("--targets without --layout");
    if (!container && o->checksum) report_usage("--checksum without --layout");
    if (container && o->format) report_usage("--format is for plain files, and %s is to be a container", argument[1]);
    if (o->explain) {
        explain(o, from, argument);
        report_array(sluice_close(from));
        return 0;
    }
    progress_start("cp");
    cp_section(o, from, o->section, argument[1], o->array.header);
    if (o->json && ranks_first()) print_json(o, from, argument);
    report_array(sluice_close(from));
    return 0;
}

/* ---- write ---- */

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The input: .npy, or raw elements of the section's shape and the array's type, and nothing after them. */
static sluice_array *open_input(const options *o, const char *path, const sluice_desc *d, const sluice_range *range) {
    options input = *o;
    struct stat st;
    int64_t bytes = d->shape.elem;
    input.shape = path; /* just so that it is there */
    input.array.ndims = d->shape.ndims;
    input.array.order = SLUICE_ROW_MAJOR;
    input.array.elem = d->shape.elem;
    input.array.header = 0;
    for (int i = 0; i < d->shape.ndims; i++) bytes *= input.array.dim[i] = range[i].count;
    memcpy(input.type_name, d->type, sizeof input.type_name);
    sluice_array *a = file_open(&input, path, FILE_FROM, SLUICE_READ, o->memory / HANDLE);
    const sluice_shape *shape = &sluice_describe(a)->shape;
    if (file_raw(a) && !stat(path, &st) && st.st_size != shape->header + bytes)
        report_usage("%s has %" PRId64 " bytes, but the section %" PRId64, path, (int64_t)st.st_size,
                     shape->header + bytes);
    return a;
}

static int write_run(const options *o, int n, char **argument) {
    (void)n;
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_array *to = file_open(o, argument[0], FILE_ONLY, SLUICE_WRITE, o->memory / HANDLE);
    if (!file_raw(to)) file_unused(o, "soh");
    file_section(range, to, argument[1]);
    if (same_file(argument[0], argument[2])) report_usage("%s into itself", argument[2]);
    sluice_array *from = open_input(o, argument[2], sluice_describe(to), range);
    if (!file_raw(from)) file_unused(o, "rH");
    progress_start("write");
    report_array(
        sluice_copy(to, from, &(sluice_copy_options){.to = range, .memory = o->memory, .progress = progress_step}));
    file_close(to);
    file_close(from);
    progress_end();
    return 0;
}

const command cp_command = {
    "cp",
    "FROM TO",
    "Copies an array: to another format, layout or storage order, or only a section of it",
    "The copy has the same type and the same logical shape. With --order it is laid down row by row (C) or column by\n"
    "column (F): a transposition of the file, in no more memory than --memory, however large it is.\n"
    "A new file is NumPy's .npy if its name ends so, else raw. It is made beside its place and moved there when it is\n"
    "complete; on any failure what was there stays.\n"
    "With --layout, or if its name ends in .sluice, it is a container: a folder with the array in subfiles, which may\n"
    "lie on several --targets. A container is copied to a plain file as well. Under mpiexec all processes take part,\n"
    "each with --memory.\n"
    "If FROM is raw, --shape and --type describe it, and --from-order, which is C if not given; --header is that of\n"
    "both, if both are raw, and is copied.\n"
    "\n"
    "examples:\n"
    "  sluice cp rows.npy columns.npy --order F --memory 64M\n"
    "  sluice cp field.raw field.npy --shape 1000x1000 --type float32 --header 512\n"
    "  sluice cp field.npy corner.npy --section '[:100,:100]'\n"
    "  mpiexec -n 4 sluice cp field.npy field.sluice --layout tiles:256x256:8 --resume\n"
    "  sluice cp field.sluice field.npy --explain\n",
    "sTnrhHSMmfjlgbuXz",
    2,
    2,
    cp_run,
};

const command write_command = {
    "write",
    "FILE SECTION INPUT",
    "Writes a file into a section of an array",
    "INPUT is an .npy file of the section's shape (dimensions of extent 1 may be missing) and the array's type, in "
    "any\n"
    "order; or the raw elements, row by row unless --from-order says F. No other element of FILE changes.\n"
    "\n"
    "example:\n"
    "  sluice write field.npy '[10:20, ::2]' part.npy\n",
    "sTohrHmb",
    3,
    3,
    write_run,
};
