/* programs.h: what known programs access, computed from their definitions: each writes a file and reads it back. */
#ifndef SLUICE_TESTS_PROGRAMS_H
#define SLUICE_TESTS_PROGRAMS_H

#include "plan/plan.h"

/* bt: a cube of size^3 points of 40 bytes in cells on diagonals, once a step; a square number of processes. tile: tiles
 * of `size` lines of 32 KiB that share 2 KiB and a sixteenth of their lines, read with what they share; a square
 * number. perf: a block of size bytes for each process, once a step. lines: a picture of size lines, taken in turn.
 * halo: rows of a matrix of doubles, read with a row of each neighbour. stray: nothing regular. */
typedef struct program {
    const char *name;
    int (*access)(sluice_profile *p, int proc, int nprocs, int64_t size, int64_t steps, bool write);
} program;
extern const program program_list[]; /* ends with a name of NULL */
const program *program_named(const char *name);

/* All accesses, each process's in their order, at times that differ a little from process to process. */
int program_run(sluice_profile *p, const program *of, int nprocs, int64_t size, int64_t steps);

#endif
