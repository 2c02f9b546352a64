/* ranks: 1 */
/* npy_store.c: .npy and raw arrays in a store: laid down, found again and resized; files that are too short, raw ones
 * that are described wrongly, headers without room. */
#include "npy_common.h"
#include <stdlib.h>

static sluice_store *ram(const void *bytes, int64_t n) {
    sluice_store *s = NULL;
    if (sluice_store_open_ram(&s, 0, NULL) || (n && sluice_store_write(s, 0, bytes, n, NULL))) exit(1);
    return s;
}

/* Counts the reads of a store. */
static void count_reads(void *arg, const char *call, int64_t off, int64_t len, int64_t result) {
    (void)off, (void)len, (void)result;
    if (!strcmp(call, "read")) ++*(int *)arg;
}

/* Files in a store: found, too short by one byte, longer than needed; the header in one or two reads. */
static void test_open(void) {
    static unsigned char bytes[1200000];
    static const int64_t lengths[] = {118, 4086, 4087, 65535, 1048576 - 12, 1048576 - 11};
    for (int major = 1; major <= 3; major++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            if (major == 1 && lengths[i] > 65535) continue;
            char *text = malloc((size_t)lengths[i]);
            memset(text, ' ', (size_t)lengths[i]);
            memcpy(text, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}", 57);
            const int64_t header = build(bytes, major, text, lengths[i]);
            free(text);
            memset(bytes + header, 7, 48);
            for (int64_t cut = -1; cut <= 49; cut++) {
                const int64_t size = header + cut;
                int reads = 0;
                sluice_desc d = {.type = "untouched"};
                sluice_reason why = {0};
                sluice_store *tap = NULL;
                if (sluice_store_open_tap(&tap, ram(bytes, size), count_reads, &reads)) exit(1);
                const int error = sluice_plain_open(&d, NULL, tap, &why);
                if (header > 1048576) {
                    CHECK(error == SLUICE_E_FORMAT &&
                              strstr(why.text, cut < 0 ? "truncated" : "up to 1048576 are read"),
                          "%lld: %s", (long long)header, why.text);
                } else if (cut < 48) {
                    char both[128];
                    snprintf(both, sizeof both, "truncated: it has %lld bytes, but its %s at byte %lld",
                             (long long)size, cut < 0 ? ".npy header ends" : "array ends",
                             (long long)(cut < 0 ? header : header + 48));
                    CHECK(error == SLUICE_E_FORMAT && strstr(why.text, both), "%s: %s", both, why.text);
                    CHECK(why.pos == size && strstr(why.text, "open ") == why.text, "%s", why.text);
                } else {
                    CHECK(!error && d.shape.header == header && d.shape.elem == 4, "%s", why.text);
                    CHECK(reads == (header <= 4096 ? 1 : 2), "header of %lld: %d reads", (long long)header, reads);
                }
                if (error) CHECK(!strcmp(d.type, "untouched"), "changed");
                CHECK(sluice_plain_open(&d, NULL, tap, NULL) == error, "without a reason");
                sluice_store_close(tap);
                if (cut == 1) cut = 46; /* the middle says nothing new */
            }
        }
}

/* Files without a magic string, and descriptions of raw files. */
static void test_raw(void) {
    sluice_desc given = {.format = SLUICE_RAW, .type = "int16", .shape = {.ndims = 2, .dim = {3, 4}, .header = 10}}, d;
    sluice_reason why = {0};
    for (int64_t size = 30; size <= 36; size++) {
        char zeros[64] = {0};
        sluice_store *s = ram(zeros, size);
        const int error = sluice_plain_open(&d, &given, s, &why);
        if (size < 34)
            CHECK(error == SLUICE_E_FORMAT && strstr(why.text, "bytes, but its array ends at byte 34"), "%s", why.text);
        else
            CHECK(!error && d.shape.elem == 2 && d.shape.header == 10 && d.format == SLUICE_RAW, "%s", why.text);
        CHECK(sluice_plain_open(&d, NULL, s, &why) == SLUICE_E_FORMAT && strstr(why.text, "not an .npy file"), "%s",
              why.text);
        sluice_store_close(s);
    }
    sluice_store *s = ram("", 0);
    CHECK(sluice_plain_open(&d, NULL, s, &why) == SLUICE_E_FORMAT && strstr(why.text, "not an .npy file"), "%s",
          why.text);
    given.shape.elem = 4;
    CHECK(sluice_plain_open(&d, &given, s, &why) == SLUICE_E_ARGUMENT &&
              strstr(why.text, ": elements of 4 bytes, but int16 has 2"),
          "%s", why.text);
    given.shape.elem = 0;
    given.shape.dim[0] = 0;
    given.shape.header = 0;
    CHECK(!sluice_plain_open(&d, &given, s, &why), "%s", why.text);
    sluice_store_close(s);
}

static void check_file(sluice_store *s, const sluice_desc *d, const char *what) {
    sluice_desc got;
    sluice_reason why = {0};
    const int error = sluice_plain_open(&got, d->format == SLUICE_RAW ? d : NULL, s, &why);
    CHECK(!error, "%s: %s", what, why.text);
    if (!error) CHECK(same(d, &got), "%s", what);
    CHECK(sluice_store_size(s, NULL) == sluice_desc_end(d), "%s: size %lld, not %lld", what,
          (long long)sluice_store_size(s, NULL), (long long)sluice_desc_end(d));
}

/* Made, found again, made longer and shorter; elements keep their bytes and new ones are 0. */
static void test_create(void) {
    for (int variant = 0; variant < 8; variant++) {
        sluice_desc d = {.format = variant & 1 ? SLUICE_NPY : SLUICE_RAW, .type = "f4"};
        sluice_reason why = {0};
        sluice_store *s = ram("", 0);
        unsigned char bytes[2000];
        if (variant & 4) strcpy(d.type, ""), strcpy(d.descr, "[('x', '<f4')]");
        d.shape = (sluice_shape){.ndims = 2, .order = variant & 2 ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR};
        d.shape.dim[0] = d.shape.dim[1] = 9;
        d.shape.header = variant & 1 ? 0 : 5;
        CHECK(!sluice_plain_create(&d, s, &why), "%s", why.text);
        CHECK(d.shape.header == (variant & 1 ? 128 : 5), "header %lld", (long long)d.shape.header);
        check_file(s, &d, "created");
        const int64_t n = 9 * 9 * 4, header = d.shape.header;
        memset(bytes, 7, sizeof bytes);
        CHECK(!sluice_store_write(s, header, bytes, n, NULL), "write");
        const int slow = variant & 2 ? 1 : 0;
        static const int64_t extents[] = {10, 9, 100, 1, 0, 3};
        int64_t filled = n; /* bytes that are still 7 */
        for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
            const int64_t end = extents[i] * 9 * 4;
            CHECK(!sluice_plain_resize(&d, s, extents[i], &why), "%lld: %s", (long long)extents[i], why.text);
            CHECK(d.shape.dim[slow] == extents[i] && d.shape.dim[!slow] == 9, "%lld", (long long)extents[i]);
            check_file(s, &d, "resized");
            filled = sluice_min(filled, end);
            unsigned char *all = malloc((size_t)(header + end + 1));
            CHECK(!sluice_store_read(s, 0, all, header + end, NULL), "read");
            for (int64_t k = 0; k < end; k++)
                if (all[header + k] != (k < filled ? 7 : 0))
                    CHECK(false, "byte %lld of %lld", (long long)k, (long long)end);
            if (!(variant & 1))
                for (int64_t k = 0; k < header; k++) CHECK(all[k] == 0, "header byte %lld", (long long)k);
            free(all);
        }
        sluice_store_close(s);
    }
}

static void test_refused(void) {
    unsigned char bytes[512];
    sluice_desc d = {.format = SLUICE_NPY, .type = "float32", .swapped = 1, .shape = {.ndims = 1, .dim = {3}}}, before;
    sluice_reason why = {0};
    sluice_store *s = ram("", 0);
    CHECK(sluice_plain_create(&d, s, &why) == SLUICE_E_ARGUMENT && strstr(why.text, "byte order"), "%s", why.text);
    d.swapped = 0;
    d.shape.dim[0] = INT64_MAX;
    CHECK(sluice_plain_create(&d, s, &why) == SLUICE_E_OVERFLOW && strstr(why.text, "create ") == why.text, "%s",
          why.text);
    d.shape.dim[0] = INT64_MAX / 4; /* there is no room for a header */
    CHECK(sluice_plain_create(&d, s, &why) == SLUICE_E_OVERFLOW, "%s", why.text);
    CHECK(sluice_store_size(s, NULL) == 0, "something was laid down");

    d.shape.dim[0] = 3;
    CHECK(!sluice_plain_create(&d, s, &why), "%s", why.text);
    before = d;
    CHECK(sluice_plain_resize(&d, s, -1, &why) == SLUICE_E_ARGUMENT && strstr(why.text, "resize ") == why.text, "%s",
          why.text);
    CHECK(sluice_plain_resize(&d, s, INT64_MAX / 2, &why) == SLUICE_E_OVERFLOW, "%s", why.text);
    CHECK(same(&d, &before), "changed");
    check_file(s, &d, "refused");
    sluice_store_resize(s, 128 + 13, NULL);
    CHECK(sluice_plain_resize(&d, s, 4, &why) == SLUICE_E_ARGUMENT && strstr(why.text, "has 141 bytes"), "%s",
          why.text);
    sluice_store_close(s);

    /* Headers of others, which have no room, or just enough, for one digit more. */
    static const char *const tight[] = {"{'descr': '|u1', 'fortran_order': False, 'shape': (9,)}",
                                        "{'descr': '|u1', 'fortran_order': False, 'shape': (9,)}\n",
                                        "{'descr': '|u1', 'fortran_order': False, 'shape': (9,)} \n",
                                        "{'shape':(9L , ) ,'descr': '|u1', 'fortran_order': False}"};
    for (int i = 0; i < 4; i++) {
        const int64_t n = build(bytes, 1 + i % 3, tight[i], (int64_t)strlen(tight[i]));
        memset(bytes + n, 7, 9);
        s = ram(bytes, n + 9);
        CHECK(!sluice_plain_open(&d, NULL, s, &why), "%s", why.text);
        const int error = sluice_plain_resize(&d, s, 10, &why);
        if (i < 2)
            CHECK(error == SLUICE_E_ARGUMENT && strstr(why.text, "no room for the extent 10"), "%s", why.text);
        else
            CHECK(!error, "%s", why.text);
        check_file(s, &d, tight[i]);
        CHECK(d.shape.dim[0] == (i < 2 ? 9 : 10), "%s", tight[i]);
        sluice_store_close(s);
    }

    /* A header that was changed by someone else since it was read. */
    s = ram("", 0);
    d = (sluice_desc){.format = SLUICE_NPY, .type = "float32", .shape = {.ndims = 1, .dim = {3}}};
    CHECK(!sluice_plain_create(&d, s, &why), "%s", why.text);
    CHECK(!sluice_store_write(s, 0, "x", 1, NULL), "write");
    CHECK(sluice_plain_resize(&d, s, 4, &why) == SLUICE_E_FORMAT, "%s", why.text);
    CHECK(sluice_store_size(s, NULL) == 128 + 12, "size");
    sluice_store_close(s);
}

int main(void) {
    test_open();
    test_raw();
    test_create();
    test_refused();
    return verdict();
}
