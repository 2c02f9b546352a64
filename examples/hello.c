/* hello.c: an array in a file: write a part of it, read another. */
#include <sluice.h>
#include <stdio.h>
#include <stdlib.h>

static void must(int error) {
    if (!error) return;
    fprintf(stderr, "hello: %s\n", sluice_errmsg());
    exit(1);
}

int main(void) {
    /* 100 000 x 200 000 doubles, 160 GB of zeros that take no room on the disk yet; NumPy can open it, too. */
    sluice_desc field = {.format = SLUICE_NPY, .shape = {.ndims = 2, .dim = {100000, 200000}}, .type = "float64"};
    sluice_array *a;
    must(sluice_create(&a, "hello.npy", &field, &(sluice_options){.replace = 1}));

    /* Rows 70 000 to 70 002; of these, every 50 000th column. */
    sluice_range part[] = {{.start = 70000, .count = 3, .step = 1}, {.start = 0, .count = 4, .step = 50000}};
    double values[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
    must(sluice_write(a, part, values));
    must(sluice_close(a));

    /* A larger part that has some of them: rows 69 999 to 70 003, every 25 000th column. */
    sluice_range larger[] = {{.start = 69999, .count = 5, .step = 1}, {.start = 0, .count = 8, .step = 25000}};
    double back[5][8];
    must(sluice_open(&a, "hello.npy", SLUICE_READ, NULL, NULL));
    must(sluice_read(a, larger, back));
    must(sluice_close(a));
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 8; k++) printf("%3g%s", back[i][k], k < 7 ? " " : "\n");
    return remove("hello.npy") != 0;
}
