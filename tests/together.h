/* together.h: what tests of several processes share: a board in shared memory, on which each posts what it got, a place
 * to meet that needs no MPI (whose waits cost a time slice where processes outnumber cores), a file, chance that is the
 * same for all, and a watchdog. */
#ifndef SLUICE_TESTS_TOGETHER_H
#define SLUICE_TESTS_TOGETHER_H

#include "sluice.h"
#include "support/random.h"
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_RANKS = 16, PATIENCE = 60 /* seconds that a step may take */ };

typedef struct post {
    int error;
    char text[192];
    int64_t number[8];
} post;

typedef struct board {
    _Atomic uint32_t present, page;
    _Atomic int failures;
    post post[MAX_RANKS];
} board;

static board *together;
static int rank, size;
static char path[64];                /* a file of our own, gone in the end */
static char doing[256] = "starting"; /* what a message says of the case */

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void fail(const char *format, ...) {
    va_list args;
    if (atomic_fetch_add(&together->failures, 1) >= 10) return;
    printf("rank %d of %d: %s: ", rank, size, doing);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

static void must(int err, const char *what) {
    if (!err) return;
    printf("rank %d of %d: %s: %s: error %d: %s\n", rank, size, doing, what, err, sluice_errmsg());
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* All are here, and see what the others posted. */
static void meet(void) {
    uint32_t page = atomic_load(&together->page);
    if (atomic_fetch_add(&together->present, 1) + 1 == (uint32_t)size) {
        atomic_store(&together->present, 0);
        atomic_store(&together->page, page + 1);
        syscall(SYS_futex, &together->page, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    } else {
        while (atomic_load(&together->page) == page)
            syscall(SYS_futex, &together->page, FUTEX_WAIT, page, NULL, NULL, 0);
    }
}

static inline post *mine(void) { return &together->post[rank]; }

/* Each rank has posted an error and a sentence: they are the same. */
static inline void compare_answers(void) {
    const post *first = &together->post[0];
    if (mine()->error != first->error) fail("error %d here, %d on rank 0", mine()->error, first->error);
    if (mine()->error && strcmp(mine()->text, first->text)) fail("\"%s\", on rank 0 \"%s\"", mine()->text, first->text);
}

/* Someone hangs: every process says where it is. */
static void bark(int signal_number) {
    void *frame[50];
    (void)signal_number;
    dprintf(1, "rank %d of %d: %s: no end in sight after %d s; it stands in\n", rank, size, doing, PATIENCE);
    backtrace_symbols_fd(frame, backtrace(frame, 50), 1);
    sleep(3); /* let the others bark */
    _exit(1);
}

/* A step begins, described by `doing`. */
static void watch(void) { alarm(PATIENCE); }

static void together_start(int *argc, char ***argv, const char *test) {
    char name[64];
    void *frame[1];
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MAX_RANKS) MPI_Abort(MPI_COMM_WORLD, 1);
    int pid = (int)getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s.%d", test, pid);
    snprintf(name, sizeof name, "/sluice-test-%d", pid);
    int fd = rank == 0 ? shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600) : -1;
    if (rank == 0 && ftruncate(fd, sizeof(board))) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 0) fd = shm_open(name, O_RDWR, 0);
    together = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (together == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) shm_unlink(name);
    backtrace(frame, 1); /* loads what it needs while that is still safe */
    signal(SIGALRM, bark);
    watch();
}

/* The seed of this run, which rank 0 tells, and how many cases are asked for instead of `usual`. */
static inline uint64_t together_seed(void) {
    uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("seed %llu\n", (unsigned long long)seed);
    return seed;
}
static inline int together_cases(int usual) {
    const char *asked = getenv("SLUICE_TEST_CASES");
    return asked ? atoi(asked) : usual;
}

/* The exit status. */
static int together_end(void) {
    meet();
    if (rank == 0) unlink(path);
    int failures = together->failures;
    if (failures && rank == 0) printf("%d failures\n", failures);
    alarm(0);
    MPI_Finalize();
    return failures != 0;
}

#endif
