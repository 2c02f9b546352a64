/* planned.c: from a plan (placement.h) to the container that it asks for. */
#include "file/placement.h"
#include <errno.h>
#include <string.h>

/* A group as a lot, as far as the array goes; what lies behind its end is left out. */
static int add_group(sluice_places *p, const sluice_placement_group *g, int64_t length) {
    sluice_lot all = {g->bytes, g->n, g->at, g->subfile};
    if (sluice_set_lo(&g->bytes) >= length) return 0;
    return sluice_lot_cut(&p->lot[p->nlots++], &all, length);
}

static int make(sluice_manifest **out, const sluice_desc *d, const sluice_placement *plan, const char *targets,
                sluice_reason *why) {
    const char **name = sluice_mem_alloc((size_t)plan->nprocs + 1, sizeof *name);
    sluice_places p = {plan->nprocs, 0, sluice_mem_alloc((size_t)plan->ngroups + 1, sizeof *p.lot),
                       sluice_placement_bytes(plan, plan->nprocs)};
    sluice_manifest *m = NULL;
    int err = p.lot && name ? 0 : sluice_pass(why, -ENOMEM);
    for (int i = 0; i < plan->ngroups && !err; i++)
        err = sluice_pass(why, add_group(&p, &plan->group[i], sluice_desc_end(d)));
    if (!err) err = sluice_manifest_place(&m, d, &p, targets, why);
    if (err) sluice_lots_free(p.lot, p.nlots);
    for (int i = 0; !err && i <= plan->nprocs; i++) name[i] = plan->target[i].text;
    if (!err && !targets) err = sluice_manifest_settle(m, name, why);
    sluice_mem_free(name);
    if (err)
        sluice_manifest_free(m);
    else
        *out = m;
    return err;
}

int sluice_manifest_plan(sluice_manifest **out, const sluice_desc *d, const char *text, int64_t len,
                         const char *targets, sluice_reason *why) {
    sluice_placement *plan;
    sluice_desc whole = *d;
    int err = sluice_placement_parse(&plan, text, len, why);
    if (err) return err;
    err = sluice_desc_settle(&whole, why);
    if (!err) err = make(out, &whole, plan, targets, why);
    sluice_placement_free(plan);
    return err;
}
