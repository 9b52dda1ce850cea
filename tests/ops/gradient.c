/*
 * gradient.c: every backward rule compared with central differences in f64. gradient_flow.c tests
 * how gradients add up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/gradient.h"
#include "tests/support/graphs.h"

enum { T = 11, H = 10 };

static hpc_type real(int rank, const int64_t *extent)
{
    return hpc_type_of(HPC_F64, rank, extent);
}
#define REAL(...) test_type(HPC_F64, __VA_ARGS__)

static hpc_value count_of(hpc_test_case *c, int32_t n)
{
    return hpc_test_indices(c, hpc_type_of(HPC_I32, 0, NULL), &n);
}

static hpc_value counts_of(hpc_test_case *c)
{
    return hpc_test_indices(c, test_type(HPC_I32, 3), (int32_t[]){5, 0, 3});
}

static void want(hpc_test_case *c, hpc_value v)
{
    hpc_test_want(c, v, HPC_TEST_EXACT);
}

/* ---- products -------------------------------------------------------------------------- */

enum { Y, PRE, A, B, BIAS, RESIDUAL, OPERANDS };
enum { M = 5, N = 7, K = 6, BATCH = 3 };

/* batched: 0 neither operand, 1 a, 2 both. parts: 1 bias, 2 residual, 4 pre is also used. */
static void product_case(void **state, int transposed, int batched, int act, int parts)
{
    bool ta = transposed & 1, tb = transposed & 2;
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "matmul %d batched %d act %d parts %d", transposed, batched, act,
                        parts);
    int64_t a[] = {BATCH, ta ? K : M, ta ? M : K}, b[] = {BATCH, tb ? N : K, tb ? K : N};
    int64_t y[] = {BATCH, M, N};
    hpc_value operand[] = {HPC_NEW,
                           act || parts & 4 ? HPC_NEW : HPC_NONE,
                           hpc_test_input(&c, real(batched ? 3 : 2, a + !batched), 0.7),
                           hpc_test_input(&c, real(batched == 2 ? 3 : 2, b + (batched != 2)), 0.7),
                           HPC_NONE,
                           HPC_NONE};
    /* No rule for this one: each of the batch would be turned round on its own. */
    if (ta && batched == 1) hpc_test_given_of(&c, operand[A])->constant = true;
    if (parts & 1) operand[BIAS] = hpc_test_state(&c, REAL(N), 1, true);
    if (parts & 2) operand[RESIDUAL] = hpc_test_input(&c, real(batched ? 3 : 2, y + !batched), 1);
    hpc_matmul_attr attr = {.trans_a = ta, .trans_b = tb, .act = act, .alpha = -0.8};
    hpc_emit(c.p, &hpc_op_matmul, operand, &attr);
    want(&c, operand[Y]);
    if (parts & 4) want(&c, operand[PRE]);
    hpc_test_gradient_check(&c);
}

static void products(void **state)
{
    for (int t = 0; t < 4; t++)
        for (int b = 0; b < 3; b++) {
            product_case(state, t, b, HPC_ACT_NONE, 0);
            product_case(state, t, b, HPC_SILU, 3);
            product_case(state, t, b, HPC_GELU_TANH, 7);
        }
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++)
        for (int parts = 0; parts < 8; parts++) product_case(state, 2, 0, act, parts);
}

/* Rows that end at run time, for each of a batch too, and weights that are shared. */
static void products_of_ragged_rows(void **state)
{
    for (int how = 0; how < 3; how++)
        for (int transposed = 0; transposed < 2; transposed++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "ragged rows %d, %d", how, transposed);
            hpc_type a = how ? hpc_type_ragged(REAL(BATCH, M, K), 1, counts_of(&c))
                             : hpc_type_ragged(REAL(M, K), 0, count_of(&c, 3));
            int64_t e[] = {BATCH, transposed ? N : K, transposed ? K : N};
            hpc_value x = hpc_test_input(&c, a, 1);
            hpc_value w = hpc_test_state(&c, real(how == 2 ? 3 : 2, e + (how != 2)), 1, true);
            want(&c,
                 hpc_matmul(c.p, x, w, (hpc_matmul_attr){.trans_b = transposed, .act = HPC_SILU}));
            hpc_test_gradient_check(&c);
        }
}

static void products_of_ragged_sums(void **state)
{
    for (int batched = 0; batched < 2; batched++) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "ragged sum, batched %d", batched);
        hpc_value n = batched ? counts_of(&c) : count_of(&c, 4);
        int64_t a[] = {BATCH, K, M}, b[] = {BATCH, K, N};
        hpc_type ta = hpc_type_ragged(real(2 + batched, a + !batched), batched, n);
        hpc_type tb = hpc_type_ragged(real(2 + batched, b + !batched), batched, n);
        hpc_value x = hpc_test_input(&c, ta, 1), y = hpc_test_input(&c, tb, 1);
        want(&c, hpc_matmul(c.p, x, y, (hpc_matmul_attr){.trans_a = true}));
        hpc_test_gradient_check(&c);
    }
}

/* Packed weights pass gradients on to where they come from, if x needs none. */
static void packed_products(void **state)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "packed");
    hpc_value x = hpc_test_input(&c, REAL(M, K), 1), w = hpc_test_input(&c, REAL(N, K), 1);
    hpc_test_given_of(&c, x)->constant = true;
    want(&c, hpc_matmul(c.p, x, hpc_pack(c.p, w), (hpc_matmul_attr){.trans_b = true}));
    hpc_test_gradient_check(&c);
}

/* ---- norms, rotations, attention ------------------------------------------------------------ */

static void norms(void **state)
{
    for (int kind = HPC_RMS; kind <= HPC_LAYER; kind++)
        for (int parts = 0; parts < 4; parts++)
            for (int ragged = 0; ragged < 2; ragged++) {
                hpc_test_case c;
                hpc_test_case_begin(&c, state, "norm %d parts %d ragged %d", kind, parts, ragged);
                hpc_type t = REAL(3, 6, H);
                if (ragged) t = hpc_type_ragged(t, 1, counts_of(&c));
                hpc_value x = hpc_test_input(&c, t, 2), w = HPC_NONE, b = HPC_NONE;
                if (parts & 1) w = hpc_test_state(&c, REAL(H), 1, true);
                if (parts & 2) b = hpc_test_input(&c, REAL(H), 1);
                want(&c, hpc_norm(c.p, x, w, b, (hpc_norm_attr){.kind = kind, .eps = 1e-3}));
                hpc_test_gradient_check(&c);
            }
}

static void rotations(void **state)
{
    static const int32_t pos[T] = {0, 1, 2, 3, 0, 1, 2, 3, 4, 50, 51};
    for (int kind = 0; kind < 8; kind++) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "rope %d", kind);
        hpc_type t = REAL(T, 2, H), at = test_type(HPC_I32, T);
        if (kind & 1) {
            hpc_value n = count_of(&c, 8);
            t = hpc_type_ragged(t, 0, n);
            at = hpc_type_ragged(at, 0, n);
        }
        hpc_value x = hpc_test_input(&c, t, 1), freq = hpc_test_input(&c, REAL(3), 1);
        hpc_test_given_of(&c, freq)->constant = true;
        hpc_rope_attr attr = {.interleaved = kind & 2, .inverse = kind & 4, .scale = 1.3};
        want(&c, hpc_rope(c.p, x, hpc_test_indices(&c, at, pos), freq, attr));
        hpc_test_gradient_check(&c);
    }
}

static void attentions(void **state)
{
    static const int32_t start[] = {0, 4, 4, 10, T}, part[] = {0, 4, 9, INT32_MAX, INT32_MAX};
    for (int kind = 0; kind < 16; kind++) {
        hpc_test_case c;
        bool ragged = kind & 4;
        hpc_test_case_begin(&c, state, "attention %d", kind);
        hpc_type q = REAL(T, 4, H), k = REAL(T, 2, H), s = test_type(HPC_I32, 5);
        if (ragged) {
            hpc_value rows = count_of(&c, 9);
            q = hpc_type_ragged(q, 0, rows);
            k = hpc_type_ragged(k, 0, rows);
            s = hpc_type_ragged(s, 0, count_of(&c, 3));
        }
        hpc_value vq = hpc_test_input(&c, q, 1), vk = hpc_test_input(&c, k, 1);
        hpc_value vv = hpc_test_input(&c, k, 1);
        hpc_attention_attr attr = {.causal = kind & 1,
                                   .window = kind & 2 ? 3 : 0,
                                   .scale = 0.4,
                                   .cap = kind & 8 ? 0.7 : 0};
        want(&c, hpc_attention(c.p, vq, vk, vv, hpc_test_indices(&c, s, ragged ? part : start),
                               HPC_NONE, HPC_NONE, attr));
        hpc_test_gradient_check(&c);
    }
}

/* ---- elements ------------------------------------------------------------------------------- */

static void activations(void **state)
{
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++)
        for (int ragged = 0; ragged < 2; ragged++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "act %d ragged %d", act, ragged);
            hpc_type t = ragged ? hpc_type_ragged(REAL(3, H), 1, counts_of(&c)) : REAL(3, H);
            hpc_value x = hpc_test_input(&c, t, 2), up = hpc_test_input(&c, t, 1);
            want(&c, hpc_activate(c.p, x, (hpc_act)act));
            want(&c, hpc_glu(c.p, x, up, (hpc_act)act));
            hpc_test_gradient_check(&c);
        }
}

/* All kinds of repetition, and b a state. */
static void binaries(void **state)
{
    for (int kind = HPC_ADD; kind <= HPC_MUL; kind++)
        for (int how = 0; how < 4; how++)
            for (int trainable = 0; trainable < 2; trainable++)
                for (int ragged = 0; ragged < 2; ragged++) {
                    hpc_test_case c;
                    hpc_test_case_begin(&c, state, "binary %d spread %d ragged %d state %d", kind,
                                        how, ragged, trainable);
                    hpc_type t = REAL(3, 6, H), b = t;
                    if (ragged) b = t = hpc_type_ragged(t, 1, counts_of(&c));
                    if (how == 1) b = REAL(H);
                    if (how == 2) b.extent[2] = 1;
                    if (how == 3) b = real(0, NULL);
                    /* State is whole: it has no run-time extents of a slot's. */
                    if (trainable && b.ragged >= 0) {
                        hpc_test_case_free(&c);
                        continue;
                    }
                    hpc_value x = hpc_test_input(&c, t, 1);
                    hpc_value v =
                        trainable ? hpc_test_state(&c, b, 1, true) : hpc_test_input(&c, b, 1);
                    want(&c, hpc_binary(c.p, (hpc_binary_kind)kind, x, v));
                    hpc_test_gradient_check(&c);
                }
}

static void values_met_twice(void **state)
{
    for (int kind = HPC_ADD; kind <= HPC_MUL; kind++) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "binary %d of x and x", kind);
        hpc_value x = hpc_test_input(&c, REAL(4, 4), 1);
        want(&c, hpc_binary(c.p, (hpc_binary_kind)kind, x, x));
        want(&c, hpc_matmul(c.p, x, x, (hpc_matmul_attr){.trans_a = true}));
        hpc_test_gradient_check(&c);
    }
}

static void scales_copies_and_views(void **state)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "scale, copy, view");
    hpc_value x = hpc_test_input(&c, REAL(6, H), 1), w = hpc_test_state(&c, REAL(H, 6), 1, true);
    hpc_value by = hpc_test_scalar(&c, HPC_F64, 0.7);
    hpc_test_given_of(&c, by)->constant = true;
    hpc_value seen = hpc_view(c.p, hpc_scale(c.p, HPC_NEW, x, by, -2), 3, (int64_t[]){2, 15, 2});
    seen = hpc_copy(c.p, hpc_activate(c.p, seen, HPC_SILU), HPC_F64);
    want(&c, seen);
    hpc_value turned = hpc_scale(c.p, HPC_NEW, hpc_view(c.p, w, 2, (int64_t[]){6, H}), HPC_NONE, 3);
    want(&c, hpc_binary(c.p, HPC_MUL, turned, hpc_view(c.p, seen, 2, (int64_t[]){6, H})));
    hpc_test_gradient_check(&c);
}

/* (x^2 / 2 + 1)^(-1/2), as a norm has it. */
static void mapped(void **state)
{
    static const hpc_map_attr attr[] = {{.alpha = 0.5, .power = 2},
                                        {.alpha = 3, .power = 1, .beta = 1},
                                        {.alpha = 1, .power = -0.5}};
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "map");
    hpc_value x = hpc_test_input(&c, REAL(6, H), 1);
    for (size_t k = 0; k < sizeof attr / sizeof *attr; k++) x = hpc_map_each(c.p, x, attr[k]);
    want(&c, x);
    hpc_test_gradient_check(&c);
}

static void dropped(void **state)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "dropout");
    hpc_value x = hpc_test_input(&c, REAL(4, 3, H), 1);
    hpc_value step = hpc_test_scalar(&c, HPC_I32, 4), base = hpc_test_scalar(&c, HPC_I64, 900);
    hpc_dropout_attr attr = {.p = 0.3, .seed = 3, .tensor = 4, .global_cols = 50, .col0 = 20};
    want(&c, hpc_dropout(c.p, hpc_activate(c.p, x, HPC_SILU), step, base, attr));
    hpc_test_gradient_check(&c);
}

/* live: 0 all, 1 rows, 2 rows of each of a batch. */
static void reductions(void **state)
{
    for (int kind = HPC_SUM; kind <= HPC_SUMSQ; kind++)
        for (int over = HPC_OVER_ALL; over <= HPC_OVER_COLS; over++)
            for (int live = 0; live < 3; live++) {
                hpc_test_case c;
                hpc_test_case_begin(&c, state, "reduce %d over %d live %d", kind, over, live);
                hpc_type t = REAL(3, 6, H);
                if (live == 1) t = hpc_type_ragged(t, 0, count_of(&c, 2));
                if (live == 2) t = hpc_type_ragged(t, 1, counts_of(&c));
                hpc_value x = hpc_test_input(&c, t, 1);
                hpc_value y = hpc_activate(c.p, x, HPC_SILU);
                want(&c, hpc_reduce(c.p, HPC_NEW, y, (hpc_reduce_kind)kind, (hpc_reduce_over)over));
                hpc_test_gradient_check(&c);
            }
}

/* ---- rows by index, losses ------------------------------------------------------------------ */

static void gathers_and_scatters(void **state)
{
    static const int32_t index[] = {4, 0, -1, 4, 4, 2, -7, 11};
    for (int table = 0; table < 3; table++) { /* an input, an input of rank 3, state */
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "gather from %d", table);
        hpc_value at = hpc_test_indices(&c, test_type(HPC_I32, 2, 4), index);
        hpc_value x = table == 2   ? hpc_test_state(&c, REAL(12, H), 1, true)
                      : table == 1 ? hpc_test_input(&c, REAL(3, 4, H), 1)
                                   : hpc_test_input(&c, REAL(12, H), 1);
        hpc_value rows = hpc_gather(c.p, x, at);
        want(&c, rows);
        want(&c, hpc_scatter(c.p, HPC_NEW, hpc_activate(c.p, rows, HPC_SILU), at,
                             (hpc_scatter_attr){.rows = 12}));
        hpc_test_gradient_check(&c);
    }
}

/* Tokens to groups of varying size, through weights of their own, and back. */
static void routed(void **state)
{
    static const int32_t group[T] = {0, 1, 1, -1, 0, 1, 1, 1, 0, 1, 1};
    hpc_test_case c;
    hpc_value count;
    hpc_test_case_begin(&c, state, "routed");
    hpc_value x = hpc_test_input(&c, REAL(T, H), 1), w = hpc_test_state(&c, REAL(3, 6, H), 1, true);
    hpc_value to = hpc_test_indices(&c, test_type(HPC_I32, T), group);
    hpc_value index = hpc_route(c.p, to, 3, T, &count);
    hpc_matmul_attr attr = {.trans_b = true, .act = HPC_GELU_ERF};
    hpc_value y = hpc_matmul(c.p, hpc_gather(c.p, x, index), w, attr);
    want(&c, hpc_scatter(c.p, HPC_NEW, y, index, (hpc_scatter_attr){.rows = T}));
    hpc_test_gradient_check(&c);
}

/* Tokens through their experts, with a bias each, and back: all gradients. */
static void layers_of_experts(void **state)
{
    enum { TOKENS = 9, EXPERTS = 7, CHOICES = 3, WIDTH = 6, FFN = 5 };
    for (int cap = 0; cap < 4; cap += 3) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "layer of experts, capacity %d", cap);
        hpc_value x = hpc_test_input(&c, test_type(HPC_F64, TOKENS, WIDTH), 1);
        hpc_value w1 = hpc_test_state(&c, test_type(HPC_F64, EXPERTS, FFN, WIDTH), 1, true);
        hpc_value w2 = hpc_test_state(&c, test_type(HPC_F64, EXPERTS, FFN, WIDTH), 1, true);
        hpc_value bias = hpc_test_state(&c, test_type(HPC_F64, EXPERTS, FFN), 1, true);
        hpc_gate_io io = {.logits = hpc_test_input(&c, test_type(HPC_F64, TOKENS, EXPERTS), 2),
                          .bias = HPC_NONE,
                          .anneal = HPC_NONE,
                          .step = HPC_NONE,
                          .base = HPC_NONE};
        hpc_value weight = hpc_gate(c.p, &io, (hpc_gate_attr){.k = CHOICES, .normalise = true});
        hpc_dispatched d =
            hpc_dispatch(c.p, io.expert, (hpc_dispatch_attr){.experts = EXPERTS, .cap = cap});
        hpc_value rows = hpc_gather(c.p, x, d.token);
        hpc_value h =
            hpc_grouped(c.p, HPC_NEW, rows, w1, d.start, (hpc_grouped_attr){.trans_b = true});
        h = hpc_binary(c.p, HPC_ADD, h, hpc_gather(c.p, bias, d.group));
        h = hpc_activate(c.p, h, HPC_SILU);
        h = hpc_grouped(c.p, HPC_NEW, h, w2, d.start, (hpc_grouped_attr){0});
        hpc_value column = hpc_view(c.p, weight, 3, (int64_t[]){TOKENS, CHOICES, 1});
        h = hpc_binary(c.p, HPC_MUL, h, hpc_gather(c.p, column, d.slot));
        hpc_test_want(&c, hpc_scatter_to(c.p, h, d.token, x), HPC_TEST_EXACT);
        hpc_test_gradient_check(&c);
    }
}

/* Rows to the ranks of their experts and back, on one rank. */
static void exchanges(void **state)
{
    enum { TOKENS = 9, EXPERTS = 5, CHOICES = 2, WIDTH = 6 };
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "exchange");
    hpc_value x = hpc_test_input(&c, test_type(HPC_F64, TOKENS, WIDTH), 1), n;
    hpc_value w = hpc_test_state(&c, test_type(HPC_F64, EXPERTS, WIDTH, WIDTH), 1, true);
    hpc_gate_io io = {.logits = hpc_test_input(&c, test_type(HPC_F64, TOKENS, EXPERTS), 2),
                      .bias = HPC_NONE,
                      .anneal = HPC_NONE,
                      .step = HPC_NONE,
                      .base = HPC_NONE};
    want(&c, hpc_gate(c.p, &io, (hpc_gate_attr){.k = CHOICES, .normalise = true}));
    hpc_dispatched d = hpc_dispatch(c.p, io.expert, (hpc_dispatch_attr){.experts = EXPERTS});
    hpc_value start = d.start, plan = hpc_exchange_plan(c.p, &start, &n, EXPERTS, 1);
    hpc_value h = hpc_exchange(c.p, hpc_gather(c.p, x, d.token), plan, n, false);
    h = hpc_activate(c.p, hpc_grouped(c.p, HPC_NEW, h, w, start, (hpc_grouped_attr){0}), HPC_SILU);
    h = hpc_exchange(c.p, h, plan, d.rows, true);
    hpc_test_want(&c, hpc_scatter_to(c.p, h, d.token, x), HPC_TEST_EXACT);
    hpc_test_gradient_check(&c);
}

static void losses(void **state)
{
    static const int32_t target[T] = {3, 0, -1, 12, 5, 5, -9, 1, 12, 2, 3};
    for (int ragged = 0; ragged < 2; ragged++)
        for (int trainable = 0; trainable < 2; trainable++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "head_loss, ragged %d, state %d", ragged, trainable);
            hpc_type x = REAL(T, H), to = test_type(HPC_I32, T), w = REAL(13, H);
            if (ragged) {
                hpc_value n = count_of(&c, 8);
                x = hpc_type_ragged(x, 0, n);
                to = hpc_type_ragged(to, 0, n);
            }
            hpc_value vx = hpc_test_input(&c, x, 1);
            hpc_value vw = trainable ? hpc_test_state(&c, w, 1, true) : hpc_test_input(&c, w, 1);
            want(&c, hpc_head_loss_capped(c.p, NULL, vx, vw, hpc_test_indices(&c, to, target),
                                          trainable ? 0.8 : 0));
            hpc_test_gradient_check(&c);
        }
}

/* ---- graphs ------------------------------------------------------------------------------- */

enum { VERTICES = 7, SOURCES = 5, EDGES = 26 };

static hpc_graph graph_of(hpc_test_case *c)
{
    hpc_test_graph g;
    hpc_test_graph_make(&g, VERTICES, SOURCES, EDGES, 2);
    hpc_type edges = test_type(HPC_I32, EDGES);
    return (hpc_graph){hpc_test_indices(c, test_type(HPC_I32, VERTICES + 1), g.start),
                       hpc_test_indices(c, edges, g.index),
                       hpc_test_indices(c, test_type(HPC_I32, SOURCES + 1), g.back_start),
                       hpc_test_indices(c, edges, g.back_index),
                       hpc_test_indices(c, edges, g.back_edge)};
}

/* heads 0: one weight for each edge; -1: none. */
static void graph_reductions(void **state)
{
    for (int kind = HPC_GRAPH_SUM; kind <= HPC_GRAPH_MEAN; kind++)
        for (int heads = -1; heads < 3; heads++)
            for (int trainable = 0; trainable < 2; trainable++) {
                if (kind == HPC_GRAPH_MAX && heads >= 0) continue;
                hpc_test_case c;
                hpc_test_case_begin(&c, state, "graph_reduce %d heads %d, state %d", kind, heads,
                                    trainable);
                hpc_graph g = graph_of(&c);
                hpc_value x = trainable ? hpc_test_state(&c, REAL(SOURCES, 6), 1, true)
                                        : hpc_test_input(&c, REAL(SOURCES, 6), 1);
                hpc_value w = HPC_NONE;
                if (heads == 0) w = hpc_test_input(&c, REAL(EDGES), 1);
                if (heads > 0) w = hpc_test_input(&c, REAL(EDGES, heads), 1);
                want(&c, hpc_graph_reduce(c.p, HPC_NEW, x, w, &g, (hpc_graph_kind)kind));
                hpc_test_gradient_check(&c);
            }
}

static void segment_reductions(void **state)
{
    for (int kind = HPC_GRAPH_SUM; kind <= HPC_GRAPH_MEAN; kind++) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "segments %d", kind);
        hpc_graph g = hpc_graph_of_segments(graph_of(&c).start);
        hpc_value x = hpc_test_input(&c, REAL(EDGES, 3), 1);
        want(&c, hpc_graph_reduce(c.p, HPC_NEW, x, HPC_NONE, &g, (hpc_graph_kind)kind));
        hpc_test_gradient_check(&c);
    }
}

/* Attention of GAT and of transformers: scores of edges, softmax, weighted sums. */
static void graph_attentions(void **state)
{
    for (int dot = 0; dot < 2; dot++) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "attention over edges, dot %d", dot);
        hpc_graph g = graph_of(&c);
        hpc_value x = hpc_test_input(&c, REAL(SOURCES, 6), 1);
        hpc_value a = hpc_test_input(&c, REAL(VERTICES, dot ? 6 : 2), 1);
        hpc_value b = hpc_test_input(&c, REAL(SOURCES, dot ? 6 : 2), 1);
        hpc_value score = dot ? hpc_graph_dot(c.p, a, b, &g, 2) : hpc_graph_add(c.p, a, b, &g);
        hpc_value w = hpc_graph_softmax(c.p, hpc_activate(c.p, score, HPC_TANH), g.start, NULL);
        want(&c, hpc_graph_scale(c.p, hpc_graph_reduce(c.p, HPC_NEW, x, w, &g, HPC_GRAPH_SUM),
                                 g.start, 0.5));
        hpc_test_gradient_check(&c);
    }
}

/* Scores on both sides of the kink; the gradient of each operand alone, and of all. */
static void graph_attentions_in_one_op(void **state)
{
    for (int wanted = 1; wanted < 8; wanted++) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "graph_attend, gradients %d", wanted);
        hpc_graph g = graph_of(&c);
        hpc_value in[3];
        const hpc_type type[] = {REAL(SOURCES, 6), REAL(VERTICES, 2), REAL(SOURCES, 2)};
        for (int k = 0; k < 3; k++)
            in[k] = hpc_test_state(&c, type[k], 1, wanted >> k & 1);
        want(&c, hpc_graph_attend(c.p, NULL, in[0], in[1], in[2], &g, 0.2));
        hpc_test_gradient_check(&c);
    }
}

/* The lse has no gradient, and neither do sources without the transposed graph. */
static void graphs_without_gradients(void **state)
{
    static const char *const part[] = {
        "the transposed graph", "through the lse of a softmax over edges", "the transposed graph",
        "through the lse of attention over edges"};
    for (int what = 0; what < 4; what++) {
        hpc_test_case c;
        hpc_value lse;
        hpc_test_case_begin(&c, state, "graph without gradient %d", what);
        hpc_graph g = graph_of(&c);
        g.back_start = g.back_index = g.back_edge = HPC_NONE;
        hpc_value x = hpc_test_input(&c, REAL(SOURCES, 6), 1);
        hpc_value y = lse = HPC_NONE;
        if (what == 1) hpc_graph_softmax(c.p, hpc_test_input(&c, REAL(EDGES, 2), 1), g.start, &lse);
        if (what > 1)
            y = hpc_graph_attend(c.p, &lse, x, hpc_test_input(&c, REAL(VERTICES, 2), 1),
                                 hpc_test_input(&c, REAL(SOURCES, 2), 1), &g, 0.2);
        if (what == 0) y = hpc_graph_reduce(c.p, HPC_NEW, x, HPC_NONE, &g, HPC_GRAPH_SUM);
        want(&c, what % 2 ? lse : y);
        test_fails(hpc_test_differentiate_fails(&c), HPC_E_UNSUPPORTED, part[what]);
        hpc_test_case_free(&c);
    }
}

/* ---- collectives and messages, on one rank -------------------------------------------------- */

static void collectives(void **state)
{
    const hpc_axes axes = 1u << HPC_AXIS_DATA | 1u << HPC_AXIS_COL;
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "collectives");
    hpc_value x = hpc_test_input(&c, REAL(4, H), 1), w = hpc_test_state(&c, REAL(4, H), 1, true);
    hpc_value y = hpc_all_reduce(c.p, hpc_activate(c.p, x, HPC_SILU), axes, HPC_COMM_SUM);
    y = hpc_all_gather(c.p, hpc_binary(c.p, HPC_MUL, y, w), axes, 1);
    want(&c, hpc_reduce_scatter(c.p, y, axes, 1));
    want(&c, hpc_all_to_all(c.p, hpc_glu(c.p, y, x, HPC_GELU_TANH), axes));
    want(&c, hpc_all_reduce(c.p, w, axes, HPC_COMM_SUM));
    hpc_test_gradient_check(&c);
}

static void messages(void **state)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "messages");
    hpc_value x = hpc_test_input(&c, REAL(4, H), 1), w = hpc_test_state(&c, REAL(6, H), 1, true);
    hpc_send(c.p, x, 0, 0, 1);
    hpc_send(c.p, w, 0, 0, 2);
    want(&c, hpc_recv(c.p, REAL(6, H), 0, 0, 2));
    want(&c, hpc_recv(c.p, REAL(4, H), 0, 0, 1));
    hpc_test_gradient_check(&c);
}

/* A rule that returns an error counts as tested. */
static void broadcast_has_no_gradient(void **state)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "broadcast");
    want(&c, hpc_broadcast(c.p, hpc_test_input(&c, REAL(4), 1), 1, 0));
    test_fails(hpc_test_differentiate_fails(&c), HPC_E_UNSUPPORTED,
               "gradient of forward[0] #0 broadcast");
    hpc_test_case_free(&c);
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "gradient");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(products_of_ragged_rows),
        cmocka_unit_test(products_of_ragged_sums),
        cmocka_unit_test(packed_products),
        cmocka_unit_test(norms),
        cmocka_unit_test(rotations),
        cmocka_unit_test(attentions),
        cmocka_unit_test(activations),
        cmocka_unit_test(binaries),
        cmocka_unit_test(values_met_twice),
        cmocka_unit_test(scales_copies_and_views),
        cmocka_unit_test(mapped),
        cmocka_unit_test(dropped),
        cmocka_unit_test(reductions),
        cmocka_unit_test(gathers_and_scatters),
        cmocka_unit_test(routed),
        cmocka_unit_test(layers_of_experts),
        cmocka_unit_test(exchanges),
        cmocka_unit_test(losses),
        cmocka_unit_test(graph_reductions),
        cmocka_unit_test(segment_reductions),
        cmocka_unit_test(graph_attentions),
        cmocka_unit_test(graph_attentions_in_one_op),
        cmocka_unit_test(graphs_without_gradients),
        cmocka_unit_test(collectives),
        cmocka_unit_test(messages),
        cmocka_unit_test(broadcast_has_no_gradient),
        cmocka_unit_test(hpc_test_bench_differentiates),
    };
    return cmocka_run_group_tests_name("ops/gradient", tests, open_bench, hpc_test_bench_close);
}
