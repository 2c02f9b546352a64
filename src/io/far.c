/* far.c: arrays whose subfiles servers have: what a process asks of them for itself, and how all meet for a collective
 * call.
 *
 * A part of an array in subfiles is a piece in one of them (array/split.c), and that is what its server is told: the
 * set, in closed form, and for a write its bytes in order. Pieces that are too long for a message, or too complex, are
 * cut. The server chooses how to move them, near the disk, and it alone writes its subfiles, so that no one has to lock
 * anything.
 *
 * In a collective call the servers are the aggregators (plan.c), and processes exchange data through shared memory and
 * messages of the group as in any other. A server must not be asked while it is in such a call, which it could not
 * answer. So everyone first says to every server HERE; a server goes on answering until all have said so, and then goes
 * in with them:
 *
 *     client 0     GET --> . --> data   HERE --> .                  | agree, exchange, agree
 *     client 1                HERE --> .                            |
 *     server       answers ........................ all are here    |
 */
#include "io/serve.h"
#include <errno.h>
#include <string.h>

int sluice_far_subfile(const sluice_far *f, int64_t off) {
    const sluice_subfiles *s = f->subfiles;
    int lo = 0, hi = s->n;
    while (hi - lo > 1) {
        const int mid = lo + (hi - lo) / 2;
        if (s->run[2 * mid] <= off)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* ---- Asking -------------------------------------------------------------------------------------------------- */

/* A piece of a transfer, and how far it is. */
typedef struct progress {
    const sluice_io_part *part;
    int place; /* of its server */
    int64_t done;
} progress;

/* What a question asks for. */
typedef struct chunk {
    const progress *of;
    int64_t from, n;
    unsigned char *bounce; /* where its bytes are put together, or NULL */
} chunk;

typedef struct job {
    sluice_io *io;
    sluice_far *far;
    bool write;
    progress *piece;
    int n;
    int64_t used; /* of the bounce buffer */
    bool *busy;   /* of each server: the next piece must wait for one that is not finished */
    int ncalls;
    chunk chunk[SLUICE_FAR_CALLS];
} job;

static bool is_packed(const progress *p) { return !p->part->mem.set; }

/* The memory of a piece from byte k on. */
static sluice_side memory_at(const progress *p, int64_t k) {
    sluice_side mem = p->part->mem;
    mem.from += k;
    return mem;
}

/* The bytes [done, done + n) of a piece. */
static int cut(sluice_set *out, const progress *p, int64_t n) {
    const sluice_set *file = p->part->file;
    const int64_t lo = sluice_set_select(file, p->done), hi = sluice_set_select(file, p->done + n - 1) + 1;
    return sluice_set_cut(out, file, lo, hi);
}

/* The wire form of the next bytes of a piece, at most *n, as many as a message can have; in memory of its own. */
static int pack(sluice_call *c, const job *j, const progress *p, int64_t *n) {
    sluice_set set = SLUICE_SET_EMPTY;
    const sluice_far *f = j->far;
    int err = cut(&set, p, *n);
    int64_t wire = err ? 0 : sluice_set_pack(&set, NULL, 0);
    while (!err && *n > 1 && (wire + *n > f->piece || set.nnode > f->families)) {
        *n = wire + *n > f->piece && wire < f->piece / 2 ? f->piece - wire : sluice_ceil_div(*n, 2);
        err = cut(&set, p, *n);
        if (!err) wire = sluice_set_pack(&set, NULL, 0);
    }
    c->wire = err ? NULL : sluice_mem_alloc((size_t)wire, 1);
    if (!err && !c->wire) err = -ENOMEM;
    if (!err) sluice_set_pack(&set, c->wire, (size_t)wire);
    c->question.wire = wire;
    sluice_set_free(&set);
    return err;
}

static void gather(const job *j, const chunk *c) {
    const sluice_side mem = memory_at(c->of, c->from), together = {c->bounce, NULL, 0, 0};
    if (c->bounce) sluice_move(j->write ? &together : &mem, j->write ? &mem : &together, c->n);
}

/* A question for the next bytes of a piece: 1, 0 if there is no room to put them together, or an error. */
static int add_chunk(job *j, progress *p) {
    enum { LEAST = 4096 };
    sluice_far *f = j->far;
    sluice_call *call = &f->call[j->ncalls];
    int64_t n = sluice_min(p->part->file->size - p->done, f->piece);
    const int64_t room = f->cap - j->used;
    if (!is_packed(p) && room < sluice_min(n, LEAST) && j->ncalls > 0) return 0;
    if (!is_packed(p)) n = sluice_min(n, room);
    *call = (sluice_call){.server = f->server[p->place],
                          .question = {.question = j->write ? SLUICE_ASK_PUT : SLUICE_ASK_GET}};
    int err = pack(call, j, p, &n);
    if (err) return err;
    chunk *c = &j->chunk[j->ncalls++];
    *c = (chunk){p, p->done, n, NULL};
    if (is_packed(p)) {
        call->data = (unsigned char *)p->part->mem.base + (p->part->mem.from - p->part->mem.origin) + p->done;
    } else {
        call->data = c->bounce = f->bounce + j->used;
        j->used += n;
    }
    call->question.n = n;
    if (j->write) gather(j, c);
    p->done += n;
    return 1;
}

/* All that goes out together. What overlaps is at one server, which answers in order; so of each server one piece after
 * the other. */
static int fill_round(job *j) {
    int err = 1;
    j->ncalls = 0;
    j->used = 0;
    memset(j->busy, 0, (size_t)j->far->n * sizeof *j->busy);
    for (int k = 0; k < j->n && j->ncalls < SLUICE_FAR_CALLS && err > 0; k++) {
        progress *p = &j->piece[k];
        if (p->done == p->part->file->size || j->busy[p->place]) continue;
        err = add_chunk(j, p);
        j->busy[p->place] = p->done < p->part->file->size;
    }
    return err < 0 ? err : 0;
}

static int ask_round(job *j, sluice_reason *why) {
    sluice_far *f = j->far;
    sluice_counts *counts = &j->io->counts;
    sluice_ask_start(f->comm, f->call, j->ncalls);
    int err = sluice_ask_wait(f->call, j->ncalls, f->own, why);
    for (int k = 0; k < j->ncalls; k++) {
        const chunk *c = &j->chunk[k];
        const sluice_message *answer = &f->call[k].answer;
        counts->messages++;
        counts->message_bytes += c->n;
        if (answer->magic != SLUICE_MESSAGE_MAGIC || answer->error) continue;
        if (!j->write) gather(j, c);
        *(j->write ? &counts->wanted_written : &counts->wanted_read) += c->n;
    }
    return err;
}

static void free_round(job *j) {
    for (int k = 0; k < j->ncalls; k++) sluice_mem_free(j->far->call[k].wire);
}

/* ---- Moving -------------------------------------------------------------------------------------------------- */

/* Room to put together what is not packed; the old one goes first, so that both are never there together. */
static int need_bounce(job *j) {
    sluice_far *f = j->far;
    int64_t need = 0;
    for (int k = 0; k < j->n && need < f->memory; k++)
        if (!is_packed(&j->piece[k])) need = sluice_min(f->memory, need + j->piece[k].part->file->size);
    if (f->cap >= need) return 0;
    sluice_mem_free(f->bounce);
    f->cap = 0;
    f->bounce = sluice_mem_alloc((size_t)need, 1);
    if (!f->bounce) return -ENOMEM;
    f->cap = need;
    return 0;
}

/* Our own subfiles directly; the rest becomes pieces. */
static int start(job *j, const sluice_io_part *part, int n, sluice_reason *why) {
    sluice_far *f = j->far;
    int err = 0;
    if (f->own) sluice_server_drain(f->own);
    for (int k = 0; k < n && !err; k++) {
        if (!part[k].file->size) continue;
        const int place = f->subfiles->target[sluice_far_subfile(f, sluice_set_lo(part[k].file))] % f->n;
        if (f->server[place] == f->rank)
            err = (j->write ? sluice_io_write_here : sluice_io_read_here)(j->io, &part[k], 1, why);
        else
            j->piece[j->n++] = (progress){&part[k], place, 0};
    }
    return err;
}

static bool is_done(const job *j) {
    for (int k = 0; k < j->n; k++)
        if (j->piece[k].done < j->piece[k].part->file->size) return false;
    return true;
}

int sluice_far_move(sluice_io *io, bool write, const sluice_io_part *part, int n, sluice_reason *why) {
    job j = {.io = io, .far = io->far, .write = write};
    const char *call = write ? "write" : "read", *name = io->store->name;
    if (!n) return 0;
    j.piece = sluice_mem_alloc((size_t)n, sizeof *j.piece);
    j.busy = sluice_mem_alloc((size_t)j.far->n, sizeof *j.busy);
    int err = j.piece && j.busy ? 0 : sluice_store_refuse(why, -ENOMEM, call, name, -1);
    if (!err) err = start(&j, part, n, why);
    int made = err ? 0 : need_bounce(&j);
    while (!err && !made && !is_done(&j)) {
        made = fill_round(&j);
        if (!made) err = ask_round(&j, why);
        free_round(&j);
    }
    if (made) err = sluice_store_refuse(why, made, call, name, -1);
    sluice_mem_free(j.busy);
    sluice_mem_free(j.piece);
    return err;
}

/* ---- Meeting ------------------------------------------------------------------------------------------------- */

int sluice_far_say(sluice_far *f, int64_t call, int64_t number, sluice_reason *why) {
    int n = 0;
    for (int i = 0; i < f->n && !f->closed; i++)
        if (f->server[i] != f->rank)
            f->call[n++] = (sluice_call){.server = f->server[i],
                                         .question = {.question = SLUICE_ASK_HERE, .lo = call, .hi = number}};
    sluice_ask_start(f->comm, f->call, n);
    return sluice_ask_wait(f->call, n, f->own, why);
}

int sluice_far_meet(sluice_far *f, int64_t call, int64_t number, int error, sluice_reason *why) {
    int said = sluice_far_say(f, call, number, error ? NULL : why);
    if (f->own) sluice_server_gather(f->own, &call, &number);
    return error ? error : said;
}
