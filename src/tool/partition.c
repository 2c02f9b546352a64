/* partition.c: `sluice partition`: a container of a file, laid out by a plan: `sluice cp` with a layout of its own. */
#include "array/array.h"
#include "tool/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HANDLE = 32, LONGEST = 16 << 20 }; /* as of cp; bytes of a plan file */

static plan_text read_plan(const char *path) {
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st)) report_usage("%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) report_usage("%s is not a regular file", path);
    if (st.st_size > LONGEST) report_usage("%s: a plan has at most %d bytes", path, LONGEST);
    plan_text t = {report_alloc((size_t)st.st_size + 1, 1), 0};
    for (ssize_t n = 1; t.len < st.st_size && n > 0; t.len += n) {
        n = read(fd, t.bytes + t.len, (size_t)(st.st_size - t.len));
        if (n < 0) report_failure("read %s: %s", path, strerror(errno));
    }
    close(fd);
    return t;
}

/* A plan is about the bytes of a file. If those are not all of an array as this machine has it, after a header, they
 * are an array of bytes. */
static options as_file(const options *o, const char *path) {
    struct stat st;
    options described = *o;
    if (stat(path, &st) || !S_ISREG(st.st_mode)) return described;
    sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 1, 0, {st.st_size}}, .type = "uint8"};
    sluice_store *store;
    sluice_desc found;
    sluice_reason why;
    if (o->shape) {
        d = (sluice_desc){.shape = o->array};
        memcpy(d.type, o->type_name, sizeof d.type);
        if (sluice_desc_end(&d) != st.st_size)
            report_usage("%s has %lld bytes, and the array that is described %lld", path, (long long)st.st_size,
                         (long long)sluice_desc_end(&d));
    } else if (!sluice_store_open(&store, path, SLUICE_STORE_READ, &why)) {
        if (!sluice_plain_open(&found, NULL, store, &why) && !found.swapped && !found.descr[0] &&
            sluice_desc_end(&found) == st.st_size)
            d = found;
        sluice_store_close(store);
    }
    described.array = d.shape;
    described.shape = "as it is";
    memcpy(described.type_name, d.type, sizeof described.type_name);
    return described;
}

/* The source as what as_file() found: raw, whatever its first bytes say. */
static sluice_array *open_source(const options *o, const char *path) {
    const sluice_options how = {.size = sizeof how, .memory = o->memory / HANDLE, .no_map = 1, .bindings = o->bind};
    sluice_desc d = {.format = SLUICE_RAW, .shape = o->array};
    sluice_array *a;
    memcpy(d.type, o->type_name, sizeof d.type);
    report_array(ranks_open(&a, path, SLUICE_READ, o->shape ? &d : NULL, &how));
    return a;
}

static int partition_run(const options *o, int n, char **argument) {
    (void)n;
    if (!o->plan) report_usage("partition needs --plan, a plan file");
    char *name = report_alloc(strlen(argument[0]) + sizeof SLUICE_SUFFIX, 1);
    sprintf(name, "%s" SLUICE_SUFFIX, argument[0]);
    plan_text text = read_plan(o->plan);
    options described = as_file(o, argument[0]);
    described.layout = "placed"; /* a container, whatever it is called */
    sluice_array *from = open_source(&described, argument[0]);
    progress_start("partition");
    cp_planned(&described, from, &text, o->output ? o->output : name);
    report_array(sluice_close(from));
    free(text.bytes);
    free(name);
    return 0;
}

const command partition_command = {
    "partition",
    "FILE",
    "Makes a container of a file, laid out by a plan",
    "The plan says which bytes of the file belong to which process, and which lie in several places as copies; it is\n"
    "made by `sluice plan`. The container is FILE.sluice, or the one that --output names, and holds all bytes of the\n"
    "file, a header too: `sluice merge` gives the same file back. Once FILE is out of the way, programs that open it\n"
    "through Sluice, by its calls or by MPI-IO (man 7 sluice-mpiio), find the container under the name FILE. FILE may\n"
    "also be a container, whose array is then laid out anew. It is made and resumed as by cp; under mpiexec all\n"
    "processes take part, each with --memory.\n"
    "\n"
    "examples:\n"
    "  sluice partition --plan field.plan field.dat\n"
    "  mpiexec -n 4 sluice partition --plan p.json field.dat -o /fast/field.sluice --bind d0=/disk0,d1=/disk1\n",
    "IOsTohgzbmfu",
    1,
    1,
    partition_run,
};
