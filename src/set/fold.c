/* fold.c: finding what repeats.
 *
 *     A B A B A B C   at distances d, d   ->   3 x {A B}, C
 *
 * At each piece the group length is chosen whose repetition covers most pieces; what is left goes through again, so
 * that rows fold into columns of rows. Single copies beside a family of such groups join it.
 *
 * Groups of up to SHORT pieces are tried one after the other. A longer one starts again where the same SHORT pieces in
 * a row come next, which a table of their hashes tells, and is compared only if the hashes of both copies agree. So a
 * list of m pieces costs O(m * SHORT) per pass, whatever the length of what repeats.
 */
#include "set/set.h"
#include <errno.h>
#include <string.h>

enum { SHORT = 32, TRIES = 4 }; /* of places where a long group may start again: inside it, it may repeat in part */

bool sluice_node_same(const sluice_shop *shop, const sluice_node *a, const sluice_node *b) {
    if (a->len != b->len || a->isize != b->isize || a->ninner != b->ninner) return false;
    if (a->inner == b->inner) return true;
    if (sluice_node_leaf(a) || sluice_node_leaf(b)) return false;
    for (int32_t i = 0; i < a->ninner; i++) {
        const sluice_node *x = &shop->done.node[a->inner + i], *y = &shop->done.node[b->inner + i];
        if (x->off != y->off || x->n != y->n || x->step != y->step || !sluice_node_same(shop, x, y)) return false;
    }
    return true;
}

static bool equal_piece(const sluice_shop *shop, const sluice_node *a, const sluice_node *b) {
    return a->n == b->n && a->step == b->step && sluice_node_same(shop, a, b);
}

/* How often the group of g pieces at p comes, up to end, with one distance. */
static int64_t repetitions(const sluice_shop *shop, const sluice_node *p, const sluice_node *end, int64_t g) {
    if (end - p < 2 * g) return 1;
    int64_t apart = p[g].off - p->off, r = 1;
    for (; end - p >= (r + 1) * g; r++)
        for (int64_t i = 0; i < g; i++) {
            const sluice_node *x = &p[(r - 1) * g + i], *y = x + g;
            if (y->off - x->off != apart || !equal_piece(shop, x, y)) return r;
        }
    return r;
}

/* Whether the k pieces at p are a copy of the list of nested family f, `by` bytes from its first block. */
static bool is_copy(const sluice_shop *shop, const sluice_node *p, const sluice_node *f, int64_t by) {
    for (int32_t i = 0; i < f->ninner; i++) {
        const sluice_node *inner = &shop->done.node[f->inner + i];
        if (p[i].off != f->off + by + inner->off || !equal_piece(shop, &p[i], inner)) return false;
    }
    return true;
}

/* Pieces right before and after a nested family that are one more copy of its list become blocks of it. */
static void absorb(sluice_shop *shop) {
    sluice_node *out = shop->out.node;
    int64_t n = shop->floor; /* what is kept ends here */
    for (int64_t i = shop->floor; i < shop->out.n; i++) {
        sluice_node f = out[i];
        if (!sluice_node_leaf(&f)) {
            while (n - shop->floor >= f.ninner && is_copy(shop, &out[n - f.ninner], &f, -f.step)) {
                n -= f.ninner;
                f.off -= f.step;
                f.n++;
            }
            while (shop->out.n - i > f.ninner && is_copy(shop, &out[i + 1], &f, f.n * f.step)) {
                i += f.ninner;
                f.n++;
            }
        }
        out[n++] = f;
    }
    shop->out.n = n;
}

/* What finds long groups in pieces [0, n): the hash of the first i, the power of the base that it takes to append i
 * more, and where the SHORT pieces from i on come next (n: nowhere). */
typedef struct finder {
    uint64_t *hash, *power;
    int64_t *next;
    int64_t n;
} finder;

static uint64_t mix(uint64_t h, int64_t x) {
    h = (h ^ (uint64_t)x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static uint64_t hash_of(const finder *x, int64_t from, int64_t n) {
    return x->hash[from + n] - x->hash[from] * x->power[n];
}

/* Fills in x->next through a table of slots that hold the last place seen, from the right. */
static int find_next(finder *x) {
    uint64_t slots = 1;
    while (slots < 2 * (uint64_t)x->n) slots *= 2;
    int64_t *table = sluice_mem_alloc(slots, sizeof *table);
    if (!table) return -ENOMEM;
    memset(table, -1, slots * sizeof *table);
    for (int64_t i = x->n - 1; i >= 0; i--) {
        x->next[i] = x->n;
        if (i + SHORT > x->n) continue;
        uint64_t h = hash_of(x, i, SHORT), at = mix(h, 0) & (slots - 1);
        while (table[at] >= 0 && hash_of(x, table[at], SHORT) != h) at = (at + 1) & (slots - 1);
        if (table[at] >= 0) x->next[i] = table[at];
        table[at] = i;
    }
    sluice_mem_free(table);
    return 0;
}

static void free_finder(finder *x) {
    sluice_mem_free(x->hash);
    sluice_mem_free(x->power);
    sluice_mem_free(x->next);
}

static int make_finder(finder *x, const sluice_node *p, int64_t n) {
    x->n = n;
    x->hash = sluice_mem_alloc((size_t)n + 1, sizeof *x->hash);
    x->power = sluice_mem_alloc((size_t)n + 1, sizeof *x->power);
    x->next = sluice_mem_alloc((size_t)n, sizeof *x->next);
    if (!x->hash || !x->power || !x->next) return -ENOMEM;
    x->hash[0] = 0, x->power[0] = 1;
    for (int64_t i = 0; i < n; i++) { /* a piece, and how far it is to the next */
        uint64_t h = mix(mix(mix(mix(1, p[i].len), p[i].isize), p[i].n), p[i].step);
        h = mix(h, i + 1 < n ? p[i + 1].off - p[i].off : 0);
        x->hash[i + 1] = x->hash[i] * 0xD1342543DE82EF95u + h;
        x->power[i + 1] = x->power[i] * 0xD1342543DE82EF95u;
    }
    return find_next(x);
}

typedef struct choice {
    int64_t times, group;
} choice;

static void consider(choice *best, const sluice_shop *shop, const sluice_node *p, const sluice_node *end, int64_t g) {
    int64_t r = repetitions(shop, p, end, g);
    /* Two single pieces always "repeat": that saves nothing and may spoil a longer row starting at the second. */
    if (r >= (g == 1 ? 3 : 2) && r * g > best->times * best->group) *best = (choice){r, g};
}

/* Tries the short groups. Where the second piece does not come again as far from the first, which is seldom if nothing
 * repeats, there is nothing to compare. Where r single pieces are a row, a group of less than r ends where the row
 * ends: to go on, what comes next would have to be like a piece of the row. */
static void consider_short(choice *best, const sluice_shop *shop, const sluice_node *p, const sluice_node *end) {
    if (end - p < 3) return; /* a group of one must come three times, one of two needs four pieces */
    const int64_t apart = p[1].off - p->off;
    for (int64_t g = 1; g <= SHORT && 2 * g <= end - p; g++)
        if (p[g + 1].off - p[g].off == apart && (best->group > 1 || best->times <= g)) consider(best, shop, p, end, g);
}

static void consider_long(choice *best, const sluice_shop *shop, const sluice_node *p, const finder *x, int64_t i) {
    int64_t again = i;
    for (int k = 0; k < TRIES; k++) {
        again = x->next[again];
        int64_t g = again - i;
        if (2 * g > x->n - i) break;
        if (g > SHORT && hash_of(x, i, g - 1) == hash_of(x, again, g - 1)) consider(best, shop, p + i, p + x->n, g);
    }
}

/* One pass over the pieces [from, to) of shop->out; the result is emitted behind them. */
static void pass(sluice_shop *shop, int64_t from, int64_t to) {
    finder x = {.n = 0};
    for (int64_t i = from; i < to && !shop->error;) {
        const sluice_node *p = &shop->out.node[i], *end = &shop->out.node[to];
        choice best = {1, 1};
        consider_short(&best, shop, p, end);
        if (best.times == 1 && to - i > 2 * SHORT) {
            if (x.n == 0) shop->error = make_finder(&x, &shop->out.node[from], to - from);
            if (!shop->error) consider_long(&best, shop, &shop->out.node[from], &x, i - from);
        }
        if (best.times == 1) {
            sluice_shop_emit(shop, *p);
            i++;
            continue;
        }
        int64_t apart = p[best.group].off - p->off;
        int64_t begun = sluice_shop_begin(shop);
        for (int64_t k = 0; k < best.group; k++) sluice_shop_emit(shop, shop->out.node[i + k]);
        sluice_list list = sluice_shop_seal(shop, begun);
        sluice_shop_emit_copies(shop, list, 0, apart, best.times);
        i += best.times * best.group;
    }
    free_finder(&x);
}

/* Also two pieces go through: a block that grew after it was emitted may now fit the family before it. */
void sluice_shop_fold(sluice_shop *shop) {
    for (int64_t n = shop->out.n - shop->floor; n > 1 && !shop->error;) {
        int64_t from = shop->floor, to = shop->out.n;
        shop->floor = to;
        pass(shop, from, to);
        int64_t left = shop->out.n - to;
        memmove(&shop->out.node[from], &shop->out.node[to], (size_t)left * sizeof(sluice_node));
        shop->out.n = from + left;
        shop->floor = from;
        absorb(shop);
        left = shop->out.n - from;
        if (left == n) break;
        n = left;
    }
}
