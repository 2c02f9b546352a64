/* map.c: reading and writing cached files without a system call.
 *
 * The whole file is mapped; what may be touched is decided stretch by stretch. A stretch becomes ready when its
 * pages, or nearly all of them, are in the page cache, and then stays so:
 *
 *     state[k]   NEW  -- mincore: there? populate, if many are wanted: no error? -->  READY
 *                 |
 *                 +-- no --> ask again later: after 0, 1, 3, 7, 15, 31, 31, ... askings, since each costs microseconds
 *
 * Of a join, each member is mapped where its room begins, in one range of addresses; a stretch belongs to one member.
 * Where the bytes of a member end inside of its last stretch, this is EDGE rather than READY, and asking about it looks
 * up how far they go. A plain file needs no such state, since no one asks about what lies behind its size.
 *
 * If the system takes pages back, a later copy just waits for them. If they no longer exist, because someone cut the
 * file short, or cannot be read, touching them raises SIGBUS. One handler for the process looks at the frames of the
 * guards that this thread is in, innermost first; if the address lies in the range of one, it jumps back there and the
 * guard returns -EIO. All other faults go on to what was installed before, with its own mask and flags.
 *
 * The handler never fights. It is installed once, and if the application puts its own in its place later, or a thread
 * blocks the signal, mapped reads stop and files are read by calls again, until ours is back. That is looked at
 * whenever a stretch becomes ready and on every 64th copy of a thread; asking each time would double the price of a
 * small one.
 *
 * mincore answers truly only about files that the process owns or may write; about others it calls every page present.
 * Of those, the bytes are read, with the flag that says not to wait.
 */
#include "store/store.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* ---- The guard ---- */

typedef struct frame {
    const unsigned char *lo, *hi;
    struct frame *outer;
    sigjmp_buf env;
} frame;

/* Initial-exec: the handler must not be the first to touch it, which might allocate. */
static _Thread_local frame *volatile top __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned copies; /* of this thread */
static struct sigaction previous;
static atomic_bool ours;

/* What the system would have done if we were not there. */
static void pass_on(int number, siginfo_t *info, void *context) {
    bool fault = info->si_code > 0;
    if (!(previous.sa_flags & SA_SIGINFO) && previous.sa_handler == SIG_IGN && !fault) return;
    if (!(previous.sa_flags & SA_SIGINFO) && (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN)) {
        signal(number, SIG_DFL);
        if (!fault) raise(number); /* a fault comes again by itself */
        return;
    }
    sigset_t mask = previous.sa_mask, before;
    if (!(previous.sa_flags & SA_NODEFER)) sigaddset(&mask, number);
    if (previous.sa_flags & (int)SA_RESETHAND) signal(number, SIG_DFL);
    pthread_sigmask(SIG_BLOCK, &mask, &before);
    if (previous.sa_flags & SA_SIGINFO)
        previous.sa_sigaction(number, info, context);
    else
        previous.sa_handler(number);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void on_fault(int number, siginfo_t *info, void *context) {
    const unsigned char *at = info->si_addr;
    for (frame *f = top; f && info->si_code > 0; f = f->outer)
        if (at >= f->lo && at < f->hi) {
            top = f;
            siglongjmp(f->env, 1);
        }
    int error = errno;
    pass_on(number, info, context);
    errno = error;
}

/* SA_NODEFER leaves the mask alone, so that jumping out has nothing to restore. */
static void install(void) {
    struct sigaction mine = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&mine.sa_mask);
    if (sigaction(SIGBUS, NULL, &previous)) return;
    ours = sigaction(SIGBUS, &mine, NULL) == 0;
}

/* Whether a fault on this thread would come to us: the handler is ours, and the signal is not blocked. */
static bool look(void) {
    struct sigaction now;
    sigset_t mask;
    ours = !sigaction(SIGBUS, NULL, &now) && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault;
    return ours && !pthread_sigmask(SIG_BLOCK, NULL, &mask) && !sigismember(&mask, SIGBUS);
}

/* ---- The map ---- */

enum { NEW = 0, EDGE = 254, READY = 255 }; /* below: how often it was refused << 5 | askings to let pass */

/* A file, or the room of a member of a join. */
typedef struct piece {
    sluice_store *store;
    int fd;
    bool blind;         /* mincore does not tell the truth */
    int64_t base, room; /* the part of the map that it has; base is that of a stretch */
    int64_t size;       /* bytes of the file in there when last asked; what lies behind is not ready */
    int64_t span;       /* bytes mapped, whole stretches */
} piece;

struct sluice_map {
    bool write;                  /* may be written to */
    unsigned char *base, *state; /* NULL while the file is empty */
    int64_t size;                /* what lies behind is not ready: of one piece its size, of several the end of all */
    int64_t span;                /* bytes of address space, whole stretches */
    int64_t stretches;           /* that there are states for: at least those */
    int n;
    piece piece[];
};

static piece *piece_at(sluice_map *m, int64_t off) {
    int lo = 0, hi = m->n;
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        if (m->piece[mid].base <= off)
            lo = mid;
        else
            hi = mid;
    }
    return &m->piece[lo];
}

/* Maps so many bytes instead of those mapped already. */
static int map_more(unsigned char **p, int64_t have, int64_t want, int prot, int flags, int fd) {
    void *new =
        *p ? mremap(*p, (size_t)have, (size_t)want, MREMAP_MAYMOVE) : mmap(NULL, (size_t)want, prot, flags, fd, 0);
    if (new == MAP_FAILED) return -errno;
    *p = new;
    return 0;
}

/* Makes the map as long as `size`, and forgets nothing of what was ready. The states are mapped too: of a file of many
 * terabytes, those of the stretches that are used take memory, and no others. */
static int enlarge(sluice_map *m, int64_t size, int prot, int flags, int fd) {
    int64_t n = sluice_ceil_div(size, SLUICE_MAP_STRETCH), span;
    if (!sluice_mul(n, SLUICE_MAP_STRETCH, &span)) return -EFBIG;
    int err = map_more(&m->state, m->stretches, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (err) return err;
    m->stretches = n;
    err = map_more(&m->base, m->span, span, prot, flags, fd);
    if (!err) m->span = span;
    return err;
}

/* Maps all of a piece that has grown to `size`: one that is alone where there is room for it, others where their room
 * was reserved. */
static int map_piece(sluice_map *m, piece *p, int64_t size) {
    const int prot = PROT_READ | (m->write ? PROT_WRITE : 0);
    if (m->n == 1) {
        int err = enlarge(m, size, prot, MAP_SHARED, p->fd);
        p->span = m->span;
        return err;
    }
    int64_t span = sluice_ceil_div(size, SLUICE_MAP_STRETCH) * SLUICE_MAP_STRETCH;
    void *at =
        mmap(m->base + p->base + p->span, (size_t)(span - p->span), prot, MAP_SHARED | MAP_FIXED, p->fd, p->span);
    if (at == MAP_FAILED) return -errno;
    p->span = span;
    return 0;
}

/* Learns the size of a piece anew. */
static int refresh(sluice_map *m, piece *p) {
    int64_t size = sluice_store_size(p->store, NULL), old = p->size;
    if (size < 0) return (int)size;
    size = sluice_min(size, p->room);
    int err = size > p->span ? map_piece(m, p, size) : 0;
    if (err) return err;
    /* The stretch of the old end was ready only up to there; what lies behind a new end is gone. */
    const int64_t first = p->base / SLUICE_MAP_STRETCH;
    if (size > old && old % SLUICE_MAP_STRETCH) m->state[first + old / SLUICE_MAP_STRETCH] = NEW;
    if (size < old)
        for (int64_t k = size / SLUICE_MAP_STRETCH; k <= (old - 1) / SLUICE_MAP_STRETCH; k++) m->state[first + k] = NEW;
    p->size = size;
    if (m->n == 1) m->size = size;
    return 0;
}

/* Whether mincore keeps silent about the file's pages: so it does for a file that is not ours to write. */
static bool is_blind(int fd) {
    struct stat st;
    bool owner = !fstat(fd, &st) && st.st_uid == geteuid();
    return !owner && faccessat(fd, "", W_OK, AT_EACCESS | AT_EMPTY_PATH);
}

/* Whether what is written to a mapping is the file's at once, for everyone: not so over a network. */
static bool is_local(int fd) {
    struct statfs fs;
    if (fstatfs(fd, &fs)) return false;
    switch ((unsigned long)fs.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC: return true;
    }
    return false;
}

/* Counts the pieces of a store and, if p is not NULL, writes down what they are; negative if one cannot be mapped. */
static int divide(sluice_store *s, piece *p) {
    int n = 0;
    for (int64_t base = 0, room;; base += room, n++) {
        int64_t at = base;
        sluice_store *holder = sluice_store_holder(s, &at, &room);
        if (at) return n;
        int fd = holder->ops->fd ? holder->ops->fd(holder) : -ENOTSUP;
        if (fd < 0) return fd;
        if (p) p[n] = (piece){.store = holder, .fd = fd, .blind = is_blind(fd), .base = base, .room = room};
    }
}

/* Maps all pieces. Several have their rooms in one range of addresses; what is no file's in there is never touched. */
static int map_all(sluice_map *m) {
    int err = 0;
    for (int i = 0; i < m->n; i++) m->write = m->write && is_local(m->piece[i].fd);
    if (m->n > 1) {
        m->size = m->piece[m->n - 1].base + m->piece[m->n - 1].room;
        err = enlarge(m, m->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    }
    for (int i = 0; i < m->n && !err; i++) err = refresh(m, &m->piece[i]);
    return err;
}

int sluice_map_open(sluice_map **out, sluice_store *s, bool write) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int n = divide(s, NULL);
    if (n < 0) return n;
    pthread_once(&once, install);
    if (!look()) return -EBUSY;
    sluice_map *m = sluice_mem_alloc(1, sizeof *m + (size_t)n * sizeof *m->piece);
    if (!m) return -ENOMEM;
    *m = (sluice_map){.write = write, .n = n};
    divide(s, m->piece);
    int err = map_all(m);
    if (err)
        sluice_map_close(m);
    else
        *out = m;
    return err;
}

void sluice_map_close(sluice_map *m) {
    if (!m) return;
    if (m->base) munmap(m->base, (size_t)m->span);
    if (m->state) munmap(m->state, (size_t)m->stretches);
    sluice_mem_free(m);
}

unsigned char *sluice_map_base(const sluice_map *m) { return m->base; }
bool sluice_map_writable(const sluice_map *m) { return m->write; }

/* Reads to the same small place over and over: only the answer counts. */
static bool read_at_once(const piece *p, int64_t lo, int64_t hi) {
    enum { PIECE = 16 << 10, N = SLUICE_MAP_STRETCH / PIECE };
    unsigned char sink[PIECE];
    struct iovec v[N];
    int n = 0;
    for (int64_t x = lo; x < hi; x += PIECE) v[n++] = (struct iovec){sink, (size_t)sluice_min(PIECE, hi - x)};
    return preadv2(p->fd, v, n, lo - p->base, RWF_NOWAIT) == hi - lo;
}

/* Systems take back single pages that were not used for a while. A few of them are brought in again sooner than all the
 * others are read by calls. */
enum { SPARE = 16 };

static bool is_cached(const sluice_map *m, const piece *p, int64_t lo, int64_t hi) {
    unsigned char in[SLUICE_MAP_STRETCH / 4096]; /* no system has smaller pages */
    if (p->blind) return read_at_once(p, lo, hi);
    if (mincore(m->base + lo, (size_t)(hi - lo), in)) return false;
    int64_t n = sluice_ceil_div(hi - lo, p->store->facts.align);
    int64_t there = 0;
    for (int64_t i = 0; i < n; i++) there += in[i] & 1;
    return n - there <= n / SPARE;
}

/* Enters the pages into the table, reading what is not there. Systems before 5.14 do not know how (EINVAL); there the
 * copy itself will. */
static bool populate(const sluice_map *m, int64_t lo, int64_t hi, bool fetch) {
    if (fetch) madvise(m->base + lo, (size_t)(hi - lo), MADV_WILLNEED);
    return !madvise(m->base + lo, (size_t)(hi - lo), MADV_POPULATE_READ) || errno == EINVAL;
}

/* Remembers that a stretch was refused. */
static void refuse(unsigned char *state) {
    int times = *state >> 5 < 6 ? (*state >> 5) + 1 : 6;
    *state = (unsigned char)(times << 5 | ((1 << (times - 1)) - 1));
}

static bool make_ready(sluice_map *m, int64_t off, int64_t len, sluice_touch how) {
    if (!look() || off < 0 || len < 0) return false;
    piece *p = piece_at(m, off);
    if (refresh(m, p)) return false;
    int64_t end = p->base + p->size, k = off / SLUICE_MAP_STRETCH, lo = k * SLUICE_MAP_STRETCH,
            hi = sluice_min(end - lo, SLUICE_MAP_STRETCH) + lo;
    if (off >= hi || len > hi - off) return false;
    if (m->state[k] >= EDGE) return true;
    bool fetch = how == SLUICE_TOUCH_FETCH;
    if ((fetch || is_cached(m, p, lo, hi)) && (how == SLUICE_TOUCH_FEW || populate(m, lo, hi, fetch)))
        m->state[k] = hi - lo < SLUICE_MAP_STRETCH && hi < m->size ? EDGE : READY;
    else
        refuse(&m->state[k]);
    return m->state[k] >= EDGE;
}

/* Whether the bytes were the file's when it was last asked. */
static bool is_inside(sluice_map *m, int64_t off, int64_t len) {
    const piece *p = piece_at(m, off);
    return len <= p->base + p->size - off;
}

bool sluice_map_ready(sluice_map *m, int64_t off, int64_t len, sluice_touch how) {
    if (off >= 0 && len >= 0 && off < m->size && len <= m->size - off) {
        unsigned char *state = &m->state[off / SLUICE_MAP_STRETCH];
        if (*state == READY && atomic_load_explicit(&ours, memory_order_relaxed)) return true;
        if (*state < EDGE && *state & 31 && how != SLUICE_TOUCH_FETCH) {
            --*state;
            return false;
        }
        if (*state == EDGE && atomic_load_explicit(&ours, memory_order_relaxed) && is_inside(m, off, len)) return true;
    }
    return make_ready(m, off, len, how);
}

int sluice_map_guard(sluice_map *m, void (*copy)(void *arg), void *arg) {
    if (copies % 64 == 0 && !look()) return -EBUSY;
    copies++;
    frame f = {.lo = m->base, .hi = m->base ? m->base + m->span : NULL, .outer = top};
    if (sigsetjmp(f.env, 0)) {
        top = f.outer;
        if (madvise(m->state, (size_t)m->stretches, MADV_DONTNEED)) memset(m->state, NEW, (size_t)m->stretches);
        return -EIO;
    }
    top = &f;
    copy(arg);
    top = f.outer;
    return 0;
}
