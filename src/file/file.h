/* file.h: what files say about the array in them.
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
 * An array may also be spread over several files, its subfiles:
 *
 *     layout.c     which bytes of the array each has       striped:1M:4
 *     notation.c   numbers and distributions as people write them
 *     placed.c     where a plan wants each group of bytes, and its copies
 *     planned.c    the layout that a plan file asks for
 *     manifest.c   what a folder of subfiles says          {"format": "sluice", "version": 1, ...}
 *     target.c     where targets lie, by name              fast=/mnt/ssd
 *     container.c  the folder as a whole                   create, open, publish, delete
 *     folder.c     the files in it
 *     leftover.c   what crashes leave behind
 *     mark.c       whether copies of the same bytes may differ
 *     owner.c      whose the subfiles on a target are
 *     space.c      whether there is room for them
 *     claim.c      one writer at a time
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

/* ---- Layouts ---- */

/* notation.c. Pure. A text being read; `why` gets the byte of it at which something is wrong, as position. */
typedef struct sluice_notation {
    const char *text;
    int64_t pos;
    sluice_reason *why;
} sluice_notation;

/* The next character after white space, 0 at the end; takes it if it is c; refuses with the message if it is not. */
char sluice_notation_peek(sluice_notation *n);
bool sluice_notation_accept(sluice_notation *n, char c);
int sluice_notation_expect(sluice_notation *n, char c, const char *message);

/* A number >= 0, perhaps with K, M, G or T; at most SLUICE_MAX_DIMS of them with x between, and where each starts. */
int sluice_notation_number(sluice_notation *n, int64_t *value);
int sluice_notation_extents(sluice_notation *n, int64_t *extent, int64_t *pos, int *count);

/* The word of a distribution; false, and nothing read, if it is none. */
bool sluice_notation_kind(sluice_notation *n, sluice_dist_kind *kind);

/* A distribution of an array over a grid: block,cyclic(2)@2x2. Checked against the shape. The caller frees it. */
typedef struct sluice_spread {
    sluice_dist dist[SLUICE_MAX_DIMS];
    int grid[SLUICE_MAX_DIMS];
    int n;          /* parts */
    int64_t *sizes; /* all those of GENBLOCK; owned */
} sluice_spread;
int sluice_notation_spread(sluice_notation *n, sluice_spread *out, const sluice_shape *shape);
void sluice_spread_free(sluice_spread *s);

/* layout.c. How the bytes of an array are dealt to subfiles. Byte k of subfile i is the k-th member of set[i], which
 * are offsets in the elements as they would lie in one plain file without a header. The sets are a partition of [0,
 * length); some may be empty. docs/FORMAT.md has the notation. */
enum { SLUICE_MAX_SUBFILES = 65536, SLUICE_MAX_LAYOUT_TEXT = 65536 };
typedef struct sluice_layout {
    char *text;           /* as it was given */
    sluice_shape shape;   /* of the array; without a header */
    int64_t length;       /* bytes of all elements; of a layout by plan, and of the header */
    int n;                /* subfiles */
    sluice_set *set;      /* of a layout by plan: what no other has, or has for a copy only */
    int64_t *size;        /* bytes of each; of a layout by plan more than its set has, if it has copies or gaps */
    int64_t *base;        /* n + 1: where each subfile starts in the physical space, and where that ends */
    sluice_shape space;   /* what is dealt: the array, or its elements or bytes in a row */
    sluice_spread spread; /* how, unless by tiles or by families */
    int64_t *tile;        /* by tiles; else NULL */
    bool families;        /* by nested families in the text */
    struct sluice_placed *placed; /* by plan; else NULL */
} sluice_layout;

/* Pure. Makes the layout of that text for arrays of that shape (its header is left out). Refuses, with the place in the
 * text as position: SLUICE_E_SYNTAX, _ARGUMENT, what is said of partitions and sets of families, _COMPLEX for what
 * takes too many families, _OVERFLOW. Time and memory are bounded whatever the text says. */
int sluice_layout_parse(sluice_layout **out, const sluice_shape *shape, const char *text, sluice_reason *why);
void sluice_layout_free(sluice_layout *l);

/* Pure. The layout of the same text for another extent of the slowest dimension, if every subfile then holds what it
 * held before, cut or continued: what is in the files stays where it is. Else SLUICE_E_ARGUMENT with the first byte
 * that would have to move. Blocks whose size follows from the extent do that; what is dealt in turn does not. */
int sluice_layout_resize(sluice_layout **out, const sluice_layout *l, int64_t extent, sluice_reason *why);

/* Pure. Where the subfiles, of l->size bytes, start in the physical space: makes l->base. */
int sluice_layout_line_up(sluice_layout *l, sluice_reason *why);

/* Pure. The bytes `file` of the array, seen by subfile i: which of its bytes they are (*sub), and which of the bytes of
 * `file`, counted from its first, they are (*ranks). The k-th of one is the k-th of the other. For a layout by plan,
 * *sub counts the bytes of the set of i, which may lie elsewhere in it. */
int sluice_layout_split(const sluice_layout *l, const sluice_set *file, int i, sluice_set *sub, sluice_set *ranks);

/* Pure. Marks the subfiles that may have a byte of `file`, which are all that have one, in hit[n], and returns how many
 * they are. Costs little where `file` is a few pieces, however many subfiles there are. */
int sluice_layout_meet(const sluice_layout *l, const sluice_set *file, bool *hit);

/* Pure. The subfile of byte x of the array, 0 <= x < length. */
int sluice_layout_owner(const sluice_layout *l, int64_t x);

/* placed.c. A layout by plan: "placed:N", subfiles 0 to N - 1 for the processes of those ranks, and one, the last, for
 * what they share. A lot (a group, in the manifest) is a set of bytes of the array of which the k-th is the k-th of
 * where[c] in subfile[c], for each of its copies c; the first is the one that counts when they differ. In the last
 * subfile are no copies. What is in no lot lies there, in ascending order, behind all lots. Lots share no byte, neither
 * of the array nor of a subfile. */
enum { SLUICE_MAX_LOTS = 65536 };
typedef struct sluice_lot {
    sluice_set bytes;
    int n; /* copies */
    sluice_set *where;
    int *subfile; /* in the same memory */
} sluice_lot;
typedef struct sluice_places {
    int n, nlots; /* subfiles but the shared one */
    sluice_lot *lot;
    int64_t rest_at; /* where in the shared one the rest starts; -1: right behind the lots there */
} sluice_places;
typedef struct sluice_placed {
    int n;
    sluice_lot *lot;  /* in the order of their first bytes */
    int leaves;       /* a tree over them: node k spans its children 2 k and 2 k + 1, leaf i is leaves + i: */
    sluice_run *span; /* from the first byte up to the last of what is below */
    bool copies;      /* some lot has more than one */
    sluice_set rest;  /* what is in no lot, */
    int64_t rest_at;  /* and where in the shared subfile it starts */
} sluice_placed;

/* Local. A lot without bytes, with room for n copies; false without memory. */
bool sluice_lot_make(sluice_lot *lot, int n);

/* Pure. A lot as far as it lies below `length`, which some of it does. On failure there is something to free, too. */
int sluice_lot_cut(sluice_lot *out, const sluice_lot *from, int64_t length);
void sluice_lots_free(sluice_lot *lot, int n);

/* Pure. The layout of these lots for arrays of that shape, with its header. Takes them over if it succeeds, and may
 * change their order in any case. why has the number of the lot as position. */
int sluice_placed_make(sluice_layout **out, const sluice_shape *shape, const sluice_places *places, sluice_reason *why);
void sluice_placed_free(sluice_placed *p);

/* Pure. For sluice_layout_resize(): lots end where the array does; what is new is in none. And _owner(). */
int sluice_placed_resize(sluice_layout **out, const sluice_layout *l, int64_t extent, sluice_reason *why);
int sluice_placed_owner(const sluice_layout *l, int64_t x);

/* Pure. The numbers of the lots that may have a byte of `file`, which are all that have one, in memory that the caller
 * gives back. Costs little where they are few, however many there are. */
int sluice_placed_meet(const sluice_placed *p, const sluice_set *file, int **hit, int *n);

/* Pure. What is both in `file` and in `in`: which bytes of `in` (*sub), and of `file` (*ranks). */
int sluice_placed_split(const sluice_set *in, const sluice_set *file, sluice_set *sub, sluice_set *ranks);

/* Pure. Bytes of a lot, by number, become those of the subfile in which they lie. */
int sluice_placed_land(const sluice_set *where, sluice_set *sub);

/* ---- Containers ---- */

/* manifest.c. What manifest.json says of an array in subfiles. docs/FORMAT.md has the keys. Target names are 1 to 63
 * letters, digits, '_', '-' and '.', not '.' first; "." alone is the container's own folder. */
enum { SLUICE_MAX_MANIFEST = 16 << 20, SLUICE_MAX_TARGETS = 256 };
typedef struct sluice_target_name {
    char text[64];
} sluice_target_name;
typedef struct sluice_manifest {
    char uuid[33];      /* 32 hexadecimal digits, the same for the life of the array */
    int64_t generation; /* of the subfiles, from 1 on: each redistribution makes new ones */
    sluice_desc desc;   /* settled; raw, without a header */
    sluice_layout *layout;
    int ntargets;
    sluice_target_name *target;
    int *place;       /* of each subfile, the number of its target */
    int64_t checksum; /* bytes of a block that has a checksum; 0: none has */
} sluice_manifest;

/* Local, for the uuid is drawn. A manifest for a new array, or, if `before` is given, for its next generation. d is
 * settled first. `targets` are names with commas between, to which the subfiles go in turn; NULL or "": ".". */
int sluice_manifest_make(sluice_manifest **out, const sluice_desc *d, const char *layout, const char *targets,
                         const sluice_manifest *before, sluice_reason *why);

/* Local. The same for a new array, which may have a header, with a layout by plan: see sluice_placed_make(). */
int sluice_manifest_place(sluice_manifest **out, const sluice_desc *d, const sluice_places *places, const char *targets,
                          sluice_reason *why);

/* planned.c. Local. The same by the text of a plan file. Without `targets`, those of the plan. Groups end where the
 * array does. */
int sluice_manifest_plan(sluice_manifest **out, const sluice_desc *d, const char *text, int64_t len,
                         const char *targets, sluice_reason *why);

/* Pure. Other targets, by name, one for each subfile; they may be the same. */
int sluice_manifest_settle(sluice_manifest *m, const char *const *name, sluice_reason *why);
void sluice_manifest_free(sluice_manifest *m);

/* Pure. Checksums for blocks of so many bytes; 0: none. A next generation has those of the one before. */
int sluice_manifest_checksum(sluice_manifest *m, int64_t block, sluice_reason *why);

/* Pure. The same manifest for another extent of the slowest dimension, of the same generation, for what is in the
 * subfiles stays where it is: see sluice_layout_resize(), which says for which layouts. */
int sluice_manifest_resize(sluice_manifest **out, const sluice_manifest *m, int64_t extent, sluice_reason *why);

/* Pure. Reads the text of a manifest, which is hostile until all of it has been checked: SLUICE_E_FORMAT, _VERSION,
 * or what is wrong with the layout in it. Time and memory are bounded whatever it says. */
int sluice_manifest_parse(sluice_manifest **out, const char *text, int64_t len, sluice_reason *why);

/* Pure. The text, the same for the same manifest, in memory that the caller gives back. */
int sluice_manifest_format(const sluice_manifest *m, char **text, int64_t *len, sluice_reason *why);

/* Pure. The name of subfile i: 2.17, or, where others have files too, c0ffee...2.17 with the uuid before it; and of the
 * file of its checksums: 2.17.sum. */
typedef struct sluice_subfile_name {
    char text[64];
} sluice_subfile_name;
sluice_subfile_name sluice_manifest_name(const sluice_manifest *m, int i);
sluice_subfile_name sluice_manifest_sums(const sluice_manifest *m, int i);

/* target.c. Pure. Whether these len bytes are a name. */
bool sluice_target_valid(const char *name, size_t len);

/* target.c. Local. The folder that a target other than "." is bound to: by `bindings` ("fast=/ssd,slow=/disk"; may be
 * NULL), else by SLUICE_TARGETS in the environment, else by a line "fast = /ssd" of the file sluice/targets in
 * $XDG_CONFIG_HOME or ~/.config. SLUICE_E_ARGUMENT if by none, with a sentence that says how to bind it; and for a
 * binding that cannot be read. */
typedef struct sluice_target_path {
    char text[4096];
} sluice_target_path;
int sluice_target_find(sluice_target_path *out, const char *name, const char *bindings, sluice_reason *why);

/* claim.c. Local. The lock of the writer of a container. -EBUSY if another has it, or may have it, -EOWNERDEAD if
 * another had it and is surely gone: why names it, and says how to remove the lock. `path` is for messages. */
#define SLUICE_CLAIM_NAME "lock"
int sluice_claim_take(int folder, const char *path, sluice_reason *why);
int sluice_claim_drop(int folder);

/* claim.c. Local. Whether the lock that is there, as far as can be told, is that of this process: someone may have
 * removed it by hand, and another writer have taken it. */
bool sluice_claim_ours(int folder);

/* claim.c. Local. The same without taking it: 0 if no one has it. */
int sluice_claim_ask(int folder, const char *path, sluice_reason *why);

/* folder.c. Local. The folders of the targets, opened: one for each that has a subfile, `own` for "."; -1 for the
 * others, which need not be bound. close leaves `own` open. target: the folder of one other than ".". */
int sluice_folder_targets(int **out, const sluice_manifest *m, int own, const char *bindings, sluice_reason *why);
void sluice_folder_close(int *fd, const sluice_manifest *m, int own);
int sluice_folder_target(const char *name, const char *bindings, sluice_reason *why);

/* folder.c. Local. Those of the targets number first, first + every, ..., and `own` for "."; -1 for the others, whose
 * subfiles are another process's: they are not made and not removed, and stores stand for them (store/elsewhere.c). */
typedef struct sluice_some {
    int first, every;
} sluice_some;
#define SLUICE_ALL_OF_THEM                                                                                             \
    (sluice_some) { 0, 1 }
int sluice_folder_some(int **out, const sluice_manifest *m, int own, const char *bindings, sluice_some some,
                       sluice_reason *why);

/* folder.c. Local. Subfiles, with their checksums: made of their sizes and synced, and their folders too (again: those
 * that are there are removed first; else they are -EEXIST), all or none; removed, as far as they are there; opened as
 * stores, each at least as long as the manifest says; closed. */
int sluice_folder_make(const sluice_manifest *m, const int *fd, bool again, sluice_reason *why);
int sluice_folder_remove(const sluice_manifest *m, const int *fd);
typedef struct sluice_folder_how {
    const int *fd; /* of the targets */
    sluice_store_mode mode;
    sluice_store_opener *open;
    const char *path; /* of the container, for messages */
} sluice_folder_how;
int sluice_folder_members(sluice_store ***out, const sluice_manifest *m, const sluice_folder_how *how,
                          sluice_reason *why);
int sluice_folder_release(sluice_store **member, int n);

/* folder.c. Local. The manifest in a folder: read; written beside, synced, renamed over what has the name, and the
 * folder synced. *renamed says whether it came to that, also on failure. -ENOENT: there is none. */
#define SLUICE_MANIFEST_NAME "manifest.json"
#define SLUICE_NEXT_NAME SLUICE_MANIFEST_NAME ".new"
#define SLUICE_DELETED_NAME SLUICE_MANIFEST_NAME ".deleted" /* while the container is being removed, or made */
int sluice_folder_read(sluice_manifest **out, int folder, const char *name, const char *path, sluice_reason *why);
int sluice_folder_write(const sluice_manifest *m, int folder, const char *name, bool *renamed, const char *path,
                        sluice_reason *why);

/* owner.c. Local. Whose the subfiles on targets other than `own`, the folder of a container, are. check, of one target:
 * 1: that container's; 0: no one has claimed them; -EPERM: another's, of which this is a copy. claim makes them its own
 * where no one has. drop gives up what is its own. */
int sluice_owner_check(const sluice_manifest *m, int target, const char *name, int own, const char *path,
                       sluice_reason *why);
int sluice_owner_claim(const sluice_manifest *m, const int *fd, int own, const char *path, sluice_reason *why);
int sluice_owner_drop(const sluice_manifest *m, int target, int own);

/* leftover.c. Local. Notes, on disk, the targets of both generations in the folder of a container, so that what a crash
 * leaves is found on all of them; and that it is over. */
#define SLUICE_MOVING_NAME "moving"
int sluice_moving_start(int folder, const sluice_manifest *from, const sluice_manifest *to, const char *path,
                        sluice_reason *why);
int sluice_moving_end(int folder);

/* leftover.c. Local. What has a name of this container's but stands for nothing in the manifest: told, removed. */
typedef void sluice_leftover(void *arg, const char *target, const char *name);
typedef struct sluice_sweep {
    const sluice_manifest *m;
    const int *fd; /* of its targets */
    int own;       /* the container's folder */
    const char *path, *bindings;
    bool remove;
    sluice_leftover *each; /* or NULL */
    void *arg;
} sluice_sweep;
int sluice_leftovers(const sluice_sweep *w, sluice_reason *why);

/* space.c. Local. What the subfiles of m take on each of the file systems of their folders, and what is free there, in
 * memory that the caller gives back; `target` is the first one that lies on it, by m's name. */
typedef struct sluice_space {
    const char *target;
    int64_t need, free;
    uint64_t device;
} sluice_space;
int sluice_space_ask(sluice_space **out, int *n, const sluice_manifest *m, const int *fd);

/* mark.c. Local. Whether the copies in a container may differ, as the mark in its folder says: ask. set: they may from
 * now on, on disk. fail: a write of some failed; nothing but heal or remove takes that back. rest: they are all
 * written. clear: and on disk. remove: whatever it says. heal: makes them equal to the first ones, on disk, and removes
 * it. All but heal are the same whoever calls them first. */
sluice_subfile_name sluice_mark_name(const sluice_manifest *m);
int sluice_mark_ask(int folder, const sluice_manifest *m, bool *differ);
int sluice_mark_set(int folder, const sluice_manifest *m);
void sluice_mark_fail(int folder, const sluice_manifest *m);
int sluice_mark_rest(int folder, const sluice_manifest *m);
int sluice_mark_clear(int folder, const sluice_manifest *m);
int sluice_mark_remove(int folder, const sluice_manifest *m);
int sluice_mark_heal(int folder, const sluice_manifest *m, sluice_store *const *member, sluice_reason *why);

/* container.c. An open container. By custom its name ends so. */
#define SLUICE_SUFFIX ".sluice"
typedef enum sluice_container_mode {
    SLUICE_CONTAINER_READ,
    SLUICE_CONTAINER_WRITE, /* takes the lock */
    SLUICE_CONTAINER_PEER   /* to write, while another process of the same program holds the lock */
} sluice_container_mode;
typedef struct sluice_container {
    char *path, *bindings;
    int folder;
    sluice_container_mode mode;
    sluice_store_opener *open;
    sluice_some some; /* which targets are here */
    pid_t owner;      /* of the lock; 0: none of ours */
    bool differ;      /* copies may: only the first ones are to be read */
    sluice_manifest *manifest;
    sluice_store **member; /* one for each subfile; a caller that takes them over sets this to NULL */
} sluice_container;

/* Local. Makes a container, all zeros: it is there as a whole or not at all. -EEXIST if there is anything of that name.
 * `bindings`: see sluice_target_find(). */
int sluice_container_create(const char *path, const sluice_manifest *m, const char *bindings, sluice_reason *why);

/* Local. The same by the process that has the folder, with those targets; the subfiles of the others must
 * have been made. */
int sluice_container_create_some(const char *path, const sluice_manifest *m, const char *bindings, sluice_some some,
                                 sluice_reason *why);

/* Local. Opens a container and its subfiles, as stores of the best kind or by an opener of their own. Nothing but
 * regular files is opened, no symbolic link in it followed. Who takes the lock finds copies equal, or makes them so.
 * close also seals checksums of subfiles that no one took
 * over, gives the lock back, and returns the first error of it all. */
int sluice_container_open(sluice_container **out, const char *path, sluice_container_mode mode, const char *bindings,
                          sluice_reason *why);
int sluice_container_open_by(sluice_container **out, const char *path, sluice_container_mode mode, const char *bindings,
                             sluice_store_opener *open, sluice_reason *why);
int sluice_container_close(sluice_container *c);

/* Local. The same for some of the targets, which the opener gives along with the rest; its manifest may be known
 * already, in which case the folder is opened only if it is `needed`. A known manifest is taken over if that succeeds.
 */
typedef struct sluice_container_how {
    sluice_container_mode mode;
    const char *bindings;
    sluice_store_opener *open;
    sluice_some some;
    sluice_manifest *known;
    bool needed;
} sluice_container_how;
int sluice_container_open_some(sluice_container **out, const char *path, const sluice_container_how *how,
                               sluice_reason *why);

/* Local. The subfiles of m, opened as those of c are: of a generation that is being made, for instance. The caller
 * gives them back by sluice_folder_release(). */
int sluice_container_members(sluice_store ***out, const sluice_container *c, const sluice_manifest *m,
                             sluice_reason *why);

/* Local. Another layout, type or shape for the array, by the process that has the lock: begin makes the subfiles of the
 * next generation; the caller fills and syncs them and seals their checksums, or abandons it. switch makes them the
 * container in one step and removes the old ones; *done says whether it came to that step, which it also did if only
 * the sync after it fails, and then the old ones are left. publish seals, and is the same for c itself, which takes
 * over `next` and has its subfiles open instead of the old ones if it came to that (c->manifest says so). */
int sluice_container_begin(sluice_container *c, const sluice_manifest *next, sluice_reason *why);
void sluice_container_abandon(sluice_container *c, const sluice_manifest *next);
int sluice_container_switch(sluice_container *c, const sluice_manifest *next, bool *done, sluice_reason *why);
int sluice_container_publish(sluice_container *c, sluice_manifest *next, sluice_reason *why);

/* Local. The generation that is being made as a container of its own, to be written, without the lock. Takes over
 * `next` if it succeeds. */
int sluice_container_next(sluice_container **out, const sluice_container *c, sluice_manifest *next, sluice_reason *why);

/* Local. Tells what crashes left behind in its folders, and removes it (by the process that has the lock). */
int sluice_container_clean(sluice_container *c, bool remove, sluice_leftover *each, void *arg, sluice_reason *why);

/* Local. Removes a container: from the first step on it is none. One that was left half removed can be removed again,
 * and then the lock of who was killed at it does not count; so can what was left of it last, a folder with nothing but
 * a lock in it or not even that, if its name ends in .sluice. A folder that is no container is not touched: -ENOENT. A
 * copy of a container's folder, whose subfiles elsewhere are not its own, is not either: -EPERM. rest: only what was
 * left half removed, else -EEXIST. */
int sluice_container_delete(const char *path, const char *bindings, sluice_reason *why);
int sluice_container_delete_rest(const char *path, const char *bindings, sluice_reason *why);

/* Local. The same by the process that has the folder; those who have the other targets remove their subfiles. */
int sluice_container_delete_some(const char *path, const char *bindings, sluice_some some, sluice_reason *why);

#endif
