/*
 * jorge.c: inverse roots without inversion or decomposition: Jorge's published series, its
 * symmetric form, and coupled Newton steps on a moving average.
 */
#include <math.h>
#include <string.h>

#include "train/update_priv.h"

enum { STEPS_MOST = 64 };

/* ---- the series ------------------------------------------------------------------------- */

/* Numbers of each block. With n = |X|_F: 1 / beta2 = 1 + 1/n, at most 1 / floor; s = 1/beta2 - 1.
 * Where n is 0 or not finite, s = 0 and nothing changes. */
typedef struct series {
    hpc_value s, s2, grow; /* s, s^2, beta2^(-1/4) */
} series;

static series series_of(update *u, hpc_value x)
{
    double most = u->o->floor > 0 ? 1 / u->o->floor : 1e30;
    hpc_value n = map_power(u, squares_each(u, x), 1, 0.5);
    hpc_map_attr a = {
        .alpha = 1, .power = -1, .beta = 1, .lo = 1, .hi = most, .other = 1, .guarded = true};
    hpc_value inverse = hpc_map_each(u->p, n, a);
    hpc_value s = hpc_map_each(u->p, inverse, (hpc_map_attr){.alpha = 1, .power = 1, .beta = -1});
    return (series){s, map_power(u, s, 1, 2), map_power(u, inverse, 1, 0.25)};
}

/* Q = I - c1 s X + c2 s^2 X^2. */
static hpc_value correction(update *u, hpc_value x, hpc_value x2, const series *k, double c1,
                            double c2)
{
    hpc_value by[3] = {HPC_NONE, k->s, k->s2};
    return hpc_combine(u->p, HPC_NEW, x, x2, by, (hpc_combine_attr){.a0 = 1, .a1 = -c1, .a2 = c2});
}

static void replace(update *u, hpc_value root, hpc_value x, hpc_value by)
{
    hpc_value s[3] = {HPC_NONE, by, HPC_NONE};
    hpc_combine(u->p, root, x, HPC_NONE, s, (hpc_combine_attr){.a1 = 1});
}

/* L <- beta2^(-1/4) L (I - (s/4) X + (5 s^2/32) X^2), X = L^4 G G^T. */
static void refresh_published(update *u, hpc_value root, hpc_value gram)
{
    hpc_value l2 = multiply(u, root, false, root, false);
    hpc_value x = multiply(u, multiply(u, l2, false, l2, false), false, gram, false);
    series k = series_of(u, x);
    hpc_value q = correction(u, x, multiply(u, x, false, x, false), &k, 1.0 / 4, 5.0 / 32);
    replace(u, root, multiply(u, root, false, q, false), k.grow);
}

/* L <- beta2^(-1/4) Q L Q, Q = I - (s/8) X + (9 s^2/128) X^2, X = L^2 G G^T L^2. */
static void refresh_symmetric(update *u, hpc_value root, hpc_value gram)
{
    hpc_value l2 = multiply_symmetric(u, root, false, root, false);
    hpc_value x = multiply_symmetric(u, multiply(u, l2, false, gram, false), false, l2, false);
    series k = series_of(u, x);
    hpc_value x2 = multiply_symmetric(u, x, false, x, false);
    hpc_value q = correction(u, x, x2, &k, 1.0 / 8, 9.0 / 128);
    hpc_value y = multiply_symmetric(u, multiply(u, q, false, root, false), false, q, false);
    replace(u, root, y, k.grow);
}

void refresh_jorge(update *u, const target *t, const side *s)
{
    hpc_value root = side_state(u, "precondition", t, s);
    if (u->o->kind == HPC_OPT_JORGE)
        refresh_published(u, root, s->gram);
    else
        refresh_symmetric(u, root, s->gram);
}

/* ---- coupled steps -------------------------------------------------------------------------- */

/* For A^(-1/p). */
static int power_of(const hpc_optimizer_config *o)
{
    return o->kind == HPC_OPT_JORGE_MOMENTUM ? 2 : 4;
}

/* T = a I + b M + c M^2. */
typedef struct coupled_step {
    double a, b, c;
} coupled_step;

/* Row k of 4 is of 5 numbers, the last the right side. */
static void solve_four(double x[4], double row[4][5])
{
    for (int i = 0; i < 4; i++) {
        int pivot = i;
        for (int k = i; k < 4; k++)
            if (fabs(row[k][i]) > fabs(row[pivot][i])) pivot = k;
        for (int j = 0; j < 5; j++) {
            double keep = row[i][j];
            row[i][j] = row[pivot][j], row[pivot][j] = keep;
        }
        for (int k = 0; k < 4; k++) {
            double by = row[k][i] / row[i][i];
            for (int j = i; j < 5 && k != i; j++) row[k][j] -= by * row[i][j];
        }
    }
    for (int i = 0; i < 4; i++) x[i] = row[i][4] / row[i][i];
}

/* For s = x^(1/p), x an eigenvalue of M, within [least, 1]: the T for which s T(s^p) lies in the
 * narrowest [least', 1]; returns least'. At s = least, at the two turning points and at s = 1 it is
 * least', 1, least', 1: the turning points are found by exchange, as Remez did. */
static double narrowest_step(coupled_step *t, double least, double p)
{
    enum { EXCHANGES = 60 };
    /* Next to 1 the four points merge: the step that agrees with s^-1 to second order, which leaves
     * what f32 does not see. */
    const double merged = 0.998;
    if (least > merged) {
        double d1 = 1 / p, d2 = d1 * (d1 + 1) / 2;
        *t = (coupled_step){1 + d1 + d2, -d1 - 2 * d2, d2};
        return 1;
    }
    double at[4] = {least, (3 * least + 1) / 4, (least + 3) / 4, 1}, x[4] = {0};
    for (int turn = 0; turn < EXCHANGES; turn++) {
        double row[4][5];
        for (int k = 0; k < 4; k++) {
            double s = at[k], sp = pow(s, p);
            double next[5] = {s, s * sp, s * sp * sp, k % 2 ? -1 : 1, 1};
            memcpy(row[k], next, sizeof next);
        }
        solve_four(x, row);
        /* (s T)' = a + (1 + p) b s^p + (1 + 2 p) c s^2p. */
        double a = (1 + 2 * p) * x[2], b = (1 + p) * x[1] / 2, d = sqrt(b * b - a * x[0]);
        double q = pow((-b - d) / a, 1 / p), r = pow((-b + d) / a, 1 / p);
        double moved = fabs(q - at[1]) + fabs(r - at[2]);
        at[1] = q, at[2] = r;
        if (moved < 1e-12) break;
    }
    double top = 1 + x[3];
    *t = (coupled_step){x[0] / top, x[1] / top, x[2] / top};
    return (1 - x[3]) / top;
}

/* No eigenvalue of A with its ridge is more, in norms of A. A little room above the largest, where
 * the steps are steep, keeps what is rounded on this side. */
static double most_of(const hpc_optimizer_config *o)
{
    return 1.01 * (1 + o->ridge);
}

static int steps_of(coupled_step step[STEPS_MOST], const hpc_optimizer_config *o)
{
    const double near = 0.5;
    double p = power_of(o), least = pow(o->ridge / most_of(o), 1 / p);
    int64_t more = o->newton;
    int n = 0;
    do least = narrowest_step(&step[n++], least, p);
    while (n < STEPS_MOST && (least < near || more-- > 0));
    return n;
}

int jorge_newton_steps(const hpc_optimizer_config *o)
{
    coupled_step step[STEPS_MOST];
    return steps_of(step, o);
}

/* L = A^(-1/p) from products alone. With A over its Frobenius norm, in (0, 1], X = I and M = A, in
 * each step X <- X T, M <- T^p M: M goes to I and X to A^(-1/p), which all are polynomials of A and
 * commute. All but the last step is in f32 whatever else is rounded: until then bf16 does not tell
 * the least eigenvalues of M from nothing.
 * (A step from the last refresh's L would have to come out of L and A that do not: its errors
 * between two directions grow by (1 + r)^2 (1 + r^-2) / 8 - 1 each time, r the ratio of L there,
 * which is more than 1 from a condition of A of 61 on.) */
void refresh_newton(update *u, const target *t, const side *s)
{
    coupled_step step[STEPS_MOST];
    int n = steps_of(step, u->o);
    bool halves = u->halves;
    double p = power_of(u->o), most = most_of(u->o);
    hpc_value norm, x = HPC_NONE, root = side_state(u, "precondition", t, s);
    hpc_value m = side_average(u, t, s, u->o->ridge, &norm);
    hpc_value by[3] = {HPC_NONE, map_guarded(u, norm, 1 / most, -1, 0, 0), HPC_NONE};
    m = hpc_combine(u->p, HPC_NEW, m, HPC_NONE, by, (hpc_combine_attr){.a1 = 1});
    for (int k = 0; k < n; k++) {
        u->halves = halves && k + 1 == n;
        hpc_value f =
            hpc_combine(u->p, HPC_NEW, m, multiply_symmetric(u, m, false, m, false), NULL,
                        (hpc_combine_attr){.a0 = step[k].a, .a1 = step[k].b, .a2 = step[k].c});
        x = k == 0 ? f : multiply_symmetric(u, x, false, f, false);
        if (k + 1 == n) break;
        for (int q = power_of(u->o); q > 1; q /= 2) f = multiply_symmetric(u, f, false, f, false);
        m = multiply_symmetric(u, f, false, m, false);
    }
    u->halves = halves;
    replace(u, root, x, map_guarded(u, norm, pow(most, -1 / p), -1 / p, 0, 0));
}
