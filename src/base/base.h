/* base.h: what every layer stands on: errors, memory, system calls on names, checked 64-bit arithmetic,
 * checksums.
 *
 * Memory goes through one seam. It counts live bytes, so that tests can prove that nothing leaks and that a bound
 * holds, and it can be told to fail the n-th request, so that tests can walk every error path; limits of work can be
 * lowered for the same reason. The calls that change folders have a seam of the same kind (sys.c). Atomic numbers of
 * these seams are the only state of this layer.
 */
#ifndef SLUICE_BASE_H
#define SLUICE_BASE_H

#include "sluice_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory for count * size bytes, or NULL (also if the product overflows). Contents undefined. */
void *sluice_mem_alloc(size_t count, size_t size);

/* Grows or shrinks p (NULL: allocates); on failure returns NULL and p stays valid. */
void *sluice_mem_resize(void *p, size_t count, size_t size);

/* Gives p back; NULL is allowed. */
void sluice_mem_free(void *p);

/* Counts memory that comes from elsewhere as if it had been allocated here, so that it can be made to fail too: false
 * if this request is the one that fails. discharge: it was given back. */
bool sluice_mem_charge(int64_t bytes);
void sluice_mem_discharge(int64_t bytes);

/* Bytes now allocated through the seam, and the largest that number has been since the last reset. */
int64_t sluice_mem_live(void);
int64_t sluice_mem_peak(void);
void sluice_mem_peak_reset(void);

/* Requests made so far. fail_nth(n): the n-th request from now fails, and those after it succeed; 0 = never. */
int64_t sluice_mem_calls(void);
void sluice_mem_fail_nth(int64_t n);

/* A limit of work; or the lower one that a test has set, so that it can walk what happens past it. INT64_MAX: none. */
int64_t sluice_work_limit(int64_t limit);
void sluice_work_limit_set(int64_t most);

/* sys.c. System calls on names in an open folder, AT_FDCWD too: the result, or -errno. open adds O_CLOEXEC; sync is
 * fsync, of folders too; rename takes the place of what is there, rename_new is -EEXIST if there is anything. */
int sluice_sys_open(int folder, const char *name, int flags, unsigned mode);
int sluice_sys_read(int fd, void *buf, size_t n);
int sluice_sys_write(int fd, const void *buf, size_t n);
int sluice_sys_resize(int fd, int64_t size);
int sluice_sys_sync(int fd);
int sluice_sys_mkdir(int folder, const char *name);
int sluice_sys_unlink(int folder, const char *name);
int sluice_sys_rmdir(int folder, const char *name);
int sluice_sys_rename(int folder, const char *from, const char *to);
int sluice_sys_rename_new(int folder, const char *from, const char *to);

/* sys.c. Local. 36 characters that name the present run of this host's system, which ends with what was not on disk;
 * all zeros: not known. */
enum { SLUICE_SYS_BOOT = 36 };
void sluice_sys_boot(char id[SLUICE_SYS_BOOT]);

/* Such calls made so far. fault(n, error): the n-th from now fails with -error and does nothing, or, if error is 0,
 * ends the process before it does anything; n = 0: none does. */
int64_t sluice_sys_calls(void);
void sluice_sys_fault(int64_t n, int error);

/* *r = a op b; false if that does not fit in an int64_t. */
static inline bool sluice_add(int64_t a, int64_t b, int64_t *r) { return !__builtin_add_overflow(a, b, r); }
static inline bool sluice_mul(int64_t a, int64_t b, int64_t *r) { return !__builtin_mul_overflow(a, b, r); }

static inline int64_t sluice_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t sluice_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* Ceiling of a / b for a >= 0, b > 0; cannot overflow. */
static inline int64_t sluice_ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* Greatest common divisor of two positive numbers; their least common multiple, or -1 if it passes 2^63-1. */
int64_t sluice_gcd(int64_t a, int64_t b);
int64_t sluice_lcm(int64_t a, int64_t b);

/* Numbers made one after the other into one that tells them apart; starts with SLUICE_MIX (FNV-1a). */
#define SLUICE_MIX UINT64_C(14695981039346656037)
static inline uint64_t sluice_mix(uint64_t h, int64_t x) { return (h ^ (uint64_t)x) * UINT64_C(1099511628211); }

/* crc32c.c. Pure. The CRC-32C of bytes that follow others whose sum is given; 0: they are the first. plain: the same by
 * tables, whatever the processor can do. */
uint32_t sluice_crc32c(uint32_t sum, const void *bytes, size_t n);
uint32_t sluice_crc32c_plain(uint32_t sum, const void *bytes, size_t n);

/* Fills in *why (if not NULL) with the error's own text, unless error is 0, and returns it. */
int sluice_pass(sluice_reason *why, int error);

/* Fills in *why (if not NULL) and returns error, so that refusing is one statement. Cold: what leads to a refusal is
 * laid apart from what small transfers run through. */
int sluice_refuse(sluice_reason *why, int error, int64_t pos, const char *format, ...)
    __attribute__((cold, format(printf, 4, 5)));

#endif
