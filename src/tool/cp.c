/* cp.c: `sluice cp` and `sluice write`: from one array to another, through sluice_copy(). */
#include "tool/tool.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HANDLE = 32 }; /* one of so many parts of the memory is a handle's own */

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

void cp_section(const options *o, sluice_array *from, const char *section, const char *path, int64_t header) {
    sluice_desc d = *sluice_describe(from);
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_array *to;
    const sluice_options how = {
        .size = sizeof how, .memory = o->memory / HANDLE, .no_map = 1, .exclusive = 1, .replace = 1};
    file_section(range, from, section);
    for (int i = 0; i < d.shape.ndims; i++) d.shape.dim[i] = range[i].count;
    d.format = file_format(o, path);
    d.shape.header = d.format == SLUICE_RAW ? header : 0;
    if (o->order) d.shape.order = o->array.order;
    d.swapped = 0; /* reading converts */
    report_array(sluice_create(&to, output_start(path, o->force), &d, &how));
    copy_header(to, from, o->memory);
    report_array(
        sluice_copy(to, from, &(sluice_copy_options){.from = range, .memory = o->memory, .progress = progress_step}));
    output_finish(to);
    progress_end();
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
    if (!file_raw(from)) file_unused(o, file_format(o, argument[1]) == SLUICE_RAW ? "srH" : "srHh");
    progress_start("cp");
    cp_section(o, from, o->section, argument[1], o->array.header);
    if (o->json) print_json(o, from, argument);
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
    "Copies an array: to another format, to another storage order, or only a section of it",
    "The copy has the same type and the same logical shape. With --order it is laid down row by row (C) or column by\n"
    "column (F): a transposition of the file, in no more memory than --memory, however large it is.\n"
    "A new file is NumPy's .npy if its name ends so, else raw. It is made beside its place and moved there when it is\n"
    "complete; on any failure what was there stays.\n"
    "If FROM is raw, --shape and --type describe it, and --from-order, which is C if not given; --header is that of\n"
    "both, if both are raw, and is copied.\n"
    "\n"
    "examples:\n"
    "  sluice cp rows.npy columns.npy --order F --memory 64M\n"
    "  sluice cp field.raw field.npy --shape 1000x1000 --type float32 --header 512\n"
    "  sluice cp field.npy corner.npy --section '[:100,:100]'\n",
    "sTnrhHSMmfjb",
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
