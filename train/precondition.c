/*
 * precondition.c: Shampoo's family: splits a matrix gradient into blocks, and emits gram matrices
 * for a refresh, L G R with grafting for an update, and SOAP's update.
 *
 * jorge.c and shampoo.c compute roots from gram matrices.
 */
#include <math.h>
#include <stdio.h>

#include "train/update_priv.h"

enum { WHOLE_MOST = 2048 };

int64_t hpc_optimizer_block(int64_t n, int64_t block)
{
    int64_t b = block < n ? block : n;
    while (n % b) b--;
    if (4 * b >= (block < n ? block : n)) return b;
    return n <= WHOLE_MOST ? n : 0;
}

/* ---- blocks ------------------------------------------------------------------------------ */

typedef struct blocks {
    int64_t rows, cols, n; /* of a block; blocks */
    side left, right;
} blocks;

static bool is_of_momentum(const update *u)
{
    return u->o->kind == HPC_OPT_JORGE_MOMENTUM;
}

static blocks blocks_of(const update *u, const target *t)
{
    blocks k = {.left = {.name = "l", .b = hpc_optimizer_block(t->m, u->o->block)},
                .right = {.name = "r", .b = hpc_optimizer_block(t->n, u->o->block)}};
    if (is_of_momentum(u)) *(t->m <= t->n ? &k.right.b : &k.left.b) = 0;
    k.rows = k.left.b ? k.left.b : t->m;
    k.cols = k.right.b ? k.right.b : t->n;
    hpc_assert(k.rows > 0 && k.cols > 0); /* extents are */
    k.n = t->m / k.rows * (t->n / k.cols) * (t->batch > 0 ? t->batch : 1);
    k.left.batch = k.right.batch = k.n;
    return k;
}

/* [m,n] or [batch,m,n] to [blocks,rows,cols] and back; blocks of whole rows are a view. */
static hpc_value split(update *u, const target *t, const blocks *k, hpc_value x)
{
    if (k->cols == t->n) return hpc_view(u->p, x, 3, (int64_t[]){k->n, k->rows, k->cols});
    return hpc_tile(u->p, x, k->rows, k->cols);
}

static hpc_value join(update *u, const target *t, const blocks *k, hpc_value x)
{
    if (k->cols == t->n && t->batch > 0)
        return hpc_view(u->p, x, 3, (int64_t[]){t->batch, t->m, t->n});
    if (k->cols == t->n) return hpc_view(u->p, x, 2, (int64_t[]){t->m, t->n});
    return hpc_untile_batch(u->p, x, t->batch, t->m, t->n);
}

/* ---- sides --------------------------------------------------------------------------------- */

hpc_value side_state(update *u, const char *prefix, const target *t, const side *s)
{
    char full[32];
    snprintf(full, sizeof full, "%s.%s", prefix, s->name);
    return update_state(u, full, t, 3, (int64_t[]){s->batch, s->b, s->b});
}

hpc_value side_average(update *u, const target *t, const side *s, double ridge, hpc_value *norm)
{
    double keep = u->o->average;
    hpc_value sum = side_state(u, "precondition.s", t, s);
    sum = blend(u, sum, keep, sum, 1 - keep, s->gram);
    *norm = map_power(u, squares_each(u, sum), 1, 0.5);
    if (ridge == 0) return sum;
    hpc_value by[3] = {*norm, HPC_NONE, HPC_NONE};
    return hpc_combine(u->p, HPC_NEW, sum, HPC_NONE, by, (hpc_combine_attr){.a0 = ridge, .a1 = 1});
}

/* In the basis, of each block. */
static hpc_value soap_moments(update *u, const target *t, const blocks *k)
{
    return update_state(u, "soap.v", t, 3, (int64_t[]){k->n, k->rows, k->cols});
}

/* Initial state leaves a gradient unchanged until the first refresh, which may be skipped. */
static void refresh_side(update *u, const target *t, const blocks *k, const side *s)
{
    bool jorge = u->o->kind == HPC_OPT_JORGE || u->o->kind == HPC_OPT_JORGE_SYMMETRIC;
    update_start(u, side_state(u, "precondition", t, s), jorge ? pow(u->o->start, -0.25) : 1);
    switch (u->o->kind) {
    case HPC_OPT_SHAMPOO: refresh_shampoo(u, t, s); break;
    case HPC_OPT_SOAP: refresh_basis(u, t, s, soap_moments(u, t, k), s == &k->left); break;
    case HPC_OPT_JORGE_NEWTON:
    case HPC_OPT_JORGE_MOMENTUM: refresh_newton(u, t, s); break;
    default: refresh_jorge(u, t, s); break;
    }
}

void refresh_preconditioned(update *u, const target *t)
{
    blocks k = blocks_of(u, t);
    if (k.left.b == 0 && k.right.b == 0) return;
    hpc_value g = is_of_momentum(u) ? muon_momentum(u, t, false) : clipped(u, t);
    g = split(u, t, &k, g);
    if (k.left.b) {
        k.left.gram = multiply_symmetric(u, g, false, g, true);
        refresh_side(u, t, &k, &k.left);
    }
    if (k.right.b) {
        k.right.gram = multiply_symmetric(u, g, true, g, false);
        refresh_side(u, t, &k, &k.right);
    }
}

/* ---- updates --------------------------------------------------------------------------------- */

/* left x right; transposed: left^T x right^T. What a side lacks is left out. */
static hpc_value between(update *u, hpc_value left, hpc_value x, hpc_value right, bool trans_left,
                         bool trans_right)
{
    if (left >= 0) x = multiply(u, left, trans_left, x, false);
    if (right >= 0) x = multiply(u, x, false, right, trans_right);
    return x;
}

/* Rows of a basis are its vectors: G becomes V G W^T. The numerator is the momentum of G, rotated
 * by the current basis; the second moments are those of the rotated gradient. */
static void update_soap(update *u, const target *t, const blocks *k, hpc_value left,
                        hpc_value right)
{
    hpc_value g = clipped(u, t);
    hpc_value m = momentum_of(u, t, g);
    hpc_value gs = between(u, left, split(u, t, k, g), right, false, true);
    hpc_value ms = between(u, left, split(u, t, k, m), right, false, true);
    hpc_value v = soap_moments(u, t, k);
    hpc_adamw_attr a = {u->o->beta1, u->o->beta2, u->o->eps, 0};
    hpc_value x = hpc_adam(u->p, HPC_NEW, HPC_NONE, v, gs, ms, u->io->model.step, HPC_NONE, a);
    x = join(u, t, k, between(u, left, x, right, true, false));
    hpc_apply(u->p, t->param, t->half, x, u->io->lr, HPC_NONE,
              (hpc_apply_attr){.alpha = 1, .decay = t->decay});
}

void update_preconditioned(update *u, const target *t)
{
    blocks k = blocks_of(u, t);
    hpc_value left = k.left.b ? side_state(u, "precondition", t, &k.left) : HPC_NONE;
    hpc_value right = k.right.b ? side_state(u, "precondition", t, &k.right) : HPC_NONE;
    if (u->o->kind == HPC_OPT_SOAP) {
        update_soap(u, t, &k, left, right);
        return;
    }
    hpc_value g = is_of_momentum(u) ? muon_momentum(u, t, true) : clipped(u, t);
    hpc_value x = join(u, t, &k, between(u, left, split(u, t, &k, g), right, false, false));
    x = update_picked(u, t, is_of_momentum(u) ? evened(u, t, x) : x);
    update_grafted(u, t, is_of_momentum(u) ? x : momentum_of(u, t, x));
}
