/* entry.c: the names that programs call. Every one is there as MPI_X and as PMPI_X, for Fortran's wrappers call either;
 * what is done to a file that is not ours goes on to the next library.
 *
 *     ENTRY(name, (parameters), (arguments)) { body }
 *
 * defines both, and pass_name, which is the next library's. The calls that move data are made from a table: read and
 * write, times where and how, times counts of int and of MPI_Count.
 */
#include "mpiio/door.h"
#include <errno.h>
#include <string.h>

#define TWO_NAMES(type, name, parameters, arguments)                                                                   \
    static type pass_##name parameters {                                                                               \
        static void *_Atomic found;                                                                                    \
        if (!found) found = sluice_host_find("MPI_" #name);                                                            \
        return ((type(*) parameters)found)arguments;                                                                   \
    }                                                                                                                  \
    type PMPI_##name parameters __attribute__((alias("MPI_" #name)));                                                  \
    type MPI_##name parameters
#define ENTRY(name, parameters, arguments) TWO_NAMES(int, name, parameters, arguments)

/* ---- Files --------------------------------------------------------------------------------------------------- */

ENTRY(File_open, (MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *fh),
      (comm, name, amode, info, fh)) {
    bool host;
    int code = sluice_opening_open(comm, name, amode, info, fh, &host);
    return host ? pass_File_open(comm, name, amode, info, fh) : code;
}

ENTRY(File_close, (MPI_File * fh), (fh)) {
    sluice_reason why;
    sluice_door *d = sluice_handle_find(*fh);
    if (!d) return pass_File_close(fh);
    if (d->splitting) {
        sluice_refuse(&why, sluice_class_error(MPI_ERR_IO), -1, "close %s: a split collective call is under way",
                      d->path);
        return sluice_class_raise(d, why.error, &why);
    }
    *fh = MPI_FILE_NULL;
    return sluice_class_raise(NULL, sluice_door_close(d, &why), &why);
}

ENTRY(File_delete, (const char *name, MPI_Info info), (name, info)) {
    bool host;
    int code = sluice_opening_delete(name, &host);
    return host ? pass_File_delete(name, info) : code;
}

TWO_NAMES(MPI_Fint, File_c2f, (MPI_File fh), (fh)) {
    const sluice_door *d = sluice_handle_find(fh);
    return d ? sluice_handle_index(d) : pass_File_c2f(fh);
}

TWO_NAMES(MPI_File, File_f2c, (MPI_Fint fh), (fh)) {
    sluice_door *d = sluice_handle_at(fh);
    return d ? (MPI_File)(void *)d : pass_File_f2c(fh);
}

/* Those that change a file as a whole, and return an error with its reason. */
#define CHANGE(name, parameters, arguments, call)                                                                      \
    ENTRY(name, parameters, arguments) {                                                                               \
        sluice_reason why;                                                                                             \
        sluice_door *d = sluice_handle_find(fh);                                                                       \
        return d ? sluice_class_raise(d, call, &why) : pass_##name arguments;                                          \
    }

CHANGE(File_set_size, (MPI_File fh, MPI_Offset size), (fh, size), sluice_door_resize(d, size, false, &why))
CHANGE(File_preallocate, (MPI_File fh, MPI_Offset size), (fh, size), sluice_door_resize(d, size, true, &why))
CHANGE(File_sync, (MPI_File fh), (fh), sluice_door_sync(d, &why))
CHANGE(File_set_atomicity, (MPI_File fh, int flag), (fh, flag), sluice_door_atomic(d, flag, &why))
CHANGE(File_set_info, (MPI_File fh, MPI_Info info), (fh, info), sluice_door_advise(d, info, &why))
CHANGE(File_seek, (MPI_File fh, MPI_Offset off, int whence), (fh, off, whence),
       sluice_pointer_seek(d, off, whence, &why))
CHANGE(File_seek_shared, (MPI_File fh, MPI_Offset off, int whence), (fh, off, whence),
       sluice_pointer_seek_shared(d, off, whence, &why))
CHANGE(File_set_view,
       (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep, MPI_Info info),
       (fh, disp, etype, filetype, datarep, info), sluice_door_view(d, disp, etype, filetype, datarep, &why))

/* ---- What a file says of itself ------------------------------------------------------------------------------ */

#define ASK(name, parameters, arguments, answer)                                                                       \
    ENTRY(name, parameters, arguments) {                                                                               \
        sluice_door *d = sluice_handle_find(fh);                                                                       \
        if (!d) return pass_##name arguments;                                                                          \
        answer;                                                                                                        \
        return MPI_SUCCESS;                                                                                            \
    }

ASK(File_get_amode, (MPI_File fh, int *amode), (fh, amode), *amode = d->amode)
ASK(File_get_atomicity, (MPI_File fh, int *flag), (fh, flag), *flag = d->atomic)
ASK(File_get_position_shared, (MPI_File fh, MPI_Offset *off), (fh, off), *off = sluice_pointer_take_shared(d, 0))

ENTRY(File_get_group, (MPI_File fh, MPI_Group *group), (fh, group)) {
    const sluice_door *d = sluice_handle_find(fh);
    return d ? MPI_Comm_group(d->group->comm, group) : pass_File_get_group(fh, group);
}

ENTRY(File_get_info, (MPI_File fh, MPI_Info *info), (fh, info)) {
    const sluice_door *d = sluice_handle_find(fh);
    return d ? sluice_hint_tell(d, info) : pass_File_get_info(fh, info);
}

ENTRY(File_get_size, (MPI_File fh, MPI_Offset *size), (fh, size)) {
    sluice_reason why;
    sluice_door *d = sluice_handle_find(fh);
    if (!d) return pass_File_get_size(fh, size);
    const int64_t n = sluice_door_size(d, &d->own, &why);
    if (n < 0) return sluice_class_raise(d, (int)n, &why);
    *size = n;
    return MPI_SUCCESS;
}

/* 0, or why a file that is read or written from beginning to end cannot be asked. */
static int refuse_sequential(const sluice_door *d, sluice_reason *why) {
    if (!(d->amode & MPI_MODE_SEQUENTIAL)) return 0;
    return sluice_refuse(why, sluice_class_error(MPI_ERR_UNSUPPORTED_OPERATION), -1,
                         "%s: a sequential file has the shared pointer only", d->path);
}

ENTRY(File_get_position, (MPI_File fh, MPI_Offset *off), (fh, off)) {
    sluice_reason why;
    sluice_door *d = sluice_handle_find(fh);
    if (!d) return pass_File_get_position(fh, off);
    if (refuse_sequential(d, &why)) return sluice_class_raise(d, why.error, &why);
    *off = sluice_pointer_take(d, 0);
    return MPI_SUCCESS;
}

ENTRY(File_get_byte_offset, (MPI_File fh, MPI_Offset off, MPI_Offset *disp), (fh, off, disp)) {
    sluice_reason why;
    sluice_door *d = sluice_handle_find(fh);
    if (!d) return pass_File_get_byte_offset(fh, off, disp);
    if (refuse_sequential(d, &why)) return sluice_class_raise(d, why.error, &why);
    int64_t at, byte = -1;
    if (off >= 0 && sluice_mul(off, d->view.unit, &at)) byte = sluice_fileview_offset(&d->view, at);
    if (byte < 0) {
        sluice_refuse(&why, SLUICE_E_ARGUMENT, -1, "%s: etype %lld of the view", d->path, (long long)off);
        return sluice_class_raise(d, why.error, &why);
    }
    *disp = byte;
    return MPI_SUCCESS;
}

ENTRY(File_get_view, (MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep),
      (fh, disp, etype, filetype, datarep)) {
    const sluice_door *d = sluice_handle_find(fh);
    if (!d) return pass_File_get_view(fh, disp, etype, filetype, datarep);
    *disp = d->view.disp;
    *etype = sluice_fileview_lend(d->view.etype);
    *filetype = sluice_fileview_lend(d->view.filetype);
    strcpy(datarep, d->view.datarep);
    return MPI_SUCCESS;
}

#define EXTENT(suffix, number)                                                                                         \
    ENTRY(File_get_type_extent##suffix, (MPI_File fh, MPI_Datatype type, number * extent), (fh, type, extent)) {       \
        sluice_reason why;                                                                                             \
        int64_t n;                                                                                                     \
        sluice_door *d = sluice_handle_find(fh);                                                                       \
        if (!d) return pass_File_get_type_extent##suffix(fh, type, extent);                                            \
        int err = sluice_fileview_extent(&d->view, type, &n, &why);                                                    \
        if (err) return sluice_class_raise(d, err, &why);                                                              \
        *extent = (number)n;                                                                                           \
        return MPI_SUCCESS;                                                                                            \
    }

/* ---- Error handlers ------------------------------------------------------------------------------------------ */

ENTRY(File_create_errhandler, (MPI_File_errhandler_function * function, MPI_Errhandler *handle), (function, handle)) {
    int code = pass_File_create_errhandler(function, handle);
    if (!code) sluice_handler_learn(*handle, function, false);
    return code;
}

#ifdef OPEN_MPI
/* Open MPI makes those of Fortran by this function of its own, and of no other. */
enum { OF_FILES = 3, OF_C = 0 };
MPI_Errhandler ompi_errhandler_create(int what, MPI_File_errhandler_function *function, int language);
MPI_Errhandler ompi_errhandler_create(int what, MPI_File_errhandler_function *function, int language) {
    MPI_Errhandler (*next)(int, MPI_File_errhandler_function *, int) = sluice_host_find("ompi_errhandler_create");
    MPI_Errhandler made = next(what, function, language);
    if (made && what == OF_FILES) sluice_handler_learn(made, function, language != OF_C);
    return made;
}
#endif

ENTRY(File_set_errhandler, (MPI_File fh, MPI_Errhandler handle), (fh, handle)) {
    sluice_handler taken;
    sluice_door *d = sluice_handle_find(fh);
    if (!d) return pass_File_set_errhandler(fh, handle);
    int code = sluice_handler_take(&taken, handle);
    if (code) return code;
    sluice_handler_drop(&d->handler);
    d->handler = taken;
    return MPI_SUCCESS;
}

ENTRY(File_get_errhandler, (MPI_File fh, MPI_Errhandler *handle), (fh, handle)) {
    const sluice_door *d = sluice_handle_find(fh);
    return d ? sluice_handler_lend(&d->handler, handle) : pass_File_get_errhandler(fh, handle);
}

ENTRY(File_call_errhandler, (MPI_File fh, int code), (fh, code)) {
    sluice_door *d = sluice_handle_find(fh);
    if (!d) return pass_File_call_errhandler(fh, code);
    sluice_handler_call(&d->handler, fh, code);
    return MPI_SUCCESS;
}

/* ---- Representations ----------------------------------------------------------------------------------------- */

/* The host is told as well, for the files that are left to it; some know no representation but their own. */
#define DATAREP(suffix, conversion, none)                                                                              \
    ENTRY(Register_datarep##suffix,                                                                                    \
          (const char *name, conversion *read, conversion *write, MPI_Datarep_extent_function *extent, void *state),   \
          (name, read, write, extent, state)) {                                                                        \
        sluice_reason why;                                                                                             \
        int err = sluice_datarep_register(name, read != none || write != none, &why);                                  \
        if (err) return sluice_class_raise(NULL, err, &why);                                                           \
        (void)pass_Register_datarep##suffix(name, read, write, extent, state);                                         \
        return MPI_SUCCESS;                                                                                            \
    }

/* ---- Data ---------------------------------------------------------------------------------------------------- */

#define HOW(write, together, where) ((sluice_call_how){write, together, where})
#define MESSAGE ((sluice_memory){buf, count, type})

/* name(fh, [offset,] buf, count, type, last) */
#define MOVE_AT(name, write, together, pointer, number, last, call)                                                    \
    ENTRY(name, (MPI_File fh, MPI_Offset off, pointer buf, number count, MPI_Datatype type, last * result),            \
          (fh, off, buf, count, type, result)) {                                                                       \
        sluice_door *d = sluice_handle_find(fh);                                                                       \
        if (!d) return pass_##name(fh, off, buf, count, type, result);                                                 \
        return call(d, HOW(write, together, SLUICE_AT), off, MESSAGE, result);                                         \
    }
#define MOVE(name, write, together, where, pointer, number, last, call)                                                \
    ENTRY(name, (MPI_File fh, pointer buf, number count, MPI_Datatype type, last * result),                            \
          (fh, buf, count, type, result)) {                                                                            \
        sluice_door *d = sluice_handle_find(fh);                                                                       \
        if (!d) return pass_##name(fh, buf, count, type, result);                                                      \
        return call(d, HOW(write, together, where), 0, MESSAGE, result);                                               \
    }
#define BEGIN_AT(name, write, pointer, number)                                                                         \
    ENTRY(name, (MPI_File fh, MPI_Offset off, pointer buf, number count, MPI_Datatype type),                           \
          (fh, off, buf, count, type)) {                                                                               \
        sluice_door *d = sluice_handle_find(fh);                                                                       \
        if (!d) return pass_##name(fh, off, buf, count, type);                                                         \
        return sluice_call_begin(d, HOW(write, true, SLUICE_AT), off, MESSAGE);                                        \
    }
#define BEGIN(name, write, where, pointer, number)                                                                     \
    ENTRY(name, (MPI_File fh, pointer buf, number count, MPI_Datatype type), (fh, buf, count, type)) {                 \
        sluice_door *d = sluice_handle_find(fh);                                                                       \
        if (!d) return pass_##name(fh, buf, count, type);                                                              \
        return sluice_call_begin(d, HOW(write, true, where), 0, MESSAGE);                                              \
    }
#define END(name, write, where, pointer)                                                                               \
    ENTRY(name, (MPI_File fh, pointer buf, MPI_Status * status), (fh, buf, status)) {                                  \
        sluice_door *d = sluice_handle_find(fh);                                                                       \
        return d ? sluice_call_end(d, HOW(write, true, where), status) : pass_##name(fh, buf, status);                 \
    }

/* All that counts with `number`: once for reading, once for writing. */
#define DATA(verb, write, pointer, suffix, number)                                                                     \
    MOVE_AT(File_##verb##_at##suffix, write, false, pointer, number, MPI_Status, sluice_call_now)                      \
    MOVE_AT(File_##verb##_at_all##suffix, write, true, pointer, number, MPI_Status, sluice_call_now)                   \
    MOVE(File_##verb##suffix, write, false, SLUICE_POINTER, pointer, number, MPI_Status, sluice_call_now)              \
    MOVE(File_##verb##_all##suffix, write, true, SLUICE_POINTER, pointer, number, MPI_Status, sluice_call_now)         \
    MOVE(File_##verb##_shared##suffix, write, false, SLUICE_SHARED, pointer, number, MPI_Status, sluice_call_now)      \
    MOVE(File_##verb##_ordered##suffix, write, true, SLUICE_ORDERED, pointer, number, MPI_Status, sluice_call_now)     \
    MOVE_AT(File_i##verb##_at##suffix, write, false, pointer, number, MPI_Request, sluice_call_later)                  \
    MOVE_AT(File_i##verb##_at_all##suffix, write, true, pointer, number, MPI_Request, sluice_call_later)               \
    MOVE(File_i##verb##suffix, write, false, SLUICE_POINTER, pointer, number, MPI_Request, sluice_call_later)          \
    MOVE(File_i##verb##_all##suffix, write, true, SLUICE_POINTER, pointer, number, MPI_Request, sluice_call_later)     \
    MOVE(File_i##verb##_shared##suffix, write, false, SLUICE_SHARED, pointer, number, MPI_Request, sluice_call_later)  \
    BEGIN_AT(File_##verb##_at_all_begin##suffix, write, pointer, number)                                               \
    BEGIN(File_##verb##_all_begin##suffix, write, SLUICE_POINTER, pointer, number)                                     \
    BEGIN(File_##verb##_ordered_begin##suffix, write, SLUICE_ORDERED, pointer, number)
#define ENDS(verb, write, pointer)                                                                                     \
    END(File_##verb##_at_all_end, write, SLUICE_AT, pointer)                                                           \
    END(File_##verb##_all_end, write, SLUICE_POINTER, pointer)                                                         \
    END(File_##verb##_ordered_end, write, SLUICE_ORDERED, pointer)

ENDS(read, false, void *)
ENDS(write, true, const void *)
DATA(read, false, void *, , int)
DATA(write, true, const void *, , int)
EXTENT(, MPI_Aint)
DATAREP(, MPI_Datarep_conversion_function, MPI_CONVERSION_FN_NULL)
#ifdef SLUICE_HAVE_LARGE_COUNTS
DATA(read, false, void *, _c, MPI_Count)
DATA(write, true, const void *, _c, MPI_Count)
EXTENT(_c, MPI_Count)
DATAREP(_c, MPI_Datarep_conversion_function_c, MPI_CONVERSION_FN_NULL_C)
#endif
