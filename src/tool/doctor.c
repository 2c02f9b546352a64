/* doctor.c: `sluice doctor`: what the machine and a folder offer, found by trying, and what to expect of it.
 *
 * A file without a name is made in the folder, asked for everything that the library would like to have, and goes with
 * its descriptor. What is missing is no error: the library does without, and the last lines say at what price.
 */
#include "store/store.h"
#include "tool/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { PROBE = 1 << 20 };

/* What is worth saying in the end, one sentence each. */
typedef struct advice {
    const char *line[16];
    int n;
} advice;

static void advise(advice *a, const char *line) {
    if (a->n < (int)(sizeof a->line / sizeof *a->line)) a->line[a->n++] = line;
}

/* ---- the machine ---- */

/* What getrlimit() said: -1: no limit. */
static int64_t limit_of(int failed, const struct rlimit *r) {
    return failed || r->rlim_cur == RLIM_INFINITY || r->rlim_cur > INT64_MAX ? -1 : (int64_t)r->rlim_cur;
}

/* The number in a file, or -1. */
static int64_t number_in(const char *path) {
    FILE *f = fopen(path, "re");
    long long n = -1;
    if (!f) return -1;
    if (fscanf(f, "%lld", &n) != 1) n = -1;
    fclose(f);
    return n;
}

/* The least memory that the control groups of this process leave it, from its own up to the root; -1: no limit. */
static int64_t group_limit(void) {
    char line[512], path[640];
    int64_t least = -1;
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (!f) return -1;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "0::/", 4)) continue;
        line[strcspn(line, "\n")] = 0;
        for (char *group = line + 3, *slash; *group; *slash = 0) {
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
            const int64_t n = number_in(path);
            if (n >= 0 && (least < 0 || n < least)) least = n;
            slash = strrchr(group, '/');
        }
    }
    fclose(f);
    return least;
}

static void say_limit(const char *name, int64_t n) {
    if (n >= 0) printf("; %s %s", name, words_bytes(n));
}

static void say_machine(advice *a) {
    struct rlimit r;
    const int64_t page = sysconf(_SC_PAGESIZE), group = group_limit();
    const int64_t files = limit_of(getrlimit(RLIMIT_NOFILE, &r), &r);
    const int64_t addresses = limit_of(getrlimit(RLIMIT_AS, &r), &r);
    const int64_t longest = limit_of(getrlimit(RLIMIT_FSIZE, &r), &r);
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len, major = 0, minor = 0;
    MPI_Get_library_version(mpi, &len);
    MPI_Get_version(&major, &minor);
    mpi[strcspn(mpi, ",\n")] = 0;
    for (char *c = mpi; *c; c++)
        if (*c == '\t') *c = ' ';
    printf("sluice    %s, built for %s (MPI %d.%d)\n", sluice_version(), mpi, major, minor);
    printf("machine   %ld processors, %s of memory, %s free", sysconf(_SC_NPROCESSORS_ONLN),
           words_bytes(sysconf(_SC_PHYS_PAGES) * page), words_bytes(sysconf(_SC_AVPHYS_PAGES) * page));
    say_limit("this control group may have", group);
    say_limit("addresses are limited to", addresses);
    say_limit("files are limited to", longest);
    printf("\n");
    if (files >= 0) printf("          %lld files open at once\n", (long long)files);
    if (files >= 0 && files < 1024)
        advise(a, "a container needs an open file for each subfile: `ulimit -n` is low for many of them");
    if (group >= 0 && group < INT64_C(256) << 20)
        advise(a, "memory is short: each handle takes up to 64 MiB for buffers unless it is told less (--memory)");
    if (addresses >= 0)
        advise(a,
               "addresses are limited: files that do not fit are not mapped, and cached ones then take system calls");
}

/* ---- shared memory ---- */

static void say_shared(advice *a) {
    char name[64];
    struct statfs s;
    snprintf(name, sizeof name, "/sluice-doctor-%ld", (long)getpid());
    const int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), error = errno;
    if (fd >= 0) shm_unlink(name);
    if (fd < 0) {
        printf("shared    no memory for several processes: %s\n", strerror(error));
        advise(a, "without shared memory the processes of a node cannot open arrays together");
        return;
    }
    if (fstatfs(fd, &s)) s.f_bavail = 0;
    close(fd);
    const int64_t room = (int64_t)s.f_bavail * (int64_t)s.f_bsize;
    printf("shared    memory for the processes of a node: %s free\n", words_bytes(room));
    if (room < INT64_C(64) << 20)
        advise(
            a,
            "shared memory is short (containers: --shm-size): collective calls take windows from it, up to --memory");
}

/* ---- the folder ---- */

static const char *system_name(long type) {
    static const struct {
        long type;
        const char *name;
    } known[] = {{0xEF53, "ext4"},           {0x58465342, "xfs"},     {0x9123683E, "btrfs"},
                 {0x01021994, "tmpfs"},      {0x6969, "nfs"},         {0x0BD00BD0, "lustre"},
                 {0x47504653, "gpfs"},       {0x794c7630, "overlay"}, {0x65735546, "fuse"},
                 {0x2FC12FC1, "zfs"},        {0x00C36400, "ceph"},    {0xFE534D42, "smb"},
                 {(long)0xFF534D42, "cifs"}, {0x19830326, "beegfs"},  {0x01021997, "9p (virtual)"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == (type & (long)0xFFFFFFFF)) return known[i].name;
    return "a file system without a name here";
}

static bool can_lock(int fd) {
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    return !fcntl(fd, F_OFD_SETLK, &l);
}

static bool can_map(int fd) {
    void *p = mmap(NULL, PROBE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return false;
    const bool ok = !madvise(p, PROBE, MADV_POPULATE_READ);
    munmap(p, PROBE);
    return ok;
}

static bool can_bypass(int fd) {
    const int flags = fcntl(fd, F_GETFL);
    const bool ok = flags >= 0 && !fcntl(fd, F_SETFL, flags | O_DIRECT);
    if (ok) fcntl(fd, F_SETFL, flags);
    return ok;
}

/* Whether a hole takes no room: a file of a hole and a page has few blocks. */
static bool can_skip(int fd) {
    struct stat s;
    return !ftruncate(fd, INT64_C(1) << 32) && !fstat(fd, &s) && s.st_blocks * INT64_C(512) < (INT64_C(1) << 31);
}

/* What opening a file for the library gives: which kind of store it is, and what it costs. */
static void say_store(const char *path, advice *a) {
    sluice_store *s;
    sluice_reason why;
    if (sluice_store_open(&s, path, SLUICE_STORE_READ, &why)) {
        unlink(path);
        report_failure("%s", why.text);
    }
    printf("          %s, %d in flight; a cached read takes %.2f us, and its bytes come at %.1f GB/s\n", s->ops->name,
           s->facts.depth, 1e6 * s->facts.call, s->facts.byte > 0 ? 1e-9 / s->facts.byte : 0);
    if (strcmp(s->ops->name, "io_uring"))
        advise(
            a,
            "no io_uring (an old kernel, or it is not allowed): many small cold pieces are read one after the other");
    sluice_store_close(s);
}

static void say_folder(const char *folder, const struct statfs *s, advice *a) {
    char name[4096];
    const char *kind = system_name((long)s->f_type);
    printf("folder    %s: %s, %s free, blocks of %ld bytes\n", folder, kind,
           words_bytes((int64_t)s->f_bavail * (int64_t)s->f_bsize), (long)s->f_bsize);
    if (snprintf(name, sizeof name, "%s/.sluice-doctor-XXXXXX", folder) >= (int)sizeof name)
        report_usage("the name of the folder is too long");
    const int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) {
        printf("          no file can be made there: %s\n", strerror(errno));
        advise(a, "what the folder can do was not tried; arrays that are there can be read");
        return;
    }
    const int error = ftruncate(fd, PROBE) ? errno : 0;
    if (!error) say_store(name, a);
    unlink(name);
    if (error) report_failure("%s: %s", folder, strerror(error));
    const bool lock = can_lock(fd), map = can_map(fd), bypass = can_bypass(fd), skip = can_skip(fd);
    close(fd);
    printf("          locks of ranges: %s; mapping: %s; past the cache: %s; holes that take no room: %s\n",
           lock ? "yes" : "no", map ? "yes" : "no", bypass ? "yes" : "no", skip ? "yes" : "no");
    if (!lock)
        advise(a,
               "ranges cannot be locked: processes that write alone never move what lies between along, so that short "
               "pieces take a call each; collective writes do not need locks");
    if (!map) advise(a, "files cannot be mapped: reads of what is cached take system calls");
    if (!skip) advise(a, "holes take room: a new array takes all its bytes at once");
    if (!strcmp(kind, "tmpfs"))
        advise(a, "the folder is in memory: what is written there takes memory, and goes with it");
    if (!strcmp(kind, "nfs") || !strcmp(kind, "cifs") || !strcmp(kind, "smb"))
        advise(a, "a network file system: processes on several nodes see each other's writes after sluice_sync() or "
                  "close only; locks cost a message each, so collective calls gain most");
}

static int doctor_run(const options *o, int n, char **argument) {
    const char *folder = n ? argument[0] : ".";
    advice a = {.n = 0};
    struct statfs s;
    struct stat kind;
    (void)o;
    if (stat(folder, &kind) || statfs(folder, &s)) report_usage("%s: %s", folder, strerror(errno));
    if (!S_ISDIR(kind.st_mode)) report_usage("%s: not a folder", folder);
    say_machine(&a);
    say_shared(&a);
    say_folder(folder, &s, &a);
    printf("expect    %s\n", a.n ? a.line[0] : "nothing is missing");
    for (int i = 1; i < a.n; i++) printf("          %s\n", a.line[i]);
    return 0;
}

const command doctor_command = {
    "doctor",
    "[FOLDER]",
    "Says what this machine and a folder offer, and what to expect",
    "Looks at the MPI, processors, memory and its limits, shared memory, and at the folder in which arrays are to lie\n"
    "(the present one if none is named): its file system, and by a small file that goes again, io_uring, locks,\n"
    "mapping, holes, and what a call costs. Then says what is missing, and what that means.\n"
    "\n"
    "example:\n"
    "  sluice doctor /scratch\n",
    "",
    0,
    1,
    doctor_run,
};
