/* array.h: the inside of an array handle. */
#ifndef SLUICE_ARRAY_H
#define SLUICE_ARRAY_H

#include "file/file.h"
#include "io/collective.h"
#include "io/io.h"
#include "io/serve.h"
#include "sluice.h"
#include <limits.h>
#include <pthread.h>

/* A part as sets, and what they need to be freed. */
typedef struct sluice_bound_part {
    sluice_set file, mem;
} sluice_bound_part;

/* split.c. Parts of an array in subfiles, as parts of the space of these. */
typedef struct sluice_pieces {
    int n, room;
    sluice_io_part *part;
    sluice_bound_part *bound;
    sluice_run copied; /* of the array: from the first to the last byte of which there are several copies here */
} sluice_pieces;

/* split.c. Which copies of bytes that have several: those nearest to the owner of subfile `near`, in it or on its
 * target; or all; or the first ones. */
enum { SLUICE_FIRST_COPIES = -1, SLUICE_ALL_COPIES = -2 };
typedef struct sluice_which {
    int near;
    const int *target; /* of each subfile */
} sluice_which;

/* A transfer: parts bound to sets; in the background it waits in a queue. */
struct sluice_request {
    sluice_array *array;
    bool write, done;
    bool together;   /* a collective call */
    bool background; /* on the handle's thread */
    int n, error;
    sluice_bound_part *bound; /* n of each, as they were named; those of a single part are here */
    sluice_io_part *part;
    sluice_pieces pieces; /* what they are in subfiles, if the array lies in some */
    sluice_bound_part one_bound;
    sluice_io_part one_part;
    sluice_request *next;
    sluice_reason why;
};

/* serving.c. An array whose subfiles are at servers. */
typedef struct sluice_serving {
    sluice_far far;
    int place;       /* ours among the servers; -1: none */
    sluice_set mine; /* the bytes of the space that are here */
} sluice_serving;

struct sluice_array {
    sluice_desc desc;
    sluice_type type;
    sluice_container *container; /* NULL: the array lies in one file, */
    const sluice_layout *layout; /* and so has no layout */
    sluice_subfiles subfiles;    /* for plans of collective calls */
    int near;                    /* the subfile of this process in a layout by plan, or SLUICE_FIRST_COPIES */
    bool marked;                 /* copies.c: it is on disk that copies may differ */
    sluice_io io;
    sluice_collective *collective; /* NULL: of one process */
    sluice_serving *serving;       /* NULL: the subfiles are here, not at servers */
    bool writable;
    sluice_slabs *slabs; /* loops that are open on the handle, */
    int64_t limit;       /* and its memory without them */
    /* background.c: a thread that works off the queue, started with the first request */
    bool running, stop;
    pid_t owner; /* the process that has it */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    sluice_request *first, *last; /* not yet carried out, oldest first */
    struct {
        int file; /* traced.c: its number in the part of that number, and 1; 0: not known */
        int64_t part;
    } traced;
    bool spare_taken;
    sluice_request spare; /* for a collective request that could not be made: it must be there all the same */
};

typedef enum sluice_role { SLUICE_ALONE, SLUICE_FIRST, SLUICE_PEER } sluice_role;

/* place.c. Where a file is opened or made. */
typedef struct sluice_place {
    const char *path; /* as it was given, and as messages name it */
    int64_t ticket;   /* 0: there; else beside it, where this number names it */
    sluice_role role; /* of this process among those that share it */
    mode_t mode;      /* permissions of the file that it replaces; 0: there is none */
    char target[PATH_MAX], beside[PATH_MAX];
} sluice_place;

/* place.c. Local. A number that no one else has; the place of that number, or the path itself for 0; its path; and the
 * renaming of a new file that is whole to the path. */
int64_t sluice_place_ticket(void);
int sluice_place_find(sluice_place *p, const char *path, int64_t ticket, sluice_reason *why);
const char *sluice_place_at(const sluice_place *p);
int sluice_place_publish(const sluice_place *p, sluice_reason *why);

/* array.c. Fills in the defaults of options and checks them. */
int sluice_array_options(sluice_options *o, const sluice_options *given, const char *call, const char *path);

/* array.c. Local. A store of the kind that the options ask for; what transfers need to know of it, or why it cannot be
 * known whether ranges can be locked. */
int sluice_array_store(sluice_store **s, const char *path, sluice_store_mode mode, sluice_store_kind kind,
                       sluice_reason *why);
int sluice_array_io(sluice_io *io, sluice_store *store, bool writable, const sluice_options *o);

/* array.c. Local. sluice_open() and sluice_create() at a place, with checked options. What was made is not published
 * yet. */
int sluice_array_open(sluice_array **out, const sluice_place *p, int mode, const sluice_desc *given,
                      const sluice_options *o, sluice_reason *why);
int sluice_array_make(sluice_array **out, const sluice_place *p, const sluice_desc *given, const sluice_options *o,
                      sluice_reason *why);

/* array.c. Local. A handle on an open store that holds what d (settled) says; the store is closed with it. On failure
 * the store stays the caller's. */
int sluice_array_adopt(sluice_array **out, sluice_store *store, const sluice_desc *d, bool writable,
                       const sluice_options *o);

/* contain.c. Local. Whether there is a folder of that name; whether a new array of that name is to be a container. */
bool sluice_contain_there(const char *path);

/* contain.c. Local. Whether there is nothing of that name, but a container that was made of what had it; its path. */
bool sluice_contain_instead(char *out, size_t size, const char *path);
bool sluice_contain_wanted(const char *path, const sluice_options *o);

/* contain.c. Local. Opening and making arrays in containers, with checked options; what is left to close when the store
 * is closed. */
int sluice_contain_open(sluice_array **out, const sluice_place *p, int mode, const sluice_desc *given,
                        const sluice_options *o, sluice_reason *why);
int sluice_contain_make(sluice_array **out, const sluice_place *p, const sluice_desc *given, const sluice_options *o,
                        sluice_reason *why);
int sluice_contain_close(sluice_array *a);

/* contain.c. Local. What these are made of: the manifest of a new array; whether one is as a caller says; what opens
 * its subfiles. */
int sluice_contain_describe(sluice_manifest **out, const char *path, const sluice_desc *given, const sluice_options *o,
                            sluice_reason *why);
int sluice_contain_compare(const sluice_manifest *m, const sluice_desc *given, const char *path, sluice_reason *why);
sluice_store_opener *sluice_contain_opener(sluice_store_kind kind);
/* contain.c. Pure. Whether the array has checksums, and this process, alone or with its group, writes them. */
bool sluice_contain_seals(const sluice_array *a);

/* contain.c. Local. An error if checksums cannot tell whether the data are whole, so that new ones would hide damage.
 */
int sluice_contain_doubt(const sluice_array *a, sluice_reason *why);

/* contain.c. Local. Seals the checksums of every size-th subfile from number `rank` on, while no one writes. */
int sluice_contain_seal(sluice_array *a, int rank, int size, sluice_reason *why);

/* contain.c. Local. The handle of an open container, which it takes over if it succeeds. */
int sluice_contain_adopt(sluice_array **out, sluice_container *c, sluice_role role, const sluice_options *o,
                         sluice_reason *why);

/* contain.c. Local. Another extent in three steps. prepare: each process for itself, all that can fail without a file.
 * resize: the one that has the lock changes subfiles and manifest; *done: the container has the new extent, which it
 * also has if only the last sync failed. finish: each process, whatever happened: its handle becomes one of what there
 * is now, and what was prepared is given back. */
typedef struct sluice_resizing {
    sluice_manifest *next;
    sluice_subfiles subfiles;
} sluice_resizing;
int sluice_contain_prepare(sluice_resizing *r, const sluice_array *a, int64_t extent, sluice_reason *why);
int sluice_contain_resize(sluice_array *a, const sluice_resizing *r, bool *done, sluice_reason *why);

/* contain.c. Local. The second step in three, for processes that have a part of the subfiles each: their lengths are on
 * disk before the manifest names them, and that is before they are cut; or they get their old lengths again. */
int sluice_contain_lengthen(sluice_array *a, const sluice_resizing *r, sluice_reason *why);
int sluice_contain_publish(sluice_array *a, const sluice_resizing *r, bool *done, sluice_reason *why);
void sluice_contain_trim(sluice_array *a, const sluice_resizing *r, bool done);
void sluice_contain_finish(sluice_array *a, sluice_resizing *r, bool done);

/* relayout.c. Collective, if the array is. Another layout for the array of a container that is open for writing, in its
 * place: subfiles of the next generation are made beside the old ones, filled, and take their place in one step. Until
 * then, whatever happens, the array is as it was; after a crash what was made is found as left behind. -ENOSPC if there
 * is no room for both. The handle is then one of the new layout; if it fails after that step, too. */
typedef struct sluice_relayout {
    const char *layout, *targets; /* NULL: as they are */
    const sluice_order *order;    /* NULL: as it is */
    int64_t memory;               /* as of sluice_copy_options, and the rest too */
    int (*progress)(void *arg, int64_t done, int64_t total);
    void *arg;
} sluice_relayout;
int sluice_relayout_all(sluice_array *a, const sluice_relayout *o);

/* relayout.c. Local. The manifest of what that would make of the array; the caller frees it. */
int sluice_relayout_plan(sluice_manifest **next, const sluice_array *a, const sluice_relayout *o, sluice_reason *why);

/* errmsg.c. The sentence kept last, with its error, as a reason. */
sluice_reason sluice_errmsg_reason(int error);

/* errmsg.c. Pure. Puts "<call> <path>: " before the sentence of an error that does not name the path: one about a
 * target, or for want of memory. Returns the error. */
int sluice_errmsg_name(const char *call, const char *path, int error, sluice_reason *why);

/* errmsg.c. Keeps the sentence for sluice_errmsg() and returns the error. */
int sluice_errmsg_set(const sluice_reason *why);
int sluice_errmsg_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* bind.c. Fills in a request, which then stays where it is, with the sets of its parts, and frees those; every argument
 * is checked here. After a failure there is nothing to free. */
int sluice_bind(sluice_request *r, sluice_array *a, bool write, const sluice_part *part, int n, sluice_reason *why);
void sluice_bind_free(sluice_request *r);

/* bind.c. 0, or why the array cannot be written. */
int sluice_bind_allowed(const sluice_array *a, bool write, sluice_reason *why);

/* split.c. Pure. The pieces of n parts, subfile by subfile for each, or of a layout by plan lot by lot; of several
 * copies the first ones, or which are wanted; and what a set of bytes of the array is in the space of the subfiles. */
int sluice_split(sluice_pieces *out, const sluice_layout *l, const sluice_io_part *part, int n);
int sluice_split_which(sluice_pieces *out, const sluice_layout *l, sluice_which which, const sluice_io_part *part,
                       int n);
void sluice_split_free(sluice_pieces *p);
int sluice_split_file(sluice_set *out, const sluice_layout *l, const sluice_set *file);

/* split.c. Pure. The pieces of n parts of an array in subfiles, as a transfer of this process moves them. */
int sluice_split_parts(sluice_pieces *out, const sluice_array *a, bool write, const sluice_io_part *part, int n);

/* copies.c. Pure. Whether the array has bytes in several copies; the process of that rank reads the nearest. */
bool sluice_copies_there(const sluice_array *a);
void sluice_copies_near(sluice_array *a, int rank);

/* copies.c. Local. Before and after a write of pieces of which some are copies: no one else writes the same ones
 * meanwhile. leave takes and returns the error of the write. */
int sluice_copies_enter(sluice_array *a, sluice_run copied, sluice_reason *why);
int sluice_copies_leave(sluice_array *a, sluice_run copied, int error, sluice_reason *why);

/* copies.c. Collective. The same for a write of all processes; they agree on *copied, and on an error, with which no
 * one writes. */
int sluice_copies_enter_all(sluice_array *a, sluice_group *g, sluice_run *copied, int error, sluice_reason *why);
int sluice_copies_leave_all(sluice_array *a, sluice_group *g, sluice_run copied, int error, sluice_reason *why);

/* copies.c. Collective (g may be NULL: of one process), of an array with copies. They are on disk: no one writes now,
 * and the stores were synced. */
int sluice_copies_settle(sluice_array *a, sluice_group *g, sluice_reason *why);

/* copies.c. Pure. Whether they must be on disk when the array is closed: they lie in the memory of several nodes. */
bool sluice_copies_scattered(const sluice_array *a, const sluice_group *g);

/* transfer.c. Carries the transfer out; on any thread. swap: to this machine's byte order, if need be. */
int sluice_transfer_run(sluice_request *r);
int sluice_transfer_pieces(sluice_array *a, bool write, const sluice_pieces *p, sluice_reason *why); /* by itself */
void sluice_transfer_swap(const sluice_array *a, const sluice_io_part *part, int n);

/* traced.c. Local. Around a transfer: when it begins, and, if it succeeded, what was moved; of use if a trace is
 * recorded. n = 0: it took part in a collective call with nothing. */
bool sluice_traced_on(void);
int64_t sluice_traced_begin(void);
void sluice_traced_end(sluice_array *a, bool write, bool together, const sluice_io_part *part, int n, int64_t begin);

/* all.c. Pure. The array as plans see it: of one in subfiles it is their space, which has no slabs. */
sluice_extent sluice_all_extent(const sluice_array *a);

/* all.c. Collective. Carries the parts of a collective transfer out, or takes part with an error. */
int sluice_all_run(sluice_array *a, bool write, const sluice_io_part *part, int n, const sluice_known *known,
                   bool main_thread, int error, sluice_reason *why);

/* all.c. Collective. The same for parts of the array of which these are the pieces. */
int sluice_all_run_pieces(sluice_array *a, bool write, const sluice_pieces *p, const sluice_known *known,
                          bool main_thread, int error, sluice_reason *why);
int sluice_all_resize(sluice_array *a, int64_t extent, int error, sluice_reason *why); /* after its start */
int sluice_all_close(sluice_collective *c, int error);                                 /* the last agreements */

/* serving.c. Collective. The start of a call, where there are servers; takes and returns our error. */
int sluice_serving_meet(sluice_array *a, int64_t call, int64_t number, int error, sluice_reason *why);

/* serving.c. Collective. The end of all calls: a server takes part in those of the others until they have ended, too.
 * Returns the first error of a write that came late, on the server where it happened. */
int sluice_serving_end(sluice_array *a, sluice_reason *why);
void sluice_serving_free(sluice_serving *v);

/* serving.c. Collective. The part of sluice_all_resize() that comes after its preparation; takes back its error. */
int sluice_serving_resize(sluice_array *a, sluice_resizing *r, sluice_reason *why);

/* serving.c. Pure. Whether subfile i is here; always, without servers. */
bool sluice_serving_has(const sluice_array *a, int i);

/* array.c. Collective. The rest of sluice_sync() after its start, with an error of that. */
int sluice_array_sync(sluice_array *a, int64_t call, int error, sluice_reason *why);

/* bytes.c. A transfer of bytes by their offsets in the file, or, of an array in subfiles, in the bytes of the array.
 * Elements are not turned around. move: Collective if `together` and the array is of a group, else Local; takes an
 * error with which it only takes part. near: Pure: how many of them lie in a subfile; all copies are counted, also in
 * *all. */
typedef struct sluice_bytes {
    const sluice_set *file;
    void *buf; /* packed */
    bool write, together;
} sluice_bytes;
int sluice_bytes_move(sluice_array *a, const sluice_bytes *b, int error, sluice_reason *why);
int sluice_bytes_near(const sluice_array *a, const sluice_set *file, bool write, int subfile, int64_t *near,
                      int64_t *all);

/* reuse.c. Pure. The array as [outer][extent of dim][inner], inner in bytes. If an index of dim has no elements both
 * are 0, and so they may be if there are no indices. */
void sluice_reuse_around(const sluice_shape *s, int dim, int64_t *outer, int64_t *inner);

/* background.c. */
int sluice_background_start(sluice_request *r, sluice_reason *why);
void sluice_background_drain(sluice_array *a); /* returns when the queue is empty */
void sluice_background_end(sluice_array *a);   /* the same, and ends the thread */

#endif
