/* form.h: traces as bytes: what the writers and readers of trace files share. docs/FORMAT.md is the specification.
 *
 *     "SLTRACE" version   chunk chunk chunk ...          chunk: kind, length (4 bytes), payload, CRC-32C (4 bytes)
 *
 * Numbers in payloads are LEB128 varints; those that may be negative are folded (0, -1, 1, -2, ...) first. A trace
 * has the chunks in this order, a part of one (what one process writes while it runs) in any in which nothing is named
 * before it is there:
 *
 *     'H'  origin, processes                                    'S'  shapes, as wire forms; numbered as they come
 *     'C'  of parts: the clock and rank of the process          'N'  nodes of a process, whole trees
 *     'F'  one file; numbered as they come                      'T'  its end: counts and time line; the last one counts
 *     'P'  one process; numbered as they come                   'L'  of parts: the size of a file, as far as it is
 * known 'Z'  nothing: the last chunk
 */
#ifndef SLUICE_TRACE_FORM_H
#define SLUICE_TRACE_FORM_H

#include "trace/trace.h"

#define SLUICE_FORM_MAGIC "SLTRACE"
enum {
    SLUICE_FORM_VERSION = 1,
    SLUICE_MERGE_RANKS = 1 << 24, /* of an MPI program, at most */
    SLUICE_FORM_HEAD = 8,         /* magic and version */
    SLUICE_FORM_AROUND = 9,       /* bytes of a chunk that are not payload */
    SLUICE_FORM_STUB = 100,       /* bytes of a part that says who writes it, at least */
    SLUICE_FORM_NODES = 64 << 10, /* bytes after which the writers begin a new chunk of nodes */
};

/* ---- pen.c: writing chunks into memory. A failed allocation sticks in `error`, and nothing more is written. */
typedef struct sluice_pen {
    unsigned char *buf;
    int64_t n, cap, chunk; /* chunk: where the one now written starts */
    int error;
} sluice_pen;
void sluice_pen_head(sluice_pen *p); /* of a file */
void sluice_pen_begin(sluice_pen *p, char kind);
void sluice_pen_end(sluice_pen *p);
void sluice_pen_number(sluice_pen *p, int64_t v); /* v >= 0 */
void sluice_pen_signed(sluice_pen *p, int64_t v);
void sluice_pen_bytes(sluice_pen *p, const void *bytes, int64_t n);
void sluice_pen_free(sluice_pen *p);

/* pen.c: whole chunks; nodes in as many as they need. */
void sluice_pen_file(sluice_pen *p, const sluice_trace_file *f);
void sluice_pen_length(sluice_pen *p, int32_t file, int64_t size);
void sluice_pen_shape(sluice_pen *p, const sluice_set *s);
void sluice_pen_proc(sluice_pen *p, const sluice_trace_proc *q);
void sluice_pen_nodes(sluice_pen *p, int32_t proc, const sluice_trace_node *tree, int64_t n);
void sluice_pen_times(sluice_pen *p, int32_t proc, const sluice_trace_proc *q);

/* What a part says of the process that wrote it, beside its trace. Times in a part are those of its machine's clock
 * since it was started. */
typedef struct sluice_author {
    int32_t rank, nranks;       /* in the MPI program; -1: none */
    char boot[SLUICE_SYS_BOOT]; /* the machine and its run */
    int64_t wall;               /* what the clock lacks to nanoseconds since 1970 */
    bool aligned;               /* skew is known: what the clock lacks to that of the program's first process */
    int64_t skew;
} sluice_author;
void sluice_pen_clock(sluice_pen *p, const sluice_author *part);

/* ---- read.c: bytes as a trace, whatever they are: all that is read has been checked. SLUICE_E_FORMAT,
 * SLUICE_E_VERSION, -ENOMEM; why->pos is the byte. With `part` not NULL it is a part that is wanted, and one that
 * breaks off is taken as far as it is whole. */
typedef struct sluice_source {
    int fd;                     /* -1: from memory */
    const unsigned char *bytes; /* memory, or what was read ahead */
    int64_t n, at, before;      /* of it; passed in all before it */
    unsigned char *room;
} sluice_source;
int sluice_read_source(sluice_trace *t, sluice_source *s, sluice_author *part, sluice_reason *why);

/* save.c: all bytes into the file, or an error; a part from its file. */
int sluice_save_bytes(int fd, const unsigned char *bytes, int64_t n);
int sluice_load_part(sluice_trace *t, const char *path, sluice_author *part, sluice_reason *why);

#endif
