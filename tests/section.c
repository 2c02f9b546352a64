/* ranks: 1 */
/* section.c: sections, memory blocks and tiles against their definition, element by element. */
#include "base/base.h"
#include "sluice_set.h"
#include "support/oracle.h"
#include "support/unit.h"
#include <string.h>

/* Does `set` hold exactly these bytes? Frees `want`. */
static void compare(const char *what, const sluice_set *set, oracle *want) {
    sluice_reason why;
    int64_t wrong = 0;
    CHECK(sluice_set_check(set, &why) == 0, "%s: %s", what, why.text);
    for (int64_t x = 0; x < want->n; x++) wrong += sluice_set_contains(set, x) != oracle_contains(want, x);
    CHECK(wrong == 0 && set->size == oracle_size(want), "%s: %lld bytes wrong", what, (long long)wrong);
    oracle_free(want);
}

static sluice_shape random_shape(void) {
    sluice_shape s = {.ndims = 1 + (int)below(4), .order = below(2) ? SLUICE_ROW_MAJOR : SLUICE_COLUMN_MAJOR};
    s.elem = (int64_t[]){1, 2, 3, 4, 8, 12}[below(6)];
    s.header = below(2) ? below(100) : 0;
    for (int d = 0; d < s.ndims; d++) s.dim[d] = below(20) ? 1 + below(7) : 0;
    return s;
}

static void sections(void) {
    for (int i = 0; i < 3000; i++) {
        sluice_shape s = random_shape();
        sluice_range r[SLUICE_MAX_DIMS];
        sluice_set set = SLUICE_SET_EMPTY;
        sluice_reason why = {0};
        for (int d = 0; d < s.ndims; d++) {
            r[d].step = 1 + below(4);
            r[d].start = below(s.dim[d] + 1);
            const int64_t most = s.dim[d] > r[d].start ? (s.dim[d] - 1 - r[d].start) / r[d].step + 1 : 0;
            r[d].count = below(8) ? most : below(most + 1);
            if (r[d].count <= 1 && below(2)) r[d].step = 0; /* does not matter then */
        }
        CHECK(sluice_set_section(&set, &s, r, &why) == 0, "%s", why.text);
        oracle want;
        oracle_init(&want, oracle_shape_bytes(&s));
        oracle_section(&want, &s, r);
        compare("section", &set, &want);
        sluice_set_free(&set);
    }
}

static void memory(void) {
    for (int i = 0; i < 1000; i++) {
        sluice_shape s = random_shape();
        int64_t index[SLUICE_MAX_DIMS], count[SLUICE_MAX_DIMS];
        sluice_set set = SLUICE_SET_EMPTY;
        sluice_reason why = {0};
        for (int d = 0; d < s.ndims; d++) {
            index[d] = below(s.dim[d] + 1);
            count[d] = below(s.dim[d] - index[d] + 1);
        }
        CHECK(sluice_set_memory(&set, &s, index, count, &why) == 0, "%s", why.text);
        oracle want;
        oracle_init(&want, oracle_shape_bytes(&s));
        oracle_memory(&want, &s, index, count);
        compare("memory", &set, &want);
        sluice_set_free(&set);
    }
}

/* Every tile is right, and together they are the array. */
static void tiles(void) {
    for (int i = 0; i < 300; i++) {
        sluice_shape s = random_shape();
        int64_t tile[SLUICE_MAX_DIMS], ntiles = 1, size = 0;
        for (int d = 0; d < s.ndims; d++) {
            tile[d] = 1 + below(5);
            ntiles *= (s.dim[d] + tile[d] - 1) / tile[d];
        }
        for (int64_t k = 0; k < ntiles; k++) {
            int64_t index[SLUICE_MAX_DIMS], rest = k;
            sluice_set set = SLUICE_SET_EMPTY;
            sluice_reason why = {0};
            for (int d = 0; d < s.ndims; d++) {
                const int64_t along = (s.dim[d] + tile[d] - 1) / tile[d];
                index[d] = rest % along, rest /= along;
            }
            CHECK(sluice_set_tile(&set, &s, tile, index, &why) == 0, "%s", why.text);
            oracle want;
            oracle_init(&want, oracle_shape_bytes(&s));
            oracle_tile(&want, &s, tile, index);
            compare("tile", &set, &want);
            size += set.size;
            sluice_set_free(&set);
        }
        CHECK(size == oracle_shape_bytes(&s) - s.header, "tiles hold %lld bytes", (long long)size);
    }
}

/* The descriptor and the memory to make it do not grow with the array. */
static void huge(void) {
    sluice_shape s = {2, SLUICE_ROW_MAJOR, 8, 0, {1 << 20, 1 << 20}};
    sluice_range r[SLUICE_MAX_DIMS] = {{5, (1 << 19) - 2, 2}, {1, 300000, 3}};
    sluice_set set = SLUICE_SET_EMPTY;
    sluice_mem_peak_reset();
    CHECK(sluice_set_section(&set, &s, r, NULL) == 0, "2-D");
    CHECK(set.size == ((1LL << 19) - 2) * 300000 * 8, "size %lld", (long long)set.size);
    CHECK(sluice_set_select(&set, 300000LL * 8) == (7LL << 23) + 8, "start of the second row");
    CHECK(set.nnode <= 2, "%d families", set.nnode);

    s = (sluice_shape){.ndims = 16, .order = SLUICE_COLUMN_MAJOR, .elem = 1};
    for (int d = 0; d < 16; d++) s.dim[d] = 15, r[d] = (sluice_range){1, 7, 2};
    CHECK(sluice_set_section(&set, &s, r, NULL) == 0, "16-D");
    CHECK(set.size == 33232930569601, "7^16, not %lld", (long long)set.size);
    CHECK(set.nnode == 16, "%d families", set.nnode);
    CHECK(sluice_mem_peak() < 65536, "%lld bytes", (long long)sluice_mem_peak());

    s = (sluice_shape){1, SLUICE_ROW_MAJOR, 1, 0, {INT64_MAX}};
    r[0] = (sluice_range){INT64_MAX - 1, 1, 1};
    CHECK(sluice_set_section(&set, &s, r, NULL) == 0 && sluice_set_lo(&set) == INT64_MAX - 1, "the last byte");
    r[0] = (sluice_range){0, 2, INT64_MAX - 1};
    CHECK(sluice_set_section(&set, &s, r, NULL) == 0 && set.size == 2, "first and last byte");
    sluice_set_free(&set);
}

/* `set` was refused with this error at this place, and *out is as it was. */
static void refused(const char *what, int got, int error, const sluice_reason *why, int64_t pos, const char *text,
                    const sluice_set *out) {
    CHECK(got == error, "%s: returned %d", what, got);
    CHECK(why->error == error && why->pos == pos && strstr(why->text, text), "%s: %d at %lld: %s", what, why->error,
          why->pos, why->text);
    CHECK(out->size == 7, "%s: the output changed", what);
}

static void refusals(void) {
    const sluice_shape good = {2, SLUICE_ROW_MAJOR, 4, 16, {5, 6}};
    const sluice_range all[2] = {{0, 5, 1}, {0, 6, 1}};
    sluice_set out = SLUICE_SET_EMPTY;
    sluice_reason why;
    CHECK(sluice_set_block(&out, 0, 7) == 0, "block");

#define SHAPE(change, error, pos, text)                                                                                \
    do {                                                                                                               \
        sluice_shape s = good;                                                                                         \
        change;                                                                                                        \
        refused(#change, sluice_set_section(&out, &s, all, &why), error, &why, pos, text, &out);                       \
        CHECK(sluice_set_section(&out, &s, all, NULL) == error, "without a reason");                                   \
    } while (0)
    SHAPE(s.ndims = 0, SLUICE_E_ARGUMENT, -1, "0 dimensions");
    SHAPE(s.ndims = 17, SLUICE_E_ARGUMENT, -1, "17 dimensions");
    SHAPE(s.order = (sluice_order)2, SLUICE_E_ARGUMENT, -1, "order 2");
    SHAPE(s.elem = 0, SLUICE_E_ARGUMENT, -1, "0 bytes");
    SHAPE(s.header = -1, SLUICE_E_ARGUMENT, -1, "header of -1");
    SHAPE(s.dim[1] = -2, SLUICE_E_ARGUMENT, 1, "dimension 1: extent -2");
    SHAPE(s.dim[0] = INT64_MAX / 2, SLUICE_E_OVERFLOW, 0, "dimension 0");
    SHAPE((s.dim[0] = 1 << 30, s.dim[1] = 1LL << 31), SLUICE_E_OVERFLOW, 0, "dimension 0");
    SHAPE((s.order = SLUICE_COLUMN_MAJOR, s.dim[0] = 1 << 30, s.dim[1] = 1LL << 31), SLUICE_E_OVERFLOW, 1,
          "dimension 1");
    SHAPE(s.header = INT64_MAX - 119, SLUICE_E_OVERFLOW, 0, "dimension 0");

#define RANGE(start, count, step, text)                                                                                \
    do {                                                                                                               \
        const sluice_range r[2] = {{0, 5, 1}, {start, count, step}};                                                   \
        refused(#start ":" #count ":" #step, sluice_set_section(&out, &good, r, &why), SLUICE_E_ARGUMENT, &why, 1,     \
                text, &out);                                                                                           \
    } while (0)
    RANGE(0, -1, 1, "dimension 1: count -1");
    RANGE(0, 2, 0, "dimension 1: step 0");
    RANGE(0, 2, -1, "dimension 1: step -1");
    RANGE(-1, 2, 1, "start -1");
    RANGE(6, 1, 1, "start 6");
    RANGE(7, 0, 1, "start 7");
    RANGE(0, 7, 1, "7 indices from 0 by 1 pass its extent of 6");
    RANGE(1, 4, 2, "4 indices from 1 by 2");
    RANGE(0, INT64_MAX, INT64_MAX, "dimension 1");

    const int64_t index[2] = {0, 3}, count[2] = {1, 4};
    refused("memory", sluice_set_memory(&out, &good, index, count, &why), SLUICE_E_ARGUMENT, &why, 1, "dimension 1",
            &out);
    sluice_shape bad = good;
    bad.ndims = 99;
    refused("memory", sluice_set_memory(&out, &bad, index, count, &why), SLUICE_E_ARGUMENT, &why, -1, "99", &out);
    refused("tile", sluice_set_tile(&out, &bad, count, index, &why), SLUICE_E_ARGUMENT, &why, -1, "99", &out);
    const int64_t tile[2] = {2, 2}, zero[2] = {2, 0};
    refused("tile", sluice_set_tile(&out, &good, tile, index, &why), SLUICE_E_ARGUMENT, &why, 1, "tile 3 of 3", &out);
    refused("tile", sluice_set_tile(&out, &good, zero, index, &why), SLUICE_E_ARGUMENT, &why, 1, "tiles of 0", &out);
    const int64_t before[2] = {-1, 0};
    refused("tile", sluice_set_tile(&out, &good, tile, before, &why), SLUICE_E_ARGUMENT, &why, 0, "tile -1", &out);
    sluice_set_free(&out);
}

/* A section that takes more than one allocation. */
static int make(sluice_set *out) {
    const sluice_shape s = {3, SLUICE_ROW_MAJOR, 4, 16, {5, 6, 7}};
    const sluice_range r[3] = {{0, 3, 2}, {1, 2, 3}, {0, 3, 2}};
    return sluice_set_section(out, &s, r, NULL);
}

int main(void) {
    sections();
    memory();
    tiles();
    huge();
    refusals();
    check_each_allocation(make);
    return verdict();
}
