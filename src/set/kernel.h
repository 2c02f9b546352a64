/* kernel.h: the innermost copy: equal blocks, from one stride to another. */
#ifndef SLUICE_SET_KERNEL_H
#define SLUICE_SET_KERNEL_H

#include <stdint.h>

/* How blocks lie on one side: from block to block within a group, and from group to group. */
typedef struct sluice_stride {
    int64_t step, outer;
} sluice_stride;

/* `groups` groups of n blocks of len bytes. step == len is a contiguous group; the outer stride of one group and the
 * step of one block do not matter. */
typedef struct sluice_blocks {
    int64_t len, n, groups;
    sluice_stride dst, src;
} sluice_blocks;

/* Copies them. Needs len >= 1, n and groups >= 0, and blocks and sides that do not overlap; any alignment. Writes the
 * blocks and nothing else. Reads nothing outside the groups, but may read what lies between blocks of a group that are
 * a few bytes apart. */
void sluice_kernel_copy(unsigned char *dst, const unsigned char *src, const sluice_blocks *c);

/* Copies len bytes, len >= 0, as memcpy does, and as fast wherever the two lie in their pages. */
void sluice_kernel_run(unsigned char *dst, const unsigned char *src, int64_t len);

/* A loop for some shapes; what it needs beside the above is said where it is chosen. */
typedef void sluice_kernel(unsigned char *restrict dst, const unsigned char *restrict src, const sluice_blocks *c);

/* The loop with vectors for short blocks that become packed, c->dst.step == c->len; NULL if there is none. */
sluice_kernel *sluice_sieve_choose(const sluice_blocks *c);

/* ---- What kernels are written with ----------------------------------------------------------------------------- */

#define ALWAYS static inline __attribute__((always_inline))

/* Keeps the compiler from seeing through a pointer or step of a loop: from steps that it does not know it would derive
 * more addresses than there are registers, and load them from the stack in each turn. */
#define OPAQUE(P) __asm__("" : "+r"(P))

#endif
