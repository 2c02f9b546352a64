/* ranks: 1 */
/* plan_random.c: random accesses of some processes, runs and strided sets, to a small file: the plan against an oracle
 * that knows every byte; the same with each limit of work lowered, with each allocation failing; and that many accesses
 * take not much longer than a few.
 *
 *     plan_random [SEED]
 */
#include "plan/plan.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 160, PROCS = 5, ACCESSES = 12 };

static uint64_t seed = 1996;
static int64_t chance(int64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

typedef struct access {
    int proc;
    bool write;
    int64_t time, off, len, step, n;
} access;

typedef struct program {
    int n, procs;
    access access[ACCESSES];
    double dominance;
} program;

static bool touches(const access *a, int64_t x) {
    return x >= a->off && (x - a->off) / a->step < a->n && (x - a->off) % a->step < a->len;
}

static program draw(void) {
    program p = {.n = 1 + (int)chance(ACCESSES), .procs = 1 + (int)chance(PROCS)};
    p.dominance = chance(4) ? 0 : 0.3 + (double)chance(7) / 10;
    for (int i = 0; i < p.n; i++) {
        access *a = &p.access[i];
        a->proc = (int)chance(p.procs);
        a->write = chance(3) == 0;
        a->time = chance(2) ? i : chance(4);
        a->len = 1 + chance(12);
        a->step = a->len + chance(12);
        a->n = chance(2) ? 1 : 1 + chance(8);
        a->off = chance(SIZE - (a->n - 1) * a->step - a->len > 0 ? SIZE - (a->n - 1) * a->step - a->len : 1);
        while ((a->n - 1) * a->step + a->len + a->off > SIZE) a->n--;
    }
    return p;
}

/* ---- What each byte ought to be ---- */

typedef struct fate {
    bool used;
    sluice_sharing place;
    int n, holder[PROCS + 1];
    int64_t first;
} fate;

static fate judge(const program *p, int64_t x) {
    int64_t reads[PROCS] = {0}, writes[PROCS] = {0}, last[PROCS], first_write = INT64_MAX, total = 0;
    fate f = {.first = INT64_MAX};
    int users = 0, writers = 0, later = 0, most = -1;
    for (int i = 0; i < PROCS; i++) last[i] = INT64_MIN;
    for (int i = 0; i < p->n; i++) {
        const access *a = &p->access[i];
        if (!touches(a, x)) continue;
        f.used = true;
        f.first = sluice_min(f.first, a->time);
        (a->write ? writes : reads)[a->proc]++;
        if (a->write) first_write = sluice_min(first_write, a->time);
        if (!a->write) last[a->proc] = sluice_max(last[a->proc], a->time);
        total++;
    }
    for (int i = 0; i < p->procs; i++) {
        users += reads[i] + writes[i] > 0;
        writers += writes[i] > 0;
        later += last[i] > first_write;
        if (most < 0 || reads[i] + writes[i] > reads[most] + writes[most]) most = i;
    }
    if (!f.used) return f;
    if (users == 1 || (p->dominance > 0 && (double)(reads[most] + writes[most]) / (double)total >= p->dominance)) {
        f.place = SLUICE_PLACE_PRIVATE;
        f.holder[f.n++] = most;
    } else if (writers == 0 || (writers == 1 && later > 1)) {
        f.place = writers ? SLUICE_PLACE_BROADCAST : SLUICE_PLACE_REPLICATED;
        for (int i = 0; i < p->procs; i++)
            if (writers ? last[i] > first_write : reads[i] > 0) f.holder[f.n++] = i;
    } else {
        f.place = SLUICE_PLACE_SHARED;
        f.holder[f.n++] = p->procs;
    }
    return f;
}

static bool holds(const fate *f, int subfile) {
    for (int k = 0; k < f->n; k++)
        if (f->used && f->holder[k] == subfile) return true;
    return false;
}

/* ---- Comparing ---- */

static int make_profile(sluice_profile *out, const program *p) {
    int error = 0;
    *out = (sluice_profile){.nprocs = p->procs};
    for (int i = 0; i < p->n && !error; i++) {
        const access *a = &p->access[i];
        const sluice_use like = {.proc = a->proc, .write = a->write, .n = 1, .first = a->time, .last = a->time};
        sluice_set s = SLUICE_SET_EMPTY;
        error = sluice_set_falls(&s, 0, a->len, a->step, a->n);
        if (!error) error = sluice_profile_add(out, &like, &s, a->off);
        sluice_set_free(&s);
    }
    return error;
}

static int make_plan(sluice_placement **out, const program *p, sluice_reason *why) {
    sluice_profile profile;
    int error = make_profile(&profile, p);
    if (!error) error = sluice_greedy_place(out, &profile, "f", SIZE, p->dominance, why);
    sluice_profile_free(&profile);
    return error;
}

static bool compare(const program *p, const sluice_placement *plan) {
    fate fate_of[SIZE];
    int64_t mapped = 0, used = 0;
    for (int64_t x = 0; x < SIZE; x++) used += (fate_of[x] = judge(p, x)).used;
    for (int g = 0; g < plan->ngroups; g++) {
        const sluice_placement_group *group = &plan->group[g];
        for (int64_t k = 0; k < group->bytes.size; k++, mapped++) {
            const int64_t x = sluice_set_select(&group->bytes, k);
            const fate *f = &fate_of[x];
            if (!f->used || f->place != group->place || f->n != group->n) return false;
            for (int h = 0; h < f->n; h++) {
                int64_t before = 0;
                if (f->holder[h] != group->subfile[h]) return false;
                for (int64_t y = 0; y < SIZE; y++)
                    before += holds(&fate_of[y], f->holder[h]) &&
                              (fate_of[y].first < f->first || (fate_of[y].first == f->first && y < x));
                if (sluice_set_select(&group->at[h], k) != before) return false;
            }
        }
    }
    return mapped == used && !sluice_placement_check(plan, NULL);
}

static bool good(const program *p) {
    sluice_placement *plan = NULL;
    sluice_reason why = {0};
    const int error = make_plan(&plan, p, &why);
    const bool same = !error && compare(p, plan);
    if (error) fprintf(stderr, "%d: %s\n", error, why.text);
    sluice_placement_free(plan);
    return same;
}

/* Leaves out accesses as long as it still fails. */
static void shrink(program p) {
    for (int i = 0; i < p.n;) {
        program q = p;
        memmove(&q.access[i], &q.access[i + 1], (size_t)(q.n - i - 1) * sizeof *q.access);
        q.n--;
        if (!good(&q))
            p = q, i = 0;
        else
            i++;
    }
    fprintf(stderr, "%d processes, dominance %g\n", p.procs, p.dominance);
    for (int i = 0; i < p.n; i++) {
        const access *a = &p.access[i];
        fprintf(stderr, "  %d %s %" PRId64 "+%" PRId64 " every %" PRId64 ", %" PRId64 " times, at %" PRId64 "\n",
                a->proc, a->write ? "writes" : "reads", a->off, a->len, a->step, a->n, a->time);
    }
}

static void try_one(void) {
    const uint64_t before = seed;
    const program p = draw();
    const bool same = good(&p);
    CHECK(same, "seed %" PRIu64, before);
    if (!same) shrink(p);
}

/* The oracle sees a plan that is wrong by one byte. */
static void damage(void) {
    const program p = {
        .n = 2, .procs = 2, .access = {{0, true, 0, 0, 8, 8, 1}, {1, false, 1, 8, 8, 8, 1}}, .dominance = 0};
    sluice_placement *plan = NULL;
    CHECK(!make_plan(&plan, &p, NULL) && compare(&p, plan));
    CHECK(!sluice_set_block(&plan->group[0].at[0], 1, 8) && !compare(&p, plan));
    sluice_placement_free(plan);
}

static void no_memory(void) {
    seed = 77;
    for (int i = 0; i < 20; i++) {
        const program p = draw();
        int error = -ENOMEM;
        for (int64_t n = 1; error && n < 5000; n++) {
            sluice_placement *plan = NULL;
            sluice_mem_fail_nth(n);
            error = make_plan(&plan, &p, NULL);
            sluice_mem_fail_nth(0);
            CHECK(error == 0 || (error == -ENOMEM && !plan), "request %" PRId64 ": %d", n, error);
            sluice_placement_free(plan);
            CHECK(sluice_mem_live() == 0, "request %" PRId64 " leaks", n);
        }
        CHECK(error == 0, "never succeeded");
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* n accesses of 96 bytes that overlap their neighbours, by 4 processes. */
static double many(int64_t n) {
    sluice_profile p = {.nprocs = 4};
    sluice_placement *plan = NULL;
    sluice_reason why = {0};
    sluice_set s = SLUICE_SET_EMPTY;
    CHECK(!sluice_set_block(&s, 0, 96));
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = i * 7919 % n;
        const sluice_use like = {.proc = (int32_t)(k % 4), .write = k % 3 == 0, .n = 1, .first = k, .last = k};
        CHECK(!sluice_profile_add(&p, &like, &s, k * 64));
    }
    const double start = now();
    const int error = sluice_greedy_place(&plan, &p, "f", n * 64 + 96, 0, &why);
    const double took = now() - start;
    CHECK(!error && plan->ngroups < 100, "%d %s, %d groups", error, why.text, plan ? plan->ngroups : 0);
    sluice_placement_free(plan);
    sluice_profile_free(&p);
    sluice_set_free(&s);
    return took;
}

int main(int argc, char **argv) {
    const char *cases = getenv("SLUICE_TEST_CASES");
    if (argc > 1) seed = strtoull(argv[1], NULL, 10);
    printf("seed %" PRIu64 "\n", seed);
    for (int64_t i = cases ? atoll(cases) : 3000; i > 0; i--) try_one();
    sluice_work_limit_set(1); /* nothing is refined: what is not one run is swept */
    const program runs = {.n = 1, .procs = 1, .access = {{0, true, 0, 0, 8, 8, 1}}};
    sluice_placement *plan = NULL;
    sluice_reason why = {0};
    CHECK(good(&runs));
    const program sets = {.n = 2, .procs = 2, .access = {{0, true, 0, 0, 2, 4, 9}, {1, false, 1, 0, 3, 5, 9}}};
    CHECK(make_plan(&plan, &sets, &why) == SLUICE_E_COMPLEX && strstr(why.text, "too many chunks"), "%s", why.text);
    sluice_work_limit_set(INT64_MAX);
    damage();
    no_memory();
    const double few = many(3000), lots = many(100000);
    printf("%.4f s for 3000 accesses, %.3f s for 100000\n", few, lots);
    return verdict();
}
