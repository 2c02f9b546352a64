/* copy.h: what a copy between arrays of different storage order is made of.
 *
 *     boxes.c        an array as boxes that are good to read and to write, and the walk over them
 *     transpose.c    a box in memory from one order to another
 *     copy.c         read, turn, write, all at the same time
 */
#ifndef SLUICE_ARRAY_COPY_H
#define SLUICE_ARRAY_COPY_H

#include "array/array.h"

/* A walk over the region [lo, hi) in boxes of at most `size` elements along each axis; those at the far ends are
 * shorter, and the first ones by `less`. The present box is [at, at + n). */
typedef struct sluice_boxes {
    int naxes;
    int axis[SLUICE_MAX_DIMS]; /* in this order: axis[0] is stepped along first */
    int64_t lo[SLUICE_MAX_DIMS], hi[SLUICE_MAX_DIMS], size[SLUICE_MAX_DIMS], less[SLUICE_MAX_DIMS];
    int64_t at[SLUICE_MAX_DIMS], n[SLUICE_MAX_DIMS];
} sluice_boxes;

/* boxes.c. Pure. The axes from the fastest to the slowest. */
void sluice_boxes_order(int *axis, int naxes, sluice_order order);

/* Pure. To the first box; to the next one. false if there is none. */
bool sluice_boxes_first(sluice_boxes *b);
bool sluice_boxes_next(sluice_boxes *b);

/* Pure. Elements of the present box. */
int64_t sluice_boxes_volume(const sluice_boxes *b);

/* Pure. Chooses b->size so that a box has at most `most` >= 1 elements and its runs are long in both orders, given as
 * axes from the fastest to the slowest: those in `to` `weight` times as long as those in `from`, where that can be
 * had. With the two the same, boxes are contiguous pieces. */
void sluice_boxes_choose(sluice_boxes *b, const int *from, const int *to, int64_t most, int64_t weight);

/* transpose.c. n[0] x n[1] x ... elements from places with one set of steps, in bytes, to places with another. */
typedef struct sluice_turn {
    int naxes;
    int64_t elem;
    int64_t n[SLUICE_MAX_DIMS], from[SLUICE_MAX_DIMS], to[SLUICE_MAX_DIMS];
} sluice_turn;

/* Pure. The steps of a packed box of n[] elements whose axes are, from the fastest, axis[]. */
void sluice_transpose_steps(int64_t *step, const int64_t *n, const int *axis, int naxes, int64_t elem);

/* Pure. Copies; the two places must not overlap. */
void sluice_transpose(void *dst, const void *src, const sluice_turn *t);

#endif
