/* ranks: 1 2 3 4 */
/* redistribute_fault.c: every call to the files of either side and every allocation of a redistribution is made to fail
 * once, on each rank in turn. All ranks return the same error and sentence, none hangs, the source is as it was,
 * nothing leaks, and the same handles then copy it all. */
#include "array/array.h"
#include "sluice_mpi.h"
#include "together.h"
#include <errno.h>
#include <string.h>

enum { ROWS = 90, COLS = 70, SIZE = ROWS * COLS * 4, SOURCE = 0, TARGET, MEMORY };
static const char *const kind[] = {"call to the source", "call to the destination", "allocation"};

static char name[2][80];
static sluice_array *array[2];
static sluice_store *shim[2];
static int32_t data[ROWS * COLS];

static int32_t value(int64_t i) { return (int32_t)(i * 2654435761u) | 1; }

/* Both arrays, with shims before their stores. */
static void start(const char *from, const char *to, sluice_order order) {
    for (int i = 0; i < 2; i++) {
        const sluice_desc d = {.shape = {2, i ? order : SLUICE_ROW_MAJOR, 0, 0, {ROWS, COLS}}, .type = "int32"};
        const sluice_options o = {.size = sizeof o, .layout = i ? to : from, .no_map = 1};
        must(sluice_create_all(&array[i], MPI_COMM_WORLD, name[i], &d, &o), "create");
    }
    for (int64_t i = 0; i < ROWS * COLS; i++) data[i] = value(i);
    if (rank == 0) must(sluice_write(array[SOURCE], NULL, data), "fill");
    for (int i = 0; i < 2; i++) {
        must(sluice_store_open_fault(&shim[i], array[i]->io.store), "shim");
        array[i]->io.store = shim[i];
    }
    meet();
}

static void finish(void) {
    for (int i = 0; i < 2; i++) must(sluice_close(array[i]), "close");
    for (int i = 0; i < 2 && rank == 0; i++) must(sluice_container_delete(name[i], NULL, NULL), "delete");
    meet();
}

/* Every element of an array is right. */
static void check(int which) {
    const bool rows = array[which]->desc.shape.order == SLUICE_ROW_MAJOR;
    memset(data, 0, sizeof data);
    must(sluice_read(array[which], NULL, data), "read");
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = 0; k < COLS; k++)
            if (data[rows ? i * COLS + k : k * ROWS + i] != value(i * COLS + k)) {
                fail("%s is wrong at %lld, %lld", which ? "the destination" : "the source", (long long)i, (long long)k);
                return;
            }
}

/* One redistribution in which the n-th call of this kind fails on rank `who`; whether it was reached. */
static bool once(int what, int who, int64_t n) {
    const bool here = rank == who;
    const int error = what == MEMORY ? ENOMEM : what == SOURCE ? EIO : ENOSPC;
    const int64_t live = sluice_mem_live(), allocations = sluice_mem_calls();
    const int64_t calls = what == MEMORY ? 0 : sluice_fault_calls(shim[what]);
    snprintf(doing, sizeof doing, "%s %lld on rank %d", kind[what], (long long)n, who);
    watch();
    meet();
    if (here && what == MEMORY) sluice_mem_fail_nth(n);
    if (here && what != MEMORY) sluice_fault_set(shim[what], n, SLUICE_FAULT_ERROR, error);
    mine()->error = sluice_redistribute_all(array[TARGET], array[SOURCE], &(sluice_copy_options){.memory = 64 << 10});
    snprintf(mine()->text, sizeof mine()->text, "%s", sluice_errmsg());
    sluice_mem_fail_nth(0);
    const int64_t made = what == MEMORY ? sluice_mem_calls() - allocations : sluice_fault_calls(shim[what]) - calls;
    if (what != MEMORY) sluice_fault_set(shim[what], 0, SLUICE_FAULT_ERROR, 0);
    mine()->number[0] = made >= n;
    meet();
    const bool reached = together->post[who].number[0];
    compare_answers();
    if (reached && mine()->error != -error) fail("error %d: %s", mine()->error, mine()->text);
    if (!reached && mine()->error) fail("error %d without a fault: %s", mine()->error, mine()->text);
    if (mine()->error && size > 1 && !strstr(mine()->text, "rank ")) fail("no rank in '%s'", mine()->text);
    for (int i = 0; i < 2; i++) sluice_io_limit(&array[i]->io, 0); /* buffers of handles go */
    for (int i = 0; i < 2; i++) sluice_io_limit(&array[i]->io, 64 << 20);
    if (sluice_mem_live() > live) fail("%lld bytes leak", (long long)(sluice_mem_live() - live));
    check(SOURCE);
    meet();
    return reached;
}

static void faults(const char *from, const char *to, sluice_order order) {
    strcpy(doing, "starting");
    start(from, to, order);
    must(sluice_redistribute_all(array[TARGET], array[SOURCE], NULL), "redistribute");
    int64_t reached = 0;
    for (int what = 0; what < 3; what++)
        for (int who = 0; who < size; who++)
            for (int64_t n = 1; once(what, who, n) && !together->failures; n += n < 12 ? 1 : n / 4) reached++;
    must(sluice_redistribute_all(array[TARGET], array[SOURCE], NULL), "redistribute");
    meet();
    check(TARGET);
    if (rank == 0) printf("%s to %s: %lld faults\n", from, to, (long long)reached);
    if (reached < 20) fail("too few faults to be of use");
    finish();
}

int main(int argc, char **argv) {
    together_start(&argc, &argv, "redistribute_fault");
    for (int i = 0; i < 2; i++) snprintf(name[i], sizeof name[i], "%s.%d.sluice", path, i);
    faults("tiles:20x9:3", "columns:4", SLUICE_ROW_MAJOR);
    faults("rows:2", "striped:1000:3", SLUICE_COLUMN_MAJOR);
    return together_end();
}
