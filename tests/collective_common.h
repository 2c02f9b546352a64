/* collective_common.h: what tests of collective calls share: who we are, a file of our own, and a check that all
 * processes returned the same error and say the same. */
#ifndef SLUICE_TESTS_COLLECTIVE_COMMON_H
#define SLUICE_TESTS_COLLECTIVE_COMMON_H

#include "array/array.h"
#include "sluice_mpi.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static char path[64];

static inline void begin(int *argc, char ***argv, const char *name) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int pid = (int)getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s.%d", name, pid);
}

/* To be returned by main(). */
static inline int finish(void) {
    int mine = verdict(), all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return all;
}

/* Without what must succeed no test can go on. */
static inline void must(int err) {
    if (!err) return;
    fprintf(stderr, "rank %d of %d: %s\n", rank, size, sluice_errmsg());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* All processes got this error; its sentence has this text and is the same everywhere. */
static inline void refused_at(int line, int expected, int got, const char *text) {
    char first[192] = "";
    snprintf(first, sizeof first, "%s", sluice_errmsg());
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK(got == expected, "line %d, rank %d of %d: expected %d, got %d: %s", line, rank, size, expected, got,
          got ? sluice_errmsg() : "");
    CHECK(!got || strstr(first, text), "line %d: \"%s\" does not say \"%s\"", line, first, text);
    CHECK(!got || !strcmp(first, sluice_errmsg()), "line %d: rank 0 says \"%s\", rank %d \"%s\"", line, first, rank,
          sluice_errmsg());
}
#define refused(expected, got, text) refused_at(__LINE__, expected, got, text)

/* The sum over all processes. */
static inline int64_t total(int64_t mine) {
    int64_t all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* All are here, without MPI. */
static inline void meet(sluice_array *a) { must(sluice_agree(a->collective->group, 0, NULL, NULL, 0)); }

#endif
