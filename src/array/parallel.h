/* parallel.h: the inside of parallel files and views. */
#ifndef SLUICE_PARALLEL_H
#define SLUICE_PARALLEL_H

#include "array/array.h"
#include "io/link.h"
#include "sluice_view.h"

struct sluice_file {
    sluice_partition partition;
    sluice_set *set; /* of the partition */
    sluice_io *io;   /* one for each subfile */
    bool writable;
};

/* parallel.c. Local. A file on n open stores, which are closed with it; on failure they stay the caller's. The
 * partition is checked, the options are settled. */
int sluice_parallel_adopt(sluice_file **out, const sluice_partition *p, sluice_store *const *store, bool writable,
                          const sluice_options *o, sluice_reason *why);

#endif
