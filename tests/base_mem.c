/* ranks: 1
 * The base layer: memory, errors, arithmetic. */
#include "base/base.h"
#include "sluice_version.h"
#include "support/unit.h"
#include <string.h>

static void check_live_and_peak(void) {
    CHECK(sluice_mem_live() == 0);
    char *a = sluice_mem_alloc(10, 100), *b = sluice_mem_alloc(1, 24);
    CHECK(a && b);
    CHECK((uintptr_t)a % _Alignof(max_align_t) == 0 && (uintptr_t)b % _Alignof(max_align_t) == 0);
    CHECK(sluice_mem_live() == 1024 && sluice_mem_peak() == 1024);
    memset(a, 'x', 1000);

    a = sluice_mem_resize(a, 2000, 1);
    CHECK(a && a[0] == 'x' && a[999] == 'x');
    CHECK(sluice_mem_live() == 2024 && sluice_mem_peak() == 2024);
    a = sluice_mem_resize(a, 5, 1);
    CHECK(a && a[4] == 'x');
    CHECK(sluice_mem_live() == 29 && sluice_mem_peak() == 2024);
    sluice_mem_peak_reset();
    CHECK(sluice_mem_peak() == 29);

    sluice_mem_free(a);
    CHECK(sluice_mem_live() == 24 && sluice_mem_peak() == 29);
    sluice_mem_free(b);
    sluice_mem_free(NULL);
    CHECK(sluice_mem_live() == 0);

    void *nothing = sluice_mem_alloc(0, 8);
    CHECK(nothing && sluice_mem_live() == 0);
    sluice_mem_free(nothing);
}

static void check_fail_nth(void) {
    int64_t before = sluice_mem_calls();
    sluice_mem_fail_nth(2);
    void *first = sluice_mem_alloc(1, 8), *second = sluice_mem_alloc(1, 8), *third = sluice_mem_alloc(1, 8);
    CHECK(first && !second && third);
    CHECK(sluice_mem_calls() == before + 3 && sluice_mem_live() == 16);

    memcpy(first, "1234567", 8);
    sluice_mem_fail_nth(1);
    CHECK(!sluice_mem_resize(first, 1, 1000));
    CHECK(strcmp(first, "1234567") == 0 && sluice_mem_live() == 16);

    sluice_mem_fail_nth(1);
    sluice_mem_fail_nth(0);
    second = sluice_mem_alloc(1, 8);
    CHECK(second);
    sluice_mem_free(first);
    sluice_mem_free(second);
    sluice_mem_free(third);
    CHECK(sluice_mem_live() == 0);
}

/* The products below are 2^64 + 2^33 and the like: a count that wrapped around would be granted. */
static void check_impossible(void) {
    volatile size_t half = (size_t)1 << 32, most = SIZE_MAX; /* volatile: the compiler must not know better */
    CHECK(!sluice_mem_alloc(half, half + 2));
    CHECK(!sluice_mem_alloc(most, 1));
    CHECK(!sluice_mem_alloc(1, most / 2));
    char *p = sluice_mem_alloc(1, 1);
    CHECK(p && !sluice_mem_resize(p, half, half + 2));
    CHECK(sluice_mem_live() == 1);
    sluice_mem_free(p);
}

static void check_errors(void) {
    CHECK(strcmp(sluice_strerror(0), "success") == 0);
#define CHECK_ERROR(name, number, text)                                                                                \
    CHECK(name == number && number <= -1001 && strcmp(sluice_strerror(name), text) == 0);
    SLUICE_ERRORS(CHECK_ERROR)
#undef CHECK_ERROR
    CHECK(strcmp(sluice_strerror(-ENOMEM), strerror(ENOMEM)) == 0);
    CHECK(strcmp(sluice_strerror(-ENOENT), strerror(ENOENT)) == 0);
    const int unknown[] = {1, ENOMEM, -999, -1000, -1999, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        CHECK(strcmp(sluice_strerror(unknown[i]), "unknown error") == 0);
}

static void check_refuse(void) {
    sluice_reason why;
    memset(&why, 'x', sizeof why);
    CHECK(sluice_refuse(&why, SLUICE_E_COUNT, 7, "n = %d in %s", -3, "here") == SLUICE_E_COUNT);
    CHECK(why.error == SLUICE_E_COUNT && why.pos == 7 && strcmp(why.text, "n = -3 in here") == 0);
    CHECK(sluice_refuse(NULL, -EINVAL, 0, "unheard") == -EINVAL);

    char longer[2 * sizeof why.text];
    memset(longer, 'y', sizeof longer);
    longer[sizeof longer - 1] = 0;
    sluice_refuse(&why, -EINVAL, -1, "%s", longer);
    CHECK(strlen(why.text) == sizeof why.text - 1 && why.pos == -1);
}

static void check_arithmetic(void) {
    int64_t r;
    CHECK(sluice_add(INT64_MAX - 1, 1, &r) && r == INT64_MAX);
    CHECK(!sluice_add(INT64_MAX, 1, &r) && !sluice_add(INT64_MIN, -1, &r));
    CHECK(sluice_mul(INT64_C(1) << 31, INT64_C(1) << 31, &r) && r == INT64_C(1) << 62);
    CHECK(!sluice_mul(INT64_C(1) << 32, INT64_C(1) << 31, &r));
    CHECK(sluice_min(-1, 2) == -1 && sluice_min(2, -1) == -1 && sluice_max(-1, 2) == 2 && sluice_max(2, -1) == 2);

    CHECK(sluice_ceil_div(0, 5) == 0 && sluice_ceil_div(10, 5) == 2 && sluice_ceil_div(11, 5) == 3);
    CHECK(sluice_ceil_div(INT64_MAX, 2) == INT64_C(1) << 62 && sluice_ceil_div(INT64_MAX, INT64_MAX) == 1);

    for (int64_t a = 1; a <= 40; a++)
        for (int64_t b = 1; b <= 40; b++) {
            int64_t divisor = a < b ? a : b, multiple = a > b ? a : b;
            while (a % divisor || b % divisor) divisor--;
            while (multiple % a || multiple % b) multiple++;
            CHECK(sluice_gcd(a, b) == divisor && sluice_lcm(a, b) == multiple);
        }
    CHECK(sluice_gcd(INT64_MAX, INT64_MAX) == INT64_MAX && sluice_lcm(INT64_MAX, INT64_MAX) == INT64_MAX);
    CHECK(sluice_lcm(INT64_MAX, 2) == -1 && sluice_lcm(INT64_C(1) << 62, 3) == -1);
    CHECK(sluice_lcm(INT64_C(1) << 62, INT64_C(1) << 61) == INT64_C(1) << 62);
}

static void check_version(void) {
    char expected[64];
    snprintf(expected, sizeof expected, "%d.%d.%d", SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR, SLUICE_VERSION_PATCH);
    CHECK(strcmp(sluice_version(), expected) == 0);
}

int main(void) {
    check_live_and_peak();
    check_fail_nth();
    check_impossible();
    check_errors();
    check_refuse();
    check_arithmetic();
    check_version();
    return verdict();
}
