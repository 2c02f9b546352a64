/* kernel.h: the innermost copy: equal blocks, from one stride to another. */
#ifndef SLUICE_SET_KERNEL_H
#define SLUICE_SET_KERNEL_H

#include <stdint.h>

/* `groups` groups of n blocks of len bytes. On either side the blocks of a group are `step` apart and the groups
 * `outer`; step == len is a contiguous side. With one group, outer does not matter. */
typedef struct sluice_copy {
    int64_t len;
    int64_t n, dstep, sstep;
    int64_t groups, douter, souter;
} sluice_copy;

/* Copies. Needs len >= 1, n and groups >= 0, and blocks that do not overlap; any alignment; the sides must not
 * overlap. Writes the blocks and nothing else. Reads nothing before a group's first block or after its last one, but
 * may read what lies between blocks a few bytes apart. */
void sluice_kernel_copy(unsigned char *dst, const unsigned char *src, const sluice_copy *c);

#endif
