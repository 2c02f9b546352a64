/* ranks: 1 */
/* set_random: random sets, elements, partitions, arrays and domains, all operations, against the byte-array oracle.
 *
 * SLUICE_TEST_CASES and SLUICE_TEST_SEED choose the number of cases and the seed; otherwise every run is another one.
 * A failing case is made as small as possible and printed. */
#include "support/check.h"
#include <inttypes.h>
#include <stdlib.h>

static bool fails(chance *draws, void *arg) {
    checker c = {.chance = draws};
    (void)arg;
    return !check_case(&c);
}

static void report(chance *draws, uint64_t seed, int64_t number) {
    checker c = {.chance = draws, .show = stderr};
    int tries = chance_shrink(draws, fails, NULL);
    fprintf(stderr, "case %" PRId64 " fails (SLUICE_TEST_SEED=%" PRIu64 "); the smallest of %d found that do:\n",
            number, seed, tries);
    check_case(&c);
    fprintf(stderr, "%s\n", c.what);
}

int main(void) {
    const char *cases = getenv("SLUICE_TEST_CASES");
    int64_t n = cases ? strtoll(cases, NULL, 0) : 100000;
    uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    chance draws = {0};
    bool good = n > 0;
    printf("seed %" PRIu64 "\n", seed);
    fflush(stdout);
    for (int64_t i = 0; i < n && good; i++) {
        checker c = {.chance = &draws};
        chance_seed(&draws, seed + (uint64_t)i);
        good = check_case(&c);
        if (!good) report(&draws, seed, i);
    }
    chance_free(&draws);
    if (good) printf("%" PRId64 " cases agree\n", n);
    return good ? 0 : 1;
}
