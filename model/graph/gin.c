/*
 * gin.c: graph isomorphism network with epsilon 0: y = act(relu((x + g) W + b) V + c), where g is
 * the sum of the neighbours' rows.
 */
#include "model/graph/graph.h"

static void scatter(hpc_saga_ends *out, hpc_saga_build *b, hpc_value x)
{
    (void)b;
    out->row = x;
}

static hpc_value apply_vertex(hpc_saga_build *b, hpc_value sum, hpc_value x)
{
    hpc_program *p = b->p;
    int64_t n = b->o.outputs;
    hpc_value w = hpc_saga_parameter(b, "weight", n, b->o.features);
    hpc_value second = hpc_saga_parameter(b, "second.weight", n, n);
    hpc_value h = hpc_linear(p, hpc_binary(p, HPC_ADD, sum, x), w,
                             hpc_saga_parameter(b, "bias", n, 0), HPC_NONE);
    h = hpc_activate(p, h, HPC_RELU);
    h = hpc_linear(p, h, second, hpc_saga_parameter(b, "second.bias", n, 0), HPC_NONE);
    return hpc_activate(p, h, b->o.act);
}

const hpc_saga_layer hpc_saga_gin = {
    .name = "gin", .gather = HPC_SAGA_SUM, .scatter = scatter, .apply_vertex = apply_vertex};
