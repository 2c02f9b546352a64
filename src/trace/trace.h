/* trace.h: what was accessed, by whom and when, kept as sets.
 *
 * A trace says of each process of a run, in their order, the accesses to files that it made: the file, read or write,
 * collective or not, the set of bytes, begin and end. A strided access is one set, and accesses that repeat are kept as
 * loops, so that neither memory nor trace files grow with what is regular:
 *
 *     for (k = 0; k < 1000; k++) {              loop of 1000, 3 nodes
 *         read(a, 8 blocks at 4096 * k);   =        access to a, off 0,     shift 4096
 *         write(b, 64 bytes at 500 - k);            access to b, off 500,   shift -1
 *     }
 *
 * The nodes of a process stand in preorder: a loop, then what is in it. An access inside loops has a shift for each of
 * them: in iterations i0 (of the innermost), i1, ... it is at off + i0 * shift[0] + i1 * shift[1] + ...
 *
 * Times are kept apart from that: two runs that do the same have the same nodes. The time line of a process is a
 * piecewise linear function from the number of an access to the time when it began, exact for short traces, and within
 * `blur` nanoseconds for long ones. How long accesses took is kept as a sum for each node: what is unfolded from a loop
 * has the mean. Times are nanoseconds since the origin, on one clock for all processes.
 *
 *     sluice_events c;
 *     sluice_event e;
 *     int error = sluice_events_init(&c, trace, SLUICE_EVERY_PROCESS);
 *     while (!error && sluice_events_next(&c, &e)) printf("%d %lld\n", e.proc, (long long)(e.off +
 * sluice_set_lo(e.set))); sluice_events_close(&c);
 */
#ifndef SLUICE_TRACE_H
#define SLUICE_TRACE_H

#include "base/base.h"
#include "set/set.h"

enum {
    SLUICE_TRACE_LOOPS = 8,  /* how deep loops nest */
    SLUICE_TRACE_BLOCK = -1, /* node.shape of one contiguous block, of node.size bytes */
    SLUICE_EVERY_PROCESS = -1,
};

#define SLUICE_TRACE_LATEST (INT64_C(1) << 61) /* no time, and no sum of times, is later */

/* A loop or an access. */
typedef struct sluice_trace_node {
    int64_t n;    /* how often the loop goes round, >= 2; 1: an access */
    int32_t span; /* nodes of the loop, this one included; 1: an access */
    /* Of an access only: */
    int32_t file, shape; /* numbers in the tables of the trace */
    bool write, collective;
    uint8_t loops;                     /* around it */
    int64_t off;                       /* where offset 0 of the shape lies, in the first iterations */
    int64_t size;                      /* bytes of one access; 0: it took part in a collective call with nothing */
    int64_t busy;                      /* nanoseconds that all its iterations took together */
    int64_t shift[SLUICE_TRACE_LOOPS]; /* innermost first; zeros beyond `loops` */
} sluice_trace_node;

/* Access number `event` of the process began at time `at`. The last knot is one past the last access, and where that
 * ended. */
typedef struct sluice_trace_knot {
    int64_t event, at;
} sluice_trace_knot;

typedef struct sluice_trace_proc {
    int64_t pid;   /* of the system, 0 if not known */
    int32_t node;  /* processes with the same number were on one machine */
    bool complete; /* false: something after its last access is missing, or some in between (lost) */
    int64_t lost;  /* accesses that were made and could not be recorded, as far as it is known */
    int64_t nevents, nnode, nknot, blur;
    sluice_trace_node *tree;
    sluice_trace_knot *knot;
} sluice_trace_proc;

/* A name is as the program gave it, absolute if the folder was known. The size is the largest that was seen, -1 if none
 * was. */
typedef struct sluice_trace_file {
    char *name;
    int64_t size;
} sluice_trace_file;

typedef struct sluice_trace {
    int64_t origin; /* time 0, in nanoseconds since 1970; 0 if not known */
    int32_t nproc, nfile, nshape;
    sluice_trace_proc *proc;
    sluice_trace_file *file;
    sluice_set *shape;          /* each starts at 0 or is empty */
    struct sluice_maker *maker; /* private; NULL when finished */
} sluice_trace;

/* One access. */
typedef struct sluice_event {
    int32_t proc, file;
    bool write, collective;
    const sluice_set *set; /* which bytes, relative to off; never NULL */
    int64_t off;
    int64_t begin, end;
    int64_t number; /* of this process, from 0; not looked at by append */
    int64_t node;   /* of the process's tree; not looked at by append */
} sluice_event;

/* ---- Making ---------------------------------------------------------------------------------------------------- */

/* Pure. A trace of nproc processes without accesses and files. *t need not hold anything. */
int sluice_trace_make(sluice_trace *t, int nproc);

/* Pure. The number of the file of that name, which is added if it is new; its size becomes at least `size`. Negative:
 * an error. */
int sluice_trace_add_file(sluice_trace *t, const char *name, int64_t size);

/* Pure. One access more, of process e->proc; accesses of one process come in their order. One that begins before the
 * one before it is taken to begin with it, for as long as it took. The set is copied. SLUICE_E_ARGUMENT,
 * SLUICE_E_OVERFLOW, -ENOMEM: then the access is not in the trace, which is as it was. */
int sluice_trace_append(sluice_trace *t, const sluice_event *e);

/* Pure. No more is appended: now it can be read. Cannot fail twice: -ENOMEM leaves it to be tried again. */
int sluice_trace_finish(sluice_trace *t);

/* Pure. Gives everything back; *t may be finished or not, or zeros. */
void sluice_trace_free(sluice_trace *t);

/* ---- Files ----------------------------------------------------------------------------------------------------- */

/* Local. A finished trace into a file, which takes the place of one that is there when it is whole. */
int sluice_trace_save(const sluice_trace *t, const char *path, sluice_reason *why);

/* Local. A trace, finished, from a file: SLUICE_E_FORMAT or SLUICE_E_VERSION if that is none. *t need not hold
 * anything; it is empty after a failure. Everything has been checked: no offset, time or count of an access can
 * overflow. */
int sluice_trace_load(sluice_trace *t, const char *path, sluice_reason *why);

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

/* Where in a tree one is: the access at `at`, in iteration level[d].i of the loop at level[d].node, outermost first. */
typedef struct sluice_spot {
    int64_t at;
    int depth;
    struct {
        int64_t node, i;
    } level[SLUICE_TRACE_LOOPS];
} sluice_spot;

/* A process on its way through its accesses. */
typedef struct sluice_steps {
    int32_t proc;
    bool more;
    sluice_spot spot;
    int64_t number, knot, begin; /* of the next access */
} sluice_steps;

/* A cursor over the accesses of a finished trace, unfolded one by one. Private but for being here. */
typedef struct sluice_events {
    const sluice_trace *t;
    int32_t nsteps;
    sluice_steps *steps; /* a heap: the first begins first */
    sluice_steps one;
    sluice_set set; /* of the event last given out, if it is a block */
    sluice_node block;
} sluice_events;

/* Pure. To the first access of process `proc`, or of all: then in the order of (begin, process, number). -ENOMEM (of
 * all only), SLUICE_E_ARGUMENT. */
int sluice_events_init(sluice_events *c, const sluice_trace *t, int proc);

/* Pure. The next access: 1, or 0 after the last. What *e points to is valid until the next call on c. */
int sluice_events_next(sluice_events *c, sluice_event *e);

/* Pure. Also after a failed init. */
void sluice_events_close(sluice_events *c);

/* Pure. The bytes of an access, as offsets in the file. */
int sluice_event_set(sluice_set *out, const sluice_event *e);

/* Pure. How often the access at `node` of a process's tree was made: the product of the loops around it. */
int64_t sluice_trace_count(const sluice_trace_proc *p, int64_t node);

/* ---- Within the layer ------------------------------------------------------------------------------------------- */

/* spot.c: to the first access of the node at `at`, which lies in the loops of the spot; from an access to the next one
 * of the tree of n nodes: false at the end. With `endless` the outermost loop is gone round for ever. */
void sluice_spot_enter(sluice_spot *s, const sluice_trace_node *tree, int64_t at);
bool sluice_spot_step(sluice_spot *s, const sluice_trace_node *tree, int64_t n, bool endless);
int64_t sluice_spot_off(const sluice_spot *s, const sluice_trace_node *tree);

/* loops.c: finds the loops in accesses that come one after the other. */
enum {
    SLUICE_LOOPS_BODY = 32,   /* members of a loop that is looked for */
    SLUICE_LOOPS_SPAN = 1024, /* nodes of one, with all in it */
    SLUICE_LOOPS_TOPS = 4 * SLUICE_LOOPS_BODY,
};
typedef struct sluice_loops {
    sluice_trace_node *tree;
    int64_t n, cap;
    sluice_trace_node *scratch;
    int64_t nscratch, scratch_cap;
    int32_t ntop; /* the last nodes of the outermost level, that may still become part of a loop */
    int64_t top[SLUICE_LOOPS_TOPS];
    uint64_t mark[SLUICE_LOOPS_TOPS]; /* equal if they look alike, */
    int64_t off[SLUICE_LOOPS_TOPS];   /* and where the first access of each is */
    bool following;                   /* the last one is a loop; spot is the access with which it would go on */
    sluice_spot spot;
} sluice_loops;
/* How many of the first nodes may go, so that the others can still become loops if these have at most `keep` nodes; and
 * lets them go. */
int64_t sluice_loops_old(const sluice_loops *l, int64_t keep);
void sluice_loops_drop(sluice_loops *l, int64_t n);
/* Takes the access in if it is the one with which the loop goes on that is followed; of it, the shifts are not looked
 * at. Else it is appended. */
bool sluice_loops_go_on(sluice_loops *l, const sluice_trace_node *access);
int sluice_loops_append(sluice_loops *l, const sluice_trace_node *access);
int sluice_loops_finish(sluice_loops *l);
void sluice_loops_free(sluice_loops *l);

/* times.c: a time line from times that come one after the other, in at most SLUICE_TIMES_KNOTS knots. */
enum { SLUICE_TIMES_KNOTS = 1024 };
typedef struct sluice_times {
    sluice_trace_knot *knot;
    int64_t n, last; /* knots; time of the event last added */
    int64_t events;
    int64_t tolerance, blur; /* of the segment at the end; of all */
    double low, high;        /* slopes that the segment may have */
} sluice_times;
int sluice_times_reserve(sluice_times *t); /* before the first */
void sluice_times_append(sluice_times *t, int64_t at);
void sluice_times_finish(sluice_times *t, int64_t end);

/* times.c: when an access began, by the line with the knots; *near is 0 at first, and kept for events that ascend. */
int64_t sluice_times_at(const sluice_trace_knot *knot, int64_t *near, int64_t event);

/* trace.c: what making a trace needs beside it: the loops and times of each process, and where to find shapes. */
typedef struct sluice_making {
    sluice_loops loops;
    sluice_times times;
    int64_t end; /* of the last access */
    bool ready;  /* taken from a trace that was finished */
} sluice_making;
struct sluice_maker {
    sluice_making *proc;
    int32_t *slot; /* shapes by their marks: an open hash table of numbers, -1: none */
    int32_t nslot, shape_cap, file_cap;
    int32_t forgotten; /* shapes that are no longer known: numbers go on after them */
    int64_t families;  /* in those that are */
};

/* trace.c: the number of the shape of s, which starts at `by`, SLUICE_TRACE_BLOCK if it is one block; or an error. What
 * was numbered so far is forgotten, to bound memory. */
int sluice_trace_add_shape(sluice_trace *t, const sluice_set *s, int64_t by);
void sluice_trace_forget_shapes(sluice_trace *t);

#endif
