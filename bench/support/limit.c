/* limit.c: the least that all of it can cost without a mapping: a small program that knows what all processes want, and
 * has one or two workers that each move a part of the columns by calls and copy.
 *
 *   by run      a call for each run of each process; not for strided ones, where it is never the best
 *   by column   a call for what all processes want of a column
 *   by piece    calls of 64 KiB or 1 MiB from the first to the last byte that anyone wants, leaving out what lies
 *               between pieces
 *
 * What several processes want is read once and copied to each. Writes read first where there may be holes. */
#include "bench.h"
#include "contend.h"
#include <string.h>

/* Line k of process `rank` lies in this column. */
typedef struct entry {
    int rank;
    int64_t k;
} entry;

/* What is wanted of a column: [lo, hi) of the file, without holes if full; entries from `first` on. */
typedef struct column {
    int64_t lo, hi, first;
    bool full;
} column;

struct limit {
    box box[RANKS];
    unsigned char *buf[RANKS], *scratch;
    column *column; /* one more at the end */
    entry *entry;
    int64_t ncolumns;
};

enum { SCRATCH = 1 << 20 };

/* The columns of worker w of n. */
static int64_t start_of(const struct limit *l, int w, int n) { return l->ncolumns * w / n; }

static void *room(int64_t n, size_t each) {
    void *p = malloc((size_t)(n ? n : 1) * each);
    if (!p) MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}

static int by_place(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Fills in the span of a column, and whether the processes together want all of it. */
static void span(const job *j, struct limit *l, column *c, int64_t nentries, int64_t index) {
    const int64_t elem = j->field->elem, base = index * j->field->dim[0] * elem;
    int64_t covered = INT64_MIN;
    c->lo = INT64_MAX, c->hi = 0, c->full = true;
    for (int64_t i = 0; i < nentries; i++) {
        const box *b = &l->box[l->entry[c->first + i].rank];
        int64_t lo = base + b->start[0] * elem, hi = lo + ((b->count[0] - 1) * b->step[0] + 1) * elem;
        if (b->step[0] > 1 || (i > 0 && lo > covered)) c->full = false; /* ranks start in ascending order */
        if (lo < c->lo) c->lo = lo;
        if (hi > c->hi) c->hi = hi;
        covered = c->hi;
    }
}

/* Only the first two processes work. */
void make_limit(job *j) {
    j->limit = NULL;
    if (j->rank > 1) return;
    struct limit *l = j->limit = calloc(1, sizeof *l);
    if (!l) MPI_Abort(MPI_COMM_WORLD, 1);
    int which = (int)(j->event - j->contest->events);
    int64_t n = 0, at = 0;
    for (int r = 0; r < j->nranks; r++) {
        j->contest->boxes(which, r, j->nranks, &l->box[r]);
        l->buf[r] = room(box_bytes(j->field, &l->box[r]), 1);
        n += l->box[r].count[1];
    }
    l->scratch = room(SCRATCH, 1);
    l->entry = room(n, sizeof *l->entry);
    l->column = room(n + 1, sizeof *l->column);
    int64_t(*place)[3] = room(n, sizeof *place); /* column, rank, k */
    for (int r = 0; r < j->nranks; r++)
        for (int64_t k = 0; k < l->box[r].count[1]; k++, at++) {
            place[at][0] = l->box[r].start[1] + k * l->box[r].step[1];
            place[at][1] = r;
            place[at][2] = k;
        }
    qsort(place, (size_t)n, sizeof *place, by_place);
    for (int64_t i = 0, end; i < n; i = end) {
        column *c = &l->column[l->ncolumns++];
        for (end = i; end < n && place[end][0] == place[i][0]; end++)
            l->entry[end] = (entry){(int)place[end][1], place[end][2]};
        c->first = i;
        span(j, l, c, end - i, place[i][0]);
    }
    l->column[l->ncolumns].first = n;
    free(place);
}

void free_limit(job *j) {
    struct limit *l = j->limit;
    if (!l) return;
    for (int r = 0; r < j->nranks; r++) free(l->buf[r]);
    free(l->scratch);
    free(l->entry);
    free(l->column);
    free(l);
}

/* Between the buffers and bytes [lo, hi) of the file, which lie at p, for the entries of a column. */
static void copy_column(const job *j, const column *c, unsigned char *p, int64_t lo, int64_t hi) {
    const struct limit *l = j->limit;
    const int64_t elem = j->field->elem;
    for (int64_t i = c->first; i < c[1].first; i++) {
        const entry *e = &l->entry[i];
        const box *b = &l->box[e->rank];
        int64_t off = line_offset(j->field, b, e->k, 0), step = b->step[0] * elem;
        int64_t from = lo > off ? (lo - off + step - 1) / step : 0;
        int64_t to = hi - elem >= off ? (hi - elem - off) / step + 1 : 0;
        if (to > b->count[0]) to = b->count[0];
        if (from >= to) continue;
        unsigned char *mem = l->buf[e->rank] + (e->k * b->count[0] + from) * elem;
        copy_line(p + (off + from * step - lo), mem, to - from, step, elem, j->event->write);
    }
}

static int by_run(const job *j, const column *c, const column *end) {
    const struct limit *l = j->limit;
    int err = 0;
    for (int64_t i = c->first; i < end->first; i++) {
        const entry *e = &l->entry[i];
        const box *b = &l->box[e->rank];
        int64_t len = b->count[0] * j->field->elem;
        err |= transfer(j->fd, l->buf[e->rank] + e->k * len, len, line_offset(j->field, b, e->k, 0), j->event->write);
    }
    return err;
}

static int by_column(const job *j, const column *c, const column *end) {
    unsigned char *p = j->limit->scratch;
    int err = 0;
    for (; c < end; c++) {
        if (!j->event->write || !c->full) err |= transfer(j->fd, p, c->hi - c->lo, c->lo, false);
        copy_column(j, c, p, c->lo, c->hi);
        if (j->event->write) err |= transfer(j->fd, p, c->hi - c->lo, c->lo, true);
    }
    return err;
}

static int by_piece(const job *j, const column *c, const column *end, int64_t piece) {
    unsigned char *p = j->limit->scratch;
    int err = 0;
    if (c == end) return 0;
    for (int64_t lo = c->lo, hi; c < end; lo = c < end && c->lo > hi ? c->lo : hi) {
        hi = lo + piece < end[-1].hi ? lo + piece : end[-1].hi;
        err |= transfer(j->fd, p, hi - lo, lo, false);
        for (const column *k = c; k < end && k->lo < hi; k++) copy_column(j, k, p, lo, hi);
        if (j->event->write) err |= transfer(j->fd, p, hi - lo, lo, true);
        while (c < end && c->hi <= hi) c++;
    }
    return err;
}

int move_limit(job *j, int how) {
    struct limit *l = j->limit;
    int workers = j->board->running >= 0 ? j->contest->contenders[j->board->running].workers : 1;
    const column *from = l->column + start_of(l, j->rank, workers), *to = l->column + start_of(l, j->rank + 1, workers);
    switch (how) {
    case BY_RUN: return by_run(j, from, to);
    case BY_COLUMN: return by_column(j, from, to);
    case BY_64K: return by_piece(j, from, to, 64 << 10);
    default: return by_piece(j, from, to, SCRATCH);
    }
}

void prepare_limit(job *j, uint32_t salt) {
    struct limit *l = j->limit;
    for (int r = 0; l && r < j->nranks; r++) {
        if (j->event->write)
            fill_box(j->field, &l->box[r], l->buf[r], salt);
        else
            memset(l->buf[r], 0xA5, (size_t)box_bytes(j->field, &l->box[r]));
    }
}

bool check_limit(const job *j, int workers) {
    const struct limit *l = j->limit;
    if (j->rank >= workers) return true;
    const column *from = l->column + start_of(l, j->rank, workers), *to = l->column + start_of(l, j->rank + 1, workers);
    bool good = true;
    for (int64_t i = from->first; i < to->first; i++) {
        const entry *e = &l->entry[i];
        const box *b = &l->box[e->rank];
        good &= check_lines(j->field, b, e->k, 1, l->buf[e->rank] + e->k * b->count[0] * j->field->elem);
    }
    return good;
}
