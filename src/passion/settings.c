/* settings.c: what PASSION's calls have no parameter for is set once for the library. */
#include "passion/inside.h"
#include <stdatomic.h>

static _Atomic int base = 1, nprocs = 1, placement = PASSION_LOCAL;

int sluice_settings_base(void) { return atomic_load(&base); }
int sluice_settings_nprocs(void) { return atomic_load(&nprocs); }
int sluice_settings_placement(void) { return atomic_load(&placement); }

int PASSION_set_base(int value) {
    if (value != 0 && value != 1)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_set_base: indices count from 0 or 1, not from %d", value);
    atomic_store(&base, value);
    return 0;
}

int PASSION_set_nprocs(int value) {
    if (value < 1) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_set_nprocs: a group of %d processes", value);
    atomic_store(&nprocs, value);
    return 0;
}

int PASSION_set_placement(int value) {
    if (value != PASSION_LOCAL && value != PASSION_GLOBAL)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_set_placement: unknown model %d", value);
    atomic_store(&placement, value);
    return 0;
}
