/* typemap.h: random MPI datatypes beside their type maps, which are written down element by element from the definition
 * of each constructor. Only extents are asked of MPI, because they depend on how the host aligns structs. */
#ifndef SLUICE_TESTS_TYPEMAP_H
#define SLUICE_TESTS_TYPEMAP_H

#include "support/random.h"
#include <inttypes.h>
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Basic elements: how many numbers of how many bytes, in memory and in external32. */
typedef struct basic {
    const char *name;
    MPI_Datatype type;
    int numbers, native, external;
} basic;

static const basic basics[] = {
    {"BYTE", MPI_BYTE, 1, 1, 1},
    {"INT", MPI_INT, 1, 4, 4},
    {"DOUBLE", MPI_DOUBLE, 1, 8, 8},
    {"CHAR", MPI_CHAR, 1, 1, 1},
    {"SHORT", MPI_SHORT, 1, 2, 2},
    {"FLOAT", MPI_FLOAT, 1, 4, 4},
    {"LONG", MPI_LONG, 1, 8, 4},
    {"UNSIGNED_LONG", MPI_UNSIGNED_LONG, 1, 8, 4},
    {"LONG_LONG", MPI_LONG_LONG, 1, 8, 8},
    {"WCHAR", MPI_WCHAR, 1, sizeof(wchar_t), 2},
    {"LONG_DOUBLE", MPI_LONG_DOUBLE, 1, 16, 16},
    {"C_BOOL", MPI_C_BOOL, 1, 1, 1},
    {"C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, 2, 4, 4},
    {"C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, 2, 8, 8},
    {"C_LONG_DOUBLE_COMPLEX", MPI_C_LONG_DOUBLE_COMPLEX, 2, 16, 16},
    {"PACKED", MPI_PACKED, 1, 1, 1},
    {"CHARACTER", MPI_CHARACTER, 1, 1, 1},
    {"INTEGER", MPI_INTEGER, 1, 4, 4},
    {"LOGICAL", MPI_LOGICAL, 1, 4, 4},
    {"REAL", MPI_REAL, 1, 4, 4},
    {"DOUBLE_PRECISION", MPI_DOUBLE_PRECISION, 1, 8, 8},
    {"COMPLEX", MPI_COMPLEX, 2, 4, 4},
    {"DOUBLE_COMPLEX", MPI_DOUBLE_COMPLEX, 2, 8, 8},
    {"AINT", MPI_AINT, 1, 8, 8},
    {"OFFSET", MPI_OFFSET, 1, 8, 8},
};
enum {
    BYTE,
    INT,
    DOUBLE,
    SHORT = 4,
    FLOAT,
    LONG,
    LONG_DOUBLE = 10,
    REAL = 19,
    BASICS = sizeof basics / sizeof *basics
};

/* Named datatypes of two elements. */
static const struct pair {
    const char *name;
    MPI_Datatype type;
    int first, second;
    int64_t apart;
} pairs[] = {
    {"FLOAT_INT", MPI_FLOAT_INT, FLOAT, INT, 4},
    {"DOUBLE_INT", MPI_DOUBLE_INT, DOUBLE, INT, 8},
    {"LONG_INT", MPI_LONG_INT, LONG, INT, 8},
    {"SHORT_INT", MPI_SHORT_INT, SHORT, INT, 4},
    {"2INT", MPI_2INT, INT, INT, 4},
    {"LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT, LONG_DOUBLE, INT, 16},
    {"2REAL", MPI_2REAL, REAL, REAL, 4},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static inline int element_size(int b) { return basics[b].numbers * basics[b].native; }

enum { MAX_ENTRIES = 3000, MAX_TEXT = 1500, MAX_LIST = 12 };
typedef struct entry {
    int64_t at;
    int basic;
} entry;

typedef struct typemap {
    MPI_Datatype type;
    bool named;
    bool hollow; /* somewhere in it is something without bytes */
    int n;
    entry *e; /* MAX_ENTRIES */
    char text[MAX_TEXT];
} typemap;

static inline void typemap_free(typemap *m) {
    if (!m->named) MPI_Type_free(&m->type);
    free(m->e);
}

static inline int64_t extent_of(MPI_Datatype type) {
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    return extent;
}

/* Of what has no bytes MPI may tell anything. */
static inline void true_extent(const typemap *m, MPI_Aint *lb, MPI_Aint *extent) {
    *lb = *extent = 0;
    if (m->n) MPI_Type_get_true_extent(m->type, lb, extent);
}

static inline void put(typemap *m, int64_t at, int b) {
    if (m->n == MAX_ENTRIES) abort();
    m->e[m->n++] = (entry){at, b};
}

/* n copies of old an extent apart from `by` on. */
static inline void put_copies(typemap *m, const typemap *old, int64_t by, int64_t n) {
    int64_t extent = extent_of(old->type);
    for (int64_t k = 0; k < n; k++)
        for (int i = 0; i < old->n; i++) put(m, by + k * extent + old->e[i].at, old->e[i].basic);
}

static inline void say(typemap *m, const char *name, const int64_t *number, int n, const typemap *old) {
    size_t at = strlen(m->text), cap = MAX_TEXT - at;
    int len = snprintf(m->text + at, cap, "%s(", name);
    for (int i = 0; i < n && len < (int)cap; i++)
        len += snprintf(m->text + at + len, cap - (size_t)len, "%" PRId64 ",", number[i]);
    if (len < (int)cap) snprintf(m->text + at + len, cap - (size_t)len, "%.700s)", old ? old->text : "");
}

static inline typemap typemap_new(void) {
    typemap m = {.type = MPI_DATATYPE_NULL};
    m.e = malloc(MAX_ENTRIES * sizeof *m.e);
    if (!m.e) abort();
    return m;
}

static inline typemap grow_named(chance *c) {
    typemap m = typemap_new();
    m.named = true;
    if (chance_once_in(c, 6)) {
        const struct pair *p = &pairs[chance_draw(c, 0, PAIRS - 1)];
        m.type = p->type;
        put(&m, 0, p->first);
        put(&m, p->apart, p->second);
        snprintf(m.text, MAX_TEXT, "%s", p->name);
    } else {
        int b = (int)(chance_once_in(c, 2) ? chance_draw(c, 0, BASICS - 1) : chance_draw(c, 0, 2));
        m.type = basics[b].type;
        put(&m, 0, b);
        snprintf(m.text, MAX_TEXT, "%s", basics[b].name);
    }
    return m;
}

/* A number of copies such that there are at most MAX_ENTRIES / among in all. */
static inline int draw_copies(chance *c, const typemap *old, int among, int most) {
    int room = MAX_ENTRIES / (among * (old->n ? old->n : 1));
    return (int)chance_draw(c, 0, room < most ? room : most);
}

/* How a random datatype may be. */
typedef struct growth {
    int depth;
    bool ascending; /* displacements do not decrease, nor do bytes come twice; extents are not less than true extents */
} growth;

static inline typemap grow(chance *c, growth g);

/* Displacements in units of `unit` bytes, such that blocks of len[] do not overlap if they must not. */
static inline void draw_places(chance *c, growth g, const typemap *old, int n, const int *len, int64_t unit,
                               int64_t *at) {
    int64_t next = g.ascending ? 0 : chance_draw(c, -20, 20), extent = extent_of(old->type);
    const bool regular = chance_once_in(c, 3);
    const int64_t gap = chance_low(c, 0, 9);
    for (int i = 0; i < n; i++) {
        at[i] = next;
        if (!g.ascending && chance_once_in(c, 3)) at[i] = chance_draw(c, -50, 50);
        next = at[i] + (len[i] * extent + unit - 1) / unit + (regular ? gap : chance_low(c, 0, 9));
    }
}

static inline void copy_ints(int *out, const int64_t *in, int n) {
    for (int i = 0; i < n; i++) out[i] = (int)in[i];
}

static inline typemap grow_vector(chance *c, growth g, const typemap *old, bool bytes) {
    typemap m = typemap_new();
    int n = draw_copies(c, old, 1, 9), len = draw_copies(c, old, n ? n : 1, 5);
    int64_t extent = extent_of(old->type), unit = bytes ? 1 : extent;
    int64_t stride = bytes ? len * extent + chance_low(c, 0, 30) : len + chance_low(c, 0, 7);
    if (!g.ascending && chance_once_in(c, 2)) stride = chance_draw(c, -30, 30);
    if (bytes)
        MPI_Type_create_hvector(n, len, (MPI_Aint)stride, old->type, &m.type);
    else
        MPI_Type_vector(n, len, (int)stride, old->type, &m.type);
    for (int i = 0; i < n; i++) put_copies(&m, old, i * stride * unit, len);
    say(&m, bytes ? "hvector" : "vector", (int64_t[]){n, len, stride}, 3, old);
    return m;
}

static inline typemap grow_indexed(chance *c, growth g, const typemap *old, bool bytes, bool same) {
    typemap m = typemap_new();
    int n = draw_copies(c, old, 1, MAX_LIST), len[MAX_LIST] = {0}, place[MAX_LIST];
    int64_t extent = extent_of(old->type), unit = bytes || extent == 0 ? 1 : extent, at[MAX_LIST];
    MPI_Aint address[MAX_LIST];
    for (int i = 0; i < n; i++) len[i] = same && i ? len[0] : draw_copies(c, old, n, 5);
    draw_places(c, g, old, n, len, unit < 0 ? -unit : unit, at);
    copy_ints(place, at, n);
    for (int i = 0; i < n; i++) address[i] = (MPI_Aint)at[i];
    if (bytes && same)
        MPI_Type_create_hindexed_block(n, len[0], address, old->type, &m.type);
    else if (bytes)
        MPI_Type_create_hindexed(n, len, address, old->type, &m.type);
    else if (same)
        MPI_Type_create_indexed_block(n, len[0], place, old->type, &m.type);
    else
        MPI_Type_indexed(n, len, place, old->type, &m.type);
    for (int i = 0; i < n; i++) put_copies(&m, old, at[i] * (bytes ? 1 : extent), len[i]);
    say(&m, bytes ? "hindexed" : "indexed", at, n, old);
    return m;
}

static inline typemap grow_struct(chance *c, growth g) {
    typemap m = typemap_new(), field[4];
    int n = (int)chance_draw(c, 0, 4), len[4];
    MPI_Aint at[4];
    MPI_Datatype type[4];
    int64_t next = 0;
    strcpy(m.text, "struct(");
    for (int i = 0; i < n; i++) {
        field[i] = grow(c, (growth){g.depth - 1, g.ascending});
        len[i] = draw_copies(c, &field[i], 4, 3);
        MPI_Aint lb, span;
        true_extent(&field[i], &lb, &span);
        at[i] = (MPI_Aint)(next - (g.ascending ? lb : 0) + chance_low(c, 0, 20));
        if (!g.ascending && chance_once_in(c, 3)) at[i] = (MPI_Aint)chance_draw(c, -60, 60);
        if (len[i]) next = at[i] + (g.ascending ? lb + span : 0) + (len[i] - 1) * extent_of(field[i].type);
        type[i] = field[i].type;
        m.hollow |= field[i].hollow || field[i].n == 0 || len[i] == 0;
    }
    MPI_Type_create_struct(n, len, at, type, &m.type);
    for (int i = 0; i < n; i++) {
        put_copies(&m, &field[i], at[i], len[i]);
        if (strlen(m.text) < 700) say(&m, "", (int64_t[]){len[i], at[i]}, 2, &field[i]);
        typemap_free(&field[i]);
    }
    return m;
}

enum { MAX_AXES = 3 };

/* Goes through all indices in the order of the array, and puts those for which `mine` says so. */
static inline void put_array(typemap *m, const typemap *old, int ndims, const int *size, int order,
                             const bool mine[MAX_AXES][16]) {
    int64_t total = 1, extent = extent_of(old->type);
    for (int d = 0; d < ndims; d++) total *= size[d];
    for (int64_t k = 0; k < total; k++) {
        bool in = true;
        int64_t rest = k;
        for (int j = 0; j < ndims; j++) {
            int d = order == MPI_ORDER_FORTRAN ? j : ndims - 1 - j;
            in = in && mine[d][rest % size[d]];
            rest /= size[d];
        }
        if (in) put_copies(m, old, k * extent, 1);
    }
}

static inline typemap grow_subarray(chance *c, const typemap *old) {
    typemap m = typemap_new();
    int ndims = (int)chance_draw(c, 1, MAX_AXES), size[MAX_AXES], sub[MAX_AXES], start[MAX_AXES], room = MAX_ENTRIES;
    int order = chance_once_in(c, 2) ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
    bool mine[MAX_AXES][16] = {{false}};
    for (int d = 0; d < ndims; d++) {
        size[d] = (int)chance_draw(c, 1, 12);
        int most = room / (old->n ? old->n : 1);
        sub[d] = (int)chance_draw(c, most > 0 ? 1 : 0, most < 1 ? 0 : most < size[d] ? most : size[d]);
        if (sub[d] == 0) sub[d] = 1, room = 0;
        start[d] = (int)chance_draw(c, 0, size[d] - sub[d]);
        room /= sub[d];
        for (int i = 0; i < sub[d]; i++) mine[d][start[d] + i] = true;
    }
    MPI_Type_create_subarray(ndims, size, sub, start, order, old->type, &m.type);
    put_array(&m, old, ndims, size, order, mine);
    say(&m, order == MPI_ORDER_C ? "subarray" : "subarray_f",
        (int64_t[]){ndims, size[0], sub[0], start[0], size[1], sub[1], start[1], size[2], sub[2], start[2]},
        1 + 3 * ndims, old);
    return m;
}

static inline typemap grow_darray(chance *c, const typemap *old) {
    typemap m = typemap_new();
    int ndims = (int)chance_draw(c, 1, MAX_AXES), size[MAX_AXES], dist[MAX_AXES], arg[MAX_AXES], procs[MAX_AXES];
    int order = chance_once_in(c, 2) ? MPI_ORDER_FORTRAN : MPI_ORDER_C, all = 1, most = 16;
    bool mine[MAX_AXES][16] = {{false}};
    static const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    while (ndims > 1 && most * most * most * (old->n ? old->n : 1) > MAX_ENTRIES && most > 2) most--;
    if (ndims == 1 && most * old->n > MAX_ENTRIES) most = 1;
    if (ndims > 1 && most == 2) ndims = most = 1;
    for (int d = 0; d < ndims; d++) {
        size[d] = (int)chance_draw(c, 1, most);
        dist[d] = kinds[chance_draw(c, 0, 2)];
        procs[d] = dist[d] == MPI_DISTRIBUTE_NONE ? 1 : (int)chance_draw(c, 1, 4);
        arg[d] = MPI_DISTRIBUTE_DFLT_DARG;
        if (dist[d] == MPI_DISTRIBUTE_CYCLIC && chance_once_in(c, 2)) arg[d] = (int)chance_draw(c, 1, 5);
        if (dist[d] == MPI_DISTRIBUTE_BLOCK && chance_once_in(c, 3))
            arg[d] = (size[d] + procs[d] - 1) / procs[d] + (int)chance_draw(c, 0, 2);
        all *= procs[d];
    }
    int rank = (int)chance_draw(c, 0, all - 1), behind = all;
    for (int d = 0; d < ndims; d++) {
        behind /= procs[d];
        int me = rank / behind % procs[d];
        int len = dist[d] == MPI_DISTRIBUTE_NONE       ? size[d]
                  : arg[d] != MPI_DISTRIBUTE_DFLT_DARG ? arg[d]
                  : dist[d] == MPI_DISTRIBUTE_BLOCK    ? (size[d] + procs[d] - 1) / procs[d]
                                                       : 1;
        for (int i = 0; i < size[d]; i++) mine[d][i] = i / len % procs[d] == me;
    }
    if (MPI_Type_create_darray(all, rank, ndims, size, dist, arg, procs, order, old->type, &m.type) != MPI_SUCCESS) {
        MPI_Type_dup(old->type, &m.type); /* Open MPI 4.1 refuses some */
        put_copies(&m, old, 0, 1);
        return m;
    }
    put_array(&m, old, ndims, size, order, mine);
    int64_t numbers[3 + 4 * MAX_AXES] = {all, rank, ndims};
    for (int d = 0; d < ndims; d++)
        memcpy(&numbers[3 + 4 * d], (int64_t[]){size[d], dist[d], arg[d], procs[d]}, 4 * sizeof *numbers);
    say(&m, order == MPI_ORDER_C ? "darray" : "darray_f", numbers, 3 + 4 * ndims, old);
    return m;
}

static inline typemap grow_resized(chance *c, growth g, const typemap *old) {
    typemap m = typemap_new();
    MPI_Aint unused, span;
    true_extent(old, &unused, &span);
    int64_t lb = chance_draw(c, -8, 8), extent = span + chance_low(c, 0, 20);
    if (!g.ascending && chance_once_in(c, 2)) extent = chance_draw(c, 0, 40);
    MPI_Type_create_resized(old->type, (MPI_Aint)lb, (MPI_Aint)extent, &m.type);
    put_copies(&m, old, 0, 1);
    say(&m, "resized", (int64_t[]){lb, extent}, 2, old);
    return m;
}

static inline typemap grow(chance *c, growth g) {
    if (g.depth == 0 || chance_once_in(c, 5)) return grow_named(c);
    int kind = (int)chance_draw(c, 0, 11);
    if (kind == 11) return grow_struct(c, g);
    typemap m, old = grow(c, (growth){g.depth - 1, g.ascending});
    switch (kind) {
    case 0:
        m = typemap_new();
        MPI_Type_dup(old.type, &m.type);
        put_copies(&m, &old, 0, 1);
        say(&m, "dup", NULL, 0, &old);
        break;
    case 1: {
        int64_t n = draw_copies(c, &old, 1, 9);
        m = typemap_new();
        MPI_Type_contiguous((int)n, old.type, &m.type);
        put_copies(&m, &old, 0, n);
        say(&m, "contiguous", &n, 1, &old);
        break;
    }
    case 2: m = grow_vector(c, g, &old, false); break;
    case 3: m = grow_vector(c, g, &old, true); break;
    case 4: m = grow_indexed(c, g, &old, false, false); break;
    case 5: m = grow_indexed(c, g, &old, true, false); break;
    case 6: m = grow_indexed(c, g, &old, false, true); break;
    case 7: m = grow_indexed(c, g, &old, true, true); break;
    case 8: m = grow_subarray(c, &old); break;
    case 9: m = grow_darray(c, &old); break;
    default: m = grow_resized(c, g, &old);
    }
    m.hollow = old.hollow || old.n == 0 || m.n == 0;
    typemap_free(&old);
    return m;
}

#endif
