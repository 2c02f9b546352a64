/* vcase_two_phase.c: vectors about the extended two-phase method, checked through the code that collective calls plan
 * with: domains, what each aggregator is wanted for and by whom, holes, messages, and who wins where several write. */
#include "io/predict.h"
#include "support/vcase.h"
#include <string.h>

enum { ELEM = 8, HEADER = 24 }; /* the vectors count elements; any size and place must do */

typedef struct method {
    sluice_shape shape;
    sluice_plan_facts facts;
    sluice_plan plan;
    sluice_set *request;
    size_t nrequests;
} method;

static int64_t index_of(const sluice_shape *s, int64_t element, int dim) {
    for (int k = 0; k < s->ndims; k++) {
        int d = s->order == SLUICE_ROW_MAJOR ? s->ndims - 1 - k : k;
        if (d == dim) return element % s->dim[d];
        element /= s->dim[d];
    }
    return -1;
}

/* ---- Reading a case ---- */

static sluice_division division_of(vcase *c) {
    const char *mode = vcase_text(c, c->json, "mode");
    if (!strcmp(mode, "static")) return SLUICE_DIVIDE_STATIC;
    if (!strcmp(mode, "dynamic")) return SLUICE_DIVIDE_DYNAMIC;
    if (!strcmp(mode, "blockcyclic")) return SLUICE_DIVIDE_CYCLIC;
    vcase_fail(c, "malformed: mode is none of static, dynamic, blockcyclic");
    return SLUICE_DIVIDE_AUTO;
}

static void read_section(vcase *c, sluice_set *out, const sluice_shape *shape, const json_t *section,
                         const char *name) {
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_reason why = {0};
    vcase_ranges(c, range, section, shape->ndims, vcase_int(c, c->json, "base"), name);
    if (!c->failed) vcase_ok(c, sluice_set_section(out, shape, range, &why), &why, name);
}

/* Ranks without a request want nothing; only the first io_procs have a domain. Each is its own node. */
static void read_method(vcase *c, method *m, bool write) {
    int64_t procs = vcase_int(c, c->json, "io_procs"), slabs;
    const json_t *requests = vcase_array(c, c->json, "requests");
    m->nrequests = json_array_size(requests);
    m->shape = vcase_shape(c, "shape", ELEM, HEADER);
    if (procs < 1 || procs > INT32_MAX || m->nrequests > INT32_MAX) vcase_fail(c, "malformed: io_procs");
    if (c->failed) return;
    size_t size = m->nrequests > (size_t)procs ? m->nrequests : (size_t)procs;
    int *node = vcase_alloc(c, size, sizeof *node);
    m->request = vcase_alloc(c, size, sizeof *m->request);
    if (c->failed) return;
    int64_t slab = vcase_slab(c, &m->shape, &slabs);
    m->facts = (sluice_plan_facts){.write = write,
                                   .size = (int)size,
                                   .nnodes = (int)size,
                                   .node_of = node,
                                   .cores = 1,
                                   .memory = 1 << 30,
                                   .gap = INT64_MAX,
                                   .origin = HEADER,
                                   .end = HEADER + slabs * slab,
                                   .slab = slab};
    m->facts.together.division = division_of(c);
    m->facts.together.aggregators = (int)procs;
    m->facts.together.block = vcase_int(c, c->json, "k");
    for (size_t r = 0; r < size; r++) {
        node[r] = (int)r;
        sluice_set *s = vcase_set(c);
        if (r < m->nrequests) read_section(c, s, &m->shape, vcase_array_at(c, requests, r, "requests"), "requests");
        m->request[r] = *s; /* the case owns what it holds */
    }
}

/* ---- Checking it ---- */

/* The slabs of intervals [[first,last],...], 0-based and inclusive, each cut at the ends of the requests. */
static bool interval(vcase *c, const method *m, const json_t *intervals, size_t i, sluice_stretch *t) {
    const int64_t *v = vcase_ints(c, vcase_array_at(c, intervals, i, "domains"), 2, NULL, "domains");
    if (c->failed) return false;
    t->lo = sluice_max(HEADER + v[0] * m->facts.slab, m->plan.lo);
    t->hi = sluice_min(HEADER + (v[1] + 1) * m->facts.slab, m->plan.hi);
    return t->lo < t->hi;
}

static void same_domain(vcase *c, const method *m, const json_t *intervals, int p) {
    sluice_set *all = vcase_set(c), *one = vcase_set(c);
    sluice_stretch t;
    for (size_t i = 0; i < json_array_size(intervals); i++)
        if (interval(c, m, intervals, i, &t)) {
            vcase_ok(c, sluice_set_block(one, t.lo, t.hi - t.lo), NULL, "domains");
            vcase_ok(c, sluice_set_union(all, all, one), NULL, "domains");
        }
    vcase_same(c, 1, sluice_set_equal(all, &m->plan.aggregator[p].domain), "domains[%d]", p);
    vcase_same(c, p, m->plan.aggregator[p].rank, "rank of domain %d", p);
}

/* What each process wants of the domain: as sections, and how many elements. */
static void same_requests(vcase *c, const method *m, const json_t *fdat, const json_t *row, int p) {
    vcase_same(c, (int64_t)json_array_size(row), (int64_t)m->nrequests, "length of matrix[%d]", p);
    for (size_t q = 0; q < m->nrequests && !c->failed; q++) {
        sluice_set *want = vcase_set(c), *all = vcase_set(c), *one = vcase_set(c);
        vcase_ok(c, sluice_set_intersect(want, &m->request[q], &m->plan.aggregator[p].domain), NULL, "fdat");
        vcase_same(c, vcase_at(c, row, q, "matrix"), want->size / ELEM, "matrix[%d][%zu]", p, q);
        for (size_t i = 0; i < json_array_size(fdat) && !c->failed; i++) {
            const json_t *entry = vcase_array_at(c, fdat, i, "fdat");
            int64_t requester = vcase_at(c, entry, 0, "fdat");
            if (requester < 0 || requester >= (int64_t)m->nrequests) vcase_fail(c, "malformed: a requester of fdat");
            if (requester != (int64_t)q) continue;
            read_section(c, one, &m->shape, vcase_array_at(c, entry, 1, "fdat"), "fdat");
            if (!one->size) vcase_fail(c, "fdat[%d][%zu]: nothing is listed", p, i);
            vcase_ok(c, sluice_set_union(all, all, one), NULL, "fdat");
        }
        vcase_same(c, 1, sluice_set_equal(all, want), "fdat[%d] of %zu", p, q);
    }
}

/* The smallest section that holds all that is wanted: null, or [min,max] per dimension. */
static void same_smallest(vcase *c, const method *m, const json_t *smallest, const sluice_set *wanted, int p) {
    if (!wanted->size) {
        if (!json_is_null(smallest)) vcase_fail(c, "smallest[%d]: expected null for nothing", p);
        return;
    }
    vcase_same(c, (int64_t)json_array_size(smallest), m->shape.ndims, "length of smallest[%d]", p);
    for (int d = 0; d < m->shape.ndims && !c->failed; d++) {
        int64_t least = INT64_MAX, most = -1;
        for (int64_t k = 0; k < wanted->size; k += ELEM) {
            int64_t i = index_of(&m->shape, (sluice_set_select(wanted, k) - HEADER) / ELEM, d);
            least = sluice_min(least, i);
            most = sluice_max(most, i);
        }
        const int64_t *v = vcase_ints(c, vcase_array_at(c, smallest, (size_t)d, "smallest"), 2, NULL, "smallest");
        if (c->failed) return;
        vcase_same(c, v[0], least + 1, "smallest[%d][%d] lower", p, d);
        vcase_same(c, v[1], most + 1, "smallest[%d][%d] upper", p, d);
    }
}

/* Whether something is wanted of a range; *holes: but not all from the first to the last. */
static bool useful(const sluice_set *wanted, const sluice_stretch *t, bool *holes) {
    int64_t lo = sluice_set_next(wanted, t->lo), hi = sluice_set_prev(wanted, t->hi - 1) + 1;
    if (lo < 0 || lo >= hi) return false;
    *holes = sluice_set_rank(wanted, hi) - sluice_set_rank(wanted, lo) < hi - lo;
    return true;
}

static void same_holes(vcase *c, const method *m, const json_t *intervals, const sluice_set *wanted, int p) {
    int64_t slabs = 0, with_holes = 0;
    bool any = false, holes;
    sluice_stretch t;
    for (size_t i = 0; i < json_array_size(intervals) && !c->failed; i++) {
        if (!interval(c, m, intervals, i, &t)) continue;
        if (useful(wanted, &t, &holes)) any |= holes;
        for (int64_t at = HEADER; at < t.hi; at += m->facts.slab) {
            sluice_stretch slab = {sluice_max(at, t.lo), sluice_min(at + m->facts.slab, t.hi), 0};
            if (slab.lo >= slab.hi || !useful(wanted, &slab, &holes)) continue;
            slabs++;
            with_holes += holes;
        }
    }
    const json_t *expected = json_array_get(vcase_array(c, c->json, "holes"), (size_t)p);
    if (!json_is_boolean(expected)) vcase_fail(c, "malformed: holes[%d]", p);
    vcase_same(c, json_is_true(expected), any, "holes[%d]", p);
    vcase_same(c, vcase_at(c, vcase_array(c, c->json, "useful_slabs"), (size_t)p, "useful_slabs"), slabs,
               "useful_slabs[%d]", p);
    vcase_same(c, vcase_at(c, vcase_array(c, c->json, "slabs_with_holes"), (size_t)p, "slabs_with_holes"), with_holes,
               "slabs_with_holes[%d]", p);
}

/* The elements that rank r has in the file in the end, and where they lie among what it writes. */
static void find_winner(vcase *c, const method *m, int r, int64_t *winner, int64_t *packed) {
    sluice_set *lost = vcase_set(c), *rest = vcase_set(c), *kept = vcase_set(c);
    sluice_reason why = {0};
    sluice_pair pair;
    sluice_piece piece;
    vcase_ok(c, sluice_conflict_lost(lost, m->request, m->facts.size, r, false, &why), &why, "sluice_conflict_lost");
    int err = sluice_conflict_lost(rest, m->request, m->facts.size, r, true, &why);
    vcase_same(c, lost->size ? SLUICE_E_SHARED : 0, err, "refusal of what rank %d writes", r);
    vcase_ok(c, sluice_set_copy(rest, &m->request[r]), NULL, "sluice_set_copy");
    vcase_ok(c, sluice_conflict_leave_out(rest, kept, 1, lost), NULL, "sluice_conflict_leave_out");
    for (sluice_pair_init(&pair, rest, kept); !c->failed && sluice_pair_next(&pair, &piece);)
        for (int64_t b = 0; b < piece.len && !c->failed; b += ELEM) {
            int64_t e = (piece.a + b - HEADER) / ELEM;
            if (winner[e] >= 0) vcase_fail(c, "element %lld is written twice", (long long)e);
            winner[e] = r;
            packed[e] = (piece.b + b) / ELEM;
        }
}

static void same_winner(vcase *c, const method *m) {
    size_t n = (size_t)((m->facts.end - HEADER) / ELEM);
    int64_t *winner = vcase_alloc(c, n + 1, sizeof *winner), *packed = vcase_alloc(c, n + 1, sizeof *packed);
    if (c->failed) return;
    memset(winner, -1, n * sizeof *winner);
    memset(packed, -1, n * sizeof *packed);
    for (int r = 0; r < m->facts.size; r++) find_winner(c, m, r, winner, packed);
    vcase_same_ints(c, vcase_array(c, c->json, "winner"), winner, n, "winner");
    vcase_same_ints(c, vcase_array(c, c->json, "winner_packed_index"), packed, n, "winner_packed_index");
}

/* With all of a domain in one window, a message goes to every process that wants something of another's domain. */
static void same_messages(vcase *c, const method *m, const json_t *matrix) {
    sluice_prediction *out = vcase_alloc(c, (size_t)m->facts.size, sizeof *out);
    int64_t messages = 0, bytes = 0, sent = 0, sent_bytes = 0;
    if (c->failed ||
        !vcase_ok(c, sluice_predict_two_phase(out, &m->plan, &m->facts, m->request), NULL, "sluice_predict_two_phase"))
        return;
    for (size_t p = 0; p < json_array_size(matrix); p++)
        for (size_t q = 0; q < m->nrequests; q++) {
            int64_t n = p == q ? 0 : vcase_at(c, json_array_get(matrix, p), q, "matrix");
            messages += n > 0;
            bytes += n * ELEM;
        }
    for (int r = 0; r < m->facts.size; r++) {
        sent += out[r].counts.messages;
        sent_bytes += out[r].counts.message_bytes;
    }
    vcase_same(c, messages, sent, "messages");
    vcase_same(c, bytes, sent_bytes, "bytes of messages");
}

void vcase_two_phase(vcase *c) {
    method m = {0};
    sluice_reason why = {0};
    const json_t *domains = vcase_array(c, c->json, "domains"), *fdat = vcase_array(c, c->json, "fdat");
    const json_t *smallest = vcase_array(c, c->json, "smallest"), *matrix = vcase_array(c, c->json, "matrix");
    read_method(c, &m, false);
    if (c->failed || !vcase_ok(c, sluice_plan_make(&m.plan, &m.facts, m.request, &why), &why, "sluice_plan_make"))
        return;
    const json_t *lists[] = {domains, fdat, smallest, matrix};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        vcase_same(c, (int64_t)json_array_size(lists[i]), m.plan.n, "length of list %zu", i);
    for (int p = 0; p < m.plan.n && !c->failed; p++) {
        const json_t *intervals = vcase_array_at(c, domains, (size_t)p, "domains");
        sluice_share share = {0};
        same_domain(c, &m, intervals, p);
        same_requests(c, &m, vcase_array_at(c, fdat, (size_t)p, "fdat"), vcase_array_at(c, matrix, (size_t)p, "matrix"),
                      p);
        if (!vcase_ok(c, sluice_share_make(&share, &m.plan, &m.facts, m.request, p), NULL, "sluice_share_make")) break;
        same_smallest(c, &m, json_array_get(smallest, (size_t)p), &share.wanted, p);
        same_holes(c, &m, intervals, &share.wanted, p);
        sluice_share_free(&share);
    }
    if (!c->failed) same_messages(c, &m, matrix);
    if (!c->failed) same_winner(c, &m);
    sluice_plan_free(&m.plan);
}
