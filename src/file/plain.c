/* plain.c: one file, one array: a header, and the elements in order.
 *
 * A file may be longer than its array; it may not be shorter. Whatever a header claims is compared with the length of
 * the file before anything is made of it.
 */
#include "file/file.h"
#include "set/section.h"
#include <errno.h>
#include <string.h>

enum {
    FIRST = 4096,         /* bytes of the first read: more than nearly all headers have */
    LONGEST = 1024 * 1024 /* header that is read at all; an honest one has a description and some padding */
};

/* Passes a reason on with the call and the file before it. */
static int refuse(sluice_reason *why, const char *call, const sluice_store *s, const sluice_reason *inner) {
    return sluice_refuse(why, inner->error, inner->pos, "%s %s: %s", call, s->name, inner->text);
}

/* The file is as long as the description says. */
static int check_length(const sluice_desc *d, int64_t size, sluice_reason *why) {
    const int64_t end = sluice_desc_end(d);
    if (size >= end) return 0;
    return sluice_refuse(why, SLUICE_E_FORMAT, size, "truncated: it has %lld bytes, but its array ends at byte %lld",
                         (long long)size, (long long)end);
}

/* Reads and parses the first n bytes; like sluice_npy_parse(). */
static int64_t parse(sluice_desc *d, sluice_store *s, unsigned char *bytes, int64_t n, sluice_reason *why) {
    sluice_reason inner;
    int error = sluice_store_read(s, 0, bytes, n, why);
    if (error) return error;
    const int64_t length = sluice_npy_parse(d, bytes, n, &inner);
    return length < 0 ? refuse(why, "open", s, &inner) : length;
}

static int open_npy(sluice_desc *out, sluice_store *s, int64_t size, sluice_reason *why) {
    unsigned char first[FIRST];
    sluice_desc d;
    sluice_reason inner;
    int64_t have = sluice_min(size, FIRST), length = parse(&d, s, first, have, why);
    if (length > have && length <= size && length <= LONGEST) {
        unsigned char *bytes = sluice_mem_alloc((size_t)length, 1);
        if (!bytes) return sluice_store_refuse(why, -ENOMEM, "open", s->name, -1);
        have = length;
        length = parse(&d, s, bytes, have, why);
        sluice_mem_free(bytes);
    }
    if (length < 0) return (int)length;
    int error;
    if (length == 0 || size == 0)
        error = sluice_refuse(&inner, SLUICE_E_FORMAT, 0, "not an .npy file; a raw file needs a description");
    else if (length > size)
        error = sluice_refuse(&inner, SLUICE_E_FORMAT, size,
                              "truncated: it has %lld bytes, but its .npy header ends at byte %lld", (long long)size,
                              (long long)length);
    else if (length > have) /* it is too long to be read, or has changed since it was measured */
        error = sluice_refuse(&inner, SLUICE_E_FORMAT, 8, "an .npy header of %lld bytes; up to %d are read",
                              (long long)length, LONGEST);
    else
        error = check_length(&d, size, &inner);
    if (error) return refuse(why, "open", s, &inner);
    *out = d;
    return 0;
}

int sluice_plain_open(sluice_desc *out, const sluice_desc *given, sluice_store *s, sluice_reason *why) {
    sluice_reason inner;
    const int64_t size = sluice_store_size(s, why);
    if (size < 0) return (int)size;
    if (!given || given->format == SLUICE_NPY) return open_npy(out, s, size, why);
    sluice_desc d = *given;
    if (sluice_desc_settle(&d, &inner) || check_length(&d, size, &inner)) return refuse(why, "open", s, &inner);
    *out = d;
    return 0;
}

int sluice_plain_create(sluice_desc *out, sluice_store *s, sluice_reason *why) {
    unsigned char header[SLUICE_NPY_HEADER];
    sluice_desc d = *out;
    sluice_reason inner;
    if (d.format == SLUICE_NPY) d.shape.header = 0;
    int error = sluice_desc_settle(&d, &inner);
    if (!error && d.swapped)
        error = sluice_refuse(&inner, SLUICE_E_ARGUMENT, -1, "new files have this machine's byte order");
    if (!error && d.format == SLUICE_NPY)
        error = (int)sluice_min(sluice_npy_format(&d, header, sizeof header, &inner), 0);
    if (error) return refuse(why, "create", s, &inner);
    /* The length first: a file that was left unfinished is then not taken for an array. */
    error = sluice_store_resize(s, sluice_desc_end(&d), NULL);
    if (error) return sluice_store_refuse(why, error, "create", s->name, sluice_desc_end(&d));
    if (d.format == SLUICE_NPY) error = sluice_store_write(s, 0, header, d.shape.header, why);
    if (!error) *out = d;
    return error;
}

/* The header of d with another extent, after the one that is there: both of d->shape.header bytes. */
static int new_header(unsigned char *both, const sluice_desc *d, sluice_store *s, int64_t extent, sluice_reason *why) {
    const int64_t n = d->shape.header;
    sluice_reason inner;
    int error = sluice_store_read(s, 0, both, n, why);
    if (error) return error;
    memcpy(both + n, both, (size_t)n);
    return sluice_npy_reshape(both + n, d, extent, &inner) ? refuse(why, "resize", s, &inner) : 0;
}

/* Length and header, in the order that leaves a good file in between: the longer length first, the shorter last. What
 * was done is undone if the rest fails, as far as the store still works. */
static int change(sluice_store *s, const sluice_desc *to, const unsigned char *old, int64_t before,
                  sluice_reason *why) {
    const int64_t after = sluice_desc_end(to), n = old ? to->shape.header : 0;
    int error = after > before ? sluice_store_resize(s, after, why) : 0;
    if (error) return error;
    if (old) error = sluice_store_write(s, 0, old + n, n, why);
    if (!error && after < before) error = sluice_store_resize(s, after, why);
    if (!error) return 0;
    if (old) (void)sluice_store_write(s, 0, old, n, NULL);
    if (after > before) (void)sluice_store_resize(s, before, NULL);
    return error;
}

int sluice_plain_resize(sluice_desc *d, sluice_store *s, int64_t extent, sluice_reason *why) {
    sluice_desc to = *d;
    sluice_reason inner;
    int64_t step[SLUICE_MAX_DIMS];
    const int64_t size = sluice_store_size(s, why), end = sluice_desc_end(d);
    if (size < 0) return (int)size;
    to.shape.dim[to.shape.order == SLUICE_ROW_MAJOR ? 0 : to.shape.ndims - 1] = extent;
    int error = sluice_section_shape(&to.shape, step, &inner);
    if (!error && size != end)
        error = sluice_refuse(&inner, SLUICE_E_ARGUMENT, end,
                              "it has %lld bytes, but its array ends at byte %lld; only a file that ends there can be "
                              "resized",
                              (long long)size, (long long)end);
    if (error) return refuse(why, "resize", s, &inner);

    unsigned char *both = NULL;
    if (d->format == SLUICE_NPY) {
        both = sluice_mem_alloc((size_t)d->shape.header, 2);
        if (!both) return sluice_store_refuse(why, -ENOMEM, "resize", s->name, -1);
        error = new_header(both, d, s, extent, why);
    }
    if (!error) error = change(s, &to, both, size, why);
    sluice_mem_free(both);
    if (!error) *d = to;
    return error;
}
