/* passion_mpi.h: which processes open a file together in PASSION's global placement model. The rest is in passion.h,
 * which needs no MPI. */
#ifndef PASSION_MPI_H
#define PASSION_MPI_H

#include "passion.h"
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Local. The group of files opened afterwards in the global model; MPI_COMM_NULL, as at first: MPI_COMM_WORLD. The
 * grids of OCADs then must have its size, also after PASSION_set_nprocs(). The communicator stays the caller's, and
 * must live while files are opened; open files do not need it. */
int PASSION_set_comm(MPI_Comm comm);

#ifdef __cplusplus
}
#endif
#endif
