/* ranks.c: the command under mpiexec: several processes that do one thing.
 *
 * MPI is started only if the environment says that there are several of us; a program that starts `sluice` from within
 * an MPI program of its own would otherwise be joined by it. All processes read the same arguments and make the same
 * collective calls, so that what is wrong is wrong for all of them, and the first says it. What must happen once, like
 * giving a file its name, the first process does while the others wait for the outcome.
 */
#include "sluice_mpi.h"
#include "tool/tool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct {
    int rank, size;
    bool leading; /* the others wait */
} crew = {0, 1, false};

/* As mpiexec of Open MPI and of MPICH and its relatives tells those that it starts. */
static bool several(void) {
    static const char *const name[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const char *text = getenv(name[i]);
        if (text && atoi(text) > 1) return true;
    }
    return false;
}

void ranks_start(void) {
    if (!several()) return;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &crew.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &crew.size);
    if (crew.size > 1) return;
    MPI_Finalize();
    report_usage("started by the mpiexec of another MPI than this command was built with");
}

int ranks_size(void) { return crew.size; }
int ranks_rank(void) { return crew.rank; }
bool ranks_first(void) { return crew.rank == 0; }

bool ranks_lead(void) {
    int status = 0;
    crew.leading = crew.rank == 0;
    if (crew.rank) MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (status) ranks_end(status);
    return crew.leading;
}

void ranks_led(void) {
    int status = 0;
    crew.leading = false;
    if (crew.size > 1) MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

void *ranks_alloc(void *p, size_t n, size_t size) {
    if (!p) p = calloc(n, size);
    int here = p != NULL, all = here;
    if (crew.size > 1) MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all) report_failure("%s", sluice_strerror(-ENOMEM));
    return p;
}

void ranks_share(void *p, size_t n) {
    if (crew.size > 1) MPI_Bcast(p, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD);
}

int64_t ranks_sum(int64_t n) {
    int64_t sum = n;
    if (crew.size > 1) MPI_Allreduce(&n, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

void ranks_extremes(int64_t *least, int64_t *most, int n) {
    enum { MANY = 8 };
    int64_t mine[2 * MANY] = {0}, all[2 * MANY];
    for (int i = 0; i < n; i++) mine[i] = least[i], mine[n + i] = -least[i];
    memcpy(all, mine, sizeof all);
    if (crew.size > 1) MPI_Allreduce(mine, all, 2 * n, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) least[i] = all[i], most[i] = -all[n + i];
}

void ranks_add(double *value, int n) {
    if (crew.size > 1) MPI_Allreduce(MPI_IN_PLACE, value, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

void ranks_blame(int error, const sluice_reason *why) {
    int who = error ? crew.rank : crew.size, first = who;
    char text[512] = "";
    if (crew.size > 1) MPI_Allreduce(&who, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == crew.size) return;
    if (error && crew.size > 1) snprintf(text, sizeof text, "process %d: %s", crew.rank, why->text);
    if (error && crew.size == 1) snprintf(text, sizeof text, "%s", why->text);
    if (crew.size > 1) MPI_Bcast(text, (int)sizeof text, MPI_CHAR, first, MPI_COMM_WORLD);
    report_failure("%s", text);
}

void ranks_end(int status) {
    if (crew.size > 1) {
        if (crew.leading) MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Finalize();
    }
    exit(status);
}

int ranks_open(sluice_array **a, const char *path, int mode, const sluice_desc *given, const sluice_options *o) {
    if (crew.size > 1) return sluice_open_all(a, MPI_COMM_WORLD, path, mode, given, o);
    return sluice_open(a, path, mode, given, o);
}

int ranks_create(sluice_array **a, const char *path, const sluice_desc *d, const sluice_options *o) {
    if (crew.size > 1) return sluice_create_all(a, MPI_COMM_WORLD, path, d, o);
    return sluice_create(a, path, d, o);
}
