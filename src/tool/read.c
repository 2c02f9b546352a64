/* read.c: `sluice read`: a section of an array, as text or as a new file.
 *
 * As text it comes row by row, whatever the order of the file: box after box, as large as memory allows.
 */
#include "array/copy.h"
#include "tool/tool.h"
#include <stdlib.h>

/* What stands before element i[] of the section. */
static void separate(const int64_t *i, int ndims) {
    int d = ndims - 1;
    bool first = true; /* of all */
    if (i[d] > 0) {
        putchar(' ');
        return;
    }
    for (int k = 0; k < ndims; k++) first = first && i[k] == 0;
    if (first) return;
    putchar('\n');
    if (ndims > 2 && i[ndims - 2] == 0) putchar('\n');
}

/* The elements of a box, which lie in the buffer in the array's order. */
static void print_box(const sluice_desc *d, const sluice_boxes *b, const unsigned char *buf) {
    const element_kind e = element_of(d);
    int64_t step[SLUICE_MAX_DIMS], i[SLUICE_MAX_DIMS];
    int own[SLUICE_MAX_DIMS];
    const int n = b->naxes;
    sluice_boxes_order(own, n, d->shape.order);
    sluice_transpose_steps(step, b->n, own, n, e.size);
    for (int a = 0; a < n; a++) i[a] = b->at[a];
    for (;;) {
        const unsigned char *p = buf;
        for (int a = 0; a < n; a++) p += (i[a] - b->at[a]) * step[a];
        separate(i, n);
        element_print(stdout, e, p);
        int a = n - 1;
        while (a >= 0 && ++i[a] == b->at[a] + b->n[a]) i[a] = b->at[a], a--;
        if (a < 0) return;
    }
}

static void print_section(const options *o, sluice_array *a, const char *section) {
    const sluice_desc *d = sluice_describe(a);
    sluice_range range[SLUICE_MAX_DIMS], part[SLUICE_MAX_DIMS];
    sluice_boxes b = {.naxes = d->shape.ndims};
    int64_t bytes = d->shape.elem;
    file_section(range, a, section);
    for (int k = 0; k < b.naxes; k++) bytes *= b.hi[k] = range[k].count;
    if (bytes == 0) return;
    const int64_t room = bytes < o->memory / 2 ? bytes : o->memory / 2;
    if (room < d->shape.elem) report_usage("an element of %" PRId64 " bytes; more --memory", d->shape.elem);
    unsigned char *buf = report_alloc((size_t)room, 1);
    sluice_boxes_order(b.axis, b.naxes, SLUICE_ROW_MAJOR);
    sluice_boxes_choose(&b, b.axis, b.axis, room / d->shape.elem, 1);
    for (bool more = sluice_boxes_first(&b); more; more = sluice_boxes_next(&b)) {
        for (int k = 0; k < b.naxes; k++)
            part[k] = (sluice_range){range[k].start + b.at[k] * range[k].step, b.n[k], range[k].step};
        report_array(sluice_read(a, part, buf));
        print_box(d, &b, buf);
        report_flush();
    }
    putchar('\n');
    free(buf);
}

static int read_run(const options *o, int n, char **argument) {
    if (!o->output && (o->force || o->format)) report_usage("--force and --format are for a file; give -o FILE");
    if (o->output && o->format && file_contained(o, o->output))
        report_usage("--format is for plain files, and %s is to be a container", o->output);
    sluice_array *a = file_open(o, argument[0], o->output ? FILE_FROM : FILE_ONLY, SLUICE_READ, o->memory / 2);
    if (!file_raw(a)) file_unused(o, "soh");
    progress_start("read");
    if (o->output)
        cp_section(o, a, n > 1 ? argument[1] : NULL, o->output, 0);
    else
        print_section(o, a, n > 1 ? argument[1] : NULL);
    file_close(a);
    return 0;
}

const command read_command = {
    "read",
    "FILE [SECTION]",
    "Prints a section of an array, or copies it to a new file",
    "SECTION is as in Python: [10:20, ::2] are rows 10 to 19 and every second column; without it, all of the array.\n"
    "A line is a row; planes have an empty line between them. Numbers have as many digits as it takes to read them\n"
    "back; texts are quoted, and what Sluice does not know is printed as bytes, in hexadecimal.\n"
    "\n"
    "examples:\n"
    "  sluice read field.npy '[10:20, ::2]'\n"
    "  sluice read field.npy '[-1, :]' -o last.npy\n"
    "  sluice read field.raw '[0, :5]' --shape 100x100 --type float32\n",
    "sTohOMmfb",
    1,
    2,
    read_run,
};
