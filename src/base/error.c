/* error.c: texts of errors, and the one way to refuse an input. */
#include "base.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *sluice_strerror(int error) {
    switch (error) {
    case 0: return "success";
#define CASE(name, number, text)                                                                                       \
    case name: return text;
        SLUICE_ERRORS(CASE)
#undef CASE
    }
    const char *system = error < 0 && error > -1000 ? strerrordesc_np(-error) : NULL;
    return system ? system : "unknown error";
}

int sluice_refuse(sluice_reason *why, int error, int64_t pos, const char *format, ...) {
    if (why) {
        va_list args;
        why->error = error;
        why->pos = pos;
        va_start(args, format);
        vsnprintf(why->text, sizeof why->text, format, args);
        va_end(args);
    }
    return error;
}

int sluice_pass(sluice_reason *why, int error) {
    return error ? sluice_refuse(why, error, -1, "%s", sluice_strerror(error)) : 0;
}
