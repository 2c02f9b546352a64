/* container.c: a folder with an array in it, always whole.
 *
 * What there is, is what manifest.json says. So every change is made beside it and becomes true by one rename, and each
 * step is on disk before the next:
 *
 *     create    a folder under another name; subfiles; the manifest; then the folder gets its name
 *     publish   subfiles of the next generation; the next manifest, renamed over the old; then the old subfiles go
 *     delete    the manifest is renamed away; then the subfiles go, then the folder
 *
 * A crash in between leaves the container as it was or as it was to be, and perhaps files of another generation, which
 * sluice_container_clean() finds by their names.
 */
#include "file/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int refuse(sluice_reason *why, int error, const char *call, const char *path) {
    return sluice_store_refuse(why, error, call, path, -1);
}

static char *copy(const char *text) {
    char *p = sluice_mem_alloc(strlen(text) + 1, 1);
    return p ? strcpy(p, text) : NULL;
}

/* A path as the folder around it, opened, and a name in it. */
typedef struct spot {
    int around;
    char name[256];
} spot;

static int find_spot(spot *s, const char *call, const char *path, sluice_reason *why) {
    char folder[4096];
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') len--;
    size_t start = len;
    while (start > 0 && path[start - 1] != '/') start--;
    if (len - start >= sizeof s->name || start >= sizeof folder) return refuse(why, -ENAMETOOLONG, call, path);
    snprintf(s->name, sizeof s->name, "%.*s", (int)(len - start), path + start);
    if (!s->name[0] || !strcmp(s->name, ".") || !strcmp(s->name, "..") || !strcmp(s->name, "/"))
        return sluice_refuse(why, -EINVAL, -1, "%s %s: a container needs a name", call, sluice_store_label(path).text);
    snprintf(folder, sizeof folder, "%.*s", (int)start, path);
    s->around = sluice_sys_open(AT_FDCWD, start ? folder : ".", O_RDONLY | O_DIRECTORY, 0);
    return s->around < 0 ? refuse(why, s->around, call, path) : 0;
}

/* ---- Creating ---- */

/* Fills a new folder. What was made is taken away again if something fails. */
static int fill(int folder, const sluice_manifest *m, const char *path, const char *bindings, sluice_reason *why) {
    int *target = NULL;
    bool renamed = false;
    int error = sluice_folder_targets(&target, m, folder, bindings, why);
    if (error) return error;
    error = sluice_folder_make(m, target, false, why);
    if (!error && (error = sluice_folder_write(m, folder, &renamed, path, why))) {
        (void)sluice_folder_remove(m, target);
        if (renamed) (void)sluice_sys_unlink(folder, SLUICE_MANIFEST_NAME);
    }
    sluice_folder_close(target, m, folder);
    return error;
}

static void empty(int folder, const sluice_manifest *m, const char *bindings) {
    int *target = NULL;
    (void)sluice_sys_unlink(folder, SLUICE_MANIFEST_NAME);
    if (sluice_folder_targets(&target, m, folder, bindings, NULL)) return;
    (void)sluice_folder_remove(m, target);
    sluice_folder_close(target, m, folder);
}

int sluice_container_create(const char *path, const sluice_manifest *m, const char *bindings, sluice_reason *why) {
    spot s;
    char beside[64];
    int error = find_spot(&s, "create", path, why);
    if (error) return error;
    snprintf(beside, sizeof beside, ".sluice-%.32s", m->uuid);
    error = sluice_sys_mkdir(s.around, beside);
    if (error) {
        close(s.around);
        return refuse(why, error, "create", path);
    }
    const int folder = sluice_sys_open(s.around, beside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (folder < 0)
        error = refuse(why, folder, "create", path);
    else if (!(error = fill(folder, m, path, bindings, why)) &&
             (error = sluice_sys_rename_new(s.around, beside, s.name))) {
        refuse(why, error, "create", path);
        empty(folder, m, bindings);
    }
    if (error)
        (void)sluice_sys_rmdir(s.around, beside);
    else if ((error = sluice_sys_sync(s.around))) /* it is there, but may not survive a crash */
        refuse(why, error, "sync the folder of", path);
    if (folder >= 0) close(folder);
    close(s.around);
    return error;
}

/* ---- Opening ---- */

static sluice_store_mode store_mode(const sluice_container *c) {
    return c->mode == SLUICE_CONTAINER_READ ? SLUICE_STORE_READ : SLUICE_STORE_WRITE;
}

/* The manifest and its subfiles. A reader may come between a new manifest and the removal of the old subfiles, and then
 * finds these gone. */
static int read_all(sluice_container *c, sluice_reason *why) {
    enum { TRIES = 10 };
    int64_t before = 0;
    for (int i = 0; i < TRIES; i++) {
        sluice_manifest *m = NULL;
        int error = sluice_folder_read(&m, c->folder, SLUICE_MANIFEST_NAME, c->path, why);
        if (error) return error;
        const int64_t generation = m->generation;
        error = sluice_container_members(&c->member, c, m, why);
        if (!error) {
            c->manifest = m;
            return 0;
        }
        sluice_manifest_free(m);
        if (error != -ENOENT || generation == before) return error;
        before = generation;
    }
    return sluice_refuse(why, -EAGAIN, -1, "open %s: it changes too often", sluice_store_label(c->path).text);
}

/* Not even a lock is put into a folder that is no container. `deleted`: one that is half removed will do. */
static int find_manifest(int folder, const char *call, const char *path, bool deleted, sluice_reason *why) {
    int fd = sluice_sys_open(folder, SLUICE_MANIFEST_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd == -ENOENT && deleted)
        fd = sluice_sys_open(folder, SLUICE_DELETED_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd >= 0) close(fd);
    if (fd != -ENOENT) return fd < 0 ? refuse(why, fd, call, path) : 0;
    return sluice_refuse(why, fd, -1, "%s %s: not a container: there is no %s in it", call,
                         sluice_store_label(path).text, SLUICE_MANIFEST_NAME);
}

int sluice_container_open(sluice_container **out, const char *path, sluice_container_mode mode, const char *bindings,
                          sluice_reason *why) {
    return sluice_container_open_by(out, path, mode, bindings, sluice_store_open_at, why);
}

int sluice_container_open_by(sluice_container **out, const char *path, sluice_container_mode mode, const char *bindings,
                             sluice_store_opener *open, sluice_reason *why) {
    sluice_container *c = sluice_mem_alloc(1, sizeof *c);
    if (!c) return refuse(why, -ENOMEM, "open", path);
    *c = (sluice_container){.folder = -1, .mode = mode, .open = open};
    c->path = copy(path);
    c->bindings = copy(bindings ? bindings : "");
    int error = c->path && c->bindings ? 0 : refuse(why, -ENOMEM, "open", path);
    if (!error) {
        c->folder = sluice_sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        if (c->folder < 0) error = refuse(why, c->folder, "open", path);
    }
    if (!error && mode == SLUICE_CONTAINER_WRITE) {
        error = find_manifest(c->folder, "open", path, false, why);
        if (!error) error = sluice_claim_take(c->folder, path, why);
        if (!error) c->owner = getpid();
    }
    if (!error) error = read_all(c, why);
    if (error)
        (void)sluice_container_close(c);
    else
        *out = c;
    return error;
}

int sluice_container_members(sluice_store ***out, const sluice_container *c, const sluice_manifest *m,
                             sluice_reason *why) {
    int *target = NULL;
    int error = sluice_folder_targets(&target, m, c->folder, c->bindings, why);
    if (error) return error;
    error = sluice_folder_members(out, m, &(sluice_folder_how){target, store_mode(c), c->open, c->path}, why);
    sluice_folder_close(target, m, c->folder);
    return error;
}

int sluice_container_close(sluice_container *c) {
    if (!c) return 0;
    int error = sluice_folder_release(c->member, c->member ? c->manifest->layout->n : 0);
    if (c->owner && c->owner == getpid()) { /* a child that came with a copy has no lock */
        const int r = sluice_claim_ours(c->folder) ? sluice_claim_drop(c->folder) : -ESTALE;
        if (!error) error = r;
    }
    if (c->folder >= 0) close(c->folder);
    sluice_manifest_free(c->manifest);
    sluice_mem_free(c->path);
    sluice_mem_free(c->bindings);
    sluice_mem_free(c);
    return error;
}

/* ---- The next generation ---- */

static int need_lock(const sluice_container *c, sluice_reason *why) {
    if (c->owner == getpid()) return 0;
    return sluice_refuse(why, -EBADF, -1, "%s: not opened for writing by this process",
                         sluice_store_label(c->path).text);
}

int sluice_container_begin(sluice_container *c, const sluice_manifest *next, sluice_reason *why) {
    int *target = NULL, error = need_lock(c, why);
    if (error) return error;
    if (strcmp(next->uuid, c->manifest->uuid) != 0 || next->generation <= c->manifest->generation)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%s: not its next generation",
                             sluice_store_label(c->path).text);
    if ((error = sluice_folder_targets(&target, next, c->folder, c->bindings, why))) return error;
    error = sluice_folder_make(next, target, true, why);
    sluice_folder_close(target, next, c->folder);
    return error;
}

void sluice_container_abandon(sluice_container *c, const sluice_manifest *next) {
    int *target = NULL;
    if (need_lock(c, NULL) || sluice_folder_targets(&target, next, c->folder, c->bindings, NULL)) return;
    (void)sluice_folder_remove(next, target);
    sluice_folder_close(target, next, c->folder);
}

int sluice_container_publish(sluice_container *c, sluice_manifest *next, sluice_reason *why) {
    sluice_manifest *const before = c->manifest;
    sluice_store **member = NULL, **const old = c->member;
    int *target = NULL;
    bool renamed = false;
    int error = need_lock(c, why);
    if (!error) error = sluice_folder_targets(&target, before, c->folder, c->bindings, why);
    if (!error) error = sluice_container_members(&member, c, next, why);
    if (!error) error = sluice_folder_write(next, c->folder, &renamed, c->path, why);
    if (renamed) {
        c->manifest = next;
        c->member = member;
        (void)sluice_folder_release(old, old ? before->layout->n : 0);
        if (!error) (void)sluice_folder_remove(before, target); /* else a crash might bring the old manifest back */
    } else {
        (void)sluice_folder_release(member, member ? next->layout->n : 0);
    }
    sluice_folder_close(target, before, c->folder);
    if (renamed) sluice_manifest_free(before);
    return error;
}

int sluice_container_clean(sluice_container *c, bool remove, sluice_leftover *each, void *arg, sluice_reason *why) {
    int *target = NULL, error = remove ? need_lock(c, why) : 0;
    if (!error) error = sluice_folder_targets(&target, c->manifest, c->folder, c->bindings, why);
    if (error) return error;
    error = sluice_folder_leftovers(c->manifest, target, c->folder, remove, each, arg, why);
    sluice_folder_close(target, c->manifest, c->folder);
    return error;
}

/* ---- Deleting ---- */

/* With the lock held. The lock itself goes last but one. */
static int remove_all(const spot *s, int folder, const char *path, const char *bindings, sluice_reason *why) {
    sluice_manifest *m = NULL;
    int *target = NULL;
    bool begun = false;
    int error = sluice_folder_read(&m, folder, SLUICE_MANIFEST_NAME, path, why);
    if (error == -ENOENT && !sluice_folder_read(&m, folder, SLUICE_DELETED_NAME, path, NULL)) begun = true, error = 0;
    if (!error) error = sluice_folder_targets(&target, m, folder, bindings, why);
    if (error) {
        sluice_manifest_free(m);
        (void)sluice_claim_drop(folder);
        return error;
    }
    if (!begun) error = sluice_sys_rename(folder, SLUICE_MANIFEST_NAME, SLUICE_DELETED_NAME);
    if (!error) error = sluice_sys_sync(folder);
    if (!error) error = sluice_folder_remove(m, target);
    if (!error) error = sluice_folder_leftovers(m, target, folder, true, NULL, NULL, NULL);
    for (int t = 0; t < m->ntargets && !error; t++) error = sluice_sys_sync(target[t]);
    if (!error) error = sluice_sys_unlink(folder, SLUICE_DELETED_NAME);
    const int dropped = sluice_claim_drop(folder);
    if (!error) error = dropped;
    if (!error) error = sluice_sys_rmdir(s->around, s->name);
    if (!error) error = sluice_sys_sync(s->around);
    if (error == -ENOTEMPTY)
        sluice_refuse(why, error, -1, "delete %s: the array is gone, but there are other files in its folder",
                      sluice_store_label(path).text);
    else if (error)
        refuse(why, error, "delete", path);
    sluice_folder_close(target, m, folder);
    sluice_manifest_free(m);
    return error;
}

int sluice_container_delete(const char *path, const char *bindings, sluice_reason *why) {
    spot s;
    int error = find_spot(&s, "delete", path, why);
    if (error) return error;
    const int folder = sluice_sys_open(s.around, s.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    error = folder < 0 ? refuse(why, folder, "delete", path) : find_manifest(folder, "delete", path, true, why);
    if (!error && !(error = sluice_claim_take(folder, path, why))) error = remove_all(&s, folder, path, bindings, why);
    if (folder >= 0) close(folder);
    close(s.around);
    return error;
}
