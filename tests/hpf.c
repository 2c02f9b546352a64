/* ranks: 1 */
/* hpf.c: HPF distributions against their definition: who owns index i, and which elements a process has. */
#include "base/base.h"
#include "sluice_set.h"
#include "support/oracle.h"
#include "support/unit.h"
#include <string.h>

/* The owner of index i, dealt out one index after the other. */
static int owner(const sluice_dist *dist, int64_t n, int nprocs, int64_t i) {
    int64_t block = dist->block, used = 0;
    int p = 0;
    if (dist->kind == SLUICE_DIST_STAR) return 0;
    if (dist->kind == SLUICE_DIST_BLOCK && !block)
        while (block * nprocs < n) block++;
    if (dist->kind == SLUICE_DIST_CYCLIC && !block) block = 1;
    for (int64_t k = 0;; k++, used++) {
        while (used == (dist->kind == SLUICE_DIST_GENBLOCK ? dist->sizes[p] : block)) p = (p + 1) % nprocs, used = 0;
        if (k == i) return p;
    }
}

/* A random distribution of n indices; sizes has room for nprocs numbers. */
static sluice_dist random_dist(int64_t n, int nprocs, int64_t *sizes) {
    sluice_dist dist = {.sizes = sizes};
    int64_t left = n;
    switch (below(nprocs == 1 ? 6 : 5)) {
    case 0: dist.kind = SLUICE_DIST_BLOCK; break;
    case 1:
        dist.kind = SLUICE_DIST_BLOCK;
        dist.block = (n + nprocs - 1) / nprocs + below(4);
        break;
    case 2: dist.kind = SLUICE_DIST_CYCLIC; break;
    case 3:
        dist.kind = SLUICE_DIST_CYCLIC;
        dist.block = 1 + below(5);
        break;
    case 4:
        dist.kind = SLUICE_DIST_GENBLOCK;
        for (int p = 0; p < nprocs - 1; p++) left -= sizes[p] = below(left + 1);
        sizes[nprocs - 1] = left;
        break;
    default: dist.kind = SLUICE_DIST_STAR;
    }
    return dist;
}

static void one_dimension(void) {
    for (int i = 0; i < 5000; i++) {
        const int64_t n = below(20);
        const int nprocs = 1 + (int)below(6);
        int64_t sizes[8], count[8] = {0};
        const sluice_dist dist = random_dist(n, nprocs, sizes);
        for (int64_t k = 0; k < n; k++) {
            int p = -1;
            int64_t local = -1;
            const int want = owner(&dist, n, nprocs, k);
            CHECK(sluice_dist_owner(&dist, n, nprocs, k, &p, &local) == 0, "owner");
            CHECK(p == want && local == count[want], "index %lld of %lld on %d: %d %lld, not %d %lld", (long long)k,
                  (long long)n, nprocs, p, (long long)local, want, (long long)count[want]);
            count[want]++;
        }
        for (int p = 0; p < nprocs; p++)
            CHECK(sluice_dist_count(&dist, n, nprocs, p) == count[p], "process %d has %lld indices", p,
                  (long long)count[p]);
    }
}

static void many_dimensions(void) {
    for (int i = 0; i < 1500; i++) {
        sluice_shape s = {.ndims = 1 + (int)below(3), .elem = (int64_t[]){1, 3, 4, 8}[below(4)]};
        int64_t sizes[3][4], total = 0;
        int grid[3], nprocs = 1;
        sluice_dist dist[3];
        s.order = below(2) ? SLUICE_ROW_MAJOR : SLUICE_COLUMN_MAJOR;
        s.header = below(2) ? below(50) : 0;
        for (int d = 0; d < s.ndims; d++) {
            s.dim[d] = below(30) ? 1 + below(9) : 0;
            grid[d] = 1 + (int)below(3);
            dist[d] = random_dist(s.dim[d], grid[d], sizes[d]);
            nprocs *= grid[d];
        }
        for (int rank = 0; rank < nprocs; rank++) {
            sluice_set set = SLUICE_SET_EMPTY;
            sluice_reason why = {0};
            CHECK(sluice_set_hpf(&set, &s, dist, grid, rank, &why) == 0, "%s", why.text);
            CHECK(sluice_set_check(&set, &why) == 0, "%s", why.text);
            oracle want;
            int64_t wrong = 0;
            oracle_init(&want, oracle_shape_bytes(&s));
            oracle_hpf(&want, &s, dist, grid, rank);
            for (int64_t x = 0; x < want.n; x++) wrong += sluice_set_contains(&set, x) != oracle_contains(&want, x);
            CHECK(wrong == 0 && set.size == oracle_size(&want), "rank %d: %lld bytes wrong", rank, (long long)wrong);
            total += set.size;
            oracle_free(&want);
            sluice_set_free(&set);
        }
        CHECK(total == oracle_shape_bytes(&s) - s.header, "all parts hold %lld bytes", (long long)total);
    }
}

/* 8 TB over a million processes, and the edges of 63 bits. */
static void huge(void) {
    const sluice_shape s = {2, SLUICE_ROW_MAJOR, 8, 0, {1000000, 1000000}};
    const sluice_dist dist[2] = {{SLUICE_DIST_BLOCK, 0, NULL}, {SLUICE_DIST_CYCLIC, 7, NULL}};
    const int grid[2] = {1000, 1000};
    sluice_set set = SLUICE_SET_EMPTY;
    sluice_mem_peak_reset();
    CHECK(sluice_set_hpf(&set, &s, dist, grid, 999999, NULL) == 0, "huge");
    CHECK(set.size == 1000LL * 142 * 7 * 8, "%lld bytes", (long long)set.size);
    CHECK(sluice_mem_peak() < 65536, "%lld bytes", (long long)sluice_mem_peak());

    const sluice_shape line = {1, SLUICE_ROW_MAJOR, 1, 0, {INT64_MAX}};
    const int two = 2, most = INT32_MAX;
    sluice_dist one = {SLUICE_DIST_CYCLIC, INT64_MAX - 1, NULL};
    CHECK(sluice_set_hpf(&set, &line, &one, &two, 1, NULL) == 0 && set.size == 1, "a last block of one byte");
    one.block = INT64_MAX;
    CHECK(sluice_set_hpf(&set, &line, &one, &two, 1, NULL) == 0 && set.size == 0, "nothing left");
    one = (sluice_dist){SLUICE_DIST_BLOCK, INT64_MAX, NULL};
    CHECK(sluice_set_hpf(&set, &line, &one, &most, 0, NULL) == 0 && set.size == INT64_MAX, "all in one block");
    CHECK(sluice_dist_count(&one, INT64_MAX, most, most - 1) == 0, "the last of 2^31-1 processes");
    one.block = 0;
    CHECK(sluice_set_hpf(&set, &line, &one, &most, most - 1, NULL) == 0 && sluice_set_hi(&set) == INT64_MAX,
          "the last of 2^31-1 processes");
    one.kind = SLUICE_DIST_CYCLIC;
    CHECK(sluice_set_hpf(&set, &line, &one, &most, 0, NULL) == 0 && set.size == (INT64_MAX - 1) / INT32_MAX + 1 &&
              set.nnode == 1,
          "every %d-th byte", most);
    sluice_set_free(&set);
}

static void refusals(void) {
    static const int64_t negative[] = {7, -2}, little[] = {2, 2}, much[] = {4, 2}, wide[] = {INT64_MAX, INT64_MAX};
    static const struct {
        const char *what, *text;
        sluice_dist dist;
        int64_t n;
        int nprocs;
    } bad[] = {
        {"star", "not distributed (*) but the grid has 2", {SLUICE_DIST_STAR, 0, NULL}, 5, 2},
        {"block too small", "BLOCK(2) on 2 processes does not hold 5", {SLUICE_DIST_BLOCK, 2, NULL}, 5, 2},
        {"negative block", "BLOCK(-1)", {SLUICE_DIST_BLOCK, -1, NULL}, 5, 2},
        {"negative cycle", "CYCLIC(-3)", {SLUICE_DIST_CYCLIC, -3, NULL}, 5, 2},
        {"no sizes", "GENBLOCK without sizes", {SLUICE_DIST_GENBLOCK, 0, NULL}, 5, 2},
        {"negative size", "GENBLOCK size -2 of process 1", {SLUICE_DIST_GENBLOCK, 0, negative}, 7, 2},
        {"too little", "add up to 4, not to its extent of 5", {SLUICE_DIST_GENBLOCK, 0, little}, 5, 2},
        {"too much", "pass its extent of 5 at process 1", {SLUICE_DIST_GENBLOCK, 0, much}, 5, 2},
        {"far too much", "pass its extent of 5 at process 0", {SLUICE_DIST_GENBLOCK, 0, wide}, 5, 2},
        {"unknown kind", "unknown distribution 9", {(sluice_dist_kind)9, 0, NULL}, 5, 2},
        {"no processes", "0 processes", {SLUICE_DIST_BLOCK, 0, NULL}, 5, 0},
        {"negative extent", "extent -5", {SLUICE_DIST_BLOCK, 0, NULL}, -5, 2},
    };
    sluice_set out = SLUICE_SET_EMPTY;
    sluice_reason why;
    int p;
    int64_t local;
    CHECK(sluice_set_block(&out, 0, 7) == 0, "block");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const sluice_shape s = {2, SLUICE_COLUMN_MAJOR, 4, 0, {3, bad[i].n}};
        const sluice_dist dist[2] = {{SLUICE_DIST_BLOCK, 0, NULL}, bad[i].dist};
        const int grid[2] = {2, bad[i].nprocs};
        CHECK(sluice_dist_count(&bad[i].dist, bad[i].n, bad[i].nprocs, 0) == SLUICE_E_ARGUMENT, "%s", bad[i].what);
        CHECK(sluice_dist_owner(&bad[i].dist, bad[i].n, bad[i].nprocs, 0, &p, &local) == SLUICE_E_ARGUMENT, "%s",
              bad[i].what);
        CHECK(sluice_set_hpf(&out, &s, dist, grid, 1, NULL) == SLUICE_E_ARGUMENT, "%s", bad[i].what);
        CHECK(sluice_set_hpf(&out, &s, dist, grid, 1, &why) == SLUICE_E_ARGUMENT && why.error == SLUICE_E_ARGUMENT &&
                  why.pos == 1 && strstr(why.text, "dimension 1") && strstr(why.text, bad[i].text) && out.size == 7,
              "%s: %s", bad[i].what, why.text);
    }

    const sluice_dist block = {SLUICE_DIST_BLOCK, 0, NULL}, blocks[2] = {block, block};
    CHECK(sluice_dist_count(&block, 5, 2, -1) == SLUICE_E_ARGUMENT, "process -1");
    CHECK(sluice_dist_count(&block, 5, 2, 2) == SLUICE_E_ARGUMENT, "process 2 of 2");
    CHECK(sluice_dist_owner(&block, 5, 2, -1, &p, &local) == SLUICE_E_ARGUMENT, "index -1");
    CHECK(sluice_dist_owner(&block, 5, 2, 5, &p, &local) == SLUICE_E_ARGUMENT, "index 5 of 5");

    sluice_shape s = {2, SLUICE_ROW_MAJOR, 4, 0, {5, 6}};
    const int grid[2] = {2, 2}, many[2] = {1 << 16, 1 << 15};
    CHECK(sluice_set_hpf(&out, &s, blocks, grid, 4, &why) == SLUICE_E_ARGUMENT && strstr(why.text, "rank 4"), "rank");
    CHECK(sluice_set_hpf(&out, &s, blocks, grid, -1, &why) == SLUICE_E_ARGUMENT && strstr(why.text, "rank -1"), "rank");
    CHECK(sluice_set_hpf(&out, &s, blocks, many, 0, &why) == SLUICE_E_ARGUMENT && why.pos == 1, "grid");
    s.elem = INT64_MAX;
    CHECK(sluice_set_hpf(&out, &s, blocks, grid, 0, &why) == SLUICE_E_OVERFLOW && why.pos == 1, "overflow");
    CHECK(out.size == 7, "the output changed");
    sluice_set_free(&out);
}

/* A part that takes more than one allocation. */
static int make(sluice_set *out) {
    const sluice_shape s = {2, SLUICE_ROW_MAJOR, 4, 16, {11, 13}};
    const sluice_dist dist[2] = {{SLUICE_DIST_CYCLIC, 2, NULL}, {SLUICE_DIST_CYCLIC, 3, NULL}};
    const int grid[2] = {2, 2};
    return sluice_set_hpf(out, &s, dist, grid, 3, NULL);
}

int main(void) {
    one_dimension();
    many_dimensions();
    huge();
    refusals();
    check_each_allocation(make);
    return verdict();
}
