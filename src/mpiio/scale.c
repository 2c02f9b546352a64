/* scale.c: a datatype as it lies in a file of external32, where its elements have another size than in memory.
 *
 * A filetype that may be used in such a file is made of repetitions and strides of one kind of element, all of them
 * counted in extents (MPI calls it portable). So everything in it is a multiple of the element's size, and becomes the
 * same multiple of the other one:
 *
 *     every second long, in memory    ########........########........
 *     in the file                     ####....####....
 */
#include "mpiio/parts.h"
#include "set/set.h"

/* All lengths of a datatype and of a family. */
enum { LENGTHS = 7, FIELDS = 5 };

static void list_lengths(sluice_typed *t, int64_t *length[LENGTHS]) {
    int64_t *const all[] = {&t->size, &t->lb, &t->extent, &t->true_lb, &t->true_extent, &t->first, &t->order.size};
    for (int i = 0; i < LENGTHS; i++) length[i] = all[i];
}

static void list_fields(sluice_node *f, int64_t *field[FIELDS]) {
    int64_t *const all[] = {&f->off, &f->len, &f->step, &f->isize, &f->before};
    for (int i = 0; i < FIELDS; i++) field[i] = all[i];
}

/* Whether all are multiples of a; if apply, they become those of b. */
static bool scale(int64_t *const *number, int n, int64_t a, int64_t b, bool apply) {
    bool fits = true;
    for (int i = 0; i < n; i++) {
        fits &= *number[i] % a == 0;
        if (apply) *number[i] = *number[i] / a * b;
    }
    return fits;
}

static bool scale_all(sluice_typed *t, int64_t a, int64_t b, bool apply) {
    int64_t *length[LENGTHS], *field[FIELDS];
    list_lengths(t, length);
    bool fits = scale(length, LENGTHS, a, b, apply);
    for (int32_t i = 0; i < t->order.nnode; i++) {
        list_fields(&t->order.node[i], field);
        fits &= scale(field, FIELDS, a, b, apply);
    }
    return fits;
}

bool sluice_typed_scale(sluice_typed *t) {
    const sluice_part *whole = &t->part[t->nparts - 1];
    const int64_t a = whole->each[SLUICE_NATIVE], b = whole->each[SLUICE_EXTERNAL32];
    if (whole->n == 0 || whole->count > 0 || b > a || !scale_all(t, a, b, false)) return false;
    scale_all(t, a, b, true);
    return true;
}
