/* ranks: 1 */
/* placed.c: layouts by plan as manifests say them: written and read back; hostile ones, which are refused with the
 * reason; every allocation fails once; random damage does no harm; and a request that meets few of very many groups
 * meets just those. */
#include "placed_oracle.h"
#include "support/unit.h"
#include <errno.h>

static char *text;
static int64_t len;

static void make_text(const placed_case *p) {
    sluice_places places;
    sluice_manifest *m = NULL;
    sluice_reason why = {0};
    const sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 1, 0, {p->length}}, .type = "uint8"};
    CHECK(placed_places(p, &places));
    CHECK(!sluice_manifest_place(&m, &d, &places, "fast,.", &why), "%s", why.text);
    CHECK(m && !sluice_manifest_format(m, &text, &len, &why), "%s", why.text);
    sluice_manifest_free(m);
}

/* What was written is read back as the same; where each byte belongs is what the oracle says. */
static void round_trip(uint64_t seed) {
    for (int i = 0; i < 60; i++) {
        static placed_case p;
        chance c = {0};
        sluice_manifest *m = NULL;
        sluice_reason why = {0};
        char *again = NULL;
        int64_t n = 0;
        chance_seed(&c, seed + (uint64_t)i);
        placed_draw(&p, &c, chance_draw(&c, 0, 900));
        make_text(&p);
        CHECK(!sluice_manifest_parse(&m, text, len, &why), "seed %llu, %d: %s", (unsigned long long)seed, i, why.text);
        CHECK(m && !sluice_manifest_format(m, &again, &n, &why) && n == len && !memcmp(text, again, (size_t)n));
        for (int64_t x = 0; m && x < p.length; x++) {
            int subfile;
            int64_t at;
            CHECK(placed_find(&p, x, 0, &subfile, &at) && sluice_layout_owner(m->layout, x) == subfile);
        }
        sluice_mem_free(again);
        sluice_mem_free(text);
        sluice_manifest_free(m);
        chance_free(&c);
    }
}

/* ---- Hostile ---- */

/* The text with a word replaced by another, or with groups of its own. */
static void hostile(const char *from, const char *to, const char *say) {
    sluice_manifest *m = NULL;
    sluice_reason why = {.text = ""};
    const char *at = strstr(text, from);
    CHECK(at, "there is no %s", from);
    if (!at) return;
    const size_t before = (size_t)(at - text), size = (size_t)len + strlen(to) + 1;
    char *bad = malloc(size);
    snprintf(bad, size, "%.*s%s%s", (int)before, text, to, at + strlen(from));
    const int64_t live = sluice_mem_live();
    const int err = sluice_manifest_parse(&m, bad, (int64_t)strlen(bad), &why);
    CHECK(err < 0 && strstr(why.text, say) && !strncmp(why.text, "manifest: ", 10), "%s: %d, \"%s\", not \"%s\"", to,
          err, why.text, say);
    CHECK(sluice_mem_live() == live, "a leak");
    if (!err) sluice_manifest_free(m);
    free(bad);
}

static void hostiles(void) {
    text = NULL;
    static const char good[] =
        "{\"format\": \"sluice\", \"version\": 1, \"uuid\": \"0123456789abcdef0123456789abcdef\", \"generation\": 1,\n"
        "\"shape\": [100], \"order\": \"C\", \"type\": \"uint8\", \"byte_order\": \"none\", \"layout\": \"placed:2\",\n"
        "\"targets\": [\".\"], \"subfiles\": [{\"name\": \"1.0\", \"target\": \".\", \"size\": 15},\n"
        "{\"name\": \"1.1\", \"target\": \".\", \"size\": 8}, {\"name\": \"1.2\", \"target\": \".\", \"size\": 85}],\n"
        "\"requires\": [\"placed\"], \"groups\": [{\"bytes\": \"{(0,9,10,1)}\", \"subfiles\": [0], \"at\": [0]},\n"
        "{\"bytes\": \"20-24\", \"subfiles\": [0, 1], \"at\": [10, \"{(0,1,3,2),(7,7,1,1)}\"]}], \"rest\": 0}";
    sluice_manifest *m = NULL;
    sluice_reason why = {0};
    text = (char *)(uintptr_t)good;
    len = (int64_t)strlen(good);
    CHECK(!sluice_manifest_parse(&m, text, len, &why), "%s", why.text);
    sluice_manifest_free(m);
    hostile("\"placed\"]", "\"placed\", \"more\"]", "it requires \"more\"");
    hostile("\"placed\"]", "7]", "\"requires\" holds what is not a string");
    hostile("placed:2", "placed:02", "by `sluice partition`");
    hostile("placed:2", "placed:65536", "by `sluice partition`");
    hostile("placed:2", "placed:3", "\"subfiles\" has 3 entries, but the layout has 4");
    hostile("\"groups\": [", "\"groups\": 5, \"x\": [", "\"groups\" is not a list");
    hostile("{\"bytes\": \"20-24\"", "5, {\"bytes\": \"20-24\"", "group 1: not an object");
    hostile("20-24", "20-25", "group 1 has 6 bytes, but 5 in subfile 1");
    hostile("20-24", "5-9", "two groups have byte 5 of the array");
    hostile("20-24", "96-100", "goes up to byte 101 of 100");
    hostile("20-24", "", "\"bytes\"");
    hostile("20-24", "{}", "group 1");
    hostile("20-24", "(0,4,1,0)", "\"bytes\"");
    hostile("20-24", "(0,0,3,999999999999)", "group 1");
    hostile("[0, 1]", "[0, 2]", "a copy in subfile 2");
    hostile("[0, 1]", "[0, -1]", "\"subfiles\" holds what is not the number of one");
    hostile("[0, 1]", "[0, 3]", "a copy in subfile 3");
    hostile("[0, 1]", "[]", "\"subfiles\" has 0 entries");
    hostile("[0, 1]", "[0]", "\"at\" has 2 entries, \"subfiles\" 1");
    hostile("[10, ", "[9, ", "two groups have byte 9 of subfile 0");
    hostile("[10, ", "[9223372036854775807, ", "neither an offset nor a set");
    hostile("[10, ", "[9223372036854775800, ", "past 2^63-1");
    hostile("[10, ", "[-1, ", "neither an offset nor a set");
    hostile("[10, ", "[true, ", "neither an offset nor a set");
    hostile("[10, ", "[11, ", "subfile 0 has 15 bytes; the layout gives it 16");
    hostile("{(0,1,3,2),(7,7,1,1)}", "{(0,1,3,2)}", "group 1 has 5 bytes, but 4 in subfile 1");
    hostile("{(0,1,3,2),(7,7,1,1)}", "{(0,1,3,2),(1,1,1,1)}", "\"at\"");
    hostile("\"rest\": 0", "\"rest\": -1", "\"rest\" is -1");
    hostile("\"rest\": 0", "\"rest\": 1", "subfile 2 has 85 bytes; the layout gives it 86");
    hostile("\"rest\": 0", "\"rest\": 9223372036854775807", "does not fit");
    hostile(", \"rest\": 0", "", "\"rest\" is missing");
    hostile("\"shape\": [100]", "\"shape\": [24]", "goes up to byte 25 of 24");
    hostile("\"rest\": 0", "\"rest\": 0, \"header\": -1", "\"header\" is -1");
    hostile("\"rest\": 0", "\"rest\": 0, \"header\": 9223372036854775800", "manifest");
    hostile("\"size\": 8}", "\"size\": 9}", "subfile 1 has 9 bytes; the layout gives it 8");
}

/* Whatever is damaged, reading it comes to an end, and nothing leaks. */
static void damage(uint64_t seed) {
    static placed_case p;
    chance c = {0};
    chance_seed(&c, seed);
    placed_draw(&p, &c, 700);
    make_text(&p);
    for (int i = 0; i < 3000; i++) {
        sluice_manifest *m = NULL;
        char *bad = malloc((size_t)len);
        memcpy(bad, text, (size_t)len);
        for (int64_t k = chance_draw(&c, 1, 3); k > 0; k--)
            bad[chance_draw(&c, 0, len - 1)] = "0123456789,:[]{}()\"- x"[chance_draw(&c, 0, 21)];
        const int64_t live = sluice_mem_live(), n = chance_once_in(&c, 20) ? chance_draw(&c, 0, len) : len;
        if (!sluice_manifest_parse(&m, bad, n, NULL)) sluice_manifest_free(m);
        CHECK(sluice_mem_live() == live, "seed %llu, %d: a leak", (unsigned long long)seed, i);
        free(bad);
    }
    /* The n-th allocation fails. */
    for (int64_t n = 1, calls = 0; calls >= 0; n++) {
        sluice_manifest *m = NULL, *longer = NULL;
        const int64_t live = sluice_mem_live(), before = sluice_mem_calls();
        sluice_mem_fail_nth(n);
        int err = sluice_manifest_parse(&m, text, len, NULL);
        if (!err) err = sluice_manifest_resize(&longer, m, n % 900, NULL);
        const bool reached = sluice_mem_calls() - before >= n;
        sluice_mem_fail_nth(0);
        CHECK(err == (reached ? -ENOMEM : 0), "allocation %lld: %d", (long long)n, err);
        sluice_manifest_free(longer);
        sluice_manifest_free(m);
        CHECK(sluice_mem_live() == live, "allocation %lld: a leak", (long long)n);
        if (!reached) calls = -1;
    }
    sluice_mem_free(text);
    chance_free(&c);
}

/* ---- Many groups ---- */

static void many(void) {
    enum { LOTS = 40000, EACH = 100 };
    sluice_places places = {4, LOTS, sluice_mem_alloc(LOTS, sizeof *places.lot), -1};
    sluice_layout *l = NULL;
    sluice_reason why = {0};
    const sluice_shape shape = {1, SLUICE_ROW_MAJOR, 1, 0, {(int64_t)LOTS * EACH}};
    for (int i = 0; i < LOTS; i++) {
        const int from = (i * 7919) % LOTS; /* in another order than in the file */
        CHECK(sluice_lot_make(&places.lot[i], 1));
        places.lot[i].subfile[0] = i % 4;
        CHECK(!sluice_set_block(&places.lot[i].bytes, (int64_t)from * EACH, EACH - 1));
        CHECK(!sluice_set_block(&places.lot[i].where[0], (int64_t)(i / 4) * EACH, EACH - 1));
    }
    CHECK(!sluice_placed_make(&l, &shape, &places, &why), "%s", why.text);
    for (int i = 0; l && i < 20000; i++) {
        sluice_set file = SLUICE_SET_EMPTY;
        const int64_t lo = (int64_t)(i * 104729) % ((int64_t)LOTS * EACH - 3 * EACH);
        int *hit = NULL, n = 0;
        CHECK(!sluice_set_falls(&file, lo, 1, EACH, 3) && !sluice_placed_meet(l->placed, &file, &hit, &n) &&
              n == (lo % EACH < EACH - 1 ? 3 : 0));
        for (int k = 0; k < n; k++) CHECK(sluice_set_lo(&l->placed->lot[hit[k]].bytes) == (lo / EACH + k) * EACH);
        sluice_mem_free(hit);
        sluice_set_free(&file);
    }
    sluice_layout_free(l);
}

int main(void) {
    const uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    printf("seed %llu\n", (unsigned long long)seed);
    round_trip(seed);
    hostiles();
    damage(seed);
    many();
    return verdict();
}
