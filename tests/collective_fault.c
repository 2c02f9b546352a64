/* ranks: 1 2 3 4 */
/* collective_fault.c: in every scene of collective calls, on every process, every call to the store and every
 * allocation is made to fail once, is interrupted, moves half or moves nothing. Whatever happens: no process hangs; all
 * return the same error and sentence, which names the rank, the file and, if bytes were under way, the offset;
 * interrupted and short calls are no errors; counts say no more than was moved; bytes that nobody named are as they
 * were, named bytes old or new; nothing leaks; and the same call on the same handle is then right. All of that in a
 * file, whose requests are under way while others copy, and in containers, where each subfile has its faults, and so
 * have system calls on names; with plans, and where it is too complex to make any.
 *
 * Normally cases are picked evenly from all. SLUICE_FAULTS=n takes all, again and again with other sections, until n
 * faults have happened. */
#include "array/array.h"
#include "contained.h"
#include "support/late.h"
#include "together.h"
#include <errno.h>

enum { ROWS = 60, COLS = 60, ELEM = 4, HEADER = 100, SIZE = HEADER + ROWS * COLS * ELEM };
enum { MAX_PARTS = 3, ROOM = 4 * SIZE, POISON = 0xFA, MEMBERS = 3 };

static int64_t faults, turn; /* turn: which sections */
static int disk;             /* the file as this test sees it */
static int head = HEADER;    /* bytes before the array: none in a container */
static contained tree[3];
static layout_case layout[3];
static unsigned char *buf;
static unsigned char owner[SIZE]; /* 1 + the highest rank that names the byte; 0 = nobody */
static unsigned namers[SIZE];     /* a bit for each rank that does */

/* ---- What is asked for ---------------------------------------------------------------------------------------- */

typedef enum ask { COMB, BLOCK, CLASH, LISTS, PARTS, CYCLIC, TEETH } ask;

/* A part, element by element. */
typedef struct slice {
    int n[2]; /* rows, columns */
    int64_t i[2][ROWS > COLS ? ROWS : COLS];
    bool lists, placed;
    int64_t at; /* in the buffer */
    sluice_range range[2];
    sluice_index index[2];
    int64_t buf_dim[2], buf_at[2];
} slice;
typedef struct request {
    int n;
    slice part[MAX_PARTS];
} request;

static void add_range(slice *s, int d, int64_t start, int64_t end, int64_t step) {
    for (s->n[d] = 0; start < end; start += step) s->i[d][s->n[d]++] = start;
}

/* Part number k of rank r. */
static void draw_slice(slice *s, ask what, int r, int k) {
    int64_t step[2] = {1, 1}, t = turn % 5;
    *s = (slice){.lists = what == LISTS, .placed = what == PARTS && k == 0};
    switch (what) {
    case COMB: /* of two neighbours nobody wants one */
        add_range(s, 0, t, ROWS - 2, 1);
        add_range(s, 1, 2 * r, COLS - t, step[1] = 2 * size);
        break;
    case BLOCK:
        add_range(s, 0, ROWS * r / size, ROWS * (r + 1) / size, 1);
        add_range(s, 1, 3, 50 + t, 1);
        break;
    case CLASH:
        add_range(s, 0, 4 + t, 40, step[0] = 2);
        add_range(s, 1, 3 * r, 3 * r + 30, 1);
        break;
    case LISTS:
        for (int64_t i = 0; i < ROWS; i++)
            if ((i * i + r + t) % 11 == 4) s->i[0][s->n[0]++] = i;
        for (int64_t i = 0; i < COLS; i++)
            if ((i * i * 3 + r + t) % 13 == 1) s->i[1][s->n[1]++] = i;
        break;
    case CYCLIC: /* rows in pairs, dealt in turn */
        for (int64_t i = 0; i < ROWS; i++)
            if (i / 2 % size == r) s->i[0][s->n[0]++] = i;
        add_range(s, 1, 0, COLS, 1);
        break;
    case TEETH: /* that meet without a simple pattern */
        add_range(s, 0, t, ROWS, step[0] = 2 + r);
        add_range(s, 1, r, COLS, step[1] = 5 + 2 * r);
        break;
    case PARTS: /* also one that overlaps its neighbour's */
        add_range(s, 0, 10 * k + t, 10 * k + 8, 1);
        add_range(s, 1, 5 * r, 5 * r + 18, step[1] = 1 + k);
        break;
    }
    for (int d = 0; d < 2; d++) {
        s->range[d] = (sluice_range){s->i[d][0], s->n[d], step[d]};
        s->index[d] = (sluice_index){s->i[d], s->n[d]};
        s->buf_dim[d] = s->n[d] + 2;
        s->buf_at[d] = 1;
    }
}

static void draw_request(request *q, ask what, int r) {
    int64_t at = 0;
    q->n = what != PARTS ? 1 : size > 2 && r == 0 ? 0 : MAX_PARTS;
    for (int k = 0; k < q->n; k++) {
        draw_slice(&q->part[k], what, r, k);
        q->part[k].at = at;
        at += (q->part[k].n[0] + 2) * (q->part[k].n[1] + 2) * ELEM;
    }
    if (at > ROOM) abort();
}

/* Where byte b of element (i, j) of a part lies in the file and in the buffer. */
static int64_t in_file(const slice *s, int i, int j, int b) {
    return head + (s->i[0][i] * COLS + s->i[1][j]) * ELEM + b;
}
static int64_t in_buffer(const slice *s, int i, int j, int b) {
    int64_t place = s->placed ? (i + 1) * (s->n[1] + 2) + j + 1 : i * s->n[1] + j;
    return s->at + place * ELEM + b;
}

#define FOR_BYTES(s, i, j, b)                                                                                          \
    for (int i = 0; i < (s)->n[0]; i++)                                                                                \
        for (int j = 0; j < (s)->n[1]; j++)                                                                            \
            for (int b = 0; b < ELEM; b++)

static unsigned char old_byte(int64_t x) { return (unsigned char)(x % 97); }
static unsigned char new_byte(int r, int64_t x) { return (unsigned char)(100 + (x * 7 + r * 37) % 149); }

static int64_t bytes_of(const request *q) {
    int64_t n = 0;
    for (int k = 0; k < q->n; k++) n += (int64_t)q->part[k].n[0] * q->part[k].n[1] * ELEM;
    return n;
}

static void find_owners(ask what) {
    memset(owner, 0, sizeof owner);
    memset(namers, 0, sizeof namers);
    for (int r = 0; r < size; r++) {
        request q;
        draw_request(&q, what, r);
        for (int k = 0; k < q.n; k++) FOR_BYTES(&q.part[k], i, j, b) {
                owner[in_file(&q.part[k], i, j, b)] = (unsigned char)(r + 1);
                namers[in_file(&q.part[k], i, j, b)] |= 1u << r;
            }
    }
}

/* ---- Scenes ---------------------------------------------------------------------------------------------------- */

/* One group and its handle. */
typedef struct handle {
    int nodes;
    sluice_array *a;
    sluice_store *fault[MEMBERS], *late[MEMBERS];
    int n;        /* shims */
    int contain;  /* 0, or 1 + which container */
    int64_t live; /* bytes of memory when nothing is kept from earlier calls */
} handle;

typedef struct scene {
    const char *name;
    int (*act)(const struct scene *s, handle *h, const request *q);
    bool write;
    ask what;
    bool nodes; /* on several nodes, else on one */
    sluice_way way;
    sluice_division division;
    sluice_exchange exchange;
    sluice_method method;
    bool map, locks, again; /* again: the pattern is known from the call before */
    bool hard;              /* too complex to plan */
} scene;

static sluice_part part_of(const slice *s) {
    sluice_part p = {.range = s->lists ? NULL : s->range, .index = s->lists ? s->index : NULL, .buf = buf + s->at};
    if (s->placed) p.buf_dim = s->buf_dim, p.buf_at = s->buf_at;
    return p;
}

static int answer(int err) {
    mine()->error = err;
    snprintf(mine()->text, sizeof mine()->text, "%s", err ? sluice_errmsg() : "");
    return err;
}

static int move(const scene *s, handle *h, const request *q) {
    sluice_part part[MAX_PARTS];
    for (int k = 0; k < q->n; k++) part[k] = part_of(&q->part[k]);
    return answer((s->write ? sluice_write_parts_all : sluice_read_parts_all)(h->a, part, q->n));
}

/* As if next to nothing had a closed form, but for what is asked for. */
static int move_hard(const scene *s, handle *h, const request *q) {
    sluice_part part[MAX_PARTS];
    sluice_request r;
    for (int k = 0; k < q->n; k++) part[k] = part_of(&q->part[k]);
    int err = sluice_bind(&r, h->a, s->write, part, q->n, &r.why);
    if (err) {
        err = sluice_all_run(h->a, s->write, NULL, 0, NULL, true, err, &r.why);
    } else {
        r.together = true;
        sluice_work_limit_set(0);
        err = sluice_transfer_run(&r);
        sluice_work_limit_set(INT64_MAX);
        sluice_bind_free(&r);
    }
    return answer(err ? sluice_errmsg_set(&r.why) : 0);
}

/* Rows dealt in pairs, which all processes know. */
static int move_dist(const scene *s, handle *h, const request *q) {
    const sluice_dist dist[2] = {{.kind = SLUICE_DIST_CYCLIC, .block = 2}, {.kind = SLUICE_DIST_STAR}};
    const int grid[2] = {size, 1};
    (void)q;
    return answer(s->write ? sluice_write_dist_all(h->a, dist, grid, buf)
                           : sluice_read_dist_all(h->a, dist, grid, buf));
}

/* The first part in a request of its own, before the others. The first error counts. */
static int move_later(const scene *s, handle *h, const request *q) {
    sluice_part part[MAX_PARTS];
    sluice_request *r[2];
    int (*start)(sluice_request **, sluice_array *, const sluice_part *, int) =
        s->write ? sluice_write_all_start : sluice_read_all_start;
    for (int k = 0; k < q->n; k++) part[k] = part_of(&q->part[k]);
    int first = q->n > 1, err = answer(0), error[2];
    for (int k = 0; k < 2; k++) error[k] = start(&r[k], h->a, part + k * first, k ? q->n - first : first);
    for (int k = 0; k < 2; k++) {
        if (error[k]) fail("a request could not be started: %s", sluice_errmsg());
        error[k] = error[k] ? error[k] : sluice_wait(r[k]);
        if (error[k] && !err) err = answer(error[k]);
    }
    return err;
}

/* Else the failure of a sync would be final. */
static void forgive(handle *h) {
    h->a->io.store->lost = 0;
    for (int i = 0; i < h->n; i++) h->fault[i]->lost = h->late[i]->lost = 0;
}

static int resize(const scene *s, handle *h, const request *q) {
    (void)s, (void)q;
    forgive(h);
    int err = sluice_resize(h->a, ROWS + 5);
    return answer(err ? err : sluice_resize(h->a, ROWS));
}

static int sync_all(const scene *s, handle *h, const request *q) {
    (void)s, (void)q;
    forgive(h);
    return answer(sluice_sync(h->a));
}

static const scene scenes[] = {
    {"read static", move, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_STATIC, .what = COMB},
    {"read dynamic", move, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_DYNAMIC, .what = COMB},
    {"read dynamic again", move, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_DYNAMIC, .what = COMB,
     .again = true},
    {"read cyclic", move, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_CYCLIC, .what = BLOCK},
    {"read balanced", move, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_BALANCED, .what = CLASH},
    {"read evenly, lists", move, .way = SLUICE_WAY_TWO_PHASE, .what = LISTS, .method = SLUICE_DIRECT},
    {"read parts", move, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_DYNAMIC, .what = PARTS},
    {"read parts later", move_later, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_DYNAMIC, .what = PARTS},
    {"read distribution", move_dist, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_STATIC, .what = CYCLIC},
    {"read own", move, .way = SLUICE_WAY_OWN, .what = COMB, .method = SLUICE_SIEVE},
    {"read own parts", move, .way = SLUICE_WAY_OWN, .what = PARTS, .method = SLUICE_LIST},
    {"read mapped", move, .what = COMB, .map = true},
    {"write static", move, .write = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_STATIC, .what = COMB},
    {"write dynamic, locked", move, .write = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_DYNAMIC,
     .what = COMB, .locks = true},
    {"write dynamic again", move, .write = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_DYNAMIC,
     .what = COMB, .again = true},
    {"write cyclic", move, .write = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_CYCLIC, .what = BLOCK},
    {"write clash", move, .write = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_DYNAMIC, .what = CLASH,
     .locks = true},
    {"write clash again", move, .write = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_BALANCED,
     .what = CLASH, .again = true},
    {"write evenly, lists", move, .write = true, .way = SLUICE_WAY_TWO_PHASE, .what = LISTS, .method = SLUICE_DIRECT},
    {"write parts", move, .write = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_STATIC, .what = PARTS},
    {"write parts later", move_later, .write = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_DYNAMIC,
     .what = PARTS, .locks = true},
    {"write distribution", move_dist, .write = true, .way = SLUICE_WAY_TWO_PHASE, .what = CYCLIC, .locks = true},
    {"write own", move, .write = true, .way = SLUICE_WAY_OWN, .what = BLOCK, .locks = true},
    {"write own clash", move, .write = true, .way = SLUICE_WAY_OWN, .what = CLASH},
    {"write mapped", move, .write = true, .what = COMB, .map = true, .locks = true},
    {"read alone", move_hard, .hard = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_CYCLIC,
     .what = BLOCK, .method = SLUICE_SIEVE},
    {"read alone again", move_hard, .hard = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_CYCLIC,
     .what = PARTS, .again = true},
    {"write in turn", move_hard, .hard = true, .write = true, .way = SLUICE_WAY_TWO_PHASE,
     .division = SLUICE_DIVIDE_CYCLIC, .what = CLASH, .method = SLUICE_SIEVE, .locks = true},
    {"write in turn again", move_hard, .hard = true, .write = true, .way = SLUICE_WAY_TWO_PHASE,
     .division = SLUICE_DIVIDE_CYCLIC, .what = CLASH, .again = true},
    {"write in turn early", move_hard, .hard = true, .write = true, .way = SLUICE_WAY_OWN, .what = TEETH,
     .locks = true},
    {"resize", resize, .locks = true},
    {"sync", sync_all, .locks = true},
    {"read, send", move, .nodes = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_DYNAMIC,
     .exchange = SLUICE_EXCHANGE_MESSAGES, .what = COMB},
    {"read, spread", move, .nodes = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_CYCLIC,
     .exchange = SLUICE_EXCHANGE_ALLTOALL, .what = BLOCK},
    {"read later, send", move_later, .nodes = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_STATIC,
     .exchange = SLUICE_EXCHANGE_MESSAGES, .what = PARTS},
    {"write, send", move, .nodes = true, .write = true, .way = SLUICE_WAY_TWO_PHASE, .division = SLUICE_DIVIDE_DYNAMIC,
     .exchange = SLUICE_EXCHANGE_MESSAGES, .what = COMB},
    {"write, spread", move, .nodes = true, .write = true, .way = SLUICE_WAY_TWO_PHASE,
     .division = SLUICE_DIVIDE_BALANCED, .exchange = SLUICE_EXCHANGE_ALLTOALL, .what = CLASH},
    {"write later, spread", move_later, .nodes = true, .write = true, .way = SLUICE_WAY_TWO_PHASE,
     .division = SLUICE_DIVIDE_STATIC, .exchange = SLUICE_EXCHANGE_ALLTOALL, .what = PARTS},
    {"read alone, nodes", move_hard, .hard = true, .nodes = true, .way = SLUICE_WAY_TWO_PHASE,
     .division = SLUICE_DIVIDE_CYCLIC, .what = COMB},
    {"write in turn, nodes", move_hard, .hard = true, .nodes = true, .write = true, .way = SLUICE_WAY_TWO_PHASE,
     .division = SLUICE_DIVIDE_CYCLIC, .what = TEETH},
    {"resize nodes", resize, .nodes = true},
    {"sync nodes", sync_all, .nodes = true},
};

/* ---- Handles --------------------------------------------------------------------------------------------------- */

static int64_t tapped[2]; /* bytes that the file system moved: read, written */

static void tap(void *arg, const char *call, int64_t off, int64_t len, int64_t result) {
    (void)arg, (void)off, (void)len;
    if (result > 0 && !strcmp(call, "read")) tapped[0] += result;
    if (result > 0 && !strcmp(call, "write")) tapped[1] += result;
}

/* A file, or a subfile, behind shims of the handle that is being opened. */
static handle *opening;
static int open_shims(sluice_store **out, int folder, const char *name, sluice_store_mode mode, sluice_reason *why) {
    sluice_store *file, *tapping, *fault;
    int err = sluice_posix_make(&file, folder, name, mode, why);
    if (err) return err;
    must(sluice_store_open_tap(&tapping, file, tap, NULL), "tap");
    must(sluice_store_open_fault(&fault, tapping), "fault");
    must(late_open(out, fault, 4), "late");
    (*out)->facts.call = 64 * (*out)->facts.byte; /* gaps of up to 64 bytes are moved along */
    opening->fault[opening->n] = fault;
    opening->late[opening->n++] = *out;
    return 0;
}

static void open_file(handle *h, const sluice_options *o) {
    sluice_store *store;
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, ELEM, HEADER, {ROWS, COLS}}};
    must(sluice_desc_settle(&d, NULL), "description");
    must(open_shims(&store, AT_FDCWD, path, SLUICE_STORE_WRITE, NULL), "open");
    must(sluice_array_adopt(&h->a, store, &d, true, o), "adopt");
}

static void make_container(int k) {
    sluice_array *a;
    char base[80];
    snprintf(base, sizeof base, "%s.%d", path, k);
    contained_name(&tree[k], base);
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, ELEM, 0, {ROWS, COLS}}};
    layout[k].shape = d.shape;
    case_choose(&layout[k], k);
    sluice_options o = {.size = sizeof o, .layout = layout[k].text, .targets = ".,fast", .bindings = tree[k].bindings};
    if (rank == 0 && !contained_make(&tree[k])) must(-errno, "mkdir");
    if (rank == 0) must(sluice_create(&a, tree[k].path, &d, &o), "create");
    if (rank == 0) must(sluice_close(a), "close");
    meet();
}

/* As sluice_open_all() does it, but through the shims. */
static void open_container(handle *h, int k, const sluice_options *o) {
    sluice_container *c;
    const contained *t = &tree[k];
    make_container(k);
    for (int first = 1; first >= 0; first--) {
        if ((rank == 0) == first) {
            must(sluice_container_open_by(&c, t->path, first ? SLUICE_CONTAINER_WRITE : SLUICE_CONTAINER_PEER,
                                          t->bindings, open_shims, NULL),
                 "open");
            must(sluice_contain_adopt(&h->a, c, first ? SLUICE_FIRST : SLUICE_PEER, o, NULL), "adopt");
        }
        meet();
    }
}

/* Windows are small, so that there are several rounds; what another node wants needs room, too. */
static void open_handle(handle *h, int nodes, int contain) {
    sluice_collective *c;
    sluice_options o = {.size = sizeof o, .memory = nodes > 1 ? 16384 : 4096, .together = {.nodes = nodes}};
    *h = (handle){.nodes = nodes, .contain = contain};
    opening = h;
    if (contain)
        open_container(h, contain - 1, &o);
    else
        open_file(h, &o);
    must(sluice_collective_open(&c, MPI_COMM_WORLD, &o.together, o.memory, false, 0, NULL), "group");
    c->locks = h->a->io.locks;
    h->a->collective = c;
    h->live = sluice_mem_live();
}

/* Forgets everything that is kept from one call to the next. */
static void reset(handle *h) {
    sluice_group *g = h->a->collective->group;
    sluice_collective_forget(h->a->collective);
    must(sluice_io_disclaim(&h->a->io, NULL), "disclaim");
    sluice_io_release(&h->a->io);
    h->a->io.map_tried = false;
    sluice_mem_discharge(g->reserved[0] + g->reserved[1]);
    g->reserved[0] = g->reserved[1] = 0;
}

static void set_stage(const scene *s, handle *h) {
    sluice_collective *c = h->a->collective;
    c->together.way = s->way;
    c->together.division = s->division;
    c->together.exchange = s->exchange;
    c->together.aggregators = s->division == SLUICE_DIVIDE_BALANCED ? size : 0;
    c->exclusive = !s->locks;
    h->a->io.method = s->method;
    h->a->io.no_map = !s->map;
}

/* ---- Checks ---------------------------------------------------------------------------------------------------- */

static const char *medium(const handle *h) { return h->contain ? layout[h->contain - 1].text : "file"; }

/* After a failure in between the array may be as large as it was to be. */
static void restore(handle *h) {
    forgive(h);
    if (h->a->desc.shape.dim[0] != ROWS) must(sluice_resize(h->a, ROWS), "resize back");
    meet();
}

static void set_file(const handle *h) {
    unsigned char byte[SIZE];
    for (int64_t x = 0; x < SIZE; x++) byte[x] = old_byte(x);
    if (h->contain) {
        const int k = h->contain - 1;
        if (!contained_fill(&tree[k], &layout[k], h->a->container->manifest, byte)) must(-EIO, "set the subfiles");
    } else if (pwrite(disk, byte, SIZE, 0) != SIZE || ftruncate(disk, SIZE))
        must(-EIO, "set the file");
}

static void fill_buffer(const scene *s, const request *q) {
    memset(buf, POISON, ROOM);
    for (int k = 0; s->write && k < q->n; k++) {
        const slice *p = &q->part[k];
        FOR_BYTES(p, i, j, b) buf[in_buffer(p, i, j, b)] = new_byte(rank, in_file(p, i, j, b));
    }
}

/* When processes write in turn and one of them fails, others may have come before it. */
static bool by_anyone(int64_t x, unsigned char byte) {
    for (int r = 0; r < size; r++)
        if ((namers[x] >> r & 1) && byte == new_byte(r, x)) return true;
    return false;
}

/* The file; returns the bytes that are new. */
static int64_t check_file(const scene *s, const handle *h, bool done) {
    unsigned char byte[SIZE];
    int64_t fresh = 0, end = h->contain ? SIZE - HEADER : SIZE;
    const int k = h->contain - 1;
    const char *wrong =
        h->contain ? contained_read(&tree[k], &layout[k], h->a->container->manifest, byte, !done || s->act == resize)
        : pread(disk, byte, SIZE, 0) == SIZE ? NULL
                                             : "cannot read the file";
    if (wrong) fail("%s", wrong);
    for (int64_t x = 0; x < end && !wrong; x++) {
        bool named = s->write && owner[x], new = named &&byte[x] == new_byte(owner[x] - 1, x);
        fresh += new;
        if (new || (byte[x] == old_byte(x) && !(done && named))) continue;
        if (named && !done && s->hard && by_anyone(x, byte[x])) continue;
        fail("byte %lld of the file is %d, %s", (long long)x, byte[x], named ? "neither old nor new" : "was not named");
        break;
    }
    return fresh;
}

/* The buffer; returns the bytes that were read into it rightly. */
static int64_t check_buffer(const scene *s, const request *q, bool done) {
    static unsigned char want[ROOM];
    int64_t right = 0;
    memset(want, POISON, ROOM);
    for (int k = 0; k < q->n; k++) {
        const slice *p = &q->part[k];
        FOR_BYTES(p, i, j, b) {
            int64_t at = in_buffer(p, i, j, b), x = in_file(p, i, j, b);
            want[at] = s->write ? new_byte(rank, x) : old_byte(x);
            right += buf[at] == want[at];
            if (!done && !s->write) want[at] = buf[at];
        }
    }
    if (memcmp(want, buf, ROOM)) fail("the buffer is wrong");
    return right;
}

/* Everything, after a call that returned err. `since` are the counts before it. */
static void check(const scene *s, handle *h, const request *q, int err, const sluice_counts *since) {
    const sluice_counts *c = &h->a->io.counts;
    int64_t wanted = s->write ? c->wanted_written - since->wanted_written : c->wanted_read - since->wanted_read;
    int64_t read = c->bytes_read - since->bytes_read, written = c->bytes_written - since->bytes_written;
    compare_answers();
    if (read > tapped[0] || written > tapped[1] || (!err && (read < tapped[0] || written < tapped[1])))
        fail("counted %lld bytes read and %lld written, moved were %lld and %lld", (long long)read, (long long)written,
             (long long)tapped[0], (long long)tapped[1]);
    mine()->number[1] = wanted;
    mine()->number[2] = h->a->desc.shape.dim[0];
    meet();
    if (mine()->number[2] != together->post[0].number[2]) fail("the array has another extent than on rank 0");
    int64_t right = check_buffer(s, q, !err), all = 0;
    bool moves = s->act != resize && s->act != sync_all;
    if (!s->write && (err ? wanted > right : wanted != (moves ? bytes_of(q) : 0)))
        fail("counted %lld bytes as read, %lld are right", (long long)wanted, (long long)right);
    if (s->write && s->hard && (err ? wanted > bytes_of(q) : wanted != bytes_of(q)))
        fail("counted %lld bytes as written, asked were %lld", (long long)wanted, (long long)bytes_of(q));
    if (rank == 0) {
        int64_t fresh = check_file(s, h, !err);
        bool twice = s->what == PARTS || s->hard; /* a byte may be written by several */
        for (int r = 0; r < size; r++) all += together->post[r].number[1];
        if (s->write && !twice && (err ? all > fresh : all != fresh))
            fail("counted %lld bytes as written, %lld are new", (long long)all, (long long)fresh);
    }
    meet();
}

/* ---- Faults ---------------------------------------------------------------------------------------------------- */

typedef enum where { STORE, MEMORY, SYSTEM, WHERES } where;
typedef struct kind {
    const char *name;
    where where;
    sluice_fault_kind fault;
    int error;
} kind;
static const kind kinds[] = {
    {"EIO", STORE, SLUICE_FAULT_ERROR, EIO},       {"ENOSPC", STORE, SLUICE_FAULT_ERROR, ENOSPC},
    {"interrupted", STORE, SLUICE_FAULT_EINTR, 0}, {"short", STORE, SLUICE_FAULT_SHORT, 0},
    {"nothing", STORE, SLUICE_FAULT_ZERO, 0},      {"ENOMEM", MEMORY, SLUICE_FAULT_ERROR, ENOMEM},
    {"EDQUOT", SYSTEM, SLUICE_FAULT_ERROR, EDQUOT}};

enum { NKINDS = sizeof kinds / sizeof *kinds };

/* Which call: the n-th of shim i, or of all allocations or system calls of a process. */
typedef struct aim {
    int victim, i;
    int64_t n;
} aim;

static int64_t calls_of(where w, const handle *h, int i) {
    return w == MEMORY ? sluice_mem_calls() : w == SYSTEM ? sluice_sys_calls() : sluice_fault_calls(h->fault[i]);
}

static void arm(const kind *k, handle *h, int i, int64_t n) {
    if (k->where == MEMORY)
        sluice_mem_fail_nth(n);
    else if (k->where == SYSTEM)
        sluice_sys_fault(n, k->error);
    else
        sluice_fault_set(h->fault[i], n, k->fault, k->error);
}

/* The sentence of an error that a fault of the victim has caused. */
static void check_sentence(const scene *s, const handle *h, const kind *k, int victim) {
    static const char *const call[] = {"read ", "write ", "lock ", "resize ", "sync ", "size of "};
    const char *text = mine()->text;
    char who[20];
    bool named = false;
    snprintf(who, sizeof who, "rank %d: ", victim);
    for (size_t i = 0; i < sizeof call / sizeof *call; i++) named |= strstr(text, call[i]) != NULL;
    if (size > 1 && strncmp(text, who, strlen(who))) fail("\"%s\" does not name the rank", text);
    if (!strstr(text, h->contain ? tree[h->contain - 1].path : path)) fail("\"%s\" does not name the file", text);
    bool alone =
        s->way != SLUICE_WAY_TWO_PHASE || s->hard; /* without memory a process says only which file it moves alone */
    if (!named && !(alone && k->where == MEMORY)) fail("\"%s\" does not name the call", text);
    if (k->where == STORE && !strstr(text, " at byte ") && !strstr(text, "sync ") && !strstr(text, "size of "))
        fail("\"%s\" does not name the offset", text);
}

static int call_once(const scene *s, handle *h, const request *q, sluice_counts *since) {
    fill_buffer(s, q);
    *since = h->a->io.counts;
    tapped[0] = tapped[1] = 0;
    return s->act(s, h, q);
}

/* The scene without a fault, and right. */
static void succeed(const scene *s, handle *h, const request *q) {
    sluice_counts since;
    int err = call_once(s, h, q, &since);
    if (err) fail("the call does not succeed: %s", mine()->text);
    meet();
    check(s, h, q, err, &since);
}

/* The scene with a fault at the n-th call of the victim. True if it came to that. */
static bool once(const scene *s, handle *h, const request *q, const kind *k, aim at) {
    static const char *const what[] = {"call", "allocation", "system call"};
    sluice_counts since;
    snprintf(doing, sizeof doing, "%s, %s, %d nodes: %s at %s %lld of rank %d, file %d (sections %lld)", s->name,
             medium(h), h->nodes, k->name, what[k->where], (long long)at.n, at.victim, at.i, (long long)turn);
    watch();
    if (s->again) succeed(s, h, q);
    if (rank == 0) set_file(h);
    meet();
    int64_t before = calls_of(k->where, h, at.i);
    if (rank == at.victim) arm(k, h, at.i, at.n);
    int err = call_once(s, h, q, &since);
    mine()->number[0] = calls_of(k->where, h, at.i) - before >= at.n;
    if (rank == at.victim) arm(k, h, at.i, 0);
    meet();
    bool reached = together->post[at.victim].number[0], must_fail = reached && k->fault == SLUICE_FAULT_ERROR;
    if (s->map) must_fail = err;                         /* it can do without a mapping */
    if (s->hard && k->where == MEMORY) must_fail = err;  /* for a plan that cannot be made anyway */
    if (h->contain && s->act == resize) must_fail = err; /* subfiles may stay longer than they need be */
    if (h->contain && s->act == resize && err) restore(h);
    check(s, h, q, err, &since);
    if (must_fail && err != -k->error) fail("error %d instead of %d: %s", err, -k->error, mine()->text);
    if (!must_fail && err && !(k->fault == SLUICE_FAULT_ZERO && err == -EIO)) fail("%s", mine()->text);
    if (err) check_sentence(s, h, k, at.victim);
    if (err) succeed(s, h, q);
    reset(h);
    if (sluice_mem_live() != h->live) fail("%lld bytes leak", (long long)(sluice_mem_live() - h->live));
    faults += reached;
    return reached;
}

/* Without a fault; each process posts how many calls and allocations it made, and how many calls of each file. */
static void rehearse(const scene *s, handle *h, const request *q) {
    sluice_counts since;
    int64_t before[WHERES + MEMBERS];
    snprintf(doing, sizeof doing, "%s, %s, %d nodes, no fault (sections %lld)", s->name, medium(h), h->nodes,
             (long long)turn);
    watch();
    if (s->again) succeed(s, h, q);
    if (rank == 0) set_file(h);
    meet();
    for (int i = 0; i < 2 + h->n; i++) before[i] = calls_of(i < 2 ? MEMORY + (where)i : STORE, h, i - 2);
    int err = call_once(s, h, q, &since);
    for (int i = 0; i < 2 + h->n; i++)
        mine()->number[3 + i] = calls_of(i < 2 ? MEMORY + (where)i : STORE, h, i - 2) - before[i];
    if (err) fail("%s", mine()->text);
    meet();
    check(s, h, q, err, &since);
    if (s->hard && size > 1 && !turn && !h->a->collective->last[s->write].complex) fail("that was not too complex");
    reset(h);
}

/* How thoroughly: about so many faults of each kind on each process, of every so many kinds. */
typedef struct pick {
    int64_t most;
    int every;
} pick;

static void play(const scene *s, handle *h, pick p) {
    request q;
    int64_t total[WHERES] = {0}, first = faults;
    if (s->what == TEETH && size < 3) return; /* the teeth of two combs still meet in few places */
    head = h->contain ? 0 : HEADER;
    draw_request(&q, s->what, rank);
    find_owners(s->what);
    if (s->act == resize || s->act == sync_all) {
        q.n = 0;
        memset(owner, 0, sizeof owner);
    }
    set_stage(s, h);
    rehearse(s, h, &q);
    for (int victim = 0; victim < size; victim++)
        for (int i = 0; i < NKINDS * h->n && !together->failures; i++) {
            const kind *k = &kinds[i % NKINDS];
            const int file = i / NKINDS;
            if (file && k->where != STORE) continue;
            const int64_t *number = together->post[victim].number + 3;
            int64_t n = k->where == STORE ? number[2 + file] : number[k->where - MEMORY];
            int64_t step = sluice_max(1, n / p.most);
            total[k->where] += n;
            if ((s - scenes + victim + i + turn) % p.every) continue;
            for (int64_t at = 1 + (s - scenes + 5 * victim + turn) % step; at <= n; at += step)
                if (!once(s, h, &q, k, (aim){victim, file, at})) fail("the fault did not happen");
            if (p.every == 1 && once(s, h, &q, k, (aim){victim, file, n + 1})) fail("there was one more call");
        }
    if (rank == 0)
        printf("%s, %s, %d nodes: %lld faults, at %lld calls, %lld allocations and %lld system calls\n", s->name,
               medium(h), h->nodes, (long long)(faults - first), (long long)total[STORE], (long long)total[MEMORY],
               (long long)total[SYSTEM]);
    /* Of other sections a process alone may want nothing. */
    if (!total[STORE] && !s->map && !turn) fail("no call was reached");
    if (!total[MEMORY] && !turn && s->act != resize && s->act != sync_all) fail("no allocation was reached");
}

/* Not a fault, but it could end like one: while some are in a collective write, which locks the file, others still
 * write for themselves, which locks it too. */
static void come_late(handle *h) {
    const scene s = {"come late", move, .write = true, .way = SLUICE_WAY_TWO_PHASE, .what = BLOCK, .locks = true};
    request q;
    head = h->contain ? 0 : HEADER;
    draw_request(&q, s.what, rank);
    find_owners(s.what);
    set_stage(&s, h);
    for (int late = 0; late < size; late++) {
        snprintf(doing, sizeof doing, "rank %d comes late, %d nodes", late, h->nodes);
        watch();
        if (rank == 0) set_file(h);
        fill_buffer(&s, &q);
        meet();
        if (rank == late) {
            sluice_part part = part_of(&q.part[0]);
            usleep(20000);
            if (sluice_write_parts(h->a, &part, 1)) fail("%s", sluice_errmsg());
        }
        succeed(&s, h, &q);
        reset(h);
    }
}

/* Leaders of nodes wait in MPI, which takes long, most of all where processes outnumber cores. */
static pick pick_for(const handle *h, bool all) {
    if (h->nodes > 1 && size > 2) return (pick){1, 4};
    return all && (h->nodes == 1 || turn == 0) ? (pick){INT64_MAX, 1}
           : h->nodes > 1                      ? (pick){2, 1}
                                               : (pick){h->contain ? 3 : 6, 1};
}

int main(int argc, char **argv) {
    together_start(&argc, &argv, "collective_fault");
    const char *told = getenv("SLUICE_FAULTS");
    int64_t goal = told ? atoll(told) : 0;
    buf = malloc(ROOM);
    disk = rank == 0 ? open(path, O_RDWR | O_CREAT | O_EXCL, 0600) : -1;
    if (!buf) must(-ENOMEM, "buffer");
    int64_t live = sluice_mem_live();
    int nodes[3] = {1, 2, size}, n = size > 2 ? 3 : size, all = 2 * n;
    handle h[6];
    meet();
    for (int i = 0; i < all; i++) open_handle(&h[i], nodes[i % n], i < n ? 0 : 1 + i - n);
    for (int i = 0; i < all; i++) h[i].live = sluice_mem_live();
    if (rank == 0) set_file(&h[0]);
    meet();
    for (int i = 0; i < all; i++) come_late(&h[i]);
    do {
        for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
            for (int k = 0; k < all; k++)
                if (scenes[i].nodes == (h[k].nodes > 1) && !together->failures)
                    play(&scenes[i], &h[k], pick_for(&h[k], goal));
        turn++;
    } while (faults < goal && !together->failures);
    watch();
    for (int i = 0; i < all; i++)
        if (sluice_close(h[i].a)) fail("close: %s", sluice_errmsg());
    if (sluice_mem_live() != live) fail("memory is not given back");
    for (int i = 0; i < n && rank == 0; i++) contained_remove(&tree[i]);
    if (rank == 0) printf("%lld faults on %d ranks\n", (long long)faults, size);
    return together_end();
}
