/* placement.c: see placement.h. */
#include "file/placement.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FAMILIES = 1 << 20 }; /* of a union on its way */

const char *sluice_sharing_name(sluice_sharing place) {
    static const char *const name[] = {"private", "replicated", "broadcast", "shared"};
    return name[place];
}

/* ---- Making ---- */

void sluice_placement_group_free(sluice_placement_group *g) {
    sluice_set_free(&g->bytes);
    for (int i = 0; g->at && i < g->n; i++) sluice_set_free(&g->at[i]);
    sluice_mem_free(g->subfile);
    sluice_mem_free(g->at);
}

void sluice_placement_free(sluice_placement *p) {
    if (!p) return;
    for (int i = 0; i < p->ngroups; i++) sluice_placement_group_free(&p->group[i]);
    sluice_mem_free(p->group);
    sluice_mem_free(p->target);
    sluice_mem_free(p->name);
    sluice_mem_free(p);
}

int sluice_placement_make(sluice_placement **out, const char *name, int64_t size, int nprocs) {
    sluice_placement *p = sluice_mem_alloc(1, sizeof *p);
    if (!p) return -ENOMEM;
    *p = (sluice_placement){.size = size, .nprocs = nprocs};
    p->name = sluice_mem_alloc(strlen(name) + 1, 1);
    p->target = sluice_mem_alloc((size_t)nprocs + 1, sizeof *p->target);
    if (!p->name || !p->target) {
        sluice_placement_free(p);
        return -ENOMEM;
    }
    strcpy(p->name, name);
    for (int i = 0; i <= nprocs; i++) strcpy(p->target[i].text, ".");
    *out = p;
    return 0;
}

/* ---- Asking ---- */

int sluice_placement_union(sluice_set *out, const sluice_set *const *set, int64_t n) {
    sluice_set a = SLUICE_SET_EMPTY, b = SLUICE_SET_EMPTY;
    if (n == 0) {
        sluice_set_free(out);
        return 0;
    }
    if (n == 1) return sluice_set_copy(out, set[0]);
    int error = sluice_placement_union(&a, set, n / 2);
    if (!error) error = sluice_placement_union(&b, set + n / 2, n - n / 2);
    if (!error) error = sluice_set_union(&a, &a, &b);
    if (!error && a.nnode > MAX_FAMILIES) error = SLUICE_E_COMPLEX;
    sluice_set_free(&b);
    if (error) {
        sluice_set_free(&a);
        return error;
    }
    sluice_set_free(out);
    *out = a;
    return 0;
}

static int union_of_bytes(sluice_set *out, const sluice_placement *p) {
    const sluice_set **list = sluice_mem_alloc((size_t)p->ngroups + 1, sizeof *list);
    if (!list) return -ENOMEM;
    for (int i = 0; i < p->ngroups; i++) list[i] = &p->group[i].bytes;
    const int error = sluice_placement_union(out, list, p->ngroups);
    sluice_mem_free(list);
    return error;
}

int sluice_placement_rest(sluice_set *out, const sluice_placement *p) {
    sluice_set named = SLUICE_SET_EMPTY, all = SLUICE_SET_EMPTY;
    int error = union_of_bytes(&named, p);
    if (!error) error = sluice_set_block(&all, 0, p->size);
    if (!error) error = sluice_set_subtract(out, &all, &named);
    sluice_set_free(&named);
    sluice_set_free(&all);
    return error;
}

int64_t sluice_placement_bytes(const sluice_placement *p, int i) {
    int64_t sum = 0;
    for (int g = 0; g < p->ngroups; g++)
        for (int k = 0; k < p->group[g].n; k++)
            if (p->group[g].subfile[k] == i) sum += p->group[g].bytes.size;
    return sum;
}

/* ---- Checking ---- */

#define REFUSE(...) sluice_refuse(why, SLUICE_E_FORMAT, -1, __VA_ARGS__)

/* An entry of `at`, to be sorted by subfile. */
typedef struct entry {
    int subfile, group;
    const sluice_set *at;
} entry;

static int by_subfile(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->subfile != y->subfile) return x->subfile < y->subfile ? -1 : 1;
    return x->group - y->group;
}

static int check_group(const sluice_placement *p, int i, sluice_reason *why) {
    const sluice_placement_group *g = &p->group[i];
    const char *name = sluice_sharing_name(g->place);
    if (g->bytes.size == 0) return REFUSE("group %d has no bytes", i);
    if (sluice_set_hi(&g->bytes) > p->size)
        return REFUSE("group %d has byte %" PRId64 "; the file has %" PRId64, i, sluice_set_hi(&g->bytes) - 1, p->size);
    const bool one = g->place == SLUICE_PLACE_PRIVATE || g->place == SLUICE_PLACE_SHARED;
    if (one ? g->n != 1 : g->n < 2)
        return REFUSE("group %d is %s and has %d subfile%s", i, name, g->n, g->n == 1 ? "" : "s");
    for (int k = 0; k < g->n; k++) {
        if (g->subfile[k] < 0 || g->subfile[k] > p->nprocs ||
            (g->subfile[k] == p->nprocs) != (g->place == SLUICE_PLACE_SHARED))
            return REFUSE("group %d is %s and names subfile %d of %d processes", i, name, g->subfile[k], p->nprocs);
        if (g->at[k].size != g->bytes.size)
            return REFUSE("group %d has %" PRId64 " bytes, but %" PRId64 " in subfile %d", i, g->bytes.size,
                          g->at[k].size, g->subfile[k]);
    }
    return 0;
}

/* The entries of one subfile are [0, sum of their sizes). */
static int check_subfile(const entry *e, int64_t n, const sluice_set **list, sluice_reason *why) {
    sluice_set all = SLUICE_SET_EMPTY;
    int64_t sum = 0;
    for (int64_t k = 0; k < n; k++) {
        list[k] = e[k].at;
        if (k && e[k].group == e[k - 1].group) return REFUSE("group %d names subfile %d twice", e[k].group, e->subfile);
        if (!sluice_add(sum, e[k].at->size, &sum)) return REFUSE("subfile %d passes 2^63-1 bytes", e->subfile);
    }
    const int error = sluice_placement_union(&all, list, n);
    const int64_t size = all.size, hi = sluice_set_hi(&all);
    sluice_set_free(&all);
    if (error) return sluice_refuse(why, error, -1, "subfile %d: %s", e->subfile, sluice_strerror(error));
    if (size != sum) return REFUSE("two groups lie at the same place in subfile %d", e->subfile);
    if (hi != sum)
        return REFUSE("subfile %d has a gap: %" PRId64 " bytes up to byte %" PRId64, e->subfile, sum, hi - 1);
    return 0;
}

static int check_subfiles(const sluice_placement *p, entry *e, const sluice_set **list, sluice_reason *why) {
    int64_t n = 0, end;
    for (int i = 0; i < p->ngroups; i++)
        for (int k = 0; k < p->group[i].n; k++) e[n++] = (entry){p->group[i].subfile[k], i, &p->group[i].at[k]};
    qsort(e, (size_t)n, sizeof *e, by_subfile);
    for (int64_t k = 0; k < n; k = end) {
        for (end = k + 1; end < n && e[end].subfile == e[k].subfile;) end++;
        const int error = check_subfile(&e[k], end - k, list, why);
        if (error) return error;
    }
    return 0;
}

static int check_bytes(const sluice_placement *p, sluice_reason *why) {
    sluice_set all = SLUICE_SET_EMPTY;
    int64_t sum = 0;
    for (int i = 0; i < p->ngroups; i++)
        if (!sluice_add(sum, p->group[i].bytes.size, &sum)) return REFUSE("two groups have the same bytes of the file");
    const int error = union_of_bytes(&all, p);
    const int64_t size = all.size;
    sluice_set_free(&all);
    if (error) return sluice_refuse(why, error, -1, "the bytes of all groups: %s", sluice_strerror(error));
    return size == sum ? 0 : REFUSE("two groups have the same bytes of the file");
}

int sluice_placement_check(const sluice_placement *p, sluice_reason *why) {
    int64_t n = 0;
    int error = 0;
    for (int i = 0; i < p->ngroups && !error; i++) {
        error = check_group(p, i, why);
        n += p->group[i].n;
    }
    if (error || n == 0) return error;
    if ((error = check_bytes(p, why))) return error;
    entry *e = sluice_mem_alloc((size_t)n, sizeof *e);
    const sluice_set **list = sluice_mem_alloc((size_t)n, sizeof *list);
    error = e && list ? check_subfiles(p, e, list, why) : sluice_pass(why, -ENOMEM);
    sluice_mem_free(e);
    sluice_mem_free(list);
    return error;
}
