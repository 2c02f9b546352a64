/* ranks: 1 2 3 */
/* collective_open.c: every allocation of making, opening and closing an array together fails once, on every process.
 * All return the same error and sentence, or all succeed; nothing leaks, and the next attempt succeeds. */
#include "collective_common.h"

enum { COLS = 64, MOST = 200 };

/* A number for the error and its sentence, which must be the same everywhere. */
static int64_t outcome(int err) {
    uint64_t h = (uint64_t)err;
    for (const char *c = err ? sluice_errmsg() : ""; *c; c++) h = h * 131 + (unsigned char)*c;
    return (int64_t)(h & INT32_MAX);
}

static int open_or_create(sluice_array **a, bool create) {
    const sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 1, 0, {size, COLS}}};
    const sluice_options o = {.size = sizeof o, .memory = 1 << 20, .replace = 1};
    return create ? sluice_create_all(a, MPI_COMM_WORLD, path, &d, &o)
                  : sluice_open_all(a, MPI_COMM_WORLD, path, SLUICE_WRITE, &d, &o);
}

/* Fails allocation n of process `who`; whether it was reached. */
static bool once(bool create, int who, int64_t n) {
    sluice_array *a = NULL;
    int64_t live = sluice_mem_live(), before = sluice_mem_calls();
    if (rank == who) sluice_mem_fail_nth(n);
    int err = open_or_create(&a, create);
    sluice_mem_fail_nth(0);
    int64_t mine[3] = {outcome(err), -outcome(err), rank == who && sluice_mem_calls() - before >= n ? 0 : 1}, all[3];
    MPI_Allreduce(mine, all, 3, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    CHECK(all[0] == -all[1], "%s, allocation %lld of rank %d: %s", create ? "create" : "open", (long long)n, who,
          err ? sluice_errmsg() : "success");
    CHECK(!err || err == -ENOMEM, "%s", sluice_errmsg());
    if (!err) CHECK(!sluice_close(a), "%s", sluice_errmsg());
    CHECK(sluice_mem_live() == live, "%lld bytes leak", (long long)(sluice_mem_live() - live));
    return all[2] == 0;
}

int main(int argc, char **argv) {
    int64_t faults = 0;
    begin(&argc, &argv, "collective_open");
    for (int create = 1; create >= 0; create--)
        for (int who = 0; who < size; who++) {
            int64_t n = 1;
            while (once(create, who, n) && n < MOST) n++;
            CHECK(n > 3 && n < MOST, "%lld allocations", (long long)n);
            faults += n - 1;
        }
    if (rank == 0) printf("%lld faults\n", (long long)faults);
    return finish();
}
