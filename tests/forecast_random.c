/* ranks: 1 2 3 4 */
/* forecast_random.c: a collective call does what was foretold: way, calls, bytes, prereads, rounds, messages,
 * descriptions and memory of each process, for random sections, ways, divisions, nodes and limits of memory. */
#include "array/array.h"
#include "io/predict.h"
#include "sluice_mpi.h"
#include "support/requests.h"
#include "together.h"
#include <errno.h>

enum { MAX_DIMS = 3, PAGE = 4096, ROOM = 4 << 20 };

static uint64_t seed;
static int64_t step;
static unsigned char *buf;
static struct { int64_t two_phase, own, mapped, conflicts, prereads, messages, many_rounds; } seen;

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
    a->io.no_map = chance_once_in(c, 2);
    a->io.method = (sluice_method)chance_draw(c, 0, 4);
}

static sluice_prospect look(sluice_array *a, bool write, const sluice_set *wanted, bool *cached) {
    const sluice_collective *t = a->collective;
    const sluice_group *g = t->group;
    const sluice_shape *s = &a->desc.shape;
    int64_t end = sluice_desc_end(&a->desc), slowest = s->dim[s->order == SLUICE_ROW_MAJOR ? 0 : s->ndims - 1];
    for (int r = 0; r < size; r++)
        cached[r] = wanted[r].size && sluice_io_reachable(&a->io, false, &wanted[r], false) &&
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
                                       .origin = s->header,
                                       .end = end,
                                       .slab = (end - s->header) / slowest},
                             .own = sluice_io_choose(&a->io, write),
                             .request = wanted,
                             .cached = cached,
                             .mapped = a->io.method == SLUICE_MAPPED};
}

static void one_call(chance *c, sluice_array *a, int64_t *room) {
    sluice_range range[MAX_RANKS][MAX_DIMS];
    sluice_set wanted[MAX_RANKS] = {{0}};
    bool cached[MAX_RANKS], write = chance_once_in(c, 2), alike = chance_once_in(c, 5);
    sluice_forecast f;
    sluice_counts was, is;
    sluice_reason why;
    snprintf(doing, sizeof doing, "seed %llu, step %lld", (unsigned long long)seed, (long long)step);
    watch();
    for (int r = 0; r < size; r++) {
        draw_section(range[r], c, &a->desc.shape);
        if (alike) memcpy(range[r], range[0], sizeof range[r]);
        must(sluice_set_section(&wanted[r], &a->desc.shape, range[r], NULL), "section");
    }
    sluice_prospect p = look(a, write, wanted, cached);
    int err = sluice_forecast_make(&f, &p, &why);
    must(err ? sluice_errmsg_set(&why) : 0, "forecast");
    sluice_count(a, &was);
    must(write ? sluice_write_all(a, range[rank], buf) : sluice_read_all(a, range[rank], buf), "call");
    sluice_count(a, &is);
    compare(&f.of[rank].counts, &was, &is);
    *room = sluice_max(*room, f.of[rank].memory && f.two_phase ? f.of[rank].memory : 0);
    same("memory", (*room + PAGE - 1) / PAGE * PAGE, a->collective->group->reserved[SLUICE_AREA_DATA]);
    for (int r = 0; r < size; r++) {
        seen.mapped += f.of[r].counts.mapped_read + f.of[r].counts.mapped_written > 0;
        seen.prereads += f.of[r].counts.preread > 0;
        seen.messages += f.of[r].counts.messages;
        sluice_set_free(&wanted[r]);
    }
    seen.two_phase += f.two_phase;
    seen.own += !f.two_phase;
    seen.conflicts += f.conflict;
    seen.many_rounds += f.plan.rounds > 1;
    sluice_forecast_free(&f);
    sluice_collective_forget(a->collective);
    step++;
}

/* Brings all of the file into the mapping, so that it does not matter how often it is asked whether it is there. */
static void fetch(sluice_array *a) {
    sluice_set all = SLUICE_SET_EMPTY;
    must(sluice_set_block(&all, 0, sluice_desc_end(&a->desc)), "block");
    a->io.method = SLUICE_MAPPED;
    sluice_io_reachable(&a->io, false, &all, false);
    sluice_set_free(&all);
}

static void session(chance *c, int nodes, int steps) {
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
    must(sluice_create_all(&a, MPI_COMM_WORLD, path, &d, &o), "create");
    /* Else it depends on who comes first whether another process has claimed the file, and gaps stay where they are. */
    a->io.exclusive = true;
    fetch(a);
    for (int i = 0; i < steps; i++) {
        draw_way(c, a);
        one_call(c, a, &room);
    }
    must(sluice_close(a), "close");
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
    for (int i = 0; i < 4; i++) session(&c, 0, steps);
    for (int nodes = 2; nodes <= size && nodes <= 3; nodes++) session(&c, nodes, steps * 2 / 5);
    if (size > 3) session(&c, size, steps / 4);
    same("memory that is not given back", 0, sluice_mem_live() - live);
    if (rank == 0)
        printf(
            "%lld calls two-phase, %lld own; %lld mapped, %lld conflicts, %lld prereads, %lld messages, %lld of many "
            "rounds\n",
            (long long)seen.two_phase, (long long)seen.own, (long long)seen.mapped, (long long)seen.conflicts,
            (long long)seen.prereads, (long long)seen.messages, (long long)seen.many_rounds);
    chance_free(&c);
    free(buf);
    return together_end();
}
