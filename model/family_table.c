/*
 * family_table.c: the table of model families: names of tensors and config.json keys in other
 * projects' models.
 *
 * Families have no code of their own.
 */
#include "model/priv.h"

/* ---- names of tensors ----------------------------------------------------------------------- */

static const char *const llama_part[HPC_PART_N] = {
    [HPC_PART_EMBED] = "embed_tokens.weight",
    [HPC_PART_NORM1] = "input_layernorm.weight",
    [HPC_PART_Q] = "self_attn.q_proj.weight",
    [HPC_PART_Q_BIAS] = "self_attn.q_proj.bias",
    [HPC_PART_K] = "self_attn.k_proj.weight",
    [HPC_PART_K_BIAS] = "self_attn.k_proj.bias",
    [HPC_PART_V] = "self_attn.v_proj.weight",
    [HPC_PART_V_BIAS] = "self_attn.v_proj.bias",
    [HPC_PART_O] = "self_attn.o_proj.weight",
    [HPC_PART_O_BIAS] = "self_attn.o_proj.bias",
    [HPC_PART_NORM2] = "post_attention_layernorm.weight",
    [HPC_PART_GATE] = "mlp.gate_proj.weight",
    [HPC_PART_GATE_BIAS] = "mlp.gate_proj.bias",
    [HPC_PART_UP] = "mlp.up_proj.weight",
    [HPC_PART_UP_BIAS] = "mlp.up_proj.bias",
    [HPC_PART_DOWN] = "mlp.down_proj.weight",
    [HPC_PART_DOWN_BIAS] = "mlp.down_proj.bias",
    [HPC_PART_NORM] = "norm.weight",
    [HPC_PART_HEAD] = "lm_head.weight",
    [HPC_PART_CLASSES] = "score.weight",
    [HPC_PART_Q_NORM] = "self_attn.q_norm.weight",
    [HPC_PART_K_NORM] = "self_attn.k_norm.weight",
};

/* For families with norms after layers, with or without norms before them. */
static const char *const around_part[HPC_PART_N] = {
    [HPC_PART_EMBED] = "embed_tokens.weight",
    [HPC_PART_NORM1] = "input_layernorm.weight",
    [HPC_PART_Q] = "self_attn.q_proj.weight",
    [HPC_PART_Q_BIAS] = "self_attn.q_proj.bias",
    [HPC_PART_K] = "self_attn.k_proj.weight",
    [HPC_PART_K_BIAS] = "self_attn.k_proj.bias",
    [HPC_PART_V] = "self_attn.v_proj.weight",
    [HPC_PART_V_BIAS] = "self_attn.v_proj.bias",
    [HPC_PART_O] = "self_attn.o_proj.weight",
    [HPC_PART_O_BIAS] = "self_attn.o_proj.bias",
    [HPC_PART_NORM1_AFTER] = "post_attention_layernorm.weight",
    [HPC_PART_NORM2] = "pre_feedforward_layernorm.weight",
    [HPC_PART_NORM2_AFTER] = "post_feedforward_layernorm.weight",
    [HPC_PART_GATE] = "mlp.gate_proj.weight",
    [HPC_PART_UP] = "mlp.up_proj.weight",
    [HPC_PART_DOWN] = "mlp.down_proj.weight",
    [HPC_PART_NORM] = "norm.weight",
    [HPC_PART_HEAD] = "lm_head.weight",
    [HPC_PART_CLASSES] = "score.weight",
    [HPC_PART_Q_NORM] = "self_attn.q_norm.weight",
    [HPC_PART_K_NORM] = "self_attn.k_norm.weight",
};

static const char *const phi3_part[HPC_PART_N] = {
    [HPC_PART_EMBED] = "embed_tokens.weight",
    [HPC_PART_NORM1] = "input_layernorm.weight",
    [HPC_PART_Q] = "self_attn.qkv_proj.weight",
    [HPC_PART_K] = "self_attn.qkv_proj.weight",
    [HPC_PART_V] = "self_attn.qkv_proj.weight",
    [HPC_PART_O] = "self_attn.o_proj.weight",
    [HPC_PART_NORM2] = "post_attention_layernorm.weight",
    [HPC_PART_GATE] = "mlp.gate_up_proj.weight",
    [HPC_PART_UP] = "mlp.gate_up_proj.weight",
    [HPC_PART_DOWN] = "mlp.down_proj.weight",
    [HPC_PART_NORM] = "norm.weight",
    [HPC_PART_HEAD] = "lm_head.weight",
    [HPC_PART_CLASSES] = "score.weight",
};

static const char *const starcoder2_part[HPC_PART_N] = {
    [HPC_PART_EMBED] = "embed_tokens.weight",
    [HPC_PART_NORM1] = "input_layernorm.weight",
    [HPC_PART_NORM1_BIAS] = "input_layernorm.bias",
    [HPC_PART_Q] = "self_attn.q_proj.weight",
    [HPC_PART_Q_BIAS] = "self_attn.q_proj.bias",
    [HPC_PART_K] = "self_attn.k_proj.weight",
    [HPC_PART_K_BIAS] = "self_attn.k_proj.bias",
    [HPC_PART_V] = "self_attn.v_proj.weight",
    [HPC_PART_V_BIAS] = "self_attn.v_proj.bias",
    [HPC_PART_O] = "self_attn.o_proj.weight",
    [HPC_PART_O_BIAS] = "self_attn.o_proj.bias",
    [HPC_PART_NORM2] = "post_attention_layernorm.weight",
    [HPC_PART_NORM2_BIAS] = "post_attention_layernorm.bias",
    [HPC_PART_UP] = "mlp.c_fc.weight",
    [HPC_PART_UP_BIAS] = "mlp.c_fc.bias",
    [HPC_PART_DOWN] = "mlp.c_proj.weight",
    [HPC_PART_DOWN_BIAS] = "mlp.c_proj.bias",
    [HPC_PART_NORM] = "norm.weight",
    [HPC_PART_NORM_BIAS] = "norm.bias",
    [HPC_PART_HEAD] = "lm_head.weight",
    [HPC_PART_CLASSES] = "score.weight",
};

static const char *const gpt_neox_part[HPC_PART_N] = {
    [HPC_PART_EMBED] = "embed_in.weight",
    [HPC_PART_NORM1] = "input_layernorm.weight",
    [HPC_PART_NORM1_BIAS] = "input_layernorm.bias",
    [HPC_PART_Q] = "attention.query_key_value.weight",
    [HPC_PART_Q_BIAS] = "attention.query_key_value.bias",
    [HPC_PART_K] = "attention.query_key_value.weight",
    [HPC_PART_K_BIAS] = "attention.query_key_value.bias",
    [HPC_PART_V] = "attention.query_key_value.weight",
    [HPC_PART_V_BIAS] = "attention.query_key_value.bias",
    [HPC_PART_O] = "attention.dense.weight",
    [HPC_PART_O_BIAS] = "attention.dense.bias",
    [HPC_PART_NORM2] = "post_attention_layernorm.weight",
    [HPC_PART_NORM2_BIAS] = "post_attention_layernorm.bias",
    [HPC_PART_UP] = "mlp.dense_h_to_4h.weight",
    [HPC_PART_UP_BIAS] = "mlp.dense_h_to_4h.bias",
    [HPC_PART_DOWN] = "mlp.dense_4h_to_h.weight",
    [HPC_PART_DOWN_BIAS] = "mlp.dense_4h_to_h.bias",
    [HPC_PART_NORM] = "final_layer_norm.weight",
    [HPC_PART_NORM_BIAS] = "final_layer_norm.bias",
    [HPC_PART_HEAD] = "embed_out.weight",
    [HPC_PART_CLASSES] = "score.weight",
};

static const char *const gpt2_part[HPC_PART_N] = {
    [HPC_PART_EMBED] = "wte.weight",       [HPC_PART_POSITIONS] = "wpe.weight",
    [HPC_PART_NORM1] = "ln_1.weight",      [HPC_PART_NORM1_BIAS] = "ln_1.bias",
    [HPC_PART_Q] = "attn.c_attn.weight",   [HPC_PART_Q_BIAS] = "attn.c_attn.bias",
    [HPC_PART_K] = "attn.c_attn.weight",   [HPC_PART_K_BIAS] = "attn.c_attn.bias",
    [HPC_PART_V] = "attn.c_attn.weight",   [HPC_PART_V_BIAS] = "attn.c_attn.bias",
    [HPC_PART_O] = "attn.c_proj.weight",   [HPC_PART_O_BIAS] = "attn.c_proj.bias",
    [HPC_PART_NORM2] = "ln_2.weight",      [HPC_PART_NORM2_BIAS] = "ln_2.bias",
    [HPC_PART_UP] = "mlp.c_fc.weight",     [HPC_PART_UP_BIAS] = "mlp.c_fc.bias",
    [HPC_PART_DOWN] = "mlp.c_proj.weight", [HPC_PART_DOWN_BIAS] = "mlp.c_proj.bias",
    [HPC_PART_NORM] = "ln_f.weight",       [HPC_PART_NORM_BIAS] = "ln_f.bias",
    [HPC_PART_HEAD] = "lm_head.weight",    [HPC_PART_CLASSES] = "score.weight",
};

/* "%d" is the number of an expert. */
static const char *const mixtral_part[HPC_PART_N] = {
    [HPC_PART_EMBED] = "embed_tokens.weight",
    [HPC_PART_NORM1] = "input_layernorm.weight",
    [HPC_PART_Q] = "self_attn.q_proj.weight",
    [HPC_PART_Q_BIAS] = "self_attn.q_proj.bias",
    [HPC_PART_K] = "self_attn.k_proj.weight",
    [HPC_PART_K_BIAS] = "self_attn.k_proj.bias",
    [HPC_PART_V] = "self_attn.v_proj.weight",
    [HPC_PART_V_BIAS] = "self_attn.v_proj.bias",
    [HPC_PART_O] = "self_attn.o_proj.weight",
    [HPC_PART_NORM2] = "post_attention_layernorm.weight",
    [HPC_PART_NORM] = "norm.weight",
    [HPC_PART_HEAD] = "lm_head.weight",
    [HPC_PART_CLASSES] = "score.weight",
    [HPC_PART_Q_NORM] = "self_attn.q_norm.weight",
    [HPC_PART_K_NORM] = "self_attn.k_norm.weight",
    [HPC_PART_ROUTER] = "block_sparse_moe.gate.weight",
    [HPC_PART_EXPERT_GATE] = "block_sparse_moe.experts.%d.w1.weight",
    [HPC_PART_EXPERT_UP] = "block_sparse_moe.experts.%d.w3.weight",
    [HPC_PART_EXPERT_DOWN] = "block_sparse_moe.experts.%d.w2.weight",
};

static const char *const expert_part[HPC_PART_N] = {
    [HPC_PART_EMBED] = "embed_tokens.weight",
    [HPC_PART_NORM1] = "input_layernorm.weight",
    [HPC_PART_Q] = "self_attn.q_proj.weight",
    [HPC_PART_Q_BIAS] = "self_attn.q_proj.bias",
    [HPC_PART_K] = "self_attn.k_proj.weight",
    [HPC_PART_K_BIAS] = "self_attn.k_proj.bias",
    [HPC_PART_V] = "self_attn.v_proj.weight",
    [HPC_PART_V_BIAS] = "self_attn.v_proj.bias",
    [HPC_PART_O] = "self_attn.o_proj.weight",
    [HPC_PART_NORM2] = "post_attention_layernorm.weight",
    [HPC_PART_GATE] = "mlp.gate_proj.weight",
    [HPC_PART_UP] = "mlp.up_proj.weight",
    [HPC_PART_DOWN] = "mlp.down_proj.weight",
    [HPC_PART_NORM] = "norm.weight",
    [HPC_PART_HEAD] = "lm_head.weight",
    [HPC_PART_CLASSES] = "score.weight",
    [HPC_PART_Q_NORM] = "self_attn.q_norm.weight",
    [HPC_PART_K_NORM] = "self_attn.k_norm.weight",
    [HPC_PART_ROUTER] = "mlp.gate.weight",
    [HPC_PART_EXPERT_GATE] = "mlp.experts.%d.gate_proj.weight",
    [HPC_PART_EXPERT_UP] = "mlp.experts.%d.up_proj.weight",
    [HPC_PART_EXPERT_DOWN] = "mlp.experts.%d.down_proj.weight",
    [HPC_PART_SHARED_GATE] = "mlp.shared_expert.gate_proj.weight",
    [HPC_PART_SHARED_UP] = "mlp.shared_expert.up_proj.weight",
    [HPC_PART_SHARED_DOWN] = "mlp.shared_expert.down_proj.weight",
    [HPC_PART_SHARED_SCALE] = "mlp.shared_expert_gate.weight",
};

/* ---- families ------------------------------------------------------------------------------- */

static const model_family llama = {
    .name = "llama",
    .architecture = "Llama",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = llama_part,
    .preset = {.begin = 1, .end = 2, .norm = HPC_RMS, .gated = true},
    .key = model_llama_keys,
};
static const model_family mistral = {
    .name = "mistral",
    .architecture = "Mistral",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = llama_part,
    .preset = {.begin = 1, .end = 2, .norm = HPC_RMS, .gated = true},
    .key = model_mistral_keys,
};
static const model_family qwen2 = {
    .name = "qwen2",
    .architecture = "Qwen2",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = llama_part,
    .windowed = true,
    .preset = {.begin = -1, .end = -1, .norm = HPC_RMS, .gated = true, .qkv_bias = true},
    .key = model_qwen2_keys,
};
static const model_family starcoder2 = {
    .name = "starcoder2",
    .architecture = "Starcoder2",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = starcoder2_part,
    .preset = {.begin = 50256, .end = 50256, .norm = HPC_LAYER},
    .key = model_starcoder2_keys,
};
static const model_family gpt_neox = {
    .name = "gpt_neox",
    .architecture = "GPTNeoX",
    .causal = "ForCausalLM",
    .prefix = "gpt_neox.",
    .block = "layers.",
    .part = gpt_neox_part,
    .fusion = MODEL_INTERLEAVED,
    .preset = {.begin = 0, .end = 2, .norm = HPC_LAYER, .mlp_bias = true},
    .key = model_gpt_neox_keys,
};
static const model_family gpt2 = {
    .name = "gpt2",
    .architecture = "GPT2",
    .causal = "LMHeadModel",
    .prefix = "transformer.",
    .block = "h.",
    .part = gpt2_part,
    .fusion = MODEL_FUSED,
    .transposed = true,
    .preset = {.begin = 50256,
               .end = 50256,
               .norm = HPC_LAYER,
               .position = HPC_LEARNED,
               .qkv_bias = true,
               .out_bias = true,
               .mlp_bias = true},
    .key = model_gpt2_keys,
};

static const model_family qwen3 = {
    .name = "qwen3",
    .architecture = "Qwen3",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = llama_part,
    .windowed = true,
    .preset = {.begin = -1, .end = -1, .norm = HPC_RMS, .gated = true, .qk_norm = HPC_QK_BY_HEAD},
    .key = model_qwen3_keys,
};
static const model_family smollm3 = {
    .name = "smollm3",
    .architecture = "SmolLM3",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = llama_part,
    .preset = {.begin = 128000, .end = 128001, .norm = HPC_RMS, .gated = true},
    .key = model_smollm3_keys,
};
static const model_family olmo2 = {
    .name = "olmo2",
    .architecture = "Olmo2",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = around_part,
    .preset = {.begin = -1,
               .end = 50279,
               .norm = HPC_RMS,
               .gated = true,
               .norm_place = HPC_NORM_AFTER,
               .qk_norm = HPC_QK_WHOLE},
    .key = model_olmo2_keys,
};
static const model_family granite = {
    .name = "granite",
    .architecture = "Granite",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = llama_part,
    .preset = {.begin = 1, .end = 2, .norm = HPC_RMS, .gated = true},
    .key = model_granite_keys,
};
static const model_family phi3 = {
    .name = "phi3",
    .architecture = "Phi3",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = phi3_part,
    .fusion = MODEL_FUSED,
    .preset = {.begin = 1, .end = 32000, .norm = HPC_RMS, .gated = true},
    .key = model_phi3_keys,
};
static const model_family gemma = {
    .name = "gemma",
    .architecture = "Gemma",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = llama_part,
    .shifted = true,
    .scaled = true,
    .preset = {.begin = 2, .end = 1, .norm = HPC_RMS, .gated = true},
    .key = model_gemma_keys,
};
static const model_family gemma2 = {
    .name = "gemma2",
    .architecture = "Gemma2",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = around_part,
    .shifted = true,
    .scaled = true,
    .layered = true,
    .preset = {.begin = 2,
               .end = 1,
               .norm = HPC_RMS,
               .gated = true,
               .norm_place = HPC_NORM_AROUND,
               .window_period = 2},
    .key = model_gemma2_keys,
};
static const model_family gemma3 = {
    .name = "gemma3_text",
    .architecture = "Gemma3",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = around_part,
    .shifted = true,
    .scaled = true,
    .layered = true,
    .preset = {.begin = 2,
               .end = 1,
               .norm = HPC_RMS,
               .gated = true,
               .norm_place = HPC_NORM_AROUND,
               .qk_norm = HPC_QK_BY_HEAD},
    .key = model_gemma3_keys,
};

static const model_family mixtral = {
    .name = "mixtral",
    .architecture = "Mixtral",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = mixtral_part,
    .preset = {.begin = 1, .end = 2, .norm = HPC_RMS, .gated = true, .normalise = true},
    .key = model_mixtral_keys,
};
static const model_family qwen2_moe = {
    .name = "qwen2_moe",
    .architecture = "Qwen2Moe",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = expert_part,
    .windowed = true,
    .preset = {.begin = -1, .end = -1, .norm = HPC_RMS, .gated = true},
    .key = model_qwen2_moe_keys,
};
static const model_family qwen3_moe = {
    .name = "qwen3_moe",
    .architecture = "Qwen3Moe",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = expert_part,
    .windowed = true,
    .preset = {.begin = -1, .end = -1, .norm = HPC_RMS, .gated = true, .qk_norm = HPC_QK_BY_HEAD},
    .key = model_qwen3_moe_keys,
};
static const model_family olmoe = {
    .name = "olmoe",
    .architecture = "Olmoe",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = expert_part,
    .preset = {.begin = -1, .end = 50279, .norm = HPC_RMS, .gated = true, .qk_norm = HPC_QK_WHOLE},
    .key = model_olmoe_keys,
};

const model_family *const model_families[] = {
    &llama,   &mistral,   &qwen2,     &starcoder2, &gpt_neox, &gpt2,   &qwen3,
    &smollm3, &olmo2,     &granite,   &phi3,       &gemma,    &gemma2, &gemma3,
    &mixtral, &qwen2_moe, &qwen3_moe, &olmoe,      NULL};

const char *const *hpc_model_families(void)
{
    static const char *const names[] = {
        "llama",   "mistral",   "qwen2",     "starcoder2", "gpt_neox", "gpt2",   "qwen3",
        "smollm3", "olmo2",     "granite",   "phi3",       "gemma",    "gemma2", "gemma3_text",
        "mixtral", "qwen2_moe", "qwen3_moe", "olmoe",      NULL};
    return names;
}
