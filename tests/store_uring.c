/* ranks: 1 */
/* store_uring: the ring misbehaves: it cannot be made, takes nothing for a while, takes a part, takes nothing more, and
 * waiting for it is interrupted. Reads are right all the same, nothing stays in flight, and nothing leaks.
 *
 * The functions of liburing that the store calls are replaced here, and call the real ones; so is preadv2, which finds
 * nothing in the cache. */
#ifndef SLUICE_HAVE_URING

int main(void) { return 77; }

#else
#include "store_common.h"
#include <dlfcn.h>
#include <liburing.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { ENDLESS = 1000000 };
static int init_error;                /* what making a ring returns, if not 0 */
static int submit_error, submit_from, /* what submitting returns, from the n-th time on, */
    submit_times;                     /* so often */
static int wait_error, wait_times;
static int part; /* so many requests are taken the first time, if not 0 */
static int rings, submits;

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags) {
    int (*real)(unsigned, struct io_uring *, unsigned) =
        (int (*)(unsigned, struct io_uring *, unsigned))(uintptr_t)dlsym(RTLD_NEXT, "io_uring_queue_init");
    rings++;
    return init_error ? init_error : real(entries, ring, flags);
}

int io_uring_submit(struct io_uring *ring) {
    int (*real)(struct io_uring *) = (int (*)(struct io_uring *))(uintptr_t)dlsym(RTLD_NEXT, "io_uring_submit");
    submits++;
    if (submits >= submit_from && submit_times > 0) {
        submit_times--;
        return submit_error;
    }
    if (!part) return real(ring);
    ring->sq.sqe_head = ring->sq.sqe_tail;
    io_uring_smp_store_release(ring->sq.ktail, ring->sq.sqe_tail);
    int taken = (int)syscall(__NR_io_uring_enter, ring->ring_fd, part, 0, 0, NULL, 0);
    part = 0;
    return taken;
}

int __io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned submit, unsigned wait,
                       sigset_t *mask) {
    int (*real)(struct io_uring *, struct io_uring_cqe **, unsigned, unsigned, sigset_t *) =
        (int (*)(struct io_uring *, struct io_uring_cqe **, unsigned, unsigned, sigset_t *))(uintptr_t)dlsym(
            RTLD_NEXT, "__io_uring_get_cqe");
    if (wait_times > 0) {
        wait_times--;
        return wait_error;
    }
    return real(ring, cqe, submit, wait, mask);
}

/* Whatever is cached, nothing is there at once: every request goes to the ring. */
ssize_t preadv2(int fd, const struct iovec *iov, int n, off_t off, int flags) {
    (void)fd, (void)iov, (void)n, (void)off, (void)flags;
    errno = EAGAIN;
    return -1;
}

enum { N = 64, APART = 1 << 18, LEN = 600 };

/* One batch, cold if the system lets go of its pages: then there is something to wait for. */
static void read_batch(sluice_store *s, const char *name) {
    static unsigned char buf[N][LEN];
    sluice_req req[N];
    struct iovec v[N][2];
    sluice_reason why = {0};
    int64_t moved = 0;
    make_cold(s);
    memset(buf, 0, sizeof buf);
    for (int i = 0; i < N; i++) {
        v[i][0] = (struct iovec){buf[i], 1};
        v[i][1] = (struct iovec){buf[i] + 1, LEN - 1};
        req[i] = (sluice_req){(int64_t)i * APART, LEN, v[i], 2, 0};
    }
    CHECK(sluice_store_xfer(s, false, req, N, &moved, &why) == 0, "%s: %s", name, why.text);
    CHECK(moved == N * LEN, "%s: %" PRId64, name, moved);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < LEN; k++)
            if (buf[i][k] != i + 1) {
                CHECK(false, "%s: request %d is wrong", name, i);
                return;
            }
}

int main(void) {
    static const struct {
        const char *name;
        int init, submit, from, times, wait, waits, part;
        int rings, submits; /* expected in two batches */
    } cases[] = {
        {"good", 0, 0, 0, 0, 0, 0, 0, 1, 2},
        {"no ring", -ENOMEM, 0, 0, 0, 0, 0, 0, 1, 0},
        {"interrupted", 0, -EINTR, 1, 3, 0, 0, 0, 1, 5},
        {"short of memory", 0, -EAGAIN, 1, 5, 0, 0, 0, 1, 7},
        {"busy", 0, -EBUSY, 2, 1, 0, 0, 0, 1, 3},
        {"takes nothing", 0, 0, 1, ENDLESS, 0, 0, 0, 1, 1},
        {"fails", 0, -ENXIO, 1, ENDLESS, 0, 0, 0, 1, 1},
        {"fails later", 0, -ENXIO, 2, ENDLESS, 0, 0, 0, 1, 2},
        {"short of memory for ever", 0, -EAGAIN, 1, ENDLESS, 0, 0, 0, 1, 100},
        {"takes a part", 0, 0, 0, 0, 0, 0, 5, 1, 3},
        {"takes a part, then waits", 0, -EAGAIN, 2, 7, 0, 0, 5, 1, 10},
        {"takes a part, then fails", 0, -ENXIO, 2, ENDLESS, 0, 0, 5, 1, 2},
        {"takes a part, then nothing for ever", 0, -EBUSY, 2, ENDLESS, 0, 0, 5, 1, 101},
        {"waiting is interrupted", 0, 0, 0, 0, -EINTR, 5, 0, 1, 2},
        {"waiting fails for a while", 0, 0, 0, 0, -EAGAIN, 50, 0, 1, 2},
    };
    sluice_store *s = NULL;
    sluice_reason why = {0};
    make_scratch();
    int err = sluice_store_open_uring(&s, in_scratch("ring"), SLUICE_STORE_REPLACE, &why);
    for (int i = 0; i < N && !err; i++) {
        unsigned char mark[LEN];
        memset(mark, i + 1, sizeof mark);
        err = sluice_store_write(s, (int64_t)i * APART, mark, LEN, &why);
    }
    if (!err) read_batch(s, "first");
    sluice_store_close(s);
    if (err || !submits) {
        printf("no ring: %s\n", why.text);
        remove_scratch();
        return err && err != -ENOSYS ? 1 : 77;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int descriptors = open_descriptors();
        CHECK(sluice_store_open_uring(&s, in_scratch("ring"), SLUICE_STORE_READ, &why) == 0, "%s", why.text);
        init_error = cases[i].init;
        submit_error = cases[i].submit;
        submit_from = cases[i].from;
        submit_times = cases[i].times;
        wait_error = cases[i].wait;
        wait_times = cases[i].waits;
        part = cases[i].part;
        rings = submits = 0;
        read_batch(s, cases[i].name);
        read_batch(s, cases[i].name);
        CHECK(rings == cases[i].rings, "%s: %d rings", cases[i].name, rings);
        CHECK(submits == cases[i].submits, "%s: %d submits", cases[i].name, submits);
        /* A result that is there already is not waited for: try until some are not. */
        for (int k = 0; k < 100 && wait_times; k++) read_batch(s, cases[i].name);
        if (wait_times) printf("%s: every result came at once\n", cases[i].name);
        CHECK(sluice_store_close(s) == 0, "%s: close", cases[i].name);
        CHECK(open_descriptors() == descriptors, "%s: descriptors leak", cases[i].name);
    }
    remove_scratch();
    return verdict();
}
#endif
