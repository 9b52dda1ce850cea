/*
 * sample.h: a token from each row of logits: the arguments of the op, and the arithmetic that the
 * host's sampler and the kernels share, so that both draw the same token.
 *
 * Tokens are ordered by their logits, the highest first, and among equals by their numbers. Cuts
 * (top_k, top_p, least) keep the first tokens of that order. Weights are integers, so that their
 * sums do not depend on the order of additions.
 */
#ifndef HPC_SAMPLE_KERNEL_H
#define HPC_SAMPLE_KERNEL_H

#include <math.h>

#include "runtime/device/device.h"
#include "runtime/device/kernel/everywhere.h"
#include "runtime/device/kernel/update.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How one row becomes a token. Zeros: the token with the highest logit. */
typedef struct hpc_sample_how {
    double inverse; /* 1 / temperature; 0: the likeliest */
    double top_p;   /* share of the weights that is kept; 1: all */
    double least;   /* log of the least weight kept, relative to the highest; -infinity: all */
    double uniform; /* the random number, in [0, 1) */
    int64_t top_k;  /* tokens that are kept; 0: all */
} hpc_sample_how;
enum { HPC_SAMPLE_WORDS = sizeof(hpc_sample_how) / sizeof(int64_t) };

/* token[r] (i32) from logits [R,V] of f32 (f64) and how i64[R,HPC_SAMPLE_WORDS], rows of
 * hpc_sample_how. logprob[r] (f32, f64): its log-probability without cuts at temperature 1. Without
 * top_k and top_p < 1, the random number goes through tokens by number, otherwise by the order
 * above. Logits of -infinity are not drawn. A row that has a NaN or infinity, or no token, gives
 * token -1 and logprob 0. V is at most HPC_SAMPLE_VOCAB. */
typedef struct hpc_sample_args {
    hpc_tensor token, logprob, logits, how;
    hpc_no_attr attr;
} hpc_sample_args;
enum { HPC_SAMPLE_VOCAB = 1 << 21 }; /* weights of so many tokens sum up below 2^63 */

/* ---- weights --------------------------------------------------------------- */

enum { HPC_SAMPLE_ONE = 42 }; /* weight 1 is 2^42 */

/* e^z for z <= 0, rounded down to an integer. 2^f - 1 by a polynomial of degree 7 in f, in 2^-32;
 * the relative error is below 2^-30. Products alone, so that no compiler fuses an addition. */
HPC_EVERYWHERE static inline uint64_t hpc_sample_weight(double z)
{
    const double octaves = z * -1.4426950408889634; /* halvings */
    if (!(octaves < HPC_SAMPLE_ONE + 1)) return 0;
    const int64_t left = ((int64_t)(HPC_SAMPLE_ONE + 1) << 32) - (int64_t)(octaves * 4294967296.0);
    const uint64_t f = (uint64_t)left & 0xffffffffu;
    const int whole = (int)(left >> 32) - 1; /* the weight is 2^(whole + f) */
    uint64_t p = 0x15bd3;
    p = 0x99317 + (p * f >> 32);
    p = 0x57bf1a + (p * f >> 32);
    p = 0x2763464 + (p * f >> 32);
    p = 0xe3589f8 + (p * f >> 32);
    p = 0x3d7f7ba6 + (p * f >> 32);
    p = 0xb17217f9 + (p * f >> 32);
    p = (1ull << 32) + (p * f >> 32);
    return whole >= 32 ? p << (whole - 32) : p >> (32 - whole);
}

/* The difference of a logit from the highest one, `top`, times the inverse temperature. */
HPC_EVERYWHERE static inline double hpc_sample_relative(double inverse, float logit, float top)
{
    return ((double)logit - (double)top) * inverse;
}

/* The log-probability of a logit; sum: of all weights at temperature 1. */
HPC_EVERYWHERE static inline float hpc_sample_logprob(float logit, float top, uint64_t sum)
{
    return (float)((double)logit - (double)top - log((double)sum * 0x1p-42));
}

/* ---- cuts ------------------------------------------------------------------ */

/* A walk over tokens in order. It ends with the token at which the sum reaches `enough`, or exceeds
 * it if `exceeds`; after `most` tokens; and before a token below `least`, but not the first. */
typedef struct hpc_sample_walk {
    int64_t most;
    double enough, least;
    bool exceeds;
    int64_t n;     /* tokens taken so far, */
    uint64_t sum;  /* their weights, */
    int32_t token; /* and the last one */
} hpc_sample_walk;

/* Takes the next token, at z = hpc_sample_relative. Returns false if the walk ends. */
HPC_EVERYWHERE static inline bool hpc_sample_step(hpc_sample_walk *w, double z, int32_t token)
{
    if (w->n > 0 && z < w->least) return false;
    w->sum += hpc_sample_weight(z);
    w->n++;
    w->token = token;
    const bool reached = w->exceeds ? (double)w->sum > w->enough : (double)w->sum >= w->enough;
    return !reached && w->n < w->most;
}

/* The walks of a row of n tokens: those that top_k leaves; those that are kept, given the sum of
 * these (without top_k: of all); and up to the token that is drawn, given what is kept. */
HPC_EVERYWHERE static inline hpc_sample_walk hpc_sample_counted(const hpc_sample_how *h)
{
    hpc_sample_walk w = {h->top_k, INFINITY, -INFINITY, false, 0, 0, -1};
    return w;
}

HPC_EVERYWHERE static inline hpc_sample_walk hpc_sample_kept(const hpc_sample_how *h, int64_t n,
                                                             uint64_t sum)
{
    hpc_sample_walk w = {h->top_k > 0 && h->top_k < n ? h->top_k : n,
                         h->top_p < 1 ? h->top_p * (double)sum : (double)INFINITY,
                         h->least,
                         false,
                         0,
                         0,
                         -1};
    return w;
}

HPC_EVERYWHERE static inline hpc_sample_walk hpc_sample_drawn(const hpc_sample_how *h,
                                                              const hpc_sample_walk *kept)
{
    hpc_sample_walk w = {kept->n, h->uniform * (double)kept->sum, -INFINITY, true, 0, 0, -1};
    return w;
}

/* True: tokens are drawn by number. */
HPC_EVERYWHERE static inline bool hpc_sample_is_unordered(const hpc_sample_how *h)
{
    return h->top_k <= 0 && !(h->top_p < 1);
}

HPC_EVERYWHERE static inline bool hpc_sample_is_greedy(const hpc_sample_how *h)
{
    return h->inverse == 0 || h->top_k == 1;
}

/* ---- on the host (device/sample.c) ----------------------------------------- */

/* A row by its order. workspace: hpc_sample_bytes(n). Returns the token, or -1 if every logit is
 * -infinity; there is no NaN and no infinity. */
size_t hpc_sample_bytes(int64_t n);
int32_t hpc_sample_row(const hpc_sample_how *h, const float *logit, int64_t n, void *workspace);

#ifdef __cplusplus
}
#endif
#endif
