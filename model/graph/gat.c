/*
 * gat.c: graph attention: an edge's score is leaky(a.h_target + b.h_source) for each head of h =
 * x W; the result is the average of h by the softmax of the scores. Both products with the score
 * vectors are work on vertices; Gather adds them, so that no score is stored.
 */
#include "model/graph/graph.h"

/* [V,H]: the products of each head of x W with its part a of the vector, as x (W a), so that no
 * product is stored for each column. */
static hpc_value score_terms(hpc_saga_build *b, hpc_value x, hpc_value w, const char *name)
{
    hpc_program *p = b->p;
    int64_t heads = b->o.heads, width = b->o.outputs / heads, features = b->o.features;
    hpc_value vector = hpc_saga_parameter(b, name, b->o.outputs, 0);
    hpc_value a = hpc_view(p, vector, 3, (int64_t[]){heads, 1, width});
    hpc_value by_head = hpc_view(p, w, 3, (int64_t[]){heads, width, features});
    hpc_value product = hpc_matmul(p, a, by_head, (hpc_matmul_attr){0});
    hpc_value rows = hpc_view(p, product, 2, (int64_t[]){heads, features});
    return hpc_linear(p, x, rows, HPC_NONE, HPC_NONE);
}

static void scatter(hpc_saga_ends *out, hpc_saga_build *b, hpc_value x)
{
    hpc_value w = hpc_saga_parameter(b, "weight", b->o.outputs, b->o.features);
    out->row = hpc_linear(b->p, x, w, HPC_NONE, HPC_NONE);
    out->source = score_terms(b, x, w, "source");
    out->target = score_terms(b, x, w, "target");
}

static hpc_value apply_vertex(hpc_saga_build *b, hpc_value sum, hpc_value x)
{
    (void)x;
    hpc_value bias = hpc_saga_parameter(b, "bias", b->o.outputs, 0);
    return hpc_activate(b->p, hpc_binary(b->p, HPC_ADD, sum, bias), b->o.act);
}

const hpc_saga_layer hpc_saga_gat = {.name = "gat",
                                     .gather = HPC_SAGA_ATTEND,
                                     .scatter = scatter,
                                     .apply_vertex = apply_vertex,
                                     .slope = 0.2};
