/* hand.h: the loop that someone would write by hand for one layout and one access of an N x N array of bytes, with the
 * subfiles mapped: what moving the same bytes between the same memory costs at least, without any library.
 *
 * All rows of which the bytes are dealt in the same way share a list of copies, made beforehand: `n` pieces of `len`
 * bytes from one stride to another. The loop goes from row to row and makes the copies of each.
 */
#ifndef SLUICE_BENCH_HAND_H
#define SLUICE_BENCH_HAND_H

#include "file/file.h"
#include <stdbool.h>
#include <string.h>

enum { HAND_PARTS = 4, HAND_KINDS = 4096 };

/* How the bytes of each row are dealt, and where the row starts in each part. */
typedef struct hand_rows {
    int64_t n;
    int kinds, *kind;                 /* of each row; equal rows are of one kind */
    unsigned char *owner[HAND_KINDS]; /* of each byte of a row of a kind */
    int64_t *start[HAND_PARTS];
} hand_rows;

static inline void *hand_alloc(int64_t n, size_t size) {
    void *p = calloc((size_t)n, size);
    if (!p) exit(1);
    return p;
}

static inline void hand_rows_make(hand_rows *h, const sluice_layout *l, int64_t n) {
    unsigned char *row = hand_alloc(n, 1);
    *h = (hand_rows){.n = n, .kind = hand_alloc(n, sizeof *h->kind)};
    for (int p = 0; p < HAND_PARTS; p++) h->start[p] = hand_alloc(n, sizeof *h->start[p]);
    for (int64_t r = 0; r < n; r++) {
        for (int p = 0; p < HAND_PARTS; p++) {
            sluice_cursor c;
            sluice_run run;
            h->start[p][r] = sluice_set_rank(&l->set[p], r * n);
            sluice_cursor_init(&c, &l->set[p]);
            for (sluice_cursor_seek_offset(&c, r * n); sluice_cursor_run(&c, &run) && run.off < (r + 1) * n;)
                memset(row + run.off % n, p, (size_t)(run.len < n - run.off % n ? run.len : n - run.off % n));
        }
        int k = 0;
        while (k < h->kinds && memcmp(h->owner[k], row, (size_t)n)) k++;
        if (k == h->kinds) {
            if (k == HAND_KINDS) exit(1); /* more rows than kinds */
            h->owner[h->kinds++] = memcpy(hand_alloc(n, 1), row, (size_t)n);
        }
        h->kind[r] = k;
    }
    free(row);
}

static inline void hand_rows_free(hand_rows *h) {
    for (int k = 0; k < h->kinds; k++) free(h->owner[k]);
    for (int p = 0; p < HAND_PARTS; p++) free(h->start[p]);
    free(h->kind);
}

typedef struct hand_copy {
    int sub;
    int64_t file, mem, len, n, fstep, mstep;
} hand_copy;

/* The copies of a row for one part of the access. */
typedef struct hand_list {
    int n, cap;
    hand_copy *copy;
} hand_list;

/* One more piece: a copy of its own, or the next of the last copy of its subfile. */
static inline void hand_add(hand_list *l, int *last, hand_copy piece) {
    hand_copy *c = *last < 0 ? NULL : &l->copy[*last];
    if (c && c->len == piece.len) {
        const int64_t f = piece.file - c->file, m = piece.mem - c->mem;
        if (c->n == 1) c->fstep = f, c->mstep = m;
        if (f == c->n * c->fstep && m == c->n * c->mstep) {
            c->n++;
            return;
        }
    }
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 16;
        l->copy = realloc(l->copy, (size_t)l->cap * sizeof *l->copy);
        if (!l->copy) exit(1);
    }
    *last = l->n;
    l->copy[l->n++] = piece;
}

/* For each kind of row of the layout with each of the access. */
typedef struct hand {
    const hand_rows *layout, *access;
    hand_list *list[HAND_PARTS];
} hand;

static inline void hand_list_make(hand_list *l, const unsigned char *owner, const unsigned char *user, int64_t n,
                                  int p) {
    int last[HAND_PARTS] = {-1, -1, -1, -1};
    int64_t in_sub[HAND_PARTS] = {0}, in_mem = 0;
    for (int64_t x = 0, len; x < n; x += len) {
        const int sub = owner[x];
        for (len = 1; x + len < n && owner[x + len] == sub && user[x + len] == user[x];) len++;
        if (user[x] == p) {
            hand_add(l, &last[sub], (hand_copy){sub, in_sub[sub], in_mem, len, 1, len, len});
            in_mem += len;
        }
        in_sub[sub] += len;
    }
}

static inline void hand_make(hand *h, const hand_rows *layout, const hand_rows *access) {
    *h = (hand){.layout = layout, .access = access};
    bool *done = hand_alloc((int64_t)layout->kinds * access->kinds, sizeof *done);
    for (int p = 0; p < HAND_PARTS; p++)
        h->list[p] = hand_alloc((int64_t)layout->kinds * access->kinds, sizeof *h->list[p]);
    for (int64_t r = 0; r < layout->n; r++) {
        const int k = layout->kind[r] * access->kinds + access->kind[r];
        if (done[k]) continue;
        done[k] = true;
        for (int p = 0; p < HAND_PARTS; p++)
            hand_list_make(&h->list[p][k], layout->owner[layout->kind[r]], access->owner[access->kind[r]], layout->n,
                           p);
    }
    free(done);
}

static inline void hand_free(hand *h) {
    for (int p = 0; p < HAND_PARTS; p++) {
        for (int k = 0; k < h->layout->kinds * h->access->kinds; k++) free(h->list[p][k].copy);
        free(h->list[p]);
    }
}

#define HAND_LOOP(LEN)                                                                                                 \
    for (int64_t i = 0; i < n; i++, dst += dstep, src += sstep) memcpy(dst, src, (size_t)(LEN))

static inline void hand_pieces(unsigned char *restrict dst, int64_t dstep, const unsigned char *restrict src,
                               int64_t sstep, int64_t len, int64_t n) {
    switch (len) {
    case 1: HAND_LOOP(1); break;
    case 4: HAND_LOOP(4); break;
    case 16: HAND_LOOP(16); break;
    case 64: HAND_LOOP(64); break;
    case 256: HAND_LOOP(256); break;
    default: HAND_LOOP(len);
    }
}

/* Moves the part p of the access; sub[i]: the mapped subfile. */
static inline void hand_move(const hand *h, int p, unsigned char *mem, unsigned char *const *sub, bool write) {
    for (int64_t r = 0; r < h->layout->n; r++) {
        const hand_list *l = &h->list[p][h->layout->kind[r] * h->access->kinds + h->access->kind[r]];
        unsigned char *row = mem + h->access->start[p][r];
        for (int i = 0; i < l->n; i++) {
            const hand_copy *c = &l->copy[i];
            unsigned char *file = sub[c->sub] + h->layout->start[c->sub][r] + c->file;
            if (write)
                hand_pieces(file, c->fstep, row + c->mem, c->mstep, c->len, c->n);
            else
                hand_pieces(row + c->mem, c->mstep, file, c->fstep, c->len, c->n);
        }
    }
}

#endif
