"""Runs the code of a page: what its prints print is what stands in the comments behind them. With mpi4py, all of it."""

import contextlib
import io
import pathlib
import re
import sys

blocks = re.findall(r"```python\n(.*?)```", pathlib.Path(sys.argv[1]).read_text(), re.S)
together = len(sys.argv) > 2
assert len(blocks) == 4
for block in blocks:
    if together != ("mpi4py" in block):
        continue
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(block, sys.argv[1], "exec"), {})
    wanted = re.findall(r"print\(.*\) +# (.*)\n", block)
    assert wanted == said.getvalue().splitlines(), (wanted, said.getvalue())
