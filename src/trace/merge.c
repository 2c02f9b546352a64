/* merge.c: the parts that the processes of a run wrote, as one trace.
 *
 * Times in a part are those of its machine's clock. On one machine that is the same clock for all; between machines it
 * is what was measured while the program ran, or else what the machines' calendars say.
 */
#include "trace/record.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct part {
    sluice_author who;
    sluice_trace t;
    int64_t lacks; /* what its clock lacks to the common one */
} part;

typedef struct merge {
    part *part;
    int n, cap;
    sluice_trace *t;
} merge;

static int64_t first_time(const part *p) { return p->t.proc[0].nknot ? p->t.proc[0].knot[0].at + p->lacks : INT64_MAX; }

/* By rank; those of no rank, and of one process, by their first access. */
static int compare(const void *a, const void *b) {
    const part *p = a, *q = b;
    const unsigned rank_p = (unsigned)p->who.rank, rank_q = (unsigned)q->who.rank; /* -1 comes last */
    const int64_t at_p = first_time(p), at_q = first_time(q);
    if (rank_p != rank_q) return rank_p < rank_q ? -1 : 1;
    if (at_p != at_q) return at_p < at_q ? -1 : 1;
    return p->t.proc[0].pid < q->t.proc[0].pid ? -1 : p->t.proc[0].pid > q->t.proc[0].pid;
}

/* Room for one part more. */
static int reserve(merge *m) {
    if (m->n < m->cap) return 0;
    part *more = sluice_mem_resize(m->part, (size_t)(2 * m->cap + 8), sizeof *more);
    if (!more) return -ENOMEM;
    m->part = more, m->cap = 2 * m->cap + 8;
    return 0;
}

/* A process that ended before it could say who it is: of it is known that it was there. */
static int load_stub(part *p, const char *path, int error, sluice_reason *why) {
    struct stat st;
    if (error != SLUICE_E_FORMAT || stat(path, &st) || st.st_size >= SLUICE_FORM_STUB) return error;
    *p = (part){.who = {.rank = -1}};
    error = sluice_trace_make(&p->t, 1);
    if (!error) error = sluice_trace_finish(&p->t);
    if (error) return sluice_pass(why, error);
    p->t.proc[0].complete = false;
    return 0;
}

static int load_part(merge *m, const char *path, sluice_reason *why) {
    int err = sluice_pass(why, reserve(m));
    if (err) return err;
    part *p = &m->part[m->n];
    *p = (part){0};
    err = sluice_load_part(&p->t, path, &p->who, why);
    if (err) err = load_stub(p, path, err, why);
    if (err) return err;
    m->n++;
    if (p->t.nproc != 1) return sluice_refuse(why, SLUICE_E_FORMAT, -1, "%s: not the part of one process", path);
    return 0;
}

static int load_parts(merge *m, const char *folder, sluice_reason *why) {
    DIR *d = opendir(folder);
    const struct dirent *entry;
    int err = 0;
    if (!d) return sluice_refuse(why, -errno, -1, "cannot open %s: %s", folder, sluice_strerror(-errno));
    while (!err && (entry = readdir(d))) {
        const char *ending = strrchr(entry->d_name, '.');
        char path[PATH_MAX + 256];
        if (!ending || strcmp(ending, ".part") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        err = load_part(m, path, why);
    }
    closedir(d);
    return err;
}

static bool same_machine(const part *p, const part *q) { return !memcmp(p->who.boot, q->who.boot, sizeof p->who.boot); }

/* One clock, that of the part of the lowest rank; its time 0 is the first access of all. */
static int64_t align(merge *m) {
    const part *first = &m->part[0];
    int64_t origin = INT64_MAX;
    for (int i = 1; i < m->n; i++)
        if ((unsigned)m->part[i].who.rank < (unsigned)first->who.rank) first = &m->part[i];
    for (int i = 0; i < m->n; i++) {
        part *p = &m->part[i];
        const bool measured = p->who.aligned && first->who.aligned;
        if (!same_machine(p, first))
            p->lacks = measured ? p->who.skew - first->who.skew : p->who.wall - first->who.wall;
        origin = sluice_min(origin, first_time(p));
    }
    if (origin == INT64_MAX) origin = 0;
    m->t->origin = origin ? sluice_max(origin + first->who.wall, 0) : 0;
    return origin;
}

/* Parts that are of one process. */
static bool same_process(const part *p, const part *q) {
    if (p->who.rank >= 0 || q->who.rank >= 0) return p->who.rank == q->who.rank;
    return p->t.proc[0].pid && p->t.proc[0].pid == q->t.proc[0].pid && same_machine(p, q);
}

/* The numbers of files and shapes become those of the whole. */
static int renumber(merge *m, part *p) {
    sluice_trace_proc *q = &p->t.proc[0];
    int32_t *number = sluice_mem_alloc((size_t)(p->t.nfile + p->t.nshape) + 1, sizeof *number);
    int err = number ? 0 : -ENOMEM;
    for (int32_t i = 0; i < p->t.nfile && err >= 0; i++)
        err = number[i] = sluice_trace_add_file(m->t, p->t.file[i].name, p->t.file[i].size);
    for (int32_t i = 0; i < p->t.nshape && err >= 0; i++)
        err = number[p->t.nfile + i] = sluice_trace_add_shape(m->t, &p->t.shape[i], 0);
    for (int64_t i = 0; i < q->nnode && err >= 0; i++) {
        sluice_trace_node *f = &q->tree[i];
        if (f->span > 1) continue;
        f->file = number[f->file];
        if (f->shape != SLUICE_TRACE_BLOCK) f->shape = number[p->t.nfile + f->shape];
    }
    sluice_mem_free(number);
    return err < 0 ? err : 0;
}

/* The only part of process `to`: its nodes and times as they are. */
static int take(merge *m, part *p, int32_t to, int64_t origin) {
    sluice_trace_proc *q = &p->t.proc[0];
    sluice_making *into = &m->t->maker->proc[to];
    int err = renumber(m, p);
    if (err) return err;
    for (int64_t i = 0; i < q->nknot; i++) q->knot[i].at += p->lacks - origin;
    into->ready = true;
    into->loops = (sluice_loops){.tree = q->tree, .n = q->nnode};
    into->times = (sluice_times){.knot = q->knot, .n = q->nknot, .events = q->nevents, .blur = q->blur};
    q->tree = NULL, q->knot = NULL, q->nnode = q->nknot = q->nevents = 0;
    return 0;
}

/* Several parts of process `to`, access by access in the order of time. */
static int mix(merge *m, part *p, int n, int32_t to, int64_t origin) {
    sluice_trace together = {0};
    merge one = {.part = p, .n = n, .t = &together};
    sluice_events c = {0};
    sluice_event e;
    int err = sluice_trace_make(&together, n);
    for (int i = 0; i < n && !err; i++) err = take(&one, &p[i], i, origin);
    if (!err) err = sluice_trace_finish(&together);
    if (!err) err = sluice_events_init(&c, &together, SLUICE_EVERY_PROCESS);
    while (!err && sluice_events_next(&c, &e)) {
        const int file = sluice_trace_add_file(m->t, together.file[e.file].name, together.file[e.file].size);
        e.proc = to, e.file = file;
        err = file < 0 ? file : sluice_trace_append(m->t, &e);
    }
    sluice_events_close(&c);
    sluice_trace_free(&together);
    return err;
}

/* All parts, which are sorted, and ranks of which there is none. */
static int put_together(merge *m, int64_t origin) {
    int32_t nproc = 0, ranks = 0, to = 0;
    int err = 0;
    for (int i = 0; i < m->n; i++) {
        ranks = (int32_t)sluice_max(ranks, sluice_max(m->part[i].who.nranks, m->part[i].who.rank + INT64_C(1)));
        nproc += m->part[i].who.rank < 0 && (i == 0 || !same_process(&m->part[i - 1], &m->part[i]));
    }
    if (ranks > SLUICE_MERGE_RANKS) return SLUICE_E_OVERFLOW;
    const int64_t wall = m->t->origin;
    err = sluice_trace_make(m->t, ranks + nproc);
    m->t->origin = wall;
    to = ranks;
    for (int i = 0, k; i < m->n && !err; i = k) {
        for (k = i + 1; k < m->n && same_process(&m->part[i], &m->part[k]);) k++;
        const int32_t rank = m->part[i].who.rank, place = rank >= 0 ? rank : to++;
        sluice_trace_proc *p = &m->t->proc[place];
        p->pid = m->part[i].t.proc[0].pid;
        for (p->node = 0; !same_machine(&m->part[p->node], &m->part[i]);) p->node++;
        for (int j = i; j < k; j++) {
            p->complete &= m->part[j].t.proc[0].complete;
            p->lost += m->part[j].t.proc[0].lost;
        }
        err = k == i + 1 ? take(m, &m->part[i], place, origin) : mix(m, &m->part[i], k - i, place, origin);
    }
    return err ? err : sluice_trace_finish(m->t);
}

int sluice_merge_parts(sluice_trace *t, const char *folder, sluice_reason *why) {
    merge m = {.t = t};
    *t = (sluice_trace){0};
    int err = load_parts(&m, folder, why);
    if (!err && !m.n)
        err = sluice_refuse(why, -ENOENT, -1, "%s holds no parts of a trace: no access was recorded", folder);
    if (!err) {
        const int64_t origin = align(&m);
        qsort(m.part, (size_t)m.n, sizeof *m.part, compare);
        err = sluice_pass(why, put_together(&m, origin));
    }
    for (int i = 0; i < m.n; i++) sluice_trace_free(&m.part[i].t);
    sluice_mem_free(m.part);
    if (err) sluice_trace_free(t);
    return err;
}

int sluice_merge_remove(const char *folder) {
    DIR *d = opendir(folder);
    const struct dirent *entry;
    if (!d) return -errno;
    while ((entry = readdir(d))) {
        const char *ending = strrchr(entry->d_name, '.');
        if (ending && !strcmp(ending, ".part")) (void)sluice_sys_unlink(dirfd(d), entry->d_name); /* rmdir will tell */
    }
    closedir(d);
    return sluice_sys_rmdir(AT_FDCWD, folder);
}
