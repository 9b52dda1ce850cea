/*
 * sample.h: chooses a token from a row of logits.
 *
 * The order of steps equals that of transformers: exclude tokens that are not allowed; add biases;
 * apply the repetition penalty; divide by the temperature. Then keep the top_k likeliest; keep the
 * fewest of these that reach top_p together; keep those with at least min_p of the highest
 * probability. Of equal logits, the lower token number comes first.
 *
 * The random number is a function of seed, sample and position. So an answer does not depend on
 * other answers, nor on draft tokens: a draft is accepted if it equals the token drawn here.
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
    double repeat; /* divides positive logits of earlier tokens, multiplies negative ones; 1: off */
    int64_t repeat_last; /* number of earlier tokens that count; -1: all */
    uint64_t seed;
} hpc_sampling;

/* The likeliest token, without a repetition penalty. */
hpc_sampling hpc_sampling_greedy(void);
/* HPC_E_ARG: a number is out of its range; the message names it. */
int hpc_sampling_check(const hpc_sampling *s);

typedef struct hpc_bias { /* added to the logit of a token; -infinity excludes it */
    int32_t token;
    float add;
} hpc_bias;

typedef struct hpc_choice {
    const float *logits;     /* [vocab] */
    const uint32_t *allowed; /* bit t % 32 of word t / 32 is token t's; NULL: all */
    const hpc_bias *bias;    /* [bias_n], as hpc_bias_check accepts */
    int64_t bias_n;
    const int32_t *past; /* tokens before this one, for `repeat` */
    int64_t past_n;
    uint32_t sample;   /* which of several answers */
    uint32_t position; /* of the token; hpc_engine counts from the start of the prompt */
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

/* logprob (may be NULL): the token's log-probability under the model, before any of these steps.
 * Logits of -infinity are never chosen. HPC_E_FORMAT: a logit is NaN or infinity; HPC_E_STATE: no
 * token is left. */
int hpc_sampler_draw(hpc_sampler *s, const hpc_sampling *how, const hpc_choice *from,
                     int32_t *token, float *logprob);

#ifdef __cplusplus
}
#endif
#endif
