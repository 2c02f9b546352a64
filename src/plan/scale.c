/* scale.c: accesses foretold by the rule that was found in others; see lift.h. */
#include "plan/lift.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define REFUSE(...) sluice_refuse(why, SLUICE_E_ARGUMENT, -1, __VA_ARGS__)

/* ---- Sets ---- */

static int64_t cut(int64_t extent, int n, int i, bool ceiling) {
    if (ceiling) return sluice_min(sluice_ceil_div(extent, n) * i, extent);
    return extent / n * i + sluice_min(i, extent % n);
}

/* The stretch at place i. After it has been scaled, just one of the rules holds. */
static sluice_range range_at(const sluice_along *a, int64_t extent, int i) {
    int64_t from, to;
    if (a->n == 1) {
        from = a->first;
        to = a->last;
    } else if (a->steps) {
        from = i == 0 ? a->first : a->begin + i * a->pitch;
        to = i == a->n - 1 ? a->last + a->n * a->pitch : a->end + (i + 1) * a->pitch;
    } else {
        from = sluice_max(cut(extent, a->n, i, a->ceiling) - a->low, 0);
        to = sluice_min(cut(extent, a->n, i + 1, a->ceiling) + a->high, extent);
    }
    return (sluice_range){from, to - from, 1};
}

static int root(int n) {
    int q = 1;
    while ((int64_t)q * q < n) q++;
    return q * q == n ? q : 0;
}

static int floor_mod(int a, int q) { return (a % q + q) % q; }

/* Box c of process p. */
static void place(const sluice_lift *l, const sluice_lift_pass *pass, int p, int c, sluice_range *range) {
    const int q = pass->kind == SLUICE_PASS_DIAGONAL ? root(l->nprocs) : 1;
    for (int k = 0, rest = p; k < l->ndims; k++) {
        const int d = pass->column ? k : l->ndims - 1 - k; /* the fastest first */
        const sluice_along *a = &pass->along[d];
        int i = 0;
        if (pass->kind == SLUICE_PASS_DIAGONAL && a->n > 1)
            i = floor_mod(a->of_p * (p % q) + a->of_row * (p / q) + a->of_c * c, q);
        else if (pass->kind == SLUICE_PASS_GRID) {
            i = rest % a->n;
            rest /= a->n;
        }
        range[d] = range_at(a, l->dim[d], i);
    }
}

void sluice_lift_shape(const sluice_lift *l, sluice_shape *shape) {
    *shape = (sluice_shape){.ndims = l->ndims, .elem = l->elem};
    for (int d = 0; d < l->ndims; d++) shape->dim[d] = l->dim[d];
}

int sluice_lift_set(sluice_set *out, const sluice_lift *l, const sluice_lift_pass *pass, int p) {
    const int n = pass->kind == SLUICE_PASS_DIAGONAL ? root(l->nprocs) : 1;
    sluice_shape shape;
    sluice_range range[SLUICE_LIFT_DIMS];
    sluice_set all = SLUICE_SET_EMPTY, one = SLUICE_SET_EMPTY;
    int error = 0;
    sluice_lift_shape(l, &shape);
    for (int c = 0; c < n && !error; c++) {
        place(l, pass, p, c, range);
        error = sluice_set_section(&one, &shape, range, NULL);
        if (!error) error = sluice_set_union(&all, &all, &one);
    }
    sluice_set_free(&one);
    if (error)
        sluice_set_free(&all);
    else {
        sluice_set_free(out);
        *out = all;
    }
    return error;
}

/* ---- Grids ---- */

/* n as the product of k factors that are as near to each other as can be, the largest first. */
static void divide(int n, int k, int *factor) {
    for (int i = 0; i < k; i++) {
        const int left = k - i;
        int best = n;
        if (left == 1) best = n;
        /* the smallest factor from which the others, none larger, can still make n */
        for (int f = 1; f <= n && left > 1; f++) {
            double power = 1;
            for (int j = 0; j < left; j++) power *= f;
            if (n % f == 0 && power >= n && (i == 0 || f <= factor[i - 1])) {
                best = f;
                break;
            }
        }
        factor[i] = best;
        n /= best;
    }
}

static int shared_dims(const sluice_lift *l, const sluice_lift_pass *pass, int *dim) {
    int n = 0;
    for (int d = 0; d < l->ndims; d++)
        if (pass->along[d].n > 1) dim[n++] = d;
    return n;
}

/* The grid of a pass for another number of processes. */
static int new_grid(const sluice_lift *l, int k, int nprocs, int *grid, sluice_reason *why) {
    const sluice_lift_pass *pass = &l->pass[k];
    int dim[SLUICE_LIFT_DIMS], was[SLUICE_LIFT_DIMS], is[SLUICE_LIFT_DIMS];
    const int n = shared_dims(l, pass, dim);
    for (int d = 0; d < l->ndims; d++) grid[d] = pass->along[d].n;
    if (nprocs == l->nprocs || pass->kind == SLUICE_PASS_ALL) return 0;
    if (pass->kind == SLUICE_PASS_DIAGONAL) {
        const int q = root(nprocs);
        if (!q) return REFUSE("cells on diagonals are for square numbers of processes, not for %d", nprocs);
        for (int i = 0; i < n; i++) grid[dim[i]] = q;
        return 0;
    }
    divide(l->nprocs, n, was);
    divide(nprocs, n, is);
    bool falling = true, rising = true;
    for (int i = 0; i < n; i++) {
        falling = falling && grid[dim[i]] == was[i];
        rising = rising && grid[dim[i]] == was[n - 1 - i];
    }
    if (!falling && !rising)
        return REFUSE("the grid of pass %d is not the most even one of %d processes, so that of %d is not known", k,
                      l->nprocs, nprocs);
    for (int i = 0; i < n; i++) grid[dim[i]] = is[falling ? i : n - 1 - i];
    return 0;
}

/* ---- Scaling ---- */

static bool overlaps(const sluice_along *a) {
    if (a->n < 2) return false;
    return a->blocks ? a->low + a->high > 0 : a->end > a->begin;
}

static int keep_of(const sluice_lift *l) {
    int dim[SLUICE_LIFT_DIMS], most = 0;
    bool twice = false;
    for (int k = 0; k < l->npass; k++) {
        const int n = shared_dims(l, &l->pass[k], dim);
        most = n > most ? n : most;
        for (int i = 0; i < n; i++)
            twice = twice || overlaps(&l->pass[k].along[dim[i]]) || !l->pass[k].along[dim[i]].blocks;
    }
    return most > 1 && !twice ? SLUICE_KEEP_ARRAY : SLUICE_KEEP_BLOCK;
}

/* Whether n pitches can still be added to something. */
static bool multiplies(int64_t pitch, int64_t n) { return pitch <= INT64_MAX / 4 / n; }

/* All passes agree on the extents of the array: dim[d] is set by the first that shares the dimension. */
static int set_extents(sluice_lift *now, const sluice_lift *l, int *const *grid, int keep, sluice_reason *why) {
    bool set[SLUICE_LIFT_DIMS] = {false};
    for (int k = 0; k < l->npass; k++)
        for (int d = 0; d < l->ndims; d++) {
            sluice_along *a = &now->pass[k].along[d];
            if (a->n < 2) continue;
            if (keep == SLUICE_KEEP_ARRAY && !a->blocks)
                return REFUSE(
                    "along dimension %d, pass %d does not divide the array evenly; --keep block or records may", d, k);
            if (keep != SLUICE_KEEP_ARRAY && !a->steps)
                return REFUSE("along dimension %d, the boxes of pass %d are not a pitch apart; --keep array may do", d,
                              k);
            if (keep != SLUICE_KEEP_ARRAY && !multiplies(a->pitch, grid[k][d]))
                return REFUSE("offsets would pass 2^61");
            a->blocks = keep == SLUICE_KEEP_ARRAY;
            a->steps = !a->blocks;
            const int64_t extent = a->blocks ? l->dim[d] : l->dim[d] + (grid[k][d] - a->n) * a->pitch;
            if (set[d] && extent != now->dim[d])
                return REFUSE("passes disagree on the extent of dimension %d: %" PRId64 " or %" PRId64, d, now->dim[d],
                              extent);
            now->dim[d] = extent;
            set[d] = true;
            a->n = grid[k][d];
        }
    return 0;
}

/* A dimension that nobody shares becomes the whole of the new extent if it was that of the old one. */
static void stretch_whole(sluice_lift *now, const sluice_lift *l, int d) {
    for (int k = 0; k < l->npass; k++) {
        sluice_along *a = &now->pass[k].along[d];
        if (l->pass[k].along[d].n == 1 && a->last == l->dim[d]) a->last = now->dim[d];
    }
}

/* Fewer rows of blocks, as many bytes. */
static int keep_records(sluice_lift *now, const sluice_lift *l, sluice_reason *why) {
    int dim[SLUICE_LIFT_DIMS];
    const int n = shared_dims(l, &l->pass[0], dim), d = n == 1 ? dim[0] : 0;
    if (n != 1 || d == 0) return REFUSE("no records are dealt out in turn");
    const int64_t all = l->dim[d - 1] * l->dim[d];
    if (all % now->dim[d])
        return REFUSE("%" PRId64 " rows of blocks do not come out even for %d processes", l->dim[d - 1], now->nprocs);
    now->dim[d - 1] = all / now->dim[d];
    return 0;
}

/* Times more data in each block, or more blocks. */
static int grow(sluice_lift *now, int64_t factor, int how, sluice_reason *why) {
    int dim[SLUICE_LIFT_DIMS];
    int64_t times[SLUICE_LIFT_DIMS];
    for (int d = 0; d < now->ndims; d++) times[d] = 1;
    const int n = shared_dims(now, &now->pass[0], dim);
    if (how == SLUICE_GROW_COUNT) {
        if (n && dim[0] == 0) return REFUSE("no dimension counts blocks, so there cannot be more of them; --grow size");
        times[0] = factor;
    } else {
        int64_t each = 0, all = 0;
        while (n && all < factor) {
            all = 1;
            each++;
            for (int i = 0; i < n && all <= factor; i++) all *= each;
        }
        for (int i = 0; i < n; i++) times[dim[i]] = all == factor ? each : i == 0 ? factor : 1;
        if (!n) times[0] = factor;
    }
    for (int d = 0; d < now->ndims; d++)
        for (int k = 0; k < now->npass; k++) {
            sluice_along *a = &now->pass[k].along[d];
            if (a->n > 1 && a->steps && (!sluice_mul(a->pitch, times[d], &a->pitch) || !multiplies(a->pitch, a->n)))
                return REFUSE("offsets would pass 2^61");
        }
    for (int d = 0; d < now->ndims; d++) {
        const int64_t was = now->dim[d];
        const sluice_along *a = &now->pass[0].along[d];
        if (a->n > 1 && a->steps)
            now->dim[d] += a->n * (a->pitch - a->pitch / times[d]);
        else if (!sluice_mul(was, times[d], &now->dim[d]))
            return REFUSE("offsets would pass 2^63-1");
        for (int k = 0; k < now->npass; k++)
            if (now->pass[k].along[d].n == 1 && now->pass[k].along[d].last == was)
                now->pass[k].along[d].last = now->dim[d];
    }
    return 0;
}

static int change(sluice_lift *now, const sluice_lift *l, const sluice_scaling *s, int **grid, sluice_reason *why) {
    int keep = s->keep ? s->keep : l->keep ? l->keep : keep_of(l), error = 0;
    const int how = s->grow ? s->grow : l->grow ? l->grow : SLUICE_GROW_SIZE;
    now->nprocs = s->nprocs;
    now->keep = keep;
    now->grow = how;
    if (s->nprocs == l->nprocs && s->factor == 1) return 0;
    if (l->nprocs == 1) return REFUSE("what one process does says nothing of several");
    for (int k = 0; k < l->npass && !error; k++) error = new_grid(l, k, s->nprocs, grid[k], why);
    if (!error) error = set_extents(now, l, grid, keep, why);
    if (!error && keep == SLUICE_KEEP_RECORDS) error = keep_records(now, l, why);
    for (int d = 0; d < l->ndims && !error; d++) stretch_whole(now, l, d);
    if (!error && s->factor != 1) error = grow(now, s->factor, how, why);
    return error;
}

static int make_uses(sluice_profile *out, const sluice_lift *l, sluice_reason *why) {
    sluice_profile p = {.nprocs = l->nprocs};
    int error = 0;
    for (int k = 0; k < l->npass && !error; k++)
        for (int i = 0; i < l->nprocs && !error; i++) {
            const sluice_lift_pass *pass = &l->pass[k];
            const sluice_use like = {i, 0, pass->write, pass->collective, 1, k, k, {0, 0}, SLUICE_SET_EMPTY};
            sluice_set set = SLUICE_SET_EMPTY;
            error = sluice_lift_set(&set, l, pass, i);
            if (!error) error = sluice_profile_add(&p, &like, &set, 0);
            sluice_set_free(&set);
            if (error == SLUICE_E_ARGUMENT)
                sluice_refuse(why, error, -1, "with %d processes, boxes would leave the array", l->nprocs);
        }
    if (error) {
        sluice_profile_free(&p);
        return error == SLUICE_E_ARGUMENT ? error : sluice_pass(why, error);
    }
    *out = p;
    return 0;
}

int sluice_lift_scale(sluice_profile *out, const sluice_lift *l, const sluice_scaling *s, sluice_lift *now,
                      sluice_reason *why) {
    sluice_lift made = *l;
    int *place = sluice_mem_alloc((size_t)l->npass * SLUICE_LIFT_DIMS, sizeof *place);
    int **grid = sluice_mem_alloc((size_t)l->npass, sizeof *grid);
    made.pass = sluice_mem_alloc((size_t)l->npass, sizeof *made.pass);
    int error = place && grid && made.pass ? 0 : sluice_pass(why, -ENOMEM);
    if (!error) {
        memcpy(made.pass, l->pass, (size_t)l->npass * sizeof *made.pass);
        for (int k = 0; k < l->npass; k++) grid[k] = &place[k * SLUICE_LIFT_DIMS];
        error = change(&made, l, s, grid, why);
    }
    if (!error) error = make_uses(out, &made, why);
    sluice_mem_free(place);
    sluice_mem_free(grid);
    if (error || !now)
        sluice_mem_free(made.pass);
    else
        *now = made;
    return error;
}

/* ---- Samples ---- */

static bool same_uses(const sluice_profile *a, const sluice_profile *b) {
    if (a->n != b->n) return false;
    for (int64_t i = 0; i < a->n; i++) {
        const sluice_use *x = &a->use[i], *y = &b->use[i];
        if (x->proc != y->proc || x->write != y->write || x->run.off != y->run.off || x->run.len != y->run.len ||
            x->set.size != y->set.size || (x->set.size && sluice_set_equal(&x->set, &y->set) != 1))
            return false;
    }
    return true;
}

static int64_t bytes_of(const sluice_lift *l) {
    int64_t bytes = l->elem;
    for (int d = 0; d < l->ndims; d++)
        if (!sluice_mul(bytes, l->dim[d], &bytes)) return INT64_MAX;
    return bytes;
}

int sluice_lift_decide(sluice_lift *l, const sluice_profile *sample, sluice_reason *why) {
    sluice_lift *other = NULL;
    sluice_profile really = {0};
    int error = sluice_lift_make(&other, sample, l->guessed ? 0 : l->elem, why);
    if (error) return error;
    const sluice_scaling as_is = {.nprocs = sample->nprocs, .factor = 1};
    error = sluice_lift_scale(&really, other, &as_is, NULL, why);
    sluice_scaling s = {.nprocs = sample->nprocs, .factor = 1};
    if (s.nprocs == l->nprocs) s.factor = sluice_max(bytes_of(other) / sluice_max(bytes_of(l), 1), 1);
    bool found = false;
    for (s.keep = SLUICE_KEEP_ARRAY; s.keep <= SLUICE_KEEP_RECORDS && !error && !found; s.keep++)
        for (s.grow = SLUICE_GROW_SIZE; s.grow <= SLUICE_GROW_COUNT && !error && !found; s.grow++) {
            sluice_profile p = {0};
            error = sluice_lift_scale(&p, l, &s, NULL, NULL);
            if (error == SLUICE_E_ARGUMENT)
                error = 0;
            else if (!error && same_uses(&p, &really)) {
                found = true;
                l->keep = s.nprocs == l->nprocs ? l->keep : s.keep;
                l->grow = s.factor == 1 ? l->grow : s.grow;
            }
            sluice_profile_free(&p);
        }
    sluice_profile_free(&really);
    sluice_lift_free(other);
    if (error) return sluice_pass(why, error);
    return found ? 0 : REFUSE("no rule leads from one trace to the other");
}

/* ---- For people ---- */

/* The shortest and the longest stretch of the last dimension, in bytes. */
static void chunks(const sluice_lift *l, const sluice_lift_pass *pass, int64_t *least, int64_t *most) {
    const int d = l->ndims - 1;
    *least = INT64_MAX;
    *most = 0;
    for (int i = 0; i < pass->along[d].n; i++) {
        const int64_t len = range_at(&pass->along[d], l->dim[d], i).count * l->elem;
        *least = sluice_min(*least, len);
        *most = sluice_max(*most, len);
    }
}

static void print_chunks(const sluice_lift *l, int k, FILE *f) {
    const int root_of = l->pass[k].kind == SLUICE_PASS_DIAGONAL ? root(l->nprocs) : 0;
    for (int i = 0; i < 4; i++) {
        const int n = root_of ? (root_of + i) * (root_of + i) : l->nprocs << i;
        sluice_profile p = {0};
        sluice_lift now;
        int64_t least, most;
        if (sluice_lift_scale(&p, l, &(sluice_scaling){.nprocs = n, .factor = 1}, &now, NULL)) continue;
        chunks(&now, &now.pass[k], &least, &most);
        fprintf(f, "%s%d: %" PRId64, i ? ", " : "", n, least);
        if (most > least) fprintf(f, " to %" PRId64, most);
        sluice_profile_free(&p);
        sluice_mem_free(now.pass);
    }
}

void sluice_lift_print(const sluice_lift *l, FILE *f) {
    static const char *const kind[] = {"all of it by each process", "blocks of a grid", "cells on diagonals"};
    static const char *const keep[] = {"", "the array", "the block of a process", "records dealt out in turn"};
    fprintf(f, "pattern   an array of ");
    for (int d = 0; d < l->ndims; d++) fprintf(f, "%s%" PRId64, d ? " x " : "", l->dim[d]);
    fprintf(f, " elements of %" PRId64 " bytes%s\n", l->elem, l->guessed ? " (assumed; --elem says otherwise)" : "");
    for (int k = 0; k < l->npass && k < 8; k++) {
        fprintf(f, "          %s %s", l->pass[k].write ? "written:" : "read:   ", kind[l->pass[k].kind]);
        for (int d = 0; d < l->ndims && l->pass[k].kind; d++)
            fprintf(f, "%s%d", d ? " x " : ", ", l->pass[k].along[d].n);
        if (l->nprocs > 1) {
            fprintf(f, "; chunks in bytes by number of processes: ");
            print_chunks(l, k, f);
        }
        fprintf(f, "\n");
    }
    if (l->npass > 8) fprintf(f, "          and %d passes more\n", l->npass - 8);
    if (l->nprocs > 1)
        fprintf(f, "          with other numbers of processes %s stays%s\n", keep[l->keep ? l->keep : keep_of(l)],
                l->keep ? ", as the sample shows" : " (assumed; --keep says otherwise)");
}
