#!/bin/bash
# tool_report.sh: `sluice report`: what the page has, that it needs nothing else, that names cannot become markup, and
# that a browser shows it.
set -uo pipefail
folder=$(mktemp -d)
trap 'cd / && rm -rf "$folder"' EXIT
cd "$folder"
PATH=$(dirname "$SLUICE_BIN"):$PATH
failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
traced() { "$SLUICE_BUILD/jobs/accessed" "$@" || fail "traced $*"; }

# refused STATUS TEXT COMMAND...
refused() {
    local status=$1 text=$2
    shift 2
    "$@" >out 2>&1
    local got=$?
    [ $got = "$status" ] && [ "$(wc -l <out)" = 1 ] && grep -qF -e "$text" out || fail "$*: status $got: $(cat out)"
}

name=$'/data/<script>alert(1)</script>&"x\'y\x01\xff.dat'
traced run.trace "$name" 4
sluice report run.trace -o plain.html || fail 'report'

# ---- With a plan ----
cat >plan.json <<END
{"format": "sluice-plan", "version": 1, "file": "field.dat", "size": 96000, "processes": 4,
 "targets": ["d0", "d1", "d2", "d3", "."],
 "groups": [{"bytes": "{(0,4095,4096,1)}", "class": "broadcast", "subfiles": [0, 1, 2, 3], "at": [0, 0, 0, 0]},
  {"bytes": "{(8000,8999,4000,22)}", "class": "private", "subfiles": [0], "at": [4096]},
  {"bytes": "{(5000,5999,4000,23)}", "class": "private", "subfiles": [1], "at": [4096]},
  {"bytes": "{(6000,6999,4000,23)}", "class": "private", "subfiles": [2], "at": [4096]}]}
END
traced plan.trace field.dat 4
sluice report plan.trace --plan plan.json -o plan.html || fail 'report with a plan'
# Process 3 has only the copy of the first 4096 bytes, process 0 not the 904 behind it: they read 1000 bytes 24 times.
# Reads: 2 * 28096 + (28096 - 904) + (4096 + 1000) of 4 * 28096; writes: 2 * 24000 + (24000 - 904) + 1000 of 4 * 24000.
grep -qF '<b>78.7 %</b> of the bytes that are read, and <b>75.1 %</b> of the bytes that are written' plan.html ||
    fail "locality: $(grep -o 'id="gain".*' plan.html)"
for row in partitioned single; do grep -q "<td>$row</td>.*times as fast" plan.html || fail "no prediction for $row"; done
traced many.trace many.dat 100 2
sluice report many.trace -o many.html || fail 'report of 100 processes'
traced long.trace long.dat 2 200000
timeout 60 sluice report long.trace -o long.html || fail 'report of a long trace'
grep -q 'show the first 1048576 of these accesses' long.html || fail 'a long trace is not called long'
grep -q '<b>3600002</b>accesses' long.html || fail "accesses of a long trace: $(grep -o '<b>[0-9]*</b>accesses' long.html)"

# ---- What is wrong ----
refused 2 'cannot open none.trace' sluice report none.trace -o new.html
refused 2 'where to: -o' sluice report run.trace
refused 2 'plain.html exists; --force replaces it' sluice report run.trace -o plain.html
refused 2 'none.json: No such file' sluice report run.trace --plan none.json -o new.html
refused 2 "is about 'field.dat', which is not in the trace" sluice report run.trace --plan plan.json -o new.html
refused 2 'run.trace' sluice report plan.trace --plan run.trace -o new.html
refused 2 'plan.json' sluice report plan.json -o new.html
refused 2 'too few arguments' sluice report
[ ! -e new.html ] || fail 'a page was made all the same'
sluice report run.trace -o plain.html --force || fail '--force'

# ---- The pages as HTML ----
if command -v python3 >/dev/null; then
    python3 - plain.html plan.html many.html long.html <<'END' || fail 'the pages'
import sys
from html.parser import HTMLParser

VOID = {"meta", "rect", "line"}  # the last two are closed by themselves in SVG, or have a title


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.ids, self.text = [], {}, [], []

    def handle_starttag(self, tag, attributes):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        for key, value in attributes:
            assert key not in ("src", "href", "action") and not key.startswith("on"), (tag, key)
            assert "url(" not in value and "http" not in value.replace("http-equiv", ""), (tag, value)
            if key == "id":
                self.ids.append(value)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        assert not self.open or self.open[-1] != "style" or ("@import" not in data and "url(" not in data)
        self.text.append(data)


for path in sys.argv[1:]:
    page = Page()
    page.feed(open(path, encoding="utf-8", errors="strict").read())
    page.close()
    assert not page.open, page.open
    assert not {"script", "link", "iframe", "img", "object", "base", "form"} & set(page.seen), page.seen
    for chart in ["map", "touch", "busy", "sizes", "speed"] + ["layout", "gain", "predicted"] * (path == "plan.html"):
        assert page.ids.count(chart) == 1, (path, chart)
    words = "".join(page.text)
    assert "sluice partition --plan" in words and page.seen["rect"] > 100, path
    if path == "plain.html":
        assert "/data/<script>alert(1)</script>&\"x'y\ufffd\ufffd.dat" in words
        assert "'/data/<script>alert(1)</script>&\"x'\\''y\ufffd\ufffd.dat'" in words
        assert "112accesses" in words
END
fi
[ $failures = 0 ] || exit 1

# ---- In a browser ----
command -v chromium >/dev/null || { echo 'no Chromium here: the page was not looked at in a browser' && exit 77; }
browse() {
    timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$folder/profile" --window-size=1100,1400 \
        "$@" 2>browser.log
}
browse --dump-dom "file://$folder/plain.html" >dom.html || fail "chromium: $(cat browser.log)"
grep -qF '&lt;script&gt;alert(1)' dom.html && ! grep -qF '<script>' dom.html || fail 'the name became markup in a browser'
[ "$(grep -o '<svg ' dom.html | wc -l)" = 5 ] || fail 'charts in a browser'
[ $failures = 0 ]
