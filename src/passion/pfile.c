/* pfile.c: files, their headers, and whole local arrays.
 *
 * PASSION opens a file before it knows what is in it; the OCAD comes with each call, and may be another one each time.
 * So a file is opened as an array of no elements behind its header, and its handle takes on the shape of the OCAD when
 * it is used with one. Transfers that were started before are bound to bytes already and are completed first.
 *
 * A container says what is in it, and has subfiles instead of a header. It can be used with the OCADs of that array.
 */
#include "passion/inside.h"
#include <errno.h>
#include <string.h>

static int open_as(sluice_array **a, MPI_Comm comm, const char *path, bool create, const sluice_options *o) {
    const sluice_desc bytes = {.format = SLUICE_RAW, .shape = {.ndims = 1, .elem = 1}};
    if (comm == MPI_COMM_NULL)
        return create ? sluice_create(a, path, &bytes, o) : sluice_open(a, path, SLUICE_WRITE, &bytes, o);
    return create ? sluice_create_all(a, comm, path, &bytes, o)
                  : sluice_open_all(a, comm, path, SLUICE_WRITE, &bytes, o);
}

static int open_container(sluice_array **a, MPI_Comm comm, const char *path, const sluice_options *o) {
    return comm == MPI_COMM_NULL ? sluice_open(a, path, SLUICE_WRITE, NULL, o)
                                 : sluice_open_all(a, comm, path, SLUICE_WRITE, NULL, o);
}

static int open_or_create(sluice_array **a, MPI_Comm comm, const char *path, int placement) {
    /* A local array file has no other writer, so its ranges need not be locked. */
    const sluice_options o = {.size = sizeof o, .exclusive = placement == PASSION_LOCAL};
    if (sluice_contain_wanted(path, &o) || sluice_contain_there(path)) return open_container(a, comm, path, &o);
    int err = open_as(a, comm, path, false, &o);
    if (err == -ENOENT) err = open_as(a, comm, path, true, &o);
    /* Someone else may have made it in between. */
    return err == -EEXIST ? open_as(a, comm, path, false, &o) : err;
}

/* Whether all processes of the group can go on, and with headers of one size. */
static int agree_to_open(MPI_Comm comm, int err, unsigned int header) {
    int64_t mine[] = {err, header, -(int64_t)header}, all[] = {err, header, -(int64_t)header};
    if (comm != MPI_COMM_NULL) MPI_Allreduce(mine, all, 3, MPI_INT64_T, MPI_MIN, comm);
    if (all[0]) {
        const char *text = all[0] == -ENOMEM ? "no memory" : "no file name";
        return sluice_errmsg_fail((int)all[0], "PASSION_open: %s", text);
    }
    if (all[1] == -all[2]) return 0;
    return sluice_errmsg_fail(SLUICE_E_MISMATCH, "PASSION_open: processes give headers of %lld and %lld bytes",
                              (long long)all[1], (long long)-all[2]);
}

PFILE *PASSION_open(char *FileName, unsigned int HeaderSize) {
    int placement = sluice_settings_placement();
    MPI_Comm comm = placement == PASSION_GLOBAL ? sluice_settings_comm() : MPI_COMM_NULL;
    PFILE *f = sluice_mem_alloc(1, sizeof *f);
    int err = agree_to_open(comm, !FileName ? SLUICE_E_ARGUMENT : f ? 0 : -ENOMEM, HeaderSize);
    if (!err) {
        *f = (PFILE){.header_size = HeaderSize, .placement = placement};
        err = open_or_create(&f->array, comm, FileName, placement);
    }
    if (err) {
        sluice_mem_free(f);
        return NULL;
    }
    sluice_store *store = f->array->io.store;
    f->whole = f->array->container != NULL;
    f->fd = f->whole ? -1 : store->ops->fd(store);
    if (f->whole && HeaderSize) { /* on all processes alike */
        sluice_reason why;
        sluice_refuse(&why, SLUICE_E_ARGUMENT, -1, "PASSION_open %s: a container has no header, not one of %u bytes",
                      store->name, HeaderSize);
        PASSION_close(f);
        sluice_errmsg_set(&why);
        return NULL;
    }
    f->array->desc.shape.header = HeaderSize;
    return f;
}

int PASSION_close(PFILE *file) {
    if (!file) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_close: no file");
    sluice_prefetch_complete(file);
    while (file->reuse) PASSION_free_REUSE(file->reuse);
    int err = sluice_close(file->array);
    sluice_mem_free(file);
    return err;
}

int PASSION_read_header(PFILE *file, char *HBuf) {
    if (!file || !HBuf) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_read_header: no file or no buffer");
    sluice_store *store = file->array->io.store;
    sluice_reason why;
    int64_t size = sluice_store_size(store, &why);
    if (size < 0) return sluice_errmsg_set(&why);
    if (size < file->header_size)
        return sluice_errmsg_fail(SLUICE_E_FORMAT,
                                  "PASSION_read_header %s: it has %lld bytes, its header would have %u", store->name,
                                  (long long)size, file->header_size);
    return sluice_read_header(file->array, HBuf, file->header_size);
}

int PASSION_write_header(PFILE *file, char *HBuf) {
    if (!file || !HBuf) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_write_header: no file or no buffer");
    return sluice_write_header(file->array, HBuf, file->header_size);
}

static bool same_shape(const sluice_shape *a, const sluice_shape *b) {
    return a->ndims == b->ndims && a->order == b->order && a->elem == b->elem && a->header == b->header &&
           !memcmp(a->dim, b->dim, (size_t)a->ndims * sizeof *a->dim);
}

/* The handle becomes one of another array in the same file. */
static int reshape(PFILE *f, const sluice_shape *shape, const char *call) {
    sluice_array *a = f->array;
    sluice_desc d = {.format = SLUICE_RAW, .shape = *shape};
    sluice_reason why;
    if (a->container)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s %s: the array in it is not the one that the OCAD describes",
                                  call, a->io.store->name);
    if (sluice_desc_settle(&d, &why))
        return sluice_errmsg_fail(why.error, "%s %s: %s", call, a->io.store->name, why.text);
    sluice_background_drain(a);
    if (a->collective) sluice_collective_forget(a->collective);
    a->desc = d;
    sluice_type_parse(&a->type, d.type);
    f->whole = 0;
    return 0;
}

/* Makes a file that is too short as long as its array. */
static int extend(sluice_store *store, int64_t end, sluice_reason *why) {
    int64_t size = sluice_store_size(store, why);
    if (size < 0) return (int)size;
    return size < end ? sluice_store_resize(store, end, why) : 0;
}

/* The same for a file that others may be making longer for larger arrays: between asking for its length and setting it,
 * they are kept out by a lock behind all arrays. */
static int extend_shared(sluice_store *store, int64_t end, sluice_reason *why) {
    const int64_t behind = INT64_MAX - 3; /* not where claims and trials are made */
    int err = sluice_store_lock(store, behind, 1, SLUICE_LOCK, why);
    if (err) return err;
    err = extend(store, end, why);
    int unlocked = sluice_store_lock(store, behind, 1, SLUICE_UNLOCK, err ? NULL : why);
    return err ? err : unlocked;
}

static int lengthen(PFILE *f, bool write, const char *call) {
    sluice_store *store = f->array->io.store;
    sluice_reason why;
    int64_t size = sluice_store_size(store, &why), end = sluice_desc_end(&f->array->desc);
    if (size < 0) return sluice_errmsg_set(&why);
    if (size < end) {
        if (!write)
            return sluice_errmsg_fail(SLUICE_E_FORMAT, "%s %s: it has %lld bytes, but its array ends at byte %lld",
                                      call, store->name, (long long)size, (long long)end);
        if ((f->array->io.locks ? extend_shared : extend)(store, end, &why)) return sluice_errmsg_set(&why);
    }
    f->whole = 1;
    return 0;
}

int sluice_pfile_check(const PFILE *f, const OCAD *o, bool local, const char *call) {
    if (!f || !o) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s: no file or no OCAD", call);
    const char *name = f->array->io.store->name;
    if (!o->filled) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s %s: the OCAD is not filled in", call, name);
    if (local && f->placement != PASSION_LOCAL)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s %s: only in the local placement model", call, name);
    return 0;
}

static sluice_shape shape_of(const PFILE *f, const OCAD *o) {
    sluice_shape shape = sluice_ocad_shape(o, f->placement);
    shape.header = f->header_size;
    return shape;
}

bool sluice_pfile_ready(const PFILE *f, const OCAD *o) {
    sluice_shape shape = shape_of(f, o);
    return f->whole && same_shape(&shape, &f->array->desc.shape);
}

int sluice_pfile_view(PFILE *f, const OCAD *o, bool write, const char *call) {
    sluice_shape shape = shape_of(f, o);
    int err = same_shape(&shape, &f->array->desc.shape) ? 0 : reshape(f, &shape, call);
    return err || f->whole ? err : lengthen(f, write, call);
}

/* The file made ready for a transfer of its whole local array. */
static int view_whole(PFILE *f, const OCAD *o, const char *array, bool write, const char *call) {
    int err = sluice_pfile_check(f, o, true, call);
    if (!err && !array) err = sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s %s: no array", call, f->array->io.store->name);
    return err ? err : sluice_pfile_view(f, o, write, call);
}

int PASSION_read(PFILE *file, OCAD *ocad, char *Array) {
    int err = view_whole(file, ocad, Array, false, "PASSION_read");
    return err ? err : sluice_read(file->array, NULL, Array);
}

int PASSION_write(PFILE *file, OCAD *ocad, char *Array) {
    int err = view_whole(file, ocad, Array, true, "PASSION_write");
    return err ? err : sluice_write(file->array, NULL, Array);
}
