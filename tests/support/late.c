/* late.c: see late.h. */
#include "support/late.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GARBAGE = 0xFB };

typedef struct late {
    sluice_store s;
    int flying;
    bool write;
    sluice_req *req;
} late;

static void insist(bool good, const char *text) {
    if (good) return;
    fprintf(stderr, "late: %s\n", text);
    abort();
}

static int late_submit(sluice_store *s, bool write, sluice_req *req, int n) {
    late *l = (late *)s;
    insist(!l->flying, "something is under way already");
    insist(n > 0 && n <= s->facts.depth, "more than may be under way");
    for (int i = 0; i < n && !write; i++)
        for (int k = 0; k < req[i].niov; k++) memset(req[i].iov[k].iov_base, GARBAGE, req[i].iov[k].iov_len);
    l->flying = n;
    l->write = write;
    l->req = req;
    return 0;
}

static int late_wait(sluice_store *s, sluice_req *req, int n) {
    late *l = (late *)s;
    insist(n == l->flying && req == l->req, "this was not submitted");
    l->flying = 0;
    int err = s->inner->ops->submit(s->inner, l->write, req, n);
    return err ? err : s->inner->ops->wait(s->inner, req, n);
}

static int64_t late_size(sluice_store *s) { return s->inner->ops->size(s->inner); }
static int late_resize(sluice_store *s, int64_t size) { return s->inner->ops->resize(s->inner, size); }
static int late_sync(sluice_store *s) { return s->inner->ops->sync(s->inner); }
static int late_fd(sluice_store *s) { return s->inner->ops->fd ? s->inner->ops->fd(s->inner) : -ENOTSUP; }

static int late_lock(sluice_store *s, int64_t off, int64_t len, sluice_lock how) {
    return s->inner->ops->lock ? s->inner->ops->lock(s->inner, off, len, how) : -ENOTSUP;
}

static int late_close(sluice_store *s) {
    insist(!((late *)s)->flying, "closed while something is under way");
    int err = s->inner->ops->close(s->inner);
    sluice_store_free(s);
    return err;
}

static const sluice_store_ops late_ops = {.name = "late",
                                          .close = late_close,
                                          .submit = late_submit,
                                          .wait = late_wait,
                                          .size = late_size,
                                          .resize = late_resize,
                                          .sync = late_sync,
                                          .lock = late_lock,
                                          .fd = late_fd};

int late_open(sluice_store **out, sluice_store *inner, int depth) {
    late *l = sluice_mem_alloc(1, sizeof *l);
    if (!l || !sluice_store_init(&l->s, &late_ops, inner->name)) {
        sluice_mem_free(l);
        return -ENOMEM;
    }
    l->s.facts = inner->facts;
    l->s.facts.depth = depth;
    l->s.facts.background = true;
    l->s.inner = inner;
    l->flying = 0;
    *out = &l->s;
    return 0;
}
