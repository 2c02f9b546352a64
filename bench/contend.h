/* contend.h: several ways of moving the same parts of a file, measured side by side on P processes of one machine.
 *
 * A contest is a list of events: for each of them every process has some boxes of an array in a file, to read or to
 * write. The program starts itself under mpiexec:
 *
 *     program --procs 4                     the judge: starts the others, waits, prints
 *       mpiexec -n 4 program --board ...    process 0 ... 3: measure
 *
 * All share one piece of memory, the board: the barrier, what is going on, the results. A contender that does not come
 * back in time is shot with all of mpiexec; the event is started again without it. So a peer that hangs costs its own
 * result only.
 *
 * The rules:
 *   - Contenders take turns within each repetition, each time in another order. All have the same number of
 *     repetitions, except where one has used up its budget of time; its figure is then marked with *.
 *   - A run takes from the first start to the last end among the processes, which wait for it in a barrier, asleep.
 *   - A figure is the median; the spread is that between the quartiles, in per cent of it.
 *   - Before an event that writes, the file is written anew in pages, so that its cache is made of small pieces for
 * all.
 *   - Each run is verified on each process; after each contender's first write, so is the rest of the file.
 *   - The share of the machine's time that went to other processes is shown.
 *
 * With --door the same calls of MPI are also made through the MPI-IO door, on a handle of its own.
 */
#ifndef SLUICE_BENCH_CONTEND_H
#define SLUICE_BENCH_CONTEND_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { DIMS = 3, BOXES = 8, EVENTS = 64, CONTENDERS = 20, REPS = 33, RANKS = 128, WAYS = 5 };

/* An array in a file, first dimension fastest. */
typedef struct field {
    int ndims;
    int64_t elem, dim[DIMS];
} field;

/* Some of its elements. Dimensions that there are not have start 0, count 1, step 1. */
typedef struct box {
    int64_t start[DIMS], count[DIMS], step[DIMS];
} box;

typedef struct event {
    char name[12];
    int group; /* means are taken over a group */
    bool write, quick;
    int field; /* which */
} event;

/* ---- The board ---- */

typedef enum status { NOT_RUN, DONE, WRONG, FAILED, LATE } status;

/* Nanoseconds. view: to set the file view of MPI; first: the first run, which may plan and fault in. */
typedef struct outcome {
    status status;
    int reps;
    double median, low, high, least, most, view, first;
} outcome;

typedef struct slot {
    double start, end, cpu;
    bool took_part;
} slot;

typedef struct board {
    /* What was asked for. */
    int nranks, reps, pid;
    bool cold, door;
    double budget;
    bool chosen[EVENTS], barred[EVENTS][CONTENDERS];
    /* What is going on. */
    atomic_uint present, page;
    atomic_int at, running; /* event, contender; -1: none */
    _Atomic int64_t since;  /* nanoseconds */
    atomic_int trouble;     /* a status that some process reports for this run */
    atomic_int finished;
    slot slot[RANKS];
    /* What came out. */
    outcome outcome[EVENTS][CONTENDERS];
    double foreign[EVENTS]; /* share of the machine that others had */
    char library[64], peer[16];
} board;

/* board.c. Becomes the mpiexec that the bench was built with, or $MPIEXEC, which starts `nranks` processes of the
 * program rest[0] with the arguments that follow. Does not return. */
void bench_mpiexec(int nranks, char *const *rest, int nrest) __attribute__((noreturn));

/* board.c. All processes are here. They sleep, except briefly while there are cores for all. */
void board_meet(board *b);

/* ---- Contenders ---- */

typedef enum kind { OURS, FORCED, PLAIN, LIBRARY, DOOR, LIMIT } kind;

typedef struct job job;
typedef struct contender {
    const char *name;
    kind kind;
    bool collective;             /* LIBRARY, DOOR: all processes in one call */
    int (*run)(job *j, int how); /* not 0: failed */
    int how;
    int workers; /* processes 0 ... that do it; 0: all */
} contender;

typedef struct contest {
    const char *name, *title;
    const field *fields;
    const event *events;
    int nevents;
    const contender *contenders;
    int ncontenders;
    /* Fills in what process `rank` of `nranks` has in an event, and returns how many boxes. */
    int (*boxes)(int event, int rank, int nranks, box *out);
    /* The event is for so many processes. */
    bool (*suits)(int event, int nranks);
    void (*judge)(const board *b); /* says which goals were met */
    int quick;                     /* processes of a quick run */
} contest;

/* Runs the contest with the options of the command line; the program's status. */
int contend(const contest *c, int argc, char **argv);

/* What a process has at hand in an event. */
struct job {
    const contest *contest;
    board *board;
    int rank, nranks;
    const event *event;
    const field *field;
    int nboxes;
    box box[BOXES];
    unsigned char *buf; /* the boxes one after the other, packed */
    int64_t bytes;
    char path[64];
    int fd;
    unsigned char *map;
    int64_t file_bytes;
    struct sluice_array *array[WAYS];
    MPI_File file[2]; /* of the MPI library; through the door, if that is asked for */
    MPI_Datatype elem, view;
    struct limit *limit;
};

/* movers.c. */
int move_sluice(job *j, int way);
int move_direct(job *j, int how);
int move_mapped(job *j, int how);
int move_mpi(job *j, int how);
void open_movers(job *j);  /* Collective: handles on j->path */
void close_movers(job *j); /* Collective */
void make_view(job *j);
void set_view(job *j, int door); /* Collective */
void free_view(job *j);
void check_in(job *j); /* Collective: Sluice forgets what it has mapped */

/* For move_mpi. */
enum { MPI_COLLECTIVE = 1, MPI_DOOR = 2 };

/* How Sluice divides the work, for move_sluice. */
enum { WAY_AUTO, WAY_OWN, WAY_TWO_PHASE, WAY_STATIC, WAY_DYNAMIC };

/* The contenders that all contests have. */
#define COMMON_CONTENDERS                                                                                              \
    {"sluice", OURS, false, move_sluice, WAY_AUTO, 0}, {"own", FORCED, false, move_sluice, WAY_OWN, 0},                \
        {"2-phase", FORCED, false, move_sluice, WAY_TWO_PHASE, 0},                                                     \
        {"static", FORCED, false, move_sluice, WAY_STATIC, 0},                                                         \
        {"dynamic", FORCED, false, move_sluice, WAY_DYNAMIC, 0}, {"direct", PLAIN, false, move_direct, 0, 0},          \
        {"mapping", PLAIN, false, move_mapped, 0, 0}, {"MPI ind", LIBRARY, false, move_mpi, 0, 0},                     \
        {"MPI coll", LIBRARY, true, move_mpi, MPI_COLLECTIVE, 0}, {"door ind", DOOR, false, move_mpi, MPI_DOOR, 0}, {  \
        "door coll", DOOR, true, move_mpi, MPI_DOOR | MPI_COLLECTIVE, 0                                                \
    }

/* movers.c. Reads or writes all of it; 0 or -1. */
int transfer(int fd, void *p, int64_t len, int64_t off, bool write);

/* movers.c. n elements that lie `step` bytes apart at `file`, from or to packed memory. */
void copy_line(unsigned char *file, unsigned char *mem, int64_t n, int64_t step, int64_t elem, bool write);

/* The lines of a box: calls its arguments' code for each, with the offset in the file and in memory. */
#define EACH_LINE(FIELD, BOX, OFF, AT)                                                                                 \
    for (int64_t AT = 0, k2_ = 0; k2_ < (BOX)->count[2]; k2_++)                                                        \
        for (int64_t k1_ = 0, OFF = line_offset(FIELD, BOX, 0, k2_); k1_ < (BOX)->count[1];                            \
             k1_++, AT += (BOX)->count[0] * (FIELD)->elem, OFF = line_offset(FIELD, BOX, k1_, k2_))

static inline int64_t line_offset(const field *f, const box *b, int64_t k1, int64_t k2) {
    int64_t x2 = b->start[2] + k2 * b->step[2], x1 = b->start[1] + k1 * b->step[1];
    return ((x2 * f->dim[1] + x1) * f->dim[0] + b->start[0]) * f->elem;
}

static inline int64_t box_bytes(const field *f, const box *b) {
    return b->count[0] * b->count[1] * b->count[2] * f->elem;
}

/* limit.c: the best that a small program can do that knows what all processes want; arrays of two dimensions. */
enum { BY_RUN, BY_COLUMN, BY_64K, BY_1M };
int move_limit(job *j, int how);
void make_limit(job *j);
void free_limit(job *j);
void prepare_limit(job *j, uint32_t salt);
bool check_limit(const job *j, int workers); /* of reads: what this worker read */
#define LIMIT_CONTENDERS                                                                                               \
    {"1 run", LIMIT, false, move_limit, BY_RUN, 1}, {"1 column", LIMIT, false, move_limit, BY_COLUMN, 1},              \
        {"1 64K", LIMIT, false, move_limit, BY_64K, 1}, {"1 1M", LIMIT, false, move_limit, BY_1M, 1},                  \
        {"2 run", LIMIT, false, move_limit, BY_RUN, 2}, {"2 column", LIMIT, false, move_limit, BY_COLUMN, 2},          \
        {"2 64K", LIMIT, false, move_limit, BY_64K, 2}, {                                                              \
        "2 1M", LIMIT, false, move_limit, BY_1M, 2                                                                     \
    }

/* worker.c. The course of the contest on one process under mpiexec. */
int contest_work(const contest *c, const char *board_path);

/* data.c: what is in the file, and in what is read and written: words that follow from their place, plus a salt for
 * what was written. */
void fill_box(const field *f, const box *b, unsigned char *mem, uint32_t salt);
bool check_box(const field *f, const box *b, const unsigned char *mem, uint32_t salt);
bool check_lines(const field *f, const box *b, int64_t k, int64_t n, const unsigned char *mem); /* n of them, salt 0 */
bool check_mapped(const job *j, uint32_t salt); /* our boxes in the file */
void restore(const job *j);                     /* puts back what was there, through the mapping */
bool check_file(const job *j);                  /* our share of all of the file is as it was */
int make_file(const job *j);                    /* written in pages, and on the disk */
int make_cold(const job *j);                    /* no page of it is cached */

/* ---- Judging ---- */

/* Whether a name is in a list with commas. */
bool listed(const char *list, const char *name);

/* The best median of the contenders of a kind (LIBRARY, DOOR: `collective` ones only, if so asked), and which;
 * INFINITY. */
double best_of(const contest *c, const board *b, int event, kind k, bool collective, int *who);

/* Whether Sluice is three times as fast as the collective calls of MPI, event by event. */
void judge_collective(const contest *c, const board *b);

#endif
