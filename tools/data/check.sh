#!/bin/sh
# Runs the examples of docs/data.md on a folder of results. Usage: tools/data/check.sh RESULTS [WORK]. Needs python3 and the network.
set -eu
results=$(realpath "$1")
page=$(cd "$(dirname "$0")/../.." && pwd)/docs/data.md
work=${2:-$(mktemp -d)}
[ -d "$work/venv" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet duckdb==2.0.1 pandas==3.1.1
cd "$results"
"$work/venv/bin/python" - "$page" <<'PYTHON'
import re, sys
import duckdb
blocks = re.findall(r"^```(?:sql|python) (\w+)\n(.*?)^```", open(sys.argv[1], encoding="utf-8").read(), re.S | re.M)
assert [kind for kind, _ in blocks] == ["duckdb", "pandas"], blocks
for kind, text in blocks:
    if kind == "duckdb":
        found = duckdb.sql(text)
        print(found)
        assert len(found.columns) == 6
    else:
        exec(compile(text, kind, "exec"), {})
PYTHON
