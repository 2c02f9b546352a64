/* ranks: 1 */
/* layout.c: layouts that are wrong, each refused at its place; layouts that are large, in bounded time; the paper's
 * example; and every allocation failing once. */
#include "file/file.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const sluice_shape matrix = {.ndims = 2, .elem = 4, .dim = {10, 12}};

/* Seconds: no speed is judged here, only that there is an end, on a busy machine and under sanitizers too. */
enum { BOUNDED = 100 };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void refused(const sluice_shape *shape, const char *text, int error, long long pos, const char *message) {
    sluice_layout *l = NULL;
    sluice_reason why = {0};
    const double start = seconds();
    const int got = sluice_layout_parse(&l, shape, text, &why);
    const double took = seconds() - start;
    CHECK(got == error && why.error == error && why.pos == pos && strstr(why.text, message) && !l,
          "%.60s: %d at %lld: %s", text, got, why.pos, why.text);
    CHECK(!strncmp(why.text, "layout ", 7) || error == -ENOMEM, "%s", why.text);
    CHECK(took < BOUNDED, "%.60s: %.1f seconds", text, took);
    CHECK(sluice_layout_parse(&l, shape, text, NULL) == error && !l, "%.60s without a reason", text);
    sluice_layout_free(l);
}

static void errors(void) {
    static const struct {
        const char *text;
        int error;
        long long pos;
        const char *message;
    } table[] = {
        {"", SLUICE_E_SYNTAX, 0, "expected single"},
        {"strip:4:4", SLUICE_E_SYNTAX, 0, "expected single"},
        {"Single", SLUICE_E_SYNTAX, 0, "expected single"},
        {" single", SLUICE_E_SYNTAX, 0, "expected single"},
        {"single:1", SLUICE_E_SYNTAX, 6, "expected the end of the layout"},
        {"striped", SLUICE_E_SYNTAX, 7, "expected ':' and the bytes of a stripe"},
        {"striped:", SLUICE_E_SYNTAX, 8, "expected a number"},
        {"striped:-1:4", SLUICE_E_SYNTAX, 8, "expected a number that is not negative"},
        {"striped:0:4", SLUICE_E_ARGUMENT, 8, "the bytes of a stripe is from 1"},
        {"striped:64K", SLUICE_E_SYNTAX, 11, "expected ':' and the number of subfiles"},
        {"striped:64K:", SLUICE_E_SYNTAX, 12, "expected a number"},
        {"striped:64K:0", SLUICE_E_ARGUMENT, 12, "the number of subfiles is from 1 to 65536"},
        {"striped:64K:65537", SLUICE_E_ARGUMENT, 12, "the number of subfiles is from 1 to 65536"},
        {"striped:64K:99999999999999999999", SLUICE_E_OVERFLOW, 12, "larger than 2^63-1"},
        {"striped:9223372036854775807K:4", SLUICE_E_OVERFLOW, 8, "larger than 2^63-1"},
        {"striped:64K:4x", SLUICE_E_SYNTAX, 13, "expected the end of the layout"},
        {"striped:64KB:4", SLUICE_E_SYNTAX, 11, "expected ':' and the number of subfiles"},
        {"cyclic:0:4", SLUICE_E_ARGUMENT, 7, "the elements of a turn is from 1"},
        {"block", SLUICE_E_SYNTAX, 5, "expected ':'"},
        {"block:4:4", SLUICE_E_SYNTAX, 7, "expected the end"},
        {"rows:", SLUICE_E_SYNTAX, 5, "expected a number"},
        {"columns:70000", SLUICE_E_ARGUMENT, 8, "from 1 to 65536"},
        {"hpf", SLUICE_E_SYNTAX, 3, "expected ':' and a distribution"},
        {"hpf:block@2x2", SLUICE_E_SYNTAX, 9, "the array has 2 dimensions"},
        {"hpf:block,block", SLUICE_E_SYNTAX, 15, "expected '@'"},
        {"hpf:block,block,block@2x2", SLUICE_E_SYNTAX, 15, "too many distributions"},
        {"hpf:block,blick@2x2", SLUICE_E_SYNTAX, 10, "expected block, cyclic, genblock or *"},
        {"hpf:block,cyclic(0)@2x2", SLUICE_E_ARGUMENT, 17, "at least 1 index"},
        {"hpf:block,cyclic(2@2x2", SLUICE_E_SYNTAX, 18, "expected ')'"},
        {"hpf:block(2),*@4", SLUICE_E_ARGUMENT, 4, "does not hold 10 indices"},
        {"hpf:genblock(2,3),*@2", SLUICE_E_ARGUMENT, 4, "add up to 5"},
        {"hpf:genblock(2,8),*@3", SLUICE_E_ARGUMENT, 4, "2 sizes for 3 processes"},
        {"hpf:block,*@0", SLUICE_E_ARGUMENT, 12, "at least 1 process"},
        {"hpf:block,block@256x257", SLUICE_E_ARGUMENT, 4, "from 1 to 65536, not 65792"},
        {"hpf:block,block@65536x65536", SLUICE_E_ARGUMENT, 22, "more than 2^31-1"},
        {"hpf:block,*@2x2x2", SLUICE_E_ARGUMENT, 12, "the grid has 3 dimensions"},
        {"hpf:*,*@2x2", SLUICE_E_ARGUMENT, 6, "is not distributed"},
        {"tiles", SLUICE_E_SYNTAX, 5, "expected ':' and the extents of a tile"},
        {"tiles:4x4x4:2", SLUICE_E_ARGUMENT, 10, "the array has 2"},
        {"tiles:4x0:2", SLUICE_E_ARGUMENT, 8, "at least 1 element"},
        {"tiles:4x4", SLUICE_E_SYNTAX, 9, "expected ':' and the number of subfiles"},
        {"tiles:4x:2", SLUICE_E_SYNTAX, 8, "expected a number"},
        {"falls:{0-1}", SLUICE_E_SYNTAX, 6, "expected a number"},
        {"falls:0", SLUICE_E_SYNTAX, 7, "expected ':' and the sets"},
        {"falls:0:", SLUICE_E_SYNTAX, 8, "expected"},
        {"falls:0:{}", SLUICE_E_EMPTY, 8, "no element has a byte"},
        {"falls:0:{0-1};{3-4}", SLUICE_E_GAP, 8, "byte 2 of [0,5)"},
        {"falls:0:{1-2};{3-4}", SLUICE_E_START, 8, "the first byte is 1"},
        {"falls:0:{0-3};{4-7};{7-9}", SLUICE_E_SHARED, 20, "1 and 2 both have byte 7"},
        {"falls:0:{0-3};{0-0}", SLUICE_E_SHARED, 14, "0 and 1 both have byte 0"},
        {"falls:0:{0-3};{(4,3,2,1)}", SLUICE_E_BLOCK, 15, ""},
        {"falls:0:{0-3};{(4,7,2,2)}", SLUICE_E_STEP, 15, ""},
        {"falls:0:{0-3};{(4,7,4,0)}", SLUICE_E_COUNT, 15, ""},
        {"falls:0:{(0,3,8,2,{(0,4,2,1)})};{4-7}", SLUICE_E_INNER, 19, ""},
        {"falls:0:{0-3};{4-7", SLUICE_E_SYNTAX, 18, "expected"},
        {"falls:0:{0-3};", SLUICE_E_SYNTAX, 14, "expected"},
        {"falls:0:{0-3};{4-7};x", SLUICE_E_SYNTAX, 20, "expected"},
        {"falls:0:{0-9223372036854775807}", SLUICE_E_OVERFLOW, 9, ""},
        {"falls:9223372036854775807:{0-3}", SLUICE_E_OVERFLOW, 26, "past 2^63-1"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        refused(&matrix, table[i].text, table[i].error, table[i].pos, table[i].message);
    sluice_shape bad = matrix;
    bad.dim[1] = INT64_MAX;
    refused(&bad, "single", SLUICE_E_OVERFLOW, -1, "dimension 1");
    bad.dim[1] = -1;
    refused(&bad, "single", SLUICE_E_ARGUMENT, -1, "extent -1");
}

static void hostile(void) {
    char *text = malloc(70000);
    sluice_shape large = {.ndims = 2, .elem = 1, .dim = {1000000, 1000003}}, end = {.ndims = 1, .elem = 1};
    if (!text) exit(1);
    memset(text, ' ', 70000);
    memcpy(text, "striped:1:2", 11);
    text[65537] = 0;
    refused(&matrix, text, SLUICE_E_ARGUMENT, 65536, "more than 65536 bytes");
    text[65536] = 0;
    sluice_layout *l = NULL;
    CHECK(!sluice_layout_parse(&l, &matrix, text, NULL), "white space up to the limit");
    sluice_layout_free(l);

    /* Families that drift against each other: one set of them takes millions, and so does the union of two. */
    refused(&matrix, "falls:0:{(0,0,1000003,4000000),(1,1,1000004,4000000)}", SLUICE_E_COMPLEX, 8, "");
    refused(&matrix, "falls:0:{(0,0,1000003,4000000)};{(1,1,1000004,4000000)}", SLUICE_E_COMPLEX, 8, "");
    /* Many sets, each just small enough. */
    int at = sprintf(text, "falls:0:");
    long long where = 0;
    for (int i = 0; i < 1000; i++) {
        if (i == 5) where = at + 1; /* five have a million families */
        at += sprintf(text + at, "%s{(%d,%d,1000003,100000),(%d,%d,1000004,100000)}", i ? ";" : "", i * 4, i * 4,
                      i * 4 + 1, i * 4 + 1);
    }
    refused(&matrix, text, SLUICE_E_COMPLEX, where, "more than 1048576 families");
    /* Many sets that share one byte, so that any two could be named. */
    at = sprintf(text, "falls:0:0-0");
    for (int i = 0; i < 12000; i++) at += sprintf(text + at, ";0-0");
    refused(&matrix, text, SLUICE_E_SHARED, 12, "0 and 1 both have byte 0");
    /* Tiles whose rows never come into step. */
    refused(&large, "tiles:1x1:65521", SLUICE_E_COMPLEX, -1, "in step");
    end.dim[0] = INT64_MAX;
    refused(&end, "single", SLUICE_E_OVERFLOW, -1, "past 2^63-1");
    free(text);
}

/* Sizes that people use, at the largest: little time and little memory. */
static void large(void) {
    static const char *const text[] = {
        "striped:1M:65536",      "cyclic:1:65536",
        "block:65536",           "rows:65536",
        "columns:65536",         "hpf:cyclic(3),cyclic(5)@256x256",
        "tiles:64x64:4096",      "tiles:64x64:1023",
        "tiles:2048x2048:65536", "falls:8:{(0,0,4,1000000000)};{(1,1,4,1000000000)};{(2,3,4,1000000000)}",
    };
    const sluice_shape shape = {.ndims = 2, .elem = 8, .dim = {1 << 20, 1 << 20}};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        sluice_layout *l = NULL;
        sluice_reason why = {0};
        sluice_set file = SLUICE_SET_EMPTY;
        static bool hit[SLUICE_MAX_SUBFILES];
        const double start = seconds();
        CHECK(!sluice_layout_parse(&l, &shape, text[i], &why), "%s", why.text);
        const double made = seconds();
        if (!l) continue;
        CHECK(made - start < BOUNDED, "%s: %.1f seconds", text[i], made - start);
        CHECK(sluice_mem_live() < 100 << 20, "%s: %lld bytes", text[i], (long long)sluice_mem_live());
        CHECK(!sluice_set_falls(&file, 123456789, 5000, 1 << 23, 3));
        for (int k = 0; k < 1000; k++) sluice_layout_meet(l, &file, hit);
        CHECK(seconds() - made < BOUNDED, "%s: %.1f seconds to meet", text[i], seconds() - made);
        const int64_t sum = l->base[l->n];
        CHECK(sum > l->length && sum % SLUICE_MAP_STRETCH == 0, "%s", text[i]);
        sluice_set_free(&file);
        sluice_layout_free(l);
    }
}

/* Figure 3 of the Clusterfile paper (C-13): displacement 2, three elements of two bytes. What lies before the
 * displacement is in the first subfile. */
static void paper(void) {
    static const int owner[] = {0, 0, 0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2};
    static const int64_t off[] = {0, 1, 2, 3, 0, 1, 0, 1, 4, 5, 2, 3, 2, 3};
    const sluice_shape bytes = {.ndims = 1, .elem = 1, .dim = {14}};
    sluice_layout *l = NULL;
    CHECK(!sluice_layout_parse(&l, &bytes, "falls:2:{(0,1,6,1)};{(2,3,6,1)};{(4,5,6,1)}", NULL));
    for (int64_t x = 0; l && x < 14; x++)
        CHECK(sluice_layout_owner(l, x) == owner[x] && sluice_set_rank(&l->set[owner[x]], x) == off[x], "byte %d",
              (int)x);
    sluice_layout_free(l);
}

static void allocations(void) {
    static const char *const text[] = {"single", "hpf:genblock(4,6),cyclic@2x3", "tiles:3x4:5",
                                       "falls:3:{(0,0,2,4),8-9};{(1,1,2,4)}"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        int error = -ENOMEM;
        for (int64_t n = 1; error && n < 1000; n++) {
            sluice_layout *l = NULL, *longer = NULL;
            sluice_set file = SLUICE_SET_EMPTY, sub = SLUICE_SET_EMPTY, ranks = SLUICE_SET_EMPTY;
            sluice_reason why = {0};
            CHECK(!sluice_set_block(&file, 5, 100) && !sluice_set_block(&sub, 0, 7));
            sluice_mem_fail_nth(n);
            error = sluice_layout_parse(&l, &matrix, text[i], &why);
            CHECK(!error || (error == why.error && !l), "%s: %d, %s", text[i], error, why.text);
            if (!error) error = sluice_layout_split(l, &file, 0, &sub, &ranks);
            CHECK(!error || sub.size == 7, "%s", text[i]);
            if (!error && i != 1) error = sluice_layout_resize(&longer, l, 11, &why);
            sluice_mem_fail_nth(0);
            CHECK(error == 0 || error == -ENOMEM, "%s request %" PRId64 ": %d", text[i], n, error);
            sluice_layout_free(l);
            sluice_layout_free(longer);
            sluice_set_free(&file);
            sluice_set_free(&sub);
            sluice_set_free(&ranks);
            CHECK(sluice_mem_live() == 0, "%s request %" PRId64 " leaks", text[i], n);
        }
        CHECK(error == 0, "%s never succeeded", text[i]);
    }
}

/* What making a layout of that text costs, in seconds of the processor; the least of some tries. */
static double cost(const char *text, int64_t bytes) {
    const sluice_shape row = {.ndims = 1, .elem = 1, .dim = {bytes}};
    double least = 1e9;
    for (int i = 0; i < 3; i++) {
        struct timespec from, to;
        sluice_layout *l = NULL;
        sluice_reason why = {0};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
        CHECK(!sluice_layout_parse(&l, &row, text, &why), "%s", why.text);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
        sluice_layout_free(l);
        const double took = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
        if (took < least) least = took;
    }
    return least;
}

/* Eight times as many subfiles cost eight times as much, not sixty-four times. */
static void linear(void) {
    enum { FEW = 700, MANY = 8 * FEW };
    char *text = malloc(SLUICE_MAX_LAYOUT_TEXT + 1);
    for (int kind = 0; text && kind < 2; kind++) {
        double took[2];
        for (int k = 0; k < 2; k++) {
            const int n = k ? MANY : FEW;
            char *end = text + sprintf(text, kind ? "hpf:genblock(" : "falls:0:");
            for (int i = 0; i < n; i++)
                end += kind ? sprintf(end, "%s1", i ? "," : "") : sprintf(end, "%s%d-%d", i ? ";" : "", i, i);
            if (kind) sprintf(end, ")@%d", n);
            CHECK(strlen(text) <= SLUICE_MAX_LAYOUT_TEXT, "%zu bytes", strlen(text));
            took[k] = cost(text, n);
        }
        CHECK(took[1] < 24 * took[0], "%.8s: %d subfiles take %g s, %d take %g", text, FEW, took[0], MANY, took[1]);
    }
    free(text);
}

int main(void) {
    errors();
    hostile();
    large();
    linear();
    paper();
    allocations();
    return verdict();
}
