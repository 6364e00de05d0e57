#!/bin/sh
# Fuzzes one target, or all of them, on stable Rust: fuzz/run.sh [TARGET|all] [SECONDS]. Two at a time (FUZZ_JOBS), each within 1 GiB.
# Faults are left in fuzz/artifacts, and the status is 1. Where libFuzzer cannot be built it says so and ends with 0, or 1 if FUZZ_REQUIRED is set.
set -eu
cd "$(dirname "$0")"
seconds=${2:-15}

skip() {
    printf '\n!! FUZZING SKIPPED: %s\n\n' "$1" >&2
    [ -z "${FUZZ_REQUIRED:-}" ]
    exit
}

host=$(rustc -vV | sed -n 's/^host: //p')
passes="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
passes="$passes -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
compiler=${CXX:-}
for name in c++ g++ clang++; do
    if [ -z "$compiler" ] && command -v "$name" > /dev/null; then compiler=$name; fi
done
if [ -z "$compiler" ]; then skip "there is no C++ compiler, which libFuzzer is built with"; fi
mkdir -p artifacts found target
# shellcheck disable=SC2086 # flags are words
if ! echo 'pub fn f(a: u8) -> bool { a > 1 }' | rustc --crate-type=lib --crate-name=probe --emit=metadata,obj --out-dir target $passes - 2> found/probe.log; then
    cat found/probe.log >&2
    skip "this rustc has no coverage passes for $host"
fi

if [ "${1:-all}" = all ]; then
    RUSTFLAGS="$passes" cargo build --quiet --release --target "$host" --bins
    targets=$(ls fuzz_targets | sed 's/\.rs$//')
else
    RUSTFLAGS="$passes" cargo build --quiet --release --target "$host" --bin "$1"
    targets=$1
fi

# shellcheck disable=SC2016 # expanded by the inner shell
one='
    target=$1
    # What is found while it runs goes beside the corpus, which holds only what was chosen.
    mkdir -p "corpus/$target" "found/$target"
    if "target/$2/release/$target" "found/$target" "corpus/$target" -max_total_time="$3" -rss_limit_mb=1024 -timeout=10 \
        -artifact_prefix="artifacts/$target-" -print_final_stats=1 > "found/$target.log" 2>&1; then
        printf "%-16s %10s inputs, nothing found\n" "$target" "$(sed -n "s/^stat::number_of_executed_units: *//p" "found/$target.log")"
    else
        tail -n 40 "found/$target.log"
        printf "%-16s FAULT: the input is in fuzz/artifacts, all of what was said in fuzz/found/%s.log\n" "$target" "$target"
        exit 1
    fi
'
printf '%s\n' $targets | xargs -P "${FUZZ_JOBS:-2}" -I '{}' sh -c "$one" fuzz '{}' "$host" "$seconds" || exit 1
