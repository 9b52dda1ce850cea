/*
 * model.h: transformer configurations, their tensors and model directories. container.h has the
 * file formats.
 *
 * A configuration describes an architecture. A family of models is a table of names and has no
 * code. One table of tensors defines names, initial values, weight decay, sharding and stored
 * files. Differentiation, optimizers and training runs are in train/.
 */
#ifndef HPC_MODEL_H
#define HPC_MODEL_H

#include "model/container.h"
#include "runtime/program/op/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- architecture ------------------------------------------------------------------ */
typedef enum hpc_position_kind { HPC_ROTARY, HPC_LEARNED } hpc_position_kind;
typedef enum hpc_rope_scaling {
    HPC_ROPE_PLAIN,
    HPC_ROPE_LINEAR,
    HPC_ROPE_LLAMA3,
    HPC_ROPE_YARN
} hpc_rope_scaling;
typedef enum hpc_norm_place {
    HPC_NORM_BEFORE, /* x + layer(norm(x)) */
    HPC_NORM_AFTER,  /* x + norm(layer(x)) */
    HPC_NORM_AROUND  /* x + norm'(layer(norm(x))) */
} hpc_norm_place;
typedef enum hpc_qk_norm {
    HPC_QK_PLAIN,
    HPC_QK_BY_HEAD, /* RMS norms of each head of q and of k, with shared weights */
    HPC_QK_WHOLE    /* RMS norms of all of q and all of k */
} hpc_qk_norm;
typedef struct hpc_rope_config {
    double theta, share;      /* share: fraction of a head's elements that are rotated */
    double local_theta;       /* base in layers with a window, unscaled; 0: as in the others */
    int scaling;              /* hpc_rope_scaling */
    double factor, low, high; /* LINEAR: factor. LLAMA3: all three. YARN: factor; low and high are
                                 beta_slow (1) and beta_fast (32) */
    int64_t original;         /* LLAMA3, YARN: context length before scaling */
    double attention;         /* YARN: factor of cos and sin; 0: 0.1 ln(factor) + 1 */
} hpc_rope_config;
typedef enum hpc_head_kind {
    HPC_HEAD_TOKENS,  /* the next token */
    HPC_HEAD_CLASSES, /* class of each sequence, read at its last token */
    HPC_HEAD_PAIRS    /* class of each pair of sequences, read at both last tokens concatenated */
} hpc_head_kind;
/* Low-rank adapters: w x + (alpha / rank) B A x for each targeted part. Rank 0 means no adapters.
 * With adapters, only they, the rows of `token` and the class head are trained. */
enum { HPC_ADAPTER_TOKENS = 64 };
typedef struct hpc_adapter_config {
    int64_t rank;
    double alpha;
    uint32_t targets; /* set of 1 << hpc_part */
    int64_t token_n;  /* tokens whose rows of the embedding and of an untied head are trained, as */
    int32_t token[HPC_ADAPTER_TOKENS]; /* changes of the base's rows; ascending */
} hpc_adapter_config;

enum { HPC_FAMILY_NAME = 16 };
typedef struct hpc_model_config {
    char family[HPC_FAMILY_NAME]; /* naming scheme of a model directory: hpc_model_families() */
    int64_t vocab, hidden, layers, heads, kv_heads, head_dim, ffn; /* head_dim 0: hidden / heads */
    int64_t positions;                                             /* longest supported sequence */
    int norm; /* hpc_norm_kind; LAYER has biases */
    double norm_eps;
    int norm_place, qk_norm; /* hpc_norm_place, hpc_qk_norm; other than 0: for RMS only */
    int position;            /* hpc_position_kind */
    hpc_rope_config rope;
    int64_t window; /* attention window; 0: all earlier tokens */
    /* The last of every so many layers has no window, or no rotary positions. 0: all are alike. */
    int64_t window_period, rope_period;
    /* Factors of embeddings, of attention scores (0: 1/sqrt(head_dim)), of what a layer adds to the
     * residual stream, and of logits. 0: 1 */
    double embed_scale, attention_scale, residual_scale, logit_scale;
    /* Bounds of scores and logits: cap tanh(x / cap). 0: none */
    double attention_cap, logit_cap;
    int act;    /* hpc_act */
    bool gated; /* down(act(gate x) * up x), else down(act(up x)) */
    bool qkv_bias, out_bias, mlp_bias;
    bool parallel;  /* x + attention(norm x) + mlp(norm' x) */
    bool tied;      /* the head is the embedding */
    double dropout; /* after embedding, attention and MLP; 0: none. For training only: config.json
                       files are read and written with 0 */
    double init_std;
    int head;                /* hpc_head_kind */
    int64_t classes;         /* for CLASSES and PAIRS */
    int64_t begin, end, pad; /* token ids; -1: none. Of several in a file, the first is read */
    hpc_adapter_config adapter;
    hpc_dtype dtype; /* of parameters and activations: f32, bf16, f64; f16 only in files */
    /* Mixtures of experts: in the last of every expert_every layers (0: 1), the MLP is top_k of so
     * many experts of width expert_ffn (0: ffn), weighted by the softmax of the router's logits.
     * experts 0: none. normalise: the weights of a token sum to 1. shared_ffn > 0: one more MLP of
     * that width for all tokens, times the sigmoid of a number of its own. Gated MLPs only. */
    int64_t experts, top_k, expert_ffn, shared_ffn, expert_every;
    bool normalise;
} hpc_model_config;
#define HPC_MODEL_CONFIG_DEFAULTS                                                                  \
    {                                                                                              \
        .family = "llama", .vocab = 256, .hidden = 128, .layers = 2, .heads = 4, .kv_heads = 2,    \
        .ffn = 352, .positions = 2048, .norm = HPC_RMS, .norm_eps = 1e-5,                          \
        .rope = {.theta = 10000, .share = 1, .factor = 1}, .act = HPC_SILU, .gated = true,         \
        .init_std = 0.02, .begin = -1, .end = -1, .pad = -1, .dtype = HPC_F32                      \
    }
/* Errors name the inconsistent keys and their values. */
int hpc_model_config_check(const hpc_model_config *c);
int64_t hpc_model_config_head_dim(const hpc_model_config *c);
int64_t hpc_model_config_params(const hpc_model_config *c); /* of all tensors, adapters too */
/* Floating-point operations per token of a forward and backward pass over sequences of `length`: 6
 * per matrix parameter (4 if frozen), plus 12 * layers * heads * head_dim * keys for causal
 * attention. `keys` is the mean number of keys per token: length / 2, fewer with a window. */
double hpc_model_config_flops(const hpc_model_config *c, int64_t length);
/* The operations among these of one expert, in all layers that have experts; and those layers. */
double hpc_model_config_expert_flops(const hpc_model_config *c);
int64_t hpc_model_config_expert_layers(const hpc_model_config *c);

/* ---- tensors ------------------------------------------------------------------------ */
typedef enum hpc_part { /* a bias follows its weight */
                        HPC_PART_EMBED,
                        HPC_PART_POSITIONS,
                        HPC_PART_NORM1, /* before attention */
                        HPC_PART_NORM1_BIAS,
                        HPC_PART_Q,
                        HPC_PART_Q_BIAS,
                        HPC_PART_K,
                        HPC_PART_K_BIAS,
                        HPC_PART_V,
                        HPC_PART_V_BIAS,
                        HPC_PART_O,
                        HPC_PART_O_BIAS,
                        HPC_PART_NORM2, /* before the MLP */
                        HPC_PART_NORM2_BIAS,
                        HPC_PART_GATE,
                        HPC_PART_GATE_BIAS,
                        HPC_PART_UP,
                        HPC_PART_UP_BIAS,
                        HPC_PART_DOWN,
                        HPC_PART_DOWN_BIAS,
                        HPC_PART_NORM,
                        HPC_PART_NORM_BIAS,
                        HPC_PART_HEAD,
                        HPC_PART_CLASSES, /* the class head */
                        /* Added later: the numbers of parts select initial values. RMS only */
                        HPC_PART_Q_NORM,
                        HPC_PART_K_NORM,
                        HPC_PART_NORM1_AFTER, /* after attention */
                        HPC_PART_NORM2_AFTER, /* after the MLP */
                        HPC_PART_EXPERT_GATE, /* those of all experts: batches of matrices */
                        HPC_PART_EXPERT_UP,
                        HPC_PART_EXPERT_DOWN,
                        HPC_PART_ROUTER,
                        HPC_PART_SHARED_GATE, /* of the MLP for all tokens */
                        HPC_PART_SHARED_UP,
                        HPC_PART_SHARED_DOWN,
                        HPC_PART_SHARED_SCALE, /* its factor: one row */
                        HPC_PART_N
} hpc_part;
typedef enum hpc_role {
    HPC_ROLE_MATRIX,
    HPC_ROLE_EMBEDDING, /* token and position embeddings */
    HPC_ROLE_HEAD,
    HPC_ROLE_NORM,
    HPC_ROLE_BIAS
} hpc_role;
typedef enum hpc_init { HPC_INIT_ZERO, HPC_INIT_ONE, HPC_INIT_NORMAL } hpc_init;
enum { HPC_TENSOR_NAME = 96 };
typedef struct hpc_model_tensor {
    char name[HPC_TENSOR_NAME]; /* "model.layers.3.self_attn.q_proj.weight": our names are those of
                                   Llama */
    int part, block;            /* block -1: outside the blocks */
    int adapter;                /* 0: the tensor itself, 1: its A, 2: its B, 3: changes of rows */
    int role;
    int rank;
    int64_t extent[2];
    int init;
    double std;     /* of NORMAL; init_std / sqrt(2 layers) for output projections */
    bool decay;     /* matrices, the embedding and the head */
    bool trainable; /* false for a matrix that has an adapter */
    /* The dimension split over that axis of the grid, or -1. A "normal" layer splits outputs
     * over rows and inputs over columns; a "transposed" one (o, down) the reverse. The
     * vocabulary (embedding, head) is split over both, rows outermost. */
    int8_t row, col;
    int64_t batch; /* > 0: so many matrices [extent[0], extent[1]], a value of rank 3 */
    int64_t entry; /* 1 + the one of them that this describes, for files; 0: all */
} hpc_model_tensor;
enum { HPC_ADAPTER_KINDS = 4 };                                     /* values of `adapter` */
static inline int64_t hpc_model_tensor_n(const hpc_model_tensor *t) /* elements */
{
    int64_t one = t->rank == 2 ? t->extent[0] * t->extent[1] : t->extent[0];
    return t->batch > 0 && !t->entry ? t->batch * one : one;
}
/* Extents of its value, with the batch; returns the rank. */
static inline int hpc_model_tensor_extents(int64_t out[3], const hpc_model_tensor *t)
{
    int rank = 0;
    if (t->batch > 0 && !t->entry) out[rank++] = t->batch;
    for (int d = 0; d < t->rank; d++) out[rank++] = t->extent[d];
    return rank;
}
/* Tensors in the order of the forward pass. The caller frees *out. */
int hpc_model_tensors(hpc_model_tensor **out, int64_t *n, const hpc_model_config *c);
/* Initial values [first, first + n). The random stream depends on seed, part, block and adapter
 * only, so any split over ranks gives the same values. */
void hpc_model_init(float *out, const hpc_model_tensor *t, int64_t first, int64_t n, uint64_t seed);
/* Number of rotary frequencies: head_dim * share / 2; 0 with learned positions. */
int64_t hpc_rope_frequencies_n(const hpc_model_config *c);
void hpc_rope_frequencies(float *out, const hpc_model_config *c);
void hpc_rope_local_frequencies(float *out, const hpc_model_config *c); /* with local_theta */
/* The window of a layer, and whether it rotates q and k. */
int64_t hpc_model_config_window(const hpc_model_config *c, int64_t layer);
bool hpc_model_config_has_experts(const hpc_model_config *c, int64_t layer);
bool hpc_model_config_rotates(const hpc_model_config *c, int64_t layer);
double hpc_rope_factor(const hpc_model_config *c); /* factor of cos and sin: YaRN's, else 1 */

/* ---- models: a directory, or a FILE.gguf ----------------------------------------------------- */
const char *const *hpc_model_families(void); /* names, NULL-terminated */
/* Reads `dir`/config.json in Hugging Face format, `dir` itself if it ends in ".json", or the keys
 * of a GGUF file. Files have no init_std. An unknown architecture or an unsupported key value is
 * HPC_E_UNSUPPORTED; the message names both. */
int hpc_model_config_read(hpc_model_config *out, const char *dir);
int hpc_model_config_load(hpc_model_config *out, const hpc_json *object);
/* Fails for a configuration that its family's config.json cannot express; the message names the
 * key. */
int hpc_model_config_write(hpc_buf *out, const hpc_model_config *c);

/* Opens model.safetensors, the parts listed in model.safetensors.index.json, or a GGUF file of c's
 * architecture. GGUF tensors are f32, f16, bf16 or a block format of device.h. Matrices of
 * safetensors may be F8_E4M3 with scales of blocks in NAME_scale_inv. A tensor of c that is missing
 * or has another shape is HPC_E_FORMAT. A tensor unknown to c is HPC_E_UNSUPPORTED; known buffers
 * and unused heads are ignored. A missing class head is not an error (hpc_weights_has): the caller
 * initialises it. */
typedef struct hpc_weights hpc_weights;
int hpc_weights_open(hpc_weights **out, const char *dir, const hpc_model_config *c);
void hpc_weights_close(hpc_weights *w);
bool hpc_weights_has(const hpc_weights *w, const hpc_model_tensor *t);
/* Reads all of t as f32 in our layout: splits fused tensors, undoes transposition and the pairing
 * of rotary rows, and unpacks blocks. HPC_E_FORMAT if the factor of a block is not finite. */
int hpc_weights_read(float *out, const hpc_weights *w, const hpc_model_tensor *t);
/* Appends which matrices ops cannot take as stored, and the type that holds them; may append
 * nothing. */
int hpc_weights_note(hpc_buf *out, const hpc_weights *w);
/* A mixture of experts that starts from one MLP, or from a mixture of one expert (`one`): each
 * expert is a copy of it with other zeros (EvoMoE's diversified start). HPC_E_UNSUPPORTED: no family
 * stores it. Routers have no first values here. */
typedef struct hpc_upcycle_options {
    int64_t experts, top_k, every; /* every: as expert_every, for a model without experts */
    bool normalise;                /* as in hpc_model_config; Mixtral always does */
    double zeros;                  /* share of a copy's elements that are set to 0 */
    uint64_t seed;
} hpc_upcycle_options;
int hpc_model_config_upcycle(hpc_model_config *out, const hpc_model_config *one,
                             const hpc_upcycle_options *o);
/* Reads all matrices of batch t of the mixture from w, which has the configuration `one`. */
int hpc_weights_read_copies(float *out, const hpc_weights *w, const hpc_model_config *one,
                            const hpc_model_tensor *t, const hpc_upcycle_options *o);
/* Writes config.json, generation_config.json and model.safetensors (parts of at most part_bytes; 0:
 * 5 GB) with the family's names and fused tensors. `read` gives tensor t as f32; adapters are
 * merged. An existing config.json is removed first and the new one is written last, so a failed
 * save leaves no valid model. */
typedef struct hpc_weights_save_options {
    hpc_dtype dtype;
    size_t part_bytes;
    int (*read)(float *out, const hpc_model_tensor *t, void *user);
    void *user;
} hpc_weights_save_options;
int hpc_weights_save(const char *dir, const hpc_model_config *c, const hpc_weights_save_options *o);
/* Writes one GGUF file for llama.cpp, with adapters merged. It pairs the rotary rows of q and k for
 * llama, stacks q, k and v for gpt_neox, and stores Llama 3's position scaling as
 * rope_freqs.weight. A class head is stored as cls.output.weight, our own name. A value that GGUF
 * cannot express is HPC_E_UNSUPPORTED; the message names the key. llama.cpp computes the erf GELU
 * of gpt_neox with tanh.
 *
 * Norms, biases and learned positions are f32. Matrices have `dtype`: f32, f16, bf16, q8_0, q6_K,
 * q4_0 or q4_K. Embedding and heads are q8_0 where `dtype` has 4 bits. Rows that are not a multiple
 * of 256 fall back from q6_K and q4_K to q8_0; rows that are not a multiple of 32, to f16. `remark`
 * receives one line about such tensors, and one about each difference from llama.cpp. */
typedef struct hpc_gguf_options {
    hpc_dtype dtype;
    const char *name; /* model name; NULL: none */
    /* A path for hpc_model_tokenizer; NULL: none. The file is embedded unchanged and also as
     * llama.cpp's keys. It must not have more tokens than the model. */
    const char *tokenizer;
    const hpc_json *metadata; /* of metadata.h; NULL: none. Its general.name overrides `name` */
    int (*read)(float *out, const hpc_model_tensor *t, void *user);
    void (*remark)(const char *line, void *user); /* may be NULL */
    void *user;
} hpc_gguf_options;
int hpc_weights_save_gguf(const char *path, const hpc_model_config *c, const hpc_gguf_options *o);
/* Stores a fine-tuned model as its differences from `base`, a FILE.gguf of the same configuration,
 * in 1.8 bits per parameter; the differences are rounded. The file must be in the folder of its
 * base. It is then read like any FILE.gguf, with the tokenizer of the base. */
typedef struct hpc_delta_options {
    const char *base;
    int (*read)(float *out, const hpc_model_tensor *t, void *user);
    void *user;
} hpc_delta_options;
int hpc_delta_save(const char *path, const hpc_model_config *c, const hpc_delta_options *o);

#ifdef __cplusplus
}
#endif
#endif
