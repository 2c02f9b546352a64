/* ranks: 1 */
/* planfile.c: plan files written and read again, and plan files that lie: each is refused with the code that says why,
 * in bounded time, and leaves nothing behind.
 *
 *     planfile [FOLDER]    also writes them to a folder, for the fuzzer to start from
 */
#include "file/placement.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>

static const char good[] =
    "{\n"
    "  \"format\": \"sluice-plan\",\n"
    "  \"version\": 1,\n"
    "  \"file\": \"field.dat\",\n"
    "  \"size\": 100,\n"
    "  \"processes\": 2,\n"
    "  \"targets\": [\"d0\", \"d1\", \".\"],\n"
    "  \"groups\": [\n"
    "    {\"bytes\": \"{(0,9,30,3)}\", \"class\": \"private\", \"subfiles\": [0], \"at\": [0]},\n"
    "    {\"bytes\": \"{(10,14,5,1)}\", \"class\": \"replicated\", \"subfiles\": [0, 1], "
    "\"at\": [30, 2]},\n"
    "    {\"bytes\": \"{(15,16,2,1),(90,99,10,1)}\", \"class\": \"private\", \"subfiles\": [1], "
    "\"at\": [\"{(0,1,2,1),(7,16,10,1)}\"]},\n"
    "    {\"bytes\": \"{(20,24,5,1)}\", \"class\": \"shared\", \"subfiles\": [2], \"at\": [0]}\n"
    "  ]\n"
    "}\n";

static const char *folder;
static int cases;

static void keep(const char *name, const char *text, size_t len) {
    char path[512];
    if (!folder) return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (f) fwrite(text, 1, len, f), fclose(f);
}

/* error 0: must be accepted. */
static void judge(const char *name, const char *text, size_t len, int error, const char *message) {
    sluice_placement *p = NULL;
    sluice_reason why = {0};
    char *copy = malloc(len ? len : 1); /* of just its size, so that a sanitizer sees a read past its end */
    memcpy(copy, text, len);
    const int got = sluice_placement_parse(&p, copy, (int64_t)len, &why);
    free(copy);
    CHECK(got == error && !p == (got != 0), "%s: %d: %s", name, got, why.text);
    CHECK(!got || (why.error == got && !strncmp(why.text, "plan: ", 6) && strstr(why.text, message)), "%s: %s", name,
          why.text);
    sluice_placement_free(p);
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

static void lies_of_heads(void) {
    const int f = SLUICE_E_FORMAT, v = SLUICE_E_VERSION;
    change("", "sluice-plan", "sluice", f, "\"format\" is not");
    change("", "\"sluice-plan\"", "1", f, "\"format\" is not a string");
    change("", "  \"format\": \"sluice-plan\",\n", "", f, "\"format\" is missing");
    change("\"version\"", "1", "2", v, "version 2 of the format; this Sluice knows 1");
    change("\"version\"", "1", "0", f, "\"version\" is 0");
    change("\"version\"", "1", "\"1\"", f, "not a whole number");
    change("\"version\"", "1", "1.0", f, "not a whole number");
    change("\"version\"", "1", "1e99", f, "not a whole number");
    change("\"version\"", "1", "9223372036854775808", f, "byte");
    change("\"version\"", "1,", "1, \"version\": 1,", f, "duplicate");
    change("\"version\"", "1,", "1, \"requires\": [\"atoms\"],", v, "it requires \"atoms\"");
    change("\"version\"", "1,", "1, \"requires\": 3,", f, "not a list");
    change("\"version\"", "1,", "1, \"requires\": [3],", f, "not a string");
    change("\"version\"", "1,", "1, \"requires\": [], \"made\": {\"by\": [\"hand\"]},", 0, "");
    change("\"file\"", "\"field.dat\"", "\"\"", f, "\"file\" is no name");
    change("\"file\"", "\"field.dat\"", "7", f, "\"file\" is not a string");
    change("\"file\"", "\"field.dat\"", "null", f, "\"file\" is not a string");
    change("\"file\"", "field.dat", "field\\u0000.dat", f, "");
    change("\"file\"", "field.dat", "../../field\\n\\\"dat", 0, "");
    change("\"file\"", "field.dat", "\xff\xfe", f, "decode");
    change("\"size\"", "100", "99", f, "group 2 has byte 99; the file has 99");
    change("\"size\"", "100", "0", f, "group 0 has byte 69; the file has 0");
    change("\"size\"", "100", "-1", f, "\"size\" is -1");
    change("\"size\"", "100", "9223372036854775807", 0, "");
    change("\"size\"", "100", "\"100\"", f, "\"size\" is not a whole number");
    change("\"processes\"", "2", "0", f, "\"processes\" is 0; it is at least 1");
    change("\"processes\"", "2", "65536", f, "it is at most 65535");
    change("\"processes\"", "2", "1", f, "\"targets\" has 3 entries");
    change("\"processes\"", "2", "65535", f, "\"targets\" has 3 entries; it has at least 65536");
    change("\"targets\"", "\"d0\", ", "", f, "\"targets\" has 2 entries");
    change("\"targets\"", "\"d0\"", "\"d0\", \"d0\"", f, "\"targets\" has 4 entries");
    change("\"targets\"", "\"d0\"", "\"d1\"", 0, "");
    change("\"targets\"", "\"d0\"", "7", f, "name 0: no string");
    change("\"targets\"", "\"d0\"", "\"..\"", f, "name 0");
    change("\"targets\"", "\"d0\"", "\"a/b\"", f, "name 0");
    change("\"targets\"", "\"d0\"", "\"\"", f, "name 0");
    change("\"targets\"", "d0", "0123456789012345678901234567890123456789012345678901234567890123", f, "name 0");
    change("\"targets\"", "d0", "d\\u0000", f, "");
    change("\"targets\"", "[\"d0\", \"d1\", \".\"]", "{}", f, "\"targets\" is not a list");
    change("\"groups\"", "\"groups\"", "\"group\"", f, "\"groups\" is missing");
    change("\"groups\"", "[\n", "[[[[[[[[\n", f, "nested");
}

static void lies_of_groups(void) {
    const int f = SLUICE_E_FORMAT;
    change("[0]}", "[0]}", "[0]}, 7", f, "group 1 is not an object");
    change("\"groups\"", "\"bytes\": \"{(0,9,30,3)}\", ", "", f, "group 0, \"bytes\": no set");
    change("\"groups\"", "\"{(0,9,30,3)}\"", "7", f, "group 0, \"bytes\": no set");
    change("\"groups\"", "{(0,9,30,3)}", "{}", f, "group 0 has no bytes");
    change("\"groups\"", "{(0,9,30,3)}", "", f, "group 0, \"bytes\", byte 0");
    change("\"groups\"", "{(0,9,30,3)}", "{(0,9,30,3)", f, "group 0, \"bytes\", byte");
    change("\"groups\"", "{(0,9,30,3)}", "{(0,9,5,3)}", f, "group 0");
    change("\"groups\"", "{(0,9,30,3)}", "{(9,0,30,3)}", f, "group 0");
    change("\"groups\"", "{(0,9,30,3)}", "{(-1,9,30,3)}", f, "group 0");
    change("\"groups\"", "{(0,9,30,3)}", "{(0,9,30,0)}", f, "group 0");
    change("\"groups\"", "{(0,9,30,3)}", "{(0,9,30,9223372036854775807)}", f, "group 0");
    change("\"groups\"", "{(0,9,30,3)}", "{(0,9223372036854775807,30,1)}", f, "group 0");
    change("\"groups\"", "{(0,9,30,3)}", "{(0,9,30,3)}\\u0000", f, "");
    change("\"groups\"", "{(0,9,30,3)}", "{(0,9,30,4)}", f, "two groups have the same bytes of the file");
    change("\"groups\"", "{(0,9,30,3)}", "{(0,10,30,3)}", f, "two groups have the same bytes of the file");
    change("\"groups\"", "{(0,9,30,3)}", "{(0,8,30,3)}", f, "subfile 0 has a gap: 32 bytes up to byte 34");
    change("\"groups\"", "{(0,9,30,3)}", "{(0,9,30,3,{(0,0,2,5)})}", f, "subfile 0 has a gap");
    change("\"groups\"", "{(0,9,30,3)}", "{(0,9,30,3,{(0,0,2,6)})}", f, "group 0");
    change("\"groups\"", "{(0,9,30,3)}", "{(0,9,30,3,{(0,9,10,1,{(0,9,10,1,{})})})}", 0, "");
    change("\"groups\"", "\"private\"", "\"Private\"", f, "no class \"Private\"");
    change("\"groups\"", "\"private\"", "\"\"", f, "no class");
    change("\"groups\"", "\"private\"", "0", f, "group 0: \"class\" is not a string");
    change("\"groups\"", "\"private\"", "\"replicated\"", f, "group 0 is replicated and has 1 subfile");
    change("\"groups\"", "\"private\"", "\"shared\"", f, "group 0 is shared and names subfile 0");
    change("\"groups\"", "\"replicated\"", "\"broadcast\"", 0, "");
    change("\"groups\"", "\"replicated\"", "\"private\"", f, "group 1 is private and has 2 subfiles");
    change("\"groups\"", "\"replicated\"", "\"shared\"", f, "group 1 is shared and has 2 subfiles");
    change("\"groups\"", "\"subfiles\": [0]", "\"subfiles\": []", f, "at least 1");
    change("\"groups\"", "\"subfiles\": [0]", "\"subfiles\": 0", f, "not a list");
    change("\"groups\"", "\"subfiles\": [0]", "\"subfiles\": [1]", f, "subfile 0 has a gap");
    change("\"groups\"", "\"subfiles\": [0]", "\"subfiles\": [2]", f, "names subfile 2 of 2 processes");
    change("\"groups\"", "\"subfiles\": [0]", "\"subfiles\": [3]", f, "names subfile 3 of 2 processes");
    change("\"groups\"", "\"subfiles\": [0]", "\"subfiles\": [-1]", f, "no number of a subfile");
    change("\"groups\"", "\"subfiles\": [0]", "\"subfiles\": [4294967296]", f, "no number of a subfile");
    change("\"groups\"", "\"subfiles\": [0]", "\"subfiles\": [\"0\"]", f, "no number of a subfile");
    change("\"groups\"", "\"subfiles\": [0]", "\"subfiles\": [0, 1]", f, "2 subfiles, but lies at 1 places");
    change("replicated", "[0, 1]", "[0, 0]", f, "names subfile 0 twice");
    change("replicated", "[0, 1]", "[1, 0]", f, "");
    change("replicated", "[0, 1], \"at\": [30, 2]", "[1, 0], \"at\": [2, 30]", 0, "");
    change("replicated", "[30, 2]", "[30]", f, "2 subfiles, but lies at 1 places");
    change("replicated", "[30, 2]", "[29, 2]", f, "lie at the same place in subfile 0");
    change("replicated", "[30, 2]", "[31, 2]", f, "subfile 0 has a gap");
    change("replicated", "[30, 2]", "[30, -2]", f, "-2 is no offset for 5 bytes");
    change("replicated", "[30, 2]", "[30, 9223372036854775807]", f, "no offset for 5 bytes");
    change("replicated", "[30, 2]", "[30, 9223372036854775802]", f, "subfile 1 has a gap");
    change("replicated", "[30, 2]", "[30, 2.0]", f, "group 1, \"at\": no set");
    change("replicated", "[30, 2]", "[30, \"{}\"]", f, "group 1 has 5 bytes, but 0 in subfile 1");
    change("replicated", "[30, 2]", "[30, \"{2-6}\"]", 0, "");
    change("replicated", "[30, 2]", "[30, \"{2-7}\"]", f, "group 1 has 5 bytes, but 6 in subfile 1");
    change("replicated", "[30, 2]", "[30, \"{(2,2,2,5)}\"]", f, "lie at the same place in subfile 1");
    change("replicated", "[30, 2]", "30", f, "\"at\" is not a list");
    change("replicated", ", \"at\": [30, 2]", "", f, "\"at\" is missing");
    change("shared\"", "[2]", "[1]", f, "group 3 is shared and names subfile 1 of 2 processes");
    change("shared\"", "[0]", "[1]", f, "subfile 2 has a gap: 5 bytes up to byte 5");
    change("shared\"", "[2], \"at\": [0]}", "[2], \"at\": [0]},", f, "byte");
    change("shared\"", "shared", "broadcast", f, "group 3 is broadcast and has 1 subfile");
    change("{(20", "{(20,24,5,1)}", "{(20,24,5,1000000000000)}", f, "the file has 100");
}

/* What would take long, or much memory, if it were believed. */
static void giants(void) {
    static char text[1 << 20];
    static const char head[] = "{\"format\": \"sluice-plan\", \"version\": 1, \"file\": \"f\", \"size\": "
                               "9000000000000000000, \"processes\": 1, \"targets\": [\".\", \".\"], \"groups\": [";
    size_t n = (size_t)sprintf(text, "%s", head);
    n +=
        (size_t)sprintf(text + n, "{\"bytes\": \"{(0,0,1000003,1000000)}\", \"class\": \"private\", \"subfiles\": [0], "
                                  "\"at\": [0]},");
    n +=
        (size_t)sprintf(text + n, "{\"bytes\": \"{(1,1,1000033,1000000)}\", \"class\": \"private\", \"subfiles\": [0], "
                                  "\"at\": [1000000]}]}");
    judge("drift", text, n, SLUICE_E_COMPLEX, "the bytes of all groups");
    keep("drift", text, n);
    n = (size_t)sprintf(text, "%s", head);
    while (n < sizeof text - 8) n += (size_t)sprintf(text + n, "[],");
    judge("empty groups", text, n, SLUICE_E_FORMAT, "");
    memset(text, '[', sizeof text);
    judge("brackets", text, sizeof text, SLUICE_E_FORMAT, "nested");
    memset(text, ',', sizeof text);
    judge("commas", text, sizeof text, SLUICE_E_FORMAT, "more than 524288 values");
    char *large = malloc(SLUICE_MAX_PLAN + 1);
    memset(large, ' ', SLUICE_MAX_PLAN + 1);
    judge("blanks", large, SLUICE_MAX_PLAN + 1, SLUICE_E_FORMAT, "more than 16777216 bytes");
    free(large);
    judge("nothing", "", 0, SLUICE_E_FORMAT, "byte");
    judge("a list", "[]", 2, SLUICE_E_FORMAT, "not an object");
    for (size_t cut = 0; cut < sizeof good - 2; cut++) judge("cut", good, cut, SLUICE_E_FORMAT, "byte");
}

/* What is written is the same as what was read, and says what it says. */
static void there_and_back(void) {
    sluice_placement *p = NULL, *again = NULL;
    sluice_set rest = SLUICE_SET_EMPTY, said = SLUICE_SET_EMPTY;
    char *text = NULL, *twice = NULL;
    int64_t len = 0, len2 = 0;
    CHECK(!sluice_placement_parse(&p, good, (int64_t)strlen(good), NULL));
    CHECK(!sluice_placement_format(p, &text, &len, NULL));
    CHECK(len == (int64_t)strlen(good) && !memcmp(text, good, (size_t)len), "%.*s", (int)len, text);
    CHECK(!sluice_placement_parse(&again, text, len, NULL) && !sluice_placement_format(again, &twice, &len2, NULL));
    CHECK(len == len2 && !memcmp(text, twice, (size_t)len));
    CHECK(!sluice_placement_rest(&rest, p) && !sluice_set_parse(&said, "{17-19,25-29,40-59,70-89}", NULL));
    CHECK(sluice_set_equal(&rest, &said) == 1);
    CHECK(sluice_placement_bytes(p, 0) == 35 && sluice_placement_bytes(p, 1) == 17 &&
          sluice_placement_bytes(p, 2) == 5);
    sluice_set_free(&rest);
    sluice_set_free(&said);
    sluice_mem_free(text);
    sluice_mem_free(twice);
    sluice_placement_free(p);
    sluice_placement_free(again);
    keep("good", good, strlen(good));
}

/* Each allocation fails in turn: reading, writing, asking for the rest. */
static void no_memory(void) {
    int error = -ENOMEM;
    int64_t n;
    for (n = 1; error && n < 1000; n++) {
        sluice_placement *p = NULL;
        sluice_set rest = SLUICE_SET_EMPTY;
        char *text = NULL;
        int64_t len;
        sluice_reason why = {0};
        sluice_mem_fail_nth(n);
        error = sluice_placement_parse(&p, good, (int64_t)strlen(good), &why);
        if (!error) error = sluice_placement_format(p, &text, &len, &why);
        if (!error) error = sluice_placement_rest(&rest, p);
        sluice_mem_fail_nth(0);
        CHECK(error == 0 || error == -ENOMEM, "request %" PRId64 ": %d %s", n, error, why.text);
        sluice_mem_free(text);
        sluice_set_free(&rest);
        sluice_placement_free(p);
        CHECK(sluice_mem_live() == 0, "request %" PRId64 " leaks", n);
    }
    CHECK(error == 0 && n > 20, "after %" PRId64, n);
}

int main(int argc, char **argv) {
    folder = argc > 1 ? argv[1] : NULL;
    judge("good", good, strlen(good), 0, "");
    there_and_back();
    lies_of_heads();
    lies_of_groups();
    giants();
    no_memory();
    printf("%d plan files\n", cases);
    return verdict();
}
