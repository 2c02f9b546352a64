/* desc.c: a description of an array that does not contradict itself.
 *
 * The same thing can be said in several fields: the size of an element by shape.elem, by the type and by the dtype of
 * a record, the byte order by the type's name and by `swapped`. Settling makes one of them all: what was left out is
 * filled in, what does not agree is refused. Afterwards the type is a canonical name of shape.elem bytes, and descr
 * is empty or a record of V<shape.elem>.
 */
#include "file/file.h"
#include "set/section.h"
#include <stdio.h>
#include <string.h>

static bool closed(const char *text, size_t size) { return memchr(text, 0, size) != NULL; }

/* Reads d->descr. What it says takes the place of the type, which must not say another thing. */
static int settle_descr(sluice_desc *d, sluice_reason *why) {
    sluice_literal l = {(const unsigned char *)d->descr, 0, (int64_t)strlen(d->descr), why};
    sluice_dtype t;
    sluice_type named;
    int64_t bad;
    int error;
    if (!sluice_literal_utf8(&l, &bad))
        return sluice_refuse(why, SLUICE_E_ARGUMENT, bad, "descr: byte %lld is not UTF-8", (long long)bad);
    if (!(error = sluice_dtype_parse(&t, &l)) && sluice_literal_peek(&l) >= 0)
        error = sluice_literal_expected(&l, "the end of the dtype");
    if (error) {
        if (!why) return error;
        const sluice_reason inner = *why;
        return sluice_refuse(why, error, inner.pos, "descr: %.180s", inner.text);
    }
    if (d->type[0] && (!sluice_type_parse(&named, d->type) || strcmp(named.name, t.type.name) != 0))
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "the type is %s, but the dtype is %s", d->type, t.type.name);
    strcpy(d->type, t.type.name);
    d->swapped |= t.type.swapped;
    if (!t.record) d->descr[0] = 0;
    return 0;
}

static int settle_type(sluice_desc *d, sluice_reason *why) {
    sluice_type t;
    if (!d->type[0] && !d->shape.elem)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "neither a type nor the size of an element");
    if (!d->type[0]) snprintf(d->type, sizeof d->type, "V%lld", (long long)d->shape.elem);
    if (!sluice_type_parse(&t, d->type) || t.size < 1)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "there is no element type %s", d->type);
    if (d->shape.elem != 0 && d->shape.elem != t.size)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "elements of %lld bytes, but %s has %lld",
                             (long long)d->shape.elem, d->type, (long long)t.size);
    strcpy(d->type, t.name);
    d->shape.elem = t.size;
    d->swapped = t.unit > 1 && (d->swapped || t.swapped);
    return 0;
}

int sluice_desc_settle(sluice_desc *d, sluice_reason *why) {
    sluice_desc whole = *d;
    int64_t step[SLUICE_MAX_DIMS];
    int error;
    if (d->format != SLUICE_RAW && d->format != SLUICE_NPY)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "unknown format %d", (int)d->format);
    if (!closed(d->type, sizeof d->type) || !closed(d->descr, sizeof d->descr))
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "a type or dtype without its closing 0");
    if (d->descr[0] && (error = settle_descr(&whole, why))) return error;
    if ((error = settle_type(&whole, why))) return error;
    if ((error = sluice_section_shape(&whole.shape, step, why))) return error;
    *d = whole;
    return 0;
}

int64_t sluice_desc_end(const sluice_desc *d) {
    int64_t bytes = d->shape.elem;
    for (int i = 0; i < d->shape.ndims; i++)
        if (d->shape.dim[i] == 0) return d->shape.header;
    for (int i = 0; i < d->shape.ndims; i++) bytes *= d->shape.dim[i];
    return d->shape.header + bytes;
}
