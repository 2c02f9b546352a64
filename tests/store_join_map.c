/* ranks: 1 */
/* store_join_map: the mapping of several stores as one: what is ready, what a member does under it, what cannot be. */
#include "join_common.h"
#include <sys/wait.h>

typedef struct piece {
    sluice_map *m;
    int64_t off, len;
    unsigned char byte[70000];
} piece;

static void copy(void *arg) {
    piece *p = arg;
    memcpy(p->byte, sluice_map_base(p->m) + p->off, (size_t)p->len);
}
static void copy_back(void *arg) {
    piece *p = arg;
    memcpy(sluice_map_base(p->m) + p->off, p->byte, (size_t)p->len);
}

/* [x, x + len) of member i, which is at base: 1: right, 0: not ready, -1: wrong, or an error. */
static int take(sluice_map *m, int i, int64_t base, int64_t x, int64_t len, sluice_touch how) {
    static piece p;
    p.m = m;
    p.off = base + x;
    p.len = len;
    if (!sluice_map_ready(m, p.off, len, how)) return 0;
    memset(p.byte, 0, (size_t)len);
    int err = sluice_map_guard(m, copy, &p);
    return err ? err : is_pattern(p.byte, i, x, len) ? 1 : -1;
}

static void test_map(int shims) {
    static const int64_t size[] = {70000, 2 * STRETCH, 2 * STRETCH + 5000, 0, 100},
                         base[] = {0, STRETCH, 3 * STRETCH, 8 * STRETCH, 9 * STRETCH}, end = 9 * STRETCH + 200;
    parts p = make_parts(5, size, POSIX);
    sluice_store *s = join_parts(&p, base, end);
    sluice_reason why = {0};
    sluice_map *m = NULL;
    int64_t live = sluice_mem_live();
    if (shims)
        CHECK(sluice_store_open_fault(&s, s) == 0 && sluice_store_open_tap(&s, s, hear, (void *)(uintptr_t) "") == 0);
    if (shims) live = sluice_mem_live();
    CHECK(sluice_map_open(&m, s, true) == 0, "open");
    for (int round = 0; round < 3; round++) /* asked for, remembered, known by heart */
        for (int i = 0; i < 5; i++) {
            int64_t room = (i < 4 ? base[i + 1] : end) - base[i];
            for (int64_t x = 0; x < size[i]; x += STRETCH) {
                int64_t n = sluice_min(size[i] - x, STRETCH), some = sluice_min(n, 60000);
                CHECK(take(m, i, base[i], x, some, SLUICE_TOUCH_MANY) == 1, "member %d at %" PRId64, i, x);
                CHECK(take(m, i, base[i], x + n - some, some, SLUICE_TOUCH_FEW) == 1, "member %d to its end", i);
            }
            if (size[i] < room) {
                if (size[i])
                    CHECK(take(m, i, base[i], size[i] - 1, 2, SLUICE_TOUCH_FETCH) == 0, "over the end of %d", i);
                CHECK(take(m, i, base[i], size[i], 1, SLUICE_TOUCH_FETCH) == 0, "behind the end of %d", i);
                CHECK(take(m, i, base[i], room - 1, 1, SLUICE_TOUCH_FETCH) == 0, "the last of room %d", i);
            }
        }
    CHECK(!sluice_map_ready(m, end, 1, SLUICE_TOUCH_FETCH) && !sluice_map_ready(m, end - 1, 2, SLUICE_TOUCH_FETCH) &&
              !sluice_map_ready(m, -1, 1, SLUICE_TOUCH_FETCH) &&
              !sluice_map_ready(m, INT64_MAX - 1, 1, SLUICE_TOUCH_FETCH) &&
              !sluice_map_ready(m, INT64_MAX, INT64_MAX, SLUICE_TOUCH_FETCH),
          "outside");

    /* Writing, if the file system is one for it: only what is stored changes, in its own file. */
    static piece w;
    unsigned char back[10];
    if (sluice_map_writable(m)) {
        w = (piece){.m = m, .off = base[2] + 2 * STRETCH + 4990, .len = 5, .byte = "abcde"};
        CHECK(sluice_map_ready(m, w.off, 5, SLUICE_TOUCH_MANY) && sluice_map_guard(m, copy_back, &w) == 0, "write");
        CHECK(sluice_store_read(p.file[2], 2 * STRETCH + 4989, back, 7, &why) == 0 && !memcmp(back + 1, "abcde", 5) &&
                  back[0] == pattern(2, 2 * STRETCH + 4989) && back[6] == pattern(2, 2 * STRETCH + 4995),
              "not in the file");
        for (int k = 0; k < 5; k++) w.byte[k] = pattern(2, 2 * STRETCH + 4990 + k);
        CHECK(sluice_map_guard(m, copy_back, &w) == 0 && untouched(&p, size), "not as before");
    } else {
        printf("this file system is not one for mapped writes: they are not tested\n");
    }

    /* A member grows, into its room and beyond it. */
    unsigned char more[20];
    for (int k = 0; k < 20; k++) more[k] = pattern(3, k);
    CHECK(sluice_store_write(p.file[3], 0, more, 20, &why) == 0 && take(m, 3, base[3], 0, 20, SLUICE_TOUCH_MANY) == 1 &&
              take(m, 3, base[3], 0, 21, SLUICE_TOUCH_MANY) == 0,
          "grown from nothing");
    CHECK(sluice_store_resize(p.file[0], 3 * STRETCH, &why) == 0, "%s", why.text);
    CHECK(sluice_map_ready(m, STRETCH - 10, 10, SLUICE_TOUCH_FETCH) &&
              take(m, 1, base[1], 0, 60000, SLUICE_TOUCH_FETCH) == 1,
          "grown beyond its room");
    CHECK(sluice_store_resize(p.file[0], 70000, &why) == 0, "%s", why.text);

    unsigned char *last = malloc(STRETCH);
    for (int64_t x = 0; x < STRETCH; x++) last[x] = pattern(2, 3 * STRETCH + x);
    CHECK(sluice_store_write(p.file[2], 3 * STRETCH, last, STRETCH, &why) == 0, "%s", why.text);
    free(last);
    CHECK(take(m, 2, base[2], 3 * STRETCH, 60000, SLUICE_TOUCH_MANY) == 1 &&
              take(m, 2, base[2], 4 * STRETCH - 10, 10, SLUICE_TOUCH_MANY) == 1 &&
              take(m, 2, base[2], 2 * STRETCH, 5000, SLUICE_TOUCH_FETCH) == 1,
          "grown by a stretch");

    /* It becomes shorter, and that is noticed before something is touched. */
    CHECK(truncate(in_scratch("m2"), 2 * STRETCH + 5000) == 0 &&
              take(m, 2, base[2], 4 * STRETCH, 1, SLUICE_TOUCH_FETCH) == 0 &&
              take(m, 2, base[2], 2 * STRETCH + 5000, 1, SLUICE_TOUCH_FETCH) == 0 &&
              take(m, 2, base[2], 3 * STRETCH, 10, SLUICE_TOUCH_FETCH) == 0,
          "shorter");

    /* A member is cut short under the mapping: an error, then not ready; the others are as before. */
    CHECK(take(m, 2, base[2], STRETCH, 60000, SLUICE_TOUCH_MANY) == 1, "still there");
    CHECK(truncate(in_scratch("m2"), 5000) == 0, "truncate");
    CHECK(take(m, 2, base[2], STRETCH, 60000, SLUICE_TOUCH_MANY) == -EIO, "cut short");
    CHECK(take(m, 2, base[2], STRETCH, 60000, SLUICE_TOUCH_FETCH) == 0, "cut short, and known");
    CHECK(take(m, 2, base[2], 0, 5000, SLUICE_TOUCH_MANY) == 1 && take(m, 2, base[2], 0, 5001, SLUICE_TOUCH_FETCH) == 0,
          "what is left");
    CHECK(take(m, 1, base[1], STRETCH, 60000, SLUICE_TOUCH_MANY) == 1 &&
              take(m, 4, base[4], 0, 100, SLUICE_TOUCH_MANY) == 1,
          "the neighbours");
    if (sluice_map_writable(m)) {
        CHECK(take(m, 1, base[1], 0, 10, SLUICE_TOUCH_MANY) == 1 && truncate(in_scratch("m1"), 0) == 0, "truncate");
        w.off = base[1] + 10000;
        CHECK(sluice_map_guard(m, copy_back, &w) == -EIO && sluice_store_size(p.file[1], NULL) == 0, "cut short");
    }
    sluice_map_close(m);
    CHECK(sluice_mem_live() == live, "leaks");
    sluice_store_close(s);
}

/* Of files that are not the reader's own, what is cached is found out in another way. */
static void test_map_stranger(void) {
    static const int64_t size[] = {100, STRETCH + 5000}, base[] = {0, STRETCH};
    parts p = make_parts(2, size, POSIX);
    sluice_store *s = join_parts(&p, base, 3 * STRETCH);
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        sluice_map *m = NULL;
        if (setgid(65534) || setuid(65534)) _exit(42); /* only root can try */
        if (sluice_map_open(&m, s, false)) _exit(1);
        bool good =
            take(m, 0, 0, 0, 100, SLUICE_TOUCH_MANY) == 1 && take(m, 1, STRETCH, STRETCH, 5000, SLUICE_TOUCH_MANY) == 1;
        _exit(good || errno == EOPNOTSUPP ? 42 : 2);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42, "%x", status);
    sluice_store_close(s);
}

/* One member is all there is, or all there is of the room: like a plain file, but no longer than its room. */
static void test_map_alone(void) {
    static const int64_t size[] = {STRETCH + 500}, base[] = {0};
    parts p = make_parts(1, size, POSIX);
    sluice_store *s = join_parts(&p, base, STRETCH + 100);
    sluice_map *m = NULL;
    CHECK(sluice_map_open(&m, s, false) == 0 && !sluice_map_writable(m), "open");
    CHECK(take(m, 0, 0, STRETCH, 100, SLUICE_TOUCH_MANY) == 1 && take(m, 0, 0, STRETCH, 101, SLUICE_TOUCH_FETCH) == 0,
          "as far as its room");
    sluice_map_close(m);
    sluice_store_close(s);

    /* What cannot be mapped: memory among files; nothing at all. */
    sluice_store *member[2] = {NULL, NULL};
    sluice_reason why = {0};
    m = NULL;
    CHECK(sluice_store_open(&member[0], in_scratch("m0"), SLUICE_STORE_READ, &why) == 0 &&
              sluice_store_open_ram(&member[1], 10, &why) == 0,
          "%s", why.text);
    int64_t live = sluice_mem_live();
    CHECK(sluice_store_open_join(&s, member, (int64_t[]){0, STRETCH}, 2, 2 * STRETCH, "joined") == 0, "open");
    int64_t joined = sluice_mem_live();
    CHECK(sluice_map_open(&m, s, false) == -ENOTSUP && !m && sluice_mem_live() == joined && joined > live, "memory");
    sluice_store_close(s);
    CHECK(sluice_store_open(&member[0], in_scratch("m0"), SLUICE_STORE_READ, &why) == 0, "%s", why.text);
    CHECK(sluice_store_open_join(&s, member, base, 1, 0, "joined") == 0, "open");
    CHECK(sluice_map_open(&m, s, false) == -ENOTSUP && !m, "nothing");
    sluice_store_close(s);
    /* More addresses than there are. */
    CHECK(sluice_store_open(&member[0], in_scratch("m0"), SLUICE_STORE_READ, &why) == 0 &&
              sluice_store_open(&member[1], in_scratch("m0"), SLUICE_STORE_READ, &why) == 0,
          "%s", why.text);
    CHECK(sluice_store_open_join(&s, member, (int64_t[]){0, (int64_t)1 << 61}, 2, INT64_MAX, "joined") == 0, "open");
    CHECK(sluice_map_open(&m, s, false) < 0 && !m, "too large");
    unsigned char byte = 0;
    CHECK(sluice_store_read(s, ((int64_t)1 << 61) + 5, &byte, 1, &why) == 0 && byte == pattern(0, 5), "%s", why.text);
    sluice_store_close(s);
}

int main(void) {
    make_scratch();
    int descriptors = open_descriptors();
    test_map(0);
    test_map(1);
    test_map_stranger();
    test_map_alone();
    CHECK(open_descriptors() == descriptors, "descriptors leak");
    remove_scratch();
    return verdict();
}
