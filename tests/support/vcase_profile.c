/* vcase_profile.c: profiles: atoms, their classes and users, and where the partitions have them. */
#include "plan/plan.h"
#include "support/vcase.h"
#include <stdlib.h>
#include <string.h>

static void read_profile(vcase *c, sluice_profile *p, const json_t *list) {
    for (size_t i = 0; i < json_array_size(list) && !c->failed; i++) {
        const json_t *r = vcase_array_at(c, list, i, "profile");
        const char *way = json_string_value(json_array_get(r, 4));
        sluice_set s = SLUICE_SET_EMPTY;
        const sluice_use like = {.proc = (int32_t)vcase_at(c, r, 0, "profile"),
                                 .file = (int32_t)vcase_at(c, r, 1, "profile"),
                                 .write = way && *way == 'W',
                                 .n = 1,
                                 .first = vcase_at(c, r, 5, "profile"),
                                 .last = vcase_at(c, r, 5, "profile")};
        if (!way || like.proc < 0 || like.proc >= p->nprocs) vcase_fail(c, "malformed: record %zu of profile", i);
        if (vcase_ok(c, sluice_set_block(&s, vcase_at(c, r, 2, "profile"), vcase_at(c, r, 3, "profile")), NULL,
                     "block"))
            vcase_ok(c, sluice_profile_add(p, &like, &s, 0), NULL, "add");
        sluice_set_free(&s);
    }
}

/* The accesses of each process, as an object says them. */
static void same_counts(vcase *c, const json_t *chunk, const char *key, const sluice_atoms *a, const sluice_atom *x,
                        size_t number) {
    const json_t *o = vcase_field(c, chunk, key, JSON_OBJECT);
    size_t met = 0;
    for (int64_t k = 0; k < x->ntally && !c->failed; k++) {
        const sluice_tally *t = &a->tally[x->tally + k];
        const int64_t got = *key == 'r' ? t->reads : t->writes;
        char name[16];
        snprintf(name, sizeof name, "%d", t->proc);
        vcase_same(c, json_integer_value(json_object_get(o, name)), got, "%s of chunk %zu by %s", key, number, name);
        met += got > 0;
    }
    vcase_same(c, (int64_t)json_object_size(o), (int64_t)met, "processes in %s of chunk %zu", key, number);
}

static bool has(const sluice_atom *a, int64_t x) {
    return a->set.size ? sluice_set_contains(&a->set, x) : x >= a->run.off && x < a->run.off + a->run.len;
}

static void same_chunk(vcase *c, const json_t *chunk, size_t number, const sluice_atoms *a) {
    static const char *const name[] = {"PRIVATE", "REPLICATE", "BROADCAST", "SHARED"};
    const int64_t file = vcase_int(c, chunk, "file"), off = vcase_int(c, chunk, "offset");
    const int64_t len = vcase_int(c, chunk, "length");
    const sluice_atom *x = NULL;
    for (int64_t i = 0; i < a->n; i++)
        if (a->atom[i].file == file && has(&a->atom[i], off)) x = &a->atom[i];
    if (!x) vcase_fail(c, "no atom has the first byte of chunk %zu", number);
    if (c->failed) return;
    if (!x->set.size) {
        vcase_same(c, off, x->run.off, "offset of chunk %zu", number);
        vcase_same(c, len, x->run.len, "length of chunk %zu", number);
    }
    const char *class = vcase_text(c, chunk, "class");
    if (strcmp(class, name[x->place]) != 0) vcase_fail(c, "chunk %zu is %s, not %s", number, name[x->place], class);
    vcase_same(c, vcase_int(c, chunk, "first"), x->first, "first use of chunk %zu", number);
    const json_t *targets = vcase_array(c, chunk, "targets");
    const struct sluice_holder_list *l = &a->holders.list[x->holders];
    vcase_same(c, (int64_t)json_array_size(targets), l->n, "targets of chunk %zu", number);
    for (int k = 0; k < l->n && !c->failed; k++) {
        const char *want = json_string_value(json_array_get(targets, (size_t)k));
        const int got = a->holders.pool[l->at + k];
        vcase_same(c,
                   want && !strcmp(want, "shared") ? a->nprocs
                   : want                          ? atoi(want)
                                                   : -1,
                   got, "target %d of chunk %zu", k, number);
    }
    same_counts(c, chunk, "reads", a, x, number);
    same_counts(c, chunk, "writes", a, x, number);
}

/* Where byte x of a file lies in a subfile; -1: not there. */
static int64_t find(const sluice_greedy *g, int64_t file, int64_t x, int subfile) {
    for (int i = 0; i < g->n; i++)
        if (g->file[i] == file && sluice_set_contains(&g->group[i].bytes, x))
            for (int k = 0; k < g->group[i].n; k++)
                if (g->group[i].subfile[k] == subfile)
                    return sluice_set_select(&g->group[i].at[k], sluice_set_rank(&g->group[i].bytes, x));
    return -1;
}

static void same_partition(vcase *c, int i, const sluice_greedy *g, int nprocs) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    const json_t *o =
        vcase_field(c, vcase_field(c, c->json, "partitions", JSON_OBJECT), i < nprocs ? name : "shared", JSON_OBJECT);
    const json_t *list = vcase_array(c, o, "order"), *chunks = vcase_array(c, c->json, "chunks");
    int64_t bytes = 0;
    for (int k = 0; k < g->n; k++)
        for (int j = 0; j < g->group[k].n; j++) bytes += g->group[k].subfile[j] == i ? g->group[k].bytes.size : 0;
    vcase_same(c, vcase_int(c, o, "bytes"), bytes, "bytes of partition %d", i);
    for (size_t k = 0; k < json_array_size(list) && !c->failed; k++) {
        const int64_t *v = vcase_ints(c, vcase_array_at(c, list, k, "order"), 2, NULL, "order");
        if (c->failed) return;
        const json_t *chunk = json_array_get(chunks, (size_t)v[0]);
        const int64_t file = vcase_int(c, chunk, "file"), off = vcase_int(c, chunk, "offset");
        const int64_t len = vcase_int(c, chunk, "length");
        for (int64_t b = 0; b < len && !c->failed; b++)
            vcase_same(c, v[1] + b, find(g, file, off + b, i), "byte %lld of chunk %lld in partition %d", (long long)b,
                       (long long)v[0], i);
    }
}

void vcase_profile(vcase *c) {
    sluice_profile p = {.nprocs = (int)vcase_int(c, c->json, "nprocs")};
    sluice_atoms a = {0};
    sluice_greedy g = {0};
    sluice_reason why = {0};
    const json_t *chunks = vcase_array(c, c->json, "chunks");
    if (p.nprocs < 1 || p.nprocs > 1000) vcase_fail(c, "malformed: nprocs");
    if (!c->failed) read_profile(c, &p, vcase_array(c, c->json, "profile"));
    if (!c->failed) {
        sluice_profile_settle(&p);
        vcase_ok(c, sluice_atoms_make(&a, &p, 0, &why), &why, "atoms");
    }
    if (!c->failed) vcase_ok(c, sluice_greedy_make(&g, &a, &why), &why, "greedy");
    for (size_t i = 0; i < json_array_size(chunks) && !c->failed; i++) same_chunk(c, json_array_get(chunks, i), i, &a);
    if (!c->failed) vcase_same(c, (int64_t)json_array_size(chunks), a.n, "chunks");
    for (int i = 0; i <= p.nprocs && !c->failed; i++) same_partition(c, i, &g, p.nprocs);
    sluice_greedy_free(&g);
    sluice_atoms_free(&a);
    sluice_profile_free(&p);
}
