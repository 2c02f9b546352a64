#!/usr/bin/python3
"""redistribute.py [--size 256M] [--repeat 3] [--memory 64M] [--cases 0,1,2,3] [--alone] [--folder DIR] [--sluice PATH]
                [--mpiexec 'mpiexec -n 2']

Changes the layout of an array by `sluice cp`, beside what others need for the same: `cp` of as many bytes, h5repack and
dask's rechunk over zarr, where these are installed (`tools/setup.sh bench`), or with cp only (--alone). Contenders take
turns, and each runs twice in its turn, of which the second is timed: on a virtual machine that returns free memory to its
host, whoever comes after the removal of a large file pays for getting it back, and so each comes after itself. A time ends
when the result is on the disk (fsync of every file; sluice does that itself); on a tmpfs that costs nothing. Figures are
medians; every result of sluice is compared with the source; its peak memory is the largest VmHWM of a process.
"""
import argparse
import math
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--size", default="256M")
parser.add_argument("--repeat", type=int, default=3)
parser.add_argument("--memory", default="64M")
parser.add_argument("--cases", default="0,1,2,3")
parser.add_argument("--alone", action="store_true")
parser.add_argument("--folder", default=".")
parser.add_argument("--sluice", default=os.path.join(here, "../build/bin/sluice"))
parser.add_argument("--mpiexec", default="")
options = parser.parse_args()
sluice = os.path.abspath(options.sluice)
size = int(options.size[:-1]) << {"K": 10, "M": 20, "G": 30}[options.size[-1]]
n = math.isqrt(size // 4)
folder = os.path.join(options.folder, "redistribute.%d" % os.getpid())

CASES = [
    ("rows:4", "columns:4", "C"),
    ("tiles:256x256:4", "tiles:1000x999:6", "C"),
    ("striped:1M:4", "striped:1M:6", "C"),
    ("rows:4", "columns:4", "F"),
]
CASES = [CASES[int(i)] for i in options.cases.split(",")]
DASK = """
import sys, dask, dask.array as da
dask.config.set(scheduler="threads", num_workers=2)
a, b, n, x, y = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
da.from_zarr(a).rechunk((x, y)).to_zarr(b, compressor=None)
"""


def remove(path):
    shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.unlink(path)


def run(line, quiet=True):
    """Seconds, and the largest resident memory in bytes of a process of it."""
    start = time.perf_counter()
    child = subprocess.Popen(line, stdout=subprocess.DEVNULL if quiet else None)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit("failed: " + shlex.join(line))
    return time.perf_counter() - start, usage.ru_maxrss * 1024


def flush(path):
    start = time.perf_counter()
    names = [os.path.join(d, f) for d, _, files in os.walk(path) for f in files] if os.path.isdir(path) else [path]
    for name in names:
        fd = os.open(name, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
    return time.perf_counter() - start


def have(*line):
    try:
        return subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


def contenders(source, target, order):
    """Name: what it runs, and what it makes."""
    made = {"cp": (["cp", "plain.npy", "out.npy"], "out.npy")}
    copy = [sluice, "cp", "from-%s.sluice" % source, "out.sluice", "--layout", target, "--order", order]
    made["sluice"] = (copy + ["--memory", options.memory], "out.sluice")
    if options.mpiexec:
        made["sluice mpi"] = (shlex.split(options.mpiexec) + copy + ["--memory", options.memory], "out.sluice")
    if order == "C" and source == "rows:4":
        if os.path.exists("from.h5"):
            line = ["h5repack", "-l", "x:CHUNK=%dx%d" % (min(n, 4096), max(n // 4, 1)), "from.h5", "out.h5"]
            made["h5repack"] = (line, "out.h5")
        if os.path.exists("from.zarr"):
            line = ["/usr/bin/python3", "-c", DASK, "from.zarr", "out.zarr", str(n), str(n), str(max(n // 4, 1))]
            made["dask"] = (line, "out.zarr")
    return made


def prepare():
    run([sluice, "create", "plain.npy", "--shape", "%dx%d" % (n, n), "--type", "float32"])
    run([sluice, "fill", "plain.npy", "--iota"])
    for layout in dict.fromkeys(c[0] for c in CASES):
        run([sluice, "cp", "plain.npy", "from-%s.sluice" % layout, "--layout", layout])
    if options.alone:
        return
    if have("h5repack", "--version") and have("/usr/bin/python3", "-c", "import h5py, numpy"):
        code = "import h5py, numpy, sys; a = numpy.load('plain.npy', mmap_mode='r'); n = len(a); " \
            "f = h5py.File('from.h5', 'w'); x = f.create_dataset('x', a.shape, 'f4', chunks=(max(n // 16, 1), min(n, 4096)));\n" \
            "for i in range(0, n, 1024): x[i:i + 1024] = a[i:i + 1024]"
        run(["/usr/bin/python3", "-c", code])
    if have("/usr/bin/python3", "-c", "import dask.array, zarr"):
        code = "import zarr, numpy; a = numpy.load('plain.npy', mmap_mode='r'); n = len(a); " \
            "x = zarr.open('from.zarr', 'w', shape=a.shape, chunks=(max(n // 4, 1), n), dtype='f4', compressor=None);\n" \
            "for i in range(0, n, max(n // 4, 1)): x[i:i + max(n // 4, 1)] = a[i:i + max(n // 4, 1)]"
        run(["/usr/bin/python3", "-c", code])


def verify(made):
    if made.endswith(".sluice"):
        run([sluice, "cp", made, "back.npy", "--order", "C"])
        run(["cmp", "plain.npy", "back.npy"])
        remove("back.npy")


os.mkdir(folder)
os.chdir(folder)
try:
    prepare()
    os.sync()
    print("%d x %d float32, --memory %s, medians of %d" % (n, n, options.memory, options.repeat))
    print("%-42s %-11s %9s %8s %9s" % ("", "", "seconds", "of cp", "peak MiB"))
    for source, target, order in CASES:
        who = contenders(source, target, order)
        seconds, peak = {name: [] for name in who}, dict.fromkeys(who, 0)
        for turn in range(options.repeat):
            for name, (line, made) in who.items():
                for timed in False, True:
                    took, memory = run(line)
                    took += 0 if made.endswith(".sluice") else flush(made)
                    if not timed and turn == 0:
                        verify(made)
                    remove(made)
                seconds[name].append(took)
                peak[name] = max(peak[name], memory)
        cp = statistics.median(seconds["cp"])
        for name in who:
            title = "%s -> %s, %s" % (source, target, order) if name == "cp" else ""
            middle = statistics.median(seconds[name])
            print("%-42s %-11s %9.3f %8.2f %9.0f   %s" % (title, name, middle, middle / cp, peak[name] / 2**20,
                                                         " ".join("%.2f" % s for s in seconds[name])))
            sys.stdout.flush()
finally:
    os.chdir("..")
    shutil.rmtree(os.path.basename(folder))
