/* ranks: 1 */
/* array_random.c: random parts of random arrays, in files and in containers of any layout, read and written by every
 * method and store, against a plain copy of the file in memory that is visited element by element. Subfiles are
 * compared with it byte by byte. With checksums, these are compared with the definition, and a flipped bit is found by
 * whoever reads its block. Draws can be shrunk; the seed is printed. */
#include "array/array.h"
#include "contained.h"
#include "support/random.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS = 3, MARGIN = 16, EVERY = 10 /* one in so many is a container: making it takes syncs */ };
static const char *path;
static contained tree;
static layout_case layout;

/* One part, as the library gets it and as elements. */
typedef struct part {
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_index index[SLUICE_MAX_DIMS];
    int64_t list[SLUICE_MAX_DIMS][16];
    int64_t count[SLUICE_MAX_DIMS], dim[SLUICE_MAX_DIMS], at[SLUICE_MAX_DIMS];
    unsigned char *buf, *expect;
    int64_t bytes;
    sluice_part p;
} part;

static int64_t choose(chance *c, const sluice_shape *s, part *p) {
    bool lists = chance_once_in(c, 4), larger = chance_once_in(c, 3);
    memset(p, 0, sizeof *p);
    p->bytes = s->elem;
    for (int d = 0; d < s->ndims; d++) {
        int64_t n = s->dim[d];
        p->index[d].i = p->list[d];
        if (lists) {
            for (int64_t i = 0; i < n && p->count[d] < 16; i++)
                if (chance_once_in(c, 2)) p->list[d][p->count[d]++] = i;
            p->index[d].n = p->count[d];
        } else {
            int64_t start = chance_draw(c, 0, n - 1), step = chance_low(c, 1, 4), most = (n - 1 - start) / step + 1;
            p->count[d] = chance_once_in(c, 20) ? 0 : most - chance_low(c, 0, most - 1);
            p->range[d] = (sluice_range){start, p->count[d], step};
            for (int64_t i = 0; i < p->count[d]; i++)
                if (i < 16) p->list[d][i] = start + i * step;
        }
        p->at[d] = larger ? chance_draw(c, 0, 2) : 0;
        p->dim[d] = p->count[d] + p->at[d] + (larger ? chance_draw(c, 0, 2) : 0);
        p->bytes *= p->dim[d];
    }
    p->p = (sluice_part){lists ? NULL : p->range, lists ? p->index : NULL, NULL, larger ? p->dim : NULL,
                         larger ? p->at : NULL};
    return p->bytes;
}

/* Offset of an element in a box of extents dim. */
static int64_t offset(const sluice_shape *s, const int64_t *dim, const int64_t *i) {
    int64_t off = 0;
    for (int k = 0; k < s->ndims; k++) {
        int d = s->order == SLUICE_ROW_MAJOR ? k : s->ndims - 1 - k;
        off = off * dim[d] + i[d];
    }
    return off * s->elem;
}

/* Visits all elements of a part: copies between the copy of the file and the part's buffer. */
static void copy(const sluice_shape *s, const part *p, unsigned char *file, unsigned char *buf, bool write) {
    int64_t i[SLUICE_MAX_DIMS] = {0};
    for (int d = 0; d < s->ndims; d++)
        if (p->count[d] == 0) return;
    for (;;) {
        int64_t in_file[SLUICE_MAX_DIMS], in_buf[SLUICE_MAX_DIMS];
        for (int d = 0; d < s->ndims; d++) {
            in_file[d] = p->p.index ? p->list[d][i[d]] : p->range[d].start + i[d] * p->range[d].step;
            in_buf[d] = p->at[d] + i[d];
        }
        unsigned char *x = file + s->header + offset(s, s->dim, in_file), *y = buf + offset(s, p->dim, in_buf);
        if (write)
            memcpy(x, y, (size_t)s->elem);
        else
            memcpy(y, x, (size_t)s->elem);
        int d = 0;
        while (d < s->ndims && ++i[d] == p->count[d]) i[d++] = 0;
        if (d == s->ndims) return;
    }
}

static int transfer(sluice_array *a, bool write, const sluice_part *p, int n, bool background) {
    sluice_request *r;
    if (!background) return write ? sluice_write_parts(a, p, n) : sluice_read_parts(a, p, n);
    int err = write ? sluice_write_start(&r, a, p, n) : sluice_read_start(&r, a, p, n);
    return err ? err : sluice_wait(r);
}

typedef struct verdict {
    char text[1000];
} verdict;

static void note(verdict *v, const char *what) {
    snprintf(v->text + strlen(v->text), sizeof v->text - strlen(v->text), ": %s", what);
}

/* The parts of one call, carried out and checked. */
static bool move(chance *c, sluice_array *a, const sluice_shape *s, unsigned char *file, verdict *v) {
    static part part_[PARTS];
    sluice_part list[PARTS];
    const int nparts = (int)chance_low(c, 1, PARTS);
    const bool write = chance_once_in(c, 2), background = chance_once_in(c, 4);
    bool good = true;
    for (int k = 0; k < nparts; k++) {
        part *p = &part_[k];
        choose(c, s, p);
        p->buf = malloc((size_t)p->bytes + 2 * MARGIN);
        p->expect = malloc((size_t)p->bytes + 2 * MARGIN);
        memset(p->buf, 0xA0 + k, (size_t)p->bytes + 2 * MARGIN);
        for (int64_t i = 0; write && i < p->bytes; i++) p->buf[MARGIN + i] = (unsigned char)(i * 13 + k);
        memcpy(p->expect, p->buf, (size_t)p->bytes + 2 * MARGIN);
        copy(s, p, file, p->expect + MARGIN, write);
        p->p.buf = p->buf + MARGIN;
        list[k] = p->p;
    }
    if (transfer(a, write, list, nparts, background)) {
        note(v, sluice_errmsg());
        good = false;
    }
    for (int k = 0; k < nparts; k++) {
        if (memcmp(part_[k].buf, part_[k].expect, (size_t)part_[k].bytes + 2 * MARGIN) != 0) {
            note(v, write ? "the buffer of a write has changed" : "read something else");
            good = false;
        }
        free(part_[k].buf), free(part_[k].expect);
    }
    return good;
}

/* Whether a part has bytes of the block of byte x of the array. */
static bool touches(const sluice_shape *s, const part *p, int64_t block, int64_t x) {
    int64_t i[SLUICE_MAX_DIMS] = {0};
    for (int d = 0; d < s->ndims; d++)
        if (p->count[d] == 0) return false;
    for (;;) {
        int64_t in_file[SLUICE_MAX_DIMS];
        for (int d = 0; d < s->ndims; d++)
            in_file[d] = p->p.index ? p->list[d][i[d]] : p->range[d].start + i[d] * p->range[d].step;
        const int64_t at = offset(s, s->dim, in_file);
        for (int64_t b = 0; b < s->elem; b++)
            if (contained_same(&layout, block, at + b, x)) return true;
        int d = 0;
        while (d < s->ndims && ++i[d] == p->count[d]) i[d++] = 0;
        if (d == s->ndims) return false;
    }
}

/* Checksums are as they should be; then a bit flips, and reads that touch its block fail. Others do not, unless they
 * may move gaps along. */
static bool damage(chance *c, sluice_array *a, const sluice_shape *s, const unsigned char *file, verdict *v) {
    static part p;
    const sluice_manifest *m = a->container->manifest;
    const int64_t x = layout.length ? chance_draw(c, 0, layout.length - 1) : 0;
    const int bit = (int)chance_draw(c, 0, 7);
    const bool exact = a->io.method == SLUICE_DIRECT || a->io.method == SLUICE_LIST;
    bool good = !sluice_sync(a) && contained_sums(&tree, &layout, m, file) < 0;
    if (!good) note(v, "checksums are not those of the data");
    if (!good || !layout.length) return good;
    good = contained_flip(&tree, &layout, m, x, bit);
    for (int k = 0; k < 8 && good; k++) {
        choose(c, s, &p);
        p.p.buf = malloc((size_t)p.bytes + 1);
        const bool hit = touches(s, &p, m->checksum, x);
        const int err = transfer(a, false, &p.p, 1, chance_once_in(c, 4));
        if (hit || exact ? err != (hit ? SLUICE_E_CHECKSUM : 0) : err && err != SLUICE_E_CHECKSUM) {
            note(v, hit ? "damage was not found" : "damage was found elsewhere");
            good = false;
        }
        if (err && !strstr(sluice_errmsg(), " of subfile ")) note(v, sluice_errmsg()), good = false;
        free(p.p.buf);
    }
    return contained_flip(&tree, &layout, m, x, bit) && good;
}

static bool run(chance *c, verdict *v, bool contain) {
    sluice_desc d = {.format = SLUICE_RAW};
    sluice_shape *s = &d.shape;
    s->ndims = (int)chance_low(c, 1, 6);
    s->order = chance_once_in(c, 2) ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR;
    s->elem = chance_low(c, 1, 24);
    s->header = !contain && chance_once_in(c, 3) ? chance_draw(c, 0, 5000) : 0;
    int64_t bytes = s->elem;
    for (int k = 0; k < s->ndims; k++) {
        int64_t most = s->ndims == 1 ? 3000 : s->ndims == 2 ? 60 : 8;
        if (contain) most = sluice_max(1, sluice_min(most, CASE_BYTES / bytes));
        s->dim[k] = chance_low(c, 1, most);
        bytes *= s->dim[k];
    }
    sluice_options o = {.size = sizeof o, .bindings = tree.bindings};
    o.method = (sluice_method)chance_draw(c, SLUICE_AUTO, SLUICE_MAPPED);
    o.store = (sluice_store_kind)chance_draw(c, SLUICE_STORE_AUTO, contain ? SLUICE_STORE_URING : SLUICE_STORE_RAM);
    o.memory = chance_once_in(c, 2) ? chance_draw(c, 4096, 20000) : 0;
    o.exclusive = chance_once_in(c, 2);
    o.no_map = chance_once_in(c, 4);
    o.replace = 1;
    snprintf(v->text, sizeof v->text, "ndims %d order %d elem %lld header %lld method %d store %d memory %lld",
             s->ndims, (int)s->order, (long long)s->elem, (long long)s->header, (int)o.method, (int)o.store,
             (long long)o.memory);
    if (contain) {
        layout.shape = *s;
        case_draw_layout(&layout, c);
        case_deal(&layout);
        o.layout = layout.text;
        o.targets = contained_targets(c);
        o.checksum = contained_checksum(c);
        note(v, layout.text);
    }
    size_t all = (size_t)(s->header + bytes);
    unsigned char *file = malloc(all), *back = malloc(all + MARGIN);
    for (size_t i = 0; i < all; i++) file[i] = (unsigned char)(i * 7 + i / 251 + 1);
    sluice_array *a = NULL;
    bool good = !sluice_create(&a, contain ? tree.path : path, &d, &o);
    if (!good && o.store == SLUICE_STORE_URING) { /* the kernel may not have it */
        free(file), free(back);
        return true;
    }
    good = good && !sluice_write_header(a, file, s->header) && !sluice_write(a, NULL, file + s->header);
    if (!good) note(v, sluice_errmsg());
    for (int k = contain ? 6 : 1; k && good; k--) {
        good = move(c, a, s, file, v);
        const char *wrong = contain ? contained_compare(&tree, &layout, a->container->manifest, file) : NULL;
        if (wrong) note(v, wrong);
        good = good && !wrong;
    }
    if (good && o.checksum) good = damage(c, a, s, file, v);
    good = good && !sluice_read_header(a, back, s->header) && !sluice_read(a, NULL, back + s->header) &&
           !memcmp(file, back, all);
    good = !sluice_close(a) && good;
    if (contain) good = !sluice_container_delete(tree.path, tree.bindings, NULL) && good;
    free(file), free(back);
    return good && sluice_mem_live() == 0;
}

static bool contain;
static bool fails(chance *c, void *arg) { return !run(c, arg, contain); }

int main(void) {
    char name[] = "array_random.XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0) return 1;
    close(fd);
    path = name;
    contained_name(&tree, name);
    if (!contained_make(&tree)) return 1;
    uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    const char *env = getenv("SLUICE_TEST_CASES");
    int64_t cases = env ? atoll(env) / 20 : 4000;
    printf("seed %llu, %lld cases\n", (unsigned long long)seed, (long long)cases);
    chance c = {0};
    verdict v;
    int failed = 0;
    for (int64_t i = 0; i < cases && !failed; i++) {
        chance_seed(&c, seed + (uint64_t)i);
        contain = i % EVERY == 0;
        if (run(&c, &v, contain)) continue;
        printf("case %lld fails (%s); shrinking\n", (long long)i, v.text);
        chance_shrink(&c, fails, &v);
        fails(&c, &v);
        printf("smallest: %s\n", v.text);
        for (int k = 0; k < c.n; k++) printf("%lld ", (long long)c.draw[k]);
        printf("\n");
        failed = 1;
    }
    chance_free(&c);
    unlink(name);
    contained_remove(&tree);
    return failed;
}
