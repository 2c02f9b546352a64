/* digest.c: what the accesses of a trace to one file come to, for the page that shows it.
 *
 * Numbers and bytes are taken from the folded trace, whatever its length. What is drawn by time and place needs the
 * accesses one by one: the first PAGE_EVENTS of them are looked at. The bytes of one in a part of the file are a
 * difference of ranks of its set, so that it does not matter of how many runs it is.
 */
#include "tool/page.h"
#include <stdlib.h>
#include <string.h>

static int ceiling_log(int64_t n) {
    int k = 0;
    while (n >>= 1) k++;
    return k;
}

/* What one node of the tree says, all its iterations together. */
static void add_node(digest *d, int rank, const sluice_trace_proc *p, int64_t at) {
    const sluice_trace_node *n = &p->tree[at];
    const double count = (double)sluice_trace_count(p, at);
    page_use *of[] = {&d->all, &d->rank[rank]};
    for (int i = 0; i < 2; i++) {
        of[i]->count[n->write] += count;
        of[i]->bytes[n->write] += count * (double)n->size;
        of[i]->seconds[n->write] += (double)n->busy * 1e-9;
    }
    d->events += count;
    if (n->size > 0) d->size_count[n->write][ceiling_log(n->size)] += count;
}

static void add_nodes(digest *d) {
    for (int r = 0; r < d->t->nproc; r++) {
        const sluice_trace_proc *p = &d->t->proc[r];
        const double before = d->events;
        for (int64_t i = 0; i < p->nnode; i++)
            if (p->tree[i].n == 1 && p->tree[i].file == d->file) add_node(d, r, p, i);
        d->users += d->events > before;
    }
}

/* ---- One by one ---- */

/* Where an access lies: [*lo, *hi) of the file, empty if it is. */
static void reach(const sluice_event *e, int64_t *lo, int64_t *hi) {
    *lo = e->set->size ? e->off + sluice_set_lo(e->set) : 0;
    *hi = e->set->size ? e->off + sluice_set_hi(e->set) : 0;
}

/* The part of n that x belongs to, of a whole that starts at `from`. */
static int part_of(int64_t x, int64_t from, int64_t whole, int n) {
    const double k = (double)(x - from) / (double)(whole > 0 ? whole : 1) * n;
    return k < 0 ? 0 : k >= n ? n - 1 : (int)k;
}

static int64_t start_of(int k, int64_t whole, int n) { return (int64_t)((double)whole / n * k); }

static void add_cell(page_cell *c, int rank, bool write, double bytes) {
    c->rank = c->rank == NOBODY || c->rank == rank ? rank : SEVERAL;
    c->bytes[write] += bytes;
}

/* The bytes in one part of the file, over the time that the access took. */
static void add_row(digest *d, const sluice_event *e, int row, double bytes, int from, int to) {
    for (int k = from; k <= to; k++) add_cell(&d->cell[row][k], e->proc, e->write, bytes / (to - from + 1));
    d->touch[(int64_t)e->proc * d->ranks / d->t->nproc][row][e->write] += bytes;
}

static void add_event(digest *d, const sluice_event *e) {
    const int64_t span = d->end - d->begin;
    const int from = part_of(e->begin, d->begin, span, PAGE_COLUMNS),
              to = part_of(e->end, d->begin, span, PAGE_COLUMNS);
    int64_t lo, hi;
    reach(e, &lo, &hi);
    const double seconds = (double)(e->end - e->begin) * 1e-9 / (to - from + 1);
    for (int k = from; k <= to; k++) d->busy[(int64_t)e->proc * d->ranks / d->t->nproc][k][e->write] += seconds;
    if (lo == hi) return;
    const int first = part_of(lo, 0, d->size, PAGE_ROWS), last = part_of(hi - 1, 0, d->size, PAGE_ROWS);
    int64_t below = 0;
    for (int row = first; row <= last; row++) {
        const int64_t end = row == last ? hi : start_of(row + 1, d->size, PAGE_ROWS);
        const int64_t upto = row == last ? e->set->size : sluice_set_rank(e->set, end - e->off);
        if (upto > below) add_row(d, e, row, (double)(upto - below), from, to);
        below = upto;
    }
}

/* Calls `what` for the first accesses of all processes to the file. */
static void each_event(digest *d, void (*what)(digest *, const sluice_event *)) {
    sluice_events c;
    sluice_event e;
    int64_t looked = 0;
    report_error(sluice_events_init(&c, d->t, SLUICE_EVERY_PROCESS), "report");
    for (d->seen = 0; looked < PAGE_EVENTS && sluice_events_next(&c, &e); looked++) {
        if (e.file != d->file) continue;
        what(d, &e);
        d->seen++;
    }
    sluice_events_close(&c);
}

static void measure(digest *d, const sluice_event *e) {
    int64_t lo, hi;
    reach(e, &lo, &hi);
    if (hi > d->size) d->size = hi;
    if (d->seen == 0 || e->begin < d->begin) d->begin = e->begin;
    if (d->seen == 0 || e->end > d->end) d->end = e->end;
}

void digest_make(digest *d, const sluice_trace *t, int file) {
    const size_t nproc = (size_t)(t->nproc > 0 ? t->nproc : 1);
    *d = (digest){.t = t, .file = file, .name = t->file[file].name, .size = sluice_max(t->file[file].size, 0)};
    d->ranks = t->nproc < PAGE_RANKS ? t->nproc : PAGE_RANKS;
    d->rank = report_alloc(nproc, sizeof *d->rank);
    d->cell = report_alloc(PAGE_ROWS, sizeof *d->cell);
    d->touch = report_alloc(nproc, sizeof *d->touch);
    d->busy = report_alloc(nproc, sizeof *d->busy);
    for (int i = 0; i < PAGE_ROWS; i++)
        for (int k = 0; k < PAGE_COLUMNS; k++) d->cell[i][k].rank = NOBODY;
    add_nodes(d);
    each_event(d, measure);
    each_event(d, add_event);
}

void digest_free(digest *d) {
    free(d->rank);
    free(d->cell);
    free(d->touch);
    free(d->busy);
}

double digest_weight(const sluice_trace *t, int file) {
    double sum = 0;
    for (int r = 0; r < t->nproc; r++) {
        const sluice_trace_proc *p = &t->proc[r];
        for (int64_t i = 0; i < p->nnode; i++)
            if (p->tree[i].n == 1 && p->tree[i].file == file)
                sum += (double)p->tree[i].size * (double)sluice_trace_count(p, i);
    }
    return sum;
}

int digest_heaviest(const sluice_trace *t) {
    int best = -1;
    double most = 0;
    for (int i = 0; i < t->nfile; i++) {
        const double bytes = digest_weight(t, i);
        if (bytes > most) best = i, most = bytes;
    }
    return best;
}

int digest_find(const sluice_trace *t, const char *name) {
    int i = 0;
    while (i < t->nfile && strcmp(t->file[i].name, name)) i++;
    return i < t->nfile ? i : -1;
}
