/* ranks: 4 */
/* servers.c: two processes compute, two keep the array, each on a disk that no one else sees. The first two write rows,
 * each for itself, and go on while the servers write behind; what became of it says sync. Then all read columns at
 * once. An array that cannot be made says so everywhere. */
#include <sluice_serve.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { ROWS = 6, COLUMNS = 8, SERVERS = 2 };

static void must(int error) {
    if (!error) return;
    fprintf(stderr, "servers: %s\n", sluice_errmsg());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int value(int64_t i, int64_t j) { return (int)(100 * i + j); }

/* What a process that computes does with the array; returns how many elements are wrong. */
static int compute(sluice_array *a, int rank, int workers) {
    int row[COLUMNS], column[ROWS][COLUMNS], wrong = 0;
    for (int64_t i = rank; i < ROWS; i += workers) {
        for (int64_t j = 0; j < COLUMNS; j++) row[j] = value(i, j);
        must(sluice_write(a, (sluice_range[]){{i, 1, 1}, {0, COLUMNS, 1}}, row)); /* a server has it now */
    }
    must(sluice_sync(a)); /* and now it is on disk; an error of any of those writes would be here, on all */
    const int64_t width = COLUMNS / workers;
    must(sluice_read_all(a, (sluice_range[]){{0, ROWS, 1}, {rank * width, width, 1}}, column));
    const int *at = &column[0][0];
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < width; j++) wrong += *at++ != value(i, rank * width + j);
    return wrong;
}

int main(int argc, char **argv) {
    int rank, size, wrong = 0;
    sluice_array *a;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const sluice_servers servers = {.size = sizeof servers, .comm = MPI_COMM_WORLD, .n = SERVERS}; /* the last ones */
    const sluice_desc field = {.shape = {.ndims = 2, .dim = {ROWS, COLUMNS}}, .type = "int32"};
    const int me = rank - (size - SERVERS); /* which server, if one */
    if (me >= 0) mkdir(me ? "servers-b" : "servers-a", 0777);
    sluice_options o = {.size = sizeof o, .layout = "rows:4", .targets = "a,b"};
    if (me >= 0) o.bindings = me ? "b=servers-b" : "a=servers-a"; /* target number t is at server t modulo n */

    must(sluice_create_served_all(&a, &servers, "servers.sluice", &field, &o));
    if (me < 0) wrong = compute(a, rank, size - SERVERS);
    must(sluice_close(a)); /* on a server: serves until the others have closed */

    int again = sluice_create_served_all(&a, &servers, "servers.sluice", &field, &o);
    if (again && rank == 0) printf("once more: %s\n", sluice_errmsg());
    wrong += !again;
    if (rank == 0) printf("%d rows, %d wrong\n", ROWS, wrong);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) wrong += system("exec rm -r servers.sluice servers-a servers-b") != 0;
    MPI_Finalize();
    return wrong != 0;
}
