/* loops.c: loops in the accesses of a process, found while they are made.
 *
 * Two rules. A loop is made when the last nodes are three times the same group, each time as far from the time before,
 * access by access; groups have up to SLUICE_LOOPS_BODY members, which may be loops. Then the loop is followed: as long
 * as each access is the one with which it goes on, nothing is stored but that it went on. When another access comes,
 * the iteration that was begun is written out as nodes, and the loop, which now has its final length, may be the third
 * of a group itself:
 *
 *     a0 a1 a2 a3 | a10 a11 a12 a13 | a20 a21 a22 a23 | a30 ...
 *     4 x a         4 x a             4 x a           | the third has ended: 3 x (4 x a), which a30 goes on with
 *
 * What looks alike is seen from a mark, a hash of all but the offsets, so an access that is not followed costs some
 * comparisons of numbers for each length of group.
 */
#include "trace/trace.h"
#include <errno.h>
#include <string.h>

static bool leaf(const sluice_trace_node *f) { return f->span == 1; }

/* Both are at most SLUICE_TRACE_LATEST. */
static void add_busy(sluice_trace_node *f, int64_t busy) { f->busy = sluice_min(f->busy + busy, SLUICE_TRACE_LATEST); }

static uint64_t mark_of(const sluice_trace_node *f) {
    uint64_t h = SLUICE_MIX;
    for (int64_t i = 0; i < f->span; i++) {
        h = sluice_mix(h, f[i].n), h = sluice_mix(h, f[i].span);
        if (!leaf(&f[i])) continue;
        h = sluice_mix(h, f[i].file), h = sluice_mix(h, f[i].shape), h = sluice_mix(h, f[i].size);
        h = sluice_mix(h, f[i].write + 2 * f[i].collective);
        for (int d = 0; d < f[i].loops; d++) h = sluice_mix(h, f[i].shift[d]);
    }
    return h;
}

static bool same_access(const sluice_trace_node *a, const sluice_trace_node *b) {
    return a->file == b->file && a->shape == b->shape && a->size == b->size && a->write == b->write &&
           a->collective == b->collective;
}

/* Three groups of span nodes at a, b and c are the same at equal distances, and one more loop can go around them. */
static bool in_step(const sluice_trace_node *a, const sluice_trace_node *b, const sluice_trace_node *c, int64_t span) {
    for (int64_t i = 0; i < span; i++) {
        if (a[i].span != b[i].span || a[i].span != c[i].span) return false;
        if (a[i].n != b[i].n || a[i].n != c[i].n) return false;
        if (!leaf(&a[i])) continue;
        if (a[i].loops == SLUICE_TRACE_LOOPS || a[i].loops != b[i].loops || a[i].loops != c[i].loops) return false;
        if (!same_access(&a[i], &b[i]) || !same_access(&a[i], &c[i])) return false;
        if (memcmp(a[i].shift, b[i].shift, sizeof a->shift) || memcmp(a[i].shift, c[i].shift, sizeof a->shift))
            return false;
        if (b[i].off - a[i].off != c[i].off - b[i].off) return false;
    }
    return true;
}

/* Room for n nodes. */
static int reserve(sluice_trace_node **p, int64_t *cap, int64_t n) {
    if (n <= *cap) return 0;
    const int64_t more = sluice_max(n, *cap + *cap / 2 + 64);
    sluice_trace_node *bigger = sluice_mem_resize(*p, (size_t)more, sizeof **p);
    if (!bigger) return -ENOMEM;
    *p = bigger, *cap = more;
    return 0;
}

/* The last node of the outermost level starts at `at`. */
static void list_top(sluice_loops *l, int64_t at) {
    if (l->ntop == SLUICE_LOOPS_TOPS) {
        const int keep = 3 * SLUICE_LOOPS_BODY, drop = l->ntop - keep;
        memmove(l->top, l->top + drop, (size_t)keep * sizeof *l->top);
        memmove(l->mark, l->mark + drop, (size_t)keep * sizeof *l->mark);
        memmove(l->off, l->off + drop, (size_t)keep * sizeof *l->off);
        l->ntop = keep;
    }
    const sluice_trace_node *first = &l->tree[at];
    while (!leaf(first)) first++;
    l->top[l->ntop] = at;
    l->off[l->ntop] = first->off;
    l->mark[l->ntop++] = mark_of(&l->tree[at]);
}

/* The last 3 k nodes of the outermost level become a loop, if they are one. */
static bool fold(sluice_loops *l, int k) {
    const int32_t first = l->ntop - 3 * k;
    const uint64_t *mark = &l->mark[first];
    if (memcmp(mark, mark + k, (size_t)k * sizeof *mark) || memcmp(mark, mark + 2 * k, (size_t)k * sizeof *mark))
        return false;
    const int64_t at = l->top[first], span = l->top[first + k] - at;
    sluice_trace_node *a = &l->tree[at], *b = a + span, *c = b + span;
    if (span >= SLUICE_LOOPS_SPAN || at + 3 * span != l->n || !in_step(a, b, c, span)) return false;
    for (int64_t i = 0; i < span; i++) {
        if (!leaf(&a[i])) continue;
        a[i].shift[a[i].loops++] = b[i].off - a[i].off;
        add_busy(&a[i], b[i].busy);
        add_busy(&a[i], c[i].busy);
    }
    memmove(a + 1, a, (size_t)span * sizeof *a);
    *a = (sluice_trace_node){.n = 3, .span = (int32_t)span + 1};
    l->n = at + span + 1;
    l->ntop = first;
    list_top(l, at);
    return true;
}

static bool fold_any(sluice_loops *l) {
    const uint64_t *last = &l->mark[l->ntop - 1];
    const int64_t *off = &l->off[l->ntop - 1];
    for (int k = 1; k <= SLUICE_LOOPS_BODY && 3 * k <= l->ntop; k++)
        if (last[0] == last[-k] && last[0] == last[-2 * k] && off[0] - off[-k] == off[-k] - off[-2 * k] && fold(l, k))
            return true;
    return false;
}

/* If the last node is a loop, to the access with which it would go on. */
static void follow(sluice_loops *l) {
    l->following = l->ntop > 0 && !leaf(&l->tree[l->top[l->ntop - 1]]);
    if (!l->following) return;
    const int64_t loop = l->top[l->ntop - 1];
    l->spot.depth = 1;
    l->spot.level[0].node = loop;
    l->spot.level[0].i = l->tree[loop].n;
    sluice_spot_enter(&l->spot, l->tree, loop + 1);
}

/* The access goes on with the loop. */
static bool goes_on(sluice_loops *l, const sluice_trace_node *access) {
    sluice_trace_node *f = &l->tree[l->spot.at];
    if (!same_access(f, access) || sluice_spot_off(&l->spot, l->tree) != access->off) return false;
    add_busy(f, access->busy);
    sluice_spot_step(&l->spot, l->tree, l->n, true);
    l->tree[l->spot.level[0].node].n = l->spot.level[0].i;
    return true;
}

/* How often an access was made inside the followed loop: whole iterations, and those of the one that was begun. */
static int64_t made(const sluice_loops *l, int64_t at, int64_t begun) {
    int64_t whole = 1;
    const int64_t loop = l->spot.level[0].node;
    for (int64_t i = loop; i < at; i++)
        if (i + l->tree[i].span > at) whole *= l->tree[i].n;
    return whole + begun;
}

/* Moves a part of the busy time of the access at `at` to its copy f, which stands for n of its iterations. */
static void share(sluice_loops *l, int64_t at, sluice_trace_node *f, int64_t n) {
    sluice_trace_node *from = &l->tree[at];
    const int64_t all = made(l, at, n);
    f->busy = (int64_t)((__int128)from->busy * n / all);
    from->busy -= f->busy;
}

/* Copies nodes [from, to), members of the innermost of the first `depth` loops of the spot, as they are in its present
 * iterations; `times`: in a loop of the copy that goes round so often. */
static void copy(sluice_loops *l, int64_t from, int64_t to, int depth, int64_t times) {
    for (int64_t i = from; i < to; i++) {
        sluice_trace_node *f = &l->scratch[l->nscratch++];
        *f = l->tree[i];
        if (!leaf(f)) continue;
        int64_t n = times;
        for (int64_t j = from; j < i; j++)
            if (j + l->tree[j].span > i) n *= l->tree[j].n;
        for (int d = 0; d < depth; d++) {
            f->loops--;
            f->off += l->spot.level[d].i * f->shift[f->loops];
            f->shift[f->loops] = 0;
        }
        share(l, i, f, n);
    }
}

/* The iteration that was begun, as nodes in scratch: at most twice those of the loop. */
static void write_out(sluice_loops *l) {
    const sluice_spot whole = l->spot;
    int64_t from = whole.level[0].node + 1;
    l->nscratch = 0;
    for (int depth = 1; depth < whole.depth; depth++) {
        const int64_t inner = whole.level[depth].node, i = whole.level[depth].i;
        copy(l, from, inner, depth, 1);
        if (i > 1) { /* as a loop that is shorter */
            const int64_t begin = l->nscratch;
            l->scratch[l->nscratch++] = l->tree[inner];
            copy(l, inner + 1, inner + l->tree[inner].span, depth, i);
            l->scratch[begin].n = i;
        } else if (i == 1) { /* as what is in it */
            l->spot.level[depth].i = 0;
            copy(l, inner + 1, inner + l->tree[inner].span, depth + 1, 1);
            l->spot.level[depth].i = i;
        }
        from = inner + 1;
    }
    copy(l, from, whole.at, whole.depth, 1);
}

/* No longer follows the loop. */
static int stop(sluice_loops *l) {
    const int64_t most = 2 * (int64_t)l->tree[l->spot.level[0].node].span;
    int err = reserve(&l->scratch, &l->scratch_cap, most);
    if (!err) err = reserve(&l->tree, &l->cap, l->n + most);
    if (err) return err;
    write_out(l);
    l->following = false;
    while (fold_any(l)) {
    }
    for (int64_t i = 0; i < l->nscratch; i += l->scratch[i].span) {
        memcpy(&l->tree[l->n], &l->scratch[i], (size_t)l->scratch[i].span * sizeof *l->tree);
        l->n += l->scratch[i].span;
        list_top(l, l->n - l->scratch[i].span);
        while (fold_any(l)) {
        }
    }
    return 0;
}

bool sluice_loops_go_on(sluice_loops *l, const sluice_trace_node *access) { return l->following && goes_on(l, access); }

int sluice_loops_append(sluice_loops *l, const sluice_trace_node *access) {
    if (l->following) {
        int err = stop(l);
        if (err) return err;
    }
    int err = reserve(&l->tree, &l->cap, l->n + 1);
    if (err) return err;
    follow(l); /* what has just become a loop */
    if (l->following && goes_on(l, access)) return 0;
    l->following = false;
    l->tree[l->n++] = *access;
    list_top(l, l->n - 1);
    if (fold_any(l)) follow(l);
    return 0;
}

int sluice_loops_finish(sluice_loops *l) { return l->following ? stop(l) : 0; }

int64_t sluice_loops_old(const sluice_loops *l, int64_t keep) {
    int32_t first = (int32_t)sluice_max(0, l->ntop - 3 * SLUICE_LOOPS_BODY);
    while (first < l->ntop - 1 && l->n - l->top[first] > keep) first++;
    return l->ntop ? l->top[first] : l->n;
}

void sluice_loops_drop(sluice_loops *l, int64_t n) {
    int32_t gone = 0;
    if (n == 0) return;
    while (gone < l->ntop && l->top[gone] < n) gone++;
    l->ntop -= gone;
    for (int32_t i = 0; i < l->ntop; i++) {
        l->top[i] = l->top[i + gone] - n;
        l->mark[i] = l->mark[i + gone];
        l->off[i] = l->off[i + gone];
    }
    l->n -= n;
    memmove(l->tree, l->tree + n, (size_t)l->n * sizeof *l->tree);
    l->spot.at -= n;
    for (int d = 0; d < SLUICE_TRACE_LOOPS; d++) l->spot.level[d].node -= n;
}

void sluice_loops_free(sluice_loops *l) {
    sluice_mem_free(l->tree);
    sluice_mem_free(l->scratch);
    *l = (sluice_loops){0};
}
