/* container_common.h: what the tests of containers share: a scratch folder with two targets, an array whose bytes are a
 * formula, and looking into a container by the layout's sets. */
#ifndef SLUICE_TESTS_CONTAINER_COMMON_H
#define SLUICE_TESTS_CONTAINER_COMMON_H

#include "file/file.h"
#include "support/tree.h"
#include "support/unit.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64], bindings[512], container_path[100];
static int64_t sums_block; /* of checksums; 0: none */

static inline const char *inside(const char *name) {
    static char path[4][400];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", scratch, name);
    return p;
}

static inline void make_scratch(void) {
    char here[256];
    strcpy(scratch, "container.XXXXXX");
    if (!mkdtemp(scratch) || mkdir(inside("fast"), 0777) || mkdir(inside("slow"), 0777) || !getcwd(here, sizeof here)) {
        perror(scratch);
        exit(1);
    }
    snprintf(bindings, sizeof bindings, "fast=%s, slow = %s", inside("fast"), inside("slow"));
    snprintf(container_path, sizeof container_path, "%s", inside("a.sluice"));
    unsetenv("SLUICE_TARGETS");
    setenv("XDG_CONFIG_HOME", inside("config"), 1);
}

static inline int open_descriptors(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

/* Names in a folder, without "." and "..". */
static inline int entries(const char *path) {
    int n = -2;
    DIR *d = opendir(path);
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return d ? n : -1;
}

static inline unsigned char value(int64_t x) { return (unsigned char)(x * 7 + x / 256 * 3 + 1); }

static inline sluice_manifest *manifest(const char *layout, const char *targets, const sluice_manifest *before) {
    sluice_desc d = {.shape = {.ndims = 2, .dim = {9, 11}}, .type = "int16"};
    sluice_manifest *m = NULL;
    sluice_reason why = {0};
    CHECK(!sluice_manifest_make(&m, &d, layout, targets, before, &why), "%s", why.text);
    CHECK(m && !sluice_manifest_checksum(m, sums_block, &why), "%s", why.text);
    return m;
}

/* Each byte of the array where the layout's sets say it is; -1 if one is not as it should be. */
static inline int visit(const sluice_manifest *m, sluice_store **member, bool write) {
    sluice_reason why;
    for (int i = 0; i < m->layout->n; i++)
        for (int64_t k = 0; k < m->layout->set[i].size; k++) {
            const unsigned char want = value(sluice_set_select(&m->layout->set[i], k));
            unsigned char got = want;
            if (write ? sluice_store_write(member[i], k, &got, 1, &why)
                      : sluice_store_read(member[i], k, &got, 1, &why))
                return -1;
            if (got != want) return -1;
        }
    return 0;
}

#endif
