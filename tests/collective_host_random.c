/* ranks: 1 2 3 4 7 */
/* collective_host_random.c: collective calls, direct calls and the host's MPI_File_* do the same. Requests are drawn at
 * random: sections, strided or not, and lists, distinct, overlapping, the same everywhere or none, of arrays of one to
 * four dimensions, with any way, method, number of nodes and limit of memory. Reads get the same bytes. Distinct
 * sections, dealt to all processes or to some of them, make the same file, which is a formula of the offset in it;
 * where sections overlap the highest rank is in the file.
 *
 * A model of the file in memory decides. The host's collective calls have errors of their own: where they differ from
 * the model that is counted and said, and is no failure. */
#include "array/array.h"
#include "sluice_mpi.h"
#include "support/requests.h"
#include "together.h"
#include <errno.h>

enum { ELEMENTS = 30000, HEADER = 100, FILE_ROOM = HEADER + 12 * ELEMENTS, ROOM = 16 << 20, POISON = 0xAA };
enum { ALONE, COLLECTIVE }; /* calls of the host */

static uint64_t seed;
static int64_t step;
static int64_t file_bytes;
static unsigned char *model, *disk, *buf, *want;
static request request_of[MAX_RANKS];
static int fd, host_fd; /* the file, and the one that the host writes */
static char host_path[80];
static MPI_File host[2]; /* the host's file, opened by each process, and by all together */
static int64_t asked[2], differs[2];

/* ---- The model ---- */

/* Byte x of the file after a step. Where requests are distinct it does not matter who writes it: writer is 0. */
static unsigned char value(int writer, int64_t x) {
    uint64_t z = (uint64_t)x * 0x9e3779b97f4a7c15u + (uint64_t)(step * (MAX_RANKS + 1) + writer);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return (unsigned char)((z ^ z >> 27) * 0x94d049bb133111ebu >> 56);
}

/* Lays the request of this process out and returns the bytes of its memory. */
static int64_t lay_out(const sluice_shape *s) {
    int64_t bytes = request_lay_out(&request_of[rank], s);
    if (bytes > ROOM) abort();
    return bytes;
}

/* What this process writes. */
static void fill_memory(int writer, const sluice_shape *s) {
    memset(buf, POISON, (size_t)lay_out(s));
    for (int i = 0; i < request_of[rank].n; i++)
        for (walk w = walk_slice(&request_of[rank].part[i], s); walk_next(&w);)
            for (int64_t b = 0; b < s->elem; b++) buf[w.mem + b] = value(writer, w.file + b);
}

/* In the order of ranks: the highest wins. */
static void write_model(bool distinct, const sluice_shape *s) {
    for (int r = 0; r < size; r++)
        for (int i = 0; i < request_of[r].n; i++)
            for (walk w = walk_slice(&request_of[r].part[i], s); walk_next(&w);)
                for (int64_t b = 0; b < s->elem; b++) model[w.file + b] = value(distinct ? 0 : r + 1, w.file + b);
}

/* What this process must read. Returns the bytes of its memory. */
static int64_t expect(const sluice_shape *s) {
    int64_t bytes = lay_out(s);
    memset(want, POISON, (size_t)bytes);
    for (int i = 0; i < request_of[rank].n; i++)
        for (walk w = walk_slice(&request_of[rank].part[i], s); walk_next(&w);)
            memcpy(want + w.mem, model + w.file, (size_t)s->elem);
    return bytes;
}

/* Whether a file is as the model; *at is the first byte that is not. */
static bool as_model(int file, int64_t *at) {
    if (pread(file, disk, (size_t)file_bytes + 1, 0) != file_bytes) fail("the file has another size");
    for (*at = 0; *at < file_bytes; ++*at)
        if (disk[*at] != model[*at]) return false;
    return true;
}

static void set_file(int file) {
    if (ftruncate(file, file_bytes) || pwrite(file, model, (size_t)file_bytes, 0) != file_bytes)
        must(-EIO, "setting a file");
}

/* ---- The host ---- */

static int order_of(const sluice_shape *s) { return s->order == SLUICE_ROW_MAJOR ? MPI_ORDER_C : MPI_ORDER_FORTRAN; }

/* The type of a slice in the file, which starts at *at. */
static MPI_Datatype type_in_file(const slice *p, const sluice_shape *s, MPI_Datatype elem, MPI_Offset *at) {
    MPI_Datatype t = MPI_DATATYPE_NULL;
    int dim[REQUEST_DIMS], count[REQUEST_DIMS], start[REQUEST_DIMS], steps = 0;
    *at = s->header;
    if (p->lists) {
        int n = 0;
        MPI_Aint *place = malloc((size_t)slice_elements(p, s) * sizeof *place);
        if (!place) must(-ENOMEM, "list");
        for (walk w = walk_slice(p, s); walk_next(&w);) place[n++] = (MPI_Aint)(w.file - s->header);
        MPI_Type_create_hindexed_block(n, 1, place, elem, &t);
        free(place);
        return t;
    }
    for (int d = 0; d < s->ndims; d++) {
        dim[d] = (int)s->dim[d];
        count[d] = (int)p->range[d].count;
        start[d] = (int)p->range[d].start;
        steps += p->range[d].step > 1;
    }
    if (!steps) {
        MPI_Type_create_subarray(s->ndims, dim, count, start, order_of(s), elem, &t);
        return t;
    }
    MPI_Aint stride = (MPI_Aint)s->elem;
    MPI_Type_dup(elem, &t);
    for (int k = 0; k < s->ndims; k++) {
        MPI_Datatype inner = t;
        int d = shape_fastest(s, k);
        MPI_Type_create_hvector(count[d], 1, stride * (MPI_Aint)p->range[d].step, inner, &t);
        MPI_Type_free(&inner);
        *at += stride * start[d];
        stride *= dim[d];
    }
    return t;
}

/* The type of a slice in memory, from the start of its box. */
static MPI_Datatype type_in_memory(const slice *p, const sluice_shape *s, MPI_Datatype elem) {
    MPI_Datatype t;
    int dim[REQUEST_DIMS], count[REQUEST_DIMS], start[REQUEST_DIMS];
    for (int d = 0; d < s->ndims; d++) {
        dim[d] = (int)p->buf_dim[d];
        count[d] = (int)p->count[d];
        start[d] = (int)p->buf_at[d];
    }
    MPI_Type_create_subarray(s->ndims, dim, count, start, order_of(s), elem, &t);
    return t;
}

/* Moves a slice, or nothing (NULL). */
static void host_slice(int how, bool write, const slice *p, const sluice_shape *s) {
    MPI_Datatype elem, file = MPI_BYTE, mem = MPI_BYTE;
    MPI_Offset at = 0;
    unsigned char *box = buf;
    int n = 0;
    MPI_Type_contiguous((int)s->elem, MPI_BYTE, &elem);
    MPI_Type_commit(&elem);
    if (p) {
        file = type_in_file(p, s, elem, &at);
        mem = type_in_memory(p, s, elem);
        MPI_Type_commit(&file);
        MPI_Type_commit(&mem);
        box += p->at;
        n = 1;
    }
    int err = MPI_File_set_view(host[how], at, p ? elem : MPI_BYTE, file, "native", MPI_INFO_NULL);
    if (!err && how == COLLECTIVE)
        err = write ? MPI_File_write_at_all(host[how], 0, box, n, mem, MPI_STATUS_IGNORE)
                    : MPI_File_read_at_all(host[how], 0, box, n, mem, MPI_STATUS_IGNORE);
    else if (!err)
        err = write ? MPI_File_write_at(host[how], 0, box, n, mem, MPI_STATUS_IGNORE)
                    : MPI_File_read_at(host[how], 0, box, n, mem, MPI_STATUS_IGNORE);
    if (err) fail("the host returns an error");
    if (p) {
        MPI_Type_free(&file);
        MPI_Type_free(&mem);
    }
    MPI_Type_free(&elem);
}

/* Moves all slices of this process, one after the other. A collective call is made by all, equally often. */
static void host_move(int how, bool write, const sluice_shape *s) {
    int times = 0;
    for (int r = 0; r < size; r++)
        if (r == rank || how == COLLECTIVE) times = (int)sluice_max(times, request_of[r].n);
    for (int i = 0; i < times; i++) {
        const slice *p = i < request_of[rank].n ? &request_of[rank].part[i] : NULL;
        if (p && !slice_elements(p, s)) p = NULL;
        if (p || how == COLLECTIVE) host_slice(how, write, p, s);
    }
}

static void judge_host(int how, bool same) {
    asked[how]++;
    differs[how] += !same;
    if (same) return;
    if (how == ALONE) fail("the host's call of one process differs");
    if (how == COLLECTIVE) printf("rank %d of %d: host differs: %s\n", rank, size, doing);
}

/* ---- The library ---- */

/* All draw the way of a handle of n processes; a is NULL where there is none. */
static void set_way(chance *c, sluice_array *a, int n) {
    sluice_together t = {0};
    draw_together(&t, c, n);
    bool no_map = chance_once_in(c, 2);
    sluice_method method = (sluice_method)chance_draw(c, 0, 4);
    if (!a) return;
    t.nodes = a->collective->together.nodes;
    a->collective->together = t;
    a->io.no_map = no_map;
    a->io.method = method;
    sluice_collective_forget(a->collective); /* what a plan depends on has changed */
}

/* The parts of this process as the library takes them; returns how many. */
static int parts_of(sluice_part *part) {
    request *r = &request_of[rank];
    for (int i = 0; i < r->n; i++) part[i] = slice_part(&r->part[i], buf);
    return r->n;
}

/* A process with one packed section says so in fewer words; it makes no difference. */
static int move_all(sluice_array *a, bool write) {
    sluice_part part[REQUEST_PARTS];
    int n = parts_of(part);
    if (n == 1 && part[0].range && !part[0].buf_dim)
        return write ? sluice_write_all(a, part[0].range, buf) : sluice_read_all(a, part[0].range, buf);
    return (write ? sluice_write_parts_all : sluice_read_parts_all)(a, part, n);
}

static int read_directly(sluice_array *a) {
    sluice_part part[REQUEST_PARTS];
    sluice_method method = a->io.method;
    int n = parts_of(part);
    a->io.method = SLUICE_DIRECT;
    int err = sluice_read_parts(a, part, n);
    a->io.method = method;
    return err;
}

/* ---- Cases ---- */

/* What is the same for some cases: the array, by all processes and by the first few. */
typedef struct stage {
    sluice_array *all, *few; /* few: NULL for the others */
    int nfew;
    const sluice_shape *shape;
    int batch, nodes;
    int64_t memory;
} stage;

static void describe(const stage *g, const char *what) {
    const sluice_shape *s = g->shape;
    const sluice_together *t = &g->all->collective->together;
    int n = snprintf(doing, sizeof doing,
                     "seed %llu, batch %d, step %lld: %s, %d nodes, memory %lld, way %d, method %d, array",
                     (unsigned long long)seed, g->batch, (long long)step, what, g->nodes, (long long)g->memory, t->way,
                     g->all->io.method);
    for (int d = 0; d < s->ndims; d++)
        n += snprintf(doing + n, sizeof doing - (size_t)n, " %lld", (long long)s->dim[d]);
    snprintf(doing + n, sizeof doing - (size_t)n, ", order %d, element %lld, header %lld", s->order, (long long)s->elem,
             (long long)s->header);
    watch();
}

static void read_case(chance *c, const stage *g, bool collective) {
    describe(g, collective ? "read, the host collectively too" : "read");
    draw_requests(request_of, size, c, g->shape);
    int64_t bytes = expect(g->shape);
    memset(buf, POISON, (size_t)bytes);
    must(move_all(g->all, false), "read");
    if (memcmp(buf, want, (size_t)bytes)) fail("read something else");
    memset(buf, POISON, (size_t)bytes);
    must(read_directly(g->all), "read directly");
    if (memcmp(buf, want, (size_t)bytes)) fail("read something else directly");
    for (int how = ALONE; how <= collective; how++) {
        memset(buf, POISON, (size_t)bytes);
        host_move(how, false, g->shape);
        judge_host(how, !memcmp(buf, want, (size_t)bytes));
    }
}

/* The file is as the model when all have written; then the next step may begin. */
static void check_file(void) {
    int64_t at;
    meet();
    if (rank == 0 && !as_model(fd, &at)) {
        fail("byte %lld of the file is %d, not %d", (long long)at, disk[at], model[at]);
        set_file(fd);
    }
}

static void write_overlapping(chance *c, const stage *g) {
    describe(g, "write what may overlap");
    draw_requests(request_of, size, c, g->shape);
    fill_memory(rank + 1, g->shape);
    must(move_all(g->all, true), "write");
    write_model(false, g->shape);
    check_file();
    if (rank == 0) set_file(host_fd);
    meet();
}

static void deal(const slice *cut, int n, int to) {
    for (int r = 0; r < size; r++) request_of[r].n = 0;
    for (int i = 0; i < n; i++) {
        request *r = &request_of[i % to];
        r->part[r->n++] = cut[i];
    }
}

static void write_distinct(chance *c, const stage *g, bool collective) {
    static slice cut[REQUEST_PARTS];
    int n = draw_disjoint(cut, REQUEST_PARTS, c, g->shape);
    int64_t at;
    describe(g, collective ? "write distinct parts, the host collectively" : "write distinct parts");
    deal(cut, n, size);
    fill_memory(0, g->shape);
    must(move_all(g->all, true), "write");
    host_move(collective ? COLLECTIVE : ALONE, true, g->shape);
    write_model(true, g->shape);
    check_file();
    if (rank == 0) judge_host(collective, as_model(host_fd, &at));
    meet();
    step++;
    describe(g, "write the same parts by fewer");
    deal(cut, n, g->nfew);
    if (g->few) {
        fill_memory(0, g->shape);
        must(move_all(g->few, true), "write");
    }
    write_model(true, g->shape);
    check_file();
    if (rank == 0) set_file(host_fd);
    meet();
}

/* Some cases with one array. */
static void batch(chance *c, stage *g, MPI_Comm few, int cases) {
    static const int64_t elem[] = {1, 2, 4, 8, 12}, most[] = {ELEMENTS, 170, 30, 13};
    sluice_desc d = {.shape = {.ndims = (int)chance_draw(c, 1, REQUEST_DIMS),
                               .order = chance_once_in(c, 2) ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR,
                               .elem = elem[chance_draw(c, 0, 4)],
                               .header = chance_draw(c, 0, HEADER)}};
    for (int k = 0; k < d.shape.ndims; k++)
        d.shape.dim[k] = most[d.shape.ndims - 1] - chance_low(c, 0, most[d.shape.ndims - 1] - 1);
    g->memory = chance_once_in(c, 4) ? 0 : (64 << 10) * chance_draw(c, 1, 8);
    sluice_options o = {.size = sizeof o, .memory = g->memory, .together.nodes = g->nodes};
    file_bytes = sluice_desc_end(&d);
    for (int64_t x = 0; x < file_bytes; x++) model[x] = value(0, x);
    if (rank == 0) {
        set_file(fd);
        set_file(host_fd);
    }
    meet();
    must(sluice_open_all(&g->all, MPI_COMM_WORLD, path, SLUICE_WRITE, &d, &o), "open");
    o.together.nodes = (int)sluice_min(g->nodes, g->nfew);
    g->few = NULL;
    if (few != MPI_COMM_NULL) must(sluice_open_all(&g->few, few, path, SLUICE_WRITE, &d, &o), "open by fewer");
    g->shape = &g->all->desc.shape;
    for (int i = 0; i < cases; i++, step++) {
        bool collective = i % 20 == 1; /* seldom, as the host takes long */
        int64_t what = chance_draw(c, 0, 3);
        set_way(c, g->all, size);
        set_way(c, g->few, g->nfew);
        if (what < 2)
            read_case(c, g, collective);
        else if (what == 2)
            write_distinct(c, g, collective);
        else
            write_overlapping(c, g);
    }
    if (g->few) must(sluice_close(g->few), "close");
    must(sluice_close(g->all), "close");
}

/* What the host's calls were like, all processes together. */
static void report(void) {
    static const char *const name[] = {"independent", "collective"};
    for (int how = 0; how < 2; how++) {
        mine()->number[how] = asked[how];
        mine()->number[2 + how] = differs[how];
    }
    meet();
    for (int how = 0; how < 2 && rank == 0; how++) {
        int64_t n = 0, bad = 0;
        for (int r = 0; r < size; r++) {
            n += together->post[r].number[how];
            bad += together->post[r].number[2 + how];
        }
        printf("%lld %s calls of the host, host differs in %lld\n", (long long)n, name[how], (long long)bad);
    }
}

int main(int argc, char **argv) {
    MPI_Comm few[4];
    chance c = {0};
    stage g = {0};
    together_start(&argc, &argv, "collective_host_random");
    /* Opening a file takes longest, the more so the more ranks: then there are fewer arrays. */
    int one_node = size > 1 ? 30 : 12, cases = together_cases(size > 4 ? 99 : 165),
        nfew = (int)sluice_min(sluice_max(size - 1, 1), 4);
    int64_t live = sluice_mem_live();
    seed = together_seed();
    model = malloc(FILE_ROOM), disk = malloc(FILE_ROOM + 1), buf = malloc(ROOM), want = malloc(ROOM);
    if (!model || !disk || !buf || !want) must(-ENOMEM, "buffers");
    snprintf(host_path, sizeof host_path, "%s.host", path);
    fd = rank == 0 ? open(path, O_RDWR | O_CREAT | O_EXCL, 0600) : -1;
    host_fd = rank == 0 ? open(host_path, O_RDWR | O_CREAT | O_EXCL, 0600) : -1;
    meet();
    must(MPI_File_open(MPI_COMM_SELF, host_path, MPI_MODE_RDWR, MPI_INFO_NULL, &host[ALONE]) ? -EIO : 0, "host's open");
    must(MPI_File_open(MPI_COMM_WORLD, host_path, MPI_MODE_RDWR, MPI_INFO_NULL, &host[COLLECTIVE]) ? -EIO : 0,
         "host's open");
    for (int k = 0; k < nfew; k++) MPI_Comm_split(MPI_COMM_WORLD, rank <= k ? 0 : MPI_UNDEFINED, rank, &few[k]);
    /* Every second batch is between 2, 3 and all nodes in turn: a few cases, as each takes messages. */
    for (; cases > 0; g.batch++) {
        const int nodes[] = {2, 3, size};
        g.nodes = g.batch % 2 ? (int)sluice_min(nodes[g.batch / 2 % 3], size) : 1;
        int n = (int)sluice_min(cases, g.nodes > 1 ? 3 : one_node);
        chance_seed(&c, seed + (uint64_t)g.batch);
        g.nfew = g.batch / 2 % nfew + 1;
        batch(&c, &g, few[g.nfew - 1], n);
        cases -= n;
    }
    for (int k = 0; k < nfew; k++)
        if (few[k] != MPI_COMM_NULL) MPI_Comm_free(&few[k]);
    MPI_File_close(&host[COLLECTIVE]);
    MPI_File_close(&host[ALONE]);
    report();
    if (sluice_mem_live() != live) fail("memory is not given back");
    if (rank == 0) unlink(host_path);
    chance_free(&c);
    free(model), free(disk), free(buf), free(want);
    return together_end();
}
