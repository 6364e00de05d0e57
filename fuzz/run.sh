#!/bin/sh
# Fuzzes one target, or all of them, on stable Rust: fuzz/run.sh [TARGET|all] [SECONDS]. Faults are left in fuzz/artifacts.
set -eu
cd "$(dirname "$0")"
host=$(rustc -vV | sed -n 's/^host: //p')
passes="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
passes="$passes -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
targets=$(ls fuzz_targets | sed 's/\.rs$//')
if [ "${1:-all}" != all ]; then targets=$1; fi
mkdir -p artifacts
for target in $targets; do
    RUSTFLAGS="$passes" cargo build --quiet --release --target "$host" --bin "$target"
    # What is found while it runs goes beside the corpus, which holds only what was chosen.
    mkdir -p "corpus/$target" "found/$target"
    "target/$host/release/$target" "found/$target" "corpus/$target" -max_total_time="${2:-15}" -rss_limit_mb=2048 -timeout=10 \
        -artifact_prefix="artifacts/$target-" -print_final_stats=0
done
