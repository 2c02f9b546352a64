/* ranks: 1 */
/* container_naive: random arrays in random layouts, written through the sets of the layout and read by a program that
 * was made from docs/FORMAT.md alone (naive_reader.py). Skipped without Python. */
#include "container_common.h"
#include "layout_oracle.h"

enum { ARRAYS = 120 };
static layout_case made[ARRAYS];

static void make(int i, chance *r) {
    static const char *const targets[] = {".", "fast", ".,fast,slow", "slow,."};
    sluice_desc d = {.shape = {0}};
    sluice_manifest *m = NULL;
    sluice_container *c = NULL;
    sluice_reason why = {0};
    char folder[40];
    case_draw(&made[i], r);
    d.shape = made[i].shape;
    snprintf(d.type, sizeof d.type, "V%lld", (long long)d.shape.elem);
    snprintf(folder, sizeof folder, "%d.sluice", i);
    CHECK(!sluice_manifest_make(&m, &d, made[i].text, targets[i % 4], NULL, &why), "%s", why.text);
    CHECK(m && !sluice_manifest_checksum(m, i % 3 ? (int64_t)512 << i % 4 : 0, &why), "%s", why.text);
    CHECK(m && !sluice_container_create(inside(folder), m, bindings, &why), "%s", why.text);
    CHECK(m && !sluice_container_open(&c, inside(folder), SLUICE_CONTAINER_WRITE, bindings, &why), "%s", why.text);
    CHECK(c && !visit(c->manifest, c->member, true), "%s", made[i].text);
    CHECK(!sluice_container_close(c), "close");
    sluice_manifest_free(m);
}

/* The reader compares checksums, too. */
static void damage(const char *source) {
    int i = 0;
    while (i % 3 == 0 || made[i].length == 0) i++;
    const int owner = made[i].owner[0];
    char folder[40], file[500];
    sluice_container *c = NULL;
    sluice_reason why = {0};
    snprintf(folder, sizeof folder, "%d.sluice", i);
    CHECK(!sluice_container_open(&c, inside(folder), SLUICE_CONTAINER_READ, bindings, &why), "%s", why.text);
    if (!c) return;
    const char *target = c->manifest->target[c->manifest->place[owner]].text;
    snprintf(file, sizeof file, "%s/%s", inside(*target == '.' ? folder : target),
             sluice_manifest_name(c->manifest, owner).text);
    sluice_container_close(c);
    FILE *f = fopen(file, "r+b");
    CHECK(f && !fseek(f, (long)made[i].off[0], SEEK_SET) && fputc(value(0) ^ 64, f) != EOF && !fclose(f));
    char line[1000];
    snprintf(line, sizeof line, "python3 %s/tests/naive_reader.py -t fast=%s -t slow=%s %s >/dev/null 2>&1",
             source ? source : ".", inside("fast"), inside("slow"), inside(folder));
    CHECK(system(line) != 0, "the reader sees no damage");
}

int main(void) {
    const uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    const char *source = getenv("SLUICE_SRC");
    static char line[16384];
    chance r = {0};
    if (system("python3 -c pass") != 0) return 77;
    printf("seed %llu\n", (unsigned long long)seed);
    make_scratch();
    int at = snprintf(line, sizeof line, "python3 %s/tests/naive_reader.py -t fast=%s -t slow=%s",
                      source ? source : ".", inside("fast"), inside("slow"));
    for (int i = 0; i < ARRAYS; i++) {
        chance_seed(&r, seed + (uint64_t)i);
        make(i, &r);
        at += snprintf(line + at, sizeof line - (size_t)at, " %s/%d.sluice", scratch, i);
    }
    chance_free(&r);
    FILE *python = popen(line, "r");
    for (int i = 0; i < ARRAYS && python; i++)
        for (int64_t x = 0; x < made[i].length; x++)
            if (getc(python) != value(x)) {
                CHECK(false, "%s: byte %lld", made[i].text, (long long)x);
                i = ARRAYS;
                break;
            }
    CHECK(python && getc(python) == EOF && !pclose(python), "the reader fails");
    damage(source);
    remove_tree(scratch);
    return verdict();
}
