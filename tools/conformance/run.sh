#!/bin/sh
# Records what the packages clear, by their own functions, into tests/fixtures/conformance. Needs python3, node and the network.
set -eu
cd "$(dirname "$0")"
work=${1:-$(mktemp -d)}
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet litellm==1.110.2 langchain==1.5.2 pydantic-ai-harness==0.62.0
cp peers.mjs "$work/"
(cd "$work" && npm install --silent langchain@1.5.14 ai@6.0.326)
out=$(cd ../.. && pwd)/tests/fixtures/conformance
mkdir -p "$out"
"$work/venv/bin/python" peers.py "$out"
node "$work/peers.mjs" "$out"
