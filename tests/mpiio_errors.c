/* ranks: 1 2 3 4, through the door */
/* mpiio_errors.c: modes of opening, and the class of every error, which is the same on all processes of a collective
 * call also if only one of them is wrong. */
#include "mpiio_common.h"
#include <sys/stat.h>

static MPI_File f;
static char c;

static int open_as(const char *name, int amode) {
    return MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &f);
}

#define CLASS(call, class)                                                                                             \
    do {                                                                                                               \
        int got_ = class_of(call);                                                                                     \
        CHECK(got_ == (class), "class %d", got_);                                                                      \
    } while (0)

static void test_modes(void) {
    const int make = MPI_MODE_CREATE | MPI_MODE_RDWR;
    CLASS(open_as(path, MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE);
    CLASS(open_as(path, MPI_MODE_RDWR), MPI_ERR_NO_SUCH_FILE);
    CLASS(open_as(path, MPI_MODE_RDONLY | MPI_MODE_CREATE), MPI_ERR_AMODE);
    CLASS(open_as(path, MPI_MODE_RDONLY | MPI_MODE_EXCL), MPI_ERR_AMODE);
    CLASS(open_as(path, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL), MPI_ERR_AMODE);
    CLASS(open_as(path, MPI_MODE_CREATE), MPI_ERR_AMODE);
    CLASS(open_as(path, MPI_MODE_RDWR | MPI_MODE_WRONLY), MPI_ERR_AMODE);
    if (size > 1) CLASS(open_as(path, rank ? make : MPI_MODE_CREATE | MPI_MODE_WRONLY), MPI_ERR_AMODE);
    CLASS(open_as("", make), MPI_ERR_BAD_FILE);
    CLASS(open_as("/tmp", MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE); /* a folder that is no container */
    meet();
    CHECK(access(path, F_OK) != 0);
    GOOD(open_as(path, make | MPI_MODE_EXCL));
    GOOD(MPI_File_close(&f));
    CLASS(open_as(path, make | MPI_MODE_EXCL), MPI_ERR_FILE_EXISTS);
    char prefixed[160];
    snprintf(prefixed, sizeof prefixed, "ufs:%s", path);
    GOOD(open_as(prefixed, MPI_MODE_RDWR | MPI_MODE_UNIQUE_OPEN));
    char text[4] = "abc";
    if (rank == 0) GOOD(MPI_File_write_at(f, 0, text, 4, MPI_CHAR, MPI_STATUS_IGNORE));
    GOOD(MPI_File_close(&f));
    MPI_Offset at;
    GOOD(open_as(path, MPI_MODE_RDWR | MPI_MODE_APPEND));
    GOOD(MPI_File_get_position(f, &at));
    CHECK(at == 4);
    GOOD(MPI_File_get_position_shared(f, &at));
    CHECK(at == 4);
    GOOD(MPI_File_close(&f));
    GOOD(open_as(path, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
    GOOD(MPI_File_close(&f));
    CHECK(access(path, F_OK) != 0);
    meet();
    CLASS(MPI_File_delete(path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    GOOD(open_as(path, make));
    GOOD(MPI_File_close(&f));
    if (rank == 0) GOOD(MPI_File_delete(prefixed, MPI_INFO_NULL));
    meet();
    CHECK(access(path, F_OK) != 0);
}

/* Who may do what. */
static void test_access(void) {
    GOOD(open_as(path, MPI_MODE_CREATE | MPI_MODE_WRONLY));
    CLASS(MPI_File_read_at(f, 0, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    CLASS(MPI_File_read_all(f, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    if (rank == 0) GOOD(MPI_File_write_at(f, 99, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    GOOD(MPI_File_close(&f));
    GOOD(open_as(path, MPI_MODE_RDONLY));
    CLASS(MPI_File_write_at(f, 0, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    CLASS(MPI_File_write_at_all(f, 0, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    CLASS(MPI_File_set_size(f, 0), MPI_ERR_READ_ONLY);
    CLASS(MPI_File_preallocate(f, 1000), MPI_ERR_READ_ONLY);
    MPI_Request r;
    CLASS(MPI_File_iwrite_at(f, 0, &c, 1, MPI_CHAR, &r), MPI_ERR_READ_ONLY);
    GOOD(MPI_File_close(&f));
    if (geteuid()) { /* the administrator may do everything */
        if (rank == 0) chmod(path, 0);
        meet();
        CLASS(open_as(path, MPI_MODE_RDONLY), MPI_ERR_ACCESS);
        meet();
        if (rank == 0) chmod(path, 0600);
    }
    meet();
}

/* One process is wrong. */
static void test_one(void) {
    const int wrong = rank == size - 1;
    MPI_Status s;
    char buf[8];
    GOOD(open_as(path, MPI_MODE_RDWR));
    CLASS(MPI_File_read_at_all(f, 0, buf, wrong ? -1 : 1, MPI_CHAR, &s), MPI_ERR_COUNT);
    CLASS(MPI_File_read_at_all(f, wrong ? -1 : 0, buf, 1, MPI_CHAR, &s), MPI_ERR_ARG);
    CLASS(MPI_File_write_at_all(f, 0, buf, 1, wrong ? MPI_DATATYPE_NULL : MPI_CHAR, &s), MPI_ERR_TYPE);
    CLASS(MPI_File_read_all(f, buf, wrong ? -1 : 1, MPI_CHAR, &s), MPI_ERR_COUNT);
    MPI_Offset at;
    GOOD(MPI_File_get_position(f, &at));
    CHECK(at == 0, "%lld", (long long)at); /* nothing was read */
    CLASS(MPI_File_read_ordered(f, buf, wrong ? -1 : 1, MPI_CHAR, &s), MPI_ERR_COUNT);
    GOOD(MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
    GOOD(MPI_File_read_at_all_begin(f, 0, buf, wrong ? -1 : 1, MPI_CHAR));
    CLASS(MPI_File_read_at_all_end(f, buf, &s), MPI_ERR_COUNT);
    MPI_Request r;
    int code = MPI_File_iread_at_all(f, 0, buf, wrong ? -1 : 1, MPI_CHAR, &r);
    CLASS(code ? code : MPI_Wait(&r, &s), MPI_ERR_COUNT);
    CLASS(MPI_File_set_view(f, wrong ? -5 : 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    CLASS(MPI_File_set_size(f, wrong ? -5 : 0), MPI_ERR_ARG);
    if (size > 1) {
        CLASS(MPI_File_set_size(f, wrong ? 50 : 60), MPI_ERR_NOT_SAME);
        CLASS(MPI_File_seek_shared(f, wrong, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
        CLASS(MPI_File_set_view(f, 0, wrong ? MPI_INT : MPI_CHAR, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_NOT_SAME);
        CLASS(MPI_File_set_atomicity(f, wrong), MPI_ERR_NOT_SAME);
    }
    MPI_Offset n;
    GOOD(MPI_File_get_size(f, &n));
    CHECK(n == 100, "%lld", (long long)n);
    GOOD(MPI_File_read_at_all(f, 0, buf, 1, MPI_CHAR, &s)); /* and all is well */
    CLASS(MPI_File_seek(f, 0, 77), MPI_ERR_ARG);
    CLASS(MPI_File_read_at_all_end(f, buf, &s), MPI_ERR_IO); /* which has not begun */
    GOOD(MPI_File_read_at_all_begin(f, 0, buf, 1, MPI_CHAR));
    CLASS(MPI_File_read_all_begin(f, buf, 1, MPI_CHAR), MPI_ERR_IO);
    CLASS(MPI_File_read_all_end(f, buf, &s), MPI_ERR_IO);
    GOOD(MPI_File_read_at_all_end(f, buf, &s));
    GOOD(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CLASS(MPI_File_read_at(f, 0, buf, 3, MPI_CHAR, &s), MPI_ERR_ARG); /* not a number of etypes */
    MPI_Datatype back;
    MPI_Type_vector(2, 1, -1, MPI_INT, &back);
    MPI_Type_commit(&back);
    CLASS(MPI_File_set_view(f, 64, MPI_INT, back, "native", MPI_INFO_NULL), MPI_ERR_IO);
    MPI_Type_free(&back);
    CLASS(MPI_Register_datarep("native", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, NULL, NULL),
          MPI_ERR_DUP_DATAREP);
    GOOD(MPI_File_close(&f));
}

/* From beginning to end. */
static void test_sequential(void) {
    MPI_Status s;
    MPI_Offset at;
    char buf[4];
    GOOD(open_as(path, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL));
    CLASS(MPI_File_read_at(f, 0, buf, 1, MPI_CHAR, &s), MPI_ERR_UNSUPPORTED_OPERATION);
    CLASS(MPI_File_read(f, buf, 1, MPI_CHAR, &s), MPI_ERR_UNSUPPORTED_OPERATION);
    CLASS(MPI_File_read_all(f, buf, 1, MPI_CHAR, &s), MPI_ERR_UNSUPPORTED_OPERATION);
    CLASS(MPI_File_seek(f, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    CLASS(MPI_File_seek_shared(f, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    CLASS(MPI_File_get_position(f, &at), MPI_ERR_UNSUPPORTED_OPERATION);
    CLASS(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_OPERATION);
    GOOD(MPI_File_read_shared(f, buf, 1, MPI_CHAR, &s));
    CHECK(count_of(&s, MPI_CHAR) == 1);
    meet();
    GOOD(MPI_File_set_view(f, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI_Datatype e, t;
    char name[MPI_MAX_DATAREP_STRING];
    GOOD(MPI_File_get_view(f, &at, &e, &t, name));
    CHECK(at == size, "%lld", (long long)at);
    GOOD(MPI_File_read_ordered(f, buf, 1, MPI_CHAR, &s));
    GOOD(MPI_File_close(&f));
}

static int calls;
static MPI_File called_with;

static void forgive(MPI_File *of, int *code, ...) {
    calls++;
    called_with = *of;
    *code = MPI_SUCCESS;
}

/* What a handler of the program leaves as code is what the call returns: of a file, and of none. */
static void test_handlers(void) {
    MPI_Errhandler mine, before, now;
    int byte = 0;
    GOOD(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f));
    MPI_File_create_errhandler(forgive, &mine);
    GOOD(MPI_File_set_errhandler(f, mine));
    GOOD(MPI_File_read_at(f, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)); /* it may be written only */
    CHECK(calls == 1 && called_with == f, "%d calls", calls);
    GOOD(MPI_File_call_errhandler(f, MPI_ERR_OTHER));
    CHECK(calls == 2 && called_with == f, "%d calls", calls);
    GOOD(MPI_File_close(&f));
    MPI_File_get_errhandler(MPI_FILE_NULL, &before);
    MPI_File_set_errhandler(MPI_FILE_NULL, mine);
    GOOD(MPI_File_open(MPI_COMM_WORLD, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &f));
    CHECK(calls == 3 && f == MPI_FILE_NULL, "%d calls", calls);
    MPI_File_set_errhandler(MPI_FILE_NULL, before);
    MPI_File_get_errhandler(MPI_FILE_NULL, &now);
    CHECK(now == before);
    MPI_Errhandler_free(&now);
    MPI_Errhandler_free(&before);
    MPI_Errhandler_free(&mine);
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "mpiio_errors");
    test_modes();
    test_access();
    test_one();
    test_sequential();
    test_handlers();
    return end();
}
