/*
 * sample.h: token sampling from a row of logits.
 *
 * The order is that of Hugging Face transformers: token mask, repetition penalty, temperature,
 * top_k, top_p, min_p. top_p keeps the fewest tokens with that total probability. min_p is
 * relative to the most probable token. Ties go to the lower token number.
 *
 * The random number is a function of seed, sample and position. Results therefore do not depend
 * on other requests in the batch or on speculative tokens: a guess is correct if it equals the
 * token drawn here.
 */
#ifndef HPC_SAMPLE_H
#define HPC_SAMPLE_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_sampling {
    double temperature;  /* 0: greedy */
    int64_t top_k;       /* 0: all */
    double top_p;        /* 1: all */
    double min_p;        /* 0: all */
    double repeat;       /* divides positive logits of past tokens, multiplies others; 1: off */
    int64_t repeat_last; /* past tokens that `repeat` covers; -1: all */
    uint64_t seed;
} hpc_sampling;

/* Greedy, without a repetition penalty. */
hpc_sampling hpc_sampling_greedy(void);
/* HPC_E_ARG: an option is out of range; the message names it. */
int hpc_sampling_check(const hpc_sampling *s);

typedef struct hpc_choice {
    const float *logits;     /* [vocab] */
    const uint32_t *allowed; /* bit t % 32 of word t / 32 is token t's; NULL: all */
    const int32_t *past;     /* tokens before this one, for `repeat` */
    int64_t past_n;
    uint32_t sample;   /* index among answers to the same prompt */
    uint32_t position; /* of the token; hpc_engine counts from the start of the prompt */
} hpc_choice;

typedef struct hpc_sampler hpc_sampler; /* memory for one vocabulary; one thread at a time */
int hpc_sampler_create(hpc_sampler **out, int64_t vocab);
void hpc_sampler_free(hpc_sampler *s);

/* logprob (may be NULL): natural log probability by the unmodified logits. Tokens with a logit of
 * -infinity are never drawn. HPC_E_FORMAT: a logit is NaN or +infinity. HPC_E_STATE: the mask and
 * the logits leave no token. */
int hpc_sampler_draw(hpc_sampler *s, const hpc_sampling *how, const hpc_choice *from,
                     int32_t *token, float *logprob);

#ifdef __cplusplus
}
#endif
#endif
