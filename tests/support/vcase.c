/* vcase.c: see vcase.h. */
#include "support/vcase.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vmem {
    vmem *next;
    sluice_set set;
    max_align_t data[];
};

void vcase_free(vcase *c) {
    while (c->mem) {
        vmem *next = c->mem->next;
        sluice_set_free(&c->mem->set);
        free(c->mem);
        c->mem = next;
    }
}

static void fail(vcase *c, const char *format, va_list args) {
    if (!c->failed) vsnprintf(c->what, sizeof c->what, format, args);
    c->failed = true;
}

void vcase_fail(vcase *c, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fail(c, format, args);
    va_end(args);
}

static vmem *take(vcase *c, size_t n, size_t size) {
    size_t bytes;
    vmem *m = NULL;
    if (!__builtin_mul_overflow(n, size, &bytes) && bytes < SIZE_MAX - sizeof *m) m = calloc(1, sizeof *m + bytes);
    if (!m) {
        vcase_fail(c, "no memory for %zu * %zu bytes", n, size);
        return NULL;
    }
    m->next = c->mem;
    return c->mem = m;
}

void *vcase_alloc(vcase *c, size_t n, size_t size) {
    vmem *m = take(c, n, size);
    return m ? m->data : NULL;
}

sluice_set *vcase_set(vcase *c) {
    vmem *m = take(c, 0, 1);
    if (!m) exit(2); /* callers rely on a set being there */
    return &m->set;
}

static const char *type_name(json_type type) {
    static const char *const name[] = {"an object", "an array", "a text", "an integer",
                                       "a real",    "true",     "false",  "null"};
    return name[type];
}

/* NULL and a failure unless value is there and of the type. */
static const json_t *typed(vcase *c, const json_t *value, json_type type, const char *format, ...) {
    if (value && json_typeof(value) == type) return value;
    char name[80];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (value)
        vcase_fail(c, "malformed: %s is %s, not %s", name, type_name(json_typeof(value)), type_name(type));
    else
        vcase_fail(c, "malformed: %s is missing", name);
    return NULL;
}

const json_t *vcase_field(vcase *c, const json_t *object, const char *key, json_type type) {
    return typed(c, json_object_get(object, key), type, "%s", key);
}

const json_t *vcase_array(vcase *c, const json_t *object, const char *key) {
    return vcase_field(c, object, key, JSON_ARRAY);
}

int64_t vcase_int(vcase *c, const json_t *object, const char *key) {
    return json_integer_value(vcase_field(c, object, key, JSON_INTEGER));
}

bool vcase_bool(vcase *c, const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value))
        vcase_fail(c, "malformed: %s is %s", key, value ? "neither true nor false" : "missing");
    return json_is_true(value);
}

const char *vcase_text(vcase *c, const json_t *object, const char *key) {
    const json_t *value = vcase_field(c, object, key, JSON_STRING);
    return value ? json_string_value(value) : "";
}

int64_t vcase_at(vcase *c, const json_t *array, size_t i, const char *name) {
    return json_integer_value(typed(c, json_array_get(array, i), JSON_INTEGER, "%s[%zu]", name, i));
}

const json_t *vcase_array_at(vcase *c, const json_t *array, size_t i, const char *name) {
    return typed(c, json_array_get(array, i), JSON_ARRAY, "%s[%zu]", name, i);
}

int64_t *vcase_ints(vcase *c, const json_t *array, int64_t want, size_t *n, const char *name) {
    size_t length = json_array_size(array);
    int64_t *v = vcase_alloc(c, length + 1, sizeof *v);
    if (want >= 0 && length != (size_t)want)
        vcase_fail(c, "malformed: %s has %zu elements, not %lld", name, length, (long long)want);
    for (size_t i = 0; v && i < length; i++) v[i] = vcase_at(c, array, i, name);
    if (n) *n = length;
    return v;
}

sluice_falls vcase_falls(vcase *c, const json_t *array, const char *name) {
    sluice_falls f = {0};
    if (json_array_size(array) != 5) {
        vcase_fail(c, "malformed: %s holds a family that is not [l,r,s,n,[inner]]", name);
        return f;
    }
    int64_t r = vcase_at(c, array, 1, name), past;
    f.off = vcase_at(c, array, 0, name);
    f.step = vcase_at(c, array, 2, name);
    f.n = vcase_at(c, array, 3, name);
    if (__builtin_sub_overflow(r, f.off, &past) || __builtin_add_overflow(past, 1, &f.len))
        vcase_fail(c, "malformed: a block in %s passes 2^63", name);
    const json_t *inner = vcase_array_at(c, array, 4, name);
    if (json_array_size(inner)) f.inner = vcase_list(c, inner, name);
    return f;
}

const sluice_falls_list *vcase_list(vcase *c, const json_t *array, const char *name) {
    static const sluice_falls_list none = {0, NULL};
    size_t n = json_array_size(array);
    sluice_falls_list *list = vcase_alloc(c, 1, sizeof *list);
    sluice_falls *falls = vcase_alloc(c, n + 1, sizeof *falls);
    if (!list || !falls || n > INT32_MAX) return &none;
    for (size_t i = 0; i < n; i++) falls[i] = vcase_falls(c, vcase_array_at(c, array, i, name), name);
    *list = (sluice_falls_list){(int)n, falls};
    return c->failed ? &none : list;
}

sluice_set *vcase_build(vcase *c, const json_t *array, const char *name) {
    sluice_set *s = vcase_set(c);
    const sluice_falls_list *list = vcase_list(c, array, name);
    sluice_reason why = {0};
    if (!c->failed) vcase_ok(c, sluice_set_build(s, list, &why), &why, name);
    return s;
}

int64_t vcase_list_depth(const sluice_falls_list *list) {
    int64_t depth = 0;
    for (int i = 0; i < list->n; i++) {
        int64_t d = list->falls[i].inner ? 1 + vcase_list_depth(list->falls[i].inner) : 1;
        if (d > depth) depth = d;
    }
    return depth;
}

bool vcase_list_canonical(const sluice_falls_list *list) {
    int64_t end = INT64_MIN;
    for (int i = 0; i < list->n; i++) {
        const sluice_falls *f = &list->falls[i];
        if (f->off < end || (f->inner && !vcase_list_canonical(f->inner))) return false;
        end = f->off + (f->n - 1) * f->step + f->len;
    }
    return true;
}

bool vcase_ok(vcase *c, int error, const sluice_reason *why, const char *call) {
    if (error)
        vcase_fail(c, "%s: refused: %s (%s)", call, why && why->text[0] ? why->text : "no reason",
                   sluice_strerror(error));
    return !error;
}

static void differ(vcase *c, const char *expected, int64_t got, const char *format, va_list args) {
    char name[120];
    vsnprintf(name, sizeof name, format, args);
    vcase_fail(c, "%s: expected %s, got %lld", name, expected, (long long)got);
}

void vcase_same(vcase *c, int64_t expected, int64_t got, const char *format, ...) {
    if (expected == got || c->failed) return;
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)expected);
    va_list args;
    va_start(args, format);
    differ(c, text, got, format, args);
    va_end(args);
}

void vcase_same_or_null(vcase *c, const json_t *expected, int64_t got, const char *format, ...) {
    bool null = json_is_null(expected), number = json_is_integer(expected);
    if (null ? got == -1 : number && json_integer_value(expected) == got) return;
    char text[32] = "null";
    if (number) snprintf(text, sizeof text, "%lld", (long long)json_integer_value(expected));
    va_list args;
    va_start(args, format);
    differ(c, null || number ? text : "a number or null (malformed)", got, format, args);
    va_end(args);
}

void vcase_same_runs(vcase *c, const json_t *runs, const sluice_set *s, int64_t unit, const char *name) {
    sluice_reason why = {0};
    if (c->failed || !vcase_ok(c, sluice_set_check(s, &why), &why, name)) return;
    sluice_cursor cursor;
    sluice_run run;
    size_t n = json_array_size(runs), i = 0;
    sluice_cursor_init(&cursor, s);
    for (; sluice_cursor_run(&cursor, &run) && i < n && !c->failed; i++) {
        const json_t *pair = vcase_array_at(c, runs, i, name);
        const int64_t *v = vcase_ints(c, pair, 2, NULL, name);
        if (!c->failed &&
            (run.off % unit || run.len % unit || run.off / unit != v[0] || (run.off + run.len) / unit - 1 != v[1]))
            vcase_fail(c, "%s[%zu]: expected [%lld,%lld], got bytes [%lld,%lld]", name, i, (long long)v[0],
                       (long long)v[1], (long long)run.off, (long long)(run.off + run.len - 1));
    }
    vcase_same(c, (int64_t)n, sluice_set_nruns(s), "number of %s", name);
    vcase_same(c, (int64_t)n, (int64_t)i, "length of %s", name);
}

void vcase_same_ints(vcase *c, const json_t *expected, const int64_t *got, size_t n, const char *name) {
    vcase_same(c, (int64_t)json_array_size(expected), (int64_t)n, "length of %s", name);
    for (size_t i = 0; i < n && !c->failed; i++)
        vcase_same(c, vcase_at(c, expected, i, name), got[i], "%s[%zu]", name, i);
}
