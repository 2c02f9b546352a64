/* planfile.c: the text of a plan file (docs/FORMAT.md), written and read.
 *
 * A file is hostile until it is checked: its values are counted before a tree is made of them, sets are read by a
 * reader that is, and what all groups say together is checked in the end.
 */
#include "file/json.h"
#include "file/placement.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { VERSION = 1, MAX_NAME = 4095, MAX_PROCESSES = SLUICE_MAX_SUBFILES - 1 };

static const char format[] = "sluice-plan";

#define REFUSE(...) sluice_refuse(why, SLUICE_E_FORMAT, -1, __VA_ARGS__)

/* ---- Writing ---- */

static int write_set(sluice_json_text *w, const sluice_set *s) {
    const int64_t len = sluice_set_print(s, NULL, 0);
    char *text = sluice_mem_alloc((size_t)len + 1, 1);
    if (!text) return -ENOMEM;
    sluice_set_print(s, text, (size_t)len + 1);
    sluice_json_put(w, "\"", 1);
    sluice_json_put(w, text, (size_t)len);
    sluice_json_put(w, "\"", 1);
    sluice_mem_free(text);
    return 0;
}

static bool is_block(const sluice_set *s) { return sluice_set_hi(s) - sluice_set_lo(s) == s->size; }

static int write_group(sluice_json_text *w, const sluice_placement_group *g) {
    sluice_json_print(w, "    {\"bytes\": ");
    int error = write_set(w, &g->bytes);
    sluice_json_print(w, ", \"class\": \"%s\", \"subfiles\": [", sluice_sharing_name(g->place));
    for (int k = 0; k < g->n; k++) sluice_json_print(w, "%s%d", k ? ", " : "", g->subfile[k]);
    sluice_json_print(w, "], \"at\": [");
    for (int k = 0; k < g->n && !error; k++) {
        sluice_json_print(w, "%s", k ? ", " : "");
        if (is_block(&g->at[k]))
            sluice_json_print(w, "%" PRId64, sluice_set_lo(&g->at[k]));
        else
            error = write_set(w, &g->at[k]);
    }
    sluice_json_print(w, "]}");
    return error;
}

int sluice_placement_format(const sluice_placement *p, char **text, int64_t *len, sluice_reason *why) {
    sluice_json_text w = {NULL, 0, 0};
    int error = 0;
    if (p->ngroups > SLUICE_MAX_GROUPS)
        return sluice_refuse(why, SLUICE_E_COMPLEX, -1, "%d groups; a plan file has at most %d", p->ngroups,
                             SLUICE_MAX_GROUPS);
    sluice_json_print(&w, "{\n  \"format\": \"%s\",\n  \"version\": %d,\n  \"file\": ", format, VERSION);
    sluice_json_string(&w, p->name);
    sluice_json_print(&w, ",\n  \"size\": %" PRId64 ",\n  \"processes\": %d,\n  \"targets\": [", p->size, p->nprocs);
    for (int i = 0; i <= p->nprocs; i++) sluice_json_print(&w, "%s\"%s\"", i ? ", " : "", p->target[i].text);
    sluice_json_print(&w, "],\n  \"groups\": [\n");
    for (int i = 0; i < p->ngroups && !error; i++) {
        error = write_group(&w, &p->group[i]);
        sluice_json_print(&w, "%s\n", i < p->ngroups - 1 ? "," : "");
    }
    sluice_json_print(&w, "  ]\n}\n");
    if (!error && w.len < 0) error = -ENOMEM;
    if (!error && w.len > SLUICE_MAX_PLAN) {
        sluice_mem_free(w.text);
        return sluice_refuse(why, SLUICE_E_COMPLEX, -1, "a plan of %" PRId64 " bytes; a plan file has at most %d",
                             w.len, SLUICE_MAX_PLAN);
    }
    if (error) {
        sluice_mem_free(w.text);
        return sluice_pass(why, error);
    }
    *text = w.text;
    *len = w.len;
    return 0;
}

/* ---- Reading ---- */

static int read_set(sluice_set *out, const json_t *v, const char *key, int i, sluice_reason *why) {
    sluice_reason inner;
    if (!json_is_string(v)) return REFUSE("group %d, \"%s\": no set", i, key);
    if (strlen(json_string_value(v)) != json_string_length(v)) return REFUSE("group %d, \"%s\": a 0 in a text", i, key);
    const int error = sluice_set_parse(out, json_string_value(v), &inner);
    if (!error) return 0;
    return sluice_refuse(why, error == -ENOMEM || error == SLUICE_E_COMPLEX ? error : SLUICE_E_FORMAT, -1,
                         "group %d, \"%s\", byte %lld: %.120s", i, key, inner.pos, inner.text);
}

static int read_at(sluice_placement_group *g, int i, const json_t *list, sluice_reason *why) {
    for (int k = 0; k < g->n; k++) {
        const json_t *v = json_array_get(list, (size_t)k);
        int error;
        int64_t end;
        if (!json_is_integer(v))
            error = read_set(&g->at[k], v, "at", i, why);
        else if (json_integer_value(v) < 0 || !sluice_add(json_integer_value(v), g->bytes.size, &end))
            error = REFUSE("group %d, \"at\": %lld is no offset for %" PRId64 " bytes", i,
                           (long long)json_integer_value(v), g->bytes.size);
        else if ((error = sluice_set_block(&g->at[k], json_integer_value(v), g->bytes.size)))
            sluice_pass(why, error);
        if (error) return error;
    }
    return 0;
}

static int read_holders(sluice_placement_group *g, int i, const json_t *list, sluice_reason *why) {
    const int n = (int)json_array_size(list);
    g->subfile = sluice_mem_alloc((size_t)n, sizeof *g->subfile);
    g->at = sluice_mem_alloc((size_t)n, sizeof *g->at);
    if (!g->subfile || !g->at) return sluice_pass(why, -ENOMEM);
    for (int k = 0; k < n; k++) g->at[k] = (sluice_set)SLUICE_SET_EMPTY;
    g->n = n;
    for (int k = 0; k < n; k++) {
        const json_t *v = json_array_get(list, (size_t)k);
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > MAX_PROCESSES)
            return REFUSE("group %d, \"subfiles\": entry %d is no number of a subfile", i, k);
        g->subfile[k] = (int)json_integer_value(v);
    }
    return 0;
}

static int read_group(sluice_placement_group *g, int i, const json_t *o, sluice_reason *why) {
    const json_t *subfiles, *at;
    const char *name;
    sluice_reason inner;
    if (!json_is_object(o)) return REFUSE("group %d is not an object", i);
    int error = sluice_json_get_string(o, "class", 64, &name, &inner);
    if (!error) error = sluice_json_get_list(o, "subfiles", 1, MAX_PROCESSES, &subfiles, &inner);
    if (!error) error = sluice_json_get_list(o, "at", 1, MAX_PROCESSES, &at, &inner);
    if (error) return REFUSE("group %d: %.150s", i, inner.text);
    if (json_array_size(at) != json_array_size(subfiles))
        return REFUSE("group %d has %zu subfiles, but lies at %zu places", i, json_array_size(subfiles),
                      json_array_size(at));
    int place = SLUICE_PLACE_PRIVATE;
    while (place <= SLUICE_PLACE_SHARED && strcmp(name, sluice_sharing_name((sluice_sharing)place)) != 0) place++;
    if (place > SLUICE_PLACE_SHARED) return REFUSE("group %d: there is no class \"%.60s\"", i, name);
    g->place = (sluice_sharing)place;
    if ((error = read_set(&g->bytes, json_object_get(o, "bytes"), "bytes", i, why))) return error;
    if ((error = read_holders(g, i, subfiles, why))) return error;
    return read_at(g, i, at, why);
}

static int read_targets(sluice_placement *p, const json_t *list, sluice_reason *why) {
    for (int i = 0; i <= p->nprocs; i++) {
        const json_t *v = json_array_get(list, (size_t)i);
        const char *name = json_string_value(v);
        if (!name) return REFUSE("\"targets\", name %d: no string", i);
        if (strcmp(name, ".") != 0 && !sluice_target_valid(name, json_string_length(v)))
            return REFUSE("\"targets\", name %d: it has 1 to 63 letters, digits, '_', '-' and '.', not '.' first", i);
        strcpy(p->target[i].text, name);
    }
    return 0;
}

static int read_groups(sluice_placement *p, const json_t *list, sluice_reason *why) {
    const int n = (int)json_array_size(list);
    if (n == 0) return 0;
    p->group = sluice_mem_alloc((size_t)n, sizeof *p->group);
    if (!p->group) return sluice_pass(why, -ENOMEM);
    memset(p->group, 0, (size_t)n * sizeof *p->group);
    p->ngroups = n;
    for (int i = 0; i < n; i++) {
        const int error = read_group(&p->group[i], i, json_array_get(list, (size_t)i), why);
        if (error) return error;
    }
    return sluice_placement_check(p, why);
}

static int read_tree(sluice_placement **p, const json_t *o, sluice_reason *why) {
    const json_t *targets, *groups;
    const char *name;
    int64_t size, nprocs;
    int error = sluice_json_get_version(o, format, VERSION, why);
    if (!error) error = sluice_json_get_string(o, "file", MAX_NAME, &name, why);
    if (!error) error = sluice_json_get_number(o, "size", 0, INT64_MAX, &size, why);
    if (!error) error = sluice_json_get_number(o, "processes", 1, MAX_PROCESSES, &nprocs, why);
    if (!error) error = sluice_json_get_list(o, "targets", (size_t)nprocs + 1, (size_t)nprocs + 1, &targets, why);
    if (!error) error = sluice_json_get_list(o, "groups", 0, SLUICE_MAX_GROUPS, &groups, why);
    if (error) return error;
    if (!*name || strlen(name) != json_string_length(json_object_get(o, "file"))) return REFUSE("\"file\" is no name");
    if ((error = sluice_placement_make(p, name, size, (int)nprocs))) return sluice_pass(why, error);
    if ((error = read_targets(*p, targets, why))) return error;
    return read_groups(*p, groups, why);
}

int sluice_placement_parse(sluice_placement **out, const char *text, int64_t len, sluice_reason *why) {
    sluice_reason inner = {.pos = -1};
    sluice_placement *p = NULL;
    json_t *o = NULL;
    int error = sluice_json_load(&o, text, len, SLUICE_MAX_PLAN, &inner);
    if (!error) {
        error = read_tree(&p, o, &inner);
        sluice_json_free(o, len);
    }
    if (!error) {
        *out = p;
        return 0;
    }
    sluice_placement_free(p);
    for (char *c = inner.text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    return sluice_refuse(why, error, inner.pos, "plan: %.180s", inner.text);
}
