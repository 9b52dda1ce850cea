/*
 * gcn.c: graph convolution (Kipf and Welling): y = act(D^-1/2 A D^-1/2 x W + b), where the graph
 * has self-loops and D its degrees. The product and both scalings are work on vertices.
 */
#include "model/graph/graph.h"

static void scatter(hpc_saga_ends *out, hpc_saga_build *b, hpc_value x)
{
    hpc_value w = hpc_saga_parameter(b, "weight", b->o.outputs, b->o.features);
    out->row = hpc_graph_scale(b->p, hpc_linear(b->p, x, w, HPC_NONE, HPC_NONE), b->degree, -0.5);
}

static hpc_value apply_vertex(hpc_saga_build *b, hpc_value sum, hpc_value x)
{
    (void)x;
    hpc_value bias = hpc_saga_parameter(b, "bias", b->o.outputs, 0);
    hpc_value y = hpc_graph_scale(b->p, sum, b->degree, -0.5);
    return hpc_activate(b->p, hpc_binary(b->p, HPC_ADD, y, bias), b->o.act);
}

const hpc_saga_layer hpc_saga_gcn = {
    .name = "gcn", .gather = HPC_SAGA_SUM, .scatter = scatter, .apply_vertex = apply_vertex};
