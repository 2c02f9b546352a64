/* file.h: what a file says about the array in it.
 *
 * A plain file is a header of any size and the elements. For a raw file the caller knows everything; a NumPy .npy
 * file (versions 1.0 to 3.0) says it in its header, which is read as a hostile text: every number is checked before
 * it is multiplied, and the file must be as long as it claims.
 *
 *     plain.c      a store and what lies in it             open, create, resize
 *     npy.c        the header of an .npy file              {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}
 *     dtype.c      the type in it, records too             [('x', '<f4'), ('n', '<i8', (2,))]
 *     literal.c    the bits of Python that both are made of
 *     desc.c       a description that does not contradict itself
 *     type.c       types by name                           float32, <f4
 *
 * As everywhere, a call that refuses leaves its outputs as they were.
 */
#ifndef SLUICE_FILE_H
#define SLUICE_FILE_H

#include "sluice_file.h"
#include "store/store.h"

/* type.c. Pure. Fills in size, and the unit whose bytes are swapped (4 for complex64; 1 = never), of a type by name
 * ("float32", "f4", "<f4", ">i8", "V12", "S5", ...): see sluice_type_size(). false if there is no such type. */
typedef struct sluice_type {
    int64_t size, unit;
    bool swapped;   /* the name says: other byte order than this machine's */
    char name[32];  /* the canonical name, without byte order: float32, V12 */
    char descr[32]; /* NumPy's, with byte order: <f4, |V12 */
} sluice_type;
bool sluice_type_parse(sluice_type *t, const char *name);

/* desc.c. Pure. Makes a description whole and checks it: canonical type, element size and byte order agree, descr is
 * empty or a record of just that size, the shape is one that an array can have. */
int sluice_desc_settle(sluice_desc *d, sluice_reason *why);

/* desc.c. Pure. The offset past the last element, of a settled description. */
int64_t sluice_desc_end(const sluice_desc *d);

/* npy.c. Pure. Reads the first n bytes of a file. Returns the length of the header (0: not an .npy file at all; more
 * than n: so many are needed to tell) or refuses with the reason, which says "byte 35: ..." and has it as position.
 * The description is settled. An array of no dimensions, shape (), is one of one dimension and one element. */
int64_t sluice_npy_parse(sluice_desc *d, const void *bytes, int64_t n, sluice_reason *why);

/* npy.c. Pure. Settles d and writes the header for it (d->shape.header is set to its length, a multiple of 64) into
 * buf, at most cap bytes of it; returns the length or a negative error. Version 1.0, or 3.0 if d->descr is not all
 * ASCII. The slowest extent has room to grow in place. SLUICE_NPY_HEADER bytes are always enough. */
enum { SLUICE_NPY_HEADER = 5120 };
int64_t sluice_npy_format(sluice_desc *d, void *buf, size_t cap, sluice_reason *why);

/* npy.c. Pure. Changes the slowest extent in a header of d->shape.header bytes, and no other byte but the padding.
 * Refuses if the header has no room. */
int sluice_npy_reshape(void *header, const sluice_desc *d, int64_t extent, sluice_reason *why);

/* plain.c. Local. Finds out what the open store holds: *d as given for raw files (settled, and checked against the
 * file's length), filled in for .npy. Without a description of a raw file only .npy is understood. Reads at most
 * twice. In all three why names the file. */
int sluice_plain_open(sluice_desc *d, const sluice_desc *given, sluice_store *s, sluice_reason *why);

/* plain.c. Local. Lays a new array down in an empty store: settles d, sets the length, writes the .npy header. */
int sluice_plain_create(sluice_desc *d, sluice_store *s, sluice_reason *why);

/* plain.c. Local. Another extent of the slowest dimension: header and length of the file, and *d, change together or
 * not at all. Refused if the file is longer than the array, for what follows it would be lost. */
int sluice_plain_resize(sluice_desc *d, sluice_store *s, int64_t extent, sluice_reason *why);

/* literal.c. A place in a text of Python. All offsets are bytes from its start; `end` is where it ends. */
typedef struct sluice_literal {
    const unsigned char *text;
    int64_t pos, end;
    sluice_reason *why;
} sluice_literal;

/* Refuses with "byte <pos>: " before the sentence; with SLUICE_E_FORMAT, what was expected at the present place. */
int sluice_literal_refuse(sluice_literal *l, int error, int64_t pos, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int sluice_literal_expected(sluice_literal *l, const char *what);

/* A piece of the text that can be shown: at most 40 bytes, what is not printable ASCII as '?'. */
typedef struct sluice_quote {
    char text[44];
} sluice_quote;
sluice_quote sluice_literal_quote(const sluice_literal *l, sluice_run piece);

/* The next character after white space, -1 at the end; takes it if it is c. */
int sluice_literal_peek(sluice_literal *l);
bool sluice_literal_accept(sluice_literal *l, char c);

/* A string in quotes, and where the piece between them is; a whole number >= 0, perhaps with the L of Python 2; a
 * tuple of at most max such numbers; how many there were. 0 or a negative error. */
int sluice_literal_string(sluice_literal *l, sluice_run *inside);
int sluice_literal_number(sluice_literal *l, int64_t *value);
int sluice_literal_tuple(sluice_literal *l, int64_t *value, int max, int *n);

/* Whether it is UTF-8 to the end; *pos is then the first byte that is not. */
bool sluice_literal_utf8(const sluice_literal *l, int64_t *pos);

/* dtype.c. A dtype: a simple one by its name, or a record, of which only the size is of interest. */
typedef struct sluice_dtype {
    sluice_type type; /* of a record: V<size> */
    bool record;
    sluice_run text;
} sluice_dtype;
int sluice_dtype_parse(sluice_dtype *t, sluice_literal *l);

#endif
