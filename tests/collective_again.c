/* ranks: 2 3 4 */
/* collective_again.c: a process that sees its last pattern again may think that the others do, too. When they turn out
 * to do something else, such that two write the same rows, the higher rank must still win, each time. */
#include "collective_common.h"

enum { ROWS = 16, COLS = 64, TIMES = 60 };

int main(int argc, char **argv) {
    begin(&argc, &argv, "collective_again");
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 1, 0, {ROWS, COLS}}};
    sluice_array *a;
    must(sluice_create_all(&a, MPI_COMM_WORLD, path, &d, &(sluice_options){.replace = 1}));
    a->collective->together.way = SLUICE_WAY_OWN;
    for (int i = 0; i < TIMES; i++) {
        unsigned char buf[COLS], now[COLS];
        sluice_range part[2] = {{2 * rank, 1, 1}, {0, COLS, 1}}, row[2] = {{2, 1, 1}, {0, COLS, 1}};
        for (int again = 0; again < 2; again++) {
            /* The second time rank 0 writes where rank 1 does: the shape is the last one, for both. */
            if (again && rank == 0) part[0].start = 2;
            memset(buf, 10 * i + 2 * rank + again, COLS);
            CHECK(!sluice_write_all(a, part, buf), "%s", sluice_errmsg());
            CHECK(!sluice_read(a, row, now), "%s", sluice_errmsg());
            int wrong = 0;
            for (int k = 0; k < COLS; k++) wrong += now[k] != (unsigned char)(10 * i + 2 + again);
            CHECK(!wrong, "round %d, %d: %d bytes of the row are not rank 1's", i, again, wrong);
            sluice_group_meet(a->collective->group); /* no one writes again before all have looked */
        }
    }
    must(sluice_close(a));
    return finish();
}
