/* parallel.h: the inside of parallel files and views. */
#ifndef SLUICE_PARALLEL_H
#define SLUICE_PARALLEL_H

#include "array/array.h"
#include "io/link.h"
#include "io/serve.h"
#include "sluice_view.h"

/* One part of a transfer by messages. */
typedef struct sluice_parcel {
    int subfile;
    sluice_span span;
    sluice_set mem;        /* where the bytes lie in the view, if not in one piece, */
    unsigned char *bounce; /* and then where they are put together; else NULL */
} sluice_parcel;

/* A file of which subfile i is at server i mod nservers. */
typedef struct sluice_service {
    sluice_group *group;
    int nservers, *server; /* their ranks */
    sluice_server *own;    /* NULL: this process is no server */
    int64_t piece;         /* the most that a message carries */
    int64_t memory;        /* for what has to be put together; */
    unsigned char *bounce; /* and where, */
    int64_t cap;           /* with so many bytes */
    sluice_call *call;     /* room for a call to each subfile and each server */
    sluice_parcel *parcel;
} sluice_service;

struct sluice_file {
    sluice_label name; /* for messages: that of the first subfile */
    sluice_partition partition;
    sluice_set *set; /* of the partition */
    sluice_io *io;   /* one for each subfile; without a store where it is not here */
    bool writable;
    int64_t end;                 /* of the bytes that there are; INT64_MAX: no end */
    sluice_container *container; /* of whose array the file is the bytes, or NULL */
    sluice_service *service;     /* NULL: all subfiles are here */
};

struct sluice_view {
    sluice_file *file;
    sluice_set set;
    sluice_element element;
    int64_t first;     /* bytes of the view below this lie before the partition */
    sluice_link *link; /* one of each for each subfile */
    sluice_span *span; /* of the access that is under way */
    int64_t *id;       /* that the server has given the link, or -1 */
    sluice_view_counts *counts;
};

/* How a file is opened: as the caller says, and what follows from it. */
typedef struct sluice_opening {
    sluice_partition partition;
    bool layout; /* it is that of a layout, and so surely one */
    const char *const *path;
    bool create;
    int mode;
    sluice_options o;
    sluice_store_mode store_mode;
    int64_t memory;   /* for the transfers of all subfiles that are here */
    int first, every; /* these are here: first, first + every, ... */
} sluice_opening;

/* parallel.c. Pure. Checks what the caller says, with the options, and fills in the rest: all subfiles are here. */
int sluice_parallel_prepare(sluice_opening *w, const sluice_options *o, sluice_reason *why);

/* parallel.c. Local. Opens the subfiles that are here. discard: closes them again, and takes away those that were made.
 */
int sluice_parallel_open(sluice_file **out, const sluice_opening *w, sluice_reason *why);
void sluice_parallel_discard(sluice_file *f, const sluice_opening *w);

/* parallel.c. Local. A file on open stores, NULL for those that are not here; on failure they stay the caller's. */
int sluice_parallel_adopt(sluice_file **out, const sluice_opening *w, sluice_store *const *store, sluice_reason *why);

/* parallel.c. Local. Closes the stores and frees the handle. */
int sluice_parallel_close(sluice_file *f, sluice_reason *why);

/* view.c. Local. Moves a span of a subfile that is here; buf[0] is byte `off` of the view. */
int sluice_view_move(sluice_io *io, bool write, const sluice_link *l, const sluice_span *s, unsigned char *buf,
                     int64_t off, sluice_reason *why);

/* served.c. Pure. The ranks of n servers; *mine is our place among them, or -1. */
struct sluice_servers;
int sluice_served_list(int *server, const struct sluice_servers *s, const sluice_group *g, int n, int *mine,
                       sluice_reason *why);

/* served.c. Local. Tells the servers of a view, or that it is gone; moves its spans, which are used up; passes a hint
 * on; sync. */
int sluice_served_view(sluice_view *v, sluice_reason *why);
void sluice_served_free(sluice_view *v);
int sluice_served_move(sluice_view *v, bool write, int64_t off, unsigned char *buf, sluice_reason *why);
int sluice_served_expect(sluice_view *v, sluice_reason *why);
int sluice_served_sync(sluice_file *f, sluice_reason *why);

/* served.c. Collective. Closes and frees. */
int sluice_served_close(sluice_file *f, sluice_reason *why);

#endif
