/* conflict.c: who wins where processes write the same bytes: the highest rank. Each process leaves out what a higher
 * one names. After that no two write the same byte, and it does not matter who comes first.
 *
 *     rank 0    xxxxxx......      writes   xxx.........
 *     rank 1    ...yyyyyy...               ...yyy......
 *     rank 2    ......zzzzzz               ......zzzzzz
 */
#include "io/plan.h"

int sluice_conflict_both(sluice_set *out, const sluice_set *a, const sluice_set *b) {
    bool apart = sluice_set_hi(a) <= sluice_set_lo(b) || sluice_set_hi(b) <= sluice_set_lo(a);
    return apart ? sluice_set_block(out, 0, 0) : sluice_set_intersect(out, a, b);
}

int sluice_conflict_unite(sluice_set *out, const sluice_set *s, int n) {
    if (n == 0) return sluice_set_block(out, 0, 0);
    if (n == 1) return sluice_set_copy(out, s);
    sluice_set high = SLUICE_SET_EMPTY;
    int err = sluice_conflict_unite(out, s, n / 2);
    if (!err) err = sluice_conflict_unite(&high, s + n / 2, n - n / 2);
    if (!err) err = sluice_set_union(out, out, &high);
    sluice_set_free(&high);
    return err;
}

int sluice_conflict_ask(sluice_set *out, const sluice_set *file, int n, bool write) {
    int err = sluice_conflict_unite(out, file, n);
    if (err != SLUICE_E_COMPLEX || write) return err;
    int64_t lo = INT64_MAX, hi = 0;
    for (int i = 0; i < n; i++) {
        if (!file[i].size) continue;
        lo = sluice_min(lo, sluice_set_lo(&file[i]));
        hi = sluice_max(hi, sluice_set_hi(&file[i]));
    }
    return sluice_set_block(out, lo, hi - lo);
}

int sluice_conflict_lost(sluice_set *out, const sluice_set *request, int size, int rank, bool refuse,
                         sluice_reason *why) {
    sluice_set both = SLUICE_SET_EMPTY;
    int err = sluice_pass(why, sluice_set_block(out, 0, 0));
    for (int r = rank + 1; r < size && !err; r++) {
        err = sluice_pass(why, sluice_conflict_both(&both, &request[rank], &request[r]));
        if (!err && both.size && refuse)
            err = sluice_refuse(why, SLUICE_E_SHARED, sluice_set_lo(&both),
                                "ranks %d and %d both write %lld bytes, the first at byte %lld", rank, r,
                                (long long)both.size, (long long)sluice_set_lo(&both));
        if (!err && both.size) err = sluice_pass(why, sluice_set_union(out, out, &both));
    }
    sluice_set_free(&both);
    return err;
}

int sluice_conflict_leave_out(sluice_set *file, sluice_set *kept, int n, const sluice_set *lost) {
    sluice_set rest = SLUICE_SET_EMPTY;
    int err = 0;
    for (int i = 0; i < n && !err; i++) {
        err = sluice_set_subtract(&rest, &file[i], lost);
        if (!err) err = sluice_set_project(&kept[i], &rest, &file[i]);
        if (!err) err = sluice_set_copy(&file[i], &rest);
    }
    sluice_set_free(&rest);
    return err;
}
