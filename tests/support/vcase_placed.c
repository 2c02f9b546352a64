/* vcase_placed.c: the sections of the vectors, read from files and written to them: by every method of the array layer,
 * whose requests are counted, and by the routines of PASSION. */
#include "passion.h"
#include "support/vcase.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A call of the library returned 0. */
static bool done(vcase *c, int error, const char *call) {
    if (error) vcase_fail(c, "%s: %s", call, sluice_errmsg());
    return !error;
}

/* A case: the file as it is and the pairs of elements, [file element, buffer element]. */
typedef struct placed {
    sluice_shape shape;
    sluice_range range[SLUICE_MAX_DIMS];
    int64_t at[SLUICE_MAX_DIMS], buffer_dim[SLUICE_MAX_DIMS];
    int dim[SLUICE_MAX_DIMS], index[SLUICE_MAX_DIMS], access[SLUICE_MAX_DIMS][3], buffer[SLUICE_MAX_DIMS][2];
    int64_t bytes, buffer_bytes;
    const int64_t **pair;
    size_t pairs;
    unsigned char *file, *memory, *got; /* bytes of the file; of a buffer to write; room for a result */
    char path[32];
} placed;

static unsigned char file_byte(int64_t i) { return (unsigned char)((7 * i + 3) % 251); }
static unsigned char memory_byte(int64_t i) { return (unsigned char)((11 * i + 5) % 241); }
enum { UNTOUCHED = 0xfd };

static bool read_case(vcase *c, placed *p) {
    size_t n, m;
    const json_t *section = vcase_array(c, c->json, "section"), *pairs = vcase_array(c, c->json, "file_to_buffer");
    const int64_t *dim = vcase_ints(c, vcase_array(c, c->json, "shape"), -1, &n, "shape");
    const int64_t *buffer = vcase_ints(c, vcase_array(c, c->json, "buffer_shape"), (int64_t)n, &m, "buffer_shape");
    const int64_t *index = vcase_ints(c, vcase_array(c, c->json, "index"), (int64_t)n, &m, "index");
    int64_t base = vcase_int(c, c->json, "base"), elem = vcase_int(c, c->json, "elemsize");
    bool rows = !strcmp(vcase_text(c, c->json, "order"), "ROW_MAJOR");
    if (c->failed || n < 1 || n > SLUICE_MAX_DIMS) return false;
    p->shape = (sluice_shape){.ndims = (int)n, .elem = elem, .header = vcase_int(c, c->json, "header")};
    p->shape.order = rows ? SLUICE_ROW_MAJOR : SLUICE_COLUMN_MAJOR;
    p->bytes = p->buffer_bytes = elem;
    for (size_t d = 0; d < n; d++) {
        const int64_t *v = vcase_ints(c, vcase_array_at(c, section, d, "section"), 3, NULL, "section");
        if (c->failed || v[2] < 1) return false;
        p->shape.dim[d] = dim[d];
        p->dim[d] = (int)dim[d];
        p->buffer_dim[d] = buffer[d];
        p->buffer[d][0] = (int)buffer[d];
        p->at[d] = index[d];
        p->index[d] = (int)(index[d] + base);
        for (int k = 0; k < 3; k++) p->access[d][k] = (int)v[k];
        p->range[d] = (sluice_range){v[0] - base, v[1] < v[0] ? 0 : (v[1] - v[0]) / v[2] + 1, v[2]};
        if (p->range[d].count == 0) p->range[d].start = 0;
        p->bytes *= dim[d];
        p->buffer_bytes *= buffer[d];
    }
    p->bytes += p->shape.header;
    p->pairs = json_array_size(pairs);
    p->pair = vcase_alloc(c, p->pairs + 1, sizeof *p->pair);
    for (size_t k = 0; k < p->pairs && p->pair; k++)
        p->pair[k] = vcase_ints(c, vcase_array_at(c, pairs, k, "file_to_buffer"), 2, NULL, "file_to_buffer");
    p->file = vcase_alloc(c, (size_t)p->bytes, 1);
    p->memory = vcase_alloc(c, (size_t)p->buffer_bytes, 1);
    p->got = vcase_alloc(c, (size_t)(p->bytes > p->buffer_bytes ? p->bytes : p->buffer_bytes), 1);
    return !c->failed;
}

/* The file as at the start. */
static void reset(vcase *c, placed *p) {
    for (int64_t i = 0; i < p->bytes; i++) p->file[i] = file_byte(i);
    for (int64_t i = 0; i < p->buffer_bytes; i++) p->memory[i] = memory_byte(i);
    memset(p->got, UNTOUCHED, (size_t)p->buffer_bytes);
    int fd = open(p->path, O_WRONLY);
    if (fd < 0 || pwrite(fd, p->file, (size_t)p->bytes, 0) != p->bytes) vcase_fail(c, "cannot write %s", p->path);
    close(fd);
}

/* After a read: the paired elements have arrived, and nothing else has changed. */
static void same_buffer(vcase *c, placed *p, const char *how) {
    int64_t elem = p->shape.elem;
    unsigned char *want = vcase_alloc(c, (size_t)p->buffer_bytes, 1);
    if (!want) return;
    memset(want, UNTOUCHED, (size_t)p->buffer_bytes);
    for (size_t k = 0; k < p->pairs; k++)
        memcpy(want + p->pair[k][1] * elem, p->file + p->shape.header + p->pair[k][0] * elem, (size_t)elem);
    for (int64_t i = 0; i < p->buffer_bytes && !c->failed; i++)
        vcase_same(c, want[i], p->got[i], "%s: byte %lld of the buffer", how, (long long)i);
}

/* After a write: the same in the file. */
static void same_file(vcase *c, placed *p, const char *how) {
    int64_t elem = p->shape.elem;
    for (size_t k = 0; k < p->pairs; k++)
        memcpy(p->file + p->shape.header + p->pair[k][0] * elem, p->memory + p->pair[k][1] * elem, (size_t)elem);
    int fd = open(p->path, O_RDONLY);
    if (pread(fd, p->got, (size_t)p->bytes, 0) != p->bytes) vcase_fail(c, "%s: the file is too short", how);
    close(fd);
    for (int64_t i = 0; i < p->bytes && !c->failed; i++)
        vcase_same(c, p->file[i], p->got[i], "%s: byte %lld of the file", how, (long long)i);
}

static void by_method(vcase *c, placed *p, sluice_method method, const char *how) {
    sluice_desc d = {.format = SLUICE_RAW, .shape = p->shape};
    sluice_options o = {.size = sizeof o, .method = method, .exclusive = 1};
    sluice_array *a;
    reset(c, p);
    if (!done(c, sluice_open(&a, p->path, SLUICE_WRITE, &d, &o), "sluice_open")) return;
    sluice_part part = {.range = p->range, .buf = p->got, .buf_dim = p->buffer_dim, .buf_at = p->at};
    done(c, sluice_read_parts(a, &part, 1), "sluice_read_parts");
    same_buffer(c, p, how);
    sluice_counts n;
    sluice_count(a, &n);
    const json_t *sieve = vcase_field(c, c->json, "sieve", JSON_OBJECT);
    int64_t wanted = (int64_t)p->pairs * p->shape.elem;
    vcase_same(c, wanted, n.wanted_read, "%s: bytes wanted", how);
    if (method == SLUICE_DIRECT || method == SLUICE_LIST) {
        vcase_same(c, (int64_t)json_array_size(json_object_get(c->json, "byte_runs")), n.calls_read, "%s: requests",
                   how);
        vcase_same(c, wanted, n.bytes_read, "%s: bytes read", how);
    }
    if (method == SLUICE_SIEVE) {
        vcase_same(c, p->pairs > 0, n.calls_read, "%s: requests", how);
        vcase_same(c, vcase_int(c, sieve, "span_bytes"), n.bytes_read, "%s: bytes read", how);
    }
    part.buf = p->memory;
    done(c, sluice_write_parts(a, &part, 1), "sluice_write_parts");
    sluice_count(a, &n);
    if (method == SLUICE_SIEVE)
        vcase_same(c, vcase_bool(c, sieve, "holes") ? vcase_int(c, sieve, "span_bytes") : 0, n.preread,
                   "%s: read first", how);
    done(c, sluice_close(a), "sluice_close");
    same_file(c, p, how);
}

static void by_passion(vcase *c, placed *p) {
    int ones[SLUICE_MAX_DIMS], none[SLUICE_MAX_DIMS][2] = {{0, 0}};
    int storage = p->shape.order == SLUICE_ROW_MAJOR ? ROW_MAJOR : COLUMN_MAJOR;
    for (int d = 0; d < SLUICE_MAX_DIMS; d++) ones[d] = 1;
    reset(c, p);
    OCAD *o = PASSION_malloc_OCAD(p->shape.ndims);
    PFILE *f = PASSION_open(p->path, (unsigned)p->shape.header);
    if (!o || !f) {
        vcase_fail(c, "cannot start: %s", sluice_errmsg());
        return;
    }
    done(c, PASSION_set_base((int)vcase_int(c, c->json, "base")), "set_base");
    done(c, PASSION_fill_OCAD(o, p->dim, none, ones, p->dim, p->buffer, none, (int)p->shape.elem, storage),
         "fill_OCAD");
    done(c, PASSION_read_section(f, o, (char *)p->got, p->index, p->access), "read_section");
    same_buffer(c, p, "PASSION_read_section");
    memset(p->got, UNTOUCHED, (size_t)p->buffer_bytes);
    PREFETCH *prefetch = PASSION_read_prefetch(f, o, (char *)p->got, p->index, p->access);
    done(c, PASSION_prefetch_wait(prefetch), "read_prefetch");
    same_buffer(c, p, "PASSION_read_prefetch");
    done(c, PASSION_write_section(f, o, (char *)p->memory, p->index, p->access), "write_section");
    done(c, PASSION_close(f), "close");
    done(c, PASSION_set_base(1), "set_base");
    same_file(c, p, "PASSION_write_section");
    PASSION_free_OCAD(o);
}

void vcase_section_placed(vcase *c) {
    placed p = {.path = "/tmp/placed.XXXXXX"};
    vcase_section(c);
    if (c->failed || !read_case(c, &p)) return;
    int fd = mkstemp(p.path);
    if (fd < 0) {
        vcase_fail(c, "cannot make %s", p.path);
        return;
    }
    close(fd);
    if (!c->failed) by_method(c, &p, SLUICE_AUTO, "auto");
    if (!c->failed) by_method(c, &p, SLUICE_DIRECT, "direct");
    if (!c->failed) by_method(c, &p, SLUICE_LIST, "list");
    if (!c->failed) by_method(c, &p, SLUICE_SIEVE, "sieve");
    if (!c->failed) by_method(c, &p, SLUICE_MAPPED, "mapped");
    if (!c->failed) by_passion(c, &p);
    unlink(p.path);
}
