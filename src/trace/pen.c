/* pen.c: traces as bytes, chunk by chunk. */
#include "trace/form.h"
#include <errno.h>
#include <string.h>

void sluice_pen_free(sluice_pen *p) {
    sluice_mem_free(p->buf);
    *p = (sluice_pen){0};
}

void sluice_pen_bytes(sluice_pen *p, const void *bytes, int64_t n) {
    if (p->error) return;
    if (n > p->cap - p->n) {
        const int64_t cap = sluice_max(2 * p->cap, p->n + n + 256);
        unsigned char *more = sluice_mem_resize(p->buf, (size_t)cap, 1);
        if (!more) {
            p->error = -ENOMEM;
            return;
        }
        p->buf = more, p->cap = cap;
    }
    memcpy(p->buf + p->n, bytes, (size_t)n);
    p->n += n;
}

void sluice_pen_number(sluice_pen *p, int64_t v) {
    unsigned char form[10];
    int n = 0;
    uint64_t rest = (uint64_t)v;
    for (; rest >= 0x80; rest >>= 7) form[n++] = (unsigned char)(0x80 | (rest & 0x7F));
    form[n++] = (unsigned char)rest;
    sluice_pen_bytes(p, form, n);
}

void sluice_pen_signed(sluice_pen *p, int64_t v) {
    sluice_pen_number(p, (int64_t)((uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0)));
}

static void put32(unsigned char *to, uint32_t v) {
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(v >> 8 * i);
}

void sluice_pen_head(sluice_pen *p) {
    sluice_pen_bytes(p, SLUICE_FORM_MAGIC, SLUICE_FORM_HEAD - 1);
    sluice_pen_bytes(p, &(unsigned char){SLUICE_FORM_VERSION}, 1);
}

void sluice_pen_begin(sluice_pen *p, char kind) {
    p->chunk = p->n;
    sluice_pen_bytes(p, &kind, 1);
    sluice_pen_bytes(p, "\0\0\0", 4);
}

void sluice_pen_end(sluice_pen *p) {
    unsigned char sum[4];
    if (p->error) return;
    const int64_t n = p->n - p->chunk;
    if (n - 5 > UINT32_MAX) {
        p->error = SLUICE_E_OVERFLOW;
        return;
    }
    put32(p->buf + p->chunk + 1, (uint32_t)(n - 5));
    put32(sum, sluice_crc32c(0, p->buf + p->chunk, (size_t)n));
    sluice_pen_bytes(p, sum, 4);
}

void sluice_pen_file(sluice_pen *p, const sluice_trace_file *f) {
    sluice_pen_begin(p, 'F');
    sluice_pen_number(p, f->size + 1);
    sluice_pen_bytes(p, f->name, (int64_t)strlen(f->name));
    sluice_pen_end(p);
}

void sluice_pen_length(sluice_pen *p, int32_t file, int64_t size) {
    sluice_pen_begin(p, 'L');
    sluice_pen_number(p, file);
    sluice_pen_number(p, size + 1);
    sluice_pen_end(p);
}

void sluice_pen_shape(sluice_pen *p, const sluice_set *s) {
    sluice_pen_begin(p, 'S');
    const int64_t n = sluice_set_pack(s, NULL, 0);
    const int64_t at = p->n;
    for (int64_t left = n; left > 0 && !p->error; left -= 256)
        sluice_pen_bytes(p, (char[256]){0}, sluice_min(left, 256));
    if (!p->error) sluice_set_pack(s, p->buf + at, (size_t)n);
    sluice_pen_end(p);
}

void sluice_pen_proc(sluice_pen *p, const sluice_trace_proc *q) {
    sluice_pen_begin(p, 'P');
    sluice_pen_number(p, q->pid);
    sluice_pen_number(p, q->node);
    sluice_pen_end(p);
}

void sluice_pen_clock(sluice_pen *p, const sluice_author *part) {
    sluice_pen_begin(p, 'C');
    sluice_pen_number(p, part->rank + 1);
    sluice_pen_number(p, part->nranks + 1);
    sluice_pen_bytes(p, part->boot, sizeof part->boot);
    sluice_pen_signed(p, part->wall);
    sluice_pen_number(p, part->aligned);
    sluice_pen_signed(p, part->skew);
    sluice_pen_end(p);
}

/* Members of the loop, not counting what is in them. */
static int64_t members(const sluice_trace_node *loop) {
    int64_t n = 0;
    for (int64_t i = 1; i < loop->span; i += loop[i].span) n++;
    return n;
}

static void put_node(sluice_pen *p, const sluice_trace_node *f, int64_t *off) {
    if (f->span > 1) {
        sluice_pen_number(p, 1);
        sluice_pen_number(p, f->n - 2);
        sluice_pen_number(p, members(f) - 1);
        return;
    }
    const bool block = f->shape == SLUICE_TRACE_BLOCK;
    sluice_pen_number(p, (int64_t)f->file << 4 | (block ? 0 : 8) | (f->collective ? 4 : 0) | (f->write ? 2 : 0));
    sluice_pen_number(p, block ? f->size : f->shape);
    sluice_pen_signed(p, f->off - *off);
    sluice_pen_number(p, f->busy);
    for (int d = 0; d < f->loops; d++) sluice_pen_signed(p, f->shift[d]);
    *off = f->off;
}

void sluice_pen_nodes(sluice_pen *p, int32_t proc, const sluice_trace_node *tree, int64_t n) {
    for (int64_t i = 0; i < n && !p->error;) {
        int64_t off = 0;
        sluice_pen_begin(p, 'N');
        sluice_pen_number(p, proc);
        do
            for (const int64_t end = i + tree[i].span; i < end; i++) put_node(p, &tree[i], &off);
        while (i < n && p->n - p->chunk < SLUICE_FORM_NODES);
        sluice_pen_end(p);
    }
}

void sluice_pen_times(sluice_pen *p, int32_t proc, const sluice_trace_proc *q) {
    sluice_trace_knot last = {0, 0};
    sluice_pen_begin(p, 'T');
    sluice_pen_number(p, proc);
    sluice_pen_number(p, q->complete);
    sluice_pen_number(p, q->lost);
    sluice_pen_number(p, q->blur);
    for (int64_t i = 0; i < q->nknot; i++) {
        sluice_pen_number(p, q->knot[i].event - last.event);
        sluice_pen_number(p, q->knot[i].at - last.at);
        last = q->knot[i];
    }
    sluice_pen_end(p);
}
