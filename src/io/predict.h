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

/* predict.c. Pure. A two-phase call; out[r] of each rank is set. For writes no two requests have a byte in common. */
int sluice_predict_two_phase(sluice_prediction *out, const sluice_plan *p, const sluice_plan_facts *f,
                             const sluice_set *request);

/* predict.c. Pure. A process that moves a set by itself; straight: where all of a run is wanted, without a buffer. */
int sluice_predict_own(sluice_prediction *out, const sluice_set *file, const sluice_io_plan *how, bool write,
                       bool straight);

#endif
