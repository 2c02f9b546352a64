/* forecast.c: the course of a collective call (collective.c), foretold: which way it takes and why, and what each
 * process will do. */
#include "io/predict.h"
#include <errno.h>
#include <string.h>

static bool anything(const sluice_set *s, int n) {
    for (int r = 0; r < n; r++)
        if (s[r].size) return true;
    return false;
}

/* ---- Parts --------------------------------------------------------------------------------------------------- */

static int first_of(const sluice_prospect *p, int r) { return p->first ? p->first[r] : r; }

static sluice_io_part part_of(const sluice_prospect *p, int k) {
    return p->part ? p->part[k] : (sluice_io_part){&p->request[k], {NULL, NULL, 0, 0}};
}

/* What is left of the parts of all ranks when higher ranks have taken theirs; before that, all of it. */
typedef struct rest {
    int n;
    sluice_set *file, *mem; /* mem: empty if what is left is packed */
    sluice_io_part *part;   /* room for the parts of a rank */
} rest;

static int rest_make(rest *out, const sluice_prospect *p) {
    rest s = {.n = first_of(p, p->facts.size)};
    s.file = sluice_mem_alloc((size_t)sluice_max(s.n, 1), 2 * sizeof *s.file);
    s.part = sluice_mem_alloc((size_t)sluice_max(s.n, 1), sizeof *s.part);
    int err = s.file && s.part ? 0 : -ENOMEM;
    if (s.file) {
        memset(s.file, 0, 2 * (size_t)s.n * sizeof *s.file);
        s.mem = s.file + s.n;
    }
    for (int k = 0; k < s.n && !err; k++) {
        const sluice_io_part part = part_of(p, k);
        err = sluice_set_copy(&s.file[k], part.file);
        if (!err && part.mem.set) err = sluice_set_copy(&s.mem[k], part.mem.set);
    }
    *out = s;
    return err;
}

static void rest_free(rest *s) {
    for (int k = 0; s->file && k < 2 * s->n; k++) sluice_set_free(&s->file[k]);
    sluice_mem_free(s->file);
    sluice_mem_free(s->part);
}

/* Takes `lost` away from part k. */
static int take_away(rest *s, int k, const sluice_set *lost) {
    sluice_set kept = SLUICE_SET_EMPTY;
    int err = sluice_conflict_leave_out(&s->file[k], &kept, lost);
    if (!err)
        err = s->mem[k].size ? sluice_set_embed(&s->mem[k], &kept, &s->mem[k]) : sluice_set_copy(&s->mem[k], &kept);
    sluice_set_free(&kept);
    return err;
}

/* ---- The way ------------------------------------------------------------------------------------------------- */

/* Whether what is left of a part goes through the mapping. */
static bool is_mapped(const sluice_prospect *p, int k, const sluice_set *file) {
    return p->cached[k] && (!p->facts.write || p->mapped || !sluice_io_long_runs(file));
}

static bool would_write_own(const sluice_prospect *p) {
    if (p->facts.together.way != SLUICE_WAY_AUTO) return p->facts.together.way == SLUICE_WAY_OWN;
    for (int k = 0; k < first_of(p, p->facts.size); k++) {
        const sluice_set *file = part_of(p, k).file;
        if (file->size && !sluice_io_long_runs(file) && !is_mapped(p, k, file)) return false;
    }
    return true;
}

static void choose(sluice_forecast *f, const sluice_prospect *p) {
    const sluice_way way = p->facts.together.way;
    if (p->facts.write) {
        bool own = would_write_own(p), none = !anything(p->request, f->size);
        f->two_phase = !own && !none;
        f->reason = none                     ? "nothing to write"
                    : way != SLUICE_WAY_AUTO ? "as told"
                    : own                    ? "cached, or in long runs"
                                             : "in short runs";
        return;
    }
    f->two_phase = way != SLUICE_WAY_OWN && anything(f->moved, f->size);
    f->reason = way != SLUICE_WAY_AUTO ? "as told" : f->two_phase ? "not all of it is cached" : "all of it is cached";
}

/* ---- What each does ------------------------------------------------------------------------------------------ */

/* A process that moves its own. */
static int foretell_own(sluice_forecast *f, const sluice_prospect *p, const rest *s, int r) {
    const bool write = p->facts.write;
    int64_t mapped = 0;
    int n = 0;
    for (int k = first_of(p, r); k < first_of(p, r + 1); k++) {
        if (!s->file[k].size) continue;
        if (is_mapped(p, k, &s->file[k]))
            mapped += s->file[k].size;
        else
            s->part[n++] = (sluice_io_part){&s->file[k], {NULL, s->mem[k].size ? &s->mem[k] : NULL, 0, 0}};
    }
    const int err = sluice_predict_own(&f->of[r], s->part, n, &p->own, write);
    if (err) return err;
    sluice_counts *c = &f->of[r].counts;
    *(write ? &c->mapped_written : &c->mapped_read) += mapped;
    *(write ? &c->wanted_written : &c->wanted_read) += mapped;
    return 0;
}

/* Takes away what higher ranks overwrite. */
static int settle(sluice_forecast *f, const sluice_prospect *p, rest *s, sluice_reason *why) {
    sluice_set lost = SLUICE_SET_EMPTY;
    int err = 0;
    for (int r = 0; r < f->size && !err; r++) {
        const int first = first_of(p, r), end = first_of(p, r + 1);
        err = sluice_conflict_lost(&lost, p->request, f->size, r, p->facts.together.refuse_conflicts, why);
        if (err || !lost.size) continue;
        f->conflict = true;
        for (int k = first; k < end && !err; k++) err = take_away(s, k, &lost);
        if (!err) err = sluice_conflict_unite(&f->moved[r], s->file + first, end - first);
        sluice_pass(why, err);
    }
    sluice_set_free(&lost);
    return err;
}

/* What of a request is left for requests when the process has helped itself to what is cached. */
static int leave(sluice_forecast *f, const sluice_prospect *p, rest *s, int r, bool *helped) {
    const int first = first_of(p, r), end = first_of(p, r + 1);
    int err = 0;
    bool some = false;
    for (int k = first; k < end && !err; k++) {
        if (!p->cached[k] || !s->file[k].size) continue;
        some = true;
        err = sluice_set_block(&s->file[k], 0, 0);
    }
    *helped |= some;
    if (err) return err;
    return some ? sluice_conflict_unite(&f->moved[r], s->file + first, end - first)
                : sluice_set_copy(&f->moved[r], &p->request[r]);
}

/* Descriptions of requests travel for writes, and for two-phase reads; between nodes once more after conflicts. */
static void foretell_descriptors(sluice_forecast *f, const sluice_prospect *p, bool helped) {
    if ((!f->two_phase && !p->facts.write) || (p->known && !helped)) return;
    if (!anything(p->request, f->size)) return;
    for (int r = 0; r < f->size; r++) {
        int64_t settled = sluice_set_pack(&f->moved[r], NULL, 0);
        f->of[r].counts.descriptors = p->facts.write ? sluice_set_pack(&p->request[r], NULL, 0) : settled;
        if (f->conflict && p->facts.nnodes > 1) f->of[r].counts.descriptors += settled;
    }
}

static int foretell(sluice_forecast *f, const sluice_prospect *p, rest *s, sluice_reason *why) {
    const bool write = p->facts.write, auto_read = !write && p->facts.together.way == SLUICE_WAY_AUTO;
    bool helped = false;
    int err = 0;
    for (int r = 0; r < f->size && !err; r++)
        err = sluice_pass(why, auto_read ? leave(f, p, s, r, &helped) : sluice_set_copy(&f->moved[r], &p->request[r]));
    if (!err) choose(f, p);
    if (!err && write) err = settle(f, p, s, why);
    if (!err && f->two_phase) err = sluice_plan_make(&f->plan, &p->facts, f->moved, why);
    if (!err && f->two_phase) err = sluice_pass(why, sluice_predict_two_phase(f->of, &f->plan, &p->facts, f->moved));
    for (int r = 0; r < f->size && !err && !f->two_phase; r++) err = sluice_pass(why, foretell_own(f, p, s, r));
    for (int r = 0; r < f->size && !err && auto_read; r++) {
        f->of[r].counts.mapped_read = p->request[r].size - f->moved[r].size;
        f->of[r].counts.wanted_read += f->of[r].counts.mapped_read;
    }
    if (!err) foretell_descriptors(f, p, helped);
    return err;
}

/* Where there is no closed form of who moves what. */
static int foretell_alone(sluice_forecast *f, const sluice_prospect *p, const rest *s, sluice_reason *why) {
    int err = 0;
    sluice_plan_free(&f->plan);
    f->two_phase = f->conflict = false;
    f->complex = true;
    f->reason = "too complex to plan";
    for (int r = 0; r < f->size && !err; r++) {
        err = sluice_set_copy(&f->moved[r], &p->request[r]);
        if (!err) err = foretell_own(f, p, s, r);
    }
    if (!err) foretell_descriptors(f, p, false);
    return sluice_pass(why, err);
}

int sluice_forecast_make(sluice_forecast *out, const sluice_prospect *p, sluice_reason *why) {
    const size_t n = (size_t)p->facts.size;
    sluice_forecast f = {
        .size = p->facts.size, .moved = sluice_mem_alloc(n, sizeof *f.moved), .of = sluice_mem_alloc(n, sizeof *f.of)};
    rest s = {0};
    if (f.moved) memset(f.moved, 0, n * sizeof *f.moved);
    if (f.of) memset(f.of, 0, n * sizeof *f.of);
    int err = sluice_pass(why, f.moved && f.of ? rest_make(&s, p) : -ENOMEM);
    if (!err) err = foretell(&f, p, &s, why);
    if (err == SLUICE_E_COMPLEX && !p->facts.together.refuse_conflicts) {
        rest_free(&s);
        err = sluice_pass(why, rest_make(&s, p));
        if (!err) err = foretell_alone(&f, p, &s, why);
    }
    rest_free(&s);
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
