/* mpiio_conform.h: rules of the standard, each with a name. Through the door every one must hold. On the host's MPI-IO
 * (ON_HOST) the ones that do not are counted and named, and are no failure: that is what mpiio_host.sh prints.
 *
 * The rules are in groups, so that a host that hangs or dies in one of them can still be asked for the others:
 * program [GROUP]. */
#ifndef SLUICE_TESTS_MPIIO_CONFORM_H
#define SLUICE_TESTS_MPIIO_CONFORM_H

#include "mpiio_common.h"
#include <stdarg.h>

static char broken[200][120]; /* on this process */
static int nbroken, nrules;

/* Says that a rule holds, or not: what is said of it must not differ between processes. */
static void rule(int holds, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void rule(int holds, const char *format, ...) {
    char text[120];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    nrules++;
    if (holds) return;
    for (int i = 0; i < nbroken; i++)
        if (!strcmp(broken[i], text)) return;
    if (nbroken < 200) strcpy(broken[nbroken++], text);
}

/* A call that must succeed: what, as a rule. */
#define MUST(call, ...) rule((call) == MPI_SUCCESS, __VA_ARGS__)

typedef struct group {
    const char *name;
    void (*run)(void);
} group;

/* What is broken on any process, once. */
static int report(const char *name) {
    static char all[32][sizeof broken];
    int n[32] = {0}, sum = 0;
    if (size > 32) return 1;
    MPI_Gather(&nbroken, 1, MPI_INT, n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(broken, sizeof broken, MPI_BYTE, all, sizeof broken, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int r = 0; r < size && rank == 0; r++)
        for (int i = 0; i < n[r]; i++) {
            const char *text = all[r] + i * (int)sizeof *broken;
            int known = 0;
            for (int q = 0; q < r; q++)
                for (int k = 0; k < n[q]; k++) known |= !strcmp(all[q] + k * (int)sizeof *broken, text);
            if (!known) printf("%s %s: %s\n", on_host ? "host wrong:" : "WRONG:", name, text);
            sum += !known;
        }
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
    nbroken = 0;
    return sum;
}

static int conform(int argc, char **argv, const char *test, const group *g, int n) {
    int wrong = 0, found = 0;
    begin(&argc, &argv, test);
    for (int i = 0; i < n; i++) {
        if (argc > 1 && strcmp(argv[1], g[i].name)) continue;
        found++;
        nrules = 0;
        g[i].run();
        wrong += report(g[i].name);
        CHECK(nrules > 0, "group %s asks nothing", g[i].name);
    }
    CHECK(found > 0, "no such group");
    if (!on_host) CHECK(!wrong, "%d rules are broken", wrong);
    if (on_host && rank == 0) printf("%d wrong\n", wrong);
    return end();
}

/* A new file for all. */
static inline MPI_File make(int amode) {
    MPI_File f = MPI_FILE_NULL;
    meet();
    if (rank == 0) unlink(path);
    meet();
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | amode, MPI_INFO_NULL, &f), "opening a new file");
    return f;
}

#endif
