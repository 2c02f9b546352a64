/* create.c: `sluice create`: an array of zeros. The file is sparse: it takes no room until it is written. */
#include "tool/tool.h"
#include <string.h>

static int create_run(const options *o, int n, char **argument) {
    (void)n;
    const char *path = argument[0];
    sluice_desc d = {.format = file_format(o, path), .shape = o->array};
    const sluice_options how = {.size = sizeof how, .exclusive = 1, .replace = 1};
    sluice_array *a;
    if (!o->shape) report_usage("create needs an array: give --shape and --type, like --shape 8x8 --type float64");
    if (d.format == SLUICE_NPY && d.shape.header)
        report_usage("the header of an .npy file is not chosen; --format raw");
    memcpy(d.type, o->type_name, sizeof d.type);
    report_array(sluice_create(&a, output_start(path, o->force), &d, &how));
    output_finish(a);
    return 0;
}

const command create_command = {
    "create",
    "FILE",
    "Makes an array of zeros in a file",
    "The file is NumPy's .npy if its name ends so, else raw: the elements and nothing else, after a header of zeros.\n"
    "It takes no room on the disk until it is written.\n"
    "\n"
    "examples:\n"
    "  sluice create field.npy --shape 1000x1000 --type float64\n"
    "  sluice create field.raw --shape 4Kx4Kx4K --type int16 --order F --header 512\n",
    "sTohMf",
    1,
    1,
    create_run,
};
