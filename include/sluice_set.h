/* sluice_set.h: the algebra of nested strided sets.
 *
 * A sluice_set is a set of byte offsets below 2^63-1, kept in closed form: a section of an array, one process's part
 * of a distribution, a view, a subfile and a file domain are all such sets. Nothing here does I/O, knows MPI or
 * keeps state; the header and libsluice are usable alone. Every function may be called from any thread, as long as
 * no thread writes a set that another one uses.
 *
 *     sluice_set rows = SLUICE_SET_EMPTY, mine = SLUICE_SET_EMPTY, both = SLUICE_SET_EMPTY;
 *     sluice_set_falls(&rows, 0, 4000, 8000, 500);    // 500 blocks of 4000 bytes, 8000 apart
 *     sluice_set_block(&mine, 1 << 20, 1 << 20);      // the second mebibyte
 *     sluice_set_intersect(&both, &rows, &mine);      // what of one lies in the other, in microseconds
 *     printf("%lld bytes in common\n", (long long)both.size);
 *     sluice_set_free(&rows), sluice_set_free(&mine), sluice_set_free(&both);
 *
 * How a set is made. A *family* is n equal blocks of len bytes, the first at off, each step after the one before:
 *
 *     off      len                         family (off, len, step, n) = (3, 3, 6, 4)
 *     |        |                           in the notation of the papers: (l,r,s,n) = (3,5,6,4)
 *     ...XXX...XXX...XXX...XXX
 *        |-step-|
 *
 * A block is either whole or holds an inner set, again of families, with offsets relative to the block. That is a
 * nested FALLS. A set is a list of such trees. Intervals are half-open everywhere in C; the papers' inclusive
 * (l,r,s,n,{...}) exists in the text form only.
 *
 * Normal form. All functions return sets whose sibling families are sorted, disjoint and not interleaved (the last
 * byte of one lies before the first of the next), with no nested family of one block, no single blocks that touch, and
 * what repeats folded where it was noticed. A set read from its wire form keeps the tree that was packed. So positions
 * (rank, select, next, previous, cursors) cost O(depth * log siblings), and the depth is at most SLUICE_MAX_DEPTH.
 *
 * Results. The output is the first argument. It must hold a set before the call, SLUICE_SET_EMPTY at first; it is
 * replaced on success and left as it was on failure, and it may be one of the inputs. Functions that can fail return
 * 0 or a negative error (sluice_error.h): -ENOMEM, SLUICE_E_OVERFLOW, SLUICE_E_COMPLEX (see SLUICE_SET_BUDGET)
 * and what each one says. `why`, where there is one, may be NULL.
 */
#ifndef SLUICE_SET_H
#define SLUICE_SET_H

#include "sluice_error.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SLUICE_MAX_DIMS = 16,
    SLUICE_MAX_DEPTH = 64, /* each level at least doubles the extent, so 63 bits cannot nest deeper */
};

/* An operation may handle this many families more than a small multiple of its inputs' before it gives up with
 * SLUICE_E_COMPLEX and leaves its output as it was. Reached only where long families meet whose strides have no useful
 * common multiple, so that every block lies differently. Families of one list do not interleave, so the union of two
 * that drift against each other (strides of 1000003 and 1000004) has no closed form: it is a list of blocks, time and
 * memory grow with these, and past the budget it is refused. An intersection or a difference has few families where
 * blocks lie whole in a block or a gap of the other side, or go through nested blocks at a slant (a diagonal through
 * distributed rows); of blocks cut differently each is a family of its own. A projection follows the intersection,
 * except that what goes backwards from block to block (an antidiagonal) is projected block by block. */
#define SLUICE_SET_BUDGET (1 << 21)

typedef struct sluice_node sluice_node; /* private: a family in normal form */

typedef struct sluice_set {
    int64_t size;      /* bytes in the set */
    int32_t nroot;     /* families of the outermost level; 0 = the empty set */
    int32_t nnode;     /* families in all levels */
    sluice_node *node; /* private */
} sluice_set;

#define SLUICE_SET_EMPTY                                                                                               \
    { 0, 0, 0, NULL }

typedef struct sluice_run {
    int64_t off, len;
} sluice_run;

/* ---- Making sets ------------------------------------------------------------------------------------------- */

/* A family as a caller writes it down. `inner` NULL: each block is whole. `inner` with n = 0: each block is empty.
 * With n = 1 the step does not matter. */
typedef struct sluice_falls_list sluice_falls_list;
typedef struct sluice_falls {
    int64_t off, len, step, n;
    const sluice_falls_list *inner;
} sluice_falls;
struct sluice_falls_list {
    int n;
    const sluice_falls *falls;
};

/* Processor-indexed families (PITFALLS): process i of nprocs has `falls` shifted by i * shift. */
typedef struct sluice_pitfalls {
    sluice_falls falls;
    int64_t shift;
    int nprocs;
} sluice_pitfalls;

/* Pure. The len bytes from off (none if len is 0). */
int sluice_set_block(sluice_set *out, int64_t off, int64_t len);

/* Pure. n blocks of len bytes, step apart, the first at off. */
int sluice_set_falls(sluice_set *out, int64_t off, int64_t len, int64_t step, int64_t n);

/* Pure. The union of n copies of `inner`, the i-th shifted by off + i * step. Copies may interleave or overlap. */
int sluice_set_repeat(sluice_set *out, const sluice_set *inner, int64_t off, int64_t step, int64_t n);

/* Pure. The set of nested families written in `list`, in any order, interleaved or not. Refuses, with the reason,
 * SLUICE_E_BLOCK, _COUNT, _STEP, _INNER, _OVERLAP and _OVERFLOW. */
int sluice_set_build(sluice_set *out, const sluice_falls_list *list, sluice_reason *why);

/* Pure. The part of process `proc`. */
int sluice_set_pitfalls(sluice_set *out, const sluice_pitfalls *p, int proc, sluice_reason *why);

/* Pure. The given runs, ascending and not overlapping (SLUICE_E_ORDER otherwise; runs may touch, and be of length
 * 0), folded into families where they are regular. */
int sluice_set_runs(sluice_set *out, const sluice_run *run, int64_t n, sluice_reason *why);

/* Arrays. `header` bytes come before element (0,...,0). */
typedef enum sluice_order { SLUICE_ROW_MAJOR, SLUICE_COLUMN_MAJOR } sluice_order;
typedef struct sluice_shape {
    int ndims; /* 1 ... SLUICE_MAX_DIMS */
    sluice_order order;
    int64_t elem;   /* bytes of an element */
    int64_t header; /* bytes before the first element */
    int64_t dim[SLUICE_MAX_DIMS];
} sluice_shape;

/* One dimension of a section: start, start + step, ... (count indices). */
typedef struct sluice_range {
    int64_t start, count, step;
} sluice_range;

/* Pure. The bytes of a section; one range per dimension. A count of 0 in any dimension gives the empty set.
 * SLUICE_E_ARGUMENT names the dimension that does not fit. */
int sluice_set_section(sluice_set *out, const sluice_shape *shape, const sluice_range *range, sluice_reason *why);

/* Pure. Where a packed box of count[] elements lies in a larger buffer of the given shape when its first element is
 * put at index[]. */
int sluice_set_memory(sluice_set *out, const sluice_shape *buffer, const int64_t *index, const int64_t *count,
                      sluice_reason *why);

/* Pure. Tile number index[] of the array cut into boxes of tile[] elements; tiles at the far ends may be short. */
int sluice_set_tile(sluice_set *out, const sluice_shape *shape, const int64_t *tile, const int64_t *index,
                    sluice_reason *why);

/* One dimension of an HPF distribution. */
typedef enum sluice_dist_kind {
    SLUICE_DIST_STAR,    /* not distributed; the grid has one process along it */
    SLUICE_DIST_BLOCK,   /* contiguous blocks; block 0 = ceiling(N / P) */
    SLUICE_DIST_CYCLIC,  /* blocks dealt in turn; block 0 = 1 */
    SLUICE_DIST_GENBLOCK /* contiguous blocks of sizes[p] */
} sluice_dist_kind;
typedef struct sluice_dist {
    sluice_dist_kind kind;
    int64_t block;
    const int64_t *sizes; /* GENBLOCK: one per process of the dimension, adding up to its extent */
} sluice_dist;

/* Pure. The part of process `rank` of a row-major grid of processes with one distribution per dimension. */
int sluice_set_hpf(sluice_set *out, const sluice_shape *shape, const sluice_dist *dist, const int *grid, int rank,
                   sluice_reason *why);

/* Pure. Along one dimension of n indices over nprocs processes: how many indices process `proc` has; who owns index
 * i and as which local index. Negative on a bad distribution. */
int64_t sluice_dist_count(const sluice_dist *dist, int64_t n, int nprocs, int proc);
int sluice_dist_owner(const sluice_dist *dist, int64_t n, int nprocs, int64_t i, int *proc, int64_t *local);

/* Pure. A copy. */
int sluice_set_copy(sluice_set *out, const sluice_set *a);

/* Pure. Gives the memory back and leaves the empty set. */
void sluice_set_free(sluice_set *s);

/* ---- Asking sets ------------------------------------------------------------------------------------------- */

/* Pure. First offset in the set, and one past the last; 0 and 0 for the empty set. */
int64_t sluice_set_lo(const sluice_set *s);
int64_t sluice_set_hi(const sluice_set *s);

/* Pure. Levels of nesting; 0 for the empty set. */
int sluice_set_depth(const sluice_set *s);

/* Pure. Number of maximal contiguous runs; O(families). */
int64_t sluice_set_nruns(const sluice_set *s);

/* Pure. Bytes of the set below offset x. */
int64_t sluice_set_rank(const sluice_set *s, int64_t x);

/* Pure. Offset of the k-th byte, counting from 0; -1 unless 0 <= k < size. */
int64_t sluice_set_select(const sluice_set *s, int64_t k);

/* Pure. 1 if x is in the set, else 0. */
int sluice_set_contains(const sluice_set *s, int64_t x);

/* Pure. The smallest member >= x, the largest member <= x; -1 if there is none. */
int64_t sluice_set_next(const sluice_set *s, int64_t x);
int64_t sluice_set_prev(const sluice_set *s, int64_t x);

/* Pure. 1 if both hold the same bytes, 0 if not, negative on failure. */
int sluice_set_equal(const sluice_set *a, const sluice_set *b);

/* Pure. 0 if s is in normal form and its stored sums are right, else SLUICE_E_FORMAT with the reason. Every set made
 * by this library is; the check is for tests and for memory that something else may have written. */
int sluice_set_check(const sluice_set *s, sluice_reason *why);

/* ---- Operations -------------------------------------------------------------------------------------------- */

int sluice_set_shift(sluice_set *out, const sluice_set *a, int64_t by); /* Pure. All offsets + by, which stay >= 0. */
int sluice_set_cut(sluice_set *out, const sluice_set *a, int64_t lo, int64_t hi);    /* Pure. Members in [lo, hi). */
int sluice_set_intersect(sluice_set *out, const sluice_set *a, const sluice_set *b); /* Pure. In both. */
int sluice_set_union(sluice_set *out, const sluice_set *a, const sluice_set *b);     /* Pure. In either. */
int sluice_set_subtract(sluice_set *out, const sluice_set *a, const sluice_set *b);  /* Pure. In a and not in b. */

/* Pure. a with all gaps of at most `gap` bytes between its runs filled. */
int sluice_set_coarsen(sluice_set *out, const sluice_set *a, int64_t gap);

/* Pure. A copy of `one`, which must lie in [0, stride), for each member i of `index`, shifted by i * stride. */
int sluice_set_product(sluice_set *out, const sluice_set *index, const sluice_set *one, int64_t stride);

/* Pure. The bytes of x in the linear space of s: { rank_s(b) : b in x and in s }. */
int sluice_set_project(sluice_set *out, const sluice_set *x, const sluice_set *s);

/* Pure. The inverse: { select_s(k) : k in y }, members of y at or past s->size left out. With a view s and a view y
 * of that view, this is y as a view of the file. */
int sluice_set_embed(sluice_set *out, const sluice_set *y, const sluice_set *s);

/* ---- Text and wire forms ------------------------------------------------------------------------------------ */

/* Pure. Reads the notation of the papers: {(l,r,s,n),(l,r,s,n,{...}),...}, inclusive bounds; also "l-r" for one
 * segment, and {} for the empty set. An inner {} means the whole block, as in the papers. White space is free.
 * SLUICE_E_SYNTAX, or what sluice_set_build() says; why->pos is the byte of the text at which it went wrong, or -1
 * if no single place is at fault (memory, SLUICE_E_COMPLEX). */
int sluice_set_parse(sluice_set *out, const char *text, sluice_reason *why);

/* Pure. Prints that notation like snprintf: returns the length without the closing 0, writes at most cap bytes. */
int64_t sluice_set_print(const sluice_set *s, char *buf, size_t cap);

/* Pure. The compact form for messages and files. pack: returns its length and writes it if cap is enough. unpack:
 * reads one form from at most len bytes, checks every promise of the normal form, and says in *used how long it was
 * (used may be NULL: then the form must fill len). Memory and time are bounded by len whatever the bytes say.
 * SLUICE_E_FORMAT, SLUICE_E_VERSION. */
int64_t sluice_set_pack(const sluice_set *s, void *buf, size_t cap);
int sluice_set_unpack(sluice_set *out, const void *buf, size_t len, size_t *used, sluice_reason *why);

/* ---- Cursors -------------------------------------------------------------------------------------------------
 * A cursor walks the runs of a set without allocating. It is a visible struct; its fields are private.
 *
 *     sluice_cursor c;
 *     sluice_run run;
 *     for (sluice_cursor_init(&c, &set); sluice_cursor_run(&c, &run);) pread(fd, p, run.len, run.off), p += run.len;
 */
typedef struct sluice_cursor {
    const sluice_set *set;
    int64_t in;  /* bytes of the current block already passed */
    int64_t pos; /* rank of the next byte */
    int depth;   /* levels in use; 0 = at the end */
    struct {
        int64_t i, base; /* block of the family, and where its list starts */
        int32_t node, end;
    } level[SLUICE_MAX_DEPTH];
} sluice_cursor;

/* Pure. To the first byte; to the k-th byte; to the first byte at or after offset x. Past the end is the end. */
void sluice_cursor_init(sluice_cursor *c, const sluice_set *s);
void sluice_cursor_seek(sluice_cursor *c, int64_t k);
void sluice_cursor_seek_offset(sluice_cursor *c, int64_t x);

/* Pure. The next maximal run from where the cursor stands (its beginning is cut off by a seek into it). 1, or 0 at
 * the end. */
int sluice_cursor_run(sluice_cursor *c, sluice_run *run);

/* Pure. Like sluice_cursor_run, but the blocks of one innermost family at a time: run->len bytes at run->off, again
 * every *step, *n times. Pieces may touch. */
int sluice_cursor_family(sluice_cursor *c, sluice_run *run, int64_t *step, int64_t *n);

/* Two sets walked in step, k-th byte beside k-th byte: pieces contiguous in both, as long as they can be. */
typedef struct sluice_pair {
    sluice_cursor a, b;
    sluice_run ra, rb;
} sluice_pair;
typedef struct sluice_piece {
    int64_t a, b, len;
} sluice_piece;

/* Pure. To the first bytes; to the k-th bytes; the next piece: 1, or 0 at the end of the shorter set. */
void sluice_pair_init(sluice_pair *p, const sluice_set *a, const sluice_set *b);
void sluice_pair_seek(sluice_pair *p, int64_t k);
int sluice_pair_next(sluice_pair *p, sluice_piece *piece);

/* ---- Moving bytes -------------------------------------------------------------------------------------------- */

/* One side of a move. The byte of offset x lies at base[x - origin]. `set` NULL: contiguous, byte k at base[k -
 * origin]. `from` is the rank of the first byte that takes part. */
typedef struct sluice_side {
    void *base;
    const sluice_set *set;
    int64_t origin, from;
} sluice_side;

/* Pure. Copies n bytes, k-th to k-th, and returns how many there were (less than n if a set ends before). The two
 * sides must not overlap in memory. */
int64_t sluice_move(const sluice_side *dst, const sluice_side *src, int64_t n);

/* Pure. The members in [lo, hi) between a buffer shaped like the file from lo on (byte x at shaped[x - lo]) and a
 * packed one. Return the bytes moved. (The papers' GATHER and SCATTER with m = lo, M = hi - 1.) */
int64_t sluice_gather(void *packed, const void *shaped, const sluice_set *s, int64_t lo, int64_t hi);
int64_t sluice_scatter(void *shaped, const void *packed, const sluice_set *s, int64_t lo, int64_t hi);

/* ---- Periodic elements and partitions ----------------------------------------------------------------------- */

/* A set in [0, period) repeated for ever from offset disp: a view, or one subfile of a partition. Callers see to
 * period >= 1, disp >= 0 and a set that fits; where there is an error to return, it is checked. */
typedef struct sluice_element {
    const sluice_set *set;
    int64_t period, disp;
} sluice_element;

/* Pure. File offset x -> offset in the element: map (-1 if x is not a member), next (as if at the nearest member at
 * or after x; -1 if the set is empty or it would pass 2^63), prev (at or before; -1 if none). unmap: back; -1 if
 * there is none below 2^63. rank: member bytes below x. */
int64_t sluice_element_map(const sluice_element *e, int64_t x);
int64_t sluice_element_next(const sluice_element *e, int64_t x);
int64_t sluice_element_prev(const sluice_element *e, int64_t x);
int64_t sluice_element_rank(const sluice_element *e, int64_t x);
int64_t sluice_element_unmap(const sluice_element *e, int64_t y);

/* Pure. The members in [lo, hi) as a set of file offsets. */
int sluice_element_cut(sluice_set *out, const sluice_element *e, int64_t lo, int64_t hi);

/* Pure. A view of a view: `inner` is laid over the linear space of `outer`. *e becomes the element of the file that
 * both together are, with its set in *set, so that map_e(x) = map_inner(map_outer(x)). SLUICE_E_ARGUMENT if outer is
 * empty. */
int sluice_element_compose(sluice_set *set, sluice_element *e, const sluice_element *outer,
                           const sluice_element *inner);

/* What two elements have in common, over one common period from the larger displacement. */
typedef struct sluice_common {
    int64_t disp, period;     /* the window is [disp, disp + period) */
    sluice_set set;           /* common bytes, relative to disp */
    sluice_set proj1, proj2;  /* the same bytes as offsets in each element's linear space */
    int64_t period1, period2; /* after which the projections repeat */
    int64_t segments;         /* pieces contiguous in both linear spaces */
} sluice_common;

/* Pure. *out must be zeroed or hold a result, which is replaced. */
int sluice_element_intersect(sluice_common *out, const sluice_element *a, const sluice_element *b);
void sluice_common_free(sluice_common *c);

/* A file cut into n elements: every byte from disp on belongs to exactly one. */
typedef struct sluice_partition {
    int n;
    const sluice_set *set; /* n sets that together are [0, period) */
    int64_t period, disp;
} sluice_partition;

/* Pure. 0 if the sets are disjoint and cover [0, period), else SLUICE_E_EMPTY, _START, _GAP, _SHARED with the
 * culprit. A period of 0 in p is filled in from the sets. */
int sluice_partition_check(sluice_partition *p, sluice_reason *why);

/* Pure. The element that owns file offset x and the offset in it; SLUICE_E_ARGUMENT if x < disp. */
int sluice_partition_owner(const sluice_partition *p, int64_t x, int *element, int64_t *off);

/* What moves from element i of one partition to element j of another, in the window [disp, disp + period). */
typedef struct sluice_matrix {
    int rows, cols;
    int64_t disp, period;
    int64_t *bytes, *segments; /* [i * cols + j]: bytes, and pieces contiguous on both sides */
    int64_t messages;          /* entries that are not 0 */
    int64_t total_segments;
    int64_t match_num, match_den; /* matching degree: max(rows, cols) / total_segments; 1 = perfect */
} sluice_matrix;

/* Pure. For ever: the window is one common period from the larger displacement (SLUICE_E_OVERFLOW if that passes 2^63).
 * *out must be zeroed or hold a result, which is replaced. The entries are counted, not walked: the time does not grow
 * with the number of blocks, unless two nested sets meet whose strides have no useful common multiple. */
int sluice_redistribute(sluice_matrix *out, const sluice_partition *a, const sluice_partition *b);

/* Pure. The same for a file of `length` bytes: the window is from the larger displacement to its end, however long the
 * common period would be. An empty window gives zeros. */
int sluice_redistribute_within(sluice_matrix *out, const sluice_partition *a, const sluice_partition *b,
                               int64_t length);
void sluice_matrix_free(sluice_matrix *m);

/* ---- File domains -------------------------------------------------------------------------------------------- */

/* How a byte range of a file is divided among processes, each of which then touches its own part only. */
typedef enum sluice_domain_kind {
    SLUICE_DOMAIN_BLOCK,   /* ceiling blocks of units: the last processes may get less or nothing */
    SLUICE_DOMAIN_EVEN,    /* blocks whose sizes differ by at most one unit */
    SLUICE_DOMAIN_CYCLIC,  /* `block` units to each process in turn */
    SLUICE_DOMAIN_WEIGHTED /* contiguous parts with about equally many bytes of `wanted` */
} sluice_domain_kind;
typedef struct sluice_domains {
    size_t size; /* sizeof(sluice_domains) */
    sluice_domain_kind kind;
    int nprocs;
    int64_t lo, hi;           /* the range divided */
    int64_t unit;             /* cuts fall on lo + k * unit (a row, a column, an element); 0 = 1 */
    int64_t align;            /* then each cut moves to the nearest multiple of this (a page, a stripe), and a block
                                 of CYCLIC is rounded to one; 0 = none */
    int64_t block;            /* CYCLIC: units per turn; 0 = 1 */
    const sluice_set *wanted; /* WEIGHTED: what was asked for */
} sluice_domains;

/* Pure. The domain of process `proc`, as file offsets. Domains of all processes are disjoint and cover [lo, hi). */
int sluice_domain(sluice_set *out, const sluice_domains *d, int proc, sluice_reason *why);

/* Pure. Sets d->lo and d->hi to the smallest range of whole slabs (slab k is [origin + k * slab, + slab)) that holds
 * all n requests. Empty requests do not widen it; with none, lo = hi = origin. */
int sluice_domains_bound(sluice_domains *d, const sluice_set *const *request, int n, int64_t origin, int64_t slab);

#ifdef __cplusplus
}
#endif
#endif
