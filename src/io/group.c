/* group.c: making a group. Only here and in the messages between leaders is MPI called. */
#include "io/group.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Bytes of address space in a segment, of which little is ever used: for windows at most (no plan has more), and for
 * requests. */
enum { PAGE = 4096, NAME = 64, WINDOWS = 1 << 30, REQUESTS = 256 << 20 };

/* ---- Memory -------------------------------------------------------------------------------------------------- */

static int64_t whole_pages(int64_t n) { return sluice_ceil_div(n, PAGE) * PAGE; }

/* Address space for n bytes of a file, or of no file; NULL if there is none. */
static void *map(int64_t n, int fd) {
    int flags = MAP_SHARED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);
    void *p = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE, flags, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* A file of n bytes in shared memory under a name that no one has; a descriptor or negative. */
static int make_shared(char *name, int64_t n, int64_t head) {
    for (int i = 0; i < 100; i++) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        snprintf(name, NAME, "/sluice-%ld-%09ld-%d", (long)getpid(), t.tv_nsec, i);
        int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd < 0 && errno == EEXIST) continue;
        if (fd < 0) return -errno;
        if (ftruncate(fd, n) || posix_fallocate(fd, 0, head)) {
            close(fd);
            shm_unlink(name);
            return -ENOMEM;
        }
        return fd;
    }
    return -EEXIST;
}

/* Maps the shared memory of a node; false unless all of its processes could. */
static bool share(sluice_group *g, MPI_Comm node, int64_t head) {
    char name[NAME] = "";
    int fd = -1, good;
    bool may = sluice_mem_charge(0);
    if (g->local == 0 && may) fd = make_shared(name, g->span, head);
    if (g->local == 0 && fd < 0) name[0] = 0;
    MPI_Bcast(name, NAME, MPI_CHAR, 0, node);
    if (g->local > 0 && may && name[0]) fd = shm_open(name, O_RDWR, 0);
    void *p = fd >= 0 ? map(g->span, fd) : NULL;
    int mine = p != NULL;
    MPI_Allreduce(&mine, &good, 1, MPI_INT, MPI_MIN, node);
    if (g->local == 0 && fd >= 0) shm_unlink(name);
    if (good)
        g->bell = p;
    else if (p)
        munmap(p, (size_t)g->span);
    if (fd >= 0) {
        if (good)
            g->fd = fd;
        else
            close(fd);
    }
    return good;
}

int sluice_group_reserve(sluice_group *g, sluice_area area, int64_t n) {
    int64_t have = g->reserved[area], end = area == SLUICE_AREA_DATA ? g->start[1] : g->segment;
    if (n <= have) return 0;
    if (n > end - g->start[area]) return -ENOMEM;
    n = whole_pages(n);
    if (!sluice_mem_charge(n - have)) return -ENOMEM;
    int64_t at = sluice_group_area(g, g->local, area) - (unsigned char *)g->bell;
    int err = 0;
    if (g->fd >= 0) do
            err = posix_fallocate(g->fd, at + have, n - have);
        while (err == EINTR);
    if (err) {
        sluice_mem_discharge(n - have);
        return -ENOMEM;
    }
    g->reserved[area] = n;
    return 0;
}

unsigned char *sluice_group_area(const sluice_group *g, int local, sluice_area area) {
    return g->segments + local * g->segment + g->start[area];
}

/* ---- Who is where -------------------------------------------------------------------------------------------- */

/* The processes that share memory with this one, or that pretend to; each its own node if `apart`. */
static MPI_Comm split(MPI_Comm comm, int rank, int size, int nodes, bool apart) {
    MPI_Comm machine, node;
    if (apart || nodes >= size) {
        MPI_Comm_split(comm, rank, 0, &node);
        return node;
    }
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
    if (nodes <= 1) return machine;
    MPI_Comm_split(machine, (int)((int64_t)rank * nodes / size), rank, &node);
    MPI_Comm_free(&machine);
    return node;
}

/* Simulated processes are one thread: none may wait for another except in MPI, so that each is a node of its own. */
static bool simulated(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int n;
    MPI_Get_library_version(version, &n);
    return !strncmp(version, "SMPI ", 5);
}

/* Fills in who is where; the nodes are numbered by their leaders. */
static void settle(sluice_group *g, MPI_Comm node) {
    MPI_Comm_rank(node, &g->local);
    MPI_Comm_size(node, &g->nlocal);
    MPI_Comm_split(g->comm, g->local == 0 ? 0 : MPI_UNDEFINED, g->rank, &g->leaders);
    int where[2] = {0, 1};
    if (g->local == 0) {
        MPI_Comm_rank(g->leaders, &where[0]);
        MPI_Comm_size(g->leaders, &where[1]);
    }
    MPI_Bcast(where, 2, MPI_INT, 0, node);
    g->node = where[0];
    g->nnodes = where[1];
    MPI_Allgather(&g->node, 1, MPI_INT, g->node_of, 1, MPI_INT, g->comm);
    /* Sorted by counting: count[n] is where the ranks of node n start. */
    int *start = g->count;
    memset(start, 0, ((size_t)g->nnodes + 1) * sizeof *start);
    for (int r = 0; r < g->size; r++) start[g->node_of[r] + 1]++;
    for (int n = 0; n < g->nnodes; n++) start[n + 1] += start[n];
    g->member = g->by_node + start[g->node];
    for (int r = 0; r < g->size; r++) g->by_node[start[g->node_of[r]]++] = r;
}

/* The cores that the processes of the node have together; the fewest of all nodes. */
static int count_cores(MPI_Comm comm, MPI_Comm node) {
    cpu_set_t mine, all;
    int n, least;
    if (sched_getaffinity(0, sizeof mine, &mine)) memset(&mine, 0, sizeof mine);
    MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, node);
    n = CPU_COUNT(&all);
    MPI_Allreduce(&n, &least, 1, MPI_INT, MPI_MIN, comm);
    return least > 0 ? least : 1;
}

/* One attempt; 1 if the processes of some node cannot share memory. */
static int attempt(sluice_group *g, int nodes, bool apart) {
    MPI_Comm node = split(g->comm, g->rank, g->size, nodes, apart);
    settle(g, node);
    g->cores = count_cores(g->comm, node);
    int64_t head = whole_pages((int64_t)sluice_bell_size(g->nlocal));
    g->span = head + g->nlocal * g->segment;
    bool good = true;
    if (g->nlocal == 1) {
        g->bell = sluice_mem_charge(0) ? map(g->span, -1) : NULL;
        good = g->bell != NULL;
    } else {
        good = share(g, node, head);
    }
    MPI_Comm_free(&node);
    int mine = good, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, g->comm);
    if (all) {
        g->segments = (unsigned char *)g->bell + head;
        return 0;
    }
    if (good) munmap(g->bell, (size_t)g->span);
    if (g->fd >= 0) close(g->fd);
    g->fd = -1;
    g->bell = NULL;
    if (g->leaders != MPI_COMM_NULL) MPI_Comm_free(&g->leaders);
    return apart ? -ENOMEM : 1;
}

int sluice_group_open(sluice_group **out, MPI_Comm comm, int64_t memory, int nodes, sluice_reason *why) {
    int size, rank;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    const size_t each = 2 * sizeof(MPI_Request) + 6 * sizeof(int);
    sluice_group *g = sluice_mem_alloc(1, sizeof *g + (size_t)size * each + sizeof(int));
    enum { HAVE, MEMORY, NOT_MEMORY, NODES, NOT_NODES, N };
    int64_t mine[N] = {g != NULL, memory, -memory, nodes, -nodes}, all[N];
    MPI_Allreduce(mine, all, N, MPI_INT64_T, MPI_MIN, comm);
    int err = 0;
    if (!all[HAVE])
        err = sluice_refuse(why, -ENOMEM, -1, "no memory for a group of %d processes", size);
    else if (all[MEMORY] >= 0 && (all[MEMORY] != -all[NOT_MEMORY] || all[NODES] != -all[NOT_NODES]))
        err =
            sluice_refuse(why, SLUICE_E_MISMATCH, -1, "processes differ in their limits of memory or numbers of nodes");
    if (err) {
        sluice_mem_free(g);
        return err;
    }
    if (all[MEMORY] < 0) memory = nodes = 0;
    memset(g, 0, sizeof *g);
    g->rank = rank;
    g->size = size;
    g->start[SLUICE_AREA_REQUESTS] = whole_pages(sluice_min(memory, WINDOWS));
    g->segment = g->start[SLUICE_AREA_REQUESTS] + REQUESTS;
    g->may_poll = true;
    g->fd = -1;
    g->pending = (MPI_Request *)(g + 1);
    g->node_of = (int *)(g->pending + 2 * size);
    g->by_node = g->node_of + size;
    g->count = g->by_node + size;
    g->leaders = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &g->comm);
    err = attempt(g, nodes, simulated());
    if (err > 0) err = attempt(g, nodes, true);
    if (!err) {
        if (g->local == 0) sluice_bell_start(g->bell);
        MPI_Barrier(g->comm);
        *out = g;
        return 0;
    }
    MPI_Comm_free(&g->comm);
    sluice_mem_free(g);
    return sluice_refuse(why, err, -1, "no memory to share for a group of %d processes", size);
}

void sluice_group_close(sluice_group *g) {
    if (!g) return;
    sluice_group_meet(g); /* no one is still looking at our segment */
    munmap(g->bell, (size_t)g->span);
    if (g->fd >= 0) close(g->fd);
    sluice_mem_discharge(g->reserved[0] + g->reserved[1]);
    if (g->leaders != MPI_COMM_NULL) MPI_Comm_free(&g->leaders);
    MPI_Comm_free(&g->comm);
    sluice_mem_free(g);
}
