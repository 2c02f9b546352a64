/* report.c: how the command ends when something is wrong: one line on standard error and a status. */
#include "tool/tool.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int failure = 1;

void report_trouble(void) { failure = 2; }

/* Whatever an argument holds, the message stays on one line. */
static _Noreturn void end(int status, const char *format, va_list args) {
    char line[512];
    progress_end();
    vsnprintf(line, sizeof line, format, args);
    output_name(line, sizeof line);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    fflush(stdout);
    if (ranks_first()) fprintf(stderr, "sluice: %s\n", line);
    ranks_end(status);
}

void report_usage(const char *format, ...) {
    va_list args;
    va_start(args, format);
    end(2, format, args);
}

void report_failure(const char *format, ...) {
    va_list args;
    va_start(args, format);
    end(failure, format, args);
}

void report_at(const char *what, const char *text, int64_t pos, const char *message) {
    enum { BEFORE = 40, AFTER = 20 }; /* of a long text, what is shown around the place */
    const int64_t len = (int64_t)strlen(text), from = pos > BEFORE + 3 ? pos - BEFORE : 0;
    const int64_t to = len - pos > AFTER + 3 ? pos + AFTER : len;
    char place[16] = "the end";
    if (pos < len) snprintf(place, sizeof place, "'%c'", text[pos] >= ' ' && text[pos] < 127 ? text[pos] : '?');
    report_usage("%s %s'%.*s'%s, character %" PRId64 " (%s): %s", what, from ? "..." : "", (int)(to - from),
                 text + from, to < len ? "..." : "", pos + 1, place, message);
}

void report_error(int error, const char *doing) {
    if (error == -ENOMEM || error == SLUICE_E_COMPLEX) report_failure("%s: %s", doing, sluice_strerror(error));
    if (error) report_usage("%s: %s", doing, sluice_strerror(error));
}

void report_array(int error) {
    if (!error) return;
    switch (error) {
    case -ENOENT:
    case -ENOTDIR:
    case -EISDIR:
    case -ENAMETOOLONG:
    case -ELOOP: report_usage("%s", sluice_errmsg());
    }
    if (error > -1000 || error == SLUICE_E_COMPLEX || error == SLUICE_E_CHECKSUM) report_failure("%s", sluice_errmsg());
    report_usage("%s", sluice_errmsg());
}

void *report_alloc(size_t n, size_t size) {
    void *p = calloc(n, size);
    if (!p) report_failure("%s", sluice_strerror(-ENOMEM));
    return p;
}

void report_flush(void) {
    if (fflush(stdout) || ferror(stdout)) report_failure("cannot write the output: %s", strerror(errno));
}
