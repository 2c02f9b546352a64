/* fileview.c: which bytes of the file a process sees: displacement, etype, filetype and representation.
 *
 * The filetype becomes an element (sluice_set.h), which repeats by itself, so that a view costs the same whatever it
 * shows of whatever file. In external32 the basic elements of some datatypes have other sizes than in memory; then the
 * gaps and the extent of the filetype have, too (scale.c), which needs elements of one kind.
 */
#include "mpiio/door.h"
#include <errno.h>
#include <string.h>

/* ---- Representations ----------------------------------------------------------------------------------------- */

typedef struct datarep {
    char name[MPI_MAX_DATAREP_STRING];
    bool converts;
    struct datarep *next;
} datarep;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static datarep *registered;

static const datarep *find(const char *name) {
    const datarep *r;
    pthread_mutex_lock(&mutex);
    for (r = registered; r && strcmp(r->name, name);) r = r->next;
    pthread_mutex_unlock(&mutex);
    return r;
}

static bool built_in(const char *name) {
    return !strcmp(name, "native") || !strcmp(name, "internal") || !strcmp(name, "external32");
}

int sluice_datarep_register(const char *name, bool converts, sluice_reason *why) {
    if (!name || !*name || strlen(name) >= MPI_MAX_DATAREP_STRING)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "register datarep: its name has no byte, or too many");
    if (built_in(name) || find(name))
        return sluice_refuse(why, sluice_class_error(MPI_ERR_DUP_DATAREP), -1, "register datarep: there is a '%.60s'",
                             name);
    datarep *r = sluice_mem_alloc(1, sizeof *r);
    if (!r) return sluice_pass(why, -ENOMEM);
    memset(r, 0, sizeof *r);
    strcpy(r->name, name);
    r->converts = converts;
    pthread_mutex_lock(&mutex);
    r->next = registered;
    registered = r;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static int form_of(const char *name, sluice_form *form, sluice_reason *why) {
    const datarep *r = name && !built_in(name) ? find(name) : NULL;
    *form = name && !strcmp(name, "external32") ? SLUICE_EXTERNAL32 : SLUICE_NATIVE;
    if (name && (built_in(name) || (r && !r->converts))) return 0;
    return sluice_refuse(why, sluice_class_error(MPI_ERR_UNSUPPORTED_DATAREP), -1,
                         r ? "view: '%.60s' has conversion functions, which are not called"
                           : "view: no data representation '%.60s'",
                         name ? name : "");
}

/* ---- Datatypes ----------------------------------------------------------------------------------------------- */

bool sluice_fileview_predefined(MPI_Datatype type) {
    int i, a, t, combiner;
    MPI_Type_get_envelope(type, &i, &a, &t, &combiner);
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

MPI_Datatype sluice_fileview_lend(MPI_Datatype type) {
    MPI_Datatype copy = type;
    if (!sluice_fileview_predefined(type)) MPI_Type_dup(type, &copy);
    return copy;
}

static void give_back(MPI_Datatype *type) {
    if (*type != MPI_DATATYPE_NULL && !sluice_fileview_predefined(*type)) MPI_Type_free(type);
}

static int64_t size_in(const sluice_typed *t, sluice_form form) {
    return form == SLUICE_EXTERNAL32 ? t->external : t->size;
}

static int describe(MPI_Datatype type, const char *which, sluice_typed **t, sluice_reason *why) {
    sluice_reason detail;
    int err = sluice_typed_make(type, t, &detail);
    if (!err) return 0;
    return sluice_refuse(why, err == -ENOMEM ? err : sluice_class_error(MPI_ERR_TYPE), -1, "%s: %.150s", which,
                         detail.text);
}

int sluice_fileview_extent(const sluice_fileview *v, MPI_Datatype type, int64_t *extent, sluice_reason *why) {
    sluice_typed *t;
    int err = describe(type, "datatype", &t, why);
    if (err) return err;
    const int64_t size = size_in(t, v->form);
    if (size != t->size && !t->contiguous) sluice_typed_scale(t);
    if (size == t->size)
        *extent = t->extent;
    else if (t->contiguous)
        *extent = size;
    else
        err = sluice_refuse(why, sluice_class_error(MPI_ERR_UNSUPPORTED_DATAREP), -1,
                            "datatype: it has gaps, and elements of several kinds with other sizes in external32");
    sluice_typed_free(t);
    return err;
}

/* ---- Views --------------------------------------------------------------------------------------------------- */

void sluice_fileview_start(sluice_fileview *v) {
    *v = (sluice_fileview){.etype = MPI_BYTE, .filetype = MPI_BYTE, .unit = 1, .size = 1, .whole = true};
    strcpy(v->datarep, "native");
}

void sluice_fileview_free(sluice_fileview *v) {
    give_back(&v->etype);
    give_back(&v->filetype);
    sluice_set_free(&v->set);
    sluice_typed_free(v->order);
}

/* The bytes of a filetype. */
static int look_through(sluice_fileview *v, bool writable, const sluice_typed *e, const sluice_typed *t,
                        sluice_reason *why) {
    const int wrong = sluice_class_error(MPI_ERR_ARG);
    v->unit = size_in(e, v->form);
    v->size = size_in(t, v->form);
    v->whole = t->contiguous;
    if (!v->unit) return sluice_refuse(why, wrong, -1, "view: the etype has no bytes");
    if (v->size % v->unit)
        return sluice_refuse(why, wrong, -1, "view: %lld bytes of the filetype are not a number of etypes of %lld",
                             (long long)v->size, (long long)v->unit);
    if (v->size != t->size && !t->contiguous)
        return sluice_refuse(
            why, sluice_class_error(MPI_ERR_UNSUPPORTED_DATAREP), -1,
            "view: the filetype has gaps, and elements of several kinds with other sizes in external32");
    if (!t->size) return 0;
    /* The standard has no class for these; MPI_ERR_IO is ROMIO's, and what programs look for. */
    const int misplaced = sluice_class_error(MPI_ERR_IO);
    if (!t->rising || (!t->sorted && t->extent <= 0))
        return sluice_refuse(why, misplaced, -1, "view: displacements of the filetype do not ascend");
    if (!t->sorted && writable)
        return sluice_refuse(why, misplaced, -1, "view: bytes come twice in the filetype, and the file may be written");
    int64_t from;
    if (!sluice_add(v->disp, t->true_lb, &from) || from < 0 || (!t->ascending && t->true_lb < 0))
        return sluice_refuse(why, misplaced, -1, "view: the filetype starts %lld bytes from displacement %lld",
                             (long long)t->true_lb, (long long)v->disp);
    if (v->whole) {
        v->element.disp = from;
        return 0;
    }
    if (!t->sorted) return 0;
    int64_t origin;
    int err = sluice_typed_set(t, 1, &v->set, &origin, why);
    if (!err) v->element = (sluice_element){NULL, sluice_max(t->extent, t->true_extent), from};
    return err;
}

int sluice_fileview_make(sluice_fileview *v, bool writable, int64_t disp, MPI_Datatype etype, MPI_Datatype filetype,
                         const char *datarep_name, sluice_reason *why) {
    sluice_fileview made = {.etype = MPI_DATATYPE_NULL, .filetype = MPI_DATATYPE_NULL, .disp = disp};
    sluice_typed *e = NULL, *t = NULL;
    if (disp < 0)
        return sluice_refuse(why, sluice_class_error(MPI_ERR_ARG), -1, "view: displacement %lld", (long long)disp);
    int err = form_of(datarep_name, &made.form, why);
    if (!err) err = describe(etype, "etype", &e, why);
    if (!err) err = describe(filetype, "filetype", &t, why);
    if (!err && size_in(t, made.form) != t->size && !t->contiguous) sluice_typed_scale(t);
    if (!err) err = look_through(&made, writable, e, t, why);
    if (!err && !t->ascending) {
        made.order = t;
        t = NULL;
    }
    sluice_typed_free(e);
    sluice_typed_free(t);
    if (err) {
        sluice_set_free(&made.set);
        return err;
    }
    made.etype = sluice_fileview_lend(etype);
    made.filetype = sluice_fileview_lend(filetype);
    strcpy(made.datarep, datarep_name);
    sluice_fileview_free(v);
    *v = made;
    v->element.set = &v->set;
    return 0;
}

/* ---- Offsets ------------------------------------------------------------------------------------------------- */

int64_t sluice_fileview_offset(const sluice_fileview *v, int64_t at) {
    int64_t off;
    if (!v->size) return v->disp;
    if (v->order) return sluice_add(v->disp, sluice_overlap_offset(v->order, at), &off) && off >= v->disp ? off : -1;
    if (!v->whole) return sluice_element_unmap(&v->element, at);
    return sluice_add(v->element.disp, at, &off) ? off : -1;
}

int64_t sluice_fileview_rank(const sluice_fileview *v, int64_t x) {
    if (!v->size) return 0;
    if (v->order) return sluice_overlap_rank(v->order, x - v->disp);
    if (v->whole) return sluice_max(x - v->element.disp, 0);
    return sluice_element_rank(&v->element, x);
}

int sluice_fileview_cut(const sluice_fileview *v, int64_t at, int64_t n, sluice_set *out, sluice_reason *why) {
    int64_t last;
    if (!n) return 0;
    if (!v->size)
        return sluice_refuse(why, sluice_class_error(MPI_ERR_ARG), -1, "%lld bytes of a view that has none",
                             (long long)n);
    if (!sluice_add(at, n - 1, &last) || (last = sluice_fileview_offset(v, last)) < 0)
        return sluice_refuse(why, sluice_class_error(MPI_ERR_ARG), -1,
                             "%lld bytes from byte %lld of the view on end "
                             "past 2^63-1",
                             (long long)n, (long long)at);
    if (v->order && (!v->order->sorted || n > v->size - at)) return 0;
    const int64_t lo = sluice_fileview_offset(v, at);
    return sluice_pass(why,
                       v->whole ? sluice_set_block(out, lo, n) : sluice_element_cut(out, &v->element, lo, last + 1));
}
