/* ranks: 1 */
/* trace_random.c: random programs of nested loops, disturbed here and there, recorded and unfolded: the same accesses
 * in the same order at the same times, in fewer nodes if they were not disturbed. */
#include "support/random.h"
#include "support/unit.h"
#include "trace/trace.h"
#include <stdlib.h>

enum { EVENTS = 400, STATEMENTS = 40, PROCS = 3, FILES = 3 };

/* A statement is an access, or a loop with the statements inside it, which follow. */
typedef struct statement {
    int inside; /* statements of the loop; 0: an access */
    int64_t times;
    sluice_trace_node access;
    int64_t stride, blocks;
    int64_t shift[8]; /* for each loop around it, outermost first */
} statement;

/* What was done, which is all that the oracle needs. */
typedef struct done {
    sluice_trace_node access;
    int64_t stride, blocks, begin, end;
} done;

typedef struct program {
    chance *chance;
    statement s[STATEMENTS];
    int n;
    bool disturbed;
    done made[PROCS][EVENTS];
    int count[PROCS];
    int64_t now;
} program;

static void write_program(program *p, int depth, int most) {
    chance *c = p->chance;
    for (int64_t members = chance_low(c, 1, most); members > 0 && p->n < STATEMENTS; members--) {
        statement *s = &p->s[p->n++];
        const int at = p->n;
        *s = (statement){.times = 1};
        if (depth < 7 && chance_once_in(c, 3)) {
            s->times = chance_low(c, 1, 9);
            write_program(p, depth + 1, 3);
            s->inside = p->n - at;
            continue;
        }
        s->access = (sluice_trace_node){.file = (int32_t)chance_draw(c, 0, FILES - 1),
                                        .write = chance_once_in(c, 2),
                                        .collective = chance_once_in(c, 3),
                                        .off = chance_low(c, 0, 100000) + 100000,
                                        .size = chance_low(c, 0, 20)};
        s->blocks = chance_low(c, 1, 4);
        s->stride = s->access.size + chance_low(c, 0, 3);
        for (int d = 0; d < depth; d++) s->shift[d] = chance_draw(c, -100, 1000);
    }
}

static void run_program(program *p, int proc, int from, int to, int depth, const int64_t *around) {
    chance *c = p->chance;
    for (int i = from; i < to; i += 1 + p->s[i].inside) {
        const statement *s = &p->s[i];
        int64_t iteration[8] = {0};
        for (int d = 0; d < depth; d++) iteration[d] = around[d];
        if (s->inside) {
            const int64_t times = s->times + (p->disturbed && chance_once_in(c, 20));
            for (int64_t k = 0; k < times; k++) {
                iteration[depth] = k;
                run_program(p, proc, i + 1, i + 1 + s->inside, depth + 1, iteration);
            }
            continue;
        }
        if (p->count[proc] == EVENTS || (p->disturbed && chance_once_in(c, 50))) continue;
        done *e = &p->made[proc][p->count[proc]++];
        *e = (done){.access = s->access, .stride = s->stride, .blocks = s->blocks, .begin = p->now};
        for (int d = 0; d < depth; d++) e->access.off += iteration[d] * s->shift[d];
        e->end = e->begin + chance_low(c, 0, 500);
        p->now += chance_low(c, 0, 1000);
    }
}

static int make_set(sluice_set *out, const done *e) {
    if (!e->access.size) return sluice_set_block(out, 0, 0);
    return sluice_set_falls(out, 0, e->access.size, e->stride, e->blocks);
}

static int record(sluice_trace *t, const program *p) {
    static const char *const name[FILES] = {"a", "b", "c"};
    sluice_set s = SLUICE_SET_EMPTY;
    int at[PROCS] = {0};
    int error = sluice_trace_make(t, PROCS);
    for (int i = 0; i < FILES && error >= 0; i++) error = sluice_trace_add_file(t, name[i], -1);
    for (int i = 0; i < PROCS && error >= 0; i++)
        for (; at[i] < p->count[i] && error >= 0; at[i]++) {
            const done *e = &p->made[i][at[i]];
            const sluice_event event = {.proc = i,
                                        .file = e->access.file,
                                        .write = e->access.write,
                                        .collective = e->access.collective,
                                        .set = &s,
                                        .off = e->access.off,
                                        .begin = e->begin,
                                        .end = e->end};
            error = make_set(&s, e);
            if (!error) error = sluice_trace_append(t, &event);
        }
    sluice_set_free(&s);
    return error < 0 ? error : sluice_trace_finish(t);
}

/* The same accesses, and the same time in all. */
static bool agree(const sluice_trace *t, const program *p, int proc) {
    sluice_events c;
    sluice_event e;
    sluice_set want = SLUICE_SET_EMPTY;
    int at[PROCS] = {0};
    int64_t last = 0, busy = 0, took = 0;
    bool good = !sluice_events_init(&c, t, proc);
    while (good && sluice_events_next(&c, &e)) {
        const int k = at[e.proc]++;
        const done *d = &p->made[e.proc][k];
        good = k < p->count[e.proc] && e.number == k && !make_set(&want, d) && sluice_set_equal(&want, e.set) == 1 &&
               (e.off == d->access.off || !want.size) && e.file == d->access.file && e.write == d->access.write &&
               e.collective == d->access.collective && e.begin >= last;
        const int64_t blur = e.begin > d->begin ? e.begin - d->begin : d->begin - e.begin;
        good &= blur <= t->proc[e.proc].blur && e.end >= e.begin;
        last = e.begin;
    }
    for (int i = 0; i < PROCS && good; i++) {
        good = at[i] == (proc < 0 || proc == i ? p->count[i] : 0) && t->proc[i].nevents == p->count[i];
        for (int64_t k = 0; k < t->proc[i].nnode; k++) busy += t->proc[i].tree[k].busy;
        for (int k = 0; k < p->count[i]; k++) took += p->made[i][k].end - p->made[i][k].begin;
    }
    sluice_events_close(&c);
    sluice_set_free(&want);
    return good && busy == took;
}

static program program_now;

static void draw(program *p, chance *c) {
    p->chance = c, p->n = 0, p->now = 0;
    p->disturbed = chance_once_in(c, 2);
    write_program(p, 0, 6);
    for (int i = 0; i < PROCS; i++) {
        p->count[i] = 0;
        run_program(p, i, 0, p->n, 0, NULL);
    }
}

static bool fails(chance *c, void *nodes) {
    program *p = &program_now;
    sluice_trace t;
    draw(p, c);
    bool good = !record(&t, p);
    for (int proc = SLUICE_EVERY_PROCESS; proc < PROCS && good; proc++) good = agree(&t, p, proc);
    if (good && nodes)
        for (int i = 0; i < PROCS; i++) ((int64_t *)nodes)[p->disturbed] += t.proc[i].nnode - t.proc[i].nevents;
    sluice_trace_free(&t);
    return !good;
}

/* Each allocation fails in turn: an error, nothing lost. */
static void test_faults(uint64_t seed) {
    chance c = {0};
    chance_seed(&c, seed);
    draw(&program_now, &c);
    int error = -ENOMEM;
    for (int64_t n = 1; error; n++) {
        sluice_trace t;
        const int64_t live = sluice_mem_live();
        sluice_mem_fail_nth(n);
        error = record(&t, &program_now);
        sluice_mem_fail_nth(0);
        CHECK(!error || error == -ENOMEM, "%d", error);
        if (!error) CHECK(agree(&t, &program_now, SLUICE_EVERY_PROCESS));
        sluice_trace_free(&t);
        CHECK(sluice_mem_live() == live);
    }
    chance_free(&c);
}

int main(void) {
    const char *env = getenv("SLUICE_TEST_CASES");
    const long cases = env ? atol(env) / 100 : 150;
    const uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    int64_t saved[2] = {0};
    printf("seed %" PRIu64 "\n", seed);
    for (long i = 0; i < cases && !failures; i++) {
        chance c = {0};
        chance_seed(&c, seed + (uint64_t)i);
        if (fails(&c, saved)) {
            chance_shrink(&c, (bool (*)(chance *, void *))fails, NULL);
            fails(&(chance){.replay = true, .draw = c.draw, .n = c.n}, NULL);
            for (int k = 0; k < program_now.count[0] && k < 40; k++) {
                const done *d = &program_now.made[0][k];
                fprintf(stderr, "%d: file %d off %" PRId64 " size %" PRId64 " %d %d\n", k, d->access.file,
                        d->access.off, d->access.size, d->access.write, d->access.collective);
            }
            CHECK(false, "case %ld of seed %" PRIu64, i, seed);
        }
        chance_free(&c);
    }
    printf("nodes less accesses: %" PRId64 " of programs as written, %" PRId64 " of disturbed ones\n", saved[0],
           saved[1]);
    CHECK(cases < 100 || (saved[0] < 0 && saved[1] < 0));
    for (uint64_t i = 0; i < 5; i++) test_faults(seed + i);
    return verdict();
}
