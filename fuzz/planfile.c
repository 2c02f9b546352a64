/* planfile.c: any bytes as a plan file. What is accepted keeps its promises, and written and read again is the same. */
#include "file/placement.h"
#include "must.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sluice_placement *p = NULL, *again = NULL;
    sluice_reason why = {0};
    char *text = NULL, *twice = NULL;
    int64_t len = 0, len2 = 0, sum = 0;
    const int error = sluice_placement_parse(&p, (const char *)data, (int64_t)size, &why);
    MUST(error ? !p && why.error == error && !strncmp(why.text, "plan: ", 6) : p != NULL);
    if (!error) {
        for (int i = 0; i < p->ngroups; i++) {
            MUST(!sluice_set_check(&p->group[i].bytes, NULL) && sluice_set_hi(&p->group[i].bytes) <= p->size);
            for (int k = 0; k < p->group[i].n; k++)
                MUST(p->group[i].subfile[k] <= p->nprocs && p->group[i].at[k].size == p->group[i].bytes.size);
            sum += p->group[i].bytes.size;
        }
        MUST(sum <= p->size && !sluice_placement_check(p, NULL));
        MUST(!sluice_placement_format(p, &text, &len, NULL) && !sluice_placement_parse(&again, text, len, NULL));
        MUST(!sluice_placement_format(again, &twice, &len2, NULL) && len == len2 && !memcmp(text, twice, (size_t)len));
    }
    sluice_mem_free(text);
    sluice_mem_free(twice);
    sluice_placement_free(p);
    sluice_placement_free(again);
    MUST(sluice_mem_live() == 0);
    return 0;
}
