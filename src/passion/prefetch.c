/* prefetch.c: sections that are read while the program computes.
 *
 * A file knows its outstanding prefetches, so that it can be closed before they were waited for: their results then
 * wait in the descriptors.
 */
#include "passion/inside.h"
#include <errno.h>

PREFETCH *PASSION_read_prefetch(PFILE *file, OCAD *ocad, char *Array, int *Index, int AccessArray[][3]) {
    const char *call = "PASSION_read_prefetch";
    sluice_access a = {file, ocad, Array, Index, AccessArray};
    sluice_access_part part;
    if (sluice_access_prepare(&part, &a, false, call)) return NULL;
    PREFETCH *p = sluice_mem_alloc(1, sizeof *p);
    if (!p) {
        sluice_errmsg_fail(-ENOMEM, "%s %s: no memory", call, file->array->io.store->name);
        return NULL;
    }
    *p = (PREFETCH){.file = file, .next = file->prefetch};
    if (sluice_read_start(&p->request, file->array, &part.part, 1)) {
        sluice_mem_free(p);
        return NULL;
    }
    file->prefetch = p;
    return p;
}

PREFETCH *PASSION_prefetch_read(PFILE *file, OCAD *ocad, char *Array, int *Index, int AccessArray[][3]) {
    return PASSION_read_prefetch(file, ocad, Array, Index, AccessArray);
}

int PASSION_prefetch_wait(PREFETCH *prefetch) {
    if (!prefetch) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "PASSION_prefetch_wait: no prefetch");
    int err;
    if (prefetch->file) {
        PREFETCH **link = &prefetch->file->prefetch;
        while (*link != prefetch) link = &(*link)->next;
        *link = prefetch->next;
        err = sluice_wait(prefetch->request);
    } else {
        err = prefetch->why.error ? sluice_errmsg_set(&prefetch->why) : 0;
    }
    sluice_mem_free(prefetch);
    return err;
}

void sluice_prefetch_complete(PFILE *f) {
    for (PREFETCH *p = f->prefetch; p; p = p->next) {
        int err = sluice_wait(p->request);
        if (err) sluice_refuse(&p->why, err, -1, "%s", sluice_errmsg());
        p->file = NULL;
    }
    f->prefetch = NULL;
}
