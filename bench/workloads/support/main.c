/* main.c: the course of a workload: options, write, read, verify, the figures. */
#include "inside.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program;

void fail(int status, const char *what, const char *why) {
    fprintf(stderr, "%s: %s%s%s\n", program, what, why ? ": " : "", why ? why : "");
    MPI_Abort(MPI_COMM_WORLD, status);
    exit(status);
}

/* ---- Options ---- */

typedef struct settings {
    const char *modes, *file;
    enum { LINE, CSV, JSON } form;
    bool keep, sync;
    bool skip[2]; /* the phase of reading, of writing */
} settings;

static void help(const workload *w) {
    printf("usage: mpiexec -n P %s [options]\n\n%s.\n\n"
           "  --mode MODE,...   unix, mpiio or partitioned: one run for each (default: unix,mpiio)\n"
           "  --file FILE       the file, or the container (default: %s.data in the current folder)\n"
           "  --keep            leave the file there; it always stays in mode partitioned\n"
           "  --phase PHASE     write or read: only that, on a file that stays (default: both)\n"
           "  --sync            what was written is on the disk when the time ends\n"
           "  --size N          %s (default: %lld)\n"
           "  --steps N         so often, one behind the other in the file (default: %lld)\n"
           "  --quick           as small as a test wants it\n"
           "  --csv, --json     how the figures are printed (default: a line)\n",
           w->name, w->title, w->name, w->size_means, (long long)w->size, (long long)w->steps);
    if (w->show) printf("  --png FILE        write the picture\n");
}

static int64_t number(const char *option, const char *text) {
    char *end;
    errno = 0;
    const long long n = strtoll(text, &end, 10);
    char message[128];
    snprintf(message, sizeof message, "%.20s is to be a number from 1 to 1000000000, not '%.20s'", option, text);
    if (errno || end == text || *end || n < 1 || n > 1000000000) fail(2, message, NULL);
    return n;
}

static void read_options(job *j, settings *s, const workload *w, int argc, char **argv) {
    static char standard[64];
    snprintf(standard, sizeof standard, "%s.data", w->name);
    *s = (settings){.modes = "unix,mpiio", .file = standard};
    for (int i = 1; i < argc; i++) {
        const bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--help")) {
            if (j->rank == 0) help(w);
            MPI_Finalize();
            exit(0);
        } else if (!strcmp(argv[i], "--quick")) {
            j->size = w->quick_size, j->steps = w->quick_steps;
        } else if (!strcmp(argv[i], "--keep")) {
            s->keep = true;
        } else if (!strcmp(argv[i], "--sync")) {
            s->sync = true;
        } else if (more && !strcmp(argv[i], "--phase")) {
            const char *phase = argv[++i];
            if (strcmp(phase, "write") && strcmp(phase, "read")) fail(2, "--phase is to be write or read, not", phase);
            s->skip[*phase == 'r'] = s->keep = true;
        } else if (!strcmp(argv[i], "--csv") || !strcmp(argv[i], "--json")) {
            s->form = argv[i][2] == 'c' ? CSV : JSON;
        } else if (more && !strcmp(argv[i], "--mode")) {
            s->modes = argv[++i];
        } else if (more && !strcmp(argv[i], "--file")) {
            s->file = argv[++i];
        } else if (more && !strcmp(argv[i], "--size")) {
            j->size = number("--size", argv[++i]);
        } else if (more && !strcmp(argv[i], "--steps")) {
            j->steps = number("--steps", argv[++i]);
        } else if (more && w->show && !strcmp(argv[i], "--png")) {
            j->png = argv[++i];
        } else {
            fail(2, "no such option, or no value for it", argv[i]);
        }
    }
}

/* ---- Data ---- */

/* Eight bytes that depend on where they lie. */
static uint64_t word(int64_t index) {
    uint64_t x = (uint64_t)index * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
    x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
    return x ^ (x >> 32);
}

static void formula(unsigned char *buf, int64_t off, int64_t len) {
    for (int64_t i = 0; i < len;) {
        const uint64_t x = word((off + i) / 8);
        const int64_t in = (off + i) % 8, n = len - i < 8 - in ? len - i : 8 - in;
        memcpy(buf + i, (const char *)&x + in, (size_t)n);
        i += n;
    }
}

/* What a stretch of a view is to hold. */
static void contents(const workload *w, const job *j, const view *v, stretch at, unsigned char *buf) {
    run r;
    walk k = walk_start(v, at);
    while (walk_next(&k, &r)) {
        if (w->contents)
            w->contents(j, buf, r.off, r.len);
        else
            formula(buf, r.off, r.len);
        buf += r.len;
    }
}

/* ---- The two phases ---- */

typedef struct phase {
    double seconds; /* in accesses */
    double bytes, accesses;
} phase;

static int64_t longest(const workload *w, const job *j) {
    int64_t most = 1;
    for (int write = 0; write < 2; write++)
        for (int64_t k = 0; k < (write ? j->writes : j->reads); k++) {
            const stretch s = w->access(j, write, k);
            if (s.len > most) most = s.len;
        }
    return most;
}

static void first_wrong(const view *v, stretch at, const unsigned char *got, const unsigned char *expected) {
    run r;
    int64_t i = 0;
    walk k = walk_start(v, at);
    while (walk_next(&k, &r) && !memcmp(got + i, expected + i, (size_t)r.len)) i += r.len;
    while (got[i] == expected[i]) i++, r.off++;
    char message[96];
    snprintf(message, sizeof message, "byte %lld of the file was read wrongly", (long long)r.off);
    fail(1, message, NULL);
}

static phase run_phase(const workload *w, const job *j, access_way *a, bool write, unsigned char *buf,
                       unsigned char *expected) {
    const view *v = write ? &j->write : &j->read;
    const int64_t n = write ? j->writes : j->reads;
    phase p = {0};
    way_view(a, v);
    for (int64_t k = 0; k < n; k++) {
        const stretch s = w->access(j, write, k);
        if (write)
            contents(w, j, v, s, buf);
        else
            memset(buf, 0xA5, (size_t)s.len);
        p.seconds += way_move(a, v, s, write, buf, &p.accesses);
        p.bytes += (double)s.len;
        if (write) continue;
        contents(w, j, v, s, expected);
        if (memcmp(buf, expected, (size_t)s.len)) first_wrong(v, s, buf, expected);
    }
    return p;
}

static phase sum(phase p) {
    double in[3] = {p.seconds, p.bytes, p.accesses}, out[3];
    MPI_Allreduce(in, out, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return (phase){out[0], out[1], out[2]};
}

/* ---- Figures ---- */

static double bandwidth(phase p) { return p.seconds > 0 ? p.bytes / p.seconds : 0; }

static void print_json(const char *name, phase p, const char *end) {
    printf("\"%s\": {\"bytes\": %.0f, \"accesses\": %.0f, \"seconds\": %.9g, \"bandwidth\": %.6g}%s", name, p.bytes,
           p.accesses, p.seconds, bandwidth(p), end);
}

static void print(const workload *w, const job *j, const settings *s, const char *mode, phase write, phase read,
                  double whole) {
    if (s->form == CSV) {
        printf("workload,mode,ranks,size,steps,write_bytes,write_accesses,write_seconds,write_bandwidth,read_bytes,"
               "read_accesses,read_seconds,read_bandwidth,run_seconds\n");
        printf("%s,%s,%d,%lld,%lld,%.0f,%.0f,%.9g,%.6g,%.0f,%.0f,%.9g,%.6g,%.6f\n", w->name, mode, j->nranks,
               (long long)j->size, (long long)j->steps, write.bytes, write.accesses, write.seconds, bandwidth(write),
               read.bytes, read.accesses, read.seconds, bandwidth(read), whole);
    } else if (s->form == JSON) {
        printf("{\"workload\": \"%s\", \"mode\": \"%s\", \"ranks\": %d, \"size\": %lld, \"steps\": %lld, ", w->name,
               mode, j->nranks, (long long)j->size, (long long)j->steps);
        print_json("write", write, ", ");
        print_json("read", read, ", ");
        printf("\"run\": %.6f, \"verified\": true}\n", whole);
    } else {
        printf("%-10s %-11s P=%-3d write %8.1f MB/s (%.0f bytes in %.0f accesses)  read %8.1f MB/s (%.0f bytes in %.0f "
               "accesses)  run %.3f s  verified\n",
               w->name, mode, j->nranks, bandwidth(write) / 1e6, write.bytes, write.accesses, bandwidth(read) / 1e6,
               read.bytes, read.accesses, whole);
    }
    fflush(stdout);
}

/* ---- The course ---- */

static void *allocate(int64_t n) {
    void *p = malloc((size_t)n);
    if (!p) fail(1, "no memory", NULL);
    return p;
}

/* Process 0 gets the whole file in the same way. */
static void show(const workload *w, const job *j, access_way *a) {
    const view all = {.extent = j->bytes, .npieces = 1, .piece = {{.len = j->bytes, .count = {1, 1}}}};
    const stretch mine = {0, j->rank == 0 ? j->bytes : 0};
    unsigned char *file = allocate(j->bytes);
    double accesses = 0;
    way_view(a, &all);
    way_move(a, &all, mine, false, file, &accesses);
    const char *trouble = j->rank == 0 ? w->show(j, file) : NULL;
    if (trouble) fail(1, j->png, trouble);
    free(file);
}

/* One of the phases: opens the file, and closes it, so that all see what was written. Bringing it there is a part of
 * writing it. */
static phase enter(const workload *w, const job *j, const settings *s, const char *mode, bool write) {
    const int64_t most = longest(w, j);
    unsigned char *buf = allocate(most), *expected = allocate(most);
    access_way *a = way_open(mode, s->file, j->bytes);
    phase p = run_phase(w, j, a, write, buf, expected);
    if (!write && j->png) show(w, j, a);
    const double end = way_close(a, write && s->sync);
    if (write) p.seconds += end;
    free(buf);
    free(expected);
    return p;
}

static void run_mode(const workload *w, const job *j, const settings *s, const char *mode) {
    phase write = {0}, read = {0};
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = seconds();
    if (!s->skip[true]) write = enter(w, j, s, mode, true);
    if (!s->skip[false]) read = enter(w, j, s, mode, false);
    const double whole = seconds() - start;
    write = sum(write);
    read = sum(read);
    if (j->rank == 0) print(w, j, s, mode, write, read, whole);
    if (j->rank == 0 && !s->keep && strcmp(mode, "partitioned") && remove(s->file)) fail(1, s->file, strerror(errno));
}

int workload_main(const workload *w, int argc, char **argv) {
    job j = {.size = w->size, .steps = w->steps};
    settings s;
    program = w->name;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &j.nranks);
    read_options(&j, &s, w, argc, argv);
    const char *wrong = w->plan(&j);
    if (wrong) {
        if (j.rank == 0)
            fprintf(stderr, "%s: %d processes, size %lld: %s\n", w->name, j.nranks, (long long)j.size, wrong);
        MPI_Finalize();
        return 2;
    }
    char modes[64];
    if ((size_t)snprintf(modes, sizeof modes, "%s", s.modes) >= sizeof modes) fail(2, "--mode", "too long");
    for (char *rest = modes, *mode; (mode = strsep(&rest, ","));) {
        if (!way_known(mode)) fail(2, "--mode is to be unix, mpiio or partitioned, not", mode);
        run_mode(w, &j, &s, mode);
    }
    MPI_Finalize();
    return 0;
}
