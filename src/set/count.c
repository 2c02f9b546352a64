/* count.c: how much two sets have in common, counted without making it.
 *
 * Two lists are walked side by side, and each two families that overlap are counted in the cheapest way they allow:
 *
 *   - A block against a family: bytes below its end less bytes below its start, two ranks.
 *   - A whole-block family of n blocks against any tree: sums of ranks along an arithmetic progression. A family with
 *     stride t turns the progression o, o + s, o + 2s, ... into the block numbers floor(x / t), whose sum has a closed
 *     form in O(log t) steps, and the places x mod t, which go on into the inner list: t / gcd(s, t) of them in a row
 *     are all multiples of the gcd (from some start), again a progression; what is left over is one per turn round t.
 *   - Two trees of strides s and t: blocks of one that lie lcm(s, t) apart see the same of the other, so that one of
 * each kind is counted.
 *
 * So the number of blocks does not matter, unless both sides are nested and their strides have no useful common
 * multiple. Then the blocks of the sparser side are visited, up to the budget.
 *
 * Pieces are counted the same way. A hole is the gap between two runs of a set. Bytes in common that follow each other
 * in both linear spaces are one piece, so with `starts` the offsets where runs start
 *
 *     pieces(a, b) = runs of a & b - holes equal in both
 *                  = |starts(a) & b| + |a & starts(b)| - |starts(a) & starts(b)| - |holes equal in both|
 *
 *     a  XXX....XXXX        the hole that both have makes no new piece: runs of a & b: 2, pieces: 1
 *     b   XX....XX
 *
 * and the last number is found by the walk that counts bytes, with whole blocks of holes in place of bytes.
 */
#include "set/set.h"

typedef unsigned __int128 wide; /* modulo 2^128: what is wanted is small, what comes in between need not be */

/* Sums over i = 0 ... n-1 of w, 2 i w and w^2, where w = floor((a i + b) / c). */
typedef struct sums {
    wide f, g, h;
} sums;

static wide third(wide x) { return x * (~(wide)0 / 3 * 2 + 1); } /* of a multiple of 3: times 3's inverse mod 2^128 */

/* Euclid's algorithm on the strip below the line: divide out the whole part, then exchange the axes. */
static sums floor_sums(wide n, wide a, wide b, wide c) {
    if (n == 0) return (sums){0, 0, 0};
    wide m = n - 1, qa = a / c, qb = b / c, top = (a % c * m + b % c) / c;
    wide pairs = m % 2 ? n / 2 * m : m / 2 * n; /* 0 + 1 + ... + m */
    wide squares = third(pairs * (2 * m + 1));  /* 0 + 1 + ... + m^2 */
    sums low = {0, 0, 0}, r;
    if (top > 0) {
        sums t = floor_sums(top, c, c - b % c - 1, a % c);
        low.f = m * top - t.f;
        low.g = top * m * (m + 1) - t.h - t.f;
        low.h = m * top * (top + 1) - t.g - 2 * t.f - low.f;
    }
    r.f = qa * pairs + qb * n + low.f;
    r.g = 2 * (qa * squares + qb * pairs) + low.g;
    r.h = qa * qa * squares + qb * qb * n + 2 * qa * qb * pairs + low.h + 2 * qb * low.f + qa * low.g;
    return r;
}

typedef struct job {
    bool holes; /* count blocks equal in both, not bytes */
    int64_t budget;
} job;

/* Families that follow each other, with the set that their inner lists are in. */
typedef struct row {
    const sluice_set *set;
    const sluice_node *f;
    int32_t n;
    int64_t base; /* added to their offsets */
} row;

/* Offsets o, o + s, ..., n of them. */
typedef struct steps {
    int64_t o, s, n;
} steps;

static row inner_of(const sluice_set *set, const sluice_node *f, int64_t base) {
    return (row){set, &set->node[f->inner], f->ninner, base};
}

static uint64_t sum_row(job *j, row r, steps x);

/* The sum of the ranks in a list of the places x mod t, less than t / gcd(s, t) of them: turn by turn. */
static uint64_t sum_turns(job *j, row inner, int64_t t, steps x) {
    uint64_t sum = 0;
    if (x.n > 0 && x.s > t - x.s) { /* backwards, it is the smaller steps */
        x.o = (int64_t)(((wide)x.o + (wide)x.s * (wide)(x.n - 1)) % (wide)t);
        x.s = t - x.s;
    }
    while (x.n > 0 && j->budget-- > 0) {
        int64_t n = sluice_min(x.n, (t - 1 - x.o) / x.s + 1);
        sum += sum_row(j, inner, (steps){x.o, x.s, n});
        x.o += (n - 1) * x.s - (t - x.s);
        x.n -= n;
    }
    return sum;
}

/* The same for any number: as many as make all multiples of the gcd are counted together, and if most of them are
 * there, those that are missing are taken off. */
static uint64_t sum_places(job *j, row inner, int64_t t, steps x) {
    x.o %= t, x.s %= t;
    if (x.s == 0) return (uint64_t)x.n * (uint64_t)sluice_rank_list(inner.set, inner.f, inner.n, x.o);
    int64_t apart = sluice_gcd(x.s, t), all = t / apart, left = x.n % all;
    bool most = left > all / 2;
    uint64_t sum = 0, times = (uint64_t)(x.n / all) + most;
    if (times) sum = times * sum_row(j, inner, (steps){x.o % apart, apart, all});
    if (!most) return sum + sum_turns(j, inner, t, (steps){x.o, x.s, left});
    int64_t next = (int64_t)(((wide)x.o + (wide)x.s * (wide)left) % (wide)t);
    return sum - sum_turns(j, inner, t, (steps){next, x.s, all - left});
}

/* The sum of the bytes of f, which is at f->off, below each of x. */
static uint64_t sum_family(job *j, const sluice_set *set, const sluice_node *f, steps x) {
    int64_t end = sluice_node_end(f), skip = x.o < f->off ? sluice_ceil_div(f->off - x.o, x.s) : 0;
    if (skip >= x.n) return 0;
    x.o += skip * x.s;
    x.n -= skip;
    int64_t n = x.o < end ? sluice_min(x.n, (end - 1 - x.o) / x.s + 1) : 0;
    uint64_t sum = (uint64_t)(x.n - n) * (uint64_t)sluice_node_size(f);
    x.o -= f->off;
    x.n = n;
    if (n == 0) return sum;
    wide o = (wide)x.o, s = (wide)x.s, t = (wide)f->step, len = (wide)f->len, k = (wide)n;
    sums u = floor_sums(k, s, o, t);
    if (!sluice_node_leaf(f))
        return sum + (uint64_t)u.f * (uint64_t)f->isize + sum_places(j, inner_of(set, f, 0), f->step, x);
    /* With u = floor(x / t) and v = floor((x + t - len) / t), which is u + 1 behind the block and u inside, the rank is
     * x - t u + len v - (x - t u) (v - u), and (v - u)^2 = v - u turns u v into squares. Twice that, and halved. */
    sums v = floor_sums(k, s, o + t - len, t);
    wide x2 = 2 * o * k + s * (k * (k - 1));
    wide twice = x2 - 2 * t * u.f + 2 * len * v.f - (2 * o * (v.f - u.f) + s * (v.g - u.g));
    twice -= t * (u.h - v.h + v.f - u.f);
    return sum + (uint64_t)(twice / 2);
}

/* The sum of the bytes of a list below each of x: family by family, or offset by offset if these are fewer. */
static uint64_t sum_row(job *j, row r, steps x) {
    uint64_t sum = 0;
    int32_t first = sluice_rank_first_after(r.f, r.n, x.o);
    int32_t stop = sluice_rank_first_after(r.f, r.n, x.o + (x.n - 1) * x.s);
    if (x.n <= stop - first + 1) {
        for (int64_t i = 0; i < x.n && j->budget-- > 0; i++)
            sum += (uint64_t)sluice_rank_list(r.set, r.f, r.n, x.o + i * x.s);
        return sum;
    }
    if (first == r.n) return (uint64_t)x.n * (uint64_t)(r.f[r.n - 1].before + sluice_node_size(&r.f[r.n - 1]));
    sum = (uint64_t)x.n * (uint64_t)r.f[first].before;
    for (int32_t i = first; i <= stop && i < r.n && j->budget-- > 0; i++) sum += sum_family(j, r.set, &r.f[i], x);
    return sum;
}

/* A family at its offset in the file. */
typedef struct family {
    const sluice_set *set;
    sluice_node f;
} family;

static int64_t rank_in(const family *a, int64_t x) {
    sluice_node f = a->f;
    f.before = 0;
    return sluice_rank_list(a->set, &f, 1, x);
}

static int64_t count_rows(job *j, row a, row b, int64_t lo, int64_t hi);

/* The whole blocks of a leaf in [lo, hi), which overlaps it. */
static sluice_node whole_blocks(sluice_node f, int64_t lo, int64_t hi) {
    int64_t first = lo > f.off ? sluice_ceil_div(lo - f.off, f.step) : 0;
    int64_t end = hi - f.off < f.len ? 0 : (hi - f.off - f.len) / f.step + 1;
    f.n = sluice_max(sluice_min(end, f.n) - first, 0);
    if (f.n > 0) f.off += first * f.step;
    return f;
}

/* Bytes in [lo, hi) of the leaf a that are in b. */
static int64_t count_leaf(job *j, const family *a, const family *b, int64_t lo, int64_t hi) {
    sluice_node f = whole_blocks(a->f, lo, hi);
    if (f.n == 0) { /* at most one block and a bit */
        int64_t start = lo - (lo - a->f.off) % a->f.step, stop = sluice_min(start + a->f.len, hi), sum = 0;
        if (lo < stop) sum += rank_in(b, stop) - rank_in(b, lo);
        if (hi - start > a->f.step) sum += rank_in(b, hi) - rank_in(b, start + a->f.step);
        return sum;
    }
    int64_t end = sluice_node_end(&f), sum = 0;
    if (lo < f.off - f.step + f.len && f.off > a->f.off) sum += rank_in(b, f.off - f.step + f.len) - rank_in(b, lo);
    if (hi - end > f.step - f.len) sum += rank_in(b, hi) - rank_in(b, end - f.len + f.step);
    sluice_node g = b->f;
    g.before = 0;
    row r = {b->set, &g, 1, 0};
    return sum +
           (int64_t)(sum_row(j, r, (steps){f.off + f.len, f.step, f.n}) - sum_row(j, r, (steps){f.off, f.step, f.n}));
}

/* Whole blocks in [lo, hi) that two leaves have in common. */
static int64_t count_equal(job *j, const family *a, const family *b, int64_t lo, int64_t hi) {
    if (a->f.len != b->f.len) return 0;
    sluice_node f = whole_blocks(a->f, lo, hi), g = whole_blocks(b->f, lo, hi);
    if (f.n == 0 || g.n == 0) return 0;
    g.len = g.isize = 1;
    g.before = 0;
    row r = {b->set, &g, 1, 0};
    return (int64_t)(sum_row(j, r, (steps){f.off + 1, f.step, f.n}) - sum_row(j, r, (steps){f.off, f.step, f.n}));
}

/* What block i of a, within [lo, hi), has in common with b. */
static int64_t count_block(job *j, const family *a, int64_t i, const family *b, int64_t lo, int64_t hi) {
    int64_t start = a->f.off + i * a->f.step;
    row other = {b->set, &b->f, 1, 0};
    sluice_node one = sluice_node_blocks(start, a->f.len, a->f.len, 1);
    row mine = sluice_node_leaf(&a->f) ? (row){a->set, &one, 1, 0} : inner_of(a->set, &a->f, start);
    lo = sluice_max(lo, start), hi = sluice_min(hi, start + a->f.len);
    return lo < hi ? count_rows(j, mine, other, lo, hi) : 0;
}

/* Kinds of blocks of a that see different parts of b. */
static int64_t kinds(const family *a, const family *b) { return b->f.step / sluice_gcd(a->f.step, b->f.step); }

/* Block by block of a, of those that see the same of b only one. */
static int64_t count_blocks(job *j, const family *a, const family *b, int64_t lo, int64_t hi) {
    const sluice_node *f = &a->f;
    int64_t first = (lo - f->off) / f->step, last = (hi - 1 - f->off) / f->step, sum = 0;
    int64_t many = kinds(a, b);
    if (first < last && f->off + first * f->step < lo) sum += count_block(j, a, first++, b, lo, hi);
    if (first < last && f->off + last * f->step + f->len > hi) sum += count_block(j, a, last--, b, lo, hi);
    int64_t n = last - first + 1;
    for (int64_t i = 0; i < sluice_min(n, many) && j->budget > 0; i++)
        sum += ((n - 1 - i) / many + 1) * count_block(j, a, first + i, b, lo, hi);
    return sum;
}

static bool one_period(const sluice_node *f, int64_t lo, int64_t hi) {
    return (lo - f->off) / f->step == (hi - 1 - f->off) / f->step;
}

static int64_t count_families(job *j, const family *a, const family *b, int64_t lo, int64_t hi) {
    lo = sluice_max(lo, sluice_max(a->f.off, b->f.off));
    hi = sluice_min(hi, sluice_min(sluice_node_end(&a->f), sluice_node_end(&b->f)));
    if (lo >= hi || j->budget-- <= 0) return 0;
    bool leaf_a = sluice_node_leaf(&a->f), leaf_b = sluice_node_leaf(&b->f);
    if (j->holes && leaf_a && leaf_b) return count_equal(j, a, b, lo, hi);
    if (!j->holes && leaf_a) return count_leaf(j, a, b, lo, hi);
    if (!j->holes && leaf_b) return count_leaf(j, b, a, lo, hi);
    if (!leaf_a && one_period(&a->f, lo, hi)) return count_block(j, a, (lo - a->f.off) / a->f.step, b, lo, hi);
    if (!leaf_b && one_period(&b->f, lo, hi)) return count_block(j, b, (lo - b->f.off) / b->f.step, a, lo, hi);
    if (a->f.n == 1 || b->f.n == 1) return 0; /* a hole longer than any of the other's */
    int64_t many_a = sluice_min((hi - lo) / a->f.step, kinds(a, b));
    int64_t many_b = sluice_min((hi - lo) / b->f.step, kinds(b, a));
    return many_a <= many_b ? count_blocks(j, a, b, lo, hi) : count_blocks(j, b, a, lo, hi);
}

static int64_t count_rows(job *j, row a, row b, int64_t lo, int64_t hi) {
    int32_t i = sluice_rank_first_after(a.f, a.n, lo - a.base), k = sluice_rank_first_after(b.f, b.n, lo - b.base);
    int64_t sum = 0;
    while (i < a.n && k < b.n && j->budget > 0) {
        family x = {a.set, a.f[i]}, y = {b.set, b.f[k]};
        x.f.off += a.base, y.f.off += b.base;
        if (x.f.off >= hi || y.f.off >= hi) break;
        int64_t end_x = sluice_node_end(&x.f), end_y = sluice_node_end(&y.f);
        if (x.f.off < end_y && y.f.off < end_x)
            sum += count_families(j, &x, &y, lo, hi);
        else
            j->budget--;
        if (end_x <= end_y)
            i++;
        else
            k++;
    }
    return sum;
}

static int count_sets(int64_t *n, const sluice_set *a, const sluice_set *b, bool holes) {
    job j = {holes, sluice_work_limit(SLUICE_SET_BUDGET) + 16 * ((int64_t)a->nnode + b->nnode)};
    int64_t lo = sluice_max(sluice_set_lo(a), sluice_set_lo(b)), hi = sluice_min(sluice_set_hi(a), sluice_set_hi(b));
    *n = lo < hi ? count_rows(&j, (row){a, a->node, a->nroot, 0}, (row){b, b->node, b->nroot, 0}, lo, hi) : 0;
    return j.budget > 0 ? 0 : SLUICE_E_COMPLEX;
}

int sluice_count_bytes(int64_t *bytes, const sluice_set *a, const sluice_set *b) {
    return count_sets(bytes, a, b, false);
}

/* Emits the first offset behind each block. */
static void emit_ends(sluice_shop *shop, sluice_list list) {
    for (int32_t i = 0; i < list.n && !shop->error; i++) {
        sluice_node f = shop->done.node[list.first + i];
        f.off += list.base;
        if (sluice_node_leaf(&f)) {
            sluice_shop_emit(shop, sluice_node_blocks(f.off + f.len, 1, f.step, f.n));
        } else {
            int64_t begun = sluice_shop_begin(shop);
            emit_ends(shop, sluice_node_inner(&f));
            sluice_list ends = sluice_shop_seal(shop, begun);
            sluice_shop_emit_copies(shop, ends, 0, f.step, f.n);
        }
    }
}

int sluice_outline_make(sluice_outline *out, const sluice_set *s) {
    int64_t lo = sluice_set_lo(s), hi = sluice_set_hi(s);
    int err = sluice_set_block(&out->holes, lo, hi - lo);
    if (!err) err = sluice_set_subtract(&out->holes, &out->holes, s);
    if (err) return err;
    sluice_shop shop;
    sluice_shop_open(&shop, &out->holes, NULL);
    sluice_list list = sluice_shop_take(&shop, &out->holes);
    int64_t begun = sluice_shop_begin(&shop);
    if (s->nroot) sluice_shop_emit_block(&shop, lo, 1);
    emit_ends(&shop, list);
    return sluice_shop_close(&shop, &out->starts, sluice_shop_seal(&shop, begun));
}

void sluice_outline_free(sluice_outline *o) {
    sluice_set_free(&o->holes);
    sluice_set_free(&o->starts);
}

/* Whether some hole of a is as long as some hole of b, as far as a short look can tell. */
static bool widths_meet(const sluice_set *a, const sluice_set *b) {
    enum { MANY = 64 };
    if (a->nnode > MANY || b->nnode > MANY) return true;
    for (int32_t i = 0; i < a->nnode; i++)
        for (int32_t k = 0; k < b->nnode; k++)
            if (sluice_node_leaf(&a->node[i]) && sluice_node_leaf(&b->node[k]) && a->node[i].len == b->node[k].len)
                return true;
    return false;
}

int sluice_count_pieces(int64_t *pieces, const sluice_set *a, const sluice_outline *oa, const sluice_set *b,
                        const sluice_outline *ob) {
    int64_t in_b, in_a, both, equal = 0;
    int err = sluice_count_bytes(&in_b, &oa->starts, b);
    if (!err) err = sluice_count_bytes(&in_a, a, &ob->starts);
    if (!err) err = sluice_count_bytes(&both, &oa->starts, &ob->starts);
    if (!err && widths_meet(&oa->holes, &ob->holes)) err = count_sets(&equal, &oa->holes, &ob->holes, true);
    if (!err) *pieces = in_b + in_a - both - equal;
    return err;
}
