/* literal.c: the bits of Python that an .npy header is made of: strings, whole numbers, tuples of them.
 *
 * What repr() writes is understood, and white space between all parts; what else Python would understand (comments,
 * strings glued together, 0x10, 1_000) is not: no one writes it, and whoever does has something in mind.
 */
#include "file/file.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int sluice_literal_refuse(sluice_literal *l, int error, int64_t pos, const char *format, ...) {
    char text[sizeof l->why->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return sluice_refuse(l->why, error, pos, "byte %lld: %s", (long long)pos, text);
}

int sluice_literal_expected(sluice_literal *l, const char *what) {
    int c = sluice_literal_peek(l);
    if (c < 0) return sluice_literal_refuse(l, SLUICE_E_FORMAT, l->pos, "expected %s, but the text ends", what);
    if (c < ' ' || c > '~')
        return sluice_literal_refuse(l, SLUICE_E_FORMAT, l->pos, "expected %s, not the byte 0x%02x", what, (unsigned)c);
    return sluice_literal_refuse(l, SLUICE_E_FORMAT, l->pos, "expected %s, not %c", what, c);
}

sluice_quote sluice_literal_quote(const sluice_literal *l, sluice_run piece) {
    sluice_quote q;
    int n = 0;
    for (; n < piece.len && n < 40; n++) {
        unsigned char c = l->text[piece.off + n];
        q.text[n] = c >= ' ' && c <= '~' ? (char)c : '?';
    }
    strcpy(q.text + n, n < piece.len ? "..." : "");
    return q;
}

int sluice_literal_peek(sluice_literal *l) {
    while (l->pos < l->end && l->text[l->pos] && strchr(" \t\n\r\f\v", l->text[l->pos])) l->pos++;
    return l->pos < l->end ? l->text[l->pos] : -1;
}

bool sluice_literal_accept(sluice_literal *l, char c) {
    bool found = sluice_literal_peek(l) == (unsigned char)c;
    l->pos += found;
    return found;
}

/* The character at a distance, or 0. */
static int at(const sluice_literal *l, int64_t ahead) { return l->end - l->pos > ahead ? l->text[l->pos + ahead] : 0; }

static bool digit(int c) { return c >= '0' && c <= '9'; }

/* An escape sequence of repr(); the backslash is at the present place. Returns its length, 0 if it is none. */
static int escape(const sluice_literal *l) {
    int c = at(l, 1);
    if (c && strchr("\\'\"nrt", c)) return 2;
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t value = 0;
    for (int i = 0; i < digits; i++) {
        c = at(l, 2 + i);
        if (!digit(c) && !((c | 32) >= 'a' && (c | 32) <= 'f')) return 0;
        value = value << 4 | (uint32_t)(digit(c) ? c - '0' : (c | 32) - 'a' + 10);
    }
    return digits && value <= 0x10FFFF ? 2 + digits : 0;
}

int sluice_literal_string(sluice_literal *l, sluice_run *inside) {
    int quote = sluice_literal_peek(l);
    int64_t start = l->pos;
    if (quote == 'u') quote = at(l, 1), l->pos++; /* Python 2 */
    if (quote != '\'' && quote != '"') {
        l->pos = start;
        return sluice_literal_expected(l, "a string");
    }
    const int64_t first = ++l->pos;
    while (l->pos < l->end && l->text[l->pos] != quote) {
        int step = l->text[l->pos] == '\\' ? escape(l) : 1;
        if (step == 0) return sluice_literal_refuse(l, SLUICE_E_FORMAT, l->pos, "unknown escape sequence in a string");
        if (l->text[l->pos] < ' ')
            return sluice_literal_refuse(l, SLUICE_E_FORMAT, l->pos, "control character 0x%02x in a string",
                                         (unsigned)l->text[l->pos]);
        l->pos += step;
    }
    if (l->pos >= l->end) return sluice_literal_refuse(l, SLUICE_E_FORMAT, start, "a string without an end");
    *inside = (sluice_run){first, l->pos - first};
    l->pos++;
    return 0;
}

int sluice_literal_number(sluice_literal *l, int64_t *value) {
    int64_t v = 0, start;
    int c = sluice_literal_peek(l);
    start = l->pos;
    if (c == '-') return sluice_literal_refuse(l, SLUICE_E_FORMAT, start, "a negative number");
    if (!digit(c)) return sluice_literal_expected(l, "a whole number");
    if (c == '0' && digit(at(l, 1)))
        return sluice_literal_refuse(l, SLUICE_E_FORMAT, start, "a number with leading zeros");
    for (; digit(at(l, 0)); l->pos++)
        if (!sluice_mul(v, 10, &v) || !sluice_add(v, l->text[l->pos] - '0', &v))
            return sluice_literal_refuse(l, SLUICE_E_OVERFLOW, start, "a number past 2^63-1");
    l->pos += at(l, 0) == 'L';
    *value = v;
    return 0;
}

int sluice_literal_tuple(sluice_literal *l, int64_t *value, int max, int *n) {
    int error, count = 0;
    bool comma = true;
    if (!sluice_literal_accept(l, '(')) return sluice_literal_expected(l, "'(' of a tuple");
    const int64_t start = l->pos - 1;
    while (!sluice_literal_accept(l, ')')) {
        if (!comma) return sluice_literal_expected(l, "',' or ')' after a number");
        if (count == max) return sluice_literal_refuse(l, SLUICE_E_FORMAT, start, "more than %d dimensions", max);
        if ((error = sluice_literal_number(l, &value[count++]))) return error;
        comma = sluice_literal_accept(l, ',');
    }
    /* In Python, (3) is not a tuple. */
    if (count == 1 && !comma) return sluice_literal_refuse(l, SLUICE_E_FORMAT, start, "a tuple of one needs a comma");
    *n = count;
    return 0;
}

bool sluice_literal_utf8(const sluice_literal *l, int64_t *pos) {
    /* The least value of each length: a longer form of a smaller value is not UTF-8. */
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    for (int64_t i = l->pos, n; i < l->end; i += 1 + n) {
        const unsigned char c = l->text[i];
        n = c < 0x80 ? 0 : c >> 5 == 6 ? 1 : c >> 4 == 14 ? 2 : c >> 3 == 30 ? 3 : -1;
        *pos = i;
        if (n < 0 || n >= l->end - i) return false;
        uint32_t value = n ? c & (0x3Fu >> n) : c;
        for (int64_t k = 1; k <= n; k++) {
            if (l->text[i + k] >> 6 != 2) return false;
            value = value << 6 | (l->text[i + k] & 0x3Fu);
        }
        if (value < least[n] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return false;
    }
    return true;
}
