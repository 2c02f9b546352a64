/* folder.c: the files of a container in their folders: subfiles, the manifest, and what crashes leave behind.
 *
 *     name.sluice/manifest.json           what there is
 *                 manifest.json.new       the next one, until it takes the place of the first
 *                 manifest.json.deleted   that of a container which is being deleted
 *                 1.0  1.1  1.2           subfiles: generation and number
 *                 lock                    who writes (claim.c)
 *     target/<uuid>.1.3                   a subfile on a target
 *
 * All names are in folders that are held open, so that nothing happens elsewhere if someone renames one meanwhile.
 */
#include "file/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char next[] = SLUICE_MANIFEST_NAME ".new";

/* ---- Targets ---- */

int sluice_folder_targets(int **out, const sluice_manifest *m, int own, const char *bindings, sluice_reason *why) {
    int *fd = sluice_mem_alloc((size_t)m->ntargets, sizeof *fd), n = 0, error = 0;
    if (!fd) return sluice_pass(why, -ENOMEM);
    for (; n < m->ntargets && !error; n++) {
        sluice_target_path path;
        const char *name = m->target[n].text;
        fd[n] = own;
        if (!strcmp(name, ".")) continue;
        if ((error = sluice_target_find(&path, name, bindings, why))) break;
        fd[n] = sluice_sys_open(AT_FDCWD, path.text, O_RDONLY | O_DIRECTORY, 0);
        if (fd[n] >= 0) continue;
        error = sluice_refuse(why, fd[n], -1, "target %s: open %s: %s", name, sluice_store_label(path.text).text,
                              sluice_strerror(fd[n]));
        break;
    }
    if (error) {
        sluice_manifest opened = *m;
        opened.ntargets = n;
        sluice_folder_close(fd, &opened, own);
    } else {
        *out = fd;
    }
    return error;
}

void sluice_folder_close(int *fd, const sluice_manifest *m, int own) {
    for (int i = 0; fd && i < m->ntargets; i++)
        if (fd[i] != own) close(fd[i]);
    sluice_mem_free(fd);
}

/* ---- Subfiles ---- */

static int make_subfile(int folder, const char *name, int64_t size) {
    const int fd = sluice_sys_open(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (fd < 0) return fd;
    int error = sluice_sys_resize(fd, size);
    if (!error) error = sluice_sys_sync(fd);
    close(fd);
    if (error) (void)sluice_sys_unlink(folder, name);
    return error;
}

/* Removes the first n, as far as they are there. */
static int remove_first(const sluice_manifest *m, const int *fd, int n) {
    int error = 0;
    for (int i = 0; i < n; i++) {
        const int r = sluice_sys_unlink(fd[m->place[i]], sluice_manifest_name(m, i).text);
        if (r && r != -ENOENT && !error) error = r;
    }
    return error;
}

int sluice_folder_remove(const sluice_manifest *m, const int *fd) { return remove_first(m, fd, m->layout->n); }

/* What was there before is not ours to remove: it may be another's with the same uuid, that of a copy. */
int sluice_folder_make(const sluice_manifest *m, const int *fd, bool again, sluice_reason *why) {
    int error = 0, made = 0;
    for (int i = 0; i < m->layout->n && !error; i++) {
        const sluice_subfile_name name = sluice_manifest_name(m, i);
        const int folder = fd[m->place[i]];
        if (again && (error = sluice_sys_unlink(folder, name.text)) == -ENOENT) error = 0;
        if (!error) error = make_subfile(folder, name.text, m->layout->set[i].size);
        if (error)
            sluice_store_refuse(why, error, "create", name.text, -1);
        else
            made++;
    }
    for (int t = 0; t < m->ntargets && !error; t++)
        if ((error = sluice_sys_sync(fd[t]))) sluice_store_refuse(why, error, "sync target", m->target[t].text, -1);
    if (error) (void)remove_first(m, fd, made);
    return error;
}

/* Messages call a subfile a.sluice/1.0, or, on another target, a.sluice/fast:c0ffee...1.0. */
static bool call_member(sluice_store *s, const sluice_manifest *m, int i, const sluice_label *path) {
    const char *target = m->target[m->place[i]].text;
    char text[sizeof path->text + sizeof(sluice_target_name) + sizeof(sluice_subfile_name) + 2];
    const bool own = !strcmp(target, ".");
    snprintf(text, sizeof text, "%s/%s%s%s", path->text, own ? "" : target, own ? "" : ":",
             sluice_manifest_name(m, i).text);
    return sluice_store_call(s, text);
}

static int open_member(sluice_store **out, const sluice_manifest *m, int i, const sluice_folder_how *how,
                       sluice_reason *why) {
    const sluice_subfile_name name = sluice_manifest_name(m, i);
    const int64_t need = m->layout->set[i].size;
    const sluice_label label = sluice_store_label(how->path);
    sluice_reason inner = {0};
    sluice_store *s = NULL;
    int error = how->open(&s, how->fd[m->place[i]], name.text, how->mode, &inner);
    if (error == -ELOOP)
        return sluice_refuse(why, error, -1, "open %s: subfile %d, %s, is a symbolic link", label.text, i, name.text);
    if (error == -EMFILE)
        return sluice_refuse(why, error, -1, "open %s: its %d subfiles are more than this process may open (ulimit -n)",
                             label.text, m->layout->n);
    if (error)
        return sluice_refuse(why, error, -1, "open %s: subfile %d on target %s: %.80s", label.text, i,
                             m->target[m->place[i]].text, inner.text);
    const int64_t size = sluice_store_size(s, why);
    if (size < 0) error = (int)size;
    if (!error && !call_member(s, m, i, &label)) error = sluice_store_refuse(why, -ENOMEM, "open", how->path, -1);
    if (!error && size < need)
        error = sluice_refuse(why, SLUICE_E_FORMAT, size,
                              "open %s: truncated: subfile %d, %s, has %" PRId64 " bytes instead of %" PRId64,
                              label.text, i, name.text, size, need);
    if (error)
        sluice_store_close(s);
    else
        *out = s;
    return error;
}

int sluice_folder_members(sluice_store ***out, const sluice_manifest *m, const sluice_folder_how *how,
                          sluice_reason *why) {
    const int n = m->layout->n;
    int error = 0;
    sluice_store **member = sluice_mem_alloc((size_t)n, sizeof *member);
    if (!member) return sluice_pass(why, -ENOMEM);
    memset(member, 0, (size_t)n * sizeof *member);
    for (int i = 0; i < n && !error; i++) error = open_member(&member[i], m, i, how, why);
    if (error)
        (void)sluice_folder_release(member, n);
    else
        *out = member;
    return error;
}

int sluice_folder_release(sluice_store **member, int n) {
    int error = 0;
    for (int i = 0; member && i < n; i++) {
        const int r = sluice_store_close(member[i]);
        if (r && !error) error = r;
    }
    sluice_mem_free(member);
    return error;
}

/* ---- The manifest ---- */

static int read_all(int fd, char **text, int64_t *len, sluice_reason *why) {
    struct stat st;
    if (fstat(fd, &st)) return sluice_pass(why, -errno);
    if (!S_ISREG(st.st_mode)) return sluice_refuse(why, SLUICE_E_FORMAT, -1, "not a regular file");
    if (st.st_size > SLUICE_MAX_MANIFEST)
        return sluice_refuse(why, SLUICE_E_FORMAT, -1, "a manifest of more than %d bytes", SLUICE_MAX_MANIFEST);
    char *all = sluice_mem_alloc((size_t)st.st_size + 1, 1);
    int64_t n = 0;
    int got = 1;
    if (!all) return sluice_pass(why, -ENOMEM);
    while (n < st.st_size && (got = sluice_sys_read(fd, all + n, (size_t)(st.st_size - n))) > 0) n += got;
    if (got < 0) {
        sluice_mem_free(all);
        return sluice_pass(why, got);
    }
    *text = all;
    *len = n;
    return 0;
}

int sluice_folder_read(sluice_manifest **out, int folder, const char *name, const char *path, sluice_reason *why) {
    sluice_reason inner = {.pos = -1};
    char *text = NULL;
    int64_t len = 0;
    const int fd = sluice_sys_open(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    const sluice_label label = sluice_store_label(path);
    if (fd == -ENOENT)
        return sluice_refuse(why, fd, -1, "open %s: not a container: there is no %s in it", label.text, name);
    if (fd == -ELOOP) return sluice_refuse(why, fd, -1, "open %s: %s is a symbolic link", label.text, name);
    if (fd < 0) return sluice_refuse(why, fd, -1, "open %s: %s: %s", label.text, name, sluice_strerror(fd));
    int error = read_all(fd, &text, &len, &inner);
    close(fd);
    if (!error) error = sluice_manifest_parse(out, text, len, &inner);
    sluice_mem_free(text);
    return error ? sluice_refuse(why, error, inner.pos, "open %s: %.120s", label.text, inner.text) : 0;
}

static int write_all(int fd, const char *text, int64_t len) {
    for (int64_t n = 0; n < len;) {
        const int put = sluice_sys_write(fd, text + n, (size_t)(len - n));
        if (put <= 0) return put ? put : -EIO;
        n += put;
    }
    return sluice_sys_sync(fd);
}

int sluice_folder_write(const sluice_manifest *m, int folder, bool *renamed, const char *path, sluice_reason *why) {
    char *text = NULL;
    int64_t len = 0;
    *renamed = false;
    int error = sluice_manifest_format(m, &text, &len, why);
    if (error) return error;
    error = sluice_sys_unlink(folder, next); /* what a crash left */
    if (error == -ENOENT) error = 0;
    const int fd = error ? error : sluice_sys_open(folder, next, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (fd < 0) error = fd;
    if (!error) {
        error = write_all(fd, text, len);
        close(fd);
        if (!error) error = sluice_sys_rename(folder, next, SLUICE_MANIFEST_NAME);
        *renamed = !error;
        if (error) (void)sluice_sys_unlink(folder, next);
        if (!error) error = sluice_sys_sync(folder);
    }
    sluice_mem_free(text);
    return error ? sluice_store_refuse(why, error, "write the manifest of", path, -1) : 0;
}

/* ---- What crashes leave behind ---- */

/* A number without a sign or leading zeros; where it ends, or NULL. */
static const char *read_number(const char *s, int64_t *v) {
    if (*s < '0' || *s > '9' || (*s == '0' && s[1] >= '0' && s[1] <= '9')) return NULL;
    for (*v = 0; *s >= '0' && *s <= '9'; s++)
        if (!sluice_mul(*v, 10, v) || !sluice_add(*v, *s - '0', v)) return NULL;
    return s;
}

/* Whether it is a name of this container's that stands for nothing in a target. */
static bool is_leftover(const sluice_manifest *m, const char *target, const char *name) {
    const bool own = !strcmp(target, ".");
    int64_t generation, i;
    if (own && !strcmp(name, next)) return true;
    if (!own && (strncmp(name, m->uuid, 32) != 0 || name[32] != '.')) return false;
    const char *s = read_number(name + (own ? 0 : 33), &generation);
    if (!s || *s != '.' || !(s = read_number(s + 1, &i)) || *s) return false;
    return generation != m->generation || i >= m->layout->n || strcmp(m->target[m->place[i]].text, target) != 0;
}

static int look_through(const sluice_manifest *m, int folder, const char *target, bool remove, sluice_leftover *each,
                        void *arg) {
    const int again = sluice_sys_open(folder, ".", O_RDONLY | O_DIRECTORY, 0); /* with a position of its own */
    DIR *d = again < 0 ? NULL : fdopendir(again);
    int error = 0;
    if (!d) error = again < 0 ? again : -errno;
    if (!d && again >= 0) close(again);
    while (d && !error) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e) {
            error = -errno;
            break;
        }
        if (!is_leftover(m, target, e->d_name)) continue;
        if (each) each(arg, target, e->d_name);
        if (remove) error = sluice_sys_unlink(folder, e->d_name);
    }
    if (d) closedir(d);
    return error;
}

/* The container's own folder has the manifests, whether it is a target or not. */
int sluice_folder_leftovers(const sluice_manifest *m, const int *fd, int own, bool remove, sluice_leftover *each,
                            void *arg, sluice_reason *why) {
    int error = look_through(m, own, ".", remove, each, arg);
    if (error) return sluice_store_refuse(why, error, "clean target", ".", -1);
    for (int t = 0; t < m->ntargets; t++) {
        const char *name = m->target[t].text;
        if (!strcmp(name, ".")) continue;
        error = look_through(m, fd[t], name, remove, each, arg);
        if (error) return sluice_store_refuse(why, error, "clean target", name, -1);
    }
    return 0;
}
