/* npy_common.h: what the tests of types and .npy files share. */
#ifndef SLUICE_TESTS_NPY_COMMON_H
#define SLUICE_TESTS_NPY_COMMON_H

#include "file/file.h"
#include "support/unit.h"
#include <string.h>

/* The names of all types of numbers. */
#define NUMBER_TYPES                                                                                                   \
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", \
        "float128", "complex64", "complex128", "complex256"

/* Whether this machine is little-endian. */
static inline bool little(void) {
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 1;
}

/* A header byte by byte: magic, version, length, text. Returns its length. */
static inline int64_t build(unsigned char *out, int major, const char *text, int64_t n) {
    int64_t at = 0;
    for (const char *c = "\x93NUMPY"; *c; c++) out[at++] = (unsigned char)*c;
    out[at++] = (unsigned char)major;
    out[at++] = 0;
    for (int i = 0; i < (major == 1 ? 2 : 4); i++) out[at++] = (unsigned char)(n >> 8 * i & 0xFF);
    for (int64_t i = 0; i < n; i++) out[at++] = (unsigned char)text[i];
    return at;
}

static inline bool same(const sluice_desc *a, const sluice_desc *b) {
    if (a->format != b->format || a->swapped != b->swapped || strcmp(a->type, b->type) || strcmp(a->descr, b->descr))
        return false;
    if (a->shape.ndims != b->shape.ndims || a->shape.order != b->shape.order || a->shape.elem != b->shape.elem ||
        a->shape.header != b->shape.header)
        return false;
    for (int d = 0; d < a->shape.ndims; d++)
        if (a->shape.dim[d] != b->shape.dim[d]) return false;
    return true;
}

#endif
