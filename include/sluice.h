/* sluice.h: parallel I/O for arrays that are larger than memory.
 *
 * A program names the part of the array that it wants; the library moves it. Under all of it is one idea: a section
 * of an array, a distribution over processes, a view, a subfile on a disk are the same thing, a nested strided set of
 * bytes (sluice_set.h).
 *
 *     #include <sluice.h>
 *
 *     sluice_array *a;
 *     sluice_range part[] = {{.start = 10, .count = 20, .step = 1}, {.start = 0, .count = 500, .step = 2}};
 *     double buf[20][500];
 *     if (sluice_open(&a, "field.npy", SLUICE_READ, NULL, NULL) || sluice_read(a, part, buf))
 *         fprintf(stderr, "%s\n", sluice_errmsg());
 *     sluice_close(a);
 *
 * This header is the whole library. It includes
 *
 *     sluice_version.h    which Sluice this is
 *     sluice_error.h      the errors that its calls return
 *     sluice_set.h        the algebra of sets; it needs no MPI and may be used alone
 *     sluice_file.h       what an array in a file is
 *     sluice_io.h         how its bytes are moved
 *
 * and, for groups of processes, sluice_mpi.h includes it: the two calls that need MPI.
 *
 * What holds everywhere: a call that can fail returns 0 or a negative error, and sluice_errmsg() then says in a
 * sentence what happened: the call, the file, the offset and the reason. Handles stay good after an error, and bytes
 * that nobody named never change. Offsets and sizes are int64_t, intervals are half-open, indices start at 0. The
 * first word of a declaration's comment is Pure (touches only its arguments), Local (acts for this process alone) or
 * Collective (all processes of the communicator must call it). A handle may be used by one thread at a time.
 */
#ifndef SLUICE_H
#define SLUICE_H

#include "sluice_error.h"
#include "sluice_file.h"
#include "sluice_io.h"
#include "sluice_set.h"
#include "sluice_version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Local. The sentence for the last error that a call returned on this thread; never NULL. */
const char *sluice_errmsg(void);

/* ---- Arrays and files ---------------------------------------------------------------------------------------- */

typedef struct sluice_array sluice_array;

typedef enum sluice_store_kind {
    SLUICE_STORE_AUTO,  /* io_uring if the kernel allows it, else posix */
    SLUICE_STORE_POSIX, /* pread and pwrite */
    SLUICE_STORE_URING,
    SLUICE_STORE_RAM /* no file: the array lives in memory and goes with the handle */
} sluice_store_kind;

/* Zero is the default of every field. */
typedef struct sluice_options {
    size_t size;    /* sizeof(sluice_options) */
    int64_t memory; /* bytes that all internal buffers of the handle may take; 0 = 64 MiB */
    sluice_method method;
    sluice_store_kind store;
    int no_map;               /* never go through a mapping of the file */
    int exclusive;            /* no other handle writes the file while this one is open: no locks are taken */
    int replace;              /* create: a file, not a container, that is there is replaced, once the new is whole */
    sluice_together together; /* how collective calls divide the work */
    const char *layout;       /* create: a container, with its subfiles in this layout: "tiles:256x256:4" */
    const char *targets;      /* create: names of the targets on which they lie, in turn: "fast,slow"; NULL: in it */
    const char *bindings;     /* where targets are: "fast=/ssd,slow=/disk"; before $SLUICE_TARGETS */
    int64_t checksum;         /* create: a container with a CRC-32C for each block of so many bytes; 0: without */
} sluice_options;

/* A good size of a block with a checksum; others are powers of two from 512 to 16 MiB. Every read compares the blocks
 * that it touches, and fails with SLUICE_E_CHECKSUM if one does not match. What was written gets its checksums by sync
 * and close. */
enum { SLUICE_CHECKSUM = 65536 };

enum { SLUICE_READ = 0, SLUICE_WRITE = 1 };

/* Local. Opens an array. `given` describes a raw file; NULL: the file must say itself what it is (.npy). */
int sluice_open(sluice_array **a, const char *path, int mode, const sluice_desc *given, const sluice_options *o);

/* Local. Makes a new array of zeros and opens it for reading and writing. Refuses a path that exists, unless told to
 * replace the file: then the new one is made beside it and takes its name in the end, with its permissions; a symbolic
 * link stays. If the call fails the old file is as it was, and handles that are open on it keep it. */
int sluice_create(sluice_array **a, const char *path, const sluice_desc *d, const sluice_options *o);

/* Local; Collective for a handle that a group opened (sluice_mpi.h). Closes and frees, also when it returns an error.
 * Every request must have been waited for: sluice_wait() after it would use what was freed. */
int sluice_close(sluice_array *a);

/* Local; Collective for a group. What was written survives a crash of the machine, and has its checksums, if any. */
int sluice_sync(sluice_array *a);

/* Pure. What the array is, until the handle is closed or resized. */
const sluice_desc *sluice_describe(const sluice_array *a);

/* Pure. How an array in a container is dealt to its subfiles, "rows:4", for as long; NULL: it lies in one file. */
const char *sluice_describe_layout(const sluice_array *a);

/* Local; Collective for a group. A new extent of the slowest dimension; new elements are 0. Refused for a container if
 * a byte would have to move to another subfile, as in layouts by blocks whose size follows from the extent. */
int sluice_resize(sluice_array *a, int64_t extent);

/* Local. The bytes before the first element: raw files only for writing; len must fit into the header. */
int sluice_read_header(sluice_array *a, void *buf, int64_t len);
int sluice_write_header(sluice_array *a, const void *buf, int64_t len);

/* ---- Reading and writing ------------------------------------------------------------------------------------- */

/* Local. A section, packed in memory in the array's own order. One range per dimension; NULL: everything. */
int sluice_read(sluice_array *a, const sluice_range *range, void *buf);
int sluice_write(sluice_array *a, const sluice_range *range, const void *buf);

/* Ascending indices of one dimension. */
typedef struct sluice_index {
    const int64_t *i;
    int64_t n;
} sluice_index;

/* One part of an array and where it lies in memory. */
typedef struct sluice_part {
    const sluice_range *range; /* one per dimension; NULL: everything */
    const sluice_index *index; /* instead of range: the product of irregular index lists, one per dimension */
    void *buf;                 /* not changed by writes */
    const int64_t *buf_dim;    /* extents of a larger buffer, same order as the array; NULL: packed */
    const int64_t *buf_at;     /* index in it of the part's first element; NULL: 0, ..., 0 */
} sluice_part;

/* Local. n parts in one call; for writes, later parts win where they overlap. */
int sluice_read_parts(sluice_array *a, const sluice_part *part, int n);
int sluice_write_parts(sluice_array *a, const sluice_part *part, int n);

/* Local. The same in the background, while the program computes: returns at once; the buffers belong to the library
 * until sluice_wait(). Several may be outstanding; they are carried out in the order in which they were started.
 * Other calls on the handle wait for them first. sluice_wait frees the request and returns the transfer's error. */
typedef struct sluice_request sluice_request;
int sluice_read_start(sluice_request **r, sluice_array *a, const sluice_part *part, int n);
int sluice_write_start(sluice_request **r, sluice_array *a, const sluice_part *part, int n);
int sluice_wait(sluice_request *r);

/* Collective. The same for all processes of the group that opened the array: each names its own part, or none (n = 0,
 * or a count of 0), and they cooperate. Where processes write the same element, that of the highest rank is in the file
 * afterwards. All return the same error, and sluice_errmsg() says the same on all, with the rank in which it happened;
 * what was read or written by then is not defined, but no byte that nobody named has changed. A call with the same
 * parts as the last one, or the same shifted by the same distance everywhere, need not plan anew. On a handle of one
 * process these are the local calls. */
int sluice_read_all(sluice_array *a, const sluice_range *range, void *buf);
int sluice_write_all(sluice_array *a, const sluice_range *range, const void *buf);
int sluice_read_parts_all(sluice_array *a, const sluice_part *part, int n);
int sluice_write_parts_all(sluice_array *a, const sluice_part *part, int n);

/* Collective. Each process moves its part of a distribution that all name alike (see sluice_set_hpf), packed in the
 * array's order. Nobody then needs to tell the others what it wants. */
int sluice_read_dist_all(sluice_array *a, const sluice_dist *dist, const int *grid, void *buf);
int sluice_write_dist_all(sluice_array *a, const sluice_dist *dist, const int *grid, const void *buf);

/* Collective. In the background; all processes must start their collective requests on a handle in the same order.
 * On one node they go on by themselves. Between nodes, MPI being left to the program's own threads, they are carried
 * out when they are waited for. Errors come from sluice_wait(). */
int sluice_read_all_start(sluice_request **r, sluice_array *a, const sluice_part *part, int n);
int sluice_write_all_start(sluice_request **r, sluice_array *a, const sluice_part *part, int n);

/* Pure. What the handle did since it was opened. */
void sluice_count(const sluice_array *a, sluice_counts *c);

/* ---- Copying ------------------------------------------------------------------------------------------------- */

typedef struct sluice_copy_options {
    size_t size;              /* sizeof(sluice_copy_options), or 0 */
    const sluice_range *from; /* the part of the source, one range per dimension; NULL: everything */
    const sluice_range *to;   /* the part of the destination */
    int64_t memory;           /* bytes for all buffers together, those of both handles too; 0 = 64 MiB */
    int (*progress)(void *arg, int64_t done, int64_t total); /* called now and then, with bytes; not 0: stop */
    void *arg;
} sluice_copy_options;

/* Local. Copies an array, or a section of one, into another of the same type, whatever their orders: it keeps its
 * logical shape (dimensions of extent 1 do not count) and is laid down in the destination's order. Reading, turning and
 * writing go on at the same time. -ECANCELED if it was stopped; what was written by then stays written. */
int sluice_copy(sluice_array *dst, sluice_array *src, const sluice_copy_options *o);

/* Collective. The same by all processes of the group that opened dst, each of them a share, with `memory` bytes for
 * each: from any layout and order to any other, in one pass. All name the same sections and have src open, as a group
 * or each for itself; the smallest memory counts for all. All return the same error and sentence; those on the node of
 * the one that failed stop. Progress is called on all, and told of what the processes of the node have copied, and of
 * all bytes (with several nodes: about as many as are this one's). On a handle of one process this is sluice_copy(). */
int sluice_redistribute_all(sluice_array *dst, sluice_array *src, const sluice_copy_options *o);

/* ---- Reuse ---------------------------------------------------------------------------------------------------- */

/* Walking along a dimension with overlap, what is still in memory need not be read again. The plan of such a walk: set
 * the first five fields, zero the rest. */
typedef struct sluice_reuse {
    int64_t extent, count;      /* of the dimension; of a slab */
    int64_t lower, upper, next; /* overlap; first index of the next slab */
    int64_t from, to;           /* what the buffer holds */
} sluice_reuse;
typedef struct sluice_reuse_step {
    sluice_run slab;   /* the indices of this step */
    sluice_run used;   /* with overlap, clipped at the ends */
    sluice_run reused; /* of these, what the buffer held already */
    sluice_run read;   /* and what must be read */
} sluice_reuse_step;

/* Pure. The next step: 1, or 0 at the end. */
int sluice_reuse_next(sluice_reuse *r, sluice_reuse_step *step);

/* Local. Takes the next step along dimension dim: moves what is reused to the front of buf, which holds the used part
 * packed in the array's order, and reads the rest. 1, 0 at the end, or a negative error. */
int sluice_read_reuse(sluice_array *a, sluice_reuse *r, int dim, void *buf, sluice_reuse_step *step);

/* ---- Out-of-core loops --------------------------------------------------------------------------------------- */

/* Walks an array slab by slab along one dimension:
 *
 *     sluice_slabs *s;
 *     sluice_slab slab;
 *     int more;
 *     sluice_slabs_open(&s, a, &(sluice_slabs_options){.lower = 1, .upper = 1});
 *     while ((more = sluice_slabs_next(s, &slab)) > 0) work(slab.buf, slab.count);
 *     sluice_slabs_close(s);       // more < 0: an error
 *
 * Each slab comes with `lower` indices before it and `upper` after it, clipped at the ends of the array; what the slab
 * before had already is not read again, and the next slab is read in the background meanwhile. All buffers together
 * stay below `memory`. */
typedef struct sluice_slabs sluice_slabs;
typedef struct sluice_slabs_options {
    size_t size;          /* sizeof(sluice_slabs_options), or 0 */
    int dim;              /* the dimension walked along, counted from the slowest, which is 0 */
    int64_t count;        /* indices per slab; 0 = as many as memory allows */
    int64_t start;        /* first index */
    int64_t lower, upper; /* overlap */
    int64_t memory;       /* 0 = the handle's limit */
    int no_prefetch;
} sluice_slabs_options;
typedef struct sluice_slab {
    void *buf;            /* all of [from, from + total) along dim, packed in the array's order */
    int64_t from, total;  /* what is in the buffer, with overlap */
    int64_t start, count; /* the slab itself */
} sluice_slab;

/* Local. next: 1 and the next slab (valid until the following call), 0 at the end, or a negative error. */
int sluice_slabs_open(sluice_slabs **s, sluice_array *a, const sluice_slabs_options *o);
int sluice_slabs_next(sluice_slabs *s, sluice_slab *slab);
void sluice_slabs_close(sluice_slabs *s);

/* ---- Notation ------------------------------------------------------------------------------------------------ */

/* Pure. Reads a section as Python writes it, "[10:20, ::2, 5]", for an array of the given shape: half-open, negative
 * indices from the end, steps >= 1, missing dimensions are whole. Brackets are optional, "..." may stand once, slices
 * are clipped to the array and a plain index outside it is an error. Fills in one range per dimension. */
int sluice_section_parse(sluice_range *range, const sluice_shape *shape, const char *text, sluice_reason *why);

#ifdef __cplusplus
}
#endif
#endif
