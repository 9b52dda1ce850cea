/*
 * expert.c: the gate of a mixture of experts, and tokens sorted by expert. Rows of the gate are
 * computed in double (device/gate.c): the products take far longer.
 */
#include "runtime/device/cpu/kernels/priv.h"

static void to_double(double *out, const hpc_tensor *t, int64_t at, int64_t n)
{
    float buffer[CHUNK];

    for (int64_t i = 0, part; i < n; i += part) {
        part = least(CHUNK, n - i);
        const float *x = load(buffer, t, at + i, part);
        for (int64_t j = 0; j < part; j++) out[i + j] = x[j];
    }
}

static void from_double(const hpc_tensor *t, int64_t at, const double *x, int64_t n)
{
    float buffer[CHUNK];

    for (int64_t i = 0, part; i < n; i += part) {
        part = least(CHUNK, n - i);
        for (int64_t j = 0; j < part; j++) buffer[j] = (float)x[i + j];
        store(t, at + i, buffer, part);
    }
}

/* Operands and attributes that gate and gate_grad share. */
typedef struct gate_inputs {
    const hpc_tensor *logits, *bias, *anneal, *step, *base;
    const hpc_gate_attr *attr;
} gate_inputs;

/* Row t; z and bias: space for as many numbers as there are experts. */
static hpc_gate_row row_at(const gate_inputs *g, int64_t t, double *z, double *bias)
{
    int64_t experts = hpc_tensor_cols(g->logits);
    int64_t base = g->base->data ? *(const int64_t *)g->base->data : 0;
    hpc_gate_row row = {.experts = experts,
                        .first = (uint64_t)((base + g->attr->row0 + t) * experts),
                        .step = g->step->data ? *(const uint32_t *)g->step->data : 0,
                        .z = z};

    to_double(z, g->logits, t * experts, experts);
    if (bias && g->bias->data) {
        to_double(bias, g->bias, 0, experts);
        row.bias = bias;
    }
    if (g->anneal->data) {
        double anneal[2];
        to_double(anneal, g->anneal, 0, 2);
        row.tau = anneal[0];
        row.threshold = anneal[1];
    }
    return row;
}

static int gate_run(const hpc_launch *l, const void *args)
{
    const hpc_gate_args *a = args;
    const gate_inputs in = {&a->logits, &a->bias, &a->anneal, &a->step, &a->base, &a->attr};
    double z[HPC_EXPERTS_MOST], bias[HPC_EXPERTS_MOST], prob[HPC_EXPERTS_MOST],
        weight[HPC_EXPERTS_MOST], lse;
    int64_t experts = hpc_tensor_cols(&a->logits), k = a->attr.k, lo, hi;

    hpc_share(&lo, &hi, hpc_tensor_rows(&a->logits), 1, l->worker, l->workers);
    for (int64_t t = lo; t < hi && hpc_tensor_row_live(&a->logits, t); t++) {
        hpc_gate_row row = row_at(&in, t, z, bias);
        hpc_gate_select((int32_t *)a->expert.data + t * k, weight, prob, &lse, &row, &a->attr);
        from_double(&a->weight, t * k, weight, k);
        if (a->prob.data) from_double(&a->prob, t * experts, prob, experts);
        if (a->lse.data) from_double(&a->lse, t, &lse, 1);
    }
    return 0;
}

int HPC_WIDTH(cpu_gate)(hpc_plan *p, int workers, const hpc_gate_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = gate_run, .name = "gate_" HPC_ISA_TEXT},
                  (const operand_check[]){{"weight", &a->weight, TAKES_F32},
                                          {"expert", &a->expert, TAKES_I32},
                                          {"prob", &a->prob, TAKES_F32},
                                          {"lse", &a->lse, TAKES_F32},
                                          {"logits", &a->logits, TAKES_REAL},
                                          {"bias", &a->bias, TAKES_REAL},
                                          {"anneal", &a->anneal, TAKES_F32},
                                          {"step", &a->step, TAKES_I32},
                                          {"base", &a->base, TAKES_I64},
                                          {0}});
}

static int gate_grad_run(const hpc_launch *l, const void *args)
{
    const hpc_gate_grad_args *a = args;
    const hpc_tensor none = {.rank = -1};
    const gate_inputs in = {&a->logits, &none, &a->anneal, &a->step, &a->base, &a->attr};
    double z[HPC_EXPERTS_MOST], dz[HPC_EXPERTS_MOST], dprob[HPC_EXPERTS_MOST],
        dweight[HPC_EXPERTS_MOST], dlse = 0;
    int64_t experts = hpc_tensor_cols(&a->logits), k = a->attr.k, lo, hi;

    hpc_share(&lo, &hi, hpc_tensor_rows(&a->logits), 1, l->worker, l->workers);
    for (int64_t t = lo; t < hi && hpc_tensor_row_live(&a->logits, t); t++) {
        hpc_gate_row row = row_at(&in, t, z, NULL);
        if (a->dweight.data) to_double(dweight, &a->dweight, t * k, k);
        if (a->dprob.data) to_double(dprob, &a->dprob, t * experts, experts);
        if (a->dlse.data) to_double(&dlse, &a->dlse, t, 1);
        hpc_gate_gradient(dz, a->dweight.data ? dweight : NULL, a->dprob.data ? dprob : NULL, dlse,
                          (const int32_t *)a->expert.data + t * k, &row, &a->attr);
        from_double(&a->dlogits, t * experts, dz, experts);
    }
    return 0;
}

int HPC_WIDTH(cpu_gate_grad)(hpc_plan *p, int workers, const hpc_gate_grad_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = gate_grad_run, .name = "gate_grad_" HPC_ISA_TEXT},
                  (const operand_check[]){{"dlogits", &a->dlogits, TAKES_REAL},
                                          {"dweight", &a->dweight, TAKES_REAL},
                                          {"dprob", &a->dprob, TAKES_REAL},
                                          {"dlse", &a->dlse, TAKES_REAL},
                                          {"logits", &a->logits, TAKES_REAL},
                                          {"expert", &a->expert, TAKES_I32},
                                          {"anneal", &a->anneal, TAKES_F32},
                                          {"step", &a->step, TAKES_I32},
                                          {"base", &a->base, TAKES_I64},
                                          {0}});
}

/* ---- dispatch ------------------------------------------------------------------------- */

/* Counts the slots of each expert in start[e + 1]; the number of live tokens in *tokens. */
static int count_slots(int64_t *tokens, const hpc_dispatch_args *a)
{
    const int32_t *expert = a->expert.data;
    int32_t *start = a->start.data;
    int64_t k = hpc_tensor_cols(&a->expert);

    *tokens = a->expert.ragged == 0 ? hpc_tensor_live(&a->expert, 0) : a->expert.extent[0];
    memset(start, 0, (size_t)(a->attr.experts + 1) * sizeof *start);
    for (int64_t s = 0; s < *tokens * k; s++) {
        if (expert[s] >= a->attr.experts)
            return hpc_fail(HPC_E_ARG, "dispatch: token %lld goes to expert %lld of %lld",
                            (long long)(s / k), (long long)expert[s], (long long)a->attr.experts);
        if (expert[s] >= 0) start[expert[s] + 1]++;
    }
    return 0;
}

/* Counts become starts. Slots beyond the capacity of an expert count as dropped. */
static void set_starts(const hpc_dispatch_args *a, int64_t here)
{
    int64_t tokens = a->attr.tokens > 0 ? a->attr.tokens : here;
    float *load = a->load.data;
    int32_t *start = a->start.data, row = 0;
    int64_t dropped = 0;

    for (int64_t e = 0; e < a->attr.experts; e++) {
        int32_t n = start[e + 1];
        bool full = a->attr.cap > 0 && n > a->attr.cap;
        row += full ? (int32_t)a->attr.cap : n;
        dropped += full ? n - a->attr.cap : 0;
        start[e + 1] = row;
        load[e] = tokens > 0 ? (float)((double)n / (double)tokens) : 0;
    }
    *(int32_t *)a->rows.data = row;
    *(float *)a->dropped.data = (float)dropped;
}

static int dispatch_run(const hpc_launch *l, const void *args)
{
    const hpc_dispatch_args *a = args;
    const int32_t *expert = a->expert.data, *start = a->start.data;
    int32_t *slot = a->slot.data, *token = a->token.data, *group = a->group.data;
    int32_t *next = l->workspace;
    int64_t k = hpc_tensor_cols(&a->expert), tokens;

    if (l->worker != 0) return 0;
    int rc = count_slots(&tokens, a);
    if (rc < 0) return rc;
    set_starts(a, tokens);
    memcpy(next, start, (size_t)a->attr.experts * sizeof *next);
    for (int64_t j = 0; j < k; j++)
        for (int64_t t = 0; t < tokens; t++) {
            int32_t e = expert[t * k + j];
            if (e < 0 || next[e] == start[e + 1]) continue;
            slot[next[e]] = (int32_t)(t * k + j);
            group[next[e]] = e;
            token[next[e]++] = (int32_t)t;
        }
    return 0;
}

int HPC_WIDTH(cpu_dispatch)(hpc_plan *p, int workers, const hpc_dispatch_args *a)
{
    (void)workers;
    return accept(p,
                  (hpc_plan){.run = dispatch_run,
                             .workspace = (size_t)a->attr.experts * sizeof(int32_t),
                             .name = "dispatch_" HPC_ISA_TEXT},
                  (const operand_check[]){{"slot", &a->slot, TAKES_I32},
                                          {"token", &a->token, TAKES_I32},
                                          {"group", &a->group, TAKES_I32},
                                          {"start", &a->start, TAKES_I32},
                                          {"rows", &a->rows, TAKES_I32},
                                          {"dropped", &a->dropped, TAKES_F32},
                                          {"load", &a->load, TAKES_F32},
                                          {"expert", &a->expert, TAKES_I32},
                                          {0}});
}
