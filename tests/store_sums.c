/* ranks: 1 */
/* store_sums.c: a store with checksums against a plain array: random reads, writes, sealings and lengths; the file of
 * sums against the definition, bit by bit; single bits that flip, which every read of their block finds and no other;
 * what a writer that was killed leaves, and a power cut; and each call and each allocation failing. */
#include "store_common.h"
#include "sums_oracle.h"
#include <sys/wait.h>

enum { BLOCK = 512, MOST = 7 * BLOCK, RUN = 72, HEAD_SUM = 124 };
static const sluice_sums_id id = {
    .block = BLOCK, .generation = 3, .subfile = 5, .uuid = "0123456789abcdef0123456789abcdef", .target = "fast"};
static uint64_t seed;
static unsigned char model[MOST];
static int64_t length; /* of the data */

/* ---- Files ---- */

static const char *const data_name = "data", *const sums_name = "data.sum";

static void put(const char *name, int64_t at, const void *bytes, int64_t n) {
    const int fd = open(in_scratch(name), O_RDWR);
    CHECK(fd >= 0 && pwrite(fd, bytes, (size_t)n, at) == n);
    close(fd);
}

static void get(const char *name, int64_t at, void *bytes, int64_t n) {
    const int fd = open(in_scratch(name), O_RDWR);
    memset(bytes, 0, (size_t)n);
    CHECK(fd >= 0 && pread(fd, bytes, (size_t)n, at) >= 0);
    close(fd);
}

static void make(int64_t size) {
    unsigned char head[SLUICE_SUMS_HEAD];
    sluice_sums_head(head, &id);
    for (int i = 0; i < 2; i++) {
        const int fd = open(in_scratch(i ? sums_name : data_name), O_RDWR | O_CREAT | O_TRUNC, 0666);
        CHECK(fd >= 0 && !ftruncate(fd, i ? sluice_sums_length(size, BLOCK) : size));
        close(fd);
    }
    put(sums_name, 0, head, sizeof head);
    memset(model, 0, sizeof model);
    length = size;
}

static sluice_store *fault_of[2]; /* data, sums */

/* Opens both, each behind a shim that can fail. */
static int try_open(sluice_store **out, sluice_store_mode mode, sluice_reason *why) {
    sluice_store *s[2] = {NULL, NULL};
    int err = 0;
    for (int i = 0; i < 2 && !err; i++) {
        sluice_store *file = NULL;
        err = sluice_store_open_posix(&file, in_scratch(i ? sums_name : data_name), mode, why);
        if (!err && (err = sluice_store_open_fault(&s[i], file))) sluice_store_close(file);
    }
    if (!err) err = sluice_store_open_sums(out, s[0], s[1], &id, length, why);
    for (int i = 0; i < 2 && err; i++) sluice_store_close(s[i]);
    for (int i = 0; i < 2 && !err; i++) fault_of[i] = s[i];
    return err;
}

static sluice_store *open_it(sluice_store_mode mode) {
    sluice_store *s = NULL;
    sluice_reason why = {0};
    CHECK(!try_open(&s, mode, &why), "%s", why.text);
    if (!s) exit(1);
    return s;
}

/* ---- The definition ---- */

static uint32_t flags(void) {
    uint32_t f;
    get(sums_name, SUMS_FLAGS, &f, sizeof f);
    return le32toh(f);
}

/* All blocks are sealed with the sums of the model. */
static bool all_sealed(void) {
    FILE *f = fopen(in_scratch(sums_name), "rb");
    const bool sealed = f && sums_sealed(f, model, length, BLOCK);
    if (f) fclose(f);
    return sealed;
}

/* ---- Against a model ---- */

static int64_t draw(int64_t n) { return chance(&seed, n); }

/* In some pieces of memory. */
static int move(sluice_store *s, bool write, int64_t off, unsigned char *buf, int64_t n, sluice_reason *why) {
    struct iovec v[9];
    int pieces = 0;
    for (int64_t at = 0; at < n;) {
        const int64_t len = pieces == 8 ? n - at : draw(n - at + 1);
        v[pieces++] = (struct iovec){buf + at, (size_t)len};
        at += len;
    }
    return sluice_store_xfer(s, write, &(sluice_req){off, n, v, pieces, 0}, 1, NULL, why);
}

static void steps(int n) {
    sluice_reason why = {0};
    make(draw(MOST + 1));
    sluice_store *s = open_it(SLUICE_STORE_WRITE);
    for (int i = 0; i < n; i++) {
        static unsigned char buf[MOST + BLOCK];
        const int64_t off = draw(length + 1), len = draw(length - off + 1);
        switch (draw(12)) {
        case 0: CHECK(!sluice_sums_seal(s, false, &why) && all_sealed(), "%s", why.text); break;
        case 1:
            CHECK(!sluice_sums_seal(s, false, &why) && !sluice_store_close(s));
            s = open_it(SLUICE_STORE_WRITE);
            CHECK(!sluice_sums_recover(s, &why) && all_sealed());
            break;
        case 2: {
            const int64_t size = draw(MOST + 1);
            CHECK(!sluice_store_resize(s, size, &why), "%s", why.text);
            if (size < length) memset(model + size, 0, (size_t)(length - size));
            length = size;
            break;
        }
        case 3:
        case 4:
        case 5:
        case 6:
            for (int64_t k = 0; k < len; k++) buf[k] = (unsigned char)draw(256);
            CHECK(!move(s, true, off, buf, len, &why), "%s", why.text);
            memcpy(model + off, buf, (size_t)len);
            break;
        default: /* behind the end too */
            memset(buf, 0xAA, sizeof buf);
            CHECK(!move(s, false, off, buf, len + BLOCK, &why), "%s", why.text);
            for (int64_t k = 0; k < len + BLOCK; k++)
                CHECK(buf[k] == (off + k < length ? model[off + k] : 0), "byte %" PRId64, off + k);
        }
    }
    CHECK(!sluice_sums_seal(s, false, &why) && all_sealed(), "%s", why.text);
    CHECK(!sluice_store_close(s));
}

/* ---- Damage ---- */

static void fill(int64_t size) {
    sluice_reason why = {0};
    make(size);
    sluice_store *s = open_it(SLUICE_STORE_WRITE);
    for (int64_t x = 0; x < size; x++) model[x] = (unsigned char)draw(256);
    CHECK(!sluice_store_write(s, 0, model, size, &why), "%s", why.text);
    CHECK(!sluice_sums_seal(s, false, &why) && !sluice_store_close(s));
}

static void flip(const char *name, int64_t at) {
    unsigned char byte;
    get(name, at, &byte, 1);
    byte ^= (unsigned char)(1 << draw(8));
    put(name, at, &byte, 1);
}

typedef struct finding {
    int64_t bad, open, first;
} finding;
static int found(void *arg, int how, sluice_run block) {
    finding *f = arg;
    if (how < 0 && !f->bad++) f->first = block.off / BLOCK;
    f->open += how == SLUICE_SUMS_OPEN;
    return 0;
}

static void flips(void) {
    sluice_reason why = {0};
    unsigned char buf[MOST];
    fill(1 + draw(MOST));
    const bool in_sums = draw(3) == 0;
    const int64_t x = draw(length), bad = x / BLOCK, blocks = (length + BLOCK - 1) / BLOCK;
    flip(in_sums ? sums_name : data_name, in_sums ? SLUICE_SUMS_HEAD + SUMS_ENTRY * bad + draw(4) : x);
    sluice_store *s = open_it(SLUICE_STORE_WRITE);
    for (int i = 0; i < 30; i++) {
        const int64_t off = draw(length), len = 1 + draw(length - off);
        const bool hit = off < (bad + 1) * BLOCK && off + len > bad * BLOCK;
        char name[120];
        snprintf(name, sizeof name, "block %" PRId64 ", bytes %" PRId64 " to %" PRId64 ", of subfile 5 on target fast",
                 bad, bad * BLOCK, sluice_min(length, (bad + 1) * BLOCK) - 1);
        const int err = move(s, false, off, buf, len, &why);
        CHECK(err == (hit ? SLUICE_E_CHECKSUM : 0), "[%" PRId64 ", +%" PRId64 "): %d", off, len, err);
        CHECK(!hit || strstr(why.text, name), "%s", why.text);
        CHECK(hit || !memcmp(buf, model + off, (size_t)len));
        /* Of its own part only: what is wrong with the rest must not be sealed. */
        const bool part = hit && (off > bad * BLOCK || off + len < sluice_min(length, (bad + 1) * BLOCK));
        if (part)
            CHECK(sluice_store_write(s, off, model + off, len, &why) == SLUICE_E_CHECKSUM,
                  "[%" PRId64 ", +%" PRId64 ")", off, len);
    }
    finding f = {0};
    CHECK(!sluice_sums_scrub(s, found, &f, &why) && f.bad == 1 && f.first == bad && !f.open);
    CHECK(blocks == 1 || !sluice_store_read(s, bad ? 0 : BLOCK, buf, 1, &why), "%s", why.text);
    /* Written as a whole it is good again. */
    const int64_t whole = sluice_min(length - bad * BLOCK, BLOCK);
    CHECK(!sluice_store_write(s, bad * BLOCK, model + bad * BLOCK, whole, &why), "%s", why.text);
    CHECK(!sluice_sums_seal(s, false, &why) && !sluice_store_read(s, 0, buf, length, &why) && all_sealed());
    CHECK(!memcmp(buf, model, (size_t)length) && !sluice_store_close(s));
}

/* A bit of the head, or of a mark. */
static void flips_of_marks(void) {
    sluice_reason why = {0};
    sluice_store *s = NULL;
    unsigned char buf[MOST];
    fill(3 * BLOCK);
    for (int i = 0; i < SLUICE_SUMS_HEAD; i++) {
        unsigned char before;
        get(sums_name, i, &before, 1);
        flip(sums_name, i);
        CHECK(try_open(&s, SLUICE_STORE_READ, &why) == SLUICE_E_FORMAT, "byte %d of the head", i);
        put(sums_name, i, &before, 1);
    }
    CHECK(!truncate(in_scratch(sums_name), sluice_sums_length(length, BLOCK) - 1));
    CHECK(try_open(&s, SLUICE_STORE_READ, &why) == SLUICE_E_FORMAT && strstr(why.text, "truncated"), "%s", why.text);
    fill(3 * BLOCK);
    unsigned char mark;
    get(sums_name, SLUICE_SUMS_HEAD + SUMS_ENTRY + 4, &mark, 1);
    mark ^= 1;
    put(sums_name, SLUICE_SUMS_HEAD + SUMS_ENTRY + 4, &mark, 1);
    s = open_it(SLUICE_STORE_READ);
    CHECK(sluice_store_read(s, BLOCK, buf, 1, &why) == SLUICE_E_FORMAT, "open in a file that is sealed");
    CHECK(!sluice_store_read(s, 0, buf, BLOCK, &why) && !sluice_store_close(s));
}

/* ---- Crashes ---- */

/* As if the system had been started again. */
static void reboot(void) {
    unsigned char head[SLUICE_SUMS_HEAD];
    get(sums_name, 0, head, sizeof head);
    if (head[RUN]) head[RUN] ^= 3;
    const uint32_t sum = htole32(sluice_crc32c(0, head, HEAD_SUM));
    memcpy(head + HEAD_SUM, &sum, sizeof sum);
    put(sums_name, 0, head, sizeof head);
}

static sluice_sums_states state_of(sluice_store *s) {
    sluice_sums_states state = SLUICE_SUMS_SEALED;
    sluice_reason why = {0};
    CHECK(!sluice_sums_state(s, &state, &why), "%s", why.text);
    return state;
}

/* A writer is gone after it wrote in block 1; another block is damaged. */
static void killed(void) {
    sluice_reason why = {0};
    unsigned char buf[MOST];
    fill(4 * BLOCK + 100);
    sluice_store *s = open_it(SLUICE_STORE_WRITE);
    CHECK(!sluice_store_write(s, BLOCK + 7, "new", 3, &why) && !sluice_store_close(s));
    memcpy(model + BLOCK + 7, "new", 3);
    flip(data_name, 3 * BLOCK);
    s = open_it(SLUICE_STORE_READ);
    finding f = {0};
    CHECK(state_of(s) == SLUICE_SUMS_DIRTY && !sluice_sums_scrub(s, found, &f, &why));
    CHECK(f.bad == 1 && f.first == 3 && f.open == 1);
    CHECK(!sluice_store_read(s, 0, buf, 3 * BLOCK, &why) && !memcmp(buf, model, 3 * BLOCK), "%s", why.text);
    CHECK(sluice_store_read(s, 3 * BLOCK + 9, buf, 1, &why) == SLUICE_E_CHECKSUM);
    CHECK(!sluice_store_close(s));
    s = open_it(SLUICE_STORE_WRITE);
    CHECK(!sluice_sums_recover(s, &why) && state_of(s) == SLUICE_SUMS_DIRTY && !sluice_sums_seal(s, true, &why));
    CHECK(state_of(s) == SLUICE_SUMS_SEALED);
    CHECK(sluice_store_read(s, 3 * BLOCK + 9, buf, 1, &why) == SLUICE_E_CHECKSUM, "what is certain is not accepted");
    CHECK(!sluice_store_close(s));
}

/* The power was cut: data of block 1 have come to the disk without the mark, a mark of block 2 without data. */
static void power_cut(bool writer) {
    sluice_reason why = {0};
    unsigned char buf[MOST];
    fill(4 * BLOCK);
    sluice_store *s = open_it(SLUICE_STORE_WRITE);
    CHECK(!sluice_store_write(s, 2 * BLOCK + 7, model + 2 * BLOCK + 7, 3, &why) && !sluice_store_close(s));
    put(data_name, BLOCK, "new", 3);
    memcpy(model + BLOCK, "new", 3);
    reboot();
    s = open_it(SLUICE_STORE_WRITE);
    if (writer) {
        CHECK(!sluice_sums_recover(s, &why) && flags() == 3);
        CHECK(!sluice_store_write(s, 0, "more", 4, &why) && !sluice_sums_seal(s, false, &why) && flags() == 2);
        memcpy(model, "more", 4);
    }
    finding f = {0};
    CHECK(state_of(s) == SLUICE_SUMS_DOUBT && !sluice_sums_scrub(s, found, &f, &why));
    CHECK(!f.bad && f.open == (writer ? 1 : 2), "%" PRId64, f.open);
    CHECK(!sluice_store_read(s, 0, buf, length, &why) && !memcmp(buf, model, (size_t)length), "%s", why.text);
    CHECK(!sluice_sums_seal(s, true, &why) && state_of(s) == SLUICE_SUMS_SEALED && all_sealed());
    flip(data_name, BLOCK);
    CHECK(sluice_store_read(s, 0, buf, length, &why) == SLUICE_E_CHECKSUM);
    CHECK(!sluice_store_close(s));
}

/* A reader that is open while another handle writes: old or new, never an error. */
static void beside(void) {
    sluice_reason why = {0};
    unsigned char buf[MOST];
    fill(3 * BLOCK);
    sluice_store *r = open_it(SLUICE_STORE_READ), *w = open_it(SLUICE_STORE_WRITE);
    for (int i = 0; i < 20; i++) {
        model[draw(length)] ^= 1;
        CHECK(!sluice_store_write(w, 0, model, length, &why));
        CHECK(!sluice_store_read(r, 0, buf, length, &why) && !memcmp(buf, model, (size_t)length), "%s", why.text);
        if (draw(2)) CHECK(!sluice_sums_seal(w, false, &why));
        CHECK(!sluice_store_read(r, 0, buf, length, &why) && !memcmp(buf, model, (size_t)length), "%s", why.text);
    }
    CHECK(!sluice_sums_seal(w, false, &why) && !sluice_store_close(w) && !sluice_store_close(r));
}

/* The same by another process, at any moment. */
static void meanwhile(void) {
    enum { TIMES = 150 };
    sluice_reason why = {0};
    unsigned char buf[MOST];
    int status = 1, reads = 0;
    fill(5 * BLOCK);
    fflush(NULL);
    const pid_t child = fork();
    sluice_store *s = open_it(child ? SLUICE_STORE_READ : SLUICE_STORE_WRITE);
    for (int i = 0; child == 0 && i < TIMES; i++) {
        const int64_t off = draw(2) ? 0 : draw(length), len = off ? draw(length - off) : length;
        memset(model + off, i, (size_t)len);
        CHECK(!sluice_store_write(s, off, model + off, len, &why), "%s", why.text);
        if (i % 3 == 0) CHECK(!sluice_sums_seal(s, false, &why), "%s", why.text);
    }
    if (child == 0) _exit(failures != 0);
    for (; waitpid(child, &status, WNOHANG) == 0; reads++) {
        const int64_t off = draw(length);
        CHECK(!sluice_store_read(s, off, buf, length - off, &why), "%s", why.text);
    }
    CHECK(status == 0 && !sluice_store_close(s));
    printf("%d reads while another wrote\n", reads);
}

/* ---- Faults ---- */

/* Each call on the data or on the sums fails once: an error of that number, and done again it succeeds. */
static int act(sluice_store *s, int what, unsigned char *buf, sluice_reason *why) {
    switch (what) {
    case 0: return sluice_store_read(s, 100, buf, 3 * BLOCK, why);
    case 1: return sluice_store_write(s, 100, model + 100, 3 * BLOCK, why);
    case 2: return sluice_store_resize(s, 3 * BLOCK + 200, why);
    case 3: return sluice_store_resize(s, 7 * BLOCK, why);
    case 4: return sluice_sums_seal(s, false, why);
    case 5: return sluice_sums_recover(s, why);
    case 6: return sluice_sums_scrub(s, found, &(finding){0}, why);
    }
    return 0;
}

static int faults(void) {
    unsigned char buf[MOST];
    int reached = 0;
    for (int what = 0; what < 7; what++)
        for (int which = 0; which < 2; which++)
            for (int64_t n = 1; n < 200; n++) {
                sluice_reason why = {0};
                fill(5 * BLOCK);
                sluice_store *s = open_it(SLUICE_STORE_WRITE);
                if (what == 4) CHECK(!act(s, 1, buf, &why)); /* something to seal */
                if (what == 5) reboot();
                const int64_t before = sluice_fault_calls(fault_of[which]);
                sluice_fault_set(fault_of[which], n, SLUICE_FAULT_ERROR, EIO);
                const int err = act(s, what, buf, &why);
                const bool over = sluice_fault_calls(fault_of[which]) - before < n;
                sluice_fault_set(fault_of[which], 0, SLUICE_FAULT_ERROR, 0);
                CHECK(!err || (err == -EIO && why.error == -EIO && why.text[0]), "%d, call %" PRId64 ": %d", what, n,
                      err);
                CHECK(!over || !err, "%d: %d", what, err);
                length = sluice_store_size(s, NULL);
                sluice_store_close(s);
                s = open_it(SLUICE_STORE_WRITE);
                memset(model + sluice_min(length, 5 * BLOCK), 0, MOST - (size_t)sluice_min(length, 5 * BLOCK));
                /* Sums that could not be cut off must not come back. */
                if (what == 2 && err)
                    CHECK(!act(s, 3, buf, &why) && !sluice_store_read(s, 0, buf, 7 * BLOCK, &why), "longer: %s",
                          why.text);
                CHECK(!act(s, what, buf, &why), "%d again: %s", what, why.text);
                length = sluice_store_size(s, NULL);
                CHECK(!sluice_sums_seal(s, false, &why) && all_sealed(), "%d, call %" PRId64 " of %d", what, n, which);
                CHECK(!sluice_store_read(s, 0, buf, length, &why) && !memcmp(buf, model, (size_t)length));
                CHECK(!sluice_store_close(s));
                if (over) break;
                reached++;
            }
    for (int64_t n = 1; n < 20; n++) {
        sluice_reason why = {0};
        sluice_store *s = NULL;
        fill(BLOCK);
        sluice_mem_fail_nth(n);
        const int err = try_open(&s, SLUICE_STORE_READ, &why);
        sluice_mem_fail_nth(0);
        CHECK(err ? err == -ENOMEM && sluice_mem_live() == 0 : !sluice_store_close(s), "%s", why.text);
        if (!err) break;
        reached++;
    }
    return reached;
}

int main(void) {
    const int64_t cases = from_environment("SLUICE_TEST_CASES", 40000) / 1000;
    seed = (uint64_t)from_environment("SLUICE_TEST_SEED", 7);
    printf("seed %llu\n", (unsigned long long)seed);
    make_scratch();
    for (int64_t i = 0; i < cases; i++) steps(40);
    for (int64_t i = 0; i < cases; i++) flips();
    flips_of_marks();
    killed();
    power_cut(false);
    power_cut(true);
    beside();
    meanwhile();
    const int reached = faults();
    printf("%d faults\n", reached);
    CHECK(reached > 40);
    remove_scratch();
    return verdict();
}
