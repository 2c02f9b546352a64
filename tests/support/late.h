/* late.h: a shim in front of a store that carries requests out when they are waited for, not when they are submitted,
 * as a ring may. Until then the memory of reads holds garbage. To submit twice without a wait, to wait for something
 * else than was submitted, and to close while something is under way end the program. */
#ifndef SLUICE_TESTS_LATE_H
#define SLUICE_TESTS_LATE_H

#include "store/store.h"

/* Local. `depth` requests may be under way. A shim that could not be made leaves the inner store open. */
int late_open(sluice_store **out, sluice_store *inner, int depth);

#endif
