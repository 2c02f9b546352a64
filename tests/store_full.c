/* ranks: 1 */
/* store_full: no room: a full disk, and the system's limit on the size of a file. What was written before counts and
 * stays, and the handle works again when there is room. */
#include "store_common.h"
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

static unsigned char data[1 << 20];

/* Writes a megabyte behind `from`, for which there is no room, in pieces and at once. */
static void overflow(sluice_store *s, int64_t from, int error) {
    for (int n = 1; n <= 64; n *= 64) {
        sluice_req req[64];
        struct iovec v[64];
        sluice_reason why = {0};
        int64_t moved = -1, len = (int64_t)sizeof data / n, sum = 0, end = from;
        CHECK(sluice_store_resize(s, from, &why) == 0, "%s", why.text);
        for (int i = 0; i < n; i++) {
            v[i] = (struct iovec){data + i * len, (size_t)len};
            req[i] = (sluice_req){from + i * len, len, &v[i], 1, 0};
        }
        int err = sluice_store_xfer(s, true, req, n, &moved, &why);
        CHECK(err == error && why.error == error, "%d", err);
        for (int i = 0; i < n; i++) {
            sum += req[i].result;
            if (req[i].result) end = sluice_max(end, req[i].off + req[i].result);
        }
        char text[200];
        snprintf(text, sizeof text, "write %s at byte %lld: %s", s->name, why.pos, sluice_strerror(error));
        CHECK(!strcmp(why.text, text), "%s", why.text);
        CHECK(moved == sum && moved < (int64_t)sizeof data, "%" PRId64 " moved", moved);
        CHECK(sluice_store_size(s, &why) == end, "the file has %" PRId64 " bytes", sluice_store_size(s, &why));
        unsigned char *back = malloc(sizeof data);
        CHECK(sluice_store_read(s, from, back, sluice_max(end - from, 1), &why) == 0, "%s", why.text);
        CHECK(!memcmp(back, data, (size_t)(end - from)), "what was moved is not there");
        free(back);
    }
    sluice_reason why = {0};
    CHECK(sluice_store_resize(s, 0, &why) == 0 && sluice_store_write(s, 0, data, 1000, &why) == 0, "%s", why.text);
}

static void test_limit(kind k) {
    sluice_store *s;
    sluice_reason why = {0};
    struct rlimit before, low;
    if (k == RAM || open_kind(&s, k, in_scratch("limit"), &why)) return;
    getrlimit(RLIMIT_FSIZE, &before);
    low = before;
    low.rlim_cur = 600000;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0, "limit");
    overflow(s, 0, -EFBIG);
    overflow(s, 599990, -EFBIG);
    CHECK(sluice_store_resize(s, 700000, &why) == -EFBIG && strstr(why.text, "resize"), "%s", why.text);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(sluice_store_write(s, 650000, data, 1000, &why) == 0, "%s", why.text);
    CHECK(sluice_store_close(s) == 0, "close");
}

/* A disk of our own, in a name space of our own. */
static bool test_disk(void) {
    char path[200];
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) return false;
    snprintf(path, sizeof path, "%s/disk", scratch);
    if (mkdir(path, 0700) || mount("none", path, "tmpfs", 0, "size=600k")) return false;
    for (kind k = 0; k < RAM; k++) {
        sluice_store *s;
        sluice_reason why = {0};
        snprintf(path, sizeof path, "%s/disk/file", scratch);
        if (open_kind(&s, k, path, &why)) continue;
        overflow(s, 0, -ENOSPC);
        overflow(s, 1000000, -ENOSPC);
        CHECK(sluice_store_close(s) == 0, "close");
    }
    unlink(path);
    snprintf(path, sizeof path, "%s/disk", scratch);
    CHECK(umount(path) == 0 && rmdir(path) == 0, "the disk is still in use");
    return true;
}

int main(void) {
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(1 + i % 253);
    make_scratch();
    int64_t live = sluice_mem_live();
    for (kind k = 0; k < KINDS; k++) test_limit(k);
    if (!test_disk()) printf("mounting is not permitted: the full disk is not tested\n");
    CHECK(sluice_mem_live() == live, "leaks");
    char path[100];
    snprintf(path, sizeof path, "%s/disk", scratch);
    rmdir(path);
    remove_scratch();
    return failures ? 1 : 0;
}
