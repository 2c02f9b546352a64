/* vcase_element.c: vectors about periodic elements and partitions, and the worked examples of the paper. */
#include "support/vcase.h"
#include <stdio.h>
#include <string.h>

/* Reads a list of sets into p; each must be valid. p->period is 0. */
static void read_partition(vcase *c, sluice_partition *p, const json_t *pattern, int64_t disp, const char *name) {
    size_t n = json_array_size(pattern);
    sluice_set *set = vcase_alloc(c, n + 1, sizeof *set);
    *p = (sluice_partition){(int)n, set, 0, disp};
    if (!set || n > INT32_MAX) {
        vcase_fail(c, "%s: too many elements", name);
        return;
    }
    /* The sets are moved into one array as the library wants it; the case still frees each of them. */
    for (size_t i = 0; i < n && !c->failed; i++) set[i] = *vcase_build(c, vcase_array_at(c, pattern, i, name), name);
}

void vcase_partition(vcase *c, sluice_partition *p, const json_t *pattern, int64_t disp, const char *name) {
    sluice_reason why = {0};
    read_partition(c, p, pattern, disp, name);
    if (!c->failed) vcase_ok(c, sluice_partition_check(p, &why), &why, name);
}

static void invalid_pattern(vcase *c, const json_t *pattern) {
    const char *expected = vcase_text(c, c->json, "why");
    size_t n = json_array_size(pattern);
    sluice_set *set = vcase_alloc(c, n + 1, sizeof *set);
    sluice_partition p = {(int)n, set, 0, 0};
    sluice_reason why = {0};
    int error = 0;
    for (size_t i = 0; i < n && !error && !c->failed; i++) {
        sluice_set *s = vcase_set(c);
        const sluice_falls_list *list = vcase_list(c, vcase_array_at(c, pattern, i, "pattern"), "pattern");
        if (c->failed) return;
        error = sluice_set_build(s, list, &why);
        set[i] = *s;
    }
    if (c->failed) return;
    if (!error) error = sluice_partition_check(&p, &why);
    if (!error)
        vcase_fail(c, "valid: expected false (%s), but the library accepts it", expected);
    else if (!expected[0] || !strstr(why.text, expected))
        vcase_fail(c, "why: expected \"%s\", got \"%s\"", expected, why.text);
}

void vcase_pattern(vcase *c) {
    const json_t *pattern = vcase_array(c, c->json, "pattern");
    if (!vcase_bool(c, c->json, "valid")) {
        if (!c->failed) invalid_pattern(c, pattern);
        return;
    }
    const json_t *sizes = vcase_array(c, c->json, "element_sizes"), *owners = vcase_array(c, c->json, "owners");
    int64_t size = vcase_int(c, c->json, "size"), disp = vcase_int(c, c->json, "disp");
    sluice_partition p;
    vcase_partition(c, &p, pattern, disp, "pattern");
    if (disp > INT64_MAX - (int64_t)json_array_size(owners)) vcase_fail(c, "malformed: disp passes 2^63");
    if (c->failed) return;
    vcase_same(c, size, p.period, "size");
    vcase_same(c, (int64_t)json_array_size(sizes), p.n, "length of element_sizes");
    for (int i = 0; i < p.n && !c->failed; i++)
        vcase_same(c, vcase_at(c, sizes, (size_t)i, "element_sizes"), p.set[i].size, "element_sizes[%d]", i);
    for (size_t i = 0; i < json_array_size(owners) && !c->failed; i++) {
        const int64_t *v = vcase_ints(c, vcase_array_at(c, owners, i, "owners"), 2, NULL, "owners");
        int element = -1;
        int64_t off = -1;
        if (c->failed ||
            !vcase_ok(c, sluice_partition_owner(&p, disp + (int64_t)i, &element, &off), NULL, "sluice_partition_owner"))
            return;
        vcase_same(c, v[0], element, "owners[%zu] element", i);
        vcase_same(c, v[1], off, "owners[%zu] offset", i);
    }
    if (!json_array_size(owners)) vcase_fail(c, "malformed: owners is empty");
}

/* The set as an element. The library leaves these conditions to its callers. */
static sluice_element element_of(vcase *c, const sluice_set *set, int64_t period, int64_t disp, const char *name) {
    if (!c->failed && (period < 1 || disp < 0 || sluice_set_hi(set) > period))
        vcase_fail(c, "malformed: %s is not an element: period %lld, displacement %lld, set up to %lld", name,
                   (long long)period, (long long)disp, (long long)sluice_set_hi(set));
    return (sluice_element){set, period, disp};
}

sluice_element vcase_element(vcase *c, const json_t *object, const char *name) {
    const sluice_set *set = vcase_build(c, vcase_array(c, object, "set"), name);
    return element_of(c, set, vcase_int(c, object, "T"), vcase_int(c, object, "disp"), name);
}

void vcase_map(vcase *c) {
    sluice_element e = vcase_element(c, c->json, "set");
    const json_t *x = vcase_array(c, c->json, "x"), *unmap = vcase_array(c, c->json, "unmap");
    int64_t size = vcase_int(c, c->json, "size");
    bool canonical = vcase_bool(c, c->json, "canonical");
    if (c->failed) return;
    vcase_same(c, size, e.set->size, "size");
    vcase_same(c, canonical, vcase_list_canonical(vcase_list(c, vcase_array(c, c->json, "set"), "set")), "canonical");
    for (size_t i = 0; i < json_array_size(x) && !c->failed; i++) {
        const json_t *row = vcase_array_at(c, x, i, "x");
        int64_t at = vcase_at(c, row, 0, "x");
        if (json_array_size(row) != 4) vcase_fail(c, "malformed: x[%zu] is not [x,map,next,prev]", i);
        vcase_same_or_null(c, json_array_get(row, 1), sluice_element_map(&e, at), "MAP(%lld)", (long long)at);
        vcase_same_or_null(c, json_array_get(row, 2), sluice_element_next(&e, at), "next(%lld)", (long long)at);
        vcase_same_or_null(c, json_array_get(row, 3), sluice_element_prev(&e, at), "prev(%lld)", (long long)at);
    }
    for (size_t i = 0; i < json_array_size(unmap) && !c->failed; i++) {
        const json_t *row = vcase_array_at(c, unmap, i, "unmap");
        int64_t y = vcase_at(c, row, 0, "unmap");
        if (json_array_size(row) != 2) vcase_fail(c, "malformed: unmap[%zu] is not [y,x]", i);
        vcase_same_or_null(c, json_array_get(row, 1), sluice_element_unmap(&e, y), "unmap(%lld)", (long long)y);
    }
    if (!json_array_size(x)) vcase_fail(c, "malformed: x is empty");
}

void vcase_intersect(vcase *c) {
    const json_t *runs = vcase_array(c, c->json, "runs");
    const json_t *proj1 = vcase_array(c, c->json, "proj1_runs"), *proj2 = vcase_array(c, c->json, "proj2_runs");
    sluice_element e1 = vcase_element(c, vcase_field(c, c->json, "e1", JSON_OBJECT), "e1");
    sluice_element e2 = vcase_element(c, vcase_field(c, c->json, "e2", JSON_OBJECT), "e2");
    int64_t disp = vcase_int(c, c->json, "D"), period = vcase_int(c, c->json, "L");
    int64_t period1 = vcase_int(c, c->json, "period1"), period2 = vcase_int(c, c->json, "period2");
    int64_t segments = vcase_int(c, c->json, "copy_segments");
    sluice_common common = {0};
    if (c->failed || !vcase_ok(c, sluice_element_intersect(&common, &e1, &e2), NULL, "sluice_element_intersect"))
        return;
    vcase_same(c, disp, common.disp, "D");
    vcase_same(c, period, common.period, "L");
    vcase_same_runs(c, runs, &common.set, 1, "runs");
    vcase_same_runs(c, proj1, &common.proj1, 1, "proj1_runs");
    vcase_same_runs(c, proj2, &common.proj2, 1, "proj2_runs");
    vcase_same(c, period1, common.period1, "period1");
    vcase_same(c, period2, common.period2, "period2");
    vcase_same(c, segments, common.segments, "copy_segments");
    sluice_common_free(&common);
}

static void same_matrix(vcase *c, const json_t *expected, const int64_t *got, int rows, int cols, const char *name) {
    vcase_same(c, (int64_t)json_array_size(expected), rows, "rows of %s", name);
    for (int i = 0; i < rows && !c->failed; i++)
        vcase_same_ints(c, vcase_array_at(c, expected, (size_t)i, name), got + (int64_t)i * cols, (size_t)cols, name);
}

void vcase_redistribute(vcase *c) {
    const json_t *bytes = vcase_array(c, c->json, "bytes"), *segments = vcase_array(c, c->json, "segments");
    const int64_t *match = vcase_ints(c, vcase_array(c, c->json, "match_degree"), 2, NULL, "match_degree");
    int64_t disp = vcase_int(c, c->json, "D"), period = vcase_int(c, c->json, "L");
    int64_t messages = vcase_int(c, c->json, "messages"), total = vcase_int(c, c->json, "total_segments");
    sluice_partition p1, p2;
    sluice_matrix m = {0};
    vcase_partition(c, &p1, vcase_array(c, c->json, "p1"), vcase_int(c, c->json, "d1"), "p1");
    vcase_partition(c, &p2, vcase_array(c, c->json, "p2"), vcase_int(c, c->json, "d2"), "p2");
    if (c->failed || !vcase_ok(c, sluice_redistribute(&m, &p1, &p2), NULL, "sluice_redistribute")) return;
    vcase_same(c, disp, m.disp, "D");
    vcase_same(c, period, m.period, "L");
    same_matrix(c, bytes, m.bytes, m.rows, m.cols, "bytes");
    same_matrix(c, segments, m.segments, m.rows, m.cols, "segments");
    vcase_same(c, messages, m.messages, "messages");
    vcase_same(c, total, m.total_segments, "total_segments");
    vcase_same(c, match[0], m.match_num, "match_degree numerator");
    vcase_same(c, match[1], m.match_den, "match_degree denominator");
    sluice_matrix_free(&m);
}

/* ---- the worked examples: `what` says which figure or algorithm, and sometimes holds the input ---- */

static void figure_set(vcase *c) {
    const json_t *runs = vcase_array(c, c->json, "runs");
    int64_t size = vcase_int(c, c->json, "size");
    sluice_set *s = vcase_build(c, vcase_array(c, c->json, "set"), "set");
    if (c->failed) return;
    vcase_same(c, size, s->size, "size");
    vcase_same_runs(c, runs, s, 1, "runs");
}

static void figure3_partition(vcase *c, vcase_figures *figures) {
    int64_t size = vcase_int(c, c->json, "size");
    sluice_partition p;
    vcase_partition(c, &p, vcase_array(c, c->json, "pattern"), vcase_int(c, c->json, "disp"), "pattern");
    if (c->failed) return;
    vcase_same(c, size, p.period, "size");
    figures->fig3 = (json_t *)(uintptr_t)c->json;
}

/* Element number `element` of the partition of figure 3. */
static sluice_element figure3_element(vcase *c, const vcase_figures *figures, int element) {
    static sluice_set none = SLUICE_SET_EMPTY;
    sluice_partition p;
    if (!figures->fig3) vcase_fail(c, "no partition of figure 3 before this case");
    if (c->failed) return (sluice_element){&none, 1, 0};
    vcase_partition(c, &p, vcase_array(c, figures->fig3, "pattern"), vcase_int(c, figures->fig3, "disp"), "fig3");
    if (!c->failed && (element < 0 || element >= p.n)) vcase_fail(c, "figure 3 has no element %d", element);
    if (c->failed) return (sluice_element){&none, 1, 0};
    return (sluice_element){&p.set[element], p.period, p.disp};
}

/* A family as the text of an example has it: inclusive. */
static sluice_set *family_set(vcase *c, const long long v[4]) {
    sluice_set *s = vcase_set(c);
    sluice_falls f = {v[0], 0, v[2], v[3], NULL};
    sluice_reason why = {0};
    if (__builtin_sub_overflow(v[1], v[0], &f.len) || __builtin_add_overflow(f.len, 1, &f.len))
        vcase_fail(c, "malformed: a block in what passes 2^63");
    if (c->failed) return s;
    vcase_ok(c, sluice_set_build(s, &(sluice_falls_list){1, &f}, &why), &why, "what");
    return s;
}

static void same_set(vcase *c, const json_t *expected, const sluice_set *got, const char *name) {
    sluice_set *s = vcase_build(c, expected, name);
    sluice_reason why = {0};
    if (c->failed || !vcase_ok(c, sluice_set_check(got, &why), &why, name)) return;
    vcase_same(c, s->size, got->size, "size of %s", name);
    vcase_same(c, 1, sluice_set_equal(s, got), "%s equals the set", name);
}

static void figure4(vcase *c, vcase_figures *figures) {
    long long period;
    const char *text = strstr(vcase_text(c, c->json, "what"), "patterns of size ");
    if (text && sscanf(text, "patterns of size %lld", &period) == 1) figures->fig4_period = period;
    if (!figures->fig4_period) vcase_fail(c, "no size of the patterns of figure 4 before this case");
    sluice_element v = element_of(c, vcase_build(c, vcase_array(c, c->json, "V"), "V"), figures->fig4_period, 0, "V");
    sluice_element s = element_of(c, vcase_build(c, vcase_array(c, c->json, "S"), "S"), figures->fig4_period, 0, "S");
    const json_t *proj_v = vcase_array(c, c->json, "proj_V"), *proj_s = vcase_array(c, c->json, "proj_S");
    int64_t four = vcase_int(c, c->json, "map_S_of_unmap_V_4");
    sluice_common common = {0};
    if (c->failed || !vcase_ok(c, sluice_element_intersect(&common, &v, &s), NULL, "sluice_element_intersect")) return;
    if (json_object_get(c->json, "bytes")) {
        const json_t *bytes = vcase_array(c, c->json, "bytes");
        vcase_same(c, (int64_t)json_array_size(bytes), common.set.size, "length of bytes");
        for (size_t i = 0; i < json_array_size(bytes) && !c->failed; i++)
            vcase_same(c, vcase_at(c, bytes, i, "bytes"), sluice_set_select(&common.set, (int64_t)i), "bytes[%zu]", i);
    } else {
        same_set(c, vcase_array(c, c->json, "result"), &common.set, "result");
    }
    same_set(c, proj_v, &common.proj1, "proj_V");
    same_set(c, proj_s, &common.proj2, "proj_S");
    vcase_same(c, four, sluice_element_map(&s, sluice_element_unmap(&v, 4)), "map_S_of_unmap_V_4");
    sluice_common_free(&common);
}

static void figure5(vcase *c, int64_t m, int64_t past) {
    const json_t *positions = vcase_array(c, c->json, "positions");
    sluice_set *s = vcase_build(c, vcase_array(c, c->json, "set"), "set");
    unsigned char shaped[256], packed[256] = {0};
    if (m < 0 || past < m || past - m > (int64_t)sizeof shaped) vcase_fail(c, "m..M is not a small range");
    if (c->failed) return;
    for (int64_t x = m; x < past; x++) shaped[x - m] = (unsigned char)x; /* each byte says where it was */
    int64_t n = sluice_gather(packed, shaped, s, m, past);
    vcase_same(c, (int64_t)json_array_size(positions), n, "length of positions");
    for (int64_t i = 0; i < n && !c->failed; i++)
        vcase_same(c, vcase_at(c, positions, (size_t)i, "positions"), packed[i], "positions[%lld]", (long long)i);
}

void vcase_paper_examples(vcase *c) {
    vcase_figures *figures = c->state;
    const char *what = vcase_text(c, c->json, "what");
    long long f[4], g[4], a = 0, b = 0;
    int element, end = 0;
    if (c->failed) return;
    if (!strncmp(what, "fig1 ", 5) || !strncmp(what, "fig2 ", 5)) {
        figure_set(c);
    } else if (!strcmp(what, "fig3 partition")) {
        figure3_partition(c, figures);
    } else if (sscanf(what, "fig3 MAP element %d%n", &element, &end) == 1 && !what[end]) {
        int64_t x = vcase_int(c, c->json, "x"), map = vcase_int(c, c->json, "map");
        sluice_element e = figure3_element(c, figures, element);
        vcase_same(c, map, sluice_element_map(&e, x), "map");
    } else if (sscanf(what, "fig3 MAP inverse element %d%n", &element, &end) == 1 && !what[end]) {
        int64_t y = vcase_int(c, c->json, "y"), unmap = vcase_int(c, c->json, "unmap");
        sluice_element e = figure3_element(c, figures, element);
        vcase_same(c, unmap, sluice_element_unmap(&e, y), "unmap");
    } else if (sscanf(what, "fig3 element %d, byte %lld%n", &element, &a, &end) == 2 && !what[end]) {
        sluice_element e = figure3_element(c, figures, element);
        vcase_same_or_null(c, json_object_get(c->json, "map"), sluice_element_map(&e, a), "map");
        vcase_same_or_null(c, json_object_get(c->json, "prev"), sluice_element_prev(&e, a), "prev");
        vcase_same_or_null(c, json_object_get(c->json, "next"), sluice_element_next(&e, a), "next");
    } else if (sscanf(what, "CUT-FALLS (%lld,%lld,%lld,%lld) between %lld and %lld%n", f, f + 1, f + 2, f + 3, &a, &b,
                      &end) == 6 &&
               !what[end]) {
        sluice_set *s = family_set(c, f);
        if (a < 0 || b < a || b == INT64_MAX) vcase_fail(c, "malformed: %lld to %lld is not a range", a, b);
        if (!c->failed && vcase_ok(c, sluice_set_cut(s, s, a, b + 1), NULL, "sluice_set_cut") &&
            vcase_ok(c, sluice_set_shift(s, s, -a), NULL, "sluice_set_shift"))
            same_set(c, vcase_array(c, c->json, "falls"), s, "falls");
    } else if (sscanf(what, "INTERSECT-FALLS (%lld,%lld,%lld,%lld) (%lld,%lld,%lld,%lld)%n", f, f + 1, f + 2, f + 3, g,
                      g + 1, g + 2, g + 3, &end) == 8 &&
               !what[end]) {
        sluice_set *s1 = family_set(c, f), *s2 = family_set(c, g);
        if (!c->failed && vcase_ok(c, sluice_set_intersect(s1, s1, s2), NULL, "sluice_set_intersect"))
            same_set(c, vcase_array(c, c->json, "falls"), s1, "falls");
    } else if (!strncmp(what, "fig4 ", 5)) {
        figure4(c, figures);
    } else if (sscanf(what, "fig5 GATHER with m=%lld, M=%lld%n", &a, &b, &end) == 2 && !what[end]) {
        figure5(c, a, b < INT64_MAX ? b + 1 : b);
    } else {
        vcase_fail(c, "unknown example \"%.80s\"", what);
    }
}
