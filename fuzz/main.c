/* main.c: runs a fuzz target over the files and folders named, without a fuzzer, so that what was once found stays
 * found. Any check that fails in the target ends the program. No input at all is a failure. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void die(const char *path) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(1);
}

/* The input is copied to a block of just its size, so that a sanitizer sees a read past its end. */
static void run_file(const char *path, off_t size) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    if (!file || !data || fread(data, 1, (size_t)size, file) != (size_t)size) die(path);
    fclose(file);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
}

static int run(const char *path) {
    struct stat st;
    if (stat(path, &st)) die(path);
    if (!S_ISDIR(st.st_mode)) {
        run_file(path, st.st_size);
        return 1;
    }
    struct dirent **entry;
    int n = scandir(path, &entry, NULL, alphasort), count = 0;
    if (n < 0) die(path);
    for (int i = 0; i < n; i++) {
        char inside[4096];
        if (entry[i]->d_name[0] != '.') {
            if (snprintf(inside, sizeof inside, "%s/%s", path, entry[i]->d_name) >= (int)sizeof inside) {
                errno = ENAMETOOLONG;
                die(path);
            }
            count += run(inside);
        }
        free(entry[i]);
    }
    free(entry);
    return count;
}

int main(int argc, char **argv) {
    int count = 0;
    for (int i = 1; i < argc; i++) count += run(argv[i]);
    printf("%d inputs\n", count);
    return count == 0;
}
