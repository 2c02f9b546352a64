/* ranks: 1 2, through the door */
/* mpiio_door.c: who does the work: Sluice, or the host; whichever it is, what one process writes another one reads. */
#include "mpiio_common.h"

int main(int argc, char **argv) {
    MPI_File f;
    MPI_Info info;
    int there, mine = -1, out;
    char value[MPI_MAX_INFO_VAL + 1];
    begin(&argc, &argv, "mpiio_door");
    const char *name = argc > 1 ? argv[1] : path;
    GOOD(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
    out = rank + 100;
    GOOD(MPI_File_write_at_all(f, rank * (int)sizeof out, &out, 1, MPI_INT, MPI_STATUS_IGNORE));
    GOOD(MPI_File_sync(f));
    meet();
    GOOD(MPI_File_sync(f));
    GOOD(MPI_File_read_at_all(f, (size - 1 - rank) * (int)sizeof out, &mine, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(mine == size - 1 - rank + 100, "%d", mine);
    GOOD(MPI_File_get_info(f, &info));
    MPI_Info_get(info, "sluice_last_read", MPI_MAX_INFO_VAL, value, &there);
    MPI_Info_free(&info);
    if (rank == 0) printf("by %s\n", there ? "Sluice" : "the host");
    if (argc == 1) CHECK(there);
    GOOD(MPI_File_close(&f));
    return end();
}
