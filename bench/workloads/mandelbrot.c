/* mandelbrot.c: a picture of the Mandelbrot set. The processes compute its lines in turn, and each is written as soon
 * as it is known; then it is read back, and shown: --png FILE. A pixel is red, green, blue and opacity, a byte each. */
#include "workload.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXEL = 4, MOST = 96 };

static void colour(unsigned char *out, int n) {
    const unsigned char hue[] = {0, 0, 0, 255};
    memcpy(out, hue, PIXEL);
    if (n == MOST) return;
    out[0] = (unsigned char)(n < 48 ? n * 255 / 48 : 255);
    out[1] = (unsigned char)(n * n * 255 / (MOST * MOST));
    out[2] = (unsigned char)(n < 16 ? 64 + n * 12 : 255 - (n - 16) * 2);
}

/* How soon the point escapes. */
static int escape(double re, double im) {
    double x = 0, y = 0;
    int n = 0;
    for (; n < MOST && x * x + y * y < 4; n++) {
        const double next = x * x - y * y + re;
        y = 2 * x * y + im;
        x = next;
    }
    return n;
}

static void pixels(const job *j, unsigned char *buf, int64_t off, int64_t len) {
    for (int64_t i = 0; i < len; i += PIXEL) {
        const int64_t at = (off + i) / PIXEL % (j->size * j->size), x = at % j->size, y = at / j->size;
        const double unit = 2.6 / (double)j->size;
        colour(buf + i, escape(-2.0 + unit * (double)x, -1.3 + unit * (double)y));
    }
}

static const char *plan(job *j) {
    const int64_t line = j->size * PIXEL;
    if (j->size > 16384) return "more pixels a side than 16384";
    if (j->size < j->nranks || j->size % j->nranks) return "the lines do not come out even for the processes";
    if (j->steps != 1) return "there is one picture only: --steps 1";
    j->write = (view){
        .disp = j->rank * line,
        .extent = j->nranks * line,
        .npieces = 1,
        .piece = {{.len = line, .count = {1, 1}}},
    };
    j->read = j->write;
    j->writes = j->reads = j->size / j->nranks;
    j->bytes = j->size * line;
    return NULL;
}

static stretch line_of(const job *j, bool write, int64_t k) {
    (void)write;
    return (stretch){k * j->size * PIXEL, j->size * PIXEL};
}

/* ---- PNG: the pixels as they are, in blocks that are stored and not compressed ---- */

static uint32_t crc(uint32_t c, const unsigned char *p, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = (c >> 1) ^ (c & 1 ? 0xEDB88320u : 0);
    }
    return c;
}

static void big(unsigned char *out, uint32_t x) {
    for (int i = 0; i < 4; i++) out[i] = (unsigned char)(x >> (24 - 8 * i));
}

static void chunk(FILE *f, const char *type, const unsigned char *data, int64_t n) {
    unsigned char number[4];
    big(number, (uint32_t)n);
    fwrite(number, 1, 4, f);
    fwrite(type, 1, 4, f);
    fwrite(data, 1, (size_t)n, f);
    big(number, ~crc(crc(~0u, (const unsigned char *)type, 4), data, n));
    fwrite(number, 1, 4, f);
}

/* A stream of zlib: each line, with the byte before it that says that it is not filtered, in stored blocks. */
static int64_t store(unsigned char *out, const unsigned char *picture, int64_t line, int64_t lines) {
    enum { BLOCK = 65535 };
    const int64_t total = lines * (line + 1);
    uint32_t a = 1, b = 0;
    int64_t n = 0;
    out[n++] = 0x78, out[n++] = 0x01;
    for (int64_t i = 0; i < total; i++) {
        if (i % BLOCK == 0) {
            const int64_t len = total - i < BLOCK ? total - i : BLOCK;
            out[n++] = i + len == total;
            out[n++] = (unsigned char)len, out[n++] = (unsigned char)(len >> 8);
            out[n++] = (unsigned char)~len, out[n++] = (unsigned char)(~len >> 8);
        }
        const int64_t y = i / (line + 1), x = i % (line + 1);
        out[n] = x ? picture[y * line + x - 1] : 0;
        a = (a + out[n++]) % 65521;
        b = (b + a) % 65521;
    }
    big(out + n, b << 16 | a);
    return n + 4;
}

static const char *png(const job *j, const unsigned char *picture) {
    unsigned char head[13] = {[8] = 8, [9] = 6}; /* 8 bits of red, green, blue, opacity */
    big(head, (uint32_t)j->size);
    big(head + 4, (uint32_t)j->size);
    const int64_t total = j->size * (j->size * PIXEL + 1);
    unsigned char *stream = malloc((size_t)(total + total / 65535 * 5 + 16));
    FILE *f = fopen(j->png, "w");
    if (!stream || !f) return "cannot be written";
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, f);
    chunk(f, "IHDR", head, sizeof head);
    chunk(f, "IDAT", stream, store(stream, picture, j->size * PIXEL, j->size));
    chunk(f, "IEND", stream, 0);
    free(stream);
    const int bad = ferror(f);
    return fclose(f) || bad ? "could not be written" : NULL;
}

int main(int argc, char **argv) {
    static const workload mandelbrot = {
        .name = "mandelbrot",
        .title = "A picture that is computed and written line by line, and read back",
        .size_means = "pixels a side, a multiple of the processes",
        .size = 720,
        .steps = 1,
        .quick_size = 144,
        .quick_steps = 1,
        .plan = plan,
        .access = line_of,
        .contents = pixels,
        .show = png,
    };
    return workload_main(&mandelbrot, argc, argv);
}
