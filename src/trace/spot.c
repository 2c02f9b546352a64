/* spot.c: a place in a tree of loops, and the way from each access to the next. */
#include "trace/trace.h"

void sluice_spot_enter(sluice_spot *s, const sluice_trace_node *tree, int64_t at) {
    for (; tree[at].span > 1; at++) {
        s->level[s->depth].node = at;
        s->level[s->depth++].i = 0;
    }
    s->at = at;
}

bool sluice_spot_step(sluice_spot *s, const sluice_trace_node *tree, int64_t n, bool endless) {
    int64_t at = s->at + 1;
    while (s->depth > 0) {
        const int64_t loop = s->level[s->depth - 1].node;
        if (at < loop + tree[loop].span) break;
        if (++s->level[s->depth - 1].i < tree[loop].n || (endless && s->depth == 1)) {
            at = loop + 1;
            break;
        }
        s->depth--;
    }
    if (at >= n) return false;
    sluice_spot_enter(s, tree, at);
    return true;
}

int64_t sluice_spot_off(const sluice_spot *s, const sluice_trace_node *tree) {
    const sluice_trace_node *access = &tree[s->at];
    int64_t off = access->off;
    for (int d = 0; d < s->depth; d++) off += s->level[d].i * access->shift[s->depth - 1 - d];
    return off;
}
