/* contents.h: how a datatype was made: the arguments of its constructor, in one row of 64-bit numbers.
 *
 * MPI hands them out as integers, addresses and, where it has large counts, counts. For one constructor the numbers
 * come in the same order in all forms, so that they can be put one behind the other: count, block lengths,
 * displacements. Only those of arrays do not: with large counts the sizes stand behind all integers.
 */
#ifndef SLUICE_MPIIO_CONTENTS_H
#define SLUICE_MPIIO_CONTENTS_H

#include "base/base.h"
#include <mpi.h>

typedef struct sluice_contents {
    int combiner;
    bool large; /* has large counts */
    int64_t n, ntypes;
    int64_t *number;    /* n of them */
    MPI_Datatype *type; /* ntypes of them */
} sluice_contents;

/* Local. 0, -ENOMEM, or SLUICE_E_ARGUMENT if MPI does not tell. Of a named datatype, those of Fortran's kinds too,
 * there is the combiner only. *c is to be given back if it succeeded, and with it the references to datatypes that MPI
 * made. */
int sluice_contents_read(sluice_contents *c, MPI_Datatype type);
void sluice_contents_free(sluice_contents *c);

#endif
