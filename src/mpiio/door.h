/* door.h: MPI-IO on Sluice: the inside of libsluice-mpiio.so.
 *
 * The library stands before the MPI library and takes the calls of its chapter on I/O. An access is again a transfer
 * between two sets: the file side is a range of the view, whose filetype is an element (type.h), the memory side is
 * the datatype of the buffer. So there is one path for all of the calls that move data:
 *
 *     entry.c    the names that programs call; what is not ours goes on to the next library (host.c)
 *     call.c     arguments, and which of the three file pointers says where (pointer.c)
 *     carry.c    the two sets, and the transfer by src/io
 *     lane.c     in order, on the caller's thread or on one of ours; greq.c: as a request of MPI's
 *
 * and a short cut for the shortest of them (short.c).
 *
 * Calls of one process and calls of all have a lane each, with a store of its own: what one process does never waits
 * for the others, whatever collective is under way.
 *
 * Errors are those of the other layers, or a class of MPI's as a number below all of them (class.c). In a collective
 * call all processes agree on one.
 */
#ifndef SLUICE_MPIIO_DOOR_H
#define SLUICE_MPIIO_DOOR_H

#include "array/array.h"
#include "mpiio/type.h"
#include <mpi.h>
#include <pthread.h>

typedef struct sluice_door sluice_door;

/* ---- host.c: the MPI library behind us ---- */

/* Local. The function of that name in the next library; ends the program if there is none. */
void *sluice_host_find(const char *name);

/* Local. Whether SLUICE_MPIIO leaves the file to the host; the file's name without "ufs:" and the like. */
bool sluice_host_has(const char *path);
const char *sluice_host_strip(const char *name);

/* ---- class.c: errors, and who is told of them ---- */

/* An error of one of MPI's classes, as other layers return errors. */
enum { SLUICE_CLASS = -100000 };
static inline int sluice_class_error(int class) { return SLUICE_CLASS - class; }

/* Pure. The class of an error. */
int sluice_class_of(int error);

/* Local. An error code for MPI that has the sentence for its string. */
int sluice_class_code(int error, const sluice_reason *why);

/* Local. The same, after the error handler was called, and what that made of it; of no file if d is NULL. 0 for no
 * error. */
int sluice_class_raise(sluice_door *d, int error, const sluice_reason *why);

typedef struct sluice_handler {
    MPI_Errhandler handle; /* a reference of ours */
    MPI_File_errhandler_function *function;
    bool fortran; /* it is one of Fortran's, to which files and codes are integers */
    bool fatal;
} sluice_handler;

/* Local. Remembers what a handler calls. take: a reference to it, for a file; the one of MPI_FILE_NULL is what files
 * start with. lend: a reference for a caller. */
void sluice_handler_learn(MPI_Errhandler handle, MPI_File_errhandler_function *function, bool fortran);
int sluice_handler_take(sluice_handler *h, MPI_Errhandler handle);
int sluice_handler_default(sluice_handler *h);
int sluice_handler_lend(const sluice_handler *h, MPI_Errhandler *out);
void sluice_handler_drop(sluice_handler *h);

/* Local. Returns the code, which the handler may have changed: a program can so take an error as dealt with. */
int sluice_handler_call(const sluice_handler *h, MPI_File fh, int code);

/* ---- handle.c: which files are ours ---- */

/* Local. The file of a handle or of a Fortran index; NULL: it is not ours. */
sluice_door *sluice_handle_find(MPI_File fh);
sluice_door *sluice_handle_at(MPI_Fint index);
MPI_Fint sluice_handle_index(const sluice_door *d);
int sluice_handle_add(sluice_door *d); /* 0 or -ENOMEM */
void sluice_handle_remove(sluice_door *d);

/* ---- lane.c: transfers one after the other ---- */

typedef struct sluice_job sluice_job;
struct sluice_job {
    void (*run)(sluice_job *j, bool main_thread);
    void (*told)(sluice_job *j); /* on the thread of the lane, when it is done; may be NULL */
    bool done;
    uint64_t ticket;
    sluice_job *next;
};

typedef struct sluice_lane {
    sluice_io *io;
    sluice_io plain;     /* of a file, */
    sluice_array *array; /* or of a container: NULL: a file */
    MPI_Comm comm;       /* for looking after messages while we wait */
    pthread_mutex_t mutex;
    pthread_cond_t change;
    uint64_t next, serving; /* tickets */
    sluice_job *first, *last;
    bool running, stop;
    pthread_t thread;
} sluice_lane;

void sluice_lane_open(sluice_lane *l, MPI_Comm comm);
void sluice_lane_close(sluice_lane *l); /* when all is done */

/* Local. Runs the job on this thread, after those that came before. */
void sluice_lane_run(sluice_lane *l, sluice_job *j);

/* Local. Leaves the job to the thread of the lane; false: there is none to be had. wait: until it is done. */
bool sluice_lane_post(sluice_lane *l, sluice_job *j);
void sluice_lane_wait(sluice_lane *l, sluice_job *j);

/* Local. What comes between is not a transfer. */
void sluice_lane_enter(sluice_lane *l);
void sluice_lane_leave(sluice_lane *l);

/* ---- fileview.c: which bytes of the file a process sees ---- */

typedef struct sluice_fileview {
    MPI_Datatype etype, filetype; /* copies of ours */
    char datarep[MPI_MAX_DATAREP_STRING];
    sluice_form form;
    int64_t disp;
    int64_t unit; /* bytes of an etype in the file */
    int64_t size; /* bytes of a filetype there */
    bool whole;   /* every byte from disp on; else */
    sluice_set set;
    sluice_element element;
    sluice_typed *order; /* overlap.c: the filetype, if bytes come twice in it, or in more than one of them */
} sluice_fileview;

/* Local. Bytes from 0 on. */
void sluice_fileview_start(sluice_fileview *v);

/* Local. On failure *v stays what it was. writable: for files that may be written, so that nothing may come twice. */
int sluice_fileview_make(sluice_fileview *v, bool writable, int64_t disp, MPI_Datatype etype, MPI_Datatype filetype,
                         const char *datarep, sluice_reason *why);
void sluice_fileview_free(sluice_fileview *v);

/* Local. Whether a datatype is predefined, so that its handle means the same for ever. */
bool sluice_fileview_predefined(MPI_Datatype type);

/* Local. A datatype that the caller of MPI_File_get_view may free: predefined, or a copy. */
MPI_Datatype sluice_fileview_lend(MPI_Datatype type);

/* Pure. Where byte `at` of the view lies in the file, or negative; bytes [at, at + n) as a set, which is empty if
 * some may come twice; bytes of the view up to the first that lies at byte x of the file or behind. */
int64_t sluice_fileview_offset(const sluice_fileview *v, int64_t at);
int sluice_fileview_cut(const sluice_fileview *v, int64_t at, int64_t n, sluice_set *out, sluice_reason *why);
int64_t sluice_fileview_rank(const sluice_fileview *v, int64_t x);

/* Local. The extent of a datatype in a file of that form. */
int sluice_fileview_extent(const sluice_fileview *v, MPI_Datatype type, int64_t *extent, sluice_reason *why);

/* Local. Makes a name known; SLUICE_E_... or a class. */
int sluice_datarep_register(const char *name, bool converts, sluice_reason *why);

/* ---- overlap.c: views in which bytes come twice ---- */

/* Pure. As those of views, for bytes from displacement 0 on. Negative: past the end of all files. */
int64_t sluice_overlap_offset(const sluice_typed *t, int64_t at);
int64_t sluice_overlap_rank(const sluice_typed *t, int64_t x);

/* Pure. How many bytes of the view, from `at` on, can be had from so many of the file in a row (at least those of one
 * filetype), and where in the file these lie. */
int64_t sluice_overlap_piece(const sluice_typed *t, int64_t at, int64_t most, int64_t *lo, int64_t *hi);

/* ---- hint.c: what programs advise ---- */

typedef struct sluice_hints {
    int64_t memory; /* cb_buffer_size: for all buffers of a lane */
    int aggregators;
    int nodes;                      /* sluice_nodes: pretend that there are so many */
    sluice_way way[2];              /* romio_cb_read, romio_cb_write */
    sluice_method method[2];        /* romio_ds_read, romio_ds_write */
    bool container;                 /* sluice_container: a plain name may mean a container */
    char ignored[MPI_MAX_INFO_VAL]; /* keys without effect */
} sluice_hints;

/* Local. The defaults, and what `info` says beside them. */
void sluice_hint_start(sluice_hints *h);
void sluice_hint_read(sluice_hints *h, MPI_Info info);

/* Local. A new info with all that is in force. */
int sluice_hint_tell(const sluice_door *d, MPI_Info *out);

/* ---- carry.c: one access ---- */

typedef struct sluice_carry {
    sluice_job job;
    sluice_door *door;
    bool write, together;
    bool twice;         /* bytes of the file may come more than once: read only */
    sluice_typed *type; /* of the memory */
    bool lent;          /* it is one that the door keeps */
    unsigned char *buf;
    int64_t count;
    int64_t at;     /* byte of the view */
    int64_t bytes;  /* of memory that were asked for, */
    int64_t length; /* and what they are in the file */
    sluice_set file, mem;
    int64_t moved;   /* bytes of memory, in the end */
    int64_t in_file; /* and in the file */
    int error;
    sluice_reason why;
} sluice_carry;

/* ---- door.c: open files ---- */

enum { SLUICE_KNOWN = 4 };

struct sluice_door {
    int slot; /* handle.c */
    char *path;
    int amode;
    sluice_collective *collective;
    sluice_group *group;
    sluice_lane own, shared; /* shared: of the collective calls. With one process it is not open, */
    sluice_lane *all;        /* and this is the other one; else &shared */
    sluice_fileview view;
    sluice_handler handler;
    sluice_hints hints;
    bool atomic;
    pthread_mutex_t mutex; /* for what follows */
    int64_t position;      /* of the individual pointer, in etypes */
    MPI_Win win;           /* of the shared pointer, with several nodes, */
    int64_t *word;         /* which is here */
    int splitting;         /* the kind of split collective call that is under way; 0: none */
    sluice_carry split;
    int64_t from;        /* where the individual pointer stood before it */
    const char *last[2]; /* how data was read and written last */
    _Atomic int traced;  /* the number of the file in the part of a trace of that number, and 1; 0: not known */
    _Atomic int64_t traced_part;
    struct sluice_met {
        MPI_Datatype type;
        sluice_typed *typed;
    } known[SLUICE_KNOWN]; /* predefined datatypes that were used, the first ones; they stay until the file is closed */
};

/* Collective. */
int sluice_door_open(sluice_door **out, MPI_Comm comm, const char *path, int amode, const sluice_hints *hints,
                     int error, sluice_reason *why);
int sluice_door_close(sluice_door *d, sluice_reason *why);

/* Local. Removes a file, or a container. */
int sluice_door_delete(const char *path, sluice_reason *why);

/* Local. Bytes of the file, or negative. */
int64_t sluice_door_size(sluice_door *d, sluice_lane *l, sluice_reason *why);

/* Collective. The rest of what changes a file as a whole. */
int sluice_door_resize(sluice_door *d, int64_t size, bool grow, sluice_reason *why);
int sluice_door_sync(sluice_door *d, sluice_reason *why);
int sluice_door_atomic(sluice_door *d, bool atomic, sluice_reason *why);
int sluice_door_advise(sluice_door *d, MPI_Info info, sluice_reason *why);
int sluice_door_view(sluice_door *d, int64_t disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep,
                     sluice_reason *why);

/* Collective, of a lane that was entered. Whether all give the same number. */
int sluice_door_same(sluice_door *d, int64_t number, const char *what, int error, sluice_reason *why);

/* ---- opening.c: whose file it is ---- */

/* Collective. *fh becomes ours, if the file is not left to the host: then *host is true, and nothing has happened. A
 * code of MPI's. */
int sluice_opening_open(MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *fh, bool *host);
int sluice_opening_delete(const char *name, bool *host);

/* ---- pointer.c: where an access starts, in etypes ---- */

/* Local. The individual pointer moves n on: where it was. back: n of these were not accessed, if it is still there. */
int64_t sluice_pointer_take(sluice_door *d, int64_t n);
void sluice_pointer_back(sluice_door *d, int64_t to, int64_t n);

/* Local. The same for the shared one. */
int64_t sluice_pointer_take_shared(sluice_door *d, int64_t n);

/* Collective. The same by all, in the order of ranks: where this one starts. */
int64_t sluice_pointer_take_ordered(sluice_door *d, int64_t n);

/* Local, by one process while no one else uses it. */
void sluice_pointer_set_shared(sluice_door *d, int64_t to);

/* Collective. */
int sluice_pointer_open(sluice_door *d, sluice_reason *why);
void sluice_pointer_close(sluice_door *d);

/* Local; collective. MPI_File_seek, MPI_File_seek_shared. */
int sluice_pointer_seek(sluice_door *d, int64_t offset, int whence, sluice_reason *why);
int sluice_pointer_seek_shared(sluice_door *d, int64_t offset, int whence, sluice_reason *why);

/* ---- carry.c ---- */

/* Local. What is to be moved: checks all arguments; then from which byte of the view on. An error is kept. */
void sluice_carry_start(sluice_carry *c, sluice_door *d, bool write, bool together, const void *buf, int64_t count,
                        MPI_Datatype type);
void sluice_carry_place(sluice_carry *c, int64_t at);
void sluice_carry_free(sluice_carry *c);

/* Local, or collective. Moves it, and says in the carry what came of it. */
void sluice_carry_run(sluice_job *j, bool main_thread);

/* ---- greq.c: requests of MPI's ---- */

/* Local. The carry becomes a request, which has all that it refers to from then on, and is carried out in the
 * background where that is possible, else at once. On failure it is still the caller's, and has not run. */
int sluice_greq_start(const sluice_carry *c, MPI_Request *request, sluice_reason *why);

/* Local. Whether the thread of a lane may carry a collective call out. */
bool sluice_greq_apart(const sluice_door *d, bool together);

/* ---- call.c: the calls that move data ---- */

typedef enum sluice_where { SLUICE_AT, SLUICE_POINTER, SLUICE_SHARED, SLUICE_ORDERED } sluice_where;
typedef struct sluice_call_how {
    bool write, together;
    sluice_where where;
} sluice_call_how;

/* A count, a datatype and a buffer. */
typedef struct sluice_memory {
    const void *buf;
    int64_t count;
    MPI_Datatype type;
} sluice_memory;

/* short.c: Local. Tries to read at an explicit offset in the shortest way; true: it is done, and so many bytes long.
 * False: nothing has happened but that some of the buffer may have been written. */
bool sluice_short_read(sluice_door *d, MPI_Offset offset, sluice_memory m, int64_t *bytes);

/* Local, or collective. All return a code of MPI's. */
int sluice_call_now(sluice_door *d, sluice_call_how how, MPI_Offset offset, sluice_memory m, MPI_Status *status);
int sluice_call_later(sluice_door *d, sluice_call_how how, MPI_Offset offset, sluice_memory m, MPI_Request *request);
int sluice_call_begin(sluice_door *d, sluice_call_how how, MPI_Offset offset, sluice_memory m);
int sluice_call_end(sluice_door *d, sluice_call_how how, MPI_Status *status);

#endif
