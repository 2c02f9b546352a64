/* ranks: 1 2 3 4 */
/* redistribute_random.c: random arrays from a random layout and order, or a plain file, to another, by all processes in
 * little memory. The source is written and the destination is read byte by byte, where dealing byte after byte says
 * that each is (layout_oracle.h), and what must be there is a formula of the element's index. A large array goes
 * through several boxes per process. */
#include "array/array.h"
#include "layout_oracle.h"
#include "sluice_mpi.h"
#include "together.h"
#include <errno.h>

enum { LEAST = 64 << 10 };

/* One of the two arrays. */
typedef struct side {
    bool container;
    layout_case c;
    int64_t header, checksum; /* bytes of a block; 0: none */
    char path[96];
} side;

static side from, to;
static sluice_range box[SLUICE_MAX_DIMS];

/* What byte x of a side must be: it follows from the index of its element, counted in row-major order. */
static unsigned char value(const sluice_shape *s, int64_t x, bool *in) {
    int64_t index[SLUICE_MAX_DIMS], e = 0, at = x / s->elem;
    for (int k = 0; k < s->ndims; k++) {
        const int d = s->order == SLUICE_ROW_MAJOR ? s->ndims - 1 - k : k;
        index[d] = at % s->dim[d];
        at /= s->dim[d];
    }
    *in = true;
    for (int d = 0; d < s->ndims; d++) {
        e = e * s->dim[d] + index[d];
        *in &= index[d] >= box[d].start && index[d] < box[d].start + box[d].count;
    }
    return (unsigned char)(e * 31 + e / 251 + x % s->elem * 7 + 1);
}

static sluice_desc describe(const side *s) {
    sluice_desc d = {.format = SLUICE_RAW, .shape = s->c.shape};
    d.shape.header = s->header;
    return d;
}

/* The name of the file with byte x, and where it is in there. */
static int64_t locate(const side *s, int64_t x, char *name, size_t cap) {
    if (s->container)
        snprintf(name, cap, "%s/1.%d", s->path, s->c.owner[x]);
    else
        snprintf(name, cap, "%s", s->path);
    return s->container ? s->c.off[x] : s->header + x;
}

/* All bytes of a side, moved by pread or pwrite; -1 if one is wrong. */
static int visit(const side *s, bool write) {
    char name[200], last[200] = "";
    int fd = -1, result = 0;
    for (int64_t x = 0; x < s->c.length && !result; x++) {
        bool in;
        unsigned char want = value(&s->c.shape, x, &in), got = want;
        const int64_t at = locate(s, x, name, sizeof name);
        if (strcmp(name, last) != 0) {
            if (fd >= 0) close(fd);
            fd = open(name, O_RDWR);
            strcpy(last, name);
        }
        if (!write && !in) want = 0;
        if ((write ? pwrite(fd, &got, 1, at) : pread(fd, &got, 1, at)) != 1) result = -1;
        if (got != want) result = -1;
    }
    if (fd >= 0) close(fd);
    return result;
}

static void draw_side(side *s, chance *c, const char *suffix) {
    s->container = !chance_once_in(c, 4);
    s->header = s->container || chance_once_in(c, 2) ? 0 : chance_draw(c, 1, 300);
    snprintf(s->path, sizeof s->path, "%s.%s%s", path, suffix, s->container ? ".sluice" : "");
    s->checksum = s->container && chance_once_in(c, 3) ? (int64_t)512 << chance_low(c, 0, 7) : 0;
    case_draw_layout(&s->c, c);
    case_deal(&s->c);
}

static void remove_side(const side *s) {
    if (rank) return;
    if (s->container)
        must(sluice_container_delete(s->path, NULL, NULL), "delete");
    else
        unlink(s->path);
}

static sluice_options options_of(const side *s) {
    return (sluice_options){
        .size = sizeof(sluice_options), .layout = s->container ? s->c.text : NULL, .checksum = s->checksum};
}

/* So that it gets its checksums. */
static void write_through(sluice_array *a) {
    static unsigned char all[CASE_BYTES];
    bool in;
    for (int64_t x = 0; x < from.c.length; x++) all[x] = value(&from.c.shape, x, &in);
    must(sluice_write(a, NULL, all), "fill the source");
}

/* What has checksums can be read. */
static void read_through(const side *s) {
    static unsigned char all[CASE_BYTES];
    sluice_array *a;
    must(sluice_open(&a, s->path, SLUICE_READ, NULL, NULL), "open again");
    must(sluice_read(a, NULL, all), "read again");
    must(sluice_close(a), "close again");
}

static void make_source(void) {
    sluice_array *a;
    const sluice_desc d = describe(&from);
    const sluice_options o = options_of(&from);
    for (int k = 0; k < SLUICE_MAX_DIMS; k++) box[k] = (sluice_range){0, INT64_MAX, 1};
    if (rank == 0) {
        must(sluice_create(&a, from.path, &d, &o), "create the source");
        if (from.checksum) write_through(a);
        must(sluice_close(a), "close the source");
        if (visit(&from, !from.checksum)) fail("cannot fill the source");
    }
    meet();
}

typedef struct seen {
    int64_t done;
    bool wrong;
} seen;

static int look(void *arg, int64_t done, int64_t total) {
    seen *s = arg;
    s->wrong |= done <= s->done || done > total;
    s->done = done;
    return 0;
}

static void one_case(uint64_t seed) {
    chance c = {0};
    sluice_array *src, *dst;
    seen s = {0};
    chance_seed(&c, seed);
    case_draw_shape(&from.c, &c);
    to.c.shape = from.c.shape;
    if (chance_once_in(&c, 2)) to.c.shape.order = (sluice_order)!from.c.shape.order;
    draw_side(&from, &c, "from");
    draw_side(&to, &c, "to");
    const int64_t memory = LEAST + chance_low(&c, 0, 1 << 20), handle = 4096 + chance_low(&c, 0, 1 << 18);
    const bool apart = chance_once_in(&c, 3), part = chance_once_in(&c, 3);
    sluice_range want[SLUICE_MAX_DIMS];
    for (int d = 0; d < from.c.shape.ndims; d++) {
        const int64_t dim = from.c.shape.dim[d], start = part ? chance_draw(&c, 0, dim) : 0;
        want[d] = (sluice_range){start, part ? chance_draw(&c, 0, dim - start) : dim, 1};
    }
    snprintf(doing, sizeof doing, "seed %llu: %.60s to %.60s, orders %d %d, memory %lld", (unsigned long long)seed,
             from.container ? from.c.text : "plain", to.container ? to.c.text : "plain", (int)from.c.shape.order,
             (int)to.c.shape.order, (long long)memory);
    watch();
    make_source();
    memcpy(box, want, sizeof box);
    const sluice_desc given = describe(&from), made = describe(&to);
    sluice_options o = options_of(&to), p = {.size = sizeof p, .memory = handle};
    o.memory = handle;
    must((apart ? sluice_open(&src, from.path, SLUICE_READ, from.container ? NULL : &given, &p)
                : sluice_open_all(&src, MPI_COMM_WORLD, from.path, SLUICE_READ, from.container ? NULL : &given, &p)),
         "open");
    must(sluice_create_all(&dst, MPI_COMM_WORLD, to.path, &made, &o), "create");
    const int64_t live = sluice_mem_live();
    sluice_mem_peak_reset();
    must(sluice_redistribute_all(
             dst, src,
             &(sluice_copy_options){
                 .from = part ? box : NULL, .to = part ? box : NULL, .memory = memory, .progress = look, .arg = &s}),
         "redistribute");
    /* Sets and requests take some, and there are more of them with more subfiles. */
    if (sluice_mem_peak() - live > memory + (512 << 10)) fail("%lld bytes", (long long)(sluice_mem_peak() - live));
    if (s.wrong) fail("progress goes back, or too far");
    must(sluice_close(src), "close");
    must(sluice_close(dst), "close");
    if (rank == 0 && visit(&to, false)) fail("wrong bytes");
    if (rank == 0 && to.checksum) read_through(&to);
    for (int k = 0; k < SLUICE_MAX_DIMS; k++) box[k] = (sluice_range){0, INT64_MAX, 1};
    if (rank == 0 && visit(&from, false)) fail("the source has changed");
    meet();
    remove_side(&from);
    remove_side(&to);
    meet();
    chance_free(&c);
}

/* Several boxes and pieces per process; read back by the library, which other tests hold against oracles. */
static void large(const char *first, const char *second, sluice_order order, int64_t n, int64_t m) {
    const sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 0, 0, {n, m}}, .type = "int32"};
    sluice_desc e = d;
    sluice_options o = {.size = sizeof o, .layout = first}, p = {.size = sizeof p, .layout = second};
    sluice_array *src, *dst;
    int32_t *line = malloc((size_t)(n * m) * sizeof *line);
    snprintf(doing, sizeof doing, "%s to %s, order %d", first, second, (int)order);
    watch();
    e.shape.order = order;
    must(sluice_create_all(&src, MPI_COMM_WORLD, from.path, &d, &o), "create");
    must(sluice_create_all(&dst, MPI_COMM_WORLD, to.path, &e, &p), "create");
    for (int64_t i = 0; i < n * m; i++) line[i] = (int32_t)(i * 2654435761u);
    must(sluice_write_all(src, &(sluice_range[]){{0, rank ? 0 : n, 1}, {0, m, 1}}[0], line), "write");
    must(sluice_redistribute_all(dst, src, &(sluice_copy_options){.memory = LEAST + 5000}), "redistribute");
    must(sluice_read(dst, NULL, line), "read");
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < m; k++)
            wrong += line[order == SLUICE_ROW_MAJOR ? i * m + k : k * n + i] != (int32_t)((i * m + k) * 2654435761u);
    if (wrong) fail("%lld elements are wrong", (long long)wrong);
    free(line);
    must(sluice_close(src), "close");
    must(sluice_close(dst), "close");
    meet();
    remove_side(&from);
    remove_side(&to);
    meet();
}

/* What processes get wrong together or one by one: all hear the same. */
static void refusals(void) {
    const sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 0, 0, {40, 50}}, .type = "int32"};
    sluice_desc e = d;
    sluice_array *a, *b, *other;
    sluice_options o = {.size = sizeof o, .layout = "rows:3"};
    e.shape.dim[0] = 41;
    strcpy(doing, "refusals");
    must(sluice_create_all(&a, MPI_COMM_WORLD, from.path, &d, &o), "create");
    must(sluice_create_all(&b, MPI_COMM_WORLD, to.path, &d, &o), "create");
    char name[96];
    snprintf(name, sizeof name, "%s.other.sluice", path);
    must(sluice_create_all(&other, MPI_COMM_WORLD, name, &e, &o), "create");
    const sluice_range whole[] = {{0, 40, 1}, {0, 50, 1}}, less[] = {{0, 39, 1}, {0, 50, 1}};
    const bool last = rank == size - 1;
    const struct {
        sluice_array *dst;
        sluice_copy_options o;
        int error;
    } wrong[] = {
        {a, {0}, SLUICE_E_ARGUMENT},
        {other, {0}, SLUICE_E_ARGUMENT},
        {b, {.memory = last ? 5 : 0}, SLUICE_E_ARGUMENT},
        {b, {.size = last ? 4096 : 0}, SLUICE_E_ARGUMENT},
        {b, {.from = last ? less : whole, .to = last ? less : whole}, size > 1 ? SLUICE_E_MISMATCH : 0},
        {b, {0}, 0},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        mine()->error = sluice_redistribute_all(wrong[i].dst, a, &wrong[i].o);
        snprintf(mine()->text, sizeof mine()->text, "%s", sluice_errmsg());
        if (mine()->error != wrong[i].error) fail("refusal %zu: %d, %s", i, mine()->error, sluice_errmsg());
        meet();
        compare_answers();
        meet();
    }
    must(sluice_close(a), "close");
    must(sluice_close(b), "close");
    must(sluice_close(other), "close");
    if (rank == 0) must(sluice_container_delete(name, NULL, NULL), "delete");
    remove_side(&from);
    remove_side(&to);
    meet();
}

int main(int argc, char **argv) {
    together_start(&argc, &argv, "redistribute_random");
    const uint64_t seed = together_seed();
    const int cases = together_cases(1500) / 50;
    for (int i = 0; i < cases && !together->failures; i++) one_case(seed + (uint64_t)i);
    from.container = to.container = true;
    snprintf(from.path, sizeof from.path, "%s.from.sluice", path);
    snprintf(to.path, sizeof to.path, "%s.to.sluice", path);
    if (!together->failures) refusals();
    static const char *const layout[] = {"tiles:33x20:5", "columns:4", "striped:5000:3"};
    for (int i = 0; i < 3 && !together->failures; i++)
        for (int k = 0; k < 3; k++)
            large(layout[i], layout[k], k % 2 ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR, 311, 257);
    return together_end();
}
