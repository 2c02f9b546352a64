/* vcase_view.c: the accesses and redistributions of the vectors, through views of parallel files. */
#include "sluice_view.h"
#include "support/vcase.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNTOUCHED = 0xfd, MARGIN = 16 };

static unsigned char data_byte(int64_t y) { return (unsigned char)((7 * y + 3) % 251); }

/* A call of the library returned 0. */
static bool done(vcase *c, int error, const char *call) {
    if (error) vcase_fail(c, "%s: %s", call, sluice_errmsg());
    return !error;
}

/* ---- Folders of subfiles ------------------------------------------------------------------------------------- */

typedef struct folder {
    char name[32];
    int n;
    const char **path;
} folder;

static void make_folder(vcase *c, folder *f, int n) {
    *f = (folder){.name = "/tmp/view.XXXXXX", .n = n, .path = vcase_alloc(c, (size_t)n, sizeof *f->path)};
    if (!mkdtemp(f->name)) vcase_fail(c, "cannot make %s", f->name);
    for (int i = 0; i < n && !c->failed; i++) {
        char *path = vcase_alloc(c, 1, 64);
        if (path) snprintf(path, 64, "%s/%d", f->name, i);
        f->path[i] = path;
    }
}

static void remove_folder(folder *f) {
    for (int i = 0; i < f->n; i++)
        if (f->path[i]) unlink(f->path[i]);
    rmdir(f->name);
}

/* Fills a subfile with bytes that no one writes. */
static void spoil(vcase *c, const char *path, int64_t n) {
    unsigned char *b = vcase_alloc(c, (size_t)n, 1);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (b) memset(b, UNTOUCHED, (size_t)n);
    if (fd < 0 || !b || pwrite(fd, b, (size_t)n, 0) != n) vcase_fail(c, "cannot write %s", path);
    close(fd);
}

/* The n bytes of a subfile are those of `want`, and there are no more. */
static void same_content(vcase *c, const char *path, const unsigned char *want, int64_t n) {
    unsigned char *got = vcase_alloc(c, (size_t)n + 1, 1);
    int fd = open(path, O_RDONLY);
    if (!got || fd < 0 || pread(fd, got, (size_t)n + 1, 0) != n) vcase_fail(c, "%s does not have its length", path);
    close(fd);
    for (int64_t i = 0; i < n && !c->failed; i++) vcase_same(c, want[i], got[i], "byte %lld of %s", (long long)i, path);
}

/* ---- view_access --------------------------------------------------------------------------------------------- */

typedef struct access_case {
    sluice_element view;
    sluice_partition physical;
    int64_t m, past; /* the range of the case */
    int64_t from;    /* where the part of it starts that has subfiles */
    int64_t room;    /* bytes of each subfile that are looked at */
    bool outside;    /* not all of it has */
    const json_t *subfiles;
} access_case;

static bool same_element(const access_case *a, const sluice_set *sub) {
    return a->view.period == a->physical.period && a->view.disp == a->physical.disp &&
           sluice_set_equal(a->view.set, sub) == 1;
}

/* What the view counted for subfile i, after `times` accesses. */
static void same_counts(vcase *c, const access_case *a, const sluice_view *v, int i, int times) {
    const json_t *expected = json_array_get(a->subfiles, (size_t)i);
    int64_t sent = (int64_t)json_array_size(vcase_array(c, expected, "sent")), len = a->past - a->m;
    sluice_view_counts n;
    sluice_view_count(v, i, &n);
    bool is_view = false;
    for (int k = 0; k < a->physical.n; k++) is_view |= same_element(a, &a->physical.set[k]);
    const sluice_element sub = {&a->physical.set[i], a->physical.period, a->physical.disp};
    const int64_t first = sluice_element_unmap(&a->view, a->m), last = sluice_element_unmap(&a->view, a->past - 1);
    const bool some = sub.set->size > 0;
    const int64_t ms = some ? sluice_element_next(&sub, first) : -1, Ms = some ? sluice_element_prev(&sub, last) : -1;
    vcase_same_or_null(c, json_object_get(expected, "mS"), ms, "mS of subfile %d", i);
    vcase_same_or_null(c, json_object_get(expected, "MS"), Ms, "MS of subfile %d", i);
    vcase_same(c, is_view || !some ? 0 : 1, n.intersections, "intersections with subfile %d", i);
    if (is_view) vcase_same(c, 0, n.ends + n.gathered + n.scattered, "mapped, gathered or scattered, subfile %d", i);
    vcase_same(c, sent * times, n.bytes, "bytes of subfile %d", i);
    vcase_same(c, sent ? times : 0, n.requests, "requests for subfile %d", i);
    vcase_same(c, vcase_bool(c, expected, "view_full"), sent == len, "view_full of subfile %d", i);
    vcase_same(c, vcase_bool(c, expected, "sub_full"), sent && sent == Ms - ms + 1, "sub_full of subfile %d", i);
    vcase_same(c, vcase_bool(c, expected, "view_one_run"), n.requests && !n.gathered, "view_one_run of subfile %d", i);
    vcase_same(c, vcase_bool(c, expected, "sub_one_run"), n.contiguous > 0, "sub_one_run of subfile %d", i);
    vcase_same(c, n.contiguous ? 0 : n.bytes, n.scattered, "bytes scattered to subfile %d", i);
    vcase_same(c, n.gathered ? n.bytes : 0, n.gathered, "bytes gathered for subfile %d", i);
}

/* Calls each(i-th byte sent, its offset) for the runs of a subfile. */
static void put_sent(vcase *c, unsigned char *want, const json_t *expected, int64_t room) {
    const json_t *runs = vcase_array(c, expected, "subfile_runs"), *sent = vcase_array(c, expected, "sent");
    size_t k = 0;
    for (size_t r = 0; r < json_array_size(runs) && !c->failed; r++) {
        const int64_t *run = vcase_ints(c, vcase_array_at(c, runs, r, "subfile_runs"), 2, NULL, "subfile_runs");
        for (int64_t x = run ? run[0] : 0; run && x <= run[1] && x < room; x++)
            want[x] = (unsigned char)vcase_at(c, sent, k++, "sent");
    }
    vcase_same(c, (int64_t)json_array_size(sent), (int64_t)k, "bytes in subfile_runs");
}

static void by_method(vcase *c, const access_case *a, const folder *d, sluice_method method) {
    sluice_options o = {.size = sizeof o, .method = method};
    const int64_t len = a->past - a->from;
    unsigned char *buf = vcase_alloc(c, (size_t)(a->past - a->m), 1), *want = vcase_alloc(c, (size_t)a->room, 1);
    unsigned char *back = vcase_alloc(c, (size_t)(a->past - a->m), 1);
    sluice_file *f;
    sluice_view *v;
    for (int i = 0; i < d->n && !c->failed; i++) spoil(c, d->path[i], a->room);
    if (c->failed || !done(c, sluice_file_open(&f, &a->physical, d->path, SLUICE_WRITE, &o), "open")) return;
    if (done(c, sluice_view_set(&v, f, &a->view), "view_set")) {
        for (int64_t y = a->m; y < a->past; y++) buf[y - a->m] = data_byte(y);
        if (a->outside)
            vcase_same(c, SLUICE_E_ARGUMENT, sluice_view_write(v, a->m, a->past - a->m, buf), "writing before disp");
        done(c, sluice_view_write(v, a->from, len, buf + (a->from - a->m)), "write");
        for (int i = 0; i < d->n && !c->failed && len && !a->outside; i++) same_counts(c, a, v, i, 1);
        done(c, sluice_view_read(v, a->from, len, back), "read");
        for (int64_t y = 0; y < len && !c->failed; y++)
            vcase_same(c, buf[a->from - a->m + y], back[y], "byte %lld read back", (long long)(a->from + y));
        for (int i = 0; i < d->n && !c->failed && len && !a->outside; i++) same_counts(c, a, v, i, 2);
        sluice_view_free(v);
    }
    done(c, sluice_file_close(f), "close");
    for (int i = 0; i < d->n && !c->failed; i++) {
        memset(want, UNTOUCHED, (size_t)a->room);
        put_sent(c, want, json_array_get(a->subfiles, (size_t)i), a->room);
        same_content(c, d->path[i], want, a->room);
    }
}

void vcase_view_access(vcase *c) {
    const json_t *physical = vcase_field(c, c->json, "physical", JSON_OBJECT);
    const json_t *outside = vcase_array(c, c->json, "outside_physical");
    access_case a = {.m = vcase_int(c, c->json, "m"), .past = vcase_int(c, c->json, "M") + 1};
    a.subfiles = vcase_array(c, c->json, "subfiles");
    a.view = vcase_element(c, vcase_field(c, c->json, "view", JSON_OBJECT), "view");
    vcase_partition(c, &a.physical, vcase_array(c, physical, "pattern"), vcase_int(c, physical, "disp"), "physical");
    if (c->failed) return;
    vcase_same(c, (int64_t)json_array_size(a.subfiles), a.physical.n, "number of subfiles");
    if (a.m < 0 || a.past <= a.m || a.past > 1 << 20 || !a.view.set->size) vcase_fail(c, "not a small range of a view");
    if (c->failed) return;
    a.outside = json_array_size(outside) > 0;
    a.from = a.m + (int64_t)json_array_size(outside);
    for (size_t k = 0; k < json_array_size(outside); k++)
        vcase_same(c, vcase_at(c, outside, k, "outside_physical"), a.m + (int64_t)k, "outside_physical[%zu]", k);
    a.room = sluice_element_unmap(&a.view, a.past - 1) + MARGIN;
    folder d;
    make_folder(c, &d, a.physical.n);
    static const sluice_method method[] = {SLUICE_AUTO, SLUICE_DIRECT, SLUICE_LIST, SLUICE_SIEVE, SLUICE_MAPPED};
    for (size_t k = 0; k < sizeof method / sizeof *method && !c->failed; k++) by_method(c, &a, &d, method[k]);
    remove_folder(&d);
}

/* ---- redistribute -------------------------------------------------------------------------------------------- */

/* From the first partition's files into the second's, through views that are elements of the second: one range for
 * each, of the window [lo, hi) of the file. */
static void carry(vcase *c, sluice_file *from, sluice_file *to, const sluice_partition *p, int64_t lo, int64_t hi) {
    const json_t *bytes = vcase_array(c, c->json, "bytes");
    for (int k = 0; k < p->n && !c->failed; k++) {
        const sluice_element e = {&p->set[k], p->period, p->disp};
        const int64_t off = sluice_element_rank(&e, lo), len = sluice_element_rank(&e, hi) - off;
        unsigned char *buf = vcase_alloc(c, (size_t)len + 1, 1);
        sluice_view *in, *out;
        if (!e.set->size || !buf) continue;
        if (!done(c, sluice_view_set(&in, from, &e), "view_set")) return;
        done(c, sluice_view_read(in, off, len, buf), "read");
        for (size_t i = 0; i < json_array_size(bytes) && !c->failed; i++) {
            sluice_view_counts n;
            sluice_view_count(in, (int)i, &n);
            vcase_same(c, vcase_at(c, vcase_array_at(c, bytes, i, "bytes"), (size_t)k, "bytes"), n.bytes,
                       "bytes from subfile %zu to %d", i, k);
        }
        sluice_view_free(in);
        if (c->failed || !done(c, sluice_view_set(&out, to, &e), "view_set")) return;
        done(c, sluice_view_write(out, off, len, buf), "write");
        sluice_view_counts n;
        sluice_view_count(out, -1, &n);
        vcase_same(c, 0, n.intersections + n.ends + n.gathered + n.scattered, "work for a view that is a subfile");
        sluice_view_free(out);
    }
}

/* The bytes of a window of the file as they lie in a subfile, by asking for each byte where it is. */
static int64_t lay(const sluice_partition *p, int subfile, int64_t lo, int64_t hi, unsigned char *want) {
    int64_t n = 0;
    for (int64_t x = lo > p->disp ? lo : p->disp; x < hi; x++) {
        int element;
        int64_t off;
        if (sluice_partition_owner(p, x, &element, &off) || element != subfile) continue;
        want[off] = data_byte(x);
        n = off + 1;
    }
    return n;
}

void vcase_redistribute_placed(vcase *c) {
    sluice_partition p[2];
    folder d[2] = {{.n = 0}, {.n = 0}};
    sluice_file *f[2] = {NULL, NULL};
    vcase_redistribute(c);
    if (c->failed) return;
    const int64_t lo = vcase_int(c, c->json, "D"), hi = lo + vcase_int(c, c->json, "L");
    vcase_partition(c, &p[0], vcase_array(c, c->json, "p1"), vcase_int(c, c->json, "d1"), "p1");
    vcase_partition(c, &p[1], vcase_array(c, c->json, "p2"), vcase_int(c, c->json, "d2"), "p2");
    if (c->failed) return;
    unsigned char *want = vcase_alloc(c, (size_t)hi, 1);
    for (int k = 0; k < 2; k++) make_folder(c, &d[k], p[k].n);
    for (int i = 0; i < p[0].n && !c->failed; i++) {
        memset(want, 0, (size_t)hi);
        int64_t n = lay(&p[0], i, p[0].disp, hi, want);
        int fd = open(d[0].path[i], O_WRONLY | O_CREAT, 0600);
        if (fd < 0 || pwrite(fd, want, (size_t)n, 0) != n) vcase_fail(c, "cannot write %s", d[0].path[i]);
        close(fd);
    }
    if (!c->failed && done(c, sluice_file_open(&f[0], &p[0], d[0].path, SLUICE_READ, NULL), "open") &&
        done(c, sluice_file_create(&f[1], &p[1], d[1].path, NULL), "create"))
        carry(c, f[0], f[1], &p[1], lo, hi);
    for (int k = 0; k < 2; k++) done(c, sluice_file_close(f[k]), "close");
    for (int i = 0; i < p[1].n && !c->failed; i++) {
        memset(want, 0, (size_t)hi);
        int64_t n = lay(&p[1], i, lo, hi, want);
        same_content(c, d[1].path[i], want, n);
    }
    for (int k = 0; k < 2; k++) remove_folder(&d[k]);
}
