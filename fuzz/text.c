/* text.c: any bytes as the text form of a set. What is accepted is in normal form, and printed and read again is the
 * same set with the same text. What is refused is refused at a place in the text. */
#include "base/base.h"
#include "must.h"
#include "sluice_set.h"
#include <errno.h>
#include <string.h>

/* A short text can say a set of very many families; reading those again is another, longer, input. */
enum { MAX_AGAIN = 1 << 18 };

static char *print(const sluice_set *s) {
    int64_t len = sluice_set_print(s, NULL, 0);
    char *text = malloc((size_t)len + 1);
    MUST(text && sluice_set_print(s, text, (size_t)len + 1) == len && (int64_t)strlen(text) == len);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1), *first, *second;
    sluice_set s = SLUICE_SET_EMPTY, again = SLUICE_SET_EMPTY;
    sluice_reason why = {0};
    MUST(text);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    int error = sluice_set_parse(&s, text, &why);
    if (error) {
        MUST(error == why.error && error != -ENOMEM && why.text[0]);
        /* Too complex is no single place's fault. */
        MUST(error == SLUICE_E_COMPLEX ? why.pos == -1 : why.pos >= 0 && why.pos <= (long long)size);
        MUST(s.node == NULL);
    } else {
        MUST(!sluice_set_check(&s, NULL));
        first = print(&s);
        if (strlen(first) <= MAX_AGAIN) {
            MUST(!sluice_set_parse(&again, first, NULL));
            second = print(&again);
            MUST(!strcmp(first, second) && sluice_set_equal(&s, &again) == 1);
            free(second);
        }
        free(first);
    }
    sluice_set_free(&s);
    sluice_set_free(&again);
    free(text);
    MUST(sluice_mem_live() == 0);
    return 0;
}
