/*
 * root.c: inverse roots of gram matrices compared with a decomposition written here, in f64 and
 * f32, over the range of usual settings.
 */
#include "tests/train/lab.h"

/* A^(-1/4) by Jacobi rotations; destroys a. */
static void exact_root_of(double *out, double *a, int n)
{
    static double v[MOST];
    for (int i = 0; i < n * n; i++) v[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < 30; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                if (fabs(a[p * n + q]) < 1e-300) continue;
                double h = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
                double t = (h < 0 ? -1 : 1) / (fabs(h) + sqrt(h * h + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < n; k++) {
                    double x = a[k * n + p], y = a[k * n + q];
                    a[k * n + p] = c * x - s * y, a[k * n + q] = s * x + c * y;
                    x = v[k * n + p], y = v[k * n + q];
                    v[k * n + p] = c * x - s * y, v[k * n + q] = s * x + c * y;
                }
                for (int k = 0; k < n; k++) {
                    double x = a[p * n + k], y = a[q * n + k];
                    a[p * n + k] = c * x - s * y, a[q * n + k] = s * x + c * y;
                }
            }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += v[i * n + k] * pow(a[k * n + k], -0.25) * v[j * n + k];
            out[i * n + j] = sum;
        }
}

/* Relative distance of the left root from that of the average it keeps. */
static double distance(lab *l, int n)
{
    static double s[MOST], root[MOST], want[MOST];
    double size = 0, apart = 0, all = 0;
    read_state(l, "precondition.s.l.w", s);
    read_state(l, "precondition.l.w", root);
    for (int i = 0; i < n * n; i++) size += s[i] * s[i];
    for (int i = 0; i < n; i++) s[i * (n + 1)] += l->o.ridge * sqrt(size);
    exact_root_of(want, s, n);
    for (int i = 0; i < n * n; i++) {
        apart += pow(root[i] - want[i], 2);
        all += want[i] * want[i];
    }
    return sqrt(apart / all);
}

/* Gradients that change slowly: a fixed part and noise. */
static void follow(lab *l, int m, int n, int refreshes)
{
    static double base[MOST], noise[MOST];
    hpc_test_draw(base, m * n, 5, 1);
    for (int k = 0; k < refreshes; k++) {
        hpc_test_draw(noise, m * n, 100 + (uint32_t)k, 0.3);
        for (int i = 0; i < m * n; i++) noise[i] += base[i];
        refresh(l, noise);
    }
}

static void newton_is_the_root(void **state)
{
    enum { M = 32, N = 48 };
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
        l.o.kind = HPC_OPT_JORGE_NEWTON;
        open_lab(&l, M, N, wide);
        follow(&l, M, N, 40);
        assert_true(distance(&l, M) <= (wide ? 2e-5 : 1e-3));
        close_lab(&l);
    }
}

static void shampoo_is_the_root(void **state)
{
    enum { M = 32, N = 48 };
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
        l.o.kind = HPC_OPT_SHAMPOO;
        open_lab(&l, M, N, wide);
        follow(&l, M, N, 1);
        assert_true(distance(&l, M) <= (wide ? 1e-9 : 2e-3));
        close_lab(&l);
    }
}

/* Whatever the settings are, there is a step, and a direction. */
static void ridges_of_any_size(void **state)
{
    enum { M = 12, N = 20 };
    static const double ridge[] = {1, 0.5, 1e-2, 1e-4, 1e-8};
    static double g[M * N], w[M * N];
    (void)state;
    hpc_test_draw(g, M * N, 9, 1);
    for (int kind = HPC_OPT_JORGE_NEWTON; kind <= HPC_OPT_JORGE_MOMENTUM; kind++)
        for (size_t k = 0; k < sizeof ridge / sizeof *ridge; k++) {
            double dot = 0;
            lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
            l.o.kind = kind, l.o.decay = 0, l.o.ridge = ridge[k], l.o.newton = 0;
            open_lab(&l, M, N, true);
            refresh(&l, g);
            test_ok(hpc_exec_run(l.e, l.update, 0));
            hpc_test_read(l.e, 0, l.t.param, w);
            for (int i = 0; i < M * N; i++) dot -= w[i] * g[i];
            assert_true(dot > 0);
            close_lab(&l);
        }
}

/* Few directions among many: what the ridge alone holds up. */
static void roots_of_low_rank(void **state)
{
    enum { N = 32 };
    static double g[N * N], column[N * 4], row[4 * N];
    (void)state;
    for (int rank = 1; rank <= 4; rank += 3)
        for (int wide = 0; wide < 2; wide++) {
            lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
            l.o.kind = HPC_OPT_JORGE_NEWTON;
            hpc_optimizer_usual(&l.o);
            open_lab(&l, N, N, wide);
            hpc_test_draw(column, N * rank, 3, 1);
            hpc_test_draw(row, rank * N, 4, 1);
            times(g, column, false, row, false, N, rank, N);
            refresh(&l, g);
            double apart = distance(&l, N);
            if (!(apart <= (wide ? 2e-5 : 1e-3))) fail_msg("rank %d: %g", rank, apart);
            close_lab(&l);
        }
}

/* At its usual settings jorge-momentum leaves singular values within a factor of two: of
 * eigenvalues within a factor k = 4, s sum x^2 / (sum x)^2 is at most (1 + k)^2 / (4 k). */
static void within_a_factor_of_two(void **state)
{
    static const int shape[][2] = {{12, 20}, {20, 12}, {32, 48}};
    static double w[32 * 48], g[32 * 48], gram[32 * 32];
    (void)state;
    for (int k = 0; k < 3; k++) {
        int m = shape[k][0], n = shape[k][1], s = m < n ? m : n;
        double sum = 0, squares = 0, before = 0, after = 0;
        lab l = {.o = HPC_OPTIMIZER_CONFIG_DEFAULTS};
        l.o.kind = HPC_OPT_JORGE_MOMENTUM;
        hpc_optimizer_usual(&l.o);
        l.o.decay = l.o.even = 0;
        open_lab(&l, m, n, false);
        hpc_test_draw(g, m * n, 9, 1);
        for (int i = 0; i < m * n; i++) g[i] *= 1 + 3 * (i % n) / (double)n; /* not round */
        refresh(&l, g);
        test_ok(hpc_exec_run(l.e, l.update, 0));
        hpc_test_read(l.e, 0, l.t.param, w);
        for (int turn = 0; turn < 2; turn++) {
            const double *x = turn ? w : g;
            times(gram, x, m > n, x, m < n, s, m < n ? n : m, s);
            sum = squares = 0;
            for (int i = 0; i < s * s; i++) squares += gram[i] * gram[i];
            for (int i = 0; i < s; i++) sum += gram[i * (s + 1)];
            *(turn ? &after : &before) = s * squares / (sum * sum);
        }
        assert_true(before > 1.5 && after <= 25.0 / 16);
        close_lab(&l);
    }
}

/* Cost of a refresh with default settings in b^3, without the gram matrices; half is computed,
 * because all products of a root are symmetric. */
static void usual_costs(void **state)
{
    static const double cubes[HPC_OPT_N] = {
        [HPC_OPT_JORGE_NEWTON] = 2 * 42, [HPC_OPT_JORGE_MOMENTUM] = 18};
    (void)state;
    for (int kind = HPC_OPT_JORGE_NEWTON; kind <= HPC_OPT_JORGE_MOMENTUM; kind++) {
        hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
        o.kind = kind;
        hpc_optimizer_usual(&o);
        double grams = kind == HPC_OPT_JORGE_NEWTON ? 4 : 2;
        assert_true(hpc_optimizer_cost_of(&o, 64, 64).refresh ==
                    (cubes[kind] + grams) / 2 * 64 * 64 * 65);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newton_is_the_root),     cmocka_unit_test(shampoo_is_the_root),
        cmocka_unit_test(ridges_of_any_size),     cmocka_unit_test(roots_of_low_rank),
        cmocka_unit_test(within_a_factor_of_two), cmocka_unit_test(usual_costs),
    };
    return cmocka_run_group_tests_name("train/root", tests, NULL, NULL);
}
