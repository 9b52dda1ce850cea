#!/bin/sh
# llama_families.sh CORPUS LIBRARY: whether llama.cpp (its shared LIBRARY) goes on greedily as
# hpccoder does with models that hpccoder has exported: a small one of each family, trained for STEPS
# (200) on a corpus (`hpccoder corpus harvest`) so that it has opinions, and the model that ships, in
# every type. PROGRAM and PYTHON are what is run. Exit code 1 if a text of f32 or f16 parts where it
# matters; with other types both round what products take, each in its way, and it is told how often.
set -eu
corpus=$1 library=$2
program=${PROGRAM:-build/release/hpccoder} python=${PYTHON:-python3} steps=${STEPS:-200}
folder=$(mktemp -d "${TMPDIR:-/tmp}/hpc-bench-XXXXXX")
trap 'rm -rf "$folder"' EXIT
failed=0

compare() { # NAME MODEL TYPES
    for type in $3; do
        rm -f "$folder/model.gguf"
        "$program" export "$2" --to gguf --dtype "$type" --out "$folder/model.gguf" -q >/dev/null
        "$python" tests/bench/llama_greedy.py "$folder/model.gguf" model/*.c --library "$library" \
            --hpccoder "$program" >"$folder/log" || case $type in f32 | f16) failed=1 ;; esac
        echo "$1, $type: $(tail -n 1 "$folder/log")"
        grep apart "$folder/log" | sed 's/^/    /' || true
    done
}

sizes='"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256'
sizes="$sizes, \"max_position_embeddings\": 1024"
keys() { # FAMILY
    case $1 in
    llama) echo "$sizes, \"num_key_value_heads\": 2, \"rope_theta\": 1e5," \
        '"rope_scaling": {"type": "linear", "factor": 4.0}' ;;
    qwen2) echo "$sizes, \"num_key_value_heads\": 2, \"tie_word_embeddings\": true" ;;
    starcoder2) echo "$sizes, \"num_key_value_heads\": 2, \"sliding_window\": null" ;;
    gpt_neox) echo "$sizes, \"rotary_pct\": 0.25, \"hidden_act\": \"gelu_new\"" ;;
    gpt2) echo '"n_embd": 128, "n_layer": 2, "n_head": 4, "n_inner": 256, "n_positions": 1024' ;;
    esac
}

compare pilot share/pilot.gguf "f32 f16 bf16 q8_0 q4_0 q4_K"
"$program" import share/pilot.gguf --out "$folder/pilot" -q >/dev/null
"$program" corpus pack "$corpus" --tokenizer "$folder/pilot" --to 0.1 --out "$folder/shards" -q \
    >/dev/null
for family in llama qwen2 starcoder2 gpt_neox gpt2; do
    printf '{"model_type": "%s", "vocab_size": 8192, "bos_token_id": 1, "eos_token_id": 2, %s}\n' \
        "$family" "$(keys $family)" >"$folder/$family.json"
    "$program" train --data "$folder/shards" --tokenizer "$folder/pilot" --steps "$steps" --rows 4 \
        --length 256 --model "$folder/$family.json" --out "$folder/$family" -q \
        >/dev/null
    compare "$family" "$folder/$family/model" "f32 f16"
done
exit $failed
