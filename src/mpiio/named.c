/* named.c: which numbers a predefined datatype is made of. Those not listed here are one number of as many bytes in
 * external32 as in memory. */
#include "mpiio/parts.h"
#include <float.h>

/* An 80-bit number in 16 bytes; where long double has 128 bits it is that of external32 already. */
#define LONG_DOUBLE (LDBL_MANT_DIG == 64 ? SLUICE_EXTENDED : SLUICE_PLAIN)

/* Two numbers, or one that has another size in external32: `external` bytes, 0 for the same. */
static const struct special {
    MPI_Datatype type;
    uint8_t numbers, external, turn;
} specials[] = {
    {MPI_WCHAR, 1, 2, SLUICE_UNSIGNED},
    {MPI_LONG, 1, 4, SLUICE_SIGNED},
    {MPI_UNSIGNED_LONG, 1, 4, SLUICE_UNSIGNED},
    {MPI_LONG_DOUBLE, 1, 0, LONG_DOUBLE},
    {MPI_C_COMPLEX, 2, 0, SLUICE_PLAIN},
    {MPI_C_FLOAT_COMPLEX, 2, 0, SLUICE_PLAIN},
    {MPI_C_DOUBLE_COMPLEX, 2, 0, SLUICE_PLAIN},
    {MPI_C_LONG_DOUBLE_COMPLEX, 2, 0, LONG_DOUBLE},
    {MPI_CXX_FLOAT_COMPLEX, 2, 0, SLUICE_PLAIN},
    {MPI_CXX_DOUBLE_COMPLEX, 2, 0, SLUICE_PLAIN},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, 2, 0, LONG_DOUBLE},
    {MPI_COMPLEX, 2, 0, SLUICE_PLAIN},
    {MPI_DOUBLE_COMPLEX, 2, 0, SLUICE_PLAIN},
    {MPI_COMPLEX8, 2, 0, SLUICE_PLAIN},
    {MPI_COMPLEX16, 2, 0, SLUICE_PLAIN},
    {MPI_COMPLEX32, 2, 0, SLUICE_PLAIN},
};

/* The datatypes of reductions that find places: two elements, as in a struct of C. */
static const struct pair {
    MPI_Datatype type, first, second;
} pairs[] = {
    {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
    {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
    {MPI_LONG_INT, MPI_LONG, MPI_INT},
    {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
    {MPI_2INT, MPI_INT, MPI_INT},
    {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
    {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
    {MPI_2REAL, MPI_REAL, MPI_REAL},
    {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
};

enum { SPECIALS = sizeof specials / sizeof *specials, PAIRS = sizeof pairs / sizeof *pairs };

static int find_kind(sluice_kind *kind, MPI_Datatype type, int combiner) {
    int size;
    if (MPI_Type_size(type, &size) != MPI_SUCCESS) return SLUICE_E_ARGUMENT;
    struct special s = {type, combiner == MPI_COMBINER_F90_COMPLEX ? 2 : 1, 0, SLUICE_PLAIN};
    for (int i = 0; i < SPECIALS; i++)
        if (specials[i].type == type) s = specials[i];
    /* Fortran's kinds that are asked for by their precision are those of C. */
    bool real = combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
    if (real && size / s.numbers == sizeof(long double)) s.turn = LONG_DOUBLE;
    kind->numbers = s.numbers;
    kind->native = (uint8_t)(size / s.numbers);
    kind->external = s.external ? s.external : kind->native;
    kind->turn = s.turn;
    return 0;
}

int sluice_named_find(sluice_named *named, MPI_Datatype type, int combiner) {
    for (int i = 0; i < PAIRS; i++) {
        if (pairs[i].type != type) continue;
        int err = find_kind(&named->kind[0], pairs[i].first, combiner);
        if (!err) err = find_kind(&named->kind[1], pairs[i].second, combiner);
        named->n = 2;
        named->apart = sluice_max(named->kind[0].native, named->kind[1].native);
        return err;
    }
    int err = find_kind(&named->kind[0], type, combiner);
    named->n = !err && named->kind[0].native > 0; /* the old marks of bounds have no bytes */
    return err;
}
