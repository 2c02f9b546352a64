/* ranks: 2 3 */
/* serve_fault.c: arrays that servers keep, while on each process in turn the n-th allocation or system call on names,
 * or on servers the n-th call to the store, fails or does less than it should: no process hangs, collective calls
 * return the same error and sentence everywhere, the same calls then succeed on the same handle, what is read is right,
 * and nothing leaks. For servers that do nothing else, and for some that work, too. So, too, opening, making and
 * resizing, after which nothing is left that was not there.
 */
#include "array/array.h"
#include "contained.h"
#include "sluice_serve.h"
#include "together.h"
#include <dirent.h>
#include <errno.h>

enum { ROWS = 12, COLS = 24 };

static contained tree;
static bool apart;
static int workers; /* ranks below do the work */
static int64_t fired;

/* ---- Faults ---- */

typedef enum where { MEMORY, SYSTEM, STORE } where;
typedef struct kind {
    const char *name;
    where where;
    sluice_fault_kind fault;
    int error;
} kind;
static const kind kinds[] = {{"allocation", MEMORY, SLUICE_FAULT_ERROR, ENOMEM},
                             {"system call", SYSTEM, SLUICE_FAULT_ERROR, EDQUOT},
                             {"full disk", STORE, SLUICE_FAULT_ERROR, ENOSPC},
                             {"error", STORE, SLUICE_FAULT_ERROR, EIO},
                             {"short", STORE, SLUICE_FAULT_SHORT, 0},
                             {"nothing", STORE, SLUICE_FAULT_ZERO, 0},
                             {"interrupt", STORE, SLUICE_FAULT_EINTR, 0}};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct fault {
    int who;
    const kind *kind;
    int64_t at; /* the n-th; 0: none */
} fault;

static sluice_store *shim;
static int64_t requests_before;

static void arm(const fault *f, sluice_array *a) {
    shim = NULL;
    if (a && a->serving->far.own) {
        must(sluice_store_open_fault(&shim, a->io.store), "shim");
        a->io.store = shim;
    }
    if (f->who != rank || !f->at) return;
    const kind *k = f->kind;
    requests_before = k->where == SYSTEM ? sluice_sys_calls() : sluice_mem_calls();
    if (k->where == MEMORY) sluice_mem_fail_nth(f->at);
    if (k->where == SYSTEM) sluice_sys_fault(f->at, k->error);
    if (k->where == STORE && shim) sluice_fault_set(shim, f->at, k->fault, k->error);
}

/* Whether it happened. The shim is still there if nothing was closed. */
static bool disarm(const fault *f, int64_t calls) {
    if (f->who != rank || !f->at) return false;
    const where w = f->kind->where;
    const int64_t requests = (w == SYSTEM ? sluice_sys_calls() : sluice_mem_calls()) - requests_before;
    sluice_mem_fail_nth(0);
    sluice_sys_fault(0, 0);
    return w == STORE ? calls >= f->at : requests >= f->at;
}

/* ---- Work ---- */

static unsigned char byte_of(int i, int j, int turn) { return (unsigned char)(1 + (i * 31 + j * 7 + turn * 50) % 250); }

/* All who work are here; no one asks anything of a server then. */
static void gather(void) {
    const int all = size;
    size = workers;
    meet();
    size = all;
}

static int answer(int err) {
    mine()->error = err;
    snprintf(mine()->text, sizeof mine()->text, "%s", err ? sluice_errmsg() : "");
    gather();
    compare_answers();
    gather();
    return err;
}

/* Columns dealt in turn, together. */
static int move_columns(sluice_array *a, bool write, int turn) {
    unsigned char buf[ROWS * COLS], *at = buf;
    const sluice_range range[2] = {{0, ROWS, 1}, {rank, (COLS - rank + workers - 1) / workers, workers}};
    memset(buf, 0, sizeof buf);
    for (int i = 0; i < ROWS && write; i++)
        for (int j = rank; j < COLS; j += workers) *at++ = byte_of(i, j, turn);
    const int err = answer(write ? sluice_write_all(a, range, buf) : sluice_read_all(a, range, buf));
    for (int i = 0; i < ROWS && !write && !err; i++)
        for (int j = rank; j < COLS; j += workers)
            if (*at++ != byte_of(i, j, turn)) {
                fail("read %d at %d, %d", at[-1], i, j);
                return 0;
            }
    return err;
}

/* Every second element of rows dealt in turn, each for itself; then sync. Returns whether all of it went well. */
static bool move_rows(sluice_array *a, bool write, int turn) {
    unsigned char buf[COLS / 2];
    int own = 0;
    for (int i = rank; i < ROWS && !own; i += workers) {
        const sluice_range range[2] = {{i, 1, 1}, {0, COLS / 2, 2}};
        for (int j = 0; j < COLS / 2; j++) buf[j] = write ? byte_of(i, 2 * j, turn) : 0;
        own = write ? sluice_write(a, range, buf) : sluice_read(a, range, buf);
        for (int j = 0; j < COLS / 2 && !write && !own; j++)
            if (buf[j] != byte_of(i, 2 * j, turn)) fail("row %d has %d at %d", i, buf[j], 2 * j);
    }
    const int synced = answer(sluice_sync(a));
    mine()->number[0] = own;
    gather();
    for (int r = 0; r < workers; r++) own |= (int)together->post[r].number[0];
    gather();
    return !own && !synced;
}

/* All kinds of calls; one that fails is made again. */
static void work(sluice_array *a) {
    for (int turn = 0; turn < 2; turn++) {
        if (move_columns(a, true, turn) && move_columns(a, true, turn)) fail("write again: %s", sluice_errmsg());
        if (move_columns(a, false, turn) && move_columns(a, false, turn)) fail("read again: %s", sluice_errmsg());
        /* What was lost by a late write is written again. A sync that failed is final. */
        if (!move_rows(a, true, turn) && !move_rows(a, true, turn) && !strstr(mine()->text, "sync"))
            fail("write rows again: %s", mine()->text);
        if (!move_rows(a, false, turn) && !move_rows(a, false, turn) && !strstr(mine()->text, "sync"))
            fail("read rows again: %s", mine()->text);
    }
}

/* ---- Cases ---- */

static const sluice_desc desc = {.format = SLUICE_RAW, .shape = {.ndims = 2, .elem = 1, .dim = {ROWS, COLS}}};

static sluice_options options(void) {
    return (sluice_options){.size = sizeof(sluice_options),
                            .memory = 256 << 10,
                            .layout = "hpf:CYCLIC(2),*@3x1",
                            .targets = "fast,slow",
                            .bindings = tree.bindings};
}

static sluice_servers servers(void) {
    return (sluice_servers){.size = sizeof(sluice_servers), .comm = MPI_COMM_WORLD, .n = apart ? 1 : size - 1};
}

/* Everyone's answer is the same. */
static int answer_all(int err) {
    mine()->error = err;
    snprintf(mine()->text, sizeof mine()->text, "%s", err ? sluice_errmsg() : "");
    meet();
    compare_answers();
    meet();
    return err;
}

static void name_case(const char *what, const fault *f) {
    snprintf(doing, sizeof doing, "%s, %s, %s %lld of rank %d", what, apart ? "apart" : "among them", f->kind->name,
             (long long)f->at, f->who);
    watch();
}

/* Whether the fault happened anywhere. */
static bool happened(bool here) {
    mine()->number[1] = here;
    meet();
    bool any = false;
    for (int r = 0; r < size; r++) any |= together->post[r].number[1] != 0;
    meet();
    fired += any;
    return any;
}

static bool case_work(const fault *f) {
    sluice_array *a;
    const sluice_options o = options();
    const sluice_servers s = servers();
    name_case("work", f);
    must(sluice_open_served_all(&a, &s, tree.path, SLUICE_WRITE, NULL, &o), "open");
    arm(f, a);
    if (rank < workers) work(a);
    const int64_t calls = shim ? sluice_fault_calls(shim) : 0; /* of a server apart: none yet */
    if (apart && rank >= workers) {
        answer_all(sluice_close(a));
        return happened(disarm(f, INT64_MAX)) && f->at < 60;
    }
    const bool here = disarm(f, calls);
    answer_all(sluice_close(a));
    return happened(here) && (!apart || f->at < 60);
}

static int files_in(const char *folder) {
    DIR *d = opendir(folder);
    int n = 0;
    for (const struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.' || e->d_name[1] == 's';
    if (d) closedir(d);
    return n;
}

/* What there is in all folders. */
static int files(void) {
    char folder[120];
    int n = files_in(tree.folder);
    for (int i = 0; i < 2; i++) {
        snprintf(folder, sizeof folder, "%s/%s", tree.folder, i ? "slow" : "fast");
        n += files_in(folder);
    }
    return n;
}

static bool case_create(const fault *f) {
    sluice_array *a = NULL;
    const sluice_options o = options();
    const sluice_servers s = servers();
    char other[130];
    snprintf(other, sizeof other, "%s/b.sluice", tree.folder);
    name_case("create", f);
    const int before = files();
    meet();
    arm(f, NULL);
    const int err = sluice_create_served_all(&a, &s, other, &desc, &o);
    const bool any = happened(disarm(f, 0));
    answer_all(err);
    if (!err) must(sluice_close(a), "close");
    if (err && err != -f->kind->error) fail("%s", sluice_errmsg());
    if (err && files() != before) fail("something is left");
    meet();
    if (!err && rank == 0 && sluice_container_delete(other, tree.bindings, NULL)) fail("cannot delete it");
    meet();
    return any;
}

/* Longer and shorter again. A failure in between may leave either extent, the same on all. */
static bool case_resize(const fault *f) {
    sluice_array *a;
    const sluice_options o = options();
    const sluice_servers s = servers();
    name_case("resize", f);
    must(sluice_open_served_all(&a, &s, tree.path, SLUICE_WRITE, NULL, &o), "open");
    arm(f, NULL);
    if (rank < workers) {
        for (int k = 0; k < 2; k++) {
            const int64_t extent = k ? ROWS : ROWS + 7;
            const int err = answer(sluice_resize(a, extent));
            if (err && answer(sluice_resize(a, extent))) fail("again: %s", sluice_errmsg());
            if (sluice_describe(a)->shape.dim[0] != extent) fail("another extent");
        }
        if (move_columns(a, true, 3) && move_columns(a, true, 3)) fail("write again: %s", sluice_errmsg());
        if (move_columns(a, false, 3) && move_columns(a, false, 3)) fail("read again: %s", sluice_errmsg());
    }
    answer_all(sluice_close(a));
    return happened(disarm(f, 0)) && f->at < 60;
}

/* Up to the last kind that may happen to it. */
static void all_faults(bool (*run)(const fault *f), where most, int stride) {
    for (const kind *k = kinds; k < kinds + KINDS && k->where <= most; k++)
        for (int who = 0; who < size; who++) {
            if (k->where == STORE && who < size - servers().n) continue;
            if (k->where == SYSTEM && most == STORE) continue; /* work has none */
            fault f = {who, k, 1};
            while (!together->failures && run(&f)) f.at += k->where == MEMORY ? stride : (stride + 2) / 3;
        }
}

int main(int argc, char **argv) {
    together_start(&argc, &argv, "serve_fault");
    contained_name(&tree, path);
    if (rank == 0 && !contained_make(&tree)) must(-errno, "mkdir");
    meet();
    for (int k = 0; k < 2; k++) {
        sluice_array *a;
        apart = k == 1;
        workers = apart ? size - 1 : size;
        const sluice_options o = options();
        const sluice_servers s = servers();
        must(sluice_create_served_all(&a, &s, tree.path, &desc, &o), "create");
        must(sluice_close(a), "close");
        const int64_t live = sluice_mem_live();
        const int many = getenv("SLUICE_FAULTS") ? 1 : 9 * (size - 1); /* opening takes a while */
        all_faults(case_work, STORE, many);
        all_faults(case_create, SYSTEM, many);
        all_faults(case_resize, MEMORY, many);
        if (sluice_mem_live() != live) fail("%lld bytes leaked", (long long)(sluice_mem_live() - live));
        meet();
        if (rank == 0 && sluice_container_delete(tree.path, tree.bindings, NULL)) fail("cannot delete it");
        meet();
    }
    if (rank == 0) printf("%lld faults\n", (long long)fired);
    if (fired < 100 && !together->failures) fail("only %lld faults", (long long)fired);
    meet();
    if (rank == 0) contained_remove(&tree);
    return together_end();
}
