/* ranks: 1 */
/* wire.c: the wire form: exact bytes, inverse of each other, every damage refused or harmless, memory bounded; and
 * the check of finished sets that stands behind it. */
#include "base/base.h"
#include "set/set.h"
#include "support/oracle.h"
#include "support/random.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>

/* Bytes that a caller must provide for a set that takes len bytes: nodes of 64 bytes, three bytes each at least. */
static int64_t bound(size_t len) { return 64 * ((int64_t)len / 3 + 1); }

static sluice_set parse(const char *text) {
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_reason why;
    int error = sluice_set_parse(&s, text, &why);
    CHECK(!error, "%s: %s", text, why.text);
    return s;
}

/* A copy of just that length, so that a sanitizer sees a read past it. */
static unsigned char *fit(const void *bytes, size_t len) {
    unsigned char *copy = test_resize(NULL, len ? len : 1);
    memcpy(copy, bytes, len);
    return copy;
}

/* Unpacks foreign bytes: the error, after checking what holds for all bytes. The set stays as it was on failure. */
static int unpack(const void *bytes, size_t len, sluice_reason *why) {
    unsigned char *form = fit(bytes, len);
    sluice_set s = parse("3-6"), t = SLUICE_SET_EMPTY;
    size_t used = 4711;
    int64_t live = sluice_mem_live();
    *why = (sluice_reason){0};
    sluice_mem_peak_reset();
    int error = sluice_set_unpack(&s, form, len, NULL, why);
    CHECK(sluice_mem_peak() - live <= bound(len), "%lld bytes for %zu", (long long)(sluice_mem_peak() - live), len);
    CHECK(error == sluice_set_unpack(&t, form, len, NULL, NULL), "with and without a reason");
    if (error) {
        CHECK(error == SLUICE_E_FORMAT || error == SLUICE_E_VERSION, "%d", error);
        CHECK(why->error == error && why->text[0], "%d '%s'", why->error, why->text);
        CHECK(why->pos >= 0 && why->pos <= (long long)len, "position %lld of %zu", why->pos, len);
        CHECK(s.size == 4 && sluice_set_lo(&s) == 3 && t.node == NULL, "a failure changes the set");
        CHECK(sluice_mem_live() == live, "a failure leaks");
    } else {
        unsigned char *again = test_resize(NULL, len);
        CHECK(!sluice_set_check(&s, NULL), "an invalid set");
        CHECK(sluice_set_pack(&s, again, len) == (int64_t)len && !memcmp(form, again, len), "not canonical");
        CHECK(!sluice_set_unpack(&t, form, len, &used, NULL) && used == len, "used %zu", used);
        CHECK(sluice_set_rank(&s, INT64_MAX) == s.size, "rank at the end");
        free(again);
    }
    sluice_set_free(&s);
    sluice_set_free(&t);
    free(form);
    return error;
}

/* Forms byte by byte, as docs/FORMAT.md says. */
static const struct {
    const char *text, *form;
    size_t len;
} exact[] = {
    {"{}", "\xFA\x01\0", 3},
    {"0-0", "\xFA\x01\1\0\0\0", 6},
    {"300-1299", "\xFA\x01\1\0\xAC\2\xE7\7", 8},
    {"{(3,5,6,4)}", "\xFA\x01\1\1\3\2\2\2", 8},
    {"{(0,2,8,2,{(0,0,2,2)})}", "\xFA\x01\2\2\0\5\0\1\0\0\0\0", 12},
    {"{0-1,(4,4,2,3)}", "\xFA\x01\2\0\0\1\1\2\0\0\1", 11},
    {"{1-1,(16,31,32,2,{0-1,(4,4,2,5)}),(100,110,20,2,{0-3,10-10}),200-201}",
     "\xFA\x01\x08"
     "\0\1\0\3\016\023\0\3\x27\011\0\0\x45\1" /* the roots */
     "\0\0\1\1\2\0\0\3"                       /* list of the second */
     "\0\0\3\0\6\0",                          /* list of the third */
     31},
    {"0-9223372036854775806", "\xFA\x01\1\0\0\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F", 14},
};

static void test_exact(void) {
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        sluice_set s = parse(exact[i].text), t = SLUICE_SET_EMPTY;
        unsigned char buf[64];
        sluice_reason why;
        int64_t len = sluice_set_pack(&s, buf, sizeof buf);
        CHECK(len == (int64_t)exact[i].len, "%s: %lld bytes", exact[i].text, (long long)len);
        CHECK(!memcmp(buf, exact[i].form, exact[i].len), "%s: other bytes", exact[i].text);
        CHECK(!unpack(exact[i].form, exact[i].len, &why), "%s: %s", exact[i].text, why.text);
        CHECK(!sluice_set_unpack(&t, exact[i].form, exact[i].len, NULL, NULL), "%s", exact[i].text);
        CHECK(sluice_set_equal(&s, &t) == 1, "%s", exact[i].text);
        CHECK(s.nnode == t.nnode && s.nroot == t.nroot && s.size == t.size, "%s", exact[i].text);
        CHECK(s.nnode == 0 || !memcmp(s.node, t.node, (size_t)s.nnode * sizeof *s.node), "%s: nodes", exact[i].text);
        sluice_set_free(&s);
        sluice_set_free(&t);
    }
}

/* Every cap: nothing is written past it, and the length is told. */
static void test_cap(void) {
    sluice_set s = parse("{(0,2,8,2,{(0,0,2,2)}),(1000,1999,1000,1)}");
    unsigned char whole[32], buf[33];
    int64_t len = sluice_set_pack(&s, whole, sizeof whole);
    CHECK(sluice_set_pack(&s, NULL, 0) == len, "without a buffer");
    for (size_t cap = 0; cap < sizeof whole; cap++) {
        memset(buf, 0xEE, sizeof buf);
        CHECK(sluice_set_pack(&s, buf, cap) == len, "cap %zu", cap);
        CHECK(cap < (size_t)len || !memcmp(buf, whole, (size_t)len), "cap %zu", cap);
        CHECK(buf[cap] == 0xEE, "cap %zu", cap);
    }
    sluice_set_free(&s);
}

/* A form inside longer bytes. */
static void test_used(void) {
    sluice_set s = parse("{(0,2,8,2,{(0,0,2,2)})}"), t = SLUICE_SET_EMPTY;
    unsigned char buf[32] = {0};
    size_t used = 0;
    sluice_reason why;
    size_t len = (size_t)sluice_set_pack(&s, buf, sizeof buf);
    CHECK(!sluice_set_unpack(&t, buf, sizeof buf, &used, &why), "%s", why.text);
    CHECK(used == len, "used %zu", used);
    CHECK(sluice_set_equal(&s, &t) == 1, "equal");
    used = 4711;
    CHECK(sluice_set_unpack(&t, buf, sizeof buf, NULL, &why) == SLUICE_E_FORMAT, "bytes after the form");
    CHECK(why.pos == (long long)len, "position %lld", why.pos);
    CHECK(sluice_set_unpack(&t, buf, len - 1, &used, &why) == SLUICE_E_FORMAT && used == 4711, "used on failure");
    sluice_set_free(&s);
    sluice_set_free(&t);
}

/* Damaged forms, each with the place and the sentence. */
static void test_bad(void) {
#define MAX63 "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"
    static const struct {
        const char *form;
        size_t len;
        int error, pos;
        const char *why;
    } bad[] = {
        {"", 0, SLUICE_E_FORMAT, 0, "not the wire form of a set"},
        {"\xFB\x01\0", 3, SLUICE_E_FORMAT, 0, "not the wire form of a set"},
        {"{}", 2, SLUICE_E_FORMAT, 0, "not the wire form of a set"},
        {"\xFA", 1, SLUICE_E_FORMAT, 1, "not a version of the wire form"},
        {"\xFA\0\0", 3, SLUICE_E_FORMAT, 1, "not a version of the wire form"},
        {"\xFA\x02\0", 3, SLUICE_E_VERSION, 1, "wire form of version 2, known are versions up to 1"},
        {"\xFA\xFF", 2, SLUICE_E_VERSION, 1, "wire form of version 255, known are versions up to 1"},
        {"\xFA\x01", 2, SLUICE_E_FORMAT, 2, "wire form ends too early"},
        {"\xFA\x01\x80", 3, SLUICE_E_FORMAT, 2, "wire form ends too early"},
        {"\xFA\x01\x80\0", 4, SLUICE_E_FORMAT, 2, "wire form has a number with more bytes than it needs"},
        {"\xFA\x01\x81\x80\0", 5, SLUICE_E_FORMAT, 2, "wire form has a number with more bytes than it needs"},
        {"\xFA\x01" MAX63, 11, SLUICE_E_FORMAT, 2, "wire form claims 9223372036854775807 families in 0 bytes"},
        {"\xFA\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\1", 12, SLUICE_E_FORMAT, 2,
         "wire form has a number of more than 63 bits"},
        {"\xFA\x01\1", 3, SLUICE_E_FORMAT, 2, "wire form claims 1 families in 0 bytes"},
        {"\xFA\x01\2\0\0\0\0\0", 8, SLUICE_E_FORMAT, 2, "wire form claims 2 families in 5 bytes"},
        {"\xFA\x01\0\0", 4, SLUICE_E_FORMAT, 3, "wire form ends before the last byte"},
        {"\xFA\x01\1\0\0\0\0", 7, SLUICE_E_FORMAT, 6, "wire form ends before the last byte"},
        {"\xFA\x01\1\0\0\x80\0", 7, SLUICE_E_FORMAT, 5, "wire form has a number with more bytes than it needs"},
        {"\xFA\x01\1\1\0\0\0", 7, SLUICE_E_FORMAT, 7, "wire form ends too early"},
        {"\xFA\x01\1\0\0" MAX63, 14, SLUICE_E_FORMAT, 3, "wire form has a family that passes 2^63-1"},
        {"\xFA\x01\1\1\0\0" MAX63 "\0", 16, SLUICE_E_FORMAT, 3, "wire form has a family that passes 2^63-1"},
        {"\xFA\x01\1\1\0\0\0" MAX63, 16, SLUICE_E_FORMAT, 3, "wire form has a family that passes 2^63-1"},
        {"\xFA\x01\2\0\0\0\0\0" MAX63, 17, SLUICE_E_FORMAT, 6, "wire form has a family that passes 2^63-1"},
        {"\xFA\x01\1\0" MAX63 "\0", 14, SLUICE_E_FORMAT, 3, "family 0 passes 2^63-1"},
        {"\xFA\x01\2\0\0\1\0\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F\0", 17, SLUICE_E_FORMAT, 6, "family 1 passes 2^63-1"},
        {"\xFA\x01\1\1\0\0\0\xFD\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F", 16, SLUICE_E_FORMAT, 3, "family 0 passes 2^63-1"},
        {"\xFA\x01\2\2\0" MAX63 "\0\1\0\0\0\0", 20, SLUICE_E_FORMAT, 3, "family 0 passes 2^63-1"},
        {"\xFA\x01\2\2\0\0\0\0" MAX63 "\0", 18, SLUICE_E_FORMAT, 7, "family 1 passes 2^63-1"},
        {"\xFA\x01\1\2\0\0\0", 7, SLUICE_E_FORMAT, 3, "wire form has a family with too long a list"},
        {"\xFA\x01\1" MAX63 "\0\0\0", 15, SLUICE_E_FORMAT, 3, "wire form has a family with too long a list"},
        {"\xFA\x01\2\0\0\0\2\0\0\0", 10, SLUICE_E_FORMAT, 6, "family 1 has its list before it"},
        {"\xFA\x01\2\2\0\0\0\2\0\0\0", 11, SLUICE_E_FORMAT, 7, "family 1 has its list before it"},
        {"\xFA\x01\2\2\0\0\0\1\1\0\0\0", 12, SLUICE_E_FORMAT, 3, "family 0 does not fit its list"},
        {"\xFA\x01\2\2\0\0\0\0\0\0", 10, SLUICE_E_FORMAT, 3, "family 0 has a wrong number of bytes in a block"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sluice_reason why;
        int error = unpack(bad[i].form, bad[i].len, &why);
        CHECK(error == bad[i].error, "case %zu: %d", i, error);
        CHECK(why.pos == bad[i].pos, "case %zu: position %lld, expected %d", i, why.pos, bad[i].pos);
        CHECK(!strcmp(why.text, bad[i].why), "case %zu: '%s'", i, why.text);
    }
}

/* Every byte of a form changed to every value, every truncation, and some bytes more. */
static void damage(const unsigned char *form, size_t len) {
    unsigned char *copy = test_resize(NULL, len + 1);
    sluice_reason why;
    memcpy(copy, form, len);
    for (size_t i = 0; i < len; i++) {
        CHECK(unpack(form, i, &why) != 0, "cut to %zu of %zu bytes", i, len);
        for (int v = 0; v < 256; v++) {
            copy[i] = (unsigned char)v;
            unpack(copy, len, &why);
        }
        copy[i] = form[i];
    }
    copy[len] = 0;
    CHECK(unpack(copy, len + 1, &why) == SLUICE_E_FORMAT, "a byte more");
    free(copy);
}

/* Random sets there and back, then damaged. */
static void test_random(void) {
    enum { EXTENT = 300, CASES = 1500 };
    static grove g;
    uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    printf("seed %llu\n", (unsigned long long)seed);
    chance c = {0};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        damage((const unsigned char *)exact[i].form, exact[i].len);
    for (int i = 0; i < CASES; i++) {
        unsigned char buf[4096];
        chance_seed(&c, seed + (uint64_t)i);
        g.nfalls = g.nlists = g.hollow = 0;
        const sluice_falls_list *list = grove_grow(&g, &c, EXTENT, 3);
        sluice_set s = SLUICE_SET_EMPTY, t = SLUICE_SET_EMPTY;
        sluice_reason why = {0};
        CHECK(!sluice_set_build(&s, list, &why), "case %d: %s", i, why.text);
        CHECK(!sluice_set_shift(&s, &s, chance_low(&c, 0, INT64_MAX / 2)), "case %d", i);
        size_t len = (size_t)sluice_set_pack(&s, buf, sizeof buf);
        CHECK(len <= sizeof buf, "case %d: %zu bytes", i, len);
        CHECK(!unpack(buf, len, &why), "case %d: %s", i, why.text);
        CHECK(!sluice_set_unpack(&t, buf, len, NULL, &why), "case %d: %s", i, why.text);
        CHECK(sluice_set_equal(&s, &t) == 1, "case %d", i);
        if (i % 100 == 0) damage(buf, len);
        sluice_set_free(&s);
        sluice_set_free(&t);
    }
    chance_free(&c);
}

/* A section of a large array takes a few dozen bytes. */
static void test_size(void) {
    const sluice_shape shape = {3, SLUICE_ROW_MAJOR, 8, 128, {100000, 50000, 70000}};
    const sluice_range range[3] = {{5, 40000, 2}, {10, 20000, 1}, {33, 30000, 2}};
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_reason why;
    CHECK(!sluice_set_section(&s, &shape, range, &why), "%s", why.text);
    int64_t len = sluice_set_pack(&s, NULL, 0);
    CHECK(len <= 40, "%lld bytes", (long long)len);
    sluice_set_free(&s);
}

/* Counts up to 2^63 in short forms, and long forms that claim as much as they may: bounded by unpack() above. */
static void test_hostile(void) {
    enum { LONG = 1 << 16 };
    unsigned char *form = test_resize(NULL, LONG);
    sluice_reason why;
    for (int bit = 0; bit < 63; bit++) {
        size_t n = 0;
        form[n++] = 0xFA;
        form[n++] = 1;
        uint64_t v = UINT64_C(1) << bit;
        for (; v >= 0x80; v >>= 7) form[n++] = (unsigned char)(0x80 | (v & 0x7F));
        form[n++] = (unsigned char)v;
        for (size_t len = n; len < n + 12; len++) {
            form[len] = 0;
            int error = unpack(form, len, &why);
            /* All zeros: blocks of one byte that touch, of which only one alone is in normal form. */
            CHECK((error == 0) == (bit == 0 && len == n + 3), "2^%d families in %zu bytes: %d", bit, len, error);
        }
    }
    for (int fill = 0; fill < 256; fill++) {
        memset(form, fill, LONG);
        form[0] = 0xFA;
        form[1] = 1;
        uint32_t n = (LONG - 5) / 3;
        form[2] = (unsigned char)(0x80 | (n & 0x7F));
        form[3] = (unsigned char)(0x80 | (n >> 7 & 0x7F));
        form[4] = (unsigned char)(n >> 14);
        CHECK(unpack(form, LONG, &why) != 0, "64 KiB of %d", fill);
    }
    free(form);
}

static void test_memory(void) {
    sluice_set s = parse("3-6");
    sluice_reason why = {0};
    sluice_mem_fail_nth(1);
    CHECK(sluice_set_unpack(&s, exact[4].form, exact[4].len, NULL, &why) == -ENOMEM, "no memory");
    sluice_mem_fail_nth(0);
    CHECK(why.error == -ENOMEM && s.size == 4, "%d", why.error);
    CHECK(sluice_set_unpack(&s, exact[4].form, exact[4].len, NULL, &why) == 0, "%s", why.text);
    sluice_set_free(&s);
}

/* Every promise of a finished set broken, alone. */
static void test_check(void) {
    static const sluice_node leaf = {.off = 4, .len = 2, .step = 5, .n = 3, .isize = 2, .inner = SLUICE_LEAF};
    static const sluice_node tree[] = {
        {.off = 0, .len = 3, .step = 8, .n = 2, .isize = 2, .before = 0, .inner = 2, .ninner = 1},
        {.off = 20, .len = 4, .step = 4, .n = 1, .isize = 4, .before = 4, .inner = SLUICE_LEAF},
        {.off = 0, .len = 1, .step = 2, .n = 2, .isize = 1, .before = 0, .inner = SLUICE_LEAF},
    };
    sluice_node node[3];
    sluice_set s;
    sluice_reason why;
#define REFUSED(expected, change)                                                                                      \
    do {                                                                                                               \
        memcpy(node, tree, sizeof node);                                                                               \
        s = (sluice_set){8, 2, 3, node};                                                                               \
        CHECK(!sluice_set_check(&s, &why), "%s", why.text);                                                            \
        change;                                                                                                        \
        CHECK(sluice_set_check(&s, &why) == SLUICE_E_FORMAT, "%s", #change);                                           \
        CHECK(!strcmp(why.text, expected), "%s: '%s'", #change, why.text);                                             \
        CHECK(sluice_set_check(&s, NULL) == SLUICE_E_FORMAT, "%s", #change);                                           \
    } while (0)
    REFUSED("family 0 starts before 0", node[0].off = -1);
    REFUSED("family 1 has no blocks", node[1].n = 0);
    REFUSED("family 1 has no blocks", node[1].n = INT64_MIN);
    REFUSED("family 1 has blocks of no bytes", node[1].len = 0);
    REFUSED("family 2 has blocks that overlap", node[2].step = 0);
    REFUSED("family 1 of one block has a step", node[1].step = 5);
    REFUSED("family 2 has blocks that touch", node[2].step = 1);
    REFUSED("family 0 of one block is nested", (node[0].n = 1, node[0].step = 3));
    REFUSED("family 1 passes 2^63-1", node[1].off = INT64_MAX);
    REFUSED("family 0 passes 2^63-1", node[0].n = INT64_MAX);
    REFUSED("family 1 has a wrong number of bytes in a block", node[1].isize = 3);
    REFUSED("family 0 has a wrong number of bytes in a block", node[0].isize = 3);
    REFUSED("family 0 has a wrong number of bytes in a block", node[0].isize = 0);
    REFUSED("family 1 starts before the end of its neighbour", node[1].off = 10);
    REFUSED("family 1 has a wrong number of bytes before it", node[1].before = 5);
    REFUSED("family 2 has a wrong number of bytes before it", node[2].before = 1);
    REFUSED("the set's size is 9, its families have 8 bytes", s.size = 9);
    REFUSED("family 1 is whole but has a list", node[1].ninner = 1);
    REFUSED("family 0 has its list in the wrong place", node[0].inner = 0);
    REFUSED("family 0 has its list in the wrong place", node[0].inner = INT32_MAX);
    REFUSED("family 0 has its list in the wrong place", node[0].inner = INT32_MIN);
    REFUSED("family 0 has its list in the wrong place", node[0].ninner = 2);
    REFUSED("family 0 has its list in the wrong place", node[0].ninner = 0);
    REFUSED("family 0 has its list in the wrong place", node[0].ninner = INT32_MIN);
    REFUSED("family 0 does not fit its list", node[2].step = 3);
    REFUSED("family 0 does not fit its list", (node[2].off = 1, node[2].n = 1, node[2].step = 1));
    REFUSED("family 0 does not fit its list", (node[0].len = 4, node[0].isize = 3, node[1].before = 6, s.size = 10));
    REFUSED("family 2 belongs to no list", (node[0] = leaf, node[0].off = 0, node[1].before = 6, s.size = 10));
    REFUSED("-1 families, -1 of them roots", s.nroot = s.nnode = -1);
    REFUSED("3 families, 4 of them roots", s.nroot = 4);
    REFUSED("3 families, 0 of them roots", s.nroot = 0);
    REFUSED("3 families, 2 of them roots", s.node = NULL);
    REFUSED("the set's size is 1, its families have 0 bytes", (s.nroot = s.nnode = 0, s.size = 1));
#undef REFUSED

    /* Chance in every field: what passes must be a set on which positions agree. */
    chance c = {0};
    chance_seed(&c, 1);
    for (int i = 0; i < 200000; i++) {
        static const int64_t odd[] = {0, 1, 2, 3, 4, 8, -1, INT64_MAX, INT64_MIN, INT32_MAX, INT64_MAX / 2};
        memcpy(node, tree, sizeof node);
        s = (sluice_set){8, 2, 3, node};
        for (int64_t k = chance_draw(&c, 1, 6); k > 0; k--) {
            sluice_node *f = &node[chance_draw(&c, 0, 2)];
            int64_t v = odd[chance_draw(&c, 0, sizeof odd / sizeof *odd - 1)];
            int64_t *field[] = {&f->off, &f->len, &f->step, &f->n, &f->isize, &f->before, &s.size};
            int32_t *small[] = {&f->inner, &f->ninner, &s.nroot};
            int64_t which = chance_draw(&c, 0, 9);
            if (which < 7)
                *field[which] = v;
            else
                *small[which - 7] = (int32_t)v;
        }
        if (sluice_set_check(&s, &why)) continue;
        for (int64_t k = 0; k < sluice_min(s.size, 20); k++) {
            int64_t x = sluice_set_select(&s, k);
            CHECK(sluice_set_contains(&s, x) && sluice_set_rank(&s, x) == k, "case %d: byte %lld", i, (long long)k);
        }
    }
    chance_free(&c);
}

int main(void) {
    test_exact();
    test_cap();
    test_used();
    test_bad();
    test_random();
    test_size();
    test_hostile();
    test_memory();
    test_check();
    return verdict();
}
