/* ranks: 1 */
/* fork: a handle in a child process: it has none of the parent's threads and must not share the parent's locks.
 */
#include "array/array.h"
#include "store_common.h"
#include <poll.h>
#include <sys/wait.h>

/* Runs f in a child, which has five seconds; its status, or -1 if it was killed. */
static int in_child(int (*f)(void *), void *arg) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        alarm(5);
        _exit(f(arg));
    }
    CHECK(waitpid(child, &status, 0) == child, "wait");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum { N = 100000 };

/* Reads all in the background. */
static int read_behind(sluice_array *a) {
    static unsigned char buf[N];
    sluice_request *r;
    memset(buf, 0, sizeof buf);
    const sluice_part part = {.buf = buf};
    if (sluice_read_start(&r, a, &part, 1) || sluice_wait(r)) return 2;
    for (int i = 0; i < N; i++)
        if (buf[i] != i % 251) return 3;
    return 0;
}

static int child_closes(void *a) { return sluice_close(a) != 0; }
static int child_reads(void *a) {
    unsigned char byte[2] = {0};
    if (sluice_read(a, &(sluice_range){251 * 100 + 7, 2, 1}, byte)) return 4;
    return byte[0] == 7 && byte[1] == 8 ? read_behind(a) : 5;
}
static int child_does_all(void *a) {
    int status = child_reads(a);
    return status ? status : child_closes(a);
}

/* The handle has a thread, which stays behind. */
static void test_thread(void) {
    static unsigned char buf[N];
    sluice_array *a = NULL;
    const sluice_desc d = {.shape = {.ndims = 1, .dim = {N}, .elem = 1}};
    for (int i = 0; i < N; i++) buf[i] = (unsigned char)(i % 251);
    CHECK(sluice_create(&a, in_scratch("thread"), &d, NULL) == 0, "%s", sluice_errmsg());
    CHECK(sluice_write(a, NULL, buf) == 0 && read_behind(a) == 0, "%s", sluice_errmsg());
    CHECK(in_child(child_closes, a) == 0, "closing");
    CHECK(in_child(child_reads, a) == 0, "reading");
    CHECK(in_child(child_does_all, a) == 0, "reading and closing");
    CHECK(read_behind(a) == 0, "the parent goes on");
    CHECK(sluice_close(a) == 0, "%s", sluice_errmsg());
}

/* Locks what the parent has locked, and says so. */
typedef struct locker {
    sluice_store *s;
    int done;
} locker;
static int child_locks(const locker *l) {
    sluice_reason why;
    for (int i = 0; i < 2; i++) {
        if (sluice_store_lock(l->s, 10, 10, SLUICE_LOCK, &why)) return 1;
        if (write(l->done, "x", 1) != 1) return 2;
        if (sluice_store_lock(l->s, 10, 10, SLUICE_UNLOCK, &why)) return 3;
    }
    return sluice_store_close(l->s);
}

static void test_lock(kind k) {
    sluice_store *s = NULL;
    sluice_reason why = {0};
    int pipes[2], status = -1;
    if (open_kind(&s, k, in_scratch("lock"), &why) || pipe(pipes)) {
        CHECK(k == URING, "%s", why.text);
        return;
    }
    unlink(in_scratch("lock")); /* it need not have its name any more */
    CHECK(sluice_store_lock(s, 0, 20, SLUICE_LOCK, &why) == 0, "%s", why.text);
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        alarm(5);
        _exit(child_locks(&(locker){s, pipes[1]}));
    }
    struct pollfd ready = {pipes[0], POLLIN, 0};
    CHECK(poll(&ready, 1, 200) == 0, "%s: the child shares the lock", kind_name[k]);
    CHECK(sluice_store_lock(s, 0, 20, SLUICE_UNLOCK, &why) == 0, "%s", why.text);
    CHECK(poll(&ready, 1, 5000) == 1, "%s: the child gets the lock", kind_name[k]);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%s: status %x", kind_name[k], status);
    CHECK(sluice_store_lock(s, 0, 20, SLUICE_LOCK, &why) == 0 && sluice_store_lock(s, 0, 20, SLUICE_UNLOCK, &why) == 0,
          "after it");
    close(pipes[0]);
    close(pipes[1]);
    CHECK(sluice_store_close(s) == 0, "close");
}

int main(void) {
    make_scratch();
    int descriptors = open_descriptors();
    test_thread();
    test_lock(POSIX);
    test_lock(URING);
    CHECK(sluice_mem_live() == 0, "%" PRId64 " bytes leak", sluice_mem_live());
    CHECK(open_descriptors() == descriptors, "descriptors leak");
    remove_scratch();
    return failures ? 1 : 0;
}
