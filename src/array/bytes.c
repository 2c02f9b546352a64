/* bytes.c: transfers of bytes that are named by their offsets, whatever array they are of. */
#include "array/array.h"

int sluice_bytes_move(sluice_array *a, const sluice_bytes *b, int error, sluice_reason *why) {
    const sluice_io_part whole = {b->file, {b->buf, NULL, 0, 0}};
    const bool together = b->together && a->collective;
    sluice_pieces pieces = {0};
    if (!error) error = sluice_bind_allowed(a, b->write, why);
    if (!error && a->layout) error = sluice_pass(why, sluice_split_parts(&pieces, a, b->write, &whole, 1));
    if (together && a->layout)
        error = sluice_all_run_pieces(a, b->write, &pieces, NULL, true, error, why);
    else if (together)
        error = sluice_all_run(a, b->write, &whole, !error, NULL, true, error, why);
    else if (!error && a->layout)
        error = sluice_transfer_pieces(a, b->write, &pieces, why);
    else if (!error)
        error = (b->write ? sluice_io_write : sluice_io_read)(&a->io, &whole, 1, why);
    sluice_split_free(&pieces);
    return error;
}

int sluice_bytes_near(const sluice_array *a, const sluice_set *file, bool write, int subfile, int64_t *near,
                      int64_t *all) {
    const sluice_io_part whole = {file, {NULL, NULL, 0, 0}};
    sluice_pieces pieces;
    *near = 0;
    *all = file->size;
    if (!a->layout || subfile >= a->layout->n) return 0;
    const sluice_which which = {write                                        ? SLUICE_ALL_COPIES
                                : a->container->differ || !a->layout->placed ? SLUICE_FIRST_COPIES
                                                                             : subfile % (a->layout->n - 1),
                                a->subfiles.target};
    const int error = sluice_split_which(&pieces, a->layout, which, &whole, 1);
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
