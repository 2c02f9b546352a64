/* hello.c: what process 3 of 8 has of a section of an 8 TB array, without touching a byte of it. */
#include <sluice.h>
#include <stdio.h>

int main(void) {
    /* 1 000 000 x 1 000 000 doubles; wanted is every third column of rows 0 to 999. */
    sluice_shape array = {.ndims = 2, .order = SLUICE_ROW_MAJOR, .elem = 8, .dim = {1000000, 1000000}};
    sluice_range part[] = {{.start = 0, .count = 1000, .step = 1}, {.start = 0, .count = 333334, .step = 3}};

    /* It is distributed over 2 x 4 processes: blocks of rows, columns dealt five at a time. */
    sluice_dist dist[] = {{.kind = SLUICE_DIST_BLOCK}, {.kind = SLUICE_DIST_CYCLIC, .block = 5}};
    int grid[] = {2, 4};

    sluice_set section = SLUICE_SET_EMPTY, mine = SLUICE_SET_EMPTY, common = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    int error = sluice_set_section(&section, &array, part, &why);
    if (!error) error = sluice_set_hpf(&mine, &array, dist, grid, 3, &why);
    if (!error) error = sluice_set_intersect(&common, &section, &mine);
    if (error) {
        fprintf(stderr, "hello: %s %s\n", sluice_strerror(error), why.text);
        return 1;
    }
    printf("process 3 has %lld of the %lld bytes, in %lld runs; the first of them:\n", (long long)common.size,
           (long long)section.size, (long long)sluice_set_nruns(&common));

    sluice_cursor cursor;
    sluice_run run;
    sluice_cursor_init(&cursor, &common);
    for (int i = 0; i < 4 && sluice_cursor_run(&cursor, &run); i++)
        printf("%lld bytes at offset %lld\n", (long long)run.len, (long long)run.off);

    sluice_set_free(&section);
    sluice_set_free(&mine);
    sluice_set_free(&common);
    return 0;
}
