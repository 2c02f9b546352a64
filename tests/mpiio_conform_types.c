/* ranks: 1 2, through the door */
/* mpiio_conform_types.c: every constructor of datatypes, as etype, as filetype and as the type of memory, in calls of
 * one process and of all. What the bytes of a datatype are, and in which order, is asked of MPI_Pack, which has nothing
 * to do with files: it packs a buffer in which every byte says where it is. */
#include "mpiio_conform.h"

enum { ROOM = 4096, COPIES = 3 };

/* ---- The constructors -------------------------------------------------------------------------------------------- */

/* All are made of ints, or of other things where that is the point; the extent is a number of ints. */
static MPI_Datatype t_named(void) { return MPI_INT; }
static MPI_Datatype t_pair(void) { return MPI_2INT; }
static MPI_Datatype t_dup(void) {
    MPI_Datatype t;
    MPI_Type_dup(MPI_INT, &t);
    return t;
}
static MPI_Datatype t_contiguous(void) {
    MPI_Datatype t;
    MPI_Type_contiguous(3, MPI_INT, &t);
    return t;
}
static MPI_Datatype t_vector(void) {
    MPI_Datatype t;
    MPI_Type_vector(3, 2, 4, MPI_INT, &t);
    return t;
}
static MPI_Datatype t_hvector(void) {
    MPI_Datatype t;
    MPI_Type_create_hvector(3, 2, 12, MPI_INT, &t);
    return t;
}
static MPI_Datatype t_indexed(void) {
    MPI_Datatype t;
    MPI_Type_indexed(3, (int[]){2, 0, 1}, (int[]){1, 4, 6}, MPI_INT, &t);
    return t;
}
static MPI_Datatype t_hindexed(void) {
    MPI_Datatype t;
    MPI_Type_create_hindexed(2, (int[]){1, 2}, (MPI_Aint[]){8, 16}, MPI_INT, &t);
    return t;
}
static MPI_Datatype t_indexed_block(void) {
    MPI_Datatype t;
    MPI_Type_create_indexed_block(3, 1, (int[]){0, 2, 5}, MPI_INT, &t);
    return t;
}
static MPI_Datatype t_hindexed_block(void) {
    MPI_Datatype t;
    MPI_Type_create_hindexed_block(3, 1, (MPI_Aint[]){4, 12, 24}, MPI_INT, &t);
    return t;
}
static MPI_Datatype t_struct(void) {
    MPI_Datatype t;
    MPI_Type_create_struct(3, (int[]){1, 4, 1}, (MPI_Aint[]){0, 8, 16}, (MPI_Datatype[]){MPI_INT, MPI_CHAR, MPI_DOUBLE},
                           &t);
    return t;
}
static MPI_Datatype t_subarray(void) {
    MPI_Datatype t;
    MPI_Type_create_subarray(2, (int[]){4, 5}, (int[]){2, 3}, (int[]){1, 1}, MPI_ORDER_C, MPI_INT, &t);
    return t;
}
static MPI_Datatype t_subarray_fortran(void) {
    MPI_Datatype t;
    MPI_Type_create_subarray(3, (int[]){3, 2, 4}, (int[]){2, 2, 2}, (int[]){1, 0, 2}, MPI_ORDER_FORTRAN, MPI_INT, &t);
    return t;
}
static MPI_Datatype darray(int who, int dist, int arg, int order) {
    MPI_Datatype t;
    MPI_Type_create_darray(4, who, 2, (int[]){7, 5}, (int[]){dist, dist}, (int[]){arg, arg}, (int[]){2, 2}, order,
                           MPI_INT, &t);
    return t;
}
static MPI_Datatype t_darray_block(void) {
    return darray(1, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, MPI_ORDER_C);
}
static MPI_Datatype t_darray_cyclic(void) { return darray(3, MPI_DISTRIBUTE_CYCLIC, 1, MPI_ORDER_C); }
static MPI_Datatype t_darray_cyclic2(void) { return darray(2, MPI_DISTRIBUTE_CYCLIC, 2, MPI_ORDER_FORTRAN); }
static MPI_Datatype t_darray_none(void) {
    MPI_Datatype t;
    MPI_Type_create_darray(2, 1, 2, (int[]){4, 3}, (int[]){MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK},
                           (int[]){MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, (int[]){1, 2}, MPI_ORDER_C,
                           MPI_INT, &t);
    return t;
}
static MPI_Datatype t_resized(void) {
    MPI_Datatype t;
    MPI_Type_create_resized(MPI_INT, 0, 12, &t);
    return t;
}
static MPI_Datatype t_shifted(void) { /* no gaps, but not from its displacement on */
    MPI_Datatype t;
    MPI_Type_create_hindexed(1, (int[]){3}, (MPI_Aint[]){8}, MPI_INT, &t);
    return t;
}
static MPI_Datatype nest(MPI_Datatype inner, int n, int apart) {
    MPI_Datatype t;
    MPI_Type_create_hvector(n, 1, apart, inner, &t);
    MPI_Type_free(&inner);
    return t;
}
static MPI_Datatype t_nested(void) { return nest(nest(t_vector(), 2, 48), 2, 120); }
static MPI_Datatype t_nested_struct(void) {
    MPI_Datatype t, inner = t_subarray(), whole;
    MPI_Type_create_struct(2, (int[]){2, 1}, (MPI_Aint[]){0, 200}, (MPI_Datatype[]){MPI_INT, inner}, &t);
    MPI_Type_create_resized(t, 0, 280, &whole); /* else its bounds are those of the subarray, or not: MPIs differ */
    MPI_Type_free(&inner);
    MPI_Type_free(&t);
    return whole;
}
static MPI_Datatype t_f90(void) {
    MPI_Datatype kind, t;
    MPI_Type_create_f90_integer(9, &kind);
    MPI_Type_vector(2, 1, 3, kind, &t);
    return t;
}
static MPI_Datatype t_f90_real(void) {
    MPI_Datatype kind, t;
    MPI_Type_create_f90_real(6, MPI_UNDEFINED, &kind);
    MPI_Type_contiguous(2, kind, &t);
    return t;
}

/* Of memory only: backwards, in any order, before the address. */
static MPI_Datatype t_backwards(void) {
    MPI_Datatype t;
    MPI_Type_create_hvector(4, 1, -8, MPI_INT, &t);
    return t;
}
static MPI_Datatype t_disordered(void) {
    MPI_Datatype t;
    MPI_Type_indexed(3, (int[]){1, 2, 1}, (int[]){5, 0, 3}, MPI_INT, &t);
    return t;
}
static MPI_Datatype t_before(void) {
    MPI_Datatype t;
    MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){-16, 8}, MPI_INT, &t);
    return t;
}
static MPI_Datatype t_lower(void) {
    MPI_Datatype t;
    MPI_Type_create_resized(MPI_INT, -8, 20, &t);
    return t;
}

static const struct kind {
    const char *name;
    MPI_Datatype (*make)(void);
    int memory_only;
} kinds[] = {
    {"named", t_named, 0},
    {"pair", t_pair, 0},
    {"dup", t_dup, 0},
    {"contiguous", t_contiguous, 0},
    {"vector", t_vector, 0},
    {"hvector", t_hvector, 0},
    {"indexed", t_indexed, 0},
    {"hindexed", t_hindexed, 0},
    {"indexed_block", t_indexed_block, 0},
    {"hindexed_block", t_hindexed_block, 0},
    {"struct", t_struct, 0},
    {"subarray", t_subarray, 0},
    {"subarray, Fortran order", t_subarray_fortran, 0},
    {"darray, block", t_darray_block, 0},
    {"darray, cyclic", t_darray_cyclic, 0},
    {"darray, cyclic(2)", t_darray_cyclic2, 0},
    {"darray, none", t_darray_none, 0},
    {"resized", t_resized, 0},
    {"nested vectors", t_nested, 0},
    {"subarray in struct", t_nested_struct, 0},
    {"shifted", t_shifted, 0},
    {"f90_integer", t_f90, 0},
    {"f90_real", t_f90_real, 0},
    {"negative stride", t_backwards, 1},
    {"disordered", t_disordered, 1},
    {"negative displacement", t_before, 1},
    {"lower bound", t_lower, 1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- Their bytes ------------------------------------------------------------------------------------------------- */

typedef struct bytes {
    MPI_Datatype type;
    int n, at[ROOM]; /* displacements of the bytes, in their order */
    int extent;
} bytes;

static int builtin(MPI_Datatype t) {
    int a, b, c, combiner;
    MPI_Type_get_envelope(t, &a, &b, &c, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

static void describe(bytes *b, const struct kind *k) {
    static unsigned char mark[2][2 * ROOM], packed[2][ROOM];
    MPI_Aint lb, extent;
    b->type = k->make();
    if (!builtin(b->type)) MPI_Type_commit(&b->type);
    MPI_Type_get_extent(b->type, &lb, &extent);
    MPI_Type_size(b->type, &b->n);
    b->extent = (int)extent;
    for (int i = 0; i < 2 * ROOM; i++) mark[0][i] = (unsigned char)(i % 256), mark[1][i] = (unsigned char)(i / 256);
    for (int i = 0, used = 0; i < 2; i++, used = 0)
        MPI_Pack(mark[i] + ROOM, 1, b->type, packed[i], ROOM, &used, MPI_COMM_SELF);
    for (int i = 0; i < b->n; i++) b->at[i] = packed[0][i] + 256 * packed[1][i] - ROOM;
}

static void forget(bytes *b) {
    if (!builtin(b->type)) MPI_Type_free(&b->type);
}

static int place(const bytes *b, int k) { return k / b->n * b->extent + b->at[k % b->n]; }

/* ---- One of each ------------------------------------------------------------------------------------------------- */

static unsigned char file[3 * 2 * ROOM], memory[4 * ROOM];

static void read_file(void) {
    memset(file, 0, sizeof file);
    FILE *f = fopen(path, "rb");
    if (f) {
        size_t n = fread(file, 1, sizeof file, f);
        (void)n;
        fclose(f);
    }
}

/* What is there before: a byte that nobody names must stay. */
static void start_file(void) {
    memset(file, 0x55, sizeof file);
    meet();
    FILE *f = rank == 0 ? fopen(path, "wb") : NULL;
    if (f) {
        CHECK(fwrite(file, 1, sizeof file, f) == sizeof file);
        fclose(f);
    }
    meet();
}

static unsigned char byte_of(int who, int k) { return (unsigned char)(1 + (who * 37 + k * 11) % 250); }

/* Each process writes `count` of m into its own file region through filetype v, and reads them again. */
static void one(const bytes *e, const bytes *v, const bytes *m, int count, int all, const char *what) {
    const int n = count * m->n, region = 2 * ROOM; /* of a process */
    MPI_File f = MPI_FILE_NULL;
    MPI_Status s;
    int got = -1;
    start_file();
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &f), "opening a file");
    MUST(MPI_File_set_view(f, rank * region, e->type, v->type, "native", MPI_INFO_NULL), "%s: set_view", what);
    memset(memory, 0xEE, sizeof memory);
    for (int k = 0; k < n; k++) memory[2 * ROOM + place(m, k)] = byte_of(rank, k);
    MUST((all ? MPI_File_write_at_all : MPI_File_write_at)(f, 0, memory + 2 * ROOM, count, m->type, &s), "%s: write",
         what);
    MPI_Get_elements(&s, MPI_BYTE, &got);
    rule(got == n, "%s: the count of a write", what);
    MPI_File_sync(f);
    meet();
    MPI_File_sync(f);
    read_file();
    int good = 1;
    for (int r = 0; r < size; r++) {
        static unsigned char want[2 * ROOM];
        memset(want, 0x55, sizeof want);
        for (int k = 0; k < n; k++) want[place(v, k)] = byte_of(r, k);
        good &= !memcmp(want, file + r * region, (size_t)region);
    }
    rule(good, "%s: the file after a write", what);
    memset(memory, 0xEE, sizeof memory);
    MUST((all ? MPI_File_read_at_all : MPI_File_read_at)(f, 0, memory + 2 * ROOM, count, m->type, &s), "%s: read",
         what);
    MPI_Get_elements(&s, MPI_BYTE, &got);
    rule(got == n, "%s: the count of a read", what);
    static unsigned char expected[sizeof memory];
    memset(expected, 0xEE, sizeof expected);
    for (int k = 0; k < n; k++) expected[2 * ROOM + place(m, k)] = byte_of(rank, k);
    rule(!memcmp(memory, expected, sizeof memory), "%s: memory after a read", what);
    MPI_File_close(&f);
}

static bytes plain, mine;

static void as_filetype(void) {
    char what[80];
    describe(&plain, &kinds[0]);
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i].memory_only) continue;
        describe(&mine, &kinds[i]);
        for (int all = 0; all < 2; all++) {
            snprintf(what, sizeof what, "filetype %s%s", kinds[i].name, all ? ", collective" : "");
            one(i == 10 ? &(bytes){.type = MPI_BYTE, .n = 1, .extent = 1} : &plain, &mine, &plain, COPIES * mine.n / 4,
                all, what);
        }
        forget(&mine);
    }
}

static void as_memory(void) {
    char what[80];
    describe(&plain, &kinds[0]);
    for (int i = 0; i < KINDS; i++) {
        describe(&mine, &kinds[i]);
        for (int all = 0; all < 2; all++) {
            snprintf(what, sizeof what, "memory %s%s", kinds[i].name, all ? ", collective" : "");
            one(&plain, &plain, &mine, i < 23 || i > 24 ? COPIES : 1, all, what);
        }
        forget(&mine);
    }
}

/* Etype and filetype are the same, or the filetype holds two etypes. */
static void as_etype(void) {
    char what[80];
    static bytes two;
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i].memory_only) continue;
        describe(&mine, &kinds[i]);
        snprintf(what, sizeof what, "etype %s", kinds[i].name);
        one(&mine, &mine, &mine, COPIES, 1, what);
        two = mine;
        MPI_Type_contiguous(2, mine.type, &two.type);
        MPI_Type_commit(&two.type);
        one(&mine, &two, &mine, 2 * COPIES, 0, what);
        MPI_Type_free(&two.type);
        forget(&mine);
    }
}

int main(int argc, char **argv) {
    const group groups[] = {{"filetype", as_filetype}, {"memory", as_memory}, {"etype", as_etype}};
    return conform(argc, argv, "mpiio_conform_types", groups, sizeof groups / sizeof *groups);
}
