/* inside.h: what the files share that run the workloads. */
#ifndef SLUICE_WORKLOAD_INSIDE_H
#define SLUICE_WORKLOAD_INSIDE_H

#include "../workload.h"
#include <mpi.h>

/* main.c. Ends all processes, with a line that says why (or NULL). */
_Noreturn void fail(int status, const char *what, const char *why);

/* ---- view.c ---- */

/* A contiguous part of the file. */
typedef struct run {
    int64_t off, len;
} run;

/* The runs of a stretch of a view, one after the other. */
typedef struct walk {
    const view *v;
    int64_t period, left, skip; /* which one; bytes still to come; bytes of it that are before the stretch */
    int piece;
    int64_t i[2];
} walk;
walk walk_start(const view *v, stretch s);
bool walk_next(walk *w, run *out);

/* The period of a view as a datatype of bytes, committed. */
MPI_Datatype view_type(const view *v);

/* ---- ways.c ---- */

/* The file, opened for one of the ways of access. */
typedef struct access_way access_way;
bool way_known(const char *mode);
access_way *way_open(const char *mode, const char *path, int64_t bytes);
void way_view(access_way *a, const view *v);
/* Moves a stretch of the view; returns the seconds in calls and adds their number. */
double way_move(access_way *a, const view *v, stretch s, bool write, unsigned char *buf, double *accesses);
/* Closes the file; all see from now on what was written, and with sync it is on the disk. Returns the seconds. */
double way_close(access_way *a, bool sync);

/* A clock. */
double seconds(void);

#endif
