/* ranks: 1 2 3 4, through the door and on the host */
/* mpiio_calls.c: every call of the chapter on I/O does what the standard says, on files small enough to be compared
 * byte by byte. */
#include "mpiio_common.h"

enum { N = 40 }; /* ints of a process */

static int value(int64_t i) { return (int)(i * 2654435 + 7); }

static MPI_File open_new(void) {
    MPI_File f = MPI_FILE_NULL;
    meet();
    if (rank == 0) unlink(path);
    meet();
    GOOD(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
    return f;
}

/* The file has `n` ints, of which number i is value(i). */
static void check_file(int64_t n, int line) {
    meet();
    if (rank == 0) {
        FILE *f = fopen(path, "rb");
        int64_t i = 0;
        for (int x; f && fread(&x, sizeof x, 1, f) == 1; i++)
            if (x != value(i)) {
                CHECK(0, "line %d: int %lld is %d, not %d", line, (long long)i, x, value(i));
                break;
            }
        CHECK(i == n, "line %d: %lld ints, not %lld", line, (long long)i, (long long)n);
        if (f) fclose(f);
    }
    meet();
}

/* Ints first, first + step, ... */
static void fill(int *buf, int n, int64_t first, int64_t step) {
    for (int i = 0; i < n; i++) buf[i] = value(first + i * step);
}
static int right(const int *buf, int n, int64_t first, int64_t step) {
    int good = 1;
    for (int i = 0; i < n; i++) good &= buf[i] == value(first + i * step);
    return good;
}

/* Every process sees every size-th int. */
static MPI_Datatype dealt(void) {
    MPI_Datatype one, t;
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(size * (int)sizeof(int)), &one);
    MPI_Type_dup(one, &t);
    MPI_Type_commit(&t);
    MPI_Type_free(&one);
    return t;
}

static void set_dealt(MPI_File f) {
    MPI_Datatype t = dealt();
    GOOD(MPI_File_set_view(f, (MPI_Offset)(rank * (int)sizeof(int)), MPI_INT, t, "native", MPI_INFO_NULL));
    MPI_Type_free(&t);
}

/* ---- Explicit offsets ---------------------------------------------------------------------------------------- */

typedef int at_call(MPI_File f, MPI_Offset off, int *buf, int n, MPI_Status *s);

static int write_at(MPI_File f, MPI_Offset o, int *b, int n, MPI_Status *s) {
    return MPI_File_write_at(f, o, b, n, MPI_INT, s);
}
static int write_at_all(MPI_File f, MPI_Offset o, int *b, int n, MPI_Status *s) {
    return MPI_File_write_at_all(f, o, b, n, MPI_INT, s);
}
static int iwrite_at(MPI_File f, MPI_Offset o, int *b, int n, MPI_Status *s) {
    MPI_Request r;
    int code = MPI_File_iwrite_at(f, o, b, n, MPI_INT, &r);
    return code ? code : MPI_Wait(&r, s);
}
static int iwrite_at_all(MPI_File f, MPI_Offset o, int *b, int n, MPI_Status *s) {
    MPI_Request r;
    int code = MPI_File_iwrite_at_all(f, o, b, n, MPI_INT, &r), done = 0;
    while (!code && !done) code = MPI_Test(&r, &done, s);
    return code;
}
static int write_at_split(MPI_File f, MPI_Offset o, int *b, int n, MPI_Status *s) {
    int code = MPI_File_write_at_all_begin(f, o, b, n, MPI_INT);
    return code ? code : MPI_File_write_at_all_end(f, b, s);
}
static int read_at(MPI_File f, MPI_Offset o, int *b, int n, MPI_Status *s) {
    return MPI_File_read_at(f, o, b, n, MPI_INT, s);
}
static int read_at_all(MPI_File f, MPI_Offset o, int *b, int n, MPI_Status *s) {
    return MPI_File_read_at_all(f, o, b, n, MPI_INT, s);
}
static int iread_at(MPI_File f, MPI_Offset o, int *b, int n, MPI_Status *s) {
    MPI_Request r;
    int code = MPI_File_iread_at(f, o, b, n, MPI_INT, &r);
    return code ? code : MPI_Waitall(1, &r, s);
}
static int iread_at_all(MPI_File f, MPI_Offset o, int *b, int n, MPI_Status *s) {
    MPI_Request r;
    int code = MPI_File_iread_at_all(f, o, b, n, MPI_INT, &r);
    return code ? code : MPI_Wait(&r, s);
}
static int read_at_split(MPI_File f, MPI_Offset o, int *b, int n, MPI_Status *s) {
    int code = MPI_File_read_at_all_begin(f, o, b, n, MPI_INT);
    return code ? code : MPI_File_read_at_all_end(f, b, s);
}

static void test_at(void) {
    at_call *writes[] = {write_at, write_at_all, iwrite_at, iwrite_at_all, write_at_split};
    at_call *reads[] = {read_at, read_at_all, iread_at, iread_at_all, read_at_split};
    for (int k = 0; k < 5; k++) {
        MPI_File f = open_new();
        MPI_Status s;
        int buf[N];
        fill(buf, N, rank * N, 1);
        GOOD(writes[k](f, (MPI_Offset)(rank * N * (int)sizeof(int)), buf, N, &s));
        CHECK(count_of(&s, MPI_INT) == N, "%d", count_of(&s, MPI_INT));
        check_file((int64_t)size * N, __LINE__);
        set_dealt(f);
        memset(buf, 0, sizeof buf);
        GOOD(reads[k](f, 1, buf, N - 1, &s));
        CHECK(count_of(&s, MPI_INT) == N - 1 && right(buf, N - 1, rank + size, size), "%d", k);
        memset(buf, 0, sizeof buf);
        GOOD(reads[k](f, N - 3, buf, N, &s)); /* of which the last are not there */
        CHECK(count_of(&s, MPI_INT) == 3 && right(buf, 3, rank + (N - 3) * size, size) && buf[3] == 0, "%d: %d", k,
              count_of(&s, MPI_INT));
        GOOD(reads[k](f, 2 * N, buf, N, &s));
        CHECK(count_of(&s, MPI_INT) == 0, "%d", count_of(&s, MPI_INT));
        meet();
        fill(buf, N, rank + N * size, size);
        GOOD(writes[k](f, N, buf, N, &s)); /* longer */
        check_file((int64_t)size * 2 * N, __LINE__);
        GOOD(writes[k](f, 5, buf, 0, &s));
        CHECK(count_of(&s, MPI_INT) == 0);
        GOOD(MPI_File_close(&f));
        CHECK(f == MPI_FILE_NULL);
    }
}

/* ---- Individual pointers ------------------------------------------------------------------------------------- */

typedef int pointer_call(MPI_File f, int *buf, int n, MPI_Status *s);

static int write_p(MPI_File f, int *b, int n, MPI_Status *s) { return MPI_File_write(f, b, n, MPI_INT, s); }
static int write_all(MPI_File f, int *b, int n, MPI_Status *s) { return MPI_File_write_all(f, b, n, MPI_INT, s); }
static int iwrite_p(MPI_File f, int *b, int n, MPI_Status *s) {
    MPI_Request r;
    int code = MPI_File_iwrite(f, b, n, MPI_INT, &r);
    return code ? code : MPI_Wait(&r, s);
}
static int iwrite_all(MPI_File f, int *b, int n, MPI_Status *s) {
    MPI_Request r;
    int code = MPI_File_iwrite_all(f, b, n, MPI_INT, &r);
    return code ? code : MPI_Wait(&r, s);
}
static int write_split(MPI_File f, int *b, int n, MPI_Status *s) {
    int code = MPI_File_write_all_begin(f, b, n, MPI_INT);
    return code ? code : MPI_File_write_all_end(f, b, s);
}
static int read_p(MPI_File f, int *b, int n, MPI_Status *s) { return MPI_File_read(f, b, n, MPI_INT, s); }
static int read_all(MPI_File f, int *b, int n, MPI_Status *s) { return MPI_File_read_all(f, b, n, MPI_INT, s); }
static int iread_p(MPI_File f, int *b, int n, MPI_Status *s) {
    MPI_Request r;
    int code = MPI_File_iread(f, b, n, MPI_INT, &r);
    return code ? code : MPI_Wait(&r, s);
}
static int iread_all(MPI_File f, int *b, int n, MPI_Status *s) {
    MPI_Request r;
    int code = MPI_File_iread_all(f, b, n, MPI_INT, &r);
    return code ? code : MPI_Wait(&r, s);
}
static int read_split(MPI_File f, int *b, int n, MPI_Status *s) {
    int code = MPI_File_read_all_begin(f, b, n, MPI_INT);
    return code ? code : MPI_File_read_all_end(f, b, s);
}

static void test_pointer(void) {
    pointer_call *writes[] = {write_p, write_all, iwrite_p, iwrite_all, write_split};
    pointer_call *reads[] = {read_p, read_all, iread_p, iread_all, read_split};
    for (int k = 0; k < 5; k++) {
        MPI_File f = open_new();
        MPI_Status s;
        MPI_Offset at;
        int buf[N];
        set_dealt(f);
        for (int part = 0; part < 2; part++) {
            fill(buf, N, rank + part * N * size, size);
            GOOD(writes[k](f, buf, N, &s));
            CHECK(count_of(&s, MPI_INT) == N);
        }
        GOOD(MPI_File_get_position(f, &at));
        CHECK(at == 2 * N, "%lld", (long long)at);
        check_file((int64_t)size * 2 * N, __LINE__);
        GOOD(MPI_File_seek(f, N - 4, MPI_SEEK_SET));
        GOOD(MPI_File_seek(f, 3, MPI_SEEK_CUR));
        for (int part = 0; part < 2; part++) {
            memset(buf, 0, sizeof buf);
            GOOD(reads[k](f, buf, 5, &s));
            CHECK(count_of(&s, MPI_INT) == 5 && right(buf, 5, rank + (N - 1 + part * 5) * size, size));
        }
        GOOD(MPI_File_seek(f, -2, MPI_SEEK_END));
        GOOD(MPI_File_get_position(f, &at));
        CHECK(at == 2 * N - 2, "%lld", (long long)at);
        GOOD(reads[k](f, buf, 2, &s));
        CHECK(right(buf, 2, rank + (2 * N - 2) * size, size));
        CHECK(MPI_File_seek(f, -1, MPI_SEEK_SET) != MPI_SUCCESS);
        GOOD(MPI_File_close(&f));
    }
}

/* ---- The shared pointer -------------------------------------------------------------------------------------- */

/* In whatever order, all parts are there, each in one piece. */
static void check_shared(MPI_File f) {
    meet();
    if (rank == 0) {
        char *seen = calloc((size_t)size * 2, 1);
        for (int p = 0; p < 2 * size; p++) {
            int buf[N], who = -1;
            MPI_Status s;
            GOOD(MPI_File_read_at(f, (MPI_Offset)p * N, buf, N, MPI_INT, &s));
            for (int r = 0; r < 2 * size; r++)
                if (right(buf, N, (int64_t)r * N, 1)) who = r;
            CHECK(who >= 0 && !seen[who], "part %d", p);
            if (who >= 0) seen[who] = 1;
        }
        free(seen);
    }
    meet();
}

static void test_shared(void) {
    MPI_File f = open_new();
    MPI_Status s;
    MPI_Request r;
    MPI_Offset at;
    int buf[N], other[N];
    GOOD(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    fill(buf, N, (int64_t)rank * N, 1);
    fill(other, N, (int64_t)(size + rank) * N, 1);
    GOOD(MPI_File_write_shared(f, buf, N, MPI_INT, &s));
    CHECK(count_of(&s, MPI_INT) == N);
    GOOD(MPI_File_iwrite_shared(f, other, N, MPI_INT, &r));
    GOOD(MPI_Wait(&r, &s));
    CHECK(count_of(&s, MPI_INT) == N);
    check_shared(f);
    GOOD(MPI_File_get_position_shared(f, &at));
    CHECK(at == 2 * size * N, "%lld", (long long)at);
    meet();

    /* In the order of ranks: of rank r there are r + 1. */
    GOOD(MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
    int64_t before = 0, all = 0;
    for (int i = 0; i < size; i++) {
        if (i < rank) before += i + 1;
        all += i + 1;
    }
    fill(buf, rank + 1, before, 1);
    GOOD(MPI_File_write_ordered(f, buf, rank + 1, MPI_INT, &s));
    CHECK(count_of(&s, MPI_INT) == rank + 1);
    fill(buf, rank + 1, all + before, 1);
    GOOD(MPI_File_write_ordered_begin(f, buf, rank + 1, MPI_INT));
    GOOD(MPI_File_write_ordered_end(f, buf, &s));
    GOOD(MPI_File_set_size(f, 2 * all * (int)sizeof(int)));
    check_file(2 * all, __LINE__);
    GOOD(MPI_File_get_position_shared(f, &at));
    CHECK(at == 2 * all, "%lld", (long long)at);
    GOOD(MPI_File_seek_shared(f, -all, MPI_SEEK_END));
    memset(buf, 0, sizeof buf);
    GOOD(MPI_File_read_ordered(f, buf, rank + 1, MPI_INT, &s));
    CHECK(right(buf, rank + 1, all + before, 1));
    GOOD(MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
    memset(buf, 0, sizeof buf);
    GOOD(MPI_File_read_ordered_begin(f, buf, rank + 1, MPI_INT));
    GOOD(MPI_File_read_ordered_end(f, buf, &s));
    CHECK(right(buf, rank + 1, before, 1));
    GOOD(MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
    int one = 0, two = 0;
    GOOD(MPI_File_read_shared(f, &one, 1, MPI_INT, &s));
    GOOD(MPI_File_iread_shared(f, &two, 1, MPI_INT, &r));
    GOOD(MPI_Wait(&r, &s));
    int mine[2] = {one, two}, every[64];
    MPI_Allgather(mine, 2, MPI_INT, every, 2, MPI_INT, MPI_COMM_WORLD);
    for (int64_t i = 0; i < 2 * size && i < 2 * all; i++) {
        int found = 0;
        for (int k = 0; k < 2 * size; k++) found += every[k] == value(i);
        CHECK(found == 1, "int %d was read %d times", (int)i, found);
    }
    GOOD(MPI_File_close(&f));
}

/* ---- Views and memory ---------------------------------------------------------------------------------------- */

static void test_view(void) {
    MPI_File f = open_new();
    MPI_Status s;
    MPI_Offset disp;
    MPI_Datatype etype, filetype, t = dealt();
    MPI_Aint extent;
    char datarep[MPI_MAX_DATAREP_STRING];
    int combiner, a, b, c;
    GOOD(MPI_File_set_view(f, 12, MPI_INT, t, "native", MPI_INFO_NULL));
    GOOD(MPI_File_get_view(f, &disp, &etype, &filetype, datarep));
    CHECK(disp == 12 && etype == MPI_INT && !strcmp(datarep, "native"));
    MPI_Type_get_envelope(filetype, &a, &b, &c, &combiner);
    CHECK(combiner != MPI_COMBINER_NAMED || size == 1);
    MPI_Aint lb, far;
    MPI_Type_get_extent(filetype, &lb, &far);
    CHECK(far == size * (MPI_Aint)sizeof(int));
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&filetype);
    GOOD(MPI_File_get_byte_offset(f, 3, &disp));
    CHECK(disp == 12 + 3 * size * (int)sizeof(int), "%lld", (long long)disp);
    GOOD(MPI_File_get_type_extent(f, t, &extent));
    CHECK(extent == far);
    MPI_Type_free(&t);

    /* Memory backwards and with gaps. */
    int buf[2 * N];
    MPI_Datatype back;
    GOOD(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MPI_Type_create_hvector(N, 1, -2 * (MPI_Aint)sizeof(int), MPI_INT, &back);
    MPI_Type_commit(&back);
    memset(buf, 0, sizeof buf);
    for (int i = 0; i < N; i++) buf[2 * (N - 1 - i)] = value((int64_t)rank * N + i);
    GOOD(MPI_File_write_at(f, (MPI_Offset)rank * N, buf + 2 * (N - 1), 1, back, &s));
    CHECK(count_of(&s, back) == 1 && count_of(&s, MPI_INT) == N);
    check_file((int64_t)size * N, __LINE__);
    memset(buf, 0, sizeof buf);
    GOOD(MPI_File_read_at_all(f, (MPI_Offset)rank * N, buf + 2 * (N - 1), 1, back, &s));
    int good = 1;
    for (int i = 0; i < N; i++)
        good &= buf[2 * (N - 1 - i)] == value((int64_t)rank * N + i) && buf[2 * (N - 1 - i) + 1] == 0;
    CHECK(good);
    MPI_Type_free(&back);

    /* The end of the file in the middle of a datatype. */
    MPI_Datatype pair;
    MPI_Type_contiguous(3, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    GOOD(MPI_File_read_at(f, (MPI_Offset)size * N - 5, buf, 4, pair, &s));
    int elements;
    MPI_Get_elements(&s, pair, &elements);
    CHECK(elements == 5 && count_of(&s, pair) == MPI_UNDEFINED, "%d", elements);
    MPI_Type_free(&pair);
    GOOD(MPI_File_close(&f));
}

/* A process whose filetype has no bytes takes part with nothing. */
static void test_empty(void) {
    MPI_File f = open_new();
    MPI_Datatype none;
    MPI_Status s;
    int buf[N];
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_commit(&none);
    GOOD(MPI_File_set_view(f, 0, MPI_INT, rank ? none : MPI_INT, "native", MPI_INFO_NULL));
    fill(buf, N, 0, 1);
    GOOD(MPI_File_write_at_all(f, 0, buf, rank ? 0 : N, MPI_INT, &s));
    CHECK(count_of(&s, MPI_INT) == (rank ? 0 : N));
    check_file(N, __LINE__);
    MPI_Type_free(&none);
    GOOD(MPI_File_close(&f));
}

static void test_external(void) {
    MPI_File f = open_new();
    MPI_Status s;
    int32_t buf[3] = {0x01020304, -2, 7}, got[3];
    double real = 1.5, back = 0;
    unsigned char byte[20] = "";
    GOOD(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    if (rank == 0) GOOD(MPI_File_write_at(f, 0, buf, 3, MPI_INT, &s));
    meet();
    GOOD(MPI_File_read_at_all(f, 0, got, 3, MPI_INT, &s));
    CHECK(!memcmp(buf, got, sizeof buf) && count_of(&s, MPI_INT) == 3);
    GOOD(MPI_File_set_view(f, 12, MPI_DOUBLE, MPI_DOUBLE, "external32", MPI_INFO_NULL));
    if (rank == 0) GOOD(MPI_File_write(f, &real, 1, MPI_DOUBLE, &s));
    meet();
    GOOD(MPI_File_read_at(f, 0, &back, 1, MPI_DOUBLE, &s));
    CHECK(back == real);
    GOOD(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "internal", MPI_INFO_NULL));
    GOOD(MPI_File_read_at(f, 0, byte, 20, MPI_BYTE, &s));
    const unsigned char said[] = {1, 2, 3, 4, 255, 255, 255, 254, 0, 0, 0, 7, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0};
    CHECK(!memcmp(byte, said, sizeof said));
    CHECK(class_of(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "no such", MPI_INFO_NULL)) ==
          MPI_ERR_UNSUPPORTED_DATAREP);
    GOOD(MPI_File_close(&f));
}

/* ---- The rest ------------------------------------------------------------------------------------------------ */

static void test_size(void) {
    MPI_File f = open_new();
    MPI_Offset n;
    MPI_Status s;
    char c = 1;
    GOOD(MPI_File_get_size(f, &n));
    CHECK(n == 0);
    meet();
    GOOD(MPI_File_set_size(f, 1000));
    meet();
    GOOD(MPI_File_get_size(f, &n));
    CHECK(n == 1000);
    GOOD(MPI_File_read_at(f, 999, &c, 1, MPI_CHAR, &s));
    CHECK(c == 0 && count_of(&s, MPI_CHAR) == 1);
    meet();
    GOOD(MPI_File_preallocate(f, 5000));
    meet();
    GOOD(MPI_File_get_size(f, &n));
    CHECK(n == 5000, "%lld", (long long)n);
    GOOD(MPI_File_preallocate(f, 100));
    GOOD(MPI_File_get_size(f, &n));
    CHECK(n == 5000);
    meet();
    GOOD(MPI_File_set_size(f, 10));
    meet();
    GOOD(MPI_File_get_size(f, &n));
    CHECK(n == 10);
    meet();
    c = 9;
    if (rank == size - 1) GOOD(MPI_File_write_at(f, 20, &c, 1, MPI_CHAR, &s)); /* a hole before it */
    GOOD(MPI_File_sync(f));
    meet();
    GOOD(MPI_File_sync(f));
    GOOD(MPI_File_read_at(f, 15, &c, 1, MPI_CHAR, &s));
    CHECK(c == 0);
    GOOD(MPI_File_get_size(f, &n));
    CHECK(n == 21);
    GOOD(MPI_File_close(&f));
}

static void test_facts(void) {
    MPI_File f = open_new(), g;
    MPI_Group all, of;
    MPI_Info info;
    int n, flag, same;
    GOOD(MPI_File_get_amode(f, &n));
    CHECK(n == (MPI_MODE_CREATE | MPI_MODE_RDWR));
    GOOD(MPI_File_get_group(f, &of));
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_compare(all, of, &same);
    CHECK(same == MPI_IDENT);
    MPI_Group_free(&all);
    MPI_Group_free(&of);
    GOOD(MPI_File_get_atomicity(f, &flag));
    CHECK(!flag);
    if (!on_ompio) { /* which says that it cannot */
        GOOD(MPI_File_set_atomicity(f, 1));
        GOOD(MPI_File_get_atomicity(f, &flag));
        CHECK(flag);
    }
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "no_such_hint", "x");
    GOOD(MPI_File_set_info(f, info));
    MPI_Info_free(&info);
    GOOD(MPI_File_get_info(f, &info));
    MPI_Info_get_nkeys(info, &n);
    CHECK(n > 0 || on_ompio); /* which tells nothing */
    if (!on_host) {
        char value_of[MPI_MAX_INFO_VAL + 1];
        MPI_Info_get(info, "cb_nodes", MPI_MAX_INFO_VAL, value_of, &flag);
        CHECK(flag && !strcmp(value_of, "1"));
        MPI_Info_get(info, "sluice_ignored", MPI_MAX_INFO_VAL, value_of, &flag);
        CHECK(flag && !strcmp(value_of, "no_such_hint"));
    }
    MPI_Info_free(&info);
    g = MPI_File_f2c(MPI_File_c2f(f));
    CHECK(g == f);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    GOOD(MPI_File_close(&f));
}

static int called, with;
static MPI_File about;
static void on_error(MPI_File *f, int *code, ...) {
    called++;
    with = class_of(*code);
    about = *f;
}

static void test_handlers(void) {
    MPI_File f;
    MPI_Errhandler h, got;
    char c;
    GOOD(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&got);
    f = open_new();
    GOOD(MPI_File_get_errhandler(f, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&got);
    GOOD(MPI_File_create_errhandler(on_error, &h));
    GOOD(MPI_File_set_errhandler(f, h));
    GOOD(MPI_File_get_errhandler(f, &got));
    CHECK(got == h);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&h); /* the file still has it */
    int code = MPI_File_read_at(f, -1, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE);
    CHECK(class_of(code) == MPI_ERR_ARG && called == 1 && with == MPI_ERR_ARG && about == f, "%d", called);
    GOOD(MPI_File_call_errhandler(f, MPI_ERR_NO_SPACE));
    CHECK(called == 2 && with == MPI_ERR_NO_SPACE);
    GOOD(MPI_File_close(&f));
    GOOD(MPI_File_create_errhandler(on_error, &h)); /* of no file: what opening calls, and files start with */
    GOOD(MPI_File_set_errhandler(MPI_FILE_NULL, h));
    called = 0;
    code = MPI_File_open(MPI_COMM_SELF, "/no such folder/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &f);
    CHECK(class_of(code) == MPI_ERR_NO_SUCH_FILE && (on_host || called == 1));
    f = open_new();
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&h);
    called = 0;
    code = MPI_File_read_at(f, -1, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE);
    CHECK(class_of(code) == MPI_ERR_ARG && called == 1);
    GOOD(MPI_File_close(&f));
}

/* Requests of several files at once, while messages go to and fro. */
static void test_overlap(void) {
    enum { FILES = 3 };
    MPI_File f[FILES];
    MPI_Request r[FILES + 2];
    MPI_Status s[FILES + 2];
    int buf[FILES][N], in = -1, out = rank;
    char name[160];
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%s.%d", path, i);
        GOOD(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &f[i]));
        set_dealt(f[i]);
        fill(buf[i], N, rank + i, size);
        GOOD(MPI_File_iwrite_at_all(f[i], 0, buf[i], N, MPI_INT, &r[i]));
    }
    MPI_Irecv(&in, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &r[FILES]);
    MPI_Isend(&out, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &r[FILES + 1]);
    GOOD(MPI_Waitall(FILES + 2, r, s));
    CHECK(in == (rank + 1) % size);
    for (int i = 0; i < FILES; i++) {
        int got[N];
        CHECK(count_of(&s[i], MPI_INT) == N);
        meet();
        GOOD(MPI_File_read_at(f[i], 0, got, N, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(right(got, N, rank + i, size));
        GOOD(MPI_File_close(&f[i]));
        snprintf(name, sizeof name, "%s.%d", path, i);
        meet();
        CHECK(access(name, F_OK) != 0);
    }
}

#if MPI_VERSION >= 4
static void test_large(void) {
    MPI_File f = open_new();
    MPI_Status s;
    MPI_Count extent;
    int buf[N];
    fill(buf, N, (int64_t)rank * N, 1);
    GOOD(MPI_File_write_at_all_c(f, (MPI_Offset)(rank * N * (int)sizeof(int)), buf, N, MPI_INT, &s));
    check_file((int64_t)size * N, __LINE__);
    memset(buf, 0, sizeof buf);
    GOOD(MPI_File_read_at_c(f, (MPI_Offset)(rank * N * (int)sizeof(int)), buf, N, MPI_INT, &s));
    CHECK(right(buf, N, (int64_t)rank * N, 1) && count_of(&s, MPI_INT) == N);
    GOOD(MPI_File_get_type_extent_c(f, MPI_INT, &extent));
    CHECK(extent == sizeof(int));
    GOOD(MPI_File_close(&f));
}
#else
static void test_large(void) {}
#endif

int main(int argc, char **argv) {
    begin(&argc, &argv, "mpiio_calls");
    if (on_host) { /* both are wrong in the others: ROMIO in counts at the end of the file, OMPIO 4.1.4 in more */
        test_size();
        test_facts();
        return end();
    }
    test_at();
    test_pointer();
    test_shared();
    test_view();
    test_empty();
    test_external();
    test_size();
    test_facts();
    test_handlers();
    test_overlap();
    test_large();
    return end();
}
