/* npy.c: any bytes as an .npy file, as the name of a type and as a dtype. What is accepted is settled, lies inside the
 * file, and written and read again is the same; another extent changes nothing else. What is refused is refused at a
 * place in the file. */
#include "file/file.h"
#include "must.h"
#include <errno.h>
#include <string.h>

static bool same(const sluice_desc *a, const sluice_desc *b) {
    return a->format == b->format && a->swapped == b->swapped && !strcmp(a->type, b->type) &&
           !strcmp(a->descr, b->descr) && !memcmp(&a->shape, &b->shape, sizeof a->shape);
}

static void check_reason(const sluice_reason *why, int64_t error, int64_t size) {
    MUST(error == why->error && !strncmp(why->text, "byte ", 5) && why->pos >= 0 && why->pos <= size);
    MUST(error == SLUICE_E_FORMAT || error == SLUICE_E_VERSION || error == SLUICE_E_OVERFLOW);
}

static void check_written(const sluice_desc *d) {
    unsigned char bytes[SLUICE_NPY_HEADER];
    sluice_desc again = *d, got;
    const int64_t n = sluice_npy_format(&again, bytes, sizeof bytes, NULL);
    if (n == SLUICE_E_OVERFLOW) {
        MUST(sluice_desc_end(d) - d->shape.header > INT64_MAX - SLUICE_NPY_HEADER);
        return;
    }
    MUST(n > 0 && n % 64 == 0 && n <= SLUICE_NPY_HEADER && again.shape.header == n);
    MUST(sluice_npy_parse(&got, bytes, n, NULL) == n && same(&again, &got));
    again.shape.header = d->shape.header;
    MUST(same(&again, d));
}

static void check_reshaped(const sluice_desc *d, const uint8_t *data, int64_t extent) {
    const size_t n = (size_t)d->shape.header;
    unsigned char *header = malloc(n);
    sluice_desc want = *d, got;
    MUST(header);
    memcpy(header, data, n);
    if (sluice_npy_reshape(header, d, extent, NULL)) {
        MUST(!memcmp(header, data, n));
    } else {
        const int64_t length = sluice_npy_parse(&got, header, (int64_t)n, NULL);
        want.shape.dim[want.shape.order == SLUICE_ROW_MAJOR ? 0 : want.shape.ndims - 1] = extent;
        MUST(length == (int64_t)n ? same(&want, &got) : length == SLUICE_E_OVERFLOW && extent > 0);
    }
    free(header);
}

static void check_store(const uint8_t *data, int64_t size, int64_t length, const sluice_desc *d) {
    sluice_store *s = NULL;
    sluice_desc got;
    sluice_reason why = {0};
    MUST(!sluice_store_open_ram(&s, 0, NULL) && (size == 0 || !sluice_store_write(s, 0, data, size, NULL)));
    const int error = sluice_plain_open(&got, NULL, s, &why);
    const bool whole = length > 0 && length <= size && length <= 1 << 20 && sluice_desc_end(d) <= size;
    MUST(whole ? !error && same(d, &got) : error == why.error && error < 0 && error != -ENOMEM && why.text[0]);
    MUST(!sluice_store_close(s));
}

static void check_file(const uint8_t *data, int64_t size) {
    sluice_desc d = {0}, settled;
    sluice_reason why = {0};
    const int64_t length = sluice_npy_parse(&d, data, size, &why);
    if (length < 0) check_reason(&why, length, size);
    if (length > 0 && length <= size) {
        settled = d;
        MUST(d.format == SLUICE_NPY && d.shape.header == length && d.shape.elem >= 1);
        MUST(sluice_type_size(d.type) == d.shape.elem && sluice_desc_end(&d) >= length);
        MUST(!sluice_desc_settle(&settled, NULL) && same(&d, &settled));
        MUST(sluice_npy_parse(&settled, data, length - 1, NULL) == length);
        check_written(&d);
        check_reshaped(&d, data, 0);
        check_reshaped(&d, data, 12345);
    }
    check_store(data, size, length, &d);
}

static void check_type(const uint8_t *data, size_t size) {
    sluice_desc d = {.format = SLUICE_RAW, .shape = {.ndims = 1, .dim = {1}}}, again;
    sluice_type t, u;
    memcpy(d.descr, data, size < sizeof d.descr ? size : sizeof d.descr - 1);
    if (sluice_type_parse(&t, d.descr)) {
        MUST(t.size >= 0 && t.unit >= 1 && t.size % t.unit == 0);
        MUST(sluice_type_parse(&u, t.descr) && !memcmp(&t, &u, sizeof t));
        MUST(sluice_type_parse(&u, t.name) && !strcmp(t.name, u.name) && t.size == u.size && !u.swapped);
    }
    if (d.descr[0] && !sluice_desc_settle(&d, NULL)) {
        again = d;
        MUST(d.shape.elem >= 1 && sluice_type_size(d.type) == d.shape.elem);
        MUST(!sluice_desc_settle(&again, NULL) && same(&d, &again));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_file(data, (int64_t)size);
    check_type(data, size);
    MUST(sluice_mem_live() == 0);
    return 0;
}
