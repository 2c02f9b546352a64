/* ranks: 1 */
/* set_fault: every allocation of every call fails once.
 *
 * A scenario is a call. It runs with its first allocation failing, then with its second, and so on until it succeeds.
 * Each failure must be reported as -ENOMEM, leave the output as it was and leak nothing; the success must be right.
 * Calls that take sets run again with the output in the place of each input. Calls that promise not to allocate are
 * held to it. */
#include "base/base.h"
#include "sluice_set.h"
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static int failures, faults, scenarios;

static void expect(bool good, const char *name, const char *what, int64_t nth) {
    if (good || failures++ > 20) return;
    fprintf(stderr, "%s: %s (allocation %" PRId64 ")\n", name, what, nth);
}

/* Inputs that all calls use: nested and interleaved, so that a call allocates more than once. */
static sluice_set A, B;
static sluice_element element_a, element_b;
static char text[20000];
static unsigned char wire[20000];
static size_t wire_len;

typedef int call(sluice_set *out, const sluice_set *x, const sluice_set *y);

static int call_block(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)x, (void)y;
    return sluice_set_block(out, 5, 100);
}
static int call_falls(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)x, (void)y;
    return sluice_set_falls(out, 5, 10, 30, 1000);
}
static int call_repeat(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)y;
    return sluice_set_repeat(out, x, 3, 100000, 7);
}
static int call_repeat_interleaved(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)y;
    return sluice_set_repeat(out, x, 3, 17, 5);
}
static int call_build(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    static const sluice_falls inner[] = {{0, 1, 4, 5, NULL}, {2, 1, 4, 5, NULL}};
    static const sluice_falls_list list = {2, inner};
    static const sluice_falls falls[] = {{0, 20, 50, 9, &list}, {25, 7, 50, 9, NULL}, {700, 3, 0, 1, NULL}};
    (void)x, (void)y;
    return sluice_set_build(out, &(sluice_falls_list){3, falls}, NULL);
}
static int call_pitfalls(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    static const sluice_pitfalls p = {{0, 3, 12, 6, NULL}, 3, 4};
    (void)x, (void)y;
    return sluice_set_pitfalls(out, &p, 2, NULL);
}
static int call_runs(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    sluice_run run[200];
    (void)x, (void)y;
    for (int i = 0; i < 200; i++) run[i] = (sluice_run){10 * i + i % 3 + i % 7, 1 + i % 2};
    return sluice_set_runs(out, run, 200, NULL);
}
static const sluice_shape shape = {.ndims = 3, .elem = 4, .header = 16, .dim = {9, 10, 11}};
static int call_section(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    static const sluice_range range[] = {{1, 3, 2}, {0, 4, 3}, {2, 4, 2}};
    (void)x, (void)y;
    return sluice_set_section(out, &shape, range, NULL);
}
static int call_memory(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    static const int64_t index[] = {1, 2, 3}, count[] = {4, 5, 6};
    (void)x, (void)y;
    return sluice_set_memory(out, &shape, index, count, NULL);
}
static int call_tile(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    static const int64_t tile[] = {4, 4, 4}, index[] = {1, 2, 1};
    (void)x, (void)y;
    return sluice_set_tile(out, &shape, tile, index, NULL);
}
static int call_hpf(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    static const sluice_dist dist[] = {
        {SLUICE_DIST_CYCLIC, 2, NULL}, {SLUICE_DIST_BLOCK, 0, NULL}, {SLUICE_DIST_CYCLIC, 3, NULL}};
    static const int grid[] = {2, 3, 2};
    (void)x, (void)y;
    return sluice_set_hpf(out, &shape, dist, grid, 3, NULL);
}
static int call_copy(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)y;
    return sluice_set_copy(out, x);
}
static int call_shift(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)y;
    return sluice_set_shift(out, x, 12345);
}
static int call_cut(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)y;
    return sluice_set_cut(out, x, 131, 1333);
}
static int call_element_cut(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)y;
    return sluice_element_cut(out, &(sluice_element){x, sluice_set_hi(x) + 5, 7}, 100, 20000);
}
static int call_compose(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    sluice_element outer = {x, sluice_set_hi(x), 3}, inner = {y, 2 * sluice_set_hi(y), 1}, e;
    return sluice_element_compose(out, &e, &outer, &inner);
}
static int call_parse(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)x, (void)y;
    return sluice_set_parse(out, text, NULL);
}
static int call_unpack(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)x, (void)y;
    return sluice_set_unpack(out, wire, wire_len, NULL, NULL);
}
static int domain(sluice_set *out, sluice_domain_kind kind, const sluice_set *wanted) {
    sluice_domains d = {
        .size = sizeof d, .kind = kind, .nprocs = 3, .lo = 5, .hi = 5000, .unit = 10, .block = 4, .wanted = wanted};
    return sluice_domain(out, &d, 1, NULL);
}
static int call_domain_block(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)y;
    return domain(out, SLUICE_DOMAIN_BLOCK, x);
}
static int call_domain_cyclic(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)y;
    return domain(out, SLUICE_DOMAIN_CYCLIC, x);
}
static int call_domain_weighted(sluice_set *out, const sluice_set *x, const sluice_set *y) {
    (void)y;
    return domain(out, SLUICE_DOMAIN_WEIGHTED, x);
}

static const struct {
    const char *name;
    call *run;
    int inputs;
} scenario[] = {
    {"block", call_block, 0},
    {"falls", call_falls, 0},
    {"repeat", call_repeat, 1},
    {"repeat, interleaved", call_repeat_interleaved, 1},
    {"build", call_build, 0},
    {"pitfalls", call_pitfalls, 0},
    {"runs", call_runs, 0},
    {"section", call_section, 0},
    {"memory", call_memory, 0},
    {"tile", call_tile, 0},
    {"hpf", call_hpf, 0},
    {"copy", call_copy, 1},
    {"shift", call_shift, 1},
    {"cut", call_cut, 1},
    {"intersect", sluice_set_intersect, 2},
    {"union", sluice_set_union, 2},
    {"subtract", sluice_set_subtract, 2},
    {"project", sluice_set_project, 2},
    {"embed", sluice_set_embed, 2},
    {"element cut", call_element_cut, 1},
    {"compose", call_compose, 2},
    {"parse", call_parse, 0},
    {"unpack", call_unpack, 0},
    {"domain, block", call_domain_block, 0},
    {"domain, cyclic", call_domain_cyclic, 0},
    {"domain, weighted", call_domain_weighted, 1},
};

/* Equal in every byte that a caller could see change. */
static bool untouched(const sluice_set *s, const sluice_set *was) {
    return s->size == was->size && s->nroot == was->nroot && s->nnode == was->nnode && sluice_set_equal(s, was) == 1;
}

/* Runs a call with every allocation failing in turn. The output starts as `before`, and may be an input. */
static void walk(const char *name, call *run, const sluice_set *before, bool out_is_x, bool out_is_y) {
    sluice_set reference = SLUICE_SET_EMPTY;
    char title[80];
    snprintf(title, sizeof title, "%s%s%s", name, out_is_x ? ", out = first" : "", out_is_y ? ", out = second" : "");
    const sluice_set *x = out_is_x ? before : &A, *y = out_is_y ? before : &B;
    expect(run(&reference, x, y) == 0 && reference.size > 0, title, "does not work at all", 0);
    int err = -ENOMEM, before_it = faults;
    for (int64_t nth = 1; err && nth < 100000; nth++) {
        sluice_set out = SLUICE_SET_EMPTY;
        int64_t outside = sluice_mem_live();
        expect(sluice_set_copy(&out, before) == 0, title, "copy", nth);
        int64_t live = sluice_mem_live(), calls = sluice_mem_calls();
        sluice_mem_fail_nth(nth);
        err = run(&out, out_is_x ? &out : x, out_is_y ? &out : y);
        sluice_mem_fail_nth(0);
        if (err) {
            faults++;
            expect(err == -ENOMEM, title, "does not say -ENOMEM", nth);
            expect(untouched(&out, before), title, "failed and changed its output", nth);
            expect(sluice_mem_live() == live, title, "leaks", nth);
        } else {
            expect(sluice_mem_calls() - calls < nth, title, "swallowed a failed allocation", nth);
            expect(sluice_set_equal(&out, &reference) == 1, title, "wrong result", nth);
            expect(sluice_set_check(&out, NULL) == 0, title, "result not in normal form", nth);
        }
        sluice_set_free(&out);
        expect(sluice_mem_live() == outside, title, "leaks after the end", nth);
    }
    expect(err == 0, title, "never succeeds", 0);
    expect(faults > before_it || out_is_x, title, "allocates nothing", 0); /* a copy onto itself does not */
    sluice_set_free(&reference);
    scenarios++;
}

/* ---- calls whose result is not a set ---- */

static sluice_set like_a; /* as long as A and with the same ends: only the bytes between tell them apart */
static int call_equal(void) {
    int equal = sluice_set_equal(&A, &like_a);
    return equal < 0 ? equal : equal == 0 ? 0 : 1;
}
static sluice_common common;
static int call_common(void) { return sluice_element_intersect(&common, &element_a, &element_b); }
static sluice_matrix matrix;
static sluice_set half[2];
static sluice_partition rows = {2, half, 0, 3}, columns = {2, half, 0, 5};
static int call_matrix(void) { return sluice_redistribute(&matrix, &rows, &columns); }
static int call_within(void) { return sluice_redistribute_within(&matrix, &rows, &columns, 100000); }
static int call_partition(void) { return sluice_partition_check(&rows, NULL); }

/* Refusals allocate too, to find the culprit; memory that runs out must not turn into another complaint. */
static int refusal(int err, int expected) { return err == -ENOMEM ? err : err == expected ? 0 : 1; }
static int call_gap(void) {
    sluice_partition p = {1, half, 2000, 0};
    return refusal(sluice_partition_check(&p, NULL), SLUICE_E_GAP);
}
static int call_shared(void) {
    sluice_set both[2] = {half[0], half[0]};
    sluice_partition p = {2, both, 0, 0};
    return refusal(sluice_partition_check(&p, NULL), SLUICE_E_SHARED);
}
static int call_overlap(void) {
    static const sluice_falls falls[] = {{0, 5, 10, 100, NULL}, {1, 6, 17, 50, NULL}};
    sluice_set out = SLUICE_SET_EMPTY;
    int err = refusal(sluice_set_build(&out, &(sluice_falls_list){2, falls}, NULL), SLUICE_E_OVERLAP);
    sluice_set_free(&out);
    return err;
}

static const struct {
    const char *name;
    int (*run)(void);
} other[] = {
    {"equal", call_equal},
    {"intersect of elements", call_common},
    {"redistribute", call_matrix},
    {"redistribute within", call_within},
    {"partition check", call_partition},
    {"partition check, gap", call_gap},
    {"partition check, shared", call_shared},
    {"build, overlap", call_overlap},
};

static void walk_other(const char *name, int (*run)(void)) {
    int err = run(); /* once, so that there is a result to keep */
    expect(err == 0, name, "does not work at all", 0);
    int64_t segments = common.segments, bytes = matrix.bytes ? matrix.bytes[0] : 0, live = sluice_mem_live();
    int before_it = faults;
    err = -ENOMEM;
    for (int64_t nth = 1; err && nth < 100000; nth++) {
        int64_t calls = sluice_mem_calls();
        sluice_mem_fail_nth(nth);
        err = run();
        sluice_mem_fail_nth(0);
        faults += err != 0;
        expect(err == 0 || err == -ENOMEM, name, "does not say -ENOMEM", nth);
        expect(err != 0 || sluice_mem_calls() - calls < nth, name, "swallowed a failed allocation", nth);
        expect(sluice_mem_live() == live, name, "leaks", nth);
        expect(common.segments == segments && (matrix.bytes ? matrix.bytes[0] : 0) == bytes, name,
               "failed and changed its output", nth);
    }
    expect(err == 0 && faults > before_it, name, "never succeeds, or allocates nothing", 0);
    scenarios++;
}

/* What must work when there is no memory at all. */
static void without_memory(void) {
    static unsigned char from[40000], to[40000];
    int64_t calls = sluice_mem_calls(), sum = 0, step, n, local, off;
    int proc, part;
    sluice_cursor cursor;
    sluice_pair pair;
    sluice_run run;
    sluice_piece piece;
    for (int64_t x = 0; x < sluice_set_hi(&A); x += 7)
        sum += sluice_set_rank(&A, x) + sluice_set_select(&A, x) + sluice_set_next(&A, x) + sluice_set_prev(&A, x) +
               sluice_set_contains(&A, x) + sluice_element_map(&element_a, x) + sluice_element_unmap(&element_a, x) +
               sluice_element_next(&element_a, x) + sluice_element_prev(&element_a, x) +
               sluice_element_rank(&element_a, x);
    sum += sluice_set_nruns(&A) + sluice_set_depth(&A) + sluice_set_check(&A, NULL);
    for (sluice_cursor_init(&cursor, &A); sluice_cursor_run(&cursor, &run);) sum += run.len;
    for (sluice_cursor_init(&cursor, &A); sluice_cursor_family(&cursor, &run, &step, &n);) sum += run.len * n;
    sluice_cursor_seek(&cursor, 20);
    sluice_cursor_seek_offset(&cursor, 20);
    for (sluice_pair_init(&pair, &A, &B); sluice_pair_next(&pair, &piece);) sum += piece.len;
    sluice_pair_seek(&pair, 20);
    sum += sluice_gather(to, from, &A, 0, sluice_set_hi(&A)) + sluice_scatter(to, from, &A, 0, sluice_set_hi(&A));
    sluice_side dst = {to, &A, 0, 0}, src = {from, &B, 0, 0};
    sum += sluice_move(&dst, &src, A.size) + sluice_set_print(&A, text, sizeof text) +
           sluice_set_pack(&A, wire, sizeof wire);
    sluice_dist dist = {SLUICE_DIST_CYCLIC, 3, NULL};
    sum += sluice_dist_count(&dist, 100, 4, 2) + sluice_dist_owner(&dist, 100, 4, 50, &proc, &local);
    sum += sluice_partition_owner(&rows, 100, &part, &off);
    sluice_domains d = {.size = sizeof d};
    const sluice_set *request[] = {&A, &B};
    sum += sluice_domains_bound(&d, request, 2, 0, 10);
    expect(sum != 0, "asking", "nothing was asked", 0);
    expect(sluice_mem_calls() == calls, "asking", "allocated", 0);
}

int main(void) {
    static const char *const a =
        "{(0,199,300,5,{(0,0,7,20),(3,4,7,20),(150,160,20,2)}),(210,229,300,5),(2000,2003,10,50)}";
    static const char *const like =
        "{(0,199,300,5,{(0,0,7,20),(3,4,7,20),(150,160,20,2)}),(211,230,300,5),(2000,2003,10,50)}";
    static const char *const b = "{(5,99,130,9,{(0,1,5,12),(70,80,0,1)}),(1300,1313,31,40),(2800,2999,0,1)}";
    if (sluice_set_parse(&A, a, NULL) || sluice_set_parse(&B, b, NULL)) return 1;
    if (sluice_set_parse(&like_a, like, NULL) || like_a.size != A.size) return 1;
    if (sluice_set_falls(&half[0], 0, 8, 16, 100) || sluice_set_falls(&half[1], 8, 8, 16, 100)) return 1;
    if (sluice_partition_check(&rows, NULL) || sluice_partition_check(&columns, NULL)) return 1;
    element_a = (sluice_element){&A, 3000, 3};
    element_b = (sluice_element){&B, 3000, 40};
    wire_len = (size_t)sluice_set_pack(&A, wire, sizeof wire);
    if (sluice_set_print(&B, text, sizeof text) >= (int64_t)sizeof text || wire_len > sizeof wire) return 1;

    for (size_t i = 0; i < sizeof scenario / sizeof *scenario; i++) {
        sluice_set empty = SLUICE_SET_EMPTY;
        walk(scenario[i].name, scenario[i].run, &empty, false, false);
        walk(scenario[i].name, scenario[i].run, &B, false, false);
        if (scenario[i].inputs > 0) walk(scenario[i].name, scenario[i].run, &A, true, false);
        if (scenario[i].inputs > 1) walk(scenario[i].name, scenario[i].run, &B, false, true);
        if (scenario[i].inputs > 1 && scenario[i].run != sluice_set_subtract)
            walk(scenario[i].name, scenario[i].run, &A, true, true);
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) walk_other(other[i].name, other[i].run);
    without_memory();
    sluice_common_free(&common);
    sluice_matrix_free(&matrix);
    sluice_set_free(&half[0]);
    sluice_set_free(&half[1]);
    sluice_set_free(&like_a);
    sluice_set_free(&A);
    sluice_set_free(&B);
    expect(sluice_mem_live() == 0, "the whole test", "leaks", 0);
    printf("%d scenarios, %d failed allocations, %d failures\n", scenarios, faults, failures);
    return failures ? 1 : 0;
}
