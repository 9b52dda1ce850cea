/*
 * family.h: the table of families, and how a stored tensor corresponds to ours.
 */
#ifndef HPC_MODEL_FAMILY_H
#define HPC_MODEL_FAMILY_H

#include "model/model.h"

typedef enum model_key_kind {
    MODEL_KEY_INT, /* null: 0 */
    MODEL_KEY_REAL,
    MODEL_KEY_BOOL,
    MODEL_KEY_ACT,
    MODEL_KEY_CAP,     /* a real number; null: 0 */
    MODEL_KEY_INVERSE, /* the member is 1 / x */
    MODEL_KEY_ROOT,    /* the member is 1 / sqrt(x) */
    MODEL_KEY_ALIAS, /* an integer that repeats another key for readers that require it; not read */
    MODEL_KEY_ZERO,  /* written as 0 and not read: dropout, which defaults to 0.1 there */
    MODEL_KEY_OTHER, /* another name of the key above it; read if given, not written */
    MODEL_KEY_EMPTY  /* a list that must be empty or absent; not written */
} model_key_kind;
enum { MODEL_REQUIRED = -2 }; /* as a fallback: the key is required */
/* A key of config.json and the member that it sets. A key may have several rows. */
typedef struct model_key {
    const char *name; /* NULL ends a list */
    model_key_kind kind;
    size_t offset;
    double fallback; /* value if the key is absent */
} model_key;
typedef enum model_fusion {
    MODEL_APART,
    MODEL_FUSED,      /* parts with one name are stacked: Q, K and V; gate and up */
    MODEL_INTERLEAVED /* Q, K and V stacked within each head */
} model_fusion;
typedef struct model_family {
    const char *name;         /* also model_type */
    const char *architecture; /* "Llama", of "LlamaForCausalLM" */
    const char *causal;       /* "ForCausalLM", of the same */
    const char *prefix;       /* of all names except heads; a file may omit it */
    const char *block;        /* before a block's number */
    const char *const *part;  /* names by hpc_part; parts of a fused tensor share its name */
    model_fusion fusion;
    bool transposed;         /* matrices are stored as [in,out] */
    bool paired;             /* the rows of Q and K that are rotated together are adjacent */
    bool windowed;           /* sliding_window counts only with use_sliding_window */
    bool layered;            /* layer_types may alternate */
    bool shifted;            /* weights of norms are stored minus 1 */
    bool scaled;             /* embeddings are multiplied by sqrt(hidden) */
    hpc_model_config preset; /* values that have no key */
    const model_key *key;
} model_family;
extern const model_family *const model_families[]; /* ends with NULL */
extern const model_key model_llama_keys[], model_mistral_keys[], model_qwen2_keys[],
    model_starcoder2_keys[], model_gpt_neox_keys[], model_gpt2_keys[], model_qwen3_keys[],
    model_smollm3_keys[], model_olmo2_keys[], model_granite_keys[], model_phi3_keys[],
    model_gemma_keys[], model_gemma2_keys[], model_gemma3_keys[], model_mixtral_keys[],
    model_qwen2_moe_keys[], model_qwen3_moe_keys[], model_olmoe_keys[]; /* family_keys.c */
const model_family *model_family_find(const char *name);                /* NULL: unknown */
/* How one of our tensors is stored: our row r is row model_stored_row(r) of the stored tensor, or
 * that column of a transposed one. */
typedef struct model_stored {
    char name[HPC_TENSOR_NAME + 32];
    size_t prefix_n; /* length of the name's optional prefix */
    int rank;
    int64_t extent[3]; /* of rank 3: the matrices of all experts */
    bool transposed;
    int64_t slots, slot;       /* tensors of ours in the stored one, and which of them it is */
    int64_t total;             /* rows of the stored one */
    int64_t base, run, stride; /* runs of rows begin at base, base + stride, ...; 0: one run */
    int64_t paired; /* rows of a head that interleaves its two halves; 0: not interleaved */
    float shift;    /* ours are the stored numbers plus shift */
} model_stored;
static inline int64_t model_stored_row(const model_stored *s, int64_t r)
{
    int64_t half = s->paired / 2;
    if (half) r = r - r % s->paired + r % half * 2 + r % s->paired / half;
    return r / s->run * s->stride + s->base + r % s->run;
}
int model_stored_of(model_stored *out, const model_family *f, const hpc_model_config *c,
                    const hpc_model_tensor *t);
/* One of our tensors in its file (weights.c). Rows [first, first + n) are read by weights_read.c,
 * from any number of threads. */
typedef struct model_source {
    model_stored s;
    hpc_stored_tensor t;
    const hpc_file_view *view; /* the file that holds t */
    int64_t rows, cols;        /* in our layout; cols 1: a vector */
    const uint8_t *delta;      /* differences to add when reading, or NULL */
    hpc_stored_tensor scale;   /* of blocks of f8_e4m3; data NULL: none */
    int64_t scale_block[2];    /* rows and columns that one scale multiplies */
    bool vector;               /* `delta` belongs to a vector */
} model_source;
int model_source_of(model_source *out, const hpc_weights *w, const hpc_model_tensor *t);
void model_source_read(float *out, const model_source *s, int64_t first, int64_t n);
/* model_source_copy copies rows in their stored type, blocks included; not for transposed tensors
 * (asserted). model_source_rows returns their address, or NULL if they are not contiguous in our
 * order. */
void model_source_copy(void *out, const model_source *s, int64_t first, int64_t n);
/* HPC_E_FORMAT if the factor of a block in these rows is not finite. */
int model_source_check(const model_source *s, int64_t first, int64_t n);
const void *model_source_rows(const model_source *s, int64_t first, int64_t n);
/* Lets the kernel drop the pages of rows that have been read; of a transposed tensor, all pages. */
void model_source_drop(const model_source *s, int64_t first, int64_t n);
/* Is it a tensor that readers ignore? Old versions stored masks and tables. */
bool model_is_buffer(const char *name);

#endif
