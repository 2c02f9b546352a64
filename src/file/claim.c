/* claim.c: one writer at a time.
 *
 * A writer puts a file into the container's folder, if there is none, that says who it is:
 *
 *     node17 4711 830215 2026-03-01T12:00:00Z      host, process, when that was started, and when it took the lock
 *
 * A lock on the file would end with its process, but not everywhere reach other hosts, and it could not say who holds
 * it. This one may outlive its process. Whether it did can be known on the same host: a process with that number is
 * gone, or was started at another time. Even then it is a person who removes the file, for whoever died while writing
 * may have left work that someone wants to look at.
 */
#include "file/file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char name[] = SLUICE_CLAIM_NAME;

typedef struct writer {
    char host[65], time[32];
    long long pid, start;
} writer;

/* When a process was started, in ticks since the host was; 0 if it cannot be known. */
static long long started(long long pid) {
    char path[40], line[1024], *end;
    long long start = 0;
    snprintf(path, sizeof path, "/proc/%lld/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    const size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = 0;
    end = strrchr(line, ')'); /* the name in the parentheses may hold anything; field 22 is the 20th behind it */
    for (int i = 0; end && i < 20; i++) end = strchr(end + 1, ' ');
    if (end) sscanf(end, "%lld", &start);
    return start;
}

static writer self(void) {
    writer w = {.pid = getpid(), .start = started(getpid())};
    const time_t now = time(NULL);
    struct tm tm;
    if (gethostname(w.host, sizeof w.host - 1) || !w.host[0]) strcpy(w.host, "?");
    for (char *c = w.host; *c; c++)
        if (*c <= ' ' || *c > '~') *c = '?';
    if (!gmtime_r(&now, &tm) || !strftime(w.time, sizeof w.time, "%Y-%m-%dT%H:%M:%SZ", &tm)) strcpy(w.time, "?");
    return w;
}

static bool read_writer(int folder, writer *w) {
    char text[256];
    const int fd = sluice_sys_open(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return false;
    const int n = sluice_sys_read(fd, text, sizeof text - 1);
    close(fd);
    text[sluice_max(n, 0)] = 0;
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~') *c = ' ';
    return sscanf(text, "%64s %lld %lld %31s", w->host, &w->pid, &w->start, w->time) == 4;
}

/* Why there can be no second writer. */
static int refuse_second(int folder, const char *path, sluice_reason *why) {
    const sluice_label label = sluice_store_label(path);
    const writer me = self();
    writer w;
    if (!read_writer(folder, &w))
        return sluice_refuse(
            why, -EBUSY, -1,
            "%s is being opened by another writer, or its lock is damaged; if there is none, remove %s "
            "in it",
            label.text, name);
    const bool here = !strcmp(w.host, me.host) && w.pid > 0 && w.pid <= INT32_MAX;
    const long long start = here ? started(w.pid) : 0;
    const bool gone = here && ((kill((pid_t)w.pid, 0) && errno == ESRCH) || (start && w.start && start != w.start));
    if (gone)
        return sluice_refuse(why, -EOWNERDEAD, -1,
                             "%s has a stale lock: its writer, process %lld on %.32s since %s, is gone; remove %s in "
                             "it to write",
                             label.text, w.pid, w.host, w.time, name);
    return sluice_refuse(why, -EBUSY, -1, "%s is being written by process %lld on %.32s since %s", label.text, w.pid,
                         w.host, w.time);
}

int sluice_claim_take(int folder, const char *path, sluice_reason *why) {
    const int fd = sluice_sys_open(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd == -EEXIST) return refuse_second(folder, path, why);
    if (fd < 0) return sluice_store_refuse(why, fd, "lock", path, -1);
    char text[160];
    const writer me = self();
    const int len = snprintf(text, sizeof text, "%s %lld %lld %s\n", me.host, me.pid, me.start, me.time);
    const int n = sluice_sys_write(fd, text, (size_t)len);
    close(fd);
    if (n == len) return 0;
    (void)sluice_sys_unlink(folder, name);
    return sluice_store_refuse(why, n < 0 ? n : -ENOSPC, "lock", path, -1);
}

int sluice_claim_ask(int folder, const char *path, sluice_reason *why) {
    const int fd = sluice_sys_open(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd == -ENOENT) return 0;
    if (fd >= 0) close(fd);
    return refuse_second(folder, path, why);
}

bool sluice_claim_ours(int folder) {
    const writer me = self();
    writer w;
    return !read_writer(folder, &w) || (w.pid == me.pid && w.start == me.start && !strcmp(w.host, me.host));
}

int sluice_claim_drop(int folder) { return sluice_sys_unlink(folder, name); }
