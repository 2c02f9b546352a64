#!/usr/bin/env python3
"""papers.py [--quick] [--build BUILD] [--procs P] [-o REPORT.md] [--html REPORT.html] [--only SECTION,...]

Runs the experiments of the four papers on this machine and writes one report: the published figures, ours and those of
the MPI library side by side, and whether what the paper says holds here. Sections: two-phase (tables 1 to 8), apps
(tables 9 and 10), clusterfile (its tables 1 and 2), profile (five workloads, three ways).

The benches do the measuring: contenders take turns, medians count, all data is verified. Nothing else should run
meanwhile. --quick takes less than two minutes and shows that all works; its figures are of small arrays.
"""
import argparse
import csv
import datetime
import html
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(words, folder, patience):
    """What a bench prints; its standard error goes to ours."""
    print("papers: " + " ".join(words), file=sys.stderr, flush=True)
    start = time.monotonic()
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=patience)
    if done.returncode:
        sys.exit(f"papers: {words[0]}: status {done.returncode}\n{done.stdout}")
    print(f"papers: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return done.stdout


def geometric(values):
    values = [v for v in values if v > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def number(x, digits=3):
    return "-" if x is None or x != x else f"{x:.{digits}g}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---:" if i else "---" for i in range(len(head))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def bars(title, names, series):
    """A plot as SVG: for each name a bar for each of the series, {label: [value]}, on a logarithmic axis."""
    colours = ["#1b6ca8", "#e07b39", "#5b8c5a", "#9a6fb0", "#888888"]
    values = [v for row in series.values() for v in row if v and v > 0]
    low = 10 ** math.floor(math.log10(min(values)))
    high = 10 ** math.ceil(math.log10(max(values)))
    wide, tall, left, bottom = 14 * len(series) * len(names) // 2 + 160, 260, 60, 40
    def y(v):
        return 20 + (tall - 20) * (1 - math.log10(v / low) / max(math.log10(high / low), 1))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{tall + bottom + 30}" font-family="sans-serif" '
           f'font-size="11"><rect width="100%" height="100%" fill="white"/><text x="{left}" y="14" font-size="13">'
           f'{html.escape(title)}</text>']
    for k in range(round(math.log10(low)), round(math.log10(high)) + 1):
        out.append(f'<line x1="{left}" x2="{wide - 10}" y1="{y(10.0**k):.1f}" y2="{y(10.0**k):.1f}" stroke="#dddddd"/>'
                   f'<text x="{left - 6}" y="{y(10.0**k) + 4:.1f}" text-anchor="end">{10.0**k:g}</text>')
    group = (wide - left - 20) / len(names)
    for i, name in enumerate(names):
        for k, (label, row) in enumerate(series.items()):
            if not row[i] or row[i] <= 0:
                continue
            x = left + i * group + k * group * 0.8 / len(series)
            out.append(f'<rect x="{x:.1f}" y="{y(row[i]):.1f}" width="{group * 0.75 / len(series):.1f}" '
                       f'height="{max(tall - y(row[i]), 1):.1f}" fill="{colours[k % 5]}"><title>{html.escape(name)} '
                       f'{html.escape(label)}: {row[i]:.3g}</title></rect>')
        out.append(f'<text transform="translate({left + (i + 0.5) * group:.1f},{tall + 8}) rotate(60)">'
                   f'{html.escape(name)}</text>')
    for k, label in enumerate(series):
        out.append(f'<rect x="{left + 130 * k}" y="{tall + bottom + 14}" width="10" height="10" fill="{colours[k % 5]}"/>'
                   f'<text x="{left + 130 * k + 14}" y="{tall + bottom + 23}">{html.escape(label)}</text>')
    return "\n".join(out) + "</svg>\n"


class Report:
    """Text and plots, as Markdown with the plots beside it, and as one page of HTML."""

    def __init__(self, path):
        self.parts, self.folder, self.stem = [], os.path.dirname(path) or ".", os.path.splitext(os.path.basename(path))[0]
        self.path = path

    def text(self, text):
        self.parts.append(("text", text))

    def plot(self, name, svg):
        file = f"{self.stem}-{name}.svg"
        with open(os.path.join(self.folder, file), "w") as f:
            f.write(svg)
        self.parts.append(("plot", (file, svg)))

    def save(self, page):
        with open(self.path, "w") as f:
            for kind, what in self.parts:
                f.write(what + "\n" if kind == "text" else f"![{what[0]}]({what[0]})\n\n")
        if not page:
            return
        with open(page, "w") as f:
            f.write('<!doctype html><html lang="en"><meta charset="utf-8"><title>Experiments of the papers</title><style>'
                    "body{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}table{border-collapse:"
                    "collapse}td,th{border:1px solid #ccc;padding:2px 8px;text-align:right}td:first-child,th:first-child"
                    "{text-align:left}pre{background:#f4f4f4;padding:1em;overflow:auto}</style>\n")
            for kind, what in self.parts:
                f.write(as_html(what) if kind == "text" else what[1])
            f.write("</html>\n")


def as_html(text):
    """The little of Markdown that is used here: headings, tables, fences, paragraphs."""
    out, rows, fence = [], [], None
    def flush():
        if rows:
            cells = [[c.strip() for c in r.strip().strip("|").split("|")] for r in rows if not re.match(r"^\|[-:|]+\|$", r)]
            out.append("<table>" + "".join("<tr>" + "".join(f"<{t}>{html.escape(c)}</{t}>" for c in r) + "</tr>"
                                           for i, r in enumerate(cells) for t in ["th" if not i else "td"]) + "</table>")
            rows.clear()
    for line in text.split("\n"):
        if line.startswith("```"):
            flush()
            if fence is None:
                fence = []
            else:
                out.append("<pre>" + html.escape("\n".join(fence)) + "</pre>")
                fence = None
        elif fence is not None:
            fence.append(line)
        elif line.startswith("|"):
            rows.append(line)
        else:
            flush()
            level = len(line) - len(line.lstrip("#"))
            tag = f"h{level}" if 0 < level < 5 else "p"
            if line.strip():
                out.append(f"<{tag}>{html.escape(line.lstrip('# '))}</{tag}>")
    flush()
    return "\n".join(out) + "\n"


def machine(build):
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    memory = next(int(l.split()[1]) >> 20 for l in open("/proc/meminfo") if l.startswith("MemTotal"))
    doctor = subprocess.run([f"{build}/bin/sluice", "doctor"], stdout=subprocess.PIPE, text=True).stdout.split("\n")[0]
    return (f"{os.cpu_count()} processors ({cpu}), {memory} GiB, Linux {platform.release()}; {doctor}; "
            f"{datetime.date.today().isoformat()}.")


# ---- The extended two-phase method -----------------------------------------------------------------------------------

TABLES = {"1": "common sections, read", "2": "overlapping sections, read", "3": "distinct sections, read",
          "4": "distinct sections, written", "5": "strided sections, read", "6": "strided sections, written",
          "7": "scaling, 4K x 4K", "8": "scaling, 16K x 16K"}


def published():
    cases = json.load(open(os.path.join(TOP, "tests/data/paper_tables.json")))["cases"]
    out = {}
    for c in cases:
        name = f"T{c['table']}-{c['case']}"
        out[name + ("w" if c["table"] in "78" and c["op"] == "write" else "")] = c
    return out


def seconds(case, how):
    """The published seconds for 16 processes; tables 7 and 8 have several numbers of them."""
    return case["seconds"].get("16", case["seconds"]).get(how)


def two_phase(report, o, folder):
    figures = os.path.join(folder, "tables.csv")
    words = [f"{o.build}/bench/tables", "--procs", str(o.procs), "--csv", figures]
    run(words + (["--quick"] if o.quick else ["--reps", "5"]), folder, 3600)
    ours, foreign = {}, []
    for row in csv.DictReader(open(figures)):
        foreign.append(float(row["foreign"]))
        if row["status"] == "done":
            ours.setdefault(row["event"], {})[row["contender"]] = int(row["median_ns"]) * 1e-6
    paper = published()
    report.text(f"## The extended two-phase method\n\nTables 1 to 8. The paper: seconds on 16 nodes of an Intel Delta. Here: "
                f"milliseconds of {o.procs} processes, files in the page cache. Direct: a call for each contiguous piece. "
                f"Two-phase: the method of the paper with dynamic file domains, forced. Sluice: its own choice. MPI: the "
                f"better of the independent and collective calls of the MPI library. Other programs took "
                f"{100 * sum(foreign) / max(len(foreign), 1):.0f} % of the processors on average.\n")
    verdicts = []
    for number_, title in TABLES.items():
        rows, gains, names, plot = [], [], [], {"direct": [], "two-phase": [], "sluice": [], "MPI": []}
        for name, f in ours.items():
            if not name.startswith(f"T{number_}-") or "direct" not in f or "sluice" not in f:
                continue
            case = paper.get(name) or {"seconds": {}}
            mpi = min((f[k] for k in ("MPI ind", "MPI coll") if k in f), default=None)
            direct, dynamic = seconds(case, "direct"), seconds(case, "dynamic")
            said = direct / dynamic if direct and dynamic else None
            here = f["direct"] / f["dynamic"] if f.get("dynamic") else None
            gains.append((said, here, f["direct"] / f["sluice"]))
            rows.append([name, number(direct), number(dynamic), number(said), number(f["direct"]), number(f.get("dynamic")),
                         number(here), number(f["sluice"]), number(f["direct"] / f["sluice"]), number(mpi)])
            names.append(name)
            for key, value in (("direct", f["direct"]), ("two-phase", f.get("dynamic")), ("sluice", f["sluice"]), ("MPI", mpi)):
                plot[key].append(value)
        if not rows:
            continue
        report.text(f"### Table {number_}: {title}\n\n" + table(
            ["case", "paper: direct", "two-phase", "gain", "here: direct", "two-phase", "gain", "Sluice", "gain", "MPI"], rows))
        report.plot(f"table{number_}", bars(f"Table {number_}: {title}, ms", names, plot))
        won = sum(1 for _, here, _ in gains if here and here > 1)
        said = [s for s, _, _ in gains if s]
        verdicts.append([f"Table {number_}", number(geometric(said)) if said else "-",
                         number(geometric([h for _, h, _ in gains if h])), f"{won} of {len(gains)}",
                         number(geometric([s for _, _, s in gains]))])
    report.text("### Does it hold?\n\nGains over the direct method, geometric means:\n\n" + table(
        ["", "paper", "two-phase here", "two-phase ahead", "Sluice here"], verdicts) +
        "\nThe paper's premise is that I/O costs orders of magnitude more than communication. Where the file is in the page "
        "cache a call costs half a microsecond, no more than a message, so that forced two-phase I/O gains only where pieces "
        "are very short (tables 5 and 6) or shared. What holds everywhere is the idea behind it: merge, order, move each "
        "byte once; Sluice then moves it by the cheapest way there is, as a rule a mapping. Tables 7 and 8 grow with the "
        "processes as published on a simulated machine of that time: docs/DELTA.md.\n")


# ---- Clusterfile, the applications, the workloads ----------------------------------------------------------------------

def clusterfile(report, o, folder):
    out = run([f"{o.build}/bench/clusterfile"] + (["--quick"] if o.quick else []), folder, 1800)
    ours = {}
    for line in out.split("\n"):
        m = re.match(r"\s*(\d+) ([cbr])\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)", line)
        if m:
            ours[int(m[1]), m[2]] = [float(m[k]) for k in (3, 4, 5)]
    large, small = max(n for n, _ in ours), min(n for n, _ in ours)
    flat = {k: ours[large, k][0] / ours[small, k][0] for k in "cbr"}
    report.text("## Clusterfile\n\nTables 1 and 2: four processes write rows of an N x N matrix that lies in four subfiles by "
                "columns (c), squares (b) or rows (r), kept by four server processes; microseconds, the published line below "
                "ours.\n\n```\n" + out.rstrip() + "\n```\n\n### Does it hold?\n\n"
                f"t_i is the same for all N as published: N = {large} takes {flat['c']:.2f}, {flat['b']:.2f} and "
                f"{flat['r']:.2f} times as long as N = {small} (c, b, r). t_m and t_g are "
                f"{ours[large, 'r'][1]:.2f} and {ours[large, 'r'][2]:.2f} where the view is the subfile. The paper's extra copy of "
                "contiguous writes is not there.\n")


def apps(report, o, folder):
    paper = json.load(open(os.path.join(TOP, "tests/data/paper_tables.json")))
    for key, title in (("table9_matmul_direct_etp", "Table 9: matrix product"), ("table10_laplace_direct_etp", "Table 10: Laplace")):
        rows = [[size] + [f"{d:g} / {e:g} ({100 * (1 - e / d):.0f} %)" for d, e in paper[key][size]] for size in ("1K", "2K", "4K")]
        report.text((f"## Applications\n\n" if "9" in key else "") + f"### {title}\n\nPublished I/O seconds, direct / two-phase "
                    "(saved):\n\n" + table(["size"] + [f"P = {p}" for p in paper[key]["procs"]], rows))
    out = run([f"{o.build}/bench/apps"] + (["--quick"] if o.quick else []), folder, 3600)
    report.text("Here, with the calls of the MPI library beside:\n\n```\n" + out.rstrip() + "\n```\n")


def profile(report, o, folder):
    out = run([sys.executable, os.path.join(TOP, "bench/profile.py"), "--build", o.build] + (["--quick"] if o.quick else []),
              folder, 3600)
    report.text("## Profile-guided partitioning\n\nPublished gains over MPI-IO, read / write: BT 32.8 / 17.8, SPECseis 31.7 / "
                "3.7, Tile 15.7 / 5.1, Perf 24.6 / 7.7, Mandelbrot 37.8 / 20.7, on 24 or 25 nodes with a disk each. Here all "
                "targets are folders of one machine:\n\n```\n" + out.rstrip() + "\n```\n")


SECTIONS = {"two-phase": two_phase, "apps": apps, "clusterfile": clusterfile, "profile": profile}


def main():
    p = argparse.ArgumentParser(usage=__doc__.split("\n\n")[0], description="\n\n".join(__doc__.split("\n\n")[1:]),
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true")
    p.add_argument("--build", default=os.path.join(TOP, "build"))
    p.add_argument("--procs", type=int, default=4)
    p.add_argument("--only", default=",".join(SECTIONS))
    p.add_argument("-o", "--output", default="papers-report.md")
    p.add_argument("--html")
    o = p.parse_args()
    o.build, o.output = os.path.abspath(o.build), os.path.abspath(o.output)
    chosen = o.only.split(",")
    for name in chosen:
        if name not in SECTIONS:
            p.error(f"no section '{name}'; there are {', '.join(SECTIONS)}")
    if not os.access(f"{o.build}/bench/tables", os.X_OK):
        p.error(f"{o.build} has no benches; `make` builds them, --build says where")
    report = Report(o.output)
    report.text("# The papers' experiments\n\nWritten by `make papers`" + (" with `--quick`: small arrays, a few cases" if o.quick else "")
                + ". " + machine(o.build) + " One run; medians; ratios within it count, absolute times move from run to run.\n")
    with tempfile.TemporaryDirectory(dir=os.path.dirname(o.output)) as folder:
        for name in chosen:
            SECTIONS[name](report, o, folder)
    report.save(o.html)
    print(o.output)


if __name__ == "__main__":
    main()
