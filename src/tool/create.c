/* create.c: `sluice create`: an array of zeros. Its files are sparse: they take no room until they are written. */
#include "tool/tool.h"
#include <errno.h>
#include <string.h>

/* The library makes containers whole or not at all; it replaces none. */
static void create_container(const options *o, const char *path, const sluice_desc *d) {
    const sluice_options how = {.size = sizeof how,
                                .exclusive = 1,
                                .layout = o->layout,
                                .targets = o->targets,
                                .bindings = o->bind,
                                .checksum = o->checksum};
    sluice_array *a;
    if (o->format) report_usage("--format is of files, and %s is to be a container", path);
    const int error = sluice_create(&a, path, d, &how);
    if (error == -EEXIST) report_usage("%s exists; `sluice rm` removes a container", path);
    report_array(error);
    file_close(a);
}

static void create_file(const options *o, const char *path, const sluice_desc *d) {
    const sluice_options how = {.size = sizeof how, .exclusive = 1, .replace = 1};
    sluice_array *a;
    if (o->targets || o->bind || o->checksum)
        report_usage("--targets, --bind and --checksum are of containers; give --layout");
    if (d->format == SLUICE_NPY && d->shape.header)
        report_usage("the header of an .npy file is not chosen; --format raw");
    report_array(sluice_create(&a, output_start(path, o->force), d, &how));
    output_finish(a);
}

static int create_run(const options *o, int n, char **argument) {
    (void)n;
    const char *path = argument[0];
    sluice_desc d = {.format = file_format(o, path), .shape = o->array};
    if (!o->shape) report_usage("create needs an array: give --shape and --type, like --shape 8x8 --type float64");
    memcpy(d.type, o->type_name, sizeof d.type);
    if (file_contained(o, path)) {
        d.format = SLUICE_RAW;
        create_container(o, path, &d);
    } else {
        create_file(o, path, &d);
    }
    return 0;
}

const command create_command = {
    "create",
    "FILE",
    "Makes an array of zeros in a file",
    "The file is NumPy's .npy if its name ends so, else raw: the elements and nothing else, after a header of zeros.\n"
    "It takes no room on the disk until it is written.\n"
    "With --layout, or if the name ends in .sluice, it is a container: a folder with subfiles, among which the layout\n"
    "divides the array: rows:4, columns:4, tiles:64x64:4, striped:1M:4, cyclic:8:4, block:4, hpf:block,cyclic(2)@2x2,\n"
    "falls:..., single. They lie in it, or on --targets. A container is never replaced. With --checksum every read of\n"
    "it is compared with checksums, and fails where they do not match.\n"
    "\n"
    "examples:\n"
    "  sluice create field.npy --shape 1000x1000 --type float64\n"
    "  sluice create field.raw --shape 4Kx4Kx4K --type int16 --order F --header 512\n"
    "  sluice create field.sluice --shape 8Kx8K --type float64 --layout tiles:1Kx1K:4 --targets a,b --bind "
    "a=/ssd,b=/disk\n",
    "sTohMflgbz",
    1,
    1,
    create_run,
};
