/* placed_oracle.h: random layouts by plan, and where each copy of each byte lies, found by placing byte after byte. */
#ifndef SLUICE_TESTS_PLACED_ORACLE_H
#define SLUICE_TESTS_PLACED_ORACLE_H

#include "file/file.h"
#include "support/random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACED_BYTES = 4000, PLACED_PARTS = 8, PLACED_LOTS = 60 };

typedef struct placed_case {
    int parts, nlots;
    int64_t length, rest_at;
    int lot[PLACED_BYTES];                      /* of each byte; -1: none */
    int copies[PLACED_LOTS];                    /* of each lot, */
    int subfile[PLACED_LOTS][PLACED_PARTS];     /* where they lie, */
    int64_t at[PLACED_BYTES + 1][PLACED_PARTS]; /* and each byte in them */
    int64_t end[PLACED_PARTS + 1];              /* of each subfile */
} placed_case;

/* Bytes that are in no lot yet, at the places of a random family. */
static inline int64_t placed_claim(placed_case *p, chance *c) {
    const int64_t start = chance_draw(c, 0, p->length - 1), len = chance_low(c, 1, p->length / 4 + 1),
                  step = len + chance_low(c, 0, 50), n = chance_low(c, 1, 20);
    int64_t claimed = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t x = start + i * step; x < start + i * step + len && x < p->length; x++) {
            if (p->lot[x] >= 0) continue;
            p->lot[x] = p->nlots;
            claimed++;
        }
    return claimed;
}

static inline void placed_put(placed_case *p, chance *c, int copy, int subfile) {
    const int64_t step = chance_once_in(c, 4) ? 1 + chance_draw(c, 1, 3) : 1;
    int64_t at = p->end[subfile] + (chance_once_in(c, 4) ? chance_draw(c, 1, 70) : 0);
    p->subfile[p->nlots][copy] = subfile;
    for (int64_t x = 0; x < p->length; x++) {
        if (p->lot[x] != p->nlots) continue;
        p->at[x][copy] = at;
        p->end[subfile] = at + 1;
        at += step;
    }
}

static inline void placed_draw(placed_case *p, chance *c, int64_t length) {
    *p = (placed_case){.parts = (int)chance_low(c, 1, PLACED_PARTS), .length = length};
    for (int64_t x = 0; x < length; x++) p->lot[x] = -1;
    const int lots = length ? (int)chance_low(c, 0, PLACED_LOTS) : 0;
    for (int i = 0; i < lots; i++) {
        if (!placed_claim(p, c)) continue;
        const bool shared = chance_once_in(c, 6);
        const int first = shared ? p->parts : (int)chance_draw(c, 0, p->parts - 1);
        p->copies[p->nlots] = shared || chance_once_in(c, 2) ? 1 : (int)chance_draw(c, 1, p->parts);
        for (int k = 0; k < p->copies[p->nlots]; k++) placed_put(p, c, k, shared ? first : (first + k) % p->parts);
        p->nlots++;
    }
    p->rest_at = p->end[p->parts];
}

/* The sets of it; to be freed with sluice_lots_free() unless they are taken over. false without memory. */
static inline bool placed_places(const placed_case *p, sluice_places *out) {
    static sluice_run run[PLACED_BYTES];
    *out = (sluice_places){p->parts, 0, sluice_mem_alloc((size_t)p->nlots + 1, sizeof *out->lot), p->rest_at};
    if (!out->lot) return false;
    bool good = true;
    for (int i = 0; i < p->nlots && good; i++) {
        sluice_lot *lot = &out->lot[i];
        good = sluice_lot_make(lot, p->copies[i]);
        out->nlots += good;
        for (int k = -1; good && k < p->copies[i]; k++) {
            int64_t n = 0;
            for (int64_t x = 0; x < p->length; x++)
                if (p->lot[x] == i) run[n++] = (sluice_run){k < 0 ? x : p->at[x][k], 1};
            good = !sluice_set_runs(k < 0 ? &lot->bytes : &lot->where[k], run, n, NULL);
            if (k >= 0) lot->subfile[k] = p->subfile[i][k];
        }
    }
    if (!good) sluice_lots_free(out->lot, out->nlots);
    return good;
}

/* Another length: lots end there, and what comes is in none. */
static inline void placed_resize(placed_case *p, int64_t length) {
    for (int64_t x = p->length; x < length; x++) p->lot[x] = -1;
    p->length = length;
}

/* Where copy k of byte x lies, and in which subfile; false if there is no such copy. */
static inline bool placed_find(const placed_case *p, int64_t x, int k, int *subfile, int64_t *at) {
    const int i = p->lot[x];
    if (k >= (i < 0 ? 1 : p->copies[i])) return false;
    *subfile = i < 0 ? p->parts : p->subfile[i][k];
    if (i >= 0) {
        *at = p->at[x][k];
        return true;
    }
    *at = p->rest_at;
    for (int64_t y = 0; y < x; y++) *at += p->lot[y] < 0;
    return true;
}

/* What is wrong with the subfiles in a folder, of which the array should have these bytes; NULL: nothing. */
static inline const char *placed_compare(const placed_case *p, const sluice_manifest *m, const char *folder,
                                         const unsigned char *bytes) {
    static char text[300];
    for (int i = 0; i <= p->parts; i++) {
        static unsigned char byte[40 * PLACED_BYTES];
        snprintf(text, sizeof text, "%s/%s", folder, sluice_manifest_name(m, i).text);
        FILE *f = fopen(text, "rb");
        const int64_t n = f ? (int64_t)fread(byte, 1, sizeof byte, f) : -1;
        if (f) fclose(f);
        if (n != m->layout->size[i]) {
            snprintf(text, sizeof text, "subfile %d has %lld bytes, not %lld", i, (long long)n,
                     (long long)m->layout->size[i]);
            return text;
        }
        int64_t rest = p->rest_at;
        for (int64_t x = 0; x < p->length; x++)
            for (int k = 0; k < (p->lot[x] < 0 ? 1 : p->copies[p->lot[x]]); k++) {
                const int subfile = p->lot[x] < 0 ? p->parts : p->subfile[p->lot[x]][k];
                const int64_t at = p->lot[x] < 0 ? rest++ : p->at[x][k];
                if (subfile != i || (at < n && byte[at] == bytes[x])) continue;
                snprintf(text, sizeof text, "byte %lld, copy %d: %d in subfile %d at %lld, not %d", (long long)x, k,
                         at < n ? byte[at] : -1, i, (long long)at, bytes[x]);
                return text;
            }
    }
    return NULL;
}

#endif
