/*
 * jorge.c: roots without inverses or decompositions: Jorge's series as
 * published, its symmetric form, and coupled Newton steps on a moving average.
 */
#include <math.h>

#include "train/update_priv.h"

enum { NEWTON_MOST = 64 };

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
static hpc_value correction(update *u, hpc_value x, const series *k, double c1, double c2)
{
    hpc_value by[3] = {HPC_NONE, k->s, k->s2};
    return hpc_combine(u->p, HPC_NEW, x, multiply(u, x, false, x, false), by,
                       (hpc_combine_attr){.a0 = 1, .a1 = -c1, .a2 = c2});
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
    hpc_value q = correction(u, x, &k, 1.0 / 4, 5.0 / 32);
    replace(u, root, multiply(u, root, false, q, false), k.grow);
}

/* L <- beta2^(-1/4) Q L Q, Q = I - (s/8) X + (9 s^2/128) X^2, X = L^2 G G^T L^2. */
static void refresh_symmetric(update *u, hpc_value root, hpc_value gram)
{
    hpc_value l2 = multiply(u, root, false, root, false);
    hpc_value x = multiply(u, multiply(u, l2, false, gram, false), false, l2, false);
    series k = series_of(u, x);
    hpc_value q = correction(u, x, &k, 1.0 / 8, 9.0 / 128);
    hpc_value y = multiply(u, multiply(u, q, false, root, false), false, q, false);
    replace(u, root, y, k.grow);
}

void refresh_jorge(update *u, const target *t, const side *s)
{
    hpc_value root = side_state(u, "precondition", t, s);
    update_start(u, root, pow(u->o->start, -0.25));
    if (u->o->kind == HPC_OPT_JORGE)
        refresh_published(u, root, s->gram);
    else
        refresh_symmetric(u, root, s->gram);
}

/* ---- Newton steps -------------------------------------------------------------------------- */

/* (sum of eigenvalues^8)^(1/8): never below the largest, and at most b^(1/8) of it. By |a|_F before
 * and after, since an eighth power leaves f32 soon. */
static hpc_value bound_of(update *u, hpc_value a)
{
    hpc_value size = squares_each(u, a);
    hpc_value by[3] = {HPC_NONE, map_guarded(u, size, 1, -0.5, 0, 0), HPC_NONE};
    a = hpc_combine(u->p, HPC_NEW, a, HPC_NONE, by, (hpc_combine_attr){.a1 = 1});
    hpc_value a2 = multiply(u, a, false, a, false);
    hpc_value a4 = multiply(u, a2, false, a2, false);
    return hpc_binary(u->p, HPC_MUL, map_power(u, squares_each(u, a4), 1, 1.0 / 8),
                      map_power(u, size, 1, 0.5));
}

/* For A^(-1/p). */
static int power_of(const hpc_optimizer_config *o)
{
    return o->kind == HPC_OPT_JORGE_MOMENTUM ? 2 : 4;
}

/* T = c (I - beta M). */
typedef struct coupled_step {
    double c, beta;
} coupled_step;

/* For eigenvalues of M in [least, 1]: the T after which x c^p (1 - beta x)^p lies in the narrowest
 * [least', 1]. Both ends are brought to the same height, whose ratio to the hump's between them is
 * least'. Returns least'. */
static double widest_step(coupled_step *out, double least, double p)
{
    double root = pow(least, 1 / p);
    out->beta = (1 - root) / (1 - root * least);
    double hump = 1 / ((p + 1) * out->beta), top = hump * pow(p / (p + 1), p);
    if (hump > 1) top = pow(1 - out->beta, p);
    double low = least * pow(1 - out->beta * least, p);
    out->c = pow(top, -1 / p);
    return low / top;
}

static int steps_of(coupled_step step[NEWTON_MOST], const hpc_optimizer_config *o)
{
    const double near = 0.4; /* from here on Newton's own steps are as good */
    double least = o->ridge / (1 + o->ridge), p = power_of(o);
    int n = 0;
    while (least < near && n < NEWTON_MOST) least = widest_step(&step[n++], least, p);
    for (int64_t k = 0; k < o->newton && n < NEWTON_MOST; k++)
        step[n++] = (coupled_step){.c = (p + 1) / p, .beta = 1 / (p + 1)}; /* Newton's */
    return n;
}

int jorge_newton_steps(const hpc_optimizer_config *o)
{
    coupled_step step[NEWTON_MOST];
    return steps_of(step, o);
}

/* L = A^(-1/p) from products alone. With A scaled into (0, 1], X = I and M = A, in each step
 * X <- X T, M <- T^p M: M goes to I and X to A^(-1/p), which all are polynomials of A and commute.
 * (A step from the last refresh's L would have to come out of L and A that do not: its errors
 * between two directions grow by (1 + r)^2 (1 + r^-2) / 8 - 1 each time, r the ratio of L there,
 * which is more than 1 from a condition of A of 61 on.) */
void refresh_newton(update *u, const target *t, const side *s)
{
    coupled_step step[NEWTON_MOST];
    int n = steps_of(step, u->o);
    hpc_value norm, x = HPC_NONE, root = side_state(u, "precondition", t, s);
    hpc_value a = side_average(u, t, s, u->o->ridge, &norm), bound = bound_of(u, a);
    hpc_value by[3] = {HPC_NONE, map_guarded(u, bound, 1, -1, 0, 0), HPC_NONE};
    hpc_value m = hpc_combine(u->p, HPC_NEW, a, HPC_NONE, by, (hpc_combine_attr){.a1 = 1});
    for (int k = 0; k < n; k++) {
        hpc_combine_attr attr = {.a0 = step[k].c, .a1 = -step[k].c * step[k].beta};
        hpc_value f = hpc_combine(u->p, HPC_NEW, m, HPC_NONE, NULL, attr);
        x = k == 0 ? f : multiply(u, x, false, f, false);
        if (k + 1 == n) break;
        for (int p = power_of(u->o); p > 1; p /= 2) f = multiply(u, f, false, f, false);
        m = multiply(u, f, false, m, false);
    }
    hpc_value back = map_guarded(u, bound, 0.5, -1.0 / power_of(u->o), 0, 0),
              s3[3] = {HPC_NONE, back, back};
    hpc_combine(u->p, root, x, x, s3, (hpc_combine_attr){.a1 = 1, .a2 = 1, .trans = true});
}
