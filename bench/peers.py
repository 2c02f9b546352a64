#!/usr/bin/python3
"""peers.py: Python libraries as contenders of bench/local: does what it is told on standard input, a line each.

The first line out names the libraries that are there. A request is
    NAME PATH N r|w ROW0 NROWS ROWSTEP COLUMN0 NCOLUMNS COLUMNSTEP SALT
and the answer is the seconds that the access took and the sum of the elements, as read or as written. numpy maps the
raw file itself; the others have copies of it, made when first asked. Handles stay open.
"""
import os
import sys
import time

libraries = {}
handles = {}

try:
    import numpy

    libraries["numpy"] = lambda path, n: numpy.memmap(path, dtype=numpy.uint32, mode="r+", shape=(n, n))
except ImportError:
    print("")
    sys.exit(0)


def copy_of(path, n, make):
    made = path + "." + make.__name__
    dataset = make(made, n)
    source = numpy.memmap(path, dtype=numpy.uint32, mode="r", shape=(n, n))
    for i in range(0, n, 256):
        dataset[i : i + 256, :] = source[i : i + 256, :]
    os.unlink(made)
    return dataset


try:
    import h5py

    def h5(path, n):
        return h5py.File(path, "w").create_dataset("x", (n, n), dtype="u4")

    libraries["h5py"] = lambda path, n: copy_of(path, n, h5)
except ImportError:
    pass

try:
    import netCDF4

    def nc(path, n):
        file = netCDF4.Dataset(path, "w", format="NETCDF4")
        file.createDimension("c", n)
        file.createDimension("r", n)
        variable = file.createVariable("x", "u4", ("c", "r"), contiguous=True)
        variable.set_auto_maskandscale(False)
        handles[path] = file
        return variable

    libraries["netCDF4"] = lambda path, n: copy_of(path, n, nc)
except ImportError:
    pass


def value(i):
    return ((i * 2654435761) & 0xFFFFFFFF) ^ (i >> 20)


print(*libraries)
sys.stdout.flush()
for line in sys.stdin:
    name, path, n, op, *numbers = line.split()
    n = int(n)
    r0, nr, rs, c0, nc_, cs, salt = map(int, numbers)
    key = name, path
    if key not in handles:
        handles[key] = libraries[name](path, n)
    x = handles[key]
    rows, columns = slice(r0, r0 + (nr - 1) * rs + 1, rs), slice(c0, c0 + (nc_ - 1) * cs + 1, cs)
    if op == "r":
        start = time.perf_counter()
        data = numpy.array(x[columns, rows])
        took = time.perf_counter() - start
    else:
        # The file is column-major: column c is row c here.
        c, r = numpy.arange(c0, columns.stop, cs, dtype=numpy.uint64), numpy.arange(r0, rows.stop, rs, dtype=numpy.uint64)
        i = c[:, None] * n + r[None, :]
        data = ((value(i) + salt) & 0xFFFFFFFF).astype(numpy.uint32)
        start = time.perf_counter()
        x[columns, rows] = data
        took = time.perf_counter() - start
        data = numpy.array(x[columns, rows])
    print(took, int(data.sum(dtype=numpy.uint64)))
    sys.stdout.flush()
