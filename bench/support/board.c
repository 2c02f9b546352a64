/* board.c: the judge: starts the processes, watches over them, prints what they put on the board. */
#include "bench.h"
#include "contend.h"
#include <errno.h>
#include <getopt.h>
#include <linux/futex.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The barrier ---- */

void board_meet(board *b) {
    static long cores;
    if (!cores) cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned page = b->page;
    if (atomic_fetch_add(&b->present, 1) + 1 == (unsigned)b->nranks) {
        b->present = 0;
        b->page = page + 1;
        syscall(SYS_futex, &b->page, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
        return;
    }
    double end = bench_now() + (b->nranks <= cores ? 1e6 : 0);
    while (b->page == page && bench_now() < end) {
    }
    while (b->page == page) syscall(SYS_futex, &b->page, FUTEX_WAIT, page, NULL, NULL, 0);
}

/* ---- Options ---- */

typedef struct options {
    const char *csv, *plot, *only, *with;
    int table;
    int64_t array;
    double patience;
    bool quick;
} options;

static const struct option long_options[] = {
    {"procs", 1, 0, 'p'},    {"reps", 1, 0, 'r'}, {"table", 1, 0, 't'}, {"array", 1, 0, 'a'},
    {"only", 1, 0, 'o'},     {"with", 1, 0, 'w'}, {"cold", 0, 0, 'c'},  {"budget", 1, 0, 'b'},
    {"csv", 1, 0, 's'},      {"plot", 1, 0, 'g'}, {"quick", 0, 0, 'q'}, {"board", 1, 0, 'B'},
    {"patience", 1, 0, 'e'}, {"help", 0, 0, 'h'}, {"door", 0, 0, 'd'},  {0, 0, 0, 0}};

static int usage(const contest *c, int code) {
    fprintf(code ? stderr : stdout,
            "usage: %s [options]\n%s\n"
            "  --procs P      processes, 1 to %d, 4 if not given; started with $MPIEXEC, or the mpiexec that it was "
            "built with\n"
            "  --reps N       repetitions, 1 to %d\n"
            "  --cold         nothing of the file is in the page cache\n"
            "  --table N, --array N, --only NAME    some events: of a table, on an array of that extent, by name\n"
            "  --with A,B     only these contenders\n"
            "  --door         also the calls of MPI through the MPI-IO door, and what setting the view takes there\n"
            "  --budget S     seconds that a contender has for the repetitions of an event\n"
            "  --patience S   seconds after which a contender that does not come back is given up\n"
            "  --csv FILE, --plot FILE.svg    the figures; a plot, if there is gnuplot\n"
            "  --quick        a few events, twice, to see that all works\n"
            "Makes files in the current folder and removes them.\n",
            c->name, c->title, RANKS, REPS);
    return code;
}

bool listed(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, name, n) && (p[n] == ',' || !p[n])) return true;
    return false;
}

/* How many events there are to hold. */
static int choose(const contest *c, board *b, const options *o) {
    int n = 0;
    for (int e = 0; e < c->nevents; e++) {
        const event *v = &c->events[e];
        b->chosen[e] = (!o->table || v->group == o->table) && (!o->array || c->fields[v->field].dim[0] == o->array) &&
                       (!o->only || listed(o->only, v->name)) && (!o->quick || v->quick) && c->suits(e, b->nranks);
        n += b->chosen[e];
        for (int k = 0; k < c->ncontenders; k++) b->barred[e][k] = o->with && !listed(o->with, c->contenders[k].name);
    }
    return n;
}

/* ---- The processes ---- */

enum { WORDS = 64 };

void bench_mpiexec(int nranks, char *const *rest, int nrest) {
    char ranks[16], line[1024], *argv[2 * WORDS + 3];
    const char *given = getenv("MPIEXEC");
    int n = 0;
    snprintf(ranks, sizeof ranks, "%d", nranks);
    snprintf(line, sizeof line, "%s", given ? given : BENCH_MPIEXEC);
    for (char *word = strtok(line, " "); word && n < WORDS; word = strtok(NULL, " ")) argv[n++] = word;
    argv[n++] = "-n";
    argv[n++] = ranks;
    for (int i = 0; i < nrest && i < WORDS; i++) argv[n++] = rest[i];
    argv[n] = NULL;
    execvp(argv[0], argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static pid_t start(const board *b, const char *program, int board_fd) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", b->pid, board_fd);
    char *rest[] = {(char *)(uintptr_t)program, "--board", path};
    fflush(NULL);
    pid_t pid = fork();
    if (pid) return pid;
    setpgid(0, 0);
    bench_mpiexec(b->nranks, rest, 3);
}

/* Ends mpiexec; what it started dies with it (see PR_SET_PDEATHSIG). */
static void shoot(pid_t pid) {
    kill(pid, SIGTERM);
    for (int i = 0; i < 50; i++) {
        if (waitpid(pid, NULL, WNOHANG) == pid) return;
        usleep(100000);
    }
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* ---- Figures ---- */

double best_of(const contest *c, const board *b, int e, kind k, bool collective, int *who) {
    double best = INFINITY;
    for (int i = 0; i < c->ncontenders; i++) {
        const outcome *o = &b->outcome[e][i];
        const contender *x = &c->contenders[i];
        if (x->kind != k || (collective && !x->collective) || o->status != DONE || o->median >= best) continue;
        best = o->median;
        if (who) *who = i;
    }
    return best;
}

static void print_figure(const outcome *o, int reps) {
    static const char *const word[] = {"-", "", "wrong", "failed", "late"};
    if (o->status == DONE)
        printf(" %8.3f%c", o->median / 1e6, " *"[o->reps < reps]);
    else
        printf(" %8s ", word[o->status]);
}

static void print_ratio(double r) {
    if (isfinite(r))
        printf(" %6.2f", r);
    else
        printf(" %6s", "-");
}

static bool has_limit(const contest *c) { return c->contenders[c->ncontenders - 1].kind == LIMIT; }

/* Has a column: the limits have one together, and who was not asked has none. */
static bool shown(const contest *c, const board *b, int k) {
    bool barred = c->contenders[k].kind == LIMIT || (c->contenders[k].kind == DOOR && !b->door);
    for (int e = 0; !barred && e < c->nevents; e++)
        if (b->chosen[e]) return !b->barred[e][k];
    return !barred;
}

static void print_head(const contest *c, const board *b) {
    printf("%s\n%s, peer %s; %d processes, %ld processors, %s cache; milliseconds, median of %d\n", c->title,
           b->library, b->peer, b->nranks, sysconf(_SC_NPROCESSORS_ONLN), b->cold ? "cold" : "warm", b->reps);
    printf("%-9s", "");
    for (int k = 0; k < c->ncontenders; k++)
        if (shown(c, b, k)) printf(" %9s", c->contenders[k].name);
    if (has_limit(c)) printf(" %8s ", "limit");
    if (b->door) printf(" door/ours door view");
    printf("   view    first spread   /lib  /peer /limit foreign  best peer\n");
}

static void print_event(const contest *c, const board *b, int e) {
    const outcome *ours = &b->outcome[e][0];
    int library = -1, plain = -1, limit = -1;
    double lib = best_of(c, b, e, LIBRARY, false, &library), hand = best_of(c, b, e, PLAIN, false, &plain);
    double least = best_of(c, b, e, LIMIT, false, &limit);
    printf("%-9s", c->events[e].name);
    for (int k = 0; k < c->ncontenders; k++)
        if (shown(c, b, k)) print_figure(&b->outcome[e][k], b->reps);
    if (has_limit(c)) print_figure(limit >= 0 ? &b->outcome[e][limit] : &(outcome){.status = NOT_RUN}, b->reps);
    if (b->door) {
        int door = -1;
        print_ratio(best_of(c, b, e, DOOR, true, &door) / ours->median);
        printf("    %9.3f", door >= 0 ? b->outcome[e][door].view / 1e6 : 0);
    }
    printf(" %6.2f %8.3f %4.0f %% ", library >= 0 ? b->outcome[e][library].view / 1e6 : 0, ours->first / 1e6,
           100 * (ours->high - ours->low) / ours->median);
    print_ratio(ours->median / lib);
    print_ratio(ours->median / fmin(lib, hand));
    print_ratio(ours->median / least);
    int best = lib < hand ? library : plain;
    printf(" %5.0f %%  %s\n", 100 * b->foreign[e], best >= 0 ? c->contenders[best].name : "-");
    fflush(stdout);
}

/* Geometric means of what Sluice takes, divided by what others do, over a group. */
static void print_group(const contest *c, const board *b, int group) {
    double sum[3] = {0};
    int n[3] = {0};
    for (int e = 0; e < c->nevents; e++) {
        double ours = b->outcome[e][0].median, other[3];
        if (c->events[e].group != group || b->outcome[e][0].status != DONE) continue;
        other[0] = best_of(c, b, e, LIBRARY, false, NULL);
        other[1] = fmin(other[0], best_of(c, b, e, PLAIN, false, NULL));
        other[2] = best_of(c, b, e, LIMIT, false, NULL);
        for (int i = 0; i < 3; i++)
            if (isfinite(other[i])) sum[i] += log(ours / other[i]), n[i]++;
    }
    printf("geometric means of sluice / best library, / best peer, / limit:");
    for (int i = 0; i < 3; i++) print_ratio(n[i] ? exp(sum[i] / n[i]) : INFINITY);
    printf("\n");
}

static void write_csv(const contest *c, const board *b, FILE *f) {
    static const char *const word[] = {"not run", "done", "wrong", "failed", "late"};
    fprintf(f,
            "event,op,procs,cache,mpi,contender,status,reps,median_ns,quartile1_ns,quartile3_ns,least_ns,most_ns,view_"
            "ns,first_ns,foreign\n");
    for (int e = 0; e < c->nevents; e++)
        for (int k = 0; k < c->ncontenders && b->chosen[e]; k++) {
            const outcome *o = &b->outcome[e][k];
            fprintf(f, "%s,%s,%d,%s,%s,%s,%s,%d,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.3f\n", c->events[e].name,
                    c->events[e].write ? "write" : "read", b->nranks, b->cold ? "cold" : "warm", b->peer,
                    c->contenders[k].name, word[o->status], o->reps, o->median, o->low, o->high, o->least, o->most,
                    o->view, o->first, b->foreign[e]);
        }
}

/* All contenders over the events, each kind in its colour, on a logarithmic scale. */
static int plot(const contest *c, const board *b, const char *name) {
    FILE *g = popen("gnuplot", "w");
    if (!g) return -1;
    signal(SIGPIPE, SIG_IGN);
    int last = c->ncontenders - 1;
    while (c->contenders[last].kind == LIMIT) last--;
    fprintf(g, "set terminal svg size 1400,600\nset output '%s'\nset logscale y\nset ylabel 'milliseconds'\n", name);
    fprintf(g, "set title '%s, %s, %d processes, %s'\nset xtics rotate\nset key outside\nset grid y\n$data << EOD\n",
            c->name, b->peer, b->nranks, b->cold ? "cold" : "warm");
    for (int e = 0; e < c->nevents; e++) {
        if (!b->chosen[e]) continue;
        fprintf(g, "\"%s\"", c->events[e].name);
        for (int k = 0; k <= last; k++) {
            const outcome *o = &b->outcome[e][k];
            fprintf(g, " %g", o->status == DONE ? o->median / 1e6 : NAN);
        }
        fprintf(g, " %g\n", best_of(c, b, e, LIMIT, false, NULL) / 1e6);
    }
    fprintf(g, "EOD\nplot ");
    for (int k = 0; k <= last; k++)
        fprintf(g, "%s$data using 0:%d:xtic(1) with linespoints title '%s'", k ? ", " : "", k + 2,
                c->contenders[k].name);
    if (has_limit(c)) fprintf(g, ", $data using 0:%d with lines lw 3 title 'limit'", last + 3);
    fprintf(g, "\n");
    return pclose(g);
}

void judge_collective(const contest *c, const board *b) {
    const double goal = 3;
    for (int e = 0; e < c->nevents; e++) {
        double times = best_of(c, b, e, LIBRARY, true, NULL) / b->outcome[e][0].median;
        if (b->outcome[e][0].status != DONE || !isfinite(times)) continue;
        printf("%-9s %6.2f times as fast as MPI collective, goal %.2f: %s\n", c->events[e].name, times, goal,
               times >= goal ? "met" : "MISSED");
    }
}

/* ---- The contest ---- */

static void clean_up(const contest *c, const board *b) {
    char path[64];
    snprintf(path, sizeof path, "%s-%d.bin", c->name, b->pid);
    unlink(path);
}

/* Prints the events up to `end` that were not yet; returns it. */
static int announce(const contest *c, const board *b, int from, int end) {
    for (int e = from; e < end; e++) {
        if (!b->chosen[e]) continue;
        print_event(c, b, e);
        bool last = true;
        for (int k = e + 1; k < c->nevents; k++) last &= !b->chosen[k] || c->events[k].group != c->events[e].group;
        if (last) print_group(c, b, c->events[e].group);
    }
    return end;
}

/* Waits for mpiexec; 0, the status that it ended with, or -1 if it had to be shot. */
static int watch(const contest *c, board *b, pid_t pid, double patience, int *told, bool *head) {
    for (;;) {
        int state, who = b->running;
        pid_t ended = waitpid(pid, &state, WNOHANG);
        if (b->library[0] && !*head) {
            print_head(c, b);
            *head = true;
        }
        *told = announce(c, b, *told, b->at);
        if (ended == pid) return b->finished ? 0 : WIFEXITED(state) && WEXITSTATUS(state) ? WEXITSTATUS(state) : 1;
        if (who >= 0 && bench_now() - (double)b->since > patience * 1e9 && who == b->running) {
            shoot(pid);
            printf("%s: %s did not finish within %g s\n", c->events[b->at].name, c->contenders[who].name, patience);
            b->barred[b->at][who] = true;
            b->outcome[b->at][who].status = LATE;
            return -1;
        }
        usleep(100000);
    }
}

int contend(const contest *c, int argc, char **argv) {
    options o = {.patience = 60};
    int opt, fd = memfd_create("board", 0), ended, told = 0;
    bool head = false;
    board *b = fd < 0 || ftruncate(fd, sizeof *b) ? MAP_FAILED
                                                  : mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (b == MAP_FAILED) return 1;
    b->reps = 11, b->budget = 2e9, b->pid = (int)getpid(), b->running = -1;
    while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) switch (opt) {
        case 'B': return contest_work(c, optarg);
        case 'p': b->nranks = atoi(optarg); break;
        case 'r': b->reps = atoi(optarg); break;
        case 't': o.table = atoi(optarg); break;
        case 'a': o.array = atoll(optarg); break;
        case 'o': o.only = optarg; break;
        case 'w': o.with = optarg; break;
        case 'c': b->cold = true; break;
        case 'd': b->door = true; break;
        case 'b': b->budget = atof(optarg) * 1e9; break;
        case 'e': o.patience = atof(optarg); break;
        case 's': o.csv = optarg; break;
        case 'g': o.plot = optarg; break;
        case 'q': o.quick = true; break;
        default: return usage(c, opt == 'h' ? 0 : 2);
        }
    if (o.quick) b->reps = 1;
    if (!b->nranks) b->nranks = o.quick ? c->quick : 4;
    if (b->nranks < 1 || b->nranks > RANKS || b->reps < 1 || b->reps > REPS || !choose(c, b, &o)) return usage(c, 2);
    do {
        b->present = 0;
        b->running = -1;
        pid_t pid = start(b, argv[0], fd);
        if (pid < 0) return 1;
        ended = watch(c, b, pid, o.patience, &told, &head);
    } while (ended < 0);
    clean_up(c, b);
    if (ended) return ended;
    if (!o.quick) c->judge(b);
    FILE *csv = o.csv ? fopen(o.csv, "w") : NULL;
    if (csv) write_csv(c, b, csv);
    if (o.csv && (!csv || fclose(csv))) {
        fprintf(stderr, "%s: %s\n", o.csv, strerror(errno));
        return 1;
    }
    if (o.plot && plot(c, b, o.plot)) fprintf(stderr, "no plot: gnuplot is missing or failed\n");
    return 0;
}
