#!/usr/bin/python3
"""profile.py [--procs 4,9,16] [--workloads bt,seismic,tile,perf,mandelbrot] [--repeat 3] [--build build] [--folder DIR]
           [--csv FILE] [--plot FILE.svg] [--disks MB/s] [--quick]

The five workloads (bench/workloads) three ways: by calls of Unix and by collective MPI-IO of the MPI at hand on one file,
and by the same MPI-IO calls through Sluice on a container that a plan has laid out for them, with a target of its own for
each process. For each workload and number of processes the loop is closed once: `sluice trace` records a run, `sluice plan`
makes a plan of it, `sluice partition` the container. Then the ways take turns; a figure is the median. Bandwidths are by
the paper's metric: the bytes of all accesses by the sum of their latencies, reads and writes apart. Programs verify every
byte that they read; what fails ends the bench.

--disks: each target on a disk of its own, a file on a loop device that moves so many MB a second, beside one such disk for
the file that all share. Data go to the disk (--sync), and come from there: caches are dropped in between. Bandwidths are
then of all processes together: bytes by the time of the phase. Needs root, and blkio of cgroups (version 1).
"""
import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--procs", default="4,9,16")
parser.add_argument("--workloads", default="bt,seismic,tile,perf,mandelbrot")
parser.add_argument("--repeat", type=int, default=3)
parser.add_argument("--build", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build"))
parser.add_argument("--folder", default=".")
parser.add_argument("--csv")
parser.add_argument("--plot")
parser.add_argument("--disks", type=float, default=0, metavar="MB/s")
parser.add_argument("--quick", action="store_true")
options = parser.parse_args()
build = os.path.abspath(options.build)
sluice = os.path.join(build, "bin/sluice")
WAYS = ["unix", "mpiio", "partitioned"]
KINDS = ["write", "read"]


def mpiexec():
    """The one that the build uses, with what it needs; or $MPIEXEC."""
    if os.environ.get("MPIEXEC"):
        return os.environ["MPIEXEC"].split()
    for line in open(os.path.join(build, "CMakeCache.txt")):
        if line.startswith("MPIEXEC_EXECUTABLE:"):
            program = line.split("=", 1)[1].strip()
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    openmpi = any(mark in said for mark in ("Open MPI", "OpenRTE", "PRRTE"))
    return [program] + ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"] * openmpi


START = mpiexec()


def run(line, **environment):
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, **environment}, timeout=600)
    if done.returncode:
        sys.exit("profile: %s\n%s%s" % (" ".join(line), done.stdout, done.stderr))
    return done.stdout


class Case:
    """A workload on some processes, with its files: one that is shared, and a container with a target for each."""

    def __init__(self, name, procs, folder, shared, targets):
        self.name, self.procs = name, procs
        self.folder = os.path.join(folder, "%s.%d" % (name, procs))
        os.mkdir(self.folder)
        self.shared = os.path.join(shared, "%s.%d.data" % (name, procs))
        self.data = os.path.join(self.folder, "data")
        self.targets = [os.path.join(t, "%s.%d" % (name, procs)) for t in targets]
        for target in self.targets:
            os.mkdir(target)
        self.bind = ",".join("t%d=%s" % (i, t) for i, t in enumerate(self.targets))
        self.figures = {way: [] for way in WAYS}

    def program(self, mode, path, *more):
        line = START + ["-n", str(self.procs), os.path.join(build, "workloads", self.name)]
        return line + ["--mode", mode, "--file", path, "--json"] + ["--quick"] * options.quick + list(more)

    def prepare(self):
        trace, plan = os.path.join(self.folder, "run.trace"), os.path.join(self.folder, "plan.json")
        names = ",".join("t%d" % i for i in range(self.procs)) + ",."
        run([sluice, "trace", "-o", trace, "--"] + self.program("mpiio", self.data, "--keep"))
        run([sluice, "plan", trace, "--file", self.data, "-o", plan, "--targets", names])
        run([sluice, "partition", "--plan", plan, self.data, "--bind", self.bind])
        os.unlink(self.data)
        if not options.disks:  # files that are there are written, whichever way
            self.measure("unix", "--phase", "write")

    def measure(self, way, *more):
        if way != "partitioned":
            return json.loads(run(self.program(way, self.shared, "--keep", *more)))
        line = [sluice, "run", "--"] + self.program(way, self.data, *more)
        return json.loads(run(line, SLUICE_TARGETS=self.bind))

    def turn(self, way):
        self.figures[way].append(self.measure(way))

    def median(self, way, what):
        return statistics.median(what(f) for f in self.figures[way])

    def bandwidth(self, way, kind):
        return self.median(way, lambda f: f[kind]["bandwidth"]) / 1e6

    def ratio(self, kind):
        return self.bandwidth("partitioned", kind) / self.bandwidth("mpiio", kind)

    def seconds(self, way):
        return self.median(way, lambda f: f["run"])

    def files(self):
        for top in [self.folder, os.path.dirname(self.shared)] + self.targets:
            for path, _, names in os.walk(top):
                yield from (os.path.join(path, name) for name in names)


def geometric(values):
    return math.exp(statistics.mean(map(math.log, values)))


# ---- Warm: everything in the page cache ----


def table(cases):
    print("%-10s %3s   %-37s %6s   %-37s %6s   %s" % ("", "", "write, MB/s", "", "read, MB/s", "", "run, s"))
    head = "%11s %11s %11s" % tuple(WAYS)
    print("%-10s %3s   %-37s %6s   %-37s %6s   %s" % ("workload", "P", head, "ratio", head, "ratio", head))
    for c in cases:
        words = []
        for kind in KINDS:
            words.append("%11.1f %11.1f %11.1f" % tuple(c.bandwidth(w, kind) for w in WAYS))
            words.append("%6.1f" % c.ratio(kind))
        words.append("%11.3f %11.3f %11.3f" % tuple(c.seconds(w) for w in WAYS))
        print("%-10s %3d   %-37s %6s   %-37s %6s   %s" % (c.name, c.procs, *words))


def verdict(cases):
    for kind, goal in ("read", 5), ("write", 3):
        ratios = [c.ratio(kind) for c in cases]
        worst = min(cases, key=lambda c: c.ratio(kind))
        print("%s: partitioned is ahead of collective MPI-IO in %d of %d cases, %.1f times in the mean (goal %d); worst: %.2f "
              "(%s, %d processes)" % (kind, sum(r > 1 for r in ratios), len(ratios), geometric(ratios), goal,
                                      worst.ratio(kind), worst.name, worst.procs))


def csv(cases, path):
    with open(path, "w") as out:
        out.write("workload,procs,way,repetition,write_bandwidth,read_bandwidth,run_seconds\n")
        for c in cases:
            for way in WAYS:
                for i, f in enumerate(c.figures[way]):
                    out.write("%s,%d,%s,%d,%.6g,%.6g,%.6f\n" % (
                        c.name, c.procs, way, i, f["write"]["bandwidth"], f["read"]["bandwidth"], f["run"]))


def plot(lines, path, script):
    if not shutil.which("gnuplot"):
        print("no plot: gnuplot is missing (tools/setup.sh bench)", file=sys.stderr)
        return
    data = "$data << END\n" + "".join(line + "\n" for line in lines) + "END\n"
    subprocess.run(["gnuplot"], input="set terminal svg size 1200,800 background 'white'\nset output '%s'\n" % path.replace("'", "''") + data + script, text=True, check=True)


def plot_warm(cases, path):
    lines = ['"%s %d" %s' % (c.name, c.procs, " ".join("%g" % c.bandwidth(w, k) for k in KINDS for w in WAYS))
             for c in cases]
    script = "set logscale y\nset style data histograms\nset style histogram clustered gap 1\nset style fill solid 0.8\n" \
             "set xtics rotate by -45\nset ylabel 'MB/s'\nset key outside top horizontal\nset multiplot layout 2,1\n"
    for title, first in ("write", 2), ("read", 5):
        script += "set title '%s: bytes of all accesses by the sum of their latencies'\nplot " % title + ", ".join(
            "$data using %d%s title '%s'" % (first + i, ":xtic(1)" * (i == 0), w) for i, w in enumerate(WAYS)) + "\n"
    plot(lines, path, script + "unset multiplot\n")


def warm(folder):
    cases = []
    for name in options.workloads.split(","):
        for procs in map(int, options.procs.split(",")):
            top = tempfile.mkdtemp(dir=folder)
            targets = [os.path.join(top, "t%d" % i) for i in range(procs)]
            for target in targets:
                os.mkdir(target)
            case = Case(name, procs, top, top, targets)
            case.prepare()
            for i in range(options.repeat):
                for k in range(len(WAYS)):  # each time another one is first
                    case.turn(WAYS[(i + k) % len(WAYS)])
            cases.append(case)
            shutil.rmtree(top)
            print("%s %d: done" % (name, procs), file=sys.stderr)
    table(cases)
    verdict(cases)
    if options.csv:
        csv(cases, options.csv)
    if options.plot:
        plot_warm(cases, options.plot)


# ---- Disks that are slow, one for each process ----

BLKIO = "/sys/fs/cgroup/blkio"


class Disk:
    """A file system on a loop device that moves so many bytes a second."""

    def __init__(self, folder, i, megabytes):
        self.image, self.place = os.path.join(folder, "disk%d" % i), os.path.join(folder, "mount%d" % i)
        with open(self.image, "wb") as f:
            f.truncate(megabytes << 20)
        run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-O", "^has_journal", self.image])
        os.mkdir(self.place)
        self.device = run(["losetup", "-f", "--show", "--direct-io=on", self.image]).strip()
        run(["mount", self.device, self.place])
        self.number = open("/sys/block/%s/dev" % os.path.basename(self.device)).read().strip()
        self.limit(options.disks * 1e6)

    def limit(self, rate):
        for kind in KINDS:
            with open("%s/blkio.throttle.%s_bps_device" % (BLKIO, kind), "w") as f:
                f.write("%s %d\n" % (self.number, rate))

    def end(self):
        self.limit(0)
        run(["umount", self.place])
        run(["losetup", "-d", self.device])
        os.unlink(self.image)


def forget(case):
    """What is on the disk leaves the cache."""
    for path in case.files():
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def slow(folder):
    if os.geteuid() or not os.path.exists(BLKIO + "/blkio.throttle.read_bps_device"):
        sys.exit("profile: --disks needs root, and blkio of cgroups (version 1)")
    most = max(map(int, options.procs.split(",")))
    disks, lines = [], []
    try:
        for i in range(most + 1):
            disks.append(Disk(folder, i, 512 if i == most else 128))
        print("%g MB/s a disk%22s   %-35s   %-35s" % (options.disks, "", "write, MB/s", "read, MB/s"))
        print("%-10s %3s %20s   %11s %11s %11s   %11s %11s %11s" % ("workload", "P", "", *WAYS, *WAYS))
        for name in options.workloads.split(","):
            for procs in map(int, options.procs.split(",")):
                case = Case(name, procs, folder, disks[most].place, [d.place for d in disks[:procs]])
                case.prepare()
                figures = {}
                for i in range(options.repeat):
                    for way in WAYS:
                        for kind in KINDS:
                            forget(case)
                            said = case.measure(way, "--phase", kind, "--sync")
                            figures.setdefault((kind, way), []).append(said[kind]["bytes"] / said["run"] / 1e6)
                    if os.path.exists(case.shared):
                        os.unlink(case.shared)
                medians = [statistics.median(figures[kind, way]) for kind in KINDS for way in WAYS]
                print("%-10s %3d %20s   %11.1f %11.1f %11.1f   %11.1f %11.1f %11.1f" % (name, procs, "", *medians), flush=True)
                lines.append((name, procs, medians))
                for top in [case.folder] + case.targets:
                    shutil.rmtree(top)
    finally:
        for disk in disks:
            disk.end()
    if options.csv:
        with open(options.csv, "w") as out:
            out.write("workload,procs,%s\n" % ",".join("%s_%s" % (k, w) for k in KINDS for w in WAYS))
            for name, procs, medians in lines:
                out.write("%s,%d,%s\n" % (name, procs, ",".join("%.6g" % m for m in medians)))
    if options.plot:
        names = options.workloads.split(",")
        script = "set logscale xy\nset xlabel 'processes'\nset ylabel 'MB/s'\nset key outside\nset multiplot layout %d,2\n" % len(names)
        for name in names:
            for kind, first in ("write", 3), ("read", 6):
                script += "set title '%s %s'\nplot " % (name, kind) + ", ".join(
                    "'$data' using (strcol(1) eq '%s' ? $2 : NaN):%d with linespoints title '%s'" % (name, first + i, w)
                    for i, w in enumerate(WAYS)) + "\n"
        plot(["%s %d %s" % (n, p, " ".join("%g" % m for m in ms)) for n, p, ms in lines], options.plot,
             script.replace("'$data'", "$data") + "unset multiplot\n")


top = tempfile.mkdtemp(prefix="profile.", dir=options.folder)
try:
    slow(top) if options.disks else warm(top)
finally:
    shutil.rmtree(top)
