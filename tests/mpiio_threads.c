/* ranks: 1 2, through the door */
/* mpiio_threads.c: with MPI_THREAD_MULTIPLE, threads share a handle or have one each, and call whatever they like at
 * the same time: each call does what it would do alone, in some order. Also after a fork, whose child uses no MPI. */
#include "mpiio_common.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { THREADS = 4, PIECES = 60, INTS = 24 };

static MPI_File common;
static MPI_Comm comm[THREADS];
static atomic_int wrong;
static atomic_int errors_seen;

static void good(int code) {
    if (code) atomic_fetch_add(&wrong, 1);
}
static int value(int64_t i) { return (int)(i * 2654435 + 7); }
static MPI_Offset bytes(int64_t ints) { return ints * (MPI_Offset)sizeof(int); }

/* Every thread has its own part of the file, by explicit offsets, now or later. */
static void *write_places(void *arg) {
    const int t = *(int *)arg;
    for (int k = 0; k < PIECES; k++) {
        const int64_t first = (((int64_t)k * THREADS + t) * size + rank) * INTS;
        int out[INTS], in[INTS] = {0};
        MPI_Status st;
        MPI_Request r;
        for (int i = 0; i < INTS; i++) out[i] = value(first + i);
        if (k % 2) {
            good(MPI_File_write_at(common, bytes(first), out, INTS, MPI_INT, &st));
            good(MPI_File_iread_at(common, bytes(first), in, INTS, MPI_INT, &r));
        } else {
            good(MPI_File_iwrite_at(common, bytes(first), out, INTS, MPI_INT, &r));
            good(MPI_Wait(&r, &st));
            good(MPI_File_iread_at(common, bytes(first), in, INTS, MPI_INT, &r));
        }
        good(MPI_Wait(&r, &st));
        good(count_of(&st, MPI_INT) != INTS || memcmp(in, out, sizeof in));
        if (k % 16 == 0 && MPI_File_write_at(common, -1, out, INTS, MPI_INT, &st)) atomic_fetch_add(&errors_seen, 1);
    }
    return NULL;
}

/* One pointer for all threads: no place is taken twice. */
static void *write_next(void *arg) {
    (void)arg;
    for (int k = 0; k < PIECES; k++) {
        int out[2] = {rank + 1, rank + 1};
        good(MPI_File_write_shared(common, out, 2, MPI_INT, MPI_STATUS_IGNORE));
    }
    return NULL;
}

/* A file for each thread, opened, seen through a view, written and read together with the same thread elsewhere. */
static void *use_own(void *arg) {
    const int t = *(int *)arg;
    char name[160];
    snprintf(name, sizeof name, "%s-%d", path, t);
    for (int k = 0; k < 4; k++) {
        MPI_File f;
        MPI_Datatype type;
        int out[INTS], in[INTS] = {0};
        good(MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)bytes(size), &type));
        good(MPI_Type_commit(&type));
        good(MPI_File_open(comm[t], name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                           &f));
        good(MPI_File_set_view(f, bytes(rank), MPI_INT, type, "native", MPI_INFO_NULL));
        for (int i = 0; i < INTS; i++) out[i] = value(i * 100 + t * 10 + rank);
        good(MPI_File_write_all(f, out, INTS, MPI_INT, MPI_STATUS_IGNORE));
        good(MPI_File_sync(f));
        good(MPI_File_read_at_all(f, 0, in, INTS, MPI_INT, MPI_STATUS_IGNORE));
        good(memcmp(in, out, sizeof in));
        good(MPI_File_close(&f));
        good(MPI_Type_free(&type));
    }
    return NULL;
}

static void run(void *(*what)(void *)) {
    pthread_t thread[THREADS];
    int number[THREADS];
    for (int t = 0; t < THREADS; t++) {
        number[t] = t;
        CHECK(!pthread_create(&thread[t], NULL, what, &number[t]));
    }
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    CHECK(!wrong, "%d calls of threads", (int)wrong);
    wrong = 0;
}

static void check_places(void) {
    const int64_t n = (int64_t)PIECES * THREADS * size * INTS;
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i += INTS) {
        int in[INTS] = {0};
        GOOD(MPI_File_read_at(common, bytes(i), in, INTS, MPI_INT, MPI_STATUS_IGNORE));
        for (int j = 0; j < INTS; j++) bad += in[j] != value(i + j);
    }
    CHECK(!bad, "%lld ints", (long long)bad);
}

static void check_next(void) {
    int got[8] = {0};
    for (int i = 0; i < PIECES * THREADS * size; i++) {
        int in[2] = {0};
        GOOD(MPI_File_read_at(common, bytes(2 * i), in, 2, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(in[0] == in[1] && in[0] > 0 && in[0] <= size, "record %d: %d %d", i, in[0], in[1]);
        if (in[0] > 0 && in[0] <= size) got[in[0]]++;
    }
    for (int r = 1; r <= size; r++) CHECK(got[r] == PIECES * THREADS, "%d records of rank %d", got[r], r - 1);
}

/* The child ends in either way, and leaves what is open to its parent; the thread of the lane is the parent's, too. */
static void test_fork(void) {
    for (int way = 0; way < 2; way++) {
        int out = 5 + way, in = 0, status = -1;
        MPI_Request r;
        GOOD(MPI_File_iwrite_at(common, bytes(rank), &out, 1, MPI_INT, &r));
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            if (way) execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
            _exit(3);
        }
        GOOD(MPI_Wait(&r, MPI_STATUS_IGNORE));
        CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3,
              "status %d", status);
        GOOD(MPI_File_iread_at(common, bytes(rank), &in, 1, MPI_INT, &r));
        GOOD(MPI_Wait(&r, MPI_STATUS_IGNORE));
        CHECK(in == out, "%d", in);
    }
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (level < MPI_THREAD_MULTIPLE) {
        if (rank == 0) printf("skipped: no MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        return 77;
    }
    begin_started("threads");
    for (int t = 0; t < THREADS; t++) MPI_Comm_dup(MPI_COMM_WORLD, &comm[t]);
    GOOD(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &common));
    run(write_places);
    CHECK(errors_seen == THREADS * 4, "%d errors", (int)errors_seen);
    meet();
    check_places();
    meet();
    GOOD(MPI_File_set_size(common, 0));
    run(write_next);
    meet();
    check_next();
    meet();
    run(use_own);
    test_fork();
    GOOD(MPI_File_close(&common));
    for (int t = 0; t < THREADS; t++) MPI_Comm_free(&comm[t]);
    return end();
}
