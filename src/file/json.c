/* json.c: see json.h. */
#include "file/json.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_DEPTH = 8,        /* of brackets; what Sluice writes has at most 4 */
    MAX_VALUES = 1 << 19, /* brackets and commas */
};

#define REFUSE(...) sluice_refuse(why, SLUICE_E_FORMAT, -1, __VA_ARGS__)

/* ---- Writing ---- */

void sluice_json_put(sluice_json_text *w, const char *bytes, size_t n) {
    if (w->len < 0) return;
    if (w->cap - w->len < (int64_t)n) {
        const int64_t cap = 2 * w->cap + (int64_t)n + 1024;
        char *more = sluice_mem_resize(w->text, (size_t)cap, 1);
        if (!more) {
            sluice_mem_free(w->text);
            *w = (sluice_json_text){NULL, -1, 0};
            return;
        }
        w->text = more;
        w->cap = cap;
    }
    memcpy(w->text + w->len, bytes, n);
    w->len += (int64_t)n;
}

void sluice_json_print(sluice_json_text *w, const char *format, ...) {
    char line[256];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    sluice_json_put(w, line, (size_t)n);
}

void sluice_json_string(sluice_json_text *w, const char *s) {
    sluice_json_put(w, "\"", 1);
    for (; *s; s++) {
        if ((unsigned char)*s < ' ')
            sluice_json_print(w, "\\u%04x", (unsigned)*s);
        else if (*s == '"' || *s == '\\')
            sluice_json_print(w, "\\%c", *s);
        else
            sluice_json_put(w, s, 1);
    }
    sluice_json_put(w, "\"", 1);
}

/* ---- Reading ---- */

/* Counts brackets and values without a tree; strings are skipped, whatever is in them. */
static int scan(const char *text, int64_t len, sluice_reason *why) {
    int64_t values = 0;
    int depth = 0;
    bool string = false;
    for (int64_t i = 0; i < len; i++) {
        const char c = text[i];
        if (string && c == '\\')
            i++;
        else if (c == '"')
            string = !string;
        else if (!string && (c == '[' || c == '{'))
            depth++, values++;
        else if (!string && (c == ']' || c == '}'))
            depth--;
        else if (!string && c == ',')
            values++;
        if (depth > MAX_DEPTH)
            return sluice_refuse(why, SLUICE_E_FORMAT, i, "byte %" PRId64 ": nested more than %d deep", i, MAX_DEPTH);
        if (values > MAX_VALUES)
            return sluice_refuse(why, SLUICE_E_FORMAT, i, "byte %" PRId64 ": more than %d values", i, MAX_VALUES);
    }
    return 0;
}

int sluice_json_load(json_t **out, const char *text, int64_t len, int64_t most, sluice_reason *why) {
    json_error_t bad;
    if (len > most) return REFUSE("more than %" PRId64 " bytes", most);
    const int error = scan(text, len, why);
    if (error) return error;
    if (!sluice_mem_charge(len)) return sluice_pass(why, -ENOMEM);
    json_t *o = json_loadb(text, (size_t)len, JSON_REJECT_DUPLICATES, &bad);
    if (json_is_object(o)) {
        *out = o;
        return 0;
    }
    sluice_mem_discharge(len);
    json_decref(o);
    if (o) return REFUSE("not an object");
    if (json_error_code(&bad) == json_error_out_of_memory) return sluice_pass(why, -ENOMEM);
    return sluice_refuse(why, SLUICE_E_FORMAT, bad.position, "byte %d: %.150s", bad.position, bad.text);
}

void sluice_json_free(json_t *o, int64_t len) {
    json_decref(o);
    sluice_mem_discharge(len);
}

int sluice_json_get_string(const json_t *o, const char *key, size_t most, const char **value, sluice_reason *why) {
    const json_t *v = json_object_get(o, key);
    if (!json_is_string(v)) return REFUSE("\"%s\" is %s", key, v ? "not a string" : "missing");
    if (json_string_length(v) > most) return REFUSE("\"%s\" has more than %zu bytes", key, most);
    *value = json_string_value(v);
    return 0;
}

int sluice_json_get_number(const json_t *o, const char *key, int64_t least, int64_t most, int64_t *value,
                           sluice_reason *why) {
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v)) return REFUSE("\"%s\" is %s", key, v ? "not a whole number" : "missing");
    *value = json_integer_value(v);
    if (*value < least) return REFUSE("\"%s\" is %" PRId64 "; it is at least %" PRId64, key, *value, least);
    if (*value > most) return REFUSE("\"%s\" is %" PRId64 "; it is at most %" PRId64, key, *value, most);
    return 0;
}

int sluice_json_get_list(const json_t *o, const char *key, size_t least, size_t most, const json_t **list,
                         sluice_reason *why) {
    *list = json_object_get(o, key);
    if (!json_is_array(*list)) return REFUSE("\"%s\" is %s", key, *list ? "not a list" : "missing");
    const size_t n = json_array_size(*list);
    if (n < least || n > most)
        return REFUSE("\"%s\" has %zu entries; it has %s %zu", key, n, n < least ? "at least" : "at most",
                      n < least ? least : most);
    return 0;
}

int sluice_json_get_version(const json_t *o, const char *format, int64_t version, sluice_reason *why) {
    const char *word;
    int64_t number;
    int error = sluice_json_get_string(o, "format", 64, &word, why);
    if (error) return error;
    if (strcmp(word, format) != 0) return REFUSE("\"format\" is not \"%s\"", format);
    if ((error = sluice_json_get_number(o, "version", 1, INT64_MAX, &number, why))) return error;
    if (number != version)
        return sluice_refuse(why, SLUICE_E_VERSION, -1, "version %" PRId64 " of the format; this Sluice knows %" PRId64,
                             number, version);
    const json_t *requires = json_object_get(o, "requires");
    if (requires && !json_is_array(requires)) return REFUSE("\"requires\" is not a list");
    if (json_array_size(requires)) {
        const json_t *first = json_array_get(requires, 0);
        if (!json_is_string(first)) return REFUSE("\"requires\" holds what is not a string");
        return sluice_refuse(why, SLUICE_E_VERSION, -1, "it requires \"%.60s\", which this Sluice does not know",
                             json_string_value(first));
    }
    return 0;
}
