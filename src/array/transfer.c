/* transfer.c: reading and writing parts, now or in the background. */
#include "array/array.h"
#include <errno.h>
#include <string.h>

/* Turns the bytes of n units of `unit` bytes around. */
static void swap_units(unsigned char *p, int64_t n, int64_t unit) {
    for (int64_t i = 0; i < n; i++, p += unit)
        for (int64_t k = 0; k < unit / 2; k++) {
            unsigned char t = p[k];
            p[k] = p[unit - 1 - k];
            p[unit - 1 - k] = t;
        }
}

static void swap_part(const sluice_io_part *p, int64_t unit) {
    if (!p->mem.set) {
        swap_units(p->mem.base, p->file->size / unit, unit);
        return;
    }
    sluice_cursor c;
    sluice_run run;
    for (sluice_cursor_init(&c, p->mem.set); sluice_cursor_run(&c, &run);)
        swap_units((unsigned char *)p->mem.base + run.off, run.len / unit, unit);
}

void sluice_transfer_swap(const sluice_array *a, const sluice_io_part *part, int n) {
    for (int i = 0; a->desc.swapped && i < n; i++) swap_part(&part[i], a->type.unit);
}

int sluice_transfer_pieces(sluice_array *a, bool write, const sluice_pieces *p, sluice_reason *why) {
    if (!write) return sluice_io_read(&a->io, p->part, p->n, why);
    const int err = sluice_copies_enter(a, p->copied, why);
    return err ? err : sluice_copies_leave(a, p->copied, sluice_io_write(&a->io, p->part, p->n, why), why);
}

int sluice_transfer_run(sluice_request *r) {
    sluice_array *a = r->array;
    const int64_t begin = sluice_traced_begin();
    if (r->together && a->layout)
        r->error = sluice_all_run_pieces(a, r->write, &r->pieces, NULL, !r->background, r->error, &r->why);
    else if (r->together)
        r->error = sluice_all_run(a, r->write, r->part, r->n, NULL, !r->background, r->error, &r->why);
    else if (a->layout)
        r->error = sluice_transfer_pieces(a, r->write, &r->pieces, &r->why);
    else
        r->error = (r->write ? sluice_io_write : sluice_io_read)(&a->io, r->part, r->n, &r->why);
    if (!r->error) sluice_traced_end(a, r->write, r->together, r->part, r->n, begin);
    if (!r->error && !r->write) sluice_transfer_swap(a, r->part, r->n);
    return r->error;
}

static int now(sluice_array *a, bool write, const sluice_part *part, int n) {
    sluice_request r;
    if (sluice_bind(&r, a, write, part, n, &r.why)) return sluice_errmsg_set(&r.why);
    sluice_background_drain(a);
    int err = sluice_transfer_run(&r);
    if (err) sluice_errmsg_set(&r.why);
    sluice_bind_free(&r);
    return err;
}

static int later(sluice_request **out, sluice_array *a, bool write, const sluice_part *part, int n) {
    sluice_reason why;
    sluice_request *r = sluice_mem_alloc(1, sizeof *r);
    if (!r)
        return sluice_errmsg_fail(-ENOMEM, "%s %s: no memory for a request", write ? "write" : "read",
                                  a->io.store->name);
    int err = sluice_bind(r, a, write, part, n, &why);
    if (!err) {
        err = sluice_background_start(r, &why);
        if (!err) {
            *out = r;
            return 0;
        }
        sluice_bind_free(r);
    }
    sluice_mem_free(r);
    return sluice_errmsg_set(&why);
}

int sluice_read_parts(sluice_array *a, const sluice_part *part, int n) { return now(a, false, part, n); }
int sluice_write_parts(sluice_array *a, const sluice_part *part, int n) { return now(a, true, part, n); }

int sluice_read(sluice_array *a, const sluice_range *range, void *buf) {
    return now(a, false, &(sluice_part){.range = range, .buf = buf}, 1);
}

int sluice_write(sluice_array *a, const sluice_range *range, const void *buf) {
    return now(a, true, &(sluice_part){.range = range, .buf = (void *)(uintptr_t)buf}, 1);
}

int sluice_read_start(sluice_request **r, sluice_array *a, const sluice_part *part, int n) {
    return later(r, a, false, part, n);
}

int sluice_write_start(sluice_request **r, sluice_array *a, const sluice_part *part, int n) {
    return later(r, a, true, part, n);
}
