/* contents.c: envelope and contents of a datatype (contents.h). */
#include "mpiio/contents.h"
#include <errno.h>
#include <string.h>

/* The numbers of an envelope, as counted by the host. */
#ifdef SLUICE_HAVE_LARGE_COUNTS
typedef MPI_Count count;
#else
typedef int count;
#endif

typedef struct envelope {
    count ints, addresses, counts, types;
    int combiner;
} envelope;

static bool read_envelope(envelope *e, MPI_Datatype type) {
    e->counts = 0;
#ifdef SLUICE_HAVE_LARGE_COUNTS
    return MPI_Type_get_envelope_c(type, &e->ints, &e->addresses, &e->counts, &e->types, &e->combiner) == MPI_SUCCESS;
#else
    return MPI_Type_get_envelope(type, &e->ints, &e->addresses, &e->types, &e->combiner) == MPI_SUCCESS;
#endif
}

/* Whether MPI owns datatypes of this combiner: they have no contents, and are not freed. */
static bool is_predefined(int combiner) {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

/* What MPI writes into, beside the datatypes. */
typedef struct arguments {
    int *ints;
    MPI_Aint *addresses;
    MPI_Count *counts;
} arguments;

static bool read_arguments(arguments *a, MPI_Datatype *types, MPI_Datatype type, const envelope *e) {
#ifdef SLUICE_HAVE_LARGE_COUNTS
    return MPI_Type_get_contents_c(type, e->ints, e->addresses, e->counts, e->types, a->ints, a->addresses, a->counts,
                                   types) == MPI_SUCCESS;
#else
    return MPI_Type_get_contents(type, e->ints, e->addresses, e->types, a->ints, a->addresses, types) == MPI_SUCCESS;
#endif
}

/* At least one, so that an argument that is not used is no failed allocation. */
static void *room(count n, size_t size) { return sluice_mem_alloc((size_t)n + 1, size); }

int sluice_contents_read(sluice_contents *c, MPI_Datatype type) {
    envelope e;
    if (!read_envelope(&e, type)) return SLUICE_E_ARGUMENT;
    memset(c, 0, sizeof *c);
    c->combiner = e.combiner;
    if (is_predefined(e.combiner)) return 0;

    const int64_t n = (int64_t)e.ints + e.addresses + e.counts;
    arguments a = {room(e.ints, sizeof *a.ints), room(e.addresses, sizeof *a.addresses),
                   room(e.counts, sizeof *a.counts)};
    c->number = sluice_mem_alloc((size_t)n + 1, sizeof *c->number);
    c->type = room(e.types, sizeof *c->type);
    int err = a.ints && a.addresses && a.counts && c->number && c->type ? 0 : -ENOMEM;
    if (!err && !read_arguments(&a, c->type, type, &e)) err = SLUICE_E_ARGUMENT;
    if (!err) {
        for (count i = 0; i < e.ints; i++) c->number[c->n++] = a.ints[i];
        for (count i = 0; i < e.addresses; i++) c->number[c->n++] = a.addresses[i];
        for (count i = 0; i < e.counts; i++) c->number[c->n++] = a.counts[i];
        c->large = e.counts > 0;
        c->ntypes = e.types;
    }
    sluice_mem_free(a.ints);
    sluice_mem_free(a.addresses);
    sluice_mem_free(a.counts);
    if (err) sluice_contents_free(c);
    return err;
}

void sluice_contents_free(sluice_contents *c) {
    envelope e;
    for (int64_t i = 0; i < c->ntypes; i++)
        if (read_envelope(&e, c->type[i]) && !is_predefined(e.combiner)) MPI_Type_free(&c->type[i]);
    sluice_mem_free(c->number);
    sluice_mem_free(c->type);
}
