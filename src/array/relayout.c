/* relayout.c: another layout for an array, in its place.
 *
 *     a.sluice/manifest.json: rows:2      1.0  1.1                  the array
 *                                         1.0  1.1  2.0  2.1  2.2   the next generation is made and filled
 *     a.sluice/manifest.json: tiles:...             2.0  2.1  2.2   the manifest is replaced, then the old files go
 *
 * It is a copy (redistribute.c) between two generations of one container (container.c). The process that has the lock
 * does all that is done to names, and the others wait for it; all of them copy. While it lasts there are two handles:
 * that of the array, and one of the generation that is being made, which shares the group of the first.
 */
#include "array/array.h"
#include "array/copy.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- What it is to be ---- */

/* The targets as they are, with commas between, in memory that the caller gives back. */
static char *list_targets(const sluice_manifest *m) {
    char *text = sluice_mem_alloc((size_t)m->ntargets, sizeof *m->target + 1), *end = text;
    for (int t = 0; text && t < m->ntargets; t++) end += sprintf(end, "%s%s", t ? "," : "", m->target[t].text);
    return text;
}

int sluice_relayout_plan(sluice_manifest **next, const sluice_array *a, const sluice_relayout *o, sluice_reason *why) {
    const char *name = a->io.store->name;
    sluice_reason detail;
    sluice_desc d = a->desc;
    if (!a->container)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "relayout %s: not a container", sluice_store_label(name).text);
    const sluice_manifest *m = a->container->manifest;
    if (d.shape.header)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1,
                             "relayout %s: only a layout by plan keeps the header of the file that it was made of",
                             sluice_store_label(name).text);
    if (o->order) d.shape.order = *o->order;
    d.swapped = 0; /* reading converts */
    char *targets = o->targets ? NULL : list_targets(m);
    if (!o->targets && !targets) return sluice_store_refuse(why, -ENOMEM, "relayout", name, -1);
    const int err = sluice_manifest_make(next, &d, o->layout ? o->layout : m->layout->text,
                                         o->targets ? o->targets : targets, m, &detail);
    if (!err) (*next)->checksum = m->checksum;
    sluice_mem_free(targets);
    return err ? sluice_refuse(why, err, detail.pos, "relayout %s: %s", sluice_store_label(name).text, detail.text) : 0;
}

/* ---- By the process that has the lock ---- */

static int check_space(const sluice_container *c, const sluice_manifest *next, sluice_reason *why) {
    sluice_space *space = NULL;
    int *fd = NULL, n = 0, err = sluice_folder_targets(&fd, next, c->folder, c->bindings, why);
    if (err) return err;
    err = sluice_space_ask(&space, &n, next, fd);
    if (err) sluice_store_refuse(why, err, "ask for the room of", c->path, -1);
    for (int i = 0; i < n && !err; i++)
        if (space[i].need > space[i].free)
            err = sluice_refuse(why, -ENOSPC, -1,
                                "relayout %s: the new subfiles take %lld bytes on the file system of target %.20s, "
                                "which has %lld free",
                                sluice_store_label(c->path).text, (long long)space[i].need, space[i].target,
                                (long long)space[i].free);
    sluice_mem_free(space);
    sluice_folder_close(fd, next, c->folder);
    return err;
}

static int begin(sluice_array *a, const sluice_manifest *next, sluice_reason *why) {
    sluice_container *c = a->container;
    int err = sluice_contain_doubt(a, why);
    if (!err) err = sluice_container_clean(c, true, NULL, NULL, why); /* what an attempt before left takes room */
    if (!err) err = check_space(c, next, why);
    if (!err) err = sluice_container_begin(c, next, why);
    return sluice_errmsg_name("relayout", c->path, err, why);
}

/* ---- By all ---- */

static bool leads(const sluice_array *a) { return !a->collective || a->collective->group->rank == 0; }

static int agree(const sluice_array *a, int err, sluice_reason *why) {
    return a->collective ? sluice_agree(a->collective->group, err, why, NULL, 0) : err;
}

/* All must mean the same generation. */
static int compare(sluice_array *a, const sluice_manifest *next, const sluice_relayout *o, int err,
                   sluice_reason *why) {
    uint64_t h = sluice_mix(SLUICE_MIX, o->memory);
    for (const char *s = err ? "" : next->layout->text; *s; s++) h = sluice_mix(h, *s);
    for (int t = 0; !err && t < next->ntargets; t++)
        for (const char *s = next->target[t].text; *s; s++) h = sluice_mix(h, *s);
    if (!err) h = sluice_mix(h, next->desc.shape.order);
    const int64_t mark = (int64_t)(h >> 2); /* so that it can be negated */
    int64_t said[] = {mark, -mark};
    if (!a->collective) return err;
    err = sluice_agree_on(a->collective->group, SLUICE_CALL_RELAYOUT, err, why, said, 2);
    if (err || said[0] == -said[1]) return err;
    return sluice_refuse(why, SLUICE_E_MISMATCH, -1, "relayout %s: processes name different layouts",
                         a->io.store->name);
}

/* A handle of the next generation; its container has taken `next` over if it succeeds. */
static int open_next(sluice_array **to, sluice_array *a, sluice_manifest *next, sluice_reason *why) {
    const sluice_options o = {.size = sizeof o, .memory = a->io.memory, .no_map = 1, .exclusive = 1};
    sluice_container *c;
    int err = sluice_container_next(&c, a->container, next, why);
    if (err) return err;
    err = sluice_contain_adopt(to, c, SLUICE_PEER, &o, why);
    if (err) { /* but not of `next` */
        sluice_folder_release(c->member, c->member ? next->layout->n : 0);
        c->member = NULL;
        c->manifest = NULL;
        sluice_container_close(c);
    }
    return err;
}

/* The array's handle becomes one of the other's generation, and the other way round. */
static void swap(sluice_array *a, sluice_array *b) {
    sluice_array was = *a;
    sluice_manifest *m = a->container->manifest;
    (void)sluice_io_disclaim(&a->io, NULL); /* of the old subfiles, which are gone */
    sluice_io_release(&a->io);
    sluice_io_release(&b->io);
    a->io.map_tried = b->io.map_tried = false;
    a->container->manifest = b->container->manifest;
    b->container->manifest = m;
    a->io.store = b->io.store, b->io.store = was.io.store;
    a->layout = b->layout, b->layout = was.layout;
    a->near = SLUICE_FIRST_COPIES;
    a->io.data_end = b->io.data_end;
    a->subfiles = b->subfiles, b->subfiles = was.subfiles;
    a->desc = b->desc, b->desc = was.desc;
    a->type = b->type, b->type = was.type;
}

/* The copy, and its sync; errors are those of all. */
static int fill(sluice_array *to, sluice_array *a, const sluice_relayout *o, sluice_reason *why) {
    to->collective = a->collective;
    int err = sluice_redistribute_all(
        to, a, &(sluice_copy_options){.memory = o->memory, .progress = o->progress, .arg = o->arg});
    if (!err) err = sluice_sync(to);
    if (err) *why = sluice_errmsg_reason(err);
    if (!err && !to->collective) err = sluice_contain_seal(to, 0, 1, why); /* a group's sync has done it */
    to->collective = NULL;
    return err;
}

static int make(sluice_array *a, sluice_manifest *next, const sluice_relayout *o, bool *taken, sluice_reason *why) {
    sluice_array *to = NULL;
    int64_t done = 0;
    bool made = false;
    int err = agree(a, leads(a) ? begin(a, next, why) : 0, why);
    if (err) return err;
    err = open_next(&to, a, next, why);
    *taken = !err;
    err = agree(a, err, why);
    if (!err) err = fill(to, a, o, why);
    if (!err) {
        if (leads(a)) err = sluice_container_switch(a->container, next, &made, why);
        done = made || !leads(a);
        if (a->collective) err = sluice_agree(a->collective->group, err, why, &done, 1);
    }
    if (done) swap(a, to);
    if (!done && leads(a)) sluice_container_abandon(a->container, next);
    if (to) (void)sluice_close(to);
    if (a->collective) sluice_collective_forget(a->collective);
    return err;
}

int sluice_relayout_all(sluice_array *a, const sluice_relayout *o) {
    sluice_manifest *next = NULL;
    sluice_reason why;
    bool taken = false;
    if (a->serving) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "relayout %s: servers have it", a->io.store->name);
    int err = a->writable
                  ? 0
                  : sluice_refuse(&why, -EBADF, -1, "relayout %s: it was opened for reading only", a->io.store->name);
    if (!err && a->slabs)
        err = sluice_refuse(&why, SLUICE_E_ARGUMENT, -1, "relayout %s: a loop over it is open", a->io.store->name);
    if (!err) err = sluice_relayout_plan(&next, a, o, &why);
    sluice_background_drain(a);
    err = compare(a, next, o, err, &why);
    if (!err) err = make(a, next, o, &taken, &why);
    if (!taken) sluice_manifest_free(next);
    return err ? sluice_errmsg_set(&why) : 0;
}
