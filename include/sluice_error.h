/* sluice_error.h: the error list of Sluice.
 *
 * Every call that can fail returns 0 or a negative int: the system's errors as -errno, Sluice's own from the list
 * below, which start at -1001 so that the two never meet. The list is an X-macro: one line is the name, the number
 * and the text, and sluice_strerror() cannot fall behind it. Numbers are never reused.
 */
#ifndef SLUICE_ERROR_H
#define SLUICE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_ERRORS(X)                                                                                               \
    X(SLUICE_E_ARGUMENT, -1001, "argument out of range")                                                               \
    X(SLUICE_E_OVERFLOW, -1002, "offset or size would exceed 2^63-1")                                                  \
    X(SLUICE_E_COMPLEX, -1003, "result would need too many families")                                                  \
    X(SLUICE_E_SYNTAX, -1004, "syntax error")                                                                          \
    X(SLUICE_E_FORMAT, -1005, "damaged or foreign data")                                                               \
    X(SLUICE_E_VERSION, -1006, "written by a newer version")                                                           \
    X(SLUICE_E_BLOCK, -1007, "r < l: a block ends before it starts")                                                   \
    X(SLUICE_E_COUNT, -1008, "n < 1: a family without blocks")                                                         \
    X(SLUICE_E_STEP, -1009, "blocks of one family overlap: stride shorter than the block")                             \
    X(SLUICE_E_INNER, -1010, "inner exceeds block")                                                                    \
    X(SLUICE_E_OVERLAP, -1011, "families overlap")                                                                     \
    X(SLUICE_E_ORDER, -1012, "runs are not in ascending order")                                                        \
    X(SLUICE_E_EMPTY, -1013, "empty")                                                                                  \
    X(SLUICE_E_START, -1014, "does not start at 0")                                                                    \
    X(SLUICE_E_GAP, -1015, "gap: some byte belongs to no element")                                                     \
    X(SLUICE_E_SHARED, -1016, "elements overlap")                                                                      \
    X(SLUICE_E_MISMATCH, -1017, "processes do not agree on what must be the same for all")                             \
    X(SLUICE_E_CHECKSUM, -1018, "the data do not match their checksum")

enum sluice_error {
#define SLUICE_ERROR_ENUM(name, number, text) name = number,
    SLUICE_ERRORS(SLUICE_ERROR_ENUM)
#undef SLUICE_ERROR_ENUM
};

/* Why an input was refused: the error, the place and a sentence that names the culprit. `pos` is a position in the
 * input (byte of a text or wire form, index of a run, dimension of a section), or -1. */
typedef struct sluice_reason {
    int error;
    long long pos;
    char text[192];
} sluice_reason;

/* Pure. The text of an error returned by any Sluice call; never NULL, valid for the life of the program. */
const char *sluice_strerror(int error);

#ifdef __cplusplus
}
#endif
#endif
