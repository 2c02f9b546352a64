/* ranks: 1 */
/* placed_fault.c: on an array whose bytes lie in several copies, every call to each subfile, every system call on names
 * and every allocation of a write fails once. Then bytes that nobody named are as they were, named ones old or new, and
 * once the container has been opened to write again all copies are equal. */
#include "array/array.h"
#include "contained.h"
#include "placed_oracle.h"
#include <errno.h>

enum { BYTES = 600, PARTS = 3 };
static contained tree;
static placed_case plan;
static unsigned char before[BYTES], now[BYTES], buf[BYTES];
static sluice_store *shim[PARTS + 1];
static int shims, failures, faults;
static const sluice_range named = {50, 150, 3};

static void fail(const char *kind, int64_t n, const char *what) {
    printf("%s %lld: %s\n", kind, (long long)n, what);
    failures++;
}

static int open_shim(sluice_store **out, int folder, const char *name, sluice_store_mode mode, sluice_reason *why) {
    sluice_store *file;
    int err = sluice_posix_make(&file, folder, name, mode, why);
    if (err) return err;
    if (shims == PARTS + 1 || sluice_store_open_fault(&shim[shims], file)) abort();
    *out = shim[shims++];
    return 0;
}

static sluice_array *start(sluice_role role) {
    sluice_container *c;
    sluice_array *a;
    const sluice_options o = {.size = sizeof o, .no_map = 1};
    shims = 0;
    if (sluice_container_open_by(&c, tree.path, SLUICE_CONTAINER_WRITE, tree.bindings, open_shim, NULL) ||
        sluice_contain_adopt(&a, c, role, &o, NULL))
        abort();
    return a;
}

/* Everything as it was; each copy of it. */
static void reset(void) {
    sluice_array *a;
    const sluice_options o = {.size = sizeof o, .bindings = tree.bindings};
    if (sluice_open(&a, tree.path, SLUICE_WRITE, NULL, &o) || sluice_write(a, NULL, before) || sluice_sync(a) ||
        sluice_close(a))
        abort();
}

static bool is_named(int64_t x) { return x >= named.start && x < 500 && (x - named.start) % named.step == 0; }

static void look(const char *kind, int64_t n, bool healed, bool wrote) {
    sluice_array *a;
    const sluice_options o = {.size = sizeof o, .bindings = tree.bindings};
    if (sluice_open(&a, tree.path, healed ? SLUICE_WRITE : SLUICE_READ, NULL, &o) || sluice_read(a, NULL, now)) {
        fail(kind, n, sluice_errmsg());
        return;
    }
    for (int64_t x = 0; x < BYTES; x++)
        if (wrote && is_named(x) ? now[x] != 0xEE : now[x] != before[x] && !(is_named(x) && now[x] == 0xEE)) {
            fail(kind, n, "bytes that nobody named have changed, or named ones have not");
            break;
        }
    const char *wrong = healed ? placed_compare(&plan, a->container->manifest, tree.path, now) : NULL;
    if (wrong) fail(kind, n, wrong);
    if (sluice_close(a)) fail(kind, n, "close");
}

typedef struct kind {
    const char *name;
    enum { STORE, SYSTEM, MEMORY } where;
    sluice_fault_kind fault;
    int error;
} kind;
static const kind kinds[] = {{"call", STORE, SLUICE_FAULT_ERROR, EIO},
                             {"full disk", STORE, SLUICE_FAULT_ERROR, ENOSPC},
                             {"short", STORE, SLUICE_FAULT_SHORT, 0},
                             {"interrupt", STORE, SLUICE_FAULT_EINTR, 0},
                             {"system call", SYSTEM, SLUICE_FAULT_ERROR, EDQUOT},
                             {"allocation", MEMORY, SLUICE_FAULT_ERROR, ENOMEM}};

static int64_t calls_of(const kind *k, int i) {
    return k->where == STORE    ? sluice_fault_calls(shim[i])
           : k->where == SYSTEM ? sluice_sys_calls()
                                : sluice_mem_calls();
}

static void arm(const kind *k, int i, int64_t n) {
    if (k->where == STORE) sluice_fault_set(shim[i], n, k->fault, k->error);
    if (k->where == SYSTEM) sluice_sys_fault(n, k->error);
    if (k->where == MEMORY) sluice_mem_fail_nth(n);
}

/* A write and a sync, with a fault of shim i; true if it was reached. */
static bool once(const kind *k, int i, int64_t n, sluice_role role) {
    reset();
    const int64_t live = sluice_mem_live();
    sluice_array *a = start(role);
    memset(buf, 0xEE, sizeof buf);
    const int64_t calls = calls_of(k, i);
    arm(k, i, n);
    int err = sluice_write(a, &named, buf);
    const bool wrote = !err;
    if (!err) err = sluice_sync(a);
    const bool reached = calls_of(k, i) - calls >= n;
    arm(k, i, 0);
    if (err && (!reached || err != -k->error)) fail(k->name, n, sluice_errmsg());
    if (reached && k->fault == SLUICE_FAULT_ERROR && !err) fail(k->name, n, "the error did not come through");
    for (int j = 0; j < shims; j++) shim[j]->lost = 0; /* a sync that failed would be final */
    if (sluice_close(a)) fail(k->name, n, "close");
    if (sluice_mem_live() != live) fail(k->name, n, "leak");
    look(k->name, n, false, wrote);
    look(k->name, n, true, wrote);
    faults += reached;
    return reached;
}

static void make(void) {
    sluice_places places;
    sluice_manifest *m;
    chance c = {0};
    const sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 1, 0, {BYTES}}, .type = "uint8"};
    plan = (placed_case){.parts = PARTS, .length = BYTES};
    for (int64_t x = 0; x < BYTES; x++) plan.lot[x] = x < 100 ? 0 : x < 200 ? -1 : x < 350 ? 1 : x % 2 ? 2 : -1;
    chance_seed(&c, 3);
    for (int i = 0; i < 3; i++) {
        plan.copies[i] = i + 1;
        for (int k = 0; k <= i; k++) placed_put(&plan, &c, k, (i + k) % PARTS);
        plan.nlots++;
    }
    chance_free(&c);
    if (!placed_places(&plan, &places) || sluice_manifest_place(&m, &d, &places, NULL, NULL) ||
        sluice_container_create(tree.path, m, NULL, NULL))
        abort();
    sluice_manifest_free(m);
}

int main(void) {
    char name[] = "placed_fault.XXXXXX";
    if (!mkdtemp(name) || rmdir(name)) return 1;
    contained_name(&tree, name);
    if (!contained_make(&tree)) return 1;
    for (int i = 0; i < BYTES; i++) before[i] = (unsigned char)(i % 199);
    make();
    for (int role = 0; role < 2; role++)
        for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++)
            for (int i = 0; i < (kinds[j].where == STORE ? PARTS + 1 : 1); i++)
                for (int64_t n = 1; !failures && once(&kinds[j], i, n, role ? SLUICE_FIRST : SLUICE_ALONE);) n++;
    printf("%d faults\n", faults);
    if (faults < 50) fail("faults", faults, "are too few");
    contained_remove(&tree);
    return failures != 0;
}
