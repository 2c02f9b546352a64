/* ops.c: a program of set operations, one byte an operation and bytes for its operands, on four registers over the
 * small universe [0, 512). Each register has a byte array beside it that does the same by definition; after every
 * operation the two must agree in everything that can be asked. */
#include "base/base.h"
#include "must.h"
#include "sluice_set.h"
#include "support/oracle.h"
#include <string.h>

enum { UNIVERSE = 512, REGISTERS = 4, MAX_FALLS = 64 };

typedef struct program {
    const uint8_t *data;
    size_t size, at;
} program;

typedef struct reg {
    sluice_set set;
    oracle o;
} reg;

/* The next operand, in [lo, hi]; lo after the end. */
static int64_t take(program *p, int64_t lo, int64_t hi) {
    int64_t v = p->at < p->size ? p->data[p->at++] : 0;
    if (hi - lo > 255) v = v << 8 | (p->at < p->size ? p->data[p->at++] : 0);
    return lo + v % (hi - lo + 1);
}

/* Membership and rank at all offsets, everything else where runs start and end. */
static void compare(const reg *r) {
    const sluice_set *s = &r->set;
    MUST(!sluice_set_check(s, NULL));
    MUST(s->size == oracle_size(&r->o) && sluice_set_nruns(s) == oracle_nruns(&r->o));
    MUST(sluice_set_lo(s) == oracle_lo(&r->o) && sluice_set_hi(s) == oracle_hi(&r->o));
    int64_t rank = 0, end = 0;
    for (int64_t x = 0; x < UNIVERSE; x++) {
        MUST(sluice_set_contains(s, x) == r->o.in[x] && sluice_set_rank(s, x) == rank);
        rank += r->o.in[x];
    }
    sluice_cursor c;
    sluice_run got, want;
    rank = 0;
    for (sluice_cursor_init(&c, s); oracle_run(&r->o, end, &want); end = want.off + want.len, rank += want.len) {
        int64_t last = want.off + want.len - 1;
        MUST(sluice_cursor_run(&c, &got) && got.off == want.off && got.len == want.len);
        MUST(sluice_set_select(s, rank) == want.off && sluice_set_select(s, rank + want.len - 1) == last);
        MUST(sluice_set_next(s, end) == want.off && sluice_set_next(s, last) == last);
        MUST(sluice_set_prev(s, want.off - 1) == (end > 0 ? end - 1 : -1) && sluice_set_prev(s, last) == last);
    }
    MUST(!sluice_cursor_run(&c, &got) && sluice_set_select(s, rank) == -1 && sluice_set_next(s, end) == -1);
    MUST(sluice_set_prev(s, INT64_MAX) == end - 1);
}

/* A tree of families that stay inside [0, extent) but may break any other rule. */
static const sluice_falls_list *tree(program *p, sluice_falls *falls, sluice_falls_list *list, int *nfalls, int *nlists,
                                     int64_t extent, int depth) {
    sluice_falls local[4];
    int n = 0, wanted = (int)take(p, 0, 3);
    for (; n < wanted && *nfalls < MAX_FALLS - 16; n++) {
        sluice_falls f = {.off = take(p, 0, extent - 1)};
        f.len = take(p, 0, sluice_min(extent - f.off, 63));
        f.step = take(p, 0, 63);
        f.n = take(p, 0, 15);
        if (f.n > 1 && f.step > 0) f.n = sluice_min(f.n, (extent - f.off - f.len) / f.step + 1);
        if (f.len > 1 && depth < 4 && take(p, 0, 1)) f.inner = tree(p, falls, list, nfalls, nlists, f.len, depth + 1);
        local[n] = f;
    }
    sluice_falls_list *out = &list[(*nlists)++];
    *out = (sluice_falls_list){n, falls + *nfalls};
    memcpy(falls + *nfalls, local, (size_t)n * sizeof *local);
    *nfalls += n;
    return out;
}

static void op_build(program *p, reg *r) {
    sluice_falls falls[MAX_FALLS];
    sluice_falls_list list[MAX_FALLS];
    int nfalls = 0, nlists = 0;
    const sluice_falls_list *root = tree(p, falls, list, &nfalls, &nlists, UNIVERSE, 0);
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    oracle o;
    oracle_init(&o, UNIVERSE);
    int error = sluice_set_build(&s, root, &why);
    MUST((error == 0) == oracle_list(&o, root) && error == why.error);
    if (error) {
        oracle_free(&o);
        return;
    }
    sluice_set_free(&r->set);
    oracle_free(&r->o);
    *r = (reg){s, o};
}

static void op_runs(program *p, reg *r, const reg *a) {
    sluice_run run[UNIVERSE];
    int64_t n = 0, x = 0, most = take(p, 1, 40); /* long runs in pieces that touch */
    for (; oracle_run(&a->o, x, &run[n]); x = run[n].off + run[n].len, n++) run[n].len = sluice_min(run[n].len, most);
    MUST(!sluice_set_runs(&r->set, run, n, NULL));
    if (r != a) memcpy(r->o.in, a->o.in, UNIVERSE);
}

static void op_pack(reg *r, const reg *a) {
    int64_t len = sluice_set_pack(&a->set, NULL, 0);
    uint8_t *form = malloc((size_t)len);
    MUST(form && sluice_set_pack(&a->set, form, (size_t)len) == len);
    MUST(!sluice_set_unpack(&r->set, form, (size_t)len, NULL, NULL));
    if (r != a) memcpy(r->o.in, a->o.in, UNIVERSE);
    free(form);
}

static void op_print(reg *r, const reg *a) {
    int64_t len = sluice_set_print(&a->set, NULL, 0);
    char *text = malloc((size_t)len + 1);
    MUST(text && sluice_set_print(&a->set, text, (size_t)len + 1) == len);
    MUST(!sluice_set_parse(&r->set, text, NULL));
    if (r != a) memcpy(r->o.in, a->o.in, UNIVERSE);
    free(text);
}

/* The members in ascending order; how many there are. */
static int64_t members(const reg *r, int64_t *at) {
    int64_t n = 0;
    for (int64_t x = 0; x < UNIVERSE; x++)
        if (r->o.in[x]) at[n++] = x;
    return n;
}

static void op_move(program *p, const reg *a, const reg *b) {
    uint8_t shaped[UNIVERSE], packed[UNIVERSE] = {0}, want[UNIVERSE] = {0};
    int64_t lo = take(p, 0, UNIVERSE), hi = take(p, lo, UNIVERSE);
    for (int i = 0; i < UNIVERSE; i++) shaped[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
    int64_t n = sluice_gather(packed, shaped + lo, &a->set, lo, hi);
    MUST(n == oracle_gather(want, shaped + lo, &a->o, lo, hi) && !memcmp(packed, want, UNIVERSE));

    uint8_t back[UNIVERSE] = {0}, back_want[UNIVERSE] = {0};
    MUST(sluice_scatter(back + lo, packed, &a->set, lo, hi) == n);
    MUST(oracle_scatter(back_want + lo, packed, &a->o, lo, hi) == n && !memcmp(back, back_want, UNIVERSE));

    /* a to b, from ranks i and j on. */
    int64_t at_a[UNIVERSE], at_b[UNIVERSE], na = members(a, at_a), nb = members(b, at_b), k;
    int64_t i = take(p, 0, 64), j = take(p, 0, 64), most = take(p, 0, UNIVERSE);
    memset(back, 0, UNIVERSE);
    memset(back_want, 0, UNIVERSE);
    n = sluice_move(&(sluice_side){back, &b->set, 0, j}, &(sluice_side){shaped, &a->set, 0, i}, most);
    for (k = 0; k < most && i + k < na && j + k < nb; k++) back_want[at_b[j + k]] = shaped[at_a[i + k]];
    MUST(n == k && !memcmp(back, back_want, UNIVERSE));

    sluice_pair pair;
    sluice_piece piece;
    sluice_pair_init(&pair, &a->set, &b->set);
    sluice_pair_seek(&pair, i);
    for (k = i; sluice_pair_next(&pair, &piece);)
        for (int64_t q = 0; q < piece.len; q++, k++)
            MUST(k < na && k < nb && at_a[k] == piece.a + q && at_b[k] == piece.b + q);
    MUST(k == sluice_max(i, sluice_min(na, nb)));
}

static sluice_element element(program *p, const reg *a) {
    int64_t hi = sluice_set_hi(&a->set);
    return (sluice_element){&a->set, sluice_max(hi, 1) + take(p, 0, 20), take(p, 0, 100)};
}

static void op_element(program *p, reg *r, const reg *a) {
    sluice_element e = element(p, a);
    oracle_element o = {a->o, e.period, e.disp};
    int64_t lo = take(p, 0, UNIVERSE), hi = take(p, lo, UNIVERSE), rank = 0;
    for (int64_t x = 0; x < UNIVERSE; x++) {
        bool in = oracle_element_contains(&o, x);
        MUST(sluice_element_rank(&e, x) == rank);
        MUST(sluice_element_map(&e, x) == (in ? rank : -1));
        MUST(sluice_element_next(&e, x) == (a->set.size ? rank : -1));
        MUST(sluice_element_prev(&e, x) == (in ? rank : rank - 1));
        if (in) MUST(sluice_element_unmap(&e, rank) == x);
        rank += in;
    }
    oracle cut;
    oracle_init(&cut, UNIVERSE);
    for (int64_t x = lo; x < hi; x++) cut.in[x] = (unsigned char)oracle_element_contains(&o, x);
    MUST(!sluice_element_cut(&r->set, &e, lo, hi));
    oracle_free(&r->o);
    r->o = cut;
}

/* A register cut short, so that common periods are small. */
static reg shorter(program *p, const reg *a) {
    reg r = {SLUICE_SET_EMPTY, {0, NULL}};
    int64_t n = take(p, 1, 20);
    oracle_init(&r.o, UNIVERSE);
    oracle_cut(&r.o, &a->o, 0, n);
    MUST(!sluice_set_cut(&r.set, &a->set, 0, n));
    return r;
}

/* What two elements share, and one as a view of the other. */
static void op_elements(program *p, const reg *a, const reg *b) {
    reg ra = shorter(p, a), rb = shorter(p, b);
    sluice_element ea = element(p, &ra), eb = element(p, &rb), e;
    oracle_element oa = {ra.o, ea.period, ea.disp}, ob = {rb.o, eb.period, eb.disp};
    sluice_common c = {0};
    MUST(!sluice_element_intersect(&c, &ea, &eb));
    MUST(c.disp == sluice_max(ea.disp, eb.disp) && c.period == sluice_lcm(ea.period, eb.period));
    MUST(!sluice_set_check(&c.set, NULL) && !sluice_set_check(&c.proj1, NULL) && !sluice_set_check(&c.proj2, NULL));
    int64_t k = 0, ya = oracle_element_rank(&oa, c.disp), yb = oracle_element_rank(&ob, c.disp), pieces = 0;
    bool on = false; /* the last byte of either was of both */
    for (int64_t x = 0; x < c.period; x++) {
        bool in_a = oracle_element_contains(&oa, c.disp + x), in_b = oracle_element_contains(&ob, c.disp + x);
        MUST(sluice_set_contains(&c.set, x) == (in_a && in_b));
        if (in_a && in_b) {
            MUST(sluice_set_select(&c.proj1, k) == ya && sluice_set_select(&c.proj2, k) == yb);
            k++;
            pieces += !on;
        }
        if (in_a || in_b) on = in_a && in_b;
        ya += in_a;
        yb += in_b;
    }
    MUST(k == c.set.size && k == c.proj1.size && k == c.proj2.size && pieces == c.segments);
    sluice_common_free(&c);

    sluice_set both = SLUICE_SET_EMPTY;
    int error = sluice_element_compose(&both, &e, &ea, &eb);
    MUST(error == (ea.set->size ? 0 : SLUICE_E_ARGUMENT) && !sluice_set_check(&both, NULL));
    ya = yb = 0;
    for (int64_t x = 0; !error && x < UNIVERSE; x++) {
        bool in_a = oracle_element_contains(&oa, x), in_b = in_a && oracle_element_contains(&ob, ya);
        MUST(sluice_element_map(&e, x) == (in_b ? yb : -1));
        ya += in_a;
        yb += in_b;
    }
    sluice_set_free(&both);
    sluice_set_free(&ra.set);
    sluice_set_free(&rb.set);
    oracle_free(&ra.o);
    oracle_free(&rb.o);
}

/* Operations of two registers whose oracle looks the same. */
typedef int set_op(sluice_set *out, const sluice_set *a, const sluice_set *b);
typedef void oracle_op(oracle *out, const oracle *a, const oracle *b);
static const struct {
    set_op *set;
    oracle_op *oracle;
} binary[] = {
    {sluice_set_union, oracle_union},       {sluice_set_intersect, oracle_intersect},
    {sluice_set_subtract, oracle_subtract}, {sluice_set_project, oracle_project},
    {sluice_set_embed, oracle_embed},
};

static void op_binary(int which, reg *r, const reg *a, const reg *b) {
    oracle o;
    oracle_init(&o, UNIVERSE);
    binary[which].oracle(&o, &a->o, &b->o);
    MUST(!binary[which].set(&r->set, &a->set, &b->set));
    oracle_free(&r->o);
    r->o = o;
}

/* One block, one family, a shift, a cut or copies, kept inside the universe. */
static void op_simple(int which, program *p, reg *r, const reg *a) {
    int64_t hi = sluice_set_hi(&a->set), off = take(p, 0, UNIVERSE - 1), len = take(p, 1, UNIVERSE - off), step, n, i;
    oracle o;
    oracle_init(&o, UNIVERSE);
    switch (which) {
    case 0:
        len -= take(p, 0, 1);
        MUST(!sluice_set_block(&r->set, off, len) && oracle_block(&o, off, len));
        break;
    case 1:
        len = len % 32 + 1;
        step = len + take(p, 0, 63);
        n = take(p, 0, (UNIVERSE - sluice_min(off, UNIVERSE - len) - len) / step + 1);
        off = sluice_min(off, UNIVERSE - len);
        for (i = 0; i < n; i++) MUST(oracle_block(&o, off + i * step, len));
        MUST(!sluice_set_falls(&r->set, off, len, step, n));
        break;
    case 2:
        off = take(p, 0, 1) ? off % (UNIVERSE - hi + 1) : -(off % (sluice_set_lo(&a->set) + 1));
        oracle_shift(&o, &a->o, off);
        MUST(!sluice_set_shift(&r->set, &a->set, off));
        break;
    case 3:
        oracle_cut(&o, &a->o, off, off + len);
        MUST(!sluice_set_cut(&r->set, &a->set, off, off + len));
        break;
    default:
        off %= UNIVERSE - hi + 1;
        step = take(p, 0, 63);
        n = take(p, 0, step ? (UNIVERSE - hi - off) / step + 1 : 3);
        oracle_repeat(&o, &a->o, off, step, n);
        MUST(!sluice_set_repeat(&r->set, &a->set, off, step, n));
    }
    oracle_free(&r->o);
    r->o = o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    program p = {data, size, 0};
    reg regs[REGISTERS];
    for (int i = 0; i < REGISTERS; i++) {
        regs[i].set = (sluice_set)SLUICE_SET_EMPTY;
        oracle_init(&regs[i].o, UNIVERSE);
    }
    while (p.at < p.size) {
        int op = (int)take(&p, 0, 17), which = (int)take(&p, 0, 63);
        reg *r = &regs[which & 3], *a = &regs[which >> 2 & 3], *b = &regs[which >> 4];
        if (op < 5)
            op_simple(op, &p, r, a);
        else if (op < 10)
            op_binary(op - 5, r, a, b);
        else if (op == 10)
            op_runs(&p, r, a);
        else if (op == 11)
            op_pack(r, a);
        else if (op == 12)
            op_print(r, a);
        else if (op == 13)
            op_move(&p, a, b);
        else if (op == 14)
            op_element(&p, r, a);
        else if (op == 15)
            op_elements(&p, a, b);
        else
            op_build(&p, r);
        compare(r);
        MUST(sluice_set_equal(&r->set, &a->set) == oracle_equal(&r->o, &a->o));
    }
    for (int i = 0; i < REGISTERS; i++) {
        sluice_set_free(&regs[i].set);
        oracle_free(&regs[i].o);
    }
    MUST(sluice_mem_live() == 0);
    return 0;
}
