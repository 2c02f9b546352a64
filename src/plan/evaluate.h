/* evaluate.h: what a layout would mean for the accesses of a profile. */
#ifndef SLUICE_EVALUATE_H
#define SLUICE_EVALUATE_H

#include "array/array.h"
#include "io/price.h"
#include "plan/plan.h"

/* What it runs on. bandwidth of a target in bytes a second, latency of a piece in seconds: 0 for what is cached. */
typedef struct sluice_machine {
    sluice_rates rates;
    int cores;
    double bandwidth, latency;
} sluice_machine;

typedef struct sluice_outlook {
    char name[512];    /* of the layout; "partitioned" for a placement */
    double seconds;    /* predicted, of all accesses */
    const char *bound; /* by what */
    double bytes;      /* that all accesses move, to all copies */
    double local;      /* the part of them that is on the target of its process */
    double seeks;      /* pieces of an access in a subfile, beyond the first */
    int64_t space;     /* bytes of all subfiles */
} sluice_outlook;

/* evaluate.c. Pure. Errors of sets: -ENOMEM, SLUICE_E_COMPLEX. */
int sluice_evaluate_layout(sluice_outlook *out, const sluice_profile *p, const sluice_layout *l,
                           const sluice_machine *m);
int sluice_evaluate_placement(sluice_outlook *out, const sluice_profile *p, const sluice_placement *plan,
                              const sluice_machine *m);

/* evaluate.c. Pure. Layout number k of n subfiles that an array may have; false after the last one. */
bool sluice_evaluate_candidate(char *text, size_t cap, const sluice_shape *a, int n, int k);

#endif
