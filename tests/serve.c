/* ranks: 2 3 4 7 */
/* serve.c: parallel files kept by servers. All that clients do through views gives the same bytes as the same on plain
 * memory, for servers apart from clients and for servers that are clients; bad messages are answered and do no harm;
 * an error of a late write reaches the client whose it was, and no other. */
#include "array/parallel.h"
#include "sluice_serve.h"
#include "support/unit.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, size;
static char folder[64];

enum { SUBS = 5, LENGTH = 6000 };

/* Until a request is done; asleep, for there may be more processes than cores. */
static void rest(MPI_Request *r) {
    sluice_nap nap = {0};
    for (int done = 0; !done; MPI_Test(r, &done, MPI_STATUS_IGNORE)) sluice_nap_take(&nap, false);
}

/* All are here. */
static void meet(void) {
    MPI_Request r;
    MPI_Ibarrier(MPI_COMM_WORLD, &r);
    rest(&r);
}

/* Every rank has its own order of chance but for what all must draw alike. */
static uint64_t state;
static int64_t draw(int64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

typedef struct scene {
    int servers;
    bool overlap;  /* servers are clients, too */
    bool in_order; /* servers listed by rank, first to last */
    bool behind;
    int64_t memory;
} scene;

typedef struct world {
    sluice_set set[SUBS];
    sluice_partition p;
    char name[SUBS][96];
    const char *path[SUBS];
    int server[8];
    sluice_servers s;
    sluice_options o;
} world;

static void build(world *w, const scene *sc, int64_t block) {
    memset(w, 0, sizeof *w);
    for (int i = 0; i < SUBS; i++) {
        CHECK(!sluice_set_block(&w->set[i], i * block, block));
        snprintf(w->name[i], sizeof w->name[i], "%s/%d", folder, i);
        w->path[i] = w->name[i];
    }
    w->p = (sluice_partition){SUBS, w->set, SUBS * block, 0};
    for (int i = 0; i < sc->servers; i++) w->server[i] = sc->in_order ? i : size - 1 - i;
    w->s = (sluice_servers){.size = sizeof w->s,
                            .comm = MPI_COMM_WORLD,
                            .n = sc->servers,
                            .rank = w->server,
                            .no_write_behind = !sc->behind};
    w->o = (sluice_options){.size = sizeof w->o, .memory = sc->memory};
}

static void tear(world *w) {
    for (int i = 0; i < SUBS; i++) sluice_set_free(&w->set[i]);
    meet();
    for (int i = 0; i < SUBS && rank == 0; i++) unlink(w->path[i]);
    meet();
}

static bool serves(const world *w) {
    for (int i = 0; i < w->s.n; i++)
        if (w->server[i] == rank) return true;
    return false;
}

static unsigned char byte_of(int64_t x, int turn) { return (unsigned char)(x * 7 + x / 251 + turn * 13 + 1); }

/* Each client has its own bytes of the file: those whose number, divided by `grain`, is the client's, modulo size. */
static int64_t place_of(int64_t y, int64_t grain) { return (y / grain * size + rank) * grain + y % grain; }

/* Writes all of the view in random ranges, several times, reads random ranges in between, and compares. */
static void work(sluice_view *v, int64_t grain, bool again) {
    static unsigned char buf[LENGTH + 1], mine[LENGTH];
    for (int64_t y = 0; y < LENGTH; y++) mine[y] = again ? byte_of(place_of(y, grain), 99) : 0;
    for (int turn = 0; turn < 12; turn++) {
        const int64_t off = draw(LENGTH), len = draw(4) ? draw(LENGTH - off) : LENGTH - off;
        const bool write = turn == 0 || draw(2);
        buf[len] = 0xAB;
        for (int64_t k = 0; k < len && write; k++) buf[k] = mine[off + k] = byte_of(place_of(off + k, grain), turn);
        if (!write) memset(buf, 0xCD, (size_t)len);
        const int err = write ? sluice_view_write(v, off, len, buf) : sluice_view_read(v, off, len, buf);
        CHECK(!err, "%s", sluice_errmsg());
        CHECK(!memcmp(buf, mine + off, (size_t)len) && buf[len] == 0xAB, "rank %d turn %d", rank, turn);
        if (draw(3) == 0) CHECK(!sluice_view_expect(v, off, len), "%s", sluice_errmsg());
    }
    for (int64_t y = 0; y < LENGTH; y++) mine[y] = byte_of(place_of(y, grain), 99);
    CHECK(!sluice_view_write(v, 0, LENGTH, mine));
}

/* Every byte of every client, in the subfile where the partition has it. */
static void check_files(const world *w, int64_t block, int64_t grain, bool all_work) {
    for (int64_t x = 0; x < LENGTH / grain * grain * size; x++) {
        static FILE *f[SUBS];
        const int sub = (int)(x / block % SUBS), owner = (int)(x / grain % size);
        const int64_t at = x / (block * SUBS) * block + x % block;
        bool works = all_work;
        for (int i = 0; i < w->s.n && !all_work; i++) works |= w->server[i] == owner;
        works = all_work || !works;
        if (x == 0)
            for (int i = 0; i < SUBS; i++) f[i] = fopen(w->path[i], "rb");
        if (!f[sub]) {
            CHECK(false, "no subfile %d", sub);
            return;
        }
        const int c = fseek(f[sub], at, SEEK_SET) ? EOF : fgetc(f[sub]);
        CHECK((c == EOF ? 0 : c) == (works ? byte_of(x, 99) : 0), "byte %" PRId64 " is %d", x, c);
        if (x + 1 == LENGTH / grain * grain * size)
            for (int i = 0; i < SUBS; i++) fclose(f[i]);
    }
}

static void run(const scene *sc, int64_t block, int64_t grain) {
    world w;
    sluice_file *f = NULL;
    sluice_set own = SLUICE_SET_EMPTY;
    build(&w, sc, block);
    int err = sluice_file_create_all(&f, &w.s, &w.p, w.path, &w.o);
    CHECK(!err, "%s", sluice_errmsg());
    for (int times = 0; times < 2 && !err; times++) {
        if (sc->overlap || !serves(&w)) {
            sluice_view *v = NULL;
            CHECK(!sluice_set_block(&own, rank * grain, grain));
            err = sluice_view_set(&v, f, &(sluice_element){&own, size * grain, 0});
            CHECK(!err, "%s", sluice_errmsg());
            if (!err) work(v, grain, times > 0);
            sluice_view_counts c = {0};
            if (v) sluice_view_count(v, -1, &c);
            CHECK(c.intersections <= SUBS, "an access intersected");
            sluice_view_free(v);
            CHECK(!sluice_file_sync(f), "%s", sluice_errmsg());
        }
        CHECK(!sluice_file_close(f), "%s", sluice_errmsg());
        f = NULL;
        meet();
        if (rank == 0) check_files(&w, block, grain, sc->overlap);
        meet();
        if (times == 0) err = sluice_file_open_all(&f, &w.s, &w.p, w.path, SLUICE_WRITE, &w.o);
        CHECK(!err, "%s", sluice_errmsg());
    }
    if (f) sluice_file_close(f);
    sluice_set_free(&own);
    tear(&w);
}

/* ---- Views that are subfiles, and a peak of memory ------------------------------------------------------------- */

static void bounded(void) {
    enum { BIG = 3 << 20, LIMIT = 256 << 10 };
    const scene sc = {1, false, true, true, LIMIT};
    world w;
    sluice_file *f = NULL;
    sluice_view *v = NULL;
    build(&w, &sc, 1000);
    CHECK(!sluice_file_create_all(&f, &w.s, &w.p, w.path, &w.o), "%s", sluice_errmsg());
    const int64_t before = sluice_mem_live();
    sluice_mem_peak_reset();
    if (rank > 0) {
        unsigned char *big = malloc(BIG), *back = malloc(BIG);
        const sluice_set *subfile = &w.set[rank % SUBS];
        for (int64_t i = 0; i < BIG; i++) big[i] = byte_of(i, rank);
        CHECK(!sluice_view_set(&v, f, &(sluice_element){subfile, SUBS * 1000, 0}), "%s", sluice_errmsg());
        if (rank <= SUBS) CHECK(!sluice_view_write(v, 0, BIG, big), "%s", sluice_errmsg());
        if (rank <= SUBS) CHECK(!sluice_view_read(v, 0, BIG, back) && !memcmp(big, back, BIG));
        sluice_view_counts c;
        sluice_view_count(v, -1, &c);
        CHECK(c.intersections == 0 && c.ends == 0 && c.gathered == 0 && c.scattered == 0);
        sluice_view_free(v);
        free(big), free(back);
    }
    CHECK(!sluice_file_close(f), "%s", sluice_errmsg());
    CHECK(sluice_mem_peak() - before < LIMIT, "%" PRId64 " bytes", sluice_mem_peak() - before);
    tear(&w);
}

/* What a server has acknowledged and not yet written, it reads itself, too. */
static void own_reads(void) {
    const scene sc = {1, true, true, true, 0};
    world w;
    sluice_file *f = NULL;
    sluice_view *v = NULL;
    unsigned char data[100], back[100] = {0};
    build(&w, &sc, 1000);
    const sluice_element first = {&w.set[0], w.p.period, 0};
    for (int i = 0; i < 100; i++) data[i] = byte_of(i, 5);
    CHECK(!sluice_file_create_all(&f, &w.s, &w.p, w.path, &w.o), "%s", sluice_errmsg());
    if (rank == 0) {
        CHECK(!sluice_view_set(&v, f, &first));
        sluice_nap nap = {0};
        for (int answered = 0; answered < 2; answered += sluice_server_step(f->service->own)) /* VIEW and WRITE */
            sluice_nap_take(&nap, false);
        CHECK(!sluice_view_read(v, 0, 100, back) && !memcmp(data, back, 100), "queued, and not read");
        sluice_view_free(v);
    } else if (rank == 1) {
        CHECK(!sluice_view_set(&v, f, &first) && !sluice_view_write(v, 0, 100, data), "%s", sluice_errmsg());
    }
    meet();
    if (rank == 1) sluice_view_free(v);
    CHECK(!sluice_file_close(f), "%s", sluice_errmsg());
    tear(&w);
}

/* ---- Bad messages ---------------------------------------------------------------------------------------------- */

/* Sends a question as it is, and returns the error of the answer. */
static int say(sluice_file *f, const void *message, int64_t len) {
    const MPI_Comm comm = f->service->group->comm;
    const int server = f->service->server[0];
    sluice_message answer = {0};
    MPI_Request r[2];
    CHECK(len <= INT32_MAX);
    MPI_Irecv(&answer, (int)sizeof answer, MPI_BYTE, server, SLUICE_TAG_ANSWER, comm, &r[0]);
    MPI_Isend(message, (int)len, MPI_BYTE, server, SLUICE_TAG_QUESTION, comm, &r[1]);
    rest(&r[0]);
    rest(&r[1]);
    CHECK(answer.magic == SLUICE_MESSAGE_MAGIC && (!answer.error || strstr(answer.text, "server rank ")));
    return answer.error;
}

static void bad_messages(void) {
    const scene sc = {1, false, true, true, 256 << 10};
    enum { LONG = 5 << 20 };
    world w;
    sluice_file *f = NULL;
    sluice_view *v = NULL;
    sluice_set own = SLUICE_SET_EMPTY;
    build(&w, &sc, 100);
    CHECK(!sluice_file_create_all(&f, &w.s, &w.p, w.path, &w.o), "%s", sluice_errmsg());
    if (rank > 0) {
        static unsigned char raw[LONG], data[200], back[200];
        sluice_message m = {.magic = SLUICE_MESSAGE_MAGIC};
        CHECK(!sluice_set_falls(&own, 0, 2, 4, 25));
        CHECK(!sluice_view_set(&v, f, &(sluice_element){&own, 100, 0}), "%s", sluice_errmsg());
        for (int i = 0; i < 200; i++) data[i] = byte_of(i, rank);
        CHECK(!sluice_view_write(v, 50L * 5 * rank, 50, data));
        CHECK(say(f, raw, 0) == SLUICE_E_FORMAT && say(f, raw, 17) == SLUICE_E_FORMAT);
        CHECK(say(f, raw, sizeof m) == SLUICE_E_FORMAT && say(f, raw, LONG) == SLUICE_E_FORMAT);
        m.question = 0;
        CHECK(say(f, &m, sizeof m) == SLUICE_E_ARGUMENT);
        m.question = 1000;
        CHECK(say(f, &m, sizeof m) == SLUICE_E_ARGUMENT);
        for (int q = SLUICE_ASK_WRITE; q <= SLUICE_ASK_EXPECT; q++) {
            const int64_t ids[] = {-1, 1 << 30, INT64_MAX, INT64_MIN};
            for (int k = 0; k < 4; k++) {
                m = (sluice_message){.magic = SLUICE_MESSAGE_MAGIC, .question = q, .view = ids[k], .hi = 10};
                CHECK(say(f, &m, sizeof m) == SLUICE_E_ARGUMENT, "question %d view %" PRId64, q, ids[k]);
            }
        }
        /* Views of other clients are not ours. */
        for (int64_t id = 0; id < 64; id++) {
            bool ours = false;
            for (int i = 0; i < SUBS; i++) ours |= v->id[i] == id;
            m = (sluice_message){
                .magic = SLUICE_MESSAGE_MAGIC, .question = SLUICE_ASK_READ, .view = id, .hi = 2, .n = 2};
            CHECK(ours || say(f, &m, sizeof m) == SLUICE_E_ARGUMENT, "view %" PRId64, id);
        }
        /* Limits that do not have so many bytes of the view, that are no limits, or more than fits. */
        const int64_t limits[][3] = {{0, 100, 49}, {0, 100, 51}, {0, 3, 3},           {-4, 4, 4},         {100, 0, 50},
                                     {0, 0, 0},    {0, 0, 1},    {0, INT64_MAX, 100}, {0, 400000, 200000}};
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
            m = (sluice_message){.magic = SLUICE_MESSAGE_MAGIC, .question = SLUICE_ASK_READ, .view = v->id[0]};
            m.lo = limits[k][0], m.hi = limits[k][1], m.n = limits[k][2];
            CHECK(say(f, &m, sizeof m) == SLUICE_E_ARGUMENT, "limits %zu", k);
        }
        /* A write whose data is shorter or longer than it says. */
        m = (sluice_message){
            .magic = SLUICE_MESSAGE_MAGIC, .question = SLUICE_ASK_WRITE, .view = v->id[0], .hi = 100, .n = 50};
        memcpy(raw, &m, sizeof m);
        CHECK(say(f, raw, sizeof m) == SLUICE_E_FORMAT && say(f, raw, sizeof m + 49) == SLUICE_E_FORMAT &&
              say(f, raw, sizeof m + 51) == SLUICE_E_FORMAT);
        /* Sets that do not unpack, lie outside, or are of a subfile that is not there. */
        m = (sluice_message){.magic = SLUICE_MESSAGE_MAGIC, .question = SLUICE_ASK_VIEW, .period = 100};
        m.n = sluice_set_pack(&own, raw + sizeof m, 200);
        const sluice_message good = m;
        for (int64_t k = 0; k < m.n; k++) {
            unsigned char *byte = raw + sizeof m + k, old = *byte;
            *byte ^= 0x55;
            m = good;
            memcpy(raw, &m, sizeof m);
            (void)say(f, raw, (int64_t)sizeof m + m.n); /* may be another good set */
            *byte = old;
        }
        const struct {
            int64_t subfile, period, disp, n;
            int error;
        } views[] = {{-1, 100, 0, good.n, SLUICE_E_ARGUMENT},
                     {SUBS, 100, 0, good.n, SLUICE_E_ARGUMENT},
                     {INT64_MAX, 100, 0, good.n, SLUICE_E_ARGUMENT},
                     {0, 0, 0, good.n, SLUICE_E_ARGUMENT},
                     {0, 50, 0, good.n, SLUICE_E_ARGUMENT},
                     {0, 100, -1, good.n, SLUICE_E_ARGUMENT},
                     {0, 100, 0, 0, SLUICE_E_FORMAT},
                     {0, 100, 0, good.n - 1, SLUICE_E_FORMAT}};
        for (size_t k = 0; k < sizeof views / sizeof *views; k++) {
            m = good;
            m.subfile = views[k].subfile, m.period = views[k].period, m.disp = views[k].disp, m.n = views[k].n;
            memcpy(raw, &m, sizeof m);
            CHECK(say(f, raw, (int64_t)sizeof m + m.n) == views[k].error, "view %zu", k);
        }
        /* Views without end are refused in time, and given back by closing. */
        int err = 0;
        m = good;
        memcpy(raw, &m, sizeof m);
        for (int k = 0; k < 100000 && !err; k++) err = say(f, raw, (int64_t)sizeof m + m.n);
        CHECK(err == -ENOMEM, "%d", err);
        /* The view that was good is good still. */
        CHECK(!sluice_view_read(v, 50L * 5 * rank, 50, back) && !memcmp(back, data, 50), "%s", sluice_errmsg());
        sluice_view_free(v);
    }
    CHECK(!sluice_file_close(f), "%s", sluice_errmsg());
    sluice_set_free(&own);
    tear(&w);
}

/* A client asks for much, again and again, and takes no answer until the others are done: they are served all the same.
 */
static void deaf(void) {
    enum { TIMES = 20, MUCH = 1 << 20 };
    const scene sc = {1, false, true, true, 32 << 20};
    world w;
    sluice_file *f = NULL;
    sluice_view *v = NULL;
    build(&w, &sc, MUCH);
    CHECK(!sluice_file_create_all(&f, &w.s, &w.p, w.path, &w.o), "%s", sluice_errmsg());
    if (rank > 0) CHECK(!sluice_view_set(&v, f, &(sluice_element){&w.set[0], w.p.period, 0}), "%s", sluice_errmsg());
    if (rank == 1) {
        static MPI_Request sent[TIMES];
        unsigned char *answer = malloc(sizeof(sluice_message) + MUCH);
        const MPI_Comm comm = f->service->group->comm;
        const sluice_message m = {
            .magic = SLUICE_MESSAGE_MAGIC, .question = SLUICE_ASK_READ, .view = v->id[0], .hi = MUCH, .n = MUCH};
        for (int i = 0; i < TIMES; i++) MPI_Isend(&m, (int)sizeof m, MPI_BYTE, 0, SLUICE_TAG_QUESTION, comm, &sent[i]);
        for (int r = 2; r < size; r++) { /* the others are done */
            MPI_Request done;
            MPI_Irecv(NULL, 0, MPI_BYTE, r, 9, MPI_COMM_WORLD, &done);
            rest(&done);
        }
        for (int i = 0; i < TIMES; i++) {
            MPI_Request r;
            MPI_Irecv(answer, (int)sizeof m + MUCH, MPI_BYTE, 0, SLUICE_TAG_ANSWER, comm, &r);
            rest(&r);
            rest(&sent[i]);
            CHECK(!((sluice_message *)(void *)answer)->error && ((sluice_message *)(void *)answer)->n == MUCH);
        }
        free(answer);
    } else if (rank > 1) {
        unsigned char data[100], back[100];
        for (int turn = 0; turn < 5; turn++) {
            for (int i = 0; i < 100; i++) data[i] = byte_of(i, turn + rank);
            CHECK(!sluice_view_write(v, 100 * rank, 100, data), "%s", sluice_errmsg());
            CHECK(!sluice_view_read(v, 100 * rank, 100, back) && !memcmp(data, back, 100), "%s", sluice_errmsg());
        }
        MPI_Request done;
        MPI_Isend(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD, &done);
        rest(&done);
    }
    sluice_view_free(v);
    CHECK(!sluice_file_close(f), "%s", sluice_errmsg());
    tear(&w);
}

/* ---- Faults ---------------------------------------------------------------------------------------------------- */

/* One server, whose n-th call to its store fails. Clients write, one after the other, and sync: the one whose write
 * failed is told, with the server, the file and the offset, and no one else is. */
static void late_errors(bool behind) {
    const scene sc = {1, false, true, behind, 0};
    world w;
    build(&w, &sc, 1000);
    for (int culprit = 1; culprit < size; culprit++) {
        sluice_file *f = NULL;
        sluice_view *v = NULL;
        sluice_store *shim = NULL;
        CHECK(!sluice_file_create_all(&f, &w.s, &w.p, w.path, &w.o), "%s", sluice_errmsg());
        f->io[0].no_map = true;
        if (rank == 0) {
            CHECK(!sluice_store_open_fault(&shim, f->io[0].store));
            f->io[0].store = shim;
            sluice_fault_set(shim, culprit, SLUICE_FAULT_ERROR, ENOSPC);
        }
        for (int turn = 1; turn < size; turn++) {
            meet();
            sluice_nap nap = {0}; /* the server, until the write of this turn is done */
            while (rank == 0 && sluice_fault_calls(shim) < turn)
                if (!sluice_server_step(f->service->own)) sluice_nap_take(&nap, false);
            if (turn == rank) {
                unsigned char data[100] = {1};
                sluice_set *first = &w.set[0];
                CHECK(!sluice_view_set(&v, f, &(sluice_element){first, w.p.period, 0}), "%s", sluice_errmsg());
                const int err = sluice_view_write(v, 100 * rank, 100, data);
                CHECK(err == (!behind && rank == culprit ? -ENOSPC : 0), "%d", err);
            }
        }
        meet();
        if (rank > 0) {
            const bool sync = culprit % 2;
            const int expected = behind && rank == culprit ? -ENOSPC : 0;
            int err = sync ? sluice_file_sync(f) : 0;
            CHECK(!sync || err == expected, "rank %d culprit %d: %d", rank, culprit, err);
            char offset[40];
            snprintf(offset, sizeof offset, "/0 at byte %d", 100 * rank);
            if (err)
                CHECK(strstr(sluice_errmsg(), "server rank 0: write ") && strstr(sluice_errmsg(), offset), "%s",
                      sluice_errmsg());
            sluice_view_free(v);
            err = sluice_file_close(f);
            CHECK(err == (sync ? 0 : expected), "rank %d culprit %d: close %d", rank, culprit, err);
        } else
            CHECK(!sluice_file_close(f));
        meet();
        for (int i = 0; i < SUBS && rank == 0; i++) unlink(w.path[i]);
        meet();
    }
    tear(&w);
}

/* A call of the server's store, or an allocation of the server or of a client, fails once while the clients set views,
 * write, read and close: no one hangs, and where no one was told of an error the bytes are right. */
typedef enum where { STORE, SERVER, CLIENT } where;
static void any_fault(int64_t n, where place) {
    const scene sc = {1, false, true, true, 0};
    world w;
    sluice_file *f = NULL;
    sluice_view *v = NULL;
    sluice_set own = SLUICE_SET_EMPTY;
    unsigned char data[300], back[300];
    int bad = 0, any = 0;
    build(&w, &sc, 10);
    CHECK(!sluice_file_create_all(&f, &w.s, &w.p, w.path, &w.o), "%s", sluice_errmsg());
    if (rank == 0) {
        sluice_store *shim;
        CHECK(!sluice_store_open_fault(&shim, f->io[0].store));
        f->io[0].store = shim;
        f->io[0].no_map = true;
        if (place == STORE) sluice_fault_set(shim, n, SLUICE_FAULT_ERROR, EIO);
    }
    CHECK(!sluice_set_block(&own, rank * 7, 7));
    meet();
    if (rank == (place == SERVER ? 0 : place == CLIENT ? 1 : -1)) sluice_mem_fail_nth(n);
    if (rank > 0) {
        for (int i = 0; i < 300; i++) data[i] = byte_of(i, rank);
        bad |= sluice_view_set(&v, f, &(sluice_element){&own, 7 * size, 0});
        if (v) bad |= sluice_view_write(v, 0, 300, data);
        if (v) bad |= sluice_view_read(v, 0, 300, back);
        if (v && !bad) bad |= sluice_file_sync(f);
        if (v && !bad) CHECK(!memcmp(data, back, 300), "call %" PRId64, n);
        sluice_view_free(v);
    }
    const int err = sluice_file_close(f);
    sluice_mem_fail_nth(0);
    MPI_Allreduce(&(int){bad || err}, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int64_t x = 0; x < 300 && rank == 0 && !any; x++) {
        unsigned char c = 0;
        const int sub = (int)(x / 10 % SUBS), owner = (int)(x / 7 % size);
        if (owner == 0 || x >= 7 * size * (300 / 7)) continue;
        const int fd = open(w.path[sub], O_RDONLY);
        CHECK(pread(fd, &c, 1, x / (10 * SUBS) * 10 + x % 10) == 1);
        close(fd);
        CHECK(c == byte_of(x / (7 * size) * 7 + x % 7, owner), "byte %" PRId64 ", fault %" PRId64, x, n);
    }
    sluice_set_free(&own);
    tear(&w);
}

/* ---- Opening --------------------------------------------------------------------------------------------------- */

static void refuse(const world *w, const sluice_servers *s, const sluice_partition *p, int error, const char *what) {
    sluice_file *f = NULL;
    struct stat st;
    const int err = sluice_file_create_all(&f, s, p, w->path, &w->o);
    CHECK(err == error && !f && strstr(sluice_errmsg(), what), "%d: %s", err, sluice_errmsg());
    meet();
    CHECK(stat(w->path[0], &st) && stat(w->path[1], &st), "a subfile was left");
    meet();
}

static void opening(void) {
    const scene sc = {2, true, true, true, 0};
    world w;
    build(&w, &sc, 10);
    sluice_servers s = w.s;
    s.n = size + 1;
    refuse(&w, &s, &w.p, SLUICE_E_ARGUMENT, "servers among");
    s.n = -1;
    refuse(&w, &s, &w.p, SLUICE_E_ARGUMENT, "servers among");
    s.n = 2, s.rank = (int[]){0, size};
    refuse(&w, &s, &w.p, SLUICE_E_ARGUMENT, "server 1 is rank");
    s.rank = (int[]){1, 1};
    refuse(&w, &s, &w.p, SLUICE_E_ARGUMENT, "twice");
    s = w.s;
    s.size = sizeof s + 8;
    refuse(&w, &s, &w.p, SLUICE_E_ARGUMENT, "newer");
    sluice_partition p = w.p;
    p.n = rank == 1 ? SUBS - 1 : SUBS;
    if (rank == 1) p.period = 0;
    refuse(&w, &w.s, &p, SLUICE_E_MISMATCH, "differ");
    w.o.memory = rank == 0 ? 4096 : 1 << 20;
    refuse(&w, &w.s, &w.p, SLUICE_E_ARGUMENT, "rank 0: ");
    w.o.memory = 0;
    meet();
    /* The last server finds that its file is there. */
    if (rank == 0) fclose(fopen(w.path[SUBS - 2], "w"));
    meet();
    refuse(&w, &w.s, &w.p, -EEXIST, w.path[SUBS - 2]);
    if (rank == 0) CHECK(!access(w.path[SUBS - 2], F_OK), "what was there is gone");
    meet();
    tear(&w);
}

/* With an allocation of one process failing, no one opens, and nothing is left; false if it was not reached. */
static bool opening_fails(int64_t n, int culprit) {
    const scene sc = {1, false, true, true, 0};
    world w;
    sluice_file *f = NULL;
    build(&w, &sc, 10);
    const int64_t live = sluice_mem_live();
    if (rank == culprit) sluice_mem_fail_nth(n);
    const int err = sluice_file_create_all(&f, &w.s, &w.p, w.path, &w.o);
    sluice_mem_fail_nth(0);
    CHECK(!err == !!f && (!err || (err == -ENOMEM && sluice_mem_live() == live)), "%" PRId64 ": %s", n,
          sluice_errmsg());
    meet();
    if (err) CHECK(access(w.path[0], F_OK), "a subfile was left");
    CHECK(!sluice_file_close(f));
    tear(&w);
    return err != 0;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(folder, sizeof folder, "serve.XXXXXX");
    if (rank == 0 && !mkdtemp(folder)) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    state = 1996 + (uint64_t)rank;
    const scene scenes[] = {{1, false, true, true, 0},         {1, true, false, true, 1 << 20},
                            {2, true, true, true, 512 << 10},  {size, true, false, true, 512 << 10},
                            {size - 1, false, true, false, 0}, {size - 1, false, false, true, 1 << 20}};
    enum { NSHAPES = 5 };
    const int64_t shape[NSHAPES][2] = {{1, 1}, {100, 10}, {10, 100}, {50, 50}, {1000, 7}};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        for (size_t k = 0; k<NSHAPES; k += size> 3 ? 2 : 1) run(&scenes[i], shape[k][0], shape[k][1]);
    bounded();
    own_reads();
    bad_messages();
    deaf();
    late_errors(true);
    late_errors(false);
    const int64_t step = size > 3 ? 5 : 1; /* opening takes many processes on few cores a while */
    for (int64_t n = 1; n < 40; n += step) any_fault(n, STORE);
    for (int64_t n = 1; n < 60; n += step) any_fault(n, SERVER);
    for (int64_t n = 1; n < 150; n += 3 * step) any_fault(n, CLIENT);
    opening();
    for (int64_t n = 1; opening_fails(n, 0); n += step) continue;
    for (int64_t n = 1; opening_fails(n, size - 1); n += step) continue;
    if (rank == 0) rmdir(folder);
    int mine = verdict(), all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return all;
}
