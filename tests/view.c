/* ranks: 1 */
/* view.c: views of parallel files: what they count, what they refuse, and that their cost does not grow with the number
 * of blocks. The bytes themselves are the matter of view_random.c and of the vectors. */
#include "array/parallel.h"
#include "sluice_view.h"
#include "support/unit.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const path[] = {"view-0", "view-1", "view-2", "view-3"};
enum { N = 4, SIDE = 64 };
static unsigned char buf[SIDE * SIDE], back[SIDE * SIDE];

/* The square of side bytes cut into 4 blocks of rows, columns or squares. */
typedef enum cut { ROWS, COLUMNS, SQUARES } cut;
static void divide(sluice_set *set, cut how, int64_t side) {
    const sluice_shape s = {2, SLUICE_ROW_MAJOR, 1, 0, {side, side}};
    const sluice_dist block = {.kind = SLUICE_DIST_BLOCK}, star = {.kind = SLUICE_DIST_STAR};
    const sluice_dist dist[][2] = {{block, star}, {star, block}, {block, block}};
    const int grid[][2] = {{N, 1}, {1, N}, {2, 2}};
    for (int i = 0; i < N; i++) {
        set[i] = (sluice_set)SLUICE_SET_EMPTY;
        CHECK(!sluice_set_hpf(&set[i], &s, dist[how], grid[how], i, NULL));
    }
}

static void free_all(sluice_set *set) {
    for (int i = 0; i < N; i++) sluice_set_free(&set[i]);
}

static sluice_file *create(const sluice_set *set, int64_t disp) {
    const sluice_partition p = {.n = N, .set = set, .disp = disp};
    const sluice_options o = {.size = sizeof o, .store = SLUICE_STORE_RAM};
    sluice_file *f = NULL;
    CHECK(!sluice_file_create(&f, &p, path, &o), "%s", sluice_errmsg());
    return f;
}

/* Clusterfile's three layouts under views of rows: the intersection is made once, whatever comes later, and there is
 * none where the layouts are the same. */
static void layouts(void) {
    sluice_set rows[N], subs[N];
    sluice_view_counts c;
    divide(rows, ROWS, SIDE);
    for (cut how = ROWS; how <= SQUARES; how++) {
        divide(subs, how, SIDE);
        sluice_file *f = create(subs, 0);
        for (int r = 0; r < N; r++) {
            sluice_view *v;
            const int64_t len = SIDE * SIDE / N;
            CHECK(!sluice_view_set(&v, f, &(sluice_element){&rows[r], SIDE * SIDE, 0}));
            for (int64_t i = 0; i < len; i++) buf[i] = (unsigned char)(i * 7 + r);
            for (int times = 1; times <= 3; times++) {
                memset(back, 0, sizeof back);
                CHECK(!sluice_view_write(v, 0, len, buf) && !sluice_view_read(v, 0, len, back));
                CHECK(!memcmp(buf, back, (size_t)len));
                sluice_view_count(v, -1, &c);
                const int64_t touched = how == ROWS ? 1 : how == COLUMNS ? N : 2;
                CHECK(c.intersections == (how == ROWS ? 0 : N));
                CHECK(c.ends == (how == ROWS ? 0 : 4 * touched * times), "%" PRId64, c.ends);
                CHECK(c.requests == 2 * touched * times && c.bytes == 2 * len * times);
                CHECK(c.gathered == (how == ROWS ? 0 : 2 * len * times));
                CHECK(c.scattered == 0 && c.contiguous == c.requests);
            }
            sluice_view_free(v);
        }
        sluice_counts all;
        sluice_file_count(f, &all);
        CHECK(all.wanted_written == 3 * SIDE * SIDE && all.wanted_read == 3 * SIDE * SIDE);
        CHECK(!sluice_file_sync(f) && !sluice_file_close(f));
        free_all(subs);
    }
    free_all(rows);
}

/* The number of families that an access handles, and of allocations, for a square of any side. */
static void closed_form(void) {
    int64_t nodes = 0, first = 0;
    for (int64_t side = SIDE; side <= (int64_t)1 << 30; side *= 4) {
        sluice_set rows[N], columns[N];
        sluice_link l;
        sluice_set in_view = SLUICE_SET_EMPTY, in_sub = SLUICE_SET_EMPTY;
        divide(rows, ROWS, side);
        divide(columns, COLUMNS, side);
        CHECK(!sluice_link_make(&l, &(sluice_element){&rows[1], side * side, 0},
                                &(sluice_element){&columns[2], side * side, 0}));
        /* From the middle of the first row to the middle of the last one, and over the end of the period. */
        const int64_t calls = sluice_mem_calls(), len = side * side / N + side / 2;
        const sluice_span s = sluice_link_span(&l, side / 2 + 1, len);
        CHECK(!sluice_element_cut(&in_view, &l.view, s.from, s.to) && !sluice_element_cut(&in_sub, &l.sub, s.lo, s.hi));
        const int64_t used = sluice_mem_calls() - calls;
        CHECK(in_view.size == s.n && in_sub.size == s.n);
        if (!first) first = used, nodes = in_view.nnode + in_sub.nnode;
        CHECK(used <= first && in_view.nnode + in_sub.nnode <= nodes, "side %" PRId64 ": %" PRId64 " allocations", side,
              used);
        sluice_set_free(&in_view), sluice_set_free(&in_sub);
        sluice_link_free(&l);
        free_all(rows), free_all(columns);
    }
    CHECK(nodes <= 20, "%" PRId64 " families", nodes);
}

static void says(int error, int expected, const char *what) {
    CHECK(error == expected && strstr(sluice_errmsg(), what), "%d, not %d: %s", error, expected, sluice_errmsg());
}

static void refusals(void) {
    sluice_set set[N], none = SLUICE_SET_EMPTY, odd = SLUICE_SET_EMPTY;
    divide(set, COLUMNS, SIDE);
    CHECK(!sluice_set_falls(&odd, 1, 1, 2, 8));
    sluice_file *f = create(set, 10), *g = NULL;
    sluice_view *v = NULL;
    says(sluice_view_set(&v, f, &(sluice_element){&none, 4, 0}), SLUICE_E_EMPTY, "empty");
    says(sluice_view_set(&v, f, &(sluice_element){&odd, 15, 0}), SLUICE_E_ARGUMENT, "set up to 16");
    says(sluice_view_set(&v, f, &(sluice_element){&odd, 16, -1}), SLUICE_E_ARGUMENT, "displacement -1");
    says(sluice_view_set(&v, f, &(sluice_element){&odd, INT64_MAX, 0}), SLUICE_E_OVERFLOW, "view of");
    CHECK(!v && !sluice_view_set(&v, f, &(sluice_element){&odd, 16, 0}));
    says(sluice_view_read(v, -1, 2, buf), SLUICE_E_ARGUMENT, "2 bytes from -1");
    says(sluice_view_read(v, 0, -2, buf), SLUICE_E_ARGUMENT, "-2 bytes");
    says(sluice_view_read(v, INT64_MAX / 2, 4, buf), SLUICE_E_OVERFLOW, "past 2^63-1");
    says(sluice_view_write(v, INT64_MAX, 4, buf), SLUICE_E_OVERFLOW, "past 2^63-1");
    says(sluice_view_write(v, 4, 2, buf), SLUICE_E_ARGUMENT, "byte 4 of the view is byte 9 of the file, before its d");
    CHECK(!sluice_view_write(v, 5, 2, buf) && !sluice_view_read(v, 0, 0, NULL));
    sluice_view_free(v);
    CHECK(!sluice_file_close(f));

    const sluice_partition p = {.n = N, .set = set}, gap = {.n = N - 1, .set = set}, zero = {.n = 0, .set = set};
    const sluice_options ram = {.size = sizeof ram, .store = SLUICE_STORE_RAM};
    says(sluice_file_open(&g, &p, path, SLUICE_WRITE, NULL), -ENOENT, "view-0");
    says(sluice_file_open(&g, &p, path, 7, NULL), SLUICE_E_ARGUMENT, "mode 7");
    says(sluice_file_open(&g, &p, path, SLUICE_READ, &ram), SLUICE_E_ARGUMENT, "in memory");
    says(sluice_file_create(&g, &gap, path, NULL), SLUICE_E_GAP, "view-0: partition: ");
    says(sluice_file_create(&g, &zero, path, NULL), SLUICE_E_ARGUMENT, "0 elements");
    says(sluice_file_create(&g, &p, path, &(sluice_options){.memory = 3 * 4096}), SLUICE_E_ARGUMENT, "4 subfiles");
    CHECK(!g && access(path[0], F_OK), "a subfile was left");

    /* One subfile is there: what was made before is taken away, and what was there stays. */
    fclose(fopen(path[2], "w"));
    says(sluice_file_create(&g, &p, path, NULL), -EEXIST, "view-2");
    CHECK(access(path[0], F_OK) && access(path[1], F_OK) && !access(path[2], F_OK));
    unlink(path[2]);
    CHECK(!sluice_file_create(&g, &p, path, NULL) && !sluice_file_close(g));
    CHECK(!sluice_file_open(&g, &p, path, SLUICE_READ, NULL));
    CHECK(!sluice_view_set(&v, g, &(sluice_element){&odd, 16, 0}));
    says(sluice_view_write(v, 0, 1, buf), -EBADF, "reading only");
    CHECK(!sluice_view_read(v, 0, 100, buf) && buf[0] == 0 && buf[99] == 0, "what no one wrote is zeros");
    sluice_view_free(v);
    sluice_view_free(NULL);
    CHECK(!sluice_file_close(g) && !sluice_file_close(NULL));
    for (int i = 0; i < N; i++) unlink(path[i]);
    sluice_set_free(&odd);
    free_all(set);
}

/* Flips a bit of subfile 0 of the container. */
static bool flip(void) {
    FILE *f = fopen("c.sluice/1.0", "r+b");
    const int byte = f ? getc(f) : EOF;
    rewind(f);
    return byte != EOF && putc(byte ^ 4, f) != EOF && !fclose(f);
}

/* The bytes of an array in a container, through a view of every third of them, and what lies past its end. */
static void containers(int64_t checksum) {
    const sluice_desc d = {.format = SLUICE_RAW, .type = "int32", .shape = {.ndims = 2, .dim = {12, 10}}};
    const sluice_options o = {.size = sizeof o, .layout = "tiles:5x3:3", .checksum = checksum};
    enum { BYTES = 480, VIEW = BYTES / 3 };
    sluice_set third = SLUICE_SET_EMPTY;
    sluice_array *a;
    sluice_file *f, *g = NULL;
    sluice_view *v;
    CHECK(!sluice_set_block(&third, 1, 1));
    sluice_desc other = d;
    strcpy(other.type, ">i4");
    CHECK(sluice_create(&a, "c.sluice", &other, &o) == SLUICE_E_ARGUMENT && strstr(sluice_errmsg(), "byte order"), "%s",
          sluice_errmsg());
    for (int i = 0; i < BYTES; i++) buf[i] = (unsigned char)(i * 11);
    CHECK(!sluice_create(&a, "c.sluice", &d, &o) && !sluice_write(a, NULL, buf) && !sluice_close(a), "%s",
          sluice_errmsg());
    const int64_t live = sluice_mem_live();
    CHECK(!sluice_file_open_container(&f, "c.sluice", SLUICE_WRITE, NULL), "%s", sluice_errmsg());
    CHECK(sluice_file_open_container(&g, "c.sluice", SLUICE_WRITE, NULL) == -EBUSY && !g, "a second writer");
    CHECK(!sluice_view_set(&v, f, &(sluice_element){&third, 3, 0}));
    if (checksum) {
        CHECK(flip() && sluice_view_read(v, 0, VIEW, back) == SLUICE_E_CHECKSUM);
        CHECK(strstr(sluice_errmsg(), "of subfile 0 on target ."), "%s", sluice_errmsg());
        CHECK(sluice_view_write(v, 0, VIEW, back) == SLUICE_E_CHECKSUM && flip());
    }
    CHECK(!sluice_view_read(v, 0, VIEW, back));
    for (int i = 0; i < VIEW; i++) CHECK(back[i] == buf[3 * i + 1], "byte %d", i);
    for (int i = 0; i < VIEW; i++) buf[3 * i + 1] = back[i] = (unsigned char)(i * 5);
    CHECK(!sluice_view_write(v, 0, VIEW, back));
    CHECK(sluice_view_write(v, VIEW, 1, back) == SLUICE_E_ARGUMENT && strstr(sluice_errmsg(), "which has 480"), "%s",
          sluice_errmsg());
    CHECK(sluice_view_read(v, VIEW - 1, 2, back) == SLUICE_E_ARGUMENT);
    sluice_view_free(v);
    CHECK(!sluice_file_sync(f) && !sluice_file_close(f) && sluice_mem_live() == live, "%s", sluice_errmsg());
    CHECK(sluice_file_open_container(&g, "none.sluice", SLUICE_READ, NULL) == -ENOENT && !g);
    CHECK(!sluice_open(&a, "c.sluice", SLUICE_READ, NULL, NULL) && !sluice_read(a, NULL, back) && !sluice_close(a));
    CHECK(!memcmp(buf, back, BYTES), "the array is not what was written");
    if (checksum) {
        CHECK(!sluice_open(&a, "c.sluice", SLUICE_READ, NULL, NULL) && flip(), "%s", sluice_errmsg());
        CHECK(sluice_read(a, NULL, back) == SLUICE_E_CHECKSUM && !sluice_close(a) && flip(), "not sealed");
    }
    for (int64_t n = 1, error = -1; error; n++) {
        sluice_mem_fail_nth(n);
        error = sluice_file_open_container(&g, "c.sluice", SLUICE_READ, NULL);
        sluice_mem_fail_nth(0);
        CHECK(!error || (error == -ENOMEM && !g), "%s", sluice_errmsg());
        CHECK(error || !sluice_file_close(g));
        CHECK(sluice_mem_live() == live);
    }
    CHECK(!sluice_container_delete("c.sluice", NULL, NULL));
    sluice_set_free(&third);
}

/* An array without elements is a file without bytes. */
static void no_bytes(void) {
    static const char *const layouts[] = {"single", "rows:3", "striped:10:2"};
    const sluice_desc d = {.type = "int32", .shape = {.ndims = 2, .dim = {0, 10}}};
    sluice_set one = SLUICE_SET_EMPTY;
    CHECK(!sluice_set_block(&one, 0, 1));
    for (int i = 0; i < 3; i++) {
        const sluice_options o = {.size = sizeof o, .layout = layouts[i]};
        sluice_array *a;
        sluice_file *f = NULL;
        sluice_view *v = NULL;
        CHECK(!sluice_create(&a, "c.sluice", &d, &o) && !sluice_close(a), "%s", sluice_errmsg());
        for (int mode = SLUICE_READ; mode <= SLUICE_WRITE; mode++) {
            CHECK(!sluice_file_open_container(&f, "c.sluice", mode, NULL), "%s: %s", layouts[i], sluice_errmsg());
            if (!f) break;
            CHECK(!sluice_view_set(&v, f, &(sluice_element){&one, 1, 0}), "%s", sluice_errmsg());
            CHECK(!sluice_view_read(v, 0, 0, back) && !sluice_view_expect(v, 0, 0), "%s", sluice_errmsg());
            CHECK(sluice_view_read(v, 0, 1, back) == SLUICE_E_ARGUMENT, "%s", sluice_errmsg());
            sluice_view_free(v);
            CHECK(!sluice_file_close(f));
        }
        CHECK(!sluice_container_delete("c.sluice", NULL, NULL));
    }
    sluice_set_free(&one);
}

/* A view whose period has no multiple in common with the length of the array below 2^63. */
static void long_period(void) {
    enum { BLOCK = 4, BLOCKS = 5 };
    const int64_t length = (INT64_C(1) << 33) + 17, period = (INT64_C(1) << 31) - 1, disp = 3;
    const sluice_desc d = {.type = "uint8", .shape = {.ndims = 1, .dim = {length}}};
    const sluice_options o = {.size = sizeof o, .layout = "striped:1000003:3"};
    sluice_set set = SLUICE_SET_EMPTY;
    sluice_array *a;
    sluice_file *f = NULL;
    sluice_view *v = NULL;
    CHECK(sluice_lcm(length, period) < 0 && !sluice_set_block(&set, 0, BLOCK));
    CHECK(!sluice_create(&a, "c.sluice", &d, &o) && !sluice_close(a), "%s", sluice_errmsg());
    CHECK(!sluice_file_open_container(&f, "c.sluice", SLUICE_WRITE, NULL), "%s", sluice_errmsg());
    CHECK(!sluice_view_set(&v, f, &(sluice_element){&set, period, disp}), "%s", sluice_errmsg());
    for (int i = 0; i < BLOCK * BLOCKS; i++) buf[i] = (unsigned char)(i + 1);
    const int n = BLOCK * (int)((length - disp) / period) + 4; /* the last block is whole: 17 + 4 - 3 bytes are left */
    CHECK(n == BLOCK * BLOCKS && v && !sluice_view_write(v, 0, n, buf), "%s", sluice_errmsg());
    CHECK(v && sluice_view_write(v, n, 1, buf) == SLUICE_E_ARGUMENT);
    memset(back, 0, sizeof back);
    CHECK(v && !sluice_view_read(v, 1, n - 2, back) && !memcmp(back, buf + 1, (size_t)n - 2), "%s", sluice_errmsg());
    sluice_view_free(v);
    CHECK(!sluice_file_close(f) && !sluice_open(&a, "c.sluice", SLUICE_READ, NULL, NULL), "%s", sluice_errmsg());
    for (int i = 0; i < n; i++) {
        const int64_t x = disp + i / BLOCK * period + i % BLOCK;
        CHECK(!sluice_read(a, (sluice_range[]){{x, 1, 1}}, back) && *back == i + 1, "byte %" PRId64 ": %d", x, *back);
    }
    CHECK(!sluice_close(a) && !sluice_container_delete("c.sluice", NULL, NULL));
    sluice_set_free(&set);
}

/* With each of its allocations failing in turn, making a file leaves nothing behind. */
static void allocations(void) {
    sluice_set set[N];
    divide(set, SQUARES, SIDE);
    const sluice_partition p = {.n = N, .set = set};
    int error = -ENOMEM;
    int64_t n = 1;
    for (; error; n++) {
        sluice_file *f = NULL;
        const int64_t live = sluice_mem_live();
        sluice_mem_fail_nth(n);
        error = sluice_file_create(&f, &p, path, NULL);
        sluice_mem_fail_nth(0);
        CHECK(!error || (error == -ENOMEM && !f && strstr(sluice_errmsg(), "view-")), "%s", sluice_errmsg());
        for (int i = 0; i < N; i++) CHECK(!access(path[i], F_OK) == !error);
        CHECK(!sluice_file_close(f) && sluice_mem_live() == live);
    }
    CHECK(n > 10, "too few allocations");
    for (int i = 0; i < N; i++) unlink(path[i]);
    free_all(set);
}

int main(void) {
    char folder[] = "view.XXXXXX";
    if (!mkdtemp(folder) || chdir(folder)) return 1;
    layouts();
    closed_form();
    refusals();
    containers(0);
    containers(512);
    no_bytes();
    long_period();
    allocations();
    if (chdir("..") || rmdir(folder)) return 1;
    return verdict();
}
