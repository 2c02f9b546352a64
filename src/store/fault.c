/* fault.c: a shim that makes one call of a store misbehave, so that a test can walk every path behind a failure.
 *
 * A batch without a fault in it goes on as a batch; one with a fault goes on request by request. Either way it is
 * finished in submit, so that nothing must be remembered until wait and threads do not meet.
 */
#include "store/store.h"
#include <errno.h>
#include <stdatomic.h>

typedef struct fault {
    sluice_store s;
    _Atomic int64_t calls, at; /* so far; the one that misbehaves, counted from the start; 0 = none */
    sluice_fault_kind kind;
    int error;
} fault;

void sluice_fault_set(sluice_store *s, int64_t at, sluice_fault_kind kind, int error) {
    fault *f = (fault *)s;
    f->at = 0;
    f->kind = kind;
    f->error = error;
    f->at = at > 0 ? f->calls + at : 0;
}

int64_t sluice_fault_calls(const sluice_store *s) { return ((const fault *)s)->calls; }

/* For calls that move no data: counts, and returns what to fail with, or 0. */
static int strike(fault *f) {
    if (++f->calls != f->at) return 0;
    return f->kind == SLUICE_FAULT_ERROR ? -f->error : f->kind == SLUICE_FAULT_EINTR ? -EINTR : 0;
}

static int forward(sluice_store *s, bool write, sluice_req *req, int n) {
    int err = s->ops->submit(s, write, req, n);
    return err ? err : s->ops->wait(s, req, n);
}

static int64_t misbehave(fault *f, bool write, const sluice_req *req) {
    switch (f->kind) {
    case SLUICE_FAULT_ERROR: return -f->error;
    case SLUICE_FAULT_EINTR: return -EINTR;
    case SLUICE_FAULT_ZERO: return 0;
    case SLUICE_FAULT_SHORT: break;
    }
    struct iovec part;
    sluice_req half = sluice_store_front(req, sluice_max(req->len / 2, 1), &part);
    int err = forward(f->s.inner, write, &half, 1);
    return err ? err : half.result;
}

static int fault_submit(sluice_store *s, bool write, sluice_req *req, int n) {
    fault *f = (fault *)s;
    int64_t first = atomic_fetch_add(&f->calls, n) + 1, at = f->at;
    if (at < first || at >= first + n) return forward(s->inner, write, req, n);
    for (int i = 0; i < n; i++) {
        int err = 0;
        if (first + i == at)
            req[i].result = misbehave(f, write, &req[i]);
        else
            err = forward(s->inner, write, &req[i], 1);
        if (err) req[i].result = err;
    }
    return 0;
}

static int fault_wait(sluice_store *s, sluice_req *req, int n) {
    (void)s, (void)req, (void)n;
    return 0;
}

static int64_t fault_size(sluice_store *s) {
    int err = strike((fault *)s);
    return err ? err : s->inner->ops->size(s->inner);
}

static int fault_resize(sluice_store *s, int64_t size) {
    int err = strike((fault *)s);
    return err ? err : s->inner->ops->resize(s->inner, size);
}

static int fault_sync(sluice_store *s) {
    int err = strike((fault *)s);
    return err ? err : s->inner->ops->sync(s->inner);
}

static int fault_lock(sluice_store *s, int64_t off, int64_t len, sluice_lock how) {
    if (!s->inner->ops->lock) return -ENOTSUP;
    int err = strike((fault *)s);
    return err ? err : s->inner->ops->lock(s->inner, off, len, how);
}

static int fault_fd(sluice_store *s) { return s->inner->ops->fd ? s->inner->ops->fd(s->inner) : -ENOTSUP; }

static int fault_close(sluice_store *s) {
    int err = strike((fault *)s), inner = s->inner->ops->close(s->inner);
    sluice_store_free(s);
    return err ? err : inner;
}

static const sluice_store_ops fault_ops = {.name = "fault",
                                           .close = fault_close,
                                           .submit = fault_submit,
                                           .wait = fault_wait,
                                           .size = fault_size,
                                           .resize = fault_resize,
                                           .sync = fault_sync,
                                           .lock = fault_lock,
                                           .fd = fault_fd};

int sluice_store_open_fault(sluice_store **out, sluice_store *inner) {
    fault *f = sluice_mem_alloc(1, sizeof *f);
    if (!f || !sluice_store_init(&f->s, &fault_ops, inner->name)) {
        sluice_mem_free(f);
        return -ENOMEM;
    }
    f->s.facts = inner->facts;
    f->s.facts.background = false; /* done when submit returns */
    f->s.inner = inner;
    f->calls = f->at = 0;
    *out = &f->s;
    return 0;
}
