/*
 * expert.c: the gate of a mixture of experts, and tokens sorted by expert.
 */
#include "runtime/device/ref/priv.h"

/* Operands and attributes that gate and gate_grad share. */
typedef struct gate_inputs {
    const hpc_tensor *logits, *bias, *anneal, *step, *base;
    const hpc_gate_attr *attr;
} gate_inputs;

/* Row t; z and bias: space for as many numbers as there are experts. */
static hpc_gate_row row_at(const gate_inputs *g, int64_t t, double *z, double *bias)
{
    int64_t experts = hpc_tensor_cols(g->logits);
    int64_t base = present(g->base) ? hpc_ref_index(g->base, 0) : 0;
    int64_t step = present(g->step) ? hpc_ref_index(g->step, 0) : 0;
    hpc_gate_row row = {.experts = experts,
                        .first = (uint64_t)((base + g->attr->row0 + t) * experts),
                        .step = (uint32_t)step,
                        .z = z};
    for (int64_t e = 0; e < experts; e++) z[e] = hpc_ref_get(g->logits, t * experts + e);
    if (bias && present(g->bias)) {
        for (int64_t e = 0; e < experts; e++) bias[e] = hpc_ref_get(g->bias, e);
        row.bias = bias;
    }
    if (present(g->anneal)) {
        row.tau = hpc_ref_get(g->anneal, 0);
        row.threshold = hpc_ref_get(g->anneal, 1);
    }
    return row;
}

static int gate_run(const hpc_launch *l, const void *args)
{
    const hpc_gate_args *a = args;
    const gate_inputs in = {&a->logits, &a->bias, &a->anneal, &a->step, &a->base, &a->attr};
    double z[HPC_EXPERTS_MOST], bias[HPC_EXPERTS_MOST], prob[HPC_EXPERTS_MOST],
        weight[HPC_EXPERTS_MOST], lse;
    int32_t expert[HPC_EXPERTS_MOST];
    int64_t experts = hpc_tensor_cols(&a->logits), k = a->attr.k, lo, hi;
    share_rows(&lo, &hi, &a->logits, l);
    for (int64_t t = lo; t < hi && t < hpc_ref_live(&a->logits, 0, 0); t++) {
        hpc_gate_row row = row_at(&in, t, z, bias);
        hpc_gate_select(expert, weight, prob, &lse, &row, &a->attr);
        for (int64_t j = 0; j < k; j++) {
            hpc_ref_set(&a->expert, t * k + j, expert[j]);
            hpc_ref_set(&a->weight, t * k + j, weight[j]);
        }
        for (int64_t e = 0; e < experts && present(&a->prob); e++)
            hpc_ref_set(&a->prob, t * experts + e, prob[e]);
        if (present(&a->lse)) hpc_ref_set(&a->lse, t, lse);
    }
    return 0;
}

int hpc_ref_gate(hpc_plan *p, int workers, const hpc_gate_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, gate_run, "ref_gate");
}

static int gate_grad_run(const hpc_launch *l, const void *args)
{
    const hpc_gate_grad_args *a = args;
    const hpc_tensor none = {.rank = -1};
    const gate_inputs in = {&a->logits, &none, &a->anneal, &a->step, &a->base, &a->attr};
    double z[HPC_EXPERTS_MOST], dz[HPC_EXPERTS_MOST], dprob[HPC_EXPERTS_MOST],
        dweight[HPC_EXPERTS_MOST];
    int32_t expert[HPC_EXPERTS_MOST];
    int64_t experts = hpc_tensor_cols(&a->logits), k = a->attr.k, lo, hi;
    share_rows(&lo, &hi, &a->logits, l);
    for (int64_t t = lo; t < hi && t < hpc_ref_live(&a->logits, 0, 0); t++) {
        hpc_gate_row row = row_at(&in, t, z, NULL);
        for (int64_t j = 0; j < k; j++) {
            expert[j] = (int32_t)hpc_ref_index(&a->expert, t * k + j);
            if (present(&a->dweight)) dweight[j] = hpc_ref_get(&a->dweight, t * k + j);
        }
        for (int64_t e = 0; e < experts && present(&a->dprob); e++)
            dprob[e] = hpc_ref_get(&a->dprob, t * experts + e);
        double dlse = present(&a->dlse) ? hpc_ref_get(&a->dlse, t) : 0;
        hpc_gate_gradient(dz, present(&a->dweight) ? dweight : NULL,
                          present(&a->dprob) ? dprob : NULL, dlse, expert, &row, &a->attr);
        for (int64_t e = 0; e < experts; e++) hpc_ref_set(&a->dlogits, t * experts + e, dz[e]);
    }
    return 0;
}

int hpc_ref_gate_grad(hpc_plan *p, int workers, const hpc_gate_grad_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, gate_grad_run, "ref_gate_grad");
}

/* ---- dispatch ------------------------------------------------------------------ */

/* Slots of expert e, by choice and then by token: at most cap are stored, from row on. Returns how
 * many there are. */
static int64_t dispatch_expert(const hpc_dispatch_args *a, int64_t e, int64_t row)
{
    int64_t tokens = hpc_ref_live(&a->expert, 0, 0), k = hpc_tensor_cols(&a->expert), n = 0;
    for (int64_t j = 0; j < k; j++)
        for (int64_t t = 0; t < tokens; t++) {
            if (hpc_ref_index(&a->expert, t * k + j) != e) continue;
            if (a->attr.cap == 0 || n < a->attr.cap) {
                hpc_ref_set(&a->slot, row + n, (double)(t * k + j));
                hpc_ref_set(&a->token, row + n, (double)t);
                hpc_ref_set(&a->group, row + n, (double)e);
            }
            n++;
        }
    return n;
}

static int dispatch_run(const hpc_launch *l, const void *args)
{
    const hpc_dispatch_args *a = args;
    int64_t k = hpc_tensor_cols(&a->expert), n = hpc_ref_live(&a->expert, 0, 0) * k;
    int64_t row = 0, dropped = 0, slots = a->attr.tokens > 0 ? a->attr.tokens * k : n;
    if (l->worker != 0) return 0;
    for (int64_t s = 0; s < n; s++) {
        int64_t e = hpc_ref_index(&a->expert, s);
        if (e < a->attr.experts) continue;
        return hpc_fail(HPC_E_ARG, "dispatch: token %lld goes to expert %lld of %lld",
                        (long long)(s / k), (long long)e, (long long)a->attr.experts);
    }
    for (int64_t e = 0; e < a->attr.experts; e++) {
        int64_t all = dispatch_expert(a, e, row),
                kept = a->attr.cap > 0 ? least(all, a->attr.cap) : all;
        hpc_ref_set(&a->start, e, (double)row);
        hpc_ref_set(&a->load, e, slots > 0 ? (double)all * (double)k / (double)slots : 0);
        row += kept;
        dropped += all - kept;
    }
    hpc_ref_set(&a->start, a->attr.experts, (double)row);
    hpc_ref_set(&a->rows, 0, (double)row);
    hpc_ref_set(&a->dropped, 0, (double)dropped);
    return 0;
}

int hpc_ref_dispatch(hpc_plan *p, int workers, const hpc_dispatch_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, dispatch_run, "ref_dispatch");
}
