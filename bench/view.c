/* view.c: what MPI_File_set_view costs for growing arrays: process p of P sees every P-th row and every P-th column
 * from p on (table 5, pattern I of the two-phase paper), N x N elements of 4 bytes, column-major; by the MPI library
 * and through the door, where it must not grow with N. Usage: mpiexec -n P view; of the MPI library not for the largest
 * N, for which it would take several GiB. */
#include "bench.h"
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

enum { REPS = 11 };

typedef int open_call(MPI_Comm, const char *, int, MPI_Info, MPI_File *);
typedef int view_call(MPI_File, MPI_Offset, MPI_Datatype, MPI_Datatype, const char *, MPI_Info);
typedef int close_call(MPI_File *);

static MPI_Datatype every(int n, int rank, int nranks) {
    const int count = (n - rank + nranks - 1) / nranks;
    const MPI_Aint at = ((MPI_Aint)rank * n + rank) * 4;
    MPI_Datatype row, all, placed, t;
    MPI_Type_vector(count, 1, nranks, MPI_FLOAT, &row);
    MPI_Type_create_hvector(count, 1, (MPI_Aint)4 * n * nranks, row, &all);
    MPI_Type_create_hindexed_block(1, 1, &at, all, &placed);
    MPI_Type_create_resized(placed, 0, (MPI_Aint)4 * n * n, &t);
    MPI_Type_free(&row);
    MPI_Type_free(&all);
    MPI_Type_free(&placed);
    MPI_Type_commit(&t);
    return t;
}

/* Milliseconds, of the slowest process. */
static double measure(view_call *set_view, MPI_File f, MPI_Datatype t) {
    double time[REPS];
    for (int i = 0; i < REPS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double mine = bench_now();
        if (set_view(f, 0, MPI_FLOAT, t, "native", MPI_INFO_NULL)) MPI_Abort(MPI_COMM_WORLD, 1);
        mine = bench_now() - mine;
        MPI_Allreduce(&mine, &time[i], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    }
    return bench_median(time, REPS) / 1e6;
}

int main(int argc, char **argv) {
    int rank, nranks, pid = (int)getpid();
    char path[64];
    MPI_File host, door;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "view-%d.bin", pid);
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    open_call *open_host;
    view_call *view_host;
    close_call *close_host;
    *(void **)&open_host = dlsym(RTLD_NEXT, "MPI_File_open");
    *(void **)&view_host = dlsym(RTLD_NEXT, "MPI_File_set_view");
    *(void **)&close_host = dlsym(RTLD_NEXT, "MPI_File_close");
    if (open_host(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &host) ||
        MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &door))
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) printf("%8s %12s %12s   milliseconds, %d processes\n", "N", "MPI library", "door", nranks);
    for (int n = 4096; n <= 65536; n *= 4) {
        MPI_Datatype t = every(n, rank, nranks);
        const double by_host = n <= 4096 ? measure(view_host, host, t) : -1,
                     by_door = measure(MPI_File_set_view, door, t);
        if (rank == 0 && by_host >= 0) printf("%8d %12.3f %12.3f\n", n, by_host, by_door);
        if (rank == 0 && by_host < 0) printf("%8d %12s %12.3f\n", n, "-", by_door);
        MPI_Type_free(&t);
    }
    close_host(&host);
    MPI_File_close(&door);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
