/* store.c: what all stores have in common: a name for messages, closing, and the calls that move no data. */
#include "store/store.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The end of a long path says more than its start, and the reason must fit behind it. */
sluice_label sluice_store_label(const char *path) {
    enum { KEEP = 80 }; /* behind dots */
    sluice_label l;
    size_t len = strlen(path);
    const char *tail = path + (len < sizeof l.text ? 0 : len - KEEP);
    while (tail > path && ((unsigned char)*tail & 0xC0) == 0x80) tail++; /* not from the middle of a character */
    snprintf(l.text, sizeof l.text, "%s%s", tail > path ? "..." : "", tail);
    for (char *c = l.text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F) *c = '?';
    return l;
}

bool sluice_store_init(sluice_store *s, const sluice_store_ops *ops, const char *path) {
    *s = (sluice_store){.ops = ops};
    return sluice_store_call(s, path);
}

bool sluice_store_call(sluice_store *s, const char *path) {
    const sluice_label label = sluice_store_label(path);
    char *name = sluice_mem_resize(s->name, strlen(label.text) + 1, 1);
    if (!name) return false;
    s->name = strcpy(name, label.text);
    return true;
}

void sluice_store_free(sluice_store *s) {
    sluice_mem_free(s->name);
    sluice_mem_free(s);
}

int sluice_store_refuse(sluice_reason *why, int error, const char *call, const char *path, int64_t off) {
    const sluice_label name = sluice_store_label(path);
    if (off < 0) return sluice_refuse(why, error, -1, "%s %s: %s", call, name.text, sluice_strerror(error));
    return sluice_refuse(why, error, off, "%s %s at byte %lld: %s", call, name.text, (long long)off,
                         sluice_strerror(error));
}

int sluice_store_blame(sluice_reason *why, int error, const char *call, sluice_store *s, int64_t off, int64_t len) {
    int64_t at = off, room;
    sluice_store *holder = sluice_store_holder(s, &at, &room), *knows = holder;
    bool whole = len <= room;
    while (knows && !knows->ops->blame) knows = knows->inner;
    if (whole && knows) return knows->ops->blame(knows, why, error, call, at);
    return sluice_store_refuse(why, error, call, whole ? holder->name : s->name, whole ? at : off);
}

sluice_req sluice_store_front(const sluice_req *req, int64_t most, struct iovec *part) {
    const struct iovec *v = req->iov;
    int left = req->niov, n = 0;
    int64_t len = 0;
    for (; left && !v->iov_len; left--) v++;
    while (n < left && n < IOV_MAX && v[n].iov_len <= (uint64_t)(most - len)) len += (int64_t)v[n++].iov_len;
    if (left && !n) {
        *part = (struct iovec){v->iov_base, (size_t)most};
        return (sluice_req){req->off, most, part, 1, 0};
    }
    return (sluice_req){req->off, len, v, n, 0};
}

int sluice_store_open(sluice_store **out, const char *path, sluice_store_mode mode, sluice_reason *why) {
    return sluice_store_open_at(out, AT_FDCWD, path, mode, why);
}

int sluice_store_open_at(sluice_store **out, int folder, const char *name, sluice_store_mode mode, sluice_reason *why) {
    int err = sluice_uring_make(out, folder, name, mode, why);
    return err == -ENOSYS ? sluice_posix_make(out, folder, name, mode, why) : err;
}

sluice_store *sluice_store_holder(sluice_store *s, int64_t *off, int64_t *room) {
    sluice_store *join = s, *member = NULL;
    while (join->inner && !join->ops->holder) join = join->inner;
    if (join->ops->holder) member = join->ops->holder(join, off, room);
    if (member) return member;
    *room = INT64_MAX - *off;
    return s;
}

int sluice_store_close(sluice_store *s) {
    int err = s ? s->ops->close(s) : 0;
    return err == -EINTR ? 0 : err; /* the descriptor is gone, and nothing is known to be lost */
}

int64_t sluice_store_size(sluice_store *s, sluice_reason *why) {
    int64_t size;
    do size = s->ops->size(s);
    while (size == -EINTR);
    return size >= 0 ? size : sluice_store_refuse(why, (int)size, "size of", s->name, -1);
}

int sluice_store_resize(sluice_store *s, int64_t size, sluice_reason *why) {
    int err;
    do err = size < 0 ? SLUICE_E_ARGUMENT : s->ops->resize(s, size);
    while (err == -EINTR);
    return err ? sluice_store_refuse(why, err, "resize", s->name, size) : 0;
}

/* The store that lost something, of a join the member. */
static const sluice_store *loser(sluice_store *s) {
    for (int64_t off = 0, at = 0, room; !at; off += room) {
        at = off;
        const sluice_store *holder = sluice_store_holder(s, &at, &room);
        if (!at && holder->lost) return holder;
    }
    return s;
}

int sluice_store_sync(sluice_store *s, sluice_reason *why) {
    int err = s->lost;
    while (!err && (err = s->ops->sync(s)) == -EINTR) err = 0;
    if (!err) return 0;
    s->lost = err;
    return sluice_store_refuse(why, err, "sync", loser(s)->name, -1);
}

int sluice_store_lock(sluice_store *s, int64_t off, int64_t len, sluice_lock how, sluice_reason *why) {
    const char *call = how == SLUICE_UNLOCK ? "unlock" : "lock";
    int64_t end;
    int err = -ENOTSUP;
    if (off < 0 || len < 0 || !sluice_add(off, len, &end))
        return sluice_store_refuse(why, SLUICE_E_ARGUMENT, call, s->name, off);
    if (!len) return 0;
    while (s->ops->lock && (err = s->ops->lock(s, off, len, how)) == -EINTR) {
    }
    /* Others would wait for ever for a lock that could not be given back: once more, though the failure counts. */
    if (err && how == SLUICE_UNLOCK && s->ops->lock) s->ops->lock(s, off, len, SLUICE_UNLOCK);
    return err ? sluice_store_blame(why, err, call, s, off, len) : 0;
}

void sluice_store_expect(sluice_store *s, int64_t off, int64_t len) {
    for (int64_t n; len > 0; off += n, len -= n) {
        int64_t at = off, room;
        sluice_store *holder = sluice_store_holder(s, &at, &room);
        n = sluice_min(len, room);
        while (!holder->ops->fd && holder->inner) holder = holder->inner;
        int fd = holder->ops->fd ? holder->ops->fd(holder) : -1;
        if (fd >= 0) posix_fadvise(fd, at, n, POSIX_FADV_WILLNEED);
    }
}
