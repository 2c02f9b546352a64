/* background.c: transfers while the program computes.
 *
 * A handle has one thread, started with its first request, that carries requests out in order. No MPI is called on
 * it, so none needs threads. The handle's own calls wait until the queue is empty: only one thread at a time touches
 * the transfer's state.
 */
#include "array/array.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

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
    return -err;
}

int sluice_background_start(sluice_request *r, sluice_reason *why) {
    sluice_array *a = r->array;
    if (!a->running) {
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

int sluice_wait(sluice_request *r) {
    sluice_array *a = r->array;
    pthread_mutex_lock(&a->mutex);
    while (!r->done) pthread_cond_wait(&a->change, &a->mutex);
    pthread_mutex_unlock(&a->mutex);
    int err = r->error;
    if (err) sluice_errmsg_set(&r->why);
    sluice_bind_free(r);
    return err;
}

void sluice_background_drain(sluice_array *a) {
    if (!a->running) return;
    pthread_mutex_lock(&a->mutex);
    while (a->first) pthread_cond_wait(&a->change, &a->mutex);
    pthread_mutex_unlock(&a->mutex);
}

void sluice_background_end(sluice_array *a) {
    if (!a->running) return;
    pthread_mutex_lock(&a->mutex);
    a->stop = true;
    pthread_cond_broadcast(&a->change);
    pthread_mutex_unlock(&a->mutex);
    pthread_join(a->thread, NULL);
    a->running = false;
}
