/*
 * model.h: configurations of transformers, and the programs that they emit.
 *
 * Here are the blocks of the Llama shape: RMSNorm, rotary positions,
 * grouped-query attention, SwiGLU. Names of parameters are those of the Hugging
 * Face world.
 */
#ifndef HPC_MODEL_H
#define HPC_MODEL_H

#include "runtime/program/op/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_model_config {
    int64_t vocab, hidden, layers, heads, kv_heads, ffn;
    double norm_eps, rope_theta;
    double dropout;  /* after attention and MLP; 0: none */
    bool tied;       /* the head is the embedding */
    hpc_dtype dtype; /* of parameters and activations */
} hpc_model_config;
#define HPC_MODEL_CONFIG_DEFAULTS                                                                  \
    {                                                                                              \
        .vocab = 256, .hidden = 128, .layers = 2, .heads = 4, .kv_heads = 2, .ffn = 352,           \
        .norm_eps = 1e-5, .rope_theta = 10000, .dtype = HPC_F32                                    \
    }
/* Contradictions name the key and both numbers. */
int hpc_model_config_check(const hpc_model_config *c);
int64_t hpc_model_config_params(const hpc_model_config *c);

typedef struct hpc_optimizer_config {
    double beta1, beta2, eps, decay; /* AdamW; matrices alone decay */
} hpc_optimizer_config;
#define HPC_OPTIMIZER_CONFIG_DEFAULTS                                                              \
    {                                                                                              \
        .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay = 0.1                                     \
    }

/* Where a training step's numbers go in and come out. T tokens in up to S sequences. */
typedef struct hpc_training {
    int forward, backward, update; /* segments */
    hpc_value tokens, targets;     /* i32[T]; a negative target is not counted */
    hpc_value pos;                 /* i32[T]: position within its sequence */
    hpc_value start, start_n;      /* i32[S+1] ragged, and its count (sequences + 1), i32 */
    hpc_value freq;                /* rotary frequencies, state, hidden / heads / 2 */
    hpc_value weight;              /* f32[T]: the gradient of the sum by each token's loss */
    hpc_value loss;                /* f32[T], kept */
    hpc_value lr, step;            /* f32, i32 scalars; step also keys dropout */
} hpc_training;

/* forward[0], backward[0], update[0] on p; the tokens' values are split over the data axis. */
int hpc_model_emit_training(hpc_training *io, hpc_program *p, const hpc_model_config *c,
                            const hpc_optimizer_config *o, int64_t tokens, int64_t sequences);
/* One block: x [T,hidden] to x. Parameters are made on p under "model.layers.INDEX.". */
hpc_value hpc_model_emit_block(hpc_program *p, const hpc_model_config *c, int index, hpc_value x,
                               const hpc_training *io);

/* Rotary frequencies theta^(-2i/d), i < d/2. */
void hpc_rope_frequencies(float *out, int64_t d, double theta);
/* Initial value of a trainable state: ones for norms, else normal(0, 0.02), keyed by seed and by
 * the value's index among trainable state. out holds all elements, f32. */
int hpc_model_init(float *out, const hpc_program *p, hpc_value v, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
