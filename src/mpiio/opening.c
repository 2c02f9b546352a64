/* opening.c: opening and deleting: whose file it is, and which one is meant. */
#include "mpiio/door.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int check_amode(int amode, sluice_reason *why) {
    const int wrong = sluice_class_error(MPI_ERR_AMODE),
              how = amode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    const int known = MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL |
                      MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN | MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND;
    if (how != MPI_MODE_RDONLY && how != MPI_MODE_WRONLY && how != MPI_MODE_RDWR)
        return sluice_refuse(why, wrong, -1, "open: exactly one of RDONLY, WRONLY and RDWR must be given");
    if (how == MPI_MODE_RDONLY && amode & (MPI_MODE_CREATE | MPI_MODE_EXCL))
        return sluice_refuse(why, wrong, -1, "open: RDONLY makes no file: CREATE and EXCL are not for it");
    if (how == MPI_MODE_RDWR && amode & MPI_MODE_SEQUENTIAL)
        return sluice_refuse(why, wrong, -1, "open: a SEQUENTIAL file is read or written, not both");
    if (amode & ~known) return sluice_refuse(why, wrong, -1, "open: unknown bits in the mode %d", amode);
    return 0;
}

/* What is neither a file nor a folder, a terminal for instance, is the host's. */
static bool left_to_host(const char *name) {
    struct stat st;
    const char *path = sluice_host_strip(name);
    return sluice_host_has(path) || (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* Which file a name means: itself, or the container of that name, if so advised and there is one. */
static int find(char *path, size_t size, const char *name, const sluice_hints *h, sluice_reason *why) {
    struct stat st;
    const char *plain = sluice_host_strip(name);
    const size_t len = strlen(plain);
    if (!len) return sluice_refuse(why, sluice_class_error(MPI_ERR_BAD_FILE), -1, "open: a file without a name");
    if (len + sizeof ".sluice" > size) return sluice_store_refuse(why, -ENAMETOOLONG, "open", plain, -1);
    snprintf(path, size, "%s.sluice", plain);
    if (!h->container || !stat(plain, &st) || stat(path, &st) || !S_ISDIR(st.st_mode)) path[len] = 0;
    return 0;
}

static int64_t mark_of(const sluice_hints *h) {
    const int64_t number[] = {h->memory, h->aggregators, h->nodes, h->way[0], h->way[1], h->container};
    uint64_t mix = SLUICE_MIX;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) mix = sluice_mix(mix, number[i]);
    return (int64_t)(mix >> 2);
}

int sluice_opening_open(MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *fh, bool *host) {
    char path[PATH_MAX];
    sluice_hints hints;
    sluice_reason why;
    sluice_door *d;
    int inter = 1, rank;
    *host = comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &inter) || inter || !name;
    if (*host) return MPI_SUCCESS; /* which says what is wrong with that */
    *fh = MPI_FILE_NULL;
    MPI_Comm_rank(comm, &rank);
    sluice_hint_start(&hints);
    sluice_hint_read(&hints, info);
    const int64_t mark = mark_of(&hints);
    int64_t mine[5] = {rank > 0 || !left_to_host(name), amode, -amode, mark, -mark}, all[5];
    int code = MPI_Allreduce(mine, all, 5, MPI_INT64_T, MPI_MIN, comm);
    if (code) return code;
    *host = !all[0];
    if (*host) return MPI_SUCCESS;
    if (all[3] != -all[4]) MPI_Bcast(&hints, (int)sizeof hints, MPI_BYTE, 0, comm);
    int err = all[1] != -all[2]
                  ? sluice_refuse(&why, sluice_class_error(MPI_ERR_AMODE), -1, "open: processes give different modes")
                  : check_amode(amode, &why);
    if (!err) err = find(path, sizeof path, name, &hints, &why);
    err = sluice_door_open(&d, comm, path, amode, &hints, err, &why);
    if (err) return sluice_class_raise(NULL, err, &why);
    sluice_handler_default(&d->handler);
    *fh = (MPI_File)(void *)d;
    return MPI_SUCCESS;
}

int sluice_opening_delete(const char *name, bool *host) {
    sluice_reason why;
    *host = left_to_host(name);
    return *host ? MPI_SUCCESS : sluice_class_raise(NULL, sluice_door_delete(sluice_host_strip(name), &why), &why);
}
