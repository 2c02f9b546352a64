/* ranks: 1 2 3 4 */
/* passion_global.c: PASSION's global placement model: one file, all processes. What is in the file is told by the
 * definition: an element belongs to the highest rank whose section has it. Then the mistakes of one process, which all
 * must hear of; a distribution that changes (P-6); what one process wrote alone and another reads (P-8). */
#include "array/array.h"
#include "passion_mpi.h"
#include "support/random.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIMS = 3, MOST = 16, RANKS = 4, HEADER = 12, ROOM = MOST * MOST * MOST };

static int rank, size;
static char path[64];
static int model[ROOM], buf[ROOM], disk[ROOM];

typedef int section[DIMS][3];

/* A whole array of int with room in memory for all of it; processes along the first dimension. */
static OCAD *array_of(int n, const int *dim, int storage, int kind) {
    int distribution[DIMS][2] = {{kind, 0}}, grid[DIMS], local[DIMS], in_core[DIMS][2] = {{0}},
        overlap[DIMS][2] = {{0}};
    for (int d = 0; d < n; d++) {
        grid[d] = d ? 1 : size;
        local[d] = in_core[d][0] = dim[d];
    }
    OCAD *o = PASSION_malloc_OCAD(n);
    CHECK(o && !PASSION_fill_OCAD(o, (int *)(uintptr_t)dim, distribution, grid, local, in_core, overlap, sizeof(int),
                                  storage),
          "%s", sluice_errmsg());
    return o;
}

static int elements(const OCAD *o) {
    int all = 1;
    for (int d = 0; d < o->dimensions; d++) all *= o->size[d];
    return all;
}

/* The coordinates, from 1, of element number k in the file; and the number of an element. */
static void coordinates(const OCAD *o, int k, int *c) {
    for (int j = 0; j < o->dimensions; j++) {
        int d = o->storage == ROW_MAJOR ? o->dimensions - 1 - j : j;
        c[d] = k % o->size[d] + 1;
        k /= o->size[d];
    }
}

static int number(const OCAD *o, const int *c) {
    int k = 0;
    for (int j = 0; j < o->dimensions; j++) {
        int d = o->storage == ROW_MAJOR ? j : o->dimensions - 1 - j;
        k = k * o->size[d] + c[d] - 1;
    }
    return k;
}

static bool has(const OCAD *o, section s, const int *c) {
    for (int d = 0; d < o->dimensions; d++)
        if (c[d] < s[d][0] || c[d] > s[d][1] || (c[d] - s[d][0]) % s[d][2]) return false;
    return true;
}

/* Where, in a buffer as large as the array, an element of a section lies if that starts at its first element. */
static int place(const OCAD *o, section s, const int *c) {
    int at[DIMS];
    for (int d = 0; d < o->dimensions; d++) at[d] = (c[d] - s[d][0]) / s[d][2] + 1;
    return number(o, at);
}

static int value(int r, int step, int k) { return (r + 1) * 100000000 + step * 10000 + k; }

static void fill(const OCAD *o, section mine, int step) {
    int c[DIMS], all = elements(o);
    for (int k = 0; k < all; k++) buf[k] = -7;
    for (int k = 0; k < all; k++) {
        coordinates(o, k, c);
        if (has(o, mine, c)) buf[place(o, mine, c)] = value(rank, step, k);
    }
}

/* What all have written, in the order of ranks. */
static void write_model(const OCAD *o, section *asked, int step) {
    int c[DIMS], all = elements(o);
    for (int k = 0; k < all; k++) {
        coordinates(o, k, c);
        for (int r = 0; r < size; r++)
            if (has(o, asked[r], c)) model[k] = value(r, step, k);
    }
}

static void check_disk(PFILE *f, const OCAD *o) {
    int all = elements(o);
    FILE *in = fopen(path, "rb");
    CHECK(in && !fseek(in, f->header_size, SEEK_SET) && fread(disk, sizeof *disk, (size_t)all, in) == (size_t)all);
    if (in) fclose(in);
    int k = 0;
    while (k < all && disk[k] == model[k]) k++;
    CHECK(k == all, "element %d is %d, not %d", k, disk[k], model[k]);
}

static void check_read(const OCAD *o, section mine) {
    int c[DIMS], all = elements(o), wrong = 0, found = 0, count = 0;
    for (int k = 0; k < all; k++) {
        coordinates(o, k, c);
        if (!has(o, mine, c)) continue;
        wrong += buf[place(o, mine, c)] != model[k];
        found++;
    }
    for (int k = 0; k < all; k++) count += buf[k] != -7;
    CHECK(!wrong && count == found, "%d of %d elements are wrong, %d were written to", wrong, found, count);
}

/* All returned this error, and say the same. */
static void refused(int expected, int got, const char *text) {
    char first[192] = "";
    snprintf(first, sizeof first, "%s", sluice_errmsg());
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK(got == expected, "expected %d, got %d: %s", expected, got, sluice_errmsg());
    CHECK(strstr(first, text), "\"%s\" does not say \"%s\"", first, text);
    CHECK(!strcmp(first, sluice_errmsg()), "rank 0: \"%s\", here: \"%s\"", first, sluice_errmsg());
}

static PFILE *open_new(void) {
    if (rank == 0) unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    PFILE *f = PASSION_open(path, HEADER);
    if (!f) {
        fprintf(stderr, "%s\n", sluice_errmsg());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(model, 0, sizeof model);
    return f;
}

/* ---- Sections of all kinds ---- */

static void draw_sections(chance *c, const OCAD *o, section *asked) {
    bool alike = chance_once_in(c, 4);
    for (int r = 0; r < size; r++) {
        bool none = chance_once_in(c, 6);
        for (int d = 0; d < o->dimensions; d++) {
            int lower = (int)chance_draw(c, 1, o->size[d]), upper = (int)chance_draw(c, lower, o->size[d]);
            int stride = chance_once_in(c, 2) ? (int)chance_draw(c, 1, 4) : 1;
            if (chance_once_in(c, 5)) lower = 1, upper = o->size[d];
            asked[r][d][0] = lower;
            asked[r][d][1] = none && !d ? lower - 1 : upper;
            asked[r][d][2] = stride;
        }
        if (alike) memcpy(asked[r], asked[0], sizeof *asked);
    }
}

static void set_way(chance *c, PFILE *f) {
    sluice_collective *l = f->array->collective;
    l->together.way = (sluice_way)chance_draw(c, 0, 2);
    l->together.division = (sluice_division)chance_draw(c, 0, 4);
    sluice_collective_forget(l);
}

static void random_sections(chance *c) {
    PFILE *f = open_new();
    OCAD *o = NULL;
    for (int step = 0; step < 60; step++) {
        section asked[RANKS];
        if (step % 20 == 0) { /* another array in the same file */
            int n = (int)chance_draw(c, 1, DIMS), dim[DIMS];
            for (int d = 0; d < n; d++) dim[d] = (int)chance_draw(c, d ? 1 : size, MOST);
            PASSION_free_OCAD(o);
            o = array_of(n, dim, chance_once_in(c, 2) ? COLUMN_MAJOR : ROW_MAJOR, PASSION_BLOCK);
        }
        set_way(c, f);
        draw_sections(c, o, asked);
        fill(o, asked[rank], step);
        CHECK(!PASSION_global_write(f, o, (char *)buf, NULL, asked[rank], size), "%s", sluice_errmsg());
        write_model(o, asked, step);
        check_disk(f, o);
        draw_sections(c, o, asked);
        for (int k = 0; k < elements(o); k++) buf[k] = -7;
        CHECK(!PASSION_global_read(f, o, (char *)buf, NULL, asked[rank], size), "%s", sluice_errmsg());
        check_read(o, asked[rank]);
    }
    PASSION_free_OCAD(o);
    CHECK(!PASSION_close(f), "%s", sluice_errmsg());
}

/* "Distinct" rows that share their first and last: the higher rank has them. */
static void shared_rows(void) {
    int dim[] = {MOST, 5};
    section asked[RANKS];
    OCAD *o = array_of(2, dim, COLUMN_MAJOR, PASSION_BLOCK);
    PFILE *f = open_new();
    for (int r = 0; r < size; r++) memcpy(asked[r], (section){{1 + 3 * r, 4 + 3 * r, 1}, {1, 5, 1}}, sizeof *asked);
    fill(o, asked[rank], 0);
    CHECK(!PASSION_global_write(f, o, (char *)buf, NULL, asked[rank], size), "%s", sluice_errmsg());
    write_model(o, asked, 0);
    if (rank == 0) check_disk(f, o);
    CHECK(size == 1 || model[3] / 100000000 == 2, "the model gives row 4 to rank %d", model[3] / 100000000 - 1);
    CHECK(!PASSION_close(f), "%s", sluice_errmsg());
    PASSION_free_OCAD(o);
}

/* A process's columns lie in pieces; together the processes read long ranges (P-7). */
static void fewer_requests(void) {
    int dim[] = {MOST, MOST};
    int columns[DIMS][3] = {{1, MOST, 1}, {1 + rank, MOST, size}};
    sluice_counts before, between, after;
    OCAD *o = array_of(2, dim, ROW_MAJOR, PASSION_BLOCK);
    PFILE *f = open_new();
    section all = {{1, MOST, 1}, {1, MOST, 1}};
    fill(o, all, 1);
    CHECK(!PASSION_global_write(f, o, (char *)buf, NULL, all, size), "%s", sluice_errmsg());
    f->array->io.no_map = true;
    f->array->io.method = SLUICE_DIRECT;
    sluice_count(f->array, &before);
    CHECK(!PASSION_read_section(f, o, (char *)buf, NULL, columns), "%s", sluice_errmsg());
    sluice_count(f->array, &between);
    f->array->collective->together.way = SLUICE_WAY_TWO_PHASE;
    CHECK(!PASSION_global_read(f, o, (char *)buf, NULL, columns, size), "%s", sluice_errmsg());
    sluice_count(f->array, &after);
    if (size > 1)
        CHECK(between.calls_read - before.calls_read >= MOST && after.calls_read - between.calls_read <= 1,
              "%lld requests alone, %lld together", (long long)(between.calls_read - before.calls_read),
              (long long)(after.calls_read - between.calls_read));
    CHECK(!PASSION_close(f), "%s", sluice_errmsg());
    PASSION_free_OCAD(o);
}

/* ---- Mistakes of one process ---- */

static void mistakes(void) {
    int dim[] = {8, 8}, other[] = {8, 9}, last = size - 1;
    OCAD *o = array_of(2, dim, ROW_MAJOR, PASSION_BLOCK), *wider = array_of(2, other, ROW_MAJOR, PASSION_BLOCK);
    section good = {{1, 8, 1}, {1, 8, 1}}, bad = {{1, 8, 1}, {0, 8, 1}};
    PFILE *f = open_new();
    bool me = rank == last;
    int (*const get)(PFILE *, OCAD *, char *, int *, int(*)[3], int) = PASSION_global_read;
    refused(SLUICE_E_FORMAT, get(f, o, (char *)buf, NULL, good, size), "it has 0 bytes");
    fill(o, good, 2);
    CHECK(!PASSION_global_write(f, o, (char *)buf, NULL, good, size), "%s", sluice_errmsg());
    write_model(
        o, (section[]){{{1, 8, 1}, {1, 8, 1}}, {{1, 8, 1}, {1, 8, 1}}, {{1, 8, 1}, {1, 8, 1}}, {{1, 8, 1}, {1, 8, 1}}},
        2);

    refused(SLUICE_E_ARGUMENT, get(f, o, (char *)buf, NULL, me ? bad : good, size), "0:8:1 is not within 1:8");
    refused(SLUICE_E_ARGUMENT, get(f, o, me ? NULL : (char *)buf, NULL, good, size), "no array");
    refused(SLUICE_E_ARGUMENT, get(f, me ? NULL : o, (char *)buf, NULL, good, size), "no OCAD");
    refused(SLUICE_E_ARGUMENT, get(f, o, (char *)buf, NULL, good, size + me), "but");
    memset(buf, 0, sizeof buf);
    refused(SLUICE_E_ARGUMENT, PASSION_global_write(f, o, (char *)buf, NULL, me ? bad : good, size), "is not within");
    if (size > 1) {
        refused(SLUICE_E_MISMATCH, get(f, me ? wider : o, (char *)buf, NULL, good, size), "different");
        refused(SLUICE_E_MISMATCH,
                (me ? PASSION_global_write : PASSION_global_read)(f, o, (char *)buf, NULL, good, size), "different");
    }
    CHECK(!get(f, o, (char *)buf, NULL, good, size), "%s", sluice_errmsg());
    CHECK(!memcmp(buf, model, 64 * sizeof *buf), "a refused write has written");
    CHECK(!PASSION_close(f), "%s", sluice_errmsg());

    CHECK(!PASSION_open(me ? NULL : path, HEADER));
    refused(0, 0, "PASSION_open: no file name");
    if (size > 1) {
        CHECK(!PASSION_open(path, me ? 1 : 0));
        refused(0, 0, "headers of 0 and 1 bytes");
    }
    static char nowhere[] = "no/such/folder/file";
    CHECK(!PASSION_open(nowhere, 0));
    refused(0, 0, "No such file");

    CHECK(!PASSION_set_placement(PASSION_LOCAL));
    char own[80];
    snprintf(own, sizeof own, "%s.%d", path, rank);
    f = PASSION_open(own, 0);
    CHECK(f && get(f, o, (char *)buf, NULL, good, size) == SLUICE_E_ARGUMENT, "%s", sluice_errmsg());
    CHECK(!PASSION_close(f) && !unlink(own) && !PASSION_set_placement(PASSION_GLOBAL), "%s", sluice_errmsg());
    CHECK(get(NULL, o, (char *)buf, NULL, good, size) == SLUICE_E_ARGUMENT);
    PASSION_free_OCAD(o);
    PASSION_free_OCAD(wider);
}

/* ---- The model ---- */

/* The file is the same whatever the distribution (P-6): what was written in blocks is read dealt in turn. */
static void change_distribution(void) {
    int dim[] = {MOST, 3}, block = (MOST + size - 1) / size, first = 1 + rank * block;
    int last = first + block - 1 < MOST ? first + block - 1 : MOST;
    section rows = {{first, last, 1}, {1, 3, 1}}, dealt = {{1 + rank, MOST, size}, {1, 3, 1}}, asked[RANKS];
    OCAD *blocks = array_of(2, dim, ROW_MAJOR, PASSION_BLOCK), *cyclic = array_of(2, dim, ROW_MAJOR, PASSION_CYCLIC);
    PFILE *f = open_new();
    fill(blocks, rows, 3);
    CHECK(!PASSION_global_write(f, blocks, (char *)buf, NULL, rows, size), "%s", sluice_errmsg());
    for (int r = 0; r < size; r++)
        memcpy(asked[r], (section){{1 + r * block, (int)sluice_min(MOST, (r + 1) * block), 1}, {1, 3, 1}},
               sizeof *asked);
    write_model(blocks, asked, 3);
    for (int k = 0; k < elements(cyclic); k++) buf[k] = -7;
    CHECK(!PASSION_global_read(f, cyclic, (char *)buf, NULL, dealt, size), "%s", sluice_errmsg());
    check_read(cyclic, dealt);
    check_disk(f, cyclic);
    MPI_Barrier(MPI_COMM_WORLD);

    /* Written alone, read by a neighbour: in between, flush and meet (P-8). */
    for (int step = 4; step < 7; step++) {
        fill(blocks, rows, step);
        CHECK(!PASSION_write_section(f, blocks, (char *)buf, NULL, rows), "%s", sluice_errmsg());
        write_model(blocks, asked, step);
        CHECK(!sluice_sync(f->array), "%s", sluice_errmsg());
        section *theirs = &asked[(rank + 1) % size];
        for (int k = 0; k < elements(blocks); k++) buf[k] = -7;
        CHECK(!PASSION_read_section(f, blocks, (char *)buf, NULL, *theirs), "%s", sluice_errmsg());
        check_read(blocks, *theirs);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(!PASSION_close(f), "%s", sluice_errmsg());
    PASSION_free_OCAD(blocks);
    PASSION_free_OCAD(cyclic);
}

/* Every second process is a group of its own; the others open nothing. */
static void some_processes(void) {
    MPI_Comm odd;
    int dim[] = {MOST}, n, r;
    section mine;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2 ? 0 : MPI_UNDEFINED, rank, &odd);
    if (odd == MPI_COMM_NULL) return;
    MPI_Comm_size(odd, &n);
    MPI_Comm_rank(odd, &r);
    CHECK(!PASSION_set_comm(odd), "%s", sluice_errmsg());
    int whole = size;
    size = n;
    OCAD *o = array_of(1, dim, ROW_MAJOR, PASSION_CYCLIC);
    char own[80];
    snprintf(own, sizeof own, "%s.odd", path);
    PFILE *f = PASSION_open(own, 0);
    memcpy(mine, (section){{1 + r, MOST, n}}, sizeof mine);
    fill(o, mine, 8);
    CHECK(f && !PASSION_global_write(f, o, (char *)buf, NULL, mine, n), "%s", sluice_errmsg());
    CHECK(!PASSION_global_read(f, o, (char *)buf, NULL, (section){{1, MOST, 1}}, n), "%s", sluice_errmsg());
    for (int k = 0; k < MOST; k++) CHECK(buf[k] == value(2 * (k % n) + 1, 8, k), "element %d is %d", k, buf[k]);
    CHECK(!PASSION_close(f), "%s", sluice_errmsg());
    PASSION_free_OCAD(o);
    if (r == 0) unlink(own);
    CHECK(!PASSION_set_comm(MPI_COMM_NULL));
    MPI_Comm_free(&odd);
    size = whole;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned long long start[2] = {chance_default_seed("SLUICE_TEST_SEED"), (unsigned long long)getpid()};
    MPI_Bcast(start, 2, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "passion_global.%llu", start[1]);
    if (rank == 0) printf("seed %llu\n", start[0]);
    chance c = {0};
    chance_seed(&c, start[0]);
    CHECK(!PASSION_set_placement(PASSION_GLOBAL));
    random_sections(&c);
    shared_rows();
    fewer_requests();
    mistakes();
    change_distribution();
    some_processes();
    chance_free(&c);
    int mine = verdict(), all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return all;
}
