/* rm.c: `sluice rm`: removes containers: the folder, and the subfiles that lie elsewhere. */
#include "tool/tool.h"
#include <errno.h>

static int rm_run(const options *o, int n, char **argument) {
    for (int i = 0; i < n; i++) {
        sluice_reason why;
        const int error = sluice_container_delete(argument[i], o->bind, &why);
        if (error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error < -1000) report_usage("%s", why.text);
        if (error) report_failure("%s", why.text);
    }
    return 0;
}

const command rm_command = {
    "rm",
    "CONTAINER...",
    "Removes containers",
    "The folder and all subfiles, also those on other targets; nothing is asked. What is not a container is refused,\n"
    "and so is one that is being written, and a copy of the folder alone, whose subfiles on other targets belong to "
    "the\n"
    "first. From the first step on it cannot be opened any more; if it was interrupted, the same command goes on. "
    "Other\n"
    "files that lie in the folder stay, and the folder with them.\n"
    "\n"
    "example:\n"
    "  sluice rm field.sluice\n",
    "b",
    1,
    -1,
    rm_run,
};
