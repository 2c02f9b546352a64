/* ranks: 1 */
/* plan_lift.c: array structure found in accesses, and plans foretold from it: the plan made from the accesses of 4
 * processes is, for 16, the plan of the accesses of 16. The accesses are computed from the definitions of known
 * programs: BT, tiles that overlap, a block of each process, records, a picture by lines.
 */
#include "plan/lift.h"
#include "support/programs.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>

/* ---- Plans ---- */

static int64_t end_of(const sluice_profile *p) {
    int64_t end = 0;
    for (int64_t i = 0; i < p->n; i++) end = sluice_max(end, p->use[i].run.off + p->use[i].run.len);
    return end;
}

/* The text of the plan of accesses, by way of what is found in them, as `sluice plan` makes it. */
static char *plan_of(const sluice_profile *p, int64_t elem, const sluice_scaling *s, const sluice_profile *sample) {
    sluice_lift *l = NULL;
    sluice_profile told = {0};
    sluice_placement *plan = NULL;
    sluice_reason why = {0};
    char *text = NULL;
    int64_t len;
    const sluice_scaling same = {.nprocs = p->nprocs, .factor = 1};
    int error = sluice_lift_make(&l, p, elem, &why);
    if (!error && sample) error = sluice_lift_decide(l, sample, &why);
    if (!error) error = sluice_lift_scale(&told, l, s ? s : &same, NULL, &why);
    if (!error) error = sluice_greedy_place(&plan, &told, "f", end_of(&told), 0, &why);
    if (!error) error = sluice_placement_check(plan, &why);
    if (!error) error = sluice_placement_format(plan, &text, &len, &why);
    CHECK(!error, "%d: %s", error, why.text);
    char *copy = text ? strndup(text, (size_t)len) : NULL;
    sluice_mem_free(text);
    sluice_placement_free(plan);
    sluice_profile_free(&told);
    sluice_lift_free(l);
    return copy;
}

/* From `few` processes and a size to others. */
static void foretell(const program *of, int few, int64_t size, int64_t steps, sluice_scaling s, int64_t size2,
                     int64_t steps2) {
    sluice_profile before, after;
    CHECK(!program_run(&before, of, few, size, steps) && !program_run(&after, of, s.nprocs, size2, steps2));
    char *told = plan_of(&before, 0, &s, NULL), *really = plan_of(&after, 0, NULL, NULL);
    char *sampled = plan_of(&before, 0, &(sluice_scaling){.nprocs = s.nprocs, .factor = s.factor}, &after);
    CHECK(told && really && !strcmp(told, really), "%s, %d to %d:\n%.600s\n%.600s", of->name, few, s.nprocs,
          told ? told : "", really ? really : "");
    CHECK(sampled && really && !strcmp(sampled, really), "%s, %d to %d, by a sample", of->name, few, s.nprocs);
    free(told);
    free(really);
    free(sampled);
    sluice_profile_free(&before);
    sluice_profile_free(&after);
}

/* What was found, as it is told to people. */
static void says(const program *of, int n, int64_t size, int64_t steps, const char *text) {
    char *said = NULL;
    size_t len;
    sluice_profile p;
    sluice_lift *l = NULL;
    sluice_reason why = {0};
    FILE *f = open_memstream(&said, &len);
    CHECK(f && !program_run(&p, of, n, size, steps));
    CHECK(!sluice_lift_make(&l, &p, 0, &why), "%s", why.text);
    if (l) sluice_lift_print(l, f);
    fclose(f);
    CHECK(strstr(said, text), "%s: not '%s' in\n%s", of->name, text, said);
    free(said);
    sluice_lift_free(l);
    sluice_profile_free(&p);
}

/* ---- What cannot be foretold ---- */

static void refusals(void) {
    sluice_profile p, told = {0};
    sluice_lift *l = NULL;
    sluice_reason why = {0};
    CHECK(!program_run(&p, program_named("bt"), 4, 12, 1) && !sluice_lift_make(&l, &p, 40, NULL));
    CHECK(sluice_lift_scale(&told, l, &(sluice_scaling){.nprocs = 8, .factor = 1}, NULL, &why) == SLUICE_E_ARGUMENT);
    CHECK(strstr(why.text, "square numbers"), "%s", why.text);
    sluice_lift_free(l);
    l = NULL;
    CHECK(sluice_lift_make(&l, &p, 7, &why) == SLUICE_E_ARGUMENT && strstr(why.text, "whole elements of 7"), "%s",
          why.text);
    p.use[0].write = !p.use[0].write;
    CHECK(sluice_lift_make(&l, &p, 0, &why) == SLUICE_E_ARGUMENT && !l, "%s", why.text);
    sluice_profile_free(&p);
    CHECK(!program_run(&p, program_named("stray"), 5, 100, 1));
    if (!sluice_lift_make(&l, &p, 0, &why)) {
        CHECK(sluice_lift_scale(&told, l, &(sluice_scaling){.nprocs = 6, .factor = 1}, NULL, &why) == SLUICE_E_ARGUMENT,
              "squares are foretold");
        sluice_lift_free(l);
        l = NULL;
    }
    sluice_profile_free(&told);
    sluice_profile_free(&p);
    CHECK(!program_run(&p, program_named("perf"), 1, 100, 1) && !sluice_lift_make(&l, &p, 0, NULL));
    CHECK(sluice_lift_scale(&told, l, &(sluice_scaling){.nprocs = 2, .factor = 1}, NULL, &why) == SLUICE_E_ARGUMENT);
    sluice_lift_free(l);
    sluice_profile_free(&p);
}

static void no_memory(void) {
    sluice_profile p;
    CHECK(!program_run(&p, program_named("tile"), 4, 16, 2));
    int error = -ENOMEM;
    const int64_t live = sluice_mem_live();
    int64_t n;
    for (n = 1; error && n < 5000; n++) {
        sluice_lift *l = NULL;
        sluice_profile told = {0};
        sluice_mem_fail_nth(n);
        error = sluice_lift_make(&l, &p, 0, NULL);
        if (!error) error = sluice_lift_scale(&told, l, &(sluice_scaling){.nprocs = 9, .factor = 1}, NULL, NULL);
        sluice_mem_fail_nth(0);
        CHECK(error == 0 || error == -ENOMEM, "request %" PRId64 ": %d", n, error);
        sluice_profile_free(&told);
        sluice_lift_free(l);
        CHECK(sluice_mem_live() == live, "request %" PRId64 " leaks", n);
    }
    CHECK(error == 0 && n > 50);
    sluice_profile_free(&p);
}

int main(void) {
    const int array = SLUICE_KEEP_ARRAY, block = SLUICE_KEEP_BLOCK, records = SLUICE_KEEP_RECORDS;
    /* As it is assumed without a word, */
    foretell(program_named("bt"), 4, 102, 3, (sluice_scaling){16, 1, 0, 0}, 102, 3);
    foretell(program_named("bt"), 4, 102, 1, (sluice_scaling){25, 1, 0, 0}, 102, 1);
    foretell(program_named("bt"), 16, 102, 2, (sluice_scaling){4, 1, 0, 0}, 102, 2);
    foretell(program_named("tile"), 4, 64, 1, (sluice_scaling){16, 1, 0, 0}, 64, 1);
    foretell(program_named("tile"), 4, 64, 2, (sluice_scaling){16, 1, 0, 0}, 64, 2);
    foretell(program_named("tile"), 9, 32, 1, (sluice_scaling){25, 1, 0, 0}, 32, 1);
    foretell(program_named("perf"), 4, 1 << 20, 8, (sluice_scaling){16, 1, 0, 0}, 1 << 20, 8);
    foretell(program_named("perf"), 4, 1 << 20, 1, (sluice_scaling){16, 1, 0, 0}, 1 << 20, 1);
    /* and as it is told. */
    foretell(program_named("lines"), 4, 240, 1, (sluice_scaling){16, 1, records, 0}, 240, 1);
    foretell(program_named("halo"), 4, 96, 1, (sluice_scaling){16, 1, array, 0}, 96, 1);
    foretell(program_named("bt"), 4, 24, 2, (sluice_scaling){16, 1, array, 0}, 24, 2);
    /* Larger data: larger blocks, or more of them. */
    foretell(program_named("bt"), 4, 24, 2, (sluice_scaling){4, 8, 0, SLUICE_GROW_SIZE}, 48, 2);
    foretell(program_named("bt"), 4, 24, 2, (sluice_scaling){4, 3, 0, SLUICE_GROW_COUNT}, 24, 6);
    foretell(program_named("perf"), 4, 1000, 5, (sluice_scaling){4, 4, block, SLUICE_GROW_SIZE}, 4000, 5);
    foretell(program_named("perf"), 4, 1000, 5, (sluice_scaling){4, 4, block, SLUICE_GROW_COUNT}, 1000, 20);
    /* The chunks of BT, 102 points a side: 26 points of 40 bytes for 16, 20 for 25. */
    says(program_named("bt"), 4, 102, 2, "4: 2040, 9: 1360, 16: 1000 to 1040, 25: 800 to 840");
    says(program_named("bt"), 4, 102, 2, "an array of 2 x 102 x 102 x 102 elements of 40 bytes");
    says(program_named("perf"), 4, 1 << 20, 8, "the block of a process stays");
    refusals();
    no_memory();
    return verdict();
}
