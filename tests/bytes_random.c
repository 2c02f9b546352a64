/* ranks: 1 */
/* bytes_random: bytes by their offsets, written and read through arrays in one file and in containers, against a plain
 * array of bytes; how many of them are in each subfile, byte by byte; and each allocation failing in turn. */
#include "array/array.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>

enum { ROWS = 24, COLUMNS = 40, ELEM = 4, SIZE = ROWS * COLUMNS * ELEM, CASES = 150 };

static unsigned char model[SIZE], buf[SIZE], owner[SIZE];

static void some(sluice_set *out) {
    const int64_t len = 1 + below(60), step = len + below(200), lo = below(SIZE - len);
    const int64_t n = 1 + below(1 + (SIZE - len - lo) / step);
    CHECK(!sluice_set_falls(out, lo, len, step, n));
}

/* Pieces of the set in memory against the model. */
static bool same(const sluice_set *s) {
    for (int64_t k = 0; k < s->size; k++)
        if (buf[k] != model[sluice_set_select(s, k)]) return false;
    return true;
}

static void check_near(const sluice_array *a, const sluice_set *s, int subfiles) {
    for (int i = 0; i <= subfiles; i++) { /* one more than there are */
        int64_t near, all, count = 0;
        for (int64_t k = 0; k < s->size; k++) count += a->layout && owner[sluice_set_select(s, k)] == i;
        CHECK(!sluice_bytes_near(a, s, false, i, &near, &all));
        CHECK(all == s->size && near == count, "subfile %d: %" PRId64 " of %" PRId64 ", not %" PRId64, i, near, all,
              count);
    }
}

static int move(sluice_array *a, const sluice_set *s, bool write) {
    sluice_reason why;
    return sluice_bytes_move(a, &(sluice_bytes){s, buf, write, true}, 0, &why);
}

static void write_some(sluice_array *a, const sluice_set *s) {
    for (int64_t k = 0; k < s->size; k++) buf[k] = model[sluice_set_select(s, k)] = (unsigned char)below(256);
    CHECK(!move(a, s, true));
}

static void fail_each(sluice_array *a, const sluice_set *s) {
    int error = -ENOMEM;
    for (int64_t n = 1; error && n < 200; n++) {
        const int64_t live = sluice_mem_live();
        sluice_mem_fail_nth(n);
        error = move(a, s, false);
        sluice_mem_fail_nth(0);
        CHECK((error == 0 || error == -ENOMEM) && sluice_mem_live() <= live + (error ? 0 : 1 << 20), "%d", error);
    }
    CHECK(error == 0 && same(s));
}

static void try_layout(const char *path, const char *layout, int subfiles) {
    const sluice_desc d = {.format = SLUICE_RAW, .shape = {.ndims = 2, .dim = {ROWS, COLUMNS}}, .type = "float32"};
    sluice_options how = {.replace = 1};
    sluice_array *a;
    if (layout) how.layout = layout, how.replace = 0;
    CHECK(!sluice_create(&a, path, &d, &how), "%s", sluice_errmsg());
    memset(model, 0, sizeof model);
    for (int64_t x = 0; x < SIZE && a->layout; x++) owner[x] = (unsigned char)sluice_layout_owner(a->layout, x);
    for (int i = 0; i < CASES; i++) {
        sluice_set s = SLUICE_SET_EMPTY;
        some(&s);
        if (below(2)) write_some(a, &s);
        memset(buf, 0, sizeof buf);
        CHECK(!move(a, &s, false) && same(&s), "%s, case %d", layout ? layout : "one file", i);
        if (i % 10 == 0) check_near(a, &s, subfiles);
        if (i % 50 == 0) fail_each(a, &s);
        sluice_set_free(&s);
    }
    CHECK(!sluice_close(a));

    /* What was opened for reading is not written, and an error that comes along is returned. */
    sluice_set one = SLUICE_SET_EMPTY;
    sluice_reason why;
    CHECK(!sluice_set_block(&one, 0, 1));
    CHECK(!sluice_open(&a, path, SLUICE_READ, layout ? NULL : &d, NULL), "%s", sluice_errmsg());
    CHECK(sluice_bytes_move(a, &(sluice_bytes){&one, buf, true, false}, 0, &why) == -EBADF);
    CHECK(sluice_bytes_move(a, &(sluice_bytes){&one, buf, false, false}, -EIO, &why) == -EIO);
    CHECK(!sluice_close(a));
    sluice_set_free(&one);
}

int main(void) {
    char folder[] = "/tmp/sluice-bytes-XXXXXX", path[80], line[120];
    static const char *const layouts[] = {"rows:3", "columns:4", "tiles:7x9:5", "striped:100:4"};
    static const int subfiles[] = {3, 4, 5, 4};
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/plain", folder);
    try_layout(path, NULL, 1);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%d.sluice", folder, i);
        try_layout(path, layouts[i], subfiles[i]);
    }
    snprintf(line, sizeof line, "rm -rf %s", folder);
    CHECK(!system(line));
    return verdict();
}
