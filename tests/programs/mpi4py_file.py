"""mpi4py_file.py write|read FILE: a matrix through subarray views, requests, shared pointers, and the end of the file."""
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
write = sys.argv[1] == "write"
rows, columns = 32, 8 * size
mode = MPI.MODE_CREATE | MPI.MODE_RDWR if write else MPI.MODE_RDONLY
f = MPI.File.Open(comm, sys.argv[2], mode)
part = (np.arange(rows * 8) + 1000 * rank).astype("i4").reshape(rows, 8)
view = MPI.INT.Create_subarray([rows, columns], [rows, 8], [0, 8 * rank]).Commit()
f.Set_view(0, MPI.INT, view)
got = np.zeros_like(part)
status = MPI.Status()
if write:
    f.Write_all(part, status)
else:
    f.Read_all(got, status)
    assert (got == part).all()
assert status.Get_count(MPI.INT) == part.size
f.Set_view(rows * columns * 4, MPI.DOUBLE, MPI.DOUBLE)
lines = np.full(rank + 1, 0.5 + rank)
if write:
    f.Write_ordered(lines)
    f.Iwrite_at_all(100 + rank, np.array([1.0 + rank])).Wait()
else:
    here = np.zeros(rank + 1)
    f.Read_ordered(here)
    assert (here == lines).all()
    one = np.zeros(1)
    f.Iread_at_all(100 + rank, one).Wait()
    assert one[0] == 1.0 + rank
    beyond = np.zeros(4)
    f.Read_at(100 + size - 1, beyond, status)
    assert status.Get_count(MPI.DOUBLE) == 1
view.Free()
f.Close()
