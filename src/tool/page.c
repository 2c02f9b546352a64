/* page.c: `sluice report`: the page around the charts of a trace. Names come from outside: all of them are escaped. */
#include "tool/page.h"
#include "file/placement.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light "
    "dark;--ink:#1c2733;--soft:#5b6b7b;--line:#d9dfe5;--card:#fff;--back:#f2f4f7;--read:#2b7bba;"
    "--write:#e07b1f}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e9ee;--soft:#9aa8b5;--line:#3a444e;--card:#1d242b;--back:#12171c;"
    "--read:#5aa6e0;--write:#f09a4a}}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 "
    "system-ui,sans-serif}\n"
    "main{max-width:1060px;margin:0 auto;padding:24px 16px 48px}\n"
    "h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:32px 0 "
    "8px;overflow-wrap:anywhere}h3{font-size:15px;margin:0 "
    "0 2px}\n"
    ".soft{color:var(--soft)}.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:14px "
    "16px;margin:12px 0}\n"
    ".facts{display:flex;flex-wrap:wrap;gap:8px 32px;padding:14px 16px}.facts div{min-width:96px}\n"
    ".facts b{display:block;font-size:20px;font-weight:600}\n"
    "svg{display:block;width:100%;height:auto;margin-top:8px}svg text{font:11px "
    "system-ui,sans-serif;fill:var(--soft)}\n"
    "svg line{stroke:var(--line)}.ground{fill:var(--back)}.read{fill:var(--read);background:var(--read)}\n"
    ".write{fill:var(--write);background:var(--write)}.private{fill:#2b7bba;background:#2b7bba}\n"
    ".replicated{fill:#3a9d5d;background:#3a9d5d}.broadcast{fill:#e07b1f;background:#e07b1f}\n"
    ".shared{fill:#8a8f98;background:#8a8f98}.key{display:inline-block;width:12px;height:12px;border-radius:3px;"
    "vertical-align:-1px}\n"
    "table{border-collapse:collapse;margin:10px 0;width:100%}th,td{text-align:left;padding:4px 12px 4px "
    "0;border-bottom:1px "
    "solid var(--line);overflow-wrap:anywhere}\n"
    "th{color:var(--soft);font-weight:500}.n{text-align:right;white-space:nowrap}th.n{text-align:right}\n"
    "pre{background:var(--back);border-radius:6px;padding:12px;overflow-x:auto;font:13px/1.5 ui-monospace,monospace}\n"
    ".warn{border-left:4px solid var(--write)}\n";

/* ---- Pieces ---- */

static void card(FILE *f, const char *title, const char *words) {
    fprintf(f, "<div class=\"card\"><h3>%s</h3><div class=\"soft\">%s</div>\n", title, words);
}

static void fact(FILE *f, const char *value, const char *what) { fprintf(f, "<div><b>%s</b>%s</div>\n", value, what); }

static const char kinds[] = "<span class=\"key read\"></span> read&ensp;<span class=\"key write\"></span> written. ";

static void legend(FILE *f, const digest *d) {
    fputs("<p class=\"soft\">", f);
    for (int i = 0; i < d->t->nproc && i < 16; i++) {
        fputs("<span class=\"key\" style=\"background:", f);
        chart_colour(f, i);
        fprintf(f, "\"></span> rank %d&ensp;", i);
    }
    if (d->t->nproc > 16) fputs("...&ensp;", f);
    fputs("<span class=\"key\" style=\"background:#777\"></span> several</p>\n", f);
}

static const char *number(double n) {
    static char text[4][32];
    static int turn;
    char *out = text[turn = (turn + 1) % 4];
    snprintf(out, sizeof *text, n < 1e15 ? "%.0f" : "%.3g", n);
    return out;
}

static double speed(const page_use *u, int w) { return u->seconds[w] > 0 ? u->bytes[w] / u->seconds[w] : 0; }

static void use_row(FILE *f, const page_use *u, const char *who) {
    fprintf(f, "<tr><td>%s</td>", who);
    for (int w = 0; w < 2; w++)
        fprintf(f, "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s/s</td>", number(u->count[w]),
                chart_bytes(u->bytes[w]), chart_bytes(speed(u, w)));
    fputs("</tr>\n", f);
}

static void use_table(FILE *f, const digest *d) {
    fputs("<table><tr><th></th><th class=\"n\">reads</th><th class=\"n\">bytes</th><th class=\"n\">bandwidth</th>"
          "<th class=\"n\">writes</th><th class=\"n\">bytes</th><th class=\"n\">bandwidth</th></tr>\n",
          f);
    for (int i = 0; i < d->t->nproc && i < PAGE_RANKS; i++) {
        char who[32];
        snprintf(who, sizeof who, "rank %d", i);
        use_row(f, &d->rank[i], who);
    }
    use_row(f, &d->all, "all");
    fputs("</table>\n", f);
}

/* ---- One file ---- */

static void show_file(FILE *f, const digest *d) {
    char words[256];
    fputs("<section><h2>", f);
    words_html(f, d->name);
    fputs("</h2>\n<div class=\"card facts\">", f);
    fact(f, chart_bytes((double)d->size), "size");
    fact(f, number(d->events), "accesses");
    fact(f, number((double)d->users), "processes");
    for (int w = 0; w < 2; w++) {
        fact(f, chart_bytes(d->all.bytes[w]), w ? "written" : "read");
        snprintf(words, sizeof words, "%s/s", chart_bytes(speed(&d->all, w)));
        fact(f, words, w ? "writing" : "reading");
    }
    fputs("</div>\n", f);
    if ((double)d->seen < d->events)
        fprintf(f,
                "<p class=\"card warn\">The charts by place and time show the first %" PRId64
                " of these accesses; the other "
                "figures are of all.</p>\n",
                d->seen);
    card(f, "Who touched what when",
         "From left to right the time, from top to bottom the file; the colour says which process, how dark it is how "
         "much.");
    chart_map(f, d);
    legend(f, d);
    fputs("</div>\n", f);
    snprintf(words, sizeof words, "%sFrom left to right the file.", kinds);
    card(f, "What each process touches", words);
    chart_touch(f, d);
    fputs("</div>\n", f);
    snprintf(words, sizeof words, "%sFrom left to right the time.", kinds);
    card(f, "When each process is in an access", words);
    chart_busy(f, d);
    fputs("</div>\n", f);
    snprintf(words, sizeof words, "%sThe bytes of an access, by powers of two.", kinds);
    card(f, "Sizes of accesses", words);
    chart_sizes(f, d);
    fputs("</div>\n", f);
    snprintf(words, sizeof words, "%sThe bytes of all accesses of a process by the sum of their latencies.", kinds);
    card(f, "Bandwidth of each process", words);
    chart_speed(f, d);
    fputs("<details><summary>as a table</summary>", f);
    use_table(f, d);
    fputs("</details></div>\n</section>\n", f);
}

/* ---- The plan, and what to do ---- */

static int64_t file_size(FILE *f) {
    if (fseeko(f, 0, SEEK_END)) return -1;
    const off_t n = ftello(f);
    rewind(f);
    return n;
}

static sluice_placement *read_plan(const char *path) {
    sluice_placement *p;
    sluice_reason why;
    FILE *f = fopen(path, "re");
    if (!f) report_usage("%s: %s", path, strerror(errno));
    const int64_t n = file_size(f);
    if (n < 0 || n > SLUICE_MAX_PLAN) report_usage("%s is no plan: it has more than %d bytes", path, SLUICE_MAX_PLAN);
    char *text = report_alloc((size_t)n + 1, 1);
    if (fread(text, 1, (size_t)n, f) != (size_t)n) report_failure("read %s: %s", path, strerror(errno));
    fclose(f);
    if (sluice_placement_parse(&p, text, n, &why)) report_usage("%s: %s", path, why.text);
    free(text);
    return p;
}

/* A word as a shell reads it, for the page. */
static void shell(FILE *f, const char *word) {
    fputc('\'', f);
    for (const char *s = word; *s; s++) {
        const char one[] = {*s, 0};
        if (*s == '\'')
            fputs("'\\''", f);
        else if ((unsigned char)*s < 0x80)
            words_html(f, one);
        else {
            /* A character of several bytes is one word for words_html. */
            char many[8] = {0};
            int n = 0;
            do many[n++] = *s++;
            while (n < 7 && ((unsigned char)*s & 0xC0) == 0x80);
            s--;
            words_html(f, many);
        }
    }
    fputc('\'', f);
}

static void commands(FILE *f, const char *trace, const char *plan, const char *data, int nproc) {
    fputs("<section><h2>What to do with it</h2>\n<div class=\"card\"><pre id=\"commands\">", f);
    if (!plan) {
        fputs("sluice plan ", f);
        shell(f, trace);
        fputs(" -o plan.json\n", f);
    }
    fputs("sluice partition --plan ", f);
    shell(f, plan ? plan : "plan.json");
    fputc(' ', f);
    shell(f, data);
    fprintf(f, "\nsluice run -- mpiexec -n %d ...     <span class=\"soft\"># the program, as it is</span>\n", nproc);
    fputs("sluice merge ", f);
    shell(f, data);
    fputs(" plain     <span class=\"soft\"># one file again</span>\n</pre></div></section>\n", f);
}

/* ---- The page ---- */

typedef struct heavy {
    int file;
    double bytes;
} heavy;

static int by_bytes(const void *a, const void *b) {
    const heavy *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->file - y->file;
}

/* The files by what was moved, most first; those that were not accessed are left out. Returns how many there are. */
static int order(heavy *out, const sluice_trace *t) {
    int n = 0;
    for (int i = 0; i < t->nfile; i++) {
        out[n] = (heavy){i, digest_weight(t, i)};
        n += out[n].bytes > 0;
    }
    qsort(out, (size_t)n, sizeof *out, by_bytes);
    return n;
}

static void others(FILE *f, const sluice_trace *t, const heavy *file, int n) {
    if (n <= PAGE_FILES) return;
    fprintf(
        f,
        "<section><h2>%d files more</h2><div class=\"card\"><table><tr><th>file</th><th class=\"n\">bytes moved</th>"
        "</tr>\n",
        n - PAGE_FILES);
    for (int i = PAGE_FILES; i < n && i < 1000; i++) {
        fputs("<tr><td>", f);
        words_html(f, t->file[file[i].file].name);
        fprintf(f, "</td><td class=\"n\">%s</td></tr>\n", chart_bytes(file[i].bytes));
    }
    fputs("</table></div></section>\n", f);
}

static void missing(FILE *f, const sluice_trace *t) {
    int n = 0;
    double lost = 0;
    for (int i = 0; i < t->nproc; i++) n += !t->proc[i].complete, lost += (double)t->proc[i].lost;
    if (n)
        fprintf(
            f,
            "<p class=\"card warn\">The trace is not complete: of %d processes something is missing, %s accesses as "
            "far as it is known.</p>\n",
            n, number(lost));
}

static void write_page(FILE *f, const sluice_trace *t, const char *trace, const sluice_placement *plan,
                       const char *plan_name) {
    heavy *file = report_alloc((size_t)t->nfile + 1, sizeof *file);
    const int n = order(file, t), planned = plan ? digest_find(t, plan->name) : -1;
    double bytes = 0;
    for (int i = 0; i < n; i++) bytes += file[i].bytes;
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
          "content=\"width=device-width\">\n<title>Sluice: ",
          f);
    words_html(f, trace);
    fprintf(f,
            "</title>\n<style>\n%s</style></head>\n<body><main>\n<h1>File accesses of a run</h1>\n<div class=\"soft\">",
            style);
    words_html(f, trace);
    fprintf(f, ": %d process%s, %d file%s, %s moved</div>\n", t->nproc, t->nproc == 1 ? "" : "es", n, n == 1 ? "" : "s",
            chart_bytes(bytes));
    missing(f, t);
    if (!n) fputs("<p class=\"card\">No file was read or written.</p>\n", f);
    for (int i = 0; i < n && i < PAGE_FILES; i++) {
        digest d;
        digest_make(&d, t, file[i].file);
        show_file(f, &d);
        digest_free(&d);
    }
    others(f, t, file, n);
    if (plan) {
        fputs("<section><h2>Recommended layout of ", f);
        words_html(f, plan->name);
        fputs("</h2>\n", f);
        card(f, "Which partition holds what",
             "From left to right the file; a row for each process, and for what they share.");
        placing_show(f, plan, t, planned);
        outlook_show(f, plan, t, planned);
        fputs("</div></section>\n", f);
    }
    if (n) commands(f, trace, plan_name, t->file[planned >= 0 ? planned : file[0].file].name, t->nproc);
    fputs("</main></body></html>\n", f);
    free(file);
}

static int report_run(const options *o, int n, char **argument) {
    sluice_trace t;
    sluice_reason why;
    (void)n;
    if (!o->output) report_usage("report needs to know where to: -o report.html");
    const int error = sluice_trace_load(&t, argument[0], &why);
    if (error == -ENOMEM) report_failure("%s", why.text);
    if (error) report_usage("%s", why.text);
    sluice_placement *plan = o->plan ? read_plan(o->plan) : NULL;
    if (plan && digest_find(&t, plan->name) < 0)
        report_usage("%s is about '%s', which is not in the trace", o->plan, plan->name);
    FILE *f = fopen(output_start(o->output, o->force), "we");
    if (!f) report_failure("create %s: %s", o->output, strerror(errno));
    write_page(f, &t, argument[0], plan, o->plan);
    output_text(f);
    sluice_placement_free(plan);
    sluice_trace_free(&t);
    return 0;
}

const command report_command = {
    "report",
    "TRACE -o FILE",
    "Shows a trace as a page for a browser",
    "One HTML file that needs no other: for each file of the trace who touched what when, what each process touches, "
    "how\n"
    "large accesses are and how fast; with --plan the layout that it recommends, and the commands that make it so.\n"
    "\n"
    "example:\n"
    "  sluice report run.trace --plan plan.json -o report.html\n",
    "OfI",
    1,
    1,
    report_run,
};
