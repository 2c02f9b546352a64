/* ranks: 1 2 3 */
/* relayout_fault: another layout for a container in its place, with each allocation and each system call on names of
 * one process failing in turn. All processes return the same, the handle and the container have the array as it was or
 * as it was to be, every byte of it, and nothing leaks. */
#include "array/array.h"
#include "sluice_mpi.h"
#include "support/tree.h"
#include "support/unit.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 13, COLS = 17 };
static char path[64];
static int rank, size, runs;

static int value(int64_t i) { return (int)(i * 7 + 1); }

static int64_t agree(int64_t x, MPI_Op op) {
    int64_t all;
    MPI_Allreduce(&x, &all, 1, MPI_INT64_T, op, MPI_COMM_WORLD);
    return all;
}

static bool right(sluice_array *a) {
    int all[ROWS * COLS], wrong = 0;
    const bool c = sluice_describe(a)->shape.order == SLUICE_ROW_MAJOR;
    if (sluice_read(a, NULL, all)) return false;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLS; k++) wrong += all[c ? i * COLS + k : i + k * ROWS] != value(i * COLS + k);
    return wrong == 0;
}

static int entries(void) {
    int n = -2;
    DIR *d = opendir(path);
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

typedef enum kind { MEMORY, CALLS } kind;

/* One run; true if the fault came too late. */
static bool run(sluice_array *a, kind k, int victim, int64_t n) {
    static const sluice_order orders[] = {SLUICE_ROW_MAJOR, SLUICE_COLUMN_MAJOR};
    static const char *const layouts[] = {"tiles:5x4:3", "cyclic:11:4", "rows:2"};
    const sluice_relayout wish = {.layout = layouts[runs % 3], .order = &orders[runs % 2], .memory = 1 << 16};
    const int64_t generation = a->container->manifest->generation;
    const int64_t before = k == MEMORY ? sluice_mem_calls() : sluice_sys_calls();
    if (rank == victim && k == MEMORY) sluice_mem_fail_nth(n);
    if (rank == victim && k == CALLS) sluice_sys_fault(n, EDQUOT);
    const int error = sluice_relayout_all(a, &wish);
    sluice_mem_fail_nth(0);
    sluice_sys_fault(0, 0);
    const int64_t after = k == MEMORY ? sluice_mem_calls() : sluice_sys_calls();
    const bool late = agree(rank == victim && after - before < n, MPI_MAX);
    const char *what = k == MEMORY ? "allocation" : "call";
    CHECK(agree(error, MPI_MIN) == agree(error, MPI_MAX), "%s %" PRId64 " of %d: %d", what, n, victim, error);
    CHECK(!error || error == (k == MEMORY ? -ENOMEM : -EDQUOT), "%s %" PRId64 ": %s", what, n, sluice_errmsg());
    const sluice_manifest *m = a->container->manifest;
    CHECK(error || (m->generation > generation && !strcmp(m->layout->text, wish.layout)), "%s %" PRId64, what, n);
    CHECK(agree(m->generation, MPI_MIN) == agree(m->generation, MPI_MAX), "%s %" PRId64 ": generations", what, n);
    CHECK(right(a), "%s %" PRId64 " of %d: the handle, after %d: %s", what, n, victim, error, sluice_errmsg());
    if (k == MEMORY) CHECK(entries() == 2 + m->layout->n, "allocation %" PRId64 ": %d files", n, entries());
    sluice_array *fresh = NULL;
    CHECK(!sluice_open(&fresh, path, SLUICE_READ, NULL, NULL) && right(fresh), "%s %" PRId64 ": %s", what, n,
          sluice_errmsg());
    sluice_close(fresh);
    MPI_Barrier(MPI_COMM_WORLD);
    runs++;
    return late;
}

int main(int argc, char **argv) {
    const sluice_desc d = {.shape = {.ndims = 2, .dim = {ROWS, COLS}}, .type = "int32"};
    const sluice_options o = {.size = sizeof o, .layout = "cyclic:11:4", .memory = 1 << 16};
    sluice_array *a = NULL;
    int all[ROWS * COLS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "relayout_fault.%d.sluice", size);
    if (rank == 0) remove_tree(path);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROWS * COLS; i++) all[i] = value(i);
    CHECK(!sluice_create_all(&a, MPI_COMM_WORLD, path, &d, &o) && !sluice_write_all(a, NULL, all), "%s",
          sluice_errmsg());
    const int64_t step = size == 1 ? 1 : 3;
    for (kind k = MEMORY; a && k <= CALLS; k++)
        for (int victim = 0; victim < size; victim++)
            for (int64_t n = 1; !agree(failures, MPI_MAX) && !run(a, k, victim, n); n += step) {
            }
    CHECK(!sluice_close(a), "%s", sluice_errmsg());
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) CHECK(!sluice_container_delete(path, NULL, NULL));
    if (rank == 0) printf("%d runs\n", runs);
    const int status = (int)agree(verdict(), MPI_MAX);
    MPI_Finalize();
    return status;
}
