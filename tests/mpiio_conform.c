/* ranks: 1 2 3, through the door */
/* mpiio_conform.c: rules of the chapter on I/O that hold between calls: pointers, shared and individual; what ends up
 * in the file when calls overlap; modes; offsets and extents; sizes beyond 32 bits; hints; errors. See mpiio_conform.h.
 */
#include "mpiio_conform.h"
#include <sys/mman.h>

static MPI_Datatype committed(MPI_Datatype t) {
    MPI_Type_commit(&t);
    return t;
}

/* Two ints of every four. */
static MPI_Datatype half(void) {
    MPI_Datatype v, t;
    MPI_Type_contiguous(2, MPI_INT, &v);
    MPI_Type_create_resized(v, 0, 16, &t);
    MPI_Type_free(&v);
    return committed(t);
}

static int elements(const MPI_Status *s) {
    int n = -1;
    MPI_Get_elements(s, MPI_BYTE, &n);
    return n;
}

/* ---- Pointers ---------------------------------------------------------------------------------------------------- */

static void individual(void) {
    MPI_File f = make(MPI_MODE_RDWR);
    MPI_Offset at = -1;
    MPI_Request r[3];
    MPI_Status s[3];
    int buf[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8] = {0};
    MPI_Datatype t = half();
    const MPI_Offset far = 4096 * rank;
    MUST(MPI_File_set_view(f, far, MPI_INT, t, "native", MPI_INFO_NULL), "set_view");
    /* A non-blocking call moves the pointer before it is done. */
    for (int i = 0; i < 3; i++) MUST(MPI_File_iwrite(f, buf + 2 * i, 2, MPI_INT, &r[i]), "iwrite");
    MPI_File_get_position(f, &at);
    rule(at == 6, "iwrite moves the pointer at once");
    MUST(MPI_Waitall(3, r, s), "waiting for iwrite");
    for (int i = 0; i < 3; i++) rule(elements(&s[i]) == 8, "the count of iwrite");
    MUST(MPI_File_seek(f, 0, MPI_SEEK_SET), "seek");
    for (int i = 0; i < 3; i++) MUST(MPI_File_iread(f, got + 2 * i, 2, MPI_INT, &r[i]), "iread");
    MUST(MPI_Waitall(3, r, s), "waiting for iread");
    rule(!memcmp(got, buf, 24), "iread one after the other reads what iwrite wrote");
    MUST(MPI_File_seek(f, -3, MPI_SEEK_CUR), "seek from here");
    MPI_File_get_position(f, &at);
    rule(at == 3, "seek from here");
    /* 6 etypes in 3 copies of 16 bytes, of which the last has 8. */
    MPI_File_get_byte_offset(f, 5, &at);
    rule(at == far + 36, "get_byte_offset adds the displacement");
    MPI_File_get_byte_offset(f, 1000001, &at);
    rule(at == far + 500000 * 16 + 4, "get_byte_offset behind the end");
    rule(MPI_File_seek(f, -1, MPI_SEEK_SET) != MPI_SUCCESS, "no seek before the view");
    MPI_File_get_position(f, &at);
    rule(at == 3, "a seek that failed moves nothing");
    MUST(MPI_File_read_at(f, 0, got, 2, MPI_INT, s), "read_at");
    MPI_File_get_position(f, &at);
    rule(at == 3, "explicit offsets move no pointer");
    MUST(MPI_File_read_all(f, got, rank % 2 ? 0 : 1, MPI_INT, s), "read_all");
    MPI_File_get_position(f, &at);
    rule(at == (rank % 2 ? 3 : 4), "read_all moves each pointer by its own count");
    MUST(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "set_view");
    MPI_File_get_position(f, &at);
    rule(at == 0, "set_view puts the pointer to 0");
    MPI_Type_free(&t);
    MPI_File_close(&f);
}

static void shared(void) {
    MPI_File f = make(MPI_MODE_RDWR);
    MPI_Offset at = -1;
    MPI_Request r;
    MPI_Status s;
    int one = rank, two[2] = {rank, rank}, got[2] = {-1, -1};
    MUST(MPI_File_set_view(f, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "set_view");
    MUST(MPI_File_write_ordered(f, two, rank == 0 ? 2 : 1, MPI_INT, &s), "write_ordered");
    MPI_File_get_position_shared(f, &at);
    rule(at == size + 1, "write_ordered moves the shared pointer by all");
    meet();
    MUST(MPI_File_iwrite_shared(f, &one, 1, MPI_INT, &r), "iwrite_shared");
    MUST(MPI_Wait(&r, &s), "waiting for iwrite_shared");
    meet();
    MPI_File_get_position_shared(f, &at);
    rule(at == 2 * size + 1, "iwrite_shared moves the shared pointer");
    MPI_File_get_position(f, &at);
    rule(at == 0, "shared calls leave the individual pointer");
    meet();
    MUST(MPI_File_seek_shared(f, rank == 0 ? 0 : 0, MPI_SEEK_SET), "seek_shared");
    MUST(MPI_File_read_ordered_begin(f, got, rank == 0 ? 2 : 1, MPI_INT), "read_ordered_begin");
    MUST(MPI_File_read_ordered_end(f, got, &s), "read_ordered_end");
    rule(got[0] == rank && elements(&s) == (rank == 0 ? 8 : 4), "ordered calls are in the order of ranks");
    MUST(MPI_File_seek_shared(f, -1, MPI_SEEK_END), "seek_shared from the end");
    MPI_File_get_position_shared(f, &at);
    rule(at == 2 * size, "seek_shared from the end");
    meet();
    MUST(MPI_File_seek_shared(f, 0, MPI_SEEK_SET), "seek_shared");
    MUST(MPI_File_read_ordered(f, got, rank == size - 1 ? 0 : 1, MPI_INT, &s), "read_ordered of nothing by one");
    rule(elements(&s) == (rank == size - 1 ? 0 : 4), "read_ordered of nothing by one");
    MUST(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "set_view");
    MPI_File_get_position_shared(f, &at);
    rule(at == 0, "set_view puts the shared pointer to 0");
    MPI_File_close(&f);
}

/* ---- Split and non-blocking -------------------------------------------------------------------------------------- */

static void split(void) {
    MPI_File f = make(MPI_MODE_RDWR);
    MPI_Status s;
    MPI_Offset at = -1;
    int buf[4] = {rank, rank + 1, rank + 2, rank + 3}, got[4] = {0}, other = -1;
    MUST(MPI_File_set_view(f, 16 * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "set_view");
    MUST(MPI_File_write_all_begin(f, buf, 4, MPI_INT), "write_all_begin");
    MUST(MPI_File_write_all_end(f, buf, &s), "write_all_end");
    rule(elements(&s) == 16, "the count of write_all_end");
    meet();
    MUST(MPI_File_read_at_all_begin(f, 0, got, 4, MPI_INT), "read_at_all_begin");
    /* In between: calls of this process on the same file. */
    MUST(MPI_File_read_at(f, 2, &other, 1, MPI_INT, MPI_STATUS_IGNORE), "a call between begin and end");
    rule(other == rank + 2, "a call between begin and end");
    MUST(MPI_File_read_at_all_end(f, got, &s), "read_at_all_end");
    rule(!memcmp(got, buf, sizeof buf) && elements(&s) == 16, "read_at_all_end");
    MPI_File_get_position(f, &at);
    rule(at == 4, "explicit split calls move no pointer");
    MUST(MPI_File_seek(f, 1, MPI_SEEK_SET), "seek");
    MUST(MPI_File_read_all_begin(f, got, 2, MPI_INT), "read_all_begin");
    MUST(MPI_File_read_all_end(f, got, MPI_STATUS_IGNORE), "read_all_end");
    MPI_File_get_position(f, &at);
    rule(got[0] == rank + 1 && at == 3, "read_all_begin and end move the pointer");
    MPI_File_close(&f);
}

static void many(void) {
    enum { N = 64 };
    MPI_File f = make(MPI_MODE_RDWR);
    MPI_Request r[N];
    MPI_Status s[N];
    static int buf[N][16], got[N][16];
    int done = 0;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 16; k++) buf[i][k] = rank * 10000 + i * 16 + k;
        MUST(MPI_File_iwrite_at(f, 64 * ((MPI_Offset)rank * N + i), buf[i], 16, MPI_INT, &r[i]), "iwrite_at");
    }
    MUST(MPI_Waitall(N, r, s), "waiting for many");
    for (int i = 0; i < N; i++)
        MUST(MPI_File_iread_at(f, 64 * ((MPI_Offset)rank * N + i), got[i], 16, MPI_INT, &r[i]), "iread_at");
    while (!done) rule(!MPI_Testall(N, r, &done, s), "Testall");
    rule(!memcmp(buf, got, sizeof buf), "many requests at once");
    /* Several collective ones, waited for in another order; the others may start theirs later. */
    memset(got, 0, sizeof got);
    MUST(MPI_File_iwrite_at_all(f, 4 * rank, &buf[1][0], 1, MPI_INT, &r[0]), "iwrite_at_all");
    MUST(MPI_File_iwrite_at_all(f, 4096 + 4 * rank, &buf[2][0], 1, MPI_INT, &r[1]), "iwrite_at_all");
    MUST(MPI_Waitall(2, r, s), "waiting for iwrite_at_all");
    MUST(MPI_File_iread_at_all(f, 4096 + 4 * rank, &got[0][0], 1, MPI_INT, &r[0]), "iread_at_all");
    MUST(MPI_File_iread_at_all(f, 4 * rank, &got[1][0], 0, MPI_INT, &r[1]), "iread_at_all of nothing");
    MUST(MPI_Wait(&r[1], s), "waiting for iread_at_all of nothing");
    MUST(MPI_Wait(&r[0], s), "waiting for iread_at_all");
    rule(got[0][0] == buf[2][0] && got[1][0] == 0, "iread_at_all");
    MPI_File_close(&f);
}

/* ---- Consistency ------------------------------------------------------------------------------------------------- */

/* All write the same bytes: in atomic mode those of one of them are there, all of them, every time. */
static void atomic_mode(void) {
    enum { N = 5000, TURNS = 10 };
    MPI_File f = make(MPI_MODE_RDWR);
    static int buf[N], got[N];
    MPI_Datatype t = half();
    int flag = 0;
    MUST(MPI_File_set_view(f, 0, MPI_INT, t, "native", MPI_INFO_NULL), "set_view");
    MUST(MPI_File_set_atomicity(f, 1), "set_atomicity");
    MUST(MPI_File_get_atomicity(f, &flag), "get_atomicity");
    rule(flag, "atomic mode is told");
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < N; i++) buf[i] = turn * 100 + rank;
        meet();
        MUST((turn % 2 ? MPI_File_write_at_all : MPI_File_write_at)(f, 0, buf, N, MPI_INT, MPI_STATUS_IGNORE),
             "writing in atomic mode");
        meet();
        MUST(MPI_File_read_at(f, 0, got, N, MPI_INT, MPI_STATUS_IGNORE), "reading in atomic mode");
        int same = got[0] / 100 == turn;
        for (int i = 1; i < N; i++) same &= got[i] == got[0];
        rule(same, "in atomic mode one of several writes is there as a whole");
        /* Who reads while others write sees all of a write, or nothing. */
        meet();
        if (rank == 0)
            MUST(MPI_File_write_at(f, 0, buf, N, MPI_INT, MPI_STATUS_IGNORE), "writing in atomic mode");
        else
            MUST(MPI_File_read_at(f, 0, got, N, MPI_INT, MPI_STATUS_IGNORE), "reading in atomic mode");
        for (int i = 1; i < N && rank; i++) same &= got[i] == got[0];
        rule(same, "in atomic mode a read sees all of a write or nothing");
    }
    MUST(MPI_File_set_atomicity(f, 0), "set_atomicity");
    MPI_Type_free(&t);
    MPI_File_close(&f);
}

/* Handles of different groups: what was synced is seen. */
static void consistent(void) {
    MPI_File f = make(MPI_MODE_RDWR), own = MPI_FILE_NULL;
    MPI_Offset n = -1;
    int x = -1, y = 1000 + rank;
    MUST(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &own), "opening alone");
    MUST(MPI_File_write_at(own, 4 * rank, &y, 1, MPI_INT, MPI_STATUS_IGNORE), "write_at");
    MUST(MPI_File_sync(own), "sync");
    meet();
    MUST(MPI_File_sync(f), "sync");
    MUST(MPI_File_read_at_all(f, 4 * ((rank + 1) % size), &x, 1, MPI_INT, MPI_STATUS_IGNORE), "read_at_all");
    rule(x == 1000 + (rank + 1) % size, "what was synced through another handle is seen");
    MUST(MPI_File_get_size(f, &n), "get_size");
    rule(n == 4 * size, "the size that was written through another handle");
    meet();
    MUST(MPI_File_set_size(f, 2), "set_size");
    meet();
    MPI_Status s;
    MUST(MPI_File_sync(own), "sync");
    MUST(MPI_File_read_at(own, 0, &x, 1, MPI_INT, &s), "read_at");
    rule(elements(&s) == 2, "a file that became shorter through another handle");
    MPI_File_close(&own);
    MPI_File_close(&f);
}

/* ---- Modes ------------------------------------------------------------------------------------------------------- */

static void modes(void) {
    MPI_File f = make(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    MPI_Status s;
    MPI_Offset at = -1;
    int amode = 0, x = rank + 1, got = 0;
    MUST(MPI_File_write_ordered(f, &x, 1, MPI_INT, &s), "write_ordered of a sequential file");
    MUST(MPI_File_get_amode(f, &amode), "get_amode");
    rule(amode == (MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL), "get_amode");
    MPI_File_close(&f);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &f),
         "opening a sequential file");
    MUST(MPI_File_read_ordered(f, &got, 1, MPI_INT, &s), "read_ordered of a sequential file");
    rule(got == x, "read_ordered of a sequential file");
    MPI_File_close(&f);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_APPEND | MPI_MODE_UNIQUE_OPEN, MPI_INFO_NULL,
                       &f),
         "opening to append");
    MUST(MPI_File_get_position(f, &at), "get_position");
    rule(at == 4 * size, "APPEND puts the pointer to the end");
    MUST(MPI_File_get_position_shared(f, &at), "get_position_shared");
    rule(at == 4 * size, "APPEND puts the shared pointer to the end");
    MUST(MPI_File_write_ordered(f, &x, 1, MPI_INT, &s), "write_ordered after APPEND");
    MPI_File_close(&f);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f), "opening");
    MUST(MPI_File_get_size(f, &at), "get_size");
    rule(at == 8 * size, "what was appended is there");
    MUST(MPI_File_read_at(f, 4 * (size + rank), &got, 1, MPI_INT, &s), "read_at");
    rule(got == x, "what was appended is there");
    MPI_File_close(&f);
    meet();
    rule(access(path, F_OK) != 0, "DELETE_ON_CLOSE");
    f = make(MPI_MODE_RDWR | MPI_MODE_EXCL);
    MPI_File_close(&f);
    rule(f == MPI_FILE_NULL, "close leaves the null handle");
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

#define CLASS(call, class, ...) rule(class_of(call) == (class), __VA_ARGS__)

static void errors(void) {
    MPI_File f = MPI_FILE_NULL;
    MPI_Offset at;
    MPI_Status s;
    char c = 0;
    meet();
    if (rank == 0) unlink(path);
    meet();
    CLASS(MPI_File_read_at(f, 0, &c, 1, MPI_CHAR, &s), MPI_ERR_FILE, "reading the null handle");
    CLASS(MPI_File_get_size(f, &at), MPI_ERR_FILE, "the size of the null handle");
    CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &f), MPI_ERR_NO_SUCH_FILE,
          "NO_SUCH_FILE");
    CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_INFO_NULL, &f), MPI_ERR_AMODE,
          "AMODE of two ways");
    CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &f), MPI_ERR_AMODE,
          "AMODE of RDONLY and CREATE");
    CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &f), MPI_ERR_AMODE,
          "AMODE of RDWR and SEQUENTIAL");
    f = make(MPI_MODE_RDWR);
    MPI_File g = MPI_FILE_NULL;
    CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &g),
          MPI_ERR_FILE_EXISTS, "FILE_EXISTS");
    CLASS(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "unheard of", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP,
          "UNSUPPORTED_DATAREP");
    CLASS(MPI_File_read_at(f, -1, &c, 1, MPI_CHAR, &s), MPI_ERR_ARG, "a negative offset");
    CLASS(MPI_File_read_at(f, 0, &c, -1, MPI_CHAR, &s), MPI_ERR_COUNT, "a negative count");
    CLASS(MPI_File_read_at(f, 0, &c, 1, MPI_DATATYPE_NULL, &s), MPI_ERR_TYPE, "no datatype");
    CLASS(MPI_File_write_at_all(f, -1, &c, 1, MPI_CHAR, &s), MPI_ERR_ARG, "a negative offset, collective");
    CLASS(MPI_File_set_size(f, -1), MPI_ERR_ARG, "a negative size");
    CLASS(MPI_File_delete("/no such folder/file", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE, "deleting what is not there");
    CLASS(MPI_Register_datarep("external32", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, NULL, NULL),
          MPI_ERR_DUP_DATAREP, "DUP_DATAREP");
    MPI_File_close(&f);
    meet();
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &f), "opening to read");
    CLASS(MPI_File_write_at(f, 0, &c, 1, MPI_CHAR, &s), MPI_ERR_READ_ONLY, "writing what is open to read");
    CLASS(MPI_File_set_size(f, 10), MPI_ERR_READ_ONLY, "the size of what is open to read");
    MPI_File_close(&f);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY, MPI_INFO_NULL, &f), "opening to write");
    CLASS(MPI_File_read_at(f, 0, &c, 1, MPI_CHAR, &s), MPI_ERR_ACCESS, "reading what is open to write");
    MPI_File_close(&f);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &f), "sequential");
    CLASS(MPI_File_read_at(f, 0, &c, 1, MPI_CHAR, &s), MPI_ERR_UNSUPPORTED_OPERATION, "an offset in a sequential file");
    MPI_File_close(&f);
}

/* ---- Sizes, extents, hints --------------------------------------------------------------------------------------- */

static void extents(void) {
    static const struct {
        MPI_Datatype type;
        const char *name;
        int native, external;
    } known[] = {{MPI_INT, "INT", 4, 4},    {MPI_LONG, "LONG", 8, 4},           {MPI_DOUBLE, "DOUBLE", 8, 8},
                 {MPI_CHAR, "CHAR", 1, 1},  {MPI_LONG_LONG, "LONG_LONG", 8, 8}, {MPI_WCHAR, "WCHAR", 4, 2},
                 {MPI_SHORT, "SHORT", 2, 2}};
    MPI_File f = make(MPI_MODE_RDWR);
    MPI_Aint n = -1;
    for (int there = 0; there < 2; there++) {
        MUST(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, there ? "external32" : "native", MPI_INFO_NULL),
             "set_view in external32");
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            MUST(MPI_File_get_type_extent(f, known[i].type, &n), "get_type_extent of %s", known[i].name);
            rule(n == (there ? known[i].external : known[i].native), "get_type_extent of %s%s", known[i].name,
                 there ? " in external32" : "");
        }
    }
    MPI_File_close(&f);
}

static void large(void) {
    const MPI_Offset far = (MPI_Offset)5 << 30, many_bytes = ((MPI_Offset)3 << 30) + 12;
    MPI_File f = make(MPI_MODE_RDWR);
    MPI_Datatype wide, block, t;
    MPI_Offset n = -1;
    MPI_Status s;
    int x = 77 + rank, got = 0;
    MUST(MPI_File_write_at(f, far + 4 * rank, &x, 1, MPI_INT, &s), "writing behind 4 GiB");
    meet();
    MUST(MPI_File_read_at_all(f, far + 4 * rank, &got, 1, MPI_INT, &s), "reading behind 4 GiB");
    rule(got == x, "reading behind 4 GiB");
    MUST(MPI_File_get_size(f, &n), "get_size");
    rule(n == far + 4 * size, "a size beyond 4 GiB");
    /* A filetype with an extent beyond 2 GiB, and an offset that needs several of them. */
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)1 << 31, &wide);
    t = committed(wide);
    MUST(MPI_File_set_view(f, (MPI_Offset)1 << 30, MPI_INT, t, "native", MPI_INFO_NULL), "an extent of 2 GiB");
    MPI_File_get_byte_offset(f, 3, &n);
    rule(n == ((MPI_Offset)7 << 30), "get_byte_offset beyond 4 GiB");
    MUST(MPI_File_read_at(f, 2, &got, 1, MPI_INT, &s), "a view beyond 4 GiB");
    rule(got == 77, "a view beyond 4 GiB");
    MPI_Type_free(&t);
    /* More bytes are asked for than an int counts; what the file has is moved, and counted. */
    MUST(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "set_view");
    MPI_Type_contiguous(1 << 20, MPI_BYTE, &block);
    MPI_Type_contiguous(3 << 10, block, &wide);
    t = committed(wide);
    MPI_Type_free(&block);
    unsigned char *room =
        mmap(NULL, (size_t)many_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MPI_Count many_elements = -1;
    if (room != MAP_FAILED) {
        MUST(MPI_File_read_at_all(f, far, room, 1, t, &s), "asking for 3 GiB");
        MPI_Get_elements_x(&s, MPI_BYTE, &many_elements);
        rule(many_elements == 4 * size && room[0] == 77, "3 GiB of which only some bytes are there");
        munmap(room, (size_t)many_bytes);
    }
    MPI_Type_free(&t);
    MPI_File_close(&f);
}

static void hints(void) {
    MPI_Info info, told;
    MPI_File f = MPI_FILE_NULL;
    char value[MPI_MAX_INFO_VAL + 1];
    int flag = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "1048576");
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "access_style", "write_once,sequential");
    MPI_Info_set(info, "nobody_knows_this", "1");
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f), "opening with hints");
    MPI_Info_free(&info);
    MUST(MPI_File_get_info(f, &told), "get_info");
    MPI_Info_get(told, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &flag);
    rule(flag && !strcmp(value, "1048576"), "get_info tells cb_buffer_size");
    MPI_Info_get(told, "cb_nodes", MPI_MAX_INFO_VAL, value, &flag);
    rule(flag && !strcmp(value, "1"), "get_info tells cb_nodes");
    MUST(MPI_File_set_info(f, told), "set_info with what get_info told");
    MUST(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", told), "set_view with hints");
    MPI_Info_free(&told);
    MUST(MPI_File_set_info(f, MPI_INFO_NULL), "set_info with none");
    MPI_File_close(&f);
}

int main(int argc, char **argv) {
    const group groups[] = {
        {"individual", individual}, {"shared", shared},         {"split", split},       {"many", many},
        {"modes", modes},           {"errors", errors},         {"extents", extents},   {"large", large},
        {"hints", hints},           {"consistent", consistent}, {"atomic", atomic_mode}};
    return conform(argc, argv, "mpiio_conform", groups, sizeof groups / sizeof *groups);
}
