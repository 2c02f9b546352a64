/* sums.c: a store with a checksum for each of its blocks, in a second file.
 *
 *     data    | block 0 | block 1 | block 2 | ...            blocks of the same size; behind the end of the file are
 * zeros sums    [head][sum 0, mark 0][sum 1, mark 1] ...       docs/FORMAT.md has the bytes
 *
 * A block is sealed (its mark is even, and its sum is true) or open (odd: it was written since, and nothing is known).
 * A write first marks its blocks open, then writes. Sealing reads the open ones back, at a time when no one writes. So
 * several processes can write parts of the same block in any order: all of them write the same mark. A sum of 0 under a
 * mark of 0 is that of zeros, so that a new file has no sums to write.
 *
 * A read takes all of each block that it touches, and compares. Those who write and read at the same time are told
 * apart by the mark, which counts: if the sum does not match, and the mark has changed meanwhile, it is done again. A
 * write of a part of a sealed block compares first, or else what is wrong with the rest would be sealed with it.
 *
 * What a crash leaves. A process that is killed leaves all that it wrote, marks too, and what is sealed is true. A
 * power cut may leave data without their marks, or marks without data. So before the first mark since the last sealing
 * the head says, on disk, that the file is *dirty*, and in which run of the system that is; sealing says that it no
 * longer is when all the rest is on disk. Whoever finds it dirty in another run has *doubt*: what does not match may
 * have been written when the power went, and is no error; so it stays until someone accepts what there is. Nothing here
 * is remembered between calls that another process could change.
 */
#include "store/store.h"
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
    VERSION = 1,
    DIRTY = 1,          /* flags of the head: some blocks may be open, */
    DOUBT = 2,          /* and after a power cut more may be than are marked */
    ENTRY = 8,          /* bytes of a sum and its mark */
    MANY = 512,         /* of them together */
    PIECE = 256 << 10,  /* is still in the second-level cache when it has been read */
    SCRATCH = 32 << 10, /* on the stack */
    VECTOR = 64,        /* pieces of memory in a call */
    TRIES = 1000,       /* while others write the same block */
    WHOLE = 2           /* a byte that is looked at costs as much as so many that are only copied */
};

typedef struct entry {
    uint32_t sum, mark;
} entry;

typedef struct sums {
    sluice_store s; /* inner: the data */
    sluice_store *file;
    sluice_sums_id id;
    uint32_t zeros;            /* the sum of a block of them */
    char run[SLUICE_SYS_BOOT]; /* of this system */
    _Atomic int64_t session;   /* in which we know on disk that the file is dirty; -1: none */
} sums;

static bool is_open(entry e) { return e.mark & 1; }
static bool is_same(entry a, entry b) { return a.sum == b.sum && a.mark == b.mark; }

/* ---- The head ---- */

/* As it lies in the file, little-endian. */
typedef struct head {
    char magic[8];
    uint32_t version, flags;
    uint64_t block, generation;
    uint32_t subfile, session; /* session: how often it has become dirty */
    char uuid[32], run[SLUICE_SYS_BOOT];
    char zero[16];
    uint32_t sum; /* of all before it */
} head;
_Static_assert(sizeof(head) == SLUICE_SUMS_HEAD, "as in docs/FORMAT.md");
static const char magic[] = "sluicsum";

static head new_head(const sluice_sums_id *id) {
    head h = {.version = htole32(VERSION),
              .block = htole64((uint64_t)id->block),
              .generation = htole64((uint64_t)id->generation),
              .subfile = htole32((uint32_t)id->subfile)};
    memcpy(h.magic, magic, sizeof h.magic);
    memcpy(h.uuid, id->uuid, sizeof h.uuid);
    return h;
}

static uint32_t sum_of_head(const head *h) { return htole32(sluice_crc32c(0, h, offsetof(head, sum))); }

void sluice_sums_head(unsigned char bytes[SLUICE_SUMS_HEAD], const sluice_sums_id *id) {
    head h = new_head(id);
    h.sum = sum_of_head(&h);
    memcpy(bytes, &h, sizeof h);
}

int64_t sluice_sums_length(int64_t size, int64_t block) {
    return SLUICE_SUMS_HEAD + ENTRY * sluice_ceil_div(size, block);
}

/* Whether it is the head of these sums. */
static bool is_ours(const head *h, const sluice_sums_id *id) {
    head want = new_head(id);
    want.flags = h->flags;
    want.session = h->session;
    memcpy(want.run, h->run, sizeof want.run);
    want.sum = sum_of_head(&want);
    return !memcmp(h, &want, sizeof want) && !(le32toh(h->flags) & ~(uint32_t)(DIRTY | DOUBT));
}

/* One that is just being written may be read by halves. */
static int load_head(sums *c, head *h) {
    for (int i = 0; i < TRIES; i++) {
        const int err = sluice_store_read(c->file, 0, h, sizeof *h, NULL);
        if (err || is_ours(h, &c->id)) return err;
    }
    return SLUICE_E_FORMAT;
}

static int save_head(sums *c, head *h) {
    h->sum = sum_of_head(h);
    return sluice_store_write(c->file, 0, h, sizeof *h, NULL);
}

static bool has_flag(const head *h, uint32_t flag) { return le32toh(h->flags) & flag; }
static bool is_this_run(const sums *c, const head *h) { return *h->run && !memcmp(h->run, c->run, sizeof h->run); }
static bool has_doubt(const sums *c, const head *h) {
    return has_flag(h, DOUBT) || (has_flag(h, DIRTY) && !is_this_run(c, h));
}

/* Before blocks are marked open: the head says so on disk. Processes on two systems together are in no single run. */
static int begin_locked(sums *c) {
    head h;
    int err = load_head(c, &h);
    if (err) return err;
    const bool dirty = has_flag(&h, DIRTY), one = !dirty || !*h.run || is_this_run(c, &h);
    if (!dirty) {
        h.flags |= htole32(DIRTY);
        h.session = htole32(le32toh(h.session) + 1);
        memcpy(h.run, c->run, sizeof h.run);
    }
    if (!one) memset(h.run, 0, sizeof h.run);
    if (!dirty || !one) err = save_head(c, &h);
    if (!err && (!dirty || !one || c->session != le32toh(h.session))) err = sluice_store_sync(c->file, NULL);
    if (!err) c->session = le32toh(h.session);
    return err;
}

static int begin(sums *c) {
    head h;
    int err = load_head(c, &h);
    if (err) return err;
    if (has_flag(&h, DIRTY) && c->session == le32toh(h.session) && (!*h.run || is_this_run(c, &h))) return 0;
    /* Where there are no locks, two systems that come at the same moment may both think that they are alone. */
    const int locked = sluice_store_lock(c->file, 0, SLUICE_SUMS_HEAD, SLUICE_LOCK, NULL);
    const bool none = locked == -ENOTSUP || locked == -EINVAL || locked == -ENOSYS;
    if (locked && !none) return locked;
    err = begin_locked(c);
    const int left = none ? 0 : sluice_store_lock(c->file, 0, SLUICE_SUMS_HEAD, SLUICE_UNLOCK, NULL);
    return err ? err : left;
}

/* ---- Sums ---- */

static int load(sums *c, int64_t k, int n, entry *e) {
    const int err = sluice_store_read(c->file, SLUICE_SUMS_HEAD + ENTRY * k, e, ENTRY * n, NULL);
    for (int i = 0; i < n && !err; i++) e[i] = (entry){le32toh(e[i].sum), le32toh(e[i].mark)};
    return err;
}

static int save(sums *c, int64_t k, int n, const entry *e) {
    entry out[MANY];
    for (int i = 0; i < n; i++) out[i] = (entry){htole32(e[i].sum), htole32(e[i].mark)};
    return sluice_store_write(c->file, SLUICE_SUMS_HEAD + ENTRY * k, out, ENTRY * n, NULL);
}

/* Goes on with a sum over [lo, hi) of the data. */
static int add_data(sums *c, int64_t lo, int64_t hi, uint32_t *sum) {
    unsigned char bytes[SCRATCH];
    int err = 0;
    for (int64_t n; lo < hi && !err; lo += n) {
        n = sluice_min(hi - lo, SCRATCH);
        err = sluice_store_read(c->s.inner, lo, bytes, n, NULL);
        if (!err) *sum = sluice_crc32c(*sum, bytes, (size_t)n);
    }
    return err;
}

/* The sum of a block as it is now. */
static int sum_block(sums *c, int64_t k, uint32_t *sum) {
    *sum = 0;
    const int err = add_data(c, k * c->id.block, (k + 1) * c->id.block, sum);
    *sum ^= c->zeros;
    return err;
}

/* What a block means that is open, or does not match what was its entry: 0 nothing, AGAIN to look again, or an error.
 */
enum { AGAIN = 1 };
static int judge(sums *c, int64_t k, entry e) {
    entry now;
    head h;
    int err = load_head(c, &h);
    if (!err && is_open(e) && has_flag(&h, DIRTY)) return 0;
    if (!err) err = load(c, k, 1, &now);
    if (err) return err;
    if (!is_same(now, e)) return AGAIN;
    if (is_open(e)) return SLUICE_E_FORMAT; /* in a file that is not dirty: the mark itself is wrong */
    return has_doubt(c, &h) ? 0 : SLUICE_E_CHECKSUM;
}

/* ---- Memory in pieces ---- */

typedef struct place {
    const struct iovec *v;
    size_t skip;
} place;

/* The next bytes that lie together, at most so many. */
static struct iovec take(place *p, int64_t most) {
    while (p->skip == p->v->iov_len) p->v++, p->skip = 0;
    const size_t n = (size_t)sluice_min((int64_t)(p->v->iov_len - p->skip), most);
    const struct iovec piece = {(char *)p->v->iov_base + p->skip, n};
    p->skip += n;
    return piece;
}

/* Moves len bytes of the data from or to a place, which goes on. */
static int move(sums *c, bool write, int64_t off, int64_t len, place *p) {
    int err = 0;
    for (int64_t n; len > 0 && !err; off += n, len -= n) {
        struct iovec v[VECTOR];
        sluice_req req = {off, 0, v, 0, 0};
        while (req.len < len && req.niov < VECTOR) {
            v[req.niov] = take(p, len - req.len);
            req.len += (int64_t)v[req.niov++].iov_len;
        }
        n = req.len;
        err = sluice_store_xfer(c->s.inner, write, &req, 1, NULL, NULL);
    }
    return err;
}

static void add_memory(place *p, int64_t len, uint32_t *sum) {
    for (struct iovec v; len > 0; len -= (int64_t)v.iov_len) {
        v = take(p, len);
        *sum = sluice_crc32c(*sum, v.iov_base, v.iov_len);
    }
}

/* ---- Reading ---- */

/* Compares a block, of which [lo, hi) has been read to a place, which goes on: see judge(). */
static int compare(sums *c, int64_t k, entry e, int64_t lo, int64_t hi, place *p) {
    const int64_t start = k * c->id.block;
    uint32_t sum = 0;
    int err = is_open(e) ? 0 : add_data(c, start, lo, &sum);
    add_memory(p, hi - lo, &sum);
    if (!err && !is_open(e)) err = add_data(c, hi, start + c->id.block, &sum);
    if (err || (!is_open(e) && (sum ^ c->zeros) == e.sum)) return err;
    return judge(c, k, e);
}

/* Reads the next bytes from lo on, below end. Returns how many are as they should be, or what is wrong with the first.
 */
static int64_t get_some(sums *c, int64_t lo, int64_t end, place *p) {
    const int64_t block = c->id.block, first = lo / block;
    const int64_t most = sluice_max(1, sluice_min(PIECE / block, MANY));
    const int n = (int)sluice_min(most, sluice_ceil_div(end, block) - first);
    const int64_t hi = sluice_min(end, (first + n) * block);
    for (int i = 0; i < TRIES; i++) {
        entry e[MANY];
        place into = *p, seen = *p;
        int err = load(c, first, n, e);
        if (!err) err = move(c, false, lo, hi - lo, &into);
        if (err) return err;
        int64_t good = lo;
        for (int k = 0; k < n && !err; k++) {
            const int64_t stop = sluice_min(hi, (first + k + 1) * block);
            err = compare(c, first + k, e[k], good, stop, &seen);
            if (!err) good = stop, *p = seen;
        }
        if (err < 0 && err != SLUICE_E_CHECKSUM) return err;
        if (good > lo) return good - lo;
        if (err != AGAIN) return err;
    }
    return -EBUSY;
}

/* That a block does not match is told when it comes first, so that it can be named; until then, what was before it. */
static int64_t so_far(int64_t done, int64_t error) { return done && error == SLUICE_E_CHECKSUM ? done : error; }

/* Up to the end of the data. */
static int64_t get(sums *c, const sluice_req *req) {
    const int64_t size = sluice_store_size(c->s.inner, NULL), end = sluice_min(req->off + req->len, size);
    place p = {req->iov, 0};
    int64_t done = 0;
    while (size >= 0 && req->off + done < end) {
        const int64_t n = get_some(c, req->off + done, end, &p);
        if (n < 0) return so_far(done, n);
        done += n;
    }
    return size < 0 ? size : done;
}

/* ---- Writing ---- */

/* Compares a block as it is. */
static int compare_whole(sums *c, int64_t k, entry e) {
    uint32_t sum;
    const int err = sum_block(c, k, &sum);
    return err || sum == e.sum ? err : judge(c, k, e);
}

/* Marks the blocks of [lo, hi), at most MANY, open, once; those of which something stays are compared first. */
static int open_some(sums *c, int64_t lo, int64_t hi, int64_t size) {
    const int64_t block = c->id.block, first = lo / block;
    const int n = (int)(sluice_ceil_div(hi, block) - first);
    entry e[MANY];
    int from = n, to = 0, err = load(c, first, n, e);
    if (err) return err;
    for (int k = 0; k < n && !err; k++) {
        const int64_t start = (first + k) * block, stop = sluice_min(start + block, size);
        if (is_open(e[k])) continue;
        if (start < lo || stop > hi) err = compare_whole(c, first + k, e[k]);
        e[k].mark++;
        from = from < k ? from : k;
        to = k + 1;
    }
    if (!err && from < to) err = begin(c);
    if (!err && from < to) err = save(c, first + from, to - from, e + from);
    return err;
}

/* The same until no one else has been at them. */
static int open_blocks(sums *c, int64_t lo, int64_t hi) {
    const int64_t size = sluice_store_size(c->s.inner, NULL);
    int err = size < 0 ? (int)size : AGAIN;
    for (int i = 0; i < TRIES && err == AGAIN; i++) err = open_some(c, lo, hi, size);
    return err == AGAIN ? -EBUSY : err;
}

static int64_t put(sums *c, const sluice_req *req) {
    const int64_t end = req->off + req->len, stretch = MANY * c->id.block;
    place p = {req->iov, 0};
    int64_t done = 0;
    while (done < req->len) {
        const int64_t lo = req->off + done, hi = sluice_min(end, (lo / stretch + 1) * stretch);
        int err = open_blocks(c, lo, hi);
        if (!err) err = move(c, true, lo, hi - lo, &p);
        if (err) return so_far(done, err);
        done += hi - lo;
    }
    return done;
}

/* ---- The store ---- */

static int sums_submit(sluice_store *s, bool write, sluice_req *req, int n) {
    for (int i = 0; i < n; i++) req[i].result = (write ? put : get)((sums *)s, &req[i]);
    return 0;
}

static int sums_wait(sluice_store *s, sluice_req *req, int n) {
    (void)s, (void)req, (void)n;
    return 0;
}

static int64_t sums_size(sluice_store *s) { return s->inner->ops->size(s->inner); }

/* Sums are there before their data, and go after them; what is left of a block that is cut gets a new sum. */
static int sums_resize(sluice_store *s, int64_t size) {
    sums *c = (sums *)s;
    const int64_t block = c->id.block, now = sluice_store_size(s->inner, NULL);
    int err = now < 0 ? (int)now : 0;
    if (!err && size < now && size % block) err = open_blocks(c, size, sluice_min(now, (size / block + 1) * block));
    if (!err && size >= now) err = sluice_store_resize(c->file, sluice_sums_length(now, block), NULL);
    if (!err && size >= now) err = sluice_store_resize(c->file, sluice_sums_length(size, block), NULL);
    if (!err) err = sluice_store_resize(s->inner, size, NULL);
    if (!err && size < now) err = sluice_store_resize(c->file, sluice_sums_length(size, block), NULL);
    return err;
}

static int sums_sync(sluice_store *s) {
    const int data = sluice_store_sync(s->inner, NULL), file = sluice_store_sync(((sums *)s)->file, NULL);
    return data ? data : file;
}

static int sums_lock(sluice_store *s, int64_t off, int64_t len, sluice_lock how) {
    return s->inner->ops->lock ? s->inner->ops->lock(s->inner, off, len, how) : -ENOTSUP;
}

static int sums_blame(sluice_store *s, sluice_reason *why, int error, const char *call, int64_t off) {
    const sums *c = (const sums *)s;
    const int64_t k = off / c->id.block, size = sluice_store_size(s->inner, NULL);
    const int64_t end = sluice_min((k + 1) * c->id.block, size > off ? size : INT64_MAX);
    if (error != SLUICE_E_CHECKSUM) return sluice_store_refuse(why, error, call, s->name, off);
    return sluice_refuse(why, error, off,
                         "%s %s: block %" PRId64 ", bytes %" PRId64 " to %" PRId64
                         ", of subfile %d on target %.24s does not match its checksum",
                         call, s->name, k, k * c->id.block, end - 1, c->id.subfile, c->id.target);
}

static int sums_close(sluice_store *s) {
    const int file = sluice_store_close(((sums *)s)->file), data = sluice_store_close(s->inner);
    sluice_store_free(s);
    return data ? data : file;
}

/* No descriptor: what goes through a mapping is not compared. */
static const sluice_store_ops sums_ops = {.name = "sums",
                                          .close = sums_close,
                                          .submit = sums_submit,
                                          .wait = sums_wait,
                                          .size = sums_size,
                                          .resize = sums_resize,
                                          .sync = sums_sync,
                                          .lock = sums_lock,
                                          .blame = sums_blame};

int sluice_store_open_sums(sluice_store **out, sluice_store *data, sluice_store *file, const sluice_sums_id *id,
                           int64_t size, sluice_reason *why) {
    static const unsigned char zeros[4096];
    head h;
    sums *c = sluice_mem_alloc(1, sizeof *c);
    if (!c || !sluice_store_init(&c->s, &sums_ops, data->name)) {
        sluice_mem_free(c);
        return sluice_store_refuse(why, -ENOMEM, "open", data->name, -1);
    }
    c->s.inner = data;
    c->s.facts = data->facts;
    c->s.facts.depth = 1;
    c->s.facts.background = false;
    c->s.facts.call += WHOLE * (double)id->block * data->facts.byte;
    c->file = file;
    c->id = *id;
    c->session = -1;
    c->zeros = 0;
    for (int64_t n = 0; n < id->block; n += sluice_min((int64_t)sizeof zeros, id->block))
        c->zeros = sluice_crc32c(c->zeros, zeros, (size_t)sluice_min((int64_t)sizeof zeros, id->block));
    sluice_sys_boot(c->run);
    const int64_t length = sluice_store_size(file, why);
    int err = length < 0 ? (int)length : 0;
    if (!err && length < sluice_sums_length(size, id->block))
        err = sluice_refuse(why, SLUICE_E_FORMAT, length, "open %s: truncated: %" PRId64 " bytes instead of %" PRId64,
                            file->name, length, sluice_sums_length(size, id->block));
    if (!err && (err = load_head(c, &h))) sluice_store_refuse(why, err, "read the head of", file->name, -1);
    if (err)
        sluice_store_free(&c->s);
    else
        *out = &c->s;
    return err;
}

/* ---- Sealing ---- */

/* The sums of a store, behind shims, or NULL. */
static sums *find(sluice_store *s) {
    while (s && s->ops != &sums_ops) s = s->inner;
    return (sums *)s;
}

/* Seals what is open among n entries; with `accept` also what does not match. */
static int seal_some(sums *c, int64_t first, int n, bool accept) {
    entry e[MANY];
    int from = n, to = 0, err = load(c, first, n, e);
    for (int k = 0; k < n && !err; k++) {
        uint32_t sum;
        if (!is_open(e[k]) && !accept) continue;
        err = sum_block(c, first + k, &sum);
        if (err || (!is_open(e[k]) && e[k].sum == sum)) continue;
        e[k] = (entry){sum, (e[k].mark | 1) + 1};
        from = from < k ? from : k;
        to = k + 1;
    }
    return err || from >= to ? err : save(c, first + from, to - from, e + from);
}

static int seal_all(sums *c, bool accept) {
    const int64_t size = sluice_store_size(c->s.inner, NULL);
    int err = size < 0 ? (int)size : 0;
    for (int64_t n, k = 0, all = err ? 0 : sluice_ceil_div(size, c->id.block); k < all && !err; k += n) {
        n = sluice_min(MANY, all - k);
        err = seal_some(c, k, (int)n, accept);
    }
    return err;
}

int sluice_sums_seal(sluice_store *s, bool accept, sluice_reason *why) {
    sums *c = find(s);
    head h;
    if (!c) return 0;
    int err = load_head(c, &h);
    const bool doubt = !err && accept && has_doubt(c, &h);
    if (!err && !has_flag(&h, DIRTY) && !doubt) return 0;
    if (!err) err = sluice_store_sync(c->s.inner, NULL);
    if (!err) err = seal_all(c, doubt);
    if (!err) err = sluice_store_sync(c->file, NULL);
    if (!err) {
        h.flags &= ~htole32(doubt ? DIRTY | DOUBT : DIRTY);
        memset(h.run, 0, sizeof h.run);
        err = save_head(c, &h);
    }
    if (!err) err = sluice_store_sync(c->file, NULL);
    return err ? sluice_store_refuse(why, err, "seal the checksums of", c->s.name, -1) : 0;
}

int sluice_sums_recover(sluice_store *s, sluice_reason *why) {
    sums *c = find(s);
    head h;
    if (!c) return 0;
    int err = load_head(c, &h);
    if (!err && has_flag(&h, DIRTY) && !has_flag(&h, DOUBT) && !is_this_run(c, &h)) {
        h.flags |= htole32(DOUBT);
        memset(h.run, 0, sizeof h.run);
        err = save_head(c, &h);
        if (!err) err = sluice_store_sync(c->file, NULL);
    }
    return err ? sluice_store_refuse(why, err, "read the checksums of", c->s.name, -1) : 0;
}

int sluice_sums_state(sluice_store *s, sluice_sums_states *state, sluice_reason *why) {
    sums *c = find(s);
    head h;
    *state = SLUICE_SUMS_SEALED;
    if (!c) return 0;
    const int err = load_head(c, &h);
    if (err) return sluice_store_refuse(why, err, "read the checksums of", c->s.name, -1);
    *state = has_doubt(c, &h) ? SLUICE_SUMS_DOUBT : has_flag(&h, DIRTY) ? SLUICE_SUMS_DIRTY : SLUICE_SUMS_SEALED;
    return 0;
}

/* Looks at a block until no one else has been at it. */
static int inspect(sums *c, int64_t k, entry e) {
    uint32_t sum;
    for (int i = 0; i < TRIES; i++) {
        int err = is_open(e) ? 0 : sum_block(c, k, &sum);
        if (err) return err;
        const bool match = !is_open(e) && sum == e.sum;
        err = match ? 0 : judge(c, k, e);
        if (!err) return match ? 0 : SLUICE_SUMS_OPEN;
        if (err != AGAIN) return err;
        if ((err = load(c, k, 1, &e))) return err;
    }
    return -EBUSY;
}

int sluice_sums_scrub(sluice_store *s, sluice_sums_found *each, void *arg, sluice_reason *why) {
    sums *c = find(s);
    if (!c) return 0;
    const int64_t size = sluice_store_size(c->s.inner, why);
    int err = size < 0 ? (int)size : 0;
    for (int64_t n, first = 0, all = err ? 0 : sluice_ceil_div(size, c->id.block); first < all && !err; first += n) {
        entry e[MANY];
        n = sluice_min(sluice_max(1, sluice_min(PIECE / c->id.block, MANY)), all - first);
        if ((err = load(c, first, (int)n, e)))
            return sluice_store_refuse(why, err, "read the checksums of", c->s.name, -1);
        for (int k = 0; k < (int)n && !err; k++) {
            const int64_t lo = (first + k) * c->id.block;
            err = each(arg, inspect(c, first + k, e[k]), (sluice_run){lo, sluice_min(c->id.block, size - lo)});
        }
    }
    return err;
}
