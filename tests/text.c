/* ranks: 1 */
/* text.c: the text form: what is read, what is refused and where, what is printed. */
#include "base/base.h"
#include "sluice_set.h"
#include "support/oracle.h"
#include "support/random.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>

static void check_print(const sluice_set *s, const char *expected) {
    char buf[512];
    int64_t len = sluice_set_print(s, buf, sizeof buf);
    CHECK(len == (int64_t)strlen(expected), "%s: length %lld", expected, (long long)len);
    CHECK(!strcmp(buf, expected), "expected %s, got %s", expected, buf);
}

/* What is read, and how it is printed. */
static void test_good(void) {
    static const struct {
        const char *text, *printed;
        int64_t size;
    } good[] = {
        {"{}", "{}", 0},
        {" \t\n\v\f\r{ \t\n\v\f\r} \t\n\v\f\r", "{}", 0},
        {"{(3,5,6,4)}", "{(3,5,6,4)}", 12},
        {"(3,5,6,4)", "{(3,5,6,4)}", 12},
        {"0-0", "{(0,0,1,1)}", 1},
        {" 7 - 9 ", "{(7,9,3,1)}", 3},
        {"{7-9}", "{(7,9,3,1)}", 3},
        {"{7-9,20-21}", "{(7,9,3,1),(20,21,2,1)}", 5},
        {"{(7,9,-4,1)}", "{(7,9,3,1)}", 3},
        {"{(007,9,3,01)}", "{(7,9,3,1)}", 3},
        {"{(0,3,8,2,{})}", "{(0,3,8,2)}", 8},
        {"{(0,3,8,2,{ })}", "{(0,3,8,2)}", 8},
        {"{(0,3,8,2,{(0,0,2,2)})}", "{(0,2,8,2,{(0,0,2,2)})}", 4},
        {"{ ( 0 , 3 , 8 , 2 , { ( 0 , 0 , 2 , 2 ) } ) }", "{(0,2,8,2,{(0,0,2,2)})}", 4},
        {"{(0,15,32,2,{(0,3,8,2,{(0,0,2,2)})})}", "{(0,10,32,2,{(0,2,8,2,{(0,0,2,2)})})}", 8},
        {"{(0,15,32,2,{0-1,(4,4,2,3)})}", "{(0,8,32,2,{(0,1,2,1),(4,4,2,3)})}", 10},
        {"{20-29,(0,3,8,2)}", "{(0,3,8,2),(20,29,10,1)}", 18},
        {"0-9223372036854775806", "{(0,9223372036854775806,9223372036854775807,1)}", INT64_MAX},
        {"(0,0,4611686018427387903,3)", "{(0,0,4611686018427387903,3)}", 3},
    };
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_reason why;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int error = sluice_set_parse(&s, good[i].text, &why);
        CHECK(!error, "%s: %s", good[i].text, why.text);
        if (error) continue;
        CHECK(s.size == good[i].size, "%s: size %lld", good[i].text, (long long)s.size);
        CHECK(!sluice_set_check(&s, &why), "%s: %s", good[i].text, why.text);
        check_print(&s, good[i].printed);
        CHECK(!sluice_set_parse(&s, good[i].text, NULL), "%s", good[i].text);
    }
    sluice_set_free(&s);
}

/* What is refused, with the error, the position and the sentence. */
static void test_bad(void) {
    static const struct {
        const char *text;
        int error, pos;
        const char *why;
    } bad[] = {
        {"", SLUICE_E_SYNTAX, 0, "expected '{', a family or a segment"},
        {"  ", SLUICE_E_SYNTAX, 2, "expected '{', a family or a segment"},
        {"x", SLUICE_E_SYNTAX, 0, "expected '{', a family or a segment"},
        {"}", SLUICE_E_SYNTAX, 0, "expected '{', a family or a segment"},
        {"{", SLUICE_E_SYNTAX, 1, "expected a family or a segment"},
        {"{ ,", SLUICE_E_SYNTAX, 2, "expected a family or a segment"},
        {"{{}}", SLUICE_E_SYNTAX, 1, "expected a family or a segment"},
        {"{0-1,}", SLUICE_E_SYNTAX, 5, "expected a family or a segment"},
        {"{0-1", SLUICE_E_SYNTAX, 4, "expected ',' or '}' after a family"},
        {"{0-1 2-3}", SLUICE_E_SYNTAX, 5, "expected ',' or '}' after a family"},
        {"{(0,1,2,3))", SLUICE_E_SYNTAX, 10, "expected ',' or '}' after a family"},
        {"{} {}", SLUICE_E_SYNTAX, 3, "expected the end of the text"},
        {"0-1,2-3", SLUICE_E_SYNTAX, 3, "expected the end of the text"},
        {"0", SLUICE_E_SYNTAX, 1, "expected '-' after the left bound of a segment"},
        {"{0 1}", SLUICE_E_SYNTAX, 3, "expected '-' after the left bound of a segment"},
        {"0-", SLUICE_E_SYNTAX, 2, "expected a number"},
        {"-", SLUICE_E_SYNTAX, 1, "expected a number"},
        {"- 1-2", SLUICE_E_SYNTAX, 2, "expected a number"},
        {"(", SLUICE_E_SYNTAX, 1, "expected a number"},
        {"()", SLUICE_E_SYNTAX, 1, "expected a number"},
        {"(0x1,2,3,4)", SLUICE_E_SYNTAX, 2, "expected ',' after the left bound"},
        {"(0 1", SLUICE_E_SYNTAX, 3, "expected ',' after the left bound"},
        {"(0,", SLUICE_E_SYNTAX, 3, "expected a number"},
        {"(0,3)", SLUICE_E_SYNTAX, 4, "expected ',' after the right bound"},
        {"(0,3,+8,2)", SLUICE_E_SYNTAX, 5, "expected a number"},
        {"(0,3,8)", SLUICE_E_SYNTAX, 6, "expected ',' after the stride"},
        {"(0,3,8.,2)", SLUICE_E_SYNTAX, 6, "expected ',' after the stride"},
        {"(0,3,8,)", SLUICE_E_SYNTAX, 7, "expected a number"},
        {"(0,3,8,2", SLUICE_E_SYNTAX, 8, "expected ',' or ')' after the number of blocks"},
        {"(0,3,8,2}", SLUICE_E_SYNTAX, 8, "expected ',' or ')' after the number of blocks"},
        {"(0,3,8,2,)", SLUICE_E_SYNTAX, 9, "expected '{' of the inner list"},
        {"(0,3,8,2, 0-1)", SLUICE_E_SYNTAX, 10, "expected '{' of the inner list"},
        {"(0,3,8,2,{}", SLUICE_E_SYNTAX, 11, "expected ')' after the inner list"},
        {"(0,3,8,2,{0-1},5)", SLUICE_E_SYNTAX, 14, "expected ')' after the inner list"},
        {"{0-1, 9223372036854775808-3}", SLUICE_E_SYNTAX, 6, "number of more than 64 bits"},
        {"(-9223372036854775809,0,1,1)", SLUICE_E_SYNTAX, 1, "number of more than 64 bits"},
        {"(0,99999999999999999999999,1,1)", SLUICE_E_SYNTAX, 3, "number of more than 64 bits"},
        {"{0-1, (5,4,8,2)}", SLUICE_E_BLOCK, 6, "r = 4 < l = 5: the block ends before it starts"},
        {"{0-1, 5-4}", SLUICE_E_BLOCK, 6, "r = 4 < l = 5: the block ends before it starts"},
        {"5--4", SLUICE_E_BLOCK, 0, "r = -4 < l = 5: the block ends before it starts"},
        {" -5-4", SLUICE_E_ARGUMENT, 1, "l = -5 < 0: the block starts before 0"},
        {"{(-9223372036854775808,9223372036854775807,1,1)}", SLUICE_E_ARGUMENT, 1,
         "l = -9223372036854775808 < 0: the block starts before 0"},
        {"{(0,3,8,0)}", SLUICE_E_COUNT, 1, "n = 0 < 1: a family without blocks"},
        {"{(0,3,8,-2)}", SLUICE_E_COUNT, 1, "n = -2 < 1: a family without blocks"},
        {"{(0,3,3,2)}", SLUICE_E_STEP, 1, "stride 3 < block of 4 bytes: the blocks overlap"},
        {"{(0,3,-8,2)}", SLUICE_E_STEP, 1, "stride -8 < block of 4 bytes: the blocks overlap"},
        {"{(0,3,8,2,{(0,0,2,3)})}", SLUICE_E_INNER, 11, "the inner family leaves its block of 4 bytes"},
        {"{(0,3,8,2,{0-0,3-4})}", SLUICE_E_INNER, 15, "the inner family leaves its block of 4 bytes"},
        {"{(0,3,8,2,{(-1,0,2,2)})}", SLUICE_E_ARGUMENT, 11, "l = -1 < 0: the block starts before 0"},
        {"{(0,3,8,2,{(0,0,4,9223372036854775807)})}", SLUICE_E_INNER, 11,
         "the inner family leaves its block of 4 bytes"},
        {"{(0,3,8,2,{(0,9223372036854775807,8,2)})}", SLUICE_E_INNER, 11,
         "the inner family leaves its block of 4 bytes"},
        {"{(0,3,8,2,{(0,1,1,2)})}", SLUICE_E_STEP, 11, "stride 1 < block of 2 bytes: the blocks overlap"},
        {"{(0,15,16,2,{(0,7,8,2,{2-1})})}", SLUICE_E_BLOCK, 23, "r = 1 < l = 2: the block ends before it starts"},
        {"0-9223372036854775807", SLUICE_E_OVERFLOW, 0, "the family passes 2^63-1"},
        {"{0-1,(0,0,9223372036854775807,2)}", SLUICE_E_OVERFLOW, 5, "the family passes 2^63-1"},
        {"{(0,0,2,9223372036854775807)}", SLUICE_E_OVERFLOW, 1, "the family passes 2^63-1"},
        {" {0-3,3-4}", SLUICE_E_OVERLAP, 1, NULL},
        {"{(0,1,4,5),(3,3,5,2)}", SLUICE_E_OVERLAP, 0, NULL},
        {"{(0,7,8,2,{0-3,3-4})}", SLUICE_E_OVERLAP, 10, NULL},
        {"{(0,7,8,2,{0-3,4-5}),(16,31,16,1,{(0,7,8,2,{1-1, 1-1})})}", SLUICE_E_OVERLAP, 43, NULL},
        {"{(0,7,8,2,{0-3,4-5}),(8,15,8,1,{0-0})}", SLUICE_E_OVERLAP, 0, NULL},
    };
    sluice_set s = SLUICE_SET_EMPTY;
    CHECK(!sluice_set_block(&s, 3, 4), "block");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sluice_reason why = {0};
        int error = sluice_set_parse(&s, bad[i].text, &why);
        CHECK(error == bad[i].error, "%s: %d", bad[i].text, error);
        CHECK(why.error == bad[i].error, "%s: %d", bad[i].text, why.error);
        CHECK(why.pos == bad[i].pos, "%s: position %lld, expected %d", bad[i].text, why.pos, bad[i].pos);
        CHECK(why.text[0], "%s", bad[i].text);
        CHECK(!bad[i].why || !strcmp(why.text, bad[i].why), "%s: '%s'", bad[i].text, why.text);
        CHECK(sluice_set_parse(&s, bad[i].text, NULL) == bad[i].error, "%s", bad[i].text);
        check_print(&s, "{(3,6,4,1)}");
    }
    sluice_set_free(&s);
}

/* 64 lists may nest, 65 may not; a text of nothing but braces ends in time. */
static void test_depth(void) {
    static char text[1 << 20];
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_reason why;
    for (int depth = 1; depth <= 70; depth++) {
        char *p = text;
        for (int i = 1; i < depth; i++) p += sprintf(p, "{(0,9,10,1,");
        p += sprintf(p, "{4-5}");
        for (int i = 1; i < depth; i++) p += sprintf(p, ")}");
        int error = sluice_set_parse(&s, text, &why);
        CHECK(error == (depth <= SLUICE_MAX_DEPTH ? 0 : SLUICE_E_SYNTAX), "depth %d: %d", depth, error);
        if (error) CHECK(why.pos == 11 * SLUICE_MAX_DEPTH, "depth %d: %lld", depth, why.pos);
    }
    check_print(&s, "{(4,5,2,1)}");
    sluice_set_free(&s);
    for (const char *c = "{(-0"; *c; c++) {
        memset(text, *c, sizeof text - 1);
        sluice_mem_peak_reset();
        CHECK(sluice_set_parse(&s, text, &why) == SLUICE_E_SYNTAX, "a megabyte of %c", *c);
        CHECK(sluice_mem_peak() <= 64 * (int64_t)sizeof text, "%lld bytes", (long long)sluice_mem_peak());
    }
}

/* Every cap: the text is cut, closed, and nothing is written past it. */
static void test_cap(void) {
    static const char text[] = "{(0,2,8,2,{(0,0,2,2)}),(100,199,100,1)}";
    sluice_set s = SLUICE_SET_EMPTY;
    CHECK(!sluice_set_parse(&s, text, NULL), "parse");
    CHECK(sluice_set_print(&s, NULL, 0) == sizeof text - 1, "without a buffer");
    for (size_t cap = 1; cap < sizeof text + 3; cap++) {
        char buf[sizeof text + 4];
        memset(buf, '#', sizeof buf);
        CHECK(sluice_set_print(&s, buf, cap) == sizeof text - 1, "cap %zu", cap);
        size_t kept = cap < sizeof text ? cap - 1 : sizeof text - 1;
        CHECK(!memcmp(buf, text, kept) && buf[kept] == 0, "cap %zu", cap);
        CHECK(buf[cap] == '#', "cap %zu", cap);
    }
    sluice_set_free(&s);
}

/* Random lists: the text says the same as the list, and print and parse are inverse. */
static void test_random(void) {
    enum { EXTENT = 200 };
    static char text[1 << 16], again[1 << 16];
    static grove g;
    uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    printf("seed %llu\n", (unsigned long long)seed);
    chance c = {0};
    for (int i = 0; i < 3000; i++) {
        chance_seed(&c, seed + (uint64_t)i);
        g.nfalls = g.nlists = g.hollow = 0;
        const sluice_falls_list *list = grove_grow(&g, &c, EXTENT, 3);
        if (g.hollow) continue;
        sluice_set a = SLUICE_SET_EMPTY, b = SLUICE_SET_EMPTY;
        sluice_reason why;
        oracle o;
        oracle_init(&o, EXTENT);
        CHECK(oracle_list(&o, list), "case %d", i);
        CHECK(!sluice_set_parse(&a, grove_text(list, text, sizeof text), &why), "%s: %s", text, why.text);
        CHECK(!sluice_set_check(&a, &why), "%s: %s", text, why.text);
        bool same = a.size == oracle_size(&o);
        for (int64_t x = 0; x < EXTENT; x++) same &= sluice_set_contains(&a, x) == oracle_contains(&o, x);
        CHECK(same, "%s", text);
        CHECK(sluice_set_print(&a, text, sizeof text) < (int64_t)sizeof text, "case %d", i);
        CHECK(!sluice_set_parse(&b, text, &why), "%s: %s", text, why.text);
        CHECK(sluice_set_equal(&a, &b) == 1, "%s", text);
        sluice_set_print(&b, again, sizeof again);
        CHECK(!strcmp(text, again), "%s became %s", text, again);
        sluice_set_free(&a);
        sluice_set_free(&b);
        oracle_free(&o);
    }
    chance_free(&c);
}

/* Each allocation fails once: an error, nothing changed, nothing leaked. */
static void test_memory(void) {
    static const char *const text[] = {"{}", "{20-29,(0,3,8,2)}", "{(0,15,32,9,{(0,3,8,2,{(0,0,2,2)}),5-6})}",
                                       "{(0,7,8,2,{0-3,3-4})}"};
    sluice_set s = SLUICE_SET_EMPTY;
    CHECK(!sluice_set_block(&s, 3, 4), "block");
    int64_t live = sluice_mem_live();
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        int error = -ENOMEM;
        for (int n = 1; error == -ENOMEM; n++) {
            sluice_reason why = {0};
            sluice_set out = SLUICE_SET_EMPTY;
            CHECK(!sluice_set_copy(&out, &s), "copy");
            sluice_mem_fail_nth(n);
            error = sluice_set_parse(&out, text[i], &why);
            sluice_mem_fail_nth(0);
            CHECK(n > 1 || error == -ENOMEM, "%s: no allocation", text[i]);
            if (error) check_print(&out, "{(3,6,4,1)}");
            if (error) CHECK(why.error == error && why.text[0], "%s: reason %d '%s'", text[i], why.error, why.text);
            sluice_set_free(&out);
            CHECK(sluice_mem_live() == live, "%s: %lld bytes leaked", text[i], (long long)(sluice_mem_live() - live));
        }
        CHECK(error == (i == 3 ? SLUICE_E_OVERLAP : 0), "%s: %d", text[i], error);
    }
    sluice_set_free(&s);
}

int main(void) {
    test_good();
    test_bad();
    test_depth();
    test_cap();
    test_random();
    test_memory();
    return verdict();
}
