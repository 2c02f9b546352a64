/* element.c: what the bytes of an element say, in decimal and back. */
#include "file/file.h"
#include "tool/tool.h"
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where the kind is known, short code is left of a long switch. */
#define INLINE static inline __attribute__((always_inline))

element_kind element_of(const sluice_desc *d) {
    sluice_type t;
    if (!sluice_type_parse(&t, d->type)) report_failure("unknown type %s", d->type);
    return (element_kind){t.descr[1], t.size};
}

/* ---- numbers of all sizes ---- */

static float half_to_float(uint16_t h) {
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    const float size = exponent == 31  ? (mantissa ? NAN : INFINITY)
                       : exponent == 0 ? ldexpf((float)mantissa, -24)
                                       : ldexpf((float)(mantissa + 1024), exponent - 25);
    return h >> 15 ? -size : size;
}

/* The nearest whole number, the even one of two. */
static int nearest(double x) {
    const int below = (int)x;
    const double rest = x - below;
    return below + (rest > 0.5 || (rest == 0.5 && below % 2));
}

static uint16_t half_from_double(double x) {
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const double size = fabs(x);
    int exponent;
    if (isnan(x)) return sign | 0x7E00;
    if (isinf(x)) return sign | 0x7C00;
    if (size < ldexp(1, -14)) return (uint16_t)(sign | nearest(ldexp(size, 24))); /* also up to the first normal */
    frexp(size, &exponent);
    const int bits = (exponent + 13) * 1024 + nearest(ldexp(size, 11 - exponent)); /* the last is 1024 ... 2048 */
    return (uint16_t)(sign | (bits > 0x7C00 ? 0x7C00 : bits));
}

INLINE int64_t load_signed(int64_t size, const void *p) {
    int8_t a;
    int16_t b;
    int32_t c;
    int64_t d;
    switch (size) {
    case 1: return memcpy(&a, p, 1), a;
    case 2: return memcpy(&b, p, 2), b;
    case 4: return memcpy(&c, p, 4), c;
    default: return memcpy(&d, p, 8), d;
    }
}

static uint64_t load_unsigned(int64_t size, const void *p) {
    const uint64_t v = (uint64_t)load_signed(size, p);
    return size == 8 ? v : v & ((UINT64_C(1) << 8 * size) - 1);
}

/* The low bytes. */
INLINE void store_integer(int64_t size, void *p, uint64_t v) {
    const uint8_t a = (uint8_t)v;
    const uint16_t b = (uint16_t)v;
    const uint32_t c = (uint32_t)v;
    switch (size) {
    case 1: memcpy(p, &a, 1); break;
    case 2: memcpy(p, &b, 2); break;
    case 4: memcpy(p, &c, 4); break;
    default: memcpy(p, &v, 8);
    }
}

INLINE long double load_float(int64_t size, const void *p) {
    uint16_t half;
    float single;
    double twice;
    long double extended;
    switch (size) {
    case 2: return memcpy(&half, p, 2), half_to_float(half);
    case 4: return memcpy(&single, p, 4), single;
    case 8: return memcpy(&twice, p, 8), twice;
    default: return memcpy(&extended, p, sizeof extended), extended;
    }
}

INLINE void store_float(int64_t size, void *p, long double v) {
    if (size == 2) {
        const uint16_t half = half_from_double((double)v);
        memcpy(p, &half, 2);
    } else if (size == 4) {
        const float single = (float)v;
        memcpy(p, &single, 4);
    } else if (size == 8) {
        const double twice = (double)v;
        memcpy(p, &twice, 8);
    } else {
        memset(p, 0, (size_t)size); /* a long double of 10 bytes lies in 12 or 16 */
        memcpy(p, &v, LDBL_MANT_DIG == 64 ? 10 : sizeof v);
    }
}

/* ---- printing ---- */

static void print_float(FILE *f, int64_t size, const void *p) {
    const int least = size == 2 ? 3 : size == 4 ? 6 : size == 8 ? 15 : LDBL_DIG;
    const int most = size == 2 ? 5 : size == 4 ? 9 : size == 8 ? 17 : LDBL_DECIMAL_DIG;
    const long double v = load_float(size, p);
    unsigned char again[16];
    char text[64];
    if (isnan(v)) {
        fputs("nan", f);
        return;
    }
    for (int digits = least; digits <= most; digits++) {
        snprintf(text, sizeof text, "%.*Lg", digits, v);
        store_float(size, again, size == 4 ? strtof(text, NULL) : size > 8 ? strtold(text, NULL) : strtod(text, NULL));
        if (load_float(size, again) == v) break;
    }
    if (strchr(text, 'e') && v > -1e16L && v < 1e16L && (v >= 1 || v <= -1)) /* a whole number with zeros at the end */
        snprintf(text, sizeof text, "%.0Lf", v);
    fputs(text, f);
}

static void print_complex(FILE *f, int64_t size, const unsigned char *p) {
    const int64_t half = size / 2;
    print_float(f, half, p);
    if (!signbit(load_float(half, p + half)) || isnan(load_float(half, p + half))) putc('+', f);
    print_float(f, half, p + half);
    putc('j', f);
}

/* Characters of 1 or 4 bytes, without the zeros at the end, as UTF-8; what is not printable as \\x1b or \\u00a0. */
static void print_text(FILE *f, int64_t size, const unsigned char *p, int64_t unit) {
    int64_t n = size / unit;
    while (n > 0 && load_unsigned(unit, p + (n - 1) * unit) == 0) n--;
    putc('"', f);
    for (int64_t i = 0; i < n; i++) {
        const unsigned c = (unsigned)load_unsigned(unit, p + i * unit);
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", (int)c);
        else if (c >= ' ' && c < 127)
            putc((int)c, f);
        else if (unit == 1 || c < 0xA0)
            fprintf(f, "\\x%02x", c);
        else if (c < 0x800)
            fprintf(f, "%c%c", (int)(0xC0 | c >> 6), (int)(0x80 | (c & 63)));
        else if (c < 0x10000)
            fprintf(f, "%c%c%c", (int)(0xE0 | c >> 12), (int)(0x80 | (c >> 6 & 63)), (int)(0x80 | (c & 63)));
        else if (c < 0x110000)
            fprintf(f, "%c%c%c%c", (int)(0xF0 | c >> 18), (int)(0x80 | (c >> 12 & 63)), (int)(0x80 | (c >> 6 & 63)),
                    (int)(0x80 | (c & 63)));
        else
            fprintf(f, "\\U%08x", c);
    }
    putc('"', f);
}

void element_print(FILE *f, element_kind e, const void *value) {
    const unsigned char *p = value;
    switch (e.kind) {
    case 'b':
    case 'u': fprintf(f, "%" PRIu64, load_unsigned(e.size, p)); break;
    case 'i':
    case 'M':
    case 'm': fprintf(f, "%" PRId64, load_signed(e.size, p)); break;
    case 'f': print_float(f, e.size, p); break;
    case 'c': print_complex(f, e.size, p); break;
    case 'S': print_text(f, e.size, p, 1); break;
    case 'U': print_text(f, e.size, p, 4); break;
    default:
        for (int64_t i = 0; i < e.size; i++) fprintf(f, "%02x", p[i]);
    }
}

/* ---- reading ---- */

static const char *skip(const char *s) {
    while (isspace((unsigned char)*s)) s++;
    return s;
}

static void expect_end(const char *text, const char *end) {
    if (*skip(end)) report_at("value", text, skip(end) - text, "expected the end of the number");
}

static uint64_t read_integer(element_kind e, const char *text) {
    const char *start = skip(text);
    if (e.kind == 'b' && (!strcmp(start, "true") || !strcmp(start, "false"))) return *start == 't';
    const bool minus = *start == '-';
    char *end;
    if (!isdigit((unsigned char)start[minus || *start == '+']))
        report_at("value", text, start - text, "expected a whole number");
    errno = 0;
    const uint64_t v = strtoull(start, &end, 0); /* of a negative number: its complement */
    expect_end(text, end);
    const uint64_t size = minus ? 0 - v : v, top = UINT64_MAX >> (64 - 8 * e.size),
                   sign = e.kind == 'u' ? 0 : top / 2 + 1;
    const uint64_t most = e.kind == 'b' ? 1 : minus ? sign : sign ? sign - 1 : top;
    if (errno || size > most) report_at("value", text, start - text, "the type of the array cannot hold it");
    return v;
}

static long double read_float(const char *text, const char **at) {
    char *end;
    errno = 0;
    const long double v = strtold(*at, &end);
    if (end == *at) report_at("value", text, *at - text, "expected a number");
    if (errno && isinf(v)) report_at("value", text, *at - text, "no type can hold it");
    *at = end;
    return v;
}

/* A number that is finite stays so. */
static void fill_float(int64_t size, unsigned char *p, long double v, const char *text) {
    store_float(size, p, v);
    if (isinf(load_float(size, p)) && !isinf(v))
        report_at("value", text, skip(text) - text, "the type of the array cannot hold it");
}

void element_read(element_kind e, void *value, const char *text) {
    const char *at = skip(text);
    const int64_t half = e.size / 2;
    unsigned char *p = value;
    switch (e.kind) {
    case 'b':
    case 'u':
    case 'i':
    case 'M':
    case 'm': store_integer(e.size, p, read_integer(e, text)); break;
    case 'f': {
        const long double v = read_float(text, &at);
        expect_end(text, at);
        fill_float(e.size, p, v, text);
        break;
    }
    case 'c': { /* 1.5, 2j or 1.5+2j */
        long double part[2] = {read_float(text, &at), 0};
        const bool second = *at == '+' || *at == '-';
        if (second) part[1] = read_float(text, &at);
        if (*at == 'j' || *at == 'i') {
            at++;
            if (!second) part[1] = part[0], part[0] = 0;
        } else if (second) {
            report_at("value", text, at - text, "expected j");
        }
        expect_end(text, at);
        fill_float(half, p, part[0], text);
        fill_float(half, p + half, part[1], text);
        break;
    }
    case 'S':
        if (strlen(text) > (size_t)e.size) report_at("value", text, e.size, "the type of the array is shorter");
        memset(p, 0, (size_t)e.size);
        memcpy(p, text, strlen(text));
        break;
    default: report_usage("value '%.60s': only numbers and S texts can be filled in", text);
    }
}

/* ---- counting ---- */

INLINE void add(element_kind e, unsigned char *p, const unsigned char *first, int64_t index) {
    const int64_t half = e.size / 2;
    switch (e.kind) {
    case 'f':
        if (e.size == 4 || e.size == 8)
            store_float(e.size, p, (double)load_float(e.size, first) + (double)index);
        else
            store_float(e.size, p, load_float(e.size, first) + (long double)index);
        break;
    case 'c':
        store_float(half, p, load_float(half, first) + (long double)index);
        memcpy(p + half, first + half, (size_t)half);
        break;
    case 'b': *p = *first || index; break;
    default: store_integer(e.size, p, (uint64_t)load_signed(e.size, first) + (uint64_t)index);
    }
}

void element_ramp(element_kind e, void *buf, int64_t n, const void *first, int64_t index, int64_t by) {
    unsigned char *p = buf;
    if (!strchr("biufcMm", e.kind)) report_usage("--iota is for numbers");
#define USUAL(KIND, SIZE)                                                                                              \
    if (e.kind == KIND && e.size == SIZE) {                                                                            \
        for (int64_t k = 0; k < n; k++) add((element_kind){KIND, SIZE}, p + k * SIZE, first, index + k * by);          \
        return;                                                                                                        \
    }
    USUAL('f', 4)
    USUAL('f', 8)
    USUAL('i', 4)
    USUAL('i', 8)
#undef USUAL
    for (int64_t k = 0; k < n; k++) add(e, p + k * e.size, first, index + k * by);
}
