/*
 * ref_product.c: the reference product and its packing compared with results computed by hand or
 * by three plain loops.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/device/small.h"

#define N(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

static hpc_matmul_args product_of(hpc_tensor y, hpc_tensor a, hpc_tensor b)
{
    return (hpc_matmul_args){.y = y,
                             .pre = absent,
                             .a = a,
                             .b = b,
                             .bias = absent,
                             .residual = absent,
                             .attr = {.alpha = 1}};
}

static void matmul_transposes(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4, 5, 6}, a_t[] = {1, 4, 2, 5, 3, 6};
    const double b[] = {1, 2, 3, 4, 5, 6}, b_t[] = {1, 3, 5, 2, 4, 6}, want[] = {22, 28, 49, 64};
    for (int i = 0; i < 4; i++) {
        double y[4];
        hpc_matmul_args g = product_of(f64_of(y, 2, 2, 0), f64_of(a, 2, 3, 0), f64_of(b, 3, 2, 0));
        if (i & 1) g.a = f64_of(a_t, 3, 2, 0), g.attr.trans_a = true;
        if (i & 2) g.b = f64_of(b_t, 2, 3, 0), g.attr.trans_b = true;
        REF(matmul, &g);
        assert_near(y, want, 4, 0);
    }
}

static void matmul_epilogue(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4}, b[] = {1, -1, 0, 2}, bias[] = {1, -10},
                 residual[] = {1, 2, 3, 4};
    double y[] = {100, 100, 100, 100}, pre[4];
    hpc_matmul_args g = product_of(f64_of(y, 2, 2, 0), f64_of(a, 2, 2, 0), f64_of(b, 2, 2, 0));
    g.pre = f64_of(pre, 2, 2, 0), g.bias = f64_of(bias, 2, 0, 0);
    g.residual = f64_of(residual, 2, 2, 0);
    g.attr.alpha = 2, g.attr.act = HPC_RELU;
    REF(matmul, &g); /* a b = 1 3, 3 5 */
    assert_near(pre, (double[]){3, -4, 7, 0}, 4, 0);
    assert_near(y, (double[]){4, 2, 10, 4}, 4, 0);
    g.y.adds = true;
    REF(matmul, &g);
    assert_near(y, (double[]){8, 4, 20, 8}, 4, 0);
}

static void matmul_batches(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4, 5, 6, 7, 8}, b[] = {1, 1, 2, 0}, bias[] = {10, 20};
    double y[4] = {-1, -1, -1, -1};
    const int32_t rows[] = {1, 2}, depth[] = {2, 1};
    hpc_matmul_args g = product_of(f64_of(y, 2, 2, 1), f64_of(a, 2, 2, 2), f64_of(b, 2, 2, 1));
    REF(matmul, &g);
    assert_near(y, (double[]){3, 7, 10, 14}, 4, 0);
    g.b = f64_of(b, 2, 1, 0); /* one b for the batch; a bias for each */
    g.bias = f64_of(bias, 2, 1, 0);
    REF(matmul, &g);
    assert_near(y, (double[]){13, 17, 31, 35}, 4, 0);

    memset(y, 0, sizeof y);
    g.bias = absent, g.a = ragged(g.a, 1, rows); /* dead rows are left alone */
    REF(matmul, &g);
    assert_near(y, (double[]){3, 0, 11, 15}, 4, 0);
    g.a = ragged(g.a, 1, depth), g.attr.trans_a = true, g.b = f64_of(b, 2, 2, 1);
    REF(matmul, &g); /* as [k,m]: the second matrix has one live row */
    assert_near(y, (double[]){4, 6, 10, 12}, 4, 0);
    g.a.ragged = -1, g.b = ragged(g.b, 1, depth); /* the same if b is ragged */
    memset(y, 0, sizeof y);
    REF(matmul, &g);
    assert_near(y, (double[]){4, 6, 10, 12}, 4, 0);
    const int32_t one = 1;
    g.b.ragged = -1;
    memset(y, 0, sizeof y);
    g.a = ragged(g.a, 0, &one); /* a ragged batch */
    REF(matmul, &g);
    assert_near(y, (double[]){4, 6, 0, 0}, 4, 0);
}

static void matmul_weights(void **state)
{
    (void)state;
    enum { K = 512, ROWS = 17 };
    static double a[K], y[ROWS], want[ROWS], packed[32 * K];
    static float w[ROWS * K], back[ROWS * K];
    static uint8_t bytes[ROWS * K * 4]; /* of the widest: f32 */
    static const hpc_dtype kinds[] = {HPC_F32,  HPC_BF16, HPC_F16,  HPC_Q8_0,   HPC_Q4_0,
                                      HPC_Q4_K, HPC_Q5_K, HPC_Q6_K, HPC_Q4_1,   HPC_Q5_0,
                                      HPC_Q5_1, HPC_Q2_K, HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS};
    for (int k = 0; k < K; k++) a[k] = sin(k);
    hpc_random_fill_normal(w, ROWS * K, 1, 2, 3, 0);
    for (int i = 0; i < N(kinds); i++) {
        hpc_from_f32(bytes, kinds[i], w, ROWS * K);
        hpc_to_f32(back, bytes, kinds[i], ROWS * K);
        for (int j = 0; j < ROWS; j++) {
            want[j] = 0;
            for (int k = 0; k < K; k++) want[j] += a[k] * (double)back[j * K + k];
        }
        hpc_matmul_args g = product_of(f64_of(y, 1, ROWS, 0), f64_of(a, 1, K, 0),
                                       over(kinds[i], bytes, ROWS, K, 0, 0));
        g.attr.trans_b = true;
        REF(matmul, &g);
        assert_near(y, want, ROWS, 1e-13);
        if (!hpc_dtype_get(kinds[i])->quantised) continue;
        static uint8_t panels[32 * K * 2];
        hpc_pack_args blocks = {.y = g.b, .x = g.b};
        blocks.y.pack = HPC_PANEL16;
        blocks.y.data = panels;
        memset(panels, -1, sizeof panels);
        REF(pack, &blocks);
        g.b = blocks.y;
        memset(y, 0, sizeof y);
        REF(matmul, &g);
        assert_near(y, want, ROWS, 1e-13);
    }
    hpc_pack_args p = {.y = f64_of(packed, ROWS, K, 0), .x = over(HPC_F32, w, ROWS, K, 0, 0)};
    p.y.pack = HPC_PANEL16;
    memset(packed, -1, sizeof packed);
    REF(pack, &p);
    assert_true(packed[5 * 16 + 3] == (double)w[3 * K + 5]);
    assert_true(packed[16 * K + 7 * 16] == (double)w[16 * K + 7]);
    assert_true(packed[16 * K + 7 * 16 + 1] == 0 && packed[32 * K - 1] == 0);
    hpc_matmul_args g = product_of(f64_of(y, 1, ROWS, 0), f64_of(a, 1, K, 0), p.y);
    g.attr.trans_b = true;
    REF(matmul, &g);
    for (int j = 0; j < ROWS; j++) {
        want[j] = 0;
        for (int k = 0; k < K; k++) want[j] += a[k] * (double)w[j * K + k];
    }
    assert_near(y, want, ROWS, 1e-13);

    int rc;
    g.attr.trans_b = false;
    RUN_REF(rc, matmul, &g, 1);
    assert_error(rc, HPC_E_UNSUPPORTED, "matmul: b f64[17,512]/panel16 must be used transposed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_transposes),
        cmocka_unit_test(matmul_epilogue),
        cmocka_unit_test(matmul_batches),
        cmocka_unit_test(matmul_weights),
    };
    return cmocka_run_group_tests_name("device/ref_product", tests, NULL, NULL);
}
