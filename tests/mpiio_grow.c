/* ranks: 2 4, through the door */
/* mpiio_grow.c: processes that make a file longer, each by itself and all at once, in pieces of a few bytes that lie
 * between those of the others: nothing that was written is lost. The system puts zeros behind the old end when a file
 * becomes longer; what another process has just written there must not be among it. */
#include "mpiio_common.h"

enum { PIECES = 4000, TIMES = 4 };

static int value(int64_t i) { return (int)(i * 2654435 + 7); }

static void write_pieces(int piece) {
    MPI_File f;
    int buf[8];
    if (rank == 0) unlink(path);
    meet();
    GOOD(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
    for (int k = 0; k < PIECES; k++) {
        const int64_t first = ((int64_t)k * size + rank) * piece;
        for (int i = 0; i < piece; i++) buf[i] = value(first + i);
        GOOD(MPI_File_write_at(f, first * (int64_t)sizeof(int), buf, piece, MPI_INT, MPI_STATUS_IGNORE));
    }
    GOOD(MPI_File_close(&f));
}

static void check_file(int64_t n) {
    meet();
    if (rank == 0) {
        FILE *f = fopen(path, "rb");
        int64_t i = 0, wrong = 0;
        for (int x; f && fread(&x, sizeof x, 1, f) == 1; i++) wrong += x != value(i);
        CHECK(i == n && !wrong, "%lld ints, not %lld; %lld are wrong", (long long)i, (long long)n, (long long)wrong);
        if (f) fclose(f);
    }
    meet();
}

int main(int argc, char **argv) {
    begin(&argc, &argv, "grow");
    for (int i = 0; i < TIMES; i++) {
        const int piece = 1 + i % 3;
        write_pieces(piece);
        check_file((int64_t)PIECES * size * piece);
    }
    return end();
}
