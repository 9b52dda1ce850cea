/*
 * family.c: the table of model families: names of tensors and config.json keys in other projects'
 * models.
 *
 * Families have no code of their own.
 */
#include <stdio.h>
#include <string.h>

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

/* ---- keys of config.json -------------------------------------------------------------------- */

#define AT(member) offsetof(hpc_model_config, member)

static const model_key llama_key[] = {
    {"vocab_size", MODEL_KEY_INT, AT(vocab), MODEL_REQUIRED},
    {"hidden_size", MODEL_KEY_INT, AT(hidden), MODEL_REQUIRED},
    {"num_hidden_layers", MODEL_KEY_INT, AT(layers), MODEL_REQUIRED},
    {"num_attention_heads", MODEL_KEY_INT, AT(heads), MODEL_REQUIRED},
    {"num_key_value_heads", MODEL_KEY_INT, AT(kv_heads), 0},
    {"head_dim", MODEL_KEY_INT, AT(head_dim), 0},
    {"intermediate_size", MODEL_KEY_INT, AT(ffn), MODEL_REQUIRED},
    {"max_position_embeddings", MODEL_KEY_INT, AT(positions), 2048},
    {"hidden_act", MODEL_KEY_ACT, AT(act), HPC_SILU},
    {"rms_norm_eps", MODEL_KEY_REAL, AT(norm_eps), 1e-6},
    {"initializer_range", MODEL_KEY_REAL, AT(init_std), 0.02},
    {"rope_theta", MODEL_KEY_REAL, AT(rope.theta), 10000},
    {"attention_bias", MODEL_KEY_BOOL, AT(qkv_bias), false},
    {"attention_bias", MODEL_KEY_BOOL, AT(out_bias), false},
    {"mlp_bias", MODEL_KEY_BOOL, AT(mlp_bias), false},
    {"tie_word_embeddings", MODEL_KEY_BOOL, AT(tied), false},
    {NULL, MODEL_KEY_INT, 0, 0},
};

static const model_key mistral_key[] = {
    {"vocab_size", MODEL_KEY_INT, AT(vocab), MODEL_REQUIRED},
    {"hidden_size", MODEL_KEY_INT, AT(hidden), MODEL_REQUIRED},
    {"num_hidden_layers", MODEL_KEY_INT, AT(layers), MODEL_REQUIRED},
    {"num_attention_heads", MODEL_KEY_INT, AT(heads), MODEL_REQUIRED},
    {"num_key_value_heads", MODEL_KEY_INT, AT(kv_heads), 8},
    {"head_dim", MODEL_KEY_INT, AT(head_dim), 0},
    {"intermediate_size", MODEL_KEY_INT, AT(ffn), MODEL_REQUIRED},
    {"max_position_embeddings", MODEL_KEY_INT, AT(positions), 131072},
    {"hidden_act", MODEL_KEY_ACT, AT(act), HPC_SILU},
    {"rms_norm_eps", MODEL_KEY_REAL, AT(norm_eps), 1e-6},
    {"initializer_range", MODEL_KEY_REAL, AT(init_std), 0.02},
    {"rope_theta", MODEL_KEY_REAL, AT(rope.theta), 10000},
    {"sliding_window", MODEL_KEY_INT, AT(window), 4096},
    {"tie_word_embeddings", MODEL_KEY_BOOL, AT(tied), false},
    {NULL, MODEL_KEY_INT, 0, 0},
};

static const model_key qwen2_key[] = {
    {"vocab_size", MODEL_KEY_INT, AT(vocab), MODEL_REQUIRED},
    {"hidden_size", MODEL_KEY_INT, AT(hidden), MODEL_REQUIRED},
    {"num_hidden_layers", MODEL_KEY_INT, AT(layers), MODEL_REQUIRED},
    {"num_attention_heads", MODEL_KEY_INT, AT(heads), MODEL_REQUIRED},
    {"num_key_value_heads", MODEL_KEY_INT, AT(kv_heads), 32},
    {"head_dim", MODEL_KEY_INT, AT(head_dim), 0},
    {"intermediate_size", MODEL_KEY_INT, AT(ffn), MODEL_REQUIRED},
    {"max_position_embeddings", MODEL_KEY_INT, AT(positions), 32768},
    {"hidden_act", MODEL_KEY_ACT, AT(act), HPC_SILU},
    {"rms_norm_eps", MODEL_KEY_REAL, AT(norm_eps), 1e-6},
    {"initializer_range", MODEL_KEY_REAL, AT(init_std), 0.02},
    {"rope_theta", MODEL_KEY_REAL, AT(rope.theta), 10000},
    {"sliding_window", MODEL_KEY_INT, AT(window), 4096},
    {"tie_word_embeddings", MODEL_KEY_BOOL, AT(tied), false},
    {NULL, MODEL_KEY_INT, 0, 0},
};

static const model_key starcoder2_key[] = {
    {"vocab_size", MODEL_KEY_INT, AT(vocab), MODEL_REQUIRED},
    {"hidden_size", MODEL_KEY_INT, AT(hidden), MODEL_REQUIRED},
    {"num_hidden_layers", MODEL_KEY_INT, AT(layers), MODEL_REQUIRED},
    {"num_attention_heads", MODEL_KEY_INT, AT(heads), MODEL_REQUIRED},
    {"num_key_value_heads", MODEL_KEY_INT, AT(kv_heads), 2},
    {"head_dim", MODEL_KEY_INT, AT(head_dim), 0},
    {"intermediate_size", MODEL_KEY_INT, AT(ffn), MODEL_REQUIRED},
    {"max_position_embeddings", MODEL_KEY_INT, AT(positions), 4096},
    {"hidden_act", MODEL_KEY_ACT, AT(act), HPC_GELU_TANH},
    {"norm_epsilon", MODEL_KEY_REAL, AT(norm_eps), 1e-5},
    {"initializer_range", MODEL_KEY_REAL, AT(init_std), 0.018042},
    {"rope_theta", MODEL_KEY_REAL, AT(rope.theta), 10000},
    {"sliding_window", MODEL_KEY_INT, AT(window), 0},
    {"use_bias", MODEL_KEY_BOOL, AT(qkv_bias), true},
    {"use_bias", MODEL_KEY_BOOL, AT(out_bias), true},
    {"use_bias", MODEL_KEY_BOOL, AT(mlp_bias), true},
    {"tie_word_embeddings", MODEL_KEY_BOOL, AT(tied), true},
    {"residual_dropout", MODEL_KEY_ZERO, 0, 0},
    {"embedding_dropout", MODEL_KEY_ZERO, 0, 0},
    {"attention_dropout", MODEL_KEY_ZERO, 0, 0},
    {NULL, MODEL_KEY_INT, 0, 0},
};

static const model_key gpt_neox_key[] = {
    {"vocab_size", MODEL_KEY_INT, AT(vocab), MODEL_REQUIRED},
    {"hidden_size", MODEL_KEY_INT, AT(hidden), MODEL_REQUIRED},
    {"num_hidden_layers", MODEL_KEY_INT, AT(layers), MODEL_REQUIRED},
    {"num_attention_heads", MODEL_KEY_INT, AT(heads), MODEL_REQUIRED},
    {"intermediate_size", MODEL_KEY_INT, AT(ffn), MODEL_REQUIRED},
    {"max_position_embeddings", MODEL_KEY_INT, AT(positions), 2048},
    {"hidden_act", MODEL_KEY_ACT, AT(act), HPC_GELU_ERF},
    {"layer_norm_eps", MODEL_KEY_REAL, AT(norm_eps), 1e-5},
    {"initializer_range", MODEL_KEY_REAL, AT(init_std), 0.02},
    {"rotary_pct", MODEL_KEY_REAL, AT(rope.share), 0.25},
    {"rotary_emb_base", MODEL_KEY_REAL, AT(rope.theta), 10000},
    {"use_parallel_residual", MODEL_KEY_BOOL, AT(parallel), true},
    {"attention_bias", MODEL_KEY_BOOL, AT(qkv_bias), true},
    {"attention_bias", MODEL_KEY_BOOL, AT(out_bias), true},
    {"tie_word_embeddings", MODEL_KEY_BOOL, AT(tied), false},
    {"hidden_dropout", MODEL_KEY_ZERO, 0, 0},
    {"attention_dropout", MODEL_KEY_ZERO, 0, 0},
    {NULL, MODEL_KEY_INT, 0, 0},
};

static const model_key gpt2_key[] = {
    {"vocab_size", MODEL_KEY_INT, AT(vocab), MODEL_REQUIRED},
    {"n_embd", MODEL_KEY_INT, AT(hidden), MODEL_REQUIRED},
    {"n_layer", MODEL_KEY_INT, AT(layers), MODEL_REQUIRED},
    {"n_head", MODEL_KEY_INT, AT(heads), MODEL_REQUIRED},
    {"n_inner", MODEL_KEY_INT, AT(ffn), 0},
    {"n_positions", MODEL_KEY_INT, AT(positions), 1024},
    {"n_ctx", MODEL_KEY_ALIAS, AT(positions), 1024},
    {"activation_function", MODEL_KEY_ACT, AT(act), HPC_GELU_TANH},
    {"layer_norm_epsilon", MODEL_KEY_REAL, AT(norm_eps), 1e-5},
    {"initializer_range", MODEL_KEY_REAL, AT(init_std), 0.02},
    {"tie_word_embeddings", MODEL_KEY_BOOL, AT(tied), true},
    {"resid_pdrop", MODEL_KEY_ZERO, 0, 0},
    {"embd_pdrop", MODEL_KEY_ZERO, 0, 0},
    {"attn_pdrop", MODEL_KEY_ZERO, 0, 0},
    {NULL, MODEL_KEY_INT, 0, 0},
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
    .key = llama_key,
};
static const model_family mistral = {
    .name = "mistral",
    .architecture = "Mistral",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = llama_part,
    .preset = {.begin = 1, .end = 2, .norm = HPC_RMS, .gated = true},
    .key = mistral_key,
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
    .key = qwen2_key,
};
static const model_family starcoder2 = {
    .name = "starcoder2",
    .architecture = "Starcoder2",
    .causal = "ForCausalLM",
    .prefix = "model.",
    .block = "layers.",
    .part = starcoder2_part,
    .preset = {.begin = 50256, .end = 50256, .norm = HPC_LAYER},
    .key = starcoder2_key,
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
    .key = gpt_neox_key,
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
    .key = gpt2_key,
};

const model_family *const model_families[] = {&llama,    &mistral, &qwen2, &starcoder2,
                                              &gpt_neox, &gpt2,    NULL};

const char *const *hpc_model_families(void)
{
    static const char *const names[] = {"llama",    "mistral", "qwen2", "starcoder2",
                                        "gpt_neox", "gpt2",    NULL};
    return names;
}

const model_family *model_family_find(const char *name)
{
    for (const model_family *const *f = model_families; *f; f++)
        if (strcmp((*f)->name, name) == 0) return *f;
    return NULL;
}

/* ---- storage of a tensor --------------------------------------------------------------------- */

static int slot_of(int part)
{
    switch (part) {
    case HPC_PART_Q:
    case HPC_PART_Q_BIAS: return 0;
    case HPC_PART_K:
    case HPC_PART_K_BIAS: return 1;
    case HPC_PART_V:
    case HPC_PART_V_BIAS: return 2;
    default: return -1;
    }
}

int model_stored_of(model_stored *out, const model_family *f, const hpc_model_config *c,
                    const hpc_model_tensor *t)
{
    char block[32] = "";
    bool head = t->part == HPC_PART_HEAD || t->part == HPC_PART_CLASSES;
    int slot = f->fusion == MODEL_APART ? -1 : slot_of(t->part);
    if (!f->part[t->part] || t->adapter)
        return hpc_fail(HPC_E_UNSUPPORTED, "%s: files of a %s cannot store it", t->name, f->name);
    *out = (model_stored){.rank = t->rank, .slots = 1, .run = t->extent[0]};
    out->prefix_n = head ? 0 : strlen(f->prefix);
    if (t->block >= 0) snprintf(block, sizeof block, "%s%d.", f->block, t->block);
    snprintf(out->name, sizeof out->name, "%s%s%s", head ? "" : f->prefix, block, f->part[t->part]);
    if (slot >= 0) {
        out->slots = 3;
        out->slot = slot;
        if (f->fusion == MODEL_INTERLEAVED) out->run = hpc_model_config_head_dim(c);
    }
    if (f->paired && slot_of(t->part) >= 0 && slot_of(t->part) < 2)
        out->paired = hpc_model_config_head_dim(c);
    out->transposed = f->transposed && t->role == HPC_ROLE_MATRIX;
    out->extent[out->transposed ? 1 : 0] = t->extent[0] * out->slots;
    if (t->rank == 2) out->extent[out->transposed ? 0 : 1] = t->extent[1];
    return HPC_OK;
}

bool model_is_buffer(const char *name)
{
    static const char *const tails[] = {".rotary_emb.inv_freq",   ".attn.bias",
                                        ".attn.masked_bias",      ".attention.bias",
                                        ".attention.masked_bias", ".embed_positions.inv_freq",
                                        "rope_freqs.weight"};
    size_t n = strlen(name);
    for (size_t k = 0; k < sizeof tails / sizeof *tails; k++) {
        size_t tail = strlen(tails[k]);
        if (n >= tail && strcmp(name + n - tail, tails[k]) == 0) return true;
    }
    return false;
}
