/* traced.c: what arrays tell the recorder of a trace: each transfer, as one access to the bytes of the array. */
#include "array/array.h"
#include "trace/record.h"
#include <stdio.h>
#include <unistd.h>

bool sluice_traced_on(void) { return sluice_record_on(false); }

int64_t sluice_traced_begin(void) { return sluice_traced_on() ? sluice_record_now() : 0; }

/* The number of the array's file: by its whole name, which the store does not keep. */
static int number_of(sluice_array *a) {
    char link[64], name[PATH_MAX];
    sluice_store *s = a->io.store;
    if (a->traced.file > 0 && a->traced.part == sluice_record_part()) return a->traced.file - 1;
    const int fd = !a->container && s->ops->fd ? s->ops->fd(s) : -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = fd < 0 ? -1 : readlink(link, name, sizeof name - 1);
    if (n > 0) name[n] = 0;
    const int file = sluice_record_file(a->container ? a->container->path
                                        : n > 0      ? name
                                                     : s->name,
                                        a->layout ? a->layout->length : sluice_desc_end(&a->desc));
    a->traced.file = file + 1, a->traced.part = sluice_record_part();
    return file;
}

/* All parts as one set, or each for itself where that has no closed form: then the first has all of the time. */
void sluice_traced_end(sluice_array *a, bool write, bool together, const sluice_io_part *part, int n, int64_t begin) {
    static const sluice_set none = SLUICE_SET_EMPTY;
    if (!sluice_traced_on()) return;
    const int64_t end = sluice_record_now();
    const int file = number_of(a);
    sluice_set all = SLUICE_SET_EMPTY;
    int err = 0;
    for (int i = 0; i < n && n > 1 && !err; i++) err = sluice_set_union(&all, &all, part[i].file);
    if (!err)
        sluice_record_access(file, write, together, n == 0 ? &none : n == 1 ? part->file : &all, 0, begin, end);
    else
        for (int i = 0; i < n; i++) sluice_record_access(file, write, together, part[i].file, 0, i ? end : begin, end);
    sluice_set_free(&all);
}
