/* collective.c: the course of a collective call. See collective.h.
 *
 * The page cache of a node is a window that its processes share already. So reading starts with each process helping
 * itself to what is cached, through the mapping, before it says a word; if that was all that anyone wanted, the call
 * ends with the first agreement. What is left is read by the two-phase method. Writing is the same with one step before
 * it: everyone must know first what the others write.
 */
#include "io/collective.h"
#include "io/serve.h"
#include "io/skew.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct call {
    sluice_collective *c;
    sluice_io *io;
    const sluice_extent *extent;
    const sluice_known *known;
    bool write;
    sluice_io_part *part; /* what is left to do; n may shrink */
    int n;
    bool helped;          /* some of it was read alone */
    bool same;            /* the parts are those of the last pattern, */
    int64_t shift;        /* so much further on */
    bool own;             /* we had better write ourselves */
    sluice_io_part *kept; /* the parts without what higher ranks overwrite, and */
    sluice_set *spare;    /* the sets of those that are not as they were */
    int64_t asked;        /* bytes */
    sluice_clock clock;
    double start;
    const char *way, *reason;
} call;

/* ---- The handle ---------------------------------------------------------------------------------------------- */

int sluice_collective_open(sluice_collective **out, MPI_Comm comm, const sluice_together *t, int64_t memory,
                           bool exclusive, int error, sluice_reason *why) {
    sluice_group *g;
    int err = sluice_group_open(&g, comm, error ? -1 : memory, error ? 0 : t->nodes, why);
    if (err) return err;
    sluice_collective *c = error ? NULL : sluice_mem_alloc(1, sizeof *c);
    if (!error && !c) error = sluice_pass(why, -ENOMEM);
    err = sluice_agree(g, error, why, NULL, 0);
    if (!err) err = sluice_skew_measure(g, why);
    if (err) {
        sluice_mem_free(c);
        sluice_group_close(g);
        return err;
    }
    const char *log = getenv("SLUICE_LOG");
    *c = (sluice_collective){.group = g,
                             .together = *t,
                             .memory = memory,
                             .exclusive = exclusive,
                             .log = g->rank == 0 && log && !strcmp(log, "why")};
    *out = c;
    return 0;
}

void sluice_collective_forget(sluice_collective *c) {
    for (int i = 0; i < 2; i++) sluice_pattern_forget(&c->last[i], c->group->size);
}

void sluice_collective_close(sluice_collective *c) {
    if (!c) return;
    sluice_collective_forget(c);
    sluice_group_close(c->group);
    sluice_mem_free(c);
}

int sluice_collective_name(const sluice_io *io, bool write, int error, sluice_reason *why) {
    enum { KEEP = 80 }; /* the end of a long path, so that the sentence fits behind it */
    if (!error) return 0;
    const sluice_reason detail = *why;
    const char *name = io->store->name;
    size_t len = strlen(name);
    return sluice_refuse(why, error, detail.pos, "%s %s%s: %s", write ? "write" : "read", len > KEEP ? "..." : "",
                         len > KEEP ? name + len - KEEP : name, detail.text);
}

/* For an error that has no sentence yet. */
static int refuse(const call *x, int error, sluice_reason *why) {
    return sluice_collective_name(x->io, x->write, sluice_pass(why, error), why);
}

/* ---- What each process does alone ---------------------------------------------------------------------------- */

/* Reads what is cached, or all of it if so told; what is left stays in the list. */
static int help_oneself(call *x, sluice_reason *why) {
    if (x->c->together.way == SLUICE_WAY_TWO_PHASE) return 0;
    if (x->c->together.way == SLUICE_WAY_OWN) {
        int err = sluice_io_read(x->io, x->part, x->n, why);
        x->n = 0;
        return err;
    }
    int left = 0;
    for (int i = 0, moved; i < x->n; i += (int)sluice_max(moved, 1)) {
        moved = sluice_io_mapped(x->io, false, &x->part[i], x->n - i, false);
        if (!moved) x->part[left++] = x->part[i];
    }
    x->helped = left < x->n;
    x->n = left;
    return 0;
}

/* Whether this process had better write what it asked for itself. */
static bool would_write_own(call *x) {
    if (x->c->together.way != SLUICE_WAY_AUTO) return x->c->together.way == SLUICE_WAY_OWN;
    for (int i = 0; i < x->n; i++) {
        const sluice_set *file = x->part[i].file;
        if (!sluice_io_long_runs(file) && !sluice_io_reachable(x->io, true, file, false)) return false;
    }
    return true;
}

/* Where each part lies in the file and in memory, without what higher ranks overwrite. */
static int find_memory(call *x, int64_t shift, sluice_reason *why) {
    const sluice_pattern *p = x->c->pattern;
    int err = 0;
    for (int i = 0; i < x->n; i++) x->kept[i] = x->part[i];
    for (int i = 0; p->kept && i < x->n && !err; i++) {
        const sluice_set *mem = x->part[i].mem.set;
        sluice_set *place = &x->spare[2 * i], *file = &x->spare[2 * i + 1];
        err = mem ? sluice_set_embed(place, &p->kept[i], mem) : sluice_set_copy(place, &p->kept[i]);
        if (!err) err = sluice_set_shift(file, &p->file[i], shift);
        x->kept[i].file = file;
        x->kept[i].mem.set = place;
    }
    return refuse(x, err, why);
}

/* ---- What they do together ----------------------------------------------------------------------------------- */

/* What the processes tell each other first; the smallest of each number goes to all. */
enum { EMPTY, OWN, UNTOUCHED, SAME, SHIFT, NOT_SHIFT, SAID };

/* Whether servers still have what the plan makes them move: parts, which lie in one subfile each, must do so in the
 * same one, and a server must know what is wanted, for all of its domain cannot be shifted. */
static bool stays(const call *x) {
    const sluice_pattern *p = x->c->pattern;
    for (int i = 0; i < x->n; i++) {
        const int64_t lo = sluice_set_lo(x->part[i].file);
        if (sluice_far_subfile(x->c->far, lo) != sluice_far_subfile(x->c->far, lo - x->shift)) return false;
    }
    return !p->planned || p->me < 0 || p->share.exact;
}

/* Whether our parts are those of the present pattern, x->shift further on. */
static int recognise(call *x, sluice_reason *why) {
    const sluice_pattern *p = x->c->pattern;
    unsigned char *key;
    int64_t nkey, lo;
    x->shift = INT64_MAX; /* of nothing: whatever the others say */
    if (!p->known) return 0;
    int err = sluice_pattern_key(x->part, x->n, &key, &nkey, &lo);
    if (err) return refuse(x, err, why);
    x->same = x->n == p->n && nkey == p->nkey && (!nkey || !memcmp(key, p->key, (size_t)nkey));
    if (x->same && x->n) x->shift = lo - p->lo;
    if (x->c->far && !stays(x)) x->same = false;
    sluice_mem_free(key);
    return 0;
}

/* The first agreement. said[] holds what all have said. */
static int consult(call *x, int err, int64_t *said, sluice_reason *why) {
    int64_t which = 2 * (x->known ? x->known->mark : 0) + x->write;
    said[EMPTY] = x->n == 0;
    said[UNTOUCHED] = !x->helped;
    said[OWN] = x->own;
    said[SAME] = x->same;
    said[SHIFT] = x->shift;
    said[NOT_SHIFT] = x->shift == INT64_MAX ? INT64_MAX : -x->shift;
    err = sluice_agree_on(x->c->group, which, err, why, said, SAID);
    bool together = said[SHIFT] == INT64_MAX || said[SHIFT] == -said[NOT_SHIFT];
    if (said[SHIFT] == INT64_MAX) said[SHIFT] = 0;
    if (!together) said[SAME] = 0;
    return err;
}

/* While aggregators read, change and write back their domains, no handle outside the group may write there: the first
 * process locks the range of all requests for the group, whose own claims are given up for that (lock.c). Not sooner: a
 * process that still writes alone may have to wait for it. *gaps becomes false if someone outside has claimed the file:
 * then no gap may be moved along. */
static int guard(call *x, int64_t shift, bool *gaps, sluice_reason *why) {
    sluice_collective *c = x->c;
    const sluice_plan *p = &c->pattern->plan;
    if (!x->write || c->exclusive || !c->locks) return 0;
    int err = sluice_io_disclaim(x->io, why);
    err = sluice_agree(c->group, err, why, NULL, 0);
    if (err) return err;
    if (c->group->rank == 0) err = sluice_io_enter(x->io, p->lo + shift, p->hi - p->lo, true, why);
    int64_t may = err != -EBUSY;
    if (err == -EBUSY) err = sluice_io_enter(x->io, p->lo + shift, p->hi - p->lo, false, why);
    err = sluice_agree(c->group, err, why, &may, 1);
    *gaps = may;
    return err;
}

static int unguard(call *x, int64_t shift, bool gaps, sluice_reason *why) {
    sluice_collective *c = x->c;
    const sluice_plan *p = &c->pattern->plan;
    if (!x->write || c->exclusive || !c->locks) return 0;
    int err = c->group->rank == 0 ? sluice_io_leave(x->io, p->lo + shift, p->hi - p->lo, gaps, why) : 0;
    return sluice_agree(c->group, err, why, NULL, 0);
}

/* What is left, by aggregators. */
static int two_phase(call *x, int64_t shift, sluice_reason *why) {
    sluice_collective *c = x->c;
    int64_t wanted = 0;
    int err = 0;
    if (!c->pattern->planned) {
        double start = sluice_clock_now();
        err = sluice_pattern_plan(c, x->io, x->extent, why);
        c->pattern->complex = err == SLUICE_E_COMPLEX;
        x->clock.plan += sluice_clock_now() - start;
    }
    bool gaps = true;
    if (!err) err = guard(x, shift, &gaps, why);
    if (err) return err;
    err = sluice_rounds(c, x->io, x->kept, shift, gaps, &x->clock, &wanted, why);
    err = sluice_agree(c->group, err, why, NULL, 0);
    if (!err) *(x->write ? &x->io->counts.wanted_written : &x->io->counts.wanted_read) += wanted;
    sluice_reason late;
    int unlocked = unguard(x, shift, gaps, err ? &late : why);
    if (unlocked && err == SLUICE_E_COMPLEX) *why = late; /* no one can go on alone with the range locked */
    return err && !(unlocked && err == SLUICE_E_COMPLEX) ? err : unlocked;
}

/* One of those who move their own is done: all agree on the error. Servers answer the others until then. */
static int agree_turn(call *x, int err, sluice_reason *why) {
    if (x->c->far) err = sluice_far_meet(x->c->far, SLUICE_CALL_TURN, 0, err, why);
    return sluice_agree(x->c->group, err, why, NULL, 0);
}

/* Where who moves what has no closed form, each process moves its own: reads at once, writes one after the other and
 * all that was asked for, so that the highest rank wins. */
static int alone(call *x, sluice_reason *why) {
    sluice_group *g = x->c->group;
    x->way = x->write ? "in turn" : "own";
    x->reason = "too complex to plan";
    if (!x->write) return agree_turn(x, sluice_io_read(x->io, x->part, x->n, why), why);
    int err = 0;
    for (int r = 0; r < g->size && !err; r++) {
        if (r == g->rank) err = sluice_io_write(x->io, x->part, x->n, why);
        err = agree_turn(x, err, why);
    }
    return err;
}

static int learn(call *x, int64_t *said, sluice_reason *why) {
    double start = sluice_clock_now();
    int err = 0;
    /* What is known is what was asked for; if some have helped themselves, the rest is not. */
    const sluice_known *known = said[UNTOUCHED] ? x->known : NULL;
    if (!said[SAME]) {
        err = sluice_pattern_learn(x->c, x->io, x->write, x->part, x->n, known, why);
        said[SHIFT] = 0;
    }
    x->clock.plan += sluice_clock_now() - start;
    return err;
}

static int read_together(call *x, int err, sluice_reason *why) {
    int64_t said[SAID];
    if (!err) err = help_oneself(x, why);
    if (!err) err = recognise(x, why);
    x->way = "own";
    x->reason = x->c->together.way == SLUICE_WAY_OWN ? "as told" : "all of it is cached";
    err = consult(x, err, said, why);
    if (err || said[EMPTY]) return err;
    x->way = "two-phase";
    x->reason = x->c->together.way == SLUICE_WAY_TWO_PHASE ? "as told" : "not all of it is cached";
    err = learn(x, said, why);
    if (err) return err;
    find_memory(x, 0, why); /* no one overwrites, so that nothing can fail */
    err = x->c->pattern->complex ? SLUICE_E_COMPLEX : two_phase(x, said[SHIFT], why);
    return err == SLUICE_E_COMPLEX ? alone(x, why) : err;
}

static int write_together(call *x, int err, sluice_reason *why) {
    int64_t said[SAID];
    if (!err) err = recognise(x, why);
    x->own = !err && would_write_own(x);
    x->way = "own";
    x->reason = "nothing to write";
    err = consult(x, err, said, why);
    if (err || said[EMPTY]) return err;
    bool own = said[OWN];
    x->way = own ? "own" : "two-phase";
    x->reason = x->c->together.way != SLUICE_WAY_AUTO ? "as told" : own ? "cached, or in long runs" : "in short runs";
    err = learn(x, said, why);
    if (err) return err;
    if (x->c->pattern->complex) return alone(x, why);
    err = find_memory(x, said[SHIFT], why);
    if (x->c->pattern->conflict) err = sluice_agree(x->c->group, err, why, NULL, 0); /* else it cannot fail */
    if (!err && own) return sluice_agree(x->c->group, sluice_io_write(x->io, x->kept, x->n, why), why, NULL, 0);
    if (!err) err = two_phase(x, said[SHIFT], why);
    return err == SLUICE_E_COMPLEX ? alone(x, why) : err;
}

/* ---- The call ------------------------------------------------------------------------------------------------ */

/* One line; what rank 0 transferred beyond what was asked for is wasted. */
static void report(const call *x, const sluice_counts *before, int err) {
    const sluice_counts *c = &x->io->counts;
    const sluice_clock *t = &x->clock;
    const sluice_pattern *p = x->c->pattern;
    int64_t bytes = c->bytes_read - before->bytes_read + c->bytes_written - before->bytes_written,
            mapped = c->mapped_read - before->mapped_read + c->mapped_written - before->mapped_written,
            useful = p->planned && c->rounds > before->rounds ? p->share.wanted.size : x->asked - mapped;
    fprintf(stderr,
            "sluice: %s %s: %s, %s: %.3f ms (plan %.3f, exchange %.3f, I/O %.3f, copy %.3f); rank 0 wanted %lld bytes, "
            "transferred %lld in %lld calls, wasted %lld%s\n",
            x->write ? "write_all" : "read_all", x->io->store->name, x->way, x->reason,
            1e3 * (sluice_clock_now() - x->start), 1e3 * t->plan, 1e3 * t->exchange, 1e3 * t->io, 1e3 * t->copy,
            (long long)x->asked, (long long)bytes,
            (long long)(c->calls_read - before->calls_read + c->calls_write - before->calls_write),
            (long long)sluice_max(bytes - useful, 0), err ? "; failed" : "");
}

/* Room for the parts that have bytes. */
static int collect(call *x, const sluice_io_part *part, int n, sluice_reason *why) {
    size_t each = 2 * sizeof *x->part + 2 * sizeof *x->spare;
    x->part = sluice_mem_alloc((size_t)n, each);
    if (!x->part) return refuse(x, -ENOMEM, why);
    for (int i = 0; i < n; i++) {
        if (!part[i].file->size) continue;
        x->part[x->n++] = part[i];
        x->asked += part[i].file->size;
    }
    x->kept = x->part + n;
    x->spare = (sluice_set *)(x->kept + n);
    memset(x->spare, 0, 2 * (size_t)n * sizeof *x->spare);
    return 0;
}

int sluice_collective_move(sluice_collective *c, sluice_io *io, const sluice_extent *e, bool write,
                           const sluice_io_part *part, int n, const sluice_known *known, int error,
                           sluice_reason *why) {
    call x = {.c = c, .io = io, .extent = e, .known = known, .write = write, .start = sluice_clock_now()};
    sluice_counts before = io->counts;
    int err = error;
    c->pattern = &c->last[write];
    if (!err && n) err = collect(&x, part, n, why);
    int room = x.n;
    err = (write ? write_together : read_together)(&x, err, why);
    if (c->log) report(&x, &before, err);
    for (int i = 0; i < 2 * room; i++) sluice_set_free(&x.spare[i]);
    sluice_mem_free(x.part);
    return err;
}
