/* unit.h: what tests that go through cases of their own share: a check that counts and shows what is not true, chance,
 * the failing of each allocation in turn, and the verdict at the end. */
#ifndef SLUICE_TESTS_UNIT_H
#define SLUICE_TESTS_UNIT_H

#include "base/base.h"
#include "sluice_set.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { SHOWN_FAILURES = 20 };
static int failures;

/* CHECK(condition) or CHECK(condition, "format", ...). On standard error, so that a child that ends by _exit is heard.
 */
#define CHECK(good, ...)                                                                                               \
    do {                                                                                                               \
        if (!(good) && failures++ < SHOWN_FAILURES) {                                                                  \
            fprintf(stderr, "%s:%d: not true: %s ", __FILE__, __LINE__, #good);                                        \
            fprintf(stderr, " " __VA_ARGS__);                                                                          \
            fputc('\n', stderr);                                                                                       \
        }                                                                                                              \
    } while (0)

/* A number in [0, n), the same in every run. */
static inline int64_t below(int64_t n) {
    static uint64_t state = 1996;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

/* With each of its allocations failing in turn, make() returns -ENOMEM, leaves its output as it was and leaks nothing;
 * with none failing it succeeds. */
static inline void check_each_allocation(int (*make)(sluice_set *out)) {
    int error = -ENOMEM;
    for (int64_t n = 1; error && n < 1000; n++) {
        sluice_set out = SLUICE_SET_EMPTY;
        CHECK(sluice_set_block(&out, 0, 7) == 0);
        const int64_t live = sluice_mem_live();
        sluice_mem_fail_nth(n);
        error = make(&out);
        sluice_mem_fail_nth(0);
        CHECK(error == 0 || (error == -ENOMEM && out.size == 7 && sluice_mem_live() == live), "request %" PRId64 ": %d",
              n, error);
        CHECK(error || n > 1, "no allocation was seen");
        sluice_set_free(&out);
    }
    CHECK(error == 0, "never succeeded");
}

/* To be returned by main(): nothing failed and nothing of the library's memory is left. */
static inline int verdict(void) {
    CHECK(sluice_mem_live() == 0, "%" PRId64 " bytes leaked", sluice_mem_live());
    if (failures) fprintf(stderr, "%d failures\n", failures);
    return failures != 0;
}

#endif
