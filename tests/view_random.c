/* ranks: 1 */
/* view_random.c: random views of random parallel files, read and written by every method and store, against a plain
 * copy of the logical file: a table says for each of its bytes who owns it and whether it is in the view. Draws can be
 * shrunk; the seed is printed. */
#include "base/base.h"
#include "sluice_view.h"
#include "support/random.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES = 1500, SUBFILES = 5, VIEWS = 3, ACCESSES = 6, PERIOD = 90 };
static char folder[] = "view_random.XXXXXX";

typedef struct verdict {
    char text[300];
} verdict;

/* A set of [0, period) as a table, and the same as the library has it. */
typedef struct table {
    bool in[PERIOD];
    sluice_set set;
} table;

static bool build(table *t, int64_t period) {
    sluice_run run[PERIOD];
    int64_t n = 0;
    for (int64_t x = 0; x < period; x++)
        if (t->in[x]) run[n++] = (sluice_run){x, 1};
    return !sluice_set_runs(&t->set, run, n, NULL);
}

/* Who owns each byte of the period: dealt in blocks, by lot, or all to one. */
static void deal(chance *c, int *owner, int64_t period, int n) {
    int kind = (int)chance_draw(c, 0, 2);
    int64_t block = chance_low(c, 1, 12);
    for (int64_t x = 0; x < period; x++)
        owner[x] = kind == 0 ? (int)(x / block % n) : kind == 1 ? (int)chance_draw(c, 0, n - 1) : n - 1;
}

typedef struct logical {
    unsigned char byte[FILE_BYTES];
} logical;

/* Offsets of the file that view byte 0, 1, ... is. */
static int64_t list_view(const bool *in, int64_t period, int64_t disp, int64_t *x_of) {
    int64_t n = 0;
    for (int64_t x = disp; x < FILE_BYTES; x++)
        if (in[(x - disp) % period]) x_of[n++] = x;
    return n;
}

/* One access of a view beside the same in the table. */
static bool visit(chance *c, sluice_view *v, const int64_t *x_of, int64_t n, int64_t first, logical *l, verdict *why) {
    unsigned char buf[FILE_BYTES + 16], expect[FILE_BYTES + 16];
    bool write = chance_once_in(c, 2);
    int64_t off = chance_draw(c, 0, n - 1), len = chance_draw(c, 0, n - off);
    memset(buf, 0xA5, sizeof buf);
    for (int64_t k = 0; k < len && write; k++) buf[k] = (unsigned char)chance_draw(c, 0, 255);
    memcpy(expect, buf, sizeof buf);
    int error = write ? sluice_view_write(v, off, len, buf) : sluice_view_read(v, off, len, buf);
    bool refused = len > 0 && x_of[off] < first;
    if (error != (refused ? SLUICE_E_ARGUMENT : 0)) {
        snprintf(why->text, sizeof why->text, "%lld bytes from %lld: %s", (long long)len, (long long)off,
                 error ? sluice_errmsg() : "not refused");
        return false;
    }
    for (int64_t k = 0; k < len && !refused; k++) {
        if (write)
            l->byte[x_of[off + k]] = buf[k];
        else
            expect[k] = l->byte[x_of[off + k]];
    }
    snprintf(why->text, sizeof why->text, "%s of %lld bytes from %lld", write ? "write" : "read", (long long)len,
             (long long)off);
    return !memcmp(buf, expect, sizeof buf);
}

/* The subfiles hold the file's bytes, in order. */
static bool laid(const char *const *path, int n, const int *owner, int64_t period, int64_t disp, const logical *l) {
    bool good = true;
    for (int i = 0; i < n; i++) {
        FILE *f = fopen(path[i], "rb");
        int last = EOF;
        if (!f) return false;
        for (int64_t x = disp; x < FILE_BYTES; x++) {
            if (owner[(x - disp) % period] != i) continue;
            last = fgetc(f);
            good &= (last == EOF ? 0 : last) == l->byte[x]; /* past its end there are zeros */
        }
        good &= fgetc(f) == EOF;
        fclose(f);
    }
    return good;
}

static bool run(chance *c, verdict *v) {
    static logical l;
    static int64_t x_of[VIEWS][FILE_BYTES];
    int owner[PERIOD], n = (int)chance_low(c, 1, SUBFILES), nviews = (int)chance_low(c, 1, VIEWS);
    int64_t period = chance_low(c, 1, PERIOD), disp = chance_once_in(c, 2) ? chance_low(c, 0, 60) : 0;
    table sub[SUBFILES], seen[VIEWS];
    sluice_set set[SUBFILES];
    char name[SUBFILES][64];
    const char *path[SUBFILES];
    sluice_options o = {.size = sizeof o};
    o.method = (sluice_method)chance_draw(c, SLUICE_AUTO, SLUICE_MAPPED);
    o.store = (sluice_store_kind)chance_draw(c, SLUICE_STORE_AUTO, SLUICE_STORE_POSIX);
    o.memory = chance_once_in(c, 2) ? SUBFILES * 4096 : 0;
    o.exclusive = chance_once_in(c, 2);
    o.no_map = chance_once_in(c, 4);
    memset(&l, 0, sizeof l);
    memset(sub, 0, sizeof sub);
    memset(seen, 0, sizeof seen);
    deal(c, owner, period, n);
    for (int64_t x = 0; x < period; x++) sub[owner[x]].in[x] = true;
    bool good = true;
    for (int i = 0; i < n; i++) {
        good = build(&sub[i], period) && good;
        set[i] = sub[i].set;
        snprintf(name[i], sizeof name[i], "%s/%d", folder, i);
        path[i] = name[i];
    }
    sluice_partition p = {n, set, period, disp};
    sluice_file *f = NULL;
    snprintf(v->text, sizeof v->text, "create");
    good = good && !sluice_file_create(&f, &p, path, &o);
    sluice_view *view[VIEWS] = {NULL};
    int64_t len[VIEWS];
    for (int k = 0; k < nviews && good; k++) {
        int64_t t = chance_once_in(c, 3) ? period : chance_low(c, 1, PERIOD), d = chance_once_in(c, 2) ? disp : 0;
        int64_t keep = chance_low(c, 1, 4), like = chance_draw(c, 0, n - 1);
        bool copy = t == period && chance_once_in(c, 2);
        for (int64_t x = 0; x < t; x++) seen[k].in[x] = copy ? sub[like].in[x] : chance_draw(c, 0, keep) == 0;
        if (!build(&seen[k], t)) good = false;
        int error = sluice_view_set(&view[k], f, &(sluice_element){&seen[k].set, t, d});
        len[k] = list_view(seen[k].in, t, d, x_of[k]);
        if (error != (seen[k].set.size ? 0 : SLUICE_E_EMPTY)) good = false;
    }
    for (int k = 0; k < ACCESSES && good; k++) {
        int which = (int)chance_draw(c, 0, nviews - 1);
        if (view[which] && len[which]) good = visit(c, view[which], x_of[which], len[which], disp, &l, v);
    }
    for (int k = 0; k < nviews; k++) sluice_view_free(view[k]), sluice_set_free(&seen[k].set);
    good = !sluice_file_close(f) && good;
    if (good) {
        snprintf(v->text, sizeof v->text, "content of the subfiles");
        good = laid(path, n, owner, period, disp, &l);
    }
    for (int i = 0; i < n; i++) unlink(path[i]), sluice_set_free(&sub[i].set);
    return good && sluice_mem_live() == 0;
}

static bool fails(chance *c, void *arg) { return !run(c, arg); }

int main(void) {
    if (!mkdtemp(folder)) return 1;
    uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    const char *env = getenv("SLUICE_TEST_CASES");
    int64_t cases = env ? atoll(env) / 20 : 4000;
    printf("seed %llu, %lld cases\n", (unsigned long long)seed, (long long)cases);
    chance c = {0};
    verdict v;
    int failed = 0;
    for (int64_t i = 0; i < cases && !failed; i++) {
        chance_seed(&c, seed + (uint64_t)i);
        if (run(&c, &v)) continue;
        printf("case %lld fails (%s); shrinking\n", (long long)i, v.text);
        chance_shrink(&c, fails, &v);
        fails(&c, &v);
        printf("smallest: %s\n", v.text);
        for (int k = 0; k < c.n; k++) printf("%lld ", (long long)c.draw[k]);
        printf("\n");
        failed = 1;
    }
    chance_free(&c);
    rmdir(folder);
    return failed;
}
