/* check.h: the comparison of the library with the oracle.
 *
 * A checker goes through a test case and compares; the first difference sticks in `what` and ends the case. Every
 * comparison has a kind. To prove that a kind of comparison can fail at all, `damage` names one: the oracle's side of
 * the first such comparison is then changed by one bit, and the case must fail.
 */
#ifndef SLUICE_TESTS_CHECK_H
#define SLUICE_TESTS_CHECK_H

#include "support/oracle.h"
#include "support/random.h"

#define CHECKS(X)                                                                                                      \
    X(SIZE)                                                                                                            \
    X(LO)                                                                                                              \
    X(HI)                                                                                                              \
    X(NRUNS)                                                                                                           \
    X(RUNS)                                                                                                            \
    X(CONTAINS)                                                                                                        \
    X(RANK)                                                                                                            \
    X(SELECT)                                                                                                          \
    X(NEXT)                                                                                                            \
    X(PREV)                                                                                                            \
    X(SEEK)                                                                                                            \
    X(SEEK_OFFSET)                                                                                                     \
    X(FAMILY)                                                                                                          \
    X(PAIR)                                                                                                            \
    X(PAIR_SEEK)                                                                                                       \
    X(EQUAL)                                                                                                           \
    X(BLOCK)                                                                                                           \
    X(FALLS)                                                                                                           \
    X(BUILD)                                                                                                           \
    X(PITFALLS)                                                                                                        \
    X(FROM_RUNS)                                                                                                       \
    X(REPEAT)                                                                                                          \
    X(COPY)                                                                                                            \
    X(SHIFT)                                                                                                           \
    X(CUT)                                                                                                             \
    X(UNION)                                                                                                           \
    X(INTERSECT)                                                                                                       \
    X(SUBTRACT)                                                                                                        \
    X(PROJECT)                                                                                                         \
    X(EMBED)                                                                                                           \
    X(TEXT)                                                                                                            \
    X(WIRE)                                                                                                            \
    X(GATHER)                                                                                                          \
    X(GATHER_COUNT)                                                                                                    \
    X(SCATTER)                                                                                                         \
    X(SCATTER_COUNT)                                                                                                   \
    X(MOVE)                                                                                                            \
    X(MOVE_COUNT)                                                                                                      \
    X(MAP)                                                                                                             \
    X(MAP_NEXT)                                                                                                        \
    X(MAP_PREV)                                                                                                        \
    X(MAP_RANK)                                                                                                        \
    X(UNMAP)                                                                                                           \
    X(ELEMENT_CUT)                                                                                                     \
    X(COMPOSE)                                                                                                         \
    X(COMMON_WINDOW)                                                                                                   \
    X(COMMON)                                                                                                          \
    X(PROJECTION)                                                                                                      \
    X(PERIOD)                                                                                                          \
    X(SEGMENTS)                                                                                                        \
    X(PARTITION)                                                                                                       \
    X(OWNER)                                                                                                           \
    X(OWNER_OFFSET)                                                                                                    \
    X(MATRIX_BYTES)                                                                                                    \
    X(MATRIX_SEGMENTS)                                                                                                 \
    X(MATRIX_SUMS)                                                                                                     \
    X(SECTION)                                                                                                         \
    X(MEMORY)                                                                                                          \
    X(TILE)                                                                                                            \
    X(HPF)                                                                                                             \
    X(DIST_COUNT)                                                                                                      \
    X(DIST_OWNER)                                                                                                      \
    X(DIST_LOCAL)                                                                                                      \
    X(DOMAIN)                                                                                                          \
    X(DOMAIN_COVER)                                                                                                    \
    X(BOUND)

enum check {
    CHECK_NONE,
#define CHECK_ENUM(name) CHECK_##name,
    CHECKS(CHECK_ENUM)
#undef CHECK_ENUM
        CHECK_KINDS
};

typedef struct checker {
    chance *chance;    /* where the case comes from */
    enum check damage; /* the kind of comparison to damage, or CHECK_NONE */
    bool damaged;      /* it was */
    FILE *show;        /* where to write the inputs of the case, or NULL */
    bool failed;
    char what[600]; /* the first difference */
} checker;

const char *check_name(enum check kind);

/* Says what the input is, if anyone wants to know. */
void check_show(checker *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_show_list(checker *c, const char *name, const sluice_falls_list *list);

/* A failure that is not a comparison. Returns false. */
bool check_fail(checker *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A call succeeded; a call was refused with this error. */
bool check_ok(checker *c, int error, const char *call);
bool check_refused(checker *c, int expected, int error, const char *call);

/* The comparisons. True if the case is still good. */
bool check_value(checker *c, enum check kind, int64_t expected, int64_t got, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
bool check_bytes(checker *c, enum check kind, const unsigned char *expected, const unsigned char *got, int64_t n,
                 const char *name);

/* The set holds the oracle's bytes, and size, bounds, number of runs, runs and normal form are right. */
bool check_set(checker *c, enum check kind, const oracle *o, const sluice_set *s, const char *name);

/* rank, select, contains, next, prev and all seeks of a cursor, at every position. */
void check_positions(checker *c, const oracle *o, const sluice_set *s);

/* Text and wire form, there and back. */
void check_forms(checker *c, const oracle *o, const sluice_set *s);

/* union, intersect, subtract, project, embed, equal and the pair cursor. The oracles have the same extent. */
void check_operations(checker *c, const oracle *oa, const sluice_set *a, const oracle *ob, const sluice_set *b);

/* The pair cursor from every rank. */
void check_pair_seeks(checker *c, const oracle *oa, const sluice_set *a, const oracle *ob, const sluice_set *b);

/* gather and scatter of the members in [lo, hi) with buffers that start `skew` bytes off alignment. */
void check_gather(checker *c, const oracle *o, const sluice_set *s, int64_t lo, int64_t hi, int64_t skew);

/* A move of n bytes from rank `src_from` of one set to rank `dst_from` of another; NULL: contiguous. */
typedef struct check_side {
    const oracle *o;
    const sluice_set *set;
    int64_t from, origin, skew; /* 0 <= origin <= the first offset, or <= from */
} check_side;
void check_move(checker *c, const check_side *dst, const check_side *src, int64_t n);

/* All fields of the intersection of two elements. */
void check_common(checker *c, const oracle_element *o1, const sluice_element *e1, const oracle_element *o2,
                  const sluice_element *e2);

/* check_case.c, check_element.c, check_array.c: one random case, drawn from c->chance. True if it passes. */
bool check_case(checker *c);
void check_case_element(checker *c);
void check_case_common(checker *c);
void check_case_partition(checker *c);
void check_case_section(checker *c);
void check_case_hpf(checker *c);
void check_case_domain(checker *c);

/* A random set in [0, extent) and its oracle. Both must be free before; show prints it under the name. */
void check_grow(checker *c, oracle *o, sluice_set *s, int64_t extent, int depth, const char *name);

#endif
