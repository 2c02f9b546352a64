/* ranks: 1 */
/* paper_counts: the direct method makes as many requests as the two-phase paper's patterns have runs (tables 1 to 8,
 * all processes), strided patterns one per element; sieving with a buffer of one column makes one per column, and fewer
 * as the buffer grows. The plans of collective calls read each element once, keep as many processes busy as published,
 * and find the columns with holes. */
#include "io/predict.h"
#include "sluice.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEM = 4, MOST = 70000 }; /* requests that are really made for a pattern; beyond, the runs are counted */

static int failures;

static void expect(const char *what, const char *table, int64_t got, int64_t want) {
    if (got == want) return;
    printf("table %s: %s: %lld, not %lld\n", table, what, (long long)got, (long long)want);
    failures++;
}

/* One dimension for process p of P: [l, u, s, shift], 1-based and inclusive; s = "P": every P-th, from the p-th on. */
static sluice_range range_of(const json_t *r, int64_t p, int64_t procs) {
    const json_t *s = json_array_get(r, 2);
    int64_t l = json_integer_value(json_array_get(r, 0)), u = json_integer_value(json_array_get(r, 1));
    int64_t shift = json_integer_value(json_array_get(r, 3)) * p, step = json_integer_value(s);
    if (json_is_string(s)) step = procs, l += p;
    return (sluice_range){l - 1 + shift, (u - l) / step + 1, step};
}

static int64_t calls(sluice_array *a) {
    sluice_counts c;
    sluice_count(a, &c);
    return c.calls_read;
}

/* Opens the array of the tables with a method; it lives in memory and is all zeros. */
static sluice_array *array_of(int64_t n, sluice_method method, int64_t memory) {
    sluice_array *a;
    sluice_desc d = {.shape = {2, SLUICE_COLUMN_MAJOR, ELEM, 0, {n, n}}};
    sluice_options o = {.size = sizeof o, .method = method, .memory = memory, .store = SLUICE_STORE_RAM};
    if (sluice_create(&a, "tables", &d, &o)) {
        printf("%s\n", sluice_errmsg());
        exit(1);
    }
    return a;
}

/* What process p wants; the last process of some patterns leaves the array, and takes what there is. */
static void ranges_of(sluice_range *r, const json_t *one, int64_t p, int64_t procs) {
    const json_t *pattern = json_object_get(one, "pattern");
    int64_t n = json_integer_value(json_object_get(one, "N"));
    for (size_t d = 0; d < 2; d++) {
        r[d] = range_of(json_array_get(pattern, d), p, procs);
        if (r[d].start + (r[d].count - 1) * r[d].step >= n) r[d].count = (n - 1 - r[d].start) / r[d].step + 1;
    }
}

static void count_direct(sluice_array *a, const json_t *one, const json_t *counts, const char *name, void *buf) {
    int64_t procs = json_integer_value(json_object_get(counts, "P"));
    int64_t want = json_integer_value(json_object_get(counts, "direct_column_requests")), runs = 0;
    int64_t before = a ? calls(a) : 0, n = json_integer_value(json_object_get(one, "N"));
    for (int64_t p = 0; p < procs; p++) {
        sluice_range r[2];
        ranges_of(r, one, p, procs);
        sluice_set s = SLUICE_SET_EMPTY;
        sluice_shape shape = {2, SLUICE_COLUMN_MAJOR, ELEM, 0, {n, n}};
        sluice_reason why;
        if (sluice_set_section(&s, &shape, r, &why)) printf("%s: %s\n", name, why.text), failures++;
        /* A whole column is one run with the next; the paper still asks column by column. */
        int64_t columns = r[1].count * (r[0].step == 1 ? 1 : r[0].count);
        runs += columns;
        if (r[0].count < n) expect("runs", name, sluice_set_nruns(&s), columns);
        sluice_set_free(&s);
        if (a && want <= MOST && r[0].count < n && sluice_read(a, r, buf)) printf("%s\n", sluice_errmsg()), failures++;
    }
    expect("requests", name, runs, want);
    if (a && want <= MOST && calls(a) > before) expect("calls", name, calls(a) - before, want);
}

/* ---- Plans of collective calls ---- */

static int64_t count_of(const json_t *counts, const char *key) {
    return json_integer_value(json_object_get(counts, key));
}

/* Columns of which something is wanted; and those of which not all between the first and the last element is. */
static void count_columns(const sluice_set *wanted, int64_t column, int64_t *useful, int64_t *holes) {
    for (int64_t x = sluice_set_lo(wanted); wanted->size && x >= 0;) {
        int64_t end = (x / column + 1) * column, last = sluice_set_prev(wanted, end - 1) + 1;
        ++*useful;
        *holes += sluice_set_rank(wanted, last) - sluice_set_rank(wanted, x) < last - x;
        x = sluice_set_next(wanted, end);
    }
}

/* One pattern under one division: who is busy, what is read. */
static void count_plan(const sluice_plan_facts *f, const sluice_set *request, const json_t *counts, const char *name,
                       const char *active_key) {
    sluice_plan plan;
    sluice_reason why;
    int64_t active = 0, wanted = 0, useful = 0, holes = 0, lo = 0, hi = 0;
    if (sluice_plan_make(&plan, f, request, &why)) {
        printf("%s: %s\n", name, why.text);
        failures++;
        return;
    }
    for (int a = 0; a < plan.n; a++) {
        sluice_share s;
        if (sluice_share_make(&s, &plan, f, request, a)) {
            printf("%s: no share\n", name);
            failures++;
            break;
        }
        active += plan.aggregator[a].domain.size > 0;
        wanted += s.wanted.size;
        count_columns(&s.wanted, f->slab, &useful, &holes);
        sluice_share_free(&s);
    }
    lo = plan.lo / f->slab + 1;
    hi = (plan.hi - 1) / f->slab + 1;
    sluice_plan_free(&plan);
    const json_t *columns = json_object_get(counts, "bounding_columns");
    expect("first column", name, lo, json_integer_value(json_array_get(columns, 0)));
    expect("last column", name, hi, json_integer_value(json_array_get(columns, 1)));
    expect(active_key, name, active, count_of(counts, active_key));
    expect("distinct elements", name, wanted / ELEM, count_of(counts, "distinct_elements"));
    expect("columns with data", name, useful, count_of(counts, "columns_with_data"));
    expect("columns with holes", name, holes, count_of(counts, "columns_with_holes"));
}

static void count_plans(const json_t *one, const json_t *counts, const char *name) {
    int64_t n = count_of(one, "N"), wanted = 0;
    int procs = (int)count_of(counts, "P"), node[128] = {0};
    sluice_set request[128] = {{0}};
    sluice_shape shape = {2, SLUICE_COLUMN_MAJOR, ELEM, 0, {n, n}};
    if (procs > 128) abort();
    for (int p = 0; p < procs; p++) {
        sluice_range r[2];
        ranges_of(r, one, p, procs);
        if (sluice_set_section(&request[p], &shape, r, NULL)) failures++;
        wanted += request[p].size;
    }
    expect("requested elements", name, wanted / ELEM, count_of(counts, "requested_elements"));
    sluice_plan_facts f = {.size = procs,
                           .nnodes = 1,
                           .node_of = node,
                           .cores = procs,
                           .memory = 64 << 20,
                           .end = n * n * ELEM,
                           .slab = n * ELEM};
    f.together.division = SLUICE_DIVIDE_STATIC;
    count_plan(&f, request, counts, name, "active_procs_static");
    f.together.division = SLUICE_DIVIDE_DYNAMIC;
    count_plan(&f, request, counts, name, "active_procs_dynamic");
    for (int p = 0; p < procs; p++) sluice_set_free(&request[p]);
}

/* Rows 1-16 of all columns (table 1, V), sieved through a buffer of some columns. */
static void count_sieve(void) {
    const int64_t n = 4096, column = n * ELEM;
    void *buf = malloc((size_t)(16 * column));
    for (int64_t columns = 1; columns <= 64; columns *= 4) {
        sluice_array *a = array_of(n, SLUICE_SIEVE, columns * column);
        if (sluice_read(a, (sluice_range[]){{0, 16, 1}, {0, n, 1}}, buf)) printf("%s\n", sluice_errmsg()), failures++;
        expect("sieve reads of a table-1 V section", "1 V", calls(a), n / columns);
        sluice_close(a);
    }
    free(buf);
}

int main(int argc, char **argv) {
    const char *src = getenv("SLUICE_SRC");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/data/paper_tables.json", src ? src : argc > 1 ? argv[1] : ".");
    json_error_t error;
    json_t *all = json_load_file(path, 0, &error), *one, *counts;
    if (!all) {
        printf("%s: %s\n", path, error.text);
        return 1;
    }
    sluice_array *a = array_of(4096, SLUICE_DIRECT, 0);
    void *buf = malloc(4096 * 4096 * ELEM);
    size_t i, k, cases = 0;
    json_array_foreach(json_object_get(all, "cases"), i, one) {
        char name[32];
        snprintf(name, sizeof name, "%s %s", json_string_value(json_object_get(one, "table")),
                 json_string_value(json_object_get(one, "case")));
        bool small = json_integer_value(json_object_get(one, "N")) == 4096;
        json_array_foreach(json_object_get(one, "counts"), k, counts) {
            count_direct(small ? a : NULL, one, counts, name, buf);
            count_plans(one, counts, name);
            cases++;
        }
    }
    count_sieve();
    printf("%zu patterns\n", cases);
    json_decref(all);
    sluice_close(a);
    free(buf);
    return failures || cases == 0;
}
