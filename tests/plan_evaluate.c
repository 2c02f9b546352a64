/* ranks: 1 */
/* plan_evaluate.c: what layouts and placements mean for random accesses: bytes, locality, space and seeks against a
 * count byte by byte; and that the predicted time says what it must: more cores take no longer, a slow target takes as
 * long as its bytes. */
#include "plan/evaluate.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>

enum { SIZE = 240, PROCS = 4, ACCESSES = 8 };

static sluice_machine machine;

static int draw(sluice_profile *p) {
    int error = 0;
    *p = (sluice_profile){.nprocs = 1 + (int)below(PROCS)};
    for (int64_t i = 1 + below(ACCESSES); i > 0 && !error; i--) {
        const int64_t len = 1 + below(9), step = len + below(9), n = 1 + below(10);
        const sluice_use like = {
            .proc = (int32_t)below(p->nprocs), .write = below(2), .n = 1 + below(3), .first = i, .last = i};
        sluice_set s = SLUICE_SET_EMPTY;
        error = sluice_set_falls(&s, 0, len, step, n);
        if (!error) error = sluice_profile_add(p, &like, &s, below(SIZE - (n - 1) * step - len + 1));
        sluice_set_free(&s);
    }
    return error;
}

/* What is counted byte by byte. */
typedef struct tally {
    double bytes, local, seeks;
} tally;

/* Bytes of one use in one subfile: mark[y] is whether byte y of it is moved. */
static void count(tally *t, const sluice_use *u, const bool *mark, int64_t n, bool own) {
    int64_t runs = 0, bytes = 0;
    for (int64_t y = 0; y < n; y++) {
        bytes += mark[y];
        runs += mark[y] && (y == 0 || !mark[y - 1]);
    }
    if (!bytes) return;
    t->bytes += (double)(u->n * bytes);
    t->local += own ? (double)(u->n * bytes) : 0;
    t->seeks += (double)(u->n * (runs - 1));
}

static bool has(const sluice_use *u, int64_t x) {
    if (u->set.size) return sluice_set_contains(&u->set, x);
    return x >= u->run.off && x < u->run.off + u->run.len;
}

static tally count_layout(const sluice_profile *p, const sluice_layout *l) {
    tally t = {0};
    for (int64_t k = 0; k < p->n; k++)
        for (int i = 0; i < l->n; i++) {
            bool mark[SIZE] = {false};
            for (int64_t y = 0; y < l->set[i].size; y++) mark[y] = has(&p->use[k], sluice_set_select(&l->set[i], y));
            count(&t, &p->use[k], mark, l->set[i].size, l->n == p->nprocs && i == p->use[k].proc);
        }
    return t;
}

static tally count_placed(const sluice_profile *p, const sluice_placement *plan) {
    tally t = {0};
    sluice_set rest = SLUICE_SET_EMPTY;
    CHECK(!sluice_placement_rest(&rest, plan));
    for (int64_t k = 0; k < p->n; k++) {
        const sluice_use *u = &p->use[k];
        bool mark[PROCS + 1][2 * SIZE] = {{false}};
        for (int g = 0; g < plan->ngroups; g++) {
            const sluice_placement_group *x = &plan->group[g];
            int own = 0;
            for (int h = 0; h < x->n; h++) own = x->subfile[h] == u->proc ? h : own;
            for (int64_t b = 0; b < x->bytes.size; b++)
                for (int h = 0; h < x->n; h++)
                    if (has(u, sluice_set_select(&x->bytes, b)) && (u->write || h == own))
                        mark[x->subfile[h]][sluice_set_select(&x->at[h], b)] = true;
        }
        for (int64_t b = 0; b < rest.size; b++)
            if (has(u, sluice_set_select(&rest, b)))
                mark[plan->nprocs][sluice_placement_bytes(plan, plan->nprocs) + b] = true;
        for (int i = 0; i <= plan->nprocs; i++) count(&t, u, mark[i], 2 * SIZE, i == u->proc);
    }
    sluice_set_free(&rest);
    return t;
}

static void compare(const char *what, const sluice_outlook *o, tally t, int64_t space) {
    const double local = t.bytes > 0 ? t.local / t.bytes : 0;
    CHECK(o->bytes == t.bytes && o->seeks == t.seeks, "%s: %g bytes, %g seeks; counted %g, %g", what, o->bytes,
          o->seeks, t.bytes, t.seeks);
    CHECK(o->local > local - 1e-9 && o->local < local + 1e-9, "%s: %g, counted %g", what, o->local, local);
    CHECK(o->space == space && o->seconds > 0 && o->bound, "%s: %" PRId64 " bytes, %g s", what, o->space, o->seconds);
}

static void try_one(void) {
    static const char *const layouts[] = {"single", "rows:%d", "columns:%d", "striped:7:%d", "block:%d", "cyclic:3:%d"};
    const sluice_shape shape = {.ndims = 2, .elem = 2, .dim = {10, 12}};
    sluice_profile p, other;
    sluice_placement *plan = NULL;
    sluice_outlook o;
    char text[64];
    CHECK(!draw(&p) && !draw(&other));
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
        sluice_layout *l = NULL;
        snprintf(text, sizeof text, layouts[k], p.nprocs);
        CHECK(!sluice_layout_parse(&l, &shape, text, NULL) && !sluice_evaluate_layout(&o, &p, l, &machine), "%s", text);
        compare(text, &o, count_layout(&p, l), SIZE);
        CHECK(!strcmp(o.name, text));
        sluice_layout_free(l);
    }
    /* On the accesses that it was made for, and on others, of which it has no part. */
    CHECK(!sluice_greedy_place(&plan, &p, "f", SIZE, 0, NULL));
    int64_t space = 0;
    for (int i = 0; i <= plan->nprocs; i++) space += sluice_placement_bytes(plan, i);
    sluice_set rest = SLUICE_SET_EMPTY;
    CHECK(!sluice_placement_rest(&rest, plan));
    CHECK(!sluice_evaluate_placement(&o, &p, plan, &machine));
    compare("partitioned", &o, count_placed(&p, plan), space + rest.size);
    other.nprocs = p.nprocs;
    for (int64_t i = 0; i < other.n; i++) other.use[i].proc %= p.nprocs;
    CHECK(!sluice_evaluate_placement(&o, &other, plan, &machine));
    compare("partitioned, other accesses", &o, count_placed(&other, plan), space + rest.size);
    sluice_set_free(&rest);
    sluice_placement_free(plan);
    sluice_profile_free(&p);
    sluice_profile_free(&other);
}

static void times(void) {
    sluice_profile p = {.nprocs = 2};
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_placement *plan = NULL;
    sluice_outlook one, two, slow;
    CHECK(!sluice_set_block(&s, 0, 1 << 20));
    for (int i = 0; i < 2; i++)
        CHECK(!sluice_profile_add(&p, &(sluice_use){.proc = i, .n = 1, .first = i, .last = i}, &s, (int64_t)i << 20));
    CHECK(!sluice_greedy_place(&plan, &p, "f", 2 << 20, 0, NULL));
    sluice_machine m = machine;
    m.cores = 1;
    CHECK(!sluice_evaluate_placement(&one, &p, plan, &m) && !strcmp(one.bound, "the cores"));
    m.cores = 2;
    CHECK(!sluice_evaluate_placement(&two, &p, plan, &m) && two.seconds < 0.51 * one.seconds);
    m.bandwidth = 1 << 20;
    m.latency = 0.5;
    CHECK(!sluice_evaluate_placement(&slow, &p, plan, &m) && slow.seconds > 1.49 && slow.seconds < 1.51, "%g",
          slow.seconds);
    sluice_placement_free(plan);
    sluice_profile_free(&p);
    sluice_set_free(&s);
}

static void no_memory(void) {
    sluice_profile p;
    sluice_placement *plan = NULL;
    CHECK(!draw(&p) && !sluice_greedy_place(&plan, &p, "f", SIZE, 0, NULL));
    const int64_t live = sluice_mem_live();
    int error = -ENOMEM;
    for (int64_t n = 1; error && n < 5000; n++) {
        sluice_outlook o;
        sluice_layout *l = NULL;
        const sluice_shape shape = {.ndims = 1, .elem = 1, .dim = {SIZE}};
        sluice_mem_fail_nth(n);
        error = sluice_layout_parse(&l, &shape, "striped:8:3", NULL);
        if (!error) error = sluice_evaluate_layout(&o, &p, l, &machine);
        if (!error) error = sluice_evaluate_placement(&o, &p, plan, &machine);
        sluice_mem_fail_nth(0);
        CHECK(error == 0 || error == -ENOMEM, "request %" PRId64 ": %d", n, error);
        sluice_layout_free(l);
        CHECK(sluice_mem_live() == live, "request %" PRId64 " leaks", n);
    }
    CHECK(error == 0);
    sluice_placement_free(plan);
    sluice_profile_free(&p);
}

int main(void) {
    CHECK(!sluice_rates_measure(&machine.rates));
    machine.cores = 2;
    for (int i = 0; i < 300; i++) try_one();
    times();
    no_memory();
    return verdict();
}
