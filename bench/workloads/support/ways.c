/* ways.c: the ways of access: calls of Unix on the runs, or of MPI-IO on the views. */
#include "inside.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct access_way {
    const char *path;
    int fd; /* -1: MPI-IO */
    MPI_File file;
};

double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool way_known(const char *mode) {
    return !strcmp(mode, "unix") || !strcmp(mode, "mpiio") || !strcmp(mode, "partitioned");
}

static void must(const access_way *a, int error) {
    char why[MPI_MAX_ERROR_STRING];
    int n;
    if (error == MPI_SUCCESS) return;
    MPI_Error_string(error, why, &n);
    fail(1, a->path, why);
}

/* Sluice's MPI-IO is known by its hints. */
static bool sluiced(access_way *a) {
    MPI_Info info;
    int n;
    bool found = false;
    must(a, MPI_File_get_info(a->file, &info));
    MPI_Info_get_nkeys(info, &n);
    for (int i = 0; i < n; i++) {
        char key[MPI_MAX_INFO_KEY + 1];
        MPI_Info_get_nthkey(info, i, key);
        found = found || !strncmp(key, "sluice_", 7);
    }
    MPI_Info_free(&info);
    return found;
}

access_way *way_open(const char *mode, const char *path, int64_t bytes) {
    access_way *a = malloc(sizeof *a);
    if (!a) fail(1, "no memory", NULL);
    *a = (access_way){.path = path, .fd = -1};
    if (!strcmp(mode, "unix")) {
        a->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (a->fd < 0) fail(1, path, strerror(errno));
        return a;
    }
    must(a, MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &a->file));
    if (strcmp(mode, "partitioned")) return a;
    MPI_Offset size;
    must(a, MPI_File_get_size(a->file, &size));
    if (!sluiced(a)) fail(2, path, "mode partitioned needs Sluice's MPI-IO; start it by `sluice run`");
    if (size != bytes) fail(2, path, "the container is of another workload: its size is not that of the file");
    return a;
}

void way_view(access_way *a, const view *v) {
    if (a->fd >= 0) return;
    MPI_Datatype type = view_type(v);
    must(a, MPI_File_set_view(a->file, v->disp, MPI_BYTE, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
}

static void move_run(const access_way *a, run r, bool write, unsigned char *buf) {
    while (r.len > 0) {
        const ssize_t n = write ? pwrite(a->fd, buf, (size_t)r.len, r.off) : pread(a->fd, buf, (size_t)r.len, r.off);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) fail(1, a->path, n < 0 ? strerror(errno) : "the file ends too early");
        buf += n, r.off += n, r.len -= n;
    }
}

static double move_runs(const access_way *a, const view *v, stretch s, bool write, unsigned char *buf,
                        double *accesses) {
    double sum = 0;
    run r;
    walk k = walk_start(v, s);
    for (; walk_next(&k, &r); buf += r.len, ++*accesses) {
        const double start = seconds();
        move_run(a, r, write, buf);
        sum += seconds() - start;
    }
    return sum;
}

double way_move(access_way *a, const view *v, stretch s, bool write, unsigned char *buf, double *accesses) {
    MPI_Status status;
    int n;
    if (a->fd >= 0) return move_runs(a, v, s, write, buf, accesses);
    const double start = seconds();
    must(a, write ? MPI_File_write_at_all(a->file, s.off, buf, (int)s.len, MPI_BYTE, &status)
                  : MPI_File_read_at_all(a->file, s.off, buf, (int)s.len, MPI_BYTE, &status));
    const double end = seconds();
    MPI_Get_count(&status, MPI_BYTE, &n);
    if (n != s.len) fail(1, a->path, "fewer bytes were moved than were asked for");
    ++*accesses;
    return end - start;
}

double way_close(access_way *a, bool sync) {
    const double start = seconds();
    if (a->fd >= 0) {
        if ((sync && fsync(a->fd)) || close(a->fd)) fail(1, a->path, strerror(errno));
    } else {
        if (sync) must(a, MPI_File_sync(a->file));
        must(a, MPI_File_close(&a->file));
    }
    const double end = seconds();
    MPI_Barrier(MPI_COMM_WORLD);
    free(a);
    return end - start;
}
