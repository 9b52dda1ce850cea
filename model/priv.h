/*
 * priv.h: what the files of model/ share.
 */
#ifndef HPC_MODEL_PRIV_H
#define HPC_MODEL_PRIV_H

#include "model/emit.h"
#include "model/packed.h"
#include "model/tokenizer.h"

/* ---- tensors (tensor.c) ---------------------------------------------------------------- */
/* False where the configuration has no such tensor. block: -1 for a part of none. */
bool model_tensor_at(hpc_model_tensor *out, const hpc_model_config *c, int part, int block,
                     int adapter);
/* Parts of a block; the others stand alone. */
bool model_part_in_block(int part);
const char *model_part_name(int part); /* "self_attn.q_proj.weight" */
static inline int64_t model_tensor_n(const hpc_model_tensor *t)
{
    return t->rank == 2 ? t->extent[0] * t->extent[1] : t->extent[0];
}

/* ---- emission (block.c) ----------------------------------------------------------------- */
typedef struct model_emitter {
    hpc_program *p;
    const hpc_model_config *c;
    hpc_model_io *io;
    int64_t seed;
    hpc_axes split; /* as in hpc_model_emission */
    bool sequence;  /* the same */
    int64_t kv_heads;
    bool again;                      /* parameters are there already */
    int block;                       /* the one being emitted, or -1 */
    const hpc_serve_emission *serve; /* NULL: for training */
    const hpc_serve_io *served;
} model_emitter;
/* The parameter, new on the program; HPC_NONE where the configuration has none such. */
hpc_value model_param(const model_emitter *m, int part, int adapter);
hpc_value model_norm(const model_emitter *m, int part, hpc_value x);
/* Site 0 is the embedding's; block b has 2 b + 1 and 2 b + 2. */
hpc_value model_drop(const model_emitter *m, int site, hpc_value x);
hpc_value model_block(model_emitter *m, int block, hpc_value x);
hpc_value model_head(const model_emitter *m,
                     hpc_value x); /* logits, where it is a tensor of its own */

/* ---- emission of what answers (serve.c) --------------------------------------------------------
 */
hpc_value model_serve_weight(const model_emitter *m, int part);
/* The new keys and values go to the cache, and q sees all of its sequence. */
hpc_value model_serve_attention(const model_emitter *m, hpc_value q, hpc_value k, hpc_value v,
                                hpc_attention_attr attr);

/* ---- families (family.c) -------------------------------------------------------------------- */
typedef enum model_key_kind {
    MODEL_KEY_INT, /* null: 0 */
    MODEL_KEY_REAL,
    MODEL_KEY_BOOL,
    MODEL_KEY_ACT,
    MODEL_KEY_ALIAS, /* an integer that repeats another key for readers that require it; not read */
    MODEL_KEY_ZERO   /* written as 0 and not read: dropout, which defaults to 0.1 there */
} model_key_kind;
enum { MODEL_REQUIRED = -2 }; /* as a fallback: there must be the key */
/* A key of config.json and the member that it sets; one key may have several rows. */
typedef struct model_key {
    const char *name; /* NULL ends a list */
    model_key_kind kind;
    size_t offset;
    double fallback; /* what the family takes where the key is absent */
} model_key;
typedef enum model_fusion {
    MODEL_APART,
    MODEL_FUSED,      /* Q, K and V in one tensor, one below the other */
    MODEL_INTERLEAVED /* the same for each head */
} model_fusion;
typedef struct model_family {
    const char *name;         /* also model_type */
    const char *architecture; /* "Llama", of "LlamaForCausalLM" */
    const char *causal;       /* "ForCausalLM", of the same */
    const char *prefix;       /* of all names but those of heads; files may lack it */
    const char *block;        /* before a block's number */
    const char *const *part;  /* names by hpc_part; of a fused tensor three times the same */
    model_fusion fusion;
    bool transposed;         /* matrices are stored as [in,out] */
    bool paired;             /* rows of Q and K: those that are turned together are neighbours */
    bool windowed;           /* sliding_window counts only with use_sliding_window */
    hpc_model_config preset; /* what no key says */
    const model_key *key;
} model_family;
extern const model_family *const model_families[];       /* ends with NULL */
const model_family *model_family_find(const char *name); /* NULL: there is none */
/* How a tensor of ours is stored: row r of ours is row model_stored_row of the stored tensor, or
 * that column of a transposed one. */
typedef struct model_stored {
    char name[HPC_TENSOR_NAME + 32];
    size_t prefix_n; /* of the name: what files may lack */
    int rank;
    int64_t extent[2];
    bool transposed;
    int64_t slots, slot, run;
    int64_t paired; /* rows of a head whose halves are stored one row of each in turn; 0: they are
                       not */
} model_stored;
static inline int64_t model_stored_row(const model_stored *s, int64_t r)
{
    int64_t half = s->paired / 2;
    if (half) r = r - r % s->paired + r % half * 2 + r % s->paired / half;
    return r / s->run * s->run * s->slots + s->slot * s->run + r % s->run;
}
int model_stored_of(model_stored *out, const model_family *f, const hpc_model_config *c,
                    const hpc_model_tensor *t);
/* A tensor of ours in its file (weights.c), whose rows [first, first + n) are read
 * (weights_read.c), by many threads if need be. */
typedef struct model_source {
    model_stored s;
    hpc_stored_tensor t;
    const hpc_file_view *view; /* that t lies in */
    int64_t rows, cols;        /* of ours; cols 1: a vector */
    const uint8_t *delta;      /* differences that reading adds, or NULL */
    bool vector;               /* of delta */
} model_source;
int model_source_of(model_source *out, const hpc_weights *w, const hpc_model_tensor *t);
void model_source_read(float *out, const model_source *s, int64_t first, int64_t n);
/* As they are stored, if that is as rows (s.transposed is false), blocks and all; and where they
 * lie, NULL if not one behind the other. */
void model_source_copy(void *out, const model_source *s, int64_t first, int64_t n);
const void *model_source_rows(const model_source *s, int64_t first, int64_t n);
/* They have been read: what of them is in memory may go; of a transposed tensor, all of it. */
void model_source_drop(const model_source *s, int64_t first, int64_t n);
/* Tensors that files may hold and readers ignore: masks and tables that old versions stored. */
bool model_is_buffer(const char *name);

/* ---- tensors as they are written (pieces.c) ------------------------------------------------- */
typedef struct model_piece { /* a stored tensor */
    model_stored s;          /* of the first */
    hpc_model_tensor t[3];   /* ours that make it up: one, or three that are fused */
} model_piece;
typedef struct model_pieces {
    const hpc_model_config *c; /* the first four members are the caller's */
    const model_family *f;
    int (*read)(float *out, const hpc_model_tensor *t, void *user);
    void *user;
    model_piece *piece;
    hpc_stored_tensor *list; /* without data; names are the pieces' */
    int64_t n;
} model_pieces;
int model_pieces_plan(model_pieces *v, hpc_dtype dtype); /* all of that type */
void model_pieces_type(model_pieces *v, int64_t i, hpc_dtype dtype);
int model_pieces_write(hpc_file_writer *w, const model_pieces *v, int64_t i); /* its data */
void model_pieces_release(model_pieces *v);

/* ---- config.json (config_read.c) ------------------------------------------------------------ */
const char *model_act_name(int act); /* as config.json has it */
bool model_act_find(int *out, const char *name);
/* The first member that says something else in b than in a, by name; NULL: there is none. Members
 * that mean nothing are passed over. */
const char *model_config_difference(double *in_a, double *in_b, const hpc_model_config *a,
                                    const hpc_model_config *b);
double model_rope_llama3(const hpc_rope_config *r, double frequency); /* stretched (rope.c) */

/* ---- containers (safetensors.c) ------------------------------------------------------------ */
/* Of bytes that stay where they are as long as *out is used; `name` for messages. */
int model_safetensors_parse(hpc_safetensors **out, const void *data, size_t bytes,
                            const char *name);
const char *model_safetensors_path(const hpc_safetensors *s);
const hpc_file_view *model_safetensors_view(const hpc_safetensors *s);
const char *model_safetensors_name(const hpc_safetensors *s, int64_t i);
/* How a file spells a dtype, "BF16"; NULL: it has no name for it. */
const char *model_safetensors_dtype(hpc_dtype dtype);

/* ---- GGUF (gguf.c, gguf_write.c) ------------------------------------------------------------ */
enum { MODEL_GGUF_ALIGN = 32 };
#define MODEL_GGUF_TOKENIZER_MODEL "hpccoder.tokenizer.model"
#define MODEL_GGUF_TOKENIZER_JSON  "tokenizer.huggingface.json"
typedef struct model_gguf_type {
    uint32_t number;
    const char *name;
    int64_t block;
    size_t bytes; /* of a block */
    int ours;     /* hpc_dtype, or -1 */
} model_gguf_type;
const model_gguf_type *model_gguf_type_of(hpc_dtype dtype); /* NULL: there is none */
size_t model_gguf_kind_bytes(int kind);                     /* of a number; 0: of a text, a list */
/* As model_safetensors_parse. A header alone passes as a file of file_bytes, else that is `bytes`.
 */
int model_gguf_parse(hpc_gguf **out, const void *data, size_t bytes, size_t file_bytes,
                     const char *name);
const char *model_gguf_path(const hpc_gguf *g);
const hpc_file_view *model_gguf_view(const hpc_gguf *g);
const char *model_gguf_name(const hpc_gguf *g, int64_t i); /* of a tensor */
bool model_gguf_has(const hpc_gguf *g, const char *name);  /* the same */
/* A value, or the fallback where the key is not there; with MODEL_REQUIRED it must be. A text is
 * cut to its room and has '?' for what does not print; "" where there is none. */
int model_gguf_int(int64_t *out, const hpc_gguf *g, const char *key, int64_t fallback);
int model_gguf_real(double *out, const hpc_gguf *g, const char *key, double fallback);
int model_gguf_bool(bool *out, const hpc_gguf *g, const char *key, bool fallback);
int model_gguf_text(char *out, size_t room, const hpc_gguf *g, const char *key);
/* Appends all that comes before the data; file_bytes: with the data. */
int model_gguf_header(hpc_buf *out, size_t *file_bytes, const char *path,
                      const hpc_gguf_value *value, int64_t values, const hpc_stored_tensor *list,
                      int64_t n);

/* ---- GGUF's architectures (gguf_family.c), keys (gguf_config.c) and tokenizers -------------- */
#define MODEL_GGUF_DIVISORS                                                                        \
    "rope_freqs.weight" /* of frequencies: how Llama 3's scaling is stored */
typedef enum model_bias { MODEL_BIAS_ANY, MODEL_BIAS_QKV, MODEL_BIAS_ALL } model_bias;
typedef struct model_gguf_arch {
    const char *name;
    const char *family;   /* ours, */
    const char *windowed; /* that with a window, or NULL: it has none */
    int act, act_too;     /* hpc_act; act_too: told by a key of ours, 0: there is none */
    model_bias biases;    /* what readers of it take */
    bool own_head;        /* it cannot be tied; and a key says whether the residual is parallel */
    bool square;          /* its heads together are as wide as the model */
    model_family names;   /* no more than how tensors are stored */
} model_gguf_arch;
const model_gguf_arch *model_gguf_arch_find(const char *name); /* NULL: not known */
const model_gguf_arch *model_gguf_arch_of(const char *family); /* the same by our family */
bool model_is_gguf(const char *path);                          /* by its name */
int model_gguf_config_read(hpc_model_config *out, const hpc_gguf *g);
void model_gguf_divisors(float *out, const hpc_model_config *c); /* as many as frequencies */
/* Values to be written, copied; `failed` stays, as in a hpc_buf. A key that begins with a dot gets
 * the architecture before it. */
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
void model_gguf_put_real(model_gguf_list *l, const char *key, double value); /* f32 */
void model_gguf_put_bool(model_gguf_list *l, const char *key, bool value);
void model_gguf_put_config(model_gguf_list *l, const model_gguf_arch *a, const hpc_model_config *c);
/* The tokenizer's keys, with its file; path NULL: that there is none. */
int model_gguf_put_tokenizer(model_gguf_list *l, const hpc_model_config *c,
                             const hpc_gguf_options *o);

/* ---- metadata (metadata.c, model_card.c) ------------------------------------------------- */
bool model_metadata_key(const char *key); /* one of metadata.h's */
int model_gguf_put_metadata(model_gguf_list *l, const hpc_json *metadata);
/* A tokenizer_config.json's chat_template, where there is one. */
int model_metadata_put_template(hpc_json_out *w, const hpc_json *metadata);
/* The members that a README.md's front matter states; cuts `text` into them. */
int model_card_read(hpc_json_out *w, char *text);

/* ---- the file that a model may be (files.c) -------------------------------------------- */
/* Neither of the two is there where the path is a directory, or another file. */
typedef struct model_file {
    const char *path; /* the caller's */
    hpc_gguf *gguf;
    hpc_gguf *delta; /* differences from gguf, which is their base; NULL: a whole model */
    hpc_packed *packed;
} model_file;
int model_file_open(model_file *out, const char *path); /* close it either way */
void model_file_close(model_file *f);
/* As the functions of model.h and tokenizer.h that take a path. */
int model_file_config(hpc_model_config *out, const model_file *f);
int model_file_tokenizer(hpc_tokenizer **out, const model_file *f);
/* f's GGUF stays open as long as they are used. */
int model_file_weights(hpc_weights **out, const model_file *f, const hpc_model_config *c);

/* ---- differences from a base (delta.c) ---------------------------------------------------------
 */
/* f->gguf may be a delta: then it becomes f->delta, and its base is opened. */
int model_delta_open(model_file *f);
int model_delta_find(const uint8_t **out, const hpc_gguf *g, const hpc_model_tensor *t);
/* Rows [first, first + n) of s, which has a delta. */
void model_delta_add(float *out, const model_source *s, int64_t first, int64_t n);

/* ---- tokenizers (tokenizer.c), GGUF's (gguf_pieces.c) and its names of steps (gguf_pre.c) ---- */
typedef struct model_tokens {
    const char *path, *name; /* name: of its file in a directory */
    hpc_buf file;
    hpc_tokenizer *t;
    bool changed; /* keys beside the file say otherwise whether tokens go around a text */
} model_tokens;
int model_tokens_open(model_tokens *out, const char *path); /* release it either way */
bool model_tokens_are_json(const model_tokens *k);
void model_tokens_release(model_tokens *k);
/* What the keys say, and in their absence what llama.cpp takes of kind llama, over *s. */
int model_gguf_specials(hpc_tokenizer_special *s, const hpc_gguf *g);
enum { MODEL_PRE_NAMES = 12, MODEL_PRE_STEPS = 8 }; /* with what ends them */
typedef struct model_pre {
    const char *names[MODEL_PRE_NAMES];
    hpc_tokenizer_step step[MODEL_PRE_STEPS];
    bool whole_words; /* as in hpc_tokenizer_pieces */
    bool begins;      /* a text gets a begin token unless the file says that it does not */
} model_pre;
const model_pre *model_pre_find(const char *name);     /* NULL: not known */
const char *model_pre_name(const hpc_json *tokenizer); /* of a tokenizer.json; NULL: it has none */
/* Members of an object, or if it has no such ones `absent` and "". */
bool model_json_flag(const hpc_json *object, const char *key, bool absent);
const char *model_json_word(const hpc_json *object, const char *key);

#endif
