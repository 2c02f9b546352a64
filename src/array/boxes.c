/* boxes.c: an array as boxes that are good to read and good to write.
 *
 * In a file a box is many runs, and each is a call. How long they are depends on the order of the file: in a row-major
 * one on how far the box reaches along the last axis, in a column-major one along the first:
 *
 *        row-major            column-major
 *      . . . . . . .         . . . . . . .
 *      . =====>. . .         . | | | . . .        a box of 3 x 3 elements:
 *      . =====>. . .         . | | | . . .        3 runs of 3 in both
 *      . =====>. . .         . v v v . . .
 *
 * With room for so many elements and no more, one can be had at the price of the other. So the box grows from one
 * element, by doubling, always on the side whose runs are too short, until the room is used up.
 */
#include "array/copy.h"

void sluice_boxes_order(int *axis, int naxes, sluice_order order) {
    for (int i = 0; i < naxes; i++) axis[i] = order == SLUICE_ROW_MAJOR ? naxes - 1 - i : i;
}

static void fit(sluice_boxes *b, int a) {
    const int64_t size = b->size[a] - (b->at[a] == b->lo[a] ? b->less[a] : 0);
    b->n[a] = sluice_min(size, b->hi[a] - b->at[a]);
}

bool sluice_boxes_first(sluice_boxes *b) {
    for (int a = 0; a < b->naxes; a++) {
        if (b->lo[a] >= b->hi[a]) return false;
        b->at[a] = b->lo[a];
        fit(b, a);
    }
    return true;
}

bool sluice_boxes_next(sluice_boxes *b) {
    for (int i = 0; i < b->naxes; i++) {
        const int a = b->axis[i];
        const bool more = b->n[a] < b->hi[a] - b->at[a];
        b->at[a] = more ? b->at[a] + b->n[a] : b->lo[a];
        fit(b, a);
        if (more) return true;
    }
    return false;
}

/* Of boxes along an axis. */
static int64_t along(const sluice_boxes *b, int a) {
    const int64_t extent = b->hi[a] - b->lo[a];
    return extent > 0 ? sluice_ceil_div(extent + b->less[a], b->size[a]) : 0;
}

int64_t sluice_boxes_count(const sluice_boxes *b) {
    int64_t n = 1;
    for (int a = 0; a < b->naxes; a++) n *= along(b, a);
    return n;
}

void sluice_boxes_seek(sluice_boxes *b, int64_t k) {
    for (int i = 0; i < b->naxes; i++) {
        const int a = b->axis[i];
        const int64_t n = along(b, a), index = k % n;
        b->at[a] = b->lo[a] + sluice_max(0, index * b->size[a] - b->less[a]);
        fit(b, a);
        k /= n;
    }
}

int64_t sluice_boxes_volume(const sluice_boxes *b) {
    int64_t n = 1;
    for (int a = 0; a < b->naxes; a++) n *= b->n[a];
    return n;
}

/* The length of a run, and the first axis along which it does not reach from end to end (NULL: there is none). */
static const int *run(const sluice_boxes *b, const int *axis, int64_t *len) {
    *len = 1;
    for (int i = 0; i < b->naxes; i++) {
        *len *= b->size[axis[i]];
        if (b->size[axis[i]] < b->hi[axis[i]] - b->lo[axis[i]]) return &axis[i];
    }
    return NULL;
}

/* As many boxes as there have to be, all about equally large, and whole cache lines of most types. */
static void even_out(sluice_boxes *b, int a) {
    enum { LINE = 16 };
    const int64_t extent = b->hi[a] - b->lo[a], n = sluice_ceil_div(extent, b->size[a]);
    const int64_t even = sluice_ceil_div(extent, n), lines = sluice_ceil_div(even, LINE) * LINE;
    b->size[a] = lines <= b->size[a] ? lines : even;
}

void sluice_boxes_choose(sluice_boxes *b, const int *from, const int *to, int64_t most, int64_t weight) {
    int64_t volume = 1, in, out;
    for (int a = 0; a < b->naxes; a++) {
        b->size[a] = 1;
        if (b->lo[a] >= b->hi[a]) return;
    }
    for (;;) {
        const int *reading = run(b, from, &in), *writing = run(b, to, &out);
        if (!reading) break; /* then it is the whole array, and the other side has nothing left either */
        const int a = in <= out / weight ? *reading : *writing;
        const int64_t extent = b->hi[a] - b->lo[a], others = volume / b->size[a];
        const int64_t wish = b->size[a] > extent / 2 ? extent : 2 * b->size[a];
        b->size[a] = sluice_min(wish, most / others);
        volume = others * b->size[a];
        if (b->size[a] < wish) break;
    }
    for (int a = 0; a < b->naxes; a++) even_out(b, a);
}
