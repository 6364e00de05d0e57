#!/usr/bin/env bash
# Opens report.html in headless Chromium and uses it. Says loudly that it skips where Node or a browser is missing.
#
#   tests/page/run.sh [PATH OF cleartune]      default: target/release/cleartune
#
# CHROMIUM names the browser; PAGE_TEST_REQUIRED=1 makes a skip a failure.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
cleartune=$(realpath "${1:-$here/../../target/release/cleartune}")
cd "$here"

skip() {
  printf '\n*** SKIPPED: report.html was not opened in a browser: %s ***\n\n' "$1"
  [ -z "${PAGE_TEST_REQUIRED:-}" ] || exit 1
  exit 0
}

node=$(command -v node) || skip "there is no Node.js"
major=$("$node" -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 20 ] || skip "Node.js is $("$node" --version), and 20 is needed"
browser=${CHROMIUM:-}
for name in chromium chromium-browser google-chrome google-chrome-stable; do
  [ -n "$browser" ] || browser=$(command -v "$name" || true)
done
[ -n "$browser" ] || skip "there is no Chromium; install it, or name it in CHROMIUM"
if [ ! -d node_modules/playwright-core ]; then
  command -v npm > /dev/null || skip "there is no npm, and playwright-core is not installed"
  npm ci --no-audit --no-fund --silent || skip "npm ci failed"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sweep() { "$cleartune" sweep "$@" > "$work/said.txt" 2> "$work/errors.txt" || { cat "$work/errors.txt"; exit 1; }; }
sweep research_agent --no-sensitivity --out "$work/cold"
sweep web_research_100 --no-sensitivity --out "$work/clear"
sweep web_research_100 --trigger 40k,80k --keep 3,5 --clear-at-least 0,20k --policy all --no-sensitivity --out "$work/policies"
sweep ../fixtures/claude_code/small.jsonl --out "$work/one"
sweep hostile.trace.jsonl --trigger 2k,4k --keep 1,3 --clear-at-least 0,1k --out "$work/hostile"
sweep coding_agent --trigger 30k..180k:10k --keep 1..30:2 --clear-at-least 0..110k:10k --exclude-tools none --no-sensitivity --out "$work/large"

"$node" check.mjs "$browser" "$work"
