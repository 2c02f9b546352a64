/* parts.h: basic elements in a row, in closed form.
 *
 * Of a datatype's elements only their order matters here, and every constructor but struct repeats one datatype. So the
 * elements of a datatype are a tree of structs: a part is n times one kind of number, or n times a list of parts.
 *
 *     struct {int; double[2]} [5]          5 x [ 1 x int, 2 x double ]
 *
 * Positions are counted in three ways: bytes of the native packed form, bytes of the external32 form, elements. A part
 * knows how much of each one time of it holds, and how much comes before it in its list; so a position counted one way
 * is found in another by one walk down.
 */
#ifndef SLUICE_MPIIO_PARTS_H
#define SLUICE_MPIIO_PARTS_H

#include "mpiio/type.h"

enum { SLUICE_ELEMENTS = SLUICE_EXTERNAL32 + 1, SLUICE_MEASURES };

/* How a number becomes one of external32: its bytes are turned round; it is an integer that loses its upper bytes, and
 * gets them back by its sign or as zeros; it is an 80-bit number that becomes one of 128. */
typedef enum sluice_turn { SLUICE_PLAIN, SLUICE_SIGNED, SLUICE_UNSIGNED, SLUICE_EXTENDED } sluice_turn;

/* A kind of basic element: 1 number, or 2 (complex), of so many bytes. */
typedef struct sluice_kind {
    uint8_t numbers, native, external, turn;
} sluice_kind;

struct sluice_part {
    int64_t n;
    int64_t each[SLUICE_MEASURES], before[SLUICE_MEASURES];
    sluice_kind kind;     /* if count is 0 */
    int64_t first, count; /* else the list is parts [first, first + count) of the same array */
};

/* Parts that grow. */
typedef struct sluice_parts_stack {
    sluice_part *part;
    int64_t n, cap;
} sluice_parts_stack;

/* Lists being made: pushed parts wait in `open` until their list is complete and moves to `done` in one piece. */
typedef struct sluice_parts {
    sluice_parts_stack open, done;
} sluice_parts;

/* parts.c: n elements of a kind. */
sluice_part sluice_parts_kind(sluice_kind kind, int64_t n);

/* parts.c: pushes a part (of n = 0: nothing); what was pushed since there were `first` open parts is one list, and
 * becomes the part *list. -ENOMEM. */
int sluice_parts_push(sluice_parts *parts, int64_t first, const sluice_part *p);
int sluice_parts_close(sluice_parts *parts, int64_t first, sluice_part *list);

/* parts.c: hands out the finished lists, with `whole` behind them. -ENOMEM. What is not handed out is freed. */
int sluice_parts_take(sluice_parts *parts, const sluice_part *whole, sluice_part **part, int64_t *n);
void sluice_parts_free(sluice_parts *parts);

/* external32.c: n elements of a kind, packed, from native to external32 or back. */
void sluice_external32_convert(sluice_kind kind, int64_t n, void *to, const void *from, bool back);

/* What a named datatype is: of `n` = 0, 1 or 2 elements, the second `apart` bytes after the first. */
typedef struct sluice_named {
    int n;
    sluice_kind kind[2];
    int64_t apart;
} sluice_named;

/* named.c: 0, or SLUICE_E_ARGUMENT if MPI does not tell its size. */
int sluice_named_find(sluice_named *named, MPI_Datatype type, int combiner);

#endif
