"""The C library: where it is, its structures and functions as ctypes has them, and its errors as exceptions."""

import ctypes
import errno
import os
import pathlib
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int, c_int64, c_size_t, c_void_p

SONAME = "libsluice.so.0.1"  # the interface that the structures below are of
MAX_DIMS = 16


class SluiceError(Exception):
    """An error that is Sluice's own. `code` is the number of sluice_error.h, `name` its name, str() the sentence."""

    def __init__(self, text, code=None):
        super().__init__(text)
        self.code = code
        self.name = NAMES.get(code)


NAMES = dict(zip(range(-1001, -1019, -1), (
    "SLUICE_E_" + name for name in
    ("ARGUMENT OVERFLOW COMPLEX SYNTAX FORMAT VERSION BLOCK COUNT STEP INNER OVERLAP ORDER EMPTY START GAP SHARED "
     "MISMATCH CHECKSUM").split())))


# ---- Structures, as in sluice_set.h, sluice_file.h, sluice_io.h and sluice.h --------------------------------------


class Range(Structure):
    _fields_ = [("start", c_int64), ("count", c_int64), ("step", c_int64)]


class Shape(Structure):
    _fields_ = [("ndims", c_int), ("order", c_int), ("elem", c_int64), ("header", c_int64), ("dim", c_int64 * MAX_DIMS)]


class Desc(Structure):
    _fields_ = [("format", c_int), ("shape", Shape), ("type", c_char * 32), ("swapped", c_int), ("descr", c_char * 4096)]


class Together(Structure):
    _fields_ = [("way", c_int), ("division", c_int), ("exchange", c_int), ("aggregators", c_int), ("align", c_int64),
                ("block", c_int64), ("nodes", c_int), ("no_pipeline", c_int), ("refuse_conflicts", c_int)]


class Options(Structure):
    _fields_ = [("size", c_size_t), ("memory", c_int64), ("method", c_int), ("store", c_int), ("no_map", c_int),
                ("exclusive", c_int), ("replace", c_int), ("together", Together), ("layout", c_char_p),
                ("targets", c_char_p), ("bindings", c_char_p), ("checksum", c_int64)]


class Index(Structure):
    _fields_ = [("i", c_void_p), ("n", c_int64)]


class Part(Structure):
    _fields_ = [("range", POINTER(Range)), ("index", POINTER(Index)), ("buf", c_void_p), ("buf_dim", POINTER(c_int64)),
                ("buf_at", POINTER(c_int64))]


class Counts(Structure):
    _fields_ = [(name, c_int64) for name in
                ("calls_read calls_write bytes_read bytes_written wanted_read wanted_written preread mapped_read "
                 "mapped_written rounds messages message_bytes descriptors plans").split()]


PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, c_int64, c_int64)


class CopyOptions(Structure):
    _fields_ = [("size", c_size_t), ("from_", POINTER(Range)), ("to", POINTER(Range)), ("memory", c_int64),
                ("progress", PROGRESS), ("arg", c_void_p)]


class Run(Structure):
    _fields_ = [("off", c_int64), ("len", c_int64)]


class Reuse(Structure):
    _fields_ = [(name, c_int64) for name in ("extent", "count", "lower", "upper", "next", "from_", "to")]


class ReuseStep(Structure):
    _fields_ = [("slab", Run), ("used", Run), ("reused", Run), ("read", Run)]


# ---- The library --------------------------------------------------------------------------------------------------


def _places():
    """Files that may be the library, best first."""
    if os.environ.get("SLUICE_LIBRARY"):
        yield os.environ["SLUICE_LIBRARY"]
        return
    here = pathlib.Path(__file__).resolve()
    for folder in here.parents[2:7]:  # prefix/lib/python3.11/dist-packages/sluice/_lib.py, or sources/python/sluice/
        for pattern in ("lib*", "lib/*", "build/lib", "build-openmpi/lib", "build-mpich/lib"):
            yield from sorted(map(str, folder.glob(pattern + "/" + SONAME)))
    yield SONAME


def _load():
    tried = []
    for place in _places():
        try:
            lib = ctypes.CDLL(place)
            lib.sluice_version.restype = c_char_p
            found = lib.sluice_version().decode()
        except (OSError, AttributeError) as why:
            tried.append(str(why))
            continue
        if SONAME != "libsluice.so." + found.rpartition(".")[0]:
            raise ImportError(f"{place} is Sluice {found}; this package needs {SONAME}")
        return lib, place
    raise ImportError("libsluice was not found; SLUICE_LIBRARY may name it. Tried: " + "; ".join(tried))


lib, path = _load()


def _declare(result, names, *arguments):
    for name in names.split():
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments or None


_declare(c_char_p, "sluice_errmsg")
_declare(c_char_p, "sluice_describe_layout", c_void_p)
_declare(POINTER(Desc), "sluice_describe", c_void_p)
_declare(c_int, "sluice_open", POINTER(c_void_p), c_char_p, c_int, POINTER(Desc), POINTER(Options))
_declare(c_int, "sluice_create", POINTER(c_void_p), c_char_p, POINTER(Desc), POINTER(Options))
_declare(c_int, "sluice_open_all sluice_create_all")  # what a communicator is depends on the MPI
_declare(c_int, "sluice_close sluice_sync sluice_wait", c_void_p)
_declare(c_int, "sluice_resize", c_void_p, c_int64)
_declare(c_int, "sluice_read_header sluice_write_header", c_void_p, c_void_p, c_int64)
_declare(c_int, "sluice_read_parts sluice_write_parts sluice_read_parts_all sluice_write_parts_all", c_void_p,
         POINTER(Part), c_int)
_declare(c_int, "sluice_read_start", POINTER(c_void_p), c_void_p, POINTER(Part), c_int)
_declare(None, "sluice_count", c_void_p, POINTER(Counts))
_declare(c_int, "sluice_redistribute_all", c_void_p, c_void_p, POINTER(CopyOptions))
_declare(c_int, "sluice_reuse_next", POINTER(Reuse), POINTER(ReuseStep))


def version():
    """The version of the library, as in "0.1.0"."""
    return lib.sluice_version().decode()


def library():
    """The file of the library that is used."""
    return path


def failure(code, text):
    """The exception for an error of the library."""
    if code == -errno.ENOMEM:
        return MemoryError(text)
    if code > -1000:
        return OSError(-code, text)  # Python makes a FileNotFoundError of it, ...
    return SluiceError(text, code)


def check(code):
    """Raises what a call returned, if that is an error, with the library's sentence."""
    if code < 0:
        raise failure(code, lib.sluice_errmsg().decode(errors="replace"))
    return code


def ranges(list_of_ranges):
    """Ranges (start, count, step) as C has them."""
    return (Range * len(list_of_ranges))(*list_of_ranges)
