/* ranks: 1 */
/* npy_fault.c: opening, creating and resizing with every store call and every allocation failing once, in a loop until
 * the operation runs clean. After a failure the description is what it was, the reason names the file, and a resized
 * file is the old one or the new one. */
#include "file/file.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>

enum operation {
    OPEN_NPY,
    OPEN_LONG,
    OPEN_RAW,
    CREATE_NPY,
    CREATE_RAW,
    GROW_NPY,
    SHRINK_NPY,
    GROW_RAW,
    SHRINK_RAW,
    OPERATIONS
};
static const char *const name[] = {"open .npy",   "open .npy with a long header",
                                   "open raw",    "create .npy",
                                   "create raw",  "grow .npy",
                                   "shrink .npy", "grow raw",
                                   "shrink raw"};

static bool npy(enum operation op) {
    return op == OPEN_NPY || op == OPEN_LONG || op == CREATE_NPY || op == GROW_NPY || op == SHRINK_NPY;
}

/* A header of 9000 bytes. */
static void write_long(sluice_store *s) {
    static char text[9000];
    memset(text, ' ', sizeof text);
    memcpy(text, "\x93NUMPY\1\0\x1e\x23{'descr': '<i4', 'fortran_order': False, 'shape': (5, 6)}", 67);
    if (sluice_store_write(s, 0, text, sizeof text, NULL) || sluice_store_resize(s, sizeof text + 120, NULL)) exit(1);
}

/* The store as the operation finds it: 5 x 6 elements of 4 bytes, the k-th byte of them k; and their description. */
static sluice_store *prepare(enum operation op, sluice_desc *d) {
    sluice_store *s = NULL;
    unsigned char bytes[120];
    *d = (sluice_desc){.format = npy(op) ? SLUICE_NPY : SLUICE_RAW, .type = "int32"};
    d->shape = (sluice_shape){.ndims = 2, .header = npy(op) ? 0 : 7, .dim = {5, 6}};
    if (sluice_store_open_ram(&s, 0, NULL)) exit(1);
    if (op == CREATE_NPY || op == CREATE_RAW) return s;
    if (op == OPEN_LONG)
        write_long(s);
    else if (sluice_plain_create(d, s, NULL))
        exit(1);
    for (int k = 0; k < 120; k++) bytes[k] = (unsigned char)k;
    if (sluice_store_write(s, op == OPEN_LONG ? 9000 : d->shape.header, bytes, 120, NULL)) exit(1);
    return s;
}

static int run(enum operation op, sluice_desc *d, sluice_store *s, sluice_reason *why) {
    const sluice_desc given = *d;
    switch (op) {
    case OPEN_NPY:
    case OPEN_LONG: return sluice_plain_open(d, NULL, s, why);
    case OPEN_RAW: return sluice_plain_open(d, &given, s, why);
    case CREATE_NPY:
    case CREATE_RAW: return sluice_plain_create(d, s, why);
    case GROW_NPY:
    case GROW_RAW: return sluice_plain_resize(d, s, 12345, why);
    default: return sluice_plain_resize(d, s, 3, why);
    }
}

/* The file is the array that d says, with the bytes that were put there. */
static void check_file(enum operation op, const sluice_desc *d, sluice_store *s, const char *when) {
    sluice_desc got;
    sluice_reason why = {0};
    unsigned char bytes[120];
    if (sluice_plain_open(&got, npy(op) ? NULL : d, s, &why)) {
        CHECK(false, "%s, %s: %s", name[op], when, why.text);
        return;
    }
    CHECK(got.shape.dim[0] == d->shape.dim[0] && got.shape.header == d->shape.header,
          "%s, %s: extent %lld, header %lld", name[op], when, (long long)got.shape.dim[0], (long long)got.shape.header);
    CHECK(sluice_store_size(s, NULL) == sluice_desc_end(d), "%s, %s: %lld bytes", name[op], when,
          (long long)sluice_store_size(s, NULL));
    const int64_t n = sluice_min(120, sluice_desc_end(d) - d->shape.header);
    CHECK(!sluice_store_read(s, d->shape.header, bytes, n, NULL), "%s, %s", name[op], when);
    const bool filled = op != CREATE_NPY && op != CREATE_RAW;
    for (int64_t k = 0; k < n; k++)
        if (bytes[k] != (filled ? k : 0)) CHECK(false, "%s, %s: byte %lld", name[op], when, (long long)k);
}

/* Runs the operation with one thing going wrong: an allocation, or a call of the store. */
static int attempt(enum operation op, int64_t memory, int64_t call, sluice_fault_kind kind, int error) {
    sluice_desc d, before;
    sluice_reason why = {0};
    sluice_store *s = NULL, *inner = prepare(op, &d);
    if (sluice_store_open_fault(&s, inner)) exit(1);
    memcpy(&before, &d, sizeof d);
    if (call) sluice_fault_set(s, call, kind, error);
    sluice_mem_fail_nth(memory);
    const int result = run(op, &d, s, &why);
    sluice_mem_fail_nth(0);
    sluice_fault_set(s, 0, kind, 0);
    if (result) {
        CHECK(why.error == result, "%s: %d is not %d", name[op], why.error, result);
        CHECK(strstr(why.text, s->name) != NULL, "%s: %s", name[op], why.text);
        CHECK(!memcmp(&d, &before, sizeof d), "%s: changed the description", name[op]);
        if (op >= GROW_NPY) check_file(op, &d, s, "after a failure");
        const int again = run(op, &d, s, &why);
        CHECK(!again, "%s, once more: %s", name[op], why.text);
    }
    check_file(op, &d, s, "at the end");
    CHECK(!sluice_store_close(s), "%s: close", name[op]);
    return result;
}

int main(void) {
    for (enum operation op = 0; op < OPERATIONS; op++) {
        int64_t memory = 1, call;
        while (attempt(op, memory, 0, SLUICE_FAULT_ERROR, 0) == -ENOMEM) memory++;
        CHECK(!attempt(op, memory, 0, SLUICE_FAULT_ERROR, 0), "%s: allocation %lld", name[op], (long long)memory);
        CHECK((op == OPEN_NPY || op == OPEN_RAW) == (memory == 1), "%s: %lld allocations", name[op],
              (long long)memory - 1);

        static const int errors[] = {EIO, ENOSPC, EACCES};
        for (int i = 0; i < 3; i++) {
            for (call = 1; attempt(op, 0, call, SLUICE_FAULT_ERROR, errors[i]) == -errors[i]; call++) {
            }
            CHECK(!attempt(op, 0, call, SLUICE_FAULT_ERROR, errors[i]), "%s: call %lld", name[op], (long long)call);
            CHECK(call > 1, "%s: no call failed", name[op]);
        }
        for (int64_t k = 1; k < call; k++) {
            CHECK(!attempt(op, 0, k, SLUICE_FAULT_SHORT, 0), "%s: call %lld was short", name[op], (long long)k);
            CHECK(!attempt(op, 0, k, SLUICE_FAULT_EINTR, 0), "%s: call %lld was interrupted", name[op], (long long)k);
            const int result = attempt(op, 0, k, SLUICE_FAULT_ZERO, 0);
            CHECK(!result || result == -EIO, "%s: call %lld moved nothing: %d", name[op], (long long)k, result);
        }
        printf("%-30s %lld allocations, %lld calls\n", name[op], (long long)memory - 1, (long long)call - 1);
    }
    return verdict();
}
