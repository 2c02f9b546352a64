/* data.c: the contents of the files. See contend.h. */
#include "contend.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORD = 4, PAGE = 4096 };

static uint32_t word_at(int64_t i) { return (uint32_t)(i * 2654435761u) ^ (uint32_t)(i >> 20); }

/* Words of a line that starts `off` bytes into the file: n elements, `step` bytes apart. */
static void fill_line(int64_t off, unsigned char *mem, int64_t n, int64_t step, int64_t elem, uint32_t salt) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < elem; k += WORD) {
            uint32_t v = word_at((off + i * step + k) / WORD) + salt;
            memcpy(mem + i * elem + k, &v, WORD);
        }
}

/* The elements lie `apart` bytes apart in memory. */
static bool check_line(int64_t off, const unsigned char *mem, int64_t apart, int64_t n, int64_t step, int64_t elem,
                       uint32_t salt) {
    uint32_t wrong = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < elem; k += WORD) {
            uint32_t v;
            memcpy(&v, mem + i * apart + k, WORD);
            wrong |= v ^ (word_at((off + i * step + k) / WORD) + salt);
        }
    return !wrong;
}

void fill_box(const field *f, const box *b, unsigned char *mem, uint32_t salt) {
    EACH_LINE(f, b, off, at) fill_line(off, mem + at, b->count[0], b->step[0] * f->elem, f->elem, salt);
}

bool check_box(const field *f, const box *b, const unsigned char *mem, uint32_t salt) {
    bool good = true;
    EACH_LINE(f, b, off, at)
    good &= check_line(off, mem + at, f->elem, b->count[0], b->step[0] * f->elem, f->elem, salt);
    return good;
}

bool check_lines(const field *f, const box *b, int64_t k, int64_t n, const unsigned char *mem) {
    bool good = true;
    for (int64_t i = 0; i < n; i++, mem += b->count[0] * f->elem)
        good &= check_line(line_offset(f, b, k + i, 0), mem, f->elem, b->count[0], b->step[0] * f->elem, f->elem, 0);
    return good;
}

bool check_mapped(const job *j, uint32_t salt) {
    const field *f = j->field;
    bool good = true;
    for (int i = 0; i < j->nboxes; i++) {
        const box *b = &j->box[i];
        const int64_t step = b->step[0] * f->elem;
        EACH_LINE(f, b, off, at)
        good &= at >= 0 && check_line(off, j->map + off, step, b->count[0], step, f->elem, salt);
    }
    return good;
}

void restore(const job *j) {
    const field *f = j->field;
    for (int i = 0; i < j->nboxes; i++) {
        const box *b = &j->box[i];
        EACH_LINE(f, b, off, at)
        for (int64_t k = 0; at >= 0 && k < b->count[0]; k++) {
            int64_t x = off + k * b->step[0] * f->elem;
            fill_line(x, j->map + x, 1, 0, f->elem, 0);
        }
    }
}

bool check_file(const job *j) {
    int64_t n = j->file_bytes / WORD, from = n * j->rank / j->nranks, to = n * (j->rank + 1) / j->nranks;
    return check_line(from * WORD, j->map + from * WORD, WORD, to - from, WORD, WORD, 0);
}

int make_file(const job *j) {
    unsigned char page[PAGE];
    if (ftruncate(j->fd, 0)) return -1;
    for (int64_t off = 0; off < j->file_bytes; off += PAGE) {
        int64_t len = j->file_bytes - off < PAGE ? j->file_bytes - off : PAGE;
        fill_line(off, page, len / WORD, WORD, WORD, 0);
        if (transfer(j->fd, page, len, off, true)) return -1;
    }
    return fsync(j->fd);
}

/* How many of the file's pages are cached; negative if that cannot be said. */
static int64_t count_cached(const job *j) {
    int64_t pages = (j->file_bytes + PAGE - 1) / PAGE, n = 0;
    unsigned char *in = malloc((size_t)pages);
    if (!in || mincore(j->map, (size_t)j->file_bytes, in)) n = -1;
    for (int64_t i = 0; n >= 0 && i < pages; i++) n += in[i] & 1;
    free(in);
    return n;
}

/* Pages that the system has in hand at the moment stay, so it is asked again. */
int make_cold(const job *j) {
    int64_t left = -1;
    for (int i = 0; i < 50 && left; i++) {
        if (i) usleep(1000);
        if (fdatasync(j->fd) || posix_fadvise(j->fd, 0, 0, POSIX_FADV_DONTNEED)) return -1;
        left = count_cached(j);
        if (left < 0) return -1;
    }
    return left ? -1 : 0;
}
