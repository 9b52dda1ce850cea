/*
 * ops_diff.c: every backward rule of the op table against central differences
 * in f64, and what rules say where no gradient passes.
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

#define EXTENTS(...) sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__}
enum { MOST = 512, INPUTS = 5 };

/* A forward program of one result, and the values that it is differentiated by. */
typedef struct probe {
    hpc_program *p;
    hpc_value of[INPUTS];
    int n;
    hpc_value index[3];
    const int32_t *at[3];
    int index_n;
    int64_t live; /* leading elements of the result that count, with a run-time extent; else 0 */
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
    int64_t n = b->live ? b->live : hpc_test_n(b->p, y);
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
    for (int64_t c = 0; c < n; c++) {
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
    for (int k = 0; k < b->n; k++)
        if (!b->live || k > 0) compare(e, b, k, y, dy, gradient[k]);
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

/* ---- products --------------------------------------------------------------------------- */

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
        hpc_value x = hpc_program_state(
            b.p, "given", hpc_type_of(HPC_F64, 3, (int64_t[]){2, 4, 3}), false);
        hpc_fill(b.p, x, 0.25);
        hpc_value w = t ? weight(&b, EXTENTS(5, 4)) : real(&b, EXTENTS(4, 5));
        proves(&b, hpc_matmul(b.p, x, w, (hpc_matmul_attr){.trans_a = true, .trans_b = t}));
    }
}

static void matmul_epilogue(void **s)
{
    (void)s;
    for (int act = HPC_ACT_NONE; act <= HPC_RELU2; act++) {
        probe b = begin();
        hpc_value pre = act == HPC_ACT_NONE ? HPC_NONE : HPC_NEW;
        hpc_value operand[] = {HPC_NEW, pre, real(&b, EXTENTS(3, 4)), weight(&b, EXTENTS(5, 4)),
                               weight(&b, EXTENTS(5)), real(&b, EXTENTS(3, 5))};
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

static void matmul_ragged(void **s)
{
    (void)s;
    static const int32_t rows[] = {2};
    probe b = begin();
    hpc_value n = indices(&b, rows, 0, NULL);
    hpc_value x = hpc_view_ragged(b.p, hpc_scale(b.p, HPC_NEW, real(&b, EXTENTS(4, 3)), HPC_NONE, 1),
                                  0, n);
    b.n = 0; /* by the weight alone: a cut passes no gradient */
    hpc_value w = weight(&b, EXTENTS(5, 3)), bias = weight(&b, EXTENTS(5));
    hpc_value y = hpc_linear(b.p, x, w, bias, HPC_NONE);
    y = hpc_reduce(b.p, HPC_NEW, y, HPC_SUMSQ, HPC_OVER_ROWS);
    hpc_value given = hpc_program_find(b.p, "x0");
    b.p->value[given].kind = HPC_VALUE_STATE; /* not fed by the probe: zeros would prove nothing */
    hpc_fill(b.p, given, 0.5);
    hpc_segment *f = &b.p->segment[0];
    hpc_insn fill = f->insn[f->insn_n - 1];
    memmove(f->insn + 1, f->insn, (size_t)(f->insn_n - 1) * sizeof *f->insn);
    f->insn[0] = fill;
    for (int64_t k = 0; k < b.p->value_n; k++)
        if (b.p->value[k].kind == HPC_VALUE_TEMP) b.p->value[k].insn++;
    f->insn[1].version[1] = 1;
    f->insn[2].version[1] = 0;
    proves(&b, y);
}
