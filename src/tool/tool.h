/* tool.h: the command `sluice`: what its files share.
 *
 * main.c finds the command, options.c reads what follows it, notation.c turns arguments into sets and sections. Work on
 * sets: set.c, match.c, draw.c, explain.c, together.c, costs.c. Work on arrays in files: create.c, info.c, check.c,
 * rm.c, read.c, cp.c (also write), merge.c, relayout.c, view.c, diff.c, fill.c, on top of file.c, which opens arrays,
 * output.c, which makes new files whole or not at all, journal.c, which knows how far a copy is, ending.c, which undoes
 * what must not stay, element.c, which knows what an element says, and progress.c. Of containers: subfiles.c explains,
 * picture.c draws. Of traces: page.c makes a page (page.h), replay.c repeats one, plan.c goes from them to layouts.
 * ranks.c lets several processes do one thing, run.c starts a program with the MPI-IO door before it, doctor.c says
 * what the machine offers. report.c ends the program when something is wrong. Everything wrong ends it at once, with
 * one line on standard error: status 2 for what the user wrote, 1 for all else. So no function here returns an error,
 * but for file_try().
 */
#ifndef SLUICE_TOOL_H
#define SLUICE_TOOL_H

#include "file/file.h"
#include "sluice.h"
#include "trace/trace.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

/* ---- report.c ---- */

/* The user's mistake, in one line; status 2. */
_Noreturn void report_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A mistake at byte `pos` of what was written for `what`; status 2. */
_Noreturn void report_at(const char *what, const char *text, int64_t pos, const char *message);

/* Anything else; status 1. */
_Noreturn void report_failure(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program if error is not 0: status 1 if memory or the budget ran out, else 2. */
void report_error(int error, const char *doing);

/* The same for calls on arrays, whose sentence is sluice_errmsg(): status 2 if there is no such file, or not such an
 * array in it, else 1. */
void report_array(int error);

/* All that ends the program from now on ends it with status 2: 1 has a meaning of its own. */
void report_trouble(void);

/* Memory for n > 0 zeroed things, or the end. */
void *report_alloc(size_t n, size_t size);

/* What was printed must have arrived; to be called last, and now and then in a long output. */
void report_flush(void);

/* ---- words.c ---- */

/* "384 bytes", "1310720 bytes (1.25 MiB)"; one printf can use four. */
const char *words_bytes(int64_t n);

/* "8 x 12" */
void words_extents(FILE *f, const int64_t *extent, int n);

/* "row-major" */
const char *words_order(sluice_order order);

/* A string or a list of numbers as JSON writes it. */
void words_json_string(const char *text);
void words_json_list(const int64_t *value, int n);

/* A text as HTML writes it, within elements and in quotes. */
void words_html(FILE *f, const char *text);

/* ---- notation.c ---- */

/* A partition, or some sets that are to be drawn together. */
typedef struct parts {
    int n;
    sluice_set *set;
    int64_t period, disp; /* period 0: the sets are not one */
} parts;

/* A number >= 0 with K, M, G or T after it for powers of 1024; `what` names it in messages. signed: also below 0. */
int64_t notation_number(const char *what, const char *text);
int64_t notation_signed(const char *what, const char *text);

/* The n > 0 of "word(n)", which starts at byte pos and ends the text. */
int64_t notation_argument(const char *what, const char *text, int64_t pos);

/* "8x8" and "float32": the extents of an array, the type of an element by a name that the library knows.
 * notation_array() checks the whole. */
enum { TYPE_NAME = sizeof((sluice_desc *)0)->type };
void notation_shape(sluice_shape *array, const char *text);
void notation_type(char *name, const char *text);
sluice_order notation_order(const char *text);
void notation_array(const sluice_shape *array, const char *text);

/* "100,0": a distance for each dimension. */
void notation_shift(int64_t *by, int ndims, const char *text);

/* "[a:b:s,...]": one range per dimension, see sluice_section_parse(). */
void notation_section(sluice_range *range, const sluice_shape *array, const char *text);

/* "block,cyclic(2)" and "2x2". sluice_spread_free() gives it back. */
void notation_layout(sluice_spread *out, const sluice_shape *array, const char *dist, const char *grid);

/* Any way to write a set; array may be NULL. And a partition, which is checked; or, where `any` is true, a single
 * set. */
void notation_set(sluice_set *out, const sluice_shape *array, const char *text);
void notation_parts(parts *out, const sluice_shape *array, const char *text, bool any);
void parts_free(parts *p);

/* Prints a set in the notation of the papers, at most `most` characters of it (0: all). */
void notation_print(const sluice_set *s, int64_t most);

/* ---- options.c ---- */

/* What the options said, or their defaults. */
typedef struct options {
    sluice_shape array;
    const char *shape, *type, *order; /* as written; shape NULL: no array */
    char type_name[TYPE_NAME];        /* "" if none was given */
    const char *section, *dist, *grid, *domains;
    int64_t period, disp; /* period 0: not given */
    int64_t align, width;
    int io_procs; /* 0: not given */
    bool all;
    /* of explanations of collective calls */
    const char *collective, *way, *method, *shift;
    int ranks, nodes, cores; /* 0: not given */
    bool cached;
    /* of plans */
    const char *file, *scale, *keep, *grow, *sample;
    double dominance, bandwidth, latency;
    int64_t elem; /* 0: not given */
    /* of commands on files */
    const char *output, *format, *value, *from_order;
    const char *layout, *targets, *bind, *svg; /* of containers */
    int64_t from_header;                       /* -1: not given */
    int64_t memory;
    int64_t checksum;                          /* 0: not given */
    const char *trace, *files, *darshan, *csv; /* of recording and importing traces */
    int64_t process;                           /* -1: all */
    bool force, json, iota, clean, scrub, seal;
    bool resume, explain; /* of copies */
    int64_t element;      /* of views; -1: not given */
    const char *range, *write;
    const char *plan; /* of traces and partitions */
    const char *on, *speed, *traced, *against;
    bool refill;
} options;

/* A command, and what its help says. options: the letters of the options that it takes (options.c). */
typedef struct command {
    const char *name, *arguments, *summary, *details, *options;
    int least, most; /* arguments; most < 0: any number */
    int (*run)(const options *o, int n, char **argument);
} command;

/* Reads the arguments of a command, runs it and returns its status. `group` is "" or "set ". */
int options_run(const char *group, const command *c, int argc, char **argv);

/* The text of `--help`. */
void options_help(const char *group, const command *c);

/* The array of the options, or NULL. */
const sluice_shape *options_array(const options *o);

/* ---- the commands ---- */

extern const command set_commands[]; /* ends with a name of NULL */
extern const char set_notation[];    /* how sets are written, for help */
extern const command trace_commands[];
extern const char trace_notes[];
extern const command explain_command, plan_command;
extern const command create_command, info_command, read_command, write_command, cp_command, diff_command, fill_command;
extern const command check_command, match_command, rm_command, merge_command, relayout_command, run_command;
extern const command view_command, report_command, replay_command, doctor_command, partition_command;

/* cp.c. Copies a section (NULL: all) to a new file; a raw one has so long a header. */
void cp_section(const options *o, sluice_array *from, const char *section, const char *path, int64_t header);

/* cp.c. The same of all of it, with its header, to a container by the text of a plan. */
typedef struct plan_text {
    char *bytes;
    int64_t len;
} plan_text;
void cp_planned(const options *o, sluice_array *from, const plan_text *text, const char *path);

/* run.c. Becomes the program, with a library of ours, by its name, preloaded. */
_Noreturn void run_program(const char *library, int n, char **argument);

/* trace.c. Runs the program and makes a trace of its accesses: of the system's calls on `files`, or, if that is NULL,
 * of those that it makes by MPI-IO and Sluice. Returns its status. */
int trace_program(const char *path, const char *files, bool force, int n, char **argument);

/* trace.c. A line or two about a trace, each with that before it. */
void trace_summary(FILE *f, const sluice_trace *t, const char *before);

/* show.c. Loads a trace, or ends the program. */
void trace_load(sluice_trace *t, const char *path);
int show_run(const options *o, int n, char **argument);
int csv_run(const options *o, int n, char **argument);
int stat_run(const options *o, int n, char **argument);
int import_run(const options *o, int n, char **argument);

/* explain.c. The line about the array of the options, which has so many bytes; contained: in a container, or NULL. */
void explain_array(const options *o, int64_t bytes, const sluice_manifest *contained);

/* together.c. Foretells a collective call on the array of the options, which is that of a file if there is one. */
void together_explain(const options *o, sluice_array *file, int64_t bytes);

/* subfiles.c. What a section means for the subfiles of a container. */
void subfiles_explain(const options *o, sluice_array *file, const sluice_set *section);

int match_run(const options *o, int n, char **argument);
int owner_run(const options *o, int n, char **argument);
int draw_run(const options *o, int n, char **argument);

/* ---- file.c ---- */

/* Which of the files of a command it is: a raw one is described by --order and --header, the first of two by
 * --from-order and --from-header where these are given. */
typedef enum file_role { FILE_ONLY, FILE_FROM, FILE_TO } file_role;

/* Opens an array: .npy and containers as they say themselves, raw as the options say. `memory` is for the handle. */
sluice_array *file_open(const options *o, const char *path, file_role role, int mode, int64_t memory);

/* The same, but what goes wrong in the library is returned. */
int file_try(sluice_array **a, const options *o, const char *path, file_role role, int mode, int64_t memory);

/* Opens one as a process that shares it for writing does, and takes no lock: to foretell writes, not to make any. */
sluice_array *file_look(const options *o, const char *path);

/* Closes it. However else the program ends, the lock of a container that was opened for writing is given back. */
void file_close(sluice_array *a);

/* Whether it is raw; and the refusal of options, by their letters, that describe raw files where there is none. */
bool file_raw(const sluice_array *a);
void file_unused(const options *o, const char *letters);

/* Whether a new array is to be a container: by --layout, or by its name. */
bool file_contained(const options *o, const char *path);

/* The format of a new file: --format, or by its name. */
sluice_format file_format(const options *o, const char *path);

/* The section that was written (NULL: all) of an array. */
void file_section(sluice_range *range, const sluice_array *a, const char *text);

/* ---- check.c, scrub.c ---- */

/* What is looked at, and how much ought not to be so; find: one more thing. */
typedef struct inspection {
    const options *o;
    const char *path;
    int64_t findings;
} inspection;
void check_find(inspection *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Compares a container that has checksums with them, by all processes; writing: someone is. seal: by one, blocks
 * without get them. */
void scrub_container(inspection *s, bool writing);
void scrub_seal(const options *o, const char *path);

/* ---- ranks.c ---- */

/* Starts MPI if mpiexec has started several of us; how many there are; whether this is the first, who speaks. */
void ranks_start(void);
int ranks_size(void);
int ranks_rank(void);
bool ranks_first(void);

/* `if (ranks_lead()) { ...; ranks_led(); }`: the first does it, the others wait; if it ends the program there, so do
 * they. */
bool ranks_lead(void);
void ranks_led(void);

/* Memory for n > 0 zeroed things on each process, or the end of all; p: this one has it already, if not NULL. */
void *ranks_alloc(void *p, size_t n, size_t size);

/* All get what the first has. */
void ranks_share(void *p, size_t n);

/* The sum of what all have. */
int64_t ranks_sum(int64_t n);

/* n <= 8 numbers: the least and the largest of what all have in least[]. n sums of what all have. */
void ranks_extremes(int64_t *least, int64_t *most, int n);
void ranks_add(double *value, int n);

/* The end of the program, with the sentence of the first process that has an error; nothing if none has. */
void ranks_blame(int error, const sluice_reason *why);

/* The end of the program. All come here, or the first alone while the others wait. */
_Noreturn void ranks_end(int status);

/* sluice_open() and sluice_create(), by all together if there are several. */
int ranks_open(sluice_array **a, const char *path, int mode, const sluice_desc *given, const sluice_options *o);
int ranks_create(sluice_array **a, const char *path, const sluice_desc *d, const sluice_options *o);

/* ---- journal.c, on the first process ---- */

/* What a journal says: numbers that stand for the source and for what is made of it; elements in a chunk, chunks; '1'
 * for what is done: [0] the new array is there, [k] chunk k of 1 ... n. */
typedef struct journal_state {
    uint64_t from, to;
    int64_t chunk, n;
    char *mark;
} journal_state;

/* Opens the journal, or makes one, and keeps others out. `written`: what the user calls the copy. */
void journal_open(const char *path, const char *written);

/* Reads it: true if the copy that is there can go on, and *s is then as it was left, chunks and all. Ends the program
 * if from or to are others. */
bool journal_read(journal_state *s, const char *written);

/* Starts it anew, with nothing done; marks something as done; removes it. */
void journal_write(journal_state *s);
void journal_mark(journal_state *s, int64_t k);
void journal_remove(void);

/* ---- ending.c ---- */

/* What is to be done however the program ends; a signal may do it at any time, and then once more. */
void ending_undo(void (*what)(void));

/* Whether that is because of a signal: then little may be done. */
bool ending_by_signal(void);

/* ---- output.c ---- */

/* A new file is made under another name in the same folder, and gets its own when it is complete. Until then, however
 * the program ends, what was there stays and nothing is left behind. */
const char *output_start(const char *path, bool force); /* the other name; there is a file of that name */
void output_finish(sluice_array *a);                    /* closes a, makes it permanent, gives it its name */
void output_text(FILE *f);                              /* the same for a text that was written there */
void output_name(char *line, size_t cap);               /* in a message: the name that the user knows */

/* The same for copies, which may be containers and are made in chunks: after a kill they can go on. Returns the other
 * name; *fresh: there is nothing of that name yet, else what is there goes on where *s says. */
const char *output_partial(const options *o, const char *path, journal_state *s, bool *fresh);

/* ---- progress.c ---- */

/* A bar on standard error, if that is a terminal and it takes more than a second. step fits sluice_copy_options. */
void progress_start(const char *doing);
int progress_step(void *unused, int64_t done, int64_t total);
void progress_end(void);
double progress_seconds(void); /* since the start */

/* ---- element.c ---- */

/* What an element says. */
typedef struct element_kind {
    char kind; /* b i u f c S U V M m, as NumPy has them */
    int64_t size;
} element_kind;
element_kind element_of(const sluice_desc *d);

/* Prints one; numbers with as many digits as it takes to read them back. */
void element_print(FILE *f, element_kind e, const void *value);

/* Reads one from what was written for --value. */
void element_read(element_kind e, void *value, const char *text);

/* n of them, one after the other: first + index, first + index + by, ... Integers wrap around. */
void element_ramp(element_kind e, void *buf, int64_t n, const void *first, int64_t index, int64_t by);

/* ---- draw.c ---- */

/* What stands for number i in pictures. */
char draw_symbol(int i);

/* Whether a picture of the whole array is small enough to be printed. */
bool draw_fits(const sluice_shape *array);

/* A character per element, a line per row, planes one after the other. section NULL: which of p has the element (# if
 * p is a single set); else the letter of the one that has it, a capital if it is in the section. */
void draw_array(const sluice_shape *array, const parts *p, const sluice_set *section, const char *indent);

/* ---- picture.c ---- */

/* Which subfile of a container each region of an array of one or two dimensions belongs to: in characters, or as SVG in
 * a new file. */
bool picture_possible(const sluice_shape *array);
void picture_print(const sluice_layout *l, const char *indent);
void picture_svg(const sluice_layout *l, const char *path, bool force);

#endif
