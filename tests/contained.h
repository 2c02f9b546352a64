/* contained.h: what tests of arrays in containers share: a folder with two targets, and a look at the subfiles, byte by
 * byte, that knows no sets: who has each byte, and where, is enumerated (layout_oracle.h). */
#ifndef SLUICE_TESTS_CONTAINED_H
#define SLUICE_TESTS_CONTAINED_H

#include "layout_oracle.h"
#include "sums_oracle.h"
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

/* A file beside subfile i, or that itself. */
static inline FILE *contained_file(const contained *t, const sluice_manifest *m, int i, const char *name,
                                   const char *mode) {
    const char *target = m->target[m->place[i]].text;
    char file[300];
    snprintf(file, sizeof file, "%s/%s/%s", t->folder, *target == '.' ? "a.sluice" : target, name);
    return fopen(file, mode);
}
static inline FILE *contained_open(const contained *t, const sluice_manifest *m, int i, const char *mode) {
    return contained_file(t, m, i, sluice_manifest_name(m, i).text, mode);
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

/* Gives a subfile of so many bytes the checksums that it has by definition. */
static inline bool contained_seal(const contained *t, const sluice_manifest *m, int i, const unsigned char *bytes,
                                  int64_t n) {
    unsigned char head[SLUICE_SUMS_HEAD];
    sluice_sums_id id = {.block = m->checksum, .generation = m->generation, .subfile = i};
    memcpy(id.uuid, m->uuid, sizeof id.uuid);
    sluice_sums_head(head, &id);
    FILE *f = contained_file(t, m, i, sluice_manifest_sums(m, i).text, "r+b");
    bool good = f && fwrite(head, sizeof head, 1, f) == 1;
    for (int64_t at = 0; at < n && good; at += m->checksum) {
        const uint32_t e[2] = {htole32(sum_by_definition(bytes + at, n - at, m->checksum)), htole32(4)};
        good = fwrite(e, sizeof e, 1, f) == 1;
    }
    good = good && !fflush(f) && !ftruncate(fileno(f), sluice_sums_length(n, m->checksum));
    if (f) fclose(f);
    return good;
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
        if (good && m->checksum) good = contained_seal(t, m, i, byte, c->size_of[i]);
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

/* The number of a subfile whose checksums are not those of the model, all sealed; -1: all are. */
static inline int contained_sums(const contained *t, const layout_case *c, const sluice_manifest *m,
                                 const unsigned char *model) {
    static unsigned char byte[CASE_BYTES];
    int wrong = -1;
    for (int i = 0; i < c->n && wrong < 0 && m->checksum; i++) {
        FILE *f = contained_file(t, m, i, sluice_manifest_sums(m, i).text, "rb");
        for (int64_t x = 0; x < c->length; x++)
            if (c->owner[x] == i) byte[c->off[x]] = model[x];
        if (!f || !sums_sealed(f, byte, c->size_of[i], m->checksum)) wrong = i;
        if (f) fclose(f);
    }
    return wrong;
}

/* Blocks of any size, or none. */
static inline int64_t contained_checksum(chance *c) {
    return chance_once_in(c, 2) ? (int64_t)512 << chance_low(c, 0, 7) : 0;
}

/* Flips a bit of byte x of the array, in its subfile. */
static inline bool contained_flip(const contained *t, const layout_case *c, const sluice_manifest *m, int64_t x,
                                  int bit) {
    FILE *f = contained_open(t, m, c->owner[x], "r+b");
    int byte = EOF;
    if (f && !fseek(f, (long)c->off[x], SEEK_SET)) byte = fgetc(f);
    const bool good = byte != EOF && !fseek(f, (long)c->off[x], SEEK_SET) && fputc(byte ^ 1 << bit, f) != EOF;
    return f && !fclose(f) && good;
}

/* Whether two bytes of the array are in the same block. */
static inline bool contained_same(const layout_case *c, int64_t block, int64_t x, int64_t y) {
    return c->owner[x] == c->owner[y] && c->off[x] / block == c->off[y] / block;
}

#endif
