/* ranks: 3 */
/* together.c: every process writes its columns of an array, and all of them write one row; then one reads it all. */
#include <sluice_mpi.h>
#include <stdio.h>

enum { ROWS = 4, COLUMNS = 9 };

static void must(int error) {
    if (!error) return;
    fprintf(stderr, "together: %s\n", sluice_errmsg()); /* the same on all processes */
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    int rank, size, mine[ROWS * COLUMNS], all[ROWS][COLUMNS], wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    sluice_desc field = {.format = SLUICE_NPY, .shape = {.ndims = 2, .dim = {ROWS, COLUMNS}}, .type = "int32"};
    sluice_array *a;
    must(sluice_create_all(&a, MPI_COMM_WORLD, "together.npy", &field, &(sluice_options){.replace = 1}));

    /* Two parts in one call: columns rank, rank + size, ... of all rows; and row 2, of which the last process wins. */
    sluice_range columns[] = {{0, ROWS, 1}, {rank, (COLUMNS - rank + size - 1) / size, size}};
    sluice_range row[] = {{2, 1, 1}, {0, COLUMNS, 1}};
    for (int k = 0; k < ROWS * COLUMNS; k++) mine[k] = rank;
    must(sluice_write_parts_all(a, (sluice_part[]){{.range = columns, .buf = mine}, {.range = row, .buf = mine}}, 2));

    /* All of it for rank 0; who wants nothing takes part with nothing. */
    must(sluice_read_parts_all(a, &(sluice_part){.buf = all}, rank == 0));
    must(sluice_close(a));
    for (int i = 0; i < ROWS && rank == 0; i++)
        for (int j = 0; j < COLUMNS; j++) {
            printf("%d%s", all[i][j], j < COLUMNS - 1 ? " " : "\n");
            wrong += all[i][j] != (i == 2 ? size - 1 : j % size);
        }
    if (rank == 0) remove("together.npy");
    MPI_Finalize();
    return wrong != 0;
}
