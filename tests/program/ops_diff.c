/*
 * ops_diff.c: every backward rule of the op table compared with central differences in f64, and
 * errors where there is no gradient.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/values.h"

#define EXTENTS(...)                                                                               \
    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[])                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
enum { MOST = 512, INPUTS = 5 };

/* A forward program of one result, and the values that it is differentiated by. */
typedef struct probe {
    hpc_program *p;
    hpc_value of[INPUTS];
    int n;
    hpc_value index[3];
    const int32_t *at[3];
    int index_n;
    int64_t live; /* leading elements of the first value that exist at run time; 0: all */
} probe;

static hpc_value real(probe *b, size_t rank, const int64_t *extent)
{
    char name[8];
    snprintf(name, sizeof name, "x%d", b->n);
    hpc_value v = hpc_program_input(b->p, name, hpc_type_of(HPC_F64, (int)rank, extent));
    return b->of[b->n++] = v;
}

/* As a trainable state, so that its gradient goes into an accumulator. */
static hpc_value weight(probe *b, size_t rank, const int64_t *extent)
{
    char name[8];
    snprintf(name, sizeof name, "w%d", b->n);
    hpc_value v = hpc_program_state(b->p, name, hpc_type_of(HPC_F64, (int)rank, extent), true);
    return b->of[b->n++] = v;
}

static hpc_value indices(probe *b, const int32_t *at, size_t rank, const int64_t *extent)
{
    char name[8];
    snprintf(name, sizeof name, "i%d", b->index_n);
    hpc_value v = hpc_program_input(b->p, name, hpc_type_of(HPC_I32, (int)rank, extent));
    b->index[b->index_n] = v;
    b->at[b->index_n++] = at;
    return v;
}

static hpc_value gradient_of(const probe *b, const hpc_value *given, int k)
{
    const hpc_value_info *info = &b->p->value[b->of[k]];
    return info->trainable ? info->grad : given[k];
}

/* Differentiates y by all of b->of; want receives where the gradients are. */
static hpc_value differentiate(probe *b, hpc_value y, hpc_value *want)
{
    hpc_program *p = b->p;
    test_ok(hpc_program_status(p));
    hpc_program_keep(p, y);
    hpc_value dy = hpc_program_input(p, "dy", p->value[y].type);
    int backward = hpc_program_segment(p, HPC_BACKWARD, 0);
    test_ok(backward);
    hpc_diff_options o = {.forward = 0,
                          .backward = backward,
                          .accumulate = -1,
                          .seed_of = &y,
                          .seed = &dy,
                          .seed_n = 1,
                          .want = b->of,
                          .want_grad = want,
                          .want_n = b->n};
    test_ok(hpc_differentiate(p, &o));
    for (int k = 0; k < b->n; k++) {
        want[k] = gradient_of(b, want, k);
        assert_true(want[k] >= 0);
        assert_true(hpc_type_same_shape(&p->value[want[k]].type, &p->value[b->of[k]].type));
        if (!p->value[b->of[k]].trainable) hpc_program_keep(p, want[k]);
    }
    test_ok(hpc_program_check(p));
    return dy;
}

static double objective(hpc_exec *e, const probe *b, hpc_value y, const double *dy)
{
    double got[MOST], sum = 0;
    int64_t n = hpc_test_n(b->p, y);
    test_ok(hpc_exec_run(e, 0, 0));
    hpc_test_read(e, 0, y, got);
    for (int64_t k = 0; k < n; k++) sum += got[k] * dy[k];
    return sum;
}

static void compare(hpc_exec *e, const probe *b, int k, hpc_value y, const double *dy,
                    const double *gradient)
{
    const double h = 1e-5;
    double x[MOST];
    int64_t n = hpc_test_n(b->p, b->of[k]);
    hpc_test_draw(x, n, (uint32_t)k + 1, 0.7);
    for (int64_t c = 0; c < (k == 0 && b->live ? b->live : n); c++) {
        double x0 = x[c];
        x[c] = x0 + h;
        hpc_test_write(e, 0, b->of[k], x);
        double above = objective(e, b, y, dy);
        x[c] = x0 - h;
        hpc_test_write(e, 0, b->of[k], x);
        double slope = (above - objective(e, b, y, dy)) / (2 * h);
        x[c] = x0;
        if (fabs(slope - gradient[c]) > 1e-7 * (1 + fabs(slope)))
            fail_msg("by operand %d, element %lld: %.9g, by differences %.9g", k, (long long)c,
                     gradient[c], slope);
    }
    hpc_test_write(e, 0, b->of[k], x);
}

static void proves(probe *b, hpc_value y)
{
    static double gradient[INPUTS][MOST];
    double dy[MOST], zero[MOST] = {0};
    hpc_value want[INPUTS] = {HPC_NONE, HPC_NONE, HPC_NONE, HPC_NONE, HPC_NONE};
    hpc_value seed = differentiate(b, y, want);
    hpc_device *d;
    hpc_exec *e;
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = "cpu", .threads = 1}));
    test_ok(hpc_exec_open(&e, b->p, d, NULL, NULL));
    for (int k = 0; k < b->index_n; k++) hpc_test_write_i32(e, 0, b->index[k], b->at[k]);
    for (int k = 0; k < b->n; k++) hpc_test_feed(e, 0, b->of[k], (uint32_t)k + 1, 0.7);
    for (int k = 0; k < b->n; k++)
        if (b->p->value[b->of[k]].trainable) hpc_test_write(e, 0, want[k], zero);
    hpc_test_feed(e, 0, seed, 99, 1);
    hpc_test_draw(dy, hpc_test_n(b->p, y), 99, 1);
    test_ok(hpc_exec_run(e, 0, 0));
    test_ok(hpc_exec_run(e, 1, 0));
    for (int k = 0; k < b->n; k++) hpc_test_read(e, 0, want[k], gradient[k]);
    for (int k = 0; k < b->n; k++) compare(e, b, k, y, dy, gradient[k]);
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(b->p);
}

static probe begin(void)
{
    probe b = {.p = hpc_program_create()};
    assert_non_null(b.p);
    test_ok(hpc_program_segment(b.p, HPC_FORWARD, 0));
    return b;
}

/* ---- products -------------------------------------------------------------- */

static void matmul_any_transposition(void **s)
{
    (void)s;
    for (int t = 0; t < 4; t++) {
        hpc_matmul_attr at = {.trans_a = t & 1, .trans_b = t & 2, .alpha = 0.5};
        probe b = begin();
        hpc_value x = at.trans_a ? real(&b, EXTENTS(4, 3)) : real(&b, EXTENTS(3, 4));
        hpc_value w = at.trans_b ? weight(&b, EXTENTS(5, 4)) : weight(&b, EXTENTS(4, 5));
        proves(&b, hpc_matmul(b.p, x, w, at));
    }
}

static void matmul_any_transposition_batched(void **s)
{
    (void)s;
    for (int t = 0; t < 4; t++) {
        hpc_matmul_attr at = {.trans_a = t & 1, .trans_b = t & 2};
        probe b = begin();
        hpc_value x = at.trans_a ? real(&b, EXTENTS(2, 4, 3)) : real(&b, EXTENTS(2, 3, 4));
        hpc_value w = at.trans_b ? weight(&b, EXTENTS(2, 5, 4)) : weight(&b, EXTENTS(2, 4, 5));
        proves(&b, hpc_matmul(b.p, x, w, at));
    }
}

static void matmul_shared_factor(void **s)
{
    (void)s;
    for (int t = 0; t < 2; t++) {
        probe b = begin();
        hpc_value x = real(&b, EXTENTS(2, 3, 4));
        hpc_value w = t ? weight(&b, EXTENTS(5, 4)) : real(&b, EXTENTS(4, 5));
        proves(&b, hpc_matmul(b.p, x, w, (hpc_matmul_attr){.trans_b = t}));
    }
    for (int t = 0; t < 2; t++) { /* a is no tall matrix; only w has a gradient */
        probe b = begin();
        hpc_value x =
            hpc_program_state(b.p, "given", hpc_type_of(HPC_F64, 3, (int64_t[]){2, 4, 3}), false);
        hpc_fill(b.p, x, 0.25);
        hpc_value w = t ? weight(&b, EXTENTS(5, 4)) : real(&b, EXTENTS(4, 5));
        proves(&b, hpc_matmul(b.p, x, w, (hpc_matmul_attr){.trans_a = true, .trans_b = t}));
    }
}

static void matmul_epilogue(void **s)
{
    (void)s;
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++) {
        probe b = begin();
        hpc_value pre = act == HPC_ACT_NONE ? HPC_NONE : HPC_NEW;
        hpc_value operand[] = {HPC_NEW,
                               pre,
                               real(&b, EXTENTS(3, 4)),
                               weight(&b, EXTENTS(5, 4)),
                               weight(&b, EXTENTS(5)),
                               real(&b, EXTENTS(3, 5))};
        hpc_matmul_attr at = {.trans_b = true, .act = act, .alpha = 2};
        proves(&b, hpc_emit(b.p, &hpc_op_matmul, operand, &at));
    }
}

/* Both y and the argument of its activation are used. */
static void matmul_through_pre(void **s)
{
    (void)s;
    probe b = begin();
    hpc_value operand[] = {HPC_NEW,  HPC_NEW, real(&b, EXTENTS(3, 4)), weight(&b, EXTENTS(4, 5)),
                           HPC_NONE, HPC_NONE};
    hpc_matmul_attr at = {.act = HPC_SILU, .alpha = 1};
    hpc_value y = hpc_emit(b.p, &hpc_op_matmul, operand, &at);
    proves(&b, hpc_binary(b.p, HPC_MUL, y, operand[1]));
}

/* x, whose first extent ends at run time, after two of its rows. */
static hpc_value two_rows(probe *b, size_t rank, const int64_t *extent)
{
    static const int32_t two[] = {2};
    hpc_value n = indices(b, two, 0, NULL);
    hpc_value x = real(b, rank, extent);
    hpc_type *t = &b->p->value[x].type;
    *t = hpc_type_ragged(*t, 0, n);
    b->live = 2 * hpc_test_n(b->p, x) / extent[0];
    return x;
}

static void run_time_extents(void **s)
{
    (void)s;
    probe b = begin();
    hpc_value x = two_rows(&b, EXTENTS(4, 3));
    hpc_value y = hpc_linear(b.p, x, weight(&b, EXTENTS(5, 3)), weight(&b, EXTENTS(5)), HPC_NONE);
    y = hpc_norm(b.p, y, weight(&b, EXTENTS(5)), HPC_NONE, (hpc_norm_attr){.eps = 1e-3});
    y = hpc_binary(b.p, HPC_MUL, y, weight(&b, EXTENTS(5)));
    y = hpc_view(b.p, hpc_activate(b.p, y, HPC_SILU), 3, (int64_t[]){4, 1, 5});
    proves(&b, hpc_reduce(b.p, HPC_NEW, y, HPC_SUMSQ, HPC_OVER_ROWS));
    for (int over = HPC_OVER_ALL; over <= HPC_OVER_COLS; over++) {
        b = begin();
        x = two_rows(&b, EXTENTS(4, 3));
        y = hpc_reduce(b.p, HPC_NEW, x, HPC_SUMSQ, (hpc_reduce_over)over);
        proves(&b, hpc_reduce(b.p, HPC_NEW, y, HPC_SUM, HPC_OVER_ALL));
    }
}

static void routed_and_back(void **s)
{
    (void)s;
    static const int32_t group[] = {1, 0, -1, 1, 1};
    probe b = begin();
    hpc_value index = hpc_route(b.p, indices(&b, group, EXTENTS(5)), 2, 4, NULL);
    hpc_value x = hpc_gather(b.p, real(&b, EXTENTS(5, 3)), index);
    hpc_value y = hpc_matmul(b.p, x, weight(&b, EXTENTS(2, 3, 4)), (hpc_matmul_attr){0});
    y = hpc_matmul(b.p, y, weight(&b, EXTENTS(4, 2)), (hpc_matmul_attr){0}); /* shared */
    proves(&b, hpc_scatter(b.p, HPC_NEW, y, index, (hpc_scatter_attr){.rows = 5}));
}

/* ---- norm, rope, attention, loss ------------------------------------------- */

static void norms(void **s)
{
    (void)s;
    for (int kind = HPC_RMS; kind <= HPC_LAYER; kind++) {
        hpc_norm_attr at = {.kind = kind, .eps = 1e-3};
        probe b = begin();
        hpc_value x = real(&b, EXTENTS(3, 2, 5)), w = weight(&b, EXTENTS(5));
        proves(&b, hpc_norm(b.p, x, w, real(&b, EXTENTS(5)), at));
        b = begin();
        proves(&b, hpc_norm(b.p, real(&b, EXTENTS(3, 5)), HPC_NONE, HPC_NONE, at));
    }
}

static void ropes(void **s)
{
    (void)s;
    static const int32_t pos[] = {0, 5, 2};
    for (int k = 0; k < 4; k++) {
        hpc_rope_attr at = {.interleaved = k & 1, .inverse = k & 2, .scale = 1.25};
        probe b = begin();
        hpc_value x = real(&b, EXTENTS(3, 2, 6)),
                  freq = hpc_program_state(b.p, "freq", hpc_type_of(HPC_F64, 1, (int64_t[]){2}),
                                           false);
        hpc_fill(b.p, freq, 0.3);
        proves(&b, hpc_rope(b.p, x, indices(&b, pos, EXTENTS(3)), freq, at));
    }
}

static void attention(void **s)
{
    (void)s;
    static const int32_t start[] = {0, 2, 7};
    for (int64_t window = 0; window <= 2; window += 2) {
        probe b = begin();
        hpc_value q = real(&b, EXTENTS(7, 4, 3)), k = real(&b, EXTENTS(7, 2, 3));
        hpc_value v = real(&b, EXTENTS(7, 2, 3)), of = indices(&b, start, EXTENTS(3));
        proves(&b, hpc_attention(b.p, q, k, v, of, HPC_NONE, HPC_NONE,
                                 (hpc_attention_attr){.causal = true, .window = window}));
    }
}

static void head_loss(void **s)
{
    (void)s;
    static const int32_t target[] = {1, -1, 6, 0};
    probe b = begin();
    hpc_value x = real(&b, EXTENTS(4, 3)), w = weight(&b, EXTENTS(7, 3));
    proves(&b, hpc_head_loss(b.p, x, w, indices(&b, target, EXTENTS(4))));
    b = begin();
    w = weight(&b, EXTENTS(7, 3)); /* embedding and head tied: two gradients, one accumulator */
    x = hpc_gather(b.p, w, indices(&b, target, EXTENTS(4)));
    proves(&b, hpc_head_loss(b.p, x, w, b.index[0]));
}

/* ---- pointwise ------------------------------------------------------------- */

static void activations(void **s)
{
    (void)s;
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++) {
        probe b = begin();
        proves(&b, hpc_activate(b.p, real(&b, EXTENTS(3, 4)), (hpc_act)act));
        b = begin();
        hpc_value gate = real(&b, EXTENTS(3, 4));
        proves(&b, hpc_glu(b.p, gate, real(&b, EXTENTS(3, 4)), (hpc_act)act));
    }
}

static void binaries(void **s)
{
    (void)s;
    static const int64_t shape[][3] = {{2, 3, 4}, {4}, {2, 3, 1}, {0}};
    static const size_t rank[] = {3, 1, 3, 0};
    for (int kind = HPC_ADD; kind <= HPC_MUL; kind++)
        for (int k = 0; k < 8; k++) {
            probe b = begin();
            hpc_value x = real(&b, EXTENTS(2, 3, 4));
            hpc_value y =
                k & 1 ? weight(&b, rank[k / 2], shape[k / 2]) : real(&b, rank[k / 2], shape[k / 2]);
            proves(&b, hpc_binary(b.p, (hpc_binary_kind)kind, x, y));
        }
}

static void same_value_twice(void **s)
{
    (void)s;
    probe b = begin();
    hpc_value x = real(&b, EXTENTS(3, 4));
    proves(&b, hpc_binary(b.p, HPC_MUL, x, x));
}

static void scales_copies_dropout(void **s)
{
    (void)s;
    static const int32_t step[] = {3};
    probe b = begin();
    hpc_value by = hpc_program_state(b.p, "by", hpc_type_of(HPC_F64, 0, NULL), false);
    hpc_fill(b.p, by, 1.5);
    proves(&b, hpc_scale(b.p, HPC_NEW, real(&b, EXTENTS(3, 4)), by, -2));
    b = begin();
    proves(&b, hpc_copy(b.p, weight(&b, EXTENTS(3, 4)), HPC_F64));
    b = begin();
    hpc_dropout_attr at = {.p = 0.4, .seed = 7, .tensor = 2};
    hpc_value x = real(&b, EXTENTS(6, 4));
    proves(&b, hpc_dropout(b.p, x, indices(&b, step, 0, NULL), HPC_NONE, at));
}

/* ---- index, reduce, views, collectives ------------------------------------- */

static void gathers_and_scatters(void **s)
{
    (void)s;
    static const int32_t at[] = {3, -1, 0, 3, 1, 2};
    probe b = begin();
    hpc_value x = weight(&b, EXTENTS(4, 3));
    proves(&b, hpc_gather(b.p, x, indices(&b, at, EXTENTS(2, 3))));
    b = begin();
    x = real(&b, EXTENTS(2, 2, 3));
    proves(&b, hpc_gather(b.p, x, indices(&b, at, EXTENTS(6))));
    b = begin();
    x = real(&b, EXTENTS(2, 3, 3));
    hpc_scatter_attr add = {.rows = 4};
    proves(&b, hpc_scatter(b.p, HPC_NEW, x, indices(&b, at, EXTENTS(2, 3)), add));
}

static void reductions(void **s)
{
    (void)s;
    for (int kind = HPC_SUM; kind <= HPC_SUMSQ; kind++)
        for (int over = HPC_OVER_ALL; over <= HPC_OVER_COLS; over++) {
            probe b = begin();
            hpc_value x = real(&b, EXTENTS(2, 3, 4));
            proves(&b, hpc_reduce(b.p, HPC_NEW, x, (hpc_reduce_kind)kind, (hpc_reduce_over)over));
            b = begin();
            x = real(&b, EXTENTS(4));
            proves(&b, hpc_reduce(b.p, HPC_NEW, x, (hpc_reduce_kind)kind, (hpc_reduce_over)over));
        }
}

static void views_and_collectives(void **s)
{
    (void)s;
    probe b = begin();
    hpc_value x = hpc_view(b.p, weight(&b, EXTENTS(4, 6)), 3, (int64_t[]){4, 2, 3});
    proves(&b, hpc_activate(b.p, x, HPC_SILU));
    b = begin();
    x = real(&b, EXTENTS(4, 3)); /* alone, each is a copy; their gradients must be too */
    x = hpc_all_reduce(b.p, x, 1, HPC_COMM_SUM);
    x = hpc_all_gather(b.p, x, 1, 1);
    x = hpc_all_to_all(b.p, hpc_reduce_scatter(b.p, x, 1, 1), 1);
    proves(&b, hpc_binary(b.p, HPC_MUL, x, x));
}

static void collectives_mirror(void **s)
{
    (void)s;
    probe b = begin();
    hpc_value want[INPUTS], x = real(&b, EXTENTS(4, 3));
    differentiate(&b, hpc_all_gather(b.p, hpc_reduce_scatter(b.p, x, 3, 2), 3, 2), want);
    const hpc_segment *g = &b.p->segment[1];
    assert_int_equal(g->insn_n, 2);
    assert_ptr_equal(g->insn[0].op, &hpc_op_reduce_scatter);
    assert_ptr_equal(g->insn[1].op, &hpc_op_all_gather);
    const hpc_comm_attr *at = g->insn[0].attr;
    assert_int_equal(at->axes, 3);
    assert_int_equal(at->ranks, 2);
    hpc_program_free(b.p);
}

/* ---- narrow types, and what has no gradient -------------------------------- */

/* Gradients have their values' widths, accumulators f32. */
static void gradients_keep_widths(void **s)
{
    (void)s;
    hpc_program *p = hpc_program_create();
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value x = hpc_program_input(p, "x", hpc_type_of(HPC_BF16, 2, (int64_t[]){3, 4}));
    hpc_value r = hpc_program_input(p, "r", hpc_type_of(HPC_F32, 2, (int64_t[]){3, 5}));
    hpc_value c = hpc_program_input(p, "c", hpc_type_of(HPC_BF16, 1, (int64_t[]){5}));
    hpc_value w = hpc_program_state(p, "w", hpc_type_of(HPC_BF16, 2, (int64_t[]){5, 4}), true);
    hpc_value y = hpc_binary(p, HPC_ADD, hpc_linear(p, x, w, HPC_NONE, r), c);
    hpc_value dy = hpc_program_input(p, "dy", p->value[y].type), grad[3];
    hpc_value of[] = {x, r, c};
    hpc_diff_options o = {.forward = 0,
                          .accumulate = -1,
                          .seed_of = &y,
                          .seed = &dy,
                          .seed_n = 1,
                          .want = of,
                          .want_grad = grad,
                          .want_n = 3};
    o.backward = hpc_program_segment(p, HPC_BACKWARD, 0);
    test_ok(hpc_differentiate(p, &o));
    for (int k = 0; k < 3; k++)
        assert_int_equal(p->value[grad[k]].type.dtype, p->value[of[k]].type.dtype);
    assert_int_equal(p->value[p->value[w].grad].type.dtype, HPC_F32);
    hpc_program_free(p);
}

static void no_gradient(probe *b, hpc_value y, int code, const char *why)
{
    hpc_value want[INPUTS];
    test_ok(hpc_program_status(b->p));
    hpc_value dy = hpc_program_input(b->p, "dy", b->p->value[y].type);
    hpc_diff_options o = {.forward = 0,
                          .accumulate = -1,
                          .seed_of = &y,
                          .seed = &dy,
                          .seed_n = 1,
                          .want = b->of,
                          .want_grad = want,
                          .want_n = b->n};
    o.backward = hpc_program_segment(b->p, HPC_BACKWARD, 0);
    test_fails(hpc_differentiate(b->p, &o), code, why);
    hpc_program_free(b->p);
}

static void refusals_name_the_reason(void **s)
{
    (void)s;
    static const int32_t none[8];
    probe b = begin();
    hpc_value x = real(&b, EXTENTS(4, 2, 3)), pool = real(&b, EXTENTS(2, 2, 2, 3));
    hpc_value y = hpc_attention(b.p, x, pool, pool, indices(&b, none, EXTENTS(2)),
                                indices(&b, none, EXTENTS(1)), indices(&b, none, EXTENTS(1, 2)),
                                (hpc_attention_attr){.causal = true});
    no_gradient(&b, y, HPC_E_UNSUPPORTED,
                "gradient of forward[0] #0 attention (block -1): gradients need identity pages");
    b = begin();
    y = hpc_reduce(b.p, HPC_NEW, real(&b, EXTENTS(4)), HPC_MAX, HPC_OVER_ALL);
    no_gradient(&b, y, HPC_E_UNSUPPORTED, "no gradient passes through max");
    b = begin();
    y = hpc_slice(b.p, real(&b, EXTENTS(4, 2)), 1, 2);
    no_gradient(&b, y, HPC_E_UNSUPPORTED, "no gradient passes through a view of a part");
    b = begin();
    y = hpc_broadcast(b.p, real(&b, EXTENTS(4)), 1, 0);
    no_gradient(&b, y, HPC_E_UNSUPPORTED, "no gradient passes through broadcast");
    b = begin();
    x = real(&b, EXTENTS(3, 4));
    y = hpc_matmul(b.p, x, x, (hpc_matmul_attr){.trans_b = true, .symmetric = true});
    no_gradient(&b, y, HPC_E_UNSUPPORTED, "no gradient of a symmetric product");
    b = begin();
    hpc_value operand[] = {HPC_NEW,  HPC_NONE, real(&b, EXTENTS(3, 4)), real(&b, EXTENTS(4, 5)),
                           HPC_NONE, HPC_NONE};
    hpc_matmul_attr at = {.act = HPC_SILU, .alpha = 1};
    y = hpc_emit(b.p, &hpc_op_matmul, operand, &at);
    no_gradient(&b, y, HPC_E_ARG, "the gradient of act silu needs the output pre");
    b = begin();
    hpc_value norm[] = {HPC_NEW, HPC_NEW, real(&b, EXTENTS(3, 4)), HPC_NONE, HPC_NONE};
    hpc_emit(b.p, &hpc_op_norm, norm, &(hpc_norm_attr){0});
    no_gradient(&b, norm[1], HPC_E_UNSUPPORTED, "the statistics of a norm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_any_transposition),
        cmocka_unit_test(matmul_any_transposition_batched),
        cmocka_unit_test(matmul_shared_factor),
        cmocka_unit_test(matmul_epilogue),
        cmocka_unit_test(matmul_through_pre),
        cmocka_unit_test(run_time_extents),
        cmocka_unit_test(routed_and_back),
        cmocka_unit_test(norms),
        cmocka_unit_test(ropes),
        cmocka_unit_test(attention),
        cmocka_unit_test(head_loss),
        cmocka_unit_test(activations),
        cmocka_unit_test(binaries),
        cmocka_unit_test(same_value_twice),
        cmocka_unit_test(scales_copies_dropout),
        cmocka_unit_test(gathers_and_scatters),
        cmocka_unit_test(reductions),
        cmocka_unit_test(views_and_collectives),
        cmocka_unit_test(collectives_mirror),
        cmocka_unit_test(gradients_keep_widths),
        cmocka_unit_test(refusals_name_the_reason),
    };
    return cmocka_run_group_tests_name("program/ops_diff", tests, NULL, NULL);
}
