/* kernel.h: the innermost copy: equal blocks, from one stride to another. */
#ifndef SLUICE_SET_KERNEL_H
#define SLUICE_SET_KERNEL_H

#include <stdint.h>

/* Copies n blocks of len bytes: block i from src + i * sstep to dst + i * dstep. Needs len >= 1, n >= 0, and steps
 * >= len when n > 1; any alignment; the sides must not overlap. Writes the blocks and nothing else. Reads nothing
 * before the first block or after the last one, but may read what lies between blocks a few bytes apart. */
typedef void sluice_kernel(unsigned char *restrict dst, int64_t dstep, const unsigned char *restrict src, int64_t sstep,
                           int64_t len, int64_t n);

/* The kernel for this shape, to be called with the same len and steps. Never NULL. For callers with many families of
 * one shape; others use sluice_kernel_copy. */
sluice_kernel *sluice_kernel_choose(int64_t len, int64_t dstep, int64_t sstep);

static inline void sluice_kernel_copy(unsigned char *dst, int64_t dstep, const unsigned char *src, int64_t sstep,
                                      int64_t len, int64_t n) {
    sluice_kernel_choose(len, dstep, sstep)(dst, dstep, src, sstep, len, n);
}

#endif
