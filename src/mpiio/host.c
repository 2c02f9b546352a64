/* host.c: the MPI library behind us, and which files are left to it. */
#include "mpiio/door.h"
#include <dlfcn.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *sluice_host_find(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found) return found;
    fprintf(stderr, "sluice: the MPI library has no %s\n", name);
    abort();
}

/* SLUICE_MPIIO is "off", or patterns of names with commas between. */
bool sluice_host_has(const char *path) {
    const char *said = getenv("SLUICE_MPIIO");
    if (!said || !*said || !strcmp(said, "on")) return false;
    if (!strcmp(said, "off")) return true;
    while (*said) {
        char pattern[512];
        size_t n = strcspn(said, ",");
        if (n < sizeof pattern) {
            memcpy(pattern, said, n);
            pattern[n] = 0;
            if (!fnmatch(pattern, path, 0)) return true;
        }
        said += n + (said[n] == ',');
    }
    return false;
}

/* As ROMIO has it: the kind of file system may stand before the name. To Sluice they are all alike. */
const char *sluice_host_strip(const char *name) {
    static const char *const kind[] = {"ufs:",   "nfs:", "xfs:", "gpfs:",   "lustre:",  "panfs:", "pvfs:",
                                       "pvfs2:", "sfs:", "hfs:", "zoidfs:", "gridftp:", "sluice:"};
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
        if (!strncmp(name, kind[i], strlen(kind[i]))) return name + strlen(kind[i]);
    return name;
}
