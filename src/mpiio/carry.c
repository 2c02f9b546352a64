/* carry.c: one access: its two sets, and the transfer between them.
 *
 * Memory whose datatype ascends is a set, and src/io moves the bytes straight. Any other goes by way of a packed copy,
 * and so does everything in external32: piece by piece in calls of one process, whole in collective ones, where all
 * processes would have to take part in every piece. What is read through a view in which bytes may come twice
 * (overlap.c) goes by way of stretches of the file.
 *
 * A file has no length of its own: writes extend it, and of a read only what lies before its end is moved, and counted.
 */
#include "mpiio/door.h"
#include "trace/record.h"
#include <errno.h>
#include <string.h>

enum { STAGE = 4 << 20 }; /* bytes of a packed copy, in calls of one process */

/* ---- What is to be moved ------------------------------------------------------------------------------------- */

static const char *name_of(const sluice_carry *c) { return c->door->own.io->store->name; }
static const char *verb_of(const sluice_carry *c) { return c->write ? "write" : "read"; }

static int check_mode(sluice_carry *c) {
    const int amode = c->door->amode;
    if (c->write && amode & MPI_MODE_RDONLY)
        return sluice_refuse(&c->why, sluice_class_error(MPI_ERR_READ_ONLY), -1,
                             "write %s: it was opened for reading only", name_of(c));
    if (!c->write && amode & MPI_MODE_WRONLY)
        return sluice_refuse(&c->why, sluice_class_error(MPI_ERR_ACCESS), -1, "read %s: it was opened for writing only",
                             name_of(c));
    return 0;
}

/* What a datatype is; of most calls it is one of the same few. */
static int describe(sluice_carry *c, MPI_Datatype type, sluice_reason *why) {
    sluice_door *d = c->door;
    int i = 0, err = 0;
    pthread_mutex_lock(&d->mutex);
    while (i < SLUICE_KNOWN && d->known[i].typed && d->known[i].type != type) i++;
    const bool room = i < SLUICE_KNOWN;
    if (room && d->known[i].typed) {
        c->type = d->known[i].typed;
        c->lent = true;
    } else {
        err = sluice_typed_make(type, &c->type, why);
    }
    if (!err && room && !c->lent && sluice_fileview_predefined(type)) {
        d->known[i] = (struct sluice_met){type, c->type};
        c->lent = true;
    }
    pthread_mutex_unlock(&d->mutex);
    return err;
}

static int measure(sluice_carry *c, MPI_Datatype type) {
    const sluice_fileview *v = &c->door->view;
    sluice_reason detail;
    if (c->count < 0)
        return sluice_refuse(&c->why, sluice_class_error(MPI_ERR_COUNT), -1, "%s %s: %lld elements", verb_of(c),
                             name_of(c), (long long)c->count);
    int err = describe(c, type, &detail);
    if (err)
        return sluice_refuse(&c->why, err == -ENOMEM ? err : sluice_class_error(MPI_ERR_TYPE), -1, "%s %s: %.100s",
                             verb_of(c), name_of(c), detail.text);
    const int64_t each = v->form == SLUICE_EXTERNAL32 ? c->type->external : c->type->size;
    if (!sluice_mul(c->count, c->type->size, &c->bytes) || !sluice_mul(c->count, each, &c->length))
        return sluice_refuse(&c->why, sluice_class_error(MPI_ERR_COUNT), -1, "%s %s: %lld elements are too many",
                             verb_of(c), name_of(c), (long long)c->count);
    if (c->length % v->unit)
        return sluice_refuse(&c->why, sluice_class_error(MPI_ERR_ARG), -1,
                             "%s %s: %lld bytes are not a number of etypes of %lld", verb_of(c), name_of(c),
                             (long long)c->length, (long long)v->unit);
    return 0;
}

void sluice_carry_start(sluice_carry *c, sluice_door *d, bool write, bool together, const void *buf, int64_t count,
                        MPI_Datatype type) {
    *c = (sluice_carry){.job = {.run = sluice_carry_run},
                        .door = d,
                        .write = write,
                        .together = together,
                        .buf = (unsigned char *)(uintptr_t)buf,
                        .count = count};
    c->error = check_mode(c);
    if (!c->error) c->error = measure(c, type);
    if (c->error) c->bytes = c->length = 0;
}

void sluice_carry_place(sluice_carry *c, int64_t at) {
    sluice_reason detail;
    if (c->error) return;
    c->at = at;
    int err = sluice_fileview_cut(&c->door->view, at, c->length, &c->file, &detail);
    if (err) c->error = sluice_refuse(&c->why, err, -1, "%s %s: %.100s", verb_of(c), name_of(c), detail.text);
    c->twice = !err && c->length && !c->file.size;
    if (c->twice && (c->write || c->door->view.form != SLUICE_NATIVE))
        c->error = sluice_refuse(&c->why, sluice_class_error(MPI_ERR_IO), -1,
                                 "%s %s: bytes may come twice in the view, which must be read, and native", verb_of(c),
                                 name_of(c));
    const sluice_array *a = c->door->own.array;
    if (!err && c->write && a && sluice_set_hi(&c->file) > a->layout->length)
        c->error = sluice_refuse(&c->why, -EFBIG, -1, "write %s: up to byte %lld of a container of %lld", name_of(c),
                                 (long long)sluice_set_hi(&c->file), (long long)a->layout->length);
}

void sluice_carry_free(sluice_carry *c) {
    if (!c->lent) sluice_typed_free(c->type);
    sluice_set_free(&c->file);
    sluice_set_free(&c->mem);
    c->type = NULL;
}

/* ---- The transfer -------------------------------------------------------------------------------------------- */

static bool by_all(const sluice_carry *c) { return c->together && c->door->group->size > 1; }

/* Of a container it is by pieces; c->error takes part in a collective call. */
static int transfer(sluice_carry *c, sluice_lane *l, bool together, const sluice_set *file, sluice_side mem) {
    sluice_door *d = c->door;
    const sluice_io_part whole = {file, mem};
    sluice_pieces pieces = {0};
    const sluice_layout *layout = l->array ? l->array->layout : NULL;
    int err = c->error;
    if (!err && layout) err = sluice_pass(&c->why, sluice_split_parts(&pieces, l->array, c->write, &whole, 1));
    const sluice_io_part *part = layout ? pieces.part : &whole;
    const int n = err ? 0 : layout ? pieces.n : 1;
    l->io->method = d->hints.method[c->write];
    if (together) {
        const sluice_extent plain = {0, INT64_MAX, 1, {0}}, e = l->array ? sluice_all_extent(l->array) : plain;
        const bool copies = c->write && l->array && sluice_copies_there(l->array);
        sluice_run copied = pieces.copied;
        d->collective->together.way = d->hints.way[c->write];
        if (copies) err = sluice_copies_enter_all(l->array, d->group, &copied, err, &c->why);
        if (!copies || !err)
            err = sluice_collective_move(d->collective, l->io, &e, c->write, part, n, NULL, err, &c->why);
        if (copies) err = sluice_copies_leave_all(l->array, d->group, copied, err, &c->why);
    } else if (!err && layout) {
        err = sluice_transfer_pieces(l->array, c->write, &pieces, &c->why);
    } else if (!err) {
        err = (c->write ? sluice_io_write : sluice_io_read)(l->io, part, n, &c->why);
    }
    sluice_split_free(&pieces);
    return err;
}

/* Straight between file and memory. */
static int carry_straight(sluice_carry *c, sluice_lane *l) {
    const sluice_typed *t = c->type;
    const int64_t before = c->write ? l->io->counts.wanted_written : l->io->counts.wanted_read;
    sluice_side mem = {c->buf, NULL, 0, 0};
    if (!c->error && c->bytes) {
        int64_t origin = t->true_lb;
        if (!t->contiguous) c->error = sluice_typed_set(t, c->count, &c->mem, &origin, &c->why);
        mem = (sluice_side){(unsigned char *)((uintptr_t)c->buf + (uintptr_t)origin), t->contiguous ? NULL : &c->mem, 0,
                            0};
    }
    int err = transfer(c, l, by_all(c), &c->file, mem);
    const int64_t after = c->write ? l->io->counts.wanted_written : l->io->counts.wanted_read;
    c->moved = c->in_file = err ? sluice_min(after - before, c->file.size) : c->file.size;
    return err;
}

/* Which bytes of the packed memory are bytes [0, n) of the packed file, as far as they are whole elements. */
static int64_t in_memory(const sluice_carry *c, int64_t n) {
    if (c->door->view.form == SLUICE_NATIVE) return n;
    return sluice_typed_bytes(c->type, SLUICE_NATIVE, sluice_typed_elements(c->type, SLUICE_EXTERNAL32, n));
}

/* How much of the file a piece that starts at byte `at` of it may have: whole elements in external32. */
static int64_t piece(const sluice_carry *c, int64_t at, int64_t end, int64_t stage) {
    if (end - at <= stage) return end - at;
    if (c->door->view.form == SLUICE_NATIVE) return stage;
    const int64_t k = sluice_typed_elements(c->type, SLUICE_EXTERNAL32, at + stage);
    return sluice_typed_bytes(c->type, SLUICE_EXTERNAL32, k) - at;
}

/* One piece by way of packed copies. native and external: the same bytes where there is nothing to convert. */
static int carry_piece(sluice_carry *c, sluice_lane *l, int64_t at, int64_t len, unsigned char *native,
                       unsigned char *external) {
    const sluice_typed *t = c->type;
    const int64_t from = in_memory(c, at), n = in_memory(c, at + len) - from;
    const int64_t k = external == native ? 0 : sluice_typed_elements(t, SLUICE_EXTERNAL32, at),
                  many = external == native ? 0 : sluice_typed_elements(t, SLUICE_EXTERNAL32, at + len) - k;
    sluice_set file = SLUICE_SET_EMPTY;
    if (!c->error && len) {
        const int64_t lo = sluice_set_select(&c->file, at), hi = sluice_set_select(&c->file, at + len - 1) + 1;
        c->error = sluice_pass(&c->why, sluice_set_cut(&file, &c->file, lo, hi));
    }
    if (!c->error && c->write) {
        sluice_typed_pack(t, c->buf, from, n, native);
        if (external != native) sluice_typed_to_external32(t, k, many, native, external);
    }
    int err = transfer(c, l, by_all(c), &file, (sluice_side){external, NULL, 0, 0});
    if (!err && !c->write) {
        if (external != native) sluice_typed_from_external32(t, k, many, external, native);
        sluice_typed_unpack(t, c->buf, from, n, native);
    }
    sluice_set_free(&file);
    if (!err) {
        c->moved += n;
        c->in_file += len;
    }
    return err;
}

static int carry_packed(sluice_carry *c, sluice_lane *l) {
    const bool once = by_all(c), convert = c->door->view.form == SLUICE_EXTERNAL32;
    const int64_t end = c->file.size, stage = once ? end : sluice_min(end, STAGE);
    /* In memory an element may be longer than in the file, by a factor of 2 at most. */
    unsigned char *external = sluice_mem_alloc((size_t)sluice_max(stage, 1), 1),
                  *native = convert ? sluice_mem_alloc((size_t)sluice_max(stage, 1), 2) : external;
    if (!external || !native)
        c->error = sluice_refuse(&c->why, -ENOMEM, -1, "%s %s: no memory for %lld packed bytes", verb_of(c), name_of(c),
                                 (long long)stage);
    int err = c->error;
    if (once) {
        err = carry_piece(c, l, 0, end, native, external);
    } else {
        for (int64_t at = 0, n; at < end && !err; at += n) {
            n = piece(c, at, end, stage);
            err = carry_piece(c, l, at, n, native, external);
        }
    }
    if (convert) sluice_mem_free(native);
    sluice_mem_free(external);
    return err;
}

/* Of a view in which bytes may come twice: stretches of the file, as they lie there. */
static int read_stretches(sluice_carry *c, sluice_lane *l, unsigned char *image, unsigned char *packed, int64_t end) {
    const sluice_fileview *v = &c->door->view;
    for (int64_t at = c->at, n, lo, hi; at < end; at += n) {
        sluice_set file = SLUICE_SET_EMPTY;
        n = sluice_min(sluice_min(sluice_overlap_piece(v->order, at, STAGE, &lo, &hi), end - at), STAGE);
        int err = sluice_pass(&c->why, sluice_set_block(&file, v->disp + lo, hi - lo));
        if (!err) err = transfer(c, l, false, &file, (sluice_side){image, NULL, 0, 0});
        sluice_set_free(&file);
        if (err) return err;
        sluice_typed_pack(v->order, (const void *)((uintptr_t)image - (uintptr_t)lo), at, n, packed);
        sluice_typed_unpack(c->type, c->buf, at - c->at, n, packed);
        c->moved = c->in_file = at + n - c->at;
    }
    return 0;
}

/* Each process for itself; in a collective call it then has nothing for the others. */
static int carry_overlapping(sluice_carry *c, sluice_lane *l) {
    const sluice_fileview *v = &c->door->view;
    const int64_t size = c->error ? 0 : sluice_door_size(c->door, l, &c->why);
    if (size < 0) c->error = (int)size;
    if (!c->error) {
        const int64_t end = sluice_min(c->at + c->length, sluice_fileview_rank(v, size)), room = STAGE;
        unsigned char *image = sluice_mem_alloc((size_t)sluice_max(v->order->true_extent, room), 1),
                      *packed = sluice_mem_alloc(STAGE, 1);
        if (image && packed)
            c->error = read_stretches(c, l, image, packed, end);
        else
            c->error = sluice_refuse(&c->why, -ENOMEM, -1, "read %s: no memory for a filetype", name_of(c));
        sluice_mem_free(image);
        sluice_mem_free(packed);
    }
    return by_all(c) ? transfer(c, l, true, &c->file, (sluice_side){NULL, NULL, 0, 0}) : c->error;
}

/* Of what is to be read, only what the file has. Beyond its end nothing is written through the mapping, which does not
 * make a file longer and may not know that it became shorter. */
static int fit(sluice_carry *c, sluice_lane *l) {
    if (!c->file.size) return 0;
    const int64_t size = sluice_door_size(c->door, l, &c->why);
    if (size < 0) return (int)size;
    if (sluice_set_hi(&c->file) <= size) return 0;
    if (!c->write) return sluice_pass(&c->why, sluice_set_cut(&c->file, &c->file, 0, size));
    l->io->no_map = true;
    return 0;
}

/* ---- Atomic mode --------------------------------------------------------------------------------------------- */

/* The range of the access is locked far behind all data, where no other lock is. */
static const int64_t aside = INT64_C(1) << 62;

/* What this process has locked, if it has. */
typedef struct hold {
    bool taken;
    int64_t lo, len;
} hold;

/* A collective access locks everything, once all have come: who is still in a call of its own waits for no one. No one
 * starts before. */
static int lock(sluice_carry *c, sluice_lane *l, hold *h, int error) {
    sluice_door *d = c->door;
    const bool all = c->together && d->group->size > 1;
    *h = (hold){false, sluice_set_lo(&c->file), sluice_set_hi(&c->file) - sluice_set_lo(&c->file)};
    if (!d->atomic || !(all ? d->collective->locks : l->io->locks)) return error;
    if (all) *h = (hold){false, 0, aside / 2};
    if (all && (error = sluice_agree(d->group, error, &c->why, NULL, 0))) return error;
    if (!error && h->len && h->lo + h->len <= aside / 2 && (!all || d->group->rank == 0)) {
        error = sluice_store_lock(l->io->store, aside + h->lo, h->len,
                                  c->write || all ? SLUICE_LOCK : SLUICE_LOCK_SHARED, &c->why);
        h->taken = !error;
    }
    return all ? sluice_agree(d->group, error, &c->why, NULL, 0) : error;
}

static int unlock(sluice_carry *c, sluice_lane *l, const hold *h, int error) {
    if (!h->taken) return error;
    const int err = sluice_store_lock(l->io->store, aside + h->lo, h->len, SLUICE_UNLOCK, error ? NULL : &c->why);
    return error ? error : err;
}

/* ---- The whole ----------------------------------------------------------------------------------------------- */

/* How the bytes went, for MPI_File_get_info. */
static const char *way_of(const sluice_counts *before, const sluice_counts *after) {
    if (after->rounds > before->rounds) return "two-phase";
    if (after->mapped_read > before->mapped_read || after->mapped_written > before->mapped_written) return "mapped";
    return "calls";
}

/* For the trace, if one is recorded: the bytes of the file that were moved. */
static void record(const sluice_carry *c, int64_t begin) {
    const int64_t end = sluice_record_now();
    sluice_door *d = c->door;
    const sluice_array *a = d->own.array;
    if (d->traced <= 0 || d->traced_part != sluice_record_part()) {
        d->traced = sluice_record_file(d->path, a ? a->layout->length : -1) + 1;
        d->traced_part = sluice_record_part();
    }
    sluice_record_access(d->traced - 1, c->write, c->together, &c->file, 0, begin, end);
}

void sluice_carry_run(sluice_job *j, bool main_thread) {
    sluice_carry *c = (sluice_carry *)j; /* its first member */
    sluice_door *d = c->door;
    sluice_lane *l = c->together ? d->all : &d->own;
    const sluice_counts before = l->io->counts;
    const bool no_map = l->io->no_map;
    const bool packed = d->view.form == SLUICE_EXTERNAL32 || (c->type && !c->type->ascending);
    const bool traced = sluice_record_on(false);
    const int64_t begin = traced ? sluice_record_now() : 0;
    hold h;
    if (c->together) d->group->may_poll = main_thread;
    c->error = lock(c, l, &h, c->error);
    if (!c->error) c->error = fit(c, l);
    c->error = (c->twice && !c->error ? carry_overlapping : packed && !c->error ? carry_packed : carry_straight)(c, l);
    l->io->no_map = no_map;
    c->error = unlock(c, l, &h, c->error);
    if (c->together) d->group->may_poll = true; /* what comes next is on the caller's thread */
    if (!c->error && traced) record(c, begin);
    if (!c->error && c->file.size) d->last[c->write] = way_of(&before, &l->io->counts);
}
