#!/usr/bin/env bash
# Counts the instructions of a fixed sweep under callgrind and compares them with the committed figure, within 2 %.
# `--write` writes the figure instead. Skipped, loudly, where there is no valgrind.
set -euo pipefail
cd "$(dirname "$0")/.."
figure=benches/instructions.txt
if ! command -v valgrind > /dev/null; then
  echo "SKIPPED: no valgrind on this machine; the instructions of the fixed sweep were not counted" >&2
  exit 0
fi
cargo build --release --quiet --example fixed_sweep
out=$(mktemp)
trap 'rm -f "$out"' EXIT
said=$(valgrind --tool=callgrind --toggle-collect='*fixed_sweep*measured*' --callgrind-out-file="$out" target/release/examples/fixed_sweep 2>&1)
rustc=$(rustc --version)
count=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<< "$said")
[ "${count:-0}" -gt 0 ] || { echo "nothing was counted:"; echo "$said"; exit 1; }
if [ "${1:-}" = --write ]; then
  printf '%s\n%s\n' "$count" "$rustc" > "$figure"
  echo "$count instructions, written to $figure"
  exit 0
fi
{ read -r expected; read -r by; } < "$figure"
echo "$count instructions, $expected committed"
if [ "$rustc" != "$by" ]; then
  echo "SKIPPED: $rustc compiled this, and the committed figure is of $by; run benches/instructions.sh --write" >&2
  exit 0
fi
# More is a regression; less should be committed, so that it is not lost again.
if [ $((count * 100)) -gt $((expected * 102)) ] || [ $((count * 100)) -lt $((expected * 98)) ]; then
  echo "more than 2 % from the committed figure: if that is meant, run benches/instructions.sh --write"
  exit 1
fi
