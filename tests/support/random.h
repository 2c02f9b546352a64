/* random.h: reproducible chance that can be shrunk, and random families.
 *
 * A test draws its input from a `chance`. Every draw is remembered. When a test fails, chance_shrink() plays changed
 * copies of the list of draws to it, with parts left out and numbers lowered, and keeps what still fails: no kind of
 * input needs a shrinker of its own. So that this leads to simple inputs, the low end of every draw must be the
 * simple choice: no further family, no inner list, one block.
 */
#ifndef SLUICE_TESTS_RANDOM_H
#define SLUICE_TESTS_RANDOM_H

#include "sluice_set.h"
#include <stdbool.h>
#include <stdio.h>

typedef struct chance {
    uint64_t state;
    bool replay;   /* draws come from the list; 0 past its end */
    int64_t *draw; /* each minus the low end of its range */
    int n, cap, at;
} chance;

/* Starts a new list of draws; chance_free() gives it back. */
void chance_seed(chance *c, uint64_t seed);
void chance_free(chance *c);

/* Uniform in [lo, hi]. */
int64_t chance_draw(chance *c, int64_t lo, int64_t hi);

/* In [lo, hi], more often near lo. */
int64_t chance_low(chance *c, int64_t lo, int64_t hi);

/* True once in `odds` draws on average; the simple choice is false. */
bool chance_once_in(chance *c, int64_t odds);

/* Changes the list to the smallest that was found for which fails() is true; it must be true for the list as it
 * is. Returns how many lists were tried. */
int chance_shrink(chance *c, bool (*fails)(chance *, void *), void *arg);

/* A seed from the environment variable `name`, or from the clock. */
uint64_t chance_default_seed(const char *name);

/* Room for one random nested family list. */
enum { GROVE_FALLS = 400, GROVE_LISTS = 120 };
typedef struct grove {
    sluice_falls falls[GROVE_FALLS];
    sluice_falls_list list[GROVE_LISTS];
    int nfalls, nlists;
    bool hollow; /* some block holds an empty inner list, which the text form cannot say */
} grove;

/* A list of disjoint families in [0, extent), nested up to `depth` levels, siblings often interleaved, in no order.
 * Lives in *g. */
const sluice_falls_list *grove_grow(grove *g, chance *c, int64_t extent, int depth);

/* Writes a list in the papers' notation into buf (always closed with 0) and returns buf. */
const char *grove_text(const sluice_falls_list *list, char *buf, size_t cap);

#endif
