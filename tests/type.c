/* ranks: 1 */
/* type.c: types by name: sizes, units, byte orders, canonical names; what is no type. */
#include "npy_common.h"

/* The code of NumPy's for this machine and for the other kind: ? stands for the byte order. */
static const char *with_order(const char *code, bool other) {
    static char out[40];
    snprintf(out, sizeof out, "%c%s", *code == '?' ? (little() != other ? '<' : '>') : *code, code + 1);
    return out;
}

typedef struct known {
    const char *name, *code; /* the code with ? where a byte order comes, | where there is none */
    int64_t size, unit;
} known;

static void check(const char *text, const known *k, bool swapped) {
    sluice_type t;
    CHECK(sluice_type_size(text) == k->size, "%s: %lld", text, (long long)sluice_type_size(text));
    if (!sluice_type_parse(&t, text)) {
        CHECK(false, "%s", text);
        return;
    }
    CHECK(t.size == k->size && t.unit == k->unit, "%s: size %lld, unit %lld", text, (long long)t.size,
          (long long)t.unit);
    CHECK(!strcmp(t.name, k->name), "%s: name %s", text, t.name);
    CHECK(!strcmp(t.descr, with_order(k->code, swapped)), "%s: descr %s", text, t.descr);
    CHECK(t.swapped == swapped, "%s: swapped %d", text, t.swapped);
}

static void test_good(void) {
    static const known good[] = {
        {"bool", "|b1", 1, 1},
        {"int8", "|i1", 1, 1},
        {"int16", "?i2", 2, 2},
        {"int32", "?i4", 4, 4},
        {"int64", "?i8", 8, 8},
        {"uint8", "|u1", 1, 1},
        {"uint16", "?u2", 2, 2},
        {"uint32", "?u4", 4, 4},
        {"uint64", "?u8", 8, 8},
        {"float16", "?f2", 2, 2},
        {"float32", "?f4", 4, 4},
        {"float64", "?f8", 8, 8},
        {"float128", "?f16", 16, 16},
        {"complex64", "?c8", 8, 4},
        {"complex128", "?c16", 16, 8},
        {"complex256", "?c32", 32, 16},
        {"S1", "|S1", 1, 1},
        {"S5", "|S5", 5, 1},
        {"U1", "?U1", 4, 4},
        {"U25", "?U25", 100, 4},
        {"V12", "|V12", 12, 1},
        {"V0", "|V0", 0, 1},
        {"S0", "|S0", 0, 1},
        {"V9223372036854775807", "|V9223372036854775807", INT64_MAX, 1},
        {"U2305843009213693951", "?U2305843009213693951", INT64_MAX - 3, 4},
        {"datetime64", "?M8", 8, 8},
        {"datetime64[ns]", "?M8[ns]", 8, 8},
        {"datetime64[D]", "?M8[D]", 8, 8},
        {"datetime64[25s]", "?M8[25s]", 8, 8},
        {"timedelta64", "?m8", 8, 8},
        {"timedelta64[ms]", "?m8[ms]", 8, 8},
        {"timedelta64[2147483647as]", "?m8[2147483647as]", 8, 8},
    };
    char text[40];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const known *k = &good[i];
        const bool ordered = *k->code == '?';
        check(k->name, k, false);
        check(k->code + 1, k, false);
        for (const char *order = "=|<>"; *order; order++) {
            snprintf(text, sizeof text, "%c%s", *order, k->code + 1);
            check(text, k, ordered && (*order == '<' || *order == '>') && (*order == '<') != little());
        }
    }
    check("a7", &(known){"S7", "|S7", 7, 1}, false);
    static const char *const units[] = {"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        snprintf(text, sizeof text, "<M8[%s]", units[i]);
        CHECK(sluice_type_size(text) == 8, "%s", text);
        snprintf(text, sizeof text, "timedelta64[1000%s]", units[i]);
        CHECK(sluice_type_size(text) == 8, "%s", text);
    }
}

static void test_bad(void) {
    static const char *const bad[] = {
        "",
        " ",
        "<",
        "|",
        "float",
        "float3",
        "float32 ",
        " float32",
        "Float32",
        "float96",
        "<float32",
        "|bool",
        "int",
        "int128",
        "uint",
        "f",
        "f1",
        "f3",
        "f4 ",
        "f4x",
        "<<f4",
        "f04",
        "c4",
        "c64",
        "i0",
        "i3",
        "i16",
        "u",
        "b",
        "b2",
        "?",
        "d",
        "O",
        "|O",
        "O8",
        "S",
        "U",
        "V",
        "S-1",
        "S+1",
        "S 1",
        "S01",
        "V1.5",
        "S1x",
        "a",
        "V9223372036854775808",
        "U2305843009213693952",
        "V99999999999999999999",
        "M",
        "M4",
        "M8[",
        "M8]",
        "M8[]",
        "M8[n]",
        "M8[NS]",
        "M8[0s]",
        "M8[01s]",
        "M8[-1s]",
        "M8[2147483648s]",
        "M8[99999999999999999999s]",
        "M8[s]x",
        "M8[s",
        "M8[s]]",
        "M8[generic]",
        "datetime64[",
        "datetime6",
        "datetime64 ",
        "<datetime64",
        "datetime",
        "m8s",
        "f4,i4",
        "(2,)f4",
        "[('a', '<f4')]",
        "x",
        "S\xff",
        "\x93NUMPY",
        "=",
        "==f4",
        "void",
        "str",
        "object",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sluice_type t, before;
        memset(&t, 0x5A, sizeof t);
        memcpy(&before, &t, sizeof t);
        CHECK(!sluice_type_parse(&t, bad[i]), "'%s'", bad[i]);
        CHECK(!memcmp(&t, &before, sizeof t), "'%s' changed the output", bad[i]);
        CHECK(sluice_type_size(bad[i]) == -1, "'%s'", bad[i]);
    }
}

/* A name is a name: what was found is found again by its name and by its code. */
static void test_stable(void) {
    static const char kinds[] = "biufcSUVaMm";
    int found = 0;
    for (const char *k = kinds; *k; k++)
        for (int n = 0; n < 200; n++) {
            char text[16];
            sluice_type t, again;
            snprintf(text, sizeof text, "%c%d", *k, n);
            if (!sluice_type_parse(&t, text)) continue;
            found++;
            CHECK(sluice_type_parse(&again, t.name) && !memcmp(&t, &again, sizeof t), "%s: %s", text, t.name);
            CHECK(sluice_type_parse(&again, t.descr) && !memcmp(&t, &again, sizeof t), "%s: %s", text, t.descr);
        }
    CHECK(found == 16 + 4 * 200 + 2, "%d types", found);
}

int main(void) {
    test_good();
    test_bad();
    test_stable();
    return verdict();
}
