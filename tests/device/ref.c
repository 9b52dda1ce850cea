/*
 * ref.c: the reference kernels compared with values computed by hand: each op with its options,
 * ragged extents, accumulation and errors. Products are in ref_product.c, gradients in ref_grad.c.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/device/small.h"

/* ---- rows ---------------------------------------------------------------------- */

static void norms(void **state)
{
    (void)state;
    double x[] = {3, 4, 1, 3}, y[4] = {9, 9, 9, 9}, stats[4], w[] = {2, 10}, b[] = {0.5, -1};
    const int32_t one = 1;
    hpc_norm_args g = {.y = f64_of(y, 2, 2, 0),
                       .stats = f64_of(stats, 2, 2, 0),
                       .x = f64_of(x, 2, 2, 0),
                       .w = absent,
                       .b = absent,
                       .attr = {HPC_RMS, 0}};
    double r0 = 1 / sqrt(12.5), r1 = 1 / sqrt(5);
    REF(norm, &g);
    assert_near(y, (double[]){3 * r0, 4 * r0, r1, 3 * r1}, 4, 1e-15);
    assert_near(stats, (double[]){0, r0, 0, r1}, 4, 1e-15);
    g.attr = (hpc_norm_attr){HPC_LAYER, 3}, g.w = f64_of(w, 2, 0, 0), g.b = f64_of(b, 2, 0, 0);
    g.x = ragged(f64_of(x, 2, 2, 0), 0, &one);
    g.y = g.x; /* in place, one live row: mean 3.5, variance 0.25 + 3 */
    double r = 1 / sqrt(3.25);
    REF(norm, &g);
    assert_near(x, (double[]){-r + 0.5, 5 * r - 1, 1, 3}, 4, 1e-15);
    assert_near(stats, (double[]){3.5, r, 0, r1}, 4, 1e-15);
}

static void rope_pairs(void **state)
{
    (void)state;
    double x[] = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5}, y[10];
    const double freq[] = {M_PI_2, M_PI};
    const int32_t pos[] = {0, 1};
    hpc_rope_args g = {.y = f64_of(y, 2, 1, 5),
                       .x = f64_of(x, 2, 1, 5),
                       .pos = i32_of(pos, 2, 0),
                       .freq = f64_of(freq, 2, 0, 0),
                       .attr = {.scale = 1}};
    REF(rope, &g); /* pairs (1, 3) by 90 degrees, (2, 4) by 180 */
    assert_near(y, (double[]){1, 2, 3, 4, 5, -3, -2, 1, -4, 5}, 10, 1e-15);
    g.attr.interleaved = true, g.attr.scale = 2; /* the rest passes unscaled */
    REF(rope, &g);
    assert_near(y, (double[]){2, 4, 6, 8, 5, -4, 2, -6, -8, 5}, 10, 2e-15);
    g.attr.scale = 0.5, g.attr.inverse = true, g.x = g.y; /* in place, and back */
    REF(rope, &g);
    assert_near(y, x, 10, 1e-15);
}

/* ---- attention ----------------------------------------------------------------- */

static hpc_attention_args attend(double *o, double *lse, const double *q, const double *k,
                                 const double *v, const int32_t *start, int64_t rows, int64_t heads,
                                 int64_t kv_heads, int64_t sequences)
{
    return (hpc_attention_args){.o = f64_of(o, rows, heads, 1),
                                .lse = f64_of(lse, rows, heads, 0),
                                .q = f64_of(q, rows, heads, 1),
                                .k = f64_of(k, rows, kv_heads, 1),
                                .v = f64_of(v, rows, kv_heads, 1),
                                .start = i32_of(start, sequences + 1, 0),
                                .len = absent,
                                .pages = absent,
                                .attr = {.scale = 1}};
}

static void attention_sequences(void **state)
{
    (void)state;
    /* Scores are 0 and ln 3 for a query of 1, so the weights are 1/4 and 3/4. */
    const double ln3 = log(3), q[] = {1, 1, 1, 0, 7}, k[] = {0, ln3, 0, 2, 7},
                 v[] = {4, 8, 1, 3, 7};
    const int32_t start[] = {0, 2, 4};
    double o[5], lse[5];
    hpc_attention_args g = attend(o, lse, q, k, v, start, 5, 1, 1, 2);
    REF(attention, &g); /* the last row belongs to no sequence */
    double w = exp(2) / (1 + exp(2));
    assert_near(o, (double[]){7, 7, 1 + 2 * w, 2, 0}, 5, 1e-15);
    assert_near(lse, (double[]){log(4), log(4), log(1 + exp(2)), log(2)}, 4, 1e-15);
    assert_true(isinf(lse[4]) && lse[4] < 0);
    g.attr.causal = true;
    REF(attention, &g);
    assert_near(o, (double[]){4, 7, 1, 2}, 4, 1e-15);
    g.attr.window = 1; /* each query sees itself alone */
    REF(attention, &g);
    assert_near(o, v, 4, 1e-15);
    g.attr = (hpc_attention_attr){.scale = 2};
    REF(attention, &g);
    assert_near(o, (double[]){(4 + 9 * 8) / 10.0}, 1, 1e-15);
}

static void attention_groups(void **state)
{
    (void)state;
    const double q[8] = {0}, k[4] = {0}, v[] = {1, 10, 3, 30}; /* rows of two heads */
    const int32_t start[] = {0, 2};
    double o[8], lse[8];
    hpc_attention_args g = attend(o, lse, q, k, v, start, 2, 4, 2, 1);
    REF(attention, &g);
    assert_near(o, (double[]){2, 2, 20, 20, 2, 2, 20, 20}, 8, 1e-15);
}

static void attention_pages(void **state)
{
    (void)state;
    /* Two sequences share page 2 as their prefix; lengths 3 and 4, one and two queries. */
    const double k[8] = {0}, v[] = {50, 60, 7, 99, 1, 2, 5, 99}; /* four pages of two keys */
    const int32_t start[] = {0, 1, 3}, len[] = {3, 4}, pages[] = {2, 1, 2, 0};
    const double q[3] = {0};
    double o[3], lse[3];
    hpc_attention_args g = attend(o, lse, q, k, v, start, 3, 1, 1, 2);
    g.k = over(HPC_F64, k, 4, 2, 1, 1), g.v = over(HPC_F64, v, 4, 2, 1, 1);
    g.len = i32_of(len, 2, 0), g.pages = i32_of(pages, 2, 2), g.attr.causal = true;
    REF(attention, &g);
    assert_near(o, (double[]){10 / 3.0, 53 / 3.0, 113 / 4.0}, 3, 1e-15);
    assert_near(lse, (double[]){log(3), log(3), log(4)}, 3, 1e-15);
    g.attr.window = 2;
    REF(attention, &g);
    assert_near(o, (double[]){4.5, 26, 55}, 3, 1e-15);

    int rc;
    const int32_t bad[] = {2, 1, 2, 4};
    g.pages = i32_of(bad, 2, 2);
    RUN_REF(rc, attention, &g, 1);
    assert_error(rc, HPC_E_SHAPE, "attention: sequence 1 has no page for key 2 (4 pages of 2)");
}

/* ---- elements -------------------------------------------------------------------- */

static void activations(void **state)
{
    (void)state;
    const double x[] = {-1, 0, 1, 3};
    const double want[][4] = {
        [HPC_ACT_NONE] = {-1, 0, 1, 3},
        [HPC_GELU_TANH] = {-0.15880800939172324, 0, 0.84119199060827676, 2.9963627912600255},
        [HPC_GELU_ERF] = {-0.15865525393145707, 0, 0.84134474606854293, 2.9959503059051100},
        [HPC_SILU] = {-0.26894142136999510, 0, 0.73105857863000490, 2.8577223804673000},
        [HPC_RELU] = {0, 0, 1, 3},
        [HPC_RELU2] = {0, 0, 1, 9},
        [HPC_TANH] = {-0.76159415595576489, 0, 0.76159415595576489, 0.99505475368673046}};
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++) {
        double y[4], up[] = {2, 2, 2, -1};
        const int32_t three = 3;
        hpc_act_args g = {.y = f64_of(y, 4, 1, 0), .x = f64_of(x, 4, 1, 0), .attr = {act}};
        REF(act, &g);
        assert_near(y, want[act], 4, 1e-7);
        hpc_glu_args u = {
            .y = ragged(g.y, 0, &three), .gate = g.x, .up = f64_of(up, 4, 1, 0), .attr = {act}};
        REF(glu, &u);
        assert_near(y, (double[]){2 * want[act][0], 0, 2 * want[act][2], want[act][3]}, 4, 1e-7);
    }
}

static void dropout(void **state)
{
    (void)state;
    double x[12], y[12], part[12];
    for (int i = 0; i < 12; i++) x[i] = i + 1;
    const int32_t step = 5;
    const int64_t base = 2;
    hpc_dropout_args g = {.y = f64_of(y, 3, 4, 0),
                          .x = f64_of(x, 3, 4, 0),
                          .step = absent,
                          .base = absent,
                          .attr = {.p = 0.5, .seed = -3, .tensor = 9}};
    REF(dropout, &g);
    for (uint64_t i = 0; i < 12; i++) {
        bool keep = hpc_random_half((uint64_t)-3, 9, 0, i) >= 32768;
        assert_true(y[i] == (keep ? 2 * x[i] : 0));
    }
    /* Columns 1 and 2 of the last two rows, as a rank would hold them. */
    const double local[] = {x[5], x[6], x[9], x[10]};
    g.y = f64_of(part, 2, 2, 0), g.x = f64_of(local, 2, 2, 0);
    g.attr.global_cols = 4, g.attr.row0 = 1, g.attr.col0 = 1;
    REF(dropout, &g);
    assert_near(part, (double[]){y[5], y[6], y[9], y[10]}, 4, 0);
    g.step = over(HPC_I32, &step, 0, 0, 0, 0), g.base = over(HPC_I64, &base, 0, 0, 0, 0);
    REF(dropout, &g);
    for (int i = 0; i < 4; i++) {
        uint64_t at = (uint64_t)((2 + 1 + i / 2) * 4 + 1 + i % 2);
        bool keep = hpc_random_half((uint64_t)-3, 9, 5, at) >= 32768;
        assert_true(part[i] == (keep ? 2 * local[i] : 0));
    }
    g.attr.p = 0;
    REF(dropout, &g);
    assert_near(part, local, 4, 0);
}

static void binaries(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 30, 40, 50, 60};
    double y[6];
    hpc_binary_args g = {.y = f64_of(y, 2, 3, 0), .a = f64_of(a, 2, 3, 0), .attr = {HPC_ADD}};
    g.b = f64_of(b, 2, 3, 0);
    REF(binary, &g);
    assert_near(y, (double[]){11, 22, 33, 44, 55, 66}, 6, 0);
    g.b = f64_of(b, 3, 0, 0), g.attr.kind = HPC_SUB;
    REF(binary, &g);
    assert_near(y, (double[]){-9, -18, -27, -6, -15, -24}, 6, 0);
    g.b = f64_of(b, 2, 1, 0), g.attr.kind = HPC_MUL;
    REF(binary, &g);
    assert_near(y, (double[]){10, 20, 30, 80, 100, 120}, 6, 0);
    g.b = f64_of(b, 0, 0, 0), g.a = g.y; /* a scalar, in place */
    REF(binary, &g);
    assert_near(y, (double[]){100, 200, 300, 800, 1000, 1200}, 6, 0);
}

static void scaling(void **state)
{
    (void)state;
    const double x[] = {1, 2}, by = 3;
    double y[] = {10, 20};
    hpc_scale_args g = {
        .y = adding(f64_of(y, 2, 0, 0)), .x = f64_of(x, 2, 0, 0), .by = absent, .attr = {0.5}};
    REF(scale, &g);
    assert_near(y, (double[]){10.5, 21}, 2, 0);
    g.by = f64_of(&by, 0, 0, 0), g.y.adds = false;
    REF(scale, &g);
    assert_near(y, (double[]){1.5, 3}, 2, 0);
}

static void copies(void **state)
{
    (void)state;
    const double x[] = {1.00390625, -2.75, 1e300, -1e300};
    const int64_t wide[] = {(1ll << 53) + 1, -7};
    uint16_t half[4];
    int32_t whole[4];
    int64_t same[2], filled[2];
    hpc_copy_args g = {.x = f64_of(x, 4, 0, 0), .y = over(HPC_BF16, half, 4, 0, 0, 0)};
    REF(copy, &g);
    assert_int_equal(half[0], 0x3f80);
    assert_int_equal(half[1], 0xc030);
    assert_int_equal(half[2], 0x7f80);
    g.y = i32_of(whole, 4, 0);
    REF(copy, &g);
    assert_memory_equal(whole, ((int32_t[]){1, -2, INT32_MAX, INT32_MIN}), sizeof whole);
    g.x = over(HPC_I64, wide, 2, 0, 0, 0), g.y = over(HPC_I64, same, 2, 0, 0, 0);
    REF(copy, &g);
    assert_memory_equal(same, wide, sizeof wide);
    hpc_fill_args f = {.y = over(HPC_I64, filled, 2, 0, 0, 0), .attr = {-5}};
    REF(fill, &f);
    assert_true(filled[0] == -5 && filled[1] == -5);

    float values[512], back[512];
    double y[512];
    uint8_t packed[2 * 176];
    int rc;
    hpc_random_fill_normal(values, 512, 4, 4, 4, 0);
    hpc_from_f32(packed, HPC_Q5_K, values, 512);
    hpc_to_f32(back, packed, HPC_Q5_K, 512);
    g.x = over(HPC_Q5_K, packed, 2, 256, 0, 0), g.y = f64_of(y, 2, 256, 0);
    REF(copy, &g);
    for (int i = 0; i < 512; i++) assert_true(y[i] == (double)back[i]);
    g.x = g.y, g.y = over(HPC_Q5_K, packed, 2, 256, 0, 0);
    RUN_REF(rc, copy, &g, 1);
    assert_error(rc, HPC_E_UNSUPPORTED, "copy: cannot quantise to q5_K[2,256]; do so on the host");
}

/* ---- losses ---------------------------------------------------------------------- */

static void losses(void **state)
{
    (void)state;
    const double x[] = {1, 0, 0, 0, 0, 2}, w[] = {log(2), 0, 0, 0, 0, 1, 0, 0};
    int32_t target[] = {0, -1, 2};
    double loss[3], lse[3];
    hpc_head_loss_args g = {.loss = f64_of(loss, 3, 0, 0),
                            .lse = f64_of(lse, 3, 0, 0),
                            .x = f64_of(x, 3, 2, 0),
                            .w = f64_of(w, 4, 2, 0),
                            .target = i32_of(target, 3, 0)};
    REF(head_loss, &g); /* logits ln 2, 0, 0, 0; all 0; 0, 0, 2, 0 */
    assert_near(lse, (double[]){log(5), log(4), log(3 + exp(2))}, 3, 1e-15);
    assert_near(loss, (double[]){log(5) - log(2), 0, log(3 + exp(2)) - 2}, 3, 1e-15);
    int rc;
    target[2] = 4;
    RUN_REF(rc, head_loss, &g, 2);
    assert_error(rc, HPC_E_ARG, "head_loss: target 4 of row 2; the head has 4 rows");
    const int32_t two = 2;
    g.x = ragged(g.x, 0, &two); /* the bad row is not live */
    REF(head_loss, &g);
}

/* ---- rows by index ----------------------------------------------------------------- */

static void gathers(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4, 5, 6};
    double y[8];
    int32_t index[] = {2, -1, 0, 3};
    const int32_t counts[] = {2, 1};
    hpc_gather_args g = {.y = f64_of(y, 2, 2, 2),
                         .x = f64_of(x, 3, 2, 0),
                         .index = ragged(i32_of(index, 2, 2), 1, counts)};
    memset(y, 0, sizeof y);
    y[6] = y[7] = 9;
    REF(gather, &g);
    assert_near(y, (double[]){5, 6, 0, 0, 1, 2, 9, 9}, 8, 0);
    int rc;
    g.index.ragged = -1;
    RUN_REF(rc, gather, &g, 1);
    assert_error(rc, HPC_E_ARG, "gather: index 3 at 3 is past the 3 rows");

    float values[64], back[64];
    uint8_t packed[68];
    double rows[32];
    hpc_random_fill_normal(values, 64, 4, 4, 4, 0);
    hpc_from_f32(packed, HPC_Q8_0, values, 64);
    hpc_to_f32(back, packed, HPC_Q8_0, 64);
    const int32_t second = 1;
    g = (hpc_gather_args){.y = f64_of(rows, 1, 32, 0),
                          .x = over(HPC_Q8_0, packed, 2, 32, 0, 0),
                          .index = i32_of(&second, 1, 0)};
    REF(gather, &g);
    for (int i = 0; i < 32; i++) assert_true(rows[i] == (double)back[32 + i]);
}

static void scatters(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8};
    int32_t index[] = {2, -1, 2, 0};
    double y[] = {10, 10, 10, 10, 10, 10};
    hpc_scatter_args g = {.y = adding(f64_of(y, 3, 2, 0)),
                          .x = f64_of(x, 4, 2, 0),
                          .index = i32_of(index, 4, 0),
                          .attr = {.mode = HPC_SCATTER_ADD, .rows = 3}};
    REF(scatter, &g);
    assert_near(y, (double[]){17, 18, 10, 10, 16, 18}, 6, 0);
    g.y.adds = false;
    REF(scatter, &g);
    assert_near(y, (double[]){7, 8, 0, 0, 6, 8}, 6, 0);
    const int32_t three = 3;
    for (int i = 0; i < 6; i++) y[i] = 10;
    g.attr.mode = HPC_SCATTER_SET;
    g.x = ragged(g.x, 0, &three), g.index = ragged(g.index, 0, &three);
    REF(scatter, &g); /* the later of two wins; the fourth is not live */
    assert_near(y, (double[]){10, 10, 10, 10, 5, 6}, 6, 0);
    int rc;
    index[1] = 7;
    RUN_REF(rc, scatter, &g, 1);
    assert_error(rc, HPC_E_ARG, "scatter: index 7 at 1 is past the 3 rows");
}

static void routes(void **state)
{
    (void)state;
    int32_t group[] = {1, 0, -1, 1, 1, 0}, index[6], count[2];
    const int32_t five = 5;
    memset(index, -1, sizeof index);
    hpc_route_args g = {.index = i32_of(index, 2, 3),
                        .count = i32_of(count, 2, 0),
                        .group = ragged(i32_of(group, 6, 0), 0, &five),
                        .attr = {2, 3}};
    REF(route, &g);
    assert_memory_equal(count, ((int32_t[]){1, 3}), sizeof count);
    assert_memory_equal(index, ((int32_t[]){1, -1, -1, 0, 3, 4}), sizeof index);
    int rc;
    g.attr.cap = 2;
    RUN_REF(rc, route, &g, 1);
    assert_error(rc, HPC_E_ARG, "route: group 1 has more than 2 tokens");
    group[2] = 2;
    RUN_REF(rc, route, &g, 1);
    assert_error(rc, HPC_E_ARG, "route: token 2 goes to group 2 of 2");
}

/* ---- reductions, updates ------------------------------------------------------------- */

static void reductions(void **state)
{
    (void)state;
    double x[] = {1, -2, 3, 4, 5, -6}, y[3] = {0};
    hpc_reduce_args g = {
        .y = f64_of(y, 0, 0, 0), .x = f64_of(x, 2, 3, 0), .attr = {HPC_SUM, HPC_OVER_ALL}};
    REF(reduce, &g);
    assert_near(y, (double[]){5}, 1, 0);
    g.attr.kind = HPC_SUMSQ, g.y.adds = true;
    REF(reduce, &g);
    assert_near(y, (double[]){96}, 1, 0);
    g.y = f64_of(y, 3, 0, 0), g.attr = (hpc_reduce_attr){HPC_MAX, HPC_OVER_ROWS};
    REF(reduce, &g);
    assert_near(y, (double[]){4, 5, 3}, 3, 0);
    g.y = f64_of(y, 2, 0, 0), g.attr = (hpc_reduce_attr){HPC_SUM, HPC_OVER_COLS};
    REF(reduce, &g);
    assert_near(y, (double[]){2, 3, 3}, 3, 0);

    int32_t finite = -1;
    const int32_t one = 1, none = 0, live[] = {2, 1};
    g.y = i32_of(&finite, 0, 0), g.attr = (hpc_reduce_attr){HPC_FINITE, HPC_OVER_ALL};
    x[4] = NAN;
    REF(reduce, &g);
    assert_int_equal(finite, 0);
    g.x = ragged(g.x, 0, &one); /* the NaN is in a dead row */
    REF(reduce, &g);
    assert_int_equal(finite, 1);
    g.y = f64_of(y, 0, 0, 0), g.attr.kind = HPC_SUM;
    REF(reduce, &g);
    assert_near(y, (double[]){2}, 1, 0);
    g.x = ragged(g.x, 1, live); /* 1 - 2 and 4 */
    REF(reduce, &g);
    assert_near(y, (double[]){3}, 1, 0);
    g.x = ragged(g.x, 0, &none), g.attr.kind = HPC_MAX;
    REF(reduce, &g);
    assert_true(isinf(y[0]) && y[0] < 0);
    g.x.ragged = -1;
    REF(reduce, &g);
    assert_true(isnan(y[0]));
}

static void updates(void **state)
{
    (void)state;
    double param[] = {1, 2}, mom[] = {0.5, 0}, grad[] = {1, -1}, lr = 0.1;
    hpc_sgd_args s = {.param = f64_of(param, 2, 0, 0),
                      .mom = f64_of(mom, 2, 0, 0),
                      .grad = f64_of(grad, 2, 0, 0),
                      .lr = f64_of(&lr, 0, 0, 0),
                      .attr = {.momentum = 0.5, .decay = 0.25}};
    REF(sgd, &s);
    assert_near(mom, (double[]){1.5, -0.5}, 2, 0);
    assert_near(param, (double[]){0.85, 2.05}, 2, 1e-15);
    s.attr = (hpc_sgd_attr){.momentum = 0.5, .nesterov = true};
    REF(sgd, &s); /* mom 1.75, -1.25; steps grad + mom / 2 */
    assert_near(param, (double[]){0.85 - 0.1875, 2.05 + 0.1625}, 2, 1e-15);

    double p[] = {1, -1}, m[] = {0, 0.1}, v[] = {0, 0.2}, clip = 0.5;
    uint16_t half[2];
    int32_t step = 1;
    hpc_adamw_args a = {.param = f64_of(p, 2, 0, 0),
                        .m = f64_of(m, 2, 0, 0),
                        .v = f64_of(v, 2, 0, 0),
                        .half = over(HPC_BF16, half, 2, 0, 0, 0),
                        .grad = f64_of(grad, 2, 0, 0),
                        .lr = f64_of(&lr, 0, 0, 0),
                        .step = i32_of(&step, 0, 0),
                        .clip = absent,
                        .attr = {.beta1 = 0.5, .beta2 = 0.75, .eps = 0.25, .decay = 0.1}};
    REF(adamw, &a); /* first: both moments, bias removed, are grad and its square */
    assert_near(p, (double[]){0.99 - 0.1 / 1.25, -0.99 - 0.1 * (-0.9) / (sqrt(1.6) + 0.25)}, 2,
                1e-15);
    assert_near(m, (double[]){0.5, -0.45}, 2, 1e-15);
    assert_near(v, (double[]){0.25, 0.4}, 2, 1e-15);
    assert_int_equal(half[0], 0x3f69);
    double before = p[0];
    step = 2, a.clip = f64_of(&clip, 0, 0, 0);
    REF(adamw, &a); /* m = 0.5, v = 0.25 again; bias 0.75 and 0.4375 */
    double want = before * 0.99 - 0.1 * (0.5 / 0.75) / (sqrt(0.25 / 0.4375) + 0.25);
    assert_near(m, (double[]){0.5}, 1, 1e-15);
    assert_near(v, (double[]){0.25}, 1, 1e-15);
    assert_near(p, &want, 1, 1e-15);
}

/* ---- the whole table ------------------------------------------------------------------- */

static void complete(void **state)
{
    (void)state;
    /* Every selector is there: the table is nothing but pointers. */
    void (*entry[sizeof(hpc_kernels) / sizeof(void (*)(void))])(void);
    memcpy(entry, &hpc_ref_kernels, sizeof hpc_ref_kernels);
    for (size_t i = 0; i < sizeof entry / sizeof entry[0]; i++) assert_non_null(entry[i]);
    hpc_nop_args g = {.y = absent, .x = absent};
    REF(nop, &g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms),
        cmocka_unit_test(rope_pairs),
        cmocka_unit_test(attention_sequences),
        cmocka_unit_test(attention_groups),
        cmocka_unit_test(attention_pages),
        cmocka_unit_test(activations),
        cmocka_unit_test(dropout),
        cmocka_unit_test(binaries),
        cmocka_unit_test(scaling),
        cmocka_unit_test(copies),
        cmocka_unit_test(losses),
        cmocka_unit_test(gathers),
        cmocka_unit_test(scatters),
        cmocka_unit_test(routes),
        cmocka_unit_test(reductions),
        cmocka_unit_test(updates),
        cmocka_unit_test(complete),
    };
    return cmocka_run_group_tests_name("device/ref", tests, NULL, NULL);
}
