/* xfer.c: all data goes through here: what a store does by halves is finished, whatever the store.
 *
 * Up to facts.depth requests are under way together, each in a slot that knows how far it has come in its vector. A
 * round aims a call at the next bytes of each slot, submits all, waits, and settles each result: forward by what was
 * moved, the same again, zeros behind the end of the file, or an error. Slots that are done take the next requests. An
 * error ends the walk after its round, so that everything that was started is counted and nothing is left in flight.
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

typedef struct slot {
    sluice_req *req;  /* its result is what has been moved so far */
    int piece;        /* place in its vector: this piece, */
    size_t skip;      /* this byte of it */
    int zeros, tries; /* calls in a row that found nothing, that were told to come again */
    struct iovec part;
} slot;

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

/* One round. *failed is the slot that the error belongs to. */
static int turn(sluice_store *s, bool write, slot *slots, int n, slot **failed) {
    sluice_req call[SLUICE_STORE_DEPTH];
    int err = 0, tries = 0;
    for (int i = 0; i < n; i++) {
        call[i] = aim(&slots[i]);
        *failed = &slots[i];
        if (!call[i].len) return SLUICE_E_ARGUMENT;
    }
    int started = s->ops->submit(s, write, call, n);
    if (!started) err = s->ops->wait(s, call, n);
    *failed = slots;
    if (err) return err;
    for (int i = 0; i < n; i++) {
        if (started) call[i].result = started;
        int e = settle(s, write, &slots[i], &call[i]);
        if (e && !err) {
            err = e;
            *failed = &slots[i];
        }
        if (slots[i].tries > tries) tries = slots[i].tries;
    }
    if (tries && !err) give_way(tries);
    return err;
}

int sluice_store_xfer(sluice_store *s, bool write, sluice_req *req, int n, int64_t *moved, sluice_reason *why) {
    slot slots[SLUICE_STORE_DEPTH], *failed = NULL;
    const char *name = write ? "write" : "read";
    int depth = s->facts.depth < SLUICE_STORE_DEPTH ? s->facts.depth : SLUICE_STORE_DEPTH, active = 0, err = 0;
    int64_t end, total = 0;
    if (moved) *moved = 0;
    for (int i = 0; i < n; i++) {
        if (req[i].off < 0 || req[i].len < 0)
            return sluice_store_refuse(why, SLUICE_E_ARGUMENT, name, s->name, req[i].off);
        if (!sluice_add(req[i].off, req[i].len, &end) || !sluice_add(total, req[i].len, &total))
            return sluice_store_refuse(why, SLUICE_E_OVERFLOW, name, s->name, req[i].off);
        req[i].result = 0;
    }
    for (int next = 0; !err;) {
        for (; active < depth && next < n; next++)
            if (req[next].len) slots[active++] = (slot){.req = &req[next]};
        if (!active) break;
        err = turn(s, write, slots, active, &failed);
        if (err) sluice_store_blame(why, err, name, s, failed->req->off + failed->req->result, 0);
        int left = 0;
        for (int i = 0; i < active; i++)
            if (slots[i].req->result < slots[i].req->len) slots[left++] = slots[i];
        active = left;
    }
    for (int i = 0; i < n && moved; i++) *moved += req[i].result;
    return err;
}

int sluice_store_read(sluice_store *s, int64_t off, void *buf, int64_t len, sluice_reason *why) {
    struct iovec v = {buf, (size_t)len};
    return sluice_store_xfer(s, false, &(sluice_req){off, len, &v, 1, 0}, 1, NULL, why);
}

int sluice_store_write(sluice_store *s, int64_t off, const void *buf, int64_t len, sluice_reason *why) {
    struct iovec v = {(void *)(uintptr_t)buf, (size_t)len};
    return sluice_store_xfer(s, true, &(sluice_req){off, len, &v, 1, 0}, 1, NULL, why);
}
