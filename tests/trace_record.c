/* ranks: 1 */
/* trace_record.c: recorders: parts in bounded memory, of which one trace becomes; what fails never fails the caller,
 * and the trace says that something is missing. */
#include "support/unit.h"
#include "trace/record.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "trace_record.XXXXXX";
static char path[300];

static const char *part_path(int i) {
    snprintf(path, sizeof path, "%s/%d.part", folder, i);
    return path;
}

/* Access k of a program: regular, random or with ever new shapes. A formula, so that any of them can be asked for. */
enum { REGULAR, RANDOM, SHAPES, KINDS };
static int64_t scramble(int64_t k) { return (int64_t)(sluice_mix(sluice_mix(SLUICE_MIX, k), 17) >> 20); }
static int64_t off_of(int kind, int64_t k) { return kind == REGULAR ? 100 * k : scramble(k) % 1000000; }
static int set_of(sluice_set *s, int kind, int64_t k) {
    if (kind == SHAPES) return sluice_set_falls(s, 0, 1 + k % 5, 10 + k, 3 + k % 7);
    return sluice_set_block(s, 0, kind == REGULAR ? 64 : 1 + scramble(k + 5) % 1000);
}

static int record(int part, int kind, int64_t n, int64_t start) {
    sluice_recorder r;
    sluice_set s = SLUICE_SET_EMPTY;
    int err = sluice_recorder_open(&r, part_path(part));
    if (err) return err;
    const int a = sluice_recorder_file(&r, "/data/a", 17), b = sluice_recorder_file(&r, "/data/b", -1);
    for (int64_t k = 0; k < n; k++) {
        const bool made = !set_of(&s, kind, k);
        const sluice_event e = {.file = k % 2 ? a : b,
                                .write = k % 3 == 0,
                                .set = &s,
                                .off = off_of(kind, k),
                                .begin = start + 1000 * k,
                                .end = start + 1000 * k + 500};
        if (made) sluice_recorder_access(&r, &e);
        if (!made) r.lost++; /* the caller's memory ran out, not the recorder's */
    }
    sluice_set_free(&s);
    r.part.rank = part, r.part.nranks = -1;
    return sluice_recorder_close(&r);
}

/* Process `proc` has accesses 0, 1, ... as far as it goes; returns how many. */
static int64_t agree(const sluice_trace *t, int proc, int kind, int64_t start) {
    sluice_events c;
    sluice_event e;
    sluice_set s = SLUICE_SET_EMPTY;
    int64_t k = 0;
    CHECK(!sluice_events_init(&c, t, proc));
    for (; sluice_events_next(&c, &e); k++) {
        CHECK(!set_of(&s, kind, k) && sluice_set_equal(&s, e.set) == 1 && e.off == off_of(kind, k) &&
                  e.write == (k % 3 == 0) && !strcmp(t->file[e.file].name, k % 2 ? "/data/a" : "/data/b"),
              "access %" PRId64, k);
        CHECK(llabs(e.begin - (start + 1000 * k)) <= t->proc[proc].blur, "time of access %" PRId64, k);
    }
    sluice_events_close(&c);
    sluice_set_free(&s);
    return k;
}

static void empty_folder(void) {
    CHECK(!sluice_merge_remove(folder));
    CHECK(!mkdir(folder, 0777));
}

static void test_whole(void) {
    static const int64_t many[KINDS] = {300000, 30000, 6000};
    for (int kind = 0; kind < KINDS; kind++) {
        sluice_trace t;
        sluice_reason why;
        struct stat st;
        const int64_t live = sluice_mem_live();
        sluice_mem_peak_reset();
        CHECK(!record(0, kind, many[kind], 5000));
        CHECK(sluice_mem_peak() - live < 1 << 20, "%" PRId64 " bytes of memory", sluice_mem_peak() - live);
        CHECK(!stat(part_path(0), &st) && (kind != REGULAR || st.st_size < 16384), "%lld bytes", (long long)st.st_size);
        int err = sluice_merge_parts(&t, folder, &why);
        CHECK(!err, "%s", why.text);
        CHECK(t.nproc == 1 && t.proc[0].complete && !t.proc[0].lost && t.nfile == 2);
        CHECK(t.file[0].size >= 17 && t.file[1].size > 1000, "%" PRId64, t.file[1].size);
        CHECK(agree(&t, 0, kind, 0) == many[kind]);
        CHECK(kind != REGULAR || t.proc[0].nnode == 7, "%" PRId64 " nodes", t.proc[0].nnode);
        sluice_trace_free(&t);
        empty_folder();
    }
}

/* A process that is killed: what it had saved is there, the rest is known to be missing. */
static void test_killed(void) {
    sluice_recorder r;
    sluice_trace t;
    sluice_author part;
    sluice_reason why;
    for (int kind = 0; kind < KINDS; kind++) {
        sluice_set s = SLUICE_SET_EMPTY;
        CHECK(!sluice_recorder_open(&r, part_path(0)));
        const int a = sluice_recorder_file(&r, "/data/a", 17), b = sluice_recorder_file(&r, "/data/b", -1);
        const int64_t now = r.saved;
        for (int64_t k = 0; k < 5000; k++) {
            CHECK(!set_of(&s, kind, k));
            sluice_recorder_access(&r, &(sluice_event){.file = k % 2 ? a : b,
                                                       .write = k % 3 == 0,
                                                       .set = &s,
                                                       .off = off_of(kind, k),
                                                       .begin = now + 1000000 * k,
                                                       .end = now + 1000000 * k + 500});
        }
        int err = sluice_load_part(&t, part_path(0), &part, &why);
        CHECK(!err, "%s", why.text);
        CHECK(!t.proc[0].complete && t.proc[0].nevents >= 3990 && t.proc[0].nevents < 5000, "%" PRId64,
              t.proc[0].nevents);
        sluice_events c;
        sluice_event e;
        CHECK(!sluice_events_init(&c, &t, 0));
        for (int64_t k = 0; sluice_events_next(&c, &e); k++) {
            CHECK(e.off == off_of(kind, k));
            CHECK(llabs(e.begin - now - 1000000 * k) <= t.proc[0].blur + 1000000, "%" PRId64, k);
        }
        sluice_events_close(&c);
        sluice_trace_free(&t);
        CHECK(!sluice_recorder_close(&r));
        sluice_set_free(&s);
        empty_folder();
    }
    /* One that could not even say who it is. */
    CHECK(!record(0, REGULAR, 100, 0));
    close(open(part_path(1), O_CREAT | O_WRONLY, 0666));
    CHECK(!sluice_merge_parts(&t, folder, &why), "%s", why.text);
    CHECK(t.nproc == 2 && t.proc[0].complete && !t.proc[1].complete && !t.proc[1].nevents);
    sluice_trace_free(&t);
    empty_folder();
}

/* Ranks in their order, one that is missing, machines whose clocks differ, one process with two parts. */
static void test_merge(void) {
    sluice_trace t;
    sluice_reason why;
    CHECK(sluice_merge_parts(&t, folder, &why) == -ENOENT && strstr(why.text, "no parts"));
    CHECK(sluice_merge_parts(&t, "nowhere", &why) == -ENOENT && strstr(why.text, "nowhere"));
    for (int i = 0; i < 4; i++) {
        sluice_recorder r;
        sluice_set s = SLUICE_SET_EMPTY;
        const int rank[] = {2, 0, 0, 3};
        CHECK(!sluice_set_block(&s, 0, 10));
        CHECK(!sluice_recorder_open(&r, part_path(i)));
        const int f = sluice_recorder_file(&r, "/data/a", -1);
        r.part.rank = rank[i], r.part.nranks = 5, r.part.wall = 1000000;
        memset(r.part.boot, rank[i] == 0 ? 'a' : 'b', sizeof r.part.boot);
        if (i != 3) r.part.aligned = true, r.part.skew = rank[i] == 0 ? 0 : -7000; /* the clock of b is ahead */
        if (i == 3) r.part.wall -= 7500;
        const int64_t ahead = rank[i] == 0 ? 0 : 7000;
        for (int64_t k = 0; k < 100; k++)
            sluice_recorder_access(&r, &(sluice_event){.file = f,
                                                       .set = &s,
                                                       .off = 1000 * i + k,
                                                       .begin = 90000 + ahead + 100 * k + 10 * i,
                                                       .end = 90000 + ahead + 100 * k + 10 * i});
        CHECK(!sluice_recorder_close(&r));
        sluice_set_free(&s);
    }
    CHECK(!sluice_merge_parts(&t, folder, &why), "%s", why.text);
    CHECK(t.nproc == 5 && t.nfile == 1 && t.proc[0].nevents == 200 && !t.proc[1].nevents && t.proc[2].nevents == 100 &&
          t.proc[3].nevents == 100 && !t.proc[4].nevents);
    CHECK(t.proc[0].node == t.proc[0].node && t.proc[2].node == t.proc[3].node && t.proc[0].node != t.proc[2].node);
    sluice_events c;
    sluice_event e;
    int64_t seen[4] = {0};
    CHECK(!sluice_events_init(&c, &t, SLUICE_EVERY_PROCESS));
    while (sluice_events_next(&c, &e)) {
        const int i = (int)(e.off / 1000);
        const int64_t k = e.off % 1000;
        CHECK(k == seen[i]++);
        /* The first of all is rank 0's second part or, half a microsecond early by the calendar, rank 3. */
        CHECK(e.begin == 100 * k + 10 * i + (i == 3 ? -500 : 0) + 470, "%d %" PRId64 ": %" PRId64, i, k, e.begin);
    }
    sluice_events_close(&c);
    CHECK(t.origin == 1000000 + 90000 - 470, "%" PRId64, t.origin);
    sluice_trace_free(&t);
    empty_folder();
}

/* Every call and every allocation fails in turn. */
static void test_faults(void) {
    for (int kind = 0; kind < KINDS; kind++)
        for (int memory = 0; memory < 2; memory++) {
            int64_t incomplete = 0, many = kind == REGULAR ? 300 : 6000;
            bool good = false;
            for (int64_t n = 1; !good; n += n < 25 ? 1 : n / 2) {
                sluice_trace t;
                sluice_reason why;
                const int64_t live = sluice_mem_live(), before = memory ? sluice_mem_calls() : sluice_sys_calls();
                if (memory)
                    sluice_mem_fail_nth(n);
                else
                    sluice_sys_fault(n, ENOSPC);
                const int err = record(0, kind, many, 5000);
                good = (memory ? sluice_mem_calls() : sluice_sys_calls()) - before < n;
                sluice_mem_fail_nth(0);
                sluice_sys_fault(0, 0);
                CHECK(sluice_mem_live() == live, "leaks");
                CHECK(!err || err == (memory ? -ENOMEM : -ENOSPC), "%d", err);
                const int merged = sluice_merge_parts(&t, folder, &why);
                if (merged) { /* not even the part could be opened */
                    CHECK(err && merged == -ENOENT, "%s", why.text);
                    empty_folder();
                    continue;
                }
                CHECK(t.proc[0].complete == !err, "request %" PRId64, n);
                CHECK(err || t.proc[0].nevents == many);
                incomplete += err != 0;
                sluice_trace_free(&t);
                empty_folder();
            }
            CHECK(incomplete >= 2, "%" PRId64 " of kind %d", incomplete, kind);
        }
}

/* The recorder of the process: off, then on; a child writes its own. */
static void test_process(void) {
    sluice_trace t;
    sluice_reason why;
    char trace[300], parts[310];
    snprintf(trace, sizeof trace, "%s/run", folder);
    snprintf(parts, sizeof parts, "%s.parts", trace);
    setenv("SLUICE_TRACE", trace, 1);
    CHECK(sluice_record_on(false) && !sluice_record_on(true));
    int f = sluice_record_file("x", 0);
    CHECK(f == 0);
    const int64_t part = sluice_record_part();
    for (int i = 0; i < 10; i++) sluice_record_block(f, true, i, 1, sluice_record_now(), sluice_record_now() + 1000000);
    const pid_t child = fork();
    if (!child) {
        failures = 0;
        CHECK(sluice_record_part() != part);
        f = sluice_record_file("y", 0);
        for (int i = 0; i < 20; i++)
            sluice_record_block(f, false, i, 1, sluice_record_now(), sluice_record_now() + 1000000);
        sluice_record_end();
        _exit(failures != 0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    sluice_record_end();
    CHECK(!sluice_merge_parts(&t, parts, &why), "%s", why.text);
    CHECK(t.nproc == 2, "%d processes", t.nproc);
    CHECK(t.nproc == 2 && t.proc[0].nevents == 10 && t.proc[1].nevents == 20 && t.proc[1].pid == child);
    CHECK(t.nfile == 2 && t.file[0].name[0] == '/' && t.proc[0].complete && t.proc[1].complete);
    sluice_trace_free(&t);
    CHECK(!sluice_merge_remove(parts));
}

int main(void) {
    unsetenv("SLUICE_TRACE_FILES");
    CHECK(mkdtemp(folder));
    test_whole();
    test_killed();
    test_merge();
    test_faults();
    test_process();
    CHECK(!rmdir(folder));
    return verdict();
}
