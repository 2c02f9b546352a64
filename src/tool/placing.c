/* placing.c: a plan as a picture: which parts of the file each partition holds; and what that would mean for the
 * accesses of a trace: how many of their bytes a process finds in its own partition.
 */
#include "file/placement.h"
#include "tool/page.h"
#include <math.h>
#include <stdlib.h>

enum { LEFT = 92, WIDTH = 840, ALL = LEFT + WIDTH + 14, COLUMNS = 210, LOOKED = 200000, LEAST = 100 };

static const char *const classes[] = {"private", "replicated", "broadcast", "shared"};

/* ---- The picture ---- */

static int64_t edge(const sluice_placement *p, int column) {
    return column >= COLUMNS ? p->size : (int64_t)((double)p->size / COLUMNS * column);
}

/* What a subfile holds of each column: shares of each class. */
typedef double shares[COLUMNS][4];

static void add_group(shares *row, int nrows, const sluice_placement *p, const sluice_placement_group *g) {
    int64_t below = 0;
    const int subfiles = p->nprocs + 1;
    for (int k = 0; k < COLUMNS; k++) {
        const int64_t upto = sluice_set_rank(&g->bytes, edge(p, k + 1)), n = upto - below;
        below = upto;
        for (int i = 0; i < g->n && n > 0; i++)
            row[(int64_t)g->subfile[i] * nrows / subfiles][k][g->place] += (double)n;
    }
}

static void add_rest(shares *row, int nrows, const sluice_placement *p) {
    sluice_set rest = SLUICE_SET_EMPTY;
    int64_t below = 0;
    report_error(sluice_placement_rest(&rest, p), "report");
    for (int k = 0; k < COLUMNS; k++) {
        const int64_t upto = sluice_set_rank(&rest, edge(p, k + 1));
        row[nrows - 1][k][SLUICE_PLACE_SHARED] += (double)(upto - below);
        below = upto;
    }
    sluice_set_free(&rest);
}

static int main_class(const double *share) {
    int best = 0;
    for (int c = 1; c < 4; c++)
        if (share[c] > share[best]) best = c;
    return share[best] > 0 ? best : -1;
}

static void draw_row(FILE *f, const sluice_placement *p, shares row, double y, double height, double per_column) {
    for (int k = 0, end; k < COLUMNS; k = end) {
        const int class = main_class(row[k]);
        double sum = 0;
        for (end = k + 1; end < COLUMNS && main_class(row[end]) == class;) end++;
        for (int i = k; i < end; i++)
            for (int c = 0; c < 4; c++) sum += row[i][c];
        if (class < 0) continue;
        fprintf(f,
                "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "opacity=\"%.2f\"><title>%s: %s between %s and %s</title></rect>\n",
                classes[class], LEFT + WIDTH * (double)k / COLUMNS, y, WIDTH * (double)(end - k) / COLUMNS, height,
                0.35 + 0.65 * fmin(1, sum / (per_column * (end - k))), classes[class], chart_bytes(sum),
                chart_bytes((double)edge(p, k)), chart_bytes((double)edge(p, end)));
    }
}

static void draw(FILE *f, const sluice_placement *p) {
    const int subfiles = p->nprocs + 1, nrows = subfiles < PAGE_RANKS ? subfiles : PAGE_RANKS;
    const double height = nrows <= 9 ? 22 : nrows <= 17 ? 14 : 8;
    shares *row = report_alloc((size_t)nrows, sizeof *row);
    for (int i = 0; i < p->ngroups; i++) add_group(row, nrows, p, &p->group[i]);
    add_rest(row, nrows, p);
    fprintf(f,
            "<svg id=\"layout\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Which parts of the file each partition "
            "holds\">\n",
            ALL, (int)(nrows * height) + 26);
    for (int i = 0; i < nrows; i++) {
        char label[32];
        const int64_t subfile = (int64_t)i * subfiles / nrows;
        snprintf(label, sizeof label, subfile < p->nprocs && i < nrows - 1 ? "rank %lld" : "shared",
                 (long long)subfile);
        fprintf(f, "<rect class=\"ground\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>\n", LEFT, i * height,
                WIDTH, height - 1);
        draw_row(f, p, row[i], i * height, height - 1, (double)p->size / COLUMNS);
        if (nrows <= 17 || i % 8 == 0 || i == nrows - 1)
            fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 8, (i + 0.5) * height + 4,
                    label);
    }
    for (int i = 0; i <= 4; i++)
        fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", LEFT + WIDTH * i / 4.0,
                nrows * height + 18,
                i == 0   ? "start"
                : i == 4 ? "end"
                         : "middle",
                chart_bytes((double)p->size * i / 4));
    fputs("</svg>\n", f);
    free(row);
}

static void list(FILE *f, const sluice_placement *p) {
    static const char *const means[] = {
        "one process alone uses them: in its partition", "several read them, nobody writes: a copy for each reader",
        "one writes them, several read them later: a copy for each reader", "all else: in the shared part"};
    double bytes[4] = {0}, stored[4] = {0}, named = 0;
    for (int i = 0; i < p->ngroups; i++) {
        const sluice_placement_group *g = &p->group[i];
        bytes[g->place] += (double)g->bytes.size;
        stored[g->place] += (double)g->bytes.size * g->n;
        named += (double)g->bytes.size;
    }
    bytes[SLUICE_PLACE_SHARED] += (double)p->size - named;
    stored[SLUICE_PLACE_SHARED] += (double)p->size - named;
    fputs("<table><tr><th>class</th><th>bytes of the file</th><th>bytes stored</th><th>which</th></tr>\n", f);
    for (int c = 0; c < 4; c++)
        if (bytes[c] > 0)
            fprintf(f,
                    "<tr><td><span class=\"key %s\"></span> %s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td>%s"
                    "</td></tr>\n",
                    classes[c], classes[c], chart_bytes(bytes[c]), chart_bytes(stored[c]), means[c]);
    fputs("</table>\n", f);
}

/* ---- What it means ---- */

/* The bytes that the partition of each process holds. */
static sluice_set *holdings(const sluice_placement *p) {
    sluice_set *held = report_alloc((size_t)p->nprocs, sizeof *held);
    const sluice_set **of = report_alloc((size_t)p->ngroups + 1, sizeof *of);
    for (int r = 0; r < p->nprocs; r++) {
        int64_t n = 0;
        for (int i = 0; i < p->ngroups; i++)
            for (int k = 0; k < p->group[i].n; k++)
                if (p->group[i].subfile[k] == r) of[n++] = &p->group[i].bytes;
        held[r] = (sluice_set)SLUICE_SET_EMPTY;
        report_error(sluice_placement_union(&held[r], of, n), "report");
    }
    free(of);
    return held;
}

/* The share of the bytes of the first accesses that are in the partitions of those who make them; [1]: of writes. -1:
 * there are none. */
static void locality(double *out, const sluice_placement *p, const sluice_trace *t, int file) {
    sluice_set *held = holdings(p);
    double local[2] = {0}, all[2] = {0};
    const int64_t each = sluice_max(LOOKED / sluice_max(t->nproc, 1), LEAST); /* accesses of a process */
    sluice_events c;
    sluice_event e;
    for (int r = 0; r < t->nproc && r < p->nprocs; r++) {
        report_error(sluice_events_init(&c, t, r), "report");
        for (int64_t k = 0; k < each && sluice_events_next(&c, &e); k++) {
            sluice_set bytes = SLUICE_SET_EMPTY, both = SLUICE_SET_EMPTY;
            if (e.file != file || !e.set->size) continue;
            int error = sluice_event_set(&bytes, &e);
            if (!error) error = sluice_set_intersect(&both, &bytes, &held[r]);
            report_error(error, "report");
            local[e.write] += (double)both.size;
            all[e.write] += (double)bytes.size;
            sluice_set_free(&bytes);
            sluice_set_free(&both);
        }
        sluice_events_close(&c);
    }
    for (int w = 0; w < 2; w++) out[w] = all[w] > 0 ? local[w] / all[w] : -1;
    for (int r = 0; r < p->nprocs; r++) sluice_set_free(&held[r]);
    free(held);
}

void placing_show(FILE *f, const sluice_placement *p, const sluice_trace *t, int file) {
    double part[2];
    draw(f, p);
    list(f, p);
    locality(part, p, t, file);
    fputs("<p id=\"gain\">In one file every access meets those of all other processes. With this layout ", f);
    for (int w = 0; w < 2; w++)
        if (part[w] >= 0)
            fprintf(f, "%s<b>%.1f %%</b> of the bytes that are %s", w && part[0] >= 0 ? ", and " : "", 100 * part[w],
                    w ? "written" : "read");
    fprintf(f, " are in the partition of the process that does it%s. What has copies is written to each of them.</p>\n",
            t->nproc == p->nprocs ? "" : " (the plan is for another number of processes than the trace)");
}
