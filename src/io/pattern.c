/* pattern.c: a pattern of requests is learned once: it travels, conflicts are looked for, a plan is made. When the same
 * parts come again, perhaps all shifted by the same distance, as in a loop over time steps, nothing of this is done.
 *
 * For writes each process leaves out what a higher rank names too (conflict.c).
 */
#include "io/collective.h"
#include "io/serve.h"
#include <errno.h>
#include <string.h>

/* ---- Keys ---------------------------------------------------------------------------------------------------- */

int sluice_pattern_key(const sluice_io_part *part, int n, unsigned char **key, int64_t *nkey, int64_t *lo) {
    sluice_set moved = SLUICE_SET_EMPTY;
    int err = 0;
    *key = NULL;
    *nkey = 0;
    *lo = INT64_MAX;
    for (int i = 0; i < n; i++)
        if (part[i].file->size) *lo = sluice_min(*lo, sluice_set_lo(part[i].file));
    for (int i = 0; i < n && !err; i++) {
        err = part[i].file->size ? sluice_set_shift(&moved, part[i].file, -*lo) : sluice_set_copy(&moved, part[i].file);
        int64_t len = err ? 0 : sluice_set_pack(&moved, NULL, 0);
        unsigned char *grown = err ? NULL : sluice_mem_resize(*key, (size_t)(*nkey + len), 1);
        if (!grown) {
            if (!err) err = -ENOMEM;
            break;
        }
        *key = grown;
        sluice_set_pack(&moved, grown + *nkey, (size_t)len);
        *nkey += len;
    }
    sluice_set_free(&moved);
    if (err) {
        sluice_mem_free(*key);
        *key = NULL;
    }
    return err;
}

/* ---- Lists of sets ------------------------------------------------------------------------------------------- */

static sluice_set *new_sets(int n) {
    sluice_set *s = sluice_mem_alloc((size_t)sluice_max(n, 1), sizeof *s);
    if (s) memset(s, 0, (size_t)n * sizeof *s);
    return s;
}

static void free_sets(sluice_set **s, int n) {
    for (int i = 0; *s && i < n; i++) sluice_set_free(&(*s)[i]);
    sluice_mem_free(*s);
    *s = NULL;
}

static void forget_plan(sluice_pattern *p) {
    sluice_plan_free(&p->plan);
    sluice_share_free(&p->share);
    free_sets(&p->place, p->n);
    sluice_mem_free(p->local_of);
    p->local_of = NULL;
    p->me = -1;
    p->planned = false;
}

void sluice_pattern_forget(sluice_pattern *p, int size) {
    forget_plan(p);
    free_sets(&p->request, size);
    free_sets(&p->file, p->n);
    free_sets(&p->kept, p->n);
    sluice_mem_free(p->key);
    *p = (sluice_pattern){0};
}

/* ---- Learning ------------------------------------------------------------------------------------------------ */

/* Takes `lost` away from our parts, and remembers which of their bytes stay. */
static int leave_out(sluice_pattern *p, const sluice_set *lost) {
    p->kept = new_sets(p->n);
    return p->kept ? sluice_conflict_leave_out(p->file, p->kept, p->n, lost) : -ENOMEM;
}

/* For writes: no two processes want the same byte any more; SLUICE_E_COMPLEX if that cannot be said. Between nodes
 * everyone must know what is left. */
static int settle_conflicts(sluice_collective *c, sluice_io *io, sluice_reason *why) {
    sluice_pattern *p = c->pattern;
    sluice_group *g = c->group;
    sluice_set lost = SLUICE_SET_EMPTY, mine = SLUICE_SET_EMPTY;
    int err = sluice_conflict_lost(&lost, p->request, g->size, g->rank, c->together.refuse_conflicts, why);
    if (!err && lost.size) err = sluice_pass(why, leave_out(p, &lost));
    sluice_collective_name(io, true, err, why);
    int64_t none = !lost.size;
    sluice_set_free(&lost);
    err = sluice_agree(g, err, why, &none, 1);
    p->conflict = !none;
    if (err || none || g->nnodes == 1) return err;
    err = sluice_collective_name(io, true, sluice_pass(why, sluice_conflict_ask(&mine, p->file, p->n, true)), why);
    err = sluice_requests_exchange(c, io, &mine, p->request, err, why);
    sluice_set_free(&mine);
    return err;
}

/* Everyone's requests, as they follow from what is known. */
static int infer(sluice_set *request, int size, const sluice_known *known, sluice_reason *why) {
    int err = 0;
    for (int r = 0; r < size && !err; r++) err = known->request(known->arg, r, &request[r], why);
    return err;
}

int sluice_pattern_learn(sluice_collective *c, sluice_io *io, bool write, const sluice_io_part *part, int n,
                         const sluice_known *known, sluice_reason *why) {
    sluice_group *g = c->group;
    sluice_pattern *p = c->pattern;
    sluice_set mine = SLUICE_SET_EMPTY;
    sluice_pattern_forget(p, g->size);
    p->write = write;
    int err = sluice_pattern_key(part, n, &p->key, &p->nkey, &p->lo);
    p->request = err ? NULL : new_sets(g->size);
    p->file = p->request ? new_sets(n) : NULL;
    if (!p->file && !err) err = -ENOMEM;
    if (p->file) p->n = n;
    for (int i = 0; i < n && !err; i++) err = sluice_set_copy(&p->file[i], part[i].file);
    if (!err && !known) err = sluice_conflict_ask(&mine, p->file, p->n, write);
    err = sluice_collective_name(io, write, sluice_pass(why, err), why);
    if (known && !err) err = sluice_collective_name(io, write, infer(p->request, g->size, known, why), why);
    if (known)
        err = sluice_agree(g, err, why, NULL, 0);
    else
        err = sluice_requests_exchange(c, io, &mine, p->request, err, why);
    sluice_set_free(&mine);
    if (!err && write) err = settle_conflicts(c, io, why);
    p->complex = err == SLUICE_E_COMPLEX && !(write && c->together.refuse_conflicts);
    if (p->complex) err = 0;
    p->known = !err;
    return err;
}

/* ---- Planning ------------------------------------------------------------------------------------------------ */

static sluice_plan_facts facts_of(const sluice_collective *c, const sluice_io *io, const sluice_extent *e) {
    const sluice_group *g = c->group;
    const sluice_store_facts *f = &io->store->facts;
    return (sluice_plan_facts){.write = c->pattern->write,
                               .size = g->size,
                               .nnodes = g->nnodes,
                               .node_of = g->node_of,
                               .cores = g->cores,
                               .together = c->together,
                               .memory = sluice_max(c->memory - SLUICE_IO_LEAST, SLUICE_IO_LEAST),
                               .gap = sluice_io_gap(io, c->pattern->write),
                               .align = f->stripe ? f->stripe : f->align,
                               .origin = e->origin,
                               .end = e->end,
                               .slab = e->slab,
                               .subfiles = e->subfiles,
                               .nservers = c->far ? c->far->n : 0,
                               .server = c->far ? c->far->server : NULL};
}

/* Which aggregators are on our node, and where. */
static int find_local(sluice_pattern *p, const sluice_group *g) {
    p->local_of = sluice_mem_alloc((size_t)p->plan.n, sizeof *p->local_of);
    if (!p->local_of) return -ENOMEM;
    for (int a = 0, i = 0; a < p->plan.n; a++) {
        p->local_of[a] = -1;
        if (p->plan.aggregator[a].node != g->node) continue;
        while (g->member[i] != p->plan.aggregator[a].rank) i++; /* both ascend */
        p->local_of[a] = i;
    }
    return 0;
}

static int plan_alone(sluice_collective *c, sluice_io *io, const sluice_extent *e, sluice_reason *why) {
    sluice_group *g = c->group;
    sluice_pattern *p = c->pattern;
    sluice_plan_facts f = facts_of(c, io, e);
    int err = sluice_plan_make(&p->plan, &f, p->request, why);
    if (!err) err = sluice_pass(why, find_local(p, g));
    for (int a = 0; a < p->plan.n && !err; a++) {
        if (p->plan.aggregator[a].rank != g->rank) continue;
        p->me = a;
        err = sluice_pass(why, sluice_share_make(&p->share, &p->plan, &f, p->request, a));
    }
    int64_t need = err ? 0 : sluice_plan_room(&p->plan, p->me >= 0, g->local == 0);
    if (!err) err = sluice_pass(why, sluice_group_reserve(g, SLUICE_AREA_DATA, need));
    /* What the windows take is lost to the buffers of local calls. */
    if (!err) sluice_io_limit(io, sluice_max(c->memory - g->reserved[SLUICE_AREA_DATA], SLUICE_IO_LEAST));
    if (!err && g->nnodes > 1) {
        p->place = new_sets(p->n);
        err = p->place ? 0 : sluice_pass(why, -ENOMEM);
        for (int i = 0; i < p->n && !err; i++)
            err = sluice_pass(why, sluice_set_project(&p->place[i], &p->file[i], &p->plan.node[g->node]));
    }
    return err;
}

int sluice_pattern_plan(sluice_collective *c, sluice_io *io, const sluice_extent *e, sluice_reason *why) {
    forget_plan(c->pattern);
    int err = sluice_collective_name(io, c->pattern->write, plan_alone(c, io, e, why), why);
    err = sluice_agree(c->group, err, why, NULL, 0);
    c->pattern->planned = !err;
    io->counts.plans++;
    return err;
}
