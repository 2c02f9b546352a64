"""h5py_file.py write|read FILE: datasets of a parallel h5py file, by slices, collectively and not."""
import sys

import numpy as np
from mpi4py import MPI

import h5py

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
rows, columns = 8 * size, 30
want = (np.arange(rows * columns) * 1.5).reshape(rows, columns)
if sys.argv[1] == "write":
    with h5py.File(sys.argv[2], "w", driver="mpio", comm=comm) as f:
        plain = f.create_dataset("plain", (rows, columns), "f8")
        chunked = f.create_dataset("chunked", (rows, columns), "f8", chunks=(4, 10))
        with plain.collective:
            plain[rank::size, :] = want[rank::size]
        chunked[8 * rank : 8 * rank + 8, 1::2] = want[8 * rank : 8 * rank + 8, 1::2]
        f.attrs["rows"] = rows
else:
    with h5py.File(sys.argv[2], "r", driver="mpio", comm=comm) as f:
        assert f.attrs["rows"] == rows
        with f["plain"].collective:
            assert (f["plain"][:, rank::size] == want[:, rank::size]).all()
        assert (f["chunked"][8 * rank : 8 * rank + 8, 1::2] == want[8 * rank : 8 * rank + 8, 1::2]).all()
