/* check.c: does a set keep the promises of set.h?
 *
 * Nothing in the node array is trusted, so it may come from anywhere. Lists must lie breadth-first, each directly
 * after the list of the nested family before it:
 *
 *     roots | list of the first nested family | list of the second | ...
 *
 * With that, one pass that compares each list with the family above it sees every node once, needs no memory and no
 * recursion, and proves the sums by induction: each is compared with sums one level below that are compared in turn.
 * The depth needs no check of its own: n >= 2 and step >= len make every block at least twice as long as those one
 * level below.
 */
#include "set/set.h"

/* The promises that a family keeps alone. *end and *size are set if it does. */
static const char *check_family(const sluice_node *f, int64_t *end, int64_t *size) {
    bool leaf = sluice_node_leaf(f);
    if (f->off < 0) return "starts before 0";
    if (f->n < 1) return "has no blocks";
    if (f->len < 1) return "has blocks of no bytes";
    if (f->step < f->len) return "has blocks that overlap";
    if (f->n == 1 && f->step != f->len) return "of one block has a step";
    if (leaf && f->n > 1 && f->step == f->len) return "has blocks that touch";
    if (!leaf && f->n == 1) return "of one block is nested";
    if (!sluice_mul(f->n - 1, f->step, end) || !sluice_add(*end, f->off, end) || !sluice_add(*end, f->len, end))
        return "passes 2^63-1";
    if (leaf ? f->isize != f->len : f->isize < 1 || f->isize >= f->len) return "has a wrong number of bytes in a block";
    *size = f->isize * f->n;
    return NULL;
}

/* The list of n nodes from `first`; *end and *size are the offset past its last byte and its bytes. */
static int check_list(const sluice_set *s, int32_t first, int32_t n, int64_t *end, int64_t *size, sluice_reason *why) {
    *end = *size = 0;
    for (int32_t i = first; i < first + n; i++) {
        const sluice_node *f = &s->node[i];
        int64_t fend, fsize;
        const char *wrong = check_family(f, &fend, &fsize);
        if (!wrong && f->off < *end) wrong = "starts before the end of its neighbour";
        if (!wrong && i > first && f->off == *end && f->n == 1 && f[-1].n == 1)
            wrong = "could be one block with its neighbour";
        if (!wrong && f->before != *size) wrong = "has a wrong number of bytes before it";
        if (wrong) return sluice_refuse(why, SLUICE_E_FORMAT, i, "family %d %s", i, wrong);
        *end = fend;
        *size += fsize;
    }
    return 0;
}

int sluice_set_check(const sluice_set *s, sluice_reason *why) {
    int64_t end, size;
    int32_t next = s->nroot;
    if (s->nroot < 0 || s->nnode < s->nroot || (s->nroot == 0) != (s->nnode == 0) || (s->nnode > 0 && !s->node))
        return sluice_refuse(why, SLUICE_E_FORMAT, -1, "%d families, %d of them roots", s->nnode, s->nroot);
    int error = check_list(s, 0, s->nroot, &end, &size, why);
    if (error) return error;
    if (size != s->size)
        return sluice_refuse(why, SLUICE_E_FORMAT, -1, "the set's size is %lld, its families have %lld bytes",
                             (long long)s->size, (long long)size);

    for (int32_t i = 0; i < s->nnode; i++) {
        const sluice_node *f = &s->node[i];
        if (i >= next) return sluice_refuse(why, SLUICE_E_FORMAT, i, "family %d belongs to no list", i);
        if (sluice_node_leaf(f)) {
            if (f->ninner != 0) return sluice_refuse(why, SLUICE_E_FORMAT, i, "family %d is whole but has a list", i);
            continue;
        }
        if (f->inner != next || f->ninner < 1 || f->ninner > s->nnode - next)
            return sluice_refuse(why, SLUICE_E_FORMAT, i, "family %d has its list in the wrong place", i);
        next += f->ninner;
        if ((error = check_list(s, f->inner, f->ninner, &end, &size, why))) return error;
        if (s->node[f->inner].off != 0 || end != f->len || size != f->isize)
            return sluice_refuse(why, SLUICE_E_FORMAT, i, "family %d does not fit its list", i);
    }
    return 0;
}
