/* match.c: do the matching degree of a layout and an access, and the predicted cost, tell how fast the access is? What
 * does a layout cost, or gain, beside one plain file? And what is gained by the layout that matches?
 *
 * An N x N array of bytes lies in a container in each of some layouts over four subfiles. Each of the same layouts also
 * is an access: its four parts, as four processes would have them. Every pair is measured, cached, in turns. In the
 * first turn, which does not count, and in the last one what was read is compared with what must be there.
 *
 * One process moves the four parts one after the other, and does the same with a plain file of the same bytes, and with
 * a loop written by hand for the pair (hand.h). Where the bytes are scattered finely over subfiles, moving them takes
 * longer than copying a plain file whoever does it: a layout is held against the slower of the two. The rank
 * correlations are printed with the pairs: 1 means that the degree, or the prediction, puts them in the order in which
 * they are.
 *
 * Four processes (mpiexec -n 4) move a part each, independently and together, and are done when the last one is.
 *
 *     match [--size N] [--reps N] [--csv FILE] [--plot FILE.svg] [--quick]
 */
#include "array/array.h"
#include "bench.h"
#include "hand.h"
#include "io/price.h"
#include "sluice_mpi.h"
#include <math.h>
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

/* Who moves: one process the parts of all, by itself or by hand; or each its own, independently or together. */
typedef enum mover { ALONE, BY_HAND, OWN, TOGETHER, MOVERS } mover;
static const char *const mover_name[] = {"one process", "by hand", "independent", "collective"};
static const char *const direction[] = {"read", "write"};

typedef struct settings {
    int64_t n;
    int reps;
    const char *csv, *plot;
} settings;

/* An access: what each process has, and its memory. */
typedef struct access {
    sluice_layout *layout;
    hand_rows rows;
    unsigned char *buf[PARTS]; /* NULL: another process has it */
} access_kind;

/* [direction], milliseconds. */
typedef struct pair {
    double degree, price[2], ms[MOVERS][2];
    double time[MOVERS][2][BENCH_MAX_REPS];
    hand hand;
} pair;

static settings set = {.n = 2048, .reps = 9};
static access_kind accesses[LAYOUTS];
static sluice_array *array[LAYOUTS + 1]; /* the last one is a plain file */
static pair pairs[LAYOUTS + 1][LAYOUTS]; /* [layout][access] */
static char folder[64];
static int rank, size;

static void must(int err) {
    if (!err) return;
    fprintf(stderr, "match: %s\n", sluice_errmsg());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char value(int64_t x, int turn) { return (unsigned char)(x * 131 + (x >> 11) * 7 + turn); }

static const char *path_of(int i) {
    static char path[96];
    snprintf(path, sizeof path, i < LAYOUTS ? "%s/%d.sluice" : "%s/%d.bin", folder, i);
    return path;
}

static int move_part(sluice_array *a, const sluice_io_part *part, bool write, mover who, sluice_reason *why) {
    sluice_pieces pieces = {0};
    int err = a->layout ? sluice_pass(why, sluice_split(&pieces, a->layout, part, 1)) : 0, n = a->layout ? pieces.n : 1;
    if (a->layout) part = pieces.part;
    if (who == TOGETHER)
        err = sluice_all_run(a, write, part, n, NULL, true, err, why);
    else if (!err)
        err = (write ? sluice_io_write : sluice_io_read)(&a->io, part, n, why);
    sluice_split_free(&pieces);
    return err;
}

static void by_hand(sluice_array *a, const access_kind *x, const hand *h, bool write) {
    unsigned char *sub[PARTS];
    for (int i = 0; i < PARTS; i++) sub[i] = sluice_map_base(a->io.map) + a->layout->base[i];
    for (int p = 0; p < PARTS; p++) hand_move(h, p, x->buf[p], sub, write);
}

/* Moves the parts of an access that this process has; milliseconds until all are done. */
static double move(int i, int k, bool write, mover who) {
    const access_kind *x = &accesses[k];
    sluice_reason why;
    int err = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double span[2] = {-bench_now(), 0};
    if (who == BY_HAND)
        by_hand(array[i], x, &pairs[i][k].hand, write);
    else
        for (int p = 0; p < PARTS && !err; p++)
            if (x->buf[p])
                err = move_part(array[i], &(sluice_io_part){&x->layout->set[p], {x->buf[p], NULL, 0, 0}}, write, who,
                                &why);
    if (err) must(sluice_errmsg_set(&why));
    span[1] = bench_now();
    MPI_Allreduce(MPI_IN_PLACE, span, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (span[1] + span[0]) * 1e-6;
}

/* What the processes have is what they must have: filled in, or compared. */
static void visit(const access_kind *x, bool fill, int turn) {
    for (int p = 0; p < PARTS; p++) {
        sluice_cursor c;
        sluice_run run;
        unsigned char *at = x->buf[p];
        if (!at) continue;
        for (sluice_cursor_init(&c, &x->layout->set[p]); sluice_cursor_run(&c, &run);)
            for (int64_t k = 0; k < run.len; k++, at++) {
                if (fill)
                    *at = value(run.off + k, turn);
                else if (*at != value(run.off + k, turn)) {
                    fprintf(stderr, "match: byte %lld is wrong\n", (long long)(run.off + k));
                    MPI_Abort(MPI_COMM_WORLD, 1);
                }
            }
    }
}

static void prepare(void) {
    const sluice_desc d = {.format = SLUICE_RAW, .type = "uint8", .shape = {.ndims = 2, .dim = {set.n, set.n}}};
    sluice_shape shape = {.ndims = 2, .elem = 1, .dim = {set.n, set.n}};
    snprintf(folder, sizeof folder, "match-XXXXXX");
    if (!rank && !mkdtemp(folder)) {
        perror("match");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < LAYOUTS; i++) {
        sluice_reason why;
        if (sluice_layout_parse(&accesses[i].layout, &shape, layouts[i], &why)) must(sluice_errmsg_set(&why));
        for (int p = 0; p < PARTS; p++)
            if (size == 1 || p == rank) accesses[i].buf[p] = hand_alloc(accesses[i].layout->set[p].size, 1);
        if (size == 1) hand_rows_make(&accesses[i].rows, accesses[i].layout, set.n);
        visit(&accesses[i], true, 0);
    }
    for (int i = 0; i < LAYOUTS; i++)
        for (int k = 0; k < LAYOUTS && size == 1; k++)
            hand_make(&pairs[i][k].hand, &accesses[i].rows, &accesses[k].rows);
    for (int i = 0; i <= LAYOUTS; i++) {
        sluice_options o = {.size = sizeof o, .exclusive = size == 1, .layout = i < LAYOUTS ? layouts[i] : NULL};
        must(size == 1 ? sluice_create(&array[i], path_of(i), &d, &o)
                       : sluice_create_all(&array[i], MPI_COMM_WORLD, path_of(i), &d, &o));
        move(i, 0, true, size == 1 ? ALONE : OWN);
        move(i, 0, false, size == 1 ? ALONE : OWN);
    }
}

static void find_degree(pair *p, const sluice_layout *a, const sluice_layout *b) {
    sluice_partition pa = {a->n, a->set, a->length, 0}, pb = {b->n, b->set, b->length, 0};
    sluice_matrix m = {0};
    bench_must(sluice_redistribute_within(&m, &pa, &pb, a->length), "redistribute");
    p->degree = (double)m.match_num / (double)m.match_den;
    sluice_matrix_free(&m);
}

static void find_price(pair *p, const sluice_layout *a, const sluice_layout *b, const sluice_rates *r) {
    for (int j = 0; j < b->n; j++) {
        sluice_pieces pieces = {0};
        bench_must(sluice_split(&pieces, a, &(sluice_io_part){&b->set[j], {NULL, NULL, 0, 0}}, 1), "split");
        for (int write = 0; write < 2; write++) p->price[write] += 1e3 * sluice_price(r, write, pieces.part, pieces.n);
        sluice_split_free(&pieces);
    }
}

static void foretell(void) {
    sluice_rates r;
    bench_must(sluice_rates_measure(&r), "rates");
    for (int i = 0; i < LAYOUTS; i++)
        for (int k = 0; k < LAYOUTS; k++) {
            find_degree(&pairs[i][k], accesses[i].layout, accesses[k].layout);
            find_price(&pairs[i][k], accesses[i].layout, accesses[k].layout, &r);
        }
}

/* Writes, reads, and compares what was read. */
static void try(int i, int k, mover who, int turn, int rep) {
    const bool compare = rep < 0 || rep == set.reps - 1;
    if (compare) visit(&accesses[k], true, turn);
    const double write = move(i, k, true, who);
    for (int p = 0; p < PARTS; p++)
        if (accesses[k].buf[p]) memset(accesses[k].buf[p], 0xA5, (size_t)accesses[k].layout->set[p].size);
    const double read = move(i, k, false, who);
    if (compare) visit(&accesses[k], false, turn);
    if (rep < 0) return;
    pairs[i][k].time[who][0][rep] = read;
    pairs[i][k].time[who][1][rep] = write;
}

/* All pairs in another order each time, and in no case one pair twice in a row: what the first leaves in the caches
 * would help the second. */
static void measure(void) {
    const int plain = (LAYOUTS + 1) * LAYOUTS, all = size == 1 ? plain + PAIRS : 2 * plain;
    for (int r = -1; r < set.reps; r++) /* the first turn is not counted */
        for (int s = 0; s < all; s++) {
            const int at = (s * 29 + (r + 1) * 13) % all, i = at % plain / LAYOUTS, k = at % LAYOUTS;
            const mover first = size == 1 ? ALONE : OWN, second = size == 1 ? BY_HAND : TOGETHER;
            try(i, k, at < plain ? first : second, s + r, r);
        }
    for (int i = 0; i <= LAYOUTS; i++)
        for (int k = 0; k < LAYOUTS; k++)
            for (int t = 0; t < 2 * MOVERS; t++)
                pairs[i][k].ms[t / 2][t % 2] = bench_median(pairs[i][k].time[t / 2][t % 2], set.reps);
}

/* Ranks of n values; the same ones share theirs. */
static void find_ranks(double *out, const double *value_of, int n) {
    for (int i = 0; i < n; i++) {
        int less = 0, same = 0;
        for (int k = 0; k < n; k++) less += value_of[k] < value_of[i], same += value_of[k] == value_of[i];
        out[i] = less + (same - 1) / 2.0;
    }
}

static double correlate(const double *x, const double *y, int n) {
    double rx[PAIRS], ry[PAIRS], mean = (n - 1) / 2.0, xy = 0, xx = 0, yy = 0;
    find_ranks(rx, x, n);
    find_ranks(ry, y, n);
    for (int i = 0; i < n; i++) {
        xy += (rx[i] - mean) * (ry[i] - mean);
        xx += (rx[i] - mean) * (rx[i] - mean);
        yy += (ry[i] - mean) * (ry[i] - mean);
    }
    return xy / sqrt(xx * yy);
}

static void print_correlation(const char *what, mover who) {
    double x[PAIRS], y[PAIRS];
    for (int write = 0; write < 2; write++) {
        for (int at = 0; at < PAIRS; at++) {
            const pair *p = &pairs[at / LAYOUTS][at % LAYOUTS];
            x[at] = *what == 'd' ? -p->degree : p->price[write];
            y[at] = p->ms[who][write];
        }
        const double rho = correlate(x, y, PAIRS);
        printf("rank correlation of %s and time, %d pairs, %s, %s: %.3f, goal 0.90: %s\n", what, PAIRS, mover_name[who],
               direction[write], rho, rho >= 0.9 ? "met" : "MISSED");
    }
}

/* For each access, the time on other layouts over that on the layout that matches. */
static void print_gains(mover who) {
    printf("\nGained by the layout that matches, %s: time on it, and on the other %d over that\n%-26s", mover_name[who],
           LAYOUTS - 1, "access");
    for (int write = 0; write < 2; write++) printf(" %9s %6s %6s %6s", direction[write], "least", "mean", "most");
    double all[2] = {0, 0};
    for (int k = 0; k < LAYOUTS; k++) {
        printf("\n%-26s", layouts[k]);
        for (int write = 0; write < 2; write++) {
            double least = INFINITY, most = 0, sum = 0;
            for (int i = 0; i < LAYOUTS; i++) {
                const double gain = pairs[i][k].ms[who][write] / pairs[k][k].ms[who][write];
                if (i == k) continue;
                least = fmin(least, gain);
                most = fmax(most, gain);
                sum += log(gain) / (LAYOUTS - 1);
            }
            all[write] += sum / LAYOUTS;
            printf(" %9.3f %6.2f %6.2f %6.2f", pairs[k][k].ms[who][write], least, exp(sum), most);
        }
    }
    printf("\nmatched against mismatched, %s: %.2f x for reads, %.2f x for writes in geometric mean\n", mover_name[who],
           exp(all[0]), exp(all[1]));
}

/* Held against the plain file, and against the slower of it and the loop by hand. */
static void print_verdicts(mover who) {
    for (int write = 0; write < 2; write++) {
        bench_worst plain = {.goal = 1 / 1.1}, both = plain;
        char where[64], what[96];
        for (int at = 0; at < PAIRS; at++) {
            const pair *p = &pairs[at / LAYOUTS][at % LAYOUTS];
            const double limit = pairs[LAYOUTS][at % LAYOUTS].ms[who][write], ms = p->ms[who][write];
            snprintf(where, sizeof where, "%s by %s", layouts[at / LAYOUTS], layouts[at % LAYOUTS]);
            bench_note(&plain, limit / ms, where);
            bench_note(&both, fmax(limit, p->ms[BY_HAND][write]) / ms, where);
        }
        snprintf(what, sizeof what, "plain file / layout, %s, %s", mover_name[who], direction[write]);
        bench_verdict(&plain, what);
        snprintf(what, sizeof what, "slower of plain file and loop by hand / layout, %s", direction[write]);
        if (who == ALONE) bench_verdict(&both, what);
    }
}

static void print_pairs(void) {
    const int first = size == 1 ? ALONE : OWN;
    printf("Layouts and accesses of %lld x %lld bytes over 4; %d process%s; milliseconds, cached, median of %d\n",
           (long long)set.n, (long long)set.n, size, size == 1 ? "" : "es", set.reps);
    printf("%-24s %-24s %10s %8s %8s", "layout", "access", "degree", "r price", "w price");
    for (int who = first; who < first + 2; who++) printf(" | %-11s read  write", mover_name[who]);
    printf(" | /plain: read  write\n");
    for (int at = 0; at < PAIRS; at++) {
        const pair *p = &pairs[at / LAYOUTS][at % LAYOUTS], *plain = &pairs[LAYOUTS][at % LAYOUTS];
        printf("%-24s %-24s %10.3g %8.3f %8.3f", layouts[at / LAYOUTS], layouts[at % LAYOUTS], p->degree, p->price[0],
               p->price[1]);
        for (int who = first; who < first + 2; who++) printf(" | %16.3f %6.3f", p->ms[who][0], p->ms[who][1]);
        printf(" | %13.2f %6.2f\n", p->ms[first][0] / plain->ms[first][0], p->ms[first][1] / plain->ms[first][1]);
    }
    putchar('\n');
}

static void print(void) {
    print_pairs();
    for (int who = 0; who < MOVERS; who++) {
        if (who == BY_HAND || (who == ALONE) != (size == 1)) continue;
        print_verdicts((mover)who);
        print_correlation("degree", (mover)who);
        print_correlation("prediction", (mover)who);
        print_gains((mover)who);
    }
}

static int write_files(void) {
    const mover first = size == 1 ? ALONE : OWN, second = size == 1 ? BY_HAND : TOGETHER;
    FILE *f = set.csv ? fopen(set.csv, "w") : NULL;
    if (set.csv && !f) return -1;
    if (f)
        fprintf(f, "layout,access,degree,read_price,write_price,read_ms,write_ms,%s\n",
                size == 1 ? "hand_read_ms,hand_write_ms" : "all_read_ms,all_write_ms");
    FILE *g = set.plot ? popen("gnuplot", "w") : NULL;
    if (g)
        fprintf(g,
                "set terminal svg size 1200,600\nset output '%s'\nset multiplot layout 1,2\nset logscale xy\n"
                "set ylabel 'milliseconds'\nset grid\n$data << EOD\n",
                set.plot);
    for (int at = 0; at < PAIRS; at++) {
        const pair *p = &pairs[at / LAYOUTS][at % LAYOUTS];
        const double *ms = p->ms[first], *more = p->ms[second];
        if (f)
            fprintf(f, "\"%s\",\"%s\",%g,%g,%g,%g,%g,%g,%g\n", layouts[at / LAYOUTS], layouts[at % LAYOUTS], p->degree,
                    p->price[0], p->price[1], ms[0], ms[1], more[0], more[1]);
        if (g) fprintf(g, "%g %g %g %g %g\n", p->degree, p->price[0], p->price[1], ms[0], ms[1]);
    }
    if (g)
        fprintf(g, "EOD\nset xlabel 'matching degree'\n"
                   "plot $data using 1:4 title 'read' pt 7, $data using 1:5 title 'write' pt 6\n"
                   "set xlabel 'predicted milliseconds'\n"
                   "plot $data using 2:4 title 'read' pt 7, $data using 3:5 title 'write' pt 6\n");
    if (g && pclose(g)) fprintf(stderr, "no plot: gnuplot is missing or failed\n");
    return f ? fclose(f) : 0;
}

static void clean_up(void) {
    for (int i = 0; i <= LAYOUTS; i++) {
        must(sluice_close(array[i]));
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank) continue;
        if (i < LAYOUTS)
            bench_must(sluice_container_delete(path_of(i), NULL, NULL), "delete");
        else
            unlink(path_of(i));
    }
    if (!rank) rmdir(folder);
    for (int at = 0; at < PAIRS && size == 1; at++) hand_free(&pairs[at / LAYOUTS][at % LAYOUTS].hand);
    for (int i = 0; i < LAYOUTS; i++) {
        if (size == 1) hand_rows_free(&accesses[i].rows);
        sluice_layout_free(accesses[i].layout);
        for (int p = 0; p < PARTS; p++) free(accesses[i].buf[p]);
    }
}

static bool read_options(int argc, char **argv) {
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
            return false;
    }
    return set.n >= 128 && set.n <= 1 << 15 && set.reps >= 1 && set.reps <= BENCH_MAX_REPS;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!read_options(argc, argv) || (size != 1 && size != PARTS)) {
        if (!rank)
            fprintf(stderr,
                    "usage: [mpiexec -n 4] match [--size 128..32768] [--reps 1..%d] [--csv FILE] [--plot FILE.svg] "
                    "[--quick]\n",
                    BENCH_MAX_REPS);
        MPI_Finalize();
        return 2;
    }
    prepare();
    foretell();
    measure();
    int err = 0;
    if (!rank) {
        print();
        if ((err = write_files())) perror(set.csv);
    }
    clean_up();
    MPI_Finalize();
    return err != 0;
}
