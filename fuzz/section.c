/* section.c: any bytes as a section of an array, whose shape is taken from the first of them. What is accepted lies
 * inside the array, makes a set of just so many bytes, and written as Python and read again is the same. What is
 * refused is refused at a place in the text. */
#include "base/base.h"
#include "must.h"
#include "sluice.h"
#include <string.h>

/* The text of a section that has been understood. */
static void print(char *out, size_t cap, const sluice_range *r, int n) {
    int at = 0;
    for (int d = 0; d < n; d++)
        at += snprintf(out + at, cap - (size_t)at, "%s%lld:%lld:%lld", d ? "," : "[", (long long)r[d].start,
                       (long long)(r[d].count ? r[d].start + (r[d].count - 1) * r[d].step + 1 : r[d].start),
                       (long long)r[d].step);
    snprintf(out + at, cap - (size_t)at, "]");
}

static void check_accepted(const sluice_range *r, const sluice_shape *shape) {
    sluice_range again[SLUICE_MAX_DIMS];
    char text[SLUICE_MAX_DIMS * 3 * 24];
    int64_t elements = 1;
    bool small = true;
    for (int d = 0; d < shape->ndims; d++) {
        MUST(r[d].step >= 1 && r[d].count >= 0 && r[d].count <= shape->dim[d]);
        MUST(r[d].start >= 0 && r[d].start <= shape->dim[d]);
        MUST(r[d].count == 0 || r[d].count - 1 <= (shape->dim[d] - 1 - r[d].start) / r[d].step);
        small = small && shape->dim[d] < 1000;
        elements *= small ? r[d].count : 1;
    }
    print(text, sizeof text, r, shape->ndims);
    MUST(!sluice_section_parse(again, shape, text, NULL));
    MUST(!memcmp(r, again, (size_t)shape->ndims * sizeof *r));
    if (small && shape->ndims <= 6) {
        sluice_set s = SLUICE_SET_EMPTY;
        MUST(!sluice_set_section(&s, shape, r, NULL) && s.size == elements * shape->elem);
        sluice_set_free(&s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int64_t extents[] = {5, 1, 0, 999, INT64_MAX, 10, 1 << 30, 2};
    sluice_shape shape = {.ndims = size ? data[0] % SLUICE_MAX_DIMS + 1 : 1, .elem = 3};
    sluice_range r[SLUICE_MAX_DIMS], before[SLUICE_MAX_DIMS];
    sluice_reason why = {0};
    const size_t head = size < 3 ? size : 3, len = size - head;
    for (int d = 0; d < shape.ndims; d++) shape.dim[d] = extents[(head == 3 ? data[1 + d % 2] + d : 0) % 8];
    char *text = malloc(len + 1);
    MUST(text);
    if (len) memcpy(text, data + head, len);
    text[len] = 0;
    memset(r, 0x5A, sizeof r);
    memcpy(before, r, sizeof r);
    const int error = sluice_section_parse(r, &shape, text, &why);
    if (error) {
        MUST(error == why.error && (error == SLUICE_E_SYNTAX || error == SLUICE_E_ARGUMENT) && why.text[0]);
        MUST(why.pos >= 0 && why.pos <= (long long)strlen(text) && !memcmp(r, before, sizeof r));
    } else {
        check_accepted(r, &shape);
    }
    free(text);
    MUST(sluice_mem_live() == 0);
    return 0;
}
