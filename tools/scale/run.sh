#!/bin/sh
# Time and memory of an import of a generated folder: tools/scale/run.sh [BYTES] [SESSIONS] [FOLDER]. Needs Python 3 and GNU time; the folder
# is made, measured and removed again.
set -eu
cd "$(dirname "$0")/../.."
folder=${3:-$(mktemp -d)}
trap 'rm -rf "$folder"' EXIT
cargo build --release --quiet
python3 tools/scale/make.py target/release/cleartune "$folder/logs" "${1:-1e10}" "${2:-2000}"
find "$folder/logs" -type f -printf '%s\n' | sort -n | awk '{ sum += $1; last = $1 } END { print NR " files, " sum " bytes, the largest " last }'
/usr/bin/time -f '%e s, %U s of processors, at most %M KiB' target/release/cleartune import "$folder/logs" --out "$folder/all.trace.jsonl"
