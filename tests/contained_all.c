/* ranks: 1 2 3 4 */
/* contained_all.c: containers and groups of processes: who may write, what cannot be opened and why, and other extents.
 * All processes return the same error and sentence. */
#include "array/array.h"
#include "contained.h"
#include "sluice_mpi.h"
#include "together.h"
#include <errno.h>

enum { ROWS = 12, COLS = 10, MOST_ROWS = 40, ELEM = 4 };

static contained tree;
static layout_case layout;
static unsigned char model[CASE_BYTES], buf[CASE_BYTES];

static int answer(int err) {
    mine()->error = err;
    snprintf(mine()->text, sizeof mine()->text, "%s", err ? sluice_errmsg() : "");
    meet();
    compare_answers();
    return err;
}

static sluice_options options(const char *text) {
    return (sluice_options){
        .size = sizeof(sluice_options), .layout = text, .targets = ".,fast", .bindings = tree.bindings};
}

static sluice_array *create(const char *text, sluice_order order) {
    sluice_array *a;
    const sluice_desc d = {.shape = {2, order, ELEM, 0, {ROWS, COLS}}};
    const sluice_options o = options(text);
    must(sluice_create_all(&a, MPI_COMM_WORLD, tree.path, &d, &o), "create");
    return a;
}

static void end(sluice_array *a) {
    must(sluice_close(a), "close");
    if (rank == 0 && sluice_container_delete(tree.path, tree.bindings, NULL)) fail("cannot delete it");
    meet();
}

/* ---- One writer ---- */

/* A sentence says who writes: process, host and time. */
static void check_writer(int err, const char *text, long pid) {
    char process[40], host[33] = "";
    snprintf(process, sizeof process, "by process %ld on ", pid);
    gethostname(host, sizeof host - 1);
    if (err != -EBUSY) fail("a second writer got %d: %s", err, text);
    if (!strstr(text, process) || !strstr(text, host) || !strstr(text, " since 2") || !strstr(text, tree.path))
        fail("\"%s\" does not name the writer", text);
}

static void one_writer(void) {
    sluice_array *a = create("rows:2", SLUICE_ROW_MAJOR), *b;
    const sluice_options o = options(NULL);
    long pid = (long)getpid();
    snprintf(doing, sizeof doing, "one writer");
    watch();
    MPI_Bcast(&pid, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    int err = sluice_open(&b, tree.path, SLUICE_WRITE, NULL, &o);
    check_writer(err, sluice_errmsg(), pid);
    err = answer(sluice_open_all(&b, MPI_COMM_WORLD, tree.path, SLUICE_WRITE, NULL, &o));
    check_writer(err, sluice_errmsg(), pid);
    /* To read it is free, also while it is written. */
    must(sluice_open(&b, tree.path, SLUICE_READ, NULL, &o), "open to read");
    memset(buf, 7 + rank, sizeof buf);
    const int64_t mine_rows = (ROWS - rank + size - 1) / size;
    must(sluice_write_all(a, (sluice_range[]){{rank, mine_rows, size}, {0, COLS, 1}}, buf), "write");
    must(sluice_read(b, NULL, buf), "read");
    for (int64_t x = 0; x < ROWS * COLS * ELEM; x++)
        if (buf[x] != 7 + x / (COLS * ELEM) % size) fail("byte %lld is %d", (long long)x, buf[x]);
    if (sluice_write(b, NULL, buf) != -EBADF) fail("wrote what was opened to read");
    if (sluice_resize(b, 3) != -EBADF) fail("resized what was opened to read");
    must(sluice_close(b), "close the reader");
    /* Until the last has closed it no one else may write. */
    if (rank == size - 1 && size > 1) {
        usleep(20000);
        err = sluice_open(&b, tree.path, SLUICE_WRITE, NULL, &o);
        check_writer(err, sluice_errmsg(), pid);
    }
    must(sluice_close(a), "close");
    meet();
    if (rank == 0) must(sluice_open(&b, tree.path, SLUICE_WRITE, NULL, &o), "open again");
    if (rank == 0) must(sluice_close(b), "close again");
    meet();
    if (rank == 0 && sluice_container_delete(tree.path, tree.bindings, NULL)) fail("cannot delete it");
    meet();
}

/* ---- What cannot be opened ---- */

static void refuse(const char *what, int want, const char *say) {
    const int err = mine()->error;
    if (err != want || !strstr(mine()->text, say)) fail("%s: error %d, \"%s\"", what, err, mine()->text);
}

static void unbound(void) {
    sluice_array *a = create("rows:2", SLUICE_ROW_MAJOR);
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, ELEM, 0, {ROWS, COLS}}};
    sluice_options o = options("rows:2");
    snprintf(doing, sizeof doing, "what cannot be opened");
    watch();
    must(sluice_close(a), "close");
    for (int who = 0; who < size; who++) {
        o.bindings = rank == who ? "slow=nowhere" : tree.bindings;
        answer(sluice_open_all(&a, MPI_COMM_WORLD, tree.path, SLUICE_WRITE, NULL, &o));
        refuse("a target without a binding", SLUICE_E_ARGUMENT, "fast");
        o.bindings = tree.bindings;
        must(sluice_open_all(&a, MPI_COMM_WORLD, tree.path, SLUICE_WRITE, NULL, &o), "open with all bindings");
        must(sluice_close(a), "close");
        d.shape.dim[1] = COLS + (rank == who);
        answer(sluice_open_all(&a, MPI_COMM_WORLD, tree.path, SLUICE_READ, &d, &o));
        refuse("another shape", SLUICE_E_ARGUMENT, "not of that shape");
        d.shape.dim[1] = COLS;
    }
    meet();
    if (rank == 0 && sluice_container_delete(tree.path, tree.bindings, NULL)) fail("cannot delete it");
    meet();
    for (int who = 0; who < size; who++) { /* what was made for nothing is gone */
        o.bindings = rank == who ? "slow=nowhere" : tree.bindings;
        answer(sluice_create_all(&a, MPI_COMM_WORLD, tree.path, &d, &o));
        refuse("making it without a binding", SLUICE_E_ARGUMENT, "fast");
        struct stat st;
        if (!stat(tree.path, &st)) fail("a container is left");
        meet();
    }
    o = options("rows:0");
    answer(sluice_create_all(&a, MPI_COMM_WORLD, tree.path, &d, &o));
    refuse("a layout of no subfiles", SLUICE_E_ARGUMENT, "rows:0");
    o = options("rows:2");
    o.store = SLUICE_STORE_RAM;
    if (sluice_create(&a, "memory", &d, &o) != SLUICE_E_ARGUMENT || !strstr(sluice_errmsg(), "no layout"))
        fail("a layout in memory: %s", sluice_errmsg());
}

/* ---- Other extents ---- */

/* The slowest extent, in the model and in the oracle. */
static void set_extent(sluice_order order, int64_t extent) {
    const int64_t before = layout.length;
    layout.shape.dim[order == SLUICE_ROW_MAJOR ? 0 : 1] = extent;
    case_deal(&layout);
    if (layout.length > before) memset(model + before, 0, (size_t)(layout.length - before));
}

/* Read together, each some rows, and from the subfiles. */
static void check(sluice_array *a) {
    const sluice_shape *s = &sluice_describe(a)->shape;
    const int slow = s->order == SLUICE_ROW_MAJOR ? 0 : 1;
    sluice_range range[2] = {{0, s->dim[0], 1}, {0, s->dim[1], 1}};
    range[slow] =
        (sluice_range){sluice_min(rank, s->dim[slow]), sluice_max(s->dim[slow] - rank + size - 1, 0) / size, size};
    if (memcmp(s->dim, layout.shape.dim, 2 * sizeof *s->dim)) fail("the array has another shape");
    must(sluice_read_all(a, range, buf), "read");
    const int64_t line = layout.length / sluice_max(s->dim[slow], 1);
    for (int64_t i = 0; i < range[slow].count; i++)
        if (memcmp(buf + i * line, model + (rank + i * size) * line, (size_t)line)) fail("read something else");
    meet();
    if (rank == 0) {
        const char *wrong = contained_compare(&tree, &layout, a->container->manifest, model);
        if (wrong) fail("%s", wrong);
    }
    meet();
}

static void fill(sluice_array *a, int seed) {
    for (int64_t x = 0; x < layout.length; x++) model[x] = (unsigned char)(x * 7 + seed + x / 256);
    if (rank == seed % size) must(sluice_write(a, NULL, model), "write");
    meet();
}

/* A random layout, a few extents: where bytes would have to move it is refused, by the definition. */
static int resize(chance *c, bool again) {
    const sluice_order order = chance_once_in(c, 2) ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR;
    int done = 0;
    layout.shape = (sluice_shape){2, order, ELEM, 0, {ROWS, COLS}};
    case_draw_layout(&layout, c);
    case_deal(&layout);
    sluice_array *a = create(layout.text, order);
    fill(a, 3);
    for (int step = 0; step < 5; step++) {
        static layout_case next;
        const int64_t extent = chance_draw(c, 0, MOST_ROWS);
        snprintf(doing, sizeof doing, "resize %.80s to %lld", layout.text, (long long)extent);
        watch();
        next = layout;
        next.shape.dim[order == SLUICE_ROW_MAJOR ? 0 : 1] = extent;
        case_deal(&next);
        bool moves = false;
        for (int64_t x = 0; x < layout.length && x < next.length; x++) moves |= layout.owner[x] != next.owner[x];
        if (layout.kind == 6) /* an extent may not fit the distribution at all */
            for (int d = 0; d < 2; d++) moves |= layout.dist[d].kind > SLUICE_DIST_CYCLIC || layout.dist[d].block;
        const int err = answer(sluice_resize(a, extent));
        if (err && (err != SLUICE_E_ARGUMENT || !strstr(mine()->text, tree.path) || !moves)) fail("%s", mine()->text);
        if (!err && moves && layout.kind != 6) fail("it should have been refused");
        if (!err) set_extent(order, extent), done++;
        check(a);
        fill(a, step);
        check(a);
    }
    if (again) { /* what another handle sees */
        const sluice_options o = options(NULL);
        must(sluice_close(a), "close");
        meet();
        must(sluice_open_all(&a, MPI_COMM_WORLD, tree.path, SLUICE_WRITE, NULL, &o), "open again");
        check(a);
    }
    if (answer(sluice_resize(a, rank == 0 ? 5 : 6)) == 0 && size > 1) fail("different extents were accepted");
    if (size == 1) must(sluice_resize(a, layout.shape.dim[order == SLUICE_ROW_MAJOR ? 0 : 1]), "resize back");
    if (answer(sluice_resize(a, -1)) == 0) fail("a negative extent was accepted");
    end(a);
    return done;
}

int main(int argc, char **argv) {
    together_start(&argc, &argv, "contained_all");
    contained_name(&tree, path);
    if (rank == 0 && !contained_make(&tree)) must(-errno, "mkdir");
    unsetenv("SLUICE_TARGETS");
    setenv("XDG_CONFIG_HOME", tree.folder, 1);
    meet();
    chance c = {0};
    chance_seed(&c, together_seed());
    one_writer();
    unbound();
    int done = 0, cases = together_cases(40);
    for (int i = 0; i < cases && !together->failures; i++) done += resize(&c, i % 2);
    if (!done) fail("nothing was resized");
    chance_free(&c);
    meet();
    if (rank == 0) contained_remove(&tree);
    return together_end();
}
