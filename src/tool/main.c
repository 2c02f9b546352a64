/* main.c: the command `sluice`: finds the command that is meant, and its help. */
#include "sluice_version.h"
#include "tool/tool.h"
#include <signal.h>
#include <string.h>

/* A command by itself, or a group of them. */
typedef struct entry {
    const char *name, *summary;
    const command *command; /* the one, or the first of the group */
    const char *notes;      /* at the end of a group's help; NULL: not a group */
} entry;

static const entry table[] = {
    {"create", "makes an array of zeros in a file", &create_command, NULL},
    {"info", "says what array is in a file, and how it is divided into subfiles", &info_command, NULL},
    {"check", "looks for damage: of a container, a folder of subfiles, or of a file", &check_command, NULL},
    {"rm", "removes containers", &rm_command, NULL},
    {"read", "prints a section of an array, or copies it to a new file", &read_command, NULL},
    {"write", "writes a file into a section of an array", &write_command, NULL},
    {"cp", "copies an array: other format, layout or storage order, or only a section; in parallel", &cp_command, NULL},
    {"merge", "makes one plain file of a container", &merge_command, NULL},
    {"partition", "makes a container of a file, laid out by a plan; in parallel", &partition_command, NULL},
    {"relayout", "gives a container another layout, in its place; in parallel", &relayout_command, NULL},
    {"view", "reads or writes one element of a partition of a container's array, as bytes", &view_command, NULL},
    {"diff", "compares two arrays element by element", &diff_command, NULL},
    {"fill", "sets the elements of an array", &fill_command, NULL},
    {"explain", "what a section of an array means for the file and for processes", &explain_command, NULL},
    {"match", "how well a layout fits an access, and which would fit better", &match_command, NULL},
    {"doctor", "says what this machine and a folder offer, and what to expect", &doctor_command, NULL},
    {"run", "runs a program whose MPI-IO is done by Sluice", &run_command, NULL},
    {"replay", "repeats the accesses of a trace on a file or a container; under mpiexec", &replay_command, NULL},
    {"plan", "says where each byte of a traced file belongs, and what that would gain", &plan_command, NULL},
    {"report", "shows a trace as a page for a browser", &report_command, NULL},
    {"trace", "records what a program accesses, and shows it", trace_commands, trace_notes},
    {"set", "the algebra of sets: enumerate, map, intersect, project, compare, draw", set_commands, set_notation},
};
enum { TABLE = sizeof table / sizeof *table };

static int help(void) {
    printf(
        "usage: sluice COMMAND ...\n\n"
        "Sluice works with parts of arrays that are larger than memory: NumPy's .npy files and raw ones, in row-major\n"
        "or column-major order. Under it is one idea: a section of an array, a distribution over processes, a view\n"
        "and a file domain are all the same thing, a nested strided set of bytes.\n\n"
        "commands:\n");
    for (int i = 0; i < TABLE; i++) printf("  %-10s %s\n", table[i].name, table[i].summary);
    printf("  %-10s this text; `sluice help COMMAND` and `sluice COMMAND --help` say more\n  %-10s the version\n\n"
           "try:\n"
           "  sluice create field.npy --shape 1000x1000 --type float64\n"
           "  sluice fill field.npy '[10:20,:]' --iota\n"
           "  sluice read field.npy '[10:12,:4]'\n"
           "  sluice explain --shape 16x16 --type float64 --section '[2:10,::3]' --dist 'block,*' --grid 4\n"
           "  sluice set intersect '(0,7,16,2)' '(0,3,8,4)'\n",
           "help", "--version");
    return 0;
}

static int help_group(const entry *e) {
    printf("usage: sluice %s COMMAND [options] ...\n\ncommands:\n", e->name);
    for (const command *c = e->command; c->name; c++) printf("  %-10s %-20s %s\n", c->name, c->arguments, c->summary);
    printf("\n%s\n`sluice %s COMMAND --help` says more.\n", e->notes, e->name);
    return 0;
}

static const entry *find(const char *name) {
    int i = 0;
    while (i < TABLE && strcmp(table[i].name, name)) i++;
    if (i == TABLE) report_usage("no command '%s'; `sluice help` lists them", name);
    return &table[i];
}

static const command *find_in(const entry *e, const char *name) {
    const command *c = e->command;
    while (c->name && strcmp(c->name, name)) c++;
    if (!c->name) report_usage("no command '%s %s'; `sluice %s --help` lists them", e->name, name, e->name);
    return c;
}

static bool is_help(const char *word) {
    return !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* What follows the name of e: run, or explain. */
static int enter(const entry *e, int argc, char **argv) {
    char group[32];
    if (!e->notes) return options_run("", e->command, argc, argv);
    snprintf(group, sizeof group, "%s ", e->name);
    if (argc && argv[0][0] == '-' && !is_help(argv[0]))
        return options_run(group, e->command, argc, argv); /* the first */
    if (argc && !is_help(argv[0])) return options_run(group, find_in(e, argv[0]), argc - 1, argv + 1);
    if (argc < 2) return help_group(e);
    options_help(group, find_in(e, argv[1]));
    return 0;
}

static int run(int argc, char **argv) {
    if (!argc || (is_help(argv[0]) && (argc == 1 || is_help(argv[1])))) return help();
    if (!strcmp(argv[0], "--version")) {
        if (argc > 1) report_usage("too many arguments; usage: sluice --version");
        printf("sluice %s\n", sluice_version());
        return 0;
    }
    if (!is_help(argv[0])) return enter(find(argv[0]), argc - 1, argv + 1);
    /* help COMMAND ...: as COMMAND --help ... */
    const entry *e = find(argv[1]);
    argv[1] = (char[]){"--help"};
    return enter(e, argc - 1, argv + 1);
}

/* Whether several processes can share the command. */
static bool shared(const char *name) {
    static const char *const names[] = {"check", "cp", "merge", "partition", "relayout", "replay"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_DFL); /* whoever started us may ignore it; a reader that leaves ends us quietly */
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error of the write like any other */
    if (argc > 1 && shared(argv[1])) ranks_start();
    const int status = argc ? run(argc - 1, argv + 1) : 2;
    report_flush();
    ranks_end(status);
}
