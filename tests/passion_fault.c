/* ranks: 1 */
/* passion_fault.c: each PASSION call with its n-th allocation or its n-th call of the store failing, for all n until it
 * runs clean. A call that fails says so, does no harm, and succeeds when it is made again. */
#include "array/array.h"
#include "passion.h"
#include "support/unit.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An array of 9 x 8 elements of 12 bytes behind a header, slabs of 2 rows in memory with 3 rows of overlap. */
enum {
    ROWS = 9,
    COLUMNS = 8,
    ELEM = 12,
    HEADER = 20,
    SLAB = 2,
    OVERLAP = 3,
    ROW = COLUMNS * ELEM,
    BYTES = ROWS * COLUMNS * ELEM
};
enum { BUFFER = (SLAB + 2 * OVERLAP) * ROW, FILE_BYTES = HEADER + BYTES };

static char folder[] = "/tmp/passion.XXXXXX", path[64];
static int size[] = {ROWS, COLUMNS}, none[2][2] = {{0, 0}, {0, 0}}, ones[] = {1, 1},
           icla[2][2] = {{SLAB, 0}, {COLUMNS, 0}};
static int overlap[2][2] = {{OVERLAP, OVERLAP}, {0, 0}}, first[] = {1, 1}, strided[2][3] = {{2, 9, 3}, {1, 8, 2}};

static OCAD *ocad;
static PFILE *file;
static sluice_store *shim;
static unsigned char image[FILE_BYTES]; /* what is in the file before a call */
static unsigned char fresh[BYTES];      /* what writes bring */
static unsigned char buf[BYTES + BUFFER], second[BUFFER];

static unsigned char old_byte(int i) { return (unsigned char)(i * 7 + 3); }

/* Bytes of the strided section, in the order of the file: offset of element k. */
static int section_at(int k) { return HEADER + ((1 + k / 4 * 3) * COLUMNS + k % 4 * 2) * ELEM; }
static int packed_at(int k) { return (k / 4 * COLUMNS + k % 4) * ELEM; }

enum { NO_CODE = 1 }; /* a pointer was asked for, and NULL came */

/* ---- The calls. Each returns the error of the first step that failed. ------------------------------------------- */

static int do_read(void) { return PASSION_read(file, ocad, (char *)buf); }
static int do_write(void) { return PASSION_write(file, ocad, (char *)fresh); }
static int do_read_section(void) { return PASSION_read_section(file, ocad, (char *)buf, first, strided); }
static int do_write_section(void) { return PASSION_write_section(file, ocad, (char *)fresh, first, strided); }
static int do_read_header(void) { return PASSION_read_header(file, (char *)buf); }
static int do_write_header(void) { return PASSION_write_header(file, (char *)fresh); }

static int do_prefetch(void) {
    PREFETCH *p = PASSION_read_prefetch(file, ocad, (char *)buf, first, strided);
    PREFETCH *q = PASSION_read_prefetch(file, ocad, (char *)second, first, strided);
    int err = p ? PASSION_prefetch_wait(p) : NO_CODE, late = q ? PASSION_prefetch_wait(q) : NO_CODE;
    return err ? err : late;
}

/* A walk in which a failed slab is read again; the slabs are put together in buf. */
static int do_reuse(void) {
    int err, worst = 0;
    REUSE *r = PASSION_reuse_init(file, ocad, 1);
    if (!r) return NO_CODE;
    while ((err = PASSION_read_reuse(r, (char *)second)) != -1) {
        if (err) {
            worst = err;
            continue;
        }
        int row = r->start - 1, rows = r->lower + r->count + r->upper;
        memcpy(buf + row * ROW, second + OVERLAP * ROW, (size_t)(r->count * ROW));
        CHECK(
            !memcmp(second + (OVERLAP - r->lower) * ROW, image + HEADER + (row - r->lower) * ROW, (size_t)(rows * ROW)),
            "the slab from row %d", row);
    }
    PASSION_free_REUSE(r);
    return worst;
}

/* ---- What must hold afterwards --------------------------------------------------------------------------------- */

static void good_whole(void) { CHECK(!memcmp(buf, image + HEADER, BYTES), "the array differs"); }
static void good_header(void) { CHECK(!memcmp(buf, image, HEADER), "the header differs"); }
static void good_section(void) {
    for (int k = 0; k < 12; k++)
        CHECK(!memcmp(buf + packed_at(k), image + section_at(k), ELEM), "element %d differs", k);
}

static void named_all(unsigned char *named) { memset(named + HEADER, 1, BYTES); }
static void named_header(unsigned char *named) { memset(named, 1, HEADER); }
static void named_section(unsigned char *named) {
    for (int k = 0; k < 12; k++) memset(named + section_at(k), 1, ELEM);
}
static unsigned char new_all(int i) { return fresh[i - HEADER]; }
static unsigned char new_header(int i) { return fresh[i]; }
static unsigned char new_section(int i) {
    for (int k = 0; k < 12; k++)
        if (i >= section_at(k) && i < section_at(k) + ELEM) return fresh[packed_at(k) + i - section_at(k)];
    return 0;
}

static const struct call {
    const char *name;
    int (*run)(void);
    void (*good)(void);                  /* reads: the result */
    void (*named)(unsigned char *named); /* writes: bytes of the file that may change, ... */
    unsigned char (*new_byte)(int i);    /* ... and to what */
} call[] = {
    {"read", do_read, good_whole, NULL, NULL},
    {"write", do_write, NULL, named_all, new_all},
    {"read_section", do_read_section, good_section, NULL, NULL},
    {"write_section", do_write_section, NULL, named_section, new_section},
    {"read_header", do_read_header, good_header, NULL, NULL},
    {"write_header", do_write_header, NULL, named_header, new_header},
    {"prefetch", do_prefetch, good_section, NULL, NULL},
    {"reuse", do_reuse, good_whole, NULL, NULL},
};

/* The file holds old or new bytes where the call writes, only new ones if it succeeded, and old ones elsewhere. */
static void check_file(const struct call *c, bool succeeded) {
    static unsigned char now[FILE_BYTES + 1], named[FILE_BYTES];
    int fd = open(path, O_RDONLY);
    CHECK(pread(fd, now, sizeof now, 0) == FILE_BYTES, "%s: the file's length has changed", c->name);
    close(fd);
    memset(named, 0, sizeof named);
    if (c->named) c->named(named);
    for (int i = 0; i < FILE_BYTES; i++) {
        bool old = now[i] == image[i], new = named[i] && now[i] == c->new_byte(i);
        CHECK(succeeded && named[i] ? new : old || new, "%s: byte %d of the file", c->name, i);
    }
}

static void make_file(void) {
    for (int i = 0; i < FILE_BYTES; i++) image[i] = old_byte(i);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(write(fd, image, FILE_BYTES) == FILE_BYTES, "cannot write %s", path);
    close(fd);
}

/* Opens the file for one trial; its store gets a shim, and reads go through it. */
static void prepare(bool shimmed) {
    make_file();
    memset(buf, 0, sizeof buf);
    file = PASSION_open(path, HEADER);
    CHECK(file, "%s", sluice_errmsg());
    if (!file) exit(1);
    shim = NULL;
    if (shimmed) {
        CHECK(sluice_store_open_fault(&shim, file->array->io.store) == 0, "no shim");
        file->array->io.store = shim;
        file->array->io.no_map = true;
    }
}

static void finish(const struct call *c, int err, const char *fault, int64_t n) {
    check_file(c, err == 0);
    if (err == 0 && c->good) c->good();
    if (err) CHECK(strlen(sluice_errmsg()) > 10, "%s: no sentence", c->name);
    int before = failures;
    CHECK(c->run() == 0, "%s again: %s", c->name, sluice_errmsg());
    check_file(c, true);
    if (c->good) c->good();
    CHECK(PASSION_close(file) == 0, "%s", sluice_errmsg());
    if (failures > before) printf("after %s, %s number %lld\n", c->name, fault, (long long)n);
}

static void fail_allocations(const struct call *c) {
    int64_t failed = 0;
    for (int64_t n = 1;; n++) {
        prepare(false);
        int64_t before = sluice_mem_calls();
        sluice_mem_fail_nth(n);
        int err = c->run();
        bool reached = sluice_mem_calls() - before >= n;
        sluice_mem_fail_nth(0);
        CHECK(err == 0 || (reached && (err == -ENOMEM || err == NO_CODE)), "%s: %d: %s", c->name, err, sluice_errmsg());
        failed += err != 0;
        finish(c, err, "allocation", n);
        if (!reached) break;
    }
    bool allocates = c->run != do_read_header && c->run != do_write_header;
    CHECK(!allocates || failed > 0, "%s: no allocation failed", c->name);
}

static void fail_store(const struct call *c, sluice_fault_kind kind, int error) {
    int64_t failed = 0, n = 1;
    for (;; n++) {
        prepare(true);
        int64_t before = sluice_fault_calls(shim);
        sluice_fault_set(shim, n, kind, error);
        int err = c->run();
        bool reached = sluice_fault_calls(shim) - before >= n;
        sluice_fault_set(shim, 0, kind, error);
        int as = c->run == do_reuse && error == EPERM ? EACCES : error; /* -1 is the end */
        if (kind == SLUICE_FAULT_ERROR)
            CHECK(err == (reached ? -as : 0) || (reached && err == NO_CODE), "%s: error %d, not %d", c->name, err, -as);
        else
            CHECK(err == 0 || (kind == SLUICE_FAULT_ZERO && err == -EIO), "%s: %d: %s", c->name, err, sluice_errmsg());
        failed += err != 0;
        finish(c, err, "call of the store", n);
        if (!reached) break;
    }
    CHECK(n > 1, "%s: the store was never called", c->name);
    CHECK(kind != SLUICE_FAULT_ERROR || failed > 0, "%s: no call failed", c->name);
}

/* Calls that make something: all of it or nothing. */
static void making(void) {
    for (int64_t n = 1, done = 0; !done; n++) {
        sluice_mem_fail_nth(n);
        int64_t before = sluice_mem_calls();
        OCAD *o = PASSION_malloc_OCAD(2);
        done = sluice_mem_calls() - before < n;
        sluice_mem_fail_nth(0);
        CHECK(!o == !done, "malloc_OCAD, allocation %lld", (long long)n);
        PASSION_free_OCAD(o);
    }
    for (int existing = 0; existing < 2; existing++) {
        int64_t live = sluice_mem_live();
        for (int64_t n = 1, done = 0; !done; n++) {
            struct stat st;
            unlink(path);
            if (existing) make_file();
            sluice_mem_fail_nth(n);
            int64_t before = sluice_mem_calls();
            PFILE *f = PASSION_open(path, HEADER);
            done = sluice_mem_calls() - before < n;
            sluice_mem_fail_nth(0);
            CHECK(f || !done, "%s", sluice_errmsg());
            CHECK(f || strlen(sluice_errmsg()) > 10, "no sentence");
            if (!f) CHECK((stat(path, &st) == 0) == existing, "a failed open left a file or took one");
            if (f) CHECK(PASSION_close(f) == 0, "%s", sluice_errmsg());
            CHECK(sluice_mem_live() == live, "open, allocation %lld: a leak", (long long)n);
        }
    }
    prepare(false);
    sluice_mem_fail_nth(1);
    CHECK(!PASSION_reuse_init(file, ocad, 1) && strstr(sluice_errmsg(), "no memory"), "reuse_init");
    sluice_mem_fail_nth(0);
    CHECK(PASSION_close(file) == 0, "%s", sluice_errmsg());
}

/* A disk that cannot grow: the file stays as short as it was, and the next write does it. */
static void growing(void) {
    struct stat st;
    for (int n = 1; n <= 2; n++) { /* the length is asked for, then set */
        prepare(true);
        CHECK(truncate(path, HEADER) == 0, "truncate");
        sluice_fault_set(shim, n, SLUICE_FAULT_ERROR, ENOSPC);
        int err = PASSION_write_section(file, ocad, (char *)fresh, first, strided);
        CHECK(err == -ENOSPC && strstr(sluice_errmsg(), path), "%d: %s", err, sluice_errmsg());
        CHECK(stat(path, &st) == 0 && st.st_size == HEADER, "%lld bytes", (long long)st.st_size);
        CHECK(PASSION_write(file, ocad, (char *)fresh) == 0 && PASSION_read(file, ocad, (char *)buf) == 0, "%s",
              sluice_errmsg());
        CHECK(!memcmp(buf, fresh, BYTES), "the array differs");
        CHECK(PASSION_close(file) == 0, "%s", sluice_errmsg());
    }
}

/* A prefetch that fails after its file was closed still has its error and its sentence. */
static void closing(void) {
    prepare(true);
    sluice_fault_set(shim, 2, SLUICE_FAULT_ERROR, EIO); /* the first call asks for the length */
    PREFETCH *p = PASSION_read_prefetch(file, ocad, (char *)buf, first, strided);
    CHECK(p, "%s", sluice_errmsg());
    CHECK(PASSION_close(file) == 0, "%s", sluice_errmsg());
    (void)PASSION_set_base(7); /* another sentence in between */
    CHECK(PASSION_prefetch_wait(p) == -EIO && strstr(sluice_errmsg(), path), "%s", sluice_errmsg());

    prepare(true);
    sluice_fault_set(shim, 1, SLUICE_FAULT_ERROR, EDQUOT);
    CHECK(PASSION_close(file) == -EDQUOT && strstr(sluice_errmsg(), path), "close: %s", sluice_errmsg());
}

int main(void) {
    if (!mkdtemp(folder)) return 2;
    snprintf(path, sizeof path, "%s/file", folder);
    for (int i = 0; i < BYTES; i++) fresh[i] = (unsigned char)~old_byte(i + i / 100);
    ocad = PASSION_malloc_OCAD(2);
    CHECK(!PASSION_fill_OCAD(ocad, size, none, ones, size, icla, overlap, ELEM, ROW_MAJOR), "%s", sluice_errmsg());
    making();
    for (size_t i = 0; i < sizeof call / sizeof *call && !failures; i++) {
        fail_allocations(&call[i]);
        fail_store(&call[i], SLUICE_FAULT_ERROR, EIO);
        fail_store(&call[i], SLUICE_FAULT_ERROR, EPERM);
        fail_store(&call[i], SLUICE_FAULT_SHORT, 0);
        fail_store(&call[i], SLUICE_FAULT_ZERO, 0);
        fail_store(&call[i], SLUICE_FAULT_EINTR, 0);
    }
    growing();
    closing();
    PASSION_free_OCAD(ocad);
    unlink(path);
    rmdir(folder);
    return verdict();
}
