/* mark.c: whether copies of the same bytes (placed.c) may differ.
 *
 * Who writes bytes that lie in several subfiles writes one after the other, and may be killed in between. So before the
 * first such write there is a mark on disk, the file `<generation>.copies` in the container's folder:
 *
 *     writing              some process writes copies, or was killed while it did
 *     writing ... failed   one of its writes failed
 *     written, boot        they are all written, in this run of the system: equal until the power is cut
 *     (no file)            they are equal, on disk
 *
 * While copies may differ only the first one of each lot is read, which a process writes like bytes that have no copy.
 * Who opens the container to write next makes the others equal to it.
 */
#include "file/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char writing[] = "writing\n", written[] = "written\n", failed[] = "failed\n";
enum { LONGEST = 160, WORD = sizeof writing - 1, BUFFER = 1 << 20 };

sluice_subfile_name sluice_mark_name(const sluice_manifest *m) {
    sluice_subfile_name name;
    snprintf(name.text, sizeof name.text, "%lld.copies", (long long)m->generation);
    return name;
}

/* What it says, closed by 0; its length, -ENOENT without a mark, or negative. */
static int read_mark(int folder, const sluice_manifest *m, char text[LONGEST]) {
    const int fd = sluice_sys_open(folder, sluice_mark_name(m).text, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return fd;
    const int n = sluice_sys_read(fd, text, LONGEST - 1);
    close(fd);
    if (n >= 0) text[n] = 0;
    return n;
}

static void expected(char text[LONGEST]) {
    char boot[SLUICE_SYS_BOOT];
    sluice_sys_boot(boot);
    snprintf(text, LONGEST, "%s%.*s\n", written, SLUICE_SYS_BOOT, boot);
}

int sluice_mark_ask(int folder, const sluice_manifest *m, bool *differ) {
    char text[LONGEST], equal[LONGEST];
    const int n = read_mark(folder, m, text);
    *differ = n != -ENOENT;
    if (n < 0) return n == -ENOENT ? 0 : n;
    expected(equal);
    *differ = strcmp(text, equal) != 0 || equal[WORD] == '\n';
    return 0;
}

int sluice_mark_set(int folder, const sluice_manifest *m) {
    const int fd = sluice_sys_open(folder, sluice_mark_name(m).text, O_WRONLY | O_CREAT | O_NOFOLLOW, 0666);
    if (fd < 0) return fd;
    const int n = sluice_sys_write(fd, writing, WORD);
    int error = n == WORD ? sluice_sys_sync(fd) : n < 0 ? n : -ENOSPC;
    close(fd);
    return error ? error : sluice_sys_sync(folder);
}

void sluice_mark_fail(int folder, const sluice_manifest *m) {
    const int fd = sluice_sys_open(folder, sluice_mark_name(m).text, O_WRONLY | O_APPEND | O_NOFOLLOW, 0);
    if (fd < 0) return;
    (void)sluice_sys_write(fd, failed, sizeof failed - 1);
    close(fd);
}

int sluice_mark_rest(int folder, const sluice_manifest *m) {
    char text[LONGEST];
    int n = read_mark(folder, m, text);
    if (n < 0) return n == -ENOENT ? 0 : n;
    if (strncmp(text, writing, WORD) != 0 || strstr(text, failed)) return 0; /* as it is, or to be healed */
    const int fd = sluice_sys_open(folder, sluice_mark_name(m).text, O_WRONLY | O_NOFOLLOW, 0);
    if (fd < 0) return fd;
    expected(text);
    n = sluice_sys_write(fd, text, strlen(text));
    const int error = n < 0 ? n : sluice_sys_resize(fd, n);
    close(fd);
    return error;
}

int sluice_mark_clear(int folder, const sluice_manifest *m) {
    char text[LONGEST];
    int error = read_mark(folder, m, text);
    if (error < 0) return error == -ENOENT ? 0 : error;
    if (strstr(text, failed)) return 0;
    error = sluice_sys_unlink(folder, sluice_mark_name(m).text);
    return error && error != -ENOENT ? error : 0;
}

int sluice_mark_remove(int folder, const sluice_manifest *m) {
    const int error = sluice_sys_unlink(folder, sluice_mark_name(m).text);
    return error == -ENOENT ? 0 : error;
}

/* ---- Making copies equal ---- */

/* Bytes of a set, by number. */
static int move(sluice_store *s, bool write, const sluice_set *where, sluice_run piece, unsigned char *buf,
                sluice_reason *why) {
    sluice_cursor c;
    sluice_run run;
    int error = 0;
    sluice_cursor_init(&c, where);
    sluice_cursor_seek(&c, piece.off);
    for (int64_t done = 0, n; done < piece.len && !error && sluice_cursor_run(&c, &run); done += n) {
        n = sluice_min(run.len, piece.len - done);
        error = (write ? sluice_store_write(s, run.off, buf + done, n, why)
                       : sluice_store_read(s, run.off, buf + done, n, why));
    }
    return error;
}

/* One piece of a lot: what differs from the first copy is written over. */
static int heal_piece(sluice_store *const *member, const sluice_lot *lot, sluice_run piece, unsigned char *buf,
                      bool *changed, sluice_reason *why) {
    unsigned char *other = buf + BUFFER;
    int error = move(member[lot->subfile[0]], false, &lot->where[0], piece, buf, why);
    for (int c = 1; c < lot->n && !error; c++) {
        sluice_store *s = member[lot->subfile[c]];
        error = move(s, false, &lot->where[c], piece, other, why);
        if (error || !memcmp(buf, other, (size_t)piece.len)) continue;
        error = move(s, true, &lot->where[c], piece, buf, why);
        changed[lot->subfile[c]] = true;
    }
    return error;
}

/* The first copies are on disk before what was made equal to them, which is before the mark goes. */
int sluice_mark_heal(int folder, const sluice_manifest *m, sluice_store *const *member, sluice_reason *why) {
    const sluice_placed *p = m->layout->placed;
    unsigned char *buf = sluice_mem_alloc(2, BUFFER);
    bool *changed = sluice_mem_alloc((size_t)m->layout->n, sizeof *changed);
    int error = buf && changed ? 0 : sluice_pass(why, -ENOMEM);
    if (changed) memset(changed, 0, (size_t)m->layout->n * sizeof *changed);
    for (int i = 0; i < p->n && !error; i++) {
        const sluice_lot *lot = &p->lot[i];
        if (lot->n > 1) changed[lot->subfile[0]] = true;
        for (int64_t k = 0; lot->n > 1 && k < lot->bytes.size && !error; k += BUFFER)
            error =
                heal_piece(member, lot, (sluice_run){k, sluice_min(BUFFER, lot->bytes.size - k)}, buf, changed, why);
    }
    for (int i = 0; i < m->layout->n && !error; i++)
        if (changed[i]) error = sluice_store_sync(member[i], why);
    if (!error) error = sluice_pass(why, sluice_mark_remove(folder, m));
    sluice_mem_free(changed);
    sluice_mem_free(buf);
    return error;
}
