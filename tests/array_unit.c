/* ranks: 1 */
/* array_unit: what the calls refuse and how they say it; headers, resizing, byte order, places past 4 GiB, several
 * requests outstanding, files that others change meanwhile. */
#include "base/base.h"
#include "sluice.h"
#include "support/unit.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name[] = "array_unit.bin";

/* True; if not, what the library last complained about may say why. */
#define HOLDS(x) CHECK(x, "(%s)", sluice_errmsg())

/* The call fails with this error, and its sentence has these words. */
#define REFUSED(call, error, words)                                                                                    \
    do {                                                                                                               \
        int returned = (call);                                                                                         \
        CHECK(returned == (error) && strstr(sluice_errmsg(), words), "%s: %d, \"%s\"", #call, returned,                \
              sluice_errmsg());                                                                                        \
    } while (0)

static sluice_options replace(void) { return (sluice_options){.size = sizeof(sluice_options), .replace = 1}; }

static void refusals(void) {
    sluice_array *a = NULL;
    sluice_options o = replace();
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 4, 16, {10, 20}}, .type = "float32"};
    char buf[4 * 200];
    memset(buf, 1, sizeof buf);
    REFUSED(sluice_open(&a, "no/such/folder/x.npy", SLUICE_READ, NULL, NULL), -ENOENT, "no/such/folder/x.npy");
    REFUSED(sluice_create(&a, "no/such/folder/x", &d, NULL), -ENOENT, "no/such/folder/x");
    REFUSED(sluice_open(&a, name, 7, &d, NULL), SLUICE_E_ARGUMENT, "mode 7");
    REFUSED(sluice_open(&a, name, SLUICE_READ, &d, &(sluice_options){.size = 1000}), SLUICE_E_ARGUMENT,
            "open array_unit.bin: options of 1000 bytes, made for a newer");
    REFUSED(sluice_create(&a, name, &d, &(sluice_options){.memory = 10}), SLUICE_E_ARGUMENT,
            "create array_unit.bin: a memory limit of 10");
    REFUSED(sluice_open(&a, name, SLUICE_READ, &d, &(sluice_options){.store = SLUICE_STORE_RAM}), SLUICE_E_ARGUMENT,
            "memory");
    REFUSED(sluice_open(&a, name, SLUICE_READ, &d, &(sluice_options){.method = (sluice_method)9}), SLUICE_E_ARGUMENT,
            "open array_unit.bin: unknown method 9");
    REFUSED(sluice_open(&a, name, SLUICE_READ, &d, &(sluice_options){.store = (sluice_store_kind)9}), SLUICE_E_ARGUMENT,
            "store");
    HOLDS(!sluice_create(&a, name, &d, &o));
    HOLDS(!sluice_write(a, NULL, buf));
    REFUSED(sluice_read(a, (sluice_range[]){{0, 11, 1}, {0, 1, 1}}, buf), SLUICE_E_ARGUMENT, "dimension 0");
    REFUSED(sluice_read(a, (sluice_range[]){{0, 2, 0}, {0, 1, 1}}, buf), SLUICE_E_ARGUMENT, "step 0");
    REFUSED(sluice_read(a, (sluice_range[]){{0, 2, -1}, {0, 1, 1}}, buf), SLUICE_E_ARGUMENT, "step -1");
    REFUSED(sluice_read(a, (sluice_range[]){{0, 1, 1}, {-1, 1, 1}}, buf), SLUICE_E_ARGUMENT, name);
    REFUSED(sluice_read(a, (sluice_range[]){{0, 1, 1}, {0, INT64_MAX, INT64_MAX}}, buf), SLUICE_E_ARGUMENT, name);
    REFUSED(sluice_read_parts(a, NULL, -1), SLUICE_E_ARGUMENT, "-1 parts");
    HOLDS(!sluice_read_parts(a, NULL, 0));
    sluice_range one[] = {{0, 1, 1}, {0, 5, 1}};
    REFUSED(sluice_read_parts(a, &(sluice_part){.range = one, .buf = buf, .buf_dim = (int64_t[]){1, 4}}, 1),
            SLUICE_E_ARGUMENT, "dimension 1");
    sluice_index index[] = {{(int64_t[]){3, 3}, 2}, {(int64_t[]){0}, 1}};
    REFUSED(sluice_read_parts(a, &(sluice_part){.index = index, .buf = buf}, 1), SLUICE_E_ORDER, "ascend");
    index[0] = (sluice_index){(int64_t[]){3, 10}, 2};
    REFUSED(sluice_read_parts(a, &(sluice_part){.index = index, .buf = buf}, 1), SLUICE_E_ARGUMENT, "index 10");
    REFUSED(sluice_read_header(a, buf, 17), SLUICE_E_ARGUMENT, "header");
    REFUSED(sluice_resize(a, -1), SLUICE_E_ARGUMENT, name);
    HOLDS(!sluice_close(a));
    REFUSED(sluice_create(&a, name, &d, NULL), -EEXIST, name);
    HOLDS(!sluice_open(&a, name, SLUICE_READ, &d, NULL));
    REFUSED(sluice_write(a, NULL, buf), -EBADF, "reading only");
    REFUSED(sluice_resize(a, 5), -EBADF, "reading only");
    REFUSED(sluice_write_header(a, buf, 4), -EBADF, "reading only");
    HOLDS(!sluice_close(a));
    d.shape.dim[0] = 11;
    REFUSED(sluice_open(&a, name, SLUICE_READ, &d, NULL), SLUICE_E_FORMAT, name);
    d.shape.dim[0] = INT64_MAX / 4;
    REFUSED(sluice_open(&a, name, SLUICE_READ, &d, NULL), SLUICE_E_OVERFLOW, "2^63");
    d.shape.dim[0] = 10;
    strcpy(d.type, "float31");
    REFUSED(sluice_open(&a, name, SLUICE_READ, &d, NULL), SLUICE_E_ARGUMENT, "float31");
    REFUSED(sluice_open(&a, name, SLUICE_READ, NULL, NULL), SLUICE_E_FORMAT, name);
    HOLDS(!sluice_close(NULL));
}

/* A wrong description does not cost the file that is there. */
static void replacing(void) {
    sluice_array *a = NULL;
    struct stat before, after;
    sluice_options o = replace();
    sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 4, 0, {10}}, .type = "float32"};
    HOLDS(!sluice_create(&a, name, &d, &o) && !sluice_close(a) && !stat(name, &before));
    strcpy(d.type, "nonsense");
    REFUSED(sluice_create(&a, name, &d, &o), SLUICE_E_ARGUMENT, "create array_unit.bin: there is no element type");
    HOLDS(!stat(name, &after) && after.st_size == before.st_size);
    strcpy(d.type, ">f4");
    REFUSED(sluice_create(&a, name, &d, &o), SLUICE_E_ARGUMENT, "create array_unit.bin: new files have this machine's");
    HOLDS(!stat(name, &after) && after.st_size == before.st_size);
    d = (sluice_desc){.shape = {SLUICE_MAX_DIMS + 1, SLUICE_ROW_MAJOR, 4, 0, {10}}};
    REFUSED(sluice_create(&a, name, &d, &o), SLUICE_E_ARGUMENT, "create array_unit.bin: 17 dimensions");
    HOLDS(!stat(name, &after) && after.st_size == before.st_size);
}

/* The number of names in this folder that start so. */
static int names(const char *start) {
    int n = 0;
    DIR *folder = opendir(".");
    for (struct dirent *e; folder && (e = readdir(folder));) n += !strncmp(e->d_name, start, strlen(start));
    if (folder) closedir(folder);
    return n;
}

/* The new file takes the place of the old one when it is whole: if that cannot be, the old one is as it was. A symbolic
 * link stays, permissions stay, and a handle that is open on the old file keeps it. */
static void taking_place(void) {
    char folder[] = "array_unit.XXXXXX"; /* no other test leaves anything there */
    HOLDS(mkdtemp(folder) && !chdir(folder));
    static const char link[] = "array_unit.link";
    sluice_array *a = NULL, *old = NULL;
    struct stat before, after;
    struct rlimit limit, small;
    sluice_options o = replace();
    sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 1, 0, {10}}},
                large = {.shape = {1, SLUICE_ROW_MAJOR, 1, 0, {1 << 20}}};
    char buf[10];
    unlink(name);
    unlink(link);
    HOLDS(!sluice_create(&a, name, &d, &o) && !sluice_write(a, NULL, "0123456789") && !sluice_close(a));
    HOLDS(!chmod(name, 0640) && !symlink(name, link) && !stat(name, &before));
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    HOLDS(!getrlimit(RLIMIT_FSIZE, &limit));
    small = limit;
    small.rlim_cur = 1 << 16;
    HOLDS(!setrlimit(RLIMIT_FSIZE, &small));
    REFUSED(sluice_create(&a, name, &large, &o), -EFBIG, "create array_unit.bin at byte 1048576: File too large");
    REFUSED(sluice_create(&a, link, &large, &o), -EFBIG, "create array_unit.link at byte 1048576: File too large");
    REFUSED(sluice_create(&a, "array_unit.new", &large, &o), -EFBIG, "create array_unit.new at byte");
    REFUSED(sluice_create(&a, "array_unit.new", &large, NULL), -EFBIG, "create array_unit.new at byte");
    HOLDS(!setrlimit(RLIMIT_FSIZE, &limit) && names("array_unit.new") == 0);
    signal(SIGXFSZ, was);
    HOLDS(!sluice_open(&old, name, SLUICE_WRITE, &d, NULL) && !sluice_read(old, NULL, buf) &&
          !memcmp(buf, "0123456789", 10));
    HOLDS(!stat(name, &after) && after.st_ino == before.st_ino && !lstat(link, &after) && S_ISLNK(after.st_mode));

    HOLDS(!sluice_create(&a, link, &large, &o) && !sluice_close(a));
    HOLDS(!lstat(link, &after) && S_ISLNK(after.st_mode));
    HOLDS(!stat(name, &after) && after.st_size == 1 << 20 && (after.st_mode & 0777) == 0640);
    HOLDS(!sluice_read(old, NULL, buf) && !memcmp(buf, "0123456789", 10) && !sluice_close(old));

    HOLDS(!unlink(name));
    REFUSED(sluice_create(&a, link, &d, &o), -ENOENT, "leads nowhere");
    REFUSED(sluice_create(&a, ".", &d, &o), -EISDIR, "create .: not a regular file");
    REFUSED(sluice_create(&a, "/dev/null", &d, &o), -EINVAL, "create /dev/null: not a regular file");
    REFUSED(sluice_create(&a, "no/such/folder/x", &d, &o), -ENOENT, "create no/such/folder/x: No such file");
    unlink(link);
    CHECK(names("") == 2, "%d files are left over", names("") - 2); /* but . and .. */
    HOLDS(!chdir("..") && !rmdir(folder));
}

/* Of an array without elements, whose extents have no product, nothing can be wanted; indices are checked all the same.
 */
static void no_elements(void) {
    const int64_t far = INT64_C(1) << 62;
    sluice_array *a = NULL;
    sluice_options o = replace();
    sluice_desc d = {.shape = {3, SLUICE_ROW_MAJOR, 8, 0, {0, far, far}}};
    sluice_index index[] = {{NULL, 0}, {(int64_t[]){0, 5}, 2}, {(int64_t[]){0, 5}, 2}};
    char buf[8];
    HOLDS(!sluice_create(&a, name, &d, &o));
    HOLDS(!sluice_read_parts(a, &(sluice_part){.index = index, .buf = buf}, 1));
    index[1].i = (int64_t[]){0, far};
    REFUSED(sluice_read_parts(a, &(sluice_part){.index = index, .buf = buf}, 1), SLUICE_E_ARGUMENT, "dimension 1");
    HOLDS(!sluice_close(a));
}

static void headers_and_sizes(void) {
    sluice_array *a = NULL;
    sluice_options o = replace();
    sluice_desc d = {.shape = {2, SLUICE_COLUMN_MAJOR, 12, 100, {3, 4}}};
    char header[100], back[100], buf[12 * 3 * 9], got[12 * 3 * 9];
    for (size_t i = 0; i < sizeof buf; i++) buf[i] = (char)i;
    memset(header, 'h', sizeof header);
    HOLDS(!sluice_create(&a, name, &d, &o));
    HOLDS(!sluice_write_header(a, header, 100) && !sluice_write(a, NULL, buf));
    HOLDS(!sluice_resize(a, 9) && sluice_describe(a)->shape.dim[1] == 9);
    HOLDS(!sluice_read(a, NULL, got) && !memcmp(got, buf, 12 * 3 * 4));
    for (size_t i = 12 * 3 * 4; i < sizeof got; i++) HOLDS(got[i] == 0);
    HOLDS(!sluice_write(a, NULL, buf) && !sluice_resize(a, 2) && !sluice_resize(a, 4));
    HOLDS(!sluice_read(a, NULL, got) && !memcmp(got, buf, 12 * 3 * 2) && got[12 * 3 * 2] == 0);
    HOLDS(!sluice_read_header(a, back, 100) && !memcmp(header, back, 100) && !sluice_sync(a) && !sluice_close(a));
    d.format = SLUICE_NPY;
    strcpy(d.type, "V12");
    HOLDS(!sluice_create(&a, name, &d, &o));
    REFUSED(sluice_write_header(a, header, 10), SLUICE_E_ARGUMENT, "npy");
    HOLDS(!sluice_resize(a, 1000000) && !sluice_resize(a, 5) && !sluice_close(a));
    HOLDS(!sluice_open(&a, name, SLUICE_READ, NULL, NULL) && sluice_describe(a)->shape.dim[1] == 5 && !sluice_close(a));
}

/* Big-endian files are read in the machine's order, also into a larger buffer, and are not written. */
static void byte_order(void) {
    sluice_array *a = NULL;
    unsigned char file[6 * 4], big[4 * 5 * 4];
    uint32_t got[6];
    for (size_t i = 0; i < sizeof file; i++) file[i] = (unsigned char)(i + 1);
    FILE *f = fopen(name, "w");
    HOLDS(f && fwrite(file, 1, sizeof file, f) == sizeof file && !fclose(f));
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 4, 0, {2, 3}}, .type = ">u4"};
    HOLDS(!sluice_open(&a, name, SLUICE_WRITE, &d, NULL));
    HOLDS(sluice_describe(a)->swapped && !sluice_read(a, NULL, got));
    for (int i = 0; i < 6; i++) {
        uint32_t want = (uint32_t)file[4 * i] << 24 | (uint32_t)file[4 * i + 1] << 16 | (uint32_t)file[4 * i + 2] << 8 |
                        file[4 * i + 3];
        HOLDS(got[i] == want);
    }
    memset(big, 0xAA, sizeof big);
    sluice_part p = {.buf = big, .buf_dim = (int64_t[]){4, 5}, .buf_at = (int64_t[]){1, 1}};
    HOLDS(!sluice_read_parts(a, &p, 1) && big[0] == 0xAA && big[6 * 4] == 4 && big[6 * 4 + 3] == 1);
    REFUSED(sluice_write(a, NULL, got), SLUICE_E_ARGUMENT, "byte order");
    HOLDS(!sluice_close(a));
}

/* A sparse file of some 6 GiB; every method. */
static void far_away(void) {
    for (int method = SLUICE_AUTO; method <= SLUICE_MAPPED; method++) {
        sluice_array *a = NULL;
        sluice_options o = replace();
        o.method = (sluice_method)method;
        sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 8, 0, {800, 1000000}}, .type = "int64"};
        int64_t out[100], in[100];
        for (int i = 0; i < 100; i++) out[i] = i + 1000 * method;
        sluice_range r[] = {{700, 10, 9}, {999000, 10, 50}};
        HOLDS(!sluice_create(&a, name, &d, &o));
        HOLDS(!sluice_write(a, r, out) && !sluice_read(a, r, in) && !memcmp(in, out, sizeof in));
        HOLDS(!sluice_read(a, (sluice_range[]){{700, 1, 1}, {999000, 51, 1}}, in) && in[0] == out[0] && in[1] == 0 &&
              in[50] == out[1]);
        HOLDS(!sluice_close(a));
    }
}

/* A limit is not a wish: the buffer is no larger than what is asked spans, and an old one goes before a new one comes.
 */
static void buffers(void) {
    enum { LIMIT = 1 << 20, BESIDE = 16 << 10 }; /* beside it: sets and requests */
    sluice_array *a = NULL;
    sluice_options o = replace();
    unsigned char buf[100];
    sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 1, 0, {4 * LIMIT}}};
    o.method = SLUICE_SIEVE;
    o.memory = INT64_C(1) << 45;
    HOLDS(!sluice_create(&a, name, &d, &o) && !sluice_read(a, (sluice_range[]){{0, 10, 100}}, buf) && !sluice_close(a));
    o.memory = LIMIT;
    HOLDS(!sluice_create(&a, name, &d, &o));
    const int64_t live = sluice_mem_live();
    sluice_mem_peak_reset();
    HOLDS(!sluice_read(a, (sluice_range[]){{0, 100, LIMIT / 200}}, buf));
    HOLDS(sluice_mem_peak() - live > LIMIT / 4 && sluice_mem_peak() - live < LIMIT / 2 + BESIDE);
    HOLDS(!sluice_read(a, (sluice_range[]){{0, 100, 4 * LIMIT / 100}}, buf));
    CHECK(sluice_mem_peak() - live > LIMIT / 2 && sluice_mem_peak() - live < LIMIT + BESIDE, "%lld",
          (long long)(sluice_mem_peak() - live));
    HOLDS(!sluice_close(a));
    /* No memory for the buffer; the next call gets it. */
    HOLDS(!sluice_create(&a, name, &d, &o));
    int err = 0, refused = 0;
    for (int n = 1; n < 20; n++) {
        sluice_mem_fail_nth(n);
        err = sluice_read(a, (sluice_range[]){{0, 100, 100}}, buf);
        sluice_mem_fail_nth(0);
        if (!err) break;
        HOLDS(err == -ENOMEM && !strncmp(sluice_errmsg(), "read array_unit.bin: ", 21));
        refused += strstr(sluice_errmsg(), "buffer of 9901 bytes") != NULL;
    }
    HOLDS(!err && refused == 1 && !sluice_close(a));
}

/* More than 2 GiB in one call, into one buffer. */
static void large_call(void) {
    sluice_array *a = NULL;
    sluice_options o = replace();
    const int64_t n = ((int64_t)9 << 28) + 5; /* 2.25 GiB */
    sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 1, 0, {n}}};
    unsigned char mark = 77, *buf = calloc((size_t)n, 1);
    sluice_range last = {n - 1, 1, 1}, middle = {(int64_t)1 << 31, 1, 1};
    HOLDS(buf && !sluice_create(&a, name, &d, &o));
    HOLDS(!sluice_write(a, &last, &mark) && !sluice_write(a, &middle, &mark));
    HOLDS(!sluice_read(a, NULL, buf) && buf[n - 1] == 77 && buf[(int64_t)1 << 31] == 77 && buf[n - 2] == 0);
    HOLDS(!sluice_close(a));
    free(buf);
}

/* Several requests in flight, waited for in any order; a call in between waits for them. */
static void outstanding(void) {
    enum { N = 20 };
    sluice_array *a = NULL;
    sluice_options o = replace();
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 4, 0, {N, 1000}}, .type = "int32"};
    static int32_t out[N][1000], in[N][1000], all[N][1000];
    sluice_request *w[N], *r[N];
    HOLDS(!sluice_create(&a, name, &d, &o));
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 1000; k++) out[i][k] = i * 1000 + k;
        sluice_range range[] = {{i, 1, 1}, {0, 1000, 1}};
        HOLDS(!sluice_write_start(&w[i], a, &(sluice_part){.range = range, .buf = out[i]}, 1));
        HOLDS(!sluice_read_start(&r[i], a, &(sluice_part){.range = range, .buf = in[i]}, 1));
    }
    HOLDS(!sluice_read(a, NULL, all) && !memcmp(all, out, sizeof all));
    for (int i = N - 1; i >= 0; i--) HOLDS(!sluice_wait(r[i]) && !sluice_wait(w[i]));
    HOLDS(!memcmp(in, out, sizeof in) && !sluice_close(a));
}

/* Someone cuts the file short under an open handle: zeros, or an honest error, but no crash. */
static void cut_short(void) {
    sluice_array *a = NULL;
    sluice_options o = replace();
    sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 1, 0, {1 << 20}}};
    unsigned char *buf = malloc(1 << 20);
    memset(buf, 5, 1 << 20);
    HOLDS(!sluice_create(&a, name, &d, &o) && !sluice_write(a, NULL, buf));
    HOLDS(!sluice_read(a, NULL, buf) && !sluice_read(a, NULL, buf));
    HOLDS(!truncate(name, 100000));
    int err = sluice_read(a, NULL, buf);
    HOLDS(err < 0 || (buf[99999] == 5 && buf[100000 + 4096] == 0));
    HOLDS(!sluice_close(a));
    free(buf);
}

int main(void) {
    refusals();
    replacing();
    taking_place();
    no_elements();
    headers_and_sizes();
    byte_order();
    far_away();
    buffers();
    large_call();
    outstanding();
    cut_short();
    unlink(name);
    return verdict();
}
