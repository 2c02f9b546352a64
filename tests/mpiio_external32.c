/* ranks: 1 2, through the door */
/* mpiio_external32.c: filetypes with gaps whose elements are shorter in external32 than in memory: strides are counted
 * in extents, those of the file. What a view writes is compared with the file byte by byte, big end first. */
#include "mpiio_common.h"

enum { N = 12, EACH = 4 }; /* elements of a process; bytes of one in the file */

static long value(int i) { return i % 3 ? 1000003L * i : -(long)i - 1; }

/* Which element of the view lies at place p of the file, or -1: by the constructor's own arguments. */
typedef int element_at(int p);
static int at_vector(int p) { return p % 5 < 2 ? p / 5 * 2 + p % 5 : -1; } /* blocks of 2, 5 apart */
static int at_indexed(int p) {
    static const int in[7] = {-1, 0, -1, -1, 1, 2, -1};
    return in[p % 7] < 0 ? -1 : p / 7 * 3 + in[p % 7];
}
static int at_subarray(int p) { /* rows 1 and 2, columns 1 to 3, of 4 x 5 */
    const int row = p / 5 % 4, column = p % 5;
    return row < 1 || row > 2 || column < 1 || column > 3 ? -1 : p / 20 * 6 + (row - 1) * 3 + column - 1;
}

static void make(int which, MPI_Datatype base, MPI_Datatype *type, int *extent, element_at **at) {
    static const int len[] = {1, 2}, off[] = {1, 4}, sizes[] = {4, 5}, sub[] = {2, 3}, from[] = {1, 1};
    MPI_Datatype plain, end;
    if (which == 0) { /* the gap behind the last block by one more level */
        MPI_Type_vector(2, 1, 1, base, &plain);
        MPI_Type_contiguous(5, base, &end);
        MPI_Aint lb, width;
        MPI_Type_get_extent(end, &lb, &width);
        MPI_Type_create_resized(plain, 0, width, type);
        MPI_Type_free(&end);
        *extent = 5, *at = at_vector;
    } else if (which == 1) {
        MPI_Aint lb, one;
        MPI_Type_get_extent(base, &lb, &one);
        MPI_Type_indexed(2, len, off, base, &plain);
        MPI_Type_create_resized(plain, 0, 7 * one, type);
        *extent = 7, *at = at_indexed;
    } else {
        MPI_Type_create_subarray(2, sizes, sub, from, MPI_ORDER_C, base, type);
        MPI_Type_dup(*type, &plain);
        *extent = 20, *at = at_subarray;
    }
    MPI_Type_commit(type);
    MPI_Type_free(&plain);
}

static void check_file(MPI_Offset disp, element_at *at, int last) {
    static unsigned char got[4096];
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    if (!f) return;
    fseek(f, (long)disp, SEEK_SET);
    const int n = (int)fread(got, 1, sizeof got, f) / EACH;
    int seen = 0;
    for (int p = 0; p < n && seen < last; p++) {
        const int i = at(p);
        const unsigned char *b = got + EACH * p;
        const int32_t is = (int32_t)((uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]);
        CHECK(is == (i < 0 ? 0 : (int32_t)value(i)), "place %d: %d", p, (int)is);
        seen += i >= 0;
    }
    CHECK(seen == last, "%d elements", seen);
    fclose(f);
}

static void test(int which, int together) {
    long out[N], in[N] = {0};
    MPI_File f;
    MPI_Datatype type;
    MPI_Aint length = -1;
    MPI_Status st;
    element_at *at;
    int extent;
    make(which, MPI_LONG, &type, &extent, &at);
    const MPI_Offset disp = 1000 * rank;
    if (rank == 0) unlink(path);
    meet();
    GOOD(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
    GOOD(MPI_File_set_view(f, disp, MPI_LONG, type, "external32", MPI_INFO_NULL));
    GOOD(MPI_File_get_type_extent(f, type, &length));
    CHECK(length == extent * EACH, "extent %ld", (long)length);
    for (int i = 0; i < N; i++) out[i] = value(i);
    GOOD((together ? MPI_File_write_at_all : MPI_File_write_at)(f, 0, out, N, MPI_LONG, &st));
    CHECK(count_of(&st, MPI_LONG) == N);
    GOOD((together ? MPI_File_read_at_all : MPI_File_read_at)(f, 0, in, N, MPI_LONG, &st));
    for (int i = 0; i < N; i++) CHECK(in[i] == (long)(int32_t)value(i), "element %d: %ld", i, in[i]);
    MPI_Offset off = -1;
    GOOD(MPI_File_get_byte_offset(f, 5, &off));
    int p = 0;
    while (at(p) != 5) p++;
    CHECK(off == disp + EACH * p, "byte offset %lld", (long long)off);
    GOOD(MPI_File_close(&f));
    check_file(disp, at, N);
    MPI_Type_free(&type);
    meet();
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "external32");
    for (int which = 0; which < 3; which++)
        for (int together = 0; together < 2; together++) test(which, together);
    return end();
}
