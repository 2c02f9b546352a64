/* page.h: `sluice report`: a trace as one page that a browser shows.
 *
 * digest.c looks through the accesses to one file and adds up what the page shows, chart.c draws it, placing.c draws
 * the layout of a plan, and page.c is the command and the page around them. The page needs no other file, no network
 * and no program: charts are SVG in it, and what a mark means is told when the pointer rests on it.
 */
#ifndef SLUICE_TOOL_PAGE_H
#define SLUICE_TOOL_PAGE_H

#include "tool/tool.h"
#include "trace/trace.h"

enum {
    PAGE_COLUMNS = 120,    /* parts of the time */
    PAGE_ROWS = 64,        /* parts of the file */
    PAGE_RANKS = 64,       /* rows of charts that have a row for each process, or for several */
    PAGE_SIZES = 63,       /* powers of two */
    PAGE_FILES = 8,        /* files that are shown; the others are only listed */
    PAGE_EVENTS = 1 << 20, /* accesses that are looked at one by one */
    NOBODY = -1,
    SEVERAL = -2,
};

/* A part of the file in a part of the time. */
typedef struct page_cell {
    int rank;        /* who, NOBODY or SEVERAL */
    double bytes[2]; /* read, written */
} page_cell;

/* [0]: reads, [1]: writes */
typedef struct page_use {
    double count[2], bytes[2], seconds[2];
} page_use;

typedef struct digest {
    const sluice_trace *t;
    int file;
    const char *name;
    int64_t size;       /* of the file, or as far as it was accessed */
    int64_t begin, end; /* of the time that is shown, in nanoseconds */
    double events;      /* accesses to the file, of which so many were looked at one by one: */
    int64_t seen;
    int64_t users;                    /* processes that access it */
    page_use all, *rank;              /* of each process */
    double size_count[2][PAGE_SIZES]; /* accesses with so many bytes: k counts those of 2^k up to 2^(k+1) - 1 */
    page_cell (*cell)[PAGE_COLUMNS];  /* PAGE_ROWS of them */
    int ranks;                        /* rows of the charts below; process p is in row p * ranks / nproc */
    double (*touch)[PAGE_ROWS][2];    /* bytes of each row of processes in each part of the file */
    double (*busy)[PAGE_COLUMNS][2];  /* seconds of each in each part of the time */
} digest;

/* digest.c. Adds up the accesses to a file of a trace; what it allocates lives to the end. */
void digest_make(digest *d, const sluice_trace *t, int file);
void digest_free(digest *d);

/* digest.c. All bytes of accesses to a file; the file with most of them, -1: none was accessed; one by its name, or -1.
 */
double digest_weight(const sluice_trace *t, int file);
int digest_heaviest(const sluice_trace *t);
int digest_find(const sluice_trace *t, const char *name);

/* chart.c. SVG of the four charts. */
void chart_map(FILE *f, const digest *d);
void chart_touch(FILE *f, const digest *d);
void chart_busy(FILE *f, const digest *d);
void chart_sizes(FILE *f, const digest *d);
void chart_speed(FILE *f, const digest *d);

/* chart.c. The colour of a process; a number of bytes in at most 8 characters, one printf can use four. */
void chart_colour(FILE *f, int rank);
const char *chart_bytes(double n);

/* placing.c. The part of the page that shows a plan for a file of the trace. */
struct sluice_placement;
void placing_show(FILE *f, const struct sluice_placement *p, const sluice_trace *t, int file);

/* outlook.c. A table of what that plan and other layouts would cost. */
void outlook_show(FILE *f, const struct sluice_placement *p, const sluice_trace *t, int file);

#endif
