#!/bin/sh
# gpu.sh FILE [BUILD]: everything that a GPU is for, in one unattended call: each stage has a time limit,
# a stage that fails does not stop the next, and each appends one line of JSON to FILE.
#
# Build before: make CUDA=1 all tests build/release/tests/cuda/primitives-gpu.so. BUILD is build/release by default.
set -u
file=${1:?usage: tools/gpu.sh FILE [BUILD]}
build=${2:-build/release}
logs=$build/gpu
mkdir -p "$logs"

# Text as a JSON string.
quoted() { sed 's/\\/\\\\/g; s/"/\\"/g; s/	/ /g' | awk '{ printf "%s%s", (NR > 1 ? "\\n" : ""), $0 }'; }

stage() { # name, seconds, command
    name=$1 limit=$2
    shift 2
    start=$(date +%s)
    timeout "$limit" "$@" >"$logs/$name.log" 2>&1
    code=$?
    printf '{"stage": "%s", "date": "%s", "exit": %d, "seconds": %d, "output": "%s"}\n' "$name" \
        "$(date -u +%Y-%m-%dT%H:%M:%SZ)" $code $(($(date +%s) - start)) \
        "$(tail -n 20 "$logs/$name.log" | tr -d '\000-\010\013-\037' | quoted)" >>"$file"
    [ $code = 0 ] && echo "ok    $name" || echo "FAIL  $name (exit $code, $logs/$name.log)"
}

stage device 30 nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total --format=csv,noheader
for test in cuda/device cuda/primitives cuda/planted cuda/blocks; do
    stage "$(echo $test | tr / -)" 120 "$build/tests/$test"
done
for test in point act norm index pick reduce update matrix product graph expert eigh attention loss; do
    stage "ops-$test" 300 "$build/tests/ops/$test"
done
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck; do
        for test in norm index reduce; do
            stage "$tool-$test" 600 compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/tests/ops/$test"
        done
    done
fi
