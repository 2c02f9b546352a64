/* section.h: boxes of an array as sets, shared by section.c, hpf.c and deal.c. */
#ifndef SLUICE_SECTION_H
#define SLUICE_SECTION_H

#include "sluice_set.h"

/* Indices of one dimension: n blocks of len indices, step apart, the first at off. n = 0: none. */
typedef struct sluice_stripe {
    int64_t off, len, step, n;
} sluice_stripe;

/* The most stripes that one dimension needs: whole blocks, and a short one at the end. */
#define SLUICE_STRIPES 2

/* 0 if the shape is one that an array of less than 2^63 bytes can have; else refuses it. On success step[d] is the
 * distance in bytes between neighbours along dimension d (0 everywhere if the array has no elements). */
int sluice_section_shape(const sluice_shape *shape, int64_t *step, sluice_reason *why);

/* The bytes of the elements whose index lies, in every dimension d, in one of the two stripes at
 * stripe[SLUICE_STRIPES * d]. These must lie inside the dimension and ascend; the shape must have passed the check
 * that gave step[]. */
int sluice_section_product(sluice_set *out, const sluice_shape *shape, const int64_t *step, const sluice_stripe *stripe,
                           sluice_reason *why);

/* hpf.c. Pure. All parts of one distribution: what is the same for each is checked and summed up once, which a caller
 * of sluice_set_hpf() pays for each time. What open was given stays until close. */
typedef struct sluice_hpf {
    const sluice_shape *shape;
    const sluice_dist *dist;
    const int *grid;
    int64_t step[SLUICE_MAX_DIMS], block[SLUICE_MAX_DIMS];
    int64_t *before[SLUICE_MAX_DIMS]; /* GENBLOCK: the indices before each block; else NULL */
} sluice_hpf;
int sluice_hpf_open(sluice_hpf *h, const sluice_shape *shape, const sluice_dist *dist, const int *grid,
                    sluice_reason *why);
int sluice_hpf_part(sluice_set *out, const sluice_hpf *h, int rank, sluice_reason *why);
void sluice_hpf_close(sluice_hpf *h);

/* deal.c. Pure. The array cut into boxes of tile[] elements, which are dealt in turn to n hands: one hand. Tiles at the
 * far ends may be short. SLUICE_E_COMPLEX where more than `budget` rows of tiles lie differently, of all hands that
 * were made with the same d. */
typedef struct sluice_dealing {
    const int64_t *tile;
    int n;
    int64_t budget;
} sluice_dealing;
int sluice_deal_tiles(sluice_set *out, const sluice_shape *shape, sluice_dealing *d, int hand, sluice_reason *why);

#endif
