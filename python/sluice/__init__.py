"""Arrays in files, larger than memory, from Python.

    import sluice

    a = sluice.create("field.npy", (100000, 200000), "float32", replace=True)
    a[70000:70003, ::50000] = 1.5                # as in NumPy: the part is written, nothing else
    a[69999:70004, ::25000]                      # and a part is read, as an ndarray
    for slab in a.slabs(memory="64M", overlap=1):
        slab.data, slab.start, slab.stop         # the next one is read meanwhile
    a.close()

    b = sluice.open("field.npy", comm=MPI.COMM_WORLD)    # of mpi4py
    b.read_all[rank * 100:rank * 100 + 100]      # all processes together; one that wants nothing says [0:0]

The package speaks to libsluice.so by its public C interface. Where that is: the file that SLUICE_LIBRARY names; beside
an installed package; in a build folder beside the sources; or where the loader finds it.

Errors are exceptions with the library's whole sentence: OSError (FileNotFoundError, PermissionError, ...) with errno
where the system refused, MemoryError, and SluiceError with a `code` for what is Sluice's own. IndexError, TypeError and
ValueError are as in NumPy. A collective call raises the same on all processes, with the rank in which it happened.
"""

from ._array import Array, create, open, redistribute
from ._lib import SluiceError, library, version
from ._slabs import Slab

__all__ = ["Array", "Slab", "SluiceError", "create", "library", "open", "redistribute", "version"]
__version__ = version()
