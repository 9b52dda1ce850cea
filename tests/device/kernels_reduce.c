/*
 * kernels_reduce.c: the CPU kernels of reductions, and of the SGD and AdamW updates.
 */
#include "tests/device/kernels.h"

static int select_reduce(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->reduce(p, workers, args);
}

static int select_sgd(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->sgd(p, workers, args);
}

static int select_adamw(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->adamw(p, workers, args);
}

/* ---- reduce ---------------------------------------------------------------------------- */

static const int32_t counts[] = {9, 0, 3, 1, 9};
static const int32_t one_count[] = {11};
static const int32_t none[] = {0};

typedef struct form {
    int rank;
    int64_t extent[3];
    int ragged;
    const int32_t *count;
} form;

static const form forms[] = {
    {2, {13, 37}, -1, NULL},         {2, {70, 600}, -1, NULL},  {2, {331, 1}, -1, NULL},
    {1, {40001}, -1, NULL},          {0, {0}, -1, NULL},        {2, {0, 8}, -1, NULL},
    {2, {17, 21}, 0, one_count},     {3, {5, 9, 7}, 1, counts}, {2, {5, 9}, 1, counts},
    {3, {13, 2, 150}, 0, one_count}, {1, {30}, 0, one_count},   {2, {6, 5}, 0, none}};
enum { FORM_N = sizeof forms / sizeof forms[0] };

static double initial(int kind)
{
    return kind == HPC_MAX ? -HUGE_VAL : kind == HPC_FINITE;
}

static double join(int kind, double a, double x)
{
    switch (kind) {
    case HPC_SUM: return a + x;
    case HPC_SUMSQ: return a + x * x;
    case HPC_MAX: return x > a ? x : a;
    default: return a > 0 && isfinite(x);
    }
}

/* The result's shape: a scalar, [cols], or x without its last dimension. */
static hpc_tensor result_of(hpc_test_heap *h, const hpc_tensor *x, int over, hpc_dtype d)
{
    const int64_t *e = x->extent;

    if (over == HPC_OVER_ALL) return hpc_test_tensor(h, d, 0, 0, 0, 0, 0);
    if (over == HPC_OVER_ROWS) return hpc_test_tensor(h, d, 1, hpc_tensor_cols(x), 0, 0, 0);
    hpc_tensor t = hpc_test_tensor(h, d, x->rank > 0 ? x->rank - 1 : 0, e[0], e[1], e[2], 0);
    return x->ragged < t.rank ? ragged(t, x->ragged, x->count) : t;
}

typedef struct reduce_case {
    const form *form;
    int kind, over;
    hpc_dtype x, y;
    bool adds;
} reduce_case;

static void reduce_check(const reduce_case *c)
{
    hpc_test_heap h = {0};
    const int64_t *e = c->form->extent;
    hpc_reduce_args a = {.x = drawn(&h, c->x, c->form->rank, e[0], e[1], e[2], 1, 1),
                         .attr = {c->kind, c->over}};

    a.x = ragged(a.x, c->form->ragged, c->form->count);
    a.y = result_of(&h, &a.x, c->over, c->kind == HPC_FINITE ? HPC_I32 : c->y);
    double size = 0; /* of all that is added: chunks are in f32 */
    int64_t n = hpc_tensor_n(&a.x), results = hpc_tensor_n(&a.y), cols = hpc_tensor_cols(&a.x);
    const double *x = hpc_test_tensor_doubles(&h, &a.x);
    double *y = hpc_test_heap_doubles(&h, results), *old = hpc_test_heap_doubles(&h, results);
    if (c->adds) hpc_test_tensor_draw(&a.y, 2, 1);
    hpc_test_tensor_get(old, &a.y);
    a.y.adds = c->adds;
    for (int64_t i = 0; i < results; i++) y[i] = initial(c->kind);
    for (int64_t i = 0; i < n; i++) {
        int64_t to = c->over == HPC_OVER_ALL ? 0 : c->over == HPC_OVER_ROWS ? i % cols : i / cols;
        if (live_at(&a.x, i)) y[to] = join(c->kind, y[to], x[i]);
        size += c->kind == HPC_SUMSQ ? x[i] * x[i] : fabs(x[i]);
    }
    for (int64_t i = 0; i < results; i++) {
        if (!live_at(&a.y, i))
            y[i] = c->adds ? old[i] : UNTOUCHED;
        else if (c->adds)
            y[i] += old[i];
    }
    double near = c->kind > HPC_SUMSQ ? 0 : 3e-7 + 1e-9 * size;
    check(&(kernel_case){"reduce", select_reduce, &a, 1, near, {y}});
    hpc_test_heap_free(&h);
}

static void reductions(void **state)
{
    (void)state;
    for (int f = 0; f < FORM_N; f++) {
        for (int i = 0; i < 12; i++) {
            reduce_case c = {.form = forms + f,
                             .kind = i % 4,
                             .over = i / 4,
                             .x = (f + i) % 2 ? HPC_BF16 : HPC_F32,
                             .y = i % 3 ? HPC_F32 : HPC_BF16};
            reduce_check(&c);
            c.adds = c.kind <= HPC_SUMSQ;
            c.x = HPC_F32;
            reduce_check(&c);
        }
    }
}

/* 2^24 + 1 is no f32: chunks are added in f64. */
static void sums_between_chunks_are_exact(void **state)
{
    hpc_test_heap h = {0};
    hpc_reduce_args a = {.y = hpc_test_tensor(&h, HPC_F32, 0, 0, 0, 0, 0),
                         .x = hpc_test_tensor(&h, HPC_F32, 1, 40000, 0, 0, 0),
                         .attr = {HPC_SUM, HPC_OVER_ALL}};
    float *x = a.x.data;
    double want = 40000 - 1;

    (void)state;
    for (int i = 0; i < 40000; i++) x[i] = 1;
    x[0] = 0x1p30f;
    x[39999] = -0x1p30f;
    for (int i = 1; i < 256; i++) x[i] = x[39999 - i] = 0; /* nothing else shares their chunks */
    want = 40000 - 2 - 2 * 255;
    check(&(kernel_case){"sum", select_reduce, &a, 1, 0, {&want}});
    hpc_test_heap_free(&h);
}

static void not_finite(void **state)
{
    static const int at[] = {0, 15, 16, 255, 300, 599};
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    hpc_test_heap h = {0};
    hpc_reduce_args a = {.x = hpc_test_tensor(&h, HPC_F32, 2, 3, 200, 0, 0)};
    float *x = a.x.data;
    int32_t ok[200];

    (void)state;
    for (int i = 0; i < 6 * 3 * 3; i++) {
        int over = i / 18, k = at[i % 6], col = k % 200, row = k / 200;
        for (int64_t e = 0; e < 600; e++) x[e] = (float)e;
        x[k] = bad[i / 6 % 3];
        a.attr = (hpc_reduce_attr){HPC_FINITE, over};
        a.y = result_of(&h, &a.x, over, HPC_I32);
        int64_t n = hpc_tensor_n(&a.y);
        for (int64_t e = 0; e < n; e++) ok[e] = n == 200 ? e != col : n == 3 ? e != row : 0;
        for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
            assert_int_equal(hpc_test_launch(select_reduce, *isa, 2, &a), 0);
            assert_memory_equal(a.y.data, ok, (size_t)n * sizeof *ok);
        }
        a.attr.kind = HPC_MAX; /* a NaN wins over all */
        a.y = result_of(&h, &a.x, over, HPC_F32);
        const float *max = (const float *)a.y.data + (n == 200 ? col : n == 3 ? row : 0);
        assert_int_equal(hpc_test_launch(select_reduce, NULL, 2, &a), 0);
        if (isnan(x[k]))
            assert_true(isnan(*max));
        else if (x[k] > 0)
            assert_true(*max == x[k]);
        else
            assert_true(isfinite(*max));
    }
    hpc_test_heap_free(&h);
}

/* ---- updates ---------------------------------------------------------------------------- */

enum { PARAMS = 1027 };

static void sgd_check(hpc_dtype grad, hpc_sgd_attr t)
{
    hpc_test_heap h = {0};
    hpc_sgd_args a = {drawn(&h, HPC_F32, 2, 79, 13, 0, 1, 1),
                      drawn(&h, HPC_F32, 2, 79, 13, 0, 2, 1), drawn(&h, grad, 2, 79, 13, 0, 3, 1),
                      scalar(&h, HPC_F32, 0.125), t};
    double *param = hpc_test_tensor_doubles(&h, &a.param);
    double *mom = hpc_test_tensor_doubles(&h, &a.mom);
    const double *g = hpc_test_tensor_doubles(&h, &a.grad);

    for (int i = 0; i < PARAMS; i++) {
        double d = g[i] + t.decay * param[i];
        mom[i] = t.momentum * mom[i] + d;
        param[i] -= 0.125 * (t.nesterov ? d + t.momentum * mom[i] : mom[i]);
    }
    check(&(kernel_case){"sgd", select_sgd, &a, 2, 2e-7, {param, mom}});
    hpc_test_heap_free(&h);
}

static void sgd(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        sgd_check(i & 1 ? HPC_BF16 : HPC_F32, (hpc_sgd_attr){0.9, i & 2 ? 0.01 : 0, i & 2});
}

static void adamw_check(hpc_dtype grad, bool half, bool clip, int32_t step)
{
    hpc_test_heap h = {0};
    hpc_adamw_attr t = {0.9, 0.95, 1e-8, 0.1};
    hpc_adamw_args a = {.param = drawn(&h, HPC_F32, 2, 79, 13, 0, 1, 1),
                        .m = drawn(&h, HPC_F32, 2, 79, 13, 0, 2, 1),
                        .v = drawn(&h, HPC_F32, 2, 79, 13, 0, 3, 1),
                        .half = half ? hpc_test_tensor(&h, HPC_BF16, 2, 79, 13, 0, 0)
                                     : hpc_test_absent(),
                        .grad = drawn(&h, grad, 2, 79, 13, 0, 4, 1),
                        .lr = scalar(&h, HPC_F32, 0.0625),
                        .step = scalar(&h, HPC_I32, step),
                        .clip = clip ? scalar(&h, HPC_F32, 0.5) : hpc_test_absent(),
                        .attr = t};
    double *param = hpc_test_tensor_doubles(&h, &a.param), *m = hpc_test_tensor_doubles(&h, &a.m);
    double *v = hpc_test_tensor_doubles(&h, &a.v);
    const double *g = hpc_test_tensor_doubles(&h, &a.grad);

    for (int i = 0; i < PARAMS; i++) v[i] *= v[i];
    hpc_test_tensor_set(&a.v, v);
    hpc_test_tensor_get(v, &a.v);
    for (int i = 0; i < PARAMS; i++) {
        double d = g[i] * (clip ? 0.5 : 1);
        param[i] *= 1 - 0.0625 * t.decay;
        m[i] = t.beta1 * m[i] + (1 - t.beta1) * d;
        v[i] = t.beta2 * v[i] + (1 - t.beta2) * d * d;
        double bias1 = 1 - pow(t.beta1, step), bias2 = 1 - pow(t.beta2, step);
        param[i] -= 0.0625 * (m[i] / bias1) / (sqrt(v[i]) / sqrt(bias2) + t.eps);
    }
    check(&(kernel_case){"adamw", select_adamw, &a, 4, 5e-7, {param, m, v, half ? param : NULL}});
    hpc_test_heap_free(&h);
}

static void adamw(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        adamw_check(i & 1 ? HPC_BF16 : HPC_F32, i & 2, i & 4, i == 5 ? 100000 : i + 1);
}

/* ---- failures --------------------------------------------------------------------------- */

static void failures(void **state)
{
    hpc_test_heap h = {0};
    hpc_tensor x = drawn(&h, HPC_F32, 1, 5, 0, 0, 1, 1);
    hpc_tensor half = hpc_test_tensor(&h, HPC_BF16, 1, 5, 0, 0, 0), absent = hpc_test_absent();
    hpc_tensor f64 = hpc_test_tensor(&h, HPC_F64, 1, 5, 0, 0, 0), lr = scalar(&h, HPC_F32, 1);
    hpc_adamw_args a = {x, x, x, absent, x, lr, scalar(&h, HPC_I32, 0), absent, {0.9, 0.9, 0, 0}};
    int code = HPC_E_UNSUPPORTED;

    (void)state;
    check_fails(select_adamw, &a, HPC_E_ARG, "adamw: step is 0, steps count from 1");
    a.half = x;
    check_fails(select_adamw, &a, code, "adamw_%s does not take f32[5] as its operand half");
    check_fails(select_sgd, &(hpc_sgd_args){half, x, x, lr, {0, 0, false}}, code,
                "sgd_%s does not take bf16[5] as its operand param");
    check_fails(select_reduce, &(hpc_reduce_args){lr, f64, {HPC_SUM, HPC_OVER_ALL}}, code,
                "reduce_%s does not take f64[5] as its operand x");
    check_fails(select_reduce, &(hpc_reduce_args){lr, x, {HPC_FINITE, HPC_OVER_ALL}}, code,
                "reduce_%s does not take f32[] as its operand y");
    hpc_test_heap_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions), cmocka_unit_test(sums_between_chunks_are_exact),
        cmocka_unit_test(not_finite), cmocka_unit_test(sgd),
        cmocka_unit_test(adamw),      cmocka_unit_test(failures)};

    return cmocka_run_group_tests_name("kernels_reduce", tests, NULL, NULL);
}
