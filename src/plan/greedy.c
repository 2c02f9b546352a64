/* greedy.c: atoms laid down in partitions by their first use.
 *
 * Atoms of one file that were first used at the same time and have the same holders are a *part*. In a partition, parts
 * come in the order of their times; those of the same time and file lie mixed, in the order of their bytes, so that
 * what one access brought lies as the access had it:
 *
 *     time 5     file        aabbaabb        a: private to 0, b: copies in 0 and 1
 *                subfile 0   aabbaabb        b lies at {(2,3,4,2)}
 *                subfile 1   bbbb            b lies at 0
 *
 * Parts with the same holders whose bytes ascend with their times are then chained to one group: k-th byte stays at
 * k-th byte. So what a program writes step by step, front to back, is one group for each process.
 */
#include "plan/plan.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN = 8 }; /* chains with the same holders that may go on */

/* Where it lies is a block for each holder, from at[] on, unless there are sets. */
typedef struct part {
    int64_t first, holders, next; /* next: of its chain, -1 the last */
    int32_t file;
    sluice_sharing place;
    sluice_run run;
    sluice_set set; /* empty if it is one run */
    int64_t bytes, at;
    sluice_set *sets;
} part;

/* Parts from `first` to `last`. */
typedef struct chain {
    int64_t first, last, n;
} chain;

typedef struct shop {
    const sluice_atoms *a;
    sluice_atom const **sorted;
    int64_t npart;
    part *part;
    int64_t nat;
    int64_t *at;
    int64_t *end; /* of each subfile */
    int64_t nchain;
    chain *chain;
    int64_t *opened; /* by holders and place: OPEN numbers of chains, -1: none */
} shop;

static const int *holders_of(const shop *s, const part *p, int *n) {
    const struct sluice_holder_list *l = &s->a->holders.list[p->holders];
    *n = l->n;
    return &s->a->holders.pool[l->at];
}

/* ---- Parts ---- */

static int order(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int by_time(const void *x, const void *y) {
    const sluice_atom *a = *(const sluice_atom *const *)x, *b = *(const sluice_atom *const *)y;
    int c = order(a->first, b->first);
    if (!c) c = order(a->file, b->file);
    if (!c) c = order(a->holders, b->holders);
    if (!c) c = order((int)a->place, (int)b->place);
    if (!c) c = order(a->run.off, b->run.off);
    return c;
}

/* The union of n atoms in ascending order of their first bytes. */
static int join_atoms(sluice_set *out, sluice_atom const *const *atom, int64_t n) {
    bool runs = true;
    for (int64_t i = 0; i < n; i++) runs = runs && !atom[i]->set.size;
    if (runs) {
        sluice_run *run = sluice_mem_alloc((size_t)n, sizeof *run);
        if (!run) return -ENOMEM;
        for (int64_t i = 0; i < n; i++) run[i] = atom[i]->run;
        const int error = sluice_set_runs(out, run, n, NULL);
        sluice_mem_free(run);
        return error;
    }
    if (n == 1) return sluice_set_copy(out, &atom[0]->set);
    sluice_set other = SLUICE_SET_EMPTY;
    int error = join_atoms(out, atom, n / 2);
    if (!error) error = join_atoms(&other, atom + n / 2, n - n / 2);
    if (!error) error = sluice_set_union(out, out, &other);
    sluice_set_free(&other);
    return error;
}

static int make_part(shop *s, sluice_atom const *const *atom, int64_t n) {
    part p = {.first = atom[0]->first,
              .holders = atom[0]->holders,
              .next = -1,
              .file = atom[0]->file,
              .place = atom[0]->place,
              .run = atom[0]->run,
              .set = SLUICE_SET_EMPTY,
              .bytes = atom[0]->run.len};
    if (n > 1 || atom[0]->set.size) {
        const int error = join_atoms(&p.set, atom, n);
        if (error) {
            sluice_set_free(&p.set);
            return error;
        }
        p.run = (sluice_run){sluice_set_lo(&p.set), sluice_set_hi(&p.set) - sluice_set_lo(&p.set)};
        p.bytes = p.set.size;
        if (p.bytes == p.run.len) sluice_set_free(&p.set);
    }
    p.at = s->nat;
    s->nat += s->a->holders.list[p.holders].n;
    s->part[s->npart++] = p;
    return 0;
}

static int make_parts(shop *s) {
    const sluice_atoms *a = s->a;
    for (int64_t i = 0; i < a->n; i++) s->sorted[i] = &a->atom[i];
    qsort(s->sorted, (size_t)a->n, sizeof *s->sorted, by_time);
    for (int64_t i = 0, end; i < a->n; i = end) {
        const sluice_atom *x = s->sorted[i];
        for (end = i + 1; end < a->n; end++) {
            const sluice_atom *y = s->sorted[end];
            if (x->first != y->first || x->file != y->file || x->holders != y->holders || x->place != y->place) break;
        }
        const int error = make_part(s, &s->sorted[i], end - i);
        if (error) return error;
    }
    return 0;
}

/* ---- Places ---- */

/* A part held by a subfile, to be sorted by subfile. */
typedef struct held {
    int subfile, k; /* k: which of its holders that is */
    int64_t part;
} held;

static int by_subfile(const void *x, const void *y) {
    const held *a = x, *b = y;
    if (a->subfile != b->subfile) return a->subfile < b->subfile ? -1 : 1;
    return order(a->part, b->part);
}

static int set_of(sluice_set *out, const part *p) {
    return p->set.size ? sluice_set_copy(out, &p->set) : sluice_set_block(out, p->run.off, p->run.len);
}

static int join_parts(sluice_set *out, const shop *s, const held *h, int64_t n) {
    sluice_set other = SLUICE_SET_EMPTY;
    if (n == 1) return set_of(out, &s->part[h->part]);
    int error = join_parts(out, s, h, n / 2);
    if (!error) error = join_parts(&other, s, h + n / 2, n - n / 2);
    if (!error) error = sluice_set_union(out, out, &other);
    sluice_set_free(&other);
    return error;
}

/* The set where part h lies among all that its subfile gets at that time; a block is only a number. */
static int mix_one(shop *s, const held *h, const sluice_set *all, int64_t base) {
    part *p = &s->part[h->part];
    sluice_set mine = SLUICE_SET_EMPTY;
    int n, error = set_of(&mine, p);
    if (!error) error = sluice_set_project(&mine, &mine, all);
    if (!error) error = sluice_set_shift(&mine, &mine, base);
    s->at[p->at + h->k] = sluice_set_lo(&mine);
    if (!error && sluice_set_hi(&mine) - sluice_set_lo(&mine) != mine.size) {
        holders_of(s, p, &n);
        if (!p->sets && (p->sets = sluice_mem_alloc((size_t)n, sizeof *p->sets)))
            for (int i = 0; i < n; i++) p->sets[i] = (sluice_set)SLUICE_SET_EMPTY;
        if (p->sets) {
            p->sets[h->k] = mine;
            return 0;
        }
        error = -ENOMEM;
    }
    sluice_set_free(&mine);
    return error;
}

/* Parts of one time and file in one subfile. */
static int place_in(shop *s, const held *h, int64_t n) {
    const int64_t base = s->end[h->subfile];
    sluice_set all = SLUICE_SET_EMPTY;
    int error = 0;
    for (int64_t i = 0; i < n; i++)
        if (!sluice_add(s->end[h->subfile], s->part[h[i].part].bytes, &s->end[h->subfile])) return SLUICE_E_OVERFLOW;
    if (n == 1) {
        s->at[s->part[h->part].at + h->k] = base;
        return 0;
    }
    error = join_parts(&all, s, h, n);
    for (int64_t i = 0; i < n && !error; i++) error = mix_one(s, &h[i], &all, base);
    sluice_set_free(&all);
    return error;
}

/* Parts [from, to) are of one time and file. */
static int place_time(shop *s, int64_t from, int64_t to, held *h) {
    int64_t n = 0, end;
    for (int64_t i = from; i < to; i++) {
        int count;
        const int *subfile = holders_of(s, &s->part[i], &count);
        for (int k = 0; k < count; k++) h[n++] = (held){subfile[k], k, i};
    }
    qsort(h, (size_t)n, sizeof *h, by_subfile);
    for (int64_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && h[end].subfile == h[i].subfile;) end++;
        const int error = place_in(s, &h[i], end - i);
        if (error) return error;
    }
    return 0;
}

static int place_parts(shop *s) {
    held *h = sluice_mem_alloc((size_t)s->nat + 1, sizeof *h);
    int error = h ? 0 : -ENOMEM;
    for (int64_t i = 0, end; i < s->npart && !error; i = end) {
        for (end = i + 1; end < s->npart; end++)
            if (s->part[end].first != s->part[i].first || s->part[end].file != s->part[i].file) break;
        error = place_time(s, i, end, h);
    }
    sluice_mem_free(h);
    return error;
}

/* ---- Chains ---- */

/* The open chain that ends last before the part, or -1; *slot: where a new one is kept. */
static int64_t find_chain(const shop *s, const part *p, int64_t *opened, int *slot) {
    int64_t best = -1, best_end = -1, oldest = INT64_MAX;
    *slot = 0;
    for (int k = 0; k < OPEN; k++) {
        if (opened[k] < 0) {
            *slot = k;
            break;
        }
        const part *last = &s->part[s->chain[opened[k]].last];
        const int64_t end = last->run.off + last->run.len;
        if (s->chain[opened[k]].last < oldest) oldest = s->chain[opened[k]].last, *slot = k;
        if (last->file == p->file && end <= p->run.off && end > best_end) best = opened[k], best_end = end;
    }
    return best;
}

static void link_parts(shop *s) {
    for (int64_t i = 0; i < s->npart; i++) {
        part *p = &s->part[i];
        int slot;
        int64_t *opened = &s->opened[(p->holders * 4 + (int)p->place) * OPEN], c = find_chain(s, p, opened, &slot);
        if (c < 0) {
            opened[slot] = s->nchain;
            s->chain[s->nchain++] = (chain){i, i, 1};
        } else {
            s->part[s->chain[c].last].next = i;
            s->chain[c].last = i;
            s->chain[c].n++;
        }
    }
}

/* The union of n sets that follow each other: blocks, or what `sets` has where they are none. */
static int join_chain(sluice_set *out, const sluice_run *run, const sluice_set *const *sets, int64_t n) {
    bool runs = true;
    for (int64_t i = 0; i < n; i++) runs = runs && !sets[i];
    if (runs) return sluice_set_runs(out, run, n, NULL);
    if (n == 1) return sluice_set_copy(out, sets[0]);
    sluice_set other = SLUICE_SET_EMPTY;
    int error = join_chain(out, run, sets, n / 2);
    if (!error) error = join_chain(&other, run + n / 2, sets + n / 2, n - n / 2);
    if (!error) error = sluice_set_union(out, out, &other);
    sluice_set_free(&other);
    return error;
}

static int fill_group(const shop *s, const chain *c, sluice_placement_group *g, sluice_run *run,
                      const sluice_set **sets) {
    const part *first = &s->part[c->first];
    int n;
    const int *subfile = holders_of(s, first, &n);
    g->place = first->place;
    g->subfile = sluice_mem_alloc((size_t)n, sizeof *g->subfile);
    g->at = sluice_mem_alloc((size_t)n, sizeof *g->at);
    if (!g->subfile || !g->at) return -ENOMEM;
    g->n = n;
    for (int k = 0; k < n; k++) g->at[k] = (sluice_set)SLUICE_SET_EMPTY;
    memcpy(g->subfile, subfile, (size_t)n * sizeof *subfile);
    for (int k = -1; k < n; k++) { /* the bytes, then where they lie */
        int64_t m = 0;
        for (int64_t i = c->first; i >= 0; i = s->part[i].next, m++) {
            const part *p = &s->part[i];
            run[m] = k < 0 ? p->run : (sluice_run){s->at[p->at + k], p->bytes};
            sets[m] = k < 0 ? (p->set.size ? &p->set : NULL) : p->sets && p->sets[k].size ? &p->sets[k] : NULL;
        }
        const int error = join_chain(k < 0 ? &g->bytes : &g->at[k], run, sets, m);
        if (error) return error;
    }
    return 0;
}

static int make_groups(shop *s, sluice_greedy *g, sluice_reason *why) {
    int64_t most = 0;
    int error = 0;
    if (s->nchain > SLUICE_MAX_GROUPS)
        return sluice_refuse(why, SLUICE_E_COMPLEX, -1,
                             "the accesses fall into %" PRId64 " groups; a plan has at most %d", s->nchain,
                             SLUICE_MAX_GROUPS);
    for (int64_t i = 0; i < s->nchain; i++) most = sluice_max(most, s->chain[i].n);
    sluice_run *run = sluice_mem_alloc((size_t)most + 1, sizeof *run);
    const sluice_set **sets = sluice_mem_alloc((size_t)most + 1, sizeof *sets);
    g->group = sluice_mem_alloc((size_t)s->nchain + 1, sizeof *g->group);
    g->file = sluice_mem_alloc((size_t)s->nchain + 1, sizeof *g->file);
    if (!run || !sets || !g->group || !g->file) error = -ENOMEM;
    for (int64_t i = 0; i < s->nchain && !error; i++) {
        memset(&g->group[i], 0, sizeof g->group[i]);
        g->file[i] = s->part[s->chain[i].first].file;
        g->n = (int)i + 1;
        error = fill_group(s, &s->chain[i], &g->group[i], run, sets);
    }
    sluice_mem_free(run);
    sluice_mem_free(sets);
    return sluice_pass(why, error);
}

/* ---- All of it ---- */

void sluice_greedy_free(sluice_greedy *g) {
    for (int i = 0; i < g->n; i++) sluice_placement_group_free(&g->group[i]);
    sluice_mem_free(g->group);
    sluice_mem_free(g->file);
    *g = (sluice_greedy){0};
}

static int make(shop *s, sluice_greedy *g, sluice_reason *why) {
    int error = make_parts(s);
    if (error) return sluice_pass(why, error);
    s->at = sluice_mem_alloc((size_t)s->nat + 1, sizeof *s->at);
    s->chain = sluice_mem_alloc((size_t)s->npart + 1, sizeof *s->chain);
    if (!s->at || !s->chain) return sluice_pass(why, -ENOMEM);
    if ((error = place_parts(s))) return sluice_pass(why, error);
    link_parts(s);
    return make_groups(s, g, why);
}

int sluice_greedy_make(sluice_greedy *out, const sluice_atoms *a, sluice_reason *why) {
    sluice_greedy g = {0};
    shop s = {.a = a};
    const size_t slots = (size_t)a->holders.n * 4 * OPEN, subfiles = (size_t)a->nprocs + 1;
    s.sorted = sluice_mem_alloc((size_t)a->n + 1, sizeof *s.sorted);
    s.part = sluice_mem_alloc((size_t)a->n + 1, sizeof *s.part);
    s.end = sluice_mem_alloc(subfiles, sizeof *s.end);
    s.opened = sluice_mem_alloc(slots + 1, sizeof *s.opened);
    if (s.end) memset(s.end, 0, subfiles * sizeof *s.end);
    for (size_t i = 0; s.opened && i < slots; i++) s.opened[i] = -1;
    const int error = s.sorted && s.part && s.end && s.opened ? make(&s, &g, why) : sluice_pass(why, -ENOMEM);
    for (int64_t i = 0; i < s.npart; i++) {
        int n;
        holders_of(&s, &s.part[i], &n);
        for (int k = 0; s.part[i].sets && k < n; k++) sluice_set_free(&s.part[i].sets[k]);
        sluice_mem_free(s.part[i].sets);
        sluice_set_free(&s.part[i].set);
    }
    sluice_mem_free(s.sorted);
    sluice_mem_free(s.part);
    sluice_mem_free(s.at);
    sluice_mem_free(s.end);
    sluice_mem_free(s.chain);
    sluice_mem_free(s.opened);
    if (error)
        sluice_greedy_free(&g);
    else
        *out = g;
    return error;
}

int sluice_greedy_place(sluice_placement **out, sluice_profile *p, const char *name, int64_t size, double dominance,
                        sluice_reason *why) {
    sluice_atoms a = {0};
    sluice_greedy g = {0};
    sluice_placement *made = NULL;
    sluice_profile_settle(p);
    int error = sluice_atoms_make(&a, p, dominance, why);
    if (!error) error = sluice_greedy_make(&g, &a, why);
    if (!error) error = sluice_pass(why, sluice_placement_make(&made, name, size, p->nprocs));
    if (!error) {
        made->ngroups = g.n;
        made->group = g.group;
        g.n = 0;
        g.group = NULL;
        *out = made;
    }
    sluice_greedy_free(&g);
    sluice_atoms_free(&a);
    return error;
}
