/* join_common.h: what the tests of joined stores share: members with known bytes, and what they are told. */
#ifndef SLUICE_TESTS_JOIN_COMMON_H
#define SLUICE_TESTS_JOIN_COMMON_H

#include "store_common.h"

enum { STRETCH = SLUICE_MAP_STRETCH, MOST = 5 };

static char heard[4000]; /* one line for each call of a member */

static inline void hear(void *arg, const char *call, int64_t off, int64_t len, int64_t result) {
    size_t used = strlen(heard);
    snprintf(heard + used, sizeof heard - used, "%s %s %" PRId64 " %" PRId64 " %" PRId64 "\n", (const char *)arg, call,
             off, len, result);
}

static inline bool have_heard(const char *text) {
    bool same = !strcmp(heard, text);
    if (!same) fprintf(stderr, "heard:\n%s", heard);
    heard[0] = 0;
    return same;
}

static inline unsigned char pattern(int i, int64_t x) { return (unsigned char)(1 + (x * 7 + i * 31) % 251); }

typedef struct parts {
    sluice_store *file[MOST], *fault[MOST], *tap[MOST]; /* one in front of the other */
    int n;
} parts;

static const char *const member_name[MOST] = {"m0", "m1", "m2", "m3", "m4"};

/* n members of these sizes, full of their patterns. */
static inline parts make_parts(int n, const int64_t *size, kind k) {
    parts p = {.n = n};
    sluice_reason why = {0};
    for (int i = 0; i < n; i++) {
        if (open_kind(&p.file[i], k, in_scratch(member_name[i]), &why)) {
            fprintf(stderr, "%s\n", why.text);
            exit(1);
        }
        unsigned char *all = malloc((size_t)size[i] + 1);
        for (int64_t x = 0; x < size[i]; x++) all[x] = pattern(i, x);
        CHECK(sluice_store_write(p.file[i], 0, all, size[i], &why) == 0, "%s", why.text);
        free(all);
        CHECK(sluice_store_open_fault(&p.fault[i], p.file[i]) == 0, "fault");
        CHECK(sluice_store_open_tap(&p.tap[i], p.fault[i], hear, (void *)(uintptr_t)member_name[i]) == 0, "tap");
    }
    return p;
}

static inline sluice_store *join_parts(const parts *p, const int64_t *base, int64_t end) {
    sluice_store *s = NULL;
    int err = sluice_store_open_join(&s, p->tap, base, p->n, end, in_scratch("joined"));
    CHECK(err == 0, "%d", err);
    if (err) exit(1);
    heard[0] = 0;
    return s;
}

static inline bool is_pattern(const unsigned char *byte, int i, int64_t x, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (byte[k] != pattern(i, x + k)) return false;
    return true;
}

static inline bool is_zero(const unsigned char *byte, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (byte[k]) return false;
    return true;
}

/* The members are as make_parts left them. */
static inline bool untouched(const parts *p, const int64_t *size) {
    for (int i = 0; i < p->n; i++) {
        unsigned char *all = malloc((size_t)size[i] + 1);
        bool same = sluice_store_size(p->file[i], NULL) == size[i] &&
                    !sluice_store_read(p->file[i], 0, all, size[i], NULL) && is_pattern(all, i, 0, size[i]);
        free(all);
        if (!same) return false;
    }
    return true;
}

#endif
