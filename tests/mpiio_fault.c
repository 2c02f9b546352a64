/* ranks: 1 2 3 4 */
/* mpiio_fault.c: faults as a program sees them through MPI_File_*: on every process in turn, the n-th call to the store
 * fails, or is interrupted, or moves half, or the n-th allocation fails; of files and of containers; in calls that
 * block, do not, are split, are ordered. Whatever happens: no process hangs, all return the same class in a collective
 * call, the class says what was wrong, interruptions and short transfers are no errors, the status counts no more than
 * was asked for, and the same call then succeeds. */
#include "mpiio/door.h"
#include "mpiio_common.h"
#include "support/tree.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { N = 600 };

static MPI_File f;
static sluice_store *fault; /* in the lane that is used */
static int buf[N];

/* ---- Between processes, asleep: waits of MPI may cost a time slice each ---------------------------------------- */

static struct board {
    _Atomic uint32_t present, page;
    int number[64];
} * board;

static void open_board(void) {
    char name[160];
    snprintf(name, sizeof name, "%s.board", path);
    int fd = rank == 0 ? open(name, O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (rank == 0 && ftruncate(fd, sizeof *board)) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 0) fd = open(name, O_RDWR);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (board == MAP_FAILED || size > 64) MPI_Abort(MPI_COMM_WORLD, 1);
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(name);
}

static void gather_here(void) {
    const uint32_t page = board->page;
    if (atomic_fetch_add(&board->present, 1) + 1 == (uint32_t)size) {
        board->present = 0;
        board->page = page + 1;
        syscall(SYS_futex, &board->page, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    }
    while (board->page == page) syscall(SYS_futex, &board->page, FUTEX_WAIT, page, NULL, NULL, 0);
}

/* The least and the most of everyone's number. */
static void compare(int mine, int *least, int *most) {
    board->number[rank] = mine;
    gather_here();
    *least = *most = mine;
    for (int r = 0; r < size; r++) {
        if (board->number[r] < *least) *least = board->number[r];
        if (board->number[r] > *most) *most = board->number[r];
    }
    gather_here();
}

/* ---- Faults ------------------------------------------------------------------------------------------------------ */

/* A shim before the store of a lane. */
static void stand_before(sluice_lane *l) {
    sluice_io_release(l->io); /* its mapping would not ask the store */
    l->io->map_tried = false;
    l->io->no_map = true;
    CHECK(!sluice_store_open_fault(&fault, l->io->store));
    l->io->store = fault;
}

static int write_all(MPI_Status *s) { return MPI_File_write_at_all(f, 0, buf, N, MPI_INT, s); }
static int read_all(MPI_Status *s) { return MPI_File_read_at_all(f, 0, buf, N, MPI_INT, s); }
static int write_one(MPI_Status *s) { return MPI_File_write_at(f, 0, buf, N, MPI_INT, s); }
static int read_one(MPI_Status *s) { return MPI_File_read_at(f, 0, buf, N, MPI_INT, s); }
static int iwrite_all(MPI_Status *s) {
    MPI_Request r;
    int code = MPI_File_iwrite_at_all(f, 0, buf, N, MPI_INT, &r);
    return code ? code : MPI_Wait(&r, s);
}
static int split_read(MPI_Status *s) {
    int code = MPI_File_read_at_all_begin(f, 0, buf, N, MPI_INT);
    return code ? code : MPI_File_read_at_all_end(f, buf, s);
}

static int split_write(MPI_Status *s) {
    int code = MPI_File_write_at_all_begin(f, 0, buf, N, MPI_INT);
    return code ? code : MPI_File_write_at_all_end(f, buf, s);
}
static int iread_all(MPI_Status *s) {
    MPI_Request r;
    int code = MPI_File_iread_at_all(f, 0, buf, N, MPI_INT, &r);
    return code ? code : MPI_Wait(&r, s);
}
static int iwrite_one(MPI_Status *s) {
    MPI_Request r;
    int code = MPI_File_iwrite_at(f, 0, buf, N, MPI_INT, &r);
    return code ? code : MPI_Wait(&r, s);
}
static int iread_one(MPI_Status *s) {
    MPI_Request r;
    int code = MPI_File_iread_at(f, 0, buf, N, MPI_INT, &r);
    return code ? code : MPI_Wait(&r, s);
}
/* The shared pointer counts in a view that is the same for all. */
static int write_ordered(MPI_Status *s) {
    int code = MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    return code ? code : MPI_File_write_ordered(f, buf, N, MPI_INT, s);
}
static int read_ordered(MPI_Status *s) {
    int code = MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    return code ? code : MPI_File_read_ordered(f, buf, N, MPI_INT, s);
}

/* One piece, and short. */
static int read_short(MPI_Status *s) { return MPI_File_read_at(f, rank * N, buf, N, MPI_INT, s); }

static const struct scene {
    const char *name;
    int (*act)(MPI_Status *s);
    bool together, write, plain; /* plain: all see all of it */
} scenes[] = {
    {"write_at_all", write_all, true, true, false},     {"read_at_all", read_all, true, false, false},
    {"write_at", write_one, false, true, false},        {"read_at", read_one, false, false, false},
    {"iwrite_at_all", iwrite_all, true, true, false},   {"iread_at_all", iread_all, true, false, false},
    {"iwrite_at", iwrite_one, false, true, false},      {"iread_at", iread_one, false, false, false},
    {"split write", split_write, true, true, false},    {"split read", split_read, true, false, false},
    {"write_ordered", write_ordered, true, true, true}, {"read_ordered", read_ordered, true, false, true},
    {"short read_at", read_short, false, false, true},
};
enum { SCENES = sizeof scenes / sizeof *scenes, MEMORY = -1 };

static const struct fault_case {
    sluice_fault_kind kind;
    int error, class;
} out_of_memory = {SLUICE_FAULT_ERROR, MEMORY, MPI_ERR_NO_MEM},
  faults[] = {
      {SLUICE_FAULT_ERROR, EIO, MPI_ERR_IO},        {SLUICE_FAULT_ERROR, ENOSPC, MPI_ERR_NO_SPACE},
      {SLUICE_FAULT_EINTR, 0, MPI_SUCCESS},         {SLUICE_FAULT_SHORT, 0, MPI_SUCCESS},
      {SLUICE_FAULT_ERROR, EDQUOT, MPI_ERR_QUOTA},  {SLUICE_FAULT_ERROR, EROFS, MPI_ERR_READ_ONLY},
      {SLUICE_FAULT_ERROR, EACCES, MPI_ERR_ACCESS},
};
enum { FAULTS = sizeof faults / sizeof *faults, COMMON = 4 };

/* Whether the fault happened on the process that had it. */
static bool one(const struct scene *w, const struct fault_case *k, int who, int64_t nth) {
    MPI_Status s;
    for (int i = 0; i < N; i++) buf[i] = rank * N + i;
    gather_here();
    const bool memory = k->error == MEMORY;
    if (rank == who && memory) sluice_mem_fail_nth(nth);
    if (rank == who && !memory) sluice_fault_set(fault, nth, k->kind, k->error);
    const int64_t before = memory ? sluice_mem_calls() : sluice_fault_calls(fault);
    memset(&s, 0, sizeof s);
    const int code = w->act(&s), class = code ? class_of(code) : MPI_SUCCESS;
    int hit = rank == who && (memory ? sluice_mem_calls() : sluice_fault_calls(fault)) - before >= nth, bytes = -1;
    sluice_mem_fail_nth(0);
    sluice_fault_set(fault, 0, k->kind, 0);
    int least, most;
    compare(hit, &least, &hit);
    /* Calls that only make room or ask do not always matter; but one that moves data does. */
    const bool mine = w->together || rank == who;
    if (!mine || k->class == MPI_SUCCESS)
        CHECK(class == MPI_SUCCESS, "%s, call %d: class %d", w->name, (int)nth, class);
    if (mine && hit && class != MPI_SUCCESS)
        CHECK(class == k->class, "%s, call %d of rank %d: class %d, not %d", w->name, (int)nth, who, class, k->class);
    if (w->together) {
        compare(class, &least, &most);
        CHECK(least == most, "%s: classes %d to %d", w->name, least, most);
    }
    MPI_Get_elements(&s, MPI_BYTE, &bytes);
    if (class != MPI_SUCCESS && memory) bytes = 0; /* no request may have come to be, and no status */
    CHECK(bytes >= 0 && bytes <= N * (int)sizeof(int), "%s: %d bytes", w->name, bytes);
    if (class == MPI_SUCCESS) CHECK(bytes == N * (int)sizeof(int), "%s: only %d bytes", w->name, bytes);
    if (code && code != class) { /* else the MPI library cannot keep a sentence */
        char text[MPI_MAX_ERROR_STRING];
        int n;
        MPI_Error_string(code, text, &n);
        CHECK(memory || strstr(text, "mpiio_fault") != NULL, "%s: the sentence names no file: %s", w->name, text);
    }
    /* Again, and right. */
    GOOD(w->act(&s));
    gather_here();
    if (!w->write) {
        int good = 1;
        for (int i = 0; i < N; i++) good &= buf[i] == rank * N + i;
        CHECK(good, "%s: data is wrong after a fault", w->name);
    }
    return hit;
}

/* Someone hangs. */
static void bark(int number) {
    (void)number;
    fprintf(stderr, "rank %d of %d: no end in sight\n", rank, size);
    _exit(1);
}

/* All faults of a scene, on a file or a container; how many happened. */
static int64_t play(const struct scene *w, const char *name, bool every) {
    MPI_Datatype t;
    int64_t happened = 0;
    alarm(60);
    GOOD(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(size * (int)sizeof(int)), &t);
    MPI_Type_commit(&t);
    GOOD(MPI_File_set_view(f, w->plain ? 0 : rank * (int)sizeof(int), MPI_INT, w->plain ? MPI_INT : t, "native",
                           MPI_INFO_NULL));
    MPI_Type_free(&t);
    for (int i = 0; i < N; i++) buf[i] = rank * N + i;
    GOOD((w->plain ? write_ordered : write_all)(MPI_STATUS_IGNORE));
    meet();
    sluice_door *d = sluice_handle_find(f);
    CHECK(d != NULL);
    stand_before(w->together ? d->all : &d->own);
    for (int who = 0; who < size; who++) {
        for (int k = 0; k < (every ? FAULTS : COMMON); k++)
            for (int64_t nth = 1; nth <= 6 && one(w, &faults[k], who, nth); nth++) happened++;
        for (int64_t nth = 1; nth <= 40 && one(w, &out_of_memory, who, nth); nth += every ? 1 : 3) happened++;
    }
    GOOD(MPI_File_close(&f));
    return happened;
}

/* A container of as many bytes, in three subfiles. */
static void make_container(const char *name) {
    sluice_array *a;
    sluice_desc d = {.shape = {.ndims = 1, .elem = 4, .dim = {(int64_t)N * size}}};
    sluice_options o = {.size = sizeof o, .layout = "rows:3"};
    if (rank == 0) {
        int err = sluice_create(&a, name, &d, &o);
        CHECK(!err, "%s", sluice_errmsg());
        if (!err) CHECK(!sluice_close(a));
    }
    meet();
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "mpiio_fault");
    signal(SIGALRM, bark);
    open_board();
    char folder[160];
    int64_t happened = 0;
    snprintf(folder, sizeof folder, "%s.sluice", path);
    for (int i = 0; i < SCENES; i++) happened += play(&scenes[i], path, i < 4);
    make_container(folder);
    for (int i = 0; i < SCENES; i += 3) happened += play(&scenes[i], folder, false);
    meet();
    if (rank == 0) remove_tree(folder);
    if (rank == 0) printf("%lld faults happened\n", (long long)happened);
    CHECK(happened > 0);
    return end();
}
