/* ranks: 1 2 3 4 */
/* mpiio_fault.c: faults of the disk as a program sees them through MPI_File_*: on every process in turn, the n-th call
 * to the store fails, or is interrupted, or moves half. Whatever happens: no process hangs, all return the same class
 * in a collective call, the class says what was wrong, interruptions and short transfers are no errors, the status
 * counts no more than was asked for, and the same call then succeeds. */
#include "mpiio/door.h"
#include "mpiio_common.h"
#include <errno.h>

enum { N = 600 };

static MPI_File f;
static sluice_store *fault; /* in the lane that is used */
static int buf[N];

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

static const struct scene {
    const char *name;
    int (*act)(MPI_Status *s);
    bool together, write;
} scenes[] = {
    {"write_at_all", write_all, true, true},   {"read_at_all", read_all, true, false},
    {"write_at", write_one, false, true},      {"read_at", read_one, false, false},
    {"iwrite_at_all", iwrite_all, true, true}, {"split read", split_read, true, false},
};

static const struct fault_case {
    sluice_fault_kind kind;
    int error, class;
} faults[] = {
    {SLUICE_FAULT_ERROR, EIO, MPI_ERR_IO},        {SLUICE_FAULT_ERROR, ENOSPC, MPI_ERR_NO_SPACE},
    {SLUICE_FAULT_ERROR, EDQUOT, MPI_ERR_QUOTA},  {SLUICE_FAULT_ERROR, EROFS, MPI_ERR_READ_ONLY},
    {SLUICE_FAULT_ERROR, EACCES, MPI_ERR_ACCESS}, {SLUICE_FAULT_EINTR, 0, MPI_SUCCESS},
    {SLUICE_FAULT_SHORT, 0, MPI_SUCCESS},
};

/* Whether the fault happened on the process that had it. */
static bool one(const struct scene *w, const struct fault_case *k, int who, int64_t nth) {
    MPI_Status s;
    for (int i = 0; i < N; i++) buf[i] = rank * N + i;
    meet();
    if (rank == who) sluice_fault_set(fault, nth, k->kind, k->error);
    const int64_t before = sluice_fault_calls(fault);
    const int code = w->act(&s), class = code ? class_of(code) : MPI_SUCCESS;
    int hit = rank == who && sluice_fault_calls(fault) - before >= nth, bytes = -1;
    sluice_fault_set(fault, 0, k->kind, 0);
    MPI_Bcast(&hit, 1, MPI_INT, who, MPI_COMM_WORLD);
    /* Calls that only make room or ask do not always matter; but one that moves data does. */
    const bool mine = w->together || rank == who;
    if (!mine || k->class == MPI_SUCCESS)
        CHECK(class == MPI_SUCCESS, "%s, call %d: class %d", w->name, (int)nth, class);
    if (mine && hit && class != MPI_SUCCESS)
        CHECK(class == k->class, "%s, call %d of rank %d: class %d, not %d", w->name, (int)nth, who, class, k->class);
    if (w->together) {
        int least, most;
        MPI_Allreduce(&class, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(&class, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        CHECK(least == most, "%s: classes %d to %d", w->name, least, most);
    }
    MPI_Get_elements(&s, MPI_BYTE, &bytes);
    CHECK(bytes >= 0 && bytes <= N * (int)sizeof(int), "%s: %d bytes", w->name, bytes);
    if (class == MPI_SUCCESS) CHECK(bytes == N * (int)sizeof(int), "%s: only %d bytes", w->name, bytes);
    if (code && code != class) { /* else the MPI library cannot keep a sentence */
        char text[MPI_MAX_ERROR_STRING];
        int n;
        MPI_Error_string(code, text, &n);
        CHECK(strstr(text, "mpiio_fault") != NULL, "%s: the sentence names no file: %s", w->name, text);
    }
    /* Again, and right. */
    GOOD(w->act(&s));
    meet();
    if (!w->write) {
        int good = 1;
        for (int i = 0; i < N; i++) good &= buf[i] == rank * N + i;
        CHECK(good, "%s: data is wrong after a fault", w->name);
    }
    return hit;
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "mpiio_fault");
    int64_t happened = 0;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        MPI_Datatype t;
        GOOD(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
        MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(size * (int)sizeof(int)), &t);
        MPI_Type_commit(&t);
        GOOD(MPI_File_set_view(f, rank * (int)sizeof(int), MPI_INT, t, "native", MPI_INFO_NULL));
        MPI_Type_free(&t);
        GOOD(write_all(MPI_STATUS_IGNORE));
        sluice_door *d = sluice_handle_find(f);
        CHECK(d != NULL);
        stand_before(scenes[i].together ? d->all : &d->own);
        for (int who = 0; who < size; who++)
            for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
                for (int64_t nth = 1; nth <= 6 && failures < 20; nth++)
                    if (one(&scenes[i], &faults[k], who, nth))
                        happened++;
                    else
                        break;
        GOOD(MPI_File_close(&f));
    }
    if (rank == 0) printf("%lld faults happened\n", (long long)happened);
    CHECK(happened > 0);
    return end();
}
