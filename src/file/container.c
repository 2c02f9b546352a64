/* container.c: a folder with an array in it, always whole.
 *
 * What there is, is what manifest.json says. So every change is made beside it and becomes true by one rename, and each
 * step is on disk before the next:
 *
 *     create    a folder under another name; subfiles; the manifest; then the folder gets its name
 *     publish   the targets are noted; subfiles of the next generation; the next manifest, renamed over the old; then
 *               the old subfiles go
 *     delete    the manifest is renamed away; then the subfiles go, then the folder
 *
 * A crash in between leaves the container as it was or as it was to be, and perhaps files of another generation, which
 * sluice_container_clean() finds by their names.
 */
#include "file/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(sluice_reason *why, int error, const char *call, const char *path) {
    return sluice_store_refuse(why, error, call, path, -1);
}

static char *copy(const char *text) {
    char *p = sluice_mem_alloc(strlen(text) + 1, 1);
    return p ? strcpy(p, text) : NULL;
}

/* A container that is being made is a folder beside its place, with its uuid behind this. */
#define MAKING ".sluice-"

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

/* Gives up the targets that have no subfiles any more: all of m's, but not those of `others`. */
static int drop_owners(const sluice_manifest *m, const int *target, int own, const sluice_manifest *others) {
    int error = 0;
    for (int t = 0; t < m->ntargets; t++) {
        bool needed = target[t] < 0 || target[t] == own;
        for (int i = 0; others && i < others->layout->n && !needed; i++)
            needed = !strcmp(others->target[others->place[i]].text, m->target[t].text);
        const int r = needed ? 0 : sluice_owner_drop(m, target[t], own);
        if (!error) error = r;
    }
    return error;
}

/* ---- Creating ---- */

/* The manifest gets its name: from now on it is one of an array. */
static int name_manifest(int folder, const char *path, sluice_reason *why) {
    int error = sluice_sys_rename(folder, SLUICE_DELETED_NAME, SLUICE_MANIFEST_NAME);
    if (error) return refuse(why, error, "write the manifest of", path);
    error = sluice_sys_sync(folder);
    if (!error) return 0;
    (void)sluice_sys_unlink(folder, SLUICE_MANIFEST_NAME);
    return refuse(why, error, "sync the manifest of", path);
}

/* Fills a new folder. What was made is taken away again if something fails. If that cannot be done, after a kill, it is
 * a container that is half deleted, for the manifest says from the start where its files are. */
static int fill(int folder, const sluice_manifest *m, const char *path, const char *bindings, sluice_some some,
                sluice_reason *why) {
    int *target = NULL;
    bool noted = false;
    int error = sluice_folder_some(&target, m, folder, bindings, some, why);
    if (error) return error;
    error = sluice_folder_write(m, folder, SLUICE_DELETED_NAME, &noted, path, why);
    if (!error) error = sluice_owner_claim(m, target, folder, path, why);
    if (!error) error = sluice_folder_make(m, target, false, why);
    if (!error && (error = name_manifest(folder, path, why))) (void)sluice_folder_remove(m, target);
    if (error) (void)drop_owners(m, target, folder, NULL);
    if (error && noted) (void)sluice_sys_unlink(folder, SLUICE_DELETED_NAME);
    sluice_folder_close(target, m, folder);
    return error;
}

static void empty(int folder, const sluice_manifest *m, const char *bindings, sluice_some some) {
    int *target = NULL;
    (void)sluice_sys_unlink(folder, SLUICE_MANIFEST_NAME);
    if (sluice_folder_some(&target, m, folder, bindings, some, NULL)) return;
    (void)sluice_folder_remove(m, target);
    (void)drop_owners(m, target, folder, NULL);
    sluice_folder_close(target, m, folder);
}

int sluice_container_create(const char *path, const sluice_manifest *m, const char *bindings, sluice_reason *why) {
    return sluice_container_create_some(path, m, bindings, SLUICE_ALL_OF_THEM, why);
}

int sluice_container_create_some(const char *path, const sluice_manifest *m, const char *bindings, sluice_some some,
                                 sluice_reason *why) {
    spot s;
    char beside[64];
    struct stat st;
    int error = find_spot(&s, "create", path, why);
    if (error) return error;
    snprintf(beside, sizeof beside, MAKING "%.32s", m->uuid);
    error = fstatat(s.around, s.name, &st, AT_SYMLINK_NOFOLLOW) ? sluice_sys_mkdir(s.around, beside) : -EEXIST;
    if (error) {
        close(s.around);
        return refuse(why, error, "create", path);
    }
    const int folder = sluice_sys_open(s.around, beside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (folder < 0)
        error = refuse(why, folder, "create", path);
    else if (!(error = fill(folder, m, path, bindings, some, why)) &&
             (error = sluice_sys_rename_new(s.around, beside, s.name))) {
        refuse(why, error, "create", path);
        empty(folder, m, bindings, some);
    }
    if (error) {
        (void)sluice_sys_rmdir(s.around, beside);
    } else if ((error = sluice_sys_sync(s.around))) { /* it is there, but might not survive a crash */
        refuse(why, error, "sync the folder of", path);
        empty(folder, m, bindings, some);
        (void)sluice_sys_rmdir(s.around, s.name);
    }
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

/* Not even a lock is put into a folder that is no container. */
static int find_manifest(int folder, const char *call, const char *path, const char *name, sluice_reason *why) {
    const int fd = sluice_sys_open(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd >= 0) close(fd);
    if (fd != -ENOENT) return fd < 0 ? refuse(why, fd, call, path) : 0;
    return sluice_refuse(why, fd, -1, "%s %s: not a container: there is no %s in it", call,
                         sluice_store_label(path).text, name);
}

int sluice_container_open(sluice_container **out, const char *path, sluice_container_mode mode, const char *bindings,
                          sluice_reason *why) {
    return sluice_container_open_by(out, path, mode, bindings, sluice_store_open_at, why);
}

int sluice_container_open_by(sluice_container **out, const char *path, sluice_container_mode mode, const char *bindings,
                             sluice_store_opener *open, sluice_reason *why) {
    const sluice_container_how how = {mode, bindings, open, SLUICE_ALL_OF_THEM, NULL, true};
    return sluice_container_open_some(out, path, &how, why);
}

/* The folder, and with it the lock. */
static int open_folder(sluice_container *c, sluice_reason *why) {
    c->folder = sluice_sys_open(AT_FDCWD, c->path, O_RDONLY | O_DIRECTORY, 0);
    if (c->folder < 0) return refuse(why, c->folder, "open", c->path);
    if (c->mode != SLUICE_CONTAINER_WRITE) return 0;
    int error = find_manifest(c->folder, "open", c->path, SLUICE_MANIFEST_NAME, why);
    if (!error) error = sluice_claim_take(c->folder, c->path, why);
    if (!error) c->owner = getpid();
    return error;
}

/* Copies that may differ, since who wrote them was killed, or has not come to an end. */
static int look_at_copies(sluice_container *c, sluice_reason *why) {
    const sluice_placed *p = c->manifest->layout->placed;
    if (!p || !p->copies || c->some.every > 1) return 0; /* servers have none, see array/serving.c */
    int error = sluice_mark_ask(c->folder, c->manifest, &c->differ);
    if (error) return refuse(why, error, "look at the copies in", c->path);
    if (!c->differ || c->mode != SLUICE_CONTAINER_WRITE) return 0;
    error = sluice_mark_heal(c->folder, c->manifest, c->member, why);
    c->differ = error != 0;
    return error;
}

int sluice_container_open_some(sluice_container **out, const char *path, const sluice_container_how *how,
                               sluice_reason *why) {
    sluice_container *c = sluice_mem_alloc(1, sizeof *c);
    if (!c) return refuse(why, -ENOMEM, "open", path);
    *c = (sluice_container){.folder = -1, .mode = how->mode, .open = how->open, .some = how->some};
    c->path = copy(path);
    c->bindings = copy(how->bindings ? how->bindings : "");
    int error = c->path && c->bindings ? 0 : refuse(why, -ENOMEM, "open", path);
    if (!error && (!how->known || how->needed)) error = open_folder(c, why);
    if (!error) error = how->known ? sluice_container_members(&c->member, c, how->known, why) : read_all(c, why);
    for (int i = 0; !error && !how->known && how->mode == SLUICE_CONTAINER_WRITE && i < c->manifest->layout->n; i++)
        error = sluice_sums_recover(c->member[i], why);
    if (!error && !how->known) error = look_at_copies(c, why);
    if (error) {
        (void)sluice_container_close(c);
        return error;
    }
    if (how->known) c->manifest = how->known;
    *out = c;
    return 0;
}

int sluice_container_members(sluice_store ***out, const sluice_container *c, const sluice_manifest *m,
                             sluice_reason *why) {
    int *target = NULL;
    int error = sluice_folder_some(&target, m, c->folder, c->bindings, c->some, why);
    if (error) return error;
    if (c->mode == SLUICE_CONTAINER_WRITE && c->folder >= 0) /* a server may not see the folder */
        error = sluice_owner_claim(m, target, c->folder, c->path, why);
    if (!error)
        error = sluice_folder_members(out, m, &(sluice_folder_how){target, store_mode(c), c->open, c->path}, why);
    sluice_folder_close(target, m, c->folder);
    return error;
}

int sluice_container_close(sluice_container *c) {
    if (!c) return 0;
    const int n = c->member ? c->manifest->layout->n : 0;
    int error = 0;
    for (int i = 0; i < n && c->owner && c->owner == getpid(); i++) {
        const int r = sluice_sums_seal(c->member[i], false, NULL);
        if (!error) error = r;
    }
    const int released = sluice_folder_release(c->member, n);
    if (!error) error = released;
    if (c->owner && c->owner == getpid() && c->manifest && c->manifest->layout->placed) {
        const int r = sluice_mark_rest(c->folder, c->manifest);
        if (!error) error = r;
    }
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

/* Takes away the note and what is said of owners on the way to `next`; what cannot be removed keeps the note. */
static void unmake(sluice_container *c, const sluice_manifest *next, const int *target) {
    int error = drop_owners(next, target, c->folder, c->manifest);
    for (int t = 0; t < next->ntargets && !error; t++)
        if (target[t] >= 0) error = sluice_sys_sync(target[t]);
    if (!error) (void)sluice_moving_end(c->folder);
}

int sluice_container_begin(sluice_container *c, const sluice_manifest *next, sluice_reason *why) {
    int *target = NULL, error = need_lock(c, why);
    if (error) return error;
    if (strcmp(next->uuid, c->manifest->uuid) != 0 || next->generation <= c->manifest->generation)
        return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "%s: not its next generation",
                             sluice_store_label(c->path).text);
    if ((error = sluice_folder_targets(&target, next, c->folder, c->bindings, why))) return error;
    error = sluice_moving_start(c->folder, c->manifest, next, c->path, why);
    if (!error && ((error = sluice_owner_claim(next, target, c->folder, c->path, why)) ||
                   (error = sluice_folder_make(next, target, true, why))))
        unmake(c, next, target); /* no files: those of these names may be another container's */
    sluice_folder_close(target, next, c->folder);
    return error;
}

void sluice_container_abandon(sluice_container *c, const sluice_manifest *next) {
    int *target = NULL;
    if (need_lock(c, NULL) || sluice_folder_targets(&target, next, c->folder, c->bindings, NULL)) return;
    if (!sluice_folder_remove(next, target)) unmake(c, next, target);
    sluice_folder_close(target, next, c->folder);
}

/* The subfiles of the generation before, and what belongs to them; whatever stays is found by its name. */
static void remove_before(sluice_container *c, const sluice_manifest *before, const sluice_manifest *next,
                          const int *target) {
    int error = sluice_folder_remove(before, target);
    if (!error) error = sluice_mark_remove(c->folder, before);
    if (!error) error = drop_owners(before, target, c->folder, next);
    for (int t = 0; t < before->ntargets && !error; t++)
        if (target[t] >= 0) error = sluice_sys_sync(target[t]);
    if (!error) (void)sluice_moving_end(c->folder);
}

int sluice_container_switch(sluice_container *c, const sluice_manifest *next, bool *done, sluice_reason *why) {
    int *target = NULL, error = need_lock(c, why);
    *done = false;
    if (!error) error = sluice_folder_targets(&target, c->manifest, c->folder, c->bindings, why);
    if (error) return error;
    error = sluice_folder_write(next, c->folder, SLUICE_MANIFEST_NAME, done, c->path, why);
    if (!error) remove_before(c, c->manifest, next, target); /* else a crash might bring the old manifest back */
    sluice_folder_close(target, c->manifest, c->folder);
    return error;
}

int sluice_container_publish(sluice_container *c, sluice_manifest *next, sluice_reason *why) {
    sluice_manifest *const before = c->manifest;
    sluice_store **member = NULL;
    bool done = false;
    int error = need_lock(c, why);
    if (!error) error = sluice_container_members(&member, c, next, why);
    for (int i = 0; !error && i < next->layout->n; i++) error = sluice_sums_seal(member[i], false, why);
    if (!error) error = sluice_container_switch(c, next, &done, why);
    sluice_manifest *const gone = done ? before : next;
    sluice_store **const unused = done ? c->member : member;
    (void)sluice_folder_release(unused, unused ? gone->layout->n : 0);
    if (!done) return error;
    c->manifest = next;
    c->member = member;
    sluice_manifest_free(before);
    return error;
}

int sluice_container_next(sluice_container **out, const sluice_container *c, sluice_manifest *next,
                          sluice_reason *why) {
    sluice_container *n = sluice_mem_alloc(1, sizeof *n);
    if (!n) return refuse(why, -ENOMEM, "open", c->path);
    *n = (sluice_container){.mode = SLUICE_CONTAINER_PEER, .open = c->open, .some = c->some};
    n->path = copy(c->path);
    n->bindings = copy(c->bindings);
    n->folder = fcntl(c->folder, F_DUPFD_CLOEXEC, 0);
    int error = n->folder < 0 ? -errno : n->path && n->bindings ? 0 : -ENOMEM;
    error = error ? refuse(why, error, "open", c->path) : sluice_container_members(&n->member, n, next, why);
    if (error) {
        (void)sluice_container_close(n);
    } else {
        n->manifest = next;
        *out = n;
    }
    return error;
}

int sluice_container_clean(sluice_container *c, bool remove, sluice_leftover *each, void *arg, sluice_reason *why) {
    int *target = NULL, error = remove ? need_lock(c, why) : 0;
    if (!error) error = sluice_folder_targets(&target, c->manifest, c->folder, c->bindings, why);
    if (error) return error;
    error =
        sluice_leftovers(&(sluice_sweep){c->manifest, target, c->folder, c->path, c->bindings, remove, each, arg}, why);
    sluice_folder_close(target, c->manifest, c->folder);
    return error;
}

/* ---- Deleting ---- */

/* What is left to remove. */
typedef enum remains { WHOLE, HALF, SHELL } remains; /* HALF: without a manifest; SHELL: nothing but the folder */

/* Whether there is nothing in a folder, or nothing but a lock and what was to be a manifest: what is left of a
 * container when its removal stops just before the end, or its making just after the start. Folders of other names are
 * not ours to remove. */
static bool is_shell(int folder, const char *name) {
    const size_t len = strlen(name), end = sizeof SLUICE_SUFFIX - 1, start = sizeof MAKING - 1;
    const bool making = len == start + 32 && !strncmp(name, MAKING, start);
    bool other = false;
    if (!making && (len <= end || strcmp(name + len - end, SLUICE_SUFFIX) != 0)) return false;
    const int again = sluice_sys_open(folder, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *d = again < 0 ? NULL : fdopendir(again);
    if (!d) {
        if (again >= 0) close(again);
        return false;
    }
    for (const struct dirent *e; (e = readdir(d));)
        other |= strcmp(e->d_name, SLUICE_CLAIM_NAME) != 0 && strcmp(e->d_name, ".") != 0 &&
                 strcmp(e->d_name, "..") != 0 && !(making && !strcmp(e->d_name, SLUICE_NEXT_NAME));
    closedir(d);
    return !other;
}

static int find_remains(remains *what, const spot *s, int folder, const char *path, sluice_reason *why) {
    int error = find_manifest(folder, "delete", path, SLUICE_MANIFEST_NAME, why);
    *what = WHOLE;
    if (error != -ENOENT) return error;
    sluice_reason half;
    *what = HALF;
    error = find_manifest(folder, "delete", path, SLUICE_DELETED_NAME, &half);
    if (error != -ENOENT) return error ? sluice_refuse(why, error, -1, "%s", half.text) : 0;
    *what = SHELL;
    return is_shell(folder, s->name) ? 0 : error;
}

/* The lock; that of who was killed while it removed the container has nothing to protect any more. */
static int lock_remains(remains what, int folder, const char *path, sluice_reason *why) {
    int error = sluice_claim_take(folder, path, why);
    if (error != -EOWNERDEAD || what == WHOLE) return error;
    error = sluice_claim_drop(folder);
    return error && error != -ENOENT ? refuse(why, error, "unlock", path) : sluice_claim_take(folder, path, why);
}

/* Subfiles, and all else that has a name of the container's. The manifest goes first. */
static int remove_files(const sluice_manifest *m, bool whole, int folder, const int *target, const char *path,
                        const char *bindings, sluice_reason *why) {
    const sluice_sweep rest = {.m = m, .fd = target, .own = folder, .path = path, .bindings = bindings, .remove = true};
    int error = whole ? sluice_sys_rename(folder, SLUICE_MANIFEST_NAME, SLUICE_DELETED_NAME) : 0;
    if (!error) error = sluice_sys_sync(folder);
    if (!error) error = sluice_folder_remove(m, target);
    if (!error) error = sluice_mark_remove(folder, m);
    if (error) return refuse(why, error, "delete", path);
    if ((error = sluice_leftovers(&rest, why))) return error;
    error = drop_owners(m, target, folder, NULL);
    for (int t = 0; t < m->ntargets && !error; t++)
        if (target[t] >= 0) error = sluice_sys_sync(target[t]);
    if (!error) error = sluice_sys_unlink(folder, SLUICE_DELETED_NAME);
    return error ? refuse(why, error, "delete", path) : 0;
}

/* With the lock held; what has a manifest. Nothing happens to the container of a copy, or if a target is not there. */
static int remove_array(remains what, int folder, const char *path, const char *bindings, sluice_some some,
                        sluice_reason *why) {
    const char *name = what == WHOLE ? SLUICE_MANIFEST_NAME : SLUICE_DELETED_NAME;
    sluice_manifest *m = NULL;
    int *target = NULL, error = sluice_folder_read(&m, folder, name, path, why);
    if (!error) error = sluice_folder_some(&target, m, folder, bindings, some, why);
    for (int t = 0; m && t < m->ntargets && !error; t++)
        if (target[t] >= 0 && target[t] != folder) {
            error = sluice_owner_check(m, target[t], m->target[t].text, folder, path, why);
            if (error > 0) error = 0;
        }
    if (!error) error = remove_files(m, what == WHOLE, folder, target, path, bindings, why);
    if (m) sluice_folder_close(target, m, folder);
    sluice_manifest_free(m);
    return error;
}

/* The lock goes last but one. */
static int remove_folder(const spot *s, int folder, const char *path, sluice_reason *why) {
    int error = sluice_sys_unlink(folder, SLUICE_NEXT_NAME);
    if (!error || error == -ENOENT) error = sluice_claim_drop(folder);
    if (!error) error = sluice_sys_rmdir(s->around, s->name);
    if (!error) error = sluice_sys_sync(s->around);
    if (error == -ENOTEMPTY)
        return sluice_refuse(why, error, -1, "delete %s: the array is gone, but there are other files in its folder",
                             sluice_store_label(path).text);
    return error ? refuse(why, error, "delete", path) : 0;
}

/* whole: also what is no remains. */
static int delete (const char *path, const char *bindings, sluice_some some, bool whole, sluice_reason *why) {
    spot s;
    remains what = WHOLE;
    int error = find_spot(&s, "delete", path, why);
    if (error) return error;
    const int folder = sluice_sys_open(s.around, s.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    error = folder < 0 ? refuse(why, folder, "delete", path) : find_remains(&what, &s, folder, path, why);
    if (!error && what == WHOLE && !whole) error = refuse(why, -EEXIST, "delete the rest of", path);
    if (!error && !(error = lock_remains(what, folder, path, why))) {
        if (what != SHELL) error = remove_array(what, folder, path, bindings, some, why);
        if (error)
            (void)sluice_claim_drop(folder);
        else
            error = remove_folder(&s, folder, path, why);
    }
    if (folder >= 0) close(folder);
    close(s.around);
    return error;
}

int sluice_container_delete(const char *path, const char *bindings, sluice_reason *why) {
    return sluice_container_delete_some(path, bindings, SLUICE_ALL_OF_THEM, why);
}

int sluice_container_delete_some(const char *path, const char *bindings, sluice_some some, sluice_reason *why) {
    return delete (path, bindings, some, true, why);
}

int sluice_container_delete_rest(const char *path, const char *bindings, sluice_reason *why) {
    return delete (path, bindings, SLUICE_ALL_OF_THEM, false, why);
}
