/* ranks: 1 */
/* container_fault: creating, publishing and deleting a container, with the process killed at each of its system calls
 * on names, with each of them failing, and with each allocation failing. Afterwards the container opens as it was
 * before or as it was to be, every byte of it, or, where there is to be none, not at all; what is left over can be
 * cleaned up. */
#include "container_common.h"
#include <signal.h>
#include <sys/wait.h>

typedef enum action { CREATE, PUBLISH, DELETE, ACTIONS } action;
static const char *const name[] = {"create", "publish", "delete"};
static int runs;

static int create(void) {
    sluice_manifest *m = NULL;
    sluice_desc d = {.shape = {.ndims = 2, .dim = {9, 11}}, .type = "int16"};
    sluice_reason why = {0};
    int error = sluice_manifest_make(&m, &d, "striped:10:3", ".,fast", NULL, &why);
    if (!error) error = sluice_manifest_checksum(m, sums_block, &why);
    if (!error) error = sluice_container_create(container_path, m, bindings, &why);
    CHECK(!error || why.error == error, "%d is not %d: %s", error, why.error, why.text);
    sluice_manifest_free(m);
    return error;
}

static int publish(void) {
    sluice_container *c = NULL;
    sluice_manifest *next = NULL;
    sluice_store **member = NULL;
    sluice_reason why = {0};
    int error = sluice_container_open(&c, container_path, SLUICE_CONTAINER_WRITE, bindings, &why), closed = 0;
    if (!error) error = sluice_manifest_make(&next, &c->manifest->desc, "columns:2", "slow,.", c->manifest, &why);
    if (!error && !(error = sluice_container_begin(c, next, &why))) {
        error = sluice_container_members(&member, c, next, &why);
        if (!error && visit(next, member, true)) error = -EIO;
        for (int i = 0; i < next->layout->n && !error; i++) error = sluice_store_sync(member[i], &why);
        sluice_folder_release(member, member ? next->layout->n : 0);
        if (!error) error = sluice_container_publish(c, next, &why);
        if (error && c->manifest != next) sluice_container_abandon(c, next);
    }
    CHECK(!error || error == -EIO || why.error == error, "%d is not %d: %s", error, why.error, why.text);
    if (!c || c->manifest != next) sluice_manifest_free(next);
    closed = sluice_container_close(c);
    return error ? error : closed;
}

static int delete (void) {
    sluice_reason why = {0};
    const int error = sluice_container_delete(container_path, bindings, &why);
    CHECK(!error || why.error == error, "%d is not %d: %s", error, why.error, why.text);
    return error;
}

static int act(action a) { return a == CREATE ? create() : a == PUBLISH ? publish() : delete (); }

/* Before the action: nothing, or a container of the first generation that holds the values. */
static void prepare(action a) {
    remove_tree(scratch);
    if (mkdir(scratch, 0777) || mkdir(inside("fast"), 0777) || mkdir(inside("slow"), 0777)) exit(1);
    if (a == CREATE) return;
    sluice_container *c = NULL;
    CHECK(!create() && !sluice_container_open(&c, container_path, SLUICE_CONTAINER_PEER, bindings, NULL));
    CHECK(c && !visit(c->manifest, c->member, true));
    sluice_container_close(c);
}

static void ignore(void *arg, const char *target, const char *file) {
    (void)target, (void)file;
    ++*(int *)arg;
}

/* The generation that opens, with all its bytes; 0: none does, and the folder is no container; -1: something else. */
static int64_t look(action a) {
    sluice_container *c = NULL;
    sluice_reason why = {0};
    const int error = sluice_container_open(&c, container_path, SLUICE_CONTAINER_READ, bindings, &why);
    if (error == -ENOENT && (entries(container_path) < 0 || strstr(why.text, "not a container"))) return 0;
    CHECK(!error, "%s", why.text);
    if (error) return -1;
    int64_t generation = c->manifest->generation;
    unsigned char byte = 0;
    if (a == CREATE) {
        for (int i = 0; i < c->manifest->layout->n; i++)
            if (sluice_store_read(c->member[i], c->manifest->layout->set[i].size - 1, &byte, 1, NULL) || byte)
                generation = -1;
    } else if (visit(c->manifest, c->member, false)) {
        generation = -1;
    }
    for (int i = 0; sums_block && generation == 2 && i < c->manifest->layout->n; i++) {
        sluice_sums_states state;
        CHECK(!sluice_sums_state(c->member[i], &state, &why) && state == SLUICE_SUMS_SEALED, "published, not sealed");
    }
    sluice_container_close(c);
    return generation;
}

/* Nothing is on a target but the subfile that the generation has there, and whose it is. */
static void examine_targets(int64_t generation, const char *what) {
    const int fast = entries(inside("fast")), slow = entries(inside("slow"));
    const int some = 1 + (sums_block ? 2 : 1); /* the owner, a subfile and its checksums */
    CHECK(fast == (generation == 1 ? some : 0) && slow == (generation == 2 ? some : 0),
          "%s: %d and %d files on targets", what, fast, slow);
}

/* What the action may leave: the state before, or after. Then what is left over is cleaned up. */
static void examine(action a, bool done, bool killed, const char *what) {
    static const int64_t before[] = {0, 1, 1}, after[] = {1, 2, 0};
    const int64_t now = look(a);
    sluice_container *c = NULL;
    sluice_reason why = {0};
    int n = 0;
    CHECK(now == after[a] || (!done && now == before[a]), "%s: generation %" PRId64, what, now);
    if (a != DELETE || now > 0 || !killed) unlink(inside("a.sluice/lock")); /* else the next who deletes does it */
    if (now > 0) {
        CHECK(!sluice_container_open(&c, container_path, SLUICE_CONTAINER_WRITE, bindings, &why), "%s: %s", what,
              why.text);
        if (!c) return;
        const sluice_manifest *m = c->manifest;
        int own = 0;
        for (int i = 0; i < m->layout->n; i++) own += !strcmp(m->target[m->place[i]].text, ".");
        CHECK(!sluice_container_clean(c, true, ignore, &n, &why), "%s: %s", what, why.text);
        CHECK(entries(container_path) == 2 + (sums_block ? 2 : 1) * own, "%s: %d files", what, entries(container_path));
        examine_targets(now, what);
        sluice_container_close(c);
    }
    const int error = sluice_container_delete(container_path, bindings, &why);
    CHECK(error == 0 || error == -ENOENT, "%s: delete after it: %s", what, why.text);
    CHECK(entries(container_path) == -1, "%s: its folder is left", what);
    if (a == DELETE || now > 0) examine_targets(0, what);
}

/* true if the action ended before its n-th call. */
static bool killed(action a, int64_t n) {
    char what[60];
    snprintf(what, sizeof what, "%s killed at call %" PRId64, name[a], n);
    prepare(a);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        sluice_sys_fault(n, 0);
        const int error = act(a);
        _exit(error ? 2 : failures != 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const bool done = WIFEXITED(status);
    CHECK(done ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL, "%s: status %x", what, status);
    examine(a, done, true, what);
    runs++;
    return done;
}

static bool failed(action a, int64_t n, int error) {
    char what[60];
    snprintf(what, sizeof what, "%s with call %" PRId64 " failing", name[a], n);
    prepare(a);
    const int fds = open_descriptors();
    const int64_t live = sluice_mem_live(), calls = sluice_sys_calls();
    sluice_sys_fault(n, error);
    const int got = act(a);
    sluice_sys_fault(0, 0);
    const bool clean = sluice_sys_calls() - calls < n;
    CHECK(got == 0 || (got == -error && !clean), "%s: %d", what, got);
    CHECK(open_descriptors() == fds && sluice_mem_live() == live, "%s leaks", what);
    if (a == CREATE && got) CHECK(entries(scratch) == 2 && entries(inside("fast")) == 0, "%s: something is left", what);
    if (a == PUBLISH && got && look(a) == 1) CHECK(entries(inside("slow")) == 0, "%s: something is left", what);
    examine(a, got == 0, false, what);
    runs++;
    return clean;
}

static bool starved(action a, int64_t n) {
    char what[60];
    snprintf(what, sizeof what, "%s with allocation %" PRId64 " failing", name[a], n);
    prepare(a);
    const int fds = open_descriptors();
    const int64_t live = sluice_mem_live(), calls = sluice_mem_calls();
    sluice_mem_fail_nth(n);
    const int got = act(a);
    const bool clean = sluice_mem_calls() - calls < n;
    sluice_mem_fail_nth(0);
    CHECK(got == 0 || got == -ENOMEM, "%s: %d", what, got);
    CHECK(open_descriptors() == fds && sluice_mem_live() == live, "%s leaks", what);
    examine(a, got == 0, false, what);
    runs++;
    return clean;
}

int main(void) {
    make_scratch();
    create(); /* the first store of all measures, with descriptors and memory of its own */
    sluice_container *c = NULL;
    CHECK(!sluice_container_open(&c, container_path, SLUICE_CONTAINER_READ, bindings, NULL));
    sluice_container_close(c);
    for (sums_block = 0; sums_block <= 512; sums_block += 512)
        for (action a = 0; a < ACTIONS && !failures; a++) {
            for (int64_t n = 1; !failures && !killed(a, n); n++) {
            }
            for (int64_t n = 1; !failures && !failed(a, n, EDQUOT); n++) {
            }
            for (int64_t n = 1; !failures && !starved(a, n); n++) {
            }
        }
    remove_tree(scratch);
    printf("%d runs\n", runs);
    return verdict();
}
