/* vcase_falls.c: vectors about single sets: enumeration, PITFALLS, cutting, flat intersection, gather and scatter. */
#include "base/base.h"
#include "support/vcase.h"
#include <string.h>

void vcase_falls_enum(vcase *c) {
    const json_t *runs = vcase_array(c, c->json, "runs");
    int64_t size = vcase_int(c, c->json, "size");
    sluice_falls f = vcase_falls(c, vcase_array(c, c->json, "falls"), "falls");
    sluice_set *built = vcase_set(c);
    sluice_reason why = {0};
    if (c->failed || !vcase_ok(c, sluice_set_build(built, &(sluice_falls_list){1, &f}, &why), &why, "falls")) return;
    vcase_same(c, size, built->size, "size");
    vcase_same_runs(c, runs, built, 1, "runs");
    if (f.inner) return;
    sluice_set *direct = vcase_set(c);
    vcase_ok(c, sluice_set_falls(direct, f.off, f.len, f.step, f.n), NULL, "sluice_set_falls");
    vcase_same_runs(c, runs, direct, 1, "runs of sluice_set_falls");
}

void vcase_nested_enum(vcase *c) {
    const json_t *runs = vcase_array(c, c->json, "runs"), *written = vcase_array(c, c->json, "set");
    int64_t size = vcase_int(c, c->json, "size"), depth = vcase_int(c, c->json, "depth");
    bool canonical = vcase_bool(c, c->json, "canonical");
    sluice_set *s = vcase_build(c, written, "set");
    if (c->failed) return;
    vcase_same(c, size, s->size, "size");
    vcase_same_runs(c, runs, s, 1, "runs");
    const sluice_falls_list *list = vcase_list(c, written, "set");
    vcase_same(c, depth, vcase_list_depth(list), "depth");
    vcase_same(c, canonical, vcase_list_canonical(list), "canonical");
}

void vcase_pitfalls(vcase *c) {
    const int64_t *v = vcase_ints(c, vcase_array(c, c->json, "pitfalls"), 6, NULL, "pitfalls");
    const json_t *parts = vcase_array(c, c->json, "falls");
    if (c->failed) return;
    sluice_pitfalls p = {{v[0], 0, v[2], v[3], NULL}, v[4], (int)v[5]};
    if (__builtin_sub_overflow(v[1], v[0], &p.falls.len) || __builtin_add_overflow(p.falls.len, 1, &p.falls.len))
        vcase_fail(c, "malformed: the block passes 2^63");
    vcase_same(c, (int64_t)json_array_size(parts), v[5], "number of processes");
    for (int i = 0; i < p.nprocs && !c->failed; i++) {
        sluice_set *got = vcase_set(c), *expected = vcase_set(c);
        sluice_falls f = vcase_falls(c, vcase_array_at(c, parts, (size_t)i, "falls"), "falls");
        sluice_reason why = {0};
        if (c->failed || !vcase_ok(c, sluice_set_pitfalls(got, &p, i, &why), &why, "pitfalls") ||
            !vcase_ok(c, sluice_set_build(expected, &(sluice_falls_list){1, &f}, &why), &why, "falls"))
            return;
        vcase_same(c, expected->size, got->size, "bytes of process %d", i);
        vcase_same(c, 1, sluice_set_equal(expected, got), "falls[%d] equals the part of process %d", i, i);
    }
}

void vcase_cut(vcase *c) {
    int64_t a = vcase_int(c, c->json, "a"), b = vcase_int(c, c->json, "b");
    const json_t *runs = vcase_array(c, c->json, "runs");
    sluice_falls f = vcase_falls(c, vcase_array(c, c->json, "falls"), "falls");
    sluice_set *s = vcase_set(c);
    sluice_reason why = {0};
    if (b == INT64_MAX || a == INT64_MIN) vcase_fail(c, "malformed: a or b passes 2^63");
    if (c->failed || !vcase_ok(c, sluice_set_build(s, &(sluice_falls_list){1, &f}, &why), &why, "falls")) return;
    if (vcase_ok(c, sluice_set_cut(s, s, a, b + 1), NULL, "sluice_set_cut") &&
        vcase_ok(c, sluice_set_shift(s, s, -a), NULL, "sluice_set_shift"))
        vcase_same_runs(c, runs, s, 1, "runs");
}

void vcase_intersect_falls(vcase *c) {
    const json_t *runs = vcase_array(c, c->json, "runs");
    int64_t lcm = vcase_int(c, c->json, "lcm");
    sluice_falls f = vcase_falls(c, vcase_array(c, c->json, "f"), "f");
    sluice_falls g = vcase_falls(c, vcase_array(c, c->json, "g"), "g");
    sluice_set *a = vcase_set(c), *b = vcase_set(c), *ab = vcase_set(c);
    sluice_reason why = {0};
    if (c->failed || !vcase_ok(c, sluice_set_build(a, &(sluice_falls_list){1, &f}, &why), &why, "f") ||
        !vcase_ok(c, sluice_set_build(b, &(sluice_falls_list){1, &g}, &why), &why, "g") ||
        !vcase_ok(c, sluice_set_intersect(ab, a, b), NULL, "sluice_set_intersect"))
        return;
    vcase_same_runs(c, runs, ab, 1, "runs");
    vcase_same(c, lcm, sluice_lcm(f.step, g.step), "lcm");
}

static unsigned char source_byte(int64_t y) { return (unsigned char)((7 * (y % 251) + 3) % 251); }

enum { GUARD = 16, GUARD_BYTE = 0xee };

/* Zeroed bytes between guards. */
static unsigned char *guarded(vcase *c, int64_t n) {
    unsigned char *p = vcase_alloc(c, (size_t)n + 2 * GUARD, 1);
    if (!p) return NULL;
    memset(p, GUARD_BYTE, GUARD);
    memset(p + GUARD + n, GUARD_BYTE, GUARD);
    return p + GUARD;
}

static void same_bytes(vcase *c, const json_t *expected, const unsigned char *got, int64_t n, const char *name) {
    vcase_same(c, (int64_t)json_array_size(expected), n, "length of %s", name);
    for (int64_t i = 0; i < n && !c->failed; i++)
        vcase_same(c, vcase_at(c, expected, (size_t)i, name), got[i], "%s[%lld]", name, (long long)i);
    for (int i = 0; i < GUARD; i++)
        if (got[-1 - i] != GUARD_BYTE || got[n + i] != GUARD_BYTE)
            vcase_fail(c, "%s: bytes outside the buffer were written", name);
}

/* The set of single positions. */
static sluice_set *from_positions(vcase *c, const json_t *positions) {
    size_t n;
    const int64_t *at = vcase_ints(c, positions, -1, &n, "positions");
    sluice_set *s = vcase_set(c);
    sluice_run *run = vcase_alloc(c, n + 1, sizeof *run);
    sluice_reason why = {0};
    if (c->failed) return s;
    for (size_t i = 0; i < n; i++) run[i] = (sluice_run){at[i], 1};
    vcase_ok(c, sluice_set_runs(s, run, (int64_t)n, &why), &why, "positions");
    return s;
}

void vcase_gather_scatter(vcase *c) {
    const json_t *positions = vcase_array(c, c->json, "positions");
    const json_t *gathered = vcase_array(c, c->json, "gathered");
    const json_t *scattered = vcase_array(c, c->json, "scattered_over_zeros");
    int64_t m = vcase_int(c, c->json, "m"), past = vcase_int(c, c->json, "M"), width = 0;
    sluice_set *s = from_positions(c, positions);
    if (json_object_get(c->json, "set")) {
        sluice_set *built = vcase_build(c, vcase_array(c, c->json, "set"), "set");
        if (!c->failed) vcase_same(c, 1, sluice_set_equal(built, s), "the set holds the positions");
        s = built;
    }
    if (__builtin_add_overflow(past, 1, &past) || __builtin_sub_overflow(past, m, &width) || width < 0)
        vcase_fail(c, "malformed: m..M is not a range");
    /* Lengths first: only arrays that the file really holds are worth allocating. */
    if (!c->failed) vcase_same(c, (int64_t)json_array_size(scattered), width, "length of scattered_over_zeros");
    if (c->failed) return;
    int64_t members = sluice_set_rank(s, past) - sluice_set_rank(s, m);
    unsigned char *shaped = guarded(c, width), *packed = guarded(c, members), *spread = guarded(c, width);
    if (c->failed) return;
    for (int64_t i = 0; i < width; i++) shaped[i] = source_byte(m + i);
    vcase_same(c, members, sluice_gather(packed, shaped, s, m, past), "bytes gathered");
    same_bytes(c, gathered, packed, members, "gathered");
    vcase_same(c, members, sluice_scatter(spread, packed, s, m, past), "bytes scattered");
    same_bytes(c, scattered, spread, width, "scattered_over_zeros");
}
