/* prefetch.c: a loop over a file whose computation takes about as long as its reading: how much of the two overlaps.
 *
 * With --cold the file is read from the disk, whose own rate is what it is: those of virtual machines read fast in
 * bursts and slowly after them, and then no two loops are alike. Without, the file is cached, and each read is made to
 * take as long as on a disk of 400 MB/s, asleep.
 *
 *   read      the loop without computation, and without prefetch
 *   compute   the computation alone
 *   plain     the loop, each slab read when it is its turn
 *   prefetch  the loop, the next slab being read meanwhile
 *
 * They take turns; a figure is the median. Goal: prefetch <= 0.65 of read + compute.
 */
#include "array/array.h"
#include "bench.h"
#include "sluice.h"
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 2048, COLS = 16384, SLAB = 128, REPS = 5 }; /* 256 MiB of doubles, slabs of 16 MiB */
enum { PAUSE = 1 }; /* seconds: disks of virtual machines are fast in bursts, and every loop begins rested */
static const char *const path = "prefetch.npy";
static const double rate = 400e6; /* bytes per second of the disk that is made believe */
static bool cold;
static int rounds; /* of the computation, per element */
static volatile double result;

static void must(int err) {
    if (err >= 0) return;
    fprintf(stderr, "prefetch: %s\n", sluice_errmsg());
    exit(1);
}

/* Work that the compiler keeps and that no memory limits; returns the sum of the elements. */
static double compute(const double *x, int64_t n) {
    double sum = 0, y = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        for (int k = 0; k < rounds; k++) y = y * 0.999 + x[i];
    }
    result = y;
    return sum;
}

static void make_cold(void) {
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fdatasync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)) bench_must(-1, "making the file cold");
    close(fd);
    nanosleep(&(struct timespec){.tv_sec = PAUSE}, NULL);
}

/* Lets each read take its time. */
static void linger(void *arg, const char *call, int64_t off, int64_t len, int64_t moved) {
    (void)arg, (void)off, (void)moved;
    if (strcmp(call, "read")) return;
    double left = (double)len / rate;
    nanosleep(&(struct timespec){(time_t)left, (long)(1e9 * (left - (double)(time_t)left))}, NULL);
}

/* The array, behind a store that is as slow as a disk. */
static int open_slow(sluice_array **a) {
    sluice_store *file, *slow;
    sluice_desc d;
    sluice_options o = {.size = sizeof o, .method = SLUICE_LIST}; /* not through the mapping */
    sluice_reason why;
    int err = sluice_store_open(&file, path, SLUICE_STORE_READ, &why);
    if (!err) err = sluice_plain_open(&d, NULL, file, &why);
    if (!err) err = sluice_store_open_tap(&slow, file, linger, NULL);
    return err ? err : sluice_array_adopt(a, slow, &d, false, &o);
}

static double loop(bool with_work, bool with_prefetch) {
    sluice_array *a;
    sluice_slabs *s;
    sluice_slab slab;
    double sum = 0;
    int more;
    if (cold) make_cold();
    must(cold ? sluice_open(&a, path, SLUICE_READ, NULL, NULL) : open_slow(&a));
    double start = bench_now();
    must(sluice_slabs_open(&s, a,
                           &(sluice_slabs_options){.count = SLAB, .memory = 80 << 20, .no_prefetch = !with_prefetch}));
    while ((more = sluice_slabs_next(s, &slab)) > 0)
        if (with_work) sum += compute(slab.buf, slab.total * COLS);
    double time = bench_now() - start;
    must(more);
    sluice_slabs_close(s);
    sluice_close(a);
    if (with_work && sum != (double)ROWS * COLS * 3) bench_must(-1, "the sum");
    return time / 1e6;
}

static double work_alone(double *x) {
    double start = bench_now(), sum = 0;
    for (int i = 0; i < ROWS / SLAB; i++) sum += compute(x, (int64_t)SLAB * COLS);
    double time = bench_now() - start;
    if (sum != (double)ROWS * COLS * 3) bench_must(-1, "the sum");
    return time / 1e6;
}

int main(int argc, char **argv) {
    sluice_array *a;
    cold = argc > 1 && !strcmp(argv[1], "--cold");
    sluice_desc d = {.format = SLUICE_NPY, .shape = {2, SLUICE_ROW_MAJOR, 8, 0, {ROWS, COLS}}, .type = "float64"};
    sluice_options o = {.size = sizeof o, .replace = 1};
    double *x = malloc((size_t)SLAB * COLS * 8);
    for (int64_t i = 0; i < (int64_t)SLAB * COLS; i++) x[i] = 3;
    must(sluice_create(&a, path, &d, &o));
    for (int64_t r = 0; r < ROWS; r += SLAB) must(sluice_write(a, (sluice_range[]){{r, SLAB, 1}, {0, COLS, 1}}, x));
    must(sluice_sync(a));
    must(sluice_close(a));
    /* As much computation as there is reading, within a twentieth, or as near as the machine's moods allow. */
    double time[4][REPS];
    for (int r = 0; r < REPS; r++) time[0][r] = loop(false, false);
    double read = bench_median(time[0], REPS);
    rounds = 8;
    for (int tries = 0; tries < 5; tries++) {
        double work = work_alone(x);
        if (work > 0.95 * read && work < 1.05 * read) break;
        int better = (int)(rounds * read / work + 0.5);
        rounds = better > 1 ? better : 1;
    }
    for (int r = 0; r < REPS; r++) {
        time[0][r] = loop(false, false);
        time[1][r] = work_alone(x);
        time[2][r] = loop(true, false);
        time[3][r] = loop(true, true);
    }
    double m[4];
    for (int i = 0; i < 4; i++) m[i] = bench_median(time[i], REPS);
    printf("read %.0f ms, compute %.0f ms (%.2f of it), plain loop %.0f ms, with prefetch %.0f ms\n", m[0], m[1],
           m[1] / m[0], m[2], m[3]);
    printf("prefetch / (read + compute) = %.2f, goal 0.65; plain / (read + compute) = %.2f\n", m[3] / (m[0] + m[1]),
           m[2] / (m[0] + m[1]));
    unlink(path);
    free(x);
    return 0;
}
