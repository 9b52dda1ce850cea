#!/bin/sh
# gpu.sh [--device DEVICE] [--part check|bench] FILE [BUILD]: everything that a GPU is for, or its tests or
# benchmarks alone, in one unattended call: each stage has a time limit, a stage that fails does not stop the next, and each appends one line of JSON to FILE, which
# tools/gpu_table.py turns into the table of docs/gpu.md.
#
# Build before: make CUDA=1 all tests build/release/tests/cuda/primitives-gpu.so. BUILD is build/release by default.
# --device cuda-shim or mock rehearses every stage at tiny shapes on a machine without a GPU.
# The words of the primitives go to FILE.primitives: tests/fixtures/cuda_primitives.txt of a card.
set -u
usage() { echo 'usage: tools/gpu.sh [--device cuda|cuda-shim|mock] [--part check|bench] FILE [BUILD]' >&2; exit 2; }
device=cuda part=all
while [ $# -ge 2 ]; do
    case $1 in
    --device) device=$2 ;;
    --part) part=$2 ;;
    *) break ;;
    esac
    shift 2
done
[ $# -ge 1 ] || usage
case $part in all | check | bench) ;; *) usage ;; esac
file=$1 build=${2:-build/release}
logs=$build/gpu-$device
mkdir -p "$logs"
bench="$build/hpccoder bench"

case $device in
cuda)
    ops='point act norm index pick reduce update matrix product graph expert eigh attention loss'
    checked='norm index reduce' seconds=0.5 kernels=cuda
    tests='cuda/device cuda/primitives cuda/planted cuda/graphs cuda/attention cuda/faults cuda/blocks'
    copy=1,536870912 product=8192,8192,8192 step='--hidden 768 --layers 12 --heads 12 --kv-heads 12 --ffn 2048 --vocab 50304
        --sequences 8 --length 1024 --steps 20 --dtype bf16 --tied'
    decode='--shape 134m --prompt 512 --tokens 128' torch='--shape 124m --rows 8 --length 1024 --dtype bf16 --compile'
    table='norm glu adamw attention attention_grad matmul head_loss head_loss_grad' shapes=
    ;;
cuda-shim | mock)
    ops=pick checked=pick seconds=0 kernels=cuda-shim
    tests='cuda/device cuda/graphs'
    copy=4,64 product=16,16,16 step='--hidden 16 --layers 1 --heads 2 --kv-heads 1 --ffn 32 --vocab 32
        --sequences 1 --length 8 --steps 3'
    decode='--shape 5m --weights q8_0 --prompt 1 --tokens 1 --turns 1' torch='--shape 5m --hidden 32 --layers 1 --steps 1 --turns 1'
    table='norm glu' shapes='--shape 4,64'
    ;;
*) usage ;;
esac

# Text as a JSON string.
quoted() { sed 's/\\/\\\\/g; s/"/\\"/g; s/	/ /g' | awk '{ printf "%s%s", (NR > 1 ? "\\n" : ""), $0 }'; }

record() { # name, exit status, seconds, result ok|failed|skipped
    printf '{"stage": "%s", "device": "%s", "date": "%s", "result": "%s", "exit": %d, "seconds": %d, "output": "%s"}\n' \
        "$1" "$device" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$4" "$2" "$3" \
        "$(tail -n 20 "$logs/$1.log" | tr -d '\000-\010\013-\037' | quoted)" >>"$file"
    printf '%-8s%s\n' "$4" "$1"
}

stage() { # name, seconds, command; its exit status 77 means that something is missing
    name=$1 limit=$2
    shift 2
    start=$(date +%s)
    timeout "$limit" "$@" >"$logs/$name.log" 2>&1
    code=$?
    case $code in 0) result=ok ;; 77) result=skipped ;; *) result=failed ;; esac
    record "$name" $code $(($(date +%s) - start)) $result
}

skip() { # name, reason
    echo "SKIP: $2" >"$logs/$1.log"
    record "$1" 77 0 skipped
}

test_stage() { # name, seconds, program of the tests, with what runs it
    name=$1 limit=$2 program=$build/tests/$3
    shift 3
    [ -x "$program" ] || { skip "$name" "$program was not built"; return; }
    stage "$name" "$limit" "$@" "$program"
}

# ---- the machine
if command -v nvidia-smi >/dev/null; then
    stage device 30 nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total --format=csv,noheader
else
    skip device 'no nvidia-smi'
fi

check() {
    if [ -x "$build/tests/cuda/primitives" ]; then
        stage primitives-words 60 "$build/tests/cuda/primitives" $kernels "$file.primitives"
    fi
    for test in $tests; do
        test_stage "$(echo $test | tr / -)" 120 $test
    done
    for test in $ops; do test_stage "ops-$test" 300 ops/$test; done
    test_stage parity-train 300 cuda/llama
    test_stage parity-decode 300 cuda/decode
    for tool in memcheck racecheck; do
        for test in $checked; do
            if command -v compute-sanitizer >/dev/null && [ $device = cuda ]; then
                test_stage "$tool-$test" 600 ops/$test compute-sanitizer --tool "$tool" --error-exitcode 9
            else
                skip "$tool-$test" 'no compute-sanitizer, or no GPU'
            fi
        done
    done
}

measure() {
    on="--device $device --seconds $seconds --no-peer --json"
    stage ceiling-copy 60 $bench op --op copy --shape $copy $on
    stage ceiling-product 120 $bench op --op matmul --shape $product --dtype bf16 $on
    stage ceiling-launch 60 $bench op --op nop $on
    for op in $table; do stage "bench-$op" 120 $bench op --op "$op" $shapes --dtype bf16 $on; done
    for graphs in on off; do
        isa=$([ $device = mock ] || echo "--isa graphs=$graphs")
        stage "step-graphs-$graphs" 300 $bench step $step --device $device $isa --json
        stage "decode-graphs-$graphs" 300 $bench decode $decode --device $device $isa --json
    done
    stage torch-step 600 python3 tests/bench/torch_step.py $torch --device $device --hpccoder "$build/hpccoder"
}

[ $part = bench ] || check
[ $part = check ] || measure
