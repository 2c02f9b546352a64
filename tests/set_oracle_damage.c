/* ranks: 1 */
/* set_oracle_damage: the test of the test. The checker of set_random runs with one bit of the oracle's side changed,
 * for every kind of comparison in turn; a case whose oracle was damaged and that passes all the same is a hole in it.
 */
#include "support/check.h"
#include <inttypes.h>

enum { WANTED = 25, TRIES = 20000 };

/* How many damaged cases were seen; sets *missed to those that passed. */
static int strike_all(enum check kind, uint64_t seed, int *missed) {
    chance draws = {0};
    int struck = 0;
    for (uint64_t i = 0; i < TRIES && struck < WANTED; i++) {
        checker c = {.chance = &draws, .damage = kind};
        chance_seed(&draws, seed + i);
        bool passed = check_case(&c);
        if (!c.damaged) continue;
        checker sound = {.chance = &draws}; /* the same case, to see that nothing but the damage made it fail */
        draws.replay = true;
        draws.at = 0;
        struck++;
        *missed += passed || !check_case(&sound);
    }
    chance_free(&draws);
    return struck;
}

int main(void) {
    uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    int bad = 0, total = 0;
    printf("seed %" PRIu64 "\n", seed);
    for (int kind = CHECK_NONE + 1; kind < CHECK_KINDS; kind++) {
        int missed = 0, struck = strike_all((enum check)kind, seed, &missed);
        total += struck;
        if (struck == WANTED && !missed) continue;
        fprintf(stderr, "%s: %d damaged, %d of them not noticed\n", check_name((enum check)kind), struck, missed);
        bad++;
    }
    printf("%d kinds of comparison, %d damaged results, %d kinds that do not notice\n", CHECK_KINDS - 1, total, bad);
    return bad ? 1 : 0;
}
