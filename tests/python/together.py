"""Collective calls from Python on several processes: random parts with NumPy as the oracle, processes that want nothing,
processes that are wrong, and that all of them hear of it."""

import os
import random
import shutil

import numpy as np
from mpi4py import MPI

import sluice

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
seed = comm.bcast(int(os.environ.get("SLUICE_TEST_SEED", random.SystemRandom().randrange(1 << 32))))
if rank == 0:
    print("seed", seed, "on", size, flush=True)
chance = random.Random(seed)


def part_of(n):
    """A random slice for each process; all processes draw all of them."""
    start, stop = sorted((chance.randint(0, n), chance.randint(0, n)))
    s = slice(start, stop, chance.choice([1, 2, 3]))
    if chance.random() < 0.2:
        s = slice(0, 0)
    elif chance.random() < 0.2:
        s = slice(None, None, -1)
    elif chance.random() < 0.2:
        s = [chance.randrange(-n, n) for _ in range(3)]
    return s


def all_raise(kind, text, call):
    """All processes raise the same kind and sentence."""
    try:
        call()
    except Exception as why:
        said = (type(why).__name__, str(why))
    else:
        said = "nothing"
    heard = comm.allgather(said)
    assert all(h == heard[0] for h in heard), heard
    assert heard[0] != "nothing" and heard[0][0] == kind.__name__ and text in heard[0][1], (heard[0], kind, text)


def random_parts(order, layout):
    shape = (23, 17)
    content = np.array(np.arange(23 * 17, dtype="f8").reshape(shape), order=order)
    a = sluice.create("together.sluice" if layout else "together.npy", shape, order=order, layout=layout, comm=comm,
                      way=chance.choice(["auto", "two-phase"]), replace=not layout)
    a.write_all[rank::size] = content[rank::size]
    for _ in range(15):
        parts = [(part_of(23), part_of(17)) for _ in range(size)]
        parts = [p if not isinstance(p[0], list) else (p[0], slice(None)) for p in parts]
        mine = parts[rank]
        if chance.random() < 0.5:
            for p, key in enumerate(parts):  # the highest rank wins
                content[key] = 1000 * p + chance.randrange(1000)
            value = content[mine]
            a.write_all[mine] = value
        got = a.read_all[mine]
        assert got.shape == content[mine].shape and (got == content[mine]).all(), (seed, parts)
    assert (a.read_all[...] == content).all()
    if rank == 0:
        assert (a[...] == content).all()  # alone
    a.close()


def wrong():
    last = size - 1
    with sluice.create("wrong.npy", (10, 10), "i4", comm=comm, replace=True) as a:
        a.write_all[rank] = rank
        all_raise(IndexError, f"rank {last}: index 99 is out of bounds",
                  lambda: a.read_all[99 if rank == last else rank])
        all_raise(ValueError, f"rank {last}: could not broadcast",
                  lambda: a.write_all.__setitem__(slice(0, 2), [1, 2, 3] if rank == last else 7))
        all_raise(TypeError, "rank 0: int() argument", lambda: a.write_all.__setitem__(0, None if rank == 0 else 7))
        got = a.read_all[rank:rank + (rank % 2)]  # and they can go on; half of them with nothing
        assert (got == rank).all() and len(got) == rank % 2
        if size > 1:
            def differently():
                a.read_all[rank] if rank else a.write_all.__setitem__(0, 0)
            all_raise(sluice.SluiceError, "different collective calls", differently)
            all_raise(sluice.SluiceError, "different extents", lambda: a.resize(10 + rank))
        all_raise(TypeError, "rank 0:", lambda: a.resize("x" if rank == 0 else 3))
        a.resize(12)
        assert a.shape == (12, 10) and not a.read_all[10:].any()
        a.sync()
    all_raise(FileNotFoundError, "nothing.npy", lambda: sluice.open("nothing.npy", comm=comm))
    all_raise(ValueError, f"rank {last}: memory is 'x'",
              lambda: sluice.open("wrong.npy", comm=comm, memory="x" if rank == last else "1M"))
    if size > 1:
        all_raise(sluice.SluiceError, "differ in their options",
                  lambda: sluice.open("wrong.npy", comm=comm, way="own" if rank else "two-phase"))
    with sluice.open("wrong.npy", comm=comm) as a:
        all_raise(OSError, "opened for reading only", lambda: a.write_all.__setitem__(0, 0))


def copies():
    content = np.arange(60 * 50, dtype="f4").reshape(60, 50)
    with sluice.create("from.npy", content.shape, "f4", comm=comm, replace=True) as a, sluice.create(
            "to.sluice", content.shape, "f4", order="F", layout="tiles:16x16:3", comm=comm) as b:
        a.write_all[rank::size] = content[rank::size]
        sluice.redistribute(b, a, memory="1M")
        assert (b.read_all[...] == content).all()
        all_raise(IndexError, "rank 0: redistribute",
                  lambda: sluice.redistribute(b, a, from_=np.s_[::-1] if rank == 0 else None))
        total = comm.allreduce(sum(float(s.inner.sum()) for s in b.slabs(rows=7, overlap=1)) if rank == 0 else 0.0)
        assert total == content.astype("f8").sum()


for order, layout in (("C", None), ("F", None), ("C", "tiles:4x5:3")):
    random_parts(order, layout)
wrong()
copies()
comm.Barrier()
if rank == 0:
    for name in ("together.sluice", "to.sluice"):
        shutil.rmtree(name)
