/* ranks: 1 */
/* set_edge: the last bytes below 2^63, inputs that no one should write, and regular sets whose closed form must not be
 * missed because strides drift, copies interleave or views nest. */
#include "base/base.h"
#include "sluice_set.h"
#include "support/unit.h"
#include <string.h>

static sluice_set a, b, out;

static void read(sluice_set *s, const char *text) {
    sluice_reason why = {.text = ""};
    CHECK(!sluice_set_parse(s, text, &why), "%s: %s", text, why.text);
}

/* The set is written like this. */
static bool is(const sluice_set *s, const char *text) {
    char buf[200];
    return sluice_set_print(s, buf, sizeof buf) < (int64_t)sizeof buf && !strcmp(buf, text);
}

/* Of a period that 2^63 cuts off, the members below it are there. */
static void last_period(void) {
    read(&a, "{0-0,100-100}");
    sluice_element e = {&a, 101, INT64_MAX - 50};
    CHECK(!sluice_element_cut(&out, &e, e.disp, INT64_MAX) && out.size == 1 && sluice_set_lo(&out) == e.disp);
    e.disp = 0;
    int64_t lo = INT64_MAX - 89;
    CHECK(!sluice_element_cut(&out, &e, lo, INT64_MAX));
    CHECK(out.size == sluice_element_rank(&e, INT64_MAX) - sluice_element_rank(&e, lo));
    CHECK(!sluice_set_block(&b, 0, 6000000000000000000));
    e = (sluice_element){&b, 6000000000000000000, 0};
    CHECK(!sluice_element_cut(&out, &e, 0, INT64_MAX) && out.size == INT64_MAX);
    CHECK(!sluice_set_block(&b, 0, 10));
    sluice_partition p = {1, &b, 10, INT64_MAX - 5};
    sluice_reason why;
    CHECK(sluice_partition_check(&p, &why) == SLUICE_E_OVERFLOW && why.error == SLUICE_E_OVERFLOW);
}

static void nonsense(void) {
    enum { DEEP = 1000 };
    static sluice_falls falls[DEEP];
    static sluice_falls_list list[DEEP];
    sluice_reason why;
    CHECK(sluice_set_build(&out, &(sluice_falls_list){-1, falls}, &why) == SLUICE_E_ARGUMENT);
    for (int i = 0; i < DEEP; i++) {
        list[i] = (sluice_falls_list){1, &falls[i]};
        falls[i] = (sluice_falls){0, 8, 8, 1, i + 1 < DEEP ? &list[i + 1] : NULL};
    }
    CHECK(sluice_set_build(&out, &list[0], &why) == SLUICE_E_ARGUMENT && strstr(why.text, "deep"));
    CHECK(!sluice_set_build(&out, &list[DEEP - 200], &why) && is(&out, "{(0,7,8,1)}"));
    sluice_falls two[] = {{0, 1, 1, INT64_MIN, NULL}, {5, 1, 1, 1, NULL}};
    CHECK(sluice_set_build(&out, &(sluice_falls_list){2, two}, &why) == SLUICE_E_COUNT);
    CHECK(sluice_set_runs(&out, NULL, INT64_MIN, &why) == SLUICE_E_ARGUMENT);
    /* The position is that of the list in which families overlap. */
    CHECK(sluice_set_parse(&out, "{(0,9,10,2,{(0,3,4,1),(2,5,4,1)})}", &why) == SLUICE_E_OVERLAP && why.pos == 11);
}

static void closed_form(void) {
    /* The diagonal of a matrix with a quarter of it. */
    CHECK(!sluice_set_falls(&a, 0, 8, 8000008, 1000000) && !sluice_set_falls(&b, 0, 4000000, 8000000, 500000));
    CHECK(!sluice_set_intersect(&out, &a, &b) && is(&out, "{(0,7,8000008,500000)}"));
    CHECK(!sluice_set_subtract(&out, &a, &b) && is(&out, "{(4000004000000,4000004000007,8000008,500000)}"));
    /* A view of a view that crosses blocks. */
    CHECK(!sluice_set_falls(&a, 3000000, 1, 2, 3500000) && !sluice_set_falls(&b, 0, 7000000, 14000000, 100));
    CHECK(!sluice_set_embed(&out, &a, &b) && is(&out, "{(3000000,3000000,2,2000000),(14000000,14000000,2,1500000)}"));
    /* Copies that interleave, of pieces and of a family. */
    read(&a, "{0-0,100-100}");
    CHECK(!sluice_set_repeat(&out, &a, 0, 7, (int64_t)1 << 50) && out.nnode == 5 && out.size == (int64_t)1 << 51);
    CHECK(!sluice_set_falls(&a, 0, 2, 1000, 1000000) && !sluice_set_repeat(&out, &a, 0, 10, 50));
    CHECK(is(&out, "{(0,491,1000,1000000,{(0,1,10,50)})}"));
    /* What is cut in two and put together again is what it was. */
    read(&a, "{(0,0,37,1000),(26,26,37,1000)}");
    for (int64_t at = 37; at < 37000; at += 36926 - 37) {
        CHECK(!sluice_set_cut(&b, &a, 0, at) && !sluice_set_cut(&out, &a, at, 37000));
        CHECK(!sluice_set_union(&out, &out, &b) && is(&out, "{(0,26,37,1000,{(0,0,1,1),(26,26,1,1)})}"));
    }
}

int main(void) {
    last_period();
    nonsense();
    closed_form();
    sluice_set_free(&a);
    sluice_set_free(&b);
    sluice_set_free(&out);
    return verdict();
}
