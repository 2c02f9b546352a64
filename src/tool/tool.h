/* tool.h: the command `sluice`: what its files share.
 *
 * main.c finds the command, options.c reads what follows it, notation.c turns arguments into sets, set.c, match.c,
 * draw.c and explain.c do the work, report.c ends the program when something is wrong. Everything wrong ends it at
 * once, with one line on standard error: status 2 for what the user wrote, 1 for all else. So no function here returns
 * an error.
 */
#ifndef SLUICE_TOOL_H
#define SLUICE_TOOL_H

#include "sluice_set.h"
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

/* Memory for n > 0 zeroed things, or the end. */
void *report_alloc(size_t n, size_t size);

/* What was printed must have arrived; to be called last, and now and then in a long output. */
void report_flush(void);

/* ---- notation.c ---- */

/* A distribution of an array over a grid of processes. */
typedef struct layout {
    sluice_dist dist[SLUICE_MAX_DIMS];
    int grid[SLUICE_MAX_DIMS];
    int nprocs;
    int64_t *sizes; /* all GENBLOCK sizes */
} layout;

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

/* "8x8" and "float32": the extents of an array, the bytes of an element. notation_array() checks the whole. */
void notation_shape(sluice_shape *array, const char *text);
int64_t notation_type(const char *text);
sluice_order notation_order(const char *text);
void notation_array(const sluice_shape *array, const char *text);

/* "[a:b:s,...]": one range per dimension. */
void notation_section(sluice_range *range, const sluice_shape *array, const char *text);

/* "block,cyclic(2)" and "2x2". layout_free() gives it back. */
void notation_layout(layout *out, const sluice_shape *array, const char *dist, const char *grid);
void layout_free(layout *l);

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
    const char *section, *dist, *grid, *domains;
    int64_t period, disp; /* period 0: not given */
    int64_t align, width;
    int io_procs;
    bool all;
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
extern const command explain_command;

int match_run(const options *o, int n, char **argument);
int owner_run(const options *o, int n, char **argument);
int draw_run(const options *o, int n, char **argument);

/* ---- draw.c ---- */

/* Whether a picture of the whole array is small enough to be printed. */
bool draw_fits(const sluice_shape *array);

/* A character per element, a line per row, planes one after the other. section NULL: which of p has the element (# if
 * p is a single set); else the letter of the one that has it, a capital if it is in the section. */
void draw_array(const sluice_shape *array, const parts *p, const sluice_set *section, const char *indent);

#endif
