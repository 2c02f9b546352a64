"""Communicators of mpi4py for the C library, and errors on which processes agree."""

import builtins
import ctypes

from ._lib import SluiceError, lib, path

LONGEST = 8192  # MPI_MAX_LIBRARY_VERSION_STRING is less in all MPIs


def _version(library):
    text, length = ctypes.create_string_buffer(LONGEST), ctypes.c_int()
    library.MPI_Get_library_version(text, ctypes.byref(length))
    return text.value.decode(errors="replace").strip("\0 \n").splitlines()[0].rstrip(",")


def _address(library):
    return ctypes.cast(library.MPI_Comm_size, ctypes.c_void_p).value


def communicator(comm):
    """The MPI_Comm of a communicator of mpi4py, as an argument for ctypes. Raises if that cannot be."""
    try:
        from mpi4py import MPI
    except ImportError as why:
        raise ImportError(f"comm= needs mpi4py: {why}") from None
    if not isinstance(comm, MPI.Intracomm):
        raise TypeError(f"comm is a {type(comm).__name__}, not an intracommunicator of mpi4py")
    theirs = ctypes.CDLL(MPI.__file__)
    if _address(theirs) != _address(lib):
        raise ImportError(f"mpi4py uses {_version(theirs)}, but {path} uses {_version(lib)}; they must use the same "
                          "MPI: SLUICE_LIBRARY may name a libsluice.so that does")
    if not MPI.Is_initialized() or MPI.Is_finalized():
        raise RuntimeError("comm= needs MPI to be initialised, and not yet finalised")
    kind = {ctypes.sizeof(ctypes.c_int): ctypes.c_int, ctypes.sizeof(ctypes.c_void_p): ctypes.c_void_p}
    return kind[MPI._sizeof(MPI.Comm)].from_address(MPI._addressof(comm))


def share(comm, error):
    """Collective. Raises the error of the lowest rank that has one, on all processes alike; returns if none has."""
    found = comm.allgather(error and (type(error).__name__, str(error), getattr(error, "code", None)))
    for rank, what in enumerate(found):
        if not what:
            continue
        kind, text, code = what
        text = f"rank {rank}: {text}"
        kind = getattr(builtins, kind, None)
        if not isinstance(kind, type) or not issubclass(kind, (LookupError, MemoryError, TypeError, ValueError)):
            raise SluiceError(text, code) from error
        raise kind(text) from error
