/* link.h: what a view and a subfile have in common.
 *
 * Both are elements of one file. Their common bytes are known by two projections, periodic sets again: where the
 * bytes lie in the view, and where in the subfile. The k-th byte of the one is the k-th byte of the other, so that
 * ranks are all that is needed to go from one side to the other, whatever the number of blocks:
 *
 *     view           0   2   4   6   8        with subfile 1 (bytes 2 3 6 7 10 11 ... of the file) in common: 2, 6, ...
 *     in the view      1       3       5 ...  every second byte from 1
 *     in subfile 1   0       2       4 ...    every second byte from 0
 *
 * A range of the view meets the subfile in a span: n bytes, between two limits of the subfile. The limits are those
 * of the first and the last of these bytes. (The paper maps the ends of the range to the nearest bytes of the subfile,
 * which may not be in the view; such limits are wider, and fewer spans look contiguous.)
 */
#ifndef SLUICE_LINK_H
#define SLUICE_LINK_H

#include "base/base.h"
#include "sluice_set.h"

typedef struct sluice_link {
    sluice_set view_set, sub_set; /* one period of each projection; both are empty if there is nothing in common */
    sluice_element view, sub;     /* the projections */
    bool solid;                   /* all bytes of both, from their displacements on: ranges are moved on, not mapped */
} sluice_link;

/* Pure. Intersects a view with a subfile; a view that is the subfile needs no intersection. *out is overwritten and
 * stays where it is; after a failure there is nothing to free. within: of a file that has an end, both given as all
 * their bytes before it. So no period is needed that both have in common, which may be past all bounds. */
int sluice_link_make(sluice_link *out, const sluice_element *view, const sluice_element *sub);
int sluice_link_within(sluice_link *out, const sluice_set *view, const sluice_set *sub);
int sluice_link_same(sluice_link *out);
void sluice_link_free(sluice_link *l);

/* What a range of the view is in the subfile: n bytes in common, in [from, to) of the view and [lo, hi) of the subfile,
 * contiguous where these are n bytes, too. n = 0: none, and nothing else is set. */
typedef struct sluice_span {
    int64_t n;
    int64_t rank; /* of the first byte in both projections */
    int64_t from, to;
    int64_t lo, hi;
} sluice_span;

/* Pure. The span of view bytes [off, off + len); of bytes [rank, rank + n) of the projections, where n > 0. */
sluice_span sluice_link_span(const sluice_link *l, int64_t off, int64_t len);
sluice_span sluice_link_part(const sluice_link *l, int64_t rank, int64_t n);

#endif
