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
#include <limits.h>
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

static int64_t read_signed(reader *r) {
    static const char suffix[] = "KMGT";
    const bool minus = accept(r, '-');
    const int64_t start = r->pos;
    int64_t v = 0;
    bool fits = true;
    if (!isdigit((unsigned char)peek(r))) wrong(r, r->pos, "expected a number");
    for (; isdigit((unsigned char)r->text[r->pos]); r->pos++)
        fits = fits && sluice_mul(v, 10, &v) && sluice_add(v, r->text[r->pos] - '0', &v);
    const char c = (char)toupper((unsigned char)r->text[r->pos]);
    if (c && strchr(suffix, c)) {
        fits = fits && sluice_mul(v, (int64_t)1 << (10 * (strchr(suffix, c) - suffix + 1)), &v);
        r->pos++;
    }
    if (!fits) wrong(r, start, "the number is larger than 2^63-1");
    return minus ? -v : v;
}

static int64_t read_number(reader *r) {
    if (peek(r) == '-') wrong(r, r->pos, "expected a number that is not negative");
    return read_signed(r);
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
    int n = 0;
    do {
        if (n == SLUICE_MAX_DIMS) wrong(r, r->pos, "more than 16 dimensions");
        peek(r);
        pos[n] = r->pos;
        extent[n++] = read_number(r);
    } while (accept(r, 'x'));
    return n;
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

/* The word of a distribution; false, and nothing read, if it is none. */
static bool read_kind(reader *r, sluice_dist_kind *kind) {
    static const struct {
        const char *name;
        sluice_dist_kind kind;
    } known[] = {{"*", SLUICE_DIST_STAR},
                 {"block", SLUICE_DIST_BLOCK},
                 {"cyclic", SLUICE_DIST_CYCLIC},
                 {"genblock", SLUICE_DIST_GENBLOCK},
                 {"gen_block", SLUICE_DIST_GENBLOCK}};
    size_t len = peek(r) == '*';
    const char *start = r->text + r->pos;
    while (*start != '*' && (isalpha((unsigned char)start[len]) || start[len] == '_')) len++;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strlen(known[k].name) == len && !strncasecmp(known[k].name, start, len)) {
            *kind = known[k].kind;
            r->pos += (int64_t)len;
            return true;
        }
    return false;
}

/* "block", "cyclic(2)", "genblock(1,2,3)", "*". Sizes of GENBLOCK are added to `sizes`. */
static void read_dist(reader *r, sluice_dist *dist, int64_t *sizes, int64_t *nsizes) {
    *dist = (sluice_dist){.block = 0};
    if (!read_kind(r, &dist->kind)) wrong(r, r->pos, "expected block, cyclic, genblock or *");
    if (dist->kind == SLUICE_DIST_STAR) return;
    if (dist->kind == SLUICE_DIST_GENBLOCK) {
        dist->sizes = sizes + *nsizes;
        expect(r, '(', "expected '(' and the sizes of the blocks");
        do sizes[(*nsizes)++] = read_number(r);
        while (accept(r, ','));
        expect(r, ')', "expected ',' or ')'");
    } else if (accept(r, '(')) {
        peek(r);
        const int64_t pos = r->pos;
        dist->block = read_number(r);
        if (dist->block == 0) wrong(r, pos, "a block has at least 1 index");
        expect(r, ')', "expected ')'");
    }
}

/* The distributions, then the grid from `g` (the same text, after an '@', or another one). */
static void read_layout(reader *r, reader *g, layout *l, const sluice_shape *array) {
    int64_t pos[SLUICE_MAX_DIMS], extent[SLUICE_MAX_DIMS], grid_pos[SLUICE_MAX_DIMS], nsizes = 0, nprocs = 1;
    int64_t commas = 1, count[SLUICE_MAX_DIMS] = {0};
    int spread = 0;
    char message[128];
    for (const char *c = r->text; *c; c++) commas += *c == ',';
    *l = (layout){.sizes = report_alloc((size_t)commas, sizeof *l->sizes)};
    for (int d = 0; d < array->ndims; d++) {
        snprintf(message, sizeof message, "expected ',': the array has %d dimensions", array->ndims);
        if (d) expect(r, ',', message);
        peek(r);
        pos[d] = r->pos;
        const int64_t before = nsizes;
        read_dist(r, &l->dist[d], l->sizes, &nsizes);
        count[d] = nsizes - before;
        spread += l->dist[d].kind != SLUICE_DIST_STAR;
    }
    if (peek(r) == ',') {
        snprintf(message, sizeof message, "too many distributions: the array has %d dimension%s", array->ndims,
                 array->ndims == 1 ? "" : "s");
        wrong(r, r->pos, message);
    }
    if (g == r) expect(r, '@', "expected '@' and the grid of processes");
    peek(g);
    const int64_t start = g->pos;
    const int n = read_extents(g, extent, grid_pos);
    if (n != array->ndims && n != spread) {
        snprintf(message, sizeof message, "the grid has %d dimension%s; the array has %d, of which %d distributed", n,
                 n == 1 ? "" : "s", array->ndims, spread);
        wrong(g, start, message);
    }
    for (int d = 0, i = 0; d < array->ndims; d++) {
        const bool given = n == array->ndims || l->dist[d].kind != SLUICE_DIST_STAR;
        const int64_t along = given ? extent[i] : 1, at = given ? grid_pos[i] : start;
        i += given;
        if (along < 1) wrong(g, at, "a grid has at least 1 process along each dimension");
        if (!sluice_mul(nprocs, along, &nprocs) || nprocs > INT_MAX) wrong(g, at, "more than 2^31-1 processes");
        l->grid[d] = (int)along;
        if (l->dist[d].kind == SLUICE_DIST_GENBLOCK && count[d] != along) {
            snprintf(message, sizeof message, "%" PRId64 " sizes for %" PRId64 " processes", count[d], along);
            wrong(r, pos[d], message);
        }
    }
    l->nprocs = (int)nprocs;
    sluice_set part = SLUICE_SET_EMPTY;
    sluice_reason why;
    const int error = sluice_set_hpf(&part, array, l->dist, l->grid, 0, &why);
    sluice_set_free(&part);
    if (error == SLUICE_E_ARGUMENT && why.pos >= 0) wrong(r, pos[why.pos], why.text);
    report_error(error, "distribution");
}

void notation_layout(layout *out, const sluice_shape *array, const char *dist, const char *grid) {
    reader r = {"distribution", dist, 0}, g = {"grid", grid, 0};
    read_layout(&r, &g, out, array);
    read_end(&r, "expected the end of the distribution");
    read_end(&g, "expected 'x' or the end of the grid");
}

void layout_free(layout *l) { free(l->sizes); }

/* ---- sets and partitions ---- */

static bool starts_layout(reader *r) { return peek(r) == '*' || isalpha((unsigned char)r->text[r->pos]); }

/* What starts here means something only in an array. */
static void need_array(reader *r, const sluice_shape *array) {
    reader ahead = *r;
    sluice_dist_kind kind;
    if (array) return;
    if (peek(r) == '[') wrong(r, r->pos, "a section needs an array: give --shape");
    if (read_kind(&ahead, &kind)) wrong(r, r->pos, "a distribution needs an array: give --shape");
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
        layout l;
        read_layout(r, r, &l, array);
        expect(r, ':', "expected ':' and the number of a process");
        peek(r);
        const int64_t start = r->pos, rank = read_number(r);
        if (rank >= l.nprocs) {
            char message[64];
            snprintf(message, sizeof message, "process %" PRId64 " of %d, which count from 0", rank, l.nprocs);
            wrong(r, start, message);
        }
        report_error(sluice_set_hpf(out, array, l.dist, l.grid, (int)rank, NULL), "distribution");
        layout_free(&l);
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
    layout l;
    sluice_shape bare;
    need_array(r, array);
    bare = *array;
    bare.header = 0;
    read_layout(r, r, &l, &bare);
    read_end(r, "expected the end of the partition");
    if (l.nprocs > MOST) report_usage("partition of %d elements; at most %d can be compared", l.nprocs, MOST);
    *out = (parts){.n = l.nprocs, .set = report_alloc((size_t)l.nprocs, sizeof *out->set), .disp = array->header};
    for (int i = 0; i < l.nprocs; i++)
        report_error(sluice_set_hpf(&out->set[i], &bare, l.dist, l.grid, i, NULL), "distribution");
    layout_free(&l);
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
