/* redistribute.c: a copy by all processes of a group: any layout and order to any other, in one pass through memory.
 *
 * The array is a sequence of boxes in the order of the destination (boxes.c), and each process copies a share of it by
 * itself (copy.c):
 *
 *     array   | 0 1 2 | 3 4 5 | 6 7 | 8 9 |      boxes; a share for each of four processes
 *
 * Members of a subfile ascend. So a contiguous range of the array is a contiguous range in every subfile of any layout,
 * and each process reads and writes every subfile from front to back; who needs what from whom is the concern of the
 * sets in each request (split.c), and no process sends anything to another.
 */
#include "array/copy.h"
#include <errno.h>

typedef struct meter {
    sluice_group *group;
    const sluice_copy_options *o;
    int64_t done; /* of our share, as last told */
    bool stopped; /* by another process */
} meter;

/* The progress of a share, told to the node. */
static int step(void *arg, int64_t done, int64_t total) {
    meter *m = arg;
    const sluice_group *g = m->group;
    const int64_t sum = sluice_meter_add(m->group, done - m->done);
    if (g->nnodes > 1) total = sluice_max(sum, total / g->size * g->nlocal);
    m->done = done;
    m->stopped = sluice_meter_stopped(g);
    return m->stopped || (m->o->progress && m->o->progress(m->o->arg, sum, total));
}

static uint64_t mix_ranges(uint64_t h, const sluice_array *a, const sluice_range *range) {
    h = sluice_mix(h, range != NULL);
    for (int d = 0; range && d < a->desc.shape.ndims; d++)
        h = sluice_mix(sluice_mix(sluice_mix(h, range[d].start), range[d].count), range[d].step);
    return h;
}

/* Whether all mean the same; o->memory becomes the smallest. */
static int compare(sluice_copy_options *o, sluice_group *g, const sluice_array *dst, const sluice_array *src, int err,
                   sluice_reason *why) {
    const uint64_t h = mix_ranges(mix_ranges(SLUICE_MIX, src, o->from), dst, o->to);
    const int64_t mark = (int64_t)(h >> 2); /* so that it can be negated */
    int64_t said[] = {mark, -mark, o->memory};
    err = sluice_agree_on(g, SLUICE_CALL_COPY, err, why, said, 3);
    if (!err && said[0] != -said[1])
        err = sluice_refuse(why, SLUICE_E_MISMATCH, -1, "copy %s: processes name different sections",
                            src->io.store->name);
    o->memory = said[2];
    return err;
}

int sluice_redistribute_all(sluice_array *dst, sluice_array *src, const sluice_copy_options *given) {
    sluice_copy_options o;
    sluice_reason why;
    if (!dst->collective) return sluice_copy(dst, src, given);
    if (dst->serving)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "copy to %s: servers have it; sluice_copy() can copy to it",
                                  dst->io.store->name);
    sluice_group *g = dst->collective->group;
    int err = sluice_copy_settle(&o, given, src);
    if (err) why = sluice_errmsg_reason(err);
    sluice_background_drain(dst);
    if (g->local == 0) sluice_meter_start(g);
    err = compare(&o, g, dst, src, err, &why);
    if (err) return sluice_errmsg_set(&why);
    sluice_copy_options own = o;
    meter m = {.group = g, .o = &o};
    own.progress = step;
    own.arg = &m;
    err = sluice_copy_share(dst, src, &own, g->rank, g->size);
    if (m.stopped) err = 0; /* the one that failed says why */
    if (err) {
        why = sluice_errmsg_reason(err);
        sluice_meter_stop(g);
    }
    err = sluice_agree(g, err, &why, NULL, 0);
    return err ? sluice_errmsg_set(&why) : 0;
}
