/* match.c: `sluice set match` and `sluice set owner`: partitions of a file compared and asked. */
#include "tool/tool.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 }; /* of rows and columns of a printed matrix */

static void print_matrix(const char *title, const int64_t *entry, int rows, int cols) {
    int64_t largest = 0;
    int width = 2;
    for (int64_t k = 0; k < (int64_t)rows * cols; k++)
        if (entry[k] > largest) largest = entry[k];
    for (; largest >= 10; largest /= 10) width++;
    if (width < 3 + (cols > 10)) width = 3 + (cols > 10);
    printf("\n%s\n    to", title);
    for (int k = 0; k < cols; k++) printf(" %*d", width, k);
    printf("\nfrom  %.*s\n", (width + 1) * cols,
           "--------------------------------------------------------------------------------"
           "--------------------------------------------------------------------------------"
           "--------------------------------------------------------------------------------"
           "--------------------------------------------------------------------------------");
    for (int i = 0; i < rows; i++) {
        printf("%4d |", i);
        for (int k = 0; k < cols; k++) printf(" %*" PRId64, width, entry[(int64_t)i * cols + k]);
        putchar('\n');
    }
}

int match_run(const options *o, int n, char **argument) {
    parts a, b;
    sluice_matrix m;
    memset(&m, 0, sizeof m);
    notation_parts(&a, options_array(o), argument[0], false);
    notation_parts(&b, options_array(o), argument[1], false);
    const sluice_partition pa = {a.n, a.set, a.period, a.disp}, pb = {b.n, b.set, b.period, b.disp};
    report_error(n > 2 ? sluice_redistribute_within(&m, &pa, &pb, notation_number("length", argument[2]))
                       : sluice_redistribute(&m, &pa, &pb),
                 "match");
    printf("from             %d element%s, period %" PRId64 " bytes, displacement %" PRId64 "\n", a.n,
           a.n == 1 ? "" : "s", a.period, a.disp);
    printf("to               %d element%s, period %" PRId64 " bytes, displacement %" PRId64 "\n", b.n,
           b.n == 1 ? "" : "s", b.period, b.disp);
    printf("%-16s %" PRId64 " bytes\n", n > 2 ? "in the file" : "common period", m.period);
    printf("messages         %" PRId64 "\n", m.messages);
    printf("pieces           %" PRId64 "\n", m.total_segments);
    if (m.match_den)
        printf("matching degree  %" PRId64 "/%" PRId64 " = %.6g\n", m.match_num, m.match_den,
               (double)m.match_num / (double)m.match_den);
    if (m.rows <= MOST && m.cols <= MOST) {
        print_matrix("bytes", m.bytes, m.rows, m.cols);
        print_matrix("pieces", m.segments, m.rows, m.cols);
    }
    sluice_matrix_free(&m);
    parts_free(&a);
    parts_free(&b);
    return 0;
}

int owner_run(const options *o, int n, char **argument) {
    parts a;
    notation_parts(&a, options_array(o), argument[0], false);
    const sluice_partition p = {a.n, a.set, a.period, a.disp};
    for (int i = 1; i < n; i++) {
        int element;
        int64_t off;
        const int64_t x = notation_number("offset", argument[i]);
        if (x < a.disp) {
            puts("-");
            continue;
        }
        report_error(sluice_partition_owner(&p, x, &element, &off), "owner");
        printf("%d %" PRId64 "\n", element, off);
    }
    parts_free(&a);
    return 0;
}
