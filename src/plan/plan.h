/* plan.h: from what a program accessed to where each byte belongs.
 *
 *     profile.c   the accesses of a trace to one file, equal ones made one         trace -> profile
 *     atoms.c     split where any access begins or ends, with who uses each        profile -> atoms
 *     greedy.c    which partitions hold them, in which order                       atoms -> placement
 *     lift.c      what it would be for other numbers of processes and other sizes  profile -> pattern -> profile
 *     evaluate.c  what a layout would cost (evaluate.h)
 *
 * The greedy partitioning is that of the paper on profile-guided I/O partitioning: each process has a partition, on a
 * disk of its own, and there is one part that all share.
 *
 *     only one process uses it                       private      its partition
 *     several read it, nobody writes it              replicated   a copy in the partition of each
 *     one writes it, several read it later           broadcast    a copy in the partition of each of these readers
 *     all else                                       shared       the shared part
 *
 * "Later" is after the first write; the writer counts if it reads. Within a partition, what was used first comes first,
 * and what was first used at the same time in the order of the file. All of it is algebra on sets: atoms that are used
 * alike are one set, however many chunks they are, unless sets meet that have no closed form together; these become
 * lists of chunks, up to a limit.
 */
#ifndef SLUICE_PLAN_INTERNAL_H
#define SLUICE_PLAN_INTERNAL_H

#include "file/placement.h"
#include "trace/trace.h"

/* ---- Profiles ---- */

/* An access, or several by the same process to the same bytes. `set` is empty if they are one run. */
typedef struct sluice_use {
    int32_t proc, file;
    bool write, collective;
    int64_t n, first, last; /* how often, and when the first and the last began */
    sluice_run run;         /* from the first byte to the last */
    sluice_set set;
} sluice_use;

typedef struct sluice_profile {
    int nprocs;
    int64_t n, cap;
    sluice_use *use;
} sluice_profile;

enum { SLUICE_PROFILE_USES = 1 << 22 }; /* most that are handled */

/* profile.c. Pure. One access more, of the bytes of `set` shifted by off; nothing if there are none. */
int sluice_profile_add(sluice_profile *p, const sluice_use *like, const sluice_set *set, int64_t off);
void sluice_profile_free(sluice_profile *p);

/* profile.c. Pure. All accesses of a trace to file number `file`. SLUICE_E_COMPLEX: more than can be handled. */
int sluice_profile_take(sluice_profile *out, const sluice_trace *t, int file, sluice_reason *why);

/* profile.c. Pure. The bytes of a use as a set, which the caller frees. */
int sluice_use_set(sluice_set *out, const sluice_use *u);

/* profile.c. Pure. Sorts by (file, first byte, length, set, process, direction, time) and makes one of what differs in
 * time only. */
void sluice_profile_settle(sluice_profile *p);
int sluice_use_order(const sluice_use *a, const sluice_use *b); /* by (file, first byte, length, set) */

/* ---- Atoms ---- */

/* How one process uses an atom. */
typedef struct sluice_tally {
    int proc;
    int64_t reads, writes; /* accesses */
} sluice_tally;

/* Bytes that are used alike. */
typedef struct sluice_atom {
    int32_t file;
    sluice_sharing place;
    int64_t holders; /* number of the list */
    int64_t first;   /* when it was first used, by anyone */
    sluice_run run;
    sluice_set set; /* empty if it is one run */
    int64_t tally, ntally;
} sluice_atom;

/* Lists of subfiles, each once. */
typedef struct sluice_holders {
    int64_t n, cap;
    struct sluice_holder_list {
        int64_t at;
        int n;
    } * list;
    int64_t npool, pool_cap;
    int *pool;
    int64_t nslots, *slot; /* a hash table of list numbers + 1 */
} sluice_holders;

typedef struct sluice_atoms {
    int nprocs;
    int64_t n, cap;
    sluice_atom *atom;
    int64_t ntally, tally_cap;
    sluice_tally *tally;
    sluice_holders holders;
} sluice_atoms;

/* atoms.c. Pure. Of a settled profile. dominance > 0: what one process makes that part of all accesses to, or more, is
 * private to it. SLUICE_E_COMPLEX where it would become too many lists of chunks. */
int sluice_atoms_make(sluice_atoms *out, const sluice_profile *p, double dominance, sluice_reason *why);
void sluice_atoms_free(sluice_atoms *a);

/* holders.c. Pure. The number of a list, which is added if it is new; negative: -ENOMEM. */
int64_t sluice_holders_intern(sluice_holders *h, const int *subfile, int n);
void sluice_holders_free(sluice_holders *h);

/* ---- Placing ---- */

/* Groups of one or more files, in the same partitions. */
typedef struct sluice_greedy {
    int n;
    sluice_placement_group *group;
    int32_t *file; /* of each group */
} sluice_greedy;

/* greedy.c. Pure. Lays the atoms down by their first use. */
int sluice_greedy_make(sluice_greedy *out, const sluice_atoms *a, sluice_reason *why);
void sluice_greedy_free(sluice_greedy *g);

/* greedy.c. Pure. The plan for a file of that name and size from a profile of it alone, which is settled first. */
int sluice_greedy_place(sluice_placement **out, sluice_profile *p, const char *name, int64_t size, double dominance,
                        sluice_reason *why);

#endif
