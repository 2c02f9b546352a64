/* wire.c: sets as bytes, for messages and files. docs/FORMAT.md is the specification.
 *
 *     0xFA, version, number of families, family, family, ...
 *
 * Families come in the order of the node array, breadth-first, and numbers as LEB128 varints of at most nine bytes
 * (63 bits). A family says only what the rest does not:
 *
 *     one whole block      0          gap  len-1
 *     whole blocks         1          gap  len-1  step-len-1  n-2
 *     blocks with a list   1+ninner   gap         step-len    n-2
 *
 * gap is the distance from the end of the sibling before, or from the start of the block. The length of a block that
 * has a list is where its list ends. Where each list lies follows from the ninner. So there is one form for each
 * tree, and most of the promises of set.h cannot be broken in it; sluice_set_check() looks after the others.
 */
#include "set/set.h"
#include <errno.h>

enum {
    MAGIC = 0xFA,
    VERSION = 1,
    MIN_FAMILY = 3, /* bytes of the shortest family: three numbers of one byte */
};

typedef struct writer {
    unsigned char *buf;
    size_t cap;
    int64_t len;
} writer;

static void put_byte(writer *w, unsigned byte) {
    if ((size_t)w->len < w->cap) w->buf[w->len] = (unsigned char)byte;
    w->len++;
}

static void put(writer *w, int64_t v) {
    for (; v >= 0x80; v >>= 7) put_byte(w, 0x80 | (unsigned)(v & 0x7F));
    put_byte(w, (unsigned)v);
}

int64_t sluice_set_pack(const sluice_set *s, void *buf, size_t cap) {
    writer w = {buf, cap, 0};
    int64_t end = 0;
    put_byte(&w, MAGIC);
    put_byte(&w, VERSION);
    put(&w, s->nnode);
    for (int32_t i = 0; i < s->nnode; i++) {
        const sluice_node *f = &s->node[i];
        bool leaf = sluice_node_leaf(f);
        put(&w, leaf ? f->n > 1 : 1 + (int64_t)f->ninner);
        put(&w, f->off == 0 ? 0 : f->off - end); /* only the first of a list can lie at 0, and all but the roots do */
        if (leaf) put(&w, f->len - 1);
        if (f->n > 1) {
            put(&w, f->step - f->len - leaf);
            put(&w, f->n - 2);
        }
        end = sluice_node_end(f);
    }
    return w.len;
}

/* Reading stops for good at the first error: what is wrong is kept, pos stays there, and all further numbers are 0. */
typedef struct reader {
    const unsigned char *buf;
    size_t len, pos;
    const char *wrong;
} reader;

static void stop(reader *r, size_t pos, const char *wrong) {
    if (!r->wrong) r->wrong = wrong, r->pos = pos;
}

static int64_t get(reader *r) {
    size_t pos = r->pos;
    int64_t v = 0;
    for (int shift = 0; shift < 63 && !r->wrong; shift += 7) {
        if (pos == r->len) {
            stop(r, r->pos, "ends too early");
            break;
        }
        unsigned byte = r->buf[pos++];
        v |= (int64_t)(byte & 0x7F) << shift;
        if (byte == 0 && shift > 0) stop(r, r->pos, "has a number with more bytes than it needs");
        if (byte < 0x80 && !r->wrong) {
            r->pos = pos;
            return v;
        }
    }
    stop(r, r->pos, "has a number of more than 63 bits");
    return 0;
}

/* Reads a family as far as it can be known alone: off is still the gap, and len and step of a nested one lack what
 * its list will say. */
static sluice_node get_family(reader *r, int64_t nnode) {
    size_t pos = r->pos;
    int64_t kind = get(r);
    bool leaf = kind < 2, fits = true;
    sluice_node f = {.n = 1, .inner = SLUICE_LEAF};
    f.off = get(r);
    if (leaf) fits &= sluice_add(get(r), 1, &f.len);
    f.step = f.len;
    if (kind > 0) {
        fits &= sluice_add(f.step, get(r), &f.step) && sluice_add(f.step, leaf, &f.step);
        fits &= sluice_add(get(r), 2, &f.n);
    }
    if (!fits) stop(r, pos, "has a family that passes 2^63-1");
    if (kind > nnode) stop(r, pos, "has a family with too long a list");
    if (!leaf && !r->wrong) f.inner = 0, f.ninner = (int32_t)(kind - 1);
    return f;
}

/* Turns the gaps of a list into offsets and adds up; -1, or the node that passes 2^63-1. */
static int32_t place_list(sluice_node *node, int32_t first, int32_t n, int64_t *end, int64_t *size) {
    *end = *size = 0;
    for (int32_t i = first; i < first + n; i++) {
        sluice_node *f = &node[i];
        int64_t span;
        if (!sluice_add(f->off, *end, &f->off) || !sluice_mul(f->n - 1, f->step, &span) ||
            !sluice_add(span, f->len, &span) || !sluice_add(f->off, span, end))
            return i;
        f->before = *size;
        *size += sluice_node_size(f); /* no more than the span */
    }
    return -1;
}

/* Finds the lists, from the last node to the first, and with them what families and set still lack. Returns the
 * culprit or -1. */
static int32_t place(sluice_set *s, const char **wrong) {
    int32_t next = s->nnode, bad;
    int64_t end;
    *wrong = "passes 2^63-1";
    for (int32_t i = s->nnode - 1; i >= 0; i--) {
        sluice_node *f = &s->node[i];
        f->isize = f->len;
        if (sluice_node_leaf(f)) continue;
        next -= f->ninner;
        if (next <= i) {
            *wrong = "has its list before it";
            return i;
        }
        f->inner = next;
        if ((bad = place_list(s->node, next, f->ninner, &f->len, &f->isize)) >= 0) return bad;
        if (!sluice_add(f->step, f->len, &f->step)) return i;
    }
    s->nroot = next;
    return place_list(s->node, 0, next, &end, &s->size);
}

/* The byte at which a family starts in a form that has been read. */
static int64_t where(reader r, size_t first, int64_t family) {
    for (r.pos = first; family > 0; family--) get_family(&r, INT64_MAX);
    return (int64_t)r.pos;
}

int64_t sluice_wire_families(const void *buf, size_t len) {
    reader r = {buf, len, 2, NULL};
    const int64_t n = len > 2 ? get(&r) : 0;
    return r.wrong ? 0 : n;
}

int sluice_set_unpack(sluice_set *out, const void *buf, size_t len, size_t *used, sluice_reason *why) {
    reader r = {buf, len, 0, NULL};
    sluice_set s = SLUICE_SET_EMPTY;
    const char *wrong;
    if (len < 1 || r.buf[0] != MAGIC) return sluice_refuse(why, SLUICE_E_FORMAT, 0, "not the wire form of a set");
    if (len < 2 || r.buf[1] < 1) return sluice_refuse(why, SLUICE_E_FORMAT, 1, "not a version of the wire form");
    if (r.buf[1] > VERSION)
        return sluice_refuse(why, SLUICE_E_VERSION, 1, "wire form of version %d, known are versions up to %d", r.buf[1],
                             VERSION);
    r.pos = 2;
    int64_t nnode = get(&r), bad;
    size_t first = r.pos;
    if (r.wrong) return sluice_refuse(why, SLUICE_E_FORMAT, (int64_t)r.pos, "wire form %s", r.wrong);
    if (nnode > INT32_MAX || (size_t)nnode > (len - first) / MIN_FAMILY)
        return sluice_refuse(why, SLUICE_E_FORMAT, 2, "wire form claims %lld families in %zu bytes", (long long)nnode,
                             len - first);
    s.nnode = (int32_t)nnode;
    if (nnode > 0 && !(s.node = sluice_mem_alloc((size_t)nnode, sizeof *s.node)))
        return sluice_refuse(why, -ENOMEM, -1, "out of memory for %d families", s.nnode);

    int error = SLUICE_E_FORMAT;
    for (int32_t i = 0; i < s.nnode && !r.wrong; i++) s.node[i] = get_family(&r, nnode);
    if (r.wrong) {
        sluice_refuse(why, error, (int64_t)r.pos, "wire form %s", r.wrong);
    } else if (!used && r.pos < len) {
        sluice_refuse(why, error, (int64_t)r.pos, "wire form ends before the last byte");
    } else if ((bad = place(&s, &wrong)) >= 0) {
        sluice_refuse(why, error, where(r, first, bad), "family %lld %s", (long long)bad, wrong);
    } else if ((error = sluice_set_check(&s, why)) && why && why->pos >= 0) {
        why->pos = where(r, first, why->pos);
    }
    if (error) {
        sluice_mem_free(s.node);
        return error;
    }
    sluice_set_free(out);
    *out = s;
    if (used) *used = r.pos;
    return 0;
}
