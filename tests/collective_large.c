/* ranks: 1 3 */
/* collective_large.c: more than 2 GiB in one call, of a file of 6 GiB, and the bound of memory. */
#include "collective_common.h"

#define GIB (INT64_C(1) << 30)
enum { MIB = 1 << 20, PAGE = 4096, WIDTH = PAGE / 8 - 1 };

/* The file is a hole but for marks; the processes read 2.2 GiB of it, all but the last number of each row. */
static void two_gigabytes(void) {
    const int64_t bytes = 6 * GIB, each = 2252 * (int64_t)MIB / size / PAGE;
    sluice_desc d = {.format = SLUICE_RAW, .shape = {.ndims = 2, .elem = 8, .dim = {bytes / PAGE, PAGE / 8}}};
    sluice_options o = {.size = sizeof o, .replace = 1, .together.way = SLUICE_WAY_TWO_PHASE};
    sluice_array *a;
    must(sluice_create_all(&a, MPI_COMM_WORLD, path, &d, &o));
    /* The last process reads to the end of the file. Some rows of each get marks, far apart, in one call. */
    int64_t apart = each / 8, first = bytes / PAGE - each * (size - rank), mark[24];
    sluice_range marks[] = {{first, 8, apart}, {1, 3, 100}};
    for (int k = 0; k < 24; k++) mark[k] = 1000 * (rank + 1) + k;
    must(sluice_write_all(a, marks, mark));

    int64_t *got = malloc((size_t)(each * WIDTH * 8)), wrong = 0, sum = 0;
    if (!got) must(sluice_errmsg_fail(-ENOMEM, "no memory"));
    sluice_range mine[] = {{first, each, 1}, {0, WIDTH, 1}};
    int64_t live = sluice_mem_live();
    sluice_mem_peak_reset();
    must(sluice_read_all(a, mine, got));
    for (int64_t i = 0; i < each; i++)
        for (int64_t j = 0; j < WIDTH; j++) {
            int64_t x = got[i * WIDTH + j];
            bool marked = i % apart == 0 && i / apart < 8 && (j == 1 || j == 101 || j == 201);
            wrong += x != (marked ? 1000 * (rank + 1) + i / apart * 3 + j / 100 : 0);
            sum += marked;
        }
    CHECK(!wrong && sum == 24, "%" PRId64 " numbers are wrong, %" PRId64 " marks", wrong, sum);
    CHECK(sluice_mem_peak() - live < 65 * (int64_t)MIB, "%" PRId64 " bytes", sluice_mem_peak() - live);
    free(got);
    sluice_counts c;
    sluice_count(a, &c);
    CHECK(c.wanted_read == each * WIDTH * 8, "%" PRId64 " bytes wanted", c.wanted_read);
    CHECK(total(each * WIDTH * 8) > 2 * GIB, "not over 2 GiB");
    must(sluice_close(a));
}

/* Whatever is asked for, the buffers stay below the limit, beside what it takes to describe and plan. */
static void bounded(int64_t rows, int64_t memory, int nodes) {
    enum { COLUMNS = 1536 };
    sluice_desc d = {.format = SLUICE_RAW, .shape = {.ndims = 2, .elem = 4, .dim = {rows, COLUMNS}}};
    sluice_options o = {.size = sizeof o, .replace = 1, .no_map = 1, .memory = memory, .together.nodes = nodes};
    int32_t *buf = malloc((size_t)rows * COLUMNS * sizeof *buf);
    sluice_array *a;
    if (!buf) must(sluice_errmsg_fail(-ENOMEM, "no memory"));
    must(sluice_create_all(&a, MPI_COMM_WORLD, path, &d, &o));
    int64_t columns = (COLUMNS / 2 - rank + size - 1) / size, live = sluice_mem_live();
    sluice_range mine[] = {{0, rows, 1}, {2 * rank, columns, 2 * size}}; /* every second column, dealt */
    sluice_mem_peak_reset();
    for (int way = SLUICE_WAY_AUTO; way <= SLUICE_WAY_TWO_PHASE; way++) {
        a->collective->together.way = (sluice_way)way;
        sluice_collective_forget(a->collective);
        if (way == SLUICE_WAY_OWN) continue; /* a write for each element */
        for (int64_t k = 0; k < rows * columns; k++) buf[k] = (int32_t)(k * 31 + rank + way);
        must(sluice_write_all(a, mine, buf));
        memset(buf, 0, (size_t)rows * COLUMNS * sizeof *buf);
        must(sluice_read_all(a, mine, buf));
        int64_t wrong = 0;
        for (int64_t k = 0; k < rows * columns; k++) wrong += buf[k] != (int32_t)(k * 31 + rank + way);
        CHECK(!wrong, "%" PRId64 " elements are wrong", wrong);
    }
    CHECK(sluice_mem_peak() - live <= memory + 64 * 1024, "limit %" PRId64 ", %d nodes: %" PRId64 " bytes", memory,
          nodes, sluice_mem_peak() - live);
    sluice_counts c;
    sluice_count(a, &c);
    CHECK(c.rounds > rows * COLUMNS * 4 / size / memory, "%" PRId64 " rounds", c.rounds);
    must(sluice_close(a));
    free(buf);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "collective_large");
    bounded(2048, 64 << 10, 0); /* 12 MiB */
    bounded(2048, MIB, 0);
    if (size > 1) bounded(48, 64 << 10, 2); /* less: each round takes messages, which are slow if MPI polls */
    two_gigabytes();
    return finish();
}
