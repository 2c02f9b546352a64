/* parts.c: making trees of basic elements, and finding positions in them (parts.h). */
#include "mpiio/parts.h"
#include <errno.h>
#include <string.h>

/* ---- Making ------------------------------------------------------------------------------------------------------ */

static int append(sluice_parts_stack *s, const sluice_part *p) {
    if (s->n == s->cap) {
        int64_t cap = s->cap ? 2 * s->cap : 4;
        sluice_part *part = sluice_mem_resize(s->part, (size_t)cap, sizeof *part);
        if (!part) return -ENOMEM;
        s->part = part;
        s->cap = cap;
    }
    s->part[s->n++] = *p;
    return 0;
}

sluice_part sluice_parts_kind(sluice_kind kind, int64_t n) {
    return (sluice_part){.n = n, .each = {kind.numbers * kind.native, kind.numbers * kind.external, 1}, .kind = kind};
}

/* But for how often. */
static bool same(const sluice_part *a, const sluice_part *b) {
    return a->count == b->count && a->first == b->first && memcmp(&a->kind, &b->kind, sizeof a->kind) == 0;
}

int sluice_parts_push(sluice_parts *parts, int64_t first, const sluice_part *p) {
    sluice_parts_stack *open = &parts->open;
    if (p->n == 0) return 0;
    if (open->n == first || !same(&open->part[open->n - 1], p)) return append(open, p);
    open->part[open->n - 1].n += p->n;
    return 0;
}

int sluice_parts_close(sluice_parts *parts, int64_t first, sluice_part *list) {
    sluice_parts_stack *open = &parts->open;
    const int64_t count = open->n - first;
    open->n = first;
    sluice_part all = {.n = count > 0, .first = parts->done.n, .count = count};
    if (count == 1) {
        *list = open->part[first];
        return 0;
    }
    for (int64_t i = first; i < first + count; i++) {
        sluice_part *p = &open->part[i];
        memcpy(p->before, all.each, sizeof p->before);
        for (int m = 0; m < SLUICE_MEASURES; m++) all.each[m] += p->n * p->each[m];
        int err = append(&parts->done, p);
        if (err) return err;
    }
    *list = all;
    return 0;
}

int sluice_parts_take(sluice_parts *parts, const sluice_part *whole, sluice_part **part, int64_t *n) {
    sluice_parts_stack *done = &parts->done;
    int err = append(done, whole);
    if (err) return err;
    *part = done->part;
    *n = done->n;
    *done = (sluice_parts_stack){.n = 0};
    return 0;
}

void sluice_parts_free(sluice_parts *parts) {
    sluice_mem_free(parts->open.part);
    sluice_mem_free(parts->done.part);
}

/* ---- Positions --------------------------------------------------------------------------------------------------- */

static const sluice_part *whole_of(const sluice_typed *t) { return &t->part[t->nparts - 1]; }

/* Of the list of p, the last part with at most x before it. */
static const sluice_part *part_at(const sluice_typed *t, const sluice_part *p, int measure, int64_t x) {
    const sluice_part *list = &t->part[p->first];
    int64_t low = 1, high = p->count;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (list[mid].before[measure] <= x)
            low = mid + 1;
        else
            high = mid;
    }
    return &list[low - 1];
}

/* Position x of one measure in another, down to the beginning of the element in which it lies. */
static int64_t translate(const sluice_typed *t, int from, int64_t x, int to) {
    const sluice_part *p = whole_of(t);
    if (p->n == 0) return 0;
    for (int64_t y = 0;;) {
        y += x / p->each[from] * p->each[to];
        x %= p->each[from];
        if (p->count == 0) return y;
        p = part_at(t, p, from, x);
        x -= p->before[from];
        y += p->before[to];
    }
}

int64_t sluice_typed_elements(const sluice_typed *t, sluice_form form, int64_t n) {
    return translate(t, (int)form, n, SLUICE_ELEMENTS);
}

int64_t sluice_typed_bytes(const sluice_typed *t, sluice_form form, int64_t k) {
    return translate(t, SLUICE_ELEMENTS, k, (int)form);
}

/* ---- Converting -------------------------------------------------------------------------------------------------- */

typedef struct job {
    const sluice_typed *t;
    unsigned char *to;
    const unsigned char *from;
    bool back;
} job;

/* Elements [lo, hi) of a part that comes without end. */
static void convert(job *j, const sluice_part *p, int64_t lo, int64_t hi) {
    if (p->count == 0) {
        sluice_external32_convert(p->kind, hi - lo, j->to, j->from, j->back);
        j->to += (hi - lo) * p->each[j->back ? SLUICE_NATIVE : SLUICE_EXTERNAL32];
        j->from += (hi - lo) * p->each[j->back ? SLUICE_EXTERNAL32 : SLUICE_NATIVE];
        return;
    }
    const int64_t each = p->each[SLUICE_ELEMENTS];
    const sluice_part *end = &j->t->part[p->first + p->count];
    for (int64_t turn = lo / each * each; turn < hi; turn += each) {
        int64_t a = sluice_max(lo - turn, 0), b = sluice_min(hi - turn, each);
        for (const sluice_part *q = part_at(j->t, p, SLUICE_ELEMENTS, a); q < end; q++) {
            int64_t before = q->before[SLUICE_ELEMENTS], n = q->n * q->each[SLUICE_ELEMENTS];
            if (before >= b) break;
            convert(j, q, sluice_max(a - before, 0), sluice_min(b - before, n));
        }
    }
}

void sluice_typed_to_external32(const sluice_typed *t, int64_t k, int64_t n, const void *native, void *external) {
    if (n > 0 && t->elements > 0) convert(&(job){t, external, native, false}, whole_of(t), k, k + n);
}

void sluice_typed_from_external32(const sluice_typed *t, int64_t k, int64_t n, const void *external, void *native) {
    if (n > 0 && t->elements > 0) convert(&(job){t, native, external, true}, whole_of(t), k, k + n);
}
