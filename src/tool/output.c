/* output.c: new files, whole or not at all.
 *
 * A file is made under another name in its folder, written, made permanent, and then given its name in one step, which
 * replaces what had the name before. However the program ends before that step, the old file is as it was, and the new
 * one is removed (ending.c).
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
    bool force;
    volatile sig_atomic_t pending; /* the temporary file exists */
} out;

static void give_up(void) {
    if (!out.pending) return;
    out.pending = 0;
    unlink(out.temporary);
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

const char *output_start(const char *path, bool force) {
    out.written = path;
    out.force = force;
    const mode_t mode = look(path, force);
    const char *slash = strrchr(out.name, '/');
    out.folder = own(slash ? out.name : ".");
    if (slash) out.folder[slash == out.name ? 1 : slash - out.name] = 0;
    if (!*path || (slash && !slash[1])) report_usage("'%s' is not the name of a file", path);
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

/* Gives the file its name; without --force only if no one else has taken it meanwhile. */
static int publish(void) {
    if (out.force) return rename(out.temporary, out.name);
    if (!renameat2(AT_FDCWD, out.temporary, AT_FDCWD, out.name, RENAME_NOREPLACE)) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    return link(out.temporary, out.name) ? -1 : unlink(out.temporary); /* not every file system knows the other way */
}

/* The last step. */
static void give_name(void) {
    if (publish()) {
        if (errno == EEXIST) report_usage("%s exists; --force replaces it", out.written);
        report_failure("create %s: %s", out.written, strerror(errno));
    }
    out.pending = 0;
    const int folder = open(out.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || (fsync(folder) && errno != EINVAL)) report_failure("sync %s: %s", out.folder, strerror(errno));
    close(folder);
    free(out.name);
    free(out.temporary);
    free(out.folder);
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
