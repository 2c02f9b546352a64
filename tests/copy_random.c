/* ranks: 1 */
/* copy_random.c: sections of random arrays copied into sections of others, of any order, in memory and in containers of
 * any layout, with little memory, against loops over all elements. Draws can be shrunk; the seed is printed. */
#include "array/copy.h"
#include "contained.h"
#include "support/random.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 64 << 10 };

/* One array, as the library has it and as bytes. */
typedef struct one {
    sluice_desc d;
    sluice_range range[SLUICE_MAX_DIMS];
    sluice_array *a;
    unsigned char *bytes;
    int64_t size;
    bool contain;
} one;

static contained tree;
static layout_case layout;

/* Dimensions of `n` with, now and then, one of extent 1 between them, and a section of just these extents. */
static void lay_out(chance *c, one *x, const int64_t *n, int naxes, int64_t elem) {
    sluice_shape *s = &x->d.shape;
    memset(x, 0, sizeof *x);
    s->order = chance_once_in(c, 2) ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR;
    s->elem = x->size = elem;
    x->contain = chance_once_in(c, 20);
    s->header = !x->contain && chance_once_in(c, 3) ? chance_draw(c, 0, 500) : 0;
    const bool whole = chance_once_in(c, 3);
    for (int a = 0; a < naxes || s->ndims == 0; a++) {
        if (a < naxes) {
            const int64_t step = whole ? 1 : chance_low(c, 1, 3), start = whole ? 0 : chance_low(c, 0, 3);
            x->range[s->ndims] = (sluice_range){start, n[a], step};
            s->dim[s->ndims++] = n[a] ? start + (n[a] - 1) * step + 1 + (whole ? 0 : chance_low(c, 0, 3)) : start;
        }
        if (a >= naxes || chance_once_in(c, 8)) {
            x->range[s->ndims] = (sluice_range){chance_low(c, 0, 2), 1, 1};
            s->dim[s->ndims++] = 3;
        }
    }
    for (int d = 0; d < s->ndims; d++) x->size *= s->dim[d];
    x->bytes = malloc((size_t)x->size + 1);
}

/* Where element i[] of the section is; axes of extent 1 are not counted in i. */
static unsigned char *element(const one *x, const int64_t *i) {
    const sluice_shape *s = &x->d.shape;
    int64_t at[SLUICE_MAX_DIMS], off = 0;
    for (int d = 0; d < s->ndims; d++) {
        const int64_t k = x->range[d].count == 1 ? 0 : *i++;
        at[d] = x->range[d].start + k * x->range[d].step;
    }
    for (int k = 0; k < s->ndims; k++) {
        const int d = s->order == SLUICE_ROW_MAJOR ? k : s->ndims - 1 - k;
        off = off * s->dim[d] + at[d];
    }
    return x->bytes + off * s->elem;
}

/* In memory, or in a container, of which there is one at a time for each of source and destination. */
static bool create(chance *c, one *x, bool source, int64_t memory) {
    sluice_options o = {.size = sizeof o, .store = SLUICE_STORE_RAM, .memory = memory, .exclusive = 1};
    char path[140] = "copy_random";
    if (x->contain) {
        snprintf(path, sizeof path, "%s/%d.sluice", tree.folder, source);
        remove_tree(path);
        layout.shape = x->d.shape;
        case_draw_layout(&layout, c);
        o.store = SLUICE_STORE_AUTO;
        o.layout = layout.text;
        o.targets = contained_targets(c);
        o.bindings = tree.bindings;
    }
    return !sluice_create(&x->a, path, &x->d, &o);
}

static bool make(chance *c, one *x, bool fill, int64_t memory) {
    for (int64_t k = 0; k < x->size; k++) x->bytes[k] = (unsigned char)(fill ? k * 7 + k / 251 + k / 65521 : 0xEE);
    return create(c, x, fill, memory) && !sluice_write(x->a, NULL, x->bytes);
}

typedef struct seen {
    int64_t done, total, stop;
    bool wrong;
} seen;

static int watch(void *arg, int64_t done, int64_t total) {
    seen *s = arg;
    s->wrong |= done <= s->done || done > total || (s->total && total != s->total);
    s->done = done;
    s->total = total;
    return s->stop && done >= s->stop;
}

static bool run(chance *c, char *text, size_t cap) {
    int64_t n[SLUICE_MAX_DIMS] = {0}, i[SLUICE_MAX_DIMS] = {0}, elements = 1;
    const int naxes = (int)chance_low(c, 0, 6);
    static const int64_t sizes[] = {1, 2, 4, 8, 16, 3, 12, 24};
    const int64_t elem = sizes[chance_draw(c, 0, 7)];
    for (int a = 0; a < naxes; a++) {
        n[a] = chance_low(c, naxes == 1 ? 0 : 2, naxes == 1 ? 60000 : naxes == 2 ? 300 : naxes == 3 ? 40 : 9);
        if (n[a] == 1) n[a] = 2;
        elements *= n[a];
    }
    one src, dst;
    lay_out(c, &src, n, naxes, elem);
    lay_out(c, &dst, n, naxes, elem);
    const int64_t memory = LEAST + chance_low(c, 0, 1 << 20), size = elements * elem;
    seen s = {.stop = chance_once_in(c, 10) ? size / 2 + 1 : 0};
    snprintf(text, cap, "%d axes of %lld, elem %lld, orders %d %d, memory %lld", naxes, (long long)n[0],
             (long long)elem, (int)src.d.shape.order, (int)dst.d.shape.order, (long long)memory);
    bool good = make(c, &src, true, memory / 2) && make(c, &dst, false, memory / 2);
    while (good && elements) {
        memcpy(element(&dst, i), element(&src, i), (size_t)elem);
        int a = 0;
        while (a < naxes && ++i[a] == n[a]) i[a++] = 0;
        if (a == naxes) break;
    }
    const int64_t live = sluice_mem_live();
    sluice_mem_peak_reset();
    int err = good
                  ? sluice_copy(dst.a, src.a,
                                &(sluice_copy_options){
                                    .from = src.range, .to = dst.range, .memory = memory, .progress = watch, .arg = &s})
                  : 1;
    /* Sets and requests take a little, for each subfile and each family of an irregular layout; the buffers that
     * handles keep are counted. */
    const int64_t sets = src.contain || dst.contain ? 64 << 10 : 4 << 10;
    snprintf(text + strlen(text), cap - strlen(text), ", containers %d %d %.200s, peak %lld of %lld", src.contain,
             dst.contain, layout.text, (long long)(sluice_mem_peak() - live), (long long)(memory + sets));
    good = good && sluice_mem_peak() - live <= memory + sets && !s.wrong;
    if (s.stop && s.stop <= size) {
        good = good && (err == -ECANCELED || s.done == size);
    } else {
        unsigned char *back = malloc((size_t)dst.size + 1);
        good = good && !err && s.done == size && !sluice_read(dst.a, NULL, back);
        good = good && !memcmp(back, dst.bytes, (size_t)dst.size);
        free(back);
    }
    if (err) snprintf(text + strlen(text), cap - strlen(text), ": %s", sluice_errmsg());
    sluice_close(src.a);
    sluice_close(dst.a);
    free(src.bytes);
    free(dst.bytes);
    return good && sluice_mem_live() == 0;
}

static char verdict[800];
static bool fails(chance *c, void *arg) {
    (void)arg;
    return !run(c, verdict, sizeof verdict);
}

/* Everything that a caller can get wrong. */
static int refusals(void) {
    static const sluice_range out[] = {{0, 4, 1}, {2, 4, 1}}, huge[] = {{0, INT64_MAX, 1}, {0, INT64_MAX, 1}};
    sluice_array *a, *b, *other, *wide;
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 0, 0, {4, 5}}, .type = "int32"}, e = d, f = d;
    const sluice_options ram = {.size = sizeof ram, .store = SLUICE_STORE_RAM};
    strcpy(e.type, "float32");
    f.shape.dim[1] = 6;
    if (sluice_create(&a, "a", &d, &ram) || sluice_create(&b, "b", &d, &ram) ||
        sluice_create(&other, "other", &e, &ram) || sluice_create(&wide, "wide", &f, &ram))
        return 1;
    const struct {
        sluice_array *dst;
        sluice_copy_options o;
        int error;
        const char *say;
    } wrong[] = {
        {a, {0}, SLUICE_E_ARGUMENT, "to itself"},
        {other, {0}, SLUICE_E_ARGUMENT, "elements are int32, in (memory) float32"},
        {wide, {0}, SLUICE_E_ARGUMENT, "4 x 5 elements into 4 x 6"},
        {b, {.memory = LEAST - 1}, SLUICE_E_ARGUMENT, "memory limit"},
        {b, {.memory = -1}, SLUICE_E_ARGUMENT, "memory limit"},
        {b, {.size = 4096}, SLUICE_E_ARGUMENT, "newer"},
        {b, {.from = out}, SLUICE_E_ARGUMENT, "copy (memory): dimension"},
        {b, {.to = out}, SLUICE_E_ARGUMENT, "copy (memory): dimension"},
        {b, {.from = huge, .to = huge}, SLUICE_E_ARGUMENT, "copy (memory): dimension"},
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const int err = sluice_copy(wrong[i].dst, a, &wrong[i].o);
        if (err == wrong[i].error && strstr(sluice_errmsg(), wrong[i].say)) continue;
        printf("refusal %zu: %d, '%s'\n", i, err, sluice_errmsg());
        failed = 1;
    }
    failed |= sluice_copy(b, a, NULL) != 0;
    sluice_close(a);
    sluice_close(b);
    sluice_close(other);
    sluice_close(wide);
    return failed || sluice_mem_live() != 0;
}

/* Arrays without elements, whose other extents have no product. */
static int nothing(void) {
    const sluice_options ram = {.size = sizeof ram, .store = SLUICE_STORE_RAM};
    sluice_desc d = {.shape = {3, SLUICE_ROW_MAJOR, 8, 0, {INT64_C(3) << 60, INT64_C(3) << 60, 0}}}, e = d;
    sluice_array *a, *b;
    e.shape.order = SLUICE_COLUMN_MAJOR;
    if (sluice_create(&a, "a", &d, &ram) || sluice_create(&b, "b", &e, &ram)) return 1;
    const int err = sluice_copy(b, a, NULL);
    if (err) printf("nothing: %s\n", sluice_errmsg());
    sluice_close(a);
    sluice_close(b);
    return err != 0;
}

int main(void) {
    uint64_t seed = chance_default_seed("SLUICE_TEST_SEED");
    const char *env = getenv("SLUICE_TEST_CASES");
    int64_t cases = env ? atoll(env) / 100 : 1500;
    printf("seed %llu, %lld cases\n", (unsigned long long)seed, (long long)cases);
    chance c = {0};
    char name[] = "copy_random.XXXXXX";
    if (!mkdtemp(name) || rmdir(name)) return 1;
    contained_name(&tree, name);
    if (!contained_make(&tree)) return 1;
    int failed = refusals() || nothing();
    for (int64_t i = 0; i < cases && !failed; i++) {
        chance_seed(&c, seed + (uint64_t)i);
        if (run(&c, verdict, sizeof verdict)) continue;
        printf("case %lld fails (%s); shrinking\n", (long long)i, verdict);
        chance_shrink(&c, fails, NULL);
        fails(&c, NULL);
        printf("smallest: %s\n", verdict);
        failed = 1;
    }
    chance_free(&c);
    contained_remove(&tree);
    return failed;
}
