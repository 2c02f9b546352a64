"""Array: a handle of the C library that looks like an ndarray. See __init__.py for how it is used."""

import ast
import ctypes
import operator
import os
import threading
import warnings
import weakref

import numpy as np

from . import _slabs
from ._index import Box
from ._lib import (PROGRESS, CopyOptions, Counts, Desc, Index, Options, Part, byref, c_void_p, check, lib, ranges)
from ._mpi import communicator, share

METHODS = {"auto": 0, "direct": 1, "list": 2, "sieve": 3, "mapped": 4}
STORES = {"auto": 0, "posix": 1, "uring": 2, "ram": 3}
WAYS = {"auto": 0, "own": 1, "two-phase": 2}
FORMATS = {"raw": 0, "npy": 1}
ORDERS = {"C": 0, "F": 1}
MODES = {"r": 0, "r+": 1}
CHECKSUM = 65536  # SLUICE_CHECKSUM

# As many parts as this no one can mean: with it a process takes part in a collective call and makes it fail.
SPOILED = -2147480000


# ---- From Python's values to the library's -----------------------------------------------------------------------


def _choice(what, value, known):
    if value not in known:
        raise ValueError(f"{what} is {value!r}; it may be {', '.join(map(repr, known))}")
    return known[value]


def _bytes(what, size):
    """A number of bytes: 1000, "64M", "1.5G"; K, M, G and T are powers of 1024."""
    text = str(size).strip().upper()
    for ending in ("IB", "B"):
        text = text[:-len(ending)] if text.endswith(ending) else text
    power = "KMGT".find(text[-1:]) + 1 if text else 0
    try:
        n = int(float(text[:-1]) * 1024**power) if power else int(text)
    except (ValueError, OverflowError):
        n = -1
    if not 0 <= n < 2**63:
        raise ValueError(f"{what} is {size!r}, not a number of bytes as in 1000 or '64M'")
    return n


def _int64(what, value):
    """An integer that C can have."""
    n = operator.index(value)
    if not -2**63 <= n < 2**63:
        raise ValueError(f"{what} of {n} does not fit into 64 bits")
    return n


def _text(value):
    return None if value is None else os.fsencode(value)


def _options(memory=None, method="auto", store="auto", no_map=False, exclusive=False, replace=False, layout=None,
             targets=None, bindings=None, checksum=0, way="auto", aggregators=0, refuse_conflicts=False):
    o = Options(size=ctypes.sizeof(Options), memory=_bytes("memory", memory or 0))
    o.method, o.store = _choice("method", method, METHODS), _choice("store", store, STORES)
    o.no_map, o.exclusive, o.replace = bool(no_map), bool(exclusive), bool(replace)
    o.layout, o.targets, o.bindings = _text(layout), _text(targets), _text(bindings)
    o.checksum = CHECKSUM if checksum is True else _bytes("checksum", checksum or 0)
    o.together.way, o.together.aggregators = _choice("way", way, WAYS), aggregators
    o.together.refuse_conflicts = bool(refuse_conflicts)
    return o


def _describe(shape, dtype, order, format, offset):
    """What an array is, for the library."""
    shape = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    dtype = np.dtype(dtype)
    if not 1 <= len(shape) <= len(Desc().shape.dim):
        raise ValueError(f"an array in a file has 1 to {len(Desc().shape.dim)} dimensions, not {len(shape)}")
    if dtype.hasobject:
        raise TypeError(f"objects (dtype {dtype}) cannot be in a file")
    d = Desc(format=_choice("format", format, FORMATS))
    d.shape.ndims, d.shape.order, d.shape.header = len(shape), _choice("order", order, ORDERS), _int64("offset", offset)
    d.shape.dim[:len(shape)] = [_int64("an extent", n) for n in shape]
    if dtype.names is not None or dtype.subdtype is not None:
        d.shape.elem, d.type = dtype.itemsize, b"V%d" % dtype.itemsize
        if format == "npy":
            d.descr = repr(np.lib.format.dtype_to_descr(dtype)).encode()
    else:
        d.type = dtype.str.encode()
    return d


def _dtype(d):
    if d.descr:
        return np.lib.format.descr_to_dtype(ast.literal_eval(d.descr.decode()))
    return np.dtype(d.type.decode())


def _part(box, buffer):
    """A box and the buffer that has it packed, as the library has them. `buffer` and `key` are for ourselves."""
    part, lists = Part(buf=buffer.ctypes.data), box.indices()
    if lists is None:
        part.range = ranges(box.range)
    else:
        part.index = (Index * len(lists))(*((i.ctypes.data, len(i)) for i in lists))
    part.buffer, part.key, part.lists = buffer, box.key, lists  # they stay for as long as the part
    return part


# ---- Arrays ------------------------------------------------------------------------------------------------------


class Array:
    """An array in a file. Indexing reads and writes parts of it as in NumPy; open() and create() make one.

    shape, dtype, ndim, size, itemsize, nbytes and len() are NumPy's; `order` is "C" or "F", `layout` how a container
    is divided (None: it is one file), `path` its name, `comm` the communicator of the group that has it (or None).
    What is read is a new ndarray in the same order. It may be used by several threads, which then wait for each other.
    """

    def __init__(self, call, path, comm):
        self._handle = c_void_p()
        check(call(byref(self._handle)))
        self._lock, self._requests = threading.RLock(), weakref.WeakSet()
        self.path, self.comm = path, comm and comm.Dup()
        self._describe()

    def _describe(self):
        d = lib.sluice_describe(self._handle).contents
        layout = lib.sluice_describe_layout(self._handle)
        self.shape = tuple(d.shape.dim[:d.shape.ndims])
        self.dtype, self.order, self.format = _dtype(d), "CF"[d.shape.order], ("raw", "npy")[d.format]
        self.layout = layout and layout.decode()

    def _open_handle(self):
        if not self._handle:
            raise ValueError(f"{self.path} is closed")
        return self._handle

    ndim = property(lambda self: len(self.shape), doc="The number of dimensions.")
    size = property(lambda self: int(np.prod(self.shape, dtype=object)), doc="The number of elements.")
    itemsize = property(lambda self: self.dtype.itemsize, doc="Bytes of an element.")
    nbytes = property(lambda self: self.size * self.itemsize, doc="Bytes of all elements.")
    closed = property(lambda self: not self._handle, doc="Whether close() was called.")

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        state = "closed" if self.closed else self.layout or self.format
        return f"<sluice.Array {self.path!r} {self.shape} {self.dtype} {self.order} {state}>"

    # -- parts --

    def _buffer(self, shape):
        return np.empty(shape, self.dtype, self.order)

    def _move(self, call, part):
        with self._lock:
            check(call(self._open_handle(), byref(part), 1))

    def _together(self, call, prepare):
        """A collective call with the part that prepare() returns; one that cannot prepare takes part all the same, and
        then all fail alike."""
        if self.comm is None:
            part = prepare()
            self._move(call, part)
            return part
        error = part = None
        try:
            part = prepare()
        except Exception as why:
            error = why
        try:
            with self._lock:
                check(call(self._handle, byref(part) if part else None, 1 if part else SPOILED))
            return part
        except Exception as why:
            if f" {SPOILED} parts" not in str(why):
                raise
        share(self.comm, error)

    def _read(self, key):
        box = Box(key, self.shape)
        return _part(box, self._buffer(box.counts))

    def _write(self, key, value):
        box = Box(key, self.shape)
        return _part(box, box.pack(value, self.dtype, self.order))

    def __getitem__(self, key):
        part = self._read(key)
        self._move(lib.sluice_read_parts, part)
        return part.buffer[part.key]

    def __setitem__(self, key, value):
        self._move(lib.sluice_write_parts, self._write(key, value))

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("what is in a file cannot become an array without a copy")
        return np.asarray(self[...], dtype)

    @property
    def read_all(self):
        """Collective. read_all[key] reads by all processes together: each names its own part, or an empty one, [0:0].
        What one of them gets wrong is an exception on all."""
        return _Together(self, lib.sluice_read_parts_all)

    @property
    def write_all(self):
        """Collective. write_all[key] = value: as read_all; where several write an element, the highest rank wins."""
        return _Together(self, lib.sluice_write_parts_all)

    # -- in the background --

    @property
    def read_start(self):
        """read_start[key] starts to read and returns a request; its wait() returns what read."""
        return _Starting(self)

    def _start(self, part):
        request = _Request(self, part)
        with self._lock:
            check(lib.sluice_read_start(byref(request.handle), self._open_handle(), byref(part), 1))
            self._requests.add(request)
        return request

    def slabs(self, memory=None, overlap=0, axis=None, rows=None, start=0):
        """Walks over the array slab by slab; yields a Slab each, while the next is read.

        memory: bytes for all buffers, as in "64M"; by default 64 MiB. overlap: indices before and after each slab, or
        a pair (before, after); clipped at the ends. axis: the one walked along, by default the slowest. rows: indices
        per slab, by default as many as fit."""
        self._open_handle()
        axis = (0 if self.order == "C" else self.ndim - 1) if axis is None else range(self.ndim)[axis]
        lower, upper = overlap if isinstance(overlap, (tuple, list)) else (overlap, overlap)
        if min(lower, upper, start, rows or 0) < 0:
            raise ValueError("slabs: overlap, rows and start cannot be negative")
        extent, limit = self.shape[axis], _bytes("memory", memory or "64M")
        lower, upper = min(lower, extent), min(upper, extent)
        fit = _slabs.rows_within(self, axis, limit, lower, upper)
        if rows and min(rows, extent) > fit:
            raise ValueError(f"slabs of {self.path}: {rows} indices of axis {axis} with overlap do not fit twice into "
                             f"{limit} bytes of memory; {fit} do")
        return _slabs.walk(self, axis, min(rows or fit, max(extent, 1)), min(start, extent), lower, upper)

    # -- the whole --

    @property
    def counts(self):
        """What the handle did since it was opened, as a dict: calls and bytes, read and written, ... (sluice_count)."""
        c = Counts()
        with self._lock:
            lib.sluice_count(self._open_handle(), byref(c))
        return {name: getattr(c, name) for name, _ in Counts._fields_}

    def sync(self):
        """What was written survives a crash of the machine. Collective for a group."""
        with self._lock:
            check(lib.sluice_sync(self._open_handle()))

    def resize(self, extent):
        """A new extent of the slowest dimension; new elements are 0. Collective for a group."""
        extent = _agreed(self.comm, _int64, "an extent", extent)
        with self._lock:
            check(lib.sluice_resize(self._open_handle(), extent))
            self._describe()

    def close(self):
        """Closes the file. Collective for a group. A second call does nothing."""
        with self._lock:
            if not self._handle:
                return
            for request in list(self._requests):
                request.finish()
            handle, self._handle = self._handle, c_void_p()
            comm, self.comm = self.comm, None
            try:
                check(lib.sluice_close(handle))
            finally:
                if comm:
                    comm.Free()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self)
            if self.comm is None:  # to close is for all processes of a group, and this one may be alone here
                self.close()


class _Together:
    """What read_all and write_all are: brackets for a collective call."""

    def __init__(self, array, call):
        self._array, self._call = array, call

    def __getitem__(self, key):
        if self._call is not lib.sluice_read_parts_all:
            raise TypeError("write_all[...] is to be assigned to; read_all[...] reads")
        part = self._array._together(self._call, lambda: self._array._read(key))
        return part.buffer[part.key]

    def __setitem__(self, key, value):
        if self._call is not lib.sluice_write_parts_all:
            raise TypeError("read_all[...] cannot be assigned to; write_all[...] can")
        self._array._together(self._call, lambda: self._array._write(key, value))


class _Starting:
    """What read_start is: brackets for a request."""

    def __init__(self, array):
        self._array = array

    def __getitem__(self, key):
        return self._array._start(self._array._read(key))


class _Request:
    """A read in the background. Its buffer stays until the library has done with it."""

    def __init__(self, array, part):
        self.array, self.part, self.handle, self.error = array, part, c_void_p(), None

    def finish(self):
        """Waits, if that was not done yet, and remembers the error."""
        with self.array._lock:
            if not self.handle:
                return
            handle, self.handle = self.handle, c_void_p()
            self.array._requests.discard(self)
            try:
                check(lib.sluice_wait(handle))
            except Exception as why:
                self.error = why

    def wait(self):
        """Waits for the end and returns what was read."""
        self.finish()
        if self.error:
            raise self.error
        return self.part.buffer[self.part.key]

    def __del__(self):
        self.finish()


# ---- Calls -------------------------------------------------------------------------------------------------------


def _agreed(comm, make, *arguments, **named):
    """make(...), with an exception of one process raised by all of comm (None: just made)."""
    if comm is None:
        return make(*arguments, **named)
    error = result = None
    try:
        result = make(*arguments, **named)
    except Exception as why:
        error = why
    share(comm, error)
    return result


def open(path, mode="r", *, comm=None, dtype=None, shape=None, order="C", offset=0, **options):
    """Opens an array: a .npy file or a container, or a raw file if `dtype` and `shape` say what it holds.

    mode: "r", or "r+" to write too. comm: a communicator of mpi4py, all processes of which make the call, with the same
    arguments; the array is then good for collective calls by all and for others by each. offset: bytes before the
    elements of a raw file. options: memory="64M" for buffers; method="auto", "direct", "list", "sieve" or "mapped";
    store="auto", "posix" or "uring"; no_map, exclusive; bindings="fast=/ssd"; way="auto", "own" or "two-phase",
    aggregators, refuse_conflicts: of collective calls."""
    handle = None if comm is None else communicator(comm)

    def prepare():
        if (dtype is None) != (shape is None):
            raise ValueError("a raw file is described by both dtype and shape; a .npy file by neither")
        given = None if dtype is None else byref(_describe(shape, dtype, order, "raw", offset))
        return os.fsencode(path), _choice("mode", mode, MODES), given, byref(_options(**options))

    name, flag, given, o = _agreed(comm, prepare)
    if comm is None:
        return Array(lambda a: lib.sluice_open(a, name, flag, given, o), os.fspath(path), None)
    return Array(lambda a: lib.sluice_open_all(a, handle, name, flag, given, o), os.fspath(path), comm)


def create(path, shape, dtype="float64", *, order="C", format="npy", offset=0, comm=None, **options):
    """Makes an array of zeros and opens it for reading and writing. A path that exists is refused, unless replace=True:
    then the new file takes its name once it is whole.

    layout: makes a container, a folder with the array in several files: "rows:4", "tiles:256x256:6" (see
    docs/FORMAT.md); targets: names of the places where these lie, in turn, "fast,slow"; bindings: where those are,
    "fast=/ssd,slow=/disk"; checksum: True, or the bytes of a block, for a container whose reads are checked. format:
    "npy" or "raw". The rest is as in open()."""
    handle = None if comm is None else communicator(comm)

    def prepare():
        return os.fsencode(path), byref(_describe(shape, dtype, order, format, offset)), byref(_options(**options))

    name, d, o = _agreed(comm, prepare)
    if comm is None:
        return Array(lambda a: lib.sluice_create(a, name, d, o), os.fspath(path), None)
    return Array(lambda a: lib.sluice_create_all(a, handle, name, d, o), os.fspath(path), comm)


def redistribute(dst, src, memory=None, *, from_=None, to=None, progress=None):
    """Copies an array into another of the same type, from any layout and order to any other, in one pass through
    `memory` (each process; by default 64 MiB). from_ and to: parts of them, as in brackets, without negative steps and
    lists; they have the same shape. progress(done, total) is called now and then with bytes. Collective if dst is of a
    group: all its processes share the work."""

    def section(array, key):
        if key is None:
            return None
        box = Box(key, array.shape)
        if not box.plain or box.indices() is not None:
            raise IndexError("redistribute: a part is named by numbers and slices with positive steps")
        return ranges(box.range)

    def prepare():
        src._open_handle()
        return section(src, from_), section(dst, to), _bytes("memory", memory or 0)

    raised = []

    @PROGRESS
    def tell(_, done, total):
        try:
            progress(done, total)
            return 0
        except BaseException as why:
            raised.append(why)
            return 1

    dst._open_handle()
    one, other, limit = _agreed(dst.comm, prepare)
    o = CopyOptions(size=ctypes.sizeof(CopyOptions), from_=one, to=other, memory=limit,
                    progress=tell if progress else PROGRESS())
    first, second = sorted((dst, src), key=id)  # so that two copies in two directions do not wait for each other
    with first._lock, second._lock:
        code = lib.sluice_redistribute_all(dst._handle, src._handle, byref(o))
        if code and raised:
            raise raised[0]
        check(code)
