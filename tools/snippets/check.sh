#!/bin/sh
# Checks every shape that cleartune pastes against the packages it is for: what it sends, what it builds, what it clears.
# Usage: tools/snippets/check.sh CLEARTUNE [WORK]. Needs python3, node and the network.
set -eu
cleartune=$(realpath "$1")
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
work=${2:-$(mktemp -d)}
mkdir -p "$work/snippets" "$work/js"
[ -d "$work/venv" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet anthropic==2.15.0 langchain==1.5.2 langchain-anthropic==1.7.10 litellm==1.110.2 mypy==2.4.1
cp package.json tsconfig.json run.mjs "$work/js/"
(cd "$work/js" && npm install --silent)

# Results in which every shape has something to paste, of the plainest config and of one with every field.
sweep() {
  "$cleartune" sweep coding_agent --for langchain,langchain_js,litellm,vercel_prune --no-sensitivity "$@"
}
sweep --trigger 40k --keep 3,8 --clear-at-least 0 --exclude-tools none --out "$work/plain" > "$work/plain.txt"
sweep --trigger 40k --keep 3 --clear-at-least 5k --exclude-tools 'ask_user|todo_write' --clear-tool-inputs true --out "$work/full" > "$work/full.txt"
for set in plain full; do
  for shape in json python typescript langchain langchain_js litellm vercel vercel_prune openrouter; do
    # What is looked at is the words, not the choice: the largest prompts shrink under every config, whatever it costs and loses.
    if ! "$cleartune" recommend "$work/$set" --objective peak --max-lost none --paste "$shape" > "$work/snippets/$set.$shape" 2> "$work/snippets/$set.$shape.note"; then
      rm "$work/snippets/$set.$shape"
      echo "$set $shape: $(cat "$work/snippets/$set.$shape.note")"
    fi
  done
done
"$work/venv/bin/python" run.py "$work/snippets" "$root/tests/fixtures/conformance"
(cd "$work/js" && node run.mjs "$work/snippets" "$root/tests/fixtures/conformance")
