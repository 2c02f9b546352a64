/* subfiles.c: the subfiles of a container: what a section means for each. */
#include "array/array.h"
#include "io/predict.h"
#include "tool/tool.h"

enum { SHOWN = 16 }; /* subfiles in a table unless --all */
static const char indent[] = "          ";

/* What a process that reads the section does in one subfile. */
static sluice_prediction foretell(sluice_io *io, const sluice_io_part *part, int n) {
    const sluice_io_plan how = sluice_io_choose(io, false);
    sluice_prediction p;
    report_error(sluice_predict_own(&p, part, n, &how, false), "subfiles");
    return p;
}

static void print_row(const sluice_set *file, int64_t base, const sluice_prediction *p) {
    printf("%16" PRId64 "%12" PRId64, file->size, sluice_set_nruns(file));
    if (base >= 0)
        printf("%16" PRId64 "%16" PRId64, sluice_set_lo(file) - base, sluice_set_hi(file) - 1 - base);
    else
        printf("%16s%16s", "", "");
    printf("%12" PRId64 "%16" PRId64 "\n", p->counts.calls_read, p->counts.bytes_read);
}

void subfiles_explain(const options *o, sluice_array *file, const sluice_set *section) {
    const sluice_manifest *m = file->container->manifest;
    const sluice_layout *l = m->layout;
    sluice_pieces pieces = {0};
    sluice_set all = SLUICE_SET_EMPTY;
    int64_t mapped = 0;
    int left = 0;
    report_error(sluice_split(&pieces, l, &(sluice_io_part){section, {NULL, NULL, 0, 0}}, 1), "subfiles");
    report_error(sluice_split_file(&all, l, section), "subfiles");
    const int shown = o->all || pieces.n <= SHOWN ? pieces.n : SHOWN;
    if (l->placed)
        printf("\nsubfiles  %s: it lies in %d piece%s\n", l->text, pieces.n, pieces.n == 1 ? "" : "s");
    else
        printf("\nsubfiles  %s: %d of %d have some of it\n", l->text, pieces.n, l->n);
    if (pieces.n)
        printf("%s%-9s%-10s%16s%12s%16s%16s%12s%16s\n", indent, "subfile", "target", "bytes", "runs", "first byte",
               "last byte", "requests", "bytes read");
    for (int k = 0; k < pieces.n; k++) {
        const sluice_io_part *part = &pieces.part[k];
        const bool cached = sluice_io_reachable(&file->io, false, part->file, false);
        const sluice_prediction p = foretell(&file->io, part, !cached);
        if (cached)
            mapped += part->file->size;
        else
            pieces.part[left++] = *part;
        int i = 0;
        while (l->base[i + 1] <= sluice_set_lo(&pieces.bound[k].file)) i++;
        if (k >= shown) continue;
        printf("%s%-9d%-10s", indent, i, m->target[m->place[i]].text);
        print_row(&pieces.bound[k].file, l->base[i], &p);
    }
    if (shown < pieces.n) printf("%s... and %d more; --all shows them\n", indent, pieces.n - shown);
    if (pieces.n > 1) {
        const sluice_prediction p = foretell(&file->io, pieces.part, left);
        printf("%s%-19s", indent, "all");
        print_row(&all, -1, &p);
    }
    if (mapped) printf("%s%s copied from the page cache, without a call\n", indent, words_bytes(mapped));
    sluice_set_free(&all);
    sluice_split_free(&pieces);
}
