/*
 * gguf_family.c: the table of GGUF architectures: tensor names, and properties that readers assume
 * without a key.
 *
 * gguf_config.c handles keys.
 */
#include <stdio.h>
#include <string.h>

#include "model/priv.h"

/* Readers of the architecture do not know absent parts. */
static const char *const llama_part[HPC_PART_N] = {
    [HPC_PART_EMBED] = "token_embd.weight",
    [HPC_PART_NORM1] = "attn_norm.weight",
    [HPC_PART_Q] = "attn_q.weight",
    [HPC_PART_Q_BIAS] = "attn_q.bias",
    [HPC_PART_K] = "attn_k.weight",
    [HPC_PART_K_BIAS] = "attn_k.bias",
    [HPC_PART_V] = "attn_v.weight",
    [HPC_PART_V_BIAS] = "attn_v.bias",
    [HPC_PART_O] = "attn_output.weight",
    [HPC_PART_O_BIAS] = "attn_output.bias",
    [HPC_PART_NORM2] = "ffn_norm.weight",
    [HPC_PART_GATE] = "ffn_gate.weight",
    [HPC_PART_GATE_BIAS] = "ffn_gate.bias",
    [HPC_PART_UP] = "ffn_up.weight",
    [HPC_PART_UP_BIAS] = "ffn_up.bias",
    [HPC_PART_DOWN] = "ffn_down.weight",
    [HPC_PART_DOWN_BIAS] = "ffn_down.bias",
    [HPC_PART_NORM] = "output_norm.weight",
    [HPC_PART_HEAD] = "output.weight",
    [HPC_PART_CLASSES] = "cls.output.weight",
    [HPC_PART_Q_NORM] = "attn_q_norm.weight",
    [HPC_PART_K_NORM] = "attn_k_norm.weight",
    [HPC_PART_NORM1_AFTER] = "post_attention_norm.weight",
    [HPC_PART_NORM2_AFTER] = "post_ffw_norm.weight",
    [HPC_PART_ROUTER] = "ffn_gate_inp.weight",
    [HPC_PART_EXPERT_GATE] = "ffn_gate_exps.weight",
    [HPC_PART_EXPERT_UP] = "ffn_up_exps.weight",
    [HPC_PART_EXPERT_DOWN] = "ffn_down_exps.weight",
    [HPC_PART_SHARED_GATE] = "ffn_gate_shexp.weight",
    [HPC_PART_SHARED_UP] = "ffn_up_shexp.weight",
    [HPC_PART_SHARED_DOWN] = "ffn_down_shexp.weight",
    [HPC_PART_SHARED_SCALE] = "ffn_gate_inp_shexp.weight",
};

/* phi3's stacks: q, k and v; gate and up. */
static const char *const phi3_part[HPC_PART_N] = {
    [HPC_PART_EMBED] = "token_embd.weight",   [HPC_PART_NORM1] = "attn_norm.weight",
    [HPC_PART_Q] = "attn_qkv.weight",         [HPC_PART_K] = "attn_qkv.weight",
    [HPC_PART_V] = "attn_qkv.weight",         [HPC_PART_O] = "attn_output.weight",
    [HPC_PART_NORM2] = "ffn_norm.weight",     [HPC_PART_GATE] = "ffn_up.weight",
    [HPC_PART_UP] = "ffn_up.weight",          [HPC_PART_DOWN] = "ffn_down.weight",
    [HPC_PART_NORM] = "output_norm.weight",   [HPC_PART_HEAD] = "output.weight",
    [HPC_PART_CLASSES] = "cls.output.weight",
};

static const char *const starcoder2_part[HPC_PART_N] = {
    [HPC_PART_EMBED] = "token_embd.weight",    [HPC_PART_NORM1] = "attn_norm.weight",
    [HPC_PART_NORM1_BIAS] = "attn_norm.bias",  [HPC_PART_Q] = "attn_q.weight",
    [HPC_PART_Q_BIAS] = "attn_q.bias",         [HPC_PART_K] = "attn_k.weight",
    [HPC_PART_K_BIAS] = "attn_k.bias",         [HPC_PART_V] = "attn_v.weight",
    [HPC_PART_V_BIAS] = "attn_v.bias",         [HPC_PART_O] = "attn_output.weight",
    [HPC_PART_O_BIAS] = "attn_output.bias",    [HPC_PART_NORM2] = "ffn_norm.weight",
    [HPC_PART_NORM2_BIAS] = "ffn_norm.bias",   [HPC_PART_UP] = "ffn_up.weight",
    [HPC_PART_UP_BIAS] = "ffn_up.bias",        [HPC_PART_DOWN] = "ffn_down.weight",
    [HPC_PART_DOWN_BIAS] = "ffn_down.bias",    [HPC_PART_NORM] = "output_norm.weight",
    [HPC_PART_NORM_BIAS] = "output_norm.bias", [HPC_PART_HEAD] = "output.weight",
    [HPC_PART_CLASSES] = "cls.output.weight",
};

/* gpt_neox's and gpt2's, of which the second alone has learned positions. */
static const char *const fused_part[HPC_PART_N] = {
    [HPC_PART_EMBED] = "token_embd.weight", [HPC_PART_POSITIONS] = "position_embd.weight",
    [HPC_PART_NORM1] = "attn_norm.weight",  [HPC_PART_NORM1_BIAS] = "attn_norm.bias",
    [HPC_PART_Q] = "attn_qkv.weight",       [HPC_PART_Q_BIAS] = "attn_qkv.bias",
    [HPC_PART_K] = "attn_qkv.weight",       [HPC_PART_K_BIAS] = "attn_qkv.bias",
    [HPC_PART_V] = "attn_qkv.weight",       [HPC_PART_V_BIAS] = "attn_qkv.bias",
    [HPC_PART_O] = "attn_output.weight",    [HPC_PART_O_BIAS] = "attn_output.bias",
    [HPC_PART_NORM2] = "ffn_norm.weight",   [HPC_PART_NORM2_BIAS] = "ffn_norm.bias",
    [HPC_PART_UP] = "ffn_up.weight",        [HPC_PART_UP_BIAS] = "ffn_up.bias",
    [HPC_PART_DOWN] = "ffn_down.weight",    [HPC_PART_DOWN_BIAS] = "ffn_down.bias",
    [HPC_PART_NORM] = "output_norm.weight", [HPC_PART_NORM_BIAS] = "output_norm.bias",
    [HPC_PART_HEAD] = "output.weight",      [HPC_PART_CLASSES] = "cls.output.weight",
};

static const model_gguf_arch archs[] = {
    {.name = "llama",
     .family = "llama",
     .windowed = "mistral",
     .act = HPC_SILU,
     .biases = MODEL_BIAS_ANY,
     .names = {.name = "llama in GGUF",
               .prefix = "",
               .block = "blk.",
               .part = llama_part,
               .paired = true}},
    {.name = "qwen2",
     .family = "qwen2",
     .windowed = "qwen2",
     .act = HPC_SILU,
     .biases = MODEL_BIAS_QKV,
     .names = {.name = "qwen2 in GGUF", .prefix = "", .block = "blk.", .part = llama_part}},
    {.name = "starcoder2",
     .family = "starcoder2",
     .windowed = "starcoder2",
     .square = true,
     .act = HPC_GELU_TANH,
     .biases = MODEL_BIAS_ALL,
     .names =
         {.name = "starcoder2 in GGUF", .prefix = "", .block = "blk.", .part = starcoder2_part}},
    {.name = "gptneox",
     .family = "gpt_neox",
     .act = HPC_GELU_ERF,
     .act_too = HPC_GELU_TANH,
     .biases = MODEL_BIAS_ALL,
     .own_head = true,
     .names = {.name = "gptneox in GGUF",
               .prefix = "",
               .block = "blk.",
               .part = fused_part,
               .fusion = MODEL_FUSED}},
    {.name = "gpt2",
     .family = "gpt2",
     .act = HPC_GELU_TANH,
     .biases = MODEL_BIAS_ALL,
     .names = {.name = "gpt2 in GGUF",
               .prefix = "",
               .block = "blk.",
               .part = fused_part,
               .fusion = MODEL_FUSED}},
    {.name = "qwen3",
     .family = "qwen3",
     .windowed = "qwen3",
     .act = HPC_SILU,
     .biases = MODEL_BIAS_NONE,
     .names = {.name = "qwen3 in GGUF", .prefix = "", .block = "blk.", .part = llama_part}},
    {.name = "smollm3",
     .family = "smollm3",
     .act = HPC_SILU,
     .biases = MODEL_BIAS_NONE,
     .rope_period = 4,
     .names = {.name = "smollm3 in GGUF",
               .prefix = "",
               .block = "blk.",
               .part = llama_part,
               .paired = true}},
    {.name = "olmo2",
     .family = "olmo2",
     .act = HPC_SILU,
     .biases = MODEL_BIAS_NONE,
     .names = {.name = "olmo2 in GGUF", .prefix = "", .block = "blk.", .part = llama_part}},
    {.name = "granite",
     .family = "granite",
     .act = HPC_SILU,
     .biases = MODEL_BIAS_ANY,
     .factors = true,
     .names = {.name = "granite in GGUF",
               .prefix = "",
               .block = "blk.",
               .part = llama_part,
               .paired = true}},
    {.name = "phi3",
     .family = "phi3",
     .windowed = "phi3",
     .act = HPC_SILU,
     .biases = MODEL_BIAS_NONE,
     .names = {.name = "phi3 in GGUF",
               .prefix = "",
               .block = "blk.",
               .part = phi3_part,
               .fusion = MODEL_FUSED}},
    {.name = "gemma",
     .family = "gemma",
     .act = HPC_GELU_TANH,
     .biases = MODEL_BIAS_NONE,
     .tied = true,
     .names = {.name = "gemma in GGUF", .prefix = "", .block = "blk.", .part = llama_part}},
    {.name = "gemma2",
     .family = "gemma2",
     .windowed = "gemma2",
     .act = HPC_GELU_TANH,
     .biases = MODEL_BIAS_NONE,
     .tied = true,
     .caps = true,
     .window_period = 2,
     .wide_layers = 46,
     .names = {.name = "gemma2 in GGUF", .prefix = "", .block = "blk.", .part = llama_part}},
    {.name = "gemma3",
     .family = "gemma3_text",
     .windowed = "gemma3_text",
     .act = HPC_GELU_TANH,
     .biases = MODEL_BIAS_NONE,
     .caps = true,
     .window_period = 6,
     .wide_layers = 62,
     .local_theta = 10000,
     .names = {.name = "gemma3 in GGUF", .prefix = "", .block = "blk.", .part = llama_part}},
    {.name = "llama",
     .family = "mixtral",
     .windowed = "mixtral",
     .act = HPC_SILU,
     .biases = MODEL_BIAS_NONE,
     .experts = true,
     .normalise = true,
     .names = {.name = "llama in GGUF",
               .prefix = "",
               .block = "blk.",
               .part = llama_part,
               .paired = true}},
    {.name = "qwen2moe",
     .family = "qwen2_moe",
     .act = HPC_SILU,
     .biases = MODEL_BIAS_QKV,
     .experts = true,
     .names = {.name = "qwen2moe in GGUF", .prefix = "", .block = "blk.", .part = llama_part}},
    {.name = "qwen3moe",
     .family = "qwen3_moe",
     .act = HPC_SILU,
     .biases = MODEL_BIAS_NONE,
     .experts = true,
     .normalise = true,
     .names = {.name = "qwen3moe in GGUF", .prefix = "", .block = "blk.", .part = llama_part}},
    {.name = "olmoe",
     .family = "olmoe",
     .act = HPC_SILU,
     .biases = MODEL_BIAS_NONE,
     .experts = true,
     .names = {.name = "olmoe in GGUF", .prefix = "", .block = "blk.", .part = llama_part}},
};
enum { ARCHS = sizeof archs / sizeof *archs };

const model_gguf_arch *model_gguf_arch_find(const char *name, bool experts)
{
    for (int k = 0; k < ARCHS; k++)
        if (strcmp(archs[k].name, name) == 0 && archs[k].experts == experts) return &archs[k];
    return NULL;
}

void model_gguf_archs(char *out, size_t room)
{
    size_t n = 0;
    for (int k = 0; k < ARCHS && n < room; k++) {
        if (archs[k].experts && model_gguf_arch_find(archs[k].name, false)) continue;
        n += (size_t)snprintf(out + n, room - n, "%s%s",
                              k == 0           ? ""
                              : k == ARCHS - 1 ? " or "
                                               : ", ",
                              archs[k].name);
    }
}

const model_gguf_arch *model_gguf_arch_of(const char *family)
{
    for (int k = 0; k < ARCHS; k++)
        if (strcmp(archs[k].family, family) == 0 ||
            (archs[k].windowed && strcmp(archs[k].windowed, family) == 0))
            return &archs[k];
    return NULL;
}

bool model_is_gguf(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".gguf") == 0;
}
