/* ranks: 1 2 3 */
/* collective_open.c: every allocation of making, opening and closing an array together fails once, on every process,
 * and, where it lies in a container, every system call on names. All return the same error and sentence, or all
 * succeed; nothing leaks, and the next attempt succeeds. */
#include "collective_common.h"
#include "contained.h"

enum { COLS = 64, MOST = 300 };

static bool contain;
static contained tree;

/* A number for the error and its sentence, which must be the same everywhere. */
static int64_t outcome(int err) {
    uint64_t h = (uint64_t)err;
    for (const char *c = err ? sluice_errmsg() : ""; *c; c++) h = h * 131 + (unsigned char)*c;
    return (int64_t)(h & INT32_MAX);
}

static int open_or_create(sluice_array **a, bool create) {
    const sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 1, 0, {size, COLS}}};
    sluice_options o = {.size = sizeof o, .memory = 1 << 20, .replace = 1};
    if (contain) o.layout = "columns:2", o.targets = ".,fast", o.bindings = tree.bindings;
    return create ? sluice_create_all(a, MPI_COMM_WORLD, contain ? tree.path : path, &d, &o)
                  : sluice_open_all(a, MPI_COMM_WORLD, contain ? tree.path : path, SLUICE_WRITE, &d, &o);
}

/* All have got the same. */
static void compare(int err, const char *what, int who, int64_t n) {
    int64_t mine[2] = {outcome(err), -outcome(err)}, all[2];
    MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    CHECK(all[0] == -all[1], "%s, %lld of rank %d: %s", what, (long long)n, who, err ? sluice_errmsg() : "success");
}

/* Without the container for one to be made, without the lock of one to be opened. */
static void clear(bool create) {
    char lock[200];
    snprintf(lock, sizeof lock, "%s/lock", tree.path);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && create) remove_tree(tree.path);
    if (rank == 0) unlink(lock);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Fails allocation n of process `who`, or system call n; whether it was reached. */
static bool once(bool create, bool system, int who, int64_t n) {
    const char *what = system   ? create ? "create, system call" : "open, system call"
                       : create ? "create, allocation"
                                : "open, allocation";
    const int error = system ? -EDQUOT : -ENOMEM;
    sluice_array *a = NULL;
    if (contain) clear(create);
    int64_t live = sluice_mem_live(), before = system ? sluice_sys_calls() : sluice_mem_calls();
    if (rank == who && system) sluice_sys_fault(n, -error);
    if (rank == who && !system) sluice_mem_fail_nth(n);
    int err = open_or_create(&a, create);
    compare(err, what, who, n);
    CHECK(!err || err == error, "%s", sluice_errmsg());
    CHECK(!err || strstr(sluice_errmsg(), contain ? tree.path : path), "%s", sluice_errmsg());
    if (!err) {
        err = sluice_close(a);
        compare(err, "close", who, n);
        CHECK(!err || (system && err == error), "%s", sluice_errmsg());
    }
    int64_t reached = rank == who && (system ? sluice_sys_calls() : sluice_mem_calls()) - before >= n;
    sluice_mem_fail_nth(0);
    sluice_sys_fault(0, 0);
    CHECK(sluice_mem_live() == live, "%s %lld of rank %d: %lld bytes leak", what, (long long)n, who,
          (long long)(sluice_mem_live() - live));
    MPI_Allreduce(MPI_IN_PLACE, &reached, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    return reached;
}

int main(int argc, char **argv) {
    int64_t faults = 0;
    sluice_array *a;
    begin(&argc, &argv, "collective_open");
    contained_name(&tree, path);
    if (rank == 0) CHECK(contained_make(&tree));
    for (int kind = 0; kind < 3; kind++) {
        const bool system = kind == 2;
        contain = kind > 0;
        for (int create = 1; create >= 0; create--)
            for (int who = 0; who < size; who++) {
                int64_t n = 1;
                if (contain && !create) {
                    clear(true);
                    CHECK(!open_or_create(&a, true) && !sluice_close(a), "%s", sluice_errmsg());
                }
                while (once(create, system, who, n) && n < MOST) n++;
                CHECK(n > 3 && n < MOST, "%lld allocations or system calls", (long long)n);
                faults += n - 1;
            }
    }
    clear(true);
    if (rank == 0) contained_remove(&tree);
    if (rank == 0) printf("%lld faults\n", (long long)faults);
    return finish();
}
