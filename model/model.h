/*
 * model.h: configurations of transformers, their tensors, the forward programs
 * that they emit, and the directories and files that they are kept in.
 *
 * A configuration describes an architecture; there is no code for a family but
 * a table of its names. One table of tensors drives names, first values, decay,
 * sharding and files. Differentiation, optimizers and runs are train/'s.
 */
#ifndef HPC_MODEL_H
#define HPC_MODEL_H

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
typedef struct hpc_rope_config {
    double theta, share;      /* share of a head's elements that are turned, 1: all */
    int scaling;              /* hpc_rope_scaling */
    double factor, low, high; /* LINEAR: factor; LLAMA3: all; YARN: factor, low and high as betas,
                                 slow (1) and fast (32) */
    int64_t original;         /* LLAMA3, YARN: positions before scaling */
    double attention;         /* YARN: what multiplies cos and sin; 0: 0.1 ln(factor) + 1 */
} hpc_rope_config;
typedef enum hpc_head_kind {
    HPC_HEAD_TOKENS,  /* the next token */
    HPC_HEAD_CLASSES, /* a class of each sequence, from its last token */
    HPC_HEAD_PAIRS    /* a class of each pair of sequences, from both last tokens side by side */
} hpc_head_kind;
/* Low-rank adapters: w x + (alpha / rank) B A x, for the targeted parts; 0: none. Then they, the
 * class head and nothing else are trained. */
typedef struct hpc_adapter_config {
    int64_t rank;
    double alpha;
    uint32_t targets; /* set of 1 << hpc_part */
} hpc_adapter_config;

enum { HPC_FAMILY_NAME = 16 };
typedef struct hpc_model_config {
    char family[HPC_FAMILY_NAME]; /* whose names a directory has: hpc_model_families() */
    int64_t vocab, hidden, layers, heads, kv_heads, head_dim, ffn; /* head_dim 0: hidden / heads */
    int64_t positions; /* longest sequence that it is made for */
    int norm;          /* hpc_norm_kind; LAYER has biases */
    double norm_eps;
    int position; /* hpc_position_kind */
    hpc_rope_config rope;
    int64_t window; /* of attention; 0: all before */
    int act;        /* hpc_act */
    bool gated;     /* down(act(gate x) * up x), else down(act(up x)) */
    bool qkv_bias, out_bias, mlp_bias;
    bool parallel;  /* x + attention(norm x) + mlp(norm' x) */
    bool tied;      /* the head is the embedding */
    double dropout; /* after embedding, attention and MLP; 0: none. Of training, so directories have
                       none: read, and written, as 0 */
    double init_std;
    int head;                /* hpc_head_kind */
    int64_t classes;         /* of the last two */
    int64_t begin, end, pad; /* tokens; -1: none; of several that a file names, the first */
    hpc_adapter_config adapter;
    hpc_dtype dtype; /* of parameters and activations: f32, bf16, f64; f16 in directories alone */
} hpc_model_config;
#define HPC_MODEL_CONFIG_DEFAULTS                                                                  \
    {                                                                                              \
        .family = "llama", .vocab = 256, .hidden = 128, .layers = 2, .heads = 4, .kv_heads = 2,    \
        .ffn = 352, .positions = 2048, .norm = HPC_RMS, .norm_eps = 1e-5,                          \
        .rope = {.theta = 10000, .share = 1, .factor = 1}, .act = HPC_SILU, .gated = true,         \
        .init_std = 0.02, .begin = -1, .end = -1, .pad = -1, .dtype = HPC_F32                      \
    }
/* Contradictions name the key and both numbers. */
int hpc_model_config_check(const hpc_model_config *c);
int64_t hpc_model_config_head_dim(const hpc_model_config *c);
int64_t hpc_model_config_params(const hpc_model_config *c); /* the sum of the table, adapters too */
/* Floating-point operations of a token's forward and backward pass in sequences of `length`:
 * 6 for each parameter of a product (4 where an adapter freezes it), and for causal attention 12
 * layers heads head_dim by the keys that a token sees on average: length / 2, less in a window. */
double hpc_model_config_flops(const hpc_model_config *c, int64_t length);

/* ---- tensors ------------------------------------------------------------------------ */
typedef enum hpc_part { /* a bias follows what it belongs to */
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
                        HPC_PART_N
} hpc_part;
typedef enum hpc_role {
    HPC_ROLE_MATRIX,
    HPC_ROLE_EMBEDDING, /* positions too */
    HPC_ROLE_HEAD,
    HPC_ROLE_NORM,
    HPC_ROLE_BIAS
} hpc_role;
typedef enum hpc_init { HPC_INIT_ZERO, HPC_INIT_ONE, HPC_INIT_NORMAL } hpc_init;
enum { HPC_TENSOR_NAME = 96 };
typedef struct hpc_model_tensor {
    char name[HPC_TENSOR_NAME]; /* "model.layers.3.self_attn.q_proj.weight": ours, as Llama's */
    int part, block;            /* block -1: of none */
    int adapter;                /* 0: the tensor itself, 1: its A, 2: its B */
    int role;
    int rank;
    int64_t extent[2];
    int init;
    double std;      /* of NORMAL; output projections have init_std / sqrt(2 layers) */
    bool decay;      /* matrices, the embedding and the head */
    bool trainable;  /* false of a matrix that has an adapter */
    int8_t row, col; /* dimension split over that axis of the grid, or -1: a "normal" layer splits
                        its outputs over rows and inputs over columns, a "transposed" one (o, down)
                        the reverse; words (embedding, head) lie over both, rows the coarser */
} hpc_model_tensor;
/* In the order of the forward pass; *out is the caller's to free. */
int hpc_model_tensors(hpc_model_tensor **out, int64_t *n, const hpc_model_config *c);
/* First values [first, first + n), keyed by seed and by part, block and adapter: the same for any
 * split over ranks. */
void hpc_model_init(float *out, const hpc_model_tensor *t, int64_t first, int64_t n, uint64_t seed);
/* What multiplies positions, so many numbers: head_dim * share / 2, none with learned positions. */
int64_t hpc_rope_frequencies_n(const hpc_model_config *c);
void hpc_rope_frequencies(float *out, const hpc_model_config *c);
double hpc_rope_factor(const hpc_model_config *c); /* of cos and sin: YaRN's, else 1 */

/* ---- containers ----------------------------------------------------------------------- */
/* safetensors: a header of JSON, then data. Untrusted: header at most 100 MB, every range inside
 * the file, no overlaps, no gaps, nothing behind, names unique, bytes as the shape says. */
typedef struct hpc_safetensors hpc_safetensors;
typedef struct hpc_stored_tensor {
    const char *name;
    hpc_dtype dtype; /* F32, F16, BF16, F64, I32, I64, of GGUF blocks too; others are refused when
                        asked for */
    int rank;        /* at most 8 */
    int64_t extent[8];
    const void *data; /* mapped; NULL in a list to be written */
    size_t bytes;
} hpc_stored_tensor;
int hpc_safetensors_open(hpc_safetensors **out, const char *path);
void hpc_safetensors_close(hpc_safetensors *s);
int64_t hpc_safetensors_n(const hpc_safetensors *s);
const char *hpc_safetensors_says(const hpc_safetensors *s, const char *key); /* metadata, NULL */
int hpc_safetensors_at(hpc_stored_tensor *out, const hpc_safetensors *s, int64_t i);
/* HPC_E_FORMAT names the tensor and the file when it is not there. */
int hpc_safetensors_find(hpc_stored_tensor *out, const hpc_safetensors *s, const char *name);
/* Whole or not at all. `data` writes tensor i's bytes with hpc_file_write, in the list's order;
 * metadata: name, value, ..., NULL. */
int hpc_safetensors_save(const char *path, const hpc_stored_tensor *list, int64_t n,
                         const char *const *metadata,
                         int (*data)(hpc_file_writer *w, int64_t i, void *user), void *user);

/* GGUF, version 2 or 3, little-endian: key/values, tensors' places, data. Untrusted: keys of at
 * most 65535 bytes and names of at most 127, printable ASCII, unique; no lists of lists; alignment
 * a power of two from 8 to 65536; tensors of at most 4 extents, in the order of their data,
 * aligned, with no gaps but for that, nothing behind. One part of a split model is refused. */
typedef struct hpc_gguf hpc_gguf;
typedef enum hpc_gguf_kind { /* as files number them */
                             HPC_GGUF_U8,
                             HPC_GGUF_I8,
                             HPC_GGUF_U16,
                             HPC_GGUF_I16,
                             HPC_GGUF_U32,
                             HPC_GGUF_I32,
                             HPC_GGUF_F32,
                             HPC_GGUF_BOOL,
                             HPC_GGUF_TEXT,
                             HPC_GGUF_LIST,
                             HPC_GGUF_U64,
                             HPC_GGUF_I64,
                             HPC_GGUF_F64,
                             HPC_GGUF_KIND_N
} hpc_gguf_kind;
typedef struct hpc_gguf_value {
    const char *key;
    int kind, item;   /* hpc_gguf_kind; item: of a list's items */
    int64_t n;        /* items of a list */
    const void *data; /* not aligned, not NUL-terminated: a number, a text, or a list's items back
                         to back, texts with their lengths (u64) before them */
    size_t bytes;
} hpc_gguf_value;
int hpc_gguf_open(hpc_gguf **out, const char *path);
void hpc_gguf_close(hpc_gguf *g);
const hpc_gguf_value *hpc_gguf_get(const hpc_gguf *g, const char *key); /* NULL: not there */
const hpc_gguf_value *hpc_gguf_value_at(const hpc_gguf *g, int64_t i);  /* NULL past the end */
int64_t hpc_gguf_n(const hpc_gguf *g);                                  /* tensors */
int hpc_gguf_at(hpc_stored_tensor *out, const hpc_gguf *g, int64_t i);  /* as of safetensors */
int hpc_gguf_find(hpc_stored_tensor *out, const hpc_gguf *g, const char *name);
/* Whole or not at all, as hpc_safetensors_save; version 3, alignment 32, which is added. */
int hpc_gguf_save(const char *path, const hpc_gguf_value *value, int64_t values,
                  const hpc_stored_tensor *list, int64_t n,
                  int (*data)(hpc_file_writer *w, int64_t i, void *user), void *user);

/* ---- models: a directory, or a FILE.gguf in its place ------------------------------------- */
const char *const *hpc_model_families(void); /* names, NULL-terminated */
/* config.json as the Hugging Face world writes it, which may be named itself, or the keys of a GGUF
 * of architecture llama (mistral where it has a window), qwen2, starcoder2, gptneox or gpt2; it has
 * no init_std. An unknown architecture, or one of whose keys says what we cannot do, is
 * HPC_E_UNSUPPORTED and names both. */
int hpc_model_config_read(hpc_model_config *out, const char *dir);
int hpc_model_config_load(hpc_model_config *out, const hpc_json *object);
/* Refuses a configuration that its family cannot describe, by the key. */
int hpc_model_config_write(hpc_buf *out, const hpc_model_config *c);

/* model.safetensors, or its parts by model.safetensors.index.json; or a GGUF of c's architecture,
 * with f32, f16, bf16, q8_0, q4_0, q4_K, q5_K and q6_K. All tensors of c are there, of its shapes,
 * or HPC_E_FORMAT names the first that is not; what has no place in c is HPC_E_UNSUPPORTED. A class
 * head that is not there is left to be initialised: hpc_weights_has. */
typedef struct hpc_weights hpc_weights;
int hpc_weights_open(hpc_weights **out, const char *dir, const hpc_model_config *c);
void hpc_weights_close(hpc_weights *w);
bool hpc_weights_has(const hpc_weights *w, const hpc_model_tensor *t);
/* All of t, as f32 and laid out as ours: split out of fused tensors, transposed or with the rows of
 * each head in pairs where stored so, blocks unpacked. */
int hpc_weights_read(float *out, const hpc_weights *w, const hpc_model_tensor *t);
/* config.json, model.safetensors (parts of at most part_bytes; 0: 5 GB) in the family's names and
 * fusions, generation_config.json. `read` gives tensor t as f32; adapters are merged. config.json
 * goes first and comes last: what failed has left no model. */
typedef struct hpc_weights_save_options {
    hpc_dtype dtype;
    size_t part_bytes;
    int (*read)(float *out, const hpc_model_tensor *t, void *user);
    void *user;
} hpc_weights_save_options;
int hpc_weights_save(const char *dir, const hpc_model_config *c, const hpc_weights_save_options *o);
/* One GGUF file, adapters merged, as llama.cpp reads it: q and k of a llama with the rows of each
 * head in pairs, gpt_neox's q, k and v one below the other, Llama 3's scaling of positions as
 * rope_freqs.weight. A class head is cls.output.weight, which is ours alone. What such a file
 * cannot say is HPC_E_UNSUPPORTED, by the key; gpt_neox's erf GELU is computed by tanh there.
 * Norms, biases and learned positions are f32. Matrices are of `dtype`: f32, f16, bf16, q8_0, q6_K,
 * q4_0, q4_K. Embedding and heads are q8_0 where `dtype` has 4 bits. Rows of q6_K and q4_K that
 * are not a multiple of 256 become q8_0; rows that are not a multiple of 32 become f16. `remark`
 * receives a message for each, and for what llama.cpp computes differently. */
typedef struct hpc_gguf_options {
    hpc_dtype dtype;
    const char *name; /* of the model; NULL: none */
    /* What hpc_model_tokenizer takes; NULL: none. It goes in whole, and as llama.cpp has it, with
     * no more tokens than the model has. */
    const char *tokenizer;
    const hpc_json *metadata; /* of metadata.h; NULL: none. Its general.name goes before `name` */
    int (*read)(float *out, const hpc_model_tensor *t, void *user);
    void (*remark)(const char *line, void *user); /* may be NULL */
    void *user;
} hpc_gguf_options;
int hpc_weights_save_gguf(const char *path, const hpc_model_config *c, const hpc_gguf_options *o);
/* A fine-tuned model as its differences from `base`, a FILE.gguf of the same configuration, in 1.8
 * bits per parameter: rounded, not exact. The file must be in the folder of its base, and is then
 * read like any FILE.gguf, with the tokenizer of the base. */
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
