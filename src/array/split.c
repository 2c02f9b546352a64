/* split.c: an array in subfiles: from parts of the array to parts of the space in which the subfiles lie one behind the
 * other (store/join.c). A part becomes one piece for each subfile that has some of it:
 *
 *     part       file   [ a a b b a a b b a a ]           memory  [ 0 1 2 3 4 5 6 7 8 9 ]
 *     pieces     subfile a   [ a a a a a a ]                      [ 0 1 . . 4 5 . . 8 9 ]
 *                subfile b                   [ b b b b ]          [ . . 2 3 . . 6 7 . . ]
 *
 * All of it are sets in closed form, and what comes after does not know that there is more than one file.
 */
#include "array/array.h"
#include <errno.h>
#include <string.h>

/* Room for n more pieces. The sets move with it, so that no piece refers to them yet. */
static int grow(sluice_pieces *p, int n) {
    sluice_bound_part *bound = sluice_mem_resize(p->bound, (size_t)(p->n + n), sizeof *bound);
    if (!bound) return -ENOMEM;
    p->bound = bound;
    sluice_io_part *part = sluice_mem_resize(p->part, (size_t)(p->n + n), sizeof *part);
    if (!part) return -ENOMEM;
    p->part = part;
    return 0;
}

/* The memory of the bytes `ranks` of a part; it is *ranks or is made of it. */
static int find_memory(sluice_side *mem, sluice_set *ranks, const sluice_side *part) {
    *mem = *part;
    if (part->set) return sluice_set_embed(ranks, ranks, part->set);
    if (ranks->size == sluice_set_hi(ranks) - sluice_set_lo(ranks)) { /* one piece of memory */
        if (part->base) mem->base = (unsigned char *)part->base + sluice_set_lo(ranks);
        sluice_set_free(ranks);
    }
    return 0;
}

/* The piece of a part in subfile i, if there is one. */
static int add_piece(sluice_pieces *p, const sluice_layout *l, const sluice_io_part *part, int i) {
    sluice_bound_part b = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    sluice_side mem;
    int err = sluice_layout_split(l, part->file, i, &b.file, &b.mem);
    if (!err && b.file.size) err = sluice_set_shift(&b.file, &b.file, l->base[i]);
    if (!err && b.file.size) err = find_memory(&mem, &b.mem, &part->mem);
    if (err || !b.file.size) {
        sluice_set_free(&b.file);
        sluice_set_free(&b.mem);
        return err;
    }
    p->bound[p->n] = b;
    p->part[p->n++] = (sluice_io_part){NULL, mem};
    return 0;
}

int sluice_split(sluice_pieces *out, const sluice_layout *l, const sluice_io_part *part, int n) {
    sluice_pieces p = {0};
    bool *hit = sluice_mem_alloc((size_t)l->n, sizeof *hit);
    int err = hit ? 0 : -ENOMEM;
    for (int k = 0; k < n && !err; k++) {
        if (!part[k].file->size) continue;
        err = grow(&p, sluice_layout_meet(l, part[k].file, hit));
        for (int i = 0; i < l->n && !err; i++)
            if (hit[i]) err = add_piece(&p, l, &part[k], i);
    }
    sluice_mem_free(hit);
    for (int k = 0; k < p.n; k++) {
        p.part[k].file = &p.bound[k].file;
        p.part[k].mem.set = p.bound[k].mem.size ? &p.bound[k].mem : NULL;
    }
    if (err)
        sluice_split_free(&p);
    else
        *out = p;
    return err;
}

void sluice_split_free(sluice_pieces *p) {
    for (int k = 0; k < p->n; k++) {
        sluice_set_free(&p->bound[k].file);
        sluice_set_free(&p->bound[k].mem);
    }
    sluice_mem_free(p->bound);
    sluice_mem_free(p->part);
    *p = (sluice_pieces){0};
}

int sluice_split_file(sluice_set *out, const sluice_layout *l, const sluice_set *file) {
    sluice_pieces p = {0};
    sluice_set all = SLUICE_SET_EMPTY;
    int err = sluice_split(&p, l, &(sluice_io_part){file, {NULL, NULL, 0, 0}}, 1);
    sluice_set *each = err || !p.n ? NULL : sluice_mem_alloc((size_t)p.n, sizeof *each);
    if (!err && p.n && !each) err = -ENOMEM;
    for (int k = 0; k < p.n && !err; k++) each[k] = p.bound[k].file;
    if (!err) err = sluice_conflict_unite(&all, each, p.n);
    sluice_mem_free(each);
    sluice_split_free(&p);
    sluice_set_free(err ? &all : out);
    if (!err) *out = all;
    return err;
}
