/* view.c: the runs of a view, and its datatype. */
#include "inside.h"
#include <stddef.h>

static int64_t piece_bytes(const piece *p) { return p->len * p->count[0] * p->count[1]; }

int64_t view_bytes(const view *v) {
    int64_t sum = 0;
    for (int i = 0; i < v->npieces; i++) sum += piece_bytes(&v->piece[i]);
    return sum;
}

int workload_root(int n) {
    int q = 1;
    while (q * q < n) q++;
    return q * q == n ? q : 0;
}

walk walk_start(const view *v, stretch s) {
    const int64_t bytes = view_bytes(v);
    walk w = {.v = v, .period = s.off / bytes, .left = s.len, .skip = s.off % bytes};
    while (w.skip >= piece_bytes(&v->piece[w.piece])) w.skip -= piece_bytes(&v->piece[w.piece++]);
    const piece *p = &v->piece[w.piece];
    const int64_t runs = w.skip / p->len;
    w.i[0] = runs % p->count[0];
    w.i[1] = runs / p->count[0];
    w.skip %= p->len;
    return w;
}

bool walk_next(walk *w, run *out) {
    if (w->left == 0) return false;
    const piece *p = &w->v->piece[w->piece];
    out->off = w->v->disp + w->period * w->v->extent + p->off + w->i[0] * p->step[0] + w->i[1] * p->step[1] + w->skip;
    out->len = p->len - w->skip < w->left ? p->len - w->skip : w->left;
    w->left -= out->len;
    w->skip = 0;
    if (++w->i[0] < p->count[0]) return true;
    w->i[0] = 0;
    if (++w->i[1] < p->count[1]) return true;
    w->i[1] = 0;
    if (++w->piece < w->v->npieces) return true;
    w->piece = 0;
    w->period++;
    return true;
}

MPI_Datatype view_type(const view *v) {
    MPI_Datatype type[PIECES], whole, out;
    MPI_Aint at[PIECES];
    int one[PIECES];
    for (int i = 0; i < v->npieces; i++) {
        const piece *p = &v->piece[i];
        MPI_Datatype runs;
        MPI_Type_create_hvector((int)p->count[0], (int)p->len, (MPI_Aint)p->step[0], MPI_BYTE, &runs);
        MPI_Type_create_hvector((int)p->count[1], 1, (MPI_Aint)p->step[1], runs, &type[i]);
        MPI_Type_free(&runs);
        at[i] = (MPI_Aint)p->off;
        one[i] = 1;
    }
    MPI_Type_create_struct(v->npieces, one, at, type, &whole);
    MPI_Type_create_resized(whole, 0, (MPI_Aint)v->extent, &out);
    MPI_Type_commit(&out);
    for (int i = 0; i < v->npieces; i++) MPI_Type_free(&type[i]);
    MPI_Type_free(&whole);
    return out;
}
