/* ranks: 1 */
/* npy_hostile.c: .npy files that lie, each refused with the place and the culprit, whatever else they say.
 *
 *     npy_hostile [FOLDER]    also writes them to a folder, for the fuzzer to start from
 */
#include "file/file.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>

/* The start of a file up to its text: magic, version 1.0, 2.0 or 3.0, and a length that is filled in if it is 0. */
#define V1 "\x93NUMPY\1\0\0\0"
#define V2 "\x93NUMPY\2\0\0\0\0\0"
#define V3 "\x93NUMPY\3\0\0\0\0\0"

#define F8 "'descr': '<f8', "
#define C "'fortran_order': False, "
#define S "'shape': (3, 4), "
#define T5 "[[[[["
#define OBJECTS "the elements are Python objects, which have no place in the file"

/* 33 lists, one in the other, and 32. */
#define NEST8 "[('a', [('a', [('a', [('a', [('a', [('a', [('a', [('a', "
#define NEST32 NEST8 NEST8 NEST8 NEST8
#define CLOSE8 ")])])])])])])])]"
#define CLOSE32 CLOSE8 CLOSE8 CLOSE8 CLOSE8

typedef struct hostile {
    const char *name;
    const char *prefix;
    size_t nprefix;
    const char *text;
    size_t ntext;
    int64_t data; /* bytes behind the header */
    int error;
    const char *why; /* what the reason says after "open <name>: " */
} hostile;

#define FILE(name, prefix, text, data, error, why)                                                                     \
    { name, prefix, sizeof prefix - 1, text, sizeof text - 1, data, error, why }
#define TEXT(name, text, why) FILE(name, V1, text, 96, SLUICE_E_FORMAT, why)

static const hostile table[] = {
    /* Before the text. */
    FILE("empty", "", "", 0, SLUICE_E_FORMAT, "not an .npy file; a raw file needs a description"),
    FILE("one-byte", "\x93", "", 0, SLUICE_E_FORMAT, "truncated: it has 1 bytes, but its .npy header ends at byte 10"),
    FILE("no-magic", "\x94NUMPY\1\0\0\0", "{" F8 C S "}", 96, SLUICE_E_FORMAT,
         "not an .npy file; a raw file needs a description"),
    FILE("lower-case-magic", "\x93numpy\1\0\0\0", "{" F8 C S "}", 96, SLUICE_E_FORMAT,
         "not an .npy file; a raw file needs a description"),
    FILE("zip", "PK\3\4", "{" F8 C S "}", 96, SLUICE_E_FORMAT, "not an .npy file; a raw file needs a description"),
    FILE("magic-only", "\x93NUMPY", "", 0, SLUICE_E_FORMAT,
         "truncated: it has 6 bytes, but its .npy header ends at byte 10"),
    FILE("no-length", "\x93NUMPY\1\0", "", 0, SLUICE_E_FORMAT,
         "truncated: it has 8 bytes, but its .npy header ends at byte 10"),
    FILE("half-length", "\x93NUMPY\2\0\x46\0", "", 0, SLUICE_E_FORMAT,
         "truncated: it has 10 bytes, but its .npy header ends at byte 12"),
    FILE("version-0.0", "\x93NUMPY\0\0\0\0", "{" F8 C S "}", 96, SLUICE_E_VERSION,
         "byte 6: version 0.0 of .npy; 1.0, 2.0 and 3.0 are known"),
    FILE("version-4.0", "\x93NUMPY\4\0\0\0\0\0", "{" F8 C S "}", 96, SLUICE_E_VERSION,
         "byte 6: version 4.0 of .npy; 1.0, 2.0 and 3.0 are known"),
    FILE("version-1.1", "\x93NUMPY\1\1\0\0", "{" F8 C S "}", 96, SLUICE_E_VERSION,
         "byte 6: version 1.1 of .npy; 1.0, 2.0 and 3.0 are known"),
    FILE("version-255.255", "\x93NUMPY\xff\xff\0\0", "{" F8 C S "}", 96, SLUICE_E_VERSION,
         "byte 6: version 255.255 of .npy; 1.0, 2.0 and 3.0 are known"),
    FILE("length-0", V1, "", 96, SLUICE_E_FORMAT, "byte 10: expected '{' of a dictionary, but the text ends"),
    FILE("length-past-end", "\x93NUMPY\1\0\xff\xff", "{" F8 C S "}", 96, SLUICE_E_FORMAT,
         "truncated: it has 165 bytes, but its .npy header ends at byte 65545"),
    FILE("length-4-gib", "\x93NUMPY\2\0\xff\xff\xff\xff", "{" F8 C S "}", 96, SLUICE_E_FORMAT,
         "truncated: it has 167 bytes, but its .npy header ends at byte 4294967307"),
    FILE("length-too-short", "\x93NUMPY\1\0\x20\0", "{" F8 C S "}", 96, SLUICE_E_FORMAT,
         "byte 42: expected ':' after a key, but the text ends"),
    FILE("length-into-data", "\x93NUMPY\1\0\x50\0", "{" F8 C S "}", 96, SLUICE_E_FORMAT,
         "byte 69: expected nothing after the dictionary, not the byte 0x00"),
    /* The dictionary. */
    TEXT("blank", "                    \n", "byte 31: expected '{' of a dictionary, but the text ends"),
    TEXT("zeros", "\0\0\0\0\0\0\0\0", "byte 10: expected '{' of a dictionary, not the byte 0x00"),
    TEXT("json", "[" F8 C S "]", "byte 10: expected '{' of a dictionary, not ["),
    TEXT("import", "__import__('os').system('id')", "byte 10: expected '{' of a dictionary, not _"),
    TEXT("nothing-in-it", "{}", "byte 11: there is no key 'descr'"),
    TEXT("no-descr", "{" C S "}", "byte 52: there is no key 'descr'"),
    TEXT("no-order", "{" F8 S "}", "byte 44: there is no key 'fortran_order'"),
    TEXT("no-shape", "{" F8 C "}", "byte 51: there is no key 'shape'"),
    TEXT("not-closed", "{" F8 C S, "byte 68: expected a string, but the text ends"),
    TEXT("closed-twice", "{" F8 C S "}}", "byte 69: expected nothing after the dictionary, not }"),
    TEXT("two-dictionaries", "{" F8 C S "}{" F8 C S "}", "byte 69: expected nothing after the dictionary, not {"),
    TEXT("code-behind", "{" F8 C S "}; import os\n", "byte 69: expected nothing after the dictionary, not ;"),
    TEXT("comment-behind", "{" F8 C S "} # three by four\n", "byte 70: expected nothing after the dictionary, not #"),
    TEXT("zeros-behind", "{" F8 C S "}   \0\0\0\0\n",
         "byte 72: expected nothing after the dictionary, not the byte 0x00"),
    TEXT("high-bytes-behind", "{" F8 C S "}\xff\xff",
         "byte 69: expected nothing after the dictionary, not the byte 0xff"),
    TEXT("key-unknown", "{" F8 C S "'evil': 1, }", "byte 69: unknown key 'evil'"),
    TEXT("key-unprintable", "{" F8 C S "'\xff\x7fx': 1, }", "byte 69: unknown key '??x'"),
    TEXT("key-escaped", "{'d\\x65scr': '<f8', " C S "}", "byte 12: unknown key 'd\\x65scr'"),
    TEXT("key-long", "{'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa': 1}",
         "byte 12: unknown key 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'"),
    TEXT("key-empty", "{'': 1, " F8 C S "}", "byte 12: unknown key ''"),
    TEXT("key-prefix", "{'des': '<f8', " C S "}", "byte 12: unknown key 'des'"),
    TEXT("key-twice", "{" F8 C S "'shape': (3, 5), }", "byte 69: the key 'shape' comes twice"),
    TEXT("descr-twice", "{" F8 F8 C S "}", "byte 28: the key 'descr' comes twice"),
    TEXT("key-number", "{1: 2, " F8 C S "}", "byte 11: expected a string, not 1"),
    TEXT("key-bytes", "{b'descr': '<f8', " C S "}", "byte 11: expected a string, not b"),
    TEXT("no-colon", "{'descr' '<f8', " C S "}", "byte 19: expected ':' after a key, not '"),
    TEXT("no-comma", "{'descr': '<f8' " C S "}", "byte 26: expected ',' or '}' after a value, not '"),
    TEXT("two-commas", "{" F8 ", " C S "}", "byte 27: expected a string, not ,"),
    TEXT("string-open", "{'descr", "byte 11: a string without an end"),
    TEXT("string-open-at-end", "{'descr': '", "byte 20: a string without an end"),
    TEXT("string-line-feed", "{'de\nscr': '<f8', " C S "}", "byte 14: control character 0x0a in a string"),
    TEXT("string-zero", "{'descr': '<f8\0', " C S "}", "byte 24: control character 0x00 in a string"),
    TEXT("string-backslash-end", "{'descr': '<f8\\", "byte 24: unknown escape sequence in a string"),
    TEXT("string-escape", "{'descr': [('\\q', '<f8')], " C S "}", "byte 23: unknown escape sequence in a string"),
    TEXT("string-hex", "{'descr': [('\\x4', '<f8')], " C S "}", "byte 23: unknown escape sequence in a string"),
    TEXT("string-code-point", "{'descr': [('\\U00110000', '<f8')], " C S "}",
         "byte 23: unknown escape sequence in a string"),
    /* The order. */
    TEXT("order-number", "{" F8 "'fortran_order': 1, " S "}", "byte 44: expected True or False, not 1"),
    TEXT("order-string", "{" F8 "'fortran_order': 'False', " S "}", "byte 44: expected True or False, not '"),
    TEXT("order-case", "{" F8 "'fortran_order': false, " S "}", "byte 44: expected True or False, not f"),
    TEXT("order-longer", "{" F8 "'fortran_order': Falsehood, " S "}",
         "byte 49: expected ',' or '}' after a value, not h"),
    /* The shape; 3 x 4 elements of 8 bytes are there. */
    TEXT("shape-list", "{" F8 C "'shape': [3, 4], }", "byte 60: expected '(' of a tuple, not ["),
    TEXT("shape-number", "{" F8 C "'shape': 12, }", "byte 60: expected '(' of a tuple, not 1"),
    TEXT("shape-brackets", "{" F8 C "'shape': (12), }", "byte 60: a tuple of one needs a comma"),
    TEXT("shape-comma", "{" F8 C "'shape': (,), }", "byte 61: expected a whole number, not ,"),
    TEXT("shape-commas", "{" F8 C "'shape': (3,,4), }", "byte 63: expected a whole number, not ,"),
    TEXT("shape-open", "{" F8 C "'shape': (3, 4", "byte 65: expected ',' or ')' after a number, but the text ends"),
    TEXT("shape-wrong-close", "{" F8 C "'shape': (3, 4], }", "byte 65: expected ',' or ')' after a number, not ]"),
    TEXT("shape-negative", "{" F8 C "'shape': (3, -4), }", "byte 64: a negative number"),
    TEXT("shape-plus", "{" F8 C "'shape': (3, +4), }", "byte 64: expected a whole number, not +"),
    TEXT("shape-fraction", "{" F8 C "'shape': (3, 4.0), }", "byte 65: expected ',' or ')' after a number, not ."),
    TEXT("shape-power", "{" F8 C "'shape': (3, 4e9), }", "byte 65: expected ',' or ')' after a number, not e"),
    TEXT("shape-hex", "{" F8 C "'shape': (3, 0x4), }", "byte 65: expected ',' or ')' after a number, not x"),
    TEXT("shape-underscore", "{" F8 C "'shape': (3, 4_0), }", "byte 65: expected ',' or ')' after a number, not _"),
    TEXT("shape-octal", "{" F8 C "'shape': (3, 04), }", "byte 64: a number with leading zeros"),
    TEXT("shape-two-l", "{" F8 C "'shape': (3, 4LL), }", "byte 66: expected ',' or ')' after a number, not L"),
    TEXT("shape-true", "{" F8 C "'shape': (3, True), }", "byte 64: expected a whole number, not T"),
    TEXT("shape-product", "{" F8 C "'shape': (3, 2*2), }", "byte 65: expected ',' or ')' after a number, not *"),
    TEXT("shape-nested", "{" F8 C "'shape': ((3, 4), ), }", "byte 61: expected a whole number, not ("),
    TEXT("shape-none", "{" F8 C "'shape': None, }", "byte 60: expected '(' of a tuple, not N"),
    TEXT("shape-17", "{" F8 C "'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }", "byte 60: more than 16 dimensions"),
    FILE("shape-64-bits", V1, "{" F8 C "'shape': (9223372036854775808,), }", 96, SLUICE_E_OVERFLOW,
         "byte 61: a number past 2^63-1"),
    FILE("shape-many-digits", V1, "{" F8 C "'shape': (0, 99999999999999999999999999999999999999), }", 96,
         SLUICE_E_OVERFLOW, "byte 64: a number past 2^63-1"),
    FILE("shape-times-8", V1, "{" F8 C "'shape': (1152921504606846976,), }", 96, SLUICE_E_OVERFLOW,
         "byte 60: dimension 0: extent 1152921504606846976 takes the array past 2^63-1 bytes"),
    FILE("shape-times-shape", V1, "{" F8 C "'shape': (4294967296, 4294967296), }", 96, SLUICE_E_OVERFLOW,
         "byte 60: dimension 0: extent 4294967296 takes the array past 2^63-1 bytes"),
    FILE("shape-wraps-to-0", V1, "{" F8 C "'shape': (65536, 65536, 65536, 65536), }", 96, SLUICE_E_OVERFLOW,
         "byte 60: dimension 0: extent 65536 takes the array past 2^63-1 bytes"),
    FILE("shape-and-header", V1, "{'descr': '|u1', " C "'shape': (9223372036854775807,), }", 96, SLUICE_E_OVERFLOW,
         "byte 60: dimension 0: extent 9223372036854775807 takes the array past 2^63-1 bytes"),
    TEXT("order-twice", "{" F8 C "'shape': (97,), 'fortran_order': False}",
         "byte 68: the key 'fortran_order' comes twice"),
    FILE("data-short", V1, "{" F8 C S "}", 95, SLUICE_E_FORMAT,
         "truncated: it has 164 bytes, but its array ends at byte 165"),
    FILE("data-none", V1, "{" F8 C S "}", 0, SLUICE_E_FORMAT,
         "truncated: it has 69 bytes, but its array ends at byte 165"),
    FILE("data-exabytes", V1, "{" F8 C "'shape': (1000000000, 1000000000), }", 96, SLUICE_E_FORMAT,
         "truncated: it has 183 bytes, but its array ends at byte 8000000000000000087"),
    /* The type. */
    TEXT("type-objects", "{'descr': '|O', " C S "}", "byte 21: " OBJECTS),
    TEXT("type-objects-bare", "{'descr': 'O', " C S "}", "byte 21: " OBJECTS),
    TEXT("type-objects-in-record", "{'descr': [('a', '<f4'), ('b', '|O')], " C S "}", "byte 42: " OBJECTS),
    TEXT("type-unknown", "{'descr': '<q9', " C S "}", "byte 21: '<q9' is not a type of fixed size"),
    TEXT("type-empty", "{'descr': '', " C S "}", "byte 21: '' is not a type of fixed size"),
    TEXT("type-strings", "{'descr': '|T16', " C S "}", "byte 21: '|T16' is not a type of fixed size"),
    TEXT("type-float24", "{'descr': '<f3', " C S "}", "byte 21: '<f3' is not a type of fixed size"),
    TEXT("type-escaped", "{'descr': '\\x3cf8', " C S "}", "byte 21: '\\x3cf8' is not a type of fixed size"),
    TEXT("type-long", "{'descr': '<f8                              ', " C S "}",
         "byte 21: '<f8                              ' is not a type of fixed size"),
    TEXT("type-list-in-string", "{'descr': 'f4, f4', " C S "}", "byte 21: 'f4, f4' is not a type of fixed size"),
    TEXT("type-0-bytes", "{'descr': '|S0', " C S "}", "byte 20: elements of 0 bytes"),
    TEXT("type-record-0-bytes", "{'descr': [], " C S "}", "byte 20: elements of 0 bytes"),
    TEXT("type-dictionary", "{'descr': {'names': ['a'], 'formats': ['<f8']}, " C S "}",
         "byte 20: expected a string, not {"),
    TEXT("type-tuple", "{'descr': ('<f4', (2,)), " C S "}", "byte 20: expected a string, not ("),
    TEXT("type-none", "{'descr': None, " C S "}", "byte 20: expected a string, not N"),
    TEXT("type-glued", "{'descr': '<' 'f8', " C S "}", "byte 21: '<' is not a type of fixed size"),
    FILE("type-64-bits", V1, "{'descr': '|V9223372036854775808', " C "'shape': (1,), }", 96, SLUICE_E_FORMAT,
         "byte 21: '|V9223372036854775808' is not a type of fixed size"),
    FILE("type-times-4", V1, "{'descr': '<U4611686018427387904', " C "'shape': (1,), }", 96, SLUICE_E_FORMAT,
         "byte 21: '<U4611686018427387904' is not a type of fixed size"),
    FILE("type-exabytes", V1, "{'descr': '|V9223372036854775807', " C "'shape': (1,), }", 96, SLUICE_E_OVERFLOW,
         "byte 78: dimension 0: extent 1 takes the array past 2^63-1 bytes"),
    /* Records. */
    TEXT("record-string", "{'descr': ['<f8'], " C S "}", "byte 21: expected '(' of a field, not '"),
    TEXT("record-open", "{'descr': [('a', '<f8')", "byte 33: expected ',' or ']' after a field, but the text ends"),
    TEXT("record-field-open", "{'descr': [('a', '<f8'", "byte 32: expected ')' of a field, but the text ends"),
    TEXT("record-no-comma", "{'descr': [('a', '<f4') ('b', '<f4')], " C S "}",
         "byte 34: expected ',' or ']' after a field, not ("),
    TEXT("record-no-type", "{'descr': [('a')], " C S "}", "byte 25: expected ',' after the name of a field, not )"),
    TEXT("record-no-type-comma", "{'descr': [('a',)], " C S "}", "byte 26: expected a string, not )"),
    TEXT("record-four", "{'descr': [('a', '<f4', (2,), 5)], " C S "}", "byte 40: expected ')' of a field, not 5"),
    TEXT("record-name-number", "{'descr': [(1, '<f8')], " C S "}", "byte 22: expected a string, not 1"),
    TEXT("record-title-open", "{'descr': [(('a', '<f8')], " C S "}",
         "byte 34: expected ',' after the name of a field, not ]"),
    TEXT("record-three-titles", "{'descr': [(('a', 'b', 'c'), '<f8')], " C S "}",
         "byte 33: expected ')' after the name of a field, not '"),
    TEXT("record-title-alone", "{'descr': [(('a'), '<f8')], " C S "}",
         "byte 26: expected ',' after the title of a field, not )"),
    TEXT("record-shape-negative", "{'descr': [('a', '<f8', (-1,))], " C S "}", "byte 35: a negative number"),
    TEXT("record-shape-brackets", "{'descr': [('a', '<f8', (2))], " C S "}", "byte 34: a tuple of one needs a comma"),
    TEXT("record-shape-string", "{'descr': [('a', '<f8', 'x')], " C S "}", "byte 34: expected a whole number, not '"),
    TEXT("record-tuple-no-shape", "{'descr': [('a', ('<f8',))], " C S "}", "byte 34: expected ',' and a shape, not )"),
    TEXT("record-shape-65",
         "{'descr': [('a', '<f8', "
         "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
         "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1))], " C S "}",
         "byte 34: more than 64 dimensions"),
    FILE("record-shape-overflow", V1, "{'descr': [('a', '<f8', (4294967296, 4294967296))], " C S "}", 96,
         SLUICE_E_OVERFLOW, "byte 34: this shape takes the record past 2^63-1 bytes"),
    FILE("record-sum-overflow", V1, "{'descr': [('a', '|V9223372036854775807'), ('b', '|V1')], " C S "}", 96,
         SLUICE_E_OVERFLOW, "byte 53: this field takes the record past 2^63-1 bytes"),
    FILE("record-huge", V1, "{'descr': [('a', '|V9223372036854775806'), ('b', '|V1')], " C S "}", 96, SLUICE_E_OVERFLOW,
         "byte 101: dimension 1: extent 4 takes the array past 2^63-1 bytes"),
    TEXT("record-deep", "{'descr': " NEST32 "[('a', '<f8')]" CLOSE32 ", " C S "}",
         "byte 244: records nested more than 32 deep"),
    TEXT("record-tuples-deep",
         "{'descr': [('a', "
         "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((",
         "byte 58: records nested more than 32 deep"),
    TEXT("record-lists", "{'descr': " T5 T5 T5 T5 T5 T5 T5 T5, "byte 21: expected '(' of a field, not ["),
    FILE("utf8-bad", V3, "{'descr': [('\xc3(', '<f8')], " C S "}", 96, SLUICE_E_FORMAT, "byte 25: not UTF-8"),
    FILE("utf8-cut", V3, "{" F8 C S "}\xe2\x82", 96, SLUICE_E_FORMAT, "byte 71: not UTF-8"),
    FILE("utf8-cut-at-end", V3, "{" F8 C S "}\xe2\x82", 0, SLUICE_E_FORMAT, "byte 71: not UTF-8"),
    FILE("utf8-surrogate", V3, "{'descr': [('\xed\xa0\x80', '<f8')], " C S "}", 96, SLUICE_E_FORMAT,
         "byte 25: not UTF-8"),
    FILE("version-2-text", V2, "{" F8 C "'shape': (3, 4), 'x'}", 96, SLUICE_E_FORMAT, "byte 71: unknown key 'x'"),
};

/* Puts the file together; *n is its length. */
static unsigned char *make(const hostile *h, int64_t *n) {
    *n = (int64_t)(h->nprefix + h->ntext) + h->data;
    unsigned char *bytes = calloc((size_t)*n + 1, 1);
    if (!bytes) exit(1);
    memcpy(bytes, h->prefix, h->nprefix);
    memcpy(bytes + h->nprefix, h->text, h->ntext);
    if (h->nprefix >= 10 && !bytes[8] && !bytes[9]) {
        bytes[8] = (unsigned char)(h->ntext & 0xFF);
        bytes[9] = (unsigned char)(h->ntext >> 8);
    }
    return bytes;
}

/* The position is the number behind "byte". */
static void check_position(const hostile *h, const sluice_reason *why) {
    const char *at = strncmp(h->why, "byte ", 5) ? NULL : h->why + 5;
    if (at) CHECK(why->pos == atoll(at), "%s: %lld", h->name, why->pos);
}

static void check_store(const hostile *h, const unsigned char *bytes, int64_t n) {
    sluice_desc d, before;
    sluice_reason why = {0};
    sluice_store *s = NULL;
    char want[256];
    memset(&d, 0x5A, sizeof d);
    memcpy(&before, &d, sizeof d);
    if (sluice_store_open_ram(&s, 0, NULL) || (n && sluice_store_write(s, 0, bytes, n, NULL))) exit(1);
    const int error = sluice_plain_open(&d, NULL, s, &why);
    snprintf(want, sizeof want, "open %s: %s", s->name, h->why);
    want[sizeof why.text - 1] = 0;
    CHECK(error == h->error && why.error == error, "%s: error %d: %s", h->name, error, why.text);
    CHECK(!strcmp(why.text, want), "%s: expected '%s', got '%s'", h->name, want, why.text);
    check_position(h, &why);
    CHECK(!memcmp(&d, &before, sizeof d), "%s changed the output", h->name);
    CHECK(sluice_plain_open(&d, NULL, s, NULL) == error, "%s without a reason", h->name);
    sluice_store_close(s);
}

/* The parser alone, on a block of just that size, so that a sanitizer sees a read past its end. */
static void check_parser(const hostile *h, const unsigned char *bytes, int64_t n) {
    sluice_desc d;
    sluice_reason why = {0};
    unsigned char *exact = malloc((size_t)n + (n == 0));
    if (!exact) exit(1);
    memcpy(exact, bytes, (size_t)n);
    const int64_t length = sluice_npy_parse(&d, exact, n, &why);
    if (!strncmp(h->why, "byte ", 5)) {
        CHECK(length == h->error, "%s: %lld", h->name, (long long)length);
        CHECK(!strcmp(why.text, h->why), "%s: %s", h->name, why.text);
        check_position(h, &why);
    } else {
        /* What the parser cannot know: that the file is shorter. */
        CHECK(length >= 0, "%s: %s", h->name, why.text);
        CHECK(strncmp(h->why, "not", 3) != 0 || n == 0 || length == 0, "%s: %lld", h->name, (long long)length);
    }
    CHECK(sluice_npy_parse(&d, exact, n, NULL) == length, "%s without a reason", h->name);
    free(exact);
}

static void write_file(const char *folder, const hostile *h, const unsigned char *bytes, int64_t n) {
    char path[4096];
    snprintf(path, sizeof path, "%s/hostile-%s", folder, h->name);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, (size_t)n, f) == (size_t)n, "%s", path);
    if (f) CHECK(!fclose(f), "%s", path);
}

/* A record whose description does not fit, by one byte; and one that does. */
static void test_long_record(void) {
    for (int extra = 0; extra < 2; extra++) {
        static char text[8192];
        static unsigned char bytes[8192];
        sluice_desc d;
        sluice_reason why = {0};
        const int room = (int)sizeof d.descr - 2 + extra, field = (int)strlen("[('', '<f8')]");
        int n = snprintf(text, sizeof text, "{'descr': [('");
        memset(text + n, 'n', (size_t)(room - field));
        n += room - field;
        n += snprintf(text + n, sizeof text - (size_t)n, "', '<f8')], " C S "}");
        memcpy(bytes, V1, 10);
        bytes[8] = (unsigned char)(n & 0xFF);
        bytes[9] = (unsigned char)(n >> 8);
        memcpy(bytes + 10, text, (size_t)n);
        const int64_t length = sluice_npy_parse(&d, bytes, n + 10, &why);
        if (extra) {
            CHECK(length == SLUICE_E_FORMAT && why.pos == 20, "%s", why.text);
            CHECK(!strcmp(why.text, "byte 20: a record of more than 4094 bytes of description"), "%s", why.text);
        } else {
            CHECK(length == n + 10 && (int)strlen(d.descr) == room, "%s", why.text);
            CHECK(sluice_npy_format(&d, bytes, sizeof bytes, &why) > 4096 && d.shape.header <= SLUICE_NPY_HEADER, "%s",
                  why.text);
        }
    }
}

/* Depth 32 is allowed. */
static void test_depth(void) {
    static const char text[] =
        "{'descr': " NEST8 NEST8 NEST8
        "[('a', [('a', [('a', [('a', [('a', [('a', [('a', [('a', '<f8')])])])])])])])]" CLOSE8 CLOSE8 CLOSE8 ", " C S
        "}";
    unsigned char bytes[1024] = V1;
    sluice_desc d;
    sluice_reason why = {0};
    const int64_t n = (int64_t)sizeof text - 1;
    bytes[8] = (unsigned char)(n & 0xFF);
    bytes[9] = (unsigned char)(n >> 8);
    memcpy(bytes + 10, text, (size_t)n);
    CHECK(sluice_npy_parse(&d, bytes, n + 10, &why) == n + 10 && d.shape.elem == 8, "%s", why.text);
}

int main(int argc, char **argv) {
    const size_t n = sizeof table / sizeof *table;
    for (size_t i = 0; i < n; i++) {
        int64_t len;
        unsigned char *bytes = make(&table[i], &len);
        check_parser(&table[i], bytes, len);
        check_store(&table[i], bytes, len);
        if (argc > 1) write_file(argv[1], &table[i], bytes, len);
        free(bytes);
        for (size_t k = 0; k < i; k++) CHECK(strcmp(table[i].name, table[k].name), "two are called %s", table[i].name);
    }
    test_long_record();
    test_depth();
    printf("%zu hostile files\n", n);
    return verdict();
}
