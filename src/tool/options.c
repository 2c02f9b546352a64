/* options.c: reads what follows the name of a command, and prints its help from the same tables. */
#include "tool/tool.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    char letter; /* how commands name the options that they take */
    const char *name, *value, *help;
} table[] = {
    {'s', "shape", "8x8", "the array: its extents"},
    {'t', "type", "TYPE", "its elements: int32, float64, complex128, ... or a number of bytes (default: 1)"},
    {'o', "order", "C|F", "row-major (C, the default) or column-major (F)"},
    {'h', "header", "BYTES", "bytes before its first element (default: 0)"},
    {'p', "period", "BYTES", "the set repeats for ever with this period (default: it does not repeat)"},
    {'d', "disp", "BYTES", "file offset at which it starts (default: 0)"},
    {'w', "width", "N", "characters in a line (default: 64)"},
    {'S', "section", "[a:b:s,...]", "the part that is wanted (default: all)"},
    {'D', "dist", "block,*",
     "how the array is distributed: block, block(n), cyclic, cyclic(n), genblock(a,b,...) or *"},
    {'G', "grid", "4x1", "over how many processes; the dimensions with * may be left out"},
    {'F', "domains", "KIND", "file domains: static, dynamic, even, cyclic, cyclic(n), weighted or elements"},
    {'N', "io-procs", "N", "number of processes that do I/O (default: 4; of --collective: by cores)"},
    {'A', "align", "BYTES", "ends of file domains are multiples of this"},
    {'C', "collective", "read|write", "a call by all processes together: who would do what"},
    {'R', "ranks", "N", "number of processes (default: those of --grid)"},
    {'B', "shift", "100,0", "the section of each process lies so much further on than that of the one before"},
    {'K', "nodes", "N", "number of nodes on which they run (default: 1)"},
    {'c', "cores", "N", "cores of a node (default: as this machine has)"},
    {'k', "memory", "BYTES", "most memory for the buffers of a process (default: 64M)"},
    {'W', "way", "WAY", "own, two-phase or auto (default: auto)"},
    {'E', "method", "METHOD", "how requests are made: direct, list, sieve or auto (default: auto)"},
    {'y', "cached", NULL, "what is wanted is in the page cache"},
    {'a', "all", NULL, "all processes, not only the first 16"},
    {'T', "type", "TYPE", "its elements: int32, float64, complex128, S8, ... or a number of bytes"},
    {'n', "order", "C|F", "of the copy: row-major (C) or column-major (F) (default: as the source)"},
    {'r', "from-order", "C|F", "of the first file, if it is raw"},
    {'H', "from-header", "BYTES", "of the first file, if it is raw (default: as --header)"},
    {'M', "format", "npy|raw", "of the new file (default: npy if its name ends so, else raw)"},
    {'O', "output", "FILE", "where to, instead of printing; also -o FILE"},
    {'v', "value", "X", "the value, like 5, 1.5e-3 or 1+2j"},
    {'i', "iota", NULL, "each element gets its row-major index in the array, plus --value"},
    {'m', "memory", "BYTES", "most memory for buffers (default: 64M)"},
    {'f', "force", NULL, "replace a file that is there, once the new one is complete"},
    {'j', "json", NULL, "print JSON"},
    {'l', "layout", "rows:4",
     "a container, a folder of subfiles: which of them has what (default of X.sluice: single)"},
    {'g', "targets", "a,b", "names of the places to which the subfiles go in turn (default: the folder itself)"},
    {'z', "checksum", "[=64K]", "a checksum for each block of so many bytes of a container, which every read compares"},
    {'e', "scrub", NULL, "read all, and compare it with the checksums"},
    {'L', "seal", NULL, "the same; blocks that were being written at a crash get checksums as they are"},
    {'%', "file", "NAME", "the file that is meant (default: the one that was accessed most)"},
    {'2', "ranks", "N", "for so many processes (default: those of the trace)"},
    {'3', "scale", "4x", "for so many times the data (default: 1x)"},
    {'4', "dominance", "PART", "what one process uses so much of the time is its own, 0 to 1 (default: 0, off)"},
    {'5', "keep", "WHAT", "with other numbers of processes: array, block or records (default: by the pattern)"},
    {'6', "grow", "WHAT", "more data are larger blocks or more of them: size or count (default: size)"},
    {'7', "sample", "TRACE", "another trace of the program, that decides --keep and --grow"},
    {'8', "elem", "BYTES", "size of an element (default: as the pattern makes likely)"},
    {'9', "bandwidth", "BYTES", "that a target moves in a second (default: everything is cached)"},
    {'0', "latency", "SECONDS", "of each piece on a target (default: 0)"},
    {'#', "explain", NULL, "print the groups of the plan too"},
    {'V', "svg", "FILE", "draw the layout of a container to a new file, as SVG"},
    {'x', "clean", NULL, "remove what crashes left behind"},
    {'b', "bind", "a=PATH,...", "which folders the targets of a container are (default: as $SLUICE_TARGETS says)"},
    {'u', "resume", NULL, "go on with a copy that was interrupted, and keep this one if it is"},
    {'P', "element", "K", "the part of the layout that is meant, from 0"},
    {'q', "range", "A:B", "bytes A to B-1 of it (default: all)"},
    {'Z', "write", "FILE", "what it is to be, instead of printing it"},
    {'I', "plan", "FILE", "the plan that goes with it, as `sluice plan` makes one"},
    {'@', "on", "DATA", "the file or the container on which it is repeated"},
    {'>', "speed", "real|N|max",
     "how long the pauses between accesses are: as traced, an N-th of it, or none (default)"},
    {'~', "file", "NAME", "the file of the trace that is meant (default: the one with most bytes moved)"},
    {'=', "fill", NULL, "replace the contents first, by what is known of every byte, so that reads can be verified"},
    {'?', "against", "FILE", "verify reads against this plain file"},
    {'X', "explain", NULL, "say what it would cost, and do nothing"},
    {'Y', "trace", "FILE", "record its accesses in a trace, as sluice trace does"},
    {'1', "files", "PATTERN", "record the system's calls on these files, like '*.dat'; a colon between patterns"},
    {'J', "darshan", "FILE", "what darshan-dxt-parser printed"},
    {'U', "csv", "FILE", "lines of process,file,offset,size,R or W,begin and, if it is known, end, in seconds"},
    {'Q', "process", "N", "of this process only"},
};
enum {
    TABLE = sizeof table / sizeof *table,
    DEFAULT_MEMORY = 64 << 20,
    LEAST_MEMORY = 1 << 20, /* below, a header or a long element could not be held */
    LEAST_OWN = 4096,       /* the library's own limit */
};

/* Whether the value of an option may be left out. */
static bool is_optional(const char *value) { return !strncmp(value, "[=", 2); }

static void help_option(const char *name, const char *value, const char *help) {
    char left[64];
    snprintf(left, sizeof left, "--%s%s%s", name, value && !is_optional(value) ? " " : "", value ? value : "");
    printf("  %-22s %s\n", left, help);
}

void options_help(const char *group, const command *c) {
    printf("usage: sluice %s%s%s%s%s\n\n%s.\n", group, c->name, *c->options ? " [options]" : "",
           *c->arguments ? " " : "", c->arguments, c->summary);
    if (*c->details) printf("\n%s", c->details);
    if (*c->options) printf("\noptions:\n");
    for (int i = 0; i < TABLE; i++)
        if (strchr(c->options, table[i].letter)) help_option(table[i].name, table[i].value, table[i].help);
    if (!strcmp(group, "set ")) printf("\nHow sets are written: sluice set --help\n");
}

static int count(const char *what, const char *text, int most) {
    const int64_t n = notation_number(what, text);
    char message[32];
    snprintf(message, sizeof message, "expected 1 to %d", most);
    if (n < 1 || n > most) report_at(what, text, 0, message);
    return (int)n;
}

/* A number >= 0 that need not be whole. */
static double fraction(const char *what, const char *text) {
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= 0 && value < 1e9)) report_at(what, text, 0, "expected a number like 0.5");
    return value;
}

static void set_option(options *o, char letter, const char *value) {
    switch (letter) {
    case 's': o->shape = value; break;
    case 't':
    case 'T': o->type = value; break;
    case 'o':
    case 'n': o->order = value; break;
    case 'h': o->array.header = notation_number("header", value); break;
    case 'p':
        o->period = notation_number("period", value);
        if (o->period == 0) report_at("period", value, 0, "expected a number above 0");
        break;
    case 'd': o->disp = notation_number("displacement", value); break;
    case 'w': o->width = count("width", value, 4096); break;
    case 'S': o->section = value; break;
    case 'D': o->dist = value; break;
    case 'G': o->grid = value; break;
    case 'F': o->domains = value; break;
    case 'N': o->io_procs = count("number of I/O processes", value, INT_MAX); break;
    case 'A': o->align = notation_number("alignment", value); break;
    case 'C': o->collective = value; break;
    case 'R': o->ranks = count("number of processes", value, INT_MAX); break;
    case 'B': o->shift = value; break;
    case 'K': o->nodes = count("number of nodes", value, INT_MAX); break;
    case 'c': o->cores = count("number of cores", value, INT_MAX); break;
    case 'k':
        o->memory = notation_number("memory", value);
        if (o->memory < LEAST_OWN) report_at("memory", value, 0, "expected at least 4K");
        break;
    case 'W': o->way = value; break;
    case 'E': o->method = value; break;
    case 'y': o->cached = true; break;
    case 'a': o->all = true; break;
    case 'r': o->from_order = value; break;
    case 'H': o->from_header = notation_number("header", value); break;
    case 'M':
        o->format = value;
        if (strcmp(value, "npy") && strcmp(value, "raw")) report_at("format", value, 0, "expected npy or raw");
        break;
    case 'O': o->output = value; break;
    case 'v': o->value = value; break;
    case 'i': o->iota = true; break;
    case 'm':
        o->memory = notation_number("memory", value);
        if (o->memory < LEAST_MEMORY) report_at("memory", value, 0, "expected at least 1M");
        break;
    case 'f': o->force = true; break;
    case 'j': o->json = true; break;
    case 'l': o->layout = value; break;
    case 'g': o->targets = value; break;
    case 'z':
        o->checksum = value ? notation_number("checksum", value) : SLUICE_CHECKSUM;
        if (o->checksum < 512 || o->checksum > 16 << 20 || (o->checksum & (o->checksum - 1)))
            report_at("checksum", value, 0, "expected a power of two from 512 to 16M");
        break;
    case 'e': o->scrub = true; break;
    case 'L': o->seal = true; break;
    case '%': o->file = value; break;
    case '2': o->ranks = count("number of processes", value, SLUICE_MAX_SUBFILES - 1); break;
    case '3': o->scale = value; break;
    case '4':
        o->dominance = fraction("dominance", value);
        if (o->dominance > 1) report_at("dominance", value, 0, "expected a number from 0 to 1");
        break;
    case '5': o->keep = value; break;
    case '6': o->grow = value; break;
    case '7': o->sample = value; break;
    case '8': o->elem = notation_number("element", value); break;
    case '9': o->bandwidth = (double)notation_number("bandwidth", value); break;
    case '0': o->latency = fraction("latency", value); break;
    case '#': o->explain = true; break;
    case 'V': o->svg = value; break;
    case 'u': o->resume = true; break;
    case 'P': o->element = notation_number("element", value); break;
    case 'q': o->range = value; break;
    case 'Z': o->write = value; break;
    case 'I': o->plan = value; break;
    case '@': o->on = value; break;
    case '>': o->speed = value; break;
    case '~': o->traced = value; break;
    case '=': o->refill = true; break;
    case '?': o->against = value; break;
    case 'X': o->explain = true; break;
    case 'x': o->clean = true; break;
    case 'Y': o->trace = value; break;
    case '1': o->files = value; break;
    case 'J': o->darshan = value; break;
    case 'U': o->csv = value; break;
    case 'Q': o->process = notation_number("process", value); break;
    case 'b': o->bind = value; break;
    }
}

/* The option named by argv[*i] (without its dashes), its value after '=' or in the next argument. */
static void read_option(options *o, const command *c, int argc, char **argv, int *i) {
    const char *name = argv[*i] + 2, *value = strchr(name, '=');
    const size_t len = value ? (size_t)(value - name) : strlen(name);
    int k = 0;
    while (k < TABLE &&
           (!strchr(c->options, table[k].letter) || strlen(table[k].name) != len || strncmp(table[k].name, name, len)))
        k++;
    if (k == TABLE) report_usage("%s takes no option --%.*s", c->name, (int)len, name);
    if (!table[k].value && value) report_usage("option --%s takes no value", table[k].name);
    if (value)
        value++;
    else if (table[k].value && !is_optional(table[k].value)) {
        if (*i + 1 >= argc)
            report_usage("option --%s needs a value, like --%s %s", table[k].name, table[k].name, table[k].value);
        value = argv[++*i];
    }
    set_option(o, table[k].letter, value);
}

/* Puts the array together once all options are known. In commands on files it is a raw file, or a new one, and some of
 * the options have a meaning without it. */
static void finish(options *o, const command *c) {
    const bool files = strchr(c->options, 'T') || !strchr(c->options, 's');
    if (!files && !o->shape && (o->type || o->order || o->array.header)) report_usage("an array needs --shape");
    if (files && !o->shape && o->type) report_usage("--type without --shape");
    if (files && o->shape && !o->type) report_usage("--shape without --type");
    if (o->type) notation_type(o->type_name, o->type);
    o->array.order = o->order ? notation_order(o->order) : SLUICE_ROW_MAJOR;
    if (o->from_order) notation_order(o->from_order);
    if (!o->shape) return;
    notation_shape(&o->array, o->shape);
    o->array.elem = o->type ? sluice_type_size(o->type_name) : 1;
    notation_array(&o->array, o->shape);
}

const sluice_shape *options_array(const options *o) { return o->shape ? &o->array : NULL; }

int options_run(const char *group, const command *c, int argc, char **argv) {
    options o = {.width = 64, .from_header = -1, .element = -1, .process = -1, .memory = DEFAULT_MEMORY};
    char **argument = argv; /* what is not an option moves to the front */
    int n = 0;
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            options_help(group, c);
            return 0;
        }
    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "--")) {
            while (++i < argc) argument[n++] = argv[i];
        } else if (!strncmp(argv[i], "--", 2)) {
            read_option(&o, c, argc, argv, &i);
        } else if (!strcmp(argv[i], "-o") && strchr(c->options, 'O')) {
            if (++i >= argc) report_usage("option -o needs a value, like -o FILE");
            set_option(&o, 'O', argv[i]);
        } else if (!strcmp(argv[i], "-")) {
            report_usage("%s does not know '-': standard input and output cannot be arrays", c->name);
        } else if (argv[i][0] == '-' && (argv[i][1] < '0' || argv[i][1] > '9')) { /* -5 is a number */
            report_usage("%s takes no option %s", c->name, argv[i]);
        } else {
            argument[n++] = argv[i];
        }
    }
    if (n < c->least || (c->most >= 0 && n > c->most))
        report_usage("too %s arguments; usage: sluice %s%s%s%s%s", n < c->least ? "few" : "many", group, c->name,
                     *c->options ? " [options]" : "", *c->arguments ? " " : "", c->arguments);
    finish(&o, c);
    return c->run(&o, n, argument);
}
