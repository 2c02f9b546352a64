/* array.c: opening, making, closing and describing arrays. */
#include "array/array.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_MEMORY = 64 << 20 };

static int check_together(const sluice_together *t, sluice_reason *why) {
    if ((int)t->way < SLUICE_WAY_AUTO || t->way > SLUICE_WAY_TWO_PHASE)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "unknown way %d to work together", (int)t->way);
    if ((int)t->division < SLUICE_DIVIDE_AUTO || t->division > SLUICE_DIVIDE_BALANCED)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "unknown division %d", (int)t->division);
    if ((int)t->exchange < SLUICE_EXCHANGE_AUTO || t->exchange > SLUICE_EXCHANGE_ALLTOALL)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "unknown exchange %d", (int)t->exchange);
    if (t->aggregators < 0 || t->align < 0 || t->block < 0 || t->nodes < 0)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "aggregators, align, block or nodes are negative");
    return 0;
}

/* A shorter struct of an older program is accepted. */
static int settle_options(sluice_options *o, const sluice_options *given, sluice_reason *why) {
    memset(o, 0, sizeof *o);
    if (given) {
        if (given->size > sizeof *o)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "options of %zu bytes, made for a newer Sluice",
                                 given->size);
        memcpy(o, given, given->size ? given->size : sizeof *o);
    }
    if (o->memory == 0) o->memory = DEFAULT_MEMORY;
    if (o->memory < SLUICE_IO_LEAST)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "a memory limit of %lld bytes; the least is %d",
                             (long long)o->memory, SLUICE_IO_LEAST);
    if ((int)o->method < SLUICE_AUTO || o->method > SLUICE_MAPPED)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "unknown method %d", (int)o->method);
    if ((int)o->store < SLUICE_STORE_AUTO || o->store > SLUICE_STORE_RAM)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "unknown store %d", (int)o->store);
    return check_together(&o->together, why);
}

int sluice_array_options(sluice_options *o, const sluice_options *given, const char *call, const char *path) {
    sluice_reason why;
    int err = settle_options(o, given, &why);
    if (!err) return 0;
    const sluice_label name = sluice_store_label(path);
    return sluice_errmsg_fail(err, "%s %s: %s", call, name.text, why.text);
}

int sluice_array_store(sluice_store **s, const char *path, sluice_store_mode mode, sluice_store_kind kind,
                       sluice_reason *why) {
    switch (kind) {
    case SLUICE_STORE_POSIX: return sluice_store_open_posix(s, path, mode, why);
    case SLUICE_STORE_URING: return sluice_store_open_uring(s, path, mode, why);
    case SLUICE_STORE_RAM: return sluice_store_open_ram(s, 0, why);
    case SLUICE_STORE_AUTO: break;
    }
    return sluice_store_open(s, path, mode, why);
}

/* What lies beside a path is spoken of by that path. */
static int open_store(sluice_store **s, const sluice_place *p, sluice_store_mode mode, sluice_store_kind kind,
                      sluice_reason *why) {
    int err = sluice_array_store(s, sluice_place_at(p), mode, kind, why);
    if (!p->ticket) return err;
    if (!err && !sluice_store_call(*s, p->path)) {
        err = -ENOMEM;
        sluice_store_close(*s);
        if (mode == SLUICE_STORE_CREATE) unlink(sluice_place_at(p));
    }
    return err ? sluice_store_refuse(why, err, "create", p->path, -1) : 0;
}

/* Whether the file system locks ranges, or why that is not known: 1, 0 or negative. Asked once, by a test, which does
 * not wait. What fails for the moment only must not pass for an answer: who writes without locks beside others that
 * take them undoes what they write. */
static int has_locks(sluice_store *s) {
    int err = sluice_store_lock(s, INT64_MAX - 2, 1, SLUICE_LOCK_TEST, NULL);
    if (err == -ENOTSUP || err == -EOPNOTSUPP || err == -EINVAL || err == -ENOSYS) return 0;
    return err && err != -EBUSY ? err : 1;
}

int sluice_array_io(sluice_io *io, sluice_store *store, bool writable, const sluice_options *o) {
    int locks = writable && !o->exclusive ? has_locks(store) : 0;
    if (locks < 0) return locks;
    *io = (sluice_io){.store = store,
                      .no_map = o->no_map,
                      .writable = writable,
                      .exclusive = o->exclusive,
                      .locks = locks,
                      .method = o->method,
                      .memory = o->memory ? o->memory : DEFAULT_MEMORY};
    return 0;
}

int sluice_array_adopt(sluice_array **out, sluice_store *store, const sluice_desc *d, bool writable,
                       const sluice_options *o) {
    sluice_io io;
    int err = sluice_array_io(&io, store, writable, o);
    if (err) return err;
    sluice_array *a = sluice_mem_alloc(1, sizeof *a);
    if (!a) return -ENOMEM;
    memset(a, 0, sizeof *a);
    a->desc = *d;
    a->writable = writable;
    a->io = io;
    sluice_type_parse(&a->type, d->type);
    pthread_mutex_init(&a->mutex, NULL);
    pthread_cond_init(&a->change, NULL);
    *out = a;
    return 0;
}

/* The end of opening and creating: the handle, or the store closed. */
static int finish(sluice_array **out, sluice_store *store, const sluice_desc *d, bool writable, const sluice_options *o,
                  int err, sluice_reason *why) {
    if (!err) {
        err = sluice_array_adopt(out, store, d, writable, o);
        if (err) sluice_store_refuse(why, err, "open", store->name, -1);
    }
    if (err) sluice_store_close(store);
    return err;
}

int sluice_array_open(sluice_array **out, const sluice_place *p, int mode, const sluice_desc *given,
                      const sluice_options *o, sluice_reason *why) {
    sluice_store *store = NULL;
    sluice_desc d;
    const sluice_label name = sluice_store_label(p->path);
    if (o->store == SLUICE_STORE_RAM)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "open %s: an array in memory can only be created", name.text);
    if (mode != SLUICE_READ && mode != SLUICE_WRITE)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "open %s: unknown mode %d", name.text, mode);
    if (!p->ticket && sluice_contain_there(p->path)) return sluice_contain_open(out, p, mode, given, o, why);
    sluice_place there = *p;
    char container[PATH_MAX];
    there.path = container;
    if (!p->ticket && sluice_contain_instead(container, sizeof container, p->path))
        return sluice_contain_open(out, &there, mode, given, o, why);
    int err = open_store(&store, p, mode == SLUICE_WRITE ? SLUICE_STORE_WRITE : SLUICE_STORE_READ, o->store, why);
    if (err) return err;
    err = sluice_plain_open(&d, given, store, why);
    return finish(out, store, &d, mode == SLUICE_WRITE, o, err, why);
}

int sluice_open(sluice_array **out, const char *path, int mode, const sluice_desc *given, const sluice_options *o) {
    sluice_options opts;
    sluice_place here;
    sluice_reason why;
    int err = sluice_array_options(&opts, o, "open", path);
    if (err) return err;
    sluice_place_find(&here, path, 0, NULL);
    return sluice_array_open(out, &here, mode, given, &opts, &why) ? sluice_errmsg_set(&why) : 0;
}

int sluice_array_make(sluice_array **out, const sluice_place *p, const sluice_desc *given, const sluice_options *o,
                      sluice_reason *why) {
    sluice_store *store = NULL;
    sluice_desc d = *given;
    if (sluice_contain_wanted(p->path, o)) return sluice_contain_make(out, p, given, o, why);
    if (o->checksum)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "create %s: checksums are of containers; give a layout",
                             sluice_store_label(p->path).text);
    int err = open_store(&store, p, SLUICE_STORE_CREATE, o->store, why);
    if (err) return err;
    err = sluice_plain_create(&d, store, why);
    err = finish(out, store, &d, true, o, err, why);
    if (err && o->store != SLUICE_STORE_RAM) unlink(sluice_place_at(p)); /* it was made just now, and is of no use */
    return err;
}

int sluice_create(sluice_array **out, const char *path, const sluice_desc *given, const sluice_options *o) {
    sluice_options opts;
    sluice_place place;
    sluice_array *a = NULL;
    sluice_reason why;
    int err = sluice_array_options(&opts, o, "create", path);
    if (err) return err;
    bool replace = opts.replace && opts.store != SLUICE_STORE_RAM && !sluice_contain_wanted(path, &opts);
    err = sluice_place_find(&place, path, replace ? sluice_place_ticket() : 0, &why);
    if (!err) err = sluice_array_make(&a, &place, given, &opts, &why);
    if (!err && replace && (err = sluice_place_publish(&place, &why))) {
        sluice_close(a);
        unlink(sluice_place_at(&place));
    }
    if (err) return sluice_errmsg_set(&why);
    *out = a;
    return 0;
}

int sluice_close(sluice_array *a) {
    sluice_reason late, why;
    if (!a) return 0;
    sluice_background_end(a);
    int err = a->serving ? sluice_serving_end(a, &late) : 0;
    if (err) sluice_errmsg_set(&late);
    sluice_io_release(&a->io);
    const bool settle =
        sluice_contain_seals(a) || sluice_copies_scattered(a, a->collective ? a->collective->group : NULL);
    const int sealed = settle ? sluice_array_sync(a, SLUICE_CALL_CLOSE, 0, &why) : 0;
    char *name = a->io.store->name;
    a->io.store->name = NULL;
    int closed = sluice_store_close(a->io.store);
    if (closed && !err) err = sluice_errmsg_fail(closed, "close %s: %s", name, sluice_strerror(closed));
    if (a->collective) err = sluice_all_close(a->collective, err);
    /* Others may write from here on, and no process of the group does any more. */
    const bool contained = a->container != NULL;
    int unlocked = sluice_contain_close(a);
    if (unlocked && !err) sluice_errmsg_fail(unlocked, "close %s: %s", name, sluice_strerror(unlocked));
    if (!err) err = a->collective && contained ? sluice_all_close(a->collective, unlocked) : unlocked;
    if (sealed) err = sluice_errmsg_set(&why);
    sluice_mem_free(name);
    sluice_serving_free(a->serving);
    sluice_collective_close(a->collective);
    pthread_cond_destroy(&a->change);
    pthread_mutex_destroy(&a->mutex);
    sluice_mem_free(a);
    return err;
}

/* First all have written what they write; then it goes to disk, where it must be before its checksums. */
int sluice_array_sync(sluice_array *a, int64_t call, int error, sluice_reason *why) {
    sluice_group *g = a->collective ? a->collective->group : NULL;
    sluice_server *own = a->serving ? a->serving->far.own : NULL;
    /* One process of a node is enough, unless there are those who have the files. */
    const bool mine = a->serving ? own != NULL : !g || g->local == 0;
    if (g) error = sluice_agree_on(g, call, error, why, NULL, 0);
    if (error) return error;
    if (own) error = sluice_server_settle(own, why);
    if (!error && mine) error = sluice_store_sync(a->io.store, why);
    if (g) error = sluice_agree(g, error, why, NULL, 0);
    if (!error && a->writable && sluice_copies_there(a)) error = sluice_copies_settle(a, g, why);
    if (error || !sluice_contain_seals(a)) return error;
    error = sluice_contain_seal(a, g ? g->rank : 0, g ? g->size : 1, why);
    return g ? sluice_agree(g, error, why, NULL, 0) : error;
}

int sluice_sync(sluice_array *a) {
    sluice_reason why;
    sluice_background_drain(a);
    int err = sluice_array_sync(a, SLUICE_CALL_SYNC, sluice_serving_meet(a, SLUICE_CALL_SYNC, 0, 0, &why), &why);
    return err ? sluice_errmsg_set(&why) : 0;
}

const sluice_desc *sluice_describe(const sluice_array *a) { return &a->desc; }

const char *sluice_describe_layout(const sluice_array *a) { return a->layout ? a->layout->text : NULL; }

void sluice_count(const sluice_array *a, sluice_counts *c) { *c = a->io.counts; }

/* 0, or the refusal to change a read-only handle. */
static int may_write(const sluice_array *a, const char *call, sluice_reason *why) {
    if (a->writable) return 0;
    return sluice_refuse(why, -EBADF, -1, "%s %s: it was opened for reading only", call, a->io.store->name);
}

static int resize_container(sluice_array *a, int64_t extent, sluice_reason *why) {
    sluice_resizing r;
    bool done = false;
    int err = sluice_contain_prepare(&r, a, extent, why);
    if (!err) err = sluice_contain_resize(a, &r, &done, why);
    sluice_contain_finish(a, &r, done);
    return err;
}

int sluice_resize(sluice_array *a, int64_t extent) {
    sluice_reason why;
    int err = may_write(a, "resize", &why);
    sluice_background_drain(a);
    if (a->collective)
        err = sluice_all_resize(a, extent, sluice_serving_meet(a, SLUICE_CALL_RESIZE, extent, err, &why), &why);
    else if (!err && a->container)
        err = resize_container(a, extent, &why);
    else if (!err)
        err = sluice_plain_resize(&a->desc, a->io.store, extent, &why);
    return err ? sluice_errmsg_set(&why) : 0;
}

static int check_header(sluice_array *a, int64_t len, const char *call) {
    if (len >= 0 && len <= a->desc.shape.header) return 0;
    return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s %s: %lld bytes, but its header has %lld", call, a->io.store->name,
                              (long long)len, (long long)a->desc.shape.header);
}

/* In subfiles the header lies like all else. */
static int move_header(sluice_array *a, bool write, void *buf, int64_t len, sluice_reason *why) {
    sluice_set file = SLUICE_SET_EMPTY;
    sluice_pieces pieces = {0};
    if (!a->layout)
        return write ? sluice_store_write(a->io.store, 0, buf, len, why)
                     : sluice_store_read(a->io.store, 0, buf, len, why);
    int err = sluice_pass(why, sluice_set_block(&file, 0, len));
    if (!err)
        err = sluice_pass(why, sluice_split_parts(&pieces, a, write, &(sluice_io_part){&file, {buf, NULL, 0, 0}}, 1));
    if (!err) err = sluice_transfer_pieces(a, write, &pieces, why);
    sluice_split_free(&pieces);
    sluice_set_free(&file);
    return err;
}

int sluice_read_header(sluice_array *a, void *buf, int64_t len) {
    sluice_reason why;
    int err = check_header(a, len, "read header of");
    if (err) return err;
    sluice_background_drain(a);
    return move_header(a, false, buf, len, &why) ? sluice_errmsg_set(&why) : 0;
}

int sluice_write_header(sluice_array *a, const void *buf, int64_t len) {
    sluice_reason why;
    int err = may_write(a, "write header of", &why) ? sluice_errmsg_set(&why) : 0;
    if (!err && a->desc.format != SLUICE_RAW)
        err = sluice_errmsg_fail(SLUICE_E_ARGUMENT, "write header of %s: an .npy header is Sluice's own",
                                 a->io.store->name);
    if (!err) err = check_header(a, len, "write header of");
    if (err) return err;
    sluice_background_drain(a);
    return move_header(a, true, (void *)(uintptr_t)buf, len, &why) ? sluice_errmsg_set(&why) : 0;
}
