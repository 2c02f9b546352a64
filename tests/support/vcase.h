/* vcase.h: one case of a vector file: reading its fields, comparing what the library says with what it expects.
 *
 * A case is foreign data and may be damaged. Nothing here trusts it: a field that is missing or of the wrong type fails
 * the case and is named. The first failure sticks; after it the readers return harmless values (0, "", no elements),
 * so that a check reads its inputs in a row and then asks once whether the case is still good. All memory
 * and sets belong to the case and end with it.
 */
#ifndef SLUICE_TESTS_VCASE_H
#define SLUICE_TESTS_VCASE_H

#include "sluice_set.h"
#include <jansson.h>
#include <stdbool.h>

typedef struct vmem vmem; /* private */

typedef struct vcase {
    const json_t *json;
    bool failed;
    char what[400]; /* the first failure */
    vmem *mem;
    void *state; /* what earlier cases of the file left for this one */
} vcase;

void vcase_free(vcase *c);
void vcase_fail(vcase *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Zeroed memory for n elements; an empty set. NULL and a failure if the memory is not there. */
void *vcase_alloc(vcase *c, size_t n, size_t size);
sluice_set *vcase_set(vcase *c);

/* Fields of an object: NULL or 0 after a failure. (json_array_size(NULL) is 0.) */
const json_t *vcase_field(vcase *c, const json_t *object, const char *key, json_type type);
const json_t *vcase_array(vcase *c, const json_t *object, const char *key);
int64_t vcase_int(vcase *c, const json_t *object, const char *key);
bool vcase_bool(vcase *c, const json_t *object, const char *key);
const char *vcase_text(vcase *c, const json_t *object, const char *key);

/* Element i of an array; `name` says which array in the message. */
int64_t vcase_at(vcase *c, const json_t *array, size_t i, const char *name);
const json_t *vcase_array_at(vcase *c, const json_t *array, size_t i, const char *name);

/* A whole array of integers; *n is its length. Exactly `want` of them if that is not negative. */
int64_t *vcase_ints(vcase *c, const json_t *array, int64_t want, size_t *n, const char *name);

/* [l,r,s,n,[inner...]] and lists of them, as the library takes them. */
sluice_falls vcase_falls(vcase *c, const json_t *array, const char *name);
const sluice_falls_list *vcase_list(vcase *c, const json_t *array, const char *name);

/* The set of a list that must be valid. */
sluice_set *vcase_build(vcase *c, const json_t *array, const char *name);

/* Depth of nesting as written; whether the list is sorted and not interleaved at all levels. */
int64_t vcase_list_depth(const sluice_falls_list *list);
bool vcase_list_canonical(const sluice_falls_list *list);

/* Comparisons. `ok`: a library call returned 0. `same`: expected and got agree. */
bool vcase_ok(vcase *c, int error, const sluice_reason *why, const char *call);
void vcase_same(vcase *c, int64_t expected, int64_t got, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The maximal runs of s are `runs` = [[lo,hi],...], inclusive, in units of `unit` bytes; s is in normal form. */
void vcase_same_runs(vcase *c, const json_t *runs, const sluice_set *s, int64_t unit, const char *name);

/* Like vcase_same, for a value that may be null (-1). */
void vcase_same_or_null(vcase *c, const json_t *expected, int64_t got, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* All of an array of integers; got(i) has `n` values. */
void vcase_same_ints(vcase *c, const json_t *expected, const int64_t *got, size_t n, const char *name);

/* An array: its extents and "order". Ranges: [[lower,upper,stride],...], inclusive, counted from `base`. Slab: bytes of
 * one index of the slowest dimension, and how many there are. */
sluice_shape vcase_shape(vcase *c, const char *key, int64_t elem, int64_t header);
void vcase_ranges(vcase *c, sluice_range *range, const json_t *array, int ndims, int64_t base, const char *name);
int64_t vcase_slab(vcase *c, const sluice_shape *shape, int64_t *slabs);

/* A partition of the sets in `pattern`, which must be one; an element {"set", "T", "disp"}. */
void vcase_partition(vcase *c, sluice_partition *p, const json_t *pattern, int64_t disp, const char *name);
sluice_element vcase_element(vcase *c, const json_t *object, const char *name);

/* The checks, one per function of the vector files. */
typedef void vcase_check(vcase *c);
vcase_check vcase_falls_enum, vcase_nested_enum, vcase_pitfalls, vcase_cut, vcase_intersect_falls, vcase_gather_scatter;
vcase_check vcase_pattern, vcase_map, vcase_intersect, vcase_redistribute, vcase_paper_examples;
vcase_check vcase_reuse, vcase_section_placed, vcase_view_access, vcase_redistribute_placed; /* with files */
vcase_check vcase_section, vcase_hpf_1d, vcase_hpf_nd, vcase_file_domains, vcase_two_phase, vcase_profile;

/* The papers' figures build on each other: what vcase_paper_examples() keeps between cases, in c->state. */
typedef struct vcase_figures {
    json_t *fig3;        /* the case with the partition; owned by the file */
    int64_t fig4_period; /* size of the patterns of figure 4 */
} vcase_figures;

#endif
