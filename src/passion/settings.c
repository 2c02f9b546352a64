/* settings.c: what PASSION's calls have no parameter for is set once for the library. */
#include "passion/inside.h"
#include <stdatomic.h>

static _Atomic int base = 1, nprocs = 0, placement = PASSION_LOCAL; /* nprocs 0: as many as the group has */
static _Atomic MPI_Comm group = MPI_COMM_NULL;                      /* null: all processes */

int sluice_settings_base(void) { return atomic_load(&base); }
int sluice_settings_placement(void) { return atomic_load(&placement); }

MPI_Comm sluice_settings_comm(void) {
    int begun, ended;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    MPI_Comm set = atomic_load(&group);
    if (!begun || ended) return MPI_COMM_NULL;
    return set == MPI_COMM_NULL ? MPI_COMM_WORLD : set;
}

int sluice_settings_nprocs(void) {
    MPI_Comm comm = sluice_settings_comm();
    int n = atomic_load(&nprocs);
    if (!n && comm != MPI_COMM_NULL) MPI_Comm_size(comm, &n);
    return n ? n : 1;
}

int PASSION_set_comm(MPI_Comm comm) {
    atomic_store(&group, comm);
    atomic_store(&nprocs, 0);
    return 0;
}

int PASSION_set_base(int value) {
    if (value != 0 && value != 1)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_set_base: indices count from 0 or 1, not from %d", value);
    atomic_store(&base, value);
    return 0;
}

int PASSION_set_nprocs(int value) {
    if (value < 1) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_set_nprocs: a group of %d processes", value);
    atomic_store(&nprocs, value);
    return 0;
}

int PASSION_set_placement(int value) {
    if (value != PASSION_LOCAL && value != PASSION_GLOBAL)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_set_placement: unknown model %d", value);
    atomic_store(&placement, value);
    return 0;
}
