/* import.c: `sluice trace import`: traces of what other tools recorded, as lines of text.
 *
 * A line becomes an access; lines of one process that have the same times, file and way, and ascend, are pieces of one
 * access, as `sluice trace csv` writes them.
 */
#include "tool/tool.h"
#include "trace/record.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One line. */
typedef struct line {
    int64_t pid, off, size, begin, end; /* end -1: not said */
    int file;
    bool write, mpi; /* mpi: a call of MPI-IO, as Darshan has them beside the system's */
    int64_t number;
} line;

typedef struct import {
    const char *path;
    FILE *f;
    char *text;
    size_t room;
    int64_t row; /* of the text, from 1 */
    line *line;
    int64_t n, cap;
    char **name;
    bool *posix; /* of each file: Darshan saw calls of the system on it */
    int nname, name_cap;
    int64_t origin;
} import;

static _Noreturn void refuse(const import *m, const char *wrong) {
    report_usage("%s, line %" PRId64 ": %s", m->path, m->row, wrong);
}

static bool next(import *m) {
    const ssize_t n = getline(&m->text, &m->room, m->f);
    if (n < 0 && ferror(m->f)) report_failure("cannot read %s: %s", m->path, strerror(errno));
    if (n < 0) return false;
    m->row++;
    m->text[strcspn(m->text, "\r\n")] = 0;
    return true;
}

static int name_of(import *m, const char *name) {
    for (int i = m->nname - 1; i >= 0; i--)
        if (!strcmp(m->name[i], name)) return i;
    if (m->nname == m->name_cap) {
        m->name_cap = 2 * m->name_cap + 16;
        m->name = realloc(m->name, (size_t)m->name_cap * sizeof *m->name);
        m->posix = realloc(m->posix, (size_t)m->name_cap * sizeof *m->posix);
        if (!m->name || !m->posix) report_failure("out of memory");
    }
    if (!*name) refuse(m, "a file without a name");
    if (!(m->name[m->nname] = strdup(name))) report_failure("out of memory");
    m->posix[m->nname] = false;
    return m->nname++;
}

static void keep(import *m, line l) {
    int64_t end;
    if (l.off < 0 || l.size < 0 || !sluice_add(l.off, l.size, &end) || end == INT64_MAX)
        refuse(m, "offset and size are not those of a file");
    if (l.end >= 0 && l.end < l.begin) refuse(m, "it ends before it begins");
    if (m->n == m->cap) {
        m->cap = 2 * m->cap + 1024;
        if (!(m->line = realloc(m->line, (size_t)m->cap * sizeof *m->line))) report_failure("out of memory");
    }
    l.number = m->n;
    m->line[m->n++] = l;
}

static int64_t whole(import *m, const char *text, const char *what) {
    char *end, message[64];
    errno = 0;
    const long long v = strtoll(text, &end, 10);
    while (isspace((unsigned char)*end)) end++;
    snprintf(message, sizeof message, "expected a number for the %s, not '%.20s'", what, text);
    if (errno || end == text || *end || v < 0) refuse(m, message);
    return v;
}

/* Seconds with decimals, as nanoseconds. */
static int64_t seconds(import *m, const char *text) {
    char *end, message[64];
    const double v = strtod(text, &end);
    while (isspace((unsigned char)*end)) end++;
    snprintf(message, sizeof message, "expected a time in seconds, not '%.20s'", text);
    if (end == text || *end || !(v >= 0) || v > 1e9) refuse(m, message);
    const char *point = strchr(text, '.');
    if (!point || strpbrk(text, "eExX")) return (int64_t)(v * 1e9 + 0.5);
    int64_t ns = 0, unit = 1000000000; /* digit by digit: a double does not have so many */
    for (const char *p = point + 1; isdigit((unsigned char)*p) && unit > 1; p++) ns += (*p - '0') * (unit /= 10);
    return strtoll(text, NULL, 10) * 1000000000 + ns;
}

/* ---- CSV ---- */

/* Cuts the text at its commas; names may stand in quotes. How many fields there are, at most 8. */
static int cut(import *m, char **field) {
    char *p = m->text;
    int n = 0;
    while (n < 8) {
        while (*p == ' ' || *p == '\t') p++;
        char *to = field[n++] = p;
        if (*p == '"') {
            for (p++; *p && (*p != '"' || p[1] == '"'); p++) *to++ = *(*p == '"' ? ++p : p);
            if (!*p++) refuse(m, "a quote that does not end");
        } else {
            while (*p && *p != ',') *to++ = *p++;
        }
        const char after = *p;
        *to = 0;
        if (after != ',') return n;
        p++;
    }
    return n;
}

static void read_csv(import *m) {
    char *field[8];
    while (next(m)) {
        if (!m->text[strspn(m->text, " \t")] || m->text[0] == '#') continue;
        const int n = cut(m, field);
        if (m->row == 1 && !isdigit((unsigned char)field[0][0])) continue; /* names of the columns */
        if (n < 6) refuse(m, "expected process,file,offset,size,R or W,time");
        const char way = (char)toupper((unsigned char)field[4][0]);
        if (way != 'R' && way != 'W') refuse(m, "expected R or W in the fifth place");
        keep(m, (line){.pid = whole(m, field[0], "process"),
                       .file = name_of(m, field[1]),
                       .off = whole(m, field[2], "offset"),
                       .size = whole(m, field[3], "size"),
                       .write = way == 'W',
                       .begin = seconds(m, field[5]),
                       .end = n > 6 && *field[6] ? seconds(m, field[6]) : -1});
    }
}

/* ---- Darshan ---- */

/* The text after a word, in a line that has it; else NULL. */
static const char *after(const char *text, const char *word) {
    const char *at = strstr(text, word);
    return at ? at + strlen(word) : NULL;
}

static void read_darshan(import *m) {
    int file = -1;
    bool any = false;
    while (next(m)) {
        const char *value;
        if (m->text[0] == '#') {
            if ((value = after(m->text, "file_name: "))) file = name_of(m, value);
            if ((value = after(m->text, "start_time: "))) m->origin = strtoll(value, NULL, 10) * 1000000000;
            any |= strstr(m->text, "DXT") != NULL || strstr(m->text, "darshan") != NULL;
            continue;
        }
        char module[32], way[16], off[32], size[32], begin[32], end[32], rank[32];
        const int n =
            sscanf(m->text, " %31s %31s %15s %*s %31s %31s %31s %31s", module, rank, way, off, size, begin, end);
        if (n <= 0) continue;
        const bool mpi = !strcmp(module, "X_MPIIO"), posix = !strcmp(module, "X_POSIX");
        if (!mpi && !posix) {
            if (!any) refuse(m, "not what darshan-dxt-parser prints");
            continue;
        }
        if (n < 7 || (strcmp(way, "read") && strcmp(way, "write"))) refuse(m, "not a line of darshan-dxt-parser");
        if (file < 0) refuse(m, "an access before the name of a file");
        if (posix) m->posix[file] = true;
        keep(m, (line){.pid = whole(m, rank, "rank"),
                       .file = file,
                       .off = whole(m, off, "offset"),
                       .size = whole(m, size, "length"),
                       .write = way[0] == 'w',
                       .mpi = mpi,
                       .begin = seconds(m, begin),
                       .end = seconds(m, end)});
    }
}

/* ---- The trace ---- */

static int compare(const void *a, const void *b) {
    const line *p = a, *q = b;
    if (p->pid != q->pid) return p->pid < q->pid ? -1 : 1;
    if (p->begin != q->begin) return p->begin < q->begin ? -1 : 1;
    return p->number < q->number ? -1 : p->number > q->number;
}

/* The second is a further piece of the same access. */
static bool piece(const line *p, const line *q) {
    return p->pid == q->pid && p->file == q->file && p->write == q->write && p->begin == q->begin && p->end >= 0 &&
           p->end == q->end && q->off >= p->off + p->size;
}

static void build(import *m, sluice_trace *t) {
    int nproc = 0;
    sluice_run *run = report_alloc((size_t)m->n + 1, sizeof *run);
    for (int64_t i = 0; i < m->n; i++) nproc += i == 0 || m->line[i].pid != m->line[i - 1].pid;
    report_error(sluice_trace_make(t, nproc), "making the trace");
    t->origin = m->origin;
    for (int i = 0; i < m->nname; i++)
        report_error(sluice_min(sluice_trace_add_file(t, m->name[i], -1), 0) < 0, "making the trace");
    int proc = -1;
    for (int64_t i = 0, k; i < m->n; i = k) {
        const line *l = &m->line[i];
        sluice_set s = SLUICE_SET_EMPTY;
        if (i == 0 || l->pid != m->line[i - 1].pid) t->proc[++proc].pid = l->pid;
        run[0] = (sluice_run){l->off, l->size};
        for (k = i + 1; k < m->n && piece(&m->line[k - 1], &m->line[k]); k++)
            run[k - i] = (sluice_run){m->line[k].off, m->line[k].size};
        sluice_trace_file *f = &t->file[l->file];
        f->size = sluice_max(f->size, m->line[k - 1].off + m->line[k - 1].size);
        report_error(sluice_set_runs(&s, run, k - i, NULL), "making the trace");
        const sluice_event e = {.proc = proc,
                                .file = l->file,
                                .write = l->write,
                                .set = &s,
                                .begin = l->begin,
                                .end = l->end < 0 ? l->begin : l->end};
        report_error(sluice_trace_append(t, &e), "making the trace");
        sluice_set_free(&s);
    }
    report_error(sluice_trace_finish(t), "making the trace");
    free(run);
}

int import_run(const options *o, int n, char **argument) {
    sluice_trace t;
    sluice_reason why;
    struct stat st;
import m = {.path = o->darshan ? o->darshan:o->csv };
    (void)n, (void)argument;
    if (!o->darshan == !o->csv) report_usage("expected one of --darshan FILE and --csv FILE");
    if (!o->output) report_usage("where is the trace to go? like -o run.trace");
    if (!o->force && !lstat(o->output, &st)) report_usage("%s exists; --force replaces it", o->output);
    if (!(m.f = fopen(m.path, "re"))) report_usage("cannot open %s: %s", m.path, strerror(errno));
    (o->darshan ? read_darshan : read_csv)(&m);
    fclose(m.f);
    /* Darshan has the calls of MPI-IO and those of the system that became of them: only where there are none of the
     * system are the others taken. */
    int64_t kept = 0;
    for (int64_t i = 0; i < m.n; i++)
        if (!m.line[i].mpi || !m.posix[m.line[i].file]) m.line[kept++] = m.line[i];
    m.n = kept;
    if (!m.n) report_usage("%s holds no accesses", m.path);
    qsort(m.line, (size_t)m.n, sizeof *m.line, compare);
    build(&m, &t);
    if (sluice_trace_save(&t, o->output, &why)) report_failure("%s", why.text);
    char before[PATH_MAX + 2];
    snprintf(before, sizeof before, "%s: ", o->output);
    trace_summary(stderr, &t, before);
    sluice_trace_free(&t);
    for (int i = 0; i < m.nname; i++) free(m.name[i]);
    free(m.name);
    free(m.posix);
    free(m.line);
    free(m.text);
    return 0;
}
