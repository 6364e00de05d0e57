#!/usr/bin/env bash
# Times the context editing of LangChain and of LiteLLM, their own released code, on transcripts of 300 tool uses, in a Python
# environment of its own under target/peers. Needs python3 with venv, and a package index for the first run. Not part of the tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=target/peers
mkdir -p "$work"
if [ ! -x "$work/venv/bin/python" ]; then
  python3 -m venv "$work/venv"
fi
"$work/venv/bin/pip" install --quiet --disable-pip-version-check -r benches/peers/requirements.txt
sed 's/^uses = .*/uses = { fixed = 300 }/' workloads/coding_agent.toml > "$work/coding_300.toml"
cargo run --release --quiet -- generate "$work/coding_300.toml" --text=bodies --transcripts 2 --out "$work/coding_300.jsonl" > /dev/null
exec "$work/venv/bin/python" benches/peers/peers.py "$work/coding_300.jsonl"
