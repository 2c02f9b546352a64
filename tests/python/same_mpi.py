"""Whether mpi4py is here and uses the library's MPI: 0, 77 if not. If it uses another, the package must say so."""

import sys

import sluice

try:
    from mpi4py import MPI
except ImportError as why:
    print("left out:", why)
    sys.exit(77)
try:
    sluice.create("alone.npy", 3, comm=MPI.COMM_SELF).close()
except ImportError as why:
    assert "must use the same MPI" in str(why) and sluice.library() in str(why), why
    print("left out:", why)
    sys.exit(77)
