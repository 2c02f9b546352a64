/* placed_killed.c: `placed_killed write CONTAINER SEED`: processes of a group write blocks of bytes that have copies,
 * each for itself and together, the same ones too, until each is killed, at some time of its own. `placed_killed look
 * CONTAINER`: each block is of one value, and after the container was opened to write all copies are equal. `make`: an
 * array of 60 blocks of 64 bytes; every block has a copy in each of 3 subfiles, but those of the last lots, which have
 * one. */
#include "../placed_oracle.h"
#include "array/array.h"
#include "sluice_mpi.h"
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { BLOCK = 64, BLOCKS = 60, COPIED = 48, PARTS = 3 };
static placed_case plan;
static unsigned char bytes[BLOCK * BLOCKS];

static int fail(const char *what) {
    printf("%s: %s\n", what, sluice_errmsg());
    return 1;
}

static void draw(void) {
    plan = (placed_case){.parts = PARTS, .length = BLOCK * BLOCKS};
    for (int i = 0; i < BLOCKS / 4; i++) { /* lots of four blocks, in turn */
        chance c = {.replay = true};       /* no gaps */
        for (int64_t x = 0; x < plan.length; x++)
            if (x / BLOCK % (BLOCKS / 4) == i) plan.lot[x] = i;
        plan.copies[i] = i * 4 < COPIED ? PARTS : 1;
        for (int k = 0; k < plan.copies[i]; k++) placed_put(&plan, &c, k, (i + k) % PARTS);
        plan.nlots++;
        chance_free(&c);
    }
}

static int make(const char *path) {
    sluice_places places;
    sluice_manifest *m;
    const sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 1, 0, {BLOCK * BLOCKS}}, .type = "uint8"};
    for (int64_t x = 0; x < BLOCK * BLOCKS; x++) plan.lot[x] = -1;
    draw();
    if (!placed_places(&plan, &places) || sluice_manifest_place(&m, &d, &places, NULL, NULL) ||
        sluice_container_create(path, m, NULL, NULL))
        return 1;
    sluice_manifest_free(m);
    return 0;
}

static void *kill_later(void *arg) {
    usleep(*(unsigned *)arg);
    kill(getpid(), SIGKILL);
    return NULL;
}

static int write_on(const char *path, unsigned seed) {
    sluice_array *a;
    pthread_t killer;
    int rank;
    chance c = {0};
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    chance_seed(&c, seed * 10 + (unsigned)rank);
    if (sluice_open_all(&a, MPI_COMM_WORLD, path, SLUICE_WRITE, NULL, NULL)) return fail("open");
    unsigned delay = 1000 + (seed * 7919 + (unsigned)rank * 104729) % 60000;
    pthread_create(&killer, NULL, kill_later, &delay);
    for (int step = 1;; step++) {
        const sluice_range block = {chance_draw(&c, 0, BLOCKS - 1) * BLOCK, BLOCK, 1};
        memset(bytes, (int)chance_draw(&c, 1, 255), BLOCK);
        const int err = step % 8 ? sluice_write(a, &block, bytes) : sluice_write_all(a, &block, bytes);
        if (err) return fail("write");
        if (step % 50 == 0 && sluice_sync(a)) return fail("sync");
    }
}

static int check_blocks(void) {
    for (int i = 0; i < BLOCKS; i++)
        for (int k = 1; k < BLOCK; k++)
            if (bytes[i * BLOCK + k] != bytes[i * BLOCK]) return printf("block %d is mixed\n", i);
    return 0;
}

static int look(const char *path) {
    sluice_array *a;
    static unsigned char before[BLOCK * BLOCKS];
    for (int64_t x = 0; x < BLOCK * BLOCKS; x++) plan.lot[x] = -1;
    draw();
    if (sluice_open(&a, path, SLUICE_READ, NULL, NULL)) return fail("open to read");
    if (sluice_read(a, NULL, before) || sluice_close(a)) return fail("read");
    if (sluice_open(&a, path, SLUICE_WRITE, NULL, NULL)) return fail("open to write");
    if (sluice_read(a, NULL, bytes)) return fail("read again");
    const char *wrong = placed_compare(&plan, a->container->manifest, path, bytes);
    if (sluice_close(a)) return fail("close");
    if (wrong) return printf("%s\n", wrong);
    if (memcmp(bytes, before, sizeof bytes)) return printf("what is read has changed\n");
    return check_blocks();
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    if (!strcmp(argv[1], "make")) return make(argv[2]);
    if (!strcmp(argv[1], "write")) return write_on(argv[2], argc > 3 ? (unsigned)atoi(argv[3]) : 0);
    return look(argv[2]) != 0;
}
