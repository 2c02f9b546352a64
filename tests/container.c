/* ranks: 1 */
/* container.c: containers made, opened, written, published anew and deleted; what is not one, or was tampered with, is
 * refused; one writer at a time; targets and how they are bound. */
#include "container_common.h"
#include <sys/wait.h>

static void refused(const char *path, sluice_container_mode mode, const char *with, int error, const char *message) {
    sluice_container *c = NULL;
    sluice_reason why = {0};
    const int fds = open_descriptors();
    const int got = sluice_container_open(&c, path, mode, with, &why);
    CHECK(got == error && !c && why.error == error && strstr(why.text, message), "%s: %d: %s", message, got, why.text);
    CHECK(open_descriptors() == fds, "%s: descriptors leak", message);
    if (c) sluice_container_close(c);
}

static int open_at(sluice_container **c, sluice_container_mode mode) {
    sluice_reason why = {0};
    const int error = sluice_container_open(c, container_path, mode, bindings, &why);
    CHECK(!error, "%s", why.text);
    return error;
}

static void life(void) {
    sluice_manifest *m = manifest("striped:10:5", "fast,.,slow", NULL), *next;
    sluice_container *c = NULL, *r = NULL;
    sluice_store **member = NULL;
    sluice_reason why = {0};
    const char *path = container_path;
    const int files = sums_block ? 2 : 1; /* of each subfile */
    char again[440];
    CHECK(!sluice_container_create(path, m, bindings, &why), "%s", why.text);
    CHECK(sluice_container_create(path, m, bindings, &why) == -EEXIST, "twice: %s", why.text);
    CHECK(entries(path) == 1 + 2 * files && entries(inside("fast")) == 2 * files + 1 &&
              entries(inside("slow")) == files + 1,
          "files");
    CHECK(entries(scratch) == 3, "nothing else is left beside it");
    if (open_at(&c, SLUICE_CONTAINER_WRITE)) return;
    CHECK(!visit(c->manifest, c->member, true), "write");
    refused(path, SLUICE_CONTAINER_WRITE, bindings, -EBUSY, "is being written by process");
    CHECK(sluice_container_delete(path, bindings, &why) == -EBUSY, "delete while written: %s", why.text);
    if (!open_at(&r, SLUICE_CONTAINER_READ)) {
        CHECK(!visit(r->manifest, r->member, false), "a reader beside the writer");
        CHECK(sluice_container_begin(r, m, &why) == -EBADF, "readers make no generation");
        CHECK(!sluice_container_close(r), "close");
    }

    /* Another layout: the reader that came before keeps the old, the next one sees the new. */
    next = manifest("tiles:4x3:4", "slow,.", c->manifest);
    CHECK(!open_at(&r, SLUICE_CONTAINER_READ));
    CHECK(!sluice_container_begin(c, next, &why), "%s", why.text);
    CHECK(!sluice_container_members(&member, c, next, &why) && !visit(next, member, true), "%s", why.text);
    for (int i = 0; member && i < next->layout->n; i++) CHECK(!sluice_store_sync(member[i], &why));
    CHECK(!sluice_folder_release(member, next->layout->n));
    sluice_manifest *over = manifest("single", NULL, next), *other = manifest("single", NULL, NULL);
    CHECK(!sluice_container_begin(c, over, &why), "%s", why.text);
    sluice_container_abandon(c, over);
    CHECK(sluice_container_begin(c, other, &why) == SLUICE_E_ARGUMENT, "of another array: %s", why.text);
    sluice_manifest_free(over);
    sluice_manifest_free(other);
    CHECK(!sluice_container_publish(c, next, &why), "%s", why.text);
    CHECK(c->manifest == next && !visit(next, c->member, false), "the new generation");
    CHECK(!visit(r->manifest, r->member, false), "the old one, for who has it open");
    CHECK(!sluice_container_close(r) && !open_at(&r, SLUICE_CONTAINER_READ));
    CHECK(r->manifest->generation == 2 && !visit(r->manifest, r->member, false), "the new one, for others");
    CHECK(!sluice_container_close(r));
    CHECK(entries(path) == 2 + 2 * files && entries(inside("fast")) == 0 && entries(inside("slow")) == 2 * files + 1,
          "the old files are gone");
    CHECK(!sluice_container_close(c) && entries(path) == 1 + 2 * files, "the lock is gone");

    snprintf(again, sizeof again, "%s///", path);
    CHECK(!sluice_container_delete(again, bindings, &why), "%s", why.text);
    CHECK(entries(path) == -1 && entries(inside("slow")) == 0 && entries(scratch) == 2, "nothing is left");
    sluice_manifest_free(m);
}

/* Checksums that are not there, not whole, of something else, or do not match. */
static void sums(void) {
    sluice_manifest *m = manifest("striped:10:2", ".,fast", NULL);
    sluice_container *c = NULL;
    sluice_reason why = {0};
    unsigned char byte;
    char first[400], second[400], kept[400];
    CHECK(!sluice_container_create(container_path, m, bindings, &why), "%s", why.text);
    if (!open_at(&c, SLUICE_CONTAINER_WRITE)) CHECK(!visit(c->manifest, c->member, true));
    CHECK(!sluice_container_close(c));
    snprintf(first, sizeof first, "%s/1.0.sum", container_path);
    snprintf(second, sizeof second, "%s/%s.1.1.sum", inside("fast"), m->uuid);
    snprintf(kept, sizeof kept, "%s/kept", scratch);
    CHECK(!rename(first, kept));
    refused(container_path, SLUICE_CONTAINER_READ, bindings, -ENOENT, "checksums of subfile 0 on target .");
    CHECK(!symlink("../kept", first));
    refused(container_path, SLUICE_CONTAINER_READ, bindings, -ELOOP, "checksums of subfile 0");
    CHECK(!unlink(first) && !link(second, first));
    refused(container_path, SLUICE_CONTAINER_READ, bindings, SLUICE_E_FORMAT, "1.0.sum");
    CHECK(!unlink(first) && !mkfifo(first, 0666));
    refused(container_path, SLUICE_CONTAINER_READ, bindings, -EINVAL, "not a regular file");
    CHECK(!unlink(first) && !rename(kept, first) && !truncate(second, 130));
    refused(container_path, SLUICE_CONTAINER_READ, bindings, SLUICE_E_FORMAT, "truncated");
    CHECK(!truncate(second, 136)); /* the sum of zeros */
    if (!open_at(&c, SLUICE_CONTAINER_READ)) {
        CHECK(!sluice_store_read(c->member[0], 5, &byte, 1, &why), "%s", why.text);
        CHECK(sluice_store_read(c->member[1], 5, &byte, 1, &why) == SLUICE_E_CHECKSUM);
        CHECK(strstr(why.text, "block 0, bytes 0 to 97, of subfile 1 on target fast"), "%s", why.text);
    }
    CHECK(!sluice_container_close(c) && !sluice_container_delete(container_path, bindings, &why), "%s", why.text);
    sluice_manifest_free(m);
}

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    if (f) fputs(text, f), fclose(f);
}

static void locks(void) {
    sluice_manifest *m = manifest("block:2", NULL, NULL);
    sluice_container *c = NULL;
    sluice_reason why;
    const char *path = container_path;
    CHECK(!sluice_container_create(path, m, NULL, &why), "%s", why.text);
    const pid_t child = fork();
    if (child == 0) _exit(sluice_container_open(&c, path, SLUICE_CONTAINER_WRITE, NULL, NULL) != 0);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0, "a child writes, and ends without closing");
    refused(path, SLUICE_CONTAINER_WRITE, NULL, -EOWNERDEAD, "is gone; remove lock in it to write");
    CHECK(!open_at(&c, SLUICE_CONTAINER_READ) && !sluice_container_close(c), "readers do not care");
    CHECK(!open_at(&c, SLUICE_CONTAINER_PEER) && !sluice_container_close(c), "nor do peers");
    static const struct {
        const char *text;
        int error;
        const char *message;
    } lock[] = {
        {"", -EBUSY, "its lock is damaged"},
        {"\n\n\n", -EBUSY, "its lock is damaged"},
        {"\xff\xfe\x01 1 2", -EBUSY, "its lock is damaged"},
        {"elsewhere 1 2 2026-01-01T00:00:00Z\n", -EBUSY, "by process 1 on elsewhere since 2026-01-01T00:00:00Z"},
        {"elsewhere 99999999999999999999 -5 x", -EBUSY, "on elsewhere"}};
    for (size_t i = 0; i < sizeof lock / sizeof *lock; i++) {
        FILE *f = fopen(inside("a.sluice/lock"), "w");
        fputs(lock[i].text, f);
        fclose(f);
        refused(path, SLUICE_CONTAINER_WRITE, NULL, lock[i].error, lock[i].message);
    }
    /* Only where process numbers mean the same can a writer be known to be gone. */
    char boot[64] = "?", host[65] = "", text[300];
    struct stat st = {0};
    FILE *id = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (id && !fgets(boot, sizeof boot, id)) strcpy(boot, "?");
    if (id) fclose(id);
    boot[strcspn(boot, "\n")] = 0;
    gethostname(host, sizeof host - 1);
    const bool sure = !stat("/proc/self/ns/pid", &st) && boot[0] != '?';
    const struct {
        const char *host, *boot;
        long long space;
        int error;
        const char *message;
    } line[] = {{host, boot, (long long)st.st_ino, -EOWNERDEAD, "is gone; remove lock"},
                {"renamed", boot, (long long)st.st_ino, -EOWNERDEAD, "is gone; remove lock"},
                {host, boot, (long long)st.st_ino + 1, -EBUSY, "namespace cannot be seen here"},
                {host, "00000000-0000-0000-0000-000000000000", (long long)st.st_ino, -EBUSY, "last boot"},
                {"elsewhere", "00000000-0000-0000-0000-000000000000", 1, -EBUSY, "cannot be seen here"},
                {host, "?", 0, -EBUSY, "cannot be seen here"}};
    for (size_t i = 0; i < sizeof line / sizeof *line && sure; i++) {
        snprintf(text, sizeof text, "%s %d 1 2026-01-01T00:00:00Z %s %lld\n", line[i].host, (int)child, line[i].boot,
                 line[i].space);
        write_text(inside("a.sluice/lock"), text);
        refused(path, SLUICE_CONTAINER_WRITE, NULL, line[i].error, line[i].message);
    }
    unlink(inside("a.sluice/lock"));
    mkfifo(inside("a.sluice/lock"), 0666);
    refused(path, SLUICE_CONTAINER_WRITE, NULL, -EBUSY, "its lock is damaged");
    unlink(inside("a.sluice/lock"));
    /* Someone took the lock away by hand, and another writer came. */
    CHECK(!open_at(&c, SLUICE_CONTAINER_WRITE));
    FILE *f = fopen(inside("a.sluice/lock"), "w");
    fputs(lock[3].text, f);
    fclose(f);
    CHECK(sluice_container_close(c) == -ESTALE && !access(inside("a.sluice/lock"), F_OK), "the lock of another stays");
    unlink(inside("a.sluice/lock"));
    CHECK(!sluice_container_delete(path, NULL, &why), "%s", why.text);
    sluice_manifest_free(m);
}

/* What lies in the folder is not what Sluice put there. */
static void odd(void) {
    sluice_manifest *m = manifest("block:2", ".,fast", NULL);
    sluice_container *c = NULL;
    sluice_reason why;
    char path[400], sub[420], other[500], held[420];
    snprintf(path, sizeof path, "%s", inside("a.sluice"));
    snprintf(sub, sizeof sub, "%s/1.0", path);
    snprintf(held, sizeof held, "%s/held", scratch);
    snprintf(other, sizeof other, "%s/%s.1.1", inside("fast"), m->uuid);
    refused(path, SLUICE_CONTAINER_READ, NULL, -ENOENT, "open ");
    write_text(path, "a file");
    refused(path, SLUICE_CONTAINER_READ, NULL, -ENOTDIR, "open ");
    CHECK(sluice_container_create(path, m, bindings, &why) == -EEXIST, "over a file: %s", why.text);
    unlink(path);
    mkdir(path, 0777);
    refused(path, SLUICE_CONTAINER_READ, NULL, -ENOENT, "not a container: there is no manifest.json in it");
    refused(path, SLUICE_CONTAINER_WRITE, NULL, -ENOENT, "not a container: there is no manifest.json in it");
    write_text(inside("a.sluice/lock"), "of someone else");
    refused(path, SLUICE_CONTAINER_WRITE, NULL, -ENOENT, "not a container");
    CHECK(entries(path) == 1, "a folder that is no container is not touched");
    unlink(inside("a.sluice/lock"));
    CHECK(sluice_container_create(path, m, bindings, &why) == -EEXIST, "over a folder: %s", why.text);
    CHECK(entries(inside("fast")) == 0, "nothing is left on a target");
    CHECK(sluice_container_delete_rest(path, bindings, &why) == 0 && entries(path) == -1, "an empty one: %s", why.text);
    mkdir(inside("folder"), 0777);
    CHECK(sluice_container_delete(inside("folder"), bindings, &why) == -ENOENT && entries(inside("folder")) == 0, "%s",
          why.text);
    rmdir(inside("folder"));
    CHECK(!sluice_container_create(path, m, bindings, &why), "%s", why.text);
    refused(path, SLUICE_CONTAINER_READ, NULL, SLUICE_E_ARGUMENT, "target fast is bound to no folder: say fast=PATH");
    refused(path, SLUICE_CONTAINER_WRITE, NULL, SLUICE_E_ARGUMENT, "target fast is bound to no folder");
    CHECK(entries(path) == 2, "a writer that was refused leaves no lock");
    refused(path, SLUICE_CONTAINER_READ, "fast=/nowhere", -ENOENT, "target fast: open /nowhere");
    refused(path, SLUICE_CONTAINER_READ, "fast=/dev/null", -ENOTDIR, "target fast: open /dev/null");

    char *const file[] = {sub, other};
    for (int i = 0; i < 2; i++) {
        char name[40];
        snprintf(name, sizeof name, "subfile %d", i);
        rename(file[i], held);
        refused(path, SLUICE_CONTAINER_READ, bindings, -ENOENT, name);
        char target[300];
        snprintf(target, sizeof target, "../held");
        CHECK(!symlink(target, file[i]));
        refused(path, SLUICE_CONTAINER_READ, bindings, -ELOOP, "is a symbolic link");
        refused(path, SLUICE_CONTAINER_WRITE, bindings, -ELOOP, "is a symbolic link");
        unlink(file[i]);
        mkfifo(file[i], 0666);
        refused(path, SLUICE_CONTAINER_READ, bindings, -EINVAL, "a pipe, not a regular file");
        refused(path, SLUICE_CONTAINER_WRITE, bindings, -EINVAL, "a pipe, not a regular file");
        unlink(file[i]);
        mkdir(file[i], 0777);
        refused(path, SLUICE_CONTAINER_READ, bindings, -EISDIR, "a directory, not a regular file");
        rmdir(file[i]);
        write_text(file[i], "short");
        refused(path, SLUICE_CONTAINER_READ, bindings, SLUICE_E_FORMAT, "truncated");
        unlink(file[i]);
        rename(held, file[i]);
    }
    snprintf(sub, sizeof sub, "%s/manifest.json", path);
    rename(sub, held);
    CHECK(!symlink("../held", sub));
    refused(path, SLUICE_CONTAINER_READ, bindings, -ELOOP, "manifest.json is a symbolic link");
    CHECK(sluice_container_delete(path, bindings, &why) == -ELOOP, "%s", why.text);
    unlink(sub);
    mkfifo(sub, 0666);
    refused(path, SLUICE_CONTAINER_READ, bindings, SLUICE_E_FORMAT, "not a regular file");
    unlink(sub);
    mkdir(sub, 0777);
    refused(path, SLUICE_CONTAINER_READ, bindings, SLUICE_E_FORMAT, "not a regular file");
    rmdir(sub);
    write_text(sub, "{}");
    refused(path, SLUICE_CONTAINER_READ, bindings, SLUICE_E_FORMAT, "\"format\" is missing");
    CHECK(!truncate(sub, (off_t)1 << 40));
    refused(path, SLUICE_CONTAINER_READ, bindings, SLUICE_E_FORMAT, "more than 16777216 bytes");
    unlink(sub);
    rename(held, sub);

    write_text(inside("a.sluice/notes"), "mine");
    CHECK(!open_at(&c, SLUICE_CONTAINER_READ) && !sluice_container_close(c), "other files do not matter");
    CHECK(sluice_container_delete(path, bindings, &why) == -ENOTEMPTY && entries(path) == 1, "%s", why.text);
    refused(path, SLUICE_CONTAINER_READ, bindings, -ENOENT, "not a container");
    remove_tree(path);
    CHECK(sluice_container_create("", m, bindings, &why) == -EINVAL, "%s", why.text);
    CHECK(sluice_container_create("..", m, bindings, &why) == -EINVAL, "%s", why.text);
    CHECK(sluice_container_create("/", m, bindings, &why) == -EINVAL, "%s", why.text);
    CHECK(sluice_container_create(inside("no/a.sluice"), m, bindings, &why) == -ENOENT, "%s", why.text);
    sluice_manifest_free(m);
}

/* Two containers with one uuid: a folder that someone has copied. Its subfiles on other targets are not its own. */
static void copied(void) {
    sluice_manifest *m = manifest("block:2", ".,fast", NULL);
    sluice_container *c = NULL;
    sluice_reason why;
    char line[1000], owner[400], path[400];
    snprintf(path, sizeof path, "%s", inside("b.sluice"));
    snprintf(line, sizeof line, "cp -r %s %s", inside("a.sluice"), path);
    snprintf(owner, sizeof owner, "%s/%s.owner", inside("fast"), m->uuid);
    CHECK(!sluice_container_create(inside("a.sluice"), m, bindings, &why), "%s", why.text);
    CHECK(!open_at(&c, SLUICE_CONTAINER_WRITE) && !visit(c->manifest, c->member, true) && !sluice_container_close(c));
    CHECK(sluice_container_create(path, m, bindings, &why) == -EPERM, "%s", why.text);
    CHECK(entries(inside("fast")) == 2 && !system(line), "the first is as it was");
    CHECK(!sluice_container_open(&c, path, SLUICE_CONTAINER_READ, bindings, &why), "%s", why.text);
    CHECK(!visit(c->manifest, c->member, false) && !sluice_container_close(c), "a copy can be read");
    refused(path, SLUICE_CONTAINER_WRITE, bindings, -EPERM, "is a copy, and its subfiles on fast belong to another");
    CHECK(entries(path) == 2, "no lock stays");
    CHECK(sluice_container_delete(path, bindings, &why) == -EPERM && strstr(why.text, "copy"), "%s", why.text);
    CHECK(entries(path) == 2 && entries(inside("fast")) == 2, "nothing is deleted");

    /* The one that was copied is renamed, and stays the owner. */
    CHECK(!rename(inside("a.sluice"), inside("z.sluice")) && !rename(path, inside("a.sluice")));
    CHECK(!sluice_container_open(&c, inside("z.sluice"), SLUICE_CONTAINER_WRITE, bindings, &why), "%s", why.text);
    CHECK(!visit(c->manifest, c->member, false) && !sluice_container_close(c), "after a rename");
    refused(inside("a.sluice"), SLUICE_CONTAINER_WRITE, bindings, -EPERM, ".owner there");
    /* Someone says that the copy is to be the owner. */
    CHECK(!unlink(owner) && !open_at(&c, SLUICE_CONTAINER_WRITE) && !sluice_container_close(c));
    refused(inside("z.sluice"), SLUICE_CONTAINER_WRITE, bindings, -EPERM, "is a copy");
    static const char *const nonsense[] = {"", "x", "1", "1 2"};
    for (int i = 0; i < 4; i++) {
        write_text(owner, nonsense[i]);
        refused(inside("a.sluice"), SLUICE_CONTAINER_WRITE, bindings, -EBADMSG, "is damaged; remove it");
    }
    CHECK(!unlink(owner) && !sluice_container_delete(inside("a.sluice"), bindings, &why), "%s", why.text);
    CHECK(entries(inside("fast")) == 0, "the owner has deleted all");
    remove_tree(inside("z.sluice"));
    sluice_manifest_free(m);
}

/* A copy whose next generation would have the names of the first one's present subfiles on a target. */
static void copied_twice(void) {
    sluice_manifest *m = manifest("block:2", ".", NULL), *next;
    sluice_container *c = NULL;
    sluice_reason why;
    char line[1000], path[400];
    snprintf(path, sizeof path, "%s", inside("b.sluice"));
    snprintf(line, sizeof line, "cp -r %s %s", inside("a.sluice"), path);
    CHECK(!sluice_container_create(inside("a.sluice"), m, bindings, &why) && !system(line), "%s", why.text);
    if (open_at(&c, SLUICE_CONTAINER_WRITE)) return;
    next = manifest("block:2", "fast", c->manifest);
    CHECK(!sluice_container_begin(c, next, &why) && !sluice_container_publish(c, next, &why), "%s", why.text);
    CHECK(!visit(c->manifest, c->member, true) && !sluice_container_close(c), "the first is on fast now");
    const int there = entries(inside("fast"));
    CHECK(!sluice_container_open(&c, path, SLUICE_CONTAINER_WRITE, bindings, &why), "%s", why.text);
    next = manifest("block:2", "fast", c->manifest);
    CHECK(sluice_container_begin(c, next, &why) == -EPERM, "%s", why.text);
    sluice_manifest_free(next);
    CHECK(!sluice_container_close(c) && entries(inside("fast")) == there, "its subfiles are still there");
    CHECK(!open_at(&c, SLUICE_CONTAINER_READ) && !visit(c->manifest, c->member, false) && !sluice_container_close(c));
    CHECK(!sluice_container_delete(inside("a.sluice"), bindings, &why), "%s", why.text);
    remove_tree(path);
    sluice_manifest_free(m);
}

/* Targets without a subfile need not be bound. */
static void unused(void) {
    sluice_manifest *m = manifest("block:2", ".,fast,nowhere", NULL), *next;
    sluice_container *c = NULL;
    sluice_reason why;
    CHECK(!sluice_container_create(container_path, m, bindings, &why), "%s", why.text);
    CHECK(!open_at(&c, SLUICE_CONTAINER_WRITE));
    next = manifest("single", "slow,nowhere", c->manifest);
    CHECK(!sluice_container_begin(c, next, &why), "%s", why.text);
    CHECK(!access(inside("a.sluice/moving"), F_OK), "the targets of both are noted");
    CHECK(!sluice_container_publish(c, next, &why), "%s", why.text);
    CHECK(entries(inside("slow")) == 2 && entries(inside("fast")) == 0 && entries(container_path) == 2, "files");
    CHECK(!sluice_container_close(c) && !sluice_container_delete(container_path, bindings, &why), "%s", why.text);
    CHECK(entries(inside("slow")) == 0, "files are left");
    sluice_manifest_free(m);
}

/* A lock that is given back just when it is looked at is no damaged one. */
static void fleeting(void) {
    sluice_reason why = {0};
    const int folder = open(scratch, O_RDONLY | O_DIRECTORY);
    CHECK(!sluice_claim_take(folder, scratch, &why), "%s", why.text);
    sluice_sys_fault(2, ENOENT); /* it is there, then not, then there again */
    CHECK(sluice_claim_take(folder, scratch, &why) == -EBUSY && strstr(why.text, "is being written by"), "%s",
          why.text);
    sluice_sys_fault(1, ENOENT);
    CHECK(sluice_claim_ask(folder, scratch, &why) == 0);
    sluice_sys_fault(0, 0);
    CHECK(!sluice_claim_drop(folder));
    close(folder);
}

static void count(void *arg, const char *target, const char *name) {
    (void)target, (void)name;
    ++*(int *)arg;
}

static void leftovers(void) {
    sluice_manifest *m = manifest("block:2", ".,fast", NULL);
    sluice_container *c = NULL;
    sluice_reason why;
    char name[100];
    int n = 0;
    CHECK(!sluice_container_create(inside("a.sluice"), m, bindings, &why), "%s", why.text);
    static const char *const left[] = {"2.0", "1.1", "1.2", "9223372036854775807.0", "manifest.json.new"},
                             *const kept[] = {"01.0", "2.x", "2", "2.0.0", "2.0~", "99999999999999999999.0", "-1.0"};
    for (int i = 0; i < 5; i++) snprintf(name, sizeof name, "a.sluice/%s", left[i]), write_text(inside(name), "x");
    for (int i = 0; i < 7; i++) snprintf(name, sizeof name, "a.sluice/%s", kept[i]), write_text(inside(name), "x");
    snprintf(name, sizeof name, "fast/%s.2.1", m->uuid), write_text(inside(name), "x");
    snprintf(name, sizeof name, "fast/%s.1.0", m->uuid), write_text(inside(name), "x");
    write_text(inside("fast/2.1"), "x");
    CHECK(!open_at(&c, SLUICE_CONTAINER_READ) && !sluice_container_clean(c, false, count, &n, &why) && n == 7, "%d", n);
    CHECK(sluice_container_clean(c, true, count, &n, &why) == -EBADF, "%s", why.text);
    CHECK(!sluice_container_close(c) && !open_at(&c, SLUICE_CONTAINER_WRITE));
    CHECK(!sluice_container_clean(c, true, NULL, NULL, &why), "%s", why.text);
    n = 0;
    CHECK(!sluice_container_clean(c, false, count, &n, &why) && n == 0, "%d are left", n);
    CHECK(!sluice_container_close(c) && entries(inside("a.sluice")) == 2 + 7 && entries(inside("fast")) == 3, "others");
    remove_tree(inside("a.sluice"));
    snprintf(name, sizeof name, "fast/%s.1.1", m->uuid);
    unlink(inside(name));
    unlink(inside("fast/2.1"));
    snprintf(name, sizeof name, "fast/%s.owner", m->uuid);
    unlink(inside(name));
    sluice_manifest_free(m);
}

static void targets(void) {
    sluice_target_path p;
    sluice_reason why;
    char config[400];
    CHECK(!sluice_target_find(&p, "b", "a=/x,b = /y z ,c=/w", &why) && !strcmp(p.text, "/y z"), "%s", why.text);
    CHECK(sluice_target_find(&p, "b", "a=/x", &why) == SLUICE_E_ARGUMENT && strstr(why.text, "SLUICE_TARGETS"), "%s",
          why.text);
    static const char *const bad[] = {"a", "=x", "a=", "a b=/x", "../a=/x", ".=/x", "b=/x,b=/y", "a=/x,,b", "\xff=/x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(sluice_target_find(&p, "b", bad[i], &why) == SLUICE_E_ARGUMENT && !strncmp(why.text, "bindings", 8),
              "%s: %s", bad[i], why.text);
    setenv("SLUICE_TARGETS", "b=/from/environment", 1);
    CHECK(!sluice_target_find(&p, "b", "a=/x", &why) && !strcmp(p.text, "/from/environment"), "%s", why.text);
    CHECK(!sluice_target_find(&p, "b", "b=/x", &why) && !strcmp(p.text, "/x"), "the option comes first");
    unsetenv("SLUICE_TARGETS");
    mkdir(inside("config"), 0777);
    mkdir(inside("config/sluice"), 0777);
    snprintf(config, sizeof config, "%s", inside("config/sluice/targets"));
    write_text(config, "# mine\n\n  b = /from/file  # fast\nc=/w");
    CHECK(!sluice_target_find(&p, "b", NULL, &why) && !strcmp(p.text, "/from/file"), "%s", why.text);
    CHECK(!sluice_target_find(&p, "c", NULL, &why) && !strcmp(p.text, "/w"), "%s", why.text);
    write_text(config, "b = relative\n");
    CHECK(sluice_target_find(&p, "b", NULL, &why) == SLUICE_E_ARGUMENT && strstr(why.text, "from / on"), "%s",
          why.text);
    write_text(config, "nonsense\n");
    CHECK(sluice_target_find(&p, "b", NULL, &why) == SLUICE_E_ARGUMENT && strstr(why.text, "NAME=PATH"), "%s",
          why.text);
    CHECK(!truncate(config, 100000));
    CHECK(sluice_target_find(&p, "b", NULL, &why) == SLUICE_E_ARGUMENT && strstr(why.text, "65536"), "%s", why.text);
    unlink(config);
    mkdir(config, 0777);
    CHECK(sluice_target_find(&p, "b", NULL, &why) == -EISDIR, "%s", why.text);
    rmdir(config);
    remove_tree(inside("config"));
}

int main(void) {
    make_scratch();
    life();
    sums_block = 512;
    life();
    sums();
    sums_block = 0;
    locks();
    odd();
    copied();
    copied_twice();
    unused();
    fleeting();
    leftovers();
    targets();
    remove_tree(scratch);
    return verdict();
}
