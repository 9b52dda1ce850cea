/*
 * shampoo.c: exact inverse roots and bases by eigen-decomposition, for Shampoo and SOAP.
 */
#include "train/update_priv.h"

/* A^(-1/4) = W^T W, the rows of W being the eigenvectors, each times its eigenvalue^(-1/8). */
static void exact_root(update *u, hpc_value root, hpc_value a, const side *s)
{
    int64_t rows = s->batch * s->b;
    hpc_value values;
    hpc_value vectors = hpc_eigh(u->p, a, &values);
    hpc_value scale = map_guarded(u, values, 1, -1.0 / 8, 0, 0);
    hpc_value w = hpc_binary(u->p, HPC_MUL, hpc_view(u->p, vectors, 2, (int64_t[]){rows, s->b}),
                             hpc_view(u->p, scale, 2, (int64_t[]){rows, 1}));
    w = hpc_view(u->p, w, 3, (int64_t[]){s->batch, s->b, s->b});
    blend(u, root, 1, multiply_symmetric(u, w, true, w, false), 0, HPC_NONE);
}

void refresh_shampoo(update *u, const target *t, const side *s)
{
    hpc_value norm, a = side_average(u, t, s, u->o->ridge, &norm);
    exact_root(u, side_state(u, "precondition", t, s), a, s);
}

/* Transfers second moments v from old to new vectors in proportion to their squared overlap. Order,
 * signs, and the choice of vectors in a degenerate space do not matter. */
void refresh_basis(update *u, const target *t, const side *s, hpc_value v, bool left)
{
    hpc_value basis = side_state(u, "precondition", t, s), norm, values;
    hpc_value now = hpc_eigh(u->p, side_average(u, t, s, 0, &norm), &values);
    hpc_value turn = multiply(u, now, false, basis, true);
    hpc_value share = hpc_binary(u->p, HPC_MUL, turn, turn);
    blend(u, v, 1, left ? multiply(u, share, false, v, false) : multiply(u, v, false, share, true),
          0, HPC_NONE);
    blend(u, basis, 1, now, 0, HPC_NONE);
}
