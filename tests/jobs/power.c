/* power.c: what tests/power_cut.sh runs on a file system that it makes for the purpose.
 *
 *     power write PATH MS BLOCK   writes sections of a container and syncs, again and again, until the file system is
 * shut down after MS milliseconds as by a power cut: what was not synced never gets to disk. Prints how many syncs were
 * acknowledged, and the extent. BLOCK: with checksums of so many bytes; 0: without.
 *     power check PATH N ROWS     after the journal was replayed: nothing of those N is lost, and nothing looks
 * damaged.
 *
 * Round k writes k into every element of section k % SECTIONS. So what a section holds is known to be no older than its
 * last round that was acknowledged, and no newer than the round under way.
 */
#include "array/array.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECTIONS = 5, ROWS = 40, COLS = 3000, GROW = 3 /* rows at a time */ };

/* linux/ext4.h, of Linux 4.14 on: stop, without writing the journal first. */
#define EXT4_SHUTDOWN _IOR('X', 125, uint32_t)
static const uint32_t no_log_flush = 2;

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, sluice_errmsg());
    return 1;
}

static void section(sluice_range *range, int64_t k) {
    range[0] = (sluice_range){k % SECTIONS, ROWS / SECTIONS, SECTIONS};
    range[1] = (sluice_range){0, COLS, 1};
}

/* Tells each acknowledged round, and each extent, through the pipe, until it is killed or something fails. */
static void writer(const char *path, int64_t block, int out) {
    const sluice_desc d = {.shape = {.ndims = 2, .dim = {ROWS, COLS}}, .type = "int32"};
    const sluice_options o = {.size = sizeof o, .layout = "tiles:16x512:4", .checksum = block};
    static int32_t buf[ROWS / SECTIONS * COLS];
    sluice_array *a;
    sluice_range range[2];
    if (sluice_create(&a, path, &d, &o)) _exit(1);
    int64_t told[2] = {0, ROWS};
    for (int64_t k = 1;; k++) {
        if (write(out, told, sizeof told) != sizeof told) _exit(1);
        for (int64_t i = 0; i < ROWS / SECTIONS * COLS; i++) buf[i] = (int32_t)k;
        section(range, k);
        if (sluice_write(a, range, buf) || sluice_sync(a)) _exit(1);
        told[0] = k;
        if (k % 7 == 0 && !sluice_resize(a, told[1] + GROW)) told[1] += GROW;
    }
}

static int write_and_cut(const char *path, int ms, int64_t block) {
    int ends[2];
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY);
    if (fd < 0 || pipe(ends)) return 1;
    const pid_t child = fork();
    if (child == 0) writer(path, block, ends[1]);
    close(ends[1]);
    usleep((useconds_t)ms * 1000);
    const int cut = ioctl(fd, EXT4_SHUTDOWN, &no_log_flush);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(fd);
    int64_t told[2], last[2] = {-1, 0};
    while (read(ends[0], told, sizeof told) == sizeof told) memcpy(last, told, sizeof last);
    printf("%lld %lld\n", (long long)last[0], (long long)last[1]);
    return cut ? 77 : 0;
}

/* The system was not really started again: the name of its run, if some checksums have it, becomes another. */
static void restart(const char *path) {
    enum { RUN = 72, SUM = 124 };
    for (int i = 0; i < 4; i++) {
        char name[4096];
        unsigned char head[SLUICE_SUMS_HEAD];
        snprintf(name, sizeof name, "%s/1.%d.sum", path, i);
        const int fd = open(name, O_RDWR);
        if (fd < 0) return;
        const bool whole = pread(fd, head, sizeof head, 0) == sizeof head;
        if (whole && head[RUN]) {
            head[RUN] ^= 1;
            const uint32_t sum = sluice_crc32c(0, head, SUM);
            memcpy(head + SUM, &sum, sizeof sum);
            if (pwrite(fd, head, sizeof head, 0) != sizeof head) exit(1);
        }
        close(fd);
    }
}

static int count(void *arg, int how, sluice_run block) {
    int64_t *n = arg;
    (void)block;
    n[how < 0 ? 0 : 1] += how != 0;
    return 0;
}

/* Blocks that look damaged. */
static int64_t damage(const sluice_array *a) {
    int64_t n[2] = {0};
    for (int i = 0; i < a->layout->n && a->container->manifest->checksum; i++) {
        int64_t off = a->layout->base[i], room;
        if (sluice_sums_scrub(sluice_store_holder(a->io.store, &off, &room), count, n, NULL)) n[0]++;
    }
    if (n[0]) fprintf(stderr, "%lld blocks look damaged\n", (long long)n[0]);
    return n[0];
}

static int check(const char *path, int64_t n, int64_t least) {
    static int32_t buf[ROWS / SECTIONS * COLS];
    struct stat st;
    sluice_array *a;
    sluice_range range[2];
    if (n < 0 && stat(path, &st)) return 0; /* it was not made yet */
    restart(path);
    if (sluice_open(&a, path, SLUICE_READ, NULL, NULL)) return fail("open");
    const int64_t rows = sluice_describe(a)->shape.dim[0];
    int64_t lost = damage(a);
    for (int64_t s = 0; s < SECTIONS; s++) {
        int64_t acknowledged = 0;
        for (int64_t k = 1; k <= n; k++)
            if (k % SECTIONS == s) acknowledged = k;
        section(range, s);
        if (sluice_read(a, range, buf)) return fail("read");
        for (int64_t i = 0; i < ROWS / SECTIONS * COLS; i++) lost += buf[i] < acknowledged || buf[i] > n + 1;
    }
    if (lost) fprintf(stderr, "%lld elements of %lld rounds are lost\n", (long long)lost, (long long)n);
    if (rows < least) fprintf(stderr, "%lld rows, there were %lld\n", (long long)rows, (long long)least);
    sluice_close(a);
    return lost || rows < least;
}

int main(int argc, char **argv) {
    if (argc == 5 && !strcmp(argv[1], "write")) return write_and_cut(argv[2], atoi(argv[3]), atoll(argv[4]));
    if (argc == 5 && !strcmp(argv[1], "check")) return check(argv[2], atoll(argv[3]), atoll(argv[4]));
    return 2;
}
