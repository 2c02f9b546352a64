/* match.c: does the matching degree of a layout and an access tell how fast the access is? And what does a layout cost,
 * or gain, beside one plain file?
 *
 * An N x N array of bytes lies in a container in each of some layouts over four subfiles. Each of the same layouts also
 * is an access: its four parts, as four processes would have them, are read or written one after the other. Every pair
 * is measured, cached, in turns, and so is every access to a plain file with the same bytes; what was read is compared
 * with what must be there. The rank correlation of degree and time is printed with the pairs: 1 means that the degree
 * puts them in the order in which they are.
 *
 *     match [--size N] [--reps N] [--csv FILE] [--plot FILE.svg] [--quick]
 */
#include "array/array.h"
#include "bench.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

/* From matching to fine-grained: pieces of a quarter of the array down to single bytes. */
static const char *const layouts[] = {
    "rows:4",
    "striped:64K:4",
    "hpf:block,block@2x2",
    "columns:4",
    "hpf:*,cyclic(256)@1x4",
    "hpf:*,cyclic(64)@1x4",
    "hpf:*,cyclic(16)@1x4",
    "hpf:*,cyclic(4)@1x4",
    "hpf:*,cyclic@1x4",
    "tiles:100x101:4",
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts, PARTS = 4, PAIRS = LAYOUTS * LAYOUTS };

typedef struct settings {
    int64_t n;
    int reps;
    const char *csv, *plot;
} settings;

/* An access: what each process has, and its memory. */
typedef struct access {
    sluice_layout *layout;
    unsigned char *buf[PARTS];
} access_kind;

typedef struct pair {
    double degree, read, write; /* milliseconds */
    double time[2][BENCH_MAX_REPS];
} pair;

static settings set = {.n = 2048, .reps = 9};
static access_kind accesses[LAYOUTS];
static sluice_array *array[LAYOUTS + 1]; /* the last one is a plain file */
static pair pairs[LAYOUTS + 1][LAYOUTS]; /* [layout][access] */
static char folder[64];

static void must(int err) {
    if (!err) return;
    fprintf(stderr, "match: %s\n", sluice_errmsg());
    exit(1);
}

static unsigned char value(int64_t x, int turn) { return (unsigned char)(x * 131 + (x >> 11) * 7 + turn); }

static const char *path_of(int i) {
    static char path[96];
    snprintf(path, sizeof path, i < LAYOUTS ? "%s/%d.sluice" : "%s/%d.bin", folder, i);
    return path;
}

/* Moves all parts of an access. */
static double move(sluice_array *a, const access_kind *x, bool write) {
    sluice_reason why;
    double start = bench_now();
    for (int p = 0; p < PARTS; p++) {
        sluice_io_part part = {&x->layout->set[p], {x->buf[p], NULL, 0, 0}};
        sluice_pieces pieces = {0};
        int err = a->layout ? sluice_pass(&why, sluice_split(&pieces, a->layout, &part, 1)) : 0;
        if (!err)
            err = (write ? sluice_io_write : sluice_io_read)(&a->io, a->layout ? pieces.part : &part,
                                                             a->layout ? pieces.n : 1, &why);
        sluice_split_free(&pieces);
        if (err) must(sluice_errmsg_set(&why));
    }
    return (bench_now() - start) * 1e-6;
}

/* What the processes have is what they must have: filled in, or compared. */
static void visit(const access_kind *x, bool fill, int turn) {
    for (int p = 0; p < PARTS; p++) {
        sluice_cursor c;
        sluice_run run;
        unsigned char *at = x->buf[p];
        for (sluice_cursor_init(&c, &x->layout->set[p]); sluice_cursor_run(&c, &run);)
            for (int64_t k = 0; k < run.len; k++, at++) {
                if (fill)
                    *at = value(run.off + k, turn);
                else if (*at != value(run.off + k, turn)) {
                    fprintf(stderr, "match: byte %lld is wrong\n", (long long)(run.off + k));
                    exit(1);
                }
            }
    }
}

static void prepare(void) {
    const sluice_desc d = {.format = SLUICE_RAW, .type = "uint8", .shape = {.ndims = 2, .dim = {set.n, set.n}}};
    sluice_shape shape = {.ndims = 2, .elem = 1, .dim = {set.n, set.n}};
    snprintf(folder, sizeof folder, "match-XXXXXX");
    if (!mkdtemp(folder)) {
        perror("match");
        exit(1);
    }
    for (int i = 0; i < LAYOUTS; i++) {
        sluice_reason why;
        if (sluice_layout_parse(&accesses[i].layout, &shape, layouts[i], &why)) must(sluice_errmsg_set(&why));
        for (int p = 0; p < PARTS; p++) {
            accesses[i].buf[p] = malloc((size_t)accesses[i].layout->set[p].size);
            if (!accesses[i].buf[p]) exit(1);
        }
        visit(&accesses[i], true, 0);
    }
    for (int i = 0; i <= LAYOUTS; i++) {
        sluice_options o = {.size = sizeof o, .exclusive = 1, .layout = i < LAYOUTS ? layouts[i] : NULL};
        must(sluice_create(&array[i], path_of(i), &d, &o));
        move(array[i], &accesses[0], true);
    }
}

static void find_degrees(void) {
    for (int i = 0; i < LAYOUTS; i++)
        for (int k = 0; k < LAYOUTS; k++) {
            const sluice_layout *a = accesses[i].layout, *b = accesses[k].layout;
            sluice_partition pa = {a->n, a->set, a->length, 0}, pb = {b->n, b->set, b->length, 0};
            sluice_matrix m = {0};
            bench_must(sluice_redistribute_within(&m, &pa, &pb, a->length), "redistribute");
            pairs[i][k].degree = (double)m.match_num / (double)m.match_den;
            sluice_matrix_free(&m);
        }
}

static void measure(void) {
    for (int r = -1; r < set.reps; r++) /* the first turn is not counted */
        for (int s = 0; s < (LAYOUTS + 1) * LAYOUTS; s++) {
            int at = (s * 29 + (r + 1) * 13) % ((LAYOUTS + 1) * LAYOUTS), i = at / LAYOUTS, k = at % LAYOUTS;
            visit(&accesses[k], true, s + r);
            double write = move(array[i], &accesses[k], true);
            for (int p = 0; p < PARTS; p++) memset(accesses[k].buf[p], 0xA5, (size_t)accesses[k].layout->set[p].size);
            double read = move(array[i], &accesses[k], false);
            visit(&accesses[k], false, s + r);
            if (r < 0) continue;
            pairs[i][k].time[0][r] = read;
            pairs[i][k].time[1][r] = write;
        }
    for (int i = 0; i <= LAYOUTS; i++)
        for (int k = 0; k < LAYOUTS; k++) {
            pairs[i][k].read = bench_median(pairs[i][k].time[0], set.reps);
            pairs[i][k].write = bench_median(pairs[i][k].time[1], set.reps);
        }
}

/* Ranks of n values; the same ones share theirs. */
static void rank(double *out, const double *value_of, int n) {
    for (int i = 0; i < n; i++) {
        int less = 0, same = 0;
        for (int k = 0; k < n; k++) less += value_of[k] < value_of[i], same += value_of[k] == value_of[i];
        out[i] = less + (same - 1) / 2.0;
    }
}

static double correlate(const double *x, const double *y, int n) {
    double rx[PAIRS], ry[PAIRS], mean = (n - 1) / 2.0, xy = 0, xx = 0, yy = 0;
    rank(rx, x, n);
    rank(ry, y, n);
    for (int i = 0; i < n; i++) {
        xy += (rx[i] - mean) * (ry[i] - mean);
        xx += (rx[i] - mean) * (rx[i] - mean);
        yy += (ry[i] - mean) * (ry[i] - mean);
    }
    return xy / sqrt(xx * yy);
}

static void print(void) {
    double degree[PAIRS], time[2][PAIRS];
    printf("Layouts and accesses of %lld x %lld bytes over 4; milliseconds, cached, median of %d\n", (long long)set.n,
           (long long)set.n, set.reps);
    printf("%-30s %-30s %12s %8s %8s %8s %8s\n", "layout", "access", "degree", "read", "write", "/plain", "/plain");
    bench_worst slower[2] = {{.goal = 1 / 1.1}, {.goal = 1 / 1.1}};
    for (int i = 0; i < LAYOUTS; i++)
        for (int k = 0; k < LAYOUTS; k++) {
            const pair *p = &pairs[i][k], *plain = &pairs[LAYOUTS][k];
            char where[64];
            printf("%-30s %-30s %12.3g %8.3f %8.3f %8.2f %8.2f\n", layouts[i], layouts[k], p->degree, p->read, p->write,
                   p->read / plain->read, p->write / plain->write);
            snprintf(where, sizeof where, "%s by %s", layouts[i], layouts[k]);
            bench_note(&slower[0], plain->read / p->read, where);
            bench_note(&slower[1], plain->write / p->write, where);
            degree[i * LAYOUTS + k] = -p->degree;
            time[0][i * LAYOUTS + k] = p->read;
            time[1][i * LAYOUTS + k] = p->write;
        }
    bench_verdict(&slower[0], "\nplain file / layout, reads");
    bench_verdict(&slower[1], "plain file / layout, writes");
    static const char *const name[] = {"reads", "writes"};
    for (int w = 0; w < 2; w++) {
        double rho = correlate(degree, time[w], PAIRS);
        printf("rank correlation of degree and time, %d pairs, %s: %.3f, goal 0.90: %s\n", PAIRS, name[w], rho,
               rho >= 0.9 ? "met" : "MISSED");
    }
}

static int write_files(void) {
    FILE *f = set.csv ? fopen(set.csv, "w") : NULL;
    if (set.csv && !f) return -1;
    if (f) fprintf(f, "layout,access,degree,read_ms,write_ms\n");
    FILE *g = set.plot ? popen("gnuplot", "w") : NULL;
    if (g)
        fprintf(g,
                "set terminal svg size 800,600\nset output '%s'\nset logscale xy\nset xlabel 'matching degree'\n"
                "set ylabel 'milliseconds'\nset grid\n$data << EOD\n",
                set.plot);
    for (int i = 0; i < LAYOUTS; i++)
        for (int k = 0; k < LAYOUTS; k++) {
            const pair *p = &pairs[i][k];
            if (f) fprintf(f, "\"%s\",\"%s\",%g,%g,%g\n", layouts[i], layouts[k], p->degree, p->read, p->write);
            if (g) fprintf(g, "%g %g %g\n", p->degree, p->read, p->write);
        }
    if (g) fprintf(g, "EOD\nplot $data using 1:2 title 'read' pt 7, $data using 1:3 title 'write' pt 6\n");
    if (g && pclose(g)) fprintf(stderr, "no plot: gnuplot is missing or failed\n");
    return f ? fclose(f) : 0;
}

static void clean_up(void) {
    for (int i = 0; i <= LAYOUTS; i++) {
        must(sluice_close(array[i]));
        if (i < LAYOUTS)
            bench_must(sluice_container_delete(path_of(i), NULL, NULL), "delete");
        else
            unlink(path_of(i));
    }
    rmdir(folder);
    for (int i = 0; i < LAYOUTS; i++) {
        sluice_layout_free(accesses[i].layout);
        for (int p = 0; p < PARTS; p++) free(accesses[i].buf[p]);
    }
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--quick"))
            set.n = 256, set.reps = 1;
        else if (!strcmp(argv[i], "--size") && more)
            set.n = atoll(argv[++i]);
        else if (!strcmp(argv[i], "--reps") && more)
            set.reps = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--csv") && more)
            set.csv = argv[++i];
        else if (!strcmp(argv[i], "--plot") && more)
            set.plot = argv[++i];
        else
            set.n = 0;
    }
    if (set.n < 128 || set.n > 1 << 15 || set.reps < 1 || set.reps > BENCH_MAX_REPS) {
        fprintf(stderr, "usage: match [--size 128..32768] [--reps 1..%d] [--csv FILE] [--plot FILE.svg] [--quick]\n",
                BENCH_MAX_REPS);
        return 2;
    }
    prepare();
    find_degrees();
    measure();
    print();
    if (write_files()) {
        perror(set.csv);
        return 1;
    }
    clean_up();
    return 0;
}
