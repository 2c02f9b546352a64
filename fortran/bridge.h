/* bridge.h: what the Fortran module calls. See sluice.f90 for what it is to a program.
 *
 * Arguments come as Fortran has them, and are turned into those of the C library here: dimension 1 is the one that
 * varies fastest in the file, indices start at 1, bounds are inclusive, and a buffer is described by Fortran's own
 * descriptor, so that its type and shape can be compared with what it is to hold. All return 0 or a negative error.
 */
#ifndef SLUICE_FORTRAN_BRIDGE_H
#define SLUICE_FORTRAN_BRIDGE_H

#include <ISO_Fortran_binding.h>
#include <mpi.h>
#include <sluice.h>

typedef struct bridge bridge; /* an open array, and the communicator of its group */

/* lower:upper:stride; a stride of 0: the whole dimension. */
typedef struct bridge_span {
    int64_t lower, upper, stride;
} bridge_span;

/* type(bridge_options) of the module; strings are NULL or end with 0. */
typedef struct bridge_options {
    int64_t memory, checksum, header;
    int32_t writable, replace, raw, row_major, together, comm;
    const char *type, *layout, *targets, *bindings;
} bridge_options;

typedef struct bridge_slab {
    void *address;
    int64_t first, last, from, to; /* with overlap; the slab itself */
} bridge_slab;

/* Local; Collective if o->together: then by all processes of the communicator o->comm. n = 0: the file says itself what
 * it is; else it is raw, and of n extents. */
int sluice_fortran_open(bridge **out, const char *path, int n, const int64_t *extent, const bridge_options *o);
int sluice_fortran_create(bridge **out, const char *path, int n, const int64_t *extent, const bridge_options *o);

/* Local; Collective for a group. */
int sluice_fortran_close(bridge *b);
int sluice_fortran_sync(bridge *b);
int sluice_fortran_resize(bridge *b, int64_t extent);

/* Local, or with `together` Collective. n spans; n = 0: everything. What a process gets wrong in a collective call is
 * an error of all. */
int sluice_fortran_read(bridge *b, CFI_cdesc_t *buf, int n, const bridge_span *span, int together);
int sluice_fortran_write(bridge *b, CFI_cdesc_t *buf, int n, const bridge_span *span, int together);

/* Collective for a group. memory = 0: 64 MiB. */
int sluice_fortran_redistribute(bridge *dst, bridge *src, int64_t memory);

/* Pure. Number of dimensions, and extents; the type and layout, as strings of C, "" if there is none. */
int sluice_fortran_extents(const bridge *b, int64_t *extent);
const char *sluice_fortran_type(const bridge *b);
const char *sluice_fortran_layout(const bridge *b);

/* Local. The loop over slabs along dimension dim (0: the slowest). next: 1, 0 at the end, or a negative error. */
int sluice_fortran_slabs_open(sluice_slabs **out, bridge *b, int dim, int64_t count, int64_t lower, int64_t upper,
                              int64_t memory);
int sluice_fortran_slabs_next(sluice_slabs *s, bridge_slab *slab);

/* Local. The sentence for the last error of these calls on this thread. */
const char *sluice_fortran_errmsg(void);

#endif
