/* requests.c: everyone learns what everyone wants.
 *
 * A process puts the wire form of its request into its segment; on one node that is all. The leaders of several nodes
 * collect those of their nodes, exchange them and put them all into their segments. What fails here fails before
 * anything else was done, and is agreed on.
 *
 *     segment of a process:   length | wire form
 *     behind it, a leader's:  length | wire form | length | wire form | ...   node by node, in the order of ranks
 */
#include "io/collective.h"
#include <errno.h>
#include <limits.h>
#include <string.h>

enum { HEAD = sizeof(int64_t) };

/* Bytes of a letter: the length and the form, up to where the next may start. */
static int64_t room(int64_t n) { return HEAD + sluice_ceil_div(n, HEAD) * HEAD; }

static int64_t length_of(const unsigned char *letter) {
    int64_t n;
    memcpy(&n, letter, HEAD);
    return n;
}

static unsigned char *letter_of(const sluice_group *g, int local) {
    return sluice_group_area(g, local, SLUICE_AREA_REQUESTS);
}

static int publish(sluice_group *g, const sluice_set *mine, sluice_counts *counts, sluice_reason *why) {
    int64_t n = sluice_set_pack(mine, NULL, 0);
    int err = sluice_group_reserve(g, SLUICE_AREA_REQUESTS, room(n));
    if (err) return sluice_refuse(why, err, -1, "no memory to describe a request in %lld bytes", (long long)n);
    memcpy(letter_of(g, g->local), &n, HEAD);
    sluice_set_pack(mine, letter_of(g, g->local) + HEAD, (size_t)n);
    counts->descriptors += n;
    return 0;
}

/* A leader's preparation: how much comes from each node, and room for it. */
static int make_room(sluice_group *g, unsigned char **mine, sluice_reason *why) {
    int64_t n = 0, all = 0;
    int *count = g->count, *at = g->count + g->nnodes;
    for (int i = 0; i < g->nlocal; i++) n += room(length_of(letter_of(g, i)));
    int length = n > INT_MAX ? -1 : (int)n;
    MPI_Allgather(&length, 1, MPI_INT, count, 1, MPI_INT, g->leaders);
    for (int i = 0; i < g->nnodes; i++) {
        if (count[i] < 0 || all > INT_MAX - count[i])
            return sluice_refuse(why, -E2BIG, -1, "the requests take over 2 GiB to describe");
        at[i] = (int)all;
        all += count[i];
    }
    int err = sluice_group_reserve(g, SLUICE_AREA_REQUESTS, room(length_of(letter_of(g, 0))) + all);
    *mine = err ? NULL : sluice_mem_alloc((size_t)n, 1);
    if (!*mine) return sluice_refuse(why, -ENOMEM, -1, "no memory for requests of %lld bytes", (long long)all);
    unsigned char *p = *mine;
    for (int i = 0; i < g->nlocal; i++) {
        int64_t len = room(length_of(letter_of(g, i)));
        memcpy(p, letter_of(g, i), (size_t)len);
        p += len;
    }
    return 0;
}

/* The letters of all nodes, in the leader's segment. */
static int between_nodes(sluice_group *g, const sluice_io *io, bool write, sluice_reason *why) {
    unsigned char *mine = NULL;
    int err = g->local == 0 ? make_room(g, &mine, why) : 0;
    err = sluice_agree(g, sluice_collective_name(io, write, err, why), why, NULL, 0);
    if (g->local == 0 && !err)
        MPI_Allgatherv(mine, g->count[g->node], MPI_BYTE, letter_of(g, 0) + room(length_of(letter_of(g, 0))), g->count,
                       g->count + g->nnodes, MPI_BYTE, g->leaders);
    sluice_mem_free(mine);
    if (!err) sluice_group_meet(g);
    return err;
}

static int open_letter(sluice_set *out, const unsigned char *letter, sluice_reason *why) {
    return sluice_set_unpack(out, letter + HEAD, (size_t)length_of(letter), NULL, why);
}

static int open_all(const sluice_group *g, sluice_set *request, sluice_reason *why) {
    int err = 0;
    if (g->nnodes == 1) {
        for (int i = 0; i < g->nlocal && !err; i++) err = open_letter(&request[g->member[i]], letter_of(g, i), why);
        return err;
    }
    const unsigned char *p = letter_of(g, 0);
    p += room(length_of(p));
    for (int i = 0; i < g->size && !err; i++) {
        err = open_letter(&request[g->by_node[i]], p, why);
        p += room(length_of(p));
    }
    return err;
}

int sluice_requests_exchange(sluice_collective *c, sluice_io *io, const sluice_set *mine, sluice_set *request,
                             int error, sluice_reason *why) {
    sluice_group *g = c->group;
    bool write = c->pattern->write;
    if (!error) error = sluice_collective_name(io, write, publish(g, mine, &io->counts, why), why);
    error = sluice_agree(g, error, why, NULL, 0);
    if (!error && g->nnodes > 1) error = between_nodes(g, io, write, why);
    if (error) return error;
    error = sluice_collective_name(io, write, open_all(g, request, why), why);
    /* Until all have read, no letter may change. */
    return sluice_agree(g, error, why, NULL, 0);
}
