/* uring.c: a file of the operating system, with many cold reads in flight at once.
 *
 * What is in the page cache gains nothing from a ring, and writes lose by it: file systems let one write at a time
 * into a file and have the ring's worker threads queue for that. So this is the posix store, with a ring for what must
 * wait for a disk. A batch of reads is tried first by calls that return rather than wait; those that would have to wait
 * are sent to the ring together, and so is a single long one, so that the caller can do something else meanwhile. On
 * file systems in memory nothing waits, and there the depth is 1.
 *
 * Of a long read whose beginning is cached the try brings that, and the rest comes to the ring when the caller waits.
 * To send it at once would take a vector of its own for the rest; and nothing is lost where it matters, for who reads
 * window by window has told the system of the next one (sluice_store_expect), which is fetching it already.
 *
 * The ring is made for the first batch that needs it. If that fails (limits on descriptors or locked memory), or if the
 * ring stops taking requests, the requests are carried out one by one, and so are all later ones. A child process does
 * without the ring, which belongs to its parent.
 */
#include "store/store.h"
#include <errno.h>
#include <fcntl.h>

#ifdef SLUICE_HAVE_URING
#include <liburing.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

typedef struct uring {
    sluice_posix p;
    pthread_mutex_t lock; /* held from a submit that sends to the ring to its wait */
    enum { UNTRIED, GOOD, GIVEN_UP } state;
    struct io_uring ring;
    int flying; /* requests sent whose results have not come */
    pid_t owner;
} uring;

enum { LONG = 256 << 10 }; /* of a read this long the ring's part is not noticed */
#define IN_RING INT64_MIN  /* the result of a request while the ring has it */

/* Takes one result. There is no way back while the ring has our memory: whatever stops the waiting, go on. */
static void reap(uring *u) {
    struct io_uring_cqe *done;
    while (io_uring_wait_cqe(&u->ring, &done)) sched_yield();
    ((sluice_req *)io_uring_cqe_get_data(done))->result = done->res;
    io_uring_cqe_seen(&u->ring, done);
    u->flying--;
}

static bool make_ring(uring *u) {
    if (u->state == UNTRIED) u->state = io_uring_queue_init(SLUICE_STORE_DEPTH, &u->ring, 0) ? GIVEN_UP : GOOD;
    return u->state == GOOD;
}

static void give_up(uring *u) {
    while (u->flying) reap(u);
    io_uring_queue_exit(&u->ring);
    u->state = GIVEN_UP;
}

/* Sends all requests that wait for the ring. If it does not take them all, what it did not take is still IN_RING, and
 * the ring is gone. */
static void hand_over(uring *u, sluice_req *req, int n) {
    int waiting = 0, refused = 0;
    for (int i = 0; i < n; i++) {
        if (req[i].result != IN_RING) continue;
        struct io_uring_sqe *entry = io_uring_get_sqe(&u->ring); /* there is room: the queue is as long as a batch */
        io_uring_prep_readv(entry, u->p.fd, req[i].iov, (unsigned)req[i].niov, (uint64_t)req[i].off);
        io_uring_sqe_set_data(entry, &req[i]);
        waiting++;
    }
    while (waiting) {
        int taken = io_uring_submit(&u->ring);
        if (taken > 0) {
            waiting -= taken;
            u->flying += taken;
        } else if (taken == -EINTR) {
            continue;
        } else if ((taken == -EAGAIN || taken == -EBUSY) && ++refused < 100) {
            /* The system is short of memory for requests: let some finish. */
            if (u->flying)
                reap(u);
            else
                sched_yield();
        } else {
            give_up(u);
            return;
        }
    }
}

/* The requests that no ring took, one by one. */
static void call(uring *u, sluice_req *req, int n) {
    for (int i = 0; i < n; i++)
        if (req[i].result == IN_RING) sluice_posix_submit(&u->p.s, false, &req[i], 1);
}

static int uring_submit(sluice_store *s, bool write, sluice_req *req, int n) {
    uring *u = (uring *)s;
    if (write || !s->facts.background || (n == 1 && req->len < LONG)) return sluice_posix_submit(s, write, req, n);
    int cold = 0;
    bool may_ask = true; /* not all file systems can answer without waiting */
    for (int i = 0; i < n; i++) {
        ssize_t r = preadv2(u->p.fd, req[i].iov, req[i].niov, req[i].off, RWF_NOWAIT);
        may_ask &= r >= 0 || errno != EOPNOTSUPP;
        req[i].result = r < 0 ? IN_RING : r;
        cold += r < 0;
    }
    if (!cold) return 0;
    if ((cold == 1 && (n > 1 || !may_ask)) || getpid() != u->owner) {
        call(u, req, n);
        return 0;
    }
    pthread_mutex_lock(&u->lock);
    if (make_ring(u)) hand_over(u, req, n);
    if (u->flying) return 0; /* and keep the lock */
    pthread_mutex_unlock(&u->lock);
    call(u, req, n);
    return 0;
}

static int uring_wait(sluice_store *s, sluice_req *req, int n) {
    uring *u = (uring *)s;
    int i = 0;
    while (i < n && req[i].result != IN_RING) i++;
    if (i == n) return 0;
    while (u->flying) reap(u);
    pthread_mutex_unlock(&u->lock);
    return 0;
}

static int uring_close(sluice_store *s) {
    uring *u = (uring *)s;
    if (u->state == GOOD && getpid() == u->owner) io_uring_queue_exit(&u->ring);
    if (u->state == GOOD && getpid() != u->owner) close(u->ring.ring_fd); /* the ring's memory did not come along */
    pthread_mutex_destroy(&u->lock);
    return sluice_posix_close(s);
}

static const sluice_store_ops uring_ops = {.name = "io_uring",
                                           .close = uring_close,
                                           .submit = uring_submit,
                                           .wait = uring_wait,
                                           .size = sluice_posix_size,
                                           .resize = sluice_posix_resize,
                                           .sync = sluice_posix_sync,
                                           .lock = sluice_posix_lock,
                                           .fd = sluice_posix_fd};

/* Asks for a ring that cannot be, so that the answer costs nothing: EINVAL if there could be others. */
static bool allowed(void) {
    struct io_uring_params none = {0};
    return syscall(__NR_io_uring_setup, 0, &none) < 0 && errno == EINVAL;
}

static bool in_memory(int fd) {
    struct statfs fs;
    return !fstatfs(fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

int sluice_uring_make(sluice_store **out, int folder, const char *path, sluice_store_mode mode, sluice_reason *why) {
    if (!allowed()) return sluice_store_refuse(why, -ENOSYS, "open by io_uring", path, -1);
    uring *u = sluice_mem_alloc(1, sizeof *u);
    if (!u) return sluice_store_refuse(why, -ENOMEM, "open", path, -1);
    int err = sluice_posix_open(&u->p, &uring_ops, folder, path, mode, why);
    if (err) {
        sluice_mem_free(u);
        return err;
    }
    pthread_mutex_init(&u->lock, NULL);
    u->state = UNTRIED;
    u->flying = 0;
    u->owner = getpid();
    u->p.s.facts.background = !in_memory(u->p.fd);
    u->p.s.facts.depth = u->p.s.facts.background ? SLUICE_STORE_DEPTH : 1;
    *out = &u->p.s;
    return 0;
}

#else

int sluice_uring_make(sluice_store **out, int folder, const char *path, sluice_store_mode mode, sluice_reason *why) {
    (void)out, (void)folder, (void)mode;
    return sluice_store_refuse(why, -ENOSYS, "open by io_uring", path, -1);
}

#endif

int sluice_store_open_uring(sluice_store **out, const char *path, sluice_store_mode mode, sluice_reason *why) {
    return sluice_uring_make(out, AT_FDCWD, path, mode, why);
}
