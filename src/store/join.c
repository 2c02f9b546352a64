/* join.c: several stores as one, such as the subfiles of a container.
 *
 * Each member has a room of the joined space, which is longer than its bytes as a rule:
 *
 *     base[0]         base[1]                   base[2]         end
 *     |member 0       |member 1                 |member 2       |
 *     [bytes|  zeros  [bytes             |zeros [bytes|  zeros  )
 *
 * A request is cut where a room ends; xfer.c goes on behind it. The zeros are in no file. A read finds them where its
 * member falls short, as it does behind the end of any file. A write stops at the last byte of the member, so that it
 * never makes a file longer, and what goes on from there is said to be moved and dropped: nobody names those bytes, and
 * who moves gaps along writes the zeros that it has read.
 *
 * What must not be dropped is a byte that someone named. So the end of a member is the furthest that was ever seen, and
 * it is asked for when the join is made and when a write would pass it. To a file that someone else cuts short the
 * bytes are written where they belong, as without a join, and one that has grown meanwhile gets its new bytes.
 *
 * A batch is sorted by members. Each gets its requests in one submit, and all of them have theirs before the first is
 * waited for. That is done in submit, since wait would have to remember what was sent where. Members that lock
 * themselves until then (a ring) are entered in ascending order by all threads, which therefore never wait in a circle;
 * for the same reason ranges are locked in ascending order.
 */
#include "store/store.h"
#include <errno.h>
#include <string.h>

typedef struct member {
    sluice_store *s;
    int64_t base;
    _Atomic int64_t size; /* the largest that was seen */
} member;

typedef struct join {
    sluice_store s;
    int64_t end;
    int locks; /* 0, or why the ranges of some member cannot be locked */
    int n;
    member member[];
} join;

/* The member in whose room the byte lies, below the end. A room without bytes is never the last that starts there. */
static int find(const join *j, int64_t off) {
    int lo = 0, hi = j->n;
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        if (j->member[mid].base <= off)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static int64_t room_end(const join *j, int i) { return i + 1 < j->n ? j->member[i + 1].base : j->end; }

/* ---- Requests ---- */

/* Where the bytes of a member end, for a write up to hi; or negative. */
static int64_t reach(member *m, int64_t hi) {
    int64_t known = m->size;
    if (hi <= known) return known;
    int64_t size = sluice_store_size(m->s, NULL);
    if (size > known) m->size = size;
    return size < 0 ? size : sluice_max(size, known);
}

/* What goes to which member, sorted by members. */
typedef struct batch {
    int n;
    sluice_req call[SLUICE_STORE_DEPTH];
    struct {
        int to, of; /* member, request */
    } way[SLUICE_STORE_DEPTH];
    struct iovec part[SLUICE_STORE_DEPTH]; /* of each request, in the order of those */
} batch;

static void insert(batch *b, sluice_req call, int to, int of) {
    int k = b->n++;
    for (; k && b->way[k - 1].to > to; k--) {
        b->way[k] = b->way[k - 1];
        b->call[k] = b->call[k - 1];
    }
    b->way[k].to = to;
    b->way[k].of = of;
    b->call[k] = call;
}

/* Puts what one member has of request i, from its first byte on, into the batch; or returns the result at once. */
static int64_t aim(join *j, bool write, const sluice_req *req, int i, batch *b) {
    if (req->off >= j->end) return write ? -EFBIG : 0;
    int k = find(j, req->off);
    member *m = &j->member[k];
    int64_t most = sluice_min(req->len, room_end(j, k) - req->off), at = req->off - m->base;
    if (write) {
        int64_t size = reach(m, at + most);
        if (size < 0) return size;
        if (at >= size) return most;
        most = sluice_min(most, size - at);
    }
    sluice_req call = most < req->len ? sluice_store_front(req, most, &b->part[i]) : *req;
    call.off = at;
    insert(b, call, k, i);
    return 0;
}

static void all_results(sluice_req *req, int n, int result) {
    for (int i = 0; i < n; i++) req[i].result = result;
}

/* Submits the whole batch, then waits for it. */
static void carry_out(join *j, bool write, batch *b) {
    struct group {
        sluice_store *s;
        sluice_req *call;
        int n;
    } group[SLUICE_STORE_DEPTH];
    int groups = 0;
    for (int k = 0; k < b->n; k++) {
        if (!k || b->way[k].to != b->way[k - 1].to)
            group[groups++] = (struct group){j->member[b->way[k].to].s, &b->call[k], 0};
        group[groups - 1].n++;
    }
    int flying = 0;
    for (struct group *g = group; g < group + groups; g++) {
        int err = g->s->ops->submit(g->s, write, g->call, g->n);
        if (err)
            all_results(g->call, g->n, err);
        else
            group[flying++] = *g;
    }
    for (struct group *g = group; g < group + flying; g++) {
        int err = g->s->ops->wait(g->s, g->call, g->n);
        if (err) all_results(g->call, g->n, err);
    }
}

/* Zeros instead of all but the first n bytes. */
static void clear_behind(const sluice_req *req, int64_t n) {
    for (int i = 0; i < req->niov; i++) {
        int64_t len = (int64_t)req->iov[i].iov_len, keep = sluice_min(n, len);
        if (len > keep) memset((char *)req->iov[i].iov_base + keep, 0, (size_t)(len - keep));
        n -= keep;
    }
}

/* The result of a call, with zeros for what a read did not find behind the end of its member. */
static int64_t settle(member *m, bool write, const sluice_req *call) {
    int64_t n = call->result;
    if (n > call->len) return -EIO;
    if (write || n < 0 || n == call->len) return n;
    int64_t size = sluice_store_size(m->s, NULL);
    if (size < 0 || call->off + n < size) return size < 0 ? size : n;
    clear_behind(call, n);
    return call->len;
}

static int join_submit(sluice_store *s, bool write, sluice_req *req, int n) {
    join *j = (join *)s;
    batch b;
    b.n = 0;
    for (int i = 0; i < n; i++) req[i].result = aim(j, write, &req[i], i, &b);
    carry_out(j, write, &b);
    for (int k = 0; k < b.n; k++) req[b.way[k].of].result = settle(&j->member[b.way[k].to], write, &b.call[k]);
    return 0;
}

static int join_wait(sluice_store *s, sluice_req *req, int n) {
    (void)s, (void)req, (void)n;
    return 0;
}

/* ---- The other calls ---- */

static int64_t join_size(sluice_store *s) { return ((join *)s)->end; }

static int join_resize(sluice_store *s, int64_t size) {
    (void)s, (void)size;
    return -ENOTSUP;
}

static int join_sync(sluice_store *s) {
    join *j = (join *)s;
    int err = 0;
    for (int i = 0; i < j->n; i++) {
        int e = sluice_store_sync(j->member[i].s, NULL);
        if (!err) err = e;
    }
    return err;
}

/* Room by room. What lies behind the end is locked in the first member, which has no other use for those offsets. */
static int join_lock(sluice_store *s, int64_t off, int64_t len, sluice_lock how) {
    join *j = (join *)s;
    int err = 0;
    if (j->locks) return j->locks;
    for (int64_t done = 0, n; done < len; done += n) {
        int64_t at = off + done;
        int i = at < j->end ? find(j, at) : 0;
        n = sluice_min(len - done, (at < j->end ? room_end(j, i) : INT64_MAX) - at);
        int e = sluice_store_lock(j->member[i].s, at - j->member[i].base, n, how, NULL);
        if (!err) err = e;
        if (e && how != SLUICE_UNLOCK) {
            if (how != SLUICE_LOCK_TEST) (void)sluice_store_lock(s, off, done, SLUICE_UNLOCK, NULL);
            break;
        }
    }
    return err;
}

static sluice_store *join_holder(sluice_store *s, int64_t *off, int64_t *room) {
    join *j = (join *)s;
    if (*off >= j->end) return NULL;
    int i = find(j, *off);
    *room = room_end(j, i) - *off;
    *off -= j->member[i].base;
    return j->member[i].s;
}

static int join_close(sluice_store *s) {
    join *j = (join *)s;
    int err = 0;
    for (int i = 0; i < j->n; i++) {
        int e = sluice_store_close(j->member[i].s);
        if (!err) err = e;
    }
    sluice_store_free(s);
    return err;
}

static const sluice_store_ops join_ops = {.name = "join",
                                          .close = join_close,
                                          .submit = join_submit,
                                          .wait = join_wait,
                                          .size = join_size,
                                          .resize = join_resize,
                                          .sync = join_sync,
                                          .lock = join_lock,
                                          .holder = join_holder};

/* Of the members, the numbers of the worst. */
static void add_facts(sluice_store_facts *all, const sluice_store_facts *f) {
    all->align = sluice_max(all->align, f->align);
    all->block = sluice_max(all->block, f->block);
    all->depth = (int)sluice_min(all->depth, f->depth);
    if (f->call > all->call) all->call = f->call;
    if (f->byte > all->byte) all->byte = f->byte;
}

static bool are_rooms(const int64_t *base, int n, int64_t end) {
    if (n < 1 || base[0] || end < base[n - 1]) return false;
    for (int i = 1; i < n; i++)
        if (base[i] < base[i - 1] || base[i] % SLUICE_MAP_STRETCH) return false;
    return true;
}

int sluice_store_open_join(sluice_store **out, sluice_store *const *stores, const int64_t *base, int n, int64_t end,
                           const char *path) {
    const int64_t trial = INT64_MAX - 2; /* a byte that no file has */
    if (!are_rooms(base, n, end)) return SLUICE_E_ARGUMENT;
    join *j = sluice_mem_alloc(1, sizeof *j + (size_t)n * sizeof *j->member);
    if (!j || !sluice_store_init(&j->s, &join_ops, path)) {
        sluice_mem_free(j);
        return -ENOMEM;
    }
    j->s.facts.depth = SLUICE_STORE_DEPTH;
    j->end = end;
    j->locks = 0;
    j->n = n;
    for (int i = 0; i < n; i++) {
        int64_t size = sluice_store_size(stores[i], NULL);
        if (size < 0) {
            sluice_store_free(&j->s);
            return (int)size;
        }
        j->member[i] = (member){stores[i], base[i], size};
        add_facts(&j->s.facts, &stores[i]->facts);
        int err = sluice_store_lock(stores[i], trial, 1, SLUICE_LOCK_TEST, NULL);
        if (err && err != -EBUSY && !j->locks) j->locks = err;
    }
    *out = &j->s;
    return 0;
}

void sluice_store_move_join(sluice_store *s, const int64_t *run, int64_t end) {
    join *j = (join *)s;
    for (int i = 0; i < j->n; i++) {
        j->member[i].base = run[2 * i];
        j->member[i].size = run[2 * i + 1] - run[2 * i];
    }
    j->end = end;
}
