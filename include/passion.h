/* passion.h: the routines of the PASSION Runtime Library (Choudhary et al., 1995) on top of Sluice.
 *
 * PASSION is for arrays that are too large for memory. In its local placement model each process keeps its part of the
 * array, the out-of-core local array (OCLA), in a file of its own, the local array file. Memory holds a piece of it at
 * a time, the in-core local array (ICLA). A program reads a piece, computes on it and writes it back:
 *
 *     OCAD *array = PASSION_malloc_OCAD(2);
 *     PASSION_fill_OCAD(array, size, distribution, nprocs, ocla_size, icla_size, overlap, sizeof(float), ROW_MAJOR);
 *     PFILE *file = PASSION_open("field.0", 0);
 *     int rows[2][3] = {{1, 100, 1}, {1, 4000, 1}};        // lower:upper:stride of each dimension, inclusive
 *     PASSION_read_section(file, array, buffer, first, rows);
 *     ...
 *     PASSION_write_section(file, array, buffer, first, rows);
 *     PASSION_close(file);
 *     PASSION_free_OCAD(array);
 *
 * Names and parameters are those of the paper, also where it prints a name in two ways. What it leaves open is decided
 * here:
 *
 *   - Indices (AccessArray, Index, start) count from 1, as in the paper's examples. PASSION_set_base(0) makes them
 *     count from 0; a program that does so without saying it meets an error, not the wrong elements.
 *   - Two-column arguments are {kind, block} for distribution, {size, reserved} for icla_size and {lower, upper} for
 *     overlap.
 *   - PASSION_open makes a file that is not there and opens for reading and writing.
 *   - Array, in calls with a section and in PASSION_read_reuse(), is the ICLA with its overlap: lower + size + upper
 *     elements along each dimension, in the storage order of the file. Index counts from its first element.
 *   - Writes make a file that is too short as long as its array, with zeros where nothing is written; reads refuse it.
 *   - In the global placement model all processes open one file with the whole array, and sections are in global
 *     indices. They are read and written by each process for itself, or by all together (PASSION_global_read). Whole
 *     local arrays and reuse are for the local model only.
 *   - PASSION's calls name no group of processes. It is MPI_COMM_WORLD while MPI runs, or what PASSION_set_comm() of
 *     passion_mpi.h has set; without MPI it is this process alone.
 *
 * Results. Calls that return int return 0, or a negative error of sluice_error.h; PASSION_read_reuse() alone returns -1
 * at the end of the array, and never for an error. Calls that return a pointer return NULL on failure. In all cases
 * sluice_errmsg() then says what happened. A failed call changes neither its descriptors nor any byte of the file that
 * it was not told to write. All calls are Local, for the process alone and without communication, but for files of the
 * global model: there PASSION_open(), PASSION_close() and the global calls are Collective, made by all processes of the
 * group, and return the same error, with the same sentence, to all.
 */
#ifndef PASSION_H
#define PASSION_H

#include "sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PASSION_MAX_DIMS = SLUICE_MAX_DIMS };

/* Storage orders. */
enum { ROW_MAJOR = 1, COLUMN_MAJOR = 2 };

/* Kinds of distribution along a dimension. */
enum {
    PASSION_COLLAPSED, /* not distributed; one process along the dimension */
    PASSION_BLOCK,     /* contiguous blocks; block 0 = size over processes, rounded up */
    PASSION_CYCLIC     /* blocks dealt in turn; block 0 = 1 */
};

/* Placement models. */
enum { PASSION_LOCAL, PASSION_GLOBAL };

/* ---- Settings of the library ---------------------------------------------------------------------------------- */

/* Local. The index of the first element, 1 at first; 0 or 1. */
int PASSION_set_base(int base);

/* Local. The number of processes in the group; the grids of OCADs filled in afterwards must have it. At first it is the
 * size of the group that MPI has, 1 without MPI. */
int PASSION_set_nprocs(int nprocs);

/* Local. The placement model of files opened afterwards, PASSION_LOCAL at first. */
int PASSION_set_placement(int placement);

/* ---- Out-of-core array descriptors ---------------------------------------------------------------------------- */

/* What there is to know about an array. Set by PASSION_fill_OCAD(), for everyone to read. */
typedef struct OCAD {
    int dimensions;
    int filled; /* 0 until PASSION_fill_OCAD() succeeds */
    int elemsize, storage;
    int size[PASSION_MAX_DIMS];            /* of the global array */
    int distribution[PASSION_MAX_DIMS][2]; /* kind, block */
    int nprocs[PASSION_MAX_DIMS];          /* processes along each dimension */
    int ocla_size[PASSION_MAX_DIMS];       /* of this process's part */
    int icla_size[PASSION_MAX_DIMS][2];    /* size in memory without overlap; reserved: kept and not used */
    int overlap[PASSION_MAX_DIMS][2];      /* lower, upper */
} OCAD;

/* A descriptor of 1 to PASSION_MAX_DIMS dimensions, still empty. */
OCAD *PASSION_malloc_OCAD(int dimensions);

/* Fills it in. Refuses (SLUICE_E_ARGUMENT) sizes that are not positive, a negative overlap, an unknown kind of
 * distribution or one that does not cover its dimension, a grid that is not the group, an unknown storage order; and
 * arrays or buffers of more than 2^63-1 bytes (SLUICE_E_OVERFLOW). May be called again. */
int PASSION_fill_OCAD(OCAD *ocad, int *size, int distribution[][2], int *nprocs, int *ocla_size, int icla_size[][2],
                      int overlap[][2], int elemsize, int storage);

void PASSION_free_OCAD(OCAD *ocad);

/* ---- Files ---------------------------------------------------------------------------------------------------- */

typedef struct PREFETCH PREFETCH;
typedef struct REUSE REUSE;

/* An open file. */
typedef struct PFILE {
    int fd;                   /* the system's file descriptor; -1: a container */
    unsigned int header_size; /* bytes before the first element */
    int placement;            /* PASSION_LOCAL or PASSION_GLOBAL */
    sluice_array *array;      /* the handle below: for sluice_count(), sluice_sync(); not to be closed */
    int whole;                /* private: the file is known to be as long as the array last used with it */
    PREFETCH *prefetch;       /* private: not yet waited for */
    REUSE *reuse;             /* private: made for this file */
} PFILE;

PFILE *PASSION_open(char *FileName, unsigned int HeaderSize);

/* Completes the prefetches that were not waited for, frees the reuse descriptors of the file, closes and frees it, also
 * when it returns an error. */
int PASSION_close(PFILE *file);

/* The HeaderSize bytes before the array: right after PASSION_open(), before there is an OCAD. Reading a header from a
 * file that is shorter is refused (SLUICE_E_FORMAT): it has none yet. */
int PASSION_read_header(PFILE *file, char *HBuf);
int PASSION_write_header(PFILE *file, char *HBuf);

/* ---- Reading and writing -------------------------------------------------------------------------------------- */

/* The whole local array, packed. Local placement only. */
int PASSION_read(PFILE *file, OCAD *ocad, char *Array);
int PASSION_write(PFILE *file, OCAD *ocad, char *Array);

/* A section: row d of AccessArray is lower, upper and stride of dimension d, inclusive; upper need not be hit; upper <
 * lower is nothing. In memory it has no stride and starts at Index (NULL: the first element) of Array. What Array holds
 * elsewhere, and what the file holds between the strides, stays. */
int PASSION_read_section(PFILE *file, OCAD *ocad, char *Array, int *Index, int AccessArray[][3]);
int PASSION_write_section(PFILE *file, OCAD *ocad, char *Array, int *Index, int AccessArray[][3]);

/* Collective. A section in global indices for each process: distinct, overlapping, identical or empty ones. The file
 * must have been opened by the nprocs processes in the global model, and all name the same array: sizes, size of an
 * element and storage, whatever the distribution. Where processes write the same element, that of the highest rank is
 * in the file afterwards. What one process wrote by PASSION_write_section() another sees after
 * sluice_sync(file->array), which is Collective here. */
int PASSION_global_read(PFILE *file, OCAD *ocad, char *Array, int *Index, int AccessArray[][3], int nprocs);
int PASSION_global_write(PFILE *file, OCAD *ocad, char *Array, int *Index, int AccessArray[][3], int nprocs);

/* ---- Prefetching ---------------------------------------------------------------------------------------------- */

/* Starts PASSION_read_section() and returns. Array belongs to the library until PASSION_prefetch_wait() has returned
 * the result of the read, which also frees the descriptor. Several may be outstanding, with different buffers. */
PREFETCH *PASSION_read_prefetch(PFILE *file, OCAD *ocad, char *Array, int *Index, int AccessArray[][3]);
PREFETCH *PASSION_prefetch_read(PFILE *file, OCAD *ocad, char *Array, int *Index, int AccessArray[][3]);
int PASSION_prefetch_wait(PREFETCH *prefetch);

/* ---- Reuse ---------------------------------------------------------------------------------------------------- */

/* A walk over the local array, slab by slab along its slowest dimension. A slab has icla_size indices, the last one
 * perhaps fewer, and comes with its overlap, clipped at the ends of the array; what the slab before had already is
 * moved in memory and not read again. The fields say what Array holds after PASSION_read_reuse(). */
struct REUSE {
    int start, count; /* the slab: its first index in the local array, how many */
    int lower, upper; /* indices of overlap before and after it */
    PFILE *file;      /* private, to the end */
    OCAD ocad;
    sluice_reuse plan;
    REUSE *next;
};

/* Makes the descriptor; `start` is the first index of the first slab. The ICLA must span the local array in all
 * dimensions but the slowest. The descriptor lives until the file is closed, or PASSION_free_REUSE(). */
REUSE *PASSION_reuse_init(PFILE *file, OCAD *ocad, int start);

/* Reads the next slab: 0; -1 at the end; or an error, after which the same slab can be tried again. The slab always
 * starts at the same place of Array, behind the lower overlap; overlap that the array does not have stays as it was.
 * Array must be the same in all calls, and what it holds must still be there. */
int PASSION_read_reuse(REUSE *reuse, char *Array);

void PASSION_free_REUSE(REUSE *reuse);

/* The paper prints PASSION_reuse_init() as PASSION_read_reuse(), too: with three arguments it is that. */
#define PASSION_READ_REUSE_(a, b, c, name, ...) name
#define PASSION_read_reuse(...) PASSION_READ_REUSE_(__VA_ARGS__, PASSION_reuse_init, PASSION_read_reuse, 0)(__VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
