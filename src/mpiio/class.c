/* class.c: from errors to MPI's classes, and to those who are told of them.
 *
 * Each class that occurs gets a code of its own, made by MPI_Add_error_code, whose string is the sentence of the error
 * that came last. So MPI_Error_class says what every program expects, and MPI_Error_string which rank, call, file and
 * offset it was. MPICH 4.0 mixes up the strings of such codes if the class is not a new one, too; where that is seen
 * the class itself is the code. With SLUICE_LOG=why the sentence is printed as well.
 *
 * The MPI library keeps the error handlers, but does not tell what they call: that is noted when they are made. It also
 * counts references to them, which are had by way of MPI_FILE_NULL, to which any handler can be attached for a moment.
 */
#include "mpiio/door.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- Codes --------------------------------------------------------------------------------------------------- */

static const struct {
    int error, class;
} table[] = {
    {-ENOENT, MPI_ERR_NO_SUCH_FILE},
    {-EEXIST, MPI_ERR_FILE_EXISTS},
    {-EACCES, MPI_ERR_ACCESS},
    {-EPERM, MPI_ERR_ACCESS},
    {-EBADF, MPI_ERR_ACCESS},
    {-EROFS, MPI_ERR_READ_ONLY},
    {-ENOSPC, MPI_ERR_NO_SPACE},
    {-EFBIG, MPI_ERR_NO_SPACE},
    {-EDQUOT, MPI_ERR_QUOTA},
    {-EISDIR, MPI_ERR_BAD_FILE},
    {-ENOTDIR, MPI_ERR_BAD_FILE},
    {-ENAMETOOLONG, MPI_ERR_BAD_FILE},
    {-ELOOP, MPI_ERR_BAD_FILE},
    {-EBUSY, MPI_ERR_FILE_IN_USE},
    {-ETXTBSY, MPI_ERR_FILE_IN_USE},
    {-EOWNERDEAD, MPI_ERR_FILE_IN_USE},
    {-ENOMEM, MPI_ERR_NO_MEM},
    {-ENOTSUP, MPI_ERR_UNSUPPORTED_OPERATION},
    {SLUICE_E_ARGUMENT, MPI_ERR_ARG},
    {SLUICE_E_OVERFLOW, MPI_ERR_ARG},
    {SLUICE_E_MISMATCH, MPI_ERR_NOT_SAME},
    {SLUICE_E_FORMAT, MPI_ERR_BAD_FILE},
    {SLUICE_E_VERSION, MPI_ERR_BAD_FILE},
};

int sluice_class_of(int error) {
    if (error <= SLUICE_CLASS) return SLUICE_CLASS - error;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].error == error) return table[i].class;
    return MPI_ERR_IO;
}

/* A code of that class which tells its string, or the class. */
static int make_code(int class) {
    static const char probe[] = "sluice";
    char text[MPI_MAX_ERROR_STRING];
    int code, of, len;
    if (MPI_Add_error_code(class, &code) || MPI_Add_error_string(code, probe)) return class;
    const bool told = !MPI_Error_string(code, text, &len) && !strcmp(text, probe);
    return told && !MPI_Error_class(code, &of) && of == class ? code : class;
}

int sluice_class_code(int error, const sluice_reason *why) {
    enum { CLASSES = 256 };
    static int code[CLASSES];
    const int class = sluice_class_of(error);
    const char *log = getenv("SLUICE_LOG");
    char text[MPI_MAX_ERROR_STRING];
    if (log && !strcmp(log, "why")) fprintf(stderr, "sluice: %s\n", why->text);
    if (class < 0 || class >= CLASSES) return class;
    snprintf(text, sizeof text, "%s", why->text);
    pthread_mutex_lock(&mutex);
    if (!code[class]) code[class] = make_code(class);
    if (code[class] != class) (void)MPI_Add_error_string(code[class], text);
    const int made = code[class];
    pthread_mutex_unlock(&mutex);
    return made;
}

/* ---- Handlers ------------------------------------------------------------------------------------------------ */

typedef struct known {
    MPI_Errhandler handle;
    MPI_File_errhandler_function *function;
    bool fortran;
} known;
static known *list;
static int n;

void sluice_handler_learn(MPI_Errhandler handle, MPI_File_errhandler_function *function, bool fortran) {
    int i = 0;
    pthread_mutex_lock(&mutex);
    while (i < n && list[i].handle != handle) i++; /* numbers of handlers that are gone come again */
    if (i == n) {
        known *more = sluice_mem_resize(list, (size_t)n + 1, sizeof *more);
        if (more) {
            list = more;
            n++;
        }
    }
    if (i < n) list[i] = (known){handle, function, fortran};
    pthread_mutex_unlock(&mutex);
}

static known find(MPI_Errhandler handle) {
    known found = {.function = NULL};
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < n; i++)
        if (list[i].handle == handle) found = list[i];
    pthread_mutex_unlock(&mutex);
    return found;
}

static pthread_mutex_t attaching = PTHREAD_MUTEX_INITIALIZER; /* a handler to MPI_FILE_NULL for a moment */

static int get(MPI_Errhandler *out) {
    int (*host)(MPI_File, MPI_Errhandler *) = sluice_host_find("MPI_File_get_errhandler");
    return host(MPI_FILE_NULL, out);
}

static int set(MPI_Errhandler handle) {
    int (*host)(MPI_File, MPI_Errhandler) = sluice_host_find("MPI_File_set_errhandler");
    return host(MPI_FILE_NULL, handle);
}

/* Another reference. */
static int refer(MPI_Errhandler handle, MPI_Errhandler *out) {
    MPI_Errhandler before;
    pthread_mutex_lock(&attaching);
    int code = get(&before);
    if (!code) {
        code = set(handle);
        if (!code) code = get(out);
        set(before);
        MPI_Errhandler_free(&before);
    }
    pthread_mutex_unlock(&attaching);
    return code;
}

static bool is_fatal(MPI_Errhandler h) {
#ifdef MPI_ERRORS_ABORT
    if (h == MPI_ERRORS_ABORT) return true;
#endif
    return h == MPI_ERRORS_ARE_FATAL;
}

static sluice_handler describe(MPI_Errhandler handle) {
    const known k = find(handle);
    return (sluice_handler){handle, k.function, k.fortran, is_fatal(handle)};
}

int sluice_handler_take(sluice_handler *h, MPI_Errhandler handle) {
    MPI_Errhandler kept;
    int code = refer(handle, &kept);
    if (!code) *h = describe(kept);
    return code;
}

int sluice_handler_default(sluice_handler *h) {
    MPI_Errhandler handle;
    pthread_mutex_lock(&attaching);
    int code = get(&handle);
    pthread_mutex_unlock(&attaching);
    if (!code) *h = describe(handle);
    return code;
}

int sluice_handler_lend(const sluice_handler *h, MPI_Errhandler *out) { return refer(h->handle, out); }

void sluice_handler_drop(sluice_handler *h) { MPI_Errhandler_free(&h->handle); }

int sluice_handler_call(const sluice_handler *h, MPI_File fh, int code) {
    if (h->function && h->fortran) {
        MPI_Fint index = MPI_File_c2f(fh), number = code;
        ((void (*)(MPI_Fint *, MPI_Fint *))(void *)h->function)(&index, &number);
        code = number;
    } else if (h->function) {
        h->function(&fh, &code);
    } else if (h->fatal) {
        char text[MPI_MAX_ERROR_STRING];
        int len;
        if (MPI_Error_string(code, text, &len)) text[0] = 0;
        fprintf(stderr, "sluice: fatal error of MPI-IO: %s\n", text);
        MPI_Abort(MPI_COMM_WORLD, code);
    }
    return code;
}

int sluice_class_raise(sluice_door *d, int error, const sluice_reason *why) {
    if (!error) return MPI_SUCCESS;
    const int code = sluice_class_code(error, why);
    sluice_handler none;
    if (d) return sluice_handler_call(&d->handler, (MPI_File)(void *)d, code);
    if (sluice_handler_default(&none)) return code;
    const int left = sluice_handler_call(&none, MPI_FILE_NULL, code);
    sluice_handler_drop(&none);
    return left;
}
