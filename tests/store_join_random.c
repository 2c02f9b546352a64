/* ranks: 1 */
/* store_join_random: random members of all kinds as one store, beside plain arrays of bytes, by calls and through the
 * mapping, with calls of the members and of the whole that misbehave.
 *
 * Rooms are long, so requests are drawn around where something happens: the ends of bytes and of rooms. The oracle
 * looks up byte by byte what the definition says: which room, and whether its member has the byte. */
#include "store_common.h"

enum { MEMBERS = 9, REQUESTS = 100, STRETCH = SLUICE_MAP_STRETCH, SIZE = 3 * STRETCH };

typedef struct model {
    int n;
    int64_t base[MEMBERS + 1]; /* the last one is the end */
    int64_t size[MEMBERS];
    unsigned char *byte[MEMBERS];
} model;

/* The byte of the model at a joined offset; NULL: no one has it. */
static unsigned char *at(const model *m, int64_t off) {
    for (int i = 0; i < m->n; i++)
        if (off >= m->base[i] && off < m->base[i + 1])
            return off - m->base[i] < m->size[i] ? &m->byte[i][off - m->base[i]] : NULL;
    return NULL;
}

typedef struct world {
    model m;
    sluice_store *file[MEMBERS], *shim[MEMBERS + 1]; /* the last one stands in front of all */
    sluice_store *s;
    sluice_map *map;
    uint64_t seed, first;
} world;

static const char *const name[MEMBERS] = {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"};
static int64_t faults, errors, mapped;

static bool build(world *w) {
    static const kind kinds[] = {POSIX, URING, RAM};
    const bool files = chance(&w->seed, 3); /* only such as can be mapped */
    sluice_store *member[MEMBERS], *join = NULL;
    sluice_reason why = {0};
    model *m = &w->m;
    m->n = 1 + (int)chance(&w->seed, MEMBERS);
    int64_t next = 0;
    for (int i = 0; i < m->n; i++) {
        int64_t room = chance(&w->seed, 8) ? (1 + chance(&w->seed, 3)) * STRETCH : 0;
        m->base[i] = next;
        next += room;
        int64_t few = sluice_min(room, 3000);
        m->size[i] = (int64_t[]){0,
                                 few,
                                 chance(&w->seed, few + 1),
                                 chance(&w->seed, few + 1),
                                 chance(&w->seed, room + 1),
                                 room,
                                 room + chance(&w->seed, 50)}[chance(&w->seed, 7)];
        if (i == m->n - 1) next -= room ? chance(&w->seed, 2) * chance(&w->seed, STRETCH) : 0;
        m->byte[i] = malloc((size_t)m->size[i] + 1);
        unsigned char mark = (unsigned char)(1 + chance(&w->seed, 250));
        for (int64_t x = 0; x < m->size[i]; x++) m->byte[i][x] = (unsigned char)(x / 256 + x + mark);
        kind k = kinds[chance(&w->seed, files ? 2 : 3)];
        int err = open_kind(&w->file[i], k, in_scratch(name[i]), &why);
        if (err == -ENOSYS) err = open_kind(&w->file[i], POSIX, in_scratch(name[i]), &why);
        CHECK(err == 0, "%s", why.text);
        if (err) return false;
        CHECK(sluice_store_write(w->file[i], 0, m->byte[i], m->size[i], &why) == 0, "%s", why.text);
        bool bare = chance(&w->seed, 2);
        if (!bare) CHECK(sluice_store_open_fault(&w->shim[i], w->file[i]) == 0, "shim");
        member[i] = bare ? w->file[i] : w->shim[i];
    }
    m->base[m->n] = next;
    CHECK(sluice_store_open_join(&join, member, m->base, m->n, next, in_scratch("joined")) == 0, "join");
    if (!join) return false;
    CHECK(sluice_store_open_fault(&w->shim[MEMBERS], join) == 0, "shim");
    w->s = chance(&w->seed, 2) ? w->shim[MEMBERS] : join;
    if (chance(&w->seed, 3) && sluice_map_open(&w->map, w->s, true)) w->map = NULL;
    return true;
}

/* A place where something happens, or near it. */
static int64_t draw_place(world *w) {
    const model *m = &w->m;
    int i = (int)chance(&w->seed, m->n);
    int64_t place = (int64_t[]){m->base[i], m->base[i] + m->size[i], m->base[i + 1],
                                m->base[i] + chance(&w->seed, m->size[i] + 1)}[chance(&w->seed, 4)];
    return sluice_max(0, place + (chance(&w->seed, 2) ? chance(&w->seed, 300) - 150 : 0));
}

/* Requests in any order, of which no two have a byte in common. */
typedef struct batch {
    sluice_req req[REQUESTS];
    struct iovec iov[REQUESTS][3];
    int n;
} batch;

static unsigned char memory[4 * SIZE];

static void draw_batch(world *w, batch *b, int64_t end) {
    unsigned char *p = memory;
    int most = (int[]){1, 5, 64, REQUESTS}[chance(&w->seed, 4)];
    b->n = 0;
    for (int tries = 0; tries < 3 * most && b->n < most; tries++) {
        int64_t off = draw_place(w), len = 1 + chance(&w->seed, chance(&w->seed, 5) ? 200 : 9000);
        if (!chance(&w->seed, 200)) len = 1 + chance(&w->seed, 2 * STRETCH);
        len = sluice_min(len, end - off);
        if (len <= 0 || len > memory + sizeof memory - 100 - p) continue;
        bool apart = true;
        for (int i = 0; i < b->n && apart; i++)
            apart = off + len <= b->req[i].off || b->req[i].off + b->req[i].len <= off;
        if (!apart) continue;
        int64_t cut = chance(&w->seed, len + 1), gap = chance(&w->seed, 4);
        struct iovec *v = b->iov[b->n];
        v[0] = (struct iovec){p, (size_t)cut};
        v[1] = (struct iovec){p + cut, 0};
        v[2] = (struct iovec){p + cut + gap, (size_t)(len - cut)};
        b->req[b->n++] = (sluice_req){off, len, v, 3, -1};
        p += len + gap;
    }
    for (unsigned char *q = memory; q < p; q++) *q = (unsigned char)chance(&w->seed, 256);
}

static unsigned char *memory_of(const sluice_req *r, int64_t k) {
    int64_t cut = (int64_t)r->iov[0].iov_len;
    return k < cut ? (unsigned char *)r->iov[0].iov_base + k : (unsigned char *)r->iov[2].iov_base + k - cut;
}

/* Sets a fault somewhere; returns the kinds of failure that may come of it, as 1 << kind. */
static int plant(world *w, int error) {
    int i = (int)chance(&w->seed, w->m.n + 1);
    if (i == w->m.n) i = MEMBERS;
    if (!w->shim[i] || !chance(&w->seed, 3)) return 0;
    sluice_fault_kind how = (sluice_fault_kind)chance(&w->seed, 4);
    sluice_fault_set(w->shim[i], 1 + chance(&w->seed, chance(&w->seed, 2) ? 3 : 30), how, error);
    faults++;
    return 1 << how;
}

static void clear_faults(world *w) {
    for (int i = 0; i <= MEMBERS; i++)
        if (w->shim[i]) sluice_fault_set(w->shim[i], 0, SLUICE_FAULT_ERROR, 0);
}

/* The files are what the model says, and as long. */
static bool agrees(const world *w) {
    static unsigned char all[SIZE + 100];
    for (int i = 0; i < w->m.n; i++) {
        int64_t size = sluice_store_size(w->file[i], NULL);
        if (size != w->m.size[i] || sluice_store_read(w->file[i], 0, all, size, NULL) ||
            memcmp(all, w->m.byte[i], (size_t)size))
            return false;
    }
    return true;
}

/* Of a write that failed, bytes that are not said to be written may be. */
static void adopt(world *w, const batch *b) {
    for (int i = 0; i < b->n; i++)
        for (int64_t k = b->req[i].result; k < b->req[i].len; k++) {
            unsigned char *old = at(&w->m, b->req[i].off + k), now;
            if (!old) continue;
            for (int f = 0; f < w->m.n; f++)
                if (old >= w->m.byte[f] && old < w->m.byte[f] + w->m.size[f] &&
                    !sluice_store_read(w->file[f], old - w->m.byte[f], &now, 1, NULL) &&
                    now == *memory_of(&b->req[i], k))
                    *old = now;
        }
}

static void by_calls(world *w, int step) {
    static batch b;
    const bool write = chance(&w->seed, 2);
    int64_t moved = -1, sum = 0;
    sluice_reason why = {0};
    draw_batch(w, &b, write ? w->m.base[w->m.n] : INT64_MAX);
    int fault = plant(w, EIO);
    int err = sluice_store_xfer(w->s, write, b.req, b.n, &moved, &why);
    clear_faults(w);
    errors += err != 0;
    CHECK(!err || (err == -EIO && fault & (1 << SLUICE_FAULT_ERROR | 1 << SLUICE_FAULT_ZERO)),
          "seed %" PRIu64 " step %d: %s", w->first, step, why.text);
    for (int i = 0; i < b.n && !failures; i++) {
        const sluice_req *r = &b.req[i];
        sum += r->result;
        CHECK(r->result >= 0 && r->result <= r->len && (err || r->result == r->len), "request %d", i);
        for (int64_t k = 0; k < r->result; k++) {
            unsigned char *byte = at(&w->m, r->off + k);
            if (write && byte) *byte = *memory_of(r, k);
            if (!write && *memory_of(r, k) != (byte ? *byte : 0)) {
                CHECK(false, "seed %" PRIu64 " step %d request %d byte %" PRId64, w->first, step, i, k);
                break;
            }
        }
    }
    CHECK(sum == moved, "%" PRId64 " moved, %" PRId64 " in all", moved, sum);
    if (write && err) adopt(w, &b);
    CHECK(agrees(w), "seed %" PRIu64 " step %d: the files are not what was said", w->first, step);
}

typedef struct stroke {
    sluice_map *m;
    int64_t off, len;
    bool write;
    unsigned char byte[10000];
} stroke;

static void copy(void *arg) {
    stroke *c = arg;
    unsigned char *p = sluice_map_base(c->m) + c->off;
    if (c->write)
        memcpy(p, c->byte, (size_t)c->len);
    else
        memcpy(c->byte, p, (size_t)c->len);
}

/* With cold pages fetched, exactly what some member has is ready. */
static void by_map(world *w, int step) {
    static stroke c;
    c.m = w->map;
    c.off = draw_place(w);
    c.len = sluice_min(1 + chance(&w->seed, chance(&w->seed, 5) ? 200 : 9000), STRETCH - c.off % STRETCH);
    c.write = chance(&w->seed, 2) && sluice_map_writable(w->map);
    bool inside = true;
    for (int64_t k = 0; k < c.len && inside; k++) inside = at(&w->m, c.off + k);
    bool ready = sluice_map_ready(w->map, c.off, c.len, SLUICE_TOUCH_FETCH);
    CHECK(ready == inside, "seed %" PRIu64 " step %d: %" PRId64 " bytes at %" PRId64, w->first, step, c.len, c.off);
    CHECK(inside || !sluice_map_ready(w->map, c.off, c.len, SLUICE_TOUCH_FEW), "seed %" PRIu64, w->first);
    if (!ready || !inside) return;
    for (int64_t k = 0; k < c.len; k++) c.byte[k] = (unsigned char)chance(&w->seed, 256);
    CHECK(sluice_map_guard(w->map, copy, &c) == 0, "seed %" PRIu64, w->first);
    mapped++;
    for (int64_t k = 0; k < c.len; k++) {
        unsigned char *byte = at(&w->m, c.off + k);
        if (c.write) *byte = c.byte[k];
        if (*byte != c.byte[k]) {
            CHECK(false, "seed %" PRIu64 " step %d byte %" PRId64, w->first, step, k);
            break;
        }
    }
    if (c.write) CHECK(agrees(w), "seed %" PRIu64 " step %d", w->first, step);
}

/* A lock of any range works or changes nothing. */
static void by_lock(world *w) {
    int64_t lo = draw_place(w), len = 1 + chance(&w->seed, chance(&w->seed, 2) ? 100 : INT64_MAX - lo - 1);
    sluice_reason why = {0};
    int fault = plant(w, EIO), err = sluice_store_lock(w->s, lo, len, SLUICE_LOCK, &why);
    CHECK(!err || (err == -EIO && fault & 1 << SLUICE_FAULT_ERROR), "%s", why.text);
    if (!err) err = sluice_store_lock(w->s, lo, len, SLUICE_UNLOCK, &why);
    CHECK(!err || (err == -EIO && fault & 1 << SLUICE_FAULT_ERROR), "%s", why.text);
    clear_faults(w);
    for (int i = 0; i < w->m.n; i++)
        if (w->file[i]->ops->fd) {
            struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
            int fd = open(in_scratch(name[i]), O_RDWR);
            CHECK(fd >= 0 && !fcntl(fd, F_OFD_GETLK, &all) && all.l_type == F_UNLCK, "seed %" PRIu64 ": a lock is left",
                  w->first);
            close(fd);
        }
}

static void run(uint64_t seed, int steps) {
    static world w;
    int64_t live = sluice_mem_live();
    int descriptors = open_descriptors();
    w = (world){.seed = seed, .first = seed};
    if (!build(&w)) return;
    for (int step = 0; step < steps && !failures; step++) {
        int64_t action = chance(&w.seed, 20);
        if (action == 0)
            make_cold(w.file[chance(&w.seed, w.m.n)]);
        else if (action == 1)
            by_lock(&w);
        else if (action < 10 && w.map)
            by_map(&w, step);
        else
            by_calls(&w, step);
    }
    sluice_map_close(w.map);
    CHECK(agrees(&w), "seed %" PRIu64, w.first);
    CHECK(sluice_store_close(w.shim[MEMBERS]) == 0, "close");
    for (int i = 0; i < w.m.n; i++) free(w.m.byte[i]);
    CHECK(sluice_mem_live() == live && open_descriptors() == descriptors, "seed %" PRIu64 " leaks", w.first);
}

int main(void) {
    uint64_t seed = (uint64_t)from_environment("SLUICE_TEST_SEED", (int64_t)getpid());
    int64_t cases = from_environment("SLUICE_TEST_CASES", 60);
    printf("seed %" PRIu64 "\n", seed);
    make_scratch();
    /* Short cases come first, so that the first failure is a short one. */
    for (int64_t i = 0; i < cases && !failures; i++) run(seed + (uint64_t)i, 2 + (int)sluice_min(i, 60));
    remove_scratch();
    printf("%" PRId64 " faults planted, %" PRId64 " errors, %" PRId64 " copies through a mapping\n", faults, errors,
           mapped);
    CHECK(cases < 60 || (faults && errors), "nothing went wrong");
    return verdict();
}
