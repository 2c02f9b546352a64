/* times.c: the time line of a process: when its accesses began, in few knots.
 *
 * Between two knots time goes evenly from access to access. As long as there is room every access is a knot, and times
 * are exact. When the room is used up, knots are left out that lie within a tolerance of the line between their
 * neighbours, and new ones are made under the same tolerance, which grows until half of the room is free. So pauses
 * stay where they were, and what is blurred is the jitter of accesses that follow each other evenly.
 *
 *     at |             x   x        from the last knot o the line may have any slope that passes all x so far within
 *        |      x  x                the tolerance; when none is left, the line ends in a knot at the access before
 *        |  o
 *        +------------------ event
 *
 * Each time that knots are left out adds at most its tolerance to what the line is off.
 */
#include "trace/trace.h"
#include <errno.h>
#include <math.h>

static void restart(sluice_times *t) { t->low = 0, t->high = HUGE_VAL; }

static void put(sluice_times *t, int64_t event, int64_t at) {
    t->knot[t->n++] = (sluice_trace_knot){event, at};
    restart(t);
}

/* Takes in the point if one line passes it and those before; else false. */
static bool reach(sluice_times *t, int64_t event, int64_t at) {
    const sluice_trace_knot *k = &t->knot[t->n - 1];
    const double run = (double)(event - k->event), rise = (double)(at - k->at), slack = (double)t->tolerance;
    const double low = (rise - slack) / run, high = (rise + slack) / run;
    if (low > t->high || high < t->low) return false;
    if (low > t->low) t->low = low;
    if (high < t->high) t->high = high;
    return true;
}

/* The line ends at an event: a knot there, near `at`, that keeps times from going back. */
static void end_line(sluice_times *t, int64_t event, int64_t at) {
    const sluice_trace_knot k = t->knot[t->n - 1];
    const double middle = (t->low + t->high) / 2 * (double)(event - k.event);
    int64_t to = k.at + (int64_t)middle;
    to = sluice_min(sluice_max(to, at - t->tolerance), at + t->tolerance);
    put(t, event, sluice_max(to, k.at));
}

/* Adds a point, given the one before it. A new line from a knot reaches the next point always. */
static void add(sluice_times *t, sluice_trace_knot before, sluice_trace_knot next) {
    if (reach(t, next.event, next.at)) return;
    end_line(t, before.event, before.at);
    reach(t, next.event, next.at);
}

/* Leaves knots out until half of the room is free. */
static void thin(sluice_times *t) {
    while (t->n > SLUICE_TIMES_KNOTS / 2) {
        const int64_t n = t->n;
        t->tolerance = t->tolerance ? 2 * t->tolerance : 1000;
        t->blur += t->tolerance + 1; /* and what is lost in rounding */
        t->n = 1;
        restart(t);
        sluice_trace_knot before = t->knot[0];
        for (int64_t i = 1; i < n; i++) {
            const sluice_trace_knot next = t->knot[i];
            add(t, before, next);
            before = next;
        }
        if (t->knot[t->n - 1].event < before.event) end_line(t, before.event, before.at);
    }
}

/* The point of the next event. */
static void extend(sluice_times *t, int64_t at) {
    const int64_t event = t->events;
    if (t->n >= SLUICE_TIMES_KNOTS) {
        if (t->knot[t->n - 1].event < event - 1) end_line(t, event - 1, t->last);
        thin(t);
        t->last = t->knot[t->n - 1].at;
        at = sluice_max(at, t->last);
    }
    if (t->tolerance == 0)
        put(t, event, at);
    else
        add(t, (sluice_trace_knot){event - 1, t->last}, (sluice_trace_knot){event, at});
    t->last = at;
}

int sluice_times_reserve(sluice_times *t) {
    if (!t->knot) t->knot = sluice_mem_alloc(SLUICE_TIMES_KNOTS + 2, sizeof *t->knot);
    return t->knot ? 0 : -ENOMEM;
}

void sluice_times_append(sluice_times *t, int64_t at) {
    extend(t, t->events ? sluice_max(at, t->last) : at);
    t->events++;
}

void sluice_times_finish(sluice_times *t, int64_t end) {
    if (!t->events) return;
    extend(t, sluice_max(end, t->last));
    if (t->knot[t->n - 1].event < t->events) end_line(t, t->events, t->last);
}

int64_t sluice_times_at(const sluice_trace_knot *knot, int64_t *near, int64_t event) {
    while (knot[*near + 1].event <= event) ++*near;
    const sluice_trace_knot *k = &knot[*near];
    const __int128 rise = k[1].at - k->at;
    return k->at + (int64_t)(rise * (event - k->event) / (k[1].event - k->event));
}
