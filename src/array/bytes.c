/* bytes.c: transfers of bytes that are named by their offsets, whatever array they are of. */
#include "array/array.h"
#include <string.h>

/* A layout that keeps copies of bytes: who writes one of them must write all. */
static bool has_copies(const sluice_array *a) { return a->layout && !strncmp(a->layout->text, "placed", 6); }

int sluice_bytes_move(sluice_array *a, const sluice_bytes *b, int error, sluice_reason *why) {
    const sluice_io_part whole = {b->file, {b->buf, NULL, 0, 0}};
    const bool together = b->together && a->collective;
    sluice_pieces pieces = {0};
    if (!error) error = sluice_bind_allowed(a, b->write, why);
    if (!error && b->write && has_copies(a))
        error = sluice_refuse(why, SLUICE_E_ARGUMENT, -1,
                              "write %s: its layout has copies, which are not kept equal here", a->io.store->name);
    if (!error && a->layout) error = sluice_pass(why, sluice_split(&pieces, a->layout, &whole, 1));
    const sluice_io_part *part = a->layout ? pieces.part : &whole;
    const int n = error ? 0 : a->layout ? pieces.n : 1;
    if (together)
        error = sluice_all_run(a, b->write, part, n, NULL, true, error, why);
    else if (!error)
        error = (b->write ? sluice_io_write : sluice_io_read)(&a->io, part, n, why);
    sluice_split_free(&pieces);
    return error;
}

int sluice_bytes_near(const sluice_array *a, const sluice_set *file, bool write, int subfile, int64_t *near,
                      int64_t *all) {
    const sluice_io_part whole = {file, {NULL, NULL, 0, 0}};
    sluice_pieces pieces;
    (void)write;
    *near = 0;
    *all = file->size;
    if (!a->layout || subfile >= a->layout->n) return 0;
    const int error = sluice_split(&pieces, a->layout, &whole, 1);
    if (error) return error;
    const int64_t from = a->layout->base[subfile], to = a->layout->base[subfile + 1];
    *all = 0;
    for (int i = 0; i < pieces.n; i++) {
        *near += sluice_set_rank(pieces.part[i].file, to) - sluice_set_rank(pieces.part[i].file, from);
        *all += pieces.part[i].file->size;
    }
    sluice_split_free(&pieces);
    return 0;
}
