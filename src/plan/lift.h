/* lift.h: from accesses back to the array and to the rule by which processes share it, so that they can be foretold for
 * other numbers of processes and other sizes.
 *
 * The accesses of a process are taken as *passes*: as long as it goes on in one direction, reading or writing, front to
 * back, it is one pass, whose bytes are one set. Each pass is looked at as boxes of an array of n dimensions:
 *
 *     grid       each process has one box; the boxes form a grid, whose places follow the numbers of the processes
 *     diagonal   q * q processes have q boxes each, of a grid of q along each side, one in every layer, as in BT
 *     all        every process has the same box
 *
 * Along a dimension the boxes begin and end at numbers that follow from their place by one of two rules, often both:
 *
 *     blocks     the extent is divided evenly, perhaps with some of the neighbours' (halos); extent given
 *     steps      box i + 1 is box i moved by a pitch; the first begins and the last ends as they like; pitch given
 *
 * With another number of processes the first keeps the array and the second keeps the block. What is meant cannot be
 * seen in one trace. The rules are only believed if they give every set of the profile back.
 */
#ifndef SLUICE_LIFT_H
#define SLUICE_LIFT_H

#include "plan/plan.h"
#include <stdio.h>

enum { SLUICE_LIFT_PASSES = 1024, SLUICE_LIFT_DIMS = 8 };

typedef enum sluice_keep_what {
    SLUICE_KEEP_AUTO,   /* the array if two or more dimensions are shared and nothing twice, else the block */
    SLUICE_KEEP_ARRAY,  /* its extents: other numbers of processes have other blocks */
    SLUICE_KEEP_BLOCK,  /* that of a process: the array grows with the processes */
    SLUICE_KEEP_RECORDS /* blocks and file: rows of blocks become fewer when they become longer */
} sluice_keep_what;
typedef enum sluice_grow_what {
    SLUICE_GROW_AUTO, /* size */
    SLUICE_GROW_SIZE, /* more data are larger blocks */
    SLUICE_GROW_COUNT /* more data are more of them */
} sluice_grow_what;

/* For what is foretold. */
typedef struct sluice_scaling {
    int nprocs;
    int64_t factor; /* times more data */
    int keep, grow; /* sluice_keep_what, sluice_grow_what */
} sluice_scaling;

typedef enum sluice_pass_kind { SLUICE_PASS_ALL, SLUICE_PASS_GRID, SLUICE_PASS_DIAGONAL } sluice_pass_kind;

/* How the boxes of a pass lie along one dimension, of which there are n places. */
typedef struct sluice_along {
    int n;
    int64_t first, begin; /* where the box of place 0 begins, and that of place 1 less a pitch */
    int64_t end, last;    /* where that of place 0 ends less a pitch, and that of the last less n pitches */
    int64_t pitch;
    bool steps, blocks;     /* which rules hold */
    bool ceiling;           /* blocks of ceiling(extent / n), else as even as can be */
    int64_t low, high;      /* halos */
    int of_p, of_row, of_c; /* diagonal: the place is (of_p * (p % q) + of_row * (p / q) + of_c * c) mod q */
} sluice_along;

typedef struct sluice_lift_pass {
    sluice_pass_kind kind;
    bool write, collective, column; /* column: the first place of the grid runs fastest */
    sluice_along along[SLUICE_LIFT_DIMS];
} sluice_lift_pass;

typedef struct sluice_lift {
    int nprocs, ndims;
    int64_t elem, dim[SLUICE_LIFT_DIMS]; /* the last dimension in elements of so many bytes */
    bool guessed;                        /* elem is */
    int keep, grow;                      /* if a sample has decided it; else AUTO */
    int npass;
    sluice_lift_pass *pass;
} sluice_lift;

/* lift.c. Pure. elem 0: not known. SLUICE_E_ARGUMENT: no such rule, with what stands against it. */
int sluice_lift_make(sluice_lift **out, const sluice_profile *p, int64_t elem, sluice_reason *why);
void sluice_lift_free(sluice_lift *l);

/* scale.c. Pure. The accesses of so many processes, pass number k at time k; *l becomes what they are of if `now` is
 * not NULL. SLUICE_E_ARGUMENT says why it cannot be foretold. */
int sluice_lift_scale(sluice_profile *out, const sluice_lift *l, const sluice_scaling *s, sluice_lift *now,
                      sluice_reason *why);

/* scale.c. Pure. What is kept and what grows, by a second profile. */
int sluice_lift_decide(sluice_lift *l, const sluice_profile *sample, sluice_reason *why);

/* scale.c. Pure. The set of process p in a pass of the array as it is. */
int sluice_lift_set(sluice_set *out, const sluice_lift *l, const sluice_lift_pass *pass, int p);

/* scale.c. The array; and what was found, for people, with the sizes of chunks for other numbers of processes. */
void sluice_lift_shape(const sluice_lift *l, sluice_shape *shape);
void sluice_lift_print(const sluice_lift *l, FILE *f);

#endif
