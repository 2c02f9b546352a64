/* faults.c: what collective calls do when one system call of one process fails: Sluice beside MPI_File_* of the MPI
 * that the bench was built with, and the same calls with Sluice's door preloaded. Prints a table for docs/FAULTS.md.
 * Usage: faults [PROCESSES [LIBRARY]]
 *
 * Every case is an mpiexec of its own (MPIEXEC=... names another command), since it may hang: it has 20 seconds. The
 * processes share a matrix by columns; first they make the call as it should be, count their system calls on the file,
 * and choose the highest rank that made some. Then the file is set back, and the same call is made again while a call
 * in the middle of that rank's fails once. Everyone leaves a note of what it got. Then once more without a fault.
 *
 * The fault is the same for all libraries: pread, pwrite, preadv, pwritev, aio_read and aio_write of this program come
 * before those of the C library, and there is no io_uring, which would go past them. The full disk is a real one, a
 * small tmpfs; making it takes root.
 */
#include "sluice_mpi.h"
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 256, COLS = 512, SIZE = ROWS * COLS * 4, PATIENCE = 20, TINY = SIZE / 2, MAX_RANKS = 64 };

/* ---- System calls that fail ------------------------------------------------------------------------------------- */

static struct {
    dev_t device;
    ino_t inode; /* the file that is watched */
    bool write;  /* reads count, or writes */
    _Atomic int calls, at;
    int error; /* SHORT: moves half; 0: moves nothing */
} fault;
enum { SHORT = -1 };

/* Whether this call is the one; *n becomes what it returns, or *most what it may move. */
static bool strikes(int fd, bool write, size_t *most, ssize_t *n) {
    struct stat st;
    if (!fault.inode || write != fault.write || fstat(fd, &st) || st.st_ino != fault.inode || st.st_dev != fault.device)
        return false;
    if (++fault.calls != fault.at) return false;
    if (fault.error == SHORT) {
        *most = (*most + 1) / 2;
        return false;
    }
    *n = fault.error ? -1 : 0;
    errno = fault.error ? fault.error : errno;
    return true;
}

ssize_t pread(int fd, void *buf, size_t len, off_t off) {
    ssize_t n;
    return strikes(fd, false, &len, &n) ? n : syscall(SYS_pread64, fd, buf, len, off);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off) {
    ssize_t n;
    return strikes(fd, true, &len, &n) ? n : syscall(SYS_pwrite64, fd, buf, len, off);
}

/* A vector, of which half means half of the first piece. */
static ssize_t vector(int fd, const struct iovec *v, int nv, off_t off, bool write) {
    ssize_t n;
    struct iovec half = *v;
    if (strikes(fd, write, &half.iov_len, &n)) return n;
    if (half.iov_len < v->iov_len) v = &half, nv = 1;
    return syscall(write ? SYS_pwritev : SYS_preadv, fd, v, nv, off, 0);
}

ssize_t preadv(int fd, const struct iovec *v, int nv, off_t off) { return vector(fd, v, nv, off, false); }
ssize_t pwritev(int fd, const struct iovec *v, int nv, off_t off) { return vector(fd, v, nv, off, true); }

/* Done at once, with the result that would have come later. */
static int asynchronous(struct aiocb *c, bool write) {
    void *buf = (void *)(uintptr_t)c->aio_buf;
    ssize_t n = write ? pwrite(c->aio_fildes, buf, c->aio_nbytes, c->aio_offset)
                      : pread(c->aio_fildes, buf, c->aio_nbytes, c->aio_offset);
    c->__error_code = n < 0 ? errno : 0;
    c->__return_value = n;
    return 0;
}

int aio_read(struct aiocb *c) { return asynchronous(c, false); }
int aio_write(struct aiocb *c) { return asynchronous(c, true); }

/* As on a system that has none. */
static void without_uring(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* ---- Cases ------------------------------------------------------------------------------------------------------ */

typedef struct trouble {
    const char *name;
    bool write, full; /* full: the disk is; no call is touched */
    int error;
} trouble;
static const trouble troubles[] = {
    {"write, EIO", true, false, EIO},
    {"write, ENOSPC", true, false, ENOSPC},
    {"write, EINTR", true, false, EINTR},
    {"write, half is written", true, false, SHORT},
    {"write, nothing is written", true, false, 0},
    {"write, disk full", true, true, 0},
    {"read, EIO", false, false, EIO},
    {"read, EINTR", false, false, EINTR},
    {"read, half is read", false, false, SHORT},
};
enum { NTROUBLES = sizeof troubles / sizeof *troubles };

static unsigned char old_byte(int64_t x) { return (unsigned char)(x % 97); }
static unsigned char new_byte(int64_t x) { return (unsigned char)(100 + x * 7 % 151); }

static char folder[200], path[256]; /* where the file lies; notes lie in `folder` */
static int rank, size;

static void note(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(const char *name, const char *format, ...) {
    char file[300];
    va_list args;
    snprintf(file, sizeof file, "%s/%s.%d", folder, name, rank);
    FILE *f = fopen(file, "w");
    if (!f) return;
    va_start(args, format);
    vfprintf(f, format, args);
    va_end(args);
    fclose(f);
}

/* Our columns: every other one of a share, so that half of the file is named. */
static int64_t mine(int64_t k) { return 2 * (k * size + rank); }
static int64_t share(void) { return COLS / 2 / size; }
static int64_t at(int64_t row, int64_t k) { return (row * COLS + mine(k)) * 4; }

/* One library's handle and calls; 0 or its error, whose name is left in `text`. */
typedef struct library {
    const char *name;
    int (*open)(void);
    int (*move)(bool write, unsigned char *buf);
    bool door; /* with the door preloaded */
} library;
static char text[300];

static sluice_array *array;

static int sluice_result(int err) {
    const char *name = err < 0 && err > -1000 ? strerrorname_np(-err) : NULL;
    snprintf(text, sizeof text, "%s", err ? name ? name : "error" : "ok");
    return err;
}

static int open_sluice(void) {
    sluice_desc d = {.shape = {2, SLUICE_ROW_MAJOR, 4, 0, {ROWS, COLS}}};
    sluice_options o = {.size = sizeof o, .store = SLUICE_STORE_POSIX, .no_map = 1, .memory = 64 << 10};
    o.together.way = SLUICE_WAY_TWO_PHASE;
    o.together.aggregators = size;
    return sluice_open_all(&array, MPI_COMM_WORLD, path, SLUICE_WRITE, &d, &o);
}

static int move_sluice(bool write, unsigned char *buf) {
    sluice_range r[2] = {{0, ROWS, 1}, {mine(0), share(), 2 * size}};
    return sluice_result(write ? sluice_write_all(array, r, buf) : sluice_read_all(array, r, buf));
}

static MPI_File file;

/* All processes may be aggregators, with buffers as small as Sluice's, and no mapping in place of system calls. */
static int open_mpi(void) {
    static const char *const hint[][2] = {{"romio_cb_write", "enable"}, {"romio_cb_read", "enable"},
                                          {"romio_ds_write", "enable"}, {"romio_ds_read", "enable"},
                                          {"cb_config_list", "*:*"},    {"cb_buffer_size", "32768"}};
    MPI_Info info;
    MPI_Datatype columns;
    char n[20];
    MPI_Info_create(&info);
    for (size_t i = 0; i < sizeof hint / sizeof *hint; i++) MPI_Info_set(info, hint[i][0], hint[i][1]);
    snprintf(n, sizeof n, "%d", size);
    MPI_Info_set(info, "cb_nodes", n);
    int err = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &file);
    if (err) return err;
    MPI_Type_vector((int)share(), 1, 2 * size, MPI_INT, &columns);
    MPI_Type_create_resized(columns, 0, COLS * 4, &columns);
    MPI_Type_commit(&columns);
    return MPI_File_set_view(file, mine(0) * 4, MPI_INT, columns, "native", info);
}

static int move_mpi(bool write, unsigned char *buf) {
    MPI_Status status;
    int n = (int)share() * ROWS, got = -1, class;
    int err = write ? MPI_File_write_at_all(file, 0, buf, n, MPI_INT, &status)
                    : MPI_File_read_at_all(file, 0, buf, n, MPI_INT, &status);
    snprintf(text, sizeof text, "ok");
    if (err) {
        MPI_Error_class(err, &class);
        snprintf(text, sizeof text, "MPI_ERR_%s",
                 class == MPI_ERR_IO         ? "IO"
                 : class == MPI_ERR_NO_SPACE ? "NO_SPACE"
                                             : "OTHER");
        return err;
    }
    MPI_Get_count(&status, MPI_INT, &got);
    if (got != n) snprintf(text, sizeof text, "ok, short count");
    return 0;
}

enum { SLUICE, HOST, DOOR };
static const library libraries[] = {{"Sluice", open_sluice, move_sluice, false},
                                    {"MPI_File", open_mpi, move_mpi, false},
                                    {"MPI_File through the door", open_mpi, move_mpi, true}};

/* ---- A process of a case ---------------------------------------------------------------------------------------- */

static unsigned char content[SIZE];

static void set_file(bool full) {
    for (int64_t x = 0; x < SIZE; x++) content[x] = old_byte(x);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || (full ? ftruncate(fd, SIZE) : write(fd, content, SIZE) != SIZE)) MPI_Abort(MPI_COMM_WORLD, 1);
    close(fd);
}

static void fill(bool write, unsigned char *buf) {
    for (int64_t i = 0, n = 0; i < ROWS; i++)
        for (int64_t k = 0; k < share(); k++)
            for (int b = 0; b < 4; b++) buf[n++] = write ? new_byte(at(i, k) + b) : 0xFF;
}

static bool buffer_right(const unsigned char *buf) {
    for (int64_t i = 0, n = 0; i < ROWS; i++)
        for (int64_t k = 0; k < share(); k++)
            for (int b = 0; b < 4; b++)
                if (buf[n++] != old_byte(at(i, k) + b)) return false;
    return true;
}

/* The file after a write: new, partly new, or changed where nobody wrote. */
static const char *judge_file(bool full) {
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, content, SIZE) != SIZE) return "file cut";
    close(fd);
    bool all = true;
    for (int64_t x = 0; x < SIZE; x++) {
        bool named = x / 4 % COLS % 2 == 0 && x / 4 % COLS / 2 < share() * size, new = content[x] == new_byte(x);
        unsigned char old = full ? 0 : old_byte(x);
        if (content[x] != old && !(named && new)) return "damaged";
        all &= new || !named;
    }
    return all ? "right" : "partly new";
}

static int child(const library *l, const trouble *t) {
    unsigned char *buf = malloc(SIZE);
    struct stat st;
    int calls, all[MAX_RANKS], victim = -1;
    without_uring();
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!buf || size > MAX_RANKS) MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) set_file(t->full);
    MPI_Barrier(MPI_COMM_WORLD);
    if (l->open() || stat(path, &st)) MPI_Abort(MPI_COMM_WORLD, 1);
    fault.write = t->write;
    fault.device = st.st_dev;
    fault.inode = st.st_ino;
    if (!t->full) {
        fill(t->write, buf);
        if (l->move(t->write, buf)) MPI_Abort(MPI_COMM_WORLD, 1);
        calls = fault.calls;
        MPI_Allgather(&calls, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++)
            if (all[r]) victim = r;
        if (rank == 0) note("victim", "%d", victim);
        if (rank == 0) set_file(false);
    }
    fill(t->write, buf);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) {
        fault.error = t->error;
        fault.at = fault.calls + (calls + 1) / 2;
    }
    int err = l->move(t->write, buf);
    bool struck = rank != victim || fault.calls >= fault.at;
    fault.at = 0;
    bool wrong = !t->write && !err && !buffer_right(buf);
    note("got", "%s%s%s", text, wrong ? ", wrong data" : "", struck ? "" : ", no fault");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && t->write) note("file", "%s", judge_file(t->full));
    if (!t->full) {
        fill(t->write, buf);
        err = l->move(t->write, buf);
        MPI_Barrier(MPI_COMM_WORLD);
        bool right = t->write ? !strcmp(judge_file(false), "right") : buffer_right(buf);
        note("again", "%s", err ? "error" : right ? "right" : "wrong");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0); /* what closing does after a failure is another question */
}

/* ---- The table -------------------------------------------------------------------------------------------------- */

static bool ended;       /* the case did so by itself */
static const char *only; /* this library, if given */

static const char *read_note(const char *name, int r, char *out, size_t cap) {
    char where[300];
    snprintf(where, sizeof where, "%s/%s.%d", folder, name, r);
    FILE *f = fopen(where, "r");
    if (!f || !fgets(out, (int)cap, f)) snprintf(out, cap, ended ? "died" : "hangs");
    if (f) fclose(f);
    unlink(where);
    return out;
}

/* Notes of all ranks, equal ones together: "all EIO", or "0-2 ok, 3 EIO". */
static void gather_notes(const char *name, int procs, char *out, size_t cap) {
    static char got[MAX_RANKS + 1][300];
    size_t used = 0;
    for (int r = 0; r < procs; r++) read_note(name, r, got[r], sizeof got[r]);
    got[procs][0] = 0;
    for (int first = 0, r = 1; r <= procs && used < cap; r++) {
        if (!strcmp(got[r], got[first])) continue;
        const char *comma = first ? "; " : "";
        if (first == 0 && r == procs)
            used += (size_t)snprintf(out + used, cap - used, "all: %s", got[first]);
        else if (r - first == 1)
            used += (size_t)snprintf(out + used, cap - used, "%s%d: %s", comma, first, got[first]);
        else
            used += (size_t)snprintf(out + used, cap - used, "%s%d-%d: %s", comma, first, r - 1, got[first]);
        first = r;
    }
}

/* Runs a command for at most PATIENCE seconds; true if it ended by itself. */
static bool run(char *const *argv) {
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0), dup2(null, 1), dup2(null, 2);
        execvp(argv[0], argv);
        _exit(127);
    }
    for (int i = 0; i < PATIENCE * 20; i++) {
        if (waitpid(pid, NULL, WNOHANG) == pid) return true;
        nanosleep(&(struct timespec){0, 50 * 1000 * 1000}, NULL);
    }
    kill(-pid, SIGTERM);
    nanosleep(&(struct timespec){1, 0}, NULL);
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return false;
}

static void one_case(char *self, int l, const char *io, int t, int procs) {
    if (only && strcmp(only, libraries[l].name)) return;
    char line[500], number[20], which[20], trouble_number[20], got[600], again[300], file_note[100], *argv[40];
    const char *given = getenv("MPIEXEC");
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0, len;
    MPI_Get_library_version(version, &len);
    bool open_mpi_ = strstr(version, "Open MPI") != NULL;
    snprintf(line, sizeof line, "%s",
             given       ? given
             : open_mpi_ ? "mpiexec.openmpi --allow-run-as-root --oversubscribe --bind-to none"
                         : "mpiexec.mpich");
    for (char *word = strtok(line, " "); word && n < 20; word = strtok(NULL, " ")) argv[n++] = word;
    static char mca[] = "--mca", module[] = "io", processes[] = "-n", as_child[] = "--child";
    char io_name[20] = "";
    if (io) {
        snprintf(io_name, sizeof io_name, "%s", io);
        argv[n++] = mca, argv[n++] = module, argv[n++] = io_name;
    }
    snprintf(number, sizeof number, "%d", procs);
    snprintf(which, sizeof which, "%d", l);
    snprintf(trouble_number, sizeof trouble_number, "%d", t);
    static char environment[] = "env", preload[] = "LD_PRELOAD=" BENCH_DOOR, nothing[] = "LD_PRELOAD=";
    char *rest[] = {processes, number,   environment, libraries[l].door ? preload : nothing,
                    self,      as_child, which,       trouble_number,
                    folder,    path,     NULL};
    memcpy(argv + n, rest, sizeof rest);
    ended = run(argv);
    char victim[300];
    read_note("victim", 0, victim, sizeof victim);
    gather_notes("got", procs, got, sizeof got);
    read_note("file", 0, file_note, sizeof file_note);
    gather_notes("again", procs, again, sizeof again);
    if (!troubles[t].write) snprintf(file_note, sizeof file_note, "-");
    if (troubles[t].full) snprintf(again, sizeof again, "-"), snprintf(victim, sizeof victim, "-");
    printf("| %s | %s%s%s | %s | %s | %s | %s |\n", troubles[t].name, libraries[l].name, io ? ", " : "", io ? io : "",
           victim, got, file_note, again);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc > 5 && !strcmp(argv[1], "--child")) {
        snprintf(folder, sizeof folder, "%s", argv[4]);
        snprintf(path, sizeof path, "%s", argv[5]);
        return child(&libraries[atoi(argv[2])], &troubles[atoi(argv[3])]);
    }
    int procs = argc > 1 ? atoi(argv[1]) : 4, len;
    only = argc > 2 ? argv[2] : NULL;
    char version[MPI_MAX_LIBRARY_VERSION_STRING], disk[230];
    MPI_Get_library_version(version, &len);
    version[strcspn(version, "\n,")] = 0;
    if (procs < 2 || procs > MAX_RANKS) return 2;
    snprintf(folder, sizeof folder, "/tmp/sluice-faults-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(disk, sizeof disk, "%s/disk", folder);
    mkdir(disk, 0700);
    char options[40];
    snprintf(options, sizeof options, "size=%d", TINY);
    bool small = !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
                 !mount("tmpfs", disk, "tmpfs", 0, options);
    printf("%s, %d processes\n\n| case | library | rank that fails | each rank got | file then | same call again |\n",
           version, procs);
    printf("|---|---|---|---|---|---|\n");
    for (int t = 0; t < NTROUBLES; t++) {
        if (troubles[t].full && !small) continue;
        snprintf(path, sizeof path, "%s/file", troubles[t].full ? disk : folder);
        one_case(argv[0], SLUICE, NULL, t, procs);
        one_case(argv[0], DOOR, NULL, t, procs);
        one_case(argv[0], HOST, strstr(version, "Open MPI") ? "ompio" : NULL, t, procs);
        if (strstr(version, "Open MPI")) one_case(argv[0], HOST, "romio321", t, procs);
        unlink(path);
    }
    if (small) umount(disk);
    rmdir(disk);
    rmdir(folder);
    return 0;
}
