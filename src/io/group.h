/* group.h: the processes that share an array, and how they agree.
 *
 * Processes of one node share memory and wait for each other in it, asleep (more processes than cores is a normal
 * case); the first process of each node, its leader, speaks to the leaders of the others by messages. So a collective
 * call on one node makes no MPI call at all, and may run on a thread of its own.
 *
 *     node 0          node 1             shared memory of a node
 *     0 1 2 3         4 5 6 7            | bell | slot 0 | slot 1 | ... | segment 0 | segment 1 | ...
 *     L-------------- L                    who is there, what they say     wire forms and windows
 *
 * A process that is alone on its node needs no shared memory; one whose node cannot share any is alone on it, and so is
 * one that is simulated (SimGrid).
 */
#ifndef SLUICE_GROUP_H
#define SLUICE_GROUP_H

#include "base/base.h"
#include <mpi.h>

typedef struct sluice_bell sluice_bell;

typedef struct sluice_group {
    MPI_Comm comm, leaders; /* leaders: of the nodes, in their order; MPI_COMM_NULL on other processes */
    int rank, size;
    int node, nnodes;
    int local, nlocal; /* on the node, in the order of ranks */
    int *node_of;      /* of each rank */
    int *by_node;      /* all ranks, node by node */
    int *member;       /* the ranks of this node, a part of that */
    int *count;        /* for messages between leaders: room for four numbers and two requests per node */
    MPI_Request *pending;
    int cores;     /* that this process may use */
    bool may_poll; /* the process may call MPI while it waits: it is not on a thread of ours */
    int fd;        /* of the shared memory; -1: the process is alone on its node */
    sluice_bell *bell;
    unsigned char *segments;
    int64_t span, segment; /* bytes of all that is mapped; of each segment */
    int64_t start[2];      /* where the two areas of a segment start */
    int64_t reserved[2];   /* of ours: bytes that are certain to be there */
} sluice_group;

/* A segment has two areas: windows, and descriptions of requests. */
typedef enum sluice_area { SLUICE_AREA_DATA, SLUICE_AREA_REQUESTS } sluice_area;

/* group.c. Collective. Makes a group of the processes of comm. `memory` bytes of address space are set aside in each
 * process for data, none at all if some process gives a negative number; nodes > 0 pretends that there are so many. All
 * return the same, SLUICE_E_MISMATCH if they do not ask for the same. */
int sluice_group_open(sluice_group **out, MPI_Comm comm, int64_t memory, int nodes, sluice_reason *why);

/* group.c. Collective. NULL is allowed. */
void sluice_group_close(sluice_group *g);

/* group.c. Local. Makes sure that the first n bytes of an area of our segment are there: -ENOMEM where a touch would be
 * a crash. */
int sluice_group_reserve(sluice_group *g, sluice_area area, int64_t n);

/* group.c. Pure. An area of the segment of a process of this node. */
unsigned char *sluice_group_area(const sluice_group *g, int local, sluice_area area);

/* agree.c. Collective. Every process says whether it failed, and why, and gives up to SLUICE_AGREE numbers. All get the
 * smallest of each number, and all return the same: 0, or the error of the lowest rank that failed, with "rank 3: "
 * before its sentence. What was written to memory before is seen by all after. */
enum { SLUICE_AGREE = 14 };
int sluice_agree(sluice_group *g, int error, sluice_reason *why, int64_t *least, int n);

/* agree.c. Collective. The same at the start of a call, first of all about which call it is, with two numbers less:
 * SLUICE_E_MISMATCH if they do not all make the same. Transfers have numbers >= 0. */
enum {
    SLUICE_CALL_SYNC = -1,
    SLUICE_CALL_RESIZE = -2,
    SLUICE_CALL_CLOSE = -3,
    SLUICE_CALL_COPY = -4,
    SLUICE_CALL_RELAYOUT = -5,
    SLUICE_CALL_TURN = -6 /* within a call, with servers (far.c): the next process moves its own */
};
int sluice_agree_on(sluice_group *g, int64_t call, int error, sluice_reason *why, int64_t *least, int n);

/* agree.c. Local. While the processes of a node work, each for itself: a sum to which they add, and which is returned;
 * and a wish to stop, of whoever can do no more. Between two agreements one of them starts it anew. */
void sluice_meter_start(sluice_group *g);
int64_t sluice_meter_add(sluice_group *g, int64_t n);
void sluice_meter_stop(sluice_group *g);
bool sluice_meter_stopped(const sluice_group *g);

/* agree.c. Collective on the node. All are here. */
void sluice_group_meet(sluice_group *g);

/* agree.c, for group.c. Bytes of the bell and the slots for n processes; how they start. */
size_t sluice_bell_size(int n);
void sluice_bell_start(sluice_bell *b);

#endif
