/* events.c: the cursor over the accesses of a trace, in the order of time.
 *
 * Each process is walked through its tree and along its time line; a heap of them says who is next. Nothing is unfolded
 * in memory.
 */
#include "trace/trace.h"
#include <errno.h>

static bool sooner(const sluice_steps *a, const sluice_steps *b) {
    return a->begin != b->begin ? a->begin < b->begin : a->proc < b->proc;
}

/* Lets the first of the heap sink to where it belongs. */
static void sink(sluice_steps *heap, int32_t n, int32_t i) {
    for (int32_t least = i;; i = least) {
        const int32_t left = 2 * i + 1, right = left + 1;
        if (left < n && sooner(&heap[left], &heap[least])) least = left;
        if (right < n && sooner(&heap[right], &heap[least])) least = right;
        if (least == i) return;
        const sluice_steps above = heap[i];
        heap[i] = heap[least];
        heap[least] = above;
    }
}

/* The next access of the process begins when? */
static void look(sluice_steps *s, const sluice_trace_proc *p) {
    s->begin = s->more ? sluice_times_at(p->knot, &s->knot, s->number) : 0;
}

static void start(sluice_steps *s, const sluice_trace *t, int32_t proc) {
    const sluice_trace_proc *p = &t->proc[proc];
    *s = (sluice_steps){.proc = proc, .more = p->nnode > 0};
    if (s->more) sluice_spot_enter(&s->spot, p->tree, 0);
    look(s, p);
}

int sluice_events_init(sluice_events *c, const sluice_trace *t, int proc) {
    *c = (sluice_events){.t = t};
    if (t->maker || proc < SLUICE_EVERY_PROCESS || proc >= t->nproc) return SLUICE_E_ARGUMENT;
    if (proc >= 0) {
        start(&c->one, t, proc);
        c->nsteps = c->one.more;
        return 0;
    }
    if (!t->nproc) return 0;
    if (!(c->steps = sluice_mem_alloc((size_t)t->nproc, sizeof *c->steps))) return -ENOMEM;
    for (int32_t i = 0; i < t->nproc; i++) {
        start(&c->steps[c->nsteps], t, i);
        c->nsteps += c->steps[c->nsteps].more;
    }
    for (int32_t i = c->nsteps / 2 - 1; i >= 0; i--) sink(c->steps, c->nsteps, i);
    return 0;
}

void sluice_events_close(sluice_events *c) {
    sluice_mem_free(c->steps);
    *c = (sluice_events){0};
}

/* The set of an access: its shape, or the block that the cursor has for it. */
static const sluice_set *set_of(sluice_events *c, const sluice_trace_node *f) {
    if (f->shape != SLUICE_TRACE_BLOCK) return &c->t->shape[f->shape];
    c->block =
        (sluice_node){.len = f->size, .step = f->size, .n = 1, .isize = f->size, .inner = SLUICE_LEAF, .ninner = 0};
    c->set = (sluice_set){.size = f->size, .nroot = f->size > 0, .nnode = f->size > 0, .node = &c->block};
    return &c->set;
}

int sluice_events_next(sluice_events *c, sluice_event *e) {
    if (!c->nsteps) return 0;
    sluice_steps *s = c->steps ? c->steps : &c->one;
    const sluice_trace_proc *p = &c->t->proc[s->proc];
    const sluice_trace_node *f = &p->tree[s->spot.at];
    *e = (sluice_event){.proc = s->proc,
                        .file = f->file,
                        .write = f->write,
                        .collective = f->collective,
                        .set = set_of(c, f),
                        .off = sluice_spot_off(&s->spot, p->tree),
                        .begin = s->begin,
                        .number = s->number++,
                        .node = s->spot.at};
    int64_t times = 1;
    for (int d = 0; d < s->spot.depth; d++) times *= p->tree[s->spot.level[d].node].n;
    e->end = e->begin + f->busy / times;
    s->more = sluice_spot_step(&s->spot, p->tree, p->nnode, false);
    look(s, p);
    if (!s->more) *s = c->steps ? c->steps[c->nsteps - 1] : *s, c->nsteps--;
    if (c->steps) sink(c->steps, c->nsteps, 0);
    return 1;
}

int sluice_event_set(sluice_set *out, const sluice_event *e) { return sluice_set_shift(out, e->set, e->off); }
