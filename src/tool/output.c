/* output.c: new files, whole or not at all.
 *
 * A file is made under another name in its folder, written, made permanent, and then given its name in one step, which
 * replaces what had the name before. However the program ends before that step, the old file is as it was, and the new
 * one is removed (ending.c). A copy that is to be resumed stays, and a container stays after a signal, for there is
 * more to remove than a handler may do.
 */
#include "tool/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    char *name, *temporary, *folder; /* where it is to be, where it is, in which folder both are */
    const char *written;             /* as the user wrote it */
    const char *bindings;
    bool force, container, keep;
    mode_t mode;                   /* of a file that is replaced by one that the library made; 0: as it is */
    volatile sig_atomic_t pending; /* the temporary file exists */
} out;

static int remove_partial(void) {
    if (out.container) return sluice_container_delete(out.temporary, out.bindings, NULL);
    return unlink(out.temporary) ? -errno : 0;
}

/* Its writer is this process, or is gone, on whatever boot it was, or it would hold the journal. */
static void unlock_partial(void) {
    const int folder = open(out.temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    sluice_claim_drop(folder);
    close(folder);
}

static void give_up(void) {
    if (!out.pending || out.keep || (out.container && ending_by_signal())) return;
    out.pending = 0;
    if (out.container) unlock_partial();
    remove_partial();
    journal_remove();
}

static char *join(const char *folder, const char *name) {
    const size_t len = strlen(folder) + strlen(name) + 2;
    char *path = report_alloc(len, 1);
    snprintf(path, len, "%s/%s", folder, name);
    return path;
}

static char *own(const char *text) {
    char *copy = report_alloc(strlen(text) + 1, 1);
    return strcpy(copy, text);
}

/* The mode of the file that is to be replaced, or of a new one. The file itself: where a symbolic link leads. */
static mode_t look(const char *path, bool force) {
    struct stat st;
    char real[PATH_MAX];
    const mode_t mask = umask(0);
    umask(mask);
    if (lstat(path, &st)) {
        if (errno != ENOENT) report_usage("%s: %s", path, strerror(errno));
        out.name = own(path);
        return 0666 & ~mask;
    }
    if (stat(path, &st)) report_usage("%s is a symbolic link that leads nowhere: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) report_usage("%s is there and is not a regular file", path);
    if (!force) report_usage("%s exists; --force replaces it", path);
    if (!realpath(path, real)) report_failure("%s: %s", path, strerror(errno));
    out.name = own(real);
    return st.st_mode & 07777;
}

/* The name without slashes at its end, for a container may be written with one. */
static char *trim(const char *path) {
    char *name = own(path);
    size_t len = strlen(name);
    while (len > 1 && name[len - 1] == '/') name[--len] = 0;
    return name;
}

/* Where it is to be, and the folder of that; returns its permissions. */
static mode_t place(const char *path, bool force) {
    out.written = path;
    out.force = force;
    const mode_t mode = look(path, force);
    const char *slash = strrchr(out.name, '/');
    out.folder = own(slash ? out.name : ".");
    if (slash) out.folder[slash == out.name ? 1 : slash - out.name] = 0;
    if (!*path || (slash && !slash[1])) report_usage("'%s' is not the name of a file", path);
    return mode;
}

const char *output_start(const char *path, bool force) {
    const mode_t mode = place(path, force);
    out.temporary = join(out.folder, ".sluice-XXXXXX");
    ending_undo(give_up);
    const int fd = mkstemp(out.temporary);
    if (fd < 0) {
        const char *why = strerror(errno);
        if (errno == ENOENT || errno == ENOTDIR) report_usage("create %s: %s", path, why);
        report_failure("create %s: %s", path, why);
    }
    out.pending = 1;
    if (fchmod(fd, mode) || close(fd)) report_failure("create %s: %s", path, strerror(errno));
    return out.temporary;
}

static void restart(void) {
    const int error = remove_partial();
    if (error) report_failure("remove %s: %s", out.temporary, sluice_strerror(error));
}

static char *beside(const char *suffix) {
    const char *slash = strrchr(out.name, '/'), *name = slash ? slash + 1 : out.name;
    char *hidden = report_alloc(strlen(name) + strlen(suffix) + 2, 1), *path;
    sprintf(hidden, ".%s%s", name, suffix);
    path = join(out.folder, hidden);
    free(hidden);
    return path;
}

const char *output_partial(const options *o, const char *path, journal_state *s, bool *fresh) {
    struct stat st;
    out.container = file_contained(o, path);
    out.bindings = o->bind;
    out.keep = o->resume;
    if (out.container && !lstat(path, &st)) report_usage("%s exists; a container is not replaced", path);
    out.mode = place(out.container ? trim(path) : path, o->force);
    if (access(out.name, F_OK)) out.mode = 0;
    out.temporary = beside(".partial");
    char *journal = beside(".journal");
    journal_open(journal, path);
    free(journal);
    const bool there = !lstat(out.temporary, &st);
    if (there && !o->resume && !o->force)
        report_usage("an unfinished copy of %s is there, %s; --resume continues it, --force starts over", path,
                     out.temporary);
    if (there && out.container) unlock_partial();
    *fresh = !there || !o->resume || !journal_read(s, path);
    if (there && *fresh) restart();
    ending_undo(give_up);
    out.pending = 1;
    if (*fresh) journal_write(s);
    return out.temporary;
}

/* Gives the file its name; without --force only if no one else has taken it meanwhile. */
static int publish(void) {
    if (out.mode && chmod(out.temporary, out.mode)) return -errno;
    if (out.force && !out.container) return sluice_sys_rename(AT_FDCWD, out.temporary, out.name);
    return sluice_sys_rename_new(AT_FDCWD, out.temporary, out.name);
}

/* The last step. */
static void give_name(void) {
    if (!ranks_lead()) return;
    const int error = publish();
    if (error == -EEXIST) report_usage("%s exists; --force replaces it", out.written);
    if (error) report_failure("create %s: %s", out.written, sluice_strerror(error));
    out.pending = 0;
    journal_remove();
    const int folder = open(out.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || (fsync(folder) && errno != EINVAL)) report_failure("sync %s: %s", out.folder, strerror(errno));
    close(folder);
    free(out.name);
    free(out.temporary);
    free(out.folder);
    ranks_led();
}

void output_finish(sluice_array *a) {
    report_array(sluice_sync(a));
    report_array(sluice_close(a));
    give_name();
}

void output_text(FILE *f) {
    if (fflush(f) || ferror(f) || fsync(fileno(f)) || fclose(f))
        report_failure("write %s: %s", out.written, strerror(errno));
    give_name();
}

void output_name(char *line, size_t cap) {
    char *at = out.pending ? strstr(line, out.temporary) : NULL;
    if (!at) return;
    char *rest = own(at + strlen(out.temporary));
    snprintf(at, cap - (size_t)(at - line), "%s%s", out.written, rest);
    free(rest);
}
