/* ranks: 1 2 3 4 7 */
/* checkpoint.c: a checkpoint that does not remember who wrote it. One call saves the state of half of the processes, in
 * blocks of rows and with columns dealt in turn; one call brings it back to all of them, dealt out in another way. */
#include <sluice_mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1000, COLUMNS = 1500 };

static int wrong;

static void must(int error) {
    if (!error) return;
    fprintf(stderr, "checkpoint: %s\n", sluice_errmsg()); /* the same on all processes */
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What a simulation would have computed for row i and column j. */
static double state(int64_t i, int64_t j) { return (double)i + (double)j / 4096; }

/* Goes through the elements of this process and sets them, or checks them. */
static void visit(const sluice_dist *dist, const int *grid, int rank, double *t, int check) {
    int at[] = {rank / grid[1], rank % grid[1]}, p;
    int64_t width = sluice_dist_count(&dist[1], COLUMNS, grid[1], at[1]), row, column;
    for (int64_t i = 0; i < ROWS; i++) {
        if (sluice_dist_owner(&dist[0], ROWS, grid[0], i, &p, &row) || p != at[0]) continue;
        for (int64_t j = 0; j < COLUMNS; j++) {
            if (sluice_dist_owner(&dist[1], COLUMNS, grid[1], j, &p, &column) || p != at[1]) continue;
            double *x = &t[row * width + column];
            if (!check) *x = state(i, j);
            if (*x != state(i, j)) wrong++;
        }
    }
}

static void run(MPI_Comm comm, const char *path, int restart) {
    const sluice_dist saved[] = {{.kind = SLUICE_DIST_BLOCK}, {.kind = SLUICE_DIST_CYCLIC}};
    const sluice_dist wanted[] = {{.kind = SLUICE_DIST_CYCLIC, .block = 16}, {.kind = SLUICE_DIST_BLOCK}};
    const sluice_desc whole = {.format = SLUICE_NPY, .shape = {.ndims = 2, .dim = {ROWS, COLUMNS}}, .type = "float64"};
    int size, rank, grid[2] = {0, 0};
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    MPI_Dims_create(size, 2, grid);
    double *mine = malloc(ROWS * COLUMNS * sizeof *mine); /* at most */
    sluice_array *a;
    if (!mine) MPI_Abort(MPI_COMM_WORLD, 1);
    if (restart) {
        must(sluice_open_all(&a, comm, path, SLUICE_READ, NULL, NULL));
        must(sluice_read_dist_all(a, wanted, grid, mine));
        visit(wanted, grid, rank, mine, 1);
    } else {
        visit(saved, grid, rank, mine, 0);
        must(sluice_create_all(&a, comm, path, &whole, &(sluice_options){.replace = 1}));
        must(sluice_write_dist_all(a, saved, grid, mine));
        must(sluice_sync(a)); /* it survives a crash */
    }
    must(sluice_close(a));
    free(mine);
    if (rank == 0) printf("%s by %d processes, %d x %d\n", restart ? "restarted" : "saved", size, grid[0], grid[1]);
}

int main(int argc, char **argv) {
    int rank, size;
    char path[40];
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "checkpoint-%d.npy", size);
    MPI_Comm_split(MPI_COMM_WORLD, rank < (size + 1) / 2, rank, &half);
    if (rank < (size + 1) / 2) run(half, path, 0);
    MPI_Comm_free(&half);
    MPI_Barrier(MPI_COMM_WORLD); /* the file is there */
    run(MPI_COMM_WORLD, path, 1);
    if (rank == 0) remove(path);
    if (wrong) fprintf(stderr, "checkpoint: %d elements are wrong on rank %d\n", wrong, rank);
    MPI_Finalize();
    return wrong != 0;
}
