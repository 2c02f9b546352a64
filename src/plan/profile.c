/* profile.c: the accesses of a trace to one file, equal ones made one. */
#include "plan/plan.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void sluice_profile_free(sluice_profile *p) {
    for (int64_t i = 0; i < p->n; i++) sluice_set_free(&p->use[i].set);
    sluice_mem_free(p->use);
    *p = (sluice_profile){0};
}

static int grow(sluice_profile *p) {
    const int64_t cap = 2 * p->cap + 64;
    if (p->n < p->cap) return 0;
    if (p->n >= sluice_work_limit(SLUICE_PROFILE_USES)) return SLUICE_E_COMPLEX;
    sluice_use *more = sluice_mem_resize(p->use, (size_t)cap, sizeof *more);
    if (!more) return -ENOMEM;
    p->use = more;
    p->cap = cap;
    return 0;
}

int sluice_profile_add(sluice_profile *p, const sluice_use *like, const sluice_set *set, int64_t off) {
    if (!set->size) return 0;
    int64_t lo, hi;
    int error = grow(p);
    if (error) return error;
    if (!sluice_add(sluice_set_lo(set), off, &lo) || !sluice_add(sluice_set_hi(set), off, &hi) || lo < 0)
        return SLUICE_E_OVERFLOW;
    sluice_use u = *like;
    u.run = (sluice_run){lo, hi - lo};
    u.set = (sluice_set)SLUICE_SET_EMPTY;
    if (hi - lo != set->size) error = sluice_set_shift(&u.set, set, off);
    if (error) return error;
    p->use[p->n++] = u;
    return 0;
}

int sluice_profile_take(sluice_profile *out, const sluice_trace *t, int file, sluice_reason *why) {
    sluice_profile p = {.nprocs = t->nproc};
    sluice_events c;
    sluice_event e;
    int error = sluice_events_init(&c, t, SLUICE_EVERY_PROCESS);
    while (!error && sluice_events_next(&c, &e)) {
        if (e.file != file) continue;
        const sluice_use like = {e.proc, 0, e.write, e.collective, 1, e.begin, e.begin, {0, 0}, SLUICE_SET_EMPTY};
        error = sluice_profile_add(&p, &like, e.set, e.off);
        /* A process that does the same once more has no new use. */
        if (!error && p.n % (1 << 20) == 0) sluice_profile_settle(&p);
    }
    sluice_events_close(&c);
    if (error == SLUICE_E_COMPLEX)
        sluice_refuse(why, error, -1, "more than %d different accesses to %.100s", SLUICE_PROFILE_USES,
                      t->file[file].name);
    else
        sluice_pass(why, error);
    if (error)
        sluice_profile_free(&p);
    else
        *out = p;
    return error;
}

int sluice_use_set(sluice_set *out, const sluice_use *u) {
    return u->set.size ? sluice_set_copy(out, &u->set) : sluice_set_block(out, u->run.off, u->run.len);
}

static int order(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* Any order of trees, as long as equal ones are equal. */
static int order_sets(const sluice_set *a, const sluice_set *b) {
    int c = order(a->size, b->size);
    if (!c) c = order(a->nnode, b->nnode);
    if (!c) c = order(a->nroot, b->nroot);
    for (int32_t i = 0; i < a->nnode && !c; i++) {
        const sluice_node *f = &a->node[i], *g = &b->node[i];
        c = order(f->off, g->off);
        if (!c) c = order(f->len, g->len);
        if (!c) c = order(f->step, g->step);
        if (!c) c = order(f->n, g->n);
        if (!c) c = order(f->ninner, g->ninner);
        if (!c) c = order(f->inner, g->inner);
    }
    return c;
}

int sluice_use_order(const sluice_use *a, const sluice_use *b) {
    int c = order(a->file, b->file);
    if (!c) c = order(a->run.off, b->run.off);
    if (!c) c = order(a->run.len, b->run.len);
    if (!c) c = order_sets(&a->set, &b->set);
    return c;
}

static int order_users(const void *x, const void *y) {
    const sluice_use *a = x, *b = y;
    int c = sluice_use_order(a, b);
    if (!c) c = order(a->proc, b->proc);
    if (!c) c = order(a->write, b->write);
    if (!c) c = order(a->first, b->first);
    return c;
}

void sluice_profile_settle(sluice_profile *p) {
    int64_t n = 0;
    if (p->n == 0) return;
    qsort(p->use, (size_t)p->n, sizeof *p->use, order_users);
    for (int64_t i = 1; i < p->n; i++) {
        sluice_use *last = &p->use[n], *u = &p->use[i];
        if (u->proc == last->proc && u->write == last->write && !sluice_use_order(last, u)) {
            last->n += u->n;
            last->last = sluice_max(last->last, u->last);
            last->collective = last->collective && u->collective;
            sluice_set_free(&u->set);
        } else
            p->use[++n] = *u;
    }
    p->n = n + 1;
}
