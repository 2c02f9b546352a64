/* ranks: 1 */
/* trace_file.c: trace files: what was saved is loaded; hostile ones are refused or harmless, in bounded memory; every
 * call and allocation that fails is an error and leaves nothing. */
#include "support/oracle.h"
#include "support/unit.h"
#include "trace/form.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "trace_file.XXXXXX";

/* Of everything some: files, shapes, nested loops, several processes, an empty one, lost accesses. */
static void make(sluice_trace *t, int64_t rows) {
    sluice_set s = SLUICE_SET_EMPTY;
    CHECK(!sluice_trace_make(t, 3));
    CHECK(sluice_trace_add_file(t, "a", 1 << 20) == 0 && sluice_trace_add_file(t, "folder/b", -1) == 1);
    t->origin = INT64_C(1700000000000000000);
    t->proc[1].pid = 4711, t->proc[1].node = 1, t->proc[1].lost = 5, t->proc[1].complete = false;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < 10; j++) {
            const int64_t now = 1000 * i + 50 * j;
            CHECK(!sluice_set_falls(&s, 0, 4 + i % 3, 16, 100));
            CHECK(!sluice_trace_append(t, &(sluice_event){.proc = 0,
                                                          .collective = true,
                                                          .set = &s,
                                                          .off = 100000 * i + 2000 * j,
                                                          .begin = now,
                                                          .end = now + 7}));
            CHECK(!sluice_set_block(&s, 0, 1 + below(1000)));
            CHECK(!sluice_trace_append(
                t, &(sluice_event){
                       .proc = 1, .file = 1, .write = true, .set = &s, .off = below(1000), .begin = now, .end = now}));
        }
    sluice_set_free(&s);
    CHECK(!sluice_trace_finish(t));
}

static bool same(const sluice_trace *a, const sluice_trace *b) {
    bool good = a->origin == b->origin && a->nproc == b->nproc && a->nfile == b->nfile && a->nshape == b->nshape;
    for (int i = 0; i < a->nfile && good; i++)
        good = !strcmp(a->file[i].name, b->file[i].name) && a->file[i].size == b->file[i].size;
    for (int i = 0; i < a->nshape && good; i++) good = sluice_set_equal(&a->shape[i], &b->shape[i]) == 1;
    for (int i = 0; i < a->nproc && good; i++) {
        const sluice_trace_proc *p = &a->proc[i], *q = &b->proc[i];
        good = p->pid == q->pid && p->node == q->node && p->complete == q->complete && p->lost == q->lost &&
               p->nevents == q->nevents && p->nnode == q->nnode && p->nknot == q->nknot && p->blur == q->blur;
        for (int64_t k = 0; k < p->nnode && good; k++) {
            const sluice_trace_node *f = &p->tree[k], *g = &q->tree[k];
            good = f->n == g->n && f->span == g->span && f->file == g->file && f->write == g->write &&
                   f->collective == g->collective && f->loops == g->loops && f->off == g->off && f->size == g->size &&
                   f->busy == g->busy && (f->span > 1 || f->shape == g->shape) &&
                   !memcmp(f->shift, g->shift, sizeof f->shift);
        }
        good = good && (!p->nknot || !memcmp(p->knot, q->knot, (size_t)p->nknot * sizeof *p->knot));
    }
    return good;
}

static unsigned char *slurp(int64_t *n) {
    struct stat st;
    const int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && !fstat(fd, &st));
    unsigned char *bytes = test_resize(NULL, (size_t)st.st_size + 1);
    CHECK(read(fd, bytes, (size_t)st.st_size) == st.st_size);
    close(fd);
    *n = st.st_size;
    return bytes;
}

static void test_round(void) {
    for (int64_t rows = 0; rows <= 1000; rows = 10 * rows + 1) {
        sluice_trace t, u;
        sluice_reason why;
        make(&t, rows);
        int err = sluice_trace_save(&t, path, &why);
        CHECK(!err, "%s", why.text);
        err = sluice_trace_load(&u, path, &why);
        CHECK(!err, "%s", why.text);
        CHECK(same(&t, &u));
        sluice_trace_free(&t);
        sluice_trace_free(&u);
    }
}

/* Bytes as a trace or a part: an error with a reason and a place, or something that can be walked; memory that the
 * length bounds. A part of a loop is walked, since a loop may be long. */
static int read_bytes(const unsigned char *bytes, int64_t n, bool as_part) {
    sluice_trace t;
    sluice_author part;
    sluice_reason why = {0};
    unsigned char *fit = test_resize(NULL, (size_t)n + !n);
    memcpy(fit, bytes, (size_t)n);
    const int64_t live = sluice_mem_live();
    sluice_mem_peak_reset();
    const int err =
        sluice_read_source(&t, &(sluice_source){.fd = -1, .bytes = fit, .n = n}, as_part ? &part : NULL, &why);
    CHECK(sluice_mem_peak() - live <= 100000 + 200 * n, "%" PRId64 " bytes for %" PRId64, sluice_mem_peak() - live, n);
    if (err) {
        CHECK(err == SLUICE_E_FORMAT || err == SLUICE_E_VERSION, "%d", err);
        CHECK(why.error == err && why.text[0] && why.pos >= 0 && why.pos <= n, "'%s' at %lld of %" PRId64, why.text,
              why.pos, n);
    } else {
        sluice_events c;
        sluice_event e;
        int64_t last = 0;
        CHECK(!sluice_events_init(&c, &t, SLUICE_EVERY_PROCESS));
        for (int i = 0; i < 2000 && sluice_events_next(&c, &e); i++, last = e.begin)
            CHECK(e.begin >= last && e.end >= e.begin && e.off >= 0 && e.off <= INT64_MAX - sluice_set_hi(e.set) &&
                  e.file < t.nfile);
        sluice_events_close(&c);
    }
    sluice_trace_free(&t);
    CHECK(sluice_mem_live() == live, "leaks");
    free(fit);
    return err;
}

/* The checksum of the chunk at `at` is made right again, so that what is in it is looked at. */
static void seal(unsigned char *bytes, int64_t at) {
    const uint32_t len = bytes[at + 1] | (uint32_t)bytes[at + 2] << 8 | (uint32_t)bytes[at + 3] << 16;
    const uint32_t sum = sluice_crc32c(0, bytes + at, 5 + len);
    for (int i = 0; i < 4; i++) bytes[at + 5 + len + i] = (unsigned char)(sum >> 8 * i);
}

static void test_hostile(void) {
    static const unsigned char extreme[][10] = {
        {0x00},
        {0x7F},
        {0xFF, 0xFF, 0xFF, 0xFF, 0x07},
        {0xFF, 0xFF, 0xFF, 0xFF, 0x0F},
        {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F},
        {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F},
        {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01},
    };
    sluice_trace t;
    int64_t n, files = 0, refused = 0;
    make(&t, 12);
    CHECK(!sluice_trace_save(&t, path, NULL));
    sluice_trace_free(&t);
    unsigned char *bytes = slurp(&n);
    CHECK(!read_bytes(bytes, n, false));
    for (int64_t cut = 0; cut < n; cut++, files++) CHECK(read_bytes(bytes, cut, false), "cut at %" PRId64, cut);
    for (int64_t i = 0; i < n; i++, files++) { /* every byte is under a checksum */
        bytes[i] ^= (unsigned char)(1 << below(8));
        const int err = read_bytes(bytes, n, false);
        CHECK(err, "byte %" PRId64, i);
        bytes[i] = (unsigned char)bytes[i];
        free(bytes);
        bytes = slurp(&n);
    }
    CHECK(read_bytes(bytes, n, true), "a trace is not a part");
    bytes[n] = 'Z';
    CHECK(read_bytes(bytes, n + 1, false) == SLUICE_E_FORMAT, "goes on after its end");

    /* Every number of every chunk becomes an extreme one, under a checksum that is right. */
    for (int64_t at = SLUICE_FORM_HEAD; at < n;) {
        const int64_t len = bytes[at + 1] | bytes[at + 2] << 8 | bytes[at + 3] << 16,
                      next = at + SLUICE_FORM_AROUND + len;
        for (int64_t k = 0; k < len; k++) {
            int64_t old = 1;
            while (bytes[at + 5 + k + old - 1] & 0x80 && k + old < len) old++;
            for (size_t x = 0; x < sizeof extreme / sizeof *extreme; x++) {
                int64_t new = 1;
                while (extreme[x][new - 1] & 0x80) new ++;
                unsigned char *copy = test_resize(NULL, (size_t)(n + 10));
                memcpy(copy, bytes, (size_t)(at + 5 + k));
                memcpy(copy + at + 5 + k, extreme[x], (size_t) new);
                memcpy(copy + at + 5 + k + new, bytes + at + 5 + k + old, (size_t)(n - (at + 5 + k + old)));
                const int64_t longer = len + new - old;
                for (int i = 0; i < 3; i++) copy[at + 1 + i] = (unsigned char)(longer >> 8 * i);
                seal(copy, at);
                refused += read_bytes(copy, n + new - old, false) != 0;
                free(copy);
                files++;
            }
            k += old - 1;
        }
        at = next;
    }
    CHECK(files > 1000 && refused > 100, "%" PRId64 " hostile files, %" PRId64 " of them refused for what is in them",
          files, refused);
    printf("%" PRId64 " hostile files\n", files);
    free(bytes);
}

/* With each call and each allocation failing in turn: an error, nothing left behind, the file before is still there. */
static void test_faults(void) {
    sluice_trace t, u;
    char new[sizeof path + 4];
    snprintf(new, sizeof new, "%s.new", path);
    make(&t, 30);
    for (int kind = 0; kind < 4; kind++) {
        int err = -1;
        for (int64_t n = 1; err; n++) {
            CHECK(n < 10000, "never succeeds");
            const int64_t live = sluice_mem_live();
            sluice_reason why = {0};
            if (kind % 2)
                sluice_mem_fail_nth(n);
            else
                sluice_sys_fault(n, EIO);
            err = kind / 2 ? sluice_trace_load(&u, path, &why) : sluice_trace_save(&t, path, &why);
            sluice_mem_fail_nth(0);
            sluice_sys_fault(0, 0);
            CHECK(!err || (err == (kind % 2 ? -ENOMEM : -EIO) && why.error == err && why.text[0]), "%d", err);
            CHECK(access(new, F_OK) != 0, "a new file is left");
            if (kind / 2) sluice_trace_free(&u);
            CHECK(sluice_mem_live() == live, "leaks");
            CHECK(!sluice_trace_load(&u, path, NULL));
            sluice_trace_free(&u);
        }
    }
    sluice_trace_free(&t);
    sluice_reason why;
    CHECK(sluice_trace_load(&u, "nowhere.trace", &why) == -ENOENT && strstr(why.text, "nowhere.trace"));
    CHECK(sluice_trace_load(&u, "/dev/null", &why) == SLUICE_E_FORMAT && strstr(why.text, "not a trace"));
}

int main(void) {
    close(mkstemp(path));
    test_round();
    test_hostile();
    test_faults();
    unlink(path);
    return verdict();
}
