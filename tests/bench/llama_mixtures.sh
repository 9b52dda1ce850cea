#!/bin/sh
# llama_mixtures.sh CORPUS LIBRARY TEXT: teacher-forced agreement of hpccoder and llama.cpp (its
# shared LIBRARY) on TEXT, for a small mixture of experts of each family in f32, q8_0 and q4_K. Each
# is trained for STEPS (24) on CORPUS (`hpccoder corpus harvest`), so that it has opinions.
# PROGRAM and PYTHON (with numpy) are what is run; llama_agree.py says what is printed and when the
# exit code is 1. llama.cpp needs as many key-value heads as heads of an OLMoE.
set -eu
corpus=$1 library=$2 text=$3
program=${PROGRAM:-build/release/hpccoder} python=${PYTHON:-python3} steps=${STEPS:-24}
folder=$(mktemp -d "${TMPDIR:-/tmp}/hpc-bench-XXXXXX")
trap 'rm -rf "$folder"' EXIT

sizes='"vocab_size": 8192, "bos_token_id": 1, "eos_token_id": 2, "hidden_size": 256,'
sizes="$sizes \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"intermediate_size\": 256,"
sizes="$sizes \"max_position_embeddings\": 1024"
experts='"num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 256'
keys() { # FAMILY
    case $1 in
    mixtral) echo '"num_key_value_heads": 2, "num_local_experts": 8, "num_experts_per_tok": 2' ;;
    qwen2_moe) echo "\"num_key_value_heads\": 2, $experts, \"shared_expert_intermediate_size\": 512" ;;
    qwen3_moe) echo "\"num_key_value_heads\": 2, $experts, \"head_dim\": 64, \"norm_topk_prob\": true" ;;
    olmoe) echo '"num_key_value_heads": 4, "num_experts": 8, "num_experts_per_tok": 3' ;;
    esac
}

"$program" import share/pilot.gguf --out "$folder/pilot" -q >/dev/null
"$program" corpus pack "$corpus" --tokenizer "$folder/pilot" --to 0.3 --out "$folder/shards" -q \
    >/dev/null
for family in mixtral qwen2_moe qwen3_moe olmoe; do
    printf '{"model_type": "%s", %s, %s}\n' $family "$sizes" "$(keys $family)" >"$folder/$family.json"
    "$program" train --data "$folder/shards" --tokenizer "$folder/pilot" --steps "$steps" --rows 2 \
        --length 128 --model "$folder/$family.json" --out "$folder/$family" --save-every 0 -q >/dev/null
    for type in f32 q8_0 q4_K; do
        "$program" export "$folder/$family/model" --to gguf --dtype $type \
            --out "$folder/$family-$type.gguf" -q >/dev/null
    done
done
"$python" tests/bench/llama_agree.py "$text" "$folder"/*.gguf --tokens "${TOKENS:-600}" \
    --library "$library"
