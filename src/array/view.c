/* view.c: setting views, and moving ranges of them.
 *
 * A range of the view becomes one transfer for each subfile that it meets: its file side is the projection into the
 * subfile, its memory side the projection into the view, both cut to the range. Where either is one run, it is a plain
 * range; how the rest is carried out is the business of src/io, which moves every byte once.
 */
#include "array/parallel.h"
#include <errno.h>
#include <string.h>

/* ---- Setting ------------------------------------------------------------------------------------------------- */

static int check_element(const sluice_file *f, const sluice_element *e) {
    const char *name = f->name.text;
    if (e->period < 1 || e->disp < 0 || sluice_set_hi(e->set) > e->period)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT,
                                  "view of %s: period %lld, displacement %lld, set up to %lld: not an element", name,
                                  (long long)e->period, (long long)e->disp, (long long)sluice_set_hi(e->set));
    if (!e->set->size) return sluice_errmsg_fail(SLUICE_E_EMPTY, "view of %s: empty: it has no byte", name);
    return 0;
}

/* The subfile that the view is, or -1; negative otherwise is an error. */
static int same_subfile(const sluice_view *v, int *subfile) {
    const sluice_partition *p = &v->file->partition;
    int equal = 0;
    *subfile = -1;
    for (int i = 0; v->element.period == p->period && v->element.disp == p->disp && i < p->n && equal == 0; i++) {
        equal = sluice_set_equal(&v->set, &p->set[i]);
        if (equal > 0) *subfile = i;
    }
    return equal < 0 ? equal : 0;
}

static int make_links(sluice_view *v) {
    const sluice_partition *p = &v->file->partition;
    const bool ends = v->file->end < INT64_MAX;
    sluice_set all = SLUICE_SET_EMPTY;
    int same, err = same_subfile(v, &same);
    if (!err && same >= 0) return sluice_link_same(&v->link[same]);
    if (!err && ends) err = sluice_element_cut(&all, &v->element, 0, v->file->end);
    for (int i = 0; i < p->n && !err; i++) {
        if (!p->set[i].size) continue;
        err = ends ? sluice_link_within(&v->link[i], &all, &p->set[i])
                   : sluice_link_make(&v->link[i], &v->element, &(sluice_element){&p->set[i], p->period, p->disp});
        v->counts[i].intersections++;
    }
    sluice_set_free(&all);
    return err;
}

static int new_view(sluice_view **out, sluice_file *f, const sluice_element *e) {
    const size_t n = (size_t)f->partition.n;
    sluice_view *v = sluice_mem_alloc(1, sizeof *v);
    if (!v) return -ENOMEM;
    *v = (sluice_view){.file = f, .first = sluice_element_rank(e, f->partition.disp)};
    v->element = (sluice_element){&v->set, e->period, e->disp};
    v->link = sluice_mem_alloc(n, sizeof *v->link);
    v->span = sluice_mem_alloc(n, sizeof *v->span);
    v->id = sluice_mem_alloc(n, sizeof *v->id);
    v->counts = sluice_mem_alloc(n, sizeof *v->counts);
    if (v->link) memset(v->link, 0, n * sizeof *v->link);
    if (v->span) memset(v->span, 0, n * sizeof *v->span);
    if (v->counts) memset(v->counts, 0, n * sizeof *v->counts);
    for (size_t i = 0; v->id && i < n; i++) v->id[i] = -1;
    int err = v->link && v->span && v->id && v->counts ? sluice_set_copy(&v->set, e->set) : -ENOMEM;
    if (!err) err = make_links(v);
    if (err)
        sluice_view_free(v);
    else
        *out = v;
    return err;
}

int sluice_view_set(sluice_view **out, sluice_file *f, const sluice_element *e) {
    sluice_view *v;
    sluice_reason why;
    int err = check_element(f, e);
    if (err) return err;
    err = new_view(&v, f, e);
    if (err) return sluice_errmsg_fail(err, "view of %s: %s", f->name.text, sluice_strerror(err));
    err = f->service ? sluice_served_view(v, &why) : 0;
    if (err) {
        sluice_view_free(v);
        return sluice_errmsg_fail(err, "view of %s: %.*s", f->name.text, 90, why.text);
    }
    *out = v;
    return 0;
}

void sluice_view_free(sluice_view *v) {
    if (!v) return;
    if (v->file->service && v->id) sluice_served_free(v);
    for (int i = 0; v->link && i < v->file->partition.n; i++) sluice_link_free(&v->link[i]);
    sluice_mem_free(v->link);
    sluice_mem_free(v->span);
    sluice_mem_free(v->id);
    sluice_mem_free(v->counts);
    sluice_set_free(&v->set);
    sluice_mem_free(v);
}

/* ---- Moving -------------------------------------------------------------------------------------------------- */

static int check_range(const sluice_view *v, bool write, int64_t off, int64_t len) {
    const char *call = write ? "write" : "read", *name = v->file->name.text;
    int64_t end;
    if (write && !v->file->writable)
        return sluice_errmsg_fail(-EBADF, "write view of %s: it was opened for reading only", name);
    if (off < 0 || len < 0)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "%s view of %s: %lld bytes from %lld", call, name, (long long)len,
                                  (long long)off);
    if (!sluice_add(off, len, &end) || (len && sluice_element_unmap(&v->element, end - 1) < 0))
        return sluice_errmsg_fail(SLUICE_E_OVERFLOW, "%s view of %s: %lld bytes from %lld end past 2^63-1", call, name,
                                  (long long)len, (long long)off);
    if (len && sluice_element_unmap(&v->element, end - 1) >= v->file->end)
        return sluice_errmsg_fail(
            SLUICE_E_ARGUMENT, "%s view of %s: byte %lld of the view is byte %lld of the array, which has %lld", call,
            name, (long long)(end - 1), (long long)sluice_element_unmap(&v->element, end - 1), (long long)v->file->end);
    if (len && off < v->first)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT,
                                  "%s view of %s: byte %lld of the view is byte %lld of the file, before its "
                                  "displacement %lld",
                                  call, name, (long long)off, (long long)sluice_element_unmap(&v->element, off),
                                  (long long)v->file->partition.disp);
    return 0;
}

static void count(sluice_view_counts *c, const sluice_link *l, const sluice_span *s) {
    if (!l->solid) c->ends += 2;
    if (!s->n) return;
    c->requests++;
    c->contiguous += s->n == s->hi - s->lo;
    c->bytes += s->n;
    c->gathered += s->n == s->to - s->from ? 0 : s->n;
    c->scattered += s->n == s->hi - s->lo ? 0 : s->n;
}

int sluice_view_move(sluice_io *io, bool write, const sluice_link *l, const sluice_span *s, unsigned char *buf,
                     int64_t off, sluice_reason *why) {
    sluice_set file = SLUICE_SET_EMPTY, mem = SLUICE_SET_EMPTY;
    sluice_io_part part = {&file, {buf, &mem, off, 0}};
    int err = sluice_element_cut(&file, &l->sub, s->lo, s->hi);
    if (s->n == s->to - s->from)
        part.mem = (sluice_side){buf + (s->from - off), NULL, 0, 0};
    else if (!err)
        err = sluice_element_cut(&mem, &l->view, s->from, s->to);
    if (err)
        sluice_store_refuse(why, err, write ? "write" : "read", io->store->name, s->lo);
    else
        err = (write ? sluice_io_write : sluice_io_read)(io, &part, 1, why);
    sluice_set_free(&mem);
    sluice_set_free(&file);
    return err;
}

/* The spans of a range. */
static void find_spans(sluice_view *v, int64_t off, int64_t len, bool counted) {
    for (int i = 0; i < v->file->partition.n; i++) {
        const sluice_link *l = &v->link[i];
        v->span[i] = sluice_link_span(l, off, len);
        if (counted && l->view_set.size && len) count(&v->counts[i], l, &v->span[i]);
    }
}

static int move(sluice_view *v, bool write, int64_t off, int64_t len, void *buf) {
    sluice_reason why;
    sluice_file *f = v->file;
    int err = check_range(v, write, off, len);
    if (err) return err;
    find_spans(v, off, len, true);
    if (f->service) err = sluice_served_move(v, write, off, buf, &why);
    for (int i = 0; i < f->partition.n && !f->service && !err; i++)
        if (v->span[i].n) err = sluice_view_move(&f->io[i], write, &v->link[i], &v->span[i], buf, off, &why);
    return err ? sluice_errmsg_set(&why) : 0;
}

int sluice_view_read(sluice_view *v, int64_t off, int64_t len, void *buf) { return move(v, false, off, len, buf); }

int sluice_view_write(sluice_view *v, int64_t off, int64_t len, const void *buf) {
    return move(v, true, off, len, (void *)(uintptr_t)buf);
}

int sluice_view_expect(sluice_view *v, int64_t off, int64_t len) {
    sluice_reason why;
    sluice_file *f = v->file;
    int err = check_range(v, false, off, len);
    if (err) return err;
    find_spans(v, off, len, false);
    for (int i = 0; i < f->partition.n; i++)
        if (v->span[i].n && f->io[i].store)
            sluice_store_expect(f->io[i].store, v->span[i].lo, v->span[i].hi - v->span[i].lo);
    if (f->service) err = sluice_served_expect(v, &why);
    return err ? sluice_errmsg_set(&why) : 0;
}

/* ---- Counts -------------------------------------------------------------------------------------------------- */

void sluice_view_count(const sluice_view *v, int subfile, sluice_view_counts *c) {
    memset(c, 0, sizeof *c);
    for (int i = 0; i < v->file->partition.n; i++) {
        const sluice_view_counts *one = &v->counts[i];
        if (subfile >= 0 && i != subfile) continue;
        c->intersections += one->intersections;
        c->ends += one->ends;
        c->requests += one->requests;
        c->contiguous += one->contiguous;
        c->bytes += one->bytes;
        c->gathered += one->gathered;
        c->scattered += one->scattered;
    }
}
