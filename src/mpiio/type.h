/* type.h: an MPI datatype as the bytes that it names, in the order in which it names them.
 *
 * A datatype is described once, by its envelope and contents, and never flattened: each constructor becomes families of
 * equal blocks around the families of what it is made of, just as in a set (set/set.h), but in the order of the
 * datatype, which may go backwards or over the same bytes again. What repeats folds, so a vector of 10^9 blocks is one
 * family, and so is a list of 10^6 displacements that are regular.
 *
 *     hvector of 3 blocks, 8 bytes apart:   XX......XX......XX          family (0, 2, 8, 3)
 *     the same with a stride of -8:         the same bytes, last first: family (0, 2, -8, 3)
 *
 * If the order ascends and no byte comes twice, the families are a set. Then a view with this filetype at displacement
 * d is an element (sluice_set.h) of one of them: period `extent`, displacement d + true_lb. Memory of any datatype,
 * ascending or not, is reached by pack and unpack.
 *
 * The basic elements lie one behind the other in the packed form, so that they need no offsets: n of one kind, or a
 * list of such parts (the fields of a struct) n times over.
 *
 * Nothing here is changed after it was made, so threads may share it; it holds no handle of MPI's.
 */
#ifndef SLUICE_MPIIO_TYPE_H
#define SLUICE_MPIIO_TYPE_H

#include "base/base.h"
#include "sluice_set.h"
#include <mpi.h>

typedef struct sluice_part sluice_part; /* private: basic elements in a row (parts.h) */

/* Displacements are those of the datatype: bytes from the address or offset at which it is used. */
typedef struct sluice_typed {
    int64_t size;                 /* bytes named by one of them: its packed form */
    int64_t lb, extent;           /* as MPI tells them; copies lie extent apart, which may be 0 or negative */
    int64_t true_lb, true_extent; /* of the bytes named; 0 and 0 if there are none */
    int64_t elements;             /* basic elements of one of them */
    int64_t external;             /* bytes of its packed form in external32 */
    bool contiguous;              /* any number of them is one run of bytes, in order */
    bool sorted;                  /* in one of them each byte lies after the one before */
    bool ascending;               /* in any number of them */
    bool rising;                  /* in one of them no block starts before the one before */
    int64_t first;                /* displacement of the first byte of the packed form; true_lb if sorted */
    sluice_set order;             /* its families, in its order, relative to `first`; a set if sorted, else private */
    sluice_part *part;            /* private: what its elements are; the last part is the whole */
    int64_t nparts;
} sluice_typed;

/* Local. Describes a datatype, committed or not. SLUICE_E_ARGUMENT for MPI_DATATYPE_NULL and what MPI refuses to tell,
 * SLUICE_E_OVERFLOW if a displacement, or the size, would pass 2^61, SLUICE_E_COMPLEX if it has too many pieces that do
 * not fold, -ENOMEM. On failure *made is as it was. */
int sluice_typed_make(MPI_Datatype type, sluice_typed **made, sluice_reason *why);
void sluice_typed_free(sluice_typed *t); /* NULL is allowed */

/* Pure. The bytes of `count` of them, relative to *origin, which becomes true_lb (the one at displacement d is member
 * d - *origin). SLUICE_E_ORDER if they do not ascend, SLUICE_E_ARGUMENT if count < 0, SLUICE_E_OVERFLOW. */
int sluice_typed_set(const sluice_typed *t, int64_t count, sluice_set *set, int64_t *origin, sluice_reason *why);

/* Pure. Move bytes [from, from + n) of the packed form of as many of them as it takes, between memory (base is the
 * address of displacement 0) and `packed`, which holds these n bytes. Time grows with the pieces moved; what is
 * skipped costs O(depth * log siblings). Where unpacked pieces overlap it is not said which stays. */
void sluice_typed_pack(const sluice_typed *t, const void *base, int64_t from, int64_t n, void *packed);
void sluice_typed_unpack(const sluice_typed *t, void *base, int64_t from, int64_t n, const void *packed);

/* ---- Basic elements, and external32 ------------------------------------------------------------------------------ */

/* Which of the two packed forms bytes are counted in. */
typedef enum sluice_form { SLUICE_NATIVE, SLUICE_EXTERNAL32 } sluice_form;

/* Pure. How many whole basic elements the first n bytes of the packed form hold, of as many datatypes as it takes (what
 * MPI_Get_elements tells); and the inverse: how many bytes the first k elements take. 0 if the datatype has none. */
int64_t sluice_typed_elements(const sluice_typed *t, sluice_form form, int64_t n);
int64_t sluice_typed_bytes(const sluice_typed *t, sluice_form form, int64_t k);

/* Pure. Makes of a datatype what it is in a file of external32, gaps and extent included. Whether that is possible: its
 * elements are all of one kind, and everything is a multiple of them; else it is as it was. */
bool sluice_typed_scale(sluice_typed *t);

/* Pure. Convert basic elements [k, k + n) of the packed form; both buffers start with element k. Integers that do not
 * fit into the narrower form lose their upper bytes. */
void sluice_typed_to_external32(const sluice_typed *t, int64_t k, int64_t n, const void *native, void *external);
void sluice_typed_from_external32(const sluice_typed *t, int64_t k, int64_t n, const void *external, void *native);

#endif
