/* transpose.c: an array larger than the memory from row-major to column-major.
 *
 *     build/bench/transpose [N [MEMORY-in-MiB [REPETITIONS]]]        (default: 16384 64 5)
 *
 * N x N float32, in .npy files in the current folder: `sluice cp --order F --memory`, beside programs that a good
 * programmer would write for this one case: blocks of a good shape, read and written row by row, transposed in memory
 * in between; with one thread, in several shapes, and with two. For information numpy.memmap and h5repack, if they are
 * here ($PYTHON, else python3). All run as processes of their own, which also sync what they wrote; they take turns
 * within each repetition; a figure is the median of all. The source is in the page cache. Every result is verified,
 * element by element; wrong data makes the bench fail, times do not.
 *
 * Peak memory is VmHWM of the process. The one for numpy.memmap counts the page cache that it maps.
 */
#include "base/base.h"
#include "bench.h"
#include "sluice.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    int64_t n, memory;
    int reps;
    char command[4096]; /* the sluice beside us */
    const char *python;
} how = {16384, 64 << 20, 5, "", "python3"};

static const char source[] = "transpose-rows.npy", result[] = "transpose-columns.npy", h5[] = "transpose.h5";

/* Element (i, k): different for neighbours, and exact. */
static float value(int64_t i, int64_t k) { return (float)((i * 7919 + k) & 0xFFFFFF); }

static void fatal(const char *what) {
    fprintf(stderr, "%s: %s\n", what, errno ? strerror(errno) : sluice_errmsg());
    exit(1);
}

static void *memory(int64_t bytes) {
    void *p = aligned_alloc(4096, (size_t)((bytes + 4095) / 4096 * 4096));
    if (!p) fatal("memory");
    return p;
}

static void must(int err) {
    errno = 0;
    if (err) fatal("sluice");
}

/* ---- by hand ---- */

typedef struct job {
    int64_t rows, cols; /* of a block */
    int64_t in_header, out_header;
    int from, to;
    int first, step; /* blocks first, first + step, ... */
} job;

static void move(int fd, bool write, void *buf, int64_t len, int64_t off) {
    for (char *p = buf; len > 0;) {
        const ssize_t n = write ? pwrite(fd, p, (size_t)len, off) : pread(fd, p, (size_t)len, off);
        if (n <= 0) fatal(write ? "pwrite" : "pread");
        p += n;
        off += n;
        len -= n;
    }
}

/* rows x cols at src to cols x rows at dst: 16 rows at a time, whose elements fill a cache line. */
static void transpose(float *restrict dst, const float *restrict src, int64_t rows, int64_t cols) {
    int64_t i = 0;
    for (; i + 16 <= rows; i += 16)
        for (int64_t k = 0; k < cols; k++)
            for (int r = 0; r < 16; r++) dst[k * rows + i + r] = src[(i + r) * cols + k];
    for (; i < rows; i++)
        for (int64_t k = 0; k < cols; k++) dst[k * rows + i] = src[i * cols + k];
}

static void *work(void *arg) {
    const job *j = arg;
    const int64_t n = how.n, e = sizeof(float);
    float *in = memory(j->rows * j->cols * e), *out = memory(j->rows * j->cols * e);
    int block = 0;
    for (int64_t k = 0; k < n; k += j->cols)
        for (int64_t i = 0; i < n; i += j->rows, block++) {
            if (block % j->step != j->first) continue;
            const int64_t rows = sluice_min(j->rows, n - i), cols = sluice_min(j->cols, n - k);
            for (int64_t r = 0; r < rows; r++)
                move(j->from, false, in + r * cols, cols * e, j->in_header + ((i + r) * n + k) * e);
            transpose(out, in, rows, cols);
            if (rows == n)
                move(j->to, true, out, rows * cols * e, j->out_header + k * n * e);
            else
                for (int64_t c = 0; c < cols; c++)
                    move(j->to, true, out + c * rows, rows * e, j->out_header + ((k + c) * n + i) * e);
        }
    free(in);
    free(out);
    return NULL;
}

/* Makes the file, as a program would that knows .npy; the blocks together fill the memory. */
static void by_hand(int64_t rows, int threads) {
    const int64_t room = how.memory / (2 * threads) / (int64_t)sizeof(float);
    rows = sluice_min(rows, how.n);
    const int64_t cols = sluice_max(1, sluice_min(how.n, room / rows));
    struct stat st;
    char header[128];
    const int from = open(source, O_RDONLY), to = open(result, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (from < 0 || to < 0 || fstat(from, &st)) fatal("open");
    const int64_t in_header = st.st_size - how.n * how.n * (int64_t)sizeof(float);
    snprintf(header + 10, 118, "{'descr': '<f4', 'fortran_order': True, 'shape': (%lld, %lld), }", (long long)how.n,
             (long long)how.n);
    memset(header + 10 + strlen(header + 10), ' ', 117 - strlen(header + 10));
    header[127] = '\n';
    memcpy(header, "\x93NUMPY\1\0\166\0", 10);
    if (ftruncate(to, 128 + how.n * how.n * (int64_t)sizeof(float))) fatal("ftruncate");
    move(to, true, header, 128, 0);
    job j[2];
    pthread_t thread;
    for (int i = 0; i < threads; i++) j[i] = (job){rows, cols, in_header, 128, from, to, i, threads};
    if (threads == 2 && pthread_create(&thread, NULL, work, &j[1])) fatal("pthread_create");
    work(&j[0]);
    if (threads == 2) pthread_join(thread, NULL);
    if (fsync(to) || close(to) || close(from)) fatal("fsync");
}

/* ---- the contenders ---- */

typedef enum kind { HAND, SLUICE, NUMPY, H5REPACK } kind;
typedef struct contender {
    const char *name;
    kind kind;
    int64_t rows; /* of a block, by hand */
    int threads;
    double seconds[BENCH_MAX_REPS], processor[BENCH_MAX_REPS], median;
    long peak; /* KiB */
} contender;

static const char numpy_program[] = "import numpy as np, sys, os\n"
                                    "a = np.load(sys.argv[1], mmap_mode='r')\n"
                                    "b = np.lib.format.open_memmap(sys.argv[2], 'w+', a.dtype, a.shape, True)\n"
                                    "rows = max(1, int(sys.argv[3]) // 2 // a.strides[0])\n"
                                    "for i in range(0, len(a), rows): b[i:i + rows] = a[i:i + rows]\n"
                                    "b.flush()\n";
static const char h5_program[] = "import numpy as np, h5py\n"
                                 "with h5py.File('transpose.h5', 'w') as f:\n"
                                 "    f.create_dataset('x', data=np.load('transpose-rows.npy', mmap_mode='r'))\n";

/* In the child. */
static void act(const contender *c) {
    char bytes[32], chunk[64];
    snprintf(bytes, sizeof bytes, "%lld", (long long)how.memory);
    snprintf(chunk, sizeof chunk, "x:CHUNK=%lldx64", (long long)how.n);
    switch (c->kind) {
    case HAND: by_hand(c->rows, c->threads); _exit(0);
    case SLUICE:
        execl(how.command, "sluice", "cp", source, result, "--order", "F", "--force", "--memory", bytes, (char *)NULL);
        break;
    case NUMPY: execlp(how.python, "python3", "-c", numpy_program, source, result, bytes, (char *)NULL); break;
    case H5REPACK: execlp("h5repack", "h5repack", "-l", chunk, h5, "transpose-columns.h5", (char *)NULL);
    }
    fatal(c->name);
}

static double time_of(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

/* Runs a contender; its status. */
static int run(contender *c, double *seconds, double *processor) {
    struct rusage use;
    int status = 0;
    const double start = bench_now();
    const pid_t child = fork();
    if (child == 0) act(c);
    if (child < 0 || wait4(child, &status, 0, &use) != child) fatal("fork");
    *seconds = (bench_now() - start) / 1e9;
    *processor = time_of(use.ru_utime) + time_of(use.ru_stime);
    if (use.ru_maxrss > c->peak) c->peak = use.ru_maxrss;
    return status;
}

static bool succeeds(const char *command) { return system(command) == 0; }

/* Whether it is here; for h5repack the source is put into a file that it can read. */
static bool present(const contender *c) {
    if (c->kind == NUMPY) return succeeds("\"$PYTHON\" -c 'import numpy' 2>/dev/null");
    if (c->kind != H5REPACK) return true;
    return succeeds("command -v h5repack >/dev/null") && succeeds("\"$PYTHON\" -c \"$H5\" 2>/dev/null");
}

/* ---- data ---- */

static void make_source(void) {
    sluice_array *a;
    const sluice_desc d = {
        .format = SLUICE_NPY, .shape = {2, SLUICE_ROW_MAJOR, 0, 0, {how.n, how.n}}, .type = "float32"};
    const sluice_options o = {.size = sizeof o, .exclusive = 1, .replace = 1};
    float *row = memory(how.n * (int64_t)sizeof *row);
    must(sluice_create(&a, source, &d, &o));
    for (int64_t i = 0; i < how.n; i++) {
        for (int64_t k = 0; k < how.n; k++) row[k] = value(i, k);
        must(sluice_write(a, (sluice_range[]){{i, 1, 1}, {0, how.n, 1}}, row));
    }
    must(sluice_sync(a));
    must(sluice_close(a));
    free(row);
}

static void verify(const char *name) {
    sluice_array *a;
    float *column = memory(how.n * (int64_t)sizeof *column);
    must(sluice_open(&a, result, SLUICE_READ, NULL, &(sluice_options){.size = sizeof(sluice_options), .no_map = 1}));
    const sluice_shape *s = &sluice_describe(a)->shape;
    bool good = s->order == SLUICE_COLUMN_MAJOR && s->ndims == 2 && s->dim[0] == how.n && s->dim[1] == how.n;
    for (int64_t k = 0; k < how.n && good; k++) {
        must(sluice_read(a, (sluice_range[]){{0, how.n, 1}, {k, 1, 1}}, column));
        for (int64_t i = 0; i < how.n; i++) good &= column[i] == value(i, k);
    }
    must(sluice_close(a));
    free(column);
    if (good) return;
    fprintf(stderr, "%s: wrong data\n", name);
    exit(1);
}

static void remove_all(void) {
    unlink(source);
    unlink(result);
    unlink(h5);
    unlink("transpose-columns.h5");
}

static void find_command(const char *self) {
    const char *given = getenv("SLUICE_BIN"), *slash = strrchr(self, '/');
    if (given)
        snprintf(how.command, sizeof how.command, "%s", given);
    else
        snprintf(how.command, sizeof how.command, "%.*s../bin/sluice", slash ? (int)(slash + 1 - self) : 0, self);
    if (access(how.command, X_OK)) fatal(how.command);
}

int main(int argc, char **argv) {
    if (argc > 1) how.n = atoll(argv[1]);
    if (argc > 2) how.memory = atoll(argv[2]) << 20;
    if (argc > 3) how.reps = atoi(argv[3]);
    if (how.n < 16 || how.memory < 1 << 20 || how.reps < 1 || how.reps > BENCH_MAX_REPS) {
        fprintf(stderr, "usage: %s [N [MEMORY-in-MiB [REPETITIONS]]]\n", argv[0]);
        return 2;
    }
    static contender all[] = {
        {.name = "sluice cp", .kind = SLUICE},
        {.name = "by hand, tall blocks", .kind = HAND, .rows = 8192, .threads = 1},
        {.name = "by hand, square blocks", .kind = HAND, .rows = 2896, .threads = 1},
        {.name = "by hand, whole columns", .kind = HAND, .rows = INT64_MAX, .threads = 1},
        {.name = "by hand, 2 threads", .kind = HAND, .rows = 4096, .threads = 2},
        {.name = "numpy.memmap", .kind = NUMPY},
        {.name = "h5repack", .kind = H5REPACK},
    };
    enum { ALL = sizeof all / sizeof *all, ONE_THREAD = 4, OURS = 5 };
    find_command(argv[0]);
    if (getenv("PYTHON")) how.python = getenv("PYTHON");
    setenv("PYTHON", how.python, 1);
    setenv("H5", h5_program, 1);
    atexit(remove_all);
    make_source();
    bool here[ALL];
    for (int i = 0; i < ALL; i++) here[i] = present(&all[i]);
    for (int r = 0; r < how.reps; r++)
        for (int k = 0; k < ALL; k++) {
            const int i = (k + r) % ALL; /* each goes first once */
            /* What is only for information, and slow, runs once. */
            if (!here[i] || (i >= OURS && r > 0)) continue;
            unlink(result);
            if (run(&all[i], &all[i].seconds[r], &all[i].processor[r])) {
                fprintf(stderr, "%s failed\n", all[i].name);
                return 1;
            }
            if (all[i].kind != H5REPACK) verify(all[i].name);
        }
    printf("%lld x %lld float32, %.0f MiB, rows to columns, %lld MiB of memory, median of %d\n\n", (long long)how.n,
           (long long)how.n, (double)(how.n * how.n) / (1 << 18), (long long)(how.memory >> 20), how.reps);
    printf("%-24s %9s %9s %12s %12s\n", "", "seconds", "MiB/s", "processor s", "peak MiB");
    double best = 0;
    for (int i = 0; i < ALL; i++) {
        if (!here[i]) continue;
        all[i].median = bench_median(all[i].seconds, i < OURS ? how.reps : 1);
        printf("%-24s %9.3f %9.0f %12.3f %12.1f\n", all[i].name, all[i].median,
               (double)(how.n * how.n) / (1 << 18) / all[i].median,
               bench_median(all[i].processor, i < OURS ? how.reps : 1), (double)all[i].peak / 1024);
        if (i > 0 && i < ONE_THREAD && (best == 0 || all[i].median < best)) best = all[i].median;
    }
    printf("\nsluice cp / best by hand with one thread: %.2f (goal 1.10); with two threads: %.2f\n",
           all[0].median / best, all[0].median / all[ONE_THREAD].median);
    printf("peak memory: %.1f MiB (goal %lld)\n", (double)all[0].peak / 1024, (long long)(how.memory >> 20) + 32);
    return 0;
}
