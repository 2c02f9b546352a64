/* oracle.h: sets as plain byte arrays, the other side of every comparison.
 *
 * An oracle says for each offset of [0, n) whether it is a member: one byte, 1 or 0. Everything here is the definition
 * written as a loop over all offsets, slow on purpose and without any idea of the library's: families are enumerated
 * block by block, rank counts, select counts until there, an array is visited element by element.
 */
#ifndef SLUICE_TESTS_ORACLE_H
#define SLUICE_TESTS_ORACLE_H

#include "sluice_set.h"
#include <stdbool.h>

typedef struct oracle {
    int64_t n;
    unsigned char *in;
} oracle;

/* realloc that ends the program when memory is out. */
void *test_resize(void *p, size_t bytes);

/* The empty set over [0, n). oracle_free() gives the memory back. */
void oracle_init(oracle *o, int64_t n);
void oracle_copy(oracle *out, const oracle *a); /* initialises out */
void oracle_free(oracle *o);

/* Adds to the set. False, with the set in an undefined state, if the families break a rule: a block that is empty or
 * leaves [0, n), an inner list that leaves its block, no blocks, blocks or families that overlap. */
bool oracle_list(oracle *o, const sluice_falls_list *list);
bool oracle_block(oracle *o, int64_t off, int64_t len);

/* Asking. As in sluice_set.h. */
int64_t oracle_size(const oracle *o);
int64_t oracle_lo(const oracle *o);
int64_t oracle_hi(const oracle *o);
int64_t oracle_nruns(const oracle *o);
int64_t oracle_rank(const oracle *o, int64_t x);
int64_t oracle_select(const oracle *o, int64_t k);
int oracle_contains(const oracle *o, int64_t x);
int64_t oracle_next(const oracle *o, int64_t x);
int64_t oracle_prev(const oracle *o, int64_t x);
int oracle_equal(const oracle *a, const oracle *b);

/* The first member run at or after x, not looking below x; false if there is none. */
bool oracle_run(const oracle *o, int64_t x, sluice_run *run);

/* Operations. out is initialised, is not an input, and must be large enough for the result. */
void oracle_shift(oracle *out, const oracle *a, int64_t by);
void oracle_cut(oracle *out, const oracle *a, int64_t lo, int64_t hi);
void oracle_intersect(oracle *out, const oracle *a, const oracle *b);
void oracle_union(oracle *out, const oracle *a, const oracle *b);
void oracle_subtract(oracle *out, const oracle *a, const oracle *b);
void oracle_project(oracle *out, const oracle *x, const oracle *s);
void oracle_embed(oracle *out, const oracle *y, const oracle *s);
void oracle_repeat(oracle *out, const oracle *inner, int64_t off, int64_t step, int64_t n);

/* Moving bytes. */
int64_t oracle_gather(unsigned char *packed, const unsigned char *shaped, const oracle *o, int64_t lo, int64_t hi);
int64_t oracle_scatter(unsigned char *shaped, const unsigned char *packed, const oracle *o, int64_t lo, int64_t hi);

/* Arrays, visited element by element. */
int64_t oracle_shape_bytes(const sluice_shape *shape); /* header and all elements */
void oracle_section(oracle *out, const sluice_shape *shape, const sluice_range *range);
void oracle_memory(oracle *out, const sluice_shape *buffer, const int64_t *index, const int64_t *count);
void oracle_tile(oracle *out, const sluice_shape *shape, const int64_t *tile, const int64_t *index);
void oracle_hpf(oracle *out, const sluice_shape *shape, const sluice_dist *dist, const int *grid, int rank);

/* Whether process `proc` has index i. */
bool oracle_dist_owns(const sluice_dist *dist, int64_t n, int nprocs, int proc, int64_t i);

/* A set in [0, period) repeated for ever from disp. `map` counts the members in [disp, x). */
typedef struct oracle_element {
    oracle set;
    int64_t period, disp;
} oracle_element;

int oracle_element_contains(const oracle_element *e, int64_t x);
int64_t oracle_element_rank(const oracle_element *e, int64_t x);
int64_t oracle_element_unmap(const oracle_element *e, int64_t y); /* the set must not be empty */

#endif
