/* ranks: 1 */
/* npy_numpy.c: files of NumPy's are understood, and NumPy understands ours. Skipped where the system's python3 has no
 * NumPy. */
#include "npy_common.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes arrays of zeros of all kinds, and a line about each: name, item size, 1 if in Fortran's order, 1 if of the
 * other byte order, bytes before the elements, 1 if our header would be the same bytes, extents. */
static const char theirs[] =
    "import sys, warnings, numpy as np\n"
    "from numpy.lib import format\n"
    "warnings.simplefilter('ignore')\n"
    "types = ['?', 'i1', 'u1', 'S5', 'V7', 'i1,f8', [('x', '<f4'), ('n', '>i8', (2, 3))],\n"
    "         [('r', [('a', 'u1'), ('b', '<U3')], (2,)), (('A title', 't'), '<c16')],\n"
    "         np.dtype([('a', 'i1'), ('b', 'f8')], align=True), [('\\xe9', 'f4')], [('\\u20ac', 'f4')]]\n"
    "for code in ['i2', 'i4', 'i8', 'u2', 'u4', 'u8', 'f2', 'f4', 'f8', 'f16', 'c8', 'c16', 'c32', 'U3', 'M8[ns]',\n"
    "             'm8[25us]', 'M8']:\n"
    "    types += ['<' + code, '>' + code]\n"
    "shapes = [(), (0,), (7,), (3, 4), (2, 0, 3), (2, 3, 4), (1,) * 16]\n"
    "count = 0\n"
    "with open('list', 'w') as out:\n"
    "    for t in types:\n"
    "        for shape in shapes:\n"
    "            for order in 'CF':\n"
    "                for version in (None, (1, 0), (2, 0), (3, 0)):\n"
    "                    a = np.zeros(shape, np.dtype(t), order)\n"
    "                    name = '%d.npy' % count\n"
    "                    try:\n"
    "                        with open(name, 'wb') as f: format.write_array(f, a, version)\n"
    "                    except UnicodeEncodeError:\n"
    "                        continue\n"
    "                    with open(name, 'rb') as f: size = len(f.read())\n"
    "                    fortran = a.flags.f_contiguous and not a.flags.c_contiguous\n"
    "                    swapped = a.dtype.names is None and not a.dtype.isnative\n"
    "                    exact = version in (None, (1, 0)) and shape and hasattr(format, 'GROWTH_AXIS_MAX_DIGITS')\n"
    "                    exact = exact and str(a.dtype).isascii()\n"
    "                    print(name, a.dtype.itemsize, int(fortran), int(swapped), size - a.nbytes, int(bool(exact)),\n"
    "                          *(shape or (1,)), file=out)\n"
    "                    count += 1\n";

/* Reads our files: each line of the list is a file, a dtype as Python, the order, the extents. */
static const char ours[] = "import sys, ast, numpy as np\n"
                           "from numpy.lib import format\n"
                           "count = 0\n"
                           "for line in open('list', encoding='utf-8'):\n"
                           "    name, descr, order, *shape = line.rstrip('\\n').split('\\t')\n"
                           "    want = format.descr_to_dtype(ast.literal_eval(descr))\n"
                           "    shape = tuple(int(n) for n in shape)\n"
                           "    a = np.load(name)\n"
                           "    assert a.dtype == want, (name, a.dtype, want)\n"
                           "    assert a.shape == shape, (name, a.shape, shape)\n"
                           "    assert a.flags.c_contiguous if order == 'C' else a.flags.f_contiguous, (name, order)\n"
                           "    assert not any(a.tobytes()), name\n"
                           "    if a.size: assert np.load(name, mmap_mode='r').shape == shape, name\n"
                           "    count += 1\n"
                           "assert count > 0\n"
                           "print(count, 'files of ours read by NumPy', np.__version__)\n";

static int python(const char *script) {
    FILE *f = fopen("script.py", "w");
    if (!f || fputs(script, f) < 0 || fclose(f)) return -1;
    fflush(stdout);
    return system("/usr/bin/python3 script.py");
}

static void read_theirs(void) {
    char line[512];
    int count = 0;
    FILE *list = fopen("list", "r");
    CHECK(list, "NumPy wrote no list");
    for (; list && fgets(line, sizeof line, list); count++) {
        char name[64], *rest = line;
        long long elem, fortran, swapped, header, exact;
        int used = 0, ndims = 0;
        sluice_store *s = NULL;
        sluice_desc d;
        sluice_reason why = {0};
        CHECK(sscanf(rest, "%63s %lld %lld %lld %lld %lld%n", name, &elem, &fortran, &swapped, &header, &exact,
                     &used) == 6,
              "%s", line);
        rest += used;
        if (sluice_store_open_posix(&s, name, SLUICE_STORE_READ, &why) || sluice_plain_open(&d, NULL, s, &why)) {
            CHECK(false, "%s: %s", name, why.text);
            sluice_store_close(s);
            continue;
        }
        CHECK(d.shape.elem == elem && d.swapped == swapped && d.shape.header == header, "%s: %s", line, d.type);
        CHECK((d.shape.order == SLUICE_COLUMN_MAJOR) == fortran, "%s", line);
        for (char *end; ndims <= d.shape.ndims; ndims++, rest = end) {
            const long long extent = strtoll(rest, &end, 10);
            if (end == rest) break;
            if (ndims < d.shape.ndims) CHECK(d.shape.dim[ndims] == extent, "%s", line);
        }
        CHECK(ndims == d.shape.ndims, "%s: %d dimensions", line, d.shape.ndims);
        CHECK(sluice_desc_end(&d) == sluice_store_size(s, NULL), "%s", line);
        unsigned char bytes[SLUICE_NPY_HEADER], mine[SLUICE_NPY_HEADER];
        if (exact)
            CHECK(!sluice_store_read(s, 0, bytes, d.shape.header, &why) &&
                      sluice_npy_format(&d, mine, sizeof mine, &why) == header && !memcmp(bytes, mine, (size_t)header),
                  "%s: the header is another", line);
        sluice_store_close(s);
    }
    if (list) fclose(list);
    CHECK(count > 1000, "%d files", count);
    printf("%d files of NumPy's read\n", count);
}

static void write_ours(void) {
    static const char *const types[] = {NUMBER_TYPES,
                                        "S3",
                                        "U3",
                                        "V5",
                                        "datetime64[ns]",
                                        "timedelta64[10ms]",
                                        "[('x', '<f4'), ('n', '>i8', (2, 3))]",
                                        "[('\xc3\xa9', [('a', '|u1'), ('b', '<U2')], (2,))]"};
    static const int64_t dims[][4] = {{1, 7}, {2, 3, 4}, {3, 2, 3, 4}, {2, 0, 5}};
    int count = 0;
    FILE *list = fopen("list", "w");
    if (!list) exit(1);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int k = 0; k < 4; k++)
            for (int order = 0; order < 2; order++, count++) {
                sluice_desc d = {.format = SLUICE_NPY};
                sluice_reason why = {0};
                sluice_store *s = NULL;
                sluice_type type;
                char name[32];
                strcpy(*types[t] == '[' ? d.descr : d.type, types[t]);
                d.shape.ndims = (int)dims[k][0];
                d.shape.order = order ? SLUICE_COLUMN_MAJOR : SLUICE_ROW_MAJOR;
                for (int i = 0; i < d.shape.ndims; i++) d.shape.dim[i] = dims[k][i + 1];
                snprintf(name, sizeof name, "ours%d.npy", count);
                int error = sluice_store_open_posix(&s, name, SLUICE_STORE_REPLACE, &why);
                if (!error) error = sluice_plain_create(&d, s, &why);
                const int64_t extent = d.shape.dim[order ? d.shape.ndims - 1 : 0];
                if (!error) error = sluice_plain_resize(&d, s, extent + 1234, &why);
                CHECK(!error, "%s: %s", types[t], why.text);
                sluice_store_close(s);
                sluice_type_parse(&type, d.type);
                if (d.descr[0])
                    fprintf(list, "%s\t%s\t%c", name, d.descr, order ? 'F' : 'C');
                else
                    fprintf(list, "%s\t'%s'\t%c", name, type.descr, order ? 'F' : 'C');
                for (int i = 0; i < d.shape.ndims; i++) fprintf(list, "\t%lld", (long long)d.shape.dim[i]);
                fprintf(list, "\n");
            }
    if (fclose(list)) exit(1);
}

int main(void) {
    char folder[] = "/tmp/sluice-numpy-XXXXXX", clean[64];
    if (system("/usr/bin/python3 -c 'import numpy' 2>/dev/null")) {
        printf("python3 has no NumPy\n");
        return 77;
    }
    if (!mkdtemp(folder) || chdir(folder)) return 1;
    CHECK(!python(theirs), "NumPy could not write its files");
    read_theirs();
    write_ours();
    CHECK(!python(ours), "NumPy could not read our files");
    snprintf(clean, sizeof clean, "rm -rf %s", folder);
    CHECK(!chdir("/") && !system(clean), "%s is left", folder);
    return verdict();
}
