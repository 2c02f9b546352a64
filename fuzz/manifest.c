/* manifest.c: any bytes as a manifest, and as a layout of some arrays. What is accepted has subfiles that are a
 * partition of the array, with names that stay in their folder, and written and read again is the same. */
#include "file/file.h"
#include "must.h"
#include <errno.h>
#include <string.h>

static void check_layout(const sluice_layout *l) {
    int64_t sum = 0;
    MUST(l->n >= 1 && l->n <= SLUICE_MAX_SUBFILES && l->base[0] == 0);
    for (int i = 0; i < l->n; i++) {
        MUST(!sluice_set_check(&l->set[i], NULL) && sluice_set_hi(&l->set[i]) <= l->length);
        MUST(l->base[i] % SLUICE_MAP_STRETCH == 0 && l->base[i + 1] - l->base[i] > l->set[i].size);
        sum += l->set[i].size;
    }
    MUST(sum == l->length);
    for (int64_t k = 0; k < 16 && l->length > 0; k++) {
        const int64_t x = l->length / 16 * k + (l->length - 1) % 16;
        if (x >= l->length) continue;
        const int i = sluice_layout_owner(l, x);
        MUST(i >= 0 && i < l->n && sluice_set_contains(&l->set[i], x));
    }
}

static void check_manifest(const uint8_t *data, size_t size) {
    sluice_manifest *m = NULL, *again = NULL;
    sluice_reason why = {0};
    char *text = NULL, *twice = NULL;
    int64_t len = 0, len2 = 0;
    const int error = sluice_manifest_parse(&m, (const char *)data, (int64_t)size, &why);
    MUST(error ? !m && why.error == error && !strncmp(why.text, "manifest: ", 10) : m != NULL);
    if (error) return;
    check_layout(m->layout);
    MUST(!m->checksum || (m->checksum >= SLUICE_SUMS_LEAST && m->checksum <= SLUICE_SUMS_MOST));
    MUST(!(m->checksum & (m->checksum - 1)));
    for (int i = 0; i < m->layout->n && i < 100; i++) {
        const sluice_subfile_name name = sluice_manifest_name(m, i);
        MUST(strlen(sluice_manifest_sums(m, i).text) == strlen(name.text) + 4);
        MUST(name.text[0] && !strchr(name.text, '/') && name.text[0] != '.' && m->place[i] < m->ntargets);
    }
    MUST(!sluice_manifest_format(m, &text, &len, NULL) && !sluice_manifest_parse(&again, text, len, NULL));
    MUST(!sluice_manifest_format(again, &twice, &len2, NULL) && len == len2 && !memcmp(text, twice, (size_t)len));
    sluice_mem_free(text);
    sluice_mem_free(twice);
    sluice_manifest_free(m);
    sluice_manifest_free(again);
}

static void check_text(const uint8_t *data, size_t size) {
    static const sluice_shape shape[] = {{.ndims = 2, .elem = 4, .dim = {10, 12}},
                                         {.ndims = 3, .order = SLUICE_COLUMN_MAJOR, .elem = 1, .dim = {7, 5, 3}},
                                         {.ndims = 1, .elem = 8, .dim = {0}}};
    char *text = malloc(size + 1);
    MUST(text);
    memcpy(text, data, size);
    text[size] = 0;
    for (int i = 0; i < 3; i++) {
        sluice_layout *l = NULL;
        sluice_reason why = {0};
        const int error = sluice_layout_parse(&l, &shape[i], text, &why);
        MUST(error ? !l && why.error == error && why.pos <= (int64_t)strlen(text) : l != NULL);
        if (l) check_layout(l);
        sluice_layout_free(l);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size && *data == '{')
        check_manifest(data, size);
    else
        check_text(data, size);
    MUST(sluice_mem_live() == 0);
    return 0;
}
