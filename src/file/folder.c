/* folder.c: the files of a container in their folders: subfiles and the manifest.
 *
 *     name.sluice/manifest.json           what there is
 *                 manifest.json.new       the next one, until it takes the place of the first
 *                 manifest.json.deleted   that of a container which is being deleted, or made
 *                 1.0  1.1  1.2           subfiles: generation and number
 *                 1.0.sum  1.1.sum ...    their checksums, if they have some
 *                 lock                    who writes (claim.c)
 *                 moving                  where to look for what a crash leaves (leftover.c)
 *     target/<uuid>.1.3                   a subfile on a target
 *            <uuid>.owner                 whose these are (owner.c)
 *
 * All names are in folders that are held open, so that nothing happens elsewhere if someone renames one meanwhile.
 */
#include "file/file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char next[] = SLUICE_NEXT_NAME;

/* ---- Targets ---- */

int sluice_folder_some(int **out, const sluice_manifest *m, int own, const char *bindings, sluice_some some,
                       sluice_reason *why) {
    bool used[SLUICE_MAX_TARGETS] = {false};
    int *fd = sluice_mem_alloc((size_t)m->ntargets, sizeof *fd), error = 0;
    if (!fd) return sluice_pass(why, -ENOMEM);
    for (int i = 0; i < m->layout->n; i++) used[m->place[i]] = true;
    for (int t = 0; t < m->ntargets; t++) fd[t] = -1;
    for (int t = 0; t < m->ntargets && !error; t++) {
        const char *name = m->target[t].text;
        const bool inside = !strcmp(name, ".");
        if (!used[t] || (!inside && t % some.every != some.first)) continue;
        fd[t] = inside ? own : sluice_folder_target(name, bindings, why);
        if (fd[t] < 0 && !inside) error = fd[t];
    }
    if (error)
        sluice_folder_close(fd, m, own);
    else
        *out = fd;
    return error;
}

int sluice_folder_targets(int **out, const sluice_manifest *m, int own, const char *bindings, sluice_reason *why) {
    return sluice_folder_some(out, m, own, bindings, SLUICE_ALL_OF_THEM, why);
}

int sluice_folder_target(const char *name, const char *bindings, sluice_reason *why) {
    sluice_target_path path;
    const int error = sluice_target_find(&path, name, bindings, why);
    if (error) return error;
    const int fd = sluice_sys_open(AT_FDCWD, path.text, O_RDONLY | O_DIRECTORY, 0);
    if (fd >= 0) return fd;
    return sluice_refuse(why, fd, -1, "target %s: open %s: %s", name, sluice_store_label(path.text).text,
                         sluice_strerror(fd));
}

void sluice_folder_close(int *fd, const sluice_manifest *m, int own) {
    for (int i = 0; fd && i < m->ntargets; i++)
        if (fd[i] != own && fd[i] >= 0) close(fd[i]);
    sluice_mem_free(fd);
}

/* ---- Subfiles ---- */

static int write_all(int fd, const void *bytes, int64_t len) {
    for (int64_t n = 0; n < len;) {
        const int put = sluice_sys_write(fd, (const char *)bytes + n, (size_t)(len - n));
        if (put <= 0) return put ? put : -EIO;
        n += put;
    }
    return 0;
}

/* A file of zeros, but for the first bytes. */
static int make_file(int folder, const char *name, const void *head, int64_t len, int64_t size) {
    const int fd = sluice_sys_open(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (fd < 0) return fd;
    int error = write_all(fd, head, len);
    if (!error) error = sluice_sys_resize(fd, size);
    if (!error) error = sluice_sys_sync(fd);
    close(fd);
    if (error) (void)sluice_sys_unlink(folder, name);
    return error;
}

static int remove_file(int folder, const char *name) {
    const int error = sluice_sys_unlink(folder, name);
    return error == -ENOENT ? 0 : error;
}

static int remove_subfile(const sluice_manifest *m, const int *fd, int i) {
    const int folder = fd[m->place[i]], error = remove_file(folder, sluice_manifest_name(m, i).text);
    const int sums = m->checksum ? remove_file(folder, sluice_manifest_sums(m, i).text) : 0;
    return error ? error : sums;
}

static sluice_sums_id identify_sums(const sluice_manifest *m, int i) {
    sluice_sums_id id = {.block = m->checksum, .generation = m->generation, .subfile = i};
    memcpy(id.uuid, m->uuid, sizeof id.uuid);
    strcpy(id.target, m->target[m->place[i]].text);
    return id;
}

static int make_sums(const sluice_manifest *m, const int *fd, int i) {
    unsigned char head[SLUICE_SUMS_HEAD];
    const sluice_sums_id id = identify_sums(m, i);
    sluice_sums_head(head, &id);
    return make_file(fd[m->place[i]], sluice_manifest_sums(m, i).text, head, sizeof head,
                     sluice_sums_length(m->layout->size[i], m->checksum));
}

static int make_subfile(const sluice_manifest *m, const int *fd, int i) {
    const sluice_subfile_name name = sluice_manifest_name(m, i);
    int error = make_file(fd[m->place[i]], name.text, NULL, 0, m->layout->size[i]);
    if (error || !m->checksum) return error;
    error = make_sums(m, fd, i);
    if (error) (void)sluice_sys_unlink(fd[m->place[i]], name.text);
    return error;
}

/* Removes the first n, as far as they are there. */
static int remove_first(const sluice_manifest *m, const int *fd, int n) {
    int error = 0;
    for (int i = 0; i < n; i++) {
        if (fd[m->place[i]] < 0) continue;
        const int r = remove_subfile(m, fd, i);
        if (r && !error) error = r;
    }
    return error;
}

int sluice_folder_remove(const sluice_manifest *m, const int *fd) { return remove_first(m, fd, m->layout->n); }

/* What was there before is not ours to remove: it may be another's with the same uuid, that of a copy. */
int sluice_folder_make(const sluice_manifest *m, const int *fd, bool again, sluice_reason *why) {
    int error = 0, made = 0;
    for (int i = 0; i < m->layout->n && !error; i++) {
        if (fd[m->place[i]] >= 0) {
            if (again) error = remove_subfile(m, fd, i);
            if (!error) error = make_subfile(m, fd, i);
        }
        if (error)
            sluice_store_refuse(why, error, "create", sluice_manifest_name(m, i).text, -1);
        else
            made++;
    }
    for (int t = 0; t < m->ntargets && !error; t++)
        if (fd[t] >= 0 && (error = sluice_sys_sync(fd[t])))
            sluice_store_refuse(why, error, "sync target", m->target[t].text, -1);
    if (error) (void)remove_first(m, fd, made);
    return error;
}

/* Messages call a subfile a.sluice/1.0, or, on another target, a.sluice/fast:c0ffee...1.0. */
static bool call_member(sluice_store *s, const sluice_manifest *m, int i, const char *name, const sluice_label *path) {
    const char *target = m->target[m->place[i]].text;
    char text[sizeof path->text + sizeof(sluice_target_name) + sizeof(sluice_subfile_name) + 2];
    const bool own = !strcmp(target, ".");
    snprintf(text, sizeof text, "%s/%s%s%s", path->text, own ? "" : target, own ? "" : ":", name);
    return sluice_store_call(s, text);
}

/* A subfile together with its checksums. */
static int add_sums(sluice_store **s, const sluice_manifest *m, int i, const sluice_folder_how *how,
                    const sluice_label *label, sluice_reason *why) {
    const sluice_subfile_name name = sluice_manifest_sums(m, i);
    const sluice_sums_id id = identify_sums(m, i);
    sluice_reason inner = {0};
    sluice_store *file = NULL;
    int error = how->open(&file, how->fd[m->place[i]], name.text, how->mode, &inner);
    if (error)
        return sluice_refuse(why, error, -1, "open %s: checksums of subfile %d on target %s: %.80s", label->text, i,
                             id.target, inner.text);
    if (!call_member(file, m, i, name.text, label))
        error = sluice_store_refuse(why, -ENOMEM, "open", how->path, -1);
    else
        error = sluice_store_open_sums(s, *s, file, &id, m->layout->size[i], why);
    if (error) sluice_store_close(file);
    return error;
}

static int open_member(sluice_store **out, const sluice_manifest *m, int i, const sluice_folder_how *how,
                       sluice_reason *why) {
    const sluice_subfile_name name = sluice_manifest_name(m, i);
    const int64_t need = m->layout->size[i];
    const sluice_label label = sluice_store_label(how->path);
    sluice_reason inner = {0};
    sluice_store *s = NULL;
    if (how->fd[m->place[i]] < 0) return sluice_store_open_elsewhere(out, need, how->path, why);
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
    if (!error && !call_member(s, m, i, name.text, &label))
        error = sluice_store_refuse(why, -ENOMEM, "open", how->path, -1);
    if (!error && size < need)
        error = sluice_refuse(why, SLUICE_E_FORMAT, size,
                              "open %s: truncated: subfile %d, %s, has %" PRId64 " bytes instead of %" PRId64,
                              label.text, i, name.text, size, need);
    if (!error && m->checksum) error = add_sums(&s, m, i, how, &label, why);
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

int sluice_folder_write(const sluice_manifest *m, int folder, const char *name, bool *renamed, const char *path,
                        sluice_reason *why) {
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
        if (!error) error = sluice_sys_sync(fd);
        close(fd);
        if (!error) error = sluice_sys_rename(folder, next, name);
        *renamed = !error;
        if (error) (void)sluice_sys_unlink(folder, next);
        if (!error) error = sluice_sys_sync(folder);
    }
    sluice_mem_free(text);
    return error ? sluice_store_refuse(why, error, "write the manifest of", path, -1) : 0;
}
