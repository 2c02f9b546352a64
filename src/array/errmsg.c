/* errmsg.c: the last error of each thread, in a sentence. */
#include "array/array.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[sizeof((sluice_reason *)0)->text] = "no error";

const char *sluice_errmsg(void) { return text; }

sluice_reason sluice_errmsg_reason(int error) {
    sluice_reason why = {.error = error, .pos = -1};
    memcpy(why.text, text, sizeof text);
    return why;
}

int sluice_errmsg_set(const sluice_reason *why) {
    memcpy(text, why->text, sizeof text);
    return why->error;
}

int sluice_errmsg_fail(int error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error;
}

int sluice_errmsg_name(const char *call, const char *path, int error, sluice_reason *why) {
    const sluice_label label = sluice_store_label(path);
    const sluice_reason detail = *why;
    if (!error || strstr(detail.text, label.text)) return error;
    return sluice_refuse(why, error, detail.pos, "%s %s: %.120s", call, label.text, detail.text);
}
