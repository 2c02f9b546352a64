/* dtype.c: NumPy's dtype as Python, for its size.
 *
 *     dtype  = string                           '<f4'
 *            | "[" { field "," } "]"            a record; its fields lie one after the other, padding is a field too
 *     field  = "(" name "," dtype [ "," shape ] ")"
 *     name   = string | "(" title "," string ")"
 *     shape  = number | tuple                   so many of the dtype
 *
 * Inside a field, (dtype, shape) is a dtype as well. Python objects have no size in the file and are refused.
 */
#include "file/file.h"
#include <stdio.h>
#include <string.h>

enum {
    MAX_NESTING = 32, /* of records; NumPy's own files stay far below */
    MAX_SHAPE = 64    /* dimensions of an array in a record: NumPy's limit */
};

/* A type by name. */
static int parse_simple(sluice_literal *l, sluice_type *t) {
    char name[sizeof t->name];
    sluice_run s;
    int error = sluice_literal_string(l, &s);
    if (error) return error;
    const char *code = (const char *)l->text + s.off;
    if (s.len > 0 && code[s.len - 1] == 'O' && (s.len == 1 || (s.len == 2 && strchr("<>=|", *code))))
        return sluice_literal_refuse(l, SLUICE_E_FORMAT, s.off,
                                     "the elements are Python objects, which have no place in the file");
    snprintf(name, sizeof name, "%.*s", s.len < 32 ? (int)s.len : 31, code);
    if ((int64_t)strlen(name) != s.len || !sluice_type_parse(t, name))
        return sluice_literal_refuse(l, SLUICE_E_FORMAT, s.off, "'%s' is not a type of fixed size",
                                     sluice_literal_quote(l, s).text);
    return 0;
}

static int parse_name(sluice_literal *l) {
    sluice_run s;
    int error;
    if (!sluice_literal_accept(l, '(')) return sluice_literal_string(l, &s);
    if ((error = sluice_literal_string(l, &s))) return error;
    if (!sluice_literal_accept(l, ',')) return sluice_literal_expected(l, "',' after the title of a field");
    if ((error = sluice_literal_string(l, &s))) return error;
    sluice_literal_accept(l, ',');
    return sluice_literal_accept(l, ')') ? 0 : sluice_literal_expected(l, "')' after the name of a field");
}

/* Multiplies *size by a shape. */
static int parse_shape(sluice_literal *l, int64_t *size) {
    int64_t dim[MAX_SHAPE];
    int n = 1, error;
    const bool tuple = sluice_literal_peek(l) == '(';
    const int64_t start = l->pos;
    error = tuple ? sluice_literal_tuple(l, dim, MAX_SHAPE, &n) : sluice_literal_number(l, dim);
    if (error) return error;
    for (int i = 0; i < n; i++)
        if (!sluice_mul(*size, dim[i], size))
            return sluice_literal_refuse(l, SLUICE_E_OVERFLOW, start, "this shape takes the record past 2^63-1 bytes");
    return 0;
}

static int parse_size(sluice_literal *l, int64_t *size, int depth);

/* "(" [ name "," ] dtype [ "," shape ] ")"; without a name the shape must be there. */
static int parse_field(sluice_literal *l, int64_t *size, int depth, bool named) {
    int error;
    if (!sluice_literal_accept(l, '(')) return sluice_literal_expected(l, "'(' of a field");
    if (named) {
        if ((error = parse_name(l))) return error;
        if (!sluice_literal_accept(l, ',')) return sluice_literal_expected(l, "',' after the name of a field");
    }
    if ((error = parse_size(l, size, depth))) return error;
    if (sluice_literal_accept(l, ',') && sluice_literal_peek(l) != ')') {
        if ((error = parse_shape(l, size))) return error;
        sluice_literal_accept(l, ',');
    } else if (!named) {
        return sluice_literal_expected(l, "',' and a shape");
    }
    return sluice_literal_accept(l, ')') ? 0 : sluice_literal_expected(l, "')' of a field");
}

static int parse_record(sluice_literal *l, int64_t *size, int depth) {
    int error;
    int64_t sum = 0, one;
    bool comma = true;
    sluice_literal_accept(l, '[');
    while (!sluice_literal_accept(l, ']')) {
        if (!comma) return sluice_literal_expected(l, "',' or ']' after a field");
        sluice_literal_peek(l);
        const int64_t start = l->pos;
        if ((error = parse_field(l, &one, depth, true))) return error;
        if (!sluice_add(sum, one, &sum))
            return sluice_literal_refuse(l, SLUICE_E_OVERFLOW, start, "this field takes the record past 2^63-1 bytes");
        comma = sluice_literal_accept(l, ',');
    }
    *size = sum;
    return 0;
}

static int parse_size(sluice_literal *l, int64_t *size, int depth) {
    sluice_type t;
    int c = sluice_literal_peek(l), error;
    if (c == '[' || c == '(') {
        if (depth == MAX_NESTING)
            return sluice_literal_refuse(l, SLUICE_E_FORMAT, l->pos, "records nested more than %d deep", MAX_NESTING);
        return c == '[' ? parse_record(l, size, depth + 1) : parse_field(l, size, depth + 1, false);
    }
    if ((error = parse_simple(l, &t))) return error;
    *size = t.size;
    return 0;
}

int sluice_dtype_parse(sluice_dtype *out, sluice_literal *l) {
    sluice_dtype t = {.record = sluice_literal_peek(l) == '['};
    t.text.off = l->pos;
    int error;
    if (t.record) {
        char name[32];
        int64_t size;
        if ((error = parse_size(l, &size, 0))) return error;
        snprintf(name, sizeof name, "V%lld", (long long)size);
        sluice_type_parse(&t.type, name);
    } else if ((error = parse_simple(l, &t.type))) {
        return error;
    }
    if (t.type.size == 0) return sluice_literal_refuse(l, SLUICE_E_FORMAT, t.text.off, "elements of 0 bytes");
    t.text.len = l->pos - t.text.off;
    *out = t;
    return 0;
}
