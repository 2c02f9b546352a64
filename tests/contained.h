/* contained.h: what tests of arrays in containers share: a folder with two targets, and a look at the subfiles, byte by
 * byte, that knows no sets: who has each byte, and where, is enumerated (layout_oracle.h). */
#ifndef SLUICE_TESTS_CONTAINED_H
#define SLUICE_TESTS_CONTAINED_H

#include "layout_oracle.h"
#include "support/tree.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct contained {
    char folder[100], path[120], bindings[300];
} contained;

/* What it is called, for all processes; and the folders, made and removed by one of them. */
static inline void contained_name(contained *t, const char *base) {
    snprintf(t->folder, sizeof t->folder, "%.80s.d", base);
    snprintf(t->path, sizeof t->path, "%.80s.d/a.sluice", base);
    snprintf(t->bindings, sizeof t->bindings, "fast=%.80s.d/fast,slow=%.80s.d/slow", base, base);
}
static inline bool contained_make(const contained *t) {
    char fast[120], slow[120];
    snprintf(fast, sizeof fast, "%s/fast", t->folder);
    snprintf(slow, sizeof slow, "%s/slow", t->folder);
    return !mkdir(t->folder, 0777) && !mkdir(fast, 0777) && !mkdir(slow, 0777);
}
static inline void contained_remove(const contained *t) { remove_tree(t->folder); }

/* Targets to lie on. */
static inline const char *contained_targets(chance *c) {
    static const char *const targets[] = {NULL, ".", "fast,slow", ".,fast", "slow,.,fast"};
    return targets[chance_draw(c, 0, 4)];
}

/* The file that is subfile i. */
static inline FILE *contained_open(const contained *t, const sluice_manifest *m, int i, const char *mode) {
    const char *target = m->target[m->place[i]].text;
    char file[300];
    snprintf(file, sizeof file, "%s/%s/%s", t->folder, *target == '.' ? "a.sluice" : target,
             sluice_manifest_name(m, i).text);
    return fopen(file, mode);
}

/* The bytes of the array, or what is wrong with a subfile; `longer`: it may have more bytes than it should. */
static inline const char *contained_read(const contained *t, const layout_case *c, const sluice_manifest *m,
                                         unsigned char *bytes, bool longer) {
    static char text[200];
    static unsigned char byte[CASE_BYTES + 1];
    if (m->layout->n != c->n) return "another number of subfiles";
    for (int i = 0; i < c->n; i++) {
        FILE *f = contained_open(t, m, i, "rb");
        const int64_t n = f ? (int64_t)fread(byte, 1, sizeof byte, f) : -1;
        if (f) fclose(f);
        if (n < c->size_of[i] || (n > c->size_of[i] && !longer)) {
            snprintf(text, sizeof text, "subfile %d has %lld bytes, not %lld", i, (long long)n,
                     (long long)c->size_of[i]);
            return text;
        }
        for (int64_t x = 0; x < c->length; x++)
            if (c->owner[x] == i) bytes[x] = byte[c->off[x]];
    }
    return NULL;
}

/* Puts the bytes of the array into the subfiles, which get their sizes. */
static inline bool contained_fill(const contained *t, const layout_case *c, const sluice_manifest *m,
                                  const unsigned char *bytes) {
    static unsigned char byte[CASE_BYTES];
    bool good = true;
    for (int i = 0; i < c->n && good; i++) {
        FILE *f = contained_open(t, m, i, "r+b");
        for (int64_t x = 0; x < c->length; x++)
            if (c->owner[x] == i) byte[c->off[x]] = bytes[x];
        good = f && fwrite(byte, 1, (size_t)c->size_of[i], f) == (size_t)c->size_of[i] && !fflush(f) &&
               !ftruncate(fileno(f), c->size_of[i]);
        if (f) fclose(f);
    }
    return good;
}

/* Compares the subfiles with the bytes of the array: NULL, or what is wrong. */
static inline const char *contained_compare(const contained *t, const layout_case *c, const sluice_manifest *m,
                                            const unsigned char *model) {
    static unsigned char bytes[CASE_BYTES];
    static char text[200];
    const char *wrong = contained_read(t, c, m, bytes, false);
    for (int64_t x = 0; x < c->length && !wrong; x++) {
        if (bytes[x] == model[x]) continue;
        snprintf(text, sizeof text, "byte %lld of subfile %d, byte %lld of the array, is %d, not %d",
                 (long long)c->off[x], c->owner[x], (long long)x, bytes[x], model[x]);
        wrong = text;
    }
    return wrong;
}

#endif
