/* leftover.c: what crashes leave behind.
 *
 * Files of a container that stand for nothing are known by their names: another generation than the manifest says, the
 * next manifest, an owner of subfiles or checksums where there are none. But an array may be on its way from some
 * targets to others, and the manifest names either the ones or the others. So before the first file of another
 * generation is made, the file `moving` in the container's folder names the targets of both, with commas between; it
 * goes when the others have.
 */
#include "file/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Where to look ---- */

static const char moving[] = SLUICE_MOVING_NAME, moving_next[] = SLUICE_MOVING_NAME ".new";
enum { LONGEST = 4 * SLUICE_MAX_TARGETS * (int)sizeof(sluice_target_name) }; /* bytes of names */

static bool uses(const sluice_manifest *m, const char *target) {
    for (int i = 0; i < m->layout->n; i++)
        if (!strcmp(m->target[m->place[i]].text, target)) return true;
    return false;
}

/* The targets of m that are used, after what is there, but none that is in `but`. */
static void list(char *text, const sluice_manifest *m, const sluice_manifest *but) {
    char *end = text + strlen(text);
    for (int t = 0; t < m->ntargets; t++) {
        const char *name = m->target[t].text;
        if (!strcmp(name, ".") || !uses(m, name) || (but && uses(but, name))) continue;
        end += sprintf(end, "%s%s", end > text ? "," : "", name);
    }
}

static int write_names(int folder, const char *text) {
    int error = sluice_sys_unlink(folder, moving_next); /* what a crash left */
    if (error && error != -ENOENT) return error;
    const int fd = sluice_sys_open(folder, moving_next, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (fd < 0) return fd;
    const int len = (int)strlen(text), n = sluice_sys_write(fd, text, (size_t)len);
    error = n == len ? sluice_sys_sync(fd) : n < 0 ? n : -ENOSPC;
    close(fd);
    if (!error) error = sluice_sys_rename(folder, moving_next, moving);
    if (error) (void)sluice_sys_unlink(folder, moving_next);
    return error ? error : sluice_sys_sync(folder);
}

/* The names, with commas between, in memory that the caller gives back. "": there is nothing on its way. */
static int read_names(char **out, int folder) {
    char *text = sluice_mem_alloc(LONGEST, 1);
    int n = 0, got = 1;
    if (!text) return -ENOMEM;
    const int fd = sluice_sys_open(folder, moving, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    while (fd >= 0 && got > 0 && n < LONGEST - 1) {
        got = sluice_sys_read(fd, text + n, (size_t)(LONGEST - 1 - n));
        if (got > 0) n += got;
    }
    if (fd >= 0) close(fd);
    if ((fd < 0 && fd != -ENOENT) || got < 0) {
        sluice_mem_free(text);
        return fd < 0 ? fd : got;
    }
    text[n] = 0;
    *out = text;
    return 0;
}

/* What an earlier crash left on other targets is still to be found: those stay in the note. */
static void keep(char *text, char *before, const sluice_manifest *from, const sluice_manifest *to) {
    char *end = text + strlen(text), *save = NULL;
    for (const char *name = strtok_r(before, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        if (!sluice_target_valid(name, strlen(name)) || uses(from, name) || uses(to, name)) continue;
        if (end - text + (int64_t)sizeof(sluice_target_name) + 1 > LONGEST) return;
        end += sprintf(end, "%s%s", end > text ? "," : "", name);
    }
}

int sluice_moving_start(int folder, const sluice_manifest *from, const sluice_manifest *to, const char *path,
                        sluice_reason *why) {
    char *before = NULL, *text = sluice_mem_alloc(LONGEST, 1);
    int error = text ? read_names(&before, folder) : -ENOMEM;
    if (!error) {
        text[0] = 0;
        list(text, from, NULL);
        list(text, to, from);
        keep(text, before, from, to);
        if (*text) error = write_names(folder, text);
    }
    sluice_mem_free(before);
    sluice_mem_free(text);
    return error ? sluice_store_refuse(why, error, "note the targets of", path, -1) : 0;
}

int sluice_moving_end(int folder) {
    const int error = sluice_sys_unlink(folder, moving);
    return error == -ENOENT ? 0 : error;
}

/* ---- What is there ---- */

/* A number without a sign or leading zeros; where it ends, or NULL. */
static const char *read_number(const char *s, int64_t *v) {
    if (*s < '0' || *s > '9' || (*s == '0' && s[1] >= '0' && s[1] <= '9')) return NULL;
    for (*v = 0; *s >= '0' && *s <= '9'; s++)
        if (!sluice_mul(*v, 10, v) || !sluice_add(*v, *s - '0', v)) return NULL;
    return s;
}

/* Whether it is a name of this container's that stands for nothing in a target. */
static bool is_leftover(const sluice_manifest *m, const char *target, bool used, const char *name) {
    const bool own = !strcmp(target, ".");
    int64_t generation, i;
    if (own && (!strcmp(name, SLUICE_NEXT_NAME) || !strcmp(name, moving_next))) return true;
    if (!own && (strncmp(name, m->uuid, 32) != 0 || name[32] != '.')) return false;
    if (!own && !strcmp(name + 33, "owner.new")) return true;
    if (!own && !strcmp(name + 33, "owner")) return !used;
    const char *s = read_number(name + (own ? 0 : 33), &generation);
    if (s && own && !strcmp(s, ".copies")) return generation != m->generation;
    if (!s || *s != '.' || !(s = read_number(s + 1, &i))) return false;
    const bool sums = !strcmp(s, ".sum");
    if (*s && !sums) return false;
    return (sums && !m->checksum) || generation != m->generation || i >= m->layout->n ||
           strcmp(m->target[m->place[i]].text, target) != 0;
}

static int look_through(const sluice_sweep *w, int folder, const char *target) {
    const int again = sluice_sys_open(folder, ".", O_RDONLY | O_DIRECTORY, 0); /* with a position of its own */
    DIR *d = again < 0 ? NULL : fdopendir(again);
    const bool used = uses(w->m, target);
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
        if (!is_leftover(w->m, target, used, e->d_name)) continue;
        if (w->each) w->each(w->arg, target, e->d_name);
        if (w->remove) error = sluice_sys_unlink(folder, e->d_name);
    }
    if (d) closedir(d);
    return error;
}

/* A target other than the container's own folder. Nothing is removed that is another's. */
static int sweep(const sluice_sweep *w, int folder, const char *target, sluice_reason *why) {
    int error = w->remove ? sluice_owner_check(w->m, folder, target, w->own, w->path, why) : 0;
    if (error < 0) return error;
    error = look_through(w, folder, target);
    return error ? sluice_store_refuse(why, error, "clean target", target, -1) : 0;
}

/* The targets that the manifest does not know of. */
static int sweep_moving(const sluice_sweep *w, sluice_reason *why) {
    char *text = NULL;
    int error = read_names(&text, w->own);
    if (error) return sluice_store_refuse(why, error, "read what is moving in", w->path, -1);
    const bool there = *text;
    for (char *name = text, *next; name && *name && !error; name = next) {
        next = strchr(name, ',');
        if (next) *next++ = 0;
        if (!sluice_target_valid(name, strlen(name)) || uses(w->m, name)) continue;
        const int fd = sluice_folder_target(name, w->bindings, why);
        error = fd < 0 ? fd : sweep(w, fd, name, why);
        if (fd >= 0) close(fd);
    }
    sluice_mem_free(text);
    if (error || !there) return error;
    if (w->each) w->each(w->arg, ".", moving);
    if (w->remove && (error = sluice_moving_end(w->own))) sluice_store_refuse(why, error, "clean target", ".", -1);
    return error;
}

/* The container's own folder has the manifests, whether it is a target or not. */
int sluice_leftovers(const sluice_sweep *w, sluice_reason *why) {
    int error = look_through(w, w->own, ".");
    if (error) return sluice_store_refuse(why, error, "clean target", ".", -1);
    for (int t = 0; t < w->m->ntargets && !error; t++)
        if (w->fd[t] >= 0 && w->fd[t] != w->own) error = sweep(w, w->fd[t], w->m->target[t].text, why);
    return error ? error : sweep_moving(w, why);
}
