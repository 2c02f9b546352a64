/* cursor.c: walking the runs of a set.
 *
 * The cursor keeps, for each level from a root down to a leaf, the family, the block of it, and where the family's
 * list starts. Going on is an increment at the lowest level, with a carry to the levels above, like a clock.
 */
#include "set/set.h"

static const sluice_node *leaf(const sluice_cursor *c) { return &c->set->node[c->level[c->depth - 1].node]; }

/* Where the current block of the lowest level starts. */
static int64_t block_start(const sluice_cursor *c) {
    const sluice_node *f = leaf(c);
    return c->level[c->depth - 1].base + f->off + c->level[c->depth - 1].i * f->step;
}

/* Enters the list [node, end) at its beginning, down to a leaf. */
static void descend(sluice_cursor *c, int32_t node, int32_t end, int64_t base) {
    for (;;) {
        const sluice_node *f = &c->set->node[node];
        c->level[c->depth].i = 0;
        c->level[c->depth].base = base;
        c->level[c->depth].node = node;
        c->level[c->depth].end = end;
        c->depth++;
        if (sluice_node_leaf(f)) return;
        base += f->off;
        node = f->inner;
        end = node + f->ninner;
    }
}

/* To the next block; n blocks of the current family are done. */
static void advance(sluice_cursor *c, int64_t n) {
    c->in = 0;
    while (c->depth > 0) {
        int d = c->depth - 1;
        const sluice_node *f = &c->set->node[c->level[d].node];
        if ((c->level[d].i += n) < f->n) {
            if (!sluice_node_leaf(f))
                descend(c, f->inner, f->inner + f->ninner, c->level[d].base + f->off + c->level[d].i * f->step);
            return;
        }
        if (++c->level[d].node < c->level[d].end) {
            int32_t node = c->level[d].node, end = c->level[d].end;
            c->depth = d;
            descend(c, node, end, c->level[d].base);
            return;
        }
        c->depth = d;
        n = 1;
    }
}

void sluice_cursor_init(sluice_cursor *c, const sluice_set *s) {
    c->set = s;
    c->in = c->pos = 0;
    c->depth = 0;
    if (s->nroot) descend(c, 0, s->nroot, 0);
}

void sluice_cursor_seek(sluice_cursor *c, int64_t k) {
    const sluice_set *s = c->set;
    k = sluice_max(k, 0);
    c->pos = sluice_min(k, s->size);
    c->in = 0;
    c->depth = 0;
    if (k >= s->size) return;
    int32_t node = 0, end = s->nroot;
    int64_t base = 0;
    for (;;) {
        node += sluice_rank_last_before(&s->node[node], end - node, k);
        const sluice_node *f = &s->node[node];
        k -= f->before;
        int64_t i = k / f->isize;
        k %= f->isize;
        c->level[c->depth].i = i;
        c->level[c->depth].base = base;
        c->level[c->depth].node = node;
        c->level[c->depth].end = end;
        c->depth++;
        if (sluice_node_leaf(f)) break;
        base += f->off + i * f->step;
        node = f->inner;
        end = node + f->ninner;
    }
    c->in = k;
}

void sluice_cursor_seek_offset(sluice_cursor *c, int64_t x) { sluice_cursor_seek(c, sluice_set_rank(c->set, x)); }

int sluice_cursor_run(sluice_cursor *c, sluice_run *run) {
    if (c->depth == 0) return 0;
    const sluice_node *f = leaf(c);
    run->off = block_start(c) + c->in;
    run->len = f->len - c->in;
    /* Blocks of one leaf never touch, so only the last one of a family may be continued elsewhere. */
    if (++c->level[c->depth - 1].i < f->n) {
        c->in = 0;
    } else {
        advance(c, 0);
        while (c->depth > 0 && block_start(c) == run->off + run->len) {
            run->len += leaf(c)->len;
            advance(c, 1);
        }
    }
    c->pos += run->len;
    return 1;
}

int sluice_cursor_family(sluice_cursor *c, sluice_run *run, int64_t *step, int64_t *n) {
    if (c->depth == 0) return 0;
    const sluice_node *f = leaf(c);
    run->off = block_start(c) + c->in;
    run->len = f->len - c->in;
    *step = f->step;
    *n = c->in > 0 ? 1 : f->n - c->level[c->depth - 1].i;
    c->pos += run->len * *n;
    advance(c, *n);
    return 1;
}

void sluice_pair_init(sluice_pair *p, const sluice_set *a, const sluice_set *b) {
    sluice_cursor_init(&p->a, a);
    sluice_cursor_init(&p->b, b);
    p->ra = p->rb = (sluice_run){0, 0};
}

void sluice_pair_seek(sluice_pair *p, int64_t k) {
    sluice_cursor_seek(&p->a, k);
    sluice_cursor_seek(&p->b, k);
    p->ra = p->rb = (sluice_run){0, 0};
}

int sluice_pair_next(sluice_pair *p, sluice_piece *piece) {
    if (p->ra.len == 0 && !sluice_cursor_run(&p->a, &p->ra)) return 0;
    if (p->rb.len == 0 && !sluice_cursor_run(&p->b, &p->rb)) return 0;
    int64_t len = sluice_min(p->ra.len, p->rb.len);
    *piece = (sluice_piece){p->ra.off, p->rb.off, len};
    p->ra.off += len, p->ra.len -= len;
    p->rb.off += len, p->rb.len -= len;
    return 1;
}
