/* plan.c: `sluice plan`: from a trace to where each byte of a file belongs.
 *
 * The accesses of the trace to one file are evaluated on the layouts that there are names for and on the greedy
 * partition (plan/plan.h); what is best by the cost model is recommended, with reasons, and the partition is written to
 * a plan file. For other numbers of processes, or other sizes, the accesses are foretold first (plan/lift.h).
 */
#include "plan/evaluate.h"
#include "plan/lift.h"
#include "tool/tool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 16 };

/* All that is known. */
typedef struct planning {
    const options *o;
    sluice_trace trace, sample;
    int file;
    int64_t size;
    sluice_profile profile;
    sluice_lift *lift;  /* NULL: no pattern was found, and */
    sluice_reason none; /* why */
    sluice_lift now;    /* the pattern as it is foretold */
    sluice_shape shape; /* that layouts are for */
    sluice_placement *plan;
    sluice_machine machine;
    int n, best;
    sluice_outlook row[ROWS];
} planning;

static void load(sluice_trace *t, const char *path) {
    sluice_reason why;
    const int error = sluice_trace_load(t, path, &why);
    if (error == -ENOENT || error == SLUICE_E_FORMAT || error == SLUICE_E_VERSION) report_usage("%s", why.text);
    if (error) report_failure("%s", why.text);
}

/* Bytes that were accessed, of each file; the one with most is meant if none is named. */
static int find_file(const sluice_trace *t, const char *name, const char *path) {
    int64_t *moved = report_alloc((size_t)t->nfile + 1, sizeof *moved);
    int best = -1;
    for (int p = 0; p < t->nproc; p++)
        for (int64_t k = 0; k < t->proc[p].nnode; k++) {
            const sluice_trace_node *x = &t->proc[p].tree[k];
            int64_t bytes;
            if (x->n != 1) continue;
            if (!sluice_mul(x->size, sluice_trace_count(&t->proc[p], k), &bytes) ||
                !sluice_add(moved[x->file], bytes, &moved[x->file]))
                moved[x->file] = INT64_MAX;
        }
    for (int i = 0; i < t->nfile; i++) {
        const char *slash = strrchr(t->file[i].name, '/');
        if (name && strcmp(name, t->file[i].name) && (!slash || strcmp(name, slash + 1))) continue;
        if (best < 0 || moved[i] > moved[best]) best = i;
    }
    const bool nothing = best < 0 || !moved[best];
    free(moved);
    if (best < 0 && name) report_usage("%s: no access to a file %s", path, name);
    if (nothing) report_usage("%s: no bytes of %s were accessed", path, name ? name : "any file");
    return best;
}

static int64_t end_of(const sluice_profile *p) {
    int64_t end = 0;
    for (int64_t i = 0; i < p->n; i++) end = sluice_max(end, p->use[i].run.off + p->use[i].run.len);
    return end;
}

static void take(sluice_profile *p, const sluice_trace *t, int file) {
    sluice_reason why;
    if (sluice_profile_take(p, t, file, &why)) report_failure("%s", why.text);
}

/* ---- Patterns ---- */

static sluice_scaling scaling_of(const options *o, int nprocs) {
    static const char *const keep[] = {"auto", "array", "block", "records"}, *const grow[] = {"auto", "size", "count"};
    sluice_scaling s = {.nprocs = o->ranks ? o->ranks : nprocs, .factor = 1};
    if (o->scale) {
        char *end;
        errno = 0;
        s.factor = strtoll(o->scale, &end, 10);
        if (errno || s.factor < 1 || end == o->scale || (strcmp(end, "x") && *end))
            report_at("scale", o->scale, 0, "expected a number of times, like 4x");
    }
    while (s.keep < 4 && o->keep && strcmp(o->keep, keep[s.keep])) s.keep++;
    while (s.grow < 3 && o->grow && strcmp(o->grow, grow[s.grow])) s.grow++;
    if (s.keep == 4) report_at("keep", o->keep, 0, "expected auto, array, block or records");
    if (s.grow == 3) report_at("grow", o->grow, 0, "expected auto, size or count");
    return s;
}

static void find_pattern(planning *w, bool needed) {
    sluice_reason why;
    const int error = sluice_lift_make(&w->lift, &w->profile, w->o->elem, &w->none);
    if (error == -ENOMEM) report_failure("%s", w->none.text);
    if (error && needed) report_usage("the accesses cannot be foretold: %s", w->none.text);
    if (error || !w->o->sample) return;
    sluice_profile p = {0};
    load(&w->sample, w->o->sample);
    take(&p, &w->sample, find_file(&w->sample, w->o->file, w->o->sample));
    if (sluice_lift_decide(w->lift, &p, &why)) report_usage("%s: %s", w->o->sample, why.text);
    sluice_profile_free(&p);
}

static void foretell(planning *w) {
    const sluice_scaling s = scaling_of(w->o, w->profile.nprocs);
    const bool other = s.nprocs != w->profile.nprocs || s.factor != 1;
    sluice_reason why;
    find_pattern(w, other || w->o->sample);
    if (!w->lift) return;
    sluice_profile p = {0};
    if (sluice_lift_scale(&p, w->lift, &s, &w->now, &why)) report_usage("%s", why.text);
    sluice_profile_free(&w->profile);
    w->profile = p;
    if (other) w->size = end_of(&p);
}

/* ---- Layouts ---- */

static void set_shape(planning *w) {
    w->shape = (sluice_shape){.ndims = 1, .elem = 1, .dim = {w->size}};
    if (w->lift) sluice_lift_shape(&w->now, &w->shape);
    int64_t bytes = w->shape.elem;
    for (int d = 0; d < w->shape.ndims; d++)
        if (!sluice_mul(bytes, w->shape.dim[d], &bytes)) bytes = -1;
    if (bytes != w->size) w->shape = (sluice_shape){.ndims = 1, .elem = 1, .dim = {w->size}};
}

static void add_layout(planning *w, const char *text) {
    sluice_layout *l = NULL;
    if (w->n == ROWS || sluice_layout_parse(&l, &w->shape, text, NULL)) return; /* none of this array */
    const int error = sluice_evaluate_layout(&w->row[w->n], &w->profile, l, &w->machine);
    if (error == -ENOMEM) report_error(error, "plan");
    if (!error) w->n++;
    sluice_layout_free(l);
}

static void evaluate(planning *w) {
    char text[512];
    const int n = w->profile.nprocs;
    report_error(sluice_rates_measure(&w->machine.rates), "plan");
    w->machine.cores = w->o->cores ? w->o->cores : (int)sysconf(_SC_NPROCESSORS_ONLN);
    w->machine.bandwidth = w->o->bandwidth;
    w->machine.latency = w->o->latency;
    report_error(sluice_evaluate_placement(&w->row[w->n++], &w->profile, w->plan, &w->machine), "plan");
    add_layout(w, "single");
    for (int k = 0; n > 1 && sluice_evaluate_candidate(text, sizeof text, &w->shape, n, k); k++) add_layout(w, text);
    snprintf(text, sizeof text, "block:%d", n);
    if (n > 1) add_layout(w, text);
    /* What is a few parts in a hundred apart is the same to the model; then what is simpler, or more local, wins. */
    w->best = 0;
    for (int i = 1; i < w->n; i++) {
        const sluice_outlook *a = &w->row[i], *b = &w->row[w->best];
        if (a->seconds < 0.97 * b->seconds || (a->seconds < 1.03 * b->seconds && a->local > b->local + 0.01))
            w->best = i;
    }
}

/* ---- Telling ---- */

static void count_groups(const planning *w, int groups[4], int64_t bytes[4]) {
    for (int i = 0; i < w->plan->ngroups; i++) {
        groups[w->plan->group[i].place]++;
        bytes[w->plan->group[i].place] += w->plan->group[i].bytes.size;
    }
}

static const sluice_outlook *row_of(const planning *w, const char *name) {
    for (int i = 0; i < w->n; i++)
        if (!strcmp(w->row[i].name, name)) return &w->row[i];
    return NULL;
}

static void print_reasons(const planning *w) {
    const sluice_outlook *b = &w->row[w->best], *single = row_of(w, "single");
    printf("\n%s is recommended:\n", b->name);
    if (single && single != b && b->seconds > 0)
        printf("  it takes %.3g ms where one file takes %.3g: %.3g times faster, bound by %s\n", 1e3 * b->seconds,
               1e3 * single->seconds, single->seconds / b->seconds, b->bound);
    printf("  %.4g %% of the bytes are on the target of the process that moves them\n", 100 * b->local);
    if (single && single->seeks > b->seeks) printf("  %.0f seeks instead of %.0f\n", b->seeks, single->seeks);
    if (b->space > w->size)
        printf("  copies take %s more\n", words_bytes(b->space - w->size));
    else
        printf("  it takes no more space than one file\n");
}

static void print_plan(const planning *w) {
    int groups[4] = {0};
    int64_t bytes[4] = {0}, named = 0;
    count_groups(w, groups, bytes);
    printf("file      %s: %s\n", w->plan->name, words_bytes(w->size));
    printf("accesses  by %d process%s, %" PRId64 " different ones\n", w->profile.nprocs,
           w->profile.nprocs == 1 ? "" : "es", w->profile.n);
    for (int i = 0; i < w->trace.nproc; i++)
        if (w->trace.proc[i].lost || !w->trace.proc[i].complete) {
            printf("missing   accesses of process %d, and perhaps of others: the trace is not complete\n", i);
            break;
        }
    if (w->lift)
        sluice_lift_print(w->lift, stdout);
    else
        printf("pattern   none was found: %s\n", w->none.text);
    for (int i = 0; i < 4; i++) {
        named += bytes[i];
        if (groups[i])
            printf("%-9s %s in %d group%s\n", sluice_sharing_name((sluice_sharing)i), words_bytes(bytes[i]), groups[i],
                   groups[i] == 1 ? "" : "s");
    }
    if (named < w->size) printf("unused    %s, in the shared part\n", words_bytes(w->size - named));
    printf("\n%-28s%14s%10s%16s%12s\n", "layout", "predicted ms", "local %", "space", "seeks");
    for (int i = 0; i < w->n; i++)
        printf("%-28.60s%14.4g%10.4g%16" PRId64 "%12.0f\n", w->row[i].name, 1e3 * w->row[i].seconds,
               100 * w->row[i].local, w->row[i].space, w->row[i].seeks);
    print_reasons(w);
}

static void print_json(const planning *w) {
    int groups[4] = {0};
    int64_t bytes[4] = {0};
    count_groups(w, groups, bytes);
    printf("{\n  \"file\": ");
    words_json_string(w->plan->name);
    printf(",\n  \"size\": %" PRId64 ",\n  \"processes\": %d,\n  \"accesses\": %" PRId64 ",\n  \"pattern\": %s,\n",
           w->size, w->profile.nprocs, w->profile.n, w->lift ? "true" : "false");
    printf("  \"array\": {\"shape\": ");
    words_json_list(w->shape.dim, w->shape.ndims);
    printf(", \"elem\": %" PRId64 "},\n  \"classes\": {", w->shape.elem);
    for (int i = 0; i < 4; i++)
        printf("%s\"%s\": {\"groups\": %d, \"bytes\": %" PRId64 "}", i ? ", " : "",
               sluice_sharing_name((sluice_sharing)i), groups[i], bytes[i]);
    printf("},\n  \"layouts\": [\n");
    for (int i = 0; i < w->n; i++) {
        printf("    {\"layout\": ");
        words_json_string(w->row[i].name);
        printf(", \"seconds\": %.6g, \"local\": %.6g, \"space\": %" PRId64 ", \"seeks\": %.0f, \"bytes\": %.0f}%s\n",
               w->row[i].seconds, w->row[i].local, w->row[i].space, w->row[i].seeks, w->row[i].bytes,
               i < w->n - 1 ? "," : "");
    }
    printf("  ],\n  \"recommended\": ");
    words_json_string(w->row[w->best].name);
    printf("\n}\n");
}

static void print_groups(const planning *w) {
    printf("\n%-12s%-14s%16s  %s\n", "class", "subfiles", "bytes", "which");
    for (int i = 0; i < w->plan->ngroups; i++) {
        const sluice_placement_group *g = &w->plan->group[i];
        char holders[64];
        size_t used = 0;
        for (int k = 0; k < g->n && used < sizeof holders - 16; k++)
            used += (size_t)snprintf(holders + used, sizeof holders - used, "%s%d", k ? "," : "", g->subfile[k]);
        printf("%-12s%-14s%16" PRId64 "  ", sluice_sharing_name(g->place), holders, g->bytes.size);
        notation_print(&g->bytes, 100);
        putchar('\n');
    }
}

/* Names for the subfiles: one for each, or the processes take turns and the shared part has the first. */
static void name_targets(sluice_placement *p, const char *text) {
    const char *name[SLUICE_MAX_TARGETS];
    size_t len[SLUICE_MAX_TARGETS];
    int n = 0;
    for (const char *at = text;; at += len[n - 1] + 1) {
        if (n == SLUICE_MAX_TARGETS) report_usage("more than %d targets", SLUICE_MAX_TARGETS);
        name[n] = at;
        len[n] = strcspn(at, ",");
        if (!(len[n] == 1 && *at == '.') && !sluice_target_valid(at, len[n]))
            report_at("targets", text, at - text, "expected 1 to 63 letters, digits, '_', '-' and '.', not '.' first");
        if (!at[len[n++]]) break;
    }
    for (int i = 0; i <= p->nprocs; i++) {
        const int k = i < p->nprocs ? i % n : n > p->nprocs ? p->nprocs : 0;
        memcpy(p->target[i].text, name[k], len[k]);
        p->target[i].text[len[k]] = 0;
    }
}

static void write_plan(const planning *w) {
    char *text;
    int64_t len;
    sluice_reason why;
    if (w->o->targets) name_targets(w->plan, w->o->targets);
    if (sluice_placement_format(w->plan, &text, &len, &why)) report_failure("%s", why.text);
    FILE *f = fopen(output_start(w->o->output, w->o->force), "we");
    if (!f) report_failure("create %s: %s", w->o->output, strerror(errno));
    fwrite(text, 1, (size_t)len, f);
    output_text(f);
    sluice_mem_free(text);
}

static int plan(const options *o, int n, char **argument) {
    planning w = {.o = o};
    sluice_reason why;
    (void)n;
    load(&w.trace, argument[0]);
    w.file = find_file(&w.trace, o->file, argument[0]);
    take(&w.profile, &w.trace, w.file);
    w.size = sluice_max(w.trace.file[w.file].size, end_of(&w.profile));
    foretell(&w);
    if (w.profile.nprocs >= SLUICE_MAX_SUBFILES) report_usage("more than %d processes", SLUICE_MAX_SUBFILES - 1);
    if (sluice_greedy_place(&w.plan, &w.profile, w.trace.file[w.file].name, w.size, o->dominance, &why))
        report_failure("%s", why.text);
    if (o->output) write_plan(&w);
    set_shape(&w);
    evaluate(&w);
    if (o->json)
        print_json(&w);
    else
        print_plan(&w);
    if (o->explain && !o->json) print_groups(&w);
    report_flush();
    sluice_placement_free(w.plan);
    sluice_profile_free(&w.profile);
    sluice_lift_free(w.lift);
    sluice_mem_free(w.now.pass);
    sluice_trace_free(&w.trace);
    sluice_trace_free(&w.sample);
    return 0;
}

const command plan_command = {
    "plan",
    "TRACE",
    "Says where each byte of a traced file belongs, and what that would gain",
    "TRACE is what a run has accessed (sluice trace). Of each byte it is asked who used it: what one process alone "
    "uses\n"
    "goes to the partition of that process; what several read, or one writes and several read later, to those of all\n"
    "these readers; all else to a shared part. Partitions have what was used first in front. That partition and the\n"
    "layouts that have names are evaluated on the accesses of the trace, and the best is recommended: predicted time\n"
    "if all is cached, or with --bandwidth and --latency of a target; bytes that are on the target of their process;\n"
    "space, with copies; seeks. -o writes the partition to a plan file, for `sluice partition`.\n"
    "\n"
    "If the processes access blocks of an array, the plan can be made for other numbers of processes (--ranks) and "
    "other\n"
    "sizes (--scale). What stays then cannot be seen in one trace: --keep says whether it is the array, the block of\n"
    "a process, or records that are dealt out in turn; --grow whether more data means larger blocks or more of them. "
    "A\n"
    "second trace, of another number of processes or another size, decides it (--sample).\n"
    "\n"
    "examples:\n"
    "  sluice plan run.trace\n"
    "  sluice plan run.trace --file field.dat -o plan.json\n"
    "  sluice plan run4.trace --ranks 64 --keep array -o plan64.json\n",
    "%234567890cgOfj#",
    1,
    1,
    plan,
};
