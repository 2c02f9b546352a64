/* type.c: element types by name.
 *
 * A type has a name for people, float32, and a code of NumPy's, <f4: byte order, kind, bytes.
 *
 *     order    < little-endian, > big-endian, = or | or none: this machine's
 *     kind     b bool, i int, u uint, f float, c complex, S bytes, U characters of 4 bytes, V anything,
 *              M date, m span of time, both of 8 bytes and with a unit: <M8[ns], datetime64[ns]
 *
 * Where a type has no byte order, because its bytes stand for themselves, the code says |.
 */
#include "file/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *code;
} fixed[] = {
    {"bool", "b1"},      {"int8", "i1"},      {"int16", "i2"},       {"int32", "i4"},
    {"int64", "i8"},     {"uint8", "u1"},     {"uint16", "u2"},      {"uint32", "u4"},
    {"uint64", "u8"},    {"float16", "f2"},   {"float32", "f4"},     {"float64", "f8"},
    {"float128", "f16"}, {"complex64", "c8"}, {"complex128", "c16"}, {"complex256", "c32"},
};

static bool digit(char c) { return c >= '0' && c <= '9'; }

/* Takes a number without leading zeros off the front of *s. */
static bool number(const char **s, int64_t *v) {
    if (!digit(**s) || (**s == '0' && digit((*s)[1]))) return false;
    for (*v = 0; digit(**s); ++*s)
        if (!sluice_mul(*v, 10, v) || !sluice_add(*v, **s - '0', v)) return false;
    return true;
}

/* "" or the unit of a time, as in "[ns]" or "[25s]". */
static bool time_unit(const char *s) {
    static const char *const unit[] = {"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"};
    int64_t many = 1;
    if (!*s) return true;
    if (*s++ != '[' || (digit(*s) && !number(&s, &many)) || many < 1 || many > INT32_MAX) return false;
    const size_t len = strcspn(s, "]");
    if (strcmp(s + len, "]") != 0) return false;
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++)
        if (strlen(unit[i]) == len && strncmp(s, unit[i], len) == 0) return true;
    return false;
}

/* Finishes t, which has its size: `code` is without byte order. */
static bool finish(sluice_type *t, const char *name, const char *code, int64_t unit, char order) {
    static const char orders[] = {__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>',
                                  __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<'};
    t->unit = unit;
    t->swapped = unit > 1 && order == orders[1];
    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(t->descr, sizeof t->descr, "%c%s", unit > 1 ? orders[t->swapped] : '|', code);
    return true;
}

static bool parse_fixed(sluice_type *t, const char *s, char order) {
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const char *code = fixed[i].code;
        if (strcmp(s, code) != 0 && (order || strcmp(s, fixed[i].name) != 0)) continue;
        t->size = atoi(code + 1);
        return finish(t, fixed[i].name, code, *code == 'c' ? t->size / 2 : t->size, order);
    }
    return false;
}

static bool parse_time(sluice_type *t, const char *s, char order) {
    static const char *const name[] = {"datetime64", "timedelta64"}, *const code[] = {"M8", "m8"};
    for (int i = 0; i < 2; i++) {
        const char *form = strncmp(s, code[i], 2) == 0 ? code[i] : name[i];
        if ((order && form == name[i]) || strncmp(s, form, strlen(form)) != 0) continue;
        const char *unit = s + strlen(form);
        if (!time_unit(unit)) return false;
        char full[sizeof t->name], brief[24];
        snprintf(full, sizeof full, "%s%s", name[i], unit);
        snprintf(brief, sizeof brief, "%s%s", code[i], unit);
        t->size = 8;
        return finish(t, full, brief, 8, order);
    }
    return false;
}

/* S, U and V with a count; a is an old name for S. */
static bool parse_counted(sluice_type *t, const char *s, char order) {
    char name[24], kind = *s == 'a' ? 'S' : *s;
    int64_t n;
    if (!kind || !strchr("SUV", kind)) return false;
    s++;
    if (!number(&s, &n) || *s || !sluice_mul(n, kind == 'U' ? 4 : 1, &t->size)) return false;
    snprintf(name, sizeof name, "%c%lld", kind, (long long)n);
    return finish(t, name, name, kind == 'U' ? 4 : 1, order);
}

bool sluice_type_parse(sluice_type *t, const char *name) {
    sluice_type found = {0};
    char order = *name && strchr("<>=|", *name) ? *name : 0;
    const char *s = name + (order != 0);
    if (!parse_fixed(&found, s, order) && !parse_time(&found, s, order) && !parse_counted(&found, s, order))
        return false;
    *t = found;
    return true;
}

int64_t sluice_type_size(const char *type) {
    sluice_type t;
    return sluice_type_parse(&t, type) ? t.size : -1;
}
