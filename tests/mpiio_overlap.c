/* ranks: 1 2 3, through the door */
/* mpiio_overlap.c: a file that is only read may be seen through a filetype in which bytes come twice, or whose copies
 * overlap or interleave. What is read is compared with the type map, written out byte by byte. Where blocks go
 * backwards the view is refused, and for files that may be written where bytes come twice; but a filetype of which the
 * copies alone would overlap may be used once: libraries make such ones, and do. */
#include "mpiio_common.h"

enum { LENGTH = 997, MOST = 4096 };

static unsigned char value(int64_t i) { return (unsigned char)(i * 37 + i / 256 + 1); }

typedef struct shape {
    const char *name;
    int n, len[3], at[3]; /* blocks */
    int extent;
} shape;

static const shape shapes[] = {
    {"a block within a block", 2, {6, 2}, {0, 2}, 6},
    {"the same block twice", 2, {4, 4}, {3, 3}, 9},
    {"copies that overlap", 1, {8}, {0}, 3},
    {"copies that interleave", 2, {2, 2}, {0, 6}, 4},
    {"blocks and copies that overlap", 3, {5, 5, 1}, {1, 3, 3}, 4},
    {"gaps, and then twice", 2, {10, 4}, {20, 22}, 50},
};

static MPI_Datatype make(const shape *s) {
    MPI_Datatype plain, type;
    MPI_Type_indexed(s->n, s->len, s->at, MPI_BYTE, &plain);
    MPI_Type_create_resized(plain, 0, s->extent, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&plain);
    return type;
}

/* Where byte k of the view lies, by the type map. */
static int64_t place(const shape *s, int64_t disp, int64_t k) {
    int size_of_one = 0;
    for (int i = 0; i < s->n; i++) size_of_one += s->len[i];
    int64_t off = disp + k / size_of_one * s->extent;
    k %= size_of_one;
    int i = 0;
    for (; k >= s->len[i]; i++) k -= s->len[i];
    return off + s->at[i] + k;
}

/* n bytes from byte `from` of the view on: the call gave those up to the first that the file does not have. */
static void check(const shape *s, int64_t disp, int64_t from, int n, const unsigned char *got, const MPI_Status *st) {
    int want = 0, wrong = 0;
    while (want < n && place(s, disp, from + want) < LENGTH) want++;
    for (int i = 0; i < n; i++) {
        const unsigned char right = i < want ? value(place(s, disp, from + i)) : 0xee;
        wrong += got[i] != right;
    }
    CHECK(!wrong, "%s: %d of %d bytes from %lld on are wrong", s->name, wrong, n, (long long)from);
    CHECK(count_of(st, MPI_BYTE) == want, "%s: %d bytes, not %d", s->name, count_of(st, MPI_BYTE), want);
}

static void read_through(MPI_File f, const shape *s) {
    static unsigned char got[MOST];
    const MPI_Offset disp = 5 * rank;
    MPI_Datatype type = make(s);
    MPI_Status st;
    MPI_Request request;
    MPI_Offset off = -1;
    GOOD(MPI_File_set_view(f, disp, MPI_BYTE, type, "native", MPI_INFO_NULL));
    static const int counts[] = {0, 1, 7, 100, MOST};
    for (int i = 0; i < 5; i++) {
        const int from = 3 * i + rank;
        memset(got, 0xee, sizeof got);
        GOOD(MPI_File_read_at(f, from, got, counts[i], MPI_BYTE, &st));
        check(s, disp, from, counts[i], got, &st);
        memset(got, 0xee, sizeof got);
        GOOD(MPI_File_read_at_all(f, from, got, counts[i], MPI_BYTE, &st));
        check(s, disp, from, counts[i], got, &st);
        memset(got, 0xee, sizeof got);
        GOOD(MPI_File_iread_at_all(f, from, got, counts[i], MPI_BYTE, &request));
        GOOD(MPI_Wait(&request, &st));
        check(s, disp, from, counts[i], got, &st);
        GOOD(MPI_File_get_byte_offset(f, from, &off));
        CHECK(off == place(s, disp, from), "%s: byte %d is at %lld", s->name, from, (long long)off);
    }
    /* The pointer goes on by what there was. */
    memset(got, 0xee, sizeof got);
    GOOD(MPI_File_seek(f, 10, MPI_SEEK_SET));
    GOOD(MPI_File_read(f, got, 20, MPI_BYTE, &st));
    GOOD(MPI_File_read_all(f, got + 20, 30, MPI_BYTE, &st));
    for (int i = 0; i < 50; i++) CHECK(got[i] == value(place(s, disp, 10 + i)), "%s: byte %d", s->name, i);
    GOOD(MPI_File_get_position(f, &off));
    CHECK(off == 60, "%lld", (long long)off);
    MPI_Type_free(&type);
}

/* One process alone has such a view; the memory has gaps. */
static void read_mixed(MPI_File f) {
    MPI_Datatype type = rank ? MPI_BYTE : make(&shapes[0]), memory;
    unsigned char got[200];
    MPI_Status st;
    MPI_Type_vector(50, 2, 4, MPI_BYTE, &memory);
    MPI_Type_commit(&memory);
    memset(got, 0xee, sizeof got);
    GOOD(MPI_File_set_view(f, rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
    GOOD(MPI_File_read_all(f, got, 1, memory, &st));
    for (int i = 0; i < 198; i++) {
        const int k = i / 4 * 2 + i % 4;
        const unsigned char right = i % 4 > 1 ? 0xee : value(rank ? rank + k : place(&shapes[0], 0, k));
        CHECK(got[i] == right, "byte %d", i);
    }
    MPI_Type_free(&memory);
    if (!rank) MPI_Type_free(&type);
}

/* Whether one filetype by itself has no byte twice. */
static int is_single(const shape *s) {
    for (int i = 1; i < s->n; i++)
        if (s->at[i] < s->at[i - 1] + s->len[i - 1]) return 0;
    return 1;
}

/* A file that may be written: one filetype may be used if nothing comes twice in it, whatever its extent is; more can
 * be read. The processes' parts lie behind one another. */
static void write_one(MPI_File f, const shape *s) {
    unsigned char out[32], in[64];
    MPI_Status st;
    int n = 0;
    for (int i = 0; i < s->n; i++) n += s->len[i];
    for (int together = 0; together < 2; together++) {
        for (int i = 0; i < n; i++) out[i] = (unsigned char)(100 + 3 * i + rank + together);
        GOOD((together ? MPI_File_write_at_all : MPI_File_write_at)(f, 0, out, n, MPI_BYTE, &st));
        CHECK(count_of(&st, MPI_BYTE) == n);
        memset(in, 0, sizeof in);
        GOOD((together ? MPI_File_read_at_all : MPI_File_read_at)(f, 0, in, n, MPI_BYTE, &st));
        CHECK(!memcmp(in, out, (size_t)n), "%s", s->name);
        GOOD(MPI_File_read_at(f, 0, in, 2 * n, MPI_BYTE, &st)); /* the second one too */
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++)
                if (place(s, 0, n + i) == place(s, 0, k)) CHECK(in[n + i] == out[k], "%s: byte %d", s->name, i);
        meet();
    }
    CHECK(class_of(MPI_File_write_at(f, 1, out, n, MPI_BYTE, &st)) == MPI_ERR_IO);
    CHECK(class_of(MPI_File_write_at_all(f, 1, out, n, MPI_BYTE, &st)) == MPI_ERR_IO);
    CHECK(count_of(&st, MPI_BYTE) == 0);
}

static void open_for_writing(void) {
    MPI_File f;
    GOOD(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &f));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        MPI_Datatype type = make(&shapes[i]);
        int code = MPI_File_set_view(f, 200 * rank, MPI_BYTE, type, "native", MPI_INFO_NULL);
        if (is_single(&shapes[i])) {
            GOOD(code);
            write_one(f, &shapes[i]);
        } else {
            CHECK(class_of(code) == MPI_ERR_IO, "%s", shapes[i].name);
        }
        MPI_Type_free(&type);
    }
    GOOD(MPI_File_close(&f));
}

static void refuse(void) {
    static const shape back = {"backwards", 2, {1, 1}, {3, 0}, 6};
    MPI_File f;
    GOOD(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &f));
    MPI_Datatype type = make(&back);
    CHECK(class_of(MPI_File_set_view(f, 0, MPI_BYTE, type, "native", MPI_INFO_NULL)) == MPI_ERR_IO);
    MPI_Type_free(&type);
    GOOD(MPI_File_close(&f));
}

int main(int argc, char **argv) {
    MPI_File f;
    begin(&argc, &argv, "overlap");
    if (rank == 0) {
        FILE *plain = fopen(path, "wb");
        for (int64_t i = 0; plain && i < LENGTH; i++) fputc(value(i), plain);
        CHECK(plain && !fclose(plain));
    }
    meet();
    GOOD(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &f));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) read_through(f, &shapes[i]);
    read_mixed(f);
    GOOD(MPI_File_close(&f));
    open_for_writing();
    refuse();
    return end();
}
