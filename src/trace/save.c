/* save.c: traces in files: written whole or not at all, read with suspicion. */
#include "trace/form.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int sluice_save_bytes(int fd, const unsigned char *bytes, int64_t n) {
    while (n > 0) {
        const int done = sluice_sys_write(fd, bytes, (size_t)sluice_min(n, 1 << 30));
        if (done < 0) return done;
        if (done == 0) return -EIO;
        bytes += done, n -= done;
    }
    return 0;
}

/* Writes what the pen has and empties it. */
static int flush(sluice_pen *p, int fd) {
    int err = p->error ? p->error : sluice_save_bytes(fd, p->buf, p->n);
    p->n = 0;
    return err;
}

static int write_trace(const sluice_trace *t, int fd, sluice_pen *p) {
    int err = 0;
    sluice_pen_head(p);
    sluice_pen_begin(p, 'H');
    sluice_pen_number(p, t->origin);
    sluice_pen_number(p, t->nproc);
    sluice_pen_end(p);
    for (int32_t i = 0; i < t->nfile && !err; i++) sluice_pen_file(p, &t->file[i]), err = flush(p, fd);
    for (int32_t i = 0; i < t->nshape && !err; i++) sluice_pen_shape(p, &t->shape[i]), err = flush(p, fd);
    for (int32_t i = 0; i < t->nproc && !err; i++) {
        const sluice_trace_proc *q = &t->proc[i];
        sluice_pen_proc(p, q);
        sluice_pen_nodes(p, i, q->tree, q->nnode);
        sluice_pen_times(p, i, q);
        err = flush(p, fd);
    }
    sluice_pen_begin(p, 'Z');
    sluice_pen_end(p);
    return err ? err : flush(p, fd);
}

int sluice_trace_save(const sluice_trace *t, const char *path, sluice_reason *why) {
    static const char ending[] = ".new";
    sluice_pen p = {0};
    const size_t len = strlen(path);
    if (t->maker) return sluice_refuse(why, SLUICE_E_ARGUMENT, -1, "the trace is not finished");
    char *new = sluice_mem_alloc(len + sizeof ending, 1);
    if (!new) return sluice_pass(why, -ENOMEM);
    memcpy(new, path, len);
    memcpy(new + len, ending, sizeof ending);
    const int fd = sluice_sys_open(AT_FDCWD, new, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int err = fd < 0 ? fd : write_trace(t, fd, &p);
    if (fd >= 0) close(fd);
    if (!err) err = sluice_sys_rename(AT_FDCWD, new, path);
    if (err && fd >= 0) unlink(new);
    if (err) sluice_refuse(why, err, -1, "cannot write %s: %s", path, sluice_strerror(err));
    sluice_pen_free(&p);
    sluice_mem_free(new);
    return err;
}

static int load(sluice_trace *t, const char *path, sluice_author *part, sluice_reason *why) {
    sluice_reason inner;
    *t = (sluice_trace){0};
    const int fd = sluice_sys_open(AT_FDCWD, path, O_RDONLY, 0);
    if (fd < 0) return sluice_refuse(why, fd, -1, "cannot open %s: %s", path, sluice_strerror(fd));
    const int err = sluice_read_source(t, &(sluice_source){.fd = fd}, part, &inner);
    close(fd);
    return err ? sluice_refuse(why, err, inner.pos, "%.60s: %.120s", path, inner.text) : 0;
}

int sluice_trace_load(sluice_trace *t, const char *path, sluice_reason *why) { return load(t, path, NULL, why); }

int sluice_load_part(sluice_trace *t, const char *path, sluice_author *part, sluice_reason *why) {
    *part = (sluice_author){.rank = -1, .nranks = -1};
    return load(t, path, part, why);
}
