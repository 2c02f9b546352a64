/* read.c: bytes as a trace. They are hostile until they have been looked at: nothing is allocated on a number's word
 * alone, every offset that a loop can reach is computed with overflow checks, and time and memory are bounded by the
 * length of the file.
 */
#include "trace/form.h"
#include <errno.h>
#include <string.h>

enum { AHEAD = 1 << 16 };

#define MOST_EVENTS (INT64_C(1) << 60) /* of a process: sums of numbers cannot overflow */

/* A trace on its way out of a source. The first thing that is wrong sticks. */
typedef struct reader {
    sluice_trace *t;
    sluice_source *source;
    sluice_author *part;
    sluice_reason *why;
    int error;
    int64_t chunk, pos, len; /* where the chunk starts in the source; of its payload: what has been read, all */
    unsigned char *buf;
    int64_t cap;
    int32_t proc_cap, file_cap, shape_cap;
    int64_t node_cap; /* of the process that nodes were last read for */
    int32_t node_proc;
    int32_t promised;              /* processes */
    bool head, clock, ended, torn; /* torn: the source broke off, or a chunk is damaged */
} reader;

static void refuse(reader *r, int64_t pos, const char *wrong) {
    if (!r->error)
        r->error = sluice_refuse(r->why, SLUICE_E_FORMAT, pos, "byte %lld of the trace: %s", (long long)pos, wrong);
}

static void refuse_here(reader *r, const char *wrong) { refuse(r, r->chunk + 5 + r->pos, wrong); }

/* Also what is left of the source cannot be used. */
static void tear(reader *r, const char *wrong) {
    if (r->error) return;
    refuse(r, r->chunk, wrong);
    r->torn = true;
}

static void no_memory(reader *r) {
    if (!r->error) r->error = sluice_refuse(r->why, -ENOMEM, -1, "out of memory for the trace");
}

/* ---- Bytes ---- */

/* The next n bytes of the source, or as many as there are: how many, or an error. */
static int64_t take(sluice_source *s, unsigned char *to, int64_t n) {
    int64_t got = 0;
    while (got < n) {
        if (s->at == s->n) {
            if (s->fd < 0) break;
            if (!s->room && !(s->room = sluice_mem_alloc(AHEAD, 1))) return -ENOMEM;
            const int more = sluice_sys_read(s->fd, s->room, AHEAD);
            if (more < 0) return more;
            if (more == 0) break;
            s->before += s->n;
            s->bytes = s->room, s->n = more, s->at = 0;
        }
        const int64_t piece = sluice_min(n - got, s->n - s->at);
        memcpy(to + got, s->bytes + s->at, (size_t)piece);
        s->at += piece, got += piece;
    }
    return got;
}

/* Appends n bytes of the source to the buffer, in steps, so that a length that is a lie takes no memory. False: the
 * source ended before, or there is an error. */
static bool fetch(reader *r, int64_t at, int64_t n) {
    for (int64_t step; n > 0; at += step, n -= step) {
        step = sluice_min(n, AHEAD);
        if (at + step > r->cap) {
            const int64_t cap = sluice_max(2 * r->cap, at + step);
            unsigned char *more = sluice_mem_resize(r->buf, (size_t)cap, 1);
            if (!more) return no_memory(r), false;
            r->buf = more, r->cap = cap;
        }
        const int64_t got = take(r->source, r->buf + at, step);
        if (got < 0)
            r->error = sluice_refuse(r->why, (int)got, -1, "cannot read the trace: %s", sluice_strerror((int)got));
        if (got < step) return false;
    }
    return true;
}

static uint32_t get32(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The next chunk into the buffer: its kind, or 0 at the end or at an error. */
static int next_chunk(reader *r) {
    r->chunk = r->source->before + r->source->at;
    r->pos = r->len = 0;
    unsigned char first;
    const int64_t got = take(r->source, &first, 1);
    if (got < 0) r->error = sluice_refuse(r->why, (int)got, -1, "cannot read the trace: %s", sluice_strerror((int)got));
    if (got <= 0) return 0;
    if (!fetch(r, 1, 4)) {
        tear(r, "it breaks off");
        return 0;
    }
    r->buf[0] = first;
    const int64_t len = get32(r->buf + 1);
    if (!fetch(r, 5, len + 4)) {
        tear(r, "it breaks off");
        return 0;
    }
    if (sluice_crc32c(0, r->buf, (size_t)(5 + len)) != get32(r->buf + 5 + len)) {
        tear(r, "a chunk does not match its checksum");
        return 0;
    }
    r->len = len;
    return first;
}

/* 0 once something is wrong. */
static uint64_t varint(reader *r) {
    uint64_t v = 0;
    for (int shift = 0; shift < 64 && !r->error; shift += 7) {
        if (r->pos == r->len) {
            refuse_here(r, "a chunk ends too early");
            return 0;
        }
        const unsigned byte = r->buf[5 + r->pos++];
        if (shift == 63 && byte > 1) break;
        v |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return v;
    }
    refuse_here(r, "a number of more than 64 bits");
    return 0;
}

static int64_t number(reader *r) {
    const uint64_t v = varint(r);
    if (v <= INT64_MAX) return (int64_t)v;
    refuse_here(r, "a number of more than 63 bits");
    return 0;
}

static int64_t signed_number(reader *r) {
    const uint64_t v = varint(r);
    return v & 1 ? -(int64_t)(v >> 1) - 1 : (int64_t)(v >> 1);
}

/* ---- Tables ---- */

/* Room for one more. */
static void *room(reader *r, void *table, int32_t n, int32_t *cap, size_t size) {
    if (r->error || n < *cap) return table;
    const int32_t more = n > INT32_MAX / 4 ? 0 : 2 * n + 4;
    void *bigger = more ? sluice_mem_resize(table, (size_t)more, size) : NULL;
    if (!bigger) return no_memory(r), table;
    *cap = more;
    return bigger;
}

static void read_file(reader *r) {
    sluice_trace *t = r->t;
    const int64_t size = number(r) - 1, n = r->len - r->pos;
    const unsigned char *name = r->buf + 5 + r->pos;
    if (!r->error && (n < 1 || memchr(name, 0, (size_t)n))) refuse_here(r, "not the name of a file");
    t->file = room(r, t->file, t->nfile, &r->file_cap, sizeof *t->file);
    if (r->error) return;
    char *copy = sluice_mem_alloc((size_t)n + 1, 1);
    if (!copy) {
        no_memory(r);
        return;
    }
    memcpy(copy, name, (size_t)n);
    copy[n] = 0;
    t->file[t->nfile++] = (sluice_trace_file){copy, size};
}

static void read_length(reader *r) {
    const int64_t file = number(r), size = number(r) - 1;
    if (!r->error && (!r->part || file >= r->t->nfile)) refuse_here(r, "a file that is not there");
    if (!r->error) r->t->file[file].size = sluice_max(r->t->file[file].size, size);
}

static void read_shape(reader *r) {
    sluice_trace *t = r->t;
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_reason why;
    t->shape = room(r, t->shape, t->nshape, &r->shape_cap, sizeof *t->shape);
    if (r->error) return;
    const int err = sluice_set_unpack(&s, r->buf + 5, (size_t)r->len, NULL, &why);
    if (err == -ENOMEM) {
        no_memory(r);
    } else if (err) {
        refuse_here(r, why.text);
    } else if (!s.size || sluice_set_lo(&s)) {
        refuse_here(r, "a shape that does not start at 0");
        sluice_set_free(&s);
    } else {
        t->shape[t->nshape++] = s;
    }
}

static void read_proc(reader *r) {
    sluice_trace *t = r->t;
    const int64_t pid = number(r), node = number(r);
    if (!r->error && node > INT32_MAX) refuse_here(r, "a machine with too large a number");
    t->proc = room(r, t->proc, t->nproc, &r->proc_cap, sizeof *t->proc);
    if (!r->error) t->proc[t->nproc++] = (sluice_trace_proc){.pid = pid, .node = (int32_t)node};
}

static void read_clock(reader *r) {
    const int64_t rank = number(r) - 1, nranks = number(r) - 1;
    if (!r->part || rank >= SLUICE_MERGE_RANKS || nranks > SLUICE_MERGE_RANKS)
        refuse_here(r, "not to be expected here");
    if (!r->error && r->len - r->pos < SLUICE_SYS_BOOT) refuse_here(r, "a chunk ends too early");
    if (r->error) return;
    r->part->rank = (int32_t)rank, r->part->nranks = (int32_t)nranks;
    memcpy(r->part->boot, r->buf + 5 + r->pos, SLUICE_SYS_BOOT);
    r->pos += SLUICE_SYS_BOOT;
    r->part->wall = signed_number(r);
    r->part->aligned = number(r) != 0;
    r->part->skew = signed_number(r);
    r->clock = true;
}

static sluice_trace_proc *proc_of(reader *r) {
    const int64_t i = number(r);
    if (!r->error && i >= r->t->nproc) refuse_here(r, "a process that is not there");
    return r->error ? NULL : &r->t->proc[i];
}

/* ---- Nodes ---- */

/* The loops around a node that is read, outermost first. */
typedef struct around {
    int depth;
    struct {
        int64_t node, left, n; /* members still to come */
    } loop[SLUICE_TRACE_LOOPS];
    int64_t times, off; /* the product of all n; of the access before */
} around;

/* Every offset that the access reaches is one of a file. */
static bool in_range(const sluice_trace_node *f, const around *a, int64_t length) {
    int64_t low = f->off, high = f->off, way;
    for (int d = 0; d < a->depth; d++) {
        if (!sluice_mul(a->loop[d].n - 1, f->shift[a->depth - 1 - d], &way)) return false;
        if (!sluice_add(way < 0 ? low : high, way, way < 0 ? &low : &high)) return false;
    }
    return low >= 0 && sluice_add(high, length, &high) && high < INT64_MAX;
}

static void read_access(reader *r, sluice_trace_node *f, int64_t tag, around *a) {
    const sluice_trace *t = r->t;
    const int64_t file = tag >> 4, what = number(r);
    if (!r->error && file >= t->nfile) refuse_here(r, "a file that is not there");
    if (!r->error && tag & 8 && what >= t->nshape) refuse_here(r, "a shape that is not there");
    if (r->error) return;
    *f = (sluice_trace_node){.n = 1,
                             .span = 1,
                             .file = (int32_t)file,
                             .shape = tag & 8 ? (int32_t)what : SLUICE_TRACE_BLOCK,
                             .write = tag & 2,
                             .collective = tag & 4,
                             .loops = (uint8_t)a->depth,
                             .size = tag & 8 ? t->shape[what].size : what};
    const bool fits = sluice_add(a->off, signed_number(r), &f->off);
    f->busy = number(r);
    for (int d = 0; d < a->depth; d++) f->shift[d] = signed_number(r);
    const int64_t length = tag & 8 ? sluice_set_hi(&t->shape[what]) : what;
    if (!r->error && (!fits || f->busy > SLUICE_TRACE_LATEST || !in_range(f, a, length)))
        refuse_here(r, "an access outside of what a file can have");
    a->off = f->off;
}

static void read_loop(reader *r, sluice_trace_node *f, int64_t at, around *a) {
    const int64_t n = number(r), members = number(r);
    int64_t times = 0;
    if (r->error) return;
    if (a->depth == SLUICE_TRACE_LOOPS)
        refuse_here(r, "loops too deep in each other");
    else if (n > MOST_EVENTS || !sluice_mul(a->times, n + 2, &times) || times > MOST_EVENTS)
        refuse_here(r, "more accesses than can be");
    else if (members > r->len)
        refuse_here(r, "a loop with more members than bytes");
    if (r->error) return;
    *f = (sluice_trace_node){.n = n + 2, .span = 1};
    a->loop[a->depth].node = at, a->loop[a->depth].left = members + 1, a->loop[a->depth++].n = n + 2;
    a->times = times;
}

static void read_nodes(reader *r) {
    sluice_trace_proc *p = proc_of(r);
    around a = {.times = 1};
    if (p && p - r->t->proc != r->node_proc) r->node_proc = (int32_t)(p - r->t->proc), r->node_cap = p->nnode;
    while (!r->error && r->pos < r->len) {
        if (p->nnode == r->node_cap) {
            const int64_t cap = 2 * r->node_cap + 16;
            sluice_trace_node *more = sluice_mem_resize(p->tree, (size_t)cap, sizeof *more);
            if (!more) {
                no_memory(r);
                return;
            }
            p->tree = more, r->node_cap = cap;
        }
        sluice_trace_node *f = &p->tree[p->nnode];
        const int64_t tag = number(r);
        if (tag & 1) {
            if (tag != 1) refuse_here(r, "not a node");
            read_loop(r, f, p->nnode, &a);
        } else {
            read_access(r, f, tag, &a);
            if (!r->error && (p->nevents += a.times) > MOST_EVENTS) refuse_here(r, "more accesses than can be");
        }
        if (r->error) return;
        p->nnode++;
        if (tag & 1) continue;
        for (; a.depth > 0 && --a.loop[a.depth - 1].left == 0; a.depth--) {
            sluice_trace_node *loop = &p->tree[a.loop[a.depth - 1].node];
            if (p->nnode - a.loop[a.depth - 1].node > INT32_MAX) refuse_here(r, "too long a loop");
            loop->span = (int32_t)(p->nnode - a.loop[a.depth - 1].node);
            a.times /= loop->n;
        }
    }
    if (!r->error && a.depth) refuse_here(r, "a chunk ends in a loop");
}

static void read_times(reader *r) {
    sluice_trace_proc *p = proc_of(r);
    if (!p) return;
    sluice_mem_free(p->knot);
    p->knot = NULL, p->nknot = 0;
    p->complete = number(r) == 1;
    p->lost = sluice_min(number(r), MOST_EVENTS);
    p->blur = number(r);
    if (r->error || r->pos == r->len) return;
    p->knot = sluice_mem_alloc((size_t)(r->len - r->pos) / 2 + 2, sizeof *p->knot); /* and one that ends a torn part */
    if (!p->knot) {
        no_memory(r);
        return;
    }
    sluice_trace_knot last = {0, 0};
    while (!r->error && r->pos < r->len) {
        const int64_t event = number(r), at = number(r);
        if (r->error) break;
        if (event > MOST_EVENTS - last.event || at > SLUICE_TRACE_LATEST - last.at ||
            (p->nknot ? event < 1 : event > 0))
            refuse_here(r, "not a time line");
        if (r->error) break;
        last.event += event, last.at += at;
        p->knot[p->nknot++] = last;
    }
}

/* ---- The whole ---- */

static void read_head(reader *r) {
    r->t->origin = number(r);
    const int64_t n = number(r);
    if (!r->error && (r->head || n > INT32_MAX)) refuse_here(r, "not the head of a trace");
    r->head = true, r->promised = (int32_t)n;
}

static void read_chunk(reader *r, int kind) {
    if (!r->head && kind != 'H') refuse(r, r->chunk, "the head is missing");
    if (r->error) return;
    switch (kind) {
    case 'H': read_head(r); break;
    case 'C': read_clock(r); break;
    case 'F': read_file(r); return; /* to the end of the chunk */
    case 'S': read_shape(r); return;
    case 'P': read_proc(r); break;
    case 'N': read_nodes(r); break;
    case 'T': read_times(r); break;
    case 'L': read_length(r); break;
    case 'Z': r->ended = true; break;
    default: refuse(r, r->chunk, "a chunk of unknown kind");
    }
    if (!r->error && r->pos < r->len) refuse_here(r, "a chunk ends too late");
}

/* The time line of a part that breaks off may go on after its last node, or end before it. */
static void cut_times(reader *r, sluice_trace_proc *p) {
    if (p->nknot) p->lost += sluice_max(p->knot[p->nknot - 1].event - p->nevents, 0);
    while (p->nknot > 1 && p->knot[p->nknot - 2].event >= p->nevents) p->nknot--;
    if (p->nevents == 0) p->nknot = 0;
    if (p->nevents == 0 || (p->nknot && p->knot[p->nknot - 1].event == p->nevents)) return;
    p->complete = false;
    if (!p->knot && !(p->knot = sluice_mem_alloc(2, sizeof *p->knot))) {
        no_memory(r);
        return;
    }
    if (!p->nknot) p->knot[p->nknot++] = (sluice_trace_knot){0, 0};
    sluice_trace_knot *last = &p->knot[p->nknot - 1];
    if (last->event > p->nevents) { /* within a line */
        int64_t near = 0;
        last->at = sluice_times_at(p->knot, &near, p->nevents);
        last->event = p->nevents;
    } else {
        p->knot[p->nknot++] = (sluice_trace_knot){p->nevents, last->at};
    }
}

static void check_whole(reader *r) {
    const sluice_trace *t = r->t;
    if (!r->head || (r->part && !r->clock)) refuse(r, r->chunk, "the head is missing");
    if (!r->part && !r->ended) refuse(r, r->chunk, "it breaks off");
    if (!r->error && t->nproc != r->promised) refuse(r, r->chunk, "processes are missing");
    for (int32_t i = 0; i < t->nproc && !r->error; i++) {
        sluice_trace_proc *p = &t->proc[i];
        if (r->part) cut_times(r, p);
        if (r->error) return;
        if (!r->ended) p->complete = false;
        if (p->nevents ? p->nknot < 2 || p->knot[p->nknot - 1].event != p->nevents : p->nknot != 0)
            refuse(r, r->chunk, "a time line does not fit the accesses");
    }
}

static void read_magic(reader *r) {
    unsigned char head[SLUICE_FORM_HEAD];
    const int64_t got = take(r->source, head, sizeof head);
    if (got < 0)
        r->error = sluice_refuse(r->why, (int)got, -1, "cannot read the trace: %s", sluice_strerror((int)got));
    else if (got < SLUICE_FORM_HEAD || memcmp(head, SLUICE_FORM_MAGIC, SLUICE_FORM_HEAD - 1) != 0)
        r->error = sluice_refuse(r->why, SLUICE_E_FORMAT, 0, "not a trace");
    else if (head[SLUICE_FORM_HEAD - 1] != SLUICE_FORM_VERSION)
        r->error = sluice_refuse(r->why, SLUICE_E_VERSION, SLUICE_FORM_HEAD - 1,
                                 "a trace of version %d, known are versions up to %d", head[SLUICE_FORM_HEAD - 1],
                                 SLUICE_FORM_VERSION);
}

int sluice_read_source(sluice_trace *t, sluice_source *s, sluice_author *part, sluice_reason *why) {
    reader r = {.t = t, .source = s, .part = part, .why = why, .node_proc = -1};
    int kind;
    *t = (sluice_trace){0};
    read_magic(&r);
    while (!r.error && !r.ended && (kind = next_chunk(&r))) read_chunk(&r, kind);
    if (part && r.torn) r.error = 0; /* as far as it is whole */
    if (!r.error) check_whole(&r);
    if (!r.error && !part && r.ended && next_chunk(&r)) refuse(&r, r.chunk, "it goes on after its end");
    sluice_mem_free(r.buf);
    sluice_mem_free(s->room);
    s->room = NULL;
    if (r.error) sluice_trace_free(t);
    return r.error;
}
