/* copy.h: what a copy between arrays of different storage order is made of.
 *
 *     boxes.c        an array as boxes that are good to read and to write, and the walk over them
 *     transpose.c    a box in memory from one order to another
 *     copy.c         read, turn, write, all at the same time
 *     redistribute.c the same by all processes of a group, each a share of the boxes
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

/* Pure. How many boxes there are; to box k of them, 0 <= k < that. */
int64_t sluice_boxes_count(const sluice_boxes *b);
void sluice_boxes_seek(sluice_boxes *b, int64_t k);

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

/* copy.c. Pure. Fills in the defaults of options and checks what can be checked without the arrays. */
int sluice_copy_settle(sluice_copy_options *o, const sluice_copy_options *given, const sluice_array *src);

/* copy.c. Local. Share `rank` of `size` of a copy, with settled options: some boxes that follow each other in the
 * destination. The boxes depend on the options and on `size` alone. Progress is told of this share and of all bytes. */
int sluice_copy_share(sluice_array *dst, sluice_array *src, const sluice_copy_options *o, int rank, int size);

/* copy.c. Pure. What a copy by `size` processes takes: boxes of at most so many bytes, which are rounds of reading and
 * writing, and contiguous requests to the files of either side, counted in some of the boxes if there are many. The
 * destination need be no more than a description, a layout and the source's store. */
typedef struct sluice_copy_cost {
    int64_t bytes, boxes, box, reads, writes;
} sluice_copy_cost;
int sluice_copy_foretell(sluice_copy_cost *out, sluice_array *dst, sluice_array *src, const sluice_copy_options *o,
                         int size);

#endif
