/* mpiio_common.h: what tests that know nothing but MPI share. They run through the door, and some on the host's MPI-IO
 * as well (compiled with ON_HOST): what a host is known to do wrong is then left out, and said so where it is. */
#ifndef SLUICE_TESTS_MPIIO_COMMON_H
#define SLUICE_TESTS_MPIIO_COMMON_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef ON_HOST
enum { on_host = 1 };
#else
enum { on_host = 0 };
#endif
#ifdef OPEN_MPI
enum { on_ompio = on_host, on_romio = 0 };
#else
enum { on_ompio = 0, on_romio = on_host };
#endif

static int failures, rank, size;
static char path[128]; /* a file of our own */

#define CHECK(good, ...)                                                                                               \
    do {                                                                                                               \
        if (!(good) && failures++ < 20) {                                                                              \
            fprintf(stderr, "rank %d of %d: %s:%d: not true: %s ", rank, size, __FILE__, __LINE__, #good);             \
            fprintf(stderr, " " __VA_ARGS__);                                                                          \
            fputc('\n', stderr);                                                                                       \
        }                                                                                                              \
    } while (0)

static inline int class_of(int code) {
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

/* Must succeed. */
#define GOOD(call)                                                                                                     \
    do {                                                                                                               \
        int code_ = (call);                                                                                            \
        char text_[MPI_MAX_ERROR_STRING] = "";                                                                         \
        int n_;                                                                                                        \
        if (code_) MPI_Error_string(code_, text_, &n_);                                                                \
        CHECK(!code_, "%s", text_);                                                                                    \
    } while (0)

static inline int count_of(const MPI_Status *s, MPI_Datatype type) {
    int n = -1;
    MPI_Get_count(s, type, &n);
    return n;
}

static inline void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

/* Where MPI has been started. */
static inline void begin_started(const char *test) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* which MPI_Wait calls for requests of files, too */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int pid = (int)getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/sluice-%s-%d", folder ? folder : "/tmp", test, pid);
    if (rank == 0) unlink(path); /* of a run that was cut off */
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline void begin(int *argc, char ***argv, const char *test) {
    MPI_Init(argc, argv);
    begin_started(test);
}

static inline int end(void) {
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        unlink(path);
        printf(all ? "%d failures\n" : "good\n", all);
    }
    MPI_Finalize();
    return all != 0;
}

#endif
