/* arith.c: common divisors and multiples. */
#include "base.h"

int64_t sluice_gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

int64_t sluice_lcm(int64_t a, int64_t b) {
    int64_t r;
    return sluice_mul(a / sluice_gcd(a, b), b, &r) ? r : -1;
}
