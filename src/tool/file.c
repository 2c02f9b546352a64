/* file.c: arrays in files, as the command is told of them: an .npy file and a container say themselves what they hold,
 * a raw file is described by --shape, --type, --order and --header. A container is a folder; which of the others a file
 * is, its first bytes say. */
#include "array/array.h"
#include "tool/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Looks at the beginning. What cannot even be opened, or is no regular file, is for the library to say. */
static bool is_npy(const char *path, bool described) {
    char start[6];
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return true;
    const ssize_t n = fstat(fd, &st) || !S_ISREG(st.st_mode) ? -1 : read(fd, start, sizeof start);
    close(fd);
    if (n < 0) return true;
    const bool found = n == sizeof start && !memcmp(start, "\x93NUMPY", sizeof start);
    if (!found && !described)
        report_usage("%s is not an .npy file; a raw file is described by --shape and --type", path);
    return found;
}

static void describe(sluice_desc *d, const options *o, file_role role) {
    *d = (sluice_desc){.format = SLUICE_RAW, .shape = o->array};
    memcpy(d->type, o->type_name, sizeof d->type);
    if (role != FILE_FROM) return;
    if (o->from_order) d->shape.order = notation_order(o->from_order);
    if (o->from_header >= 0) d->shape.header = o->from_header;
}

/* A container that is open for writing. Its lock, which would outlive us, must not stay when we are ended: on errors
 * the container is closed, by signals only the lock goes, for no more may be done then. */
static sluice_array *volatile held;

static void release(void) {
    if (held) sluice_claim_drop(held->container->folder);
}

static void close_held(void) {
    sluice_array *a = held;
    held = NULL;
    sluice_close(a);
}

static void hold(sluice_array *a) {
    ending_undo(release);
    held = a;
    atexit(close_held);
}

void file_close(sluice_array *a) {
    if (a == held) held = NULL;
    report_array(sluice_close(a));
}

int file_try(sluice_array **a, const options *o, const char *path, file_role role, int mode, int64_t memory) {
    sluice_desc raw;
    const sluice_options how = {.size = sizeof how, .memory = memory, .no_map = role != FILE_ONLY, .bindings = o->bind};
    if (!*path) report_usage("'' is not the name of a file");
    const bool given = !is_npy(path, o->shape);
    if (given) describe(&raw, o, role);
    return ranks_open(a, path, mode, given ? &raw : NULL, &how);
}

sluice_array *file_open(const options *o, const char *path, file_role role, int mode, int64_t memory) {
    sluice_array *a;
    const int error = file_try(&a, o, path, role, mode, memory);
    if (error == -EINVAL) report_usage("%s", sluice_errmsg()); /* no regular file */
    report_array(error);
    if (a->container && a->container->owner) hold(a);
    return a;
}

sluice_array *file_look(const options *o, const char *path) {
    sluice_options given = {.size = sizeof given, .bindings = o->bind}, how;
    sluice_place place;
    sluice_reason why;
    sluice_array *a = NULL;
    if (!sluice_contain_there(path)) return file_open(o, path, FILE_ONLY, SLUICE_WRITE, 0);
    sluice_place_find(&place, path, 0, NULL);
    place.role = SLUICE_PEER;
    int error = sluice_array_options(&how, &given, "open", path);
    if (!error && (error = sluice_array_open(&a, &place, SLUICE_WRITE, NULL, &how, &why))) sluice_errmsg_set(&why);
    report_array(error);
    return a;
}

bool file_raw(const sluice_array *a) { return sluice_describe(a)->format == SLUICE_RAW && !sluice_describe_layout(a); }

bool file_contained(const options *o, const char *path) {
    return sluice_contain_wanted(path, &(sluice_options){.layout = o->layout});
}

void file_unused(const options *o, const char *letters) {
    const struct {
        char letter;
        bool given;
        const char *name;
    } option[] = {
        {'s', o->shape, "shape"},
        {'o', o->order, "order"},
        {'h', o->array.header, "header"},
        {'r', o->from_order, "from-order"},
        {'H', o->from_header >= 0, "from-header"},
    };
    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        if (option[i].given && strchr(letters, option[i].letter))
            report_usage("--%s describes a raw file, but this one says itself what it holds", option[i].name);
}

sluice_format file_format(const options *o, const char *path) {
    const size_t len = strlen(path);
    if (o->format) return strcmp(o->format, "npy") ? SLUICE_RAW : SLUICE_NPY;
    return len > 4 && !strcmp(path + len - 4, ".npy") ? SLUICE_NPY : SLUICE_RAW;
}

void file_section(sluice_range *range, const sluice_array *a, const char *text) {
    const sluice_shape *shape = &sluice_describe(a)->shape;
    for (int d = 0; d < shape->ndims; d++) range[d] = (sluice_range){0, shape->dim[d], 1};
    if (text) notation_section(range, shape, text);
}
