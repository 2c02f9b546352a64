/* perf.c: the plainest of all, as perf of ROMIO's tests: each process writes its block of 1 MiB behind that of the one
 * before, and reads it back. */
#include "workload.h"
#include <stddef.h>

static const char *plan(job *j) {
    j->write = (view){
        .disp = j->rank * j->size,
        .extent = j->nranks * j->size,
        .npieces = 1,
        .piece = {{.len = j->size, .count = {1, 1}}},
    };
    j->read = j->write;
    j->writes = j->reads = j->steps;
    j->bytes = j->steps * j->write.extent;
    return NULL;
}

static stretch block(const job *j, bool write, int64_t k) {
    (void)write;
    return (stretch){k * j->size, j->size};
}

int main(int argc, char **argv) {
    static const workload perf = {
        .name = "perf",
        .title = "A block of each process, written and read back",
        .size_means = "bytes of a block",
        .size = 1 << 20,
        .steps = 8,
        .quick_size = 10000,
        .quick_steps = 3,
        .plan = plan,
        .access = block,
    };
    return workload_main(&perf, argc, argv);
}
