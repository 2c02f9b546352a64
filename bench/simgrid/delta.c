/* delta.c: Table 7 of the extended two-phase paper on a simulated machine like the one it was measured on.
 *
 *     smpirun ... delta.so TABLES     TABLES: paper_tables.json; tools/delta.sh runs it for all numbers of processes
 *
 * SimGrid simulates the processes and the messages between them. The file system is simulated here: a tap on the store
 * of each process charges every request the time that it takes, and sleeps until then in simulated time:
 *
 *     the caller    a call, and the bytes over its link
 *     I/O nodes     those whose blocks are named: one request after another, a time for each and for its bytes
 *     disks         two per node: access + bytes / rate; none for a block that the node still holds; a disk reads
 * ahead, so that the next block is there or on its way
 *
 * A write returns when the nodes have taken it and have no more than a little left to do; a block that they hold is
 * written later, at no one's cost. The array is a sparse file of
 * zeros; what the library does with it, it does. Computing and copying take no simulated time.
 */
#include "array/array.h"
#include "sluice_mpi.h"
#include <jansson.h>
#include <smpi/smpi.h>
#include <smpi/smpi_helpers_internal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ELEM = 4, NODES = 32, DISKS = 64, STRIPE = 4096, CACHE = 512 }; /* cache: blocks per disk */

/* Seconds, and bytes per second. Chosen so that the direct method comes near to the paper's times; see docs/DELTA.md.
 */
static const double CALL = 0.7e-3, LINK = 8e6;               /* of a process */
static const double SERVE = 1.8e-3, COPY = 0.6e6, LATE = .1; /* of an I/O node; late: what it may put off */
static const double ACCESS = 15e-3, RATE = 1.5e6;            /* of a disk */

typedef struct disk {
    double free;  /* when it is done with all that it was asked for */
    int64_t last; /* the block that was last read, plus 1 */
    int64_t held[CACHE];
} disk;

typedef struct machine {
    disk disk[DISKS];
    double node[NODES]; /* when it is done */
} machine;

static double later(double a, double b) { return a > b ? a : b; }

/* When a disk has moved a block that it was asked for at time t. */
static double turn_disk(machine *m, int64_t block, double t) {
    disk *d = &m->disk[block % DISKS];
    int64_t *held = &d->held[block / DISKS % CACHE];
    bool known = *held == block + 1, next = block + 1 == d->last + DISKS;
    *held = block + 1;
    if (known) return t;
    d->free = next ? d->free + STRIPE / RATE : later(d->free, t) + ACCESS + STRIPE / RATE;
    d->last = block + 1;
    return later(d->free, t);
}

static void charge(void *arg, const char *call, int64_t off, int64_t len, int64_t result) {
    machine *m = arg;
    bool write = !strcmp(call, "write"), asked[NODES] = {false};
    (void)result;
    if (!write && strcmp(call, "read")) return;
    double now = MPI_Wtime(), end = now + CALL + (double)len / LINK;
    for (int64_t at = off; at < off + len;) {
        int64_t block = at / STRIPE, upto = sluice_min((block + 1) * STRIPE, off + len);
        double *node = &m->node[block % NODES];
        *node = later(*node, now + CALL / 2) + (asked[block % NODES] ? 0 : SERVE) + (double)(upto - at) / COPY;
        asked[block % NODES] = true;
        double done = later(*node, turn_disk(m, block, *node)) + CALL / 2;
        end = later(end, write ? done - LATE : done);
        at = upto;
    }
    smpi_usleep((useconds_t)((end - now) * 1e6));
}

/* ---- The table ------------------------------------------------------------------------------------------------ */

static void must(int err) {
    if (!err) return;
    printf("%s\n", sluice_errmsg());
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* [l, u, s, shift], 1-based and inclusive, of process p; s = "P": every P-th, from the p-th on. */
static sluice_range range_of(const json_t *r, int64_t p, int64_t procs, int64_t extent) {
    int64_t x[4];
    for (size_t i = 0; i < 4; i++) x[i] = json_integer_value(json_array_get(r, i));
    if (json_is_string(json_array_get(r, 2))) x[2] = procs, x[0] += p;
    int64_t start = x[0] - 1 + x[3] * p, count = (x[1] - x[0]) / x[2] + 1;
    if (start + (count - 1) * x[2] >= extent) count = (extent - 1 - start) / x[2] + 1;
    return (sluice_range){start, count, x[2]};
}

typedef struct run {
    const char *path;
    machine *m;
    int rank, size;
    bool write, direct;
} run;

/* Seconds that the slowest process took. */
static double measure(const run *x, const json_t *one) {
    int64_t n = json_integer_value(json_object_get(one, "N"));
    const json_t *pattern = json_object_get(one, "pattern");
    sluice_range r[2];
    for (size_t d = 0; d < 2; d++) r[d] = range_of(json_array_get(pattern, d), x->rank, x->size, n);
    sluice_desc desc = {.shape = {2, SLUICE_COLUMN_MAJOR, ELEM, 0, {n, n}}};
    sluice_options o = {.size = sizeof o, .store = SLUICE_STORE_POSIX, .no_map = 1, .exclusive = 1};
    o.together = (sluice_together){.division = SLUICE_DIVIDE_DYNAMIC, .no_pipeline = 1};
    o.together.way = x->direct ? SLUICE_WAY_OWN : SLUICE_WAY_TWO_PHASE;
    o.method = x->direct ? SLUICE_DIRECT : SLUICE_SIEVE;
    sluice_array *a;
    must(sluice_open_all(&a, MPI_COMM_WORLD, x->path, SLUICE_WRITE, &desc, &o));
    sluice_store *tap;
    must(sluice_store_open_tap(&tap, a->io.store, charge, x->m));
    a->io.store = tap;
    a->io.store->facts.stripe = STRIPE;
    void *buf = calloc((size_t)sluice_max(r[0].count * r[1].count, 1), ELEM);
    if (!buf) MPI_Abort(MPI_COMM_WORLD, 1);
    if (x->rank == 0) memset(x->m, 0, sizeof *x->m);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    must(x->write ? sluice_write_all(a, r, buf) : sluice_read_all(a, r, buf));
    double took = MPI_Wtime() - start, most;
    MPI_Allreduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    must(sluice_close(a));
    free(buf);
    return most;
}

static machine *share_machine(int rank) {
    int64_t address = rank == 0 ? (int64_t)(intptr_t)calloc(1, sizeof(machine)) : 0;
    MPI_Bcast(&address, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return (machine *)(intptr_t)address;
}

int main(int argc, char **argv) {
    run x;
    char path[64], procs[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &x.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &x.size);
    x.m = share_machine(x.rank);
    snprintf(path, sizeof path, "delta.%d", (int)getpid());
    snprintf(procs, sizeof procs, "%d", x.size);
    x.path = path;
    json_t *tables = argc > 1 ? json_load_file(argv[1], 0, NULL) : NULL;
    if (!tables || !x.m) MPI_Abort(MPI_COMM_WORLD, 2);
    FILE *f = x.rank == 0 ? fopen(path, "w") : NULL;
    if (x.rank == 0 && (!f || ftruncate(fileno(f), (off_t)4096 * 4096 * ELEM))) MPI_Abort(MPI_COMM_WORLD, 1);
    if (f) fclose(f);
    MPI_Barrier(MPI_COMM_WORLD);
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(tables, "cases"), i, one) {
        const json_t *paper = json_object_get(json_object_get(one, "seconds"), procs);
        if (strcmp(json_string_value(json_object_get(one, "table")), "7") || !paper) continue;
        const char *op = json_string_value(json_object_get(one, "op"));
        x.write = !strcmp(op, "write");
        x.direct = true;
        double direct = measure(&x, one);
        x.direct = false;
        double two_phase = measure(&x, one);
        if (x.rank == 0)
            printf("%-5s %-3s %4d %9.2f %9.2f %9.2f %9.2f\n", op, json_string_value(json_object_get(one, "case")),
                   x.size, json_real_value(json_object_get(paper, "direct")), direct,
                   json_real_value(json_object_get(paper, "dynamic")), two_phase);
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (x.rank == 0) {
        unlink(path);
        free(x.m);
    }
    json_decref(tables);
    MPI_Finalize();
    return 0;
}
