/* npy.c: the header of NumPy's .npy files.
 *
 *     0x93 NUMPY   major minor   length          a Python dictionary, spaces, a line feed
 *     6 bytes      1 + 1         2 (major 1)     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *                                4 (major 2, 3)
 *
 * Version 3.0 is in UTF-8, the others are in Latin-1. Reading accepts the three keys in any order and with any white
 * space. The text lies in memory before it is read, recursion is bounded (dtype.c) and nothing is allocated, so a
 * hostile header costs no more than a pass over it. Writing follows numpy.save(), padding included.
 */
#include "file/file.h"
#include "set/section.h"
#include <stdio.h>
#include <string.h>

enum {
    PREFIX = 10,      /* magic, version, and the length in version 1.0 */
    LONG_PREFIX = 12, /* in the others */
    ALIGN = 64,
    GROWTH = 21 /* characters that the slowest extent may take up later, enough for any; NumPy's number */
};

static const unsigned char magic[6] = "\x93NUMPY";

enum { DESCR, FORTRAN, SHAPE, KEYS };
static const char *const key_name[KEYS] = {"descr", "fortran_order", "shape"};

/* What the dictionary says, and where. */
typedef struct header {
    bool have[KEYS];
    sluice_dtype dtype;
    bool fortran;
    int ndims;
    int64_t dim[SLUICE_MAX_DIMS];
    sluice_run shape;
    int64_t close; /* of the '}' */
} header;

static int parse_bool(sluice_literal *l, bool *value) {
    static const char *const word[] = {"False", "True"};
    sluice_literal_peek(l);
    for (int i = 0; i < 2; i++) {
        const int64_t len = (int64_t)strlen(word[i]);
        if (l->end - l->pos < len || memcmp(l->text + l->pos, word[i], (size_t)len) != 0) continue;
        l->pos += len;
        *value = i;
        return 0;
    }
    return sluice_literal_expected(l, "True or False");
}

static int parse_entry(sluice_literal *l, header *h) {
    sluice_run s;
    int error = sluice_literal_string(l, &s), key = 0;
    if (error) return error;
    while (key < KEYS &&
           ((int64_t)strlen(key_name[key]) != s.len || memcmp(key_name[key], l->text + s.off, (size_t)s.len) != 0))
        key++;
    if (key == KEYS)
        return sluice_literal_refuse(l, SLUICE_E_FORMAT, s.off, "unknown key '%s'", sluice_literal_quote(l, s).text);
    if (h->have[key])
        return sluice_literal_refuse(l, SLUICE_E_FORMAT, s.off, "the key '%s' comes twice", key_name[key]);
    h->have[key] = true;
    if (!sluice_literal_accept(l, ':')) return sluice_literal_expected(l, "':' after a key");
    if (key == DESCR) return sluice_dtype_parse(&h->dtype, l);
    if (key == FORTRAN) return parse_bool(l, &h->fortran);
    sluice_literal_peek(l);
    h->shape.off = l->pos;
    error = sluice_literal_tuple(l, h->dim, SLUICE_MAX_DIMS, &h->ndims);
    h->shape.len = l->pos - h->shape.off;
    return error;
}

static int parse_dictionary(sluice_literal *l, header *h) {
    int error;
    bool comma = true;
    if (!sluice_literal_accept(l, '{')) return sluice_literal_expected(l, "'{' of a dictionary");
    while (!sluice_literal_accept(l, '}')) {
        if (!comma) return sluice_literal_expected(l, "',' or '}' after a value");
        if ((error = parse_entry(l, h))) return error;
        comma = sluice_literal_accept(l, ',');
    }
    h->close = l->pos - 1;
    for (int key = 0; key < KEYS; key++)
        if (!h->have[key])
            return sluice_literal_refuse(l, SLUICE_E_FORMAT, h->close, "there is no key '%s'", key_name[key]);
    return sluice_literal_peek(l) < 0 ? 0 : sluice_literal_expected(l, "nothing after the dictionary");
}

/* The length of the header as far as n bytes tell, with its text in *l. */
static int64_t measure(sluice_literal *l, const unsigned char *bytes, int64_t n) {
    if (memcmp(bytes, magic, (size_t)sluice_min(n, sizeof magic)) != 0) return 0;
    if (n < PREFIX) return PREFIX;
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return sluice_literal_refuse(l, SLUICE_E_VERSION, 6, "version %d.%d of .npy; 1.0, 2.0 and 3.0 are known",
                                     bytes[6], bytes[7]);
    int64_t length = bytes[8] | bytes[9] << 8;
    if (bytes[6] > 1) {
        if (n < LONG_PREFIX) return LONG_PREFIX;
        length |= (int64_t)bytes[10] << 16 | (int64_t)bytes[11] << 24;
    }
    l->text = bytes;
    l->pos = bytes[6] > 1 ? LONG_PREFIX : PREFIX;
    l->end = l->pos + length;
    return l->end;
}

/* Keeps the text of a dtype as UTF-8. */
static int keep(sluice_desc *d, sluice_literal *l, sluice_run text) {
    const bool latin1 = l->text[6] < 3;
    size_t n = 0;
    for (int64_t i = text.off; i < text.off + text.len; i++) {
        const unsigned char c = l->text[i];
        if (n + 3 > sizeof d->descr)
            return sluice_literal_refuse(l, SLUICE_E_FORMAT, text.off, "a record of more than %d bytes of description",
                                         (int)sizeof d->descr - 2);
        if (latin1 && c >= 0x80) d->descr[n++] = (char)(0xC0 | c >> 6);
        d->descr[n++] = (char)(latin1 && c >= 0x80 ? 0x80 | (c & 0x3F) : c);
    }
    d->descr[n] = 0;
    return 0;
}

/* All of a header that is whole. */
static int parse(sluice_desc *out, header *h, sluice_literal *l) {
    sluice_desc d = {.format = SLUICE_NPY};
    int64_t step[SLUICE_MAX_DIMS], bad;
    int error;
    if (l->text[6] == 3 && !sluice_literal_utf8(l, &bad))
        return sluice_literal_refuse(l, SLUICE_E_FORMAT, bad, "not UTF-8");
    if ((error = parse_dictionary(l, h))) return error;
    d.shape = (sluice_shape){.ndims = h->ndims > 0 ? h->ndims : 1,
                             .order = h->fortran ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR,
                             .elem = h->dtype.type.size,
                             .header = l->end,
                             .dim = {1}};
    memcpy(d.shape.dim, h->dim, (size_t)h->ndims * sizeof *h->dim);
    sluice_reason inner;
    if ((error = sluice_section_shape(&d.shape, step, &inner)))
        return sluice_literal_refuse(l, error, h->shape.off, "%.170s", inner.text);
    strcpy(d.type, h->dtype.type.name);
    d.swapped = h->dtype.type.swapped;
    if (h->dtype.record && (error = keep(&d, l, h->dtype.text))) return error;
    *out = d;
    return 0;
}

int64_t sluice_npy_parse(sluice_desc *d, const void *bytes, int64_t n, sluice_reason *why) {
    sluice_literal l = {.why = why};
    header h = {0};
    const int64_t length = measure(&l, bytes, n);
    if (length <= 0 || length > n) return length;
    const int error = parse(d, &h, &l);
    return error ? error : length;
}

/* Prints the extents as Python does, and returns how many characters there are. */
static int print_shape(char *text, size_t cap, const sluice_shape *s) {
    int n = snprintf(text, cap, "(");
    for (int i = 0; i < s->ndims; i++)
        n += snprintf(text + n, cap - (size_t)n, i ? ", %lld" : "%lld", (long long)s->dim[i]);
    return n + snprintf(text + n, cap - (size_t)n, s->ndims == 1 ? ",)" : ")");
}

/* Room for a tuple of extents. */
enum { TUPLE = 22 * SLUICE_MAX_DIMS + 4 };

static int slowest(const sluice_shape *s) { return s->order == SLUICE_ROW_MAJOR ? 0 : s->ndims - 1; }

int64_t sluice_npy_format(sluice_desc *out, void *buf, size_t cap, sluice_reason *why) {
    sluice_desc d = *out;
    unsigned char text[SLUICE_NPY_HEADER];
    char tuple[TUPLE], type[sizeof((sluice_type *)0)->descr + 3], number[24];
    sluice_type t;
    d.format = SLUICE_NPY;
    d.shape.header = SLUICE_NPY_HEADER; /* there must be room for some header */
    int error = sluice_desc_settle(&d, why), n;
    if (error) return error;

    sluice_type_parse(&t, d.type);
    if (d.swapped) t.descr[0] = t.descr[0] == '<' ? '>' : '<';
    snprintf(type, sizeof type, "'%s'", t.descr);
    print_shape(tuple, sizeof tuple, &d.shape);
    const int growth = GROWTH - snprintf(number, sizeof number, "%lld", (long long)d.shape.dim[slowest(&d.shape)]);
    bool ascii = true;
    for (const char *c = d.descr; *c; c++) ascii = ascii && !(*c & 0x80);
    const int prefix = ascii ? PREFIX : LONG_PREFIX;
    memset(text, 0, LONG_PREFIX);
    n = prefix + snprintf((char *)text + prefix, sizeof text - (size_t)prefix,
                          "{'descr': %s, 'fortran_order': %s, 'shape': %s, }%*s", d.descr[0] ? d.descr : type,
                          d.shape.order == SLUICE_ROW_MAJOR ? "False" : "True", tuple, growth, "");
    /* The line feed is part of it; a length that fits already gets 64 spaces more, as NumPy does it. */
    const int length = n + 1 + ALIGN - (n + 1) % ALIGN;
    memset(text + n, ' ', (size_t)(length - n));
    text[length - 1] = '\n';
    memcpy(text, magic, sizeof magic);
    text[6] = ascii ? 1 : 3;
    text[8] = (unsigned char)((length - prefix) & 0xFF);
    text[9] = (unsigned char)((length - prefix) >> 8);
    if (cap > 0) memcpy(buf, text, cap < (size_t)length ? cap : (size_t)length);
    d.shape.header = length;
    *out = d;
    return length;
}

int sluice_npy_reshape(void *bytes, const sluice_desc *d, int64_t extent, sluice_reason *why) {
    sluice_literal l = {.why = why};
    header h = {0};
    sluice_desc old;
    char tuple[TUPLE];
    unsigned char *text = bytes;
    int error;
    if (measure(&l, text, d->shape.header) != d->shape.header)
        return sluice_refuse(why, SLUICE_E_FORMAT, 0, "the .npy header is not what it was");
    if ((error = parse(&old, &h, &l))) return error;
    old.shape.dim[slowest(&old.shape)] = extent;
    const int n = print_shape(tuple, sizeof tuple, &old.shape);
    const int64_t after = h.shape.off + h.shape.len, rest = h.close + 1 - after, end = h.shape.off + n + rest;
    if (end >= l.end)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1,
                             "the .npy header of %lld bytes has no room for the extent %lld", (long long)l.end,
                             (long long)extent);
    memmove(text + h.shape.off + n, text + after, (size_t)rest);
    memcpy(text + h.shape.off, tuple, (size_t)n);
    memset(text + end, ' ', (size_t)(l.end - end - 1));
    text[l.end - 1] = '\n';
    return 0;
}
