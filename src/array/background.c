/* background.c: transfers while the program computes.
 *
 * A handle has one thread, started with its first request, that carries requests out in order. No MPI is called on
 * it, so none needs threads. The handle's own calls wait until the queue is empty: only one thread at a time touches
 * the transfer's state.
 *
 * A child process has the handle, but not its thread. If nothing was outstanding when it was made, it may go on with
 * the handle, and gets a thread of its own when it needs one.
 */
#include "array/array.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Whether requests need MPI, between nodes or to ask servers, and so have to wait for the program's own thread. */
static bool needs_mpi(const sluice_array *a) {
    return a->serving || (a->collective && a->collective->group->nnodes > 1);
}

static void *work(void *arg) {
    sluice_array *a = arg;
    pthread_mutex_lock(&a->mutex);
    for (;;) {
        while (!a->first && !a->stop) pthread_cond_wait(&a->change, &a->mutex);
        sluice_request *r = a->first;
        if (!r) break;
        pthread_mutex_unlock(&a->mutex);
        sluice_transfer_run(r);
        pthread_mutex_lock(&a->mutex);
        a->first = r->next;
        r->done = true;
        pthread_cond_broadcast(&a->change);
    }
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

/* The program's signals are the program's: the thread takes none but what it causes itself. */
static int start_thread(sluice_array *a) {
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&a->thread, NULL, work, a);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    a->running = err == 0;
    a->owner = getpid();
    return -err;
}

/* Whether this process has the thread. In a child the lock may have been left closed by the parent's. */
static bool running(sluice_array *a) {
    if (a->running && a->owner != getpid()) {
        a->running = false;
        pthread_mutex_init(&a->mutex, NULL);
        pthread_cond_init(&a->change, NULL);
    }
    return a->running;
}

int sluice_background_start(sluice_request *r, sluice_reason *why) {
    sluice_array *a = r->array;
    r->background = !needs_mpi(a);
    if (r->background && !running(a)) {
        int err = start_thread(a);
        if (err)
            return sluice_refuse(why, err, -1, "%s: cannot start a thread: %s", a->io.store->name,
                                 sluice_strerror(err));
    }
    pthread_mutex_lock(&a->mutex);
    if (a->first)
        a->last->next = r;
    else
        a->first = r;
    a->last = r;
    pthread_cond_broadcast(&a->change);
    pthread_mutex_unlock(&a->mutex);
    return 0;
}

/* Carries out what is queued, up to the request or all of it, where the thread may not. */
static void work_off(sluice_array *a, const sluice_request *until) {
    while (a->first && !(until && until->done)) {
        sluice_request *r = a->first;
        sluice_transfer_run(r);
        a->first = r->next;
        r->done = true;
    }
}

int sluice_wait(sluice_request *r) {
    sluice_array *a = r->array;
    if (needs_mpi(a)) work_off(a, r);
    pthread_mutex_lock(&a->mutex);
    while (!r->done) pthread_cond_wait(&a->change, &a->mutex);
    pthread_mutex_unlock(&a->mutex);
    int err = r->error;
    if (err) sluice_errmsg_set(&r->why);
    sluice_bind_free(r);
    if (r == &a->spare)
        a->spare_taken = false;
    else
        sluice_mem_free(r);
    return err;
}

void sluice_background_drain(sluice_array *a) {
    if (needs_mpi(a)) work_off(a, NULL);
    if (!running(a)) return;
    pthread_mutex_lock(&a->mutex);
    while (a->first) pthread_cond_wait(&a->change, &a->mutex);
    pthread_mutex_unlock(&a->mutex);
}

void sluice_background_end(sluice_array *a) {
    if (needs_mpi(a)) work_off(a, NULL);
    if (!running(a)) return;
    pthread_mutex_lock(&a->mutex);
    a->stop = true;
    pthread_cond_broadcast(&a->change);
    pthread_mutex_unlock(&a->mutex);
    pthread_join(a->thread, NULL);
    a->running = false;
}
