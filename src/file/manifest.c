/* manifest.c: what a folder of subfiles says about the array in them.
 *
 *     {
 *       "format": "sluice",
 *       "version": 1,
 *       "uuid": "5f0c...",
 *       "generation": 1,
 *       "shape": [1000, 2000],
 *       "order": "C",
 *       "type": "float64",
 *       "byte_order": "little",
 *       "checksum_block": 65536,
 *       "layout": "striped:1M:2",
 *       "targets": [".", "fast"],
 *       "subfiles": [
 *         {"name": "1.0", "target": ".", "size": 8388608},
 *         {"name": "5f0c....1.1", "target": "fast", "size": 7611392}
 *       ]
 *     }
 *
 * The layout says it all: names and sizes of the subfiles follow from it, and are compared with it. So a manifest can
 * name no file but those that Sluice itself makes for this array. Before the text is made into a tree, its values are
 * counted, which bounds what the tree can take.
 */
#include "file/file.h"
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    VERSION = 1,
    MAX_DEPTH = 8,        /* of brackets; a manifest has 3 */
    MAX_VALUES = 1 << 19, /* a manifest has four for each subfile, and some hundred */
};

static const char big[] = "big", little[] = "little", none[] = "none";
static const char *const native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? little : big;
static const char *const foreign = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? big : little;

void sluice_manifest_free(sluice_manifest *m) {
    if (!m) return;
    sluice_layout_free(m->layout);
    sluice_mem_free(m->target);
    sluice_mem_free(m->place);
    sluice_mem_free(m);
}

sluice_subfile_name sluice_manifest_name(const sluice_manifest *m, int i) {
    sluice_subfile_name name;
    const bool own = !strcmp(m->target[m->place[i]].text, ".");
    snprintf(name.text, sizeof name.text, "%s%s%" PRId64 ".%d", own ? "" : m->uuid, own ? "" : ".", m->generation, i);
    return name;
}

sluice_subfile_name sluice_manifest_sums(const sluice_manifest *m, int i) {
    sluice_subfile_name name = sluice_manifest_name(m, i);
    strcat(name.text, ".sum");
    return name;
}

int sluice_manifest_checksum(sluice_manifest *m, int64_t block, sluice_reason *why) {
    if (block && (block < SLUICE_SUMS_LEAST || block > SLUICE_SUMS_MOST || (block & (block - 1))))
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1,
                             "checksums of blocks of %" PRId64 " bytes; it is a power of two from 512 to 16M", block);
    m->checksum = block;
    return 0;
}

/* ---- Making ---- */

static int draw_uuid(char *uuid) {
    unsigned char byte[16];
    ssize_t n;
    do n = getrandom(byte, sizeof byte, 0);
    while (n < 0 && errno == EINTR);
    if (n != sizeof byte) return n < 0 ? -errno : -EIO;
    for (int i = 0; i < 16; i++) sprintf(uuid + 2 * (ptrdiff_t)i, "%02x", byte[i]);
    return 0;
}

static bool has_target(const sluice_manifest *m, const char *name, size_t len, int *which) {
    for (*which = 0; *which < m->ntargets; ++*which)
        if (strlen(m->target[*which].text) == len && !memcmp(m->target[*which].text, name, len)) return true;
    return false;
}

/* Adds a target that is not there yet; what is wrong with it, or NULL. There is room. */
static const char *add_target(sluice_manifest *m, const char *name, size_t len) {
    int which;
    if (m->ntargets == SLUICE_MAX_TARGETS) return "more than 256 targets";
    if (!(len == 1 && *name == '.') && !sluice_target_valid(name, len))
        return "the name of a target has 1 to 63 letters, digits, '_', '-' and '.', not '.' first";
    if (has_target(m, name, len, &which)) return "a target twice";
    sluice_target_name *t = &m->target[m->ntargets++];
    memcpy(t->text, name, len);
    t->text[len] = 0;
    return NULL;
}

static int make_room(sluice_manifest *m) {
    m->target = sluice_mem_alloc(SLUICE_MAX_TARGETS, sizeof *m->target);
    m->place = sluice_mem_alloc((size_t)m->layout->n, sizeof *m->place);
    return m->target && m->place ? 0 : -ENOMEM;
}

static int read_targets(sluice_manifest *m, const char *targets, sluice_reason *why) {
    const char *const list = targets && *targets ? targets : ".", *at = list;
    for (;;) {
        const size_t len = strcspn(at, ",");
        const char *wrong = add_target(m, at, len);
        if (wrong)
            return sluice_refuse(why, SLUICE_E_ARGUMENT, at - list, "targets %.60s, byte %d: %s", list,
                                 (int)(at - list), wrong);
        if (!at[len]) break;
        at += len + 1;
    }
    for (int i = 0; i < m->layout->n; i++) m->place[i] = i % m->ntargets;
    return 0;
}

/* The rest, for a description and a layout. */
static int finish(sluice_manifest *m, const char *targets, const sluice_manifest *before, sluice_reason *why) {
    int error;
    if ((error = make_room(m))) return sluice_pass(why, error);
    if ((error = read_targets(m, targets, why))) return error;
    m->generation = 1;
    if (!before) return sluice_pass(why, draw_uuid(m->uuid));
    strcpy(m->uuid, before->uuid);
    m->checksum = before->checksum;
    if (!sluice_add(before->generation, 1, &m->generation))
        return sluice_refuse(why, SLUICE_E_OVERFLOW, -1, "no generation after the last");
    return 0;
}

static sluice_manifest *start(const sluice_desc *d, sluice_reason *why) {
    sluice_manifest *m = sluice_mem_alloc(1, sizeof *m);
    if (!m) {
        sluice_pass(why, -ENOMEM);
        return NULL;
    }
    memset(m, 0, sizeof *m);
    m->desc = *d;
    m->desc.format = SLUICE_RAW;
    return m;
}

int sluice_manifest_make(sluice_manifest **out, const sluice_desc *d, const char *layout, const char *targets,
                         const sluice_manifest *before, sluice_reason *why) {
    sluice_manifest *m = start(d, why);
    if (!m) return -ENOMEM;
    m->desc.shape.header = 0;
    int error = sluice_desc_settle(&m->desc, why);
    if (!error) error = sluice_layout_parse(&m->layout, &m->desc.shape, layout, why);
    if (!error) error = finish(m, targets, before, why);
    if (error)
        sluice_manifest_free(m);
    else
        *out = m;
    return error;
}

int sluice_manifest_place(sluice_manifest **out, const sluice_desc *d, const sluice_places *places, const char *targets,
                          sluice_reason *why) {
    sluice_manifest *m = start(d, why);
    if (!m) return -ENOMEM;
    int error = sluice_desc_settle(&m->desc, why);
    if (!error) error = sluice_placed_make(&m->layout, &m->desc.shape, places, why);
    if (!error && (error = finish(m, targets, NULL, why))) m->layout->placed->lot = NULL; /* which stay the caller's */
    if (error)
        sluice_manifest_free(m);
    else
        *out = m;
    return error;
}

int sluice_manifest_settle(sluice_manifest *m, const char *const *name, sluice_reason *why) {
    m->ntargets = 0;
    for (int i = 0; i < m->layout->n; i++) {
        const char *wrong = NULL;
        if (!has_target(m, name[i], strlen(name[i]), &m->place[i])) wrong = add_target(m, name[i], strlen(name[i]));
        if (wrong) return sluice_refuse(why, SLUICE_E_ARGUMENT, i, "target %.63s of subfile %d: %s", name[i], i, wrong);
    }
    return 0;
}

int sluice_manifest_resize(sluice_manifest **out, const sluice_manifest *m, int64_t extent, sluice_reason *why) {
    sluice_manifest *made = sluice_mem_alloc(1, sizeof *made);
    if (!made) return sluice_pass(why, -ENOMEM);
    *made = *m;
    made->layout = NULL;
    made->target = NULL;
    made->place = NULL;
    int error = sluice_layout_resize(&made->layout, m->layout, extent, why);
    if (!error && (error = make_room(made))) sluice_pass(why, error);
    if (error) {
        sluice_manifest_free(made);
        return error;
    }
    made->desc.shape = made->layout->shape;
    memcpy(made->target, m->target, (size_t)m->ntargets * sizeof *m->target);
    memcpy(made->place, m->place, (size_t)m->layout->n * sizeof *m->place);
    *out = made;
    return 0;
}

/* ---- Writing ---- */

typedef struct writer {
    char *text; /* NULL and len -1: no memory was left */
    int64_t len, cap;
} writer;

static void put(writer *w, const char *bytes, size_t n) {
    if (w->len < 0) return;
    if (w->cap - w->len < (int64_t)n) {
        const int64_t cap = 2 * w->cap + (int64_t)n + 1024;
        char *more = sluice_mem_resize(w->text, (size_t)cap, 1);
        if (!more) {
            sluice_mem_free(w->text);
            *w = (writer){NULL, -1, 0};
            return;
        }
        w->text = more;
        w->cap = cap;
    }
    memcpy(w->text + w->len, bytes, n);
    w->len += (int64_t)n;
}

static void print(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print(writer *w, const char *format, ...) {
    char line[256]; /* the longest holds a subfile: some 200 */
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    put(w, line, (size_t)n);
}

static void put_string(writer *w, const char *s) {
    put(w, "\"", 1);
    for (; *s; s++) {
        if ((unsigned char)*s < ' ')
            print(w, "\\u%04x", (unsigned)*s);
        else if (*s == '"' || *s == '\\')
            print(w, "\\%c", *s);
        else
            put(w, s, 1);
    }
    put(w, "\"", 1);
}

static void put_set(writer *w, const sluice_set *s) {
    const int64_t n = sluice_set_print(s, NULL, 0);
    char *text = sluice_mem_alloc((size_t)n + 1, 1);
    if (text) sluice_set_print(s, text, (size_t)n + 1);
    if (text) put_string(w, text);
    if (!text && w->len >= 0) {
        sluice_mem_free(w->text);
        *w = (writer){NULL, -1, 0};
    }
    sluice_mem_free(text);
}

/* A number, where it is all in one piece. */
static void put_place(writer *w, const sluice_set *s) {
    const int64_t lo = sluice_set_lo(s);
    if (s->size == sluice_set_hi(s) - lo)
        print(w, "%" PRId64, lo);
    else
        put_set(w, s);
}

static void put_groups(writer *w, const sluice_placed *p, int64_t header) {
    print(w, ",\n  \"requires\": [\"placed\"],\n");
    if (header) print(w, "  \"header\": %" PRId64 ",\n", header);
    print(w, "  \"groups\": [\n");
    for (int i = 0; i < p->n; i++) {
        const sluice_lot *lot = &p->lot[i];
        print(w, "    {\"bytes\": ");
        put_set(w, &lot->bytes);
        for (int c = 0; c < lot->n; c++) print(w, "%s%d", c ? ", " : ", \"subfiles\": [", lot->subfile[c]);
        print(w, "], \"at\": [");
        for (int c = 0; c < lot->n; c++) {
            if (c) put(w, ", ", 2);
            put_place(w, &lot->where[c]);
        }
        print(w, "]}%s\n", i < p->n - 1 ? "," : "");
    }
    print(w, "  ],\n  \"rest\": %" PRId64, p->rest_at);
}

static void write_text(writer *w, const sluice_manifest *m) {
    sluice_type t;
    sluice_type_parse(&t, m->desc.type);
    print(w, "{\n  \"format\": \"sluice\",\n  \"version\": %d,\n  \"uuid\": \"%s\",\n  \"generation\": %" PRId64 ",\n",
          VERSION, m->uuid, m->generation);
    for (int d = 0; d < m->desc.shape.ndims; d++)
        print(w, "%s%" PRId64, d ? ", " : "  \"shape\": [", m->desc.shape.dim[d]);
    print(w, "],\n  \"order\": \"%c\",\n", m->desc.shape.order == SLUICE_ROW_MAJOR ? 'C' : 'F');
    print(w, "  \"type\": \"%s\",\n  \"byte_order\": \"%s\",\n", m->desc.type,
          t.unit == 1       ? none
          : m->desc.swapped ? foreign
                            : native);
    if (m->desc.descr[0]) {
        print(w, "  \"dtype\": ");
        put_string(w, m->desc.descr);
        print(w, ",\n");
    }
    if (m->checksum) print(w, "  \"checksum_block\": %" PRId64 ",\n", m->checksum);
    print(w, "  \"layout\": ");
    put_string(w, m->layout->text);
    print(w, ",\n  \"targets\": [");
    for (int i = 0; i < m->ntargets; i++) print(w, "%s\"%s\"", i ? ", " : "", m->target[i].text);
    print(w, "],\n  \"subfiles\": [\n");
    for (int i = 0; i < m->layout->n; i++)
        print(w, "    {\"name\": \"%s\", \"target\": \"%s\", \"size\": %" PRId64 "}%s\n",
              sluice_manifest_name(m, i).text, m->target[m->place[i]].text, m->layout->size[i],
              i < m->layout->n - 1 ? "," : "");
    print(w, "  ]");
    if (m->layout->placed) put_groups(w, m->layout->placed, m->desc.shape.header);
    print(w, "\n}\n");
}

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

static int check_text(const char *text, int64_t len, sluice_reason *why) {
    if (len > SLUICE_MAX_MANIFEST)
        return sluice_refuse(why, SLUICE_E_FORMAT, -1, "a manifest of more than %d bytes", SLUICE_MAX_MANIFEST);
    return scan(text, len, why);
}

int sluice_manifest_format(const sluice_manifest *m, char **text, int64_t *len, sluice_reason *why) {
    writer w = {NULL, 0, 0};
    write_text(&w, m);
    if (w.len < 0) return sluice_pass(why, -ENOMEM);
    const int error = m->layout->placed ? check_text(w.text, w.len, why) : 0; /* others are always short enough */
    if (error) {
        sluice_mem_free(w.text);
        return error;
    }
    *text = w.text;
    *len = w.len;
    return 0;
}

/* ---- Reading ---- */

#define REFUSE(...) sluice_refuse(why, SLUICE_E_FORMAT, -1, __VA_ARGS__)

/* The value of a key that must be there. */
static int get_string(const json_t *o, const char *key, size_t most, const char **value, sluice_reason *why) {
    const json_t *v = json_object_get(o, key);
    if (!json_is_string(v)) return REFUSE("\"%s\" is %s", key, v ? "not a string" : "missing");
    if (json_string_length(v) > most) return REFUSE("\"%s\" has more than %zu bytes", key, most);
    *value = json_string_value(v);
    return 0;
}

static int get_number(const json_t *o, const char *key, int64_t least, int64_t *value, sluice_reason *why) {
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v)) return REFUSE("\"%s\" is %s", key, v ? "not a whole number" : "missing");
    if (json_integer_value(v) < least)
        return REFUSE("\"%s\" is %lld; it is at least %" PRId64, key, (long long)json_integer_value(v), least);
    *value = json_integer_value(v);
    return 0;
}

static int get_list(const json_t *o, const char *key, const json_t **list, sluice_reason *why) {
    *list = json_object_get(o, key);
    if (!json_is_array(*list)) return REFUSE("\"%s\" is %s", key, *list ? "not a list" : "missing");
    return 0;
}

/* Whether this is a manifest, of a version that is known, without features that are not. */
static int read_version(const json_t *o, sluice_reason *why) {
    const char *format;
    int64_t version;
    int error = get_string(o, "format", 64, &format, why);
    if (error) return error;
    if (strcmp(format, "sluice") != 0) return REFUSE("\"format\" is not \"sluice\"");
    if ((error = get_number(o, "version", 1, &version, why))) return error;
    if (version != VERSION)
        return sluice_refuse(why, SLUICE_E_VERSION, -1, "version %" PRId64 " of the format; this Sluice knows %d",
                             version, VERSION);
    const json_t *requires = json_object_get(o, "requires");
    if (requires && !json_is_array(requires)) return REFUSE("\"requires\" is not a list");
    for (size_t i = 0; i < json_array_size(requires); i++) {
        const json_t *word = json_array_get(requires, i);
        if (!json_is_string(word)) return REFUSE("\"requires\" holds what is not a string");
        if (!strcmp(json_string_value(word), "placed")) continue;
        return sluice_refuse(why, SLUICE_E_VERSION, -1, "it requires \"%.60s\", which this Sluice does not know",
                             json_string_value(word));
    }
    return 0;
}

static int read_checksum(sluice_manifest *m, const json_t *o, sluice_reason *why) {
    int64_t block = 0;
    sluice_reason inner;
    int error = json_object_get(o, "checksum_block") ? get_number(o, "checksum_block", 0, &block, why) : 0;
    if (!error && sluice_manifest_checksum(m, block, &inner)) error = REFUSE("\"checksum_block\": %.150s", inner.text);
    return error;
}

static int read_identity(sluice_manifest *m, const json_t *o, sluice_reason *why) {
    const char *uuid;
    int error = get_string(o, "uuid", 32, &uuid, why);
    if (error) return error;
    if (strlen(uuid) != 32 || strspn(uuid, "0123456789abcdef") != 32)
        return REFUSE("\"uuid\" is not 32 digits of 0-9 and a-f");
    strcpy(m->uuid, uuid);
    return get_number(o, "generation", 1, &m->generation, why);
}

static int read_shape(sluice_shape *s, const json_t *o, sluice_reason *why) {
    const json_t *list;
    const char *order;
    int error = get_list(o, "shape", &list, why);
    if (error) return error;
    const size_t n = json_array_size(list);
    if (n < 1 || n > SLUICE_MAX_DIMS) return REFUSE("\"shape\" has %zu extents; an array has 1 to 16", n);
    s->ndims = (int)n;
    for (size_t d = 0; d < n; d++) {
        const json_t *v = json_array_get(list, d);
        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return REFUSE("\"shape\", extent %zu: not a whole number of at least 0", d);
        s->dim[d] = json_integer_value(v);
    }
    if ((error = get_string(o, "order", 64, &order, why))) return error;
    if (strcmp(order, "C") != 0 && strcmp(order, "F") != 0) return REFUSE("\"order\" is neither \"C\" nor \"F\"");
    s->order = *order == 'C' ? SLUICE_ROW_MAJOR : SLUICE_COLUMN_MAJOR;
    return 0;
}

static int read_type(sluice_desc *d, const json_t *o, sluice_reason *why) {
    const char *type, *order, *dtype = "";
    sluice_type t;
    sluice_reason inner;
    int error = get_string(o, "type", sizeof d->type - 1, &type, why);
    if (!error) error = get_string(o, "byte_order", 64, &order, why);
    if (!error && json_object_get(o, "dtype")) error = get_string(o, "dtype", sizeof d->descr - 2, &dtype, why);
    if (error) return error;
    if (!sluice_type_parse(&t, type) || strcmp(t.name, type) != 0)
        return REFUSE("\"type\": there is no type of that name");
    const bool same = !strcmp(order, native), other = !strcmp(order, foreign);
    if (!same && !other && strcmp(order, none) != 0)
        return REFUSE("\"byte_order\" is not \"little\", \"big\" or \"none\"");
    if ((t.unit == 1) != (!same && !other)) return REFUSE("\"byte_order\" does not go with \"type\"");
    strcpy(d->type, type);
    strcpy(d->descr, dtype);
    d->swapped = other;
    if ((error = sluice_desc_settle(d, &inner)))
        return sluice_refuse(why, error == -ENOMEM ? error : SLUICE_E_FORMAT, -1, "%.170s", inner.text);
    if (d->descr[0] == 0 && dtype[0]) return REFUSE("\"dtype\" is not a record");
    return 0;
}

static int read_places(sluice_manifest *m, const json_t *o, sluice_reason *why) {
    const json_t *targets, *subfiles;
    int error = get_list(o, "targets", &targets, why);
    if (!error) error = get_list(o, "subfiles", &subfiles, why);
    if (error) return error;
    if (json_array_size(targets) < 1 || json_array_size(targets) > SLUICE_MAX_TARGETS)
        return REFUSE("\"targets\" has %zu names; there are 1 to 256", json_array_size(targets));
    if (json_array_size(subfiles) != (size_t)m->layout->n)
        return REFUSE("\"subfiles\" has %zu entries, but the layout has %d", json_array_size(subfiles), m->layout->n);
    if (make_room(m)) return sluice_pass(why, -ENOMEM);
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const json_t *v = json_array_get(targets, i);
        const char *wrong =
            json_is_string(v) ? add_target(m, json_string_value(v), json_string_length(v)) : "no string";
        if (wrong) return REFUSE("\"targets\", name %zu: %s", i, wrong);
    }
    for (int i = 0; i < m->layout->n; i++) {
        const json_t *v = json_array_get(subfiles, (size_t)i);
        const char *name, *target;
        int64_t size;
        sluice_reason inner;
        error = !json_is_object(v) ? sluice_refuse(&inner, SLUICE_E_FORMAT, -1, "not an object") : 0;
        if (!error) error = get_string(v, "name", 255, &name, &inner);
        if (!error) error = get_string(v, "target", 255, &target, &inner);
        if (!error) error = get_number(v, "size", 0, &size, &inner);
        if (error) return REFUSE("subfile %d: %.160s", i, inner.text);
        if (!has_target(m, target, strlen(target), &m->place[i]))
            return REFUSE("subfile %d: its target is not listed", i);
        if (size != m->layout->size[i])
            return REFUSE("subfile %d has %" PRId64 " bytes; the layout gives it %" PRId64, i, size,
                          m->layout->size[i]);
        if (strcmp(name, sluice_manifest_name(m, i).text) != 0)
            return REFUSE("subfile %d is not called %s", i, sluice_manifest_name(m, i).text);
    }
    return 0;
}

/* ---- Layouts by plan ---- */

/* Where a copy lies: a number, from there on; or a set. */
static int read_place(sluice_set *out, const json_t *v, int64_t size, sluice_reason *why) {
    sluice_reason inner;
    int error;
    if (json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= INT64_MAX - size)
        return sluice_pass(why, sluice_set_block(out, json_integer_value(v), size));
    if (!json_is_string(v)) return REFUSE("\"at\" holds what is neither an offset nor a set");
    if (!(error = sluice_set_parse(out, json_string_value(v), &inner))) return 0;
    return sluice_refuse(why, error == -ENOMEM ? error : SLUICE_E_FORMAT, -1, "\"at\": %.150s", inner.text);
}

static int read_group(sluice_lot *lot, const json_t *o, sluice_reason *why) {
    const json_t *subfiles, *at;
    const char *text;
    sluice_reason inner;
    int error = !json_is_object(o) ? REFUSE("not an object") : 0;
    if (!error) error = get_string(o, "bytes", SLUICE_MAX_MANIFEST, &text, why);
    if (!error) error = get_list(o, "subfiles", &subfiles, why);
    if (!error) error = get_list(o, "at", &at, why);
    if (error) return error;
    const size_t n = json_array_size(subfiles);
    if (n < 1 || n > SLUICE_MAX_SUBFILES) return REFUSE("\"subfiles\" has %zu entries", n);
    if (json_array_size(at) != n) return REFUSE("\"at\" has %zu entries, \"subfiles\" %zu", json_array_size(at), n);
    if (!sluice_lot_make(lot, (int)n)) return sluice_pass(why, -ENOMEM);
    if ((error = sluice_set_parse(&lot->bytes, text, &inner)))
        return sluice_refuse(why, error == -ENOMEM ? error : SLUICE_E_FORMAT, -1, "\"bytes\": %.150s", inner.text);
    for (size_t c = 0; c < n && !error; c++) {
        const json_t *i = json_array_get(subfiles, c);
        if (!json_is_integer(i) || json_integer_value(i) < 0 || json_integer_value(i) >= SLUICE_MAX_SUBFILES)
            return REFUSE("\"subfiles\" holds what is not the number of one");
        lot->subfile[c] = (int)json_integer_value(i);
        error = read_place(&lot->where[c], json_array_get(at, c), lot->bytes.size, why);
    }
    return error;
}

/* "placed:N": the number, or 0. */
static int read_parts(const char *layout) {
    char *end, again[32];
    const long n = strncmp(layout, "placed:", 7) != 0 ? 0 : strtol(layout + 7, &end, 10);
    if (n < 1 || n >= SLUICE_MAX_SUBFILES) return 0;
    snprintf(again, sizeof again, "placed:%ld", n);
    return strcmp(again, layout) ? 0 : (int)n;
}

static int read_placed(sluice_manifest *m, const json_t *o, int parts, sluice_reason *why) {
    const json_t *list;
    sluice_places p = {parts, 0, NULL, -1};
    int error = get_list(o, "groups", &list, why);
    if (!error) error = get_number(o, "rest", 0, &p.rest_at, why);
    if (error) return error;
    const size_t count = json_array_size(list);
    if (count > SLUICE_MAX_LOTS) return REFUSE("\"groups\" has %zu entries; it has at most %d", count, SLUICE_MAX_LOTS);
    p.lot = sluice_mem_alloc(count + 1, sizeof *p.lot);
    if (!p.lot) return sluice_pass(why, -ENOMEM);
    for (size_t i = 0; i < count && !error; i++) {
        sluice_reason inner;
        p.lot[p.nlots] = (sluice_lot){SLUICE_SET_EMPTY, 0, NULL, NULL};
        error = read_group(&p.lot[p.nlots++], json_array_get(list, i), &inner);
        if (error) sluice_refuse(why, error, -1, "group %zu: %.160s", i, inner.text);
    }
    if (!error) error = sluice_placed_make(&m->layout, &m->desc.shape, &p, why);
    if (error) sluice_lots_free(p.lot, p.nlots);
    return error;
}

static int read_layout(sluice_manifest *m, const json_t *o, sluice_reason *why) {
    const char *layout;
    int error = get_string(o, "layout", SLUICE_MAX_LAYOUT_TEXT, &layout, why);
    if (error) return error;
    const int parts = read_parts(layout);
    if (!parts) return sluice_layout_parse(&m->layout, &m->desc.shape, layout, why);
    if (json_object_get(o, "header")) error = get_number(o, "header", 0, &m->desc.shape.header, why);
    return error ? error : read_placed(m, o, parts, why);
}

static int read_tree(sluice_manifest *m, const json_t *o, sluice_reason *why) {
    int error;
    if (!json_is_object(o)) return REFUSE("not an object");
    if ((error = read_version(o, why))) return error;
    if ((error = read_identity(m, o, why))) return error;
    if ((error = read_shape(&m->desc.shape, o, why))) return error;
    if ((error = read_type(&m->desc, o, why))) return error;
    if ((error = read_checksum(m, o, why))) return error;
    if ((error = read_layout(m, o, why))) return error;
    return read_places(m, o, why);
}

/* The tree is jansson's memory; it counts as one allocation of the length of the text. */
static int read_text(sluice_manifest *m, const char *text, int64_t len, sluice_reason *why) {
    json_error_t bad;
    int error = check_text(text, len, why);
    if (error) return error;
    if (!sluice_mem_charge(len)) return sluice_pass(why, -ENOMEM);
    json_t *o = json_loadb(text, (size_t)len, JSON_REJECT_DUPLICATES, &bad);
    if (o)
        error = read_tree(m, o, why);
    else if (json_error_code(&bad) == json_error_out_of_memory)
        error = sluice_pass(why, -ENOMEM);
    else
        error = sluice_refuse(why, SLUICE_E_FORMAT, bad.position, "byte %d: %.150s", bad.position, bad.text);
    json_decref(o);
    sluice_mem_discharge(len);
    return error;
}

int sluice_manifest_parse(sluice_manifest **out, const char *text, int64_t len, sluice_reason *why) {
    sluice_reason inner = {.pos = -1};
    sluice_manifest *m = sluice_mem_alloc(1, sizeof *m);
    if (!m) return sluice_pass(why, -ENOMEM);
    memset(m, 0, sizeof *m);
    const int error = read_text(m, text, len, &inner);
    if (!error) {
        *out = m;
        return 0;
    }
    sluice_manifest_free(m);
    for (char *c = inner.text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    return sluice_refuse(why, error, inner.pos, "manifest: %.180s", inner.text);
}
