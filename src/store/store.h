/* store.h: bytes in one physical file, or in several that are put one behind the other.
 *
 * A store is a table of functions and a table of numbers. The functions do what the system does, no better: a
 * transfer may be short, interrupted or refused. Everything else sits once in sluice_store_xfer(): it is the only
 * caller of submit and wait, and what it promises is what the layers above build on:
 *
 *   - all bytes are moved, or an error says at which offset it stopped, and the count says how many were moved;
 *   - EINTR and short transfers never surface, EAGAIN only after ten seconds without a byte; a write that moves nothing
 *     is an error (-EIO), not a loop, and so is a read that twice finds nothing before the end of the file;
 *   - what a read finds past the end of the file is zeros, and counts as moved;
 *   - no call moves more than 1 GiB, whatever was asked.
 *
 * The other functions have callers of the same kind (sluice_store_size() and so on), which the layers above use instead
 * of the table.
 *
 * Stores: posix (posix.c), io_uring (uring.c), memory (ram.c, the template for a new one), several of them as one
 * (join.c), and one that another process has (elsewhere.c). Shims stand in front of another store and have the same
 * interface: fault.c makes the n-th call fail, tap.c reports each call, sums.c has a checksum for each block.
 *
 * Thread-safety: sluice_store_xfer(), size and sync may be called from any thread at the same time; a store that
 * cannot do that by nature (a ring) locks itself. A map belongs to one thread at a time.
 */
#ifndef SLUICE_STORE_H
#define SLUICE_STORE_H

#include "base/base.h"
#include "sluice_set.h"
#include <sys/uio.h>

typedef struct sluice_store sluice_store;

/* One contiguous range of the file, to or from pieces of memory in order. */
typedef struct sluice_req {
    int64_t off, len;        /* len = sum of the pieces */
    const struct iovec *iov; /* never written */
    int niov;
    int64_t
        result; /* after wait: bytes moved or -errno, as the system said; after xfer: bytes moved, from the first on */
} sluice_req;

typedef enum sluice_lock {
    SLUICE_UNLOCK,
    SLUICE_LOCK,
    SLUICE_LOCK_SHARED,
    SLUICE_LOCK_TEST /* takes none: -EBUSY if SLUICE_LOCK would have to wait for another handle */
} sluice_lock;

/* What the store is like, as numbers. Times are seconds, measured once per kind of store, on a cached file. */
typedef struct sluice_store_facts {
    int64_t align;   /* natural unit of memory and file: the page */
    int64_t block;   /* preferred transfer size of the file system */
    int64_t stripe;  /* 0 = not striped */
    int depth;       /* requests that may be in flight together; 1 = no gain from batches */
    bool background; /* submit returns before what is cold is there, and the caller can do something else */
    double call;     /* what a call costs beyond its bytes */
    double byte;     /* what a cached byte costs */
} sluice_store_facts;
enum { SLUICE_STORE_DEPTH = 64 }; /* no store has more */

typedef struct sluice_store_ops {
    const char *name;
    int (*close)(sluice_store *s);
    /* Starts n <= facts.depth requests; wait returns when all that were submitted have their result. A negative
     * return of submit means that none was started, of wait that the results are not known. The thread that submits
     * waits before it submits again. */
    int (*submit)(sluice_store *s, bool write, sluice_req *req, int n);
    int (*wait)(sluice_store *s, sluice_req *req, int n);
    int64_t (*size)(sluice_store *s);             /* bytes, or negative */
    int (*resize)(sluice_store *s, int64_t size); /* new bytes are zeros */
    int (*sync)(sluice_store *s);                 /* what was written survives a crash; a failure is final */
    /* Optional (NULL or -ENOTSUP = not possible). lock: waits for a lock on [off, off + len) against other handles of
     * any process, or releases it. fd: see map.c. */
    int (*lock)(sluice_store *s, int64_t off, int64_t len, sluice_lock how);
    int (*fd)(sluice_store *s); /* a descriptor that can be mapped, or negative */
    /* Optional. Refuses with a sentence that knows more about an error at a byte than the store's name. */
    int (*blame)(sluice_store *s, sluice_reason *why, int error, const char *call, int64_t off);
    /* Optional. See sluice_store_holder(); NULL: no member, and nothing has changed. */
    sluice_store *(*holder)(sluice_store *s, int64_t *off, int64_t *room);
} sluice_store_ops;

struct sluice_store {
    const sluice_store_ops *ops;
    sluice_store_facts facts;
    char *name;          /* for messages: the end of a path, on one line; owned */
    sluice_store *inner; /* of a shim; closed with it */
    _Atomic int lost;    /* the error of a sync that failed */
};

typedef enum sluice_store_mode {
    SLUICE_STORE_READ,   /* must exist, read only */
    SLUICE_STORE_WRITE,  /* must exist, read and write */
    SLUICE_STORE_CREATE, /* must not exist: made, empty, read and write */
    SLUICE_STORE_REPLACE /* made, or emptied */
} sluice_store_mode;

/* Local. Opening. Only regular files. why names the file and the system's reason. sluice_store_open takes the best kind
 * for the machine: io_uring if the kernel allows it, else posix, silently. sluice_store_open_uring returns -ENOSYS
 * where the kernel does not allow it, or if Sluice was built without. */
int sluice_store_open(sluice_store **out, const char *path, sluice_store_mode mode, sluice_reason *why);
int sluice_store_open_posix(sluice_store **out, const char *path, sluice_store_mode mode, sluice_reason *why);
int sluice_store_open_uring(sluice_store **out, const char *path, sluice_store_mode mode, sluice_reason *why);
int sluice_store_open_ram(sluice_store **out, int64_t size, sluice_reason *why);

/* Local. The same for a name in an open folder, which is not followed if it is a symbolic link. AT_FDCWD: a path. */
int sluice_store_open_at(sluice_store **out, int folder, const char *name, sluice_store_mode mode, sluice_reason *why);

/* What opens a store of some kind: sluice_store_open_at() the best, sluice_posix_make() and sluice_uring_make() theirs.
 */
typedef int sluice_store_opener(sluice_store **out, int folder, const char *name, sluice_store_mode mode,
                                sluice_reason *why);

/* Local. Closes and frees, also if it returns an error (which then is that of a late write). NULL is allowed. */
int sluice_store_close(sluice_store *s);

/* Local. Moves all n requests (any n), see above; they may be carried out in any order, so writes must not overlap.
 * *moved (may be NULL) is the number of bytes that were moved for certain, also on failure, and each request's result
 * its share. why names the call, the file and the offset. */
int sluice_store_xfer(sluice_store *s, bool write, sluice_req *req, int n, int64_t *moved, sluice_reason *why);

/* Local. The same in two halves, so that the caller can do something else while the first requests (up to facts.depth)
 * are under way, if the store can carry them out meanwhile. The requests, what they describe and x stay where they are
 * until the end, which must come even if the result is of no interest; the thread uses the store for nothing else until
 * then. After a begin that failed there is no end. */
typedef struct sluice_xfer_slot {
    sluice_req *req;  /* its result is what has been moved so far */
    int piece;        /* place in its vector: this piece, */
    size_t skip;      /* this byte of it */
    int zeros, tries; /* calls in a row that found nothing, that were told to come again */
    struct iovec part;
} sluice_xfer_slot;
typedef struct sluice_xfer {
    sluice_store *store;
    bool write;
    sluice_req *req, *failed;   /* failed: the one that the error belongs to */
    int n, next, depth, active; /* requests; the first that is not under way yet; how many may be, and are */
    int started, error;         /* what submit said; of the transfer */
    sluice_xfer_slot slot[SLUICE_STORE_DEPTH];
    sluice_req call[SLUICE_STORE_DEPTH];
} sluice_xfer;
int sluice_store_begin(sluice_xfer *x, sluice_store *s, bool write, sluice_req *req, int n, sluice_reason *why);
int sluice_store_end(sluice_xfer *x, int64_t *moved, sluice_reason *why);

/* Local. One piece. */
int sluice_store_read(sluice_store *s, int64_t off, void *buf, int64_t len, sluice_reason *why);
int sluice_store_write(sluice_store *s, int64_t off, const void *buf, int64_t len, sluice_reason *why);

/* Local. The other calls: not interrupted, and why names the call and the file. After a sync that failed all later ones
 * fail: the system may have dropped the bytes it could not write. lock is -ENOTSUP where not possible. */
int64_t sluice_store_size(sluice_store *s, sluice_reason *why);
int sluice_store_resize(sluice_store *s, int64_t size, sluice_reason *why);
int sluice_store_sync(sluice_store *s, sluice_reason *why);
int sluice_store_lock(sluice_store *s, int64_t off, int64_t len, sluice_lock how, sluice_reason *why);

/* Local. A hint that a range will be read soon: where the system can, it starts to read it now, in the background. */
void sluice_store_expect(sluice_store *s, int64_t off, int64_t len);

/* elsewhere.c. Local. In place of a store that another process has. */
int sluice_store_open_elsewhere(sluice_store **out, int64_t size, const char *path, sluice_reason *why);

/* join.c. Local. n >= 1 stores as one of `end` bytes, which messages call by a path. Member i has the room from base[i]
 * to base[i + 1], the last one to the end; base[0] is 0, the others do not descend and are multiples of
 * SLUICE_MAP_STRETCH. What lies in a room behind the bytes of its member reads as zeros, and what is written there is
 * dropped, so that no member becomes longer; what a member has beyond its room is not seen. Members must therefore have
 * their bytes, if only as holes, before they are written to. A write behind the end is -EFBIG, resize -ENOTSUP. Ranges
 * can be locked if those of all members can; bytes behind the end, which say what handles of the same members have
 * agreed on, are locked in the first. After a lock that failed nothing of its range is locked. The members are closed
 * with the join, and stay the caller's if it cannot be made. */
int sluice_store_open_join(sluice_store **out, sluice_store *const *stores, const int64_t *base, int n, int64_t end,
                           const char *path);

/* join.c. Local. Other rooms for the members of a join, which have been resized: 2 n numbers, where the room of each
 * starts and where its bytes end. A map of the join must be gone. */
void sluice_store_move_join(sluice_store *s, const int64_t *run, int64_t end);

/* store.c. Pure. The store that has byte *off of s for its own, behind shims, too: of a join a member, else s itself,
 * which also has what lies behind the end. *off becomes its offset there, and *room the bytes from there on that are
 * its own. So a member with room is the holder of where the room before it ends, which is its byte 0. */
sluice_store *sluice_store_holder(sluice_store *s, int64_t *off, int64_t *room);

/* fault.c. Counts the calls of a store (submitted requests, size, resize, sync, lock, close each count as one) and
 * makes call number `at` (1 = the first from now; 0 = none) misbehave once. A shim that could not be made leaves the
 * inner store open. */
typedef enum sluice_fault_kind {
    SLUICE_FAULT_ERROR, /* the call fails with -error and moves nothing */
    SLUICE_FAULT_SHORT, /* a transfer moves about half (at least one byte if it can); other calls are not affected */
    SLUICE_FAULT_ZERO,  /* a transfer moves nothing and reports 0 */
    SLUICE_FAULT_EINTR  /* the call is interrupted once */
} sluice_fault_kind;
int sluice_store_open_fault(sluice_store **out, sluice_store *inner);
void sluice_fault_set(sluice_store *s, int64_t at, sluice_fault_kind kind, int error);
int64_t sluice_fault_calls(const sluice_store *s);

/* tap.c. Reports each call after it was done, on the thread that made it: read, write, size, resize, sync, lock,
 * unlock, share, test, close. */
typedef void sluice_tap(void *arg, const char *call, int64_t off, int64_t len, int64_t result);
int sluice_store_open_tap(sluice_store **out, sluice_store *inner, sluice_tap *tap, void *arg);

/* sums.c: checksums (CRC-32C) of the blocks of a store, which lie in another, `file`; its head has what the two have in
 * common. Reads compare every block that they touch: SLUICE_E_CHECKSUM, after the bytes before it. So do writes of a
 * part of a block. What was written since the last sealing has no checksum. There is no mapping. Length: the bytes of
 * the file for so many of data. Open checks that it is as long, and these sums; both stores are closed with the shim,
 * and stay the caller's if it cannot be made. */
enum { SLUICE_SUMS_HEAD = 128, SLUICE_SUMS_LEAST = 512, SLUICE_SUMS_MOST = 16 << 20 };
typedef struct sluice_sums_id {
    int64_t block; /* a power of two from LEAST to MOST */
    int64_t generation;
    int subfile;
    char uuid[32], target[64]; /* target: for messages */
} sluice_sums_id;
int64_t sluice_sums_length(int64_t size, int64_t block);
void sluice_sums_head(unsigned char bytes[SLUICE_SUMS_HEAD], const sluice_sums_id *id);
int sluice_store_open_sums(sluice_store **out, sluice_store *data, sluice_store *file, const sluice_sums_id *id,
                           int64_t size, sluice_reason *why);

/* sums.c. Local. Puts data on disk and gives what was written its checksums, while no one writes; 0 for a store that
 * has none. accept: after a power cut, what does not match is taken as it is. recover: a writer that comes first finds
 * out whether the last one was ended by such. */
int sluice_sums_seal(sluice_store *s, bool accept, sluice_reason *why);
int sluice_sums_recover(sluice_store *s, sluice_reason *why);

/* sums.c. Local, of a store with checksums. DIRTY: some blocks may have none; DOUBT: after a power cut. */
typedef enum sluice_sums_states { SLUICE_SUMS_SEALED, SLUICE_SUMS_DIRTY, SLUICE_SUMS_DOUBT } sluice_sums_states;
int sluice_sums_state(sluice_store *s, sluice_sums_states *state, sluice_reason *why);

/* sums.c. Local, of a store with checksums. Reads all of it, and tells of each block how it is: 0, an error, or
 * SLUICE_SUMS_OPEN: it has no checksum, or one that may be of an earlier time. What is returned, if not 0, ends it. */
enum { SLUICE_SUMS_OPEN = 1 };
typedef int sluice_sums_found(void *arg, int how, sluice_run block);
int sluice_sums_scrub(sluice_store *s, sluice_sums_found *each, void *arg, sluice_reason *why);

/* map.c: reading and writing cached files without a system call. The file, of a join those of all members, is mapped
 * for the life of the map (again, when it has grown) and looked after in stretches of SLUICE_MAP_STRETCH bytes.
 * sluice_map_ready says whether [off, off + len), which lies in one stretch, can be read through the mapping now, at
 * the price of memory copies: the pages of the stretch are in the page cache (mincore) and, if many of them will be
 * touched, their table entries have been filled in (MADV_POPULATE_READ, which reports errors); a stretch found ready is
 * remembered, so that asking again costs a few instructions. SLUICE_TOUCH_FETCH: cold pages are brought in too. Parts
 * past the end of the file or of a member, cold parts and failures say no, and the caller reads as usual. Asking may
 * map anew: take the base afterwards. sluice_map_guard runs copy(arg); if the file was cut short or its disk fails
 * meanwhile, the fault is caught and -EIO is returned instead of a crash; what the copy had written by then is
 * undefined. The copy takes no locks and allocates nothing, since it may never return. If the map was opened for
 * writing and the file system is local (sluice_map_writable), the copy may go the other way: what is stored there is
 * the file's content at once, and only the bytes stored change. A disk that is full then shows as a fault in a hole of
 * the file; writing by calls afterwards says what it was. */
enum { SLUICE_MAP_STRETCH = 2 << 20 };
typedef struct sluice_map sluice_map;
int sluice_map_open(sluice_map **out, sluice_store *s, bool write);
void sluice_map_close(sluice_map *m);
typedef enum sluice_touch { SLUICE_TOUCH_FEW, SLUICE_TOUCH_MANY, SLUICE_TOUCH_FETCH } sluice_touch;
bool sluice_map_ready(sluice_map *m, int64_t off, int64_t len, sluice_touch how);
unsigned char *sluice_map_base(const sluice_map *m); /* the byte at offset 0 */
bool sluice_map_writable(const sluice_map *m);
int sluice_map_guard(sluice_map *m, void (*copy)(void *arg), void *arg);

/* For the stores themselves. */

/* store.c. Messages call the store by another path from now on; false without memory for it. */
bool sluice_store_call(sluice_store *s, const char *path);

/* store.c. Fills in what all stores have; false without memory for the name. free gives that back, then s itself. */
bool sluice_store_init(sluice_store *s, const sluice_store_ops *ops, const char *path);
void sluice_store_free(sluice_store *s);

/* store.c. Pure. What messages call a file: its path on one line, of a long one the end. */
typedef struct sluice_label {
    char text[84];
} sluice_label;
sluice_label sluice_store_label(const char *path);

/* store.c. Refuses with "<call> <name> at byte <off>: <error>", without the offset if it is negative. The name is made
 * of a path, as that of a store is, and may be one already. */
int sluice_store_refuse(sluice_reason *why, int error, const char *call, const char *path, int64_t off);

/* store.c. The same about [off, off + len) of a store; of a join, about the member that holds all of it. */
int sluice_store_blame(sluice_reason *why, int error, const char *call, sluice_store *s, int64_t off, int64_t len);

/* store.c. The pieces at the front of a request that together have at most `most` bytes, and at least one byte: as many
 * whole pieces as fit, or a part of the first that has any, described by *part. */
sluice_req sluice_store_front(const sluice_req *req, int64_t most, struct iovec *part);

/* posix.c. A store on a descriptor; uring.c is one with a ring. close frees p too. */
typedef struct sluice_posix {
    sluice_store s;
    int fd, dir;         /* dir: the folder of a file that was made; else -1 */
    pid_t owner;         /* the process that opened it */
    _Atomic bool listed; /* the folder's entry is on disk */
} sluice_posix;
int sluice_posix_open(sluice_posix *p, const sluice_store_ops *ops, int folder, const char *path,
                      sluice_store_mode mode, sluice_reason *why);
int sluice_posix_make(sluice_store **out, int folder, const char *path, sluice_store_mode mode, sluice_reason *why);
int sluice_uring_make(sluice_store **out, int folder, const char *path, sluice_store_mode mode, sluice_reason *why);
int sluice_posix_close(sluice_store *s);
int sluice_posix_submit(sluice_store *s, bool write, sluice_req *req, int n);
int sluice_posix_wait(sluice_store *s, sluice_req *req, int n);
int64_t sluice_posix_size(sluice_store *s);
int sluice_posix_resize(sluice_store *s, int64_t size);
int sluice_posix_sync(sluice_store *s);
int sluice_posix_lock(sluice_store *s, int64_t off, int64_t len, sluice_lock how);
int sluice_posix_fd(sluice_store *s);

/* measure.c. Sets facts.call and facts.byte of a store that holds at least SLUICE_MEASURE bytes, in some 50
 * microseconds; stays at what they were if it cannot. */
enum { SLUICE_MEASURE = 64 << 10 };
void sluice_measure(sluice_store *s);

#endif
