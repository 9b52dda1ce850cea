/*
 * freeze_count.c: the program format supports counts known only to the device: tokens routed to
 * two groups of varying size and back, differentiated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tests/support/values.h"

enum { T = 14, H = 16, F = 24, E = 2 };

typedef struct routed {
    hpc_program *p;
    hpc_value x, group, w1, w2, y, dy, count, dx;
} routed;

static routed emit(hpc_dtype dtype)
{
    routed r = {.p = hpc_program_create()};
    hpc_program *p = r.p;
    hpc_type tokens = hpc_type_of(dtype, 2, (int64_t[]){T, H});
    r.x = hpc_program_input(p, "x", tokens);
    r.dy = hpc_program_input(p, "dy", tokens);
    r.group = hpc_program_input(p, "group", hpc_type_of(HPC_I32, 1, (int64_t[]){T}));
    r.w1 = hpc_program_state(p, "w1", hpc_type_of(dtype, 3, (int64_t[]){E, F, H}), true);
    r.w2 = hpc_program_state(p, "w2", hpc_type_of(dtype, 3, (int64_t[]){E, H, F}), true);
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value index = hpc_route(p, r.group, E, T, &r.count);
    hpc_value mine = hpc_gather(p, r.x, index); /* [E,T,H], live rows by count */
    hpc_matmul_attr product = {.trans_b = true, .alpha = 1};
    hpc_value h = hpc_activate(p, hpc_matmul(p, mine, r.w1, product), HPC_GELU_TANH);
    h = hpc_matmul(p, h, r.w2, product);
    r.y = hpc_scatter(p, HPC_NEW, h, index, (hpc_scatter_attr){.rows = T});
    hpc_program_keep(p, r.y);
    hpc_program_keep(p, r.count);
    int backward = hpc_program_segment(p, HPC_BACKWARD, 0);
    hpc_diff_options d = {.forward = 0,
                          .backward = backward,
                          .accumulate = -1,
                          .seed_of = &r.y,
                          .seed = &r.dy,
                          .seed_n = 1,
                          .want = &r.x,
                          .want_grad = &r.dx,
                          .want_n = 1};
    test_ok(hpc_differentiate(p, &d));
    hpc_program_keep(p, r.dx);
    test_ok(hpc_program_check(p));
    return r;
}

static hpc_exec *start(const routed *r, hpc_device *d)
{
    hpc_exec *e;
    test_ok(hpc_exec_open(&e, r->p, d, NULL, &(hpc_exec_options){.poison = 1}));
    hpc_test_feed(e, 0, r->x, 1, 1);
    hpc_test_feed(e, 0, r->dy, 2, 1);
    hpc_test_feed(e, 0, r->w1, 3, 0.3);
    hpc_test_feed(e, 0, r->w2, 4, 0.3);
    return e;
}

static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

/* Token by token, each through its own group's weights; no groups, no counts. */
static void by_hand(const int32_t *group, double *y)
{
    static double x[T * H], w1[E * F * H], w2[E * H * F];
    hpc_test_draw(x, T * H, 1, 1);
    hpc_test_draw(w1, E * F * H, 3, 0.3);
    hpc_test_draw(w2, E * H * F, 4, 0.3);
    for (int t = 0; t < T; t++) {
        double h[F] = {0};
        for (int c = 0; c < H; c++) y[t * H + c] = 0;
        if (group[t] < 0) continue;
        for (int f = 0; f < F; f++) {
            for (int c = 0; c < H; c++) h[f] += x[t * H + c] * w1[(group[t] * F + f) * H + c];
            h[f] = gelu(h[f]);
        }
        for (int c = 0; c < H; c++)
            for (int f = 0; f < F; f++) y[t * H + c] += h[f] * w2[(group[t] * H + c) * F + f];
    }
}

static void make_groups(int32_t *group, int split)
{
    for (int t = 0; t < T; t++) group[t] = (5 * t + 3) % T < split ? 0 : 1;
    if (split == 7) group[4] = -1;
}

static void counts_vary(const char *backend, int threads, hpc_dtype dtype, double bound)
{
    hpc_device *d;
    routed r = emit(dtype);
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = backend, .threads = threads}));
    hpc_exec *e = start(&r, d);
    for (int split = 0; split <= T; split += 7) { /* 0, 7 and 14 of 14 */
        int32_t group[T];
        double y[T * H], want[T * H], count[E];
        make_groups(group, split);
        hpc_test_write_i32(e, 0, r.group, group);
        test_ok(hpc_exec_run(e, 0, 0));
        hpc_test_read(e, 0, r.y, y);
        hpc_test_read(e, 0, r.count, count);
        by_hand(group, want);
        assert_true(hpc_test_error(y, want, T * H) < bound);
        assert_int_equal(count[0], split == 7 ? 7 - (int)(23 % T < 7) : split);
    }
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(r.p);
}

static double objective(hpc_exec *e, const routed *r)
{
    double y[T * H], dy[T * H], sum = 0;
    test_ok(hpc_exec_run(e, 0, 0));
    hpc_test_read(e, 0, r->y, y);
    hpc_test_draw(dy, T * H, 2, 1);
    for (int i = 0; i < T * H; i++) sum += y[i] * dy[i];
    return sum;
}

/* Some elements of `v` against central differences. */
static void check_gradient(hpc_exec *e, const routed *r, hpc_value v, uint32_t seed, double scale,
                           const double *grad)
{
    static double x[E * F * H];
    int64_t n = hpc_test_n(r->p, v);
    const double h = 1e-5;
    hpc_test_draw(x, n, seed, scale);
    for (int64_t i = 0; i < n; i += 7) {
        double keep = x[i], side[2];
        for (int k = 0; k < 2; k++) {
            x[i] = keep + (k ? -h : h);
            hpc_test_write(e, 0, v, x);
            side[k] = objective(e, r);
        }
        x[i] = keep;
        double want = (side[0] - side[1]) / (2 * h);
        assert_true(hpc_test_error(&grad[i], &want, 1) < 1e-8);
    }
    hpc_test_write(e, 0, v, x);
}

static void gradients(const char *backend)
{
    static double dx[T * H], dw1[E * F * H], dw2[E * H * F];
    hpc_device *d;
    routed r = emit(HPC_F64);
    int32_t group[T];
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = backend, .threads = 2}));
    hpc_exec *e = start(&r, d);
    make_groups(group, 7);
    hpc_test_write_i32(e, 0, r.group, group);
    test_ok(hpc_exec_run(e, 0, 0));
    test_ok(hpc_exec_run(e, 1, 0));
    hpc_test_read(e, 0, r.dx, dx);
    hpc_test_read(e, 0, r.p->value[r.w1].grad, dw1);
    hpc_test_read(e, 0, r.p->value[r.w2].grad, dw2);
    for (int c = 0; c < H; c++) assert_true(dx[4 * H + c] == 0); /* token 4 goes nowhere */
    check_gradient(e, &r, r.x, 1, 1, dx);
    check_gradient(e, &r, r.w1, 3, 0.3, dw1);
    check_gradient(e, &r, r.w2, 4, 0.3, dw2);
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(r.p);
}

static void counts_on_cpu(void **state)
{
    (void)state, counts_vary("cpu", 2, HPC_F32, 2e-6);
}
static void counts_on_mock(void **state)
{
    (void)state, counts_vary("mock", 1, HPC_F32, 2e-6);
}
static void counts_in_f64(void **state)
{
    (void)state, counts_vary("cpu", 2, HPC_F64, 1e-7);
}
static void gradients_on_cpu(void **state)
{
    (void)state, gradients("cpu");
}
static void gradients_on_mock(void **state)
{
    (void)state, gradients("mock");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_on_cpu), cmocka_unit_test(counts_on_mock),
        cmocka_unit_test(counts_in_f64), cmocka_unit_test(gradients_on_cpu),
        cmocka_unit_test(gradients_on_mock)};
    return cmocka_run_group_tests_name("program/freeze_count", tests, NULL, NULL);
}
