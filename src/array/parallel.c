/* parallel.c: opening, making and closing parallel files. */
#include "array/parallel.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static void free_file(sluice_file *f) {
    for (int i = 0; f->set && i < f->partition.n; i++) sluice_set_free(&f->set[i]);
    sluice_mem_free(f->set);
    sluice_mem_free(f->io);
    sluice_mem_free(f);
}

/* All memory, and the partition. */
static int new_file(sluice_file **out, const sluice_partition *p) {
    const size_t n = (size_t)p->n;
    sluice_file *f = sluice_mem_alloc(1, sizeof *f);
    if (!f) return -ENOMEM;
    *f = (sluice_file){.partition = *p};
    f->set = sluice_mem_alloc(n, sizeof *f->set);
    f->io = sluice_mem_alloc(n, sizeof *f->io);
    if (f->set) memset(f->set, 0, n * sizeof *f->set);
    if (f->io) memset(f->io, 0, n * sizeof *f->io);
    int err = f->set && f->io ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && !err; i++) err = sluice_set_copy(&f->set[i], &p->set[i]);
    f->partition.set = f->set;
    if (err)
        free_file(f);
    else
        *out = f;
    return err;
}

int sluice_parallel_adopt(sluice_file **out, const sluice_opening *w, sluice_store *const *store, sluice_reason *why) {
    sluice_file *f;
    sluice_options each = w->o;
    const sluice_label name = sluice_store_label(w->path[0]);
    int here = 0;
    for (int i = 0; i < w->partition.n; i++) here += store[i] != NULL;
    each.memory = here ? w->memory / here : 0;
    if (here && each.memory < SLUICE_IO_LEAST)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1,
                             "open %s: a memory limit of %lld bytes is too low for %d subfiles", name.text,
                             (long long)w->o.memory, here);
    int err = new_file(&f, &w->partition);
    if (err) return sluice_store_refuse(why, err, "open", w->path[0], -1);
    f->name = name;
    f->end = INT64_MAX;
    f->writable = w->create || w->mode == SLUICE_WRITE;
    for (int i = 0; i < w->partition.n && !err; i++) {
        if (!store[i]) continue;
        err = sluice_array_io(&f->io[i], store[i], f->writable, &each);
        if (err) sluice_store_refuse(why, err, "open", store[i]->name, -1);
    }
    if (err)
        free_file(f);
    else
        *out = f;
    return err;
}

/* ---- Opening ------------------------------------------------------------------------------------------------- */

/* Subfiles that were made just now, and are of no use. */
static void unmake(const sluice_opening *w, int i) {
    if (w->create && w->o.store != SLUICE_STORE_RAM) unlink(w->path[i]);
}

int sluice_parallel_prepare(sluice_opening *w, const sluice_options *o, sluice_reason *why) {
    sluice_reason found;
    const char *call = w->create ? "create" : "open";
    if (w->partition.n < 1)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%s: a partition of %d elements", call, w->partition.n);
    const sluice_label name = sluice_store_label(w->path[0]);
    int err = sluice_array_options(&w->o, o, call, w->path[0]);
    if (err) {
        *why = sluice_errmsg_reason(err);
        return err;
    }
    if (!w->create && w->mode != SLUICE_READ && w->mode != SLUICE_WRITE)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "open %s: unknown mode %d", name.text, w->mode);
    if (w->o.store == SLUICE_STORE_RAM && !w->create)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "open %s: a file in memory can only be created", name.text);
    err = w->layout ? 0 : sluice_partition_check(&w->partition, &found);
    if (err) return sluice_refuse(why, err, found.pos, "%s %s: partition: %.80s", call, name.text, found.text);
    w->store_mode = w->create ? SLUICE_STORE_CREATE : w->mode == SLUICE_WRITE ? SLUICE_STORE_WRITE : SLUICE_STORE_READ;
    w->memory = w->o.memory;
    w->first = 0;
    w->every = 1;
    return 0;
}

int sluice_parallel_open(sluice_file **out, const sluice_opening *w, sluice_reason *why) {
    const int n = w->partition.n;
    sluice_store **store = sluice_mem_alloc((size_t)n, sizeof *store);
    if (!store) return sluice_store_refuse(why, -ENOMEM, "open", w->path[0], -1);
    memset(store, 0, (size_t)n * sizeof *store);
    int err = 0;
    for (int i = w->first; i < n && !err; i += w->every)
        err = sluice_array_store(&store[i], w->path[i], w->store_mode, w->o.store, why);
    if (!err) err = sluice_parallel_adopt(out, w, store, why);
    for (int i = 0; i < n && err; i++)
        if (store[i]) sluice_store_close(store[i]), unmake(w, i);
    sluice_mem_free(store);
    return err;
}

void sluice_parallel_discard(sluice_file *f, const sluice_opening *w) {
    for (int i = 0; i < f->partition.n; i++)
        if (f->io[i].store) unmake(w, i);
    sluice_parallel_close(f, NULL);
}

static int open_file(sluice_file **out, sluice_opening *w, const sluice_options *o) {
    sluice_reason why;
    int err = sluice_parallel_prepare(w, o, &why);
    if (!err) err = sluice_parallel_open(out, w, &why);
    return err ? sluice_errmsg_set(&why) : 0;
}

int sluice_file_open(sluice_file **f, const sluice_partition *p, const char *const *path, int mode,
                     const sluice_options *o) {
    return open_file(f, &(sluice_opening){.partition = *p, .path = path, .mode = mode}, o);
}

int sluice_file_create(sluice_file **f, const sluice_partition *p, const char *const *path, const sluice_options *o) {
    return open_file(f, &(sluice_opening){.partition = *p, .path = path, .create = true}, o);
}

/* The stores of an open container become those of the file; on failure they stay. Of an array without elements the file
 * has no bytes, and any period will do. */
static int adopt_container(sluice_file **out, sluice_container *c, int mode, const char *const *path,
                           const sluice_options *o, sluice_reason *why) {
    const sluice_layout *l = c->manifest->layout;
    if (l->placed)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%s: a layout by plan is no partition of the subfiles' bytes",
                             sluice_store_label(path[0]).text);
    sluice_opening w = {
        .partition = {l->n, l->set, sluice_max(l->length, 1), 0}, .layout = true, .path = path, .mode = mode};
    int err = sluice_parallel_prepare(&w, o, why);
    if (!err) err = sluice_parallel_adopt(out, &w, c->member, why);
    if (err) return err;
    for (int i = 0; i < l->n && mode == SLUICE_WRITE; i++) (*out)->io[i].holder = getpid(); /* by the lock */
    sluice_mem_free(c->member);
    c->member = NULL;
    (*out)->container = c;
    (*out)->end = l->length;
    return 0;
}

int sluice_file_open_container(sluice_file **f, const char *path, int mode, const sluice_options *o) {
    sluice_container *c;
    sluice_options opts;
    sluice_reason why;
    int err = sluice_array_options(&opts, o, "open", path);
    if (err) return err;
    err = sluice_container_open(&c, path, mode == SLUICE_WRITE ? SLUICE_CONTAINER_WRITE : SLUICE_CONTAINER_READ,
                                opts.bindings, &why);
    if (!err && (err = adopt_container(f, c, mode, &path, &opts, &why))) sluice_container_close(c);
    return err ? sluice_errmsg_set(&why) : 0;
}

/* The checksums of a container, by the process that has the lock; all of them, whatever becomes of one. */
static int seal(sluice_file *f, sluice_reason *why) {
    int err = 0;
    for (int i = 0; f->container->owner == getpid() && i < f->partition.n; i++) {
        const int sealed = sluice_sums_seal(f->io[i].store, false, err ? NULL : why);
        if (!err) err = sealed;
    }
    return err;
}

int sluice_parallel_close(sluice_file *f, sluice_reason *why) {
    int err = f->container && f->writable ? seal(f, why) : 0;
    for (int i = 0; i < f->partition.n; i++) {
        sluice_store *s = f->io[i].store;
        if (!s) continue;
        const sluice_label name = sluice_store_label(s->name);
        sluice_io_release(&f->io[i]);
        int closed = sluice_store_close(s);
        if (closed && !err) err = sluice_store_refuse(why, closed, "close", name.text, -1);
    }
    int closed = f->container ? sluice_container_close(f->container) : 0;
    if (closed && !err) err = sluice_store_refuse(why, closed, "close", f->name.text, -1);
    free_file(f);
    return err;
}

int sluice_file_close(sluice_file *f) {
    sluice_reason why;
    if (!f) return 0;
    return (f->service ? sluice_served_close : sluice_parallel_close)(f, &why) ? sluice_errmsg_set(&why) : 0;
}

/* ---- The rest ------------------------------------------------------------------------------------------------ */

int sluice_file_sync(sluice_file *f) {
    sluice_reason why;
    int err = f->service ? sluice_served_sync(f, &why) : 0;
    for (int i = 0; i < f->partition.n && !f->service; i++) { /* all of them, whatever becomes of one */
        int synced = sluice_store_sync(f->io[i].store, err ? NULL : &why);
        if (!err) err = synced;
    }
    if (!err && f->container && f->writable) err = seal(f, &why);
    return err ? sluice_errmsg_set(&why) : 0;
}

void sluice_file_count(const sluice_file *f, sluice_counts *c) {
    memset(c, 0, sizeof *c);
    for (int i = 0; i < f->partition.n; i++) {
        const sluice_counts *one = &f->io[i].counts;
        c->calls_read += one->calls_read;
        c->calls_write += one->calls_write;
        c->bytes_read += one->bytes_read;
        c->bytes_written += one->bytes_written;
        c->wanted_read += one->wanted_read;
        c->wanted_written += one->wanted_written;
        c->preread += one->preread;
        c->mapped_read += one->mapped_read;
        c->mapped_written += one->mapped_written;
    }
}
