/* ranks: 1 2 3 4, through the door */
/* mpiio_random.c: random views, memory types, pointers and calls, against a map of bytes that is filled in from the
 * definition: byte k of what is accessed is byte k of the view, and of the packed memory. Each process accesses bytes
 * of its own, so that the order of calls does not matter. MPIIO_SEED and MPIIO_CASES choose what is tried. */
#include "mpiio_common.h"

enum { FILE_ROOM = 1 << 16, ROOM = 1 << 15, TILES = 12 };

static uint64_t state;
static int below(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

/* ---- Datatypes, and their bytes in order ------------------------------------------------------------------- */

typedef struct map {
    int n, extent;
    int off[ROOM];
} map;

/* A filetype of `units` etypes, of which every `size`-th group is ours, in one of several ways. */
static MPI_Datatype make_filetype(map *m, MPI_Datatype etype, int unit) {
    MPI_Datatype t, u;
    const int group = 1 + below(4), groups = 1 + below(4), way = below(4);
    const int stride = group * size + below(3);
    m->n = 0;
    m->extent = unit * (groups * stride + below(3));
    for (int g = 0; g < groups; g++)
        for (int i = 0; i < group * unit; i++) m->off[m->n++] = unit * (g * stride + rank * group) + i;
    const MPI_Aint at = (MPI_Aint)unit * rank * group;
    if (way == 0) {
        MPI_Datatype v;
        MPI_Type_vector(groups, group, stride, etype, &v);
        MPI_Type_create_hindexed_block(1, 1, &at, v, &t);
        MPI_Type_free(&v);
    } else if (way == 1) {
        int length[4], place[4];
        for (int g = 0; g < groups; g++) length[g] = group, place[g] = g * stride + rank * group;
        MPI_Type_indexed(groups, length, place, etype, &t);
    } else if (way == 2) {
        int sizes[2] = {groups, stride}, part[2] = {groups, group}, start[2] = {0, rank * group};
        MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, etype, &t);
    } else {
        int length[4];
        MPI_Aint place[4];
        MPI_Datatype types[4];
        for (int g = 0; g < groups; g++)
            length[g] = group, place[g] = (MPI_Aint)unit * (g * stride + rank * group), types[g] = etype;
        MPI_Type_create_struct(groups, length, place, types, &t);
    }
    MPI_Type_create_resized(t, 0, m->extent, &u);
    MPI_Type_commit(&u);
    MPI_Type_free(&t);
    return u;
}

/* A memory type with `units` elements of `unit` bytes: one piece, with gaps, backwards, or in any order. */
static MPI_Datatype make_memory(map *m, MPI_Datatype etype, int unit, int units) {
    MPI_Datatype t, u;
    const int way = below(4), gap = 1 + below(3);
    int *place = malloc((size_t)units * sizeof *place), *length = malloc((size_t)units * sizeof *length);
    m->n = 0;
    for (int i = 0; i < units; i++) {
        place[i] = way == 0 ? i : way == 1 ? i * gap : way == 2 ? (units - 1 - i) * gap : i;
        length[i] = 1;
    }
    if (way == 3) /* shuffled */
        for (int i = units - 1; i > 0; i--) {
            int k = below(i + 1), x = place[i];
            place[i] = place[k];
            place[k] = x;
        }
    for (int i = 0; i < units; i++)
        for (int k = 0; k < unit; k++) m->off[m->n++] = place[i] * unit + k;
    m->extent = units * unit * gap;
    MPI_Type_indexed(units, length, place, etype, &t);
    MPI_Type_create_resized(t, 0, m->extent, &u);
    MPI_Type_commit(&u);
    MPI_Type_free(&t);
    free(place);
    free(length);
    return u;
}

/* ---- One case ---------------------------------------------------------------------------------------------- */

static unsigned char want[FILE_ROOM], mem[ROOM], before[ROOM];
static map view, memory;

static int64_t byte_of(int64_t disp, int64_t k) { return disp + k / view.n * view.extent + view.off[k % view.n]; }

enum { AT, AT_ALL, POINTER, ALL, IAT, IAT_ALL, IPOINTER, IALL, SPLIT, SPLIT_AT, CALLS };

static int call(MPI_File f, int which, int write, MPI_Offset off, int count, MPI_Datatype t, MPI_Status *s) {
    MPI_Request r = MPI_REQUEST_NULL;
    int code = 0;
    if (which == POINTER || which == ALL || which == IPOINTER || which == IALL || which == SPLIT)
        code = MPI_File_seek(f, off, MPI_SEEK_SET);
    if (code) return code;
    switch (which) {
    case AT: return write ? MPI_File_write_at(f, off, mem, count, t, s) : MPI_File_read_at(f, off, mem, count, t, s);
    case AT_ALL:
        return write ? MPI_File_write_at_all(f, off, mem, count, t, s) : MPI_File_read_at_all(f, off, mem, count, t, s);
    case POINTER: return write ? MPI_File_write(f, mem, count, t, s) : MPI_File_read(f, mem, count, t, s);
    case ALL: return write ? MPI_File_write_all(f, mem, count, t, s) : MPI_File_read_all(f, mem, count, t, s);
    case IAT:
        code = write ? MPI_File_iwrite_at(f, off, mem, count, t, &r) : MPI_File_iread_at(f, off, mem, count, t, &r);
        break;
    case IAT_ALL:
        code = write ? MPI_File_iwrite_at_all(f, off, mem, count, t, &r)
                     : MPI_File_iread_at_all(f, off, mem, count, t, &r);
        break;
    case IPOINTER: code = write ? MPI_File_iwrite(f, mem, count, t, &r) : MPI_File_iread(f, mem, count, t, &r); break;
    case IALL:
        code = write ? MPI_File_iwrite_all(f, mem, count, t, &r) : MPI_File_iread_all(f, mem, count, t, &r);
        break;
    case SPLIT:
        code = write ? MPI_File_write_all_begin(f, mem, count, t) : MPI_File_read_all_begin(f, mem, count, t);
        if (code) return code;
        return write ? MPI_File_write_all_end(f, mem, s) : MPI_File_read_all_end(f, mem, s);
    default:
        code = write ? MPI_File_write_at_all_begin(f, off, mem, count, t)
                     : MPI_File_read_at_all_begin(f, off, mem, count, t);
        if (code) return code;
        return write ? MPI_File_write_at_all_end(f, mem, s) : MPI_File_read_at_all_end(f, mem, s);
    }
    return code ? code : MPI_Wait(&r, s);
}

/* What was read lies where the memory type says, and all else is as it was. */
static void check_memory(int64_t disp, int64_t at, int64_t present, int write, int k) {
    for (int64_t i = 0; !write && i < present; i++)
        before[i / memory.n * memory.extent + memory.off[i % memory.n]] = want[byte_of(disp, at + i)];
    int64_t x = 0;
    while (x < ROOM && before[x] == mem[x]) x++;
    CHECK(x == ROOM, "case %d: byte %d of the memory is %d, not %d; %d bytes moved, %s, extent %d", k, (int)x, mem[x],
          before[x], (int)present, write ? "write" : "read", memory.extent);
}

static void one(MPI_File f, int k) {
    static const MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    static const int bytes_of[] = {1, 2, 4, 8};
    /* What all have in common first. */
    const int e = below(4), unit = bytes_of[e], which = below(CALLS), write = below(2), disp = below(64);
    const uint64_t common = state;
    MPI_Datatype t = make_filetype(&view, types[e], unit);
    state = common ^ ((uint64_t)(rank + 1) * 0x9E3779B97F4A7C15u);
    GOOD(MPI_File_set_view(f, disp, types[e], t, "native", MPI_INFO_NULL));
    MPI_Type_free(&t);
    const int units = view.n / unit, off = below(units * 2), many = below(units * TILES / 3 + 1), each = 1 + below(4);
    MPI_Datatype m = make_memory(&memory, types[e], unit, each);
    const int count = below(8) ? many / each : 0;
    const int64_t bytes = (int64_t)count * each * unit, at = (int64_t)off * unit;
    MPI_Offset length;
    MPI_Status s;
    GOOD(MPI_File_get_size(f, &length));
    meet();
    memset(mem, 0xEE, sizeof mem);
    for (int i = 0; write && i < ROOM; i++) mem[i] = (unsigned char)below(256);
    memcpy(before, mem, sizeof mem);
    int64_t present = 0;
    while (present < bytes && (write || byte_of(disp, at + present) < length)) present++;
    GOOD(call(f, which, write, off, count, m, &s));
    int moved = -1;
    MPI_Get_elements(&s, MPI_BYTE, &moved);
    CHECK(moved == present, "case %d, call %d %s: %d bytes, not %d", k, which, write ? "write" : "read", moved,
          (int)present);
    check_memory(disp, at, present, write, k);
    MPI_Type_free(&m);

    /* What everyone wrote. */
    static unsigned char delta[FILE_ROOM], all[FILE_ROOM], mark[FILE_ROOM], marks[FILE_ROOM];
    memset(delta, 0, sizeof delta);
    memset(mark, 0, sizeof mark);
    for (int64_t i = 0; write && i < bytes; i++) {
        const int64_t x = byte_of(disp, at + i);
        delta[x] = mem[i / memory.n * memory.extent + memory.off[i % memory.n]];
        mark[x] = 1;
    }
    MPI_Allreduce(delta, all, FILE_ROOM, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Allreduce(mark, marks, FILE_ROOM, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    int64_t longest = length;
    for (int64_t x = 0; x < FILE_ROOM; x++)
        if (marks[x]) {
            want[x] = all[x];
            if (x >= longest) longest = x + 1;
        }
    MPI_Offset now;
    GOOD(MPI_File_get_size(f, &now));
    CHECK(now == longest, "case %d: %lld bytes, not %lld", k, (long long)now, (long long)longest);
    if (rank == 0) {
        static unsigned char got[FILE_ROOM];
        memset(got, 0, sizeof got);
        FILE *file = fopen(path, "rb");
        if (!file || fread(got, 1, FILE_ROOM, file) != (size_t)longest) CHECK(0, "case %d: the file cannot be read", k);
        if (file) fclose(file);
        int64_t x = 0;
        while (x < FILE_ROOM && got[x] == want[x]) x++;
        CHECK(x == FILE_ROOM, "case %d, call %d: byte %d is wrong", k, which, (int)x);
    }
    state = common * 6364136223846793005u + 1;
    meet();
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "mpiio_random");
    const char *seed = getenv("MPIIO_SEED"), *cases = getenv("MPIIO_CASES"), *nodes = getenv("MPIIO_NODES");
    MPI_File f;
    MPI_Info info;
    const int n = cases ? atoi(cases) : 150;
    for (int pretend = 1; pretend <= 2; pretend++) { /* on one node, then as if on two */
        state = (uint64_t)(seed ? atoll(seed) : 1996) + (uint64_t)pretend;
        if (rank == 0) printf("seed %llu\n", (unsigned long long)state);
        if (rank == 0) unlink(path);
        meet();
        memset(want, 0, sizeof want);
        MPI_Info_create(&info);
        MPI_Info_set(info, "sluice_nodes", nodes ? nodes : pretend == 1 ? "1" : "2");
        GOOD(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f));
        for (int k = 0; k < n && !failures; k++) {
            if (k == n / 2) GOOD(MPI_File_set_atomicity(f, 1));
            one(f, k);
            int any = failures;
            MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            if (any) break;
        }
        GOOD(MPI_File_close(&f));
        MPI_Info_free(&info);
    }
    return end();
}
