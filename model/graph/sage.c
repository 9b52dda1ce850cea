/*
 * sage.c: GraphSAGE: y = act(x W + g V + b), where g is the mean or, after a layer of their own,
 * the maximum of the neighbours' rows.
 */
#include "model/graph/graph.h"

static void scatter_rows(hpc_saga_ends *out, hpc_saga_build *b, hpc_value x)
{
    (void)b;
    out->row = x;
}

static void scatter_pooled(hpc_saga_ends *out, hpc_saga_build *b, hpc_value x)
{
    int64_t n = b->o.features;
    hpc_value w = hpc_saga_parameter(b, "pool.weight", n, n);
    hpc_value y = hpc_linear(b->p, x, w, hpc_saga_parameter(b, "pool.bias", n, 0), HPC_NONE);
    out->row = hpc_activate(b->p, y, HPC_RELU);
}

static hpc_value apply_vertex(hpc_saga_build *b, hpc_value sum, hpc_value x)
{
    hpc_value own = hpc_saga_parameter(b, "self.weight", b->o.outputs, b->o.features);
    hpc_value other = hpc_saga_parameter(b, "neighbour.weight", b->o.outputs, b->o.features);
    hpc_value bias = hpc_saga_parameter(b, "bias", b->o.outputs, 0);
    hpc_value y = hpc_linear(b->p, x, own, bias, HPC_NONE);
    return hpc_activate(b->p, hpc_linear(b->p, sum, other, HPC_NONE, y), b->o.act);
}

const hpc_saga_layer hpc_saga_sage = {
    .name = "sage", .gather = HPC_SAGA_MEAN, .scatter = scatter_rows, .apply_vertex = apply_vertex};

const hpc_saga_layer hpc_saga_sage_max = {.name = "sage_max",
                                          .gather = HPC_SAGA_MAX,
                                          .scatter = scatter_pooled,
                                          .apply_vertex = apply_vertex};
