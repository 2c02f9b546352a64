/* greq.c: requests of MPI's for what is carried out in the background.
 *
 * The transfer runs on the thread of a lane. That it is done must be said by MPI_Grequest_complete, on a thread that
 * may call MPI: so the MPI library is asked to look now and then while it makes progress. MPICH has a poll function for
 * each request, Open MPI one for all. Where there is neither, the lane's thread says it itself if all threads may call
 * MPI; else the transfer is carried out before the call returns.
 */
#include "mpiio/door.h"
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

typedef struct greq {
    sluice_carry carry; /* first, so that its job is ours */
    MPI_Request request;
    _Atomic bool done;
    bool said; /* to MPI */
    struct greq *next;
} greq;

/* MPICH's: kinds of requests with a function that looks and one that waits, and a new request of a kind. */
typedef int create_function(MPI_Grequest_query_function *, MPI_Grequest_free_function *, MPI_Grequest_cancel_function *,
                            int (*)(void *, MPI_Status *), int (*)(int, void **, double, MPI_Status *), int *);
typedef int allocate_function(int, void *, MPI_Request *);
/* Open MPI's. */
typedef int register_function(int (*)(void));

/* What the library offers; looked for once. */
static allocate_function *allocate_polled;
static int polled_kind;
static bool progress_calls, threads;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Open MPI: what is done, and not yet said. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static greq *finished;
static _Atomic int waiting;

static int say_finished(void) {
    int n = 0;
    if (!atomic_load_explicit(&waiting, memory_order_acquire)) return 0;
    pthread_mutex_lock(&mutex);
    greq *list = finished;
    finished = NULL;
    for (greq *g = list; g; g = g->next) n++;
    atomic_fetch_sub(&waiting, n);
    pthread_mutex_unlock(&mutex);
    while (list) {
        greq *g = list;
        list = g->next;
        MPI_Grequest_complete(g->request); /* after which it may be gone */
    }
    return n;
}

/* ---- What MPI calls ------------------------------------------------------------------------------------------ */

static int query(void *state, MPI_Status *status) {
    const sluice_carry *c = &((greq *)state)->carry;
    MPI_Status_set_elements_x(status, MPI_BYTE, c->moved);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return c->error ? sluice_class_code(c->error, &c->why) : MPI_SUCCESS;
}

static int release(void *state) {
    greq *g = state;
    sluice_carry_free(&g->carry);
    sluice_mem_free(g);
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete) {
    (void)state;
    (void)complete;
    return MPI_SUCCESS; /* cannot be */
}

/* While MPI_Wait polls nobody looks after messages, and others may need ours before they come to our call. */
static int poll(void *state, MPI_Status *status) {
    greq *g = state;
    (void)status;
    if (!atomic_load_explicit(&g->done, memory_order_acquire)) {
        int flag;
        sched_yield(); /* who works for us may need the core */
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    } else if (!g->said) {
        g->said = true;
        MPI_Grequest_complete(g->request);
    }
    return MPI_SUCCESS;
}

/* For all of these. */
static int wait(int n, void **state, double timeout, MPI_Status *status) {
    (void)timeout;
    for (int i = 0; i < n; i++) {
        greq *g = state[i];
        while (!g->said) poll(g, status);
    }
    return MPI_SUCCESS;
}

/* ---- What the lane calls ------------------------------------------------------------------------------------- */

static void told(sluice_job *j) {
    greq *g = (greq *)j;
    if (allocate_polled) {
        atomic_store_explicit(&g->done, true, memory_order_release);
    } else if (progress_calls) {
        pthread_mutex_lock(&mutex);
        g->next = finished;
        finished = g;
        atomic_fetch_add(&waiting, 1);
        pthread_mutex_unlock(&mutex);
    } else {
        MPI_Grequest_complete(g->request);
    }
}

/* ---- Starting ------------------------------------------------------------------------------------------------ */

static void look(void) {
    int level = MPI_THREAD_SINGLE;
    void *create = dlsym(RTLD_DEFAULT, "MPIX_Grequest_class_create"),
         *allocate = dlsym(RTLD_DEFAULT, "MPIX_Grequest_class_allocate"),
         *progress = dlsym(RTLD_DEFAULT, "opal_progress_register");
    MPI_Query_thread(&level);
    threads = level == MPI_THREAD_MULTIPLE;
    if (create && allocate && !((create_function *)create)(query, release, cancel, poll, wait, &polled_kind))
        allocate_polled = (allocate_function *)allocate;
    progress_calls = !allocate_polled && progress && !((register_function *)progress)(say_finished);
}

bool sluice_greq_apart(const sluice_door *d, bool together) {
    pthread_once(&once, look);
    return threads || !together || d->group->nnodes == 1;
}

int sluice_greq_start(const sluice_carry *c, MPI_Request *request, sluice_reason *why) {
    sluice_door *d = c->door;
    sluice_lane *l = c->together ? d->all : &d->own;
    greq *g = sluice_mem_alloc(1, sizeof *g);
    if (!g) return sluice_refuse(why, -ENOMEM, -1, "%s: no memory for a request", d->own.io->store->name);
    const bool apart = sluice_greq_apart(d, c->together) && (allocate_polled || progress_calls || threads);
    *g = (greq){.carry = *c};
    g->carry.job.told = told;
    int code = allocate_polled ? allocate_polled(polled_kind, g, &g->request)
                               : MPI_Grequest_start(query, release, cancel, g, &g->request);
    if (code) {
        sluice_mem_free(g);
        return sluice_refuse(why, sluice_class_error(MPI_ERR_OTHER), -1, "%s: MPI cannot start a request",
                             d->own.io->store->name);
    }
    *request = g->request;
    if (apart && sluice_lane_post(l, &g->carry.job)) return 0;
    sluice_lane_run(l, &g->carry.job);
    g->said = true;
    MPI_Grequest_complete(g->request);
    return 0;
}
