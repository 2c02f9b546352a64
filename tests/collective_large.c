/* ranks: 1 3 */
/* collective_large.c: more than 2 GiB in one call, read from and written to files beyond 4 GiB, and the bound of
 * memory.
 */
#include "collective_common.h"
#include <fcntl.h>
#include <sys/mman.h>

#define GIB (INT64_C(1) << 30)
enum { MIB = 1 << 20, PAGE = 4096, WIDTH = PAGE / 8 - 1 };

/* ---- Reads ---- */

/* The file is a hole but for marks; the processes read 2.2 GiB of it, all but the last number of each row. */
static void read_two_gigabytes(void) {
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

/* ---- Writes ---- */

/* Memory of many bytes that takes few pages: byte k is byte k % PERIOD of a small file, mapped again and again. No
 * power of two is a multiple of the period, so bytes that go to a wrong place are wrong. */
enum { PERIOD = 33 * MIB + 5 * PAGE };

static unsigned char *map_again(int64_t bytes) {
    int fd = memfd_create("pattern", 0);
    void *all = mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fd < 0 || ftruncate(fd, PERIOD) || all == MAP_FAILED) must(sluice_errmsg_fail(-ENOMEM, "no memory"));
    unsigned char *p = all;
    for (int64_t at = 0; at < bytes; at += PERIOD)
        if (mmap(p + at, (size_t)sluice_min(PERIOD, bytes - at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                 0) == MAP_FAILED)
            must(sluice_errmsg_fail(-ENOMEM, "no memory"));
    close(fd);
    for (int64_t k = 0; k < sluice_min(PERIOD, bytes); k++) p[k] = (unsigned char)(k % 251 + k / PAGE % 5);
    return p;
}

/* The last process writes 2.1 GiB, all but the end of each row, up to the end of the file, and each of the others some
 * rows before that. All of it is looked at again, the ends of rows too. */
static void write_two_gigabytes(sluice_way way) {
    enum { ROW = MIB, WIDE = ROW - PAGE, MANY = 2160, SOME = 16 };
    const int64_t rows = 4 * GIB / ROW + 300, mine = rank == size - 1 ? MANY : SOME, bytes = mine * WIDE,
                  first = rows - MANY - (size - 1 - rank) * SOME;
    sluice_desc d = {.shape = {.ndims = 2, .elem = 1, .dim = {rows, ROW}}};
    sluice_options o = {.size = sizeof o, .replace = 1, .together.way = way};
    sluice_range part[] = {{first, mine, 1}, {0, WIDE, 1}};
    static unsigned char row[ROW], zero[PAGE];
    unsigned char *memory = map_again(bytes + PAGE);
    sluice_array *a;
    sluice_counts c;
    must(sluice_create_all(&a, MPI_COMM_WORLD, path, &d, &o));
    sluice_mem_peak_reset();
    int64_t live = sluice_mem_live(), wrong = 0;
    must(sluice_write_all(a, part, memory + way)); /* not the same bytes as another way, nor at pages */
    CHECK(sluice_mem_peak() - live < 65 * (int64_t)MIB, "%" PRId64 " bytes", sluice_mem_peak() - live);
    sluice_count(a, &c);
    CHECK(c.wanted_written == bytes, "%" PRId64 " bytes wanted", c.wanted_written);
    CHECK(way != SLUICE_WAY_OWN || c.bytes_written == bytes, "%" PRId64 " bytes written", c.bytes_written);
    CHECK((way == SLUICE_WAY_TWO_PHASE) == (c.rounds > 0), "%" PRId64 " rounds", c.rounds);
    int64_t sum = total(bytes), written = total(c.bytes_written + c.mapped_written);
    CHECK(sum > 2 * GIB && written >= sum, "%" PRId64 " bytes of %" PRId64 " written", written, sum);
    int fd = open(path, O_RDONLY);
    for (int64_t i = 0; i < mine; i++)
        wrong += pread(fd, row, ROW, (off_t)((first + i) * ROW)) != ROW || memcmp(row, memory + way + i * WIDE, WIDE) ||
                 memcmp(row + WIDE, zero, PAGE);
    CHECK(!wrong, "%" PRId64 " rows are wrong", wrong);
    close(fd);
    munmap(memory, (size_t)(bytes + PAGE));
    must(sluice_close(a));
}

/* ---- Memory ---- */

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
    read_two_gigabytes();
    write_two_gigabytes(SLUICE_WAY_OWN);
    write_two_gigabytes(SLUICE_WAY_TWO_PHASE);
    return finish();
}
