/* ranks: 1 */
/* npy.c: .npy headers: what is read, in all versions and both byte orders; what is written, and that it is read back.
 * Arrays in a store: npy_store.c; hostile files: npy_hostile.c. */
#include "npy_common.h"
#include <stdlib.h>
#include <string.h>

/* One per feature of the text; dimensions end with -1. */
typedef struct good {
    const char *text;
    const char *type;
    int64_t elem;
    bool big, fortran;
    int64_t dim[18];
    const char *descr; /* NULL: "" */
} good;

static const good table[] = {
    /* As NumPy writes them. */
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }", "float64", 8, false, false, {3, 4, -1}, NULL},
    {"{'descr': '>f8', 'fortran_order': False, 'shape': (3, 4), }", "float64", 8, true, false, {3, 4, -1}, NULL},
    {"{'descr': '<i8', 'fortran_order': True, 'shape': (3, 4), }", "int64", 8, false, true, {3, 4, -1}, NULL},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }", "uint8", 1, false, false, {7, -1}, NULL},
    {"{'descr': '|b1', 'fortran_order': False, 'shape': (0,), }", "bool", 1, false, false, {0, -1}, NULL},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 0, 3), }",
     "complex64",
     8,
     false,
     false,
     {2, 0, 3, -1},
     NULL},
    {"{'descr': '|S5', 'fortran_order': False, 'shape': (2,), }", "S5", 5, false, false, {2, -1}, NULL},
    {"{'descr': '>U5', 'fortran_order': False, 'shape': (2,), }", "U5", 20, true, false, {2, -1}, NULL},
    {"{'descr': '|V12', 'fortran_order': False, 'shape': (2,), }", "V12", 12, false, false, {2, -1}, NULL},
    {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,), }", "datetime64[ns]", 8, false, false, {2, -1}, NULL},
    {"{'descr': '>m8[25us]', 'fortran_order': False, 'shape': (2,), }",
     "timedelta64[25us]",
     8,
     true,
     false,
     {2, -1},
     NULL},
    {"{'descr': '<f16', 'fortran_order': False, 'shape': (2,), }", "float128", 16, false, false, {2, -1}, NULL},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2), }",
     "float32",
     4,
     false,
     false,
     {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, -1},
     NULL},
    /* No dimensions: one element. */
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "float64", 8, false, false, {1, -1}, NULL},
    /* As others write them. */
    {"{'shape': (3, 4), 'fortran_order': False, 'descr': '<f8'}", "float64", 8, false, false, {3, 4, -1}, NULL},
    {"{'fortran_order':True,'shape':(3,4,),'descr':'<f8',}", "float64", 8, false, true, {3, 4, -1}, NULL},
    {"{\"descr\": \"<f8\", \"fortran_order\": False, \"shape\": (3, 4)}\n",
     "float64",
     8,
     false,
     false,
     {3, 4, -1},
     NULL},
    {" \t{ 'descr' : '<f8' ,\n'fortran_order'\f:\vFalse,\r\n 'shape' : ( 3 , 4 , ) , } \n \n",
     "float64",
     8,
     false,
     false,
     {3, 4, -1},
     NULL},
    {"{'descr': 'float64', 'fortran_order': False, 'shape': (3, 4)}", "float64", 8, false, false, {3, 4, -1}, NULL},
    {"{'descr': '=f8', 'fortran_order': False, 'shape': (3, 4)}", "float64", 8, false, false, {3, 4, -1}, NULL},
    {"{'descr': '|i4', 'fortran_order': False, 'shape': (3, 4)}", "int32", 4, false, false, {3, 4, -1}, NULL},
    {"{'descr': '>i1', 'fortran_order': False, 'shape': (3, 4)}", "int8", 1, false, false, {3, 4, -1}, NULL},
    /* Python 2. */
    {"{'descr': u'<f8', 'fortran_order': False, 'shape': (3L, 40L), }", "float64", 8, false, false, {3, 40, -1}, NULL},
    /* Large, but not too large. */
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854770000,), }",
     "uint8",
     1,
     false,
     false,
     {9223372036854770000, -1},
     NULL},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775807, 0), }",
     "uint8",
     1,
     false,
     false,
     {INT64_MAX, 0, -1},
     NULL},
    /* Records. */
    {"{'descr': [('x', '<f4'), ('n', '>i8')], 'fortran_order': False, 'shape': (5,), }",
     "V12",
     12,
     false,
     false,
     {5, -1},
     "[('x', '<f4'), ('n', '>i8')]"},
    {"{'descr': [('x', '<f4', (2, 3)), ('y', '|u1', (5,)), ('z', '<i2', ()), ('w', '<i2', 3)], 'fortran_order': False, "
     "'shape': (5,), }",
     "V37",
     37,
     false,
     false,
     {5, -1},
     "[('x', '<f4', (2, 3)), ('y', '|u1', (5,)), ('z', '<i2', ()), ('w', '<i2', 3)]"},
    {"{'descr': [('a', '|i1'), ('', '|V3'), ('b', '<i4')], 'fortran_order': True, 'shape': (5, 6), }",
     "V8",
     8,
     false,
     true,
     {5, 6, -1},
     "[('a', '|i1'), ('', '|V3'), ('b', '<i4')]"},
    {"{'descr': [(('A title', 'a'), '<f8'), ((u'B', 'b'), '|S3')], 'fortran_order': False, 'shape': (5,), }",
     "V11",
     11,
     false,
     false,
     {5, -1},
     "[(('A title', 'a'), '<f8'), ((u'B', 'b'), '|S3')]"},
    {"{'descr': [('p', [('x', '<f8'), ('q', [('r', '<u2', (2,))], (3,))]), ('n', '<i4')], 'fortran_order': False, "
     "'shape': (1,), }",
     "V24",
     24,
     false,
     false,
     {1, -1},
     "[('p', [('x', '<f8'), ('q', [('r', '<u2', (2,))], (3,))]), ('n', '<i4')]"},
    {"{'descr': [ ('x' ,'<f4',) ,\n('y', ('<f4', (2,)), (3,),) , ], 'fortran_order': False, 'shape': (5,), }",
     "V28",
     28,
     false,
     false,
     {5, -1},
     "[ ('x' ,'<f4',) ,\n('y', ('<f4', (2,)), (3,),) , ]"},
    {"{'descr': [('x', '<f4'), ('none', '<f8', (0, 9)), ('s', '|S0')], 'fortran_order': False, 'shape': (5,), }",
     "V4",
     4,
     false,
     false,
     {5, -1},
     "[('x', '<f4'), ('none', '<f8', (0, 9)), ('s', '|S0')]"},
    {"{'descr': [('it\\'s', '<f4'), ('\\\\\\n\\r\\t\\\"', '<f4'), ('\\xe9\\u20ac\\U0001F30A', '<f4'), (\"'}\", "
     "'<f4')], "
     "'fortran_order': False, 'shape': (5,), }",
     "V16",
     16,
     false,
     false,
     {5, -1},
     "[('it\\'s', '<f4'), ('\\\\\\n\\r\\t\\\"', '<f4'), ('\\xe9\\u20ac\\U0001F30A', '<f4'), (\"'}\", '<f4')]"},
    {"{'descr': [('shape', '<f4'), ('fortran_order', '<f4'), ('descr', '<f4')], 'fortran_order': False, 'shape': (5,), "
     "}",
     "V12",
     12,
     false,
     false,
     {5, -1},
     "[('shape', '<f4'), ('fortran_order', '<f4'), ('descr', '<f4')]"},
};
enum { GOOD = sizeof table / sizeof *table };

static void expect(sluice_desc *d, const good *g, int64_t header) {
    memset(d, 0, sizeof *d);
    d->format = SLUICE_NPY;
    d->shape.order = g->fortran ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR;
    d->shape.elem = g->elem;
    d->shape.header = header;
    for (; g->dim[d->shape.ndims] >= 0; d->shape.ndims++) d->shape.dim[d->shape.ndims] = g->dim[d->shape.ndims];
    strcpy(d->type, g->type);
    d->swapped = g->big ? little() : strchr(g->text, '<') && !g->descr && !little();
    if (g->descr) strcpy(d->descr, g->descr);
}

static void test_good(void) {
    static unsigned char bytes[2048];
    for (int i = 0; i < GOOD; i++)
        for (int major = 1; major <= 3; major++) {
            const good *g = &table[i];
            const int64_t n = build(bytes, major, g->text, (int64_t)strlen(g->text));
            sluice_desc want, got;
            sluice_reason why = {0};
            expect(&want, g, n);
            memset(bytes + n, '!', 8); /* the elements are none of the header's business */
            for (int64_t have = n; have <= n + 8; have += 8) {
                const int64_t length = sluice_npy_parse(&got, bytes, have, &why);
                CHECK(length == n, "%s: %lld %s", g->text, (long long)length, why.text);
                if (length == n)
                    CHECK(same(&got, &want), "%s: %s of %lld bytes, descr %s", g->text, got.type,
                          (long long)got.shape.elem, got.descr);
            }
            /* Less than the whole: so much is needed. */
            for (int64_t have = 0; have < n; have++) {
                unsigned char *part = malloc((size_t)have + 1);
                memset(&got, 0x5A, sizeof got);
                memcpy(part, bytes, (size_t)have);
                const int64_t length = sluice_npy_parse(&got, part, have, &why);
                CHECK(length > have && length <= n, "%lld of %s: %lld", (long long)have, g->text, (long long)length);
                CHECK(have < 12 || length == n, "%lld of %s: %lld", (long long)have, g->text, (long long)length);
                CHECK(got.type[0] == 0x5A, "%s: changed the output", g->text);
                free(part);
            }
        }
}

/* Names that are not ASCII: Latin-1 in versions 1.0 and 2.0, UTF-8 in 3.0; the description has UTF-8. */
static void test_letters(void) {
    static const char *const text[] = {
        "{'descr': [('\xe9\xff', '<f4')], 'fortran_order': False, 'shape': (5,), }",
        "{'descr': [('\xc3\xa9\xc3\xbf', '<f4')], 'fortran_order': False, 'shape': (5,), }"};
    unsigned char bytes[512];
    for (int major = 1; major <= 3; major++) {
        const char *t = text[major == 3];
        sluice_desc d;
        sluice_reason why = {0};
        int64_t n = build(bytes, major, t, (int64_t)strlen(t));
        CHECK(sluice_npy_parse(&d, bytes, n, &why) == n, "%s", why.text);
        CHECK(!strcmp(d.descr, "[('\xc3\xa9\xc3\xbf', '<f4')]"), "version %d: %s", major, d.descr);
        /* Written again it is version 3.0. */
        const int64_t length = sluice_npy_format(&d, bytes, sizeof bytes, &why);
        sluice_desc again;
        CHECK(length == 128 && bytes[6] == 3 && bytes[7] == 0, "%lld: %s", (long long)length, why.text);
        CHECK(sluice_npy_parse(&again, bytes, length, &why) == length && same(&d, &again), "%s", why.text);
        CHECK(bytes[8] == 128 - 12 && bytes[9] == 0 && bytes[10] == 0 && bytes[11] == 0, "length field");
    }
    /* All lengths of UTF-8, at the ends of their ranges. */
    static const char *const valid[] = {"\x7f",         "\xc2\x80",         "\xdf\xbf",
                                        "\xe0\xa0\x80", "\xed\x9f\xbf",     "\xee\x80\x80",
                                        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    static const char *const invalid[] = {"\x80",         "\xbf",     "\xc0\x80",         "\xc1\xbf",
                                          "\xc2",         "\xc2\x41", "\xe0\x9f\xbf",     "\xed\xa0\x80",
                                          "\xed\xbf\xbf", "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                                          "\xf5\x80\x80", "\xff",     "\xf0\x90\x80",     "\xf8\x88\x80\x80\x80"};
    for (size_t i = 0; i < sizeof valid / sizeof *valid + sizeof invalid / sizeof *invalid; i++) {
        const bool ok = i < sizeof valid / sizeof *valid;
        const char *letters = ok ? valid[i] : invalid[i - sizeof valid / sizeof *valid];
        char t[128];
        sluice_desc d;
        sluice_reason why = {0};
        const int n =
            snprintf(t, sizeof t, "{'descr': [('%s', '<f4')], 'fortran_order': False, 'shape': (5,), }", letters);
        const int64_t length = sluice_npy_parse(&d, bytes, build(bytes, 3, t, n), &why);
        CHECK(ok ? length > 0 : length == SLUICE_E_FORMAT && why.pos == 12 + 13 && strstr(why.text, "UTF-8"),
              "letters %zu: %lld at %lld %s", i, (long long)length, why.pos, why.text);
    }
}

/* What is written: all types, orders and numbers of dimensions; and it is read back. */
static void test_round_trip(void) {
    static const char *const types[] = {
        NUMBER_TYPES, "S1", "S17", "U1", "U3", "V1", "V24", "datetime64", "datetime64[ns]", "timedelta64[10ms]"};
    static const int64_t extents[] = {0, 1, 9, 10, 12345, 3};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int ndims = 1; ndims <= SLUICE_MAX_DIMS; ndims++)
            for (int variant = 0; variant < 4; variant++) {
                sluice_desc d = {.format = SLUICE_NPY, .swapped = variant & 1}, got;
                sluice_reason why = {0};
                unsigned char bytes[SLUICE_NPY_HEADER], part[SLUICE_NPY_HEADER];
                d.shape.ndims = ndims;
                d.shape.order = variant & 2 ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR;
                for (int i = 0; i < ndims; i++) d.shape.dim[i] = extents[(t + (size_t)i * 5) % 3 + (i < 3 ? 3 : 0)];
                strcpy(d.type, types[t]);
                const int64_t n = sluice_npy_format(&d, bytes, sizeof bytes, &why);
                CHECK(n > 0 && n % 64 == 0 && d.shape.header == n, "%s: %lld %s", types[t], (long long)n, why.text);
                if (n <= 0) continue;
                CHECK(d.shape.elem == sluice_type_size(types[t]), "%s: elem %lld", types[t], (long long)d.shape.elem);
                CHECK(bytes[n - 1] == '\n' && bytes[6] == 1 && bytes[8] + 256 * bytes[9] == n - 10, "%s", types[t]);
                CHECK(sluice_npy_parse(&got, bytes, n, &why) == n, "%s: %s", types[t], why.text);
                CHECK(same(&d, &got), "%s, %d dimensions, variant %d", types[t], ndims, variant);
                /* Like snprintf. */
                memset(part, '!', sizeof part);
                CHECK(sluice_npy_format(&got, part, 20, &why) == n && !memcmp(part, bytes, 20) && part[20] == '!',
                      "20 bytes");
                CHECK(sluice_npy_format(&got, NULL, 0, &why) == n, "no bytes");
            }
}

/* The bytes that NumPy writes: version 1.0, these texts, spaces up to 128 bytes, a line feed. */
static void test_bytes(void) {
    static const struct {
        const char *type, *text;
        int ndims;
        int64_t dim[3];
        bool fortran, big;
    } known[] = {
        {"int64", "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }", 2, {2, 3}, false, false},
        {"float16", "{'descr': '<f2', 'fortran_order': False, 'shape': (768,), }", 1, {768}, false, false},
        {"float64", "{'descr': '<f8', 'fortran_order': True, 'shape': (10, 4), }", 2, {10, 4}, true, false},
        {"float32", "{'descr': '>f4', 'fortran_order': False, 'shape': (1, 0, 7), }", 3, {1, 0, 7}, false, true},
        {"uint8", "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }", 1, {5}, false, false},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        unsigned char bytes[SLUICE_NPY_HEADER], want[128];
        sluice_desc d = {.format = SLUICE_NPY, .swapped = known[i].big ? little() : !little()};
        sluice_reason why = {0};
        d.shape.ndims = known[i].ndims;
        d.shape.order = known[i].fortran ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR;
        memcpy(d.shape.dim, known[i].dim, sizeof known[i].dim);
        strcpy(d.type, known[i].type);
        CHECK(sluice_npy_format(&d, bytes, sizeof bytes, &why) == 128, "%s: %s", known[i].text, why.text);
        memset(want, ' ', sizeof want);
        memcpy(want, "\x93NUMPY\1\0\x76\0", 10);
        memcpy(want + 10, known[i].text, strlen(known[i].text));
        want[127] = '\n';
        CHECK(!memcmp(bytes, want, sizeof want), "%s: %.118s", known[i].text, bytes + 10);
    }
}

static void test_settle(void) {
    static const struct {
        const char *type, *descr;
        int64_t elem;
        int swapped;
        /* what comes out; NULL: refused */
        const char *type_out, *descr_out;
        int64_t elem_out;
        int swapped_out;
        const char *why;
    } cases[] = {
        {"float32", "", 0, 0, "float32", "", 4, 0, NULL},
        {"float32", "", 4, 1, "float32", "", 4, 1, NULL},
        {"f4", "", 0, 0, "float32", "", 4, 0, NULL},
        {"|u1", "", 0, 1, "uint8", "", 1, 0, NULL},
        {"", "", 12, 0, "V12", "", 12, 0, NULL},
        {"", "", 12, 1, "V12", "", 12, 0, NULL},
        {"", "[('x', '<f4'), ('y', '>i8')]", 0, 0, "V12", "[('x', '<f4'), ('y', '>i8')]", 12, 0, NULL},
        {"V12", "[('x', '<f4'), ('y', '>i8')]", 12, 0, "V12", "[('x', '<f4'), ('y', '>i8')]", 12, 0, NULL},
        {"", "'=f4'", 0, 0, "float32", "", 4, 0, NULL},
        {"float32", "  '=f4' ", 0, 0, "float32", "", 4, 0, NULL},
        {"", "", 0, 0, NULL, "", 0, 0, "neither a type nor the size of an element"},
        {"", "", -3, 0, NULL, "", 0, 0, "there is no element type V-3"},
        {"float33", "", 0, 0, NULL, "", 0, 0, "there is no element type float33"},
        {"S0", "", 0, 0, NULL, "", 0, 0, "there is no element type S0"},
        {"float32", "", 8, 0, NULL, "", 0, 0, "elements of 8 bytes, but float32 has 4"},
        {"V11", "[('x', '<f4'), ('y', '>i8')]", 0, 0, NULL, "", 0, 0, "the type is V11, but the dtype is V12"},
        {"float32", "'<f8'", 0, 0, NULL, "", 0, 0, "the type is float32, but the dtype is float64"},
        {"", "[('x', '<f4')]", 8, 0, NULL, "", 0, 0, "elements of 8 bytes, but V4 has 4"},
        {"", "[('x', '<f4')", 0, 0, NULL, "", 0, 0,
         "descr: byte 13: expected ',' or ']' after a field, but the text ends"},
        {"", "'<f4'}", 0, 0, NULL, "", 0, 0, "descr: byte 5: expected the end of the dtype, not }"},
        {"", "[]", 0, 0, NULL, "", 0, 0, "descr: byte 0: elements of 0 bytes"},
        {"", "[('\xff', '<f4')]", 0, 0, NULL, "", 0, 0, "descr: byte 3 is not UTF-8"},
        {"", "'O'", 0, 0, NULL, "", 0, 0,
         "descr: byte 1: the elements are Python objects, which have no place in the file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int format = SLUICE_RAW; format <= SLUICE_NPY; format++) {
            sluice_desc d = {.format = (sluice_format)format, .swapped = cases[i].swapped}, before;
            sluice_reason why = {0};
            d.shape = (sluice_shape){.ndims = 1, .elem = cases[i].elem, .dim = {3}};
            strcpy(d.type, cases[i].type);
            strcpy(d.descr, cases[i].descr);
            memcpy(&before, &d, sizeof d);
            const int error = sluice_desc_settle(&d, &why);
            if (cases[i].type_out) {
                CHECK(!error, "case %zu: %s", i, why.text);
                CHECK(!strcmp(d.type, cases[i].type_out) && !strcmp(d.descr, cases[i].descr_out) &&
                          d.shape.elem == cases[i].elem_out && d.swapped == cases[i].swapped_out,
                      "case %zu: %s %s %lld %d", i, d.type, d.descr, (long long)d.shape.elem, d.swapped);
            } else {
                CHECK(error < 0 && error == why.error, "case %zu: %d", i, error);
                CHECK(!strcmp(why.text, cases[i].why), "case %zu: %s", i, why.text);
                CHECK(!memcmp(&before, &d, sizeof d), "case %zu: changed", i);
                CHECK(sluice_desc_settle(&d, NULL) == error, "case %zu", i);
            }
        }
    sluice_desc d = {.format = SLUICE_RAW, .type = "float32", .shape = {.ndims = 2, .dim = {INT64_MAX / 4, 2}}};
    sluice_reason why;
    CHECK(sluice_desc_settle(&d, &why) == SLUICE_E_OVERFLOW, "%s", why.text);
    d.shape.dim[1] = 1;
    d.shape.header = 4;
    CHECK(sluice_desc_settle(&d, &why) == SLUICE_E_OVERFLOW, "%s", why.text);
    d.shape.header = 3;
    CHECK(!sluice_desc_settle(&d, &why) && sluice_desc_end(&d) == INT64_MAX, "%s", why.text);
    d.shape.dim[1] = -1;
    CHECK(sluice_desc_settle(&d, &why) == SLUICE_E_ARGUMENT, "%s", why.text);
    d.shape.dim[1] = 0;
    CHECK(!sluice_desc_settle(&d, &why) && sluice_desc_end(&d) == 3, "%s", why.text);
    d.shape.header = -1;
    CHECK(sluice_desc_settle(&d, &why) == SLUICE_E_ARGUMENT, "%s", why.text);
    d.shape.header = 0;
    d.shape.ndims = 17;
    CHECK(sluice_desc_settle(&d, &why) == SLUICE_E_ARGUMENT, "%s", why.text);
    d.shape.ndims = 1;
    d.format = (sluice_format)7;
    CHECK(sluice_desc_settle(&d, &why) == SLUICE_E_ARGUMENT, "%s", why.text);
    d.format = SLUICE_NPY;
    memset(d.type, 'x', sizeof d.type);
    CHECK(sluice_desc_settle(&d, &why) == SLUICE_E_ARGUMENT, "%s", why.text);
    strcpy(d.type, "float32");
    memset(d.descr, ' ', sizeof d.descr);
    CHECK(sluice_desc_settle(&d, &why) == SLUICE_E_ARGUMENT, "%s", why.text);
}

/* Whatever the array, its header can later say any extent. */
static void test_growth(void) {
    for (int ndims = 1; ndims <= SLUICE_MAX_DIMS; ndims++)
        for (int digits = 1; digits < 19; digits++) {
            unsigned char bytes[SLUICE_NPY_HEADER];
            sluice_desc d = {.format = SLUICE_NPY, .type = "uint8", .shape = {.ndims = ndims}}, got;
            sluice_reason why = {0};
            d.shape.dim[0] = 1;
            for (int i = 1; i < ndims; i++) d.shape.dim[i] = 1;
            for (int i = 1; i < digits; i++) d.shape.dim[0] *= 10;
            const int64_t n = sluice_npy_format(&d, bytes, sizeof bytes, &why);
            CHECK(n > 0 && !sluice_npy_reshape(bytes, &d, INT64_MAX - SLUICE_NPY_HEADER, &why), "%s", why.text);
            CHECK(sluice_npy_parse(&got, bytes, n, &why) == n, "%s", why.text);
            d.shape.dim[0] = INT64_MAX - SLUICE_NPY_HEADER;
            CHECK(same(&d, &got), "%d dimensions, %d digits", ndims, digits);
            CHECK(!sluice_npy_reshape(bytes, &d, 0, &why), "%s", why.text);
            CHECK(sluice_npy_parse(&got, bytes, n, &why) == n && got.shape.dim[0] == 0, "%s", why.text);
        }
}

int main(void) {
    test_good();
    test_letters();
    test_round_trip();
    test_bytes();
    test_settle();
    test_growth();
    return verdict();
}
