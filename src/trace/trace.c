/* trace.c: a trace in memory: made access by access, and given back. */
#include "trace/trace.h"
#include <errno.h>
#include <string.h>

static void free_maker(struct sluice_maker *m, int32_t nproc) {
    for (int32_t i = 0; m && m->proc && i < nproc; i++) {
        sluice_loops_free(&m->proc[i].loops);
        sluice_mem_free(m->proc[i].times.knot);
    }
    if (!m) return;
    sluice_mem_free(m->proc);
    sluice_mem_free(m->slot);
    sluice_mem_free(m);
}

void sluice_trace_free(sluice_trace *t) {
    free_maker(t->maker, t->nproc);
    for (int32_t i = 0; t->proc && i < t->nproc; i++) {
        sluice_mem_free(t->proc[i].tree);
        sluice_mem_free(t->proc[i].knot);
    }
    for (int32_t i = 0; i < t->nfile; i++) sluice_mem_free(t->file[i].name);
    for (int32_t i = 0; i < t->nshape; i++) sluice_set_free(&t->shape[i]);
    sluice_mem_free(t->proc);
    sluice_mem_free(t->file);
    sluice_mem_free(t->shape);
    *t = (sluice_trace){0};
}

int sluice_trace_make(sluice_trace *t, int nproc) {
    *t = (sluice_trace){0};
    if (nproc < 0) return SLUICE_E_ARGUMENT;
    struct sluice_maker *m = t->maker = sluice_mem_alloc(1, sizeof *m);
    if (m) *m = (struct sluice_maker){.proc = sluice_mem_alloc((size_t)nproc, sizeof *m->proc)};
    t->proc = sluice_mem_alloc((size_t)nproc, sizeof *t->proc);
    if (!m || !m->proc || !t->proc) {
        sluice_trace_free(t);
        return -ENOMEM;
    }
    t->nproc = nproc;
    memset(m->proc, 0, (size_t)nproc * sizeof *m->proc);
    for (int32_t i = 0; i < nproc; i++) t->proc[i] = (sluice_trace_proc){.complete = true};
    return 0;
}

int sluice_trace_add_file(sluice_trace *t, const char *name, int64_t size) {
    struct sluice_maker *m = t->maker;
    for (int32_t i = 0; i < t->nfile; i++) {
        if (strcmp(t->file[i].name, name) != 0) continue;
        t->file[i].size = sluice_max(t->file[i].size, size);
        return i;
    }
    if (t->nfile == m->file_cap) {
        const int32_t cap = 2 * m->file_cap + 8;
        sluice_trace_file *more = sluice_mem_resize(t->file, (size_t)cap, sizeof *more);
        if (!more) return -ENOMEM;
        t->file = more, m->file_cap = cap;
    }
    const size_t len = strlen(name) + 1;
    char *copy = sluice_mem_alloc(len, 1);
    if (!copy) return -ENOMEM;
    memcpy(copy, name, len);
    t->file[t->nfile] = (sluice_trace_file){copy, size};
    return t->nfile++;
}

/* Equal trees; those of equal sets in normal form mostly are. `by`: how much further b lies. */
static bool alike(const sluice_set *a, const sluice_set *b, int64_t by) {
    if (a->size != b->size || a->nnode != b->nnode || a->nroot != b->nroot) return false;
    for (int32_t i = 0; i < a->nnode; i++) {
        const sluice_node *f = &a->node[i], *g = &b->node[i];
        if (f->off != g->off - (i < a->nroot ? by : 0) || f->len != g->len || f->step != g->step || f->n != g->n ||
            f->inner != g->inner || f->ninner != g->ninner)
            return false;
    }
    return true;
}

static uint64_t mark_of(const sluice_set *s, int64_t by) {
    uint64_t h = sluice_mix(SLUICE_MIX, s->nroot);
    for (int32_t i = 0; i < s->nnode; i++) {
        const sluice_node *f = &s->node[i];
        h = sluice_mix(sluice_mix(h, f->off - (i < s->nroot ? by : 0)), f->len);
        h = sluice_mix(sluice_mix(sluice_mix(h, f->step), f->n), f->ninner);
    }
    return h ^ h >> 32;
}

/* Where the shape is in the hash table, or would be. */
static int32_t *slot_of(const sluice_trace *t, const sluice_set *s, int64_t by) {
    struct sluice_maker *m = t->maker;
    for (uint64_t h = mark_of(s, by);; h++) {
        int32_t *slot = &m->slot[h % (uint64_t)m->nslot];
        if (*slot < 0 || alike(&t->shape[*slot], s, by)) return slot;
    }
}

/* Room for one shape more, in a table that is at most half full. */
static int grow_shapes(sluice_trace *t) {
    struct sluice_maker *m = t->maker;
    if (m->forgotten > INT32_MAX / 2) return SLUICE_E_OVERFLOW;
    if (t->nshape < m->shape_cap) return 0;
    if (m->shape_cap > INT32_MAX / 8) return SLUICE_E_OVERFLOW;
    const int32_t cap = 2 * m->shape_cap + 16;
    sluice_set *shape = sluice_mem_resize(t->shape, (size_t)cap, sizeof *shape);
    if (!shape) return -ENOMEM;
    t->shape = shape;
    int32_t *slot = sluice_mem_alloc(2 * (size_t)cap, sizeof *slot);
    if (!slot) return -ENOMEM;
    sluice_mem_free(m->slot);
    m->slot = slot, m->nslot = 2 * cap, m->shape_cap = cap;
    memset(slot, -1, (size_t)m->nslot * sizeof *slot);
    for (int32_t i = 0; i < t->nshape; i++) *slot_of(t, &t->shape[i], 0) = i;
    return 0;
}

int sluice_trace_add_shape(sluice_trace *t, const sluice_set *s, int64_t by) {
    struct sluice_maker *m = t->maker;
    if (s->nnode == 0 || (s->nnode == 1 && s->node[0].n == 1)) return SLUICE_TRACE_BLOCK;
    int err = grow_shapes(t);
    if (err) return err;
    int32_t *slot = slot_of(t, s, by);
    if (*slot >= 0) return m->forgotten + *slot;
    sluice_set shape = SLUICE_SET_EMPTY;
    if ((err = sluice_set_shift(&shape, s, -by))) return err;
    t->shape[t->nshape] = shape;
    m->families += shape.nnode;
    return m->forgotten + (*slot = t->nshape++);
}

void sluice_trace_forget_shapes(sluice_trace *t) {
    struct sluice_maker *m = t->maker;
    for (int32_t i = 0; i < t->nshape; i++) sluice_set_free(&t->shape[i]);
    memset(m->slot, -1, (size_t)m->nslot * sizeof *m->slot);
    m->forgotten += t->nshape;
    t->nshape = 0, m->families = 0;
}

int sluice_trace_append(sluice_trace *t, const sluice_event *e) {
    const int64_t lo = sluice_set_lo(e->set), hi = sluice_set_hi(e->set);
    int64_t off, end;
    if (!t->maker || e->proc < 0 || e->proc >= t->nproc || e->file < 0 || e->file >= t->nfile || e->begin < 0 ||
        e->end < e->begin || e->end > SLUICE_TRACE_LATEST || e->off < 0)
        return SLUICE_E_ARGUMENT;
    if (!sluice_add(e->off, hi, &end) || end == INT64_MAX) return SLUICE_E_OVERFLOW;
    off = e->off + lo;
    const int shape = sluice_trace_add_shape(t, e->set, lo);
    if (shape < SLUICE_TRACE_BLOCK) return shape;
    sluice_making *p = &t->maker->proc[e->proc];
    sluice_trace_node access; /* what it has of shifts is set only if it is stored: that takes longer than all else */
    access.n = access.span = 1;
    access.file = e->file, access.shape = shape;
    access.write = e->write, access.collective = e->collective;
    access.loops = 0;
    access.off = e->set->size ? off : 0;
    access.size = e->set->size;
    access.busy = e->end - e->begin;
    int err = sluice_times_reserve(&p->times);
    if (!err && !sluice_loops_go_on(&p->loops, &access)) {
        memset(access.shift, 0, sizeof access.shift);
        err = sluice_loops_append(&p->loops, &access);
    }
    if (err) return err;
    sluice_times_append(&p->times, e->begin);
    p->end = sluice_max(p->end, e->end);
    return 0;
}

int sluice_trace_finish(sluice_trace *t) {
    struct sluice_maker *m = t->maker;
    for (int32_t i = 0; i < t->nproc; i++) {
        int err = sluice_loops_finish(&m->proc[i].loops);
        if (err) return err;
    }
    for (int32_t i = 0; i < t->nproc; i++) {
        sluice_making *from = &m->proc[i];
        sluice_trace_proc *p = &t->proc[i];
        if (!from->ready) sluice_times_finish(&from->times, from->end);
        p->nevents = from->times.events, p->blur = from->times.blur;
        p->tree = from->loops.tree, p->nnode = from->loops.n;
        p->knot = from->times.knot, p->nknot = from->times.n;
        from->loops.tree = NULL, from->times.knot = NULL;
    }
    free_maker(m, t->nproc);
    t->maker = NULL;
    return 0;
}

int64_t sluice_trace_count(const sluice_trace_proc *p, int64_t node) {
    int64_t count = 1;
    for (int64_t i = 0; i < node; i++)
        if (i + p->tree[i].span > node) count *= p->tree[i].n;
    return count;
}
