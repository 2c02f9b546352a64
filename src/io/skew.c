/* skew.c: the clocks of several nodes, compared while a trace is recorded.
 *
 * The leader of each node asks the first node's for its time, some times over. The answer was given between question
 * and answer; of the fastest exchange it is taken to be the middle.
 */
#include "io/skew.h"
#include "io/group.h"
#include "trace/record.h"

enum { EXCHANGES = 8, TAG = 4711 };

/* What this node's clock lacks to the first one's. */
static int64_t ask(MPI_Comm leaders) {
    int64_t least = INT64_MAX, skew = 0;
    for (int i = 0; i < EXCHANGES; i++) {
        int64_t there;
        const int64_t asked = sluice_record_now();
        MPI_Send(&asked, 1, MPI_INT64_T, 0, TAG, leaders);
        MPI_Recv(&there, 1, MPI_INT64_T, 0, TAG, leaders, MPI_STATUS_IGNORE);
        const int64_t took = sluice_record_now() - asked;
        if (took >= least) continue;
        least = took;
        skew = there - (asked + took / 2);
    }
    return skew;
}

static void answer(MPI_Comm leaders, int node) {
    for (int i = 0; i < EXCHANGES; i++) {
        int64_t asked, now;
        MPI_Recv(&asked, 1, MPI_INT64_T, node, TAG, leaders, MPI_STATUS_IGNORE);
        now = sluice_record_now();
        MPI_Send(&now, 1, MPI_INT64_T, node, TAG, leaders);
    }
}

int sluice_skew_measure(sluice_group *g, sluice_reason *why) {
    int64_t all = sluice_record_on(false), skew = 0;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (g->nnodes == 1 || g->size != size) return 0;
    const int err = sluice_agree(g, 0, why, &all, 1);
    if (err || !all) return err;
    if (g->local == 0 && g->node > 0) skew = ask(g->leaders);
    for (int node = 1; g->rank == 0 && node < g->nnodes; node++) answer(g->leaders, node);
    for (int i = 1; g->local == 0 && i < g->nlocal; i++) MPI_Send(&skew, 1, MPI_INT64_T, g->member[i], TAG, g->comm);
    if (g->local > 0) MPI_Recv(&skew, 1, MPI_INT64_T, g->member[0], TAG, g->comm, MPI_STATUS_IGNORE);
    sluice_record_align(skew);
    return 0;
}
