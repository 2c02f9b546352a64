/* unsealed.c: what tests/tool_checksum.sh runs: writes an element of a container and is gone, as if it had been killed.
 */
#include "sluice.h"
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const int32_t value = 7;
    sluice_array *a;
    if (argc != 2 || sluice_open(&a, argv[1], SLUICE_WRITE, NULL, NULL) ||
        sluice_write(a, (sluice_range[]){{0, 1, 1}, {0, 1, 1}}, &value)) {
        fprintf(stderr, "%s\n", sluice_errmsg());
        return 1;
    }
    _exit(0);
}
