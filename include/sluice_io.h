/* sluice_io.h: how bytes are moved, and how much was. */
#ifndef SLUICE_IO_PUBLIC_H
#define SLUICE_IO_PUBLIC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How bytes are moved. */
typedef enum sluice_method {
    SLUICE_AUTO,   /* by cost */
    SLUICE_DIRECT, /* a call for each run */
    SLUICE_LIST,   /* a request for each run, many in flight */
    SLUICE_SIEVE,  /* long ranges with what lies between, through a buffer; writes read first where there are holes */
    SLUICE_MAPPED  /* through a mapping of the file, cached or not */
} sluice_method;

/* What a handle did since it was opened. */
typedef struct sluice_counts {
    int64_t calls_read, calls_write;     /* requests to the store */
    int64_t bytes_read, bytes_written;   /* bytes that the store moved */
    int64_t wanted_read, wanted_written; /* bytes that were asked for and moved */
    int64_t preread;                     /* of bytes_read: to fill holes before a write */
    int64_t mapped_read, mapped_written; /* bytes copied from and to the mapping, without a call */
} sluice_counts;

#ifdef __cplusplus
}
#endif
#endif
