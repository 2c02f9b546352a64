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

/* Whether what is left of a request goes through the mapping. */
static bool is_mapped(const sluice_prospect *p, int r, const sluice_set *file) {
    return p->cached[r] && (!p->facts.write || p->mapped || !sluice_io_long_runs(file));
}

static bool would_write_own(const sluice_prospect *p) {
    if (p->facts.together.way != SLUICE_WAY_AUTO) return p->facts.together.way == SLUICE_WAY_OWN;
    for (int r = 0; r < p->facts.size; r++) {
        const sluice_set *file = &p->request[r];
        if (file->size && !sluice_io_long_runs(file) && !is_mapped(p, r, file)) return false;
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

/* A process that moves its own; straight: see sluice_predict_own. */
static int foretell_own(sluice_forecast *f, const sluice_prospect *p, int r, bool straight) {
    bool write = p->facts.write;
    if (!is_mapped(p, r, &f->moved[r])) return sluice_predict_own(&f->of[r], &f->moved[r], &p->own, write, straight);
    int64_t n = f->moved[r].size;
    sluice_counts *c = &f->of[r].counts;
    *(write ? &c->mapped_written : &c->mapped_read) = *(write ? &c->wanted_written : &c->wanted_read) = n;
    return 0;
}

/* Takes away what higher ranks overwrite. straight[r]: what is left of a request lies in memory in long pieces. */
static int settle(sluice_forecast *f, const sluice_prospect *p, bool *straight, sluice_reason *why) {
    sluice_set lost = SLUICE_SET_EMPTY, kept = SLUICE_SET_EMPTY;
    int err = 0;
    for (int r = 0; r < f->size && !err; r++) {
        straight[r] = true;
        err = sluice_conflict_lost(&lost, p->request, f->size, r, p->facts.together.refuse_conflicts, why);
        if (err || !lost.size) continue;
        f->conflict = true;
        err = sluice_pass(why, sluice_conflict_leave_out(&f->moved[r], &kept, &lost));
        straight[r] = sluice_io_straight(&(sluice_io_part){&f->moved[r], {.set = &kept}}) != NULL;
    }
    sluice_set_free(&lost);
    sluice_set_free(&kept);
    return err;
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

static int foretell(sluice_forecast *f, const sluice_prospect *p, bool *straight, sluice_reason *why) {
    const bool write = p->facts.write, auto_read = !write && p->facts.together.way == SLUICE_WAY_AUTO;
    bool helped = false;
    int err = 0;
    for (int r = 0; r < f->size && !err; r++) {
        if (auto_read && p->cached[r]) {
            helped |= p->request[r].size > 0;
            continue;
        }
        err = sluice_pass(why, sluice_set_copy(&f->moved[r], &p->request[r]));
    }
    if (!err) choose(f, p);
    if (!err && write) err = settle(f, p, straight, why);
    if (!err && f->two_phase) err = sluice_plan_make(&f->plan, &p->facts, f->moved, why);
    if (!err && f->two_phase) err = sluice_pass(why, sluice_predict_two_phase(f->of, &f->plan, &p->facts, f->moved));
    for (int r = 0; r < f->size && !err && !f->two_phase; r++)
        err = sluice_pass(why, foretell_own(f, p, r, !write || straight[r]));
    for (int r = 0; r < f->size && !err && auto_read; r++)
        if (p->cached[r]) {
            f->of[r].counts.mapped_read = p->request[r].size;
            f->of[r].counts.wanted_read += p->request[r].size;
        }
    if (!err) foretell_descriptors(f, p, helped);
    return err;
}

/* Where there is no closed form of who moves what. */
static int foretell_alone(sluice_forecast *f, const sluice_prospect *p, sluice_reason *why) {
    int err = 0;
    sluice_plan_free(&f->plan);
    f->two_phase = f->conflict = false;
    f->complex = true;
    f->reason = "too complex to plan";
    for (int r = 0; r < f->size && !err; r++) {
        f->of[r] = (sluice_prediction){0};
        err = sluice_set_copy(&f->moved[r], &p->request[r]);
        if (!err) err = foretell_own(f, p, r, true);
    }
    if (!err) foretell_descriptors(f, p, false);
    return sluice_pass(why, err);
}

int sluice_forecast_make(sluice_forecast *out, const sluice_prospect *p, sluice_reason *why) {
    const size_t n = (size_t)p->facts.size;
    sluice_forecast f = {
        .size = p->facts.size, .moved = sluice_mem_alloc(n, sizeof *f.moved), .of = sluice_mem_alloc(n, sizeof *f.of)};
    bool *straight = sluice_mem_alloc(n, sizeof *straight);
    if (f.moved) memset(f.moved, 0, n * sizeof *f.moved);
    if (f.of) memset(f.of, 0, n * sizeof *f.of);
    int err = f.moved && f.of && straight ? 0 : sluice_pass(why, -ENOMEM);
    if (!err) err = foretell(&f, p, straight, why);
    if (err == SLUICE_E_COMPLEX && !p->facts.together.refuse_conflicts) err = foretell_alone(&f, p, why);
    sluice_mem_free(straight);
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
