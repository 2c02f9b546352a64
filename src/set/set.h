/* set.h: the inside of a set, and the workshop in which new ones are made.
 *
 * A finished set is one array of nodes. A node is a family; its inner list is a range of the same array that starts
 * at `inner` and has `ninner` members. Lists lie breadth first: the roots, then the inner list of the first nested
 * node, then that of the second, and so on, each once.
 *
 * Promises of a finished list (checked by sluice_set_check):
 *   - families ascend and do not interleave: each ends at or before the offset where the next starts, and before it if
 *     both are single blocks;
 *   - n >= 1, len >= 1, step >= len, and step == len when n == 1;
 *   - a leaf with n > 1 has step > len (blocks that touch are one block);
 *   - a nested family has n >= 2, its list starts at offset 0 and ends at len, and holds fewer bytes than len;
 *   - isize is the number of bytes in a block, before that of all families earlier in the same list.
 *
 * In the workshop (sluice_shop) the same nodes live in a growing array, lists are shared freely, and pieces wait on
 * a stack until sluice_shop_seal() makes a finished list of them. Indices, not pointers, because the array moves.
 * A failed allocation or an exhausted budget is remembered in shop->error; everything after it does nothing, so that
 * the algorithms read without an error check in each line.
 */
#ifndef SLUICE_SET_INTERNAL_H
#define SLUICE_SET_INTERNAL_H

#include "base/base.h"
#include "sluice_set.h"

#define SLUICE_LEAF (-1) /* node.inner of a whole block; an empty list is never stored */

struct sluice_node {
    int64_t off, len, step, n;
    int64_t isize, before;
    int32_t inner, ninner;
};

/* Bytes of all blocks; offset just past the last block; number of nodes of a family's subtree. */
static inline int64_t sluice_node_size(const sluice_node *f) { return f->isize * f->n; }
static inline int64_t sluice_node_end(const sluice_node *f) { return f->off + (f->n - 1) * f->step + f->len; }
static inline bool sluice_node_leaf(const sluice_node *f) { return f->inner == SLUICE_LEAF; }

/* Bytes of memory that hold a finished set. */
static inline int64_t sluice_node_memory(const sluice_set *s) { return s->nnode * (int64_t)sizeof(sluice_node); }

/* A list in the workshop: nodes [first, first + n), all offsets relative to base. n = 0: the empty list. */
typedef struct sluice_list {
    int64_t base;
    int32_t first, n;
} sluice_list;

typedef struct sluice_stack {
    sluice_node *node;
    int64_t n, cap;
} sluice_stack;

typedef struct sluice_shop {
    int error;
    int64_t budget;    /* nodes that may still be handled */
    int64_t floor;     /* where the list now being made starts on `out` */
    sluice_stack done; /* finished lists, starting at offset 0 */
    sluice_stack out;  /* pieces on their way into a list, ascending */
} sluice_shop;

/* rank.c: of n >= 1 sorted families, the last with at most k bytes before it. */
int32_t sluice_rank_last_before(const sluice_node *f, int32_t n, int64_t k);

/* rank.c: of n sorted families, the first that ends after x, or n; and the bytes of a list of s below x. */
int32_t sluice_rank_first_after(const sluice_node *f, int32_t n, int64_t x);
int64_t sluice_rank_list(const sluice_set *s, const sluice_node *list, int32_t n, int64_t x);

/* shop.c: opening (the inputs, either may be NULL, set the budget), taking a set's roots in, finishing: *out = list,
 * unless an error came up, which is returned. */
void sluice_shop_open(sluice_shop *shop, const sluice_set *a, const sluice_set *b);
sluice_list sluice_shop_take(sluice_shop *shop, const sluice_set *s);
int sluice_shop_close(sluice_shop *shop, sluice_set *out, sluice_list list);

/* shop.c: making lists. begin, emit pieces in ascending order, seal with what begin returned. A piece is brought to
 * normal form and merged with the one before it where that is free. */
int64_t sluice_shop_begin(sluice_shop *shop);
void sluice_shop_emit(sluice_shop *shop, sluice_node f);
void sluice_shop_emit_block(sluice_shop *shop, int64_t off, int64_t len);
void sluice_shop_emit_list(sluice_shop *shop, sluice_list list, int64_t by);
void sluice_shop_emit_copies(sluice_shop *shop, sluice_list list, int64_t by, int64_t step, int64_t n);
sluice_list sluice_shop_seal(sluice_shop *shop, int64_t begun);

/* shop.c: whole blocks as a family; n copies of a sealed list as a family (by is added to the list's base). */
sluice_node sluice_node_blocks(int64_t off, int64_t len, int64_t step, int64_t n);
sluice_node sluice_node_copies(sluice_shop *shop, sluice_list list, int64_t by, int64_t step, int64_t n);

/* shop.c: the inner list of a nested family, and a stack of pieces, first on top, that an algorithm works off. Pushing
 * a nested family of one block pushes what is in it. */
sluice_list sluice_node_inner(const sluice_node *f);
void sluice_stack_push(sluice_shop *shop, sluice_stack *stack, sluice_node f);
void sluice_stack_push_list(sluice_shop *shop, sluice_stack *stack, sluice_list list, int64_t by);

/* fold.c: replaces equal groups of pieces at equal distances, on shop->out from shop->floor on, by families. */
void sluice_shop_fold(sluice_shop *shop);
bool sluice_node_same(const sluice_shop *shop, const sluice_node *a, const sluice_node *b); /* but for off */

/* falls.c: sluice_set_build; on SLUICE_E_OVERLAP *culprit is in the list that is refused, else NULL. */
int sluice_falls_build(sluice_set *out, const sluice_falls_list *list, const sluice_falls **culprit,
                       sluice_reason *why);

/* cut.c: emits, or pushes, the part of a family or list in [lo, hi). */
void sluice_cut_family(sluice_shop *shop, sluice_node f, int64_t lo, int64_t hi);
void sluice_cut_list(sluice_shop *shop, sluice_list list, int64_t lo, int64_t hi);
void sluice_cut_push(sluice_shop *shop, sluice_stack *stack, sluice_node f, int64_t lo, int64_t hi);

/* combine.c: emits the bytes of two lists chosen by where they lie. */
typedef struct sluice_keep {
    bool a, b, both; /* keep bytes that are in a alone, in b alone, in both */
} sluice_keep;
void sluice_combine_lists(sluice_shop *shop, sluice_keep keep, sluice_list a, sluice_list b);

/* project.c: emits the list carried into the linear space of a family of whole blocks, in which it lies, or back. */
void sluice_project_blocks(sluice_shop *shop, sluice_list list, sluice_node blocks, bool embed);

/* move.c: bytes [lo, hi) of a list, as ranks in it, between a shaped buffer and a packed one, which moves on. The list
 * is relative to index `at` of the shaped buffer. Its families may stand in any order, with any steps, if any_order. */
typedef struct sluice_stream {
    const sluice_node *node; /* where inner lists are */
    unsigned char *shaped, *packed;
    bool gather, any_order;
} sluice_stream;
void sluice_move_list(sluice_stream *t, const sluice_node *list, int32_t n, int64_t at, int64_t lo, int64_t hi);

/* count.c: what counting pieces needs of a set: the gaps between its runs and the offsets where these start. *out must
 * be zeroed or hold an outline, and is to be freed in any case. */
typedef struct sluice_outline {
    sluice_set holes, starts;
} sluice_outline;
int sluice_outline_make(sluice_outline *out, const sluice_set *s);
void sluice_outline_free(sluice_outline *o);

/* count.c: bytes in both sets; pieces of them that are contiguous in the linear spaces of both. SLUICE_E_COMPLEX. */
int sluice_count_bytes(int64_t *bytes, const sluice_set *a, const sluice_set *b);
int sluice_count_pieces(int64_t *pieces, const sluice_set *a, const sluice_outline *oa, const sluice_set *b,
                        const sluice_outline *ob);

/* element.c: the window of one common period from the larger displacement, and an element's bytes in a window, relative
 * to its start. */
int sluice_element_window(int64_t *disp, int64_t *period, const sluice_element *a, const sluice_element *b);
int sluice_element_view(sluice_set *out, const sluice_element *e, int64_t disp, int64_t period);

/* wire.c. Pure. The families that a wire form says it has, for which sluice_set_unpack() takes memory; 0 if it says
 * nothing that can be read. */
int64_t sluice_wire_families(const void *buf, size_t len);

#endif
