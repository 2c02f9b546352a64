/* ranks: 1 */
/* passion_model.c: every PASSION routine, in random worlds, against its definition: a plain image of the file, changed
 * element by element. */
#include "array/array.h"
#include "passion.h"
#include "support/unit.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

/* ---- The definition ---- */

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

/* ---- Random worlds ---- */

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

int main(void) {
    const char *cases = getenv("SLUICE_TEST_CASES");
    if (!mkdtemp(folder)) return 2;
    snprintf(path, sizeof path, "%s/file", folder);
    random_worlds(cases ? atoi(cases) : 1500);
    unlink(path);
    rmdir(folder);
    return verdict();
}
