/* contain.c: arrays in containers (file/container.c): their subfiles are joined to one space (store/join.c), and from
 * then on a layout is all that tells them from an array in one file (split.c).
 */
#include "array/array.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool sluice_contain_there(const char *path) {
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool sluice_contain_instead(char *out, size_t size, const char *path) {
    struct stat st;
    const int n = snprintf(out, size, "%s" SLUICE_SUFFIX, path);
    return n > (int)sizeof SLUICE_SUFFIX - 1 && (size_t)n < size && lstat(path, &st) && errno == ENOENT &&
           sluice_contain_there(out);
}

bool sluice_contain_wanted(const char *path, const sluice_options *o) {
    size_t len = strlen(path), end = sizeof SLUICE_SUFFIX - 1;
    while (len > 1 && path[len - 1] == '/') len--;
    return o->layout || (o->store != SLUICE_STORE_RAM && len > end && !strncmp(path + len - end, SLUICE_SUFFIX, end));
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
        run[2 * i + 1] = l->base[i] + l->size[i];
        target[i] = m->ntargets > 1 ? m->place[i] : i;
    }
    *out = (sluice_subfiles){l->n, run, target, m->ntargets > 1 ? m->ntargets : l->n};
    return 0;
}

static void free_subfiles(sluice_subfiles *s) {
    sluice_mem_free((void *)(uintptr_t)s->run);
    *s = (sluice_subfiles){0};
}

int sluice_contain_adopt(sluice_array **out, sluice_container *c, sluice_role role, const sluice_options *o,
                         sluice_reason *why) {
    const sluice_manifest *m = c->manifest;
    const sluice_layout *l = m->layout;
    const bool writable = c->mode != SLUICE_CONTAINER_READ;
    sluice_store *store;
    sluice_subfiles subfiles;
    int err = list_subfiles(&subfiles, m);
    if (!err) {
        err = sluice_store_open_join(&store, c->member, l->base, l->n, l->base[l->n], c->path);
        if (!err) {
            sluice_mem_free(c->member);
            c->member = NULL;
            err = sluice_array_adopt(out, store, &m->desc, writable, o);
            if (err) sluice_store_close(store);
        }
        if (err) free_subfiles(&subfiles);
    }
    if (err) return sluice_store_refuse(why, err, "open", c->path, -1);
    (*out)->container = c;
    (*out)->layout = l;
    (*out)->subfiles = subfiles;
    (*out)->near = SLUICE_FIRST_COPIES;
    (*out)->io.data_end = l->base[l->n];
    if (writable && role == SLUICE_ALONE) (*out)->io.holder = getpid(); /* the lock keeps all others out */
    return 0;
}

/* What a caller says of an array must be true of it. */
int sluice_contain_compare(const sluice_manifest *m, const sluice_desc *given, const char *path, sluice_reason *why) {
    const sluice_label name = sluice_store_label(path);
    sluice_desc d = *given;
    sluice_reason detail;
    d.format = SLUICE_RAW;
    d.shape.header = m->desc.shape.header;
    int err = sluice_desc_settle(&d, &detail);
    if (err) return sluice_refuse(why, err, detail.pos, "open %s: %s", name.text, detail.text);
    const sluice_shape *a = &d.shape, *b = &m->desc.shape;
    if (a->ndims == b->ndims && a->order == b->order && !strcmp(d.type, m->desc.type) &&
        !memcmp(a->dim, b->dim, (size_t)a->ndims * sizeof *a->dim))
        return 0;
    return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "open %s: its array is not of that shape, order and type",
                         name.text);
}

sluice_store_opener *sluice_contain_opener(sluice_store_kind kind) {
    return kind == SLUICE_STORE_POSIX   ? sluice_posix_make
           : kind == SLUICE_STORE_URING ? sluice_uring_make
                                        : sluice_store_open_at;
}

int sluice_contain_open(sluice_array **out, const sluice_place *p, int mode, const sluice_desc *given,
                        const sluice_options *o, sluice_reason *why) {
    sluice_container *c;
    const sluice_container_mode how = mode == SLUICE_READ      ? SLUICE_CONTAINER_READ
                                      : p->role == SLUICE_PEER ? SLUICE_CONTAINER_PEER
                                                               : SLUICE_CONTAINER_WRITE;
    int err = sluice_container_open_by(&c, p->path, how, o->bindings, sluice_contain_opener(o->store), why);
    if (err) return sluice_errmsg_name("open", p->path, err, why);
    if (given) err = sluice_contain_compare(c->manifest, given, p->path, why);
    if (!err) err = sluice_contain_adopt(out, c, p->role, o, why);
    if (err) sluice_container_close(c);
    return err;
}

int sluice_contain_describe(sluice_manifest **out, const char *path, const sluice_desc *given, const sluice_options *o,
                            sluice_reason *why) {
    const sluice_label label = sluice_store_label(path);
    sluice_desc d = *given;
    sluice_reason detail;
    if (o->store == SLUICE_STORE_RAM)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "create %s: an array in memory has no layout", label.text);
    d.format = SLUICE_RAW;
    if (given->format == SLUICE_NPY) d.shape.header = 0;
    if (d.shape.header)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "create %s: a container has no header", label.text);
    int err = sluice_desc_settle(&d, &detail);
    if (!err && d.swapped)
        err = sluice_refuse(&detail, SLUICE_E_ARGUMENT, -1, "new files have this machine's byte order");
    if (!err) err = sluice_manifest_make(out, &d, o->layout ? o->layout : "single", o->targets, NULL, &detail);
    if (!err && (err = sluice_manifest_checksum(*out, o->checksum, &detail))) {
        sluice_manifest_free(*out);
        *out = NULL;
    }
    return err ? sluice_refuse(why, err, detail.pos, "create %s: %s", label.text, detail.text) : 0;
}

int sluice_contain_make(sluice_array **out, const sluice_place *p, const sluice_desc *given, const sluice_options *o,
                        sluice_reason *why) {
    sluice_manifest *m;
    int err = sluice_contain_describe(&m, p->path, given, o, why);
    if (err) return err;
    err = sluice_container_create(p->path, m, o->bindings, why);
    sluice_manifest_free(m);
    if (err) return sluice_errmsg_name("create", p->path, err, why);
    err = sluice_contain_open(out, p, SLUICE_WRITE, NULL, o, why);
    if (err) (void)sluice_container_delete(p->path, o->bindings, NULL); /* it was made just now, and is of no use */
    return err;
}

int sluice_contain_close(sluice_array *a) {
    free_subfiles(&a->subfiles);
    return a->container ? sluice_container_close(a->container) : 0;
}

/* ---- Checksums ---- */

static sluice_store *member(const sluice_array *a, int i) {
    int64_t off = a->layout->base[i], room;
    return sluice_store_holder(a->io.store, &off, &room);
}

bool sluice_contain_seals(const sluice_array *a) {
    const sluice_container *c = a->container;
    return c && a->writable && c->manifest->checksum && (a->collective || c->owner == getpid());
}

int sluice_contain_doubt(const sluice_array *a, sluice_reason *why) {
    for (int i = 0; i < a->layout->n; i++) {
        sluice_sums_states state;
        const int err = sluice_sums_state(member(a, i), &state, why);
        if (err) return err;
        if (state == SLUICE_SUMS_DOUBT)
            return sluice_refuse(why, SLUICE_E_CHECKSUM, -1,
                                 "subfile %d may be damaged by a power cut; `sluice check --seal` takes it as it is",
                                 i);
    }
    return 0;
}

int sluice_contain_seal(sluice_array *a, int rank, int size, sluice_reason *why) {
    int err = 0;
    for (int i = rank; i < a->layout->n; i += size) { /* all of them, whatever becomes of one */
        const int sealed = sluice_sums_seal(member(a, i), false, err ? NULL : why);
        if (!err) err = sealed;
    }
    return err;
}

/* ---- Another extent ---- */

int sluice_contain_prepare(sluice_resizing *r, const sluice_array *a, int64_t extent, sluice_reason *why) {
    sluice_reason detail;
    *r = (sluice_resizing){0};
    if (a->desc.shape.header)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1,
                             "resize %s: it was made of a file with a header, which would say something else",
                             a->io.store->name);
    int err = sluice_manifest_resize(&r->next, a->container->manifest, extent, &detail);
    if (!err && (err = list_subfiles(&r->subfiles, r->next))) {
        sluice_pass(&detail, err);
        sluice_manifest_free(r->next);
        r->next = NULL;
    }
    return err ? sluice_refuse(why, err, detail.pos, "resize %s: %s", a->io.store->name, detail.text) : 0;
}

/* What a subfile has behind its bytes, though it should not, must not become elements. */
static int lengthen(sluice_store *s, int64_t from, int64_t to, sluice_reason *why) {
    const int64_t size = sluice_store_size(s, why);
    int err = size < 0 ? (int)size : size > from ? sluice_store_resize(s, from, why) : 0;
    if (!err) err = sluice_store_resize(s, to, why);
    return err ? err : sluice_store_sync(s, why);
}

int sluice_contain_lengthen(sluice_array *a, const sluice_resizing *r, sluice_reason *why) {
    const sluice_layout *before = a->layout, *after = r->next->layout;
    int err = 0;
    for (int i = 0; i < before->n && !err; i++)
        if (sluice_serving_has(a, i) && after->size[i] > before->size[i])
            err = lengthen(member(a, i), before->size[i], after->size[i], why);
    return err;
}

int sluice_contain_publish(sluice_array *a, const sluice_resizing *r, bool *done, sluice_reason *why) {
    const sluice_container *c = a->container;
    return sluice_errmsg_name("resize", c->path,
                              sluice_folder_write(r->next, c->folder, SLUICE_MANIFEST_NAME, done, c->path, why), why);
}

/* If this fails, subfiles are longer than they need be, which does no harm. */
void sluice_contain_trim(sluice_array *a, const sluice_resizing *r, bool done) {
    const sluice_layout *before = a->layout, *after = r->next->layout, *is = done ? after : before;
    for (int i = 0; i < before->n; i++)
        if (sluice_serving_has(a, i) && (done ? after->size[i] < before->size[i] : after->size[i] > before->size[i]))
            (void)sluice_store_resize(member(a, i), is->size[i], NULL);
}

int sluice_contain_resize(sluice_array *a, const sluice_resizing *r, bool *done, sluice_reason *why) {
    *done = false;
    int err = sluice_contain_lengthen(a, r, why);
    if (!err) err = sluice_contain_publish(a, r, done, why);
    if (!err || !*done) sluice_contain_trim(a, r, *done);
    return err;
}

void sluice_contain_finish(sluice_array *a, sluice_resizing *r, bool done) {
    if (done) {
        sluice_manifest *before = a->container->manifest;
        sluice_subfiles old = a->subfiles;
        sluice_io_release(&a->io);
        a->io.map_tried = false;
        a->container->manifest = r->next;
        a->layout = r->next->layout;
        a->desc.shape = r->next->desc.shape;
        a->subfiles = r->subfiles;
        a->io.data_end = a->layout->base[a->layout->n];
        sluice_store_move_join(a->io.store, r->subfiles.run, a->layout->base[a->layout->n]);
        *r = (sluice_resizing){before, old};
    }
    sluice_manifest_free(r->next);
    free_subfiles(&r->subfiles);
}
