/* seismic.c: seismic processing as in SPECseis96: one phase writes records of 96 KiB, which the processes take in turn;
 * the next one reads them in slices of 2 KiB, first the first slice of each of its records, then the second of each ...
 *
 *     records    0  1  2  3  0  1  2  3           by process
 *     writes     one record each
 *     reads      of process 1: slice 0 of its first record, slice 0 of its second, ..., slice 1 of its first, ...
 */
#include "workload.h"
#include <stddef.h>

enum { RECORD = 96 << 10, SLICE = 2 << 10 };

static const char *plan(job *j) {
    if (j->size > 1 << 20) return "more records than 1048576";
    j->write = (view){
        .disp = j->rank * (int64_t)RECORD,
        .extent = j->nranks * (int64_t)RECORD,
        .npieces = 1,
        .piece = {{.len = RECORD, .count = {1, 1}}},
    };
    j->read = j->write;
    j->writes = j->size * j->steps;
    j->reads = j->writes * (RECORD / SLICE);
    j->bytes = j->writes * j->write.extent;
    return NULL;
}

static stretch record(const job *j, bool write, int64_t k) {
    if (write) return (stretch){k * RECORD, RECORD};
    return (stretch){k % j->writes * RECORD + k / j->writes * SLICE, SLICE};
}

int main(int argc, char **argv) {
    static const workload seismic = {
        .name = "seismic",
        .title = "Records of 96 KiB written, then read in slices of 2 KiB across the records",
        .size_means = "records of a process",
        .size = 4,
        .steps = 1,
        .quick_size = 1,
        .quick_steps = 1,
        .plan = plan,
        .access = record,
    };
    return workload_main(&seismic, argc, argv);
}
