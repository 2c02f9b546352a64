/* plan.c: the domains of a collective call, and what each aggregator transfers. See plan.h. */
#include "io/plan.h"
#include <errno.h>
#include <string.h>

enum {
    WINDOW = 4 << 20,  /* long enough that a device streams, and that meeting after each costs nothing beside it */
    LEAST = 64 << 10,  /* less is not worth another aggregator */
    LARGEST = 1 << 30, /* a message has at most 2^31-1 bytes */
};

/* ---- Aggregators --------------------------------------------------------------------------------------------- */

/* How many processes move data: as asked; or, by the papers' rules, all; or as many as the nodes have cores to copy
 * with, and the range is worth. */
static int how_many(const sluice_plan_facts *f, int64_t extent) {
    if (f->together.aggregators) return f->together.aggregators < f->size ? f->together.aggregators : f->size;
    if (f->together.division != SLUICE_DIVIDE_AUTO && f->together.division != SLUICE_DIVIDE_BALANCED) return f->size;
    int64_t n = sluice_min(f->size, (int64_t)f->nnodes * f->cores);
    return (int)sluice_max(1, sluice_min(n, extent / LEAST));
}

/* Marks n ranks, taking one from each node in turn. Returns how many it took from the node that gives most. */
static int choose_ranks(const sluice_plan_facts *f, int n, int *turn, bool *chosen) {
    int taken = 0, round = 0;
    memset(turn, 0, (size_t)f->nnodes * sizeof *turn);
    memset(chosen, 0, (size_t)f->size * sizeof *chosen);
    while (taken < n) {
        round++;
        for (int r = 0; r < f->size && taken < n; r++) {
            if (chosen[r] || turn[f->node_of[r]] == round) continue;
            turn[f->node_of[r]] = round;
            chosen[r] = true;
            taken++;
        }
    }
    return round;
}

/* ---- Domains ------------------------------------------------------------------------------------------------- */

/* The union of what ranks of a node (-1: of all) want in [lo, hi); by halves. */
static int unite(sluice_set *out, const sluice_plan_facts *f, const sluice_set *request, int first, int last, int node,
                 int64_t lo, int64_t hi) {
    if (last - first == 1) {
        bool in = (node < 0 || f->node_of[first] == node) && sluice_set_lo(&request[first]) < hi &&
                  sluice_set_hi(&request[first]) > lo;
        return in ? sluice_set_cut(out, &request[first], lo, hi) : sluice_set_block(out, 0, 0);
    }
    sluice_set high = SLUICE_SET_EMPTY;
    int half = first + (last - first) / 2;
    int err = unite(out, f, request, first, half, node, lo, hi);
    if (!err) err = unite(&high, f, request, half, last, node, lo, hi);
    if (!err) err = sluice_set_union(out, out, &high);
    sluice_set_free(&high);
    return err;
}

static void bound(sluice_plan *p, const sluice_plan_facts *f, const sluice_set *request) {
    p->lo = INT64_MAX;
    p->hi = 0;
    for (int r = 0; r < f->size; r++) {
        if (!request[r].size) continue;
        p->lo = sluice_min(p->lo, sluice_set_lo(&request[r]));
        p->hi = sluice_max(p->hi, sluice_set_hi(&request[r]));
    }
    if (p->lo > p->hi) p->lo = p->hi = f->origin;
}

/* The rule of division; `wanted` is filled in where it is needed. */
static int rule(sluice_domains *d, const sluice_plan *p, const sluice_plan_facts *f, const sluice_set *request,
                sluice_set *wanted) {
    *d = (sluice_domains){.size = sizeof *d, .kind = SLUICE_DOMAIN_BLOCK, .nprocs = p->n, .lo = p->lo, .hi = p->hi};
    sluice_division division = f->together.division;
    d->align = f->together.align;
    switch (division) {
    case SLUICE_DIVIDE_BALANCED: {
        int err = unite(wanted, f, request, 0, f->size, -1, p->lo, p->hi);
        if (!err) {
            d->kind = SLUICE_DOMAIN_WEIGHTED;
            d->wanted = wanted;
            return 0;
        }
        if (err != SLUICE_E_COMPLEX) return err;
    } /* fall through */
    case SLUICE_DIVIDE_AUTO:
        d->kind = SLUICE_DOMAIN_EVEN;
        if (!d->align && p->hi - p->lo >= (int64_t)p->n * LEAST) d->align = f->align;
        return 0;
    case SLUICE_DIVIDE_STATIC:
        d->lo = f->origin;
        d->hi = f->end;
        d->unit = f->slab;
        return 0;
    case SLUICE_DIVIDE_CYCLIC:
        d->kind = SLUICE_DOMAIN_CYCLIC;
        d->block = f->together.block;
        break;
    case SLUICE_DIVIDE_DYNAMIC: break;
    }
    d->unit = f->slab;
    if (p->hi > p->lo) {
        d->lo = f->origin + (p->lo - f->origin) / f->slab * f->slab;
        d->hi = f->origin + sluice_ceil_div(p->hi - f->origin, f->slab) * f->slab; /* fits: the array does */
    }
    return 0;
}

static int divide(sluice_plan *p, const sluice_plan_facts *f, const sluice_set *request, sluice_reason *why) {
    sluice_domains d;
    sluice_set wanted = SLUICE_SET_EMPTY;
    int err = sluice_pass(why, rule(&d, p, f, request, &wanted));
    for (int a = 0; a < p->n && !err; a++) {
        sluice_set *domain = &p->aggregator[a].domain;
        err = sluice_domain(domain, &d, a, why);
        /* What lies outside the requests needs no window. */
        if (!err) err = sluice_pass(why, sluice_set_cut(domain, domain, p->lo, p->hi));
    }
    sluice_set_free(&wanted);
    return err;
}

/* ---- Windows ------------------------------------------------------------------------------------------------- */

/* By counting: start[n + 1] moves from where those of node n start to where they end. */
static int sort_by_node(sluice_plan *p, const sluice_plan_facts *f) {
    p->by_node = sluice_mem_alloc((size_t)p->n + (size_t)f->nnodes + 2, sizeof *p->by_node);
    if (!p->by_node) return -ENOMEM;
    int *start = p->first = p->by_node + p->n;
    memset(start, 0, ((size_t)f->nnodes + 2) * sizeof *start);
    for (int a = 0; a < p->n; a++) start[p->aggregator[a].node + 2]++;
    for (int n = 1; n <= f->nnodes; n++) start[n + 1] += start[n];
    for (int a = 0; a < p->n; a++) p->by_node[start[p->aggregator[a].node + 1]++] = a;
    return 0;
}

/* What each node wants. */
static int want_of_nodes(sluice_plan *p, const sluice_plan_facts *f, const sluice_set *request) {
    p->node = sluice_mem_alloc((size_t)f->nnodes, sizeof *p->node);
    if (!p->node) return -ENOMEM;
    memset(p->node, 0, (size_t)f->nnodes * sizeof *p->node);
    p->nnodes = f->nnodes;
    p->node_exact = true;
    int err = 0;
    for (int n = 0; n < f->nnodes && !err; n++) {
        err = unite(&p->node[n], f, request, 0, f->size, n, p->lo, p->hi);
        if (err == SLUICE_E_COMPLEX && !f->write) {
            p->node_exact = false;
            err = sluice_set_block(&p->node[n], p->lo, p->hi - p->lo);
        }
    }
    return err;
}

/* Two windows, and with several nodes what is served to others and got from them, stay below the limit. A leader
 * serves at most all that the others want, and at most a window of each aggregator of its node to each of them; what it
 * gets for its node is at most what that wants, and at most a window of each aggregator. */
static void size_windows(sluice_plan *p, const sluice_plan_facts *f, int most_on_node) {
    int64_t limit = sluice_min(f->memory, LARGEST), longest = 1;
    for (int a = 0; a < p->n; a++) longest = sluice_max(longest, p->aggregator[a].domain.size);
    p->window = sluice_max(1, sluice_min(sluice_min(limit / 2, WINDOW), longest));
    if (f->nnodes > 1) {
        int64_t all = 0, most = 0, served = (int64_t)(f->nnodes - 1) * most_on_node;
        for (int n = 0; n < f->nnodes; n++) {
            if (!sluice_add(all, p->node[n].size, &all)) all = INT64_MAX;
            most = sluice_max(most, p->node[n].size);
        }
        bool at_once = all <= limit / 4;
        p->window = sluice_max(1, sluice_min(p->window, at_once ? limit / 4 : limit / (2 + served + p->n)));
        p->served = at_once ? all : served * p->window;
        p->foreign = at_once ? most : p->n * p->window;
    }
    for (int a = 0; a < p->n; a++) {
        sluice_aggregator *g = &p->aggregator[a];
        g->windows = sluice_ceil_div(g->domain.size, p->window);
        p->rounds = sluice_max(p->rounds, g->windows);
    }
}

int sluice_plan_make(sluice_plan *p, const sluice_plan_facts *f, const sluice_set *request, sluice_reason *why) {
    sluice_plan made = {0};
    bound(&made, f, request);
    made.n = how_many(f, made.hi - made.lo);
    int most = 0;
    int *turn = sluice_mem_alloc((size_t)f->nnodes, sizeof *turn);
    bool *chosen = sluice_mem_alloc((size_t)f->size, sizeof *chosen);
    made.aggregator = sluice_mem_alloc((size_t)made.n, sizeof *made.aggregator);
    int err = turn && chosen && made.aggregator ? 0 : sluice_pass(why, -ENOMEM);
    if (made.aggregator) memset(made.aggregator, 0, (size_t)made.n * sizeof *made.aggregator);
    if (!err) {
        most = choose_ranks(f, made.n, turn, chosen);
        for (int r = 0, a = 0; r < f->size; r++)
            if (chosen[r]) made.aggregator[a++] = (sluice_aggregator){.rank = r, .node = f->node_of[r]};
        err = divide(&made, f, request, why);
        if (!err) err = sluice_pass(why, sort_by_node(&made, f));
    }
    if (!err && f->nnodes > 1) err = sluice_pass(why, want_of_nodes(&made, f, request));
    if (!err) size_windows(&made, f, most);
    sluice_mem_free(turn);
    sluice_mem_free(chosen);
    if (err) {
        sluice_plan_free(&made);
        return err;
    }
    *p = made;
    return 0;
}

void sluice_plan_free(sluice_plan *p) {
    for (int a = 0; p->aggregator && a < p->n; a++) sluice_set_free(&p->aggregator[a].domain);
    for (int n = 0; p->node && n < p->nnodes; n++) sluice_set_free(&p->node[n]);
    sluice_mem_free(p->by_node);
    sluice_mem_free(p->aggregator);
    sluice_mem_free(p->node);
    *p = (sluice_plan){0};
}

int64_t sluice_plan_room(const sluice_plan *p, bool aggregates, bool leads) {
    if (p->nnodes > 1 && leads) return 2 * p->window + p->foreign + p->served;
    return aggregates ? 2 * p->window : 0;
}

/* ---- Shares -------------------------------------------------------------------------------------------------- */

int sluice_share_make(sluice_share *s, const sluice_plan *p, const sluice_plan_facts *f, const sluice_set *request,
                      int a) {
    const sluice_set *domain = &p->aggregator[a].domain;
    int64_t lo = sluice_set_lo(domain), hi = sluice_set_hi(domain);
    *s = (sluice_share){.exact = true};
    int err = unite(&s->wanted, f, request, 0, f->size, -1, lo, hi);
    if (!err && domain->size < hi - lo) err = sluice_set_intersect(&s->wanted, &s->wanted, domain);
    if (!err) err = sluice_set_coarsen(&s->cover, &s->wanted, f->gap);
    if (!err && domain->size < hi - lo) err = sluice_set_intersect(&s->cover, &s->cover, domain);
    if (err == SLUICE_E_COMPLEX) { /* then the whole domain moves */
        s->exact = false;
        err = sluice_set_copy(&s->wanted, domain);
        if (!err) err = sluice_set_copy(&s->cover, domain);
    }
    if (err) sluice_share_free(s);
    return err;
}

void sluice_share_free(sluice_share *s) {
    sluice_set_free(&s->wanted);
    sluice_set_free(&s->cover);
}

void sluice_stretches_first(sluice_stretches *s, const sluice_plan *p, int a, int64_t k) {
    const sluice_set *domain = &p->aggregator[a].domain;
    s->at = 0;
    s->left = k < p->aggregator[a].windows ? sluice_min(p->window, domain->size - k * p->window) : 0;
    if (!s->left) return;
    sluice_cursor_init(&s->c, domain);
    sluice_cursor_seek(&s->c, k * p->window);
}

bool sluice_stretches_next(sluice_stretches *s, sluice_stretch *out) {
    sluice_run run;
    if (!s->left || !sluice_cursor_run(&s->c, &run)) return false;
    int64_t len = sluice_min(run.len, s->left);
    *out = (sluice_stretch){run.off, run.off + len, s->at};
    s->at += len;
    s->left -= len;
    return true;
}
