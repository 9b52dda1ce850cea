/*
 * optimizer.c: preconditioned updates of single matrices, in f64 and f32: Jorge's closed forms,
 * grafting, and the cost of a refresh.
 *
 * tests/torch/ compares SGD and AdamW with PyTorch; tests/train/run.c trains whole models.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/train/lab.h"

/* ---- closed forms ------------------------------------------------------------------------- */

/* A constant 1 x 1 gradient: L sqrt|g|, L^4 g^2 and beta2 go to their fixed points. */
static void one_by_one(void **state)
{
    static const double gs[] = {3, -0.02, 1};
    (void)state;
    for (int k = 0; k < 3; k++) {
        lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
        l.o.kind = HPC_OPT_JORGE;
        l.o.start = 1e-4;
        double g = gs[k], root;
        open_lab(&l, 1, 1, true);
        for (int i = 0; i < 400; i++) refresh(&l, &g);
        read_state(&l, "precondition.l.w", &root);
        double n = pow(root, 4) * g * g;
        assert_true(fabs(root * sqrt(fabs(g)) - 1.19982) < 5e-6);
        assert_true(fabs(n - 2.07235) < 5e-6);
        assert_true(fabs(n / (1 + n) - 0.67452) < 5e-6);
        close_lab(&l);
    }
}

/* r equal singular values: (n+1)/n = (1 - 1/(4 sqrt r) + 5/(32 r))^-4. */
static void equal_directions(void **state)
{
    static const int rank[] = {4, 16, 64};
    static const double beta2[] = {0.698, 0.805, 0.890};
    static double g[64 * 64], root[64 * 64];
    (void)state;
    for (int k = 0; k < 3; k++) {
        int r = rank[k];
        lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
        l.o.kind = HPC_OPT_JORGE;
        memset(g, 0, sizeof g);
        for (int i = 0; i < r; i++) g[i * r + (i + 1) % r] = 0.7; /* orthogonal, times 0.7 */
        open_lab(&l, r, r, true);
        for (int i = 0; i < 300; i++) refresh(&l, g);
        read_state(&l, "precondition.r.w", root);
        double n = pow(root[0], 4) * 0.49 * sqrt(r);
        assert_true(fabs(n / (1 + n) - beta2[k]) < 5e-4);
        double s = 1 / sqrt(r), q = 1 - s / 4 + 5 * s * s / 32;
        assert_true(fabs((n + 1) / n - pow(q, -4)) < 1e-6);
        close_lab(&l);
    }
}

/* With X = 1 and a given beta2 the exact result is 1: the error of the series up to s = 1. */
static void error_of_the_series(void **state)
{
    double worst = 0, at_one = 0, g = 1, root;
    (void)state;
    for (int k = 0; k <= 20; k++) {
        double s = fmax(k / 20.0, 1e-3);
        lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
        l.o.kind = HPC_OPT_JORGE;
        l.o.start = 1;
        l.o.floor = 1 / (1 + s);
        open_lab(&l, 1, 1, true);
        refresh(&l, &g);
        read_state(&l, "precondition.l.w", &root);
        worst = fmax(worst, fabs(root - 1));
        if (k == 20) at_one = fabs(root - 1);
        close_lab(&l);
    }
    assert_true(fabs(at_one - 0.0777) < 5e-5);
    assert_true(worst == at_one);
}

/* ---- symmetry and invariance --------------------------------------------------------- */

/* A product of Householder reflections. */
static void draw_orthogonal(double *q, int n, uint32_t seed)
{
    double v[16];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) q[i * n + j] = i == j;
    for (int k = 0; k < 3; k++) {
        double size = 0;
        hpc_test_draw(v, n, seed + (uint32_t)k, 1);
        for (int i = 0; i < n; i++) size += v[i] * v[i];
        for (int j = 0; j < n; j++) {
            double dot = 0;
            for (int i = 0; i < n; i++) dot += v[i] * q[i * n + j];
            for (int i = 0; i < n; i++) q[i * n + j] -= 2 * dot / size * v[i];
        }
    }
}

/* G -> U G V^T gives L -> U L U^T and R -> V R V^T. */
static void turns_with_the_gradient(void **state)
{
    enum { M = 6, N = 9 };
    static const int kinds[] = {HPC_OPT_JORGE, HPC_OPT_JORGE_SYMMETRIC, HPC_OPT_JORGE_NEWTON,
                                HPC_OPT_SHAMPOO};
    double u[M * M], v[N * N], g[M * N], t[N * N], turned[M * N], a[N * N], b[N * N], want[N * N];
    (void)state;
    draw_orthogonal(u, M, 10);
    draw_orthogonal(v, N, 20);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        lab plain = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS}, other = plain;
        plain.o.kind = other.o.kind = kinds[k];
        open_lab(&plain, M, N, true);
        open_lab(&other, M, N, true);
        for (uint32_t i = 0; i < 5; i++) {
            hpc_test_draw(g, M * N, 30 + i, 0.5);
            times(t, u, false, g, false, M, M, N);
            times(turned, t, false, v, true, M, N, N);
            refresh(&plain, g);
            refresh(&other, turned);
        }
        read_state(&plain, "precondition.l.w", a);
        read_state(&other, "precondition.l.w", b);
        times(t, u, false, a, false, M, M, M);
        times(want, t, false, u, true, M, M, M);
        assert_true(hpc_test_error(b, want, M * M) < 1e-9);
        read_state(&plain, "precondition.r.w", a);
        read_state(&other, "precondition.r.w", b);
        times(t, v, false, a, false, N, N, N);
        times(want, t, false, v, true, N, N, N);
        assert_true(hpc_test_error(b, want, N * N) < 1e-9);
        close_lab(&plain);
        close_lab(&other);
    }
}

/* The published form loses its symmetry, the symmetric one does not. */
static void asymmetry(void **state)
{
    enum { M = 6, N = 9, REFRESHES = 200 };
    double g[M * N], root[M * M], share[2];
    (void)state;
    for (int k = 0; k < 2; k++) {
        lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
        double odd = 0, all = 0;
        l.o.kind = k ? HPC_OPT_JORGE_SYMMETRIC : HPC_OPT_JORGE;
        open_lab(&l, M, N, true);
        for (uint32_t i = 0; i < REFRESHES; i++) {
            hpc_test_draw(g, M * N, i, 1);
            refresh(&l, g);
        }
        read_state(&l, "precondition.l.w", root);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < M; j++) {
                odd += pow(root[i * M + j] - root[j * M + i], 2);
                all += pow(root[i * M + j], 2);
            }
        share[k] = sqrt(odd / all);
        close_lab(&l);
    }
    assert_true(share[0] > 0.02 && share[0] < 0.4);
    assert_true(share[1] < 1e-12);
}

/* ---- updates ------------------------------------------------------------ */

static double norm_of(const double *x, const double *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += pow(x[i] - (y ? y[i] : 0), 2);
    return sqrt(sum);
}

/* The step has the grafting optimizer's norm, and roots are the same bits between refreshes. */
static void grafted_norm(void **state)
{
    enum { M = 24, N = 36, STEPS = 4 };
    static double w[M * N], before[M * N], mom[M * N], g[M * N], a[M * N], b[M * N];
    const char *root = "precondition.l.w"; /* of the shorter side */
    (void)state;
    for (int kind = HPC_OPT_SHAMPOO; kind < HPC_OPT_N; kind++) {
        if (kind == HPC_OPT_SOAP) continue; /* an Adam of its own */
        lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
        l.o.kind = kind;
        l.o.graft = HPC_GRAFT_SGD;
        l.o.decay = 0;
        l.o.block = 12;
        open_lab(&l, M, N, true);
        memset(w, 0, sizeof w);
        memset(mom, 0, sizeof mom);
        for (uint32_t k = 0; k < STEPS; k++) {
            hpc_test_draw(g, M * N, 7 + k, 1);
            if (k == 0) refresh(&l, g);
            hpc_test_write(l.e, 0, l.t.grad, g);
            read_state(&l, root, a);
            memcpy(before, w, sizeof w);
            test_ok(hpc_exec_run(l.e, l.update, 0));
            hpc_test_read(l.e, 0, l.t.param, w);
            for (int i = 0; i < M * N; i++) mom[i] = 0.9 * mom[i] + g[i];
            double want = 0.1 * norm_of(mom, NULL, M * N), have = norm_of(w, before, M * N);
            assert_true(fabs(have / want - 1) < 1e-6);
            read_state(&l, root, b);
            assert_memory_equal(a, b, sizeof a);
        }
        close_lab(&l);
    }
}

/* An update of a matrix in blocks is that of the blocks alone, but for the graft's norm. */
static void blocks_are_apart(void **state)
{
    enum { B = 8, M = 2 * B, N = 3 * B };
    static double whole[M * N], part[B * B], g[M * N], block[B * B];
    (void)state;
    lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
    l.o.kind = HPC_OPT_JORGE_NEWTON;
    l.o.block = B;
    l.o.decay = 0;
    open_lab(&l, M, N, true);
    hpc_test_draw(g, M * N, 3, 1);
    refresh(&l, g);
    test_ok(hpc_exec_run(l.e, l.update, 0));
    hpc_test_read(l.e, 0, l.t.param, whole);
    for (int r = 0; r < M / B; r++)
        for (int c = 0; c < N / B; c++) {
            lab one = {.o = l.o};
            double dot = 0, x = 0, y = 0;
            open_lab(&one, B, B, true);
            for (int i = 0; i < B * B; i++) block[i] = g[(r * B + i / B) * N + c * B + i % B];
            refresh(&one, block);
            test_ok(hpc_exec_run(one.e, one.update, 0));
            hpc_test_read(one.e, 0, one.t.param, part);
            for (int i = 0; i < B * B; i++) {
                double z = whole[(r * B + i / B) * N + c * B + i % B];
                dot += part[i] * z, x += part[i] * part[i], y += z * z;
            }
            assert_true(fabs(dot / sqrt(x * y) - 1) < 1e-9);
            close_lab(&one);
        }
    close_lab(&l);
}

/* A batch of matrices is updated like each of them alone: bit for bit, with blocks or without. */
static void batches_are_apart(void **state)
{
    enum { E = 3, M = 16, N = 24, STEPS = 2 };
    static double all[E * M * N], one[M * N], g[STEPS][E * M * N];
    (void)state;
    for (int k = 0; k < STEPS; k++) hpc_test_draw(g[k], E * M * N, 3 + (uint32_t)k, 1);
    for (int v = 0; v < 2 * (HPC_OPT_N - HPC_OPT_MUON); v++) {
        lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
        l.o.kind = HPC_OPT_MUON + v / 2;
        hpc_optimizer_usual(&l.o);
        if (l.o.kind == HPC_OPT_MUON) l.o.even = 0.9;
        l.o.block = v % 2 ? 8 : 64;
        lab whole = {.o = l.o};
        open_batch(&whole, E, M, N, true);
        for (int k = 0; k < STEPS; k++) {
            refresh(&whole, g[k]);
            test_ok(hpc_exec_run(whole.e, whole.update, 0));
        }
        hpc_test_read(whole.e, 0, whole.t.param, all);
        close_lab(&whole);
        for (int e = 0; e < E; e++) {
            lab alone = {.o = l.o};
            open_lab(&alone, M, N, true);
            for (int k = 0; k < STEPS; k++) {
                refresh(&alone, g[k] + e * M * N);
                test_ok(hpc_exec_run(alone.e, alone.update, 0));
            }
            hpc_test_read(alone.e, 0, alone.t.param, one);
            assert_memory_equal(one, all + e * M * N, sizeof one);
            close_lab(&alone);
        }
    }
}

/* Muon's step is nearly orthogonal: its singular values lie within what its coefficients leave. */
static void muon_is_orthogonal(void **state)
{
    static const int shape[][2] = {{12, 20}, {20, 12}, {16, 16}};
    static double w[400], g[400], gram[400];
    (void)state;
    for (int k = 0; k < 3; k++) {
        int m = shape[k][0], n = shape[k][1], s = m < n ? m : n;
        lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
        double scale = 0.1 * 0.2 * sqrt(m > n ? m : n), trace = 0;
        l.o.kind = HPC_OPT_MUON;
        l.o.decay = 0;
        open_lab(&l, m, n, true);
        hpc_test_draw(g, m * n, 9, 1);
        hpc_test_write(l.e, 0, l.t.grad, g);
        test_ok(hpc_exec_run(l.e, l.update, 0));
        hpc_test_read(l.e, 0, l.t.param, w);
        times(gram, w, m >= n, w, m < n, s, m < n ? n : m, s);
        for (int i = 0; i < s; i++) trace += gram[i * (s + 1)] / (scale * scale);
        assert_true(trace / s > 0.7 && trace / s < 1.2);
        double dot = 0;
        for (int i = 0; i < m * n; i++) dot -= w[i] * g[i];
        assert_true(dot > 0); /* downhill */
        close_lab(&l);
    }
}

/* The root of a gradient's own gram matrix, on its shorter side alone, makes it orthogonal, as Muon
 * would, and exactly so. */
static void orthogonal_momentum(void **state)
{
    static const int shape[][2] = {{12, 20}, {20, 12}};
    static double w[240], g[240], gram[400];
    (void)state;
    for (int k = 0; k < 2; k++) {
        int m = shape[k][0], n = shape[k][1], s = m < n ? m : n;
        lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
        l.o.kind = HPC_OPT_JORGE_MOMENTUM;
        l.o.graft = HPC_GRAFT_SGD;
        l.o.decay = 0, l.o.average = 0, l.o.ridge = 1e-9, l.o.newton = 5;
        open_lab(&l, m, n, true);
        assert_true(hpc_program_find(l.p, m < n ? "precondition.r.w" : "precondition.l.w") < 0);
        hpc_test_draw(g, m * n, 9, 1);
        refresh(&l, g);
        test_ok(hpc_exec_run(l.e, l.update, 0));
        hpc_test_read(l.e, 0, l.t.param, w);
        double size = 0.1 * norm_of(g, NULL, m * n);
        times(gram, w, m > n, w, m < n, s, m < n ? n : m, s);
        for (int i = 0; i < s * s; i++)
            assert_true(fabs(gram[i] / (size * size) - (i % (s + 1) ? 0 : 1.0 / s)) < 1e-5);
        close_lab(&l);
    }
}

/* Sums of squares of rows or columns: the largest over the least. */
static double unevenness(const double *w, int m, int n, bool rows)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < (rows ? m : n); i++) {
        double sum = 0;
        for (int j = 0; j < (rows ? n : m); j++) sum += pow(w[rows ? i * n + j : j * n + i], 2);
        least = fmin(least, sum), most = fmax(most, sum);
    }
    return most / least;
}

/* Columns of a first step are even, its rows nearly so, and it is as large as it should be; columns
 * that were large before are smaller in the next. */
static void evened_steps(void **state)
{
    static const int shape[][2] = {{12, 20}, {20, 12}, {16, 16}};
    static double w[400], g[400], second[400];
    (void)state;
    for (int k = 0; k < 6; k++) {
        int m = shape[k / 2][0], n = shape[k / 2][1];
        double size = 0.1 * 0.2 * sqrt((double)(m * n));
        lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
        l.o.kind = k % 2 ? HPC_OPT_MUON : HPC_OPT_JORGE_MOMENTUM;
        hpc_optimizer_usual(&l.o);
        l.o.decay = l.o.momentum = l.o.average = 0;
        l.o.even = 0.9;
        open_lab(&l, m, n, true);
        hpc_test_draw(g, m * n, 9, 1);
        for (int i = 0; i < m * n; i++) g[i] *= 1 + (double)(m >= n ? i / n : i % n);
        refresh(&l, g);
        test_ok(hpc_exec_run(l.e, l.update, 0));
        hpc_test_read(l.e, 0, l.t.param, w);
        assert_true(fabs(unevenness(w, m, n, false) - 1) < 1e-9 && unevenness(w, m, n, true) < 1.5);
        if (l.o.kind == HPC_OPT_MUON) assert_true(fabs(norm_of(w, NULL, m * n) / size - 1) < 1e-9);
        for (int i = 0; i < m * n; i++) g[i] /= 1 + (double)(m >= n ? i / n : i % n);
        refresh(&l, g);
        test_ok(hpc_exec_run(l.e, l.update, 0));
        hpc_test_read(l.e, 0, l.t.param, second);
        for (int i = 0; i < m * n; i++) second[i] -= w[i];
        /* Orthogonal squares are even. */
        assert_true(m == n || unevenness(second, m, n, m > n) > 1.2);
        close_lab(&l);
    }
}

/* In the eigenbasis of one gradient SOAP's first step is that of Adam there: of equal sizes. */
static void soap_in_its_basis(void **state)
{
    enum { M = 8, N = 12 };
    static double w[M * N], g[M * N], left[M * M], right[N * N], t[M * N], turned[M * N];
    (void)state;
    lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
    l.o.kind = HPC_OPT_SOAP;
    l.o.decay = 0;
    open_lab(&l, M, N, true);
    hpc_test_draw(g, M * N, 2, 1);
    refresh(&l, g);
    test_ok(hpc_exec_run(l.e, l.update, 0));
    hpc_test_read(l.e, 0, l.t.param, w);
    read_state(&l, "precondition.l.w", left);
    read_state(&l, "precondition.r.w", right);
    times(t, left, false, w, false, M, M, N);
    times(turned, t, false, right, true, M, N, N);
    /* G is diagonal there: M entries of -lr sign(g), and what rounding makes of the others. */
    int full = 0;
    for (int i = 0; i < M * N; i++) full += fabs(fabs(turned[i]) - 0.1) < 1e-6;
    assert_true(full >= M);
    close_lab(&l);
}

/* Squares along old vectors are shared out to the new ones; none is lost. */
static void soap_moments_go_along(void **state)
{
    enum { M = 8, N = 12 };
    static double g[M * N], before[M * N], after[M * N], t[M * N], want[M * N];
    static double left[2][M * M], right[2][N * N], by_left[M * M], by_right[N * N];
    double sum[2] = {0, 0}, moved = 0;
    (void)state;
    lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
    l.o.kind = HPC_OPT_SOAP;
    open_lab(&l, M, N, true);
    for (int k = 0; k < 2; k++) {
        hpc_test_draw(g, M * N, 20 + (uint64_t)k, 1);
        refresh(&l, g);
        read_state(&l, "soap.v.w", after);
        read_state(&l, "precondition.l.w", left[k]);
        read_state(&l, "precondition.r.w", right[k]);
        if (k == 1) break;
        test_ok(hpc_exec_run(l.e, l.update, 0));
        read_state(&l, "soap.v.w", before);
    }
    times(by_left, left[1], false, left[0], true, M, M, M);
    times(by_right, right[1], false, right[0], true, N, N, N);
    for (int i = 0; i < M * M; i++) by_left[i] *= by_left[i];
    for (int i = 0; i < N * N; i++) by_right[i] *= by_right[i];
    times(t, by_left, false, before, false, M, M, N);
    times(want, t, false, by_right, true, M, N, N);
    for (int i = 0; i < M * N; i++) {
        sum[0] += before[i], sum[1] += after[i];
        assert_true(fabs(after[i] - want[i]) < 1e-12);
        moved = fmax(moved, fabs(after[i] - before[i]));
    }
    assert_true(sum[0] > 0.01 && fabs(sum[1] / sum[0] - 1) < 1e-9 && moved > 0.001);
    close_lab(&l);
}

/* ---- counts ------------------------------------------------------------ */

static double products(const lab *l, int segment)
{
    double sum = 0;
    const hpc_segment *s = &l->p->segment[segment];
    for (int64_t k = 0; k < s->insn_n; k++)
        if (s->insn[k].op == &hpc_op_matmul || s->insn[k].op == &hpc_op_eigh)
            sum += hpc_insn_cost(l->p, &s->insn[k]).flops;
    return sum;
}

static double state_bytes(const lab *l)
{
    double sum = 0;
    for (hpc_value v = 0; v < l->p->value_n; v++)
        if (l->p->value[v].kind == HPC_VALUE_STATE && v != l->t.param)
            sum += (double)hpc_type_bytes(&l->p->value[v].type);
    return sum;
}

static void counted_by_formula(void **state)
{
    static const int64_t shape[][2] = {{64, 64}, {96, 64}, {32, 96}, {31, 64}};
    (void)state;
    for (int kind = HPC_OPT_MUON; kind < HPC_OPT_N; kind++)
        for (int k = 0; k < 4; k++)
            for (int graft = 0; graft < 2; graft++) {
                lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
                int64_t m = shape[k][0], n = shape[k][1];
                l.o.kind = kind, l.o.block = 32, l.o.graft = graft;
                l.o.even = graft ? 0.95 : 0;
                open_lab(&l, m, n, false);
                hpc_optimizer_cost c = hpc_optimizer_cost_of(&l.o, m, n);
                assert_true(products(&l, l.update) == c.apply);
                assert_true(products(&l, l.refresh) == c.refresh);
                assert_true(state_bytes(&l) == c.state_bytes);
                close_lab(&l);
            }
    /* Jorge on square blocks: its paper counts 4 b of application and 24 b of refresh a parameter,
     * 2 b of these for each gram matrix, which is symmetric: b + 1. 16 bytes of state a parameter
     * with SGD's graft. */
    hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    o.kind = HPC_OPT_JORGE, o.block = 32, o.graft = HPC_GRAFT_SGD;
    hpc_optimizer_cost c = hpc_optimizer_cost_of(&o, 64, 96);
    assert_true(c.apply == 4.0 * 32 * 64 * 96 && c.refresh == (24.0 * 32 - 2 * 31) * 64 * 96);
    assert_true(c.state_bytes == 16.0 * 64 * 96);
}

static void block_sizes(void **state)
{
    (void)state;
    assert_int_equal(hpc_optimizer_block(256, 256), 256);
    assert_int_equal(hpc_optimizer_block(704, 256), 176);
    assert_int_equal(hpc_optimizer_block(704, 128), 88);
    assert_int_equal(hpc_optimizer_block(100, 256), 100);
    assert_int_equal(hpc_optimizer_block(1031, 256), 1031); /* prime: whole */
    assert_int_equal(hpc_optimizer_block(8209, 256), 0);    /* prime and long: left alone */
}

static void settings_from_sgd(void **state)
{
    hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    (void)state;
    o.kind = HPC_OPT_JORGE;
    o.decay = 1e-4;
    hpc_optimizer_from_sgd(&o);
    assert_true(fabs(o.decay - 1e-3) < 1e-12 && o.graft == HPC_GRAFT_SGD);
    o.momentum = 1;
    test_fails(hpc_optimizer_check(&o), HPC_E_ARG, "momentum=1 must be in [0, 1)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_by_one),
        cmocka_unit_test(equal_directions),
        cmocka_unit_test(error_of_the_series),
        cmocka_unit_test(turns_with_the_gradient),
        cmocka_unit_test(asymmetry),
        cmocka_unit_test(grafted_norm),
        cmocka_unit_test(blocks_are_apart),
        cmocka_unit_test(batches_are_apart),
        cmocka_unit_test(muon_is_orthogonal),
        cmocka_unit_test(orthogonal_momentum),
        cmocka_unit_test(evened_steps),
        cmocka_unit_test(soap_in_its_basis),
        cmocka_unit_test(soap_moments_go_along),
        cmocka_unit_test(counted_by_formula),
        cmocka_unit_test(block_sizes),
        cmocka_unit_test(settings_from_sgd),
    };
    return cmocka_run_group_tests_name("train/optimizer", tests, NULL, NULL);
}
