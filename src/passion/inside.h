/* inside.h: what the files of the PASSION door share. */
#ifndef SLUICE_PASSION_INSIDE_H
#define SLUICE_PASSION_INSIDE_H

#include "array/array.h"
#include "passion_mpi.h"
#include "sluice_mpi.h"

struct PREFETCH {
    PFILE *file; /* NULL after it was closed */
    sluice_request *request;
    sluice_reason why; /* once the file is closed: how it went */
    PREFETCH *next;
};

/* settings.c. */
int sluice_settings_base(void);
int sluice_settings_nprocs(void);
int sluice_settings_placement(void);

/* settings.c. The group of files that are opened now; MPI_COMM_NULL while MPI does not run. */
MPI_Comm sluice_settings_comm(void);

/* ocad.c. Pure. The array that a file of this placement holds; the in-core local array with its overlap. */
sluice_shape sluice_ocad_shape(const OCAD *o, int placement);
sluice_shape sluice_ocad_buffer(const OCAD *o);

/* pfile.c. Pure. 0 if there are a file and an OCAD that can be used together, `local`: for a local array. `call` is for
 * the messages, here and below. */
int sluice_pfile_check(const PFILE *f, const OCAD *o, bool local, const char *call);

/* pfile.c. Local. Makes the handle of the file one of the array that the OCAD describes, both checked before, and sees
 * to it that the file is long enough: extends it if this is for a write, else refuses. */
int sluice_pfile_view(PFILE *f, const OCAD *o, bool write, const char *call);

/* pfile.c. Pure. Whether view() would have nothing to do. */
bool sluice_pfile_ready(const PFILE *f, const OCAD *o);

/* The arguments of a call with a section, and the section as a part, which points into the rest of its struct. */
typedef struct sluice_access {
    PFILE *file;
    const OCAD *ocad;
    char *array;
    const int *index;
    int (*rows)[3];
} sluice_access;
typedef struct sluice_access_part {
    sluice_range range[SLUICE_MAX_DIMS];
    int64_t at[SLUICE_MAX_DIMS];
    sluice_shape buffer;
    sluice_part part;
} sluice_access_part;

/* access.c. Pure. Checks the arguments and fills in the part. */
int sluice_access_translate(sluice_access_part *p, const sluice_access *a, const char *call);

/* access.c. Local. The same, and then makes the file ready. */
int sluice_access_prepare(sluice_access_part *p, const sluice_access *a, bool write, const char *call);

/* prefetch.c. Local. Completes what is outstanding on a file that is about to be closed. */
void sluice_prefetch_complete(PFILE *f);

#endif
