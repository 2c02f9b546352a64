/* access.c: sections in PASSION's notation: lower:upper:stride of each dimension, inclusive, in the caller's base. */
#include "passion/inside.h"

/* Dimension d, which has `extent` indices. */
static int translate(sluice_access_part *p, int d, int64_t extent, const sluice_access *a, sluice_reason *why) {
    int64_t base = sluice_settings_base(), at = a->index ? a->index[d] - base : 0;
    int64_t lower = a->rows[d][0], upper = a->rows[d][1], stride = a->rows[d][2];
    if (stride < 1) return sluice_refuse(why, SLUICE_E_ARGUMENT, d, "a stride of %lld", (long long)stride);
    if (upper >= lower && (lower < base || upper >= base + extent))
        return sluice_refuse(why, SLUICE_E_ARGUMENT, d, "%lld:%lld:%lld is not within %lld:%lld", (long long)lower,
                             (long long)upper, (long long)stride, (long long)base, (long long)(base + extent - 1));
    p->range[d] =
        upper < lower ? (sluice_range){0, 0, 1} : (sluice_range){lower - base, (upper - lower) / stride + 1, stride};
    if (at < 0 || at > p->buffer.dim[d] - p->range[d].count)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, d, "%lld elements at index %lld of a buffer of %lld",
                             (long long)p->range[d].count, (long long)(at + base), (long long)p->buffer.dim[d]);
    p->at[d] = at;
    return 0;
}

int sluice_access_translate(sluice_access_part *p, const sluice_access *a, const char *call) {
    int err = sluice_pfile_check(a->file, a->ocad, false, call);
    if (err) return err;
    const char *name = a->file->array->io.store->name;
    sluice_shape shape = sluice_ocad_shape(a->ocad, a->file->placement);
    sluice_reason why;
    if (!a->array || !a->rows)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s %s: no array or no section", call, name);
    p->buffer = sluice_ocad_buffer(a->ocad);
    for (int d = 0; d < shape.ndims; d++)
        if (translate(p, d, shape.dim[d], a, &why))
            return sluice_errmsg_fail(why.error, "%s %s: dimension %d: %s", call, name, d, why.text);
    p->part = (sluice_part){.range = p->range, .buf = a->array, .buf_dim = p->buffer.dim, .buf_at = p->at};
    return 0;
}

int sluice_access_prepare(sluice_access_part *p, const sluice_access *a, bool write, const char *call) {
    int err = sluice_access_translate(p, a, call);
    return err ? err : sluice_pfile_view(a->file, a->ocad, write, call);
}

int PASSION_read_section(PFILE *file, OCAD *ocad, char *Array, int *Index, int AccessArray[][3]) {
    sluice_access a = {file, ocad, Array, Index, AccessArray};
    sluice_access_part p;
    int err = sluice_access_prepare(&p, &a, false, "PASSION_read_section");
    return err ? err : sluice_read_parts(file->array, &p.part, 1);
}

int PASSION_write_section(PFILE *file, OCAD *ocad, char *Array, int *Index, int AccessArray[][3]) {
    sluice_access a = {file, ocad, Array, Index, AccessArray};
    sluice_access_part p;
    int err = sluice_access_prepare(&p, &a, true, "PASSION_write_section");
    return err ? err : sluice_write_parts(file->array, &p.part, 1);
}
