#!/usr/bin/env bash
# make.sh CLONES OUT: the pilot model, from clones of the repositories of sources.txt.
#
# CLONES has a clone, bare or not, of each as OWNER+NAME; what is harvested is its HEAD, which
# sources.txt names. Nothing is downloaded. OUT/pilot.gguf and OUT/pilot.passages are the result; what
# was done in OUT is not done again, and a training that was stopped goes on.
set -eu -o pipefail
[ $# = 2 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
clones=$1 out=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
hpccoder=${HPCCODER:-$here/../build/release/hpccoder}
TOKENS=${TOKENS:-40e6}
mkdir -p "$out"

while read -r name commit; do
    folder=$clones/${name/\//+}
    [ -d "$folder" ] || { echo "make.sh: no clone of $name at $folder" >&2; exit 2; }
    [ "$(git -C "$folder" rev-parse HEAD)" = "$commit" ] ||
        echo "make.sh: $folder is not at $commit: the model will be another" >&2
    echo "$name=$folder"
done <"$here/sources.txt" >"$out/list"

[ -e "$out/corpus/corpus.db" ] || "$hpccoder" corpus harvest -q --list "$out/list" --out "$out/corpus"
[ -e "$out/tokenizer/tokenizer.json" ] ||
    "$hpccoder" tokenizer train -q "$out/corpus" --vocab 8192 --bytes 30000000 --out "$out/tokenizer"

pack() { # name options...
    local name=$1
    shift
    [ -e "$out/$name/index.json" ] ||
        "$hpccoder" corpus pack "$out/corpus" -q --tokenizer "$out/tokenizer" --out "$out/$name" "$@"
}
# Windows, half of them with the middle last; whole files, for what is far apart; and to validate
# with, windows of files that are near to none of those.
pack windows --fim-rate 0.5 --window 1500 --from 0.01
pack files --fim-rate 0.3 --from 0.01
pack held --fim-rate 0.5 --window 1500 --to 0.01

"$hpccoder" train --out "$out/run" --resume --tokenizer "$out/tokenizer" \
    --data "$out/windows=0.6" --data "$out/files=0.4" --validation "$out/held" \
    --hidden 256 --layers 6 --heads 4 --kv-heads 4 --ffn 672 --length 1024 --positions 1024 --rows 4 --dtype bf16 \
    --optimizer jorge-momentum --round-bf16 all --lr 0.005 --lr-least 0.05 --schedule cosine --warmup 200 \
    --tokens "$TOKENS" --validate-every 500 --validate-batches 60 --save-every 500 --keep 2
"$hpccoder" export "$out/run/model" --to gguf --dtype q6_K --out "$out/pilot.gguf"
"$hpccoder" corpus passages -q "$out/corpus" --out "$out/pilot.passages"
