/* outlook.c: what a plan and the layouts that have names would cost, by the prices of this machine, as a table of the
 * page. */
#include "file/placement.h"
#include "plan/evaluate.h"
#include "tool/page.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 24 };

typedef struct table {
    int n;
    sluice_outlook row[MOST];
} table;

static void add_layout(table *t, const sluice_profile *p, int64_t size, const char *text, const sluice_machine *m) {
    const sluice_shape bytes = {.ndims = 1, .elem = 1, .dim = {size}};
    sluice_layout *l = NULL;
    if (t->n == MOST || sluice_layout_parse(&l, &bytes, text, NULL)) return; /* none of so many bytes */
    const int error = sluice_evaluate_layout(&t->row[t->n], p, l, m);
    if (error && error != SLUICE_E_COMPLEX) report_error(error, "report");
    t->n += !error;
    sluice_layout_free(l);
}

static int by_time(const void *a, const void *b) {
    const sluice_outlook *x = a, *y = b;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

static double time_of(const table *t, const char *name) {
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->row[i].name, name)) return t->row[i].seconds;
    return 0;
}

static void print(FILE *f, const table *t) {
    const double single = time_of(t, "single");
    fputs("<h3>Predicted</h3><div class=\"soft\">All accesses of the trace, with the file in the cache, by prices that "
          "were "
          "measured on this machine.</div>\n<table id=\"predicted\"><tr><th>layout</th><th class=\"n\">time</th>"
          "<th class=\"n\">against one file</th><th class=\"n\">local</th><th class=\"n\">seeks</th><th "
          "class=\"n\">space</th>"
          "<th>bound by</th></tr>\n",
          f);
    for (int i = 0; i < t->n; i++) {
        const sluice_outlook *o = &t->row[i];
        fputs("<tr><td>", f);
        words_html(f, o->name);
        fprintf(f,
                "</td><td class=\"n\">%.3g ms</td><td class=\"n\">%.2f times as fast</td><td class=\"n\">%.1f %%</td>",
                1e3 * o->seconds, o->seconds > 0 ? single / o->seconds : 1, 100 * o->local);
        fprintf(f, "<td class=\"n\">%.0f</td><td class=\"n\">%s</td><td>", o->seeks, chart_bytes((double)o->space));
        words_html(f, o->bound ? o->bound : "");
        fputs("</td></tr>\n", f);
    }
    fputs("</table>\n", f);
}

void outlook_show(FILE *f, const sluice_placement *plan, const sluice_trace *trace, int file) {
    sluice_machine m = {.cores = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    sluice_profile p = {0};
    sluice_reason why;
    char text[512];
    table *t = report_alloc(1, sizeof *t);
    int error = sluice_profile_take(&p, trace, file, &why);
    if (error == SLUICE_E_COMPLEX) {
        fputs("<p id=\"predicted\" class=\"soft\">The accesses are too irregular for a prediction.</p>\n", f);
        free(t);
        return;
    }
    report_error(error, "report");
    sluice_profile_settle(&p);
    report_error(sluice_rates_measure(&m.rates), "report");
    error = sluice_evaluate_placement(&t->row[t->n], &p, plan, &m);
    if (error && error != SLUICE_E_COMPLEX) report_error(error, "report");
    t->n += !error;
    const sluice_shape bytes = {.ndims = 1, .elem = 1, .dim = {plan->size}};
    add_layout(t, &p, plan->size, "single", &m);
    for (int k = 0; trace->nproc > 1 && sluice_evaluate_candidate(text, sizeof text, &bytes, trace->nproc, k); k++)
        add_layout(t, &p, plan->size, text, &m);
    qsort(t->row, (size_t)t->n, sizeof *t->row, by_time);
    print(f, t);
    sluice_profile_free(&p);
    free(t);
}
