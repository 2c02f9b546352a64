/* random.c: see random.h. The generator is splitmix64. */
#include "support/random.h"
#include "support/oracle.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t splitmix(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void chance_seed(chance *c, uint64_t seed) {
    c->state = splitmix(&seed); /* so that streams of neighbouring seeds do not overlap */
    c->replay = false;
    c->n = c->at = 0;
}

void chance_free(chance *c) {
    free(c->draw);
    *c = (chance){0};
}

static void remember(chance *c, int64_t value) {
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 256;
        c->draw = test_resize(c->draw, (size_t)c->cap * sizeof *c->draw);
    }
    c->draw[c->n++] = value;
}

int64_t chance_draw(chance *c, int64_t lo, int64_t hi) {
    uint64_t width = (uint64_t)hi - (uint64_t)lo;
    uint64_t value;
    if (c->replay) {
        value = c->at < c->n ? (uint64_t)c->draw[c->at++] : 0;
        if (value > width) value = width;
    } else {
        value = splitmix(&c->state);
        if (width < INT64_MAX)
            value %= width + 1;
        else
            value &= INT64_MAX;
        remember(c, (int64_t)value);
    }
    return (int64_t)((uint64_t)lo + value);
}

int64_t chance_low(chance *c, int64_t lo, int64_t hi) { return chance_draw(c, lo, chance_draw(c, lo, hi)); }

bool chance_once_in(chance *c, int64_t odds) { return chance_draw(c, 0, odds - 1) == odds - 1; }

/* Plays `trial` of n draws to fails(); if it is true, c takes the list over. */
static bool try(chance *c, const int64_t *trial, int n, bool (*fails)(chance *, void *), void *arg) {
    chance t = {.replay = true, .n = n};
    t.draw = test_resize(NULL, ((size_t)n + 1) * sizeof *t.draw);
    memcpy(t.draw, trial, (size_t)n * sizeof *t.draw);
    bool failed = fails(&t, arg);
    if (failed) {
        memcpy(c->draw, trial, (size_t)n * sizeof *c->draw);
        c->n = t.at < n ? t.at : n; /* what was not drawn is not needed */
    }
    free(t.draw);
    return failed;
}

int chance_shrink(chance *c, bool (*fails)(chance *, void *), void *arg) {
    int tries = 0;
    bool progress = true;
    int64_t *trial = test_resize(NULL, ((size_t)c->n + 1) * sizeof *trial);
    while (progress && tries < 20000) {
        progress = false;
        for (int width = c->n / 2; width > 0; width /= 2) { /* leave out parts */
            for (int at = 0; at + width <= c->n;) {
                memcpy(trial, c->draw, (size_t)at * sizeof *trial);
                memcpy(trial + at, c->draw + at + width, (size_t)(c->n - at - width) * sizeof *trial);
                tries++;
                if (try(c, trial, c->n - width, fails, arg))
                    progress = true;
                else
                    at += width;
            }
        }
        for (int at = 0; at < c->n; at++) { /* lower single draws: to 0, then by ever smaller steps */
            for (int64_t by = c->draw[at]; by > 0; by /= 2) {
                while (at < c->n && c->draw[at] >= by) {
                    memcpy(trial, c->draw, (size_t)c->n * sizeof *trial);
                    trial[at] -= by;
                    tries++;
                    if (!try(c, trial, c->n, fails, arg)) break;
                    progress = true;
                }
            }
        }
    }
    free(trial);
    c->replay = true;
    c->at = 0;
    return tries;
}

uint64_t chance_default_seed(const char *name) {
    const char *text = getenv(name);
    if (text) return strtoull(text, NULL, 0);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec;
    return splitmix(&seed) >> 32;
}

/* One family in [0, extent), perhaps in the gaps of its elder sibling. */
static sluice_falls sprout(chance *c, int64_t extent, int depth, const sluice_falls *elder) {
    sluice_falls f = {.n = 1};
    if (elder && elder->n > 1 && elder->step > elder->len && chance_once_in(c, 2)) {
        int64_t gap = elder->step - elder->len, in = chance_draw(c, 0, gap - 1);
        f.off = elder->off + elder->len + in;
        f.len = chance_draw(c, 1, gap - in);
        f.step = elder->step;
        f.n = elder->n - chance_low(c, 0, elder->n - 1);
        return f;
    }
    bool large = depth > 1 && chance_once_in(c, 2); /* blocks with room for an inner list */
    f.off = chance_low(c, 0, large ? extent / 8 : extent - 1);
    int64_t room = extent - f.off;
    if (large && room > 8) {
        f.n = chance_draw(c, 1, 4);
        f.step = room / f.n - chance_low(c, 0, room / f.n / 2);
        f.len = f.step - chance_low(c, 0, f.step / 2);
        return f;
    }
    f.n = chance_draw(c, 1, chance_once_in(c, 4) || room < 6 ? room : 6);
    if (f.n == 1) {
        f.len = chance_draw(c, 1, room);
        f.step = chance_draw(c, 0, 40); /* one block: any step will do */
        return f;
    }
    f.step = chance_draw(c, 1, (room - 1) / (f.n - 1));
    f.len = room - (f.n - 1) * f.step;
    f.len = chance_draw(c, 1, f.len < f.step ? f.len : f.step);
    return f;
}

const sluice_falls_list *grove_grow(grove *g, chance *c, int64_t extent, int depth) {
    sluice_falls local[4];
    int n = 0, wanted = (int)chance_draw(c, 1, 4);
    oracle taken;
    oracle_init(&taken, extent);
    for (int tries = 0; tries < 3 * wanted && n < wanted; tries++) {
        sluice_falls f = sprout(c, extent, depth, n ? &local[n - 1] : NULL);
        oracle mark;
        oracle_init(&mark, extent);
        bool fits = oracle_list(&mark, &(sluice_falls_list){1, &f});
        for (int64_t x = 0; fits && x < extent; x++) fits = !(mark.in[x] && taken.in[x]);
        if (fits) {
            for (int64_t x = 0; x < extent; x++) taken.in[x] |= mark.in[x];
            if (depth > 1 && f.len > 1 && g->nlists < GROVE_LISTS - 8 && g->nfalls < GROVE_FALLS - 32) {
                if (chance_once_in(c, 2))
                    f.inner = grove_grow(g, c, f.len, depth - 1);
                else if (chance_once_in(c, 40)) {
                    g->list[g->nlists] = (sluice_falls_list){0, NULL};
                    f.inner = &g->list[g->nlists++];
                    g->hollow = true;
                }
            }
            local[n++] = f;
        }
        oracle_free(&mark);
    }
    oracle_free(&taken);
    sluice_falls *falls = g->falls + g->nfalls;
    memcpy(falls, local, (size_t)n * sizeof *falls);
    g->nfalls += n;
    sluice_falls_list *list = &g->list[g->nlists++];
    *list = (sluice_falls_list){n, falls};
    return list;
}

static size_t write_list(const sluice_falls_list *list, char *buf, size_t cap, size_t at) {
    for (int i = 0; i < list->n && at < cap; i++) {
        const sluice_falls *f = &list->falls[i];
        at += (size_t)snprintf(buf + at, cap - at, "%s(%lld,%lld,%lld,%lld", i ? "," : "{", (long long)f->off,
                               (long long)(f->off + f->len - 1), (long long)f->step, (long long)f->n);
        if (at < cap && f->inner) {
            at += (size_t)snprintf(buf + at, cap - at, ",");
            if (at < cap) at = write_list(f->inner, buf, cap, at);
        }
        if (at < cap) at += (size_t)snprintf(buf + at, cap - at, ")");
    }
    if (at < cap) at += (size_t)snprintf(buf + at, cap - at, list->n ? "}" : "{}");
    return at;
}

const char *grove_text(const sluice_falls_list *list, char *buf, size_t cap) {
    write_list(list, buf, cap, 0);
    return buf;
}
