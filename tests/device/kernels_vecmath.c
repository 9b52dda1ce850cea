/*
 * kernels_vecmath.c: the kernels' mathematical functions compared with libm in double, over all
 * magnitudes and at the limits.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/device/cpu/kernels/vecmath.h"

typedef struct function {
    const char *name;
    float (*f)(float);
    double (*exact)(double);
    float lo, hi; /* where `ulps` holds */
    double ulps;  /* 0: not promised */
    double near;  /* absolute, where the results are no larger than 1 */
} function;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
static double normal(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static float sine(float x)
{
    float s, c;
    vec_sincos(&s, &c, x);
    return s;
}

static float cosine(float x)
{
    float s, c;
    vec_sincos(&s, &c, x);
    return c;
}

static const function functions[] = {
    {"exp", vec_exp, exp, -INFINITY, INFINITY, 2, 0},
    {"exp of what is negative", vec_exp_down, exp, -87, 0, 2, 0},
    {"sigmoid", vec_sigmoid, sigmoid, -80, INFINITY, 3, 2e-7},
    {"tanh", vec_tanh, tanh, -INFINITY, INFINITY, 2, 1e-7},
    {"erf", vec_erf, erf, -INFINITY, INFINITY, 2, 1e-7},
    {"normal", vec_normal, normal, -1, INFINITY, 3, 1e-7},
    {"sine", sine, sin, -0x1p31f, 0x1p31f, 3, 1e-7},
    {"cosine", cosine, cos, -0x1p31f, 0x1p31f, 3, 1e-7},
};
enum { FUNCTION_N = sizeof functions / sizeof functions[0] };

static void check(const function *f, float x)
{
    double want = f->exact((double)x), got = (double)f->f(x);
    float rounded = (float)want;

    if (isinf(rounded) && got == (double)rounded) return;
    double ulp = (double)(nextafterf(fabsf(rounded), INFINITY) - fabsf(rounded));
    double off = fabs(got - want);
    if (x >= f->lo && x <= f->hi && !(off <= f->ulps * ulp))
        fail_msg("%s(%a) is %a, wanted %a: %.3g ulp", f->name, (double)x, got, want, off / ulp);
    if (f->near > 0 && !(off <= f->near))
        fail_msg("%s(%a) is %.9g, wanted %.9g", f->name, (double)x, got, want);
}

static void accuracy(void **state)
{
    (void)state;
    for (int i = 0; i < FUNCTION_N; i++) {
        bool bounded = isfinite(functions[i].lo) && isfinite(functions[i].hi);
        for (uint32_t bits = 0; bits < 0xffffffff - 5081; bits += 5081) {
            float x = hpc_bits_f32(bits);
            if (isnan(x) || (bounded && !(x >= functions[i].lo && x <= functions[i].hi))) continue;
            check(functions + i, x);
        }
    }
}

static void ends(void **state)
{
    (void)state;
    float any = vec_sigmoid(NAN); /* its factor is NaN */
    assert_true(any >= 0 && any <= 1);
    for (int i = 0; i < FUNCTION_N; i++)
        if (functions[i].f != vec_sigmoid) assert_true(isnan(functions[i].f(NAN)));
    assert_true(isinf(vec_exp(INFINITY)) && vec_exp(-INFINITY) == 0);
    assert_true(vec_exp(0) == 1 && vec_exp(-3e38f) == 0);
    assert_true(vec_exp_down(0) == 1 && vec_exp_down(-INFINITY) == 0);
    assert_true(vec_exp_down(-87.01f) == 0 && vec_exp_down(-3e38f) == 0);
    assert_true(vec_sigmoid(INFINITY) == 1 && vec_sigmoid(-INFINITY) < 2e-38f);
    assert_true(vec_tanh(INFINITY) == 1 && vec_tanh(-INFINITY) == -1);
    assert_true(vec_erf(INFINITY) == 1 && vec_erf(-INFINITY) == -1);
    assert_true(vec_normal(INFINITY) == 1 && vec_normal(-INFINITY) == 0);
    assert_true(isnan(sine(INFINITY)) && isnan(cosine(-INFINITY)));
    assert_true(sine(0) == 0 && cosine(0) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(accuracy), cmocka_unit_test(ends)};

    return cmocka_run_group_tests_name("kernels_vecmath", tests, NULL, NULL);
}
