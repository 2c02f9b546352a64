/* must.h: what a fuzz target promises. A promise that is broken ends the program, which is how a fuzzer notices. */
#ifndef SLUICE_FUZZ_MUST_H
#define SLUICE_FUZZ_MUST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(cond)                                                                                                     \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #cond);                                         \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
