/* xfer.c: all data goes through here: what a store does by halves is finished, whatever the store.
 *
 * Up to facts.depth requests are under way together, each in a slot that knows how far it has come in its vector. A
 * round aims a call at the next bytes of each slot, submits all, waits, and settles each result: forward by what was
 * moved, the same again, zeros behind the end of the file, or an error. Slots that are done take the next requests. An
 * error ends the walk after its round, so that everything that was started is counted and nothing is left in flight.
 * Between the submission of the first round and the wait for it the caller may do something else.
 */
#include "store/store.h"
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

enum {
    CALL = 1 << 30,    /* bytes a call may move: the system stops just below 2 GiB */
    YIELDS = 64,       /* after EAGAIN: so often give way, then sleep a millisecond each time, */
    TRIES = 64 + 10000 /* and give up when that took ten seconds */
};

typedef sluice_xfer_slot slot;

/* The call that comes next for a slot: whole pieces of the vector as they stand; where it begins or ends inside a
 * piece, that piece alone. Its length is 0 if the vector is shorter than the request. */
static sluice_req aim(slot *t) {
    const sluice_req *r = t->req;
    sluice_req rest = {r->off + r->result, 0, r->iov + t->piece, r->niov - t->piece, 0};
    if (t->skip) {
        t->part = (struct iovec){(char *)rest.iov->iov_base + t->skip, rest.iov->iov_len - t->skip};
        rest.iov = &t->part;
        rest.niov = 1;
    }
    return sluice_store_front(&rest, sluice_min(r->len - r->result, CALL), &t->part);
}

/* Goes n bytes on, filling them with zeros if told to. */
static void advance(slot *t, int64_t n, bool zero) {
    t->req->result += n;
    while (n > 0) {
        const struct iovec *v = &t->req->iov[t->piece];
        int64_t step = sluice_min(n, (int64_t)(v->iov_len - t->skip));
        if (zero && step) memset((char *)v->iov_base + t->skip, 0, (size_t)step);
        n -= step;
        t->skip += (size_t)step;
        if (t->skip == v->iov_len) {
            t->piece++;
            t->skip = 0;
        }
    }
}

/* A read got less than it asked for: the end of the file, or not. */
static int fell_short(sluice_store *s, slot *t, bool nothing) {
    int64_t size = sluice_store_size(s, NULL), left = t->req->len - t->req->result;
    if (size < 0) return (int)size;
    if (t->req->off + t->req->result >= size) {
        int64_t have = 0;
        for (int i = t->piece; i < t->req->niov && have < left; i++)
            have += (int64_t)(t->req->iov[i].iov_len - (i == t->piece ? t->skip : 0));
        if (have < left) return SLUICE_E_ARGUMENT;
        advance(t, left, true);
        return 0;
    }
    return nothing && ++t->zeros > 1 ? -EIO : 0;
}

static int settle(sluice_store *s, bool write, slot *t, const sluice_req *call) {
    int64_t n = call->result;
    if (n == -EINTR) return 0;
    if (n == -EAGAIN) return ++t->tries > TRIES ? -EAGAIN : 0;
    if (n < 0) return (int)n;
    if (n > call->len) return -EIO;
    t->tries = 0;
    if (n) t->zeros = 0;
    advance(t, n, false);
    if (n == call->len) return 0;
    if (write) return n ? 0 : -EIO;
    return fell_short(s, t, !n);
}

static void give_way(int tries) {
    if (tries <= YIELDS)
        sched_yield();
    else
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* Aims and submits a round. An error here is that of the transfer. */
static void start(sluice_xfer *x) {
    for (; x->active < x->depth && x->next < x->n; x->next++)
        if (x->req[x->next].len) x->slot[x->active++] = (slot){.req = &x->req[x->next]};
    for (int i = 0; i < x->active && !x->error; i++) {
        x->call[i] = aim(&x->slot[i]);
        x->failed = x->slot[i].req;
        if (!x->call[i].len) x->error = SLUICE_E_ARGUMENT;
    }
    if (x->active && !x->error) x->started = x->store->ops->submit(x->store, x->write, x->call, x->active);
}

/* Waits for the round and settles it. */
static void settle_round(sluice_xfer *x) {
    int tries = 0, left = 0;
    x->failed = x->slot[0].req;
    if (!x->started) x->error = x->store->ops->wait(x->store, x->call, x->active);
    if (x->error) return;
    for (int i = 0; i < x->active; i++) {
        slot *t = &x->slot[i];
        if (x->started) x->call[i].result = x->started;
        int err = settle(x->store, x->write, t, &x->call[i]);
        if (err && !x->error) {
            x->error = err;
            x->failed = t->req;
        }
        if (t->tries > tries) tries = t->tries;
        if (t->req->result < t->req->len) x->slot[left++] = *t;
    }
    x->active = left;
    if (tries && !x->error) give_way(tries);
}

static const char *name_of(bool write) { return write ? "write" : "read"; }

/* Requests make sense. */
static int check(const sluice_store *s, bool write, const sluice_req *req, int n, sluice_reason *why) {
    int64_t end, total = 0;
    for (int i = 0; i < n; i++) {
        if (req[i].off < 0 || req[i].len < 0)
            return sluice_store_refuse(why, SLUICE_E_ARGUMENT, name_of(write), s->name, req[i].off);
        if (!sluice_add(req[i].off, req[i].len, &end) || !sluice_add(total, req[i].len, &total))
            return sluice_store_refuse(why, SLUICE_E_OVERFLOW, name_of(write), s->name, req[i].off);
    }
    return 0;
}

int sluice_store_begin(sluice_xfer *x, sluice_store *s, bool write, sluice_req *req, int n, sluice_reason *why) {
    x->n = x->next = x->active = 0;
    int err = check(s, write, req, n, why);
    if (err) return err;
    for (int i = 0; i < n; i++) req[i].result = 0;
    x->store = s;
    x->write = write;
    x->req = req;
    x->n = n;
    x->depth = s->facts.depth < SLUICE_STORE_DEPTH ? s->facts.depth : SLUICE_STORE_DEPTH;
    x->error = 0;
    start(x);
    return 0;
}

int sluice_store_end(sluice_xfer *x, int64_t *moved, sluice_reason *why) {
    while (x->active && !x->error) {
        settle_round(x);
        if (!x->error) start(x);
    }
    int64_t sum = 0;
    for (int i = 0; i < x->n; i++) sum += x->req[i].result;
    if (moved) *moved = sum;
    if (x->n && x->error)
        sluice_store_blame(why, x->error, name_of(x->write), x->store, x->failed->off + x->failed->result, 0);
    return x->n ? x->error : 0;
}

int sluice_store_xfer(sluice_store *s, bool write, sluice_req *req, int n, int64_t *moved, sluice_reason *why) {
    sluice_xfer x;
    if (moved) *moved = 0;
    int err = sluice_store_begin(&x, s, write, req, n, why);
    return err ? err : sluice_store_end(&x, moved, why);
}

int sluice_store_read(sluice_store *s, int64_t off, void *buf, int64_t len, sluice_reason *why) {
    struct iovec v = {buf, (size_t)len};
    return sluice_store_xfer(s, false, &(sluice_req){off, len, &v, 1, 0}, 1, NULL, why);
}

int sluice_store_write(sluice_store *s, int64_t off, const void *buf, int64_t len, sluice_reason *why) {
    struct iovec v = {(void *)(uintptr_t)buf, (size_t)len};
    return sluice_store_xfer(s, true, &(sluice_req){off, len, &v, 1, 0}, 1, NULL, why);
}
