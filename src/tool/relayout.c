/* relayout.c: `sluice relayout`: another layout for a container, in its place (array/relayout.c). */
#include "array/array.h"
#include "tool/tool.h"
#include <sys/stat.h>

enum { HANDLE = 32 }; /* one of so many parts of the memory is the handle's own */

static sluice_relayout wish(const options *o) {
    return (sluice_relayout){.layout = o->layout,
                             .targets = o->targets,
                             .order = o->order ? &o->array.order : NULL,
                             .memory = o->memory,
                             .progress = progress_step};
}

/* The room that both generations need at the same time. */
static void print_space(const options *o, const sluice_array *a) {
    const sluice_relayout r = wish(o);
    const sluice_container *c = a->container;
    sluice_manifest *next;
    sluice_space *space;
    sluice_reason why;
    int *fd, n, error = sluice_relayout_plan(&next, a, &r, &why);
    if (error) report_usage("%s", why.text);
    if ((error = sluice_folder_targets(&fd, next, c->folder, c->bindings, &why))) report_usage("%s", why.text);
    if ((error = sluice_space_ask(&space, &n, next, fd))) report_failure("%s", sluice_strerror(error));
    for (int i = 0; i < n; i++)
        printf("%-9s %s more on the file system of target %s until the old subfiles go; %s free%s\n", i ? "" : "space",
               words_bytes(space[i].need), space[i].target, words_bytes(space[i].free),
               space[i].need > space[i].free ? ": not enough" : "");
    sluice_mem_free(space);
    sluice_folder_close(fd, next, c->folder);
    sluice_manifest_free(next);
}

/* What the copy costs is what cp says of it. */
static int explain(const options *o, char *path) {
    options copy = *o;
    if (!o->layout) { /* that of the container, which cp would not know */
        sluice_array *a = file_open(o, path, FILE_FROM, SLUICE_READ, o->memory / HANDLE);
        static char text[SLUICE_MAX_LAYOUT_TEXT + 1];
        snprintf(text, sizeof text, "%s", sluice_describe_layout(a));
        copy.layout = text;
        file_close(a);
    }
    const int status = cp_command.run(&copy, 2, (char *[]){path, path});
    sluice_array *a = file_open(o, path, FILE_FROM, SLUICE_READ, o->memory / HANDLE);
    if (ranks_lead()) {
        print_space(o, a);
        ranks_led();
    }
    file_close(a);
    return status;
}

static int relayout_run(const options *o, int n, char **argument) {
    struct stat st;
    (void)n;
    if (!stat(argument[0], &st) && !S_ISDIR(st.st_mode))
        report_usage("%s is a plain file; cp --layout makes a container of it", argument[0]);
    if (!o->layout && !o->order && !o->targets) report_usage("relayout needs --layout, --order or --targets");
    if (o->explain) return explain(o, argument[0]);
    const sluice_relayout r = wish(o);
    sluice_array *a = file_open(o, argument[0], FILE_FROM, SLUICE_WRITE, o->memory / HANDLE);
    progress_start("relayout");
    const int error = sluice_relayout_all(a, &r);
    const sluice_reason why = sluice_errmsg_reason(error);
    progress_end();
    file_close(a);
    if (error) report_array(sluice_errmsg_set(&why));
    return 0;
}

const command relayout_command = {
    "relayout",
    "CONTAINER",
    "Gives a container another layout, order or other targets, in its place",
    "New subfiles are made beside the old ones and filled, then the manifest names them, in one step, and the old "
    "ones\n"
    "are removed. Until that step the array is as it was, whatever happens, and can be read. So there must be room "
    "for\n"
    "the array twice, which is looked at first; --explain says how much. What a kill leaves behind `sluice check "
    "--clean`\n"
    "removes, and so does the next relayout, which starts over. Under mpiexec all processes take part, each with\n"
    "--memory.\n"
    "\n"
    "examples:\n"
    "  sluice relayout field.sluice --layout tiles:256x256:8\n"
    "  sluice relayout field.sluice --layout columns:4 --targets fast,slow --bind fast=/ssd,slow=/disk --explain\n"
    "  mpiexec -n 4 sluice relayout field.sluice --layout striped:1M:4 --memory 256M\n",
    "lgnmbX",
    1,
    1,
    relayout_run,
};
