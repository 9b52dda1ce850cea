/*
 * optimizer.c: checks an optimizer's configuration, and emits SGD, AdamW, Muon and the building
 * blocks of updates.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/update_priv.h"

const char *const hpc_optimizer_names[] = {[HPC_OPT_SGD] = "sgd",
                                           [HPC_OPT_ADAMW] = "adamw",
                                           [HPC_OPT_MUON] = "muon",
                                           [HPC_OPT_SHAMPOO] = "shampoo",
                                           [HPC_OPT_SOAP] = "soap",
                                           [HPC_OPT_JORGE] = "jorge",
                                           [HPC_OPT_JORGE_SYMMETRIC] = "jorge-symmetric",
                                           [HPC_OPT_JORGE_NEWTON] = "jorge-newton",
                                           [HPC_OPT_JORGE_MOMENTUM] = "jorge-momentum",
                                           NULL};

const char *const hpc_gradients_names[] = {"auto", "f32", "bf16", NULL};
const char *const hpc_round_bf16_names[] = {"auto", "none", "update", "all", NULL};

int hpc_round_bf16_find(const char *name, int kind, hpc_dtype dtype)
{
    bool apt = kind == HPC_OPT_MUON || kind == HPC_OPT_JORGE_MOMENTUM;
    if (strcmp(name, "auto") == 0)
        return apt && dtype == HPC_BF16 ? HPC_HALVES_ALL : HPC_HALVES_NONE;
    return strcmp(name, "all") == 0      ? HPC_HALVES_ALL
           : strcmp(name, "update") == 0 ? HPC_HALVES_UPDATE
                                         : HPC_HALVES_NONE;
}

int hpc_optimizer_find(int *kind, const char *name)
{
    char known[128] = "";
    size_t n = 0;
    for (*kind = 0; hpc_optimizer_names[*kind]; ++*kind) {
        if (strcmp(hpc_optimizer_names[*kind], name) == 0) return HPC_OK;
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "",
                              hpc_optimizer_names[*kind]);
    }
    return hpc_fail(HPC_E_ARG, "unknown optimizer '%s': expected one of %s", name, known);
}

static int check_share(const char *key, double x)
{
    if (x >= 0 && x < 1) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "%s=%g must be in [0, 1)", key, x);
}

static int check_positive(const char *key, double x)
{
    if (x > 0 && isfinite(x)) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "%s=%g must be above 0", key, x);
}

int hpc_optimizer_check(const hpc_optimizer_config *o)
{
    int rc;
    TRY(check_share("beta1", o->beta1));
    TRY(check_share("beta2", o->beta2));
    TRY(check_share("momentum", o->momentum));
    TRY(check_share("average", o->average));
    TRY(check_share("even", o->even));
    TRY(check_share("floor", o->floor));
    TRY(check_positive("eps", o->eps));
    TRY(check_positive("ridge", o->ridge));
    TRY(check_positive("start", o->start));
    TRY(check_positive("block", (double)o->block));
    TRY(check_positive("interval", (double)o->interval));
    if (o->newton < 0) TRY(hpc_fail(HPC_E_ARG, "newton=%lld is negative", (long long)o->newton));
    if (!(o->decay >= 0)) TRY(hpc_fail(HPC_E_ARG, "decay=%g is negative", o->decay));
out:
    return rc;
}

bool hpc_optimizer_follows_sgd(const hpc_optimizer_config *o)
{
    if (o->kind == HPC_OPT_ADAMW || o->kind == HPC_OPT_MUON || o->kind == HPC_OPT_SOAP)
        return false;
    return o->kind == HPC_OPT_SGD || o->graft == HPC_GRAFT_SGD;
}

void hpc_optimizer_usual(hpc_optimizer_config *o)
{
    bool momentum = o->kind == HPC_OPT_JORGE_MOMENTUM;
    bool slow = momentum || o->kind == HPC_OPT_MUON || o->kind == HPC_OPT_SOAP;
    o->beta1 = slow ? 0.95 : 0.9;
    o->momentum = momentum || o->kind == HPC_OPT_MUON ? 0.8 : 0.9;
    o->decay = hpc_optimizer_follows_sgd(o) ? 1e-4 : 0.1;
    o->interval = momentum ? 1 : 10;
    o->average = momentum ? 0.5 : 0.95;
    o->ridge = momentum ? 1e-4 : 1e-5;
    o->newton = momentum ? 0 : 2;
    o->even = momentum ? 0.95 : 0;
}

double hpc_optimizer_usual_rate(const hpc_optimizer_config *o)
{
    if (hpc_optimizer_follows_sgd(o)) return 0.3;
    if (o->kind == HPC_OPT_JORGE_MOMENTUM) return 0.008;
    return o->kind == HPC_OPT_MUON ? 0.004 : 0.002;
}

void hpc_optimizer_from_sgd(hpc_optimizer_config *o)
{
    if (o->kind != HPC_OPT_SGD) o->decay /= 1 - o->momentum;
    o->graft = HPC_GRAFT_SGD;
}

/* ---- pieces ---------------------------------------------------------------------------- */

static hpc_dtype real_of(const update *u, hpc_value v)
{
    return u->p->value[v].type.dtype == HPC_F64 ? HPC_F64 : HPC_F32;
}

/* A refresh and an update name the same state. */
static hpc_value state_of(update *u, const char *prefix, const target *t, hpc_type type)
{
    char name[HPC_TENSOR_NAME + 32];
    snprintf(name, sizeof name, "%s.%s", prefix, t->name);
    hpc_value v = hpc_program_find(u->p, name);
    return v >= 0 ? v : hpc_program_state(u->p, name, type, false);
}

hpc_value update_state(update *u, const char *prefix, const target *t, int rank,
                       const int64_t *extent)
{
    return state_of(u, prefix, t, hpc_type_of(real_of(u, t->param), rank, extent));
}

/* The same shape and layout as the parameter. */
hpc_value update_like(update *u, const char *prefix, const target *t)
{
    hpc_type type = u->p->value[t->param].type;
    type.dtype = (uint8_t)real_of(u, t->param);
    return state_of(u, prefix, t, type);
}

hpc_value map_guarded(update *u, hpc_value x, double alpha, double power, double beta, double other)
{
    hpc_map_attr a = {
        .alpha = alpha, .power = power, .beta = beta, .other = other, .guarded = true};
    return hpc_map_each(u->p, x, a);
}

hpc_value map_power(update *u, hpc_value x, double alpha, double power)
{
    return hpc_map_each(u->p, x, (hpc_map_attr){.alpha = alpha, .power = power});
}

hpc_value blend(update *u, hpc_value into, double a, hpc_value x, double b, hpc_value y)
{
    return hpc_combine(u->p, into, x, y, NULL, (hpc_combine_attr){.a1 = a, .a2 = b});
}

static hpc_value product(update *u, hpc_value a, hpc_value b, hpc_matmul_attr at)
{
    at.halves = u->halves;
    return hpc_matmul(u->p, a, b, at);
}

hpc_value multiply(update *u, hpc_value a, bool trans_a, hpc_value b, bool trans_b)
{
    return product(u, a, b, (hpc_matmul_attr){.trans_a = trans_a, .trans_b = trans_b});
}

hpc_value multiply_symmetric(update *u, hpc_value a, bool trans_a, hpc_value b, bool trans_b)
{
    return product(u, a, b,
                   (hpc_matmul_attr){.trans_a = trans_a, .trans_b = trans_b, .symmetric = true});
}

hpc_value squares(update *u, hpc_value x)
{
    return hpc_reduce(u->p, HPC_NEW, x, HPC_SUMSQ, HPC_OVER_ALL);
}

hpc_value squares_each(update *u, hpc_value x)
{
    if (x < 0) return HPC_NONE;
    hpc_type t = u->p->value[x].type;
    x = hpc_view(u->p, x, 2, (int64_t[]){t.extent[0], t.extent[1] * t.extent[2]});
    return hpc_reduce(u->p, HPC_NEW, x, HPC_SUMSQ, HPC_OVER_COLS);
}

hpc_value clipped(update *u, const target *t)
{
    hpc_value x = t->grad;
    if (u->p->value[x].type.dtype == HPC_BF16) x = hpc_copy(u->p, x, HPC_F32);
    if (u->clip >= 0) x = hpc_scale(u->p, HPC_NEW, x, u->clip, 1);
    return update_dense(u, t, x);
}

/* ---- AdamW and SGD ------------------------------------------------------------------------ */

static hpc_adamw_attr adam_of(const update *u, double decay)
{
    return (hpc_adamw_attr){u->o->beta1, u->o->beta2, u->o->eps, decay};
}

void update_adamw(update *u, const target *t)
{
    hpc_value m = update_like(u, "adam.m", t), v = update_like(u, "adam.v", t);
    hpc_adamw(u->p, t->param, m, v, t->half, t->grad, u->io->lr, u->io->model.step, u->clip,
              adam_of(u, t->decay));
}

/* mom = momentum mom + clip grad. */
static hpc_value sgd_momentum(update *u, const target *t)
{
    hpc_value mom = update_like(u, "sgd.mom", t), s[3] = {HPC_NONE, HPC_NONE, u->clip};
    return hpc_combine(u->p, mom, mom, t->grad, s,
                       (hpc_combine_attr){.a1 = u->o->momentum, .a2 = 1});
}

void update_sgd(update *u, const target *t)
{
    hpc_value mom = sgd_momentum(u, t);
    if (t->decay > 0) blend(u, mom, 1, mom, t->decay, t->param);
    hpc_apply(u->p, t->param, t->half, mom, u->io->lr, HPC_NONE, (hpc_apply_attr){.alpha = 1});
}

static hpc_value graft_direction(update *u, const target *t)
{
    if (u->o->graft == HPC_GRAFT_ADAM) {
        hpc_value m = update_like(u, "adam.m", t), v = update_like(u, "adam.v", t);
        return hpc_adam(u->p, HPC_NEW, m, v, t->grad, HPC_NONE, u->io->model.step, u->clip,
                        adam_of(u, 0));
    }
    return sgd_momentum(u, t);
}

hpc_value momentum_of(update *u, const target *t, hpc_value x)
{
    hpc_value m = update_like(u, "precondition.m", t);
    return blend(u, m, u->o->beta1, m, 1 - u->o->beta1, x);
}

/* Sum of squares of x, or of each matrix of the target's batch. */
static hpc_value squares_of(update *u, const target *t, hpc_value x)
{
    return t->batch > 0 ? squares_each(u, x) : squares(u, x);
}

void update_grafted(update *u, const target *t, hpc_value direction)
{
    hpc_value graft = graft_direction(u, t);
    hpc_value want = map_power(u, squares_of(u, t, graft), 1, 0.5);
    hpc_value have = map_guarded(u, squares_of(u, t, direction), 1, -0.5, 0, 0);
    hpc_value by = hpc_binary(u->p, HPC_MUL, want, have);
    hpc_apply(u->p, t->param, t->half, direction, u->io->lr, by,
              (hpc_apply_attr){.alpha = 1, .decay = t->decay});
}

/* ---- SOAP's Adam and Muon ------------------------------------------------------------------ */

/* Newton-Schulz: x (a I + b A + c A^2), A = x^T x, on the shorter side; singular values within
 * (0, 1] go to about 1. Coefficients and count are Muon's. */
static hpc_value orthogonalise(update *u, hpc_value x, bool tall)
{
    enum { STEPS = 5 };
    const double a = 3.4445, b = -4.7750, c = 2.0315;
    for (int k = 0; k < STEPS; k++) {
        hpc_value gram = multiply_symmetric(u, x, tall, x, !tall);
        hpc_value f =
            blend(u, HPC_NEW, b, gram, c, multiply_symmetric(u, gram, false, gram, false));
        hpc_value y = tall ? multiply(u, x, false, f, false) : multiply(u, f, false, x, false);
        x = blend(u, HPC_NEW, a, x, 1, y);
    }
    return x;
}

hpc_value muon_momentum(update *u, const target *t, bool keep)
{
    hpc_value mom = update_like(u, "muon.m", t), s[3] = {HPC_NONE, HPC_NONE, u->clip};
    hpc_value x = hpc_combine(u->p, keep ? mom : HPC_NEW, mom, t->grad, s,
                              (hpc_combine_attr){.a1 = u->o->momentum, .a2 = 1});
    return update_dense(u, t, x);
}

/* Factors that make sums of squares, [1,n] or for a batch [batch,n], those of their average. */
static hpc_value evening(update *u, const target *t, hpc_value sum, int64_t n, bool rows)
{
    int64_t line[2] = {t->batch > 0 ? t->batch : 1, n};
    hpc_value mean = update_state(u, rows ? "even.rows" : "even.columns", t, 2, line);
    mean = blend(u, mean, u->o->even, mean, 1 - u->o->even, hpc_view(u->p, sum, 2, line));
    return map_guarded(u, mean, 1, -0.5, 0, 0);
}

static hpc_value evened_rows(update *u, const target *t, hpc_value x)
{
    hpc_value sum = hpc_reduce(u->p, HPC_NEW, x, HPC_SUMSQ, HPC_OVER_COLS);
    hpc_value by = evening(u, t, sum, t->m, true);
    by = t->batch > 0 ? hpc_view(u->p, by, 3, (int64_t[]){t->batch, t->m, 1})
                      : hpc_view(u->p, by, 2, (int64_t[]){t->m, 1});
    return hpc_binary(u->p, HPC_MUL, x, by);
}

static hpc_value transposed(update *u, hpc_value x)
{
    return hpc_combine(u->p, HPC_NEW, HPC_NONE, x, NULL,
                       (hpc_combine_attr){.a2 = 1, .trans = true});
}

/* Columns of each matrix of a batch are the rows of its transpose. */
static hpc_value evened_columns(update *u, const target *t, hpc_value x)
{
    if (t->batch == 0) {
        hpc_value sum = hpc_reduce(u->p, HPC_NEW, x, HPC_SUMSQ, HPC_OVER_ROWS);
        hpc_value by = evening(u, t, sum, t->n, false);
        return hpc_binary(u->p, HPC_MUL, x, hpc_view(u->p, by, 1, &t->n));
    }
    x = transposed(u, x);
    hpc_value sum = hpc_reduce(u->p, HPC_NEW, x, HPC_SUMSQ, HPC_OVER_COLS);
    hpc_value by = evening(u, t, sum, t->n, false);
    by = hpc_view(u->p, by, 3, (int64_t[]){t->batch, t->n, 1});
    return transposed(u, hpc_binary(u->p, HPC_MUL, x, by));
}

hpc_value evened(update *u, const target *t, hpc_value x)
{
    return u->o->even == 0 ? x : evened_columns(u, t, evened_rows(u, t, x));
}

/* Each matrix with Frobenius norm 1; zeros stay. */
static hpc_value normalised(update *u, const target *t, hpc_value x)
{
    hpc_value s[3] = {HPC_NONE, HPC_NONE, HPC_NONE};
    if (t->batch == 0)
        return hpc_scale(u->p, HPC_NEW, x, map_guarded(u, squares(u, x), 1, -0.5, 0, 0), 1);
    s[1] = map_guarded(u, squares_each(u, x), 1, -0.5, 0, 0);
    return hpc_combine(u->p, HPC_NEW, x, HPC_NONE, s, (hpc_combine_attr){.a1 = 1});
}

/* The size of its elements is made AdamW's (0.2, root mean square), so that one rate serves both.
 */
void update_muon(update *u, const target *t)
{
    double longer = (double)(t->m > t->n ? t->m : t->n);
    muon_momentum(u, t, true);
    hpc_value x = muon_momentum(u, t, false); /* a step ahead */
    x = normalised(u, t, x);
    x = orthogonalise(u, x, t->m > t->n);
    hpc_value by = HPC_NONE;
    double alpha = 0.2 * sqrt(longer);
    if (u->o->even > 0) { /* to the norm that singular values of 1 have */
        x = evened(u, t, x);
        by = map_guarded(u, squares_of(u, t, x), 1, -0.5, 0, 0);
        alpha *= sqrt((double)(t->m < t->n ? t->m : t->n));
    }
    hpc_apply(u->p, t->param, t->half, update_picked(u, t, x), u->io->lr, by,
              (hpc_apply_attr){.alpha = alpha, .decay = t->decay});
}

/* ---- costs by formula ----------------------------------------------------------------------- */

/* Cost of one side of n blocks with b rows and `other` columns. Of a symmetric product only half
 * and the diagonal are computed. */
static double refresh_of(const hpc_optimizer_config *o, double n, double b, double other)
{
    double cube = b * b * b, half = b * b * (b + 1), gram = b * (b + 1) * other;
    switch (o->kind) {
    case HPC_OPT_SHAMPOO: return n * (gram + 9 * cube + half);
    case HPC_OPT_SOAP: return n * (gram + 11 * cube + 2 * b * b * other);
    case HPC_OPT_JORGE: return n * (gram + 10 * cube);
    case HPC_OPT_JORGE_SYMMETRIC: return n * (gram + 4 * cube + 4 * half);
    default: { /* steps: M^2, X T but for the first, T^p M but for the last */
        double steps = jorge_newton_steps(o), power = o->kind == HPC_OPT_JORGE_MOMENTUM ? 3 : 4;
        return n * (gram + (steps + power * (steps - 1)) * half);
    }
    }
}

/* Numbers of state of a side: the root and, of some, the average. */
static double state_of_side(const hpc_optimizer_config *o, double n, double b)
{
    bool averages = o->kind != HPC_OPT_JORGE && o->kind != HPC_OPT_JORGE_SYMMETRIC;
    return n * b * b * (averages ? 2 : 1);
}

static double numbers_to_even(const hpc_optimizer_config *o, int64_t m, int64_t n)
{
    return o->even > 0 ? (double)(m + n) : 0;
}

static hpc_optimizer_cost muon_cost(const hpc_optimizer_config *o, int64_t m, int64_t n)
{
    double s = (double)(m < n ? m : n), l = (double)(m < n ? n : m);
    return (hpc_optimizer_cost){.apply = 5 * (s * (s + 1) * l + s * s * (s + 1) + 2 * s * s * l),
                                .state_bytes = 4 * (s * l + numbers_to_even(o, m, n))};
}

hpc_optimizer_cost hpc_optimizer_cost_of(const hpc_optimizer_config *o, int64_t m, int64_t n)
{
    hpc_optimizer_cost c = {0};
    double all = (double)m * (double)n, adam = 2 * all, sgd = all;
    if (o->kind == HPC_OPT_SGD) c.state_bytes = 4 * sgd;
    if (o->kind == HPC_OPT_ADAMW) c.state_bytes = 4 * adam;
    if (o->kind == HPC_OPT_MUON) return muon_cost(o, m, n);
    if (o->kind < HPC_OPT_MUON) return c;
    bool momentum = o->kind == HPC_OPT_JORGE_MOMENTUM;
    int64_t bm = momentum && m > n ? 0 : hpc_optimizer_block(m, o->block);
    int64_t bn = momentum && m <= n ? 0 : hpc_optimizer_block(n, o->block);
    double rows = (double)(bm ? bm : m), cols = (double)(bn ? bn : n), blocks = all / (rows * cols);
    double turns = o->kind == HPC_OPT_SOAP ? 3 : 1; /* into the basis twice, and back */
    double numbers = o->kind == HPC_OPT_SOAP      ? 2 * all
                     : o->graft == HPC_GRAFT_ADAM ? all + adam
                                                  : all + sgd;
    if (bm) {
        c.apply += turns * 2 * all * rows;
        c.refresh += refresh_of(o, blocks, rows, cols);
        numbers += state_of_side(o, blocks, rows);
    }
    if (bn) {
        c.apply += turns * 2 * all * cols;
        c.refresh += refresh_of(o, blocks, cols, rows);
        numbers += state_of_side(o, blocks, cols);
    }
    if (momentum) numbers += numbers_to_even(o, m, n);
    c.state_bytes = 4 * numbers;
    return c;
}
