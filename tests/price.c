/* ranks: 1 */
/* price: each term of a predicted price alone, with rates that are 1 for one thing and 0 for all others, against what
 * is counted by hand; and measured rates that are numbers above 0 with which more pieces never cost less. */
#include "io/price.h"
#include "support/unit.h"
#include <math.h>

static bool near(double a, double b) { return fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b)); }

/* 1000 pieces of 8 bytes, 32 apart, to or from one piece of memory. */
static void check_terms(void) {
    sluice_set file = SLUICE_SET_EMPTY, wide = SLUICE_SET_EMPTY;
    CHECK(!sluice_set_falls(&file, 0, 8, 32, 1000) && !sluice_set_falls(&wide, 0, 64, 6400, 10));
    const sluice_io_part part = {&file, {NULL, NULL, 0, 0}}, apart = {&wide, {NULL, NULL, 0, 0}};
    CHECK(near(sluice_price(&(sluice_rates){.line = 1}, false, &part, 1), 8000 / 64.0));
    /* all of the span is passed, 31976 bytes and the rest of a line; far apart, two lines more for each piece */
    CHECK(near(sluice_price(&(sluice_rates){.again = 1}, false, &part, 1), 31976 / 64.0 + 1 - 8000 / 64.0));
    CHECK(near(sluice_price(&(sluice_rates){.again = 1}, false, &apart, 1), 20));
    sluice_rates r = {.piece[SLUICE_GATHER] = {[3] = 2}};
    CHECK(near(sluice_price(&r, false, &part, 1), 2000) && sluice_price(&r, true, &part, 1) == 0);
    r = (sluice_rates){.piece[SLUICE_SCATTER] = {[3] = 2}};
    CHECK(near(sluice_price(&r, true, &part, 1), 2000) && sluice_price(&r, false, &part, 1) == 0);
    r = (sluice_rates){.piece[SLUICE_GATHER] = {[2] = 2, [3] = 4}}; /* between lengths in proportion */
    CHECK(!sluice_set_falls(&file, 0, 6, 32, 1000) && near(sluice_price(&r, false, &part, 1), 3000));
    r = (sluice_rates){.piece[SLUICE_GATHER] = {[11] = 1, [12] = 2}}; /* beyond them by bytes */
    CHECK(!sluice_set_falls(&file, 0, 16384, 32768, 10) && near(sluice_price(&r, false, &part, 1), 80));
    sluice_set_free(&file);
    sluice_set_free(&wide);
}

/* Pieces of 3 and 5 bytes, 20 times: 2 families in each, in a tree of 3 nodes. */
static void check_families(void) {
    const sluice_run run[] = {{0, 3}, {10, 5}};
    sluice_set file = SLUICE_SET_EMPTY, none = SLUICE_SET_EMPTY;
    CHECK(!sluice_set_runs(&file, run, 2, NULL) && !sluice_set_repeat(&file, &file, 0, 40, 20));
    const sluice_io_part part[] = {
        {&file, {NULL, NULL, 0, 0}}, {&none, {NULL, NULL, 0, 0}}, {&file, {NULL, &file, 0, 0}}};
    CHECK(near(sluice_price(&(sluice_rates){.family = 1}, false, part, 1), 40));
    CHECK(near(sluice_price(&(sluice_rates){.node = 1}, false, part, 1), 3));
    CHECK(near(sluice_price(&(sluice_rates){.node = 1}, false, part, 3), 9));
    sluice_set_free(&file);
}

static void check_rates(void) {
    sluice_rates r;
    CHECK(!sluice_rates_measure(&r));
    CHECK(r.line > 0 && r.again > 0 && r.family >= 0 && r.node > 0);
    for (int how = 0; how < SLUICE_GOINGS; how++)
        for (int k = 0; k < SLUICE_RATES_LENGTHS; k++) CHECK(r.piece[how][k] > 0, "%d %d", how, k);
    int err = -ENOMEM;
    for (int64_t n = 1; err && n < 2000; n++) {
        sluice_rates same = {.line = 7};
        sluice_mem_fail_nth(n);
        err = sluice_rates_measure(&same);
        sluice_mem_fail_nth(0);
        CHECK(!err || (err == -ENOMEM && same.line == 7));
        if (n > 60) break;
    }
}

int main(void) {
    check_terms();
    check_families();
    check_rates();
    return verdict();
}
