/* workload.h: programs that are known for their file accesses, each reduced to these: plain MPI programs that write a
 * file and read it back, and say how fast.
 *
 * What a process accesses is a view of the file, which repeats for ever, and in it one stretch after the other:
 *
 *     file     |xx..xx......|xx..xx......|xx..      x: one period of the view: two pieces
 *     view      01 23        45 67        89        its bytes in order
 *     accesses  [0 .. 4), [4 .. 8), ...             each of them one call
 *
 * Three ways of access, which move the same bytes (--mode):
 *     unix          pread and pwrite of every contiguous run, on one file that all share
 *     mpiio         collective calls of MPI-IO with the view as file view
 *     partitioned   the same calls; the file is a container, which needs Sluice's MPI-IO (man 7 sluice-mpiio)
 *
 * The latency of every access is measured, and all of them make an average bandwidth, apart for reads and writes: the
 * bytes of all accesses of all processes by the sum of their latencies. Closing a file that was written counts as one
 * more, for it may be what brings the data there. The time of the whole run is told beside it. What is read is compared
 * with what was written, outside the measured time.
 */
#ifndef SLUICE_WORKLOAD_H
#define SLUICE_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

enum { PIECES = 16 };

/* Runs of `len` bytes: count[1] groups, step[1] apart, of count[0] runs, step[0] apart. */
typedef struct piece {
    int64_t off, len, count[2], step[2];
} piece;

/* Pieces lie behind one another, and all within the extent, after which they come again. */
typedef struct view {
    int64_t disp, extent;
    int npieces;
    piece piece[PIECES];
} view;

typedef struct job {
    int rank, nranks;
    int64_t size, steps; /* as the options say */
    const char *png;     /* where the picture is to go, or NULL */
    /* What the workload makes of them: the views, and how many accesses of each kind. */
    view write, read;
    int64_t writes, reads;
    int64_t bytes; /* of the file */
} job;

/* A part of the view. */
typedef struct stretch {
    int64_t off, len;
} stretch;

typedef struct workload {
    const char *name, *title, *size_means;
    int64_t size, steps, quick_size, quick_steps; /* defaults */
    /* Fills in the rest of the job; returns what is wrong with the options or the number of processes, or NULL. */
    const char *(*plan)(job *j);
    stretch (*access)(const job *j, bool write, int64_t k);
    /* What belongs at byte `off` of the file and behind; NULL: a formula of the offset. */
    void (*contents)(const job *j, unsigned char *buf, int64_t off, int64_t len);
    /* On process 0 at the end, with the whole file; returns what went wrong. NULL: nothing to do. */
    const char *(*show)(const job *j, const unsigned char *file);
} workload;

/* The program: reads the options, does the workload, prints. */
int workload_main(const workload *w, int argc, char **argv);

/* The bytes of a view's period. */
int64_t view_bytes(const view *v);

/* The whole number q with q * q == n, or 0. */
int workload_root(int n);

#endif
