/* run.c: `sluice run`: starts a program whose MPI-IO is done by Sluice, which is preloaded (man 7 sluice-mpiio). */
#include "tool/tool.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside this program, wherever both are installed. */
static void find_library(char *path, size_t size, const char *name) {
    static const char *const place[] = {"../lib", "../lib64", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu"};
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) report_failure("cannot find out where this program is: %s", strerror(errno));
    self[n] = 0;
    *strrchr(self, '/') = 0;
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        const int len = snprintf(path, size, "%s/%s/%s", self, place[i], name);
        if (len > 0 && (size_t)len < size && !access(path, R_OK)) return;
    }
    report_failure("there is no %s in the lib folder beside %s", name, self);
}

_Noreturn void run_program(const char *name, int n, char **argument) {
    char library[2 * PATH_MAX];
    const char *others = getenv("LD_PRELOAD");
    find_library(library, sizeof library, name);
    const size_t size = strlen(library) + (others ? strlen(others) : 0) + 2;
    char *preload = report_alloc(size, 1), **words = report_alloc((size_t)n + 1, sizeof *words);
    snprintf(preload, size, "%s%s%s", library, others && *others ? ":" : "", others ? others : "");
    memcpy(words, argument, (size_t)n * sizeof *words);
    if (setenv("LD_PRELOAD", preload, 1)) report_failure("no memory for the environment");
    execvp(words[0], words);
    report_usage("cannot start '%s': %s", words[0], strerror(errno));
}

static int run_run(const options *o, int n, char **argument) {
    if (o->trace) return trace_program(o->trace, NULL, o->force, n, argument);
    run_program("libsluice-mpiio.so", n, argument);
}

const command run_command = {
    "run",
    "-- PROGRAM...",
    "Runs a program whose MPI-IO is done by Sluice",
    "The program, mpiexec with all that follows it, is started with libsluice-mpiio.so preloaded. It needs no "
    "rebuild,\n"
    "but must use the MPI that Sluice was built with. What can be chosen, and what about HDF5, PnetCDF and others:\n"
    "man 7 sluice-mpiio.\n"
    "\n"
    "example:\n"
    "  sluice run -- mpiexec -n 4 ./simulation\n",
    "Yf",
    1,
    -1,
    run_run,
};
