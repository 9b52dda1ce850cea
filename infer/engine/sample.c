/*
 * sample.c: sampling from logits. Logits become weights relative to the largest. A heap yields the
 * candidates, most probable first, and a random number selects one.
 */
#include "infer/engine/sample.h"

#include <math.h>
#include <string.h>

typedef struct candidate {
    float weight; /* e to its logit less the largest, over the temperature */
    int32_t token;
} candidate;

struct hpc_sampler {
    int64_t vocab;
    float *logit;    /* as damped; -infinity: left out */
    candidate *heap; /* all that are in */
    candidate *kept; /* those that came off it */
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
    if (vocab <= 0 || vocab > INT32_MAX)
        return hpc_fail(HPC_E_ARG, "a vocabulary of %lld tokens", (long long)vocab);
    s = hpc_alloc(1, sizeof *s);
    if (!s) return HPC_E_NOMEM;
    s->vocab = vocab;
    s->logit = hpc_alloc(n, sizeof *s->logit);
    s->heap = hpc_alloc(n, sizeof *s->heap);
    s->kept = hpc_alloc(n, sizeof *s->kept);
    s->seen = hpc_alloc(n, sizeof *s->seen);
    if (!s->logit || !s->heap || !s->kept || !s->seen) {
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
    hpc_free(s->heap);
    hpc_free(s->kept);
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

/* ---- a heap of candidates: the likeliest on top, the lower number among equals ----------------
 */

static bool before(candidate a, candidate b)
{
    return a.weight > b.weight || (a.weight == b.weight && a.token < b.token);
}

static void sink(candidate *heap, int64_t n, int64_t at)
{
    candidate x = heap[at];

    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(heap[child + 1], heap[child])) child++;
        if (!before(heap[child], x)) break;
        heap[at] = heap[child];
    }
    heap[at] = x;
}

static candidate take(candidate *heap, int64_t *n)
{
    candidate top = heap[0];

    heap[0] = heap[--*n];
    if (*n > 0) sink(heap, *n, 0);
    return top;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Weights of all that are in, by number; their sum. */
static double weigh(hpc_sampler *s, const hpc_sampling *how, int64_t *n)
{
    double sum = 0, top = (double)s->logit[likeliest(s->logit, s->vocab)];

    *n = 0;
    for (int64_t t = 0; t < s->vocab; t++) {
        if (s->logit[t] == -INFINITY) continue;
        float weight = expf((float)(((double)s->logit[t] - top) / how->temperature));
        sum += (double)weight;
        s->heap[(*n)++] = (candidate){weight, (int32_t)t};
    }
    return sum;
}

/* Those with at least min_p, by number: nothing has to be sorted for that. */
static int64_t keep_probable(hpc_sampler *s, const hpc_sampling *how, int64_t n)
{
    int64_t kept = 0;

    for (int64_t k = 0; k < n; k++)
        if ((double)s->heap[k].weight >= how->min_p) s->kept[kept++] = s->heap[k];
    return kept;
}

/* The likeliest come off the heap until what was asked for is kept; how many. */
static int64_t keep_likeliest(hpc_sampler *s, const hpc_sampling *how, int64_t n, double sum)
{
    int64_t most = how->top_k > 0 && how->top_k < n ? how->top_k : n, off = 0;
    double reached = 0;

    for (int64_t at = n / 2 - 1; at >= 0; at--) sink(s->heap, n, at);
    if (most < n) { /* top_p is of what top_k left */
        for (sum = 0; off < most; off++) {
            s->kept[off] = take(s->heap, &n);
            sum += (double)s->kept[off].weight;
        }
    }
    for (int64_t k = 0; k < most; k++) {
        if (k >= off) s->kept[k] = take(s->heap, &n);
        bool enough = how->top_p < 1 && reached >= how->top_p * sum;
        if (k > 0 && (enough || (double)s->kept[k].weight < how->min_p)) return k;
        reached += (double)s->kept[k].weight;
    }
    return most;
}

static int32_t draw(const candidate *kept, int64_t n, double uniform)
{
    double sum = 0, passed = 0;

    for (int64_t k = 0; k < n; k++) sum += (double)kept[k].weight;
    for (int64_t k = 0; k + 1 < n; k++) {
        passed += (double)kept[k].weight;
        if (uniform * sum < passed) return kept[k].token;
    }
    return kept[n - 1].token;
}

/* In [0, 1), of 53 bits: those of 24 would never reach what is rarer than that. */
static double number_of(const hpc_sampling *how, const hpc_choice *c)
{
    uint64_t high = hpc_random_bits(how->seed, c->sample, c->position, 0);
    uint64_t low = hpc_random_bits(how->seed, c->sample, c->position, 1);

    return (double)((high << 32 | low) >> 11) * 0x1p-53;
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
    int64_t n;

    if (rc < 0) return rc;
    damp(s, how, from);
    if (how->temperature == 0 || how->top_k == 1) {
        *token = likeliest(s->logit, s->vocab);
    } else {
        double sum = weigh(s, how, &n);
        bool sorts = how->top_k > 0 || how->top_p < 1;
        n = sorts ? keep_likeliest(s, how, n, sum) : keep_probable(s, how, n);
        *token = draw(s->kept, n, number_of(how, from));
    }
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
