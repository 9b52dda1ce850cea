/*
 * gradient.c: see gradient.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "tests/support/gradient.h"

/* Differences over 2h are off by h^2 f'''/6, and by the results' own rounding over h: both are
 * about 1e-11 of what is typical. Gradients must agree to TOLERANCE of themselves and their rms. */
static const double step = 1e-5, tolerance = 2e-9;
enum { SAMPLES = 24 };

static bool differentiable(const hpc_test_case *c, const hpc_test_given *g)
{
    return !g->constant && hpc_dtype_get((hpc_dtype)c->p->value[g->value].type.dtype)->real;
}

static int differentiate(hpc_test_gradient *out, hpc_test_case *c, int segment_accumulate)
{
    hpc_value seed_of[HPC_TEST_WANTED_MOST], seed[HPC_TEST_WANTED_MOST];
    hpc_value want[HPC_TEST_GIVEN_MOST], got[HPC_TEST_GIVEN_MOST];
    int given_n = c->given_n, number[HPC_TEST_GIVEN_MOST];
    hpc_diff_options o = {.forward = 0,
                          .backward = 1,
                          .accumulate = segment_accumulate,
                          .seed_of = seed_of,
                          .seed = seed,
                          .seed_n = c->wanted_n,
                          .want = want,
                          .want_grad = got};
    for (int k = 0; k < c->wanted_n; k++) {
        seed_of[k] = c->wanted[k].value;
        seed[k] = hpc_test_input(c, c->p->value[seed_of[k]].type, 1);
    }
    for (int k = 0; k < given_n; k++) {
        out->of[k] = HPC_NONE;
        if (!differentiable(c, &c->given[k]) || c->p->value[c->given[k].value].trainable) continue;
        number[o.want_n] = k;
        want[o.want_n++] = c->given[k].value;
    }
    int rc = hpc_differentiate(c->p, &o);
    for (int k = 0; k < o.want_n && rc >= 0; k++) out->of[number[k]] = got[k];
    for (int k = 0; k < given_n; k++)
        if (c->p->value[c->given[k].value].trainable)
            out->of[k] = c->p->value[c->given[k].value].grad;
    return rc;
}

hpc_test_gradient hpc_test_differentiate(hpc_test_case *c, bool accumulate)
{
    hpc_test_gradient g = {{0}};
    int given_n = c->given_n;
    hpc_test_bench_saw(c->bench, c->p);
    test_ok(hpc_program_segment(c->p, HPC_BACKWARD, 0));
    if (accumulate) test_ok(hpc_program_segment(c->p, HPC_ACCUMULATE, 0));
    int rc = differentiate(&g, c, accumulate ? 2 : -1);
    if (rc < 0) print_error("%s\n", c->name);
    test_ok(rc);
    for (int k = 0; k < given_n; k++) {
        if (g.of[k] < 0) continue;
        hpc_program_keep(c->p, g.of[k]);
        if (c->p->value[g.of[k]].kind == HPC_VALUE_STATE) hpc_test_zeros(c, g.of[k]);
    }
    test_ok(hpc_program_check(c->p));
    return g;
}

int hpc_test_differentiate_fails(hpc_test_case *c)
{
    hpc_test_gradient g;
    hpc_test_bench_saw(c->bench, c->p);
    test_ok(hpc_program_segment(c->p, HPC_BACKWARD, 0));
    return differentiate(&g, c, -1);
}

/* ---- central differences ------------------------------------------------------------- */

static void fetch_all(double **out, hpc_exec *e, const hpc_test_case *c)
{
    int64_t n;
    hpc_test_give(e, c->p, c);
    test_ok(hpc_exec_run(e, 0, 0));
    for (int k = 0; k < c->wanted_n; k++) out[k] = hpc_test_fetch(e, c->p, c->wanted[k].value, &n);
}

/* (f(x + h) - f(x - h)) / 2h for f = the sum of seed times result, element by element: what does
 * not depend on x leaves no rounding. Seeds are the last wanted_n of what was given before the
 * accumulators; `seed` is the first of them. */
static double difference(hpc_exec *e, const hpc_test_case *c, int seed, const hpc_test_given *g,
                         int64_t i)
{
    double *above[HPC_TEST_WANTED_MOST], *below[HPC_TEST_WANTED_MOST], keep = g->data[i], sum = 0;
    g->data[i] = keep + step;
    double high = g->data[i];
    fetch_all(above, e, c);
    g->data[i] = keep - step;
    double low = g->data[i];
    fetch_all(below, e, c);
    g->data[i] = keep;
    for (int k = 0; k < c->wanted_n; k++) {
        const hpc_test_given *s = &c->given[seed + k];
        bool *live = hpc_test_live(e, c->p, c->wanted[k].value, s->n);
        for (int64_t at = 0; at < s->n; at++)
            if (live[at]) sum += s->data[at] * (above[k][at] - below[k][at]);
        hpc_free(live);
        hpc_free(above[k]);
        hpc_free(below[k]);
    }
    return sum / (high - low);
}

static double rms_of(const double *x, const bool *live, int64_t n)
{
    double sum = 0, count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!live[i]) continue;
        sum += x[i] * x[i];
        count++;
    }
    return count > 0 ? sqrt(sum / count) : 0;
}

static void check_operand(hpc_exec *e, const hpc_test_case *c, int seed, int number,
                          const double *grad)
{
    const hpc_test_given *g = &c->given[number];
    bool *live = hpc_test_live(e, c->p, g->value, g->n);
    double rms = rms_of(grad, live, g->n);
    assert_true(isfinite(rms));
    for (int64_t i = 0; i < g->n; i += g->n / SAMPLES + 1) {
        if (!live[i]) continue;
        double want = difference(e, c, seed, g, i);
        if (fabs(grad[i] - want) <= tolerance * (fabs(want) + rms)) continue;
        print_error("%s: gradient %lld of %%%d is %.12g, by differences %.12g\n", c->name,
                    (long long)i, g->value, grad[i], want);
        fail();
    }
    hpc_free(live);
}

void hpc_test_gradient_check(hpc_test_case *c)
{
    double *grad[HPC_TEST_GIVEN_MOST] = {NULL};
    int given_n = c->given_n;
    int64_t n;
    hpc_exec *e;
    hpc_test_gradient g = hpc_test_differentiate(c, false);
    test_ok(hpc_exec_open(&e, c->p, hpc_test_bench_device(c->bench), NULL,
                          &(hpc_exec_options){.poison = 1}));
    hpc_test_give(e, c->p, c);
    test_ok(hpc_exec_run(e, 0, 0));
    test_ok(hpc_exec_run(e, 1, 0));
    for (int k = 0; k < given_n; k++) {
        if (!differentiable(c, &c->given[k])) continue;
        if (g.of[k] < 0) print_error("%s: no gradient of %%%d\n", c->name, c->given[k].value);
        assert_true(g.of[k] >= 0);
        grad[k] = hpc_test_fetch(e, c->p, g.of[k], &n);
        assert_int_equal(n, c->given[k].n);
    }
    for (int k = 0; k < given_n; k++) {
        if (grad[k]) check_operand(e, c, given_n, k, grad[k]);
        hpc_free(grad[k]);
    }
    hpc_exec_close(e);
    hpc_test_case_free(c);
}
