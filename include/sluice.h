/* sluice.h: parallel I/O for arrays that are larger than memory.
 *
 * A program names the part of the array that it wants; all processes cooperate to move it; the file lies on disk the
 * way it is used. Under all of it is one idea: a section of an array, a distribution over processes, a view, a
 * subfile on a disk are the same thing, a nested strided set of bytes.
 *
 *     #include <sluice.h>
 *
 *     sluice_shape shape = {.ndims = 2, .order = SLUICE_ROW_MAJOR, .elem = 8, .dim = {1000000, 1000000}};
 *     sluice_range part[] = {{.start = 0, .count = 1000000, .step = 1}, {.start = 5, .count = 100, .step = 7}};
 *     sluice_set set = SLUICE_SET_EMPTY;
 *     sluice_reason why;
 *     if (sluice_set_section(&set, &shape, part, &why)) fprintf(stderr, "%s\n", why.text);
 *
 * This header is the whole library. It is made of
 *
 *     sluice_version.h    which Sluice this is
 *     sluice_error.h      the errors that its calls return
 *     sluice_set.h        the algebra of sets; it needs no MPI and may be used alone
 *
 * What holds everywhere: a call that can fail returns 0 or a negative error, and leaves its outputs alone when it
 * fails. Offsets and sizes are int64_t, intervals are half-open, indices start at 0. The first word of a
 * declaration's comment is Pure (touches only its arguments), Local (acts for this process alone) or Collective (all
 * processes of the communicator must call it).
 */
#ifndef SLUICE_H
#define SLUICE_H

#include "sluice_error.h"
#include "sluice_set.h"
#include "sluice_version.h"

#endif
