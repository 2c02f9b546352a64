/* passion_local.c: PASSION's slab loop. The local array of this process lies in a file; a piece of it at a time is
 * brought into memory, computed on, and written to where it belongs. Reading with reuse brings each row from the file
 * once only, although every row is needed for its neighbours, too. */
#include <passion.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 2000, COLUMNS = 1000, SLAB = 128 };

/* The in-core local array: SLAB rows, with one row of overlap before and after them. */
static float old[1 + SLAB + 1][COLUMNS], new[1 + SLAB + 1][COLUMNS];

static void must(int good) {
    if (good) return;
    fprintf(stderr, "passion_local: %s\n", sluice_errmsg());
    exit(1);
}

/* This process has all of the array; of several, each would have a block of its rows. */
static OCAD *describe(void) {
    int size[] = {ROWS, COLUMNS}, nprocs[] = {1, 1}, local[] = {ROWS, COLUMNS};
    int distribution[][2] = {{PASSION_BLOCK, 0}, {PASSION_COLLAPSED, 0}};
    int in_core[][2] = {{SLAB, 0}, {COLUMNS, 0}}, overlap[][2] = {{1, 1}, {0, 0}};
    OCAD *array = PASSION_malloc_OCAD(2);
    must(array &&
         !PASSION_fill_OCAD(array, size, distribution, nprocs, local, in_core, overlap, sizeof(float), ROW_MAJOR));
    return array;
}

/* Rows first to last of the file from memory, where they lie behind the overlap. */
static void write_rows(PFILE *file, OCAD *array, float (*from)[COLUMNS], int first, int last) {
    int index[] = {2, 1}, rows[][3] = {{first, last, 1}, {1, COLUMNS, 1}};
    must(!PASSION_write_section(file, array, (char *)from, index, rows));
}

static void make(PFILE *file, OCAD *array) {
    for (int first = 1; first <= ROWS; first += SLAB) {
        int last = first + SLAB - 1 < ROWS ? first + SLAB - 1 : ROWS;
        for (int i = first; i <= last; i++)
            for (int j = 0; j < COLUMNS; j++) old[1 + i - first][j] = (float)i;
        write_rows(file, array, old, first, last);
    }
}

/* The mean of each element and its neighbours above and below. */
static void smooth(PFILE *from, PFILE *to, OCAD *array) {
    REUSE *walk = PASSION_reuse_init(from, array, 1);
    int result;
    must(walk != NULL);
    while ((result = PASSION_read_reuse(walk, (char *)old)) == 0) {
        for (int i = 1; i <= walk->count; i++) {
            int above = i > 1 || walk->lower ? i - 1 : i, below = i < walk->count || walk->upper ? i + 1 : i;
            for (int j = 0; j < COLUMNS; j++) new[i][j] = (old[above][j] + old[i][j] + old[below][j]) / 3;
        }
        write_rows(to, array, new, walk->start, walk->start + walk->count - 1);
    }
    must(result == -1);
}

int main(void) {
    OCAD *array = describe();
    PFILE *from = PASSION_open("field.0", 0), *to = PASSION_open("smooth.0", 0);
    must(from && to);
    make(from, array);
    smooth(from, to, array);

    /* Every 333rd row of one column, without the rest. The slope stays as it is, but for its first row. */
    int sample[][3] = {{1, ROWS, 333}, {1, 1, 1}};
    must(!PASSION_read_section(to, array, (char *)new, NULL, sample));
    for (int k = 0; k < 7; k++) printf("row %4d: %8.3f\n", 1 + 333 * k, new[k][0]);
    must(!PASSION_close(from) && !PASSION_close(to));
    PASSION_free_OCAD(array);
    remove("field.0");
    remove("smooth.0");
    return new[0][0] < 1.3 || new[0][0] > 1.4 || new[3][0] != 1000;
}
