/*
 * kernels.c: the pointwise CPU kernels: activations and gates, dropout, binary, scale, copy, fill
 * and nop; and errors of their selectors.
 */
#include "tests/device/kernels.h"

/* ---- selection ------------------------------------------------------------------- */

static int select_act(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->act(p, workers, args);
}

static int select_act_grad(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->act_grad(p, workers, args);
}

static int select_glu(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->glu(p, workers, args);
}

static int select_glu_grad(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->glu_grad(p, workers, args);
}

static int select_dropout(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->dropout(p, workers, args);
}

static int select_binary(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->binary(p, workers, args);
}

static int select_scale(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->scale(p, workers, args);
}

static int select_copy(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->copy(p, workers, args);
}

static int select_fill(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->fill(p, workers, args);
}

static int select_nop(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->nop(p, workers, args);
}

/* ---- shapes that every pointwise kernel goes through ------------------------------- */

static const int32_t counts[] = {9, 0, 3, 1, 9};
static const int32_t one_count[] = {11};

typedef struct form {
    int rank;
    int64_t extent[3];
    int ragged;
    const int32_t *count;
} form;

static const form forms[] = {{2, {13, 37}, -1, NULL},     {2, {3, 600}, -1, NULL},
                             {2, {331, 1}, -1, NULL},     {1, {301}, -1, NULL},
                             {0, {0}, -1, NULL},          {2, {0, 8}, -1, NULL},
                             {2, {17, 21}, 0, one_count}, {3, {5, 9, 7}, 1, counts},
                             {2, {5, 9}, 1, counts},      {3, {13, 2, 150}, 0, one_count}};
enum { FORM_N = sizeof forms / sizeof forms[0] };

static hpc_tensor shaped(hpc_test_heap *h, const form *f, hpc_dtype d, uint32_t seed, double scale)
{
    const int64_t *e = f->extent;
    hpc_tensor t = ragged(hpc_test_tensor(h, d, f->rank, e[0], e[1], e[2], 0), f->ragged, f->count);

    if (seed) hpc_test_tensor_draw(&t, seed, scale);
    return t;
}

/* Elements that are not live stay unchanged. */
static double *expect(hpc_test_heap *h, const hpc_tensor *like)
{
    int64_t n = hpc_tensor_n(like);
    double *want = hpc_test_heap_doubles(h, n);

    for (int64_t i = 0; i < n; i++) want[i] = live_at(like, i) ? 0 : UNTOUCHED;
    return want;
}

/* ---- activations --------------------------------------------------------------------- */

static double act_of(double x, int act)
{
    switch (act) {
    case HPC_GELU_TANH: return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case HPC_GELU_ERF: return 0.5 * x * (1 + erf(x / sqrt(2)));
    case HPC_SILU: return x / (1 + exp(-x));
    case HPC_RELU: return x > 0 ? x : 0;
    case HPC_RELU2: return x > 0 ? x * x : 0;
    case HPC_TANH: return tanh(x);
    default: return x;
    }
}

/* By a central difference, exact enough in double for f32, where the function is smooth. */
static double slope_of(double x, int act)
{
    double e = 1e-5;

    if (act == HPC_RELU) return x > 0;
    if (act == HPC_RELU2) return x > 0 ? 2 * x : 0;
    return (act_of(x + e, act) - act_of(x - e, act)) / (2 * e);
}

static void act_case(const form *f, hpc_dtype d, int act)
{
    hpc_test_heap h = {0};
    hpc_tensor x = shaped(&h, f, d, 1, 4), dy = shaped(&h, f, d == HPC_F32 ? HPC_BF16 : d, 2, 1);
    hpc_act_args a = {shaped(&h, f, d, 0, 0), x, {act}};
    hpc_act_grad_args g = {shaped(&h, f, d, 0, 0), dy, x, {act}};
    const double *xs = hpc_test_tensor_doubles(&h, &x), *dys = hpc_test_tensor_doubles(&h, &dy);
    double *y = expect(&h, &x), *dx = expect(&h, &x);

    for (int64_t i = 0; i < hpc_tensor_n(&x); i++) {
        if (!live_at(&x, i)) continue;
        y[i] = act_of(xs[i], act);
        dx[i] = dys[i] * slope_of(xs[i], act);
    }
    check(&(kernel_case){"act", select_act, &a, 1, 3e-7, {y}});
    check(&(kernel_case){"act_grad", select_act_grad, &g, 1, 3e-6, {dx}});
    /* in place: dead elements are not compared */
    for (int64_t i = 0; i < hpc_tensor_n(&x); i++)
        if (!live_at(&x, i)) y[i] = dx[i] = NAN;
    if (d == HPC_BF16) {
        g.dx = g.dy;
        check(&(kernel_case){"act_grad in dy", select_act_grad, &g, 1, 3e-6, {dx}});
        g.dy = dy;
    }
    a.y = a.x = hpc_test_twin(&h, &x);
    check(&(kernel_case){"act in place", select_act, &a, 1, 3e-7, {y}});
    hpc_test_heap_free(&h);
}

static void activations(void **state)
{
    (void)state;
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++)
        for (int f = 0; f < FORM_N; f++) act_case(forms + f, f % 2 ? HPC_BF16 : HPC_F32, act);
}

static void activations_at_the_ends(void **state)
{
    static const double at[] = {0, 1e30, -1e30, 90, -90, 1e-30, -1e-30, HUGE_VAL};
    double y[8], dx[8];
    hpc_test_heap h = {0};

    (void)state;
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++) {
        hpc_act_args a = {hpc_test_tensor(&h, HPC_F32, 1, 8, 0, 0, 0),
                          hpc_test_tensor(&h, HPC_F32, 1, 8, 0, 0, 0),
                          {act}};
        hpc_act_grad_args g = {a.y, hpc_test_tensor(&h, HPC_F32, 1, 8, 0, 0, 0), a.x, {act}};
        hpc_test_tensor_set(&a.x, at);
        hpc_test_tensor_set(&g.dy, (const double[]){1, 1, 1, 1, 1, 1, 1, 1});
        for (int i = 0; i < 8; i++) {
            y[i] = (double)(float)act_of((double)(float)at[i], act);
            dx[i] = slope_of(at[i], act);
        }
        if (act != HPC_RELU2) { /* far out a difference of two gives nothing */
            dx[1] = dx[3] = act != HPC_TANH;
            dx[2] = dx[4] = act == HPC_ACT_NONE;
        }
        dx[7] = NAN;
        check(&(kernel_case){"act far out", select_act, &a, 1, 3e-7, {y}});
        check(&(kernel_case){"act_grad far out", select_act_grad, &g, 1, 3e-6, {dx}});
        ((float *)a.x.data)[3] = NAN;
        assert_int_equal(hpc_test_launch(select_act, NULL, 1, &a), 0);
        assert_true(isnan(((float *)a.y.data)[3]));
        assert_false(isnan(((float *)a.y.data)[2]));
    }
    hpc_test_heap_free(&h);
}

static void glu_case(const form *f, hpc_dtype d, int act)
{
    hpc_test_heap h = {0};
    hpc_tensor gate = shaped(&h, f, d, 1, 2), up = shaped(&h, f, HPC_BF16, 2, 1);
    hpc_tensor dy = shaped(&h, f, d, 3, 1);
    hpc_glu_args a = {shaped(&h, f, d, 0, 0), gate, up, {act}};
    hpc_glu_grad_args g = {
        shaped(&h, f, d, 0, 0), shaped(&h, f, HPC_F32, 0, 0), dy, gate, up, {act}};
    const double *gates = hpc_test_tensor_doubles(&h, &gate);
    const double *ups = hpc_test_tensor_doubles(&h, &up), *dys = hpc_test_tensor_doubles(&h, &dy);
    double *y = expect(&h, &gate), *dgate = expect(&h, &gate), *dup = expect(&h, &gate);

    for (int64_t i = 0; i < hpc_tensor_n(&gate); i++) {
        if (!live_at(&gate, i)) continue;
        y[i] = act_of(gates[i], act) * ups[i];
        dgate[i] = dys[i] * ups[i] * slope_of(gates[i], act);
        dup[i] = dys[i] * act_of(gates[i], act);
    }
    check(&(kernel_case){"glu", select_glu, &a, 1, 3e-7, {y}});
    check(&(kernel_case){"glu_grad", select_glu_grad, &g, 2, 3e-6, {dgate, dup}});
    for (int64_t i = 0; i < hpc_tensor_n(&gate); i++)
        if (!live_at(&gate, i)) y[i] = NAN;
    a.y = a.gate = hpc_test_twin(&h, &gate);
    check(&(kernel_case){"glu in place", select_glu, &a, 1, 3e-7, {y}});
    hpc_test_heap_free(&h);
}

static void gates(void **state)
{
    (void)state;
    for (int f = 0; f < FORM_N; f++) {
        glu_case(forms + f, f % 2 ? HPC_BF16 : HPC_F32, HPC_SILU);
        glu_case(forms + f, f % 2 ? HPC_F32 : HPC_BF16, HPC_GELU_TANH);
    }
}

/* ---- dropout ------------------------------------------------------------------------------ */

static void dropout_case(const form *f, hpc_dtype d, hpc_dropout_attr t, bool scalars)
{
    hpc_test_heap h = {0};
    hpc_tensor x = shaped(&h, f, d, 1, 1);
    hpc_dropout_args a = {shaped(&h, f, d, 0, 0), x, hpc_test_absent(), hpc_test_absent(), t};
    const double *xs = hpc_test_tensor_doubles(&h, &x);
    double *y = expect(&h, &x);
    int64_t cols = hpc_tensor_cols(&x), wide = t.global_cols ? t.global_cols : cols;
    uint32_t share = (uint32_t)(t.p * 65536 + 0.5);

    if (scalars) {
        a.step = scalar(&h, HPC_I32, 77);
        a.base = scalar(&h, HPC_I64, 1000);
    }
    for (int64_t i = 0; i < hpc_tensor_n(&x); i++) {
        if (!live_at(&x, i)) continue;
        int64_t row = i / cols + t.row0 + (scalars ? 1000 : 0), col = i % cols + t.col0;
        uint32_t half = hpc_random_half((uint64_t)t.seed, (uint32_t)t.tensor, scalars ? 77 : 0,
                                        (uint64_t)(row * wide + col));
        y[i] = half >= share ? xs[i] / (1 - share / 65536.0) : 0;
    }
    check(&(kernel_case){"dropout", select_dropout, &a, 1, 2e-7, {y}});
    for (int64_t i = 0; i < hpc_tensor_n(&x); i++)
        if (!live_at(&x, i)) y[i] = NAN;
    a.y = a.x = hpc_test_twin(&h, &x);
    check(&(kernel_case){"dropout in place", select_dropout, &a, 1, 2e-7, {y}});
    hpc_test_heap_free(&h);
}

static void dropouts(void **state)
{
    (void)state;
    for (int f = 0; f < FORM_N; f++) {
        hpc_dtype d = f % 2 ? HPC_BF16 : HPC_F32;
        dropout_case(forms + f, d, (hpc_dropout_attr){.p = 0.25, .seed = 5, .tensor = 3}, false);
        dropout_case(forms + f, d,
                     (hpc_dropout_attr){.p = 0.1,
                                        .seed = (int64_t)1 << 40,
                                        .tensor = 9,
                                        .global_cols = 1203,
                                        .row0 = 7,
                                        .col0 = 602},
                     true);
    }
    /* Where counters of blocks of eight no longer fit 32 bits. */
    int64_t row0 = ((int64_t)1 << 35) / forms[0].extent[1] - 1;
    dropout_case(forms, HPC_F32, (hpc_dropout_attr){.p = 0.25, .seed = 5, .row0 = row0}, false);
    dropout_case(forms, HPC_F32, (hpc_dropout_attr){.p = 0}, false);
    dropout_case(forms, HPC_F32, (hpc_dropout_attr){.p = 1}, false);
    /* A share that is rounded, at both sides of the first number. */
    double first = hpc_random_half(5, 3, 0, 0);
    for (int k = -1; k <= 2; k++)
        dropout_case(forms, HPC_F32,
                     (hpc_dropout_attr){.p = (first + k + 0.3) / 65536, .seed = 5, .tensor = 3},
                     false);
}

/* ---- binary, scale -------------------------------------------------------------------------- */

typedef enum other { SAME, SCALAR, COLUMNS, ROWS } other;

static void binary_case(const form *f, hpc_dtype d, int kind, other how)
{
    hpc_test_heap h = {0};
    hpc_tensor x = shaped(&h, f, d, 1, 1);
    int64_t cols = hpc_tensor_cols(&x), rows = hpc_tensor_rows(&x);
    hpc_dtype e = d == HPC_F32 ? HPC_BF16 : HPC_F32;
    hpc_tensor b = how == SAME      ? shaped(&h, f, e, 2, 1)
                   : how == SCALAR  ? scalar(&h, e, 1.5)
                   : how == COLUMNS ? drawn(&h, e, 1, cols, 0, 0, 2, 1)
                                    : drawn(&h, e, 2, rows, 1, 0, 2, 1);
    hpc_binary_args a = {shaped(&h, f, d, 0, 0), x, b, {kind}};
    const double *xs = hpc_test_tensor_doubles(&h, &x), *bs = hpc_test_tensor_doubles(&h, &b);
    double *y = expect(&h, &x);

    for (int64_t i = 0; i < hpc_tensor_n(&x); i++) {
        if (!live_at(&x, i)) continue;
        double r = bs[how == SAME ? i : how == SCALAR ? 0 : how == COLUMNS ? i % cols : i / cols];
        y[i] = kind == HPC_ADD ? xs[i] + r : kind == HPC_SUB ? xs[i] - r : xs[i] * r;
    }
    check(&(kernel_case){"binary", select_binary, &a, 1, 1e-7, {y}});
    for (int64_t i = 0; i < hpc_tensor_n(&x); i++)
        if (!live_at(&x, i)) y[i] = NAN;
    a.y = a.a = hpc_test_twin(&h, &x);
    check(&(kernel_case){"binary in place", select_binary, &a, 1, 1e-7, {y}});
    hpc_test_heap_free(&h);
}

static void binaries(void **state)
{
    (void)state;
    for (int f = 0; f < FORM_N; f++) {
        for (int how = SAME; how <= ROWS; how++) {
            if (forms[f].rank < 2 && how > SCALAR) continue;
            binary_case(forms + f, f % 2 ? HPC_F32 : HPC_BF16, (f + how) % 3, (other)how);
        }
    }
}

static void scale_case(const form *f, hpc_dtype d, bool by, bool adds)
{
    hpc_test_heap h = {0};
    hpc_tensor x = shaped(&h, f, d, 1, 1);
    hpc_scale_args a = {shaped(&h, f, d, adds ? 3 : 0, 1),
                        x,
                        by ? scalar(&h, HPC_F32, -0.75) : hpc_test_absent(),
                        {.alpha = 1.25}};
    const double *xs = hpc_test_tensor_doubles(&h, &x), *ys = hpc_test_tensor_doubles(&h, &a.y);
    double *y = expect(&h, &x);

    a.y.adds = adds;
    for (int64_t i = 0; i < hpc_tensor_n(&x); i++) {
        if (live_at(&x, i))
            y[i] = 1.25 * (by ? -0.75 : 1) * xs[i] + (adds ? ys[i] : 0);
        else if (adds)
            y[i] = ys[i];
    }
    check(&(kernel_case){"scale", select_scale, &a, 1, 2e-7, {y}});
    hpc_test_heap_free(&h);
}

static void scales(void **state)
{
    (void)state;
    for (int f = 0; f < FORM_N; f++)
        for (int i = 0; i < 4; i++)
            scale_case(forms + f, (f + i) % 3 ? HPC_F32 : HPC_BF16, i & 1, i & 2);
}

/* ---- copy, fill ----------------------------------------------------------------------------- */

static void copies(void **state)
{
    static const hpc_dtype from[] = {HPC_F32,  HPC_BF16, HPC_F16,  HPC_Q8_0,   HPC_Q4_0,
                                     HPC_Q4_K, HPC_Q5_K, HPC_Q6_K, HPC_Q4_1,   HPC_Q5_0,
                                     HPC_Q5_1, HPC_Q2_K, HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS};
    static const hpc_dtype to[] = {HPC_F32, HPC_BF16, HPC_F16, HPC_I32, HPC_I64};
    hpc_test_heap h = {0};

    (void)state;
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        for (int k = 0; k < 5; k++) {
            hpc_copy_args a = {hpc_test_tensor(&h, to[k], 2, 9, 512, 0, 0),
                               drawn(&h, from[i], 2, 9, 512, 0, 1, 100),
                               {to[k]}};
            double *x = hpc_test_tensor_doubles(&h, &a.x);
            hpc_tensor rounded = hpc_test_twin(&h, &a.y);
            hpc_test_tensor_set(&rounded, x); /* exactly what a conversion gives */
            const double *y = hpc_test_tensor_doubles(&h, &rounded);
            check(&(kernel_case){"copy", select_copy, &a, 1, 0, {y}});
        }
    }
    hpc_test_heap_free(&h);
}

static void copies_of_bits(void **state)
{
    static const hpc_dtype all[] = {HPC_F32, HPC_BF16, HPC_F16, HPC_I32, HPC_I64, HPC_Q5_K};
    hpc_test_heap h = {0};

    (void)state;
    for (int i = 0; i < 6; i++) {
        hpc_copy_args a = {hpc_test_tensor(&h, all[i], 2, 5, 256, 0, 0),
                           hpc_test_tensor(&h, all[i], 2, 5, 256, 0, 0),
                           {all[i]}};
        size_t bytes = hpc_tensor_bytes(&a.x);
        for (size_t k = 0; k < bytes; k++) ((uint8_t *)a.x.data)[k] = (uint8_t)(k * 37 + 11);
        check(&(kernel_case){"copy", select_copy, &a, 1, 0, {NULL}});
        assert_int_equal(hpc_test_launch(select_copy, NULL, 3, &a), 0);
        assert_memory_equal(a.y.data, a.x.data, bytes);
    }
    for (int f = 0; f < FORM_N; f++) {
        hpc_copy_args a = {shaped(&h, forms + f, HPC_BF16, 0, 0),
                           shaped(&h, forms + f, HPC_F32, 1, 1),
                           {HPC_BF16}};
        double *y = expect(&h, &a.x);
        const double *x = hpc_test_tensor_doubles(&h, &a.x);
        for (int64_t i = 0; i < hpc_tensor_n(&a.x); i++)
            if (live_at(&a.x, i)) y[i] = x[i];
        check(&(kernel_case){"copy", select_copy, &a, 1, 0, {y}});
        hpc_test_heap_free(&h);
    }
}

/* bf16 rounds halves to even, keeps infinities, and lets no NaN become one. */
static void narrowing(void **state)
{
    static const uint32_t from[] = {0x3f808000, 0x3f818000, 0x3f808001, 0x7f7fffff, 0xff800000,
                                    0x7f800001, 0xffffffff, 0x00000001, 0x80008001, 0};
    static const uint16_t to[] = {0x3f80, 0x3f82, 0x3f81, 0x7f80, 0xff80,
                                  0x7fc0, 0xffff, 0x0000, 0x8001, 0};
    hpc_test_heap h = {0};
    hpc_copy_args a = {hpc_test_tensor(&h, HPC_BF16, 2, 1, 50, 0, 0),
                       hpc_test_tensor(&h, HPC_F32, 2, 1, 50, 0, 0),
                       {HPC_BF16}};

    (void)state;
    for (int i = 0; i < 50; i++) memcpy((char *)a.x.data + 4 * i, from + i % 10, 4);
    for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
        assert_int_equal(hpc_test_launch(select_copy, *isa, 1, &a), 0);
        for (int i = 0; i < 50; i++) assert_int_equal(((const uint16_t *)a.y.data)[i], to[i % 10]);
    }
    hpc_test_heap_free(&h);
}

static void fills(void **state)
{
    static const hpc_dtype all[] = {HPC_F32, HPC_BF16, HPC_F16, HPC_I32, HPC_I64};
    hpc_test_heap h = {0};

    (void)state;
    for (int f = 0; f < FORM_N; f++) {
        hpc_dtype d = all[f % 4]; /* the pattern of dead i64 is no NaN */
        hpc_fill_args a = {shaped(&h, forms + f, d, 0, 0), {-3.5}};
        double *y = expect(&h, &a.y);
        for (int64_t i = 0; i < hpc_tensor_n(&a.y); i++)
            if (live_at(&a.y, i)) y[i] = d == HPC_I32 ? -3 : -3.5;
        check(&(kernel_case){"fill", select_fill, &a, 1, 0, {y}});
    }
    hpc_fill_args wide = {hpc_test_tensor(&h, HPC_I64, 2, 3, 300, 0, 0), {-0x1p53}};
    assert_int_equal(hpc_test_launch(select_fill, NULL, 2, &wide), 0);
    for (int i = 0; i < 900; i++)
        assert_true(((const int64_t *)wide.y.data)[i] == -(INT64_C(1) << 53));
    hpc_fill_args whole = {hpc_test_tensor(&h, HPC_I32, 1, 3, 0, 0, 0), {0x1.000001p24}};
    assert_int_equal(hpc_test_launch(select_fill, NULL, 1, &whole), 0);
    assert_int_equal(((const int32_t *)whole.y.data)[2], 0x1000001);
    hpc_test_heap_free(&h);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    hpc_test_heap h = {0};
    hpc_tensor f32 = hpc_test_tensor(&h, HPC_F32, 2, 3, 4, 0, 0);
    hpc_tensor f64 = hpc_test_tensor(&h, HPC_F64, 2, 3, 4, 0, 0);
    hpc_tensor f16 = hpc_test_tensor(&h, HPC_F16, 2, 3, 4, 0, 0);
    hpc_tensor i32 = hpc_test_tensor(&h, HPC_I32, 2, 3, 4, 0, 0), panel = f32;
    int code = HPC_E_UNSUPPORTED;

    (void)state;
    panel.pack = HPC_PANEL16;
    check_fails(select_act, &(hpc_act_args){f32, f64, {HPC_SILU}}, code,
                "act_%s does not take f64[3,4] as its operand x");
    check_fails(select_act, &(hpc_act_args){f16, f32, {HPC_SILU}}, code,
                "act_%s does not take f16[3,4] as its operand y");
    check_fails(select_act_grad, &(hpc_act_grad_args){f32, i32, f32, {HPC_SILU}}, code,
                "act_grad_%s does not take i32[3,4] as its operand dy");
    check_fails(select_glu, &(hpc_glu_args){f32, f32, panel, {HPC_SILU}}, code,
                "glu_%s does not take f32[3,4]/panel16 as its operand up");
    check_fails(select_glu_grad, &(hpc_glu_grad_args){f32, f64, f32, f32, f32, {HPC_SILU}}, code,
                "glu_grad_%s does not take f64[3,4] as its operand dup");
    check_fails(select_dropout, &(hpc_dropout_args){.y = f32, .x = f32, .step = i32, .base = f32},
                code, "dropout_%s does not take f32[3,4] as its operand base");
    check_fails(select_binary, &(hpc_binary_args){f32, f32, f16, {HPC_ADD}}, code,
                "binary_%s does not take f16[3,4] as its operand b");
    check_fails(select_scale, &(hpc_scale_args){f32, f32, i32, {1}}, code,
                "scale_%s does not take i32[3,4] as its operand by");
    check_fails(select_copy, &(hpc_copy_args){f32, i32, {HPC_F32}}, code,
                "copy_%s does not take f32[3,4] as its operand y");
    check_fails(select_copy, &(hpc_copy_args){f64, f32, {HPC_F64}}, code,
                "copy_%s does not take f64[3,4] as its operand y");
    check_fails(select_fill, &(hpc_fill_args){f64, {1}}, code,
                "fill_%s does not take f64[3,4] as its operand y");
    hpc_test_heap_free(&h);
}

static void nothing(void **state)
{
    hpc_nop_args a = {.y = hpc_test_absent(), .x = hpc_test_absent()};

    (void)state;
    for (const char *const *isa = hpc_test_isas(); *isa; isa++)
        assert_int_equal(hpc_test_launch(select_nop, *isa, 2, &a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations), cmocka_unit_test(activations_at_the_ends),
        cmocka_unit_test(gates),       cmocka_unit_test(dropouts),
        cmocka_unit_test(binaries),    cmocka_unit_test(scales),
        cmocka_unit_test(copies),      cmocka_unit_test(copies_of_bits),
        cmocka_unit_test(narrowing),   cmocka_unit_test(fills),
        cmocka_unit_test(refusals),    cmocka_unit_test(nothing)};

    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
