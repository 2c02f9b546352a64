/* set.c: how fast the algebra is: positions, intersections, copies.
 *
 * positions: nanoseconds of rank, select and a cursor's steps, by depth and number of siblings.
 * intersect: time and memory to intersect layouts of an N x N matrix, also of odd N; both must not grow with N. And the
 *            redistribution matrix of layouts with odd extents on a striped file.
 * copy:      gather, scatter and move beside the best loop written by hand for the one shape, and beside memcpy of as
 *            many bytes. Contenders take turns within each repetition; a figure is the median of all repetitions. Data
 *            is verified.
 *
 * Times never make the bench fail; wrong data does.
 */
#include "base/base.h"
#include "bench.h"
#include "loops.h"
#include "sluice_set.h"
#include <stdbool.h>
#include <sys/mman.h>

static struct {
    int reps;
    double span;             /* nanoseconds that one figure is measured for, at least */
    int64_t payload, cached; /* most bytes moved, and most bytes of the cache lines in which they lie */
    int64_t arena;           /* most bytes between the first and the last of them */
} how = {21, 200e3, 256 << 10, 1 << 20, 16 << 20};

static volatile int64_t sink; /* results go here, so that they must be computed */

/* ---- Positions ------------------------------------------------------------------------------------------------- */

enum { PROBES = 4096 };

typedef enum question { RANK, SELECT, SEEK, RUN, FAMILY, QUESTIONS } question;

/* Asks one kind of question many times, a cursor again from the start when it is at the end; nanoseconds per answer. */
static double ask(question q, const sluice_set *s, const int64_t *x) {
    int64_t sum = 0, step, n;
    sluice_cursor c;
    sluice_run run = {0, 0};
    sluice_cursor_init(&c, s);
    double start = bench_now();
    switch (q) {
    case RANK:
        for (int i = 0; i < PROBES; i++) sum += sluice_set_rank(s, x[i]);
        break;
    case SELECT:
        for (int i = 0; i < PROBES; i++) sum += sluice_set_select(s, x[i] % s->size);
        break;
    case SEEK:
        for (int i = 0; i < PROBES; i++) sluice_cursor_seek(&c, x[i] % s->size), sum += c.in;
        break;
    case RUN:
        for (int i = 0; i < PROBES; i++, sum += run.off)
            if (!sluice_cursor_run(&c, &run)) sluice_cursor_init(&c, s);
        break;
    default:
        for (int i = 0; i < PROBES; i++, sum += run.off)
            if (!sluice_cursor_family(&c, &run, &step, &n)) sluice_cursor_init(&c, s);
    }
    double time = bench_now() - start;
    sink = sum;
    return time / PROBES;
}

static void positions_of(const char *title, const sluice_set *s) {
    static int64_t x[PROBES];
    uint64_t seed = 1;
    for (int i = 0; i < PROBES; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (int64_t)((seed >> 16) % (uint64_t)sluice_set_hi(s));
    }
    printf("%-24s", title);
    for (question q = 0; q < QUESTIONS; q++) {
        double time[BENCH_MAX_REPS];
        for (int r = 0; r < how.reps; r++) time[r] = ask(q, s, x);
        printf(" %8.1f", bench_median(time, how.reps));
    }
    printf("\n");
}

static void positions(void) {
    printf("Positions: ns per answer      rank   select     seek run step   family\n");
    sluice_set s = SLUICE_SET_EMPTY;
    bench_must(sluice_set_falls(&s, 0, 3, 8, 50), "falls");
    for (int depth = 1; depth <= 4; depth++) {
        char title[32];
        snprintf(title, sizeof title, "depth %d", sluice_set_depth(&s));
        positions_of(title, &s);
        bench_must(sluice_set_repeat(&s, &s, 0, 2 * sluice_set_hi(&s), 50), "repeat");
    }
    enum { SIBLINGS = 1000 };
    static sluice_run run[SIBLINGS];
    int64_t off = 0;
    for (int i = 0; i < SIBLINGS; i++) {
        run[i] = (sluice_run){off, 1 + i % 7};
        off += 10 + i * i % 11;
    }
    bench_must(sluice_set_runs(&s, run, SIBLINGS, NULL), "runs");
    char title[32];
    snprintf(title, sizeof title, "depth %d, %d families", sluice_set_depth(&s), (int)s.nnode);
    positions_of(title, &s);
    sluice_set_free(&s);
}

/* ---- Intersections --------------------------------------------------------------------------------------------- */

enum { PROCS = 4, SIZES = 7 };
static const char *const layout_name[] = {"rows", "columns", "squares"};
enum { LAYOUTS = 3 };

/* The part of process p of an n x n matrix of bytes. */
static void layout(sluice_set *out, int kind, int64_t n, int p) {
    int64_t half = n / 2, quarter = n / 4, rest = p == 3 ? n - 3 * quarter : quarter; /* the last part may be longer */
    int64_t high = p / 2 ? n - half : half, wide = p % 2 ? n - half : half;
    if (kind == 0)
        bench_must(sluice_set_block(out, p * quarter * n, rest * n), "block");
    else if (kind == 1)
        bench_must(sluice_set_falls(out, p * quarter, rest, n, n), "falls");
    else
        bench_must(sluice_set_falls(out, p / 2 * half * n + p % 2 * half, wide, n, high), "falls");
}

/* Microseconds per intersection with both projections, all processes of one layout with all of another; in *bytes
 * the most memory that one took. */
static double intersect_layouts(int a, int b, int64_t n, int64_t *bytes) {
    sluice_set sa[PROCS] = {SLUICE_SET_EMPTY}, sb[PROCS] = {SLUICE_SET_EMPTY};
    double time[BENCH_MAX_REPS];
    int64_t common = 0;
    *bytes = 0;
    for (int p = 0; p < PROCS; p++) layout(&sa[p], a, n, p), layout(&sb[p], b, n, p);
    for (int r = 0; r < how.reps; r++) {
        double start = bench_now();
        for (int i = 0; i < PROCS * PROCS; i++) {
            sluice_common c = {0};
            sluice_element ea = {&sa[i / PROCS], n * n, 0}, eb = {&sb[i % PROCS], n * n, 0};
            int64_t live = sluice_mem_live();
            sluice_mem_peak_reset();
            bench_must(sluice_element_intersect(&c, &ea, &eb), "intersect");
            *bytes = sluice_max(*bytes, sluice_mem_peak() - live);
            common += c.set.size;
            sluice_common_free(&c);
        }
        time[r] = (bench_now() - start) / 1e3 / (PROCS * PROCS);
    }
    for (int p = 0; p < PROCS; p++) sluice_set_free(&sa[p]), sluice_set_free(&sb[p]);
    if (common != n * n * how.reps) bench_must(-1, "the intersections do not add up to the matrix: intersect");
    return bench_median(time, how.reps);
}

/* The parts of an n x (2n - 15) matrix of 4-byte elements, with extents that are odd. */
static sluice_partition matrix_parts(sluice_set *part, int kind, int64_t n) {
    static const struct {
        sluice_dist dist[2];
        int grid[2];
    } how_dealt[] = {{{{SLUICE_DIST_BLOCK, 0, NULL}, {SLUICE_DIST_STAR, 0, NULL}}, {4, 1}},
                     {{{SLUICE_DIST_STAR, 0, NULL}, {SLUICE_DIST_BLOCK, 0, NULL}}, {1, 4}},
                     {{{SLUICE_DIST_BLOCK, 0, NULL}, {SLUICE_DIST_BLOCK, 0, NULL}}, {2, 2}},
                     {{{SLUICE_DIST_CYCLIC, 3, NULL}, {SLUICE_DIST_CYCLIC, 5, NULL}}, {2, 2}}};
    sluice_shape shape = {.ndims = 2, .elem = 4, .dim = {n, 2 * n - 15}};
    for (int p = 0; p < PROCS; p++)
        bench_must(sluice_set_hpf(&part[p], &shape, how_dealt[kind].dist, how_dealt[kind].grid, p, NULL), "hpf");
    return (sluice_partition){PROCS, part, 4 * n * (2 * n - 15), 0};
}

/* Microseconds of a redistribution matrix between a matrix with odd extents and a file striped by 64 KiB: in one file,
 * and over the common period, which is tens of thousands of files long. */
static void redistribute(void) {
    static const char *const name[] = {"rows", "columns", "squares", "cyclic(3),(5)"};
    const int64_t stripe = 65536, extent[] = {101, 1009, 10007};
    sluice_set part[PROCS] = {SLUICE_SET_EMPTY}, target[PROCS] = {SLUICE_SET_EMPTY};
    sluice_partition b = {PROCS, target, PROCS * stripe, 0};
    for (int p = 0; p < PROCS; p++) bench_must(sluice_set_block(&target[p], p * stripe, stripe), "block");
    printf("\nRedistribute N x (2N-15) elements of 4 bytes to %d x 64 KiB stripes: us in a file, over a period\n%-16s",
           PROCS, "");
    for (int k = 0; k < 3; k++) printf("  N = %-18lld", (long long)extent[k]);
    printf("\n");
    for (int kind = 0; kind < 4; kind++) {
        printf("%-16s", name[kind]);
        for (int k = 0; k < 3; k++) {
            sluice_partition a = matrix_parts(part, kind, extent[k]);
            double time[2][BENCH_MAX_REPS];
            for (int r = 0; r < how.reps; r++)
                for (int forever = 0; forever < 2; forever++) {
                    sluice_matrix m = {0};
                    int64_t moved = 0;
                    double start = bench_now();
                    bench_must(forever ? sluice_redistribute(&m, &a, &b)
                                       : sluice_redistribute_within(&m, &a, &b, a.period),
                               "redistribute");
                    time[forever][r] = (bench_now() - start) / 1e3;
                    for (int i = 0; i < PROCS * PROCS; i++) moved += m.bytes[i];
                    if (moved != m.period) bench_must(-1, "the entries do not add up to the file: redistribute");
                    sluice_matrix_free(&m);
                }
            printf("  %10.1f %11.1f", bench_median(time[0], how.reps), bench_median(time[1], how.reps));
        }
        printf("\n");
    }
    for (int p = 0; p < PROCS; p++) sluice_set_free(&part[p]), sluice_set_free(&target[p]);
}

static void intersect_sizes(int64_t odd) {
    double time[SIZES], worst_time = 0, worst_bytes = 0;
    int64_t bytes[SIZES];
    printf("\nIntersect with projections, N x N bytes on %d processes: us (bytes of memory at most)\n%-16s", PROCS, "");
    for (int k = 0; k < SIZES; k++) printf("  N = %-9lld", (256LL << 2 * k) + odd);
    printf(" last/first\n");
    for (int a = 0; a < LAYOUTS; a++)
        for (int b = 0; b < LAYOUTS; b++) {
            /* All sizes once before the clock counts: the first calls would pay for cold code. */
            for (int k = 0; k < SIZES; k++) intersect_layouts(a, b, (256LL << 2 * k) + odd, &bytes[k]);
            printf("%-7s %-8s", layout_name[a], layout_name[b]);
            for (int k = 0; k < SIZES; k++) {
                time[k] = intersect_layouts(a, b, (256LL << 2 * k) + odd, &bytes[k]);
                printf("  %5.2f (%5lld)", time[k], (long long)bytes[k]);
            }
            double rt = time[SIZES - 1] / time[0], rb = (double)bytes[SIZES - 1] / (double)bytes[0];
            printf("  %.2f (%.2f)\n", rt, rb);
            if (rt > worst_time) worst_time = rt;
            if (rb > worst_bytes) worst_bytes = rb;
        }
    printf("largest N / smallest N: time at most %.2f, bytes at most %.2f (goal: flat)\n", worst_time, worst_bytes);
}

static void intersect(void) {
    intersect_sizes(0);
    intersect_sizes(1);
    redistribute();
}

/* ---- Copies ----------------------------------------------------------------------------------------------------- */

/* A copy made ready: buffers and sets. */
typedef struct job {
    const copy *copy;
    int64_t bytes;
    sluice_set dst_set, src_set;
    int64_t dst_size, src_size;
    byte *dst, *src;
} job;

enum { SLUICE, MEMCPY, HAND, CONTENDERS = HAND + WAYS };

static void run(const job *j, int contender) {
    if (contender >= HAND) {
        j->copy->hand[contender - HAND](j->dst, j->src, j->bytes / j->copy->unit);
    } else if (contender == MEMCPY) {
        memcpy(j->dst, j->src, (size_t)j->bytes);
    } else if (j->copy->kind == GATHER) {
        sink = sluice_gather(j->dst, j->src, &j->src_set, 0, j->src_size);
    } else if (j->copy->kind == SCATTER) {
        sink = sluice_scatter(j->dst, j->src, &j->dst_set, 0, j->dst_size);
    } else {
        sluice_side d = {j->dst, &j->dst_set, 0, 0}, s = {j->src, &j->src_set, 0, 0};
        sink = sluice_move(&d, &s, j->bytes);
    }
}

/* The set of one side and the bytes from 0 to its end. */
static int64_t make_side(sluice_set *out, const side *s, int64_t bytes) {
    bench_must(sluice_set_falls(out, 0, s->len, s->step, s->count), "falls");
    bench_must(sluice_set_repeat(out, out, 0, s->outer, bytes / (s->len * s->count)), "repeat");
    return sluice_set_hi(out);
}

static byte noise(int64_t i) { return (byte)((uint64_t)i * 0x9e3779b97f4a7c15u >> 56); }

/* Where byte k lies. */
static int64_t place(const side *s, int64_t k) {
    int64_t group = s->len * s->count, in = k % group;
    return k / group * s->outer + in / s->len * s->step + in % s->len;
}

/* Runs each contender once on a fresh destination and compares every byte of it with the definition. */
static void verify(const job *j) {
    byte *expected = malloc((size_t)j->dst_size);
    if (!expected) bench_must(-1, "malloc");
    memset(expected, 0x5a, (size_t)j->dst_size);
    int64_t piece = sluice_min(j->copy->dst.len, j->copy->src.len);
    for (int64_t k = 0; k < j->bytes; k += piece)
        memcpy(expected + place(&j->copy->dst, k), j->src + place(&j->copy->src, k), (size_t)piece);
    for (int c = 0; c < CONTENDERS; c++) {
        if (c == MEMCPY) continue;
        memset(j->dst, 0x5a, (size_t)j->dst_size);
        run(j, c);
        if (memcmp(j->dst, expected, (size_t)j->dst_size)) bench_must(-1, c == SLUICE ? "verifying" : "a loop by hand");
    }
    free(expected);
}

/* What a race gave: GB/s, and how many times as fast sluice was: the medians of what each repetition gave, because a
 * repetition is short and what disturbs the machine disturbs all of it. */
typedef struct result {
    double sluice, hand, memcpy, to_hand, to_memcpy;
} result;

static result race(const job *j) {
    static double time[CONTENDERS][BENCH_MAX_REPS], ratio[CONTENDERS][BENCH_MAX_REPS];
    double gb[CONTENDERS];
    run(j, SLUICE);
    double start = bench_now();
    run(j, SLUICE);
    int calls = 1 + (int)(how.span / (bench_now() - start + 1));
    for (int r = 0; r < how.reps; r++) {
        for (int i = 0; i < CONTENDERS; i++) {
            int c = (i + r) % CONTENDERS;
            run(j, c); /* brings in what the one before has driven out */
            start = bench_now();
            for (int k = 0; k < calls; k++) run(j, c);
            time[c][r] = (bench_now() - start) / calls;
        }
        for (int c = 0; c < CONTENDERS; c++) ratio[c][r] = time[c][r] / time[SLUICE][r];
    }
    int best = HAND;
    for (int c = 0; c < CONTENDERS; c++) {
        gb[c] = (double)j->bytes / bench_median(time[c], how.reps);
        if (c > HAND && gb[c] > gb[best]) best = c;
    }
    return (result){gb[SLUICE], gb[best], gb[MEMCPY], bench_median(ratio[best], how.reps),
                    bench_median(ratio[MEMCPY], how.reps)};
}

/* Memory of which the caches hold the same parts in every run: on huge pages, if the system gives them. */
static byte *arena(void) {
    size_t huge = 2 << 20, bytes = (size_t)how.arena + 2 * huge;
    byte *p = aligned_alloc(huge, bytes);
    if (!p) bench_must(-1, "aligned_alloc");
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

/* For each byte of one side: bytes from the first to the last; bytes that come into the cache. */
static int64_t extent(const side *s) { return s->outer / (s->len * s->count); }
static int64_t touched(const side *s) { return sluice_ceil_div(sluice_min(s->step, sluice_max(s->len, 64)), s->len); }

static void compete(const char *title, const copy *list, size_t n, bench_worst *loops, bench_worst *memcpys) {
    static byte *dst, *src;
    if (!dst) {
        dst = arena();
        src = arena() + 2048; /* half a page: equal offsets in their pages would make loads wait for other stores */
    }
    printf("\n%-30s  %8s %8s %8s %9s %9s\n", title, "sluice", "loop", "memcpy", "/ loop", "/ memcpy");
    for (size_t i = 0; i < n; i++) {
        const copy *c = &list[i];
        const side *d = &c->dst, *s = &c->src;
        job j = {c, 0, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY, 0, 0, dst, src};
        int64_t lines = sluice_max(touched(d), touched(s)), spread = sluice_max(extent(d), extent(s));
        j.bytes = sluice_min(how.payload, sluice_min(how.cached / lines, how.arena / spread));
        j.bytes = sluice_max(j.bytes, 4 * c->unit);
        j.bytes -= j.bytes % c->unit;
        j.dst_size = make_side(&j.dst_set, d, j.bytes);
        j.src_size = make_side(&j.src_set, s, j.bytes);
        for (int64_t k = 0; k < j.src_size; k++) j.src[k] = noise(k);
        verify(&j);
        result got = race(&j);
        static const char *const kind[] = {"gather", "scatter", "move"};
        const side *shaped = c->kind == SCATTER ? d : s;
        char name[64], more[32] = "";
        if (shaped->count > 1) snprintf(more, sizeof more, ", groups of %lld", (long long)shaped->count);
        if (c->kind == MOVE)
            snprintf(more, sizeof more, " to %lld by %lld", (long long)d->len, (long long)(d->step / d->len));
        snprintf(name, sizeof name, "%s %lld by %lld%s", kind[c->kind], (long long)shaped->len,
                 (long long)(shaped->step / shaped->len), more);
        printf("%-30s  %8.2f %8.2f %8.2f %9.2f %9.2f%s\n", name, got.sluice, got.hand, got.memcpy, got.to_hand,
               got.to_memcpy, got.to_hand < loops->goal ? "  < goal" : "");
        bench_note(loops, got.to_hand, name);
        if (memcpys && (shaped->len >= 4096 || shaped->len == shaped->step)) bench_note(memcpys, got.to_memcpy, name);
        sluice_set_free(&j.dst_set);
        sluice_set_free(&j.src_set);
    }
}

static void copies(void) {
    printf("\nCopies: GB/s, up to %lld KiB at a time; compiler %s\n", (long long)how.payload >> 10, __VERSION__);
    bench_worst loops = {.goal = 0.9}, memcpys = {.goal = 0.95}, nests = {.goal = 0.9}, moves = {.goal = 0.9};
    compete("Flat: bytes by step / bytes", flat, sizeof flat / sizeof *flat, &loops, &memcpys);
    compete("Nested", nested, sizeof nested / sizeof *nested, &nests, NULL);
    compete("Shaped to shaped", pairs, sizeof pairs / sizeof *pairs, &moves, NULL);
    printf("\n");
    bench_verdict(&loops, "gather, scatter / best hand-written loop");
    bench_verdict(&memcpys, "runs of 4096 bytes and more / memcpy");
    bench_verdict(&nests, "nested / best hand-written loop");
    bench_verdict(&moves, "shaped to shaped / best hand-written loop");
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const char help[] =
    "usage: set [--quick] [--large] [positions] [intersect] [copy]\n"
    "Measures the algebra of sets; without a name, all three parts.\n"
    "  --quick  few repetitions: shows that it runs and verifies the data; the figures mean little\n"
    "  --large  copies of up to 64 MiB instead of 256 KiB, which come from memory instead of a cache\n"
    "Copy figures are GB/s (10^9 bytes moved per second), medians of interleaved repetitions. `A by B': blocks of A\n"
    "bytes, one every A * B bytes. The loop is the best of several written by hand for the one shape.\n";

int main(int argc, char **argv) {
    static const char *const part[] = {"positions", "intersect", "copy"};
    static void (*const run_part[])(void) = {positions, intersect, copies};
    bool wanted[3] = {false}, any = false;
    for (int i = 1; i < argc; i++) {
        int p = 0;
        while (p < 3 && strcmp(argv[i], part[p])) p++;
        if (p < 3) {
            wanted[p] = any = true;
        } else if (!strcmp(argv[i], "--quick")) {
            how.reps = 3;
            how.span = 20e3;
        } else if (!strcmp(argv[i], "--large")) {
            if (how.reps > 5) how.reps = 5;
            how.payload = 64 << 20;
            how.cached = 256 << 20;
            how.arena = 512 << 20;
        } else {
            bool asked = !strcmp(argv[i], "--help");
            fputs(help, asked ? stdout : stderr);
            return asked ? 0 : 2;
        }
    }
    for (int p = 0; p < 3; p++)
        if (wanted[p] || !any) run_part[p]();
    return 0;
}
