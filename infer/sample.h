/*
 * sample.h: from a row of logits to a token.
 *
 * In this order, which is that of transformers: what is not allowed is left out;
 * biases are added; tokens that came before are damped; all is divided by the temperature; then
 * the top_k likeliest are kept, of these the fewest that reach top_p together, and
 * of these those with at least min_p of the likeliest's probability. Among equals the
 * lower number comes first.
 *
 * The number that decides is a function of seed, sample and position, so an answer
 * depends neither on what is decided beside it nor on whether its tokens had been
 * guessed ahead: a guess is right when it is what is drawn here.
 */
#ifndef HPC_SAMPLE_H
#define HPC_SAMPLE_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_sampling {
    double temperature; /* 0: always the likeliest */
    int64_t top_k;      /* 0: all */
    double top_p;       /* 1: all */
    double min_p;       /* 0: all */
    double repeat; /* divides logits of what came before, or multiplies negative ones; 1: off */
    int64_t repeat_last; /* how many tokens back it looks; -1: all the way */
    uint64_t seed;
} hpc_sampling;

/* The likeliest, nothing damped. */
hpc_sampling hpc_sampling_greedy(void);
/* HPC_E_ARG says which number is out of its range. */
int hpc_sampling_check(const hpc_sampling *s);

typedef struct hpc_bias { /* added to the logit of a token; -infinity excludes it */
    int32_t token;
    float add;
} hpc_bias;

typedef struct hpc_choice {
    const float *logits;     /* [vocab] */
    const uint32_t *allowed; /* bit t % 32 of word t / 32 is token t's; NULL: all */
    const hpc_bias *bias;    /* [bias_n] */
    int64_t bias_n;
    const int32_t *past; /* tokens before this one, for `repeat` */
    int64_t past_n;
    uint32_t sample;   /* which of several answers */
    uint32_t position; /* of the token in its answer */
} hpc_choice;

typedef struct hpc_sampler hpc_sampler; /* memory for one vocabulary; one thread at a time */
int hpc_sampler_create(hpc_sampler **out, int64_t vocab);
void hpc_sampler_free(hpc_sampler *s);

/* HPC_E_ARG: a token that is not in the vocabulary, or a bias that is NaN or infinity. */
int hpc_bias_check(const hpc_bias *bias, int64_t n, int64_t vocab);

typedef struct hpc_alternative {
    int32_t token;
    float logprob; /* under the model itself */
} hpc_alternative;
/* The n likeliest tokens, the likeliest first; among equals the lower number. n is at most vocab.
 */
void hpc_alternatives(hpc_alternative *out, int64_t n, const float *logits, int64_t vocab);

/* logprob (optional): of the token under the model itself, whatever was left out or damped. Logits
 * of -infinity are never chosen. HPC_E_FORMAT: a logit is NaN or infinity; HPC_E_STATE: nothing is
 * left to choose from. */
int hpc_sampler_draw(hpc_sampler *s, const hpc_sampling *how, const hpc_choice *from,
                     int32_t *token, float *logprob);

#ifdef __cplusplus
}
#endif
#endif
