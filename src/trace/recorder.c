/* recorder.c: a part of a trace, written while the accesses are made, in bounded memory. */
#include "trace/record.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int64_t second = 1000000000;

static int64_t clock_of(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * second + now.tv_nsec;
}

int64_t sluice_record_now(void) { return clock_of(CLOCK_MONOTONIC); }

/* What the pen has goes to the part; `stay`: for good. After an error there is nothing more to be written. */
static void flush(sluice_recorder *r, bool stay) {
    if (!r->error) r->error = r->pen.error;
    if (!r->error && lseek(r->fd, r->written, SEEK_SET) < 0) r->error = -errno;
    if (!r->error) r->error = sluice_save_bytes(r->fd, r->pen.buf, r->pen.n);
    if (!r->error && stay) r->written += r->pen.n, r->named = r->files;
    r->pen.n = 0;
}

/* New files and shapes, before what names them. */
static void write_tables(sluice_recorder *r) {
    for (; r->files < r->t.nfile; r->files++) sluice_pen_file(&r->pen, &r->t.file[r->files]);
    for (; r->shapes < r->t.nshape; r->shapes++) sluice_pen_shape(&r->pen, &r->t.shape[r->shapes]);
}

/* How far it has come: sizes, and times to the end of the last access, for which the time line has room. */
static void write_end(sluice_recorder *r, bool complete) {
    const sluice_making *m = &r->t.maker->proc[0];
    sluice_trace_proc p = {.complete = complete, .lost = r->lost, .blur = m->times.blur, .knot = m->times.knot};
    p.nknot = m->times.n;
    if (p.nknot && p.knot[p.nknot - 1].event < m->times.events)
        p.knot[p.nknot++] = (sluice_trace_knot){m->times.events, sluice_max(m->end, m->times.last)};
    for (int32_t i = 0; i < r->named; i++) sluice_pen_length(&r->pen, i, r->t.file[i].size);
    sluice_pen_times(&r->pen, 0, &p);
}

/* Nodes that are old go to the part for good. */
static void spill(sluice_recorder *r, bool all) {
    sluice_loops *l = &r->t.maker->proc[0].loops;
    const int64_t n = all ? l->n : sluice_loops_old(l, SLUICE_RECORD_NODES / 2);
    write_tables(r);
    sluice_pen_nodes(&r->pen, 0, l->tree, n);
    flush(r, true);
    sluice_loops_drop(l, n);
}

/* All that there is, so that it is there if the process ends now. */
static void save(sluice_recorder *r, int64_t now) {
    const sluice_loops *l = &r->t.maker->proc[0].loops;
    r->saved = now;
    write_tables(r);
    flush(r, true);
    sluice_pen_nodes(&r->pen, 0, l->tree, l->n);
    write_end(r, false);
    const int64_t end = r->written + r->pen.n;
    flush(r, false);
    if (!r->error) r->error = sluice_sys_resize(r->fd, end); /* what a longer one before it left */
}

int sluice_recorder_open(sluice_recorder *r, const char *path) {
    *r = (sluice_recorder){.fd = -1, .part = {.rank = -1, .nranks = -1}};
    int err = sluice_trace_make(&r->t, 1);
    if (!err) err = r->fd = sluice_sys_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, 0666);
    if (err < 0) {
        sluice_trace_free(&r->t);
        return err;
    }
    r->saved = sluice_record_now();
    r->part.wall = clock_of(CLOCK_REALTIME) - r->saved;
    sluice_sys_boot(r->part.boot);
    return 0;
}

/* The chunks with which the part begins, once it is known who writes it. */
static void write_head(sluice_recorder *r) {
    sluice_pen_head(&r->pen);
    sluice_pen_begin(&r->pen, 'H');
    sluice_pen_number(&r->pen, 0);
    sluice_pen_number(&r->pen, 1);
    sluice_pen_end(&r->pen);
    sluice_pen_clock(&r->pen, &r->part);
    sluice_pen_proc(&r->pen, &(sluice_trace_proc){.pid = getpid()});
    flush(r, true);
}

int sluice_recorder_file(sluice_recorder *r, const char *name, int64_t size) {
    if (r->t.nfile >= SLUICE_RECORD_FILES) return -EMFILE;
    return sluice_trace_add_file(&r->t, name, size);
}

void sluice_recorder_access(sluice_recorder *r, const sluice_event *e) {
    if (!r->written && !r->error) write_head(r);
    int err = r->error ? r->error : sluice_trace_append(&r->t, e);
    if (err) {
        r->lost++;
        return;
    }
    if (e->write && e->set->size) {
        sluice_trace_file *f = &r->t.file[e->file];
        f->size = sluice_max(f->size, e->off + sluice_set_hi(e->set));
    }
    const struct sluice_maker *m = r->t.maker;
    if (m->families > SLUICE_RECORD_SHAPES) {
        write_tables(r);
        flush(r, true);
        sluice_trace_forget_shapes(&r->t);
        r->shapes = 0;
        save(r, e->end);
    }
    const bool full = m->proc[0].loops.n > SLUICE_RECORD_NODES;
    if (full) spill(r, false);
    if (full || e->end - r->saved > second) save(r, e->end); /* a spill ends where the end was that was saved last */
}

void sluice_recorder_align(sluice_recorder *r, int64_t skew) {
    r->part.aligned = true, r->part.skew = skew;
    if (!r->written) return;
    sluice_pen_clock(&r->pen, &r->part); /* once more: the last one counts */
    flush(r, true);
}

int sluice_recorder_close(sluice_recorder *r) {
    sluice_making *m = &r->t.maker->proc[0];
    if (!r->written && !r->error) write_head(r);
    int err = r->error ? r->error : sluice_loops_finish(&m->loops);
    if (!err) spill(r, true);
    sluice_times_finish(&m->times, m->end);
    if (!err) err = r->error;
    r->error = r->pen.error = 0; /* to say at least that something is missing */
    r->pen.n = 0;
    write_end(r, !err && !r->lost);
    sluice_pen_begin(&r->pen, 'Z');
    sluice_pen_end(&r->pen);
    flush(r, true); /* what was saved last may go on after the end, where no one reads */
    if (!err) err = r->error ? r->error : r->lost ? -ENOMEM : 0;
    close(r->fd);
    sluice_pen_free(&r->pen);
    sluice_trace_free(&r->t);
    *r = (sluice_recorder){.fd = -1};
    return err;
}
