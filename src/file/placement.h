/* placement.h: where each byte of a file belongs: the partition of one process, several that hold copies, or the part
 * that all share. What a plan file says (docs/FORMAT.md).
 *
 *     file       0         10        20        30
 *                AAAAAAAAAABBBBBCC.............AAAAAAAAAA...
 *     subfile 0  AAAAAAAAAAAAAAAAAAAA...BBBBB            private group A, and a copy of B
 *     subfile 1  CCBBBBB                                 private group C, and a copy of B
 *     subfile 2  .............                           shared: what no group names
 *
 * A group is a set of bytes of the file with one class and the same holders. In each of these it lies at a set of the
 * same size, k-th byte at k-th byte, mostly a block. Subfile p is the partition of process p, subfile nprocs the shared
 * part.
 */
#ifndef SLUICE_PLACEMENT_H
#define SLUICE_PLACEMENT_H

#include "file/file.h"

enum { SLUICE_MAX_GROUPS = 65536, SLUICE_MAX_PLAN = 16 << 20 };

typedef enum sluice_sharing {
    SLUICE_PLACE_PRIVATE,    /* one process alone uses it */
    SLUICE_PLACE_REPLICATED, /* several read it, nobody writes */
    SLUICE_PLACE_BROADCAST,  /* one writes it, several read it later */
    SLUICE_PLACE_SHARED      /* all else */
} sluice_sharing;

typedef struct sluice_placement_group {
    sluice_set bytes; /* of the file */
    sluice_sharing place;
    int n;          /* subfiles that hold it; subfile[0] has the primary copy */
    int *subfile;   /* each once */
    sluice_set *at; /* in each of them */
} sluice_placement_group;

typedef struct sluice_placement {
    char *name; /* of the file */
    int64_t size;
    int nprocs;
    sluice_target_name *target; /* nprocs + 1: of each subfile */
    int ngroups;
    sluice_placement_group *group;
} sluice_placement;

/* placement.c. Pure. "private" ... "shared". */
const char *sluice_sharing_name(sluice_sharing place);

/* placement.c. Pure. A placement without groups, all on the target "."; free gives it back, with the groups. */
int sluice_placement_make(sluice_placement **out, const char *name, int64_t size, int nprocs);
void sluice_placement_free(sluice_placement *p);
void sluice_placement_group_free(sluice_placement_group *g);

/* placement.c. Pure. 0 if groups share no byte, lie in the file, go with their classes, and fill each subfile without
 * gaps; else SLUICE_E_FORMAT with the culprit, or SLUICE_E_COMPLEX where that would take too long to see. */
int sluice_placement_check(const sluice_placement *p, sluice_reason *why);

/* placement.c. Pure. The bytes that no group names; those that groups have in subfile i. */
int sluice_placement_rest(sluice_set *out, const sluice_placement *p);
int64_t sluice_placement_bytes(const sluice_placement *p, int i);

/* placement.c. Pure. The union of n sets by halves; SLUICE_E_COMPLEX if it has more than some million families. */
int sluice_placement_union(sluice_set *out, const sluice_set *const *set, int64_t n);

/* planfile.c. Pure. The text of a plan file, which the caller frees with sluice_mem_free(); and back, checked. The
 * sentence starts with "plan: ". */
int sluice_placement_format(const sluice_placement *p, char **text, int64_t *len, sluice_reason *why);
int sluice_placement_parse(sluice_placement **out, const char *text, int64_t len, sluice_reason *why);

#endif
