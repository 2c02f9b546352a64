/* ranks: 1 */
/* passion.c: every PASSION routine against its definition: a plain image of the file, changed element by element. */
#include "passion.h"
#include "array/array.h"
#include "support/unit.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A number in [0, n): PASSION counts in int. */
static int pick(int n) { return (int)below(n); }

static char folder[] = "/tmp/passion.XXXXXX", path[64];

static unsigned char *bytes_new(int64_t n, int fill) {
    unsigned char *p = malloc((size_t)n + 1);
    if (!p) exit(2);
    memset(p, fill, (size_t)n + 1);
    return p;
}

static int64_t file_size(void) {
    struct stat st;
    return stat(path, &st) ? -1 : st.st_size;
}

/* ---- The definition ------------------------------------------------------------------------------------------ */

enum { DIMS = 4, GUARD = 64, FILL = 0xee };

/* A file with its array, as it should be. */
typedef struct world {
    int n, base, elem, storage, header;
    int ocla[DIMS], icla[DIMS][2], overlap[DIMS][2];
    int64_t bytes; /* of the file */
    unsigned char *image;
    OCAD *ocad;
    PFILE *file;
} world;

/* Where element c[] (from 0) of an array of dim[] lies, in elements. */
static int64_t place(const world *w, const int *dim, const int *c) {
    int64_t at = 0;
    for (int k = 0; k < w->n; k++) {
        int d = w->storage == ROW_MAJOR ? k : w->n - 1 - k;
        at = at * dim[d] + c[d];
    }
    return at;
}

static int64_t product(const int *dim, int n) {
    int64_t p = 1;
    for (int d = 0; d < n; d++) p *= dim[d];
    return p;
}

static void buffer_dims(const world *w, int *dim) {
    for (int d = 0; d < w->n; d++) dim[d] = w->overlap[d][0] + w->icla[d][0] + w->overlap[d][1];
}

/* Memory for the ICLA with overlap, between guards. */
static unsigned char *buffer_new(const world *w) {
    int dim[DIMS];
    buffer_dims(w, dim);
    return bytes_new(product(dim, w->n) * w->elem + 2 * GUARD, FILL) + GUARD;
}

static void buffer_free(unsigned char *b) { free(b - GUARD); }

/* Whether both are the same, guards included. */
static bool buffer_same(const world *w, const unsigned char *a, const unsigned char *b) {
    int dim[DIMS];
    buffer_dims(w, dim);
    return !memcmp(a - GUARD, b - GUARD, (size_t)(product(dim, w->n) * w->elem + 2 * GUARD));
}

static void randomise(unsigned char *p, int64_t n) {
    for (int64_t i = 0; i < n; i++) p[i] = (unsigned char)pick(256);
}

/* The next index of a box of count[]; false after the last. */
static bool next_index(int *i, const int *count, int n) {
    for (int d = 0; d < n; d++) {
        if (++i[d] < count[d]) return true;
        i[d] = 0;
    }
    return false;
}

/* Copies a section between the image and a buffer, element by element. */
static void copy_section(world *w, unsigned char *buf, const int *index, int (*access)[3], bool to_file) {
    int count[DIMS], i[DIMS] = {0}, from[DIMS], at[DIMS], dim[DIMS];
    buffer_dims(w, dim);
    for (int d = 0; d < w->n; d++) {
        if (access[d][1] < access[d][0]) return;
        count[d] = (access[d][1] - access[d][0]) / access[d][2] + 1;
    }
    do {
        for (int d = 0; d < w->n; d++) {
            from[d] = access[d][0] - w->base + i[d] * access[d][2];
            at[d] = index[d] - w->base + i[d];
        }
        unsigned char *in_file = w->image + w->header + place(w, w->ocla, from) * w->elem;
        unsigned char *in_memory = buf + place(w, dim, at) * w->elem;
        memcpy(to_file ? in_file : in_memory, to_file ? in_memory : in_file, (size_t)w->elem);
    } while (next_index(i, count, w->n));
}

/* The bytes that are really in the file. */
static void check_file(const world *w, const char *what) {
    unsigned char *got = bytes_new(w->bytes, 0);
    int fd = open(path, O_RDONLY);
    int64_t n = pread(fd, got, (size_t)w->bytes + 1, 0);
    close(fd);
    CHECK(n == w->bytes, "%s: the file has %lld bytes, not %lld", what, (long long)n, (long long)w->bytes);
    CHECK(!memcmp(got, w->image, (size_t)w->bytes), "%s: the file differs", what);
    free(got);
}

/* ---- Random worlds ------------------------------------------------------------------------------------------- */

static void fill(world *w) {
    int ones[DIMS] = {1, 1, 1, 1}, distribution[DIMS][2] = {{0, 0}};
    int err =
        PASSION_fill_OCAD(w->ocad, w->ocla, distribution, ones, w->ocla, w->icla, w->overlap, w->elem, w->storage);
    CHECK(err == 0, "%s", sluice_errmsg());
}

static void world_open(world *w) {
    w->file = PASSION_open(path, (unsigned)w->header);
    CHECK(w->file, "%s", sluice_errmsg());
    if (!w->file) exit(1);
    if (pick(2)) w->file->array->io.no_map = true; /* reads by requests, too */
}

static world world_new(void) {
    static const int elem[] = {1, 2, 4, 8, 12, 24}, header[] = {0, 16, 100};
    world w = {.n = 1 + pick(DIMS), .base = pick(2), .elem = elem[pick(6)], .header = header[pick(3)]};
    w.storage = pick(2) ? ROW_MAJOR : COLUMN_MAJOR;
    for (int d = 0; d < w.n; d++) {
        w.ocla[d] = 1 + pick(8);
        w.icla[d][0] = 1 + pick(9);
        w.icla[d][1] = pick(5);
        for (int k = 0; k < 2; k++) w.overlap[d][k] = pick(2) ? pick(3) : 0;
    }
    w.bytes = w.header + product(w.ocla, w.n) * w.elem;
    w.image = bytes_new(w.bytes, 0);
    unlink(path);
    CHECK(PASSION_set_base(w.base) == 0, "%s", sluice_errmsg());
    w.ocad = PASSION_malloc_OCAD(w.n);
    fill(&w);
    world_open(&w);
    return w;
}

static void world_free(world *w) {
    CHECK(PASSION_close(w->file) == 0, "%s", sluice_errmsg());
    PASSION_free_OCAD(w->ocad);
    free(w->image);
    CHECK(sluice_mem_live() == 0, "%lld bytes leaked", (long long)sluice_mem_live());
}

/* A section that fits into the buffer; now and then an empty one. */
static void random_section(const world *w, int *index, int (*access)[3]) {
    int dim[DIMS];
    buffer_dims(w, dim);
    for (int d = 0; d < w->n; d++) {
        int lower = pick(w->ocla[d]), upper = lower + pick(w->ocla[d] - lower), stride = 1 + pick(3);
        while ((upper - lower) / stride + 1 > dim[d]) upper--;
        int count = (upper - lower) / stride + 1;
        if (!pick(30)) upper = lower - 1 - pick(2), count = 0;
        index[d] = w->base + pick(dim[d] - count + 1);
        access[d][0] = lower + w->base;
        access[d][1] = upper + w->base;
        access[d][2] = stride;
    }
}

static void read_section(world *w) {
    int index[DIMS], access[DIMS][3];
    random_section(w, index, access);
    unsigned char *got = buffer_new(w), *want = buffer_new(w);
    copy_section(w, want, index, access, false);
    CHECK(PASSION_read_section(w->file, w->ocad, (char *)got, index, access) == 0, "%s", sluice_errmsg());
    CHECK(buffer_same(w, got, want), "read_section");
    buffer_free(got);
    buffer_free(want);
}

static void write_section(world *w) {
    int index[DIMS], access[DIMS][3], dim[DIMS];
    random_section(w, index, access);
    buffer_dims(w, dim);
    unsigned char *data = buffer_new(w), *same = buffer_new(w);
    randomise(data, product(dim, w->n) * w->elem);
    memcpy(same, data, (size_t)(product(dim, w->n) * w->elem));
    copy_section(w, data, index, access, true);
    CHECK(PASSION_write_section(w->file, w->ocad, (char *)data, index, access) == 0, "%s", sluice_errmsg());
    CHECK(buffer_same(w, data, same), "write_section changed its buffer");
    check_file(w, "write_section");
    buffer_free(data);
    buffer_free(same);
}

/* Several outstanding, waited for in any order, or only after the file was closed. */
static void prefetch(world *w) {
    enum { MANY = 5 };
    PREFETCH *p[MANY];
    unsigned char *got[MANY], *want[MANY];
    bool close_first = !pick(4);
    for (int i = 0; i < MANY; i++) {
        int index[DIMS], access[DIMS][3];
        random_section(w, index, access);
        got[i] = buffer_new(w);
        want[i] = buffer_new(w);
        copy_section(w, want[i], index, access, false);
        p[i] = (i % 2 ? PASSION_read_prefetch : PASSION_prefetch_read)(w->file, w->ocad, (char *)got[i], index, access);
        CHECK(p[i], "%s", sluice_errmsg());
        memset(access, 0, sizeof access); /* the call has returned: its arguments are ours again */
        if (!pick(4)) read_section(w);
    }
    if (close_first) CHECK(PASSION_close(w->file) == 0, "%s", sluice_errmsg());
    for (int k = 0, i = pick(MANY); k < MANY; k++, i = (i + 2) % MANY) {
        CHECK(PASSION_prefetch_wait(p[i]) == 0, "%s", sluice_errmsg());
        CHECK(buffer_same(w, got[i], want[i]), "prefetch %d", i);
        buffer_free(got[i]);
        buffer_free(want[i]);
    }
    if (close_first) world_open(w);
}

static void whole(world *w) {
    int64_t n = w->bytes - w->header;
    unsigned char *got = bytes_new(n + 2 * GUARD, FILL), *want = bytes_new(n + 2 * GUARD, FILL);
    if (pick(2)) {
        randomise(w->image + w->header, n);
        CHECK(PASSION_write(w->file, w->ocad, (char *)w->image + w->header) == 0, "%s", sluice_errmsg());
        check_file(w, "write");
    }
    memcpy(want + GUARD, w->image + w->header, (size_t)n);
    CHECK(PASSION_read(w->file, w->ocad, (char *)got + GUARD) == 0, "%s", sluice_errmsg());
    CHECK(!memcmp(got, want, (size_t)(n + 2 * GUARD)), "read");
    free(got);
    free(want);
}

static void headers(world *w) {
    unsigned char *got = bytes_new(w->header + GUARD, FILL), *want = bytes_new(w->header + GUARD, FILL);
    if (pick(2)) {
        randomise(w->image, w->header);
        CHECK(PASSION_write_header(w->file, (char *)w->image) == 0, "%s", sluice_errmsg());
        check_file(w, "write_header");
    }
    memcpy(want, w->image, (size_t)w->header);
    CHECK(PASSION_read_header(w->file, (char *)got) == 0, "%s", sluice_errmsg());
    CHECK(!memcmp(got, want, (size_t)(w->header + GUARD)), "read_header");
    free(got);
    free(want);
}

/* The section that one step of a walk must bring, from the definition: indices [from, to) of the slowest dimension, so
 * that `first` lies behind the lower overlap. */
static void slab_section(const world *w, int slow, int first, int from, int to, int *index, int (*access)[3]) {
    for (int d = 0; d < w->n; d++) {
        index[d] = w->base + w->overlap[d][0];
        access[d][0] = w->base;
        access[d][1] = w->base + w->ocla[d] - 1;
        access[d][2] = 1;
    }
    index[slow] += from - first;
    access[slow][0] = w->base + from;
    access[slow][1] = w->base + to - 1;
}

/* A walk with reuse, beside one that reads every slab anew; what is outside the array stays in both. */
static void reuse(world *w) {
    int slow = w->storage == ROW_MAJOR ? 0 : w->n - 1, index[DIMS], access[DIMS][3], had = 0;
    for (int d = 0; d < w->n; d++)
        if (d != slow && w->icla[d][0] < w->ocla[d]) {
            CHECK(!PASSION_reuse_init(w->file, w->ocad, w->base), "an ICLA that does not span dimension %d", d);
            return;
        }
    int extent = w->ocla[slow], count = w->icla[slow][0], start = pick(extent + 2);
    bool alone = pick(2);
    unsigned char *got = buffer_new(w), *want = buffer_new(w);
    REUSE *r = pick(2) ? PASSION_reuse_init(w->file, w->ocad, start + w->base)
                       : PASSION_read_reuse(w->file, w->ocad, start + w->base);
    CHECK(r, "%s", sluice_errmsg());
    int64_t rows = 0, row = product(w->ocla, w->n) / extent * w->elem;
    sluice_counts before, after;
    sluice_count(w->file->array, &before);
    for (int first = start; first < extent; first += count) {
        int end = first + count < extent ? first + count : extent;
        int from = first > w->overlap[slow][0] ? first - w->overlap[slow][0] : 0;
        int to = end + w->overlap[slow][1] < extent ? end + w->overlap[slow][1] : extent;
        slab_section(w, slow, first, from, to, index, access);
        copy_section(w, want, index, access, false);
        CHECK(PASSION_read_reuse(r, (char *)got) == 0, "%s", sluice_errmsg());
        CHECK(buffer_same(w, got, want), "slab from %d", first);
        CHECK(r->start == first + w->base && r->count == end - first, "slab %d + %d", r->start, r->count);
        CHECK(r->lower == first - from && r->upper == to - end, "overlap %d and %d", r->lower, r->upper);
        rows += to - (had > from ? had : from);
        had = to;
        if (!alone) read_section(w); /* the walk does not mind, but the counts do */
    }
    sluice_count(w->file->array, &after);
    if (alone) {
        CHECK(after.wanted_read - before.wanted_read == rows * row, "bytes wanted");
        CHECK(after.bytes_read + after.mapped_read - before.bytes_read - before.mapped_read == rows * row,
              "bytes read");
    }
    CHECK(PASSION_read_reuse(r, (char *)got) == -1, "after the end");
    CHECK(PASSION_read_reuse(r, (char *)got) == -1 && buffer_same(w, got, want), "and again");
    if (pick(2)) PASSION_free_REUSE(r); /* else it goes with the file */
    buffer_free(got);
    buffer_free(want);
}

static void random_worlds(int n) {
    void (*const step[])(world *) = {read_section, write_section, prefetch, whole, headers, reuse};
    for (int i = 0; i < n && !failures; i++) {
        world w = world_new();
        if (pick(2))
            write_section(&w); /* makes the file whole */
        else
            CHECK(PASSION_write(w.file, w.ocad, (char *)w.image + w.header) == 0, "%s", sluice_errmsg());
        for (int k = 0; k < 8 && !failures; k++) step[pick(6)](&w);
        if (failures)
            printf("world %d: %d dimensions, storage %d, elements of %d, header %d, base %d\n", i, w.n, w.storage,
                   w.elem, w.header, w.base);
        world_free(&w);
    }
}

/* ---- One thing at a time ------------------------------------------------------------------------------------- */

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

int main(void) {
    const char *cases = getenv("SLUICE_TEST_CASES");
    if (!mkdtemp(folder)) return 2;
    snprintf(path, sizeof path, "%s/file", folder);
    ocad_fields();
    header_first();
    wrong_arguments();
    global_placement();
    several_descriptors();
    large();
    random_worlds(cases ? atoi(cases) : 1500);
    unlink(path);
    rmdir(folder);
    return verdict();
}
