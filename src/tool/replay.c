/* replay.c: `sluice replay`: the accesses of a trace once more, on a file or a container of whatever layout.
 *
 * Process p repeats what process p of the trace did to one file, in its order: what was collective is so again if all
 * processes made as many such calls in the same order, and else each for itself. The latency of every access is
 * measured. What is in the file stays, for a write writes what is there; or it is first replaced by words that follow
 * from their places (--fill), against which every byte read is compared.
 */
#include "array/array.h"
#include "tool/page.h"
#include "tool/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of reads and of writes; local of all that was moved, copies included. */
typedef struct tally {
    double bytes, accesses, seconds, local, all, traced;
} tally;

typedef struct replay {
    const options *o;
    sluice_trace t;
    int file;
    sluice_array *array;
    int against; /* a file to compare with, or -1 */
    bool known;  /* the contents are the formula */
    bool together;
    double speed; /* 0: no pauses */
    int64_t accesses, collective, end;
    unsigned char *buf, *other; /* each so long: */
    int64_t room;
    tally of[2];
    double seconds, traced; /* of the whole run */
} replay;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- What is to be done ---- */

/* Looks through the accesses of this process: how many, how large, how far; and how long the trace says that they took.
 * Whether all processes can make its collective calls together. */
static void look(replay *r) {
    sluice_events c;
    sluice_event e;
    uint64_t order = SLUICE_MIX;
    int64_t first = INT64_MAX, last = 0;
    report_error(sluice_events_init(&c, &r->t, ranks_rank()), "replay");
    while (sluice_events_next(&c, &e)) {
        if (e.file != r->file) continue;
        r->accesses++;
        r->end = sluice_max(r->end, e.set->size ? e.off + sluice_set_hi(e.set) : 0);
        r->room = sluice_max(r->room, e.set->size);
        r->of[e.write].traced += (double)(e.end - e.begin) * 1e-9;
        first = sluice_min(first, e.begin);
        last = sluice_max(last, e.end);
        if (!e.collective) continue;
        r->collective++;
        order = sluice_mix(order, e.write);
    }
    sluice_events_close(&c);
    int64_t least[] = {r->collective, (int64_t)(order >> 2), r->end, first, last}, most[5];
    ranks_extremes(least, most, 5);
    r->together = least[0] == most[0] && least[1] == most[1] && ranks_size() > 1;
    r->end = most[2];
    r->traced = most[4] > least[3] ? (double)(most[4] - least[3]) * 1e-9 : 0;
}

static double read_speed(const char *text) {
    if (!text || !strcmp(text, "max")) return 0;
    if (!strcmp(text, "real")) return 1;
    char *end;
    const double x = strtod(text, &end);
    if (end == text || *end || !(x > 0) || isinf(x))
        report_at("speed", text, 0, "expected real, max or a number above 0");
    return x;
}

static void load(replay *r, const char *path) {
    sluice_reason why;
    const int error = sluice_trace_load(&r->t, path, &why);
    if (error == -ENOMEM) report_failure("%s", why.text);
    if (error) report_usage("%s", why.text);
    if (r->t.nproc != ranks_size())
        report_usage("the trace is of %d process%s, and here %s %d: mpiexec -n %d sluice replay ...", r->t.nproc,
                     r->t.nproc == 1 ? "" : "es", ranks_size() == 1 ? "is" : "are", ranks_size(), r->t.nproc);
    r->file = r->o->traced ? digest_find(&r->t, r->o->traced) : digest_heaviest(&r->t);
    if (r->file < 0 && r->o->traced) report_usage("the trace has no file '%s'", r->o->traced);
    if (r->file < 0) report_usage("%s: no file was read or written", path);
}

/* ---- The data ---- */

static const sluice_options *how(const options *o) {
    static sluice_options with;
    with = (sluice_options){
        .size = sizeof with, .memory = o->memory, .layout = o->layout, .targets = o->targets, .bindings = o->bind};
    return &with;
}

/* A file is taken as bytes, whatever is in it; a container says itself how many bytes it has. */
static void open_data(replay *r) {
    struct stat st;
    sluice_desc bytes = {.format = SLUICE_RAW, .shape = {.ndims = 1, .dim = {r->end}, .elem = 1}, .type = "uint8"};
    int64_t there = stat(r->o->on, &st) ? -errno : 0;
    ranks_share(&there, sizeof there);
    if (there == -ENOENT) {
        r->known = true;
        report_array(ranks_create(&r->array, r->o->on, &bytes, how(r->o)));
        return;
    }
    if (there) report_usage("%s: %s", r->o->on, sluice_strerror((int)there));
    if (r->o->layout) report_usage("%s is there; --layout is for a new container", r->o->on);
    bytes.shape.dim[0] = st.st_size;
    r->known = r->o->refill;
    report_array(ranks_open(&r->array, r->o->on, SLUICE_WRITE, S_ISDIR(st.st_mode) ? NULL : &bytes, how(r->o)));
    const sluice_shape *shape = &sluice_describe(r->array)->shape;
    int64_t size = r->array->layout ? r->array->layout->length : shape->dim[0];
    if (r->end > size)
        report_usage("the trace goes up to byte %" PRId64 " of '%s', but %s has %" PRId64, r->end,
                     r->t.file[r->file].name, r->o->on, size);
    r->end = size;
}

/* Eight bytes that follow from their place. */
static uint64_t word(int64_t index) {
    uint64_t x = ((uint64_t)index + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
    return x ^ (x >> 32);
}

static void formula(unsigned char *buf, const sluice_set *set) {
    sluice_cursor c;
    sluice_run run;
    for (sluice_cursor_init(&c, set); sluice_cursor_run(&c, &run);)
        for (int64_t x = run.off; x < run.off + run.len;) {
            const uint64_t w = word(x / 8);
            const int64_t n = sluice_min(8 - x % 8, run.off + run.len - x);
            memcpy(buf, (const char *)&w + x % 8, (size_t)n);
            buf += n;
            x += n;
        }
}

/* Each process its share. */
static void fill(replay *r, int *error, sluice_reason *why) {
    enum { SLAB = 1 << 20 };
    const int64_t size = ranks_size(), from = r->end / size * ranks_rank(),
                  to = ranks_rank() == size - 1 ? r->end : r->end / size * (ranks_rank() + 1);
    unsigned char *buf = ranks_alloc(NULL, SLAB, 1);
    for (int64_t x = from; x < to && !*error; x += SLAB) {
        sluice_set slab = SLUICE_SET_EMPTY;
        *error = sluice_pass(why, sluice_set_block(&slab, x, sluice_min(SLAB, to - x)));
        formula(buf, &slab);
        *error = sluice_bytes_move(r->array, &(sluice_bytes){&slab, buf, true, false}, *error, why);
        sluice_set_free(&slab);
    }
    free(buf);
}

static int read_plain(int fd, unsigned char *buf, const sluice_set *set, const char *name, sluice_reason *why) {
    sluice_cursor c;
    sluice_run run;
    for (sluice_cursor_init(&c, set); sluice_cursor_run(&c, &run); buf += run.len)
        for (int64_t done = 0; done < run.len;) {
            const ssize_t n = pread(fd, buf + done, (size_t)(run.len - done), run.off + done);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return sluice_refuse(why, -errno, -1, "read %s: %s", name, strerror(errno));
            if (n == 0) memset(buf + done, 0, (size_t)(run.len - done));
            done += n ? n : run.len - done;
        }
    return 0;
}

/* ---- Doing it ---- */

static int verify(replay *r, const sluice_set *set, sluice_reason *why) {
    if (r->against >= 0) {
        const int error = read_plain(r->against, r->other, set, r->o->against, why);
        if (error) return error;
    } else if (r->known) {
        formula(r->other, set);
    } else {
        return 0;
    }
    if (!memcmp(r->buf, r->other, (size_t)set->size)) return 0;
    int64_t k = 0;
    while (r->buf[k] == r->other[k]) k++;
    return sluice_refuse(why, -EIO, -1, "read %s: byte %lld is %d, and should be %d", r->o->on,
                         (long long)sluice_set_select(set, k), r->buf[k], r->other[k]);
}

/* What a write is to write: what is there, or is to be there. */
static int prepare(replay *r, const sluice_set *set, bool write, sluice_reason *why) {
    if (!write)
        memset(r->buf, 0xA5, (size_t)set->size);
    else if (r->known)
        formula(r->buf, set);
    else
        return sluice_bytes_move(r->array, &(sluice_bytes){set, r->buf, false, false}, 0, why);
    return 0;
}

/* *agreed: the error is that of a collective call, which all have. */
static int repeat(replay *r, const sluice_event *e, int error, bool *agreed, sluice_reason *why) {
    sluice_set set = SLUICE_SET_EMPTY;
    tally *t = &r->of[e->write];
    const bool together = r->together && e->collective;
    int64_t near = 0, all = 0;
    if (!error && e->set->size) error = sluice_pass(why, sluice_event_set(&set, e));
    if (!error) error = prepare(r, &set, e->write, why);
    const double start = now();
    error = sluice_bytes_move(r->array, &(sluice_bytes){&set, r->buf, e->write, together}, error, why);
    t->seconds += now() - start;
    *agreed = error && together;
    if (!error && !e->write) error = verify(r, &set, why);
    if (!error) error = sluice_pass(why, sluice_bytes_near(r->array, &set, e->write, ranks_rank(), &near, &all));
    t->bytes += (double)set.size;
    t->accesses++;
    t->local += (double)near;
    t->all += (double)all;
    sluice_set_free(&set);
    return error;
}

static void pause_for(double seconds) {
    struct timespec t = {(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)};
    while (seconds > 0 && nanosleep(&t, &t) && errno == EINTR) continue;
}

/* With an error a process still takes part in collective calls, by which the others learn of it. */
static int run_all(replay *r, sluice_reason *why) {
    sluice_events c;
    sluice_event e;
    int64_t before = -1;
    bool agreed;
    int error = sluice_pass(why, sluice_events_init(&c, &r->t, ranks_rank()));
    while (sluice_events_next(&c, &e)) {
        if (e.file != r->file) continue;
        if (error && !(r->together && e.collective)) continue;
        if (r->speed > 0 && before >= 0 && !error) pause_for((double)(e.begin - before) * 1e-9 / r->speed);
        before = e.end;
        error = repeat(r, &e, error, &agreed, why);
        if (agreed) break;
    }
    sluice_events_close(&c);
    return error;
}

/* ---- What is said ---- */

static void say(const replay *r, const char *trace) {
    static const char *const verb[] = {"read", "written"};
    printf("replay    %s on %s: '%s'\n", trace, r->o->on, r->t.file[r->file].name);
    printf("          %d process%s%s\n", ranks_size(), ranks_size() == 1 ? "" : "es",
           ranks_size() == 1 ? ""
           : r->together     ? "; collective accesses together"
                             : "; collective accesses each for itself, for they are not the same on all");
    for (int w = 0; w < 2; w++) {
        const tally *t = &r->of[w];
        if (t->accesses == 0) continue;
        printf("%-9s %.0f bytes in %.0f accesses: %s/s, in the trace %s/s\n", verb[w], t->bytes, t->accesses,
               chart_bytes(t->seconds > 0 ? t->bytes / t->seconds : 0),
               chart_bytes(t->traced > 0 ? t->bytes / t->traced : 0));
        if (r->array->layout)
            printf("          %.1f %% of it in the subfiles of the processes themselves\n",
                   t->all > 0 ? 100 * t->local / t->all : 0);
    }
    printf("run       %.6f seconds, in the trace %.6f%s\n", r->seconds, r->traced,
           r->speed > 0 ? "" : "; without pauses");
    printf("verified  %s\n", r->known || r->against >= 0 ? "every byte that was read"
                                                         : "nothing: --fill or --against FILE makes it possible");
}

static void say_json(const replay *r, const char *trace) {
    printf("{\"trace\": ");
    words_json_string(trace);
    printf(", \"data\": ");
    words_json_string(r->o->on);
    printf(", \"file\": ");
    words_json_string(r->t.file[r->file].name);
    printf(", \"processes\": %d, \"together\": %s, ", ranks_size(), r->together ? "true" : "false");
    for (int w = 0; w < 2; w++) {
        const tally *t = &r->of[w];
        printf("\"%s\": {\"bytes\": %.0f, \"accesses\": %.0f, \"seconds\": %.9f, \"bandwidth\": %.6g, "
               "\"traced_seconds\": %.9f, \"local\": %.6f}, ",
               w ? "write" : "read", t->bytes, t->accesses, t->seconds, t->seconds > 0 ? t->bytes / t->seconds : 0,
               t->traced, t->all > 0 ? t->local / t->all : 0);
    }
    printf("\"run\": %.9f, \"traced_run\": %.9f, \"verified\": %s}\n", r->seconds, r->traced,
           r->known || r->against >= 0 ? "true" : "false");
}

static int replay_run(const options *o, int n, char **argument) {
    replay r = {.o = o, .against = -1, .speed = read_speed(o->speed)};
    sluice_reason why;
    int error = 0;
    (void)n;
    if (!o->on) report_usage("replay needs to know on what: --on DATA");
    if (o->refill && o->against) report_usage("--fill makes contents of its own; --against compares with others'");
    load(&r, argument[0]);
    look(&r);
    if (o->against && (r.against = open(o->against, O_RDONLY | O_CLOEXEC)) < 0)
        report_usage("%s: %s", o->against, strerror(errno));
    open_data(&r);
    r.buf = ranks_alloc(NULL, (size_t)r.room + 1, 1);
    r.other = ranks_alloc(NULL, (size_t)r.room + 1, 1);
    if (r.known) fill(&r, &error, &why);
    ranks_blame(error, &why);
    const double start = now();
    error = run_all(&r, &why);
    ranks_blame(error, &why);
    r.seconds = now() - start;
    ranks_add(&r.of[0].bytes, 2 * (int)(sizeof(tally) / sizeof(double)));
    if (ranks_first()) (o->json ? say_json : say)(&r, argument[0]);
    if (r.against >= 0) close(r.against);
    free(r.buf);
    free(r.other);
    report_array(sluice_close(r.array));
    sluice_trace_free(&r.t);
    return 0;
}

const command replay_command = {
    "replay",
    "TRACE --on DATA",
    "Repeats the accesses of a trace on a file or a container",
    "As many processes as the trace is of do what it says of one file, and it is said how fast: the bytes of all "
    "accesses "
    "by\n"
    "the sum of their latencies, the time of the run, and how much a process found in the subfile of its own number. "
    "What "
    "is\n"
    "in DATA stays as it is, unless --fill replaces it. If there is no DATA it is made, with --layout as a container.\n"
    "\n"
    "examples:\n"
    "  mpiexec -n 4 sluice replay run.trace --on field.dat --speed real\n"
    "  mpiexec -n 4 sluice replay run.trace --on new.sluice --layout rows:4 --json\n",
    "@>~=?lgbmj",
    1,
    1,
    replay_run,
};
