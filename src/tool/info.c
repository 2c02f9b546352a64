/* info.c: `sluice info`: what array is in a file, or in a container, and where its subfiles are. */
#include "array/array.h"
#include "tool/tool.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char indent[] = "          ";

/* What was opened. */
typedef struct subject {
    const char *path;
    const sluice_desc *desc;
    const sluice_container *container; /* NULL: one file */
    int64_t elements, size;            /* size: of its files */
} subject;

/* ---- Containers ---- */

static const char *target_path(const subject *s, int t) {
    static sluice_target_path path;
    const char *name = s->container->manifest->target[t].text;
    sluice_reason why;
    if (!strcmp(name, ".")) return s->path;
    if (sluice_target_find(&path, name, s->container->bindings, &why)) report_usage("%s", why.text);
    return path.text;
}

/* The bytes of subfile i, and how many of them are on the disk. */
static void measure(const subject *s, int i, int64_t *size, int64_t *disk) {
    const sluice_manifest *m = s->container->manifest;
    struct stat st;
    const int folder = open(target_path(s, m->place[i]), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fstatat(folder, sluice_manifest_name(m, i).text, &st, AT_SYMLINK_NOFOLLOW))
        report_failure("%s: subfile %d cannot be measured", s->path, i);
    close(folder);
    *size = st.st_size;
    *disk = (int64_t)st.st_blocks * 512; /* stat's unit, whatever the file system's is */
}

static int64_t measure_all(const subject *s) {
    int64_t sum = 0, size, disk;
    for (int i = 0; i < s->container->manifest->layout->n; i++, sum += size) measure(s, i, &size, &disk);
    return sum;
}

static void print_groups(const sluice_placed *p) {
    int64_t copied = 0, more = 0;
    for (int i = 0; i < p->n; i++)
        if (p->lot[i].n > 1) {
            copied += p->lot[i].bytes.size;
            more += (p->lot[i].n - 1) * p->lot[i].bytes.size;
        }
    printf("groups    %d; ", p->n);
    if (copied) printf("%s have copies, which take %s more; ", words_bytes(copied), words_bytes(more));
    printf("%s in none, and so shared\n", words_bytes(p->rest.size));
}

static void print_container(const options *o, const subject *s) {
    enum { SHOWN = 16 };
    const sluice_manifest *m = s->container->manifest;
    const int n = m->layout->n, shown = o->all || n <= SHOWN ? n : SHOWN;
    printf("layout    %s\nidentity  %s, generation %" PRId64 "\n", m->layout->text, m->uuid, m->generation);
    if (m->layout->placed) print_groups(m->layout->placed);
    if (m->checksum) printf("checksums CRC-32C of each %s\n", words_bytes(m->checksum));
    printf("targets  ");
    for (int t = 0; t < m->ntargets; t++)
        printf("%s %-15s %s\n", t ? indent + 1 : "", m->target[t].text, target_path(s, t));
    printf("subfiles  %-8s%-16s%16s%16s  %s\n", "number", "target", "bytes", "on the disk", "name");
    for (int i = 0; i < shown; i++) {
        int64_t size, disk;
        measure(s, i, &size, &disk);
        printf("%s%-8d%-16s%16" PRId64 "%16" PRId64 "  %s\n", indent, i, m->target[m->place[i]].text, size, disk,
               sluice_manifest_name(m, i).text);
    }
    if (shown < n) printf("%s... and %d more; --all shows them\n", indent, n - shown);
    if (!picture_possible(&s->desc->shape)) return;
    printf("picture   ");
    picture_print(m->layout, indent);
}

static void json_container(const subject *s) {
    const sluice_manifest *m = s->container->manifest;
    printf(", \"layout\": ");
    words_json_string(m->layout->text);
    printf(", \"uuid\": \"%s\", \"generation\": %" PRId64 ", \"checksum_block\": %" PRId64 ",\n \"targets\": {",
           m->uuid, m->generation, m->checksum);
    for (int t = 0; t < m->ntargets; t++) {
        printf("%s\"%s\": ", t ? ", " : "", m->target[t].text);
        words_json_string(target_path(s, t));
    }
    printf("},\n \"subfiles\": [");
    for (int i = 0; i < m->layout->n; i++) {
        int64_t size, disk;
        measure(s, i, &size, &disk);
        printf("%s\n  {\"target\": \"%s\", \"name\": \"%s\", \"bytes\": %" PRId64 ", \"disk\": %" PRId64 "}",
               i ? "," : "", m->target[m->place[i]].text, sluice_manifest_name(m, i).text, size, disk);
    }
    putchar(']');
}

/* ---- All ---- */

static void print_json(const subject *s) {
    const sluice_desc *d = s->desc;
    printf("{\"file\": ");
    words_json_string(s->path);
    printf(", \"format\": \"%s\", \"shape\": ", s->container ? "container" : d->format == SLUICE_NPY ? "npy" : "raw");
    words_json_list(d->shape.dim, d->shape.ndims);
    printf(", \"type\": ");
    words_json_string(d->type);
    if (*d->descr) {
        printf(", \"descr\": ");
        words_json_string(d->descr);
    }
    printf(", \"swapped\": %s, \"order\": \"%c\", \"header\": %" PRId64 ", \"element\": %" PRId64
           ", \"elements\": %" PRId64 ", \"bytes\": %" PRId64 ", \"file_bytes\": %" PRId64,
           d->swapped ? "true" : "false", d->shape.order == SLUICE_ROW_MAJOR ? 'C' : 'F', d->shape.header,
           d->shape.elem, s->elements, s->elements * d->shape.elem, s->size);
    if (s->container) json_container(s);
    puts("}");
}

static void print(const options *o, const subject *s) {
    const sluice_desc *d = s->desc;
    const int64_t bytes = s->elements * d->shape.elem, end = d->shape.header + bytes;
    printf("format    %s\narray     ", s->container ? "container" : d->format == SLUICE_NPY ? "NumPy .npy" : "raw");
    words_extents(stdout, d->shape.dim, d->shape.ndims);
    printf(" %s%s, %s\n", d->type, d->swapped ? " in the other byte order" : "", words_order(d->shape.order));
    if (*d->descr) printf("record    %s\n", d->descr);
    printf("elements  %" PRId64 " of %s\n", s->elements, words_bytes(d->shape.elem));
    if (s->container) {
        const int n = s->container->manifest->layout->n;
        printf("bytes     %s in %d subfile%s\n", words_bytes(bytes), n, n == 1 ? "" : "s");
        print_container(o, s);
        return;
    }
    printf("bytes     %s after a header of %s", words_bytes(bytes), words_bytes(d->shape.header));
    if (s->size > end) printf(", and %s after the array", words_bytes(s->size - end));
    putchar('\n');
}

static int info_run(const options *o, int n, char **argument) {
    (void)n;
    struct stat st = {.st_size = 0};
    sluice_array *a = file_open(o, argument[0], FILE_ONLY, SLUICE_READ, 0);
    if (!file_raw(a)) file_unused(o, "soh");
    const char *path = a->container ? a->container->path : argument[0]; /* which may be called by another name */
    subject s = {.path = path, .desc = sluice_describe(a), .container = a->container, .elements = 1};
    for (int i = 0; i < s.desc->shape.ndims; i++) s.elements *= s.desc->shape.dim[i];
    if (stat(path, &st)) report_failure("%s: cannot be measured", path);
    s.size = s.container ? measure_all(&s) : st.st_size;
    if (o->svg) {
        if (!s.container) report_usage("--svg draws the layout of a container, and %s is none", argument[0]);
        if (!picture_possible(&s.desc->shape)) report_usage("--svg draws arrays of one or two dimensions");
        picture_svg(a->layout, o->svg, o->force);
    }
    if (o->json)
        print_json(&s);
    else
        print(o, &s);
    file_close(a);
    return 0;
}

const command info_command = {
    "info",
    "FILE",
    "Says what array is in a file",
    "An .npy file says itself what it holds. A raw one is described by the options, and checked to be long enough.\n"
    "Of a container it also says how the array is divided, where its subfiles are, and, if it has one or two\n"
    "dimensions, draws which of them has what.\n"
    "\n"
    "examples:\n"
    "  sluice info field.npy --json\n"
    "  sluice info field.sluice --svg field.svg\n",
    "sTohjbVfa",
    1,
    1,
    info_run,
};
