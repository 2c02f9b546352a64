/* tables.c: the paper's tables 1 to 8: sections of a column-major array of 4-byte elements, read and written by all
 * processes together. Sluice by itself and told how; a call for each run; a mapping that stays; the MPI that this was
 * built with, independent and collective; and the limit (limit.c). See contend.h for the rules. */
#include "bench.h"
#include "contend.h"
#include "patterns.h"
#include <math.h>

static const field fields[] = {{2, 4, {4096, 4096, 1}}, {2, 4, {16384, 16384, 1}}};
static const contender contenders[] = {COMMON_CONTENDERS, LIMIT_CONTENDERS};
enum { NCONTENDERS = sizeof contenders / sizeof *contenders };
static event events[PATTERNS];

static int boxes(int e, int rank, int nranks, box *out) {
    pattern_range row = pattern_of(patterns[e].row, rank, nranks), col = pattern_of(patterns[e].column, rank, nranks);
    *out = (box){{row.start, col.start, 0}, {row.count, col.count, 1}, {row.step, col.step, 1}};
    return 1;
}

/* Some patterns leave the array with more. */
static bool suits(int e, int nranks) {
    box b;
    boxes(e, nranks - 1, nranks, &b);
    for (int d = 0; d < 2; d++)
        if (b.count[d] < 1 || b.start[d] + (b.count[d] - 1) * b.step[d] >= patterns[e].n) return false;
    return true;
}

static void judge(const board *b);
static const contest tables = {
    .name = "tables",
    .title = "Sections of an array, read and written together (tables 1 to 8 of the extended two-phase method)",
    .fields = fields,
    .events = events,
    .nevents = PATTERNS,
    .contenders = contenders,
    .ncontenders = NCONTENDERS,
    .boxes = boxes,
    .suits = suits,
    .judge = judge,
    .quick = 2,
};

/* ---- Goals ---- */

/* The geometric mean of a ratio over the events of a table, and the worst. */
typedef struct mean {
    double sum, worst;
    int n, where;
} mean;

static void note(mean *m, double ratio, int e) {
    if (!isfinite(ratio)) return;
    m->sum += log(ratio);
    if (!m->n++ || ratio > m->worst) m->worst = ratio, m->where = e;
}

static double value(const mean *m) { return m->n ? exp(m->sum / m->n) : NAN; }

/* Who is judged: Sluice by its own calls, or through the door, where its goals may be missed by so much. */
static struct subject {
    int who;
    const char *name;
    double slack;
} subject = {0, "sluice", 1};

static void verdict(const char *what, double got, double goal) {
    if (isnan(got)) return;
    goal *= subject.slack;
    printf("%-66s %7.2f, goal %.2f: %s\n", what, got, goal, got <= goal ? "met" : "MISSED");
}

static double ours(const board *b, int e) {
    const outcome *o = &b->outcome[e][subject.who];
    return o->status == DONE ? o->median : NAN;
}

/* How Sluice compares with what a table is measured against. */
static mean compare(const board *b, int table, bool writes, kind k, bool collective) {
    mean m = {0};
    for (int e = 0; e < PATTERNS; e++)
        if ((!table || events[e].group == table) && (writes || !events[e].write))
            note(&m, ours(b, e) / best_of(&tables, b, e, k, collective, NULL), e);
    return m;
}

/* Every method of every peer, over the reads of a table. */
static void compare_each(const board *b, int table) {
    for (int k = 0; k < NCONTENDERS; k++) {
        mean m = {0};
        if (contenders[k].kind != PLAIN && contenders[k].kind != LIBRARY) continue;
        for (int e = 0; e < PATTERNS; e++)
            if (events[e].group == table && !events[e].write && b->outcome[e][k].status == DONE)
                note(&m, ours(b, e) / b->outcome[e][k].median, e);
        char what[80];
        snprintf(what, sizeof what, "table %d, reads: %s / %s", table, subject.name, contenders[k].name);
        verdict(what, value(&m), 1);
    }
}

static void judge_few(const board *b) {
    static const struct {
        int table;
        double times;
    } faster[] = {{4, 2.5}, {5, 8}, {6, 3}};
    static const int near[] = {1, 2, 3, 8};
    char what[80];
    for (int i = 0; i < 4; i++) {
        mean m = compare(b, near[i], false, LIMIT, false);
        snprintf(what, sizeof what, "table %d, reads: %s / limit", near[i], subject.name);
        verdict(what, value(&m), 1.3);
        compare_each(b, near[i]);
    }
    for (int i = 0; i < 3; i++) {
        mean m = compare(b, faster[i].table, true, LIBRARY, false);
        snprintf(what, sizeof what, "table %d: %s / best of MPI (%.1f times faster)", faster[i].table, subject.name,
                 faster[i].times);
        verdict(what, value(&m), 1 / faster[i].times);
    }
}

static void judge_many(const board *b) {
    mean peer = compare(b, 0, true, LIBRARY, true), limit = compare(b, 0, true, LIMIT, false);
    char what[80];
    snprintf(what, sizeof what, "all: %s / MPI collective (5 times faster)", subject.name);
    verdict(what, value(&peer), 0.2);
    snprintf(what, sizeof what, "worst: %s / limit, %s", subject.name, limit.n ? events[limit.where].name : "-");
    verdict(what, limit.n ? limit.worst : NAN, 4);
}

/* No single pattern is far behind the best contender. */
static void judge_worst(const board *b, double goal) {
    mean m = {0};
    int behind = 0;
    for (int e = 0; e < PATTERNS; e++) {
        double best = fmin(best_of(&tables, b, e, PLAIN, false, NULL), best_of(&tables, b, e, LIBRARY, false, NULL));
        if (b->cold) best = fmin(best, best_of(&tables, b, e, LIMIT, false, NULL));
        note(&m, ours(b, e) / best, e);
        behind += ours(b, e) / best > goal;
    }
    if (!m.n) return;
    char what[80];
    snprintf(what, sizeof what, "worst: %s / best other, %s (%d of %d behind)", subject.name, events[m.where].name,
             behind, m.n);
    verdict(what, m.worst, goal);
}

static void judge_subject(const board *b) {
    if (b->cold) {
        judge_worst(b, 1.2);
    } else if (b->nranks > 4) {
        judge_many(b);
    } else {
        judge_few(b);
        judge_worst(b, 1.1);
    }
}

static void judge(const board *b) {
    int through = 0;
    printf("\n");
    for (int k = 0; b->door && k < NCONTENDERS && !through; k++)
        if (contenders[k].kind == DOOR && contenders[k].collective) through = k;
    judge_subject(b);
    if (!through) return;
    mean m = {0};
    for (int e = 0; e < PATTERNS; e++)
        if (b->outcome[e][through].status == DONE) note(&m, b->outcome[e][through].median / ours(b, e), e);
    if (m.n) printf("\n%-66s %7.2f, worst %.2f (%s)\n", "all: door / sluice", value(&m), m.worst, events[m.where].name);
    subject = (struct subject){through, "door", 1.15};
    judge_subject(b);
}

int main(int argc, char **argv) {
    static const char *const quick = "T1-I,T2-I,T3-I,T4-II,T5-II,T6-IV,T7-VI,T7-VIw";
    for (int e = 0; e < PATTERNS; e++) {
        const pattern *p = &patterns[e];
        events[e] = (event){.group = p->name[1] - '0', .write = p->write, .field = p->n != 4096};
        snprintf(events[e].name, sizeof events[e].name, "%s", p->name);
        events[e].quick = listed(quick, p->name);
    }
    return contend(&tables, argc, argv);
}
