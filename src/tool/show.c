/* show.c: `sluice trace show`, `csv` and `stat`: what a trace says. */
#include "tool/tool.h"
#include "trace/record.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void trace_load(sluice_trace *t, const char *path) {
    sluice_reason why;
    const int err = sluice_trace_load(t, path, &why);
    if (err == -ENOMEM || err == -EIO) report_failure("%s", why.text);
    if (err) report_usage("%s", why.text);
}

/* The processes that are meant. */
static void choose(const options *o, const sluice_trace *t, int32_t *from, int32_t *to) {
    if (o->process >= t->nproc) report_usage("there is no process %" PRId64 " of %d", o->process, (int)t->nproc);
    *from = o->process < 0 ? 0 : (int32_t)o->process;
    *to = o->process < 0 ? t->nproc : *from + 1;
}

static const char *way_of(const sluice_trace_node *f) {
    static const char *const way[] = {"read", "write", "read_all", "write_all"};
    return way[f->write + 2 * f->collective];
}

/* ---- show ---- */

static void show_access(const sluice_trace *t, const sluice_trace_proc *p, int64_t i, int indent) {
    enum { MOST = 400 }; /* characters of a set */
    const sluice_trace_node *f = &p->tree[i];
    printf("%*s%-9s file %" PRId32 " at %" PRId64, indent, "", way_of(f), f->file, f->off);
    for (int d = f->loops - 1; d >= 0; d--) printf(" %+" PRId64, f->shift[d]);
    printf(", %" PRId64 " bytes", f->size);
    if (f->shape != SLUICE_TRACE_BLOCK) {
        printf(" ");
        notation_print(&t->shape[f->shape], MOST);
    }
    printf(", %.3f us\n", (double)f->busy / (double)sluice_trace_count(p, i) / 1e3);
}

/* A tree, two columns further in for each loop. */
static void show_tree(const sluice_trace *t, const sluice_trace_proc *p) {
    int64_t end[SLUICE_TRACE_LOOPS];
    int depth = 0;
    for (int64_t i = 0; i < p->nnode; i++) {
        while (depth && i >= end[depth - 1]) depth--;
        const sluice_trace_node *f = &p->tree[i];
        if (f->span == 1) {
            show_access(t, p, i, 10 + 2 * depth);
        } else {
            printf("%*s%" PRId64 " times\n", 10 + 2 * depth, "", f->n);
            end[depth++] = i + f->span;
        }
        report_flush();
    }
}

int show_run(const options *o, int n, char **argument) {
    sluice_trace t;
    int32_t from, to;
    (void)n;
    trace_load(&t, argument[0]);
    choose(o, &t, &from, &to);
    trace_summary(stdout, &t, "trace     ");
    for (int32_t i = 0; i < t.nfile; i++) {
        printf("file %-4" PRId32 " %s", i, t.file[i].name);
        if (t.file[i].size >= 0) printf(", %s", words_bytes(t.file[i].size));
        printf("\n");
    }
    for (int32_t i = from; i < to; i++) {
        const sluice_trace_proc *p = &t.proc[i];
        printf("\nprocess   %" PRId32 " (%" PRId64 ") on node %" PRId32 ": %" PRId64 " accesses, times within %" PRId64
               " ns%s\n",
               i, p->pid, p->node, p->nevents, p->blur, p->complete ? "" : "; not complete");
        show_tree(&t, p);
    }
    sluice_trace_free(&t);
    return 0;
}

/* ---- csv ---- */

/* A name as CSV has it. */
static void print_name(const char *name) {
    if (!strpbrk(name, ",\"\n")) {
        fputs(name, stdout);
        return;
    }
    putchar('"');
    for (; *name; name++) printf(*name == '"' ? "\"\"" : "%c", *name);
    putchar('"');
}

static void print_line(const sluice_trace *t, const sluice_event *e, sluice_run run) {
    printf("%" PRId32 ",", e->proc);
    print_name(t->file[e->file].name);
    printf(",%" PRId64 ",%" PRId64 ",%c,%" PRId64 ".%09" PRId64 ",%" PRId64 ".%09" PRId64 "\n", e->off + run.off,
           run.len, e->write ? 'W' : 'R', e->begin / 1000000000, e->begin % 1000000000, e->end / 1000000000,
           e->end % 1000000000);
}

int csv_run(const options *o, int n, char **argument) {
    sluice_trace t;
    sluice_events c;
    sluice_event e;
    int32_t from, to;
    (void)n;
    trace_load(&t, argument[0]);
    choose(o, &t, &from, &to);
    report_error(sluice_events_init(&c, &t, o->process < 0 ? SLUICE_EVERY_PROCESS : from), "reading the trace");
    printf("process,file,offset,size,op,begin,end\n");
    for (int64_t k = 0; sluice_events_next(&c, &e); k++) {
        sluice_cursor runs;
        sluice_run run;
        sluice_cursor_init(&runs, e.set);
        while (sluice_cursor_run(&runs, &run)) print_line(&t, &e, run);
        if (k % 4096 == 0) report_flush();
    }
    sluice_events_close(&c);
    sluice_trace_free(&t);
    return 0;
}

/* ---- stat ---- */

/* Sums over accesses of one way, without unfolding them. */
typedef struct sums {
    int64_t accesses, pieces, least, most;
    double bytes, seconds;
} sums;

static void add(sums *s, const sluice_trace *t, const sluice_trace_node *f, int64_t times) {
    int64_t runs = f->shape == SLUICE_TRACE_BLOCK ? f->size > 0 : sluice_set_nruns(&t->shape[f->shape]);
    s->least = s->accesses ? sluice_min(s->least, f->size) : f->size;
    s->most = sluice_max(s->most, f->size);
    s->accesses += times;
    if (!sluice_mul(runs, times, &runs) || !sluice_add(s->pieces, runs, &s->pieces)) s->pieces = INT64_MAX;
    s->bytes += (double)f->size * (double)times;
    s->seconds += (double)f->busy / 1e9;
}

static void print_sums(const char *who, int number, const char *way, const sums *s) {
    char label[32];
    if (!s->accesses) return;
    snprintf(label, sizeof label, "%s %d", who, number);
    printf("%-12s %-5s %12" PRId64 " %14" PRId64 " %18.0f %12" PRId64 " %14.1f %12" PRId64 " %12.6f", label, way,
           s->accesses, s->pieces, s->bytes, s->least, s->bytes / (double)s->accesses, s->most, s->seconds);
    if (s->seconds > 0)
        printf(" %10.1f\n", s->bytes / s->seconds / 1e6);
    else
        printf(" %10s\n", "-");
}

int stat_run(const options *o, int n, char **argument) {
    sluice_trace t;
    int32_t from, to;
    (void)n;
    trace_load(&t, argument[0]);
    choose(o, &t, &from, &to);
    sums *file = report_alloc(2 * (size_t)t.nfile + 1, sizeof *file),
         *proc = report_alloc(2 * (size_t)t.nproc + 1, sizeof *proc);
    for (int32_t i = from; i < to; i++) {
        const sluice_trace_proc *p = &t.proc[i];
        int64_t end[SLUICE_TRACE_LOOPS], times[SLUICE_TRACE_LOOPS + 1] = {1};
        int depth = 0;
        for (int64_t k = 0; k < p->nnode; k++) {
            const sluice_trace_node *f = &p->tree[k];
            while (depth && k >= end[depth - 1]) depth--;
            if (f->span > 1) {
                end[depth++] = k + f->span;
                times[depth] = times[depth - 1] * f->n;
            } else {
                add(&file[2 * f->file + f->write], &t, f, times[depth]);
                add(&proc[2 * i + f->write], &t, f, times[depth]);
            }
        }
    }
    trace_summary(stdout, &t, "trace     ");
    for (int32_t i = 0; i < t.nfile; i++) printf("file %-4" PRId32 " %s\n", i, t.file[i].name);
    printf("\n%-12s %-5s %12s %14s %18s %12s %14s %12s %12s %10s\n", "", "", "accesses", "pieces", "bytes", "least",
           "mean", "most", "seconds", "MB/s");
    for (int32_t i = 0; i < t.nfile; i++)
        for (int w = 0; w < 2; w++) print_sums("file", (int)i, w ? "write" : "read", &file[2 * i + w]);
    for (int32_t i = from; i < to; i++)
        for (int w = 0; w < 2; w++) print_sums("process", (int)i, w ? "write" : "read", &proc[2 * i + w]);
    free(file);
    free(proc);
    sluice_trace_free(&t);
    return 0;
}
