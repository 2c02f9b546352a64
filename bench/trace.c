/* trace.c: what recording a trace costs: nanoseconds for each access, and in per cent of the 10 microseconds that lie
 * between accesses at 10^5 of them a second.
 *
 *   recorder   the recorder alone, with the two looks at the clock: loops, and offsets and sizes without any order
 *   calls      pread of 512 cached bytes, with libsluice-trace.so before it and without: the difference
 *
 * --quick: few accesses, to see that it works.
 */
#include "trace/record.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const double between = 1e4; /* ns, at 10^5 accesses a second */

static void report(const char *what, double ns) {
    printf("%-44s %8.0f ns  %6.2f %% at 10^5 per second\n", what, ns, 100 * ns / between);
    fflush(stdout);
}

static int64_t scramble(int64_t k) { return (int64_t)(sluice_mix(sluice_mix(SLUICE_MIX, k), 17) >> 24); }

typedef struct access {
    int64_t off, len;
} access_of;

static access_of contiguous(int64_t k) { return (access_of){4096 * k, 4096}; }
static access_of rows(int64_t k) { return (access_of){k / 100 * 1000000 + k % 100 * 800, 64}; }
static access_of chaos(int64_t k) { return (access_of){scramble(k), 1 + scramble(k + 1) % 4096}; }

static void bench_recorder(const char *what, access_of (*make)(int64_t), int64_t n) {
    char path[] = "/tmp/sluice-bench-XXXXXX";
    sluice_recorder r;
    close(mkstemp(path));
    unlink(path);
    if (sluice_recorder_open(&r, path)) exit(1);
    const int file = sluice_recorder_file(&r, "/data", -1);
    const int64_t start = sluice_record_now();
    int64_t spent = 0;
    for (int64_t k = 0; k < n; k++) {
        const access_of a = make(k);
        sluice_node block = {.len = a.len, .step = a.len, .n = 1, .isize = a.len, .inner = SLUICE_LEAF};
        const sluice_set set = {.size = a.len, .nroot = 1, .nnode = 1, .node = &block};
        const int64_t begin = sluice_record_now();
        sluice_recorder_access(
            &r, &(sluice_event){.file = file, .set = &set, .off = a.off, .begin = begin, .end = sluice_record_now()});
    }
    spent = sluice_record_now() - start;
    if (sluice_recorder_close(&r)) exit(1);
    unlink(path);
    report(what, (double)spent / (double)n);
}

/* Reads a small file over and over, and prints the time of one read. */
static int read_over(const char *path, int64_t n) {
    char buf[512];
    const int fd = open(path, O_RDONLY);
    if (fd < 0) return 1;
    const int64_t start = sluice_record_now();
    for (int64_t k = 0; k < n; k++)
        if (pread(fd, buf, sizeof buf, k % 100 * 512) != sizeof buf) return 1;
    printf("%.1f\n", (double)(sluice_record_now() - start) / (double)n);
    return 0;
}

/* Runs that in a process of its own. */
static double run(const char *self, const char *path, const char *preload, int64_t n) {
    char command[1000], line[64] = "";
    snprintf(command, sizeof command, "%s%s %s --read %s %lld", preload, *preload ? "" : "env", self, path,
             (long long)n);
    FILE *p = popen(command, "r");
    if (!p || !fgets(line, sizeof line, p) || pclose(p)) {
        fprintf(stderr, "cannot run %s\n", command);
        exit(1);
    }
    return atof(line);
}

static void bench_calls(const char *self, int64_t n) {
    char path[] = "/tmp/sluice-bench-XXXXXX", library[4096], preload[6000];
    static char zeros[100 * 512];
    const int fd = mkstemp(path);
    if (write(fd, zeros, sizeof zeros) != sizeof zeros) exit(1);
    close(fd);
    const ssize_t len = readlink("/proc/self/exe", library, sizeof library - 100);
    library[len] = 0;
    strcpy(strrchr(library, '/'), "/../lib/libsluice-trace.so");
    snprintf(preload, sizeof preload, "env LD_PRELOAD=%s SLUICE_TRACE=%s.trace SLUICE_TRACE_FILES=%s", library, path,
             path);
    double best[2] = {1e9, 1e9};
    for (int i = 0; i < 5; i++) {
        const double without = run(self, path, "", n), with = run(self, path, preload, n);
        if (without < best[0]) best[0] = without;
        if (with < best[1]) best[1] = with;
    }
    printf("%-44s %8.0f ns\n", "calls: pread as it is", best[0]);
    report("calls: pread recorded, less that", best[1] - best[0]);
    char folder[100];
    snprintf(folder, sizeof folder, "%s.trace.parts", path);
    sluice_merge_remove(folder);
    unlink(path);
}

int main(int argc, char **argv) {
    if (argc == 4 && !strcmp(argv[1], "--read")) return read_over(argv[2], atoll(argv[3]));
    const int64_t n = argc > 1 && !strcmp(argv[1], "--quick") ? 20000 : 2000000;
    bench_recorder("recorder: contiguous", contiguous, n);
    bench_recorder("recorder: rows of 100 strided", rows, n);
    bench_recorder("recorder: no order at all", chaos, n / 4);
    bench_calls(argv[0], n / 4);
    return 0;
}
