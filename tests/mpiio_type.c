/* ranks: 1 */
/* mpiio_type.c: datatypes of the door one by one: the null datatype, Fortran's kinds, the old marks of bounds, what is
 * too large; that regular ones take the same memory and as many allocations whatever their counts; that a list of
 * displacements folds; that no handle of MPI's is kept; external32 by known bytes. */
#include "mpiio/type.h"
#include "support/unit.h"
#include <string.h>

/* Describes a type and frees the handle, so that what is described can depend on nothing of it. */
static sluice_typed *made(MPI_Datatype *type) {
    sluice_typed *t = NULL;
    sluice_reason why;
    CHECK(sluice_typed_make(*type, &t, &why) == 0, "%s", why.text);
    MPI_Type_free(type);
    return t;
}

static void check_refusals(void) {
    sluice_typed *t = NULL;
    sluice_reason why = {.error = 0};
    CHECK(sluice_typed_make(MPI_DATATYPE_NULL, &t, &why) == SLUICE_E_ARGUMENT && !t && why.error == SLUICE_E_ARGUMENT);
    CHECK(sluice_typed_make(MPI_DATATYPE_NULL, &t, NULL) == SLUICE_E_ARGUMENT && !t);
    MPI_Datatype type = MPI_BYTE, next;
    MPI_Aint at[] = {INT64_C(1) << 61, 0};
    MPI_Type_create_hindexed(2, (int[]){1, 1}, at, MPI_BYTE, &type);
    CHECK(sluice_typed_make(type, &t, &why) == SLUICE_E_OVERFLOW && !t);
    MPI_Type_free(&type);
    MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){INT64_MAX - 3}, MPI_INT, &type);
    CHECK(sluice_typed_make(type, &t, &why) == SLUICE_E_OVERFLOW && !t);
    MPI_Type_free(&type);

    /* Very deep, but simple: dup of dup of ... */
    MPI_Type_dup(MPI_INT, &type);
    for (int i = 0; i < 5000; i++, type = next) {
        MPI_Type_dup(type, &next);
        MPI_Type_free(&type);
    }
    CHECK(sluice_typed_make(type, &t, &why) == SLUICE_E_COMPLEX && !t);
    MPI_Type_free(&type);

    sluice_set set = SLUICE_SET_EMPTY;
    int64_t origin;
    MPI_Type_create_hvector(3, 1, -8, MPI_INT, &type);
    t = made(&type);
    CHECK(sluice_typed_set(t, 1, &set, &origin, &why) == SLUICE_E_ORDER);
    CHECK(sluice_typed_set(t, -1, &set, &origin, NULL) == SLUICE_E_ARGUMENT);
    sluice_typed_free(t);
    sluice_typed_free(NULL);
    t = NULL;
    CHECK(sluice_typed_make(MPI_DOUBLE, &t, NULL) == 0);
    CHECK(sluice_typed_set(t, INT64_MAX / 4, &set, &origin, NULL) == SLUICE_E_OVERFLOW);
    CHECK(sluice_typed_set(t, 0, &set, &origin, NULL) == 0 && set.size == 0);
    sluice_typed_free(t);
}

static void check_kinds(void) {
    MPI_Datatype type;
    sluice_typed *t = NULL;
    MPI_Type_create_f90_real(10, MPI_UNDEFINED, &type);
    CHECK(sluice_typed_make(type, &t, NULL) == 0 && t->size == 8 && t->external == 8 && t->contiguous);
    sluice_typed_free(t);
    MPI_Datatype field = type;
    MPI_Type_create_struct(1, (int[]){3}, (MPI_Aint[]){8}, &field, &type);
    t = made(&type);
    CHECK(t->size == 24 && t->true_lb == 8 && t->elements == 3);
    sluice_typed_free(t);
    MPI_Type_create_f90_complex(4, MPI_UNDEFINED, &type);
    CHECK(sluice_typed_make(type, &t, NULL) == 0 && t->size == 8 && t->elements == 1);
    unsigned char native[] = {1, 2, 3, 4, 5, 6, 7, 8}, there[8];
    sluice_typed_to_external32(t, 0, 1, native, there);
    CHECK(memcmp(there, (unsigned char[]){4, 3, 2, 1, 8, 7, 6, 5}, 8) == 0);
    sluice_typed_free(t);
    MPI_Type_create_f90_integer(9, &type);
    CHECK(sluice_typed_make(type, &t, NULL) == 0 && t->size == 4 && t->elements == 1);
    sluice_typed_free(t);
#ifdef MPICH_VERSION /* Open MPI has not had the old marks for long */
    MPI_Datatype fields[] = {MPI_LB, MPI_INT, MPI_UB};
    MPI_Type_create_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){-4, 0, 20}, fields, &type);
    t = made(&type);
    CHECK(t->size == 4 && t->lb == -4 && t->extent == 24 && t->true_extent == 4 && t->elements == 1);
    sluice_typed_free(t);
#endif
}

/* Memory and allocations of a regular type of about n blocks. */
typedef MPI_Datatype constructor(int64_t n);

static void check_flat(const char *name, constructor *construct, int64_t few, int64_t many) {
    int64_t peak[2], calls[2], n[2] = {few, many};
    for (int i = 0; i < 2; i++) {
        MPI_Datatype type = construct(n[i]);
        const int64_t live = sluice_mem_live(), before = sluice_mem_calls();
        sluice_mem_peak_reset();
        sluice_typed *t = made(&type);
        peak[i] = sluice_mem_peak() - live;
        calls[i] = sluice_mem_calls() - before;
        if (!t) return;
        CHECK(t->order.nnode <= 8, "%s: %d nodes", name, (int)t->order.nnode);
        /* Skipping is free as well: the last element of the last block. */
        sluice_set set = SLUICE_SET_EMPTY;
        int64_t origin;
        if (t->ascending) {
            CHECK(sluice_typed_set(t, 2, &set, &origin, NULL) == 0 && set.size == 2 * t->size);
            CHECK(sluice_set_select(&set, t->size) == t->extent);
            sluice_set_free(&set);
        }
        CHECK(sluice_typed_elements(t, SLUICE_NATIVE, t->size) == t->elements);
        sluice_typed_free(t);
    }
    CHECK(peak[0] == peak[1] && calls[0] == calls[1] && peak[1] < 20000,
          "%s: %" PRId64 " and %" PRId64 " bytes in %" PRId64 " and %" PRId64 " requests", name, peak[0], peak[1],
          calls[0], calls[1]);
}

static MPI_Datatype vector(int64_t n) {
    MPI_Datatype type;
    MPI_Type_vector((int)n, 3, 7, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype backwards(int64_t n) {
    MPI_Datatype type;
    MPI_Type_create_hvector((int)n, 3, -32, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype structs(int64_t n) {
    MPI_Datatype one, type;
    MPI_Type_create_struct(3, (int[]){1, 2, 1}, (MPI_Aint[]){0, 8, 30}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE, MPI_CHAR},
                           &one);
    MPI_Type_contiguous((int)n, one, &type);
    MPI_Type_free(&one);
    return type;
}

static MPI_Datatype subarray(int64_t n) {
    MPI_Datatype type;
    int size[] = {(int)n + 10, (int)n + 10, 100}, sub[] = {(int)n, (int)n, 50}, start[] = {3, 2, 1};
    MPI_Type_create_subarray(3, size, sub, start, MPI_ORDER_C, MPI_FLOAT, &type);
    return type;
}

static MPI_Datatype darray(int64_t n) {
    MPI_Datatype type;
    int size[] = {(int)n, (int)n}, dist[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC}, arg[] = {5, 3},
        grid[] = {2, 2};
    MPI_Type_create_darray(4, 1, 2, size, dist, arg, grid, MPI_ORDER_FORTRAN, MPI_DOUBLE, &type);
    return type;
}

#ifdef SLUICE_HAVE_LARGE_COUNTS
static MPI_Datatype large_vector(int64_t n) {
    MPI_Datatype type;
    MPI_Type_vector_c(n, 3, 7, MPI_DOUBLE, &type);
    return type;
}

/* Each constructor with counts that only its large form takes, and small ones beside it. */
static void check_large(void) {
    const MPI_Count huge = INT64_C(1) << 40, len[] = {huge, 1}, at[] = {0, 2 * huge};
    MPI_Datatype type, small;
    sluice_typed *t;
#define LARGE(SIZE, EXTENT, ...)                                                                                       \
    __VA_ARGS__;                                                                                                       \
    t = made(&type);                                                                                                   \
    if (t) CHECK(t->size == (SIZE) && t->true_extent == (EXTENT), "%s", #__VA_ARGS__);                                 \
    sluice_typed_free(t)
    LARGE(4 * huge, 4 * huge, MPI_Type_contiguous_c(huge, MPI_INT, &type));
    LARGE(4 * huge, 8 * huge - 4, MPI_Type_create_hvector_c(huge, 1, 8, MPI_INT, &type));
    LARGE(4 * huge + 4, 8 * huge + 4, MPI_Type_indexed_c(2, len, at, MPI_INT, &type));
    LARGE(huge + 1, 2 * huge + 1, MPI_Type_create_hindexed_c(2, len, at, MPI_BYTE, &type));
    LARGE(16, 8 * huge + 8, MPI_Type_create_indexed_block_c(2, 2, at, MPI_INT, &type));
    LARGE(16, 2 * huge + 8, MPI_Type_create_hindexed_block_c(2, 2, at, MPI_INT, &type));
    LARGE(huge + 4, 2 * huge + 4, MPI_Type_create_struct_c(2, len, at, (MPI_Datatype[]){MPI_BYTE, MPI_INT}, &type));
    LARGE(4 * 7 * huge, 4 * (6 * 2 * huge + huge),
          MPI_Type_create_subarray_c(2, (MPI_Count[]){9, 2 * huge}, (MPI_Count[]){7, huge}, (MPI_Count[]){1, huge},
                                     MPI_ORDER_C, MPI_INT, &type));
    LARGE(4 * huge / 2, 4 * huge / 2,
          MPI_Type_create_darray_c(2, 1, 1, &huge, (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){MPI_DISTRIBUTE_DFLT_DARG},
                                   (int[]){2}, MPI_ORDER_C, MPI_INT, &type));
    MPI_Type_create_resized_c(MPI_INT, 0, huge, &small);
    LARGE(8, huge + 4, MPI_Type_contiguous(2, small, &type));
    MPI_Type_free(&small);
}
#endif

/* A list of displacements takes memory while it is read; what is kept is one family. */
static void check_folded(void) {
    enum { N = 100000 };
    static MPI_Aint at[N];
    MPI_Datatype type;
    for (int i = 0; i < N; i++) at[i] = 24 * (MPI_Aint)i + 16;
    MPI_Type_create_hindexed_block(N, 1, at, MPI_DOUBLE, &type);
    sluice_typed *t = made(&type);
    CHECK(t->order.nnode == 1 && t->ascending && t->size == 8 * (int64_t)N && t->true_lb == 16);
    sluice_typed_free(t);
    for (int i = 0; i < N; i++) at[i] = 24 * (MPI_Aint)(N - i);
    MPI_Type_create_hindexed_block(N, 1, at, MPI_DOUBLE, &type);
    t = made(&type);
    CHECK(t->order.nnode == 1 && !t->sorted && t->first == 24 * (int64_t)N && t->true_lb == 24);
    sluice_typed_free(t);
}

/* Numbers of which the bytes are known. */
static void check_numbers(void) {
    static const struct {
        MPI_Datatype type;
        unsigned char native[16], there[16];
        int n;
    } known[] = {
        {MPI_INT, {4, 3, 2, 1}, {1, 2, 3, 4}, 4},
        {MPI_LONG, {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xfe}, 4},
        {MPI_UNSIGNED_LONG, {0xfe, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xfe}, 4},
        {MPI_WCHAR, {0xac, 0x20}, {0x20, 0xac}, 2},
        {MPI_DOUBLE, {0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, {0xbf, 0xf8}, 8},
        {MPI_LONG_DOUBLE, {0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0xbf}, {0xbf, 0xff, 0x80}, 16}, /* -1.5 */
        {MPI_LONG_DOUBLE, {0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x7f}, {0x7f, 0xff}, 16},       /* infinity */
        {MPI_LONG_DOUBLE, {0}, {0}, 16},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sluice_typed *t = NULL;
        unsigned char there[17], back[17];
        memset(there, 0xEE, 17);
        memset(back, 0xEE, 17);
        CHECK(sluice_typed_make(known[i].type, &t, NULL) == 0 && t->external == known[i].n);
        sluice_typed_to_external32(t, 0, 1, known[i].native, there);
        CHECK(memcmp(there, known[i].there, (size_t)known[i].n) == 0 && there[known[i].n] == 0xEE, "number %zu", i);
        sluice_typed_from_external32(t, 0, 1, there, back);
        CHECK(memcmp(back, known[i].native, (size_t)t->size) == 0 && back[t->size] == 0xEE, "number %zu", i);
        sluice_typed_free(t);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check_refusals();
    check_kinds();
    check_flat("vector", vector, 10, 100000000);
    check_flat("backwards", backwards, 10, 100000000);
    check_flat("structs", structs, 10, 100000000);
    check_flat("subarray", subarray, 100, 30000);
    check_flat("darray", darray, 109, 30019);
#ifdef SLUICE_HAVE_LARGE_COUNTS
    check_flat("large vector", large_vector, 10, INT64_C(1) << 50);
    check_large();
#endif
    check_folded();
    check_numbers();
    int result = verdict();
    MPI_Finalize();
    return result;
}
