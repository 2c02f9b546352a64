/* record.h: a process writes down its accesses while it makes them.
 *
 * Off unless the environment names a trace, in SLUICE_TRACE: then each process that makes an access to a file writes a
 * part of it, in the folder <trace>.parts, which sluice_merge_parts() later makes one trace of. What a process keeps in
 * memory is bounded: nodes that can no longer become part of a loop go to the part, and so does, once a second, all
 * that there is, so that a process that is killed loses little.
 *
 * Recording never harms what it records: an access that cannot be recorded, for want of memory or because the part
 * cannot be written, is counted as lost, and the trace says that it is not complete. All functions may be called from
 * any thread, also after fork: a child writes a part of its own.
 */
#ifndef SLUICE_TRACE_RECORD_H
#define SLUICE_TRACE_RECORD_H

#include "trace/form.h"

enum {
    SLUICE_RECORD_NODES = 4096,  /* in memory, about 110 bytes each */
    SLUICE_RECORD_SHAPES = 2048, /* families in the sets of shapes that are known again, 64 bytes each */
    SLUICE_RECORD_FILES = 4096,  /* accesses to more files than that are lost */
};

/* ---- One recorder: what the others are made of, and tests try -------------------------------------------------- */

typedef struct sluice_recorder {
    sluice_trace t; /* of one process */
    sluice_author part;
    sluice_pen pen;
    int fd;
    int64_t written;       /* bytes of the part that stay; what is behind them is written anew */
    int64_t saved;         /* when all that there was was written */
    int32_t files, shapes; /* that were given to the pen */
    int32_t named;         /* files that are in the part */
    int64_t lost;
    int error; /* the part cannot be written any more */
} sluice_recorder;

/* Local. Starts a part at `path`, which must not be there. */
int sluice_recorder_open(sluice_recorder *r, const char *path);
int sluice_recorder_file(sluice_recorder *r, const char *name, int64_t size);
void sluice_recorder_access(sluice_recorder *r, const sluice_event *e);
void sluice_recorder_align(sluice_recorder *r, int64_t skew);

/* Local. Ends the part; its error, if anything was lost. */
int sluice_recorder_close(sluice_recorder *r);

/* ---- The recorder of this process ------------------------------------------------------------------------------- */

/* Local. Nanoseconds of the machine's clock since it was started. */
int64_t sluice_record_now(void);

/* Local. Whether accesses are to be recorded: by the library itself, or, `calls`, by the library that stands before the
 * system's calls, which is meant if SLUICE_TRACE_FILES is set. The first call decides. */
bool sluice_record_on(bool calls);

/* Local. The number of the file, for accesses; negative: they are lost. */
int sluice_record_file(const char *name, int64_t size);

/* Local. An access that began and ended then. */
void sluice_record_access(int file, bool write, bool collective, const sluice_set *set, int64_t off, int64_t begin,
                          int64_t end);

/* Local. The same of n > 0 bytes, by a process for itself. */
void sluice_record_block(int file, bool write, int64_t off, int64_t n, int64_t begin, int64_t end);

/* Local. A number that is another one once numbers of files are no longer good, because another part was begun. */
int64_t sluice_record_part(void);

/* Local. What the clock of this machine lacks to that of the program's first process. */
void sluice_record_align(int64_t skew);

/* Local. Ends the part; done by itself when the process ends, but not by _exit. An access after it starts another one.
 */
void sluice_record_end(void);

/* ---- Parts as one trace ------------------------------------------------------------------------------------------ */

/* merge.c. Local. All parts in the folder as a finished trace: processes by rank, else by their first access; times on
 * one clock. Ranks of which there is no part have no accesses, and are not complete. -ENOENT if there are no parts. */
int sluice_merge_parts(sluice_trace *t, const char *folder, sluice_reason *why);

/* merge.c. Local. Removes the parts in the folder, and it. */
int sluice_merge_remove(const char *folder);

#endif
