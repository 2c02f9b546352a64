/* predict.h: what a collective call will do, told from its requests alone: the plan is walked as the call would walk
 * it, with counting in place of moving. Costs a few operations for each window, not for each run of the file, except
 * for writes with holes. */
#ifndef SLUICE_PREDICT_H
#define SLUICE_PREDICT_H

#include "io/io.h"
#include "io/plan.h"

/* Of one process. */
typedef struct sluice_prediction {
    sluice_counts counts; /* that the call will add */
    int64_t useful;       /* of the bytes that it transfers: wanted by someone */
    int64_t memory;       /* bytes of its buffers */
} sluice_prediction;

/* predict.c. Pure. A two-phase call; out[r] of each rank is set, except for the bytes wanted by its parts. */
int sluice_predict_two_phase(sluice_prediction *out, const sluice_plan *p, const sluice_plan_facts *f,
                             const sluice_set *request);

/* predict.c. Pure. A process that moves parts by itself, by requests; each ends in the file before the next begins. Of
 * their memory only the sets count. */
int sluice_predict_own(sluice_prediction *out, const sluice_io_part *part, int n, const sluice_io_plan *how,
                       bool write);

/* What a call depends on. */
typedef struct sluice_prospect {
    sluice_plan_facts facts;
    sluice_io_plan own;         /* how a process requests for itself */
    const int *first;           /* of the parts of rank r: first[r] to first[r + 1]; and */
    const sluice_io_part *part; /* all parts (see sluice_predict_own) */
    const bool *cached;         /* which of them can be reached through the mapping */
    bool mapped;                /* as told, in long runs too */
    const sluice_known *known;  /* NULL: requests are told */
} sluice_prospect;

/* What it will do. */
typedef struct sluice_forecast {
    int size;
    bool two_phase; /* else each process moves its own, and there is no plan; */
    bool complex;   /* writes then one after the other */
    const char *reason;
    bool conflict;     /* two processes write the same byte, */
    bool unsettled;    /* or it was too complex to say whether they do */
    sluice_set *moved; /* of each rank: what it told the others that it wants, as far as it came to that */
    sluice_plan plan;
    sluice_prediction *of; /* each rank */
} sluice_forecast;

/* forecast.c. Pure. The first collective call on a handle. */
int sluice_forecast_make(sluice_forecast *out, const sluice_prospect *p, sluice_reason *why);
void sluice_forecast_free(sluice_forecast *f);

#endif
