/* ranks: 1 */
/* section_parse.c: sections as Python writes them: what they mean, what is refused and where. */
#include "base/base.h"
#include "sluice.h"
#include "support/unit.h"
#include <string.h>

enum { LONG = 60 };

/* Ranges as text, to compare and to show: start+count*step. */
static const char *show(const sluice_range *r, int n) {
    static char out[SLUICE_MAX_DIMS * 3 * 24];
    int at = 0;
    for (int d = 0; d < n; d++)
        at += snprintf(out + at, sizeof out - (size_t)at, "%s%lld+%lld*%lld", d ? " " : "", (long long)r[d].start,
                       (long long)r[d].count, (long long)r[d].step);
    return out;
}

static const sluice_shape cube = {.ndims = 3, .elem = 8, .dim = {10, 20, 30}};
static const sluice_shape line = {.ndims = 1, .elem = 8, .dim = {10}};
static const sluice_shape none = {.ndims = 2, .elem = 8, .dim = {0, 5}};
static const sluice_shape huge = {.ndims = 1, .elem = 1, .dim = {INT64_MAX}};

static void test_good(void) {
    static const struct {
        const sluice_shape *shape;
        const char *text, *ranges;
    } good[] = {
        {&cube, "[:, :, :]", "0+10*1 0+20*1 0+30*1"},
        {&cube, ":,:,:", "0+10*1 0+20*1 0+30*1"},
        {&cube, "[:]", "0+10*1 0+20*1 0+30*1"},
        {&cube, "[...]", "0+10*1 0+20*1 0+30*1"},
        {&cube, "...", "0+10*1 0+20*1 0+30*1"},
        {&cube, "[...,]", "0+10*1 0+20*1 0+30*1"},
        {&cube, "[2:5, ::2, 7]", "2+3*1 0+10*2 7+1*1"},
        {&cube, "2:5,::2,7", "2+3*1 0+10*2 7+1*1"},
        {&cube, " [ 2 : 5 , : : 2 , 7 ] ", "2+3*1 0+10*2 7+1*1"},
        {&cube, "\t[\n2:\r5,\v::2,\f7,]", "2+3*1 0+10*2 7+1*1"},
        {&cube, "2:5,", "2+3*1 0+20*1 0+30*1"},
        {&cube, "[2:5]", "2+3*1 0+20*1 0+30*1"},
        {&cube, "[-1, ...]", "9+1*1 0+20*1 0+30*1"},
        {&cube, "[..., -1]", "0+10*1 0+20*1 29+1*1"},
        {&cube, "[1, ..., 2]", "1+1*1 0+20*1 2+1*1"},
        {&cube, "[..., 1, 2, 3]", "1+1*1 2+1*1 3+1*1"},
        {&cube, "[1, ..., 2, 3]", "1+1*1 2+1*1 3+1*1"},
        {&cube, "[1, 2, 3, ...]", "1+1*1 2+1*1 3+1*1"},
        {&cube, "[..., 1:2, 3]", "0+10*1 1+1*1 3+1*1"},
        {&line, "[-10]", "0+1*1"},
        {&line, "0", "0+1*1"},
        {&line, "+9", "9+1*1"},
        {&line, "-0", "0+1*1"},
        {&line, "007", "7+1*1"},
        {&line, ":", "0+10*1"},
        {&line, "::", "0+10*1"},
        {&line, "::3", "0+4*3"},
        {&line, "::9", "0+2*9"},
        {&line, "::10", "0+1*1"},
        {&line, "1::3", "1+3*3"},
        {&line, ":-1", "0+9*1"},
        {&line, "-3:", "7+3*1"},
        {&line, "-3:-1:2", "7+1*1"},
        {&line, "3:3", "3+0*1"},
        {&line, "7:3", "7+0*1"},
        {&line, "10:", "10+0*1"},
        {&line, "11:", "10+0*1"},
        {&line, "-100:100", "0+10*1"},
        {&line, "-100:-100", "0+0*1"},
        {&line, "100:-100", "10+0*1"},
        {&line, ":99999999999999999999999", "0+10*1"},
        {&line, "-99999999999999999999999:", "0+10*1"},
        {&line, "::99999999999999999999999", "0+1*1"},
        {&line, "3::9223372036854775807", "3+1*1"},
        {&none, "[:]", "0+0*1 0+5*1"},
        {&none, "[3:, 2]", "0+0*1 2+1*1"},
        {&huge, ":", "0+9223372036854775807*1"},
        {&huge, "-1", "9223372036854775806+1*1"},
        {&huge, "::9223372036854775806", "0+2*9223372036854775806"},
        {&huge, "9223372036854775806", "9223372036854775806+1*1"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        sluice_range r[SLUICE_MAX_DIMS];
        sluice_reason why = {0};
        const int error = sluice_section_parse(r, good[i].shape, good[i].text, &why);
        CHECK(!error, "%s: %s", good[i].text, why.text);
        if (error) continue;
        CHECK(!strcmp(show(r, good[i].shape->ndims), good[i].ranges), "%s: expected %s, got %s", good[i].text,
              good[i].ranges, show(r, good[i].shape->ndims));
    }
}

static void test_bad(void) {
    static const char item[] = "expected an index, a slice or '...'";
    static const struct {
        const sluice_shape *shape;
        const char *text;
        int error, pos;
        const char *why;
    } bad[] = {
        {&cube, "", SLUICE_E_SYNTAX, 0, item},
        {&cube, "  ", SLUICE_E_SYNTAX, 2, item},
        {&cube, "[]", SLUICE_E_SYNTAX, 1, item},
        {&cube, "[", SLUICE_E_SYNTAX, 1, item},
        {&cube, "]", SLUICE_E_SYNTAX, 0, item},
        {&cube, ",", SLUICE_E_SYNTAX, 0, item},
        {&cube, "[,]", SLUICE_E_SYNTAX, 1, item},
        {&cube, "[1,,2]", SLUICE_E_SYNTAX, 3, item},
        {&cube, "1,,", SLUICE_E_SYNTAX, 2, item},
        {&cube, "[[1]]", SLUICE_E_SYNTAX, 1, item},
        {&cube, "x", SLUICE_E_SYNTAX, 0, item},
        {&cube, "[None]", SLUICE_E_SYNTAX, 1, item},
        {&cube, "..", SLUICE_E_SYNTAX, 0, item},
        {&cube, "(1, 2)", SLUICE_E_SYNTAX, 0, item},
        {&cube, "[1, 2", SLUICE_E_SYNTAX, 5, "expected ',' or ']'"},
        {&cube, "[1 2]", SLUICE_E_SYNTAX, 3, "expected ',' or ']'"},
        {&cube, "[1:2:3:4]", SLUICE_E_SYNTAX, 6, "expected ',' or ']'"},
        {&cube, "[1.5]", SLUICE_E_SYNTAX, 2, "expected ',' or ']'"},
        {&cube, "[0x1]", SLUICE_E_SYNTAX, 2, "expected ',' or ']'"},
        {&cube, "[....]", SLUICE_E_SYNTAX, 4, "expected ',' or ']'"},
        {&cube, "[1:2...]", SLUICE_E_SYNTAX, 4, "expected ',' or ']'"},
        {&cube, "1]", SLUICE_E_SYNTAX, 1, "expected ',' or the end of the text"},
        {&cube, "1 2", SLUICE_E_SYNTAX, 2, "expected ',' or the end of the text"},
        {&cube, "1:2:3:4", SLUICE_E_SYNTAX, 5, "expected ',' or the end of the text"},
        {&cube, "[1] ]", SLUICE_E_SYNTAX, 4, "expected the end of the text"},
        {&cube, "[1], 2", SLUICE_E_SYNTAX, 3, "expected the end of the text"},
        {&cube, "-", SLUICE_E_SYNTAX, 1, "expected a digit after the sign"},
        {&cube, "[- 1]", SLUICE_E_SYNTAX, 3, "expected a digit after the sign"},
        {&cube, "[--1]", SLUICE_E_SYNTAX, 2, "expected a digit after the sign"},
        {&cube, "[1:-]", SLUICE_E_SYNTAX, 4, "expected a digit after the sign"},
        {&cube, "[1, ..., 2, ...]", SLUICE_E_SYNTAX, 12, "'...' comes twice"},
        {&cube, "......", SLUICE_E_SYNTAX, 3, "expected ',' or the end of the text"},
        {&cube, "[1:2:0]", SLUICE_E_ARGUMENT, 5, "step 0; a step is at least 1"},
        {&cube, "[0, ::-1]", SLUICE_E_ARGUMENT, 6, "step -1; a step is at least 1"},
        {&cube, "[10]", SLUICE_E_ARGUMENT, 1, "index 10 is outside dimension 0, which has 10"},
        {&cube, "[-11]", SLUICE_E_ARGUMENT, 1, "index -11 is outside dimension 0, which has 10"},
        {&cube, "[0, 20, 0]", SLUICE_E_ARGUMENT, 4, "index 20 is outside dimension 1, which has 20"},
        {&cube, "[..., 30]", SLUICE_E_ARGUMENT, 6, "index 30 is outside dimension 2, which has 30"},
        {&cube, "[..., -21, 3]", SLUICE_E_ARGUMENT, 6, "index -21 is outside dimension 1, which has 20"},
        {&none, "[0]", SLUICE_E_ARGUMENT, 1, "index 0 is outside dimension 0, which has 0"},
        {&none, "[-1]", SLUICE_E_ARGUMENT, 1, "index -1 is outside dimension 0, which has 0"},
        {&line, "99999999999999999999", SLUICE_E_ARGUMENT, 0,
         "index 9223372036854775807 is outside dimension 0, which has 10"},
        {&huge, "9223372036854775807", SLUICE_E_ARGUMENT, 0,
         "index 9223372036854775807 is outside dimension 0, which has 9223372036854775807"},
        {&huge, "-9223372036854775808", SLUICE_E_ARGUMENT, 0,
         "index -9223372036854775808 is outside dimension 0, which has 9223372036854775807"},
        {&cube, "[0, 1, 2, 3]", SLUICE_E_ARGUMENT, 10, "too many indices: the array has 3 dimensions"},
        {&cube, "[0, ..., 1, 2, 3]", SLUICE_E_ARGUMENT, 15, "too many indices: the array has 3 dimensions"},
        {&line, ":, :", SLUICE_E_ARGUMENT, 3, "too many indices: the array has 1 dimension"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sluice_range r[SLUICE_MAX_DIMS], before[SLUICE_MAX_DIMS];
        sluice_reason why = {0};
        memset(r, 0x5A, sizeof r);
        memcpy(before, r, sizeof r);
        const int error = sluice_section_parse(r, bad[i].shape, bad[i].text, &why);
        CHECK(error == bad[i].error && why.error == error, "%s: error %d: %s", bad[i].text, error, why.text);
        CHECK(why.pos == bad[i].pos, "%s: pos %lld: %s", bad[i].text, why.pos, why.text);
        CHECK(!strcmp(why.text, bad[i].why), "%s: '%s'", bad[i].text, why.text);
        CHECK(!memcmp(r, before, sizeof r), "%s changed the output", bad[i].text);
        CHECK(sluice_section_parse(r, bad[i].shape, bad[i].text, NULL) == error, "%s", bad[i].text);
    }
}

static void test_shape(void) {
    sluice_shape s = line;
    sluice_range r[SLUICE_MAX_DIMS];
    sluice_reason why;
    s.ndims = 0;
    CHECK(sluice_section_parse(r, &s, ":", &why) == SLUICE_E_ARGUMENT && why.pos == -1, "%s", why.text);
    s.ndims = SLUICE_MAX_DIMS + 1;
    CHECK(sluice_section_parse(r, &s, ":", &why) == SLUICE_E_ARGUMENT && why.pos == -1, "%s", why.text);
    s = line;
    s.dim[0] = -1;
    CHECK(sluice_section_parse(r, &s, ":", &why) == SLUICE_E_ARGUMENT && why.pos == -1, "%s", why.text);
    s = (sluice_shape){.ndims = SLUICE_MAX_DIMS, .elem = 1};
    for (int d = 0; d < s.ndims; d++) s.dim[d] = 2;
    CHECK(!sluice_section_parse(r, &s, "0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,...", &why), "%s", why.text);
    for (int d = 0; d < s.ndims; d++) CHECK(r[d].start == d % 2 && r[d].count == 1, "dimension %d", d);
}

/* Which indices of 0 ... n-1 a slice has, from Python's definition: i = start + k * step < stop, after negative bounds
 * were counted from the end and both were moved to the nearest of 0 ... n. LONG: not given. */
static int64_t walk(int n, int from, int to, int step, bool *in) {
    int64_t count = 0;
    int start = from == LONG ? 0 : from, stop = to == LONG ? n : to;
    if (start < 0) start += n;
    if (stop < 0) stop += n;
    while (start < 0) start++;
    while (stop < 0) stop++;
    memset(in, 0, (size_t)n + 1);
    for (int i = start; i < stop && i < n; i += step == LONG ? 1 : step) {
        in[i] = true;
        count++;
    }
    return count;
}

static void part(char *out, size_t cap, int v) {
    *out = 0;
    if (v != LONG) snprintf(out, cap, "%d", v);
}

static void test_exhaustive(void) {
    for (int n = 0; n <= 6; n++)
        for (int from = -9; from <= 10; from++)
            for (int to = -9; to <= 10; to++)
                for (int step = 1; step <= 9; step++) {
                    const int f = from == 10 ? LONG : from, t = to == 10 ? LONG : to, s = step == 9 ? LONG : step;
                    char a[16], b[16], c[16], text[64];
                    bool want[8], got[8] = {0};
                    sluice_range r;
                    sluice_reason why = {0};
                    part(a, sizeof a, f), part(b, sizeof b, t), part(c, sizeof c, s);
                    snprintf(text, sizeof text, s == LONG ? "%s:%s" : "%s:%s:%s", a, b, c);
                    const int64_t count = walk(n, f, t, s, want);
                    const sluice_shape shape = {.ndims = 1, .elem = 1, .dim = {n}};
                    const int error = sluice_section_parse(&r, &shape, text, &why);
                    CHECK(!error && r.count == count && r.step >= 1, "%s of %d: %s, %lld indices", text, n, why.text,
                          (long long)r.count);
                    CHECK(r.start >= 0 && r.start <= n, "%s of %d: start %lld", text, n, (long long)r.start);
                    if (error || r.count != count) continue;
                    for (int64_t k = 0; k < r.count; k++)
                        if (r.start + k * r.step < n) got[r.start + k * r.step] = true;
                    CHECK(!memcmp(got, want, (size_t)n), "%s of %d", text, n);
                }
}

int main(void) {
    test_good();
    test_bad();
    test_shape();
    test_exhaustive();
    return verdict();
}
