/* info.c: `sluice info`: what array is in a file. */
#include "tool/tool.h"
#include <string.h>
#include <sys/stat.h>

static void print_json(const char *path, const sluice_desc *d, int64_t elements, int64_t size) {
    printf("{\"file\": ");
    words_json_string(path);
    printf(", \"format\": \"%s\", \"shape\": ", d->format == SLUICE_NPY ? "npy" : "raw");
    words_json_list(d->shape.dim, d->shape.ndims);
    printf(", \"type\": ");
    words_json_string(d->type);
    if (*d->descr) {
        printf(", \"descr\": ");
        words_json_string(d->descr);
    }
    printf(", \"swapped\": %s, \"order\": \"%c\", \"header\": %" PRId64 ", \"element\": %" PRId64
           ", \"elements\": %" PRId64 ", \"bytes\": %" PRId64 ", \"file_bytes\": %" PRId64 "}\n",
           d->swapped ? "true" : "false", d->shape.order == SLUICE_ROW_MAJOR ? 'C' : 'F', d->shape.header,
           d->shape.elem, elements, elements * d->shape.elem, size);
}

static void print(const sluice_desc *d, int64_t elements, int64_t size) {
    const int64_t end = d->shape.header + elements * d->shape.elem;
    printf("format    %s\narray     ", d->format == SLUICE_NPY ? "NumPy .npy" : "raw");
    words_extents(stdout, d->shape.dim, d->shape.ndims);
    printf(" %s%s, %s\n", d->type, d->swapped ? " in the other byte order" : "", words_order(d->shape.order));
    if (*d->descr) printf("record    %s\n", d->descr);
    printf("elements  %" PRId64 " of %s\n", elements, words_bytes(d->shape.elem));
    printf("bytes     %s after a header of %s", words_bytes(elements * d->shape.elem), words_bytes(d->shape.header));
    if (size > end) printf(", and %s after the array", words_bytes(size - end));
    putchar('\n');
}

static int info_run(const options *o, int n, char **argument) {
    (void)n;
    struct stat st = {.st_size = 0};
    sluice_array *a = file_open(o, argument[0], FILE_ONLY, SLUICE_READ, 0);
    if (!file_raw(a)) file_unused(o, "soh");
    const sluice_desc *d = sluice_describe(a);
    int64_t elements = 1;
    for (int i = 0; i < d->shape.ndims; i++) elements *= d->shape.dim[i];
    if (stat(argument[0], &st)) report_failure("%s: cannot be measured", argument[0]);
    if (o->json)
        print_json(argument[0], d, elements, st.st_size);
    else
        print(d, elements, st.st_size);
    report_array(sluice_close(a));
    return 0;
}

const command info_command = {
    "info",
    "FILE",
    "Says what array is in a file",
    "An .npy file says itself what it holds. A raw one is described by the options, and checked to be long enough.\n"
    "\n"
    "example:\n"
    "  sluice info field.npy --json\n",
    "sTohj",
    1,
    1,
    info_run,
};
