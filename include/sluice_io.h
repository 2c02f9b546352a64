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

/* How a collective call divides the work. Zero is the default of every field. */
typedef enum sluice_way {
    SLUICE_WAY_AUTO,     /* by cost, for all processes alike */
    SLUICE_WAY_OWN,      /* each process moves what it asked for */
    SLUICE_WAY_TWO_PHASE /* aggregators move file domains, all copy or send */
} sluice_way;
typedef enum sluice_division {
    SLUICE_DIVIDE_AUTO,    /* even parts of the range of all requests, cut at pages or stripes */
    SLUICE_DIVIDE_STATIC,  /* blocks of whole slabs of the array */
    SLUICE_DIVIDE_DYNAMIC, /* blocks of whole slabs of the range of all requests */
    SLUICE_DIVIDE_CYCLIC,  /* slabs of that range dealt in turn */
    SLUICE_DIVIDE_BALANCED /* parts with about equally many requested bytes */
} sluice_division;
typedef enum sluice_exchange {
    SLUICE_EXCHANGE_AUTO,
    SLUICE_EXCHANGE_MESSAGES, /* from node to node, where there is something to send */
    SLUICE_EXCHANGE_ALLTOALL  /* one MPI_Alltoallv per round */
} sluice_exchange;
typedef struct sluice_together {
    sluice_way way;
    sluice_division division;
    sluice_exchange exchange;
    int aggregators;      /* processes that move domains; 0: by nodes and cores; static, dynamic and cyclic: all */
    int64_t align;        /* domains end at multiples of this; 0: pages, or stripes */
    int64_t block;        /* cyclic: slabs per turn; 0 = 1 */
    int nodes;            /* pretend that the processes run on so many nodes; 0 = as it is */
    int no_pipeline;      /* do not transfer one window while another is copied */
    int refuse_conflicts; /* a write in which two processes name the same byte is an error, and writes nothing */
} sluice_together;

/* What a handle did since it was opened. */
typedef struct sluice_counts {
    int64_t calls_read, calls_write;     /* requests to the store */
    int64_t bytes_read, bytes_written;   /* bytes that the store moved */
    int64_t wanted_read, wanted_written; /* bytes that were asked for and moved */
    int64_t preread;                     /* of bytes_read: to fill holes before a write */
    int64_t mapped_read, mapped_written; /* bytes copied from and to the mapping, without a call */
    int64_t rounds;                      /* of two-phase calls */
    int64_t messages, message_bytes;     /* data sent to other nodes */
    int64_t descriptors;                 /* bytes of descriptions of requests that this process gave to others */
    int64_t plans;                       /* collective calls that could not use the plan of the one before */
} sluice_counts;

#ifdef __cplusplus
}
#endif
#endif
