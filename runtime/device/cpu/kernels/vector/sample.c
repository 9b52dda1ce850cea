/*
 * sample.c: a token from each row of logits, by the sampler of device/sample.c. A worker has whole
 * rows.
 */
#include "runtime/device/cpu/kernels/priv.h"

/* The sum of all weights at temperature 1; 0 if a logit is NaN or infinity, or if all are
 * -infinity. */
static uint64_t sum_of(float *top, const float *logit, int64_t n)
{
    uint64_t sum = 0;

    *top = -INFINITY;
    for (int64_t t = 0; t < n; t++) {
        if (!(logit[t] < INFINITY)) return 0;
        if (logit[t] > *top) *top = logit[t];
    }
    if (!(*top > -INFINITY)) return 0;
    for (int64_t t = 0; t < n; t++)
        sum += hpc_sample_weight(hpc_sample_relative(1, logit[t], *top));
    return sum;
}

static int sample_run(const hpc_launch *l, const void *args)
{
    const hpc_sample_args *a = args;
    const hpc_sample_how *how = a->how.data;
    const int64_t vocab = hpc_tensor_cols(&a->logits);
    int64_t lo, hi;

    hpc_share(&lo, &hi, hpc_tensor_rows(&a->logits), 1, l->worker, l->workers);
    for (int64_t r = lo; r < hi && hpc_tensor_row_live(&a->logits, r); r++) {
        const float *logit = (const float *)a->logits.data + r * vocab;
        float top;
        uint64_t sum = sum_of(&top, logit, vocab);
        int32_t token = sum > 0 ? hpc_sample_row(how + r, logit, vocab, l->cpu.worker) : -1;
        ((int32_t *)a->token.data)[r] = token;
        ((float *)a->logprob.data)[r] = token < 0 ? 0 : hpc_sample_logprob(logit[token], top, sum);
    }
    return 0;
}

int HPC_WIDTH(cpu_sample)(hpc_plan *p, int workers, const hpc_sample_args *a)
{
    (void)workers;
    return accept(p,
                  (hpc_plan){.run = sample_run,
                             .cpu = {.worker_bytes = hpc_sample_bytes(hpc_tensor_cols(&a->logits))},
                             .name = "sample_" HPC_ISA_TEXT},
                  (const operand_check[]){{"token", &a->token, TAKES_I32},
                                          {"logprob", &a->logprob, TAKES_F32},
                                          {"logits", &a->logits, TAKES_F32},
                                          {"how", &a->how, TAKES_I64},
                                          {0}});
}
