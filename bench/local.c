/* local.c: sections of an array in a file, read and written by one process, beside what one would write by hand.
 *
 *   sluice    sluice_read, sluice_write on a handle that stays open
 *   direct    a call for each run
 *   column    a call for each column's span, and a loop; writes read it first
 *   64K, 1M   calls of that size for the whole span, and a loop; writes read first
 *   mmap      a loop over a mapping of the file that stays
 *   numpy, h5py, netCDF4   if python3 has them: numpy.memmap that stays, datasets that stay open
 *
 * Contenders take turns, in another order in each repetition; a figure is the median. Every read is verified, every
 * write read back (through a mapping that no contender uses, so that it warms none up), and the whole file after each
 * pattern. Right before it is timed, a contender moves one element elsewhere: what counts is the transfer, not that
 * the others' turns drove its code out of the processor's cache. With --first it does not. Times never make the bench
 * fail; wrong data does.
 */
#include "bench.h"
#include "patterns.h"
#include "sluice.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ELEM = 4, MAX_REPS = 33 };

/* A file of N x N elements, and everybody's handle on it. */
typedef struct field {
    int64_t n;
    char path[64];
    int fd;
    unsigned char *map;         /* the contender's */
    const unsigned char *check; /* the verifier's */
    sluice_array *array;
} field;

/* One run of one pattern: rows r0, r0 + rs, ... (nr of them) of columns c0, c0 + cs, ... */
typedef struct job {
    field *f;
    bool write;
    int64_t r0, nr, rs, c0, nc, cs;
    sluice_range range[2];
    uint32_t *buf;
    unsigned char *scratch; /* a megabyte */
    int peer;
} job;

static uint32_t value(int64_t i) { return (uint32_t)(i * 2654435761u) ^ (uint32_t)(i >> 20); }

static void die(const char *what) {
    fprintf(stderr, "local: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void all(int fd, void *p, int64_t len, int64_t off, bool write) {
    unsigned char *at = p;
    while (len > 0) {
        ssize_t n = write ? pwrite(fd, at, (size_t)len, off) : pread(fd, at, (size_t)len, off);
        if (n <= 0) die(write ? "write" : "read");
        at += n, off += n, len -= n;
    }
}

/* ---- Contenders ---- */

static void by_sluice(job *j) {
    int err = j->write ? sluice_write(j->f->array, j->range, j->buf) : sluice_read(j->f->array, j->range, j->buf);
    if (err) {
        fprintf(stderr, "local: %s\n", sluice_errmsg());
        exit(1);
    }
}

static int64_t at(const job *j, int64_t c, int64_t r) {
    return ((j->c0 + c * j->cs) * j->f->n + j->r0 + r * j->rs) * ELEM;
}

static void by_calls(job *j) {
    uint32_t *p = j->buf;
    for (int64_t c = 0; c < j->nc; c++) {
        if (j->rs == 1) {
            all(j->f->fd, p, j->nr * ELEM, at(j, c, 0), j->write);
            p += j->nr;
        } else {
            for (int64_t r = 0; r < j->nr; r++) all(j->f->fd, p++, ELEM, at(j, c, r), j->write);
        }
    }
}

/* Between the packed buffer and the part of the file in [lo, hi), which lies at p. */
static void loop(const job *j, unsigned char *p, int64_t c, int64_t from, int64_t to, int64_t lo, bool out) {
    uint32_t *buf = j->buf + c * j->nr;
    unsigned char *x = p + (at(j, c, from) - lo);
    int64_t step = j->rs * ELEM;
    if (j->rs == 1) {
        if (out)
            memcpy(x, buf + from, (size_t)(to - from) * ELEM);
        else
            memcpy(buf + from, x, (size_t)(to - from) * ELEM);
    } else if (out) {
        for (int64_t r = from; r < to; r++, x += step) memcpy(x, &buf[r], ELEM);
    } else {
        for (int64_t r = from; r < to; r++, x += step) memcpy(&buf[r], x, ELEM);
    }
}

static void by_columns(job *j) {
    int64_t span = ((j->nr - 1) * j->rs + 1) * ELEM;
    for (int64_t c = 0; c < j->nc; c++) {
        if (!j->write || j->rs > 1) all(j->f->fd, j->scratch, span, at(j, c, 0), false);
        loop(j, j->scratch, c, 0, j->nr, at(j, c, 0), j->write);
        if (j->write) all(j->f->fd, j->scratch, span, at(j, c, 0), true);
    }
}

static void by_windows(job *j, int64_t size) {
    int64_t c = 0, r = 0, end = at(j, j->nc - 1, j->nr - 1) + ELEM;
    while (c < j->nc) {
        int64_t lo = at(j, c, r), hi = lo + size < end ? lo + size : end;
        all(j->f->fd, j->scratch, hi - lo, lo, false);
        while (c < j->nc && at(j, c, r) + ELEM <= hi) {
            int64_t fit = (hi - ELEM - at(j, c, r)) / (j->rs * ELEM) + 1, to = r + fit < j->nr ? r + fit : j->nr;
            loop(j, j->scratch, c, r, to, lo, j->write);
            r = to;
            if (r == j->nr)
                r = 0, c++;
            else
                break;
        }
        if (j->write) all(j->f->fd, j->scratch, hi - lo, lo, true);
    }
}

static void by_64k(job *j) { by_windows(j, 64 << 10); }
static void by_1m(job *j) { by_windows(j, 1 << 20); }

static void by_mmap(job *j) {
    for (int64_t c = 0; c < j->nc; c++) loop(j, j->f->map, c, 0, j->nr, 0, j->write);
}

/* ---- Peers: a Python process that does as told and says how long it took ---- */

static FILE *to_peers, *from_peers;
static char peer_names[3][16];
static int npeers;

static void start_peers(const char *script) {
    int in[2], out[2];
    if (access(script, R_OK) || pipe(in) || pipe(out)) return;
    if (fork() == 0) {
        dup2(in[0], 0), dup2(out[1], 1);
        close(in[1]), close(out[0]);
        execlp("/usr/bin/python3", "python3", script, (char *)NULL);
        _exit(127);
    }
    close(in[0]), close(out[1]);
    to_peers = fdopen(in[1], "w"), from_peers = fdopen(out[0], "r");
    char line[100];
    if (fgets(line, sizeof line, from_peers))
        npeers = sscanf(line, "%15s %15s %15s", peer_names[0], peer_names[1], peer_names[2]);
    if (npeers < 0) npeers = 0;
}

/* Seconds and the sum of the elements, or for a write the value to add. */
static double ask_peer(const job *j, const char *name, uint64_t *sum, uint32_t salt) {
    double seconds = -1;
    unsigned long long s = 0;
    fprintf(to_peers, "%s %s %lld %c %lld %lld %lld %lld %lld %lld %u\n", name, j->f->path, (long long)j->f->n,
            j->write ? 'w' : 'r', (long long)j->r0, (long long)j->nr, (long long)j->rs, (long long)j->c0,
            (long long)j->nc, (long long)j->cs, salt);
    fflush(to_peers);
    if (fscanf(from_peers, "%lf %llu", &seconds, &s) != 2) {
        fprintf(stderr, "local: %s gave no answer\n", name);
        exit(1);
    }
    *sum = s;
    return seconds * 1e9;
}

/* ---- Data ---- */

static void fill(field *f) {
    uint32_t *column = malloc((size_t)f->n * ELEM);
    for (int64_t c = 0; c < f->n; c++) {
        for (int64_t r = 0; r < f->n; r++) column[r] = value(c * f->n + r);
        all(f->fd, column, f->n * ELEM, c * f->n * ELEM, true);
    }
    free(column);
}

static void open_array(field *f) {
    sluice_desc d = {.format = SLUICE_RAW, .shape = {2, SLUICE_COLUMN_MAJOR, ELEM, 0, {f->n, f->n}}, .type = "uint32"};
    if (!sluice_open(&f->array, f->path, SLUICE_WRITE, &d, NULL)) return;
    fprintf(stderr, "local: %s\n", sluice_errmsg());
    exit(1);
}

static void open_field(field *f, int64_t n) {
    f->n = n;
    snprintf(f->path, sizeof f->path, "local-%lld.bin", (long long)n);
    f->fd = open(f->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (f->fd < 0) die(f->path);
    fill(f);
    if (fsync(f->fd)) die("fsync");
    f->map = mmap(NULL, (size_t)(n * n * ELEM), PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
    f->check = mmap(NULL, (size_t)(n * n * ELEM), PROT_READ, MAP_SHARED, f->fd, 0);
    if (f->map == MAP_FAILED || f->check == MAP_FAILED) die("mmap");
    open_array(f);
}

static void close_field(field *f) {
    if (!f->array) return;
    sluice_close(f->array);
    munmap(f->map, (size_t)(f->n * f->n * ELEM));
    munmap((void *)(uintptr_t)f->check, (size_t)(f->n * f->n * ELEM));
    close(f->fd);
    unlink(f->path);
}

static int64_t index_of(const job *j, int64_t k) { return at(j, k / j->nr, k % j->nr) / ELEM; }

/* The buffer of a read holds the array, that of a write went into it. */
static void verify(const job *j, const char *who, uint32_t salt) {
    for (int64_t k = 0; k < j->nr * j->nc; k++) {
        uint32_t got = j->buf[k], want = value(index_of(j, k)) + salt;
        if (j->write) memcpy(&got, j->f->check + index_of(j, k) * ELEM, ELEM);
        if (got != want) {
            fprintf(stderr, "local: %s: element %lld is %u, not %u\n", who, (long long)k, got, want);
            exit(1);
        }
    }
}

static void verify_file(const field *f) {
    for (int64_t i = 0; i < f->n * f->n; i++) {
        uint32_t got;
        memcpy(&got, f->check + i * ELEM, ELEM);
        if (got != value(i)) {
            fprintf(stderr, "local: %s: element %lld was changed\n", f->path, (long long)i);
            exit(1);
        }
    }
}

static void prepare(const job *j, uint32_t salt) {
    for (int64_t k = 0; k < j->nr * j->nc; k++) j->buf[k] = j->write ? value(index_of(j, k)) + salt : 0;
}

/* The system drops no page that is mapped, so the handle is opened anew. */
static void make_cold(field *f) {
    const size_t len = (size_t)(f->n * f->n * ELEM), page = (size_t)sysconf(_SC_PAGESIZE);
    sluice_close(f->array);
    madvise(f->map, len, MADV_DONTNEED);
    madvise((void *)(uintptr_t)f->check, len, MADV_DONTNEED);
    if (fdatasync(f->fd) || posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED)) die("dropping the file from the cache");
    unsigned char *in = malloc(len / page);
    size_t left = 0;
    if (mincore(f->map, len, in)) die("mincore");
    for (size_t i = 0; i < len / page; i++) left += in[i] & 1;
    free(in);
    if (left > len / page / 100) {
        fprintf(stderr, "local: %zu of %zu pages of %s stay in the cache\n", left, len / page, f->path);
        exit(1);
    }
    open_array(f);
}

/* ---- The table ---- */

typedef enum cache { WARM, FIRST, COLD } cache;
static const char *const cache_names[] = {"warm", "first", "cold"};

typedef struct contender {
    const char *name;
    void (*run)(job *j); /* NULL: a peer */
} contender;
static contender contenders[10] = {{"sluice", by_sluice}, {"direct", by_calls}, {"column", by_columns},
                                   {"64K", by_64k},       {"1M", by_1m},        {"mmap", by_mmap}};
static int ncontenders = 6;

/* Moves the last element, which is in no pattern; a write leaves it as it is. */
static void move_one(const job *j, const contender *c) {
    const int64_t last = j->f->n - 1;
    uint32_t element = value(last * j->f->n + last);
    job one = *j;
    one.r0 = one.c0 = last, one.nr = one.nc = one.rs = one.cs = 1;
    one.range[0] = one.range[1] = (sluice_range){last, 1, 1};
    one.buf = &element;
    c->run(&one);
}

static double once(job *j, const contender *c, uint32_t salt, cache state) {
    double time;
    prepare(j, salt);
    if (c->run && state != FIRST) move_one(j, c);
    if (state == COLD) make_cold(j->f);
    if (c->run) {
        double start = bench_now();
        c->run(j);
        time = bench_now() - start;
        verify(j, c->name, salt);
    } else {
        uint64_t sum = 0, want = 0;
        time = ask_peer(j, c->name, &sum, salt);
        for (int64_t k = 0; k < j->nr * j->nc; k++) want += value(index_of(j, k)) + salt;
        if (sum != want) {
            fprintf(stderr, "local: %s: the sum is %llu, not %llu\n", c->name, (unsigned long long)sum,
                    (unsigned long long)want);
            exit(1);
        }
    }
    return time;
}

typedef struct means {
    double log_sum, worst;
    int n;
} means;

/* A new order each time, and the same ones in each run: whom one comes after makes a difference. */
static void shuffle(int *order, int n) {
    static uint32_t state = 1;
    for (int i = n - 1; i > 0; i--) {
        state = state * 1664525 + 1013904223;
        int j = (int)((state >> 16) % (uint32_t)(i + 1)), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

static void measure(const pattern *p, field *f, int reps, cache state, FILE *csv, means *m) {
    job j = {.f = f, .write = p->write, .r0 = p->row[0] - 1, .nr = pattern_count(p->row), .rs = p->row[2]};
    j.c0 = p->column[0] - 1, j.nc = pattern_count(p->column), j.cs = p->column[2];
    j.range[0] = (sluice_range){j.r0, j.nr, j.rs}, j.range[1] = (sluice_range){j.c0, j.nc, j.cs};
    j.buf = malloc((size_t)(j.nr * j.nc) * ELEM + 64);
    j.scratch = malloc(1 << 20);
    static double times[10][MAX_REPS];
    double median[10], best = INFINITY;
    int wins = 1;
    int order[10];
    for (int c = 0; c < ncontenders; c++) order[c] = c;
    for (int r = -1; r < reps; r++) { /* the first round warms up */
        shuffle(order, ncontenders);
        for (int k = 0; k < ncontenders; k++) {
            int c = order[k];
            double t = once(&j, &contenders[c], p->write ? (uint32_t)(r + 2) * 10 + (uint32_t)c : 0, state);
            if (r >= 0) times[c][r] = t;
        }
    }
    printf("%-8s", p->name);
    for (int c = 0; c < ncontenders; c++) {
        median[c] = bench_median(times[c], reps);
        printf(" %9.4f", median[c] / 1e6);
        if (csv)
            fprintf(csv, "%s,%s,%s,%.1f,%.1f,%.1f\n", p->name, cache_names[state], contenders[c].name, median[c],
                    times[c][0], times[c][reps - 1]);
        if (c > 0 && median[c] < best) best = median[c], wins = c;
    }
    double ratio = median[0] / best;
    printf("  %5.2f  %s\n", ratio, contenders[wins].name);
    m->log_sum += log(ratio);
    m->n++;
    if (ratio > m->worst) m->worst = ratio;
    if (p->write) {
        for (int c = 0; c < ncontenders; c++) /* peers have copies of their own to put back */
            if (c == 0 || !contenders[c].run) once(&j, &contenders[c], 0, WARM);
        verify_file(f);
    }
    free(j.buf);
    free(j.scratch);
}

static void table(field *small, field *large, int reps, cache state, const char *only, FILE *csv) {
    means read = {0}, write = {0};
    printf("\n%s, milliseconds (median of %d)\n%-8s", cache_names[state], reps, "");
    for (int c = 0; c < ncontenders; c++) printf(" %9s", contenders[c].name);
    printf("  ratio  best other\n");
    for (int i = 0; i < PATTERNS; i++) {
        field *f = patterns[i].n == small->n ? small : large;
        if ((only && strncmp(patterns[i].name, only, strlen(only))) || f->n != patterns[i].n ||
            (state == COLD && patterns[i].write))
            continue;
        if (patterns[i].same) {
            printf("%-8s as %s\n", patterns[i].name, patterns[i].same);
            continue;
        }
        measure(&patterns[i], f, reps, state, csv, patterns[i].write ? &write : &read);
    }
    if (read.n)
        printf("reads:  geometric mean of sluice / best other, each pattern once, %.2f, worst %.2f\n",
               exp(read.log_sum / read.n), read.worst);
    if (write.n)
        printf("writes: geometric mean of sluice / best other, each pattern once, %.2f, worst %.2f\n",
               exp(write.log_sum / write.n), write.worst);
}

int main(int argc, char **argv) {
    int reps = 11, quick = 0, cold = 0, opt;
    cache warm = WARM;
    const char *only = NULL, *csv_name = NULL, *peers = NULL;
    static const struct option options[] = {{"quick", 0, 0, 'q'}, {"cold", 0, 0, 'c'}, {"only", 1, 0, 'o'},
                                            {"reps", 1, 0, 'r'},  {"csv", 1, 0, 's'},  {"peers", 1, 0, 'p'},
                                            {"first", 0, 0, 'f'}, {"help", 0, 0, 'h'}, {0, 0, 0, 0}};
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) switch (opt) {
        case 'q': quick = 1; break;
        case 'c': cold = 1; break;
        case 'f': warm = FIRST; break;
        case 'o': only = optarg; break;
        case 's': csv_name = optarg; break;
        case 'p': peers = optarg; break;
        case 'r': reps = atoi(optarg); break;
        default:
            printf("usage: local [--quick] [--cold] [--first] [--only T5] [--reps N] [--csv FILE] [--peers peers.py]\n"
                   "Makes files of 64 MiB and 1 GiB in the current folder and removes them.\n");
            return opt == 'h' ? 0 : 2;
        }
    if (reps < 1 || reps > MAX_REPS) reps = 11;
    if (quick) reps = 1;
    if (peers) start_peers(peers);
    for (int i = 0; i < npeers; i++) contenders[ncontenders++] = (contender){peer_names[i], NULL};
    FILE *csv = csv_name ? fopen(csv_name, "w") : NULL;
    if (csv) fprintf(csv, "pattern,cache,contender,median_ns,least_ns,most_ns\n");
    static field small, large;
    open_field(&small, 4096);
    if (!quick && (!only || !strncmp(only, "T8", 2))) open_field(&large, 16384);
    table(&small, &large, reps, warm, only, csv);
    if (cold) table(&small, &large, reps < 5 ? reps : 5, COLD, only, csv);
    close_field(&small);
    close_field(&large);
    if (csv && fclose(csv)) die(csv_name);
    return 0;
}
