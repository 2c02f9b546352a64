/* planned.c: what tests/tool_plan.sh runs: the trace of a program that is not run: planned NAME NPROCS SIZE STEPS FILE.
 */
#include "support/programs.h"
#include <stdio.h>
#include <stdlib.h>

static int append(sluice_trace *t, const sluice_use *u, int file) {
    sluice_set s = SLUICE_SET_EMPTY;
    int error = sluice_use_set(&s, u);
    const sluice_event e = {.proc = u->proc,
                            .file = file,
                            .write = u->write,
                            .collective = u->collective,
                            .set = &s,
                            .begin = 1000 * u->first,
                            .end = 1000 * u->first + 500};
    if (!error) error = sluice_trace_append(t, &e);
    sluice_set_free(&s);
    return error;
}

int main(int argc, char **argv) {
    const program *of = argc == 6 ? program_named(argv[1]) : NULL;
    sluice_profile p;
    sluice_trace t;
    sluice_reason why = {0};
    if (!of) return 2;
    const int nprocs = atoi(argv[2]);
    int error = program_run(&p, of, nprocs, atoll(argv[3]), atoll(argv[4]));
    if (!error) error = sluice_trace_make(&t, nprocs);
    const int file = error ? error : sluice_trace_add_file(&t, "out/field.dat", -1);
    if (file < 0) error = file;
    for (int64_t i = 0; i < p.n && !error; i++) error = append(&t, &p.use[i], file);
    if (!error) error = sluice_trace_finish(&t);
    if (!error) error = sluice_trace_save(&t, argv[5], &why);
    if (error) fprintf(stderr, "%d: %s\n", error, why.text);
    sluice_trace_free(&t);
    sluice_profile_free(&p);
    return error != 0;
}
