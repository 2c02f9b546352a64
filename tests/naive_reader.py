#!/usr/bin/env python3
"""Reads containers as docs/FORMAT.md describes them, byte after byte, and knows nothing else of Sluice.

    naive_reader.py [-t NAME=FOLDER]... CONTAINER...

Writes the elements of each container to standard output, as one plain file without a header would hold them.
"""
import json
import re
import struct
import sys

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZES = {"bool": 1, "datetime64": 8, "timedelta64": 8}


def number(text):
    digits, unit = re.fullmatch(r"\s*(\d+)([KMGTkmgt]?)\s*", text).groups()
    return int(digits) * UNITS[unit.upper()]


def element_size(name):
    kind, digits = re.fullmatch(r"([a-zA-Z]+)(\d*)(?:\[\w+\])?", name).groups()
    if kind in ("S", "V"):
        return int(digits)
    if kind == "U":
        return 4 * int(digits)
    return SIZES.get(kind + digits) or SIZES.get(kind) or int(digits) // 8


def ceiling(a, b):
    return -(-a // b)


def families(text):
    """The offsets of a set in the papers' notation."""
    tokens = re.findall(r"\d+|[-(){},]", text)
    at = 0

    def take(token):
        nonlocal at
        if at < len(tokens) and tokens[at] == token:
            at += 1
            return True
        return False

    def integer():
        nonlocal at
        at += 1
        return int(tokens[at - 1])

    def item():
        if not take("("):
            first = integer()
            assert take("-")
            return set(range(first, integer() + 1))
        low, _, high, _, step, _, count = integer(), take(","), integer(), take(","), integer(), take(","), integer()
        inner = listed() if take(",") else set()
        assert take(")")
        block = inner or set(range(high - low + 1))
        return {low + i * step + x for i in range(count) for x in block}

    def listed():
        assert take("{")
        found = set()
        while not take("}"):
            found |= item()
            take(",")
        return found

    return listed() if tokens[0] == "{" else item()


def distribution(text, extent, parts):
    """The part of each index along one dimension."""
    kind, argument = re.fullmatch(r"\s*(\*|[a-z_]+)\s*(?:\((.*)\))?\s*", text.lower()).groups()
    if kind == "*":
        return [0] * extent
    if kind in ("genblock", "gen_block"):
        return [p for p, size in enumerate(argument.split(",")) for _ in range(number(size))]
    if kind == "block":
        block = number(argument) if argument else max(ceiling(extent, parts), 1)
        return [i // block for i in range(extent)]
    block = number(argument) if argument else 1
    return [i // block % parts for i in range(extent)]


def owners(layout, shape, order, elem):
    """The subfile of every byte of the array."""
    kind, *rest = layout.strip().split(":", 2)
    elements = 1
    for extent in shape:
        elements *= extent
    length = elements * elem
    fast_first = list(range(len(shape)))
    if order == "C":
        fast_first.reverse()

    def index(x):
        e, found = x // elem, [0] * len(shape)
        for d in fast_first:
            e, found[d] = divmod(e, shape[d])
        return found

    if kind == "single":
        return [0] * length
    if kind == "striped":
        size, n = map(number, rest)
        return [x // size % n for x in range(length)]
    if kind == "cyclic":
        size, n = map(number, rest)
        return [x // elem // size % n for x in range(length)]
    if kind == "block":
        block = max(ceiling(elements, number(rest[0])), 1)
        return [x // elem // block for x in range(length)]
    if kind in ("rows", "columns"):
        d = 0 if kind == "rows" else len(shape) - 1
        block = max(ceiling(shape[d], number(rest[0])), 1)
        return [index(x)[d] // block for x in range(length)]
    if kind == "hpf":
        dists, grid = ":".join(rest).split("@")
        dists = re.split(r",(?![^(]*\))", dists)
        grid = [number(g) for g in grid.split("x")]
        if len(grid) != len(shape):
            given = iter(grid)
            grid = [1 if dist.strip() == "*" else next(given) for dist in dists]
        part = [distribution(dists[d], shape[d], grid[d]) for d in range(len(shape))]
        found = []
        for x in range(length):
            rank = 0
            for d, i in enumerate(index(x)):
                rank = rank * grid[d] + part[d][i]
            found.append(rank)
        return found
    if kind == "tiles":
        given, n = [number(g) for g in rest[0].split("x")], number(rest[1])
        ones = [1] * (len(shape) - len(given))
        tile = ones + given if order == "C" else given + ones
        found = []
        for x in range(length):
            at, number_of_tile = index(x), 0
            for d in reversed(fast_first):
                number_of_tile = number_of_tile * ceiling(shape[d], tile[d]) + at[d] // tile[d]
            found.append(number_of_tile % n)
        return found
    assert kind == "falls", kind
    disp, sets = number(rest[0]), [families(text) for text in rest[1].split(";")]
    pattern = {x: i for i, offsets in enumerate(sets) for x in offsets}
    return [0 if x < disp else pattern[(x - disp) % len(pattern)] for x in range(length)]


CASTAGNOLI = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    CASTAGNOLI.append(_byte)


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CASTAGNOLI[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def compare(m, number, data, sums):
    """Compares a subfile with its checksums; this reader knows no other run of the system than one without doubt."""
    block = m["checksum_block"]
    head = struct.unpack("<8sIIQQII32s36s16sI", sums[:128])
    assert head[:2] == (b"sluicsum", 1) and head[3:6] == (block, m["generation"], number)
    assert head[7] == m["uuid"].encode() and head[9] == bytes(16) and head[10] == crc32c(sums[:124])
    dirty, doubt = head[2] & 1, head[2] & 2
    zeros = crc32c(bytes(block))
    for k in range(ceiling(m["subfiles"][number]["size"], block)):
        crc, mark = struct.unpack_from("<II", sums, 128 + 8 * k)
        assert dirty or mark % 2 == 0, "block %d is open in a file that is sealed" % k
        if mark % 2 == 0 and not doubt:
            assert crc == crc32c(data[k * block:(k + 1) * block].ljust(block, b"\0")) ^ zeros, "block %d" % k


def read_placed(m, subfiles):
    """A layout by plan: byte k of a group lies at byte k of each place; the rest behind, in the last subfile."""
    length = element_size(m["type"])
    for extent in m["shape"]:
        length *= extent
    length += m.get("header", 0)
    out, taken, sizes = {}, [set() for _ in subfiles], [0] * len(subfiles)
    for g in m["groups"]:
        offsets = sorted(families(g["bytes"]))
        assert len(g["subfiles"]) == len(g["at"])
        for i, at in zip(g["subfiles"], g["at"]):
            where = sorted(families(at)) if isinstance(at, str) else range(at, at + len(offsets))
            assert len(where) == len(offsets) and not taken[i] & set(where)
            taken[i] |= set(where)
            sizes[i] = max(sizes[i], max(where) + 1)
            for x, y in zip(offsets, where):
                assert out.setdefault(x, subfiles[i][y]) == subfiles[i][y], "copies of byte %d differ" % x
    rest = [x for x in range(length) if x not in out]
    assert m["rest"] >= sizes[-1] and len(out) + len(rest) == length
    for k, x in enumerate(rest):
        out[x] = subfiles[-1][m["rest"] + k]
    sizes[-1] = m["rest"] + len(rest)
    assert sizes == [s["size"] for s in m["subfiles"]], sizes
    return bytes(out[x] for x in range(length))


def read(folder, targets):
    with open(folder + "/manifest.json", encoding="utf-8") as file:
        m = json.load(file)
    assert m["format"] == "sluice" and m["version"] == 1 and set(m.get("requires", [])) <= {"placed"}
    subfiles = []
    for i, s in enumerate(m["subfiles"]):
        own = s["target"] == "."
        assert s["name"] == ("" if own else m["uuid"] + ".") + "%d.%d" % (m["generation"], i)
        path = (folder if own else targets[s["target"]]) + "/" + s["name"]
        with open(path, "rb") as file:
            subfiles.append(file.read())
        assert len(subfiles[-1]) >= s["size"]
        if m.get("checksum_block"):
            with open(path + ".sum", "rb") as file:
                compare(m, i, subfiles[-1], file.read())
    if m["layout"].startswith("placed:"):
        return read_placed(m, subfiles)
    dealt = owners(m["layout"], m["shape"], m["order"], element_size(m["type"]))
    used, out = [0] * len(subfiles), bytearray()
    for i in dealt:
        out.append(subfiles[i][used[i]])
        used[i] += 1
    assert used == [s["size"] for s in m["subfiles"]], (m["layout"], used)
    return bytes(out)


def main(arguments):
    targets = {}
    while arguments and arguments[0] == "-t":
        name, path = arguments[1].split("=", 1)
        targets[name] = path
        arguments = arguments[2:]
    for folder in arguments:
        sys.stdout.buffer.write(read(folder, targets))


if __name__ == "__main__":
    main(sys.argv[1:])
