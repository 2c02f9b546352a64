/* atoms.c: the accesses of a profile split where any of them begins or ends, and who uses what comes of it.
 *
 *     process 0   [===========]                  accesses
 *     process 1         [===========]
 *                 |  0  | 01  |  1  |            atoms
 *
 * Different sets that are accessed are *items*, in the order of their first bytes. Those whose extents overlap,
 * directly or through others, are a cluster, and clusters have nothing to do with each other. If all items of a cluster
 * are runs, their ends are sorted and swept, with a list of those that are open. Else cells are refined: each item
 * splits the cells that it meets into what it has and what it has not, all in closed form. What has no closed form is
 * swept run by run. So n runs take n log n, and p interleaved sets p * p operations, whatever the number of their
 * chunks.
 */
#include "plan/plan.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_RUNS = 1 << 22,    /* that are swept in a cluster */
    MAX_WORK = 1 << 27,    /* open items, summed over atoms */
    MAX_REFINED = 1 << 12, /* items of a cluster that are refined */
    MAX_CELLS = 1 << 16,   /* and cells that this makes */
    MAX_FAMILIES = 1 << 21 /* of them */
};

/* Uses [from, to) of the profile have the same set. */
typedef struct item {
    int64_t from, to;
    int64_t place; /* in the list of open items */
} item;

/* A list of items that only grows at its head, so that cells share tails. */
typedef struct link {
    int64_t item, next; /* -1: the end */
} link;

typedef struct cell {
    sluice_set set;
    int64_t link;
} cell;

/* Where a run of an item begins or ends. */
typedef struct edge {
    int64_t at, item;
    bool end;
} edge;

/* What is known of a process while an atom is judged. */
typedef struct user {
    int64_t atom; /* the atom that this is about + 1 */
    int64_t reads, writes, last_read;
} user;

typedef struct shop {
    const sluice_profile *p;
    sluice_atoms *a;
    double dominance;
    int64_t nitem, work;
    item *item;
    user *user;
    int *proc; /* of the users of this atom; then the holders */
    int64_t *open;
    int64_t nopen;
    int64_t nlink, link_cap;
    link *link;
    int64_t ncell, cell_cap;
    cell *cell;
} shop;

static void *room(void *list, int64_t *cap, int64_t n, size_t size) {
    if (n < *cap) return list;
    void *more = sluice_mem_resize(list, (size_t)(2 * *cap + 64), size);
    if (more) *cap = 2 * *cap + 64;
    return more;
}

/* ---- Judging ---- */

/* The users of items, and when. */
typedef struct verdict {
    int n;
    int64_t first, first_write, total;
    int writers, reading;
} verdict;

static void add_item(shop *s, verdict *v, int64_t i) {
    for (int64_t k = s->item[i].from; k < s->item[i].to; k++) {
        const sluice_use *u = &s->p->use[k];
        user *x = &s->user[u->proc];
        if (x->atom != s->a->n + 1) {
            *x = (user){s->a->n + 1, 0, 0, INT64_MIN};
            s->proc[v->n++] = u->proc;
        }
        if (u->write) {
            v->writers += x->writes == 0;
            v->first_write = sluice_min(v->first_write, u->first);
            x->writes += u->n;
        } else {
            v->reading += x->reads == 0;
            x->last_read = sluice_max(x->last_read, u->last);
            x->reads += u->n;
        }
        v->first = sluice_min(v->first, u->first);
        v->total += u->n;
    }
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* The process that makes at least that part of all accesses, or -1. */
static int dominant(const shop *s, const verdict *v) {
    int most = s->proc[0];
    for (int k = 1; k < v->n; k++) {
        const user *x = &s->user[s->proc[k]], *y = &s->user[most];
        if (x->reads + x->writes > y->reads + y->writes) most = s->proc[k];
    }
    const double part = (double)(s->user[most].reads + s->user[most].writes) / (double)v->total;
    return s->dominance > 0 && part >= s->dominance ? most : -1;
}

/* The place of an atom; the holders are left in s->proc, their number in v->n. */
static sluice_sharing judge(shop *s, verdict *v) {
    const int one = v->n == 1 ? s->proc[0] : dominant(s, v);
    if (one >= 0) {
        s->proc[0] = one;
        v->n = 1;
        return SLUICE_PLACE_PRIVATE;
    }
    if (v->writers == 0) return SLUICE_PLACE_REPLICATED;
    if (v->writers == 1) {
        int later = 0;
        for (int k = 0; k < v->n; k++) later += s->user[s->proc[k]].last_read > v->first_write;
        if (later > 1) {
            int n = 0;
            for (int k = 0; k < v->n; k++)
                if (s->user[s->proc[k]].last_read > v->first_write) s->proc[n++] = s->proc[k];
            v->n = n;
            return SLUICE_PLACE_BROADCAST;
        }
    }
    s->proc[0] = s->p->nprocs;
    v->n = 1;
    return SLUICE_PLACE_SHARED;
}

static int add_tallies(shop *s, sluice_atom *a, int n) {
    a->tally = s->a->ntally;
    a->ntally = n;
    for (int k = 0; k < n; k++) {
        sluice_tally *more = room(s->a->tally, &s->a->tally_cap, s->a->ntally, sizeof *more);
        if (!more) return -ENOMEM;
        s->a->tally = more;
        const user *x = &s->user[s->proc[k]];
        more[s->a->ntally++] = (sluice_tally){s->proc[k], x->reads, x->writes};
    }
    return 0;
}

/* Adds the atom of these bytes; *set, if it is not one run, becomes its. v: its items have been added. */
static int add_atom(shop *s, verdict *v, int32_t file, sluice_run run, sluice_set *set) {
    sluice_atom a = {.file = file, .first = v->first, .run = run, .set = SLUICE_SET_EMPTY};
    sluice_atom *more = room(s->a->atom, &s->a->cap, s->a->n, sizeof *more);
    if (!more) return -ENOMEM;
    s->a->atom = more;
    qsort(s->proc, (size_t)v->n, sizeof *s->proc, by_number);
    if (add_tallies(s, &a, v->n)) return -ENOMEM;
    a.place = judge(s, v);
    a.holders = sluice_holders_intern(&s->a->holders, s->proc, v->n);
    if (a.holders < 0) return -ENOMEM;
    if (set && set->size != run.len) {
        a.set = *set;
        *set = (sluice_set)SLUICE_SET_EMPTY;
    }
    s->a->atom[s->a->n++] = a;
    return 0;
}

static verdict nobody(void) { return (verdict){.first = INT64_MAX, .first_write = INT64_MAX}; }

static const sluice_use *use_of(const shop *s, int64_t i) { return &s->p->use[s->item[i].from]; }

/* ---- Runs ---- */

/* Ends before beginnings, so that what only touches is not open together. */
static int by_place(const void *a, const void *b) {
    const edge *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (int)y->end - (int)x->end;
}

static void turn(shop *s, const edge *e) {
    item *i = &s->item[e->item];
    if (e->end) {
        s->open[i->place] = s->open[--s->nopen];
        s->item[s->open[i->place]].place = i->place;
    } else {
        i->place = s->nopen;
        s->open[s->nopen++] = e->item;
    }
}

static int sweep_edges(shop *s, edge *e, int64_t n, int32_t file) {
    qsort(e, (size_t)n, sizeof *e, by_place);
    for (int64_t k = 0; k < n; k++) {
        turn(s, &e[k]);
        if (!s->nopen || e[k + 1].at == e[k].at) continue;
        verdict v = nobody();
        if ((s->work += s->nopen) > sluice_work_limit(MAX_WORK)) return SLUICE_E_COMPLEX;
        for (int64_t i = 0; i < s->nopen; i++) add_item(s, &v, s->open[i]);
        const int error = add_atom(s, &v, file, (sluice_run){e[k].at, e[k + 1].at - e[k].at}, NULL);
        if (error) return error;
    }
    return 0;
}

static int sweep(shop *s, int64_t from, int64_t to) {
    int64_t runs = 0, n = 0;
    for (int64_t i = from; i < to; i++) {
        const sluice_use *u = use_of(s, i);
        runs += u->set.size ? sluice_set_nruns(&u->set) : 1;
        if (runs > sluice_work_limit(MAX_RUNS)) return SLUICE_E_COMPLEX;
    }
    edge *e = sluice_mem_alloc((size_t)(2 * runs), sizeof *e);
    if (!e) return -ENOMEM;
    for (int64_t i = from; i < to; i++) {
        const sluice_use *u = use_of(s, i);
        sluice_run r = u->run;
        sluice_cursor c;
        if (u->set.size) sluice_cursor_init(&c, &u->set);
        while (!u->set.size || sluice_cursor_run(&c, &r)) {
            e[n++] = (edge){r.off, i, false};
            e[n++] = (edge){r.off + r.len, i, true};
            if (!u->set.size) break;
        }
    }
    s->nopen = 0;
    const int error = sweep_edges(s, e, n, use_of(s, from)->file);
    sluice_mem_free(e);
    return error;
}

/* ---- Sets ---- */

static int64_t push_link(shop *s, int64_t of, int64_t next) {
    link *more = room(s->link, &s->link_cap, s->nlink, sizeof *more);
    if (!more) return -ENOMEM;
    s->link = more;
    s->link[s->nlink] = (link){of, next};
    return s->nlink++;
}

/* A new cell, which takes the set over. */
static int push_cell(shop *s, sluice_set *set, int64_t of, int64_t next) {
    if (s->ncell >= sluice_work_limit(MAX_CELLS)) return SLUICE_E_COMPLEX;
    cell *more = room(s->cell, &s->cell_cap, s->ncell, sizeof *more);
    if (!more) return -ENOMEM;
    s->cell = more;
    const int64_t l = push_link(s, of, next);
    if (l < 0) return (int)l;
    s->cell[s->ncell++] = (cell){*set, l};
    *set = (sluice_set)SLUICE_SET_EMPTY;
    return 0;
}

/* Splits cell k by what is left of an item. */
static int split_cell(shop *s, int64_t k, sluice_set *rest, int64_t of) {
    sluice_set both = SLUICE_SET_EMPTY;
    int error = sluice_set_intersect(&both, &s->cell[k].set, rest);
    if (!error && both.size && both.size == s->cell[k].set.size) {
        const int64_t l = push_link(s, of, s->cell[k].link);
        if (l >= 0) s->cell[k].link = l;
        error = l < 0 ? (int)l : sluice_set_subtract(rest, rest, &both);
    } else if (!error && both.size) {
        error = sluice_set_subtract(&s->cell[k].set, &s->cell[k].set, &both);
        if (!error) error = sluice_set_subtract(rest, rest, &both);
        if (!error) error = push_cell(s, &both, of, s->cell[k].link);
    }
    sluice_set_free(&both);
    return error;
}

static int refine_by(shop *s, int64_t i) {
    sluice_set rest = SLUICE_SET_EMPTY;
    int error = sluice_use_set(&rest, use_of(s, i));
    const int64_t n = s->ncell;
    for (int64_t k = 0; k < n && !error && rest.size; k++) {
        const sluice_set *c = &s->cell[k].set;
        if (sluice_set_lo(c) >= sluice_set_hi(&rest) || sluice_set_hi(c) <= sluice_set_lo(&rest)) continue;
        error = split_cell(s, k, &rest, i);
    }
    if (!error && rest.size) error = push_cell(s, &rest, i, -1);
    sluice_set_free(&rest);
    return error;
}

static int add_cells(shop *s, int32_t file) {
    for (int64_t k = 0; k < s->ncell; k++) {
        verdict v = nobody();
        sluice_set *c = &s->cell[k].set;
        for (int64_t l = s->cell[k].link; l >= 0; l = s->link[l].next) add_item(s, &v, s->link[l].item);
        const int64_t lo = sluice_set_lo(c);
        const int error = add_atom(s, &v, file, (sluice_run){lo, sluice_set_hi(c) - lo}, c);
        if (error) return error;
    }
    return 0;
}

static int refine(shop *s, int64_t from, int64_t to) {
    int error = to - from > MAX_REFINED ? SLUICE_E_COMPLEX : 0;
    int64_t families = 0;
    s->nlink = 0;
    for (int64_t i = from; i < to && !error; i++) error = refine_by(s, i);
    for (int64_t k = 0; k < s->ncell; k++) families += s->cell[k].set.nnode;
    if (!error && families > MAX_FAMILIES) error = SLUICE_E_COMPLEX;
    if (!error) error = add_cells(s, use_of(s, from)->file);
    for (int64_t k = 0; k < s->ncell; k++) sluice_set_free(&s->cell[k].set);
    s->ncell = 0;
    return error;
}

/* ---- Clusters ---- */

static int handle(shop *s, int64_t from, int64_t to) {
    bool sets = false;
    for (int64_t i = from; i < to; i++) sets = sets || use_of(s, i)->set.size;
    const int error = sets ? refine(s, from, to) : SLUICE_E_COMPLEX;
    return error == SLUICE_E_COMPLEX ? sweep(s, from, to) : error;
}

static int make(shop *s, sluice_reason *why) {
    const sluice_profile *p = s->p;
    for (int64_t k = 0; k < p->n; k++) {
        if (!k || sluice_use_order(&p->use[k - 1], &p->use[k])) s->item[s->nitem++] = (item){k, k, 0};
        s->item[s->nitem - 1].to = k + 1;
    }
    for (int64_t i = 0, end; i < s->nitem; i = end) {
        const sluice_use *u = use_of(s, i);
        int64_t hi = u->run.off + u->run.len;
        for (end = i + 1; end < s->nitem; end++) {
            const sluice_use *next = use_of(s, end);
            if (next->file != u->file || next->run.off >= hi) break;
            hi = sluice_max(hi, next->run.off + next->run.len);
        }
        const int error = handle(s, i, end);
        if (error == SLUICE_E_COMPLEX)
            return sluice_refuse(why, error, u->run.off,
                                 "the accesses from byte %" PRId64 " to %" PRId64
                                 " overlap so that they fall into too many chunks",
                                 u->run.off, hi);
        if (error) return sluice_pass(why, error);
    }
    return 0;
}

void sluice_atoms_free(sluice_atoms *a) {
    for (int64_t i = 0; i < a->n; i++) sluice_set_free(&a->atom[i].set);
    sluice_mem_free(a->atom);
    sluice_mem_free(a->tally);
    sluice_holders_free(&a->holders);
    *a = (sluice_atoms){0};
}

int sluice_atoms_make(sluice_atoms *out, const sluice_profile *p, double dominance, sluice_reason *why) {
    sluice_atoms a = {.nprocs = p->nprocs};
    shop s = {.p = p, .a = &a, .dominance = dominance};
    s.item = sluice_mem_alloc((size_t)p->n + 1, sizeof *s.item);
    s.open = sluice_mem_alloc((size_t)p->n + 1, sizeof *s.open);
    s.user = sluice_mem_alloc((size_t)p->nprocs, sizeof *s.user);
    s.proc = sluice_mem_alloc((size_t)p->nprocs, sizeof *s.proc);
    if (s.user) memset(s.user, 0, (size_t)p->nprocs * sizeof *s.user);
    const int error = s.item && s.open && s.user && s.proc ? make(&s, why) : sluice_pass(why, -ENOMEM);
    sluice_mem_free(s.item);
    sluice_mem_free(s.open);
    sluice_mem_free(s.user);
    sluice_mem_free(s.proc);
    sluice_mem_free(s.link);
    sluice_mem_free(s.cell);
    if (error)
        sluice_atoms_free(&a);
    else
        *out = a;
    return error;
}
