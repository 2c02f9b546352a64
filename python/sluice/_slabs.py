"""The loop over an array that is larger than memory, with the next slab read while the caller computes.

What sluice_slabs_next() does in C, with buffers that are NumPy's: a slab is an array of its own and stays good for as
long as someone has it. What the slab before had already is copied, the rest is read in the background.
"""

from ._lib import Part, Reuse, ReuseStep, byref, c_int64, lib, ranges


class Slab:
    """Indices [start, stop) of an axis. `data`: with overlap, indices [first, first + data.shape[axis])."""

    def __init__(self, data, axis, first, start, stop):
        self.data, self.axis, self.first, self.start, self.stop = data, axis, first, start, stop

    def _along(self, start, stop):
        return (slice(None),) * self.axis + (slice(start, stop),)

    @property
    def key(self):
        """What to put in brackets to name the slab in an array of this shape: b[slab.key] = ..."""
        return self._along(self.start, self.stop)

    @property
    def inner(self):
        """The data without overlap."""
        return self.data[self._along(self.start - self.first, self.stop - self.first)]

    def __array__(self, dtype=None, copy=None):
        return self.data.astype(dtype or self.data.dtype, copy=bool(copy))

    def __repr__(self):
        return f"<slab {self.start}:{self.stop} of axis {self.axis}, data from {self.first}, {self.data.shape}>"


def rows_within(a, axis, memory, lower, upper):
    """How many indices of the axis fit twice, with overlap, into three quarters of the memory: one quarter is for the
    library. Raises if not one does."""
    extent = a.shape[axis]
    each = a.nbytes // extent if a.size else 1
    fit = memory * 3 // 8 // max(each, 1)
    if fit >= extent:
        return max(extent, 1)
    if fit <= lower + upper:
        raise ValueError(f"slabs of {a.path}: an index of axis {axis} takes {each} bytes; with overlap they do not fit "
                         f"twice into {memory} bytes of memory")
    return fit - lower - upper


def walk(a, axis, rows, start, lower, upper):
    """Yields the slabs. `a` is told of the request that is on its way, and so can be closed at any time."""
    plan = Reuse(extent=a.shape[axis], count=rows, lower=lower, upper=upper, next=start)
    step = ReuseStep()
    whole = [(0, n, 1) for n in a.shape]

    def fetch(before, held):
        """The next slab: its buffer, what it is, and the request that fills it; None at the end."""
        if not lib.sluice_reuse_next(byref(plan), byref(step)):
            return None
        used, reused, read = step.used, step.reused, step.read
        shape = a.shape[:axis] + (used.len,) + a.shape[axis + 1:]
        data = a._buffer(shape)
        along = (slice(None),) * axis
        if reused.len:
            have = slice(reused.off - held, reused.off - held + reused.len)
            data[along + (slice(0, reused.len),)] = before[along + (have,)]
        request = None
        if read.len:
            part = Part(buf=data.ctypes.data, buf_dim=(c_int64 * a.ndim)(*shape), buf_at=(c_int64 * a.ndim)())
            part.range = ranges(whole)
            part.range[axis].start, part.range[axis].count, part.buf_at[axis] = read.off, read.len, reused.len
            part.buffer, part.key = data, Ellipsis
            request = a._start(part)
        return Slab(data, axis, used.off, step.slab.off, step.slab.off + step.slab.len), request

    coming = fetch(None, 0)
    try:
        while coming:
            slab, request = coming
            coming = None
            if request:
                request.wait()
            coming = fetch(slab.data, slab.first)
            yield slab
    finally:
        if coming and coming[1]:
            coming[1].wait()
