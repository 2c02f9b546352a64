/* limit.c: limits of work, which a test may lower. */
#include "base.h"
#include <stdatomic.h>

static _Atomic int64_t lowered = INT64_MAX;

int64_t sluice_work_limit(int64_t limit) {
    return sluice_min(limit, atomic_load_explicit(&lowered, memory_order_relaxed));
}

void sluice_work_limit_set(int64_t most) { atomic_store(&lowered, most); }
