/* trace.c: `sluice trace`: runs a program, has its accesses recorded, and makes one trace of what its processes wrote.
 */
#include "tool/tool.h"
#include "trace/record.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A path from the root, whatever folder the program goes to. */
static void make_absolute(char *out, size_t size, const char *path) {
    char folder[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(folder, sizeof folder))
        report_failure("cannot find out the folder: %s", strerror(errno));
    const int n = snprintf(out, size, "%s%s%s", folder, path[0] == '/' ? "" : "/", path);
    if (n < 0 || (size_t)n + sizeof ".parts" > size) report_usage("%s: the name is too long", path);
}

void trace_summary(FILE *f, const sluice_trace *t, const char *before) {
    int64_t events = 0, nodes = 0, incomplete = 0, lost = 0, last = 0;
    for (int32_t i = 0; i < t->nproc; i++) {
        const sluice_trace_proc *p = &t->proc[i];
        events += p->nevents, nodes += p->nnode, incomplete += !p->complete, lost += p->lost;
        if (p->nknot) last = sluice_max(last, p->knot[p->nknot - 1].at);
    }
    fprintf(f, "%s%" PRId32 " process%s, %" PRId32 " file%s, %" PRId64 " access%s in %" PRId64 " record%s, %.6f s\n",
            before, t->nproc, t->nproc == 1 ? "" : "es", t->nfile, t->nfile == 1 ? "" : "s", events,
            events == 1 ? "" : "es", nodes, nodes == 1 ? "" : "s", (double)last / 1e9);
    if (incomplete)
        fprintf(f, "%snot complete: of %" PRId64 " process%s something is missing, %" PRId64 " accesses at least\n",
                before, incomplete, incomplete == 1 ? "" : "es", lost);
}

/* The parts become the trace, and go. */
static void gather(const char *folder, const char *path, const char *written) {
    sluice_trace t;
    sluice_reason why;
    const int err = sluice_merge_parts(&t, folder, &why);
    if (err == -ENOENT) {
        sluice_merge_remove(folder);
        report_failure("%s was not made: no access was recorded", written);
    }
    if (err || sluice_trace_save(&t, path, &why)) report_failure("%s", why.text);
    const int left = sluice_merge_remove(folder);
    if (left) report_failure("cannot remove %s: %s", folder, sluice_strerror(left));
    char before[PATH_MAX + 2];
    snprintf(before, sizeof before, "%s: ", written);
    trace_summary(stderr, &t, before);
    sluice_trace_free(&t);
}

int trace_program(const char *written, const char *files, bool force, int n, char **argument) {
    char path[PATH_MAX], folder[PATH_MAX + 8];
    struct stat st;
    int status;
    make_absolute(path, sizeof path, written);
    snprintf(folder, sizeof folder, "%s.parts", path);
    if (!force && !lstat(path, &st)) report_usage("%s exists; --force replaces it", written);
    if (mkdir(folder, 0777)) {
        if (errno == EEXIST)
            report_usage(
                "%s.parts is there, of a run that is under way or was interrupted: `sluice trace merge %s` makes "
                "a trace of it",
                written, written);
        report_usage("cannot make %s.parts: %s", written, strerror(errno));
    }
    if (setenv("SLUICE_TRACE", path, 1) ||
        (files ? setenv("SLUICE_TRACE_FILES", files, 1) : unsetenv("SLUICE_TRACE_FILES")))
        report_failure("no memory for the environment");
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0) report_failure("cannot start a process: %s", strerror(errno));
    if (!child) run_program(files ? "libsluice-trace.so" : "libsluice-mpiio.so", n, argument);
    signal(SIGINT, SIG_IGN); /* for the program; what it has recorded is not lost */
    signal(SIGTERM, SIG_IGN);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) report_failure("cannot wait for the program: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2 && !rmdir(folder)) return 2; /* it could not be started */
    gather(folder, path, written);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_run(const options *o, int n, char **argument) {
    if (!o->output) report_usage("where is the trace to go? like sluice trace -o run.trace -- PROGRAM...");
    return trace_program(o->output, o->files, o->force, n, argument);
}

static int merge_run(const options *o, int n, char **argument) {
    char path[PATH_MAX], folder[PATH_MAX + 8];
    struct stat st;
    (void)n;
    make_absolute(path, sizeof path, argument[0]);
    snprintf(folder, sizeof folder, "%s.parts", path);
    if (!o->force && !lstat(path, &st)) report_usage("%s exists; --force replaces it", argument[0]);
    if (lstat(folder, &st)) report_usage("there is no %s.parts", argument[0]);
    gather(folder, path, argument[0]);
    return 0;
}

const char trace_notes[] =
    "`sluice trace -o run.trace -- mpiexec -n 4 ./simulation` is short for `sluice trace run`.\n";

const command trace_commands[] = {
    {"run", "-o FILE -- PROGRAM...", "Runs a program and records its accesses to files",
     "Of a program that uses MPI-IO, or Sluice itself, all accesses are recorded, as the sets of bytes that they "
     "name.\n"
     "With --files those calls of the system are recorded that are made on files of these names, whatever makes them.\n"
     "The program needs no change and no rebuild. The trace is made when it has ended, also if it was killed; the "
     "status\n"
     "is that of the program. What is in a trace, and what it costs: man 1 sluice-trace.\n"
     "\n"
     "examples:\n"
     "  sluice trace -o run.trace -- mpiexec -n 4 ./simulation\n"
     "  sluice trace -o run.trace --files '*.dat' -- ./convert in.dat out.dat\n",
     "O1f", 1, -1, run_run},
    {"show", "TRACE", "Prints a trace as it is kept: files, processes, loops and accesses",
     "\nexample:\n  sluice trace show run.trace\n", "Q", 1, 1, show_run},
    {"csv", "TRACE", "Prints the accesses one by one, a line for each contiguous piece",
     "In the order of time: process, file, offset, size, R or W, begin and end in seconds.\n"
     "\nexample:\n  sluice trace csv run.trace\n",
     "Q", 1, 1, csv_run},
    {"stat", "TRACE", "Says how much was read and written, by whom, how fast and in what sizes",
     "Bandwidth is all bytes by the time that all accesses took together.\n"
     "\nexample:\n  sluice trace stat run.trace\n",
     "Q", 1, 1, stat_run},
    {"import", "-o FILE", "Makes a trace of what another tool recorded",
     "\nexamples:\n"
     "  sluice trace import --darshan dxt.txt -o run.trace\n"
     "  sluice trace import --csv accesses.csv -o run.trace\n",
     "JUOf", 0, 0, import_run},
    {"merge", "TRACE", "Makes the trace of a run that was interrupted of the parts that there are", "", "f", 1, 1,
     merge_run},
    {0},
};
