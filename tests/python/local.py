"""The package in one process, with NumPy as the oracle: what an ndarray does, an array in a file does too."""

import gc
import os
import random
import sys
import threading
import warnings

import numpy as np

import sluice

seed = int(os.environ.get("SLUICE_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
cases = int(os.environ.get("SLUICE_TEST_CASES", 600))
print("seed", seed)
chance = random.Random(seed)


def raises(kind, text, call, *arguments, **named):
    """The call raises this kind, with this in its text."""
    try:
        call(*arguments, **named)
    except kind as why:
        assert text in str(why), f"{text!r} is not in {why!r}"
        return why
    raise AssertionError(f"{kind.__name__} {text!r} was not raised")


def same(got, wanted, what):
    assert got.shape == wanted.shape and got.dtype == wanted.dtype and (got == wanted).all(), (
        f"{what}: got {got!r}, wanted {wanted!r}")


# ---- Random keys -------------------------------------------------------------------------------------------------


def some_slice(n):
    bound = lambda: chance.choice([None, chance.randint(-n - 2, n + 2)])
    return slice(bound(), bound(), chance.choice([None, 1, 2, 3, -1, -2, 7]))


def some_list(n):
    if n == 0 or chance.random() < 0.1:
        return []
    kind = chance.randrange(4)
    if kind == 0:
        return [chance.random() < 0.5 for _ in range(n)]
    if kind == 1:
        return np.array(sorted(chance.sample(range(n), chance.randint(1, n))), chance.choice(["i4", "u2", "i8"]))
    if kind == 2:
        return np.array([[chance.randrange(-n, n) for _ in range(2)] for _ in range(3)])
    return [chance.randrange(-n, n) for _ in range(chance.randint(1, 6))]


def some_key(shape, lists):
    """A key; with `lists` one or, as a product, several of them."""
    if lists and chance.random() < 0.2 and all(shape):
        return np.ix_(*(chance.sample(range(n), chance.randint(1, n)) for n in shape))
    items = []
    at = chance.randrange(len(shape)) if lists else -1
    for d, n in enumerate(shape):
        number = n and chance.random() < 0.3
        items.append(some_list(n) if d == at else chance.randrange(-n, n) if number else some_slice(n))
    if chance.random() < 0.3:
        cut = chance.randrange(len(items))
        items[cut:cut + chance.randint(0, 2)] = [Ellipsis]
    elif chance.random() < 0.3:
        del items[chance.randint(1, len(items)):]
    while chance.random() < 0.2:
        items.insert(chance.randint(0, len(items)), None)
    return items[0] if len(items) == 1 and chance.random() < 0.5 else tuple(items)


def duplicates(key, shape):
    """Whether an element is named twice: of what is written there, NumPy says only that one of it stays."""
    named = np.arange(int(np.prod(shape))).reshape(shape)[key]
    return len(np.unique(named)) < np.size(named)


def random_keys():
    layouts = [None, None, "rows:2", "tiles:2x3:3"]
    for case in range(cases // 20):
        layout = chance.choice(layouts)
        ndims = 2 if layout else chance.randint(1, 4)
        shape = tuple(chance.choice([1, 2, 5, 9, 13] if layout else [0, 1, 2, 5, 9]) for _ in range(ndims))
        order, dtype = chance.choice("CF"), np.dtype(chance.choice(["f8", "i2", "c8", "?", "S3", "M8[ns]", "u1"]))
        content = np.arange(int(np.prod(shape)))
        content = np.array(content.astype("u8").astype(dtype).reshape(shape), order=order)
        name = f"random{case}"
        a = sluice.create(name + (".sluice" if layout else ".npy"), shape, dtype, order=order, layout=layout,
                          method=chance.choice(["auto", "direct", "sieve"]))
        a[...] = content
        for _ in range(20):
            key = some_key(shape, chance.random() < 0.4)
            what = f"seed {seed}, array {case} of {shape}, key {key!r}"
            if chance.random() < 0.5 and not duplicates(key, shape):
                old = content[key]
                value = chance.choice([old[..., ::-1] if old.ndim else old, old.ravel()[:1].reshape(()) if old.size else old,
                                       np.roll(content.ravel(), 3)[:old.size].reshape(old.shape)]).copy()
                content[key] = value
                a[key] = value
            same(np.asarray(a[key]), np.asarray(content[key]), what)
            assert type(a[key]) is type(content[key]), what
        same(np.asarray(a), content, f"seed {seed}, array {case}")
        same(a.read_all[...], content, f"seed {seed}, array {case}, collective calls of one process")
        a.close()
        if not layout:
            same(np.load(name + ".npy"), content, f"seed {seed}, array {case}, as NumPy reads it")


# ---- What the words say ------------------------------------------------------------------------------------------


def attributes():
    with sluice.create("field.npy", (6, 4), "float32", order="F") as a:
        assert (a.shape, a.ndim, a.size, a.dtype, a.order, a.layout) == ((6, 4), 2, 24, np.float32, "F", None)
        assert (a.itemsize, a.nbytes, len(a), a.format, a.path, a.closed) == (4, 96, 6, "npy", "field.npy", False)
        a[:] = np.arange(24).reshape(6, 4)
        assert np.add(a, 1)[5, 3] == 24 and [row[0] for row in a] == [0, 4, 8, 12, 16, 20]
        assert a[2:4].flags.f_contiguous and a.counts["wanted_written"] == 96
        assert a.read_start[::-2, 1].wait().tolist() == [21, 13, 5]
        a.sync()
        a.resize(7)  # the slowest dimension is the last
        assert a.shape == (6, 7) and not a[:, 4:].any()
    assert a.closed and "closed" in repr(a)
    raises(ValueError, "field.npy is closed", lambda: a[0])
    a.close()
    b = np.load("field.npy")
    assert b.shape == (6, 7) and b[3, 2] == 14
    with sluice.create("raw.bin", 10, "<i4", format="raw", offset=7) as r:
        r[::3] = [1, 2, 3, 4]
    same(np.fromfile("raw.bin", "<i4", offset=7), np.array([1, 0, 0, 2, 0, 0, 3, 0, 0, 4], "i4"), "raw.bin")
    with sluice.open("raw.bin", dtype="<i4", shape=10, offset=7) as r:
        assert r[9] == 4 and r[9].dtype == np.int32
    record = np.dtype([("x", "<f4"), ("n", "<i8", (2,))])
    with sluice.create("record.npy", 3, record) as r:
        r[1] = (1.5, (2, 3))
        assert r.dtype == record and r[1]["n"].tolist() == [2, 3] and r[0]["x"] == 0
    np.save("big.npy", np.arange(5, dtype=">i4"))
    with sluice.open("big.npy", "r+") as r:
        assert r.dtype.isnative and r[...].tolist() == [0, 1, 2, 3, 4]
        raises(sluice.SluiceError, "other byte order", r.__setitem__, 0, 1)


def errors():
    raises(FileNotFoundError, "open nothing.npy", sluice.open, "nothing.npy").errno
    raises(FileExistsError, "create field.npy", sluice.create, "field.npy", 3)
    raises(ValueError, "mode is 'w'", sluice.open, "field.npy", "w")
    raises(ValueError, "memory is 'lots'", sluice.open, "field.npy", memory="lots")
    raises(ValueError, "does not fit into 64 bits", sluice.create, "x.npy", 2**64)
    raises(ValueError, "by both dtype and shape", sluice.open, "raw.bin", dtype="i4")
    raises(TypeError, "objects", sluice.create, "x.npy", 3, object)
    raises(TypeError, "colour", sluice.open, "field.npy", colour=3)
    raises(TypeError, "not an intracommunicator", sluice.open, "field.npy", comm=3) if "mpi4py" in sys.modules else None
    why = raises(sluice.SluiceError, "layout bogus", sluice.create, "x.sluice", 3, layout="bogus")
    assert why.code == -1004 and why.name == "SLUICE_E_SYNTAX", why.code
    with open("torn.npy", "wb") as f:
        f.write(b"\x93NUMPY\x01\x00garbage")
    why = raises(sluice.SluiceError, "torn.npy", sluice.open, "torn.npy")
    assert why.name == "SLUICE_E_FORMAT", why.name
    with sluice.open("field.npy") as a:
        raises(OSError, "opened for reading only", a.__setitem__, 0, 1)
        for key, text in ((6, "index 6 is out of bounds for axis 0 with size 6"), ((0, -8), "axis 1 with size 7"),
                          ([0, 9], "index 9 is out of bounds for axis 0"), ((0, 0, 0), "too many indices"),
                          (1.5, "not float"), ("x", "not str"), (True, "True and False"), ((..., ...), "single ellipsis"),
                          ([True, False], "boolean index of 2 elements for axis 0 with size 6")):
            raises(IndexError, text, a.__getitem__, key)
        raises(TypeError, "to be assigned to", lambda: a.write_all[0])
        raises(TypeError, "cannot be assigned to", a.read_all.__setitem__, 0, 0)
        raises(ValueError, "without a copy", a.__array__, copy=False)
        assert a[[0, 2], [3, 1]].tolist() == [np.load("field.npy")[0, 3], np.load("field.npy")[2, 1]]
    with sluice.open("field.npy", "r+") as a:
        raises(ValueError, "broadcast", a.__setitem__, slice(0, 2), [1, 2, 3])
        raises(IndexError, "numpy.ix_()", a.__setitem__, ([0, 2], [3, 1]), 1)
    assert not os.path.exists("x.npy") and not os.path.exists("x.sluice")


def slabs():
    content = np.arange(50 * 40, dtype="f8").reshape(50, 40)
    for order in "CF":
        with sluice.create("slabs.npy", content.shape, order=order, replace=True) as a:
            a[...] = content
            for axis in (0, 1, None):
                for rows in (1, 3, 7, 100):
                    for lower, upper in ((0, 0), (1, 1), (2, 0), (0, 9)):
                        at = 0
                        along = axis if axis is not None else "CF".index(order)
                        for slab in a.slabs(overlap=(lower, upper), axis=axis, rows=rows):
                            assert slab.start == at and slab.first == max(at - lower, 0), slab
                            at = slab.stop
                            end = min(at + upper, content.shape[along])
                            wanted = content.take(range(slab.first, end), along)
                            same(slab.data, wanted, f"{slab} of order {order}")
                            same(slab.inner, content[slab.key], f"{slab} of order {order}")
                        assert at == content.shape[along]
            before = a.counts["wanted_read"]
            kept = list(a.slabs(memory="16K", overlap=1))
            assert a.counts["wanted_read"] - before == a.nbytes, "what slabs share was read twice"
            assert len(kept) > 2 and max(s.data.nbytes for s in kept) * 2 <= 16384 * 3 // 4
            assert all((s.inner == content[s.key]).all() for s in kept), "a slab changed after the next one came"
            raises(ValueError, "do not fit twice", a.slabs, memory=1000, overlap=1)
            raises(ValueError, "cannot be negative", a.slabs, overlap=-1)
            raises(ValueError, "do not fit twice", a.slabs, rows=50, memory="1K")
            for slab in a.slabs(rows=2):  # left early, with a request on its way
                break
            walk = a.slabs(rows=2)
            next(walk)
        raises(ValueError, "closed", list, walk)
        assert slab.data.sum() == content[slab.key].sum()
    with sluice.create("none.npy", (0, 3)) as a:
        assert list(a.slabs()) == []


def copies():
    content = np.arange(300 * 200, dtype="i4").reshape(300, 200)
    with sluice.create("from.npy", content.shape, "i4") as a, sluice.create(
            "tiles.sluice", content.shape, "i4", order="F", layout="tiles:64x64:3", checksum=True) as b:
        a[...] = content
        told = []
        sluice.redistribute(b, a, memory="1M", progress=lambda done, total: told.append((done, total)))
        assert told[-1] == (240000, 240000) and b.layout.startswith("tiles"), (told, b.layout)
        same(b[...], content, "redistributed")
        sluice.redistribute(b, a, from_=np.s_[10:20, ::2], to=np.s_[100:110, :100])
        content[100:110, :100] = content[10:20, ::2]
        same(b[...], content, "a part redistributed")
        raises(IndexError, "positive steps", sluice.redistribute, b, a, from_=np.s_[::-1])
        raises(ZeroDivisionError, "", sluice.redistribute, b, a, progress=lambda done, total: 1 // 0)
        with sluice.create("other.npy", content.shape, "f8") as c:
            raises(sluice.SluiceError, "", sluice.redistribute, c, a)
    with open("targets.txt", "w"):
        os.mkdir("one")
    with sluice.create("spread.sluice", 10, "u1", layout="rows:2", targets="t", bindings="t=one") as a:
        a[...] = range(10)
    assert any(files for _, _, files in os.walk("one")), "nothing lies on the target"


def life():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        a = sluice.open("field.npy")
        del a
        gc.collect()
    assert any(w.category is ResourceWarning and "was not closed" in str(w.message) for w in told), told
    with sluice.open("from.npy") as a:  # threads wait for each other
        wanted, wrong = np.load("from.npy"), []

        def read(k):
            for i in range(k, 300, 7):
                if not (a[i] == wanted[i]).all():
                    wrong.append(i)

        threads = [threading.Thread(target=read, args=(k,)) for k in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert not wrong
        request = a.read_start[5]
    assert (request.wait() == wanted[5]).all(), "a request that close() waited for"


attributes()
errors()
slabs()
copies()
life()
random_keys()
