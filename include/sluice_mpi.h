/* sluice_mpi.h: arrays shared by the processes of an MPI communicator.
 *
 *     #include <sluice_mpi.h>
 *
 *     sluice_array *a;
 *     sluice_range rows = {.start = rank * 100, .count = 100, .step = 1}, all = {.start = 0, .count = 500, .step = 1};
 *     if (sluice_open_all(&a, MPI_COMM_WORLD, "field.npy", SLUICE_READ, NULL, NULL) ||
 *         sluice_read_all(a, (sluice_range[]){rows, all}, buf))
 *         fprintf(stderr, "%s\n", sluice_errmsg());     // the same sentence on all processes
 *     sluice_close(a);
 *
 * Everything else is in sluice.h. No thread support is needed of MPI. Close arrays before MPI_Finalize().
 */
#ifndef SLUICE_MPI_H
#define SLUICE_MPI_H

#include "sluice.h"
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Collective. Like sluice_open() and sluice_create() by all processes of comm, which give the same arguments. The
 * handle is good for collective calls by all of them, and for local calls by each. `exclusive` then means that no one
 * outside the group writes the file. */
int sluice_open_all(sluice_array **a, MPI_Comm comm, const char *path, int mode, const sluice_desc *given,
                    const sluice_options *o);
int sluice_create_all(sluice_array **a, MPI_Comm comm, const char *path, const sluice_desc *d, const sluice_options *o);

#ifdef __cplusplus
}
#endif
#endif
