/* messages.c: between nodes. The leader of a node sends what another node wants out of the windows on its own, packed,
 * one message per round from node to node; for writes it goes the other way.
 *
 *     served    what other nodes want of the windows here        destination by destination, window by window
 *     foreign   what this node wants of the windows elsewhere    source by source, window by window
 *
 * Both sides know the sets, so that no message has a header and none is empty.
 */
#include "io/collective.h"

unsigned char *sluice_messages_window(const sluice_collective *c, int a, int64_t k) {
    const sluice_pattern *p = c->pattern;
    return sluice_group_area(c->group, p->local_of[a], SLUICE_AREA_DATA) + k % 2 * p->plan.window;
}

unsigned char *sluice_messages_foreign(const sluice_collective *c) {
    return sluice_group_area(c->group, 0, SLUICE_AREA_DATA) + 2 * c->pattern->plan.window;
}

static unsigned char *served_area(const sluice_collective *c) {
    return sluice_messages_foreign(c) + c->pattern->plan.foreign;
}

/* Moves what `node` wants of window k of an aggregator between the window and a packed place, or with no such place
 * only counts it. */
static int64_t pack(const sluice_collective *c, int node, int a, int64_t k, unsigned char *packed, bool unpack) {
    const sluice_plan *plan = &c->pattern->plan;
    const sluice_set *want = &plan->node[node];
    int64_t at = 0;
    sluice_stretches s;
    sluice_stretch t;
    for (sluice_stretches_first(&s, plan, a, k); sluice_stretches_next(&s, &t);) {
        int64_t from = sluice_set_rank(want, t.lo), n = sluice_set_rank(want, t.hi) - from;
        if (n && packed) {
            sluice_side shaped = {sluice_messages_window(c, a, k) + t.at, want, t.lo, from};
            sluice_side line = {packed + at, NULL, 0, 0};
            sluice_move(unpack ? &shaped : &line, unpack ? &line : &shaped, n);
        }
        at += n;
    }
    return at;
}

/* All windows of `of` that `node` wants something of. */
static int64_t pack_node(const sluice_collective *c, int node, int of, int64_t k, unsigned char *packed, bool unpack) {
    const sluice_plan *plan = &c->pattern->plan;
    int64_t at = 0;
    for (int i = plan->first[of]; i < plan->first[of + 1]; i++)
        at += pack(c, node, plan->by_node[i], k, packed ? packed + at : NULL, unpack);
    return at;
}

/* Bytes per node, and where they lie in their area. */
typedef struct ledger {
    int *count, *at;
    unsigned char *area;
} ledger;

static void carry(const sluice_group *g, sluice_exchange way, const ledger *out, const ledger *in) {
    if (way == SLUICE_EXCHANGE_ALLTOALL) {
        MPI_Alltoallv(out->area, out->count, out->at, MPI_BYTE, in->area, in->count, in->at, MPI_BYTE, g->leaders);
        return;
    }
    int n = 0;
    for (int i = 0; i < g->nnodes; i++)
        if (in->count[i]) MPI_Irecv(in->area + in->at[i], in->count[i], MPI_BYTE, i, 0, g->leaders, &g->pending[n++]);
    for (int i = 0; i < g->nnodes; i++)
        if (out->count[i])
            MPI_Isend(out->area + out->at[i], out->count[i], MPI_BYTE, i, 0, g->leaders, &g->pending[n++]);
    for (int i = 0; i < n; i++) MPI_Wait(&g->pending[i], MPI_STATUS_IGNORE);
}

void sluice_messages_exchange(sluice_collective *c, sluice_counts *counts, int64_t k) {
    const sluice_group *g = c->group;
    bool write = c->pattern->write;
    int n = g->nnodes;
    ledger served = {g->count, g->count + n, served_area(c)},
           foreign = {g->count + 2 * n, g->count + 3 * n, sluice_messages_foreign(c)};
    int64_t to = 0, from = 0;
    for (int i = 0; i < n; i++) {
        bool other = i != g->node;
        served.at[i] = (int)to;
        foreign.at[i] = (int)from;
        served.count[i] = other ? (int)pack_node(c, i, g->node, k, write ? NULL : served.area + to, false) : 0;
        foreign.count[i] = other ? (int)pack_node(c, g->node, i, k, NULL, false) : 0;
        to += served.count[i];
        from += foreign.count[i];
    }
    const ledger *out = write ? &foreign : &served, *in = write ? &served : &foreign;
    carry(g, c->together.exchange, out, in);
    for (int i = 0; i < n; i++) {
        counts->messages += out->count[i] > 0;
        counts->message_bytes += out->count[i];
        if (write && served.count[i]) pack_node(c, i, g->node, k, served.area + served.at[i], true);
    }
}
