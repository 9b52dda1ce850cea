/*
 * attention.c: op table entries of attention and attention_grad: variable length, paged,
 * grouped-query. There is no padding and no mask operand: a sequence is a range of rows, given by
 * `start`, and training uses identity pages.
 */
#include <math.h>

#include "runtime/program/op/priv.h"

enum { ATT_O, ATT_LSE, ATT_Q, ATT_K, ATT_V, ATT_START, ATT_LEN, ATT_PAGES, ATT_N };
enum {
    GRAD_DQ,
    GRAD_DK,
    GRAD_DV,
    GRAD_DOUT,
    GRAD_Q,
    GRAD_K,
    GRAD_V,
    GRAD_O,
    GRAD_LSE,
    GRAD_START,
    GRAD_N
};

static const hpc_field attention_field[] = {
    {"scale", HPC_FIELD_REAL, offsetof(hpc_attention_attr, scale), NULL, true},
    {"causal", HPC_FIELD_BOOL, offsetof(hpc_attention_attr, causal), NULL, false},
    {"window", HPC_FIELD_I64, offsetof(hpc_attention_attr, window), NULL, false},
    {"cap", HPC_FIELD_REAL, offsetof(hpc_attention_attr, cap), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

/* ---- shape ----------------------------------------------------------------- */

static int check_attr(const hpc_attention_attr *at)
{
    if (at->scale == 0 || !isfinite(at->scale))
        return hpc_fail(HPC_E_ARG, "scale is %g; 1/sqrt of a head's width is usual", at->scale);
    if (at->window < 0)
        return hpc_fail(HPC_E_ARG, "window is %lld; 0 means none", (long long)at->window);
    if (!(at->cap >= 0 && isfinite(at->cap)))
        return hpc_fail(HPC_E_ARG, "cap is %g; 0 means none", at->cap);
    return HPC_OK;
}

/* Heads of q against those of k, and v as k; ranks are checked already. */
static int check_heads(const hpc_insn *i, const hpc_type *type, int q, int k, int v)
{
    const hpc_type *tq = &type[q], *tk = &type[k];
    int64_t hq = tq->extent[1], hkv = tk->extent[tk->rank - 2];
    if (tq->ragged > 0) return hpc_misfit(i, type, q, -1, "only rows may be run-time");
    if (tq->extent[2] != tk->extent[tk->rank - 1])
        return hpc_misfit(i, type, q, k, "heads of width %lld and %lld differ",
                          (long long)tq->extent[2], (long long)tk->extent[tk->rank - 1]);
    if (hkv < 1 || hq % hkv != 0)
        return hpc_misfit(i, type, q, k, "%lld query heads are no multiple of %lld", (long long)hq,
                          (long long)hkv);
    return hpc_op_alike(i, type, v, k);
}

static int check_identity(const hpc_insn *i, const hpc_type *type, int q, int k)
{
    const hpc_type *tq = &type[q], *tk = &type[k];
    if (tq->extent[0] == tk->extent[0] && tq->ragged == tk->ragged && tq->count == tk->count)
        return HPC_OK;
    return hpc_misfit(i, type, q, k, "without pages, a row of q and one of k are the same token");
}

static int check_start(const hpc_insn *i, const hpc_type *type, int k)
{
    int rc = hpc_op_expect(i, type, k, HPC_OP_INDEX, 1, 1);
    if (rc < 0) return rc;
    if (type[k].extent[0] > 0) return HPC_OK;
    return hpc_misfit(i, type, k, -1, "S sequences need S + 1 starts");
}

static int check_pages(const hpc_insn *i, const hpc_type *type)
{
    int rc;
    if (i->operand[ATT_LEN] < 0)
        return hpc_fail(HPC_E_ARG, "pages need the lengths len, which are absent");
    TRY(hpc_op_expect(i, type, ATT_LEN, HPC_OP_INDEX, 1, 1));
    TRY(hpc_op_expect(i, type, ATT_PAGES, HPC_OP_INDEX, 2, 2));
    if (type[ATT_LEN].extent[0] != type[ATT_START].extent[0] - 1)
        return hpc_misfit(i, type, ATT_START, ATT_LEN, "S sequences have S + 1 starts, S lengths");
    if (type[ATT_LEN].extent[0] != type[ATT_PAGES].extent[0])
        return hpc_misfit(i, type, ATT_LEN, ATT_PAGES,
                          "S sequences have S lengths, S rows of pages");
    if (type[ATT_K].ragged >= 0)
        return hpc_misfit(i, type, ATT_K, -1, "a pool of pages has no run-time extent");
out:
    return rc;
}

static hpc_type lse_of(const hpc_type *q)
{
    return hpc_op_leading(q, hpc_op_wide(q));
}

static int attention_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *q = &type[ATT_Q];
    bool paged = i->operand[ATT_PAGES] >= 0;
    int rc, kv_rank = paged ? 4 : 3;
    TRY(check_attr(i->attr));
    TRY(hpc_op_expect(i, type, ATT_Q, HPC_OP_REAL, 3, 3));
    TRY(hpc_op_expect(i, type, ATT_K, HPC_OP_REAL, kv_rank, kv_rank));
    TRY(hpc_op_expect(i, type, ATT_V, HPC_OP_REAL, kv_rank, kv_rank));
    TRY(check_heads(i, type, ATT_Q, ATT_K, ATT_V));
    TRY(check_start(i, type, ATT_START));
    if (paged)
        TRY(check_pages(i, type));
    else if (i->operand[ATT_LEN] >= 0)
        TRY(hpc_fail(HPC_E_ARG, "lengths len come with pages, which are absent"));
    else
        TRY(check_identity(i, type, ATT_Q, ATT_K));
    TRY(hpc_op_output(i, type, ATT_O, hpc_op_like(q, (hpc_dtype)q->dtype)));
    TRY(hpc_op_output(i, type, ATT_LSE, lse_of(q)));
out:
    return rc;
}

/* ---- backward -------------------------------------------------------------- */

static int attention_backward(hpc_diff *d, const hpc_insn *i)
{
    if (i->operand[ATT_PAGES] >= 0)
        return hpc_fail(HPC_E_UNSUPPORTED, "gradients need identity pages: drop len and pages");
    int rc = hpc_op_no_gradient(d, i->operand[ATT_LSE], "the lse of attention");
    if (rc < 0) return rc;
    const hpc_value *in = i->operand;
    hpc_value operand[GRAD_N] = {HPC_NEW,     HPC_NEW,      HPC_NEW,   hpc_diff_of(d, in[ATT_O]),
                                 in[ATT_Q],   in[ATT_K],    in[ATT_V], in[ATT_O],
                                 in[ATT_LSE], in[ATT_START]};
    if (hpc_emit(hpc_diff_program(d), &hpc_op_attention_grad, operand, i->attr) < 0) return HPC_OK;
    hpc_op_give(d, in[ATT_Q], operand[GRAD_DQ]);
    hpc_op_give(d, in[ATT_K], operand[GRAD_DK]);
    hpc_op_give(d, in[ATT_V], operand[GRAD_DV]);
    return HPC_OK;
}

/* ---- layout ---------------------------------------------------------------- */

/* Heads of q and of k carry one letter: they split alike, so that each rank holds whole groups;
 * an axis must divide both numbers. A single head of k serves all, and stays whole.
 *
 * Rows split between whole sequences, as data parallelism does: `start`, whose S + 1 entries no
 * axis divides, is then each rank's own, counted from its first row, and an input declared so. */
static const char *key_label(const hpc_type *k)
{
    bool split = false;
    for (int a = 0; a < HPC_AXIS_N; a++) split = split || k->layout[a] == HPC_SPLIT(k->rank - 2);
    bool one = k->extent[k->rank - 2] == 1 && !split;
    if (k->rank == 4) return one ? "pqgd" : "pqGd";
    return one ? "Tgd" : "TGd";
}

/* With pages rows stay whole: lengths and pages would have to go with their sequences. */
static int attention_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    bool paged = i->operand[ATT_PAGES] >= 0;
    const char *rows = paged ? "tGd" : "TGd";
    const char *keys = key_label(hpc_op_type(p, i, ATT_K));
    hpc_op_label(dims, p, i, ATT_O, rows);
    hpc_op_label(dims, p, i, ATT_LSE, rows);
    hpc_op_label(dims, p, i, ATT_Q, rows);
    hpc_op_label(dims, p, i, ATT_K, keys);
    hpc_op_label(dims, p, i, ATT_V, keys);
    hpc_op_label(dims, p, i, ATT_START, "u");
    hpc_op_label(dims, p, i, ATT_LEN, "s");
    hpc_op_label(dims, p, i, ATT_PAGES, "sn");
    return HPC_OK;
}

static int attention_grad_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    const char *keys = key_label(hpc_op_type(p, i, GRAD_K));
    static const int rows[] = {GRAD_DQ, GRAD_DOUT, GRAD_Q, GRAD_O, GRAD_LSE};
    static const int columns[] = {GRAD_DK, GRAD_DV, GRAD_K, GRAD_V};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        hpc_op_label(dims, p, i, rows[k], "TGd");
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        hpc_op_label(dims, p, i, columns[k], keys);
    hpc_op_label(dims, p, i, GRAD_START, "u");
    dims->linear[0] = 1u << GRAD_DOUT;
    return HPC_OK;
}

/* ---- cost, selection ------------------------------------------------------- */

/* Two products, 4 flops for each pair of query and key; by maxima, with sequences of equal length;
 * a causal query sees half of its keys on average. */
static double attention_flops(const hpc_type *q, double keys, const hpc_attention_attr *at)
{
    if (at->causal) keys = (keys + 1) / 2;
    if (at->window > 0 && keys > (double)at->window) keys = (double)at->window;
    return 4.0 * (double)hpc_op_n(q) * keys;
}

static double keys_of_rows(const hpc_type *q, const hpc_type *start)
{
    int64_t sequences = start->extent[0] > 1 ? start->extent[0] - 1 : 1;
    return (double)q->extent[0] / (double)sequences;
}

static hpc_cost attention_cost(const hpc_type *type, const void *attr)
{
    double keys = type[ATT_PAGES].rank < 0
                      ? keys_of_rows(&type[ATT_Q], &type[ATT_START])
                      : (double)type[ATT_PAGES].extent[1] * (double)type[ATT_K].extent[1];
    return hpc_op_cost(type, ATT_N, attention_flops(&type[ATT_Q], keys, attr));
}

static hpc_cost attention_grad_cost(const hpc_type *type, const void *attr)
{
    double keys = keys_of_rows(&type[GRAD_Q], &type[GRAD_START]);
    return hpc_op_cost(type, GRAD_N, 2.5 * attention_flops(&type[GRAD_Q], keys, attr));
}

static int attention_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->attention ? k->attention(plan, workers, args) : hpc_op_missing("attention");
}

static int attention_grad_select(hpc_plan *plan, const hpc_kernels *k, int workers,
                                 const void *args)
{
    return k->attention_grad ? k->attention_grad(plan, workers, args)
                             : hpc_op_missing("attention_grad");
}

const hpc_op hpc_op_attention = {
    .sig = {.name = "attention",
            .operand_n = ATT_N,
            .attr_bytes = sizeof(hpc_attention_attr),
            .operand = {{"o", HPC_OUT},
                        {"lse", HPC_OUT},
                        {"q", HPC_IN},
                        {"k", HPC_IN},
                        {"v", HPC_IN},
                        {"start", HPC_IN},
                        {"len", HPC_IN | HPC_OPTIONAL},
                        {"pages", HPC_IN | HPC_OPTIONAL}}},
    .field = attention_field,
    .comm = -1,
    .shape = attention_shape,
    .backward = attention_backward,
    .layout = attention_layout,
    .cost = attention_cost,
    .select = attention_select,
};

hpc_value hpc_attention(hpc_program *p, hpc_value q, hpc_value k, hpc_value v, hpc_value start,
                        hpc_value len, hpc_value pages, hpc_attention_attr attr)
{
    if (attr.scale == 0 && q >= 0 && q < p->value_n)
        attr.scale = 1 / sqrt((double)hpc_op_cols(&p->value[q].type));
    hpc_value operand[ATT_N] = {HPC_NEW, HPC_NEW, q, k, v, start, len, pages};
    return hpc_emit(p, &hpc_op_attention, operand, &attr);
}

/* ---- attention_grad -------------------------------------------------------- */

static int attention_grad_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *q = &type[GRAD_Q];
    int rc;
    TRY(check_attr(i->attr));
    for (int k = GRAD_DOUT; k <= GRAD_O; k++) TRY(hpc_op_expect(i, type, k, HPC_OP_REAL, 3, 3));
    TRY(check_heads(i, type, GRAD_Q, GRAD_K, GRAD_V));
    TRY(check_identity(i, type, GRAD_Q, GRAD_K));
    TRY(hpc_op_alike(i, type, GRAD_DOUT, GRAD_Q));
    TRY(hpc_op_alike(i, type, GRAD_O, GRAD_Q));
    TRY(hpc_op_expect(i, type, GRAD_LSE, HPC_OP_REAL, 2, 2));
    hpc_type lse = lse_of(q);
    if (!hpc_type_same_shape(&type[GRAD_LSE], &lse))
        TRY(hpc_misfit(i, type, GRAD_LSE, GRAD_Q, "expected one for each row and head"));
    TRY(check_start(i, type, GRAD_START));
    for (int k = GRAD_DQ; k <= GRAD_DV; k++) {
        const hpc_type *of = &type[GRAD_Q + k - GRAD_DQ];
        TRY(hpc_op_output(i, type, k, hpc_op_like(of, (hpc_dtype)of->dtype)));
    }
out:
    return rc;
}

const hpc_op hpc_op_attention_grad = {
    .sig = {.name = "attention_grad",
            .operand_n = GRAD_N,
            .attr_bytes = sizeof(hpc_attention_attr),
            .operand = {{"dq", HPC_OUT},
                        {"dk", HPC_OUT},
                        {"dv", HPC_OUT},
                        {"dout", HPC_IN},
                        {"q", HPC_IN},
                        {"k", HPC_IN},
                        {"v", HPC_IN},
                        {"o", HPC_IN},
                        {"lse", HPC_IN},
                        {"start", HPC_IN}}},
    .field = attention_field,
    .comm = -1,
    .shape = attention_grad_shape,
    .layout = attention_grad_layout,
    .cost = attention_grad_cost,
    .select = attention_grad_select,
};
