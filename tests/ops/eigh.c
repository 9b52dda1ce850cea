/*
 * eigh.c: eigenvalues and eigenvectors on every backend compared with the reference, and their use
 * by optimizers: reconstruction and a power of a matrix. tests/device/eigh.c tests difficult
 * matrices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "tests/support/ops.h"

/* V' diag(d) V: vectors are rows. */
static hpc_value composed(hpc_program *p, hpc_value values, hpc_value vectors)
{
    hpc_type t = p->value[values].type;
    t.extent[t.rank] = 1;
    hpc_value column = hpc_view(p, values, t.rank + 1, t.extent);
    return hpc_matmul(p, vectors, hpc_binary(p, HPC_MUL, vectors, column),
                      (hpc_matmul_attr){.trans_a = true});
}

/* A random matrix has separated eigenvalues: f64 results differ only by rounding. */
static void eigh_case(void **state, hpc_type t)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "eigh n %d type %d", (int)t.extent[t.rank - 1], t.dtype);
    hpc_value x = hpc_test_input(&c, t, 1), values, vectors = hpc_eigh(c.p, x, &values);
    c.terms = t.extent[t.rank - 1];
    hpc_test_want(&c, values, HPC_TEST_ROUNDED);
    hpc_test_want(&c, vectors, HPC_TEST_ROUNDED);
    hpc_test_want(&c, composed(c.p, values, vectors), HPC_TEST_CHAINED);
    hpc_test_case_solve(&c);
    const double *in = hpc_test_given_of(&c, x)->data, *out = c.wanted[2].correct;
    for (int64_t i = 0, n = c.terms; i < c.wanted[2].n; i++) /* it is what was taken apart */
        if (i % n <= i / n % n) assert_true(fabs(out[i] - in[i]) < 1e-12 * (double)n);
    for (int k = 0; k < c.wanted_n; k++) hpc_free(c.wanted[k].correct), hpc_free(c.wanted[k].live);
    hpc_test_case_check(&c);
}

static void spectra(void **state)
{
    static const int64_t n[] = {1, 2, 3, 17, 40};
    for (size_t k = 0; k < sizeof n / sizeof *n; k++) {
        eigh_case(state, test_type(HPC_F32, 5, n[k], n[k]));
        eigh_case(state, test_type(HPC_BF16, n[k], n[k]));
    }
}

/* Shampoo's refresh: P = (S + eps I)^(-1/4), held by state; P^4 (S + eps I) is I. */
static void inverse_roots(void **state)
{
    enum { B = 3, N = 12 };
    hpc_test_case c;
    hpc_type t = test_type(HPC_F32, B, N, N);
    hpc_test_case_begin(&c, state, "inverse fourth root");
    hpc_value g = hpc_test_input(&c, t, 1), root = hpc_test_state(&c, t, 1, false), values;
    hpc_test_given_of(&c, root)->constant = true;
    hpc_value s = hpc_matmul(c.p, g, g, (hpc_matmul_attr){.trans_b = true});
    s = hpc_combine(c.p, HPC_NEW, s, HPC_NONE, NULL, (hpc_combine_attr){.a0 = 1, .a1 = 1});
    hpc_value vectors = hpc_eigh(c.p, s, &values);
    hpc_value powers = hpc_map_each(c.p, values, (hpc_map_attr){.alpha = 1, .power = -0.25});
    hpc_combine(c.p, root, composed(c.p, powers, vectors), HPC_NONE, NULL,
                (hpc_combine_attr){.a1 = 1});
    hpc_value half = hpc_matmul(c.p, root, root, (hpc_matmul_attr){0});
    hpc_value unit =
        hpc_matmul(c.p, hpc_matmul(c.p, half, half, (hpc_matmul_attr){0}), s, (hpc_matmul_attr){0});
    c.terms = N;
    hpc_test_want(&c, root, HPC_TEST_CHAINED);
    hpc_test_want(&c, unit, HPC_TEST_CHAINED);
    hpc_test_case_solve(&c);
    for (int64_t i = 0; i < c.wanted[1].n; i++)
        assert_true(fabs(c.wanted[1].correct[i] - (i % N == i / N % N)) < 1e-12);
    for (int k = 0; k < 2; k++) hpc_free(c.wanted[k].correct), hpc_free(c.wanted[k].live);
    hpc_test_given_of(&c, g)->constant = true; /* unit does not depend on it */
    hpc_test_case_check(&c);
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "eigh");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spectra),
        cmocka_unit_test(inverse_roots),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/eigh", tests, open_bench, hpc_test_bench_close);
}
