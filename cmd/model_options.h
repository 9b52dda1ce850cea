/*
 * model_options.h: the options that describe a model and a step, shared by the
 * commands that emit one.
 */
#ifndef HPC_CMD_MODEL_OPTIONS_H
#define HPC_CMD_MODEL_OPTIONS_H

#include <string.h>

#include "train/train.h"

typedef struct model_options {
    int64_t vocab, hidden, layers, heads, kv_heads, ffn;
    int64_t sequences, length;
    double dropout;
    bool tied;
    const char *dtype;
} model_options;

static const char *const compute_dtypes[] = {"f32", "bf16", NULL};

static inline hpc_dtype compute_dtype(const char *name)
{
    return strcmp(name, "bf16") == 0 ? HPC_BF16 : HPC_F32;
}

/* Rows for an option table whose struct holds a model_options at `base`. */
#define MODEL_INT(field, text, value, base, what)                                                  \
    {                                                                                              \
        .name = text, .kind = HPC_INT, .offset = (base) + offsetof(model_options, field),          \
        .fallback = value, .argument = "N", .least = 1, .most = 1e9, .help = what                  \
    }
#define MODEL_OPTIONS(base)                                                                        \
    MODEL_INT(vocab, "vocab", "256", base, "Size of the vocabulary."),                             \
        MODEL_INT(hidden, "hidden", "128", base, "Width of the residual stream."),                 \
        MODEL_INT(layers, "layers", "2", base, "Number of blocks."),                               \
        MODEL_INT(heads, "heads", "4", base, "Query heads."),                                      \
        MODEL_INT(kv_heads, "kv-heads", "2", base, "Key and value heads; a divisor of --heads."),  \
        MODEL_INT(ffn, "ffn", "352", base, "Width of the SwiGLU."),                                \
        MODEL_INT(sequences, "sequences", "8", base, "Sequences in a step."),                      \
        MODEL_INT(length, "length", "64", base, "Tokens in a sequence."),                          \
        {.name = "dropout",                                                                        \
         .kind = HPC_REAL,                                                                         \
         .offset = (base) + offsetof(model_options, dropout),                                      \
         .fallback = "0",                                                                          \
         .argument = "P",                                                                          \
         .most = 0.99,                                                                             \
         .help = "Dropout rate after embedding, attention and MLP."},                              \
        {.name = "dtype",                                                                          \
         .kind = HPC_CHOICE,                                                                       \
         .offset = (base) + offsetof(model_options, dtype),                                        \
         .fallback = "f32",                                                                        \
         .choices = compute_dtypes,                                                                \
         .help = "Type of parameters and activations in computation; bf16 keeps f32 master "       \
                 "parameters."},                                                                   \
    {                                                                                              \
        .name = "tied", .kind = HPC_FLAG, .offset = (base) + offsetof(model_options, tied),        \
        .help = "Use the embedding as the head."                                                   \
    }

static inline hpc_model_config model_config_of(const model_options *o)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.vocab = o->vocab;
    c.hidden = o->hidden;
    c.layers = o->layers;
    c.heads = o->heads;
    c.kv_heads = o->kv_heads;
    c.ffn = o->ffn;
    c.dropout = o->dropout;
    c.tied = o->tied;
    c.positions = o->length;
    c.dtype = compute_dtype(o->dtype);
    return c;
}

#endif
