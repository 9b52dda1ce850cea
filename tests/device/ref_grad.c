/*
 * ref_grad.c: every gradient of the reference compared with central differences of its forward
 * kernel, for the scalar sum(weight * output); equal bits of both for any number of workers.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/device/small.h"

enum { MOST = 512 };

/* Doubles that look random and are the same in every run. */
static void fill(double *x, int64_t n, uint32_t tensor)
{
    float draw[MOST];
    assert_true(n <= MOST);
    hpc_random_fill_normal(draw, n, 99, tensor, 0, 0);
    for (int64_t i = 0; i < n; i++) x[i] = (double)draw[i];
}

static double inner(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* dx[i] against the fourth-order difference of `loss` as x[i] moves, to 1e-8 of the largest. */
static void check(const char *what, double (*loss)(const void *), const void *args, double *x,
                  const double *dx, int64_t n)
{
    const double h = 1e-3;
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(dx[i]));
    assert_true(most > 0);
    for (int64_t i = 0; i < n; i++) {
        double at = x[i], f[4];
        const double step[] = {-2, -1, 1, 2};
        for (int k = 0; k < 4; k++) {
            x[i] = at + step[k] * h;
            f[k] = loss(args);
        }
        x[i] = at;
        double want = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
        if (fabs(dx[i] - want) > 1e-8 * fmax(1, most)) {
            fail_msg("%s[%lld] is %.12g, differences say %.12g", what, (long long)i, dx[i], want);
        }
    }
}

/* ---- norms ---------------------------------------------------------------------- */

enum { ROWS = 4, COLS = 6 };
static double weight[MOST]; /* of the scalar, read by every loss below */

static double norm_loss(const void *args)
{
    const hpc_norm_args *g = args;
    REF(norm, g);
    int64_t live = hpc_tensor_live(&g->x, 0);
    return inner(g->y.data, weight, live * COLS);
}

static void norm_grads(void **state)
{
    (void)state;
    const int32_t three = 3;
    for (int kind = HPC_RMS; kind <= HPC_LAYER; kind++) {
        double x[24], w[6], b[6], y[24], stats[8], dx[24], dw[6], db[6];
        fill(x, 24, 1), fill(w, 6, 2), fill(b, 6, 3), fill(weight, 24, 4);
        hpc_norm_args f = {.y = f64_of(y, ROWS, COLS, 0),
                           .stats = f64_of(stats, ROWS, 2, 0),
                           .x = ragged(f64_of(x, ROWS, COLS, 0), 0, &three),
                           .w = f64_of(w, COLS, 0, 0),
                           .b = f64_of(b, COLS, 0, 0),
                           .attr = {kind, 0.1}};
        norm_loss(&f);
        for (int64_t c = 0; c < COLS; c++) dw[c] = 0, db[c] = 10;
        hpc_norm_grad_args g = {.dx = f64_of(dx, ROWS, COLS, 0),
                                .dw = f64_of(dw, COLS, 0, 0),
                                .db = adding(f64_of(db, COLS, 0, 0)),
                                .dy = f64_of(weight, ROWS, COLS, 0),
                                .x = f.x,
                                .stats = f.stats,
                                .w = f.w,
                                .attr = f.attr};
        REF(norm_grad, &g);
        for (int64_t c = 0; c < COLS; c++) db[c] -= 10;
        check("dx", norm_loss, &f, x, dx, 18);
        check("dw", norm_loss, &f, w, dw, 6);
        check("db", norm_loss, &f, b, db, 6);
        g.w = f.w = absent, g.dw = g.db = absent;
        norm_loss(&f);
        REF(norm_grad, &g);
        check("dx without w", norm_loss, &f, x, dx, 18);
    }
}

/* ---- rope ------------------------------------------------------------------------ */

static double rope_loss(const void *args)
{
    const hpc_rope_args *g = args;
    REF(rope, g);
    return inner(g->y.data, weight, hpc_tensor_n(&g->y));
}

static void rope_grads(void **state)
{
    (void)state;
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        double x[30], y[30], dx[30];
        const double freq[] = {1, 0.1};
        const int32_t pos[] = {0, 3, 17};
        fill(x, 30, 1), fill(weight, 30, 2);
        hpc_rope_args f = {.y = f64_of(y, 3, 2, 5),
                           .x = f64_of(x, 3, 2, 5),
                           .pos = i32_of(pos, 3, 0),
                           .freq = f64_of(freq, 2, 0, 0),
                           .attr = {.interleaved = interleaved, .scale = 1.25}};
        hpc_rope_args g = f;
        g.y = f64_of(dx, 3, 2, 5), g.x = f64_of(weight, 3, 2, 5), g.attr.inverse = true;
        REF(rope, &g);
        check("dx", rope_loss, &f, x, dx, 30);
    }
}

/* ---- attention --------------------------------------------------------------------- */

static double attention_loss(const void *args)
{
    const hpc_attention_args *g = args;
    REF(attention, g);
    return inner(g->o.data, weight, hpc_tensor_live(&g->q, 0) * 4 * 3);
}

/* Eight rows in sequences of 3, 1 and 3, the last row dead; four heads on two. */
static void attention_case(bool causal, int64_t window)
{
    enum { T = 8, HQ = 4, HKV = 2, D = 3 };
    double q[T * HQ * D], k[T * HKV * D], v[T * HKV * D], o[T * HQ * D], lse[T * HQ];
    double dq[T * HQ * D], dk[T * HKV * D], dv[T * HKV * D];
    const int32_t start[] = {0, 3, 4, 7}, rows = 7;
    fill(q, T * HQ * D, 1), fill(k, T * HKV * D, 2), fill(v, T * HKV * D, 3);
    fill(weight, T * HQ * D, 4);
    hpc_attention_args f = {.o = f64_of(o, T, HQ, D),
                            .lse = f64_of(lse, T, HQ, 0),
                            .q = ragged(f64_of(q, T, HQ, D), 0, &rows),
                            .k = ragged(f64_of(k, T, HKV, D), 0, &rows),
                            .v = ragged(f64_of(v, T, HKV, D), 0, &rows),
                            .start = i32_of(start, 4, 0),
                            .len = absent,
                            .pages = absent,
                            .attr = {.scale = 0.6, .causal = causal, .window = window}};
    attention_loss(&f);
    hpc_attention_grad_args g = {.dq = f64_of(dq, T, HQ, D),
                                 .dk = f64_of(dk, T, HKV, D),
                                 .dv = f64_of(dv, T, HKV, D),
                                 .dout = f64_of(weight, T, HQ, D),
                                 .q = f.q,
                                 .k = f.k,
                                 .v = f.v,
                                 .o = f.o,
                                 .lse = f.lse,
                                 .start = f.start,
                                 .attr = f.attr};
    REF(attention_grad, &g);
    check("dq", attention_loss, &f, q, dq, 7 * HQ * D);
    check("dk", attention_loss, &f, k, dk, 7 * HKV * D);
    check("dv", attention_loss, &f, v, dv, 7 * HKV * D);
}

static void attention_grads(void **state)
{
    (void)state;
    attention_case(false, 0);
    attention_case(true, 0);
    attention_case(true, 2);
    attention_case(false, 2);
}

/* ---- activations --------------------------------------------------------------------- */

static double act_loss(const void *args)
{
    const hpc_act_args *g = args;
    REF(act, g);
    return inner(g->y.data, weight, 30);
}

static double glu_loss(const void *args)
{
    const hpc_glu_args *g = args;
    REF(glu, g);
    return inner(g->y.data, weight, 30);
}

static void act_grads(void **state)
{
    (void)state;
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++) {
        double x[30], up[30], y[30], dx[30], dup[30];
        fill(x, 30, 1), fill(up, 30, 2), fill(weight, 30, 3);
        for (int i = 0; i < 30; i++) x[i] += x[i] > 0 ? 0.01 : -0.01; /* off the kink at 0 */
        hpc_act_args f = {.y = f64_of(y, 5, 6, 0), .x = f64_of(x, 5, 6, 0), .attr = {act}};
        hpc_act_grad_args g = {
            .dx = f64_of(dx, 5, 6, 0), .dy = f64_of(weight, 5, 6, 0), .x = f.x, .attr = {act}};
        REF(act_grad, &g);
        check("act dx", act_loss, &f, x, dx, 30);
        hpc_glu_args u = {.y = f.y, .gate = f.x, .up = f64_of(up, 5, 6, 0), .attr = {act}};
        hpc_glu_grad_args v = {.dgate = g.dx,
                               .dup = f64_of(dup, 5, 6, 0),
                               .dy = g.dy,
                               .gate = f.x,
                               .up = u.up,
                               .attr = {act}};
        REF(glu_grad, &v);
        check("dgate", glu_loss, &u, x, dx, 30);
        check("dup", glu_loss, &u, up, dup, 30);
    }
}

/* ---- head and loss --------------------------------------------------------------------- */

static double head_loss(const void *args)
{
    const hpc_head_loss_args *g = args;
    REF(head_loss, g);
    return inner(g->loss.data, weight, 4);
}

static void head_loss_grads(void **state)
{
    (void)state;
    enum { T = 5, H = 3, V = 7 };
    double x[T * H], w[V * H], loss[T], lse[T], dx[T * H], dw[V * H];
    const int32_t target[] = {3, -1, 6, 0, 99}, four = 4; /* the fifth row is dead */
    fill(x, T * H, 1), fill(w, V * H, 2), fill(weight, T, 3);
    hpc_head_loss_args f = {.loss = f64_of(loss, T, 0, 0),
                            .lse = f64_of(lse, T, 0, 0),
                            .x = ragged(f64_of(x, T, H, 0), 0, &four),
                            .w = f64_of(w, V, H, 0),
                            .target = i32_of(target, T, 0)};
    head_loss(&f);
    for (int i = 0; i < V * H; i++) dw[i] = 5;
    hpc_head_loss_grad_args g = {.loss = absent,
                                 .dx = f64_of(dx, T, H, 0),
                                 .dw = adding(f64_of(dw, V, H, 0)),
                                 .dloss = f64_of(weight, T, 0, 0),
                                 .lse = f.lse,
                                 .x = f.x,
                                 .w = f.w,
                                 .target = f.target};
    REF(head_loss_grad, &g);
    for (int i = 0; i < V * H; i++) dw[i] -= 5;
    check("dx", head_loss, &f, x, dx, 4 * H);
    check("dw", head_loss, &f, w, dw, V * H);
    for (int e = 0; e < H; e++) assert_true(dx[H + e] == 0); /* the ignored row */
    g.dx = absent;
    REF(head_loss_grad, &g);
    int rc;
    g.x.ragged = -1;
    RUN_REF(rc, head_loss_grad, &g, 1);
    assert_error(rc, HPC_E_ARG, "head_loss: target 99 of row 4; the head has 7 rows");
}

/* ---- workers ------------------------------------------------------------------------------ */

static void same_bits(void **state)
{
    (void)state;
    enum { T = 7, H = 33 };
    double x[T * H], dy[T * H], stats[T * 2], y[2][T * H], dx[2][T * H], dw[2][H], sum[2];
    const int workers[] = {1, 16};
    fill(x, T * H, 1), fill(dy, T * H, 2);
    for (int k = 0; k < 2; k++) {
        int rc;
        hpc_norm_args f = {.y = f64_of(y[k], T, H, 0),
                           .stats = f64_of(stats, T, 2, 0),
                           .x = f64_of(x, T, H, 0),
                           .w = absent,
                           .b = absent,
                           .attr = {HPC_LAYER, 0}};
        hpc_norm_grad_args g = {.dx = f64_of(dx[k], T, H, 0),
                                .dw = f64_of(dw[k], H, 0, 0),
                                .db = absent,
                                .dy = f64_of(dy, T, H, 0),
                                .x = f.x,
                                .stats = f.stats,
                                .w = absent,
                                .attr = f.attr};
        hpc_reduce_args r = {
            .y = f64_of(&sum[k], 0, 0, 0), .x = f.x, .attr = {HPC_SUMSQ, HPC_OVER_ALL}};
        RUN_REF(rc, norm, &f, workers[k]);
        assert_int_equal(rc, 0);
        RUN_REF(rc, norm_grad, &g, workers[k]);
        assert_int_equal(rc, 0);
        RUN_REF(rc, reduce, &r, workers[k]);
        assert_int_equal(rc, 0);
    }
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    assert_memory_equal(dx[0], dx[1], sizeof dx[0]);
    assert_memory_equal(dw[0], dw[1], sizeof dw[0]);
    assert_memory_equal(&sum[0], &sum[1], sizeof sum[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norm_grads),      cmocka_unit_test(rope_grads),
        cmocka_unit_test(attention_grads), cmocka_unit_test(act_grads),
        cmocka_unit_test(head_loss_grads), cmocka_unit_test(same_bits),
    };
    return cmocka_run_group_tests_name("device/ref_grad", tests, NULL, NULL);
}
