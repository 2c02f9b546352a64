/* words.c: sizes, extents and orders in words; texts in JSON and HTML. */
#include "tool/tool.h"
#include <string.h>

const char *words_bytes(int64_t n) {
    static char text[4][64];
    static int turn;
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    char *out = text[turn = (turn + 1) % 4];
    double scaled = (double)n / 1024;
    int u = 0;
    for (; scaled >= 1024; u++) scaled /= 1024;
    if (n < 10240)
        snprintf(out, sizeof *text, "%" PRId64 " byte%s", n, n == 1 ? "" : "s");
    else
        snprintf(out, sizeof *text, "%" PRId64 " bytes (%.3g %s)", n, scaled, unit[u]);
    return out;
}

void words_extents(FILE *f, const int64_t *extent, int n) {
    for (int d = 0; d < n; d++) fprintf(f, "%s%" PRId64, d ? " x " : "", extent[d]);
}

const char *words_order(sluice_order order) { return order == SLUICE_ROW_MAJOR ? "row-major" : "column-major"; }

/* The length of the UTF-8 character at s; 0 if it is none. */
static int utf8(const unsigned char *s) {
    const int n = *s < 0x80                 ? 1
                  : *s >= 0xC2 && *s < 0xE0 ? 2
                  : *s >= 0xE0 && *s < 0xF0 ? 3
                  : *s >= 0xF0 && *s < 0xF5 ? 4
                                            : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    const bool overlong = (*s == 0xE0 && s[1] < 0xA0) || (*s == 0xF0 && s[1] < 0x90);
    const bool outside = (*s == 0xED && s[1] > 0x9F) || (*s == 0xF4 && s[1] > 0x8F);
    return overlong || outside ? 0 : n;
}

void words_json_string(const char *text) {
    putchar('"');
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const int n = utf8(s);
        if (n == 0)
            fputs("\\ufffd", stdout); /* a file may have any name, but JSON only text */
        else if (*s < ' ' || *s == 127)
            printf("\\u%04x", *s);
        else if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else
            fwrite(s, 1, (size_t)n, stdout);
        s += n ? n : 1;
    }
    putchar('"');
}

void words_json_list(const int64_t *value, int n) {
    putchar('[');
    for (int i = 0; i < n; i++) printf("%s%" PRId64, i ? ", " : "", value[i]);
    putchar(']');
}

void words_html(FILE *f, const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const int n = utf8(s);
        if (n == 0 || *s < ' ' || *s == 127)
            fputs("&#xfffd;", f);
        else if (strchr("&<>\"'", *s))
            fprintf(f, "&#%d;", *s);
        else
            fwrite(s, 1, (size_t)n, f);
        s += n ? n : 1;
    }
}
