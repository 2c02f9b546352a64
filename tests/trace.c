/* ranks: 1 */
/* trace.c: traces in memory: what repeats becomes loops, and cursors give back what was put in. */
#include "trace/trace.h"
#include "support/unit.h"

static void append(sluice_trace *t, int proc, int file, bool write, int64_t off, int64_t len, int64_t begin) {
    sluice_set s = SLUICE_SET_EMPTY;
    CHECK(!sluice_set_block(&s, 0, len));
    const sluice_event e = {
        .proc = proc, .file = file, .write = write, .set = &s, .off = off, .begin = begin, .end = begin + 10};
    int error = sluice_trace_append(t, &e);
    CHECK(!error, "%s", sluice_strerror(error));
    sluice_set_free(&s);
}

/* A loop of two accesses to two files, and a loop of loops: few nodes, all accesses. */
static void test_loops(void) {
    sluice_trace t;
    sluice_events c;
    sluice_event e;
    int64_t k = 0;
    CHECK(!sluice_trace_make(&t, 2));
    CHECK(sluice_trace_add_file(&t, "a", 100) == 0 && sluice_trace_add_file(&t, "b", -1) == 1);
    CHECK(sluice_trace_add_file(&t, "a", 400) == 0 && t.file[0].size == 400 && t.nfile == 2);
    for (int i = 0; i < 1000; i++) {
        append(&t, 0, 0, false, 4096 * i, 8, 100 * i);
        append(&t, 0, 1, true, 5000 - i, 64, 100 * i + 50);
    }
    for (int i = 0; i < 50; i++)
        for (int j = 0; j < 20; j++) append(&t, 1, 1, true, 10000 * i + 7 * j, 7, 1000 * i + j);
    CHECK(sluice_events_init(&c, &t, 0) == SLUICE_E_ARGUMENT, "read before it was finished");
    CHECK(!sluice_trace_finish(&t));
    CHECK(t.proc[0].nnode == 3 && t.proc[0].nevents == 2000 && t.proc[0].tree[0].n == 1000, "%" PRId64 " nodes",
          t.proc[0].nnode);
    CHECK(t.proc[0].tree[1].shift[0] == 4096 && t.proc[0].tree[2].shift[0] == -1 && t.proc[0].tree[2].busy == 10000);
    CHECK(t.proc[1].nnode == 3 && t.proc[1].tree[0].n == 50 && t.proc[1].tree[1].n == 20);
    CHECK(t.proc[1].tree[2].shift[0] == 7 && t.proc[1].tree[2].shift[1] == 10000 && t.proc[1].tree[2].loops == 2);
    CHECK(sluice_trace_count(&t.proc[1], 2) == 1000 && sluice_trace_count(&t.proc[0], 1) == 1000);

    CHECK(!sluice_events_init(&c, &t, 1));
    for (; sluice_events_next(&c, &e); k++)
        CHECK(e.off == 10000 * (k / 20) + 7 * (k % 20) && e.set->size == 7 && e.number == k && e.write && e.file == 1);
    CHECK(k == 1000);
    sluice_events_close(&c);

    int64_t last = 0, count[2] = {0};
    CHECK(!sluice_events_init(&c, &t, SLUICE_EVERY_PROCESS));
    for (; sluice_events_next(&c, &e); last = e.begin) {
        CHECK(e.begin >= last && e.end == e.begin + 10, "%" PRId64 " after %" PRId64, e.begin, last);
        CHECK(e.number == count[e.proc]++);
    }
    CHECK(count[0] == 2000 && count[1] == 1000);
    sluice_events_close(&c);
    sluice_trace_free(&t);
}

/* Few times are exact; many are within what the trace says, and a long pause stays where it was. */
static void test_times(void) {
    for (int n = 1; n <= 100000; n *= 10) {
        sluice_trace t;
        sluice_events c;
        sluice_event e;
        int64_t *at = sluice_mem_alloc((size_t)n, sizeof *at), now = 1000, worst = 0, last = 0;
        CHECK(!sluice_trace_make(&t, 1) && sluice_trace_add_file(&t, "a", 0) == 0);
        for (int i = 0; i < n; i++) {
            at[i] = now += 5000 + below(20000) + (i == n / 3) * INT64_C(10000000000);
            append(&t, 0, 0, false, 8 * i, 8, now);
        }
        CHECK(!sluice_trace_finish(&t) && !sluice_events_init(&c, &t, 0));
        for (int i = 0; sluice_events_next(&c, &e); i++, last = e.begin) {
            CHECK(e.begin >= last);
            worst = sluice_max(worst, e.begin > at[i] ? e.begin - at[i] : at[i] - e.begin);
        }
        CHECK(worst <= t.proc[0].blur, "%" PRId64 " off, %" PRId64 " are promised", worst, t.proc[0].blur);
        CHECK(n > 1000 || worst == 0);
        CHECK(worst < 10000000, "%" PRId64, worst);
        CHECK(t.proc[0].nknot <= SLUICE_TIMES_KNOTS + 2);
        sluice_events_close(&c);
        sluice_trace_free(&t);
        sluice_mem_free(at);
    }
}

/* Shapes are kept once, wherever they lie; what is wrong is refused and changes nothing. */
static void test_shapes(void) {
    sluice_trace t;
    sluice_events c;
    sluice_event e = {0};
    sluice_set s = SLUICE_SET_EMPTY, got = SLUICE_SET_EMPTY, none = SLUICE_SET_EMPTY;
    CHECK(!sluice_trace_make(&t, 1) && sluice_trace_add_file(&t, "a", 0) == 0);
    for (int i = 0; i < 5; i++) {
        CHECK(!sluice_set_falls(&s, 100 * i, 4, 8, 1000));
        e = (sluice_event){.set = &s, .off = 5, .collective = true, .begin = i, .end = i + 1};
        CHECK(!sluice_trace_append(&t, &e));
    }
    e.set = &none, e.off = 17, e.begin = 5, e.end = 9;
    CHECK(!sluice_trace_append(&t, &e));
    e.proc = 1;
    CHECK(sluice_trace_append(&t, &e) == SLUICE_E_ARGUMENT);
    e.proc = 0, e.file = 1;
    CHECK(sluice_trace_append(&t, &e) == SLUICE_E_ARGUMENT);
    e.file = 0, e.end = 4;
    CHECK(sluice_trace_append(&t, &e) == SLUICE_E_ARGUMENT);
    e.end = 9, e.set = &s, e.off = INT64_MAX - 100;
    CHECK(sluice_trace_append(&t, &e) == SLUICE_E_OVERFLOW);
    CHECK(!sluice_trace_finish(&t) && t.nshape == 1 && t.proc[0].nnode == 3 && t.proc[0].nevents == 6);
    CHECK(!sluice_events_init(&c, &t, 0));
    for (int i = 0; i < 5; i++) {
        CHECK(sluice_events_next(&c, &e) && e.collective);
        CHECK(!sluice_event_set(&got, &e) && !sluice_set_falls(&s, 100 * i + 5, 4, 8, 1000));
        CHECK(sluice_set_equal(&got, &s) == 1);
    }
    CHECK(sluice_events_next(&c, &e) && e.set->size == 0 && e.begin == 5 && e.end == 9);
    CHECK(!sluice_events_next(&c, &e));
    sluice_events_close(&c);
    sluice_trace_free(&t);
    sluice_set_free(&s);
    sluice_set_free(&got);
}

int main(void) {
    test_loops();
    test_times();
    test_shapes();
    return verdict();
}
