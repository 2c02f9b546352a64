/* slabs.c: smooths an array of 24 MB in 4 MB of memory.
 *
 * sluice_slabs walks over the array, some rows at a time, each time with one row before and one after; the next rows
 * are read while this program computes. */
#include <math.h>
#include <sluice.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 2000, COLUMNS = 1500 };

static double row[COLUMNS];

static void must(int error) {
    if (error >= 0) return;
    fprintf(stderr, "slabs: %s\n", sluice_errmsg());
    exit(1);
}

static sluice_array *make(const char *name) {
    sluice_desc field = {.format = SLUICE_NPY, .type = "float64", .shape = {.ndims = 2, .dim = {ROWS, COLUMNS}}};
    sluice_options options = {.replace = 1};
    sluice_array *a;
    must(sluice_create(&a, name, &field, &options));
    return a;
}

static void write_row(sluice_array *a, int64_t i) {
    must(sluice_write(a, (sluice_range[]){{i, 1, 1}, {0, COLUMNS, 1}}, row));
}

/* The mean of each element and its neighbours above and below. */
static void smooth(sluice_array *from, sluice_array *to) {
    sluice_slabs *slabs;
    sluice_slab slab;
    int more;
    must(sluice_slabs_open(&slabs, from, &(sluice_slabs_options){.lower = 1, .upper = 1, .memory = 4 << 20}));
    while ((more = sluice_slabs_next(slabs, &slab)) > 0) {
        double(*t)[COLUMNS] = slab.buf; /* rows slab.from to slab.from + slab.total - 1 */
        for (int64_t i = slab.start; i < slab.start + slab.count; i++) {
            int64_t here = i - slab.from, above = here - (i > 0), below = here + (i < ROWS - 1);
            for (int j = 0; j < COLUMNS; j++) row[j] = (t[above][j] + t[here][j] + t[below][j]) / 3;
            write_row(to, i);
        }
    }
    must(more);
    sluice_slabs_close(slabs);
}

int main(void) {
    /* Some field to begin with: the temperature rises from row to row. */
    sluice_array *t = make("temperature.npy"), *s = make("smooth.npy");
    for (int64_t i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) row[j] = (double)i + sin(j * 0.01);
        write_row(t, i);
    }
    smooth(t, s);

    /* A slope stays as it is, but for its ends: they take a third of a degree from their neighbours. */
    double change = 0;
    for (int64_t i = 0; i < ROWS; i += ROWS - 1) {
        must(sluice_read(s, (sluice_range[]){{i, 1, 1}, {0, COLUMNS, 1}}, row));
        printf("row %4lld: %.3f, was %.3f\n", (long long)i, row[0], (double)i);
        change += row[0] - (double)i;
    }
    must(sluice_read(s, (sluice_range[]){{1000, 1, 1}, {0, COLUMNS, 1}}, row));
    printf("row 1000: %.3f, was 1000\n", row[0]);
    must(sluice_close(t));
    must(sluice_close(s));
    remove("temperature.npy");
    remove("smooth.npy");
    return fabs(change) > 1e-9 || fabs(row[0] - 1000) > 1e-9;
}
