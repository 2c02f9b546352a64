/* worker.c: the contest on one process. Whatever decides who runs next is on the board, so that all do the same. */
#include "bench.h"
#include "contend.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static void die(const job *j, const char *what) {
    fprintf(stderr, "%s: process %d: %s\n", j->contest->name, j->rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- Time ---- */

static double cpu_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds that all processors have worked. */
static double machine_time(void) {
    unsigned long long user = 0, nice = 0, system = 0, idle, wait, irq = 0, soft = 0;
    FILE *f = fopen("/proc/stat", "r");
    int n =
        f ? fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq, &soft) : 0;
    if (f) fclose(f);
    return n < 7 ? 0 : (double)(user + nice + system + irq + soft) * 1e9 / (double)sysconf(_SC_CLK_TCK);
}

static double own_time(job *j) {
    double sum = 0;
    j->board->slot[j->rank].cpu = cpu_time();
    board_meet(j->board);
    for (int r = 0; r < j->nranks; r++) sum += j->board->slot[r].cpu;
    board_meet(j->board);
    return sum;
}

/* From the first start to the last end. */
static double elapsed(const board *b) {
    double start = 0, end = 0;
    bool any = false;
    for (int r = 0; r < b->nranks; r++) {
        const slot *s = &b->slot[r];
        if (!s->took_part) continue;
        start = any && start < s->start ? start : s->start;
        end = any && end > s->end ? end : s->end;
        any = true;
    }
    return end - start;
}

/* ---- A run ---- */

static void prepare(job *j, const contender *c, uint32_t salt) {
    unsigned char *buf = j->buf;
    if (c->kind == LIMIT) {
        prepare_limit(j, salt);
        return;
    }
    for (int i = 0; i < j->nboxes; i++) {
        int64_t n = box_bytes(j->field, &j->box[i]);
        if (j->event->write)
            fill_box(j->field, &j->box[i], buf, salt);
        else
            memset(buf, 0xA5, (size_t)n);
        buf += n;
    }
}

static bool verify(const job *j, const contender *c, uint32_t salt) {
    const unsigned char *buf = j->buf;
    bool good = true;
    if (j->event->write) return check_mapped(j, salt);
    if (c->kind == LIMIT) return check_limit(j, c->workers);
    for (int i = 0; i < j->nboxes; i++) {
        good &= check_box(j->field, &j->box[i], buf, 0);
        buf += box_bytes(j->field, &j->box[i]);
    }
    return good;
}

static void chill(job *j) {
    check_in(j);
    if (madvise(j->map, (size_t)j->file_bytes, MADV_DONTNEED)) die(j, "cannot unmap");
    board_meet(j->board);
    if (j->rank == 0 && make_cold(j)) die(j, "the file does not leave the page cache");
}

/* Nanoseconds; what went wrong is in board->trouble, for all. */
static double once(job *j, int which, uint32_t salt, bool first) {
    board *b = j->board;
    const contender *c = &j->contest->contenders[which];
    slot *mine = &b->slot[j->rank];
    prepare(j, c, salt);
    if (b->cold) chill(j);
    mine->took_part = !c->workers || j->rank < c->workers;
    if (j->rank == 0) {
        b->trouble = NOT_RUN;
        b->since = (int64_t)bench_now();
        b->running = which;
    }
    board_meet(b);
    board_meet(b); /* the first may have woken us from a long sleep */
    mine->start = bench_now();
    if (mine->took_part && c->run(j, c->how)) b->trouble = FAILED;
    mine->end = bench_now();
    board_meet(b);
    if (j->rank == 0) b->running = -1;
    if (!b->trouble && !verify(j, c, salt)) b->trouble = WRONG;
    double time = elapsed(b);
    board_meet(b);
    if (j->event->write && first) {
        restore(j);
        board_meet(b);
        if (!check_file(j)) b->trouble = WRONG;
        board_meet(b);
    }
    if (b->trouble && (c->kind == OURS || c->kind == FORCED || c->kind == DOOR || c->kind == LIMIT)) {
        char what[64];
        snprintf(what, sizeof what, "%s: %s %s", j->event->name, c->name, b->trouble == WRONG ? "is wrong" : "failed");
        die(j, what);
    }
    return time;
}

/* ---- An event ---- */

/* Whether a contender can take part at all. */
static bool invited(const job *j, int e, int c) {
    const contender *who = &j->contest->contenders[c];
    if (j->board->barred[e][c] || who->workers > j->nranks || (who->kind == DOOR && !j->board->door)) return false;
    return who->kind != LIMIT || who->how != BY_RUN || j->box[0].step[0] == 1;
}

static double view_time(job *j, int door) {
    board_meet(j->board);
    board_meet(j->board);
    slot *mine = &j->board->slot[j->rank];
    mine->took_part = true;
    mine->start = bench_now();
    set_view(j, door);
    mine->end = bench_now();
    board_meet(j->board);
    double time = elapsed(j->board);
    board_meet(j->board);
    return time;
}

static void record(outcome *o, double *time, int n, double first, double view) {
    o->first = first;
    o->view = view;
    o->reps = n;
    if (!n) time[n++] = first;
    o->median = bench_median(time, n); /* sorts */
    o->low = time[n / 4], o->high = time[n - 1 - n / 4];
    o->least = time[0], o->most = time[n - 1];
    o->status = DONE;
}

/* An order of n contenders, the same on all processes, another one for each turn: what the one before has left in the
 * processor's caches must not always be of use to the same one. */
static void shuffle(int *order, int n, uint32_t *state) {
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        *state = *state * 1664525u + 1013904223u;
        int k = (int)((*state >> 16) % (uint32_t)(i + 1)), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
}

static void compete(job *j, int e) {
    board *b = j->board;
    const contest *c = j->contest;
    static double time[CONTENDERS][REPS];
    double first[CONTENDERS] = {0}, spent[CONTENDERS] = {0};
    make_view(j);
    const double view[] = {view_time(j, 0), b->door ? view_time(j, 1) : 0};
    int n[CONTENDERS] = {0}, order[CONTENDERS];
    uint32_t state = (uint32_t)e;
    for (int r = -1; r < b->reps; r++) {
        shuffle(order, c->ncontenders, &state);
        for (int k = 0; k < c->ncontenders; k++) {
            int who = order[k];
            outcome *o = &b->outcome[e][who];
            bool skip = !invited(j, e, who) || o->status == WRONG || o->status == FAILED ||
                        spent[who] > b->budget; /* all know the same times */
            if (skip) continue;
            double t = once(j, who, j->event->write ? (uint32_t)((r + 2) * CONTENDERS + who) : 0, r < 0);
            spent[who] += t;
            if (r < 0)
                first[who] = t;
            else
                time[who][n[who]++] = t;
            if (j->rank == 0 && b->trouble) o->status = (status)b->trouble;
            board_meet(b);
        }
    }
    for (int who = 0; who < c->ncontenders && j->rank == 0; who++) {
        outcome *o = &b->outcome[e][who];
        if (invited(j, e, who) && o->status != WRONG && o->status != FAILED)
            record(o, time[who], n[who], first[who],
                   c->contenders[who].kind == LIBRARY ? view[0]
                   : c->contenders[who].kind == DOOR  ? view[1]
                                                      : 0);
    }
}

static void hold(job *j, int e) {
    board *b = j->board;
    double machine = machine_time(), own = own_time(j), start = bench_now();
    j->bytes = 0;
    for (int i = 0; i < j->nboxes; i++) j->bytes += box_bytes(j->field, &j->box[i]);
    j->buf = malloc((size_t)j->bytes + 1);
    if (!j->buf) die(j, "no memory");
    bool limit = false;
    for (int c = 0; c < j->contest->ncontenders; c++) limit |= j->contest->contenders[c].kind == LIMIT;
    if (limit) make_limit(j);
    if (j->event->write && j->rank == 0 && make_file(j)) die(j, "cannot write the file");
    compete(j, e);
    if (j->event->write) {
        restore(j);
        board_meet(b);
        if (!check_file(j)) die(j, "after the last repetition the file is not what it was");
    }
    own = own_time(j) - own;
    if (j->rank == 0) {
        double all = (bench_now() - start) * (double)sysconf(_SC_NPROCESSORS_ONLN);
        double foreign = (machine_time() - machine - own) / all;
        b->foreign[e] = foreign > 0 ? foreign : 0;
    }
    free_view(j);
    if (limit) free_limit(j);
    free(j->buf);
}

/* ---- The contest ---- */

static void open_field(job *j, int f) {
    j->field = &j->contest->fields[f];
    j->file_bytes = j->field->elem;
    for (int d = 0; d < DIMS; d++) j->file_bytes *= j->field->dim[d];
    snprintf(j->path, sizeof j->path, "%s-%d.bin", j->contest->name, j->board->pid);
    if (j->rank == 0) {
        j->fd = open(j->path, O_RDWR | O_CREAT, 0600);
        if (j->fd < 0 || make_file(j)) die(j, "cannot make the file");
    }
    board_meet(j->board);
    if (j->rank > 0) j->fd = open(j->path, O_RDWR);
    j->map = j->fd < 0 ? MAP_FAILED : mmap(NULL, (size_t)j->file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, j->fd, 0);
    if (j->map == MAP_FAILED) die(j, "cannot map the file");
    open_movers(j);
}

static void close_field(job *j) {
    close_movers(j);
    munmap(j->map, (size_t)j->file_bytes);
    close(j->fd);
    board_meet(j->board);
    if (j->rank == 0) unlink(j->path);
}

static void introduce(board *b) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n;
    MPI_Get_library_version(text, &n);
    text[strcspn(text, ",\n")] = 0;
    for (char *p = text; *p; p++)
        if (*p == '\t') *p = ' ';
    snprintf(b->library, sizeof b->library, "%.60s", text);
    const char *io = getenv("OMPI_MCA_io");
    snprintf(b->peer, sizeof b->peer, "%.15s", !strstr(text, "Open MPI") ? "ROMIO" : io ? io : "OMPIO");
}

int contest_work(const contest *c, const char *board_path) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no one is left when mpiexec is shot */
    MPI_Init(NULL, NULL);
    job j = {.contest = c};
    int fd = open(board_path, O_RDWR), present = -1;
    j.board = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &j.nranks);
    if (j.board == MAP_FAILED || j.nranks != j.board->nranks) die(&j, "no board: start without mpiexec, with --procs");
    if (j.rank == 0) introduce(j.board);
    board_meet(j.board);
    for (int e = j.board->at; e < c->nevents; e++) {
        if (!j.board->chosen[e]) continue;
        board_meet(j.board);
        if (j.rank == 0) j.board->at = e;
        if (c->events[e].field != present) {
            if (present >= 0) close_field(&j);
            present = c->events[e].field;
            open_field(&j, present);
        }
        j.event = &c->events[e];
        j.nboxes = c->boxes(e, j.rank, j.nranks, j.box);
        hold(&j, e);
    }
    if (present >= 0) close_field(&j);
    board_meet(j.board);
    if (j.rank == 0) {
        j.board->at = c->nevents;
        j.board->finished = 1;
    }
    MPI_Finalize();
    return 0;
}
