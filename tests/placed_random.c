/* ranks: 1 2 3 4 7 */
/* placed_random.c: random programs on arrays with random layouts by plan: collective and independent reads and writes,
 * in the background too, syncs, other extents, writers that meet. Everything read is what a plain byte array has, and
 * in the end each copy of each byte is where the plan says, and all copies are equal. */
#include "array/array.h"
#include "contained.h"
#include "placed_oracle.h"
#include "sluice_mpi.h"
#include "together.h"
#include <errno.h>

static contained tree;
static placed_case plan;
static unsigned char model[PLACED_BYTES], buf[PLACED_BYTES], again[PLACED_BYTES];
static sluice_desc desc;
static sluice_array *a;

static int64_t elements(void) {
    int64_t n = 1;
    for (int d = 0; d < desc.shape.ndims; d++) n *= desc.shape.dim[d];
    return n;
}

static void make(chance *c) {
    static const char *const targets[] = {NULL, "fast,slow", ".,fast", "slow,.,fast"};
    sluice_places places;
    sluice_manifest *m;
    sluice_reason why;
    const bool flat = chance_once_in(c, 2);
    desc = (sluice_desc){.shape = {flat ? 1 : 2, chance_once_in(c, 2), chance_draw(c, 1, 3), 0, {0}}};
    desc.shape.dim[0] = chance_draw(c, 0, flat ? 600 : 30);
    desc.shape.dim[1] = flat ? 0 : chance_draw(c, 1, 20);
    if (chance_once_in(c, 4)) desc.shape.header = chance_draw(c, 1, 100);
    placed_draw(&plan, c, desc.shape.header + elements() * desc.shape.elem);
    const char *names = targets[chance_draw(c, 0, 3)];
    const int64_t block = chance_once_in(c, 4) ? 512 : 0;
    memset(model, 0, sizeof model);
    if (rank == 0) {
        if (!placed_places(&plan, &places)) must(-ENOMEM, "the plan");
        int err = sluice_manifest_place(&m, &desc, &places, names, &why);
        if (err) fail("%s", why.text);
        must(err, "manifest");
        if (!err) must(sluice_manifest_checksum(m, block, &why), "checksums");
        err = sluice_container_create(tree.path, m, tree.bindings, &why);
        if (err) fail("%s", why.text);
        must(err, "create");
        sluice_manifest_free(m);
    }
    meet();
}

static void open_array(int mode) {
    const sluice_options o = {.size = sizeof o, .bindings = tree.bindings, .memory = 1 << 20};
    must(sluice_open_all(&a, MPI_COMM_WORLD, tree.path, mode, NULL, &o), "open");
}

/* ---- Sections ---- */

/* A random section, the same if the chance is. */
static void section(sluice_range *range, chance *c) {
    for (int d = 0; d < desc.shape.ndims; d++) {
        const int64_t n = desc.shape.dim[d], step = chance_low(c, 1, 4), start = n ? chance_draw(c, 0, n - 1) : 0;
        range[d] = (sluice_range){start, n ? chance_draw(c, 0, (n - start + step - 1) / step) : 0, step};
    }
}

static int64_t volume(const sluice_range *range) {
    return range[0].count * (desc.shape.ndims > 1 ? range[1].count : 1);
}

/* The first byte of element k of a section, counted as the buffer does. */
static int64_t place(const sluice_range *range, int64_t k) {
    const sluice_shape *s = &desc.shape;
    int64_t i = k, j = 0;
    if (s->ndims > 1) {
        i = s->order == SLUICE_ROW_MAJOR ? k / range[1].count : k % range[0].count;
        j = s->order == SLUICE_ROW_MAJOR ? k % range[1].count : k / range[0].count;
        j = range[1].start + j * range[1].step;
    }
    i = range[0].start + i * range[0].step;
    const int64_t e = s->ndims < 2 ? i : s->order == SLUICE_ROW_MAJOR ? i * s->dim[1] + j : i + j * s->dim[0];
    return s->header + e * s->elem;
}

static unsigned char value(int64_t x, int64_t salt) { return (unsigned char)(x * 7 + salt * 31 + salt / 8); }

static void fill_section(const sluice_range *range, int64_t salt, unsigned char *out) {
    const int64_t elem = desc.shape.elem;
    for (int64_t k = 0; k < volume(range); k++)
        for (int64_t b = 0; b < elem; b++) out[k * elem + b] = value(place(range, k) + b, salt);
}

static void write_model(const sluice_range *range, int64_t salt) {
    for (int64_t k = 0; k < volume(range); k++)
        for (int64_t b = 0; b < desc.shape.elem; b++) model[place(range, k) + b] = value(place(range, k) + b, salt);
}

static void check_section(const sluice_range *range, const char *what) {
    const int64_t elem = desc.shape.elem;
    for (int64_t k = 0; k < volume(range); k++)
        for (int64_t b = 0; b < elem; b++)
            if (buf[k * elem + b] != model[place(range, k) + b]) {
                fail("%s: byte %lld is %d, not %d", what, (long long)(place(range, k) + b), buf[k * elem + b],
                     model[place(range, k) + b]);
                return;
            }
}

/* ---- Steps ---- */

static void collective_write(chance *c, int64_t salt) {
    sluice_range range[MAX_RANKS][2];
    for (int r = 0; r < size; r++) {
        section(range[r], c);
        write_model(range[r], salt + r);
    }
    fill_section(range[rank], salt + rank, buf);
    must(sluice_write_all(a, range[rank], buf), "write_all");
}

static void collective_read(chance *c) {
    sluice_range range[MAX_RANKS][2];
    for (int r = 0; r < size; r++) section(range[r], c);
    memset(buf, 0xEE, sizeof buf);
    must(sluice_read_all(a, range[rank], buf), "read_all");
    check_section(range[rank], "read_all");
}

/* Rows of the slowest dimension in turn, so that no two write the same. */
static void own_write(chance *c, int64_t salt) {
    const int slowest = desc.shape.ndims > 1 && desc.shape.order == SLUICE_COLUMN_MAJOR;
    for (int r = 0; r < size; r++) {
        sluice_range range[2];
        section(range, c);
        const int64_t n = desc.shape.dim[slowest];
        range[slowest] = (sluice_range){r < n ? r : 0, r < n ? (n - r + size - 1) / size : 0, size};
        write_model(range, salt);
        if (r != rank) continue;
        fill_section(range, salt, buf);
        must(sluice_write(a, range, buf), "write");
    }
    meet();
}

static void own_read(chance *c) {
    sluice_range range[2];
    sluice_request *request;
    for (int r = 0; r <= rank; r++) section(range, c); /* each another */
    memset(buf, 0xEE, sizeof buf);
    if (chance_once_in(c, 2)) {
        const sluice_part part = {.range = range, .buf = buf};
        must(sluice_read_start(&request, a, &part, 1), "read in the background");
        must(sluice_wait(request), "wait");
    } else {
        must(sluice_read(a, range, buf), "read");
    }
    check_section(range, "read");
    for (int r = rank + 1; r < size; r++) section(range, c);
    meet();
}

/* All write the same bytes at the same time. Whoever wins, it is the same in all copies, so that all read the same. */
static void meeting(chance *c, int64_t salt) {
    sluice_range range[2], whole[2] = {{0, desc.shape.dim[0], 1}, {0, desc.shape.dim[1], 1}};
    section(range, c);
    fill_section(range, salt + rank, buf);
    meet();
    must(sluice_write(a, range, buf), "write");
    meet();
    must(sluice_read(a, NULL, again), "read");
    uint64_t h = SLUICE_MIX;
    for (int64_t k = 0; k < plan.length - desc.shape.header; k++) h = sluice_mix(h, again[k]);
    mine()->number[0] = (int64_t)h;
    meet();
    if (mine()->number[0] != together->post[0].number[0]) fail("copies differ after writers met");
    for (int64_t k = 0; k < volume(range); k++)
        for (int64_t b = 0; b < desc.shape.elem; b++) {
            const int64_t x = place(range, k) + b;
            const unsigned char is = again[x - desc.shape.header];
            bool one = false;
            for (int r = 0; r < size; r++) one |= is == value(x, salt + r);
            if (!one) fail("byte %lld is %d, which no one wrote", (long long)x, is);
            model[x] = is;
        }
    memcpy(buf, again, sizeof buf);
    check_section(whole, "after writers met");
    meet();
}

static void resize(chance *c) {
    sluice_shape *s = &desc.shape;
    const int slowest = s->ndims > 1 && s->order == SLUICE_COLUMN_MAJOR;
    const int64_t extent = chance_draw(c, 0, s->ndims > 1 ? 30 : 600);
    if (s->header) {
        if (sluice_resize(a, extent) != SLUICE_E_ARGUMENT) fail("resized what has a header");
        return;
    }
    must(sluice_resize(a, extent), "resize");
    s->dim[slowest] = extent;
    const int64_t length = elements() * s->elem, before = plan.length;
    if (length > before) memset(model + before, 0, (size_t)(length - before));
    placed_resize(&plan, length);
}

static void header(int64_t salt) {
    const int64_t n = desc.shape.header;
    for (int64_t x = 0; x < n; x++) model[x] = value(x, salt);
    if (rank == 0) must(sluice_write_header(a, model, n), "write the header");
    meet();
    must(sluice_read_header(a, buf, n), "read the header");
    if (memcmp(buf, model, (size_t)n)) fail("another header");
    meet();
}

static void step(chance *c, int64_t salt) {
    switch (chance_draw(c, 0, 7)) {
    case 0: collective_write(c, salt); break;
    case 1: collective_read(c); break;
    case 2: own_write(c, salt); break;
    case 3: own_read(c); break;
    case 4: meeting(c, salt); break;
    case 5: header(salt); break;
    case 6: resize(c); break;
    default: must(sluice_sync(a), "sync");
    }
}

/* Every copy on disk; in the folder and on both targets. */
static void look(void) {
    sluice_container *c;
    sluice_reason why;
    char folder[PLACED_PARTS + 1][300];
    if (rank == 0) {
        if (sluice_container_open(&c, tree.path, SLUICE_CONTAINER_READ, tree.bindings, &why)) {
            fail("%s", why.text);
            return;
        }
        char all[200];
        snprintf(all, sizeof all, "%s/all", tree.folder);
        mkdir(all, 0777);
        for (int i = 0; i <= plan.parts; i++) {
            const char *target = c->manifest->target[c->manifest->place[i]].text,
                       *name = sluice_manifest_name(c->manifest, i).text;
            char from[300];
            snprintf(from, sizeof from, "%s/%s/%s", tree.folder, *target == '.' ? "a.sluice" : target, name);
            snprintf(folder[i], sizeof folder[i], "%s/%.60s", all, name);
            if (link(from, folder[i])) fail("no %s", from);
        }
        const char *wrong = placed_compare(&plan, c->manifest, all, model);
        if (wrong) fail("%s", wrong);
        for (int i = 0; i <= plan.parts; i++) unlink(folder[i]);
        rmdir(all);
        if (c->differ) fail("copies may differ after all was closed");
        if (sluice_container_close(c)) fail("close");
    }
    meet();
}

int main(int argc, char **argv) {
    together_start(&argc, &argv, "placed_random");
    const uint64_t seed = together_seed();
    const int cases = together_cases(size > 4 ? 6 : 15);
    contained_name(&tree, path);
    if (rank == 0 && !contained_make(&tree)) fail("no folders");
    meet();
    for (int i = 0; i < cases && !together->failures; i++) {
        chance c = {0};
        chance_seed(&c, seed + (uint64_t)i);
        snprintf(doing, sizeof doing, "seed %llu, case %d", (unsigned long long)seed, i);
        watch();
        make(&c);
        open_array(SLUICE_WRITE);
        for (int k = 0; k < 25 && !together->failures; k++) {
            snprintf(doing, sizeof doing, "seed %llu, case %d, step %d", (unsigned long long)seed, i, k);
            step(&c, 100 * i + 10 * k);
        }
        must(sluice_close(a), "close");
        meet();
        look();
        open_array(SLUICE_READ);
        for (int k = 0; k < 4; k++) own_read(&c);
        must(sluice_close(a), "close");
        if (rank == 0 && sluice_container_delete(tree.path, tree.bindings, NULL)) fail("cannot delete it");
        meet();
        chance_free(&c);
    }
    if (rank == 0) contained_remove(&tree);
    return together_end();
}
