/* tile.c: tiles of a picture on a wall of displays, as in MPI-Tile-IO: the processes form a grid, each with a tile
 * whose lines are 32 KiB long. Neighbours overlap, by 2 KiB of each line and by some lines:
 *
 *     +-------+-+-------+
 *     |   0   |.|   1   |     . is read by 0 and 1, and written by 0
 *     +-------+-+-------+
 *     |.......|.|.......|     . is read by those above and below, and written by those above
 *     |   2   |.|   3   |
 *     +-------+-+-------+
 *
 * All write the picture, each element once, and read their tiles with what they share. The overlap of lines is a
 * sixteenth of the tile's height, as that of columns is of its width. */
#include "workload.h"
#include <stddef.h>

enum { LINE = 32 << 10, SHARED = 2 << 10, OWN = LINE - SHARED };

/* The grid: as square as possible. */
static int across(int nranks) {
    int n = 1;
    for (int k = 1; k * k <= nranks; k++)
        if (nranks % k == 0) n = k;
    return nranks / n;
}

static const char *plan(job *j) {
    const int64_t columns = across(j->nranks), rows = j->nranks / columns, x = j->rank % columns, y = j->rank / columns;
    const int64_t shared = j->size / 16, own = j->size - shared; /* lines */
    const int64_t width = columns * OWN + SHARED, height = rows * own + shared;
    if (j->size < 2) return "a tile has at least 2 lines";
    if (j->size > 1 << 15) return "more lines than 32768";
    j->read = (view){
        .disp = y * own * width + x * OWN,
        .extent = width * height,
        .npieces = 1,
        .piece = {{.len = LINE, .count = {j->size, 1}, .step = {width, 0}}},
    };
    /* What is left of it and above belongs to the neighbours there. */
    const int64_t left = x ? SHARED : 0, above = y ? shared : 0;
    j->write = j->read;
    j->write.disp += left + above * width;
    j->write.piece[0].len -= left;
    j->write.piece[0].count[0] -= above;
    j->writes = j->reads = j->steps;
    j->bytes = j->steps * j->read.extent;
    return NULL;
}

static stretch tile(const job *j, bool write, int64_t k) {
    const int64_t mine = view_bytes(write ? &j->write : &j->read);
    return (stretch){k * mine, mine};
}

int main(int argc, char **argv) {
    static const workload tiles = {
        .name = "tile",
        .title = "Tiles of a picture with lines of 32 KiB, which overlap by 2 KiB and a sixteenth of their lines",
        .size_means = "lines of a tile",
        .size = 128,
        .steps = 1,
        .quick_size = 16,
        .quick_steps = 2,
        .plan = plan,
        .access = tile,
    };
    return workload_main(&tiles, argc, argv);
}
