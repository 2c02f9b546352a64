/* ranks: 1 */
/* manifest.c: manifests written and read again, and manifests that lie: each is refused with the code that says why, in
 * bounded time, and leaves nothing behind.
 *
 *     manifest [FOLDER]    also writes them to a folder, for the fuzzer to start from
 */
#include "file/file.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char good[] =
    "{\n"
    "  \"format\": \"sluice\",\n"
    "  \"version\": 1,\n"
    "  \"uuid\": \"0123456789abcdef0123456789abcdef\",\n"
    "  \"generation\": 7,\n"
    "  \"shape\": [10, 12],\n"
    "  \"order\": \"C\",\n"
    "  \"type\": \"float32\",\n"
    "  \"byte_order\": \"little\",\n"
    "  \"checksum_block\": 4096,\n"
    "  \"layout\": \"rows:3\",\n"
    "  \"targets\": [\".\", \"fast\"],\n"
    "  \"subfiles\": [\n"
    "    {\"name\": \"7.0\", \"target\": \".\", \"size\": 192},\n"
    "    {\"name\": \"0123456789abcdef0123456789abcdef.7.1\", \"target\": \"fast\", \"size\": 192},\n"
    "    {\"name\": \"7.2\", \"target\": \".\", \"size\": 96}\n"
    "  ]\n"
    "}\n";

static const char *folder;
static int cases;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void keep(const char *name, const char *text, size_t len) {
    char path[512];
    if (!folder) return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (f) fwrite(text, 1, len, f), fclose(f);
}

/* error 0: must be accepted. */
static void judge(const char *name, const char *text, size_t len, int error, const char *message) {
    sluice_manifest *m = NULL;
    sluice_reason why = {0};
    const double start = seconds();
    char *copy = malloc(len ? len : 1); /* of just its size, so that a sanitizer sees a read past its end */
    memcpy(copy, text, len);
    const int got = sluice_manifest_parse(&m, copy, (int64_t)len, &why);
    free(copy);
    CHECK(got == error && !m == (got != 0), "%s: %d: %s", name, got, why.text);
    CHECK(!got || (why.error == got && !strncmp(why.text, "manifest: ", 10) && strstr(why.text, message)), "%s: %s",
          name, why.text);
    CHECK(seconds() - start < 100, "%s took long", name);
    sluice_manifest_free(m);
    CHECK(sluice_mem_live() == 0, "%s leaks", name);
    cases++;
}

/* The good one with the first `old` after the first `after` replaced. */
static void change(const char *after, const char *old, const char *new, int error, const char *message) {
    static char text[1 << 16];
    const char *from = strstr(good, after), *at = from ? strstr(from, old) : NULL;
    char name[300];
    if (!at) {
        CHECK(false, "%s does not stand after %s", old, after);
        return;
    }
    const int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, new, at + strlen(old));
    snprintf(name, sizeof name, "%s -> %.200s", old, new);
    judge(name, text, (size_t)n, error, message);
    snprintf(name, sizeof name, "hostile-%03d", cases);
    keep(name, text, (size_t)n);
}

static void lies(void) {
    const int f = SLUICE_E_FORMAT, v = SLUICE_E_VERSION;
    change("", "sluice\"", "zarr\"", f, "\"format\" is not");
    change("", "\"sluice\"", "1", f, "\"format\" is not a string");
    change("", "  \"format\": \"sluice\",\n", "", f, "\"format\" is missing");
    change("\"version\"", "1", "2", v, "version 2 of the format; this Sluice knows 1");
    change("\"version\"", "1", "9223372036854775807", v, "version 9223372036854775807");
    change("\"version\"", "1", "0", f, "\"version\" is 0");
    change("\"version\"", "1", "\"1\"", f, "\"version\" is not a whole number");
    change("\"version\"", "1", "1.0", f, "\"version\" is not a whole number");
    change("\"version\"", "1,", "1, \"version\": 1,", f, "duplicate");
    change("\"version\"", "1,", "1, \"requires\": [\"crc32c\"],", v, "it requires \"crc32c\"");
    change("\"version\"", "1,", "1, \"requires\": [7],", f, "not a string");
    change("\"version\"", "1,", "1, \"requires\": \"crc32c\",", f, "not a list");
    change("\"version\"", "1,", "1, \"requires\": [],", 0, "");
    change("\"checksum_block\"", "4096", "512", 0, "");
    change("\"checksum_block\"", "4096", "16777216", 0, "");
    change("\"checksum_block\"", "4096", "256", f, "a power of two from 512 to 16M");
    change("\"checksum_block\"", "4096", "33554432", f, "a power of two from 512 to 16M");
    change("\"checksum_block\"", "4096", "4097", f, "a power of two from 512 to 16M");
    change("\"checksum_block\"", "4096", "-4096", f, "at least 0");
    change("\"checksum_block\"", "4096", "\"x\"", f, "not a whole number");
    change("\"checksum_block\"", "\n", "\n\"checksum_block\": 4096,\n", f, "duplicate");
    change("\"byte_order\"", "  \"checksum_block\": 4096,\n", "", 0, "");
    change("\"version\"", "1,", "1, \"comment\": {\"by\": [\"someone\"]},", 0, "");
    change("\"uuid\"", "0123", "0123\\u0000", f, "");
    change("\"uuid\"", "0123456789abcdef0", "123456789abcdef0", f, "\"uuid\" is not 32 digits");
    change("\"uuid\"", "0123456789abcdef0", "../../etc/passwd0", f, "\"uuid\" is not 32 digits");
    change("\"uuid\"", "0123456789abcdef0", "0123456789ABCDEF0", f, "\"uuid\" is not 32 digits");
    change("\"uuid\"", "0123456789abcdef0", "0123456789abcdef00", f, "more than 32");
    change("\"generation\"", "7", "8", f, "subfile 0 is not called 8.0");
    change("\"generation\"", "7", "0", f, "\"generation\" is 0");
    change("\"shape\"", "[10, 12]", "[]", f, "has 0 extents");
    change("\"shape\"", "[10, 12]", "10", f, "not a list");
    change("\"shape\"", "[10, 12]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,10,12]", f, "has 17 extents");
    change("\"shape\"", "[10, 12]", "[10, [12]]", f, "extent 1");
    change("\"shape\"", "[10, 12]", "[4294967296, 4294967296]", f, "past 2^63-1");
    change("\"shape\"", "[10, 12]", "[12, 10]", f, "the layout gives it 160");
    change("\"shape\"", "[10, 12]", "[0, 12]", f, "subfile 0 has 192 bytes; the layout gives it 0");
    change("\"order\"", "\"C\"", "\"F\"", 0, "");
    change("\"order\"", "\"C\"", "\"c\"", f, "neither");
    change("\"order\"", "\"C\"", "null", f, "\"order\" is not a string");
    change("\"type\"", "float32", "float33", f, "no type");
    change("\"type\"", "float32", "<f4", f, "no type");
    change("\"type\"", "float32", "", f, "no type");
    change("\"type\"", "float32", "V0", f, "");
    change("\"type\"", "float32", "V9223372036854775807", f, "");
    change("\"type\"", "float32", "S4", f, "\"byte_order\" does not go with");
    change("\"type\"", "\"float32\",\n  \"byte_order\": \"little\"", "\"S4\", \"byte_order\": \"none\"", 0, "");
    change("\"type\"", "\"float32\",\n  \"byte_order\": \"little\"",
           "\"V4\", \"byte_order\": \"none\", \"dtype\": \"[('a', '<f4')]\"", 0, "");
    change("\"type\"", "\"float32\",\n  \"byte_order\": \"little\"",
           "\"V4\", \"byte_order\": \"none\", \"dtype\": \"[('a', '<f8')]\"", f, "");
    change("\"type\"", "\"float32\",\n  \"byte_order\": \"little\"",
           "\"V4\", \"byte_order\": \"none\", \"dtype\": \"[('a', 'O')]\"", f, "Python objects");
    change("\"type\"", "\"little\"", "\"little\", \"dtype\": \"'<f4'\"", f, "not a record");
    change("\"byte_order\"", "little", "big", 0, "");
    change("\"byte_order\"", "little", "none", f, "does not go with");
    change("\"byte_order\"", "little", "middle", f, "\"byte_order\" is not");
    change("\"layout\"", "rows:3", "rows:4", f, "has 3 entries, but the layout has 4");
    change("\"layout\"", "rows:3", "rows:2", f, "has 3 entries, but the layout has 2");
    change("\"layout\"", "rows:3", "columns:3", f, "subfile 0 has 192 bytes; the layout gives it 160");
    change("\"layout\"", "rows:3", "rows:0", SLUICE_E_ARGUMENT, "byte 5");
    change("\"layout\"", "rows:3", "rows:65536", f, "65536");
    change("\"layout\"", "rows:3", "rows", SLUICE_E_SYNTAX, "byte 4");
    change("\"layout\"", "rows:3", "", SLUICE_E_SYNTAX, "byte 0");
    change("\"layout\"", "rows:3", "falls:0:{0-1};{1-2};{3-3}", SLUICE_E_SHARED, "both have byte 1");
    change("\"layout\"", "rows:3", "falls:0:{0-1};{3-3};{4-4}", SLUICE_E_GAP, "byte 2");
    change("\"layout\"", "rows:3", "falls:0:{(0,0,1000003,4000000)};{(1,1,1000004,4000000)};{2-2}", SLUICE_E_COMPLEX,
           "");
    change("\"targets\"", "\"fast\"", "\".\"", f, "a target twice");
    change("\"targets\"", "\"fast\"", "\"..\"", f, "the name of a target");
    change("\"targets\"", "\"fast\"", "\"\"", f, "the name of a target");
    change("\"targets\"", "\"fast\"", "\"/etc\"", f, "the name of a target");
    change("\"targets\"", "\"fast\"", "\"a b\"", f, "the name of a target");
    change("\"targets\"", "\"fast\"", "\".hidden\"", f, "the name of a target");
    change("\"targets\"", "\"fast\"", "\"f\\u00e4st\"", f, "the name of a target");
    change("\"targets\"", "\"fast\"", "7", f, "no string");
    change("\"targets\"", "[\".\", \"fast\"]", "[]", f, "0 names");
    change("\"targets\"", "[\".\", \"fast\"]", "[\".\"]", f, "subfile 1: its target is not listed");
    change("\"targets\"", "[\".\", \"fast\"]", "{}", f, "not a list");
    change("\"targets\"", "\"fast\"", "\"fast\", \"spare\"", 0, "");
    change("\"subfiles\"", "\"7.0\"", "\"7.1\"", f, "subfile 0 is not called 7.0");
    change("\"subfiles\"", "\"7.0\"", "\"6.0\"", f, "subfile 0 is not called 7.0");
    change("\"subfiles\"", "\"7.0\"", "\"/etc/passwd\"", f, "subfile 0 is not called 7.0");
    change("\"subfiles\"", "\"7.0\"", "\"../7.0\"", f, "subfile 0 is not called 7.0");
    change("\"subfiles\"", "\"7.0\"", "\"..\"", f, "subfile 0 is not called 7.0");
    change("\"subfiles\"", "\"7.0\"", "\"\"", f, "subfile 0 is not called 7.0");
    change("\"subfiles\"", "\"7.0\"", "\"manifest.json\"", f, "subfile 0 is not called 7.0");
    change("\"subfiles\"", "\"7.0\"", "\"7.0\\n\"", f, "subfile 0 is not called 7.0");
    change("\"subfiles\"", "\"7.0\"", "\"7.0 \"", f, "subfile 0 is not called 7.0");
    change("\"subfiles\"", "\"7.0\"", "\"07.0\"", f, "subfile 0 is not called 7.0");
    change("\"subfiles\"", "\"7.0\"", "0", f, "subfile 0: \"name\" is not a string");
    change("\"subfiles\"", "\"7.2\"", "\"7.0\"", f, "subfile 2 is not called 7.2");
    change("\"subfiles\"", "\"0123456789abcdef0123456789abcdef.7.1\"", "\"7.1\"", f, "subfile 1 is not called 0123");
    change("\"subfiles\"", "\"0123456789abcdef0123456789abcdef.7.1\"", "\"1123456789abcdef0123456789abcdef.7.1\"", f,
           "subfile 1 is not called 0123");
    change("\"subfiles\"", "\"fast\"", "\".\"", f, "subfile 1 is not called 7.1");
    change("\"subfiles\"", "\"fast\"", "\"slow\"", f, "subfile 1: its target is not listed");
    change("\"subfiles\"", "\"target\": \"fast\", ", "", f, "subfile 1: \"target\" is missing");
    change("\"subfiles\"", "192", "191", f, "subfile 0 has 191 bytes; the layout gives it 192");
    change("\"subfiles\"", "\"size\": 192", "\"size\": 192, \"size\": 192", f, "duplicate");
    change("\"subfiles\"", "\"size\": 192", "\"size\": 192, \"crc\": 17", 0, "");
    change("\"subfiles\"", "{\"name\": \"7.2\", \"target\": \".\", \"size\": 96}", "[]", f, "subfile 2: not an object");
    change("\"subfiles\"", ",\n    {\"name\": \"7.2\", \"target\": \".\", \"size\": 96}", "", f, "has 2 entries");
    change("\"subfiles\"", "\"size\": 96}", "\"size\": 96}, {}", f, "has 4 entries");
    change("\"subfiles\"", "96}\n  ]\n}", "96}\n  ]\n} {}", f, "byte");
    change("\"subfiles\"", "96}\n  ]\n}", "96}\n  ]\n}}", f, "byte");
    judge("nothing", "", 0, f, "byte");
    judge("list", "[]", 2, f, "not an object");
    judge("null", "null", 4, f, "");
    judge("number", "1", 1, f, "");
    judge("zeros", "\0\0\0\0", 4, f, "");
    judge("utf-16", "\xff\xfe{\0}\0", 6, f, "");
    judge("latin-1", "{\"a\": \"\xe4\"}", 10, f, "");
    judge("string without an end", "{\"a\\", 4, f, "");
}

/* Every whole number in the text becomes each of these. */
static void numbers(void) {
    static const struct {
        const char *text;
        int error; /* 0: as the place says */
    } extreme[] = {{"-1", 0},
                   {"2147483648", 0},
                   {"9223372036854775807", 0},
                   {"9223372036854775808", SLUICE_E_FORMAT},
                   {"-9223372036854775808", 0},
                   {"1e300", SLUICE_E_FORMAT},
                   {"1e999", SLUICE_E_FORMAT},
                   {"0.5", SLUICE_E_FORMAT},
                   {"\"7\"", SLUICE_E_FORMAT},
                   {"null", SLUICE_E_FORMAT},
                   {"true", SLUICE_E_FORMAT},
                   {"[]", SLUICE_E_FORMAT},
                   {"{}", SLUICE_E_FORMAT},
                   {"01", SLUICE_E_FORMAT},
                   {"+1", SLUICE_E_FORMAT},
                   {"0x1", SLUICE_E_FORMAT},
                   {"NaN", SLUICE_E_FORMAT},
                   {"0", 0}};
    bool string = false;
    for (const char *c = good; *c; c++) {
        string ^= *c == '"';
        if (string || *c < '0' || *c > '9') continue;
        const size_t len = strspn(c, "0123456789");
        for (size_t i = 0; i < sizeof extreme / sizeof *extreme; i++) {
            char text[2000], name[100];
            const int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(c - good), good, extreme[i].text, c + len);
            /* A version from the future is a case of its own; all else contradicts the rest. */
            const bool version = c - good < 40 && *extreme[i].text != '-' && *extreme[i].text != '0';
            const bool without = !strncmp(c, "4096", 4) && !strcmp(extreme[i].text, "0");
            snprintf(name, sizeof name, "byte %d -> %s", (int)(c - good), extreme[i].text);
            judge(name, text, (size_t)n,
                  without                        ? 0
                  : extreme[i].error || !version ? SLUICE_E_FORMAT
                                                 : SLUICE_E_VERSION,
                  "");
        }
        c += len - 1;
    }
}

static void pieces(void) {
    char name[40];
    const size_t whole = sizeof good - 2; /* the last line feed may be missing */
    judge("the whole", good, sizeof good - 1, 0, "");
    for (size_t n = 0; n < whole; n++) {
        snprintf(name, sizeof name, "%zu bytes", n);
        judge(name, good, n, SLUICE_E_FORMAT, "");
    }
    judge("without the last line feed", good, whole, 0, "");
}

static void floods(void) {
    const size_t room = (size_t)SLUICE_MAX_MANIFEST + 2;
    char *text = malloc(room);
    if (!text) exit(1);
    memset(text, '[', room);
    judge("open lists", text, room - 2, SLUICE_E_FORMAT, "deep");
    memset(text, '"', room);
    judge("strings", text, room - 2, SLUICE_E_FORMAT, "");
    for (size_t i = 0; i < room; i++) text[i] = "[0,"[i ? 1 + i % 2 : 0];
    judge("zeros", text, room - 2, SLUICE_E_FORMAT, "values");
    memset(text, ' ', room);
    memcpy(text, good, sizeof good - 1);
    judge("long", text, room - 2, 0, "");
    judge("too long", text, room - 1, SLUICE_E_FORMAT, "more than 16777216 bytes");
    free(text);
}

static sluice_desc array(const char *type, const char *descr, int swapped) {
    sluice_desc d = {
        .format = SLUICE_NPY, .shape = {.ndims = 3, .header = 99, .dim = {30, 20, 10}}, .swapped = swapped};
    strcpy(d.type, type);
    strcpy(d.descr, descr);
    return d;
}

/* What is written is read as the same, and written again is the same bytes. */
static void again(const sluice_desc *d, const char *layout, const char *targets, int64_t checksum) {
    sluice_manifest *m = NULL, *r = NULL, *next = NULL;
    char *text = NULL, *twice = NULL;
    int64_t len = 0, len2 = 0;
    sluice_reason why = {0};
    CHECK(!sluice_manifest_make(&m, d, layout, targets, NULL, &why), "%s", why.text);
    CHECK(m && !sluice_manifest_checksum(m, checksum, &why), "%s", why.text);
    CHECK(m && !sluice_manifest_format(m, &text, &len, &why), "%s", why.text);
    CHECK(text && !sluice_manifest_parse(&r, text, len, &why), "%s", why.text);
    CHECK(r && !sluice_manifest_format(r, &twice, &len2, &why), "%s", why.text);
    CHECK(twice && len == len2 && !memcmp(text, twice, (size_t)len), "%s is not stable", layout);
    if (r) {
        CHECK(!strcmp(m->uuid, r->uuid) && r->generation == 1 && !strcmp(layout, r->layout->text), "%s", layout);
        CHECK(!memcmp(&m->desc, &r->desc, sizeof m->desc), "%s: the description has changed", layout);
        CHECK(r->desc.format == SLUICE_RAW && r->desc.shape.header == 0, "%s", layout);
        for (int i = 0; i < r->layout->n; i++) CHECK(r->place[i] == i % r->ntargets, "%s", layout);
        CHECK(!sluice_manifest_make(&next, &m->desc, "single", "fast", m, &why), "%s", why.text);
        CHECK(r->checksum == checksum && next && next->checksum == checksum, "%s", layout);
        CHECK(next && next->generation == 2 && !strcmp(next->uuid, m->uuid), "next generation");
    }
    if (len < 4000) keep(layout, text, (size_t)len);
    sluice_manifest_free(m);
    sluice_manifest_free(r);
    sluice_manifest_free(next);
    sluice_mem_free(text);
    sluice_mem_free(twice);
}

static void written(void) {
    const sluice_desc plain = array("float64", "", 0), other = array("int16", "", 1), text = array("S3", "", 0),
                      record = array("", "[(\"it's \\\\ \xc3\xa4\", '<f4'), ('n', '>i8', (2,))]", 0);
    again(&plain, "single", NULL, 0);
    again(&other, "striped:64K:7", "fast,slow,.", 65536);
    again(&text, "tiles:4x4:3", ".", 512);
    again(&record, "hpf:block,cyclic(2),*@2x2", "", 0);
    again(&plain, "falls:3:{(0,3,8,2,{(0,0,2,2)}),1-1};{3-7,9-9,11-11};{12-12,\t\n (13,13,1,1)}", "a,b", 16 << 20);
    again(&plain, "striped:1:65536", "a23456789012345678901234567890123456789012345678901234567890123", 4096);
    static const struct {
        const char *layout, *targets;
        int error;
    } bad[] = {{"single", ",", SLUICE_E_ARGUMENT},   {"single", "a,", SLUICE_E_ARGUMENT},
               {"single", "a,a", SLUICE_E_ARGUMENT}, {"single", "a/b", SLUICE_E_ARGUMENT},
               {"single", "..", SLUICE_E_ARGUMENT},  {"single", "a=b", SLUICE_E_ARGUMENT},
               {"simple", "a", SLUICE_E_SYNTAX}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sluice_manifest *m = NULL;
        sluice_reason why = {0};
        CHECK(sluice_manifest_make(&m, &plain, bad[i].layout, bad[i].targets, NULL, &why) == bad[i].error && !m &&
                  why.error == bad[i].error,
              "%s on %s: %s", bad[i].layout, bad[i].targets, why.text);
    }
}

static void allocations(void) {
    const sluice_desc d = array("float64", "", 0);
    int error = -ENOMEM;
    for (int64_t n = 1; error && n < 1000; n++) {
        sluice_manifest *m = NULL, *r = NULL;
        char *text = NULL;
        int64_t len = 0;
        sluice_reason why = {0};
        sluice_mem_fail_nth(n);
        error = sluice_manifest_make(&m, &d, "tiles:7x3:4", "a,b", NULL, &why);
        if (!error) error = sluice_manifest_format(m, &text, &len, &why);
        if (!error) error = sluice_manifest_parse(&r, text, len, &why);
        sluice_mem_fail_nth(0);
        CHECK(error == 0 || (error == -ENOMEM && why.error == error), "request %" PRId64 ": %d %s", n, error, why.text);
        sluice_manifest_free(m);
        sluice_manifest_free(r);
        sluice_mem_free(text);
        CHECK(sluice_mem_live() == 0, "request %" PRId64 " leaks", n);
    }
    CHECK(error == 0, "never succeeded");
}

int main(int argc, char **argv) {
    folder = argc > 1 ? argv[1] : NULL;
    keep("good", good, sizeof good - 1);
    lies();
    numbers();
    pieces();
    floods();
    written();
    allocations();
    printf("%d manifests\n", cases);
    CHECK(cases >= 200, "only %d", cases);
    return verdict();
}
