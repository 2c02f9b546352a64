/* fill.c: `sluice fill`: sets elements to a value, or to their index: one box is made while another is written. */
#include "array/copy.h"
#include "tool/tool.h"
#include <stdlib.h>
#include <string.h>

/* n > 0 elements that are all the same. */
static void repeat(unsigned char *buf, int64_t n, const void *value, int64_t size) {
    memcpy(buf, value, (size_t)size);
    for (int64_t have = 1; have < n; have *= 2)
        memcpy(buf + have * size, buf, (size_t)((have < n - have ? have : n - have) * size));
}

/* The elements of a box of the section, in the order of the file: first plus their index in the array, row by row. */
static void count(unsigned char *buf, const sluice_desc *d, const sluice_range *range, const sluice_boxes *b,
                  const void *first) {
    const element_kind e = element_of(d);
    int64_t weight[SLUICE_MAX_DIMS], i[SLUICE_MAX_DIMS], index = 0, by = 1;
    int own[SLUICE_MAX_DIMS], k;
    sluice_boxes_order(own, b->naxes, d->shape.order);
    for (int a = b->naxes - 1; a >= 0; a--) {
        weight[a] = by * range[a].step;
        index += (range[a].start + b->at[a] * range[a].step) * by;
        by *= d->shape.dim[a];
        i[a] = 0;
    }
    do {
        element_ramp(e, buf, b->n[own[0]], first, index, weight[own[0]]);
        buf += b->n[own[0]] * e.size;
        for (k = 1; k < b->naxes; k++) {
            const int a = own[k];
            index += weight[a];
            if (++i[a] < b->n[a]) break;
            index -= b->n[a] * weight[a];
            i[a] = 0;
        }
    } while (k < b->naxes);
}

static void fill(sluice_array *a, const sluice_range *range, const void *first, bool iota, int64_t memory) {
    enum { BOX = 4 << 20 }; /* enough to be worth a call */
    const sluice_desc *d = sluice_describe(a);
    sluice_boxes b = {.naxes = d->shape.ndims};
    unsigned char *buf[2];
    sluice_request *request[2] = {NULL, NULL};
    int64_t total = d->shape.elem, done = 0, room = memory / 4 < BOX ? memory / 4 : BOX;
    int turn = 0;
    for (int k = 0; k < b.naxes; k++) total *= b.hi[k] = range[k].count;
    if (room < d->shape.elem) report_usage("an element of %" PRId64 " bytes; more --memory", d->shape.elem);
    room = room < total ? room : total;
    if (total == 0) return;
    for (int k = 0; k < 2; k++) buf[k] = report_alloc((size_t)room, 1);
    sluice_boxes_order(b.axis, b.naxes, d->shape.order);
    sluice_boxes_choose(&b, b.axis, b.axis, room / d->shape.elem, 1);
    for (bool more = sluice_boxes_first(&b); more; more = sluice_boxes_next(&b), turn = !turn) {
        sluice_range part[SLUICE_MAX_DIMS];
        for (int k = 0; k < b.naxes; k++)
            part[k] = (sluice_range){range[k].start + b.at[k] * range[k].step, b.n[k], range[k].step};
        if (request[turn]) report_array(sluice_wait(request[turn]));
        if (iota)
            count(buf[turn], d, range, &b, first);
        else if (!request[turn])
            repeat(buf[turn], room / d->shape.elem, first, d->shape.elem);
        report_array(sluice_write_start(&request[turn], a, &(sluice_part){.range = part, .buf = buf[turn]}, 1));
        done += sluice_boxes_volume(&b) * d->shape.elem;
        progress_step(NULL, done, total);
    }
    for (int k = 0; k < 2; k++) {
        if (request[k]) report_array(sluice_wait(request[k]));
        free(buf[k]);
    }
}

static int fill_run(const options *o, int n, char **argument) {
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_array *a = file_open(o, argument[0], FILE_ONLY, SLUICE_WRITE, o->memory / 2);
    if (!file_raw(a)) file_unused(o, "soh");
    const sluice_desc *d = sluice_describe(a);
    if (!o->value && !o->iota) report_usage("fill needs --value or --iota");
    file_section(range, a, n > 1 ? argument[1] : NULL);
    void *first = report_alloc((size_t)d->shape.elem, 1);
    element_read(element_of(d), first, o->value ? o->value : "0");
    progress_start("fill");
    fill(a, range, first, o->iota, o->memory);
    file_close(a);
    progress_end();
    free(first);
    return 0;
}

const command fill_command = {
    "fill",
    "FILE [SECTION]",
    "Sets the elements of an array, or of a section of it",
    "To a constant, --value; or with --iota each to its index in the whole array, counted row by row from 0 whatever\n"
    "the order of the file, plus --value if that is given. Integers that become too large wrap around.\n"
    "\n"
    "examples:\n"
    "  sluice fill field.npy --value 1.5\n"
    "  sluice fill field.npy '[10:20, ::2]' --iota\n",
    "sTohvimb",
    1,
    2,
    fill_run,
};
