/*
 * gate.c: one row of the gate of a mixture of experts, and its gradient, in double.
 */
#include <math.h>

#include "runtime/device/priv.h"

static double softmax(double *out, const double *z, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t e = 0; e < n; e++) most = z[e] > most || isnan(z[e]) ? z[e] : most;
    for (int64_t e = 0; e < n; e++) sum += out[e] = exp(z[e] - most);
    for (int64_t e = 0; e < n; e++) out[e] /= sum;
    return most + log(sum);
}

/* Softmax of the noisy logits. */
static void noisy_scores(double *out, const hpc_gate_row *row, const hpc_gate_attr *attr)
{
    for (int64_t e = 0; e < row->experts; e++) {
        double noise = 0;
        if ((int32_t)row->step >= 0) {
            uint32_t bits = hpc_random_bits((uint64_t)attr->seed, (uint32_t)attr->tensor, row->step,
                                            row->first + (uint64_t)e);
            noise = -log(-log(((bits >> 8) + 0.5) * 0x1p-24));
        }
        out[e] = (row->z[e] + noise) / row->tau;
    }
    softmax(out, out, row->experts);
}

static double probabilities(double *p, const hpc_gate_row *row, const hpc_gate_attr *attr)
{
    double lse = softmax(p, row->z, row->experts);
    for (int64_t e = 0; e < row->experts && attr->kind == HPC_GATE_SIGMOID; e++)
        p[e] = 1 / (1 + exp(-row->z[e]));
    return lse;
}

static double divisor(const double *raw, const hpc_gate_attr *attr)
{
    double sum = attr->kind == HPC_GATE_SIGMOID ? 1e-20 : 0;
    for (int64_t j = 0; j < attr->k; j++) sum += raw[j];
    return attr->normalise ? sum : 1;
}

/* Inserts (e, s) into a list of the n best, descending. */
static int64_t insert(int32_t *expert, double *best, int64_t n, int64_t k, int32_t e, double s)
{
    int64_t at = n;
    while (at > 0 && s > best[at - 1]) at--;
    if (at == k) return n;
    n = n < k ? n + 1 : k;
    for (int64_t j = n - 1; j > at; j--) expert[j] = expert[j - 1], best[j] = best[j - 1];
    expert[at] = e;
    best[at] = s;
    return n;
}

void hpc_gate_select(int32_t *expert, double *weight, double *prob, double *lse,
                     const hpc_gate_row *row, const hpc_gate_attr *attr)
{
    double score[HPC_EXPERTS_MOST], best[HPC_EXPERTS_MOST];
    int64_t n = 0;
    *lse = probabilities(prob, row, attr);
    if (row->tau > 0)
        noisy_scores(score, row, attr);
    else
        for (int64_t e = 0; e < row->experts; e++)
            score[e] = prob[e] + (row->bias ? row->bias[e] : 0);
    for (int64_t e = 0; e < row->experts; e++)
        n = insert(expert, best, n, attr->k, (int32_t)e, score[e]);
    hpc_assert(n == attr->k);
    for (int64_t j = 0; j < n; j++) {
        if (row->tau > 0 && j > 0 && !(best[j] > row->threshold)) expert[j] = -1;
        weight[j] = expert[j] < 0 ? 0 : attr->noisy ? best[j] : prob[expert[j]];
    }
    double by = attr->scale / divisor(weight, attr);
    for (int64_t j = 0; j < attr->k; j++) weight[j] *= by;
}

/* dz += the gradient that passes a softmax with results p, for z divided by tau. */
static void through_softmax(double *dz, const double *p, const double *dp, double tau, int64_t n)
{
    double sum = 0;
    for (int64_t e = 0; e < n; e++) sum += p[e] * dp[e];
    for (int64_t e = 0; e < n; e++) dz[e] += p[e] * (dp[e] - sum) / tau;
}

/* dp += the gradient of the unscaled weights p[expert[j]]. */
static void through_weights(double *dp, const double *p, const double *dweight,
                            const int32_t *expert, const hpc_gate_attr *attr)
{
    double raw[HPC_EXPERTS_MOST], dot = 0;
    for (int64_t j = 0; j < attr->k; j++) {
        raw[j] = expert[j] < 0 ? 0 : p[expert[j]];
        dot += attr->scale * dweight[j] * raw[j];
    }
    double by = divisor(raw, attr), shared = attr->normalise ? dot / (by * by) : 0;
    for (int64_t j = 0; j < attr->k; j++)
        if (expert[j] >= 0) dp[expert[j]] += attr->scale * dweight[j] / by - shared;
}

void hpc_gate_gradient(double *dz, const double *dweight, const double *dprob, double dlse,
                       const int32_t *expert, const hpc_gate_row *row, const hpc_gate_attr *attr)
{
    double p[HPC_EXPERTS_MOST], score[HPC_EXPERTS_MOST], dp[HPC_EXPERTS_MOST];
    int64_t n = row->experts;
    bool noisy = row->tau > 0 && attr->noisy;
    softmax(p, row->z, n);
    for (int64_t e = 0; e < n; e++) dz[e] = dlse * p[e], dp[e] = dprob ? dprob[e] : 0;
    probabilities(p, row, attr);
    if (dweight && !noisy) through_weights(dp, p, dweight, expert, attr);
    if (attr->kind == HPC_GATE_SOFTMAX)
        through_softmax(dz, p, dp, 1, n);
    else
        for (int64_t e = 0; e < n; e++) dz[e] += dp[e] * p[e] * (1 - p[e]);
    if (!dweight || !noisy) return;
    for (int64_t e = 0; e < n; e++) dp[e] = 0;
    noisy_scores(score, row, attr);
    through_weights(dp, score, dweight, expert, attr);
    through_softmax(dz, score, dp, row->tau, n);
}
