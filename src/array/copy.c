/* copy.c: from one array to another, whatever their order, within a bound of memory.
 *
 * Between arrays of the same order, contiguous pieces are read and written. Otherwise the destination is made tile by
 * tile, each of them read in strips:
 *
 *      source            tile, in memory      destination
 *      . . . . . .       + + + : : :          . . . . . .      strip k + 1 is read in the background, strip k is
 *      . + + + . .   ->  + + + : : :    ->    . # # # . .      turned into its place in the tile (transpose.c), and
 *      . - - - . .       + + + : : :          . # # # . .      the tile before is written in the background
 *      . . . . . .                            . . . . . .
 *
 * Two tiles and two strips take turns. Small strips are still in the cache when they are turned; large tiles make
 * long runs (boxes.c). Runs that are written are the longer ones: a short write costs several short reads.
 */
#include "array/copy.h"
#include "set/set.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    DEFAULT_MEMORY = 64 << 20,
    LEAST_MEMORY = 64 << 10,
    LEAST_OWN = 4096,  /* of a handle */
    STRIP = 512 << 10, /* stays in a second-level cache, and is worth waking a thread */
    PIECE = 4 << 20,   /* same order: third level; */
    SPAN = 256 << 10,  /* but so much of every subfile, for a subfile is read and written in one go */
    LEAST_BOX = 512,   /* bytes in a box of a share */
    BOXES = 4,         /* of a process, at least, so that shares are about equal */
    SETS = 8,          /* of the memory, one in so many parts for sets, where an array is in subfiles, */
    TIMES = 4,         /* which are there so many times: of a request under way, of the next, and while that is made */
    WIDE = 256,        /* bytes of a strip along the axis that is fastest in the destination: whole lines, and some */
    WEIGHT = 2,        /* measured: shorter runs cost more when written than when read */
    LINE = 64          /* buffers start with a cache line */
};

/* One of the two arrays. Axes are those dimensions whose extent is not 1. */
typedef struct side {
    sluice_array *array;
    sluice_range range[SLUICE_MAX_DIMS]; /* one per dimension */
    int dim[SLUICE_MAX_DIMS];            /* of an axis */
    int axis[SLUICE_MAX_DIMS];           /* from the fastest to the slowest */
    int64_t limit;                       /* the handle's own */
} side;

typedef struct copier {
    side src, dst;
    int naxes;
    int64_t n[SLUICE_MAX_DIMS], elem;
    sluice_copy_options o;
    int64_t done, total;
    int rank, size; /* which share of the boxes is copied */
    unsigned char *memory;
    unsigned char *tile[2], *strip[2];
    sluice_request *write[2], *read[2];
} copier;

/* ---- what is copied ---- */

/* The section of one side, and its axes; their number or an error. */
static int lay_out(side *s, int64_t *n, sluice_array *a, const sluice_range *range) {
    const sluice_shape *shape = &a->desc.shape;
    sluice_set bytes = SLUICE_SET_EMPTY;
    sluice_reason why = {.text = ""};
    int naxes = 0, err = range ? sluice_set_section(&bytes, shape, range, &why) : 0;
    sluice_set_free(&bytes);
    if (err)
        return sluice_errmsg_fail(err, "copy %s: %s", a->io.store->name,
                                  why.error == err ? why.text : sluice_strerror(err));
    s->array = a;
    for (int d = 0; d < shape->ndims; d++) {
        s->range[d] = range ? range[d] : (sluice_range){0, shape->dim[d], 1};
        if (s->range[d].count == 1) continue;
        n[naxes] = s->range[d].count;
        s->dim[naxes++] = d;
    }
    sluice_boxes_order(s->axis, naxes, shape->order);
    return naxes;
}

/* "3 x 4", for messages. */
typedef struct extents {
    char text[80];
} extents;
static extents name_extents(const int64_t *n, int naxes) {
    extents e = {"1"};
    size_t at = 0;
    for (int a = 0; a < naxes && at < sizeof e.text; a++)
        at += (size_t)snprintf(e.text + at, sizeof e.text - at, "%s%lld", a ? " x " : "", (long long)n[a]);
    return e;
}

/* The same type, or one of them is just so many bytes. */
static bool same_type(const sluice_desc *a, const sluice_desc *b) {
    return a->shape.elem == b->shape.elem && (!strcmp(a->type, b->type) || *a->type == 'V' || *b->type == 'V');
}

int sluice_copy_settle(sluice_copy_options *o, const sluice_copy_options *given, const sluice_array *src) {
    *o = (sluice_copy_options){0};
    if (given) memcpy(o, given, given->size && given->size < sizeof *o ? given->size : sizeof *o);
    if (o->memory == 0) o->memory = DEFAULT_MEMORY;
    if (given && given->size > sizeof *o)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "options of %zu bytes, made for a newer Sluice", given->size);
    if (o->memory < LEAST_MEMORY)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "copy %s: a memory limit of %lld bytes; the least is %d",
                                  src->io.store->name, (long long)o->memory, LEAST_MEMORY);
    return 0;
}

static int prepare(copier *c, sluice_array *dst, sluice_array *src) {
    const char *name = src->io.store->name;
    int64_t into[SLUICE_MAX_DIMS];
    if (dst == src) return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "copy %s: to itself", name);
    if (!same_type(&dst->desc, &src->desc))
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "copy %s: elements are %s, in %s %s", name, src->desc.type,
                                  dst->io.store->name, dst->desc.type);
    c->elem = src->desc.shape.elem;
    c->naxes = lay_out(&c->src, c->n, src, c->o.from);
    if (c->naxes < 0) return c->naxes;
    const int naxes = lay_out(&c->dst, into, dst, c->o.to);
    if (naxes < 0) return naxes;
    if (naxes != c->naxes || memcmp(c->n, into, (size_t)naxes * sizeof *into) != 0)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "copy %s: %s elements into %s of %s", name,
                                  name_extents(c->n, c->naxes).text, name_extents(into, naxes).text,
                                  dst->io.store->name);
    return 0;
}

/* The bytes of it; 0: the other extents need have no product. */
static int64_t measure(copier *c) {
    c->total = c->elem;
    for (int a = 0; a < c->naxes; a++)
        if (c->n[a] == 0) c->total = 0;
    for (int a = 0; a < c->naxes; a++) c->total *= c->total ? c->n[a] : 1; /* fits: the arrays do */
    return c->total;
}

/* ---- boxes of it ---- */

/* The walk over all of it, in the order of the destination. */
static sluice_boxes all(const copier *c) {
    sluice_boxes b = {.naxes = c->naxes};
    memcpy(b.axis, c->dst.axis, sizeof b.axis);
    memcpy(b.hi, c->n, sizeof b.hi);
    return b;
}

/* Goes to the first box of the share, and returns how many there are in it. */
static int64_t enter_share(const copier *c, sluice_boxes *b) {
    const int64_t n = sluice_boxes_count(b), each = n / c->size, more = n % c->size;
    const int64_t first = c->rank * each + sluice_min(c->rank, more), count = each + (c->rank < more);
    if (count) sluice_boxes_seek(b, first);
    return count;
}

/* The walk over the strips of a tile, in the order of the source. */
static sluice_boxes strips_of(const copier *c, const sluice_boxes *tile, int64_t most) {
    sluice_boxes b = {.naxes = c->naxes};
    int64_t volume = 1;
    memcpy(b.axis, c->src.axis, sizeof b.axis);
    for (int a = 0; a < c->naxes; a++) {
        b.lo[a] = tile->at[a];
        b.hi[a] = tile->at[a] + tile->n[a];
        b.size[a] = 1;
    }
    const int first = c->dst.axis[0];
    b.size[first] = volume = sluice_max(1, sluice_min(sluice_min(tile->n[first], most), WIDE / c->elem));
    for (int i = 0; i < c->naxes; i++) {
        const int a = c->src.axis[i];
        const int64_t others = volume / b.size[a];
        b.size[a] = sluice_max(b.size[a], sluice_min(tile->n[a], most / others));
        volume = others * b.size[a];
    }
    return b;
}

/* A box of one side as a section of its array. */
static void place(sluice_range *range, const side *s, const sluice_boxes *b) {
    memcpy(range, s->range, sizeof s->range);
    for (int a = 0; a < b->naxes; a++) {
        sluice_range *r = &range[s->dim[a]];
        r->start += b->at[a] * r->step;
        r->count = b->n[a];
    }
}

static int start(sluice_request **r, const side *s, const sluice_boxes *b, unsigned char *buf, bool write) {
    sluice_range range[SLUICE_MAX_DIMS];
    const sluice_part part = {.range = range, .buf = buf};
    place(range, s, b);
    return (write ? sluice_write_start : sluice_read_start)(r, s->array, &part, 1);
}

/* Waits, if there is something to wait for. */
static int finish(sluice_request **r) {
    sluice_request *done = *r;
    *r = NULL;
    return done ? sluice_wait(done) : 0;
}

/* n more elements are on their way. */
static int report(copier *c, int64_t n) {
    c->done += n * c->elem;
    if (!c->o.progress || !c->o.progress(c->o.arg, c->done, c->total)) return 0;
    return sluice_errmsg_fail(-ECANCELED, "copy %s: stopped after %lld of %lld bytes", c->src.array->io.store->name,
                              (long long)c->done, (long long)c->total);
}

/* ---- the two ways ---- */

/* Same order: a piece is read while the one before is written. */
static int copy_pieces(copier *c, int64_t most) {
    sluice_boxes b = all(c);
    int err = 0, turn = 0;
    sluice_boxes_choose(&b, c->src.axis, c->dst.axis, most, 1);
    for (int64_t left = enter_share(c, &b); left && !err; left--, sluice_boxes_next(&b), turn = !turn) {
        sluice_range range[SLUICE_MAX_DIMS];
        place(range, &c->src, &b);
        err = finish(&c->write[turn]);
        if (!err) err = sluice_read(c->src.array, range, c->tile[turn]);
        if (!err) err = start(&c->write[turn], &c->dst, &b, c->tile[turn], true);
        if (!err) err = report(c, sluice_boxes_volume(&b));
    }
    return err;
}

/* Turns a strip into its place in the tile. */
static void turn_strip(const copier *c, unsigned char *tile, const unsigned char *strip, const sluice_boxes *whole,
                       const sluice_boxes *part) {
    sluice_turn t = {.naxes = c->naxes, .elem = c->elem};
    memcpy(t.n, part->n, sizeof t.n);
    sluice_transpose_steps(t.from, part->n, c->src.axis, c->naxes, c->elem);
    sluice_transpose_steps(t.to, whole->n, c->dst.axis, c->naxes, c->elem);
    for (int a = 0; a < c->naxes; a++) tile += (part->at[a] - whole->at[a]) * t.to[a];
    sluice_transpose(tile, strip, &t);
}

/* Moves the cuts along the axis that is fastest in the destination to where its pages start, if they start at the same
 * index in all runs: of a page that is written in part, the system must clear or fetch the rest. */
static void align(const copier *c, sluice_boxes *tile) {
    const int a = c->dst.axis[0], d = c->dst.dim[a];
    const sluice_shape *s = &c->dst.array->desc.shape;
    const int64_t page = c->dst.array->io.store->facts.align;
    const int fastest = s->order == SLUICE_ROW_MAJOR ? s->ndims - 1 : 0;
    if (page % c->elem || d != fastest || s->dim[d] * c->elem % page || c->dst.range[d].step != 1) return;
    const int64_t start = (s->header + c->dst.range[d].start * c->elem) % page, n = page / c->elem;
    if (start % c->elem || tile->size[a] < 2 * n || tile->size[a] == c->n[a]) return;
    tile->size[a] -= tile->size[a] % n;
    tile->less[a] = start / c->elem;
}

static void choose_tiles(const copier *c, sluice_boxes *tile, int64_t most) {
    sluice_boxes_choose(tile, c->src.axis, c->dst.axis, most, WEIGHT);
    align(c, tile);
}

/* Other order. The strips of all tiles are one sequence, so that reading goes on from tile to tile. */
static int copy_tiles(copier *c, int64_t most_tile, int64_t most_strip) {
    sluice_boxes tile = all(c), strip, next_tile, next_strip;
    int err = 0, into = 0, turn = 0;
    choose_tiles(c, &tile, most_tile);
    int64_t left = enter_share(c, &tile);
    if (!left) return 0;
    strip = strips_of(c, &tile, most_strip);
    sluice_boxes_first(&strip);
    err = start(&c->read[0], &c->src, &strip, c->strip[0], false);
    while (left && !err) {
        next_tile = tile;
        next_strip = strip;
        const bool last = !sluice_boxes_next(&next_strip);
        if (last) {
            left--;
            sluice_boxes_next(&next_tile);
            next_strip = strips_of(c, &next_tile, most_strip);
            sluice_boxes_first(&next_strip);
        }
        err = finish(&c->read[turn]);
        if (!err && left) err = start(&c->read[!turn], &c->src, &next_strip, c->strip[!turn], false);
        if (!err) err = finish(&c->write[into]); /* of the tile before last; only its first strip waits */
        if (err) break;
        turn_strip(c, c->tile[into], c->strip[turn], &tile, &strip);
        if (last) {
            err = start(&c->write[into], &c->dst, &tile, c->tile[into], true);
            into = !into;
        }
        if (!err) err = report(c, sluice_boxes_volume(&strip));
        turn = !turn;
        tile = next_tile;
        strip = next_strip;
    }
    return err;
}

static bool divided(const copier *c) { return c->src.array->layout || c->dst.array->layout; }
static int64_t subfiles(const sluice_array *a) { return a->layout ? a->layout->n : 1; }

/* The most bytes of a box of a share, where alone it might have so many. */
static int64_t fair(const copier *c, int64_t most) {
    const int64_t even = sluice_max(c->total / c->size / BOXES, sluice_max(LEAST_BOX, c->elem));
    return c->size > 1 ? sluice_min(most, even) : most;
}

/* What a box is in the files of one side: contiguous pieces, and the memory of the sets that describe it. */
typedef struct survey {
    int64_t runs, sets;
} survey;

static int look_at(const side *s, const sluice_boxes *b, survey *v) {
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_set file = SLUICE_SET_EMPTY;
    const sluice_array *a = s->array;
    place(range, s, b);
    int err = sluice_set_section(&file, &a->desc.shape, range, NULL);
    if (!err && a->layout) {
        sluice_pieces pieces;
        err = sluice_split(&pieces, a->layout, &(sluice_io_part){&file, {NULL, NULL, 0, 0}}, 1);
        for (int i = 0; i < pieces.n && !err; i++) {
            v->runs += sluice_set_nruns(pieces.part[i].file);
            v->sets += sluice_node_memory(&pieces.bound[i].file) + sluice_node_memory(&pieces.bound[i].mem);
        }
        if (!err) sluice_split_free(&pieces);
    } else if (!err) {
        v->runs += sluice_set_nruns(&file);
    }
    sluice_set_free(&file);
    return err;
}

/* The memory: buffers of two sizes, two of each, and the handles' own. */
typedef struct division {
    bool turned;
    int64_t own, tile, strip;
} division;

/* The walk over the boxes of this size, at the first of them. */
static sluice_boxes boxes_of(const copier *c, const division *v) {
    sluice_boxes b = all(c);
    if (v->turned)
        choose_tiles(c, &b, v->tile / c->elem);
    else
        sluice_boxes_choose(&b, c->src.axis, c->dst.axis, v->tile / c->elem, 1);
    sluice_boxes_first(&b);
    return b;
}

/* Makes boxes small enough for the sets that describe them, which grow with the box only where a layout is irregular:
 * from small boxes to large ones, since the large ones are what there may be no memory for. */
static int fit_sets(const copier *c, division *v, int64_t memory) {
    enum { FACTOR = 4 };
    const division most = *v;
    const int64_t least = sluice_max(LEAST_BOX, c->elem);
    for (int64_t tile = least;; tile *= FACTOR) {
        division next = most;
        survey s = {0, 0};
        next.tile = sluice_min(tile, most.tile);
        next.strip = sluice_min(next.tile, most.strip);
        const sluice_boxes b = boxes_of(c, &next);
        sluice_boxes part = next.turned ? strips_of(c, &b, next.strip / c->elem) : b;
        if (next.turned) sluice_boxes_first(&part);
        int err = look_at(&c->src, &part, &s);
        if (!err) err = look_at(&c->dst, &b, &s);
        if (err) return sluice_errmsg_fail(err, "copy %s: %s", c->src.array->io.store->name, sluice_strerror(err));
        if (tile > least && TIMES * s.sets > memory) break;
        *v = next;
        if (tile >= most.tile) break;
    }
    return 0;
}

static int divide(const copier *c, division *v) {
    v->turned = c->naxes > 1 && c->src.axis[0] != c->dst.axis[0];
    v->own = sluice_max(c->o.memory / 32, LEAST_OWN);
    const int64_t sets = divided(c) ? c->o.memory / SETS : 0, room = c->o.memory - sets - 2 * v->own - 4 * LINE;
    const int64_t spans = SPAN * sluice_max(subfiles(c->src.array), subfiles(c->dst.array));
    const int64_t piece = sluice_max(sluice_max(PIECE, spans), c->elem);
    v->strip = v->turned ? sluice_min(sluice_max(STRIP, c->elem), room / 16) : 0;
    v->tile = v->turned ? room / 2 - v->strip : sluice_min(piece, room / 2);
    if ((v->turned ? v->strip : v->tile) < c->elem)
        return sluice_errmsg_fail(SLUICE_E_ARGUMENT, "copy %s: elements of %lld bytes do not fit into %lld of memory",
                                  c->src.array->io.store->name, (long long)c->elem, (long long)c->o.memory);
    v->strip = sluice_min(v->strip, c->total);
    v->tile = fair(c, sluice_min(v->tile, c->total));
    return sets ? fit_sets(c, v, sets) : 0;
}

static int copy_within(copier *c) {
    division v;
    int err = divide(c, &v);
    if (err) return err;
    c->memory = sluice_mem_alloc((size_t)(2 * (v.tile + v.strip) + 4 * LINE), 1);
    if (!c->memory)
        return sluice_errmsg_fail(-ENOMEM, "copy %s: no memory for buffers of %lld bytes", c->src.array->io.store->name,
                                  (long long)(2 * (v.tile + v.strip)));
    unsigned char *p = c->memory;
    unsigned char **const buffer[] = {&c->tile[0], &c->tile[1], &c->strip[0], &c->strip[1]};
    for (int i = 0; i < 4; i++) {
        p += (LINE - (uintptr_t)p % LINE) % LINE;
        *buffer[i] = p;
        p += i < 2 ? v.tile : v.strip;
    }
    sluice_io_limit(&c->src.array->io, sluice_min(c->src.limit, v.own));
    sluice_io_limit(&c->dst.array->io, sluice_min(c->dst.limit, v.own));
    err = v.turned ? copy_tiles(c, v.tile / c->elem, v.strip / c->elem) : copy_pieces(c, v.tile / c->elem);
    /* Everything that was started ends before the buffers go; the first error is the one that counts. */
    sluice_request **const request[] = {&c->write[0], &c->write[1], &c->read[0], &c->read[1]};
    sluice_reason why;
    if (err) sluice_refuse(&why, err, -1, "%s", sluice_errmsg());
    for (int i = 0; i < 4; i++) {
        const int late = finish(request[i]);
        if (late && !err) {
            err = late;
            sluice_refuse(&why, err, -1, "%s", sluice_errmsg());
        }
    }
    return err ? sluice_errmsg_set(&why) : 0;
}

int sluice_copy_share(sluice_array *dst, sluice_array *src, const sluice_copy_options *o, int rank, int size) {
    copier c = {.o = *o, .rank = rank, .size = size};
    int err = prepare(&c, dst, src);
    if (err) return err;
    if (!measure(&c)) return 0;
    sluice_background_drain(src);
    sluice_background_drain(dst);
    c.src.limit = src->io.memory;
    c.dst.limit = dst->io.memory;
    err = copy_within(&c);
    sluice_io_limit(&src->io, c.src.limit);
    sluice_io_limit(&dst->io, c.dst.limit);
    sluice_mem_free(c.memory);
    return err;
}

int sluice_copy(sluice_array *dst, sluice_array *src, const sluice_copy_options *given) {
    sluice_copy_options o;
    int err = sluice_copy_settle(&o, given, src);
    return err ? err : sluice_copy_share(dst, src, &o, 0, 1);
}

/* ---- what it takes ---- */

int sluice_copy_foretell(sluice_copy_cost *out, sluice_array *dst, sluice_array *src, const sluice_copy_options *o,
                         int size) {
    enum { SAMPLES = 64 };
    copier c = {.o = *o, .size = size};
    division v;
    int err = prepare(&c, dst, src);
    *out = (sluice_copy_cost){0};
    if (err || !measure(&c)) return err;
    err = divide(&c, &v);
    if (err) return err;
    sluice_boxes b = boxes_of(&c, &v);
    survey read = {0, 0}, written = {0, 0};
    const int64_t n = sluice_boxes_count(&b), samples = sluice_min(n, SAMPLES);
    *out = (sluice_copy_cost){.bytes = c.total, .boxes = n};
    for (int64_t i = 0; i < samples && !err; i++) {
        sluice_boxes_seek(&b, i * (n / samples)); /* up to some at the end */
        sluice_boxes part = v.turned ? strips_of(&c, &b, v.strip / c.elem) : b;
        bool more = v.turned ? sluice_boxes_first(&part) : true;
        for (; more && !err; more = v.turned && sluice_boxes_next(&part)) err = look_at(&c.src, &part, &read);
        if (!err) err = look_at(&c.dst, &b, &written);
        out->box = sluice_max(out->box, sluice_boxes_volume(&b) * c.elem);
    }
    out->reads = (int64_t)((double)read.runs * (double)n / (double)samples);
    out->writes = (int64_t)((double)written.runs * (double)n / (double)samples);
    return err ? sluice_errmsg_fail(err, "copy %s: %s", src->io.store->name, sluice_strerror(err)) : 0;
}
