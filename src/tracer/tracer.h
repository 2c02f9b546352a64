/* tracer.h: libsluice-trace.so stands before the system's calls on files, and records those on files that were chosen.
 *
 * SLUICE_TRACE names the trace and SLUICE_TRACE_FILES the files, as patterns with a colon between them. Everything else
 * goes straight to the system. What is done without these calls is not seen: mappings, standard I/O (whose calls stay
 * inside the C library), io_uring.
 */
#ifndef SLUICE_TRACER_H
#define SLUICE_TRACER_H

#include "trace/record.h"
#include <stdbool.h>

/* table.c. Local. A descriptor was opened, became another one for the same file (from < 0: one that is not recorded),
 * is no longer. */
void sluice_table_opened(int fd);
void sluice_table_duplicated(int from, int to);
void sluice_table_closed(int fd);

/* table.c. Local. Whether accesses through the descriptor are recorded. Cheap. */
bool sluice_table_has(int fd);

/* table.c. Local. n bytes at off were moved. */
void sluice_table_access(int fd, bool write, int64_t off, int64_t n, int64_t begin);

#endif
