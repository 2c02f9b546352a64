/* ranks: 1 2 3 4, through the door */
/* mpiio_placed.c: an MPI-IO program runs on a file, then on the container that `sluice partition` made of it, under the
 * name of the file: the same bytes are read and written, also those with copies, which other processes see after a
 * sync, in atomic mode at once. In the end `sluice merge` gives the file that the program wrote. MPIIO_SEED chooses
 * what is tried. */
#include "mpiio_common.h"
#include <sys/wait.h>

enum { BYTES = 6000, STEPS = 40 };
static unsigned char model[BYTES], buf[BYTES];
static uint64_t state;
static int below(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

/* The command is none of the processes of this program. */
static void command(const char *line) {
    char text[2400], bin[1000] = "";
    const char *asan = getenv("ASAN_OPTIONS");
    CHECK(readlink("/proc/self/exe", bin, sizeof bin - 20) > 0); /* tests/mpiio_placed; the command is bin/sluice */
    for (int i = 0; i < 2 && strrchr(bin, '/'); i++) *strrchr(bin, '/') = 0;
    snprintf(text, sizeof text, "env -i PATH=/usr/bin:/bin ASAN_OPTIONS='%s' '%s/bin/sluice' %s", asan ? asan : "", bin,
             line);
    const int status = system(text);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", text);
}

/* Four processes; a quarter each, but every tenth byte in all of them, and some in none. */
static void make_plan(const char *name) {
    FILE *f = fopen(name, "w");
    CHECK(f);
    if (!f) return;
    fprintf(f, "{\"format\": \"sluice-plan\", \"version\": 1, \"file\": \"x\", \"size\": %d, \"processes\": 4,\n",
            BYTES);
    fprintf(f, "\"targets\": [\".\", \".\", \".\", \".\", \".\"], \"groups\": [\n");
    for (int p = 0; p < 4; p++)
        fprintf(f, "{\"bytes\": \"{(%d,%d,10,100)}\", \"class\": \"private\", \"subfiles\": [%d], \"at\": [0]},\n",
                p * 1000 + 1, p * 1000 + 9, p);
    fprintf(f, "{\"bytes\": \"{(0,0,10,400)}\", \"class\": \"broadcast\", \"subfiles\": [2, 0, 1, 3], "
               "\"at\": [900, 900, 900, 900]}]}\n");
    fclose(f);
}

static void fill(int n, int salt) {
    for (int i = 0; i < n; i++) buf[i] = (unsigned char)(i * 13 + salt);
}

static void look(MPI_File f, const char *what) {
    MPI_Status s;
    const int from = below(BYTES), n = below(BYTES - from + 1);
    memset(buf, 0xAA, sizeof buf);
    if (below(2))
        GOOD(MPI_File_read_at_all(f, from, buf, n, MPI_BYTE, &s));
    else
        GOOD(MPI_File_read_at(f, from, buf, n, MPI_BYTE, &s));
    CHECK(count_of(&s, MPI_BYTE) == n);
    CHECK(!memcmp(buf, model + from, (size_t)n), "%s: bytes from %d on", what, from);
    meet(); /* before someone writes */
}

/* What all know: who writes where. Ranges of different processes do not meet. */
static void write_step(MPI_File f, int step) {
    const int together = below(2), stride = BYTES / size, len = 1 + below(stride), later = below(2);
    MPI_Request request;
    MPI_Status s;
    for (int r = 0; r < size; r++) {
        const int from = r * stride + below(stride - len + 1), salt = step * 17 + r;
        for (int i = 0; i < len; i++) model[from + i] = (unsigned char)(i * 13 + salt);
        if (r != rank) continue;
        fill(len, salt);
        if (together)
            GOOD(MPI_File_write_at_all(f, from, buf, len, MPI_BYTE, &s));
        else if (later) {
            GOOD(MPI_File_iwrite_at(f, from, buf, len, MPI_BYTE, &request));
            GOOD(MPI_Wait(&request, &s));
        } else
            GOOD(MPI_File_write_at(f, from, buf, len, MPI_BYTE, &s));
        CHECK(count_of(&s, MPI_BYTE) == len);
    }
    GOOD(MPI_File_sync(f));
    meet();
    GOOD(MPI_File_sync(f));
}

/* All write the same bytes at the same time: in atomic mode one of them whole, and all see the same. */
static void atomic_step(MPI_File f, int step) {
    unsigned char first[1] = {0};
    MPI_Status s;
    const int from = below(BYTES - 500), len = 500;
    GOOD(MPI_File_set_atomicity(f, 1));
    memset(buf, step + rank, (size_t)len);
    GOOD(MPI_File_write_at(f, from, buf, len, MPI_BYTE, &s));
    meet();
    GOOD(MPI_File_read_at(f, from, buf, len, MPI_BYTE, &s));
    for (int i = 1; i < len; i++) CHECK(buf[i] == buf[0], "a mixture in atomic mode at %d", i);
    first[0] = buf[0];
    MPI_Bcast(first, 1, MPI_BYTE, 0, MPI_COMM_WORLD);
    CHECK(first[0] == buf[0], "processes see different copies");
    memset(model + from, first[0], (size_t)len);
    GOOD(MPI_File_set_atomicity(f, 0));
    meet();
}

/* Longer, and back: what is new is zeros, and the rest as it was. */
static void resize_step(MPI_File f) {
    MPI_Offset length;
    MPI_Status s;
    const int more = 1 + below(1000), less = 1 + below(3000);
    GOOD(below(2) ? MPI_File_set_size(f, BYTES + more) : MPI_File_preallocate(f, BYTES + more));
    GOOD(MPI_File_get_size(f, &length));
    CHECK(length == BYTES + more);
    GOOD(MPI_File_read_at(f, BYTES, buf, more, MPI_BYTE, &s));
    CHECK(count_of(&s, MPI_BYTE) == more);
    for (int i = 0; i < more; i++) CHECK(buf[i] == 0, "byte %d behind the end", i);
    meet();
    GOOD(MPI_File_set_size(f, less));
    GOOD(MPI_File_set_size(f, BYTES));
    memset(model + less, 0, (size_t)(BYTES - less));
    look(f, "another size");
}

static void program(const char *name, int mode) {
    MPI_File f;
    MPI_Offset length;
    state = (uint64_t)(getenv("MPIIO_SEED") ? atoll(getenv("MPIIO_SEED")) : 1);
    GOOD(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &f));
    if (failures) return;
    GOOD(MPI_File_get_size(f, &length));
    CHECK(length == BYTES, "%lld", (long long)length);
    for (int step = 0; step < STEPS && !failures; step++) {
        const int what = step == STEPS / 2 ? 4 : below(4);
        if (what < 2)
            write_step(f, step);
        else if (what == 2)
            look(f, name);
        else if (what == 3)
            atomic_step(f, step);
        else
            resize_step(f);
    }
    GOOD(MPI_File_set_size(f, BYTES));
    GOOD(MPI_File_preallocate(f, BYTES / 2));
    GOOD(MPI_File_close(&f));
}

static void compare(const char *name) {
    FILE *f = fopen(name, "rb");
    CHECK(f && fread(buf, 1, sizeof buf, f) == BYTES && fgetc(f) == EOF, "%s", name);
    CHECK(!memcmp(buf, model, BYTES), "%s has other bytes", name);
    if (f) fclose(f);
}

int main(int argc, char **argv) {
    char plan[160], merged[160], line[700];
    begin(&argc, &argv, "mpiio_placed");
    snprintf(plan, sizeof plan, "%s.plan", path);
    snprintf(merged, sizeof merged, "%s.merged", path);
    if (rank == 0) {
        FILE *f = fopen(path, "wb");
        for (int i = 0; i < BYTES; i++) model[i] = (unsigned char)(i * 31 >> 3);
        CHECK(f && fwrite(model, 1, BYTES, f) == BYTES && !fclose(f));
        make_plan(plan);
        snprintf(line, sizeof line, "partition --plan %s %s", plan, path);
        command(line);
        unlink(path);
    }
    MPI_Bcast(model, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    meet();
    program(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
    meet();
    if (rank == 0) {
        CHECK(access(path, F_OK), "a new file hides the container");
        snprintf(line, sizeof line, "merge %s.sluice %s", path, merged);
        command(line);
        compare(merged);
        snprintf(line, sizeof line, "check %s.sluice", path);
        command(line);
        snprintf(line, sizeof line, "rm %s.sluice", path);
        command(line);
        unlink(merged);
        unlink(plan);
    }
    return end();
}
