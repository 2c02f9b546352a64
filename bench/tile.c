/* tile.c: overlapping tiles of one picture, as in MPI-Tile-IO: the processes form a grid; each has a tile of 1024 x 768
 * elements of 32 bytes, so that a line of it is 32 KiB, and neighbours share 64 columns, 2 KiB of each line, and 64
 * lines. All write and read together; the picture is as large as the grid. See contend.h for the rules. */
#include "contend.h"
#include <stdio.h>

enum { ELEM = 32, WIDTH = 1024, HEIGHT = 768, OVERLAP = 64, GRIDS = 4 };

/* Grids of processes. */
static const struct { int across, down; } grid[GRIDS] = {{2, 1}, {2, 2}, {3, 3}, {4, 4}};

#define PICTURE(X, Y)                                                                                                  \
    {                                                                                                                  \
        2, ELEM, { (X) * (WIDTH - OVERLAP) + OVERLAP, (Y) * (HEIGHT - OVERLAP) + OVERLAP, 1 }                          \
    }
static const field fields[GRIDS] = {PICTURE(2, 1), PICTURE(2, 2), PICTURE(3, 3), PICTURE(4, 4)};
static const event events[] = {
    {"write 2x1", 1, true, true, 0},  {"read 2x1", 1, false, true, 0},  {"write 2x2", 2, true, false, 1},
    {"read 2x2", 2, false, false, 1}, {"write 3x3", 3, true, false, 2}, {"read 3x3", 3, false, false, 2},
    {"write 4x4", 4, true, false, 3}, {"read 4x4", 4, false, false, 3},
};
static const contender contenders[] = {COMMON_CONTENDERS};

static int boxes(int e, int rank, int nranks, box *out) {
    (void)nranks;
    int x = rank % grid[events[e].field].across, y = rank / grid[events[e].field].across;
    *out = (box){{x * (WIDTH - OVERLAP), y * (HEIGHT - OVERLAP), 0}, {WIDTH, HEIGHT, 1}, {1, 1, 1}};
    return 1;
}

static bool suits(int e, int nranks) { return nranks == grid[events[e].field].across * grid[events[e].field].down; }

static void judge(const board *b);
static const contest tile = {
    .name = "tile",
    .title = "Overlapping tiles of 32 KiB x 768, 2 KiB and 64 lines shared; 2, 4, 9 or 16 processes",
    .fields = fields,
    .events = events,
    .nevents = sizeof events / sizeof *events,
    .contenders = contenders,
    .ncontenders = sizeof contenders / sizeof *contenders,
    .boxes = boxes,
    .suits = suits,
    .judge = judge,
    .quick = 2,
};

static void judge(const board *b) { judge_collective(&tile, b); }

int main(int argc, char **argv) { return contend(&tile, argc, argv); }
