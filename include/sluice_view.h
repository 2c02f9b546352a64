/* sluice_view.h: parallel files, and views of them.
 *
 * A parallel file is one logical file of bytes that lies in several subfiles, perhaps on several disks. A partition
 * (sluice_set.h) says which byte lies where: byte k of subfile i is the k-th byte of element i. A process works on the
 * file through a view, which is an element, too: the bytes that the process wants, put one behind the other.
 *
 *     file           0 1 2 3 4 5 6 7 8 9 ...       partition: two bytes to each of two subfiles in turn
 *     subfile 0      0 1     4 5     8 9
 *     subfile 1          2 3     6 7
 *     view           0   2   4   6   8             every second byte; its byte 3 is byte 6 of the file, 2 of subfile 1
 *
 *     sluice_set half[2] = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY}, even = SLUICE_SET_EMPTY;
 *     sluice_set_block(&half[0], 0, 2), sluice_set_block(&half[1], 2, 2), sluice_set_block(&even, 0, 1);
 *     sluice_partition p = {.n = 2, .set = half};
 *     const char *path[] = {"part0", "part1"};
 *     sluice_file *f;
 *     sluice_view *v;
 *     if (sluice_file_create(&f, &p, path, NULL) ||
 *         sluice_view_set(&v, f, &(sluice_element){.set = &even, .period = 2}) || sluice_view_write(v, 0, 1000, buf))
 *         fprintf(stderr, "%s\n", sluice_errmsg());
 *
 * What a view and a subfile have in common is found once, when the view is set. An access then maps the two ends of
 * its range to each subfile that it touches, and moves what lies between. If the view is one of the subfiles, not even
 * that is needed. Sets stay in closed form: but for the bytes themselves, an access of a billion blocks takes no longer
 * than one of ten.
 *
 * A parallel file has no length of its own: what no one has written is read as zeros. The rules of sluice.h hold: 0 or
 * a negative error with a sentence in sluice_errmsg(), and bytes that no one named do not change.
 */
#ifndef SLUICE_VIEW_H
#define SLUICE_VIEW_H

#include "sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_file sluice_file;
typedef struct sluice_view sluice_view;

/* Local. Opens a parallel file by its partition (a period of 0 is filled in) and the paths of its subfiles, one for
 * each element. Of the options, `memory` is shared by all subfiles, and `together` and `replace` are not used. */
int sluice_file_open(sluice_file **f, const sluice_partition *p, const char *const *path, int mode,
                     const sluice_options *o);

/* Local. The same, and makes the subfiles, which must not be there (-EEXIST); if the call fails none is left. */
int sluice_file_create(sluice_file **f, const sluice_partition *p, const char *const *path, const sluice_options *o);

/* Local. Opens a container (sluice.h, `layout`) as a parallel file: the bytes of its array, in its subfiles. It has an
 * end: what lies past the array is refused with SLUICE_E_ARGUMENT; of an array without elements there is nothing else.
 */
int sluice_file_open_container(sluice_file **f, const char *path, int mode, const sluice_options *o);

/* Local; Collective for a served file (sluice_serve.h). Closes all subfiles and frees the handle, also when it returns
 * an error. Views are freed before. NULL is allowed. */
int sluice_file_close(sluice_file *f);

/* Local. What was written survives a crash of the machine. */
int sluice_file_sync(sluice_file *f);

/* Pure. What the handle did to its subfiles since it was opened. */
void sluice_file_count(const sluice_file *f, sluice_counts *c);

/* Local. Sets a view: the element's set is copied, and met with every subfile. SLUICE_E_EMPTY if the element has no
 * byte, SLUICE_E_ARGUMENT if it is none. The file must stay open for as long as the view is there. */
int sluice_view_set(sluice_view **v, sluice_file *f, const sluice_element *e);
void sluice_view_free(sluice_view *v); /* NULL is allowed */

/* Local. Moves bytes [off, off + len) of the view. SLUICE_E_ARGUMENT if one of them lies before the displacement of the
 * partition, where there are no subfiles. */
int sluice_view_read(sluice_view *v, int64_t off, int64_t len, void *buf);
int sluice_view_write(sluice_view *v, int64_t off, int64_t len, const void *buf);

/* Local. A hint that a range will be read soon: where the system can, it is read now, in the background. */
int sluice_view_expect(sluice_view *v, int64_t off, int64_t len);

/* What a view did with one subfile, or with all, since it was set. */
typedef struct sluice_view_counts {
    int64_t intersections; /* of the view with a subfile; none where the view is a subfile */
    int64_t ends;          /* of ranges, mapped to a subfile */
    int64_t requests;      /* ranges moved */
    int64_t contiguous;    /* of these: one run of the subfile */
    int64_t bytes;         /* moved */
    int64_t gathered;      /* of these: to or from several pieces of the caller's memory */
    int64_t scattered;     /* of these: to or from several pieces of the subfile */
} sluice_view_counts;

/* Pure. For subfile 0, 1, ..., or -1: their sum. */
void sluice_view_count(const sluice_view *v, int subfile, sluice_view_counts *c);

#ifdef __cplusplus
}
#endif
#endif
