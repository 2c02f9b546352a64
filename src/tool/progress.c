/* progress.c: how far it is, for someone who waits: a line on standard error that is written over and over.
 *
 *     cp   43 % |==========>              |  440 of 1024 MiB, 612 MiB/s, 0:01 left
 *
 * Nothing if standard error is not a terminal, and nothing in the first second.
 */
#include "tool/tool.h"
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30, LINE = 120 };

static struct {
    const char *doing;
    double start, shown; /* seconds */
    bool terminal, drawn;
} bar;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_start(const char *doing) {
    bar.doing = doing;
    bar.start = bar.shown = now();
    bar.terminal = ranks_first() && isatty(STDERR_FILENO);
}

double progress_seconds(void) { return now() - bar.start; }

/* Not longer than the terminal is wide: a line that wraps cannot be written over. */
static int width(void) {
    struct winsize size;
    const bool known = !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col > 1;
    return known && size.ws_col < LINE ? size.ws_col - 1 : LINE;
}

static void draw(double seconds, int64_t done, int64_t total) {
    const double part = total ? (double)done / (double)total : 1, mib = 1 << 20;
    const double rate = (double)done / seconds, left = done ? (double)(total - done) / rate : 0;
    char line[2 * LINE], marks[BAR + 1];
    const int full = (int)(part * BAR);
    for (int i = 0; i < BAR; i++) marks[i] = i < full ? '=' : i == full ? '>' : ' ';
    marks[BAR] = 0;
    snprintf(line, sizeof line, "%s %3d %% |%s| %.0f of %.0f MiB, %.0f MiB/s, %d:%02d left", bar.doing,
             (int)(100 * part), marks, (double)done / mib, (double)total / mib, rate / mib, (int)(left / 60),
             (int)left % 60);
    fprintf(stderr, "\r%-*.*s", width(), width(), line);
    fflush(stderr);
    bar.drawn = true;
}

int progress_step(void *unused, int64_t done, int64_t total) {
    (void)unused;
    if (!bar.terminal) return 0;
    const double t = now();
    if (t - bar.start < 1 || t - bar.shown < 0.1) return 0;
    bar.shown = t;
    draw(t - bar.start, done, total);
    return 0;
}

void progress_end(void) {
    if (bar.drawn) fprintf(stderr, "\r%*s\r", width(), "");
    bar.drawn = false;
}
