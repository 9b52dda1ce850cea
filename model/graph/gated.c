/*
 * gated.c: gated graph network: messages x W are summed, and a gated recurrent unit updates x by
 * the sum m:
 *
 *     r = s(m A + x B)   z = s(m C + x D)   n = tanh(m E + r (x F))   y = n + z (x - n)
 *
 * s(a) d = d / 2 + tanh(a / 2) d / 2, which needs no logistic function. Outputs equal features.
 */
#include "model/graph/graph.h"

static hpc_value square(hpc_saga_build *b, hpc_value x, const char *name, hpc_value residual)
{
    hpc_value w = hpc_saga_parameter(b, name, b->o.features, b->o.features);
    return hpc_linear(b->p, x, w, HPC_NONE, residual);
}

static void scatter(hpc_saga_ends *out, hpc_saga_build *b, hpc_value x)
{
    out->row = square(b, x, "message", HPC_NONE);
}

/* s(a) d */
static hpc_value gate(hpc_program *p, hpc_value a, hpc_value d)
{
    hpc_value t = hpc_activate(p, hpc_scale(p, HPC_NEW, a, HPC_NONE, 0.5), HPC_TANH);
    hpc_value sum = hpc_binary(p, HPC_ADD, d, hpc_binary(p, HPC_MUL, t, d));
    return hpc_scale(p, HPC_NEW, sum, HPC_NONE, 0.5);
}

static hpc_value apply_vertex(hpc_saga_build *b, hpc_value m, hpc_value x)
{
    hpc_program *p = b->p;
    hpc_value r = square(b, m, "reset.message", square(b, x, "reset.state", HPC_NONE));
    hpc_value z = square(b, m, "keep.message", square(b, x, "keep.state", HPC_NONE));
    hpc_value old = gate(p, r, square(b, x, "new.state", HPC_NONE));
    hpc_value n = hpc_activate(p, square(b, m, "new.message", old), HPC_TANH);
    return hpc_binary(p, HPC_ADD, n, gate(p, z, hpc_binary(p, HPC_SUB, x, n)));
}

const hpc_saga_layer hpc_saga_gated = {
    .name = "gated", .gather = HPC_SAGA_SUM, .scatter = scatter, .apply_vertex = apply_vertex};
