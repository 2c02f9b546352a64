/* ranks: 1 */
/* array_fault.c: every call to the store and every allocation of every scenario is made to fail once, on a file and on
 * containers, there of each subfile, and every system call on names. After a failure the error has a sentence that
 * names the file, bytes that nobody named are as they were, named bytes are old or new, nothing leaks, and the same
 * call on the same handle then succeeds. */
#include "array/array.h"
#include "contained.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, COLS = 50, ELEM = 4, SIZE = ROWS * COLS * ELEM };

typedef struct scene {
    const char *name;
    sluice_method method;
    int64_t memory;
    bool exclusive, write;
    int (*act)(sluice_array *a, unsigned char *buf);
} scene;

static const sluice_range columns[] = {{1, 30, 1}, {3, 12, 4}}, rows[] = {{2, 19, 2}, {0, COLS, 1}};

static int read_columns(sluice_array *a, unsigned char *buf) { return sluice_read(a, columns, buf); }
static int read_rows(sluice_array *a, unsigned char *buf) { return sluice_read(a, rows, buf); }
static int write_columns(sluice_array *a, unsigned char *buf) { return sluice_write(a, columns, buf); }
static int write_rows(sluice_array *a, unsigned char *buf) { return sluice_write(a, rows, buf); }

static int read_two(sluice_array *a, unsigned char *buf) {
    sluice_part p[] = {{.range = columns, .buf = buf}, {.range = rows, .buf = buf + SIZE / 2}};
    return sluice_read_parts(a, p, 2);
}

static int read_lists(sluice_array *a, unsigned char *buf) {
    static const int64_t i[] = {0, 1, 5, 11, 38}, k[] = {2, 3, 4, 49};
    sluice_index index[] = {{i, 5}, {k, 4}};
    return sluice_read_parts(a, &(sluice_part){.index = index, .buf = buf}, 1);
}

static int read_later(sluice_array *a, unsigned char *buf) {
    sluice_request *r[2];
    sluice_part p[] = {{.range = columns, .buf = buf}, {.range = rows, .buf = buf + SIZE / 2}};
    int err = sluice_read_start(&r[0], a, &p[0], 1);
    if (err) return err;
    int second = sluice_read_start(&r[1], a, &p[1], 1);
    err = sluice_wait(r[0]);
    if (!second) second = sluice_wait(r[1]);
    return err ? err : second;
}

static int walk(sluice_array *a, unsigned char *buf) {
    sluice_slabs *s;
    sluice_slab slab;
    int more, err = sluice_slabs_open(&s, a, &(sluice_slabs_options){.count = 7, .lower = 1, .upper = 2});
    if (err) return err;
    while ((more = sluice_slabs_next(s, &slab)) > 0) memcpy(buf, slab.buf, (size_t)(slab.total * COLS * ELEM));
    sluice_slabs_close(s);
    return more;
}

static int resize(sluice_array *a, unsigned char *buf) {
    (void)buf;
    int err = sluice_resize(a, ROWS + 5);
    return err ? err : sluice_resize(a, ROWS);
}

static int sync_(sluice_array *a, unsigned char *buf) {
    (void)buf;
    return sluice_sync(a);
}

static const scene scenes[] = {
    {"direct read", SLUICE_DIRECT, 0, true, false, read_columns},
    {"list read", SLUICE_LIST, 0, true, false, read_columns},
    {"sieve read", SLUICE_SIEVE, 4096, true, false, read_columns},
    {"auto read", SLUICE_AUTO, 0, true, false, read_rows},
    {"two parts", SLUICE_SIEVE, 4096, true, false, read_two},
    {"index lists", SLUICE_AUTO, 0, true, false, read_lists},
    {"background", SLUICE_AUTO, 0, true, false, read_later},
    {"slabs", SLUICE_AUTO, 64 << 10, true, false, walk},
    {"direct write", SLUICE_DIRECT, 0, true, true, write_columns},
    {"list write", SLUICE_LIST, 0, false, true, write_columns},
    {"sieve write", SLUICE_SIEVE, 4096, true, true, write_columns},
    {"locked sieve write", SLUICE_SIEVE, 4096, false, true, write_columns},
    {"auto write", SLUICE_AUTO, 0, false, true, write_rows},
    {"resize", SLUICE_AUTO, 0, true, true, resize},
    {"sync", SLUICE_AUTO, 0, true, true, sync_},
};

enum { MEMBERS = 3, BLOCK = 512 /* of checksums */ };
static unsigned char before[SIZE], buf[2 * SIZE];
static int failures, faults;
static bool contain;
static int64_t checksum; /* bytes of a block; 0: none */
static contained tree;
static layout_case layout;
static sluice_store *shim[2 * MEMBERS]; /* in front of each subfile and its checksums, or of the file */
static int shims;

static void fail(const scene *s, const char *kind, int64_t n, const char *what) {
    printf("%s, %s, %s %lld: %s\n", contain ? layout.text : "file", s->name, kind, (long long)n, what);
    failures++;
}

static sluice_array *start_file(const scene *s) {
    sluice_store *ram;
    sluice_array *a;
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, ELEM, 0, {ROWS, COLS}}};
    sluice_options o = {.size = sizeof o, .memory = s->memory, .method = s->method, .exclusive = s->exclusive};
    if (sluice_desc_settle(&d, NULL) || sluice_store_open_ram(&ram, SIZE, NULL) ||
        sluice_store_write(ram, 0, before, SIZE, NULL) || sluice_store_open_fault(&shim[0], ram) ||
        sluice_array_adopt(&a, shim[0], &d, true, &o))
        abort();
    shims = 1;
    return a;
}

/* Opens a subfile behind a shim. */
static int open_shim(sluice_store **out, int folder, const char *name, sluice_store_mode mode, sluice_reason *why) {
    sluice_store *file;
    int err = sluice_posix_make(&file, folder, name, mode, why);
    if (err) return err;
    if (shims == 2 * MEMBERS || sluice_store_open_fault(&shim[shims], file)) abort();
    *out = shim[shims++];
    return 0;
}

/* The container is there; its bytes are put back. */
static sluice_array *start_container(const scene *s) {
    sluice_container *c;
    sluice_array *a;
    sluice_options o = {.size = sizeof o, .memory = s->memory, .method = s->method, .no_map = 1};
    shims = 0;
    if (sluice_container_open_by(&c, tree.path, SLUICE_CONTAINER_WRITE, tree.bindings, open_shim, NULL) ||
        !contained_fill(&tree, &layout, c->manifest, before) ||
        sluice_contain_adopt(&a, c, s->exclusive ? SLUICE_ALONE : SLUICE_FIRST, &o, NULL))
        abort();
    return a;
}

/* Bytes outside the section must be as before; those inside old or new. */
static bool untouched(sluice_array *a, const scene *s) {
    static unsigned char now[SIZE];
    sluice_set named = SLUICE_SET_EMPTY;
    if (contain ? contained_read(&tree, &layout, a->container->manifest, now, true) != NULL
                : sluice_store_read(a->io.store, 0, now, SIZE, NULL) != 0)
        return false;
    if (s->write && sluice_set_section(&named, &a->desc.shape, s->act == write_rows ? rows : columns, NULL)) abort();
    bool good = true;
    for (int64_t x = 0; x < SIZE; x++)
        good &= now[x] == before[x] || (s->write && sluice_set_contains(&named, x) && now[x] == 0xEE);
    sluice_set_free(&named);
    return good;
}

/* After it was closed, all blocks have their checksums. */
static bool sealed(void) {
    sluice_array *a;
    bool good = true;
    shims = 0;
    if (sluice_open(&a, tree.path, SLUICE_READ, NULL, &(sluice_options){.bindings = tree.bindings})) return false;
    for (int i = 0; i < layout.n; i++) {
        int64_t off = a->layout->base[i], room;
        sluice_sums_states state;
        const int err = sluice_sums_state(sluice_store_holder(a->io.store, &off, &room), &state, NULL);
        good &= !err && state == SLUICE_SUMS_SEALED;
    }
    good &= !sluice_read(a, NULL, buf);
    return !sluice_close(a) && good;
}

/* What fails. */
typedef struct kind {
    const char *name;
    enum { STORE, SYSTEM, MEMORY } where;
    sluice_fault_kind fault;
    int error;
} kind;
static const kind kinds[] = {
    {"call", STORE, SLUICE_FAULT_ERROR, EIO},          {"full disk", STORE, SLUICE_FAULT_ERROR, ENOSPC},
    {"short", STORE, SLUICE_FAULT_SHORT, 0},           {"nothing", STORE, SLUICE_FAULT_ZERO, 0},
    {"interrupt", STORE, SLUICE_FAULT_EINTR, 0},       {"system call", SYSTEM, SLUICE_FAULT_ERROR, EDQUOT},
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

/* A sync that failed would be final. */
static void regain(sluice_array *a) {
    for (int j = 0; j < shims; j++) shim[j]->lost = 0;
    for (int i = 0; i < layout.n && checksum; i++) {
        int64_t off = a->layout->base[i], room;
        sluice_store_holder(a->io.store, &off, &room)->lost = 0;
    }
}

/* Runs the scene once with a fault of shim i; true if the fault was reached. */
static bool once(const scene *s, const kind *k, int i, int64_t n) {
    int64_t live = sluice_mem_live();
    sluice_array *a = contain ? start_container(s) : start_file(s);
    const char *name = contain ? tree.path : shim[0]->name;
    memset(buf, 0xEE, sizeof buf);
    const int64_t calls = calls_of(k, i);
    arm(k, i, n);
    int err = s->act(a, buf);
    bool reached = calls_of(k, i) - calls >= n;
    arm(k, i, 0);
    bool must_fail = reached && k->fault == SLUICE_FAULT_ERROR;
    if (contain && s->act == resize) must_fail = err; /* subfiles may stay longer than they need be */
    if (must_fail && err != -k->error) fail(s, k->name, n, "the error did not come through");
    if (!must_fail && err && !(k->fault == SLUICE_FAULT_ZERO && err == -EIO)) fail(s, k->name, n, sluice_errmsg());
    if (err && !strstr(sluice_errmsg(), name)) fail(s, k->name, n, sluice_errmsg());
    if (!untouched(a, s)) fail(s, k->name, n, "bytes that nobody named have changed");
    memset(buf, 0xEE, sizeof buf);
    if (s->act == resize || checksum) regain(a);
    if (err && s->act != sync_ && s->act(a, buf)) fail(s, k->name, n, "the handle did not survive");
    const bool closed = !sluice_close(a), lost = checksum && err && s->act == sync_;
    if (!closed && !lost) fail(s, k->name, n, "close");
    if (closed && checksum && !sealed()) fail(s, k->name, n, "not sealed");
    if (sluice_mem_live() != live) fail(s, k->name, n, "leak");
    faults += reached;
    return reached;
}

static void play(const scene *s) {
    int64_t total[3] = {0};
    for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++)
        for (int i = 0; i < (contain && kinds[j].where == STORE ? (checksum ? 2 : 1) * MEMBERS : 1); i++)
            /* With checksums a call takes many more, of which those that come late are much like each other. */
            for (int64_t n = 1; !failures && once(s, &kinds[j], i, n); n += checksum ? 1 + n / 2 : 1)
                total[kinds[j].where] += j == 0 || kinds[j].where;
    printf("%s, %s: %lld calls, %lld system calls, %lld allocations\n", contain ? layout.text : "file", s->name,
           (long long)total[STORE], (long long)total[SYSTEM], (long long)total[MEMORY]);
    if (!total[STORE]) fail(s, "call", 0, "never reached");
    if (!total[MEMORY] && s->act != resize && s->act != sync_) fail(s, "allocation", 0, "never reached");
}

/* Making, opening and closing a container, with every system call and every allocation failing. */
static int make_and_open(void) {
    sluice_array *a;
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, ELEM, 0, {ROWS, COLS}}};
    sluice_options o = {
        .size = sizeof o, .layout = "rows:2", .targets = ".,slow", .bindings = tree.bindings, .checksum = checksum};
    int err = sluice_create(&a, tree.path, &d, &o);
    if (!err) err = sluice_close(a);
    if (!err) err = sluice_open(&a, tree.path, SLUICE_READ, &d, &o);
    return err ? err : sluice_close(a);
}

static bool open_once(const kind *k, int64_t n) {
    const scene s = {.name = "create, open and close"};
    const int64_t live = sluice_mem_live(), calls = calls_of(k, 0);
    arm(k, 0, n);
    const int err = make_and_open();
    const bool reached = calls_of(k, 0) - calls >= n;
    arm(k, 0, 0);
    if (err && (!reached || err != -k->error)) fail(&s, k->name, n, sluice_errmsg());
    if (err && !strstr(sluice_errmsg(), tree.path)) fail(&s, k->name, n, sluice_errmsg());
    if (sluice_mem_live() != live) fail(&s, k->name, n, "leak");
    contained_remove(&tree);
    if (!contained_make(&tree)) abort();
    faults += reached;
    return reached;
}

static void contain_all(int which) {
    sluice_array *a;
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, ELEM, 0, {ROWS, COLS}}};
    contain = true;
    layout.shape = d.shape;
    case_choose(&layout, which);
    sluice_options o = {
        .size = sizeof o, .layout = layout.text, .targets = ".,fast", .bindings = tree.bindings, .checksum = checksum};
    if (sluice_create(&a, tree.path, &d, &o) || sluice_close(a)) abort();
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) play(&scenes[i]);
    if (sluice_container_delete(tree.path, tree.bindings, NULL)) abort();
}

int main(void) {
    char name[] = "array_fault.XXXXXX";
    if (!mkdtemp(name) || rmdir(name)) return 1;
    contained_name(&tree, name);
    if (!contained_make(&tree)) return 1;
    for (int i = 0; i < SIZE; i++) before[i] = (unsigned char)(i % 199);
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) play(&scenes[i]);
    for (int which = 0; which < 3; which++) contain_all(which);
    for (checksum = 0; checksum <= BLOCK; checksum += BLOCK)
        for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++)
            for (int64_t n = 1; kinds[j].where != STORE && open_once(&kinds[j], n); n++) {
            }
    checksum = BLOCK;
    contain_all(1);
    printf("%d faults\n", faults);
    contained_remove(&tree);
    return failures != 0;
}
