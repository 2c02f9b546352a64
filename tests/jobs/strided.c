/* strided.c FILE: MPI-IO whose trace is known: a strided write and read of all processes together, 10^6 elements each,
 * and a loop of small strided reads. */
#include <mpi.h>
#include <stdlib.h>

enum { ELEMENTS = 1000000, SMALL = 100, TIMES = 1000 };

int main(int argc, char **argv) {
    int rank, size;
    MPI_File f;
    MPI_Datatype column;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *values = calloc(ELEMENTS, sizeof *values);
    if (!values || argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    int wrong = MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_Type_vector(ELEMENTS, 1, size, MPI_INT, &column);
    MPI_Type_commit(&column);
    wrong |= MPI_File_set_view(f, (MPI_Offset)sizeof(int) * rank, MPI_INT, column, "native", MPI_INFO_NULL);
    for (int i = 0; i < ELEMENTS; i++) values[i] = i * size + rank;
    wrong |= MPI_File_write_all(f, values, ELEMENTS, MPI_INT, MPI_STATUS_IGNORE);
    wrong |= MPI_File_read_at_all(f, 0, values, ELEMENTS, MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < TIMES; i++) {
        wrong |= MPI_File_read_at(f, i * 500, values, SMALL, MPI_INT, MPI_STATUS_IGNORE);
        wrong |= values[7] != (i * 500 + 7) * size + rank;
    }
    MPI_File_close(&f);
    MPI_Type_free(&column);
    free(values);
    MPI_Finalize();
    return wrong != 0;
}
