/* price.c: see price.h. */
#include "io/price.h"
#include "io/collective.h"
#include "set/set.h"
#include <errno.h>
#include <string.h>

enum { LINE = 64, NEAR = 4 * LINE };

/* ---- Rates ---- */

enum {
    NEARBY = 256 << 10, /* bytes that a near cache holds */
    FAR = 16 << 20,     /* and that it does not */
    APART = 4,          /* pieces lie so many lengths apart */
    TRIES = 5           /* of which the fastest counts: whatever disturbs only adds */
};

typedef struct trial {
    sluice_side dst, src;
    int64_t n;
} trial;

static double time_of(const trial *t) {
    double best = 1e9;
    for (int i = 0; i < TRIES; i++) {
        const double start = sluice_clock_now();
        sluice_move(&t->dst, &t->src, t->n);
        const double took = sluice_clock_now() - start;
        if (took < best) best = took;
    }
    return best;
}

/* Pieces of len bytes in near memory. */
static int try_pieces(double *out, unsigned char *buf, int64_t len, sluice_going how) {
    const int64_t n = NEARBY / 2 / APART / len;
    sluice_set apart = SLUICE_SET_EMPTY;
    const int err = sluice_set_falls(&apart, 0, len, APART * len, n);
    if (err) return err;
    const trial t = {{buf, how == SLUICE_GATHER ? NULL : &apart, 0, 0},
                     {buf + NEARBY / 2, how == SLUICE_SCATTER ? NULL : &apart, 0, 0},
                     n * len};
    *out = time_of(&t) / (double)n;
    sluice_set_free(&apart);
    return 0;
}

/* Lines of which a few bytes are wanted, one after the other, of memory that was passed before. */
static int try_again(sluice_rates *r, unsigned char *buf) {
    enum { LEN = 8, LINES = FAR / 4 / LINE };
    sluice_set some = SLUICE_SET_EMPTY;
    const int err = sluice_set_falls(&some, 0, LEN, LINE, LINES);
    if (err) return err;
    const trial t = {{buf, NULL, 0, 0}, {buf + NEARBY, &some, 0, 0}, some.size};
    r->again = time_of(&t) / LINES;
    sluice_set_free(&some);
    return 0;
}

/* Rows of pieces with nothing regular in a row, other ones on the two sides: what a family of one costs beside its
 * bytes, and a node of the projection of one on the other. */
static int try_families(sluice_rates *r, unsigned char *buf) {
    enum { PIECES = 24, LEN = 8, ROWS = 32, ROW = PIECES * LEN * 8 };
    sluice_run run[2][PIECES];
    sluice_set set[2] = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY}, image = SLUICE_SET_EMPTY;
    int err = 0;
    for (int s = 0; s < 2 && !err; s++) {
        for (int i = 0; i < PIECES; i++)
            run[s][i] =
                (sluice_run){(int64_t)i * LEN * 4 + (i * i * (s + 3)) % (2 * LEN), LEN + (i * 5 + s * 3) % 3 - 1};
        run[s][PIECES - 1].len = LEN;
        err = sluice_set_runs(&set[s], run[s], PIECES, NULL);
        if (!err) err = sluice_set_repeat(&set[s], &set[s], 0, ROW, ROWS);
    }
    if (!err) {
        const int64_t size = sluice_min(set[0].size, set[1].size);
        const trial t = {{buf, &set[0], 0, 0}, {buf + NEARBY / 2, &set[1], 0, 0}, size};
        const double each = time_of(&t) / (ROWS * PIECES), even = r->piece[SLUICE_REPLACE][3];
        r->family = each > even ? each - even : 0;
        const double start = sluice_clock_now();
        err = sluice_set_project(&image, &set[0], &set[1]);
        r->node = (sluice_clock_now() - start) / (set[0].nnode + set[1].nnode);
    }
    sluice_set_free(&set[0]);
    sluice_set_free(&set[1]);
    sluice_set_free(&image);
    return err;
}

int sluice_rates_measure(sluice_rates *out) {
    unsigned char *buf = sluice_mem_alloc(NEARBY + 2 * FAR, 1);
    sluice_rates r;
    if (!buf) return -ENOMEM;
    memset(buf, 1, NEARBY + 2 * FAR);
    int err = 0;
    for (int how = 0; how < SLUICE_GOINGS; how++)
        for (int k = 0; k < SLUICE_RATES_LENGTHS && !err; k++)
            err = try_pieces(&r.piece[how][k], buf, (int64_t)1 << k, (sluice_going)how);
    const trial lines = {{buf, NULL, 0, 0}, {buf + NEARBY + FAR, NULL, 0, 0}, FAR};
    r.line = time_of(&lines) / (FAR / LINE);
    if (!err) err = try_again(&r, buf);
    if (!err) err = try_families(&r, buf);
    sluice_mem_free(buf);
    if (!err) *out = r;
    return err;
}

/* ---- Prices ---- */

/* Lines that are fetched for the runs of a set. */
static double lines_of(const sluice_set *s) {
    const int64_t runs = sluice_set_nruns(s), span = sluice_set_hi(s) - sluice_set_lo(s), gaps = span - s->size;
    if (gaps <= NEAR * (runs - 1)) return (double)span / LINE + 1;
    return (double)s->size / LINE + 2.0 * (double)runs;
}

/* Families of leaves that a cursor meets in a list. */
static double families_of(const sluice_set *s, const sluice_node *list, int32_t n) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += sluice_node_leaf(&list[i]) ? 1
                                          : (double)list[i].n * families_of(s, &s->node[list[i].inner], list[i].ninner);
    return sum;
}

/* A piece of any length: between those that were tried, in proportion; beyond them, by bytes. */
static double piece_of(const double *rate, double len) {
    int k = 0;
    while (k < SLUICE_RATES_LENGTHS - 2 && len > (double)(2 << k)) k++;
    const double lo = (double)(1 << k);
    return rate[k] + (rate[k + 1] - rate[k]) * (len - lo) / lo;
}

static double price_part(const sluice_rates *r, bool write, const sluice_io_part *p) {
    const sluice_set *mem = p->mem.set;
    const int64_t in_file = sluice_set_nruns(p->file), in_mem = mem ? sluice_set_nruns(mem) : 1;
    const int64_t pieces = sluice_max(in_file, in_mem), from = write ? in_mem : in_file, to = write ? in_file : in_mem;
    const sluice_going how = 2 * to <= from ? SLUICE_GATHER : 2 * from <= to ? SLUICE_SCATTER : SLUICE_REPLACE;
    const double lines = (double)p->file->size / LINE, more = lines_of(p->file) - lines;
    const double in_a = families_of(p->file, p->file->node, p->file->nroot),
                 in_b = mem ? families_of(mem, mem->node, mem->nroot) : 0;
    /* Long runs are written by calls, for which pieces of memory are collected in a buffer first. */
    const int copies = write && sluice_io_long_runs(p->file) && !sluice_io_straight(p) ? 2 : 1;
    return copies * lines * r->line + (more > 0 ? more : 0) * r->again +
           (double)pieces * piece_of(r->piece[how], (double)p->file->size / (double)pieces) +
           (in_a > in_b ? in_a : in_b) * r->family + (double)(p->file->nnode + (mem ? mem->nnode : 0)) * r->node;
}

double sluice_price(const sluice_rates *r, bool write, const sluice_io_part *part, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        if (part[i].file->size) sum += price_part(r, write, &part[i]);
    return sum;
}
