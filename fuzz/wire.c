/* wire.c: any bytes as the wire form of a set. What is accepted keeps all promises of a finished set, packs to the same
 * bytes, and its positions agree: rank, select, membership, next, previous and cursors. Memory stays in proportion to
 * the bytes. */
#include "base/base.h"
#include "must.h"
#include "sluice_set.h"
#include <errno.h>
#include <string.h>

/* The k-th byte, asked for in all ways. */
static void check_byte(const sluice_set *s, int64_t k) {
    int64_t x = sluice_set_select(s, k);
    if (k < 0 || k >= s->size) {
        MUST(x == -1);
        return;
    }
    MUST(x >= sluice_set_lo(s) && x < sluice_set_hi(s));
    MUST(sluice_set_rank(s, x) == k && sluice_set_rank(s, x + 1) == k + 1 && sluice_set_contains(s, x) == 1);
    MUST(sluice_set_next(s, x) == x && sluice_set_prev(s, x) == x);
    MUST(sluice_set_next(s, x + 1) == sluice_set_select(s, k + 1));
    if (x > 0) MUST(sluice_set_prev(s, x - 1) == sluice_set_select(s, k - 1));
    sluice_cursor c, d;
    sluice_run run, other;
    sluice_cursor_init(&c, s);
    sluice_cursor_seek(&c, k);
    MUST(sluice_cursor_run(&c, &run) && run.off == x && run.len >= 1 && run.len <= s->size - k);
    sluice_cursor_init(&d, s);
    sluice_cursor_seek_offset(&d, x);
    MUST(sluice_cursor_run(&d, &other) && other.off == run.off && other.len == run.len);
    MUST(sluice_set_select(s, k + run.len - 1) == x + run.len - 1 && !sluice_set_contains(s, x + run.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sluice_set s = SLUICE_SET_EMPTY, t = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    size_t used = 0;
    sluice_mem_peak_reset();
    int error = sluice_set_unpack(&s, data, size, &used, &why);
    MUST(sluice_mem_peak() <= 64 * ((int64_t)size / 3 + 1));
    if (error) {
        MUST(error == SLUICE_E_FORMAT || error == SLUICE_E_VERSION);
        MUST(error == why.error && why.text[0] && why.pos >= 0 && why.pos <= (long long)size);
        MUST(s.node == NULL && used == 0);
        return 0;
    }
    uint8_t *form = malloc(used);
    MUST(form && used <= size);
    MUST(sluice_set_pack(&s, form, used) == (int64_t)used && !memcmp(form, data, used));
    MUST(!sluice_set_check(&s, NULL) && sluice_set_depth(&s) <= SLUICE_MAX_DEPTH);
    MUST(used < size ? sluice_set_unpack(&t, data, size, NULL, NULL) == SLUICE_E_FORMAT
                     : !sluice_set_unpack(&t, data, size, NULL, NULL));

    check_byte(&s, -1);
    check_byte(&s, s.size);
    for (int64_t i = 0; i < 8; i++) {
        check_byte(&s, i);
        check_byte(&s, s.size - 1 - i);
        check_byte(&s, s.size / 8 * i);
    }
    for (size_t i = 0; i < used && s.size > 0; i++)
        check_byte(&s, (int64_t)(form[i] * UINT64_C(0x9E3779B97F4A7C15) >> 1) % s.size);

    int64_t runs = sluice_set_nruns(&s), bytes = 0, seen = 0;
    sluice_cursor c;
    sluice_run run;
    for (sluice_cursor_init(&c, &s); seen < 1000 && sluice_cursor_run(&c, &run); seen++) bytes += run.len;
    MUST(seen < 1000 ? seen == runs && bytes == s.size : runs >= 1000 && bytes <= s.size);
    free(form);
    sluice_set_free(&s);
    sluice_set_free(&t);
    MUST(sluice_mem_live() == 0);
    return 0;
}
