/*
 * sample.c: sampling from logits: what may be chosen, and the penalty of earlier tokens. Devices
 * share the cuts and the choice, in device/kernel/sample.h.
 */
#include "infer/engine/sample.h"

#include <math.h>
#include <string.h>

#include "infer/engine/priv.h"

struct hpc_sampler {
    int64_t vocab;
    float *logit;    /* as damped; -infinity: left out */
    void *workspace; /* hpc_sample_bytes */
    uint8_t *seen;   /* by token: has been damped */
};

/* ---- settings -------------------------------------------------------------------------------- */

hpc_sampling hpc_sampling_greedy(void)
{
    return (hpc_sampling){.top_p = 1, .repeat = 1, .repeat_last = 64};
}

int hpc_sampling_check(const hpc_sampling *s)
{
    if (!(s->temperature >= 0 && s->temperature <= 100))
        return hpc_fail(HPC_E_ARG, "temperature %g: expected 0 (most probable token) to 100",
                        s->temperature);
    if (s->top_k < 0)
        return hpc_fail(HPC_E_ARG, "top-k %lld: expected 0 (all) or more", (long long)s->top_k);
    if (!(s->top_p > 0 && s->top_p <= 1))
        return hpc_fail(HPC_E_ARG, "top-p %g: expected a number above 0, at most 1 (all)",
                        s->top_p);
    if (!(s->min_p >= 0 && s->min_p <= 1))
        return hpc_fail(HPC_E_ARG, "min-p %g: expected 0 (all) to 1", s->min_p);
    if (!(s->repeat > 0 && s->repeat <= 100))
        return hpc_fail(HPC_E_ARG, "repetition penalty %g: expected a number above 0 (1: off)",
                        s->repeat);
    if (s->repeat_last < -1)
        return hpc_fail(HPC_E_ARG, "a repetition penalty looks back %lld tokens: -1 is all",
                        (long long)s->repeat_last);
    return HPC_OK;
}

int hpc_bias_check(const hpc_bias *bias, int64_t n, int64_t vocab)
{
    for (int64_t k = 0; k < n; k++) {
        if (bias[k].token < 0 || bias[k].token >= vocab)
            return hpc_fail(HPC_E_ARG, "a bias for token %d: the vocabulary of the model has %lld",
                            bias[k].token, (long long)vocab);
        if (!(bias[k].add < INFINITY))
            return hpc_fail(HPC_E_ARG, "a bias of %g for token %d: expected a number or -infinity",
                            (double)bias[k].add, bias[k].token);
    }
    return HPC_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

int hpc_sampler_create(hpc_sampler **out, int64_t vocab)
{
    size_t n = (size_t)vocab;
    hpc_sampler *s;

    *out = NULL;
    if (vocab <= 0 || vocab > HPC_SAMPLE_VOCAB)
        return hpc_fail(HPC_E_ARG, "a vocabulary of %lld tokens", (long long)vocab);
    s = hpc_alloc(1, sizeof *s);
    if (!s) return HPC_E_NOMEM;
    s->vocab = vocab;
    s->logit = hpc_alloc(n, sizeof *s->logit);
    s->workspace = hpc_alloc(hpc_sample_bytes(vocab), 1);
    s->seen = hpc_alloc(n, sizeof *s->seen);
    if (!s->logit || !s->workspace || !s->seen) {
        hpc_sampler_free(s);
        return HPC_E_NOMEM;
    }
    *out = s;
    return HPC_OK;
}

void hpc_sampler_free(hpc_sampler *s)
{
    if (!s) return;
    hpc_free(s->logit);
    hpc_free(s->workspace);
    hpc_free(s->seen);
    hpc_free(s);
}

/* ---- what may be chosen ---------------------------------------------------------------------- */

static bool is_allowed(const hpc_choice *c, int64_t token)
{
    return !c->allowed || c->allowed[token / 32] >> (token % 32) & 1;
}

/* Once for each token of the last ones, however often it came. */
static void damp(hpc_sampler *s, const hpc_sampling *how, const hpc_choice *c)
{
    int64_t n = how->repeat_last < 0 || how->repeat_last > c->past_n ? c->past_n : how->repeat_last;

    if (how->repeat == 1 || n == 0) return;
    const int32_t *past = c->past + (c->past_n - n);
    for (int64_t i = 0; i < n; i++) {
        int32_t t = past[i];
        if (t < 0 || t >= s->vocab || s->seen[t]) continue;
        s->seen[t] = 1;
        double x = (double)s->logit[t];
        s->logit[t] = (float)(x > 0 ? x / how->repeat : x * how->repeat);
    }
    for (int64_t i = 0; i < n; i++)
        if (past[i] >= 0 && past[i] < s->vocab) s->seen[past[i]] = 0;
}

static void add_biases(hpc_sampler *s, const hpc_choice *c, int64_t *left)
{
    for (int64_t k = 0; k < c->bias_n; k++) {
        float *x = &s->logit[c->bias[k].token];
        bool before = *x > -INFINITY;
        *x += c->bias[k].add;
        *left -= before && !(*x > -INFINITY);
    }
}

static int read_logits(hpc_sampler *s, const hpc_choice *c)
{
    int64_t left = 0;

    for (int64_t t = 0; t < s->vocab; t++) {
        float x = c->logits[t];
        if (!(x < INFINITY))
            return hpc_fail(HPC_E_FORMAT, "the logit of token %lld is %s", (long long)t,
                            isnan(x) ? "NaN" : "infinity");
        s->logit[t] = is_allowed(c, t) ? x : -INFINITY;
        left += s->logit[t] > -INFINITY;
    }
    add_biases(s, c, &left);
    if (left == 0) return hpc_fail(HPC_E_STATE, "no token is left to sample from");
    return HPC_OK;
}

static int32_t likeliest(const float *x, int64_t n)
{
    int64_t best = 0;

    for (int64_t t = 1; t < n; t++)
        if (x[t] > x[best]) best = t;
    return (int32_t)best;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* In [0, 1), of 53 bits: those of 24 would never reach what is rarer than that. */
static double number_of(const hpc_sampling *s, uint32_t sample, uint32_t position)
{
    uint64_t high = hpc_random_bits(s->seed, sample, position, 0);
    uint64_t low = hpc_random_bits(s->seed, sample, position, 1);

    return (double)((high << 32 | low) >> 11) * 0x1p-53;
}

hpc_sample_how sample_how(const hpc_sampling *s, uint32_t sample, uint32_t position)
{
    const double inverse = s->temperature > 0 ? 1 / s->temperature : 0;

    return (hpc_sample_how){.inverse = isinf(inverse) ? 0 : inverse,
                            .top_p = s->top_p,
                            .least = log(s->min_p),
                            .uniform = number_of(s, sample, position),
                            .top_k = s->top_k};
}

/* log softmax of the logits as they came. */
static float logprob_of(const hpc_choice *c, int64_t vocab, int32_t token)
{
    double top = (double)c->logits[likeliest(c->logits, vocab)], sum = 0;

    for (int64_t t = 0; t < vocab; t++) sum += (double)expf((float)((double)c->logits[t] - top));
    return (float)((double)c->logits[token] - top - log(sum));
}

int hpc_sampler_draw(hpc_sampler *s, const hpc_sampling *how, const hpc_choice *from,
                     int32_t *token, float *logprob)
{
    int rc = read_logits(s, from);

    if (rc < 0) return rc;
    damp(s, how, from);
    const hpc_sample_how draws = sample_how(how, from->sample, from->position);
    *token = hpc_sample_row(&draws, s->logit, s->vocab, s->workspace);
    if (*token < 0) return hpc_fail(HPC_E_STATE, "no token is left to sample from");
    if (logprob) *logprob = logprob_of(from, s->vocab, *token);
    return HPC_OK;
}

/* Insertion into a short sorted list: n is small. */
void hpc_alternatives(hpc_alternative *out, int64_t n, const float *logits, int64_t vocab)
{
    double top = (double)logits[likeliest(logits, vocab)], sum = 0;
    int64_t have = 0;

    hpc_assert(n <= vocab);
    for (int64_t t = 0; t < vocab; t++) {
        sum += (double)expf((float)((double)logits[t] - top));
        if (have == n && (n == 0 || !(logits[t] > logits[out[n - 1].token]))) continue;
        int64_t at = have < n ? have++ : n - 1;
        for (; at > 0 && logits[t] > logits[out[at - 1].token]; at--) out[at] = out[at - 1];
        out[at].token = (int32_t)t;
    }
    for (int64_t k = 0; k < n; k++)
        out[k].logprob = (float)((double)logits[out[k].token] - top - log(sum));
}
