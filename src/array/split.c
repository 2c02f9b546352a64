/* split.c: an array in subfiles: from parts of the array to parts of the space in which the subfiles lie one behind the
 * other (store/join.c). A part becomes one piece for each subfile that has some of it:
 *
 *     part       file   [ a a b b a a b b a a ]           memory  [ 0 1 2 3 4 5 6 7 8 9 ]
 *     pieces     subfile a   [ a a a a a a ]                      [ 0 1 . . 4 5 . . 8 9 ]
 *                subfile b                   [ b b b b ]          [ . . 2 3 . . 6 7 . . ]
 *
 * All of it are sets in closed form, and what comes after does not know that there is more than one file.
 *
 * In a layout by plan (file/placed.c) a part becomes one piece for each lot that has some of it, or for each copy of
 * that lot if it is written, and one for what is in no lot.
 */
#include "array/array.h"
#include <errno.h>
#include <string.h>

/* Room for n more pieces. The sets move with it, so that no piece refers to them yet. */
static int grow(sluice_pieces *p, int n) {
    if (p->room - p->n >= n) return 0;
    const int room = p->n + (int)sluice_max(n, p->n / 2);
    sluice_bound_part *bound = sluice_mem_resize(p->bound, (size_t)room, sizeof *bound);
    if (!bound) return -ENOMEM;
    p->bound = bound;
    sluice_io_part *part = sluice_mem_resize(p->part, (size_t)room, sizeof *part);
    if (!part) return -ENOMEM;
    p->part = part;
    p->room = room;
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

static void free_bound(sluice_bound_part *b) {
    sluice_set_free(&b->file);
    sluice_set_free(&b->mem);
}

/* Bytes *b of something that starts at `base` of the space, as a piece, for which there is room. Takes *b over. */
static int add_piece(sluice_pieces *p, const sluice_io_part *part, sluice_bound_part *b, int64_t base) {
    sluice_side mem;
    int err = b->file.size ? sluice_set_shift(&b->file, &b->file, base) : 0;
    if (!err && b->file.size) err = find_memory(&mem, &b->mem, &part->mem);
    if (err || !b->file.size) {
        free_bound(b);
        return err;
    }
    p->bound[p->n] = *b;
    p->part[p->n++] = (sluice_io_part){NULL, mem};
    return 0;
}

/* The piece of a part in subfile i, if there is one. */
static int add_subfile(sluice_pieces *p, const sluice_layout *l, const sluice_io_part *part, int i) {
    sluice_bound_part b = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    const int err = sluice_layout_split(l, part->file, i, &b.file, &b.mem);
    return err ? err : add_piece(p, part, &b, l->base[i]);
}

static int split_dealt(sluice_pieces *p, const sluice_layout *l, const sluice_io_part *part, int n) {
    bool *hit = sluice_mem_alloc((size_t)l->n, sizeof *hit);
    int err = hit ? 0 : -ENOMEM;
    for (int k = 0; k < n && !err; k++) {
        if (!part[k].file->size) continue;
        err = grow(p, sluice_layout_meet(l, part[k].file, hit));
        for (int i = 0; i < l->n && !err; i++)
            if (hit[i]) err = add_subfile(p, l, &part[k], i);
    }
    sluice_mem_free(hit);
    return err;
}

/* ---- Layouts by plan ---- */

/* The copy that is nearest, by its number. */
static int choose(const sluice_lot *lot, sluice_which w) {
    int found = 0;
    for (int c = 0; c < lot->n && w.near >= 0; c++) {
        if (lot->subfile[c] == w.near) return c;
        if (!found && w.target && w.target[lot->subfile[c]] == w.target[w.near]) found = c;
    }
    return found;
}

static void note_copied(sluice_run *copied, const sluice_lot *lot, const sluice_set *file) {
    const int64_t lo = sluice_max(sluice_set_lo(&lot->bytes), sluice_set_lo(file)),
                  hi = sluice_min(sluice_set_hi(&lot->bytes), sluice_set_hi(file)),
                  end = copied->len ? sluice_max(copied->off + copied->len, hi) : hi;
    copied->off = copied->len ? sluice_min(copied->off, lo) : lo;
    copied->len = end - copied->off;
}

/* Where the bytes of a set start that is one piece without gaps; else -1. */
static int64_t solid(const sluice_set *s) {
    return s->size == sluice_set_hi(s) - sluice_set_lo(s) ? sluice_set_lo(s) : -1;
}

/* Bytes *b at `base` of the space. What goes on where the piece before ends, there and in memory, becomes a part of it:
 * lots follow each other in the order in which they are used, as a rule. */
static int add_or_extend(sluice_pieces *p, int first, const sluice_io_part *part, sluice_bound_part *b, int64_t base) {
    const int last = p->n - 1;
    int err = grow(p, 1);
    if (err)
        free_bound(b);
    else
        err = add_piece(p, part, b, base);
    if (err || last < first || p->n - 1 == last) return err;
    sluice_set *x = &p->bound[last].file, *y = &p->bound[last + 1].file;
    const sluice_side *m = &p->part[last].mem;
    if (p->bound[last].mem.size || p->bound[last + 1].mem.size || solid(x) < 0 || solid(y) != solid(x) + x->size ||
        (m->base && p->part[last + 1].mem.base != (unsigned char *)m->base + x->size))
        return 0;
    err = sluice_set_block(x, sluice_set_lo(x), x->size + y->size);
    if (err) return err;
    sluice_set_free(y);
    p->n--;
    return 0;
}

/* What a part has of a lot: a piece for each copy that is wanted. */
static int add_lot(sluice_pieces *p, int first, const sluice_layout *l, sluice_which w, const sluice_io_part *part,
                   const sluice_lot *lot, int64_t *left) {
    sluice_bound_part b = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    int err = sluice_placed_split(&lot->bytes, part->file, &b.file, &b.mem);
    if (err || !b.file.size) return err;
    const bool all = w.near == SLUICE_ALL_COPIES;
    const int one = all ? 0 : choose(lot, w);
    *left -= b.file.size;
    for (int c = 1; all && c < lot->n && !err; c++) {
        sluice_bound_part more = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
        err = sluice_set_copy(&more.file, &b.file);
        if (!err) err = sluice_set_copy(&more.mem, &b.mem);
        if (!err) err = sluice_placed_land(&lot->where[c], &more.file);
        if (err)
            free_bound(&more);
        else
            err = add_or_extend(p, first, part, &more, l->base[lot->subfile[c]]);
    }
    if (!err) err = sluice_placed_land(&lot->where[one], &b.file);
    if (err) {
        free_bound(&b);
        return err;
    }
    if (all && lot->n > 1) note_copied(&p->copied, lot, part->file);
    return add_or_extend(p, first, part, &b, l->base[lot->subfile[one]]);
}

static int split_placed(sluice_pieces *p, const sluice_layout *l, sluice_which w, const sluice_io_part *part) {
    int *hit = NULL, n = 0, err = sluice_placed_meet(l->placed, part->file, &hit, &n);
    const int first = p->n;
    int64_t left = part->file->size;
    for (int k = 0; k < n && !err; k++) err = add_lot(p, first, l, w, part, &l->placed->lot[hit[k]], &left);
    sluice_mem_free(hit);
    if (err || !left) return err;
    sluice_bound_part b = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    err = sluice_placed_split(&l->placed->rest, part->file, &b.file, &b.mem);
    return err ? err : add_or_extend(p, first, part, &b, l->base[l->n - 1] + l->placed->rest_at);
}

/* ---- All of them ---- */

int sluice_split_parts(sluice_pieces *out, const sluice_array *a, bool write, const sluice_io_part *part, int n) {
    const sluice_which which = {write ? SLUICE_ALL_COPIES : a->near, a->subfiles.target};
    return sluice_split_which(out, a->layout, which, part, n);
}

int sluice_split(sluice_pieces *out, const sluice_layout *l, const sluice_io_part *part, int n) {
    return sluice_split_which(out, l, (sluice_which){SLUICE_FIRST_COPIES, NULL}, part, n);
}

int sluice_split_which(sluice_pieces *out, const sluice_layout *l, sluice_which which, const sluice_io_part *part,
                       int n) {
    sluice_pieces p = {0};
    int err = l->placed ? 0 : split_dealt(&p, l, part, n);
    for (int k = 0; k < n && l->placed && !err; k++)
        if (part[k].file->size) err = split_placed(&p, l, which, &part[k]);
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
    for (int k = 0; k < p->n; k++) free_bound(&p->bound[k]);
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
