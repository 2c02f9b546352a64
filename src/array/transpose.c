/* transpose.c: a box in memory from one storage order to another.
 *
 * One axis is contiguous in the source, another in the destination; all others are loops around these two:
 *
 *      source               destination           a strip of rows at a time: each turn of the inner loop takes one
 *      a b c d . . .        a e i m . . .         element of each row, which lie side by side in the destination and
 *      e f g h . . .        b f j n . . .         fill a cache line of it; the next turn finds the rows' lines still
 *      i j k l . . .        c g k o . . .         in the cache
 *      m n o p . . .        d h l p . . .
 *
 * Which works as long as all lines that a box touches stay in the cache until they are used up. So a large box is cut
 * in halves, along its longest axis, until its pieces are small.
 */
#include "array/copy.h"
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

typedef unsigned char byte;

enum {
    PIECE = 64 << 10, /* bytes that both sides of a piece may have in a second-level cache, and to spare */
    ROWS = 16         /* a cache line of 4-byte elements; measured: best up to 8 bytes */
};

/* Two axes: element (i, j) goes from i * si + j * sj to i * di + j * dj. */
typedef struct plane {
    int64_t ni, nj, si, sj, di, dj;
} plane;

ALWAYS void strip(byte *restrict dst, const byte *restrict src, const plane *p, size_t elem, int rows, int64_t di,
                  int64_t sj) {
    for (int64_t j = 0; j < p->nj; j++)
        for (int i = 0; i < rows; i++) memcpy(dst + j * p->dj + i * di, src + j * sj + i * p->si, elem);
}

ALWAYS void turn(byte *restrict dst, const byte *restrict src, const plane *p, size_t elem, int rows, int64_t di,
                 int64_t sj) {
    int64_t i = 0;
    for (; i + rows <= p->ni; i += rows) strip(dst + i * di, src + i * p->si, p, elem, rows, di, sj);
    for (; i < p->ni; i++) strip(dst + i * di, src + i * p->si, p, elem, 1, di, sj);
}

static void turn1(byte *restrict dst, const byte *restrict src, const plane *p) { turn(dst, src, p, 1, ROWS, 1, 1); }
static void turn2(byte *restrict dst, const byte *restrict src, const plane *p) { turn(dst, src, p, 2, ROWS, 2, 2); }
static void turn4(byte *restrict dst, const byte *restrict src, const plane *p) { turn(dst, src, p, 4, ROWS, 4, 4); }
static void turn8(byte *restrict dst, const byte *restrict src, const plane *p) { turn(dst, src, p, 8, ROWS, 8, 8); }
static void turn16(byte *restrict dst, const byte *restrict src, const plane *p) { turn(dst, src, p, 16, 8, 16, 16); }
static void any(byte *restrict dst, const byte *restrict src, const plane *p, size_t elem) {
    turn(dst, src, p, elem, 4, p->di, p->sj);
}

static void turn_plane(byte *dst, const byte *src, const plane *p, int64_t elem) {
    const bool usual = p->di == elem && p->sj == elem;
    switch (usual ? elem : 0) {
    case 1: turn1(dst, src, p); break;
    case 2: turn2(dst, src, p); break;
    case 4: turn4(dst, src, p); break;
    case 8: turn8(dst, src, p); break;
    case 16: turn16(dst, src, p); break;
    default: any(dst, src, p, (size_t)elem);
    }
}

/* The planes of a piece, one after the other. i is the axis that is fastest in the destination, j in the source. */
static void turn_piece(byte *dst, const byte *src, const sluice_turn *t, const int64_t *n, int i, int j) {
    int64_t at[SLUICE_MAX_DIMS] = {0};
    plane p = {n[i], 1, t->from[i], t->elem, t->to[i], 0};
    if (j != i) {
        p.nj = n[j];
        p.sj = t->from[j];
        p.dj = t->to[j];
    }
    for (;;) {
        int a = 0;
        turn_plane(dst, src, &p, t->elem);
        for (; a < t->naxes; a++) {
            if (a == i || a == j) continue;
            dst += t->to[a];
            src += t->from[a];
            if (++at[a] < n[a]) break;
            dst -= n[a] * t->to[a];
            src -= n[a] * t->from[a];
            at[a] = 0;
        }
        if (a == t->naxes) return;
    }
}

static void turn_halves(byte *dst, const byte *src, const sluice_turn *t, int64_t *n, int i, int j) {
    int64_t bytes = t->elem;
    int longest = 0;
    for (int a = 0; a < t->naxes; a++) {
        bytes *= n[a];
        if (n[a] > n[longest]) longest = a;
    }
    const int64_t whole = n[longest];
    if (bytes <= PIECE || whole == 1) {
        turn_piece(dst, src, t, n, i, j);
        return;
    }
    const int64_t half = whole > ROWS ? sluice_ceil_div(whole / 2, ROWS) * ROWS : whole / 2;
    n[longest] = half;
    turn_halves(dst, src, t, n, i, j);
    n[longest] = whole - half;
    turn_halves(dst + half * t->to[longest], src + half * t->from[longest], t, n, i, j);
    n[longest] = whole;
}

void sluice_transpose_steps(int64_t *step, const int64_t *n, const int *axis, int naxes, int64_t elem) {
    for (int k = 0; k < naxes; k++) {
        step[axis[k]] = elem;
        elem *= n[axis[k]];
    }
}

/* The axis with the shortest step that is longer than one element; 0 if there is none. */
static int fastest(const int64_t *step, const sluice_turn *t) {
    int best = -1;
    for (int a = 0; a < t->naxes; a++)
        if (t->n[a] > 1 && (best < 0 || step[a] < step[best])) best = a;
    return best < 0 ? 0 : best;
}

void sluice_transpose(void *dst, const void *src, const sluice_turn *t) {
    int64_t n[SLUICE_MAX_DIMS];
    for (int a = 0; a < t->naxes; a++) {
        n[a] = t->n[a];
        if (n[a] == 0) return;
    }
    if (t->naxes == 0)
        memcpy(dst, src, (size_t)t->elem);
    else
        turn_halves(dst, src, t, n, fastest(t->to, t), fastest(t->from, t));
}
