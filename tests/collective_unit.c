/* ranks: 1 2 3 4 7 */
/* collective_unit.c: collective calls one thing at a time: what one process gets wrong all hear of, groups that are not
 * all processes, processes that want nothing or the same, conflicts, requests in the background, resizing. What is in
 * the file must always be what the model says. */
#include "collective_common.h"
#include <glob.h>
#include <sys/stat.h>

enum { ROWS = 42, COLUMNS = 30, MOST = ROWS + 20 };

static int32_t model[MOST][COLUMNS], buf[MOST][COLUMNS];
static const sluice_range everything[] = {{0, ROWS, 1}, {0, COLUMNS, 1}};
static const sluice_range outside[] = {{0, ROWS, 1}, {1, COLUMNS, 1}};

static sluice_desc describe(void) {
    return (sluice_desc){.format = SLUICE_NPY, .shape = {.ndims = 2, .dim = {ROWS, COLUMNS}}, .type = "int32"};
}

static int32_t value(int step, int64_t i, int64_t j) { return (int32_t)(step * 1000000 + i * 1000 + j); }

static void fill(int step, int64_t first, int64_t rows) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < COLUMNS; j++) buf[i][j] = value(step, first + i, j);
}

static void fill_model(int step, int64_t first, int64_t rows) {
    for (int64_t i = first; i < first + rows; i++)
        for (int64_t j = 0; j < COLUMNS; j++) model[i][j] = value(step, i, j);
}

static const sluice_range *rows_of(int64_t first, int64_t n) {
    static sluice_range r[2];
    r[0] = (sluice_range){first, n, 1};
    r[1] = (sluice_range){0, COLUMNS, 1};
    return r;
}

/* A new array in which all have written something, some rows each. */
static sluice_array *make(const sluice_options *given) {
    sluice_options o = given ? *given : (sluice_options){0};
    sluice_desc d = describe();
    sluice_array *a;
    o.size = sizeof o;
    o.replace = 1;
    must(sluice_create_all(&a, MPI_COMM_WORLD, path, &d, &o));
    int64_t first = (int64_t)ROWS * rank / size, next = (int64_t)ROWS * (rank + 1) / size;
    fill(1, first, next - first);
    must(sluice_write_all(a, rows_of(first, next - first), buf));
    memset(model, 0, sizeof model);
    fill_model(1, 0, ROWS);
    return a;
}

/* The array is as the model, which all see, and each gets only what it asks for. */
static void check_array_at(int line, sluice_array *a) {
    int64_t rows = sluice_describe(a)->shape.dim[0];
    memset(buf, 0x77, sizeof buf);
    must(sluice_read_all(a, NULL, buf));
    CHECK(!memcmp(buf, model, (size_t)rows * sizeof *buf), "line %d: the array is another", line);
    int32_t after = 0x77777777;
    CHECK(rows == MOST || buf[rows][0] == after, "line %d: written past the end", line);
}
#define check_array(a) check_array_at(__LINE__, a)

/* ---- Opening ---- */

static int open_with(sluice_options o) {
    sluice_array *a = NULL;
    o.size = sizeof o;
    int err = sluice_open_all(&a, MPI_COMM_WORLD, path, SLUICE_READ, NULL, &o);
    CHECK(!err == !!a, "an error and a handle");
    if (a) must(sluice_close(a));
    return err;
}

static void opening(void) {
    sluice_array *a = NULL;
    sluice_desc d = describe(), raw = {.shape = {.ndims = 1, .elem = 1, .dim = {ROWS}}}, large = raw;
    bool me = rank == size - 1;
    refused(-ENOENT, sluice_open_all(&a, MPI_COMM_WORLD, "no-such-file.npy", SLUICE_READ, NULL, NULL), "No such file");
    refused(-ENOENT, sluice_create_all(&a, MPI_COMM_WORLD, "no/such/folder", &d, NULL), "No such file");
    refused(-EEXIST, sluice_create_all(&a, MPI_COMM_WORLD, path, &d, NULL), "exists");
    refused(SLUICE_E_ARGUMENT, sluice_open_all(&a, MPI_COMM_WORLD, path, 7, NULL, NULL), "mode 7");
    refused(SLUICE_E_ARGUMENT, open_with((sluice_options){.memory = me ? 100 : 0}), "100 bytes");
    refused(SLUICE_E_ARGUMENT, open_with((sluice_options){.store = SLUICE_STORE_RAM}), "in memory");
    refused(SLUICE_E_ARGUMENT, open_with((sluice_options){.together.way = me ? 9 : 0}), "way 9");
    refused(SLUICE_E_ARGUMENT, open_with((sluice_options){.together.division = me ? 9 : 0}), "division 9");
    refused(SLUICE_E_ARGUMENT, open_with((sluice_options){.together.exchange = me ? 9 : 0}), "exchange 9");
    refused(SLUICE_E_ARGUMENT, open_with((sluice_options){.together.align = me ? -4096 : 0}), "negative");
    large.shape.dim[0] = 1 << 30;
    refused(SLUICE_E_FORMAT, sluice_open_all(&a, MPI_COMM_WORLD, path, SLUICE_READ, me ? &large : &raw, NULL), path);
    if (size > 1) {
        raw.shape.dim[0] -= me;
        refused(SLUICE_E_MISMATCH, sluice_open_all(&a, MPI_COMM_WORLD, path, SLUICE_READ, &raw, NULL), "same array");
        refused(SLUICE_E_MISMATCH, open_with((sluice_options){.memory = me ? 8192 : 0}), "differ");
        refused(SLUICE_E_MISMATCH, open_with((sluice_options){.together.nodes = me ? 2 : 0}), "differ");
        refused(SLUICE_E_MISMATCH, open_with((sluice_options){.together.division = me ? SLUICE_DIVIDE_STATIC : 0}),
                "differ");
        refused(SLUICE_E_MISMATCH, open_with((sluice_options){.exclusive = me}), "differ in their options");
    }
    CHECK(!a, "a handle after an error");
}

/* A file is replaced when all have opened the new one; if one cannot, the old one is as it was. */
static void replacing(void) {
    sluice_array *a = NULL;
    sluice_desc d = describe();
    sluice_options differ = {.size = sizeof differ, .replace = 1, .memory = rank == size - 1 ? 8192 : 0};
    struct stat before, after;
    if (size > 1) {
        CHECK(!stat(path, &before));
        refused(SLUICE_E_MISMATCH, sluice_create_all(&a, MPI_COMM_WORLD, path, &d, &differ), "differ");
        CHECK(!stat(path, &after) && before.st_ino == after.st_ino, "the old file is gone");
        must(sluice_open_all(&a, MPI_COMM_WORLD, path, SLUICE_READ, NULL, NULL));
        check_array(a);
        must(sluice_close(a));
    }
    glob_t left;
    CHECK(glob(".sluice-*", 0, NULL, &left) == GLOB_NOMATCH, "%s is left over", left.gl_pathv[0]);
    globfree(&left);
}

static void read_only(void) {
    sluice_array *a;
    int step = 9;
    must(sluice_open_all(&a, MPI_COMM_WORLD, path, SLUICE_READ, NULL, NULL));
    refused(-EBADF, sluice_write_all(a, everything, buf), "reading only");
    refused(-EBADF, sluice_write_parts_all(a, NULL, 0), "reading only");
    refused(-EBADF, sluice_resize(a, ROWS + 1), "reading only");
    fill(step, 0, ROWS);
    sluice_dist dist[] = {{.kind = SLUICE_DIST_BLOCK}, {.kind = SLUICE_DIST_STAR}};
    refused(-EBADF, sluice_write_dist_all(a, dist, (int[]){size, 1}, buf), "reading only");
    check_array(a);
    must(sluice_close(a));
}

/* ---- Mistakes ---- */

static void wrong_arguments(sluice_array *a) {
    bool me = rank == size - 1;
    char who[20] = "";
    if (size > 1) snprintf(who, sizeof who, "rank %d: ", size - 1);
    const int64_t falling[] = {3, 2}, rising[] = {0, 5};
    const sluice_index bad[] = {{falling, 2}, {rising, 2}}, good[] = {{rising, 2}, {rising, 2}};
    sluice_part part = {.index = me ? bad : good, .buf = buf};
    memset(buf, 0, sizeof buf);
    refused(SLUICE_E_ARGUMENT, sluice_read_all(a, me ? outside : everything, buf), who);
    refused(SLUICE_E_ARGUMENT, sluice_write_all(a, me ? outside : everything, buf), "dimension 1");
    refused(SLUICE_E_ORDER, sluice_read_parts_all(a, &part, 1), "3");
    refused(SLUICE_E_ORDER, sluice_write_parts_all(a, &part, 1), who);
    refused(SLUICE_E_ARGUMENT, sluice_write_parts_all(a, NULL, me ? -1 : 0), "-1 parts");
    sluice_dist dist[] = {{.kind = SLUICE_DIST_BLOCK}, {.kind = SLUICE_DIST_STAR}};
    refused(SLUICE_E_ARGUMENT, sluice_write_dist_all(a, dist, (int[]){size + me, 1}, buf), "grid");
    dist[1].kind = me ? (sluice_dist_kind)9 : SLUICE_DIST_STAR;
    refused(SLUICE_E_ARGUMENT, sluice_write_dist_all(a, dist, (int[]){size, 1}, buf), "unknown distribution 9");

    /* In the background: all hear of it from sluice_wait(), unless two are outstanding that could not be made. */
    sluice_request *r[2] = {NULL, NULL};
    int err[2];
    part = (sluice_part){.range = me ? outside : everything, .buf = buf};
    must(sluice_write_all_start(&r[0], a, &part, 1));
    err[1] = sluice_read_all_start(&r[1], a, &part, 1);
    CHECK(me || !err[1], "%s", sluice_errmsg());
    char said[192] = "";
    if (err[1]) snprintf(said, sizeof said, "%s", sluice_errmsg());
    refused(SLUICE_E_ARGUMENT, sluice_wait(r[0]), "write ");
    if (!err[1]) {
        err[1] = sluice_wait(r[1]);
        snprintf(said, sizeof said, "%s", sluice_errmsg());
    }
    sluice_errmsg_fail(0, "%s", said);
    refused(SLUICE_E_ARGUMENT, err[1], "read ");
    check_array(a);
}

static void mismatches(sluice_array *a) {
    if (size == 1) return;
    bool me = rank == size - 1;
    sluice_dist dist[] = {{.kind = SLUICE_DIST_CYCLIC}, {.kind = SLUICE_DIST_STAR}};
    int grid[] = {size, 1};
    memset(buf, 0, sizeof buf);
    refused(SLUICE_E_MISMATCH, me ? sluice_write_all(a, everything, buf) : sluice_read_all(a, everything, buf),
            "different collective calls");
    refused(SLUICE_E_MISMATCH, me ? sluice_write_all(a, everything, buf) : sluice_write_dist_all(a, dist, grid, buf),
            "different");
    dist[0].block = 2 + me;
    refused(SLUICE_E_MISMATCH, sluice_write_dist_all(a, dist, grid, buf), "distributions");
    int64_t sizes[8] = {ROWS - size + 1 - me, 1 + me, 1, 1, 1, 1, 1};
    dist[0] = (sluice_dist){.kind = SLUICE_DIST_GENBLOCK, .sizes = sizes};
    refused(SLUICE_E_MISMATCH, sluice_write_dist_all(a, dist, grid, buf), "distributions");
    refused(SLUICE_E_MISMATCH, sluice_resize(a, ROWS + me), "extents");
    sluice_request *r;
    sluice_part part = {.buf = buf};
    must((me ? sluice_write_all_start : sluice_read_all_start)(&r, a, &part, 1));
    refused(SLUICE_E_MISMATCH, sluice_wait(r), "different");
    refused(SLUICE_E_MISMATCH, me ? sluice_sync(a) : sluice_read_all(a, everything, buf), "different");
    check_array(a);
}

/* A limit of memory that no machine has; each process its own node, in different calls. */
static void boundless(void) {
    sluice_array *a;
    sluice_options o = {
        .size = sizeof o, .memory = INT64_MAX, .together = {.way = SLUICE_WAY_TWO_PHASE, .nodes = size}};
    must(sluice_open_all(&a, MPI_COMM_WORLD, path, SLUICE_READ, NULL, &o));
    if (size > 1)
        refused(SLUICE_E_MISMATCH, rank == size - 1 ? sluice_sync(a) : sluice_read_all(a, everything, buf),
                "different");
    check_array(a);
    must(sluice_close(a));
}

/* ---- Who wants what ---- */

/* The processes of odd rank, 1 and 3 of four, are a group; the others meanwhile make no call at all (E-30). */
static void some_processes(void) {
    MPI_Comm odd;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2 ? 0 : MPI_UNDEFINED, rank, &odd);
    char own[80];
    snprintf(own, sizeof own, "%s.odd", path);
    if (odd != MPI_COMM_NULL) {
        sluice_desc d = describe();
        sluice_array *a;
        int n, r;
        MPI_Comm_size(odd, &n);
        MPI_Comm_rank(odd, &r);
        must(sluice_create_all(&a, odd, own, &d, &(sluice_options){.together.way = SLUICE_WAY_TWO_PHASE}));
        MPI_Comm_free(&odd);
        sluice_dist dist[] = {{.kind = SLUICE_DIST_CYCLIC}, {.kind = SLUICE_DIST_STAR}};
        for (int64_t i = r, k = 0; i < ROWS; i += n, k++)
            for (int64_t j = 0; j < COLUMNS; j++) buf[k][j] = value(2, i, j);
        must(sluice_write_dist_all(a, dist, (int[]){n, 1}, buf));
        must(sluice_read_all(a, NULL, buf));
        int wrong = 0;
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t j = 0; j < COLUMNS; j++) wrong += buf[i][j] != value(2, i, j);
        CHECK(!wrong, "%d elements", wrong);
        must(sluice_close(a));
        if (r == 0) unlink(own);
    }
}

static void nothing(sluice_array *a) {
    const sluice_range none[] = {{0, 0, 1}, {0, COLUMNS, 1}}, first[] = {{5, 2, 1}, {0, COLUMNS, 1}};
    for (int who = -1; who < size; who++) { /* all but one, or all, have nothing, in one of three ways */
        sluice_part part = {.range = rank == who ? first : none, .buf = buf};
        fill(3 + who, 5, 2);
        must(sluice_write_parts_all(a, rank == who || rank % 3 ? &part : NULL, rank == who || rank % 3 ? 1 : 0));
        if (who >= 0) fill_model(3 + who, 5, 2);
        memset(buf, 0, sizeof buf);
        must(sluice_read_parts_all(a, rank == who || rank % 3 ? &part : NULL, rank == who || rank % 3 ? 1 : 0));
        CHECK(rank == who ? !memcmp(buf, model[5], 2 * sizeof *buf) : !buf[0][0], "rank %d, only %d", rank, who);
    }
    check_array(a);
}

/* All want everything: it is read once (E-21), and the last rank's is in the file (E-35). */
static void the_same(sluice_array *a) {
    sluice_counts before, after;
    a->collective->together.way = SLUICE_WAY_TWO_PHASE;
    sluice_collective_forget(a->collective);
    sluice_count(a, &before);
    check_array(a);
    sluice_count(a, &after);
    int64_t read = total(after.bytes_read - before.bytes_read), wanted = total(after.wanted_read - before.wanted_read);
    CHECK(read == (int64_t)sizeof model[0] * ROWS && wanted == read * size,
          "%" PRId64 " bytes read, %" PRId64 " wanted", read, wanted);
    for (int way = SLUICE_WAY_OWN; way <= SLUICE_WAY_TWO_PHASE; way++) {
        a->collective->together.way = (sluice_way)way;
        sluice_collective_forget(a->collective);
        fill(10 * way + rank, 0, ROWS);
        must(sluice_write_all(a, NULL, buf));
        fill_model(10 * way + size - 1, 0, ROWS);
        check_array(a);
    }
    a->collective->together.way = SLUICE_WAY_AUTO;
}

static void conflicts(void) {
    if (size == 1) return;
    sluice_array *a = make(&(sluice_options){.together.refuse_conflicts = 1});
    sluice_counts before, after;
    /* Each has rows of its own, but the last two share the last column of one. */
    int64_t first = 6 * rank;
    sluice_range mine[] = {{first, 6, 1}, {0, COLUMNS, 1}};
    sluice_range more[] = {{6 * (size - 1), 1, 1}, {COLUMNS - 1, 1, 1}};
    sluice_part part[] = {{.range = mine, .buf = buf}, {.range = more, .buf = buf}};
    char names[60];
    snprintf(names, sizeof names, "ranks %d and %d both write 4 bytes", size - 2, size - 1);
    sluice_count(a, &before);
    memset(buf, 0, sizeof buf);
    refused(SLUICE_E_SHARED, sluice_write_parts_all(a, part, rank == size - 2 ? 2 : 1), names);
    sluice_count(a, &after);
    CHECK(after.bytes_written == before.bytes_written && after.mapped_written == before.mapped_written, "written");
    check_array(a);
    fill(5, first, 6);
    must(sluice_write_parts_all(a, part, 1)); /* without it none is left */
    fill_model(5, 0, 6 * size);
    check_array(a);
    must(sluice_close(a));
}

/* ---- In the background ---- */

static void background(int nodes) {
    enum { N = 5 };
    static int32_t room[N][ROWS][COLUMNS];
    sluice_array *a = make(&(sluice_options){.together.nodes = nodes});
    sluice_request *r[N];
    /* Writes and reads of the same rows: what was started first is seen by what comes later. */
    for (int k = 0; k < N; k++) {
        sluice_range mine[] = {{rank, (ROWS - rank + size - 1) / size, size}, {0, COLUMNS, 1}};
        sluice_part part = {.range = k % 2 ? NULL : mine, .buf = room[k]};
        for (int64_t i = rank, at = 0; i < ROWS && k % 2 == 0; i += size, at++)
            for (int64_t j = 0; j < COLUMNS; j++) room[k][at][j] = value(20 + k, i, j);
        must((k % 2 ? sluice_read_all_start : sluice_write_all_start)(&r[k], a, &part, 1));
    }
    for (int k = 0; k < N; k++) must(sluice_wait(r[(k * 2 + rank) % N])); /* each in another order */
    for (int k = 1; k < N; k += 2) {
        fill_model(20 + k - 1, 0, ROWS);
        CHECK(!memcmp(room[k], model, sizeof room[k]), "request %d of %d nodes", k, nodes);
    }
    fill_model(20 + N - 1, 0, ROWS);
    check_array(a);
    /* A call on the handle waits for what was started before it. */
    fill(30, rank, 1);
    must(sluice_write_all_start(&r[0], a, &(sluice_part){.range = rows_of(rank, 1), .buf = buf}, 1));
    must(sluice_sync(a));
    for (int i = 0; i < size; i++) fill_model(30, i, 1);
    must(sluice_read_all(a, NULL, room[0]));
    CHECK(!memcmp(room[0], model, sizeof room[0]));
    must(sluice_wait(r[0]));
    must(sluice_close(a));
}

/* ---- The array itself ---- */

static void resizing(void) {
    sluice_array *a = make(NULL), *alone;
    refused(SLUICE_E_ARGUMENT, sluice_resize(a, -1), "-1");
    check_array(a);
    must(sluice_resize(a, MOST));
    CHECK(sluice_describe(a)->shape.dim[0] == MOST);
    check_array(a); /* what is new is 0 */
    fill(6, ROWS + rank, 1);
    must(sluice_write_all(a, rows_of(ROWS + rank, 1), buf));
    for (int i = 0; i < size; i++) fill_model(6, ROWS + i, 1);
    check_array(a);
    must(sluice_resize(a, ROWS - 3));
    refused(SLUICE_E_ARGUMENT, sluice_read_all(a, everything, buf), "dimension 0");
    must(sluice_resize(a, ROWS));
    memset(model[ROWS - 3], 0, (MOST - ROWS + 3) * sizeof *model);
    check_array(a);

    /* Local calls on the group's handle; who wants to read what another has written sees to it that it is there. */
    fill(7, rank, 1);
    must(sluice_write(a, rows_of(rank, 1), buf));
    must(sluice_sync(a));
    for (int i = 0; i < size; i++) fill_model(7, i, 1);
    must(sluice_read(a, NULL, buf));
    CHECK(!memcmp(buf, model, ROWS * sizeof *buf), "another local write is not seen");
    must(sluice_close(a));
    must(sluice_open(&alone, path, SLUICE_READ, NULL, NULL));
    CHECK(sluice_describe(alone)->shape.dim[0] == ROWS);
    must(sluice_read(alone, NULL, buf));
    CHECK(!memcmp(buf, model, ROWS * sizeof *buf));
    must(sluice_close(alone));
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "collective_unit");
    sluice_array *a = make(NULL);
    wrong_arguments(a);
    mismatches(a);
    nothing(a);
    the_same(a);
    must(sluice_close(a));
    boundless();
    opening();
    replacing();
    read_only();
    some_processes();
    conflicts();
    background(0);
    if (size > 2) background(2);
    resizing();
    return finish();
}
