/* killed.c: what tests/contained_kill.sh runs.
 *
 *     killed act PATH VICTIM N BLOCK under mpiexec: make, close, resize or lay out anew a container together; process
 *                                    VICTIM, or each if it is -1, ends at its N-th system call on names. "over" if
 *                                    none did. A new one has checksums of BLOCK bytes, if that is not 0.
 *     killed look PATH               what is there now: none, or its extent, if all its bytes are right
 */
#include "array/array.h"
#include "sluice_mpi.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROWS = 9, MORE = 14, COLS = 64 };

static int value(int64_t row, int64_t col) { return (int)(row * 1000 + col + 1); }

static const sluice_desc desc = {.shape = {.ndims = 2, .dim = {ROWS, COLS}}, .type = "int32"};

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, sluice_errmsg());
    return 1;
}

static int act(const char *call, const char *path, int victim, int64_t n, int64_t block) {
    const sluice_options o = {.size = sizeof o, .layout = "cyclic:50:3", .checksum = block};
    sluice_array *a = NULL;
    int rank, size, row[COLS];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const bool make = !strcmp(call, "create"), here = victim < 0 || victim == rank;
    if (make && here) sluice_sys_fault(n, 0);
    const int64_t before = sluice_sys_calls();
    int err = make ? sluice_create_all(&a, MPI_COMM_WORLD, path, &desc, &o)
                   : sluice_open_all(&a, MPI_COMM_WORLD, path, SLUICE_WRITE, NULL, &o);
    if (err) return fail(call);
    for (int64_t i = 0; i < ROWS && !make; i++) {
        for (int k = 0; k < COLS; k++) row[k] = value(i, k);
        const bool mine = i % size == rank;
        if (sluice_write_all(a, (sluice_range[]){{i, mine, 1}, {0, mine ? COLS : 0, 1}}, row)) return fail("write");
    }
    const int64_t opened = make ? before : sluice_sys_calls();
    if (!make && here) sluice_sys_fault(n, 0);
    if (!strcmp(call, "resize") && sluice_resize(a, MORE)) return fail(call);
    if (!strcmp(call, "shrink") && sluice_resize(a, ROWS - 4)) return fail(call);
    if (!strcmp(call, "sync") && sluice_sync(a)) return fail(call);
    const sluice_relayout tiles = {.layout = "tiles:4x30:4", .memory = 1 << 20};
    if (!strcmp(call, "relayout") && sluice_relayout_all(a, &tiles)) return fail(call);
    if (sluice_close(a)) return fail("close");
    if (here && sluice_sys_calls() - opened < n) printf("over\n");
    return 0;
}

static int look(const char *path) {
    sluice_array *a;
    struct stat st;
    if (stat(path, &st)) {
        printf("none\n");
        return 0;
    }
    if (sluice_open(&a, path, SLUICE_READ, NULL, NULL)) return fail("open");
    const int64_t rows = sluice_describe(a)->shape.dim[0];
    int *all = calloc((size_t)(rows * COLS), sizeof *all), zeros = 0, values = 0, wrong = 0;
    if (!all || sluice_read(a, NULL, all)) return fail("read");
    for (int64_t i = 0; i < rows * COLS; i++) {
        const bool new = i >= (int64_t)ROWS *COLS;
        zeros += !new && !all[i];
        values += !new &&all[i] == value(i / COLS, i % COLS);
        wrong += new &&all[i];
    }
    const int old = (int)sluice_min(rows, ROWS) * COLS;
    printf(wrong || (zeros != old && values != old) ? "mixed\n" : "%s %lld\n", zeros == old ? "zeros" : "values",
           (long long)rows);
    free(all);
    sluice_close(a);
    /* The lock of a writer that was killed is said to be stale, and can be removed. */
    char lock[4096];
    snprintf(lock, sizeof lock, "%s/lock", path);
    if (!stat(lock, &st)) {
        const int err = sluice_open(&a, path, SLUICE_WRITE, NULL, NULL);
        if (err != -EOWNERDEAD && err != -EBUSY) return fail("a lock that is left");
        if (remove(lock)) return fail("remove the lock");
    }
    if (sluice_open(&a, path, SLUICE_WRITE, NULL, NULL)) return fail("open to write");
    if (sluice_close(a)) return fail("close");
    /* Whoever closes it gives what the one before had written its checksums. */
    if (sluice_open(&a, path, SLUICE_READ, NULL, NULL)) return fail("open again");
    all = calloc((size_t)(rows * COLS), sizeof *all);
    for (int i = 0; i < a->layout->n && a->container->manifest->checksum; i++) {
        int64_t off = a->layout->base[i], room;
        sluice_sums_states state;
        const int err = sluice_sums_state(sluice_store_holder(a->io.store, &off, &room), &state, NULL);
        if (err || state != SLUICE_SUMS_SEALED) printf("not sealed\n");
    }
    if (!all || sluice_read(a, NULL, all)) return fail("read again");
    free(all);
    return sluice_close(a) ? fail("close") : 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "look")) return look(argv[2]);
    if (argc != 6) return 2;
    MPI_Init(&argc, &argv);
    const int status = act(argv[1], argv[2], atoi(argv[3]), atoll(argv[4]), atoll(argv[5]));
    MPI_Finalize();
    return status;
}
