/* view.c: `sluice view`: one element of a partition of a container's array, as the bytes that it consists of. */
#include "sluice_view.h"
#include "tool/tool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The bytes [from, to) of an element of `size` bytes, by "A:B", of which either may be left out. */
typedef struct stretch {
    int64_t from, to;
} stretch;

static stretch find_stretch(const char *text, int64_t size) {
    stretch s = {0, size};
    if (!text) return s;
    char *copy = strcpy(report_alloc(strlen(text) + 1, 1), text), *colon = strchr(copy, ':');
    if (!colon) report_at("range", text, (int64_t)strlen(text), "expected ':' and where it ends, like 0:100");
    *colon = 0;
    if (*copy) s.from = notation_number("range", copy);
    if (colon[1]) s.to = notation_number("range", colon + 1);
    free(copy);
    if (s.from > s.to || s.to > size) report_usage("range %s: the element has bytes 0 to %" PRId64, text, size);
    return s;
}

static void copy_out(const options *o, sluice_view *v, stretch s, unsigned char *buf, int64_t room) {
    FILE *f = o->output ? fopen(output_start(o->output, o->force), "w") : stdout;
    if (!f) report_failure("create %s: %s", o->output, strerror(errno));
    for (int64_t at = s.from, n; at < s.to; at += n) {
        n = sluice_min(s.to - at, room);
        report_array(sluice_view_read(v, at, n, buf));
        if (fwrite(buf, 1, (size_t)n, f) != (size_t)n)
            report_failure("write %s: %s", o->output ? o->output : "the output", strerror(errno));
    }
    if (o->output) output_text(f);
}

static void copy_in(const options *o, sluice_view *v, stretch s, unsigned char *buf, int64_t room) {
    struct stat st;
    FILE *f = fopen(o->write, "r");
    if (!f || fstat(fileno(f), &st)) report_usage("%s: %s", o->write, strerror(errno));
    if (S_ISREG(st.st_mode) && st.st_size != s.to - s.from)
        report_usage("%s has %" PRId64 " bytes, but the range %" PRId64, o->write, (int64_t)st.st_size, s.to - s.from);
    for (int64_t at = s.from, n; at < s.to; at += n) {
        n = sluice_min(s.to - at, room);
        if (fread(buf, 1, (size_t)n, f) != (size_t)n)
            report_failure("read %s: %s", o->write, ferror(f) ? strerror(errno) : "it is too short");
        report_array(sluice_view_write(v, at, n, buf));
    }
    fclose(f);
}

static sluice_file *held;

static void close_held(void) {
    sluice_file *f = held;
    held = NULL;
    sluice_file_close(f);
}

/* Opens the file; however the program ends, its lock goes. */
static void open_file(const options *o, const char *path) {
    const sluice_options how = {.size = sizeof how, .memory = o->memory / 2, .bindings = o->bind};
    report_array(sluice_file_open_container(&held, path, o->write ? SLUICE_WRITE : SLUICE_READ, &how));
    atexit(close_held);
}

static int view_run(const options *o, int n, char **argument) {
    (void)n;
    sluice_layout *l;
    sluice_view *v = NULL;
    sluice_reason why;
    if (o->element < 0) report_usage("view needs --element, the number of the part that is meant");
    if (o->write && (o->output || o->force)) report_usage("--write reads a file; -o and --force are for a new one");
    sluice_array *a = file_open(o, argument[0], FILE_ONLY, SLUICE_READ, o->memory / 2);
    const char *own = sluice_describe_layout(a), *text = o->layout ? o->layout : own;
    if (!own) report_usage("%s is a plain file; views are of containers", argument[0]);
    if (sluice_layout_parse(&l, &sluice_describe(a)->shape, text, &why)) report_usage("%s", why.text);
    file_close(a);
    if (o->element >= l->n) report_usage("element %" PRId64 " of a layout of %d", o->element, l->n);
    const sluice_set *set = &l->set[o->element];
    const stretch s = find_stretch(o->range, set->size);
    const int64_t room = sluice_max(sluice_min(s.to - s.from, o->memory / 2), 1);
    unsigned char *buf = report_alloc((size_t)room, 1);
    open_file(o, argument[0]);
    if (set->size) report_array(sluice_view_set(&v, held, &(sluice_element){set, l->length, 0}));
    (o->write ? copy_in : copy_out)(o, v, s, buf, room);
    sluice_view_free(v);
    sluice_layout_free(l);
    free(buf);
    sluice_file *f = held;
    held = NULL;
    report_array(sluice_file_close(f));
    return 0;
}

const command view_command = {
    "view",
    "CONTAINER",
    "Reads or writes one element of a partition of an array, as bytes",
    "A layout cuts the bytes of the array into elements, whatever its own layout is; element K of --layout, or, "
    "without\n"
    "it, subfile K, is printed as the bytes that it consists of, in ascending order; all of them, or those of --range. "
    "With\n"
    "--write they become those of a file, which has as many. The bytes are those of the file as it lies: not "
    "converted\n"
    "from the other byte order, in the order of the array.\n"
    "\n"
    "examples:\n"
    "  sluice view field.sluice --layout columns:4 --element 2 -o part.raw\n"
    "  sluice view field.sluice --layout striped:1M:8 --element 0 --range 0:64 | od -t x1\n"
    "  sluice view field.sluice --layout rows:4 --element 3 --write part.raw\n",
    "lPqOZfmb",
    1,
    1,
    view_run,
};
