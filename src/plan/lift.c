/* lift.c: finds the array and the rule in the accesses of a profile; see lift.h. */
#include "plan/lift.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BOXES = 256, MOST_STRIDES = 64 };

#define REFUSE(...) sluice_refuse(why, SLUICE_E_ARGUMENT, -1, __VA_ARGS__)

/* Indices [start, start + count) of each dimension. */
typedef struct box {
    int64_t start[SLUICE_LIFT_DIMS], count[SLUICE_LIFT_DIMS];
} box;

typedef struct stretch {
    int64_t start, count;
} stretch;

typedef struct shop {
    sluice_lift *l;
    const sluice_profile *p;
    sluice_reason *why;
    sluice_set *set;                      /* npass * nprocs */
    int64_t stride[SLUICE_LIFT_DIMS + 1]; /* bytes from index to index; stride[ndims - 1] is the element */
    int nbox;                             /* of a process, in the pass being looked at */
    box *box;                             /* nprocs * nbox */
    int nrepeat;
    int64_t repeat[MOST_STRIDES];
    stretch **kept; /* npass * ndims: where the boxes lie along a dimension */
} shop;

void sluice_lift_free(sluice_lift *l) {
    if (!l) return;
    sluice_mem_free(l->pass);
    sluice_mem_free(l);
}

/* ---- Passes ---- */

static int add_stride(shop *s, int64_t stride) {
    int k = 0;
    while (k < s->nrepeat && s->repeat[k] != stride) k++;
    if (k < s->nrepeat) return 0;
    if (k == MOST_STRIDES)
        return sluice_refuse(s->why, SLUICE_E_ARGUMENT, -1, "accesses have more than %d strides", MOST_STRIDES);
    s->repeat[s->nrepeat++] = stride;
    return 0;
}

/* Whether the uses of a pass are the same set, moved on by the same distance each time; 0: they are not. */
static int64_t moved_by(const sluice_use *const *use, int64_t n) {
    const int64_t by = n > 1 ? use[1]->run.off - use[0]->run.off : 0;
    for (int64_t i = 1; i < n; i++)
        if (use[i]->run.off - use[i - 1]->run.off != by || use[i]->run.len != use[0]->run.len ||
            use[i]->set.size != use[0]->set.size)
            return 0;
    return by;
}

static int by_process(const void *x, const void *y) {
    const sluice_use *a = *(const sluice_use *const *)x, *b = *(const sluice_use *const *)y;
    if (a->proc != b->proc) return a->proc < b->proc ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return (a->run.off > b->run.off) - (a->run.off < b->run.off);
}

/* The union of uses that ascend. */
static int join(sluice_set *out, const sluice_use *const *use, int64_t n) {
    sluice_set other = SLUICE_SET_EMPTY;
    bool runs = n > 1;
    for (int64_t i = 0; i < n; i++) runs = runs && !use[i]->set.size;
    if (n == 1) return sluice_use_set(out, use[0]);
    if (runs) {
        sluice_run *run = sluice_mem_alloc((size_t)n, sizeof *run);
        if (!run) return -ENOMEM;
        for (int64_t i = 0; i < n; i++) run[i] = use[i]->run;
        const int error = sluice_set_runs(out, run, n, NULL);
        sluice_mem_free(run);
        return error;
    }
    int error = join(out, use, n / 2);
    if (!error) error = join(&other, use + n / 2, n - n / 2);
    if (!error) error = sluice_set_union(out, out, &other);
    sluice_set_free(&other);
    return error;
}

/* The end of the pass that begins at use i. */
static int64_t pass_end(const sluice_use *const *use, int64_t i, int64_t n) {
    int64_t end = i + 1;
    while (end < n && use[end]->proc == use[i]->proc && use[end]->write == use[i]->write &&
           use[end]->run.off >= use[end - 1]->run.off + use[end - 1]->run.len)
        end++;
    return end;
}

static int count_passes(shop *s, const sluice_use *const *use, int64_t n) {
    int k = 0, proc = 0;
    for (int64_t i = 0; i <= n; i = pass_end(use, i, n)) {
        while (proc < s->p->nprocs && (i == n || use[i]->proc != proc)) { /* this process ends here */
            if (proc == 0) s->l->npass = k;
            if (k != s->l->npass)
                return sluice_refuse(s->why, SLUICE_E_ARGUMENT, -1, "process %d makes %d passes, process 0 makes %d",
                                     proc, k, s->l->npass);
            proc++;
            k = 0;
        }
        if (i == n) break;
        if (++k > SLUICE_LIFT_PASSES)
            return sluice_refuse(s->why, SLUICE_E_ARGUMENT, -1, "process %d makes more than %d passes", proc,
                                 SLUICE_LIFT_PASSES);
    }
    return s->l->npass ? 0 : sluice_refuse(s->why, SLUICE_E_ARGUMENT, -1, "process 0 accesses nothing");
}

static int take_passes(shop *s, const sluice_use *const *use, int64_t n) {
    const size_t sets = (size_t)s->l->npass * (size_t)s->p->nprocs;
    s->l->pass = sluice_mem_alloc((size_t)s->l->npass, sizeof *s->l->pass);
    s->set = sluice_mem_alloc(sets, sizeof *s->set);
    for (size_t i = 0; s->set && i < sets; i++) s->set[i] = (sluice_set)SLUICE_SET_EMPTY;
    if (!s->l->pass || !s->set) return sluice_pass(s->why, -ENOMEM);
    memset(s->l->pass, 0, (size_t)s->l->npass * sizeof *s->l->pass);
    int k = 0;
    for (int64_t i = 0, end; i < n; i = end) {
        sluice_lift_pass *pass = &s->l->pass[k];
        end = pass_end(use, i, n);
        if (use[i]->proc == 0) {
            pass->write = use[i]->write;
            pass->collective = use[i]->collective;
        }
        if (pass->write != use[i]->write)
            return sluice_refuse(s->why, SLUICE_E_ARGUMENT, -1, "in pass %d process %d %s, process 0 does not", k,
                                 use[i]->proc, use[i]->write ? "writes" : "reads");
        int error = join(&s->set[(int64_t)k * s->p->nprocs + use[i]->proc], use + i, end - i);
        if (error)
            return sluice_refuse(s->why, error, -1, "pass %d of process %d: %s", k, use[i]->proc,
                                 sluice_strerror(error));
        const int64_t by = moved_by(use + i, end - i);
        if (by && (error = add_stride(s, by))) return error;
        k = end < n && use[end]->proc != use[i]->proc ? 0 : k + 1;
    }
    return 0;
}

static int find_passes(shop *s) {
    const int64_t n = s->p->n;
    const sluice_use **use = sluice_mem_alloc((size_t)n + 1, sizeof *use);
    if (!use) return sluice_pass(s->why, -ENOMEM);
    for (int64_t i = 0; i < n; i++) use[i] = &s->p->use[i];
    qsort(use, (size_t)n, sizeof *use, by_process);
    int error = count_passes(s, use, n);
    if (!error) error = take_passes(s, use, n);
    sluice_mem_free(use);
    return error;
}

/* ---- The array ---- */

static int descending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* The distances at which something repeats, the largest first. Sets may repeat in ways that are none of the array's,
 * like cells on a diagonal: so only those count that are multiples of all smaller ones, and the whole is proved in the
 * end. */
static int find_strides(shop *s, int64_t *stride, int *n) {
    int kept = 0;
    for (int64_t i = 0; i < (int64_t)s->l->npass * s->p->nprocs; i++)
        for (int32_t k = 0; k < s->set[i].nnode; k++) {
            const sluice_node *f = &s->set[i].node[k];
            const int error = f->n > 1 ? add_stride(s, f->step) : 0;
            if (error) return error;
        }
    qsort(s->repeat, (size_t)s->nrepeat, sizeof *s->repeat, descending);
    for (int k = s->nrepeat - 1; k >= 0; k--)
        if (!kept || s->repeat[k] % stride[kept - 1] == 0) stride[kept++] = s->repeat[k];
    for (int k = 0; k < kept / 2; k++) {
        const int64_t x = stride[k];
        stride[k] = stride[kept - 1 - k];
        stride[kept - 1 - k] = x;
    }
    *n = kept;
    return 0;
}

/* What divides all places and lengths within a row, and the row. */
static int64_t find_unit(const shop *s, int64_t row) {
    int64_t unit = row;
    for (int64_t i = 0; i < (int64_t)s->l->npass * s->p->nprocs; i++) {
        sluice_cursor c;
        sluice_run r;
        int seen = 0;
        /* Rows of a box are alike: some are enough, and what is found is checked in the end. */
        for (sluice_cursor_init(&c, &s->set[i]); seen < 4096 && sluice_cursor_run(&c, &r); seen++) {
            if (r.off % row) unit = sluice_gcd(unit, r.off % row);
            unit = sluice_gcd(unit, r.len);
        }
    }
    return unit;
}

static int64_t find_end(const shop *s) {
    int64_t end = 0;
    for (int64_t i = 0; i < (int64_t)s->l->npass * s->p->nprocs; i++) end = sluice_max(end, sluice_set_hi(&s->set[i]));
    return end;
}

static int find_array(shop *s, int64_t elem) {
    sluice_lift *l = s->l;
    int64_t stride[MOST_STRIDES];
    int n, error = find_strides(s, stride, &n);
    if (error) return error;
    if (n >= SLUICE_LIFT_DIMS)
        return sluice_refuse(s->why, SLUICE_E_ARGUMENT, -1, "more than %d dimensions", SLUICE_LIFT_DIMS);
    /* So that sums and multiples of what follows can be made. */
    if (find_end(s) > INT64_MAX / 4) return sluice_refuse(s->why, SLUICE_E_ARGUMENT, -1, "offsets above 2^61");
    const int64_t end = find_end(s), row = n ? stride[n - 1] : end, unit = find_unit(s, row);
    l->ndims = n + 1;
    l->guessed = elem == 0;
    if (elem == 0) {
        /* The last extent like the one before it, if elements of such a size fit; else a usual size. */
        const int64_t side = n > 1 ? stride[n - 2] / row : n == 1 ? sluice_ceil_div(end, row) : 0;
        if (n && row % side == 0 && unit % (row / side) == 0)
            elem = row / side;
        else
            for (elem = 16; unit % elem;) elem /= 2;
    }
    if (unit % elem)
        return sluice_refuse(s->why, SLUICE_E_ARGUMENT, -1, "accesses are not of whole elements of %" PRId64 " bytes",
                             elem);
    l->elem = elem;
    for (int d = 0; d < n; d++) s->stride[d] = stride[d];
    s->stride[n] = elem;
    l->dim[0] = sluice_ceil_div(end, s->stride[0]);
    for (int d = 1; d <= n; d++) l->dim[d] = s->stride[d - 1] / s->stride[d];
    return 0;
}

/* ---- Boxes ---- */

static int box_set(sluice_set *out, const sluice_lift *l, const box *b) {
    sluice_shape shape = {.ndims = l->ndims, .elem = l->elem};
    sluice_range range[SLUICE_LIFT_DIMS];
    for (int d = 0; d < l->ndims; d++) {
        shape.dim[d] = l->dim[d];
        range[d] = (sluice_range){b->start[d], b->count[d], 1};
    }
    return sluice_set_section(out, &shape, range, NULL);
}

/* How many follow each other from offset x on, a stride apart, at most n. */
static int count_along(const sluice_set *set, int64_t x, int64_t stride, int64_t n, int64_t *count) {
    sluice_set line = SLUICE_SET_EMPTY;
    int error = sluice_set_falls(&line, x, 1, stride > 1 ? stride : 1, n);
    if (!error) error = sluice_set_subtract(&line, &line, set);
    if (!error) *count = line.size ? (sluice_set_lo(&line) - x) / stride : n;
    sluice_set_free(&line);
    return error;
}

/* The box at the beginning of a set, which is taken out of it. */
static int peel(const shop *s, sluice_set *set, box *b, bool *fits) {
    const sluice_lift *l = s->l;
    int64_t x = sluice_set_lo(set), rest = x;
    sluice_set one = SLUICE_SET_EMPTY, both = SLUICE_SET_EMPTY;
    int error = 0;
    for (int d = 0; d < l->ndims; d++) {
        b->start[d] = rest / s->stride[d];
        rest %= s->stride[d];
    }
    for (int d = 0; d < l->ndims && !error; d++)
        error = count_along(set, x, s->stride[d], l->dim[d] - b->start[d], &b->count[d]);
    if (!error) error = box_set(&one, l, b);
    if (!error) error = sluice_set_intersect(&both, set, &one);
    *fits = rest == 0 && both.size == one.size;
    if (!error && *fits) error = sluice_set_subtract(set, set, &one);
    sluice_set_free(&one);
    sluice_set_free(&both);
    return error;
}

static int peel_all(shop *s, int k, int p, box *out, int *n) {
    sluice_set set = SLUICE_SET_EMPTY;
    bool fits = true;
    int error = sluice_set_copy(&set, &s->set[(int64_t)k * s->p->nprocs + p]);
    for (*n = 0; !error && set.size && fits && *n < MOST_BOXES; ++*n) error = peel(s, &set, &out[*n], &fits);
    if (!error && set.size) {
        sluice_set_free(&set);
        return sluice_refuse(s->why, SLUICE_E_ARGUMENT, -1,
                             "pass %d of process %d is not made of a few boxes of an array", k, p);
    }
    sluice_set_free(&set);
    return sluice_pass(s->why, error);
}

static int find_boxes(shop *s, int k) {
    box *some = sluice_mem_alloc(MOST_BOXES, sizeof *some);
    int error = some ? 0 : sluice_pass(s->why, -ENOMEM);
    s->nbox = 0;
    for (int p = 0; p < s->p->nprocs && !error; p++) {
        int n;
        error = peel_all(s, k, p, some, &n);
        if (!error && p == 0) {
            s->nbox = n;
            sluice_mem_free(s->box);
            s->box = sluice_mem_alloc((size_t)s->p->nprocs * (size_t)n, sizeof *s->box);
            if (!s->box) error = sluice_pass(s->why, -ENOMEM);
        }
        if (!error && n != s->nbox)
            error = sluice_refuse(s->why, SLUICE_E_ARGUMENT, -1, "in pass %d process %d has %d boxes, process 0 has %d",
                                  k, p, n, s->nbox);
        if (!error) memcpy(&s->box[(int64_t)p * n], some, (size_t)n * sizeof *some);
    }
    sluice_mem_free(some);
    return error;
}

/* ---- Rules ---- */

static int by_start(const void *a, const void *b) {
    const stretch *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->count > y->count) - (x->count < y->count);
}

/* The different stretches along a dimension, ascending; *n of them. */
static int find_places(shop *s, int d, stretch *place, int *n) {
    const int all = s->p->nprocs * s->nbox;
    for (int i = 0; i < all; i++) place[i] = (stretch){s->box[i].start[d], s->box[i].count[d]};
    qsort(place, (size_t)all, sizeof *place, by_start);
    *n = 0;
    for (int i = 0; i < all; i++)
        if (!i || by_start(&place[i], &place[*n - 1])) place[(*n)++] = place[i];
    for (int i = 1; i < *n; i++)
        if (place[i].start == place[i - 1].start ||
            place[i].start + place[i].count <= place[i - 1].start + place[i - 1].count)
            return sluice_refuse(s->why, SLUICE_E_ARGUMENT, -1, "boxes lie within each other along dimension %d", d);
    return 0;
}

static int64_t cut(int64_t extent, int n, int i, bool ceiling) {
    if (ceiling) return sluice_min(sluice_ceil_div(extent, n) * i, extent);
    return extent / n * i + sluice_min(i, extent % n);
}

static void fit_blocks(sluice_along *a, const stretch *place, int64_t extent) {
    const int n = a->n;
    for (int ceiling = 0; ceiling < 2 && !a->blocks && n > 1; ceiling++) {
        a->low = cut(extent, n, 1, ceiling) - place[1].start;
        a->high = place[0].start + place[0].count - cut(extent, n, 1, ceiling);
        a->ceiling = ceiling;
        a->blocks = a->low >= 0 && a->high >= 0;
        for (int i = 0; i < n && a->blocks; i++) {
            const int64_t from = sluice_max(cut(extent, n, i, ceiling) - a->low, 0);
            const int64_t to = sluice_min(cut(extent, n, i + 1, ceiling) + a->high, extent);
            a->blocks = place[i].start == from && place[i].start + place[i].count == to;
        }
    }
}

/* With the pitch; false if the boxes between the ends do not keep it. */
static void fit_steps(sluice_along *a, const stretch *place, int64_t pitch) {
    const int n = a->n;
    a->steps = pitch > 0;
    for (int i = 2; i < n && a->steps; i++) a->steps = place[i].start - place[i - 1].start == pitch;
    for (int i = 1; i < n - 1 && a->steps; i++)
        a->steps = place[i].start + place[i].count - place[i - 1].start - place[i - 1].count == pitch;
    a->pitch = pitch;
    a->first = place[0].start;
    a->begin = place[1].start - pitch;
    a->end = place[0].start + place[0].count - pitch;
    a->last = place[n - 1].start + place[n - 1].count - n * pitch;
}

/* The distance of boxes by themselves, as far as two of them tell; 0: they do not. */
static int64_t own_pitch(const stretch *place, int n) {
    if (n > 2) return place[2].start - place[1].start;
    return n == 2 && place[0].count == place[1].count ? place[1].start - place[0].start : 0;
}

static int place_of(const stretch *place, int n, const box *b, int d) {
    for (int i = 0; i < n; i++)
        if (place[i].start == b->start[d]) return i;
    return 0;
}

/* Whether the grid is numbered like the processes. */
static bool numbered(const shop *s, const sluice_lift_pass *pass, stretch *const *place, bool column) {
    for (int p = 0; p < s->p->nprocs; p++) {
        int64_t number = 0;
        for (int k = 0; k < s->l->ndims; k++) {
            const int d = column ? s->l->ndims - 1 - k : k;
            number = number * pass->along[d].n + place_of(place[d], pass->along[d].n, &s->box[p], d);
        }
        if (number != p) return false;
    }
    return true;
}

static int floor_mod(int a, int q) { return (a % q + q) % q; }

static bool follows(const shop *s, const sluice_along *a, const stretch *place, int d) {
    const int q = s->nbox;
    for (int p = 0; p < s->p->nprocs; p++)
        for (int c = 0; c < q; c++)
            if (place_of(place, q, &s->box[p * q + c], d) !=
                floor_mod(a->of_p * (p % q) + a->of_row * (p / q) + a->of_c * c, q))
                return false;
    return true;
}

/* The usual ones first: of few processes several would do. */
static bool find_diagonal(const shop *s, sluice_along *a, const stretch *place, int d) {
    static const int usual[3][3] = {{1, 0, 1}, {0, 1, -1}, {0, 0, 1}};
    for (int k = 0; k < 30; k++) {
        a->of_p = k < 3 ? usual[k][0] : (k - 3) / 9 - 1;
        a->of_row = k < 3 ? usual[k][1] : (k - 3) / 3 % 3 - 1;
        a->of_c = k < 3 ? usual[k][2] : (k - 3) % 3 - 1;
        if (follows(s, a, place, d)) return true;
    }
    return false;
}

static int judge_pass(shop *s, int k, stretch *const *place) {
    sluice_lift_pass *pass = &s->l->pass[k];
    sluice_reason *why = s->why;
    int64_t grid = 1;
    for (int d = 0; d < s->l->ndims; d++) {
        sluice_along *a = &pass->along[d];
        const int error = find_places(s, d, place[d], &a->n);
        if (error) return error;
        a->first = place[d]->start;
        a->last = place[d]->start + place[d]->count; /* of one */
        grid *= a->n;
        if (grid > INT32_MAX) return REFUSE("pass %d is of too many boxes", k);
        fit_blocks(a, place[d], s->l->dim[d]);
    }
    if (s->nbox == 1 && grid == 1) {
        pass->kind = SLUICE_PASS_ALL;
        return 0;
    }
    if (s->nbox == 1) {
        pass->kind = SLUICE_PASS_GRID;
        pass->column = !numbered(s, pass, place, false);
        if (grid != s->p->nprocs || (pass->column && !numbered(s, pass, place, true)))
            return REFUSE("in pass %d the boxes of the processes form no grid in their order", k);
        return 0;
    }
    pass->kind = SLUICE_PASS_DIAGONAL;
    if (s->nbox * s->nbox != s->p->nprocs)
        return REFUSE("in pass %d, %d processes have %d boxes each", k, s->p->nprocs, s->nbox);
    for (int d = 0; d < s->l->ndims; d++) {
        const int n = pass->along[d].n;
        if (n != 1 && (n != s->nbox || !find_diagonal(s, &pass->along[d], place[d], d)))
            return REFUSE("in pass %d the boxes do not lie on diagonals along dimension %d", k, d);
    }
    return 0;
}

/* ---- Pitches ---- */

static int keep_places(shop *s, int k, stretch *const *place) {
    for (int d = 0; d < s->l->ndims; d++) {
        const int n = s->l->pass[k].along[d].n;
        stretch *kept = sluice_mem_alloc((size_t)n, sizeof *kept);
        if (!kept) return sluice_pass(s->why, -ENOMEM);
        memcpy(kept, place[d], (size_t)n * sizeof *kept);
        s->kept[k * s->l->ndims + d] = kept;
    }
    return 0;
}

/* Two boxes may lie as they do for other reasons than their pitch (halos, an edge that belongs to one of them). So that
 * of blocks that share nothing is taken first, then of boxes of the same length, of this pass or another one. */
static int64_t find_pitch(const shop *s, int k, int d) {
    const sluice_along *a = &s->l->pass[k].along[d];
    stretch *const mine = s->kept[k * s->l->ndims + d];
    int64_t pitch = own_pitch(mine, a->n);
    if (a->n > 2) return pitch;
    for (int j = 0; j < s->l->npass; j++) {
        const sluice_along *b = &s->l->pass[j].along[d];
        const int64_t told = b->n == 2 ? own_pitch(s->kept[j * s->l->ndims + d], 2) : 0;
        if (told && b->blocks && !b->low && !b->high) return told;
        if (told && !pitch) pitch = told;
    }
    return pitch ? pitch : mine[1].start + mine[1].count - mine[0].start - mine[0].count;
}

static void find_pitches(shop *s) {
    for (int k = 0; k < s->l->npass; k++)
        for (int d = 0; d < s->l->ndims; d++)
            if (s->l->pass[k].along[d].n > 1)
                fit_steps(&s->l->pass[k].along[d], s->kept[k * s->l->ndims + d], find_pitch(s, k, d));
}

/* ---- All of it ---- */

/* Every set of the profile comes back. */
static int prove(const shop *s) {
    sluice_reason *why = s->why;
    for (int k = 0; k < s->l->npass; k++)
        for (int p = 0; p < s->p->nprocs; p++) {
            sluice_set set = SLUICE_SET_EMPTY;
            const int error = sluice_lift_set(&set, s->l, &s->l->pass[k], p);
            const int same = error ? error : sluice_set_equal(&set, &s->set[(int64_t)k * s->p->nprocs + p]);
            sluice_set_free(&set);
            if (same < 0) return sluice_pass(why, same);
            if (!same) return REFUSE("pass %d of process %d is not as the others say", k, p);
        }
    return 0;
}

static int judge_all(shop *s) {
    const int ndims = s->l->ndims;
    stretch *place[SLUICE_LIFT_DIMS] = {NULL};
    int error = 0;
    s->kept = sluice_mem_alloc((size_t)s->l->npass * (size_t)ndims, sizeof *s->kept);
    if (!s->kept) return sluice_pass(s->why, -ENOMEM);
    for (int i = 0; i < s->l->npass * ndims; i++) s->kept[i] = NULL;
    for (int k = 0; k < s->l->npass && !error; k++) {
        error = find_boxes(s, k);
        for (int d = 0; d < ndims && !error; d++) {
            sluice_mem_free(place[d]);
            place[d] = sluice_mem_alloc((size_t)s->p->nprocs * (size_t)s->nbox, sizeof *place[d]);
            if (!place[d]) error = sluice_pass(s->why, -ENOMEM);
        }
        if (!error) error = judge_pass(s, k, place);
        if (!error) error = keep_places(s, k, place);
    }
    for (int d = 0; d < ndims; d++) sluice_mem_free(place[d]);
    if (error) return error;
    find_pitches(s);
    return prove(s);
}

int sluice_lift_make(sluice_lift **out, const sluice_profile *p, int64_t elem, sluice_reason *why) {
    sluice_lift *l = sluice_mem_alloc(1, sizeof *l);
    if (!l) return sluice_pass(why, -ENOMEM);
    *l = (sluice_lift){.nprocs = p->nprocs};
    shop s = {.l = l, .p = p, .why = why};
    int error = find_passes(&s);
    if (!error) error = find_array(&s, elem);
    if (!error) error = judge_all(&s);
    for (int64_t i = 0; s.set && i < (int64_t)l->npass * p->nprocs; i++) sluice_set_free(&s.set[i]);
    for (int i = 0; s.kept && i < l->npass * l->ndims; i++) sluice_mem_free(s.kept[i]);
    sluice_mem_free(s.set);
    sluice_mem_free(s.kept);
    sluice_mem_free(s.box);
    if (error)
        sluice_lift_free(l);
    else
        *out = l;
    return error;
}
