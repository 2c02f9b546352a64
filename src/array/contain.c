/* contain.c: arrays in containers (file/container.c): their subfiles are joined to one space (store/join.c), and from
 * then on a layout is all that tells them from an array in one file (split.c).
 */
#include "array/array.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool sluice_contain_there(const char *path) {
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool sluice_contain_wanted(const char *path, const sluice_options *o) {
    static const char suffix[] = ".sluice";
    size_t len = strlen(path), end = sizeof suffix - 1;
    while (len > 1 && path[len - 1] == '/') len--;
    return o->layout || (len > end && !strncmp(path + len - end, suffix, end));
}

/* For plans: where the subfiles lie in their space, and on which targets. All in one folder, each counts as a target.
 */
static int list_subfiles(sluice_subfiles *out, const sluice_manifest *m) {
    const sluice_layout *l = m->layout;
    int64_t *run = sluice_mem_alloc((size_t)l->n, 2 * sizeof *run + sizeof *out->target);
    if (!run) return -ENOMEM;
    int *target = (int *)(run + 2 * (size_t)l->n);
    for (int i = 0; i < l->n; i++) {
        run[2 * i] = l->base[i];
        run[2 * i + 1] = l->base[i] + l->set[i].size;
        target[i] = m->ntargets > 1 ? m->place[i] : i;
    }
    *out = (sluice_subfiles){l->n, run, target, m->ntargets > 1 ? m->ntargets : l->n};
    return 0;
}

/* The handle of an open container, which it takes over. */
static int adopt(sluice_array **out, sluice_container *c, sluice_role role, const sluice_options *given,
                 sluice_reason *why) {
    const sluice_manifest *m = c->manifest;
    const sluice_layout *l = m->layout;
    const bool writable = c->mode != SLUICE_CONTAINER_READ;
    sluice_options o = *given;
    sluice_store *store;
    sluice_subfiles subfiles;
    if (writable && role == SLUICE_ALONE) o.exclusive = 1; /* the lock keeps all others out */
    int err = list_subfiles(&subfiles, m);
    if (!err) {
        err = sluice_store_open_join(&store, c->member, l->base, l->n, l->base[l->n], c->path);
        if (!err) {
            sluice_mem_free(c->member);
            c->member = NULL;
            err = sluice_array_adopt(out, store, &m->desc, writable, &o);
            if (err) sluice_store_close(store);
        }
        if (err) sluice_mem_free((void *)(uintptr_t)subfiles.run);
    }
    if (err) return sluice_store_refuse(why, err, "open", c->path, -1);
    (*out)->container = c;
    (*out)->layout = l;
    (*out)->subfiles = subfiles;
    return 0;
}

/* What a caller says of an array must be true of it. */
static int compare(const sluice_manifest *m, const sluice_desc *given, const char *path, sluice_reason *why) {
    const sluice_label name = sluice_store_label(path);
    sluice_desc d = *given;
    sluice_reason detail;
    d.format = SLUICE_RAW;
    d.shape.header = 0;
    int err = sluice_desc_settle(&d, &detail);
    if (err) return sluice_refuse(why, err, detail.pos, "open %s: %s", name.text, detail.text);
    const sluice_shape *a = &d.shape, *b = &m->desc.shape;
    if (a->ndims == b->ndims && a->order == b->order && !strcmp(d.type, m->desc.type) &&
        !memcmp(a->dim, b->dim, (size_t)a->ndims * sizeof *a->dim))
        return 0;
    return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "open %s: its array is not of that shape, order and type",
                         name.text);
}

int sluice_contain_open(sluice_array **out, const sluice_place *p, int mode, const sluice_desc *given,
                        const sluice_options *o, sluice_reason *why) {
    sluice_container *c;
    const sluice_container_mode how = mode == SLUICE_READ      ? SLUICE_CONTAINER_READ
                                      : p->role == SLUICE_PEER ? SLUICE_CONTAINER_PEER
                                                               : SLUICE_CONTAINER_WRITE;
    int err = sluice_container_open(&c, p->path, how, o->bindings, why);
    if (err) return err;
    if (given) err = compare(c->manifest, given, p->path, why);
    if (!err) err = adopt(out, c, p->role, o, why);
    if (err) sluice_container_close(c);
    return err;
}

int sluice_contain_make(sluice_array **out, const sluice_place *p, const sluice_desc *given, const sluice_options *o,
                        sluice_reason *why) {
    const sluice_label name = sluice_store_label(p->path);
    sluice_manifest *m;
    sluice_desc d = *given;
    sluice_reason detail;
    d.format = SLUICE_RAW;
    if (given->format == SLUICE_NPY) d.shape.header = 0;
    if (d.shape.header)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "create %s: a container has no header", name.text);
    int err = sluice_manifest_make(&m, &d, o->layout ? o->layout : "single", o->targets, NULL, &detail);
    if (err) return sluice_refuse(why, err, detail.pos, "create %s: %s", name.text, detail.text);
    err = sluice_container_create(p->path, m, o->bindings, why);
    sluice_manifest_free(m);
    if (err) return err;
    err = sluice_contain_open(out, p, SLUICE_WRITE, NULL, o, why);
    if (err) (void)sluice_container_delete(p->path, o->bindings, NULL); /* it was made just now, and is of no use */
    return err;
}

int sluice_contain_close(sluice_array *a) {
    sluice_mem_free((void *)(uintptr_t)a->subfiles.run);
    return a->container ? sluice_container_close(a->container) : 0;
}
