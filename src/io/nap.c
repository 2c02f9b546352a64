/* nap.c: waiting without taking a core from those one waits for. */
#include "io/serve.h"
#include <time.h>

/* Polls before the first sleep, some 20 microseconds; sleeps of each length, in nanoseconds, which then doubles. No
 * yielding: where cores are scarce, who yields waits for a slice of everyone else's, and who sleeps comes first. */
enum { POLLS = 60, SLEEPS = 8, SHORTEST = 20 * 1000, DOUBLINGS = 6 };

void sluice_nap_take(sluice_nap *nap, bool moving) {
    const int slept = nap->times - POLLS;
    if (nap->times < POLLS + SLEEPS * DOUBLINGS) nap->times++;
    if (slept < 0) return;
    nanosleep(&(struct timespec){0, (long)SHORTEST << (moving ? 0 : slept / SLEEPS)}, NULL);
}
