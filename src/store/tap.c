/* tap.c: a shim that reports each call of a store after it was done, with its result. */
#include "store/store.h"
#include <errno.h>

typedef struct tap {
    sluice_store s;
    sluice_tap *report;
    void *arg;
} tap;

static int64_t tell(sluice_store *s, const char *call, int64_t off, int64_t len, int64_t result) {
    tap *t = (tap *)s;
    t->report(t->arg, call, off, len, result);
    return result;
}

/* Done at once, since wait does not say which way the bytes went. */
static int tap_submit(sluice_store *s, bool write, sluice_req *req, int n) {
    sluice_store *inner = s->inner;
    int err = inner->ops->submit(inner, write, req, n);
    if (!err) err = inner->ops->wait(inner, req, n);
    for (int i = 0; i < n; i++) tell(s, write ? "write" : "read", req[i].off, req[i].len, err ? err : req[i].result);
    return err;
}

static int tap_wait(sluice_store *s, sluice_req *req, int n) {
    (void)s, (void)req, (void)n;
    return 0;
}

static int64_t tap_size(sluice_store *s) { return tell(s, "size", 0, 0, s->inner->ops->size(s->inner)); }

static int tap_resize(sluice_store *s, int64_t size) {
    return (int)tell(s, "resize", size, 0, s->inner->ops->resize(s->inner, size));
}

static int tap_sync(sluice_store *s) { return (int)tell(s, "sync", 0, 0, s->inner->ops->sync(s->inner)); }

static int tap_lock(sluice_store *s, int64_t off, int64_t len, sluice_lock how) {
    static const char *const name[] = {"unlock", "lock", "share", "test"};
    if (!s->inner->ops->lock) return -ENOTSUP;
    return (int)tell(s, name[how], off, len, s->inner->ops->lock(s->inner, off, len, how));
}

static int tap_fd(sluice_store *s) { return s->inner->ops->fd ? s->inner->ops->fd(s->inner) : -ENOTSUP; }

static int tap_close(sluice_store *s) {
    int err = (int)tell(s, "close", 0, 0, s->inner->ops->close(s->inner));
    sluice_store_free(s);
    return err;
}

static const sluice_store_ops tap_ops = {.name = "tap",
                                         .close = tap_close,
                                         .submit = tap_submit,
                                         .wait = tap_wait,
                                         .size = tap_size,
                                         .resize = tap_resize,
                                         .sync = tap_sync,
                                         .lock = tap_lock,
                                         .fd = tap_fd};

int sluice_store_open_tap(sluice_store **out, sluice_store *inner, sluice_tap *report, void *arg) {
    tap *t = sluice_mem_alloc(1, sizeof *t);
    if (!t || !sluice_store_init(&t->s, &tap_ops, inner->name)) {
        sluice_mem_free(t);
        return -ENOMEM;
    }
    t->s.facts = inner->facts;
    t->s.facts.background = false; /* done when submit returns */
    t->s.inner = inner;
    t->report = report;
    t->arg = arg;
    *out = &t->s;
    return 0;
}
