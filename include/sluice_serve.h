/* sluice_serve.h: parallel files whose subfiles are kept by server processes.
 *
 * Some processes of a communicator are servers: subfile i lies where server i mod n can reach it, and no other process
 * opens it. The others reach it by messages. Views are the same as on a file of one's own (sluice_view.h), whose calls
 * take the handle:
 *
 *     sluice_file *f;
 *     sluice_view *v;
 *     sluice_servers s = {.size = sizeof s, .comm = MPI_COMM_WORLD, .n = 4};     // the last 4 processes
 *     int err = sluice_file_create_all(&f, &s, &partition, path, NULL);
 *     if (!err && rank < size - 4) {                                             // clients
 *         err = sluice_view_set(&v, f, &element);
 *         if (!err) err = sluice_view_write(v, 0, len, buf);
 *         ...
 *     }
 *     sluice_file_close(f);                        // servers: serves until all others have closed
 *
 * A view is told to the servers when it is set; an access then sends two limits and the data to each server, and ends
 * when every server has acknowledged. A server keeps what it is sent and writes it when it has nothing else to do. An
 * error of such a write comes from the next sluice_file_sync() or sluice_file_close() of the process whose write it
 * was, and names the server, the subfile and the offset. What one process has written and been acknowledged, all
 * processes read.
 *
 * A server in sluice_file_close() serves that file alone: one communicator has one served file at a time.
 *
 * A server may use views itself. It then reaches its own subfiles directly, and serves others while it waits in calls
 * on the file, but not while it computes: no thread support is needed of MPI.
 */
#ifndef SLUICE_SERVE_PUBLIC_H
#define SLUICE_SERVE_PUBLIC_H

#include "sluice_view.h"
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero is the default of every field but comm. */
typedef struct sluice_servers {
    size_t size;         /* sizeof(sluice_servers) */
    MPI_Comm comm;       /* of servers and clients */
    int n;               /* servers; 0 = 1 */
    const int *rank;     /* their ranks; NULL: the last n of comm */
    int no_write_behind; /* servers acknowledge a write when it is done, with its error */
} sluice_servers;

/* Collective. Like sluice_file_open() and sluice_file_create() by all processes of the communicator, which give the
 * same partition, mode and servers; only those who are servers look at the files. `memory` bounds all that a server
 * holds for its clients, and what a client puts together to send. All return the same error. */
int sluice_file_open_all(sluice_file **f, const sluice_servers *s, const sluice_partition *p, const char *const *path,
                         int mode, const sluice_options *o);
int sluice_file_create_all(sluice_file **f, const sluice_servers *s, const sluice_partition *p, const char *const *path,
                           const sluice_options *o);

#ifdef __cplusplus
}
#endif
#endif
