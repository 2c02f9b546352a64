/* merge.c: `sluice merge`: the array of a container as one plain file: `sluice cp` with the obvious name. */
#include "tool/tool.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* field.sluice/ becomes field.npy, in the same folder. The caller frees it. */
static char *plain_name(const char *container, const char *suffix) {
    size_t len = strlen(container), end = sizeof SLUICE_SUFFIX - 1;
    while (len > 1 && container[len - 1] == '/') len--;
    if (len > end && !strncmp(container + len - end, SLUICE_SUFFIX, end) && container[len - end - 1] != '/') len -= end;
    char *name = report_alloc(len + strlen(suffix) + 1, 1);
    memcpy(name, container, len);
    strcpy(name + len, suffix);
    return name;
}

/* Whether the container was made of a file by a plan, and so holds its bytes; the length of the file's header. */
static bool was_file(const char *container, int64_t *header) {
    sluice_manifest *m = NULL;
    const int folder = open(container, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool read = folder >= 0 && !sluice_folder_read(&m, folder, SLUICE_MANIFEST_NAME, container, NULL);
    const bool placed = read && m->layout->placed;
    if (placed) *header = m->desc.shape.header;
    sluice_manifest_free(m);
    if (folder >= 0) close(folder);
    return placed;
}

static int merge_run(const options *given, int n, char **argument) {
    struct stat st;
    options back = *given;
    const options *o = &back;
    const bool file = !given->format && was_file(argument[0], &back.array.header);
    if (file) back.format = "raw";
    if (!stat(argument[0], &st) && !S_ISDIR(st.st_mode))
        report_usage("%s is one file already; cp copies it", argument[0]);
    if (n > 1 && file_contained(o, argument[1])) report_usage("%s is to be a container; cp makes those", argument[1]);
    char *name = n > 1 ? NULL
                       : plain_name(argument[0], file                                     ? ""
                                                 : o->format && !strcmp(o->format, "raw") ? ".raw"
                                                                                          : ".npy");
    const int status = cp_command.run(o, 2, (char *[]){argument[0], n > 1 ? argument[1] : name});
    free(name);
    return status;
}

const command merge_command = {
    "merge",
    "CONTAINER [FILE]",
    "Makes one plain file of a container",
    "Without FILE it gets the container's name with .npy, or with --format raw .raw, instead of .sluice; of one\n"
    "that `sluice partition` made, that name alone, and then it is the same file as before. The container\n"
    "stays. It is what cp does with the same two names; under mpiexec all processes take part.\n"
    "\n"
    "examples:\n"
    "  sluice merge field.sluice\n"
    "  mpiexec -n 4 sluice merge field.sluice field.raw --order F --memory 256M --resume\n",
    "nMmfjbuX",
    1,
    2,
    merge_run,
};
