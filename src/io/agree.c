/* agree.c: one answer for all.
 *
 * A process writes what it has to say into its slot and rings: it adds itself to those present. The last one to come
 * puts the slots together and turns the page, for which the others wait: a few thousand spins while every process has a
 * core of its own; otherwise, for a tenth of a millisecond, they give way to each other, which costs a tenth of being
 * put to sleep and woken; then asleep on a futex. With several nodes, the last one wakes the leader, who puts the
 * answers of the nodes together before the page is turned.
 *
 * No one can be a page behind: a page is turned only when all are present, and who is present has read the last one.
 */
#include "io/group.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 4000, NAP = 20 * 1000 * 1000 };

typedef struct slot {
    int64_t rank; /* of the process that failed; INT64_MAX = none */
    int64_t least[SLUICE_AGREE];
    sluice_reason why;
} slot;

struct sluice_bell {
    _Atomic uint32_t present, page, full; /* full: the page for which all have come; the leader waits for it */
    _Atomic uint32_t asleep;
    _Atomic int64_t sum; /* the meter */
    _Atomic bool stop;
    slot all; /* the answer */
    slot slots[];
};

size_t sluice_bell_size(int n) { return sizeof(sluice_bell) + (size_t)n * sizeof(slot); }

void sluice_bell_start(sluice_bell *b) { memset(b, 0, sizeof *b); }

/* Leaves the core's other thread, if it has one, alone. */
static void relax(void) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

static void sleep_on(_Atomic uint32_t *word, uint32_t value) {
    const struct timespec nap = {0, NAP};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &nap, NULL, 0);
}

static void wake_all(sluice_bell *b, _Atomic uint32_t *word) {
    if (atomic_load(&b->asleep)) syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Until *word is no longer `old`. A process that sleeps long looks after MPI's messages now and then: another one may
 * stand in a receive that needs our help before it can come here. */
static void await(sluice_group *g, _Atomic uint32_t *word, uint32_t old) {
    sluice_bell *b = g->bell;
    const bool cores = g->nlocal <= g->cores;
    /* A scheduler that owes time to those who give way runs them first, each in turn, while the one that all wait for
     * may have used up its share in MPI's own waiting. So all of them together give way no more than SPINS / n times.
     */
    const int tries = cores ? SPINS : SPINS / g->nlocal / g->nlocal;
    for (int i = 0; i < tries; i++) {
        if (atomic_load_explicit(word, memory_order_acquire) != old) return;
        if (cores)
            relax();
        else
            sched_yield();
    }
    atomic_fetch_add(&b->asleep, 1);
    while (atomic_load(word) == old) {
        sleep_on(word, old);
        int flag;
        if (g->may_poll && atomic_load(word) == old) MPI_Iprobe(MPI_ANY_SOURCE, 0, g->comm, &flag, MPI_STATUS_IGNORE);
    }
    atomic_fetch_sub(&b->asleep, 1);
}

static void turn_page(sluice_bell *b, uint32_t page) {
    atomic_store(&b->present, 0);
    atomic_store(&b->page, page + 1);
    wake_all(b, &b->page);
}

void sluice_group_meet(sluice_group *g) {
    sluice_bell *b = g->bell;
    if (g->nlocal == 1) return;
    uint32_t page = atomic_load(&b->page);
    if (atomic_fetch_add(&b->present, 1) + 1 == (uint32_t)g->nlocal)
        turn_page(b, page);
    else
        await(g, &b->page, page);
}

/* What the slots say together: all numbers, also those that no one gave. Processes that are in different calls may have
 * given different numbers of them. */
static void combine(sluice_bell *b, int nslots) {
    b->all = b->slots[0];
    for (int i = 1; i < nslots; i++) {
        const slot *s = &b->slots[i];
        for (int k = 0; k < SLUICE_AGREE; k++) b->all.least[k] = sluice_min(b->all.least[k], s->least[k]);
        if (s->rank < b->all.rank) {
            b->all.rank = s->rank;
            b->all.why = s->why;
        }
    }
}

/* The same for the nodes; the sentence travels only when there is one. */
static void combine_nodes(sluice_group *g) {
    int64_t mine[SLUICE_AGREE + 1], least[SLUICE_AGREE + 1];
    slot *all = &g->bell->all;
    memcpy(mine, all->least, sizeof all->least);
    mine[SLUICE_AGREE] = all->rank;
    MPI_Allreduce(mine, least, SLUICE_AGREE + 1, MPI_INT64_T, MPI_MIN, g->leaders);
    memcpy(all->least, least, sizeof all->least);
    all->rank = least[SLUICE_AGREE];
    if (all->rank != INT64_MAX) MPI_Bcast(&all->why, (int)sizeof all->why, MPI_BYTE, g->node_of[all->rank], g->leaders);
}

static void ring(sluice_group *g) {
    sluice_bell *b = g->bell;
    uint32_t page = atomic_load(&b->page);
    bool last = atomic_fetch_add(&b->present, 1) + 1 == (uint32_t)g->nlocal, leader = g->local == 0;
    if (last) combine(b, g->nlocal);
    if (g->nnodes > 1 && last && !leader) {
        atomic_store(&b->full, page + 1);
        wake_all(b, &b->full);
    }
    if (g->nnodes > 1 && leader) {
        uint32_t full = atomic_load(&b->full);
        if (!last && full != page + 1) await(g, &b->full, full);
        combine_nodes(g);
    }
    if (g->nnodes > 1 ? leader : last)
        turn_page(b, page);
    else
        await(g, &b->page, page);
}

int sluice_agree(sluice_group *g, int error, sluice_reason *why, int64_t *least, int n) {
    slot *mine = &g->bell->slots[g->local], *all = &g->bell->all;
    mine->rank = error ? g->rank : INT64_MAX;
    if (n) memcpy(mine->least, least, (size_t)n * sizeof *least);
    if (error) {
        mine->why = *why;
        mine->why.error = error;
    }
    ring(g);
    if (n) memcpy(least, all->least, (size_t)n * sizeof *least);
    if (all->rank == INT64_MAX) return 0;
    if (g->size == 1) return all->why.error;
    return sluice_refuse(why, all->why.error, all->why.pos, "rank %lld: %.*s", (long long)all->rank,
                         (int)sizeof all->why.text - 24, all->why.text);
}

int sluice_agree_on(sluice_group *g, int64_t call, int error, sluice_reason *why, int64_t *least, int n) {
    int64_t said[SLUICE_AGREE] = {call, -call};
    if (n) memcpy(said + 2, least, (size_t)n * sizeof *least);
    error = sluice_agree(g, error, why, said, n + 2);
    if (n) memcpy(least, said + 2, (size_t)n * sizeof *least);
    if (error || said[0] == -said[1]) return error;
    return sluice_refuse(why, SLUICE_E_MISMATCH, -1,
                         "processes make different collective calls, or name different distributions");
}

void sluice_meter_start(sluice_group *g) {
    atomic_store(&g->bell->sum, 0);
    atomic_store(&g->bell->stop, false);
}

int64_t sluice_meter_add(sluice_group *g, int64_t n) { return atomic_fetch_add(&g->bell->sum, n) + n; }
void sluice_meter_stop(sluice_group *g) { atomic_store(&g->bell->stop, true); }
bool sluice_meter_stopped(const sluice_group *g) { return atomic_load(&g->bell->stop); }
