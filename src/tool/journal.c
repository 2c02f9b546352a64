/* journal.c: how far a copy is, so that one that was killed can go on.
 *
 * While a copy is made there are two things beside its place:
 *
 *     .NAME.partial     the copy, as far as it is
 *     .NAME.journal     sluice journal 1
 *                       boot 4f0c...            of the system that wrote it
 *                       from 83a1... to 09be... what is copied, and as what
 *                       chunk 67108864 16       elements in a chunk, chunks
 *                       1 1110000000000000      the copy has been made; chunks that are in it
 *
 * A mark is written after the chunk's bytes. Both may still be in memory only, where they outlive the program, but not
 * the system; so after another boot no mark counts and the copy starts over. Whoever works on the copy holds a lock on
 * the journal, which ends with the process.
 */
#include "tool/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 256 }; /* bytes before the marks, the rest of them blank */
static const char head[] =
    "sluice journal 1\nboot %36s\nfrom %16" SCNx64 " to %16" SCNx64 "\nchunk %" SCNd64 " %" SCNd64 "\n";

static struct {
    int fd;
    char *path;
} journal = {.fd = -1};

/* "?": not known. */
static void boot_id(char *id, size_t cap) {
    char boot[SLUICE_SYS_BOOT];
    sluice_sys_boot(boot);
    snprintf(id, cap, "%.*s", *boot ? SLUICE_SYS_BOOT : 1, *boot ? boot : "?");
}

void journal_open(const char *path, const char *written) {
    struct stat st = {.st_nlink = 0};
    journal.path = report_alloc(strlen(path) + 1, 1);
    strcpy(journal.path, path);
    while (st.st_nlink == 0) { /* else the one before us has just removed what we opened */
        if (journal.fd >= 0) close(journal.fd);
        journal.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (journal.fd < 0 && (errno == ENOENT || errno == ENOTDIR))
            report_usage("create %s: %s", written, strerror(errno));
        if (journal.fd < 0) report_failure("create %s: %s", written, strerror(errno));
        if (flock(journal.fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
            report_failure("%s is being made by another process", written);
        if (fstat(journal.fd, &st)) report_failure("create %s: %s", written, strerror(errno));
    }
}

bool journal_read(journal_state *s, const char *written) {
    char text[HEAD + 1] = "", then[40], now[40];
    journal_state was = {0};
    if (pread(journal.fd, text, HEAD, 0) != HEAD) return false;
    if (sscanf(text, head, then, &was.from, &was.to, &was.chunk, &was.n) != 5) return false;
    boot_id(now, sizeof now);
    if (strcmp(then, now) != 0 || !strcmp(now, "?")) return false;
    if (was.from != s->from || was.to != s->to)
        report_usage("the unfinished copy of %s is %s; --force starts over", written,
                     was.from != s->from ? "of another source, or the source has changed" : "to be a different array");
    if (was.chunk < 1 || was.n < 0 || was.n > INT32_MAX) return false;
    was.mark = report_alloc((size_t)was.n + 2, 1);
    const bool whole = pread(journal.fd, was.mark, (size_t)was.n + 1, HEAD) == was.n + 1 && was.mark[0] == '1';
    if (whole)
        *s = was;
    else
        free(was.mark);
    return whole;
}

static void put(const void *p, size_t n, int64_t at) {
    const ssize_t done = pwrite(journal.fd, p, n, at);
    if (done != (ssize_t)n) report_failure("write %s: %s", journal.path, strerror(done < 0 ? errno : ENOSPC));
}

void journal_write(journal_state *s) {
    char text[HEAD], now[40];
    boot_id(now, sizeof now);
    memset(text, ' ', sizeof text);
    const int n =
        snprintf(text, sizeof text,
                 "sluice journal 1\nboot %s\nfrom %016" PRIx64 " to %016" PRIx64 "\nchunk %" PRId64 " %" PRId64 "\n",
                 now, s->from, s->to, s->chunk, s->n);
    text[n] = ' ';
    text[HEAD - 1] = '\n';
    s->mark = report_alloc((size_t)s->n + 2, 1);
    memset(s->mark, '0', (size_t)s->n + 1);
    if (ftruncate(journal.fd, 0)) report_failure("write %s: %s", journal.path, strerror(errno));
    put(text, sizeof text, 0);
    put(s->mark, (size_t)s->n + 1, HEAD);
}

void journal_mark(journal_state *s, int64_t k) {
    s->mark[k] = '1';
    put(&s->mark[k], 1, HEAD + k);
}

void journal_remove(void) {
    if (journal.fd < 0) return;
    unlink(journal.path);
    close(journal.fd);
    journal.fd = -1;
}
