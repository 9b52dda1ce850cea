/*
 * shampoo.c: exact roots and bases by eigen-decomposition: Shampoo and SOAP.
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
    bool basis = u->o->kind == HPC_OPT_SOAP;
    hpc_value norm, values;
    hpc_value a = side_average(u, t, s, basis ? 0 : u->o->ridge, &norm);
    hpc_value root = side_state(u, "precondition", t, s);
    if (basis)
        blend(u, root, 1, hpc_eigh(u->p, a, &values), 0, HPC_NONE);
    else
        exact_root(u, root, a, s);
}
