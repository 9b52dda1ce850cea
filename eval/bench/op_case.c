/*
 * op_case.c: the table of cases: which instruction is measured on which
 * operands, and the extents that it has in a step of a 124 M parameter model.
 *
 * To add an op: a function that emits it, and a row. Nothing here runs anything.
 */
#include <math.h>
#include <string.h>

#include "eval/bench/op_case.h"

#define EXTENTS(...)                                                                               \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

enum { PAGE = 16 }; /* rows of a page of a key-value cache */

/* ---- products ------------------------------------------------------------------------------ */

/* Weights shrink with the depth of the sum, so that results are as large as activations. */
static hpc_value weight_of(hpc_bench_emitter *e, int rank, int64_t batch, const int64_t *mkn)
{
    const hpc_matmul_attr *at = e->attr;
    int64_t k = mkn[1], n = mkn[2];
    const int64_t b[] = {batch, at->trans_b ? n : k, at->trans_b ? k : n};
    hpc_bench_fill weight = normal(1 / sqrt((double)(k > 0 ? k : 1)));
    if (e->job->weights == HPC_I8) weight = normal(byte_deviation);
    return hpc_bench_input(e, "b", e->job->weights, weight, rank, b + 3 - rank);
}

/* As inference has them. */
static bool packs_weights(const hpc_bench_emitter *e)
{
    const hpc_matmul_attr *at = e->attr;
    return at->trans_b && e->job->packed;
}

static void prepare_matmul(hpc_bench_emitter *e)
{
    if (!packs_weights(e)) return;
    hpc_value operand[] = {HPC_NEW, weight_of(e, 2, 0, e->n)};
    e->ready[0] = hpc_emit(e->p, &hpc_op_pack, operand, NULL);
}

static void emit_product(hpc_bench_emitter *e, int64_t batch, const int64_t *mkn)
{
    hpc_matmul_attr at = *(const hpc_matmul_attr *)e->attr;
    int64_t m = mkn[0], k = mkn[1], n = mkn[2];
    int rank = batch > 0 ? 3 : 2;
    const int64_t a[] = {batch, at.trans_a ? k : m, at.trans_a ? m : k};
    bool act = at.act != HPC_ACT_NONE, packed = rank == 2 && packs_weights(e);
    hpc_value operand[] = {HPC_NEW,
                           act ? HPC_NEW : HPC_NONE,
                           real(e, "a", rank, a + 3 - rank),
                           packed ? e->ready[0] : weight_of(e, rank, batch, mkn),
                           act ? real(e, "bias", EXTENTS(n)) : HPC_NONE,
                           HPC_NONE};
    at.int8 = at.int8 || (packed && hpc_dtype_get(e->job->weights)->quantised);
    hpc_emit(e->p, &hpc_op_matmul, operand, &at);
}

static void emit_matmul(hpc_bench_emitter *e)
{
    emit_product(e, 0, e->n);
}

static void emit_batched(hpc_bench_emitter *e)
{
    emit_product(e, e->n[0], e->n + 1);
}

static void emit_pack(hpc_bench_emitter *e)
{
    hpc_value operand[] = {HPC_NEW, real(e, "x", 2, e->n)};
    instruct(e, operand);
}

/* ---- norm, rope, attention ------------------------------------------------------------------ */

static bool has_shift(const hpc_bench_emitter *e)
{
    const hpc_norm_attr *at = e->attr;
    return at->kind == HPC_LAYER;
}

static hpc_value norm_of(hpc_bench_emitter *e, hpc_value *stats)
{
    hpc_value operand[] = {HPC_NEW, HPC_NEW, real(e, "x", 2, e->n), real(e, "w", 1, e->n + 1),
                           has_shift(e) ? real(e, "b", 1, e->n + 1) : HPC_NONE};
    hpc_value y = hpc_emit(e->p, &hpc_op_norm, operand, e->attr);
    *stats = operand[1];
    return y;
}

static void emit_norm(hpc_bench_emitter *e)
{
    hpc_value stats;
    norm_of(e, &stats);
}

static void prepare_norm(hpc_bench_emitter *e)
{
    norm_of(e, &e->ready[0]);
}

static void emit_norm_grad(hpc_bench_emitter *e)
{
    hpc_value operand[] = {HPC_NEW,
                           HPC_NEW,
                           has_shift(e) ? HPC_NEW : HPC_NONE,
                           real(e, "dy", 2, e->n),
                           real(e, "x", 2, e->n),
                           e->ready[0],
                           real(e, "w", 1, e->n + 1)};
    instruct(e, operand);
}

static void emit_rope(hpc_bench_emitter *e)
{
    int64_t half = e->n[2] / 2;
    double ratio = pow(10000, -1.0 / (double)(half > 0 ? half : 1));
    hpc_value operand[] = {
        HPC_NEW, real(e, "x", 3, e->n), index_of(e, "pos", filled(HPC_FILL_EVEN, 1), 1, e->n),
        hpc_bench_input(e, "freq", wide(e), filled(HPC_FILL_POWERS, ratio), EXTENTS(half))};
    instruct(e, operand);
}

static hpc_attention_attr attention_attr(const hpc_bench_emitter *e, int64_t width)
{
    hpc_attention_attr at = *(const hpc_attention_attr *)e->attr;
    if (at.scale == 0) at.scale = 1 / sqrt((double)(width > 0 ? width : 1));
    return at;
}

/* Operands from q on of one sequence of n[0] tokens. */
static void dense_attention(hpc_bench_emitter *e, hpc_value *q)
{
    q[0] = real(e, "q", EXTENTS(e->n[0], e->n[1], e->n[3]));
    q[1] = real(e, "k", EXTENTS(e->n[0], e->n[2], e->n[3]));
    q[2] = real(e, "v", EXTENTS(e->n[0], e->n[2], e->n[3]));
}

static hpc_value one_sequence(hpc_bench_emitter *e)
{
    return index_of(e, "start", filled(HPC_FILL_EVEN, (double)e->n[0]), EXTENTS(2));
}

static void emit_attention(hpc_bench_emitter *e)
{
    hpc_attention_attr at = attention_attr(e, e->n[3]);
    hpc_value operand[] = {HPC_NEW,  HPC_NEW,         HPC_NONE, HPC_NONE,
                           HPC_NONE, one_sequence(e), HPC_NONE, HPC_NONE};
    dense_attention(e, operand + 2);
    hpc_emit(e->p, &hpc_op_attention, operand, &at);
    if (!e->ready) return;
    e->ready[0] = operand[0];
    e->ready[1] = operand[1];
}

static void emit_attention_grad(hpc_bench_emitter *e)
{
    hpc_attention_attr at = attention_attr(e, e->n[3]);
    hpc_value operand[] = {
        HPC_NEW,     HPC_NEW,        HPC_NEW,  real(e, "dout", EXTENTS(e->n[0], e->n[1], e->n[3])),
        HPC_NONE,    HPC_NONE,       HPC_NONE, e->ready[0],
        e->ready[1], one_sequence(e)};
    dense_attention(e, operand + 4);
    hpc_emit(e->p, &hpc_op_attention_grad, operand, &at);
}

/* S sequences of L keys in scattered pages, one new query each. */
static void emit_paged(hpc_bench_emitter *e)
{
    int64_t s = e->n[0], l = e->n[1], pages = (l + PAGE - 1) / PAGE;
    hpc_attention_attr at = attention_attr(e, e->n[4]);
    hpc_bench_fill scattered = filled(HPC_FILL_SHUFFLE, (double)(s * pages));
    hpc_value operand[] = {HPC_NEW,
                           HPC_NEW,
                           real(e, "q", EXTENTS(s, e->n[2], e->n[4])),
                           real(e, "k", EXTENTS(s * pages, PAGE, e->n[3], e->n[4])),
                           real(e, "v", EXTENTS(s * pages, PAGE, e->n[3], e->n[4])),
                           index_of(e, "start", filled(HPC_FILL_EVEN, 1), EXTENTS(s + 1)),
                           index_of(e, "len", filled(HPC_FILL_SAME, (double)l), EXTENTS(s)),
                           index_of(e, "pages", scattered, EXTENTS(s, pages))};
    hpc_emit(e->p, &hpc_op_attention, operand, &at);
}

/* ---- element by element --------------------------------------------------------------------- */

static void emit_point(hpc_bench_emitter *e) /* y of x */
{
    hpc_value operand[HPC_OPERAND_MAX] = {HPC_NEW, real(e, "x", 2, e->n)};
    for (int k = 2; k < HPC_OPERAND_MAX; k++) operand[k] = HPC_NONE;
    instruct(e, operand);
}

static void emit_pair(hpc_bench_emitter *e) /* y of two alike */
{
    hpc_value operand[] = {HPC_NEW, real(e, "a", 2, e->n), real(e, "b", 2, e->n)};
    instruct(e, operand);
}

static void emit_glu_grad(hpc_bench_emitter *e)
{
    hpc_value operand[] = {HPC_NEW, HPC_NEW, real(e, "dy", 2, e->n), real(e, "gate", 2, e->n),
                           real(e, "up", 2, e->n)};
    instruct(e, operand);
}

static void emit_fill(hpc_bench_emitter *e)
{
    hpc_value operand[] = {
        hpc_bench_state(e, "y", e->job->dtype, filled(HPC_FILL_SAME, 1), 2, e->n)};
    instruct(e, operand);
}

/* ---- loss, index, reduction ----------------------------------------------------------------- */

/* x, w and target of T tokens, width H, a vocabulary of V. */
static void head(hpc_bench_emitter *e, hpc_value *x)
{
    hpc_bench_fill weight = normal(1 / sqrt((double)(e->n[1] > 0 ? e->n[1] : 1)));
    x[0] = real(e, "x", EXTENTS(e->n[0], e->n[1]));
    x[1] = hpc_bench_input(e, "w", e->job->weights, weight, EXTENTS(e->n[2], e->n[1]));
    x[2] = index_of(e, "target", filled(HPC_FILL_INDEX, (double)e->n[2]), 1, e->n);
}

static void emit_head_loss(hpc_bench_emitter *e)
{
    hpc_value operand[] = {HPC_NEW, HPC_NEW, HPC_NONE, HPC_NONE, HPC_NONE};
    head(e, operand + 2);
    hpc_emit(e->p, &hpc_op_head_loss, operand, e->attr);
}

static void emit_head_loss_grad(hpc_bench_emitter *e)
{
    hpc_bench_fill mean = filled(HPC_FILL_SAME, 1 / (double)(e->n[0] > 0 ? e->n[0] : 1));
    hpc_value operand[] = {
        HPC_NEW,  HPC_NEW,  HPC_NEW,  hpc_bench_input(e, "dloss", wide(e), mean, 1, e->n),
        HPC_NONE, HPC_NONE, HPC_NONE, HPC_NONE};
    head(e, operand + 5);
    instruct(e, operand);
}

static void emit_soft(hpc_bench_emitter *e)
{
    hpc_value operand[] = {HPC_NEW, hpc_bench_input(e, "a", wide(e), normal(1), 1, e->n),
                           hpc_bench_input(e, "b", wide(e), normal(1), 1, e->n), HPC_NONE};
    instruct(e, operand);
}

static void emit_gather(hpc_bench_emitter *e)
{
    hpc_value operand[] = {
        HPC_NEW, hpc_bench_input(e, "x", e->job->weights, normal(1), EXTENTS(e->n[1], e->n[2])),
        index_of(e, "index", filled(HPC_FILL_INDEX, (double)e->n[1]), 1, e->n)};
    instruct(e, operand);
}

/* Of T elements each S-th; a case of one in ten is what a pruned matrix has. */
static hpc_value every_so_many(hpc_bench_emitter *e)
{
    return index_of(e, "index", filled(HPC_FILL_EVEN, (double)e->n[1]), EXTENTS(e->n[0]));
}

static void emit_pick(hpc_bench_emitter *e)
{
    hpc_value operand[] = {HPC_NEW, real(e, "x", EXTENTS(e->n[0], e->n[1])), every_so_many(e)};
    instruct(e, operand);
}

static void emit_spread(hpc_bench_emitter *e)
{
    hpc_spread_attr at = {.m = e->n[0], .n = e->n[1]};
    hpc_value operand[] = {HPC_NEW, real(e, "x", EXTENTS(e->n[0])), every_so_many(e)};
    hpc_emit(e->p, &hpc_op_spread, operand, &at);
}

/* Rows that are replaced must differ: which of two would stay is open. */
static void emit_scatter(hpc_bench_emitter *e)
{
    hpc_scatter_attr at = *(const hpc_scatter_attr *)e->attr;
    bool set = at.mode == HPC_SCATTER_SET;
    hpc_bench_fill any = filled(set ? HPC_FILL_SHUFFLE : HPC_FILL_INDEX, (double)e->n[1]);
    hpc_value y = HPC_NEW;
    if (set) y = hpc_bench_state(e, "y", e->job->dtype, normal(1), EXTENTS(e->n[1], e->n[2]));
    hpc_value operand[] = {y, real(e, "x", EXTENTS(e->n[0], e->n[2])),
                           index_of(e, "index", any, 1, e->n), HPC_NONE};
    at.rows = e->n[1];
    hpc_emit(e->p, &hpc_op_scatter, operand, &at);
}

static void emit_route(hpc_bench_emitter *e)
{
    hpc_value group = index_of(e, "group", filled(HPC_FILL_INDEX, (double)e->n[1]), 1, e->n);
    hpc_route(e->p, group, e->n[1], e->n[0], NULL);
}

/* Records of zeros: the token with the highest logit. */
static void emit_sample(hpc_bench_emitter *e)
{
    hpc_value logits = real(e, "logits", 2, e->n);
    hpc_sample_tokens(e->p, NULL, logits,
                      hpc_bench_input(e, "how", HPC_I64, filled(HPC_FILL_SAME, 0),
                                      EXTENTS(e->n[0], HPC_SAMPLE_WORDS)));
}

/* ---- the table ------------------------------------------------------------------------------ */

enum { FIRST = 1, SECOND = 2, THIRD = 4 }; /* extents that may shrink */

static const hpc_matmul_attr plain_product = {.alpha = 1};
static const hpc_norm_attr usual_norm = {.eps = 1e-5};
static const hpc_rope_attr plain_rope = {.scale = 1};
static const hpc_scale_attr half_scale = {.alpha = 0.5};
static const hpc_dropout_attr usual_dropout = {.p = 0.1, .seed = 1};
static const hpc_fill_attr fill_zero = {.value = 0};
static const hpc_sgd_attr usual_sgd = {.momentum = 0.9};
static const hpc_adamw_attr usual_adamw = {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay = 0.1};

static const hpc_apply_attr usual_apply = {.alpha = 1, .decay = 0.1};
static const hpc_combine_attr damped_sum = {.a0 = 1e-6, .a1 = 0.95, .a2 = 0.05};
static const hpc_bundle_attr one_part = {.parts = 1};
static const hpc_map_attr inverse_root = {.alpha = 1, .power = -0.25, .guarded = true};

/* clang-format off */
#define PRODUCT .op = &hpc_op_matmul, .extents = "M,K,N", .base = &plain_product, \
                .shrinks = FIRST | THIRD, .emit = emit_matmul
#define LAYER   PRODUCT, .attr = "trans_b", .weighs = true, .prepare = prepare_matmul
#define PACKED  LAYER, .packed = true, .extra = true
#define ROWS    .extents = "R,C", .shrinks = FIRST | SECOND
#define DENSE   .extents = "T,Hq,Hkv,D", .shrinks = FIRST, .attr = "causal"
#define BLOCKS  .extents = "B,N", .shrinks = FIRST
#define GRAPH   .extents = "V,D,C", .shape = {32768, 16, 64}, .shrinks = FIRST
#define HEADS   .extents = "V,D,C", .shape = {32768, 16, 4}, .shrinks = FIRST
#define HEAD    .extents = "T,H,V", .shrinks = FIRST | THIRD

const hpc_bench_case hpc_bench_cases[] = {
    {.op = &hpc_op_nop, .extents = ""},
    /* forward, both gradients, square, one token; packed for inference: a prompt, one token */
    {LAYER, .shape = {1024, 768, 3072}},
    {PRODUCT, .shape = {1024, 3072, 768}},
    {PRODUCT, .shape = {768, 1024, 3072}, .attr = "trans_a"},
    {PRODUCT, .shape = {2048, 2048, 2048}},
    {LAYER, .shape = {1, 768, 3072}},
    {PRODUCT, .shape = {1024, 768, 3072}, .attr = "trans_b act=gelu_tanh", .weighs = true,
     .prepare = prepare_matmul},
    {.op = &hpc_op_matmul, .extents = "B,M,K,N", .base = &plain_product,
     .shape = {12, 512, 64, 512},
     .shrinks = FIRST | SECOND, .emit = emit_batched},
    {LAYER, .shape = {1024, 768, 3072}, .extra = true, .dtype = HPC_BF16, .weights = HPC_BF16},
    {PRODUCT, .shape = {1024, 3072, 768}, .extra = true, .dtype = HPC_BF16, .weights = HPC_BF16},
    {PRODUCT, .shape = {768, 1024, 3072}, .attr = "trans_a", .extra = true, .dtype = HPC_BF16,
     .weights = HPC_BF16},
    {LAYER, .shape = {1, 768, 3072}, .extra = true, .dtype = HPC_BF16, .weights = HPC_BF16},
    {LAYER, .shape = {1024, 768, 3072}, .extra = true, .dtype = HPC_I8, .weights = HPC_I8},
    {PRODUCT, .shape = {1024, 3072, 768}, .extra = true, .dtype = HPC_I8, .weights = HPC_I8},
    {PRODUCT, .shape = {768, 1024, 3072}, .attr = "trans_a", .extra = true, .dtype = HPC_I8,
     .weights = HPC_I8},
    {PACKED, .shape = {512, 768, 3072}, .weights = HPC_Q8_0},
    {PACKED, .shape = {512, 768, 3072}, .weights = HPC_Q4_0},
    {PACKED, .shape = {512, 768, 3072}, .weights = HPC_Q4_K},
    {PACKED, .shape = {512, 768, 3072}, .weights = HPC_Q6_K},
    {PACKED, .shape = {1, 4096, 16384}, .weights = HPC_F32},
    {PACKED, .shape = {1, 4096, 16384}, .weights = HPC_BF16},
    {PACKED, .shape = {1, 4096, 16384}, .weights = HPC_Q8_0},
    {PACKED, .shape = {1, 4096, 16384}, .weights = HPC_Q4_0},
    {PACKED, .shape = {1, 4096, 16384}, .weights = HPC_Q4_K},
    {PACKED, .shape = {1, 4096, 16384}, .weights = HPC_Q5_K},
    {PACKED, .shape = {1, 4096, 16384}, .weights = HPC_Q6_K},
    {.op = &hpc_op_pack, .extents = "N,K", .shape = {3072, 768}, .shrinks = FIRST,
     .emit = emit_pack},
    {.op = &hpc_op_norm, ROWS, .shape = {1024, 768}, .base = &usual_norm, .attr = "kind=rms",
     .emit = emit_norm},
    {.op = &hpc_op_norm, ROWS, .shape = {1024, 768}, .base = &usual_norm, .attr = "kind=layer",
     .emit = emit_norm},
    {.op = &hpc_op_norm_grad, ROWS, .shape = {1024, 768}, .base = &usual_norm, .attr = "kind=rms",
     .prepare = prepare_norm, .emit = emit_norm_grad},
    {.op = &hpc_op_norm_grad, ROWS, .shape = {1024, 768}, .base = &usual_norm, .attr = "kind=layer",
     .prepare = prepare_norm, .emit = emit_norm_grad},
    {.op = &hpc_op_rope, .extents = "T,H,D", .shape = {1024, 12, 64}, .shrinks = FIRST,
     .base = &plain_rope, .emit = emit_rope},
    {.op = &hpc_op_attention, DENSE, .shape = {1024, 12, 12, 64}, .emit = emit_attention},
    {.op = &hpc_op_attention, .extents = "S,L,Hq,Hkv,D", .shape = {1, 1024, 12, 12, 64},
     .shrinks = SECOND, .attr = "causal", .emit = emit_paged},
    {.op = &hpc_op_attention_grad, DENSE, .shape = {1024, 12, 12, 64}, .prepare = emit_attention,
     .emit = emit_attention_grad},
    {.op = &hpc_op_act, ROWS, .shape = {1024, 3072}, .attr = "act=gelu_tanh", .emit = emit_point},
    {.op = &hpc_op_act_grad, ROWS, .shape = {1024, 3072}, .attr = "act=gelu_tanh",
     .emit = emit_pair},
    {.op = &hpc_op_glu, ROWS, .shape = {1024, 2048}, .attr = "act=silu", .emit = emit_pair},
    {.op = &hpc_op_glu_grad, ROWS, .shape = {1024, 2048}, .attr = "act=silu",
     .emit = emit_glu_grad},
    {.op = &hpc_op_head_loss, HEAD, .shape = {256, 768, 50304}, .emit = emit_head_loss},
    {.op = &hpc_op_head_loss_grad, HEAD, .shape = {256, 768, 50304}, .emit = emit_head_loss_grad},
    {.op = &hpc_op_soft, .extents = "N", .shape = {18432}, .shrinks = FIRST, .attr = "kind=exp",
     .emit = emit_soft},
    {.op = &hpc_op_dropout, ROWS, .shape = {1024, 768}, .base = &usual_dropout, .emit = emit_point},
    {.op = &hpc_op_binary, ROWS, .shape = {1024, 768}, .attr = "kind=add", .emit = emit_pair},
    {.op = &hpc_op_scale, ROWS, .shape = {1024, 768}, .base = &half_scale, .emit = emit_point},
    {.op = &hpc_op_copy, ROWS, .shape = {1024, 3072}, .attr = "dtype=bf16", .emit = emit_point},
    {.op = &hpc_op_fill, ROWS, .shape = {1024, 3072}, .base = &fill_zero, .emit = emit_fill},
    {.op = &hpc_op_gather, .extents = "T,V,C", .shape = {1024, 50304, 768},
     .shrinks = FIRST | SECOND | THIRD, .weighs = true, .emit = emit_gather},
    {.op = &hpc_op_scatter, .extents = "T,V,C", .shape = {1024, 1024, 768},
     .shrinks = THIRD, .attr = "mode=add", .emit = emit_scatter},
    {.op = &hpc_op_scatter, .extents = "T,V,C", .shape = {1024, 1024, 768},
     .shrinks = THIRD, .attr = "mode=set", .emit = emit_scatter},
    {.op = &hpc_op_route, .extents = "T,E", .shape = {1024, 8}, .shrinks = FIRST,
     .emit = emit_route},
    {.op = &hpc_op_pick, .extents = "T,S", .shape = {235930, 10}, .shrinks = FIRST,
     .emit = emit_pick},
    {.op = &hpc_op_spread, .extents = "T,S", .shape = {235930, 10}, .shrinks = FIRST,
     .emit = emit_spread},
    {.op = &hpc_op_reduce, ROWS, .shape = {1024, 768}, .attr = "kind=sum over=rows",
     .emit = emit_point},
    {.op = &hpc_op_reduce, ROWS, .shape = {3072, 768}, .attr = "kind=sumsq over=all",
     .emit = emit_point},
    {.op = &hpc_op_sample, .extents = "T,V", .shape = {16, 50304}, .shrinks = FIRST | SECOND,
     .emit = emit_sample},
    {.op = &hpc_op_sgd, .extents = "N", .shape = {2359296}, .shrinks = FIRST, .base = &usual_sgd,
     .emit = hpc_bench_emit_sgd},
    {.op = &hpc_op_adamw, .extents = "N", .shape = {2359296}, .shrinks = FIRST,
     .base = &usual_adamw,
     .emit = hpc_bench_emit_adamw},
    {.op = &hpc_op_adam, .extents = "N", .shape = {2359296}, .shrinks = FIRST,
     .base = &usual_adamw, .emit = hpc_bench_emit_adam},
    {.op = &hpc_op_apply, .extents = "N", .shape = {2359296}, .shrinks = FIRST,
     .base = &usual_apply, .emit = hpc_bench_emit_apply},
    {.op = &hpc_op_combine, BLOCKS, .shape = {144, 128}, .base = &damped_sum,
     .emit = hpc_bench_emit_combine},
    {.op = &hpc_op_combine, BLOCKS, .shape = {144, 128}, .base = &damped_sum, .attr = "trans",
     .emit = hpc_bench_emit_combine},
    {.op = &hpc_op_map, .extents = "N", .shape = {18432}, .shrinks = FIRST,
     .base = &inverse_root, .emit = hpc_bench_emit_map},
    {.op = &hpc_op_below, .extents = "", .emit = hpc_bench_emit_below},
    {.op = &hpc_op_tile, BLOCKS, .shape = {12, 128}, .emit = hpc_bench_emit_tile},
    {.op = &hpc_op_tile, BLOCKS, .shape = {12, 128}, .attr = "inverse",
     .emit = hpc_bench_emit_tile},
    {.op = &hpc_op_bundle, BLOCKS, .shape = {11, 256}, .base = &one_part,
     .emit = hpc_bench_emit_bundle},
    {.op = &hpc_op_eigh, BLOCKS, .shape = {4, 128}, .emit = hpc_bench_emit_eigh},
    {.op = &hpc_op_eigh, BLOCKS, .shape = {4, 256}, .emit = hpc_bench_emit_eigh},
    {GRAPH, .op = &hpc_op_graph_attend, .attr = "slope=0.2",
     .emit = hpc_bench_emit_graph_attend},
    {GRAPH, .op = &hpc_op_graph_attend_source, .attr = "slope=0.2",
     .emit = hpc_bench_emit_graph_attend_source},
    {GRAPH, .op = &hpc_op_graph_attend_target, .attr = "slope=0.2",
     .emit = hpc_bench_emit_graph_attend_target},
    {GRAPH, .op = &hpc_op_graph_edge, .attr = "kind=add", .emit = hpc_bench_emit_graph_edge},
    {GRAPH, .op = &hpc_op_graph_edge, .attr = "kind=dot", .emit = hpc_bench_emit_graph_edge},
    {GRAPH, .op = &hpc_op_graph_merge, .emit = hpc_bench_emit_graph_merge},
    {GRAPH, .op = &hpc_op_graph_reduce, .attr = "kind=sum", .emit = hpc_bench_emit_graph_reduce},
    {GRAPH, .op = &hpc_op_graph_reduce, .attr = "kind=max", .emit = hpc_bench_emit_graph_reduce},
    {GRAPH, .op = &hpc_op_graph_scale, .attr = "power=-1", .emit = hpc_bench_emit_graph_scale},
    {HEADS, .op = &hpc_op_graph_softmax, .emit = hpc_bench_emit_graph_softmax},
    {HEADS, .op = &hpc_op_graph_softmax_grad, .emit = hpc_bench_emit_graph_softmax_grad},
    {.op = NULL},
};
/* clang-format on */

int hpc_bench_extent_n(const hpc_bench_case *c)
{
    int n = c->extents[0] != '\0';
    for (const char *at = c->extents; *at; at++) n += *at == ',';
    return n;
}
