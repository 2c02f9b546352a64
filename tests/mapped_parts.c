/* ranks: 1 */
/* mapped_parts: several parts moved through a mapping in turns, window by window of memory: parts one behind the other
 * in the file whose memory is mixed in fine pieces, lies in one piece each, or in another order, also in buffers of
 * their own; and, for writes, parts that have bytes of the file in common, of which the last must win. The oracle takes
 * one part after the other, byte by byte. */
#include "io/io.h"
#include "support/unit.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS = 5, EACH = 300000, FILE_SIZE = 4 << 20, MEMORY = PARTS * EACH * 3, CASES = 40 };

static unsigned char model[FILE_SIZE], back[FILE_SIZE], memory[MEMORY], expected[MEMORY];

typedef struct layout {
    sluice_set file[PARTS], mem[PARTS];
    sluice_io_part part[PARTS];
    int n;
} layout;

static void make(layout *l) {
    const int64_t kind = below(4), shuffle = below(2), grain = 1 + below(below(2) ? 20 : 5000);
    int64_t at = below(1000);
    memset(l, 0, sizeof *l);
    l->n = 1 + (int)below(PARTS);
    for (int i = 0; i < l->n; i++) {
        const int64_t n = 1 + below(EACH / grain), size = n * grain, len = 1 + below(5000),
                      slot = shuffle ? l->n - 1 - i : i;
        sluice_io_part *p = &l->part[i];
        CHECK(!sluice_set_falls(&l->file[i], at, len, len + 1 + below(50), 1 + size / len));
        CHECK(!sluice_set_cut(&l->file[i], &l->file[i], 0, sluice_set_select(&l->file[i], size - 1) + 1));
        if (kind == 3 && i) /* has bytes of the one before */
            CHECK(!sluice_set_shift(&l->file[i], &l->file[i], -sluice_min(below(2000), sluice_set_lo(&l->file[i]))));
        at = sluice_set_hi(&l->file[i]) + below(3) * 1000;
        p->file = &l->file[i];
        p->mem.base = memory;
        if (kind == 1) {
            p->mem.base = memory + (int64_t)slot * EACH * 2;
        } else { /* slot of each group of pieces */
            CHECK(!sluice_set_falls(&l->mem[i], slot * grain, grain, l->n * grain + below(3) * l->n, n));
            p->mem.set = &l->mem[i];
            if (kind == 2) p->mem.base = memory + (int64_t)i * EACH / 3 * below(2);
        }
    }
}

static void unmake(layout *l) {
    for (int i = 0; i < l->n; i++) {
        sluice_set_free(&l->file[i]);
        sluice_set_free(&l->mem[i]);
    }
}

static int64_t place(const sluice_io_part *p, int64_t k) {
    return (unsigned char *)p->mem.base - memory + (p->mem.set ? sluice_set_select(p->mem.set, k) : k);
}

static bool disjoint(const layout *l) { /* in memory: reads of the same byte by two parts have no order */
    static unsigned char seen[MEMORY];
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < l->n; i++)
        for (int64_t k = 0; k < l->file[i].size; k++)
            if (seen[place(&l->part[i], k)]++) return false;
    return true;
}

static void read_parts(sluice_io *io, const layout *l) {
    sluice_reason why;
    memset(memory, 0xA5, sizeof memory);
    memset(expected, 0xA5, sizeof expected);
    for (int i = 0; i < l->n; i++)
        for (int64_t k = 0; k < l->file[i].size; k++)
            expected[place(&l->part[i], k)] = model[sluice_set_select(&l->file[i], k)];
    CHECK(!sluice_io_read(io, l->part, l->n, &why));
    CHECK(!memcmp(memory, expected, sizeof memory));
}

static void write_parts(sluice_io *io, const layout *l, int fd, int turn) {
    sluice_reason why;
    for (int64_t i = 0; i < MEMORY; i++) memory[i] = (unsigned char)(i * 73 + (i >> 9) + turn);
    for (int i = 0; i < l->n; i++)
        for (int64_t k = 0; k < l->file[i].size; k++)
            model[sluice_set_select(&l->file[i], k)] = memory[place(&l->part[i], k)];
    CHECK(!sluice_io_write(io, l->part, l->n, &why));
    CHECK(pread(fd, back, FILE_SIZE, 0) == FILE_SIZE && !memcmp(back, model, FILE_SIZE), "turn %d", turn);
}

/* Memory of the parts as far apart as it can be: what lies between must not cost anything. */
static void read_apart(sluice_io *io) {
    unsigned char *heap = malloc(5000), stack[5000];
    sluice_set file[3] = {SLUICE_SET_EMPTY, SLUICE_SET_EMPTY, SLUICE_SET_EMPTY};
    unsigned char *const to[] = {stack, memory, heap};
    sluice_io_part part[3] = {0};
    sluice_reason why;
    CHECK(heap);
    for (int i = 0; i < 3 && heap; i++) {
        CHECK(!sluice_set_falls(&file[i], i * 20000, 10, 30, 500));
        part[i].file = &file[i];
        part[i].mem.base = to[i];
    }
    CHECK(heap && !sluice_io_read(io, part, 3, &why));
    for (int i = 0; i < 3 && heap; i++)
        for (int64_t k = 0; k < 5000; k++) CHECK(to[i][k] == model[sluice_set_select(&file[i], k)]);
    for (int i = 0; i < 3; i++) sluice_set_free(&file[i]);
    free(heap);
}

int main(void) {
    char path[] = "mapped_parts-XXXXXX";
    const int fd = mkstemp(path);
    sluice_store *store = NULL;
    sluice_reason why;
    for (int64_t i = 0; i < FILE_SIZE; i++) model[i] = (unsigned char)(i * 131 + (i >> 11));
    CHECK(fd >= 0 && write(fd, model, FILE_SIZE) == FILE_SIZE);
    CHECK(!sluice_store_open_posix(&store, path, SLUICE_STORE_WRITE, &why));
    if (failures) return verdict();
    sluice_io io = {.store = store, .writable = true, .exclusive = true, .method = SLUICE_MAPPED, .memory = 1 << 20};
    for (int turn = 0; turn < CASES; turn++) {
        layout l;
        make(&l);
        if (disjoint(&l)) read_parts(&io, &l);
        write_parts(&io, &l, fd, turn);
        unmake(&l);
    }
    read_apart(&io);
    CHECK(io.counts.calls_read == 0 && io.counts.calls_write == 0, "not all through the mapping");
    sluice_io_release(&io);
    sluice_store_close(store);
    close(fd);
    unlink(path);
    return verdict();
}
