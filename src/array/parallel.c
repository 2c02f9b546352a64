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
    int err = f->set && f->io ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && !err; i++) err = sluice_set_copy(&f->set[i], &p->set[i]);
    f->partition.set = f->set;
    if (err)
        free_file(f);
    else
        *out = f;
    return err;
}

int sluice_parallel_adopt(sluice_file **out, const sluice_partition *p, sluice_store *const *store, bool writable,
                          const sluice_options *o, sluice_reason *why) {
    sluice_file *f;
    sluice_options each = *o;
    each.memory = o->memory / p->n;
    if (each.memory < SLUICE_IO_LEAST)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1,
                             "open %s: a memory limit of %lld bytes for %d subfiles; the least is %d for each",
                             store[0]->name, (long long)o->memory, p->n, SLUICE_IO_LEAST);
    int err = new_file(&f, p);
    if (err) return sluice_store_refuse(why, err, "open", store[0]->name, -1);
    f->writable = writable;
    for (int i = 0; i < p->n && !err; i++) {
        err = sluice_array_io(&f->io[i], store[i], writable, &each);
        if (err) sluice_store_refuse(why, err, "open", store[i]->name, -1);
    }
    if (err)
        free_file(f);
    else
        *out = f;
    return err;
}

/* ---- Opening ------------------------------------------------------------------------------------------------- */

typedef struct opening {
    sluice_partition partition;
    const char *const *path;
    sluice_store_mode mode;
    sluice_options o;
} opening;

/* Closes the first n stores; those that were made just now are of no use. */
static void undo(const opening *w, sluice_store *const *store, int n) {
    for (int i = 0; i < n; i++) {
        sluice_store_close(store[i]);
        if (w->mode == SLUICE_STORE_CREATE && w->o.store != SLUICE_STORE_RAM) unlink(w->path[i]);
    }
}

static int open_stores(sluice_file **out, const opening *w, sluice_store **store, sluice_reason *why) {
    int n = 0, err = 0;
    while (n < w->partition.n && !err) {
        err = sluice_array_store(&store[n], w->path[n], w->mode, w->o.store, why);
        if (!err) n++;
    }
    if (!err) err = sluice_parallel_adopt(out, &w->partition, store, w->mode != SLUICE_STORE_READ, &w->o, why);
    if (err) undo(w, store, n);
    return err;
}

static int open_file(sluice_file **out, const sluice_partition *p, const char *const *path, sluice_store_mode mode,
                     const sluice_options *o) {
    opening w = {.partition = *p, .path = path, .mode = mode};
    sluice_reason why;
    const char *call = mode == SLUICE_STORE_CREATE ? "create" : "open";
    if (p->n < 1) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s: a partition of %d elements", call, p->n);
    int err = sluice_array_options(&w.o, o, call, path[0]);
    if (err) return err;
    const sluice_label name = sluice_store_label(path[0]);
    if (w.o.store == SLUICE_STORE_RAM && mode != SLUICE_STORE_CREATE)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "open %s: a file in memory can only be created", name.text);
    err = sluice_partition_check(&w.partition, &why);
    if (err) return sluice_errmsg_fail(err, "%s %s: partition: %s", call, name.text, why.text);
    sluice_store **store = sluice_mem_alloc((size_t)p->n, sizeof *store);
    if (!store) return sluice_errmsg_fail(-ENOMEM, "%s %s: no memory for %d subfiles", call, name.text, p->n);
    err = open_stores(out, &w, store, &why);
    sluice_mem_free(store);
    return err ? sluice_errmsg_set(&why) : 0;
}

int sluice_file_open(sluice_file **f, const sluice_partition *p, const char *const *path, int mode,
                     const sluice_options *o) {
    if (mode != SLUICE_READ && mode != SLUICE_WRITE)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "open: unknown mode %d", mode);
    return open_file(f, p, path, mode == SLUICE_WRITE ? SLUICE_STORE_WRITE : SLUICE_STORE_READ, o);
}

int sluice_file_create(sluice_file **f, const sluice_partition *p, const char *const *path, const sluice_options *o) {
    return open_file(f, p, path, SLUICE_STORE_CREATE, o);
}

int sluice_file_close(sluice_file *f) {
    int err = 0;
    if (!f) return 0;
    for (int i = 0; i < f->partition.n; i++) {
        sluice_store *s = f->io[i].store;
        const sluice_label name = sluice_store_label(s->name);
        sluice_io_release(&f->io[i]);
        int closed = sluice_store_close(s);
        if (closed && !err) err = sluice_errmsg_fail(closed, "close %s: %s", name.text, sluice_strerror(closed));
    }
    free_file(f);
    return err;
}

/* ---- The rest ------------------------------------------------------------------------------------------------ */

int sluice_file_sync(sluice_file *f) {
    sluice_reason why;
    int err = 0;
    for (int i = 0; i < f->partition.n; i++) { /* all of them, whatever becomes of one */
        int synced = sluice_store_sync(f->io[i].store, err ? NULL : &why);
        if (!err) err = synced;
    }
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
