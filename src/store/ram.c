/* ram.c: bytes in memory, and the template for a new store.
 *
 * A store is a struct that begins with a sluice_store, a table of functions over it, and an open that fills in both.
 * Its functions may be as lazy as the system's: they may move less than they are asked for, as the end of the bytes
 * does here, and report an error in a request's result; xfer.c does the rest. This one moves the bytes at once in
 * submit, so that there is nothing to wait for.
 *
 * Several threads may be moving bytes; one that must enlarge the memory, and so may move it, keeps the others out.
 */
#include "store/store.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

typedef struct ram {
    sluice_store s;
    pthread_rwlock_t lock;
    unsigned char *byte;
    int64_t size, cap; /* bytes that there are; that there is memory for */
} ram;

static int resize_locked(ram *r, int64_t size, int64_t cap) {
    if (cap != r->cap) {
        unsigned char *byte = sluice_mem_resize(r->byte, (size_t)cap, 1);
        if (!byte) return -ENOMEM;
        r->byte = byte;
        r->cap = cap;
    }
    if (size > r->size) memset(r->byte + r->size, 0, (size_t)(size - r->size));
    r->size = size;
    return 0;
}

static int ram_resize(sluice_store *s, int64_t size) {
    ram *r = (ram *)s;
    pthread_rwlock_wrlock(&r->lock);
    int err = resize_locked(r, size, size);
    pthread_rwlock_unlock(&r->lock);
    return err;
}

static int64_t ram_size(sluice_store *s) {
    ram *r = (ram *)s;
    pthread_rwlock_rdlock(&r->lock);
    int64_t size = r->size;
    pthread_rwlock_unlock(&r->lock);
    return size;
}

/* Makes room for a write up to end. Twice the memory each time, so that appending is not quadratic. */
static int reach(ram *r, int64_t end) {
    if (ram_size(&r->s) >= end) return 0;
    pthread_rwlock_wrlock(&r->lock);
    int64_t twice = r->cap <= INT64_MAX / 2 ? 2 * r->cap : end;
    int err = end > r->size ? resize_locked(r, end, end > r->cap ? sluice_max(end, twice) : r->cap) : 0;
    pthread_rwlock_unlock(&r->lock);
    return err;
}

static int64_t move(ram *r, bool write, const sluice_req *req) {
    int64_t at = req->off, end = req->off + req->len;
    int err = write ? reach(r, end) : 0;
    if (err) return err;
    pthread_rwlock_rdlock(&r->lock);
    end = sluice_min(end, r->size);
    for (int i = 0; i < req->niov && at < end; i++) {
        int64_t n = sluice_min((int64_t)req->iov[i].iov_len, end - at);
        if (n && write) memcpy(r->byte + at, req->iov[i].iov_base, (size_t)n);
        if (n && !write) memcpy(req->iov[i].iov_base, r->byte + at, (size_t)n);
        at += n;
    }
    pthread_rwlock_unlock(&r->lock);
    return at - req->off;
}

static int ram_submit(sluice_store *s, bool write, sluice_req *req, int n) {
    for (int i = 0; i < n; i++) req[i].result = move((ram *)s, write, &req[i]);
    return 0;
}

static int ram_wait(sluice_store *s, sluice_req *req, int n) {
    (void)s, (void)req, (void)n;
    return 0;
}

/* Nothing outlives the handle. */
static int ram_sync(sluice_store *s) {
    (void)s;
    return 0;
}

/* There are no other handles. */
static int ram_lock(sluice_store *s, int64_t off, int64_t len, sluice_lock how) {
    (void)s, (void)off, (void)len, (void)how;
    return 0;
}

static int ram_close(sluice_store *s) {
    ram *r = (ram *)s;
    pthread_rwlock_destroy(&r->lock);
    sluice_mem_free(r->byte);
    sluice_store_free(s);
    return 0;
}

static const sluice_store_ops ram_ops = {.name = "ram",
                                         .close = ram_close,
                                         .submit = ram_submit,
                                         .wait = ram_wait,
                                         .size = ram_size,
                                         .resize = ram_resize,
                                         .sync = ram_sync,
                                         .lock = ram_lock};

static sluice_store_facts measured = {.align = 64, .block = 4096, .depth = 1, .call = 5e-8, .byte = 1e-10};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void measure(void) {
    ram r = {.s = {.ops = &ram_ops, .facts = measured}, .lock = PTHREAD_RWLOCK_INITIALIZER};
    sluice_measure(&r.s);
    measured = r.s.facts;
    sluice_mem_free(r.byte);
}

int sluice_store_open_ram(sluice_store **out, int64_t size, sluice_reason *why) {
    static const char name[] = "(memory)";
    ram *r = sluice_mem_alloc(1, sizeof *r);
    if (!r || !sluice_store_init(&r->s, &ram_ops, name)) {
        sluice_mem_free(r);
        return sluice_store_refuse(why, -ENOMEM, "create", name, -1);
    }
    pthread_once(&once, measure);
    r->s.facts = measured;
    pthread_rwlock_init(&r->lock, NULL);
    r->byte = NULL;
    r->size = r->cap = 0;
    int err = sluice_store_resize(&r->s, size, why);
    if (err)
        ram_close(&r->s);
    else
        *out = &r->s;
    return err;
}
