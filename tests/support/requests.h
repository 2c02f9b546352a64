/* requests.h: what processes ask of an array, drawn at random, and where each element of it lies, by the definition.
 *
 * All processes draw from the same chance, so each knows what all ask for. A process asks for some slices of the array;
 * a slice is a section, or the product of irregular lists of indices, and lies in the memory of its process packed or
 * within a larger box. A walk visits the elements of a slice one by one: it is the oracle, and knows no sets.
 */
#ifndef SLUICE_TESTS_REQUESTS_H
#define SLUICE_TESTS_REQUESTS_H

#include "sluice.h"
#include "support/random.h"

enum { REQUEST_PARTS = 12, REQUEST_DIMS = 4, REQUEST_INDICES = 300 };

typedef struct slice {
    bool lists, placed;
    sluice_range range[REQUEST_DIMS];
    int64_t list[REQUEST_DIMS][REQUEST_INDICES];
    int64_t count[REQUEST_DIMS]; /* of indices */
    int64_t buf_dim[REQUEST_DIMS], buf_at[REQUEST_DIMS];
    int64_t at; /* where its box starts in the memory of its process */
    sluice_index index[REQUEST_DIMS];
} slice;

typedef struct request {
    int n;
    slice part[REQUEST_PARTS];
} request;

/* Any section, now and then an empty one. */
void draw_section(sluice_range *range, chance *c, const sluice_shape *s);

/* Any slice. */
void draw_slice(slice *p, chance *c, const sluice_shape *s);

/* What `size` processes ask for: up to three slices each, which may overlap, none, or all the same. */
void draw_requests(request *all, int size, chance *c, const sluice_shape *s);

/* Up to `most` slices that have no element in common: every dimension is cut into blocks, combs or lists, and some of
 * the products are taken. Returns how many. */
int draw_disjoint(slice *out, int most, chance *c, const sluice_shape *s);

/* Any way to divide the work of `size` processes, but for the nodes. */
void draw_together(sluice_together *t, chance *c, int size);

/* The bytes of the boxes of all slices, one behind the other, which are given their places. */
int64_t request_lay_out(request *r, const sluice_shape *s);

/* A slice as the library takes it, in the memory of its process. It points into the slice. */
sluice_part slice_part(slice *p, unsigned char *memory);

/* Pure. Elements of a slice. */
int64_t slice_elements(const slice *p, const sluice_shape *s);

/* Pure. The dimension that is number k, counted from the fastest. */
int shape_fastest(const sluice_shape *s, int k);

/*     walk w = walk_slice(p, s);
 *     while (walk_next(&w)) ...       // the element is at byte w.file of the file and w.mem of memory
 *
 * in the array's order. */
typedef struct walk {
    const slice *p;
    const sluice_shape *s;
    int64_t at[REQUEST_DIMS]; /* which index of each dimension comes next */
    bool more;
    int64_t file, mem;
} walk;
walk walk_slice(const slice *p, const sluice_shape *s);
bool walk_next(walk *w);

#endif
