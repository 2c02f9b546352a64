/* lane.c: transfers one after the other, on the thread of who asked or on one of ours.
 *
 * Everyone draws a ticket and waits for its number. The thread of a lane, started with the first job that is left to
 * it, calls no MPI unless all threads may. Who waits for it looks after MPI's messages now and then: another process
 * may need our help before it can do its part of what we wait for.
 */
#include "mpiio/door.h"
#include <signal.h>
#include <time.h>

enum { NAP = 10 * 1000 * 1000 };

void sluice_lane_open(sluice_lane *l, MPI_Comm comm) {
    l->comm = comm;
    pthread_mutex_init(&l->mutex, NULL);
    pthread_cond_init(&l->change, NULL);
}

/* Until something changed, or some time has gone by. The mutex is ours. */
static void doze(sluice_lane *l) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += NAP;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    if (!pthread_cond_timedwait(&l->change, &l->mutex, &until)) return;
    int flag;
    pthread_mutex_unlock(&l->mutex);
    MPI_Iprobe(MPI_ANY_SOURCE, 0, l->comm, &flag, MPI_STATUS_IGNORE);
    pthread_mutex_lock(&l->mutex);
}

void sluice_lane_enter(sluice_lane *l) {
    pthread_mutex_lock(&l->mutex);
    const uint64_t ticket = l->next++;
    while (l->serving != ticket) doze(l);
    pthread_mutex_unlock(&l->mutex);
}

void sluice_lane_leave(sluice_lane *l) {
    pthread_mutex_lock(&l->mutex);
    l->serving++;
    pthread_cond_broadcast(&l->change);
    pthread_mutex_unlock(&l->mutex);
}

void sluice_lane_run(sluice_lane *l, sluice_job *j) {
    sluice_lane_enter(l);
    j->run(j, true);
    sluice_lane_leave(l);
}

static void *work(void *arg) {
    sluice_lane *l = arg;
    pthread_mutex_lock(&l->mutex);
    for (;;) {
        while (!(l->first && l->serving == l->first->ticket) && !(l->stop && !l->first))
            pthread_cond_wait(&l->change, &l->mutex);
        sluice_job *j = l->first;
        if (!j) break;
        l->first = j->next;
        pthread_mutex_unlock(&l->mutex);
        void (*told)(sluice_job *) = j->told;
        j->run(j, false);
        pthread_mutex_lock(&l->mutex);
        l->serving++;
        j->done = true;
        if (told) told(j); /* after which it may be gone */
        pthread_cond_broadcast(&l->change);
    }
    pthread_mutex_unlock(&l->mutex);
    return NULL;
}

/* The program's signals are the program's. */
static bool start(sluice_lane *l) {
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    l->running = pthread_create(&l->thread, NULL, work, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return l->running;
}

bool sluice_lane_post(sluice_lane *l, sluice_job *j) {
    pthread_mutex_lock(&l->mutex);
    const bool there = l->running || start(l);
    if (there) {
        j->next = NULL;
        j->ticket = l->next++;
        if (l->first)
            l->last->next = j;
        else
            l->first = j;
        l->last = j;
        pthread_cond_broadcast(&l->change);
    }
    pthread_mutex_unlock(&l->mutex);
    return there;
}

void sluice_lane_wait(sluice_lane *l, sluice_job *j) {
    pthread_mutex_lock(&l->mutex);
    while (!j->done) doze(l);
    pthread_mutex_unlock(&l->mutex);
}

void sluice_lane_close(sluice_lane *l) {
    if (l->running) {
        pthread_mutex_lock(&l->mutex);
        l->stop = true;
        pthread_cond_broadcast(&l->change);
        pthread_mutex_unlock(&l->mutex);
        pthread_join(l->thread, NULL);
    }
    pthread_cond_destroy(&l->change);
    pthread_mutex_destroy(&l->mutex);
}
