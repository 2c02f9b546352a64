/* space.c: whether there is room for the subfiles of a manifest: what they take on each file system, and what is free.
 *
 * Several targets may lie on one file system, and then share its room. What others write meanwhile, and quotas, are not
 * known: there may be less.
 */
#include "file/file.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

int sluice_space_ask(sluice_space **out, int *n, const sluice_manifest *m, const int *fd) {
    sluice_space *space = sluice_mem_alloc((size_t)m->ntargets, sizeof *space);
    int count = 0, of[SLUICE_MAX_TARGETS];
    if (!space) return -ENOMEM;
    for (int t = 0; t < m->ntargets; t++) {
        struct stat st;
        struct statvfs v;
        if (fd[t] < 0) continue;
        if (fstat(fd[t], &st) || fstatvfs(fd[t], &v)) {
            sluice_mem_free(space);
            return -errno;
        }
        int k = 0;
        while (k < count && space[k].device != st.st_dev) k++;
        of[t] = k;
        if (k < count) continue;
        space[count] = (sluice_space){.target = m->target[t].text, .device = st.st_dev};
        if (!sluice_mul((int64_t)v.f_bavail, (int64_t)v.f_frsize, &space[count].free)) space[count].free = INT64_MAX;
        count++;
    }
    for (int i = 0; i < m->layout->n; i++) {
        const int64_t size = m->layout->size[i], sums = m->checksum ? sluice_sums_length(size, m->checksum) : 0;
        int64_t *need = &space[of[m->place[i]]].need;
        if (!sluice_add(*need, size, need) || !sluice_add(*need, sums, need)) *need = INT64_MAX;
    }
    *out = space;
    *n = count;
    return 0;
}
