/* claim.c: one writer at a time.
 *
 * A writer puts a file into the container's folder, if there is none, that says who it is, in one line:
 *
 *     node17 4711 830215 2026-03-01T12:00:00Z      host, process, when that was started, and when it took the lock
 *     0f6b...-...-... 4026531836                   the boot of the host, and the namespace of its process numbers
 *
 * A lock on the file would end with its process, but not everywhere reach other hosts, and it could not say who holds
 * it. This one may outlive its process. Whether it did is sure only where process numbers mean the same: on the same
 * boot, which no two hosts share whatever their names, and in the same namespace. There a process with that number is
 * gone, or was started at another time. Otherwise what is not known is said. Even a lock that is surely stale is for a
 * person to remove, for whoever died while writing may have left work that someone wants to look at.
 */
#include "file/file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char name[] = SLUICE_CLAIM_NAME;

typedef struct writer {
    char host[65], time[32], boot[40]; /* boot "?": not known */
    long long pid, start, space;       /* of numbers of processes; 0: not known */
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

static void find_boot(char *id, int cap) {
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f || !fgets(id, cap, f)) strcpy(id, "?");
    if (f) fclose(f);
    id[strcspn(id, " \n")] = 0;
    if (!*id) strcpy(id, "?");
}

static long long find_space(void) {
    struct stat st;
    return stat("/proc/self/ns/pid", &st) ? 0 : (long long)st.st_ino;
}

static writer self(void) {
    writer w = {.pid = getpid(), .start = started(getpid()), .space = find_space()};
    find_boot(w.boot, sizeof w.boot);
    const time_t now = time(NULL);
    struct tm tm;
    if (gethostname(w.host, sizeof w.host - 1) || !w.host[0]) strcpy(w.host, "?");
    for (char *c = w.host; *c; c++)
        if (*c <= ' ' || *c > '~') *c = '?';
    if (!gmtime_r(&now, &tm) || !strftime(w.time, sizeof w.time, "%Y-%m-%dT%H:%M:%SZ", &tm)) strcpy(w.time, "?");
    return w;
}

/* 0, -ENOENT if there is no lock, or -EBADMSG. One that was written before there were boots in it is read, too. */
static int read_writer(int folder, writer *w) {
    char text[256];
    const int fd = sluice_sys_open(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return fd == -ENOENT ? fd : -EBADMSG;
    const int n = sluice_sys_read(fd, text, sizeof text - 1);
    close(fd);
    text[sluice_max(n, 0)] = 0;
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~') *c = ' ';
    *w = (writer){.boot = "?"};
    const int got =
        sscanf(text, "%64s %lld %lld %31s %39s %lld", w->host, &w->pid, &w->start, w->time, w->boot, &w->space);
    return got >= 4 ? 0 : -EBADMSG;
}

typedef enum fate { GONE, ALIVE, HIDDEN, REBOOTED, ELSEWHERE } fate;

static fate find_fate(const writer *w, const writer *me) {
    const bool known = strcmp(w->boot, "?") != 0 && strcmp(me->boot, "?") != 0;
    if (!known) return ELSEWHERE;
    if (strcmp(w->boot, me->boot) != 0) return strcmp(w->host, me->host) != 0 ? ELSEWHERE : REBOOTED;
    if (!w->space || w->space != me->space) return HIDDEN;
    if (w->pid < 1 || w->pid > INT32_MAX) return ELSEWHERE;
    const long long start = started(w->pid);
    return (kill((pid_t)w->pid, 0) && errno == ESRCH) || (start && w->start && start != w->start) ? GONE : ALIVE;
}

/* Why there can be no second writer; 0 if the lock has just gone. */
static int refuse_second(int folder, const char *path, sluice_reason *why) {
    static const char *const doubt[] = {
        [HIDDEN] = ", whose namespace cannot be seen here",
        [REBOOTED] = ", before that host's last boot, or on another of its name",
        [ELSEWHERE] = ", which cannot be seen here",
    };
    const sluice_label label = sluice_store_label(path);
    const writer me = self();
    writer w;
    const int error = read_writer(folder, &w);
    if (error == -ENOENT) return 0;
    if (error)
        return sluice_refuse(
            why, -EBUSY, -1,
            "%s is being opened by another writer, or its lock is damaged; if there is none, remove %s "
            "in it",
            label.text, name);
    const fate f = find_fate(&w, &me);
    if (f == GONE)
        return sluice_refuse(why, -EOWNERDEAD, -1,
                             "%s has a stale lock: its writer, process %lld on %.32s since %s, is gone; remove %s in "
                             "it to write",
                             label.text, w.pid, w.host, w.time, name);
    if (f == ALIVE)
        return sluice_refuse(why, -EBUSY, -1, "%s is being written by process %lld on %.32s since %s", label.text,
                             w.pid, w.host, w.time);
    return sluice_refuse(why, -EBUSY, -1,
                         "%s is locked by process %lld on %.32s since %s%s; if no one writes, remove %s", label.text,
                         w.pid, w.host, w.time, doubt[f], name);
}

int sluice_claim_take(int folder, const char *path, sluice_reason *why) {
    enum { TRIES = 100 };
    int fd = -EEXIST;
    for (int i = 0; i < TRIES && fd == -EEXIST; i++) { /* who has it may give it back before it is read */
        fd = sluice_sys_open(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        const int error = fd == -EEXIST ? refuse_second(folder, path, why) : 0;
        if (error) return error;
    }
    if (fd == -EEXIST)
        return sluice_refuse(why, -EBUSY, -1, "%s is locked by others again and again", sluice_store_label(path).text);
    if (fd < 0) return sluice_store_refuse(why, fd, "lock", path, -1);
    char text[256];
    const writer me = self();
    const int len =
        snprintf(text, sizeof text, "%s %lld %lld %s %s %lld\n", me.host, me.pid, me.start, me.time, me.boot, me.space);
    const int n = sluice_sys_write(fd, text, (size_t)len);
    close(fd);
    if (n == len) return 0;
    (void)sluice_sys_unlink(folder, name);
    return sluice_store_refuse(why, n < 0 ? n : -ENOSPC, "lock", path, -1);
}

int sluice_claim_ask(int folder, const char *path, sluice_reason *why) { return refuse_second(folder, path, why); }

bool sluice_claim_ours(int folder) {
    const writer me = self();
    writer w;
    return read_writer(folder, &w) || (w.pid == me.pid && w.start == me.start && w.space == me.space &&
                                       !strcmp(w.boot, me.boot) && !strcmp(w.host, me.host));
}

int sluice_claim_drop(int folder) { return sluice_sys_unlink(folder, name); }
