/* notation.c: how arrays, sections, distributions, sets and partitions are written in the shell.
 *
 *     SET        {(l,r,s,n,{...}),...}   families of bytes, as in the papers; also (l,r,s,n) and l-r
 *                [a:b:s,...]             a section of the array of --shape, half-open as in Python
 *                block,*@4:1             the part of process 1 of 4 under that distribution of the array
 *     PARTITION  SET;SET;...             one set per element; D+SET;... starts at offset D of the file
 *                block,*@4               one element per process
 *
 * Every refusal names the character at which the text went wrong.
 */
#include "base/base.h"
#include "tool/tool.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A text being read: `what` names it in messages. */
typedef struct reader {
    const char *what, *text;
    int64_t pos;
} reader;

static _Noreturn void wrong(const reader *r, int64_t pos, const char *message) {
    report_at(r->what, r->text, pos, message);
}

static char peek(reader *r) {
    while (isspace((unsigned char)r->text[r->pos])) r->pos++;
    return r->text[r->pos];
}

static bool accept(reader *r, char c) {
    const bool found = peek(r) == c;
    r->pos += found;
    return found;
}

static void expect(reader *r, char c, const char *message) {
    if (!accept(r, c)) wrong(r, r->pos, message);
}

static bool at_number(reader *r) { return peek(r) == '-' || isdigit((unsigned char)r->text[r->pos]); }

/* Reads by the library: afterwards the place is behind what was read, or the command has ended. */
static void follow(reader *r, const sluice_notation *n, int error) {
    if (error && n->why->pos >= 0) wrong(r, n->why->pos, n->why->text);
    report_error(error, r->what);
    r->pos = n->pos;
}

static int64_t read_number(reader *r) {
    sluice_reason why;
    sluice_notation n = {r->text, r->pos, &why};
    int64_t v = 0;
    follow(r, &n, sluice_notation_number(&n, &v));
    return v;
}

static int64_t read_signed(reader *r) {
    const bool minus = accept(r, '-');
    if (minus && !isdigit((unsigned char)peek(r))) wrong(r, r->pos, "expected a number");
    const int64_t v = read_number(r);
    return minus ? -v : v;
}

static void read_end(reader *r, const char *message) {
    if (peek(r)) wrong(r, r->pos, message);
}

int64_t notation_signed(const char *what, const char *text) {
    reader r = {what, text, 0};
    const int64_t v = read_signed(&r);
    read_end(&r, "expected the end of the number");
    return v;
}

int64_t notation_number(const char *what, const char *text) {
    reader r = {what, text, 0};
    const int64_t v = read_number(&r);
    read_end(&r, "expected the end of the number");
    return v;
}

int64_t notation_argument(const char *what, const char *text, int64_t pos) {
    reader r = {what, text, pos};
    const int64_t v = read_number(&r);
    if (v == 0) wrong(&r, pos, "expected at least 1");
    expect(&r, ')', "expected ')'");
    read_end(&r, "expected nothing after ')'");
    return v;
}

/* ---- arrays ---- */

/* "8x8": numbers with x between them, at most SLUICE_MAX_DIMS; where each starts. */
static int read_extents(reader *r, int64_t *extent, int64_t *pos) {
    sluice_reason why;
    sluice_notation n = {r->text, r->pos, &why};
    int count = 0;
    follow(r, &n, sluice_notation_extents(&n, extent, pos, &count));
    return count;
}

void notation_shape(sluice_shape *array, const char *text) {
    reader r = {"shape", text, 0};
    int64_t pos[SLUICE_MAX_DIMS];
    array->ndims = read_extents(&r, array->dim, pos);
    read_end(&r, "expected 'x' or the end of the shape");
}

void notation_shift(int64_t *by, int ndims, const char *text) {
    reader r = {"shift", text, 0};
    for (int d = 0; d < ndims; d++) {
        if (d) expect(&r, ',', "expected ',' and the shift of the next dimension");
        by[d] = read_signed(&r);
    }
    read_end(&r, "expected one number for each dimension");
}

void notation_array(const sluice_shape *array, const char *text) {
    reader r = {"shape", text, 0};
    int64_t extent[SLUICE_MAX_DIMS], pos[SLUICE_MAX_DIMS];
    const sluice_range nothing[SLUICE_MAX_DIMS] = {{0}};
    sluice_set none = SLUICE_SET_EMPTY;
    sluice_reason why;
    read_extents(&r, extent, pos);
    const int error = sluice_set_section(&none, array, nothing, &why);
    if (error == -ENOMEM) report_error(error, "shape");
    if (error) report_at("shape", text, why.pos < 0 ? 0 : pos[why.pos], why.text);
}

void notation_type(char *name, const char *text) {
    static const struct {
        const char *word, *name;
    } c_type[] = {
        {"byte", "uint8"}, {"char", "int8"},     {"short", "int16"},    {"int", "int32"},
        {"long", "int64"}, {"float", "float32"}, {"double", "float64"},
    };
    if (isdigit((unsigned char)*text)) {
        const int64_t bytes = notation_number("type", text);
        if (bytes == 0) report_at("type", text, 0, "an element has at least 1 byte");
        snprintf(name, TYPE_NAME, "V%" PRId64, bytes);
        return;
    }
    const char *found = text;
    for (size_t i = 0; i < sizeof c_type / sizeof *c_type; i++)
        if (!strcasecmp(text, c_type[i].word)) found = c_type[i].name;
    const size_t len = strlen(found);
    if (len < TYPE_NAME) {
        memcpy(name, found, len + 1);
        if (sluice_type_size(name) > 0) return;
        for (char *c = name; *c; c++) *c = (char)tolower((unsigned char)*c);
        if (sluice_type_size(name) > 0) return;
    }
    report_at("type", text, 0, "expected a name like int32, float64 or complex128, or a number of bytes");
}

sluice_order notation_order(const char *text) {
    if (!strcasecmp(text, "C") || !strcasecmp(text, "row")) return SLUICE_ROW_MAJOR;
    if (!strcasecmp(text, "F") || !strcasecmp(text, "column")) return SLUICE_COLUMN_MAJOR;
    report_at("order", text, 0, "expected C (row-major) or F (column-major)");
}

/* ---- sections ---- */

/* From '[' to ']'. */
static void read_section(reader *r, sluice_range *range, const sluice_shape *array) {
    const char *start = r->text + r->pos, *close = strchr(start, ']');
    const size_t len = close ? (size_t)(close - start) + 1 : strlen(start);
    char *piece = report_alloc(len + 1, 1);
    sluice_reason why = {.pos = -1};
    memcpy(piece, start, len);
    const int error = sluice_section_parse(range, array, piece, &why);
    free(piece);
    if (error && why.pos >= 0) wrong(r, r->pos + why.pos, why.text);
    report_error(error, r->what);
    r->pos += (int64_t)len;
}

void notation_section(sluice_range *range, const sluice_shape *array, const char *text) {
    reader r = {"section", text, 0};
    if (peek(&r) != '[') wrong(&r, r.pos, "expected '['");
    read_section(&r, range, array);
    read_end(&r, "expected the end of the section");
}

/* ---- distributions ---- */

/* The distributions, '@' and the grid. */
static void read_layout(reader *r, sluice_spread *l, const sluice_shape *array) {
    sluice_reason why;
    sluice_notation n = {r->text, r->pos, &why};
    const int error = sluice_notation_spread(&n, l, array);
    if (error && why.pos < 0) report_error(error, "distribution");
    follow(r, &n, error);
}

/* Both texts are read as one, and what is wrong is shown in the one in which it stands. */
void notation_layout(sluice_spread *out, const sluice_shape *array, const char *dist, const char *grid) {
    const size_t len = strlen(dist), room = len + strlen(grid) + 2;
    char *both = report_alloc(room, 1);
    snprintf(both, room, "%s@%s", dist, grid);
    sluice_reason why;
    sluice_notation n = {both, 0, &why};
    int error = sluice_notation_spread(&n, out, array);
    if (!error && sluice_notation_peek(&n))
        error = sluice_refuse(&why, SLUICE_E_SYNTAX, n.pos, "expected %sthe end of the %s",
                              n.pos > (int64_t)len ? "'x' or " : "", n.pos > (int64_t)len ? "grid" : "distribution");
    free(both);
    if (!error) return;
    if (why.pos < 0) report_error(error, "distribution");
    if (why.pos > (int64_t)len) report_at("grid", grid, why.pos - (int64_t)len - 1, why.text);
    report_at("distribution", dist, why.pos, why.text);
}

/* ---- sets and partitions ---- */

static bool starts_layout(reader *r) { return peek(r) == '*' || isalpha((unsigned char)r->text[r->pos]); }

/* What starts here means something only in an array. */
static void need_array(reader *r, const sluice_shape *array) {
    sluice_notation ahead = {r->text, r->pos, NULL};
    sluice_dist_kind kind;
    if (array) return;
    if (peek(r) == '[') wrong(r, r->pos, "a section needs an array: give --shape");
    if (sluice_notation_kind(&ahead, &kind)) wrong(r, r->pos, "a distribution needs an array: give --shape");
    wrong(r, r->pos, "expected a set, like 0-7, (0,7,16,2), [2:10,::3] or block,*@4:1");
}

/* A section, or a process's part. */
static void read_array_set(reader *r, sluice_set *out, const sluice_shape *array) {
    need_array(r, array);
    if (peek(r) == '[') {
        sluice_range range[SLUICE_MAX_DIMS];
        read_section(r, range, array);
        report_error(sluice_set_section(out, array, range, NULL), "section");
    } else {
        sluice_spread l;
        read_layout(r, &l, array);
        expect(r, ':', "expected ':' and the number of a process");
        peek(r);
        const int64_t start = r->pos, rank = read_number(r);
        if (rank >= l.n) {
            char message[64];
            snprintf(message, sizeof message, "process %" PRId64 " of %d, which count from 0", rank, l.n);
            wrong(r, start, message);
        }
        report_error(sluice_set_hpf(out, array, l.dist, l.grid, (int)rank, NULL), "distribution");
        sluice_spread_free(&l);
    }
}

/* One set that ends where the text or, in a partition, the piece up to the next ';' ends. */
static void read_set(reader *r, sluice_set *out, const sluice_shape *array) {
    if (peek(r) == '[' || starts_layout(r)) {
        read_array_set(r, out, array);
        if (peek(r) != ';') read_end(r, "expected the end of the set");
        return;
    }
    const size_t len = strcspn(r->text + r->pos, ";");
    char *piece = report_alloc(len + 1, 1);
    memcpy(piece, r->text + r->pos, len);
    sluice_reason why;
    const int error = sluice_set_parse(out, piece, &why);
    free(piece);
    if (error && why.pos >= 0) wrong(r, r->pos + why.pos, why.text);
    report_error(error, r->what);
    r->pos += (int64_t)len;
}

void notation_set(sluice_set *out, const sluice_shape *array, const char *text) {
    reader r = {"set", text, 0};
    read_set(&r, out, array);
    read_end(&r, "expected one set, not a partition");
}

/* One element per process. The sets start at 0 and the header becomes the displacement. */
static void read_processes(reader *r, parts *out, const sluice_shape *array) {
    enum { MOST = 1 << 20 };
    sluice_spread l;
    sluice_shape bare;
    need_array(r, array);
    bare = *array;
    bare.header = 0;
    read_layout(r, &l, &bare);
    read_end(r, "expected the end of the partition");
    if (l.n > MOST) report_usage("partition of %d elements; at most %d can be compared", l.n, MOST);
    *out = (parts){.n = l.n, .set = report_alloc((size_t)l.n, sizeof *out->set), .disp = array->header};
    for (int i = 0; i < l.n; i++)
        report_error(sluice_set_hpf(&out->set[i], &bare, l.dist, l.grid, i, NULL), "distribution");
    sluice_spread_free(&l);
}

/* SET;SET, D+SET, or DIST@GRID without the number of a process. */
static bool is_partition(const char *text) {
    const char *at = strchr(text, '@');
    return strpbrk(text, ";+") || (at && !strchr(at, ':'));
}

void notation_parts(parts *out, const sluice_shape *array, const char *text, bool any) {
    reader r = {any ? "set or partition" : "partition", text, 0}, ahead = r;
    int64_t start = 0;
    *out = (parts){0};
    if (any && !is_partition(text)) {
        *out = (parts){.n = 1, .set = report_alloc(1, sizeof *out->set)};
        notation_set(out->set, array, text);
        return;
    }
    if (starts_layout(&r) && !strchr(text, ';')) {
        read_processes(&r, out, array);
    } else {
        int64_t disp = 0;
        int n = 1;
        if (at_number(&ahead)) {
            disp = read_number(&ahead);
            if (accept(&ahead, '+'))
                r = ahead;
            else
                disp = 0;
        }
        start = r.pos;
        for (const char *c = text; *c; c++) n += *c == ';';
        *out = (parts){.set = report_alloc((size_t)n, sizeof *out->set), .disp = disp};
        do read_set(&r, &out->set[out->n++], array);
        while (accept(&r, ';'));
    }
    sluice_partition p = {out->n, out->set, 0, out->disp};
    sluice_reason why;
    const int error = sluice_partition_check(&p, &why);
    if (error == -ENOMEM || error == SLUICE_E_COMPLEX) report_error(error, "partition");
    if (error == SLUICE_E_OVERFLOW) start = 0; /* the displacement */
    if (error == SLUICE_E_SHARED)
        for (int64_t i = 0; i < why.pos; start++) i += text[start] == ';';
    if (error) wrong(&r, start, why.text);
    out->period = p.period;
}

void parts_free(parts *p) {
    for (int i = 0; i < p->n; i++) sluice_set_free(&p->set[i]);
    free(p->set);
}

void notation_print(const sluice_set *s, int64_t most) {
    const int64_t len = sluice_set_print(s, NULL, 0);
    char *text = report_alloc((size_t)len + 1, 1);
    sluice_set_print(s, text, (size_t)len + 1);
    if (most && len > most)
        printf("%.*s...", (int)most, text);
    else
        fputs(text, stdout);
    free(text);
}
