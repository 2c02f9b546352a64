/* ranks: 1 */
/* passion.c: the PASSION routines one thing at a time: descriptors, headers, what is refused, several arrays in a file,
 * offsets past 32 bits. All routines against their definition: passion_model.c. */
#include "passion.h"
#include "array/array.h"
#include "support/unit.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/passion.XXXXXX", path[64];

static int64_t file_size(void) {
    struct stat st;
    return stat(path, &st) ? -1 : st.st_size;
}

static int size2[] = {6, 5}, none2[2][2] = {{0, 0}, {0, 0}}, ones2[] = {1, 1}, icla2[2][2] = {{3, 7}, {5, 8}};

static OCAD *simple_ocad(int elemsize) {
    OCAD *o = PASSION_malloc_OCAD(2);
    CHECK(o && !PASSION_fill_OCAD(o, size2, none2, ones2, size2, icla2, none2, elemsize, ROW_MAJOR), "%s",
          sluice_errmsg());
    return o;
}

/* The call was refused with this error, and the sentence has this text. */
static void refused(int expected, int got, const char *text) {
    CHECK(got == expected, "expected %d, got %d: %s", expected, got, sluice_errmsg());
    CHECK(strstr(sluice_errmsg(), text), "\"%s\" does not say \"%s\"", sluice_errmsg(), text);
}

static void ocad_fields(void) {
    int size[] = {40, 30, 9}, distribution[][2] = {{PASSION_BLOCK, 20}, {PASSION_CYCLIC, 2}, {PASSION_COLLAPSED, 0}};
    int nprocs[] = {2, 3, 1}, ocla[] = {20, 10, 9}, icla[][2] = {{5, 1}, {10, 2}, {9, 3}};
    int overlap[][2] = {{1, 2}, {0, 0}, {3, 4}}, bad[] = {40, 0, 9}, zero[][2] = {{5, 1}, {0, 2}, {9, 3}};
    int negative[][2] = {{1, 2}, {0, -1}, {3, 4}}, huge[] = {INT32_MAX, INT32_MAX, INT32_MAX};
    int unknown[][2] = {{3, 0}, {0, 0}, {0, 0}}, narrow[][2] = {{PASSION_BLOCK, 19}, {PASSION_CYCLIC, 2}, {0, 0}};
    int collapsed[][2] = {{0, 0}, {PASSION_CYCLIC, 2}, {0, 0}}, grid[] = {2, 2, 1};
    int many[] = {INT32_MAX, INT32_MAX, INT32_MAX}, cyclic[][2] = {{2, 0}, {2, 0}, {2, 0}};

    CHECK(!PASSION_malloc_OCAD(0) && !PASSION_malloc_OCAD(-1), "no dimensions");
    CHECK(!PASSION_malloc_OCAD(PASSION_MAX_DIMS + 1), "too many dimensions");
    CHECK(strstr(sluice_errmsg(), "17 dimensions"), "%s", sluice_errmsg());
    OCAD *o = PASSION_malloc_OCAD(3);
    CHECK(o && o->dimensions == 3 && !o->filled, "a new OCAD");

    refused(SLUICE_E_ARGUMENT, PASSION_fill_OCAD(o, size, distribution, nprocs, ocla, icla, overlap, 4, ROW_MAJOR),
            "the grid has 6 processes, the group 1");
    refused(SLUICE_E_ARGUMENT, PASSION_set_nprocs(0), "0 processes");
    CHECK(PASSION_set_nprocs(6) == 0, "%s", sluice_errmsg());
    CHECK(!o->filled, "refused, and still filled in");
    CHECK(!PASSION_fill_OCAD(o, size, distribution, nprocs, ocla, icla, overlap, 12, COLUMN_MAJOR), "%s",
          sluice_errmsg());
    for (int round = 0; round < 2; round++) {
        CHECK(o->dimensions == 3 && o->filled && o->elemsize == 12 && o->storage == COLUMN_MAJOR, "fields");
        CHECK(!memcmp(o->size, size, sizeof size) && !memcmp(o->nprocs, nprocs, sizeof nprocs), "fields");
        CHECK(!memcmp(o->distribution, distribution, sizeof distribution), "distribution");
        CHECK(!memcmp(o->ocla_size, ocla, sizeof ocla) && !memcmp(o->icla_size, icla, sizeof icla), "local sizes");
        CHECK(!memcmp(o->overlap, overlap, sizeof overlap), "overlap");
        if (round) break;
        /* None of these changes the descriptor. */
        const int arg = SLUICE_E_ARGUMENT, row = ROW_MAJOR;
        refused(arg, PASSION_fill_OCAD(NULL, size, distribution, nprocs, ocla, icla, overlap, 4, row), "NULL");
        refused(arg, PASSION_fill_OCAD(o, NULL, distribution, nprocs, ocla, icla, overlap, 4, row), "NULL");
        refused(arg, PASSION_fill_OCAD(o, size, NULL, nprocs, ocla, icla, overlap, 4, row), "NULL");
        refused(arg, PASSION_fill_OCAD(o, size, distribution, NULL, ocla, icla, overlap, 4, row), "NULL");
        refused(arg, PASSION_fill_OCAD(o, size, distribution, nprocs, NULL, icla, overlap, 4, row), "NULL");
        refused(arg, PASSION_fill_OCAD(o, size, distribution, nprocs, ocla, NULL, overlap, 4, row), "NULL");
        refused(arg, PASSION_fill_OCAD(o, size, distribution, nprocs, ocla, icla, NULL, 4, row), "NULL");
        refused(arg, PASSION_fill_OCAD(o, bad, distribution, nprocs, ocla, icla, overlap, 4, row),
                "dimension 1: size 0");
        refused(arg, PASSION_fill_OCAD(o, size, distribution, bad, ocla, icla, overlap, 4, row), "processes 0");
        refused(arg, PASSION_fill_OCAD(o, size, distribution, nprocs, bad, icla, overlap, 4, row), "local array 0");
        refused(arg, PASSION_fill_OCAD(o, size, distribution, nprocs, ocla, zero, overlap, 4, row),
                "in-core local array 0");
        refused(arg, PASSION_fill_OCAD(o, size, distribution, nprocs, ocla, icla, negative, 4, row), "overlap -1");
        refused(arg, PASSION_fill_OCAD(o, size, unknown, nprocs, ocla, icla, overlap, 4, row),
                "kind of distribution 3");
        refused(arg, PASSION_fill_OCAD(o, size, narrow, nprocs, ocla, icla, overlap, 4, row), "all indices");
        refused(arg, PASSION_fill_OCAD(o, size, collapsed, nprocs, ocla, icla, overlap, 4, row), "all indices");
        refused(arg, PASSION_fill_OCAD(o, size, distribution, grid, ocla, icla, overlap, 4, row), "the grid has 4");
        refused(arg, PASSION_fill_OCAD(o, size, cyclic, many, ocla, icla, overlap, 4, row), "the grid has 0");
        refused(arg, PASSION_fill_OCAD(o, size, distribution, nprocs, ocla, icla, overlap, 0, row), "0 bytes");
        refused(arg, PASSION_fill_OCAD(o, size, distribution, nprocs, ocla, icla, overlap, 4, 0), "storage order 0");
        refused(arg, PASSION_fill_OCAD(o, size, distribution, nprocs, ocla, icla, overlap, 4, 3), "storage order 3");
        refused(SLUICE_E_OVERFLOW, PASSION_fill_OCAD(o, size, distribution, nprocs, huge, icla, overlap, 4, row),
                "2^63-1");
    }
    PASSION_free_OCAD(o);
    PASSION_free_OCAD(NULL);
    CHECK(PASSION_set_nprocs(1) == 0, "%s", sluice_errmsg());
}

/* The header says what the array is: another program can read it that knows the size of the header alone. */
static void header_first(void) {
    int head[8] = {2, 6, 5, 4, ROW_MAJOR}, got[8], back[30], data[30];
    for (int i = 0; i < 30; i++) data[i] = i * i;
    unlink(path);
    PFILE *f = PASSION_open(path, sizeof head);
    OCAD *o = simple_ocad(4);
    CHECK(f && f->header_size == sizeof head && fcntl(f->fd, F_GETFD) >= 0 && f->placement == PASSION_LOCAL, "open");
    refused(SLUICE_E_FORMAT, PASSION_read_header(f, (char *)got), "it has 0 bytes");
    CHECK(PASSION_write_header(f, (char *)head) == 0, "%s", sluice_errmsg());
    CHECK(PASSION_write(f, o, (char *)data) == 0, "%s", sluice_errmsg());
    PASSION_free_OCAD(o);
    CHECK(PASSION_close(f) == 0, "%s", sluice_errmsg());

    f = PASSION_open(path, sizeof head);
    CHECK(f && PASSION_read_header(f, (char *)got) == 0 && !memcmp(got, head, sizeof head), "%s", sluice_errmsg());
    o = PASSION_malloc_OCAD(got[0]);
    CHECK(!PASSION_fill_OCAD(o, got + 1, none2, ones2, got + 1, icla2, none2, got[3], got[4]), "%s", sluice_errmsg());
    CHECK(PASSION_read(f, o, (char *)back) == 0 && !memcmp(back, data, sizeof data), "%s", sluice_errmsg());
    PASSION_free_OCAD(o);
    CHECK(PASSION_close(f) == 0, "%s", sluice_errmsg());
}

/* Nothing of this changes the file, not even its length. */
static void wrong_arguments(void) {
    char buf[6 * 5 * 12] = {0}, header[8];
    int good[2][3] = {{1, 3, 1}, {1, 5, 1}}, zero[2][3] = {{0, 3, 1}, {1, 5, 1}}, far[2][3] = {{1, 3, 1}, {1, 6, 1}};
    int still[2][3] = {{1, 3, 0}, {1, 5, 1}}, back[2][3] = {{3, 1, -1}, {1, 5, 1}}, tall[2][3] = {{1, 4, 1}, {1, 5, 1}};
    int first[] = {1, 1}, low[] = {0, 1}, high[] = {2, 1};
    const int arg = SLUICE_E_ARGUMENT;
    unlink(path);
    CHECK(PASSION_set_base(1) == 0, "%s", sluice_errmsg());
    refused(arg, PASSION_set_base(2), "from 0 or 1, not from 2");
    refused(arg, PASSION_set_placement(2), "unknown model 2");
    CHECK(!PASSION_open(NULL, 0), "a file without a name");
    CHECK(!PASSION_open(folder, 0), "a folder");
    CHECK(strstr(sluice_errmsg(), folder), "%s", sluice_errmsg());
    char missing[80];
    snprintf(missing, sizeof missing, "%s/none/file", folder);
    CHECK(!PASSION_open(missing, 0) && strstr(sluice_errmsg(), missing), "%s", sluice_errmsg());
    refused(arg, PASSION_close(NULL), "no file");
    refused(arg, PASSION_prefetch_wait(NULL), "no prefetch");
    refused(arg, PASSION_read_reuse(NULL, buf), "no descriptor");

    PFILE *f = PASSION_open(path, 8);
    OCAD *o = simple_ocad(12), *empty = PASSION_malloc_OCAD(2);
    CHECK(f && o && empty, "%s", sluice_errmsg());
    refused(arg, PASSION_read_header(NULL, header), "no file");
    refused(arg, PASSION_read_header(f, NULL), "no buffer");
    refused(arg, PASSION_write_header(NULL, header), "no file");
    refused(arg, PASSION_write_header(f, NULL), "no buffer");
    refused(arg, PASSION_read(NULL, o, buf), "no file");
    refused(arg, PASSION_write(f, NULL, buf), "no OCAD");
    refused(arg, PASSION_write(f, o, NULL), "no array");
    refused(arg, PASSION_write(f, empty, buf), "not filled in");
    refused(arg, PASSION_read_section(f, o, NULL, first, good), "no array");
    refused(arg, PASSION_write_section(f, o, buf, first, NULL), "no section");
    refused(arg, PASSION_write_section(f, o, buf, first, zero), "dimension 0: 0:3:1 is not within 1:6");
    refused(arg, PASSION_write_section(f, o, buf, first, far), "dimension 1: 1:6:1 is not within 1:5");
    refused(arg, PASSION_write_section(f, o, buf, first, still), "dimension 0: a stride of 0");
    refused(arg, PASSION_write_section(f, o, buf, first, back), "dimension 0: a stride of -1");
    refused(arg, PASSION_write_section(f, o, buf, first, tall), "4 elements at index 1 of a buffer of 3");
    refused(arg, PASSION_write_section(f, o, buf, low, good), "3 elements at index 0 of a buffer of 3");
    refused(arg, PASSION_write_section(f, o, buf, high, good), "3 elements at index 2 of a buffer of 3");
    CHECK(!PASSION_reuse_init(f, o, 0) && strstr(sluice_errmsg(), "starts at 0"), "%s", sluice_errmsg());
    CHECK(!PASSION_reuse_init(f, NULL, 1) && !PASSION_read_prefetch(NULL, o, buf, first, good), "NULL");
    CHECK(file_size() == 0, "a refused call left %lld bytes", (long long)file_size());

    refused(SLUICE_E_FORMAT, PASSION_read(f, o, buf), "it has 0 bytes, but its array ends at byte 368");
    refused(SLUICE_E_FORMAT, PASSION_read_section(f, o, buf, first, good), "PASSION_read_section");
    CHECK(!PASSION_read_prefetch(f, o, buf, first, good) && strstr(sluice_errmsg(), path), "%s", sluice_errmsg());
    REUSE *r = PASSION_reuse_init(f, o, 1);
    CHECK(r, "%s", sluice_errmsg());
    refused(SLUICE_E_FORMAT, PASSION_read_reuse(r, buf), "it has 0 bytes");
    CHECK(file_size() == 0, "a refused read left %lld bytes", (long long)file_size());

    CHECK(PASSION_write_section(f, o, buf, NULL, good) == 0, "%s", sluice_errmsg());
    CHECK(file_size() == 368, "a section makes the file whole: %lld", (long long)file_size());
    CHECK(PASSION_read_reuse(r, buf) == 0 && PASSION_read_reuse(r, buf) == 0, "%s", sluice_errmsg());
    CHECK(PASSION_read_reuse(r, buf) == -1, "the end");
    CHECK(PASSION_set_base(0) == 0 && PASSION_write_section(f, o, buf, low, zero) == arg, "0:3 are 4 elements");
    zero[0][1] = 2, zero[1][0] = 0, zero[1][1] = 4, low[1] = 0;
    CHECK(PASSION_write_section(f, o, buf, low, zero) == 0, "%s", sluice_errmsg());
    CHECK(PASSION_set_base(1) == 0, "%s", sluice_errmsg());
    PASSION_free_OCAD(o);
    PASSION_free_OCAD(empty);
    CHECK(PASSION_close(f) == 0, "%s", sluice_errmsg());

    /* A file that may only be read cannot be opened; root may do all. */
    if (geteuid() != 0) {
        chmod(path, 0400);
        CHECK(!PASSION_open(path, 8) && strstr(sluice_errmsg(), path), "%s", sluice_errmsg());
        chmod(path, 0600);
    }
    CHECK(sluice_mem_live() == 0, "%lld bytes leaked", (long long)sluice_mem_live());
}

/* A file that others may be making longer, too, is never cut: asking for its length and setting it are one step. */
static void note(void *arg, const char *call, int64_t off, int64_t len, int64_t result) {
    char *log = arg;
    (void)off, (void)len, (void)result;
    if (strlen(log) < 200) strcat(strcat(log, call), " ");
}
static void growing_together(void) {
    char log[256] = "", data[60] = {0};
    int some[2][3] = {{1, 3, 1}, {1, 5, 1}};
    unlink(path);
    PASSION_set_placement(PASSION_GLOBAL);
    OCAD *o = simple_ocad(4);
    PFILE *f = PASSION_open(path, 0);
    sluice_store *tap = NULL;
    if (!o || !f || sluice_store_open_tap(&tap, f->array->io.store, note, log)) exit(2);
    f->array->io.store = tap;
    CHECK(PASSION_write_section(f, o, data, NULL, some) == 0, "%s", sluice_errmsg());
    CHECK(strstr(log, f->array->io.locks ? "size lock size resize unlock " : "size size resize "), "%s", log);
    CHECK(file_size() == 120, "%lld", (long long)file_size());
    CHECK(PASSION_close(f) == 0, "%s", sluice_errmsg());
    PASSION_set_placement(PASSION_LOCAL);
    PASSION_free_OCAD(o);
}

/* One file for all: sections in global indices, whatever the distribution says now; no local arrays. */
static void global_placement(void) {
    int half[] = {3, 5}, two[] = {2, 1}, rows[2][2] = {{PASSION_BLOCK, 0}, {0, 0}}, data[30], back[15] = {0};
    int lower[2][3] = {{4, 6, 1}, {1, 5, 1}}, columns[2][2] = {{0, 0}, {PASSION_CYCLIC, 0}}, by_columns[] = {1, 2};
    for (int i = 0; i < 30; i++) data[i] = i * i;
    unlink(path);
    OCAD *whole_array = simple_ocad(4), *o = PASSION_malloc_OCAD(2);
    PFILE *f = PASSION_open(path, 0);
    CHECK(PASSION_write(f, whole_array, (char *)data) == 0 && PASSION_close(f) == 0, "%s", sluice_errmsg());
    PASSION_free_OCAD(whole_array);

    CHECK(PASSION_set_nprocs(2) == 0 && PASSION_set_placement(PASSION_GLOBAL) == 0, "%s", sluice_errmsg());
    f = PASSION_open(path, 0);
    CHECK(f && f->placement == PASSION_GLOBAL, "%s", sluice_errmsg());
    CHECK(!PASSION_fill_OCAD(o, size2, rows, two, half, icla2, none2, 4, ROW_MAJOR), "%s", sluice_errmsg());
    refused(SLUICE_E_ARGUMENT, PASSION_read(f, o, (char *)back), "only in the local placement model");
    refused(SLUICE_E_ARGUMENT, PASSION_write(f, o, (char *)back), "only in the local placement model");
    CHECK(!PASSION_reuse_init(f, o, 1) && strstr(sluice_errmsg(), "local placement"), "%s", sluice_errmsg());
    for (int i = 0; i < 2; i++) {
        memset(back, 0, sizeof back);
        CHECK(PASSION_read_section(f, o, (char *)back, NULL, lower) == 0, "%s", sluice_errmsg());
        CHECK(!memcmp(back, data + 15, sizeof back), "rows 4 to 6 of the global array");
        CHECK(!PASSION_fill_OCAD(o, size2, columns, by_columns, size2, icla2, none2, 4, ROW_MAJOR), "%s",
              sluice_errmsg());
    }
    CHECK(PASSION_set_nprocs(1) == 0 && PASSION_set_placement(PASSION_LOCAL) == 0, "%s", sluice_errmsg());
    CHECK(PASSION_read(f, o, (char *)back) == SLUICE_E_ARGUMENT, "the model is that of the time of opening");
    CHECK(PASSION_close(f) == 0, "%s", sluice_errmsg());
    PASSION_free_OCAD(o);
}

/* Other descriptors for the same file, one after the other and while reads are under way. */
static void several_descriptors(void) {
    int data[30], back[30], a[15] = {0}, tail[2][3] = {{4, 6, 1}, {1, 5, 1}}, all[1][3] = {{1, 120, 1}},
                            none[1][2] = {{0, 0}};
    int bytes[] = {120}, one[] = {1}, in_core[1][2] = {{120, 0}};
    char b[120] = {0};
    for (int i = 0; i < 30; i++) data[i] = i * i;
    unlink(path);
    OCAD *ints = simple_ocad(4), *chars = PASSION_malloc_OCAD(1);
    CHECK(!PASSION_fill_OCAD(chars, bytes, none, one, bytes, in_core, none, 1, COLUMN_MAJOR), "%s", sluice_errmsg());
    PFILE *f = PASSION_open(path, 0);
    CHECK(PASSION_write(f, ints, (char *)data) == 0, "%s", sluice_errmsg());
    PREFETCH *p = PASSION_read_prefetch(f, ints, (char *)a, NULL, tail);
    PREFETCH *q = PASSION_read_prefetch(f, chars, b, NULL, all);
    PASSION_free_OCAD(ints);
    PASSION_free_OCAD(chars);
    CHECK(PASSION_prefetch_wait(p) == 0 && !memcmp(a, data + 15, sizeof a), "%s", sluice_errmsg());
    CHECK(PASSION_prefetch_wait(q) == 0 && !memcmp(b, data, sizeof b), "%s", sluice_errmsg());

    /* They differ in one thing only: the storage order, the size of an element. */
    int corner[2][3] = {{1, 1, 1}, {2, 2, 1}}, element = 0;
    ints = simple_ocad(4);
    OCAD *columns = simple_ocad(4), *wide = simple_ocad(8);
    CHECK(!PASSION_fill_OCAD(columns, size2, none2, ones2, size2, icla2, none2, 4, COLUMN_MAJOR), "%s",
          sluice_errmsg());
    CHECK(!PASSION_read_section(f, ints, (char *)a, NULL, corner) && a[0] == data[1], "%s", sluice_errmsg());
    CHECK(!PASSION_read_section(f, columns, (char *)a, NULL, corner) && a[0] == data[6], "%s", sluice_errmsg());
    refused(SLUICE_E_FORMAT, PASSION_read_section(f, wide, (char *)&element, NULL, corner), "it has 120 bytes");
    double two[15] = {2.0};
    CHECK(!PASSION_write_section(f, wide, (char *)two, NULL, corner) && file_size() == 240, "%s", sluice_errmsg());
    memcpy(data + 2, two, sizeof *two);
    CHECK(!PASSION_read(f, ints, (char *)back) && !memcmp(back, data, sizeof data), "%s", sluice_errmsg());
    PASSION_free_OCAD(ints);
    PASSION_free_OCAD(columns);
    PASSION_free_OCAD(wide);
    CHECK(PASSION_close(f) == 0, "%s", sluice_errmsg());
}

/* Offsets beyond 2^32, in a file of holes. */
static void large(void) {
    int size[] = {50000, 20000}, icla[][2] = {{1, 0}, {20000, 0}}, last[2][3] = {{50000, 50000, 1}, {1, 20000, 7}};
    double *out = calloc(20000, sizeof *out), *in = calloc(20000, sizeof *in);
    unlink(path);
    OCAD *o = PASSION_malloc_OCAD(2);
    CHECK(!PASSION_fill_OCAD(o, size, none2, ones2, size, icla, none2, 8, ROW_MAJOR), "%s", sluice_errmsg());
    PFILE *f = PASSION_open(path, 512);
    for (int i = 0; i < 20000; i++) out[i] = i;
    CHECK(PASSION_write_section(f, o, (char *)out, NULL, last) == 0, "%s", sluice_errmsg());
    CHECK(file_size() == 512 + (int64_t)50000 * 20000 * 8, "%lld bytes", (long long)file_size());
    CHECK(PASSION_read_section(f, o, (char *)in, NULL, last) == 0, "%s", sluice_errmsg());
    for (int i = 0; i < 20000 && !failures; i++)
        CHECK(in[i] == (i < (20000 + 6) / 7 ? i : 0), "element %d: %g", i, in[i]);
    CHECK(PASSION_close(f) == 0, "%s", sluice_errmsg());
    PASSION_free_OCAD(o);
    free(out);
    free(in);
    unlink(path);
}

/* A container takes the OCADs of its array, and no header. */
static void container(void) {
    char name[80];
    const sluice_desc d = {.shape = {.ndims = 2, .dim = {6, 5}}, .type = "int32"};
    const sluice_options o = {.size = sizeof o, .layout = "tiles:2x2:3"};
    sluice_array *a;
    int out[30], in[30] = {0}, rows[2][3] = {{2, 6, 2}, {1, 5, 3}};
    for (int i = 0; i < 30; i++) out[i] = 100 + i;
    snprintf(name, sizeof name, "%s/a.sluice", folder);
    CHECK(!PASSION_open(name, 0) && strstr(sluice_errmsg(), name), "made a container: %s", sluice_errmsg());
    CHECK(!sluice_create(&a, name, &d, &o) && !sluice_close(a), "%s", sluice_errmsg());
    CHECK(!PASSION_open(name, 8), "a container with a header");
    CHECK(strstr(sluice_errmsg(), "has no header"), "%s", sluice_errmsg());
    OCAD *same = simple_ocad(4), *other = simple_ocad(8);
    PFILE *f = PASSION_open(name, 0);
    CHECK(f && f->fd == -1, "%s", sluice_errmsg());
    if (!f) return;
    CHECK(!PASSION_write(f, same, (char *)out), "%s", sluice_errmsg());
    CHECK(!PASSION_read(f, same, (char *)in) && !memcmp(in, out, sizeof in), "%s", sluice_errmsg());
    memset(in, 0, sizeof in);
    CHECK(!PASSION_read_section(f, same, (char *)in, NULL, rows), "%s", sluice_errmsg());
    CHECK(in[0] == 105 && in[1] == 108, "%d %d", in[0], in[1]);
    refused(SLUICE_E_ARGUMENT, PASSION_write(f, other, (char *)out), "not the one that the OCAD describes");
    CHECK(!PASSION_read_header(f, (char *)in), "%s", sluice_errmsg());
    CHECK(!PASSION_close(f), "%s", sluice_errmsg());
    CHECK(!sluice_open(&a, name, SLUICE_READ, &d, NULL) && !sluice_read(a, NULL, in), "%s", sluice_errmsg());
    CHECK(!memcmp(in, out, sizeof in), "something else was written");
    CHECK(!sluice_close(a) && !sluice_container_delete(name, NULL, NULL), "%s", sluice_errmsg());
    PASSION_free_OCAD(same);
    PASSION_free_OCAD(other);
}

int main(void) {
    if (!mkdtemp(folder)) return 2;
    snprintf(path, sizeof path, "%s/file", folder);
    ocad_fields();
    header_first();
    wrong_arguments();
    growing_together();
    global_placement();
    several_descriptors();
    large();
    container();
    unlink(path);
    rmdir(folder);
    return verdict();
}
