/* chart.c: charts of a trace as SVG: who touched what when, request sizes, bandwidths.
 *
 * A map of rows and columns is drawn row by row, neighbours that look alike as one rectangle. Colours are of processes,
 * or blue for reads and orange for writes; how dark they are says how much.
 */
#include "tool/page.h"
#include <math.h>
#include <string.h>

enum { LEFT = 92, WIDTH = 840, ALL = LEFT + WIDTH + 14, CELL = WIDTH / PAGE_COLUMNS };

const char *chart_bytes(double n) {
    static char text[4][24];
    static int turn;
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    char *out = text[turn = (turn + 1) % 4];
    int u = 0;
    for (; n >= 1024 && u < 6; u++) n /= 1024;
    snprintf(out, sizeof *text, u && n < 9.95 ? "%.1f %s" : "%.0f %s", n, unit[u]);
    return out;
}

static const char *time_text(double seconds) {
    static char text[4][24];
    static int turn;
    char *out = text[turn = (turn + 1) % 4];
    if (seconds >= 1)
        snprintf(out, sizeof *text, "%.3g s", seconds);
    else if (seconds >= 1e-3)
        snprintf(out, sizeof *text, "%.3g ms", seconds * 1e3);
    else
        snprintf(out, sizeof *text, "%.3g \u00b5s", seconds * 1e6);
    return out;
}

/* Neighbouring numbers get colours far apart: steps of the golden angle. */
void chart_colour(FILE *f, int rank) {
    if (rank == SEVERAL)
        fputs("#777", f);
    else
        fprintf(f, "hsl(%d,65%%,%d%%)", (int)((210 + (int64_t)rank * 137508 / 1000) % 360), 42 + rank % 3 * 8);
}

static void begin(FILE *f, int height, const char *id, const char *label) {
    fprintf(f, "<svg id=\"%s\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", id, ALL, height, label);
}

static void text(FILE *f, double x, double y, const char *anchor, const char *words) {
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, words);
}

/* The time below a chart, and the file beside or below it. */
static void time_axis(FILE *f, const digest *d, double y) {
    const double span = (double)(d->end - d->begin) * 1e-9;
    for (int i = 0; i <= 4; i++)
        text(f, LEFT + WIDTH * i / 4.0, y, i == 0 ? "start" : i == 4 ? "end" : "middle", time_text(span * i / 4));
}

static void file_axis_down(FILE *f, const digest *d, double top, double height) {
    for (int i = 0; i <= 4; i++)
        text(f, LEFT - 8, i == 0 ? top + 9 : top + 4 + height * i / 4, "end", chart_bytes((double)d->size * i / 4));
}

static void file_axis_along(FILE *f, const digest *d, double y) {
    for (int i = 0; i <= 4; i++)
        text(f, LEFT + WIDTH * i / 4.0, y,
             i == 0   ? "start"
             : i == 4 ? "end"
                      : "middle",
             chart_bytes((double)d->size * i / 4));
}

static void rank_axis(FILE *f, const digest *d, double row) {
    const int every = d->ranks <= 16 ? 1 : d->ranks / 8;
    for (int i = 0; i < d->ranks; i += every) {
        char label[32];
        snprintf(label, sizeof label, "rank %lld", (long long)i * d->t->nproc / d->ranks);
        text(f, LEFT - 8, row * (i + 0.5) + 4, "end", label);
    }
}

/* How dark: the square root shows small things beside large ones. Steps of a tenth, so that neighbours look alike. */
static double depth(double amount, double most) {
    return amount > 0 && most > 0 ? 0.25 + 0.75 * ceil(10 * sqrt(amount / most)) / 10 : 0;
}

/* ---- Who touched what when ---- */

static double heaviest(const digest *d) {
    double most = 0;
    for (int i = 0; i < PAGE_ROWS; i++)
        for (int k = 0; k < PAGE_COLUMNS; k++) most = fmax(most, d->cell[i][k].bytes[0] + d->cell[i][k].bytes[1]);
    return most;
}

static void say_kind(FILE *f, const double *bytes) {
    fprintf(f, "%s", bytes[0] > 0 && bytes[1] > 0 ? "read and written" : bytes[1] > 0 ? "written" : "read");
}

static void map_title(FILE *f, const digest *d, int row, const page_cell *c) {
    fprintf(f, "<title>%s to %s: ", chart_bytes((double)d->size / PAGE_ROWS * row),
            chart_bytes((double)d->size / PAGE_ROWS * (row + 1)));
    if (c->rank == SEVERAL)
        fputs("several processes", f);
    else
        fprintf(f, "rank %d", c->rank);
    fputs(", ", f);
    say_kind(f, c->bytes);
    fputs("</title>", f);
}

void chart_map(FILE *f, const digest *d) {
    enum { ROW = 5 };
    const double most = heaviest(d);
    begin(f, PAGE_ROWS * ROW + 26, "map", "Who touched which part of the file when");
    fprintf(f, "<rect class=\"ground\" x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\"/>\n", LEFT, WIDTH, PAGE_ROWS * ROW);
    for (int i = 0; i < PAGE_ROWS; i++)
        for (int k = 0, end; k < PAGE_COLUMNS; k = end) {
            const page_cell *c = &d->cell[i][k];
            const double dark = depth(c->bytes[0] + c->bytes[1], most);
            for (end = k + 1; end < PAGE_COLUMNS; end++) {
                const page_cell *next = &d->cell[i][end];
                if (next->rank != c->rank || depth(next->bytes[0] + next->bytes[1], most) != dark ||
                    (next->bytes[1] > 0) != (c->bytes[1] > 0))
                    break;
            }
            if (c->rank == NOBODY) continue;
            fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" opacity=\"%.2f\" fill=\"", LEFT + k * CELL,
                    i * ROW, (end - k) * CELL, ROW, dark);
            chart_colour(f, c->rank);
            fputs("\">", f);
            map_title(f, d, i, c);
            fputs("</rect>\n", f);
        }
    file_axis_down(f, d, 0, PAGE_ROWS * ROW);
    time_axis(f, d, PAGE_ROWS * ROW + 18);
    fputs("</svg>\n", f);
}

/* ---- A row for each process ---- */

/* Marks of reads above those of writes. */
static void pair(FILE *f, double x, double width, double y, double height, const double *amount, double most) {
    static const char *const kind[] = {"read", "write"};
    for (int w = 0; w < 2; w++)
        if (amount[w] > 0)
            fprintf(f, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" opacity=\"%.2f\"/>\n",
                    kind[w], x, y + (w ? height / 2 : 0), width, height / 2, depth(amount[w], most));
}

static double row_height(const digest *d) { return d->ranks <= 8 ? 22 : d->ranks <= 16 ? 14 : 8; }

static void rows_begin(FILE *f, const digest *d, const char *id, const char *label) {
    const double row = row_height(d);
    begin(f, (int)(d->ranks * row) + 26, id, label);
    for (int i = 0; i < d->ranks; i++)
        fprintf(f, "<rect class=\"ground\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>\n", LEFT, i * row, WIDTH,
                row - 1);
    rank_axis(f, d, row);
}

void chart_touch(FILE *f, const digest *d) {
    const double row = row_height(d), cell = (double)WIDTH / PAGE_ROWS;
    double most = 0;
    rows_begin(f, d, "touch", "Which parts of the file each process reads and writes");
    for (int i = 0; i < d->ranks; i++)
        for (int k = 0; k < PAGE_ROWS; k++) most = fmax(most, fmax(d->touch[i][k][0], d->touch[i][k][1]));
    for (int i = 0; i < d->ranks; i++)
        for (int k = 0; k < PAGE_ROWS; k++) pair(f, LEFT + k * cell, cell, i * row, row - 1, d->touch[i][k], most);
    file_axis_along(f, d, d->ranks * row + 18);
    fputs("</svg>\n", f);
}

void chart_busy(FILE *f, const digest *d) {
    const double row = row_height(d);
    double most = 0;
    rows_begin(f, d, "busy", "When each process reads and writes");
    for (int i = 0; i < d->ranks; i++)
        for (int k = 0; k < PAGE_COLUMNS; k++) most = fmax(most, fmax(d->busy[i][k][0], d->busy[i][k][1]));
    for (int i = 0; i < d->ranks; i++)
        for (int k = 0; k < PAGE_COLUMNS; k++) pair(f, LEFT + k * CELL, CELL, i * row, row - 1, d->busy[i][k], most);
    time_axis(f, d, d->ranks * row + 18);
    fputs("</svg>\n", f);
}

/* ---- Bars ---- */

typedef struct bars {
    double most, height, y;
} bars;

static void bar(FILE *f, const bars *b, double x, double width, double value, bool write, const char *words) {
    const double tall = b->most > 0 ? b->height * value / b->most : 0;
    if (value <= 0) return;
    fprintf(f, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s</title></rect>\n",
            write ? "write" : "read", x, b->y + b->height - tall, width, tall, words);
}

/* Three lines across, with what they stand for. */
static void scale(FILE *f, const bars *b, const char *(*label)(double)) {
    for (int i = 0; i <= 2; i++) {
        const double y = b->y + b->height * (2 - i) / 2;
        fprintf(f, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, LEFT + WIDTH, y, y);
        text(f, LEFT - 8, y + 4, "end", label(b->most * i / 2));
    }
}

static const char *count_text(double n) {
    static char out[24];
    snprintf(out, sizeof out, n < 1e6 ? "%.0f" : "%.3g", n);
    return out;
}

static const char *speed_text(double n) {
    static char out[32];
    snprintf(out, sizeof out, "%s/s", chart_bytes(n));
    return out;
}

void chart_sizes(FILE *f, const digest *d) {
    int first = PAGE_SIZES, last = -1;
    bars b = {0, 120, 8};
    for (int k = 0; k < PAGE_SIZES; k++) {
        const double n = fmax(d->size_count[0][k], d->size_count[1][k]);
        if (n > 0 && k < first) first = k;
        if (n > 0) last = k;
        b.most = fmax(b.most, n);
    }
    begin(f, 156, "sizes", "How many accesses have how many bytes");
    scale(f, &b, count_text);
    /* A few sizes would be shouting if they shared the whole width. */
    const double each = last < first ? WIDTH : fmin(WIDTH / (double)(last - first + 1), 120);
    for (int k = first; k <= last; k++)
        for (int w = 0; w < 2; w++) {
            char words[128];
            const double x = LEFT + (k - first) * each;
            snprintf(words, sizeof words, "%s %s of %s and more", count_text(d->size_count[w][k]),
                     w ? "writes" : "reads", chart_bytes(ldexp(1, k)));
            bar(f, &b, x + each * (w ? 0.5 : 0.12), each * 0.36, d->size_count[w][k], w, words);
            if (w == 0) text(f, x + each / 2, 146, "middle", chart_bytes(ldexp(1, k)));
        }
    fputs("</svg>\n", f);
}

static double speed_of(const page_use *u, int w) { return u->seconds[w] > 0 ? u->bytes[w] / u->seconds[w] : 0; }

void chart_speed(FILE *f, const digest *d) {
    const int n = d->t->nproc < 4 * PAGE_RANKS ? d->t->nproc : 4 * PAGE_RANKS;
    bars b = {0, 120, 8};
    for (int i = 0; i < n; i++) b.most = fmax(b.most, fmax(speed_of(&d->rank[i], 0), speed_of(&d->rank[i], 1)));
    begin(f, 156, "speed", "Bandwidth of each process");
    scale(f, &b, speed_text);
    const double each = fmin(WIDTH / (double)(n > 0 ? n : 1), 120);
    for (int i = 0; i < n; i++) {
        char words[128];
        for (int w = 0; w < 2; w++) {
            snprintf(words, sizeof words, "rank %d %s at %s", i, w ? "writes" : "reads",
                     speed_text(speed_of(&d->rank[i], w)));
            bar(f, &b, LEFT + i * each + each * (w ? 0.5 : 0.12), each * 0.36, speed_of(&d->rank[i], w), w, words);
        }
        snprintf(words, sizeof words, "%d", i);
        if (n <= 32 || i % 16 == 0) text(f, LEFT + (i + 0.5) * each, 146, "middle", words);
    }
    fputs("</svg>\n", f);
}
