/* ranks: 1 */
/* vectors: checks the library against files of expected results.
 *
 *     vectors FILE.json...
 *
 * A file is {"function": name, "seed": n, "cases": [{..., "id": "name-000"}, ...]}. Every case must be well formed and
 * agree in every field; the program prints a line per file and, on stderr, what differed. It fails if any case does,
 * and on a file that cannot be read, that names an unknown function or that holds no case.
 */
#include "support/vcase.h"
#include <stdio.h>
#include <string.h>

enum { MAX_REPORTS = 20 };

/* The fields of a case besides "id" and "note"; any other is told of, because nobody compares it. */
static const struct {
    const char *name;
    vcase_check *check;
    const char *fields;
} function[] = {
    {"falls_enum", vcase_falls_enum, "falls size runs"},
    {"nested_enum", vcase_nested_enum, "set size runs depth canonical"},
    {"pitfalls", vcase_pitfalls, "pitfalls falls"},
    {"pattern", vcase_pattern, "pattern valid why size disp element_sizes owners"},
    {"map", vcase_map, "set T disp size canonical x unmap"},
    {"cut", vcase_cut, "falls a b runs"},
    {"intersect_falls", vcase_intersect_falls, "f g lcm runs"},
    {"intersect", vcase_intersect, "e1 e2 D L runs proj1_runs period1 proj2_runs period2 copy_segments"},
    {"redistribute", vcase_redistribute_placed, "p1 d1 p2 d2 D L bytes segments messages total_segments match_degree"},
    {"gather_scatter", vcase_gather_scatter, "set positions m M gathered scattered_over_zeros"},
    {"view_access", vcase_view_access, "view physical m M subfiles outside_physical"},
    {"section", vcase_section_placed,
     "shape order base elemsize header section section_shape offsets byte_runs sieve buffer_shape index "
     "file_to_buffer"},
    {"hpf_1d", vcase_hpf_1d, "N P dist owner_local globals"},
    {"hpf_nd", vcase_hpf_nd, "shape dists grid order elemsize ranks readers conforming_matrix"},
    {"file_domains", vcase_file_domains,
     "shape order base io_procs k requests static static_balanced dynamic dynamic_balanced blockcyclic "
     "element_ranges"},
    {"two_phase", vcase_two_phase,
     "kind shape order base requests mode io_procs k domains fdat smallest matrix holes useful_slabs slabs_with_holes "
     "winner winner_packed_index"},
    {"profile", vcase_profile, "nprocs profile chunks partitions"},
    {"reuse", vcase_reuse, "ocla icla lower upper start calls calls_before_minus1"},
    {"paper_examples", vcase_paper_examples,
     "what set runs size pattern disp x map y unmap prev next falls V S result bytes proj_V proj_S "
     "map_S_of_unmap_V_4 positions"},
};

static bool listed(const char *fields, const char *key) {
    size_t n = strlen(key);
    for (const char *at = fields; (at = strstr(at, key)); at += n)
        if ((at == fields || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

static void tell_unknown_fields(json_t *cases, size_t f, const char *name) {
    size_t i, told = 0;
    json_t *json, *value;
    const char *key;
    json_array_foreach(cases, i, json) {
        json_object_foreach(json, key, value) {
            if (strcmp(key, "id") && strcmp(key, "note") && !listed(function[f].fields, key) && told++ == 0)
                fprintf(stderr, "%s: field \"%.60s\" is not known and not checked\n", name, key);
        }
    }
}

/* True if the case passes. */
static bool run_case(const json_t *json, size_t number, size_t f, void *state, const char *name, int *reports) {
    vcase c = {.json = json, .state = state};
    const char *id = json_string_value(json_object_get(json, "id"));
    char unnamed[40];
    snprintf(unnamed, sizeof unnamed, "case %zu", number);
    if (!json_is_object(json))
        vcase_fail(&c, "malformed: not an object");
    else if (!id)
        vcase_fail(&c, "malformed: id is missing or not a text");
    else
        function[f].check(&c);
    if (c.failed && (*reports)++ < MAX_REPORTS) fprintf(stderr, "%s: %s: %s\n", name, id ? id : unnamed, c.what);
    vcase_free(&c);
    return !c.failed;
}

/* "a/b/map.json" -> "map" */
static void base_name(const char *path, char *name, size_t cap) {
    const char *slash = strrchr(path, '/');
    snprintf(name, cap, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = 0;
}

/* True if all of the file passes. */
static bool run_file(const char *path) {
    json_error_t error;
    char name[128];
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    const char *called = json_string_value(json_object_get(root, "function"));
    json_t *cases = json_object_get(root, "cases");
    size_t f = 0, passed = 0, failed = 0, n = json_is_array(cases) ? json_array_size(cases) : 0;
    base_name(path, name, sizeof name);
    while (called && f < sizeof function / sizeof *function && strcmp(called, function[f].name)) f++;
    if (!root)
        fprintf(stderr, "%s: %s (line %d)\n", path, error.text, error.line);
    else if (!called)
        fprintf(stderr, "%s: no \"function\"\n", path);
    else if (f == sizeof function / sizeof *function)
        fprintf(stderr, "%s: unknown function \"%.60s\"\n", path, called);
    else if (n == 0)
        fprintf(stderr, "%s: no cases\n", path);
    else {
        vcase_figures figures = {0};
        int reports = 0;
        snprintf(name, sizeof name, "%s", function[f].name);
        tell_unknown_fields(cases, f, name);
        for (size_t i = 0; i < n; i++) {
            if (run_case(json_array_get(cases, i), i, f, &figures, name, &reports))
                passed++;
            else
                failed++;
        }
        if (reports > MAX_REPORTS) fprintf(stderr, "%s: and %d more\n", name, reports - MAX_REPORTS);
    }
    if (passed + failed == 0) failed = 1;
    printf("%s: %zu passed, %zu failed\n", name, passed, failed);
    json_decref(root);
    return failed == 0;
}

int main(int argc, char **argv) {
    bool good = argc > 1;
    if (argc < 2) fprintf(stderr, "usage: vectors FILE.json...\n");
    for (int i = 1; i < argc; i++) good = run_file(argv[i]) && good;
    return good ? 0 : 1;
}
