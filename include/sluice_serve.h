/* sluice_serve.h: parallel files and arrays whose subfiles are kept by server processes.
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
 * An array in a container (sluice.h, `layout`) can be kept by servers in the same way:
 *
 *     int err = sluice_create_served_all(&a, &s, "field.sluice", &desc, &(sluice_options){.layout = "rows:4"});
 *     if (!err && rank < size - 4) err = sluice_write_all(a, range, buf);        // clients
 *     sluice_close(a);                             // servers: serves until all others have closed
 *
 * All calls on arrays go through the servers then. A call for oneself sends each server the set of bytes that it wants
 * and, for a write, the bytes. In a collective call the servers are the aggregators: they learn once what everyone
 * wants, read or write it in one sweep, and exchange it with the others.
 *
 * A server in sluice_file_close() or sluice_close() serves that file or array alone: a process can serve one at a time.
 *
 * A server may use views and arrays itself. It then reaches its own subfiles directly, and serves others while
 * it waits in calls on them, but not while it computes: no thread support is needed of MPI.
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

/* ---- Arrays -------------------------------------------------------------------------------------------------- */

/* Collective. Like sluice_open_all() and sluice_create_all() (sluice_mpi.h) for an array in a container, whose subfiles
 * servers keep. All processes give the same arguments but for `bindings`, at which only servers look. Target number t
 * of the container is at server t mod n, and no other process needs to reach it; if there is one target only, all
 * servers reach it, and subfile i is at server i mod n. The first server has the folder of the container.
 *
 * Collective calls are made by all processes but those servers that are in sluice_close() already, which take part in
 * them by themselves. The grid of sluice_read_dist_all() has a place for each process, or for each that is no server.
 * sluice_sync() and sluice_close() return the first error of writes that were acknowledged before, on all processes.
 * Requests in the background are carried out when they are waited for. `memory` must be the same on all, `way` in
 * `together` cannot be OWN, and its division and aggregators are given by the servers. sluice_redistribute_all() cannot
 * copy to such an array, sluice_copy() can. */
int sluice_open_served_all(sluice_array **a, const sluice_servers *s, const char *path, int mode,
                           const sluice_desc *given, const sluice_options *o);
int sluice_create_served_all(sluice_array **a, const sluice_servers *s, const char *path, const sluice_desc *d,
                             const sluice_options *o);

#ifdef __cplusplus
}
#endif
#endif
