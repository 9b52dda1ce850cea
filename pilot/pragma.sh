#!/usr/bin/env bash
# pragma.sh CLONES OUT: the model that `hpccoder pragma --rank` asks, from clones of the repositories of loops.txt.
#
# CLONES has a clone, bare or not, of each as OWNER+NAME; what is harvested is its HEAD, which loops.txt names.
# Nothing is downloaded. It begins as pilot.gguf; OUT/pragma.gguf is the result. What was done in OUT is not done
# again, and a training that was stopped goes on.
set -eu -o pipefail
[ $# = 2 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
clones=$1 out=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
hpccoder=${HPCCODER:-$here/../build/release/hpccoder}
STEPS=${STEPS:-1000}
mkdir -p "$out"

while read -r name commit; do
    folder=$clones/${name/\//+}
    [ -d "$folder" ] || { echo "pragma.sh: no clone of $name at $folder" >&2; exit 2; }
    [ "$(git -C "$folder" rev-parse HEAD)" = "$commit" ] ||
        echo "pragma.sh: $folder is not at $commit: the model will be another" >&2
    echo "$name=$folder"
done <"$here/loops.txt" >"$out/list"

# Which repositories train, validate and test is a draw; this one leaves those with few kinds of loops to training.
[ -e "$out/corpus/corpus.db" ] ||
    "$hpccoder" corpus harvest -q --list "$out/list" --seed 8 --split 0.08,0.12 --out "$out/corpus"
[ -e "$out/corpus/loops.db" ] || "$hpccoder" corpus loops -q "$out/corpus" --out "$out/corpus"
[ -e "$out/pilot/config.json" ] || "$hpccoder" import -q "$here/../share/pilot.gguf" --out "$out/pilot"
[ -e "$out/loops/train/index.json" ] ||
    "$hpccoder" corpus pack "$out/corpus" -q --task pragma --negatives 2 --tokenizer "$out/pilot" \
        --split all --out "$out/loops"
"$hpccoder" train --out "$out/run" --resume --init "$out/pilot" --objective answer \
    --data "$out/loops/train" --validation "$out/loops/validation" \
    --length 1024 --rows 4 --accumulate 2 --steps "$STEPS" --warmup 40 --dtype bf16 \
    --validate-every 60 --validate-batches 75 --save-every 60 --keep 3
# Only the differences from the pilot are stored: both files must stay in one folder.
cp "$here/../share/pilot.gguf" "$out/pilot.gguf"
"$hpccoder" export "$out/run/model" --to gguf --delta-from "$out/pilot.gguf" --out "$out/pragma.gguf"
