/* plan.h: who reads or writes what in a collective call, from what was asked. Pure: every process of a group computes
 * the same plan from the same requests, and `sluice explain` computes it without a group.
 *
 * The range of the requests is divided into domains, one for each aggregator (sluice_domain). An aggregator moves its
 * domain window by window: window k is the bytes [k * window, (k + 1) * window) of the domain, laid side by side in a
 * buffer as in the file. What of a window is transferred is the cover of what all processes want of it: small gaps are
 * moved along. All processes then copy what they asked for between the windows and their memory.
 *
 *     file      |--------- domain of a ---------|--------- domain of b ---------|
 *     requests    xx..xx..xx......xx   yy.......   yyyy  xxxxx
 *     cover       xxxxxxxxxx      xx   yy          yyyy--xxxxx
 *     windows   |---- 0 ----|---- 1 ----|-- 2 --|---- 0 ----|---- 1 ----|-- 2 --|
 */
#ifndef SLUICE_PLAN_H
#define SLUICE_PLAN_H

#include "base/base.h"
#include "sluice_io.h"
#include "sluice_set.h"

/* The parts of a file that consists of several, one behind the other with gaps between them. */
typedef struct sluice_subfiles {
    int n;              /* 0: the file is one */
    const int64_t *run; /* where each starts, and where it ends: 2 n numbers, ascending */
    const int *target;  /* of each: those of one target lie on the same disk */
    int ntargets;
} sluice_subfiles;

/* What a plan depends on beside the requests; the same on all processes. */
typedef struct sluice_plan_facts {
    bool write;
    int size, nnodes;
    const int *node_of;       /* of each rank; nodes are numbered in the order of their first ranks */
    int cores;                /* of a node */
    sluice_together together; /* as asked for */
    int64_t memory;           /* for the buffers of a process */
    int64_t gap;              /* worth moving along */
    int64_t align;            /* where domains had better end */
    int64_t origin, end;      /* the array in the file */
    int64_t slab;             /* bytes of one index of its slowest dimension */
    sluice_subfiles subfiles;
    int nservers;      /* 0, or only these processes have the subfiles, and move them: */
    const int *server; /* subfile i is at server number target[i] mod nservers */
} sluice_plan_facts;

typedef struct sluice_aggregator {
    int rank, node;
    sluice_set domain;
    int64_t windows;
} sluice_aggregator;

typedef struct sluice_plan {
    int n; /* aggregators, in the order of their domains and ranks */
    sluice_aggregator *aggregator;
    int64_t lo, hi;          /* range of the requests */
    int64_t window, rounds;  /* rounds: windows of the longest domain */
    int64_t served, foreign; /* room that a leader needs in a round for what it gives to other nodes, and gets */
    const sluice_set *node;  /* what each node wants: the requests, or */
    sluice_set *own;         /* with several processes on a node their unions; both NULL with one node */
    int nnodes;              /* 0 with one node */
    int *by_node, *first;    /* aggregators node by node, and where those of each node start */
    bool node_exact;         /* else a range that holds it: only for reading */
} sluice_plan;

/* What one aggregator transfers. */
typedef struct sluice_share {
    sluice_set wanted, cover;
    bool exact; /* wanted is what was asked for; else all of the domain between the first byte and the last */
} sluice_share;

/* Where everyone's request follows from something that all processes know, nobody needs to be told: request() says what
 * a rank wants, and `mark` is a number that tells what is known apart from anything else. */
typedef struct sluice_known {
    int (*request)(void *arg, int rank, sluice_set *out, sluice_reason *why);
    void *arg;
    int64_t mark;
} sluice_known;

/* A range of the file and where it lies in a window. */
typedef struct sluice_stretch {
    int64_t lo, hi, at;
} sluice_stretch;

/* plan.c. Pure. request[r] is what rank r wants; for writes no two want the same. The plan may refer to the requests.
 */
int sluice_plan_make(sluice_plan *p, const sluice_plan_facts *f, const sluice_set *request, sluice_reason *why);
void sluice_plan_free(sluice_plan *p);

/* plan.c. Pure. Bytes of memory that a process needs for the plan, as an aggregator and as the leader of a node. */
int64_t sluice_plan_room(const sluice_plan *p, bool aggregates, bool leads);

/* plan.c. Pure. What aggregator number a has to transfer. */
int sluice_share_make(sluice_share *s, const sluice_plan *p, const sluice_plan_facts *f, const sluice_set *request,
                      int a);
void sluice_share_free(sluice_share *s);

/* plan.c. Pure. The stretches of window k of an aggregator, in order: first sets the walk up, next is false at the end.
 */
typedef struct sluice_stretches {
    sluice_cursor c;
    int64_t left, at;
} sluice_stretches;
void sluice_stretches_first(sluice_stretches *s, const sluice_plan *p, int a, int64_t k);
bool sluice_stretches_next(sluice_stretches *s, sluice_stretch *out);

/* conflict.c. Pure. The parts of a request as one: the union of n sets, by halves. *out is none of them, and
 * may have changed on failure. */
int sluice_conflict_unite(sluice_set *out, const sluice_set *s, int n);

/* conflict.c. Pure. What a process asks for with n parts: their union. A read whose union is too complex to say asks
 * for the range of it. */
int sluice_conflict_ask(sluice_set *out, const sluice_set *file, int n, bool write);

/* conflict.c. Pure. What two requests have in common. */
int sluice_conflict_both(sluice_set *out, const sluice_set *a, const sluice_set *b);

/* conflict.c. Pure. What higher ranks overwrite of what `rank` writes; SLUICE_E_SHARED if that is something and must
 * not be. */
int sluice_conflict_lost(sluice_set *out, const sluice_set *request, int size, int rank, bool refuse,
                         sluice_reason *why);

/* conflict.c. Pure. Takes what is lost away from n parts of a request; kept[i]: which of the bytes of part i stay. On
 * failure both may have changed. */
int sluice_conflict_leave_out(sluice_set *file, sluice_set *kept, int n, const sluice_set *lost);

#endif
