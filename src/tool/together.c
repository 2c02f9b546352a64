/* together.c: `sluice explain --collective`: what a collective call will do, before it is made.
 *
 * The library's own plan is made and walked without moving anything (io/predict.h). With a file, what is cached now and
 * what the store is like are asked of it; without one, nothing is cached unless --cached, and a call costs what is
 * usual.
 */
#include "array/array.h"
#include "io/predict.h"
#include "tool/tool.h"
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 16, MOST_RANKS = 1 << 16 };
static const char indent[] = "          ";

/* Two processes that write the same bytes. */
typedef struct clash {
    int low, high;
    int64_t bytes, first;
} clash;

typedef struct scene {
    const options *o;
    const sluice_shape *array;
    int64_t bytes; /* of its elements */
    sluice_prospect p;
    sluice_set *request;              /* of each process, in the array */
    const sluice_manifest *contained; /* NULL: the array lies in one file, or in none yet */
    sluice_pieces *pieces;            /* of each request, in subfiles, */
    int *first;                       /* and all of them in a row, */
    sluice_io_part *part;             /* which is all parts there are */
    bool *cached;
    int *node_of;
    sluice_io io; /* as a process would have it */
    sluice_known known;
    sluice_forecast f;
    clash *clash;
    int64_t nclash;
} scene;

/* ---- What is asked ---- */

static int word_of(const char *what, const char *text, const char *const *word, const char *message) {
    for (int i = 0; word[i]; i++)
        if (!strcmp(text, word[i])) return i;
    report_at(what, text, 0, message);
}

static sluice_together together_of(const options *o) {
    static const char *const ways[] = {"auto", "own", "two-phase", NULL};
    sluice_together t = {.aggregators = o->io_procs, .align = o->align};
    if (o->way) t.way = (sluice_way)word_of("way", o->way, ways, "expected auto, own or two-phase");
    if (!o->domains || !strcmp(o->domains, "even")) return t;
    if (!strncmp(o->domains, "cyclic(", 7)) {
        t.division = SLUICE_DIVIDE_CYCLIC;
        t.block = notation_argument("domains", o->domains, 7);
        return t;
    }
    static const char *const divisions[] = {"even", "static", "dynamic", "cyclic", "weighted", NULL};
    t.division = (sluice_division)word_of("domains", o->domains, divisions,
                                          "expected even, static, dynamic, cyclic, cyclic(n) or weighted");
    return t;
}

/* Moves a section; what then lies past the end of the array is cut off, as in a slice. */
static void move_range(sluice_range *r, int64_t extent, int64_t by, int64_t times) {
    int64_t far;
    if (!sluice_mul(by, times, &far) || !sluice_add(r->start, far, &r->start) || r->start < 0)
        report_usage("--shift moves the section of process %" PRId64 " out of the array", times);
    if (r->count == 0 || r->start >= extent)
        r->start = r->count = 0;
    else
        r->count = sluice_min(r->count, (extent - 1 - r->start) / r->step + 1);
}

/* Process r's section of "A;B;..." (one for all, or one for each). */
static void section_of(const scene *s, sluice_range *range, int r) {
    const char *text = s->o->section ? s->o->section : "[...]";
    int n = 1;
    for (const char *c = text; *c; c++) n += *c == ';';
    if (n != 1 && n != s->p.facts.size)
        report_usage("%d sections for %d processes; give one for all, or one for each", n, s->p.facts.size);
    for (int i = 0; n > 1 && i < r; i++) text = strchr(text, ';') + 1;
    const size_t len = strcspn(text, ";");
    char *piece = report_alloc(len + 1, 1);
    memcpy(piece, text, len);
    notation_section(range, s->array, piece);
    free(piece);
}

static void request_sections(scene *s) {
    int64_t by[SLUICE_MAX_DIMS] = {0};
    if (s->o->shift) notation_shift(by, s->array->ndims, s->o->shift);
    for (int r = 0; r < s->p.facts.size; r++) {
        sluice_range range[SLUICE_MAX_DIMS];
        section_of(s, range, r);
        for (int d = 0; d < s->array->ndims; d++) move_range(&range[d], s->array->dim[d], by[d], r);
        report_error(sluice_set_section(&s->request[r], s->array, range, NULL), "section");
    }
}

static void request_parts(scene *s, const sluice_spread *l) {
    for (int r = 0; r < s->p.facts.size; r++)
        report_error(sluice_set_hpf(&s->request[r], s->array, l->dist, l->grid, r, NULL), "distribution");
    if (!s->o->section) s->p.known = &s->known;
    if (!s->o->section) return;
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_set section = SLUICE_SET_EMPTY;
    notation_section(range, s->array, s->o->section);
    report_error(sluice_set_section(&section, s->array, range, NULL), "section");
    for (int r = 0; r < s->p.facts.size; r++)
        report_error(sluice_set_intersect(&s->request[r], &s->request[r], &section), "section");
    sluice_set_free(&section);
}

static void find_requests(scene *s) {
    sluice_spread l = {.n = 0};
    if (s->o->dist) notation_layout(&l, s->array, s->o->dist, s->o->grid);
    const int size = s->o->dist ? l.n : s->o->ranks;
    if (!size) report_usage("--collective needs --ranks, or --dist and --grid");
    if (s->o->ranks && size != s->o->ranks) report_usage("a grid of %d processes, but --ranks %d", size, s->o->ranks);
    if (size > MOST_RANKS) report_usage("%d processes; at most %d can be explained", size, MOST_RANKS);
    if (s->o->dist && s->o->shift) report_usage("--shift moves sections, not --dist");
    s->p.facts.size = size;
    s->request = report_alloc((size_t)size, sizeof *s->request);
    s->node_of = report_alloc((size_t)size, sizeof *s->node_of);
    if (s->o->dist)
        request_parts(s, &l);
    else
        request_sections(s);
    sluice_spread_free(&l);
}

/* A request in the space of the subfiles, if there are any. */
static int place_request(sluice_set *out, const scene *s, int r) {
    return s->contained ? sluice_split_file(out, s->contained->layout, &s->request[r])
                        : sluice_set_copy(out, &s->request[r]);
}

static int known_request(void *arg, int r, sluice_set *out, sluice_reason *why) {
    return sluice_pass(why, place_request(out, arg, r));
}

/* Of an array in subfiles: the parts of the requests in the space of these. */
static void split_requests(scene *s) {
    const int size = s->p.facts.size;
    s->first = report_alloc((size_t)size + 1, sizeof *s->first);
    s->pieces = report_alloc((size_t)size, sizeof *s->pieces);
    for (int r = 0; r < size; r++) {
        const sluice_layout *l = s->contained ? s->contained->layout : NULL;
        const sluice_io_part whole = {&s->request[r], {NULL, NULL, 0, 0}};
        if (l) report_error(sluice_split(&s->pieces[r], l, &whole, 1), "subfiles");
        s->first[r + 1] = s->first[r] + (l ? s->pieces[r].n : 1);
    }
    const size_t n = (size_t)sluice_max(s->first[size], 1);
    s->part = report_alloc(n, sizeof *s->part);
    s->cached = report_alloc(n, sizeof *s->cached);
    for (int r = 0; r < size; r++) {
        if (!s->contained) s->part[r] = (sluice_io_part){.file = &s->request[r]};
        if (s->pieces[r].n) memcpy(&s->part[s->first[r]], s->pieces[r].part, (size_t)s->pieces[r].n * sizeof *s->part);
    }
}

/* ---- What it depends on ---- */

static int cores_here(void) {
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) ? 1 : CPU_COUNT(&mine);
}

/* The array of the options as a file of its own. */
static sluice_extent extent_of(const sluice_shape *a, int64_t bytes) {
    const int64_t slowest = a->dim[a->order == SLUICE_ROW_MAJOR ? 0 : a->ndims - 1];
    return (sluice_extent){a->header, a->header + bytes, bytes ? bytes / slowest : 1, {0}};
}

static void find_facts(scene *s, const sluice_store_facts *store, const sluice_extent *e) {
    const options *o = s->o;
    sluice_plan_facts *f = &s->p.facts;
    f->nnodes = o->nodes ? o->nodes : 1;
    if (f->nnodes > f->size) report_usage("%d nodes for %d processes", f->nnodes, f->size);
    for (int r = 0; r < f->size; r++) s->node_of[r] = (int)((int64_t)r * f->nnodes / f->size);
    f->node_of = s->node_of;
    f->cores = o->cores ? o->cores : cores_here();
    f->together = together_of(o);
    f->memory = sluice_max(s->io.memory - SLUICE_IO_LEAST, SLUICE_IO_LEAST);
    f->align = store->stripe ? store->stripe : store->align;
    f->origin = e->origin;
    f->end = e->end;
    f->slab = e->slab;
    f->subfiles = e->subfiles;
}

/* Without a file. */
static void assume(scene *s, sluice_store *store) {
    const bool write = s->p.facts.write, cold = !write && !s->o->cached && s->io.method == SLUICE_AUTO;
    s->io.store = store;
    for (int k = 0; k < s->first[s->p.facts.size]; k++) s->cached[k] = s->o->cached && s->io.method == SLUICE_AUTO;
    s->p.facts.gap = sluice_io_gap(&s->io, write);
    s->p.own = sluice_io_plan_for(&s->io, write, cold, true);
}

/* With one: as it is now. */
static void ask(scene *s, sluice_io *io) {
    const bool write = s->p.facts.write;
    io->method = s->io.method;
    io->memory = s->io.memory;
    for (int k = 0; k < s->first[s->p.facts.size]; k++)
        s->cached[k] =
            sluice_io_reachable(io, false, s->part[k].file, false) && (!write || sluice_map_writable(io->map));
    s->p.facts.gap = sluice_io_gap(io, write);
    s->p.own = sluice_io_choose(io, write);
}

static void find_clashes(scene *s) {
    sluice_set both = SLUICE_SET_EMPTY;
    int64_t room = 0;
    for (int r = 0; s->f.conflict && r < s->f.size; r++) report_error(place_request(&s->request[r], s, r), "subfiles");
    for (int low = 0; s->f.conflict && low < s->f.size; low++)
        for (int high = low + 1; high < s->f.size; high++) {
            report_error(sluice_conflict_both(&both, &s->request[low], &s->request[high]), "conflicts");
            if (!both.size) continue;
            if (s->nclash == room) {
                room = 2 * room + SHOWN;
                s->clash = realloc(s->clash, (size_t)room * sizeof *s->clash);
                if (!s->clash) report_error(-ENOMEM, "conflicts");
            }
            s->clash[s->nclash++] = (clash){low, high, both.size, sluice_set_lo(&both)};
        }
    sluice_set_free(&both);
}

/* ---- Totals ---- */

typedef struct total {
    sluice_counts c;
    int64_t asked, useful, memory; /* memory: of the process that needs most */
} total;

static total add_up(const scene *s) {
    total t = {.asked = 0};
    for (int r = 0; r < s->f.size; r++) {
        const sluice_prediction *p = &s->f.of[r];
        t.c.calls_read += p->counts.calls_read;
        t.c.bytes_read += p->counts.bytes_read;
        t.c.preread += p->counts.preread;
        t.c.calls_write += p->counts.calls_write;
        t.c.bytes_written += p->counts.bytes_written;
        t.c.mapped_read += p->counts.mapped_read;
        t.c.mapped_written += p->counts.mapped_written;
        t.c.messages += p->counts.messages;
        t.c.message_bytes += p->counts.message_bytes;
        t.c.descriptors += p->counts.descriptors;
        t.asked += s->request[r].size;
        t.useful += p->useful;
        t.memory = sluice_max(t.memory, p->memory);
    }
    return t;
}

/* Bytes transferred that no one asked for. */
static int64_t wasted(const total *t) { return t->c.bytes_read + t->c.bytes_written - t->useful; }

static const char *way_of(const scene *s, const char *two_phase, const char *in_turn, const char *own) {
    return s->f.two_phase ? two_phase : s->f.complex && s->p.facts.write ? in_turn : own;
}

/* ---- In words ---- */

static void print_call(const scene *s, const total *t) {
    const sluice_plan_facts *f = &s->p.facts;
    printf("\ncall      %s_all by %d process%s on %d node%s with %d core%s%s, each with %s for buffers\n",
           f->write ? "write" : "read", f->size, f->size == 1 ? "" : "es", f->nnodes, f->nnodes == 1 ? "" : "s",
           f->cores, f->cores == 1 ? "" : "s", f->nnodes == 1 ? "" : " each", words_bytes(s->io.memory));
    printf("%s%s asked for%s", indent, words_bytes(t->asked),
           t->c.descriptors ? "" : ", which no one needs to be told\n");
    if (t->c.descriptors) printf(", told to the others in %s\n", words_bytes(t->c.descriptors));
    printf("\nway       %s: %s\n", way_of(s, "two-phase", "each process in turn", "each process for itself"),
           s->f.reason);
}

static void print_span(const sluice_set *s, int64_t base) {
    if (s->size)
        printf("%16" PRId64 "%16" PRId64, sluice_set_lo(s) - base, sluice_set_hi(s) - base - 1);
    else
        printf("%16s%16s", "-", "-");
}

/* What of a domain lies in subfile i. */
static void part_of_subfile(sluice_set *out, const scene *s, const sluice_set *domain, int i) {
    const int64_t base = s->contained->layout->base[i];
    report_error(sluice_set_cut(out, domain, base, base + s->contained->layout->size[i]), "domains");
}

/* A line for each subfile of which an aggregator has a part. */
static void print_subfiles(const scene *s, const sluice_aggregator *g) {
    const sluice_manifest *m = s->contained;
    sluice_set part = SLUICE_SET_EMPTY;
    int lines = 0;
    for (int i = 0; i < m->layout->n; i++) {
        part_of_subfile(&part, s, &g->domain, i);
        if (!part.size) continue;
        if (lines++)
            printf("%s%18s", indent, "");
        else
            printf("%s%-10d%-8d", indent, g->rank, g->node);
        printf("%-9d%-10s", i, m->target[m->place[i]].text);
        print_span(&part, m->layout->base[i]);
        printf("%16" PRId64, part.size);
        printf(lines > 1 ? "\n" : "%12" PRId64 "\n", g->windows);
    }
    if (!lines) printf("%s%-10d%-8d%-9s%-10s%16s%16s%16d%12d\n", indent, g->rank, g->node, "-", "-", "-", "-", 0, 0);
    sluice_set_free(&part);
}

static void print_domains(const scene *s) {
    const sluice_plan *p = &s->f.plan;
    const int shown = s->o->all || p->n <= SHOWN ? p->n : SHOWN;
    const bool even = s->p.facts.together.division == SLUICE_DIVIDE_AUTO;
    const char *by = !even ? s->o->domains : s->contained ? "by targets" : "even";
    printf("%swindows of %s, %" PRId64 " round%s; gaps ", indent, words_bytes(p->window), p->rounds,
           p->rounds == 1 ? "" : "s");
    if (s->p.facts.gap == INT64_MAX)
        printf("are moved along\n");
    else
        printf("up to %s are moved along\n", words_bytes(s->p.facts.gap));
    printf("\ndomains   %s, for %d process%s\n%s%-10s%-8s", by, p->n, p->n == 1 ? "" : "es", indent, "process", "node");
    if (s->contained) printf("%-9s%-10s", "subfile", "target");
    printf("%16s%16s%16s%12s\n", "first byte", "last byte", "bytes", "windows");
    for (int a = 0; a < shown; a++) {
        const sluice_aggregator *g = &p->aggregator[a];
        if (s->contained) {
            print_subfiles(s, g);
            continue;
        }
        printf("%s%-10d%-8d", indent, g->rank, g->node);
        print_span(&g->domain, 0);
        printf("%16" PRId64 "%12" PRId64 "\n", g->domain.size, g->windows);
    }
    if (shown < p->n) printf("%s... and %d more; --all shows them\n", indent, p->n - shown);
}

static void print_row(const sluice_counts *c, int64_t wanted, int64_t memory) {
    printf("%14" PRId64 "%10" PRId64 "%14" PRId64 "%10" PRId64 "%14" PRId64 "%10" PRId64 "%14" PRId64 "%14" PRId64 "\n",
           wanted, c->calls_read, c->bytes_read, c->calls_write, c->bytes_written, c->messages, c->message_bytes,
           memory);
}

static void print_work(const scene *s, const total *t) {
    const int shown = s->o->all || s->f.size <= SHOWN ? s->f.size : SHOWN;
    printf("\nwork      of each process\n%s%-8s%14s%10s%14s%10s%14s%10s%14s%14s\n", indent, "process", "asked for",
           "reads", "bytes", "writes", "bytes", "messages", "bytes", "buffers");
    for (int r = 0; r < shown; r++) {
        printf("%s%-8d", indent, r);
        print_row(&s->f.of[r].counts, s->request[r].size, s->f.of[r].memory);
    }
    if (shown < s->f.size) printf("%s... and %d more; --all shows them\n", indent, s->f.size - shown);
    printf("%s%-8s", indent, "all");
    print_row(&t->c, t->asked, t->memory);
    const int64_t mapped = t->c.mapped_read + t->c.mapped_written;
    if (mapped) printf("%s%s copied from or to the page cache, without a call\n", indent, words_bytes(mapped));
    if (t->c.preread)
        printf("%s%s read before they are written, for what lies between\n", indent, words_bytes(t->c.preread));
    printf("%s%s transferred that no one asked for\n", indent, words_bytes(wasted(t)));
}

/* The subfile in which a byte of the space lies. */
static int subfile_at(const scene *s, int64_t x) {
    const sluice_layout *l = s->contained->layout;
    int i = 0;
    while (i + 1 < l->n && l->base[i + 1] <= x) i++;
    return i;
}

static void print_clashes(const scene *s) {
    if (!s->p.facts.write) return;
    const int64_t shown = s->o->all || s->nclash <= SHOWN ? s->nclash : SHOWN;
    printf("\nconflicts %s\n", s->f.unsettled ? "not known: too complex; where there are any, the highest wins"
                               : s->nclash    ? "where processes write the same bytes, the highest wins"
                                              : "none: no two processes write the same byte");
    for (int64_t i = 0; i < shown; i++) {
        const clash *c = &s->clash[i];
        const int sub = s->contained ? subfile_at(s, c->first) : 0;
        printf("%sprocesses %d and %d: %s, the first at byte %" PRId64, indent, c->low, c->high, words_bytes(c->bytes),
               c->first - (s->contained ? s->contained->layout->base[sub] : 0));
        if (s->contained) printf(" of subfile %d", sub);
        putchar('\n');
    }
    if (shown < s->nclash) printf("%s... and %" PRId64 " more pairs; --all shows them\n", indent, s->nclash - shown);
}

/* ---- In JSON ---- */

static void json_counts(const sluice_counts *c, int64_t asked, int64_t memory) {
    const struct {
        const char *name;
        int64_t value;
    } field[] = {{"asked", asked},
                 {"calls_read", c->calls_read},
                 {"bytes_read", c->bytes_read},
                 {"preread", c->preread},
                 {"calls_write", c->calls_write},
                 {"bytes_written", c->bytes_written},
                 {"mapped", c->mapped_read + c->mapped_written},
                 {"messages", c->messages},
                 {"message_bytes", c->message_bytes},
                 {"descriptors", c->descriptors},
                 {"memory", memory}};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        printf("%s\"%s\": %" PRId64, i ? ", " : "", field[i].name, field[i].value);
}

/* Where it lies: in the file, or in which subfiles. */
static void json_domain(const scene *s, const sluice_set *domain) {
    const sluice_manifest *m = s->contained;
    sluice_set part = SLUICE_SET_EMPTY;
    const char *separator = "";
    if (!m) {
        printf("\"first\": %" PRId64 ", \"end\": %" PRId64 ", ", sluice_set_lo(domain), sluice_set_hi(domain));
        return;
    }
    printf("\"subfiles\": [");
    for (int i = 0; i < m->layout->n; i++) {
        part_of_subfile(&part, s, domain, i);
        if (!part.size) continue;
        const int64_t base = m->layout->base[i];
        printf("%s{\"subfile\": %d, \"target\": \"%s\", \"first\": %" PRId64 ", \"end\": %" PRId64
               ", \"bytes\": %" PRId64 "}",
               separator, i, m->target[m->place[i]].text, sluice_set_lo(&part) - base, sluice_set_hi(&part) - base,
               part.size);
        separator = ", ";
    }
    printf("], ");
    sluice_set_free(&part);
}

static void json_clash(const scene *s, const clash *c) {
    const int sub = s->contained ? subfile_at(s, c->first) : 0;
    printf("{\"processes\": [%d, %d], \"bytes\": %" PRId64 ", ", c->low, c->high, c->bytes);
    if (s->contained) printf("\"subfile\": %d, ", sub);
    printf("\"first\": %" PRId64 "}", c->first - (s->contained ? s->contained->layout->base[sub] : 0));
}

static void json(const scene *s, const total *t) {
    const sluice_plan *p = &s->f.plan;
    printf(
        "{\"call\": \"%s_all\", \"way\": \"%s\", \"reason\": \"%s\", \"processes\": %d, \"nodes\": %d, \"cores\": %d, "
        "\"memory\": %" PRId64 ", \"window\": %" PRId64 ", \"rounds\": %" PRId64 ", \"gap\": %" PRId64
        ",\n \"domains\": [",
        s->p.facts.write ? "write" : "read", way_of(s, "two-phase", "in turn", "own"), s->f.reason, s->f.size,
        s->p.facts.nnodes, s->p.facts.cores, s->io.memory, p->window, p->rounds, s->p.facts.gap);
    for (int a = 0; a < p->n; a++) {
        const sluice_aggregator *g = &p->aggregator[a];
        printf("%s\n  {\"process\": %d, \"node\": %d, ", a ? "," : "", g->rank, g->node);
        json_domain(s, &g->domain);
        printf("\"bytes\": %" PRId64 ", \"windows\": %" PRId64 "}", g->domain.size, g->windows);
    }
    printf("],\n \"work\": [");
    for (int r = 0; r < s->f.size; r++) {
        printf("%s\n  {\"process\": %d, ", r ? "," : "", r);
        json_counts(&s->f.of[r].counts, s->request[r].size, s->f.of[r].memory);
        putchar('}');
    }
    printf("],\n \"all\": {");
    json_counts(&t->c, t->asked, t->memory);
    printf(", \"wasted\": %" PRId64 "},\n \"conflicts\": [", wasted(t));
    for (int64_t i = 0; i < s->nclash; i++) {
        printf("%s\n  ", i ? "," : "");
        json_clash(s, &s->clash[i]);
    }
    printf("]}\n");
}

/* ---- All of it ---- */

static void foretell(scene *s) {
    sluice_reason why;
    s->p.first = s->first;
    s->p.part = s->part;
    s->p.cached = s->cached;
    const int error = sluice_forecast_make(&s->f, &s->p, &why);
    if (error) report_failure("planning: %s", why.text);
    find_clashes(s);
}

static void print(const scene *s) {
    const total t = add_up(s);
    if (s->o->json) {
        json(s, &t);
        return;
    }
    explain_array(s->o, s->bytes, s->contained);
    print_call(s, &t);
    if (s->f.two_phase) print_domains(s);
    print_work(s, &t);
    print_clashes(s);
}

void together_explain(const options *o, sluice_array *file, int64_t bytes) {
    static const char *const calls[] = {"read", "write", NULL};
    static const char *const methods[] = {"auto", "direct", "list", "sieve", NULL};
    sluice_store usual = {.facts = {.align = 4096, .depth = SLUICE_STORE_DEPTH, .call = 1e-6, .byte = 2e-10}};
    scene s = {.o = o, .array = &o->array, .bytes = bytes, .io = {.memory = o->memory}};
    const sluice_extent extent = file ? sluice_all_extent(file) : extent_of(&o->array, bytes);
    s.known = (sluice_known){known_request, &s, 1};
    if (file && file->container) s.contained = file->container->manifest;
    s.p.facts.write = word_of("collective", o->collective, calls, "expected read or write");
    if (o->method)
        s.io.method = (sluice_method)word_of("method", o->method, methods, "expected auto, direct, list or sieve");
    if (file && o->cached) report_usage("--cached is for an array without a file");
    find_requests(&s);
    split_requests(&s);
    find_facts(&s, file ? &file->io.store->facts : &usual.facts, &extent);
    if (file)
        ask(&s, &file->io);
    else
        assume(&s, &usual);
    foretell(&s);
    print(&s);
    for (int r = 0; r < s.f.size; r++) {
        sluice_set_free(&s.request[r]);
        sluice_split_free(&s.pieces[r]);
    }
    sluice_forecast_free(&s.f);
    free(s.pieces);
    free(s.first);
    free(s.part);
    free(s.request);
    free(s.cached);
    free(s.node_of);
    free(s.clash);
}
