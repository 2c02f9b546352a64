/* price.h: what it costs to move parts through a mapping, told from their sets and a few rates of the machine:
 *
 *     seconds = lines * line + further lines * again + pieces * piece(length) + families * family
 *             + nodes * node
 *
 * Lines are what caches fetch: those that the wanted bytes fill, and those that the file has to be passed for beyond
 * that, because what lies between pieces that are a few lines apart is fetched with them; other parts want it, so it is
 * near when they come. A piece is what is contiguous on both sides; short ones cost less where they lie regularly,
 * since one loop copies a family of them. Nodes are what planning handles. The rates are found by trying, on memory,
 * never on files.
 */
#ifndef SLUICE_PRICE_H
#define SLUICE_PRICE_H

#include "io/io.h"

enum { SLUICE_RATES_LENGTHS = 13 }; /* 1, 2, 4, ... 4096 bytes */

/* How a piece goes: from apart to together, from together to apart, from apart to apart. */
typedef enum sluice_going { SLUICE_GATHER, SLUICE_SCATTER, SLUICE_REPLACE, SLUICE_GOINGS } sluice_going;

/* Seconds. */
typedef struct sluice_rates {
    double line;  /* copied from far to far */
    double again; /* fetched of what was passed before, for a few bytes */
    double piece[SLUICE_GOINGS][SLUICE_RATES_LENGTHS];
    double family, node;
} sluice_rates;

/* price.c. Local. Tries, for some 50 milliseconds. -ENOMEM. */
int sluice_rates_measure(sluice_rates *out);

/* price.c. Pure. Seconds for the pieces of one request, of which the parts are those of its subfiles. */
double sluice_price(const sluice_rates *r, bool write, const sluice_io_part *part, int n);

#endif
