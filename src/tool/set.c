/* set.c: `sluice set`: the algebra of sets, one small command for each operation. */
#include "tool/tool.h"
#include <string.h>

const char set_notation[] =
    "A SET is written in one of three ways; quote it, the shell knows ( * ; too:\n"
    "  {(l,r,s,n,{...}),...}  n blocks of the bytes l to r (inclusive), s apart, perhaps with sets inside the blocks;\n"
    "                         also a single (l,r,s,n), and l-r for one block\n"
    "  [a:b:s,...]            a section of the array given by --shape, --type, --order and --header: indices a, a+s, "
    "...\n"
    "                         below b of each dimension, as in Python; negative ones count from the end\n"
    "  block,*@4:1            what process 1 has of that array, distributed so over 4 processes; each dimension is\n"
    "                         block, block(n), cyclic, cyclic(n), genblock(a,b,...) or *; the grid is like 2x3\n"
    "A PARTITION of a file is\n"
    "  SET;SET;...            sets that together are all bytes of a period; 2+SET;SET starts at file offset 2\n"
    "  block,*@4              one set for each process\n"
    "Numbers may end in K, M, G or T (powers of 1024), except in {...} and [...].\n";

#define ARRAY "stoh"

/* ---- asking ---- */

static int run_enum(const options *o, int n, char **argument) {
    (void)n;
    sluice_set s = SLUICE_SET_EMPTY;
    sluice_cursor c;
    sluice_run r;
    notation_set(&s, options_array(o), argument[0]);
    for (sluice_cursor_init(&c, &s); sluice_cursor_run(&c, &r);)
        if (printf("%" PRId64 "-%" PRId64 "\n", r.off, r.off + r.len - 1) < 0) report_flush();
    sluice_set_free(&s);
    return 0;
}

static int run_size(const options *o, int n, char **argument) {
    (void)n;
    sluice_set s = SLUICE_SET_EMPTY;
    notation_set(&s, options_array(o), argument[0]);
    printf("%" PRId64 "\n", s.size);
    sluice_set_free(&s);
    return 0;
}

static void show(const sluice_set *s) {
    notation_print(s, 0);
    putchar('\n');
}

static int run_show(const options *o, int n, char **argument) {
    (void)n;
    sluice_set s = SLUICE_SET_EMPTY;
    notation_set(&s, options_array(o), argument[0]);
    show(&s);
    sluice_set_free(&s);
    return 0;
}

static int run_info(const options *o, int n, char **argument) {
    (void)n;
    sluice_set s = SLUICE_SET_EMPTY;
    notation_set(&s, options_array(o), argument[0]);
    const int64_t lo = sluice_set_lo(&s), hi = sluice_set_hi(&s);
    printf("size         %" PRId64 " bytes\n", s.size);
    if (s.size)
        printf("bounds       %" PRId64 "-%" PRId64 ", a span of %" PRId64 " bytes, %.3g %% of it in the set\n", lo,
               hi - 1, hi - lo, 100.0 * (double)s.size / (double)(hi - lo));
    printf("runs         %" PRId64 "\n", sluice_set_nruns(&s));
    printf("families     %d\n", (int)s.nnode);
    printf("depth        %d\n", sluice_set_depth(&s));
    printf("wire form    %" PRId64 " bytes\n", sluice_set_pack(&s, NULL, 0));
    printf("normal form  ");
    show(&s);
    sluice_set_free(&s);
    return 0;
}

/* map, unmap, next, prev and rank take a set, perhaps periodic, and offsets; they print one number for each. A set
 * that is not repeated is one whose period is too long for a second one to start below 2^63. */
static int each_offset(const options *o, int n, char **argument, int64_t (*ask)(const sluice_element *e, int64_t x)) {
    sluice_set s = SLUICE_SET_EMPTY;
    notation_set(&s, options_array(o), argument[0]);
    /* Without a period nothing repeats: the longest leaves no room for a second copy but of its first byte. */
    const sluice_element e = {&s, o->period ? o->period : INT64_MAX, o->disp};
    if (sluice_set_hi(&s) > e.period) {
        char message[80];
        snprintf(message, sizeof message, "it ends at %" PRId64 ", past its period of %" PRId64, sluice_set_hi(&s) - 1,
                 e.period);
        report_at("set", argument[0], 0, message);
    }
    for (int i = 1; i < n; i++) {
        const int64_t x = notation_number("offset", argument[i]), y = ask(&e, x);
        const bool second =
            !o->period && (ask == sluice_element_unmap ? x >= s.size : ask != sluice_element_rank && y >= s.size);
        if (y < 0 || second)
            puts("-");
        else
            printf("%" PRId64 "\n", y);
    }
    sluice_set_free(&s);
    return 0;
}

static int run_map(const options *o, int n, char **argument) { return each_offset(o, n, argument, sluice_element_map); }
static int run_next(const options *o, int n, char **argument) {
    return each_offset(o, n, argument, sluice_element_next);
}
static int run_prev(const options *o, int n, char **argument) {
    return each_offset(o, n, argument, sluice_element_prev);
}
static int run_rank(const options *o, int n, char **argument) {
    return each_offset(o, n, argument, sluice_element_rank);
}
static int run_unmap(const options *o, int n, char **argument) {
    return each_offset(o, n, argument, sluice_element_unmap);
}

/* ---- operations ---- */

/* The first set, combined with each of the others in turn, printed. */
static int combine(const options *o, int n, char **argument, const char *doing,
                   int (*op)(sluice_set *out, const sluice_set *a, const sluice_set *b)) {
    sluice_set a = SLUICE_SET_EMPTY, b = SLUICE_SET_EMPTY;
    notation_set(&a, options_array(o), argument[0]);
    for (int i = 1; i < n; i++) {
        notation_set(&b, options_array(o), argument[i]);
        report_error(op(&a, &a, &b), doing);
    }
    show(&a);
    sluice_set_free(&a);
    sluice_set_free(&b);
    return 0;
}

static int run_intersect(const options *o, int n, char **argument) {
    return combine(o, n, argument, "intersect", sluice_set_intersect);
}
static int run_union(const options *o, int n, char **argument) {
    return combine(o, n, argument, "union", sluice_set_union);
}
static int run_subtract(const options *o, int n, char **argument) {
    return combine(o, n, argument, "subtract", sluice_set_subtract);
}
static int run_project(const options *o, int n, char **argument) {
    return combine(o, n, argument, "project", sluice_set_project);
}
static int run_embed(const options *o, int n, char **argument) {
    return combine(o, n, argument, "embed", sluice_set_embed);
}

static int run_shift(const options *o, int n, char **argument) {
    (void)n;
    sluice_set a = SLUICE_SET_EMPTY;
    notation_set(&a, options_array(o), argument[0]);
    const int64_t by = notation_signed("shift", argument[1]);
    if (a.size && by < 0 && -by > sluice_set_lo(&a))
        report_at("shift", argument[1], 0, "the set would start before offset 0");
    if (a.size && by > INT64_MAX - sluice_set_hi(&a))
        report_at("shift", argument[1], 0, "the set would end past 2^63-1");
    report_error(sluice_set_shift(&a, &a, by), "shift");
    show(&a);
    sluice_set_free(&a);
    return 0;
}

static int run_cut(const options *o, int n, char **argument) {
    (void)n;
    sluice_set a = SLUICE_SET_EMPTY;
    notation_set(&a, options_array(o), argument[0]);
    report_error(sluice_set_cut(&a, &a, notation_number("bound", argument[1]), notation_number("bound", argument[2])),
                 "cut");
    show(&a);
    sluice_set_free(&a);
    return 0;
}

static int run_equal(const options *o, int n, char **argument) {
    (void)n;
    sluice_set a = SLUICE_SET_EMPTY, b = SLUICE_SET_EMPTY;
    report_trouble();
    notation_set(&a, options_array(o), argument[0]);
    notation_set(&b, options_array(o), argument[1]);
    const int equal = sluice_set_equal(&a, &b);
    if (equal < 0) report_error(equal, "equal");
    puts(equal ? "equal" : "different");
    sluice_set_free(&a);
    sluice_set_free(&b);
    return equal ? 0 : 1;
}

#define PERIODIC                                                                                                       \
    "The set is an element of a file: it starts at offset --disp and repeats every --period bytes, and its bytes in\n" \
    "ascending order are offsets 0, 1, 2, ... of the element. Prints one number for each argument, or - if there is\n" \
    "none.\n"

const command set_commands[] = {
    {"show", "SET", "Prints a set in closed form", "", ARRAY, 1, 1, run_show},
    {"info", "SET", "Prints size, bounds, runs, families, depth, wire bytes and the closed form of a set", "", ARRAY, 1,
     1, run_info},
    {"size", "SET", "Prints how many bytes are in a set", "", ARRAY, 1, 1, run_size},
    {"enum", "SET", "Prints the runs of a set, one in a line",
     "A run is a block of bytes that cannot be made longer, written first-last.\n", ARRAY, 1, 1, run_enum},
    {"draw", "SET|PARTITION", "Draws a small set or partition in characters",
     "Without --shape a character is a byte: # is in the set, . is not. With --shape it is an element, and a line is "
     "a\n"
     "row of the array; + is an element that is in the set in part. The elements of a partition are 0-9, a-z, A-Z.\n",
     ARRAY "w", 1, 1, draw_run},
    {"rank", "SET X...", "Prints how many bytes of a set lie below offset X", PERIODIC, ARRAY "pd", 2, -1, run_rank},
    {"map", "SET X...", "Maps file offset X to the offset in the set", PERIODIC, ARRAY "pd", 2, -1, run_map},
    {"unmap", "SET Y...", "Maps offset Y in the set to the file offset", PERIODIC, ARRAY "pd", 2, -1, run_unmap},
    {"next", "SET X...", "Maps X, or the next file offset that is in the set", PERIODIC, ARRAY "pd", 2, -1, run_next},
    {"prev", "SET X...", "Maps X, or the last file offset before it that is in the set", PERIODIC, ARRAY "pd", 2, -1,
     run_prev},
    {"intersect", "A B...", "Prints what is in all of the sets", "", ARRAY, 2, -1, run_intersect},
    {"union", "A B...", "Prints what is in any of the sets", "", ARRAY, 2, -1, run_union},
    {"subtract", "A B...", "Prints what is in A and in none of the others", "", ARRAY, 2, -1, run_subtract},
    {"shift", "A BY", "Adds BY, which may be negative, to all offsets", "", ARRAY, 2, 2, run_shift},
    {"cut", "A LO HI", "Prints what of A lies at or after LO and before HI", "", ARRAY, 3, 3, run_cut},
    {"project", "X S", "Prints where the bytes of X lie in the linear space of S",
     "Byte k of S, counted from 0 in ascending order, is offset k of its linear space. Bytes of X outside S are left\n"
     "out.\n",
     ARRAY, 2, 2, run_project},
    {"embed", "Y S", "Prints where the offsets Y of the linear space of S lie in the file", "The inverse of project.\n",
     ARRAY, 2, 2, run_embed},
    {"equal", "A B", "Says whether two sets hold the same bytes",
     "The exit status is 0 if they do, 1 if not, 2 if that could not be found out.\n", ARRAY, 2, 2, run_equal},
    {"owner", "PARTITION X...", "Says which element owns file offset X, and as which offset in it",
     "Prints the number of the element and the offset in it, one pair in a line.\n", ARRAY, 2, -1, owner_run},
    {"match", "PARTITION PARTITION [LENGTH]",
     "Compares two partitions: what moves between them, and the matching degree",
     "Prints how many bytes, in how many pieces that are contiguous on both sides, go from each element of the first\n"
     "to each of the second in a common period, or in a file of LENGTH bytes. The matching degree is the number of\n"
     "elements (the larger one) over the number of pieces: 1 if every element moves as a whole.\n",
     ARRAY, 2, 3, match_run},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, NULL},
};
