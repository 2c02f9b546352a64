/* forecast.c: the course of a collective call (collective.c), foretold: which way it takes and why, and what each
 * process will do. First all processes go through the steps of the call in thought (asking, settling conflicts, finding
 * memory, planning), by the same functions as in earnest; then what comes of it is counted. */
#include "io/predict.h"
#include <errno.h>
#include <string.h>

enum { PAGE = 4096 }; /* memory is reserved in these (group.c) */

/* What the processes have in mind. */
typedef struct sketch {
    int n;            /* parts of all ranks: */
    sluice_set *file; /* what is left of each when its process has helped itself, and higher ranks have taken theirs; */
    sluice_set *kept; /* which of its bytes, where they have; */
    sluice_set *mem;  /* and where these lie in memory */
    sluice_io_part *part; /* room for the parts of a rank */
    int64_t *told;        /* by each rank: bytes of descriptions */
    bool planned;         /* it came to a plan */
    int64_t *room;        /* of each rank: bytes reserved for it */
} sketch;

static int sketch_make(sketch *s, const sluice_prospect *p) {
    const size_t size = (size_t)p->facts.size, n = (size_t)sluice_max(p->first[size], 1);
    s->file = sluice_mem_alloc(n, 3 * sizeof *s->file);
    s->part = sluice_mem_alloc(n, sizeof *s->part);
    s->told = sluice_mem_alloc(size, 2 * sizeof *s->told);
    if (!s->file || !s->part || !s->told) return -ENOMEM;
    s->n = p->first[size];
    s->kept = s->file + s->n;
    s->mem = s->kept + s->n;
    s->room = s->told + size;
    memset(s->file, 0, 3 * n * sizeof *s->file);
    memset(s->told, 0, 2 * size * sizeof *s->told);
    int err = 0;
    for (int k = 0; k < s->n && !err; k++) err = sluice_set_copy(&s->file[k], p->part[k].file);
    return err;
}

static void sketch_free(sketch *s) {
    for (int k = 0; k < 3 * s->n; k++) sluice_set_free(&s->file[k]);
    sluice_mem_free(s->file);
    sluice_mem_free(s->part);
    sluice_mem_free(s->told);
}

static bool anything(const sketch *s) {
    for (int k = 0; k < s->n; k++)
        if (s->file[k].size) return true;
    return false;
}

/* Bytes of the parts of a rank. */
static int64_t bytes_left(const sluice_prospect *p, const sketch *s, int r) {
    int64_t n = 0;
    for (int k = p->first[r]; k < p->first[r + 1]; k++) n += s->file[k].size;
    return n;
}

/* ---- The way ------------------------------------------------------------------------------------------------- */

/* Whether what is left of a part goes through the mapping. */
static bool is_mapped(const sluice_prospect *p, int k, const sluice_set *file) {
    return p->cached[k] && (!p->facts.write || p->mapped || !sluice_io_long_runs(file));
}

static bool would_write_own(const sluice_prospect *p) {
    if (p->facts.together.way != SLUICE_WAY_AUTO) return p->facts.together.way == SLUICE_WAY_OWN;
    for (int k = 0; k < p->first[p->facts.size]; k++) {
        const sluice_set *file = p->part[k].file;
        if (file->size && !sluice_io_long_runs(file) && !is_mapped(p, k, file)) return false;
    }
    return true;
}

static void choose(sluice_forecast *f, const sluice_prospect *p, bool some) {
    const sluice_way way = p->facts.together.way;
    if (p->facts.write) {
        bool own = would_write_own(p);
        f->two_phase = !own && some;
        f->reason = !some                    ? "nothing to write"
                    : way != SLUICE_WAY_AUTO ? "as told"
                    : own                    ? "cached, or in long runs"
                                             : "in short runs";
        return;
    }
    f->two_phase = way != SLUICE_WAY_OWN && some;
    f->reason = way == SLUICE_WAY_OWN         ? "as told"
                : !f->two_phase               ? "all of it is cached"
                : way == SLUICE_WAY_TWO_PHASE ? "as told"
                                              : "not all of it is cached";
}

/* ---- The steps ----------------------------------------------------------------------------------------------- */

/* Processes read what is cached, before they say a word. */
static int help_oneself(const sluice_prospect *p, sketch *s, bool *helped) {
    int err = 0;
    *helped = false;
    for (int k = 0; k < s->n && !err; k++) {
        if (!p->cached[k] || !s->file[k].size) continue;
        *helped = true;
        err = sluice_set_block(&s->file[k], 0, 0);
    }
    return err;
}

/* All tell what they want; who cannot says nothing, and the call is over. */
static int ask(sluice_forecast *f, const sluice_prospect *p, sketch *s) {
    int error = 0;
    for (int r = 0; r < f->size; r++) {
        const int first = p->first[r], n = p->first[r + 1] - first;
        const int err = sluice_conflict_ask(&f->moved[r], s->file + first, n, p->facts.write);
        if (!err) s->told[r] += sluice_set_pack(&f->moved[r], NULL, 0);
        if (!error) error = err;
    }
    return error;
}

static int infer(sluice_forecast *f, const sluice_known *known, sluice_reason *why) {
    int err = 0;
    for (int r = 0; r < f->size && !err; r++) err = known->request(known->arg, r, &f->moved[r], why);
    return err;
}

/* Each leaves out what higher ranks overwrite. Between nodes everyone must know what is left. */
static int settle(sluice_forecast *f, const sluice_prospect *p, sketch *s, sluice_reason *why) {
    sluice_set lost = SLUICE_SET_EMPTY;
    int err = 0;
    for (int r = 0; r < f->size && !err; r++) {
        const int first = p->first[r], n = p->first[r + 1] - first;
        err = sluice_conflict_lost(&lost, f->moved, f->size, r, p->facts.together.refuse_conflicts, why);
        if (err || !lost.size) continue;
        f->conflict = true;
        err = sluice_pass(why, sluice_conflict_leave_out(s->file + first, s->kept + first, n, &lost));
    }
    sluice_set_free(&lost);
    if (!err && f->conflict && p->facts.nnodes > 1) err = sluice_pass(why, ask(f, p, s));
    return err;
}

static int find_memory(const sluice_prospect *p, sketch *s) {
    int err = 0;
    for (int k = 0; k < s->n && !err; k++) {
        const sluice_set *mem = p->part[k].mem.set;
        if (!s->kept[k].size) continue;
        err = mem ? sluice_set_embed(&s->mem[k], &s->kept[k], mem) : sluice_set_copy(&s->mem[k], &s->kept[k]);
    }
    return err;
}

static int plan(sluice_forecast *f, const sluice_prospect *p, sketch *s, sluice_reason *why) {
    const sluice_plan_facts *facts = &p->facts;
    sluice_set place = SLUICE_SET_EMPTY;
    s->planned = true;
    int err = sluice_plan_make(&f->plan, facts, f->moved, why);
    for (int r = 0, nodes = 0, a = 0; r < f->size && !err; r++) {
        const bool aggregates = a < f->plan.n && f->plan.aggregator[a].rank == r, leads = facts->node_of[r] == nodes;
        s->room[r] = sluice_plan_room(&f->plan, aggregates, leads);
        a += aggregates;
        nodes += leads;
    }
    for (int r = 0; r < f->size && !err && facts->nnodes > 1; r++)
        for (int k = p->first[r]; k < p->first[r + 1] && !err; k++)
            err = sluice_pass(why, sluice_set_project(&place, &s->file[k], &f->plan.node[facts->node_of[r]]));
    sluice_set_free(&place);
    return err;
}

/* All of them, as far as there is a closed form. */
static int go_through(sluice_forecast *f, const sluice_prospect *p, sketch *s, sluice_reason *why) {
    const bool write = p->facts.write;
    bool helped = false;
    int err = 0;
    if (!write && p->facts.together.way == SLUICE_WAY_AUTO) err = sluice_pass(why, help_oneself(p, s, &helped));
    if (err) return err;
    const bool some = anything(s);
    choose(f, p, some);
    if (!some || (!write && !f->two_phase)) return 0;
    err = p->known && !helped ? infer(f, p->known, why) : sluice_pass(why, ask(f, p, s));
    if (!err && write) err = settle(f, p, s, why);
    f->unsettled = write && err == SLUICE_E_COMPLEX;
    if (!err && write) err = sluice_pass(why, find_memory(p, s));
    if (!err && f->two_phase) err = plan(f, p, s, why);
    return err;
}

/* ---- What comes of it ---------------------------------------------------------------------------------------- */

/* A process that moves its own; without a plan for all, writes leave nothing out. */
static int count_own(sluice_forecast *f, const sluice_prospect *p, const sketch *s, int r) {
    const bool write = p->facts.write;
    sluice_io_plan how = p->own;
    int64_t mapped = 0;
    int n = 0;
    for (int k = p->first[r]; k < p->first[r + 1]; k++) {
        sluice_io_part part = p->part[k];
        if (!write || !f->complex) part.file = &s->file[k];
        if (s->mem[k].size && !f->complex) part.mem.set = &s->mem[k];
        if (!part.file->size) continue;
        if (is_mapped(p, k, part.file))
            mapped += part.file->size;
        else
            s->part[n++] = part;
    }
    /* What was reserved for windows is lost to the buffer. */
    const int64_t left = p->facts.memory + SLUICE_IO_LEAST - sluice_ceil_div(s->room[r], PAGE) * PAGE;
    if (s->room[r]) how.window = sluice_min(how.window, sluice_max(left, SLUICE_IO_LEAST));
    const int err = sluice_predict_own(&f->of[r], s->part, n, &how, write);
    if (err) return err;
    sluice_counts *c = &f->of[r].counts;
    *(write ? &c->mapped_written : &c->mapped_read) += mapped;
    *(write ? &c->wanted_written : &c->wanted_read) += mapped;
    f->of[r].memory += s->room[r];
    return 0;
}

static int count(sluice_forecast *f, const sluice_prospect *p, const sketch *s) {
    int err = f->two_phase ? sluice_predict_two_phase(f->of, &f->plan, &p->facts, f->moved) : 0;
    for (int r = 0; r < f->size && !err && !f->two_phase; r++) err = count_own(f, p, s, r);
    for (int r = 0; r < f->size && !err; r++) {
        sluice_counts *c = &f->of[r].counts;
        int64_t asked = 0, left = bytes_left(p, s, r);
        for (int k = p->first[r]; k < p->first[r + 1]; k++) asked += p->part[k].file->size;
        c->descriptors = s->told[r];
        c->plans = s->planned;
        if (f->two_phase) *(p->facts.write ? &c->wanted_written : &c->wanted_read) = left;
        if (p->facts.write) continue;
        c->mapped_read += asked - left;
        c->wanted_read += asked - left;
    }
    return err;
}

int sluice_forecast_make(sluice_forecast *out, const sluice_prospect *p, sluice_reason *why) {
    const size_t n = (size_t)p->facts.size;
    sluice_forecast f = {
        .size = p->facts.size, .moved = sluice_mem_alloc(n, sizeof *f.moved), .of = sluice_mem_alloc(n, sizeof *f.of)};
    sketch s = {0};
    if (f.moved) memset(f.moved, 0, n * sizeof *f.moved);
    if (f.of) memset(f.of, 0, n * sizeof *f.of);
    int err = sluice_pass(why, f.moved && f.of ? sketch_make(&s, p) : -ENOMEM);
    if (!err) err = go_through(&f, p, &s, why);
    if (err == SLUICE_E_COMPLEX && !(f.unsettled && p->facts.together.refuse_conflicts)) {
        sluice_plan_free(&f.plan);
        f.two_phase = false;
        f.complex = true;
        f.reason = "too complex to plan";
        err = 0;
    }
    if (!err) err = sluice_pass(why, count(&f, p, &s));
    sketch_free(&s);
    if (err)
        sluice_forecast_free(&f);
    else
        *out = f;
    return err;
}

void sluice_forecast_free(sluice_forecast *f) {
    for (int r = 0; f->moved && r < f->size; r++) sluice_set_free(&f->moved[r]);
    sluice_mem_free(f->moved);
    sluice_mem_free(f->of);
    sluice_plan_free(&f->plan);
    *f = (sluice_forecast){0};
}
