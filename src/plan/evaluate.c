/* evaluate.c: what a layout, or a placement, would mean for the accesses of a profile, told in closed form.
 *
 * Subfile i is taken to lie on the target of process i, the shared part and a file in one piece on a target that is
 * nobody's own. An access falls into one piece for each subfile that has some of it; a read takes the copy of its own
 * process if there is one, else the primary; a write goes to all copies. The price of moving a piece is that of
 * io/price.h, everything cached. Then three things bound the time, and the largest of them is what is predicted:
 *
 *     the process that has most to move        processes run at the same time,
 *     all that is moved, by the cores          if there are cores for them,
 *     the target that has most to give         bytes / bandwidth + pieces * latency, where these are told
 */
#include "plan/evaluate.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_USES = 20000 }; /* beyond, some of them stand for all */

/* What is summed up. */
typedef struct tab {
    const sluice_machine *m;
    const sluice_profile *p;
    int nsubfiles;
    bool owned;     /* subfile i is process i's */
    double *moving; /* seconds of each process */
    double *served, *pieces;
    double bytes, local, seeks, scale;
} tab;

static int open_tab(tab *t, const sluice_machine *m, const sluice_profile *p, int nsubfiles, bool owned) {
    *t = (tab){.m = m, .p = p, .nsubfiles = nsubfiles, .owned = owned, .scale = 1};
    t->moving = sluice_mem_alloc((size_t)p->nprocs, sizeof *t->moving);
    t->served = sluice_mem_alloc((size_t)nsubfiles, sizeof *t->served);
    t->pieces = sluice_mem_alloc((size_t)nsubfiles, sizeof *t->pieces);
    if (!t->moving || !t->served || !t->pieces) return -ENOMEM;
    for (int i = 0; i < p->nprocs; i++) t->moving[i] = 0;
    for (int i = 0; i < nsubfiles; i++) t->served[i] = t->pieces[i] = 0;
    return 0;
}

/* One piece of a use: so many times, from or to the bytes `file` of a subfile. */
static void charge(tab *t, const sluice_use *u, int subfile, const sluice_io_part *part) {
    const double n = (double)u->n * t->scale, runs = (double)sluice_set_nruns(part->file);
    const double size = n * (double)part->file->size;
    t->moving[u->proc] += n * sluice_price(&t->m->rates, u->write, part, 1);
    t->served[subfile] += size;
    t->pieces[subfile] += n * runs;
    t->seeks += n * (runs - 1);
    t->bytes += size;
    if (t->owned && subfile == u->proc) t->local += size;
}

static void close_tab(tab *t, sluice_outlook *out, int error) {
    double most = 0, all = 0, target = 0;
    for (int i = 0; i < t->p->nprocs && !error; i++) {
        most = t->moving[i] > most ? t->moving[i] : most;
        all += t->moving[i];
    }
    for (int i = 0; i < t->nsubfiles && !error; i++) {
        const double busy = (t->m->bandwidth > 0 ? t->served[i] / t->m->bandwidth : 0) + t->pieces[i] * t->m->latency;
        target = busy > target ? busy : target;
    }
    sluice_mem_free(t->moving);
    sluice_mem_free(t->served);
    sluice_mem_free(t->pieces);
    if (error) return;
    all /= (double)sluice_max(t->m->cores, 1);
    out->bound = target > most && target > all ? "the busiest target"
                 : all > most                  ? "the cores"
                                               : "the busiest process";
    out->seconds = most > all ? most : all;
    if (target > out->seconds) out->seconds = target;
    out->seeks = t->seeks;
    out->bytes = t->bytes;
    out->local = t->bytes > 0 ? t->local / t->bytes : 0;
}

/* ---- Layouts ---- */

static int charge_split(tab *t, const sluice_use *u, const sluice_layout *l) {
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_pieces pieces = {0};
    int error = sluice_use_set(&s, u);
    if (!error) error = sluice_set_cut(&s, &s, 0, l->length);
    if (!error) error = sluice_split(&pieces, l, &(sluice_io_part){&s, {NULL, NULL, 0, 0}}, 1);
    for (int k = 0, i = 0; k < pieces.n && !error; k++) {
        while (l->base[i + 1] <= sluice_set_lo(pieces.part[k].file)) i++;
        charge(t, u, i, &pieces.part[k]);
    }
    sluice_split_free(&pieces);
    sluice_set_free(&s);
    return error;
}

static int64_t step_of(tab *t) {
    const int64_t step = sluice_max(t->p->n / MOST_USES, 1);
    t->scale = (double)t->p->n / (double)sluice_ceil_div(t->p->n, step);
    return step;
}

int sluice_evaluate_layout(sluice_outlook *out, const sluice_profile *p, const sluice_layout *l,
                           const sluice_machine *m) {
    tab t;
    sluice_outlook o = {.space = l->length};
    int error = open_tab(&t, m, p, l->n, l->n == p->nprocs);
    const int64_t step = step_of(&t);
    for (int64_t i = 0; i < p->n && !error; i += step) error = charge_split(&t, &p->use[i], l);
    snprintf(o.name, sizeof o.name, "%.*s", (int)sizeof o.name - 1, l->text);
    close_tab(&t, &o, error);
    if (!error) *out = o;
    return error;
}

/* ---- Placements ---- */

/* What a use has of one group, in one of its subfiles. */
typedef struct share {
    int subfile;
    sluice_set file, mem;
} share;

typedef struct shares {
    int n, cap;
    share *share;
} shares;

static int push_share(shares *s, int subfile, const sluice_set *ranks, const sluice_set *at, const sluice_set *mem) {
    if (s->n == s->cap) {
        share *more = sluice_mem_resize(s->share, (size_t)(2 * s->cap + 16), sizeof *more);
        if (!more) return -ENOMEM;
        s->share = more;
        s->cap = 2 * s->cap + 16;
    }
    share *x = &s->share[s->n];
    *x = (share){subfile, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    int error = sluice_set_embed(&x->file, ranks, at);
    if (!error) error = sluice_set_copy(&x->mem, mem);
    s->n++;
    return error;
}

static int share_group(shares *s, const sluice_use *u, const sluice_set *use, const sluice_placement_group *g,
                       int64_t *found) {
    sluice_set ranks = SLUICE_SET_EMPTY, mem = SLUICE_SET_EMPTY;
    if (sluice_set_lo(&g->bytes) >= sluice_set_hi(use) || sluice_set_hi(&g->bytes) <= sluice_set_lo(use)) return 0;
    int error = sluice_set_project(&ranks, use, &g->bytes);
    if (!error && ranks.size) error = sluice_set_project(&mem, &g->bytes, use);
    int own = 0;
    for (int k = 0; k < g->n; k++)
        if (g->subfile[k] == u->proc) own = k;
    for (int k = 0; k < g->n && !error && ranks.size; k++)
        if (u->write || k == own) error = push_share(s, g->subfile[k], &ranks, &g->at[k], &mem);
    *found += ranks.size;
    sluice_set_free(&ranks);
    sluice_set_free(&mem);
    return error;
}

static int by_subfile(const void *a, const void *b) {
    const share *x = a, *y = b;
    return x->subfile - y->subfile;
}

static int charge_shares(tab *t, const sluice_use *u, shares *s) {
    int error = 0;
    qsort(s->share, (size_t)s->n, sizeof *s->share, by_subfile);
    for (int i = 0, end; i < s->n && !error; i = end) {
        share *x = &s->share[i];
        for (end = i + 1; end < s->n && s->share[end].subfile == x->subfile && !error; end++) {
            error = sluice_set_union(&x->file, &x->file, &s->share[end].file);
            if (!error) error = sluice_set_union(&x->mem, &x->mem, &s->share[end].mem);
        }
        const bool whole = sluice_set_hi(&x->mem) - sluice_set_lo(&x->mem) == x->mem.size;
        if (!error) charge(t, u, x->subfile, &(sluice_io_part){&x->file, {NULL, whole ? NULL : &x->mem, 0, 0}});
    }
    return error;
}

static int charge_placed(tab *t, const sluice_use *u, const sluice_placement *p, const sluice_set *rest) {
    sluice_set use = SLUICE_SET_EMPTY, ranks = SLUICE_SET_EMPTY, mem = SLUICE_SET_EMPTY, at = SLUICE_SET_EMPTY;
    shares s = {0};
    int64_t found = 0;
    int error = sluice_use_set(&use, u);
    for (int g = 0; g < p->ngroups && !error && found < use.size; g++)
        error = share_group(&s, u, &use, &p->group[g], &found);
    if (!error && found < use.size) { /* the profile that the placement is from had no such access */
        error = sluice_set_project(&ranks, &use, rest);
        if (!error) error = sluice_set_project(&mem, rest, &use);
        if (!error) error = sluice_set_block(&at, sluice_placement_bytes(p, p->nprocs), rest->size);
        if (!error) error = push_share(&s, p->nprocs, &ranks, &at, &mem);
    }
    if (!error) error = charge_shares(t, u, &s);
    for (int i = 0; i < s.n; i++) {
        sluice_set_free(&s.share[i].file);
        sluice_set_free(&s.share[i].mem);
    }
    sluice_mem_free(s.share);
    sluice_set_free(&use);
    sluice_set_free(&ranks);
    sluice_set_free(&mem);
    sluice_set_free(&at);
    return error;
}

int sluice_evaluate_placement(sluice_outlook *out, const sluice_profile *p, const sluice_placement *plan,
                              const sluice_machine *m) {
    tab t;
    sluice_outlook o = {.name = "partitioned"};
    sluice_set rest = SLUICE_SET_EMPTY;
    int error = sluice_placement_rest(&rest, plan);
    if (error) return error;
    error = open_tab(&t, m, p, plan->nprocs + 1, true);
    const int64_t step = step_of(&t);
    o.space = rest.size;
    for (int g = 0; g < plan->ngroups; g++) o.space += plan->group[g].n * plan->group[g].bytes.size;
    for (int64_t i = 0; i < p->n && !error; i += step) error = charge_placed(&t, &p->use[i], plan, &rest);
    close_tab(&t, &o, error);
    sluice_set_free(&rest);
    if (!error) *out = o;
    return error;
}

/* ---- Candidates ---- */

bool sluice_evaluate_candidate(char *text, size_t cap, const sluice_shape *a, int n, int k) {
    int64_t each = 1, cut;
    size_t used = 0;
    switch (k) {
    case 0: snprintf(text, cap, "rows:%d", n); return true;
    case 1: snprintf(text, cap, "columns:%d", n); return true;
    case 2: /* as many tiles along each side, at least n of them */
        for (cut = 1; cut < n; each++) {
            cut = 1;
            for (int d = 0; d < a->ndims && cut < n; d++) cut *= each;
        }
        each = sluice_max(each - 1, 1);
        used = (size_t)snprintf(text, cap, "tiles");
        for (int d = 0; d < a->ndims; d++)
            used += (size_t)snprintf(text + used, cap - used, "%c%" PRId64, d ? 'x' : ':',
                                     sluice_max(sluice_ceil_div(a->dim[d], each), 1));
        snprintf(text + used, cap - used, ":%d", n);
        return true;
    case 3: snprintf(text, cap, "striped:64K:%d", n); return true;
    case 4: snprintf(text, cap, "cyclic:1:%d", n); return true;
    }
    return false;
}
