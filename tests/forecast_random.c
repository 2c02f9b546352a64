/* ranks: 1 2 3 4 */
/* forecast_random.c: a collective call does what was foretold: way, calls, bytes, prereads, rounds, messages,
 * descriptions and memory of each process, for random sections, ways, divisions, nodes and limits of memory, in one
 * file and in subfiles; also where the sets are too complex for a limit of work, at any step of the call, and where
 * everyone's request is known beforehand. */
#include "array/array.h"
#include "io/predict.h"
#include "sluice_mpi.h"
#include "support/requests.h"
#include "together.h"
#include <errno.h>

enum { MAX_DIMS = 3, MAX_SUBFILES = 9, PAGE = 4096, ROOM = 8 << 20 };

static uint64_t seed;
static int64_t step;
static unsigned char *buf;
static struct {
    int64_t two_phase, own, mapped, conflicts, prereads, messages, many_rounds, layouts, refused;
    int64_t early, unplanned, given_up; /* too complex: to settle who writes what, to plan, to go on */
} seen;

static void same(const char *what, int64_t foretold, int64_t done) {
    if (foretold != done) fail("%s: %lld, foretold %lld", what, (long long)done, (long long)foretold);
}

/* What the call did, beside what was foretold. */
static void compare(const sluice_counts *f, const sluice_counts *was, const sluice_counts *is) {
#define SAME(field) same(#field, f->field, is->field - was->field)
    SAME(calls_read);
    SAME(calls_write);
    SAME(bytes_read);
    SAME(bytes_written);
    SAME(wanted_read);
    SAME(wanted_written);
    SAME(preread);
    SAME(mapped_read);
    SAME(mapped_written);
    SAME(rounds);
    SAME(messages);
    SAME(message_bytes);
    SAME(descriptors);
    SAME(plans);
#undef SAME
}

static void draw_way(chance *c, sluice_array *a) {
    draw_together(&a->collective->together, c, size);
    a->collective->together.refuse_conflicts = chance_once_in(c, 6);
    a->io.no_map = chance_once_in(c, 2);
    a->io.method = (sluice_method)chance_draw(c, 0, 4);
}

/* What all want: of an array in subfiles, the parts of each in the space of these. */
typedef struct wishes {
    sluice_set wanted[MAX_RANKS];
    sluice_pieces pieces[MAX_RANKS];
    int first[MAX_RANKS + 1];
    sluice_io_part part[MAX_RANKS * MAX_SUBFILES];
    bool cached[MAX_RANKS * MAX_SUBFILES];
} wishes;

static void split(wishes *w, const sluice_array *a) {
    for (int r = 0; r < size; r++) {
        must(sluice_split(&w->pieces[r], a->layout, &(sluice_io_part){&w->wanted[r], {0}}, 1), "split");
        must(sluice_split_file(&w->wanted[r], a->layout, &w->wanted[r]), "split");
        for (int k = 0; k < w->pieces[r].n; k++) w->part[w->first[r] + k] = w->pieces[r].part[k];
        w->first[r + 1] = w->first[r] + w->pieces[r].n;
    }
}

static sluice_prospect look(sluice_array *a, bool write, wishes *w) {
    const sluice_collective *t = a->collective;
    const sluice_group *g = t->group;
    const sluice_extent e = sluice_all_extent(a);
    for (int r = 0; r < size; r++) w->first[r + 1] = r + 1;
    for (int r = 0; r < size; r++) w->part[r] = (sluice_io_part){.file = &w->wanted[r]};
    if (a->layout) split(w, a);
    for (int k = 0; k < w->first[size]; k++)
        w->cached[k] = w->part[k].file->size && sluice_io_reachable(&a->io, false, w->part[k].file, false) &&
                       (!write || sluice_map_writable(a->io.map));
    return (sluice_prospect){.facts = {.write = write,
                                       .size = size,
                                       .nnodes = g->nnodes,
                                       .node_of = g->node_of,
                                       .cores = g->cores,
                                       .together = t->together,
                                       .memory = sluice_max(t->memory - SLUICE_IO_LEAST, SLUICE_IO_LEAST),
                                       .gap = sluice_io_gap(&a->io, write),
                                       .align = a->io.store->facts.align,
                                       .origin = e.origin,
                                       .end = e.end,
                                       .slab = e.slab,
                                       .subfiles = e.subfiles},
                             .own = sluice_io_choose(&a->io, write),
                             .first = w->first,
                             .part = w->part,
                             .cached = w->cached,
                             .mapped = a->io.method == SLUICE_MAPPED};
}

/* A call: what this process asks for, how much work sets may be, and whether all know all requests. */
typedef struct call {
    bool write, known;
    const sluice_range *mine;
    int64_t limit;
} call;

static int tell(void *arg, int r, sluice_set *out, sluice_reason *why) {
    return sluice_pass(why, sluice_set_copy(out, &((const sluice_set *)arg)[r]));
}

/* Foretells a call, makes it and compares. */
static void foretell(sluice_array *a, wishes *w, call x, int64_t *room) {
    sluice_forecast f = {0};
    sluice_counts was, is;
    sluice_reason why, foretold;
    sluice_request r;
    const sluice_part part = {.range = x.mine, .buf = buf};
    sluice_prospect p = look(a, x.write, w);
    const sluice_known known = {tell, w->wanted, 1};
    if (x.known) p.known = &known;
    must(sluice_bind(&r, a, x.write, &part, 1, &why), "bind");
    sluice_count(a, &was);
    sluice_work_limit_set(x.limit);
    int err = sluice_forecast_make(&f, &p, &foretold),
        done = sluice_all_run(a, x.write, a->layout ? r.pieces.part : r.part, a->layout ? r.pieces.n : r.n,
                              x.known ? &known : NULL, true, 0, &why);
    sluice_work_limit_set(INT64_MAX);
    sluice_count(a, &is);
    sluice_bind_free(&r);
    same("result", err, done);
    if (done != err) fail("%s; foretold: %s", done ? why.text : "", err ? foretold.text : "");
    if (!err) compare(&f.of[rank].counts, &was, &is);
    int64_t reserved = a->collective->group->reserved[SLUICE_AREA_DATA];
    if (!err && f.two_phase) *room = sluice_max(*room, f.of[rank].memory);
    if (!err && !f.complex) same("memory", (*room + PAGE - 1) / PAGE * PAGE, reserved);
    *room = reserved;
    for (int i = 0; i < size; i++) {
        seen.mapped += !err && f.of[i].counts.mapped_read + f.of[i].counts.mapped_written > 0;
        seen.prereads += !err && f.of[i].counts.preread > 0;
        seen.messages += err ? 0 : f.of[i].counts.messages;
        sluice_set_free(&w->wanted[i]);
        sluice_split_free(&w->pieces[i]);
    }
    seen.two_phase += f.two_phase;
    seen.own += !f.two_phase;
    seen.conflicts += f.conflict;
    seen.many_rounds += f.plan.rounds > 1;
    seen.refused += err == SLUICE_E_SHARED;
    seen.given_up += err == SLUICE_E_COMPLEX;
    seen.early += f.complex && !f.of[0].counts.plans;
    seen.unplanned += f.complex && f.of[0].counts.plans;
    sluice_forecast_free(&f);
    sluice_collective_forget(a->collective);
    step++;
}

/* Combs of different steps, whose common teeth have no simple pattern. */
static void draw_comb(sluice_range *range, chance *c, const sluice_shape *s) {
    for (int d = 0; d < s->ndims; d++) {
        const int64_t stride = chance_draw(c, 1, sluice_max(1, sluice_min(s->dim[d] / 3, 400))),
                      start = chance_draw(c, 0, sluice_min(stride, s->dim[d]) - 1);
        range[d] = (sluice_range){start, (s->dim[d] - start - 1) / stride + 1, stride};
    }
}

static void one_call(chance *c, sluice_array *a, int64_t *room) {
    sluice_range range[MAX_RANKS][MAX_DIMS];
    wishes w = {0};
    call x = {.write = chance_once_in(c, 2), .known = chance_once_in(c, 4), .mine = range[rank], .limit = INT64_MAX};
    bool alike = chance_once_in(c, 5);
    if (chance_once_in(c, 2)) x.limit = chance_once_in(c, 2) ? 0 : chance_low(c, 1, 200);
    bool combs = x.limit < INT64_MAX && chance_once_in(c, 2);
    snprintf(doing, sizeof doing, "seed %llu, step %lld", (unsigned long long)seed, (long long)step);
    watch();
    for (int r = 0; r < size; r++) {
        (combs ? draw_comb : draw_section)(range[r], c, &a->desc.shape);
        if (alike) memcpy(range[r], range[0], sizeof range[r]);
        must(sluice_set_section(&w.wanted[r], &a->desc.shape, range[r], NULL), "section");
    }
    foretell(a, &w, x, room);
}

/* Brings all of the file into the mapping, so that it does not matter how often it is asked whether it is there. */
static void fetch(sluice_array *a) {
    const int64_t whole[] = {0, sluice_desc_end(&a->desc)}, *run = a->layout ? a->subfiles.run : whole;
    a->io.method = SLUICE_MAPPED;
    for (int i = 0; i < (a->layout ? a->layout->n : 1); i++) {
        sluice_set all = SLUICE_SET_EMPTY;
        must(sluice_set_block(&all, run[2 * i], run[2 * i + 1] - run[2 * i]), "block");
        sluice_io_reachable(&a->io, false, &all, false);
        sluice_set_free(&all);
    }
}

static void draw_layout(char *text, size_t cap, chance *c) {
    const char *const kind[] = {"rows:", "columns:", "block:", "cyclic:%d:", "striped:%d:", "tiles:%d:"};
    char before[64];
    snprintf(before, sizeof before, kind[chance_draw(c, 0, 5)],
             (int)chance_draw(c, 1, chance_once_in(c, 3) ? 20000 : 9));
    snprintf(text, cap, "%s%d", before, (int)chance_draw(c, 1, MAX_SUBFILES));
}

static void session(chance *c, int nodes, int steps, bool contained) {
    char layout[100], name[4096];
    sluice_desc d = {.shape = {.ndims = (int)chance_draw(c, 1, MAX_DIMS),
                               .order = chance_once_in(c, 2) ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR,
                               .elem = chance_draw(c, 1, 9),
                               .header = chance_draw(c, 0, 100)}};
    for (int k = 0; k < d.shape.ndims; k++)
        d.shape.dim[k] = d.shape.ndims == 1 ? chance_draw(c, 1, 200000) : chance_draw(c, 1, 60);
    sluice_options o = {.size = sizeof o,
                        .replace = 1,
                        .exclusive = 1,
                        .memory = chance_once_in(c, 2) ? 4096 * chance_draw(c, 1, 16) : 0};
    o.together.nodes = nodes;
    sluice_array *a;
    int64_t room = 0;
    snprintf(name, sizeof name, "%s%s", path, contained ? ".sluice" : "");
    if (contained) {
        draw_layout(layout, sizeof layout, c);
        o.layout = layout;
        d.shape.header = 0;
        seen.layouts++;
    }
    must(sluice_create_all(&a, MPI_COMM_WORLD, name, &d, &o), "create");
    /* Else it depends on who comes first whether another process has claimed the file, and gaps stay where they are. */
    a->io.exclusive = true;
    fetch(a);
    for (int i = 0; i < steps; i++) {
        draw_way(c, a);
        one_call(c, a, &room);
    }
    must(sluice_close(a), "close");
    MPI_Barrier(MPI_COMM_WORLD);
    sluice_reason why;
    if (contained && rank == 0 && sluice_container_delete(name, NULL, &why)) fail("%s", why.text);
}

/* A run of a subfile whose memory is in more pieces than a request can have is requested several times. */
static void many_pieces(void) {
    const sluice_desc d = {.shape = {.ndims = 1, .dim = {ROOM}, .elem = 1}};
    const sluice_options o = {
        .size = sizeof o, .layout = "striped:4K:2", .method = SLUICE_LIST, .together = {.way = SLUICE_WAY_OWN}};
    const sluice_range all = {0, ROOM, 1}, some = {3 * PAGE - 100, ROOM / 2, 1};
    char name[4096];
    sluice_array *a;
    int64_t room = 0;
    snprintf(name, sizeof name, "%s.sluice", path);
    snprintf(doing, sizeof doing, "many pieces");
    must(sluice_create_all(&a, MPI_COMM_WORLD, name, &d, &o), "create");
    for (int i = 0; i < 4; i++) {
        const sluice_range *range = i % 2 ? &some : &all;
        wishes w = {0};
        for (int r = 0; r < size; r++) must(sluice_set_section(&w.wanted[r], &a->desc.shape, range, NULL), "section");
        foretell(a, &w, (call){.write = i > 1, .mine = range, .limit = INT64_MAX}, &room);
    }
    must(sluice_close(a), "close");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && sluice_container_delete(name, NULL, NULL)) fail("%s stays", name);
}

int main(int argc, char **argv) {
    together_start(&argc, &argv, "forecast_random");
    int steps = together_cases(60);
    seed = together_seed();
    buf = calloc(1, ROOM);
    if (!buf) must(-ENOMEM, "buffer");
    int64_t live = sluice_mem_live();
    chance c = {0};
    chance_seed(&c, seed);
    for (int i = 0; i < 4; i++) session(&c, 0, steps, false);
    for (int i = 0; i < 6; i++) session(&c, 0, steps / 2, true);
    for (int nodes = 2; nodes <= size && nodes <= 3; nodes++)
        for (int i = 0; i < 3; i++) session(&c, nodes, steps * 2 / (i ? 10 : 5), i > 0);
    if (size > 3) session(&c, size, steps / 4, false);
    many_pieces();
    same("memory that is not given back", 0, sluice_mem_live() - live);
    if (size > 1 && steps >= 60 && (!seen.early || !seen.unplanned)) fail("nothing was too complex");
    if (rank == 0)
        printf(
            "%lld calls two-phase, %lld own; %lld mapped, %lld conflicts, %lld prereads, %lld messages, %lld of many "
            "rounds; %lld containers\n%lld conflicts refused; too complex: %lld before a plan, %lld for a plan, %lld "
            "at "
            "all\n",
            (long long)seen.two_phase, (long long)seen.own, (long long)seen.mapped, (long long)seen.conflicts,
            (long long)seen.prereads, (long long)seen.messages, (long long)seen.many_rounds, (long long)seen.layouts,
            (long long)seen.refused, (long long)seen.early, (long long)seen.unplanned, (long long)seen.given_up);
    chance_free(&c);
    free(buf);
    return together_end();
}
