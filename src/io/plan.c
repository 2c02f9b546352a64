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
    if (f->nservers) return f->nservers;
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

/* Marks the servers, and returns the same. */
static int choose_servers(const sluice_plan_facts *f, int *turn, bool *chosen) {
    int most = 0;
    memset(turn, 0, (size_t)f->nnodes * sizeof *turn);
    memset(chosen, 0, (size_t)f->size * sizeof *chosen);
    for (int i = 0; i < f->nservers; i++) {
        chosen[f->server[i]] = true;
        most = (int)sluice_max(most, ++turn[f->node_of[f->server[i]]]);
    }
    return most;
}

/* ---- Domains ------------------------------------------------------------------------------------------------- */

/* The union of what the ranks rank[first] up to rank[last] (NULL: first up to last) want in [lo, hi); by halves. */
static int unite(sluice_set *out, const sluice_set *request, const int *rank, int first, int last, int64_t lo,
                 int64_t hi) {
    if (last - first == 1) {
        const sluice_set *one = &request[rank ? rank[first] : first];
        bool in = sluice_set_lo(one) < hi && sluice_set_hi(one) > lo;
        return in ? sluice_set_cut(out, one, lo, hi) : sluice_set_block(out, 0, 0);
    }
    sluice_set high = SLUICE_SET_EMPTY;
    int half = first + (last - first) / 2;
    int err = unite(out, request, rank, first, half, lo, hi);
    if (!err) err = unite(&high, request, rank, half, last, lo, hi);
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
        int err = unite(wanted, request, NULL, 0, f->size, p->lo, p->hi);
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

/* The bytes of the subfiles of targets first, first + step, ...; of all for 0, 1. */
static int bytes_of_targets(sluice_set *out, const sluice_subfiles *s, int first, int step, sluice_reason *why) {
    sluice_run *run = sluice_mem_alloc((size_t)s->n, sizeof *run);
    if (!run) return sluice_pass(why, -ENOMEM);
    int64_t n = 0;
    for (int i = 0; i < s->n; i++)
        if (s->target[i] % step == first && s->run[2 * i] < s->run[2 * i + 1])
            run[n++] = (sluice_run){s->run[2 * i], s->run[2 * i + 1] - s->run[2 * i]};
    int err = sluice_set_runs(out, run, n, why);
    sluice_mem_free(run);
    return err;
}

/* Where share k of n of a set starts: at a multiple of `align`, so that no two write to the same page. */
static int64_t start_of_share(const sluice_set *s, int k, int n, int64_t align) {
    const int64_t rank = sluice_min(k * sluice_ceil_div(s->size, n), s->size);
    if (k == 0) return sluice_set_lo(s);
    if (rank == s->size) return sluice_set_hi(s);
    return sluice_min(sluice_ceil_div(sluice_set_select(s, rank), align) * align, sluice_set_hi(s));
}

/* Number a of the aggregators: the subfiles of some targets; or, if there are fewer targets than aggregators, an equal
 * share of what lies in the range of the requests on one. So no two use the same disk if that can be. */
static int divide_targets(sluice_set *domain, const sluice_plan *p, const sluice_plan_facts *f, int a,
                          sluice_reason *why) {
    const sluice_subfiles *s = &f->subfiles;
    const int groups = p->n < s->ntargets ? p->n : s->ntargets, sharers = (p->n - 1 - a % groups) / groups + 1;
    const int64_t align = sluice_max(f->together.align ? f->together.align : f->align, 1);
    int err = bytes_of_targets(domain, s, a % groups, groups, why);
    if (!err) err = sluice_pass(why, sluice_set_cut(domain, domain, p->lo, p->hi));
    if (err || sharers == 1 || !domain->size) return err;
    const int64_t lo = start_of_share(domain, a / groups, sharers, align),
                  hi = start_of_share(domain, a / groups + 1, sharers, align);
    return sluice_pass(why, sluice_set_cut(domain, domain, lo, sluice_max(lo, hi)));
}

/* What the server has that is this aggregator. */
static int divide_servers(sluice_set *domain, const sluice_plan *p, const sluice_plan_facts *f, int a,
                          sluice_reason *why) {
    int i = 0;
    while (f->server[i] != p->aggregator[a].rank) i++;
    return bytes_of_targets(domain, &f->subfiles, i, f->nservers, why);
}

static int divide(sluice_plan *p, const sluice_plan_facts *f, const sluice_set *request, sluice_reason *why) {
    sluice_domains d;
    sluice_set wanted = SLUICE_SET_EMPTY, all = SLUICE_SET_EMPTY;
    const sluice_subfiles *s = &f->subfiles;
    const bool by_target = f->nservers || (s->n && f->together.division == SLUICE_DIVIDE_AUTO);
    int err = by_target ? 0 : sluice_pass(why, rule(&d, p, f, request, &wanted));
    if (!err && s->n && !by_target) err = bytes_of_targets(&all, s, 0, 1, why);
    for (int a = 0; a < p->n && !err; a++) {
        sluice_set *domain = &p->aggregator[a].domain;
        err = f->nservers ? divide_servers(domain, p, f, a, why)
              : by_target ? divide_targets(domain, p, f, a, why)
                          : sluice_domain(domain, &d, a, why);
        if (!err && all.size) err = sluice_pass(why, sluice_set_intersect(domain, domain, &all));
        /* What lies outside the requests needs no window. */
        if (!err) err = sluice_pass(why, sluice_set_cut(domain, domain, p->lo, p->hi));
    }
    sluice_set_free(&wanted);
    sluice_set_free(&all);
    return err;
}

/* ---- Windows ------------------------------------------------------------------------------------------------- */

/* Sorts 0 ... n - 1 by their nodes; those of node k start at first[k]. By counting: first[k + 1] moves from where those
 * of node k start to where they end. */
static void sort_by_node(int *sorted, int *first, const int *node, int n, int nnodes) {
    memset(first, 0, ((size_t)nnodes + 2) * sizeof *first);
    for (int i = 0; i < n; i++) first[node[i] + 2]++;
    for (int k = 1; k <= nnodes; k++) first[k + 1] += first[k];
    for (int i = 0; i < n; i++) sorted[first[node[i] + 1]++] = i;
}

static int sort_aggregators(sluice_plan *p, const sluice_plan_facts *f) {
    p->by_node = sluice_mem_alloc(2 * (size_t)p->n + (size_t)f->nnodes + 2, sizeof *p->by_node);
    if (!p->by_node) return -ENOMEM;
    int *node = p->by_node + p->n;
    p->first = node + p->n;
    for (int a = 0; a < p->n; a++) node[a] = p->aggregator[a].node;
    sort_by_node(p->by_node, p->first, node, p->n, f->nnodes);
    return 0;
}

/* What each node wants; where each is one process, what that wants. */
static int want_of_nodes(sluice_plan *p, const sluice_plan_facts *f, const sluice_set *request) {
    p->nnodes = f->nnodes;
    p->node_exact = true;
    p->node = request;
    if (f->nnodes == f->size) return 0;
    p->node = p->own = sluice_mem_alloc((size_t)f->nnodes, sizeof *p->own);
    if (!p->own) return -ENOMEM;
    memset(p->own, 0, (size_t)f->nnodes * sizeof *p->own);
    int *rank = sluice_mem_alloc((size_t)f->size + (size_t)f->nnodes + 2, sizeof *rank);
    if (!rank) return -ENOMEM;
    int *first = rank + f->size, err = 0;
    sort_by_node(rank, first, f->node_of, f->size, f->nnodes);
    for (int n = 0; n < f->nnodes && !err; n++) {
        err = unite(&p->own[n], request, rank, first[n], first[n + 1], p->lo, p->hi);
        if (err == SLUICE_E_COMPLEX && !f->write) {
            p->node_exact = false;
            err = sluice_set_block(&p->own[n], p->lo, p->hi - p->lo);
        }
    }
    sluice_mem_free(rank);
    return err;
}

/* Whether no two nodes want the same byte; if that is not easy to say, they do. `all` is what they want together. */
static int find_distinct(bool *out, const sluice_plan *p, const sluice_plan_facts *f, int64_t all) {
    sluice_set any = SLUICE_SET_EMPTY;
    int err = f->write ? 0 : unite(&any, p->node, NULL, 0, f->nnodes, p->lo, p->hi);
    *out = f->write || (!err && any.size == all);
    sluice_set_free(&any);
    return err == SLUICE_E_COMPLEX ? 0 : err;
}

/* What is served to other nodes and got from them. A leader serves at most all that the others want, and at most a
 * window of each aggregator of its node: to all of them together where no two want the same byte, else to each. What it
 * gets for its node is at most what that wants, and at most a window of each aggregator. */
static int share_limit(sluice_plan *p, const sluice_plan_facts *f, int64_t limit, int most_on_node) {
    int64_t all = 0, most = 0, served = most_on_node;
    for (int n = 0; n < f->nnodes; n++) {
        if (!sluice_add(all, p->node[n].size, &all)) all = INT64_MAX;
        most = sluice_max(most, p->node[n].size);
    }
    bool serve_all = all <= limit / 4, get_all = most <= limit / 4, distinct = true;
    int err = serve_all ? 0 : find_distinct(&distinct, p, f, all);
    if (err) return err;
    if (!distinct) served *= f->nnodes - 1;
    int64_t fixed = (serve_all ? all : 0) + (get_all ? most : 0),
            windows = 2 + (serve_all ? 0 : served) + (get_all ? 0 : p->n);
    p->window = sluice_max(1, sluice_min(p->window, (limit - fixed) / windows));
    p->served = serve_all ? all : served * p->window;
    p->foreign = get_all ? most : p->n * p->window;
    return 0;
}

/* Two windows, and what goes to other nodes and comes from them, stay below the limit. */
static int size_windows(sluice_plan *p, const sluice_plan_facts *f, int most_on_node) {
    int64_t limit = sluice_min(f->memory, LARGEST), longest = 1;
    for (int a = 0; a < p->n; a++) longest = sluice_max(longest, p->aggregator[a].domain.size);
    p->window = sluice_max(1, sluice_min(sluice_min(limit / 2, WINDOW), longest));
    int err = f->nnodes > 1 ? share_limit(p, f, limit, most_on_node) : 0;
    for (int a = 0; a < p->n; a++) {
        sluice_aggregator *g = &p->aggregator[a];
        g->windows = sluice_ceil_div(g->domain.size, p->window);
        p->rounds = sluice_max(p->rounds, g->windows);
    }
    return err;
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
        most = f->nservers ? choose_servers(f, turn, chosen) : choose_ranks(f, made.n, turn, chosen);
        for (int r = 0, a = 0; r < f->size; r++)
            if (chosen[r]) made.aggregator[a++] = (sluice_aggregator){.rank = r, .node = f->node_of[r]};
        err = divide(&made, f, request, why);
        if (!err) err = sluice_pass(why, sort_aggregators(&made, f));
    }
    if (!err && f->nnodes > 1) err = sluice_pass(why, want_of_nodes(&made, f, request));
    if (!err) err = sluice_pass(why, size_windows(&made, f, most));
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
    for (int n = 0; p->own && n < p->nnodes; n++) sluice_set_free(&p->own[n]);
    sluice_mem_free(p->by_node);
    sluice_mem_free(p->aggregator);
    sluice_mem_free(p->own);
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
    int err = unite(&s->wanted, request, NULL, 0, f->size, lo, hi);
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
