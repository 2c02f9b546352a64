/* partition.c: a file cut into elements, and what moves between two such cuts. */
#include "set/set.h"
#include <errno.h>
#include <string.h>

/* The element of [first, last) that has byte x, or last. */
static int who_has(const sluice_partition *p, int first, int last, int64_t x) {
    while (first < last && !sluice_set_contains(&p->set[first], x)) first++;
    return first;
}

/* Names two elements, one below `half` and one not, that share a byte; `low` and `high` are their unions. */
static int refuse_shared(const sluice_partition *p, int half, const sluice_set *low, const sluice_set *high,
                         sluice_reason *why) {
    sluice_set common = SLUICE_SET_EMPTY;
    int err = sluice_set_intersect(&common, low, high);
    const int64_t x = sluice_set_lo(&common);
    sluice_set_free(&common);
    if (err) return err;
    const int i = who_has(p, half, p->n, x);
    return sluice_refuse(why, SLUICE_E_SHARED, i, "elements overlap: %d and %d both have byte %lld",
                         who_has(p, 0, half, x), i, (long long)x);
}

static int refuse_gap(const sluice_set *all, int64_t period, sluice_reason *why) {
    sluice_set whole = SLUICE_SET_EMPTY;
    int err = sluice_set_block(&whole, 0, period);
    if (!err) err = sluice_set_subtract(&whole, &whole, all);
    if (!err)
        err = sluice_refuse(why, SLUICE_E_GAP, -1, "gap: byte %lld of [0,%lld) belongs to no element",
                            (long long)sluice_set_lo(&whole), (long long)period);
    sluice_set_free(&whole);
    return err;
}

/* *all = the union of elements [first, last), by halves; refuses if some share a byte, or if the unions take more
 * families in all than *budget. */
static int unite(sluice_set *all, const sluice_partition *p, int first, int last, int64_t *budget, sluice_reason *why) {
    if (last - first == 1) return sluice_set_copy(all, &p->set[first]);
    sluice_set low = SLUICE_SET_EMPTY, high = SLUICE_SET_EMPTY;
    const int half = first + (last - first) / 2;
    int err = unite(&low, p, first, half, budget, why);
    if (!err) err = unite(&high, p, half, last, budget, why);
    if (!err) err = sluice_set_union(all, &low, &high);
    if (!err && all->size - low.size < high.size) err = refuse_shared(p, half, &low, &high, why);
    if (!err && (*budget -= all->nnode) < 0) err = SLUICE_E_COMPLEX;
    sluice_set_free(&low);
    sluice_set_free(&high);
    return err;
}

int sluice_partition_check(sluice_partition *p, sluice_reason *why) {
    sluice_set all = SLUICE_SET_EMPTY;
    sluice_reason found = {.error = 0};
    int64_t end = 0, past, budget = SLUICE_SET_BUDGET;
    for (int i = 0; i < p->n; i++) {
        end = sluice_max(end, sluice_set_hi(&p->set[i]));
        budget += (int64_t)p->set[i].nnode * 32; /* once in each halving */
    }
    if (end == 0) return sluice_refuse(why, SLUICE_E_EMPTY, -1, "empty: no element has a byte");
    if (p->disp < 0 || p->period < 0)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "displacement %lld or period %lld below 0", (long long)p->disp,
                             (long long)p->period);
    if (p->period > 0 && end > p->period)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "elements reach %lld, past the period %lld", (long long)end,
                             (long long)p->period);
    int64_t period = p->period ? p->period : end;
    if (!sluice_add(p->disp, period, &past))
        return sluice_refuse(why, SLUICE_E_OVERFLOW, -1, "the first period ends past 2^63-1");
    int err = unite(&all, p, 0, p->n, &budget, &found);
    if (!err && sluice_set_lo(&all) > 0)
        err = sluice_refuse(&found, SLUICE_E_START, -1, "does not start at 0: the first byte is %lld",
                            (long long)sluice_set_lo(&all));
    if (!err && all.size < period) err = refuse_gap(&all, period, &found);
    sluice_set_free(&all);
    if (err && found.error != err) sluice_pass(&found, err);
    if (err && why) *why = found;
    if (!err) p->period = period;
    return err;
}

int sluice_partition_owner(const sluice_partition *p, int64_t x, int *element, int64_t *off) {
    if (x < p->disp || p->disp < 0 || p->period < 1) return SLUICE_E_ARGUMENT;
    for (int i = 0; i < p->n; i++) {
        int64_t y = sluice_element_map(&(sluice_element){&p->set[i], p->period, p->disp}, x);
        if (y >= 0) {
            *element = i;
            *off = y;
            return 0;
        }
    }
    return SLUICE_E_GAP;
}

/* An element over the window of a matrix. */
typedef struct view {
    sluice_set set;
    sluice_outline outline;
} view;

static void free_views(view *v, int n) {
    for (int i = 0; v && i < n; i++) {
        sluice_set_free(&v[i].set);
        sluice_outline_free(&v[i].outline);
    }
    sluice_mem_free(v);
}

static int make_views(view **out, const sluice_partition *p, const sluice_matrix *m) {
    view *v = sluice_mem_alloc((size_t)p->n, sizeof *v);
    if (!v) return -ENOMEM;
    memset(v, 0, (size_t)p->n * sizeof *v);
    int err = 0;
    for (int i = 0; i < p->n && !err; i++) {
        sluice_element e = {&p->set[i], p->period, p->disp};
        err = sluice_element_view(&v[i].set, &e, m->disp, m->period);
        if (!err) err = sluice_outline_make(&v[i].outline, &v[i].set);
    }
    *out = v;
    return err;
}

static int fill_entry(sluice_matrix *m, int64_t k, const view *a, const view *b) {
    m->bytes[k] = m->segments[k] = 0;
    int err = sluice_count_bytes(&m->bytes[k], &a->set, &b->set);
    if (!err && m->bytes[k]) {
        err = sluice_count_pieces(&m->segments[k], &a->set, &a->outline, &b->set, &b->outline);
        m->messages++;
        m->total_segments += m->segments[k];
    }
    return err;
}

/* Fills in the matrix *m, of which the window is known, and moves it to *out. */
static int fill_matrix(sluice_matrix *out, sluice_matrix *m, const sluice_partition *a, const sluice_partition *b) {
    view *va = NULL, *vb = NULL;
    size_t entries = (size_t)m->rows * (size_t)m->cols;
    int err = 0;
    m->bytes = sluice_mem_alloc(entries, sizeof *m->bytes);
    m->segments = sluice_mem_alloc(entries, sizeof *m->segments);
    if (!m->bytes || !m->segments) err = -ENOMEM;
    if (!err) err = make_views(&va, a, m);
    if (!err) err = make_views(&vb, b, m);
    for (int i = 0; i < m->rows && !err; i++)
        for (int k = 0; k < m->cols && !err; k++) err = fill_entry(m, (int64_t)i * m->cols + k, &va[i], &vb[k]);
    m->match_num = m->rows > m->cols ? m->rows : m->cols;
    m->match_den = m->total_segments;
    free_views(va, m->rows);
    free_views(vb, m->cols);
    if (err) {
        sluice_matrix_free(m);
    } else {
        sluice_matrix_free(out);
        *out = *m;
    }
    return err;
}

/* The sizes of the matrix, and the window of one common period. */
static int start_matrix(sluice_matrix *m, const sluice_partition *a, const sluice_partition *b) {
    memset(m, 0, sizeof *m);
    m->rows = a->n, m->cols = b->n;
    if (a->n < 1 || b->n < 1) return SLUICE_E_ARGUMENT;
    sluice_element ea = {a->set, a->period, a->disp}, eb = {b->set, b->period, b->disp};
    return sluice_element_window(&m->disp, &m->period, &ea, &eb);
}

int sluice_redistribute(sluice_matrix *out, const sluice_partition *a, const sluice_partition *b) {
    sluice_matrix m;
    int err = start_matrix(&m, a, b);
    return err ? err : fill_matrix(out, &m, a, b);
}

int sluice_redistribute_within(sluice_matrix *out, const sluice_partition *a, const sluice_partition *b,
                               int64_t length) {
    sluice_matrix m;
    int err = start_matrix(&m, a, b);
    if (err && err != SLUICE_E_OVERFLOW) return err; /* the common period may be as long as it likes */
    if (length < 0) return SLUICE_E_ARGUMENT;
    m.disp = sluice_min(sluice_max(a->disp, b->disp), length);
    m.period = length - m.disp;
    return fill_matrix(out, &m, a, b);
}

void sluice_matrix_free(sluice_matrix *m) {
    sluice_mem_free(m->bytes);
    sluice_mem_free(m->segments);
    m->bytes = m->segments = NULL;
}
