/* short.c: short reads of one piece, as libraries make them by the thousand.
 *
 * Of such a read the bytes are the least part. So it is tried at once: one request to the store, with no sets made and
 * without asking how long the file is, for a request that is met in full says it. Whatever is out of the ordinary, a
 * short answer, an error or a trace that is recorded included, is left to the way that all accesses can go (carry.c),
 * from the beginning.
 */
#include "mpiio/door.h"
#include "trace/record.h"

enum { SHORT = 16 << 10 }; /* bytes; longer ones may be copied from a mapping, which is faster */

/* Bytes of a predefined datatype that has no gaps; 0: it is not one. */
static int64_t plain_size(MPI_Datatype type) {
    int i, a, t, combiner, size;
    MPI_Aint lb, extent;
    if (type == MPI_BYTE) return 1;
    if (type == MPI_DATATYPE_NULL || MPI_Type_get_envelope(type, &i, &a, &t, &combiner) ||
        combiner != MPI_COMBINER_NAMED || MPI_Type_size(type, &size) || MPI_Type_get_extent(type, &lb, &extent))
        return 0;
    return lb == 0 && extent == size ? size : 0;
}

bool sluice_short_read(sluice_door *d, MPI_Offset offset, sluice_memory m, int64_t *bytes) {
    sluice_lane *l = &d->own;
    const sluice_fileview *v = &d->view;
    int64_t at, off;
    if (l->array || d->atomic || !v->whole || v->form != SLUICE_NATIVE || d->hints.method[0] != SLUICE_AUTO ||
        sluice_record_on(false) || d->amode & (MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL) || offset < 0 || m.count <= 0 ||
        m.count > SHORT)
        return false;
    const int64_t size = plain_size(m.type), len = m.count * size;
    if (len <= 0 || len > SHORT || len % v->unit || !v->size || !sluice_mul(offset, v->unit, &at)) return false;
    off = sluice_fileview_offset(v, at);
    if (off < 0 || off > INT64_MAX - len) return false;
    sluice_store *s = l->io->store;
    const struct iovec piece = {(void *)(uintptr_t)m.buf, (size_t)len};
    sluice_req r = {off, len, &piece, 1, 0};
    sluice_lane_enter(l);
    const bool done = !s->ops->submit(s, false, &r, 1) && !s->ops->wait(s, &r, 1) && r.result == len;
    if (done) {
        l->io->counts.wanted_read += len;
        d->last[0] = "calls";
    }
    sluice_lane_leave(l);
    *bytes = len;
    return done;
}
