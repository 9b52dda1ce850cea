/*
 * priv.h: declarations shared by the files of model/.
 */
#ifndef HPC_MODEL_PRIV_H
#define HPC_MODEL_PRIV_H

#include "model/emit.h"
#include "model/family.h"
#include "model/packed.h"
#include "model/tokenizer.h"

/* ---- tensors (tensor.c) ---------------------------------------------------------------- */
/* Describes a tensor; returns false if the configuration has none for these arguments. block is -1
 * for parts outside the blocks. */
bool model_tensor_at(hpc_model_tensor *out, const hpc_model_config *c, int part, int block,
                     int adapter);
/* Is the part inside a block? */
bool model_part_in_block(int part);
const char *model_part_name(int part); /* "self_attn.q_proj.weight" */
static inline int64_t model_tensor_n(const hpc_model_tensor *t)
{
    return hpc_model_tensor_n(t);
}
/* The type of its value in a program: of rank 3 if it is a batch. */
hpc_type model_tensor_type(const hpc_model_tensor *t, hpc_dtype dtype);
/* Matrix e of a batch; t itself if it is a single matrix. */
hpc_model_tensor model_tensor_entry(const hpc_model_tensor *t, int64_t e);
static inline int64_t model_tensor_entries(const hpc_model_tensor *t)
{
    return t->batch > 0 && !t->entry ? t->batch : 1;
}

/* ---- emission (block.c) ----------------------------------------------------------------- */
typedef struct model_emitter {
    hpc_program *p;
    const hpc_model_config *c;
    hpc_model_io *io;
    int64_t seed;
    hpc_axes split; /* as in hpc_model_emission */
    bool sequence;  /* as in hpc_model_emission */
    int64_t kv_heads;
    bool again;                      /* the program already has the parameters */
    const hpc_model_emission *o;     /* NULL with `serve` */
    int block;                       /* current block, or -1 */
    const hpc_serve_emission *serve; /* NULL: training program */
    const hpc_serve_io *served;
} model_emitter;
/* Adds the parameter to the program; HPC_NONE if the configuration does not have it. */
hpc_value model_param(const model_emitter *m, int part, int adapter);
hpc_value model_norm(const model_emitter *m, int part, hpc_value x);
hpc_value model_scaled(const model_emitter *m, hpc_value x, double scale); /* 0: by 1 */
/* Dropout. Site 0 is the embedding; block b has sites 2 b + 1 and 2 b + 2. */
hpc_value model_drop(const model_emitter *m, int site, hpc_value x);
hpc_value model_block(model_emitter *m, int block, hpc_value x);
/* The state of local frequencies; NONE if the configuration has none. */
hpc_value model_local_frequencies(hpc_program *p, const hpc_model_config *c);
hpc_value model_capped(const model_emitter *m, hpc_value logits);
hpc_value model_head(const model_emitter *m,
                     hpc_value x); /* logits, with a head that is not tied */

/* ---- emission of the inference program (serve.c) --------------------------------------------- */
hpc_value model_serve_weight(const model_emitter *m, int part);
/* Writes the new keys and values to the cache; q attends to the whole sequence. */
hpc_value model_serve_attention(const model_emitter *m, hpc_value q, hpc_value k, hpc_value v,
                                hpc_attention_attr attr);

/* ---- stored tensors (pieces.c) --------------------------------------------------------------- */
typedef struct model_batch { /* the matrices of all experts that were read last */
    float *data;
    char name[HPC_TENSOR_NAME];
} model_batch;
/* Reads t. If it is one matrix of a batch, all are read at once and kept for the next call. */
int model_batch_read(float *out, model_batch *b, const hpc_model_tensor *t,
                     int (*read)(float *out, const hpc_model_tensor *t, void *user), void *user);
typedef struct model_piece { /* a stored tensor */
    model_stored s;          /* storage of t[0] */
    hpc_model_tensor t[3];   /* our tensors in it: one, or three fused */
} model_piece;
typedef struct model_pieces {
    const hpc_model_config *c; /* the caller sets the first four members */
    const model_family *f;
    int (*read)(float *out, const hpc_model_tensor *t, void *user);
    void *user;
    model_piece *piece;
    hpc_stored_tensor *list; /* without data; points to the pieces' names */
    int64_t n;
    model_batch batch[3]; /* of the matrices, and of A and B of their adapters */
} model_pieces;
int model_pieces_plan(model_pieces *v, hpc_dtype dtype); /* plans all tensors with this type */
void model_pieces_type(model_pieces *v, int64_t i, hpc_dtype dtype);
/* Writes the data of tensor i. */
int model_pieces_write(hpc_file_writer *w, model_pieces *v, int64_t i);
void model_pieces_release(model_pieces *v);

/* ---- config.json (config_read.c, config_write.c) --------------------------------------------- */
const char *model_act_name(int act); /* spelling in config.json */
bool model_act_find(int *out, const char *name);
/* Name of the first member that differs between a and b, with both values; NULL: equal. Members
 * without effect are skipped. */
const char *model_config_difference(double *in_a, double *in_b, const hpc_model_config *a,
                                    const hpc_model_config *b);
double model_rope_llama3(const hpc_rope_config *r, double frequency); /* scaled (rope.c) */

/* ---- containers (safetensors.c) ------------------------------------------------------------ */
/* Parses `bytes` of data, which must stay valid until *out is closed; `name` is for messages. */
int model_safetensors_parse(hpc_safetensors **out, const void *data, size_t bytes,
                            const char *name);
const char *model_safetensors_path(const hpc_safetensors *s);
const hpc_file_view *model_safetensors_view(const hpc_safetensors *s);
const char *model_safetensors_name(const hpc_safetensors *s, int64_t i);
/* A dtype's name in the file ("BF16"); NULL: the format does not have it. */
const char *model_safetensors_dtype(hpc_dtype dtype);

/* ---- GGUF (gguf.c, gguf_write.c) ------------------------------------------------------------ */
enum { MODEL_GGUF_ALIGN = 32 };
#define MODEL_GGUF_TOKENIZER_MODEL "hpccoder.tokenizer.model"
#define MODEL_GGUF_TOKENIZER_JSON  "tokenizer.huggingface.json"
/* Like model_safetensors_parse. To parse a header alone, pass the size of the whole file as
 * file_bytes; otherwise file_bytes equals bytes. */
int model_gguf_parse(hpc_gguf **out, const void *data, size_t bytes, size_t file_bytes,
                     const char *name);
const char *model_gguf_path(const hpc_gguf *g);
const hpc_file_view *model_gguf_view(const hpc_gguf *g); /* of a split model: the first file */
const hpc_file_view *model_gguf_view_of(const hpc_gguf *g, const char *name); /* of a tensor */
int64_t model_gguf_parts(const hpc_gguf *g);                                  /* files */
const char *model_gguf_name(const hpc_gguf *g, int64_t i);                    /* of a tensor */
bool model_gguf_has(const hpc_gguf *g, const char *name);                     /* the same */
/* Reads a value; an absent key gives the fallback, or fails with MODEL_REQUIRED. A string is
 * truncated to `room`, unprintable characters become '?', and an absent one is "". */
int model_gguf_int(int64_t *out, const hpc_gguf *g, const char *key, int64_t fallback);
int model_gguf_real(double *out, const hpc_gguf *g, const char *key, double fallback);
int model_gguf_bool(bool *out, const hpc_gguf *g, const char *key, bool fallback);
int model_gguf_text(char *out, size_t room, const hpc_gguf *g, const char *key);
/* Appends everything before the data; *file_bytes is the size with the data. */
int model_gguf_header(hpc_buf *out, size_t *file_bytes, const char *path,
                      const hpc_gguf_value *value, int64_t values, const hpc_stored_tensor *list,
                      int64_t n);

/* ---- GGUF's architectures (gguf_family.c), keys (gguf_config.c) and tokenizers -------------- */
#define MODEL_GGUF_DIVISORS                                                                        \
    "rope_freqs.weight" /* divisors of frequencies: GGUF's form of Llama 3's scaling */
typedef enum model_bias {
    MODEL_BIAS_ANY,
    MODEL_BIAS_QKV,
    MODEL_BIAS_ALL,
    MODEL_BIAS_NONE
} model_bias;
typedef struct model_gguf_arch {
    const char *name;
    const char *family;   /* our family name */
    const char *windowed; /* our family name with a window; NULL: no window */
    int act, act_too;     /* hpc_act; act_too: selected by a key of ours; 0: no second one */
    model_bias biases;    /* biases that readers accept */
    bool own_head;        /* never tied; a key gives use_parallel_residual */
    bool square;          /* heads * head_dim must equal hidden */
    bool factors;         /* keys give embed_scale, residual_scale, attention_scale, logit_scale */
    bool caps;            /* keys give attention_cap and logit_cap */
    bool tied;            /* the head is always the embedding */
    int64_t window_period, rope_period; /* values that readers assume without a key */
    int64_t wide_layers;     /* models of so many layers scale scores by 1/sqrt(hidden/heads) */
    double local_theta;      /* rope.local_theta, unless a key gives it */
    bool experts, normalise; /* has experts; readers normalise their weights */
    model_family names;      /* only the members that describe storage */
} model_gguf_arch;
/* An architecture with or without experts; NULL: unknown. */
const model_gguf_arch *model_gguf_arch_find(const char *name, bool experts);
void model_gguf_archs(char *out, size_t room);                 /* all names, for messages */
const model_gguf_arch *model_gguf_arch_of(const char *family); /* the same by our family */
bool model_is_gguf(const char *path);                          /* by the suffix ".gguf" */
int model_gguf_config_read(hpc_model_config *out, const hpc_gguf *g);
void model_gguf_divisors(float *out, const hpc_model_config *c); /* one per frequency */
/* Key/value pairs to write; values are copied. `failed` keeps the first error, as in hpc_buf. A key
 * that begins with a dot is prefixed with the architecture. */
typedef struct model_gguf_list {
    hpc_arena *arena;
    hpc_gguf_value *value;
    int64_t n, cap;
    const char *arch;
    int failed;
} model_gguf_list;
void model_gguf_put(model_gguf_list *l, const char *key, int kind, const void *data, size_t bytes);
void model_gguf_put_list(model_gguf_list *l, const char *key, int item, int64_t n, const void *data,
                         size_t bytes);
void model_gguf_put_text(model_gguf_list *l, const char *key, const char *text);
void model_gguf_put_int(model_gguf_list *l, const char *key, int64_t value); /* u32 */
void model_gguf_put_bool(model_gguf_list *l, const char *key, bool value);
void model_gguf_put_config(model_gguf_list *l, const model_gguf_arch *a, const hpc_model_config *c);
/* Adds the tokenizer's keys and its file; without o->tokenizer, tokenizer.ggml.model "none". */
int model_gguf_put_tokenizer(model_gguf_list *l, const hpc_model_config *c,
                             const hpc_gguf_options *o);

/* ---- metadata (metadata.c, model_card.c) ------------------------------------------------- */
bool model_metadata_key(const char *key); /* a key of metadata.h */
int model_gguf_put_metadata(model_gguf_list *l, const hpc_json *metadata);
/* Adds the chat_template member of a tokenizer_config.json, if the metadata has one. */
int model_metadata_put_template(hpc_json_out *w, const hpc_json *metadata);
/* Reads the members in a README.md's front matter. Modifies `text`. */
int model_card_read(hpc_json_out *w, char *text);

/* ---- single-file models (files.c) ------------------------------------------------------------ */
/* For a directory or any other file, gguf and packed are NULL. */
typedef struct model_file {
    const char *path; /* owned by the caller */
    hpc_gguf *gguf;
    hpc_gguf *delta; /* differences from the base in `gguf`; NULL: a complete model */
    hpc_packed *packed;
} model_file;
int model_file_open(model_file *out, const char *path); /* close it after an error, too */
void model_file_close(model_file *f);
/* Like the functions of model.h and tokenizer.h that take a path. */
int model_file_config(hpc_model_config *out, const model_file *f);
int model_file_tokenizer(hpc_tokenizer **out, const model_file *f);
/* Keep f's GGUF open while the weights are in use. */
int model_file_weights(hpc_weights **out, const model_file *f, const hpc_model_config *c);

/* ---- differences from a base (delta.c) ------------------------------------------------------- */
/* If f->gguf is a delta file, moves it to f->delta and opens its base. */
int model_delta_open(model_file *f);
int model_delta_find(const uint8_t **out, const hpc_gguf *g, const hpc_model_tensor *t);
/* Adds the differences of rows [first, first + n) to `out`; s must have a delta. */
void model_delta_add(float *out, const model_source *s, int64_t first, int64_t n);

/* ---- tokenizers: tokenizer.c, gguf_pieces.c, gguf_pre.c -------------------------------------- */
typedef struct model_tokens {
    const char *path, *name; /* name: its file name in a directory */
    hpc_buf file;
    hpc_tokenizer *t;
    bool changed; /* add_begin or add_end differ from the file's own values */
} model_tokens;
int model_tokens_open(model_tokens *out, const char *path); /* release it after an error, too */
bool model_tokens_are_json(const model_tokens *k);
void model_tokens_release(model_tokens *k);
/* Overwrites *s with the tokens and flags in the keys; an absent key has llama.cpp's default for
 * kind llama. */
int model_gguf_specials(hpc_tokenizer_special *s, const hpc_gguf *g);
typedef struct model_mark_key {
    const char *key, *old; /* old: an earlier name, or NULL. NULL ends the list */
    hpc_special special;
} model_mark_key;
extern const model_mark_key model_mark_keys[];
/* Sets the marks that the keys name; others keep their names. */
int model_gguf_marks(hpc_tokenizer *t, const hpc_gguf *g);
enum { MODEL_PRE_NAMES = 12, MODEL_PRE_STEPS = 8 }; /* terminators included */
typedef struct model_pre {
    const char *names[MODEL_PRE_NAMES];
    hpc_tokenizer_step step[MODEL_PRE_STEPS];
    bool whole_words; /* as in hpc_tokenizer_pieces */
    bool begins;      /* adds a begin token unless the file says otherwise */
} model_pre;
const model_pre *model_pre_find(const char *name);     /* NULL: unknown */
const char *model_pre_name(const hpc_json *tokenizer); /* of a tokenizer.json; NULL: unnamed */
/* Read a member of an object; an absent one is `absent`, or "". */
bool model_json_flag(const hpc_json *object, const char *key, bool absent);
const char *model_json_word(const hpc_json *object, const char *key);

#endif
