"""What stands between brackets, as a box of the file and the way from it to what NumPy would give.

A box is a product: for each dimension a range (start, count, step), or ascending indices. It is what the library
moves, packed in a buffer of `counts` elements. `key` then picks from that buffer what the caller named, so that NumPy
itself does the rest: reversing, dropping and adding dimensions, repeating and ordering by lists:

    a[7, ::-2, [5, 3, 3]]      box 7, range of step 2, (3, 5)       key [0, ::-1, [1, 0, 0]]
"""

import operator

import numpy as np


class Box:
    """`range`: one (start, count, step) per dimension, or None where `index` has ascending indices; `plain`: the
    buffer is what the caller named, but for its shape; `dense`: the key picks every element of the buffer."""

    def __init__(self, key, shape):
        self.range, self.index, self.key = [], [], []
        lists = numbers = 0
        for item in _expand(key, shape):
            if item is None or item is Ellipsis:
                self.key.append(item)
                continue
            d = len(self.range)
            if isinstance(item, slice):
                self._slice(item, shape[d])
            elif isinstance(item, np.ndarray):
                self._list(item, shape[d], d)
                lists += 1
            else:
                i = _within(item, shape[d], d)
                self.range.append((i, 1, 1))
                self.index.append(None)
                self.key.append(0)
                numbers += 1
        self.counts = tuple(r[1] if r else len(i) for r, i in zip(self.range, self.index))
        if lists == 1 and not numbers:
            self._simplify()
        self.key = tuple(self.key)
        self.plain = not any(isinstance(k, np.ndarray) or k == slice(None, None, -1) for k in self.key)
        self.dense = lists < 2 or self._covers()

    def _slice(self, item, extent):
        start, stop, step = item.indices(extent)
        count = len(range(start, stop, step))
        self.key.append(slice(None, None, -1) if step < 0 else slice(None))
        if step < 0:
            start, step = start + (count - 1) * step, -step
        self.range.append((start, count, step if count > 1 else 1) if count else (0, 0, 1))
        self.index.append(None)

    def _list(self, item, extent, d):
        if isinstance(item, _Mask) and item.extent != extent:
            raise IndexError(f"boolean index of {item.extent} elements for axis {d} with size {extent}")
        item = np.asarray(item)
        wrong = (item < -extent) | (item >= extent)
        if wrong.any():
            _within(int(item[wrong][0]), extent, d)
        wanted, inverse = np.unique(np.where(item < 0, item + extent, item).astype(np.int64), return_inverse=True)
        self.key.append(inverse.reshape(item.shape))
        steps = np.diff(wanted)
        if len(wanted) == 0 or (steps == steps[:1]).all():  # a range after all
            first, step = (int(wanted[0]) if len(wanted) else 0), (int(steps[0]) if len(steps) else 1)
            self.range.append((first, len(wanted), step))
            self.index.append(None)
        else:
            self.range.append(None)
            self.index.append(wanted)

    def _simplify(self):
        """A list that ascends already picks what is there."""
        for n, k in enumerate(self.key):
            if isinstance(k, np.ndarray) and k.ndim == 1 and (np.diff(k) == 1).all():
                self.key[n] = slice(None)

    def _covers(self):
        covered = np.zeros(self.counts, bool)
        covered[self.key] = True
        return covered.all()

    @property
    def shape(self):
        """Of what the caller named."""
        return np.broadcast_to(np.False_, self.counts)[self.key].shape

    def indices(self):
        """Ascending indices of every dimension, or None if all are ranges."""
        if all(i is None for i in self.index):
            return None
        return [np.arange(r[1], dtype=np.int64) * r[2] + r[0] if r else i for r, i in zip(self.range, self.index)]

    def pack(self, value, dtype, order):
        """The buffer to be written: `value` broadcast to what the caller named; itself, if that will do."""
        if not self.dense:
            raise IndexError("a write at the points of several index lists; numpy.ix_() makes a product of them")
        if self.plain and isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == self.shape:
            if value.flags[order + "_CONTIGUOUS"]:
                return value
        buffer = np.empty(self.counts, dtype, order)
        buffer[self.key] = value
        return buffer


class _Mask(np.ndarray):
    """The indices at which a boolean index of `extent` elements is true."""

    def __new__(cls, indices, extent):
        self = indices.view(cls)
        self.extent = extent
        return self


def _within(item, extent, d):
    i = operator.index(item)
    if not -extent <= i < extent:
        raise IndexError(f"index {i} is out of bounds for axis {d} with size {extent}")
    return i + extent if i < 0 else i


def _expand(key, shape):
    """One item per dimension (a number, a slice or an integer ndarray), None for new ones, perhaps an Ellipsis."""
    items = []
    for item in key if isinstance(key, tuple) else (key,):
        if item is None or item is Ellipsis or isinstance(item, slice):
            items.append(item)
            continue
        if isinstance(item, (bool, np.bool_)):
            raise IndexError("True and False select no part of an array in a file")
        if not hasattr(item, "__index__") or getattr(item, "ndim", 0) > 0:
            array = np.asarray(item)
            if array.dtype == bool:
                items.extend(_Mask(i, n) for i, n in zip(array.nonzero(), array.shape))
                continue
            if array.size == 0 and array.dtype.kind not in "iu":
                array = array.astype(np.int64)
            if array.dtype.kind not in "iu":
                raise IndexError("only integers, slices, ..., None and lists of integers or booleans are indices, "
                                 f"not {type(item).__name__}")
            item = array if array.ndim else int(array)
        items.append(item)
    kinds = _kinds(items)
    if kinds.count(Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(k is not None and k is not Ellipsis for k in kinds)
    if used > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed")
    at = kinds.index(Ellipsis) if Ellipsis in kinds else len(items)
    # One that stands for nothing stays: with it, a single element is an array without dimensions.
    missing = [slice(None)] * (len(shape) - used) or items[at:at + 1]
    return items[:at] + missing + items[at + 1:]


def _kinds(items):
    """The items, with a placeholder for those that do not compare as a whole."""
    return [k if k is None or k is Ellipsis else 0 for k in items]
