/* ranks: 1 */
/* claim: handles that write one file at the same time lose nothing, though one writes through a mapping without locks
 * and the other reads, changes and writes back what lies between its own elements. */
#include "array/array.h"
#include "sluice.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 20000, ROUNDS = 400 };
static const char name[] = "claim.bin";
static int failures;

#define CHECK(x)                                                                                                       \
    do {                                                                                                               \
        if (!(x)) printf("line %d: %s (%s)\n", __LINE__, #x, sluice_errmsg()), failures++;                             \
    } while (0)

static sluice_array *open_with(sluice_method method) {
    sluice_array *a;
    sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 4, 0, {2 * N}}, .type = "uint32"};
    sluice_options o = {.size = sizeof o, .method = method};
    if (!sluice_open(&a, name, SLUICE_WRITE, &d, &o)) return a;
    printf("%s\n", sluice_errmsg());
    exit(1);
}

/* Every second element, from the first or the second on. */
static int write_half(sluice_array *a, int64_t first, uint32_t value) {
    static uint32_t buf[N];
    for (int i = 0; i < N; i++) buf[i] = value;
    return sluice_write(a, (sluice_range[]){{first, N, 2}}, buf);
}

/* The number of elements of a half that do not have the value. */
static int wrong(int64_t first, uint32_t value) {
    static uint32_t buf[N];
    int n = 0;
    sluice_array *a = open_with(SLUICE_SIEVE);
    CHECK(!sluice_read(a, (sluice_range[]){{first, N, 2}}, buf));
    for (int i = 0; i < N; i++) n += buf[i] != value;
    sluice_close(a);
    return n;
}

static int64_t preread(sluice_array *a) {
    sluice_counts c;
    sluice_count(a, &c);
    return c.preread;
}

/* While one handle has a claim, the other moves no gaps along; before and afterwards it does. */
static bool claims(void) {
    sluice_counts c;
    sluice_array *mapped = open_with(SLUICE_MAPPED), *sieve = open_with(SLUICE_SIEVE);
    CHECK(!write_half(sieve, 1, 1) && preread(sieve) > 0);
    CHECK(!write_half(mapped, 0, 2));
    sluice_count(mapped, &c);
    bool possible = c.mapped_written > 0;
    if (possible) {
        int64_t before = preread(sieve);
        CHECK(!write_half(sieve, 1, 3) && preread(sieve) == before);
        sluice_count(sieve, &c);
        CHECK(c.wanted_written == (int64_t)2 * 4 * N);
        CHECK(!write_half(mapped, 0, 4) && wrong(0, 4) == 0 && wrong(1, 3) == 0);
        sluice_close(mapped);
        CHECK(!write_half(sieve, 1, 5) && preread(sieve) > before && wrong(0, 4) == 0 && wrong(1, 5) == 0);
    } else {
        sluice_close(mapped);
    }
    sluice_close(sieve);
    return possible;
}

/* Opening does not wait for who has locked the file. */
static void busy(void) {
    int fd = open(name, O_RDWR | O_CLOEXEC);
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    CHECK(fd >= 0 && !fcntl(fd, F_OFD_SETLK, &all));
    alarm(60);
    sluice_array *a = open_with(SLUICE_AUTO);
    alarm(0);
    CHECK(a->io.locks && !sluice_close(a));
    close(fd);
}

/* A file system without locks is written without; if it only does not say, the array is not opened. */
static void no_answer(void) {
    static const struct {
        int error, result;
    } answer[] = {{ENOTSUP, 0}, {EINVAL, 0}, {ENOSYS, 0}, {ENOLCK, -ENOLCK}, {EIO, -EIO}};
    for (size_t i = 0; i < sizeof answer / sizeof *answer; i++) {
        sluice_array *a = NULL;
        sluice_store *file = NULL, *fault = NULL;
        sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 4, 0, {2 * N}}, .type = "uint32"};
        CHECK(!sluice_store_open(&file, name, SLUICE_STORE_WRITE, NULL) && !sluice_store_open_fault(&fault, file));
        sluice_fault_set(fault, 1, SLUICE_FAULT_ERROR, answer[i].error);
        CHECK(sluice_array_adopt(&a, fault, &d, true, &(sluice_options){.memory = 1 << 20}) == answer[i].result);
        CHECK(!a || !a->io.locks);
        if (a)
            sluice_close(a);
        else
            sluice_store_close(fault);
    }
}

/* Two processes, each with a half of its own, whose handles come and go. */
static void race(void) {
    pid_t child = fork();
    for (uint32_t k = 1; k <= ROUNDS; k++) {
        sluice_array *a = open_with(child ? SLUICE_MAPPED : SLUICE_SIEVE);
        for (uint32_t i = 0; i < 3; i++) CHECK(!write_half(a, child == 0, 10 * k + i));
        sluice_close(a);
        int lost = wrong(child == 0, 10 * k + 2);
        if (lost) printf("round %u: %d elements are lost\n", k, lost), failures++;
    }
    int status = 0;
    if (child == 0) exit(failures != 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    static const uint32_t zeros[2 * N];
    sluice_array *a;
    sluice_desc d = {.shape = {1, SLUICE_ROW_MAJOR, 4, 0, {2 * N}}, .type = "uint32"};
    CHECK(!sluice_create(&a, name, &d, &(sluice_options){.replace = 1}));
    CHECK(!sluice_write(a, NULL, zeros) && !sluice_close(a));
    busy();
    no_answer();
    bool possible = claims();
    if (possible) race();
    unlink(name);
    return failures ? 1 : possible ? 0 : 77;
}
